/*
 * test_lanes.c - what lanes of a warp do: the samples on every architecture against figures that follow from their
 * source; one look at all warps against looks at single ones, arguments given against not given; values by themselves.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "cubin.h"
#include "kernel_access.h"
#include "kernel_view.h"
#include "lanes.h"
#include "lanes_value.h"

#define CUBINS "tests/golden/cubin/"

static const char *const archs[] = {"80", "86", "89", "90", "100", "120", NULL};

struct loaded {
	uint8_t *data;
	struct cubin cubin;
	const struct cubin_function *function;
	struct arena *arena;
	struct kernel_view *view;
	const struct cfg *g; /* its */
	struct lanes_code *code;
};

/* Its first kernel, or the one of that name. */
static struct loaded load_file_of(const char *path, const char *kernel)
{
	struct loaded l = {.arena = arena_new()};
	struct err e = {0};
	size_t bytes;

	assert_non_null(l.arena);
	l.data = load_file(path, &bytes);
	if (cubin_open(&l.cubin, buf_of(l.data, bytes), &e) < 0)
		fail_msg("%s: %s", path, e.text);
	for (size_t i = 0; i < l.cubin.functions_n && !l.function; i++)
		if (l.cubin.functions[i].is_kernel &&
		    (!kernel || !strcmp(l.cubin.functions[i].name, kernel)))
			l.function = &l.cubin.functions[i];
	assert_non_null(l.function);
	l.view = arena_alloc(l.arena, sizeof(*l.view));
	assert_non_null(l.view);
	if (kernel_view_open(l.view, (int)l.cubin.sm, l.function, &e) != 0)
		fail_msg("%s: %s", path, e.text);
	l.g = &l.view->cfg;
	l.code = lanes_code_new(l.g, l.arena);
	assert_non_null(l.code);
	return l;
}

static struct loaded load(const char *stem, const char *arch)
{
	char path[160];

	snprintf(path, sizeof(path), CUBINS "%s.sm_%s.cubin", stem, arch);
	return load_file_of(path, NULL);
}

static void drop(struct loaded *l)
{
	kernel_view_close(l->view);
	arena_free(l->arena);
	cubin_close(&l->cubin);
	free(l->data);
}

/* (out, in, n), as all samples have them. */
struct arguments {
	uint8_t bytes[20], known[20];
};

static struct arguments arguments(uint64_t out, uint64_t in, uint32_t n)
{
	struct arguments a;

	memcpy(a.bytes, &out, 8);
	memcpy(a.bytes + 8, &in, 8);
	memcpy(a.bytes + 16, &n, 4);
	memset(a.known, 0xff, sizeof(a.known));
	return a;
}

#define OUT UINT64_C(0x7f0000000000)
#define IN  UINT64_C(0x7f1000000000)

struct geometry {
	uint32_t grid[3], block[3];
};

static struct lanes_launch launch(const struct loaded *l, const struct geometry *at,
				  const struct arguments *a)
{
	struct lanes_launch x = {.function = l->function, .cluster = {1, 1, 1}};

	memcpy(x.grid, at->grid, sizeof(x.grid));
	memcpy(x.block, at->block, sizeof(x.block));
	if (a) {
		x.params = a->bytes;
		x.known = a->known;
		x.params_n = sizeof(a->bytes);
	}
	return x;
}

static struct lanes_result run(const struct loaded *l, const struct geometry *at,
			       const struct arguments *a, const struct lanes_warp *warp)
{
	const struct lanes_launch x = launch(l, at, a);
	struct lanes_result r;
	struct err e = {0};

	if (lanes_run(l->code, &x, warp, l->arena, &r, &e) != 0)
		fail_msg("%s", e.text);
	assert_true(r.is_complete);
	return r;
}

static const struct lanes_warp every = {.is_any = true};

static const char *const kinds[] = {"load", "store", "shared", "atomic", "branch"};

/* ------------------------------------------------------------------------------------- samples */

