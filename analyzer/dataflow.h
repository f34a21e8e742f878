/*
 * dataflow.h - which registers an instruction reads and writes, where a value comes from, and what is
 * live. Register counts are those of the rows of tables/sass.def (#2, #4). Registers only: memory and
 * barriers are not followed.
 */
#ifndef KBN_DATAFLOW_H
#define KBN_DATAFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "cfg.h"
#include "sass.h"

/* Bit n = register n, 64 in each word. RZ, URZ, PT and UPT are in no set. */
struct regset {
	uint64_t r[4], ur[4];
	uint8_t p, up;
};

struct effects {
	struct regset reads, writes;
	bool is_certain; /* false: not decoded, so it may read and write anything */
};

/*
 * What an instruction reads, its guard included, and what it writes where the guard lets it: whether an
 * old value can outlive the write is for the caller to see (insn->guard). Terms of an address are reads.
 * P2R reads and R2P writes the predicates that the mask names; with a mask in a register all are read and
 * none is written for certain.
 */
void dataflow_effects(const struct sass_insn *insn, struct effects *out);

bool regset_meets(const struct regset *a, const struct regset *b); /* share a register */
void regset_add(struct regset *a, const struct regset *b);
void regset_remove(struct regset *a, const struct regset *b);
unsigned regset_registers(const struct regset *s); /* how many R */

/* One number for each register: R, then UR, P, UP. */
#define REGSET_UR      256u
#define REGSET_P       512u
#define REGSET_UP      520u
#define REGSET_NUMBERS 528u

/* The numbers of those in the set, ascending; how many. */
unsigned regset_list(const struct regset *s, uint16_t out[REGSET_NUMBERS]);

/*
 * Live registers in front of every instruction: live[i] for g->insns_n, in the arena. NULL when memory has
 * run out. What is not decoded writes nothing for certain. A call writes nothing for certain either: what
 * is live behind it is so in front of it, with what its target reads when that is in this code; a return
 * leads behind all such calls. What calls and returns that lead elsewhere read, nobody states.
 */
const struct regset *dataflow_live(const struct cfg *g, struct arena *arena);

#define DATAFLOW_DEFS 64u

/*
 * The instructions whose write of one of `what` may be the value that instruction `at` finds, in no
 * order; one that is not decoded is among them. Entry of the function = CFG_NONE. Their number,
 * DATAFLOW_DEFS + 1 when there are more than fit; 0 also when memory has run out or `at` is no instruction.
 */
unsigned dataflow_defs(const struct cfg *g, struct arena *arena, uint32_t at,
		       const struct regset *what, uint32_t out[DATAFLOW_DEFS]);

#endif
