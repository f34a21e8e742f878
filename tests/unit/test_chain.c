/*
 * test_chain.c - the longest chain around loops and through straight code: small programs written by hand
 * against cycles counted by hand, and the samples.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "chain.h"
#include "cubin.h"
#include "sass_table.h"

#define ROOM    96
#define NONE    7u
#define GUARDED 0u /* by P0 */
#define ALWAYS  7u

struct program {
	uint8_t code[ROOM * SASS_BYTES];
	uint32_t n;
	struct arena *arena;
	struct cfg g;
};

static void add(struct program *p, uint64_t hi, uint64_t lo, unsigned write)
{
	struct sass_word w = {lo, hi};

	sass_set_bits(&w, 105, 4, 1);
	sass_set_bits(&w, 110, 3, write);
	sass_set_bits(&w, 113, 3, NONE);
	memcpy(p->code + p->n * SASS_BYTES, &w.lo, 8);
	memcpy(p->code + p->n++ * SASS_BYTES + 8, &w.hi, 8);
	assert_in_range(p->n, 1, ROOM);
}

/* @guard FFMA Rd, Ra, Rb, Rc */
static void fma_of(struct program *p, unsigned guard, uint64_t d, uint64_t a, uint64_t b,
		   uint64_t c)
{
	add(p, c, 0x0223 | (uint64_t)guard << 12 | d << 16 | a << 24 | b << 32, NONE);
}

/* LDG.E Rd, [Ra], which sets barrier 0 */
static void ldg(struct program *p, uint64_t d, uint64_t a)
{
	add(p, UINT64_C(0x00000000001e0900), 0x7381 | d << 16 | a << 24, 0);
}

/* LDS Rd, [Ra] */
static void lds(struct program *p, uint64_t d, uint64_t a)
{
	add(p, UINT64_C(0x0000000000000800), 0x7984 | d << 16 | a << 24, 0);
}

/* BRA, under P0 */
static void branch(struct program *p, uint32_t to)
{
	const int64_t d = ((int64_t)to - (int64_t)p->n - 1) * SASS_BYTES / 4;
	const uint64_t v = (uint64_t)d & UINT64_C(0xffffffffffff);

	add(p, UINT64_C(0x0000000003800000) | v >> 30, 0x0947 | v << 34, NONE);
}

static void leave(struct program *p)
{
	add(p, UINT64_C(0x0000000003800000), 0x794d, NONE);
}

/* Of the only loop, or of the straight code where there is none. */
static struct chain measure(struct program *p)
{
	struct cubin_function f = {.code = buf_of(p->code, p->n * SASS_BYTES)};
	struct chain *loops, straight, found;
	struct err e = {0};

	p->arena = arena_new();
	assert_non_null(p->arena);
	assert_int_equal(cfg_build(&p->g, p->arena, 86, &f, &e), 0);
	assert_int_equal(chain_read(&p->g, p->arena, &loops, &straight), 0);
	found = p->g.loops_n ? loops[0] : straight;
	arena_free(p->arena);
	return found;
}

static void assert_near(double found, double expected)
{
	if (!(fabs(found - expected) < 1e-9))
		fail_msg("%g, not %g", found, expected);
}

/* Two sums, one of two steps a turn: 2 x 4 cycles; what comes from outside of the loop closes nothing. */
static void sums(void **state)
{
	struct program p = {.n = 0};
	struct chain c;

	(void)state;
	fma_of(&p, ALWAYS, 1, 1, 20, 21);
	fma_of(&p, ALWAYS, 2, 2, 20, 21);
	fma_of(&p, ALWAYS, 2, 2, 20, 21);
	fma_of(&p, ALWAYS, 3, 20, 20, 21);
	branch(&p, 0);
	leave(&p);
	c = measure(&p);
	assert_near(c.cycles, 8);
	assert_near(c.loads, 0);
	assert_near(c.issue, 5);
}

/* R1 becomes R2 becomes R3 becomes R1: a step each turn, so a chain of three turns, 4 cycles a turn. */
static void rotation(void **state)
{
	struct program p = {.n = 0};

	(void)state;
	fma_of(&p, ALWAYS, 9, 3, 20, 21);
	fma_of(&p, ALWAYS, 3, 2, 20, 21);
	fma_of(&p, ALWAYS, 2, 1, 20, 21);
	fma_of(&p, ALWAYS, 1, 9, 20, 21);
	branch(&p, 0);
	leave(&p);
	assert_near(measure(&p).cycles, (4 + 4 + 4 + 4) / 3.0);
}

/* What overwrites a value for certain ends its chain; what may leave it as it was does not. */
static void overwritten(void **state)
{
	for (int guarded = 0; guarded < 2; guarded++) {
		struct program p = {.n = 0};

		(void)state;
		fma_of(&p, ALWAYS, 1, 1, 20, 21);
		fma_of(&p, guarded ? GUARDED : ALWAYS, 1, 20, 20, 21);
		branch(&p, 0);
		leave(&p);
		assert_near(measure(&p).cycles, guarded ? 4 : 0);
	}
}

