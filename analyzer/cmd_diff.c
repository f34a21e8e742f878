/*
 * cmd_diff.c - `kbn diff BASE... --to NEW...`: what changed between two sides of recordings or reports,
 * by kernel and for the run, with an exit status that a script can act on.
 */
#include "cmd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "diff.h"
#include "diff_read.h"
#include "diff_render.h"
#include "options.h"

#define FAIL_ON_PCT 5.0

struct request {
	const char **paths; /* of base, then of new */
	size_t base_n, new_n;
	const char *fail_on_text, *to;
	double fail_on;
	bool json, help;
};

static void help(const struct option_spec *table, size_t n)
{
	printf("usage: kbn diff BASE NEW [options]\n"
	       "       kbn diff BASE... --to NEW... [options]\n\n"
	       "Compares recordings (directories) or reports (what kbn report --json writes), kernel by kernel.\n"
	       "Several of one side tell how far runs differ by themselves: with three or more, small changes\n"
	       "are told from noise. A change below 2%% is never called one.\n\n");
	options_help(table, n, stdout);
	printf("\nExit status: 0 good, 1 an input cannot be read, 2 usage, 3 regressed beyond PCT, 4 nothing\n"
	       "comparable (another device, for example).\n"
	       "For example:  kbn diff before-1 before-2 before-3 --to after-1 after-2 after-3 --fail-on 3\n");
}

static int parse_pct(struct request *q, struct err *e)
{
	char *end;

	q->fail_on = FAIL_ON_PCT;
	if (!q->fail_on_text)
		return 0;
	q->fail_on = strtod(q->fail_on_text, &end);
	if (end == q->fail_on_text || *end || !isfinite(q->fail_on) || q->fail_on < 0)
		return err_set(e, ERR_USAGE, -1, "--fail-on is a percentage like 5 or 2.5, not %s",
			       q->fail_on_text);
	return 0;
}

/* Where "--to" stands by itself, argc = nowhere. */
static int find_to(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--to") != 0 && strcmp(argv[i], "--") != 0)
		i++;
	return i < argc && strcmp(argv[i], "--to") == 0 ? i : argc;
}

static int check_sides(struct request *q, bool has_to, struct err *e)
{
	if (q->to)
		return err_set(e, ERR_USAGE, -1,
			       "--to stands by itself: kbn diff BASE... --to NEW...");
	if (!has_to && q->base_n == 2) {
		q->base_n = q->new_n = 1;
		return 0;
	}
	if (!has_to && q->base_n > 2)
		return err_set(e, ERR_USAGE, -1,
			       "which of them are new? kbn diff BASE... --to NEW...");
	if (!q->base_n)
		return err_set(e, ERR_USAGE, -1, "nothing to compare: kbn diff BASE NEW");
	if (!q->new_n)
		return err_set(e, ERR_USAGE, -1, "nothing to compare %s with: kbn diff BASE NEW",
			       err_path(q->paths[0]));
	return 0;
}

static int parse(struct request *q, int argc, char **argv, struct err *e)
{
	const struct option_spec table[] = {
		{"--to", OPTION_TEXT, &q->to, "NEW...", "what stands behind it is the new side"},
		{"--fail-on", OPTION_TEXT, &q->fail_on_text, "PCT",
		 "exit 3 when the run, or a kernel with 1% of its time, regressed by more (default 5)"},
		{"--json", OPTION_FLAG, &q->json, NULL,
		 "everything, for programs (kbn schema kbn-diff/1)"},
		{"--help", OPTION_FLAG, &q->help, NULL, "this text"},
	};
	const size_t n = sizeof(table) / sizeof(*table);
	int to = find_to(argc, argv);

	if (options_parse(table, n, to, argv, q->paths, &q->base_n, e) != 0)
		return -1;
	if (to < argc &&
	    options_parse(table, n, argc - to, argv + to, q->paths + q->base_n, &q->new_n, e) != 0)
		return -1;
	if (q->help) {
		help(table, n);
		return 0;
	}
	if (check_sides(q, to < argc, e) != 0)
		return -1;
	return parse_pct(q, e);
}

static int compare(const struct request *q, struct arena *arena, struct diff *d, struct err *e)
{
	size_t n = q->base_n + q->new_n;
	struct diff_report *r = arena ? arena_array(arena, n, sizeof(*r)) : NULL;
	const struct diff_side base = {r, q->base_n}, new = {r ? r + q->base_n : NULL, q->new_n};

	if (!r)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (diff_read(&r[i], arena, q->paths[i], e) != 0)
			return -1;
	return diff_build(d, arena, &base, &new, e);
}

static int answer(const struct request *q, const struct diff *d)
{
	struct err e = {.offset = -1};

	if (!q->json)
		diff_text(d, q->fail_on, cmd_columns(STDOUT_FILENO), stdout);
	else if (diff_json(d, stdout, &e) != 0)
		return cmd_fail("diff", &e);
	if (fflush(stdout) != 0) {
		err_set(&e, ERR_IO, -1, "cannot write to standard output");
		return cmd_fail("diff", &e);
	}
	if (!d->comparable)
		return CMD_NOTHING;
	return diff_fails(d, q->fail_on) ? CMD_REGRESSED : CMD_GOOD;
}

int cmd_diff(int argc, char **argv)
{
	struct request q = {0};
	struct diff d = {0};
	struct arena *arena = arena_new();
	struct err e = {.offset = -1};
	int rc = CMD_GOOD;

	q.paths = calloc((size_t)argc + 1, sizeof(*q.paths));
	if (!q.paths || parse(&q, argc, argv, &e) != 0)
		rc = cmd_fail("diff", &e);
	else if (!q.help)
		rc = compare(&q, arena, &d, &e) != 0 ? cmd_fail("diff", &e) : answer(&q, &d);
	arena_free(arena);
	free(q.paths);
	return rc;
}
