/*
 * lanes_read.c - what an instruction reads: registers, predicates, constants of the launch. See lanes_step.h.
 */
#include "lanes_step.h"

/* ------------------------------------------------------------------------------------- reading */

uint32_t lanes_read_reg(const struct lanes_state *s, uint8_t kind, uint16_t reg, unsigned n)
{
	if (reg == SASS_RZ || reg + n >= LANES_REGS)
		return LANES_LOW; /* form 0 */
	return kind == LANES_ARG_UREG ? s->ur[reg + n] : s->r[reg + n];
}

struct lanes_pred lanes_not(const struct lanes_pred *a)
{
	struct lanes_pred p = *a;

	p.value = ~p.value & p.known;
	p.carry[0] = p.carry[1] = LANES_NONE;
	p.is_opposite = !p.is_opposite;
	return p;
}

struct lanes_pred lanes_and(const struct lanes_pred *a, const struct lanes_pred *b)
{
	const struct lanes_pred in[3] = {*a, *b, lanes_same(true)};

	if (b->known == LANES_ALL && b->value == LANES_ALL)
		return *a;
	if (a->known == LANES_ALL && a->value == LANES_ALL)
		return *b;
	return lanes_logic_pred(in, 0x80);
}

bool lanes_all(const struct lanes_pred *p, uint32_t lanes, bool value)
{
	return !(~p->known & lanes) && !((value ? ~p->value : p->value) & lanes);
}

struct lanes_pred lanes_read_pred(const struct lanes_run *run, const struct lanes_state *s,
				  const struct lanes_arg *a)
{
	struct lanes_pred p = a->reg >= SASS_PT            ? lanes_same(true)
			      : a->kind == LANES_ARG_UPRED ? s->up[a->reg]
							   : s->p[a->reg];

	(void)run;
	return a->flags & SASS_NOT ? lanes_not(&p) : p;
}

struct lanes_pred lanes_guard(const struct lanes_run *run, const struct lanes_state *s,
			      const struct sass_insn *insn)
{
	const struct lanes_arg a = {
		.kind = insn->guard_uniform ? LANES_ARG_UPRED : LANES_ARG_PRED,
		.flags = insn->guard_not ? SASS_NOT : 0,
		.reg = insn->guard,
	};

	return lanes_read_pred(run, s, &a);
}

/* ------------------------------------------------------------------------------------- constants */

static uint64_t bytes_at(const uint8_t *bytes, uint32_t n, uint32_t at, unsigned width)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < width; i++)
		if (at + i < n)
			r |= (uint64_t)bytes[at + i] << (8 * i);
	return r;
}

/* The argument that covers a word: one of four bytes is a number of its own, others are read by eight. */
static unsigned argument_width(const struct cubin_function *f, uint32_t at)
{
	for (size_t i = 0; i < f->params_n; i++)
		if (at >= f->params[i].offset && at - f->params[i].offset < f->params[i].bytes)
			return f->params[i].bytes == 4 ? 4 : 8;
	return 8;
}

static uint32_t constant_symbol(struct lanes_run *run, uint32_t bank, uint32_t offset)
{
	const struct lanes_launch *l = run->launch;
	const uint32_t base = cubin_layout((uint32_t)run->c->g->sm)->params;
	const bool is_param = bank == 0 && offset >= base &&
			      offset - base < l->function->param_bytes;
	const unsigned width = is_param ? argument_width(l->function, offset - base) : 8;
	const bool is_upper = width == 8 && offset & 4;
	struct lanes_symbol s = {.kind = LANES_CONSTANT,
				 .owner = LANES_NONE,
				 .reasons = is_param ? LANES_ARGUMENT
					    : bank   ? LANES_LOADED
						     : 0,
				 .parent = LANES_NONE};
	uint32_t form;

	if (is_upper)
		offset -= 4;
	s.key = (uint64_t)bank << 32 | offset;
	s.is_pointer = is_param && width == 8;
	if (is_param && l->params && l->known) {
		const uint64_t open = ~bytes_at(l->known, l->params_n, offset - base, width);

		s.aligned = (uint8_t)(open ? __builtin_ctzll(open) : 63);
		s.aligned = s.aligned > 12 ? 12 : s.aligned;
		s.high = bytes_at(l->params, l->params_n, offset - base, width) &
			 ((UINT64_C(1) << s.aligned) - 1);
	}
	form = lanes_term(&run->v, lanes_symbol(&run->v, &s), 1);
	return is_upper ? lanes_high(&run->v, form) : lanes_low(&run->v, form);
}

static uint32_t constant(struct lanes_run *run, uint32_t bank, uint32_t offset)
{
	const struct lanes_launch *l = run->launch;
	const struct cubin_layout *at = cubin_layout((uint32_t)run->c->g->sm);

	if (bank == 0 && offset - at->block < 12 && !(offset & 3))
		return lanes_uniform(&run->v, l->block[(offset - at->block) / 4]);
	if (bank == 0 && offset - at->grid < 12 && !(offset & 3))
		return lanes_uniform(&run->v, l->grid[(offset - at->grid) / 4]);
	if (bank == 0 && offset >= at->params && l->params &&
	    offset - at->params + 4 <= l->params_n &&
	    bytes_at(l->known, l->params_n, offset - at->params, 4) == UINT32_MAX)
		return lanes_uniform(&run->v, (uint32_t)bytes_at(l->params, l->params_n,
								 offset - at->params, 4));
	return constant_symbol(run, bank, offset);
}

