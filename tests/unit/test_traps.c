/*
 * test_traps.c - each trap on a kernel made by hand: with what shows it, and with the one thing changed that takes
 * it away; what is not known makes none.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "model_traps.h"

struct made {
	struct session_kernel function;
	struct session_shape shape;
	struct session_image image;
	struct metric_loop loop;
	struct metric_sass sass;
	struct metric_site site;
	struct metric_access access;
	struct model_kernel k;
	struct arch_device hw;
};

static struct quantity exactly(double v)
{
	return (struct quantity){v, v, v, QUANTITY_DERIVED, QUANTITY_BY_CODE, NULL};
}

/* A kernel of which everything is known and nothing is wrong: a loop with 8 warps on each scheduler. */
static void make(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->image.kind = KBN_KIND_CUBIN;
	m->function.image = &m->image;
	m->function.name = "k";
	m->shape = (struct session_shape){
		.kernel = &m->function, .grid = {1024, 1, 1}, .block = {256, 1, 1}};
	m->loop = (struct metric_loop){
		.start = 0x100,
		.end = 0x200,
		.depth = 1,
		.is_innermost = true,
		.is_main = true,
		.compute_op = "FFMA",
		.compute_ops = 16,
		.recurrence_cycles = 16,
		.recurrence_loads = 0,
		.turn_loads = 2,
		.issue_cycles = 20,
	};
	m->sass = (struct metric_sass){.loops = &m->loop, .loops_n = 1};
	m->site = (struct metric_site){.op = "LDG.E",
				       .offset = 0x40,
				       .kind = "load",
				       .sectors_per_request = exactly(4),
				       .excess = exactly(0)};
	m->site.requests = quantity_unknown("test");
	m->access.divergence_pct = quantity_unknown("test");
	m->access.sites = &m->site;
	m->access.sites_all = 1;
	arch_describe(&m->hw, "NVIDIA H200", 90, false, NULL, 0);
	m->k = (struct model_kernel){
		.shape = &m->shape,
		.occupancy_known = true,
		.access = &m->access,
		.times = {.timed = 100, .median = 100, .p90 = 101, .first = 300, .uncertainty = 1},
		.verdict.class = "unknown",
	};
	m->k.code.sm = 90;
	m->k.code.debug_build = 0;
	m->k.code.sass = &m->sass;
	m->k.occupancy.warps_per_sm = 32;
	m->k.occupancy.grid_warps_per_sm = -1;
	m->k.occupancy.warps_per_block = 8;
	m->k.roofline.sol_memory_pct = m->k.roofline.sol_compute_pct = quantity_unknown("test");
	m->k.roofline.effective_gbps = quantity_unknown("test");
}

/* Exactly this one, or none. */
static void expect(struct made *m, int finding)
{
	struct arena *arena = arena_new();

	assert_non_null(arena);
	model_traps(&m->k, &m->hw, arena);
	if (m->k.traps_n != (finding >= 0) ||
	    (finding >= 0 && !model_has_trap(&m->k, (enum finding)finding)))
		fail_msg("%d traps, the first %s %s; wanted %s", m->k.traps_n,
			 m->k.traps_n ? m->k.traps[0].id : "-",
			 m->k.traps_n ? m->k.traps[0].text : "",
			 finding >= 0 ? finding_rows[finding].id : "none");
	if (finding >= 0)
		assert_true(strlen(m->k.traps[0].text) > 20);
	arena_free(arena);
}

/* With a change there is the trap; with a second one it is gone. */
#define TRAP(finding, change, cure)  \
	do {                         \
		struct made m;       \
		make(&m);            \
		change;              \
		expect(&m, finding); \
		cure;                \
		expect(&m, -1);      \
	} while (0)

static void nothing_is_wrong(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	expect(&m, -1);
}

static void code_and_times(void **state)
{
	(void)state;
	TRAP(FINDING_DEBUG, m.k.code.debug_build = 1, m.k.code.debug_build = -1);
	TRAP(FINDING_SPILLS, m.k.resources.spill_instructions = 3,
	     m.k.resources.spill_instructions = -1);
	TRAP(FINDING_SPILLS, m.k.resources.local_bytes = 8, m.k.resources.local_bytes = -1);
	TRAP(FINDING_JIT, m.image.kind = KBN_KIND_PTX, m.image.kind = KBN_KIND_CUBIN);
	TRAP(FINDING_FIRST_LAUNCH, m.k.times.first = 1001, m.k.times.first = 999);
	TRAP(FINDING_FIRST_LAUNCH, m.k.times.first = 1001, m.k.times.warmup_only = true);
	TRAP(FINDING_MANY_SHAPES, m.shape.overflow = true, m.shape.overflow = false);
	TRAP(FINDING_ABOVE_CLIFF, m.k.cliff_known = m.k.cliff.above_cliff = true,
	     m.k.cliff_known = false);
	TRAP(FINDING_CODE_DIFFERS, m.k.code.mismatch = "40 registers, not 32",
	     m.k.code.mismatch = NULL);
	TRAP(FINDING_UNSTEADY, m.k.times.p90 = 160, m.k.times.timed = 19);
	TRAP(FINDING_UNSTEADY, m.k.times.p90 = 160, m.k.times.uncertainty = 10);
	TRAP(FINDING_OLDER_CODE, m.k.code.sm = 80, m.k.code.sm = -1);
	TRAP(FINDING_JIT, m.k.code.sm = 80; m.image.origin = KBN_ORIGIN_JIT, m.k.code.sm = 90;
	     m.image.origin = KBN_ORIGIN_MODULE);
}

