/*
 * render_html_run.c - the top of the HTML page: what ran where, how much of it was kernels, whether the accounting
 * adds up, what to do first, and the notes. What this version does not find out is said, never left empty.
 */
#include "render_html.h"

#include <math.h>
#include <string.h>

#include "finding.h"

#define COMMAND    110 /* characters of a command in the title */
#define PROCESSES  8   /* that are listed at once, and notes: the rest unfolds */
#define ADVICE     3   /* that are shown at once */
#define ADVICE_ALL 15
#define EVIDENCE   400

static void command(const struct report_run *p, size_t most, FILE *out)
{
	size_t used = 0;

	fputs("<code>", out);
	if (!p->command_n)
		fputs("(command not known)", out);
	for (size_t i = 0; i < p->command_n && used < most; i++) {
		if (i)
			fputc(' ', out);
		html_text(p->command[i], most - used, out);
		used += text_columns(p->command[i]) + 1;
	}
	fputs("</code>", out);
}

static void device(const struct report_device *d, FILE *out)
{
	char t[TEXT_NUMBER];

	if (d->hw.arch.sm <= 0) {
		fputs("device not known", out);
		return;
	}
	html_text(d->name, HTML_NAME, out);
	fprintf(out, ", sm_%d", d->hw.arch.sm);
	if (d->mig) {
		fputs(", MIG ", out);
		html_text(d->mig, HTML_NAME, out);
	}
	if (d->hw.sm_count > 0)
		fprintf(out, ", %d SMs", d->hw.sm_count);
	if (!isnan(d->hw.dram_gbps))
		fprintf(out, ", %s GB/s", html_real(t, d->hw.dram_gbps));
	if (!isnan(d->hw.peaks[PEAK_FP32]))
		fprintf(out, ", %s TFLOPS FP32", html_real(t, d->hw.peaks[PEAK_FP32]));
}

/* 2026-11-30T09:00:00.000Z as people write it. */
static void started(const struct report *r, FILE *out)
{
	const char *t = r->runs_n ? r->runs[0].started : "";

	if (strlen(t) < 19)
		return;
	fputs("; ", out);
	html_bytes(t, 10, out);
	fputc(' ', out);
	html_bytes(t + 11, 8, out);
	fputs(" UTC", out);
}

static void title(const struct report *r, FILE *out)
{
	fprintf(out, "<header><p class=kick><b>kbn</b> %s, why the kernels of a program are slow",
		r->is_given ? "analysis" : "report");
	fputs("<h1>", out);
	if (r->runs_n)
		command(&r->runs[0], COMMAND, out);
	else
		fputs("No process", out);
	fputs("</h1><p class=s1>", out);
	if (r->runs_n > 1)
		fprintf(out, "%zu processes; ", r->runs_n);
	for (size_t i = 0; i < r->devices_n && i < 2; i++) {
		if (i)
			fputs("; ", out);
		device(&r->devices[i], out);
	}
	if (r->devices_n > 2)
		fprintf(out, "; %zu devices more", r->devices_n - 2);
	if (r->runs_n && *r->runs[0].driver) {
		fputs("; driver ", out);
		html_text(r->runs[0].driver, HTML_NAME, out);
	}
	started(r, out);
	fputs("</header>\n", out);
	if (r->simulated)
		fputs("<p class=loud role=alert><b>Times are simulated.</b> This was recorded on a stand-in driver "
		      "that runs no kernel: every duration below is made up, and so is what follows from it.\n",
		      out);
	if (r->reality_unknown)
		fputs("<p class=loud role=alert><b>Whether these times are real is not known</b>, for the device is "
		      "not.\n",
		      out);
	if (r->is_given)
		fputs("<p class=loud><b>Nothing ran.</b> Geometry, device and times are those of the command line; "
		      "the rest follows from the code.\n",
		      out);
	if (r->running)
		fputs("<p class=loud><b>The program is still running</b>: this is what was recorded so far.\n",
		      out);
}

/* What the letters behind figures mean. */
static void key(FILE *out)
{
	fputs("<p class=key><span><sup class=m>m</sup> measured on the device</span> "
	      "<span><sup class=d>d</sup> derived from code and launch, nothing assumed</span> "
	      "<span><sup class=e>e</sup> estimated by a model, with its bounds</span> "
	      "<span><sup class=r>r</sup> reconstructed after the run</span> "
	      "<span>\xe2\x80\x93 not known</span>\n",
	      out);
}

/* ---------------------------------------------------------------- figures */

static void bounds(const struct quantity *q, html_show *show, FILE *out)
{
	char low[TEXT_NUMBER], high[TEXT_NUMBER];

	if (isnan(q->low) || isnan(q->high) || q->low >= q->high)
		return;
	show(low, q->low);
	show(high, q->high);
	if (strcmp(low, high) != 0)
		fprintf(out, "%s to %s%s", low, high, q->why ? "; " : "");
}

