/*
 * given.c - see given.h: reads the words of a command line that describe one launch.
 */
#include "given.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"

/* ------------------------------------------------------------------------------------ arguments */

static const struct arg_type {
	const char *name;
	enum { ARG_SIGNED, ARG_UNSIGNED, ARG_REAL } kind;
	int bytes;
	int mantissa, exponent; /* bits of a real */
} arg_types[] = {
	{"i8", ARG_SIGNED, 1, 0, 0},    {"i16", ARG_SIGNED, 2, 0, 0},
	{"i32", ARG_SIGNED, 4, 0, 0},   {"i64", ARG_SIGNED, 8, 0, 0},
	{"u8", ARG_UNSIGNED, 1, 0, 0},  {"u16", ARG_UNSIGNED, 2, 0, 0},
	{"u32", ARG_UNSIGNED, 4, 0, 0}, {"u64", ARG_UNSIGNED, 8, 0, 0},
	{"ptr", ARG_UNSIGNED, 8, 0, 0}, {"f16", ARG_REAL, 2, 10, 5},
	{"bf16", ARG_REAL, 2, 7, 8},    {"f32", ARG_REAL, 4, 23, 8},
	{"f64", ARG_REAL, 8, 52, 11},
};
#define ARG_TYPES (sizeof(arg_types) / sizeof(*arg_types))

/* The bits of the nearest value of a format, of two equally near ones the even; false when it is too large. */
static bool real_bits(double v, int mantissa, int exponent, uint64_t *out)
{
	const int bias = (1 << (exponent - 1)) - 1;
	const uint64_t sign = (uint64_t)(signbit(v) != 0) << (mantissa + exponent);
	const uint64_t infinite = ((1ull << exponent) - 1) << mantissa;
	uint64_t bits;
	int e;

	*out = sign | infinite | (isnan(v) ? 1ull << (mantissa - 1) : 0);
	if (!isfinite(v))
		return true;
	frexp(v, &e); /* v = f * 2^e, f from 1/2 to 1 */
	e = e - 1 < 1 - bias || v == 0 ? 1 - bias : e - 1;
	/* in units of the last place; rounded up to the next power of two it carries into the exponent */
	bits = (uint64_t)nearbyint(ldexp(fabs(v), mantissa - e));
	bits += (uint64_t)(e + bias - 1) << mantissa;
	*out = sign | bits;
	return bits < infinite;
}

/* In two's complement where it is negative. */
static bool integer_bits(const char *word, const struct arg_type *t, uint64_t *out)
{
	const bool is_negative = *word == '-';
	const uint64_t most = UINT64_MAX >> (64 - 8 * t->bytes);
	const uint64_t limit = t->kind == ARG_UNSIGNED ? most : most / 2 + is_negative;
	const char *digits = word + is_negative;
	const bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;

	if (*digits < '0' || *digits > '9' || (is_negative && t->kind == ARG_UNSIGNED))
		return false;
	errno = 0;
	*out = strtoull(digits, &end, is_hex ? 16 : 10);
	if (errno || *end || *out > limit)
		return false;
	if (is_negative)
		*out = 0 - *out;
	return true;
}

static bool arg_bits(const char *word, const struct arg_type *t, uint64_t *out)
{
	char *end;
	double v;

	if (t->kind != ARG_REAL)
		return integer_bits(word, t, out);
	if (!*word || strchr(" \t\n\r\f\v", *word))
		return false;
	errno = 0;
	v = strtod(word, &end);
	return !*end && !(errno && isinf(v)) && real_bits(v, t->mantissa, t->exponent, out);
}

static int put_arg(struct given_arg *out, const struct arg_type *t, uint64_t bits, struct arena *a,
		   struct err *e)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	*out = (struct given_arg){t->name, arena_copy(a, bytes, (size_t)t->bytes),
				  (size_t)t->bytes};
	return out->bytes ? 0 : err_set(e, ERR_MEMORY, -1, "out of memory");
}

/* The largest finite value of a format. */
static double real_most(const struct arg_type *t)
{
	return ldexp(2 - ldexp(1, -t->mantissa), (1 << (t->exponent - 1)) - 1);
}

