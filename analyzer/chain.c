/*
 * chain.c - see chain.h. The code of one turn is run once for every register that carries a value into it,
 * all of them side by side: that gives the longest path from each to each. The heaviest cycle among these
 * paths, by its mean over the turns that it takes (Karp 1978), is what a turn costs at least.
 */
#include "chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "arena.h"
#include "chain_cycle.h"
#include "dataflow.h"
#include "sass_modifier.h"
#include "sass_table.h"
#include "sass_work.h"
#include "stall.h"
#include "tile_trips.h"

#define PREDICATE_CYCLES 13 /* from a comparison to what it guards; arch.def has no column for it */
#define CARRIED_MOST     256u                /* registers around a loop: more are not followed */
#define WORK_MOST        (UINT64_C(1) << 28) /* steps for all loops of a function: then none is known */
#define NEVER            CHAIN_NEVER
#define LANES            32.0

struct pipe {
	const char *ops; /* base names, blanks between */
	size_t rate;     /* offset in struct arch: threads per SM and clock */
};

/* A rate that arch.def does not know (-1) makes no bound. */
static const struct pipe pipes[] = {
	{"FFMA FADD FMUL", offsetof(struct arch, fp32)},
	{"DFMA DADD DMUL DSETP", offsetof(struct arch, fp64)},
	{"IADD3 LOP3 ISETP SHF LEA SEL FSEL FSETP FMNMX IMNMX VIADD PRMT",
	 offsetof(struct arch, int_add)},
	{"IMAD", offsetof(struct arch, int_mad)},
	{"MUFU F2F F2I I2F", offsetof(struct arch, special)},
};
#define PIPES (sizeof(pipes) / sizeof(*pipes))

/* Results of these in dep_<column> cycles; of all others that wait for no scoreboard in dep_alu. */
static const struct pipe latencies[] = {
	{"FFMA FADD FMUL", offsetof(struct arch, dep_ffma)},
	{"IMAD", offsetof(struct arch, dep_imad)},
	{"HFMA2 HADD2 HMUL2", offsetof(struct arch, dep_hfma2)},
	{"DFMA DADD DMUL", offsetof(struct arch, dep_dfma)},
	{"HMMA IMMA", offsetof(struct arch, dep_mma)},
};
#define LATENCIES (sizeof(latencies) / sizeof(*latencies))

/*
 * A register has two places among the paths: that of its number, for its value, and SHADOW more, for the value that
 * it has where the guard holds under which it was last written. @P0 MOV R1, a and @P0 LDG R2, [R1] leave nothing of
 * the R1 before to the load, and @!P0 MOV R1, b behind them nothing to anybody.
 */
#define SHADOW REGSET_NUMBERS
#define PLACES (2 * REGSET_NUMBERS)

struct write {
	uint16_t place;
	bool keeps;   /* the value before may stay, */
	bool shadows; /* and then it is that of the shadow */
};

struct step {
	uint16_t *reads; /* places */
	struct write *writes;
	uint16_t reads_n, writes_n;
	int32_t cycles;
	bool is_load;
	bool is_atomic; /* with a result: a loop through it tries again until it was first, mostly once */
};

/* Under which guard registers were last written, and whether it is still the same. */
#define GUARDS 16u /* P, then UP */

struct guards {
	uint32_t version[GUARDS]; /* of the predicates: grows with every write */
	struct {
		uint8_t guard; /* 0 = none; else 1 + 2 x predicate + not */
		uint32_t version;
	} last[REGSET_NUMBERS];
};

/* Which loads are of one sector: from one register that has not changed in between. */
struct bases {
	struct {
		uint32_t written, loaded; /* 1 + step, 0 = not yet */
		int64_t offset;
	} at[REGSET_NUMBERS];
};

#define SECTOR_BYTES 32

struct region {
	struct guards *guards;
	struct bases *bases;
	struct step *steps;
	uint32_t n;
	bool is_known;
	double issue, loads;
};

