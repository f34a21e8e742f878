/*
 * cmd_report.c - `kbn report DIR...`: read a recording, analyse it, write it in one format. With
 * --at-exit (set by the recorder and by `kbn run`) it writes the files of KBN_REPORT into the run
 * directory and a table or one line to stderr, and never fails: the program's own end comes first.
 */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "calibration.h"
#include "code_facts.h"
#include "model.h"
#include "names.h"
#include "options.h"
#include "render.h"
#include "report.h"
#include "session.h"

#define NO_TERMINAL_COLUMNS 100 /* of a pipe or file: wide enough for every column of the table */

/* Most time that compiling PTX again may take. Somebody waits for the recorded program to end. */
#define JIT_MS         20000
#define JIT_AT_EXIT_MS 500

static const char late[] =
	"the driver compiled this code from PTX, and 20 s were not enough to compile "
	"all of it again";
static const char late_at_exit[] =
	"the driver compiled this code from PTX: run `kbn report` for the "
	"reconstruction, which is not done while the program ends";

struct request {
	const char **dirs;
	size_t dirs_n;
	bool json, md, text, csv, html, at_exit, help;
	const char *output, *kernel, *work, *report;
	int64_t top, rank;
};

/* A recording and what was made of it. */
struct analysis {
	struct session session;
	struct calibration *calibrations;
	struct code_facts *facts;
	struct model model;
	struct report report;
};

#define OPTIONS(q)                                                                                            \
	{"--text", OPTION_FLAG, &(q)->text, NULL, "a table for the terminal (the default)"},                  \
		{"--md", OPTION_FLAG, &(q)->md, NULL, "Markdown"},                                            \
		{"--json", OPTION_FLAG, &(q)->json, NULL,                                                     \
		 "everything, for programs (kbn schema kbn-report/1)"},                                       \
		{"--csv", OPTION_FLAG, &(q)->csv, NULL, "one row per kernel, for spreadsheets"},              \
		{"--html", OPTION_FLAG, &(q)->html, NULL, NULL},                                              \
		{"-o", OPTION_TEXT, &(q)->output, "FILE",                                                     \
		 "write to FILE instead of standard output"},                                                 \
		{"--top", OPTION_NUMBER, &(q)->top, "N",                                                      \
		 "only the N kernels with the most time (of many, text lists 20 and Markdown describes 20)"}, \
		{"--kernel", OPTION_TEXT, &(q)->kernel, "RE",                                                 \
		 "only kernels whose mangled, demangled or short name has a match (PCRE2)"},                  \
		{"--rank", OPTION_NUMBER, &(q)->rank, "R",                                                    \
		 "only the processes of this rank (MPI, torchrun)"},                                          \
		{"--work", OPTION_TEXT, &(q)->work, "FILE", NULL},                                            \
		{"--report", OPTION_TEXT, &(q)->report, "LIST", NULL},                                        \
		{"--at-exit", OPTION_FLAG, &(q)->at_exit, NULL, NULL},                                        \
	{                                                                                                     \
		"--help", OPTION_FLAG, &(q)->help, NULL, "this text"                                          \
	}

static int parse(struct request *q, int argc, char **argv, struct err *e)
{
	const struct option_spec table[] = {OPTIONS(q)};
	size_t n = sizeof(table) / sizeof(*table);

	if (options_parse(table, n, argc, argv, q->dirs, &q->dirs_n, e) != 0)
		return -1;
	if (q->help) {
		printf("usage: kbn report DIR... [options]\n\n"
		       "Analyses recordings and writes one report of all of them together. DIR is the run directory\n"
		       "that a recorded program left (kbn-<pid>, or what KBN_OUT says), or one process directory of it.\n"
		       "The program may still be running.\n\n");
		options_help(table, n, stdout);
		printf("\nFor example:  kbn report kbn-4711 --kernel gemm --md -o gemm.md\n");
		return 0;
	}
	if (q->html)
		return err_set(e, ERR_USAGE, -1,
			       "--html is not in this version; --md can be read as it is");
	if (q->work)
		return err_set(e, ERR_USAGE, -1, "--work is not in this version");
	if (q->json + q->md + q->text + q->csv > 1)
		return err_set(e, ERR_USAGE, -1, "one format at a time");
	if (q->rank > INT32_MAX)
		return err_set(e, ERR_USAGE, -1, "--rank is too large");
	if (q->report)
		return err_set(
			e, ERR_USAGE, -1,
			"--report is of kbn run; here the format is an option: kbn report DIR --%s",
			render_find(q->report) ? q->report : "json");
	return q->dirs_n ? 0 : err_set(e, ERR_USAGE, -1, "no directory given");
}

static bool is_simulated(const struct session *s)
{
	for (size_t i = 0; i < s->runs_n; i++)
		if (s->runs[i].simulated)
			return true;
	return false;
}

/* A damaged calibration is as good as none, but it is said: the times are wider for it. */
static int load_calibrations(struct analysis *a, bool quiet, struct err *e)
{
	a->calibrations = calloc(a->session.devices_n + 1, sizeof(*a->calibrations));
	if (!a->calibrations)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (size_t i = 0; !is_simulated(&a->session) && i < a->session.devices_n; i++) {
		struct err bad = {0};

		if (calibration_load(&a->calibrations[i], a->session.devices[i].uuid, &bad) != 0 &&
		    !quiet)
			fprintf(stderr, "kbn report: %s; table values are used\n", bad.text);
	}
	return 0;
}

