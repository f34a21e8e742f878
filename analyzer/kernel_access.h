/*
 * kernel_access.h - what the lanes of a kernel's warps do together, as the metrics of a report: sectors, wavefronts,
 * atomics, divergence, by instruction and in all. Input: code, geometry and parameter bytes of a launch. Output:
 * plain data in an arena. One look is at all warps at once; where that leaves something open, at some of them.
 */
#ifndef KBN_KERNEL_ACCESS_H
#define KBN_KERNEL_ACCESS_H

#include "cubin.h"
#include "err.h"
#include "line_table.h"
#include "metrics.h"

struct arena;
struct kernel_view;

struct kernel_access_launch {
	const struct cubin *cubin;
	const struct cubin_function *function;
	const struct kernel_view *view; /* of this function */
	const struct line_table *lines; /* NULL = no source lines */
	uint32_t grid[3], block[3], cluster[3];
	/* The parameter block and which of its bits are known; NULL = none. */
	const uint8_t *params, *known;
	uint32_t params_n;
	/* So many instructions may still be interpreted of single warps, NULL = any number. Counted down. */
	uint64_t *steps;
	unsigned steps_share;  /* of these, one part in so many for this kernel at most; 0 = all */
	uint64_t *again_steps; /* the same of looking for what is loaded again */
};

/* NULL with the reason in *e: memory has run out. */
const struct metric_access *kernel_access_read(const struct kernel_access_launch *l,
					       struct arena *arena, struct err *e);

#endif
