/*
 * lanes_alu.c - integer operations on what lanes hold: exact on known lanes, and on sums with unknown parts
 * where the bits in question are known. Semantics as the compiler's code needs them and a disassembly of known
 * programs shows; private to lanes*.c.
 */
#include <math.h>

#include "lanes_step.h"

/* ------------------------------------------------------------------------------------- sums */

uint32_t lanes_add_values(struct lanes_values *v, const uint32_t *in, unsigned n)
{
	uint32_t high = LANES_NONE, sum = 0, reasons = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t f;

		if (lanes_half(in[i]) == LANES_UNKNOWN) {
			reasons |= lanes_of(in[i]);
		} else if (lanes_half(in[i]) == LANES_HIGH && high == LANES_NONE) {
			high = lanes_of(in[i]);
		} else if ((f = lanes_sum(v, in[i])) != LANES_NONE) {
			sum = lanes_add(v, sum, f);
		} else {
			reasons |= lanes_reasons(v, in[i]);
		}
		if (sum == LANES_NONE)
			return lanes_unknown(LANES_LIMIT);
	}
	if (reasons)
		return lanes_unknown(reasons);
	if (high == LANES_NONE)
		return lanes_low(v, sum);
	return lanes_high(v, lanes_add(v, high, lanes_scale(v, sum, UINT64_C(1) << 32)));
}

/* floor(value / 2^n): where the unknown part is a multiple of 2^n, and nothing wraps. */
uint32_t lanes_shift_down(struct lanes_values *v, uint32_t value, unsigned n, bool is_signed)
{
	const uint32_t form = lanes_extend(v, value, is_signed);
	struct lanes_form f;
	struct lanes_terms t;
	struct lanes_pattern p;
	uint64_t at[LANES];
	uint32_t sum;

	if (form == LANES_NONE)
		return lanes_unknown(LANES_OPERATION);
	f = v->forms.at[form];
	t = v->terms.at[f.terms];
	p = v->patterns.at[f.pattern];
	for (uint32_t i = 0; i < t.n; i++)
		if (t.coefficient[i] & ((UINT64_C(1) << n) - 1) ||
		    v->symbols.at[t.symbol[i]].kind >= LANES_SIGNED)
			return lanes_unknown(LANES_OPERATION);
	for (unsigned i = 0; i < LANES; i++)
		at[i] = (uint64_t)((int64_t)(f.base + (uint64_t)p.at[i]) >> n);
	sum = lanes_of_numbers(v, at);
	for (uint32_t i = 0; i < t.n; i++)
		sum = lanes_add(v, sum,
				lanes_term(v, t.symbol[i],
					   (uint64_t)((int64_t)t.coefficient[i] >> n)));
	return lanes_low(v, sum);
}

/* The lowest n bits, where they are known; or all of it, where it has no others. */
static uint32_t low_bits(struct lanes_values *v, uint32_t value, unsigned n)
{
	const uint32_t form = lanes_sum(v, value);
	const uint64_t modulus = UINT64_C(1) << n;
	const struct lanes_pattern *p;
	uint32_t number[LANES];
	uint64_t residue;
	bool is_within = true;

	if (form == LANES_NONE)
		return lanes_unknown(LANES_OPERATION);
	for (unsigned i = 0; i < LANES; i++) {
		int64_t low, high;

		is_within = is_within && lanes_range(v, form, true, i, &low, &high) && low >= 0 &&
			    high < (int64_t)modulus;
	}
	if (is_within)
		return value;
	if (lanes_alignment(v, form, modulus, false, &residue) < modulus)
		return lanes_unknown(LANES_OPERATION | lanes_form_reasons(v, form));
	p = &v->patterns.at[v->forms.at[form].pattern];
	for (unsigned i = 0; i < LANES; i++)
		number[i] = (uint32_t)((residue + (uint64_t)p->at[i]) & (modulus - 1));
	return lanes_known(v, number);
}

