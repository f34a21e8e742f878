/*
 * render_csv.c - one row per kernel for spreadsheets: the scalar keys of the JSON object joined by dots,
 * quantities as value and label, triples as "x y z". Made from the JSON object, so it cannot disagree.
 */
#include "render.h"

#include <jansson.h>
#include <string.h>

#include "render_json.h"
#include "render_json_value.h"

static bool is_triple(const json_t *v)
{
	return json_array_size(v) == 3 && json_is_integer(json_array_get(v, 0));
}

static void add(json_t *row, const char *key, json_t *value)
{
	json_object_set_new(row, key, value);
}

static void add_triple(json_t *row, const char *key, const json_t *v)
{
	add(row, key,
	    json_sprintf("%lld %lld %lld", (long long)json_integer_value(json_array_get(v, 0)),
			 (long long)json_integer_value(json_array_get(v, 1)),
			 (long long)json_integer_value(json_array_get(v, 2))));
}

/* Objects that may be null as a whole: then they have no cells, and no cell of their own name. */
static bool is_absent_object(const char *path, const json_t *v)
{
	static const char *const names[] = {"problem", "smem_cliff", "sass", "work.executed",
					    "timeline"};

	for (size_t i = 0; json_is_null(v) && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return false;
}

/* Depth is that of the contract, three levels. */
static void flatten(json_t *row, const char *prefix, json_t *object)
{
	const char *key;
	json_t *v;

	json_object_foreach(object, key, v)
	{
		char path[160];

		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(v) && json_object_get(v, "label") &&
		    json_object_get(v, "value")) {
			add(row, path, json_incref(json_object_get(v, "value")));
			strncat(path, ".label", sizeof(path) - strlen(path) - 1);
			add(row, path, json_incref(json_object_get(v, "label")));
		} else if (strcmp(path, "sass.mix") == 0) {
			continue; /* a column for each operation there is: in the JSON */
		} else if (json_is_object(v)) {
			flatten(row, path, v);
		} else if (is_triple(v)) {
			add_triple(row, path, v);
		} else if (!json_is_array(v) && !is_absent_object(path, v)) {
			add(row, path, json_incref(v));
		}
	}
}

static void quoted(const char *s, FILE *out)
{
	if (!strpbrk(s, ",\"\n\r")) {
		fputs(s, out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

static void cell(const json_t *v, FILE *out)
{
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING: quoted(json_string_value(v), out); break;
	case JSON_INTEGER: fprintf(out, "%lld", (long long)json_integer_value(v)); break;
	case JSON_REAL: fprintf(out, "%.6g", json_real_value(v)); break;
	case JSON_TRUE: fputs("true", out); break;
	case JSON_FALSE: fputs("false", out); break;
	default: break; /* not known: empty */
	}
}

static void line(json_t *header, const json_t *row, FILE *out)
{
	const char *key, *comma = "";
	json_t *unused;

	json_object_foreach(header, key, unused)
	{
		fputs(comma, out);
		if (row)
			cell(json_object_get(row, key), out);
		else
			quoted(key, out);
		comma = ",";
	}
	fputs("\n", out);
}

/* Objects may be null in one kernel and not in another, so the header is made of all of them. */
static int report_csv(const struct report *r, const struct render_options *options, FILE *out,
		      struct err *e)
{
	json_t *rows = json_array(), *header = json_object();
	size_t i;
	json_t *row;

	(void)options;
	for (i = 0; i < r->kernels_n; i++) {
		json_t *k = render_json_kernel(r, &r->kernels[i]);

		row = json_object();
		flatten(row, "", k);
		json_decref(k);
		json_object_update_missing(header, row);
		json_array_append_new(rows, row);
	}
	if (r->kernels_n)
		line(header, NULL, out);
	json_array_foreach(rows, i, row) line(header, row, out);
	json_decref(rows);
	json_decref(header);
	if (!value_complete() || ferror(out))
		return err_set(e, ERR_IO, -1, "cannot write the table");
	return 0;
}

const struct render_format render_csv = {"csv", "report.csv", report_csv};
