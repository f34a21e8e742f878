/*
 * render_html_brief.c - the section of a kernel with little time in the HTML page: a line for each part of the whole
 * section, so that a report of many kernels stays small.
 */
#include "render_html.h"

#include <math.h>
#include <string.h>

#define OPERATIONS 4
#define REASONS    3
#define NOT_NOW    2

static void line(const char *name, FILE *out)
{
	fprintf(out, "<dt>%s<dd>", name);
}

/* Its mark stands without the reason, which the JSON has. */
static void quantity(struct quantity q, html_show *show, FILE *out)
{
	if (quantity_known(&q))
		q.why = NULL;
	html_quantity(&q, show, out);
}

static void unknown(const char *why, FILE *out)
{
	fputs("<span class=x>not known", out);
	if (why) {
		fputs(": ", out);
		html_text(why, HTML_NAME_TIP, out);
	}
	fputs("</span>\n", out);
}

static void baseline(const struct report_kernel *k, FILE *out)
{
	char t[TEXT_NUMBER];

	line("Baseline", out);
	fprintf(out, "%s %s", text_count(t, k->launches),
		text_plural(k->launches, "launch", "launches"));
	if (k->graph_node_launches)
		fprintf(out, ", %s by graph replay", text_count(t, k->graph_node_launches));
	if (!k->overflow)
		fprintf(out, ", grid %u \xc3\x97 %u \xc3\x97 %u, block %u \xc3\x97 %u \xc3\x97 %u",
			k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2]);
	if (k->dyn_smem_bytes)
		fprintf(out, ", %s B dynamic shared memory", text_count(t, k->dyn_smem_bytes));
	fputs("; total ", out);
	quantity(k->times.total, html_us, out);
	if (k->times.why) {
		fputs(", median ", out);
		unknown(k->times.why, out);
		return;
	}
	fprintf(out, ", median <b>%s</b>", html_us(t, k->times.median));
	if (!isnan(k->times.uncertainty))
		fprintf(out, " \xc2\xb1 %s", html_us(t, k->times.uncertainty));
	fputc('\n', out);
}

static void roofline(const struct report_kernel *k, FILE *out)
{
	line("Roofline", out);
	html_class(&k->verdict, out);
	for (int i = 0; i < k->verdict.reasons_n; i++) {
		fputs(i ? "; " : " ", out);
		html_text(k->verdict.reasons[i].text, HTML_SENTENCE, out);
		fprintf(out, " <small>%s</small>", k->verdict.reasons[i].id);
	}
	if (k->roofline && quantity_known(&k->roofline->intensity)) {
		fputs("; ", out);
		quantity(k->roofline->intensity, html_intensity, out);
	}
	if (k->roofline && quantity_known(&k->roofline->attained_pct)) {
		fputs(", ", out);
		quantity(k->roofline->attained_pct, html_pct, out);
		fputs(" of the nearer roof", out);
	}
	fputc('\n', out);
}

static void occupancy(const struct report_kernel *k, FILE *out)
{
	char t[TEXT_NUMBER], room[RENDER_ROOM];

	line("Occupancy", out);
	if (!k->occupancy_known) {
		unknown(k->overflow ? "many geometries" : "no hardware row", out);
		return;
	}
	fprintf(out, "limit: %s, %d registers per thread; %s", render_limiter(k),
		k->resources.registers, render_room(room, &k->occupancy));
	if (!isnan(k->occupancy.waves))
		fprintf(out, "; %s waves", html_ratio(t, k->occupancy.waves));
	fputc('\n', out);
}

static void main_loop(const struct metric_sass *s, FILE *out)
{
	const struct metric_loop *l = NULL;
	char t[TEXT_NUMBER];

	for (size_t i = 0; i < s->loops_n; i++)
		if (s->loops[i].is_main)
			l = &s->loops[i];
	line("Compute/Load Ratio", out);
	if (!l) {
		fputs(s->loops_n ? "no loop computes\n" : "no loops\n", out);
		return;
	}
	fprintf(out, "main loop 0x%llx: %s %s", (unsigned long long)l->start,
		text_count(t, l->compute_ops), l->compute_op ? l->compute_op : "");
	fprintf(out, " to %s %s", text_count(t, l->load_ops),
		text_plural(l->load_ops, "load", "loads"));
	if (!isnan(l->ratio))
		fprintf(out, ", ratio %s", html_ratio(t, l->ratio));
	if (l->class)
		fprintf(out, ", <b>%s</b>", l->class);
	if (l->async_copy)
		fprintf(out, ": async copy %s", l->async_copy);
	fputc('\n', out);
}

