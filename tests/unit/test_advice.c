/*
 * test_advice.c - the rules of advice.h: that each row is explained and each explanation has a row; single cases of
 * the decision matrix; and over random kernels that nothing contradicts itself, the class or the bounds.
 */
#include "kbn_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "arena.h"
#include "model.h"
#include "stall_path.h"
#include "text.h"

/* ------------------------------------------------------------------------------------- a kernel */

struct made {
	struct arena *arena;
	struct session_kernel kernel;
	struct session_shape shape;
	struct metric_sass sass;
	struct metric_loop loop;
	struct metric_op ops[2];
	struct metric_site sites[3];
	struct metric_access access;
	struct model_kernel k;
	struct arch_device hw;
	struct advice_run run;
	struct metric_advices out;
};

static const struct quantity unknown = {NAN, NAN, NAN, QUANTITY_UNKNOWN, QUANTITY_BY_MODEL, NULL};

static struct quantity derived(double v)
{
	return (struct quantity){v, v, v, QUANTITY_DERIVED, QUANTITY_BY_CODE, NULL};
}

static void set_resources(struct made *m, int registers, int smem)
{
	struct occupancy_input in;

	m->k.resources.registers = registers;
	m->k.resources.static_smem_bytes = smem;
	in = (struct occupancy_input){
		.registers = registers,
		.block_threads = (int)m->shape.block[0],
		.static_smem_bytes = smem,
		.dyn_smem_bytes = m->shape.dyn_smem_bytes,
		.barriers = -1,
		.carveout = -1,
		.grid_blocks = m->shape.grid[0],
		.sm_count = m->hw.sm_count,
	};
	m->k.occupancy_known = true;
	occupancy_compute(&m->k.occupancy, &m->hw.arch, &in);
	m->k.cliff_known = smem_cliff_compute(&m->k.cliff, &m->hw.arch, &in);
}

static void set_class(struct made *m, const char *class, double compute, double memory)
{
	m->k.verdict.class = class;
	m->k.work_known = strcmp(class, "unknown") != 0;
	m->k.roofline.sol_compute_pct = derived(compute);
	m->k.roofline.sol_memory_pct = derived(memory);
	m->k.roofline.attained_pct = derived(fmax(compute, memory));
	m->k.roofline.intensity = derived(2);
	m->k.roofline.balance = 14;
}

/* A plain kernel on an H200 or another product: 4096 blocks of 256 threads, one loop, nothing wrong. */
static void make(struct made *m, const char *device, uint32_t grid, uint32_t block)
{
	memset(m, 0, sizeof(*m));
	m->arena = arena_new();
	assert_non_null(m->arena);
	arch_describe_product(&m->hw, product_find(device));
	assert_true(m->hw.arch_known);
	m->kernel = (struct session_kernel){.name = "k", SESSION_KERNEL_UNKNOWN};
	m->shape = (struct session_shape){
		.kernel = &m->kernel, .grid = {grid, 1, 1}, .block = {block, 1, 1}};
	m->run = (struct advice_run){NAN, false};
	m->loop = (struct metric_loop){.start = 0x100,
				       .end = 0x400,
				       .depth = 1,
				       .is_innermost = true,
				       .is_main = true,
				       .ratio = NAN,
				       .ratio_raw = NAN,
				       .recurrence_cycles = 4,
				       .issue_cycles = 20};
	m->sass = (struct metric_sass){.instructions = 100,
				       .loops = &m->loop,
				       .loops_n = 1,
				       .ops = m->ops,
				       .straight_loads = NAN};
	m->sass.whole.issued = 400;
	m->sass.hot.issued = 20;
	m->k = (struct model_kernel){.shape = &m->shape, .launches = 10};
	m->k.code = (struct model_code){
		.registers = 32, .barriers = -1, .debug_build = 0, .sass = &m->sass};
	m->k.times.median = 100;
	m->k.times.first = 120;
	m->k.resources.local_bytes = 0;
	set_resources(m, 32, 0);
	set_class(m, "unknown", NAN, NAN);
	m->access.divergence_pct = m->access.excess_sectors = unknown;
}

static void build(struct made *m)
{
	assert_int_equal(advice_build(&m->out, &m->k, &m->hw, 50, &m->run, m->arena, NULL), 0);
}

static const struct metric_advice *given(const struct made *m, enum advice_id id)
{
	for (size_t i = 0; i < m->out.n; i++)
		if (!strcmp(m->out.items[i].id, advice_rows[id].id))
			return &m->out.items[i];
	return NULL;
}

static const char *against(const struct made *m, enum advice_id id)
{
	for (size_t i = 0; i < m->out.not_now_n; i++)
		if (!strcmp(m->out.not_now[i].id, advice_rows[id].id))
			return m->out.not_now[i].why;
	return NULL;
}

static bool any_has(const char *const *list, int n, const char *part)
{
	for (int i = 0; i < n; i++)
		if (strstr(list[i], part))
			return true;
	return false;
}

/* ------------------------------------------------------------------------------------- the table */

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!f)
		fail_msg("no %s", path);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

static void test_every_row_is_explained(void **state)
{
	char *text = read_text("analyzer/ADVICE.md"), head[200];
	size_t sections = 0;

	(void)state;
	for (size_t i = 0; i < ADVICE_N; i++) {
		snprintf(head, sizeof(head), "\n### %s %s\n", advice_rows[i].id,
			 advice_rows[i].title);
		if (!strstr(text, head))
			fail_msg("analyzer/ADVICE.md lacks the section%s", head);
		assert_non_null(advice_helps[i].why);
		assert_non_null(advice_helps[i].advice);
		assert_true(strlen(advice_helps[i].why) < TEXT_LINE);
		assert_true(strlen(advice_helps[i].advice) < TEXT_LINE);
	}
	for (const char *s = text; (s = strstr(s, "\n### ")); s++)
		sections++;
	assert_int_equal(sections, ADVICE_N);
	free(text);
}

static void test_ids_are_distinct_and_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ADVICE_N; i++) {
		assert_ptr_equal(advice_find(advice_rows[i].id), &advice_rows[i]);
		assert_ptr_equal(advice_find(advice_rows[i].id + 4), &advice_rows[i]);
		if (i)
			assert_true(strcmp(advice_rows[i - 1].id, advice_rows[i].id) < 0);
	}
	assert_null(advice_find("KBN-A999"));
	assert_null(advice_find("A"));
}

static void test_pairs_name_two(void **state)
{
	(void)state;
	for (size_t i = 0; i < advice_pairs_n; i++) {
		assert_int_not_equal(advice_pairs[i].first, advice_pairs[i].second);
		for (size_t k = 0; k < i; k++)
			assert_false(advice_pairs[i].first == advice_pairs[k].second &&
				     advice_pairs[i].second == advice_pairs[k].first);
	}
}

/* ------------------------------------------------------------------------------------- blocks */

/* An H200 starts 1,663 blocks a us: 524,288 take 315 us, their 268 MB 56 us at the bandwidth. */
static void test_blocks_start_no_faster(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 524288, 256);
	m.k.times.median = 321;
	set_class(&m, "latency", 0, 17.4);
	m.k.work = (struct work){.flops = -1, .bytes = INT64_C(268435456)};
	build(&m);
	a = given(&m, ADVICE_BLOCK_STARTS);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "1,633 start per us"));
	/* 90 and 65% of the bandwidth are 62 and 86 us; the roof is at 82.6% */
	assert_true(a->gain_low_pct >= 71 && a->gain_low_pct <= 73);
	assert_true(a->gain_high_pct >= 80 && a->gain_high_pct <= 82.6);
	/* what is issued stays, at worst: 120 us */
	m.access.warp_instructions = derived(120.0 * 132 * 4 * 1980);
	m.k.access = &m.access;
	build(&m);
	assert_true(given(&m, ADVICE_BLOCK_STARTS)->gain_low_pct <= 62);
	/* nobody knows how much it moves */
	set_class(&m, "unknown", NAN, NAN);
	m.access.global_load_bytes = m.access.global_store_bytes = unknown;
	build(&m);
	assert_true(given(&m, ADVICE_BLOCK_STARTS)->gain_low_pct == 0);
	/* the bandwidth is reached all the same */
	set_class(&m, "memory", 0, 80);
	build(&m);
	assert_null(given(&m, ADVICE_BLOCK_STARTS));
	assert_non_null(strstr(against(&m, ADVICE_BLOCK_STARTS), "memory is at 80"));
	/* time left over, a rate that nobody measured, blocks that are all there at once */
	set_class(&m, "latency", 0, 17.4);
	m.k.times.median = 400;
	build(&m);
	assert_null(given(&m, ADVICE_BLOCK_STARTS));
	m.k.times.median = 321;
	m.hw.arch.block_starts_measured = -1;
	build(&m);
	assert_null(given(&m, ADVICE_BLOCK_STARTS));
	arena_free(m.arena);
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.times.median = 1.3;
	build(&m);
	assert_null(given(&m, ADVICE_BLOCK_STARTS));
	arena_free(m.arena);
}

/* ------------------------------------------------------------------------------------- bytes in flight */

/* No loop: a load and a store of so many bytes per lane, 21 instructions, 64 warps on an SM of an H200. */
static void make_flat(struct made *m, double bytes)
{
	make(m, "NVIDIA H200", 65536, 256);
	m->sass.loops_n = 0;
	m->sass.hot_loop = -1;
	m->sass.hot = (struct metric_mix){0};
	m->sass.straight_loads = 1;
	m->sass.whole = (struct metric_mix){.issued = 21,
					    .loads = 1,
					    .load_bytes = 32 * bytes,
					    .stores = 1,
					    .store_bytes = 32 * bytes};
}

static void test_a_kernel_without_loops_is_one_turn(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	/* 64 x 64 bytes in 281 + 336 cycles of 37 bytes each: 18% at least; in 500 + 21 of 18.4: 43% at most */
	make_flat(&m, 1);
	set_class(&m, "latency", 0, 17);
	build(&m);
	a = given(&m, ADVICE_BYTES_IN_FLIGHT);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n,
			    "a warp moves 64 bytes in all; 64 warps on an SM: 4"));
	assert_true(a->gain_low_pct >= 53 && a->gain_low_pct <= 55);
	assert_true(a->gain_high_pct >= 80 && a->gain_high_pct <= 83);
	/* the second load waits for the first */
	m.sass.straight_loads = 2;
	build(&m);
	assert_true(given(&m, ADVICE_BYTES_IN_FLIGHT)->gain_low_pct > a->gain_low_pct);
	/* it would be faster if that were what it waits for */
	m.sass.straight_loads = 1;
	set_class(&m, "latency", 0, 5);
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	assert_non_null(strstr(against(&m, ADVICE_BYTES_IN_FLIGHT), "waits for something else"));
	/* it meets other threads */
	set_class(&m, "latency", 0, 17);
	m.sass.whole.barriers = 1;
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	arena_free(m.arena);
	/* 16 KB are more than DRAM needs (14.4), and less than the L2 delivers: 37 bytes in 281 + 336 cycles */
	make_flat(&m, 4);
	set_class(&m, "latency", 0, 50);
	build(&m);
	a = given(&m, ADVICE_BYTES_IN_FLIGHT);
	assert_non_null(a);
	assert_false(any_has(a->evidence, a->evidence_n, "DRAM at a latency"));
	assert_true(any_has(a->evidence, a->evidence_n, "the L2 delivers 22."));
	arena_free(m.arena);
	/* 16 bytes are enough, and so is a grid that is all there at once */
	make_flat(&m, 16);
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	arena_free(m.arena);
	make_flat(&m, 1);
	m.shape.grid[0] = 132 * 8;
	set_resources(&m, 32, 0);
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	arena_free(m.arena);
}

/* A way that nobody knows who takes has 64 loads: what is on it is in flight for few, and takes registers from all. */
static void test_loads_of_a_few_are_not_in_flight_for_all(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make_flat(&m, 4);
	m.shape.block[0] = 512;
	set_resources(&m, 72, 0);
	set_class(&m, "latency", 0, 17);
	m.sass.whole.loads += 64;
	m.sass.whole.load_bytes += 64 * 128;
	m.sass.whole.issued = 1300;
	m.k.work.bytes = INT64_C(1) << 30;
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_all = m.access.sites_n = 3;
	m.access.warp_instructions = unknown;
	m.access.warp_instructions.low = 65536 * 16 * 21.0;
	for (size_t i = 0; i < 3; i++) {
		m.sites[i] =
			(struct metric_site){.op = "LDG.E",
					     .kind = i == 1 ? "store" : "load",
					     .requests = i < 2 ? derived(65536 * 16) : unknown,
					     .sectors_per_request = i < 2 ? derived(4) : unknown,
					     .excess = i < 2 ? derived(0) : unknown,
					     .own_excess = i < 2 ? derived(0) : unknown,
					     .lane_bytes = 4};
	}
	m.k.times.median = 300; /* 1300 instructions of each warp would take 1.3 ms */
	build(&m);
	a = given(&m, ADVICE_BYTES_IN_FLIGHT);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "surely moves 256 bytes"));
	assert_true(any_has(a->evidence, a->evidence_n, "longer to issue"));
	/* 16 of 64 warps, for which 32 registers leave room */
	a = given(&m, ADVICE_RAISE_OCCUPANCY);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "from 58 warps on"));
	assert_true(any_has(a->evidence, a->evidence_n, "registers limit it to"));
	assert_non_null(strstr(a->change, "32 registers (72 now)"));
	assert_true(a->gain_low_pct >= 50 && a->gain_high_pct <= 75);
	assert_null(against(&m, ADVICE_RAISE_OCCUPANCY));
	/* time enough for all of it: then so much may be in flight, and nothing is promised */
	m.k.times.median = 2000;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	assert_non_null(strstr(against(&m, ADVICE_RAISE_OCCUPANCY), "look for what they wait for"));
	/* what all warps do is enough, and nothing is left open */
	m.k.times.median = 300;
	m.access.sites_all = m.access.sites_n = 2;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	arena_free(m.arena);
}

/*
 * 16 loads of a turn, 16 warps on an SM: 32 KB in flight where they are issued together, and one after the other 2 KB,
 * in at least 500 cycles of 18.4 bytes each.
 */
