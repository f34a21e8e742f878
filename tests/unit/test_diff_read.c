/*
 * test_diff_read.c - a report document as plain data: what must be there, what may be missing, what a
 * fault says; a recording gives the same as its document; and kbn-diff/1 against its schema.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "diff.h"
#include "diff_read.h"
#include "diff_render.h"
#include "render.h"
#include "report_fixture.h"
#include "schema_valid.h"

#define LEAST(kernels) "{\"schema\":\"kbn-report/1\",\"kernels\":[" kernels "]}"

static struct arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct diff_report read_text(const char *json)
{
	struct err e = {.text = ""};
	struct tail_copy t = tail_copy(json, strlen(json));
	struct diff_report r;

	if (diff_read_json(&r, arena, "some/x.json", t.data, strlen(json), &e) != 0)
		fail_msg("%s", e.text);
	tail_free(&t);
	return r;
}

static void assert_refused(const char *json, enum err_code code, const char *says)
{
	struct err e = {.text = ""};
	struct tail_copy t = tail_copy(json, strlen(json));
	struct diff_report r;

	assert_int_equal(diff_read_json(&r, arena, "some/x.json", t.data, strlen(json), &e), -1);
	tail_free(&t);
	assert_int_equal(e.code, code);
	if (!strstr(e.text, says) || !strstr(e.text, "some/x.json"))
		fail_msg("\"%s\" in \"%s\"", says, e.text);
}

static void test_faults(void **state)
{
	(void)state;
	assert_refused("{\n \"schema\": \"kbn-report/1\",\n oops", ERR_CORRUPT, "line 3");
	assert_refused("", ERR_CORRUPT, "line 1");
	assert_refused("[]", ERR_FORMAT, "no document of kbn");
	assert_refused("{\"schema\":7}", ERR_FORMAT, "no document of kbn");
	assert_refused("{\"schema\":\"kbn-sass/1\"}", ERR_FORMAT,
		       "is kbn-sass/1, not kbn-report/1");
	assert_refused("{\"schema\":\"kbn-report/2\"}", ERR_FORMAT, "is kbn-report/2");
	assert_refused("{\"schema\":\"kbn-report/1\"}", ERR_CORRUPT, "list \"kernels\"");
	assert_refused("{\"schema\":\"kbn-report/1\",\"kernels\":{}}", ERR_CORRUPT,
		       "list \"kernels\"");
	assert_refused(LEAST("{\"id\":\"1\",\"name\":\"k\"},{\"id\":\"1\"}"), ERR_CORRUPT,
		       "kernels[1] has no name");
	assert_refused(LEAST("{\"name\":\"k\"}"), ERR_CORRUPT, "kernels[0] has no id");
	assert_refused(LEAST("7"), ERR_CORRUPT, "kernels[0] has no id");
	assert_refused("{\"schema\":\"kbn-report/1\"} x", ERR_CORRUPT, "line 1");
}

/* A document cut anywhere is refused, and never read past its end. */
static void test_cut(void **state)
{
	static const char whole[] = LEAST("{\"id\":\"1\",\"name\":\"k\",\"launches\":3}");

	(void)state;
	for (size_t n = 0; n + 1 < sizeof(whole); n++) {
		struct tail_copy t = tail_copy(whole, n);
		struct diff_report r;

		assert_int_equal(diff_read_json(&r, arena, "x", t.data, n, NULL), -1);
		tail_free(&t);
	}
	read_text(whole);
}

static void test_missing(void **state)
{
	struct diff_report r = read_text(LEAST("{\"id\":\"1\",\"name\":\"k\"}"));
	const struct diff_kernel *k = r.kernels;

	(void)state;
	assert_int_equal(r.kernels_n, 1);
	assert_int_equal(r.devices_n, 0);
	assert_string_equal(r.driver, "");
	assert_string_equal(r.arguments, "");
	assert_true(isnan(r.kernel_time_us) && isnan(r.kernels_all));
	assert_string_equal(k->short_name, "k");
	assert_null(k->code);
	assert_null(k->method);
	assert_true(isnan(k->median_us) && isnan(k->total_us) && isnan(k->launches));
	assert_int_equal(k->registers, -1);
}

/* What no clock can have measured is not known; nor is what is of another type. */
static void test_absurd(void **state)
{
	struct diff_report r = read_text(LEAST(
		"{\"id\":\"1\",\"name\":\"k\",\"launches\":-4,\"device\":\"x\",\"launch\":[],"
		"\"time_us\":{\"median\":-1,\"p90\":0,\"uncertainty\":\"a\",\"total\":{\"value\":1e308}},"
		"\"resources\":{\"registers\":1.5}}"));
	const struct diff_kernel *k = r.kernels;

	(void)state;
	assert_true(isnan(k->launches) && isnan(k->median_us) && isnan(k->p90_us) &&
		    isnan(k->uncertainty_us));
	assert_true(k->total_us > 1e307);
	assert_int_equal(k->registers, -1);
	assert_int_equal(k->device, -1);
	assert_int_equal(k->grid[0], 0);
}

