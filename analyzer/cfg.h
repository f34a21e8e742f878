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
#include "sass_modifier.h"

struct arena;

#define CFG_NONE UINT32_MAX

/* What an instruction does to the order of execution, where its guard lets it. */
enum cfg_flow {
	CFG_NEXT,
	CFG_BRANCH,   /* to its target */
	CFG_INDIRECT, /* to one of a list, or nobody knows where */
	CFG_CALL,     /* and comes back */
	CFG_RETURN,
	CFG_EXIT,
};

struct cfg_block {
	uint32_t first, end; /* instructions [first, end) */
	/* Blocks, in cfg.edges from here on. Successors: the branch's targets, then the next block. */
	uint32_t successors, successors_n, predecessors, predecessors_n;
	uint32_t idom; /* immediate dominator; CFG_NONE of an entry and of what is not reachable */
	/* Numbers in the tree of dominators: its own, its last descendant's; for cfg_dominates. */
	uint32_t tree_first, tree_last;
	uint32_t loop; /* innermost, CFG_NONE = none */
	bool is_entry; /* the function's own, or the target of a call within */
	bool is_reachable;
	bool is_rare; /* only values at the ends of the range of floats come here: see cfg_rare.h */
};

struct cfg_loop {
	uint32_t header;            /* block */
	uint32_t parent;            /* loop around it, CFG_NONE = none */
	uint32_t depth;             /* 1 = outermost */
	uint32_t blocks_n, insns_n; /* with those of the loops within */
	uint32_t first, last;       /* instructions: the lowest, and the highest that jumps back */
	bool is_innermost;          /* holds no loop, or only such as the next line says */
	/* The compiler's: until lanes agree, or a group of lanes at a time; or is_reduction. No source has it. */
	bool is_for_lanes;
	bool is_reduction; /* of large arguments, in sine and cosine: hardly ever entered */
};

struct cfg_call {
	uint32_t insn;
	int64_t target; /* offset from this function's start, perhaps in another one; -1 = not known */
};

struct cfg {
	int sm;
	const struct sass_insn *insns;          /* instruction i at offset i * SASS_BYTES */
	const struct sass_modifiers *modifiers; /* of each */
	uint32_t insns_n, undecoded;
	struct cfg_block *blocks; /* in the order of the code; the first is the function's entry */
	uint32_t blocks_n;
	uint32_t *edges;
	struct cfg_loop
		*loops; /* by header from the end of the code's order on: inner before outer */
	uint32_t loops_n;
	struct cfg_call *calls;
	uint32_t calls_n;
	uint32_t *block_of;  /* of each instruction */
	bool is_complete;    /* every branch is known to lead into the code */
	bool is_irreducible; /* a cycle that is no natural loop */
};

/*
 * Decodes function f of architecture sm (90 = sm_90) and finds its flow. Of *f are used `code`, `branches`
 * (where the indirect ones lead) and `parts` (what may be called within). Instructions that are not decoded
 * go on to the next one, and are counted. 0, or -1 with ERR_VERSION (architecture), ERR_TRUNCATED (bytes
 * behind the last whole instruction), ERR_LIMIT or ERR_MEMORY.
 */
int cfg_build(struct cfg *g, struct arena *arena, int sm, const struct cubin_function *f,
	      struct err *e);

/*
 * By the operation alone; CFG_NEXT also when the opcode is not known. That a call within the function is a
 * jump shows only in the edges.
 */
enum cfg_flow cfg_flow(const struct sass_insn *insn);

/*
 * A branch, call, return or exit that may also go on to the next instruction: by its guard, the predicate
 * among its operands or a mask of lanes. Of other instructions true whenever a predicate other than PT has
 * part in them, written ones too.
 */
bool cfg_is_conditional(const struct sass_insn *insn);

/* Byte offset where a branch or call leads, -1 = it does not say, or says an address (JMP, CALL.ABS). */
int64_t cfg_target(const struct sass_insn *insn);

/* Whether block a dominates block b, both reachable. */
bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b);

/* Whether the target of a call lies in the code. */
bool cfg_is_within(const struct cfg *g, int64_t target);

/* Whether only calls lead to a block. */
bool cfg_is_called(const struct cfg *g, uint32_t block);

/* Whether a block belongs to a loop, or to a loop within it. */
bool cfg_in_loop(const struct cfg *g, uint32_t block, uint32_t loop);

/* Whether every turn of a loop passes a block of it: it dominates all that jump back. */
bool cfg_in_every_turn(const struct cfg *g, uint32_t block, uint32_t loop);

#endif
