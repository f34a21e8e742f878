/*
 * lanes_arith.c - arithmetic, logic and comparisons, instruction by instruction; sums of 64 bits in two halves keep
 * their carries. See lanes_step.h.
 */
#include "lanes_step.h"

void lanes_step_lanewise(struct lanes_writing *w, const struct lanes_insn *x)
{
	uint32_t reasons;
	const bool uniform = lanes_inputs(w->run, w->s, x, w->i, &reasons);

	lanes_write_unknown(w, x, uniform,
			    uniform   ? reasons | LANES_OPERATION
			    : reasons ? reasons
				      : LANES_OPERATION);
}

/*
 * a + b + carry, where the carry is that of the sum of the lower halves: the upper half of a sum of 64 bits.
 * Halves must belong to what was added below; numbers are put below themselves.
 */
static uint32_t add_with_carry(struct lanes_values *v, const uint32_t *in, unsigned n,
			       const struct lanes_pred *carry)
{
	uint32_t sum = 0, reasons = carry->reasons, low[2] = {carry->carry[0], carry->carry[1]};
	uint32_t bit[LANES];
	bool is_used[2] = {false, false};

	if (carry->known == LANES_ALL) {
		uint32_t all[4];

		for (unsigned i = 0; i < LANES; i++)
			bit[i] = carry->value >> i & 1;
		memcpy(all, in, n * sizeof(*in));
		all[n] = lanes_known(v, bit);
		return lanes_add_values(v, all, n + 1);
	}
	for (unsigned k = 0; k < n; k++)
		reasons |= lanes_reasons(v, in[k]);
	if (low[0] == LANES_NONE)
		return lanes_unknown(reasons | LANES_OPERATION);
	for (unsigned k = 0; k < n; k++) {
		unsigned m = 0;
		uint32_t form, one;

		if (lanes_half(in[k]) == LANES_UNKNOWN)
			return lanes_unknown(reasons);
		form = lanes_of(in[k]);
		if (lanes_half(in[k]) == LANES_LOW) {
			sum = lanes_add(v, sum, lanes_scale(v, form, UINT64_C(1) << 32));
			continue;
		}
		one = lanes_add(v, form, lanes_form(v, 1, 0, 0, false));
		while (m < 2 && (is_used[m] ||
				 (lanes_lower(v, form) != low[m] && lanes_lower(v, one) != low[m])))
			m++;
		if (m == 2)
			return lanes_unknown(reasons | LANES_OPERATION);
		is_used[m] = true;
		/* a complement above is the negative below */
		sum = lanes_add(v, sum, lanes_lower(v, form) == low[m] ? form : one);
	}
	for (unsigned m = 0; m < 2; m++) {
		uint64_t number[LANES];

		if (is_used[m])
			continue;
		if (lanes_form_numbers(v, low[m], number))
			sum = lanes_add(v, sum, low[m]);
		else
			sum = lanes_add(v, sum, lanes_extend(v, low[m] << 2 | LANES_LOW, false));
	}
	return lanes_high(v, sum);
}