static void test_values(void **state)
{
	struct diff_report r = read_text(
		"{\"schema\":\"kbn-report/1\",\"simulated\":true,\"kernels_all\":9,"
		"\"runs\":[{\"driver\":\"580.1\",\"end\":\"exit\",\"command\":[\"./a\",\"-n\",\"2\"]},"
		"{\"end\":\"running\"}],\"devices\":[{\"name\":\"G\",\"sm\":\"sm_90\",\"sm_count\":132,"
		"\"clock_mhz\":1980,\"observed_clock_mhz\":null}],"
		"\"kernels\":[{\"id\":\"1\",\"name\":\"k\\u001b[31m\",\"short_name\":\"s\",\"device\":0,"
		"\"code\":{\"hash\":\"ab\"},\"launch\":{\"grid\":[1,2,3],\"block\":[4,5,6],"
		"\"cluster\":[1,1,1],\"dyn_smem_bytes\":7},\"launches\":10,\"time_us\":{\"timed\":5,"
		"\"median\":2.5,\"p90\":3,\"uncertainty\":0.1,\"method\":\"events\","
		"\"warmup_only\":true},\"resources\":{\"registers\":32}}]}");
	const struct diff_kernel *k = r.kernels;

	(void)state;
	assert_true(r.simulated && r.running);
	assert_int_equal(r.processes, 2);
	assert_string_equal(r.driver, "580.1");
	assert_string_equal(r.arguments, "-n 2");
	assert_true(r.kernels_all == 9);
	assert_string_equal(r.devices[0].name, "G");
	assert_int_equal(r.devices[0].sm_count, 132);
	assert_true(isnan(r.devices[0].observed_clock_mhz));
	assert_null(strchr(k->name, 0x1b)); /* would colour the terminal */
	assert_string_equal(k->code, "ab");
	assert_int_equal(k->grid[2], 3);
	assert_int_equal(k->dyn_smem_bytes, 7);
	assert_true(k->warmup_only);
	/* what the document does not say, and follows */
	assert_true(k->total_us == 25 && r.kernel_time_us == 25);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static char *report_json(struct fixture_report *f)
{
	struct render_options o = {80, 0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(render_json.report(&f->report, &o, out, NULL), 0);
	fclose(out);
	return text;
}

/* A directory and the document made of it are the same, and compare as neutral. */
static void test_directory(void **state)
{
	struct fixture_report f;
	struct diff_report r[2];
	struct diff_side base = {&r[0], 1}, new = {&r[1], 1};
	struct diff d;
	struct err e = {.text = ""};
	char path[512], *json;

	(void)state;
	fixture_report_open(&f);
	json = report_json(&f);
	snprintf(path, sizeof(path), "%s/report.json", f.dir);
	write_file(path, json);
	if (diff_read(&r[0], arena, f.dir, &e) != 0 || diff_read(&r[1], arena, path, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(r[0].kernels_n, f.report.kernels_n);
	for (size_t i = 0; i < r[0].kernels_n; i++)
		assert_string_equal(r[0].kernels[i].id, r[1].kernels[i].id);
	assert_int_equal(diff_build(&d, arena, &base, &new, &e), 0);
	assert_int_equal(d.verdict, DIFF_NEUTRAL);
	assert_int_equal(d.added + d.removed, 0);
	free(json);
	fixture_report_close(&f);
}

static void test_unreadable(void **state)
{
	struct diff_report r;
	struct err e = {.text = ""};
	char dir[256];

	(void)state;
	assert_int_equal(diff_read(&r, arena, "/nowhere/x.json", &e), -1);
	assert_non_null(strstr(e.text, "/nowhere/x.json"));
	assert_int_equal(diff_read(&r, arena, temp_dir(dir), &e), -1);
	remove_dir(dir);
}

static void assert_diff_valid(const struct diff *d)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *doc;

	assert_int_equal(diff_json(d, out, NULL), 0);
	fclose(out);
	doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	assert_valid(doc, "kbn-diff/1");
	json_decref(doc);
	free(text);
}

/* Pairs, added and removed kernels, with times and without, and nothing comparable. */
static void test_schema(void **state)
{
	struct diff_report r[2] = {
		read_text(LEAST(
			"{\"id\":\"1\",\"name\":\"k\",\"launches\":2,\"time_us\":{\"timed\":2,\"median\":1}},"
			"{\"id\":\"2\",\"name\":\"gone\"}")),
		read_text(LEAST(
			"{\"id\":\"1\",\"name\":\"k\",\"launches\":2,\"time_us\":{\"timed\":2,\"median\":1}},"
			"{\"id\":\"3\",\"name\":\"more\"}"))};
	struct diff_side base = {&r[0], 1}, new = {&r[1], 1};
	const struct diff_device device = {"G", "sm_90", 1, NAN, NAN};
	struct diff d;

	(void)state;
	assert_int_equal(diff_build(&d, arena, &base, &new, NULL), 0);
	assert_false(d.comparable);
	assert_diff_valid(&d);
	for (size_t i = 0; i < 2; i++) {
		r[i].devices = &device;
		r[i].devices_n = 1;
	}
	assert_int_equal(diff_build(&d, arena, &base, &new, NULL), 0);
	assert_int_equal(d.rows_n, 3);
	assert_diff_valid(&d);
}

/* Numbers at the end of the scale stay out of the document as what they are not: NaN, infinity. */
static void test_huge(void **state)
{
	struct diff_report r[2] = {
		read_text(LEAST(
			"{\"id\":\"1\",\"name\":\"k\",\"launches\":9000000000000000000,\"time_us\":{\"timed\":2,\"median\":1e-300}}")),
		read_text(LEAST(
			"{\"id\":\"1\",\"name\":\"k\",\"launches\":1,\"time_us\":{\"timed\":2,\"median\":1.7e308}}"))};
	struct diff_side base = {&r[0], 1}, new = {&r[1], 1};
	const struct diff_device device = {"G", "sm_90", 1, NAN, NAN};
	struct diff d;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		r[i].devices = &device;
		r[i].devices_n = 1;
	}
	assert_int_equal(diff_build(&d, arena, &base, &new, NULL), 0);
	assert_diff_valid(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),     cmocka_unit_test(test_cut),
		cmocka_unit_test(test_missing),    cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_values),     cmocka_unit_test(test_directory),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_schema),
		cmocka_unit_test(test_huge),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
