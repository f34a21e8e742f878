/*
 * calibration.c - see calibration.h. Input: kbn-calibration/1 documents written by `kbn calibrate`.
 * Leaves measuring to cmd_calibrate.c.
 */
#include "calibration.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NA                    (-1)
#define CALIBRATION_MAX_BYTES (1 << 20)

static const struct bias_row {
	int sm;
	double gated, uncertainty, plain;
	const char *source;
} bias_rows[] = {
#define BIAS(sm, gated, uncertainty, plain, source) {sm, gated, uncertainty, plain, source},
#include "tables/bias.def"
#undef BIAS
};

static void clear(struct calibration *c)
{
	memset(c, 0, sizeof(*c));
	c->gated_bias_us = c->gated_uncertainty_us = c->plain_bias_us = NAN;
	c->copy_gbps = c->sm_clock_mhz = c->l2_effective_bytes = NAN;
	for (int i = 0; i < PEAK_N; i++)
		c->peaks[i] = NAN;
}

void calibration_uuid(char out[48], const uint8_t u[16])
{
	snprintf(out, 48,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
}

/* A number of the document, NaN when it is null, absent or no sensible measurement. */
static double number(const json_t *root, const char *key)
{
	const json_t *v = json_object_get(root, key);
	double d = json_is_number(v) ? json_number_value(v) : NAN;

	return isfinite(d) && d >= 0 ? d : NAN;
}

/* The document within a list of them: the only one, else NULL. */
static json_t *only_one(json_t *root)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	json_t *list = json_object_get(root, "devices");

	if (!schema || strcmp(schema, "kbn-calibrations/1") != 0)
		return root;
	return json_array_size(list) == 1 ? json_array_get(list, 0) : NULL;
}

int calibration_parse(struct calibration *c, const char *json, size_t bytes, struct err *e)
{
	json_error_t fault;
	json_t *whole = json_loadb(json, bytes, 0, &fault), *root;
	const json_t *matrix;
	const char *schema, *date;
	int rc = -1;

	clear(c);
	if (!whole)
		return err_set(e, ERR_CORRUPT, fault.position, "calibration file: %s", fault.text);
	root = only_one(whole);
	if (!root) {
		err_set(e, ERR_FORMAT, -1, "calibration file: it is not of one device");
		goto out;
	}
	schema = json_string_value(json_object_get(root, "schema"));
	if (!schema || strcmp(schema, "kbn-calibration/1") != 0) {
		err_set(e, ERR_VERSION, -1, "calibration file: not a kbn-calibration/1 document");
		goto out;
	}
	date = json_string_value(json_object_get(root, "date"));
	snprintf(c->date, sizeof(c->date), "%s", date ? date : "");
	c->sm = (int)json_integer_value(json_object_get(root, "sm"));
	c->gated_bias_us = number(root, "gated_bias_us");
	c->gated_uncertainty_us = number(root, "gated_uncertainty_us");
	c->plain_bias_us = number(root, "plain_bias_us");
	c->copy_gbps = number(root, "copy_gbps");
	c->sm_clock_mhz = number(root, "sm_clock_mhz");
	c->l2_effective_bytes = number(root, "l2_effective_bytes");
	matrix = json_object_get(root, "matrix");
	for (int i = 0; i < PEAK_N; i++)
		c->peaks[i] = number(matrix, arch_peak_keys[i]);
	if (isnan(c->peaks[PEAK_FP32]))
		c->peaks[PEAK_FP32] = number(root, "fp32_tflops");
	c->found = true;
	rc = 0;
out:
	json_decref(whole);
	return rc;
}

/* The whole of a small file, NULL when it is not there. */
static char *slurp(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;

	if (!f)
		return NULL;
	data = malloc(CALIBRATION_MAX_BYTES);
	*bytes = data ? fread(data, 1, CALIBRATION_MAX_BYTES, f) : 0;
	fclose(f);
	return data;
}

int calibration_load(struct calibration *c, const uint8_t uuid[16], struct err *e)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char name[48], base[4096], path[4400], *data = NULL;
	size_t bytes = 0;
	int rc = 0;

	clear(c);
	if (cache && *cache)
		snprintf(base, sizeof(base), "%s", cache);
	else if (home && *home)
		snprintf(base, sizeof(base), "%s/.cache", home);
	else
		return 0;
	calibration_uuid(name, uuid);
	for (int skip = 0; !data && skip <= 4; skip += 4) { /* with "GPU-", then without */
		snprintf(path, sizeof(path), "%s/kbn/%s.json", base, name + skip);
		data = slurp(path, &bytes);
	}
	if (data)
		rc = calibration_parse(c, data, bytes, e);
	free(data);
	return rc;
}

int calibration_file(struct calibration *c, const char *path, struct err *e)
{
	struct err bad = {0};
	size_t bytes = 0;
	char *data;
	int rc;

	errno = 0;
	data = slurp(path, &bytes);
	if (!data)
		return err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
	rc = calibration_parse(c, data, bytes, &bad);
	free(data);
	if (rc != 0)
		return err_set(e, bad.code, bad.offset, "%s: %s", err_path(path), bad.text);
	c->is_of_user = true;
	return 0;
}

double event_bias_plain_uncertainty(const struct event_bias *b)
{
	return b->gated_uncertainty_ns + fabs(b->plain_ns - b->gated_ns) / 2;
}

struct event_bias calibration_bias(const struct calibration *c, int sm)
{
	const struct bias_row *row = bias_rows;
	struct event_bias b;

	while (row->sm != sm && row->sm != NA)
		row++;
	b = (struct event_bias){row->gated, row->uncertainty, row->plain, false, row->source};
	if (c && c->found && !isnan(c->gated_bias_us)) {
		b.gated_ns = 1e3 * c->gated_bias_us;
		b.gated_uncertainty_ns = isnan(c->gated_uncertainty_us)
						 ? row->uncertainty
						 : 1e3 * c->gated_uncertainty_us;
		b.plain_ns = isnan(c->plain_bias_us) ? row->plain : 1e3 * c->plain_bias_us;
		b.calibrated = true;
		b.source = "kbn calibrate";
	}
	return b;
}