/* All accesses of a kind alike: so many, each with this. Without `is_any` it takes one warp to know. */
static const struct expected {
	const char *stem;
	struct geometry at;
	uint32_t n;
	bool is_any;
	uint8_t kind;
	unsigned value, ideal;
	const char *pattern;
} expected[] = {
	{"uncoalesced_good",
	 {{8192, 1, 1}, {256, 1, 1}},
	 8192 * 256,
	 true,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"uncoalesced_good",
	 {{8192, 1, 1}, {256, 1, 1}},
	 8192 * 256,
	 true,
	 LANES_STORE,
	 4,
	 4,
	 "lane stride 4 B"},
	{"uncoalesced_bad",
	 {{16384, 1, 1}, {256, 1, 1}},
	 1 << 22,
	 false,
	 LANES_LOAD,
	 32,
	 4,
	 "lane stride 4096 B"},
	{"uncoalesced_bad",
	 {{16384, 1, 1}, {256, 1, 1}},
	 1 << 22,
	 true,
	 LANES_STORE,
	 4,
	 4,
	 "lane stride 4 B"},
	{"bank_conflict_bad",
	 {{64, 64, 1}, {32, 8, 1}},
	 2048,
	 true,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"bank_conflict_bad",
	 {{64, 64, 1}, {32, 8, 1}},
	 2048,
	 true,
	 LANES_STORE,
	 4,
	 4,
	 "lane stride 4 B"},
	{"bank_conflict_good",
	 {{64, 64, 1}, {32, 8, 1}},
	 2048,
	 true,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"divergent_bad",
	 {{4096, 1, 1}, {256, 1, 1}},
	 1 << 20,
	 true,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"divergent_bad",
	 {{4096, 1, 1}, {256, 1, 1}},
	 1 << 20,
	 true,
	 LANES_STORE,
	 4,
	 4,
	 "lane stride 4 B"},
	{"atomic_bad",
	 {{1024, 1, 1}, {256, 1, 1}},
	 1 << 18,
	 true,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"atomic_bad",
	 {{1024, 1, 1}, {256, 1, 1}},
	 1 << 18,
	 true,
	 LANES_ATOMIC,
	 1,
	 1,
	 "one lane, one address of all warps"},
	{"atomic_good",
	 {{1024, 1, 1}, {256, 1, 1}},
	 1 << 18,
	 true,
	 LANES_ATOMIC,
	 1,
	 1,
	 "one lane, one address of all warps"},
	{"memory_stream_bad",
	 {{1024, 1, 1}, {256, 1, 1}},
	 1 << 24,
	 true,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"memory_stream_good",
	 {{1024, 1, 1}, {256, 1, 1}},
	 1 << 24,
	 true,
	 LANES_LOAD,
	 16,
	 16,
	 "lane stride 16 B"},
	{"spill_bad",
	 {{4096, 1, 1}, {256, 1, 1}},
	 1 << 20,
	 false,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
	{"spill_good",
	 {{4096, 1, 1}, {256, 1, 1}},
	 1 << 20,
	 false,
	 LANES_LOAD,
	 4,
	 4,
	 "lane stride 4 B"},
};

static void check_site(const struct expected *x, const char *arch, const struct lanes_site *s)
{
	unsigned stride;

	if (!s->is_known || s->value != x->value || s->ideal != x->ideal ||
	    strcmp(s->pattern, x->pattern))
		fail_msg("%s sm_%s: %s at 0x%x is %s %u of %u, \"%s\" (%x), not %u of %u, \"%s\"",
			 x->stem, arch, kinds[s->kind], s->insn * 16,
			 s->is_known ? "known" : "unknown", s->value, s->ideal, s->pattern,
			 s->reasons, x->value, x->ideal, x->pattern);
	assert_int_equal(s->low, s->value);
	assert_int_equal(s->high, s->value);
	/* buffers begin at a line */
	if (sscanf(s->pattern, "lane stride %u B", &stride) == 1)
		assert_int_equal(s->lines, stride < LANES_LINE ? 32 * stride / LANES_LINE : 32);
	if (s->is_assumed)
		fail_msg("%s sm_%s: %s at 0x%x rests on what is assumed", x->stem, arch,
			 kinds[s->kind], s->insn * 16);
}

static void the_samples_do_what_they_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		for (const char *const *arch = archs; *arch; arch++) {
			const struct expected *x = &expected[i];
			struct loaded l = load(x->stem, *arch);
			const struct arguments a = arguments(OUT, IN, x->n);
			const struct lanes_warp one = {.block = {3, 0, 0}, .warp = 2};
			const struct lanes_result r =
				run(&l, &x->at, &a, x->is_any ? &every : &one);
			unsigned n = 0;

			for (uint32_t k = 0; k < r.sites_n; k++) {
				if (r.sites[k].kind != x->kind)
					continue;
				check_site(x, *arch, &r.sites[k]);
				n++;
			}
			if (!n)
				fail_msg("%s sm_%s: no %s", x->stem, *arch, kinds[x->kind]);
			drop(&l);
		}
}

/* The tile is written by rows and read by columns: all of them on one bank, unless it is padded. */
static void columns_of_a_tile_meet_on_one_bank(void **state)
{
	static const struct geometry at = {{64, 64, 1}, {32, 8, 1}};

	(void)state;
	for (const char *const *arch = archs; *arch; arch++)
		for (int padded = 0; padded < 2; padded++) {
			struct loaded l =
				load(padded ? "bank_conflict_good" : "bank_conflict_bad", *arch);
			const struct lanes_result r = run(&l, &at, NULL, &every);
			unsigned one = 0, all = 0;

			for (uint32_t i = 0; i < r.sites_n; i++) {
				const struct lanes_site *s = &r.sites[i];

				if (s->kind != LANES_SHARED)
					continue;
				assert_true(s->is_known && !s->is_assumed && !s->absent);
				assert_int_equal(s->ideal, 1);
				one += s->value == 1;
				all += s->value == 32 &&
				       !strcmp(s->pattern, "32 words of one bank");
			}
			assert_int_equal(one, padded ? 8 : 4);
			assert_int_equal(all, padded ? 0 : 4);
			drop(&l);
		}
}

static void odd_and_even_lanes_part(void **state)
{
	static const struct geometry at = {{4096, 1, 1}, {256, 1, 1}};

	(void)state;
	for (const char *const *arch = archs; *arch; arch++)
		for (int good = 0; good < 2; good++) {
			struct loaded l = load(good ? "divergent_good" : "divergent_bad", *arch);
			const struct lanes_result r = run(&l, &at, NULL, &every);
			unsigned n = 0;

			for (uint32_t i = 0; i < r.sites_n; i++)
				if (r.sites[i].kind == LANES_BRANCH && r.sites[i].is_known) {
					assert_true(r.sites[i].lanes == 0x55555555 ||
						    r.sites[i].lanes == 0xaaaaaaaa);
					n++;
				}
			assert_int_equal(n, good ? 0 : 1);
			drop(&l);
		}
}

