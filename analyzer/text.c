/*
 * text.c - see text.h. The UTF-8 check is the table of well-formed sequences of the Unicode standard:
 * no overlong forms, no surrogates, nothing past U+10FFFF.
 */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

char *text_format(struct arena *a, const char *format, ...)
{
	va_list ap, again;
	char *out = NULL;
	int n;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, ap);
	if (n >= 0 && (out = arena_alloc(a, (size_t)n + 1)))
		vsnprintf(out, (size_t)n + 1, format, again);
	va_end(again);
	va_end(ap);
	return out;
}

/* Length of the well-formed sequence at `s`, 0 = none. Ends at the NUL by itself: NUL is no continuation. */
static int sequence(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high;
		int more;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 1}, {0xe0, 0xe0, 0xa0, 0xbf, 2},
		{0xe1, 0xec, 0x80, 0xbf, 2}, {0xed, 0xed, 0x80, 0x9f, 2},
		{0xee, 0xef, 0x80, 0xbf, 2}, {0xf0, 0xf0, 0x90, 0xbf, 3},
		{0xf1, 0xf3, 0x80, 0xbf, 3}, {0xf4, 0xf4, 0x80, 0x8f, 3},
	};

	if (*s < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (int k = 2; k <= forms[i].more; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].more + 1;
	}
	return 0;
}

/* Control characters would move the cursor of whoever looks at the table. */
static bool is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

const char *text_utf8(struct arena *a, const char *bytes, bool *changed)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t bad = 0, n = 0;
	char *out, *to;
	int k;

	for (size_t i = 0; s[i]; i += (size_t)k) {
		k = sequence(s + i);
		if (k == 0 || (k == 1 && is_control(s[i]))) {
			bad++;
			k = 1;
		}
		n += (size_t)k;
	}
	if (changed)
		*changed = bad > 0;
	if (!bad)
		return bytes;
	to = out = arena_alloc(a, n + 2 * bad + 1);
	if (!out)
		return NULL;
	while (*s) {
		k = sequence(s);
		if (k == 0 || (k == 1 && is_control(*s))) {
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
			s++;
		} else {
			memcpy(to, s, (size_t)k);
			to += k;
			s += k;
		}
	}
	*to = '\0';
	return out;
}

char *text_hex(struct arena *a, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = bytes;
	char *out = arena_alloc(a, 2 * n + 1);

	for (size_t i = 0; out && i < n; i++) {
		out[2 * i] = digits[b[i] >> 4];
		out[2 * i + 1] = digits[b[i] & 15];
	}
	return out;
}

const char *text_plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

char *text_count(char out[TEXT_NUMBER], uint64_t n)
{
	char plain[24];
	int len = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = plain[i];
	}
	out[at] = '\0';
	return out;
}

char *text_int(char out[TEXT_NUMBER], int64_t n)
{
	return n < 0 ? text_real(out, NAN) : text_count(out, (uint64_t)n);
}

char *text_real(char out[TEXT_NUMBER], double v)
{
	if (!isfinite(v))
		snprintf(out, TEXT_NUMBER, "-");
	else if (v >= 999.5 && v < 1e15)
		text_count(out, (uint64_t)llround(v));
	else if (v > 0 && v < 0.0005)
		snprintf(out, TEXT_NUMBER, "<0.001");
	else
		snprintf(out, TEXT_NUMBER, "%.*f",
			 fabs(v) >= 99.95    ? 0
			 : fabs(v) >= 9.995  ? 1
			 : fabs(v) >= 0.9995 ? 2
					     : 3,
			 v);
	return out;
}

/* Four digits of a number below 1,000: three decimals below 10, fewer above. */
static int ratio_decimals(double v)
{
	return v < 9.9995 ? 3 : v < 99.995 ? 2 : 1;
}

char *text_ratio(char out[TEXT_NUMBER], double v)
{
	double whole = round(v);
	int decimals;

	/* a sum of thirds is no other number than what it sums up to */
	if (fabs(v - whole) < 1e-9 * whole)
		v = whole;
	decimals = ratio_decimals(v);
	if (!isfinite(v) || v < 0 || v >= 999.95)
		return text_real(out, v);
	if (v > 0 && v < 0.0005) {
		snprintf(out, TEXT_NUMBER, "<0.001");
		return out;
	}
	if (v == whole) {
		snprintf(out, TEXT_NUMBER, "%.0f", v);
		return out;
	}
	snprintf(out, TEXT_NUMBER, "%.*f", decimals, v);
	/* rounded to a whole number that it is not: near 1 or 2 it matters on which side it lies */
	if (v != whole && whole < 10 && strtod(out, NULL) == whole)
		snprintf(out, TEXT_NUMBER, "%c%.*f", v < whole ? '<' : '>', ratio_decimals(whole),
			 whole);
	return out;
}

