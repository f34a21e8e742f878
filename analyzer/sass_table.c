/*
 * sass_table.c - reads tables/sass.def for one architecture. Output: rows by opcode, each with the bits
 * that select it, the bits that it explains, and the items of its text in order.
 *
 * A row:  INSN(first sm, last sm, "opcode", "conditions", "NAME modifiers", "operands")
 *
 * opcode      023/1245   bits 0-8, and the forms (bits 9-11) that it has; forms 6 and 7 have bit 91 set,
 *                        b and c are 3 and 5 with it (a constant bank named by a register)
 *                        (3, 5, b and c, the constant banks, are left out from sm_100 on)
 *             090/124+   the same, bit 91 set in all of them
 *             =381,=981+ bits 0-11; + with bit 91
 * conditions  72=1 73-75=4 87-90!=7; 32-63=^: one bit of them is set; UP: the guard is a uniform predicate
 * modifiers   .FTZ       always              .FTZ@80 / .FTZ@!80  when bit 80 is set / clear
 *             rnd@78     a CHOICE; rnd@83,82,78 with scattered bits, the highest first
 *             #84-86     bits that leave no trace in the text
 * operands    separated by spaces; > before one that is written; & before one that only a space
 *             separates from the one before it; ? behind one that is left out when it
 *             says nothing (RZ, PT, 0, an empty choice)
 *             R@24 UR@32 P@81 UP@81 B@16 SB@44   registers
 *             PC@64 UC@87              predicate whose bits are inverted: 0 is PT
 *             UN@64                    the uniform register after the one named
 *             x@40:14 s@40:24 n@53:5   hexadecimal, with a sign, decimal; <<2 behind it: times 4;
 *                                      s@72:8,40:24 in two pieces, the higher first
 *             f@32 F@32 h@32 b@32      float, upper half of a double, two halves, two bfloats (h@32:16: one)
 *             t@34                     branch target; a@34 the same, but not counted from here;
 *                                      tb@24 a target in bytes, not in units of four;
 *                                      sr@72 special register
 *             -63 |62 ~63 !90 *122     bits that negate, take the absolute value, invert, mark for reuse
 *             #2 #n@73                 so many registers; as many as a CHOICE of numbers says, from bit 73 on
 *             =                        in an address: not left out when it is RZ or 0
 *             ?255                     left out when it is 255, not when it is 0
 *             ]_[                      a blank between brackets
 *             {..} within other characters: [{R@24}{.64@72}+{s@40:24}]. Of an address the terms that are
 *             RZ or 0 are left out, but for the first when nothing else is there;
 *             a number alone has no sign (in a constant bank it has)
 *             fA fB fC fX              operands of the arithmetic forms: f float, d double, i integer, u
 *                                      unsigned, s signed, h two halves, p float; A bits 24-31, B and C as the form
 *                                      says, X the second operand of FADD and the like; U before it: uniform.
 *                                      u, s and p have no sign bit of their own, but uB- or sC~ with the place
 *                                      of the slot (not of an immediate)
 *             'text'                   as it is
 */
#include "sass_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define CHOICE(name, width, ...) \
	static const char *const choice_##name[1u << (width)] = {__VA_ARGS__};
#define INSN(...)
#include "tables/sass.def"
#undef CHOICE
#undef INSN

static const struct sass_choice choices[] = {
#define CHOICE(name, width, ...) {#name, width, choice_##name},
#define INSN(...)
#include "tables/sass.def"
#undef CHOICE
#undef INSN
};

static const struct source {
	int from, to, line;
	const char *file, *opcode, *when, *name, *operands;
} sources[] = {
#define CHOICE(...)
#define INSN(from, to, opcode, when, name, operands) \
	{from, to, __LINE__, __FILE__, opcode, when, name, operands},
#include "tables/sass.def"
#undef CHOICE
#undef INSN
};

static const struct special {
	int from, to, index;
	const char *name;
} specials[] = {
#define SPECIAL(from, to, index, name) {from, to, index, name},
#include "tables/sass_special.def"
#undef SPECIAL
};

#define SOURCES  (sizeof(sources) / sizeof(*sources))
#define ROW_MAX  16384u
#define ITEM_MAX 65000u /* of 16 bits; a row adds a few dozen */

