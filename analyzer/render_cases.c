/*
 * render_cases.c - several sizes of a kernel side by side, for text and Markdown: which class each has and
 * where that changes. Input: the cases of a report, kernel by kernel. Only `kbn analyze --case` has them.
 */
#include "render_cases.h"

#include <math.h>
#include <string.h>

static const char *class_words(const struct report_kernel *k)
{
	static const char *const words[][2] = {{"memory", "memory-bound"},
					       {"compute", "compute-bound"},
					       {"balanced", "balanced"},
					       {"latency", "latency-bound"},
					       {"launch", "launch-bound"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i][0], k->verdict.class) == 0)
			return words[i][1];
	return "not classified";
}

/* "grid 64 x 4"; what is 1 at the end is left out. */
static size_t put_sides(char *out, const char *what, const uint32_t v[3])
{
	size_t n = (size_t)snprintf(out, TEXT_LINE / 2, "%s %u", what, v[0]);

	for (int i = 1; i < (v[2] > 1 ? 3 : v[1] > 1 ? 2 : 1); i++)
		n += (size_t)snprintf(out + n, TEXT_LINE / 2 - n, " x %u", v[i]);
	return n;
}

/* "512 x 512 x 64" of a product, the other problems with their names, else the geometry. */
static void put_size(char out[TEXT_LINE], const struct report_kernel *k)
{
	const struct work *w = k->work;
	size_t n = 0;

	if (!w || !w->dims_n) {
		n = put_sides(out, "grid", k->grid);
		put_sides(out + n, ", block", k->block);
		return;
	}
	for (int i = 0; i < w->dims_n; i++)
		if (w->kind == WORK_GEMM)
			n += (size_t)snprintf(out + n, TEXT_LINE - n, "%s%lld", i ? " x " : "",
					      (long long)w->dims[i].value);
		else
			n += (size_t)snprintf(out + n, TEXT_LINE - n, "%s%s %lld", i ? ", " : "",
					      w->dims[i].name, (long long)w->dims[i].value);
}

static bool is_same_kernel(const struct report_kernel *a, const struct report_kernel *b)
{
	return strcmp(a->name, b->name) == 0 &&
	       (a->code.hash == b->code.hash ||
		(a->code.hash && b->code.hash && strcmp(a->code.hash, b->code.hash) == 0));
}

/* Those of the kernel that `first` is the first of. */
static size_t group_of(const struct report *r, size_t first)
{
	size_t end = first + 1;

	while (end < r->cases_n && is_same_kernel(r->cases[first], r->cases[end]))
		end++;
	return end;
}

/* "latency-bound at 512 x 512 x 64, memory-bound at ...": one mention for neighbours of one class. */
static void put_summary(char out[TEXT_LINE], const struct report *r, size_t from, size_t end)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = from, last; i < end && n < TEXT_LINE; i = last + 1) {
		char first_size[TEXT_LINE], last_size[TEXT_LINE];
		const char *words = class_words(r->cases[i]);

		for (last = i; last + 1 < end && class_words(r->cases[last + 1]) == words;)
			last++;
		put_size(first_size, r->cases[i]);
		put_size(last_size, r->cases[last]);
		n += (size_t)snprintf(out + n, TEXT_LINE - n, "%s%s at %s%s%s",
				      i > from ? ", " : "", words, first_size,
				      last == i       ? ""
				      : last == i + 1 ? " and "
						      : " to ",
				      last == i ? "" : last_size);
	}
}

static double attained(const struct report_kernel *k)
{
	return k->roofline ? k->roofline->attained_pct.value : NAN;
}

/* ---------------------------------------------------------------- Markdown */

/* A short name cannot hold a line break; as code only backticks and bars matter. */
static void put_code(const char *s, FILE *out)
{
	fputc('`', out);
	for (; *s; s++)
		fputc(*s == '`' || *s == '|' ? '\'' : *s, out);
	fputc('`', out);
}

static void md_row(const struct report_kernel *k, FILE *out)
{
	const struct occupancy *o = k->occupancy_known ? &k->occupancy : NULL;
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER], size[TEXT_LINE];

	put_size(size, k);
	fprintf(out, "| %u | %s | %s | %s | %s | %s | %s |\n", k->given + 1, size,
		render_median(a, &k->times), text_ratio(b, o ? o->waves : NAN),
		text_pct(c, o ? o->pct : NAN), text_pct(d, attained(k)), class_words(k));
}

void render_cases_md(const struct report *r, FILE *out)
{
	char summary[TEXT_LINE];

	if (r->cases_n)
		fputs("## Sizes side by side\n\n", out);
	for (size_t i = 0, end; i < r->cases_n; i = end) {
		end = group_of(r, i);
		put_code(r->cases[i]->short_name, out);
		put_summary(summary, r, i, end);
		fprintf(out, ": %s.\n\n", summary);
		fputs("| case | size | median | waves | max occupancy | of the nearer roof | class |\n"
		      "|---:|---|---:|---:|---:|---:|---|\n",
		      out);
		for (size_t k = i; k < end; k++)
			md_row(r->cases[k], out);
		fputs("\n", out);
	}
}

/* -------------------------------------------------------------------- text */

#define NARROW 70 /* columns; below there is no room for what the table of kernels has too */

static void text_row(const struct report_kernel *k, int columns, FILE *out)
{
	const struct occupancy *o = k->occupancy_known ? &k->occupancy : NULL;
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER], size[TEXT_LINE];
	char lead[TEXT_LINE];

	put_size(size, k);
	if (columns < NARROW)
		snprintf(lead, sizeof(lead), "%4u %9s  %-14s ", k->given + 1,
			 render_median(a, &k->times), class_words(k));
	else
		snprintf(lead, sizeof(lead), "%4u %9s %6s %7s %7s  %-14s ", k->given + 1,
			 render_median(a, &k->times), text_ratio(b, o ? o->waves : NAN),
			 text_pct(c, o ? o->pct : NAN), text_pct(d, attained(k)), class_words(k));
	text_wrapped(lead, size, columns, out);
}

void render_cases_text(const struct report *r, int columns, FILE *out)
{
	char summary[TEXT_LINE], lead[RENDER_LABEL];

	for (size_t i = 0, end; i < r->cases_n; i = end) {
		end = group_of(r, i);
		put_summary(summary, r, i, end);
		snprintf(lead, sizeof(lead), "%.100s: ", r->cases[i]->short_name);
		text_wrapped(lead, summary, columns, out);
		fputs(columns < NARROW
			      ? "case    median  class          size\n"
			      : "case    median  waves max occ of roof  class          size\n",
		      out);
		for (size_t k = i; k < end; k++)
			text_row(r->cases[k], columns, out);
	}
}
