/*
 * test_stall_sim.c - the way of a warp through compiled samples, and many warps on it: what is known of these
 * kernels without running them must come out.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "cubin.h"
#include "golden/tool.h"
#include "stall_sim.h"

#define CUBINS     "tests/golden/cubin/"
#define FAR_ENOUGH 1e9

struct found {
	struct arena *arena;
	const struct stall_path *path;
};

static struct found found;

static int keep(const char *cubin, const char *function, const struct cfg *g, struct arena *scratch,
		struct err *e)
{
	(void)cubin;
	(void)function;
	(void)e;
	found.path = stall_path_read(g, scratch, found.arena);
	assert_non_null(found.path);
	return 0;
}

static const struct stall_path *path_of(const char *name)
{
	struct err e = {0};
	char path[256];

	arena_free(found.arena);
	found.arena = arena_new();
	snprintf(path, sizeof(path), CUBINS "%s.sm_90.cubin", name);
	assert_int_equal(tool_show_file(path, keep, &e), 0);
	return found.path;
}

static int forget(void **state)
{
	(void)state;
	arena_free(found.arena);
	found.arena = NULL;
	return 0;
}

static double weight_of(const struct stall_path *p, enum stall_pipe pipe)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->n; i++)
		sum += p->steps[i].pipe == pipe ? (double)p->steps[i].weight : 0;
	return sum;
}

/* A loop of proved turns counts in full, whatever part of it was walked. */
static void turns_that_are_proved(void **state)
{
	const struct stall_path *p = path_of("ffma_peak_bad");

	(void)state;
	assert_true(p->is_whole);
	assert_false(p->has_guess);
	assert_true(p->n < STALL_STEPS);
	assert_true(weight_of(p, STALL_PIPE_FMA) >= 2048);
	assert_true(weight_of(p, STALL_PIPE_FMA) < 2048 * 1.02);
	assert_true(p->bytes[0] == 2 * 128.0); /* one load, one store */
}

/* A grid-stride loop: its turns are a guess, and said to be one. */
static void turns_that_are_not(void **state)
{
	const struct stall_path *p = path_of("memory_stream_good");
	unsigned loads = 0;

	(void)state;
	assert_true(p->is_whole);
	assert_true(p->has_guess);
	for (uint32_t i = 0; i < p->n; i++)
		loads += p->steps[i].pipe == STALL_PIPE_GLOBAL &&
			 p->steps[i].access == STALL_LOADS && p->steps[i].is_guessed;
	assert_int_equal(loads, STALL_TURNS);
	assert_true(p->bytes[1] > 0);
	assert_true(p->bytes[0] == 0);
}

/* Loads of neighbours in 32 bytes: the second is in the L1. Of gemm_bad's operands that are 16 bits wide. */
static void what_is_loaded_again(void **state)
{
	const struct stall_path *p = path_of("gemm_bad");
	unsigned first = 0, again = 0;

	(void)state;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->steps[i].pipe == STALL_PIPE_GLOBAL)
			*(p->steps[i].is_again ? &again : &first) += 1;
	assert_true(first > 0);
	assert_true(again > 2 * first);
	p = path_of("pointer_chase_bad");
	for (uint32_t i = 0; i < p->n; i++)
		assert_false(p->steps[i].is_again);
}

static struct stall_sm sm_of(unsigned warps)
{
	return (struct stall_sm){.warps = warps,
				 .block_warps = 1,
				 .schedulers = 4,
				 .blocks = warps,
				 .bytes_per_cycle = FAR_ENOUGH,
				 .latency = 300,
				 .shared_by = 1,
				 .is_local_in_l1 = true};
}

static struct stall_shares run(const struct stall_path *p, const struct stall_sm *sm)
{
	struct arena *scratch = arena_new();
	struct stall_shares s;

	assert_true(stall_sim(p, sm, scratch, &s));
	arena_free(scratch);
	return s;
}

