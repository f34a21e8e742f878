/*
 * test_render_text.c - what people read: the table fits its width whatever the names are, Markdown
 * cannot be broken by a name, CSV has one cell per column, files appear whole.
 */
#include "kbn_test.h"

#include <math.h>

#include "report_fixture.h"
#include "text.h"

static char *render(const struct render_format *f, const struct report *r, int columns, size_t top)
{
	struct render_options o = {columns, top};
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(f->report(r, &o, out, NULL), 0);
	fclose(out);
	return text;
}

static void fits_the_terminal(void **state)
{
	static const int widths[] = {40, 52, 60, 70, 80, 91, 92, 100, 132, 200};
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < f.report.kernels_n; i++) /* the longest name that there can be */
		f.report.kernels[i].short_name =
			"a_name_that_goes_on_\xc3\xa4\xc3\xb6\xc3\xbc_and_on_and_on_and_on_and_on_and_on_and_on_"
			"and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on";
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		char *text = render(&render_text, &f.report, widths[i], 0), *line, *rest = text;
		while ((line = strsep(&rest, "\n"))) {
			if (text_columns(line) > (size_t)widths[i])
				fail_msg("%zu columns of %d: %s", text_columns(line), widths[i],
					 line);
			if (*line && line[strlen(line) - 1] == ' ')
				fail_msg("blank at the end: %s", line);
		}
		free(text);
	}
	fixture_report_close(&f);
}

/* In a narrow terminal columns go, from the least to the most wanted, and that is said. */
static void columns_give_way(void **state)
{
	static const struct {
		int columns;
		const char *header, *left_out;
	} rows[] = {
		{100,
		 " share    total    median  launches max occ  waves     limit    cliff kernel\n",
		 ""},
		{92,
		 " share    total    median  launches max occ  waves     limit    cliff kernel\n",
		 ""},
		{91, " share    total    median  launches max occ  waves     limit kernel\n",
		 "cliff"},
		{80, " share    total    median  launches max occ     limit kernel\n",
		 "waves, cliff"},
		{70, " share    total    median  launches     limit kernel\n",
		 "max occ, waves, cliff"},
		{60, " share    total    median  launches kernel\n",
		 "max occ, waves, limit, cliff"},
		{1, " share    total kernel\n", "median,"},
	};
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = render(&render_text, &f.report, rows[i].columns, 0),
		     *left_out = strstr(text, "left out for want of room: ");

		if (!strstr(text, rows[i].header))
			fail_msg("%d columns: %s", rows[i].columns, text);
		if (!*rows[i].left_out)
			assert_null(left_out);
		else if (!left_out || !strstr(left_out, rows[i].left_out))
			fail_msg("%d columns: %s", rows[i].columns, text);
		free(text);
	}
	fixture_report_close(&f);
}

/* What limits a kernel, and how near the next cliff is; promises hold after rounding. */
static void limiter_and_cliff(void **state)
{
	static const struct {
		int limiter;
		double waves;
		const char *word;
	} limits[] = {
		{LIMIT_REGISTERS, 2, "registers"}, {LIMIT_SMEM, 1, "shared"},
		{LIMIT_WARPS, NAN, "warps"},       {LIMIT_BLOCKS, 1.5, "blocks"},
		{LIMIT_BARRIERS, 3, "barriers"},   {LIMIT_CLUSTER, 3, "cluster"},
		{LIMIT_REGISTERS, 0.99, "grid"},   {-1, NAN, "-"},
	};
	static const struct {
		bool above;
		int64_t up, down;
		const char *text;
	} cliffs[] = {
		{false, 0, 0, "+0 B"},         {false, 0, 1023, "+1023 B"},
		{false, 0, 1024, "+1 KB"},     {false, 0, 28160, "+27.5 KB"},
		{false, 0, 28159, "+27.4 KB"}, {false, 0, 102399, "+99.9 KB"},
		{false, 0, 102400, "+100 KB"}, {false, 0, 232448, "+227 KB"},
		{true, 1, 5, "-1 B"},          {true, 4288, 5, "-4.2 KB"},
		{true, 4301, 5, "-4.3 KB"},    {true, 102401, 5, "-101 KB"},
		{true, -1, 5, "+5 B"},         {false, 77, 5, "+5 B"},
		{false, -1, -1, "-"},
	};
	struct report_kernel k = {.occupancy_known = true, .cliff_known = true};
	char text[TEXT_NUMBER];

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		k.occupancy.limiter = limits[i].limiter;
		k.occupancy.waves = limits[i].waves;
		assert_string_equal(render_limiter(&k), limits[i].word);
	}
	for (size_t i = 0; i < sizeof(cliffs) / sizeof(*cliffs); i++) {
		k.cliff.above_cliff = cliffs[i].above;
		k.cliff.to_next_step_bytes = cliffs[i].up;
		k.cliff.to_cliff_bytes = cliffs[i].down;
		assert_string_equal(render_cliff(text, &k), cliffs[i].text);
		assert_true(strlen(text) <= 8);
	}
	k.cliff_known = k.occupancy_known = false;
	assert_string_equal(render_cliff(text, &k), "-");
	assert_string_equal(render_limiter(&k), "-");
}

