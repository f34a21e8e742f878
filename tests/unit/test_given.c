/*
 * test_given.c - the words that describe a launch nobody recorded: arguments of every type with their
 * bytes, at and beyond their limits; parameter blocks, buffers, work.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "given.h"

static struct arena *arena;

static int begin(void **state)
{
	(void)state;
	arena = arena_new();
	return !arena;
}

static int end(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* The bytes of an argument as hexadecimal digits, "" when the word is refused. */
static const char *arg(const char *word)
{
	static char text[128];
	struct given_arg a;
	struct err e = {.offset = -1};

	text[0] = '\0';
	if (given_arg(&a, word, arena, &e) != 0) {
		assert_int_equal(e.code, ERR_USAGE);
		assert_int_equal(strncmp(e.text, "--arg", 5), 0);
		return text;
	}
	for (size_t i = 0; i < a.bytes_n; i++)
		sprintf(text + 2 * i, "%02x", a.bytes[i]);
	return text;
}

static void integers(void **state)
{
	static const char *const words[][2] = {
		{"i8:127", "7f"},
		{"i8:128", ""},
		{"i8:-128", "80"},
		{"i8:-129", ""},
		{"i16:-2", "feff"},
		{"i32:-1", "ffffffff"},
		{"i32:0x7fffffff", "ffffff7f"},
		{"i32:0x80000000", ""},
		{"i64:-9223372036854775808", "0000000000000080"},
		{"i64:-9223372036854775809", ""},
		{"i64:9223372036854775808", ""},
		{"u8:255", "ff"},
		{"u8:256", ""},
		{"u8:-1", ""},
		{"u16:0xBEEF", "efbe"},
		{"u32:4294967295", "ffffffff"},
		{"u32:4294967296", ""},
		{"u64:18446744073709551615", "ffffffffffffffff"},
		{"u64:18446744073709551616", ""},
		{"ptr:0x7f0000001000", "00100000007f0000"},
		{"i32:010", "0a000000"}, /* decimal, whatever stands in front */
		{"i32:", ""},
		{"i32: 1", ""},
		{"i32:+1", ""},
		{"i32:1x", ""},
		{"i32:0x", ""},
		{"i32", ""},
		{"i128:1", ""},
		{":1", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		assert_string_equal(arg(words[i][0]), words[i][1]);
}

static void reals(void **state)
{
	static const char *const words[][2] = {
		{"f16:1", "003c"},
		{"f16:-2", "00c0"},
		{"f16:65504", "ff7b"},
		{"f16:65519", "ff7b"},
		{"f16:65520", ""},
		{"f16:inf", "007c"},
		{"f16:-inf", "00fc"},
		{"f16:nan", "007e"},
		{"f16:5.9604644775390625e-08", "0100"}, /* the least above 0 */
		{"f16:2.9802322387695312e-08", "0000"}, /* half of it goes to the even one */
		{"f16:6.1035e-05", "0004"},
		{"f16:-0", "0080"},
		{"f16:1.00048828125", "003c"}, /* half a place above 1: even */
		{"f16:1.00146484375", "023c"}, /* and above 1 + 1/1024 */
		{"f16:1.9999999", "0040"},     /* carries into the exponent */
		{"bf16:3.140625", "4940"},
		{"bf16:1e39", ""},
		{"f32:1.5", "0000c03f"},
		{"f32:0.1", "cdcccc3d"},
		{"f32:1e-45", "01000000"},
		{"f32:1e39", ""},
		{"f64:0.1", "9a9999999999b93f"},
		{"f64:4.9e-324", "0100000000000000"},
		{"f64:1e400", ""},
		{"f32: 1", ""},
		{"f32:1f", ""},
		{"f32:", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		assert_string_equal(arg(words[i][0]), words[i][1]);
}

/* What does not fit is told what would. */
static void limits_are_named(void **state)
{
	static const char *const words[][2] = {
		{"i8:128", "from -128 to 127"},
		{"u16:-1", "from 0 to 65535"},
		{"i64:9223372036854775808", "from -9223372036854775808 to 9223372036854775807"},
		{"ptr:18446744073709551616", "from 0 to 18446744073709551615"},
		{"f16:65520", "at most 65504 in size"},
		{"f32:1e39", "at most 3.40282347e+38 in size"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct err e = {.offset = -1};
		struct given_arg a;

		assert_int_equal(given_arg(&a, words[i][0], arena, &e), -1);
		if (!strstr(e.text, words[i][1]))
			fail_msg("%s: %s", words[i][0], e.text);
	}
}

/* Every finite value of float goes through unchanged (a sample of them, as text with all digits). */
static void reals_are_those_of_the_compiler(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0x7f800000; bits += 0x3abcd) {
		char word[64], want[16];
		float f;

		memcpy(&f, &bits, sizeof(f));
		snprintf(word, sizeof(word), "f32:%.17g", (double)f);
		snprintf(want, sizeof(want), "%08x", __builtin_bswap32(bits));
		assert_string_equal(arg(word), want);
	}
}

static void bytes(void **state)
{
	const uint8_t *data;
	struct err e;
	size_t n;

	(void)state;
	assert_string_equal(arg("hex:00ffAb"), "00ffab");
	assert_string_equal(arg("hex:0"), "");
	assert_string_equal(arg("hex:"), "");
	assert_string_equal(arg("hex:0g"), "");
	assert_string_equal(arg("hex:\x11\x11"),
			    ""); /* would be digits if only bits were looked at */
	assert_int_equal(given_hex("--params", "0102", &data, &n, arena, &e), 0);
	assert_int_equal(n, 2);
	assert_int_equal(data[1], 2);
	assert_int_equal(given_hex("--params", "01020", &data, &n, arena, &e), -1);
	assert_string_equal(e.text, "--params wants two hexadecimal digits a byte; see digit 5");
}

static bool allocation(const char *word, uint64_t address, uint64_t size)
{
	struct given_allocation a;
	struct err e;

	return given_allocation(&a, word, &e) == 0 && a.address == address && a.bytes == size;
}

static void allocations(void **state)
{
	(void)state;
	assert_true(allocation("0x7f0000000000:4096", 0x7f0000000000, 4096));
	assert_true(allocation("4096:0x10", 4096, 16));
	assert_true(allocation("0xffffffffffffff00:255", 0xffffffffffffff00, 255));
	assert_false(allocation("0xffffffffffffff00:256", 0xffffffffffffff00, 256));
	assert_false(allocation("0x1000:0", 0x1000, 0));
	assert_false(allocation("0x1000", 0x1000, 0));
	assert_false(allocation("0x1000:", 0x1000, 0));
	assert_false(allocation(":4", 0, 4));
	assert_false(allocation("1:2:3", 1, 2));
	assert_false(allocation("00000000000000000000000000000000001:2", 1, 2));
}

static bool number(const char *word, double want)
{
	struct err e;
	double v;

	return given_number("--time-us", word, 1e30, &v, &e) == 0 && v == want;
}

static void numbers(void **state)
{
	static const char *const refused[] = {"",    "0",    "-1", "+1", "1e31", "nan",    "inf",
					      "0x4", "1.5.", " 1", "1 ", "2e",   "1e-400", "12k"};

	(void)state;
	assert_true(number("4096", 4096));
	assert_true(number("2e12", 2e12));
	assert_true(number("1.5", 1.5));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct err e;
		double v = 7;

		assert_int_equal(given_number("--time-us", refused[i], 1e30, &v, &e), -1);
		assert_int_equal(e.code, ERR_USAGE);
		assert_true(v == 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(integers, begin, end),
		cmocka_unit_test_setup_teardown(reals, begin, end),
		cmocka_unit_test_setup_teardown(limits_are_named, begin, end),
		cmocka_unit_test_setup_teardown(reals_are_those_of_the_compiler, begin, end),
		cmocka_unit_test_setup_teardown(bytes, begin, end),
		cmocka_unit_test(allocations),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
