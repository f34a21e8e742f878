/*
 * lanes_step.c - see lanes_step.h. An operation that is not modelled gives what all lanes share when all its
 * inputs are such, where each lane computes by itself; else nothing is known of its results.
 */
#include "lanes_step.h"

#include "arena.h"

/* ------------------------------------------------------------------------------------- the rest */

static uint32_t special(struct lanes_writing *w, const struct lanes_insn *x)
{
	struct lanes_run *run = w->run;
	const int64_t which = x->source[0].value;
	uint32_t number[LANES];
	const uint32_t *cluster = run->launch->cluster;

	if (x->source[0].kind != LANES_ARG_SPECIAL)
		return lanes_unknown(LANES_OPERATION);
	if (which == SASS_RZ)
		return lanes_uniform(&run->v, 0);
	for (unsigned i = 0; i < LANES; i++) {
		const uint32_t eq = 1u << i;

		number[i] = which == 0    ? i
			    : which == 56 ? eq
			    : which == 57 ? eq - 1
			    : which == 58 ? eq | (eq - 1)
			    : which == 59 ? ~(eq | (eq - 1))
					  : ~(eq - 1);
	}
	if (which == 0 || (which >= 56 && which <= 60))
		return lanes_known(&run->v, number);
	if (which >= 33 && which <= 35)
		return run->tid[which - 33];
	if (which >= 37 && which <= 39)
		return run->ctaid[which - 37];
	if (which == 136 && cluster[0] * cluster[1] * cluster[2] <= 1) /* SR_CgaCtaId */
		return lanes_uniform(&run->v, 0);
	return lanes_low(&run->v,
			 lanes_made(run, w->i, lanes_made_key(x->dest[0].kind, x->dest[0].reg),
				    LANES_PLACE));
}

static void step_vote(struct lanes_writing *w, const struct lanes_insn *x)
{
	const struct lanes_crew *crew = &w->s->crew;
	const struct lanes_arg *a = lanes_pred_source(x, 0, 0);
	const struct lanes_pred p = a ? lanes_read_pred(w->run, w->s, a) : lanes_open(false, 0);
	const bool is_sure = !crew->absent && !crew->is_split;
	struct lanes_pred out = lanes_open(true, p.reasons | crew->absent | LANES_OPERATION);
	const uint32_t on = p.value & p.known & crew->lanes;
	const struct lanes_arg *to = lanes_dest_reg(x);

	if (x->relation == SASS_M_ANY && (on && is_sure))
		out = lanes_same(true);
	else if (x->relation == SASS_M_ANY && lanes_all(&p, crew->lanes, false))
		out = lanes_same(false);
	else if (x->relation == SASS_M_ALL && lanes_all(&p, crew->lanes, true))
		out = lanes_same(true);
	else if (x->relation == SASS_M_ALL && is_sure && (~p.value & p.known & crew->lanes))
		out = lanes_same(false);
	lanes_write_carry(w, x, &out);
	if (!lanes_is_reg(to))
		return;
	lanes_write_reg(w, to, 0,
			is_sure && !(~p.known & crew->lanes)
				? lanes_uniform(&w->run->v, on)
				: lanes_low(&w->run->v,
					    lanes_made(w->run, w->i,
						       lanes_made_key(to->kind, to->reg),
						       out.reasons)));
}

static void step_elect(struct lanes_writing *w, const struct lanes_insn *x)
{
	const struct lanes_crew *crew = &w->s->crew;
	struct lanes_pred p = lanes_open(false, LANES_OPERATION);

	lanes_write_unknown(w, x, true, LANES_OPERATION);
	if (!crew->absent && !crew->is_split &&
	    crew->lanes) { /* one of them; which does not matter */
		p.known = LANES_ALL;
		p.value = crew->lanes & -crew->lanes;
	}
	lanes_write_carry(w, x, &p);
}

static bool step_refill(struct lanes_writing *w, const struct lanes_insn *x,
			const struct lanes_access *a);