struct build {
	struct sass_table *t;
	struct sass_row *row; /* being made */
	size_t rows, items, operands, rows_cap, items_cap, operands_cap;
	const struct source *source;
	int form; /* of the row being made; -1 = none */
	bool has_uniform_bit;
	bool failed;
};

static void fail(struct build *b, const char *why, const char *where)
{
	if (!b->failed)
		fprintf(stderr, "%s:%d: sm_%d: %s: %s\n", b->source->file, b->source->line,
			b->t->sm, why, where);
	b->failed = true;
}

static void *grown(struct build *b, void *at, size_t n, size_t *cap, size_t size)
{
	void *more = at;

	if (n < *cap)
		return at;
	*cap = *cap ? *cap * 2 : 256;
	more = realloc(at, *cap * size);
	if (!more) {
		fail(b, "no memory", "");
		return at;
	}
	return more;
}

/* -------------------------------------------------------------------------------------- the bits */

static void set_bits(struct sass_word *w, unsigned at, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width && at + i < 128; i++) {
		uint64_t *half = at + i < 64 ? &w->lo : &w->hi;
		const uint64_t bit = UINT64_C(1) << ((at + i) & 63);

		*half = (value >> i & 1) ? *half | bit : *half & ~bit;
	}
}

static void claim(struct build *b, unsigned at, unsigned width)
{
	if (at + width > 128)
		fail(b, "no such bits", b->source->operands);
	set_bits(&b->row->claimed, at, width, UINT64_MAX);
}

int64_t sass_item_distance(const struct sass_item *item, struct sass_word w)
{
	/* an address of less than 48 bits has no sign */
	const bool is_signed = item->kind == SASS_ITEM_TARGET || item->width == 48;
	const uint64_t v = sass_bits(w, item->at[0], item->width);
	const int64_t d = is_signed ? sass_sign_extend(v, item->width) : (int64_t)v;

	if (item->is_in_bytes)
		return d;
	return (item->has_low_byte ? d * 256 + (int64_t)sass_bits(w, 16, 8) : d) * 4;
}

/* ------------------------------------------------------------------------------------- one item */

static const struct {
	const char *word;
	uint8_t kind, width;
} kinds[] = {
	{"R", SASS_ITEM_REG, 8},      {"UR", SASS_ITEM_UREG, 0},    {"P", SASS_ITEM_PRED, 3},
	{"UP", SASS_ITEM_UPRED, 3},   {"B", SASS_ITEM_BARRIER, 4},  {"SB", SASS_ITEM_SCOREBOARD, 3},
	{"x", SASS_ITEM_HEX, 1},      {"s", SASS_ITEM_SIGNED, 1},   {"n", SASS_ITEM_DECIMAL, 1},
	{"f", SASS_ITEM_F32, 32},     {"F", SASS_ITEM_F64, 32},     {"h", SASS_ITEM_F16, 32},
	{"b", SASS_ITEM_BF16, 32},    {"t", SASS_ITEM_TARGET, 48},  {"a", SASS_ITEM_ABSOLUTE, 48},
	{"tb", SASS_ITEM_TARGET, 58}, {"sr", SASS_ITEM_SPECIAL, 8}, {"PC", SASS_ITEM_PRED, 3},
	{"UN", SASS_ITEM_UREG, 0},    {"UC", SASS_ITEM_UPRED, 3},
};

static bool word_is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

static const struct sass_choice *choice_of(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++)
		if (word_is(s, n, choices[i].name))
			return &choices[i];
	return NULL;
}

#define NO_MARKS                                                                      \
	{                                                                             \
		SASS_NO_BIT, SASS_NO_BIT, SASS_NO_BIT, SASS_NO_BIT, SASS_NO_BIT, true \
	}

static const struct sass_marks no_marks = NO_MARKS;

static struct sass_item *item_new(struct build *b, uint8_t kind)
{
	struct sass_item *item;

	b->t->items = grown(b, b->t->items, b->items, &b->items_cap, sizeof(*item));
	if (b->failed)
		return NULL;
	item = &b->t->items[b->items++];
	memset(item, 0, sizeof(*item));
	item->kind = kind;
	item->regs = 1;
	item->marks = no_marks;
	return item;
}

