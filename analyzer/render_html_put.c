/*
 * render_html_put.c - texts, figures, marks and bars of the HTML page. Whatever comes from a recording goes
 * through html_text(): names of kernels are written by whoever wrote the program.
 */
#include "render_html.h"

#include <math.h>
#include <string.h>

static const char *entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

void html_bytes(const char *s, size_t n, FILE *out)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const char *e = entity(s[i]);

		if (!e)
			continue;
		fwrite(s + from, 1, i - from, out);
		fputs(e, out);
		from = i + 1;
	}
	fwrite(s + from, 1, n - from, out);
}

void html_text(const char *s, size_t most, FILE *out)
{
	size_t at = 0, n = 0;

	while (s[at] && ((s[at] & 0xc0) == 0x80 || n++ < most))
		at++;
	html_bytes(s, at, out);
	if (s[at])
		fputs("\xe2\x80\xa6", out);
}

void html_words(const char *key, FILE *out)
{
	for (; *key; key++)
		fputc(*key == '_' ? ' ' : *key, out);
}

void html_label(const struct report_kernel *k, size_t columns, FILE *out)
{
	char label[RENDER_LABEL];

	html_text(render_label(label, k, columns), columns, out);
}

void html_class(const struct metric_class *v, FILE *out)
{
	fputs("<span class=\"c ", out);
	html_text(v->class, HTML_NAME, out);
	fputs("\">", out);
	html_text(v->class, HTML_NAME, out);
	fputs("</span>", out);
	if (v->launch_bound && strcmp(v->class, "launch") != 0)
		fputs(" <span class=\"c launch\">launch-bound</span>", out);
}

/* ---------------------------------------------------------------- figures */

/* A number may begin with "<" or ">"; no other character of it means anything to HTML. */
static char *escape_number(char out[TEXT_NUMBER])
{
	const char *e = entity(*out);
	char rest[TEXT_NUMBER];

	if (e) {
		snprintf(rest, sizeof(rest), "%s", out + 1);
		snprintf(out, TEXT_NUMBER, "%s%.24s", e, rest);
	}
	return out;
}

char *html_us(char out[TEXT_NUMBER], double v)
{
	char *unit;

	text_us(out, v);
	unit = strstr(out, " us");
	if (unit)
		memcpy(unit, " \xc2\xb5s", sizeof(" \xc2\xb5s"));
	return escape_number(out);
}

char *html_pct(char out[TEXT_NUMBER], double v)
{
	return escape_number(text_pct(out, v));
}

char *html_share(char out[TEXT_NUMBER], double v)
{
	return html_pct(out, fabs(v) < 0.05 ? v : round(10 * v) / 10);
}

char *html_real(char out[TEXT_NUMBER], double v)
{
	if (v == 0) {
		snprintf(out, TEXT_NUMBER, "0");
		return out;
	}
	return escape_number(text_real(out, v));
}

char *html_ratio(char out[TEXT_NUMBER], double v)
{
	return escape_number(text_ratio(out, v));
}

/* 12.3 M of what comes in thousands: k, M, G, T, P. */
static char *put_scaled(char out[TEXT_NUMBER], double v, const char *unit)
{
	static const char *const steps[] = {"", "k", "M", "G", "T", "P"};
	char number[TEXT_NUMBER];
	size_t i = 0;

	if (!isfinite(v)) {
		snprintf(out, TEXT_NUMBER, "-");
		return out;
	}
	while (fabs(v) >= 1000 && i + 1 < sizeof(steps) / sizeof(*steps)) {
		v /= 1000;
		i++;
	}
	snprintf(out, TEXT_NUMBER, "%.16s%s%s%.8s", html_real(number, v),
		 *steps[i] || *unit ? " " : "", steps[i], unit);
	return out;
}

char *html_gflops(char out[TEXT_NUMBER], double v)
{
	return put_scaled(out, 1e9 * v, "FLOP/s");
}

char *html_gbps(char out[TEXT_NUMBER], double v)
{
	return put_scaled(out, 1e9 * v, "B/s");
}

char *html_intensity(char out[TEXT_NUMBER], double v)
{
	char number[TEXT_NUMBER];

	snprintf(out, TEXT_NUMBER, "%.16s FLOP/B", html_real(number, v));
	return out;
}

char *html_amount(char out[TEXT_NUMBER], double v)
{
	return put_scaled(out, v, "");
}

void html_mark(const struct quantity *q, FILE *out)
{
	const char *word = quantity_label_names[q->label];
	const bool is_told = q->label == QUANTITY_MEASURED && q->by == QUANTITY_BY_USER;

	fprintf(out, "<sup class=%c", *word);
	if (q->why) {
		fprintf(out, " title=\"%s by %s: ", word, quantity_by_names[q->by]);
		html_text(q->why, HTML_SENTENCE, out);
		fputc('"', out);
	}
	fprintf(out, ">%.*s</sup>", is_told ? 4 : 1, is_told ? "user" : word);
}

static void put_known(const struct quantity *q, html_show *show, FILE *out)
{
	char value[TEXT_NUMBER], low[TEXT_NUMBER], high[TEXT_NUMBER];

	fputs(show(value, q->value), out);
	html_mark(q, out);
	if (isnan(q->low) || isnan(q->high) || q->low >= q->high)
		return;
	show(low, q->low);
	show(high, q->high);
	if (strcmp(low, high) == 0)
		return;
	fputs(" <small>", out);
	fputs(low, out);
	fputs(" to ", out);
	fputs(high, out);
	fputs("</small>", out);
}

void html_quantity(const struct quantity *q, html_show *show, FILE *out)
{
	if (quantity_known(q)) {
		put_known(q, show, out);
		return;
	}
	fputs("<span class=x title=\"not known", out);
	if (q->why) {
		fputs(": ", out);
		html_text(q->why, HTML_SENTENCE, out);
	}
	fputs("\">\xe2\x80\x93</span>", out);
}

void html_quantity_said(const struct quantity *q, html_show *show, FILE *out)
{
	if (quantity_known(q)) {
		put_known(q, show, out);
		return;
	}
	fputs("<span class=x>not known", out);
	if (q->why) {
		fputs(": ", out);
		html_text(q->why, HTML_SENTENCE, out);
	}
	fputs("</span>", out);
}

static double within(double pct)
{
	return pct < 0 ? 0 : pct > 100 ? 100 : pct;
}

void html_bar(double pct, FILE *out)
{
	if (isfinite(pct))
		fprintf(out, "<i class=b style=--w:%.3g%%></i>", within(pct));
}

void html_bar_range(double low, double high, FILE *out)
{
	if (isfinite(low) && isfinite(high))
		fprintf(out, "<i class=\"b r\" style=--w:%.3g%%;--z:%.3g%%></i>", within(low),
			within(high));
}

void html_row(const char *what, const struct quantity *q, html_show *show, FILE *out)
{
	fprintf(out, "<tr><th>%s<td>", what);
	html_quantity_said(q, show, out);
}