static void figure(const char *name, const struct quantity *q, html_show *show, FILE *out)
{
	char t[TEXT_NUMBER];

	if (!quantity_known(q))
		return;
	fprintf(out, "<div><dt>%s<dd><b>%s", name, show(t, q->value));
	html_mark(q, out);
	fputs("</b><small>", out);
	bounds(q, show, out);
	if (q->why)
		html_text(q->why, HTML_SENTENCE, out);
	fputs("</small></div>\n", out);
}

static void counts(const struct report *r, FILE *out)
{
	const struct report_accounting *a = &r->accounting;
	char t[TEXT_NUMBER], u[TEXT_NUMBER];

	if (!r->is_given) {
		fprintf(out, "<div><dt>Launches<dd><b>%s</b><small>%s timed",
			text_count(t, a->launches_seen), text_count(u, a->timed));
		if (a->graph_node_launches)
			fprintf(out, "; %s more by graph replay",
				text_count(t, a->graph_node_launches));
		fputs("</small></div>\n", out);
	}
	fprintf(out, "<div><dt>Kernel shapes<dd><b>%zu</b><small>%s</small></div>\n", r->kernels_n,
		r->kernels_n < r->kernels_all ? "those that were asked for"
					      : "one kernel with one geometry each");
}

/* Those that are known as large figures, the others in a line below. */
static void figures(const struct report *r, FILE *out)
{
	const struct report_totals *t = &r->totals;
	const struct {
		const char *name;
		const struct quantity *q;
		html_show *show;
	} all[] = {
		{"Kernel time", &t->kernel_time_us, html_us},
		{"GPU busy", &t->busy_pct, html_pct},
		{"Gaps between kernels", &t->gap_us, html_us},
		{"Copies", &t->copy_time_us, html_us},
		{"Copies beside kernels", &t->copy_overlap_pct, html_pct},
	};
	const size_t n = r->is_given                        ? 1
			 : quantity_known(&t->copy_time_us) ? 5
							    : 4; /* no overlap either */
	size_t unknown = 0;

	fputs("<dl class=f>\n", out);
	for (size_t i = 0; i < n; i++)
		figure(all[i].name, all[i].q, all[i].show, out);
	counts(r, out);
	fputs("</dl>\n", out);
	for (size_t i = 0; i < n; i++) {
		if (quantity_known(all[i].q))
			continue;
		fputs(unknown++ ? "; " : "<p class=s1>Not known: ", out);
		fprintf(out, "<b>%s</b>", all[i].name);
		if (all[i].q->why) {
			fputs(", ", out);
			html_text(all[i].q->why, HTML_SENTENCE, out);
		}
	}
	if (unknown)
		fputs(".\n", out);
}

/* ------------------------------------------------------------- accounting */

static void bar_of_bins(const struct render_bin bins[RENDER_BINS], uint64_t seen, FILE *out)
{
	fputs("<div class=stack role=img aria-label=\"launches by what became of them\">", out);
	for (size_t i = 0; seen && i < RENDER_BINS; i++)
		if (bins[i].n)
			fprintf(out, "<i class=k%zu style=\"width:%.2f%%\"></i>", i,
				100.0 * (double)bins[i].n / (double)seen);
	fputs("</div>\n", out);
}

static void accounting(const struct report_accounting *a, FILE *out)
{
	struct render_bin bins[RENDER_BINS];
	char t[TEXT_NUMBER], u[TEXT_NUMBER];

	fputs("<h3>Every launch, once</h3>\n", out);
	render_bins(a, bins);
	bar_of_bins(bins, a->launches_seen, out);
	fputs("<div class=w><table class=r><tbody>\n", out);
	for (size_t i = 0; i < RENDER_BINS; i++)
		if (bins[i].n || i == 0)
			fprintf(out,
				"<tr><td><i class=\"sw k%zu\"></i>%s<td>%s<td class=l><small>%s</small>\n",
				i, bins[i].name, text_count(t, bins[i].n), bins[i].means);
	fprintf(out,
		"<tr class=sum><td>seen<td>%s<td class=l><small>the sum of the above</small>\n",
		text_count(t, a->launches_seen));
	fputs("</table></div>\n", out);
	if (a->overflow)
		fprintf(out,
			"<p class=s1>%s of these are of geometries beyond the cap on shapes.\n",
			text_count(t, a->overflow));
	if (a->graph_launches)
		fprintf(out,
			"<p class=s1>%s graph launches replayed %s kernels, which are not part of the sum.\n",
			text_count(t, a->graph_launches), text_count(u, a->graph_node_launches));
	if (a->copies_known)
		fprintf(out, "<p class=s1>%s copies and %s memory sets.\n",
			text_count(t, a->copies), text_count(u, a->sets));
}