/* value & mask of one run of ones. */
static uint32_t masked(struct lanes_values *v, uint32_t value, uint32_t mask)
{
	const unsigned first = mask ? (unsigned)__builtin_ctz(mask) : 0;
	const uint32_t run = mask >> first;
	unsigned end;
	uint32_t in[2];

	if (!mask)
		return lanes_uniform(v, 0);
	if (run & (run + 1))
		return lanes_unknown(LANES_OPERATION);
	end = first + (unsigned)__builtin_popcount(run);
	in[0] = end < 32 ? low_bits(v, value, end) : value;
	if (!first || lanes_half(in[0]) == LANES_UNKNOWN)
		return in[0];
	in[1] = low_bits(v, value, first);
	if (lanes_half(in[1]) == LANES_UNKNOWN)
		return in[1];
	in[1] = lanes_low(v, lanes_scale(v, lanes_sum(v, in[1]), UINT64_MAX));
	return lanes_add_values(v, in, 2);
}

/* ------------------------------------------------------------------------------------- logic */

static uint32_t logic_bits(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
	uint32_t r = 0;

	for (unsigned i = 0; i < 8; i++)
		if (table >> i & 1)
			r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return r;
}

/* One input is a sum, the others are the same known number in all lanes: bits stay, flip or are given. */
static uint32_t logic_of_one(struct lanes_values *v, const uint32_t number[3], unsigned which,
			     uint32_t value, unsigned table)
{
	uint32_t in[3] = {number[0], number[1], number[2]}, zero, one, part[2];

	in[which] = 0;
	zero = logic_bits(in[0], in[1], in[2], table);
	in[which] = UINT32_MAX;
	one = logic_bits(in[0], in[1], in[2], table);
	if (zero & ~one) { /* some bits are inverted */
		if (zero != UINT32_MAX || one)
			return lanes_unknown(LANES_OPERATION);
		return lanes_low(v, lanes_add(v, lanes_scale(v, lanes_sum(v, value), UINT64_MAX),
					      lanes_form(v, UINT64_MAX, 0, 0, false)));
	}
	part[0] = masked(v, value, one & ~zero);
	part[1] = lanes_uniform(v, zero);
	if (lanes_half(part[0]) == LANES_UNKNOWN && one & ~zero) {
		/* the bits below the mask are all that lanes differ by */
		const unsigned n = (unsigned)__builtin_ctz(one & ~zero);

		if (lanes_is_uniform(v, lanes_shift_down(v, value, n, false)))
			return lanes_unknown(lanes_of(part[0]) | LANES_COMMON);
	}
	return lanes_add_values(v, part, 2);
}

/* a | b and a ^ b are a + b where no bit can be set in both. */
static bool are_disjoint(struct lanes_values *v, uint32_t a, uint32_t b)
{
	const uint32_t x = lanes_sum(v, a), y = lanes_sum(v, b);
	unsigned bits = 0;

	if (x == LANES_NONE || y == LANES_NONE)
		return false;
	for (unsigned i = 0; i < LANES; i++) {
		int64_t low, high;

		if (!lanes_range(v, y, true, i, &low, &high) || low < 0 || high > INT32_MAX)
			return false;
		while (bits < 32 && high >> bits)
			bits++;
	}
	for (unsigned i = 0; i < LANES; i++) {
		const uint64_t modulus = UINT64_C(1) << bits;
		uint64_t residue;

		if (lanes_alignment(v, x, modulus, false, &residue) < modulus ||
		    (residue + (uint64_t)v->patterns.at[v->forms.at[x].pattern].at[i]) &
			    (modulus - 1))
			return false;
	}
	return true;
}

/* The table of a and b when input k is the number 0. */
static unsigned table_of_two(unsigned table, unsigned k)
{
	static const uint8_t at[3][4] = {{0, 1, 2, 3}, {0, 1, 4, 5}, {0, 2, 4, 6}};
	unsigned two = 0;

	for (unsigned i = 0; i < 4; i++)
		two |= (table >> at[k][i] & 1) << i;
	return two;
}

