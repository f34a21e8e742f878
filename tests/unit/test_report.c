/*
 * test_report.c - order, ids, names, notes, filters and the accounting of a report.
 * KBN_GOLDEN_UPDATE=1 rewrites the recordings of the command line tests; keep the old ones when the
 * format changes: they must open for ever, or be refused by name.
 */
#include "kbn_test.h"

#include <math.h>

#include "finding.h"
#include "names.h"
#include "report_fixture.h"

static const struct report_kernel *find(const struct report *r, const char *short_name,
					uint32_t grid)
{
	for (size_t i = 0; i < r->kernels_n; i++)
		if (strcmp(r->kernels[i].short_name, short_name) == 0 &&
		    (!grid || r->kernels[i].grid[0] == grid))
			return &r->kernels[i];
	fail_msg("no kernel %s", short_name);
	return NULL;
}

static bool has(const struct metric_finding *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].id, id) == 0)
			return true;
	return false;
}

static void order_and_shares(void **state)
{
	struct fixture_report f;
	double share = 0;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < f.report.kernels_n; i++) {
		const struct report_kernel *k = &f.report.kernels[i], *before = k - 1;

		if (!isnan(k->share_pct))
			share += k->share_pct;
		if (i == 0)
			continue;
		if (quantity_known(&k->times.total))
			assert_true(before->times.total.value >= k->times.total.value);
		else if (!quantity_known(&before->times.total))
			assert_true(strcmp(before->id, k->id) < 0);
	}
	assert_float_equal(share, 100, 0.001);
	assert_string_equal(f.report.kernels[0].short_name, "saxpy");
	assert_int_equal(f.report.kernels[0].grid[0], 65536);
	fixture_report_close(&f);
}

static void bins_add_up(void **state)
{
	const struct report_accounting *a;
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	a = &f.report.accounting;
	assert_int_equal(a->launches_seen, a->timed + a->sampled_out + a->untimeable + a->captured +
						   a->failed + a->unfinished + a->filtered +
						   a->dropped);
	assert_int_equal(a->timed, 50 + 20 + 10 + 5 + 5);
	assert_int_equal(a->filtered, 11);
	assert_int_equal(a->overflow, 1000);
	assert_int_equal(a->graph_launches, 30);
	assert_int_equal(a->graph_node_launches, 150);
	assert_false(has(f.report.notes, f.report.notes_n, "KBN-N025"));
	fixture_report_close(&f);
}

/* The id depends on code, symbol and geometry alone: another run of another process has the same. */
static void ids_are_stable(void **state)
{
	struct fixture_report f, g;

	(void)state;
	fixture_report_open(&f);
	fixture_report_open(&g);
	assert_int_equal(f.report.kernels_n, g.report.kernels_n);
	for (size_t i = 0; i < f.report.kernels_n; i++) {
		assert_string_equal(f.report.kernels[i].id, g.report.kernels[i].id);
		assert_int_equal(strspn(f.report.kernels[i].id, "0123456789abcdef"), 16);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(f.report.kernels[i].id, f.report.kernels[k].id);
	}
	assert_string_equal(find(&f.report, "bank_conflict_bad", 0)->id, "24679b76a732110c");
	fixture_report_close(&f);
	fixture_report_close(&g);
}

