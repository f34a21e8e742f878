/*
 * formula.c - see formula.h. Reads and computes in one pass: a formula is a line of text, and looking at it
 * again for every kernel is cheaper than keeping a tree.
 */
#include "formula.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX  64 /* nested parentheses and signs, since each takes stack */
#define DIGITS_MAX 18 /* of a decimal part and of an exponent: 10^18 fits into 64 bits */
#define WORD_ROOM  32
#define SOURCE_MAX 60 /* of a long path the end, so that the reason behind it is never cut off */

static const char *const geometry_names[] = {"gx", "gy", "gz", "bx", "by", "bz"};

int formula_error(const struct formula *f, size_t at, struct err *e, const char *format, ...)
{
	size_t n = strlen(f->source);
	const char *source = n > SOURCE_MAX ? f->source + n - SOURCE_MAX : f->source;
	char text[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (f->line)
		return err_set(e, ERR_USAGE, -1, "%s:%zu:%zu: %s", source, f->line, at + 1, text);
	return err_set(e, ERR_USAGE, -1, "%s, character %zu: %s", source, at + 1, text);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

char formula_next(struct formula *f)
{
	while (f->at < f->n && is_blank(f->text[f->at]))
		f->at++;
	return f->at < f->n ? f->text[f->at] : '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t formula_word(struct formula *f, char *out, size_t room)
{
	size_t n = 0;

	for (; f->at + n < f->n && is_word(f->text[f->at + n]); n++)
		if (n + 1 < room)
			out[n] = f->text[f->at + n];
	out[n < room ? n : room - 1] = '\0';
	f->at += n;
	return n;
}

/* ------------------------------------------------------------------------------------- fractions */

static unsigned __int128 magnitude(__int128 v)
{
	return v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
}

/* n / d in lowest terms; d is not 0. */
static int reduce(const struct formula *f, size_t at, __int128 n, __int128 d,
		  struct formula_value *out, struct err *e)
{
	unsigned __int128 a = magnitude(n), b = magnitude(d), divisor = a, rest = b;

	while (rest) {
		unsigned __int128 next = divisor % rest;

		divisor = rest;
		rest = next;
	}
	a /= divisor;
	b /= divisor;
	if (a > INT64_MAX)
		return formula_error(f, at, e, "the value exceeds 64 bits");
	if (b > INT64_MAX)
		return formula_error(f, at, e, "the fraction is too fine for 64 bits");
	*out = (struct formula_value){(n < 0) != (d < 0) ? -(int64_t)a : (int64_t)a, (int64_t)b};
	return 0;
}

/* Products of two 64-bit numbers, and the sum of two such, fit into 127 bits and a sign. */
static int apply(const struct formula *f, size_t at, char operator, struct formula_value * a,
		 const struct formula_value *b, struct err *e)
{
	__int128 an = a->n, ad = a->d, bn = b->n, bd = b->d;

	if (!f->geometry)
		return 0;
	switch (operator) {
	case '+': return reduce(f, at, an * bd + bn * ad, ad * bd, a, e);
	case '-': return reduce(f, at, an * bd - bn * ad, ad * bd, a, e);
	case '*': return reduce(f, at, an * bn, ad * bd, a, e);
	default:
		if (bn == 0)
			return formula_error(f, at, e, "division by zero");
		return reduce(f, at, an * bd, ad * bn, a, e);
	}
}

/* ------------------------------------------------------------------------------------- notation */

static int read_exponent(struct formula *f, size_t start, int *out, struct err *e)
{
	int sign = 1, value = 0, digits = 0;

	f->at++; /* the e */
	if (f->at < f->n && (f->text[f->at] == '+' || f->text[f->at] == '-'))
		sign = f->text[f->at++] == '-' ? -1 : 1;
	for (; f->at < f->n && isdigit((unsigned char)f->text[f->at]); f->at++, digits++)
		if (value <= DIGITS_MAX)
			value = value * 10 + (f->text[f->at] - '0');
	if (!digits)
		return formula_error(f, f->at, e, "digits are missing behind the e");
	if (value > DIGITS_MAX)
		return formula_error(f, start, e, "the exponent is outside -%d to %d", DIGITS_MAX,
				     DIGITS_MAX);
	*out = sign * value;
	return 0;
}

/* 12, 0.75, 2e9 */
static int read_number(struct formula *f, struct formula_value *out, struct err *e)
{
	size_t start = f->at;
	int64_t mantissa = 0;
	int exponent = 0, decimals = 0, digits = 0;
	bool point = false;
	__int128 n, d = 1;

	for (; f->at < f->n; f->at++) {
		char c = f->text[f->at];

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)c))
			break;
		if (__builtin_mul_overflow(mantissa, 10, &mantissa) ||
		    __builtin_add_overflow(mantissa, c - '0', &mantissa) ||
		    (point && ++decimals > DIGITS_MAX))
			return formula_error(f, start, e, "the number needs more than 64 bits");
		digits++;
	}
	if (!digits)
		return formula_error(f, start, e, "a point without digits is no number");
	if (f->at < f->n && (f->text[f->at] == 'e' || f->text[f->at] == 'E') &&
	    read_exponent(f, start, &exponent, e) < 0)
		return -1;
	n = mantissa;
	for (exponent -= decimals; exponent > 0; exponent--)
		n *= 10;
	for (; exponent < 0; exponent++)
		d *= 10;
	return reduce(f, start, n, d, out, e);
}

