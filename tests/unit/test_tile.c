/*
 * test_tile.c - what a run through a loop computes and loads: the samples, whose figures were read off their
 * code, and a second count by the text of every innermost loop of the stored cubins.
 */
#include "kbn_test.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "golden/tool.h"
#include "kernel_code.h"
#include "sass_text.h"
#include "tile.h"

static const struct expected {
	const char *kernel;
	uint32_t compute_ops;
	const char *compute_op;
	uint32_t load_ops;
	int64_t bytes;
	double ratio, ratio_raw;
	const char *class, *async_copy;
} expected[] = {
	{"gemm_bad", 16, "FFMA", 32, 2048, 4, 0.5, "low", "beneficial"},
	{"gemm_good", 64, "HMMA", 96, 12288, 64 / 24.0, 64 / 96.0, "low", "beneficial"},
	{"memory_stream_bad", 0, NULL, 1, 128, 0, 0, "low", "beneficial"},
	{"_Z9ffma_peakILi1EEvPfPKfi", 256, "FFMA", 0, 0, NAN, NAN, NULL, NULL},
};
#define EXPECTED (sizeof(expected) / sizeof(*expected))

static unsigned met[EXPECTED];
static unsigned long compared;

/* The instructions [start, end) by their text: how many begin with one of the words. */
static unsigned count_text(const struct cfg *g, const struct metric_loop *l,
			   const char *const *words, const char *without)
{
	unsigned n = 0;

	for (uint64_t i = l->start / SASS_BYTES; i < l->end / SASS_BYTES; i++) {
		char text[SASS_TEXT_MAX];
		const char *at = text;

		sass_text(g->sm, &g->insns[i], text);
		if (*at == '@')
			at += strcspn(at, " ") + 1;
		for (const char *const *w = words; *w; w++)
			if (!strncmp(at, *w, strlen(*w)) && !(without && strstr(at, without))) {
				n++;
				break;
			}
	}
	return n;
}

/* An innermost loop whose blocks lie side by side has all instructions from start to end. */
static bool is_whole(const struct cfg *g, const struct metric_loop *l)
{
	for (uint32_t i = 0; i < g->loops_n; i++)
		if ((uint64_t)g->loops[i].first * SASS_BYTES == l->start && l->is_innermost)
			return g->loops[i].insns_n == (l->end - l->start) / SASS_BYTES;
	return false;
}

static void compare_with_text(const struct cfg *g, const struct metric_loop *l)
{
	static const char *const products[] = {"HMMA", "IMMA",  "DMMA", "BMMA",
					       "QMMA", "HGMMA", NULL};
	static const char *const adds[] = {"FFMA", "HFMA2", "DFMA", "FHFMA", NULL};
	static const char *const loads[] = {"LDG.",       "LDGSTS", "UTMALDG",
					    "UBLKCP.S.G", "LDGMC",  NULL};
	static const char *const copies[] = {"LDGSTS", "UTMALDG", "UBLKCP.S.G", NULL};
	static const char *const barriers[] = {"BAR.SYNC", NULL};
	const unsigned p = count_text(g, l, products, NULL);

	if (!is_whole(g, l))
		return;
	compared++;
	assert_int_equal(l->compute_ops, p ? p : count_text(g, l, adds, "RZ, R"));
	assert_int_equal(l->load_ops, count_text(g, l, loads, NULL));
	assert_int_equal(l->async_copies, count_text(g, l, copies, NULL));
	assert_int_equal(l->barriers, count_text(g, l, barriers, NULL));
}

static void compare_with_expected(const char *kernel, const struct metric_loop *loops, size_t n)
{
	const struct metric_loop *l = loops;

	for (size_t k = 0; k < EXPECTED; k++) {
		const struct expected *e = &expected[k];

		if (strcmp(e->kernel, kernel) != 0)
			continue;
		while (l < loops + n && !l->compute_ops && !l->load_ops)
			l++;
		assert_true(l < loops + n);
		met[k]++;
		assert_int_equal(l->compute_ops, e->compute_ops);
		assert_int_equal(l->load_ops, e->load_ops);
		assert_int_equal(l->load_bytes_per_warp, e->bytes);
		assert_int_equal(l->async_copies, 0);
		if (e->compute_op)
			assert_string_equal(l->compute_op, e->compute_op);
		assert_true(isnan(e->ratio) ? isnan(l->ratio) : fabs(l->ratio - e->ratio) < 1e-9);
		assert_true(isnan(e->ratio) ? isnan(l->ratio_raw)
					    : fabs(l->ratio_raw - e->ratio_raw) < 1e-9);
		assert_true(e->class ? !strcmp(l->class, e->class) : !l->class);
		assert_true(e->async_copy ? !strcmp(l->async_copy, e->async_copy) : !l->async_copy);
		assert_true(!l->why == !isnan(l->ratio));
	}
}

static bool visit(const struct image *image, const struct cubin *c)
{
	(void)image;
	for (size_t i = 0; i < c->functions_n; i++) {
		struct arena *a = arena_new();
		const struct metric_loop *loops;
		struct err e = {0};
		struct cfg g;
		size_t n;

		assert_int_equal(cfg_build(&g, a, (int)c->sm, &c->functions[i], &e), 0);
		loops = tile_loops(&g, a, &n);
		assert_non_null(loops);
		for (size_t k = 0; k < n; k++) {
			assert_true(!k || loops[k - 1].start <= loops[k].start);
			assert_true(loops[k].start < loops[k].end && loops[k].depth);
			compare_with_text(&g, &loops[k]);
		}
		if (c->sm == 80 || c->sm == 90)
			compare_with_expected(c->functions[i].name, loops, n);
		arena_free(a);
	}
	return true;
}

