/*
 * sass_operand.c - see sass_read.h. One operand of a row: an item, items within other characters, a text,
 * or a slot of the arithmetic forms, which tables/sass_slot.def turns into one of the others.
 */
#include "sass_read.h"

/* ------------------------------------------------------------------------------------- slots */

static const struct slot_type {
	char letter, sign; /* the mark that negates or inverts, '\0' = none */
	bool has_bars;
} slot_types[] = {
#define TYPE(letter, sign, bars) {letter, sign, bars},
#define SLOT(...)
#include "tables/sass_slot.def"
#undef TYPE
#undef SLOT
};

static const struct slot {
	const char *types, *where, *text;
} slots[] = {
#define TYPE(...)
#define SLOT(types, where, text) {types, where, text},
#include "tables/sass_slot.def"
#undef TYPE
#undef SLOT
};

/* Whether "B37 C6" names the slot in this form: a word that begins with the slot and holds the form. */
static bool is_there(const char *where, char slot, char form)
{
	for (; (where = strchr(where, slot)); where++)
		for (const char *f = where + 1; *f && *f != ' '; f++)
			if (*f == form)
				return true;
	return false;
}

static const char *slot_text(char type, char slot, char form)
{
	for (size_t i = 0; form && i < sizeof(slots) / sizeof(*slots); i++)
		if (strchr(slots[i].types, type) && is_there(slots[i].where, slot, form))
			return slots[i].text;
	return NULL;
}

static const struct slot_type *find_type(char letter)
{
	for (size_t i = 0; i < sizeof(slot_types) / sizeof(*slot_types); i++)
		if (slot_types[i].letter == letter)
			return &slot_types[i];
	return NULL;
}

/* ------------------------------------------------------------------------------------- operands */

/* {R@24*122} without the brace in front; `end`: of the mixture. */
static void read_braces(struct sass_reader *r, struct sass_cursor *c, const char *end)
{
	struct sass_cursor inner = {c->at, memchr(c->at, '}', (size_t)(end - c->at))};
	struct sass_suffixes own = sass_no_suffixes;

	if (!inner.end) {
		sass_fail(r, "no end of", c->at - 1);
		return;
	}
	c->at = inner.end + 1;
	sass_read_item(r, &inner);
	if (!r->failed)
		sass_read_suffixes(r, inner, &own);
	if (!r->failed)
		sass_apply_suffixes(r, &own);
}

/* Text with items in braces; stops where the suffixes of the whole begin. */
static void read_mixture(struct sass_reader *r, struct sass_cursor *c)
{
	const char *end = c->at, *from;
	bool is_bank = false; /* c[..][..] and cx[..][..] */
	int depth = 0;

	for (const char *p = c->at; p < c->end; p++)
		if (*p == ']' || *p == '}')
			end = p + 1;
	while (c->at < end && !r->failed) {
		from = c->at;
		if (sass_take(c, '{')) {
			read_braces(r, c, end);
		} else if (sass_take(c, '[')) {
			sass_add_item(r, is_bank ? SASS_ITEM_OPEN_BANK : SASS_ITEM_OPEN);
			depth++;
		} else if (sass_take(c, '+')) {
			sass_add_item(r, SASS_ITEM_PLUS);
		} else if (sass_take(c, ']')) {
			sass_add_item(r, SASS_ITEM_CLOSE);
			depth--;
		} else {
			is_bank |= *from == 'c';
			while (c->at < end && !strchr("[]+{", *c->at))
				c->at++;
			sass_add_text(r, *from == '_' ? " " : from, (size_t)(c->at - from));
		}
		if (depth < 0 || depth > 1)
			sass_fail(r, "brackets within brackets", from);
	}
	if (depth)
		sass_fail(r, "no end of the address", end);
}

static void read_body(struct sass_reader *r, struct sass_cursor c, struct sass_suffixes *x)
{
	x->are_around = memchr(c.at, '{', (size_t)(c.end - c.at)) != NULL;
	if (x->are_around)
		read_mixture(r, &c);
	else
		sass_read_item(r, &c);
	if (!r->failed)
		sass_read_suffixes(r, c, x);
}

/* fA, UuB, sC~: false when it is none; else what this form has in that place is added. */
static bool read_slot(struct sass_reader *r, struct sass_cursor c, struct sass_suffixes *x)
{
	struct sass_cursor s = c, body;
	const bool is_uniform = sass_take(&s, 'U');
	const struct slot_type *type = s.end - s.at >= 2 ? find_type(s.at[0]) : NULL;
	char marks[4] = "", sign;
	size_t n = 0;

	if (!type || !strchr("ABCX", s.at[1]) || (s.end - s.at > 2 && !strchr("-~|!*#?", s.at[2])))
		return false;
	body.at = slot_text(s.at[0], s.at[1], r->form);
	if (!body.at) {
		sass_fail(r, "no such operand in this form", c.at);
		return true;
	}
	body.end = body.at + strlen(body.at);
	s.at += 2;
	sign = sass_take(&s, '-') ? '-' : sass_take(&s, '~') ? '~' : type->sign;
	if (sign)
		marks[n++] = sign;
	if (type->has_bars)
		marks[n++] = '|';
	if (!is_uniform)
		marks[n++] = '*';
	r->marks = marks;
	r->is_uniform = is_uniform;
	read_body(r, body, x);
	r->marks = NULL;
	r->is_uniform = false;
	sass_read_suffixes(r, s, x);
	return true;
}

static void read_quoted(struct sass_reader *r, struct sass_cursor c, struct sass_suffixes *x)
{
	const char *close = memchr(c.at, '\'', (size_t)(c.end - c.at));

	if (!close) {
		sass_fail(r, "no end of", c.at);
		return;
	}
	sass_add_text(r, c.at, (size_t)(close - c.at));
	c.at = close + 1;
	sass_read_suffixes(r, c, x);
}

void sass_read_operand(struct sass_reader *r, struct sass_cursor c)
{
	struct sass_suffixes x = sass_no_suffixes;
	const size_t first = r->items.n;
	struct sass_operand_row *o = vec_add(&r->operands);

	if (!o) {
		sass_fail(r, "no memory", "");
		return;
	}
	o->is_hidden = sass_take(&c, '^');
	o->is_joined = !o->is_hidden && sass_take(&c, '&');
	o->is_dest = !o->is_hidden && sass_take(&c, '>');
	if (sass_take(&c, '\''))
		read_quoted(r, c, &x);
	else if (!read_slot(r, c, &x))
		read_body(r, c, &x);
	if (r->failed)
		return;
	o->first = (uint32_t)first;
	o->n = (uint32_t)(r->items.n - first);
	o->is_optional = x.is_optional;
	o->marks = x.are_around ? x.marks : sass_no_suffixes.marks;
	if (!x.are_around)
		sass_apply_suffixes(r, &x);
}