/* Longest paths to each register, `width` of them side by side: from each carried one. */
struct paths {
	uint32_t width;
	int32_t origin;          /* of what reads no register */
	int32_t *cycles, *loads; /* [register * width + from] */
};

/* Rows of these tables that an operation is in: 1 + its index, 0 = none. */
struct known {
	uint8_t pipe, latency;
	bool is_matrix; /* HMMA */
	bool is_read;
};

struct reader {
	const struct cfg *g;
	struct known *known; /* of each row of the instruction table, when it was met */
	const struct arch *arch;
	struct arena *scratch;
	uint64_t work;
};

/* ------------------------------------------------------------------------------------ instructions */

/* Whether the base name of a row is one of these. */
static bool is_among(const char *ops, const struct sass_row *row)
{
	while (*(ops += strspn(ops, " "))) {
		const size_t word = strcspn(ops, " ");

		if (word == row->base_n && !strncmp(ops, row->name, word))
			return true;
		ops += word;
	}
	return false;
}

static uint8_t find(const struct pipe *of, size_t n, const struct sass_row *row)
{
	for (size_t i = 0; i < n; i++)
		if (is_among(of[i].ops, row))
			return (uint8_t)(i + 1);
	return 0;
}

/* An opcode that is not known is in no table. */
static struct known look_up(const struct reader *r, const struct sass_insn *insn)
{
	struct known *k = insn->row ? &r->known[insn->row->number] : NULL;

	if (!k)
		return (struct known){.pipe = 0};
	if (!k->is_read)
		*k = (struct known){.pipe = find(pipes, PIPES, insn->row),
				    .latency = find(latencies, LATENCIES, insn->row),
				    .is_matrix = is_among("HMMA", insn->row),
				    .is_read = true};
	return *k;
}

static int column(const struct arch *a, size_t offset)
{
	return *(const int *)((const char *)a + offset);
}

/* Until what it writes into a register can be read. */
static int32_t result_cycles(const struct reader *r, const struct sass_insn *insn,
			     const struct known *k)
{
	const unsigned assumed = stall_wait(insn).result;

	if (insn->control.write_barrier < 6 && assumed)
		return (int32_t)assumed;
	if (k->latency && column(r->arch, latencies[k->latency - 1].rate) > 0)
		return column(r->arch, latencies[k->latency - 1].rate);
	return r->arch->dep_alu > 0 ? r->arch->dep_alu : 4;
}

/* LDG and its like, and through a pointer that may be one: long ways. */
static bool is_load(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	struct sass_access x;

	return sass_access(insn, m, &x) && x.act == SASS_LOAD &&
	       (x.from == SASS_GLOBAL || x.from == SASS_GENERIC || x.from == SASS_TEXTURE ||
		x.from == SASS_SURFACE);
}

static uint8_t guard_of(const struct sass_insn *insn)
{
	return insn->guard == SASS_PT
		       ? 0
		       : (uint8_t)(1 + 2 * (insn->guard + (insn->guard_uniform ? 8 : 0)) +
				   insn->guard_not);
}

/* Whether the last write of a register was under that guard, which has not changed since. */
static bool is_last(const struct guards *g, uint16_t number, uint8_t guard)
{
	return guard && g->last[number].guard == guard &&
	       g->last[number].version == g->version[(guard - 1) / 2];
}

static bool is_atomic(const struct sass_insn *insn, const struct sass_modifiers *m)
{
	struct sass_access x;

	return sass_access(insn, m, &x) && x.act == SASS_ATOMIC;
}

static bool add_reads(struct reader *r, struct step *s, const struct guards *g,
		      const struct regset *what, uint8_t guard)
{
	uint16_t numbers[REGSET_NUMBERS];

	s->reads_n = (uint16_t)regset_list(what, numbers);
	s->reads = arena_array(r->scratch, s->reads_n + 1u, sizeof(*s->reads));
	for (uint16_t i = 0; s->reads && i < s->reads_n; i++)
		s->reads[i] = (uint16_t)(numbers[i] + (is_last(g, numbers[i], guard) ? SHADOW : 0));
	return s->reads != NULL;
}