static void test_loads_that_wait_for_each_other_are_not_in_flight_together(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 264, 256);
	m.sass.hot_loop = 0;
	m.sass.hot = (struct metric_mix){.issued = 100, .loads = 16, .load_bytes = 16 * 128};
	m.k.work = (struct work){.flops = -1, .bytes = INT64_C(1) << 30};
	set_class(&m, "latency", 0, 20);
	m.loop.load_waits = 1;
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.loop.load_waits = 16;
	build(&m);
	a = given(&m, ADVICE_BYTES_IN_FLIGHT);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "waits 16 times"));
	assert_non_null(strstr(a->change, "__restrict__"));
	assert_true(a->gain_low_pct > 30 && a->gain_high_pct < 80);
	/* of code without loops likewise */
	arena_free(m.arena);
	make_flat(&m, 16);
	set_class(&m, "latency", 0, 40);
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.sass.straight_waits = 8;
	build(&m);
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	arena_free(m.arena);
}

/*
 * 16 warps on an SM with room for 64, in two blocks of 100 KB: 2 KB in flight between two waits, where DRAM delivers 9 KB in
 * 500 cycles. What else the code does, it loads no more than that at a time.
 */
static void test_few_bytes_in_flight_want_more_warps(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 32768, 256);
	set_resources(&m, 26, 100 * 1024);
	assert_int_equal(m.k.occupancy.warps_per_sm, 16);
	set_class(&m, "latency", 1, 21);
	m.sass.hot_loop = 0;
	m.sass.hot = m.loop.turn =
		(struct metric_mix){.issued = 11, .loads = 1, .load_bytes = 128, .shared = 1};
	m.loop.load_ops = 1;
	m.loop.load_bytes_per_warp = 128;
	m.loop.load_waits = 1;
	build(&m);
	a = given(&m, ADVICE_RAISE_OCCUPANCY);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "they load 2 KB at most"));
	/* a fourth of the warps, or 60% of what that saves */
	assert_true(a->gain_low_pct >= 40 && a->gain_low_pct <= 46);
	assert_true(a->gain_high_pct >= 73 && a->gain_high_pct <= 75);
	assert_non_null(strstr(a->change, "28,160 bytes"));
	/* six loads at a time are 12 KB, and six in a row are not */
	m.loop.load_ops = 6;
	m.loop.load_bytes_per_warp = 6 * 128;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	m.loop.load_waits = 6;
	build(&m);
	assert_non_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	/* what is copied past the registers may all be in flight */
	m.loop.async_copies = 1;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	assert_non_null(strstr(against(&m, ADVICE_RAISE_OCCUPANCY), "look for what they wait for"));
	m.loop.async_copies = 0;
	/* as may what the code outside of loops loads */
	m.sass.straight_all_loads = 8;
	m.sass.straight_waits = 1;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	m.sass.straight_all_loads = m.sass.straight_waits = 0;
	/* two blocks for each SM are all that there are */
	m.shape.grid[0] = 264;
	set_resources(&m, 26, 100 * 1024);
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	arena_free(m.arena);
}

/* Wide accesses are what both ask for: nothing to try apart. */
static void test_one_change_is_no_choice(void **state)
{
	struct made m;

	(void)state;
	make_flat(&m, 1);
	m.shape.grid[0] = 524288;
	set_resources(&m, 32, 0);
	m.k.times.median = 321;
	set_class(&m, "latency", 0, 17.4);
	m.k.work = (struct work){.flops = -1, .bytes = INT64_C(268435456)};
	build(&m);
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	assert_non_null(given(&m, ADVICE_BLOCK_STARTS));
	assert_null(given(&m, ADVICE_ISOLATE));
	arena_free(m.arena);
}

/* ------------------------------------------------------------------------------------- the matrix */

static void test_nothing_wrong_nothing_said(void **state)
{
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	build(&m);
	assert_int_equal(m.out.n, 0);
	assert_int_equal(m.out.not_now_n, 0);
	arena_free(m.arena);
}

/* A tile of ratio 3, staged in 30 KB of shared memory, which the other buffer takes over the cliff of sm_86. */
static void test_async_copy_computes_its_conflict(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "ga104-reference", 480, 128);
	set_resources(&m, 64, 30 * 1024);
	set_class(&m, "memory", 20, 70);
	m.loop.ratio = 3;
	m.loop.load_ops = 4;
	m.loop.load_bytes_per_warp = 2048;
	m.sass.hot.loads = 4;
	m.sass.hot.load_bytes = 2048;
	m.sass.hot.shared = 8;
	m.sass.hot.barriers = 2;
	m.sass.hot.issued = 300;
	build(&m);
	a = given(&m, ADVICE_ASYNC_PIPELINE);
	assert_non_null(a);
	assert_true(any_has(
		a->conflicts, a->conflicts_n,
		"61440 in place of 30720 bytes: 1 block and 4 warps per SM (12 now): over the cliff"));
	assert_true(a->gain_high_pct <= 30);
	/* in use already */
	m.loop.async_copies = 2;
	build(&m);
	assert_null(given(&m, ADVICE_ASYNC_PIPELINE));
	assert_non_null(strstr(against(&m, ADVICE_ASYNC_PIPELINE), "already"));
	/* hidden already: another algorithm */
	m.loop.async_copies = 0;
	m.loop.ratio = 64;
	build(&m);
	assert_null(given(&m, ADVICE_ASYNC_PIPELINE));
	assert_non_null(strstr(against(&m, ADVICE_ASYNC_PIPELINE), "64"));
	assert_non_null(given(&m, ADVICE_ALGORITHM));
	/* between: measure */
	m.loop.ratio = 8;
	build(&m);
	assert_non_null(given(&m, ADVICE_ASYNC_BENCHMARK));
	/* above the cliff: the tile first */
	m.loop.ratio = 3;
	set_resources(&m, 64, 48 * 1024);
	m.shape.dyn_smem_bytes = 4096;
	set_resources(&m, 64, 48 * 1024);
	assert_true(m.k.cliff.above_cliff);
	build(&m);
	assert_non_null(given(&m, ADVICE_SHRINK_TILE));
	assert_null(given(&m, ADVICE_ASYNC_PIPELINE));
	assert_null(given(&m, ADVICE_ABOVE_CLIFF));
	/* the class is not known: none of it */
	set_class(&m, "unknown", NAN, NAN);
	build(&m);
	assert_null(given(&m, ADVICE_SHRINK_TILE));
	assert_null(given(&m, ADVICE_ASYNC_BENCHMARK));
	assert_null(given(&m, ADVICE_ALGORITHM));
	assert_non_null(given(&m, ADVICE_ABOVE_CLIFF));
	arena_free(m.arena);
}

/* A ratio above 20, but the warps wait for the tile, and then compute on it: nothing lies over anything. */
static void test_a_tile_that_is_waited_for(void **state)
{
	const struct metric_advice *a;
	struct metric_stalls stalls;
	struct metric_loop loops[2];
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 264, 128);
	set_class(&m, "latency", 17, 40);
	loops[0] = loops[1] = m.loop;
	loops[0].is_innermost = loops[1].is_main = false;
	loops[0].ratio = 24;
	loops[0].load_ops = 8;
	loops[0].load_bytes_per_warp = 4096;
	loops[0].turn = (struct metric_mix){
		.issued = 480, .loads = 8, .load_bytes = 4096, .shared = 16, .barriers = 2};
	loops[1].start = 0x200;
	loops[1].end = 0x300;
	loops[1].depth = 2;
	loops[1].trips = 4;
	loops[1].recurrence_cycles = 384;
	loops[1].issue_cycles = 110;
	loops[1].turn = (struct metric_mix){.issued = 110, .shared = 2};
	m.sass.loops = loops;
	m.sass.loops_n = 2;
	m.sass.hot_loop = 1;
	m.sass.hot = loops[1].turn;
	m.k.stalls = &stalls;
	stalls = (struct metric_stalls){.long_scoreboard = derived(40), .wait = derived(50)};
	stalls.long_scoreboard.high = 60;
	build(&m);
	a = given(&m, ADVICE_ASYNC_PIPELINE);
	assert_non_null(a);
	assert_true(a->gain_low_pct >= 24 && a->gain_low_pct <= 30);
	assert_true(a->gain_high_pct >= 49 && a->gain_high_pct <= 50);
	assert_true(any_has(a->evidence, a->evidence_n, "waits at 2 barriers"));
	/* how often it runs through the chain nobody knows, until the lanes tell: for a third of the time */
	assert_true(given(&m, ADVICE_ILP)->gain_low_pct > 20);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_all = m.access.sites_n = 1;
	m.sites[0] = (struct metric_site){.offset = 0x210, .op = "LDS", .kind = "shared"};
	m.sites[0].sectors_per_request = derived(1);
	m.sites[0].excess = derived(0);
	m.sites[0].requests = derived(264 * 4 * 170.0);
	build(&m);
	a = given(&m, ADVICE_ILP);
	assert_true(a->gain_low_pct <= 0 && a->gain_high_pct < 33);
	assert_true(any_has(a->evidence, a->evidence_n, "takes 3"));
	/* others cover the loads, or the ratio says so and nobody knows better */
	stalls.long_scoreboard = derived(10);
	build(&m);
	assert_null(given(&m, ADVICE_ASYNC_PIPELINE));
	assert_non_null(strstr(against(&m, ADVICE_ASYNC_PIPELINE), "24"));
	m.k.stalls = NULL;
	build(&m);
	assert_null(given(&m, ADVICE_ASYNC_PIPELINE));
	arena_free(m.arena);
}

/* A loop that streams on 16 warps: fewer registers bring more, but not fewer than its code names. */
static void test_registers_that_a_loop_needs_stay(void **state)
{
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 64, 256);
	set_resources(&m, 100, 0);
	set_class(&m, "latency", 5, 20);
	m.sass.hot.loads = 1;
	m.sass.hot.load_bytes = 128;
	m.loop.registers = 20;
	build(&m);
	assert_non_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.loop.registers = 96;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.loop.registers = 0; /* not known */
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	arena_free(m.arena);
}

static void test_occupancy_is_no_score(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 128);
	set_resources(&m, 255, 0);
	set_class(&m, "compute", 75, 20);
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	assert_non_null(strstr(against(&m, ADVICE_RAISE_OCCUPANCY), "75%"));
	/* four warps per SM by shared memory, and nothing is saturated */
	set_resources(&m, 64, 120 * 1024);
	set_class(&m, "latency", 20, 30);
	build(&m);
	a = given(&m, ADVICE_RAISE_OCCUPANCY);
	assert_non_null(a);
	assert_true(
		any_has(a->evidence, a->evidence_n, "bytes of shared memory limit it to 1 block"));
	assert_non_null(strstr(a->change, "115,712 bytes"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "115,712 in place of 122,880"));
	/* memory-bound, but far from what streams reach, by tiles that are loaded, then used */
	set_class(&m, "memory", 1, 64);
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	m.sass.whole.loads = m.sass.hot.loads = 16;
	m.sass.hot.load_bytes = 16 * 512;
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY)); /* four warps have 32 KB in flight */
	m.sass.whole.shared = 16;
	build(&m);
	a = given(&m, ADVICE_RAISE_OCCUPANCY);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "memory at 64% of its peak"));
	assert_true(a->gain_high_pct <= 36);
	set_class(&m, "memory", 1, 76);
	build(&m);
	assert_null(given(&m, ADVICE_RAISE_OCCUPANCY));
	arena_free(m.arena);
}

static void test_bandwidth_near_its_peak_is_done(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8 + 1, 256);
	set_class(&m, "memory", 5, 91);
	m.k.work.bytes = 1 << 30;
	build(&m);
	a = given(&m, ADVICE_FUSE);
	assert_non_null(a);
	assert_true(any_has(a->conflicts, a->conflicts_n, "rounds in another order"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "must tolerate"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "registers of both"));
	assert_non_null(strstr(against(&m, ADVICE_TAIL), "memory is at 91%"));
	assert_int_equal(m.out.n, 1);
	/* a copy computes nothing, and no balance is known for that */
	m.k.roofline.intensity = derived(0);
	m.k.roofline.balance = NAN;
	build(&m);
	a = given(&m, ADVICE_FUSE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "intensity 0 FLOP/B"));
	arena_free(m.arena);
}

/* 90% of what DRAM delivers, but the data fits the L2, which can do more: the limit is reached only with bytes enough. */
static void test_data_in_the_l2_is_at_no_limit_of_dram(void **state)
{
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 2, 256);
	set_class(&m, "memory", 5, 90);
	m.k.work.bytes = 32 << 20;
	m.sass.hot.loads = m.sass.hot.stores = 1;
	m.sass.hot.load_bytes = m.sass.hot.store_bytes = 128;
	build(&m);
	assert_null(given(&m, ADVICE_FUSE));
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.sass.hot.load_bytes = m.sass.hot.store_bytes = 2048;
	build(&m);
	assert_non_null(given(&m, ADVICE_FUSE));
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	/* of data that does not fit it is the limit, whatever is in flight */
	m.k.work.bytes = 1 << 30;
	m.sass.hot.load_bytes = m.sass.hot.store_bytes = 128;
	build(&m);
	assert_non_null(given(&m, ADVICE_FUSE));
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	arena_free(m.arena);
}

/* Two loops of which the code counts neither: a sum at the end is longer, but the lanes of the launch say which is hot. */
static void test_the_launch_says_which_loop_is_hot(void **state)
{
	struct metric_loop loops[2];
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 2, 256);
	set_class(&m, "latency", 1, 25);
	loops[0] = loops[1] = m.loop;
	loops[0].is_main = loops[1].is_main = false;
	loops[0].turn = (struct metric_mix){.issued = 14, .loads = 2, .load_bytes = 256};
	loops[1].start = 0x500;
	loops[1].end = 0x700;
	loops[1].turn = (struct metric_mix){.issued = 25, .shared = 4};
	m.sass.loops = loops;
	m.sass.loops_n = 2;
	m.sass.hot_loop = 1;
	m.sass.hot = loops[1].turn;
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_all = m.access.sites_n = 2;
	m.sites[0] = (struct metric_site){.offset = 0x200, .op = "LDG.E", .kind = "load"};
	m.sites[1] = (struct metric_site){.offset = 0x600, .op = "LDS", .kind = "shared"};
	m.sites[0].requests = m.sites[1].requests = unknown;
	m.sites[0].sectors_per_request = m.sites[1].sectors_per_request = unknown;
	m.sites[0].excess = m.sites[1].excess = m.sites[0].own_excess = unknown;
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.sites[0].requests = derived(132 * 2 * 8 * 1024.0);
	build(&m);
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	/* fewer than the code's guess for the other one */
	m.sites[0].requests = derived(132 * 2 * 8 * 4.0);
	build(&m);
	assert_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	m.sites[1].requests = derived(0);
	build(&m);
	assert_non_null(given(&m, ADVICE_BYTES_IN_FLIGHT));
	arena_free(m.arena);
}

