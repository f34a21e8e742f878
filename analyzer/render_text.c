/*
 * render_text.c - the table for a terminal: what ran where, whether the accounting adds up, kernels by
 * total time. Fits the width it is given; names are cut, never numbers.
 */
#include "render.h"

#include <math.h>
#include <string.h>

#include "text.h"

#define TEXT_KERNELS  20 /* rows unless asked for more */
#define NAME_COLUMNS  22 /* least room for a name */
#define OTHER_COLUMNS 54

static void rule(int columns, FILE *out)
{
	for (int i = 0; i < columns; i++)
		fputc('-', out);
	fputc('\n', out);
}

/* At most `columns` of a UTF-8 text, with ".." when it was cut; padded when `pad`. */
static void cut(const char *s, size_t columns, bool pad, FILE *out)
{
	size_t have = text_columns(s), take = have <= columns ? have : columns - 2, n = 0;

	for (; *s; s++) {
		if ((*s & 0xc0) != 0x80 && n++ == take)
			break;
		fputc(*s, out);
	}
	if (have > columns)
		fputs("..", out);
	for (n = have <= columns ? have : columns; pad && n < columns; n++)
		fputc(' ', out);
}

/* Paragraph with a hanging indent, broken at spaces. */
static void wrapped(const char *lead, const char *s, int columns, FILE *out)
{
	size_t indent = text_columns(lead), at = indent;

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

/* ------------------------------------------------------------------- head */

static void head_run(const struct report_run *r, int columns, FILE *out)
{
	char t[TEXT_NUMBER], line[1024];
	size_t n = 0;

	if (r->rank >= 0)
		n += (size_t)snprintf(line, sizeof(line), "rank %d  ", r->rank);
	for (size_t i = 0; i < r->command_n && n < sizeof(line) - 1; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "",
				      r->command[i]);
	if (!r->command_n)
		snprintf(line, sizeof(line), "(command not known)");
	line[sizeof(line) - 1] = '\0';
	cut(line, columns > 34 ? (size_t)columns - 22 : 12, true, out);
	fprintf(out, " %10s  %s\n", text_us(t, 1e6 * r->duration_s), r->end);
}

static void head_device(const struct report_device *d, FILE *out)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER];

	if (d->hw.arch.sm <= 0) {
		fprintf(out, "device not known\n");
		return;
	}
	fprintf(out, "%s (sm_%d", d->name, d->hw.arch.sm);
	if (d->hw.sm_count > 0)
		fprintf(out, ", %d SMs", d->hw.sm_count);
	if (!isnan(d->hw.dram_gbps))
		fprintf(out, ", %s GB/s", text_real(a, d->hw.dram_gbps));
	if (!isnan(d->hw.peaks[PEAK_FP32]))
		fprintf(out, ", %s TFLOPS FP32", text_real(b, d->hw.peaks[PEAK_FP32]));
	fprintf(out, ")%s%s\n", d->mig ? " MIG " : "", d->mig ? d->mig : "");
}

static void bins(const struct report_accounting *a, int columns, FILE *out)
{
	const struct {
		uint64_t n;
		const char *name;
	} bin[] = {
		{a->timed, "timed"},           {a->sampled_out, "sampled out"},
		{a->untimeable, "untimeable"}, {a->captured, "captured"},
		{a->failed, "failed"},         {a->unfinished, "unfinished"},
		{a->filtered, "filtered"},     {a->dropped, "dropped"},
	};
	char line[600], number[TEXT_NUMBER];
	size_t n =
		(size_t)snprintf(line, sizeof(line), "%s =", text_count(number, a->launches_seen));

	for (size_t i = 0; i < sizeof(bin) / sizeof(*bin); i++)
		if (bin[i].n || i == 0)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %s%s %s", i ? "+ " : "",
					      text_count(number, bin[i].n), bin[i].name);
	if (a->graph_launches)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "; %s graph launches",
				      text_count(number, a->graph_launches));
	if (a->graph_node_launches)
		snprintf(line + n, sizeof(line) - n, " replayed %s kernels",
			 text_count(number, a->graph_node_launches));
	wrapped("launches     ", line, columns, out);
}

