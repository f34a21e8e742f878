/*
 * test_stall.c - stalls by operation, waits and who set their scoreboards, on small programs of sm_86 and
 * sm_90 written by hand: words as in tests/golden/sass, registers and control codes put in.
 */
#include "kbn_test.h"

#include "arena.h"
#include "sass_table.h"
#include "stall.h"

#define ROOM 24
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
	assert_int_equal(p->g.undecoded, 0);
}

/* ------------------------------------------------------------------------------------- operations */

static void counts(void **state)
{
	struct program p = {.n = 0};
	struct stall_op *ops;
	uint8_t plan[ROOM];
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),      cmocka_unit_test(note_of_another),
		cmocka_unit_test(who_set),     cmocka_unit_test(who_set_around),
		cmocka_unit_test(hidden_wait), cmocka_unit_test(no_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