static void test_no_stall_codes_while_latency_bound(void **state)
{
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.ops[0] = (struct metric_op){"FFMA", 64, 4, 4, 20, NULL};
	m.ops[1] = (struct metric_op){"IMMA", 64, 4, 4, 20, NULL};
	m.sass.ops_n = 2;
	m.sass.whole.fma = 200;
	set_class(&m, "latency", 20, 20);
	build(&m);
	assert_null(given(&m, ADVICE_FFMA_STALLS));
	assert_null(given(&m, ADVICE_IMMA_STALLS));
	assert_non_null(against(&m, ADVICE_FFMA_STALLS));
	set_class(&m, "compute", 70, 20);
	build(&m);
	assert_non_null(given(&m, ADVICE_FFMA_STALLS));
	/* nobody proved that one is too high */
	m.ops[0].reducible = -1;
	m.ops[1].reducible = 0;
	build(&m);
	assert_null(given(&m, ADVICE_FFMA_STALLS));
	assert_null(against(&m, ADVICE_FFMA_STALLS));
	assert_null(given(&m, ADVICE_IMMA_STALLS));
	arena_free(m.arena);
}

static void test_waves(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	/* 8 blocks on 132 SMs: of 100 us at most what an eighth of 6% leaves */
	make(&m, "NVIDIA H200", 8, 256);
	build(&m);
	a = given(&m, ADVICE_PARALLELISM);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "8 blocks for 132 SMs: 124 never work"));
	/* two warps on a scheduler without loads: one of them alone may take as long as half of that */
	assert_true(a->gain_low_pct >= 38 && a->gain_low_pct <= 42);
	m.sass.hot.loads = 1; /* the turns of a loop that loads can be shared out */
	build(&m);
	a = given(&m, ADVICE_PARALLELISM);
	assert_non_null(a);
	assert_true(a->gain_low_pct >= 89 && a->gain_high_pct <= 99.4);
	m.sass.hot.loads = 0;
	/* without a time it may be over before a second block could help */
	m.k.times.median = NAN;
	build(&m);
	a = given(&m, ADVICE_PARALLELISM);
	assert_non_null(a);
	assert_true(a->gain_low_pct == 0 && a->gain_high_pct > 90);
	assert_null(given(&m, ADVICE_TAIL));
	arena_free(m.arena);
	/* one block past a wave of 1056: a block alone is done in an eighth, a little sooner, to three eighths of a wave */
	make(&m, "NVIDIA H200", 1057, 256);
	build(&m);
	a = given(&m, ADVICE_TAIL);
	assert_non_null(a);
	assert_true(a->gain_low_pct <= 3);
	assert_true(a->gain_high_pct >= 26 && a->gain_high_pct <= 28);
	assert_null(given(&m, ADVICE_PARALLELISM));
	arena_free(m.arena);
	/* blocks of an SM each, 140 for 132: the second round is as long as the first, or faster, and 5 quarters are left */
	make(&m, "NVIDIA H200", 140, 1024);
	set_resources(&m, 54, 0);
	build(&m);
	a = given(&m, ADVICE_TAIL);
	assert_non_null(a);
	assert_true(a->gain_low_pct >= 27 && a->gain_low_pct <= 31);
	assert_true(a->gain_high_pct >= 45 && a->gain_high_pct <= 47);
	arena_free(m.arena);
}

static void test_excess_sectors(void **state)
{
	char path[2001];
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 2;
	m.sites[0] = (struct metric_site){.offset = 0x80,
					  .line = "a.cu:7",
					  .op = "LDG.E",
					  .kind = "load",
					  .requests = derived(8448),
					  .sectors_per_request = derived(32),
					  .excess = derived(28),
					  .pattern = "lane stride 4096 B"};
	m.sites[1] = (struct metric_site){.offset = 0x90,
					  .op = "STG.E",
					  .kind = "store",
					  .requests = derived(8448),
					  .sectors_per_request = derived(4),
					  .excess = derived(0)};
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	assert_true(any_has(
		a->evidence, a->evidence_n,
		"LDG.E at 0x80 (a.cu:7): 32 sectors a request, 28 more than needed, lane stride 4096 B"));
	/* whatever the length of a path: text that is cut could end within a character */
	memset(path, 0xc3, sizeof(path));
	for (size_t i = 1; i < sizeof(path); i += 2)
		path[i] = (char)0xa9;
	path[sizeof(path) - 1] = 0;
	m.sites[0].line = path;
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, path));
	/* of 36 sectors 8 are needed: 77.8% at most, where the caches deliver two thirds of the rest 53.8%, less 4% of what is left */
	assert_true(a->gain_high_pct <= 78 && a->gain_high_pct >= 76);
	assert_true(a->gain_low_pct >= 49 && a->gain_low_pct <= 52);
	set_class(&m, "compute", 80, 20);
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	assert_non_null(against(&m, ADVICE_COALESCE));
	/* no request takes more than it needs */
	set_class(&m, "memory", 20, 70);
	m.sites[0].excess = derived(0);
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	arena_free(m.arena);
}

/* Two loads of 16 bytes at a stride of 32: each leaves half of its sectors to the other. */
static void test_excess_that_neighbours_use(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = 2;
	for (int i = 0; i < 2; i++)
		m.sites[i] = (struct metric_site){.offset = 0x180 + 16u * (unsigned)i,
						  .op = "LDG.E.128",
						  .kind = "load",
						  .requests = derived(8448),
						  .sectors_per_request = derived(32),
						  .excess = derived(16),
						  .own_excess = derived(0)};
	m.sass.hot.loads = 2;
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	/* half of the excess is nobody's: 16 + 4 of 48 sectors that the L1 fetches once */
	m.sites[0].own_excess = derived(16);
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "24 sectors of 32 bytes"));
	assert_true(any_has(a->evidence, a->evidence_n, "neighbours use 8 of 16"));
	assert_true(a->gain_high_pct <= 34 && a->gain_high_pct >= 32);
	/* a row per lane, used up by later turns: the L1 pays, if the code takes less time than that */
	for (int i = 0; i < 2; i++) {
		m.sites[i].excess = derived(31);
		m.sites[i].own_excess = derived(0);
	}
	m.k.times.median = NAN;
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "not DRAM"));
	m.sass.hot.issued = 40;
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	/* 12,800 requests on an SM, a line of its own for each lane: 207 us */
	for (int i = 0; i < 2; i++) {
		m.sites[i].lines = 32;
		m.sites[i].requests = derived(132 * 6400);
	}
	m.k.times.median = 220;
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "32 cycles of the L1"));
	assert_true(any_has(a->evidence, a->evidence_n, "busy for 94."));
	assert_true(a->gain_low_pct >= 67 && a->gain_low_pct <= 89 && a->gain_high_pct >= 97);
	/* it is not what the kernel waits for */
	m.k.times.median = 600;
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	arena_free(m.arena);
}

/* A word of each of 32 rows is stored: the L2 has each sector to read and to write, and the L1 keeps none together. */
static void test_stores_in_excess_cost_more(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = 2;
	for (int i = 0; i < 2; i++)
		m.sites[i] = (struct metric_site){.offset = 0x80 + 16u * (unsigned)i,
						  .op = i ? "STG.E" : "LDG.E",
						  .kind = i ? "store" : "load",
						  .requests = derived(8448),
						  .sectors_per_request = derived(i ? 32 : 4),
						  .excess = derived(i ? 28 : 0),
						  .own_excess = derived(i ? 28 : 0)};
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	/* 8 of 36 sectors are needed; of 68 where what is written in part is read, too; a third merges at best */
	assert_true(a->gain_high_pct >= 87 && a->gain_high_pct <= 89);
	assert_true(a->gain_low_pct >= 67 && a->gain_low_pct <= 70);
	/* nobody knows how often, and code that takes as long to issue as 16 times the sectors is most of it */
	m.sites[0].requests = m.sites[1].requests = unknown;
	m.sass.whole.loads = m.sass.whole.stores = 1;
	m.sass.whole.issued = 4 * 16 * 36 * 32.0 * 132 / 4900;
	m.sass.trips_known = true;
	build(&m);
	a = given(&m, ADVICE_COALESCE);
	assert_non_null(a);
	assert_true(a->gain_high_pct <= 7);
	arena_free(m.arena);
}

/* In the hottest loop nothing is scattered, and nobody knows how often it turns: what is outside of it is no matter. */
static void test_excess_outside_of_the_hot_loop(void **state)
{
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = 2;
	for (int i = 0; i < 2; i++)
		m.sites[i] = (struct metric_site){.offset = i ? 0x180 : 0x80,
						  .op = "LDG",
						  .kind = "load",
						  .requests = i ? unknown : derived(8448),
						  .sectors_per_request = derived(i ? 4 : 32),
						  .excess = derived(i ? 0 : 28)};
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	m.sites[1].offset = 0x90;
	build(&m);
	assert_non_null(given(&m, ADVICE_COALESCE));
	arena_free(m.arena);
}

/* One access of many is known to be scattered: that is not said of all, also of those that are not listed. */
static void test_what_is_not_known_is_no_excess(void **state)
{
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = 1;
	m.access.sites_all = 2;
	for (int i = 0; i < 2; i++)
		m.sites[i] = (struct metric_site){.op = "LDG",
						  .kind = "load",
						  .sectors_per_request = i ? unknown : derived(32),
						  .excess = i ? unknown : derived(28)};
	m.sites[0].requests = derived(8448);
	m.sites[1].requests = derived(40 * 8448);
	build(&m);
	assert_null(given(&m, ADVICE_COALESCE));
	m.sites[1].requests = derived(8448);
	build(&m);
	assert_non_null(given(&m, ADVICE_COALESCE));
	/* how often is not known; it may be as often as the other, unless of all that were looked at none came there */
	m.sites[1].requests = unknown;
	for (int i = 0; i < 2; i++) {
		const struct metric_advice *a;

		m.sites[1].is_unseen = i;
		build(&m);
		a = given(&m, ADVICE_COALESCE);
		assert_non_null(a);
		assert_true(i ? a->gain_high_pct > 80 : a->gain_high_pct < 80);
	}
	arena_free(m.arena);
}

/* 512 accesses of 32 wavefronts, one would do: the unit is busy for as long as the kernel takes. */
static void test_bank_conflicts(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 1;
	m.sites[0] = (struct metric_site){.op = "LDS",
					  .kind = "shared",
					  .requests = unknown,
					  .sectors_per_request = derived(32),
					  .excess = derived(31),
					  .pattern = "32 words of one bank"};
	m.sass.whole.shared = 512;
	m.sass.trips_known = true;
	m.k.times.median = 64 * 512 * 32 / m.hw.clock_mhz;
	build(&m);
	a = given(&m, ADVICE_BANK_CONFLICTS);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n,
			    "32 wavefronts in an average request to shared memory, 1 would do"));
	assert_true(any_has(a->evidence, a->evidence_n, "busy for 100% of the time"));
	assert_true(a->gain_high_pct >= 96);
	assert_true(a->gain_low_pct >= 70 && a->gain_low_pct <= 75);
	/* of warps that skip the code nobody makes a request: half of the time */
	m.sites[0].requests = derived(256.0 * 132 * 8 * 8);
	build(&m);
	a = given(&m, ADVICE_BANK_CONFLICTS);
	assert_non_null(a);
	assert_true(a->gain_high_pct >= 50 && a->gain_high_pct <= 56);
	m.sites[0].requests = unknown;
	/* at the bandwidth of memory, or where compute sets the time, it is hidden */
	set_class(&m, "memory", 20, 80);
	build(&m);
	assert_null(given(&m, ADVICE_BANK_CONFLICTS));
	assert_non_null(against(&m, ADVICE_BANK_CONFLICTS));
	/* 35% are left to the data sheet, but streams end between 75 and 90% of it */
	set_class(&m, "memory", 20, 65);
	build(&m);
	a = given(&m, ADVICE_BANK_CONFLICTS);
	assert_non_null(a);
	assert_true(a->gain_high_pct == 35 && a->gain_low_pct == 9);
	set_class(&m, "compute", 70, 20);
	build(&m);
	assert_null(given(&m, ADVICE_BANK_CONFLICTS));
	arena_free(m.arena);
}

/* One address takes a request every 1.25 to 1.6 cycles: what is left is one of each block. */
static void test_atomics_on_one_address(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 1024, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 1;
	m.sites[0] = (struct metric_site){.op = "ATOMG.E.ADD",
					  .kind = "atomic",
					  .requests = derived(8192),
					  .sectors_per_request = derived(1),
					  .excess = derived(0),
					  .is_everywhere = true};
	m.sass.whole.atomics = 1;
	m.sass.trips_known = true;
	m.k.times.median = 8192 * 1.6 / m.hw.clock_mhz; /* nothing else takes time */
	build(&m);
	a = given(&m, ADVICE_ATOMICS);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "8,192 requests, 8 for each block"));
	/* seven of eight requests, and no more than all but an empty kernel */
	assert_true(a->gain_high_pct >= 85 && a->gain_high_pct <= 92);
	assert_true(a->gain_low_pct >= 45 && a->gain_low_pct <= 66);
	/* two warps of a block: half of them is saved */
	m.sites[0].requests = derived(2 * 1024);
	build(&m);
	a = given(&m, ADVICE_ATOMICS);
	assert_non_null(a);
	assert_true(a->gain_high_pct <= 15);
	/* one of a block already */
	m.sites[0].requests = derived(1024);
	build(&m);
	assert_null(given(&m, ADVICE_ATOMICS));
	/* how often is not known: one thread of a block may fetch its work so */
	m.sites[0].requests = unknown;
	m.sass.trips_known = false;
	build(&m);
	assert_null(given(&m, ADVICE_ATOMICS));
	/* each at a place of its own */
	m.sites[0].requests = derived(8192);
	m.sites[0].is_everywhere = false;
	build(&m);
	assert_null(given(&m, ADVICE_ATOMICS));
	arena_free(m.arena);
}