static void instructions(const struct report_kernel *k, FILE *out)
{
	const struct metric_sass *s = k->sass;
	char t[TEXT_NUMBER];

	if (!s) {
		line("SASS", out);
		unknown(k->no_sass, out);
		return;
	}
	main_loop(s, out);
	line("SASS", out);
	fprintf(out, "%s instructions: ", text_count(t, s->instructions));
	for (size_t i = 0; i < s->ops_n && i < OPERATIONS; i++)
		fprintf(out, "%s%s %s", i ? ", " : "", s->ops[i].op, text_count(t, s->ops[i].n));
	if (s->undecoded)
		fprintf(out, "; <b>%u not decoded</b>", s->undecoded);
	fputc('\n', out);
}

static void accesses(const struct metric_access *a, FILE *out)
{
	const struct metric_site *s = a->sites;

	line("Memory Access", out);
	quantity(a->sectors_per_request_load, html_real, out);
	fputs(" sectors per load, ", out);
	quantity(a->sectors_per_request_store, html_real, out);
	fputs(" per store", out);
	if (a->sites_n && quantity_known(&s->excess) && s->excess.value > 0) {
		fprintf(out, "; most excess at 0x%llx, ", (unsigned long long)s->offset);
		html_text(s->op, HTML_NAME, out);
		if (s->pattern) {
			fputs(": ", out);
			html_text(s->pattern, HTML_NAME_TIP, out);
		}
	}
	fputc('\n', out);
}

static void waits(const struct metric_stalls *s, FILE *out)
{
	struct html_reason reasons[HTML_REASONS];
	const size_t n = html_reasons(s, reasons);

	if (!n)
		return;
	line("Why warps wait", out);
	for (size_t i = 0; i < n && i < REASONS; i++) {
		fputs(i ? ", " : "", out);
		html_words(reasons[i].name, out);
		fputc(' ', out);
		quantity(*reasons[i].q, html_pct, out);
	}
	fputc('\n', out);
}

static void cliff(const struct report_kernel *k, FILE *out)
{
	char t[TEXT_NUMBER];

	if (!k->cliff_known)
		return;
	line("Smem Cliff", out);
	fprintf(out, "%s B per block, %d %s per SM%s; to the next cliff ",
		text_count(t, (uint64_t)k->cliff.smem_per_block_bytes), k->cliff.blocks_per_sm,
		text_plural((uint64_t)k->cliff.blocks_per_sm, "block", "blocks"),
		k->cliff.above_cliff ? ", <b>above the cliff</b>" : "");
	fprintf(out, "%s\n", render_cliff(t, k));
}

static void advice(const struct metric_advices *a, FILE *out)
{
	if (a->n) {
		line("Try first", out);
		html_text(a->items[0].title, HTML_NAME_TIP, out);
		fputs(", ", out);
		html_gain(a->items[0].gain_low_pct, a->items[0].gain_high_pct, HTML_OF_KERNEL, out);
		if (a->items[0].change) {
			fputs(": ", out);
			html_text(a->items[0].change, HTML_SENTENCE, out);
		}
		fprintf(out, " <small>%s</small>\n", a->items[0].id);
	}
	for (size_t i = 1; i < a->n; i++) {
		if (i == 1)
			line("Then", out);
		fputs(i > 1 ? "; " : "", out);
		html_text(a->items[i].title, HTML_NAME_TIP, out);
		fprintf(out, " <small>%s</small>", a->items[i].id);
	}
	for (size_t i = 0; i < a->not_now_n && i < NOT_NOW; i++) {
		line(i ? "" : "Not now", out);
		html_text(a->not_now[i].title, HTML_NAME_TIP, out);
		fputs(": ", out);
		html_text(a->not_now[i].why, HTML_SENTENCE, out);
	}
}

void html_brief(const struct report_kernel *k, FILE *out)
{
	fputs("<dl class=t>\n", out);
	for (int i = 0; i < k->traps_n; i++) {
		line(i ? "" : "Traps", out);
		html_text(k->traps[i].text, HTML_SENTENCE, out);
		fprintf(out, " <small>%s</small>\n", k->traps[i].id);
	}
	baseline(k, out);
	roofline(k, out);
	occupancy(k, out);
	instructions(k, out);
	if (k->access)
		accesses(k->access, out);
	if (k->stalls)
		waits(k->stalls, out);
	cliff(k, out);
	advice(&k->advice, out);
	fputs("</dl>\n", out);
}