uint32_t lanes_logic(struct lanes_values *v, const uint32_t in[3], unsigned table)
{
	uint32_t x[3][LANES], number[3] = {0}, r[LANES], reasons = 0;
	unsigned sums = 0, which = 0, vary = 0;

	for (unsigned k = 0; k < 3; k++) {
		reasons |= lanes_reasons(v, in[k]);
		if (!lanes_numbers(v, in[k], x[k])) {
			sums++;
			which = k;
		} else if (!lanes_is_number(v, in[k], &number[k])) {
			vary++;
		}
	}
	if (!sums) {
		for (unsigned i = 0; i < LANES; i++)
			r[i] = logic_bits(x[0][i], x[1][i], x[2][i], table);
		return lanes_known(v, r);
	}
	if (sums == 1 && !vary && lanes_half(in[which]) != LANES_UNKNOWN)
		return logic_of_one(v, number, which, in[which], table);
	for (unsigned k = 0; k < 3; k++) {
		const uint32_t two[2] = {in[k == 0], in[k == 2 ? 1 : 2]};
		uint32_t zero;

		if (!lanes_is_number(v, in[k], &zero) || zero)
			continue;
		if ((table_of_two(table, k) == 14 || table_of_two(table, k) == 6) &&
		    (are_disjoint(v, two[0], two[1]) || are_disjoint(v, two[1], two[0])))
			return lanes_add_values(v, two, 2);
	}
	return lanes_unknown(reasons | LANES_OPERATION);
}

/* ------------------------------------------------------------------------------------- predicates */

struct lanes_pred lanes_logic_pred(const struct lanes_pred in[3], unsigned table)
{
	struct lanes_pred out = {LANES_PLAIN};
	uint32_t can[2] = {0, 0};
	unsigned open = 0, uniform = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint32_t may = LANES_ALL;

		for (unsigned k = 0; k < 3; k++) {
			const struct lanes_pred *p = &in[k];

			may &= ~p->known | (i >> (2 - k) & 1 ? p->value : ~p->value);
		}
		can[table >> i & 1] |= may;
	}
	out.known = can[0] ^ can[1];
	out.value = can[1] & ~can[0];
	for (unsigned k = 0; k < 3; k++) {
		const uint32_t known = in[k].value & in[k].known;

		out.reasons |= in[k].known == LANES_ALL ? 0 : in[k].reasons;
		open += in[k].known != LANES_ALL;
		/* the same bit, known or not, in all lanes that are left open */
		uniform += in[k].known == LANES_ALL
				   ? !(known & ~out.known) || !(~known & ~out.known)
				   : in[k].is_uniform && !(in[k].known & ~out.known);
	}
	out.is_uniform = uniform == 3 && (open == 1 || !out.known);
	return out;
}

static bool relates(int64_t a, int64_t b, enum sass_modifier relation)
{
	switch (relation) {
	case SASS_M_LT: return a < b;
	case SASS_M_LE: return a <= b;
	case SASS_M_GT: return a > b;
	case SASS_M_GE: return a >= b;
	case SASS_M_EQ: return a == b;
	case SASS_M_NE: return a != b;
	default: return relation == SASS_M_T;
	}
}

/* What a difference between low and high proves: 1, 0, -1 = nothing. */
static int decided(int64_t low, int64_t high, enum sass_modifier relation)
{
	switch (relation) {
	case SASS_M_EQ: return low == high && !low ? 1 : low > 0 || high < 0 ? 0 : -1;
	case SASS_M_NE: return low == high && !low ? 0 : low > 0 || high < 0 ? 1 : -1;
	default:
		return relates(low, 0, relation) == relates(high, 0, relation)
			       ? relates(low, 0, relation)
			       : -1;
	}
}

static void decide_by_range(struct lanes_values *v, uint32_t a, uint32_t b,
			    enum sass_modifier relation, bool is_unsigned, struct lanes_pred *out)
{
	const uint32_t x = lanes_extend(v, a, !is_unsigned), y = lanes_extend(v, b, !is_unsigned);
	const uint32_t d = x == LANES_NONE || y == LANES_NONE
				   ? LANES_NONE
				   : lanes_add(v, x, lanes_scale(v, y, UINT64_MAX));

