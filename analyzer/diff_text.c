/*
 * diff_text.c - a comparison for a terminal: the verdict in one line, what weakens it, then the kernels
 * by effect on the run. Names are cut, never numbers; figures that do not fit are left out, the least
 * needed first.
 */
#include <math.h>
#include <string.h>

#include "diff_render.h"
#include "text.h"

#define ROWS         20 /* that are listed */
#define NAME_COLUMNS 22 /* least room for a name */
#define LEAST        40 /* columns of the narrowest terminal that is cared for */

enum column { SHARE, BASE, NEW, CHANGE, NOISE, EFFECT, VERDICT, COLUMNS };

static const struct {
	const char *title;
	int width;
	int leave; /* the first to go has the least */
} columns_of[COLUMNS] = {
	[SHARE] = {"share", 6, 2},      [BASE] = {"base", 9, 4},   [NEW] = {"new", 9, 5},
	[CHANGE] = {"change", 7, 9},    [NOISE] = {"noise", 6, 1}, [EFFECT] = {"effect", 7, 3},
	[VERDICT] = {"verdict", 12, 9},
};

struct table {
	bool shown[COLUMNS];
	size_t name; /* columns for it */
};

/* "+3.21%", "-40.2%", "0%"; what is too little to show is "~0%", what is not known "-". */
static char *change(char out[TEXT_NUMBER], double pct)
{
	if (!isfinite(pct))
		snprintf(out, TEXT_NUMBER, "-");
	else if (fabs(pct) < 0.005)
		snprintf(out, TEXT_NUMBER, pct == 0 ? "0%%" : "~0%%");
	else
		snprintf(out, TEXT_NUMBER, "%+.*f%%",
			 fabs(pct) >= 99.95   ? 0
			 : fabs(pct) >= 9.995 ? 1
					      : 2,
			 pct);
	return out;
}

static struct table layout(int columns)
{
	struct table t;
	int used = 0;

	for (int c = 0; c < COLUMNS; c++) {
		t.shown[c] = true;
		used += columns_of[c].width + 2;
	}
	for (int gone = 1; gone < 9 && used + NAME_COLUMNS > columns; gone++)
		for (int c = 0; c < COLUMNS; c++)
			if (columns_of[c].leave == gone) {
				t.shown[c] = false;
				used -= columns_of[c].width + 2;
			}
	t.name = columns > used + 8 ? (size_t)(columns - used) : 8;
	return t;
}

static void put_name(const char *name, size_t columns, FILE *out)
{
	bool cut = text_columns(name) > columns;
	size_t room = cut ? columns - 2 : columns, n = 0;

	for (; *name && (n < room || (*name & 0xc0) == 0x80); name++) {
		n += (name[1] & 0xc0) != 0x80;
		fputc(*name, out);
	}
	fputs(cut ? "..\n" : "\n", out);
}

static void cell(char text[COLUMNS][TEXT_NUMBER], const struct diff_row *r)
{
	text_pct(text[SHARE], r->share_pct);
	text_us(text[BASE], r->base_us);
	text_us(text[NEW], r->new_us);
	change(text[CHANGE], r->change_pct);
	text_pct(text[NOISE], r->noise_pct);
	change(text[EFFECT], r->effect_pct);
	snprintf(text[VERDICT], TEXT_NUMBER, "%s",
		 r->match >= DIFF_ADDED ? diff_match_names[r->match]
					: diff_verdict_names[r->verdict]);
}

static void put_cells(const struct table *t, char text[COLUMNS][TEXT_NUMBER], FILE *out)
{
	for (int c = 0; c < COLUMNS; c++)
		if (t->shown[c])
			fprintf(out, c == VERDICT ? "%-*s  " : "%*s  ", columns_of[c].width,
				text[c]);
}

static const struct diff_kernel *kernel_of(const struct diff_row *r)
{
	return r->new ? r->new : r->base;
}

/* What tells a row from others of the same short name. */
struct distinction {
	bool by_name, by_geometry, by_device;
};

static struct distinction distinction(const struct diff *d, const struct diff_row *r)
{
	const struct diff_kernel *k = kernel_of(r), *other;
	struct distinction differs = {false, false, false};

	for (size_t i = 0; i < d->rows_n; i++) {
		other = kernel_of(&d->rows[i]);
		if (other == k || strcmp(other->short_name, k->short_name) != 0)
			continue;
		if (strcmp(other->demangled, k->demangled) != 0)
			differs.by_name = true;
		else if (other->device != k->device)
			differs.by_device = true;
		else
			differs.by_geometry = !k->overflow;
	}
	return differs;
}

static size_t put_distinction(char line[TEXT_LINE], const struct diff *d, const struct diff_row *r)
{
	const struct distinction differs = distinction(d, r);
	const struct diff_kernel *k = kernel_of(r);
	size_t n = 0;

	line[0] = '\0';
	if (differs.by_name)
		n = (size_t)snprintf(line, TEXT_LINE, "%.300s", k->demangled);
	if (differs.by_geometry)
		n += (size_t)snprintf(line + n, TEXT_LINE - n,
				      "%sgrid %jd,%jd,%jd block %jd,%jd,%jd", n ? "; " : "",
				      (intmax_t)k->grid[0], (intmax_t)k->grid[1],
				      (intmax_t)k->grid[2], (intmax_t)k->block[0],
				      (intmax_t)k->block[1], (intmax_t)k->block[2]);
	if (differs.by_device)
		n += (size_t)snprintf(line + n, TEXT_LINE - n, "%sdevice %jd", n ? "; " : "",
				      (intmax_t)k->device);
	return n;
}

