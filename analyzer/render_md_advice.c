/* render_md_advice.c - see render_md_advice.h. */
#include "render_md_advice.h"

#include <math.h>

#define LABEL 60 /* columns of a kernel's name */

static void item(const char *lead, const char *text, FILE *out)
{
	fprintf(out, "   - %s", lead);
	render_md_plain(text, out);
	fputs("\n", out);
}

void render_md_first(const struct report *r, FILE *out)
{
	char label[RENDER_LABEL], gain[RENDER_GAIN];

	if (!r->advice_n)
		return;
	fputs("## What to do first\n\n", out);
	for (size_t i = 0; i < r->advice_n; i++) {
		const struct report_advice *a = &r->advice[i];

		fprintf(out, "%zu. ", i + 1);
		if (a->kernel) {
			render_md_plain(render_label(label, a->kernel, LABEL), out);
			fputs(": ", out);
		}
		fprintf(out, "**%s** (%s)", a->advice->title, a->advice->id);
		if (a->kernel && !isnan(a->gain_high_pct))
			fprintf(out, ", saves %s of all kernel time (estimated)",
				render_gain(gain, a->gain_low_pct, a->gain_high_pct));
		fputs(": ", out);
		render_md_plain(a->advice->evidence[0], out);
		fputs(". *Try*: ", out);
		render_md_plain(a->advice->change, out);
		fputs(". *Expect*: ", out);
		render_md_plain(a->advice->expect, out);
		fputs(".\n", out);
	}
	fputs("\n", out);
}

static void advice(const struct metric_advice *a, size_t number, FILE *out)
{
	char gain[RENDER_GAIN];

	fprintf(out, "%zu. **%s** (%s): saves %s of this kernel's time (estimated)\n", number,
		a->title, a->id, render_gain(gain, a->gain_low_pct, a->gain_high_pct));
	for (int i = 0; i < a->evidence_n; i++)
		item("", a->evidence[i], out);
	for (int i = 0; i < a->conflicts_n; i++)
		item("costs: ", a->conflicts[i], out);
	item("*change*: ", a->change, out);
	item("*expect*: ", a->expect, out);
	item("*if not*: ", a->otherwise, out);
}

void render_md_advice(const struct report_kernel *k, FILE *out)
{
	const struct metric_advices *list = &k->advice;

	fputs("#### Recommended Optimizations\n\n", out);
	for (size_t i = 0; i < list->n; i++)
		advice(&list->items[i], i + 1, out);
	if (!list->n)
		fprintf(out, "None: nothing that is known of this kernel speaks for one.%s\n",
			render_lacks_work(k) ? " " RENDER_LACKS_WORK : "");
	fputs("\n", out);
	if (!list->not_now_n)
		return;
	fputs("#### Not now\n\n", out);
	for (size_t i = 0; i < list->not_now_n; i++) {
		fprintf(out, "- %s (%s): ", list->not_now[i].title, list->not_now[i].id);
		render_md_plain(list->not_now[i].why, out);
		fputs("\n", out);
	}
	fputs("\n", out);
}
