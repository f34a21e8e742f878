/*
 * lanes_write.c - what an instruction leaves in registers and predicates, where its guard lets it, and the symbols of
 * what it makes. See lanes_step.h.
 */
#include "lanes_step.h"

/* ------------------------------------------------------------------------------------- symbols */

/* What instruction i makes and all lanes share: a form of one new symbol. */
uint32_t lanes_made(struct lanes_run *run, uint32_t i, uint64_t key, uint32_t reasons)
{
	const struct lanes_symbol s = {.kind = LANES_MADE,
				       .owner = i,
				       .reasons = reasons,
				       .parent = LANES_NONE,
				       .key = key};

	run->has_made[i] = 1;
	return lanes_term(&run->v, lanes_symbol(&run->v, &s), 1);
}

/* The lanes' offsets of two values are the same. */
static bool same_pattern(const struct lanes_values *v, uint32_t a, uint32_t b)
{
	return lanes_half(a) != LANES_UNKNOWN && lanes_half(a) == lanes_half(b) &&
	       v->forms.at[lanes_of(a)].pattern == v->forms.at[lanes_of(b)].pattern;
}

/* The shared part replaced by a symbol, the offsets kept. */
static uint32_t with_symbol(struct lanes_values *v, uint32_t value, uint32_t form,
			    const struct lanes_symbol *s)
{
	const struct lanes_form f = v->forms.at[form];

	form = lanes_add(v, lanes_term(v, lanes_symbol(v, s), 1),
			 lanes_form(v, 0, 0, f.pattern, f.is_assumed));
	return lanes_half(value) == LANES_HIGH ? lanes_high(v, form) : lanes_low(v, form);
}

static bool mentions(const struct lanes_values *v, uint32_t value, uint32_t i)
{
	const uint32_t form = lanes_of(value);

	return lanes_half(value) != LANES_UNKNOWN && v->forms.at[form].terms &&
	       lanes_mentions(v, form, LANES_MADE, i);
}

static bool is_made_by(const struct lanes_symbol *s, const void *ctx)
{
	return s->kind == LANES_MADE && s->owner == *(const uint32_t *)ctx;
}

void lanes_drop_slots(struct lanes_run *run, struct lanes_state *s,
		      bool (*is_such)(const struct lanes_symbol *s, const void *ctx),
		      const void *ctx)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->slots_n; k++) {
		const struct lanes_slot x = s->slots[k];

		if (lanes_any(&run->v, x.address, is_such, ctx) ||
		    (lanes_half(x.value) != LANES_UNKNOWN &&
		     lanes_any(&run->v, lanes_of(x.value), is_such, ctx)))
			continue;
		s->slots[n++] = x;
	}
	s->slots_n = n;
}

bool lanes_has_origin(const struct lanes_run *run, const struct lanes_pred *p,
		      bool (*is_such)(const struct lanes_symbol *s, const void *ctx),
		      const void *ctx)
{
	for (unsigned k = 0; k < 2; k++)
		if ((p->carry[k] != LANES_NONE && lanes_any(&run->v, p->carry[k], is_such, ctx)) ||
		    (p->compared[k] != LANES_NONE && lanes_half(p->compared[k]) != LANES_UNKNOWN &&
		     lanes_any(&run->v, lanes_of(p->compared[k]), is_such, ctx)))
			return true;
	return false;
}

/* Forgets what comparisons and carries are made of, where the callback says so of a symbol. */
static void drop_origins(struct lanes_run *run, struct lanes_state *s,
			 bool (*is_such)(const struct lanes_symbol *s, const void *ctx),
			 const void *ctx)
{
	for (unsigned q = 0; q < 2 * LANES_PREDS; q++) {
		struct lanes_pred *p = q < LANES_PREDS ? &s->p[q] : &s->up[q - LANES_PREDS];

		if (lanes_has_origin(run, p, is_such, ctx))
			lanes_plain(p);
	}
}

/*
 * An instruction is executed again: what still holds a number that it made before gets another name. Halves of
 * one form stay together.
 */