/* Lanes at one address are done one after another, floats at less than half of the rate of integers. */
static void test_atomics_of_lanes(void **state)
{
	static const struct {
		const char *op;
		double lanes, cycles;
	} rows[] = {{"REDG.E.ADD.STRONG.GPU", 32, 1.46},
		    {"REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", 32, 3.49},
		    {"ATOMG.E.ADD.F16x2.RN.STRONG.GPU", 8, 3.49}};
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 8192, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct metric_advice *a;

		m.sites[0] = (struct metric_site){.op = rows[i].op,
						  .kind = "atomic",
						  .lanes = rows[i].lanes,
						  .requests = derived(65536),
						  .sectors_per_request = derived(1),
						  .excess = derived(0),
						  .is_everywhere = true};
		m.k.times.median =
			65536 * rows[i].lanes * rows[i].cycles / m.hw.clock_mhz; /* measured so */
		build(&m);
		a = given(&m, ADVICE_ATOMICS);
		assert_non_null(a);
		assert_true(a->gain_high_pct >= 98);
		assert_true(a->gain_low_pct >= 60);
	}
	arena_free(m.arena);
}

/* Where addresses come from memory: only if the kernel takes far longer than all that is known of it. */
static void test_atomics_that_meet(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 32768, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 2;
	m.access.atomics = derived(8388608);
	m.sites[0] = (struct metric_site){.op = "LDG.E",
					  .kind = "load",
					  .requests = derived(262144),
					  .sectors_per_request = derived(4),
					  .own_excess = derived(0),
					  .excess = derived(0)};
	m.sites[1] = (struct metric_site){.op = "REDG.E.ADD.STRONG.GPU",
					  .kind = "atomic",
					  .lanes = 32,
					  .requests = derived(262144),
					  .sectors_per_request = unknown,
					  .excess = unknown};
	m.sass.whole.issued = 21;
	m.sass.whole.loads = m.sass.whole.atomics = 1;
	m.sass.trips_known = true;
	m.k.times.median = 2163; /* at 256 words, measured on an H200 */
	build(&m);
	a = given(&m, ADVICE_ATOMICS);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n,
			    "8,388,608 operations at addresses that memory decides"));
	assert_true(a->gain_low_pct >= 85 && a->gain_high_pct >= 99);
	/* at a rate that the L2 has for any addresses */
	m.k.times.median = 120;
	build(&m);
	assert_null(given(&m, ADVICE_ATOMICS));
	/* nobody knows how often */
	m.k.times.median = 2163;
	m.sass.trips_known = false;
	build(&m);
	assert_null(given(&m, ADVICE_ATOMICS));
	arena_free(m.arena);
}

/* A fifth to seven tenths of what is missing to the peak of the tensor cores. */
static void test_reuse(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	set_class(&m, "compute", 70, 20);
	m.sass.has_products = true;
	m.loop.compute_op = "HMMA";
	m.loop.compute_ops = 32;
	m.loop.ratio = 12;
	build(&m);
	a = given(&m, ADVICE_REUSE);
	assert_non_null(a);
	assert_int_equal(a->gain_low_pct, 2);
	assert_int_equal(a->gain_high_pct, 21);
	assert_true(any_has(a->conflicts, a->conflicts_n,
			    "32 registers more: 4 blocks and 32 warps per SM (64 now)"));
	/* a tile that no block has room for */
	set_resources(&m, 240, 0);
	build(&m);
	a = given(&m, ADVICE_REUSE);
	assert_non_null(a);
	assert_true(any_has(a->conflicts, a->conflicts_n, "it cannot be launched so"));
	set_class(&m, "compute", 85, 20);
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	assert_non_null(against(&m, ADVICE_REUSE));
	arena_free(m.arena);
}

/* A turn of 16 multiply-adds that reads 32 words for them, four cycles of arithmetic and 32 of loads. */
static void make_product(struct made *m, const char *kind)
{
	make(m, "NVIDIA H200", 132 * 8, 256);
	m->sass.hot_loop = 0;
	m->sass.hot = (struct metric_mix){.issued = 64, .fma = 16, .loads = 32};
	if (!strcmp(kind, "shared"))
		m->sass.hot.shared = 32, m->sass.hot.loads = 0;
	m->sass.idioms.sums = 1;
	m->sass.idioms.multiplies = 16;
	m->sass.idioms.product_at = 0x100;
	m->access.sites = m->sites;
	m->access.sites_n = m->access.sites_all = 1;
	m->k.access = &m->access;
	/* as if it were one instruction of 32 wavefronts; or of 128 sectors, which are as many cycles */
	m->sites[0] = (struct metric_site){.offset = 0x200,
					   .op = "OP",
					   .kind = kind,
					   .sectors_per_request =
						   derived(strcmp(kind, "shared") ? 128 : 32),
					   .excess = derived(0),
					   /* 80.1 of 100 us at 1980 MHz of 132 SMs */
					   .requests = derived(80.1 * 1980 * 132 / 32)};
	set_class(m, "latency", 10, 5);
}

static void test_operands_that_are_loaded_for_each_multiply_add(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make_product(&m, "shared");
	build(&m);
	a = given(&m, ADVICE_REUSE);
	assert_non_null(a);
	/* three quarters of half of 80%; at best issuing what is left takes 10 of 32 cycles */
	assert_int_equal(a->gain_low_pct, 27);
	assert_int_equal(a->gain_high_pct, 69);
	assert_true(
		any_has(a->evidence, a->evidence_n, "load/store unit 32.0 cycles (shared memory)"));
	assert_true(any_has(a->evidence, a->evidence_n, "busy for 80"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "24 registers more: 4 blocks"));
	/* what banks in conflict take is another matter */
	m.sites[0].sectors_per_request = derived(64);
	m.sites[0].excess = derived(32);
	build(&m);
	assert_int_equal(given(&m, ADVICE_REUSE)->gain_low_pct, 27);
	/* hidden */
	m.k.times.median = 250;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	/* by composition alone nothing is sure */
	m.k.times.median = NAN;
	build(&m);
	assert_int_equal(given(&m, ADVICE_REUSE)->gain_low_pct, 0);
	m.k.times.median = 100;
	m.sites[0].requests = unknown;
	build(&m);
	assert_int_equal(given(&m, ADVICE_REUSE)->gain_low_pct, 0);
	/* issuing takes as long */
	m.sass.hot.issued = 110;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	m.sass.hot.issued = 64;
	/* another loop; a tile that is large enough; memory */
	m.sass.idioms.product_at = 0x80;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	m.sass.idioms.product_at = 0x100;
	m.sass.idioms.sums = 64;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	m.sass.idioms.sums = 1;
	set_class(&m, "memory", 10, 80);
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	assert_non_null(against(&m, ADVICE_REUSE));
	arena_free(m.arena);
	/* the same of other operations; four results from as many words are under way already */
	make_product(&m, "shared");
	m.sass.idioms.sums = m.sass.idioms.multiplies = 0;
	m.sass.idioms.pairs = 16;
	m.sass.idioms.pair_operands = 32;
	m.sass.idioms.pairs_at = 0x100;
	m.sass.hot.fma = 0;
	build(&m);
	a = given(&m, ADVICE_REUSE);
	assert_non_null(a);
	assert_int_equal(a->gain_low_pct, 27);
	assert_true(any_has(a->evidence, a->evidence_n,
			    "16 operations on two loaded values for 32 loads in a turn, 1 result"));
	m.sass.idioms.pair_operands = 16;
	build(&m);
	assert_true(given(&m, ADVICE_REUSE)->gain_low_pct < 20);
	assert_true(any_has(given(&m, ADVICE_REUSE)->evidence, 2, "4 results under way"));
	/* a unit of arithmetic takes as long */
	m.loop.issue_cycles = 112;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	arena_free(m.arena);
	/* from global memory a shared tile alone is a step: five eighths */
	make_product(&m, "load");
	build(&m);
	a = given(&m, ADVICE_REUSE);
	assert_non_null(a);
	assert_int_equal(a->gain_low_pct, 19);
	assert_non_null(strstr(a->change, "shared memory"));
	arena_free(m.arena);
}

/* Two passes over 128 MB and one that writes as much; the second loop has its end from somewhere. */
static void make_passes(struct made *m, struct metric_loop loops[2])
{
	make(m, "NVIDIA H200", 32768, 256);
	loops[0] = loops[1] = m->loop;
	loops[1].start = 0x500;
	loops[1].end = 0x800;
	m->sass.loops = loops;
	m->sass.loops_n = 2;
	m->sass.hot_loop = 0;
	m->access.sites = m->sites;
	m->access.sites_n = m->access.sites_all = 3;
	m->k.access = &m->access;
	for (unsigned i = 0; i < 3; i++)
		m->sites[i] = (struct metric_site){.offset = i ? 0x500 + 16 * i : 0x200,
						   .op = i < 2 ? "LDG.E" : "STG.E",
						   .kind = i < 2 ? "load" : "store",
						   .requests = derived(1 << 20),
						   .sectors_per_request = derived(4),
						   .excess = derived(0),
						   .lane_bytes = 4};
	m->sites[1].is_again = true;
	m->sites[1].first = 0x200;
	set_class(m, "latency", 10, 50);
}

static void test_passes_over_the_same_data(void **state)
{
	const struct metric_advice *a;
	struct metric_loop loops[2];
	struct made m;

	(void)state;
	make_passes(&m, loops);
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	/* 128 MB from the L2 take 13.8 of 100 us, three quarters of it; a third of all bytes, 0.6 us stay */
	assert_int_equal(a->gain_low_pct, 6);
	assert_int_equal(a->gain_high_pct, 34);
	assert_true(any_has(a->evidence, a->evidence_n, "at 0x510 reads what the load at 0x200"));
	assert_true(any_has(a->evidence, a->evidence_n, "128 MB of 384 MB"));
	assert_true(any_has(a->evidence, a->evidence_n, "4.12 MB, is in the L2"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "4 of each thread"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "4096 bytes of a block: 8 blocks"));
	/* one pass is left: 256 MB at nine tenths of 4.8 TB/s take 62.1 us */
	m.k.times.median = 80;
	build(&m);
	assert_int_equal(given(&m, ADVICE_READ_ONCE)->gain_high_pct, 23);
	m.k.times.median = 100;
	/* rows that do not fit */
	m.shape.grid[0] = 132 * 8;
	set_resources(&m, 32, 0);
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "128 MB, is in DRAM"));
	/* how often the second loop runs is not known, but that it is the same data */
	arena_free(m.arena);
	make_passes(&m, loops);
	m.sites[1].requests = m.sites[2].requests = unknown;
	build(&m);
	assert_int_equal(given(&m, ADVICE_READ_ONCE)->gain_high_pct, 34);
	/* in no loop of its own few warps may come there */
	m.sites[1].offset = 0x900;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	/* nothing read again; the bandwidth is reached; compute */
	arena_free(m.arena);
	make_passes(&m, loops);
	m.sites[1].is_again = false;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.sites[1].is_again = true;
	set_class(&m, "memory", 10, 80);
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	assert_non_null(strstr(against(&m, ADVICE_READ_ONCE), "1 load reads"));
	set_class(&m, "compute", 85, 30);
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	arena_free(m.arena);
}

/* 25 loads around each point and 117 instructions for their addresses: 168 issued by 8 warps of 8 blocks an SM. */
/* 40 blocks of 8 warps on each SM; 1000 turns of an inner loop with two loads, which are the same in 10 outer ones, and one from shared memory. */
static void make_each_turn(struct made *m, struct metric_loop loops[2])
{
	make(m, "NVIDIA H200", 132 * 40, 256);
	loops[0] = loops[1] = m->loop;
	loops[0].start = 0x80;
	loops[0].end = 0x800;
	loops[0].is_innermost = loops[0].is_main = false;
	loops[0].trips = 10;
	loops[1].depth = 2;
	loops[1].issue_cycles = 10;
	m->sass.loops = loops;
	m->sass.loops_n = 2;
	m->sass.hot_loop = 1;
	m->sass.hot.issued = 10;
	m->sass.hot.fma = 4;
	m->sass.hot.loads = 2;
	m->sass.hot.shared = 1;
	m->access.sites = m->sites;
	m->access.sites_n = m->access.sites_all = 3;
	m->k.access = &m->access;
	for (unsigned i = 0; i < 3; i++)
		m->sites[i] = (struct metric_site){.offset = 0x200 + 16 * i,
						   .op = i < 2 ? "LDG.E" : "LDS",
						   .kind = i < 2 ? "load" : "shared",
						   .requests = derived(132 * 40 * 8 * 1000.0),
						   .sectors_per_request = derived(i < 2 ? 4 : 1),
						   .excess = derived(0),
						   .lane_bytes = 4,
						   .is_each_turn = i < 2,
						   .around = i < 2 ? 0x80 : 0};
	set_class(m, "latency", 10, 20);
	m->k.times.median = 800;
}