static bool add_writes(struct reader *r, struct step *s, struct guards *g,
		       const struct regset *what, uint8_t guard)
{
	const uint8_t opposite = guard ? (uint8_t)(((guard - 1) ^ 1) + 1) : 0;
	uint16_t numbers[REGSET_NUMBERS];
	const unsigned n = regset_list(what, numbers);

	s->writes = arena_array(r->scratch, 2 * n + 1u, sizeof(*s->writes));
	for (unsigned i = 0; s->writes && i < n; i++) {
		const uint16_t number = numbers[i];
		const bool completes = is_last(g, number, opposite);

		s->writes[s->writes_n++] = (struct write){number, guard != 0, completes};
		if (guard && !completes)
			s->writes[s->writes_n++] =
				(struct write){(uint16_t)(number + SHADOW), false, false};
		g->last[number].guard = completes ? 0 : guard;
		g->last[number].version = guard ? g->version[(guard - 1) / 2] : 0;
	}
	for (unsigned i = 0; i < n; i++)
		if (numbers[i] >= REGSET_P)
			g->version[numbers[i] - REGSET_P]++;
	return s->writes != NULL;
}

/* Whether a load brings a sector that no earlier one brought. */
static bool is_new_sector(struct bases *b, const struct sass_insn *insn, uint32_t step)
{
	uint16_t base = SASS_RZ;
	int64_t offset = 0;
	bool is_new;

	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (!(o->flags & SASS_IN_ADDRESS))
			continue;
		if (o->kind == SASS_REG && base == SASS_RZ)
			base = o->reg;
		else if (o->kind == SASS_IMMEDIATE)
			offset = o->value;
	}
	if (base >= SASS_RZ)
		return true;
	is_new = b->at[base].loaded <= b->at[base].written ||
		 llabs(offset - b->at[base].offset) >= SECTOR_BYTES;
	if (is_new) {
		b->at[base].loaded = step + 1;
		b->at[base].offset = offset;
	}
	return is_new;
}

/* false: memory has run out */
static bool add_step(struct reader *r, struct region *region, uint32_t at,
		     double pipe_cycles[PIPES + 1])
{
	const struct sass_insn *insn = &r->g->insns[at];
	const struct sass_modifiers *m = &r->g->modifiers[at];
	struct step *s = &region->steps[region->n];
	const uint8_t guard = guard_of(insn);
	const struct known k = look_up(r, insn);
	const int rate = k.pipe ? column(r->arch, pipes[k.pipe - 1].rate) : -1;
	struct sass_mma mma;
	struct effects x;

	if (insn->is_decoded && insn->guard == SASS_PT && insn->guard_not)
		return true; /* never */
	dataflow_effects(insn, &x);
	region->is_known &= x.is_certain;
	if (!add_reads(r, s, region->guards, &x.reads, guard) ||
	    !add_writes(r, s, region->guards, &x.writes, guard))
		return false;
	s->cycles = result_cycles(r, insn, &k);
	s->is_load = is_load(insn, m);
	s->is_atomic = is_atomic(insn, m);
	region->loads += s->is_load && is_new_sector(region->bases, insn, region->n);
	for (uint16_t i = 0; i < s->writes_n; i++)
		if (s->writes[i].place < SHADOW)
			region->bases->at[s->writes[i].place].written = region->n + 1;
	region->n++;
	if (rate > 0)
		pipe_cycles[k.pipe - 1] += LANES * r->arch->partitions / rate;
	if (k.is_matrix && r->arch->t_fp16 > 0 && sass_mma(insn, m, &mma))
		pipe_cycles[PIPES] += mma.operations / 2.0 * r->arch->partitions / r->arch->t_fp16;
	return true;
}

