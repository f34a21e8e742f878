/*
 * test_rare.c - which code only rare values reach (cfg_rare.h), in functions of libraries as the compiler builds them
 * in: what is called for them, the loop of sine for large arguments, and never what all values go through.
 */
#include "kbn_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cfg.h"
#include "cubin.h"

struct row {
	const char *folder, *file, *function;
	uint32_t calls; /* within the function, */
	uint32_t rare;  /* and from code for rare values */
	bool has_rare;
};

/* pow() calls its body for all values, and sin() of double what reduces huge ones; FCHK and roots call for rare ones. */
static const struct row rows[] = {
	{"idiom", "idioms", "sine", 0, 0, true},
	{"idiom", "idioms", "functions", 2, 1, true},
	{"idiom", "idioms", "divided", 5, 5, true},
	{"idiom", "idioms", "tiled", 0, 0, false},
	{"idiom", "idioms", "compare", 0, 0, false},
	{"cubin", "divergent_good", "divergent_good", 64, 64, true},
	{"cubin", "gemm_bad", "gemm_bad", 0, 0, false},
	{"loops", "flow", "calls_in_loop", 1, 0, false},
	{"loops", "flow", "recursion", 2, 0, false},
};

static void check(const char *path, const struct row *row, const struct cubin *c,
		  const struct cubin_function *f)
{
	struct arena *arena = arena_new();
	uint32_t calls = 0, rare_calls = 0, rare = 0;
	struct err e;
	struct cfg g;

	assert_non_null(arena);
	assert_int_equal(cfg_build(&g, arena, (int)c->sm, f, &e), 0);
	for (uint32_t i = 0; i < g.calls_n; i++)
		if (cfg_is_within(&g, g.calls[i].target)) {
			calls++;
			rare_calls += g.blocks[g.block_of[g.calls[i].insn]].is_rare;
		}
	for (uint32_t i = 0; i < g.blocks_n; i++) {
		rare += g.blocks[i].is_rare;
		if (g.blocks[i].is_rare && cfg_dominates(&g, i, 0))
			fail_msg("%s %s: everything is rare", path, row->function);
	}
	for (uint32_t l = 0; l < g.loops_n; l++)
		if (g.blocks[g.loops[l].header].is_rare != g.loops[l].is_reduction)
			fail_msg("%s %s: loop %u is rare, or sine's, and not both", path,
				 row->function, l);
	if (calls != row->calls || rare_calls != row->rare || (rare > 0) != row->has_rare)
		fail_msg("%s %s: %u of %u calls rare, %u blocks", path, row->function, rare_calls,
			 calls, rare);
	/* code that is left when it is not entered still reaches the end */
	for (uint32_t i = 0; i < g.blocks_n; i++)
		if (g.blocks[i].is_rare && cfg_flow(&g.insns[g.blocks[i].end - 1]) == CFG_EXIT)
			fail_msg("%s %s: block %u ends the kernel", path, row->function, i);
	arena_free(arena);
}

static void code_for_rare_values(void **state)
{
	static const char *const archs[] = {"80", "90", "100", "120"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t k = 0; k < sizeof(archs) / sizeof(*archs); k++) {
			char path[96];
			struct err e;
			struct cubin c;
			uint8_t *data;
			size_t bytes, found = 0;

			snprintf(path, sizeof(path), "tests/golden/%s/%s.sm_%s.cubin",
				 rows[i].folder, rows[i].file, archs[k]);
			data = load_file(path, &bytes);
			assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
			for (size_t f = 0; f < c.functions_n; f++)
				if (!strcmp(c.functions[f].name, rows[i].function)) {
					check(path, &rows[i], &c, &c.functions[f]);
					found++;
				}
			assert_int_equal(found, 1);
			cubin_close(&c);
			free(data);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(code_for_rare_values)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
