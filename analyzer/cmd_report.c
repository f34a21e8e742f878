/*
 * cmd_report.c - `kbn report DIR...`: read a recording, analyse it, write it in one format. With
 * --at-exit (set by the recorder and by `kbn run`) it writes the files of KBN_REPORT into the run
 * directory and a table or one line to stderr, and never fails: the program's own end comes first.
 */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "names.h"
#include "options.h"
#include "render.h"

struct request {
	const char **dirs;
	size_t dirs_n;
	bool json, md, text, csv, html, at_exit, help;
	const char *output, *kernel, *work, *report;
	int64_t top, rank;
};

#define OPTIONS(q)                                                                                            \
	{"--text", OPTION_FLAG, &(q)->text, NULL,                                                             \
	 "a table for the terminal, and what to do first (the default)"},                                     \
		{"--md", OPTION_FLAG, &(q)->md, NULL, "Markdown"},                                            \
		{"--json", OPTION_FLAG, &(q)->json, NULL,                                                     \
		 "everything, for programs (kbn schema kbn-report/1)"},                                       \
		{"--csv", OPTION_FLAG, &(q)->csv, NULL, "one row per kernel, for spreadsheets"},              \
		{"--html", OPTION_FLAG, &(q)->html, NULL,                                                     \
		 "a page of its own for a browser: roofline, table, sections"},                               \
		{"-o", OPTION_TEXT, &(q)->output, "FILE",                                                     \
		 "write to FILE instead of standard output"},                                                 \
		{"--top", OPTION_NUMBER, &(q)->top, "N",                                                      \
		 "only the N kernels with the most time (of many, text lists 20 and Markdown describes 20)"}, \
		{"--kernel", OPTION_TEXT, &(q)->kernel, "RE",                                                 \
		 "only kernels whose mangled, demangled or short name has a match (PCRE2)"},                  \
		{"--rank", OPTION_NUMBER, &(q)->rank, "R",                                                    \
		 "only the processes of this rank (MPI, torchrun)"},                                          \
		{"--work", OPTION_TEXT, &(q)->work, "FILE",                                                   \
		 "work that you know: lines like RE gemm(M,N,K,fp16)"},                                       \
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
	if (q->json + q->md + q->text + q->csv + q->html > 1)
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

/* The formats that are to be written at the end of a program. */
static const char *asked(void)
{
	const char *list = getenv("KBN_REPORT");

	return list && *list ? list : "md,json";
}

static bool wants_html(const struct request *q)
{
	return q->at_exit ? listed(asked(), "html") : q->html;
}

static int open_report(struct analysis *a, const struct request *q, struct names_filter *filter,
		       struct err *e)
{
	const struct analysis_request r = {
		.command = "report",
		.dirs = q->dirs,
		.dirs_n = q->dirs_n,
		.rank = (int)q->rank,
		.at_exit = q->at_exit,
		.work = q->work,
		.report = {.match = filter ? names_match : NULL,
			   .match_ctx = filter,
			   .pattern = q->kernel,
			   .top = (size_t)(q->top > 0 ? q->top : 0),
			   .listings = wants_html(q) ? RENDER_LISTINGS : 0},
	};

	return analysis_open(a, &r, e);
}

static const char *format_name(const struct request *q)
{
	return q->json ? "json" : q->md ? "md" : q->csv ? "csv" : q->html ? "html" : "text";
}

/* ---- at the end of a recorded program ---- */

/* Writes what KBN_REPORT asks for; *first = the path of the first one, to be named to the user. */
static int write_files(const char *dir, const struct report *r, char first[4400], struct err *e)
{
	static const char *const names[] = {"md", "json", "csv", "html"};
	const char *list = asked();
	struct render_options o = {100, 0};

	first[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct render_format *f = render_find(names[i]);
		char path[4400];

		if (!listed(list, names[i]))
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
	struct render_options o = {cmd_columns(STDERR_FILENO), 10};

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

	if (open_report(&a, q, NULL, &e) != 0 ||
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
	if (open_report(&a, &q, filter, &e) != 0 ||
	    cmd_write_report(&a.report, format_name(&q), q.output, (size_t)(q.top > 0 ? q.top : 0),
			     &e) != 0)
		rc = cmd_fail("report", &e);
	analysis_close(&a);
out:
	names_free(filter);
	free(q.dirs);
	return rc;
}