/* Word n of a bank operand. */
static uint32_t read_bank(struct lanes_run *run, const struct lanes_state *s,
			  const struct lanes_arg *a, unsigned n, uint32_t i)
{
	uint32_t index, number = 0;

	if (a->bank == 255)
		return lanes_low(&run->v,
				 lanes_made(run, i, UINT64_C(1) << 42 | n, LANES_ARGUMENT));
	if (a->index_kind != LANES_ARG_NONE) {
		index = lanes_read_reg(s, a->index_kind, a->index, 0);
		if (!lanes_is_number(&run->v, index, &number))
			return lanes_is_uniform(&run->v, index)
				       ? lanes_low(&run->v,
						   lanes_made(run, i, UINT64_C(1) << 42 | n,
							      lanes_reasons(&run->v, index) |
								      LANES_LOADED))
				       : lanes_unknown(lanes_reasons(&run->v, index) |
						       LANES_LOADED);
	}
	return constant(run, a->bank, (uint32_t)a->value + number + 4 * n);
}

/* ------------------------------------------------------------------------------------- operands */

static uint32_t negated(struct lanes_values *v, uint32_t value, uint64_t more)
{
	uint32_t form;

	switch (lanes_half(value)) {
	case LANES_LOW:
		form = lanes_scale(v, lanes_of(value), UINT64_MAX);
		return lanes_low(v, lanes_add(v, form, lanes_form(v, more, 0, 0, false)));
	case LANES_HIGH: /* ~high(F) is high(~F); -high(F) is not a half of F's negative */
		if (more != UINT64_MAX)
			return lanes_unknown(LANES_OPERATION | lanes_reasons(v, value));
		form = lanes_scale(v, lanes_of(value), UINT64_MAX);
		return lanes_high(v, lanes_add(v, form, lanes_form(v, more, 0, 0, false)));
	default: return value;
	}
}

/* Register or word n of a source as a value, its sign or complement done. */
uint32_t lanes_source(struct lanes_run *run, const struct lanes_state *s, const struct lanes_arg *a,
		      unsigned n, uint32_t i)
{
	uint32_t value;

	switch (a->kind) {
	case LANES_ARG_REG:
	case LANES_ARG_UREG: value = lanes_read_reg(s, a->kind, a->reg, n); break;
	case LANES_ARG_NUMBER:
		value = lanes_uniform(&run->v, (uint32_t)(a->value >> (32 * n)));
		break;
	case LANES_ARG_BANK: value = read_bank(run, s, a, n, i); break;
	default: return lanes_unknown(LANES_OPERATION);
	}
	if (a->flags & SASS_ABS)
		return lanes_unknown(LANES_OPERATION);
	if (a->flags & SASS_NOT)
		return negated(&run->v, value, UINT64_MAX);
	return a->flags & SASS_NEG ? negated(&run->v, value, 0) : value;
}

/* 64 bits of a source: two registers, two words, or a number with its sign. */
uint32_t lanes_source_wide(struct lanes_run *run, const struct lanes_state *s,
			   const struct lanes_arg *a, uint32_t i)
{
	struct lanes_arg bare = *a;
	uint32_t form;

	if (a->kind == LANES_ARG_NUMBER)
		return lanes_form(&run->v, (uint64_t)a->value, 0, 0, false);
	bare.flags = 0;
	form = lanes_pair(&run->v, lanes_source(run, s, &bare, 0, i),
			  lanes_source(run, s, &bare, 1, i));
	if (a->flags & SASS_ABS)
		return LANES_NONE;
	if (a->flags & (SASS_NEG | SASS_NOT))
		form = lanes_scale(&run->v, form, UINT64_MAX);
	if (a->flags & SASS_NOT)
		form = lanes_add(&run->v, form, lanes_form(&run->v, UINT64_MAX, 0, 0, false));
	return form;
}

/* What all inputs have in common: whether every one is the same in all lanes, and what is not known of them. */
bool lanes_inputs(struct lanes_run *run, const struct lanes_state *s, const struct lanes_insn *x,
		  uint32_t i, uint32_t *reasons)
{
	bool uniform = true;

	*reasons = 0;
	for (unsigned k = 0; k < x->sources_n; k++) {
		const struct lanes_arg *a = &x->source[k];

		if (a->kind == LANES_ARG_PRED || a->kind == LANES_ARG_UPRED) {
			const struct lanes_pred p = lanes_read_pred(run, s, a);

			uniform = uniform && (lanes_all(&p, s->crew.lanes, true) ||
					      lanes_all(&p, s->crew.lanes, false) ||
					      (p.is_uniform && !(p.known & s->crew.lanes)));
			*reasons |= p.known == LANES_ALL ? 0 : p.reasons;
			continue;
		}
		for (unsigned n = 0; lanes_is_input(a) && n < (a->regs ? a->regs : 1); n++) {
			struct lanes_arg bare = *a;
			uint32_t value;

			bare.flags = 0;
			value = lanes_source(run, s, &bare, n, i);
			uniform = uniform && lanes_is_uniform(&run->v, value);
			*reasons |= lanes_reasons(&run->v, value);
		}
	}
	return uniform;
}

const struct lanes_arg *lanes_pred_source(const struct lanes_insn *x, unsigned from, unsigned n)
{
	for (unsigned k = from; k < x->sources_n; k++)
		if ((x->source[k].kind == LANES_ARG_PRED || x->source[k].kind == LANES_ARG_UPRED) &&
		    n-- == 0)
			return &x->source[k];
	return NULL;
}
