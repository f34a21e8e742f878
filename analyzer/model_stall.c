/*
 * model_stall.c - see model_stall.h. What the model does not know, how far data is from the SM, is taken
 * from the bytes that all warps load: what is larger than the L2 comes from DRAM.
 */
#include "model_stall.h"

#include <math.h>

#include "arena.h"
#include "count.h"
#include "stall_sim.h"

#define SCHEDULERS  4u
#define DRAM_SHARE  0.9 /* of the published bandwidth that is reached */
#define L1_PER_SM   128.0
#define L2_PER_SM   32.0 /* bytes per cycle where nobody measured it */
#define DRAM_PER_SM 10.0
#define LANES       32.0
#define LAUNCH_US   1.5 /* of a launch's time nothing runs; assumed */

static double dram_per_sm(const struct model_device *d)
{
	const double hz = d->hw.clock_mhz * 1e6;

	if (!(d->hw.dram_gbps > 0) || d->hw.clock_mhz <= 0 || d->hw.sm_count <= 0)
		return DRAM_PER_SM;
	return d->hw.dram_gbps * 1e9 * DRAM_SHARE / hz / d->hw.sm_count;
}

static double l2_per_sm(const struct model_device *d)
{
	if (d->hw.arch.l2_bytes_measured <= 0 || d->hw.sm_count <= 0)
		return L2_PER_SM;
	return (double)d->hw.arch.l2_bytes_measured / d->hw.sm_count;
}

static bool is_local_in_l1(const struct model_kernel *k, const struct arch *a)
{
	const double used = (double)k->resources.local_bytes * LANES * k->occupancy.warps_per_sm;
	const double left = a->l1_kb * 1024.0 -
			    (double)k->occupancy.smem_per_block * k->occupancy.blocks_per_sm;

	return used <= left;
}

