/*
 * idiom.c - see idiom.h. One walk through the code in its order, made twice so that what a loop carries is known:
 * of each register, which load its value came from, and on which coordinates of the thread it depends.
 */
#include "idiom.h"

#include <string.h>

#include "arena.h"
#include "dataflow.h"
#include "idiom_double.h"
#include "sass_modifier.h"
#include "sass_work.h"
#include "tile.h"
#include "tile_trips.h"

#define WALKS         2
#define LOAD_REGS     8u /* registers that one load may fill */
/* A tile in registers: so many values at least, four by four, each used so often. Complex numbers use each twice. */
#define TILE_OPERANDS 8u
#define TILE_USES     4.0
#define SR_LANEID     0u /* tables/sass_special.def */
#define SR_VIRTID     3u
#define SR_TID        32u
#define SR_TID_X      33u
#define SR_CTAID_X    37u
#define SR_EQMASK     56u
#define SR_GEMASK     60u
#define COORDINATES   32u
#define DOUBLES_EACH  4u /* FP64 operations between two narrowings at most: longer ones are meant */

/* What is known of a value. */
struct value {
	uint32_t load;        /* 1 + instruction x LOAD_REGS + register; 0 = not just loaded */
	uint32_t coordinates; /* that it depends on, a bit for each special register met */
	uint32_t sum;         /* 1 + instruction that began the sum it is; 0 = none */
	bool is_shared; /* of a load: from shared memory, where its block is no part of the address */
};

/* Of one loop, in the last walk. */
struct product {
	uint32_t multiplies, apart; /* apart: operands of different coordinates */
	uint32_t operands, sums;
	uint32_t by_a, by_b; /* coordinates of the operands that are apart */
	bool is_staged;      /* these come from shared memory */
	/* the same of other operations; operands by rows and columns, whichever is which */
	uint32_t pairs, pair_operands, pair_a, pair_b;
};

struct walk {
	const struct cfg *g;
	struct value at[REGSET_NUMBERS];
	uint64_t specials[COORDINATES]; /* those beside the six of thread and block */
	uint32_t specials_n;
	uint32_t of_block;    /* coordinates that all threads of a block share */
	struct value *loaded; /* of each instruction: what its address depends on, in `coordinates` */
	uint32_t *used_in; /* loop in which a loaded register was last an operand, by value.load */
	uint32_t *paired_in;      /* the same of pairs */
	uint32_t *sum_in;         /* loop in which a sum last grew, by value.sum */
	struct product *products; /* by loop */
	uint32_t *stored;         /* what the addresses of results depend on, a set for each */
	uint32_t stored_n;
};

static bool is_one_of(const char *const *ops, const struct sass_insn *insn)
{
	for (; *ops; ops++)
		if (tile_is_op(insn, *ops))
			return true;
	return false;
}

/* The value goes on in another form: moved, widened, shifted into place. */
static bool passes_on(const struct sass_insn *insn)
{
	static const char *const ops[] = {"MOV",  "IMAD", "HADD2", "F2F",   "F2FP",  "I2F", "I2FP",
					  "PRMT", "SHF",  "LOP3",  "IADD3", "HFMA2", NULL};

	return is_one_of(ops, insn);
}

static bool multiplies(const struct sass_insn *insn)
{
	static const char *const ops[] = {"FFMA", "FFMA2", "HFMA2", "DFMA", "IDP", NULL};

	return is_one_of(ops, insn) && !tile_is_move(insn);
}

/* ---------------------------------------------------------------------------------------- doubles */

static const struct sass_operand *operand(const struct sass_insn *insn, unsigned i)
{
	return i < insn->operands_n ? &insn->operands[i] : NULL;
}

/* Of the code of one loop, or outside of all. */
struct doubles {
	uint32_t n, widened, narrowed, first;
	uint32_t floats;     /* of `widened` those that were floats */
	uint32_t on, around; /* instructions that have part in doubles, and in all */
	uint32_t seeds;      /* first values of a reciprocal or a root */
};

static void count_double(struct doubles *d, const struct cfg *g, uint32_t i, const uint8_t *on)
{
	static const char *const ops[] = {"DFMA", "DMUL", "DADD", NULL};
	const struct sass_insn *insn = &g->insns[i];
	const int w = idiom_widens(insn, &g->modifiers[i]);

	if (tile_is_op(insn, "NOP"))
		return;
	d->around++;
	d->on += on && on[i];
	d->widened += w > 0;
	d->floats += w > 0 && tile_is_op(insn, "F2F");
	d->narrowed += w < 0;
	d->seeds += tile_is_op(insn, "MUFU") &&
		    (sass_has_modifier(&g->modifiers[i], SASS_M_RCP64H) ||
		     sass_has_modifier(&g->modifiers[i], SASS_M_RSQ64H));
	if (!is_one_of(ops, insn))
		return;
	if (!d->n)
		d->first = i;
	d->n++;
}