static void lanes(void **state)
{
	(void)state;
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(32);
	     m.site.excess = exactly(28), m.k.access = NULL);
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(8);
	     m.site.excess = exactly(4), m.site.excess = exactly(3.9));
	/* what only the upper end of an interval shows is not proved */
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(8);
	     m.site.excess = exactly(5), m.site.excess.low = 1);
	/* neighbours use the rest; and where the L1 has so much to give that it takes the time */
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(32);
	     m.site.excess = exactly(16);
	     m.site.own_excess = exactly(16), m.site.own_excess = exactly(0));
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(32);
	     m.site.excess = exactly(31); m.site.own_excess = exactly(0); m.sass.hot.loads = 2;
	     m.sass.hot.issued = 20, m.site.excess = exactly(24));
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(32);
	     m.site.excess = exactly(31); m.site.own_excess = exactly(0); m.sass.hot.loads = 2;
	     m.sass.hot.issued = 20, m.sass.hot.issued = 40);
	/* one word across two sectors */
	TRAP(FINDING_UNCOALESCED, m.site.sectors_per_request = exactly(4);
	     m.site.excess = exactly(2), m.site.sectors_per_request = exactly(2);
	     m.site.excess = exactly(1));
	TRAP(FINDING_DIVERGENCE, m.site.kind = "branch";
	     m.access.divergence_pct = exactly(20), m.access.divergence_pct = exactly(19.9));
	TRAP(FINDING_DIVERGENCE, m.site.kind = "branch";
	     m.access.divergence_pct = exactly(50),
	     m.access.divergence_pct = quantity_unknown("test"));
	/* 8 warps of 1,024 blocks, and one of each */
	TRAP(FINDING_ATOMICS, m.site.kind = "atomic"; m.site.is_everywhere = true;
	     m.site.requests = exactly(8192), m.site.requests = exactly(1024));
	TRAP(FINDING_ATOMICS, m.site.kind = "atomic"; m.site.is_everywhere = true;
	     m.site.requests = exactly(8192), m.site.is_everywhere = false);
	TRAP(FINDING_BANK_CONFLICTS, m.site.kind = "shared";
	     m.site.excess = exactly(1), m.site.excess = exactly(0));
}

static void arithmetic(void **state)
{
	(void)state;
	TRAP(FINDING_FP64, m.sass.idioms.doubles = 8; m.sass.idioms.widened = 8;
	     m.sass.idioms.narrowed = 8, m.sass.idioms.doubles = 0);
	TRAP(FINDING_FP64, m.sass.idioms.doubles = 1;
	     m.sass.idioms.doubles_at = 0x100, m.sass.idioms.doubles_at = 0xf0);
#define PRODUCT                                                                        \
	m.sass.idioms.multiplies = 16, m.sass.idioms.sums = 1, m.sass.idioms.uses = 1, \
	m.sass.idioms.product_at = 0x100
	TRAP(FINDING_NO_TENSOR_CORES, PRODUCT, m.sass.has_products = true);
	TRAP(FINDING_NO_TENSOR_CORES, PRODUCT, m.shape.grid[0] = 63); /* 127 x 127 results */
	/* tiles of 16 by 16 in shared memory, of many blocks; the same sides of all of it are a strip */
	TRAP(FINDING_NO_TENSOR_CORES, PRODUCT; m.sass.idioms.rows = 2; m.sass.idioms.columns = 1;
	     m.shape.block[0] = m.shape.block[1] = 16;
	     m.sass.idioms.is_staged = true, m.sass.idioms.is_staged = false);
	TRAP(FINDING_NO_TENSOR_CORES, PRODUCT; m.loop.trips = 1;
	     m.sass.idioms.sums = 1, m.sass.idioms.sums = 2); /* 8 deep */
	TRAP(FINDING_NO_TENSOR_CORES, PRODUCT;
	     m.loop.compute_op = "DFMA", m.hw.arch.t_fp64 = ARCH_UNKNOWN);
	TRAP(FINDING_NO_TENSOR_CORES, PRODUCT; m.k.work_known = true; m.k.work.kind = WORK_GEMM;
	     m.k.work.dims_n = 1; m.k.work.dims[0].value = 1024, m.k.work.dims[0].value = 1023);
}

