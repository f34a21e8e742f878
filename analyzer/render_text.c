/*
 * render_text.c - the table for a terminal: what ran where, whether the accounting adds up, kernels by
 * total time. Fits the width it is given; names are cut, never numbers.
 */
#include "render.h"

#include <math.h>
#include <string.h>

#include "render_cases.h"
#include "text.h"

#define TEXT_KERNELS 20 /* rows unless asked for more */
#define NAME_COLUMNS 22 /* least room for a name; columns of figures give way to it */
#define COMMAND      16 /* least room for a command beside its end */
#define FIRST_LABEL  40 /* columns of the name of a kernel to begin with */
#define FIRST        3  /* things to do first; all are in the other formats */
#define LEAST        40 /* columns of the narrowest terminal that is cared for */

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

/* ------------------------------------------------------------------- head */

/* What was run; without the program's directory when `is_short`. */
static void put_command(char line[TEXT_LINE], const struct report_run *r, bool is_short)
{
	const char *program = r->command_n ? r->command[0] : "(command not known)", *slash;
	size_t n = 0;

	if (is_short && (slash = strrchr(program, '/')))
		program = slash + 1;
	if (r->rank >= 0)
		n += (size_t)snprintf(line, TEXT_LINE, "rank %d  ", r->rank);
	n += (size_t)snprintf(line + n, TEXT_LINE - n, "%s", program);
	for (size_t i = 1; i < r->command_n && n < TEXT_LINE; i++)
		n += (size_t)snprintf(line + n, TEXT_LINE - n, " %s", r->command[i]);
}

static void head_run(const struct report_run *r, int columns, FILE *out)
{
	char t[TEXT_NUMBER], line[TEXT_LINE];
	size_t room, used;

	used = strlen(r->end_text) + 11; /* the end and the time, two blanks before each */
	room = (size_t)columns > used + COMMAND ? (size_t)columns - used : (size_t)columns;
	put_command(line, r, false);
	if (text_columns(line) > room)
		put_command(line, r, true);
	cut(line, room, room < (size_t)columns, out);
	if (room == (size_t)columns) /* a line of its own */
		fputc('\n', out);
	fprintf(out, "%9s  %s\n", text_us(t, 1e6 * r->duration_s), r->end_text);
}

static void head_device(const struct report_device *d, int columns, FILE *out)
{
	char number[TEXT_NUMBER], line[TEXT_LINE];
	size_t n;

	if (d->hw.arch.sm <= 0) {
		fprintf(out, "device not known\n");
		return;
	}
	n = (size_t)snprintf(line, sizeof(line), "%.400s (sm_%d", d->name, d->hw.arch.sm);
	if (d->hw.sm_count > 0)
		n += (size_t)snprintf(line + n, sizeof(line) - n, ", %d SMs", d->hw.sm_count);
	if (!isnan(d->hw.dram_gbps))
		n += (size_t)snprintf(line + n, sizeof(line) - n, ", %s GB/s",
				      text_real(number, d->hw.dram_gbps));
	if (!isnan(d->hw.peaks[PEAK_FP32]))
		n += (size_t)snprintf(line + n, sizeof(line) - n, ", %s TFLOPS FP32",
				      text_real(number, d->hw.peaks[PEAK_FP32]));
	snprintf(line + n, sizeof(line) - n, ")%s%.200s", d->mig ? " MIG " : "",
		 d->mig ? d->mig : "");
	text_wrapped("", line, columns, out);
}

/* Nothing ran: no end, no duration, no accounting. */
static void head_given(const struct report *r, int columns, FILE *out)
{
	const struct quantity *time = &r->totals.kernel_time_us;
	char line[TEXT_LINE], n[TEXT_NUMBER], t[TEXT_NUMBER];

	for (size_t i = 0; i < r->runs_n; i++) {
		put_command(line, &r->runs[i], false);
		text_wrapped("", line, columns, out);
	}
	for (size_t i = 0; i < r->devices_n; i++)
		head_device(&r->devices[i], columns, out);
	if (!quantity_known(time)) {
		text_wrapped("launches     ", "none: nothing ran", columns, out);
		return;
	}
	snprintf(line, sizeof(line), "nothing ran; %s %s by the user, %s together",
		 text_count(n, r->accounting.timed),
		 text_plural(r->accounting.timed, "time is given", "times are given"),
		 text_us(t, time->value));
	text_wrapped("launches     ", line, columns, out);
}