static void step_load(struct lanes_writing *w, const struct lanes_insn *x)
{
	const struct lanes_access *a = &w->run->c->accesses[x->access - 1];
	const struct sass_insn *insn = &w->run->c->g->insns[w->i];
	bool uniform = true;

	if (step_refill(w, x, a))
		return;
	/* From one address all lanes get the same, but of local memory and shuffled matrices. */
	for (unsigned k = a->access.address[0]; k < insn->operands_n; k++) {
		const struct sass_operand *o = &insn->operands[k];

		if (!(o->flags & SASS_IN_ADDRESS) || (o->kind != SASS_REG && o->kind != SASS_UREG))
			continue;
		for (unsigned n = 0; n < o->regs; n++)
			uniform =
				uniform &&
				lanes_is_uniform(&w->run->v, lanes_read_reg(w->s,
									    o->kind == SASS_UREG
										    ? LANES_ARG_UREG
										    : LANES_ARG_REG,
									    o->reg, n));
	}
	if (a->access.address[0] >= SASS_OPERANDS ||
	    (a->access.from != SASS_GLOBAL && a->access.from != SASS_SHARED &&
	     a->access.from != SASS_CONSTANT) ||
	    !strncmp(sass_op(insn), "LDSM", 4))
		uniform = false;
	lanes_write_unknown(w, x, uniform, LANES_LOADED);
}

/* ------------------------------------------------------------------------------------- spilled registers */

static uint32_t *find_slot(struct lanes_state *s, uint32_t address)
{
	for (uint32_t k = 0; k < s->slots_n; k++)
		if (s->slots[k].address == address)
			return &s->slots[k].value;
	return NULL;
}

/* An address of the stack that differs from those of all slots by whole words, LANES_NONE = it is none. */
static uint32_t slot_address(struct lanes_run *run, struct lanes_state *s,
			     const struct lanes_access *a)
{
	const struct lanes_form *f, *other;
	uint32_t reasons = 0, address = lanes_address(run, s, a, 0, false, &reasons);

	if (address == LANES_NONE)
		return address;
	f = &run->v.forms.at[address];
	if (f->pattern || a->access.bytes & 3)
		return LANES_NONE;
	for (uint32_t k = 0; k < s->slots_n; k++) {
		other = &run->v.forms.at[s->slots[k].address];
		if (other->terms != f->terms || (other->base - f->base) & 3)
			return LANES_NONE;
	}
	return address;
}

static uint32_t word_of(struct lanes_run *run, uint32_t address, unsigned n)
{
	return lanes_lower(&run->v,
			   lanes_add(&run->v, address, lanes_form(&run->v, 4 * n, 0, 0, false)));
}

/* A store anywhere else than to words of the stack may change any of them. */
static void step_store(struct lanes_writing *w, const struct lanes_insn *x,
		       const struct lanes_access *a)
{
	const bool is_sure = lanes_all(&w->guard, w->s->crew.lanes, true);
	uint32_t address = LANES_NONE;

	if (a->access.to != SASS_LOCAL && a->access.to != SASS_GENERIC)
		return;
	if (a->access.to == SASS_LOCAL && x->sources_n && lanes_is_reg(&x->source[0]))
		address = slot_address(w->run, w->s, a);
	for (unsigned n = 0; address != LANES_NONE && n < a->access.bytes / 4u; n++) {
		const uint32_t word = word_of(w->run, address, n);
		uint32_t *slot = find_slot(w->s, word), value;

		value = lanes_read_reg(w->s, x->source[0].kind, x->source[0].reg, n);
		if (!is_sure)
			value = lanes_unknown(LANES_PARTED);
		if (slot)
			*slot = value;
		else if (w->s->slots_n < LANES_SLOTS && word != LANES_NONE)
			w->s->slots[w->s->slots_n++] = (struct lanes_slot){word, value};
	}
	if (address == LANES_NONE)
		w->s->slots_n = 0;
}

/* What was spilled comes back. */
static bool step_refill(struct lanes_writing *w, const struct lanes_insn *x,
			const struct lanes_access *a)
{
	uint32_t value[4], address;

	if (a->access.from != SASS_LOCAL || a->access.act != SASS_LOAD || x->dests_n != 1 ||
	    x->dest[0].regs > 4 || x->dest[0].regs * 4u != a->access.bytes)
		return false;
	address = slot_address(w->run, w->s, a);
	for (unsigned n = 0; n < x->dest[0].regs; n++) {
		const uint32_t *slot =
			address == LANES_NONE ? NULL : find_slot(w->s, word_of(w->run, address, n));

		if (!slot)
			return false;
		value[n] = *slot;
	}
	for (unsigned n = 0; n < x->dest[0].regs; n++)
		lanes_write_reg(w, &x->dest[0], n, value[n]);
	return true;
}

static void forget(struct lanes_run *run, struct lanes_state *s, uint32_t reasons)
{
	for (unsigned i = 0; i < LANES_REGS - 1; i++) {
		s->r[i] = lanes_unknown(reasons);
		s->ur[i] = lanes_unknown(reasons);
	}
	(void)run;
	s->slots_n = 0;
	for (unsigned i = 0; i < LANES_PREDS; i++) {
		s->p[i] = lanes_open(false, reasons);
		s->up[i] = lanes_open(true, reasons);
	}
}