/* What stands behind an operand or an item; its bits are claimed: -63 |62 ~63 !90 *122 #2 ?. */
struct suffixes {
	struct sass_marks marks;
	uint8_t regs;
	bool is_optional;
	bool is_kept;
	bool has_nothing;
	uint16_t nothing;
	const struct sass_choice *regs_of;
};

static const struct suffixes no_suffixes = {.marks = NO_MARKS, .regs = 1};

static const char *read_suffixes(struct build *b, const char *s, const char *end,
				 struct suffixes *out)
{
	*out = no_suffixes;
	while (s < end) {
		const char kind = *s++;
		char *after = NULL;
		unsigned long n;

		if (kind == '?') {
			out->is_optional = true;
			out->has_nothing = s < end && *s >= '0' && *s <= '9';
			if (out->has_nothing) {
				out->nothing = (uint16_t)strtoul(s, &after, 10);
				s = after;
			}
			continue;
		}
		if (kind == '#' && (*s < '0' || *s > '9')) {
			const char *at = memchr(s, '@', (size_t)(end - s));

			out->regs_of = at ? choice_of(s, (size_t)(at - s)) : NULL;
			if (!out->regs_of) {
				fail(b, "no such choice", s);
				return s;
			}
			s = at + 1;
		}
		if (kind == '=') {
			out->is_kept = true;
			continue;
		}
		n = strtoul(s, &after, 10);
		if (!after || after == s || n > 127) {
			fail(b, "what is this", s - 1);
			return s;
		}
		s = after;
		if (kind != '#') {
			claim(b, (unsigned)n, 1);
			out->marks.is_plain = false;
		}
		switch (kind) {
		case '-': out->marks.minus = (uint8_t)n; break;
		case '|': out->marks.bars = (uint8_t)n; break;
		case '~': out->marks.tilde = (uint8_t)n; break;
		case '!': out->marks.inverse = (uint8_t)n; break;
		case '*': out->marks.reuse = (uint8_t)n; break;
		case '#': out->regs = (uint8_t)n; break;
		default: fail(b, "what is this", s - 1); return s;
		}
	}
	return s;
}

static void item_text(struct build *b, const char *s, size_t n)
{
	struct sass_item *item = n ? item_new(b, SASS_ITEM_TEXT) : NULL;

	if (item) {
		item->text = s;
		item->text_n = (uint16_t)n;
	}
}

/* Where the field lies: 78, 83,82,78, and :width <<shift. */
static const char *read_place(struct build *b, struct sass_item *item, const char *s,
			      const char *end)
{
	char *after;

	for (unsigned i = 0;; i++) {
		const unsigned long at = strtoul(s, &after, 10);

		if (after == s || at > 127 || i >= SASS_SEGMENTS) {
			fail(b, "where is it", s);
			return end;
		}
		item->at[i] = (uint8_t)at;
		s = after;
		if (i || *s == ',')
			item->scattered = (uint8_t)(i + 1);
		if (*s != ',')
			break;
		s++;
	}
	if (s < end && *s == ':') {
		item->width = (uint8_t)strtoul(s + 1, &after, 10);
		s = after;
	}
	if (s < end && *s == ',') { /* a second piece, the lower one */
		item->at[1] = (uint8_t)strtoul(s + 1, &after, 10);
		item->low_width = *after == ':' ? (uint8_t)strtoul(after + 1, &after, 10) : 1;
		item->width = (uint8_t)(item->width + item->low_width);
		s = after;
	}
	if (s + 1 < end && s[0] == '<' && s[1] == '<') {
		item->shift = (uint8_t)strtoul(s + 2, &after, 10);
		s = after;
	}
	return s;
}

static void claim_place(struct build *b, const struct sass_item *item)
{
	for (unsigned i = 0; i < item->scattered; i++)
		claim(b, item->at[i], 1);
	if (!item->scattered)
		claim(b, item->at[0], item->width - item->low_width);
	if (item->low_width)
		claim(b, item->at[1], item->low_width);
}

