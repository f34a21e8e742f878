/*
 * stall.h - the control codes of a function: how long its instructions hold their warp up, which of these
 * stalls nothing needs, and which instruction a wait on a scoreboard waits for.
 * Input: the flow of a function (cfg.h). Numbers come from tables/latency.def; what has no row there is
 * never reducible. How often code runs, and how many warps hide its waits, is for others.
 */
#ifndef KBN_STALL_H
#define KBN_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "cfg.h"

/* ------------------------------------------------------------------------------ stalls of operations */

struct stall_op {
	const char *op; /* base mnemonic; what is not decoded is in none */
	uint32_t count;
	uint8_t minimum, median; /* of an even number the lower one */
	uint32_t reducible;      /* whose stall may be lowered, all of them at once */
	uint32_t cycles, saved;  /* their stalls in all; of these not needed */
	const char *note; /* the published reading that this fits, as `sm_86: ...`; or NULL */
};

/*
 * The least stall of instruction `at` that keeps every dependence, all others as they are; its own when
 * nothing proves that a lower one will do. Proved within one basic block, and not within STALL_EDGE cycles of
 * what is not known: the block before and behind, operations without a row, what is not decoded.
 */
#define STALL_EDGE 64u
uint8_t stall_least(const struct cfg *g, struct arena *arena, uint32_t at);

/* Whether there are rows of that architecture: without them nothing is known to be reducible. */
bool stall_has_table(int sm);

/*
 * A stall for each of the g->insns_n instructions, none above the one it has, that hold together: lowered in
 * the order of the code, each given those before it. NULL when memory has run out.
 */
uint8_t *stall_plan(const struct cfg *g, struct arena *arena);

/* By operation, the most frequent first. `plan` NULL: reducible and saved are 0. 0, or -1 without memory. */
int stall_ops(const struct cfg *g, struct arena *arena, const uint8_t *plan, struct stall_op **out,
	      uint32_t *n);

/* --------------------------------------------------------------------------------------------- waits */

/* Why a warp does not issue: what Nsight Compute calls warp states, as far as code alone shows them. */
enum stall_reason {
#define REASON(name, text) STALL_##name,
#define WAIT(...)
#define HOLD(...)
#define FIXED(...)
#define ISSUE(...)
#define KNOWN(...)
#define NOTE(...)
#include "tables/latency.def"
#undef REASON
#undef WAIT
#undef HOLD
#undef FIXED
#undef ISSUE
#undef KNOWN
#undef NOTE
	STALL_REASONS,
};

/* "long_scoreboard" */
const char *stall_reason_name(enum stall_reason reason);

/* The rows of tables/latency.def of an operation. Estimates. */
struct stall_row {
	enum stall_reason reason;
	unsigned result, read; /* cycles until its scoreboards are free, 0 = at once */
};
struct stall_row stall_wait(const struct sass_insn *insn);

/* Why and how long (`result`) it holds its warp by itself; 0 = it does not. */
struct stall_row stall_hold(int sm, const struct sass_insn *insn);

#define STALL_SETTERS 32u

/* One that a wait may wait for. */
struct stall_setter {
	uint32_t insn;
	bool is_read;      /* until its sources are read, not until its result is there */
	uint32_t distance; /* cycles of stall from it to the wait, on the shortest path */
};

/*
 * The instructions that may have set barrier 0-5 when instruction `at` waits for it, over all paths on which
 * nothing between waits for it. Their number; STALL_SETTERS + 1 when there are more than fit, 0 also when
 * memory has run out.
 */
unsigned stall_setters(const struct cfg *g, struct arena *arena, uint32_t at, unsigned barrier,
		       struct stall_setter out[STALL_SETTERS]);

/*
 * One warp alone going once through some code. `cycles` is an estimate: a wait costs what is left of the
 * latency of the operation that it waits longest for (tables/latency.def) after the stalls between.
 */
struct stall_picture {
	uint32_t insns;
	uint32_t waits[STALL_REASONS];
	double cycles[STALL_REASONS];
};

/*
 * Of the whole function, each instruction once, and of every loop with those inside it: (*loops)[i] belongs to
 * g->loops[i]. 0, or -1 when memory has run out.
 */
int stall_pictures(const struct cfg *g, struct arena *arena, struct stall_picture *function,
		   struct stall_picture **loops);

/* The reason with the most cycles but STALL_SELECTED; STALL_REASONS when there is none. */
enum stall_reason stall_top(const struct stall_picture *p);

#endif