/* The carry out of a sum of 32 bits. A negative is its complement and 1. */
static struct lanes_pred carry_of(struct lanes_run *run, const struct lanes_state *s,
				  const struct lanes_arg *const *args, const uint32_t *in,
				  unsigned n, uint32_t i)
{
	struct lanes_values *v = &run->v;
	struct lanes_pred p = lanes_open(false, 0);
	uint64_t number[2][LANES];
	unsigned terms = 0, known = 0;

	p.is_uniform = true;
	for (unsigned k = 0; k < n; k++) {
		uint32_t plain[LANES], zero;

		p.reasons |= lanes_reasons(v, in[k]);
		p.is_uniform = p.is_uniform && lanes_is_uniform(v, in[k]);
		if (lanes_is_number(v, in[k], &zero) && !zero && !(args[k] && args[k]->flags))
			continue;
		if (terms == 2 || lanes_half(in[k]) != LANES_LOW)
			return lanes_open(p.is_uniform, p.reasons | LANES_OPERATION);
		p.carry[terms] = lanes_of(in[k]);
		if (lanes_numbers(v, in[k], plain)) {
			struct lanes_arg bare = args[k] ? *args[k] : (struct lanes_arg){0};

			for (unsigned l = 0; l < LANES; l++)
				number[known][l] = plain[l];
			bare.flags = 0;
			if (args[k] && args[k]->flags & SASS_NEG &&
			    lanes_numbers(v, lanes_source(run, s, &bare, 0, i), plain))
				for (unsigned l = 0; l < LANES; l++)
					number[known][l] = (uint64_t)(uint32_t)~plain[l] + 1;
			p.carry[terms] = lanes_of_numbers(v, number[known]);
			known++;
		}
		terms++;
	}
	for (; terms < 2; terms++, known++) {
		memset(number[known], 0, sizeof(number[known]));
		p.carry[terms] = 0;
	}
	if (known == 2) {
		p.known = LANES_ALL;
		for (unsigned l = 0; l < LANES; l++)
			p.value |= (uint32_t)((number[0][l] + number[1][l]) >> 32 & 1) << l;
		p.carry[0] = p.carry[1] = LANES_NONE;
	}
	if (p.carry[0] == LANES_NONE || p.carry[1] == LANES_NONE)
		p.carry[0] = p.carry[1] = LANES_NONE;
	return p;
}

static void step_add_wide(struct lanes_writing *w, const struct lanes_insn *x)
{
	uint32_t sum = 0;

	if (x->is_x) {
		lanes_step_lanewise(w, x);
		return;
	}
	for (unsigned k = 0; k < x->sources_n; k++)
		if (lanes_is_input(&x->source[k]))
			sum = lanes_add(&w->run->v, sum,
					lanes_source_wide(w->run, w->s, &x->source[k], w->i));
	lanes_write_carry(w, x, NULL);
	lanes_write_wide(w, x, sum);
}

void lanes_step_add(struct lanes_writing *w, const struct lanes_insn *x)
{
	uint32_t in[4];
	const struct lanes_arg *args[3] = {NULL};
	unsigned n = 0;

	if (lanes_dest_reg(x)->regs == 2) {
		step_add_wide(w, x);
		return;
	}
	for (unsigned k = 0; k < x->sources_n && n < 3; k++)
		if (lanes_is_input(&x->source[k])) {
			args[n] = &x->source[k];
			in[n++] = lanes_source(w->run, w->s, &x->source[k], 0, w->i);
		}
	if (x->is_x) {
		const struct lanes_arg *first = lanes_pred_source(x, 0, 0),
				       *second = lanes_pred_source(x, 0, 1);
		struct lanes_pred p = first ? lanes_read_pred(w->run, w->s, first)
					    : lanes_same(false);

		if (second) {
			const struct lanes_pred q = lanes_read_pred(w->run, w->s, second);

			if (!lanes_all(&q, LANES_ALL, false))
				p = lanes_open(false, q.reasons | LANES_OPERATION);
		}
		lanes_write_carry(w, x, NULL);
		lanes_write_sum(w, x, add_with_carry(&w->run->v, in, n, &p));
	} else {
		const struct lanes_pred p = carry_of(w->run, w->s, args, in, n, w->i);
		const uint32_t sum = lanes_add_values(&w->run->v, in, n);

		lanes_write_sum(w, x, sum);
		lanes_write_carry(w, x, &p);
	}
}

/* The product of a lane's own number and one that all share but nobody knows has a reason of its own. */
static uint32_t why_no_product(const struct lanes_values *v, uint32_t a, uint32_t b)
{
	const uint32_t reasons = lanes_reasons(v, a) | lanes_reasons(v, b);

	return reasons ? reasons : LANES_OPERATION;
}

