/*
 * stall_path.h - the way of one warp through a kernel, written down for models of many warps: one step for
 * each instruction issued, with what it occupies, sets and waits for.
 * Input: a function's flow. Which way a branch goes is in registers: the way taken is a guess of the usual
 * one (loops turn as often as is proved, else STALL_TURNS times; the code goes on rather than jumping to a
 * rare case), and whoever uses it says so.
 */
#ifndef KBN_STALL_PATH_H
#define KBN_STALL_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "cfg.h"
#include "stall.h"

struct arena;

struct arch;

enum stall_pipe {
#define PIPE(name, rate) STALL_PIPE_##name,
#define UNIT(...)
#include "tables/pipe.def"
#undef PIPE
#undef UNIT
	STALL_PIPES,
};

#define STALL_TURNS  16u   /* of a loop nobody knows about */
#define STALL_STEPS  2048u /* longer ways are cut off: by then most of them turn in a loop */
#define STALL_NO_BAR 7u    /* no scoreboard */

/* Products that a warp group only starts: WARPGROUP waits for them. */
enum stall_group { STALL_NO_GROUP, STALL_STARTS, STALL_WAITS_ALL, STALL_WAITS_EARLIER };

enum stall_access { STALL_NO_ACCESS, STALL_LOADS, STALL_STORES };

struct stall_step {
	uint32_t insn;   /* in the function */
	float weight;    /* how often it stands for such a step: turns that were left out */
	uint16_t cycles; /* that its pipe is busy with it, of a scheduler's share */
	uint16_t result,
		read; /* cycles until its scoreboards are free; of global memory: with a hit in the L1 */
	uint16_t hold;                     /* it holds its warp so long */
	uint8_t pipe, reason, hold_reason; /* enum stall_pipe, stall_reason */
	uint8_t stall, write_barrier, read_barrier;
	uint8_t waits;               /* mask of scoreboards */
	uint8_t pending_of, pending; /* and of one until no more than so many are under way */
	uint8_t access;              /* enum stall_access, of GLOBAL and SHARED */
	uint8_t bytes;               /* of a thread; 0 = not told */
	uint8_t group;               /* enum stall_group */
	uint16_t streamed; /* bytes from shared memory that such a product needs, a warp's share */
	bool is_mbarrier;  /* tests a barrier that tells of data */
	bool is_atomic;    /* with a result */
	bool is_local;     /* memory of the thread's own */
	bool is_again;     /* touches what the warp has touched just before: in the L1 */
	bool is_block_wide, is_exit;
	bool is_guessed; /* in a loop that turns nobody knows how often: STALL_TURNS of them */
};

struct stall_path {
	const struct stall_step *steps;
	uint32_t n;
	bool is_whole;      /* it ends at an EXIT */
	bool has_guess;     /* a loop on it turns nobody knows how often, or a branch was guessed */
	bool has_calls_out; /* code elsewhere is left out */
	/* From and to global memory, of a warp whose lanes go side by side, weighted; [1]: of guessed steps. */
	double bytes[2];
};

/*
 * The pipe of a scheduler that does an operation at a rate of its own, FMA to XU, and the cycles that a warp's keeps it
 * busy; STALL_PIPE_NONE of others.
 */
enum stall_pipe stall_pipe_of(const struct arch *a, const struct sass_insn *insn, double *cycles);
/* "FMA" */
const char *stall_pipe_name(enum stall_pipe pipe);

/* The way from the function's entry on. NULL when memory has run out, or the architecture is not known. */
const struct stall_path *stall_path_read(const struct cfg *g, struct arena *scratch,
					 struct arena *arena);

#endif
