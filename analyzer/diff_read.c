/*
 * diff_read.c - see diff_read.h. What a comparison cannot do without must be there: the schema and the
 * kernels with their ids and names. Everything else may be missing or null and is then not known;
 * numbers that cannot be (a negative time) are not known either.
 */
#include "diff_read.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis.h"
#include "arena.h"
#include "buf.h"
#include "render.h"
#include "text.h"

#define MOST_BYTES ((size_t)1 << 30) /* of a document: over 100,000 kernels */
#define SCHEMA     "kbn-report/1"

struct reader {
	struct arena *arena;
	bool failed; /* memory has run out */
};

/* ---- values, lenient */

/* A copy of a string without control characters, or `missing`. */
static const char *text_at(struct reader *r, const json_t *o, const char *key, const char *missing)
{
	const char *s = json_string_value(json_object_get(o, key));
	const char *copy = s ? arena_string(r->arena, s, strlen(s)) : missing;

	if (s && copy)
		copy = text_utf8(r->arena, copy, NULL);
	r->failed |= s && !copy;
	return copy;
}

/* NaN when it is missing, no number, or below zero. */
static double real_at(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double n = json_is_number(v) ? json_number_value(v) : NAN;

	return isfinite(n) && n >= 0 ? n : NAN;
}

/* A time that passed, so more than nothing. */
static double time_at(const json_t *o, const char *key)
{
	double us = real_at(o, key);

	return us > 0 ? us : NAN;
}

static int64_t count_at(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer_value(v) : -1;
}

static void triple_at(int64_t out[3], const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	for (size_t i = 0; i < 3; i++)
		out[i] = json_integer_value(json_array_get(v, i));
}

/* ---- parts of a report */

static bool read_kernel(struct reader *r, struct diff_kernel *k, const json_t *o)
{
	const json_t *launch = json_object_get(o, "launch"), *times = json_object_get(o, "time_us"),
		     *resources = json_object_get(o, "resources");

	*k = (struct diff_kernel){
		.id = text_at(r, o, "id", NULL),
		.name = text_at(r, o, "name", NULL),
		.demangled = text_at(r, o, "demangled", NULL),
		.short_name = text_at(r, o, "short_name", NULL),
		.code = text_at(r, json_object_get(o, "code"), "hash", NULL),
		.device = count_at(o, "device"),
		.dyn_smem_bytes = count_at(launch, "dyn_smem_bytes"),
		.overflow = json_is_true(json_object_get(o, "overflow")),
		.warmup_only = json_is_true(json_object_get(times, "warmup_only")),
		.launches = real_at(o, "launches"),
		.timed = real_at(times, "timed"),
		.total_us = time_at(json_object_get(times, "total"), "value"),
		.median_us = time_at(times, "median"),
		.p90_us = time_at(times, "p90"),
		.min_us = time_at(times, "min"),
		.uncertainty_us = real_at(times, "uncertainty"),
		.method = text_at(r, times, "method", NULL),
		.registers = count_at(resources, "registers"),
		.static_smem_bytes = count_at(resources, "static_smem_bytes"),
		.local_bytes = count_at(resources, "local_bytes"),
		.occupancy_pct = real_at(json_object_get(o, "occupancy"), "pct"),
	};
	if (isnan(k->total_us))
		k->total_us = k->median_us * k->launches;
	triple_at(k->grid, launch, "grid");
	triple_at(k->block, launch, "block");
	triple_at(k->cluster, launch, "cluster");
	if (!k->demangled)
		k->demangled = k->name;
	if (!k->short_name)
		k->short_name = k->name;
	return k->id && k->name;
}

static int read_kernels(struct reader *r, struct diff_report *out, const json_t *list,
			struct err *e)
{
	size_t n = json_array_size(list);
	struct diff_kernel *k = arena_array(r->arena, n + 1, sizeof(*k));

	if (!json_is_array(list))
		return err_set(e, ERR_CORRUPT, -1, "%s: a report has a list \"kernels\"",
			       err_path(out->path));
	for (size_t i = 0; k && i < n; i++)
		if (!read_kernel(r, &k[i], json_array_get(list, i)) && !r->failed)
			return err_set(e, ERR_CORRUPT, -1, "%s: kernels[%zu] has no %s",
				       err_path(out->path), i, k[i].id ? "name" : "id");
	r->failed |= !k;
	out->kernels = k;
	out->kernels_n = k ? n : 0;
	return 0;
}

static void read_devices(struct reader *r, struct diff_report *out, const json_t *list)
{
	size_t n = json_array_size(list);
	struct diff_device *d = arena_array(r->arena, n + 1, sizeof(*d));

	for (size_t i = 0; d && i < n; i++) {
		const json_t *o = json_array_get(list, i);

		d[i] = (struct diff_device){
			.name = text_at(r, o, "name", ""),
			.sm = text_at(r, o, "sm", ""),
			.sm_count = count_at(o, "sm_count"),
			.clock_mhz = real_at(o, "clock_mhz"),
			.observed_clock_mhz = real_at(o, "observed_clock_mhz"),
		};
	}
	r->failed |= !d;
	out->devices = d;
	out->devices_n = d ? n : 0;
}