void lanes_rename_made(struct lanes_run *run, struct lanes_state *s, uint32_t i)
{
	struct lanes_values *v = &run->v;
	const unsigned n = lanes_cells(run);

	for (unsigned q = 0; q < n; q++) {
		const uint32_t old = *lanes_cell(run, s, q);
		struct lanes_symbol symbol = {.kind = LANES_MADE, .owner = i, .parent = LANES_NONE};
		uint32_t form;

		if (!mentions(v, old, i))
			continue;
		form = lanes_of(old);
		symbol.key = UINT64_C(1) << 40 | q;
		symbol.reasons = lanes_form_reasons(v, form);
		for (unsigned k = q + 1; k < n; k++) {
			uint32_t *other = lanes_cell(run, s, k);

			if (lanes_half(*other) == LANES_HIGH && lanes_half(old) == LANES_LOW &&
			    lanes_lower(v, lanes_of(*other)) == form) {
				form = lanes_of(*other);
				*other = with_symbol(v, *other, form, &symbol);
			} else if (*other == old || (lanes_half(old) == LANES_HIGH &&
						     lanes_half(*other) == LANES_LOW &&
						     lanes_lower(v, form) == lanes_of(*other))) {
				*other = with_symbol(v, *other, form, &symbol);
			}
		}
		*lanes_cell(run, s, q) = with_symbol(v, old, form, &symbol);
	}
	lanes_drop_slots(run, s, is_made_by, &i);
	drop_origins(run, s, is_made_by, &i);
}

/* ------------------------------------------------------------------------------------- writing */

uint32_t lanes_select(struct lanes_values *v, uint32_t a, uint32_t b, uint32_t take)
{
	struct lanes_form x, y;
	uint64_t at[LANES];
	uint32_t form;

	if (a == b || !~take)
		return b;
	if (!take)
		return a;
	if (lanes_half(a) == LANES_UNKNOWN || lanes_half(a) != lanes_half(b))
		return lanes_unknown(lanes_reasons(v, a) | lanes_reasons(v, b) | LANES_PARTED);
	x = v->forms.at[lanes_of(a)];
	y = v->forms.at[lanes_of(b)];
	if (x.terms != y.terms)
		return lanes_unknown(lanes_reasons(v, a) | lanes_reasons(v, b) | LANES_PARTED);
	for (unsigned i = 0; i < LANES; i++)
		at[i] = take >> i & 1 ? y.base + (uint64_t)v->patterns.at[y.pattern].at[i]
				      : x.base + (uint64_t)v->patterns.at[x.pattern].at[i];
	form = lanes_of_numbers(v, at);
	form = lanes_add(v, form, lanes_form(v, 0, x.terms, 0, x.is_assumed | y.is_assumed));
	return lanes_half(a) == LANES_HIGH ? lanes_high(v, form) : lanes_low(v, form);
}

/* The old value where the guard does not hold. */
uint32_t lanes_guarded(struct lanes_writing *w, uint64_t key, uint32_t old, uint32_t value)
{
	struct lanes_values *v = &w->run->v;
	const uint32_t lanes = w->s->crew.lanes, open = ~w->guard.known & lanes;
	struct lanes_symbol symbol = {.kind = LANES_MADE, .owner = w->i, .parent = LANES_NONE};

	if (!open)
		return lanes_select(v, old, value, w->guard.value | ~lanes);
	if (old == value)
		return value;
	symbol.reasons = lanes_reasons(v, old) | lanes_reasons(v, value) | w->guard.reasons;
	if (w->guard.is_uniform && open == lanes && same_pattern(v, old, value)) {
		symbol.key = UINT64_C(1) << 41 | key;
		w->run->has_made[w->i] = 1;
		return with_symbol(v, value, lanes_of(value), &symbol);
	}
	return lanes_unknown(symbol.reasons | LANES_PARTED);
}

void lanes_write_reg(struct lanes_writing *w, const struct lanes_arg *a, unsigned n, uint32_t value)
{
	uint32_t *to;

	if (a->reg == SASS_RZ || a->reg + n >= LANES_REGS - 1)
		return;
	to = a->kind == LANES_ARG_UREG ? &w->s->ur[a->reg + n] : &w->s->r[a->reg + n];
	/* one number for the warp, whatever it is */
	if (a->kind == LANES_ARG_UREG && !lanes_is_uniform(&w->run->v, value))
		value = lanes_low(&w->run->v,
				  lanes_made(w->run, w->i, lanes_made_key(a->kind, a->reg + n),
					     lanes_reasons(&w->run->v, value)));
	*to = lanes_guarded(w, lanes_made_key(a->kind, a->reg + n), *to, value);
}