/* Both say the same of every kernel, and what the words mean is said where they are used. */
static void formats_agree_on_limits(void **state)
{
	struct fixture_report f;
	char *text, *md;

	(void)state;
	fixture_report_open(&f);
	text = render(&render_text, &f.report, 100, 0);
	md = render(&render_md, &f.report, 100, 0);
	assert_non_null(strstr(text, "  6.25%  1.515    shared  -4.2 KB kernel\n"));
	assert_non_null(strstr(md, "| 6.25% | shared | 1.515 | -4.2 KB | unknown | `kernel` |"));
	assert_non_null(strstr(text, "\nmax occ  " RENDER_ROOM_MEANS "\n"));
	assert_non_null(strstr(md, "\n- max occupancy: " RENDER_ROOM_MEANS "\n"));
	assert_non_null(strstr(text, "\nwaves    " RENDER_WAVES_MEANS "\n"));
	assert_non_null(strstr(md, "\n- waves: " RENDER_WAVES_MEANS "\n"));
	assert_non_null(strstr(text, "\ngrid     fewer blocks than"));
	assert_non_null(strstr(md, "from an SM; grid: fewer blocks than"));
	assert_non_null(strstr(text, "\ncliff    shared memory that"));
	assert_non_null(strstr(md, "\n- cliff: shared memory that"));
	free(text);
	free(md);
	f.report.kernels_n = 1; /* neither limited by its grid nor without a cliff */
	text = render(&render_text, &f.report, 100, 0);
	assert_null(strstr(text, "\ngrid "));
	assert_non_null(strstr(text, "\ncliff "));
	free(text);
	fixture_report_close(&f);
}

/* A class is shown when there is one, and where it comes from is said when there is none. */
static void classes_when_known(void **state)
{
	struct fixture_report f;
	char *text;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < f.report.kernels_n; i++)
		f.report.kernels[i].verdict.class = "unknown";
	text = render(&render_text, &f.report, 101, 0);
	assert_null(strstr(text, " class kernel\n"));
	assert_non_null(strstr(text, "\n         --work FILE states"));
	free(text);
	f.report.kernels[0].verdict.class = "memory";
	text = render(&render_text, &f.report, 101, 0);
	assert_non_null(strstr(text, "    cliff    class kernel\n"));
	assert_non_null(strstr(text, "   memory saxpy"));
	assert_null(strstr(text, "--work FILE states"));
	free(text);
	text = render(&render_text, &f.report, 100, 0);
	assert_non_null(strstr(text, "    limit    class kernel\n"));
	assert_non_null(strstr(text, "left out for want of room: cliff\n"));
	free(text);
	fixture_report_close(&f);
}