/* -------------------------------------------------------------- processes */

static void process(const struct report_run *p, bool is_given, FILE *out)
{
	char t[TEXT_NUMBER];

	fputs("<li>", out);
	if (p->rank >= 0)
		fprintf(out, "rank %d: ", p->rank);
	command(p, HTML_NAME_WHOLE, out);
	if (!is_given) {
		fputs(" on ", out);
		html_text(*p->host ? p->host : "unknown host", HTML_NAME, out);
		fprintf(out, ", pid %u, %s", p->pid, html_us(t, 1e6 * p->duration_s));
	}
	fputs(", ", out);
	html_text(p->end_text, HTML_NAME, out);
	if (p->foreign) {
		fputs(", <b>another profiler was present: ", out);
		html_text(p->foreign, HTML_NAME, out);
		fputs("</b>", out);
	}
	fputc('\n', out);
}

/* With the signs that a page has and a terminal may not have. */
static void timing(const struct report_timing *t, FILE *out)
{
	char text[RENDER_TIMING];

	render_timing(text, t);
	for (const char *s = text; *s;) {
		const bool is_micro = strncmp(s, " us", 3) == 0;

		if (is_micro || strncmp(s, "+-", 2) == 0) {
			fputs(is_micro ? " \xc2\xb5s" : "\xc2\xb1", out);
			s += is_micro ? 3 : 2;
			continue;
		}
		html_text((const char[]){*s++, '\0'}, 1, out);
	}
}

static void processes(const struct report *r, FILE *out)
{
	char t[TEXT_NUMBER];

	fputs("<h3>Processes</h3><ul>\n", out);
	for (size_t i = 0; i < r->runs_n; i++) {
		if (i == PROCESSES)
			fprintf(out, "</ul><details><summary>%zu processes more</summary><ul>\n",
				r->runs_n - PROCESSES);
		process(&r->runs[i], r->is_given, out);
	}
	fputs(r->runs_n > PROCESSES ? "</ul></details>\n" : "</ul>\n", out);
	if (r->is_given)
		return;
	fputs("<p class=s1>Timing: ", out);
	timing(&r->timing, out);
	if (!isnan(r->timing.self_overhead_pct))
		fprintf(out, "; it cost %s of the time of the launching threads",
			html_pct(t, r->timing.self_overhead_pct));
	fputs(".\n", out);
}

static void devices(const struct report *r, FILE *out)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER];

	if (!r->devices_n)
		return;
	fputs("<h3>Devices</h3><div class=w><table class=r><thead><tr><th>device<th>SMs<th>clock MHz<th>DRAM GB/s"
	      "<th>L2<th>shared per SM<th>FP32 TFLOPS<th class=l>peaks from<tbody>\n",
	      out);
	for (size_t i = 0; i < r->devices_n; i++) {
		const struct report_device *v = &r->devices[i];

		fprintf(out, "<tr><td>%zu: ", i);
		html_text(v->name, HTML_NAME, out);
		if (v->hw.arch.sm > 0)
			fprintf(out, " <small>sm_%d</small>", v->hw.arch.sm);
		fprintf(out, "<td>%s<td>%s", text_int(a, v->hw.sm_count),
			text_int(b, v->hw.clock_mhz));
		fprintf(out, "<td>%s<td>%s<td>%s<td>%s<td class=l>", html_real(a, v->hw.dram_gbps),
			text_bytes(b, v->hw.l2_bytes), text_bytes(c, v->hw.smem_per_sm_bytes),
			html_real(d, v->hw.peaks[PEAK_FP32]));
		html_text(v->hw.peaks_source ? v->hw.peaks_source : "not known", HTML_NAME, out);
		if (v->calibrated) {
			fputs(", calibrated ", out);
			html_text(v->calibrated, HTML_NAME, out);
		}
		fputc('\n', out);
	}
	fputs("</table></div><p class=s1>Peaks are dense.\n", out);
}

/* ------------------------------------------------------- what to do first */

static bool any_advice(const struct report *r)
{
	for (size_t i = 0; i < r->kernels_n; i++)
		if (r->kernels[i].advice.n)
			return true;
	return r->advice_n > 0;
}

static bool any_work_unknown(const struct report *r)
{
	for (size_t i = 0; i < r->kernels_n; i++)
		if (strcmp(r->kernels[i].verdict.class, "unknown") == 0)
			return true;
	return false;
}