/* ------------------------------------------------------------------------------------- consistency */

static const char *const stems[] = {"atomic_bad",         "atomic_good",       "bank_conflict_bad",
				    "bank_conflict_good", "divergent_bad",     "divergent_good",
				    "ffma_peak_bad",      "fp64_leak_bad",     "gemm_bad",
				    "gemm_good",          "memory_stream_bad", "memory_stream_good",
				    "pointer_chase_bad",  "smem_cliff_bad",    "spill_bad",
				    "spill_good",         "tail_bad",          "tiny_grid_bad",
				    "uncoalesced_bad",    "uncoalesced_good",  NULL};

static const struct geometry shapes[] = {
	{{1000, 1, 1}, {256, 1, 1}}, {{7, 5, 1}, {32, 8, 1}}, {{3, 3, 3}, {16, 16, 1}},
	{{9, 1, 1}, {64, 2, 2}},     {{1, 1, 1}, {8, 8, 4}},
};

static const struct lanes_site *find(const struct lanes_result *r, const struct lanes_site *like)
{
	for (uint32_t i = 0; i < r->sites_n; i++)
		if (r->sites[i].insn == like->insn && r->sites[i].is_second == like->is_second)
			return &r->sites[i];
	return NULL;
}

/* What is said of all warps holds for each. */
static void check_one(const char *stem, const char *arch, const struct lanes_result *all,
		      const struct lanes_result *one)
{
	for (uint32_t i = 0; i < one->sites_n; i++) {
		const struct lanes_site *b = &one->sites[i], *a = find(all, b);

		if (b->kind == LANES_BRANCH)
			continue;
		if (!a)
			fail_msg("%s sm_%s: one warp comes to 0x%x, and none of all does", stem,
				 arch, b->insn * 16);
		if (b->lanes & ~a->lanes)
			fail_msg("%s sm_%s 0x%x: lanes %x of one warp, %x of all", stem, arch,
				 b->insn * 16, b->lanes, a->lanes);
		if (!a->is_known || a->absent || !b->is_known)
			continue;
		if (b->low < a->low || b->high > a->high || a->ideal != b->ideal ||
		    (!b->absent && a->lanes != b->lanes))
			fail_msg("%s sm_%s 0x%x: %u to %u of one warp, %u to %u of all", stem, arch,
				 b->insn * 16, b->low, b->high, a->low, a->high);
	}
}

static void one_look_agrees_with_many(void **state)
{
	(void)state;
	for (const char *const *stem = stems; *stem; stem++)
		for (const char *const *arch = archs; *arch; arch++) {
			struct loaded l = load(*stem, *arch);

			for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++) {
				const struct arguments a =
					arguments(OUT, IN, 1 << (k & 1 ? 20 : 11));
				const struct geometry *at = &shapes[k];
				struct lanes_result all[2];

				all[0] = run(&l, at, &a, &every);
				all[1] = run(&l, at, NULL, &every);
				for (unsigned w = 0; w < 8; w++) {
					const struct lanes_warp one = {
						.block = {w * 3 % at->grid[0], w % at->grid[1],
							  w % at->grid[2]},
						.warp = w % (at->block[0] * at->block[1] *
							     at->block[2] / 32)};
					const struct lanes_result r = run(&l, at, &a, &one);

					check_one(*stem, *arch, &all[0], &r);
					check_one(*stem, *arch, &all[1], &r);
				}
			}
			drop(&l);
		}
}