static double all(const struct stall_shares *s, int reason)
{
	return s->cycles[0][reason] + s->cycles[1][reason];
}

static double total(const struct stall_shares *s)
{
	double sum = 0;

	for (int r = 0; r < STALL_REASONS; r++)
		sum += all(s, r);
	return sum;
}

static enum stall_reason top(const struct stall_shares *s)
{
	int best = STALL_SELECTED + 1;

	for (int r = best + 1; r < STALL_REASONS; r++)
		if (all(s, r) > all(s, best))
			best = r;
	return (enum stall_reason)best;
}

/* One warp in a chain of multiply-adds: one cycle in four issues. Sixteen of them hide the chain. */
static void chain_of_one_and_of_many(void **state)
{
	const struct stall_path *p = path_of("ffma_peak_bad");
	struct stall_sm sm = sm_of(1);
	struct stall_shares s = run(p, &sm);

	(void)state;
	assert_int_equal(top(&s), STALL_FIXED_WAIT);
	assert_true(fabs(all(&s, STALL_SELECTED) / total(&s) - 0.25) < 0.03);
	assert_true(fabs(total(&s) / 2048 / 4 - 1) < 0.15);
	sm = sm_of(16);
	s = run(p, &sm);
	assert_int_equal(top(&s), STALL_NOT_SELECTED);
	assert_true((double)s.issued / s.elapsed > 0.9);
}

/* Every cycle of every warp has one reason. */
static void nothing_is_lost(void **state)
{
	const struct stall_path *p = path_of("uncoalesced_good");
	struct stall_sm sm = sm_of(1);
	struct stall_shares s = run(p, &sm);

	(void)state;
	assert_true(fabs(total(&s) - s.elapsed) <= 1);
	assert_int_equal(s.issued, p->n);
	assert_int_equal(all(&s, STALL_SELECTED), p->n);
	sm.blocks = 3; /* one after the other in the same place */
	s = run(p, &sm);
	assert_int_equal(s.issued, 3 * p->n);
}

/* The answer comes after the latency, and no faster than the memory can. */
static void memory(void **state)
{
	const struct stall_path *p = path_of("uncoalesced_good");
	struct stall_sm sm = sm_of(1);
	struct stall_shares near = run(p, &sm), far, slow;

	(void)state;
	sm.latency = 1300;
	far = run(p, &sm);
	assert_true(all(&far, STALL_LONG) - all(&near, STALL_LONG) == 1000);
	assert_int_equal(top(&far), STALL_LONG);
	sm = sm_of(16);
	sm.bytes_per_cycle = 0.5;
	slow = run(p, &sm); /* 16 warps load 128 bytes each, and store as much */
	assert_true(slow.elapsed >= 16 * 128 / 0.5);
	assert_int_equal(top(&slow), STALL_LONG);
}

/* Accesses that take turns at the banks keep the queue full. */
static void conflicts(void **state)
{
	const struct stall_path *p = path_of("bank_conflict_bad");
	struct stall_sm sm = sm_of(16);
	struct stall_shares s = run(p, &sm);
	const double alone = all(&s, STALL_BARRIER);
	float spread[STALL_STEPS];

	(void)state;
	sm.block_warps = 8;
	s = run(p, &sm);
	assert_true(all(&s, STALL_BARRIER) > alone);
	assert_int_not_equal(top(&s), STALL_MIO);
	for (uint32_t i = 0; i < p->n; i++)
		spread[i] = p->steps[i].pipe == STALL_PIPE_SHARED && p->steps[i].bytes ? 32 : 1;
	sm.spread = spread;
	s = run(p, &sm);
	assert_int_equal(top(&s), STALL_MIO);
}