static void facts_of_kernels(void **state)
{
	const struct report_kernel *k;
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	k = find(&f.report, "bank_conflict_bad", 0);
	assert_string_equal(k->code.origin, "module");
	assert_string_equal(k->code.arch, "sm_90");
	assert_int_equal(strlen(k->code.hash), 32);
	assert_null(k->code.why_missing);
	assert_int_equal(k->code.debug_build, 0);
	assert_int_equal(k->resources.spill_instructions, 0);
	assert_int_equal(k->occupancy.limits[LIMIT_BARRIERS], 64); /* one barrier, from the code */
	assert_true(has(k->traps, (size_t)k->traps_n,
			"KBN-T007")); /* the fixture's driver knows no static memory */
	assert_true(has(k->verdict.reasons, (size_t)k->verdict.reasons_n, "KBN-R002"));
	k = find(&f.report, "saxpy", 4096);
	assert_string_equal(k->name, "_Z5saxpyifPKfPf");
	assert_string_equal(k->demangled, "saxpy(int, float, float const*, float*)");
	assert_non_null(k->code.why_missing);
	assert_int_equal(k->graph_node_launches, 150);
	assert_int_equal(k->launches, 100);
	k = find(&f.report, "saxpy", 65536);
	assert_true(has(k->traps, (size_t)k->traps_n, "KBN-T004"));
	assert_string_equal(k->times.method, "events");
	k = find(&f.report, "kernel", 0);
	assert_string_equal(k->code.origin, "jit");
	assert_string_equal(k->code.arch, "sm_90");
	assert_true(has(k->traps, (size_t)k->traps_n, "KBN-T003"));
	assert_true(k->cliff.above_cliff);
	assert_true(has(k->traps, (size_t)k->traps_n, "KBN-T006"));
	assert_true(has(k->verdict.reasons, (size_t)k->verdict.reasons_n, "KBN-R003"));
	assert_true(has(k->verdict.reasons, (size_t)k->verdict.reasons_n, "KBN-R004"));
	k = find(&f.report, "many_shapes", 0);
	assert_true(k->overflow);
	assert_false(k->occupancy_known);
	assert_true(has(k->traps, (size_t)k->traps_n, "KBN-T005"));
	k = find(&f.report, "tiny", 0);
	assert_non_null(strstr(k->times.why, "resolution"));
	fixture_report_close(&f);
}

static void notes(void **state)
{
	static const char *const expected[] = {"KBN-N003", "KBN-N008", "KBN-N029", "KBN-N031",
					       "KBN-N032", "KBN-N033", "KBN-N034"};
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		if (!has(f.report.notes, f.report.notes_n, expected[i]))
			fail_msg("no note %s", expected[i]);
	for (size_t i = 1; i < f.report.notes_n; i++)
		assert_true(strcmp(f.report.notes[i - 1].id, f.report.notes[i].id) <= 0);
	assert_false(has(f.report.notes, f.report.notes_n, "KBN-N020"));
	assert_false(has(f.report.notes, f.report.notes_n, "KBN-N021"));
	fixture_report_close(&f);
}

static void totals(void **state)
{
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	assert_int_equal(f.report.totals.kernel_time_us.label, QUANTITY_ESTIMATED);
	assert_non_null(strstr(f.report.totals.kernel_time_us.why, "graphs"));
	assert_true(
		isnan(f.report.totals.kernel_time_us.high)); /* nothing bounds what was not timed */
	assert_float_equal(f.report.totals.busy_pct.value,
			   f.report.totals.kernel_time_us.value / 2e6 * 100, 1e-3);
	assert_false(quantity_known(&f.report.totals.gap_us));
	assert_string_equal(f.report.timing.method, "gated-events");
	assert_float_equal(f.report.timing.bias_us, 2.08, 1e-6);
	assert_float_equal(f.report.timing.self_overhead_pct, 0.05, 1e-6);
	/* the host time is the sum over threads, so it is a share of the time of all of them */
	f.session.runs[0].threads = 4;
	assert_int_equal(model_build(&f.model, &f.session, NULL, NULL), 0);
	assert_float_equal(f.model.timing.self_overhead_pct, 0.0125, 1e-6);
	fixture_report_close(&f);
}