static void test_loads_that_each_turn_around_repeats(void **state)
{
	const struct metric_advice *a;
	struct metric_loop loops[2];
	struct made m;
	double unit, low;

	(void)state;
	make_each_turn(&m, loops);
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n,
			    "loop at 0x80 around it, of which there are 10"));
	assert_true(any_has(a->evidence, a->evidence_n, "2 of 3 loads in a turn"));
	/* 320 warps of an SM x 1000 turns, each load 128 bytes; issuing takes 2.5 cycles a turn, and 2 without them */
	unit = 2 * 128.0 / m.hw.arch.l1_bytes_measured + 1;
	assert_true(unit > 2.5);
	low = 0.75 * 320 * (unit - 2) / 1.98 / 8;
	assert_true(fabs(a->gain_low_pct - (low - 0.04 * (100 - low))) < 2);
	/* four multiply-adds and a quarter of a load from shared memory are left of a turn */
	assert_true(fabs(a->gain_high_pct - (100 - 320 * 4.25 / 4 / 1.98 / 8)) < 2);
	/* the unit is busy for less than two fifths of the time */
	m.k.times.median = 320 * unit / 1.98 / 0.35;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	/* how often is not known: it begins at 0 */
	for (unsigned i = 0; i < 3; i++)
		m.sites[i].requests = unknown;
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_true(a && a->gain_low_pct == 0);
	assert_true(fabs(a->gain_high_pct - 100 * (1 - 4.25 / 4 / unit)) < 2);
	/* a product has its own rule */
	m.sass.idioms.sums = 1;
	m.sass.idioms.multiplies = 4;
	m.sass.idioms.product_at = 0x200;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.sass.idioms.sums = 0;
	/* others issue so much that loads do not matter */
	m.sass.hot.issued = 100;
	m.sass.hot.fma = 90;
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_true(!a || a->gain_high_pct < 12);
	/* a unit is at its limit */
	m.sass.hot.issued = 10;
	m.sass.hot.fma = 4;
	set_class(&m, "memory", 10, 80);
	build(&m);
	assert_non_null(against(&m, ADVICE_READ_ONCE));
	/* nothing of it is in the hottest loop */
	set_class(&m, "latency", 10, 20);
	m.sites[0].is_each_turn = m.sites[1].is_each_turn = false;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	arena_free(m.arena);
}

/* 25 loads of which each word is wanted by four lanes or turns. */
static void make_neighbours(struct made *m)
{
	make(m, "NVIDIA H200", 132 * 496, 256);
	m->sass.hot_loop = -1;
	m->sass.loops_n = 0;
	m->sass.trips_known = true;
	m->sass.whole = (struct metric_mix){.issued = 168, .fma = 25, .loads = 25, .stores = 1};
	m->access.sites = m->sites;
	m->access.sites_n = m->access.sites_all = 1;
	m->access.overlap = (struct metric_overlap){
		.loads = 25, .first = 0x100, .asked = 800, .different = 180};
	m->k.access = &m->access;
	m->sites[0] = (struct metric_site){.offset = 0x100,
					   .op = "LDG.E",
					   .kind = "load",
					   .requests = derived(132.0 * 496 * 8 * 25),
					   .sectors_per_request = derived(4),
					   .excess = derived(0),
					   .lane_bytes = 4};
	set_class(m, "compute", 62, 21);
	m->k.times.median = 132;
}

static void test_neighbours_that_load_the_same(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make_neighbours(&m);
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	/* 84.2 of 132 us; three quarters of what half of 117 take; 85% of those and three quarters of 25, and a tenth */
	assert_int_equal(a->gain_low_pct, 13);
	assert_int_equal(a->gain_high_pct, 50);
	assert_true(any_has(a->evidence, a->evidence_n, "800 words in a warp, of which 180"));
	assert_true(any_has(a->evidence, a->evidence_n, "117 make addresses"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "up to 5760 bytes of shared memory: 8"));
	/* hidden; not known how often; of memory; as in a product; once */
	m.k.times.median = 300;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.k.times.median = 132;
	m.sass.trips_known = false;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.sass.trips_known = true;
	set_class(&m, "balanced", 62, 80);
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	assert_non_null(against(&m, ADVICE_READ_ONCE));
	set_class(&m, "compute", 62, 21);
	m.sass.idioms.sums = 1;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.sass.idioms.sums = 0;
	m.access.overlap.different = 400;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	arena_free(m.arena);
}

/* 128 loads and as many multiply-adds for each result: loading takes 129 cycles, to issue that 86. */
/* What eight blocks load alike is loaded once for the results of some of them; what is used often is left alone. */
/* A filter from shared memory: a word for each multiply-add; and a loop of which nobody knows how often it runs. */
static void test_windows_in_shared_memory(void **state)
{
	const struct metric_advice *a;
	struct metric_loop loops[2];
	struct made m;

	(void)state;
	make_each_turn(&m, loops);
	for (unsigned i = 0; i < 3; i++) {
		m.sites[i].kind = "shared";
		m.sites[i].op = "LDS";
		m.sites[i].sectors_per_request = derived(1);
		m.sites[i].is_each_turn = false;
	}
	/* three cycles of the load/store unit in a turn, for 2.5 to issue it: 485 us */
	m.sass.hot = (struct metric_mix){.issued = 8, .fma = 3, .shared = 3};
	loops[0] = loops[1];
	loops[0].start = 0x10;
	loops[0].end = 0x60;
	loops[0].depth = 1;
	loops[0].turn.issued = 1000;
	loops[1].issue_cycles = 8;
	loops[1].turn = m.sass.hot;
	m.access.shared_overlap = (struct metric_overlap){
		.loads = 3, .first = 0x200, .is_in_loop = true, .asked = 96, .different = 34};
	m.k.times.median = 800;
	m.sass.hot_loop = 0;
	build(&m);
	a = given(&m, ADVICE_REUSE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "ask for 96 words in a warp"));
	assert_true(any_has(a->evidence, a->evidence_n, "busy for 60.6% of the time"));
	assert_true(a->gain_low_pct > 0 && a->gain_low_pct < 20 && a->gain_high_pct > 40);
	assert_non_null(strstr(a->change, "below each other"));
	/* less than half of the time: the other loop may be the hottest */
	m.k.times.median = 1000;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	m.k.times.median = 800;
	m.access.shared_overlap.different = 60;
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	m.access.shared_overlap.different = 34;
	m.sass.hot.fma = loops[1].turn.fma = 2; /* of other things */
	build(&m);
	assert_null(given(&m, ADVICE_REUSE));
	arena_free(m.arena);
}

static void test_blocks_that_load_the_same(void **state)
{
	const struct metric_advice *a;
	double low, high;
	struct made m;

	(void)state;
	make_neighbours(&m);
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	low = a->gain_low_pct;
	high = a->gain_high_pct;
	m.access.overlap.blocks = 8;
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "8 blocks ask for the same"));
	assert_true(a->gain_low_pct > low && a->gain_high_pct > high && a->gain_high_pct < 95);
	assert_non_null(strstr(a->change, "several of these blocks"));
	m.sass.whole.fma = 4 * m.sass.whole.loads;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	arena_free(m.arena);
}

static void test_neighbours_where_loading_sets_the_time(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 65536, 256);
	m.sass.hot_loop = -1;
	m.sass.trips_known = true;
	m.sass.whole = (struct metric_mix){.issued = 343, .fma = 128, .loads = 128, .stores = 1};
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 1;
	m.access.overlap = (struct metric_overlap){
		.loads = 128, .first = 0x100, .asked = 4096, .different = 159};
	m.k.access = &m.access;
	m.sites[0] = (struct metric_site){.offset = 0x100,
					  .op = "LDG.E",
					  .kind = "load",
					  .requests = derived(65536.0 * 8 * 129),
					  .sectors_per_request = derived(4),
					  .excess = derived(0),
					  .lane_bytes = 4};
	set_class(&m, "latency", 19, 8);
	m.k.times.median = 338;
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	/* a quarter of the loads and half of the rest: 51 of 129 cycles, of 259 us; at best 128 and 8 of loads to issue */
	assert_int_equal(a->gain_low_pct, 32);
	assert_int_equal(a->gain_high_pct, 74);
	assert_non_null(strstr(a->change, "results in a row"));
	/* a loop that turns nobody knows how often: by its requests */
	m.sass.hot_loop = 0;
	m.sass.trips_known = false;
	m.sass.hot = (struct metric_mix){.issued = 3, .fma = 1, .loads = 1};
	m.access.overlap.is_in_loop = true;
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	assert_true(a->gain_low_pct >= 25 && a->gain_low_pct <= 32 && a->gain_high_pct >= 70);
	/* another loop; not known how often */
	m.access.overlap.first = 0x800;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.access.overlap.first = 0x100;
	m.sites[0].requests = unknown;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	arena_free(m.arena);
}

/* A table of 16 KB in four turns of 28 instructions, of 146 that a warp issues; 124 waves. */
static void test_a_table_that_all_blocks_load(void **state)
{
	const struct metric_advice *a;
	const double warps = 131072.0 * 8;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 131072, 256);
	m.sass.hot_loop = 0;
	m.loop.issue_cycles = 28;
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 2;
	m.access.warp_instructions = derived(146 * warps);
	m.sites[0] = (struct metric_site){.offset = 0x200,
					  .op = "LDG.E.128",
					  .kind = "load",
					  .requests = derived(4 * warps),
					  .sectors_per_request = derived(16),
					  .lanes = 32,
					  .lane_bytes = 16,
					  .is_of_all_blocks = true};
	m.sites[1] = (struct metric_site){.offset = 0x300,
					  .op = "STS.128",
					  .kind = "shared",
					  .requests = derived(4 * warps),
					  .sectors_per_request = derived(4)};
	set_class(&m, "compute", 64, 25);
	m.k.roofline.issue_pct = derived(64);
	m.k.roofline.pipe_pct = NAN;
	m.k.times.median = 224;
	build(&m);
	a = given(&m, ADVICE_READ_ONCE);
	assert_non_null(a);
	/* 112 of 146 instructions; three quarters of them, and at most what leaves the bytes at 90% of the bandwidth */
	assert_true(a->gain_low_pct >= 52 && a->gain_low_pct <= 56);
	assert_true(a->gain_high_pct >= 70 && a->gain_high_pct <= 77);
	assert_true(any_has(a->evidence, a->evidence_n, "all 131072 blocks load the same 16 KB"));
	/* a row of its own for each block; how long issuing takes is hidden; memory; nobody keeps it */
	m.sites[0].is_of_all_blocks = false;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.sites[0].is_of_all_blocks = true;
	m.k.roofline.issue_pct = derived(35);
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.k.roofline.issue_pct = derived(64);
	set_class(&m, "balanced", 64, 80);
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	assert_non_null(against(&m, ADVICE_READ_ONCE));
	set_class(&m, "compute", 64, 25);
	m.sites[1].kind = "store";
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	m.sites[1].kind = "shared";
	/* one wave */
	m.k.occupancy.waves = 1;
	build(&m);
	assert_null(given(&m, ADVICE_READ_ONCE));
	arena_free(m.arena);
}

/* Half of the lanes on each side of 200 and 600 instructions, of 1000: half of 80% is issued for idle lanes. */
static void test_lanes_that_part(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.access = &m.access;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 1;
	m.sites[0] = (struct metric_site){.offset = 0x100,
					  .op = "BRA",
					  .kind = "branch",
					  .requests = derived(132 * 64),
					  .sectors_per_request = unknown,
					  .excess = {200, 0, 600, QUANTITY_ESTIMATED,
						     QUANTITY_BY_CODE, NULL},
					  .lanes = 16};
	m.sass.whole.issued = 1000;
	build(&m);
	a = given(&m, ADVICE_DIVERGENCE);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "16 of 32 take it"));
	assert_true(a->gain_high_pct <= 44 && a->gain_high_pct >= 43);
	assert_true(a->gain_low_pct <= 26 && a->gain_low_pct >= 23);
	/* at the bandwidth of memory the issue slots are free */
	set_class(&m, "memory", 20, 70);
	build(&m);
	assert_null(given(&m, ADVICE_DIVERGENCE));
	assert_non_null(against(&m, ADVICE_DIVERGENCE));
	set_class(&m, "unknown", NAN, NAN);
	/* how many lanes take it is not known */
	m.sites[0].lanes = 0;
	build(&m);
	assert_null(given(&m, ADVICE_DIVERGENCE));
	arena_free(m.arena);
}

/* Of the times of a stand-in driver nothing is made: any other gives the same. */
static void test_made_up_times_change_nothing(void **state)
{
	struct metric_advice first;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 8, 256);
	m.run.no_times = true;
	build(&m);
	assert_int_equal(m.out.n, 1);
	first = m.out.items[0];
	m.k.times.median = 1;
	build(&m);
	assert_int_equal(m.out.n, 1);
	assert_true(first.gain_low_pct == m.out.items[0].gain_low_pct);
	assert_true(first.gain_high_pct == m.out.items[0].gain_high_pct);
	arena_free(m.arena);
}

/* PTX for an older GPU is compiled at load; that for this one was made at run time, and is meant to be so. */
static void test_code_of_an_older_gpu(void **state)
{
	struct session_image image = {.kind = KBN_KIND_PTX, .sm = 80};
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.kernel.image = &image;
	build(&m);
	assert_non_null(given(&m, ADVICE_JIT));
	image.sm = 90;
	build(&m);
	assert_null(given(&m, ADVICE_JIT));
	image = (struct session_image){.kind = KBN_KIND_CUBIN, .sm = 80};
	build(&m);
	assert_null(given(&m, ADVICE_JIT));
	arena_free(m.arena);
}

static void test_launches(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	/* 1.2 us, 16 blocks: whatever keeps the GPU busy */
	make(&m, "NVIDIA H200", 16, 256);
	m.k.times.median = 1.2;
	m.k.launches = 31;
	build(&m);
	assert_null(given(&m, ADVICE_LAUNCH));
	m.k.launches = 1000;
	m.run.busy_pct = 99;
	build(&m);
	a = given(&m, ADVICE_LAUNCH);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "16 blocks of each launch for 132 SMs"));
	assert_false(any_has(a->evidence, a->evidence_n, "waits for the host"));
	m.run.busy_pct = 20;
	build(&m);
	a = given(&m, ADVICE_LAUNCH);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "waits for the host"));
	/* half of it is the fixed part, and the rest fills an eighth of the SMs at most */
	assert_true(a->gain_low_pct >= 93 && a->gain_low_pct <= 95);
	assert_true(a->gain_high_pct < 100);
	/* on a full GPU a tenth of the time is its work, or a fourth of what is issued */
	m.shape.grid[0] = 1320;
	set_resources(&m, 32, 0);
	build(&m);
	a = given(&m, ADVICE_LAUNCH);
	assert_true(a && a->gain_high_pct > 89 && a->gain_high_pct < 91);
	m.k.roofline.issue_pct = derived(12);
	build(&m);
	a = given(&m, ADVICE_LAUNCH);
	assert_true(a && a->gain_high_pct > 96 && a->gain_high_pct < 98);
	m.shape.grid[0] = 16;
	set_resources(&m, 32, 0);
	/* hardly longer, with idle SMs; and not with none */
	m.k.times.median = 3;
	build(&m);
	assert_non_null(given(&m, ADVICE_LAUNCH));
	m.k.times.median = 30;
	build(&m);
	assert_null(given(&m, ADVICE_LAUNCH));
	m.k.times.median = 3;
	m.shape.grid[0] = 1320;
	build(&m);
	assert_null(given(&m, ADVICE_LAUNCH));
	/* shorter than the gap behind it, whatever the rest of the run does */
	m.k.times.median = 8;
	m.run.busy_pct = NAN;
	m.k.verdict.launch_bound = true;
	build(&m);
	assert_non_null(given(&m, ADVICE_LAUNCH));
	arena_free(m.arena);
}