/* KIND@place, or .TEXT@bit. The suffixes are its own when it stands in braces. */
static void read_item(struct build *b, const char *s, const char *end, struct suffixes *x)
{
	const char *at = memchr(s, '@', (size_t)(end - s));
	struct sass_item *item;
	size_t n;

	*x = no_suffixes;
	if (!at) {
		item_text(b, s, (size_t)(end - s));
		return;
	}
	n = (size_t)(at - s);
	item = item_new(b, SASS_ITEM_TEXT);
	if (!item)
		return;
	at++;
	if (*s == '.') {
		item->kind = SASS_ITEM_FLAG;
		item->text = s;
		item->text_n = (uint16_t)n;
		item->width = 1;
		item->when_clear = *at == '!';
		at += item->when_clear;
	} else if ((item->choice = choice_of(s, n))) {
		item->kind = SASS_ITEM_CHOICE;
		item->width = (uint8_t)item->choice->width;
	} else {
		size_t i = 0;

		while (i < sizeof(kinds) / sizeof(*kinds) && !word_is(s, n, kinds[i].word))
			i++;
		if (i == sizeof(kinds) / sizeof(*kinds)) {
			fail(b, "no such kind or choice", s);
			return;
		}
		item->kind = kinds[i].kind;
		item->width = kinds[i].width;
		item->is_complement = kinds[i].word[1] == 'C';
		item->is_next = kinds[i].kind == SASS_ITEM_UREG && s[1] == 'N';
		item->is_in_bytes = kinds[i].kind == SASS_ITEM_TARGET && kinds[i].word[1] == 'b';
		if (item->kind == SASS_ITEM_SPECIAL)
			item->choice = &b->t->special;
		if (item->kind == SASS_ITEM_UREG)
			item->width = b->t->sm < 100 ? 6 : 8;
	}
	at = read_place(b, item, at, end);
	if (item->choice && item->scattered && item->scattered != item->choice->width)
		fail(b, "not as many bits as the choice has", s);
	item->has_low_byte = (item->kind == SASS_ITEM_TARGET || item->kind == SASS_ITEM_ABSOLUTE) &&
			     !item->is_in_bytes && item->width > 32 && b->t->sm >= 90;
	if (item->has_low_byte)
		claim(b, 16, 8);
	claim_place(b, item);
	read_suffixes(b, at, end, x);
	item->marks = x->marks;
	item->regs = x->regs;
	item->regs_of = x->regs_of;
	item->is_kept = x->is_kept;
	item->has_nothing = x->has_nothing;
	item->nothing = x->nothing;
}

/* ---------------------------------------------------------------------------------- one operand */

/* Second and third source of the arithmetic forms. */
static const char *slot_text(struct build *b, char type, char slot, bool uniform, char sign,
			     char *out, size_t room)
{
	static const char *const minus[] = {"-72", "-63", "-75", "-84"}, *const tilde[] = {"~72",
											   "~63",
											   "~75"};
	static const char *const bars[] = {"|73", "|62", "|74", "|83"};
	const int form = b->form;
	const bool is_half = type == 'h';
	/* what stands in bits 32-63 is the third source in forms 2, 3 and 7 */
	const bool swapped = form == 2 || form == 3 || form == 7;
	const char *reg = uniform ? "UR" : "R", *m = "", *a = "", *imm,
		   *reuse = slot == 'B' ? "*123" : "*124";
	bool at64;
	int place;

	if (slot == 'X')
		slot = form == 1 ? 'B' : 'C';
	at64 = slot == 'B' ? swapped : !swapped;
	place = slot == 'A' ? 0 : at64 ? 2 + is_half : 1;
	if (slot == 'A')
		reuse = "*122";
	if (uniform)
		reuse = "";
	if (sign == '~' && place < 3)
		m = tilde[place];
	else if (sign || !strchr("usp", type))
		m = minus[place];
	if (type == 'f' || type == 'd' || type == 'h')
		a = bars[place];
	imm = type == 'f' || type == 'p' ? "f@32"
	      : type == 'd'              ? "F@32"
	      : type == 'h'              ? "h@32"
	      : type == 'u'              ? "x@32:32"
					 : "s@32:32";
	if (is_half && (slot == 'A' || at64 || form == 1))
		snprintf(out, room, "{%s@%d%s%s%s}{half@%d}", reg,
			 slot == 'A' ? 24
			 : at64      ? 64
				     : 32,
			 m, a, reuse,
			 slot == 'A' ? 74
			 : at64      ? 81
				     : 60);
	else if (slot == 'A')
		snprintf(out, room, "%s@24%s%s%s", reg, m, a, reuse);
	else if (at64)
		snprintf(out, room, "%s@64%s%s%s", reg, m, a, reuse);
	else if (form == 1)
		snprintf(out, room, "%s@32%s%s%s", reg, m, a, reuse);
	else if (form == 2 || form == 4)
		snprintf(out, room, "%s", imm);
	else if (is_half && (form == 3 || form == 5))
		snprintf(out, room, "%s{half@60}-63|62",
			 b->has_uniform_bit ? "cx[{UR@32}] [{s@40:14<<2}]"
					    : "c[{x@54:5}] [{s@40:14<<2}]");
	else if (is_half)
		snprintf(out, room, "{UR@32}{half@60}-63|62");
	else if ((form == 3 || form == 5) && b->has_uniform_bit)
		snprintf(out, room, "cx[{UR@32}][{s@40:14<<2}]%s%s", m, a);
	else if (form == 3 || form == 5)
		snprintf(out, room, "c[{x@54:5}][{s@40:14<<2}]%s%s", m, a);
	else if (form == 6 || form == 7)
		snprintf(out, room, "UR@32%s%s", m, a);
	else
		fail(b, "an operand by form in a row without form", b->source->operands);
	return out;
}