static void first_item(const struct report *r, const struct report_advice *a, size_t sections,
		       FILE *out)
{
	const struct metric_advice *m = a->advice;
	char t[TEXT_NUMBER];

	fputs("<li><h3>", out);
	html_text(m->title, HTML_SENTENCE, out);
	fputs("</h3>", out);
	html_gain(a->gain_low_pct, a->gain_high_pct, "of all kernel time", out);
	fputs("<div class=s1>", out);
	html_text(m->id, HTML_NAME, out);
	if (a->kernel) {
		const size_t i = (size_t)(a->kernel - r->kernels);

		fputs(", kernel ", out);
		if (i < sections)
			fprintf(out, "<a href=#k%zu>", i + 1);
		fputs("<span class=n>", out);
		html_label(a->kernel, HTML_NAME, out);
		fputs(i < sections ? "</span></a>" : "</span>", out);
		if (!isnan(a->kernel->share_pct))
			fprintf(out, ": %s of all kernel time", html_pct(t, a->kernel->share_pct));
		if (!isnan(a->kernel->times.median))
			fprintf(out, ", %s a launch", html_us(t, a->kernel->times.median));
	}
	fputs("</div>", out);
	for (int i = 0; i < m->evidence_n; i++) {
		fputs(i ? "; " : "<p>", out);
		html_text(m->evidence[i], EVIDENCE, out);
	}
	if (m->change) {
		fputs("<p><b>Try:</b> ", out);
		html_text(m->change, EVIDENCE, out);
	}
	if (m->expect) {
		fputs("<br><b>Expect:</b> ", out);
		html_text(m->expect, EVIDENCE, out);
	}
	fputc('\n', out);
}

static void first(const struct report *r, size_t sections, FILE *out)
{
	fputs("<h2 id=first>What to do first</h2>\n", out);
	if (r->advice_n) {
		const size_t n = r->advice_n < ADVICE_ALL ? r->advice_n : ADVICE_ALL;

		fputs("<ol class=do>\n", out);
		for (size_t i = 0; i < n; i++) {
			if (i == ADVICE)
				fprintf(out,
					"</ol><details><summary>%zu more</summary><ol class=do style=--s:%d>\n",
					n - i, ADVICE);
			first_item(r, &r->advice[i], sections, out);
		}
		fputs(n > ADVICE ? "</ol></details>\n" : "</ol>\n", out);
		return;
	}
	fputs(any_advice(r)
		      ? "<p>Nothing stands out over the whole run; the sections below have what is proposed for "
			"single kernels.\n"
		      : "<p>Nothing is proposed: no kernel has readings that call for an experiment.\n",
	      out);
	if (any_work_unknown(r))
		fputs("<p class=s1>The work of some kernels is not known, and so neither is what bounds them. State it "
		      "where you know it (<code>--work FILE</code>, or <code>--gemm</code>, <code>--flops</code> and "
		      "<code>--bytes</code> of <code>kbn analyze</code>), and the roofline follows.\n",
		      out);
}

/* ------------------------------------------------------------------ notes */

static void notes(const struct report *r, FILE *out)
{
	if (!r->notes_n)
		return;
	fputs("<h2 id=notes>Notes</h2>\n<dl class=t>\n", out);
	for (size_t i = 0; i < r->notes_n; i++) {
		const struct finding_row *row = finding_find(r->notes[i].id);

		fputs("<dt", out);
		if (row) {
			fputs(" title=\"", out);
			html_text(row->why, 600, out);
			fputs("\"", out);
		}
		fputs(">", out);
		html_text(r->notes[i].id, HTML_NAME, out);
		fputs("<dd>", out);
		html_text(r->notes[i].text, HTML_NAME_WHOLE, out);
		fputc('\n', out);
	}
	fputs("</dl><p class=s1><code>kbn help ", out);
	html_text(r->notes[0].id, HTML_NAME, out);
	fputs("</code> says why, and what to do; so for every id here.\n", out);
}

/* The parts of the page. */
static void contents(const struct report *r, FILE *out)
{
	fputs("<nav aria-label=Contents><a href=#first>What to do first</a><a href=#roofline>Roofline</a><a "
	      "href=#kernels>Kernels</a><a href=#run>The run</a>",
	      out);
	if (r->notes_n)
		fprintf(out, "<a href=#notes>Notes (%zu)</a>", r->notes_n);
	if (r->kernels_n)
		fputs("<a href=#each>Kernel by kernel</a>", out);
	fputs("</nav>\n", out);
}

void html_top(const struct report *r, size_t sections, FILE *out)
{
	title(r, out);
	figures(r, out);
	key(out);
	contents(r, out);
	first(r, sections, out);
}

void html_run(const struct report *r, FILE *out)
{
	fputs("<h2 id=run>The run</h2>\n", out);
	devices(r, out);
	fputs("<div class=cols>\n", out);
	if (!r->is_given) {
		fputs("<section>", out);
		accounting(&r->accounting, out);
		fputs("</section>\n", out);
	}
	fputs("<section>", out);
	processes(r, out);
	fputs("</section>\n</div>\n", out);
	notes(r, out);
}