/* What is called may have changed it, also in memory. */
static void forget_called(struct lanes_run *run, struct lanes_state *s)
{
	const struct regset *writes = &run->c->called_writes;
	uint16_t n[REGSET_NUMBERS];
	const unsigned count = regset_list(writes, n);

	for (unsigned i = 0; i < count; i++) {
		if (n[i] < REGSET_UR)
			s->r[n[i]] = lanes_unknown(LANES_OPERATION);
		else if (n[i] < REGSET_P)
			s->ur[n[i] - REGSET_UR] = lanes_unknown(LANES_OPERATION);
		else if (n[i] < REGSET_UP)
			s->p[n[i] - REGSET_P] = lanes_open(false, LANES_OPERATION);
		else
			s->up[n[i] - REGSET_UP] = lanes_open(true, LANES_OPERATION);
	}
	s->slots_n = 0;
}

void lanes_step(struct lanes_run *run, struct lanes_state *s, uint32_t i)
{
	const struct sass_insn *insn = &run->c->g->insns[i];
	const struct lanes_insn *x = &run->c->insns[i];
	struct lanes_writing w = {run, s, i, lanes_guard(run, s, insn)};
	uint32_t reasons;

	if (!insn->is_decoded) {
		forget(run, s, LANES_OPERATION);
		return;
	}
	if (x->access && !lanes_all(&w.guard, s->crew.lanes, false) &&
	    run->c->accesses[x->access - 1].access.act == SASS_STORE)
		step_store(&w, x, &run->c->accesses[x->access - 1]);
	if (x->op == LANES_OP_NOTHING || lanes_all(&w.guard, s->crew.lanes, false)) {
		if (!strcmp(sass_op(insn), "R2P") || !strcmp(sass_op(insn), "UR2UP"))
			for (unsigned k = 0; k < LANES_PREDS; k++)
				*(sass_op(insn)[0] == 'U' ? &s->up[k] : &s->p[k]) =
					lanes_open(sass_op(insn)[0] == 'U', LANES_OPERATION);
		return;
	}
	if (run->has_made[i])
		lanes_rename_made(run, s, i);
	switch ((enum lanes_op)x->op) {
	case LANES_OP_MOV:
		if (x->sources_n > 1 &&
		    (x->source[1].kind != LANES_ARG_NUMBER || x->source[1].value != 15))
			lanes_step_lanewise(&w, x);
		else
			for (unsigned n = 0; n < x->dest[0].regs; n++)
				lanes_write_reg(&w, &x->dest[0], n,
						lanes_source(run, s, &x->source[0], n, i));
		break;
	case LANES_OP_MAD: lanes_step_mad(&w, x); break;
	case LANES_OP_MAD_WIDE:
	case LANES_OP_MAD_HI: lanes_step_mad_wide(&w, x); break;
	case LANES_OP_ADD: lanes_step_add(&w, x); break;
	case LANES_OP_LEA: lanes_step_lea(&w, x); break;
	case LANES_OP_LOP3: lanes_step_logic(&w, x); break;
	case LANES_OP_SEL: {
		const struct lanes_arg *a = lanes_pred_source(x, 0, 0);
		const struct lanes_pred p = a ? lanes_read_pred(run, s, a) : lanes_open(false, 0);

		lanes_step_select(&w, x, &p);
		break;
	}
	case LANES_OP_MNMX: lanes_step_minmax(&w, x); break;
	case LANES_OP_SETP: lanes_step_compare(&w, x); break;
	case LANES_OP_PLOP3: lanes_step_plop(&w, x); break;
	case LANES_OP_SPECIAL:
		for (unsigned n = 0; n < x->dest[0].regs; n++)
			lanes_write_reg(&w, &x->dest[0], n, special(&w, x));
		break;
	case LANES_OP_CONSTANT:
		for (unsigned n = 0; n < x->dest[0].regs; n++)
			lanes_write_reg(&w, &x->dest[0], n,
					lanes_source(run, s, &x->source[0], n, i));
		break;
	case LANES_OP_TO_UNIFORM:
		lanes_write_carry(&w, x, NULL);
		lanes_write_reg(&w, lanes_dest_reg(x), 0,
				lanes_source(run, s, &x->source[0], 0, i));
		break;
	case LANES_OP_HALF_MOVE:
		lanes_write_reg(&w, &x->dest[0], 0,
				lanes_uniform(&run->v, (uint32_t)x->source[2].value));
		break;
	case LANES_OP_SHF:
	case LANES_OP_PRMT:
	case LANES_OP_SGXT:
	case LANES_OP_BMSK:
	case LANES_OP_ABS:
	case LANES_OP_FLO:
	case LANES_OP_POPC:
	case LANES_OP_BREV:
	case LANES_OP_I2F:
	case LANES_OP_RCP:
	case LANES_OP_F2I: lanes_step_alu(&w, x); break;
	case LANES_OP_VOTE: step_vote(&w, x); break;
	case LANES_OP_ELECT: step_elect(&w, x); break;
	case LANES_OP_SHFL:
		reasons = lanes_shuffle(&run->v, x, lanes_source(run, s, &x->source[0], 0, i),
					lanes_source(run, s, &x->source[1], 0, i),
					lanes_source(run, s, &x->source[2], 0, i));
		lanes_write_carry(&w, x, NULL);
		lanes_write_reg(&w, lanes_dest_reg(x), 0, reasons);
		break;
	case LANES_OP_LOAD: step_load(&w, x); break;
	case LANES_OP_BSSY:
	case LANES_OP_BSYNC:
	case LANES_OP_BREAK: lanes_step_barrier(run, s, i); break;
	case LANES_OP_CALL: forget_called(run, s); break;
	case LANES_OP_WARPSYNC: s->crew.is_split = s->crew.is_apart = 0; break;
	case LANES_OP_LANEWISE: lanes_step_lanewise(&w, x); break;
	case LANES_OP_OTHER:
	case LANES_OP_NOTHING:
		lanes_write_unknown(&w, x, false, x->access ? LANES_LOADED : LANES_OPERATION);
		break;
	}
}