/* Forms are few, and texts are kept by the items: every expansion is kept too. */
static const char *expand(struct build *b, const char *s, const char *end, const char **new_end)
{
	char text[128];
	const bool uniform = *s == 'U';
	const char *t = s + uniform;
	char *kept, sign = 0;

	*new_end = end;
	if (end - t < 2 || !strchr("fdiushp", t[0]) || !strchr("ABCX", t[1]) ||
	    (end - t > 2 && !strchr("-|~!*#?", t[2])))
		return s;
	if (end - t > 2 && strchr("-~", t[2]) && (end - t == 3 || t[3] < '0' || t[3] > '9'))
		sign = t[2];
	slot_text(b, t[0], t[1], uniform, sign, text, sizeof(text) - 1);
	if (strlen(text) + (size_t)(end - t) >= sizeof(text)) {
		fail(b, "too long", s);
		return s;
	}
	t += sign ? 3 : 2;
	strncat(text, t, (size_t)(end - t));
	kept = arena_string(b->t->texts, text, sizeof(text));
	if (!kept) {
		fail(b, "no memory", "");
		return s;
	}
	*new_end = kept + strlen(kept);
	return kept;
}

static void read_mark(struct build *b, char c)
{
	item_new(b, c == '[' ? SASS_ITEM_OPEN : c == ']' ? SASS_ITEM_CLOSE : SASS_ITEM_PLUS);
}

/* Text with items in braces. Gives where its suffixes begin. */
static const char *read_mixture(struct build *b, const char *s, const char *end)
{
	const char *last = s, *close;
	struct suffixes own;

	for (const char *p = s; p < end; p++)
		if (*p == ']' || *p == '}')
			last = p + 1;
	while (s < last && !b->failed) {
		if (*s == '{') {
			close = memchr(s, '}', (size_t)(last - s));
			if (!close) {
				fail(b, "no end of", s);
				break;
			}
			read_item(b, s + 1, close, &own);
			s = close + 1;
		} else if (strchr("[]+", *s)) {
			read_mark(b, *s++);
		} else {
			close = s + 1;
			while (close < last && !strchr("[]+{", *close))
				close++;
			item_text(b, *s == '_' && close == s + 1 ? " " : s, (size_t)(close - s));
			s = close;
		}
	}
	return last;
}