/* Warps that are not full, and rows that are no part of a warp: one by one only. */
static void odd_blocks_are_looked_at_one_by_one(void **state)
{
	static const struct geometry odd = {{10, 1, 1}, {48, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 480);
	const struct lanes_warp last = {.block = {9, 0, 0}, .warp = 1};
	struct loaded l = load("uncoalesced_good", "90");
	const struct lanes_launch x = launch(&l, &odd, &a);
	const struct lanes_result r = run(&l, &odd, &a, &last);

	(void)state;
	assert_false(lanes_can_be_any(&x));
	assert_int_equal(lanes_warps(&x), 2);
	assert_int_equal(r.warp, 0xffff);
	assert_int_equal(r.sites_n, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(r.sites[i].lanes, 0xffff);
		assert_int_equal(r.sites[i].value, 2);
		assert_int_equal(r.sites[i].absent, 0);
	}
	drop(&l);
}

/* A bound within a warp: the lanes beyond it are not there. */
static void a_bound_within_a_warp_takes_lanes_away(void **state)
{
	static const struct geometry at = {{2, 1, 1}, {64, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 100);
	const struct lanes_warp warps[] = {{.block = {1, 0, 0}, .warp = 0},
					   {.block = {1, 0, 0}, .warp = 1}};
	struct loaded l = load("uncoalesced_good", "100");
	struct lanes_result r = run(&l, &at, &a, &warps[0]);

	(void)state;
	assert_int_equal(r.sites[0].lanes, UINT32_MAX);
	r = run(&l, &at, &a, &warps[1]);
	for (uint32_t i = 0; i < r.sites_n; i++) /* 96 to 99 */
		if (r.sites[i].kind != LANES_BRANCH) {
			assert_int_equal(r.sites[i].lanes, 0xf);
			assert_int_equal(r.sites[i].value, 1);
		}
	r = run(&l, &at, &a, &every);
	for (uint32_t i = 0; i < r.sites_n; i++)
		if (r.sites[i].kind != LANES_BRANCH)
			assert_true(r.sites[i].absent & LANES_PLACE);
	drop(&l);
}

/* Misaligned by a word: a fifth sector. Not known: four or five. */
static void the_start_of_a_buffer_counts(void **state)
{
	static const struct geometry at = {{4, 1, 1}, {256, 1, 1}};
	struct loaded l = load("uncoalesced_good", "90");
	const struct arguments a = arguments(OUT, IN + 4, 1024);
	struct lanes_result r = run(&l, &at, &a, &every);

	(void)state;
	assert_int_equal(r.sites[0].value, 5);
	assert_false(r.sites[0].is_assumed);
	assert_int_equal(r.sites[1].value, 4);
	r = run(&l, &at, NULL, &every);
	for (uint32_t i = 0; i < r.sites_n; i++) {
		if (r.sites[i].kind == LANES_BRANCH)
			continue;
		assert_true(r.sites[i].is_known && r.sites[i].is_assumed);
		assert_int_equal(r.sites[i].value, 4);
		assert_int_equal(r.sites[i].low, 4);
		assert_int_equal(r.sites[i].high, 5);
		assert_true(r.sites[i].absent & LANES_ARGUMENT);
	}
	drop(&l);
}

/* Launches whose buffers differ have pointers of which the lowest bits are known all the same. */
static void what_pointers_agree_in_counts(void **state)
{
	static const struct geometry at = {{4, 1, 1}, {256, 1, 1}};
	struct loaded l = load("uncoalesced_good", "90");
	struct arguments a = arguments(OUT, IN + 4, 1024);
	struct lanes_result r;

	(void)state;
	memset(a.known + 1, 0, 7); /* a byte of each pointer */
	memset(a.known + 9, 0, 7);
	r = run(&l, &at, &a, &every);
	assert_int_equal(r.sites[0].value, 5);
	assert_int_equal(r.sites[0].low, 5);
	assert_false(r.sites[0].is_assumed);
	assert_int_equal(r.sites[1].value, 4);
	assert_false(r.sites[1].is_assumed);
	a.known[0] = a.known[8] = 0xf; /* 16 bytes */
	r = run(&l, &at, &a, &every);
	assert_int_equal(r.sites[0].value, 5);
	assert_int_equal(r.sites[0].low, 5);
	assert_int_equal(r.sites[1].value, 4);
	assert_int_equal(r.sites[1].high, 5);
	assert_true(r.sites[1].is_assumed);
	drop(&l);
}

/* ------------------------------------------------------------------------------------- the report's */

static struct kernel_access_launch access_launch(const struct loaded *l, const struct geometry *at,
						 const struct arguments *a)
{
	struct kernel_access_launch x = {
		.cubin = &l->cubin, .function = l->function, .view = l->view, .cluster = {1, 1, 1}};

	memcpy(x.grid, at->grid, sizeof(x.grid));
	memcpy(x.block, at->block, sizeof(x.block));
	x.params = a->bytes;
	x.known = a->known;
	x.params_n = sizeof(a->bytes);
	return x;
}

/* 2,097,152 words that lie side by side are 262,144 sectors. */
static void words_side_by_side_are_sectors(void **state)
{
	static const struct geometry at = {{8192, 1, 1}, {256, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 2097152);

	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct loaded l = load("uncoalesced_good", *arch);
		const struct kernel_access_launch x = access_launch(&l, &at, &a);
		struct err e = {0};
		const struct metric_access *m = kernel_access_read(&x, l.arena, &e);

		assert_non_null(m);
		assert_int_equal(m->sites_n, 2);
		for (size_t i = 0; i < 2; i++) {
			const struct metric_site *s = &m->sites[i];

			assert_int_equal(s->requests.label, QUANTITY_DERIVED);
			assert_int_equal(s->sectors_per_request.label, QUANTITY_DERIVED);
			assert_true(s->requests.value * s->sectors_per_request.value == 262144);
			assert_true(s->excess.value == 0);
		}
		assert_true(m->global_load_bytes.value == 4.0 * 2097152);
		assert_true(m->global_store_bytes.value == 4.0 * 2097152);
		/* straight to the EXIT behind the store */
		assert_true(m->warp_instructions.value ==
			    65536.0 * ((double)m->sites[1].offset / SASS_BYTES + 2));
		assert_int_equal(m->warp_instructions.label, QUANTITY_DERIVED);
		assert_int_equal(m->sectors_per_request_load.label, QUANTITY_DERIVED);
		assert_int_equal(m->excess_sectors.label, QUANTITY_DERIVED);
		assert_true(m->excess_sectors.value == 0);
		assert_int_equal(m->divergence_pct.label, QUANTITY_DERIVED);
		assert_true(m->divergence_pct.value == 0);
		drop(&l);
	}
}

/* The bound lies in a block that no look is at: what looks find is no proof. */
static void a_bound_elsewhere_is_no_proof(void **state)
{
	static const struct geometry at = {{8, 1, 1}, {256, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 1001);

	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct loaded l = load("uncoalesced_good", *arch);
		const struct kernel_access_launch x = access_launch(&l, &at, &a);
		struct err e = {0};
		const struct metric_access *m = kernel_access_read(&x, l.arena, &e);

		assert_non_null(m);
		assert_int_equal(m->sectors_per_request_load.label, QUANTITY_ESTIMATED);
		assert_int_equal(m->excess_sectors.label, QUANTITY_ESTIMATED);
		assert_int_equal(m->divergence_pct.label, QUANTITY_ESTIMATED);
		assert_true(isnan(m->divergence_pct.high));
		drop(&l);
	}
}

static const struct metric_access *of_calls(struct loaded *l, const char *arch, const char *kernel)
{
	static const struct geometry at = {{8, 1, 1}, {256, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 1);
	struct kernel_access_launch x;
	struct err e = {0};
	char path[160];
	const struct metric_access *m;

	snprintf(path, sizeof(path), "tests/golden/lanes/calls.sm_%s.cubin", arch);
	*l = load_file_of(path, kernel);
	x = access_launch(l, &at, &a);
	m = kernel_access_read(&x, l->arena, &e);
	assert_non_null(m);
	return m;
}

/* What a called function returns is not what was in the register before, and what it does is not nothing. */
static void what_is_called_is_not_known(void **state)
{
	static const char *const built[] = {"80", "90", "120"};
	const struct metric_access *m;
	struct loaded l;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		m = of_calls(&l, built[i], "asks");
		assert_int_equal(m->sectors_per_request_load.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->warp_instructions.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->sectors_per_request_store.label, QUANTITY_DERIVED);
		assert_true(m->sectors_per_request_store.value == 4);
		assert_int_equal(m->atomics.label, QUANTITY_DERIVED); /* the callee has none */
		assert_int_equal(m->divergence_pct.label, QUANTITY_ESTIMATED);
		drop(&l);

		m = of_calls(&l, built[i], "has_it_done");
		assert_int_equal(m->atomics.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->divergence_pct.label, QUANTITY_ESTIMATED);
		drop(&l);

		/* registers that compilers keep over a call are kept */
		m = of_calls(&l, built[i], "says");
		assert_true(m->sectors_per_request_store.value == 4);
		assert_int_equal(m->sectors_per_request_store.label, QUANTITY_ESTIMATED);
		assert_int_equal(m->excess_sectors.label, QUANTITY_ESTIMATED);
		assert_int_equal(m->atomics.label, QUANTITY_ESTIMATED);
		drop(&l);
	}
}

static const struct metric_site *load_of(const struct metric_access *m)
{
	for (size_t i = 0; i < m->sites_n; i++)
		if (!strcmp(m->sites[i].kind, "load"))
			return &m->sites[i];
	return NULL;
}

/* Lanes whose predicate says no read nothing, and how a copy writes shared memory is no proof. */
static void a_copy_that_writes_zeros_reads_nothing(void **state)
{
	static const char *const built[] = {"80", "90", "120"};
	static const struct {
		uint32_t lanes;
		double sectors;
	} cases[] = {{32, 16}, {12, 6}, {0, 0}};
	static const struct geometry at = {{1, 1, 1}, {32, 1, 1}};

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		const struct arguments a = arguments(OUT, IN, cases[i % 3].lanes);
		const struct metric_access *m;
		const struct metric_site *s;
		struct kernel_access_launch x;
		struct err e = {0};
		struct loaded l;
		char path[160];

		snprintf(path, sizeof(path), "tests/golden/lanes/copies.sm_%s.cubin", built[i / 3]);
		l = load_file_of(path, NULL);
		x = access_launch(&l, &at, &a);
		m = kernel_access_read(&x, l.arena, &e);
		assert_non_null(m);
		s = load_of(m);
		assert_int_equal(s != NULL, cases[i % 3].lanes > 0);
		if (s) {
			assert_int_equal(s->sectors_per_request.label, QUANTITY_DERIVED);
			assert_true(s->sectors_per_request.value == cases[i % 3].sectors);
		}
		assert_int_equal(m->shared_wavefronts_per_request.label, QUANTITY_ESTIMATED);
		drop(&l);
	}
}

/* Instructions that lanes part and meet in: BSYNC is executed by one group and by the other. */
static void lanes_meet_one_group_after_another(void **state)
{
	static const char *const built[] = {"80", "90", "120"};
	static const struct geometry at = {{4, 1, 1}, {256, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 0);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		double straight = 0, alone = 0, lanes;
		const struct metric_access *m;
		struct kernel_access_launch x;
		struct err e = {0};
		struct loaded l;
		char path[160];

		snprintf(path, sizeof(path), "tests/golden/lanes/parts.sm_%s.cubin", built[i]);
		l = load_file_of(path, NULL);
		/* in front, the branch's side, its loop, behind */
		assert_int_equal(l.g->loops_n, 1);
		for (uint32_t b = 0; b < 4; b++) {
			const double n = l.g->blocks[b].end - l.g->blocks[b].first;

			straight += b == 0 || b == 3 ? n : 0;
			alone += b == 1 ? n : b == 2 ? 5 * n : 0;
		}
		x = access_launch(&l, &at, &a);
		m = kernel_access_read(&x, l.arena, &e);
		assert_non_null(m);
		assert_int_equal(m->warp_instructions.label, QUANTITY_DERIVED);
		assert_true(m->warp_instructions.value == 32 * (straight + alone + 1));
		/* BSYNC by 31 lanes and by one is as many as by all */
		lanes = 32 * straight + alone;
		assert_int_equal(m->divergence_pct.label, QUANTITY_DERIVED);
		assert_float_equal(m->divergence_pct.value,
				   100 * (1 - lanes / (32 * (straight + alone + 1))), 1e-9);
		drop(&l);
	}
}

static void scattered_words_are_excess(void **state)
{
	static const struct geometry at = {{16384, 1, 1}, {256, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 1 << 22);

	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct loaded l = load("uncoalesced_bad", *arch);
		const struct kernel_access_launch x = access_launch(&l, &at, &a);
		const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);

		assert_non_null(m);
		assert_string_equal(m->sites[0].kind, "load");
		assert_true(m->sites[0].excess.value == 28);
		assert_true(m->sectors_per_request_load.value == 32);
		/* some warps were looked at, not all */
		assert_int_equal(m->sectors_per_request_load.label, QUANTITY_ESTIMATED);
		assert_true(m->excess_sectors.value == 28.0 * (1 << 22) / 32);
		assert_int_equal(m->sectors_per_request_store.label, QUANTITY_DERIVED);
		/* and no neighbour has a use for it */
		assert_true(m->sites[0].own_excess.value == 28);
		assert_int_equal(m->sites[0].own_excess.label, m->sites[0].excess.label);
		assert_null(m->sites[0].sharers);
		assert_true(m->wasted_sectors.value == m->excess_sectors.value);
		drop(&l);
	}
}