/* Bytes that all warps load and store, lanes side by side, each byte once for each warp. */
static double all_bytes(const struct model_kernel *k, double turns)
{
	const struct stall_path *p = k->code.sass->path;

	return (double)count_volume(k->shape->grid) * k->occupancy.warps_per_block *
	       (p->bytes[0] + turns * p->bytes[1]);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static unsigned rounded_up(unsigned n, unsigned by)
{
	return (n + by - 1) / by;
}

/* Warps that live on an SM together: what it has room for, or all that the grid puts there. */
static unsigned warps_of(const struct occupancy *o)
{
	const int grid = o->grid_warps_per_sm;

	return (unsigned)(grid >= 0 && grid < o->warps_per_sm ? grid : o->warps_per_sm);
}

/* Cycles; measured by others on V100 to GH200: L1 28 to 34, L2 200 to 281, DRAM 500 to 800. */
static const unsigned latencies[] = {33, 270, 650};

/* How far what is not in the L1 is. */
enum far { IN_L1, IN_L2, IN_DRAM, FARS };

static struct stall_sm scheduler(const struct model_kernel *k, const struct model_device *d,
				 enum far far)
{
	const struct occupancy *o = &k->occupancy;
	const unsigned warps = warps_of(o), of_block = (unsigned)o->warps_per_block;
	const double sms = d->hw.sm_count > 0 ? d->hw.sm_count : 1;
	struct stall_sm sm = {0};
	unsigned blocks;

	sm.schedulers = warps < SCHEDULERS ? warps : SCHEDULERS;
	sm.block_warps = rounded_up(of_block, SCHEDULERS);
	blocks = rounded_up(warps, of_block);
	if (of_block < SCHEDULERS) /* one scheduler gets a warp of every other block */
		blocks = rounded_up(warps, SCHEDULERS);
	sm.warps = blocks * sm.block_warps;
	sm.blocks = (uint64_t)ceil((double)count_volume(k->shape->grid) / sms *
				   (of_block < SCHEDULERS ? of_block / (double)SCHEDULERS : 1));
	if (sm.blocks < blocks)
		sm.blocks = blocks;
	sm.latency = latencies[far];
	sm.bytes_per_cycle = (far == IN_DRAM ? dram_per_sm(d)
			      : far == IN_L2 ? l2_per_sm(d)
					     : L1_PER_SM) /
			     sm.schedulers;
	sm.shared_by = sqrt(larger(sm.block_warps - 1.0, 1) *
			    larger((double)count_volume(k->shape->cluster), 1));
	sm.is_local_in_l1 = is_local_in_l1(k, &d->hw.arch);
	return sm;
}

/* ----------------------------------------------------------------------------------- what fits best */

/* What comes of data that is so far away. */
struct picture {
	struct stall_shares shares;
	double us[2]; /* of the steps that are certain with the launch's own time, and of the guessed */
	double turns; /* times STALL_TURNS, so that the time comes out; 1 where it is not known */
};

/* The time that the model comes to; what was not run goes on in the same way. */
static void find_times(struct picture *v, const struct model_kernel *k,
		       const struct model_device *d, const struct stall_sm *sm)
{
	const struct stall_path *p = k->code.sass->path;
	double all = 0, us;

	for (uint32_t i = 0; i < p->n; i++)
		all += (double)p->steps[i].weight;
	all *= (double)sm->blocks * sm->block_warps;
	us = all / v->shares.work / sm->warps / d->hw.clock_mhz;
	v->us[0] = LAUNCH_US;
	v->us[1] = 0;
	for (int r = 0; r < STALL_REASONS; r++) {
		v->us[0] += v->shares.cycles[0][r] * us;
		v->us[1] += v->shares.cycles[1][r] * us;
	}
}

static bool has_time(const struct model_kernel *k, const struct model_device *d)
{
	return k->times.median > 0 && d->hw.clock_mhz > 0;
}

/* The L1 is thought of only where the time decides. */
static bool needs_l1(const struct model_kernel *k, const struct model_device *d)
{
	return has_time(k, d) && !k->code.sass->path->has_guess;
}

/* Loops of unknown turns turn as often as the time leaves room for. */
static void find_turns(struct picture *v, double us)
{
	const double least = 1.0 / STALL_TURNS;

	v->turns = v->us[1] > 0 ? (us - v->us[0]) / v->us[1] : 1;
	if (!(v->turns > least))
		v->turns = least;
}

/*
 * With a time and no loop to guess: what comes nearest to it. Else what all warps load decides: what is larger than
 * the L2 comes from DRAM. Of loops to guess one turn counts: tiles that follow are often those of other blocks.
 */
static enum far choose(const struct model_kernel *k, const struct model_device *d,
		       const struct picture v[FARS])
{
	const double us = k->times.median;
	enum far best = IN_DRAM;

	if (!needs_l1(k, d))
		return all_bytes(k, 1.0 / STALL_TURNS) <= (double)d->hw.l2_bytes ? IN_L2 : IN_DRAM;
	for (enum far f = IN_L1; f < IN_DRAM; f++)
		if (v[f].us[0] > 0 && fabs(log(v[f].us[0] / us)) < fabs(log(v[best].us[0] / us)))
			best = f;
	return best;
}

/* ------------------------------------------------------------------------------- what is said of it */

/* A wait for data on a barrier in shared memory is sampled as one on a scoreboard of memory. */
static double cycles_of(const struct picture *v, int reason)
{
	const double *certain = v->shares.cycles[0], *guessed = v->shares.cycles[1];
	double cycles = certain[reason] + v->turns * guessed[reason];

	if (reason == STALL_LONG)
		cycles += certain[STALL_MBARRIER] + v->turns * guessed[STALL_MBARRIER];
	return reason == STALL_MBARRIER ? 0 : cycles;
}

static double share_of(const struct picture *v, int reason)
{
	double all = 0;

	for (int r = 0; r < STALL_REASONS; r++)
		all += r == STALL_SELECTED ? 0 : cycles_of(v, r);
	/* Figures behind the second are noise. */
	return all > 0 ? round(1e4 * cycles_of(v, reason) / all) / 100 : 0;
}

static const int fields[] = {STALL_LONG,       STALL_SHORT,        STALL_BARRIER,
			     STALL_MATH,       STALL_LG,           STALL_MIO,
			     STALL_FIXED_WAIT, STALL_NOT_SELECTED, STALL_BRANCH};
#define FIELDS (sizeof(fields) / sizeof(*fields))

/* Of one field of metric_stalls, in their order; what has no field of its own is the last. */
static double field(const struct picture *v, size_t at)
{
	double rest = 100;

	if (at < FIELDS)
		return share_of(v, fields[at]);
	for (size_t i = 0; i < FIELDS; i++)
		rest -= share_of(v, fields[i]);
	return rest > 0.01 ? rest : 0;
}

/* Between the pictures with data from the L2 and from DRAM, and the one that was chosen. */
static struct quantity estimated(const struct picture v[FARS], enum far far, size_t at)
{
	const double value = field(&v[far], at), a = field(&v[IN_L2], at),
		     b = field(&v[IN_DRAM], at);

	return (struct quantity){
		value,
		fmin(value, fmin(a, b)),
		fmax(value, fmax(a, b)),
		QUANTITY_ESTIMATED,
		QUANTITY_BY_MODEL,
		"a model of the warps of a scheduler on the likeliest way through the code; low and high: data in the L2, or in DRAM"};
}

static void fill(struct metric_stalls *out, const struct picture v[FARS], enum far far)
{
	size_t at = 0;

#define SHARE(name) out->name = estimated(v, far, at++);
	METRIC_STALL_LIST(SHARE)
#undef SHARE
}

/* By instruction, what its requests are known to touch, 0 = not known; up to `last`. */
static const float *touched(const struct metric_access *a, uint32_t last, struct arena *scratch)
{
	float *of = arena_array(scratch, (size_t)last + 1, sizeof(*of));

	for (size_t i = 0; of && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (s->offset / SASS_BYTES <= last && quantity_known(&s->sectors_per_request))
			of[s->offset / SASS_BYTES] = (float)s->sectors_per_request.value;
	}
	return of;
}

/* What the lanes' addresses are known to make of accesses, NULL where nothing is. */
static const float *spread(const struct model_kernel *k, struct arena *scratch)
{
	const struct stall_path *p = k->code.sass->path;
	const float *sectors;
	uint32_t last = 0;
	float *of;

	if (!k->access || !k->access->sites_all || !(of = arena_array(scratch, p->n, sizeof(*of))))
		return NULL;
	for (uint32_t i = 0; i < p->n; i++)
		last = p->steps[i].insn > last ? p->steps[i].insn : last;
	sectors = touched(k->access, last, scratch);
	if (!sectors)
		return NULL;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct stall_step *step = &p->steps[i];
		const double side_by_side =
			step->bytes > 4 || step->pipe == STALL_PIPE_GLOBAL
				? step->bytes / (step->pipe == STALL_PIPE_GLOBAL ? 1.0 : 4.0)
				: 1;
		const double known = sectors[step->insn];

		of[i] = side_by_side > 0 && known > 0 ? (float)(known / side_by_side) : 1;
	}
	return of;
}

