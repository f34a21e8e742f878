/*
 * diff_json.c - kbn-diff/1: keys in the order of the contract, each always there, null when not known.
 */
#include <jansson.h>
#include <math.h>

#include "diff_render.h"

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *text(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* NULL when memory has run out, which then fails everything that it is put into. */
static json_t *texts(const char *const *list, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < n; i++)
		if (json_array_append_new(a, json_string(list[i])) != 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static json_t *quantity(const struct quantity *q)
{
	return json_pack("{s:o,s:o,s:o,s:s,s:s,s:o}", "value", real(q->value), "low", real(q->low),
			 "high", real(q->high), "label", quantity_label_names[q->label], "by",
			 quantity_by_names[q->by], "why", text(q->why));
}

static json_t *row(const struct diff_row *r)
{
	const struct diff_kernel *shown = r->new ? r->new : r->base;

	return json_pack("{s:s,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o}", "match",
			 diff_match_names[r->match], "base", text(r->base ? r->base->id : NULL),
			 "new", text(r->new ? r->new->id : NULL), "short_name", shown->short_name,
			 "base_us", real(r->base_us), "new_us", real(r->new_us), "change_pct",
			 real(r->change_pct), "noise_pct", real(r->noise_pct), "share_pct",
			 real(r->share_pct), "effect_pct", real(r->effect_pct), "verdict",
			 diff_verdict_names[r->verdict], "because",
			 texts(r->because, r->because_n));
}

static json_t *rows(const struct diff *d)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < d->rows_n; i++)
		if (json_array_append_new(a, row(&d->rows[i])) != 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

int diff_json(const struct diff *d, FILE *out, struct err *e)
{
	json_t *o = json_pack("{s:s,s:b,s:o,s:s,s:o,s:o}", "schema", "kbn-diff/1", "comparable",
			      d->comparable, "why_not", texts(d->why_not, d->why_not_n), "verdict",
			      diff_verdict_names[d->verdict], "run_change_pct",
			      quantity(&d->run_change_pct), "kernels", rows(d));
	int rc = o ? json_dumpf(o, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;

	json_decref(o);
	if (rc != 0 || fputc('\n', out) == EOF)
		return err_set(e, ERR_IO, -1, "cannot write the JSON document");
	return 0;
}