static const struct {
	unsigned guards[3];
	double cycles;
} guarded[] = {
	/* what was written under the guard is all that is read under it */
	{{GUARDED, GUARDED, ALWAYS}, 0},
	/* but not under the opposite one, nor without any */
	{{GUARDED, 8 + GUARDED, ALWAYS}, 8},
	{{GUARDED, ALWAYS, ALWAYS}, 8},
	{{ALWAYS, GUARDED, ALWAYS}, 0},
};

/* R1 = constants, R2 = R1, R1 = R2 under these guards: does a turn find the R1 of the turn before? */
static void same_guard(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(guarded) / sizeof(*guarded); i++) {
		struct program p = {.n = 0};

		fma_of(&p, guarded[i].guards[0], 1, 20, 20, 21);
		fma_of(&p, guarded[i].guards[1], 2, 1, 20, 21);
		fma_of(&p, guarded[i].guards[1], 1, 2, 20, 21);
		branch(&p, 0);
		leave(&p);
		assert_near(measure(&p).cycles, guarded[i].cycles);
	}
}

/* One or the other side writes it: nothing stays of what was before. */
static void both_sides(void **state)
{
	struct program p = {.n = 0};

	(void)state;
	fma_of(&p, ALWAYS, 2, 1, 20, 21);
	fma_of(&p, GUARDED, 1, 20, 20, 21);
	fma_of(&p, 8 + GUARDED, 1, 21, 20, 21);
	fma_of(&p, ALWAYS, 1, 1, 2, 21);
	branch(&p, 0);
	leave(&p);
	assert_near(measure(&p).cycles, 8); /* R1 to R2 to R1 */
	p.n = 0;
	fma_of(&p, GUARDED, 1, 20, 20, 21);
	fma_of(&p, 8 + GUARDED, 1, 21, 20, 21);
	fma_of(&p, ALWAYS, 1, 1, 20, 21);
	branch(&p, 0);
	leave(&p);
	assert_near(measure(&p).cycles, 0);
}

/* The next address is what was loaded; and not so where only the sum of loads goes around. */
static void loads(void **state)
{
	struct program chase = {.n = 0}, sum = {.n = 0}, table = {.n = 0}, anew = {.n = 0};
	struct chain c;

	(void)state;
	ldg(&chase, 4, 4);
	ldg(&chase, 8, 30);
	branch(&chase, 0);
	leave(&chase);
	c = measure(&chase);
	assert_near(c.loads, 1);
	assert_near(c.all_loads, 2);
	assert_near(c.cycles, 400);

	assert_near(c.chain_loads, 1);

	/* a chain of three that begins anew with each turn, and a word beside the last */
	ldg(&anew, 4, 30);
	ldg(&anew, 4, 4);
	ldg(&anew, 9, 4);
	ldg(&anew, 8, 4);
	branch(&anew, 0);
	leave(&anew);
	c = measure(&anew);
	assert_near(c.loads, 0);
	assert_near(c.chain_loads, 3);
	assert_near(c.all_loads, 3);

	ldg(&sum, 4, 30);
	fma_of(&sum, ALWAYS, 1, 4, 20, 1);
	branch(&sum, 0);
	leave(&sum);
	c = measure(&sum);
	assert_near(c.loads, 0);
	assert_near(c.all_loads, 1);
	assert_near(c.cycles, 4);

	lds(&table, 4, 4); /* in shared memory: short, and not from global memory */
	branch(&table, 0);
	leave(&table);
	c = measure(&table);
	assert_near(c.loads, 0);
	assert_near(c.cycles, 29);
}

/* Issued in order, what is loaded behind the use of another word waits for that one too. */
static void waits(void **state)
{
	struct program apart = {.n = 0}, together = {.n = 0}, ahead = {.n = 0}, line = {.n = 0};
	struct program partly = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		ldg(&apart, 4, 30);
		fma_of(&apart, ALWAYS, 1, 4, 20, 1);
		ldg(&line, 4, 30);
		fma_of(&line, ALWAYS, 1, 4, 20, 1);
		ldg(&together, 4 + i, 30);
	}
	leave(&line);
	assert_near(measure(&line).waits, 3);
	branch(&apart, 0);
	leave(&apart);
	assert_near(measure(&apart).waits, 3);
	for (unsigned i = 0; i < 3; i++)
		fma_of(&together, ALWAYS, 1, 4 + i, 20, 1);
	branch(&together, 0);
	leave(&together);
	assert_near(measure(&together).waits, 1);
	/* the next turn's word is loaded before this one's is used: it comes a turn later */
	fma_of(&ahead, ALWAYS, 1, 4, 20, 1);
	ldg(&ahead, 4, 30);
	fma_of(&ahead, ALWAYS, 2, 1, 20, 2);
	branch(&ahead, 0);
	leave(&ahead);
	assert_near(measure(&ahead).waits, 1);
	/* what a guard may leave as it was is still waited for */
	ldg(&partly, 4, 30);
	fma_of(&partly, GUARDED, 4, 20, 20, 21);
	fma_of(&partly, ALWAYS, 1, 4, 20, 1);
	branch(&partly, 0);
	leave(&partly);
	assert_near(measure(&partly).waits, 1);
}

