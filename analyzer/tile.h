/*
 * tile.h - loops of a kernel: how much one run through the body computes, and how much it loads from global
 * memory. Their ratio says whether asynchronous copies can help. From the code alone, so how often a loop
 * runs is not known here.
 */
#ifndef KBN_TILE_H
#define KBN_TILE_H

#include "cfg.h"
#include "metrics.h"

struct arena;

/*
 * The loops of g in order of their first instruction, in the arena; those that the compiler makes for single
 * lanes are a part of the loop around them. A loop's figures are of its own instructions, without the loops
 * within. NULL when memory has run out; *n is their number.
 *
 * ratio_raw: matrix products, or multiply-adds where there are none, to loads from global memory, by
 * instruction. ratio: the same by size, (operations of matrix products per warp / 4096, or multiply-adds) to
 * (bytes loaded per warp / 512), so that an HMMA.16816 and a load of 16 bytes by each lane count one each. NaN
 * with the reason in `why`: no global loads (then there is nothing to say), a size that only a register
 * knows, a load that may be of another memory, code that is not decoded.
 *
 * class: ratio above 20 "high", from 5 to 20 "medium", below 5 "low"; NULL without a ratio. With it goes what
 * asynchronous copies would do, "detrimental", "neutral", "beneficial"; "in use" when the loop has them. The
 * bounds were published for sm_86 from two kernels (64 HMMA a tile: -5 %; 8 IMMA a tile: +35 %).
 */
const struct metric_loop *tile_loops(const struct cfg *g, struct arena *arena, size_t *n);

#endif
