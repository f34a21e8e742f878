/*
 * render_html_advice.c - what to do about one kernel, in its section of the HTML page: experiments in their order,
 * each with what it may gain, why, what it costs and how to tell; then what is tempting and ruled out.
 */
#include "render_html.h"

#include <math.h>
#include <string.h>

#define WORDS 400 /* characters of a sentence */

void html_gain(double low_pct, double high_pct, const char *of, FILE *out)
{
	char low[TEXT_NUMBER], high[TEXT_NUMBER];

	if (isnan(low_pct) || isnan(high_pct)) {
		fputs("<span class=\"gain x\">what it saves is not known</span>", out);
		return;
	}
	html_pct(low, low_pct);
	html_pct(high, high_pct);
	fputs("<span class=gain>saves <b>", out);
	fputs(low, out);
	if (strcmp(low, high) != 0)
		fprintf(out, " to %s", high);
	fprintf(out, "</b><sup class=e>e</sup> %s ", of);
	html_bar_range(low_pct, high_pct, out);
	fputs("</span>", out);
}

static void sentences(const char *name, const char *const *list, int n, FILE *out)
{
	if (!n)
		return;
	fprintf(out, "<dt>%s<dd>", name);
	for (int i = 0; i < n; i++) {
		if (i)
			fputs("<br>", out);
		html_text(list[i], WORDS, out);
	}
	fputc('\n', out);
}

static void step(const char *name, const char *text, FILE *out)
{
	if (text)
		sentences(name, &text, 1, out);
}

static void item(const struct metric_advice *a, FILE *out)
{
	fputs("<li><h3>", out);
	html_text(a->title, HTML_NAME_TIP, out);
	fputs("</h3>", out);
	html_gain(a->gain_low_pct, a->gain_high_pct, HTML_OF_KERNEL, out);
	fputs("<dl class=t>\n", out);
	sentences("Readings", a->evidence, a->evidence_n, out);
	step("Change", a->change, out);
	step("Expect", a->expect, out);
	step("Otherwise", a->otherwise, out);
	sentences("Costs", a->conflicts, a->conflicts_n, out);
	fputs("</dl><div class=s1>", out);
	html_text(a->id, HTML_NAME, out);
	if (a->source) {
		fputs("; source: ", out);
		html_text(a->source, HTML_NAME_TIP, out);
	}
	fputs("</div>\n", out);
}

void html_advice_short(const struct report_kernel *k, size_t number, FILE *out)
{
	if (!k->advice.n)
		return;
	fprintf(out, "<p><b>Try first:</b> <a href=#k%zua>", number);
	html_text(k->advice.items[0].title, HTML_NAME_TIP, out);
	fputs("</a>, ", out);
	html_gain(k->advice.items[0].gain_low_pct, k->advice.items[0].gain_high_pct, HTML_OF_KERNEL,
		  out);
	fputc('\n', out);
}

void html_advice(const struct report_kernel *k, size_t number, FILE *out)
{
	const struct metric_advices *a = &k->advice;

	fprintf(out, "<section class=wide id=k%zua><h3>Recommended Optimizations</h3>\n", number);
	if (a->n)
		fputs("<ol class=do>\n", out);
	else
		fprintf(out, "<p>None: no readings of this kernel call for one.%s",
			render_lacks_work(k) ? " " RENDER_LACKS_WORK : "");
	for (size_t i = 0; i < a->n; i++)
		item(&a->items[i], out);
	fputs(a->n ? "</ol>" : "", out);
	fputs("</section>\n", out);
	if (!a->not_now_n)
		return;
	fputs("<section class=wide><h3>Not now</h3><dl class=t>\n", out);
	for (size_t i = 0; i < a->not_now_n; i++) {
		fputs("<dt>", out);
		html_text(a->not_now[i].title, HTML_NAME_TIP, out);
		fputs("<dd>", out);
		html_text(a->not_now[i].why, WORDS, out);
		fputs(" <small>", out);
		html_text(a->not_now[i].id, HTML_NAME, out);
		fputs("</small>\n", out);
	}
	fputs("</dl></section>\n", out);
}