/* What is slow, why, what to try and which number will tell: of the first three, in both formats. */
static void begins_with_what_to_do(void **state)
{
	const struct metric_advice a = {.id = "KBN-A019",
					.title = "Remove the spills",
					.evidence = {"312 instructions spill", "392 bytes"},
					.evidence_n = 2,
					.change = "allow more registers",
					.expect = "no LDL and STL",
					.otherwise = "fewer warps cost more"};
	struct metric_advice own = a;
	struct fixture_report f;
	char *text, *md;

	(void)state;
	own.gain_low_pct = 0;
	own.gain_high_pct = 97.8;
	fixture_report_open(&f);
	const struct report_advice list[] = {{&f.report.kernels[1], &a, 14.2, 24.9},
					     {&f.report.kernels[1], &a, NAN, NAN},
					     {NULL, &a, NAN, NAN},
					     {&f.report.kernels[1], &a, 0.6, 0.704},
					     {&f.report.kernels[1], &a, 0.5, 0.5}};
	f.report.kernels[1].short_name = "slow";
	f.report.kernels[1].variant = "";
	f.report.advice = list;
	f.report.advice_n = 5;
	text = render(&render_text, &f.report, 100, 0);
	md = render(&render_md, &f.report, 100, 0);
	assert_non_null(strstr(
		text, "\n1  slow: Remove the spills (KBN-A019), saves 14 to 24.9% of all kernel "
		      "time (estimated)\n   why     312 instructions spill\n"
		      "   try     allow more registers\n   expect  no LDL and STL\n"
		      "2  slow: Remove the spills (KBN-A019)\n"));
	assert_non_null(strstr(text, "\n3  Remove the spills (KBN-A019)\n"));
	assert_non_null(strstr(text, "\n   ... and 2 more\n"));
	assert_non_null(strstr(
		md, "\n1. slow: **Remove the spills** (KBN-A019), saves 14 to 24.9% of all kernel "
		    "time (estimated): 312 instructions spill. *Try*: allow more registers. "
		    "*Expect*: no LDL and STL.\n"));
	assert_non_null(strstr(
		md, "\n4. slow: **Remove the spills** (KBN-A019), saves 0.6 to 0.70% of all"));
	assert_true(strstr(md, "## What to do first") < strstr(md, "## Kernels by total time"));
	assert_true(strstr(md, "## Kernels by total time") < strstr(md, "## The run"));
	free(text);
	free(md);
	f.report.advice_n = 0; /* of no time of the run: what the kernels say by themselves */
	for (size_t i = 0; i < f.report.kernels_n; i++)
		f.report.kernels[i].advice.n = 0;
	text = render(&render_text, &f.report, 100, 0);
	assert_null(strstr(text, "What to do first"));
	free(text);
	f.report.kernels[1].advice = (struct metric_advices){.items = &own, .n = 1};
	text = render(&render_text, &f.report, 100, 0);
	assert_non_null(strstr(
		text, "\n1  slow: Remove the spills (KBN-A019), saves 0 to 97.8% of this kernel's "
		      "time (estimated)\n   why "));
	free(text);
	fixture_report_close(&f);
}

/* A note is of no use without the way to what it means. */
static void notes_lead_somewhere(void **state)
{
	struct fixture_report f;
	char *text, *md;

	(void)state;
	fixture_report_open(&f);
	text = render(&render_text, &f.report, 100, 0);
	md = render(&render_md, &f.report, 100, 0);
	assert_non_null(strstr(text, "\nkbn help KBN-N003 says why"));
	assert_non_null(strstr(md, "`kbn help KBN-N003` says why"));
	free(text);
	free(md);
	f.report.notes_n = 0;
	text = render(&render_text, &f.report, 100, 0);
	assert_null(strstr(text, "kbn help"));
	free(text);
	fixture_report_close(&f);
}

/* The directory of the program goes before its arguments do. */
static void a_long_command(void **state)
{
	const char *argv[] = {"/a/path/that/is/long/enough/not/to/fit/beside/the/rest/train",
			      "--lr", "0.1"};
	struct fixture_report f;
	char *text;

	(void)state;
	fixture_report_open(&f);
	f.report.runs[0].command = argv;
	f.report.runs[0].end_text = "still running";
	text = render(&render_text, &f.report, 132, 0);
	assert_non_null(strstr(
		text, "\n/a/path/that/is/long/enough/not/to/fit/beside/the/rest/train --lr 0.1 "));
	free(text);
	text = render(&render_text, &f.report, 80, 0);
	assert_non_null(strstr(text, "\ntrain --lr 0.1  "));
	assert_non_null(strstr(text, "2.00 s  still running\n"));
	free(text);
	fixture_report_close(&f);
}

static void says_what_matters(void **state)
{
	struct fixture_report f;
	char *text;

	(void)state;
	fixture_report_open(&f);
	text = render(&render_text, &f.report, 100, 2);
	assert_non_null(strstr(text, "./train --lr 0.1"));
	assert_non_null(strstr(text, "1,174 = 90 timed"));
	assert_non_null(strstr(text, "... and 7 kernel shapes more"));
	assert_null(strstr(text, "SIMULATED"));
	free(text);
	f.report.simulated = true;
	for (const struct render_format *const *r =
		     (const struct render_format *const[]){&render_text, &render_md, &render_json,
							   &render_html, NULL};
	     *r; r++) {
		text = render(*r, &f.report, 100, 0);
		assert_non_null(strcasestr(text, "simulated"));
		free(text);
	}
	fixture_report_close(&f);
}

