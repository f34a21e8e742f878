/*
 * sass_item.c - see sass_read.h. One item of a row's text: what kind of thing it is, where its bits lie,
 * and the suffixes behind it. The kinds are a table; what differs between architectures stands above it.
 */
#include "sass_read.h"

#include "arena.h"

/* Uniform registers: 63 of them, 255 from sm_100 on. */
static unsigned uniform_width(int sm)
{
	return sm < 100 ? 6 : 8;
}

/* Targets have their lowest bits in bits 16-23, from sm_90 on. */
static unsigned target_low_width(int sm)
{
	return sm < 90 ? 0 : 8;
}

/* What a kind's value says when it says nothing: no register, no condition, 0. */
enum { NEVER, IF_ZERO, IF_ONES };

static const struct kind {
	const char *word;
	uint8_t kind;
	uint8_t width; /* where the row does not say it; 0 = of a uniform register */
	uint8_t nothing;
	uint8_t flip;
	bool is_next, is_target; /* target: in units of four bytes */
} kinds[] = {
	{"R", SASS_ITEM_REG, 8, IF_ONES, 0, false, false},
	{"UR", SASS_ITEM_UREG, 0, IF_ONES, 0, false, false},
	{"UN", SASS_ITEM_UREG, 0, IF_ONES, 0, true, false},
	{"P", SASS_ITEM_PRED, 3, IF_ONES, 0, false, false},
	{"PC", SASS_ITEM_PRED, 3, IF_ONES, 7, false, false},
	{"UP", SASS_ITEM_UPRED, 3, IF_ONES, 0, false, false},
	{"UC", SASS_ITEM_UPRED, 3, IF_ONES, 7, false, false},
	{"B", SASS_ITEM_BARRIER, 4, NEVER, 0, false, false},
	{"SB", SASS_ITEM_SCOREBOARD, 3, NEVER, 0, false, false},
	{"x", SASS_ITEM_HEX, 1, IF_ZERO, 0, false, false},
	{"s", SASS_ITEM_SIGNED, 1, IF_ZERO, 0, false, false},
	{"n", SASS_ITEM_DECIMAL, 1, IF_ZERO, 0, false, false},
	{"f", SASS_ITEM_F32, 32, NEVER, 0, false, false},
	{"F", SASS_ITEM_F64, 32, NEVER, 0, false, false},
	{"h", SASS_ITEM_F16, 32, NEVER, 0, false, false},
	{"b", SASS_ITEM_BF16, 32, NEVER, 0, false, false},
	{"t", SASS_ITEM_TARGET, 48, NEVER, 0, false, true},
	{"tb", SASS_ITEM_TARGET, 58, NEVER, 0, false, false},
	{"a", SASS_ITEM_SIGNED, 48, IF_ZERO, 0, false, true},
	{"ua", SASS_ITEM_HEX, 47, IF_ZERO, 0, false, true},
	{"sr", SASS_ITEM_SPECIAL, 8, NEVER, 0, false, false},
};

static const struct kind *find_kind(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (sass_is_name(kinds[i].word, s, n))
			return &kinds[i];
	return NULL;
}

/* ------------------------------------------------------------------------------------- an item */

#define NO_MARKS                                                                      \
	{                                                                             \
		SASS_NO_BIT, SASS_NO_BIT, SASS_NO_BIT, SASS_NO_BIT, SASS_NO_BIT, true \
	}

const struct sass_suffixes sass_no_suffixes = {.marks = NO_MARKS, .regs = 1};

struct sass_item *sass_add_item(struct sass_reader *r, enum sass_item_kind kind)
{
	static struct sass_item spare; /* when memory has run out */
	struct sass_item *item = vec_add(&r->items);

	if (!item) {
		sass_fail(r, "no memory", "");
		item = &spare;
	}
	item->kind = (uint8_t)kind;
	item->regs = 1;
	item->nothing = SASS_NEVER_NOTHING;
	item->marks = sass_no_suffixes.marks;
	return item;
}