	if (d == LANES_NONE || v->forms.at[d].is_assumed)
		return;
	for (unsigned i = 0; i < LANES; i++) {
		int64_t low, high;
		int is;

		if (!lanes_range(v, d, false, i, &low, &high))
			continue;
		is = decided(low, high, relation);
		if (is < 0)
			continue;
		out->known |= 1u << i;
		out->value |= (uint32_t)is << i;
	}
}

/*
 * All lanes lie between two multiples of a unit, and what they are compared with is such a multiple: they are all
 * below it, or none is. `first` is compared with a bound that all lanes share.
 */
static bool is_alike(struct lanes_values *v, uint32_t first, uint32_t bound,
		     enum sass_modifier relation)
{
	const uint32_t x = lanes_sum(v, first), y = lanes_sum(v, bound);
	uint64_t residue, unit;

	if (x == LANES_NONE || y == LANES_NONE || v->forms.at[y].pattern)
		return false;
	unit = lanes_reach(v, x, 4096);
	if (!unit || lanes_alignment(v, y, unit, false, &residue) < unit)
		return false;
	return relation == SASS_M_LT || relation == SASS_M_GE   ? residue == 0
	       : relation == SASS_M_LE || relation == SASS_M_GT ? ((residue + 1) & (unit - 1)) == 0
								: false;
}

static enum sass_modifier turned_around(enum sass_modifier relation)
{
	return relation == SASS_M_LT   ? SASS_M_GT
	       : relation == SASS_M_GT ? SASS_M_LT
	       : relation == SASS_M_LE ? SASS_M_GE
	       : relation == SASS_M_GE ? SASS_M_LE
				       : relation;
}

/* Equal or not shows modulo 2^32 as well. */
static void decide_equal(struct lanes_values *v, uint32_t a, uint32_t b,
			 enum sass_modifier relation, struct lanes_pred *out)
{
	const uint32_t x = lanes_sum(v, a), y = lanes_sum(v, b);
	uint32_t d, number[LANES];

	if (x == LANES_NONE || y == LANES_NONE)
		return;
	d = lanes_add(v, x, lanes_scale(v, y, UINT64_MAX));
	if (d == LANES_NONE || !lanes_numbers(v, lanes_low(v, d), number))
		return;
	out->known = LANES_ALL;
	for (unsigned i = 0; i < LANES; i++)
		out->value |= (uint32_t)(!number[i] == (relation == SASS_M_EQ)) << i;
}

struct lanes_pred lanes_compare(struct lanes_values *v, uint32_t a, uint32_t b,
				enum sass_modifier relation, bool is_unsigned)
{
	struct lanes_pred out = {LANES_PLAIN, .reasons = lanes_reasons(v, a) | lanes_reasons(v, b),
				 .is_uniform = lanes_is_uniform(v, a) && lanes_is_uniform(v, b)};
	uint32_t x[LANES], y[LANES];

	if (relation == SASS_M_T || relation == SASS_M_F) {
		out.known = LANES_ALL;
		out.value = relation == SASS_M_T ? LANES_ALL : 0;
	} else if (lanes_numbers(v, a, x) && lanes_numbers(v, b, y)) {
		out.known = LANES_ALL;
		for (unsigned i = 0; i < LANES; i++)
			out.value |= (uint32_t)(is_unsigned ? relates(x[i], y[i], relation)
							    : relates((int32_t)x[i], (int32_t)y[i],
								      relation))
				     << i;
	} else if (lanes_half(a) != LANES_UNKNOWN && lanes_half(b) != LANES_UNKNOWN) {
		if (relation == SASS_M_EQ || relation == SASS_M_NE)
			decide_equal(v, a, b, relation, &out);
		if (out.known != LANES_ALL)
			decide_by_range(v, a, b, relation, is_unsigned, &out);
		if (!out.known &&
		    (is_alike(v, a, b, relation) || is_alike(v, b, a, turned_around(relation))))
			out.is_uniform = true;
	}
	if (__builtin_popcount(~out.known) == 1)
		out.is_uniform = true; /* of one lane only */
	return out;
}