/*
 * gemm_bad: a thread loads a[row n + k] and b[col n + k] for each of n k, 16 rows and 16 columns a block. A warp is two
 * rows of 16 threads: 2 addresses of a, 16 of b, all of them n halves apart.
 */
static void loops_are_counted_with_their_arguments(void **state)
{
	static const struct geometry at = {{64, 64, 1}, {16, 16, 1}};
	const struct arguments a = arguments(OUT, IN, 1024);
	const double warps = 64 * 64 * 8;

	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct loaded l = load("gemm_bad", *arch);
		const struct kernel_access_launch x = access_launch(&l, &at, &a);
		const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);
		double loads = 0, sectors = 0;

		assert_non_null(m);
		for (size_t i = 0; i < m->sites_n; i++) {
			if (strcmp(m->sites[i].kind, "load"))
				continue;
			assert_int_equal(m->sites[i].requests.label, QUANTITY_DERIVED);
			loads += m->sites[i].requests.value;
			sectors +=
				m->sites[i].requests.value * m->sites[i].sectors_per_request.value;
		}
		assert_true(loads == warps * 2 * 1024);
		assert_true(sectors == warps * (2 + 16) * 1024);
		assert_int_equal(m->sectors_per_request_load.label, QUANTITY_DERIVED);
		assert_true(m->sectors_per_request_load.value == 9);
		drop(&l);
	}
}