/* Of a text that is always the same; NULL when it has no words. */
static const struct sass_terms *read_terms(struct sass_reader *r, const char *text, size_t n)
{
	struct sass_terms terms, *kept;

	if (!sass_read_terms(text, n, &terms))
		sass_fail(r, "a word that is not in tables/sass_modifier.def", text);
	if (!terms.words_n && !terms.numbers_n)
		return NULL;
	kept = arena_alloc(r->texts, sizeof(*kept));
	if (kept)
		*kept = terms;
	else
		sass_fail(r, "no memory", "");
	return kept;
}

void sass_add_text(struct sass_reader *r, const char *text, size_t n)
{
	struct sass_item *item = sass_add_item(r, SASS_ITEM_TEXT);

	item->text = text;
	item->text_n = (uint16_t)n;
	item->terms = read_terms(r, text, n);
}

static void add_piece(struct sass_reader *r, struct sass_item *item, unsigned at, unsigned width)
{
	if (item->pieces_n == SASS_PIECES) {
		sass_fail(r, "too many pieces", r->source->operands);
		return;
	}
	item->pieces[item->pieces_n++] = (struct sass_piece){(uint8_t)at, (uint8_t)width};
	item->width = (uint8_t)(item->width + width);
	sass_claim(r, at, width);
}

/* at[:width], or several with commas, the highest bits first; then <<shift. */
static void read_place(struct sass_reader *r, struct sass_cursor *c, struct sass_item *item,
		       unsigned width)
{
	const char *from = c->at;
	unsigned at, n;
	bool more;

	do {
		if (!sass_number(c, 10, &at)) {
			sass_fail(r, "where is it", from);
			return;
		}
		n = 0;
		if (sass_take(c, ':') && !sass_number(c, 10, &n))
			sass_fail(r, "how wide is it", from);
		more = sass_take(c, ',');
		if (!n)
			n = more || item->pieces_n ? 1 : width;
		add_piece(r, item, at, n);
	} while (more && !r->failed);
	if (sass_take(c, '<')) {
		if (!sass_take(c, '<') || !sass_number(c, 10, &n))
			sass_fail(r, "how much is it shifted", from);
		item->shift = (uint8_t)n;
	}
}

static void read_kind(struct sass_reader *r, struct sass_cursor *c, struct sass_item *item,
		      const struct kind *k)
{
	item->kind = k->kind;
	item->flip = k->flip;
	item->is_next = k->is_next;
	if (k->kind == SASS_ITEM_REG && r->is_uniform)
		item->kind = SASS_ITEM_UREG;
	read_place(r, c, item, item->kind == SASS_ITEM_UREG ? uniform_width(r->sm) : k->width);
	if (k->is_target) {
		item->shift = 2;
		if (item->width > 32 && target_low_width(r->sm))
			add_piece(r, item, 16, target_low_width(r->sm));
	}
	if (k->kind == SASS_ITEM_SPECIAL)
		item->choice = r->specials;
	if (k->nothing == IF_ONES && item->width > 8)
		sass_fail(r, "no register is so wide", r->source->operands);
	else if (k->nothing != NEVER)
		item->nothing = k->nothing == IF_ZERO ? 0 : (int16_t)((1u << item->width) - 1);
}

void sass_read_item(struct sass_reader *r, struct sass_cursor *c)
{
	const char *word = c->at, *at = memchr(word, '@', (size_t)(c->end - word));
	const size_t n = (size_t)((at ? at : c->end) - word);
	const struct sass_choice *choice;
	const struct kind *kind;
	struct sass_item *item;

	c->at = at ? at + 1 : c->end;
	if (!at) {
		sass_add_text(r, word, n);
	} else if (*word == '.') {
		item = sass_add_item(r, SASS_ITEM_FLAG);
		item->text = word;
		item->text_n = (uint16_t)n;
		item->terms = read_terms(r, word, n);
		item->nothing = 0;
		item->flip = sass_take(c, '!');
		read_place(r, c, item, 1);
	} else if ((kind = find_kind(word, n))) {
		read_kind(r, c, sass_add_item(r, SASS_ITEM_TEXT), kind);
	} else if ((choice = sass_find_choice(word, n))) {
		item = sass_add_item(r, SASS_ITEM_CHOICE);
		item->choice = choice;
		item->terms = sass_choice_terms(choice);
		if (!item->terms)
			sass_fail(r, "a choice with a word that is not in tables/sass_modifier.def",
				  word);
		read_place(r, c, item, choice->width);
		if (item->width != choice->width)
			sass_fail(r, "not as many bits as the choice has", word);
	} else {
		sass_fail(r, "no such kind or choice", word);
	}
}