static void put_because(const struct diff *d, const struct diff_row *r, int columns, FILE *out)
{
	char line[TEXT_LINE];
	size_t n = put_distinction(line, d, r);

	for (size_t i = 0; i < r->because_n && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", n ? "; " : "",
				      r->because[i]);
	if (line[0])
		text_wrapped("        ", line, columns, out);
}

/* ------------------------------------------------------------------- head */

/* "1 regressed, 3 neutral, 2 added" */
static void put_tally(char line[TEXT_LINE], const struct diff *d)
{
	const struct {
		size_t n;
		const char *what;
	} part[] = {
		{d->count[DIFF_REGRESSED], "regressed"},
		{d->count[DIFF_IMPROVED], "improved"},
		{d->count[DIFF_NEUTRAL], "neutral"},
		{d->count[DIFF_INCONCLUSIVE], "inconclusive"},
		{d->added, "added"},
		{d->removed, "removed"},
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (part[i].n)
			n += (size_t)snprintf(line + n, TEXT_LINE - n, "%s%zu %s",
					      n ? ", " : "kernels: ", part[i].n, part[i].what);
	if (!n)
		snprintf(line, TEXT_LINE, "no kernels");
}

/* What makes a check fail, behind the verdict; nothing when it does not. */
static void put_failure(char line[TEXT_LINE], size_t n, const struct diff *d, double pct)
{
	size_t bad = 0;

	for (size_t i = 0; i < d->rows_n; i++)
		bad += diff_row_fails(&d->rows[i], pct);
	if (bad)
		snprintf(line + n, TEXT_LINE - n, "; fails: %zu %s by more than %.4g%%", bad,
			 text_plural(bad, "kernel", "kernels"), pct);
	else if (diff_fails(d, pct))
		snprintf(line + n, TEXT_LINE - n, "; fails: by more than %.4g%%", pct);
}

static void head(const struct diff *d, double pct, int columns, FILE *out)
{
	const struct quantity *q = &d->run_change_pct;
	char line[TEXT_LINE], a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
	size_t n;

	if (quantity_known(q))
		n = (size_t)snprintf(line, sizeof(line), "%s: kernel time of the run %s (%s to %s)",
				     diff_verdict_names[d->verdict], change(a, q->value),
				     change(b, q->low), change(c, q->high));
	else
		n = (size_t)snprintf(line, sizeof(line), "%s: %s", diff_verdict_names[d->verdict],
				     q->why);
	put_failure(line, n, d, pct);
	text_wrapped("", line, columns, out);
	put_tally(line, d);
	text_wrapped("", line, columns, out);
	for (size_t i = 0; i < d->why_not_n; i++)
		text_wrapped("- ", d->why_not[i], columns, out);
}

/* ------------------------------------------------------------------- rows */

static bool is_timeless(const struct diff_row *r)
{
	return isnan(r->base_us) && isnan(r->new_us);
}

static void put_title(const struct table *t, FILE *out)
{
	char text[COLUMNS][TEXT_NUMBER];

	for (int c = 0; c < COLUMNS; c++)
		snprintf(text[c], TEXT_NUMBER, "%s", columns_of[c].title);
	fputc('\n', out);
	put_cells(t, text, out);
	fputs("kernel\n", out);
}

static void put_row(const struct table *t, const struct diff *d, const struct diff_row *r,
		    int columns, FILE *out)
{
	char text[COLUMNS][TEXT_NUMBER];

	cell(text, r);
	put_cells(t, text, out);
	put_name(kernel_of(r)->short_name, t->name, out);
	put_because(d, r, columns, out);
}

/* What the titles do not say. */
static void legend(const struct table *t, int columns, FILE *out)
{
	if (t->shown[NOISE])
		text_wrapped(
			"noise   ",
			"how far the times of one side differ by themselves; a change within it is none",
			columns, out);
	if (t->shown[EFFECT])
		text_wrapped("effect  ",
			     "what the kernel adds to the kernel time of the base's run", columns,
			     out);
}

void diff_text(const struct diff *d, double fail_on_pct, int columns, FILE *out)
{
	size_t timed = 0, listed = 0, timeless = 0;
	struct table t;

	if (columns < LEAST)
		columns = LEAST;
	t = layout(columns);
	head(d, fail_on_pct, columns, out);
	for (size_t i = 0; i < d->rows_n; i++) {
		if (is_timeless(&d->rows[i])) {
			timeless++;
		} else if (timed++ < ROWS) {
			if (!listed++)
				put_title(&t, out);
			put_row(&t, d, &d->rows[i], columns, out);
		}
	}
	if (timed > listed)
		fprintf(out, "%zu more with less effect on the run; --json has all\n",
			timed - listed);
	if (timeless)
		fprintf(out, "%zu more without a time; --json has them\n", timeless);
	if (listed)
		legend(&t, columns, out);
}