static void bins(const struct report_accounting *a, int columns, FILE *out)
{
	struct render_bin bin[RENDER_BINS];
	char line[600], number[TEXT_NUMBER];
	size_t n =
		(size_t)snprintf(line, sizeof(line), "%s =", text_count(number, a->launches_seen));

	render_bins(a, bin);
	for (size_t i = 0; i < RENDER_BINS; i++)
		if (bin[i].n || i == 0)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %s%s %s", i ? "+ " : "",
					      text_count(number, bin[i].n), bin[i].name);
	if (a->graph_launches)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "; %s graph launches",
				      text_count(number, a->graph_launches));
	if (a->graph_node_launches)
		snprintf(line + n, sizeof(line) - n, " replayed %s kernels",
			 text_count(number, a->graph_node_launches));
	text_wrapped("launches     ", line, columns, out);
}

static void head_time(const struct report *r, int columns, FILE *out)
{
	const struct quantity *k = &r->totals.kernel_time_us, *busy = &r->totals.busy_pct;
	char line[400], t[TEXT_NUMBER], u[TEXT_NUMBER], timing[RENDER_TIMING];

	if (quantity_known(k))
		snprintf(line, sizeof(line), "%s %s, %s of the recorded time%s%s",
			 text_us(t, k->value), quantity_label_names[k->label],
			 text_pct(u, busy->value), k->why ? "; " : "", k->why ? k->why : "");
	else
		snprintf(line, sizeof(line), "not known: %s", k->why ? k->why : "");
	text_wrapped("kernel time  ", line, columns, out);
	text_wrapped("timing       ", render_timing(timing, &r->timing), columns, out);
}

static void head_recorded(const struct report *r, int columns, FILE *out)
{
	for (size_t i = 0; i < r->runs_n && i < 8; i++)
		head_run(&r->runs[i], columns, out);
	if (r->runs_n > 8)
		fprintf(out, "... and %zu processes more\n", r->runs_n - 8);
	for (size_t i = 0; i < r->devices_n; i++)
		head_device(&r->devices[i], columns, out);
	bins(&r->accounting, columns, out);
	head_time(r, columns, out);
}

/* ------------------------------------------------------------------ table */

static void cell_share(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	text_pct(out, k->share_pct);
}

static void cell_total(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	text_us(out, k->times.total.value);
}

static void cell_median(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	render_median(out, &k->times);
}

static void cell_launches(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	text_count(out, count_sum(k->launches, k->graph_node_launches));
}

static void cell_occupancy(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	text_pct(out, k->occupancy_known ? k->occupancy.pct : NAN);
}

static void cell_waves(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	text_ratio(out, k->occupancy_known ? k->occupancy.waves : NAN);
}

static void cell_limit(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	snprintf(out, TEXT_NUMBER, "%s", render_limiter(k));
}

static void cell_class(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	snprintf(out, TEXT_NUMBER, "%s", k->verdict.class);
}

static void cell_cliff(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	render_cliff(out, k);
}

/* Before the name; `stays`: in a terminal too narrow for all, those with the least go first. */
static const struct column {
	const char *title;
	int width, stays;
	void (*cell)(char out[TEXT_NUMBER], const struct report_kernel *k);
} all_columns[] = {
	{"share", 6, 9, cell_share},       {"total", 8, 8, cell_total},
	{"median", 9, 6, cell_median},     {"launches", 9, 7, cell_launches},
	{"max occ", 7, 3, cell_occupancy}, {"waves", 6, 2, cell_waves},
	{"limit", 9, 4, cell_limit},       {"cliff", 8, 1, cell_cliff},
	{"class", 8, 5, cell_class},
};
#define COLUMNS (sizeof(all_columns) / sizeof(*all_columns))

/* A class that no kernel has is no column. */
static bool is_wanted(const struct column *c, const struct report *r, size_t n)
{
	return c->cell != cell_class || render_any_class(r, n);
}

