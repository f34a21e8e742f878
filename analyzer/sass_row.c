/*
 * sass_row.c - see sass_read.h. One row as it is written: a row of the table for each form of its opcode,
 * with the bits that select it, the bits that it explains, its modifiers and its operands.
 */
#include "sass_read.h"

#include "arena.h"
#include "sass_modifier.h"

void sass_fail(struct sass_reader *r, const char *why, const char *where)
{
	const struct sass_source *s = r->source;

	if (!r->failed)
		err_set(r->e, ERR_CORRUPT, -1, "%s:%d: %s of sm_%d: %s: %.60s", s->file, s->line,
			s->name, r->sm, why, where);
	r->failed = true;
}

void sass_claim(struct sass_reader *r, unsigned at, unsigned width)
{
	if (width > 64 || at + width > 128)
		sass_fail(r, "no such bits", r->source->operands);
	else
		sass_set_bits(&r->row->claimed, at, width, UINT64_MAX);
}

/* ------------------------------------------------------------------------------------- words */

static bool next_word(const char **s, struct sass_cursor *word)
{
	word->at = *s + strspn(*s, " ");
	word->end = word->at + strcspn(word->at, " ");
	*s = word->end;
	return word->end > word->at;
}

/* Gives every word of a text to `read`; $name is the words that it stands for. */
static void each_word(struct sass_reader *r, const char *s,
		      void (*read)(struct sass_reader *, struct sass_cursor))
{
	struct sass_cursor word;

	while (!r->failed && next_word(&s, &word)) {
		const char *words;

		if (!sass_take(&word, '$')) {
			read(r, word);
			continue;
		}
		words = sass_find_words(r->sm, word.at, (size_t)(word.end - word.at));
		if (words)
			each_word(r, words, read);
		else
			sass_fail(r, "no such words", word.at);
	}
}

/* 84, or 84-86. */
static bool read_bits(struct sass_cursor *c, unsigned *at, unsigned *width)
{
	unsigned last;

	if (!sass_number(c, 10, at))
		return false;
	last = *at;
	if (sass_take(c, '-') && !sass_number(c, 10, &last))
		return false;
	*width = last - *at + 1;
	return last >= *at && last < 128;
}

static void read_condition(struct sass_reader *r, struct sass_cursor c)
{
	struct sass_row *row = r->row;
	const char *from = c.at;
	unsigned at, width, value = 0;
	bool is_unlike;

	if (c.end - c.at == 2 && !memcmp(c.at, "UP", 2)) {
		row->guard_is_uniform = true;
		return;
	}
	if (!read_bits(&c, &at, &width) || width > 32) {
		sass_fail(r, "which condition", from);
		return;
	}
	sass_claim(r, at, width);
	is_unlike = sass_take(&c, '!');
	if (!sass_take(&c, '=')) {
		sass_fail(r, "which condition", from);
	} else if (!is_unlike && sass_take(&c, '^')) {
		row->power_at = (uint8_t)at;
		row->power_width = (uint8_t)width;
	} else if (!sass_number(&c, 10, &value) || c.at < c.end) {
		sass_fail(r, "which value", from);
	} else if (!is_unlike) {
		sass_set_bits(&row->mask, at, width, UINT64_MAX);
		sass_set_bits(&row->value, at, width, value);
	} else if (row->unlike_n < SASS_UNLIKE) {
		row->unlike[row->unlike_n++] =
			(struct sass_unlike){(uint8_t)at, (uint8_t)width, value};
	} else {
		sass_fail(r, "too many conditions", from);
	}
}

/* #84-86, among modifiers or operands: explained, and nothing else. False when it is none. */
static bool read_traceless(struct sass_reader *r, struct sass_cursor c)
{
	const char *from = c.at;
	unsigned at, width;

	if (!sass_take(&c, '#'))
		return false;
	if (!read_bits(&c, &at, &width) || c.at < c.end)
		sass_fail(r, "which bits", from);
	else
		sass_claim(r, at, width);
	return true;
}

static void read_modifier(struct sass_reader *r, struct sass_cursor c)
{
	if (read_traceless(r, c))
		return;
	sass_read_item(r, &c);
	if (!r->failed && c.at < c.end)
		sass_fail(r, "what is this", c.at);
}

static void read_operand(struct sass_reader *r, struct sass_cursor c)
{
	if (!read_traceless(r, c))
		sass_read_operand(r, c);
}

/* ------------------------------------------------------------------------------------- one row */

