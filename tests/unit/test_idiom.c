/*
 * test_idiom.c - matrix products in plain multiply-adds and doubles nobody meant, on tests/golden/idiom and the
 * samples, of every architecture.
 */
#include "kbn_test.h"

#include "arena.h"
#include "cubin.h"
#include "idiom.h"

struct row {
	const char *function;
	bool doubles, product;
	uint32_t sums;       /* where there is a product */
	uint8_t coordinates; /* of its rows and columns, as in struct idioms */
	uint32_t each;       /* how often other operations use a loaded value, 0 = there are none */
};

#define THREAD_XY 3
#define ALL_XY    (3 | 3 << 3)

static const struct row idioms[] = {
	{"tiled", false, true, 16, 0, 0},
	{"plain", false, true, 1, ALL_XY, 0},
	{"staged", false, true, 1, THREAD_XY, 0},
	{"staged_halves", false, true, 1, THREAD_XY, 0},
	{"staged_vector", false, false, 0, 0, 0},
	{"matrix_vector", false, false, 0, 0, 0},
	{"dot", false, false, 0, 0, 0},
	{"filter", false, false, 0, 0, 0},
	{"distances", false, false, 0, 0, 1},
	{"leak", true, false, 0, 0, 0},
	{"compare", true, false, 0, 0, 0},
	{"sum_in_double", false, false, 0, 0, 0},
	{"all_double", false, false, 0, 0, 0},
	{"divided", true, false, 0, 0, 0},
	{"functions", true, false, 0, 0, 0},
	{"sine", false, false, 0, 0, 0},
	{"kept_in_double", false, false, 0, 0, 0},
	{"given", false, false, 0, 0, 0},
	{"sum_of_twelve", false, false, 0, 0, 0},
	{"sum_of_lanes", false, false, 0, 0, 0},
	{"staged_minima", false, false, 0, 0, 1},
	{"bits", false, false, 0, 0, 2},
};

/* Loops that the library's sine brings along. */
static uint32_t reductions(const struct cfg *g)
{
	uint32_t n = 0;

	for (uint32_t l = 0; l < g->loops_n; l++) {
		n += g->loops[l].is_reduction;
		assert_false(g->loops[l].is_reduction && g->loops[l].is_innermost);
	}
	return n;
}

static void check(const char *path, const struct row *rows, size_t n)
{
	struct err e = {0};
	struct cubin c;
	size_t bytes, found = 0;
	uint8_t *data = load_file(path, &bytes);

	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	for (size_t f = 0; f < c.functions_n; f++)
		for (size_t i = 0; i < n; i++) {
			struct arena *arena = arena_new();
			struct idioms x;
			struct cfg g;

			assert_non_null(arena);
			if (!strcmp(c.functions[f].name, rows[i].function)) {
				found++;
				assert_int_equal(
					cfg_build(&g, arena, (int)c.sm, &c.functions[f], &e), 0);
				assert_int_equal(idiom_read(&g, arena, &x), 0);
				if ((x.doubles > 0) != rows[i].doubles ||
				    (x.multiplies > 0) != rows[i].product || x.sums != rows[i].sums)
					fail_msg("%s %s: %u doubles, %u multiplies in %u sums",
						 path, rows[i].function, x.doubles, x.multiplies,
						 x.sums);
				assert_int_equal(x.doubles_at != CFG_NONE, rows[i].doubles);
				assert_true(x.doubles_on >= x.doubles &&
					    x.doubles_on <= x.doubles_around);
				assert_int_equal(reductions(&g),
						 !strcmp(rows[i].function, "functions") ||
							 !strncmp(rows[i].function, "places", 6) ||
							 !strcmp(rows[i].function, "sine"));
				assert_int_equal(x.product_at != CFG_NONE, rows[i].product);
				/* rows by y, columns by x, where a thread has one result */
				assert_int_equal(x.rows | x.columns, rows[i].coordinates);
				assert_int_equal(x.is_staged, rows[i].coordinates == THREAD_XY);
				assert_int_equal(x.rows & x.columns, 0);
				assert_int_equal(x.pairs_at != CFG_NONE, rows[i].each > 0);
				/* one sum of floats is meant to be in double */
				assert_int_equal(x.summed > 0,
						 !strcmp(rows[i].function, "sum_in_double"));
				assert_int_equal(x.summed_at != CFG_NONE, x.summed > 0);
				assert_int_equal(x.summed_widened, x.summed);
				if (2 * x.pairs != rows[i].each * x.pair_operands ||
				    (x.pairs > 0) != (rows[i].each > 0))
					fail_msg("%s %s: %u pairs of %u", path, rows[i].function,
						 x.pairs, x.pair_operands);
			}
			arena_free(arena);
		}
	assert_int_equal(found, n);
	cubin_close(&c);
	free(data);
}

static void golden(void **state)
{
	static const char *const archs[] = {"80", "86", "90", "100", "120"};
	char path[96];

	(void)state;
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		snprintf(path, sizeof(path), "tests/golden/idiom/idioms.sm_%s.cubin", archs[i]);
		check(path, idioms, sizeof(idioms) / sizeof(*idioms));
	}
}

/* Registers that a function leaves alone keep what they hold, wherever else it is called. */
static void called(void **state)
{
	static const char *const archs[] = {"80", "90", "120"};
	static const struct row rows[] = {{"places", true, false, 0, 0, 0},
					  {"places_given", false, false, 0, 0, 0}};
	char path[96];

	(void)state;
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		snprintf(path, sizeof(path), "tests/golden/idiom/called.sm_%s.cubin", archs[i]);
		check(path, rows, sizeof(rows) / sizeof(*rows));
	}
}

static void samples(void **state)
{
	static const char *const archs[] = {"80", "86", "89", "90", "100", "120"};
	static const struct row rows[] = {
		{"gemm_bad", false, true, 1, ALL_XY, 0},
		{"gemm_good", false, false, 0, 0, 0},
		{"tensor_bad", false, true, 64, 0, 0},
		{"tensor_good", false, false, 0, 0, 0},
		{"fp64_leak_bad", true, false, 0, 0, 0},
		{"fp64_leak_good", false, false, 0, 0, 0},
		{"spill_good", false, false, 0, 0, 0},
		{"memory_stream_good", false, false, 0, 0, 0},
		{"divergent_bad", false, false, 0, 0, 0},
		{"tail_bad", false, false, 0, 0, 0},
	};
	char path[96];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t k = 0; k < sizeof(archs) / sizeof(*archs); k++) {
			snprintf(path, sizeof(path), "tests/golden/cubin/%s.sm_%s.cubin",
				 rows[i].function, archs[k]);
			check(path, &rows[i], 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(golden), cmocka_unit_test(called),
					   cmocka_unit_test(samples)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
