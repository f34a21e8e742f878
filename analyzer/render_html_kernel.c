/*
 * render_html_kernel.c - the section of one kernel in the HTML page: baseline, roofline, occupancy and cliff here;
 * what its instructions say and what to do about it in render_html_code.c.
 */
#include "render_html.h"

#include <math.h>
#include <string.h>

#include "finding.h"

/* ---------------------------------------------------------------- summary */

static void summary(const struct report_kernel *k, size_t number, FILE *out)
{
	char t[TEXT_NUMBER];

	fprintf(out, "<summary><span class=no>%zu</span><span class=n>", number);
	html_label(k, HTML_NAME, out);
	fputs("</span><span class=\"v sh\">", out);
	if (!isnan(k->share_pct)) {
		html_bar(k->share_pct, out);
		fputs("<span class=num>", out);
		fputs(html_pct(t, k->share_pct), out);
		fputs("</span>", out);
	}
	fputs("</span><span class=\"v md\">", out);
	if (!isnan(k->times.median))
		fputs(html_us(t, k->times.median), out);
	fputs("</span><span class=cl>", out);
	fprintf(out, "<span class=\"c %s\">%s</span></span></summary>\n", k->verdict.class,
		k->verdict.class);
}

static void identity(const struct report_kernel *k, size_t most, FILE *out)
{
	char label[RENDER_LABEL];

	if (strcmp(render_label(label, k, HTML_NAME), k->demangled) != 0) {
		fputs("<p><code>", out);
		html_text(k->demangled, most, out);
		fputs("</code>", out);
	}
	fprintf(out, "<p class=s1>id %s, device %zu, code %s", k->id, k->device,
		k->code.arch ? k->code.arch : "not known");
	if (k->code.reconstructed_by)
		fprintf(out, ", reconstructed by %s", k->code.reconstructed_by);
	if (k->code.file) {
		fputs(", from ", out);
		html_text(k->code.file, HTML_NAME_TIP, out);
	}
	if (k->code.why_missing) {
		fputs(k->code.hash ? ": " : ", not stored: ", out);
		html_text(k->code.why_missing, HTML_SENTENCE, out);
	}
	fputc('\n', out);
}

static void finding(const struct metric_finding *f, const char *tag, FILE *out)
{
	const struct finding_row *row = finding_find(f->id);

	fputs(tag, out);
	if (row) {
		fputs(" title=\"", out);
		html_text(row->advice, HTML_SENTENCE, out);
		fputc('"', out);
	}
	fputs("><b>", out);
	html_text(f->id, HTML_NAME, out);
	fputs("</b> ", out);
	html_text(f->text, HTML_NAME_WHOLE, out);
	fputc('\n', out);
}

/* --------------------------------------------------------------- sections */

static void median_row(const struct metric_times *t, FILE *out)
{
	char a[TEXT_NUMBER];

	fputs("<tr><th>median<td>", out);
	if (t->why) {
		fputs("<span class=x>not known: ", out);
		html_text(t->why, HTML_SENTENCE, out);
		fputs("</span>", out);
		return;
	}
	fprintf(out, "<b>%s</b>", html_us(a, t->median));
	if (!isnan(t->uncertainty))
		fprintf(out, " <small>\xc2\xb1 %s</small>", html_us(a, t->uncertainty));
	fprintf(out, "<tr><th>p90, min, max<td>%s", html_us(a, t->p90));
	fprintf(out, ", %s", html_us(a, t->min));
	fprintf(out, ", %s", html_us(a, t->max));
	fprintf(out, "<tr><th>timed<td>%s <small>%s</small>", text_count(a, t->timed),
		t->method ? t->method : "");
}

static void launches_row(const struct report_kernel *k, FILE *out)
{
	char a[TEXT_NUMBER];

	fprintf(out, "<tr><th>launches<td>%s", text_count(a, k->launches));
	if (k->graph_node_launches)
		fprintf(out, ", %s more by graph replay", text_count(a, k->graph_node_launches));
	if (k->captured)
		fprintf(out, ", %s captured", text_count(a, k->captured));
	if (k->failed)
		fprintf(out, ", %s failed", text_count(a, k->failed));
	fputs("<tr><th>launch<td>", out);
	if (k->overflow) {
		fputs("many geometries in one entry", out);
		return;
	}
	fprintf(out, "grid %u \xc3\x97 %u \xc3\x97 %u, block %u \xc3\x97 %u \xc3\x97 %u",
		k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2]);
	if (count_volume(k->cluster) > 1)
		fprintf(out, ", cluster %u \xc3\x97 %u \xc3\x97 %u", k->cluster[0], k->cluster[1],
			k->cluster[2]);
	if (k->dyn_smem_bytes)
		fprintf(out, ", %s B dynamic shared memory", text_count(a, k->dyn_smem_bytes));
	if (k->cooperative)
		fputs(", cooperative", out);
	if (k->pdl)
		fputs(", programmatic dependent launch", out);
}

