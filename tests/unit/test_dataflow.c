/*
 * test_dataflow.c - reads, writes, live registers and definitions, on small programs of sm_80 written by
 * hand, and on instructions whose operands are more than one register.
 */
#include "kbn_test.h"

#include <string.h>

#include "arena.h"
#include "dataflow.h"

#define ROOM   16
#define ALWAYS 7u

struct program {
	uint8_t code[ROOM * SASS_BYTES];
	uint32_t n;
	struct arena *arena;
	struct cfg g;
	uint32_t inner; /* instruction with which a function within begins, 0 = none */
};

static void add(struct program *p, uint64_t lo, uint64_t hi)
{
	memcpy(p->code + p->n * SASS_BYTES, &lo, 8);
	memcpy(p->code + p->n++ * SASS_BYTES + 8, &hi, 8);
}

/* MOV Rto, Rfrom */
static void mov(struct program *p, unsigned guard, unsigned to, unsigned from)
{
	add(p, 0x202 | guard << 12 | to << 16 | (uint64_t)from << 32, UINT64_C(0x000fe20000000f00));
}

static void leave(struct program *p)
{
	add(p, 0x94d | ALWAYS << 12, UINT64_C(0x000fea0003800000));
}

/* ISETP.GE.AND Pto, PT, Rfrom, RZ, PT */
static void compare(struct program *p, unsigned to, unsigned from)
{
	add(p, UINT64_C(0x000000ff0000720c) | from << 24,
	    (UINT64_C(0x000fda0003f06270) & ~(UINT64_C(7) << 17)) | (uint64_t)to << 17);
}

static void jump(struct program *p, uint64_t op, uint64_t hi, uint32_t to)
{
	const int64_t d = ((int64_t)to - (int64_t)p->n - 1) * SASS_BYTES / 4;
	const uint64_t v = (uint64_t)d & UINT64_C(0xffffffffffff);

	add(p, op | ALWAYS << 12 | v << 34, hi | v >> 30);
}

static void branch(struct program *p, unsigned guard, uint32_t to)
{
	const int64_t d = ((int64_t)to - (int64_t)p->n - 1) * SASS_BYTES / 4;
	const uint64_t v = (uint64_t)d & UINT64_C(0xffffffffffff);

	add(p, 0x947 | guard << 12 | v << 34, UINT64_C(0x000fea0003800000) | v >> 30);
}

static void build(struct program *p)
{
	struct cubin_part part = {0};
	struct cubin_function f = {0};
	struct err e = {0};

	p->arena = arena_new();
	assert_non_null(p->arena);
	f.code = buf_of(p->code, p->n * SASS_BYTES);
	part.offset = p->inner * SASS_BYTES;
	f.parts = &part;
	f.parts_n = p->inner > 0;
	assert_int_equal(cfg_build(&p->g, p->arena, 80, &f, &e), 0);
	assert_int_equal(p->g.undecoded, 0);
}

static struct regset registers(uint64_t mask)
{
	return (struct regset){.r = {mask}};
}

static bool is_found(const uint32_t *list, unsigned n, uint32_t insn)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == insn)
			return true;
	return false;
}

/* A write under a guard leaves what was there before alive. */
static void straight(void **state)
{
	struct program p = {.n = 0};
	const struct regset r1 = registers(1u << 1), r3 = registers(1u << 3);
	const struct regset *live;
	uint32_t defs[DATAFLOW_DEFS];
	unsigned n;

	(void)state;
	mov(&p, ALWAYS, 1, 2); /* 0 */
	mov(&p, 0, 1, 3);      /* 1 */
	mov(&p, ALWAYS, 4, 1); /* 2 */
	leave(&p);
	build(&p);
	live = dataflow_live(&p.g, p.arena);
	assert_int_equal(live[0].r[0], 1u << 2 | 1u << 3);
	assert_int_equal(live[0].p, 1);
	assert_int_equal(live[1].r[0], 1u << 1 | 1u << 3);
	assert_int_equal(live[2].r[0], 1u << 1);
	assert_int_equal(live[2].p, 0);
	assert_int_equal(live[3].r[0], 0);
	assert_int_equal(regset_registers(&live[0]), 2);
	n = dataflow_defs(&p.g, p.arena, 2, &r1, defs);
	assert_int_equal(n, 2);
	assert_true(is_found(defs, n, 0) && is_found(defs, n, 1));
	n = dataflow_defs(&p.g, p.arena, 1, &r3, defs);
	assert_int_equal(n, 1);
	assert_int_equal(defs[0], CFG_NONE); /* the caller's */
	arena_free(p.arena);
}

/* What only a guard needs, and what a guard's opposite leaves. */
static void guards(void **state)
{
	struct program p = {.n = 0};
	const struct regset *live;

	(void)state;
	compare(&p, 0, 9);     /* 0 */
	mov(&p, 0, 1, 2);      /* 1: @P0 */
	mov(&p, 8, 1, 3);      /* 2: @!P0 */
	mov(&p, 0, 4, 6);      /* 3: @P0, read under @P0 only */
	mov(&p, 0, 5, 4);      /* 4 */
	mov(&p, ALWAYS, 7, 1); /* 5 */
	mov(&p, 0, 10, 6);     /* 6: @P0 */
	compare(&p, 0, 9);     /* 7: another P0 */
	mov(&p, 0, 11, 10);    /* 8: of R10 the old value may be read */
	leave(&p);
	build(&p);
	live = dataflow_live(&p.g, p.arena);
	assert_int_equal(live[1].r[0], 1u << 2 | 1u << 3 | 1u << 6 | 1u << 9 | 1u << 10);
	assert_int_equal(live[2].r[0], 1u << 1 | 1u << 3 | 1u << 6 | 1u << 9 | 1u << 10);
	assert_int_equal(live[4].r[0], 1u << 1 | 1u << 4 | 1u << 6 | 1u << 9 | 1u << 10);
	assert_int_equal(live[8].r[0], 1u << 10);
	assert_int_equal(live[1].p, 1);
	assert_int_equal(live[0].p, 0);
	assert_int_equal(live[7].p, 0);
	arena_free(p.arena);
}

