/*
 * cmd_analyze_options.c - see cmd_analyze_options.h.
 */
#include "cmd_analyze_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cmd.h"
#include "text.h"

#define TIME_MOST_US 1e12 /* eleven days */

/* What describes a launch, as it was typed. */
struct launch_words {
	int64_t grid[3], block[3], cluster[3], dyn_smem; /* grid[0] 0, dyn_smem -1 = not given */
	const char *params, *flops, *bytes, *gemm, *attention;
	struct option_list times, args, allocations;
};

/* The words as they were typed. */
struct words {
	bool json, md, text, csv, html;
	const char *expect;
	struct launch_words launch;
	struct option_list cases;
};

#define GEOMETRY_OPTIONS(l)                                                                     \
	{"--grid", OPTION_TRIPLE, (l)->grid, "X[,Y[,Z]]", "blocks (needed)"},                   \
		{"--block", OPTION_TRIPLE, (l)->block, "X[,Y[,Z]]",                             \
		 "threads of a block (needed)"},                                                \
		{"--cluster", OPTION_TRIPLE, (l)->cluster, "X[,Y[,Z]]", "blocks of a cluster"}, \
	{                                                                                       \
		"--dyn-smem", OPTION_NUMBER, &(l)->dyn_smem, "BYTES",                           \
			"dynamic shared memory per block"                                       \
	}
#define LAUNCH_OPTIONS(l)                                                                             \
	{"--time-us", OPTION_LIST, &(l)->times, "T", "what a launch takes; may be given again"},      \
		{"--arg", OPTION_LIST, &(l)->args, "TYPE:VALUE",                                      \
		 "an argument, in their order: i8 to i64, u8 to u64, f16, bf16, f32, f64, ptr, hex"}, \
		{"--params", OPTION_TEXT, &(l)->params, "HEX", "all arguments as bytes"},             \
		{"--alloc", OPTION_LIST, &(l)->allocations, "ADDR:BYTES",                             \
		 "a buffer that an argument points into; may be given again"},                        \
		{"--flops", OPTION_TEXT, &(l)->flops, "EXPR", "operations of one launch"},            \
		{"--bytes", OPTION_TEXT, &(l)->bytes, "EXPR",                                         \
		 "bytes that it must move; of gx gy gz bx by bz too"},                                \
		{"--gemm", OPTION_TEXT, &(l)->gemm, "M,N,K[,DTYPE]", "it is this matrix product"},    \
	{                                                                                             \
		"--attention", OPTION_TEXT, &(l)->attention, "B,H,SQ,SKV,D[,...]",                    \
			"it is this attention; also causal, kvheads=N, DTYPE"                         \
	}
#define OPTIONS(q, w)                                                                             \
	{"--kernel", OPTION_TEXT, &(q)->kernel, "RE",                                             \
	 "the kernel whose mangled, demangled or short name has a match (PCRE2)"},                \
		GEOMETRY_OPTIONS(&(w)->launch),                                                   \
		{"--all", OPTION_FLAG, &(q)->all, NULL,                                           \
		 "every kernel that matches, all with this geometry"},                            \
		{"--arch", OPTION_TEXT, &(q)->arch_name, "sm_XX",                                 \
		 "the code that this architecture runs (the newest in FILE)"},                    \
		{"--device", OPTION_TEXT, &(q)->device_name, "NAME",                              \
		 "a device, profile or sm_XX of `kbn devices` (one of the code's architecture)"}, \
		{"--peaks", OPTION_TEXT, &(q)->peaks_file, "FILE",                                \
		 "peaks as measured, of `kbn calibrate -o FILE`"},                                \
		LAUNCH_OPTIONS(&(w)->launch),                                                     \
		{"--case", OPTION_LIST, &(w)->cases, "NAME=VALUE;...",                            \
		 "one of several launches side by side: what differs from the options"},          \
		{"--expect-pct", OPTION_TEXT, &(w)->expect, "P", "expected share of the peak"},   \
		{"--text", OPTION_FLAG, &(w)->text, NULL,                                         \
		 "a table for the terminal, and what to do first (the default)"},                 \
		{"--md", OPTION_FLAG, &(w)->md, NULL, "Markdown"},                                \
		{"--json", OPTION_FLAG, &(w)->json, NULL,                                         \
		 "everything, for programs (kbn schema kbn-report/1)"},                           \
		{"--csv", OPTION_FLAG, &(w)->csv, NULL, "one row per kernel"},                    \
		{"--html", OPTION_FLAG, &(w)->html, NULL, "a page of its own for a browser"},     \
		{"-o", OPTION_TEXT, &(q)->output, "FILE",                                         \
		 "write to FILE instead of standard output"},                                     \
	{                                                                                         \
		"--help", OPTION_FLAG, &(q)->help, NULL, "this text"                              \
	}