/* Fills *a; free with analysis_close also after a failure. */
static int analysis_open(struct analysis *a, const struct request *q, struct names_filter *filter,
			 bool at_exit, struct err *e)
{
	struct report_options o = {.match = filter ? names_match : NULL,
				   .match_ctx = filter,
				   .pattern = q->kernel,
				   .top = (size_t)(q->top > 0 ? q->top : 0)};

	if (session_open(&a->session, q->dirs, q->dirs_n, (int)q->rank, e) != 0) {
		a->session.arena = NULL;
		return -1;
	}
	if (load_calibrations(a, at_exit, e) != 0)
		return -1;
	a->facts = code_facts_new(&a->session, is_simulated(&a->session),
				  at_exit ? JIT_AT_EXIT_MS : JIT_MS, at_exit ? late_at_exit : late);
	if (!a->facts)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (model_build(&a->model, &a->session, a->calibrations, code_facts_of, a->facts, e) != 0)
		return -1;
	return report_build(&a->report, &a->session, &a->model, &o, e);
}

static void analysis_close(struct analysis *a)
{
	code_facts_free(a->facts);
	if (a->session.arena)
		session_close(&a->session);
	free(a->calibrations);
}

static int terminal_columns(int fd)
{
	const char *set = getenv("COLUMNS");
	struct winsize w;
	int n = set ? atoi(set) : 0;

	if (n <= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0)
		n = w.ws_col;
	return n > 0 && n < 1000 ? n : NO_TERMINAL_COLUMNS;
}

static const char *format_name(const struct request *q)
{
	return q->json ? "json" : q->md ? "md" : q->csv ? "csv" : "text";
}

static int write_report(const struct request *q, const struct report *r, struct err *e)
{
	const struct render_format *f = render_find(format_name(q));
	struct render_options o = {terminal_columns(STDOUT_FILENO),
				   (size_t)(q->top > 0 ? q->top : 0)};

	if (q->output)
		return render_file(f, r, &o, q->output, e);
	if (f->report(r, &o, stdout, e) != 0)
		return -1;
	return fflush(stdout) == 0 ? 0 : err_set(e, ERR_IO, -1, "cannot write to standard output");
}

/* ---- at the end of a recorded program ---- */

/* Is `name` in a list like "md,json"? */
static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name), word;

	for (; *list; list += word + (list[word] == ',')) {
		word = strcspn(list, ",");
		if (word == n && strncmp(list, name, n) == 0)
			return true;
	}
	return false;
}

/* Writes what KBN_REPORT asks for; *first = the path of the first one, to be named to the user. */
static int write_files(const char *dir, const struct report *r, char first[4400], struct err *e)
{
	static const char *const names[] = {"md", "json", "csv"};
	const char *list = getenv("KBN_REPORT");
	struct render_options o = {100, 0};

	first[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct render_format *f = render_find(names[i]);
		char path[4400];

		if (!listed(list && *list ? list : "md,json", names[i]))
			continue;
		snprintf(path, sizeof(path), "%.4096s/%s", dir, f->file);
		if (render_file(f, r, &o, path, e) != 0)
			return -1;
		if (!first[0])
			memcpy(first, path, sizeof(path));
	}
	return 0;
}

static void tell(const struct report *r, const char *path)
{
	struct render_options o = {terminal_columns(STDERR_FILENO), 10};

	if (isatty(STDERR_FILENO))
		render_text.report(r, &o, stderr, NULL);
	if (path[0])
		fprintf(stderr, "kbn: report in %s\n", path);
}

/* The host program has ended well or badly by its own doing: nothing here may change that. */
static int at_exit(const struct request *q)
{
	const char *q_set = getenv("KBN_QUIET");
	bool quiet = q_set && *q_set && strcmp(q_set, "0") != 0;
	struct analysis a = {0};
	struct err e = {0};
	char path[4400];

	if (analysis_open(&a, q, NULL, true, &e) != 0 ||
	    write_files(q->dirs[0], &a.report, path, &e) != 0) {
		if (!quiet)
			fprintf(stderr, "kbn: no report: %s\n", e.text);
	} else if (!quiet) {
		tell(&a.report, path);
	}
	analysis_close(&a);
	return CMD_GOOD;
}

int cmd_report(int argc, char **argv)
{
	struct request q = {.rank = -1};
	struct analysis a = {0};
	struct names_filter *filter = NULL;
	struct err e = {0};
	int rc = CMD_GOOD;

	q.dirs = calloc((size_t)argc + 1, sizeof(*q.dirs));
	if (!q.dirs || parse(&q, argc, argv, &e) != 0) {
		rc = cmd_fail("report", &e);
		goto out;
	}
	if (q.help)
		goto out;
	if (q.at_exit) {
		rc = at_exit(&q);
		goto out;
	}
	if (q.kernel && !(filter = names_new(q.kernel, &e))) {
		rc = cmd_fail("report", &e);
		goto out;
	}
	if (analysis_open(&a, &q, filter, false, &e) != 0 || write_report(&q, &a.report, &e) != 0)
		rc = cmd_fail("report", &e);
	analysis_close(&a);
out:
	names_free(filter);
	free(q.dirs);
	return rc;
}