static void special_functions(void **state)
{
	const struct stall_path *p = path_of("fp64_leak_bad");
	struct stall_sm sm = sm_of(16);
	struct stall_shares s = run(p, &sm);

	(void)state;
	assert_int_equal(top(&s), STALL_MIO);
	assert_true(s.pipe_busy[STALL_PIPE_XU] <= s.elapsed);
	assert_true(s.pipe_busy[STALL_PIPE_XU] > 0.5 * s.elapsed);
}

/* Ways to one place are passed by twice; the way of gemm_good goes to its products at once. */
static void ways_that_are_taken(void **state)
{
	const struct stall_path *p = path_of("gemm_good");
	uint32_t first = 0;

	(void)state;
	while (first < p->n && p->steps[first].pipe != STALL_PIPE_TENSOR)
		first++;
	assert_true(first < p->n / 2);
	assert_true(weight_of(p, STALL_PIPE_TENSOR) >= 16 * 8);
	for (uint32_t i = 0; i < p->n; i++) /* m16n8k16 at 0.63 x 512 multiply-adds a cycle */
		if (p->steps[i].pipe == STALL_PIPE_TENSOR)
			assert_in_range(p->steps[i].cycles, 3, 7);
}

/* Twelve warps of four steps each that are made by hand: products of groups, and who waits for them. */
static void products_of_groups(void **state)
{
	struct stall_step steps[] = {
		{.weight = 1,
		 .stall = 1,
		 .group = STALL_STARTS,
		 .pipe = STALL_PIPE_TENSOR,
		 .cycles = 100,
		 .streamed = 400},
		{.weight = 1, .stall = 1, .group = STALL_WAITS_ALL},
		{.weight = 1,
		 .stall = 2,
		 .is_mbarrier = true,
		 .write_barrier = 0,
		 .reason = STALL_MBARRIER},
		{.weight = 1, .stall = 1, .waits = 1, .is_exit = true},
	};
	const struct stall_path p = {.steps = steps, .n = 4};
	struct stall_sm sm = sm_of(3);
	struct stall_shares s;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		steps[i].pending_of = steps[i].read_barrier = STALL_NO_BAR;
		if (i != 2)
			steps[i].write_barrier = STALL_NO_BAR;
	}
	sm.blocks = 60;
	s = run(&p, &sm);
	assert_int_equal(top(&s), STALL_TENSOR);
	assert_true(s.elapsed >= 60 * 100); /* one product after the other */
	sm.bytes_per_cycle = 1; /* now the data comes later than the products are done */
	s = run(&p, &sm);
	assert_int_equal(top(&s), STALL_MBARRIER);
	assert_true(s.elapsed >= 59 * 400);
	sm.shared_by = 8;
	s = run(&p, &sm);
	assert_int_equal(top(&s), STALL_TENSOR);
	steps[1].group = STALL_WAITS_EARLIER; /* nothing is earlier */
	sm.bytes_per_cycle = FAR_ENOUGH;
	s = run(&p, &sm);
	assert_true(all(&s, STALL_TENSOR) == 0);
}

/* Steps made by hand; what they do not say is nothing. */
static struct stall_shares run_steps(struct stall_step *steps, uint32_t n,
				     const struct stall_sm *sm)
{
	const struct stall_path p = {.steps = steps, .n = n};

	for (uint32_t i = 0; i < n; i++) {
		steps[i].weight = 1;
		steps[i].stall = steps[i].stall ? steps[i].stall : 1;
		steps[i].pending_of = steps[i].pending ? 0 : STALL_NO_BAR;
		steps[i].read_barrier = STALL_NO_BAR;
		if (!steps[i].result)
			steps[i].write_barrier = STALL_NO_BAR;
	}
	steps[n - 1].is_exit = true;
	return run(&p, sm);
}

/* A pipe that takes 8 cycles for each: seven of eight go by, whoever waits. */
static void a_busy_pipe(void **state)
{
	struct stall_step steps[] = {{.pipe = STALL_PIPE_FP64, .cycles = 8}, {.stall = 1}};
	struct stall_sm sm = sm_of(1);
	struct stall_shares s;

	(void)state;
	sm.blocks = 40;
	sm.warps = 8;
	s = run_steps(steps, 2, &sm);
	assert_int_equal(top(&s), STALL_MATH);
	assert_true(s.elapsed >= 39 * 8);
}