/* Another size: another number of turns, also where the unrolled loop leaves a rest. */
static void a_rest_of_a_loop_is_counted(void **state)
{
	static const struct geometry at = {{2, 2, 1}, {16, 16, 1}};

	(void)state;
	for (const char *const *arch = archs; *arch; arch++)
		for (uint32_t n = 1; n < 40; n++) {
			struct loaded l = load("gemm_bad", *arch);
			const struct arguments a = arguments(OUT, IN, n);
			const struct kernel_access_launch x = access_launch(&l, &at, &a);
			const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);
			double loads = 0;

			assert_non_null(m);
			for (size_t i = 0; i < m->sites_n; i++)
				if (!strcmp(m->sites[i].kind, "load"))
					loads += m->sites[i].requests.value;
			if (loads != 2.0 * n * 4 * 8)
				fail_msg("sm_%s, n %u: %g loads", *arch, n, loads);
			drop(&l);
		}
}

/* A device refuses such an access: the argument is something else, and the code is not for it. */
static void an_address_between_words_is_no_request(void **state)
{
	static const struct geometry at = {{2, 1, 1}, {64, 1, 1}};
	const struct arguments a = arguments(OUT, IN + 30, 128);
	struct loaded l = load("uncoalesced_good", "90");
	const struct kernel_access_launch x = access_launch(&l, &at, &a);
	const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);
	unsigned n = 0;

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < m->sites_all; i++) {
		const struct quantity *q = &m->sites[i].sectors_per_request;

		if (strcmp(m->sites[i].kind, "load"))
			continue;
		n++;
		assert_int_equal(q->label, QUANTITY_UNKNOWN);
		assert_non_null(strstr(q->why, "no multiple of its size"));
	}
	assert_true(n > 0);
	drop(&l);
}

