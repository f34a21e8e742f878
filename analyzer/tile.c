/*
 * tile.c - see tile.h. One pass over the instructions gives what each loop executes itself; then loops,
 * inner ones first, are added to the loops around them as far as their trips are known.
 */
#include "tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "sass_modifier.h"
#include "sass_work.h"
#include "tile_trips.h"

#define LANES          32u
#define WARPGROUP      4u
#define DEPTH_MOST     16u /* from here on depth has no more weight: 8^16 x operations stay exact enough */
#define TRIPS_WORK_MOST (UINT64_C(1) << 28) /* loops x instructions: no trips of code made to be slow */

enum kind { PRODUCTS, FMAS, KINDS };

/* The operation with most FLOPs of a kind. */
struct best {
	const char *op;
	uint64_t flops, ops;
};

/* What one iteration executes. Numbers alone, so that they can be added and multiplied in one place. */
enum number {
	OPS,
	GUARDED_OPS = OPS + KINDS,
	FLOPS = GUARDED_OPS + KINDS,
	SHAPELESS = FLOPS + KINDS, /* products of unknown FLOPs */
	LOADS,
	GUARDED_LOADS,
	BYTES,
	UNSIZED,
	COPIES,
	OTHER_LOADS,
	BARRIERS,
	MBARRIER_WAITS,
	CALLS,
	FAR_CALLS,
	UNDECODED,
	NUMBERS,
};

struct work {
	uint64_t n[NUMBERS];
	struct best best[KINDS];
};

struct nest {
	struct work own, total; /* total: with the loops within */
	uint64_t trips;
	uint32_t latch, parent; /* the nearest loop around it that is not for lanes */
	bool holds_work;        /* a loop within computes, loads, or is not decoded */
	bool holds_tile;        /* a loop within does both by itself */
	bool is_open;           /* of a loop within that does either the trips are not known */
};

static const struct {
	const char *op;
	unsigned flops;
} fmas[] = {
#define COMPUTE(op, flops) {#op, flops},
#include "tables/compute.def"
#undef COMPUTE
};

/* ------------------------------------------------------------------------------------- numbers */

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Of one operation several instructions may be there: FLOPs of the first that is seen decide ties. */
static void add_best(struct best *to, const struct best *from, uint64_t trips)
{
	const struct best b = {from->op, times(from->flops, trips), times(from->ops, trips)};

	if (!b.op)
		return;
	if (to->op && !strcmp(to->op, b.op)) {
		to->flops = add(to->flops, b.flops);
		to->ops = add(to->ops, b.ops);
	} else if (!to->op || b.flops > to->flops || (b.flops == to->flops && b.ops > to->ops)) {
		*to = b;
	}
}

/* A loop within, so many times; where it is guarded, all it holds is. */
static void add_work(struct work *to, const struct work *from, uint64_t trips, bool is_guarded)
{
	for (int i = 0; i < NUMBERS; i++)
		to->n[i] = add(to->n[i], times(from->n[i], trips));
	for (int k = 0; k < KINDS; k++) {
		add_best(&to->best[k], &from->best[k], trips);
		if (is_guarded)
			to->n[GUARDED_OPS + k] = add(
				to->n[GUARDED_OPS + k],
				times(from->n[OPS + k] - from->n[GUARDED_OPS + k], trips));
	}
	if (is_guarded)
		to->n[GUARDED_LOADS] = add(to->n[GUARDED_LOADS],
					   times(from->n[LOADS] - from->n[GUARDED_LOADS], trips));
}

static bool computes(const struct work *w)
{
	return w->n[OPS + PRODUCTS] || w->n[OPS + FMAS];
}

static bool loads(const struct work *w)
{
	return w->n[LOADS] || w->n[OTHER_LOADS];
}

static bool is_unsure(const struct work *w)
{
	return w->n[UNDECODED] || w->n[FAR_CALLS];
}
