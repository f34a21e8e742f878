/*
 * sass_modifier.c - see sass_modifier.h. The texts of the rows are split into words when a table is made;
 * what an instruction has of them is read off the items of its row.
 */
#include "sass_modifier.h"

#include <string.h>

#include "sass_table.h"

static const char *const names[] = {
	"",
#define MODIFIER(word) #word,
#define SHAPE(...)
#include "tables/sass_modifier.def"
#undef MODIFIER
#undef SHAPE
};

static const struct shape {
	const char *text;
	uint16_t numbers[SASS_NUMBERS];
} shapes[] = {
#define MODIFIER(word)
#define SHAPE(text, m, n, k) {text, {m, n, k}},
#include "tables/sass_modifier.def"
#undef MODIFIER
#undef SHAPE
};

/* ------------------------------------------------------------------------------------- texts */

/* As strcmp, of `n` characters and a name. */
static int compare(const char *s, size_t n, const char *name)
{
	const int order = strncmp(s, name, n);

	return order ? order : name[n] ? -1 : 0;
}

static enum sass_modifier find(const char *s, size_t n)
{
	size_t low = 1, high = SASS_M_END;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		const int order = compare(s, n, names[middle]);

		if (!order)
			return (enum sass_modifier)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return SASS_M_NONE;
}

static bool add_number(struct sass_terms *t, unsigned v)
{
	if (t->numbers_n == SASS_NUMBERS || v > UINT16_MAX)
		return false;
	t->numbers[t->numbers_n++] = (uint16_t)v;
	return true;
}

/* 64x128, 8x8x4; x16 continues what stands in front. */
static bool read_numbers(const char *s, size_t n, struct sass_terms *t)
{
	unsigned v = 0;
	bool any = false, has_x = false;

	for (size_t i = 0; i < n; i++) {
		if (s[i] >= '0' && s[i] <= '9' && v < UINT16_MAX) {
			v = v * 10 + (unsigned)(s[i] - '0');
			any = true;
		} else if (s[i] == 'x' && (any || i == 0)) {
			has_x = true;
			if (any && !add_number(t, v))
				return false;
			v = 0;
			any = false;
		} else {
			return false;
		}
	}
	return has_x && any && add_number(t, v);
}

static bool read_term(const char *s, size_t n, struct sass_terms *t)
{
	const enum sass_modifier word = find(s, n);

	if (word != SASS_M_NONE) {
		if (t->words_n == SASS_TERM_WORDS)
			return false;
		t->words[t->words_n++] = (uint16_t)word;
		return true;
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (!compare(s, n, shapes[i].text)) {
			for (unsigned k = 0; k < SASS_NUMBERS; k++)
				if (!add_number(t, shapes[i].numbers[k]))
					return false;
			return true;
		}
	return read_numbers(s, n, t);
}

bool sass_read_terms(const char *s, size_t n, struct sass_terms *out)
{
	const char *end = s + n, *dot;

	memset(out, 0, sizeof(*out));
	if (n < 2 || (*s != '.' && !(*s == 'x' && s[1] >= '0' && s[1] <= '9')))
		return true;
	for (s += *s == '.'; s < end; s = dot + 1) {
		dot = memchr(s, '.', (size_t)(end - s));
		if (!dot)
			dot = end;
		if (!read_term(s, (size_t)(dot - s), out))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------------------- instructions */

static void add(struct sass_modifiers *m, const struct sass_terms *t, uint8_t operand)
{
	for (unsigned i = 0; i < t->words_n && m->n < SASS_MODIFIERS; i++) {
		m->at[m->n].word = t->words[i];
		m->at[m->n++].operand = operand;
	}
	for (unsigned i = 0; i < t->numbers_n && m->numbers_n < SASS_NUMBERS; i++)
		m->numbers[m->numbers_n++] = t->numbers[i];
}

static void add_item(struct sass_modifiers *m, const struct sass_item *item, struct sass_word w,
		     uint8_t operand)
{
	const uint64_t v = sass_item_value(item, w);

	if (item->terms && (item->kind != SASS_ITEM_FLAG || v))
		add(m, &item->terms[item->kind == SASS_ITEM_CHOICE ? v : 0], operand);
}

/* Numbers the operands as sass_decode does: what stands behind one is its own. */
static void add_operands(const struct sass_table *t, const struct sass_insn *insn,
			 struct sass_modifiers *m)
{
	const struct sass_operand_row *o = &t->operands[insn->row->operands_first];
	unsigned n = 0;

	for (const struct sass_operand_row *end = o + insn->row->operands_n; o < end; o++)
		for (unsigned i = 0; i < o->n; i++) {
			const struct sass_item *item = &t->items[o->first + i];

			if (sass_item_is_operand(item, insn->word))
				n += n < SASS_OPERANDS;
			else
				add_item(m, item, insn->word, (uint8_t)(n ? n - 1 : 0));
		}
}

void sass_modifiers(int sm, const struct sass_insn *insn, struct sass_modifiers *out)
{
	const struct sass_table *t = sass_table(sm);
	const struct sass_row *row = insn->row;

	memset(out, 0, sizeof(*out));
	if (!t || !row)
		return;
	add(out, &row->name_terms, SASS_NO_OPERAND);
	for (unsigned i = 0; i < row->mods_n; i++)
		add_item(out, &t->items[row->mods_first + i], insn->word, SASS_NO_OPERAND);
	out->own = out->n;
	add_operands(t, insn, out);
}

bool sass_has_modifier(const struct sass_modifiers *m, enum sass_modifier word)
{
	for (unsigned i = 0; i < m->own; i++)
		if (m->at[i].word == word)
			return true;
	return false;
}

bool sass_operand_has(const struct sass_modifiers *m, unsigned operand, enum sass_modifier word)
{
	for (unsigned i = m->own; i < m->n; i++)
		if (m->at[i].word == word && m->at[i].operand == operand)
			return true;
	return false;
}

const char *sass_modifier_name(enum sass_modifier word)
{
	return (unsigned)word < SASS_M_END ? names[word] : "";
}
