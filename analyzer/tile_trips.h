/*
 * tile_trips.h - how often a loop runs, where the code proves it: a counter that begins with an immediate,
 * grows by an immediate in every iteration and is compared with an immediate at the only way out.
 */
#ifndef KBN_TILE_TRIPS_H
#define KBN_TILE_TRIPS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cfg.h"
#include "sass_table.h"

/* More iterations than that are not counted: such a loop is no part of a tile. */
#define TILE_TRIPS_MOST 65536u

/*
 * Iterations of loop l of *g whenever it is entered, 0 = not known. `latch`: the nearest block that
 * dominates every block that jumps back to its header.
 */
uint64_t tile_trips(const struct cfg *g, uint32_t l, uint32_t latch);

/* Whether it is that operation, whatever the row of its table names behind the first dot. */
static inline bool tile_is_op(const struct sass_insn *insn, const char *op)
{
	const struct sass_row *row = insn->row;

	/* Looked up by many names, the first letter decides nearly always. */
	return row && *row->name == *op && row->base_n == strlen(op) &&
	       !memcmp(row->name, op, row->base_n);
}

#endif