static void loops_of_stored_cubins(void **state)
{
	static const char *const patterns[] = {"tests/golden/cubin/*.cubin",
					       "tests/golden/loops/*.cubin"};
	glob_t files = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		assert_int_equal(tool_each_cubin(files.gl_pathv[i], visit), 0);
	globfree(&files);
	for (size_t k = 0; k < EXPECTED; k++)
		assert_int_equal(met[k], 2);
	assert_true(compared > 300);
}

/* One loop of instructions by their words, with a branch back at the end. */
static struct metric_loop loop_of(struct arena *a, const struct sass_word *words, size_t n)
{
	struct cubin_function f = {.name = "f"};
	const struct metric_loop *loops;
	struct err e = {0};
	struct cfg g;
	size_t loops_n;
	uint8_t *code = arena_alloc(a, (n + 2) * SASS_BYTES);

	for (size_t i = 0; i < n + 2; i++) {
		/* @P0 BRA to the first; EXIT (sm_80) */
		const struct sass_word back = {0x0000000000000947 | (0xfffffffffffffff0ull - 16 * n)
									    << 32,
					       0x000fea000383ffff};
		const struct sass_word end = {0x000000000000794d, 0x000fea0003800000};
		const struct sass_word w = i < n ? words[i] : i == n ? back : end;

		memcpy(code + i * SASS_BYTES, &w.lo, 8);
		memcpy(code + i * SASS_BYTES + 8, &w.hi, 8);
	}
	f.code = (struct buf){.data = code, .bytes = (n + 2) * SASS_BYTES};
	assert_int_equal(cfg_build(&g, a, 80, &f, &e), 0);
	loops = tile_loops(&g, a, &loops_n);
	assert_non_null(loops);
	assert_int_equal(loops_n, 1);
	return loops[0];
}

#define HMMA   ((struct sass_word){0x000000040c08723c, 0x000fe20000001808}) /* .16816.F32 */
#define LDG128 ((struct sass_word){0x0000000404087981, 0x000ea2000c1e1d00})
#define LDGSTS ((struct sass_word){0x0000000006057fae, 0x0003e8000b901d44}) /* .E.BYPASS.128 */
#define LD     ((struct sass_word){0x0000000004087980, 0x000ea2000c101900})

static struct metric_loop of(struct arena *a, struct sass_word computes, unsigned n,
			     struct sass_word loads, unsigned m)
{
	struct sass_word words[160];

	for (unsigned i = 0; i < n + m; i++)
		words[i] = i < n ? computes : loads;
	return loop_of(a, words, n + m);
}

/* The two published cases, and both sides of the bounds. */
static void published_ratios(void **state)
{
	struct arena *a = arena_new();
	struct metric_loop l = of(a, HMMA, 64, LDG128, 2);

	(void)state;
	assert_int_equal(l.load_ops, 2);
	assert_int_equal(l.load_bytes_per_warp, 1024);
	assert_true(l.ratio == 32 && l.ratio_raw == 32);
	assert_string_equal(l.class, "high");
	assert_string_equal(l.async_copy, "detrimental");
	l = of(a, HMMA, 8, LDG128, 2);
	assert_string_equal(l.class, "low");
	assert_string_equal(l.async_copy, "beneficial");
	l = of(a, HMMA, 20, LDG128, 1);
	assert_string_equal(l.class, "medium");
	assert_string_equal(l.async_copy, "neutral");
	l = of(a, HMMA, 21, LDG128, 1);
	assert_string_equal(l.class, "high");
	l = of(a, HMMA, 5, LDG128, 1);
	assert_string_equal(l.class, "medium");
	l = of(a, HMMA, 9, LDG128, 2);
	assert_string_equal(l.class, "low");
	l = of(a, HMMA, 8, LDGSTS, 2);
	assert_int_equal(l.async_copies, 2);
	assert_true(l.ratio == 4);
	assert_string_equal(l.async_copy, "in use");
	arena_free(a);
}

static void what_is_not_known_has_no_ratio(void **state)
{
	struct arena *a = arena_new();
	const struct sass_word undecoded = {UINT64_MAX, UINT64_MAX};
	struct metric_loop l = of(a, HMMA, 8, LD, 2);

	(void)state;
	assert_true(isnan(l.ratio) && isnan(l.ratio_raw) && !l.class && !l.async_copy);
	assert_non_null(strstr(l.why, "LD"));
	l = of(a, HMMA, 8, undecoded, 1);
	assert_true(isnan(l.ratio) && !l.class);
	assert_non_null(strstr(l.why, "decoded"));
	l = of(a, HMMA, 8, HMMA, 1);
	assert_true(isnan(l.ratio) && !l.class && l.compute_ops == 9);
	assert_non_null(strstr(l.why, "loads nothing"));
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_of_stored_cubins),
		cmocka_unit_test(published_ratios),
		cmocka_unit_test(what_is_not_known_has_no_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
