/*
 * test_loops.c - the loops of every kernel of tests/golden/loops and of the samples, against the reading
 * that scripts/build-loops made of the vendor's disassembly: heads, back edges, nesting, code, counts.
 */
#include "kbn_test.h"

#include "arena.h"
#include "cubin.h"
#include "golden/loop_text.h"

#define GOLDEN "tests/golden/loops/"

static void text_of(const struct cubin *c, const struct cubin_function *f, const char *cubin,
		    char **text, size_t *bytes)
{
	struct arena *arena = arena_new();
	struct err e = {0};
	struct cfg g;
	FILE *out = open_memstream(text, bytes);

	assert_non_null(arena);
	assert_non_null(out);
	if (cfg_build(&g, arena, (int)c->sm, f, &e) != 0)
		fail_msg("%s %s: %s", cubin, f->name, e.text);
	assert_int_equal(g.undecoded, 0);
	assert_true(g.is_complete);
	loop_text(out, &g, cubin, f->name);
	fclose(out);
	arena_free(arena);
}

/* What EXPECTED says at *at is what is found in the cubin; moves *at behind it. Returns its kernels. */
static size_t check_cubin(const char **at, const char *cubin)
{
	char path[128];
	struct cubin c;
	struct err e = {0};
	size_t bytes, n;
	uint8_t *data;

	snprintf(path, sizeof(path), GOLDEN "%s.cubin", cubin);
	data = load_file(path, &bytes);
	if (cubin_open(&c, buf_of(data, bytes), &e) < 0)
		fail_msg("%s: %s", path, e.text);
	n = c.functions_n;
	for (size_t i = 0; i < n; i++) {
		size_t same = 0, found_n;
		char *found;

		text_of(&c, &c.functions[i], cubin, &found, &found_n);
		while (same < found_n && found[same] == (*at)[same])
			same++;
		if (same < found_n)
			fail_msg("%s %s: differs at \"%.60s\", expected \"%.60s\"", cubin,
				 c.functions[i].name, found + same, *at + same);
		*at += found_n;
		free(found);
	}
	cubin_close(&c);
	free(data);
	return n;
}

static void test_golden(void **state)
{
	size_t bytes, cubins = 0, functions = 0;
	uint8_t *data = load_file(GOLDEN "EXPECTED", &bytes);
	char *expected = malloc(bytes + 1), cubin[64];
	const char *at = expected;

	(void)state;
	assert_non_null(expected);
	memcpy(expected, data, bytes);
	expected[bytes] = '\0';
	free(data);
	for (; *at; cubins++) {
		assert_int_equal(sscanf(at, "%63[^\t]", cubin), 1);
		functions += check_cubin(&at, cubin);
	}
	assert_int_equal(at - expected, bytes);
	assert_true(cubins >= 189);
	assert_true(functions >= 362);
	free(expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