/* A name full of markup leaves the number of table columns as it is. */
static void markdown_survives_names(void **state)
{
	struct fixture_report f;
	char *text, *line, *rest;
	size_t rows = 0;

	(void)state;
	fixture_report_open(&f);
	f.report.kernels[0].short_name = "a`b*c_d<e>";
	f.report.kernels[0].variant = "<f|g>";
	f.report.kernels[0].demangled = "f<`g`>(h)";
	f.report.devices[0].name = "A|B";
	text = render(&render_md, &f.report, 100, 0);
	assert_non_null(strstr(text, "`a'b*c_d<e><f\\|g>`"));
	assert_non_null(strstr(text, "### 1. a\\`b\\*c\\_d\\<e\\>\\<f\\|g\\>"));
	assert_non_null(strstr(text, "`f<'g'>(h)`"));
	assert_non_null(strstr(text, "A\\|B"));
	for (rest = text; (line = strsep(&rest, "\n"));) {
		size_t bars = 0;

		if (line[0] != '|' || !strstr(line, "| unknown |"))
			continue;
		for (const char *p = line; *p; p++)
			bars += *p == '|' && (p == line || p[-1] != '\\');
		assert_int_equal(bars, 12);
		rows++;
	}
	assert_int_equal(rows, f.report.kernels_n);
	free(text);
	fixture_report_close(&f);
}

/* One blank line between parts, the reasons beside the class, and what is left out is said. */
static void markdown_is_compact(void **state)
{
	struct fixture_report f;
	char *text, *line, *rest;
	size_t unknown = 0;

	(void)state;
	fixture_report_open(&f);
	text = render(&render_md, &f.report, 100, 3);
	assert_null(strstr(text, "\n\n\n"));
	assert_non_null(strstr(text, "\n### 3. "));
	assert_null(strstr(text, "\n### 4. "));
	assert_non_null(strstr(text, "\n6 more kernels are in the JSON report"));
	assert_non_null(strstr(text, "of the time of the launching threads"));
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (strncmp(line, "Class ", 6) == 0)
			unknown++;
		else
			assert_int_not_equal(strncmp(line, "- KBN-R", 7), 0);
	}
	assert_int_equal(unknown, 1); /* of these three one has a reason beside it */
	free(text);
	text = render(&render_md, &f.report, 100, 0);
	assert_null(strstr(text, "\n\n\n"));
	assert_null(strstr(text, "more kernels are in"));
	assert_non_null(strstr(text, ". KBN-R003 tail"));
	free(text);
	fixture_report_close(&f);
}

/* How the times were taken, by kind and number; nothing is said of what was not. */
static void timing_in_words(void **state)
{
	const struct metric_pairs none = {0, 2.08, 0.2};
	struct report_timing t = {.method = "events", .gated = none, .plain = {0, 2.8, 0.56}};
	struct metric_times times = {.median = 10, .uncertainty = 2};
	char text[RENDER_TIMING], median[TEXT_NUMBER];

	(void)state;
	assert_string_equal(render_timing(text, &t), "no launch has a time");
	t.plain.n = 17;
	assert_string_equal(
		render_timing(text, &t),
		"17 plain pairs of events (2.80 us taken off each, +-0.560 us or more)");
	t.gated.n = 313;
	assert_string_equal(
		render_timing(text, &t),
		"313 gated pairs of events (2.08 us taken off each, +-0.200 us), 17 plain (2.80 us taken "
		"off each, +-0.560 us or more)");
	t.gated.n = UINT64_MAX;
	t.plain = (struct metric_pairs){UINT64_MAX, NAN, NAN};
	assert_true(strlen(render_timing(text, &t)) < RENDER_TIMING);
	t = (struct report_timing){.method = "off"};
	assert_string_equal(render_timing(text, &t), "off");
	assert_string_equal(render_median(median, &times), "10.0 us");
	times.uncertainty = 2.01;
	assert_string_equal(render_median(median, &times), "~10.0 us");
	times.median = NAN;
	assert_string_equal(render_median(median, &times), "-");
}

/* Every reason has a meaning, and each its own. */
static void stalls_in_words(void **state)
{
#define NAME(name) #name,
	static const char *const names[] = {METRIC_STALL_LIST(NAME)};
#undef NAME
	const size_t n = sizeof(names) / sizeof(*names);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_true(*render_waits_for(names[i]));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(render_waits_for(names[i]),
						render_waits_for(names[k]));
	}
	assert_string_equal(render_waits_for("nothing"), "");
}