/* Operations between conversions to and fro, or in a function in which nobody meant any. */
static int read_doubles(const struct cfg *g, struct arena *scratch, struct idioms *out)
{
	struct doubles *regions = arena_array(scratch, (size_t)g->loops_n + 1, sizeof(*regions));
	uint32_t widened = 0, narrowed = 0;
	const uint8_t *on;

	if (!regions || idiom_double_read(g, scratch, &on) != 0)
		return -1;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		const struct cfg_block *b = &g->blocks[g->block_of[i]];

		if (b->is_reachable)
			count_double(&regions[b->loop == CFG_NONE ? g->loops_n : b->loop], g, i,
				     on);
	}
	for (uint32_t l = 0; l <= g->loops_n; l++) {
		widened += regions[l].widened;
		narrowed += regions[l].narrowed;
	}
	for (uint32_t l = 0; l <= g->loops_n; l++) {
		const struct doubles *d = &regions[l];
		const bool is_between = d->floats && (uint64_t)d->narrowed * DOUBLES_EACH >= d->n;

		if (d->n <= out->doubles || !(is_between || (on && narrowed)))
			continue;
		out->doubles = d->n;
		out->widened = is_between ? d->widened : widened;
		out->narrowed = is_between ? d->narrowed : narrowed;
		out->doubles_at = d->first;
		out->doubles_on = on ? d->on : d->n + d->widened + d->narrowed;
		out->doubles_around = d->around;
		out->doubles_seeds = d->seeds;
	}
	return 0;
}

/* What a register holds while a loop is gone through: a float that was widened, what was made of such, or another value. */
enum summed { SUMMED_OTHER, SUMMED_FLOAT, SUMMED_OF_FLOATS };

struct sums {
	uint8_t at[SASS_RZ + 1u]; /* enum summed */
	uint32_t n, widened, first;
	bool is_other; /* another value has part in it */
};

static bool is_of_floats(const struct sums *s, const struct sass_insn *insn)
{
	for (unsigned i = 1; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->flags & SASS_DEST || (o->kind == SASS_REG && o->reg >= SASS_RZ) ||
		    o->kind == SASS_PRED || o->kind == SASS_UPRED)
			continue;
		if (o->kind != SASS_REG || s->at[o->reg] == SUMMED_OTHER)
			return false;
	}
	return true;
}

static void sum_insn(struct sums *s, const struct cfg *g, uint32_t i, bool is_first)
{
	static const char *const ops[] = {"DFMA", "DMUL", "DADD", NULL};
	const struct sass_insn *insn = &g->insns[i];
	const bool is_operation = is_one_of(ops, insn);
	const bool is_widened = tile_is_op(insn, "F2F") && idiom_widens(insn, &g->modifiers[i]) > 0;
	uint16_t written[REGSET_NUMBERS];
	struct effects x;
	uint8_t next = is_widened ? SUMMED_FLOAT : is_operation ? SUMMED_OF_FLOATS : SUMMED_OTHER;
	unsigned n;

	if (is_operation && !is_first) {
		s->first = s->n++ ? s->first : i;
		s->is_other |= !is_of_floats(s, insn);
	}
	s->widened += is_widened && !is_first;
	if (tile_is_op(insn, "MOV") && operand(insn, 1)->kind == SASS_REG)
		next = s->at[operand(insn, 1)->reg];
	dataflow_effects(insn, &x);
	n = regset_list(&x.writes, written);
	for (unsigned k = 0; k < n && written[k] < SASS_RZ; k++)
		s->at[written[k]] = next;
}

/* Sums of floats in double, in innermost loops. */
static void read_sums(const struct cfg *g, struct idioms *out)
{
	uint32_t narrowed = 0;

	for (uint32_t i = 0; i < g->insns_n; i++)
		narrowed += tile_is_op(&g->insns[i], "F2F") &&
			    idiom_widens(&g->insns[i], &g->modifiers[i]) < 0;
	for (uint32_t l = 0; narrowed && l < g->loops_n; l++) {
		struct sums s = {0};

		if (!g->loops[l].is_innermost)
			continue;
		/* once to know what the turn before leaves */
		for (int turn = 0; turn < 2; turn++)
			for (uint32_t i = g->loops[l].first; i <= g->loops[l].last; i++)
				if (cfg_in_loop(g, g->block_of[i], l))
					sum_insn(&s, g, i, !turn);
		if (s.is_other || !s.widened || s.n <= out->summed)
			continue;
		out->summed = s.n;
		out->summed_widened = s.widened;
		out->summed_at = s.first;
	}
}