/* Those of one block wait for the one that the queue keeps longest; those of others do not. */
static void a_barrier(void **state)
{
	struct stall_step steps[] = {
		{.pipe = STALL_PIPE_SHARED, .cycles = 40, .result = 20},
		{.waits = 1, .is_block_wide = true, .hold = 20, .hold_reason = STALL_BARRIER},
		{.stall = 1},
	};
	struct stall_sm sm = sm_of(8);
	struct stall_shares together, alone = run_steps(steps, 3, &sm);

	(void)state;
	sm.block_warps = 8;
	sm.blocks = 1;
	together = run_steps(steps, 3, &sm);
	assert_true(all(&alone, STALL_BARRIER) < 8 * 30);
	assert_true(all(&together, STALL_BARRIER) > 8 * 100);
}

/* A warp ends when its stores are out of the way. */
static void a_drain(void **state)
{
	struct stall_step steps[] = {
		{.pipe = STALL_PIPE_GLOBAL, .cycles = 4, .access = STALL_STORES, .bytes = 4},
		{.stall = 1},
	};
	struct stall_sm sm = sm_of(1);
	struct stall_shares s = run_steps(steps, 2, &sm);

	(void)state;
	assert_int_equal(top(&s), STALL_DRAIN);
	steps[0].access = STALL_LOADS;
	s = run_steps(steps, 2, &sm);
	assert_true(all(&s, STALL_DRAIN) == 0);
}

/* DEPBAR.LE SB0, 1: the first of two is there, the second need not be. */
static void all_but_the_last(void **state)
{
	struct stall_step steps[] = {
		{.pipe = STALL_PIPE_GLOBAL,
		 .cycles = 4,
		 .access = STALL_LOADS,
		 .bytes = 4,
		 .result = 400,
		 .reason = STALL_LONG,
		 .stall = 15},
		{.stall = 15},
		{.stall = 15},
		{.stall = 15},
		{.pipe = STALL_PIPE_GLOBAL,
		 .cycles = 4,
		 .access = STALL_LOADS,
		 .bytes = 4,
		 .result = 400,
		 .reason = STALL_LONG},
		{.pending = 1},
	};
	struct stall_sm sm = sm_of(1);
	struct stall_shares one = run_steps(steps, 6, &sm), both;

	(void)state;
	steps[5].pending = 0;
	steps[5].waits = 1;
	both = run_steps(steps, 6, &sm);
	assert_int_equal(top(&one), STALL_LONG);
	assert_true(all(&both, STALL_LONG) - all(&one, STALL_LONG) == 60);
}

static void nothing_to_run(void **state)
{
	const struct stall_path *p = path_of("uncoalesced_good"), empty = {0};
	const struct stall_sm none = sm_of(0), some = sm_of(4);
	struct arena *scratch = arena_new();
	struct stall_shares s;

	(void)state;
	assert_false(stall_sim(p, &none, scratch, &s));
	assert_false(stall_sim(&empty, &some, scratch, &s));
	arena_free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_that_are_proved),
		cmocka_unit_test(turns_that_are_not),
		cmocka_unit_test(what_is_loaded_again),
		cmocka_unit_test(chain_of_one_and_of_many),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(memory),
		cmocka_unit_test(conflicts),
		cmocka_unit_test(special_functions),
		cmocka_unit_test(nothing_to_run),
		cmocka_unit_test(ways_that_are_taken),
		cmocka_unit_test(products_of_groups),
		cmocka_unit_test(a_busy_pipe),
		cmocka_unit_test(a_barrier),
		cmocka_unit_test(a_drain),
		cmocka_unit_test(all_but_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