static void read_name_and_modifiers(struct sass_reader *r)
{
	const char *s = r->source->name, *words = "", *dot;
	struct sass_cursor name;
	bool good = next_word(&s, &name);

	if (good && sass_take(&name, '$')) {
		words = sass_find_words(r->sm, name.at, (size_t)(name.end - name.at));
		good = words && next_word(&words, &name);
	}
	if (!good) {
		sass_fail(r, "no name", r->source->name);
		return;
	}
	r->row->name = arena_string(r->texts, name.at, (size_t)(name.end - name.at));
	if (!r->row->name) {
		sass_fail(r, "no memory", "");
		return;
	}
	r->row->base_n = (uint8_t)strcspn(r->row->name, ".");
	r->row->access = sass_find_access(r->row->name);
	r->row->mma = sass_find_mma(r->row->name);
	dot = memchr(name.at, '.', (size_t)(name.end - name.at));
	if (dot && !sass_read_terms(dot, (size_t)(name.end - dot), &r->row->name_terms))
		sass_fail(r, "a word that is not in tables/sass_modifier.def", dot);
	r->row->mods_first = (uint32_t)r->items.n;
	each_word(r, words, read_modifier);
	each_word(r, s, read_modifier);
	r->row->mods_n = (uint32_t)r->items.n - r->row->mods_first;
}

/* No instruction of the row has more words than their list has room for. */
static void check_words(struct sass_reader *r)
{
	unsigned most = r->row->name_terms.words_n;

	for (size_t i = r->row->mods_first; i < r->items.n; i++) {
		const struct sass_item *item = &r->items.at[i];
		const size_t n = item->kind == SASS_ITEM_CHOICE ? (size_t)1 << item->width : 1;
		unsigned words = 0;

		for (size_t v = 0; item->terms && v < n; v++)
			if (item->terms[v].words_n > words)
				words = item->terms[v].words_n;
		most += words;
	}
	if (most > SASS_MODIFIERS)
		sass_fail(r, "too many words", r->source->name);
}

/* `op`: bits 0-11. */
static void add_row(struct sass_reader *r, unsigned op, bool bit_91, char form)
{
	struct sass_row *row = vec_add(&r->rows);

	if (!row) {
		sass_fail(r, "no memory", "");
		return;
	}
	r->row = row;
	r->form = form;
	sass_claim(r, 0, 16); /* opcode and guard */
	sass_claim(r, 91, 1);
	sass_claim(r, 105, 17); /* control; the operands that may be reused claim their bits */
	sass_set_bits(&row->mask, 0, 12, UINT64_MAX);
	sass_set_bits(&row->value, 0, 12, op);
	sass_set_bits(&row->mask, 91, 1, 1);
	sass_set_bits(&row->value, 91, 1, bit_91);
	each_word(r, r->source->when, read_condition);
	read_name_and_modifiers(r);
	row->operands_first = (uint32_t)r->operands.n;
	each_word(r, r->source->operands, read_operand);
	row->operands_n = (uint32_t)r->operands.n - row->operands_first;
	if (!r->failed)
		check_words(r);
	if (!sass_bits(row->claimed, 122, 3)) /* noise where nothing can be reused */
		sass_claim(r, 122, 3);
}

/* What a letter of the forms means. */
static const struct form {
	char letter;
	uint8_t bits; /* 9-11 */
	bool bit_91;
	int last; /* architecture that has it */
} forms[] = {
	{'0', 0, false, 121}, {'1', 1, false, 121}, {'2', 2, false, 121}, {'3', 3, false, 99},
	{'4', 4, false, 121}, {'5', 5, false, 99},  {'6', 6, true, 121},  {'7', 7, true, 121},
	{'b', 3, true, 99},   {'c', 5, true, 99},
};

static const struct form *find_form(char letter)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].letter == letter)
			return &forms[i];
	return NULL;
}

/* =381,=981+ */
static void read_whole_opcodes(struct sass_reader *r, struct sass_cursor c)
{
	const char *from = c.at;
	unsigned op;
	bool bit_91;

	while (!r->failed && sass_take(&c, '=')) {
		if (!sass_number(&c, 16, &op) || op > 0xfff)
			break;
		bit_91 = sass_take(&c, '+');
		add_row(r, op, bit_91, '\0');
		if (c.at == c.end)
			return;
		if (!sass_take(&c, ','))
			break;
	}
	sass_fail(r, "which opcode", from);
}

/* 023/1245, 092/14+ */
static void read_opcode_of_forms(struct sass_reader *r, struct sass_cursor c)
{
	const char *from = c.at;
	const struct form *f;
	bool all_91;
	unsigned op;

	if (!sass_number(&c, 16, &op) || op > 0x1ff || !sass_take(&c, '/') || c.at == c.end) {
		sass_fail(r, "which opcode", from);
		return;
	}
	all_91 = c.end[-1] == '+';
	for (c.end -= all_91; !r->failed && c.at < c.end; c.at++) {
		f = find_form(*c.at);
		if (!f)
			sass_fail(r, "which form", c.at);
		else if (r->sm <= f->last)
			add_row(r, op | (unsigned)f->bits << 9, all_91 || f->bit_91, *c.at);
	}
}

bool sass_read_row(struct sass_reader *r, const struct sass_source *source)
{
	const struct sass_cursor opcode = {source->opcode, source->opcode + strlen(source->opcode)};

	r->source = source;
	if (*source->opcode == '=')
		read_whole_opcodes(r, opcode);
	else
		read_opcode_of_forms(r, opcode);
	return !r->failed;
}