/* Half of each sector is a fragment's, the other half that of the load beside it: requests have excess, nothing is wasted. */
static void neighbours_use_the_rest_of_a_sector(void **state)
{
	static const struct geometry at = {{16, 8, 1}, {128, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 1024);

	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct loaded l = load("gemm_good", *arch);
		const struct kernel_access_launch x = access_launch(&l, &at, &a);
		const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);
		unsigned n = 0;

		assert_non_null(m);
		for (size_t i = 0; i < m->sites_all; i++) {
			const struct metric_site *s = &m->sites[i];

			if (strcmp(s->kind, "load") || !quantity_known(&s->excess))
				continue;
			n++;
			assert_true(s->sectors_per_request.value == 8 && s->excess.value == 4);
			assert_true(s->own_excess.high == 0);
			assert_int_equal(s->own_excess.label, QUANTITY_DERIVED);
			assert_string_equal(s->sharers, "neighbouring instructions");
		}
		/* code for sm_100 takes addresses from what is not modelled */
		assert_true(n >= 8 || (n == 0 && !strcmp(*arch, "100")));
		drop(&l);
	}
}

/* A row per lane, two bytes of it at a time: 16 loads of the unrolled turn use a sector up between them. */
static void a_row_per_lane_is_used_up(void **state)
{
	static const struct geometry at = {{64, 8, 1}, {128, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 1024);
	struct loaded l = load("gemm_bad", "90");
	const struct kernel_access_launch x = access_launch(&l, &at, &a);
	const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);
	unsigned n = 0;

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < m->sites_all; i++) {
		const struct metric_site *s = &m->sites[i];

		if (strcmp(s->kind, "load") || s->excess.value != 30)
			continue;
		n++;
		assert_int_equal(s->own_excess.label, QUANTITY_DERIVED);
		assert_true(s->own_excess.value == 0);
		assert_string_equal(s->sharers, "neighbouring instructions");
	}
	assert_true(n >= 16);
	assert_true(m->excess_sectors.value == 64.0 * 8 * 4 * 1024 * 30);
	assert_int_equal(m->wasted_sectors.label, QUANTITY_DERIVED);
	assert_true(m->wasted_sectors.value == 0);
	drop(&l);
}

/* Shared memory has no sectors that a neighbour could use. */
static void shared_memory_has_no_neighbours(void **state)
{
	static const struct geometry at = {{64, 1, 1}, {32, 32, 1}};
	const struct arguments a = arguments(OUT, IN, 2048);
	struct loaded l = load("bank_conflict_bad", "90");
	const struct kernel_access_launch x = access_launch(&l, &at, &a);
	const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);
	unsigned n = 0;

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < m->sites_n; i++)
		if (!strcmp(m->sites[i].kind, "shared")) {
			n++;
			assert_false(quantity_known(&m->sites[i].own_excess));
		}
	assert_true(n > 0);
	drop(&l);
}

/* Lanes beyond an unknown bound may be away: what they would touch is no proof, nor is what they need too much. */
static void lanes_that_may_be_away_make_an_estimate(void **state)
{
	static const struct geometry at = {{16384, 1, 1}, {256, 1, 1}};
	struct arguments a = arguments(OUT, IN, 1 << 22);
	struct loaded l = load("uncoalesced_good", "90");
	const struct kernel_access_launch x = access_launch(&l, &at, &a);
	const struct metric_access *m;
	unsigned n = 0;

	(void)state;
	memset(a.known + 16, 0, 4); /* n */
	m = kernel_access_read(&x, l.arena, NULL);
	assert_non_null(m);
	for (size_t i = 0; i < m->sites_n; i++) {
		const struct metric_site *s = &m->sites[i];

		if (strcmp(s->kind, "load") && strcmp(s->kind, "store"))
			continue;
		n++;
		assert_int_equal(s->sectors_per_request.label, QUANTITY_ESTIMATED);
		assert_int_equal(s->excess.label, QUANTITY_ESTIMATED);
		assert_true(s->sectors_per_request.low == 1 && s->excess.low == 0);
		assert_non_null(strstr(s->excess.why, "fewer lanes"));
	}
	assert_int_equal(n, 2);
	drop(&l);
}

/* Half of the lanes go each way, through 193 and 959 of the 1,197 instructions: they count, not the blocks that they are in. */
static void lanes_that_part_idle_by_instructions(void **state)
{
	static const struct geometry at = {{4096, 1, 1}, {256, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 1 << 20);
	struct loaded l = load("divergent_bad", "90");
	const struct kernel_access_launch x = access_launch(&l, &at, &a);
	const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);

	(void)state;
	assert_non_null(m);
	assert_true(m->divergence_pct.value > 47 && m->divergence_pct.value < 49);
	assert_true(m->divergence_pct.low <= m->divergence_pct.value);
	drop(&l);
}

/* Two blocks of two warps are all looked at: then it is no estimate. */
static void all_warps_of_a_small_grid_are_a_proof(void **state)
{
	static const struct geometry at = {{2, 1, 1}, {64, 1, 1}};
	const struct arguments a = arguments(OUT, IN, 100);
	struct loaded l = load("uncoalesced_good", "90");
	const struct kernel_access_launch x = access_launch(&l, &at, &a);
	const struct metric_access *m = kernel_access_read(&x, l.arena, NULL);

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < m->sites_n; i++) {
		if (strcmp(m->sites[i].kind, "load"))
			continue;
		assert_true(m->sites[i].requests.value == 4);
		assert_int_equal(m->sites[i].requests.label, QUANTITY_DERIVED);
		assert_true(m->sites[i].sectors_per_request.value == 3.25); /* 4, 4, 4, 1 */
		assert_int_equal(m->sites[i].sectors_per_request.label, QUANTITY_DERIVED);
	}
	drop(&l);
}