/* --------------------------------------------------------------------------------------- products */

/* Tells threads of one block apart. */
static bool is_of_thread(uint64_t special)
{
	return special == SR_LANEID || special == SR_VIRTID ||
	       (special >= SR_TID && special < SR_TID_X + 3) ||
	       (special >= SR_EQMASK && special <= SR_GEMASK);
}

/* The bit of a special register, the same whenever it is met; 0 when there are too many. */
static uint32_t coordinate(struct walk *w, const struct sass_insn *insn)
{
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const uint64_t special = (uint64_t)insn->operands[i].value;
		uint32_t k = 0;

		if (insn->operands[i].kind != SASS_SPECIAL)
			continue;
		if (special >= SR_TID_X && special < SR_TID_X + 3)
			return 1u << (special - SR_TID_X);
		if (special >= SR_CTAID_X && special < SR_CTAID_X + 3)
			return 8u << (special - SR_CTAID_X);
		while (k < w->specials_n && w->specials[k] != special)
			k++;
		if (k == COORDINATES - IDIOM_COORDINATES)
			return 0;
		w->specials[k] = special;
		w->specials_n += k == w->specials_n;
		if (!is_of_thread(special))
			w->of_block |= 1u << (IDIOM_COORDINATES + k);
		return 1u << (IDIOM_COORDINATES + k);
	}
	return 0;
}

static bool is_load(const struct sass_access *x)
{
	return x->act == SASS_LOAD &&
	       (x->from == SASS_GLOBAL || x->from == SASS_SHARED || x->from == SASS_GENERIC);
}

/* Of a store or an atomic into global memory: the coordinates in its address; else 0. */
static uint32_t stored_by(const struct walk *w, const struct sass_insn *insn,
			  const struct sass_access *x)
{
	uint32_t coordinates = 0;

	if ((x->to != SASS_GLOBAL && x->to != SASS_GENERIC) ||
	    (x->act != SASS_STORE && x->act != SASS_ATOMIC && x->act != SASS_REDUCTION))
		return 0;
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		for (unsigned k = 0; o->flags & SASS_IN_ADDRESS && k < o->regs; k++)
			if (o->kind == SASS_REG && o->reg + k < SASS_RZ)
				coordinates |= w->at[o->reg + k].coordinates;
			else if (o->kind == SASS_UREG && o->reg + k < SASS_RZ)
				coordinates |= w->at[REGSET_UR + o->reg + k].coordinates;
	}
	return coordinates;
}

static const struct value *value_of(const struct walk *w, const struct sass_operand *o)
{
	static const struct value none;

	return o && o->kind == SASS_REG && o->reg < SASS_RZ ? &w->at[o->reg] : &none;
}

static void use(struct walk *w, uint32_t l, const struct value *v)
{
	struct product *p = &w->products[l];

	p->operands += w->used_in[v->load] != l + 1;
	w->used_in[v->load] = l + 1;
}

/*
 * On what coordinates the address of a load depends. All of a block have one shared memory: what they share, as where it
 * begins (from sm_90 on by the block's number in its cluster), tells none of its words apart.
 */
static uint32_t loaded_by(const struct walk *w, const struct value *v)
{
	const struct value *load = &w->loaded[v->load / LOAD_REGS];

	return load->coordinates & ~(load->is_shared ? w->of_block : 0);
}

/* d = a b + c with a and b loaded and c a sum, or the beginning of one. The sum that d is; 0 = it is none. */
static uint32_t count_multiply(struct walk *w, uint32_t i, uint32_t l)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const struct value *a = value_of(w, operand(insn, 1)), *b = value_of(w, operand(insn, 2)),
			   *c = value_of(w, operand(insn, 3));
	const uint32_t by_a = loaded_by(w, a), by_b = loaded_by(w, b);
	const bool is_one_space = w->loaded[a->load / LOAD_REGS].is_shared ==
				  w->loaded[b->load / LOAD_REGS].is_shared;
	const uint32_t sum = c->sum ? c->sum : i + 1;

	if (!a->load || !b->load || a->load == b->load || c->load)
		return 0;
	if (l == CFG_NONE || !w->g->loops[l].is_innermost)
		return sum;
	w->products[l].multiplies++;
	if (is_one_space && by_a && by_b && !(by_a & by_b)) {
		/* the compiler puts rows and columns in any order */
		const bool is_turned = by_a & w->products[l].by_b || by_b & w->products[l].by_a;

		w->products[l].apart++;
		w->products[l].by_a |= is_turned ? by_b : by_a;
		w->products[l].by_b |= is_turned ? by_a : by_b;
		w->products[l].is_staged |= w->loaded[a->load / LOAD_REGS].is_shared;
	}
	w->products[l].sums += w->sum_in[sum] != l + 1;
	w->sum_in[sum] = l + 1;
	use(w, l, a);
	use(w, l, b);
	return sum;
}

