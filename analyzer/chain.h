/*
 * chain.h - chains of operations that each need the result of the one before, against what it takes to issue
 * the code around them: no number of independent instructions makes a warp faster than its longest chain, and
 * no chain matters where other warps fill the time.
 * Input: the flow of a function. Latencies are those of tables/arch.def and tables/latency.def, so cycles are
 * estimates; which instructions depend on which is proved. Through registers only: what memory carries from
 * one turn to the next is not seen, nor is what a branch waits for, and the result of an atomic begins a chain.
 */
#ifndef KBN_CHAIN_H
#define KBN_CHAIN_H

#include <stdint.h>

#include "cfg.h"

struct arena;

/*
 * Of a loop: of one turn, of the instructions that every turn executes, what closes around the back edge.
 * Of the code outside of loops: from the entry to the exit behind most instructions.
 * What a guard may skip counts. NaN = not known.
 */
struct chain {
	double cycles;      /* latency of the longest chain */
	double loads;       /* most loads from global memory in one chain, */
	double all_loads;   /* and in all, those of one address and sector once */
	double chain_loads; /* most in one chain within a turn, whether or not it closes */
	/*
	 * Times that a warp stands still for a load, as instructions are issued in order: a load behind the use of
	 * another one waits for that, whether or not it needs it. Of turns behind others.
	 */
	double waits;
	double issue; /* least cycles for a warp alone: its issues, or the busiest pipe of a quarter SM */
};

/*
 * (*loops)[i] is of g->loops[i]: all NaN unless that is innermost. `straight`: the code outside of loops.
 * 0, or -1 when memory has run out.
 */
int chain_read(const struct cfg *g, struct arena *arena, struct chain **loops,
	       struct chain *straight);

#endif