static bool is_known(const struct model_kernel *k)
{
	return k->code.sass && k->code.sass->path && k->code.sass->path->n && k->occupancy_known &&
	       k->occupancy.blocks_per_sm > 0 && warps_of(&k->occupancy) > 0;
}

static bool simulate(struct model_kernel *k, const struct model_device *d, struct arena *scratch,
		     struct metric_stalls *out)
{
	struct picture v[FARS] = {{.turns = 1}};
	const float *spreads = spread(k, scratch);

	for (enum far f = needs_l1(k, d) ? IN_L1 : IN_L2; f < FARS; f++) {
		struct stall_sm sm = scheduler(k, d, f);

		sm.spread = spreads;
		if (!stall_sim(k->code.sass->path, &sm, scratch, &v[f].shares))
			return false;
		v[f].turns = 1;
		find_times(&v[f], k, d, &sm);
		if (has_time(k, d))
			find_turns(&v[f], k->times.median);
	}
	fill(out, v, choose(k, d, v));
	return true;
}

bool model_stall(struct model_kernel *k, const struct model_device *d, struct arena *arena)
{
	struct metric_stalls *out;
	struct arena *scratch;

	if (!is_known(k))
		return true;
	scratch = arena_new();
	out = arena_alloc(arena, sizeof(*out));
	if (!scratch || !out) {
		arena_free(scratch);
		return false;
	}
	if (simulate(k, d, scratch, out))
		k->stalls = out;
	arena_free(scratch);
	return true;
}