static int read_name(struct formula *f, struct formula_value *out, struct err *e)
{
	size_t start = f->at;
	char word[WORD_ROOM];

	formula_word(f, word, sizeof(word));
	for (int i = 0; i < 6; i++) {
		const struct formula_geometry *g = f->geometry;

		if (strcmp(word, geometry_names[i]) != 0)
			continue;
		*out = (struct formula_value){!g ? 0 : i < 3 ? g->grid[i] : g->block[i - 3], 1};
		return 0;
	}
	return formula_error(f, start, e, "%s is not known: the names are gx gy gz bx by bz", word);
}

static int read_sum(struct formula *f, struct formula_value *out, struct err *e);

/* A number, a name, a sign before one, a sum in parentheses. */
static int read_operand(struct formula *f, struct formula_value *out, struct err *e)
{
	char c = formula_next(f);
	size_t start = f->at;

	if (isdigit((unsigned char)c) || c == '.')
		return read_number(f, out, e);
	if (is_word(c))
		return read_name(f, out, e);
	if (c != '(' && c != '-' && c != '+')
		return formula_error(f, start, e, "a number, a name or ( is missing");
	if (++f->depth > DEPTH_MAX)
		return formula_error(f, start, e, "more than %d nested parentheses", DEPTH_MAX);
	f->at++;
	if (c == '(') {
		if (read_sum(f, out, e) < 0)
			return -1;
		if (formula_next(f) != ')')
			return formula_error(f, f->at, e, "the ( of character %zu is not closed",
					     start + 1);
		f->at++;
	} else {
		if (read_operand(f, out, e) < 0)
			return -1;
		if (c == '-')
			out->n = -out->n;
	}
	f->depth--;
	return 0;
}

/* Operands that `next` reads, with operators of one rank between, from left to right. */
static int read_chain(struct formula *f, const char *operators,
		      int (*next)(struct formula *, struct formula_value *, struct err *),
		      struct formula_value *out, struct err *e)
{
	struct formula_value right;
	char c;

	if (next(f, out, e) < 0)
		return -1;
	while ((c = formula_next(f)) != '\0' && strchr(operators, c)) {
		size_t at = f->at++;

		if (next(f, &right, e) < 0 || apply(f, at, c, out, &right, e) < 0)
			return -1;
	}
	return 0;
}

static int read_product(struct formula *f, struct formula_value *out, struct err *e)
{
	return read_chain(f, "*/", read_operand, out, e);
}

static int read_sum(struct formula *f, struct formula_value *out, struct err *e)
{
	return read_chain(f, "+-", read_product, out, e);
}

int formula_read(struct formula *f, struct formula_value *out, struct err *e)
{
	struct formula_value v = {0, 1};

	if (read_sum(f, &v, e) < 0)
		return -1;
	*out = f->geometry ? v : (struct formula_value){0, 1};
	return 0;
}

int formula_read_count(struct formula *f, const char *what, int64_t *out, struct err *e)
{
	struct formula_value v;
	size_t start;

	formula_next(f);
	start = f->at;
	if (formula_read(f, &v, e) < 0)
		return -1;
	if (v.n < 0)
		return formula_error(f, start, e, "%s is negative", what);
	*out = v.n / v.d + (v.n % v.d >= v.d - v.n % v.d);
	return 0;
}

int formula_read_size(struct formula *f, const char *what, int64_t *out, struct err *e)
{
	struct formula_value v;
	size_t start;

	formula_next(f);
	start = f->at;
	if (formula_read(f, &v, e) < 0)
		return -1;
	if (f->geometry && v.d != 1)
		return formula_error(f, start, e, "%s is not a whole number: %lld/%lld", what,
				     (long long)v.n, (long long)v.d);
	if (f->geometry && v.n < 1)
		return formula_error(f, start, e, "%s is %lld, and must be at least 1", what,
				     (long long)v.n);
	*out = f->geometry ? v.n : 1;
	return 0;
}