static int by_tree(const void *a, const void *b)
{
	const struct cfg_block *x = *(const struct cfg_block *const *)a;
	const struct cfg_block *y = *(const struct cfg_block *const *)b;

	return x->tree_first < y->tree_first ? -1 : x->tree_first > y->tree_first;
}

/* The code of blocks that dominate one another, in the order in which they run. NULL steps: no memory. */
static struct region read_region(struct reader *r, const struct cfg_block **blocks, uint32_t n)
{
	struct region region = {.is_known = true};
	double pipe_cycles[PIPES + 1] = {0};
	uint32_t insns = 0;

	qsort(blocks, n, sizeof(*blocks), by_tree);
	for (uint32_t i = 0; i < n; i++)
		insns += blocks[i]->end - blocks[i]->first;
	region.steps = arena_array(r->scratch, insns ? insns : 1, sizeof(*region.steps));
	region.guards = arena_alloc(r->scratch, sizeof(*region.guards));
	region.bases = arena_alloc(r->scratch, sizeof(*region.bases));
	if (!region.guards || !region.bases)
		region.steps = NULL;
	for (uint32_t i = 0; region.steps && i < n; i++)
		for (uint32_t k = blocks[i]->first; region.steps && k < blocks[i]->end; k++)
			if (!add_step(r, &region, k, pipe_cycles))
				region.steps = NULL;
	region.issue = region.n;
	for (size_t i = 0; i <= PIPES; i++)
		region.issue = fmax(region.issue, pipe_cycles[i]);
	return region;
}

/* ------------------------------------------------------------------------------------------- paths */

static bool paths_init(struct paths *p, struct arena *scratch, uint32_t width, int32_t origin)
{
	p->width = width;
	p->origin = origin;
	p->cycles = arena_array(scratch, (size_t)PLACES * width, sizeof(*p->cycles));
	p->loads = arena_array(scratch, (size_t)PLACES * width, sizeof(*p->loads));
	if (!p->cycles || !p->loads)
		return false;
	for (size_t i = 0; i < (size_t)PLACES * width; i++)
		p->cycles[i] = p->loads[i] = origin;
	return true;
}