static void test_spills_say_what_registers_would_cost(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.k.resources.local_bytes = 256;
	set_resources(&m, 32, 0);
	m.sass.whole.local = 100;
	m.sass.whole.local_bytes = 12800;
	m.k.resources.spill_instructions = 100;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_non_null(a);
	/* 96 registers: 65536 / (96 x 256) = 2 blocks */
	assert_true(any_has(a->conflicts, a->conflicts_n,
			    "96 per thread: 2 blocks and 16 warps per SM (64 now)"));
	m.k.resources.local_bytes = 1024;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_non_null(a);
	assert_true(any_has(a->conflicts, a->conflicts_n, "there are at most 255"));
	assert_non_null(strstr(a->change, "allow more registers"));
	/* what nobody can have is not to be allowed: of 255, or of 64 in a block of 1,024 threads */
	set_resources(&m, 255, 0);
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_non_null(a);
	assert_null(strstr(a->change, "allow more registers"));
	arena_free(m.arena);
	make(&m, "NVIDIA H200", 132 * 8, 1024);
	m.k.resources.local_bytes = 256;
	m.k.resources.spill_instructions = 100;
	set_resources(&m, 64, 0);
	m.sass.whole.local = 100;
	m.sass.whole.local_bytes = 12800;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_non_null(a);
	assert_null(strstr(a->change, "allow more registers"));
	arena_free(m.arena);
}

/* 100 of 400 instructions access an array, half of them store: the L2 takes these, as the L1 holds no store. */
static void test_arrays_in_local_memory_are_no_spills(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 80, 256);
	m.k.resources.local_bytes = 32;
	set_resources(&m, 32, 0);
	m.sass.whole.local = 100;
	m.sass.whole.local_bytes = 12800;
	m.sass.whole.local_store_bytes = 6400;
	m.sass.trips_known = true;
	/* 640 warps of an SM: 75 cycles to issue the rest are 24 us; at 18.6 bytes a cycle the stores are 112 us */
	m.k.times.median = 150;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "no instruction spills a register"));
	assert_true(any_has(a->evidence, a->evidence_n,
			    "64 warps hold 64 KB of it: that is in the L1"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "in shared memory it takes 8192 bytes"));
	assert_true(a->gain_low_pct > 40 && a->gain_low_pct < 60 && a->gain_high_pct > 80 &&
		    a->gain_high_pct < 90);
	/* ten times as long: the unit is hidden */
	m.k.times.median = 1500;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	/* unless lanes have indices of their own, and a sector each */
	assert_true(a && a->gain_low_pct == 0 && a->gain_high_pct > 90);
	m.k.times.median = 15000;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_true(a && a->gain_low_pct == 0 && a->gain_high_pct < 10);
	/* what functions put aside now and then */
	m.sass.whole.local = 10;
	build(&m);
	assert_null(given(&m, ADVICE_SPILLS));
	m.sass.whole.local = 100;
	set_class(&m, "memory", 10, 90);
	build(&m);
	assert_null(given(&m, ADVICE_SPILLS));
	assert_non_null(against(&m, ADVICE_SPILLS));
	set_class(&m, "unknown", NAN, NAN);
	/* calls into the driver hand over in local memory */
	m.k.resources.uses_syscalls = 1;
	build(&m);
	assert_null(given(&m, ADVICE_SPILLS));
	/* loops that are not counted: by the code of a turn */
	m.k.resources.uses_syscalls = 0;
	m.sass.trips_known = false;
	m.k.resources.spill_instructions = -1;
	build(&m);
	a = given(&m, ADVICE_SPILLS);
	assert_true(a && any_has(a->evidence, a->evidence_n, "or spilled registers"));
	arena_free(m.arena);
}

/* 20 operations and 4 conversions of 40 instructions, ten times: as much of the time as the launch is long. */
static void test_floats_gain_what_the_units_have_less(void **state)
{
	const struct metric_advice *a;
	struct made m;
	double busy_low, seldom_low;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 800, 256);
	m.sass.idioms.doubles = 20;
	m.sass.idioms.widened = m.sass.idioms.narrowed = 2;
	m.sass.idioms.doubles_at = 0x200;
	m.sass.idioms.doubles_on = 32;
	m.sass.idioms.doubles_around = 40;
	m.sass.whole.fp64 = 200;
	m.sass.whole.widened = m.sass.whole.narrowed = 20;
	m.sass.whole.issued = 420;
	m.sass.trips_known = true;
	/* 10 cycles of the FP64 units, 10 to issue: 6,400 warps of an SM take 323 us for ten turns */
	m.k.times.median = 323;
	build(&m);
	a = given(&m, ADVICE_FP64);
	assert_non_null(a);
	busy_low = a->gain_low_pct;
	assert_true(busy_low >= 25 && busy_low <= 35); /* 3/4 of (1 - (8 + 16) / 40) */
	assert_true(a->gain_high_pct >= 65 && a->gain_high_pct <= 70); /* 1 - (8 + 4.8) / 40 */
	assert_true(any_has(a->evidence, a->evidence_n, "32 of the 40 instructions"));
	/* so many are functions of the mathematics, which are short in float */
	m.sass.idioms.doubles = 32;
	build(&m);
	assert_true(given(&m, ADVICE_FP64)->gain_high_pct >= 70);
	m.sass.idioms.doubles = 20;
	build(&m);
	a = given(&m, ADVICE_FP64);
	/* divisions are longer in float as well */
	m.sass.idioms.doubles_seeds = 2;
	build(&m);
	assert_true(given(&m, ADVICE_FP64)->gain_high_pct < a->gain_high_pct);
	m.sass.idioms.doubles_seeds = 0;
	/* half of the time: what they do less is sure, and that the rest falls with it is not */
	m.k.times.median = 2 * 323;
	build(&m);
	assert_true(given(&m, ADVICE_FP64)->gain_low_pct <= 0.75 * 0.75 * 20);
	assert_true(given(&m, ADVICE_FP64)->gain_low_pct > 0);
	/* a fifth of the time: hidden, for all that is known */
	m.k.times.median = 5 * 323;
	build(&m);
	seldom_low = given(&m, ADVICE_FP64)->gain_low_pct;
	assert_true(seldom_low < 2 && given(&m, ADVICE_FP64)->gain_high_pct < 20);
	/* the code alone: in a loop that is not the hottest it may be nothing */
	m.sass.trips_known = false;
	build(&m);
	assert_true(given(&m, ADVICE_FP64)->gain_low_pct >= 25);
	m.sass.idioms.doubles = 3; /* as few, but in the loop */
	build(&m);
	assert_non_null(given(&m, ADVICE_FP64));
	m.sass.idioms.doubles_at = 0x800;
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	m.sass.idioms.doubles = 20;
	build(&m);
	assert_true(given(&m, ADVICE_FP64)->gain_low_pct == 0);
	set_class(&m, "memory", 10, 90);
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	assert_non_null(against(&m, ADVICE_FP64));
	/* 1/64 of the rate: nearly all of it */
	arena_free(m.arena);
	make(&m, "NVIDIA GeForce RTX 3090", 82 * 800, 256);
	m.sass.idioms.doubles = 20;
	m.sass.idioms.widened = m.sass.idioms.narrowed = 2;
	m.sass.idioms.doubles_on = 32;
	m.sass.idioms.doubles_around = 40;
	m.sass.idioms.doubles_at = 0x200;
	build(&m);
	a = given(&m, ADVICE_FP64);
	assert_true(a && a->gain_low_pct > 60 && a->gain_high_pct > 95);
	arena_free(m.arena);
}

/* 16 operations and 32 conversions take 64 cycles of a turn; its 24 loads and what else is issued 24. */
static void test_a_sum_in_double_is_a_choice(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 2048, 256);
	m.sass.hot_loop = 0;
	m.sass.idioms.summed = 16;
	m.sass.idioms.summed_widened = 32;
	m.sass.idioms.summed_at = 0x200;
	m.sass.hot = (struct metric_mix){.issued = 76, .fp64 = 16, .widened = 32, .shared = 20};
	m.sass.whole = m.sass.hot;
	m.sass.whole.fp64 = 2048;
	m.sass.trips_known = true;
	m.access.sites = m.sites;
	m.access.sites_n = m.access.sites_all = 1;
	m.k.access = &m.access;
	m.sites[0] = (struct metric_site){.offset = 0x200,
					  .op = "LDS",
					  .kind = "shared",
					  .requests = derived(2048.0 * 8 * 128),
					  .sectors_per_request = derived(24),
					  .excess = derived(0)};
	set_class(&m, "latency", 12, 1);
	m.k.times.median = 538;
	build(&m);
	a = given(&m, ADVICE_FP64);
	assert_non_null(a);
	/* 64 of 4.1 us a turn are left with 24; 3/4 of that at worst, as a compensated sum fits behind the loads */
	assert_int_equal(a->gain_low_pct, 44);
	assert_int_equal(a->gain_high_pct, 63);
	assert_true(any_has(a->evidence, a->evidence_n, "16 operations and 32 conversions"));
	assert_true(any_has(a->conflicts, a->conflicts_n, "choice of precision"));
	/* by the requests of the loop, where turns are not counted */
	m.sass.trips_known = false;
	build(&m);
	assert_non_null(given(&m, ADVICE_FP64));
	assert_int_equal(given(&m, ADVICE_FP64)->gain_low_pct, a->gain_low_pct);
	/* hidden; no time; another loop; memory */
	m.k.times.median = 2000;
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	m.k.times.median = NAN;
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	m.k.times.median = 538;
	m.sass.idioms.summed_at = 0x800;
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	m.sass.idioms.summed_at = 0x200;
	set_class(&m, "memory", 10, 80);
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	assert_non_null(against(&m, ADVICE_FP64));
	/* loads take as long */
	set_class(&m, "latency", 12, 1);
	m.sites[0].sectors_per_request = derived(70);
	build(&m);
	assert_null(given(&m, ADVICE_FP64));
	arena_free(m.arena);
}

/* Four remainders in a turn of 80 instructions take 50 of them: at best two each, at worst five. */
static void test_integer_divisions(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 100, 256);
	m.sass.hot.issued = 80;
	m.sass.hot.dividing = 50;
	m.sass.hot.divisions = 4;
	m.k.roofline.issue_pct = derived(70);
	build(&m);
	a = given(&m, ADVICE_DIVISIONS);
	assert_non_null(a);
	assert_true(a->gain_high_pct >= 52 && a->gain_high_pct <= 54); /* 1 - 38 / 80 */
	assert_true(a->gain_low_pct >= 24 && a->gain_low_pct <= 28);   /* 3/4 of 1 - 50 / 80 */
	assert_true(any_has(a->evidence, a->evidence_n, "50 of its 80 instructions"));
	/* issuing is hidden, for all that is known */
	m.k.roofline.issue_pct = derived(30);
	build(&m);
	assert_null(given(&m, ADVICE_DIVISIONS));
	/* four reciprocals of three instructions at 16 lanes take 24 cycles, to issue the turn 20 */
	m.k.roofline.issue_pct = derived(50);
	build(&m);
	a = given(&m, ADVICE_DIVISIONS);
	m.sass.hot.divide_seeds = m.sass.hot.special = 4;
	build(&m);
	assert_true(given(&m, ADVICE_DIVISIONS)->gain_low_pct > a->gain_low_pct);
	/* the function of 64 bits beside a short way: the short way is what surely is executed */
	m.sass.hot.divide_seeds = m.sass.hot.special = 0;
	m.sass.hot.divide_calls = 4;
	m.sass.hot.divide_called = 320;
	build(&m);
	assert_true(given(&m, ADVICE_DIVISIONS)->gain_high_pct == a->gain_high_pct);
	m.sass.hot.divisions = 0;
	build(&m);
	assert_true(given(&m, ADVICE_DIVISIONS)->gain_high_pct > 65);
	m.sass.hot.divide_calls = m.sass.hot.divide_called = 0;
	m.sass.hot.divisions = 4;
	set_class(&m, "memory", 10, 90);
	build(&m);
	assert_null(given(&m, ADVICE_DIVISIONS));
	assert_non_null(against(&m, ADVICE_DIVISIONS));
	/* how busy that is is not known: with a time nothing is said, without one nothing for sure */
	set_class(&m, "unknown", NAN, NAN);
	m.k.roofline.issue_pct = unknown;
	m.sass.hot_loop = 0;
	build(&m);
	assert_null(given(&m, ADVICE_DIVISIONS));
	m.k.times.median = NAN;
	build(&m);
	assert_true(given(&m, ADVICE_DIVISIONS)->gain_low_pct == 0);
	m.sass.hot.issued = 200;
	build(&m);
	assert_null(given(&m, ADVICE_DIVISIONS));
	m.k.times.median = 100;
	/* a twentieth of the turn */
	m.sass.hot.issued = 1000;
	m.k.roofline.issue_pct = derived(90);
	build(&m);
	assert_null(given(&m, ADVICE_DIVISIONS));
	arena_free(m.arena);
}

