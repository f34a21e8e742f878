/*
 * lanes_step.h - what one instruction makes of the registers of a warp. Private to lanes*.c.
 */
#ifndef KBN_LANES_STEP_H
#define KBN_LANES_STEP_H

#include "lanes.h"
#include "lanes_code.h"

#define LANES_ALL      UINT32_MAX
#define LANES_REGS     256u
#define LANES_PREDS    8u
#define LANES_BARRIERS 16u

/* One bit a lane; the bits that are not known may still be the same in all of these lanes. */
struct lanes_pred {
	uint32_t value, known;
	uint32_t is_uniform;
	uint32_t reasons;
	uint32_t carry[2]; /* forms whose sum's carry it is, LANES_NONE = it is none */
	/* The comparison that it is: two values, LANES_NONE = it is none. */
	uint32_t compared[2];
	uint16_t relation; /* enum sass_modifier */
	uint8_t is_unsigned, is_opposite;
};

#define LANES_PLAIN .carry = {LANES_NONE, LANES_NONE}, .compared = {LANES_NONE, LANES_NONE}

/* It is what it is by its bits alone. */
static inline void lanes_plain(struct lanes_pred *p)
{
	p->carry[0] = p->carry[1] = p->compared[0] = p->compared[1] = LANES_NONE;
	p->relation = 0;
	p->is_unsigned = p->is_opposite = 0;
}

/* Which lanes are on their way together. */
struct lanes_crew {
	uint32_t lanes;
	uint32_t absent;   /* reasons why some of them may be missing, 0 = none is */
	uint32_t is_split; /* others of the warp may come by another path before all meet again */
	uint32_t is_apart; /* these may come one group after another: they parted and did not meet */
	/* Of those that a barrier waits for: which BSSY noted them, and the barriers that were open then. */
	uint32_t opened, within;
};

/* Of the lanes that one BSSY noted: who may leave before they meet, and why. */
struct lanes_gone {
	uint32_t lanes, reasons;
};

/* Of a block where lanes meet. */
struct lanes_met {
	uint32_t kept;                            /* who comes, by the walks before */
	uint32_t arrived, restored, used, opened; /* by the one that goes on */
};

/* A word of local memory, at one address of the stack that all lanes share: a register that was spilled. */
struct lanes_slot {
	uint32_t address, value; /* form; as a register's */
};

#define LANES_SLOTS 64u

struct lanes_state {
	uint32_t r[LANES_REGS], ur[LANES_REGS];
	struct lanes_pred p[LANES_PREDS], up[LANES_PREDS];
	struct lanes_crew crew;
	struct lanes_crew saved[LANES_BARRIERS]; /* at BSSY; lanes 0 = never, or they have met */
	struct lanes_slot slots[LANES_SLOTS];
	uint32_t slots_n;
};

struct lanes_run {
	struct lanes_values v;
	const struct lanes_code *c;
	const struct lanes_launch *launch;
	struct lanes_warp warp;
	uint32_t lanes; /* at the start */
	uint32_t tid[3], ctaid[3];
	uint32_t registers; /* beyond these none is used */
	uint8_t *has_made;  /* of each instruction: a symbol is its own */
	struct lanes_gone *gone;
	struct lanes_met *met; /* by block */
};

/* Registers that the code names, and one more for pairs. */
uint32_t lanes_registers(const struct cfg *g);

/* Registers of a state as one row: R, then UR. */
static inline uint32_t *lanes_cell(const struct lanes_run *run, struct lanes_state *s, unsigned i)
{
	return i < run->registers ? &s->r[i] : &s->ur[i - run->registers];
}

static inline unsigned lanes_cells(const struct lanes_run *run)
{
	return run->registers + (run->c->g->sm >= 100 ? LANES_REGS : 64);
}

/* Of lanes that are on their way; others' bits do not count. */
bool lanes_all(const struct lanes_pred *p, uint32_t lanes, bool value);

/* Where its guard lets an instruction be executed. */
struct lanes_pred lanes_guard(const struct lanes_run *run, const struct lanes_state *s,
			      const struct sass_insn *insn);
struct lanes_pred lanes_and(const struct lanes_pred *a, const struct lanes_pred *b);
struct lanes_pred lanes_not(const struct lanes_pred *a);
struct lanes_pred lanes_read_pred(const struct lanes_run *run, const struct lanes_state *s,
				  const struct lanes_arg *a);

/* Register n (of so many) of a register operand: a value of lanes_value.h. */
uint32_t lanes_read_reg(const struct lanes_state *s, uint8_t kind, uint16_t reg, unsigned n);

/* Register or word n of a source of instruction i as a value, its sign or complement done. */
uint32_t lanes_source(struct lanes_run *run, const struct lanes_state *s, const struct lanes_arg *a,
		      unsigned n, uint32_t i);
/* 64 bits of a source as a form: two registers, two words, or a number with its sign. */
uint32_t lanes_source_wide(struct lanes_run *run, const struct lanes_state *s,
			   const struct lanes_arg *a, uint32_t i);
/* Whether every input is the same in all lanes, and what is not known of them. */
bool lanes_inputs(struct lanes_run *run, const struct lanes_state *s, const struct lanes_insn *x,
		  uint32_t i, uint32_t *reasons);
/* Predicate n among the sources from one on, NULL = there are less. */
const struct lanes_arg *lanes_pred_source(const struct lanes_insn *x, unsigned from, unsigned n);

/* An instruction that writes, and where it does. */
struct lanes_writing {
	struct lanes_run *run;
	struct lanes_state *s;
	uint32_t i;
	struct lanes_pred guard;
};