/* Operations that make one value of two. */
static bool combines(const struct sass_insn *insn)
{
	static const char *const ops[] = {"FADD",    "FMUL",   "FMNMX",     "FSETP",    "FADD2",
					  "FMUL2",   "IADD3",  "IADD",      "VIADD",    "IMAD",
					  "IMNMX",   "VIMNMX", "LOP3",      "ISETP",    "HADD2",
					  "HMUL2",   "HMNMX2", "VIADDMNMX", "VABSDIFF", "FMNMX3",
					  "VIMNMX3", NULL};

	return is_one_of(ops, insn);
}

/* The first two of its operands that were just loaded, by one load each; false = there are not two. */
static bool two_loaded(const struct walk *w, const struct sass_insn *insn, const struct value **a,
		       const struct value **b)
{
	*a = *b = NULL;
	for (unsigned i = 1; i < insn->operands_n && !*b; i++) {
		const struct sass_operand *o = &insn->operands[i];
		const struct value *v = value_of(w, o);

		if (o->flags & (SASS_DEST | SASS_IN_ADDRESS) || !v->load)
			continue;
		*(*a ? b : a) = v;
	}
	return *b && (*a)->load != (*b)->load;
}

/* Of rows and columns, in whatever order. */
static void count_pair(struct walk *w, const struct sass_insn *insn, uint32_t l)
{
	const struct value *v[2];
	struct product *p;
	uint32_t by_a, by_b;
	bool is_turned;

	if (l == CFG_NONE || !w->g->loops[l].is_innermost || !combines(insn) ||
	    !two_loaded(w, insn, &v[0], &v[1]))
		return;
	p = &w->products[l];
	by_a = loaded_by(w, v[0]);
	by_b = loaded_by(w, v[1]);
	if (!by_a || !by_b || by_a & by_b ||
	    w->loaded[v[0]->load / LOAD_REGS].is_shared !=
		    w->loaded[v[1]->load / LOAD_REGS].is_shared)
		return;
	p->pairs++;
	is_turned = by_a & p->pair_b || by_b & p->pair_a;
	p->pair_a |= is_turned ? by_b : by_a;
	p->pair_b |= is_turned ? by_a : by_b;
	for (int k = 0; k < 2; k++) {
		p->pair_operands += w->paired_in[v[k]->load] != l + 1;
		w->paired_in[v[k]->load] = l + 1;
	}
}

static void step(struct walk *w, uint32_t i)
{
	const struct sass_insn *insn = &w->g->insns[i];
	const uint32_t l = w->g->blocks[w->g->block_of[i]].loop;
	uint16_t read[REGSET_NUMBERS], written[REGSET_NUMBERS];
	struct value next = {.coordinates = coordinate(w, insn)};
	struct sass_access access;
	struct effects x;
	unsigned reads_n, writes_n;
	bool loads, is_multiply, is_one = true;

	if (!insn->is_decoded)
		return;
	is_multiply = multiplies(insn);
	if (is_multiply)
		next.sum = count_multiply(w, i, l);
	else
		count_pair(w, insn, l);
	dataflow_effects(insn, &x);
	sass_access(insn, &w->g->modifiers[i], &access);
	loads = is_load(&access);
	w->loaded[i + 1].is_shared = loads && access.from == SASS_SHARED;
	w->stored[w->stored_n] = stored_by(w, insn, &access);
	w->stored_n += w->stored[w->stored_n] != 0;
	reads_n = regset_list(&x.reads, read);
	writes_n = regset_list(&x.writes, written);
	for (unsigned k = 0; k < reads_n && read[k] < REGSET_P; k++) {
		const struct value *v = &w->at[read[k]];

		next.coordinates |= v->coordinates;
		is_one = is_one && (!next.load || !v->load || next.load == v->load);
		next.load = v->load ? v->load : next.load;
		if (v->sum && tile_is_op(insn, "MOV"))
			next.sum = v->sum;
	}
	if (!is_one || is_multiply || !passes_on(insn))
		next.load = 0;
	w->loaded[i + 1].coordinates = next.coordinates;
	for (unsigned k = 0; k < writes_n; k++) {
		w->at[written[k]] = next;
		if (loads && k < LOAD_REGS)
			w->at[written[k]].load = (i + 1) * LOAD_REGS + k;
	}
}