/* Said only of what is known to be below the threshold, and not of times that nobody measured. */
static void mostly_idle(void **state)
{
	static const struct {
		double value, high;
		bool simulated, device_known, said;
	} rows[] = {{24.6, 24.7, false, true, true},   {24.6, 24.7, true, true, false},
		    {24.6, 24.7, false, false, false}, {24.6, NAN, false, true, false},
		    {79, 81, false, true, false},      {90, 91, false, true, false}};
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		f.model.totals.busy_pct.value = rows[i].value;
		f.model.totals.busy_pct.high = rows[i].high;
		f.session.runs[0].simulated = rows[i].simulated;
		f.model.devices[0].hw.arch.sm = rows[i].device_known ? 90 : 0;
		fixture_report_build(&f, NULL);
		assert_int_equal(has(f.report.notes, f.report.notes_n, "KBN-N036"), rows[i].said);
		assert_int_equal(has(f.report.notes, f.report.notes_n, "KBN-N043"),
				 !rows[i].device_known);
	}
	fixture_report_close(&f);
}

static const char *note_text(const struct report *r, const char *id)
{
	for (size_t i = 0; i < r->notes_n; i++)
		if (strcmp(r->notes[i].id, id) == 0)
			return r->notes[i].text;
	return "";
}

/* What every program of the CUDA runtime asks for is nothing to tell; anything else is. */
static void private_tables(void **state)
{
	struct session_note said[] = {
		{.note = KBN_NOTE_EXPORT_TABLE, .text = "6bd5fb6c-5bf4-e74a-8987-d93912fd9df9"},
		{.note = KBN_NOTE_EXPORT_TABLE, .text = "6bd5fb6c-5bf4-e74a-8987-d93912fd9dff"},
	};
	struct session_note *kept;
	struct fixture_report f;
	size_t n;

	(void)state;
	fixture_report_open(&f);
	kept = f.session.notes;
	n = f.session.notes_n;
	f.session.notes = said;
	f.session.notes_n = 1;
	fixture_report_build(&f, NULL);
	assert_false(has(f.report.notes, f.report.notes_n, "KBN-N005"));
	f.session.notes_n = 2;
	fixture_report_build(&f, NULL);
	assert_non_null(strstr(note_text(&f.report, "KBN-N005"), "fd9dff"));
	f.session.notes = kept;
	f.session.notes_n = n;
	fixture_report_close(&f);
}

/* Nothing to show has a reason, and it is the true one. */
static void nothing_to_show(void **state)
{
	static const struct session_string window = {"KBN_WINDOW", "profiler"};
	struct report_options o = {.match = names_match, .pattern = "nomatch"};
	struct fixture_report f;
	size_t shapes, notes;

	(void)state;
	fixture_report_open(&f);
	o.match_ctx = names_new(o.pattern, NULL);
	fixture_report_build(&f, &o);
	assert_string_equal(note_text(&f.report, "KBN-N035"),
			    "no kernel matches 'nomatch'; totals are of all 9");
	names_free(o.match_ctx);
	assert_string_equal(note_text(&f.report, "KBN-N009"), "");
	shapes = f.session.shapes_n;
	notes = f.session.notes_n;
	f.session.shapes_n = 0;
	f.session.notes_n = 0;
	f.session.runs[0].env = &window;
	f.session.runs[0].env_n = 1;
	fixture_report_build(&f, NULL);
	assert_string_equal(note_text(&f.report, "KBN-N024"),
			    "no kernel to show: 11 launches were all left out on request");
	assert_string_equal(
		note_text(&f.report, "KBN-N009"),
		"recording was limited to cuProfilerStart ... cuProfilerStop, and the program never "
		"called cuProfilerStart");
	f.session.runs[0].filtered = 0;
	fixture_report_build(&f, NULL);
	assert_string_equal(note_text(&f.report, "KBN-N024"), "no kernel launch was recorded");
	f.session.shapes_n = shapes;
	f.session.notes_n = notes;
	fixture_report_close(&f);
}

/* Two shapes of one kernel differ by what stands behind the name, others have nothing there. */
static void shapes_are_told_apart(void **state)
{
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	assert_string_equal(find(&f.report, "saxpy", 4096)->variant, " <<<4096,256>>>");
	assert_string_equal(find(&f.report, "saxpy", 65536)->variant, " <<<65536,256>>>");
	assert_string_equal(find(&f.report, "tiny", 0)->variant, "");
	fixture_report_close(&f);
}