struct layout {
	const struct column *shown[COLUMNS], *left_out[COLUMNS];
	size_t shown_n, left_out_n;
	int name; /* columns for the name of the kernel */
};

/* A column is shown when there is room for all that stay as long as it does, and a name. */
static void lay_out(struct layout *l, const struct report *r, size_t n, int columns)
{
	*l = (struct layout){.name = columns};
	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column *c = &all_columns[i];
		int width = NAME_COLUMNS;

		if (!is_wanted(c, r, n))
			continue;
		for (size_t k = 0; k < COLUMNS; k++)
			if (all_columns[k].stays >= c->stays && is_wanted(&all_columns[k], r, n))
				width += all_columns[k].width + 1;
		if (width > columns) {
			l->left_out[l->left_out_n++] = c;
			continue;
		}
		l->shown[l->shown_n++] = c;
		l->name -= c->width + 1;
	}
}

/* What a column of figures means, where it is not said by its title; NULL = nothing to say. */
static const char *meaning(const struct column *c, const struct report *r, size_t n)
{
	if (c->cell == cell_occupancy && render_any_room(r, n))
		return RENDER_ROOM_MEANS;
	if (c->cell == cell_waves && render_any_room(r, n))
		return RENDER_WAVES_MEANS;
	if (c->cell == cell_cliff && render_any_cliff(r, n))
		return RENDER_CLIFF_MEANS;
	return NULL;
}

static void legend(const struct report *r, size_t n, const struct layout *l, int columns, FILE *out)
{
	char line[TEXT_LINE] = "";
	size_t at = 0;

	if (render_any_uncertain(r, n))
		fprintf(out, "%-8s uncertain by more than %d%%\n", "~", RENDER_UNCERTAIN_PCT);
	for (size_t i = 0; i < l->shown_n; i++) {
		const char *means = meaning(l->shown[i], r, n);

		if (l->shown[i]->cell == cell_limit && render_any_grid(r, n))
			text_wrapped(RENDER_GRID "     ", RENDER_GRID_MEANS, columns, out);
		if (!means)
			continue;
		snprintf(line, sizeof(line), "%-8s ", l->shown[i]->title);
		text_wrapped(line, means, columns, out);
	}
	for (size_t i = 0; i < l->left_out_n; i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s", at ? ", " : "",
				       l->left_out[i]->title);
	if (at)
		text_wrapped("left out for want of room: ", line, columns, out);
}

static void table(const struct report *r, const struct render_options *o, FILE *out)
{
	size_t top = o->top ? o->top : TEXT_KERNELS, n = r->kernels_n < top ? r->kernels_n : top;
	struct layout l;

	lay_out(&l, r, n, o->columns);
	rule(o->columns, out);
	for (size_t c = 0; c < l.shown_n; c++)
		fprintf(out, "%*s ", l.shown[c]->width, l.shown[c]->title);
	fputs("kernel\n", out);
	for (size_t i = 0; i < n; i++) {
		char cell[TEXT_NUMBER], label[RENDER_LABEL];

		for (size_t c = 0; c < l.shown_n; c++) {
			l.shown[c]->cell(cell, &r->kernels[i]);
			fprintf(out, "%*s ", l.shown[c]->width, cell);
		}
		fprintf(out, "%s\n", render_label(label, &r->kernels[i], (size_t)l.name));
	}
	if (n < r->kernels_n)
		fprintf(out, "%6s ... and %zu kernel shapes more\n", "", r->kernels_n - n);
	rule(o->columns, out);
	legend(r, n, &l, o->columns, out);
	if (r->cases_n)
		rule(o->columns, out);
	render_cases_text(r, o->columns, out);
}

/* With the way to what they mean. */
static void notes(const struct report *r, int columns, FILE *out)
{
	char lead[24];

	for (size_t i = 0; i < r->notes_n; i++) {
		snprintf(lead, sizeof(lead), "%s  ", r->notes[i].id);
		text_wrapped(lead, r->notes[i].text, columns, out);
	}
	if (r->notes_n) {
		char line[80];

		snprintf(line, sizeof(line), "kbn help %s says why, and what to do",
			 r->notes[0].id);
		text_wrapped("", line, columns, out);
	}
}