/* ------------------------------------------------------------------------------------- values */

static uint32_t symbol(struct lanes_values *v, unsigned key)
{
	const struct lanes_symbol s = {
		.kind = LANES_CONSTANT, .owner = LANES_NONE, .parent = LANES_NONE, .key = key};

	return lanes_term(v, lanes_symbol(v, &s), 1);
}

static void halves_belong_together(void **state)
{
	struct arena *arena = arena_new();
	struct lanes_values v;
	uint64_t lane[LANES];
	uint32_t a, b, form, number;

	(void)state;
	assert_true(lanes_values_init(&v, arena));
	for (unsigned i = 0; i < LANES; i++)
		lane[i] = 4 * i;
	a = symbol(&v, 1);
	b = symbol(&v, 2);
	form = lanes_add(&v, a, lanes_of_numbers(&v, lane));
	assert_int_equal(lanes_pair(&v, lanes_low(&v, form), lanes_high(&v, form)), form);
	assert_int_equal(lanes_pair(&v, lanes_low(&v, form), lanes_high(&v, b)), LANES_NONE);
	assert_int_equal(lanes_add(&v, form, lanes_scale(&v, form, UINT64_MAX)), 0);
	/* (a + b) - b is a again; 32 bits forget what is above them */
	assert_int_equal(lanes_add(&v, lanes_add(&v, a, b), lanes_scale(&v, b, UINT64_MAX)), a);
	assert_int_equal(lanes_low(&v, lanes_add(&v, a, lanes_scale(&v, b, UINT64_C(1) << 32))),
			 lanes_low(&v, a));
	assert_false(lanes_is_uniform(&v, lanes_low(&v, form)));
	assert_true(lanes_is_uniform(&v, lanes_low(&v, a)));
	assert_false(lanes_is_number(&v, lanes_low(&v, a), &number));
	assert_true(lanes_is_number(&v, lanes_uniform(&v, 7), &number));
	assert_int_equal(number, 7);
	/* an extended value has the lower half of what was extended, and an upper half of its own */
	form = lanes_extend(&v, lanes_low(&v, form), true);
	assert_true(v.forms.at[form].is_assumed);
	assert_int_equal(lanes_pair(&v, lanes_low(&v, form), lanes_high(&v, form)), form);
	lanes_values_free(&v);
	arena_free(arena);
}

static void alignment_follows_sums(void **state)
{
	struct arena *arena = arena_new();
	struct lanes_values v;
	struct lanes_symbol pointer = {.kind = LANES_CONSTANT,
				       .owner = LANES_NONE,
				       .parent = LANES_NONE,
				       .key = 8,
				       .is_pointer = true};
	uint32_t p, form;
	uint64_t residue;

	(void)state;
	assert_true(lanes_values_init(&v, arena));
	p = lanes_term(&v, lanes_symbol(&v, &pointer), 1);
	form = lanes_add(&v, lanes_scale(&v, symbol(&v, 1), 12), lanes_form(&v, 7, 0, 0, false));
	assert_int_equal(lanes_alignment(&v, form, 32, false, &residue), 4);
	assert_int_equal(residue, 3);
	form = lanes_add(&v, p, lanes_form(&v, 40, 0, 0, false));
	assert_int_equal(lanes_alignment(&v, form, 32, false, &residue), 1);
	assert_int_equal(lanes_alignment(&v, form, 32, true, &residue), 32);
	assert_int_equal(residue, 8);
	/* three pointers are no pointer */
	assert_int_equal(lanes_alignment(&v, lanes_scale(&v, p, 3), 32, true, &residue), 1);
	lanes_values_free(&v);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_samples_do_what_they_say),
		cmocka_unit_test(columns_of_a_tile_meet_on_one_bank),
		cmocka_unit_test(odd_and_even_lanes_part),
		cmocka_unit_test(one_look_agrees_with_many),
		cmocka_unit_test(odd_blocks_are_looked_at_one_by_one),
		cmocka_unit_test(a_bound_within_a_warp_takes_lanes_away),
		cmocka_unit_test(the_start_of_a_buffer_counts),
		cmocka_unit_test(what_pointers_agree_in_counts),
		cmocka_unit_test(words_side_by_side_are_sectors),
		cmocka_unit_test(a_bound_elsewhere_is_no_proof),
		cmocka_unit_test(what_is_called_is_not_known),
		cmocka_unit_test(a_copy_that_writes_zeros_reads_nothing),
		cmocka_unit_test(lanes_meet_one_group_after_another),
		cmocka_unit_test(scattered_words_are_excess),
		cmocka_unit_test(neighbours_use_the_rest_of_a_sector),
		cmocka_unit_test(a_row_per_lane_is_used_up),
		cmocka_unit_test(shared_memory_has_no_neighbours),
		cmocka_unit_test(loops_are_counted_with_their_arguments),
		cmocka_unit_test(a_rest_of_a_loop_is_counted),
		cmocka_unit_test(an_address_between_words_is_no_request),
		cmocka_unit_test(lanes_that_may_be_away_make_an_estimate),
		cmocka_unit_test(lanes_that_part_idle_by_instructions),
		cmocka_unit_test(all_warps_of_a_small_grid_are_a_proof),
		cmocka_unit_test(halves_belong_together),
		cmocka_unit_test(alignment_follows_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
