/*
 * sass_table.c - the facts of tables/sass*.def as arrays, and the table of an architecture made of them at
 * the first request. Output: rows by opcode. What a row's text means is left to sass_row.c.
 */
#include "sass_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "sass_read.h"

/* ------------------------------------------------------------------------------------- the facts */

#define INSN(...)
#define WORDS(...)
#define CHOICE(name, width, ...) \
	static const char *const choice_##name[1u << (width)] = {__VA_ARGS__};
#define COUNT(name, width, ...) static const uint8_t count_##name[1u << (width)] = {__VA_ARGS__};
#include "tables/sass.def"
#undef CHOICE
#undef COUNT

static const struct sass_choice choices[] = {
#define CHOICE(name, width, ...) {#name, width, choice_##name},
#define COUNT(...)
#include "tables/sass.def"
#undef CHOICE
#undef COUNT
};

static const struct sass_count counts[] = {
#define CHOICE(...)
#define COUNT(name, width, ...) {#name, width, count_##name},
#include "tables/sass.def"
#undef COUNT
#undef WORDS
};

static const struct words {
	int from, to;
	const char *name, *text;
} words[] = {
#define COUNT(...)
#define WORDS(from, to, name, text) {from, to, #name, text},
#include "tables/sass.def"
#undef WORDS
#undef INSN
};

static const struct sass_source sources[] = {
#define WORDS(...)
#define INSN(from, to, opcode, when, name, operands) \
	{from, to, __LINE__, __FILE__, opcode, when, name, operands},
#include "tables/sass.def"
#undef INSN
#undef WORDS
#undef CHOICE
#undef COUNT
};

static const struct special {
	int from, to;
	uint8_t index;
	const char *name;
} specials[] = {
#define SPECIAL(from, to, index, name) {from, to, index, name},
#include "tables/sass_special.def"
#undef SPECIAL
};

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/*
 * Ranges are in order of number, but sm_107 and sm_110 both follow on sm_103, and neither on the other: a
 * range that ends at one is without the other.
 */
static bool is_up_to(int a, int b)
{
	return a <= b && !(a == 107 && b == 110);
}

static bool is_in(int sm, int from, int to)
{
	return is_up_to(from, sm) && is_up_to(sm, to);
}

const struct sass_choice *sass_find_choice(const char *name, size_t n)
{
	for (size_t i = 0; i < LENGTH(choices); i++)
		if (sass_is_name(choices[i].name, name, n))
			return &choices[i];
	return NULL;
}

/* All tables share them: made at the first request, and kept. */
const struct sass_terms *sass_choice_terms(const struct sass_choice *c)
{
	static struct sass_terms *made[LENGTH(choices)];
	struct sass_terms **of = &made[c - choices];
	bool good = true;

	if (*of)
		return *of;
	*of = calloc((size_t)1 << c->width, sizeof(**of));
	for (size_t v = 0; *of && v < (size_t)1 << c->width; v++)
		if (c->texts[v])
			good &= sass_read_terms(c->texts[v], strlen(c->texts[v]), &(*of)[v]);
	if (!good) {
		free(*of);
		*of = NULL;
	}
	return *of;
}

const struct sass_count *sass_find_count(const char *name, size_t n)
{
	for (size_t i = 0; i < LENGTH(counts); i++)
		if (sass_is_name(counts[i].name, name, n))
			return &counts[i];
	return NULL;
}

const char *sass_find_words(int sm, const char *name, size_t n)
{
	for (size_t i = 0; i < LENGTH(words); i++)
		if (is_in(sm, words[i].from, words[i].to) && sass_is_name(words[i].name, name, n))
			return words[i].text;
	return NULL;
}

/* -------------------------------------------------------------------------------------- the table */

/* A special register without a row is called SR and its number. */
static void name_specials(struct sass_table *t)
{
	for (unsigned i = 0; i < SASS_SPECIALS; i++) {
		snprintf(t->special_numbers[i], sizeof(t->special_numbers[i]), "SR%u", i);
		t->special_texts[i] = t->special_numbers[i];
	}
	for (size_t i = 0; i < LENGTH(specials); i++)
		if (is_in(t->sm, specials[i].from, specials[i].to))
			t->special_texts[specials[i].index] = specials[i].name;
	t->special = (struct sass_choice){"special", 8, t->special_texts};
}

/* Rows of an opcode side by side, in the order in which they were read. */
static bool sort_rows(struct sass_table *t, const struct sass_row *rows, size_t n)
{
	uint16_t at = 0;

	t->rows = malloc((n ? n : 1) * sizeof(*rows));
	if (!t->rows)
		return false;
	t->rows_n = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		t->by_opcode[sass_opcode(rows[i].value)].n++;
	for (unsigned op = 0; op < SASS_OPCODES; op++) {
		t->by_opcode[op].first = at;
		at = (uint16_t)(at + t->by_opcode[op].n);
		t->by_opcode[op].n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct sass_rows *of = &t->by_opcode[sass_opcode(rows[i].value)];

		t->rows[of->first + of->n++] = rows[i];
	}
	for (size_t i = 0; i < n; i++)
		t->rows[i].number = (uint16_t)i;
	return true;
}

static bool read_rows(struct sass_table *t, struct err *e)
{
	struct sass_reader r = {.sm = t->sm, .specials = &t->special, .e = e};
	bool good = true;

	_Static_assert(LENGTH(sources) * 10 < UINT16_MAX, "rows are counted in 16 bits");
	r.texts = arena_new();
	if (!r.texts)
		return false;
	for (size_t i = 0; good && i < LENGTH(sources); i++)
		if (is_in(t->sm, sources[i].from, sources[i].to))
			good = sass_read_row(&r, &sources[i]);
	good = good && sort_rows(t, r.rows.at, r.rows.n);
	vec_fini(&r.rows);
	t->items = r.items.at;
	t->operands = r.operands.at;
	t->texts = r.texts;
	return good;
}

static void table_free(struct sass_table *t)
{
	free(t->rows);
	free(t->items);
	free(t->operands);
	arena_free(t->texts);
	free(t);
}

static bool is_known(int sm)
{
	static const int known[] = {70, 72,  75,  80,  86,  87,  88,  89,
				    90, 100, 101, 103, 107, 110, 120, 121};

	for (size_t i = 0; i < LENGTH(known); i++)
		if (known[i] == sm)
			return true;
	return false;
}

const struct sass_table *sass_table(int sm)
{
	static struct sass_table *made[SASS_SM_LAST + 1];
	static bool is_wrong[SASS_SM_LAST + 1]; /* said once */
	struct err e = {.text = "no memory for the rows of instructions"};
	struct sass_table *t;

	if (!is_known(sm) || is_wrong[sm])
		return NULL;
	if (made[sm])
		return made[sm];
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->sm = sm;
	name_specials(t);
	if (!read_rows(t, &e)) {
		fprintf(stderr, "%s\n", e.text);
		is_wrong[sm] = true;
		table_free(t);
		return NULL;
	}
	made[sm] = t;
	return t;
}
