/*
 * render_html_code.c - what the instructions of a kernel say, in its section of the HTML page: loops, mix, memory
 * accesses, stalls, and the code of its loops with control codes.
 */
#include "render_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a kernel; more are in the JSON. */
#define LOOPS      8
#define OPERATIONS 10
#define SITES      8

/* ------------------------------------------------------------------ loops */

static void number_cell(const char *text, FILE *out)
{
	fputs("<td>", out);
	fputs(text, out);
}

static void real_cell(double v, FILE *out)
{
	char t[TEXT_NUMBER];

	if (isnan(v))
		fputs("<td class=x>\xe2\x80\x93", out);
	else
		number_cell(html_ratio(t, v), out);
}

static bool is_of_interest(const struct metric_loop *l)
{
	return l->compute_ops || l->load_ops;
}

/* Cycles of one turn: of the longest chain that closes around the loop, of issuing it. */
static void chain_cell(const struct metric_loop *l, FILE *out)
{
	char t[TEXT_NUMBER];

	if (isnan(l->recurrence_cycles) || isnan(l->issue_cycles)) {
		fputs("<td class=x>\xe2\x80\x93", out);
		return;
	}
	fprintf(out, "<td>%s", html_real(t, l->recurrence_cycles));
	fprintf(out, " / %s<sup class=e>e</sup>", html_real(t, l->issue_cycles));
}

static bool any_chain(const struct metric_sass *s)
{
	for (size_t i = 0; i < s->loops_n; i++)
		if (is_of_interest(&s->loops[i]) && !isnan(s->loops[i].recurrence_cycles) &&
		    !isnan(s->loops[i].issue_cycles))
			return true;
	return false;
}

static void loop_row(const struct metric_loop *l, bool has_chains, FILE *out)
{
	char t[TEXT_NUMBER];

	fprintf(out, "<tr><td%s>0x%llx\xe2\x80\x93%llx", l->is_main ? " class=on" : "",
		(unsigned long long)l->start, (unsigned long long)l->end);
	fprintf(out, "<td>%s", l->trips ? text_count(t, l->trips) : "\xe2\x80\x93");
	fprintf(out, "<td>%s %s", text_count(t, l->compute_ops),
		l->compute_op ? l->compute_op : "");
	fprintf(out, "<td>%s", text_count(t, l->load_ops));
	if (l->async_copies)
		fprintf(out, " <small>%s async</small>", text_count(t, l->async_copies));
	if (l->load_bytes_per_warp < 0)
		fputs("<td class=x>\xe2\x80\x93", out);
	else
		fprintf(out, "<td>%s", text_int(t, l->load_bytes_per_warp));
	fprintf(out, "<td>%s", text_count(t, l->barriers));
	real_cell(l->ratio, out);
	real_cell(l->ratio_raw, out);
	if (has_chains)
		chain_cell(l, out);
	fputs("<td class=l>", out);
	if (l->class)
		fprintf(out, "<b>%s</b>%s", l->class, l->async_copy ? ": " : "");
	if (l->async_copy)
		fprintf(out, "async copy %s", l->async_copy);
	if (!l->class && !l->async_copy && l->why) {
		fputs("<small>", out);
		html_text(l->why, HTML_SENTENCE, out);
		fputs("</small>", out);
	}
	fputc('\n', out);
}