/* "tensor_bad: Use the tensor cores (KBN-A011), saves 18 to 24.9% of all kernel time (estimated)" */
static void first_title(const struct report_advice *a, const char *of, const char *lead,
			int columns, FILE *out)
{
	const size_t most = (size_t)(columns < 2 * FIRST_LABEL ? columns / 2 : FIRST_LABEL);
	char label[RENDER_LABEL], line[RENDER_LABEL + 400], gain[RENDER_GAIN], saves[128] = "";

	if (*render_gain(gain, a->gain_low_pct, a->gain_high_pct))
		snprintf(saves, sizeof(saves), ", saves %s of %s (estimated)", gain, of);
	snprintf(line, sizeof(line), "%s%s%s (%s)%s",
		 a->kernel ? render_label(label, a->kernel, most) : "", a->kernel ? ": " : "",
		 a->advice->title, a->advice->id, saves);
	text_wrapped(lead, line, columns, out);
}

static void first_item(const struct report_advice *a, const char *of, size_t number, int columns,
		       FILE *out)
{
	char lead[16];

	snprintf(lead, sizeof(lead), "%zu  ", number);
	first_title(a, of, lead, columns, out);
	text_wrapped("   why     ", a->advice->evidence[0], columns, out);
	text_wrapped("   try     ", a->advice->change, columns, out);
	text_wrapped("   expect  ", a->advice->expect, columns, out);
}

/* The first for each kernel in its order: without times no kernel is known to matter more. */
static size_t first_of_kernels(const struct report *r, struct report_advice list[FIRST])
{
	size_t n = 0;

	for (size_t i = 0; i < r->kernels_n && n < FIRST; i++) {
		const struct report_kernel *k = &r->kernels[i];
		const struct metric_advice *a = k->advice.items;

		if (k->advice.n)
			list[n++] = (struct report_advice){k, a, a->gain_low_pct, a->gain_high_pct};
	}
	return n;
}

/* What is slow, why, what to try and which number will tell. */
static void first(const struct report *r, int columns, FILE *out)
{
	const bool is_run = r->advice_n > 0;
	struct report_advice own[FIRST];
	const struct report_advice *list = is_run ? r->advice : own;
	size_t n = is_run ? r->advice_n : first_of_kernels(r, own);

	if (!n)
		return;
	rule(columns, out);
	fputs("What to do first\n", out);
	for (size_t i = 0; i < n && i < FIRST; i++)
		first_item(&list[i], is_run ? "all kernel time" : "this kernel's time", i + 1,
			   columns, out);
	if (n > FIRST)
		fprintf(out, "   ... and %zu more\n", n - FIRST);
	rule(columns, out);
}

/* Where the rest is. */
static void more(const struct report *r, int columns, FILE *out)
{
	if (!r->kernels_n)
		return;
	text_wrapped("more     ",
		     "--md has a section for each kernel, --html -o FILE a page with a roofline",
		     columns, out);
	if (!render_any_class(r, r->kernels_n))
		text_wrapped(
			"         ",
			r->is_given
				? "--gemm, --flops and --bytes state its work: then the class and shares of the peaks, too"
				: "--work FILE states the work of kernels: then the class and shares of the peaks, too",
			columns, out);
}

static int report_text(const struct report *r, const struct render_options *options, FILE *out,
		       struct err *e)
{
	struct render_options o = *options;
	char version[64];

	if (o.columns < LEAST)
		o.columns = LEAST;
	snprintf(version, sizeof(version), "kbn %.32s%s", r->version,
		 r->simulated || r->reality_unknown ? "   " : "");
	text_wrapped(version,
		     r->simulated ? "*** TIMES ARE SIMULATED: recorded on a stand-in driver ***"
		     : r->reality_unknown ? "whether these times are real is not known"
					  : "",
		     o.columns, out);
	if (r->is_given)
		head_given(r, o.columns, out);
	else
		head_recorded(r, o.columns, out);
	if (r->kernels_n)
		table(r, &o, out);
	first(r, o.columns, out);
	notes(r, o.columns, out);
	more(r, o.columns, out);
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
