/*
 * test_formula.c - formulas: exact values, every error with its place, and random expressions against a second
 * evaluation that knows no fraction: arithmetic modulo a prime.
 */
#include "kbn_test.h"

#include <math.h>

#include "formula.h"

static const struct formula_geometry geometry = {{1000, 20, 3}, {256, 4, 1}};

static int read_text(const char *text, const struct formula_geometry *g, struct formula_value *v,
		     size_t *end, struct err *e)
{
	struct tail_copy copy = tail_copy(text, strlen(text));
	struct formula f = {
		.text = copy.data, .n = strlen(text), .geometry = g, .source = "w", .line = 7};
	int rc = formula_read(&f, v, e);

	if (end)
		*end = f.at;
	tail_free(&copy);
	return rc;
}

static void values(void **state)
{
	static const struct {
		const char *text;
		int64_t n, d;
	} rows[] = {
		{"0", 0, 1},
		{"12", 12, 1},
		{"1+2*3", 7, 1},
		{"(1+2)*3", 9, 1},
		{"10-3-2", 5, 1},
		{"16/4/2", 2, 1},
		{"7/2", 7, 2},
		{"7/2*2", 7, 1},
		{"1/3+1/6", 1, 2},
		{"-3", -3, 1},
		{"--3", 3, 1},
		{"2*-3", -6, 1},
		{"-2*3+10", 4, 1},
		{"+5", 5, 1},
		{"0.75", 3, 4},
		{".5", 1, 2},
		{"2.", 2, 1},
		{"1e3", 1000, 1},
		{"1.5e+2", 150, 1},
		{"25E-1", 5, 2},
		{"gx", 1000, 1},
		{"gx*gy*gz", 60000, 1},
		{"bx*by*bz", 1024, 1},
		{" gx * ( bx + 1 ) ", 257000, 1},
		{"9223372036854775807", INT64_MAX, 1},
		{"-9223372036854775807", -INT64_MAX, 1},
		{"3037000499*3037000499", 9223372030926249001, 1},
		{"9223372036854775807/9223372036854775807", 1, 1},
		{"1/9223372036854775807*9223372036854775807", 1, 1},
		{"1e18/1e18", 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct formula_value v;
		struct err e;

		if (read_text(rows[i].text, &geometry, &v, NULL, &e) < 0)
			fail_msg("%s: %s", rows[i].text, e.text);
		if (v.n != rows[i].n || v.d != rows[i].d)
			fail_msg("%s: %lld/%lld", rows[i].text, (long long)v.n, (long long)v.d);
		assert_int_equal(read_text(rows[i].text, NULL, &v, NULL, &e), 0);
		assert_int_equal(v.n, 0);
	}
}

static void errors(void **state)
{
	static const struct {
		const char *text, *error;
		bool in_notation; /* seen without a geometry, too */
	} rows[] = {
		{"", "w:7:1: a number, a name or ( is missing", true},
		{"1+", "w:7:3: a number, a name or ( is missing", true},
		{"1+ *2", "w:7:4: a number, a name or ( is missing", true},
		{"(1+2", "w:7:5: the ( of character 1 is not closed", true},
		{"2*(1+2 3)", "w:7:8: the ( of character 3 is not closed", true},
		{"gw*2", "w:7:1: gw is not known: the names are gx gy gz bx by bz", true},
		{"2*GX", "w:7:3: GX is not known: the names are gx gy gz bx by bz", true},
		{".", "w:7:1: a point without digits is no number", true},
		{"3+1e", "w:7:5: digits are missing behind the e", true},
		{"1e19", "w:7:1: the exponent is outside -18 to 18", true},
		{"1e-19", "w:7:1: the exponent is outside -18 to 18", true},
		{"1e99999999999999999999", "w:7:1: the exponent is outside -18 to 18", true},
		{"9223372036854775808", "w:7:1: the number needs more than 64 bits", true},
		{"1+99999999999999999999", "w:7:3: the number needs more than 64 bits", true},
		{"0.0000000000000000001", "w:7:1: the number needs more than 64 bits", true},
		{"10e18", "w:7:1: the value exceeds 64 bits", true},
		{"1/0", "w:7:2: division by zero", false},
		{"1+2/(gz-3)", "w:7:4: division by zero", false},
		{"9223372036854775807+1", "w:7:20: the value exceeds 64 bits", false},
		{"-9223372036854775807-1", "w:7:21: the value exceeds 64 bits", false},
		{"3037000500*3037000500", "w:7:11: the value exceeds 64 bits", false},
		{"gx*1e18", "w:7:3: the value exceeds 64 bits", false},
		{"1/3e18/7", "w:7:7: the fraction is too fine for 64 bits", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct formula_value v = {42, 42};
		struct err e = {0};

		if (read_text(rows[i].text, &geometry, &v, NULL, &e) == 0)
			fail_msg("%s is taken", rows[i].text);
		assert_string_equal(e.text, rows[i].error);
		assert_int_equal(e.code, ERR_USAGE);
		assert_int_equal(v.n, 42);
		assert_int_equal(read_text(rows[i].text, NULL, &v, NULL, &e),
				 rows[i].in_notation ? -1 : 0);
	}
}

/* Nested as deep as is allowed, and once more; the depth comes back. */
static void depth(void **state)
{
	char text[512] = "";
	struct formula_value v;
	struct err e;

	(void)state;
	for (int i = 0; i < 64; i++)
		strcat(text, "(");
	strcat(text, "1");
	for (int i = 0; i < 64; i++)
		strcat(text, ")");
	strcat(text, "+(((2)))");
	assert_int_equal(read_text(text, &geometry, &v, NULL, &e), 0);
	assert_int_equal(v.n, 3);
	memset(text, '(', 65);
	strcpy(text + 65, "1");
	assert_int_equal(read_text(text, NULL, &v, NULL, &e), -1);
	assert_string_equal(e.text, "w:7:65: more than 64 nested parentheses");
	memset(text, '-', 511);
	text[511] = '\0';
	assert_int_equal(read_text(text, &geometry, &v, NULL, &e), -1);
}

/* An expression ends where no operator follows; what stands there belongs to others. */
static void ends(void **state)
{
	struct formula_value v;
	struct err e;
	size_t end;

	(void)state;
	assert_int_equal(read_text("1+2 bytes=3", &geometry, &v, &end, &e), 0);
	assert_int_equal(end, 4);
	assert_int_equal(read_text("2gx", &geometry, &v, &end, &e), 0);
	assert_int_equal(v.n, 2);
	assert_int_equal(end, 1);
	assert_int_equal(read_text("3)", &geometry, &v, &end, &e), 0);
	assert_int_equal(end, 1);
}

/* Words longer than the room for them are cut, of a long path the end is shown. */
static void long_words(void **state)
{
	char text[400], path[400], expected[400], word[8];
	struct formula f = {.text = text, .n = 300, .source = path, .line = 1};
	struct formula_value v;
	struct err e;

	(void)state;
	memset(text, 'a', 300);
	memset(path, 'p', 399);
	path[399] = '\0';
	assert_int_equal(formula_read(&f, &v, &e), -1);
	snprintf(expected, sizeof(expected),
		 "%.60s:1:1: %.31s is not known: the names are gx gy gz bx by bz", path, text);
	assert_string_equal(e.text, expected);
	f.at = 0;
	assert_int_equal(formula_word(&f, word, sizeof(word)), 300);
	assert_string_equal(word, "aaaaaaa");
	assert_int_equal(f.at, 300);
	f.n = 8;
	f.at = 0;
	assert_int_equal(formula_word(&f, word, sizeof(word)), 8);
	assert_string_equal(word, "aaaaaaa");
	f.at = 1;
	assert_int_equal(formula_word(&f, word, sizeof(word)), 7);
	assert_string_equal(word, "aaaaaaa");
}

static void counts_and_sizes(void **state)
{
	static const struct {
		const char *text;
		int64_t rounded; /* -1 = an error */
		int64_t size;    /* -1 = an error */
	} rows[] = {
		{"7", 7, 7},     {"7/2", 4, -1},
		{"5/4", 1, -1},  {"0.5", 1, -1},
		{"0.49", 0, -1}, {"0", 0, -1},
		{"-1", -1, -1},  {"9223372036854775807", INT64_MAX, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct formula f = {.text = rows[i].text,
				    .n = strlen(rows[i].text),
				    .geometry = &geometry,
				    .source = "--flops"};
		int64_t count = -1, size = -1;
		struct err e;

		formula_read_count(&f, "flops", &count, &e);
		f.at = 0;
		formula_read_size(&f, "m", &size, &e);
		assert_int_equal(count, rows[i].rounded);
		assert_int_equal(size, rows[i].size);
	}
}

/* ------------------------------------------------------------------------------------- random ones */

#define PRIME ((uint64_t)2305843009213693951) /* 2^61 - 1 */

static uint64_t seed = 88172645463325252;

static unsigned dice(unsigned sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % sides;
}

static uint64_t mul(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b % PRIME);
}

static uint64_t inverse(uint64_t a)
{
	uint64_t r = 1, power = PRIME - 2;

	for (; power; power >>= 1, a = mul(a, a))
		if (power & 1)
			r = mul(r, a);
	return r;
}

struct second {
	uint64_t residue;
	long double value;
};

static char made[4096];
static size_t made_n;
static bool by_zero;

static void put(const char *text)
{
	made_n += (size_t)snprintf(made + made_n, sizeof(made) - made_n, "%s%s", text,
				   dice(4) ? "" : " ");
}

static struct second make_sum(int depth);

static struct second make_operand(int depth)
{
	static const char *const names[] = {"gx", "gy", "gz", "bx", "by", "bz"};
	static const uint32_t figures[] = {1000, 20, 3, 256, 4, 1};
	unsigned kind = dice(depth > 0 ? 5 : 3), v = dice(50);
	struct second s;
	char text[16];

	if (kind == 0) {
		put(names[v % 6]);
		return (struct second){figures[v % 6], figures[v % 6]};
	}
	if (kind <= 2) {
		snprintf(text, sizeof(text), kind == 1 ? "%u" : "%u.25", v);
		put(text);
		if (kind == 1)
			return (struct second){v, v};
		return (struct second){mul(4 * v + 1, inverse(4)), v + 0.25L};
	}
	put(kind == 3 ? "(" : "-");
	s = kind == 3 ? make_sum(depth - 1) : make_operand(depth - 1);
	if (kind == 3) {
		put(")");
		return s;
	}
	return (struct second){s.residue ? PRIME - s.residue : 0, -s.value};
}

static struct second make_product(int depth)
{
	struct second a = make_operand(depth);

	while (dice(3) == 0) {
		bool divide = dice(2);
		struct second b;

		put(divide ? "/" : "*");
		b = make_operand(depth);
		by_zero |= divide && b.residue == 0;
		a.residue = mul(a.residue, divide ? inverse(b.residue) : b.residue);
		a.value = divide ? a.value / b.value : a.value * b.value;
	}
	return a;
}

static struct second make_sum(int depth)
{
	struct second a = make_product(depth);

	while (dice(3) == 0) {
		bool minus = dice(2);
		struct second b;

		put(minus ? "-" : "+");
		b = make_product(depth);
		a.residue = (a.residue + (minus ? PRIME - b.residue : b.residue)) % PRIME;
		a.value = minus ? a.value - b.value : a.value + b.value;
	}
	return a;
}

static void random_expressions(void **state)
{
	int good = 0, zero = 0, large = 0;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct formula_value v;
		struct second s;
		struct err e;
		uint64_t n, residue;
		size_t end;

		made_n = 0;
		by_zero = false;
		s = make_sum(4);
		if (read_text(made, &geometry, &v, &end, &e) < 0) {
			bool is_zero = strstr(e.text, "division by zero");

			if (is_zero != by_zero && !strstr(e.text, "64 bits"))
				fail_msg("%s: %s", made, e.text);
			*(is_zero ? &zero : &large) += 1;
			continue;
		}
		n = (uint64_t)(v.n < 0 ? -v.n : v.n) % PRIME;
		residue = mul(v.n < 0 && n ? PRIME - n : n, inverse((uint64_t)v.d % PRIME));
		if (by_zero || residue != s.residue || made_n < end ||
		    fabsl((long double)v.n / v.d - s.value) > 1e-6L + 1e-9L * fabsl(s.value))
			fail_msg("%s = %lld/%lld, not %Lg", made, (long long)v.n, (long long)v.d,
				 s.value);
		good++;
	}
	assert_true(good > 45000);
	assert_true(zero > 100);
	assert_true(large > 10);
}

/* Any bytes: an answer or an error, never a byte too far (each text ends at an unreadable page). */
static void random_bytes(void **state)
{
	static const char alphabet[] = "0123456789.eE+-*/() gxyzb_,=\t";

	(void)state;
	for (int i = 0; i < 5000; i++) {
		char text[24];
		struct formula_value v = {0, 1};
		size_t n = dice(sizeof(text) - 1);
		struct err e;

		for (size_t k = 0; k < n; k++)
			text[k] = alphabet[dice(sizeof(alphabet) - 1)];
		text[n] = '\0';
		if (read_text(text, &geometry, &v, NULL, &e) == 0)
			assert_true(v.d >= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(errors),
		cmocka_unit_test(depth),
		cmocka_unit_test(ends),
		cmocka_unit_test(long_words),
		cmocka_unit_test(counts_and_sizes),
		cmocka_unit_test(random_expressions),
		cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
