/*
 * cmd_calibrate.c - `kbn calibrate`: measures each device once and keeps the result where reports
 * look for it, ${XDG_CACHE_HOME:-~/.cache}/kbn/<uuid>.json, written under a temporary name and
 * renamed. --json prints, -o writes {"schema":"kbn-calibrations/1","devices":[DOCUMENT,…]}.
 *
 * DOCUMENT: {"schema":"kbn-calibration/1","uuid":"GPU-…","name":"…","sm":90,"date":"RFC 3339",
 *   "driver":"580.…"|null,"driver_api":13000,"seconds":n,
 *   "gated_bias_us":n,"gated_uncertainty_us":n,"plain_bias_us":n,     // to subtract from event times
 *   "gated_empty_us":n,"gated_nothing_us":n,"gated_slope_us":n,"gated_spread_us":n,"cupti_empty_us":n,
 *   "copy_gbps":n,"fp32_tflops":n,"sm_clock_mhz":n,"l2_effective_bytes":n,"l2_gbps":n,
 *   "matrix":{"fp16_tensor_fp32acc_tflops":n,…},                      // dense
 *   "methods":{"KEY":"how"},"why":{"KEY":"why it is null"}}           // each key is in one of the two
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrate.h"
#include "cmd.h"
#include "whole_file.h"

static const struct {
	const char *group, *key;
} readings[CALIBRATE_N] = {
#define CALIBRATE_ROW(id, group, key) {group, key},
	CALIBRATE_READINGS(CALIBRATE_ROW)
#undef CALIBRATE_ROW
};

/* "580.159.04" from the kernel module, or null. */
static json_t *driver_version(void)
{
	char line[256], version[64];
	FILE *f = fopen("/proc/driver/nvidia/version", "r");
	json_t *result = NULL;
	char *at;

	if (f && fgets(line, sizeof(line), f) && (at = strstr(line, "Module")))
		for (at += 6; *at && !result; at += strcspn(at, " ")) {
			at += strspn(at, " ");
			/* the word "for" and an architecture may stand before the number */
			if (sscanf(at, "%63[0-9.]", version) == 1 && strchr(version, '.'))
				result = json_string(version);
		}
	if (f)
		fclose(f);
	return result ? result : json_null();
}

static json_t *today(void)
{
	char text[32];
	time_t t = time(NULL);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static json_t *document(const struct calibrate_device *d)
{
	json_t *doc = json_pack("{s:s,s:s,s:s,s:i,s:o,s:o,s:i,s:f}", "schema", "kbn-calibration/1",
				"uuid", d->uuid, "name", d->name, "sm", d->sm, "date", today(),
				"driver", driver_version(), "driver_api", d->driver_api, "seconds",
				d->seconds);
	json_t *matrix = json_object(), *methods = json_object(), *why = json_object();

	for (int i = 0; i < CALIBRATE_N; i++) {
		const struct calibrate_value *v = &d->values[i];
		json_t *to = readings[i].group[0] ? matrix : doc;

		json_object_set_new(to, readings[i].key,
				    v->known ? json_real(v->value) : json_null());
		json_object_set_new(v->known ? methods : why, readings[i].key,
				    json_string(v->note));
	}
	json_object_set_new(doc, "matrix", matrix);
	json_object_set_new(doc, "methods", methods);
	json_object_set_new(doc, "why", why);
	return doc;
}

#define DUMP_FLAGS (JSON_INDENT(1) | JSON_REAL_PRECISION(6))

/* Reports may read the file at any time: they see the old or the new one, never a part. */
static int write_atomically(const json_t *doc, const char *path, struct err *e)
{
	struct whole_file w;
	bool ok;

	if (whole_file_open(&w, path, e) != 0)
		return -1;
	ok = json_dumpf(doc, w.out, DUMP_FLAGS) == 0 && fputc('\n', w.out) != EOF;
	if (whole_file_close(&w, ok, e) != 0)
		return -1;
	return ok ? 0 : err_set(e, ERR_IO, -1, "cannot write %s", path);
}

/* Makes each folder on the way to the last slash of `path`. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
}

static int cache_path(const char *uuid, char path[4096], struct err *e)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache)
		snprintf(path, 4096, "%s/kbn/%s.json", cache, uuid);
	else if (home && *home)
		snprintf(path, 4096, "%s/.cache/kbn/%s.json", home, uuid);
	else
		return err_set(e, ERR_NOT_FOUND, -1, "neither XDG_CACHE_HOME nor HOME is set");
	make_folders(path);
	return 0;
}

static void print_device(const struct calibrate_device *d, const char *path)
{
	printf("%s  sm_%d  %s\n", d->name, d->sm, d->uuid);
	for (int i = 0; i < CALIBRATE_N; i++) {
		const struct calibrate_value *v = &d->values[i];

		if (v->known)
			printf("  %-28s %12.6g  %s\n", readings[i].key, v->value, v->note);
		else
			printf("  %-28s %12s  %s\n", readings[i].key, "unknown", v->note);
	}
	printf("  kept in %s (%.1f s)\n", path, d->seconds);
}

/* One device: measured, kept, shown, added to `all`. */
static int calibrate_one(int ordinal, const struct calibrate_cupti *cupti, bool quiet, json_t *all,
			 struct err *e)
{
	struct calibrate_device d;
	char path[4096];
	json_t *doc;
	int result;

	if (calibrate_device(ordinal, cupti, &d, e) != 0)
		return -1;
	doc = document(&d);
	result = cache_path(d.uuid, path, e);
	if (result == 0)
		result = write_atomically(doc, path, e);
	if (!quiet)
		print_device(&d, result == 0 ? path : "no file");
	json_array_append_new(all, doc);
	return result;
}

static int usage(FILE *to)
{
	fputs("usage: kbn calibrate [--json] [-o FILE]\n"
	      "Measures this machine's devices (some seconds each) and keeps the result for reports in\n"
	      "${XDG_CACHE_HOME:-~/.cache}/kbn/<uuid>.json.\n"
	      "  --json     print the measurements as JSON\n"
	      "  -o FILE    write them to FILE too\n",
	      to);
	return to == stdout ? CMD_GOOD : CMD_USAGE;
}

int cmd_calibrate(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *output = NULL;
	struct calibrate_cupti cupti;
	struct err e = {0};
	bool json = false;
	json_t *all, *doc;
	int opt, n, failed = CMD_GOOD;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'j': json = true; break;
		case 'o': output = optarg; break;
		case 'h': return usage(stdout);
		default: return usage(stderr);
		}
	}
	if (optind < argc)
		return usage(stderr);
	if (calibrate_available(&e) != 0)
		return cmd_fail("calibrate", &e);
	calibrate_cupti(&cupti); /* forks: before this process starts the driver */
	n = calibrate_count(&e);
	if (n < 0)
		return cmd_fail("calibrate", &e);
	all = json_array();
	for (int i = 0; i < n; i++) {
		if (calibrate_one(i, &cupti, json, all, &e) != 0)
			failed = cmd_fail("calibrate", &e);
	}
	doc = json_pack("{s:s,s:o}", "schema", "kbn-calibrations/1", "devices", all);
	if (json) {
		json_dumpf(doc, stdout, DUMP_FLAGS);
		putchar('\n');
	}
	if (output && write_atomically(doc, output, &e) != 0)
		failed = cmd_fail("calibrate", &e);
	json_decref(doc);
	return failed;
}