void html_loops(const struct report_kernel *k, FILE *out)
{
	const struct metric_sass *s = k->sass;
	const bool has_chains = s && any_chain(s);
	size_t listed = 0;

	fputs("<section class=wide><h3>Compute/Load Ratio</h3>", out);
	if (!s) {
		fputs("<p class=x>Not known: ", out);
		html_text(k->no_sass, HTML_SENTENCE, out);
		fputs(".</section>\n", out);
		return;
	}
	for (size_t i = 0; i < s->loops_n; i++) {
		if (!is_of_interest(&s->loops[i]))
			continue;
		if (!listed++)
			fprintf(out,
				"<div class=w><table class=r><thead><tr><th>loop<th>trips<th>computes<th>loads<th>B "
				"per warp<th>barriers<th>ratio<th>raw%s<th class=l><tbody>\n",
				has_chains
					? "<th title=\"cycles of one turn: of the longest chain of dependent "
					  "instructions around the loop, of issuing it\">chain / issue"
					: "");
		if (listed <= LOOPS)
			loop_row(&s->loops[i], has_chains, out);
	}
	if (listed)
		fputs("</table></div>", out);
	else
		fprintf(out, "<p>%s.",
			s->loops_n ? "No loop computes or loads from global memory" : "No loops");
	if (listed > LOOPS)
		fprintf(out, "<p class=s1>%zu more are in the JSON report.", listed - LOOPS);
	fputs("</section>\n", out);
}

/* -------------------------------------------------------------------- mix */

static bool any_reducible(const struct metric_sass *s)
{
	for (size_t i = 0; i < s->ops_n; i++)
		if (s->ops[i].reducible >= 0)
			return true;
	return false;
}

static bool any_note(const struct metric_sass *s)
{
	for (size_t i = 0; i < s->ops_n && i < OPERATIONS; i++)
		if (s->ops[i].note)
			return true;
	return false;
}

static void mix(const struct metric_sass *s, FILE *out)
{
	const double longest = s->ops_n ? s->ops[0].n : 1;
	const bool has_reducible = any_reducible(s), has_notes = any_note(s);
	char n[TEXT_NUMBER];

	fprintf(out, "<section><h3>SASS Instruction Mix</h3><p>%s instructions",
		text_count(n, s->instructions));
	if (s->undecoded)
		fprintf(out, ", <b>%u not decoded</b>", s->undecoded);
	fprintf(out,
		".<div class=w><table class=r><thead><tr><th>operation<th class=l><th>count<th>stall, least<th>"
		"median%s%s<tbody>\n",
		has_reducible ? "<th>reducible" : "", has_notes ? "<th class=l>" : "");
	for (size_t i = 0; i < s->ops_n && i < OPERATIONS; i++) {
		const struct metric_op *o = &s->ops[i];

		fprintf(out, "<tr><td>%s<td class=l>", o->op);
		html_bar(100 * o->n / longest, out);
		fprintf(out, "<td>%s<td>%d<td>%d", text_count(n, o->n), o->stall_min,
			o->stall_median);
		if (has_reducible)
			fprintf(out, "<td>%s",
				o->reducible < 0 ? "\xe2\x80\x93" : text_int(n, o->reducible));
		if (has_notes) {
			fputs("<td class=l><small>", out);
			html_text(o->note ? o->note : "", HTML_SENTENCE, out);
			fputs("</small>", out);
		}
		fputc('\n', out);
	}
	fputs("</table></div>", out);
	if (s->ops_n > OPERATIONS)
		fprintf(out, "<p class=s1>%zu more %s in the JSON report.", s->ops_n - OPERATIONS,
			text_plural(s->ops_n - OPERATIONS, "operation is", "operations are"));
	fputs("</section>\n", out);
}

/* --------------------------------------------------------------- accesses */

static void site_row(const struct metric_site *s, FILE *out)
{
	fprintf(out, "<tr><td>0x%llx<td class=l>", (unsigned long long)s->offset);
	html_text(s->op, HTML_NAME, out);
	fputs(" <small>", out);
	html_text(s->kind, HTML_NAME, out);
	fputs("</small><td>", out);
	html_quantity(&s->requests, html_amount, out);
	fputs("<td>", out);
	html_quantity(&s->sectors_per_request, html_real, out);
	fputs("<td>", out);
	html_quantity(&s->excess, html_real, out);
	fputs("<td class=l>", out);
	if (s->pattern)
		html_text(s->pattern, HTML_SENTENCE, out);
	if (s->sharers) {
		fputs("; ", out);
		html_text(s->sharers, HTML_SENTENCE, out);
		if (s->own_excess.value > 0) {
			fputs(" use all of the excess but ", out);
			html_quantity(&s->own_excess, html_real, out);
		} else {
			fputs(" use the excess", out);
		}
	}
	if (s->line) {
		fputs(s->pattern ? " <small>" : "<small>", out);
		html_text(s->line, HTML_SENTENCE, out);
		fputs("</small>", out);
	}
	fputc('\n', out);
}