/* Of two forms; what neither is known but all lanes share is a new number. */
static uint32_t product_of(struct lanes_writing *w, uint32_t a, uint32_t b)
{
	struct lanes_values *v = &w->run->v;
	const uint32_t product = lanes_multiply(v, a, b);

	if (product != LANES_NONE || a == LANES_NONE || b == LANES_NONE || v->forms.at[a].pattern ||
	    v->forms.at[b].pattern)
		return product;
	return lanes_made(w->run, w->i, UINT64_C(1) << 43,
			  lanes_form_reasons(v, a) | lanes_form_reasons(v, b));
}

void lanes_step_mad(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_values *v = &w->run->v;
	const uint32_t a = lanes_source(w->run, w->s, &x->source[0], 0, w->i);
	const uint32_t b = lanes_source(w->run, w->s, &x->source[1], 0, w->i);
	uint32_t in[2], one;

	in[1] = lanes_source(w->run, w->s, &x->source[2], 0, w->i);
	if (lanes_is_number(v, b, &one) && one == 1) {
		in[0] = a; /* a half stays one */
	} else {
		const uint32_t product = product_of(w, lanes_sum(v, a), lanes_sum(v, b));

		in[0] = product == LANES_NONE ? lanes_unknown(why_no_product(v, a, b))
					      : lanes_low(v, product);
	}
	if (x->is_x) {
		const struct lanes_arg *first = lanes_pred_source(x, 0, 0);
		const struct lanes_pred p = first ? lanes_read_pred(w->run, w->s, first)
						  : lanes_same(false);

		lanes_write_sum(w, x, add_with_carry(v, in, 2, &p));
	} else {
		lanes_write_sum(w, x, lanes_add_values(v, in, 2));
	}
	lanes_write_carry(w, x, NULL);
}

void lanes_step_mad_wide(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_values *v = &w->run->v;
	const uint32_t a = lanes_source(w->run, w->s, &x->source[0], 0, w->i);
	const uint32_t b = lanes_source(w->run, w->s, &x->source[1], 0, w->i);
	const uint32_t product = product_of(w, lanes_extend(v, a, !x->is_unsigned),
					    lanes_extend(v, b, !x->is_unsigned));
	const uint32_t c = lanes_source_wide(w->run, w->s, &x->source[2], w->i);
	const uint32_t sum = x->is_x ? LANES_NONE : lanes_add(v, product, c);

	lanes_write_carry(w, x, NULL);
	if (x->op == LANES_OP_MAD_WIDE)
		lanes_write_wide(w, x, sum);
	else
		lanes_write_sum(w, x,
				sum == LANES_NONE ? lanes_unknown(why_no_product(v, a, b))
						  : lanes_high(v, sum));
}

void lanes_step_lea(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_values *v = &w->run->v;
	const unsigned at = x->is_high && !x->is_signed_upper ? 3 : 2; /* of the shift */
	const uint32_t a = lanes_source(w->run, w->s, &x->source[0], 0, w->i);
	const uint32_t b = lanes_source(w->run, w->s, &x->source[1], 0, w->i);
	const struct lanes_arg *arg[2] = {NULL, &x->source[1]};
	const struct lanes_arg *first = lanes_pred_source(x, 0, 0);
	uint32_t in[2] = {0, b}, zero = 1, c = 0;
	struct lanes_pred p;
	unsigned n;

	if (x->sources_n <= at || x->source[at].kind != LANES_ARG_NUMBER ||
	    (!x->is_high && x->is_x)) {
		lanes_step_lanewise(w, x);
		return;
	}
	n = (unsigned)x->source[at].value & 31;
	if (!x->is_high) {
		const uint32_t sum = lanes_sum(v, a);

		in[0] = sum == LANES_NONE ? lanes_unknown(lanes_reasons(v, a) | LANES_OPERATION)
					  : lanes_low(v, lanes_scale(v, sum, UINT64_C(1) << n));
		p = carry_of(w->run, w->s, arg, in, 2, w->i);
		lanes_write_sum(w, x, lanes_add_values(v, in, 2));
		lanes_write_carry(w, x, &p);
		return;
	}
	if (x->is_signed_upper) {
		c = lanes_extend(v, a, true);
	} else {
		const uint32_t upper = lanes_source(w->run, w->s, &x->source[2], 0, w->i);

		if (n && lanes_is_number(v, upper, &zero) && !zero)
			in[0] = lanes_shift_down(v, a, 32 - n, false);
		c = lanes_pair(v, a, upper);
	}
	if (lanes_half(in[0]) == LANES_UNKNOWN)
		in[0] = c == LANES_NONE ? lanes_unknown(lanes_reasons(v, a) | LANES_OPERATION)
					: lanes_high(v, lanes_scale(v, c, UINT64_C(1) << n));
	p = first ? lanes_read_pred(w->run, w->s, first) : lanes_same(false);
	lanes_write_carry(w, x, NULL);
	lanes_write_sum(w, x, x->is_x ? add_with_carry(v, in, 2, &p) : lanes_add_values(v, in, 2));
}

