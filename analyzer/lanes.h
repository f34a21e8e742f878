/*
 * lanes.h - what the lanes of a warp do together: the sectors of a global access, the wavefronts of a shared
 * one, the addresses of an atomic, branches on which lanes part. An abstract interpretation of a function's
 * instructions for one warp, or for all warps of a launch at once: what every register holds in each lane is
 * known, known up to a number that all lanes share, or not known (lanes_value.h). The contents of memory are
 * never known. Input: cfg.h, geometry, parameter bytes. Leaves counting executions and words to others.
 */
#ifndef KBN_LANES_H
#define KBN_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "cfg.h"
#include "cubin.h"
#include "err.h"
#include "lanes_value.h"
#include "sass_work.h"

struct arena;

#define LANES_SECTOR 32u  /* bytes that L1, L2 and DRAM move at once */
#define LANES_LINE   128u /* of the L1: four sectors with one tag */
#define LANES_BANKS  32u  /* of shared memory, four bytes wide each */

struct lanes_launch {
	const struct cubin_function *function;
	uint32_t grid[3], block[3], cluster[3];
	/* The parameter block, NULL = not known; of `known` the bits that are. */
	const uint8_t *params, *known;
	uint32_t params_n;
};

/* Which warp: every one of the launch, or number `warp` of one block. */
struct lanes_warp {
	bool is_any;
	uint32_t block[3], warp;
};

enum lanes_kind { LANES_LOAD, LANES_STORE, LANES_SHARED, LANES_ATOMIC, LANES_BRANCH };

/* One access, or one branch on which lanes part, as a warp executes it. */
struct lanes_site {
	uint32_t insn;
	uint8_t kind;   /* enum lanes_kind */
	bool is_shared; /* an atomic on shared memory */
	bool is_copy;   /* from global to shared memory, by the lanes */
	bool is_second; /* of an instruction with two: LDGSTS writes shared memory too */
	bool is_reached;
	bool is_known; /* the figures below are */
	bool is_assumed; /* provided that arguments are aligned as allocations are and no index wraps */
	bool is_everywhere;    /* an atomic: every warp has this one address. Only where is_any */
	bool is_of_all_blocks; /* no number of the block has part in its address. Only where is_any */
	uint32_t reasons;      /* why it is not known (lanes_value.h) */
	uint32_t lanes;        /* of a branch: that take it; else those that take part */
	uint32_t absent;       /* reasons why fewer lanes may take part, 0 = it is exactly these */
	bool is_maybe;         /* its guard may keep all of them from it */
	uint16_t value, low, high; /* sectors or wavefronts of a request */
	uint16_t ideal;            /* for as many bytes, without gaps; without conflicts of banks */
	uint16_t addresses;        /* different ones */
	uint16_t lines;            /* of 128 bytes that are touched; 0 of shared memory */
	uint16_t bytes;            /* that one lane asks for; of LDSM: that one row has */
	/*
	 * Of global memory, sectors in excess of which neither neighbours in the same stretch of code use the rest,
	 * nor (own_later) those in so many turns of the loop; 1 = the turns change nothing.
	 */
	uint8_t turns;
	bool is_own_open; /* some of these neighbours may not be executed */
	/* where in a sector they begin is not known, but where they likely do; of own, of own_later */
	bool is_own_assumed, is_later_assumed;
	float own, own_later; /* where it is known */
	uint32_t form;        /* of the address (lanes_value.h), while its values are there */
	char pattern[48];     /* "" = nothing to say */
};

struct lanes_block {
	bool is_reached;
	uint32_t lanes;  /* that may be there */
	uint32_t absent; /* reasons why some of them may not, 0 = all are */
	bool parts;    /* some of these lanes go one way at its end and some another, for certain */
	bool is_apart; /* they may come one group after another */
	bool may_exit; /* all of these lanes may leave the kernel at its end */
	uint64_t edges; /* bit n: the way to successor n may be taken */
};

struct lanes_result {
	bool is_complete;         /* false: a limit was met, nothing is known */
	uint32_t warp;            /* lanes that the warp begins with */
	uint64_t steps;           /* instructions that were interpreted */
	struct lanes_site *sites; /* by instruction */
	uint32_t sites_n;
	struct lanes_block *blocks; /* as in the cfg */
	/*
	 * Iterations of each loop whenever a warp enters it: of the lanes that stay the longest, 0 = not known; whether
	 * they differ by warp. Where trips are known: after how many different turns lanes leave, 0 = not known.
	 */
	uint64_t *trips;
	uint8_t *leavings;
	bool trips_differ;
};

struct lanes_code;

/* What of the code does not depend on a launch; in the arena. NULL when memory has run out. */
struct lanes_code *lanes_code_new(const struct cfg *g, struct arena *arena);

/* Bit n: code that only calls lead to has accesses of enum lanes_kind n. They are no sites. */
uint32_t lanes_called_kinds(const struct lanes_code *c);

/*
 * Bit n: code that is reached moves bytes like accesses of enum lanes_kind n, and is no site: copies of blocks by the
 * memory's own unit, what is done once for a warp, surfaces. UINT32_MAX: there is an instruction that is not decoded, or more
 * accesses than are looked at.
 */
uint32_t lanes_unseen_kinds(const struct lanes_code *c, const struct lanes_result *r);

/* Whether one look can be for all warps at once: no warp has lanes of its own shape. */
bool lanes_can_be_any(const struct lanes_launch *l);

/* Warps of a block. */
uint32_t lanes_warps(const struct lanes_launch *l);

/* 0 and *out filled in the arena; -1 with ERR_MEMORY. */
int lanes_run(const struct lanes_code *c, const struct lanes_launch *l, const struct lanes_warp *w,
	      struct arena *arena, struct lanes_result *out, struct err *e);

#endif