static void show_help(const struct option_spec *table, size_t n)
{
	printf("usage: kbn analyze FILE --kernel RE --grid X[,Y[,Z]] --block X[,Y[,Z]] [options]\n\n"
	       "The report of a kernel that nobody ran: its code, from a cubin, fat binary, executable or library,\n"
	       "with a geometry and a device of your choice. Times are those that you give.\n"
	       "--alloc and --expect-pct are checked and not used yet.\n\n");
	options_help(table, n, stdout);
	printf("\nA --case has any of --grid to --dyn-smem and --time-us to --attention, without the dashes and with a\n"
	       "semicolon between; what it does not say is as the options say. Work that it states replaces theirs, so do\n"
	       "its times, arguments and buffers.\n");
	printf("\nFor example:  kbn analyze libfoo.so --kernel gemm --grid 64,64 --block 256 --device ga104-reference\n"
	       "              kbn analyze libfoo.so --kernel gemm --block 256 --case 'grid=4,4;gemm=512,512,64;time-us=9' \\\n"
	       "                --case 'grid=64,64;gemm=8192,8192,64;time-us=210'\n");
}

static int need(const char *option, const int64_t v[3], struct err *e)
{
	return v[0] ? 0 : err_set(e, ERR_USAGE, -1, "%s X[,Y[,Z]] is missing", option);
}

static int take_format(struct analyze_request *q, const struct words *w, struct err *e)
{
	if (w->json + w->md + w->text + w->csv + w->html > 1)
		return err_set(e, ERR_USAGE, -1, "one format at a time");
	q->format = w->json ? "json" : w->md ? "md" : w->csv ? "csv" : w->html ? "html" : "text";
	return 0;
}

static int take_arch(struct analyze_request *q, struct err *e)
{
	const size_t n = q->arch_name ? strlen(q->arch_name) : 0;

	if (!q->arch_name)
		return 0;
	q->arch = arch_parse(q->arch_name);
	if (q->arch < 0)
		return err_set(e, ERR_USAGE, -1, "--arch: %.60s is no architecture like sm_90",
			       q->arch_name);
	q->suffix = strchr("af", q->arch_name[n - 1]) ? q->arch_name[n - 1] : '\0';
	return arch_find(q->arch, NULL)
		       ? 0
		       : err_set(e, ERR_USAGE, -1,
				 "--arch: no row for sm_%d in the hardware table (kbn devices)",
				 q->arch);
}

/* A product or profile, else the reference product of an architecture. */
static int take_device(struct analyze_request *q, struct err *e)
{
	if (!q->device_name)
		return 0;
	q->product = product_find(q->device_name);
	q->device = q->product ? q->product->sm : arch_parse(q->device_name);
	if (q->device < 0)
		return cmd_no_device(q->device_name, e);
	if (!arch_find(q->device, NULL))
		return err_set(e, ERR_USAGE, -1,
			       "--device: no row for sm_%d in the hardware table (kbn devices)",
			       q->device);
	return 0;
}

