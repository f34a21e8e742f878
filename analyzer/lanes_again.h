/*
 * lanes_again.h - loads from global memory of what a warp has loaded before: in another pass over the same data, or by
 * another lane, as neighbours of a point are. Input: code and launch. Output: of each load of another pass the earlier
 * one; of neighbours how many words are asked for, and how many there are. Whether it matters is left to others.
 */
#ifndef KBN_LANES_AGAIN_H
#define KBN_LANES_AGAIN_H

#include "lanes.h"

struct lanes_again {
	uint32_t insn, first; /* reads what the load `first` has read */
	/* CFG_NONE; else `first` is the load itself, and this the loop around its own in each turn of which it does. */
	uint32_t loop;
};

/*
 * All in code order, in the arena. The code is gone through once from its beginning to its end, whatever branches say,
 * loops twice: equal addresses in the first turn and equal steps to the next are the same data.
 * 0, or -1 with ERR_MEMORY.
 */
int lanes_again(const struct lanes_code *c, const struct lanes_launch *l, struct arena *arena,
		struct lanes_again **out, uint32_t *n, struct err *e);

/* Which memory is looked at. */
enum lanes_again_of { LANES_OF_GLOBAL, LANES_OF_SHARED };

/* Loads of one loop, or of no loop, that ask for words which other lanes or turns ask for as well; all 0 = none. */
struct lanes_overlap {
	uint32_t loads, first; /* so many instructions; the first of them */
	uint32_t loop;         /* CFG_NONE = in none */
	/* Words of four bytes of one warp: each once for a request, and each once at all. Of a loop in some turns. */
	uint32_t asked, different;
	uint64_t blocks; /* that ask for the same words, itself among them: a number of theirs is in no address. Of global memory */
};

/* Where most is asked for more than once, in one warp of a block amid the grid. 0, or -1 with ERR_MEMORY. */
int lanes_overlap(const struct lanes_code *c, const struct lanes_launch *l, enum lanes_again_of of,
		  struct lanes_overlap *out, struct err *e);

#endif
