/*
 * test_kernel_mix.c - what a warp executes by unit, on kernels whose sources say how much of each that is.
 */
#include "kbn_test.h"

#include <stdio.h>
#include <string.h>

#include "code_fixture.h"

static const int sms[] = {80, 86, 89, 90, 100, 120};
#define SMS (sizeof(sms) / sizeof(*sms))

static const struct metric_sass *in(const char *file, const char *function, int sm)
{
	char path[128];

	snprintf(path, sizeof(path), "tests/golden/%s.sm_%d.cubin", file, sm);
	return code_in(path, function);
}

static const struct metric_sass *of(const char *sample, int sm)
{
	char file[64];

	snprintf(file, sizeof(file), "cubin/%s", sample);
	return in(file, strstr(sample, "ffma_peak") ? "ffma_peak" : sample, sm);
}

#define same(a, b)                                                                   \
	do {                                                                         \
		if ((a) != (b))                                                      \
			fail_msg("sm_%d: %g, not %g", sm, (double)(a), (double)(b)); \
	} while (0)

/* 64 loads of a word, and one store. */
static void a_chain_of_loads(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s = of("pointer_chase_bad", sm);

		same(s->whole.loads, 64.0);
		same(s->whole.load_bytes, 64.0 * 32 * 4);
		same(s->whole.stores, 1.0);
		same(s->whole.store_bytes, 128.0);
		same(s->whole.fma, 0.0);
		assert_true(s->trips_known);
	}
}

/* 32 turns: to double, multiply and add, back to float. */
static void doubles_between_floats(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s = of("fp64_leak_bad", sm);

		if (!s->trips_known)
			continue;
		same(s->whole.fp64, 32.0);
		same(s->whole.widened, 32.0);
		same(s->whole.narrowed, 32.0);
		s = of("fp64_leak_good", sm);
		same(s->whole.fp64 + s->whole.widened + s->whole.narrowed, 0.0);
		same(s->whole.fma, 32.0);
	}
}

/* Four stores and four loads of shared memory, one barrier. */
static void a_tile_in_shared_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s = of("bank_conflict_bad", sm);

		same(s->whole.shared, 8.0);
		same(s->whole.loads, 4.0);
		same(s->whole.stores, 4.0);
		same(s->whole.barriers, 1.0);
	}
}

/* What is spilled is moved in the loop; without the limit on registers nothing is. */
static void local_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s = of("spill_bad", sm);

		assert_true(s->whole.local > 100);
		assert_true(s->whole.local_bytes >= 128 * s->whole.local);
		assert_true(s->hot.local > 0 && s->hot_loop >= 0);
		s = of("spill_good", sm);
		same(s->whole.local, 0.0);
	}
}

/* Copies that go on in the background are no loads; products are counted as such. */
static void copies_and_products(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s = of("async_copy_good", sm);

		same(s->hot.copies, 1.0);
		same(s->hot.loads, 0.0);
		same(s->hot.load_bytes, 32.0 * 16);
		s = of("async_copy_bad", sm);
		same(s->hot.copies, 0.0);
		same(s->hot.loads, 1.0);
		same(s->hot.load_bytes, 32.0 * 16);
		same(s->hot.barriers, 2.0);
		same(of("gemm_bad", sm)->whole.products, 0.0);
		assert_true(of("gemm_good", sm)->whole.products > 0);
		assert_true(of("gemm_bad", sm)->whole.from_halves > 0);
		/* two where the compiler made a path for one lane */
		assert_in_range(of("atomic_bad", sm)->whole.atomics, 1, 2);
	}
}

/* n is an argument: the loop counts as the assumed number of turns, and that is said. */
static void a_loop_of_unknown_length(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s = of("memory_stream_bad", sm);

		assert_false(s->trips_known);
		assert_true(s->hot_loop >= 0);
		same(s->hot.loads, 1.0);
		assert_memory_equal(&s->hot, &s->loops[s->hot_loop].turn, sizeof(s->hot));
		same(s->whole.loads, METRIC_ASSUMED_TRIPS);
		assert_true(s->whole.issued > METRIC_ASSUMED_TRIPS * s->hot.issued);
	}
}

/* 4 times 8 turns with three multiply-adds and two loads each, within a loop of which nobody knows how often it turns. */
static void loops_within_loops(void **state)
{
	const double turns = METRIC_ASSUMED_TRIPS;

	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s;

		if (sm == 89)
			continue;
		s = in("tile/nests", "nest_deep", sm);
		assert_false(s->trips_known);
		same(s->whole.loads, turns * 2);
		same(s->whole.barriers, turns * 2);
		same(s->whole.shared, turns * (2 + 4 * 8 * 2));
		assert_true(s->whole.fma >= turns * 4 * 8 * 3 &&
			    s->whole.fma <= turns * 4 * 8 * 3 + 2);
	}
}

/*
 * Integer divisions of a turn: a reciprocal that is worked out before it is no part of the turn. A quotient, what is left
 * and two corrections are seven instructions at least; the reciprocal another seven.
 */
static void integer_divisions(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMS; i++) {
		const int sm = sms[i];
		const struct metric_sass *s;

		if (sm == 89)
			continue;
		s = in("idiom/idioms", "ring", sm);
		same(s->hot.divisions, 1);
		same(s->hot.divide_seeds, 0);
		same(s->whole.divide_seeds, 1);
		same(s->hot.divide_calls, 0);
		assert_true(s->hot.dividing >= 9 && s->hot.dividing <= 12);
		s = in("idiom/idioms", "divides_each", sm);
		same(s->hot.divisions, 1);
		same(s->hot.divide_seeds, 1);
		assert_true(s->hot.dividing >= 14 && s->hot.dividing <= 18);
		s = in("idiom/idioms", "divides_long", sm);
		same(s->hot.divide_calls, 1);
		same(s->hot.divisions, 1);
		assert_true(s->hot.divide_called >= 60 && s->hot.divide_called <= 90);
		s = in("idiom/idioms", "divides_known", sm);
		same(s->whole.dividing + s->whole.divisions + s->whole.divide_calls, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_of_loads),
		cmocka_unit_test(doubles_between_floats),
		cmocka_unit_test(a_tile_in_shared_memory),
		cmocka_unit_test(local_memory),
		cmocka_unit_test(copies_and_products),
		cmocka_unit_test(a_loop_of_unknown_length),
		cmocka_unit_test(loops_within_loops),
		cmocka_unit_test(integer_divisions),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
