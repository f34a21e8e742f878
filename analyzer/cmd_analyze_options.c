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

/* The words as they were typed. */
struct words {
	bool json, md, text, csv, html;
	const char *params, *flops, *bytes, *gemm, *attention, *expect;
	struct option_list times, args, allocations;
};

#define OPTIONS(q, w)                                                                                 \
	{"--kernel", OPTION_TEXT, &(q)->kernel, "RE",                                                 \
	 "the kernel whose mangled, demangled or short name has a match (PCRE2)"},                    \
		{"--grid", OPTION_TRIPLE, (q)->launch.grid, "X[,Y[,Z]]", "blocks (needed)"},          \
		{"--block", OPTION_TRIPLE, (q)->launch.block, "X[,Y[,Z]]",                            \
		 "threads of a block (needed)"},                                                      \
		{"--cluster", OPTION_TRIPLE, (q)->launch.cluster, "X[,Y[,Z]]",                        \
		 "blocks of a cluster"},                                                              \
		{"--dyn-smem", OPTION_NUMBER, &(q)->launch.dyn_smem_bytes, "BYTES",                   \
		 "dynamic shared memory per block"},                                                  \
		{"--all", OPTION_FLAG, &(q)->all, NULL,                                               \
		 "every kernel that matches, all with this geometry"},                                \
		{"--arch", OPTION_TEXT, &(q)->arch_name, "sm_XX",                                     \
		 "the code that this architecture runs (the newest in FILE)"},                        \
		{"--device", OPTION_TEXT, &(q)->device_name, "NAME",                                  \
		 "a device, profile or sm_XX of `kbn devices` (one of the code's architecture)"},     \
		{"--peaks", OPTION_TEXT, &(q)->peaks_file, "FILE",                                    \
		 "peaks as measured, of `kbn calibrate -o FILE`"},                                    \
		{"--time-us", OPTION_LIST, &(w)->times, "T",                                          \
		 "what a launch takes; may be given again"},                                          \
		{"--arg", OPTION_LIST, &(w)->args, "TYPE:VALUE",                                      \
		 "an argument, in their order: i8 to i64, u8 to u64, f16, bf16, f32, f64, ptr, hex"}, \
		{"--params", OPTION_TEXT, &(w)->params, "HEX", "all arguments as bytes"},             \
		{"--alloc", OPTION_LIST, &(w)->allocations, "ADDR:BYTES",                             \
		 "a buffer that an argument points into; may be given again"},                        \
		{"--flops", OPTION_TEXT, &(w)->flops, "EXPR", "operations of one launch"},            \
		{"--bytes", OPTION_TEXT, &(w)->bytes, "EXPR",                                         \
		 "bytes that it must move; of gx gy gz bx by bz too"},                                \
		{"--gemm", OPTION_TEXT, &(w)->gemm, "M,N,K[,DTYPE]", "it is this matrix product"},    \
		{"--attention", OPTION_TEXT, &(w)->attention, "B,H,SQ,SKV,D[,...]",                   \
		 "it is this attention; also causal, kvheads=N, DTYPE"},                              \
		{"--expect-pct", OPTION_TEXT, &(w)->expect, "P", "expected share of the peak"},       \
		{"--text", OPTION_FLAG, &(w)->text, NULL,                                             \
		 "a table for the terminal (the default)"},                                           \
		{"--md", OPTION_FLAG, &(w)->md, NULL, "Markdown"},                                    \
		{"--json", OPTION_FLAG, &(w)->json, NULL,                                             \
		 "everything, for programs (kbn schema kbn-report/1)"},                               \
		{"--csv", OPTION_FLAG, &(w)->csv, NULL, "one row per kernel"},                        \
		{"--html", OPTION_FLAG, &(w)->html, NULL, NULL},                                      \
		{"-o", OPTION_TEXT, &(q)->output, "FILE",                                             \
		 "write to FILE instead of standard output"},                                         \
	{                                                                                             \
		"--help", OPTION_FLAG, &(q)->help, NULL, "this text"                                  \
	}