static void access_sites(const struct metric_access *a, FILE *out)
{
	fputs("<section><h3>Memory Access</h3><table>", out);
	html_row("sectors per load", &a->sectors_per_request_load, html_real, out);
	html_row("sectors per store", &a->sectors_per_request_store, html_real, out);
	html_row("excess sectors", &a->excess_sectors, html_amount, out);
	html_row("of these used by nobody", &a->wasted_sectors, html_amount, out);
	html_row("shared wavefronts per request", &a->shared_wavefronts_per_request, html_real,
		 out);
	html_row("atomics", &a->atomics, html_amount, out);
	html_row("divergence", &a->divergence_pct, html_pct, out);
	fputs("</table>", out);
	fputs("</section>\n", out);
}

void html_sites(const struct report_kernel *k, FILE *out)
{
	const struct metric_access *a = k->access;

	if (!a || !a->sites_n)
		return;
	fputs("<section class=wide><h3>Where memory is accessed</h3><div class=w><table class=r><thead><tr><th>at<th "
	      "class=l>access<th>requests<th>sectors each<th>excess<th class=l>pattern<tbody>\n",
	      out);
	for (size_t i = 0; i < a->sites_n && i < SITES; i++)
		site_row(&a->sites[i], out);
	fputs("</table></div>", out);
	if (a->sites_n > SITES)
		fprintf(out, "<p class=s1>%zu more are in the JSON report.", a->sites_n - SITES);
	fputs("</section>\n", out);
}

/* ----------------------------------------------------------------- stalls */

static int by_share(const void *pa, const void *pb)
{
	const struct html_reason *a = pa, *b = pb;

	return (a->q->value < b->q->value) - (a->q->value > b->q->value);
}

size_t html_reasons(const struct metric_stalls *s, struct html_reason out[HTML_REASONS])
{
	const struct html_reason all[] = {
#define REASON(name) {#name, &s->name},
		METRIC_STALL_LIST(REASON)
#undef REASON
	};
	size_t n = 0;

	_Static_assert(sizeof(all) / sizeof(*all) <= HTML_REASONS, "room for all reasons");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (quantity_known(all[i].q) && (all[i].q->value > 0 || all[i].q->high > 0))
			out[n++] = all[i];
	qsort(out, n, sizeof(*out), by_share);
	return n;
}

static void stalls(const struct metric_stalls *s, FILE *out)
{
	struct html_reason reasons[HTML_REASONS];
	const size_t n = html_reasons(s, reasons);

	fputs("<section><h3>Why warps wait</h3><table>", out);
	for (size_t i = 0; i < n; i++) {
		const struct quantity *q = reasons[i].q;

		fputs("<tr><th>", out);
		html_words(reasons[i].name, out);
		fprintf(out, "<br><small>%s</small>", render_waits_for(reasons[i].name));
		fputs("<td>", out);
		if (q->low < q->high)
			html_bar_range(q->low, q->high, out);
		else
			html_bar(q->value, out);
		fputs("<td>", out);
		html_quantity(q, html_share, out);
	}
	fputs("</table><p class=s1>Of the time in which a warp does not issue; below each reason what it waits for. Other reasons are none, or not known."
	      "</section>\n",
	      out);
}

static void unknown_section(const char *title, const char *why, FILE *out)
{
	fprintf(out, "<section><h3>%s</h3><p class=x>Not known", title);
	if (why) {
		fputs(": ", out);
		html_text(why, HTML_SENTENCE, out);
	}
	fputs(".</section>\n", out);
}