/* The `n` characters of a number with decimals, without zeros at its end: "12.50" is "12.5". */
static void drop_zeros(char *number, int n)
{
	while (n > 0 && number[n - 1] == '0')
		n--;
	number[n > 0 && number[n - 1] == '.' ? n - 1 : n] = '\0';
}

char *text_pct(char out[TEXT_NUMBER], double pct)
{
	const double hundredths = 100 * pct;
	char number[TEXT_NUMBER];

	if (!isfinite(pct) || pct < 0 || pct >= 999.5)
		text_real(number, pct);
	else if (pct > 0 && hundredths < 0.5)
		snprintf(number, sizeof(number), "<0.01");
	else if (fabs(hundredths - round(hundredths)) < 1e-6)
		drop_zeros(number, snprintf(number, sizeof(number), "%.2f", pct));
	else if (pct < 100 && pct >= 99.95)
		snprintf(number, sizeof(number), ">99.9");
	else
		snprintf(number, sizeof(number), "%.*f",
			 pct < 9.995   ? 2
			 : pct < 99.95 ? 1
				       : 0,
			 pct);
	snprintf(out, TEXT_NUMBER, "%.30s%s", number, isfinite(pct) ? "%" : "");
	return out;
}

char *text_us(char out[TEXT_NUMBER], double us)
{
	static const struct {
		double below, scale;
		const char *unit;
	} units[] = {
		{999.5, 1, "us"},
		{999.5e3, 1e-3, "ms"},
		{INFINITY, 1e-6, "s"},
	};
	char number[TEXT_NUMBER];

	if (!isfinite(us))
		return text_real(out, NAN);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (us < units[i].below) {
			snprintf(out, TEXT_NUMBER, "%.22s %s",
				 text_real(number, us * units[i].scale), units[i].unit);
			break;
		}
	return out;
}

char *text_bytes(char out[TEXT_NUMBER], int64_t bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	char number[TEXT_NUMBER];
	double v = (double)bytes;
	size_t u = 0;

	if (bytes < 0)
		return text_real(out, NAN);
	for (; v >= 1024 && u + 1 < sizeof(units) / sizeof(*units); u++)
		v /= 1024;
	if (v == floor(v))
		text_count(number, (uint64_t)v);
	else
		text_real(number, v);
	snprintf(out, TEXT_NUMBER, "%.22s %s", number, units[u]);
	return out;
}

size_t text_columns(const char *utf8)
{
	size_t n = 0;

	for (; *utf8; utf8++)
		n += (*utf8 & 0xc0) != 0x80;
	return n;
}

void text_wrapped(const char *lead, const char *utf8, int columns, FILE *out)
{
	size_t indent = text_columns(lead), at = indent;
	const char *s = utf8;

	fputs(lead, out);
	while (*s) {
		size_t word = strcspn(s, " "), width = 0;

		for (size_t i = 0; i < word; i++)
			width += (s[i] & 0xc0) != 0x80;
		if (at > indent && at + 1 + width > (size_t)columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out);
			at++;
		}
		fwrite(s, 1, word, out);
		at += width;
		s += word;
		s += strspn(s, " ");
	}
	fputc('\n', out);
}

#define WORD 32 /* letters of the longest word that is compared */

static int least(int a, int b)
{
	return a < b ? a : b;
}

int text_distance(const char *typed, const char *meant)
{
	size_t n = strlen(typed), m = strlen(meant);
	int d[WORD + 1][WORD + 1];

	if (n > WORD || m > WORD || n < 2)
		return TEXT_FAR;
	if (n > 3 && strncmp(typed, meant, n) == 0)
		return 0;
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++) {
			if (!i || !k) {
				d[i][k] = (int)(i + k);
				continue;
			}
			d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
					d[i - 1][k - 1] + (typed[i - 1] != meant[k - 1]));
			if (i > 1 && k > 1 && typed[i - 1] == meant[k - 2] &&
			    typed[i - 2] == meant[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[n][m];
}