static void baseline(const struct report *r, const struct report_kernel *k, FILE *out)
{
	const struct metric_times *t = &k->times;
	char a[TEXT_NUMBER];

	fprintf(out, "<section><h3>Baseline%s</h3><table>",
		r->simulated ? " <small>(simulated times)</small>" : "");
	launches_row(k, out);
	html_row("total", &t->total, html_us, out);
	median_row(t, out);
	if (!isnan(t->first))
		fprintf(out, "<tr><th>first launch<td>%s", html_us(a, t->first));
	fputs("</table>", out);
	if (t->warmup_only)
		fputs("<p class=s1>Only warm-up launches (the first three) were timed: not steady state.",
		      out);
	fputs("</section>\n", out);
}

static void share_row(const char *what, const struct quantity *q, FILE *out)
{
	fprintf(out, "<tr><th>%s<td>", what);
	if (quantity_known(q)) {
		if (!isnan(q->low) && !isnan(q->high) && q->low < q->high)
			html_bar_range(q->low, q->high, out);
		else
			html_bar(q->value, out);
		fputc(' ', out);
	}
	html_quantity_said(q, html_pct, out);
}

static void work_rows(const struct work *w, FILE *out)
{
	const struct quantity flops = work_flops(w), bytes = work_bytes(w);

	fprintf(out, "<tr><th>work<td>%s", work_kind_names[w->kind]);
	for (int i = 0; i < w->dims_n; i++)
		fprintf(out, "%s %s %lld", i ? "," : "", w->dims[i].name,
			(long long)w->dims[i].value);
	if (work_dtype_name(w->dtype))
		fprintf(out, ", %s", work_dtype_name(w->dtype));
	html_row("FLOPs", &flops, html_amount, out);
	html_row("DRAM bytes", &bytes, html_amount, out);
}

static void against_the_roofs(const struct report_kernel *k, FILE *out)
{
	const struct roofline *r = k->roofline;
	char precision[ROOFLINE_NAME], t[TEXT_NUMBER];

	fputs("<table>", out);
	if (k->work)
		work_rows(k->work, out);
	html_row("intensity", &r->intensity, html_intensity, out);
	if (r->precision >= 0 && !isnan(r->balance))
		fprintf(out, "<tr><th>balance<td>%s <small>%s</small>",
			html_intensity(t, r->balance),
			roofline_precision_name(precision, r->precision));
	html_row("speed", &r->effective_gflops, html_gflops, out);
	html_row("traffic", &r->effective_gbps, html_gbps, out);
	share_row("of the busiest compute unit", &r->sol_compute_pct, out);
	share_row("of the bandwidth", &r->sol_memory_pct, out);
	share_row("of the nearer roof", &r->attained_pct, out);
	fputs("</table>", out);
}

static void classification(const struct report_kernel *k, FILE *out)
{
	const struct metric_class *v = &k->verdict;

	fputs("<section><h3>Roofline Classification</h3><p>", out);
	html_class(v, out);
	if (v->larger && strcmp(v->class, "balanced") == 0) {
		fputs(", more by ", out);
		html_text(v->larger, HTML_NAME, out);
	}
	if (v->label && strcmp(v->class, "unknown") != 0)
		fprintf(out, "<sup class=%c>%c</sup>", *v->label, *v->label);
	for (int i = 0; i < v->reasons_n; i++)
		finding(&v->reasons[i], "<p", out);
	if (k->roofline)
		against_the_roofs(k, out);
	fputs("</section>\n", out);
}