static void chains(void **state)
{
	(void)state;
	TRAP(FINDING_BARRIERS, m.loop.barriers = 8, m.loop.issue_cycles = 121);
	TRAP(FINDING_BARRIERS, m.loop.barriers = 8, m.loop.barriers = 2);
	TRAP(FINDING_DEPENDENT_LOADS, m.loop.recurrence_loads = 1, m.loop.turn_loads = 4);
	TRAP(FINDING_DEPENDENT_LOADS, m.loop.recurrence_loads = 1,
	     m.k.roofline.sol_memory_pct = exactly(61));
	TRAP(FINDING_DEPENDENT_LOADS, m.loop.chain_loads = 4;
	     m.loop.turn_loads = 8, m.loop.turn_loads = 16);
	TRAP(FINDING_DEPENDENT_LOADS, m.loop.chain_loads = 4;
	     m.loop.turn_loads = 8, m.loop.chain_loads = 3);
	TRAP(FINDING_DEPENDENT_LOADS, m.sass.straight_loads = 4;
	     m.sass.straight_all_loads = 8, m.sass.straight_all_loads = 16);
	TRAP(FINDING_DEPENDENT_LOADS, m.sass.straight_loads = 4;
	     m.sass.straight_all_loads = 8, m.sass.straight_loads = 3);
	TRAP(FINDING_DEPENDENT_ARITHMETIC, m.loop.recurrence_cycles = 161,
	     m.loop.recurrence_cycles = 159);
	TRAP(FINDING_DEPENDENT_ARITHMETIC, m.k.occupancy.grid_warps_per_sm = 4;
	     m.loop.recurrence_cycles = 40, m.k.occupancy.grid_warps_per_sm = 16);
	TRAP(FINDING_DEPENDENT_ARITHMETIC, m.loop.recurrence_cycles = 161,
	     m.k.occupancy_known = false);
	TRAP(FINDING_DEPENDENT_ARITHMETIC, m.loop.recurrence_cycles = 161, m.loop.trips = 1;
	     m.sass.straight_issue_cycles = 21);
}

/* Nothing is known: no code, no occupancy, no access, no time. */
static void not_known(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	m.k.code.sass = NULL;
	m.k.code.sm = m.k.code.debug_build = -1;
	m.k.access = NULL;
	m.k.occupancy_known = false;
	m.k.times.median = m.k.times.p90 = m.k.times.first = NAN;
	m.function.image = NULL;
	expect(&m, -1);
	make(&m);
	m.loop.recurrence_cycles = m.loop.recurrence_loads = m.loop.issue_cycles = NAN;
	m.sass.straight_loads = m.sass.straight_all_loads = NAN;
	m.loop.barriers = 8;
	expect(&m, -1);
}

/* ---------------------------------------------------------------------------- several geometries */

struct several {
	struct made made;
	struct session_kernel functions[2];
	struct session_shape shapes[3];
	struct model_kernel kernels[3];
	struct session s;
};

/* Two geometries of one kernel and one of another. */
static void make_several(struct several *v)
{
	memset(v, 0, sizeof(*v));
	make(&v->made);
	for (int i = 0; i < 3; i++) {
		v->shapes[i] = v->made.shape;
		v->shapes[i].kernel = &v->functions[i == 2];
		v->kernels[i] = v->made.k;
		v->kernels[i].shape = &v->shapes[i];
		v->kernels[i].verdict.class = "memory";
		v->kernels[i].launches = 10 + (uint64_t)i;
		v->kernels[i].roofline.effective_gbps = exactly(1000);
	}
	v->shapes[1].grid[0] = 64;
	v->s = (struct session){.kernels = v->functions,
				.kernels_n = 2,
				.shapes = v->shapes,
				.shapes_n = 3,
				.arena = arena_new()};
	assert_non_null(v->s.arena);
}

static void expect_apart(struct several *v, bool is_apart)
{
	assert_int_equal(model_traps_across(v->kernels, &v->s), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(model_has_trap(&v->kernels[i], FINDING_SHAPE_DEPENDENT), is_apart);
	assert_int_equal(v->kernels[2].traps_n, 0);
	arena_free(v->s.arena);
}

static void geometries(void **state)
{
	struct several v;

	(void)state;
	make_several(&v);
	expect_apart(&v, false);
	make_several(&v);
	v.kernels[1].verdict.class = "latency";
	expect_apart(&v, true);
	make_several(&v);
	v.kernels[0].roofline.effective_gbps = exactly(499);
	expect_apart(&v, true);
	make_several(&v); /* one of them is not known */
	v.kernels[1].verdict.class = "unknown";
	v.kernels[1].roofline.effective_gbps = quantity_unknown("test");
	expect_apart(&v, false);
	make_several(&v); /* on another device */
	v.kernels[1].verdict.class = "latency";
	v.shapes[1].device = 1;
	expect_apart(&v, false);
	make_several(&v); /* another kernel */
	v.kernels[2].verdict.class = "latency";
	expect_apart(&v, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_wrong),
		cmocka_unit_test(code_and_times),
		cmocka_unit_test(lanes),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(chains),
		cmocka_unit_test(not_known),
		cmocka_unit_test(geometries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
