/*
 * stall_sim.h - many warps on the way of one (stall_path.h): a quarter of an SM, cycle by cycle, until its
 * blocks are through or enough was seen. One warp issues in a cycle; the others wait for what their control
 * codes say, for a pipe, a queue, the memory or one another. An estimate: caches are a latency and a rate.
 */
#ifndef KBN_STALL_SIM_H
#define KBN_STALL_SIM_H

#include "stall_path.h"

/* What one scheduler sees. */
struct stall_sm {
	unsigned warps;         /* that it holds at once */
	unsigned block_warps;   /* of these that belong to one block */
	unsigned schedulers;    /* of the SM that have warps at all */
	uint64_t blocks;        /* that it gets in all, parts of blocks */
	double bytes_per_cycle; /* its share of what is behind the L1 */
	unsigned latency;       /* of that, cycles */
	double shared_by; /* so many times what is copied for products serves: other groups, other blocks */
	bool is_local_in_l1; /* the local memory of all warps fits there */
	const float *
		spread; /* of each step: sectors or wavefronts, of those of lanes side by side; NULL = 1 */
};

/* Warp-cycles by reason; STALL_SELECTED are those that issued. Weighted as the steps are. */
struct stall_shares {
	double cycles[2][STALL_REASONS]; /* [1]: at steps that are guessed, struct stall_step */
	uint64_t issued;
	double work; /* the same weighted: of all that the way is times the warps of its blocks */
	uint32_t elapsed;              /* cycles */
	double pipe_busy[STALL_PIPES]; /* cycles, not weighted */
};

/* False: nothing to run, or memory has run out. */
bool stall_sim(const struct stall_path *path, const struct stall_sm *sm, struct arena *scratch,
	       struct stall_shares *out);

#endif
