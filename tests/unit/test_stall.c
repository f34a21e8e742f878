/*
 * test_stall.c - stalls by operation, waits and who set their scoreboards, on small programs of sm_86 and
 * sm_90 written by hand: words as in tests/golden/sass, registers and control codes put in.
 */
#include "kbn_test.h"

#include "arena.h"
#include "cubin.h"
#include "dataflow.h"
#include "sass_table.h"
#include "stall.h"

#define ROOM 96
#define NONE 7u

struct program {
	uint8_t code[ROOM * SASS_BYTES];
	uint32_t n;
	struct arena *arena;
	struct cfg g;
};

/* Stall, write and read barrier, mask of waits. */
struct code {
	unsigned stall, write, read, wait;
};

static struct code stall(unsigned cycles)
{
	return (struct code){cycles, NONE, NONE, 0};
}

static void add(struct program *p, uint64_t hi, uint64_t lo, struct code c)
{
	struct sass_word w = {lo, hi};

	sass_set_bits(&w, 105, 4, c.stall);
	sass_set_bits(&w, 109, 1, c.stall < 12);
	sass_set_bits(&w, 110, 3, c.write);
	sass_set_bits(&w, 113, 3, c.read);
	sass_set_bits(&w, 116, 6, c.wait);
	memcpy(p->code + p->n * SASS_BYTES, &w.lo, 8);
	memcpy(p->code + p->n++ * SASS_BYTES + 8, &w.hi, 8);
	assert_in_range(p->n, 1, ROOM);
}

/* FFMA Rd, Ra, Rb, Rc; d, a, b, c at bits 16, 24, 32, 64 */
static void ffma(struct program *p, uint64_t d, uint64_t a, uint64_t b, uint64_t c,
		 struct code code)
{
	add(p, c, 0x7223 | d << 16 | a << 24 | b << 32, code);
}

/* LDG.E Rd, [Ra] */
static void ldg(struct program *p, uint64_t d, uint64_t a, struct code code)
{
	add(p, UINT64_C(0x00000000001e0900), 0x7381 | d << 16 | a << 24, code);
}

/* LDS Rd, [Ra] */
static void lds(struct program *p, uint64_t d, uint64_t a, struct code code)
{
	add(p, UINT64_C(0x0000000000000800), 0x7984 | d << 16 | a << 24, code);
}

/* MUFU.RCP Rd, Rb */
static void mufu(struct program *p, uint64_t d, uint64_t b, struct code code)
{
	add(p, UINT64_C(0x0000000000001000), 0x7308 | d << 16 | b << 32, code);
}

/* BRA, under P0 */
static void branch(struct program *p, uint32_t to, struct code code)
{
	const int64_t d = ((int64_t)to - (int64_t)p->n - 1) * SASS_BYTES / 4;
	const uint64_t v = (uint64_t)d & UINT64_C(0xffffffffffff);

	add(p, UINT64_C(0x0000000003800000) | v >> 30, 0x0947 | v << 34, code);
}

static void leave(struct program *p)
{
	add(p, UINT64_C(0x0000000003800000), 0x794d, stall(5));
}

static void build(struct program *p, int sm)
{
	struct cubin_function f = {0};
	struct err e = {0};

	p->arena = arena_new();
	assert_non_null(p->arena);
	f.code = buf_of(p->code, p->n * SASS_BYTES);
	assert_int_equal(cfg_build(&p->g, p->arena, sm, &f, &e), 0);
}

/* ------------------------------------------------------------------------------------- operations */

