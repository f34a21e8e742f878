/*
 * test_again.c - loads of what a warp, or a lane beside, has loaded before: kernels of tests/golden/access/again.cu on five
 * architectures, whatever is known of their arguments.
 */
#include "kbn_test.h"

#include "arena.h"
#include "cubin.h"
#include "kernel_view.h"
#include "lanes_again.h"

struct row {
	const char *kernel;
	uint32_t least, most; /* such loads */
	double asked;         /* so often for each word, 0 = no matter */
	uint64_t blocks;      /* that ask for the same, 0 = no matter */
};

static const struct row rows[] = {
	/* copies of a loop that the compiler made count as well */
	{"three_passes", 2, 64, 0, 0},
	{"unrolled_once", 1, 1, 0, 0},
	{"straight", 1, 1, 0, 0},
	{"written", 0, 0, 1, 0},
	{"other_row", 0, 0, 0, 0},
	{"other_step", 0, 0, 1, 0},
	{"either", 0, 0, 1, 0},
	{"kept", 0, 0, 1, 0},
	{"ahead", 0, 0, 1, 0},
	{"one_word", 0, 0, 1, 0},
	{"tried_again", 0, 0, 1, 0},
	/* 25 x 32 for 5 x 36; 8 turns of 32 for 39 */
	{"around", 0, 0, 800 / 180.0, 0},
	{"window", 0, 0, 256 / 39.0, 0},
	{"own_rows", 0, 0, 1, 0},
	{"two_ways", 0, 0, 1, 0},
};

/* Of turns.cu: all of them in each turn of the loop around. */
static const struct row turns[] = {
	{"each_turn", 1, 64, 0, 0},      {"goes_on", 0, 0, 0, 0},
	{"writes", 0, 0, 0, 0},          {"begins", 0, 0, 0, 0},
	{"one_for_all", 0, 0, 0, 0},     {"alike", 0, 0, 8 * 32 / 39.0, 64},
	{"own", 0, 0, 8 * 32 / 39.0, 1}, {"shared_window", 0, 0, 0, 0},
	{"shared_own", 0, 0, 0, 0},
};

static void check(const struct cubin *c, const char *arch, const struct row *row, bool has_params)
{
	uint8_t params[20] = {0, 0, 0, 0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0x10, 0x7f, 0, 0, 0, 0x10};
	uint8_t known[20];
	struct lanes_launch l = {.grid = {64, 64, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}};
	struct arena *arena = arena_new();
	struct lanes_overlap overlap;
	struct lanes_again *again;
	struct lanes_code *code;
	struct kernel_view view;
	struct err e = {0};
	uint32_t n;

	for (size_t f = 0; f < c->functions_n; f++)
		if (!strcmp(c->functions[f].name, row->kernel))
			l.function = &c->functions[f];
	assert_non_null(l.function);
	memset(known, 0xff, sizeof(known));
	if (has_params) {
		l.params = params;
		l.known = known;
		l.params_n = sizeof(params);
	}
	assert_int_equal(kernel_view_open(&view, (int)c->sm, l.function, &e), 0);
	code = lanes_code_new(&view.cfg, arena);
	assert_non_null(code);
	assert_int_equal(lanes_again(code, &l, arena, &again, &n, &e), 0);
	/* where a row begins is the product of two numbers, which are not known without its length */
	if (n < (has_params ? row->least : 0) || n > row->most)
		fail_msg("%s sm_%s: %u loads again", row->kernel, arch, n);
	for (uint32_t i = 0; i < n; i++) {
		if (again[i].loop == CFG_NONE) {
			assert_true(again[i].first < again[i].insn);
		} else {
			assert_int_equal(again[i].first, again[i].insn);
			assert_false(view.cfg.loops[again[i].loop].is_innermost);
		}
		assert_int_equal(again[i].loop != CFG_NONE, row >= turns && row < turns + 9);
		assert_memory_equal(sass_op(&view.cfg.insns[again[i].insn]), "LDG", 3);
		assert_memory_equal(sass_op(&view.cfg.insns[again[i].first]), "LDG", 3);
	}
	assert_int_equal(lanes_overlap(code, &l, LANES_OF_GLOBAL, &overlap, &e), 0);
	if (has_params && row->asked > 0 &&
	    (overlap.different ? (double)overlap.asked / overlap.different : 1) != row->asked)
		fail_msg("%s sm_%s: %u words are asked for, %u different", row->kernel, arch,
			 overlap.asked, overlap.different);
	if (row->blocks && overlap.blocks != row->blocks)
		fail_msg("%s sm_%s: %u blocks ask for the same", row->kernel, arch,
			 (unsigned)overlap.blocks);
	/* 8 x 32 words of 39 in a turn, and some turns */
	assert_int_equal(lanes_overlap(code, &l, LANES_OF_SHARED, &overlap, &e), 0);
	if (!strncmp(row->kernel, "shared_", 7)) {
		assert_int_equal(overlap.loads % 8, 0);
		assert_true(overlap.asked >= 2.5 * overlap.different ||
			    strcmp(row->kernel, "shared_window") != 0);
		assert_true(overlap.asked == overlap.different ||
			    strcmp(row->kernel, "shared_own") != 0);
	}
	kernel_view_close(&view);
	arena_free(arena);
}

static void check_all(const char *file, const char *const *archs, size_t archs_n,
		      const struct row *all, size_t n)
{
	for (size_t a = 0; a < archs_n; a++) {
		char path[96];
		struct err e = {0};
		struct cubin c;
		size_t bytes;
		uint8_t *data;

		snprintf(path, sizeof(path), "tests/golden/access/%s.sm_%s.cubin", file, archs[a]);
		data = load_file(path, &bytes);
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
		for (size_t i = 0; i < n; i++) {
			check(&c, archs[a], &all[i], false);
			check(&c, archs[a], &all[i], true);
		}
		cubin_close(&c);
		free(data);
	}
}

static void passes(void **state)
{
	static const char *const archs[] = {"80", "86", "90", "100", "120"};

	(void)state;
	check_all("again", archs, 5, rows, sizeof(rows) / sizeof(*rows));
}

static void turns_of_a_loop_around(void **state)
{
	static const char *const archs[] = {"80", "90", "120"};

	(void)state;
	check_all("turns", archs, 3, turns, sizeof(turns) / sizeof(*turns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(passes),
					   cmocka_unit_test(turns_of_a_loop_around)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
