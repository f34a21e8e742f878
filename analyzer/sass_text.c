/*
 * sass_text.c - see sass_text.h. Walks the items of the instruction's row in order; knows nothing of any
 * operation.
 */
#include "sass_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sass_table.h"

struct out {
	char *at;
	size_t n;
};

static void put(struct out *o, const char *s, size_t n)
{
	if (n > SASS_TEXT_MAX - 1 - o->n)
		n = SASS_TEXT_MAX - 1 - o->n;
	memcpy(o->at + o->n, s, n);
	o->n += n;
}

static void put_text(struct out *o, const char *s)
{
	put(o, s, strlen(s));
}

static void put_unsigned(struct out *o, uint64_t v, unsigned base)
{
	char digits[24];
	size_t n = sizeof(digits);

	do {
		digits[--n] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	put(o, digits + n, sizeof(digits) - n);
}

static void put_hex(struct out *o, uint64_t v)
{
	put(o, "0x", 2);
	put_unsigned(o, v, 16);
}

/* `none`: the value that is called `zero`. */
static void put_register(struct out *o, const char *name, uint64_t v, int none, const char *zero)
{
	put_text(o, name);
	if ((int64_t)v == none)
		put_text(o, zero);
	else
		put_unsigned(o, v, 10);
}

/* The blanks are the disassembler's own; finish() takes one at the end away. */
static void put_float(struct out *o, double v, bool is_negative, bool is_quiet)
{
	char text[40];

	if (isnan(v)) {
		put_text(o, is_negative ? "-" : "+");
		put_text(o, is_quiet ? "QNAN " : "SNAN ");
	} else if (isinf(v)) {
		put_text(o, is_negative ? "-INF " : "+INF ");
	} else if (v == 0 && is_negative) {
		put_text(o, "-0.0 ");
	} else {
		put(o, text,
		    (size_t)snprintf(text, sizeof(text), fabs(v) < 1e9 ? "%.20g" : "%.20e", v));
	}
}

static void put_single(struct out *o, uint32_t bits)
{
	float v;

	memcpy(&v, &bits, 4);
	put_float(o, (double)v, bits >> 31, bits >> 22 & 1);
}

static void put_half(struct out *o, unsigned h)
{
	const int exponent = (int)(h >> 10 & 31);
	const double mantissa = h & 1023;
	double v;

	if (exponent == 31)
		v = mantissa != 0 ? (double)NAN : (double)INFINITY;
	else
		v = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
	put_float(o, h & 0x8000 ? -v : v, h >> 15, h >> 9 & 1);
}

static void put_number(struct out *o, const struct sass_item *item, uint64_t v)
{
	uint32_t word = (uint32_t)v;
	uint64_t wide = v << 32;
	double d;

	switch (item->kind) {
	case SASS_ITEM_F32: put_single(o, word); break;
	case SASS_ITEM_F64:
		memcpy(&d, &wide, 8);
		put_float(o, d, word >> 31, word >> 19 & 1);
		break;
	case SASS_ITEM_BF16:
		if (item->width == 32) {
			put_single(o, word & 0xffff0000);
			put_text(o, ", ");
		}
		put_single(o, word << 16);
		break;
	default:
		if (item->width == 32) {
			put_half(o, word >> 16);
			put_text(o, ", ");
		}
		put_half(o, word & 0xffff);
		break;
	}
}

static void put_signed(struct out *o, int64_t v)
{
	if (v < 0)
		put(o, "-", 1);
	put_hex(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static void put_before(const struct sass_marks *m, struct sass_word w, struct out *o)
{
	if (m->is_plain)
		return;
	if (sass_bit(w, m->inverse))
		put(o, "!", 1);
	if (sass_bit(w, m->minus))
		put(o, "-", 1);
	if (sass_bit(w, m->tilde))
		put(o, "~", 1);
	if (sass_bit(w, m->bars))
		put(o, "|", 1);
}

static void put_behind(const struct sass_marks *m, struct sass_word w, struct out *o)
{
	if (m->is_plain)
		return;
	if (sass_bit(w, m->bars))
		put(o, "|", 1);
	if (sass_is_reused(w, m->reuse))
		put(o, ".reuse", 6);
}

static void put_item(const struct sass_insn *insn, const struct sass_item *item, struct out *o)
{
	const struct sass_word w = insn->word;
	const uint64_t v = sass_item_value(item, w);
	const char *text;

	put_before(&item->marks, w, o);
	switch (item->kind) {
	case SASS_ITEM_TEXT: put(o, item->text, item->text_n); break;
	case SASS_ITEM_FLAG:
		if (v)
			put(o, item->text, item->text_n);
		break;
	case SASS_ITEM_CHOICE:
		text = item->choice->texts[v];
		put_text(o, text ? text : ".?");
		break;
	case SASS_ITEM_REG: put_register(o, "R", v, item->nothing, "Z"); break;
	case SASS_ITEM_UREG: put_register(o, "UR", v, item->nothing, "Z"); break;
	case SASS_ITEM_PRED: put_register(o, "P", v, item->nothing, "T"); break;
	case SASS_ITEM_UPRED: put_register(o, "UP", v, item->nothing, "T"); break;
	case SASS_ITEM_BARRIER: put_register(o, "B", v, item->nothing, ""); break;
	case SASS_ITEM_SCOREBOARD: put_register(o, "SB", v, item->nothing, ""); break;
	case SASS_ITEM_HEX: put_hex(o, v); break;
	case SASS_ITEM_SIGNED: put_signed(o, sass_item_signed(item, v)); break;
	case SASS_ITEM_DECIMAL: put_unsigned(o, v, 10); break;
	case SASS_ITEM_TARGET: put_signed(o, sass_item_target(item, v, insn->address)); break;
	case SASS_ITEM_SPECIAL: put_text(o, item->choice->texts[v]); break;
	case SASS_ITEM_F32:
	case SASS_ITEM_F64:
	case SASS_ITEM_F16:
	case SASS_ITEM_BF16: put_number(o, item, v); break;
	default: break;
	}
	put_behind(&item->marks, w, o);
}

/* Says nothing: RZ, PT without a !, 0, no text. */
static bool is_nothing(const struct sass_item *item, struct sass_word w)
{
	const uint64_t v = sass_item_value(item, w);

	if (item->is_kept)
		return false;
	if (item->kind == SASS_ITEM_CHOICE)
		return !item->choice->texts[v] || !*item->choice->texts[v];
	return (int64_t)v == item->nothing && !sass_bit(w, item->marks.inverse);
}

static void put_items(const struct sass_insn *insn, const struct sass_item *from,
		      const struct sass_item *end, struct out *o)
{
	for (; from < end; from++)
		put_item(insn, from, o);
}

/* The + or ] behind a term of an address. */
static const struct sass_item *end_of(const struct sass_item *term)
{
	while (term->kind != SASS_ITEM_PLUS && term->kind != SASS_ITEM_CLOSE)
		term++;
	return term;
}

/*
 * From [ to ], which it gives: the terms that say something, or the first. A number alone is written
 * without a sign, but not in a constant bank.
 */
static const struct sass_item *put_address(const struct sass_insn *insn,
					   const struct sass_item *open, struct out *o)
{
	const struct sass_item *term = open + 1, *end;
	bool any = false;

	put(o, "[", 1);
	do {
		end = end_of(term);
		if (!is_nothing(term, insn->word)) {
			if (any)
				put(o, "+", 1);
			if (!any && open->kind == SASS_ITEM_OPEN && term->kind == SASS_ITEM_SIGNED)
				put_hex(o, sass_item_value(term, insn->word));
			else
				put_items(insn, term, end, o);
			any = true;
		}
		term = end + 1;
	} while (end->kind != SASS_ITEM_CLOSE);
	if (!any)
		put_items(insn, open + 1, end_of(open + 1), o);
	put(o, "]", 1);
	return end;
}

static void put_operand(const struct sass_table *t, const struct sass_insn *insn,
			const struct sass_operand_row *r, struct out *o)
{
	const struct sass_item *item = &t->items[r->first], *end = item + r->n;

	put_before(&r->marks, insn->word, o);
	for (; item < end; item++) {
		if (item->kind == SASS_ITEM_OPEN || item->kind == SASS_ITEM_OPEN_BANK)
			item = put_address(insn, item, o);
		else
			put_item(insn, item, o);
	}
	put_behind(&r->marks, insn->word, o);
}

static void put_mnemonic(const struct sass_table *t, const struct sass_insn *insn, struct out *o)
{
	const struct sass_item *mods = &t->items[insn->row->mods_first];

	put_text(o, insn->row->name);
	put_items(insn, mods, mods + insn->row->mods_n, o);
}

static size_t finish(struct out *o)
{
	if (o->n && o->at[o->n - 1] == ' ')
		o->n--;
	o->at[o->n] = '\0';
	return o->n;
}

size_t sass_mnemonic(int sm, const struct sass_insn *insn, char out[SASS_TEXT_MAX])
{
	const struct sass_table *t = sass_table(sm);
	struct out o = {out, 0};

	if (t && insn->row)
		put_mnemonic(t, insn, &o);
	else
		put_text(&o, "UNKNOWN");
	return finish(&o);
}

size_t sass_text(int sm, const struct sass_insn *insn, char out[SASS_TEXT_MAX])
{
	const struct sass_table *t = sass_table(sm);
	struct out o = {out, 0};
	bool any = false;

	if (!t || !insn->row) {
		put_text(&o, "UNKNOWN");
		return finish(&o);
	}
	if (insn->guard != SASS_PT || insn->guard_not) {
		put_text(&o, insn->guard_not ? "@!" : "@");
		put_register(&o, insn->guard_uniform ? "UP" : "P", insn->guard, 7, "T");
		put(&o, " ", 1);
	}
	put_mnemonic(t, insn, &o);
	for (unsigned i = 0; i < insn->row->operands_n; i++) {
		const struct sass_operand_row *r = &t->operands[insn->row->operands_first + i];

		if (r->is_hidden || (r->is_optional && is_nothing(&t->items[r->first], insn->word)))
			continue;
		put_text(&o, any && !r->is_joined ? ", " : " ");
		put_operand(t, insn, r, &o);
		any = true;
	}
	return finish(&o);
}