static int take_times(struct analyze_case *c, const struct option_list *times, struct arena *a,
		      struct err *e)
{
	c->times_us = arena_array(a, times->n, sizeof(*c->times_us));
	if (!c->times_us)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (; c->times_n < times->n; c->times_n++)
		if (given_number("--time-us", times->at[c->times_n], TIME_MOST_US,
				 &c->times_us[c->times_n], e) != 0)
			return -1;
	return 0;
}

static int take_args(struct given *g, const struct launch_words *w, struct arena *a, struct err *e)
{
	struct given_arg *args = arena_array(a, w->args.n, sizeof(*args));
	struct given_allocation *allocations =
		arena_array(a, w->allocations.n, sizeof(*allocations));

	if (!args || !allocations)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (w->args.n && w->params)
		return err_set(e, ERR_USAGE, -1, "--arg or --params, not both");
	for (; g->args_n < w->args.n; g->args_n++)
		if (given_arg(&args[g->args_n], w->args.at[g->args_n], a, e) != 0)
			return -1;
	for (; g->allocations_n < w->allocations.n; g->allocations_n++)
		if (given_allocation(&allocations[g->allocations_n],
				     w->allocations.at[g->allocations_n], e) != 0)
			return -1;
	g->args = args;
	g->allocations = allocations;
	return w->params ? given_hex("--params", w->params, &g->params, &g->params_n, a, e) : 0;
}

static int take_work(struct analyze_case *c, const struct launch_words *w, struct err *e)
{
	const struct {
		const char *option, *text;
	} given[] = {{"--flops", w->flops},
		     {"--bytes", w->bytes},
		     {"--gemm", w->gemm},
		     {"--attention", w->attention}};
	struct formula_geometry g;

	c->work = (struct work)WORK_INIT;
	for (int i = 0; i < 3; i++) {
		g.grid[i] = (uint32_t)c->launch.grid[i];
		g.block[i] = (uint32_t)c->launch.block[i];
	}
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		if (!given[i].text)
			continue;
		if (work_option(&c->work, given[i].option, given[i].text, &g, e) != 0)
			return -1;
		c->has_work = true;
	}
	return 0;
}

static int take_launch(struct analyze_case *c, const struct launch_words *w, struct arena *a,
		       struct err *e)
{
	struct launch *l = &c->launch;

	memcpy(l->grid, w->grid, sizeof(l->grid));
	memcpy(l->block, w->block, sizeof(l->block));
	memcpy(l->cluster, w->cluster, sizeof(l->cluster));
	l->dyn_smem_bytes = w->dyn_smem < 0 ? 0 : w->dyn_smem;
	if (need("--grid", l->grid, e) != 0 || need("--block", l->block, e) != 0 ||
	    launch_check(l, e) != 0 || take_times(c, &w->times, a, e) != 0 ||
	    take_args(&c->given, w, a, e) != 0)
		return -1;
	return take_work(c, w, e);
}

/* What a case does not say is as the options say. */
static void inherit(struct launch_words *w, const struct launch_words *from)
{
	if (!w->grid[0])
		memcpy(w->grid, from->grid, sizeof(w->grid));
	if (!w->block[0])
		memcpy(w->block, from->block, sizeof(w->block));
	if (!w->cluster[0])
		memcpy(w->cluster, from->cluster, sizeof(w->cluster));
	if (w->dyn_smem < 0)
		w->dyn_smem = from->dyn_smem;
	if (!w->times.n)
		w->times = from->times;
	if (!w->args.n && !w->params) {
		w->args = from->args;
		w->params = from->params;
	}
	if (!w->allocations.n)
		w->allocations = from->allocations;
	if (!w->flops && !w->bytes && !w->gemm && !w->attention) {
		w->flops = from->flops;
		w->bytes = from->bytes;
		w->gemm = from->gemm;
		w->attention = from->attention;
	}
}

static bool room_for_lists(struct launch_words *w, size_t n, struct arena *a)
{
	w->dyn_smem = -1;
	w->times.at = arena_array(a, n, sizeof(*w->times.at));
	w->args.at = arena_array(a, n, sizeof(*w->args.at));
	w->allocations.at = arena_array(a, n, sizeof(*w->allocations.at));
	return w->times.at && w->args.at && w->allocations.at;
}

