/*
 * access_cost.h - what sectors in excess cost, and which memory pays: the L2 and DRAM for what nobody uses, the L1 alone
 * for what neighbours use. Input: the sites of a kernel, what its code executes. Output: sectors of an average request.
 */
#ifndef KBN_ACCESS_COST_H
#define KBN_ACCESS_COST_H

#include <stdbool.h>

#include "arch.h"
#include "metrics.h"

#define ACCESS_SECTOR_BYTES 32.0
#define ACCESS_WORD_SECTORS 4.0  /* of a warp whose lanes access neighbouring words */
#define ACCESS_MOST_SECTORS 32.0 /* of a warp whose lanes have nothing in common */

/* The least excess worth a word: of all, and of the worst site. */
#define ACCESS_EXCESS_LEAST       0.2
#define ACCESS_EXCESS_LEAST_WORST 1.0

/*
 * Sectors of an average load or store of global memory. Weighed by requests where all are known; else the hottest loop
 * counts, and in it all alike; else all alike. An access whose lanes nobody knows has no excess, so that what is known
 * of a few is not taken for all, and takes few sectors (`total`) or many (`total_most`).
 */
struct access_cost {
	double total, total_most;
	double excess; /* of a request more than its bytes need */
	double wasted; /* of these, those that no neighbour uses */
	/*
	 * Cycles of the L1 for it, for its bytes without gaps, and in requests that are as wide as can be: it looks up
	 * a line of 128 bytes a cycle, and gives so many bytes. On an H200 kernels of 16 and 32 lines a request take
	 * 97 and 99% of their time for that.
	 */
	double l1, l1_ideal, l1_least;
	double stored;                   /* of `wasted`, by stores */
	double partly;                   /* sectors that stores write with gaps nobody fills */
	double requests;                 /* of the launch, 0 = not known */
	const struct metric_site *worst; /* has most excess; NULL = of none are the lanes known */
	const struct metric_site *wasteful; /* has most that nobody uses */
};

/* Either may be NULL. */
void access_cost_read(const struct metric_access *a, const struct metric_sass *sass,
		      const struct arch *hw, struct access_cost *out);

/* What nobody uses is worth a word. */
bool access_cost_wastes(const struct access_cost *c);

/*
 * Excess that neighbours use is: the L1 gives it more than once, and that takes at least twice as long as issuing the
 * code, or fetching from the L2 what is fetched once. False where that cannot be said.
 */
bool access_cost_is_l1(const struct access_cost *c, const struct metric_sass *sass,
		       const struct arch_device *hw);

#endif