/* ------------------------------------------------------------------------------------- known lanes */

static uint32_t permute(uint32_t a, uint32_t selector, uint32_t c)
{
	const uint64_t bytes = (uint64_t)c << 32 | a;
	uint32_t r = 0;

	for (unsigned i = 0; i < 4; i++) {
		const unsigned s = selector >> (4 * i) & 15;
		uint32_t byte = bytes >> (8 * (s & 7)) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		r |= byte << (8 * i);
	}
	return r;
}

static uint32_t shift(const struct lanes_insn *x, uint32_t a, unsigned n, uint32_t c)
{
	const uint64_t both = (uint64_t)c << 32 | a;
	const uint64_t r = !x->is_right     ? both << n
			   : x->is_unsigned ? both >> n
					    : (uint64_t)((int64_t)both >> n);

	return (uint32_t)(x->is_high ? r >> 32 : r);
}

static uint32_t reversed(uint32_t a)
{
	uint32_t r = 0;

	for (unsigned i = 0; i < 32; i++)
		r |= (a >> i & 1) << (31 - i);
	return r;
}

static float as_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint32_t as_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* Rounded up, as I2F.RP does. */
static uint32_t to_float_up(int64_t n)
{
	float f = (float)n;

	if ((double)f < (double)n)
		f = nextafterf(f, INFINITY);
	return as_bits(f);
}

static uint32_t to_unsigned(float f)
{
	return !(f > 0) ? 0 : f >= 4294967296.0f ? UINT32_MAX : (uint32_t)f;
}

/* One lane; false = not modelled for these numbers. */
static bool one_lane(const struct lanes_insn *x, const uint32_t in[3], uint32_t *r)
{
	switch (x->op) {
	case LANES_OP_SHF: *r = in[1] < 32 ? shift(x, in[0], in[1], in[2]) : 0; return in[1] < 32;
	case LANES_OP_PRMT: *r = permute(in[0], in[1], in[2]); return true;
	case LANES_OP_SGXT:
		if (in[1] >= 32 || !in[1])
			return false;
		*r = in[0] << (32 - in[1]);
		*r = x->is_unsigned ? *r >> (32 - in[1]) : (uint32_t)((int32_t)*r >> (32 - in[1]));
		return true;
	case LANES_OP_BMSK:
		if (in[0] >= 32 || in[1] >= 32)
			return false;
		*r = ((1u << in[1]) - 1) << in[0];
		return true;
	case LANES_OP_ABS: *r = (int32_t)in[0] < 0 ? 0u - in[0] : in[0]; return true;
	case LANES_OP_POPC: *r = (uint32_t)__builtin_popcount(in[0]); return true;
	case LANES_OP_BREV: *r = reversed(in[0]); return true;
	case LANES_OP_FLO:
		*r = in[0] ? 31u - (uint32_t)__builtin_clz(in[0]) : UINT32_MAX;
		return x->is_unsigned;
	case LANES_OP_I2F:
		*r = to_float_up(x->is_unsigned ? (int64_t)in[0] : (int32_t)in[0]);
		return true;
	/* Correctly rounded: the quotient comes out exact with any error of the unit up to an ulp. */
	case LANES_OP_RCP: *r = as_bits(1.0f / as_float(in[0])); return true;
	case LANES_OP_F2I: *r = to_unsigned(as_float(in[0])); return true;
	default: return false;
	}
}

static bool by_lane(struct lanes_values *v, const struct lanes_insn *x,
		    const uint32_t in[LANES_SOURCES], uint32_t *out)
{
	const unsigned n = x->sources_n < 3 ? x->sources_n : 3;
	uint32_t number[3][LANES], r[LANES];

	for (unsigned k = 0; k < n; k++)
		if (!lanes_numbers(v, in[k], number[k]))
			return false;
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t lane[3] = {0};

		for (unsigned k = 0; k < n; k++)
			lane[k] = number[k][i];
		if (!one_lane(x, lane, &r[i]))
			return false;
	}
	*out = lanes_known(v, r);
	return true;
}

