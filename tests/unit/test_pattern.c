/* unit: shim */
/*
 * test_pattern.c - the matcher of KBN_KERNELS against the C library's regexec: on written cases, on
 * random ones, and on a stack that is too small for the library's.
 */
#include "kbn_test.h"

#include <regex.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "pattern.h"

static struct kbn_pattern pattern;

/* 1 match, 0 none, -1 malformed */
static int ours(const char *text, const char *name)
{
	return kbn_pattern_compile(&pattern, text) ? kbn_pattern_matches(&pattern, name) : -1;
}

static int library(const char *text, const char *name)
{
	regex_t re;
	int result;

	if (regcomp(&re, text, REG_EXTENDED | REG_NOSUB))
		return -1;
	result = regexec(&re, name, 0, NULL, 0) == 0;
	regfree(&re);
	return result;
}

static void written(void **state)
{
	static const char *const texts[] = {
		"",
		"a",
		"gemm",
		"^gemm$",
		"^$",
		"$",
		"^",
		"a|b",
		"(a|b)c",
		"(a|)b",
		"a||b",
		"()",
		"(ab)*c",
		"a*",
		"a+b",
		"a?b",
		"a{2}",
		"^a{2}$",
		"^a{2,3}$",
		"^a{2,}$",
		"^a{,2}$",
		"^a{0}b$",
		"^(a|bc){2,3}$",
		"^(a*)*$",
		"^(a+)+$",
		"(a?){3}b",
		"a**",
		"^a{2}{3}$",
		".",
		"^.{3}$",
		"[abc]",
		"[^abc]",
		"[a-c]+",
		"[]a]",
		"[^]a]",
		"[a-]",
		"[-a]",
		"[[:digit:]_]",
		"^[[:alpha:]]+$",
		"[^[:space:]]",
		"\\.",
		"\\(a\\)",
		"\\w+_\\w",
		"^\\W",
		"\\bgemm\\b",
		"\\<g",
		"m\\>",
		"\\Bm",
		"a\\{2\\}",
		"^_Z[0-9]+.*Pf",
		"(k_none|k_.us)+[^abc]*$",
		")",
		"a)b",
		"a}",
		"(x|y|z){1,4}$",
		"((((a))))",
		"^(ab|cd)?ef$",
		/* malformed */
		"*",
		"+a",
		"a|*b",
		"(",
		"(a",
		"[",
		"[a",
		"[b-a]",
		"a{",
		"a{2",
		"a{3,2}",
		"a{x}",
		"{1}",
		"\\",
		"[[:none:]]",
		"(*a)",
		"^*",
		"a{40000}",
	};
	static const char *const names[] = {
		"",          "a",
		"b",         "aa",
		"aaa",       "aaaa",
		"aaaaaa",    "ab",
		"abc",       "ababc",
		"b1_",       "bc",
		"abca",      "ef",
		"abef",      "gemm",
		"my_gemm",   "my gemm x",
		"sgemm_128", "k_none",
		"k_2us",     "_Z4axpyfPfS_i",
		"a.b",       "(a)",
		"x y",       "]",
		"-",         "a)b",
		"a}",        ")",
		"xyzzy",     "\xff\xfe",
		"a{2}",      "\n",
	};

	(void)state;
	for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			if (ours(texts[t], names[n]) != library(texts[t], names[n]))
				fail_msg("/%s/ on \"%s\": %d, library %d", texts[t], names[n],
					 ours(texts[t], names[n]), library(texts[t], names[n]));
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 33) % n;
}

static void random_text(char *to, size_t most, const char *from)
{
	const size_t n = random_below((uint32_t)most);

	for (size_t i = 0; i < n; i++)
		to[i] = from[random_below((uint32_t)strlen(from))];
	to[n] = 0;
}

static void random_ones(void **state)
{
	char text[16], name[12];
	int matches = 0;

	(void)state;
	for (int i = 0; i < 60000; i++) {
		random_text(text, sizeof(text), i & 1 ? "aab|()*+?.^$[]-" : "ab|()*{1,2}");
		for (int k = 0; k < 3; k++) {
			random_text(name, sizeof(name), "aab]-");
			if (ours(text, name) != library(text, name))
				fail_msg("/%s/ on \"%s\": %d, library %d", text, name,
					 ours(text, name), library(text, name));
			matches += ours(text, name) == 1;
		}
	}
	assert_in_range(matches, 10000, 170000);
}

static void limits(void **state)
{
	char text[2 * KBN_PATTERN_STEPS], name[20001];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[KBN_PATTERN_STEPS - 1] = 0;
	assert_int_equal(ours(text, text), 1);
	text[KBN_PATTERN_STEPS - 1] = 'a';
	text[KBN_PATTERN_STEPS] = 0;
	assert_int_equal(ours(text, text), -1);
	assert_int_equal(ours("((a{99}){99}){99}", "a"), -1);
	assert_int_equal(ours("((((((((((((((((((((a))))))))))))))))))))", "a"), -1);
	/* The case that takes backtracking matchers for ever. */
	memset(name, 'a', 20000);
	name[20000] = 0;
	assert_int_equal(ours("^(a+)+b$", name), 0);
}

static ucontext_t back, fiber;
static int on_fiber;

static void work(void)
{
	on_fiber = ours("(((((k_none|k_.us)+[^abc]*)?)+)|x{3,9}[[:alpha:]]\\bq)$", "_Z6k_noneu");
}

static void small_stack(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	const size_t bytes =
		65536; /* its frames are larger, and it is not the stack that it checks */
#else
	const size_t bytes = 4096;
#endif
	char *map = mmap(NULL, 4 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + bytes, bytes, PROT_READ | PROT_WRITE), 0);
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = map + bytes;
	fiber.uc_stack.ss_size = bytes;
	fiber.uc_link = &back;
	makecontext(&fiber, work, 0);
	swapcontext(&back, &fiber);
	assert_int_equal(on_fiber, 1);
	munmap(map, 4 * bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written),
		cmocka_unit_test(random_ones),
		cmocka_unit_test(limits),
		cmocka_unit_test(small_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