/* "grid=4,4;block=256": each part is an option without its dashes. Returns how many, -1 = out of memory. */
static int split_case(char **words, const char *text, struct arena *a)
{
	int n = 0;

	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, ";");
		words[++n] = text_format(a, "--%.*s", (int)(end - text), text);
		if (!words[n])
			return -1;
	}
	return n;
}

static int take_case(struct analyze_case *c, const char *text, const struct launch_words *from,
		     struct arena *a, struct err *e)
{
	struct launch_words w = {.grid = {0}};
	const struct option_spec table[] = {GEOMETRY_OPTIONS(&w), LAUNCH_OPTIONS(&w)};
	const size_t room = strlen(text) + 2;
	char **words = arena_array(a, room, sizeof(*words));
	const char **operands = arena_array(a, room, sizeof(*operands));
	size_t operands_n;
	int n;

	if (!words || !operands || !room_for_lists(&w, room, a) ||
	    (n = split_case(words, text, a)) < 0)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	words[0] = "";
	for (int i = 1; i <= n; i++)
		if (!strchr(words[i], '='))
			return err_set(e, ERR_USAGE, -1, "\"%.60s\" is not NAME=VALUE",
				       words[i] + 2);
	if (options_parse(table, sizeof(table) / sizeof(*table), n + 1, words, operands,
			  &operands_n, e) != 0)
		return -1;
	inherit(&w, from);
	return take_launch(c, &w, a, e);
}

static int take_cases(struct analyze_request *q, const struct words *w, struct arena *a,
		      struct err *e)
{
	const size_t n = w->cases.n ? w->cases.n : 1;

	q->cases = arena_array(a, n, sizeof(*q->cases));
	if (!q->cases)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (!w->cases.n) {
		q->cases_n = 1;
		return take_launch(q->cases, &w->launch, a, e);
	}
	for (; q->cases_n < n; q->cases_n++) {
		struct err why = {.offset = -1};
		const char *text = w->cases.at[q->cases_n];

		if (take_case(&q->cases[q->cases_n], text, &w->launch, a, &why) != 0)
			return err_set(e, why.code, -1, "--case %zu: %s", q->cases_n + 1, why.text);
	}
	return 0;
}

static int take_words(struct analyze_request *q, const struct words *w, size_t files,
		      struct arena *a, struct err *e)
{
	if (files != 1)
		return err_set(e, ERR_USAGE, -1,
			       files ? "one file at a time" : "no file; kbn help analyze");
	q->expect_pct = NAN;
	if (take_format(q, w, e) != 0 || take_cases(q, w, a, e) != 0 || take_arch(q, e) != 0 ||
	    take_device(q, e) != 0)
		return -1;
	if (w->expect && given_number("--expect-pct", w->expect, 100, &q->expect_pct, e) != 0)
		return -1;
	if (q->peaks_file && calibration_file(&q->peaks, q->peaks_file, e) != 0)
		return -1;
	q->filter = q->kernel ? names_new(q->kernel, e) : NULL;
	return q->kernel && !q->filter ? -1 : 0;
}

int analyze_options(struct analyze_request *q, int argc, char **argv, struct arena *a,
		    struct err *e)
{
	struct words w = {.json = false};
	const struct option_spec table[] = {OPTIONS(q, &w)};
	const size_t options = sizeof(table) / sizeof(*table), room = (size_t)argc;
	const char **operands = arena_array(a, room, sizeof(*operands));
	size_t files;

	w.cases.at = arena_array(a, room, sizeof(*w.cases.at));
	if (!operands || !w.cases.at || !room_for_lists(&w.launch, room, a))
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (options_parse(table, options, argc, argv, operands, &files, e) != 0)
		return -1;
	if (q->help) {
		show_help(table, options);
		return 0;
	}
	q->path = operands[0];
	return take_words(q, &w, files, a, e);
}