static void show_help(const struct option_spec *table, size_t n)
{
	printf("usage: kbn analyze FILE --kernel RE --grid X[,Y[,Z]] --block X[,Y[,Z]] [options]\n\n"
	       "The report of a kernel that nobody ran: its code, from a cubin, fat binary, executable or library,\n"
	       "with a geometry and a device of your choice. Times are those that you give.\n"
	       "--arg, --params, --alloc and --expect-pct are checked and not used yet.\n\n");
	options_help(table, n, stdout);
	printf("\nFor example:  kbn analyze libfoo.so --kernel gemm --grid 64,64 --block 256 --device ga104-reference\n");
}

static int need(const char *option, const int64_t v[3], struct err *e)
{
	return v[0] ? 0 : err_set(e, ERR_USAGE, -1, "%s X[,Y[,Z]] is missing", option);
}

static int take_format(struct analyze_request *q, const struct words *w, struct err *e)
{
	if (w->html)
		return err_set(e, ERR_USAGE, -1,
			       "--html is not in this version; --md can be read as it is");
	if (w->json + w->md + w->text + w->csv > 1)
		return err_set(e, ERR_USAGE, -1, "one format at a time");
	q->format = w->json ? "json" : w->md ? "md" : w->csv ? "csv" : "text";
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

static int take_times(struct analyze_request *q, const struct words *w, struct arena *a,
		      struct err *e)
{
	q->times_us = arena_array(a, w->times.n, sizeof(*q->times_us));
	if (!q->times_us)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (; q->times_n < w->times.n; q->times_n++)
		if (given_number("--time-us", w->times.at[q->times_n], TIME_MOST_US,
				 &q->times_us[q->times_n], e) != 0)
			return -1;
	return 0;
}

static int take_args(struct given *g, const struct words *w, struct arena *a, struct err *e)
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

static int take_work(struct analyze_request *q, const struct words *w, struct err *e)
{
	const struct {
		const char *option, *text;
	} given[] = {{"--flops", w->flops},
		     {"--bytes", w->bytes},
		     {"--gemm", w->gemm},
		     {"--attention", w->attention}};
	struct formula_geometry g;

	q->work = (struct work)WORK_INIT;
	for (int i = 0; i < 3; i++) {
		g.grid[i] = (uint32_t)q->launch.grid[i];
		g.block[i] = (uint32_t)q->launch.block[i];
	}
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		if (!given[i].text)
			continue;
		if (work_option(&q->work, given[i].option, given[i].text, &g, e) != 0)
			return -1;
		q->has_work = true;
	}
	q->given.expect_pct = NAN;
	return w->expect ? given_number("--expect-pct", w->expect, 100, &q->given.expect_pct, e)
			 : 0;
}

static int take_words(struct analyze_request *q, const struct words *w, size_t files,
		      struct arena *a, struct err *e)
{
	if (files != 1)
		return err_set(e, ERR_USAGE, -1,
			       files ? "one file at a time" : "no file; kbn help analyze");
	if (take_format(q, w, e) != 0 || need("--grid", q->launch.grid, e) != 0 ||
	    need("--block", q->launch.block, e) != 0 || launch_check(&q->launch, e) != 0 ||
	    take_arch(q, e) != 0 || take_device(q, e) != 0 || take_times(q, w, a, e) != 0 ||
	    take_args(&q->given, w, a, e) != 0 || take_work(q, w, e) != 0)
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

	w.times.at = arena_array(a, room, sizeof(*w.times.at));
	w.args.at = arena_array(a, room, sizeof(*w.args.at));
	w.allocations.at = arena_array(a, room, sizeof(*w.allocations.at));
	if (!operands || !w.times.at || !w.args.at || !w.allocations.at)
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
