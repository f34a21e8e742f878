/*
 * load_unit.h - how long the load/store unit of an SM is busy: a cycle for each wavefront of shared memory, and for each
 * request to global memory at least one, more where it moves more bytes than the L1 gives in a cycle. Input: the sites
 * of a kernel. Output: cycles of one warp. Leaves to others what those cycles are hidden under.
 */
#ifndef KBN_LOAD_UNIT_H
#define KBN_LOAD_UNIT_H

#include "arch.h"
#include "metrics.h"

struct load_unit {
	/* Of one turn of the hottest loop: of requests to shared memory, to global memory; 0 = none is known. */
	double shared, global;
	/* Of all warps and all that they execute; NaN = how often is not known of all. */
	double launch, launch_hot; /* launch_hot: in the hottest loop */
};

void load_unit_read(const struct metric_access *a, const struct metric_sass *sass,
		    const struct arch *hw, struct load_unit *out);

/*
 * Cycles of one request of a site: wavefronts, or sectors at the rate of the L1, but for those in excess, which are a
 * matter of their own. Where that is not known one.
 */
double load_unit_cycles(const struct metric_site *s, const struct arch *hw);

#endif