/* ------------------------------------------------------------------------------------- the start */

static uint32_t position(struct lanes_run *run, unsigned key, uint32_t n)
{
	const struct lanes_symbol s = {.kind = LANES_POSITION,
				       .has_range = true,
				       .owner = LANES_NONE,
				       .reasons = LANES_PLACE,
				       .parent = LANES_NONE,
				       .key = key,
				       .high = n ? n - 1 : 0};

	return n <= 1 ? 0 : lanes_term(&run->v, lanes_symbol(&run->v, &s), 1);
}

/* Threads of all warps at once: x is 32 of a row, or some rows of less than 32. */
static void any_thread(struct lanes_run *run)
{
	const uint32_t *b = run->launch->block;
	struct lanes_values *v = &run->v;
	uint64_t x[LANES], y[LANES];
	const uint32_t rows = b[0] < LANES ? LANES / b[0] : 1;

	for (unsigned i = 0; i < LANES; i++) {
		x[i] = b[0] < LANES ? i % b[0] : i;
		y[i] = b[0] < LANES ? i / b[0] : 0;
	}
	run->tid[0] =
		lanes_low(v, lanes_add(v, lanes_of_numbers(v, x),
				       lanes_scale(v, position(run, 3, b[0] / LANES), LANES)));
	run->tid[1] = lanes_low(v, lanes_add(v, lanes_of_numbers(v, y),
					     lanes_scale(v, position(run, 4, b[1] / rows), rows)));
	run->tid[2] = lanes_low(v, position(run, 5, b[2]));
	run->lanes = LANES_ALL;
}

static void one_warp(struct lanes_run *run)
{
	const uint32_t *b = run->launch->block;
	const uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
	uint32_t at[3][LANES];

	for (unsigned i = 0; i < LANES; i++) {
		const uint64_t t = (uint64_t)run->warp.warp * LANES + i;

		at[0][i] = (uint32_t)(t % b[0]);
		at[1][i] = (uint32_t)(t / b[0] % b[1]);
		at[2][i] = (uint32_t)(t / b[0] / b[1]);
		run->lanes |= (uint32_t)(t < threads) << i;
	}
	for (unsigned k = 0; k < 3; k++)
		run->tid[k] = lanes_known(&run->v, at[k]);
}

void lanes_start(struct lanes_run *run, struct lanes_state *s)
{
	run->lanes = 0;
	if (run->warp.is_any)
		any_thread(run);
	else
		one_warp(run);
	for (unsigned k = 0; k < 3; k++)
		run->ctaid[k] = run->warp.is_any
					? lanes_low(&run->v, position(run, k, run->launch->grid[k]))
					: lanes_uniform(&run->v, run->warp.block[k]);
	memset(s, 0, sizeof(*s));
	forget(run, s, LANES_OPERATION);
	s->r[LANES_REGS - 1] = s->ur[LANES_REGS - 1] = LANES_LOW;
	s->crew.lanes = run->lanes;
}