/* ------------------------------------------------------------------------------------- suffixes */

static uint8_t *mark_of(struct sass_marks *m, char letter)
{
	switch (letter) {
	case '-': return &m->minus;
	case '|': return &m->bars;
	case '~': return &m->tilde;
	case '!': return &m->inverse;
	case '*': return &m->reuse;
	default: return NULL;
	}
}

/* +76: one more when this bit is set. */
static void read_more(struct sass_reader *r, struct sass_cursor *c, struct sass_suffixes *x)
{
	const char *from = c->at;
	unsigned bit;

	if (x->more_n == SASS_MORE)
		sass_fail(r, "too many bits", from);
	else if (!sass_number(c, 10, &bit) || bit > 127)
		sass_fail(r, "which bit", from);
	else
		x->more[x->more_n++] = (uint8_t)bit;
}

/* #2, or #name@73: as many as a COUNT says; bits behind it that add to them. */
static void read_registers(struct sass_reader *r, struct sass_cursor *c, struct sass_suffixes *x)
{
	const char *name = c->at, *at;
	unsigned n;

	if (!sass_number(c, 10, &n)) {
		at = memchr(name, '@', (size_t)(c->end - name));
		x->regs_of = at ? sass_find_count(name, (size_t)(at - name)) : NULL;
		c->at = at ? at + 1 : c->end;
		if (!x->regs_of || !sass_number(c, 10, &n))
			sass_fail(r, "how many registers", name);
		x->regs_at = (uint8_t)n;
	} else {
		x->regs = (uint8_t)n;
	}
	while (!r->failed && sass_take(c, '+'))
		read_more(r, c, x);
	if (!x->regs && !x->more_n)
		sass_fail(r, "how many registers", name);
}

static void read_mark(struct sass_reader *r, struct sass_cursor *c, struct sass_suffixes *x)
{
	const char *from = c->at, letter = *c->at++;
	uint8_t *mark = mark_of(&x->marks, letter);
	unsigned bit;

	if (!mark || !sass_number(c, 10, &bit) || bit > 127) {
		sass_fail(r, "what is this", from);
		return;
	}
	if (r->marks && !strchr(r->marks, letter))
		return;
	sass_claim(r, bit, 1);
	*mark = (uint8_t)bit;
	x->marks.is_plain = false;
}

void sass_read_suffixes(struct sass_reader *r, struct sass_cursor c, struct sass_suffixes *x)
{
	unsigned n;

	while (c.at < c.end && !r->failed) {
		if (sass_take(&c, '?')) {
			x->is_optional = true;
			x->has_nothing = sass_number(&c, 10, &n);
			x->nothing = (int16_t)n;
		} else if (sass_take(&c, '=')) {
			x->is_kept = true;
		} else if (sass_take(&c, '#')) {
			read_registers(r, &c, x);
		} else {
			read_mark(r, &c, x);
		}
	}
}

void sass_apply_suffixes(struct sass_reader *r, const struct sass_suffixes *x)
{
	struct sass_item *item = &r->items.at[r->items.n - 1];
	const bool is_pair = (item->kind == SASS_ITEM_F16 || item->kind == SASS_ITEM_BF16) &&
			     item->width == 32;

	item->marks = x->marks;
	item->regs = is_pair ? 2 : x->regs;
	item->regs_at = x->regs_at;
	item->regs_of = x->regs_of;
	item->more_n = x->more_n;
	memcpy(item->more, x->more, sizeof(item->more));
	item->is_counted = x->regs_of || x->more_n;
	item->is_kept = x->is_kept;
	if (x->has_nothing)
		item->nothing = x->nothing;
}