/* The words of a command behind its program, with a blank between. */
static const char *arguments(struct reader *r, const json_t *command)
{
	size_t room = 1, n = json_array_size(command), used = 0;
	char *line;

	for (size_t i = 1; i < n; i++)
		room += json_string_length(json_array_get(command, i)) + 1;
	line = arena_alloc(r->arena, room);
	for (size_t i = 1; line && i < n; i++) {
		const char *word = json_string_value(json_array_get(command, i));

		used += (size_t)snprintf(line + used, room - used, "%s%s", used ? " " : "",
					 word ? word : "");
	}
	if (line)
		line = (char *)text_utf8(r->arena, line, NULL);
	r->failed |= !line;
	return line ? line : "";
}

static void read_runs(struct reader *r, struct diff_report *out, const json_t *runs)
{
	out->processes = json_array_size(runs);
	out->driver = text_at(r, json_array_get(runs, 0), "driver", "");
	out->arguments = arguments(r, json_object_get(json_array_get(runs, 0), "command"));
	for (size_t i = 0; i < out->processes; i++) {
		const char *end =
			json_string_value(json_object_get(json_array_get(runs, i), "end"));

		out->running |= end && strcmp(end, "running") == 0;
	}
}

/* Of the recording; where the report does not tell, of the kernels that it lists. */
static double kernel_time(const struct diff_report *d, const json_t *totals)
{
	double us = time_at(json_object_get(totals, "kernel_time_us"), "value"), sum = 0;

	for (size_t i = 0; i < d->kernels_n; i++)
		if (isfinite(d->kernels[i].total_us))
			sum += d->kernels[i].total_us;
	return isfinite(us) ? us : sum > 0 ? sum : NAN;
}

static int read_document(struct diff_report *out, struct arena *arena, const char *path,
			 const json_t *o, struct err *e)
{
	struct reader r = {.arena = arena};
	const char *schema = json_string_value(json_object_get(o, "schema"));
	const char *kept = arena_string(arena, path, strlen(path));
	struct diff_report d = {.path = kept};

	if (!kept)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (!schema || strcmp(schema, SCHEMA) != 0)
		return err_set(e, ERR_FORMAT, -1,
			       "%s is %s%.40s, not " SCHEMA " (kbn report DIR --json makes one)",
			       err_path(path), schema ? "" : "no document of kbn",
			       schema ? schema : "");
	read_devices(&r, &d, json_object_get(o, "devices"));
	read_runs(&r, &d, json_object_get(o, "runs"));
	if (read_kernels(&r, &d, json_object_get(o, "kernels"), e) != 0)
		return -1;
	if (r.failed)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	d.simulated = json_is_true(json_object_get(o, "simulated"));
	d.kernels_all = real_at(o, "kernels_all");
	d.kernel_time_us = kernel_time(&d, json_object_get(o, "totals"));
	*out = d;
	return 0;
}

int diff_read_json(struct diff_report *r, struct arena *arena, const char *path, const char *json,
		   size_t bytes, struct err *e)
{
	json_error_t fault;
	json_t *o = json_loadb(json, bytes, 0, &fault);
	int rc;

	if (!o)
		return err_set(e, ERR_CORRUPT, -1, "%s: line %d, column %d: %s", err_path(path),
			       fault.line, fault.column, fault.text);
	rc = read_document(r, arena, path, o, e);
	json_decref(o);
	return rc;
}

/* ---- files and directories */

/* The document that `kbn report DIR --json` prints. */
static int document_of(const char *dir, char **json, size_t *bytes, struct err *e)
{
	const struct analysis_request q = {
		.command = "diff", .dirs = &dir, .dirs_n = 1, .rank = -1};
	const struct render_options o = {0};
	struct analysis a = {0};
	FILE *out = NULL;
	int rc = analysis_open(&a, &q, e);

	if (rc == 0 && !(out = open_memstream(json, bytes)))
		rc = err_set(e, ERR_MEMORY, -1, "out of memory");
	if (rc == 0)
		rc = render_json.report(&a.report, &o, out, e);
	if (out && fclose(out) != 0 && rc == 0)
		rc = err_set(e, ERR_MEMORY, -1, "out of memory");
	analysis_close(&a);
	return rc;
}

int diff_read(struct diff_report *r, struct arena *arena, const char *path, struct err *e)
{
	char *json = NULL;
	size_t bytes = 0;
	struct stat st;
	int rc;

	if (stat(path, &st) != 0)
		return err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		rc = document_of(path, &json, &bytes, e);
	} else {
		uint8_t *data = NULL;

		rc = buf_load(path, MOST_BYTES, &data, &bytes, e);
		json = (char *)data;
	}
	if (rc == 0)
		rc = diff_read_json(r, arena, path, json, bytes, e);
	free(json);
	return rc;
}