void lanes_step_logic(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_values *v = &w->run->v;
	uint32_t in[3], value;
	struct lanes_pred p;

	for (unsigned k = 0; k < 3; k++)
		in[k] = lanes_source(w->run, w->s, &x->source[k], 0, w->i);
	value = x->source[3].kind == LANES_ARG_NUMBER
			? lanes_logic(v, in, (unsigned)x->source[3].value & 255)
			: lanes_unknown(LANES_OPERATION);
	if (lanes_is_reg(lanes_dest_reg(x)))
		lanes_write_sum(w, x, value);
	p = lanes_compare(v, value, lanes_uniform(v, 0), SASS_M_NE, true);
	if (lanes_half(value) == LANES_UNKNOWN) {
		uint32_t reasons;

		p.is_uniform = lanes_inputs(w->run, w->s, x, w->i, &reasons) ||
			       lanes_of(value) & LANES_COMMON;
		p.reasons = (p.reasons | reasons) & ~LANES_COMMON;
	}
	if (x->is_x || !lanes_pred_source(x, 4, 0))
		p = lanes_open(false, LANES_OPERATION);
	lanes_write_carry(w, x, &p);
}

void lanes_step_alu(struct lanes_writing *w, const struct lanes_insn *x)
{
	uint32_t in[LANES_SOURCES] = {0}, value;

	for (unsigned k = 0; k < x->sources_n; k++)
		in[k] = lanes_is_input(&x->source[k])
				? lanes_source(w->run, w->s, &x->source[k], 0, w->i)
				: lanes_unknown(LANES_OPERATION);
	if (lanes_dest_reg(x)->regs != 1 || !lanes_alu(&w->run->v, x, in, &value)) {
		lanes_step_lanewise(w, x);
		return;
	}
	lanes_write_reg(w, lanes_dest_reg(x), 0, value);
	lanes_write_carry(w, x, NULL);
}

void lanes_step_select(struct lanes_writing *w, const struct lanes_insn *x,
		       const struct lanes_pred *take)
{
	struct lanes_writing chosen = *w;
	const struct lanes_arg *to = lanes_dest_reg(x);

	chosen.guard = *take;

	for (unsigned n = 0; n < to->regs; n++) {
		const uint32_t a = lanes_source(w->run, w->s, &x->source[0], n, w->i);
		const uint32_t b = lanes_source(w->run, w->s, &x->source[1], n, w->i);

		lanes_write_reg(w, to, n,
				lanes_guarded(&chosen,
					      lanes_made_key(to->kind, to->reg + n) | 1u << 20, b,
					      a));
	}
}

