/*
 * cfg_rare.h - which code only values at the ends of the range of floats reach; for cfg.c. A comparison says so: of a
 * magnitude with a huge number, infinity, or one too small for all its bits, or FCHK, which asks that of a division.
 */
#ifndef KBN_CFG_RARE_H
#define KBN_CFG_RARE_H

#include "cfg.h"

/* Of a graph with dominators and calls fills is_rare. */
void cfg_find_rare(struct cfg *g);

#endif