static int no_value(const struct arg_type *t, const char *value, struct err *e)
{
	const uint64_t most = UINT64_MAX >> (64 - 8 * t->bytes);

	if (t->kind == ARG_REAL)
		return err_set(
			e, ERR_USAGE, -1,
			"--arg %s: wants a number of at most %.9g in size, inf or nan, not \"%.60s\"",
			t->name, real_most(t), value);
	if (t->kind == ARG_SIGNED)
		return err_set(e, ERR_USAGE, -1,
			       "--arg %s: wants an integer from -%llu to %llu, not \"%.60s\"",
			       t->name, (unsigned long long)(most / 2 + 1),
			       (unsigned long long)(most / 2), value);
	return err_set(e, ERR_USAGE, -1, "--arg %s: wants an integer from 0 to %llu, not \"%.60s\"",
		       t->name, (unsigned long long)most, value);
}

int given_arg(struct given_arg *out, const char *word, struct arena *a, struct err *e)
{
	const size_t n = strcspn(word, ":");
	const char *value = word[n] ? word + n + 1 : NULL;
	uint64_t bits;

	if (value && n == 3 && strncmp(word, "hex", 3) == 0) {
		struct given_arg hex = {.type = "hex"};

		if (given_hex("--arg hex", value, &hex.bytes, &hex.bytes_n, a, e) != 0)
			return -1;
		*out = hex;
		return 0;
	}
	for (size_t i = 0; value && i < ARG_TYPES; i++) {
		const struct arg_type *t = &arg_types[i];

		if (strlen(t->name) != n || strncmp(t->name, word, n) != 0)
			continue;
		if (arg_bits(value, t, &bits))
			return put_arg(out, t, bits, a, e);
		return no_value(t, value, e);
	}
	return err_set(
		e, ERR_USAGE, -1,
		"--arg wants TYPE:VALUE with TYPE i8 to i64, u8 to u64, f16, bf16, f32, f64, ptr or "
		"hex, not \"%.60s\"",
		word);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int given_hex(const char *option, const char *word, const uint8_t **bytes, size_t *n,
	      struct arena *a, struct err *e)
{
	const size_t length = strlen(word);
	uint8_t *out = arena_alloc(a, length / 2);

	if (!out)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (size_t i = 0; i < length; i += 2) {
		const int high = hex_digit(word[i]), low = hex_digit(word[i + 1]);

		if (high < 0 || low < 0)
			return err_set(e, ERR_USAGE, -1,
				       "%s wants two hexadecimal digits a byte; see digit %zu",
				       option, i + 1);
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	if (!length)
		return err_set(e, ERR_USAGE, -1, "%s wants bytes", option);
	*bytes = out;
	*n = length / 2;
	return 0;
}

int given_allocation(struct given_allocation *out, const char *word, struct err *e)
{
	static const struct arg_type any = {"u64", ARG_UNSIGNED, 8, 0, 0};
	const size_t n = strcspn(word, ":");
	struct given_allocation got;
	char address[32];

	if (n < sizeof(address) && word[n]) {
		memcpy(address, word, n);
		address[n] = '\0';
		if (integer_bits(address, &any, &got.address) &&
		    integer_bits(word + n + 1, &any, &got.bytes) && got.bytes > 0 &&
		    got.bytes <= UINT64_MAX - got.address) {
			*out = got;
			return 0;
		}
	}
	return err_set(e, ERR_USAGE, -1,
		       "--alloc wants ADDR:BYTES such as 0x7f0000000000:4096, not \"%.60s\"", word);
}

/* -------------------------------------------------------------------------------------- numbers */

int given_number(const char *option, const char *word, double most, double *out, struct err *e)
{
	char *end;
	double v;

	/* not what strtod takes besides: signs, blanks, hexadecimal, names */
	if (word[strspn(word, "0123456789.eE+-")] == '\0' && *word >= '0' && *word <= '9') {
		v = strtod(word, &end);
		if (!*end && v > 0 && v <= most) {
			*out = v;
			return 0;
		}
	}
	return err_set(e, ERR_USAGE, -1, "%s wants a number above 0 and up to %g, not \"%.60s\"",
		       option, most, word);
}
