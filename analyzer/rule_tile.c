/*
 * rule_tile.c - what the K-tile says: its compute/load ratio, its copies, what a second buffer costs. See
 * advice_case.h; the formulas are explained in analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>

#include "tile.h"

static bool is_memory(const struct advice_case *c)
{
	return c->class == CLASS_MEMORY ||
	       (c->class == CLASS_BALANCED && c->memory_pct >= c->compute_pct);
}

static void say_ratio(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_loop *t = c->tile;
	char ratio[TEXT_NUMBER];

	advice_evidence(
		d,
		"compute/load ratio %s in the loop at 0x%llx (%llu %s, %lld bytes loaded per warp)",
		text_ratio(ratio, t->ratio), (unsigned long long)t->start,
		(unsigned long long)t->compute_ops, t->compute_op ? t->compute_op : "operations",
		(long long)t->load_bytes_per_warp);
}

static void say_memory(const struct advice_case *c, struct advice_draft *d)
{
	char pct[TEXT_NUMBER];

	if (isnan(c->memory_pct))
		advice_evidence(d, "the kernel is memory-bound");
	else
		advice_evidence(d, "memory at %s of its peak", text_pct(pct, c->memory_pct));
}

/* What a second buffer does to the blocks per SM. */
static void double_buffer(const struct advice_case *c, struct advice_draft *d)
{
	const struct smem_cliff *s = c->cliff;

	if (!s || !c->occupancy)
		return;
	if (s->smem_per_block_bytes == 0) {
		int64_t tile = c->tile->load_bytes_per_warp * c->occupancy->warps_per_block;
		struct occupancy o;

		if (tile > 0 && advice_occupancy(c, c->k->resources.registers, 2 * tile, &o))
			advice_conflict(d, "two buffers of a turn's %lld bytes per block: %s",
					(long long)tile, advice_room(d, o.blocks_per_sm));
		return;
	}
	advice_conflict(d, "twice the shared memory, %lld in place of %lld bytes: %s%s",
			(long long)s->double_buffer_bytes, (long long)s->smem_per_block_bytes,
			advice_room(d, s->double_buffer_blocks_per_sm),
			s->double_buffer_blocks_per_sm == 1 && s->blocks_per_sm > 1
				? ": over the cliff"
				: "");
}

/* A tile with a ratio, whose loads an asynchronous copy could replace. */
static bool has_ratio(const struct advice_case *c)
{
	return c->tile && !isnan(c->tile->ratio) && c->tile->load_ops > 0;
}

/* What a turn of the tile executes. */
static const struct metric_mix *turn_of(const struct advice_case *c)
{
	return c->tile == c->hot ? &c->sass->hot : &c->tile->turn;
}

static bool is_staged(const struct advice_case *c)
{
	const struct metric_mix *m = turn_of(c);

	return m->loads > 0 && m->shared > 0 && m->barriers > 0 && m->shuffles == 0;
}

/* Loading for about half of each turn, the resident warps keep too few bytes in flight for DRAM. */
static bool is_exposed(const struct advice_case *c)
{
	return c->resident * turn_of(c)->load_bytes / 2 <
	       ADVICE_REACHED * ADVICE_DRAM_MOST * advice_dram_rate(c);
}

/* A tile whose warps wait for its loads so long is not hidden by what it computes, whatever the ratio says. */
#define EXPOSED_PCT  25.0
/* Of what the overlap promises so much is sure: shares of stalls are estimates. */
#define OVERLAP_SURE 0.75

/* The share of the time in which warps wait for loads; false = not known. */
static bool load_wait(const struct advice_case *c, double *low, double *high)
{
	const struct quantity *q = advice_stall(c, long_scoreboard);

	if (!q || !quantity_known(q) || isnan(q->low) || isnan(q->high))
		return false;
	*low = q->low;
	*high = q->high;
	return true;
}

/* Neither unit is busy, and the tile's warps wait for its loads: nothing hides them. */
static bool is_waiting(const struct advice_case *c)
{
	double low, high;

	return c->class == CLASS_LATENCY && is_staged(c) && load_wait(c, &low, &high) &&
	       low >= EXPOSED_PCT;
}

/*
 * Two phases that follow each other, loading and the rest, lie over each other: the shorter one is saved. Where it is not
 * known how long they are, from nothing to a little more than the published case, which had 35% more throughput: 26% less
 * time.
 */
static void overlap_gain(const struct advice_case *c, struct advice_draft *d)
{
	double low, high, most;

	/* what else may set the time of a kernel that has no class */
	if (c->class == CLASS_UNKNOWN || !load_wait(c, &low, &high)) {
		advice_gain_ratio(d, 1, 0.7);
		return;
	}
	most = low <= 50 && high >= 50 ? 50 : fmax(fmin(low, 100 - low), fmin(high, 100 - high));
	advice_gain_ratio(
		d, 1 - OVERLAP_SURE * fmin(fmin(low, 100 - low), fmin(high, 100 - high)) / 100,
		1 - most / 100);
}

