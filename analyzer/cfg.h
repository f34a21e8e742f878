/*
 * cfg.h - control flow of one function: basic blocks, edges, dominators, natural loops, calls.
 *
 * Indices, not pointers; offsets are bytes from the function's start. Everything lives in an arena.
 */
#ifndef KBN_CFG_H
#define KBN_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "cubin.h"
#include "err.h"
#include "sass.h"

struct arena;

#define CFG_NONE UINT32_MAX

enum cfg_flow { /* what an instruction does to the order of execution */
		CFG_NEXT,
		CFG_BRANCH,   /* to its target */
		CFG_INDIRECT, /* to one of a list, or nobody knows where */
		CFG_CALL,     /* and comes back */
		CFG_RETURN,
		CFG_EXIT,
};

struct cfg_block {
	uint32_t first, end; /* instructions [first, end) */
	uint32_t successors, successors_n, predecessors, predecessors_n; /* in cfg.edges */
	uint32_t idom; /* immediate dominator; CFG_NONE of an entry and of what is not reachable */
	uint32_t tree_first,
		tree_last; /* numbers in the tree of dominators: its own, its last descendant's */
	uint32_t loop;     /* innermost, CFG_NONE = none */
	bool is_entry;     /* the function's own, or the target of a call within */
	bool is_reachable;
};

struct cfg_loop {
	uint32_t header; /* block */
	uint32_t parent; /* loop around it, CFG_NONE = none */
	uint32_t depth;  /* 1 = outermost */
	uint32_t blocks_n;
	uint32_t first, last; /* instructions: the lowest, and the highest that jumps back */
	bool is_innermost;
};

struct cfg_call {
	uint32_t insn;
	int64_t target; /* offset, -1 = not known */
};

struct cfg {
	int sm;
	const struct sass_insn *insns;
	uint32_t insns_n, undecoded;
	struct cfg_block *blocks;
	uint32_t blocks_n;
	uint32_t *edges;
	struct cfg_loop *loops; /* by header, outer before inner */
	uint32_t loops_n;
	struct cfg_call *calls;
	uint32_t calls_n;
	uint32_t *block_of;  /* of each instruction */
	bool is_complete;    /* every branch is known to lead into the code */
	bool is_irreducible; /* a cycle that is no natural loop */
};

/*
 * Decodes `code` and finds its flow; `branches` are the indirect ones as the cubin lists them. Bytes
 * behind the last whole instruction are an error; instructions that are not decoded go on to the next
 * one, and are counted.
 */
int cfg_build(struct cfg *g, struct arena *arena, int sm, struct buf code,
	      const struct cubin_branch *branches, size_t branches_n, struct err *e);

enum cfg_flow cfg_flow(const struct sass_insn *insn);

/* The instruction may also not do what it does: a guard, or another condition. */
bool cfg_is_conditional(const struct sass_insn *insn);

/* Where a branch or call leads, -1 = it does not say. */
int64_t cfg_target(const struct sass_insn *insn);

/* Whether block a dominates block b, both reachable. */
bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b);

/* Whether a block belongs to a loop, or to a loop within it. */
bool cfg_in_loop(const struct cfg *g, uint32_t block, uint32_t loop);

#endif