static void read_operand(struct build *b, const char *s, const char *end)
{
	struct sass_operand_row o = {.first = (uint16_t)b->items, .marks = no_marks};
	struct suffixes x;

	o.is_joined = *s == '&';
	s += o.is_joined;
	o.is_dest = *s == '>';
	s += o.is_dest;
	s = expand(b, s, end, &end);
	if (*s == '\'') {
		const char *close = memchr(s + 1, '\'', (size_t)(end - s - 1));

		item_text(b, s + 1, close ? (size_t)(close - s - 1) : 0);
		read_suffixes(b, close ? close + 1 : end, end, &x);
	} else if (memchr(s, '{', (size_t)(end - s))) {
		s = read_mixture(b, s, end);
		read_suffixes(b, s, end, &x);
		o.marks = x.marks;
	} else {
		read_item(b, s, end, &x); /* marks are the item's */
	}
	o.is_optional = x.is_optional;
	o.n = (uint16_t)(b->items - o.first);
	b->t->operands = grown(b, b->t->operands, b->operands, &b->operands_cap, sizeof(o));
	if (!b->failed)
		b->t->operands[b->operands++] = o;
}

/* ------------------------------------------------------------------------------------- one row */

static const char *next_word(const char **s, const char **end)
{
	const char *from = *s + strspn(*s, " ");

	*end = from + strcspn(from, " ");
	*s = *end;
	return *end > from ? from : NULL;
}

static void read_modifiers(struct build *b, const char *s)
{
	const char *word, *end;
	struct suffixes none;

	word = next_word(&s, &end);
	b->row->name = word ? arena_string(b->t->texts, word, (size_t)(end - word)) : NULL;
	if (!b->row->name) {
		fail(b, "no name", "");
		return;
	}
	b->row->mods_first = (uint16_t)b->items;
	while (!b->failed && (word = next_word(&s, &end))) {
		char *after;

		if (*word == '#') {
			const unsigned long at = strtoul(word + 1, &after, 10);
			const unsigned long to = *after == '-' ? strtoul(after + 1, &after, 10)
							       : at;

			if (after != end || to < at)
				fail(b, "which bits", word);
			else
				claim(b, (unsigned)at, (unsigned)(to - at + 1));
		} else {
			read_item(b, word, end, &none);
		}
	}
	b->row->mods_n = (uint16_t)(b->items - b->row->mods_first);
}

static void read_conditions(struct build *b, const char *s)
{
	struct sass_row *row = b->row;
	const char *word, *end;

	while (!b->failed && (word = next_word(&s, &end))) {
		unsigned long at, to, value;
		bool unlike;
		char *after;

		if (word_is(word, (size_t)(end - word), "UP")) {
			row->guard_is_uniform = true;
			continue;
		}
		at = to = strtoul(word, &after, 10);
		if (*after == '-')
			to = strtoul(after + 1, &after, 10);
		unlike = *after == '!';
		after += unlike;
		if (*after != '=' || to < at || to > 127 || to - at > 31) {
			fail(b, "which condition", word);
			return;
		}
		value = strtoul(after + 1, &after, 0);
		claim(b, (unsigned)at, (unsigned)(to - at + 1));
		if (*after == '^' && !unlike) {
			row->power_at = (uint8_t)at;
			row->power_width = (uint8_t)(to - at + 1);
		} else if (!unlike) {
			set_bits(&row->mask, (unsigned)at, (unsigned)(to - at + 1), UINT64_MAX);
			set_bits(&row->value, (unsigned)at, (unsigned)(to - at + 1), value);
		} else if (row->unlike_n < 4) {
			row->unlike[row->unlike_n++] = (struct sass_unlike){
				(uint8_t)at, (uint8_t)(to - at + 1), (uint32_t)value};
		} else {
			fail(b, "too many conditions", word);
		}
	}
}