void lanes_write_pred(struct lanes_writing *w, const struct lanes_arg *a, struct lanes_pred value)
{
	struct lanes_pred *to, old;
	const uint32_t lanes = w->s->crew.lanes, sure = w->guard.known & w->guard.value;

	if (a->reg >= SASS_PT)
		return;
	to = a->kind == LANES_ARG_UPRED ? &w->s->up[a->reg] : &w->s->p[a->reg];
	old = *to;
	if (a->kind == LANES_ARG_UPRED && value.known != LANES_ALL)
		value.is_uniform = true;
	if (lanes_all(&w->guard, lanes, true)) {
		*to = value;
		return;
	}
	to->known = (value.known & sure) | (old.known & w->guard.known & ~w->guard.value) |
		    (value.known & old.known & ~(value.value ^ old.value));
	to->value = ((value.value & sure) | (old.value & ~sure)) & to->known;
	to->is_uniform = value.is_uniform && old.is_uniform && w->guard.is_uniform && !to->known;
	to->reasons = value.reasons | old.reasons | w->guard.reasons;
	lanes_plain(to);
}

/* All registers that an instruction writes become unknown; with `shared` numbers that all lanes share. */
void lanes_write_unknown(struct lanes_writing *w, const struct lanes_insn *x, bool shared,
			 uint32_t reasons)
{
	for (unsigned d = 0; d < x->dests_n; d++) {
		const struct lanes_arg *a = &x->dest[d];

		if (!lanes_is_reg(a)) {
			if (a->kind == LANES_ARG_PRED || a->kind == LANES_ARG_UPRED)
				lanes_write_pred(w, a, lanes_open(shared, reasons));
			continue;
		}
		for (unsigned n = 0; n < a->regs; n++) {
			uint32_t form;

			if (!shared && a->kind == LANES_ARG_REG) {
				lanes_write_reg(w, a, n, lanes_unknown(reasons));
				continue;
			}
			/* two by two: perhaps an address */
			form = lanes_made(w->run, w->i, lanes_made_key(a->kind, a->reg + (n & ~1u)),
					  reasons);
			lanes_write_reg(w, a, n,
					n & 1 ? lanes_high(&w->run->v, form)
					      : lanes_low(&w->run->v, form));
		}
	}
}

/* Carries, minima and the like go to predicates behind or in front of the result. */
void lanes_write_carry(struct lanes_writing *w, const struct lanes_insn *x,
		       const struct lanes_pred *p)
{
	bool is_first = true;

	for (unsigned d = 0; d < x->dests_n; d++) {
		const uint8_t kind = x->dest[d].kind;

		if (kind != LANES_ARG_PRED && kind != LANES_ARG_UPRED)
			continue;
		lanes_write_pred(w, &x->dest[d],
				 p && is_first ? *p : lanes_open(false, LANES_OPERATION));
		is_first = false;
	}
}

const struct lanes_arg *lanes_dest_reg(const struct lanes_insn *x)
{
	for (unsigned d = 0; d < x->dests_n; d++)
		if (lanes_is_reg(&x->dest[d]))
			return &x->dest[d];
	return &x->dest[0];
}

/* A sum, or where it is none what a step of its kind makes. */
void lanes_write_sum(struct lanes_writing *w, const struct lanes_insn *x, uint32_t value)
{
	const struct lanes_arg *to = lanes_dest_reg(x);
	uint32_t reasons;

	if (lanes_half(value) == LANES_UNKNOWN &&
	    (lanes_inputs(w->run, w->s, x, w->i, &reasons) || lanes_of(value) & LANES_COMMON))
		value = lanes_low(&w->run->v,
				  lanes_made(w->run, w->i, lanes_made_key(to->kind, to->reg),
					     (lanes_of(value) & ~LANES_COMMON) | reasons));
	lanes_write_reg(w, to, 0, value);
}

void lanes_write_wide(struct lanes_writing *w, const struct lanes_insn *x, uint32_t form)
{
	const struct lanes_arg *to = lanes_dest_reg(x);
	uint32_t reasons;

	if (form == LANES_NONE) {
		const bool uniform = lanes_inputs(w->run, w->s, x, w->i, &reasons);

		lanes_write_unknown(w, x, uniform, reasons | LANES_OPERATION);
		return;
	}
	lanes_write_reg(w, to, 0, lanes_low(&w->run->v, form));
	lanes_write_reg(w, to, 1, lanes_high(&w->run->v, form));
}
