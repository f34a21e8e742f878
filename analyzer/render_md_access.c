/* render_md_access.c - see render_md_access.h. */
#include "render_md_access.h"

#include <math.h>
#include <string.h>

#include "render_md_advice.h"

#define SITES 8 /* that are listed */

/* A count in full, and two decimals where it is none. */
static const char *number(char out[TEXT_NUMBER], double v)
{
	if (v == floor(v) && v >= 0 && v < 1e15)
		return text_count(out, (uint64_t)v);
	snprintf(out, TEXT_NUMBER, "%.*f", v < 100 ? 2 : 0, v);
	return out;
}

static void line(const char *what, const struct quantity *q, const char *unit, FILE *out)
{
	char t[TEXT_NUMBER], low[TEXT_NUMBER], high[TEXT_NUMBER];

	fprintf(out, "- %s: ", what);
	if (!quantity_known(q)) {
		fputs("not known (", out);
		render_md_plain(q->why ? q->why : "no data", out);
		fputs(")\n", out);
		return;
	}
	fprintf(out, "**%s%s** (%s", number(t, q->value), unit, quantity_label_names[q->label]);
	if (!isnan(q->low) && !isnan(q->high) && q->low < q->high)
		fprintf(out, ", %s to %s", number(low, q->low), number(high, q->high));
	else if (!isnan(q->low) && q->low < q->value)
		fprintf(out, ", %s at least", number(low, q->low));
	if (q->why) {
		fputs("; ", out);
		render_md_plain(q->why, out);
	}
	fputs(")\n", out);
}

static void cell(const struct quantity *q, FILE *out)
{
	char t[TEXT_NUMBER];

	fprintf(out, " %s%s |", quantity_known(q) && q->label == QUANTITY_ESTIMATED ? "~" : "",
		quantity_known(q) ? number(t, q->value) : "-");
}

static bool has_kind(const struct metric_access *a, const char *kind)
{
	for (size_t i = 0; i < a->sites_n; i++)
		if (!strcmp(a->sites[i].kind, kind))
			return true;
	return false;
}

/* Whether neighbours use sectors of each other. */
static bool is_shared(const struct metric_access *a)
{
	for (size_t i = 0; i < a->sites_n; i++)
		if (a->sites[i].sharers)
			return true;
	return false;
}

/* What wastes something, or is done one after the other; what is not known is said in sum. */
static bool is_listed(const struct metric_site *s)
{
	return (quantity_known(&s->excess) && s->excess.value > 0) || !strcmp(s->kind, "atomic");
}

static void row(const struct metric_site *s, FILE *out)
{
	fprintf(out, "| 0x%llx | ", (unsigned long long)s->offset);
	render_md_plain(s->op, out);
	fprintf(out, " (%s) |", s->kind);
	cell(&s->requests, out);
	cell(&s->sectors_per_request, out);
	cell(&s->excess, out);
	fputc(' ', out);
	if (s->pattern)
		render_md_plain(s->pattern, out);
	else if (!quantity_known(&s->sectors_per_request))
		render_md_plain(s->sectors_per_request.why, out);
	if (s->sharers && quantity_known(&s->own_excess)) {
		char own[TEXT_NUMBER];

		fprintf(out, "; %s use ", s->sharers);
		if (s->own_excess.value > 0)
			fprintf(out, "all but %s of the excess", number(own, s->own_excess.value));
		else
			fputs("the excess", out);
	}
	if (s->line) {
		fputs(", ", out);
		render_md_plain(s->line, out);
	}
	fputs(" |\n", out);
}

static void sites(const struct metric_access *a, FILE *out)
{
	size_t listed = 0;

	for (size_t i = 0; i < a->sites_n; i++) {
		if (!is_listed(&a->sites[i]))
			continue;
		if (!listed++)
			fputs("\n| at | instruction | requests | sectors or wavefronts | excess | addresses |\n"
			      "|---|---|---:|---:|---:|---|\n",
			      out);
		if (listed <= SITES)
			row(&a->sites[i], out);
	}
	if (listed > SITES)
		fprintf(out, "\n%zu more are in the JSON report.\n", listed - SITES);
}

void render_md_access(const struct report_kernel *k, FILE *out)
{
	const struct metric_access *a = k->access;

	if (!a || !a->sites_n)
		return;
	fputs("#### Memory Access\n\n", out);
	if (has_kind(a, "load"))
		line("sectors of 32 B per load", &a->sectors_per_request_load, "", out);
	if (has_kind(a, "store"))
		line("sectors of 32 B per store", &a->sectors_per_request_store, "", out);
	if (has_kind(a, "load") || has_kind(a, "store")) {
		line("excess sectors", &a->excess_sectors, "", out);
		if (is_shared(a))
			line("of these, what no neighbour uses", &a->wasted_sectors, "", out);
	}
	if (has_kind(a, "shared"))
		line("wavefronts per access to shared memory", &a->shared_wavefronts_per_request,
		     "", out);
	if (has_kind(a, "atomic"))
		line("atomic operations of lanes", &a->atomics, "", out);
	line("lanes idle while others of their warp execute", &a->divergence_pct, "%", out);
	sites(a, out);
	fputs("\n", out);
}