/* A block that a turn may skip is in no chain. */
static void skipped(void **state)
{
	struct program p = {.n = 0};

	(void)state;
	fma_of(&p, ALWAYS, 1, 1, 20, 21);
	branch(&p, 3);
	fma_of(&p, ALWAYS, 1, 1, 20, 21);
	branch(&p, 0);
	leave(&p);
	assert_near(measure(&p).cycles, 4);
}

static void not_decoded(void **state)
{
	struct program p = {.n = 0};
	struct chain c;

	(void)state;
	fma_of(&p, ALWAYS, 1, 1, 20, 21);
	add(&p, ~UINT64_C(0), ~UINT64_C(0), NONE);
	branch(&p, 0);
	leave(&p);
	c = measure(&p);
	assert_true(isnan(c.cycles) && isnan(c.loads) && isnan(c.issue) && isnan(c.waits));
}

static void straight(void **state)
{
	struct program p = {.n = 0};
	struct chain c;

	(void)state;
	ldg(&p, 4, 4);
	ldg(&p, 4, 4);
	ldg(&p, 8, 30);
	fma_of(&p, ALWAYS, 1, 4, 20, 8);
	leave(&p);
	c = measure(&p);
	assert_near(c.loads, 2);
	assert_near(c.all_loads, 3);
	assert_near(c.cycles, 804);
	assert_near(c.issue, 5);
}

/* ----------------------------------------------------------------------------------------- samples */

struct sample {
	const char *name;
	double cycles, loads; /* of the first loop; of the straight code where there is none */
};

static void check_sample(const char *path, const struct sample *s)
{
	struct chain *loops, all, *found = &all;
	struct arena *arena = arena_new();
	const struct cubin_function *f;
	struct cubin cubin;
	struct err e = {0};
	struct cfg g;
	size_t bytes;
	uint8_t *data = load_file(path, &bytes);

	assert_non_null(arena);
	assert_int_equal(cubin_open(&cubin, buf_of(data, bytes), &e), 0);
	f = cubin.functions_n > 1 ? cubin_find(&cubin, s->name) : &cubin.functions[0];
	assert_non_null(f);
	assert_int_equal(cfg_build(&g, arena, (int)cubin.sm, f, &e), 0);
	assert_int_equal(chain_read(&g, arena, &loops, &all), 0);
	if (g.loops_n)
		found = &loops[g.loops_n - 1];
	if (!isnan(s->cycles) && fabs(found->cycles - s->cycles) > 1e-9)
		fail_msg("%s %s: %g cycles, not %g", path, s->name, found->cycles, s->cycles);
	if (fabs(found->loads - s->loads) > 1e-9)
		fail_msg("%s %s: %g loads, not %g", path, s->name, found->loads, s->loads);
	arena_free(arena);
	cubin_close(&cubin);
	free(data);
}

/* A loop that tries an atomic again is no chain; a list is one. */
static void golden(void **state)
{
	static const char *const archs[] = {"80", "86", "90", "100", "120"};
	static const struct sample rows[] = {{"retry", 0, 0}, {"list", NAN, 1}};
	char path[96];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t k = 0; k < sizeof(archs) / sizeof(*archs); k++) {
			snprintf(path, sizeof(path), "tests/golden/idiom/idioms.sm_%s.cubin",
				 archs[k]);
			check_sample(path, &rows[i]);
		}
}

static void samples(void **state)
{
	static const char *const archs[] = {"80", "86", "89", "90", "100", "120"};
	static const struct sample rows[] = {
		{"ffma_peak_bad", 256 * 4, 0}, /* 256 FFMA in one chain */
		{"ffma_peak_good", 16 * 4, 0}, /* 128 FFMA in eight */
		{"memory_stream_bad", 4, 0},   /* the counter */
		{"pointer_chase_bad", NAN, 64}, {"pointer_chase_good", NAN, 8},
	};

	char path[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t k = 0; k < sizeof(archs) / sizeof(*archs); k++) {
			snprintf(path, sizeof(path), "tests/golden/cubin/%s.sm_%s.cubin",
				 rows[i].name, archs[k]);
			check_sample(path, &rows[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),        cmocka_unit_test(rotation),
		cmocka_unit_test(overwritten), cmocka_unit_test(same_guard),
		cmocka_unit_test(both_sides),  cmocka_unit_test(loads),
		cmocka_unit_test(waits),       cmocka_unit_test(skipped),
		cmocka_unit_test(not_decoded), cmocka_unit_test(straight),
		cmocka_unit_test(golden),      cmocka_unit_test(samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
