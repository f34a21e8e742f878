/*
 * test_render_json.c - kbn-report/1 against its own schema, and the promises of the contract that a
 * schema cannot state: six digits, no NaN, unknown is null, exact names.
 */
#include "kbn_test.h"

#include <jansson.h>
#include <math.h>

#include "report_fixture.h"
#include "schema.h"
#include "schema_valid.h"

static json_t *render(const struct report *r, char **text)
{
	struct render_options o = {80, 0};
	size_t bytes;
	FILE *out = open_memstream(text, &bytes);
	json_error_t fault;
	json_t *doc;

	assert_non_null(out);
	assert_int_equal(render_json.report(r, &o, out, NULL), 0);
	fclose(out);
	doc = json_loads(*text, 0, &fault);
	if (!doc)
		fail_msg("%s", fault.text);
	return doc;
}

/* ---- tests */

static void matches_its_schema(void **state)
{
	struct fixture_report f;
	char *text;
	json_t *doc;

	(void)state;
	fixture_report_open(&f);
	doc = render(&f.report, &text);
	assert_valid(doc, "kbn-report/1");
	json_decref(doc);
	free(text);
	fixture_report_close(&f);
}

/* The validator itself must be able to say no. */
static void the_schema_refuses(void **state)
{
	json_t *schema = schema_make("kbn-report/1"), *doc, *kernel;
	struct fixture_report f;
	char *text, why[512];

	(void)state;
	fixture_report_open(&f);
	doc = render(&f.report, &text);
	kernel = json_array_get(json_object_get(doc, "kernels"), 0);
	json_object_set_new(json_object_get(kernel, "launch"), "pdl", json_integer(0));
	assert_false(valid(schema, schema, doc, "", why));
	assert_non_null(strstr(why, "launch.pdl"));
	json_object_set_new(json_object_get(kernel, "launch"), "pdl", json_false());
	assert_true(valid(schema, schema, doc, "", why));
	json_object_del(json_object_get(kernel, "stalls"), "wait");
	assert_false(valid(schema, schema, doc, "", why));
	assert_non_null(strstr(why, "has no wait"));
	json_decref(doc);
	json_decref(schema);
	free(text);
	fixture_report_close(&f);
}

/* The kernel of that name; with several shapes the one whose grid is `grid` wide, 0 = any. */
static json_t *kernel_named(json_t *doc, const char *short_name, json_int_t grid)
{
	json_t *kernels = json_object_get(doc, "kernels"), *k;
	size_t i;

	json_array_foreach(
		kernels, i,
		k) if (strcmp(json_string_value(json_object_get(k, "short_name")), short_name) ==
			       0 &&
		       (!grid || json_integer_value(json_array_get(
					 json_object_get(json_object_get(k, "launch"), "grid"),
					 0)) == grid)) return k;
	fail_msg("no kernel %s", short_name);
	return NULL;
}

static double number(json_t *o, const char *path)
{
	char key[64];

	while (*path) {
		size_t n = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		o = json_object_get(o, key);
		if (!o)
			fail_msg("no key %s", key);
		path += n + (path[n] == '.');
	}
	return json_is_number(o) ? json_number_value(o) : NAN;
}

static void values(void **state)
{
	struct fixture_report f;
	json_t *doc, *k, *runs;
	char *text;

	(void)state;
	fixture_report_open(&f);
	doc = render(&f.report, &text);
	k = kernel_named(doc, "saxpy", 4096);
	assert_float_equal(number(k, "launches"), 100, 0);
	assert_float_equal(number(k, "time_us.timed"), 50, 0);
	assert_float_equal(number(k, "time_us.median"), 10, 0.2);
	assert_float_equal(number(k, "occupancy.limits.warps"), 8, 0);
	assert_true(json_is_null(json_object_get(
		json_object_get(json_object_get(k, "occupancy"), "limits"), "cluster")));
	assert_true(isnan(number(k, "work.flops.value")));
	k = kernel_named(doc, "never_timed", 0);
	assert_true(isnan(number(k, "time_us.median")) && isnan(number(k, "time_us.total.value")));
	assert_true(isnan(number(k, "resources.registers")));
	assert_true(isnan(number(k, "occupancy.blocks_per_sm")));
	assert_true(json_is_null(json_object_get(k, "smem_cliff")));
	runs = json_array_get(json_object_get(doc, "runs"), 0);
	assert_true(json_is_null(json_object_get(runs, "rank")));
	assert_true(json_is_null(json_object_get(json_object_get(doc, "accounting"), "copies")));
	json_decref(doc);
	free(text);
	fixture_report_close(&f);
}