static int32_t larger(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static int32_t plus(int32_t path, int32_t more)
{
	return path == NEVER ? NEVER : path + more;
}

/* Column `from`: the longest path into the step, over all that it reads, goes on to all that it writes. */
static void take_step(struct paths *p, const struct step *s, uint32_t from)
{
	int32_t cycles = p->origin, loads = p->origin;

	for (uint16_t i = 0; i < s->reads_n; i++) {
		cycles = larger(cycles, p->cycles[s->reads[i] * p->width + from]);
		loads = larger(loads, p->loads[s->reads[i] * p->width + from]);
	}
	if (s->is_atomic) /* no chain of a loop goes through it */
		cycles = loads = p->origin;
	loads = plus(loads, s->is_load);
	for (uint16_t i = 0; i < s->writes_n; i++) {
		const struct write *w = &s->writes[i];
		const size_t at = (size_t)w->place * p->width + from;
		const size_t before = at + (w->shadows ? (size_t)SHADOW * p->width : 0);
		const bool is_predicate = w->place % SHADOW >= REGSET_P;
		const int32_t there = plus(cycles, is_predicate && s->cycles < PREDICATE_CYCLES
							   ? PREDICATE_CYCLES
							   : s->cycles);

		p->cycles[at] = w->keeps ? larger(p->cycles[before], there) : there;
		p->loads[at] = w->keeps ? larger(p->loads[before], loads) : loads;
	}
}

static void take_all(struct paths *p, const struct region *region)
{
	for (uint32_t i = 0; i < region->n; i++)
		for (uint32_t from = 0; from < p->width; from++)
			take_step(p, &region->steps[i], from);
}

/* Registers that the code reads before it writes them for certain, and that it writes. Their number. */
static uint32_t find_carried(const struct region *region, uint16_t out[REGSET_NUMBERS])
{
	bool is_written[REGSET_NUMBERS] = {false}, is_new[REGSET_NUMBERS] = {false},
	     is_read[REGSET_NUMBERS] = {false};
	uint32_t n = 0;

	for (uint32_t i = 0; i < region->n; i++) {
		const struct step *s = &region->steps[i];

		for (uint16_t k = 0; k < s->reads_n; k++)
			if (s->reads[k] < SHADOW)
				is_read[s->reads[k]] |= !is_new[s->reads[k]];
		for (uint16_t k = 0; k < s->writes_n; k++) {
			const struct write *w = &s->writes[k];

			if (w->place >= SHADOW)
				continue;
			is_written[w->place] = true;
			is_new[w->place] |= !w->keeps || w->shadows;
		}
	}
	for (unsigned i = 0; i < REGSET_NUMBERS; i++)
		if (is_written[i] && is_read[i])
			out[n++] = (uint16_t)i;
	return n;
}

static const struct chain unknown = {NAN, NAN, NAN, NAN, NAN, NAN};

#define WAIT_TURNS \
	2 /* until what a turn loads for the next one counts, and as many that are looked at */

/*
 * All loads take one unit of time, and nothing else any. What is issued behind an instruction that waited is issued
 * later by as much. `ready`: when each place may be read.
 */
static uint32_t wait_through(const struct region *region, uint32_t now, uint32_t ready[PLACES])
{
	for (uint32_t i = 0; i < region->n; i++) {
		const struct step *s = &region->steps[i];

		for (uint16_t k = 0; k < s->reads_n; k++)
			if (ready[s->reads[k]] > now)
				now = ready[s->reads[k]];
		for (uint16_t k = 0; k < s->writes_n; k++) {
			const struct write *w = &s->writes[k];
			const uint32_t before = ready[w->place + (w->shadows ? SHADOW : 0)];
			const uint32_t then = now + s->is_load;

			ready[w->place] = w->keeps && before > then ? before : then;
		}
	}
	return now;
}

/* Waits of a turn behind others. */
static double waits_of_turn(const struct region *region)
{
	uint32_t ready[PLACES] = {0}, now = 0, first = 0;

	for (unsigned i = 0; i < 2 * WAIT_TURNS; i++) {
		now = wait_through(region, now, ready);
		first = i + 1 == WAIT_TURNS ? now : first;
	}
	return (now - first) / (double)WAIT_TURNS;
}

static bool through(struct reader *r, const struct region *region, struct chain *out)
{
	struct paths p;

	if (!region->is_known)
		return true;
	if (!paths_init(&p, r->scratch, 1, 0))
		return false;
	*out = (struct chain){
		.all_loads = region->loads,
		.issue = region->issue,
		.waits = wait_through(region, 0, (uint32_t[PLACES]){0}),
	};
	for (uint32_t i = 0; i < region->n; i++) {
		const struct step *s = &region->steps[i];

		take_step(&p, s, 0);
		for (uint16_t k = 0; k < s->writes_n; k++) {
			out->cycles = fmax(out->cycles, p.cycles[s->writes[k].place]);
			out->loads = fmax(out->loads, p.loads[s->writes[k].place]);
		}
	}
	out->chain_loads = out->loads;
	return true;
}

/* false: memory has run out */
static bool around(struct reader *r, const struct region *region, struct chain *out)
{
	uint16_t carried[REGSET_NUMBERS];
	const uint32_t n = find_carried(region, carried);
	struct paths p;

	r->work += (uint64_t)region->n * n + (uint64_t)n * n * n;
	if (!region->is_known || n > CARRIED_MOST || r->work > WORK_MOST)
		return true;
	if (!through(r, region, out))
		return false;
	out->cycles = out->loads = 0;
	out->waits = waits_of_turn(region);
	if (!n)
		return true;
	if (!paths_init(&p, r->scratch, n, NEVER))
		return false;
	for (uint32_t i = 0; i < n; i++)
		p.cycles[(size_t)carried[i] * n + i] = p.loads[(size_t)carried[i] * n + i] = 0;
	take_all(&p, region);
	out->cycles = chain_cycle(p.cycles, carried, n, r->scratch);
	out->loads = chain_cycle(p.loads, carried, n, r->scratch);
	return !isnan(out->cycles) && !isnan(out->loads);
}

/* ----------------------------------------------------------------------------------------- regions */

/* What a function that measures a region does with it. */
typedef bool (*region_fn)(struct reader *r, const struct region *region, struct chain *out);

/* Memory for one region at a time. */
static bool read_blocks(struct reader *r, const struct cfg_block **blocks, uint32_t n,
			region_fn measure, struct chain *out)
{
	struct region region;
	bool is_done = false;

	r->scratch = arena_new();
	if (r->scratch) {
		region = read_region(r, blocks, n);
		is_done = region.steps && measure(r, &region, out);
	}
	arena_free(r->scratch);
	return is_done;
}

static bool read_loop(struct reader *r, uint32_t l, const struct cfg_block **blocks,
		      struct chain *out)
{
	const struct cfg *g = r->g;
	uint32_t n = 0;

	for (uint32_t b = g->block_of[g->loops[l].first];
	     b < g->blocks_n && g->blocks[b].first <= g->loops[l].last; b++)
		if (g->blocks[b].is_reachable && g->blocks[b].loop == l &&
		    cfg_in_every_turn(g, b, l))
			blocks[n++] = &g->blocks[b];
	return read_blocks(r, blocks, n, around, out);
}

/* From the exit behind most instructions up to the entry, the blocks that are in no loop. */
static uint32_t straight_blocks(const struct cfg *g, const struct cfg_block **blocks)
{
	uint32_t best = CFG_NONE, most = 0, n = 0;

	for (uint32_t b = 0; b < g->blocks_n; b++) {
		const struct cfg_block *last = &g->blocks[b];
		uint32_t insns = 0;

		if (!last->is_reachable || cfg_flow(&g->insns[last->end - 1]) != CFG_EXIT)
			continue;
		for (uint32_t at = b; at != CFG_NONE; at = g->blocks[at].idom)
			if (g->blocks[at].loop == CFG_NONE)
				insns += g->blocks[at].end - g->blocks[at].first;
		if (best == CFG_NONE || insns > most) {
			best = b;
			most = insns;
		}
	}
	for (; best != CFG_NONE; best = g->blocks[best].idom)
		if (g->blocks[best].loop == CFG_NONE)
			blocks[n++] = &g->blocks[best];
	return n;
}

static bool read_all(struct reader *r, const struct cfg_block **blocks, struct chain *loops,
		     struct chain *straight)
{
	if (!blocks || !read_blocks(r, blocks, straight_blocks(r->g, blocks), through, straight))
		return false;
	for (uint32_t l = 0; l < r->g->loops_n; l++)
		if (r->g->loops[l].is_innermost && !r->g->loops[l].is_for_lanes &&
		    !read_loop(r, l, blocks, &loops[l]))
			return false;
	return true;
}

int chain_read(const struct cfg *g, struct arena *arena, struct chain **loops,
	       struct chain *straight)
{
	struct reader r = {.g = g, .arch = arch_find(g->sm, NULL)};
	const struct sass_table *t = sass_table(g->sm);
	struct arena *work = arena_new();
	bool is_done = false;

	*straight = unknown;
	r.known = work ? arena_array(work, t ? t->rows_n : 0, sizeof(*r.known)) : NULL;
	*loops = arena_array(arena, g->loops_n ? g->loops_n : 1, sizeof(**loops));
	for (uint32_t l = 0; *loops && l < g->loops_n; l++)
		(*loops)[l] = unknown;
	if (*loops && r.known)
		is_done = !r.arch ||
			  read_all(&r,
				   arena_array(work, g->blocks_n, sizeof(const struct cfg_block *)),
				   *loops, straight);
	arena_free(work);
	return is_done ? 0 : -1;
}