static void counts(void **state)
{
	struct program p = {.n = 0};
	struct stall_op *ops;
	uint8_t plan[ROOM] = {0};
	uint32_t n;

	(void)state;
	ffma(&p, 1, 2, 3, 4, stall(1));
	ffma(&p, 5, 2, 3, 4, stall(4));
	ffma(&p, 6, 2, 3, 4, stall(4));
	ffma(&p, 7, 2, 3, 4, stall(9));
	ffma(&p, 8, 2, 3, 4, stall(4));
	mufu(&p, 9, 1, stall(2));
	mufu(&p, 9, 1, stall(8));
	leave(&p);
	build(&p, 86);
	for (uint32_t i = 0; i < p.n; i++)
		plan[i] = p.g.insns[i].control.stall;
	plan[1] = 1;
	plan[3] = 7;
	assert_int_equal(stall_ops(&p.g, p.arena, plan, &ops, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(ops[0].op, "FFMA");
	assert_int_equal(ops[0].count, 5);
	assert_int_equal(ops[0].minimum, 1);
	assert_int_equal(ops[0].median, 4);
	assert_int_equal(ops[0].cycles, 22);
	assert_int_equal(ops[0].reducible, 2);
	assert_int_equal(ops[0].saved, 5);
	assert_non_null(strstr(ops[0].note, "sm_86: FFMA at S04"));
	assert_string_equal(ops[1].op, "MUFU");
	assert_int_equal(ops[1].minimum, 2);
	assert_int_equal(ops[1].median, 2); /* of two the lower one */
	assert_null(ops[1].note);
	assert_int_equal(stall_ops(&p.g, p.arena, NULL, &ops, &n), 0);
	assert_int_equal(ops[0].reducible, 0);
	arena_free(p.arena);
}

/* What was published for one architecture is said of no other. */
static void note_of_another(void **state)
{
	struct program p = {.n = 0};
	struct stall_op *ops;
	uint32_t n;

	(void)state;
	ffma(&p, 1, 2, 3, 4, stall(4));
	leave(&p);
	build(&p, 89);
	assert_int_equal(stall_ops(&p.g, p.arena, NULL, &ops, &n), 0);
	assert_null(ops[0].note);
	arena_free(p.arena);
}

/* ------------------------------------------------------------------------------------------- waits */

static const struct stall_setter *setter(const struct stall_setter *s, unsigned n, uint32_t insn)
{
	for (unsigned i = 0; i < n; i++)
		if (s[i].insn == insn)
			return &s[i];
	return NULL;
}

/* Both loads of one barrier; what was waited for before and other barriers are not among them. */
static void who_set(void **state)
{
	struct program p = {.n = 0};
	struct stall_setter s[STALL_SETTERS];
	unsigned n;

	(void)state;
	ldg(&p, 1, 10, (struct code){2, 0, NONE, 0});           /* 0 */
	ffma(&p, 20, 1, 1, 1, (struct code){4, NONE, NONE, 1}); /* 1: waits */
	ldg(&p, 2, 10, (struct code){2, 0, NONE, 0});           /* 2 */
	lds(&p, 3, 14, (struct code){3, 1, NONE, 0});           /* 3 */
	ldg(&p, 4, 10, (struct code){1, 2, 0, 0});              /* 4: its sources */
	ffma(&p, 21, 2, 4, 4, (struct code){4, NONE, NONE, 1}); /* 5: waits */
	leave(&p);
	build(&p, 86);
	n = stall_setters(&p.g, p.arena, 5, 0, s);
	assert_int_equal(n, 2);
	assert_non_null(setter(s, n, 2));
	assert_false(setter(s, n, 2)->is_read);
	assert_int_equal(setter(s, n, 2)->distance, 6);
	assert_true(setter(s, n, 4)->is_read);
	assert_int_equal(setter(s, n, 4)->distance, 1);
	assert_int_equal(stall_setters(&p.g, p.arena, 5, 3, s), 0);
	assert_int_equal(stall_setters(&p.g, p.arena, 99, 0, s), 0);
	assert_int_equal(stall_setters(&p.g, p.arena, 5, 6, s), 0);
	arena_free(p.arena);
}

/* Around a loop: the load of the turn before, and the one in front of the loop. */
static void who_set_around(void **state)
{
	struct program p = {.n = 0};
	struct stall_setter s[STALL_SETTERS];
	struct stall_picture all, *loops;
	unsigned n;

	(void)state;
	ldg(&p, 1, 10, (struct code){2, 0, NONE, 0});            /* 0 */
	ffma(&p, 20, 1, 1, 20, (struct code){4, NONE, NONE, 1}); /* 1 */
	ldg(&p, 1, 10, (struct code){2, 0, NONE, 0});            /* 2 */
	branch(&p, 1, stall(5));                                 /* 3 */
	leave(&p);
	build(&p, 86);
	n = stall_setters(&p.g, p.arena, 1, 0, s);
	assert_int_equal(n, 2);
	assert_int_equal(setter(s, n, 0)->distance, 2);
	assert_int_equal(setter(s, n, 2)->distance, 7);
	assert_int_equal(stall_pictures(&p.g, p.arena, &all, &loops), 0);
	assert_int_equal(p.g.loops_n, 1);
	assert_int_equal(loops[0].insns, 3);
	assert_int_equal(loops[0].waits[STALL_LONG], 1);
	assert_int_equal(loops[0].waits[STALL_BRANCH], 1);
	assert_int_equal(loops[0].cycles[STALL_SELECTED], 3);
	assert_int_equal(loops[0].cycles[STALL_FIXED_WAIT], 3 + 1 + 4);
	assert_true(loops[0].cycles[STALL_LONG] > 100);
	assert_int_equal(stall_top(&loops[0]), STALL_LONG);
	assert_string_equal(stall_reason_name(stall_top(&loops[0])), "long_scoreboard");
	assert_int_equal(all.insns, 5);
	arena_free(p.arena);
}

/* A wait that stands behind enough other work costs nothing, and is counted all the same. */
static void hidden_wait(void **state)
{
	struct program p = {.n = 0};
	struct stall_picture all, *loops;

	(void)state;
	mufu(&p, 1, 2, (struct code){1, 0, NONE, 0});
	for (unsigned i = 0; i < 6; i++)
		ffma(&p, 20 + i, 2, 2, 2, stall(4));
	ffma(&p, 30, 1, 2, 2, (struct code){4, NONE, NONE, 1});
	lds(&p, 3, 14, (struct code){1, 1, NONE, 0});
	ffma(&p, 31, 3, 2, 2, (struct code){4, NONE, NONE, 2});
	leave(&p);
	build(&p, 86);
	assert_int_equal(stall_pictures(&p.g, p.arena, &all, &loops), 0);
	assert_int_equal(all.waits[STALL_SHORT], 2);
	assert_int_equal(all.cycles[STALL_SHORT], 29 - 1); /* of LDS alone */
	assert_int_equal(stall_top(&all), STALL_FIXED_WAIT);
	arena_free(p.arena);
}

static void no_waits(void **state)
{
	struct stall_picture none = {.insns = 0};

	(void)state;
	none.cycles[STALL_SELECTED] = 9;
	assert_int_equal(stall_top(&none), STALL_REASONS);
	assert_string_equal(stall_reason_name(STALL_REASONS), "none");
}

/* ------------------------------------------------------------------------------------------- slack */

/* 80 cycles of work that shares no register with anything here. */
static void pad(struct program *p)
{
	for (unsigned i = 0; i < 20; i++)
		ffma(p, 100 + p->n, 250, 251, 252, stall(4));
}

static void idle(struct program *p, unsigned n, unsigned cycles)
{
	while (n--)
		ffma(p, 100 + p->n, 250, 251, 252, stall(cycles));
}

/* ISETP.GE.AND Pto, PT, Rfrom, RZ, PT */
static void compare(struct program *p, uint64_t to, uint64_t from, struct code code)
{
	add(p, (UINT64_C(0x3f06270) & ~(UINT64_C(7) << 17)) | to << 17,
	    UINT64_C(0x000000ff0000720c) | from << 24, code);
}

/* The least stall of `at`, which has `has`, when all that is in p so far gets room behind it. */
static void check_least(struct program *p, int sm, uint32_t at, unsigned has, unsigned least)
{
	pad(p);
	leave(p);
	build(p, sm);
	assert_int_equal(p->g.insns[at].control.stall, has);
	assert_int_equal(stall_least(&p->g, p->arena, at), least);
	arena_free(p->arena);
}

/* R1 is made by the first and found after so many cycles: as true or output dependence. */
static void result(int sm, unsigned between, bool is_output, unsigned least)
{
	struct program p = {.n = 0};

	pad(&p);
	ffma(&p, 1, 2, 3, 4, stall(4)); /* 20 */
	idle(&p, between, 2);
	ffma(&p, is_output ? 1 : 9, is_output ? 8 : 1, 8, 8, stall(4));
	check_least(&p, sm, 20, 4, least);
}

static void results(void **state)
{
	(void)state;
	for (int is_output = 0; is_output < 2; is_output++) {
		result(86, 0, is_output, 4);
		result(86, 1, is_output, 4);
		result(86, 2, is_output, 2);
		result(86, 3, is_output, 1);
	}
	result(80, 3, false, 2); /* 16 lanes: two cycles each */
	result(75, 3, false, 3);
	result(89, 3, false, 1);
	result(121, 3, false, 1);
	result(87, 3, false, 4); /* no rows */
	result(70, 3, false, 4);
}

/* What it reads is overwritten. */
static void sources(void **state)
{
	(void)state;
	for (unsigned between = 0; between < 4; between += 3) {
		struct program p = {.n = 0};

		pad(&p);
		ffma(&p, 1, 2, 3, 4, stall(4)); /* 20 */
		idle(&p, between, 2);
		ffma(&p, 2, 8, 8, 8, stall(4));
		check_least(&p, 86, 20, 4, between ? 1 : 4);
	}
}

/* Others before it need its stall. */
static void earlier_maker(void **state)
{
	(void)state;
	for (unsigned first = 1; first < 5; first += 3) {
		struct program p = {.n = 0};

		pad(&p);
		ffma(&p, 1, 2, 3, 4, stall(first)); /* 20 */
		idle(&p, 1, 4);                     /* 21 */
		ffma(&p, 9, 1, 8, 8, stall(4));
		check_least(&p, 86, 21, 4, first == 1 ? 4 : 2);
	}
}

static void guards(void **state)
{
	(void)state;
	for (unsigned between = 0; between < 15; between += 14) {
		struct program p = {.n = 0};

		pad(&p);
		compare(&p, 0, 2, stall(4)); /* 20 */
		idle(&p, 1, 9);              /* 21 */
		idle(&p, between, 2);
		add(&p, 8, 0x0223 | 9 << 16 | 8 << 24 | UINT64_C(8) << 32, stall(4)); /* @P0 */
		check_least(&p, 86, 21, 9, between ? 1 : 9);
	}
}

/* Predicates are looked at before the operands that a wait in front of them has ready. */
static void guard_behind_a_wait(void **state)
{
	(void)state;
	for (unsigned wait = 0; wait < 2; wait++)
		for (unsigned between = 0; between < 11; between += 10) {
			struct program p = {.n = 0};

			pad(&p);
			ffma(&p, 1, 2, 3, 4, (struct code){2, NONE, NONE, wait << 3}); /* 20 */
			idle(&p, 1, 9);                                                /* 21 */
			idle(&p, between, 2);
			add(&p, 8, 0x0223 | 9 << 16 | 8 << 24 | UINT64_C(8) << 32,
			    stall(4)); /* @P0 */
			check_least(&p, 86, 21, 9, wait && !between ? 9 : 1);
		}
}

/* Two for the memory queue stay 8 cycles apart. */
static void queue(void **state)
{
	(void)state;
	for (unsigned between = 0; between < 4; between++) {
		struct program p = {.n = 0};

		pad(&p);
		lds(&p, 5, 60, (struct code){2, 0, 1, 0}); /* 20 */
		idle(&p, 1, 9);                            /* 21 */
		idle(&p, between, 2);
		lds(&p, 7, 61, (struct code){2, 2, 3, 0});
		check_least(&p, 86, 21, 9, between < 3 ? 6 - 2 * between : 1);
	}
}

/* 10 cycles from setting a scoreboard to waiting for it; one that sets one is left as it is. */
static void scoreboards(void **state)
{
	(void)state;
	for (unsigned between = 0; between < 4; between++) {
		struct program p = {.n = 0};

		pad(&p);
		lds(&p, 5, 60, (struct code){2, 0, 1, 0}); /* 20 */
		idle(&p, 1, 9);                            /* 21 */
		idle(&p, between, 2);
		ffma(&p, 9, 5, 8, 8, (struct code){4, NONE, NONE, 1});
		check_least(&p, 86, 21, 9, 8 - 2 * between);
	}
	for (unsigned barrier = 0; barrier < 8; barrier += NONE) {
		struct program p = {.n = 0};

		pad(&p);
		ffma(&p, 1, 2, 3, 4, (struct code){4, barrier, NONE, 0});
		check_least(&p, 86, 20, 4, barrier == NONE ? 1 : 4);
	}
}

/* Its result is found without a wait: nothing says when it is there. */
static void not_awaited(void **state)
{
	(void)state;
	for (unsigned wait = 0; wait < 2; wait++) {
		struct program p = {.n = 0};

		pad(&p);
		lds(&p, 5, 60, (struct code){2, 0, 1, 0}); /* 20 */
		idle(&p, 1, 9);                            /* 21 */
		idle(&p, 5, 4);
		ffma(&p, 9, 5, 8, 8, (struct code){4, NONE, NONE, wait});
		check_least(&p, 86, 21, 9, wait ? 1 : 9);
	}
}

/* BAR.SYNC 0, and something that is no instruction. */
static void unknown_near(void **state)
{
	static const uint64_t words[][2] = {{UINT64_C(0x10000), UINT64_C(0x7b1d)}, {0, 0xfff}};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned after = 0; after < 2; after++) {
			struct program p = {.n = 0};
			uint32_t at;

			pad(&p);
			if (!after)
				add(&p, words[i][0], words[i][1], stall(5));
			at = p.n;
			idle(&p, 10, 4);
			if (after)
				add(&p, words[i][0], words[i][1], stall(5));
			check_least(&p, 86, at, 4, 4);
		}
}

/* The first and the last 64 cycles of a block, branches, stalls beyond 11. */
static void edges(void **state)
{
	struct program p = {.n = 0};

	(void)state;
	pad(&p);
	idle(&p, 1, 11); /* 20 */
	idle(&p, 1, 12); /* 21 */
	pad(&p);
	branch(&p, 0, stall(9));
	leave(&p);
	build(&p, 86);
	assert_int_equal(stall_least(&p.g, p.arena, 15), 4); /* 60 cycles in front of it */
	assert_int_equal(stall_least(&p.g, p.arena, 16), 1);
	assert_int_equal(stall_least(&p.g, p.arena, 20), 1);
	assert_int_equal(stall_least(&p.g, p.arena, 21), 12);
	assert_int_equal(stall_least(&p.g, p.arena, 27), 1); /* 56 of pads and 9 behind it */
	assert_int_equal(stall_least(&p.g, p.arena, 28), 3);
	assert_int_equal(stall_least(&p.g, p.arena, 29), 4);
	assert_int_equal(stall_least(&p.g, p.arena, 25), 1);
	assert_int_equal(stall_least(&p.g, p.arena, 42), 9);
	assert_int_equal(stall_least(&p.g, p.arena, 99), 0);
	arena_free(p.arena);
}

/* Two stalls of which either may go, and not both. */
static void together(void **state)
{
	struct program p = {.n = 0};
	uint8_t *plan;

	(void)state;
	pad(&p);
	ffma(&p, 1, 2, 3, 4, stall(1)); /* 20 */
	idle(&p, 2, 4);                 /* 21, 22 */
	ffma(&p, 9, 1, 8, 8, stall(4));
	pad(&p);
	leave(&p);
	build(&p, 86);
	assert_int_equal(stall_least(&p.g, p.arena, 21), 1);
	assert_int_equal(stall_least(&p.g, p.arena, 22), 1);
	plan = stall_plan(&p.g, p.arena);
	assert_non_null(plan);
	assert_int_equal(plan[21], 1);
	assert_int_equal(plan[22], 4);
	arena_free(p.arena);
}

/* ---------------------------------------------------------- on what compilers made, with stalls added */

#define GOLDEN "tests/golden/cubin/"

/* The last instruction of its block that wrote or read a register, and when it was issued by both stalls. */
struct touch {
	uint32_t insn;
	unsigned before, after;
};

struct replay {
	const struct cfg *g;
	struct touch written[SASS_RZ], read[SASS_RZ], predicate[SASS_PT];
	unsigned before, after; /* now */
	unsigned long pairs;
};

/* A distance that shrank is still `need`, whatever waits for a scoreboard. */
static void check_pair(struct replay *r, const struct touch *t, unsigned need)
{
	const unsigned before = r->before - t->before, after = r->after - t->after;
	struct sass_control c;

	if (t->insn == CFG_NONE || before == after)
		return;
	c = r->g->insns[t->insn].control;
	if (c.write_barrier < 6 || c.read_barrier < 6)
		return;
	r->pairs++;
	assert_true(after >= need);
}

static void check_insn(struct replay *r, uint32_t at)
{
	const struct touch now = {at, r->before, r->after};
	struct effects x;

	dataflow_effects(&r->g->insns[at], &x);
	for (unsigned i = 0; i < SASS_RZ; i++) {
		const bool reads = x.reads.r[i / 64] >> i % 64 & 1;
		const bool writes = x.writes.r[i / 64] >> i % 64 & 1;

		if (reads || writes)
			check_pair(r, &r->written[i], 6);
		if (writes)
			check_pair(r, &r->read[i], 6);
		if (reads)
			r->read[i] = now;
		if (writes)
			r->written[i] = now;
	}
	for (unsigned i = 0; i < SASS_PT; i++) {
		if (x.reads.p >> i & 1)
			check_pair(r, &r->predicate[i], 28);
		if (x.writes.p >> i & 1)
			r->predicate[i] = now;
	}
}

static void replay(const struct cfg *g, const uint8_t *plan, unsigned long *pairs,
		   unsigned long *reduced)
{
	struct replay r = {.g = g};

	for (uint32_t i = 0; i < g->insns_n; i++) {
		if (g->blocks[g->block_of[i]].first == i) {
			memset(r.written, 0xff, sizeof(r.written));
			memset(r.read, 0xff, sizeof(r.read));
			memset(r.predicate, 0xff, sizeof(r.predicate));
		}
		check_insn(&r, i);
		assert_true(plan[i] <= g->insns[i].control.stall);
		*reduced += plan[i] < g->insns[i].control.stall;
		r.before += g->insns[i].control.stall;
		r.after += plan[i];
	}
	*pairs += r.pairs;
}

/* Plans for a function with `more` cycles behind every instruction whose stall has room for them. */
static void check_function(const struct cubin *c, const struct cubin_function *of, unsigned more,
			   unsigned long *pairs, unsigned long *reduced)
{
	struct cubin_function f = *of;
	struct arena *arena = arena_new();
	uint8_t *code = arena_copy(arena, of->code.data, of->code.bytes);
	struct err e = {0};
	struct cfg g;

	for (size_t i = 0; i + SASS_BYTES <= of->code.bytes; i += SASS_BYTES) {
		struct sass_word w = sass_load(code + i);
		const unsigned cycles = sass_control(w).stall;

		if (!cycles || cycles + more > 11)
			continue;
		sass_set_bits(&w, 105, 4, cycles + more);
		memcpy(code + i + 8, &w.hi, 8);
	}
	f.code = buf_of(code, of->code.bytes);
	assert_int_equal(cfg_build(&g, arena, (int)c->sm, &f, &e), 0);
	replay(&g, stall_plan(&g, arena), pairs, reduced);
	arena_free(arena);
}

static void compiled(void **state)
{
	static const char *const names[] = {"gemm_good",       "ffma_peak_bad", "ffma_peak_good",
					    "smem_cliff_good", "spill_bad",     "divergent_bad"};
	static const int sms[] = {80, 86, 89, 90, 100, 120};
	unsigned long pairs = 0, reduced = 0;

	(void)state;
	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
		for (size_t s = 0; s < sizeof(sms) / sizeof(*sms); s++) {
			char path[128];
			struct cubin c;
			struct err e = {0};
			size_t bytes;
			uint8_t *data;

			snprintf(path, sizeof(path), GOLDEN "%s.sm_%d.cubin", names[n], sms[s]);
			if (access(path, R_OK))
				continue;
			data = load_file(path, &bytes);
			assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
			for (size_t i = 0; i < c.functions_n; i++)
				for (unsigned more = 0; more < 8; more += 3)
					check_function(&c, &c.functions[i], more, &pairs, &reduced);
			cubin_close(&c);
			free(data);
		}
	if (reduced < 100 || pairs < 100)
		fail_msg("%lu stalls lowered, %lu pairs nearer: too few to show anything", reduced,
			 pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),        cmocka_unit_test(note_of_another),
		cmocka_unit_test(who_set),       cmocka_unit_test(who_set_around),
		cmocka_unit_test(hidden_wait),   cmocka_unit_test(no_waits),
		cmocka_unit_test(results),       cmocka_unit_test(sources),
		cmocka_unit_test(earlier_maker), cmocka_unit_test(guards),
		cmocka_unit_test(scoreboards),   cmocka_unit_test(not_awaited),
		cmocka_unit_test(unknown_near),  cmocka_unit_test(edges),
		cmocka_unit_test(together),      cmocka_unit_test(compiled),
		cmocka_unit_test(queue),         cmocka_unit_test(guard_behind_a_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
