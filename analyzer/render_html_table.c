/*
 * render_html_table.c - the table of kernels in the HTML page, by total time. Each cell that is a number has it in
 * data-v too, for the script to sort by; one that is not known has it empty, and sorts behind all others.
 */
#include "render_html.h"

#include <math.h>
#include <string.h>

#define TALL 17 /* rows that the table shows at once, about */

static void number(double v, const char *text, FILE *out)
{
	if (isfinite(v))
		fprintf(out, "<td data-v=%.6g>%s", v, text);
	else
		fputs("<td data-v=\"\" class=x>\xe2\x80\x93", out);
}

/* A bar, and its number at the right whatever its width. */
static void share(double pct, FILE *out)
{
	char t[TEXT_NUMBER];

	html_bar(pct, out);
	fputs("<span class=num>", out);
	fputs(html_pct(t, pct), out);
	fputs("</span>", out);
}

static void cell_share(const struct report_kernel *k, FILE *out)
{
	if (isnan(k->share_pct)) {
		number(NAN, "", out);
		return;
	}
	fprintf(out, "<td data-v=%.6g>", k->share_pct);
	share(k->share_pct, out);
}

static void cell_times(const struct report_kernel *k, FILE *out)
{
	const struct metric_times *t = &k->times;
	char text[TEXT_NUMBER];

	number(t->total.value, html_us(text, t->total.value), out);
	if (quantity_known(&t->total))
		html_mark(&t->total, out);
	if (isnan(t->median)) {
		number(NAN, "", out);
		return;
	}
	fprintf(out, "<td data-v=%.6g>%s%s", t->median,
		t->uncertainty > RENDER_UNCERTAIN_PCT / 100.0 * t->median ? "~" : "",
		html_us(text, t->median));
}

static void cell_occupancy(const struct report_kernel *k, FILE *out)
{
	const double pct = k->occupancy_known ? k->occupancy.pct : (double)NAN;
	const char *limiter;
	char t[TEXT_NUMBER];

	number(pct, html_pct(t, pct), out);
	limiter = render_limiter(k);
	fprintf(out, "<td class=l>%s", strcmp(limiter, "-") ? limiter : "\xe2\x80\x93");
	number(k->occupancy_known ? k->occupancy.waves : NAN,
	       html_ratio(t, k->occupancy_known ? k->occupancy.waves : NAN), out);
}

static void cell_cliff(const struct report_kernel *k, FILE *out)
{
	const struct smem_cliff *c = &k->cliff;
	char t[TEXT_NUMBER];

	if (!k->cliff_known || c->to_cliff_bytes < 0)
		number(NAN, "", out);
	else
		number(c->above_cliff && c->to_next_step_bytes > 0 ? -(double)c->to_next_step_bytes
								   : (double)c->to_cliff_bytes,
		       render_cliff(t, k), out);
}

static void row(const struct report_kernel *k, size_t i, bool is_linked, bool has_advice, FILE *out)
{
	const uint64_t launches = count_sum(k->launches, k->graph_node_launches);
	char t[TEXT_NUMBER], label[RENDER_LABEL];

	fputs("\n<tr", out);
	if (strcmp(render_label(label, k, HTML_NAME), k->demangled) != 0) {
		fputs(" title=\"", out);
		html_text(k->demangled, HTML_NAME_TIP, out);
		fputs("\"", out);
	}
	fprintf(out, "><td data-v=%zu>%zu<td class=l>", i + 1, i + 1);
	if (is_linked)
		fprintf(out, "<a href=#k%zu class=n>", i + 1);
	else
		fputs("<span class=n>", out);
	html_text(label, HTML_NAME, out);
	fputs(is_linked ? "</a>" : "</span>", out);
	cell_share(k, out);
	cell_times(k, out);
	number((double)launches, text_count(t, launches), out);
	cell_occupancy(k, out);
	cell_cliff(k, out);
	fputs("<td class=l>", out);
	html_class(&k->verdict, out);
	if (has_advice) {
		fputs("<td class=l>", out);
		if (k->advice.n)
			html_text(k->advice.items[0].title, HTML_NAME, out);
	}
}

static bool any_advice(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->kernels[i].advice.n)
			return true;
	return false;
}

void html_table(const struct report *r, size_t n, size_t sections, FILE *out)
{
	const bool has_advice = any_advice(r, n);

	fputs("<h2 id=kernels>Kernels by total time</h2>\n", out);
	if (!n) {
		fputs("<p>No kernel to show.\n", out);
		return;
	}
	fputs("<div><div class=\"w tall\" tabindex=0 role=region aria-labelledby=kernels><table class=s><thead><tr><th>#<th class=l>kernel<th>share<th>total<th>median<th>"
	      "launches<th title=\"" RENDER_ROOM_MEANS "\">max occ.<th "
	      "class=l title=\"what keeps more warps from an SM\">limit<th title=\"" RENDER_WAVES_MEANS
	      "\">waves<th title=\"" RENDER_CLIFF_MEANS "\">cliff<th class=l>class",
	      out);
	fputs(has_advice ? "<th class=l>try first<tbody>" : "<tbody>", out);
	for (size_t i = 0; i < n; i++)
		row(&r->kernels[i], i, i < sections, has_advice, out);
	fputs("\n</table></div></div>\n<p class=s1>", out);
	if (n > TALL)
		fprintf(out, "All %zu are in the table, which scrolls. ", n);
	if (n < r->kernels_n)
		fprintf(out, "%zu more are in the JSON report. ", r->kernels_n - n);
	if (render_any_uncertain(r, n))
		fprintf(out, "~ uncertain by more than %d%%. ", RENDER_UNCERTAIN_PCT);
	if (render_any_room(r, n))
		fputs("Max occ.: " RENDER_ROOM_MEANS ". Waves: " RENDER_WAVES_MEANS ". ", out);
	if (render_any_grid(r, n))
		fputs("Limit " RENDER_GRID ": " RENDER_GRID_MEANS ". ", out);
	if (render_any_cliff(r, n))
		fputs("Cliff: " RENDER_CLIFF_MEANS ".", out);
	fputc('\n', out);
}
