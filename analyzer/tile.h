/*
 * tile.h - what one iteration of each loop computes and loads from global memory, the ratio of the two,
 * and which loop is the K-tile of a kernel. From the code alone: how often a loop runs is known only where
 * the code proves it. What follows for the programmer is said elsewhere.
 */
#ifndef KBN_TILE_H
#define KBN_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfg.h"
#include "err.h"

struct arena;

#define TILE_NONE UINT32_MAX

/* Bounds of the classes: below 5 low, above 20 high. */
#define TILE_LOW_BELOW  5.0
#define TILE_HIGH_ABOVE 20.0

/* One unit of the normalised ratio: an m16n8k16 product for a warp, and a load of 16 bytes by its lanes. */
#define TILE_UNIT_FLOPS 4096.0
#define TILE_UNIT_BYTES 512.0

enum tile_class { TILE_UNCLASSED, TILE_LOW, TILE_MEDIUM, TILE_HIGH };

enum tile_async {
	TILE_ASYNC_UNKNOWN,
	TILE_BENEFICIAL,  /* low: copies overlap with what is little computation */
	TILE_NEUTRAL,     /* medium: measure both */
	TILE_DETRIMENTAL, /* high: the computation hides the loads already */
	TILE_IN_USE,      /* there are asynchronous copies in the loop */
};

/* Why the ratio of a loop is not known. */
enum tile_reason {
	TILE_KNOWN,
	TILE_UNDECODED, /* an instruction in it is not decoded */
	TILE_CALL,      /* it calls code that is not in this function */
	TILE_OTHER_LOADS, /* generic, texture or surface: perhaps from global memory, of unknown size */
	TILE_NO_LOADS, /* it loads nothing from global memory */
	TILE_OUTER,    /* the loops within it are tiles of their own */
	TILE_TRIPS,    /* what it loads is used in a loop within that runs nobody knows how often */
	TILE_SIZE,     /* the size of a copy is not in the instruction; ratio_raw is known */
	TILE_SHAPE,    /* the shape of a matrix product is in a register; ratio_raw is known */
	TILE_REASONS,
};

/*
 * Counts are instructions of a warp in one iteration, and saturate; each instruction counts once, also
 * where a predicate or a branch may skip it (guarded_*). Code of loops within counts only when the loop is
 * joined with them, times their trips; of loops for lanes (cfg.h) always, once. `guarded_ops` are of
 * compute_ops, `guarded_loads` of load_ops.
 */
struct tile {
	uint32_t loop;       /* in cfg.loops */
	uint32_t start, end; /* byte offsets: the lowest instruction, the highest that jumps back */
	uint32_t depth;      /* 1 = outermost */
	bool is_rare;        /* of code for rare values (cfg.h): never the K-tile */
	bool is_innermost;   /* no loop within, but for those of lanes */
	bool is_joined; /* with all loops within: it loads, they use it, and their trips are known */
	bool is_whole;  /* joined, or no loop within computes, loads or may do so */
	uint32_t joined_to; /* tile that counts this loop as its own, TILE_NONE = none */
	uint64_t trips;     /* iterations whenever it is entered; 0 = not known */

	/* Matrix products, or FFMA and its like: the kind with more FLOPs. The other kind is other_ops. */
	uint64_t compute_ops, other_ops, guarded_ops;
	bool is_matrix;         /* compute_ops are matrix products */
	const char *compute_op; /* "HMMA", the one with most FLOPs; NULL = none */
	uint64_t flops;         /* of a warp, of compute_ops; 0 = none, or not known */

	uint64_t load_ops, guarded_loads;
	uint64_t load_bytes; /* of a warp, where every lane is active; of what is told (unsized_loads) */
	uint64_t unsized_loads; /* of load_ops: the size is in a register */
	uint64_t async_copies;  /* of load_ops */
	uint64_t other_loads;   /* generic, texture, surface: in no other count */

	uint64_t barriers;       /* that wait for the block's warps: BAR.SYNC, BAR.RED */
	uint64_t mbarrier_waits; /* tests of a barrier in shared memory */
	uint64_t calls, undecoded;

	double ratio;     /* units of computation per unit of loads; NAN = not known */
	double ratio_raw; /* compute_ops / load_ops; NAN = not known */
	enum tile_reason reason;
	enum tile_class class;
	enum tile_async async;
};

struct tiles {
	struct tile *at; /* by start, outer before inner; loops for lanes are not among them */
	uint32_t n;
};

/* The loops of a function, in the arena. 0, or -1 with ERR_MEMORY. */
int tile_read(const struct cfg *g, struct arena *arena, struct tiles *out, struct err *e);

/*
 * The K-tile: among innermost loops, and nests that are joined, the one with the largest compute_ops x
 * 8^depth; the first of equals. NULL when no such loop computes.
 */
const struct tile *tile_loop(const struct tiles *t);

/* A multiply-add of zeros, HFMA2 R, -RZ, RZ, x: puts a number into a register. */
bool tile_is_move(const struct sass_insn *insn);

/* "low", "beneficial", "an instruction is not decoded"; "" of UNCLASSED, ASYNC_UNKNOWN and KNOWN. */
const char *tile_class_name(enum tile_class class);
const char *tile_async_name(enum tile_async async);
const char *tile_reason_text(enum tile_reason reason);

#endif