/* Room is not what a small grid uses, and the rule of thumb is called so. */
static void room_in_words(void **state)
{
	struct occupancy o = {.blocks_per_sm = 8,
			      .warps_per_sm = 64,
			      .max_warps_per_sm = 64,
			      .pct = 100,
			      .enough_warps = 1,
			      .enough_warps_at = 8,
			      .enough_is_published = true,
			      .grid_warps_per_sm = -1};
	char text[RENDER_ROOM];

	(void)state;
	assert_string_equal(
		render_room(text, &o),
		"room for 64 warps per SM (100% of 64), at least the 8 that hide latency");
	o.enough_is_published = false;
	o.grid_warps_per_sm = 16;
	assert_non_null(strstr(render_room(text, &o), "rule of thumb"));
	assert_non_null(strstr(text, "; this grid puts at most 16 on an SM"));
	o.blocks_per_sm = -1;
	assert_string_equal(render_room(text, &o), "");
}

/* The name gives way before what tells two kernels apart. */
static void labels(void **state)
{
	static const struct {
		const char *name, *variant;
		size_t columns;
		const char *label;
	} rows[] = {
		{"ffma_peak", "<1>", 24, "ffma_peak<1>"},
		{"vectorized_elementwise_kernel", "<Fill>", 24, "vectorized_eleme..<Fill>"},
		{"k", "<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>", 24, "k<aaaaaaaaaaaaaaaaaaaa.."},
		{"vectorized_elementwise_kernel", "<launch_clamp_scalar::{lambda#1}>", 24,
		 "vectorized..<launch_cl.."},
		{"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
		 "", 16,
		 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
		 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4.."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct report_kernel k = {.short_name = rows[i].name, .variant = rows[i].variant};
		char label[RENDER_LABEL];

		assert_string_equal(render_label(label, &k, rows[i].columns), rows[i].label);
		assert_true(text_columns(label) <= rows[i].columns);
	}
}

static size_t cells(const char *line, size_t n)
{
	size_t count = 1;
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		quoted ^= line[i] == '"';
		count += line[i] == ',' && !quoted;
	}
	return count;
}

static void csv_is_rectangular(void **state)
{
	struct fixture_report f;
	char *text, *line;
	size_t header = 0, rows = 0;

	(void)state;
	fixture_report_open(&f);
	f.report.kernels[0].demangled = "f(int, \"x\")";
	text = render(&render_csv, &f.report, 100, 0);
	for (line = text; *line; line += strcspn(line, "\n") + 1, rows++) {
		size_t n = cells(line, strcspn(line, "\n"));

		if (rows == 0)
			header = n;
		assert_int_equal(n, header);
	}
	assert_int_equal(rows, f.report.kernels_n + 1);
	assert_non_null(strstr(text, "\"f(int, \"\"x\"\")\""));
	assert_non_null(strstr(text, ",time_us.median,"));
	assert_non_null(strstr(text, ",time_us.total,time_us.total.label,"));
	assert_null(strstr(text, ",smem_cliff,"));
	free(text);
	f.report.kernels_n = 0;
	text = render(&render_csv, &f.report, 100, 0);
	assert_string_equal(text, "");
	free(text);
	fixture_report_close(&f);
}

static void files_are_whole_or_absent(void **state)
{
	struct render_options o = {80, 0};
	struct fixture_report f;
	char path[300], command[400];
	struct err e = {.text = ""};

	(void)state;
	fixture_report_open(&f);
	snprintf(path, sizeof(path), "%s/report.json", f.dir);
	assert_int_equal(render_file(&render_json, &f.report, &o, path, &e), 0);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(command, sizeof(command), "test -z \"$(ls '%s' | grep tmp)\"", f.dir);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/not/there.json", f.dir);
	assert_int_equal(render_file(&render_json, &f.report, &o, path, &e), -1);
	assert_int_equal(e.code, ERR_IO);
	assert_non_null(strstr(e.text, "not/there.json"));
	fixture_report_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_the_terminal),
		cmocka_unit_test(columns_give_way),
		cmocka_unit_test(limiter_and_cliff),
		cmocka_unit_test(formats_agree_on_limits),
		cmocka_unit_test(notes_lead_somewhere),
		cmocka_unit_test(a_long_command),
		cmocka_unit_test(says_what_matters),
		cmocka_unit_test(markdown_survives_names),
		cmocka_unit_test(markdown_is_compact),
		cmocka_unit_test(timing_in_words),
		cmocka_unit_test(classes_when_known),
		cmocka_unit_test(begins_with_what_to_do),
		cmocka_unit_test(stalls_in_words),
		cmocka_unit_test(room_in_words),
		cmocka_unit_test(labels),
		cmocka_unit_test(csv_is_rectangular),
		cmocka_unit_test(files_are_whole_or_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