static void head_time(const struct report *r, int columns, FILE *out)
{
	const struct quantity *k = &r->totals.kernel_time_us, *busy = &r->totals.busy_pct;
	char line[400], t[TEXT_NUMBER], u[TEXT_NUMBER], timing[RENDER_TIMING];

	if (quantity_known(k))
		snprintf(line, sizeof(line), "%s %s, %s%% of the recorded time%s%s",
			 text_us(t, k->value), quantity_label_names[k->label],
			 text_real(u, busy->value), k->why ? "; " : "", k->why ? k->why : "");
	else
		snprintf(line, sizeof(line), "not known: %s", k->why ? k->why : "");
	wrapped("kernel time  ", line, columns, out);
	wrapped("timing       ", render_timing(timing, &r->timing), columns, out);
}

/* ------------------------------------------------------------------ table */

static void row(const struct report_kernel *k, size_t name_columns, FILE *out)
{
	char total[TEXT_NUMBER], median[TEXT_NUMBER], launches[TEXT_NUMBER], waves[TEXT_NUMBER],
		share[TEXT_NUMBER], occ[TEXT_NUMBER], label[RENDER_LABEL];
	const struct occupancy *o = k->occupancy_known ? &k->occupancy : NULL;
	uint64_t n = count_sum(k->launches, k->graph_node_launches);

	if (isnan(k->share_pct))
		snprintf(share, sizeof(share), "-");
	else
		snprintf(share, sizeof(share), "%.1f%%", k->share_pct);
	if (!o || isnan(o->pct))
		snprintf(occ, sizeof(occ), "-");
	else
		snprintf(occ, sizeof(occ), "%.0f%%", o->pct);
	fprintf(out, "%6s %9s %9s %10s %7s %6s ", share, text_us(total, k->times.total.value),
		render_median(median, &k->times), text_count(launches, n), occ,
		text_ratio(waves, o ? o->waves : NAN));
	fprintf(out, "%s\n", render_label(label, k, name_columns));
}

static void table(const struct report *r, const struct render_options *o, FILE *out)
{
	size_t top = o->top ? o->top : TEXT_KERNELS, n = r->kernels_n < top ? r->kernels_n : top;
	size_t columns = (size_t)o->columns > OTHER_COLUMNS + NAME_COLUMNS
				 ? (size_t)o->columns - OTHER_COLUMNS
				 : NAME_COLUMNS;

	rule(o->columns, out);
	fprintf(out, "%6s %9s %9s %10s %7s %6s %s\n", "share", "total", "median", "launches",
		"max occ", "waves", "kernel");
	for (size_t i = 0; i < n; i++)
		row(&r->kernels[i], columns, out);
	if (n < r->kernels_n)
		fprintf(out, "%6s ... and %zu kernel shapes more\n", "", r->kernels_n - n);
	rule(o->columns, out);
	if (render_any_uncertain(r, n))
		fprintf(out, "~ uncertain by more than %d%%\n", RENDER_UNCERTAIN_PCT);
}

static int report_text(const struct report *r, const struct render_options *options, FILE *out,
		       struct err *e)
{
	struct render_options o = *options;

	if (o.columns < 60)
		o.columns = 60;
	fprintf(out, "kbn %s%s\n", r->version,
		r->simulated ? "   *** TIMES ARE SIMULATED: recorded on a stand-in driver ***"
		: r->reality_unknown ? "   whether these times are real is not known"
				     : "");
	for (size_t i = 0; i < r->runs_n && i < 8; i++)
		head_run(&r->runs[i], o.columns, out);
	if (r->runs_n > 8)
		fprintf(out, "... and %zu processes more\n", r->runs_n - 8);
	for (size_t i = 0; i < r->devices_n; i++)
		head_device(&r->devices[i], out);
	bins(&r->accounting, o.columns, out);
	head_time(r, o.columns, out);
	if (r->kernels_n)
		table(r, &o, out);
	for (size_t i = 0; i < r->notes_n; i++) {
		char lead[24];

		snprintf(lead, sizeof(lead), "%s  ", r->notes[i].id);
		wrapped(lead, r->notes[i].text, o.columns, out);
	}
	return ferror(out) ? err_set(e, ERR_IO, -1, "cannot write the table") : 0;
}

void render_text_occupancy(const struct occupancy *o, int indent, FILE *out)
{
	struct render_limit rows[LIMIT_N];
	size_t n = render_limits(o, rows);

	fprintf(out, "%*s%-14s %10s %10s %14s\n", indent, "", "resource", "per block", "per SM",
		"blocks per SM");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%*s%-14s %10s %10s %14s%s\n", indent, "", rows[i].resource,
			rows[i].per_block, rows[i].per_sm, rows[i].blocks,
			rows[i].is_limiter ? "  <- limits" : "");
}

const struct render_format render_text = {"text", "report.txt", report_text};