void html_code(const struct report *r, const struct report_kernel *k, FILE *out)
{
	if (k->sass)
		mix(k->sass, out);
	if (k->access)
		access_sites(k->access, out);
	else
		unknown_section("Memory Access", k->sass ? r->no_memory : k->no_sass, out);
	if (k->stalls)
		stalls(k->stalls, out);
	else
		unknown_section("Why warps wait", k->sass ? r->no_counters : k->no_sass, out);
}

/* ---------------------------------------------------------------- listing */

static void put_barrier(int barrier, FILE *out)
{
	if (barrier < 0)
		fputs(" .", out);
	else
		fprintf(out, "%2d", barrier);
}

/* Barriers waited for, by number; six columns. */
static void put_wait(unsigned wait, FILE *out)
{
	fputs(wait ? " <u>" : " ", out);
	for (unsigned i = 0; i < 6; i++)
		if (wait >> i & 1)
			fputc((int)('0' + i), out);
		else
			fputc('.', out);
	if (wait)
		fputs("</u>", out);
}

/* The operation stands out from its guard and its operands. */
static void put_instruction(const char *text, FILE *out)
{
	const char *op = text;
	size_t n;

	if (*op == '@') {
		op += strcspn(op, " ");
		op += strspn(op, " ");
	}
	n = strcspn(op, " ");
	html_bytes(text, (size_t)(op - text), out);
	fputs("<b>", out);
	html_bytes(op, n, out);
	fputs("</b>", out);
	html_text(op + n, HTML_SENTENCE, out);
}

static void put_line(const struct metric_line *l, const char **source, FILE *out)
{
	if (l->source && (!*source || strcmp(*source, l->source) != 0)) {
		fputs("<s>", out);
		html_text(l->source, HTML_SENTENCE, out);
		fputs("</s>\n", out);
		*source = l->source;
	}
	fprintf(out, l->stall >= 10 ? "<s>%5x</s> <u>%2u</u>" : "<s>%5x</s> %2u", l->offset,
		l->stall);
	fputs(l->yield ? " y" : " .", out);
	put_barrier(l->write_barrier, out);
	put_barrier(l->read_barrier, out);
	put_wait(l->wait, out);
	fputs("  ", out);
	put_instruction(l->text, out);
	fputs(l->is_decoded ? "\n" : "  <u>not decoded</u>\n", out);
}

static void put_listing(const struct metric_listing *l, FILE *out)
{
	const char *source = NULL;

	fprintf(out, "<h4>%s</h4>",
		!l->depth    ? "Whole code: nothing loops"
		: l->is_main ? "Main loop"
			     : "Innermost loop");
	fputs("<pre tabindex=0><s>   at st y w r wait</s>\n", out);
	for (size_t i = 0; i < l->lines_n; i++)
		put_line(&l->lines[i], &source, out);
	if (l->left_out)
		fprintf(out, "<s>... %zu instructions more</s>\n", l->left_out);
	fputs("</pre>\n", out);
}

void html_listing(const struct report *r, size_t index, FILE *out)
{
	const struct metric_listings *all = r->kernels[index].listings;

	if (!all || !all->n)
		return;
	fputs("<section class=wide><h3>Code</h3>", out);
	for (size_t i = 0; i < index; i++)
		if (r->kernels[i].listings == all) {
			fprintf(out, "<p>The same as of <a href=#k%zu>kernel %zu</a>.</section>\n",
				i + 1, i + 1);
			return;
		}
	fputs("<p class=s1><b>st</b> cycles until the warp's next instruction may issue; <b>y</b> may switch to "
	      "another warp; <b>w</b>, <b>r</b> barrier taken until written, until read; <b>wait</b> barriers "
	      "waited for. Marked: stalls from 10 on, and waits. <code>.reuse</code> keeps an operand in its "
	      "cache.\n",
	      out);
	for (size_t i = 0; i < all->n; i++)
		put_listing(&all->at[i], out);
	if (all->left_out)
		fprintf(out, "<p class=s1>%zu loops more: <code>kbn sass</code> lists them.\n",
			all->left_out);
	fputs("</section>\n", out);
}
