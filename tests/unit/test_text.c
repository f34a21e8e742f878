/*
 * test_text.c - numbers with the digits that mean something, text that is always valid, paragraphs, and
 * words that were meant.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "text.h"

static void numbers(void **state)
{
	char t[TEXT_NUMBER];

	(void)state;
	assert_string_equal(text_count(t, 0), "0");
	assert_string_equal(text_count(t, 999), "999");
	assert_string_equal(text_count(t, 1000), "1,000");
	assert_string_equal(text_count(t, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(text_int(t, -1), "-");
	assert_string_equal(text_real(t, NAN), "-");
	assert_string_equal(text_real(t, INFINITY), "-");
	assert_string_equal(text_real(t, 0.6123), "0.612");
	assert_string_equal(text_real(t, 9.994), "9.99");
	assert_string_equal(text_real(t, 9.996), "10.0");
	assert_string_equal(text_real(t, 99.96), "100");
	assert_string_equal(text_real(t, 12345.6), "12,346");
	assert_string_equal(text_real(t, -5), "-5.00");
	assert_string_equal(text_ratio(t, 1.00095), "1.001");
	assert_string_equal(text_ratio(t, 0.07), "0.070");
	assert_string_equal(text_ratio(t, 1234.6), "1,235");
	assert_string_equal(text_real(t, 0.0004), "<0.001");
	assert_string_equal(text_real(t, 0), "0.000");
	assert_string_equal(text_ratio(t, 0.0002), "<0.001");
	assert_string_equal(text_ratio(t, 1), "1");
	assert_string_equal(text_ratio(t, 62.0606), "62.06");
	assert_string_equal(text_ratio(t, 0.5), "0.500");
	assert_string_equal(text_ratio(t, 0.99996), "<1.000"); /* not a full wave */
	assert_string_equal(text_ratio(t, 1.0001), ">1.000");  /* and a second one */
	assert_string_equal(text_ratio(t, 15.9999), "16.00");
	assert_string_equal(text_ratio(t, 1 - 0x1p-53), "1"); /* what sums of parts come to */
	assert_string_equal(text_ratio(t, 9.99999), "10.00");
	assert_string_equal(text_ratio(t, 200.01), "200.0");
	assert_string_equal(text_ratio(t, 200.4), "200.4");
	assert_string_equal(text_ratio(t, 16), "16");
	assert_string_equal(text_ratio(t, 2.0001), ">2.000");
	assert_string_equal(text_ratio(t, 0), "0");
	assert_string_equal(text_ratio(t, NAN), "-");
	assert_string_equal(text_us(t, 0.612), "0.612 us");
	assert_string_equal(text_us(t, 999.7), "1.00 ms");
	assert_string_equal(text_us(t, 1.5e6), "1.50 s");
	assert_string_equal(text_us(t, NAN), "-");
	assert_string_equal(text_bytes(t, 512), "512 B");
	assert_string_equal(text_bytes(t, 50176), "49 KB");
	assert_string_equal(text_bytes(t, 50177), "49.0 KB");
	assert_string_equal(text_bytes(t, -1), "-");
}

/* Occupancies are exact, shares are not; neither is rounded into what it is not. */
static void percentages(void **state)
{
	static const struct {
		double pct;
		const char *text;
	} rows[] = {
		{0, "0%"},
		{100, "100%"},
		{12.5, "12.5%"},
		{6.25, "6.25%"},
		{31.25, "31.25%"},
		{1.5625, "1.56%"},
		{100.0 * 13 / 32, "40.6%"},
		{93.66, "93.66%"},
		{93.664, "93.7%"},
		{3.7512, "3.75%"},
		{0.0112, "0.01%"},
		{0.004, "<0.01%"},
		{0.0051, "0.01%"},
		{9.9962, "10.0%"},
		{99.949, "99.9%"},
		{99.96, "99.96%"},
		{99.9603, ">99.9%"},
		{99.99999, ">99.9%"},
		{100.2041, "100%"},
		{250.4, "250.4%"},
		{1234.6, "1,235%"},
		{NAN, "-"},
		{INFINITY, "-"},
	};
	char t[TEXT_NUMBER];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_string_equal(text_pct(t, rows[i].pct), rows[i].text);
		assert_true(strlen(t) <= 6);
	}
	/* every occupancy that an SM of 32, 48 or 64 warps can have is told from its neighbours */
	for (int most = 32; most <= 64; most += 16)
		for (int warps = 0; warps < most; warps++) {
			char next[TEXT_NUMBER];

			text_pct(t, 100.0 * warps / most);
			text_pct(next, 100.0 * (warps + 1) / most);
			assert_string_not_equal(t, next);
		}
}

static void slips_of_the_fingers(void **state)
{
	(void)state;
	assert_int_equal(text_distance("report", "report"), 0);
	assert_int_equal(text_distance("repo", "report"), 0);
	assert_int_equal(text_distance("reprot", "report"), 1);
	assert_int_equal(text_distance("--kernal", "--kernel"), 1);
	assert_int_equal(text_distance("--budgt", "--budget"), 1);
	assert_int_equal(text_distance("--tinimg", "--timing"), 2);
	assert_true(text_distance("frobnicate", "report") >= TEXT_FAR);
	assert_true(text_distance("", "run") >= TEXT_FAR);
	assert_true(text_distance("x", "run") >= TEXT_FAR);
	assert_true(text_distance("a_word_that_is_longer_than_any_option_there_is", "run") >=
		    TEXT_FAR);
}

static void paragraphs(void **state)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	text_wrapped("ab  ", "one two \xc3\xa4\xc3\xa4\xc3\xa4 a_word_without_room", 12, out);
	fclose(out);
	assert_string_equal(text,
			    "ab  one two\n    \xc3\xa4\xc3\xa4\xc3\xa4\n    a_word_without_room\n");
	free(text);
}

/* The well-formed sequences at the edges of each class, and the ill-formed ones beside them. */
static void utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"\xc2\x80", "\xc2\x80"},
		{"\xc1\xbf", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
		{"\xe0\xa0\x80", "\xe0\xa0\x80"},
		{"\xe0\x9f\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\x9f\xbf", "\xed\x9f\xbf"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
		{"a\x1b[2J", "a\xef\xbf\xbd[2J"},
		{"\xff", "\xef\xbf\xbd"},
	};
	struct arena *a = arena_new();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tail_copy copy = tail_copy(cases[i].in, strlen(cases[i].in) + 1);
		bool changed;
		const char *out = text_utf8(a, copy.data, &changed);

		assert_string_equal(out, cases[i].out);
		assert_int_equal(changed, strcmp(cases[i].in, cases[i].out) != 0);
		if (!changed)
			assert_ptr_equal(out, copy.data);
		tail_free(&copy);
	}
	assert_string_equal(text_hex(a, "\x00\xab\xff", 3), "00abff");
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(percentages),
		cmocka_unit_test(slips_of_the_fingers),
		cmocka_unit_test(paragraphs),
		cmocka_unit_test(utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