static bool shift_sum(struct lanes_values *v, const struct lanes_insn *x,
		      const uint32_t in[LANES_SOURCES], uint32_t *out)
{
	uint32_t n, zero, pair;

	if (!lanes_is_number(v, in[1], &n) || n >= 32)
		return false;
	if (!x->is_right && !x->is_high) {
		const uint32_t a = lanes_sum(v, in[0]);

		if (a == LANES_NONE)
			return false;
		*out = lanes_low(v, lanes_scale(v, a, UINT64_C(1) << n));
		return true;
	}
	if (!x->is_right) {
		pair = lanes_pair(v, in[0], in[2]);
		if (pair == LANES_NONE)
			return false;
		*out = lanes_high(v, lanes_scale(v, pair, UINT64_C(1) << n));
		return true;
	}
	if (!x->is_high) { /* of the lower half, where nothing comes in from above */
		if (!lanes_is_number(v, in[2], &zero) || zero)
			return false;
		*out = lanes_shift_down(v, in[0], n, false);
		return lanes_half(*out) != LANES_UNKNOWN;
	}
	*out = lanes_shift_down(v, in[2], n, !x->is_unsigned);
	if (lanes_half(*out) != LANES_UNKNOWN)
		return true;
	if (n != 31 || x->is_unsigned)
		return false;
	pair = lanes_extend(v, in[2], true); /* copies of the sign */
	if (pair == LANES_NONE)
		return false;
	*out = lanes_high(v, pair);
	return true;
}

bool lanes_alu(struct lanes_values *v, const struct lanes_insn *x, const uint32_t in[LANES_SOURCES],
	       uint32_t *out)
{
	if (by_lane(v, x, in, out))
		return true;
	if (x->op == LANES_OP_SHF)
		return shift_sum(v, x, in, out);
	if (x->op == LANES_OP_SGXT && x->is_unsigned) {
		uint32_t n;

		if (!lanes_is_number(v, in[1], &n) || !n || n >= 32)
			return false;
		*out = low_bits(v, in[0], n);
		return lanes_half(*out) != LANES_UNKNOWN;
	}
	return false;
}

/* ------------------------------------------------------------------------------------- shuffles */

/* Where lane i takes its data from, as PTX defines shfl. */
static unsigned source_lane(const struct lanes_insn *x, unsigned i, uint32_t by, uint32_t clamp)
{
	const unsigned segment = clamp >> 8 & 31;
	const unsigned most = (i & segment) | (clamp & 31 & ~segment), least = i & segment;
	int j;

	by &= 31;
	switch (x->relation) {
	case SASS_M_UP: j = (int)i - (int)by; return j >= (int)most ? (unsigned)j : i;
	case SASS_M_DOWN: j = (int)i + (int)by; break;
	case SASS_M_BFLY: j = (int)(i ^ by); break;
	default: j = (int)(least | (by & ~segment)); break;
	}
	return j <= (int)most ? (unsigned)j & 31 : i;
}

uint32_t lanes_shuffle(struct lanes_values *v, const struct lanes_insn *x, uint32_t data,
		       uint32_t by, uint32_t clamp)
{
	uint32_t b[LANES], c[LANES];
	struct lanes_form f;
	struct lanes_pattern p;
	uint64_t at[LANES];
	uint32_t form;

	if (lanes_is_uniform(v, data))
		return data;
	if (lanes_half(data) == LANES_UNKNOWN || !lanes_numbers(v, by, b) ||
	    !lanes_numbers(v, clamp, c))
		return lanes_unknown(lanes_reasons(v, data) | lanes_reasons(v, by) |
				     LANES_OPERATION);
	f = v->forms.at[lanes_of(data)];
	p = v->patterns.at[f.pattern];
	for (unsigned i = 0; i < LANES; i++)
		at[i] = f.base + (uint64_t)p.at[source_lane(x, i, b[i], c[i])];
	form = lanes_of_numbers(v, at);
	form = lanes_add(v, form, lanes_form(v, 0, f.terms, 0, f.is_assumed));
	return lanes_half(data) == LANES_LOW ? lanes_low(v, form) : lanes_high(v, form);
}