/* The old value where the guard does not hold. */
uint32_t lanes_guarded(struct lanes_writing *w, uint64_t key, uint32_t old, uint32_t value);
void lanes_write_reg(struct lanes_writing *w, const struct lanes_arg *a, unsigned n,
		     uint32_t value);
void lanes_write_pred(struct lanes_writing *w, const struct lanes_arg *a, struct lanes_pred value);
/* All that it writes becomes unknown; with `shared` numbers that all lanes share. */
void lanes_write_unknown(struct lanes_writing *w, const struct lanes_insn *x, bool shared,
			 uint32_t reasons);
/* To the first of its predicates, NULL = not known; the others are not. */
void lanes_write_carry(struct lanes_writing *w, const struct lanes_insn *x,
		       const struct lanes_pred *p);
/* A sum of 32 bits, or 64 as a form; where it is none what all lanes share, if they share all inputs. */
void lanes_write_sum(struct lanes_writing *w, const struct lanes_insn *x, uint32_t value);
void lanes_write_wide(struct lanes_writing *w, const struct lanes_insn *x, uint32_t form);
const struct lanes_arg *lanes_dest_reg(const struct lanes_insn *x);

/* What instruction i makes and all lanes share: a form of one new symbol. */
uint32_t lanes_made(struct lanes_run *run, uint32_t i, uint64_t key, uint32_t reasons);
/* Instruction i is executed again: what still holds what it made before gets another name. */
void lanes_rename_made(struct lanes_run *run, struct lanes_state *s, uint32_t i);

static inline uint32_t lanes_made_key(uint8_t kind, unsigned reg)
{
	return (uint32_t)kind << 16 | reg;
}

static inline struct lanes_pred lanes_same(bool value)
{
	return (struct lanes_pred){.value = value ? LANES_ALL : 0, .known = LANES_ALL, LANES_PLAIN};
}

static inline struct lanes_pred lanes_open(bool is_uniform, uint32_t reasons)
{
	return (struct lanes_pred){.is_uniform = is_uniform, .reasons = reasons, LANES_PLAIN};
}

static inline bool lanes_is_reg(const struct lanes_arg *a)
{
	return a->kind == LANES_ARG_REG || a->kind == LANES_ARG_UREG;
}

static inline bool lanes_is_input(const struct lanes_arg *a)
{
	return lanes_is_reg(a) || a->kind == LANES_ARG_NUMBER || a->kind == LANES_ARG_BANK;
}

/* By kind of operation (lanes_arith.c). */
void lanes_step_lanewise(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_add(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_mad(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_mad_wide(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_lea(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_logic(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_alu(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_select(struct lanes_writing *w, const struct lanes_insn *x,
		       const struct lanes_pred *take);
void lanes_step_minmax(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_compare(struct lanes_writing *w, const struct lanes_insn *x);
void lanes_step_plop(struct lanes_writing *w, const struct lanes_insn *x);

/* Executes instruction i; branches go nowhere. */
void lanes_step(struct lanes_run *run, struct lanes_state *s, uint32_t i);

/* BSSY, BREAK, BSYNC (lanes_barrier.c). */
bool lanes_barriers_init(struct lanes_run *run, struct arena *arena);
void lanes_step_barrier(struct lanes_run *run, struct lanes_state *s, uint32_t i);
/* Lanes that leave the kernel, or may; is_whole = the crew decides as one. */
void lanes_exit(struct lanes_run *run, const struct lanes_state *s, uint32_t lanes, bool is_whole,
		uint32_t reasons);
uint32_t lanes_opened_by_both(uint32_t a, uint32_t b);
/* After a walk: another one would know better who comes where lanes meet, or has to. */
bool lanes_barriers_changed(struct lanes_run *run, bool may_shrink);

bool lanes_has_origin(const struct lanes_run *run, const struct lanes_pred *p,
		      bool (*is_such)(const struct lanes_symbol *s, const void *ctx),
		      const void *ctx);

/* Where two values meet: of `take` the lanes of b, else of a. Unknown where that is no value. */
uint32_t lanes_select(struct lanes_values *v, uint32_t a, uint32_t b, uint32_t take);

void lanes_start(struct lanes_run *run, struct lanes_state *s);

/* Operations on known lanes and sums (lanes_alu.c). */
uint32_t lanes_logic(struct lanes_values *v, const uint32_t in[3], unsigned table);
uint32_t lanes_shift_down(struct lanes_values *v, uint32_t value, unsigned n, bool is_signed);
struct lanes_pred lanes_compare(struct lanes_values *v, uint32_t a, uint32_t b,
				enum sass_modifier relation, bool is_unsigned);
struct lanes_pred lanes_logic_pred(const struct lanes_pred in[3], unsigned table);
uint32_t lanes_add_values(struct lanes_values *v, const uint32_t *in, unsigned n);
bool lanes_alu(struct lanes_values *v, const struct lanes_insn *x, const uint32_t in[LANES_SOURCES],
	       uint32_t *out);
uint32_t lanes_shuffle(struct lanes_values *v, const struct lanes_insn *x, uint32_t data,
		       uint32_t by, uint32_t clamp);

/* Drops the slots of which the callback says so, by what their address and their value are made of. */
void lanes_drop_slots(struct lanes_run *run, struct lanes_state *s,
		      bool (*is_such)(const struct lanes_symbol *s, const void *ctx),
		      const void *ctx);

/* The sum of the terms of address `which` of an access; LANES_NONE = not known, and why. */
uint32_t lanes_address(struct lanes_run *run, const struct lanes_state *s,
		       const struct lanes_access *a, unsigned which, bool is_64, uint32_t *reasons);

/* Fills the figures of a site from the bytes' addresses (lanes_site.c). */
void lanes_measure(struct lanes_run *run, const struct lanes_state *s, const struct lanes_access *a,
		   bool is_second, struct lanes_site *out);

#endif