static bool is_tile(const struct product *p)
{
	return p->operands >= TILE_OPERANDS && 2.0 * p->multiplies / p->operands >= TILE_USES;
}

/* Rows times columns, and results by row and column: of a vector the results depend on one of the two. */
static bool is_table(const struct walk *w, uint32_t by_a, uint32_t by_b)
{
	bool is = false;

	for (uint32_t i = 0; i < w->stored_n; i++)
		is |= (w->stored[i] & by_a) && (w->stored[i] & by_b);
	return is;
}

static bool is_apart(const struct walk *w, const struct product *p)
{
	return p->apart == p->multiplies && is_table(w, p->by_a, p->by_b);
}

static void choose_pairs(const struct walk *w, struct idioms *out)
{
	for (uint32_t l = 0; l < w->g->loops_n; l++) {
		const struct product *p = &w->products[l];

		if (p->pairs <= out->pairs || p->multiplies >= p->pairs ||
		    !is_table(w, p->pair_a, p->pair_b))
			continue;
		out->pairs = p->pairs;
		out->pair_operands = p->pair_operands;
		out->pairs_at = w->g->loops[l].first;
	}
}

static void choose_product(const struct walk *w, struct idioms *out)
{
	for (uint32_t l = 0; l < w->g->loops_n; l++) {
		const struct product *p = &w->products[l];

		if (p->multiplies <= out->multiplies || (!is_tile(p) && !is_apart(w, p)))
			continue;
		out->sums = p->sums;
		out->multiplies = p->multiplies;
		out->uses = 2.0 * p->multiplies / p->operands;
		out->rows = (uint8_t)(is_tile(p) ? 0 : p->by_a & ((1u << IDIOM_COORDINATES) - 1));
		out->columns =
			(uint8_t)(is_tile(p) ? 0 : p->by_b & ((1u << IDIOM_COORDINATES) - 1));
		out->is_staged = !is_tile(p) && p->is_staged;
		out->product_at = w->g->loops[l].first;
	}
}

static int read_products(const struct cfg *g, struct arena *scratch, struct idioms *out)
{
	struct walk *w = arena_alloc(scratch, sizeof(*w));

	if (!w)
		return -1;
	w->g = g;
	w->of_block = 7u << 3; /* ctaid */
	w->loaded = arena_array(scratch, (size_t)g->insns_n + 1, sizeof(*w->loaded));
	w->used_in =
		arena_array(scratch, ((size_t)g->insns_n + 1) * LOAD_REGS, sizeof(*w->used_in));
	w->paired_in =
		arena_array(scratch, ((size_t)g->insns_n + 1) * LOAD_REGS, sizeof(*w->paired_in));
	w->sum_in = arena_array(scratch, (size_t)g->insns_n + 1, sizeof(*w->sum_in));
	w->products = arena_array(scratch, g->loops_n ? g->loops_n : 1, sizeof(*w->products));
	w->stored = arena_array(scratch, (size_t)g->insns_n + 1, sizeof(*w->stored));
	if (!w->stored || !w->loaded || !w->used_in || !w->paired_in || !w->sum_in || !w->products)
		return -1;
	for (int walk = 0; walk < WALKS; walk++) {
		w->stored_n = 0;
		memset(w->products, 0, g->loops_n * sizeof(*w->products));
		memset(w->used_in, 0, ((size_t)g->insns_n + 1) * LOAD_REGS * sizeof(*w->used_in));
		memset(w->paired_in, 0,
		       ((size_t)g->insns_n + 1) * LOAD_REGS * sizeof(*w->paired_in));
		memset(w->sum_in, 0, ((size_t)g->insns_n + 1) * sizeof(*w->sum_in));
		for (uint32_t i = 0; i < g->insns_n; i++)
			step(w, i);
	}
	choose_product(w, out);
	choose_pairs(w, out);
	return 0;
}

int idiom_read(const struct cfg *g, struct arena *scratch, struct idioms *out)
{
	*out = (struct idioms){.doubles_at = CFG_NONE,
			       .summed_at = CFG_NONE,
			       .product_at = CFG_NONE,
			       .pairs_at = CFG_NONE};
	if (read_doubles(g, scratch, out) != 0)
		return -1;
	if (!out->doubles)
		read_sums(g, out);
	return g->loops_n ? read_products(g, scratch, out) : 0;
}