static void add_row(struct build *b, unsigned op12, bool uniform, int form)
{
	const char *s = b->source->operands, *word, *end;

	b->t->rows = grown(b, b->t->rows, b->rows, &b->rows_cap, sizeof(*b->t->rows));
	if (b->rows >= ROW_MAX || b->items >= ITEM_MAX)
		fail(b, "too many rows or items", b->source->name);
	if (b->failed)
		return;
	b->row = &b->t->rows[b->rows++];
	memset(b->row, 0, sizeof(*b->row));
	b->row->line = b->source->line;
	b->form = form;
	b->has_uniform_bit = uniform;
	claim(b, 0, 16); /* opcode and guard */
	claim(b, 91, 1);
	claim(b, 105, 17); /* control; reuse bits are claimed by the operands that have them */
	set_bits(&b->row->mask, 0, 12, UINT64_MAX);
	set_bits(&b->row->value, 0, 12, op12);
	set_bits(&b->row->mask, 91, 1, 1);
	set_bits(&b->row->value, 91, 1, uniform);
	read_conditions(b, b->source->when);
	read_modifiers(b, b->source->name);
	b->row->operands_first = (uint16_t)b->operands;
	while (!b->failed && (word = next_word(&s, &end)))
		read_operand(b, word, end);
	b->row->operands_n = (uint16_t)(b->operands - b->row->operands_first);
	if (!(b->row->claimed.hi >> 58 &
	      7)) /* bits 122-124 are noise where nothing can be reused */
		claim(b, 122, 3);
}

static void add_source(struct build *b)
{
	const char *s = b->source->opcode;
	char *after;

	while (*s == '=') {
		const unsigned long op12 = strtoul(s + 1, &after, 16);
		const bool uniform = *after == '+';

		add_row(b, (unsigned)op12, uniform, -1);
		s = after + uniform;
		s += *s == ',';
	}
	if (s == b->source->opcode) {
		const unsigned long op9 = strtoul(s, &after, 16);
		const bool all = strchr(after, '+') != NULL;

		if (*after != '/')
			fail(b, "which opcode", s);
		for (s = after + 1; !b->failed && *s && *s != '+'; s++) {
			const int form = *s == 'b' ? 3 : *s == 'c' ? 5 : *s - '0';

			if (form < 0 || form > 7)
				fail(b, "which form", s);
			else if (b->t->sm < 100 || (form != 3 && form != 5))
				add_row(b, (unsigned)op9 | (unsigned)form << 9,
					all || form >= 6 || *s == 'b' || *s == 'c', form);
		}
	} else if (*s) {
		fail(b, "which opcode", s);
	}
}

/* Rows of an opcode side by side, in the order of the file. */
static void sort_rows(struct build *b)
{
	struct sass_table *t = b->t;
	uint16_t at = 0;

	t->order = calloc(b->rows ? b->rows : 1, sizeof(*t->order));
	if (!t->order) {
		fail(b, "no memory", "");
		return;
	}
	for (size_t i = 0; i < b->rows; i++)
		t->by_opcode[sass_opcode(t->rows[i].value)][1]++;
	for (unsigned op = 0; op < 8192; op++) {
		t->by_opcode[op][0] = at;
		at = (uint16_t)(at + t->by_opcode[op][1]);
		t->by_opcode[op][1] = 0;
	}
	for (size_t i = 0; i < b->rows; i++) {
		uint16_t *place = t->by_opcode[sass_opcode(t->rows[i].value)];

		t->order[place[0] + place[1]++] = (uint16_t)i;
	}
}

static void name_specials(struct sass_table *t)
{
	for (unsigned i = 0; i < 256; i++) {
		snprintf(t->special_others[i], sizeof(t->special_others[i]), "SR%u", i);
		t->special_texts[i] = t->special_others[i];
	}
	for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++)
		if (specials[i].from <= t->sm && t->sm <= specials[i].to)
			t->special_texts[specials[i].index & 255] = specials[i].name;
	t->special = (struct sass_choice){"special", 8, t->special_texts};
}

const struct sass_table *sass_table(int sm)
{
	static struct sass_table *made[128];
	struct build b = {0};

	if (sm < 70 || sm > 121)
		return NULL;
	if (made[sm])
		return made[sm];
	b.t = calloc(1, sizeof(*b.t));
	if (!b.t)
		return NULL;
	b.t->sm = sm;
	b.t->texts = arena_new();
	if (!b.t->texts)
		return NULL;
	name_specials(b.t);
	for (size_t i = 0; i < SOURCES && !b.failed; i++) {
		b.source = &sources[i];
		if (sources[i].from <= sm && sm <= sources[i].to)
			add_source(&b);
	}
	if (!b.failed)
		sort_rows(&b);
	if (b.failed)
		return NULL;
	made[sm] = b.t;
	return b.t;
}