static void occupancy(const struct report_kernel *k, FILE *out)
{
	const struct occupancy *o = &k->occupancy;
	struct render_limit rows[LIMIT_N];
	size_t n = k->occupancy_known ? render_limits(o, rows) : 0;
	char t[TEXT_NUMBER], room[RENDER_ROOM];

	fputs("<section><h3>Occupancy</h3>", out);
	if (!k->occupancy_known) {
		fprintf(out, "<p class=x>Not known: %s.</section>\n",
			k->overflow ? "the entry holds many geometries"
				    : "no hardware row for this device");
		return;
	}
	if (!isnan(o->pct)) {
		fputs("<p>", out);
		html_bar(o->pct, out);
		fprintf(out, " <b>%s</b><sup class=d>d</sup>", html_pct(t, o->pct));
	}
	fputs("<div class=w><table class=r><thead><tr><th>resource<th>per block<th>per SM<th>blocks per SM<tbody>",
	      out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "<tr><td>%s<td>%s<td>%s<td%s>%s%s", rows[i].resource,
			rows[i].per_block, rows[i].per_sm, rows[i].is_limiter ? " class=on" : "",
			rows[i].blocks, rows[i].is_limiter ? " \xe2\x97\x82" : "");
	fputs("</table></div><p class=s1>", out);
	if (k->resources.registers < 0)
		fputs("Registers per thread: not known", out);
	else
		fprintf(out, "%d %s per thread", k->resources.registers,
			text_plural((uint64_t)k->resources.registers, "register", "registers"));
	if (k->resources.registers_allocated > k->resources.registers)
		fprintf(out, " (%d allocated)", k->resources.registers_allocated);
	if (o->blocks_per_sm >= 0)
		fprintf(out, "; %s", render_room(room, o));
	if (!isnan(o->waves)) {
		fprintf(out, "; %s waves, ", html_ratio(t, o->waves));
		fputs(html_pct(t, o->last_wave_pct), out);
		fputs(" of the last filled", out);
	}
	if (o->why && k->resources.registers >= 0)
		fprintf(out, ". Note: %s", o->why);
	fputc('.', out);
	if (o->clusters_at_most >= 0)
		fprintf(out,
			" At most %lld clusters are resident at once; how many fit a GPC of this chip is not known.",
			(long long)o->clusters_at_most);
	fputs("</section>\n", out);
}

static void cliff(const struct report_kernel *k, FILE *out)
{
	const struct smem_cliff *c = &k->cliff;
	char a[TEXT_NUMBER];

	fputs("<section><h3>Smem Cliff</h3>", out);
	if (!k->cliff_known) {
		fputs("<p class=x>Not known: registers or shared memory of the kernel are missing.</section>\n",
		      out);
		return;
	}
	fprintf(out, "<p><b>%s B</b> per block, %d %s per SM%s.<table class=r><tr><th>room for",
		text_count(a, (uint64_t)c->smem_per_block_bytes), c->blocks_per_sm,
		text_plural((uint64_t)c->blocks_per_sm, "block", "blocks"),
		c->above_cliff ? ", <b>above the cliff</b>" : "");
	for (int i = 0; i < SMEM_CLIFF_STEPS; i++)
		fprintf(out, "<td>%d block%s", i + 1, i ? "s" : "");
	fputs("<tr><th>at most, B", out);
	for (int i = 0; i < SMEM_CLIFF_STEPS; i++)
		fprintf(out, "<td>%s", text_count(a, (uint64_t)c->max_bytes_for[i]));
	fputs("</table><p class=s1>", out);
	if (k->published_cliff_bytes >= 0)
		fprintf(out, "Published cliff: %d B, without the reserve. ",
			k->published_cliff_bytes);
	if (c->to_next_step_bytes > 0)
		fprintf(out, "%s B less allow one block more per SM. ",
			text_count(a, (uint64_t)c->to_next_step_bytes));
	if (c->to_cliff_bytes >= 0)
		fprintf(out, "%s B more fit before %s. ",
			text_count(a, (uint64_t)c->to_cliff_bytes),
			c->blocks_per_sm > 1 ? "an SM holds one block fewer"
					     : "the kernel cannot be launched");
	if (c->smem_per_block_bytes > 0) {
		fputs("Twice the bytes (double buffering): ", out);
		if (c->double_buffer_blocks_per_sm > 0)
			fprintf(out, "%d %s per SM.", c->double_buffer_blocks_per_sm,
				text_plural((uint64_t)c->double_buffer_blocks_per_sm, "block",
					    "blocks"));
		else
			fputs("cannot be launched.", out);
	}
	fputs("</section>\n", out);
}

void html_kernel(const struct report *r, size_t index, FILE *out)
{
	const struct report_kernel *k = &r->kernels[index];

	fprintf(out, "<details class=k%s>", r->kernels_n == 1 ? " open" : "");
	summary(k, index + 1, out);
	fprintf(out, "<div class=body id=k%zu>", index + 1);
	identity(k, index < HTML_WHOLE ? HTML_NAME_WHOLE : HTML_NAME_BRIEF, out);
	if (index >= HTML_WHOLE) {
		html_brief(k, out);
		fputs("</div></details>\n", out);
		return;
	}
	html_advice_short(k, index + 1, out);
	for (int i = 0; i < k->traps_n; i++)
		finding(&k->traps[i], "<p class=trap", out);
	fputs("<div class=cols>\n", out);
	baseline(r, k, out);
	classification(k, out);
	occupancy(k, out);
	cliff(k, out);
	fputs("</div>\n", out);
	html_loops(k, out);
	fputs("<div class=cols>\n", out);
	html_code(r, k, out);
	fputs("</div>\n", out);
	html_sites(k, out);
	html_advice(k, index + 1, out);
	html_listing(r, index, out);
	fputs("</div></details>\n", out);
}