/* A branch under a guard: what its target reads is needed under that guard. */
static void guarded_branch(void **state)
{
	struct program p = {.n = 0};
	const struct regset *live;

	(void)state;
	mov(&p, 8, 1, 2);      /* 0: @!P0 */
	branch(&p, 8, 4);      /* 1: @!P0 */
	mov(&p, ALWAYS, 4, 3); /* 2 */
	leave(&p);
	mov(&p, ALWAYS, 4, 1); /* 4 */
	leave(&p);
	build(&p);
	live = dataflow_live(&p.g, p.arena);
	assert_int_equal(live[0].r[0], 1u << 2 | 1u << 3);
	assert_int_equal(live[1].r[0], 1u << 1 | 1u << 3);
	arena_free(p.arena);
}

/* A call within the code: what it reads, and what is needed where it returns to. */
static void call(void **state)
{
	struct program p = {.inner = 4};
	const struct regset *live;

	(void)state;
	mov(&p, ALWAYS, 1, 2);                                 /* 0 */
	jump(&p, 0x944, UINT64_C(0x000fe20003c00000), 4);      /* 1: CALL.REL */
	mov(&p, ALWAYS, 3, 5);                                 /* 2 */
	leave(&p);                                             /* 3 */
	mov(&p, ALWAYS, 6, 1);                                 /* 4 */
	jump(&p, 0x20000950, UINT64_C(0x000fea0003c00000), 0); /* 5: RET.REL R32 */
	build(&p);
	live = dataflow_live(&p.g, p.arena);
	assert_int_equal(live[5].r[0], 1u << 5 | 3ull << 32);
	assert_int_equal(live[1].r[0], 1u << 1 | 1u << 5 | 3ull << 32);
	assert_int_equal(live[0].r[0], 1u << 2 | 1u << 5 | 3ull << 32);
	arena_free(p.arena);
}

/* Around a loop: what it writes late is what it reads early the next time. */
static void loop(void **state)
{
	struct program p = {.n = 0};
	const struct regset r1 = registers(1u << 1);
	const struct regset *live;
	uint32_t defs[DATAFLOW_DEFS];
	unsigned n;

	(void)state;
	mov(&p, ALWAYS, 1, 2); /* 0 */
	mov(&p, ALWAYS, 4, 1); /* 1: head of the loop */
	mov(&p, ALWAYS, 1, 5); /* 2 */
	branch(&p, 0, 1);      /* 3 */
	leave(&p);
	build(&p);
	live = dataflow_live(&p.g, p.arena);
	assert_int_equal(live[1].r[0], 1u << 1 | 1u << 5);
	assert_int_equal(live[3].r[0], 1u << 1 | 1u << 5);
	assert_int_equal(live[0].r[0], 1u << 2 | 1u << 5);
	n = dataflow_defs(&p.g, p.arena, 1, &r1, defs);
	assert_int_equal(n, 2);
	assert_true(is_found(defs, n, 0) && is_found(defs, n, 2));
	arena_free(p.arena);
}

/* Pairs and quads, addresses, guards. */
static void effects(void **state)
{
	static const struct {
		uint64_t hi, lo;
		uint64_t reads, writes; /* R0 to R63 */
	} rows[] = {
		/* DFMA R42, R22, R52, R42 */
		{0x000000000000002a, 0x00000034162a722b, 3ull << 22 | 3ull << 52 | 3ull << 42,
		 3ull << 42},
		/* LDS.128 R4, [R8] */
		{0x000e280000000c00, 0x0000000008047984, 1ull << 8, 15ull << 4},
		/* STS.64 [R3], R6 */
		{0x000fe80000000a00, 0x0000000603007388, 1ull << 3 | 3ull << 6, 0},
	};
	struct sass_insn insn;
	struct effects x;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(sass_decode(80, (struct sass_word){rows[i].lo, rows[i].hi}, 0, &insn));
		dataflow_effects(&insn, &x);
		assert_true(x.is_certain);
		assert_int_equal(x.reads.r[0], rows[i].reads);
		assert_int_equal(x.writes.r[0], rows[i].writes);
	}
	/* R2P PR, R8.B1, 0xf; P2R.B1 R90, PR, R90, 0x8 */
	assert_true(sass_decode(80, (struct sass_word){0x0000000f08007804, 0x000fe40000001000}, 0,
				&insn));
	dataflow_effects(&insn, &x);
	assert_int_equal(x.writes.p, 0xf);
	assert_int_equal(x.reads.p, 0);
	assert_int_equal(x.reads.r[0], 1ull << 8);
	assert_true(sass_decode(80, (struct sass_word){0x000000085a5a7803, 0x000fe40000001000}, 0,
				&insn));
	dataflow_effects(&insn, &x);
	assert_int_equal(x.reads.p, 8);
	assert_int_equal(x.writes.p, 0);
	assert_false(sass_decode(80, (struct sass_word){~0ull, ~0ull}, 0, &insn));
	dataflow_effects(&insn, &x);
	assert_false(x.is_certain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straight),       cmocka_unit_test(guards),
		cmocka_unit_test(guarded_branch), cmocka_unit_test(call),
		cmocka_unit_test(loop),           cmocka_unit_test(effects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