/* PTX that nobody compiled again is no silent gap. */
static void code_that_is_missing(void **state)
{
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	assert_string_equal(find(&f.report, "kernel", 0)->code.why_missing, "no time");
	assert_null(find(&f.report, "bank_conflict_bad", 0)->code.why_missing);
	fixture_report_close(&f);
}

static void chosen_by_name(void **state)
{
	struct names_filter *n = names_new("^void my::tile", NULL);
	struct report_options o = {.match = names_match, .match_ctx = n};
	struct fixture_report f;
	struct err e;

	(void)state;
	fixture_report_open(&f);
	fixture_report_build(&f, &o);
	assert_int_equal(f.report.kernels_n, 1);
	assert_true(f.report.kernels_all > 5);
	assert_true(has(f.report.notes, f.report.notes_n, "KBN-N035"));
	names_free(n);
	o.match_ctx = n = names_new("Z5saxpy", NULL); /* mangled, not at the start */
	fixture_report_build(&f, &o);
	assert_int_equal(f.report.kernels_n, 2);
	o.top = 1;
	fixture_report_build(&f, &o);
	assert_int_equal(f.report.kernels_n, 1);
	assert_int_equal(f.report.kernels[0].grid[0], 65536);
	names_free(n);
	assert_null(names_new("a(b", &e));
	assert_int_equal(e.code, ERR_USAGE);
	fixture_report_close(&f);
}

/* A killed process and one that still runs are named as such. */
static void ends(void **state)
{
	struct fixture_report r = {.dir = ""};
	struct kbn_thread_slot *t;
	struct fixture f;

	(void)state;
	fixture_begin(&f, temp_dir(r.dir), .pid = 41, .rank = -1, .world = -1);
	fixture_device(&f, 0, "NVIDIA Nothing 1000", 61, 10);
	fixture_context(&f, 1, 0);
	fixture_kernel(&f, 1, 0, "k", 32);
	t = fixture_thread(&f, 0);
	recording_slot(&f, t, 1, 8, 64, 5);
	fixture_end(&f, KBN_RUNNING);
	fixture_report_open_dir(&r, r.dir);
	assert_true(has(r.report.notes, r.report.notes_n, "KBN-N020") ||
		    has(r.report.notes, r.report.notes_n, "KBN-N021"));
	assert_true(has(r.report.notes, r.report.notes_n, "KBN-N027")); /* sm_61 is in no table */
	assert_false(r.report.kernels[0].occupancy_known);
	assert_false(quantity_known(&r.report.totals.kernel_time_us));
	fixture_report_close(&r);
}

/* As much as is known of an end, and not a word more. */
static void ends_in_words(void **state)
{
	static const struct {
		enum session_end end;
		int status, signal;
		const char *word, *text;
	} rows[] = {
		{SESSION_END_RUNNING, -1, -1, "running", "still running"},
		{SESSION_END_EXIT, -1, -1, "exit", "exit (status not recorded)"},
		{SESSION_END_EXIT, 0, -1, "exit", "exit status 0"},
		{SESSION_END_EXIT, 3, -1, "exit", "exit status 3"},
		{SESSION_END_EXIT, -1, 11, "signal", "killed by SIGSEGV"},
		{SESSION_END_KILLED, -1, -1, "killed", "killed or _exit"},
		{SESSION_END_KILLED, 7, -1, "exit", "exit status 7 (no exit handlers)"},
		{SESSION_END_KILLED, -1, 9, "signal", "killed by SIGKILL"},
		{SESSION_END_KILLED, -1, 40, "signal", "killed by signal 40"},
		{SESSION_END_STOPPED, -1, -1, NULL, "end not seen (recording stopped before)"},
		{SESSION_END_STOPPED, 1, -1, "exit", "exit status 1 (recording stopped before)"},
	};
	struct fixture_report f;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct report_run *r;

		f.session.runs[0].end = rows[i].end;
		f.session.runs[0].exit_status = rows[i].status;
		f.session.runs[0].signal = rows[i].signal;
		fixture_report_build(&f, NULL);
		r = &f.report.runs[0];
		if (rows[i].word)
			assert_string_equal(r->end, rows[i].word);
		else
			assert_null(r->end);
		assert_string_equal(r->end_text, rows[i].text);
		assert_int_equal(r->exit_status, rows[i].status);
		assert_int_equal(r->signal, rows[i].signal);
	}
	fixture_report_close(&f);
}