/* Of a and b, or of a + b and c (VIADDMNMX). */
void lanes_step_minmax(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_values *v = &w->run->v;
	const struct lanes_arg *to = lanes_dest_reg(x), *which = lanes_pred_source(x, 0, 0);
	struct lanes_pred least = which ? lanes_read_pred(w->run, w->s, which)
					: lanes_open(false, 0);
	struct lanes_writing chosen = *w;
	struct lanes_pred p, in[3];
	uint32_t value[2];

	if (to->regs != 1 || least.known != LANES_ALL || x->is_64) {
		lanes_step_lanewise(w, x);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		value[i] = lanes_source(w->run, w->s, &x->source[i], 0, w->i);
	if (lanes_is_input(&x->source[2])) {
		value[0] = lanes_add_values(v, value, 2);
		value[1] = lanes_source(w->run, w->s, &x->source[2], 0, w->i);
	}
	p = lanes_compare(v, value[0], value[1], SASS_M_LT, x->is_unsigned);
	/* a where a < b is what is wanted, b where it is not */
	in[0] = p;
	in[1] = least;
	in[2] = lanes_same(true);
	chosen.guard = lanes_logic_pred(in, 0x82);
	lanes_write_carry(w, x, NULL);
	lanes_write_reg(w, to, 0,
			lanes_guarded(&chosen, lanes_made_key(to->kind, to->reg) | 1u << 20,
				      value[1], value[0]));
}

void lanes_step_compare(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_values *v = &w->run->v;
	const struct lanes_arg *with = lanes_pred_source(x, 0, 0),
			       *below = lanes_pred_source(x, 0, 1);
	const uint32_t a = lanes_source(w->run, w->s, &x->source[0], 0, w->i);
	const uint32_t b = lanes_source(w->run, w->s, &x->source[1], 0, w->i);
	struct lanes_pred p, in[3];
	unsigned table;

	if (x->source[0].regs == 2 || x->is_64 || !with || x->dests_n < 2) {
		lanes_step_lanewise(w, x);
		return;
	}
	p = lanes_compare(v, a, b, (enum sass_modifier)x->relation, x->is_unsigned);
	if (x->is_x) { /* the lower halves decide where the upper ones are equal */
		const struct lanes_pred equal = lanes_compare(v, a, b, SASS_M_EQ, true);

		in[0] = equal;
		in[1] = below ? lanes_read_pred(w->run, w->s, below) : lanes_open(false, 0);
		in[2] = lanes_compare(v, a, b,
				      x->relation == SASS_M_LE   ? SASS_M_LT
				      : x->relation == SASS_M_GE ? SASS_M_GT
								 : (enum sass_modifier)x->relation,
				      x->is_unsigned);
		p = lanes_logic_pred(in, 0xca); /* in[0] ? in[1] : in[2] */
	}
	table = x->logic == SASS_M_OR ? 0xfc : x->logic == SASS_M_XOR ? 0x3c : 0xc0;
	in[0] = p;
	in[1] = lanes_read_pred(w->run, w->s, with);
	in[2] = lanes_same(true);
	p = lanes_logic_pred(in, table);
	if (!x->is_x && table == 0xc0 && lanes_all(&in[1], LANES_ALL, true)) {
		p.compared[0] = a;
		p.compared[1] = b;
		p.relation = x->relation;
		p.is_unsigned = x->is_unsigned;
	}
	in[0] = lanes_not(&in[0]);
	in[2] = lanes_logic_pred(in, table);
	lanes_write_pred(w, &x->dest[0], p);
	lanes_write_pred(w, &x->dest[1], in[2]);
}

void lanes_step_plop(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_pred in[3];

	for (unsigned k = 0; k < 3; k++) {
		const uint8_t kind = x->source[k].kind;

		in[k] = kind == LANES_ARG_PRED || kind == LANES_ARG_UPRED
				? lanes_read_pred(w->run, w->s, &x->source[k])
				: lanes_open(false, LANES_OPERATION);
	}
	for (unsigned d = 0; d < 2; d++)
		lanes_write_pred(w, &x->dest[d],
				 lanes_logic_pred(in, (unsigned)x->source[3 + d].value & 255));
}
