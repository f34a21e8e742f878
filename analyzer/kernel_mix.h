/*
 * kernel_mix.h - what one warp executes on its way through a kernel, by the unit that does it: the whole
 * function, and one turn of its hottest loop. Input: the flow of a function and its loops. From the code alone: a
 * loop counts as often as the code proves, METRIC_ASSUMED_TRIPS times where it does not, and says so; both sides
 * of a branch count. Leaves rates, times and what to make of them to others.
 */
#ifndef KBN_KERNEL_MIX_H
#define KBN_KERNEL_MIX_H

#include "idiom_divide.h"
#include "metrics.h"
#include "tile.h"

/*
 * What a warp executes in one turn of a loop, with all turns of those within: added to *m. `divides`: of each instruction
 * (idiom_divide_read).
 */
void kernel_mix_of_turn(struct metric_mix *m, const struct cfg *g, const struct tiles *tiles,
			const struct idiom_divide *divides, uint32_t loop);

/* Fill s->whole, s->hot, s->hot_loop and s->trips_known. */
void kernel_mix_read(struct metric_sass *s, const struct cfg *g, const struct tiles *tiles,
		     const struct idiom_divide *divides);

#endif