/* The words of a note of the recording are those that `kbn help` explains. */
static void notes_are_of_the_table(void **state)
{
	struct session_note said[] = {
		{.note = KBN_NOTE_OFF, .text = "the disk is full"},
		{.note = KBN_NOTE_STICKY, .value = 700},
		{.note = KBN_NOTE_CHECKPOINT},
		{.note = SESSION_NOTE_IDENTITY, .value = -1234},
		{.note = 4711},
		{.note = KBN_NOTE_LOG_FULL, .value = 5}, /* of this process, as the counter says */
	};
	struct session_note *kept;
	struct fixture_report f;
	size_t n, log_full = 0;

	(void)state;
	fixture_report_open(&f);
	kept = f.session.notes;
	n = f.session.notes_n;
	f.session.notes = said;
	f.session.notes_n = sizeof(said) / sizeof(*said);
	f.session.runs[0].log_dropped = 1005;
	fixture_report_build(&f, NULL);
	assert_string_equal(note_text(&f.report, "KBN-N001"),
			    "recording stopped early: the disk is full");
	assert_string_equal(note_text(&f.report, "KBN-N008"),
			    "a context ended with CUDA error 700");
	assert_string_equal(note_text(&f.report, "KBN-N012"),
			    finding_rows[FINDING_CHECKPOINT].text);
	assert_non_null(strstr(note_text(&f.report, "KBN-N025"), "differ by -1,234"));
	assert_string_equal(note_text(&f.report, "KBN-N099"), finding_rows[FINDING_OTHER].text);
	assert_non_null(strstr(note_text(&f.report, "KBN-N002"), "no room: 1,005;"));
	for (size_t i = 0; i < f.report.notes_n; i++)
		log_full += strcmp(f.report.notes[i].id, "KBN-N002") == 0;
	assert_int_equal(log_full, 1);
	f.session.notes = kept;
	f.session.notes_n = n;
	fixture_report_close(&f);
}

static void update(const char *dir)
{
	char command[400];

	snprintf(command, sizeof(command), "rm -rf '%s' && mkdir -p '%s'", dir, dir);
	assert_int_equal(system(command), 0);
	recording_write(dir);
}

/* What is stored is what this version writes; when that changes, add a recording, keep the old. */
static void stored_recording_opens(void **state)
{
	struct fixture_report f, g;

	(void)state;
	if (getenv("KBN_GOLDEN_UPDATE"))
		update("tests/golden/recordings/v1");
	fixture_report_open_dir(&f, "tests/golden/recordings/v1");
	fixture_report_open(&g);
	assert_int_equal(f.report.kernels_n, g.report.kernels_n);
	for (size_t i = 0; i < f.report.kernels_n; i++)
		assert_string_equal(f.report.kernels[i].id, g.report.kernels[i].id);
	code_facts_free(f.facts);
	session_close(&f.session);
	fixture_report_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_shares),
		cmocka_unit_test(bins_add_up),
		cmocka_unit_test(ids_are_stable),
		cmocka_unit_test(facts_of_kernels),
		cmocka_unit_test(notes),
		cmocka_unit_test(totals),
		cmocka_unit_test(mostly_idle),
		cmocka_unit_test(private_tables),
		cmocka_unit_test(nothing_to_show),
		cmocka_unit_test(shapes_are_told_apart),
		cmocka_unit_test(code_that_is_missing),
		cmocka_unit_test(chosen_by_name),
		cmocka_unit_test(ends),
		cmocka_unit_test(ends_in_words),
		cmocka_unit_test(notes_are_of_the_table),
		cmocka_unit_test(stored_recording_opens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