/* A chain of 40 cycles in a turn of 10: four warps on a scheduler fill it, one does not. */
/* One warp of sixteen runs 16 turns of 128 cycles, ten blocks one after the other: 10.3 us. */
static void make_leader(struct made *m, struct stall_step *steps, struct stall_path *path)
{
	make(m, "NVIDIA H200", 132 * 40, 512);
	steps[0] = (struct stall_step){.insn = 0xf, .is_block_wide = true};
	steps[1] = (struct stall_step){.insn = 0x20};
	steps[2] = (struct stall_step){.insn = 0x42, .is_block_wide = true};
	*path = (struct stall_path){.steps = steps, .n = 3, .is_whole = true};
	m->sass.path = path;
	m->sass.hot_loop = 0;
	m->loop.recurrence_cycles = 128;
	m->loop.issue_cycles = 40;
	m->loop.trips = 16;
	m->k.times.median = 20;
	m->k.access = &m->access;
	m->access.global_load_bytes = m->access.global_store_bytes = derived(8e6);
	m->access.sites = m->sites;
	m->access.sites_all = m->access.sites_n = 1;
	m->sites[0] = (struct metric_site){.offset = 0x200, .op = "LDS", .kind = "shared"};
	m->sites[0].requests = derived(132 * 40 * 16.0);
	m->sites[0].lanes = 1;
}

static void test_others_wait_for_a_leader(void **state)
{
	const struct metric_advice *a;
	struct stall_step steps[3];
	struct metric_loop loops[2];
	struct stall_path path;
	struct made m;

	(void)state;
	make_leader(&m, steps, &path);
	build(&m);
	a = given(&m, ADVICE_ILP);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "1 of the 16 warps"));
	assert_true(any_has(a->evidence, a->evidence_n, "128 cycles a turn, 16 turns"));
	assert_true(a->gain_low_pct >= 30 && a->gain_low_pct <= 36); /* 3/4 of 52%, 2 us stay */
	assert_true(a->gain_high_pct >= 60 && a->gain_high_pct <= 65);
	/* nobody knows how often it turns, but one lane alone makes the requests */
	m.loop.trips = 0;
	build(&m);
	assert_true(given(&m, ADVICE_ILP) &&
		    given(&m, ADVICE_ILP)->gain_high_pct == a->gain_high_pct);
	m.sites[0].lanes = 2;
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	m.loop.trips = 16;
	/* memory takes most of the time as it is */
	m.access.global_load_bytes = derived(4800.0 * 12e3);
	build(&m);
	assert_true(given(&m, ADVICE_ILP) && given(&m, ADVICE_ILP)->gain_low_pct < 10);
	m.access.global_load_bytes = m.access.global_store_bytes = unknown;
	build(&m);
	assert_true(given(&m, ADVICE_ILP) && given(&m, ADVICE_ILP)->gain_low_pct == 0);
	/* little of the time */
	m.k.times.median = 150;
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	m.k.times.median = 20;
	/* half of the warps; nobody waits; others have their own loop meanwhile; it is in one block in a hundred */
	m.sites[0].requests = derived(132 * 40 * 16.0 * 8);
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	m.sites[0].requests = derived(132 * 40 * 16.0);
	steps[2].is_block_wide = false;
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	steps[2].is_block_wide = true;
	loops[0] = loops[1] = m.loop;
	loops[1].start = 0x408;
	loops[1].end = 0x418;
	m.sass.loops = loops;
	m.sass.loops_n = 2;
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	m.sass.loops_n = 1;
	build(&m);
	assert_non_null(given(&m, ADVICE_ILP));
	m.sites[0].requests = derived(132 * 40 * 16.0 / 100);
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	/* a unit is busy */
	m.sites[0].requests = derived(132 * 40 * 16.0);
	set_class(&m, "memory", 10, 80);
	build(&m);
	assert_non_null(against(&m, ADVICE_ILP));
	arena_free(m.arena);
}

static void test_chains_matter_where_no_other_warp_fills_them(void **state)
{
	const struct metric_advice *a;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132, 128);
	m.loop.recurrence_cycles = 40;
	m.loop.issue_cycles = 10;
	m.sass.hot_loop = 0;
	build(&m);
	a = given(&m, ADVICE_ILP);
	assert_non_null(a);
	assert_true(a->gain_high_pct >= 74 && a->gain_high_pct <= 75);
	/* at worst a warp alone takes half as long again to issue: 15 of 40; with three more per scheduler a fifth */
	assert_true(a->gain_low_pct >= 56 && a->gain_low_pct <= 62);
	m.loop.recurrence_cycles = 160;
	m.shape.block[0] = 512;
	set_resources(&m, 32, 0);
	build(&m);
	a = given(&m, ADVICE_ILP);
	assert_true(a && a->gain_low_pct >= 66 && a->gain_low_pct <= 70);
	arena_free(m.arena);
	make(&m, "NVIDIA H200", 132, 512);
	m.loop.recurrence_cycles = 40;
	m.loop.issue_cycles = 10;
	m.sass.hot_loop = 0;
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	arena_free(m.arena);
	/* no loop: 16,400 cycles with one load, of 16 us about half */
	make(&m, "NVIDIA H200", 132, 128);
	m.sass.loops_n = 0;
	m.sass.hot_loop = -1;
	m.sass.straight_cycles = 16400;
	m.sass.straight_loads = m.sass.straight_all_loads = 1;
	m.sass.straight_issue_cycles = 4100;
	m.k.times.median = 16;
	build(&m);
	a = given(&m, ADVICE_ILP);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "through the code takes 16,000 cycles"));
	assert_true(a->gain_low_pct > 5 && a->gain_low_pct < 20);
	assert_true(a->gain_high_pct > 40 && a->gain_high_pct < 50);
	/* a third of the time: other things take it */
	m.k.times.median = 27;
	build(&m);
	a = given(&m, ADVICE_ILP);
	assert_true(a && a->gain_low_pct == 0 && a->gain_high_pct < 30);
	m.sass.straight_cycles = 1300; /* 900 are no longer than some loads */
	m.sass.straight_issue_cycles = 100;
	build(&m);
	assert_null(given(&m, ADVICE_ILP));
	arena_free(m.arena);
	/* loads in one chain, against loads that are independent */
	make(&m, "NVIDIA H200", 132, 128);
	m.sass.hot_loop = 0;
	m.sass.hot.loads = 1;
	m.loop.recurrence_loads = 1;
	m.loop.turn_loads = 1;
	build(&m);
	assert_non_null(given(&m, ADVICE_DEPENDENT_LOADS));
	assert_null(given(&m, ADVICE_ILP));
	m.loop.turn_loads = 8;
	build(&m);
	assert_null(given(&m, ADVICE_DEPENDENT_LOADS));
	/* eight of the turn, one behind the other, though no turn needs the one before */
	m.loop.recurrence_loads = 0;
	m.loop.chain_loads = 8;
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "8 loads follow one another"));
	/* 64 of them in all take 39 us at most */
	m.loop.trips = 8;
	m.k.times.median = 40;
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_true(a && a->gain_low_pct >= 40 && a->gain_high_pct >= 70);
	m.k.times.median = 400;
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_true(a && a->gain_low_pct <= 5 && a->gain_high_pct <= 10);
	/* sectors that the L2 cannot hold, 277 MB: DRAM gives half of its bandwidth here and there, 115 us of 150 */
	m.loop.trips = 64;
	m.k.times.median = 150;
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_true(a && a->gain_low_pct >= 17 && a->gain_low_pct <= 22);
	/* 232 cycles a load: of the 60 us the L2 takes 34 for these sectors */
	m.k.times.median = 60;
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_true(a && a->gain_low_pct == 0 && a->gain_high_pct < 50);
	/* 150: no L2 is as fast */
	m.k.times.median = 38.8;
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_true(a && a->gain_low_pct == 0 && a->gain_high_pct > 60);
	assert_true(any_has(a->evidence, a->evidence_n, "less than the 200 cycles"));
	/* and if 20 KB on each SM are all of the data, no DRAM is asked */
	m.k.times.median = 60;
	m.k.work = (struct work){.flops = -1, .bytes = 132 * 20480};
	set_class(&m, "latency", 0, 1);
	build(&m);
	a = given(&m, ADVICE_DEPENDENT_LOADS);
	assert_true(a && a->gain_low_pct > 30 && a->gain_high_pct > 70);
	assert_true(any_has(a->evidence, a->evidence_n, "fits there"));
	m.loop.chain_loads = 3; /* an index of an index */
	m.loop.turn_loads = 3;
	build(&m);
	assert_null(given(&m, ADVICE_DEPENDENT_LOADS));
	arena_free(m.arena);
}

static void test_tensor_cores(void **state)
{
	const struct metric_advice *a;
	double large, small;
	struct made m;

	(void)state;
	make(&m, "NVIDIA H200", 132 * 8, 256);
	m.sass.idioms.sums = 64;
	m.sass.idioms.multiplies = 1024;
	m.sass.hot.fma = m.sass.hot.issued = 1000;
	m.sass.whole.from_halves = 10;
	build(&m);
	a = given(&m, ADVICE_TENSOR_CORES);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n,
			    "at most 66.9 TFLOPS now, the tensor cores have 989.4"));
	large = a->gain_low_pct;
	/* sums of 64 and of 8192 terms: a turn of the loop has 16 for each */
	m.sass.idioms.product_at = m.loop.start;
	m.loop.trips = 4;
	build(&m);
	a = given(&m, ADVICE_TENSOR_CORES);
	assert_non_null(a);
	assert_true(any_has(a->evidence, a->evidence_n, "a sum has 64 terms"));
	assert_true(a->gain_low_pct == 0 && a->gain_high_pct > 80);
	m.loop.trips = 512;
	build(&m);
	a = given(&m, ADVICE_TENSOR_CORES);
	assert_non_null(a);
	assert_false(any_has(a->evidence, a->evidence_n, "terms"));
	assert_true(large - a->gain_low_pct > 0 && large - a->gain_low_pct < 3);
	m.loop.trips = 0;
	/* a product of 64 tiles of 128 x 128 leaves half of the SMs idle */
	m.sass.idioms.sums = 4;
	m.shape.grid[0] = 1024;
	build(&m);
	small = given(&m, ADVICE_TENSOR_CORES)->gain_low_pct;
	assert_true(large - small > 20 && small >= 0);
	set_class(&m, "latency", 30, 30);
	build(&m);
	assert_null(given(&m, ADVICE_TENSOR_CORES));
	assert_non_null(strstr(against(&m, ADVICE_TENSOR_CORES), "latency-bound"));
	set_class(&m, "compute", 70, 30);
	m.sass.has_products = true;
	build(&m);
	assert_null(given(&m, ADVICE_TENSOR_CORES));
	arena_free(m.arena);
}

static void test_host_first(void **state)
{
	const struct advice_run idle = {45, false}, busy = {93, false}, open = {NAN, false};
	struct arena *a = arena_new();
	struct metric_advice out;

	(void)state;
	assert_true(advice_of_run(&out, &idle, a));
	assert_string_equal(out.id, advice_rows[ADVICE_HOST].id);
	assert_int_equal(out.evidence_n, 2);
	assert_false(advice_of_run(&out, &busy, a));
	assert_false(advice_of_run(&out, &open, a));
	arena_free(a);
}

/* ------------------------------------------------------------------------------------- at random */

static uint64_t seed = 88172645463325252u;

