/*
 * lanes_again.h - loads from global memory of what a warp has loaded before: in another pass over the same data. Input:
 * code and launch. Output: of each such load the earlier one. How many bytes that is, and whether it matters, is left
 * to others.
 */
#ifndef KBN_LANES_AGAIN_H
#define KBN_LANES_AGAIN_H

#include "lanes.h"

struct lanes_again {
	uint32_t insn, first; /* reads what the load `first` has read */
};

/*
 * All in code order, in the arena. The code is gone through once from its beginning to its end, whatever branches say,
 * loops that hold no others twice: equal addresses in the first turn and equal steps to the next are the same data.
 * 0, or -1 with ERR_MEMORY.
 */
int lanes_again(const struct lanes_code *c, const struct lanes_launch *l, struct arena *arena,
		struct lanes_again **out, uint32_t *n, struct err *e);

#endif