/* Bytes that are no UTF-8 become U+FFFD, and the exact name stands beside it. */
static void names_that_are_not_text(void **state)
{
	struct fixture_report f;
	json_t *doc, *kernels, *k;
	char *text;
	size_t i, found = 0;

	(void)state;
	fixture_report_open(&f);
	doc = render(&f.report, &text);
	kernels = json_object_get(doc, "kernels");
	json_array_foreach(kernels, i, k)
	{
		const char *hex = json_string_value(json_object_get(k, "name_hex"));

		if (!hex)
			continue;
		assert_string_equal(hex, "6b5fff5f0978");
		assert_string_equal(json_string_value(json_object_get(k, "name")),
				    "k_\xef\xbf\xbd_\xef\xbf\xbdx");
		found++;
	}
	assert_int_equal(found, 1);
	json_decref(doc);
	free(text);
	fixture_report_close(&f);
}

/* No number of the text has more than six significant digits behind a point, and none is NaN. */
static void digits(void **state)
{
	struct fixture_report f;
	char *text, *at;

	(void)state;
	fixture_report_open(&f);
	json_decref(render(&f.report, &text));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	for (at = text; (at = strpbrk(at, "0123456789"));) {
		size_t all = strspn(at, "0123456789."), significant = 0;
		bool inside = at > text &&
			      (at[-1] == '"' ||
			       strchr("abcdefghijklmnopqrstuvwxyz_-%ABCDEFGHIJKLMNOPQRSTUVWXYZ:(/+",
				      at[-1]));

		if (!inside && memchr(at, '.', all) && at[-1] == ' ' && at[-2] == ':') {
			const char *digit = at + strspn(at, "0.");

			for (; digit < at + all; digit++)
				significant += *digit != '.';
			if (significant > 6)
				fail_msg("%.*s", (int)all, at);
		}
		at += all;
	}
	free(text);
	fixture_report_close(&f);
}

/* Every key of objects in the schema `s`, further ones (a name of an operation, a device) left out. */
static void find_keys(const json_t *s, const char *text)
{
	const char *key;
	char quoted[64];
	size_t i;
	json_t *v;

	json_object_foreach((json_t *)json_object_get(s, "properties"), key, v)
	{
		snprintf(quoted, sizeof(quoted), "`%s`", key);
		if (!strstr(text, quoted))
			fail_msg("analyzer/README.md does not explain %s", quoted);
		find_keys(v, text);
	}
	v = json_object_get(s, "items");
	if (v)
		find_keys(v, text);
	json_object_foreach((json_t *)json_object_get(s, "$defs"), key, v) find_keys(v, text);
	json_array_foreach(json_object_get(s, "anyOf"), i, v) find_keys(v, text);
}

static void the_readme_explains_every_key(void **state)
{
	const size_t room = 1 << 20;
	char *text = calloc(1, room);
	FILE *f = fopen("analyzer/README.md", "r");
	json_t *schema = schema_make("kbn-report/1");

	(void)state;
	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, room - 1, f) > 0);
	fclose(f);
	find_keys(schema, text);
	json_decref(schema);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_its_schema),
		cmocka_unit_test(the_schema_refuses),
		cmocka_unit_test(values),
		cmocka_unit_test(names_that_are_not_text),
		cmocka_unit_test(digits),
		cmocka_unit_test(the_readme_explains_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