static uint32_t draw(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* Small and large, 0 and NaN. */
static double any_real(double most)
{
	switch (draw(6)) {
	case 0: return 0;
	case 1: return NAN;
	case 2: return draw(8);
	default: return most * draw(10001) / 10000;
	}
}

static double any_count(double most)
{
	double v = any_real(most);

	return isnan(v) ? 0 : floor(v);
}

static struct quantity any_quantity(double most)
{
	double v = any_real(most);

	return isnan(v) ? unknown : derived(v);
}

static void any_mix(struct metric_mix *x)
{
	double *v = (double *)x;

	for (size_t i = 0; i < sizeof(*x) / sizeof(double); i++)
		v[i] = draw(2) ? any_count(500) : 0;
	x->issued = 1 + any_count(2000);
}

static void any_sites(struct made *m)
{
	static const char *const kinds[] = {"load", "store", "shared", "atomic", "branch"};
	static const char *const patterns[] = {NULL, "lane stride 4096 B", "all lanes one address"};

	m->access.sites = m->sites;
	m->access.sites_n = m->access.sites_all = draw(4);
	for (size_t i = 0; i < m->access.sites_n; i++)
		m->sites[i] = (struct metric_site){.offset = 16 * i,
						   .op = "OP",
						   .kind = kinds[draw(5)],
						   .requests = any_quantity(1e6),
						   .sectors_per_request = derived(4 + draw(29)),
						   .excess = any_quantity(4),
						   .pattern = patterns[draw(3)],
						   .lanes = draw(33),
						   .lane_bytes = (uint16_t)(4 * draw(3)),
						   .is_again = i && draw(2),
						   .is_each_turn = !draw(4),
						   .first = 16 * draw(3),
						   .is_everywhere = draw(2)};
	m->access.divergence_pct = any_quantity(100);
	m->access.overlap = (struct metric_overlap){.loads = draw(3),
						    .asked = 1 + draw(999),
						    .different = 1 + draw(99),
						    .blocks = 1 + draw(9)};
	m->access.shared_overlap = (struct metric_overlap){.loads = draw(3),
							   .first = m->loop.start,
							   .is_in_loop = draw(2),
							   .asked = 1 + draw(999),
							   .different = 1 + draw(99)};
	m->access.excess_sectors = any_quantity(1e6);
	m->k.access = draw(3) ? &m->access : NULL;
}

static void any_class(struct made *m)
{
	double compute = 1 + draw(100), memory = 1 + draw(100);

	if (!draw(3))
		set_class(m, "unknown", NAN, NAN);
	else if (!draw(20))
		set_class(m, "launch", NAN, NAN);
	else
		set_class(m,
			  compute >= 60  ? (memory >= 60 ? "balanced" : "compute")
			  : memory >= 60 ? "memory"
					 : "latency",
			  compute, memory);
	m->k.roofline.intensity = draw(4) ? derived(1 + draw(100)) : unknown;
	m->k.verdict.launch_bound = !draw(10);
}

static void make_any(struct made *m)
{
	static const char *const devices[] = {
		"NVIDIA H200", "ga104-reference",         "a100-reference",
		"NVIDIA B200", "NVIDIA GeForce RTX 5090", "Tesla T4"};
	static const char *const ops[] = {"FFMA", "IMMA", "HMMA", "DFMA"};
	const char *device = devices[draw(6)];

	make(m, product_find(device) ? device : "NVIDIA H200", 1 + draw(draw(2) ? 200 : 100000),
	     32 * (1 + draw(32)));
	m->shape.dyn_smem_bytes = draw(2) ? draw(100000) : 0;
	set_resources(m, draw(12) ? (int)draw(256) : -1, (int)draw(2) * (int)draw(48000));
	m->k.occupancy_known = draw(12) > 0;
	m->k.resources.local_bytes = draw(2) ? (int)draw(2000) : 0;
	m->k.resources.spill_instructions = (int)draw(3) * 100 - 1;
	m->k.code.debug_build = (int)draw(8) ? 0 : 1;
	m->k.times.median = draw(4) ? 0.5 + any_count(500) : NAN;
	m->k.launches = draw(1000);
	m->run.busy_pct = any_real(100);
	m->ops[0] =
		(struct metric_op){ops[draw(4)], 1 + draw(100), 1, 4, (int64_t)draw(3) - 1, NULL};
	m->ops[1] =
		(struct metric_op){ops[draw(4)], 1 + draw(100), 1, 4, (int64_t)draw(3) - 1, NULL};
	m->sass.ops_n = draw(3);
	m->loop.ratio = any_real(100);
	m->loop.load_ops = draw(2) ? draw(20) : 0;
	m->loop.load_bytes_per_warp = draw(8) ? (int64_t)draw(8192) : -1;
	m->loop.async_copies = draw(3) ? 0 : draw(8);
	m->loop.trips = draw(2) ? draw(1000) : 0;
	m->loop.compute_ops = draw(100);
	m->loop.compute_op = draw(2) ? ops[draw(4)] : NULL;
	m->loop.recurrence_cycles = any_real(200);
	m->loop.recurrence_loads = any_real(3);
	m->loop.chain_loads = any_real(8);
	m->loop.turn_loads = any_real(20);
	m->loop.load_waits = any_real(20);
	m->loop.issue_cycles = any_real(200);
	m->sass.straight_loads = any_real(80);
	m->sass.straight_all_loads = any_real(80);
	m->sass.straight_waits = any_real(80);
	m->sass.straight_cycles = any_real(20000);
	m->sass.straight_issue_cycles = any_real(4000);
	m->sass.trips_known = draw(2);
	m->sass.hot_loop = (int64_t)draw(2) - 1;
	m->sass.has_products = !draw(3);
	m->sass.idioms.doubles = draw(3) ? 0 : draw(64);
	m->sass.idioms.doubles_on = m->sass.idioms.doubles + draw(64);
	m->sass.idioms.doubles_around = m->sass.idioms.doubles_on + draw(64);
	m->sass.idioms.doubles_seeds = draw(8);
	m->sass.idioms.sums = draw(3) ? 0 : draw(64);
	m->sass.idioms.multiplies = m->sass.idioms.sums * (1 + draw(4));
	m->sass.idioms.product_at = draw(2) ? m->loop.start : 0;
	m->sass.idioms.summed = draw(3) ? 0 : draw(64);
	m->sass.idioms.summed_widened = draw(64);
	m->sass.idioms.summed_at = draw(2) ? m->loop.start : 0;
	m->sass.idioms.pairs = draw(3) ? 0 : draw(64);
	m->sass.idioms.pair_operands = draw(64);
	m->sass.idioms.pairs_at = draw(2) ? m->loop.start : 0;
	any_mix(&m->sass.whole);
	any_mix(&m->sass.hot);
	m->k.roofline.issue_pct = derived(draw(101));
	m->k.code.sass = draw(8) ? &m->sass : NULL;
	any_sites(m);
	any_class(m);
}

/* Which advice a class rules out (the matrix needs that class, or says so). */
static bool class_contradicts(const struct made *m, enum advice_id id)
{
	const char *class = m->k.verdict.class;
	const bool is_latency = !strcmp(class, "latency"), is_compute = !strcmp(class, "compute");
	const bool is_memory = !strcmp(class, "memory"), is_balanced = !strcmp(class, "balanced");

	switch (id) {
	case ADVICE_ASYNC_PIPELINE: return is_compute;
	case ADVICE_RAISE_OCCUPANCY:
		return is_compute || is_balanced ||
		       (is_memory && m->k.roofline.sol_memory_pct.value >= 75);
	case ADVICE_TAIL: return m->k.work_known && m->k.roofline.attained_pct.value >= 80;
	case ADVICE_ASYNC_BENCHMARK:
	case ADVICE_ALGORITHM:
	case ADVICE_WARPS_FIRST:
	case ADVICE_SHRINK_TILE:
	case ADVICE_FUSE: return !is_memory && !is_balanced;
	case ADVICE_FFMA_STALLS:
	case ADVICE_IMMA_STALLS: return !is_compute && !is_balanced;
	case ADVICE_REUSE: return m->sass.has_products ? !is_compute && !is_balanced : is_memory;
	case ADVICE_TENSOR_CORES: return is_latency || is_memory;
	case ADVICE_PARALLELISM:
	case ADVICE_ILP:
	case ADVICE_BARRIERS: return is_memory || is_compute || is_balanced;
	case ADVICE_COALESCE:
	case ADVICE_BANK_CONFLICTS:
	case ADVICE_BYTES_IN_FLIGHT: return is_compute;
	case ADVICE_DEPENDENT_LOADS: return is_compute || is_memory;
	default: return false;
	}
}

/* "1 blocks" or "0 warps", where that is not the end of 21 or of 0.1. */
static bool is_wrong_plural(const char *text)
{
	static const char *const nouns[] = {"blocks",   "warps",     "bytes",
					    "barriers", "registers", "loads",
					    "sums",     "launches",  "instructions"};
	char words[32];

	for (size_t i = 0; i < sizeof(nouns) / sizeof(*nouns); i++) {
		const char *at = text;

		snprintf(words, sizeof(words), " %s", nouns[i]);
		for (; (at = strstr(at, words)); at++)
			if (at > text && (at[-1] == '1' || (at[-1] == '0' && i < 2)) &&
			    (at - 1 == text || at[-2] == ' ' || at[-2] == '('))
				return true;
	}
	return false;
}

static void check_texts(const struct metric_advice *a, uint32_t round)
{
	const char *all[METRIC_EVIDENCE + METRIC_CONFLICTS + 3] = {a->change, a->expect,
								   a->otherwise};
	size_t n = 3;

	for (int i = 0; i < a->evidence_n; i++)
		all[n++] = a->evidence[i];
	for (int i = 0; i < a->conflicts_n; i++)
		all[n++] = a->conflicts[i];
	for (size_t i = 0; i < n; i++)
		if (is_wrong_plural(all[i]))
			fail_msg("round %u: %s: \"%s\"", round, a->id, all[i]);
}

static void check_item(const struct made *m, const struct metric_advice *a, uint32_t round)
{
	const enum advice_id id = (enum advice_id)(advice_find(a->id) - advice_rows);
	double left = m->k.work_known && quantity_known(&m->k.roofline.attained_pct)
			      ? 100 - m->k.roofline.attained_pct.value
			      : 100;

	if (a->evidence_n < 2 || !a->change || !a->expect || !a->otherwise || !a->source)
		fail_msg("round %u: %s is incomplete", round, a->id);
	check_texts(a, round);
	for (int i = 0; i < a->evidence_n; i++)
		if (!a->evidence[i][0] || strstr(a->evidence[i], "nan") ||
		    strstr(a->evidence[i], "inf"))
			fail_msg("round %u: %s: evidence \"%s\"", round, a->id, a->evidence[i]);
	for (int i = 0; i < a->conflicts_n; i++)
		if (!a->conflicts[i][0] || strstr(a->conflicts[i], "nan"))
			fail_msg("round %u: %s: conflict \"%s\"", round, a->id, a->conflicts[i]);
	if (!(a->gain_low_pct >= 0 && a->gain_low_pct <= a->gain_high_pct &&
	      a->gain_high_pct >= 1 && a->gain_high_pct <= 100))
		fail_msg("round %u: %s gains %g to %g", round, a->id, a->gain_low_pct,
			 a->gain_high_pct);
	switch (id) {
	case ADVICE_FUSE:
	case ADVICE_ALGORITHM:
	case ADVICE_TENSOR_CORES:
	case ADVICE_FP64:
	case ADVICE_LAUNCH:
	case ADVICE_DEBUG_BUILD:
	case ADVICE_REUSE:
	case ADVICE_READ_ONCE:
	case ADVICE_ISOLATE: break;
	default:
		if (a->gain_high_pct > left + 1e-6)
			fail_msg("round %u: %s gains %g of the %g that are left", round, a->id,
				 a->gain_high_pct, left);
	}
	if (class_contradicts(m, id))
		fail_msg("round %u: %s on a kernel of class %s", round, a->id, m->k.verdict.class);
}

static void test_no_kernel_is_told_a_contradiction(void **state)
{
	uint32_t seen[ADVICE_N] = {0}, left_out[ADVICE_N] = {0};

	(void)state;
	for (uint32_t round = 0; round < 100000; round++) {
		struct made m;

		make_any(&m);
		build(&m);
		assert_true(m.out.n <= ADVICE_ITEMS && m.out.not_now_n <= ADVICE_NOT_NOW);
		if (m.k.occupancy_known && m.k.occupancy.blocks_per_sm == 0)
			assert_int_equal(m.out.n, 0); /* that cannot be launched */
		for (size_t i = 0; i < m.out.n; i++) {
			check_item(&m, &m.out.items[i], round);
			seen[advice_find(m.out.items[i].id) - advice_rows]++;
		}
		for (size_t i = 0; i < m.out.not_now_n; i++) {
			enum advice_id id =
				(enum advice_id)(advice_find(m.out.not_now[i].id) - advice_rows);

			assert_true(m.out.not_now[i].why && m.out.not_now[i].why[0]);
			assert_null(given(&m, id));
			left_out[id]++;
		}
		for (size_t i = 0; i < advice_pairs_n; i++)
			if (given(&m, advice_pairs[i].first) && given(&m, advice_pairs[i].second))
				fail_msg("round %u: %s with %s", round,
					 advice_rows[advice_pairs[i].first].id,
					 advice_rows[advice_pairs[i].second].id);
		arena_free(m.arena);
	}
	/* The rounds reach every rule that looks at a kernel but for that of the image, which they have none of. */
	for (size_t i = 0; i < ADVICE_N; i++)
		if (!seen[i] && i != ADVICE_JIT && i != ADVICE_HOST)
			fail_msg("no round was told %s", advice_rows[i].id);
	assert_true(left_out[ADVICE_RAISE_OCCUPANCY] && left_out[ADVICE_ASYNC_PIPELINE]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_is_explained),
		cmocka_unit_test(test_ids_are_distinct_and_found),
		cmocka_unit_test(test_pairs_name_two),
		cmocka_unit_test(test_blocks_start_no_faster),
		cmocka_unit_test(test_a_kernel_without_loops_is_one_turn),
		cmocka_unit_test(test_loads_of_a_few_are_not_in_flight_for_all),
		cmocka_unit_test(test_loads_that_wait_for_each_other_are_not_in_flight_together),
		cmocka_unit_test(test_few_bytes_in_flight_want_more_warps),
		cmocka_unit_test(test_one_change_is_no_choice),
		cmocka_unit_test(test_nothing_wrong_nothing_said),
		cmocka_unit_test(test_async_copy_computes_its_conflict),
		cmocka_unit_test(test_a_tile_that_is_waited_for),
		cmocka_unit_test(test_registers_that_a_loop_needs_stay),
		cmocka_unit_test(test_occupancy_is_no_score),
		cmocka_unit_test(test_bandwidth_near_its_peak_is_done),
		cmocka_unit_test(test_data_in_the_l2_is_at_no_limit_of_dram),
		cmocka_unit_test(test_the_launch_says_which_loop_is_hot),
		cmocka_unit_test(test_no_stall_codes_while_latency_bound),
		cmocka_unit_test(test_waves),
		cmocka_unit_test(test_excess_sectors),
		cmocka_unit_test(test_excess_that_neighbours_use),
		cmocka_unit_test(test_stores_in_excess_cost_more),
		cmocka_unit_test(test_excess_outside_of_the_hot_loop),
		cmocka_unit_test(test_what_is_not_known_is_no_excess),
		cmocka_unit_test(test_atomics_on_one_address),
		cmocka_unit_test(test_atomics_of_lanes),
		cmocka_unit_test(test_atomics_that_meet),
		cmocka_unit_test(test_bank_conflicts),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_loads_that_each_turn_around_repeats),
		cmocka_unit_test(test_neighbours_that_load_the_same),
		cmocka_unit_test(test_windows_in_shared_memory),
		cmocka_unit_test(test_blocks_that_load_the_same),
		cmocka_unit_test(test_neighbours_where_loading_sets_the_time),
		cmocka_unit_test(test_a_table_that_all_blocks_load),
		cmocka_unit_test(test_passes_over_the_same_data),
		cmocka_unit_test(test_operands_that_are_loaded_for_each_multiply_add),
		cmocka_unit_test(test_lanes_that_part),
		cmocka_unit_test(test_made_up_times_change_nothing),
		cmocka_unit_test(test_code_of_an_older_gpu),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_spills_say_what_registers_would_cost),
		cmocka_unit_test(test_arrays_in_local_memory_are_no_spills),
		cmocka_unit_test(test_floats_gain_what_the_units_have_less),
		cmocka_unit_test(test_a_sum_in_double_is_a_choice),
		cmocka_unit_test(test_integer_divisions),
		cmocka_unit_test(test_others_wait_for_a_leader),
		cmocka_unit_test(test_chains_matter_where_no_other_warp_fills_them),
		cmocka_unit_test(test_tensor_cores),
		cmocka_unit_test(test_host_first),
		cmocka_unit_test(test_no_kernel_is_told_a_contradiction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