enum advice_outcome rule_async_pipeline(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_loop *t = c->tile;
	char ratio[TEXT_NUMBER], has[TEXT_NUMBER], wants[TEXT_NUMBER];

	if (!has_ratio(c))
		return ADVICE_SILENT;
	text_ratio(ratio, t->ratio);
	if (t->async_copies > 0)
		return advice_against(
			d, "the loop at 0x%llx copies asynchronously already (%llu in a turn)",
			(unsigned long long)t->start, (unsigned long long)t->async_copies);
	if (t->ratio > TILE_HIGH_ABOVE && !is_waiting(c))
		return advice_against(
			d,
			"compute/load ratio %s, above %.0f: the computing hides the loads, and a second buffer costs more than it brings",
			ratio, TILE_HIGH_ABOVE);
	/* A tile that is staged in shared memory; what streams through registers needs bytes in flight instead. */
	if ((t->ratio >= TILE_LOW_BELOW && !is_waiting(c)) || !is_staged(c) ||
	    c->class == CLASS_COMPUTE || c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT ||
	    (!is_memory(c) && !is_exposed(c) && !is_waiting(c)))
		return ADVICE_SILENT;
	if (c->cliff && c->cliff->above_cliff)
		return advice_against(
			d,
			"one block per SM because of shared memory: a second buffer needs twice of it");
	if (is_memory(c))
		say_memory(c, d);
	say_ratio(c, d);
	advice_evidence(
		d,
		"no asynchronous copy in that loop; each turn loads, stores to shared memory and waits at %.0f %s",
		turn_of(c)->barriers, advice_plural(turn_of(c)->barriers, "barrier", "barriers"));
	if (!is_memory(c))
		advice_evidence(
			d,
			"in flight on an SM, %.0f warps: %s while they load, and nothing while they compute; "
			"DRAM needs %s at all times",
			c->resident,
			text_bytes(has, (int64_t)(c->resident * turn_of(c)->load_bytes)),
			text_bytes(wants, (int64_t)(ADVICE_DRAM_MOST * advice_dram_rate(c))));
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	double_buffer(c, d);
	overlap_gain(c, d);
	advice_try(
		d,
		"load tile k+1 with cp.async (LDGSTS) or a bulk copy while tile k is computed; two to four stages",
		"LDGSTS in the loop, fewer waits on the long scoreboard, less time",
		"other warps hid the loads already, or the blocks per SM fell: see the conflict");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_async_benchmark(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_loop *t = c->tile;

	if (!has_ratio(c) || !is_memory(c) || t->async_copies > 0 || t->ratio < TILE_LOW_BELOW ||
	    t->ratio > TILE_HIGH_ABOVE || c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return ADVICE_SILENT;
	say_memory(c, d);
	say_ratio(c, d);
	double_buffer(c, d);
	/* Between the two published cases: -5% and +35%. */
	advice_gain(d, 0, 15);
	advice_try(d, "two versions of the loop, with and without asynchronous copies, same tile",
		   "the one with copies is faster by 5 to 15%",
		   "the loads were hidden: keep the simpler one");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_algorithm(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_loop *t = c->tile;

	if (!has_ratio(c) || !is_memory(c) || !(t->ratio > TILE_HIGH_ABOVE) || !c->occupancy ||
	    c->occupancy->enough_warps != 1)
		return ADVICE_SILENT;
	say_memory(c, d);
	say_ratio(c, d);
	advice_evidence(d, "%d warps per SM: latency counts as hidden", c->occupancy->warps_per_sm);
	/* Fewer bytes lift the roof, at most to that of compute. */
	advice_gain(d, 10, fmin(40, 100 - fmax(0, isnan(c->compute_pct) ? 0 : c->compute_pct)));
	advice_conflict(d,
			"another algorithm rounds in another order, and may need scratch memory");
	advice_try(
		d,
		"move fewer bytes: implicit GEMM in place of a copy by im2col, split-Q, a tile shared by more blocks (cluster)",
		"unique bytes and sectors fall, time with them",
		"the bytes came from a cache: DRAM was not the limit");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_warps_first(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_loop *t = c->tile;
	const struct occupancy *o = c->occupancy;
	double ratio;

	if (!has_ratio(c) || !is_memory(c) || !(t->ratio > TILE_HIGH_ABOVE) || !o ||
	    o->enough_warps != 0 || o->warps_per_sm <= 0 ||
	    c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return ADVICE_SILENT;
	ratio = (double)o->warps_per_sm / o->enough_warps_at;
	say_memory(c, d);
	say_ratio(c, d);
	advice_evidence(d, "%d warps per SM, below the %d that hide latency", o->warps_per_sm,
			o->enough_warps_at);
	advice_gain_ratio(d, 1, fmax(0.7, ratio));
	advice_conflict(d,
			"%s limit the blocks per SM: a smaller tile loads more for the same work",
			occupancy_limit_names[o->limiter < 0 ? LIMIT_WARPS : o->limiter]);
	advice_try(d, "more warps per block on the same tile, or a tile of which more fit an SM",
		   advice_text(d, "at least %d warps per SM, less time", o->enough_warps_at),
		   "latency was hidden: change the algorithm to move fewer bytes");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_shrink_tile(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_loop *t = c->tile;
	char less[TEXT_NUMBER];

	if (!has_ratio(c) || !is_memory(c) || !(t->ratio < TILE_LOW_BELOW) || !c->cliff ||
	    !c->cliff->above_cliff || c->cliff->to_next_step_bytes <= 0 ||
	    c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return ADVICE_SILENT;
	say_memory(c, d);
	say_ratio(c, d);
	advice_evidence(d,
			"one block per SM because of shared memory alone; %s bytes less allow two",
			text_count(less, (uint64_t)c->cliff->to_next_step_bytes));
	advice_gain(d, 5, 35);
	double_buffer(c, d);
	advice_try(d,
		   advice_text(d, "a tile of at most %lld bytes",
			       (long long)(c->cliff->smem_per_block_bytes -
					   c->cliff->to_next_step_bytes)),
		   "two blocks per SM, less time; then asynchronous copies",
		   "the reuse of the large tile is worth more: keep one block and raise it");
	return ADVICE_GIVEN;
}
