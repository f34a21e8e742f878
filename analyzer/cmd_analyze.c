/*
 * cmd_analyze.c - `kbn analyze FILE`: the report of a kernel that nobody ran. Picks code and kernel, sees
 * whether such a launch is possible, makes a session of it by hand; the model and the report do the rest
 * as for a recording.
 */
#include "cmd.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cmd_analyze_options.h"
#include "code_facts.h"
#include "code_pick.h"
#include "demangle.h"
#include "model.h"
#include "render.h"
#include "report.h"
#include "session_given.h"
#include "text.h"

#define CANDIDATES 20 /* that are listed */
#define NOTES      4

struct job {
	struct analyze_request q;
	struct arena *arena; /* of everything */
	struct code_pick pick;
	enum { LIST_NONE, LIST_WANTED, LIST_ALL } list; /* of kernels to be shown with the error */
	const struct product *product; /* the device, NULL = only its architecture */
	struct arch_device hw;
	struct session_note notes[NOTES];
	size_t notes_n;
	struct session session;
	struct code_facts *facts;
	struct model model;
	struct report report;
};

/* ------------------------------------------------------------------------------ which kernels */

/* Shown is what a pattern can be made of; where two kernels have one name, also where they are. */
static void list_candidate(struct job *a, const struct code_pick_kernel *k, bool is_twice)
{
	const char *name = demangle_full(a->arena, k->name);

	name = name ? text_utf8(a->arena, name, NULL) : NULL;
	fprintf(stderr, "  %s", name ? name : "");
	if (is_twice)
		fprintf(stderr, "  (image %zu)", k->image);
	fputc('\n', stderr);
}

static bool same_name(const struct code_pick *p, size_t i, size_t k)
{
	return k < p->kernels.n && strcmp(p->kernels.at[i].name, p->kernels.at[k].name) == 0;
}

static void list_candidates(struct job *a, bool only_wanted)
{
	const struct code_pick *p = &a->pick;
	size_t n = 0;

	for (size_t i = 0; i < p->kernels.n; i++) {
		if (only_wanted && !p->kernels.at[i].is_wanted)
			continue;
		if (n++ < CANDIDATES)
			list_candidate(a, &p->kernels.at[i],
				       same_name(p, i, i + 1) || (i && same_name(p, i, i - 1)));
	}
	if (n > CANDIDATES)
		fprintf(stderr, "  ... and %zu more\n", n - CANDIDATES);
}

/* The file has no kernel for this device at all: what does it have? */
static int no_code(const struct job *a, struct err *e)
{
	const struct code_pick *p = &a->pick;
	const char *path = err_path(p->path), *device = a->q.device_name ? a->hw.name : "";
	char target[64] = "any device of the hardware table";

	if (p->sm)
		snprintf(target, sizeof(target), "sm_%u%.1s", p->sm, p->suffix ? &p->suffix : "");
	if (p->has_ptx)
		return err_set(e, ERR_FORMAT, -1,
			       "%s: only PTX%s%s, no machine code; make a cubin of it with ptxas",
			       path, p->sm ? " for " : "", p->sm ? target : "");
	if (!p->any_sm)
		return err_set(e, ERR_FORMAT, -1, "%s: no machine code in it", path);
	if (!a->q.arch_name && !a->q.device_name)
		return err_set(e, ERR_FORMAT, -1, "%s: no kernel for %s", path, target);
	return err_set(
		e, ERR_USAGE, -1,
		"%s: no kernel for %s%s%s; it has code for sm_%u (kbn sass FILE --histogram lists it)",
		path, target, *device ? ", " : "", device, p->any_sm);
}

/* One kernel, or several with --all; else the user is told what there is. */
static int check_matches(struct job *a, struct err *e)
{
	const struct code_pick *p = &a->pick;
	const char *pattern = a->q.kernel, *path = err_path(p->path);

	if (!p->kernels.n)
		return no_code(a, e);
	a->list = p->wanted ? LIST_WANTED : LIST_ALL;
	if (!p->wanted)
		return err_set(e, ERR_USAGE, -1, "--kernel: no kernel of %s matches \"%.60s\"",
			       path, pattern);
	if (p->wanted > 1 && !a->q.all && !pattern)
		return err_set(e, ERR_USAGE, -1,
			       "%s has %zu kernels; choose one with --kernel RE, or add --all",
			       path, p->wanted);
	if (p->wanted > 1 && !a->q.all)
		return err_set(
			e, ERR_USAGE, -1,
			"--kernel: %zu kernels of %s match \"%.60s\"; choose one, or add --all",
			p->wanted, path, pattern);
	a->list = LIST_NONE;
	for (size_t i = 0; p->wanted > 1 && i < a->q.cases_n; i++)
		if (a->q.cases[i].times_n)
			return err_set(e, ERR_USAGE, -1,
				       "--time-us is of one kernel, and %zu match", p->wanted);
	return 0;
}

static int add_note(struct job *a, int note, const char *text, struct err *e)
{
	if (!text)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	a->notes[a->notes_n++] = (struct session_note){.note = note, .text = text};
	return 0;
}

/* More than one architecture and nobody chose. */
static int note_choice(struct job *a, struct err *e)
{
	const struct code_pick *p = &a->pick;
	char others[160] = "";
	size_t n = 0;

	if (!p->others_n)
		return 0;
	for (size_t i = 0; i < p->others_n; i++)
		n += (size_t)snprintf(others + n, sizeof(others) - n, "%ssm_%u", i ? ", " : "",
				      p->others[i]);
	return add_note(a, SESSION_NOTE_CHOICE,
			text_format(a->arena, "sm_%u is taken, the newest; there %s also %s", p->sm,
				    p->others_n == 1 ? "is" : "are", others),
			e);
}

/* -------------------------------------------------------------------------------- can it be launched? */

/* In every case that was asked for; the error names the first that cannot be, where there are several. */
static bool is_possible(const struct job *a, const struct cubin_function *f, struct err *e)
{
	struct err why = {.offset = -1};

	for (size_t i = 0; i < a->q.cases_n; i++) {
		const struct analyze_case *c = &a->q.cases[i];

		if (launch_check_kernel(&c->launch, &a->hw.arch, f, &why) == 0 &&
		    launch_check_args(&c->given, f, &why) == 0)
			continue;
		if (a->q.cases_n > 1)
			err_set(e, why.code, -1, "--case %zu: %s", i + 1, why.text);
		else
			*e = why;
		return false;
	}
	return true;
}

/* Leaves in *first what the first of them that cannot be launched lacks; returns how many those are. */
static size_t drop_impossible(struct job *a, const char **name, struct err *first)
{
	struct code_pick *p = &a->pick;
	size_t dropped = 0;

	for (size_t i = 0; i < p->kernels.n; i++) {
		struct code_pick_kernel *k = &p->kernels.at[i];
		struct err e = {.offset = -1};

		if (!k->is_wanted || is_possible(a, k->function, &e))
			continue;
		k->is_wanted = false;
		if (!dropped++) {
			*first = e;
			*name = demangle_short(a->arena, k->name);
		}
	}
	return dropped;
}

static int check_launch(struct job *a, struct err *e)
{
	struct err first = {.offset = -1};
	const char *name = NULL;
	const size_t all = a->pick.wanted, dropped = drop_impossible(a, &name, &first);

	a->pick.wanted -= dropped;
	if (!dropped)
		return 0;
	if (!a->pick.wanted) {
		*e = first;
		return -1;
	}
	return add_note(a, SESSION_NOTE_LEFT_OUT,
			text_format(a->arena, "%zu of %zu, %s first: %s", dropped, all,
				    name ? name : "", first.text),
			e);
}

/* Several were asked for, and the file has copies of some of them. */
static void note_again(struct job *a)
{
	if (a->pick.again && a->q.all)
		a->notes[a->notes_n++] = (struct session_note){.note = SESSION_NOTE_AGAIN,
							       .value = (int64_t)a->pick.again};
}

/* Of all cases together: what any of them gives. */
static struct given given_of_all(const struct analyze_request *q)
{
	struct given all = {.args_n = 0};

	for (size_t i = 0; i < q->cases_n; i++) {
		const struct given *g = &q->cases[i].given;

		all.allocations_n += g->allocations_n;
	}
	return all;
}

static int note_unused(struct job *a, struct err *e)
{
	const struct given g = given_of_all(&a->q);
	const struct {
		bool is_given;
		const char *option;
	} options[] = {
		{g.allocations_n > 0, "--alloc"},
		{!isnan(a->q.expect_pct), "--expect-pct"},
	};
	const char *text = "";

	for (size_t i = 0; text && i < sizeof(options) / sizeof(*options); i++)
		if (options[i].is_given)
			text = text_format(a->arena, "%s%s%s", text, *text ? ", " : "",
					   options[i].option);
	return text && !*text ? 0 : add_note(a, SESSION_NOTE_NOT_USED, text, e);
}

/* ------------------------------------------------------------------------------- the session */

static void set_device(struct job *a)
{
	const uint32_t sm = a->q.device ? (uint32_t)a->q.device : a->pick.sm;

	a->product = a->q.product ? a->q.product : product_reference((int)sm);
	if (a->product)
		arch_describe_product(&a->hw, a->product);
	else
		arch_describe(&a->hw, "", (int)sm, false, NULL, 0);
}

static void to_sides(uint32_t out[3], const int64_t v[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = (uint32_t)v[i];
}

static const char **command_line(struct arena *arena, int argc, char **argv)
{
	const char **line = arena_array(arena, (size_t)argc + 1, sizeof(*line));

	if (!line)
		return NULL;
	line[0] = "kbn";
	for (int i = 0; i < argc; i++)
		line[i + 1] = argv[i];
	return line;
}

/* Arguments as they lie in the parameter block of a kernel. */
static bool place_args(struct job *a, const struct given *g, const struct cubin_function *f,
		       struct session_params *out)
{
	uint8_t *bytes;

	*out = (struct session_params){.bytes = g->params, .bytes_n = g->params_n};
	if (!g->args_n)
		return true;
	out->bytes = bytes = arena_alloc(a->arena, f->param_bytes);
	out->bytes_n = f->param_bytes;
	for (size_t i = 0; bytes && i < g->args_n && i < f->params_n; i++)
		if (f->params[i].offset <= f->param_bytes &&
		    g->args[i].bytes_n <= f->param_bytes - f->params[i].offset)
			memcpy(bytes + f->params[i].offset, g->args[i].bytes, g->args[i].bytes_n);
	return bytes != NULL;
}

static const struct session_params *given_params(struct job *a, const struct cubin_function *f)
{
	struct session_params *list = arena_array(a->arena, a->q.cases_n, sizeof(*list));

	for (size_t i = 0; list && i < a->q.cases_n; i++)
		if (!place_args(a, &a->q.cases[i].given, f, &list[i]))
			return NULL;
	return list;
}

static struct session_given_kernel *given_kernels(struct job *a)
{
	struct session_given_kernel *list = arena_array(a->arena, a->pick.wanted, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < a->pick.kernels.n; i++) {
		const struct code_pick_kernel *k = &a->pick.kernels.at[i];

		if (!k->is_wanted)
			continue;
		list[n] = (struct session_given_kernel){
			.name = k->name,
			.image = k->bytes,
			.image_bytes = k->bytes_n,
			.sm = k->sm,
			.params = given_params(a, k->function),
		};
		if (!list[n].params)
			return NULL;
		memcpy(list[n++].cluster, k->function->cluster, sizeof(list->cluster));
	}
	return list;
}

static struct session_given_launch *given_launches(struct job *a)
{
	struct session_given_launch *list = arena_array(a->arena, a->q.cases_n, sizeof(*list));

	for (size_t i = 0; list && i < a->q.cases_n; i++) {
		const struct analyze_case *c = &a->q.cases[i];

		list[i] = (struct session_given_launch){
			.dyn_smem_bytes = (uint32_t)c->launch.dyn_smem_bytes,
			.times_us = c->times_us,
			.times_n = c->times_n,
		};
		to_sides(list[i].grid, c->launch.grid);
		to_sides(list[i].block, c->launch.block);
		to_sides(list[i].cluster, c->launch.cluster);
	}
	return list;
}

static int make_session(struct job *a, int argc, char **argv, struct err *e)
{
	const struct analyze_request *q = &a->q;
	struct session_given g = {
		.file = q->path,
		.device = a->product ? a->product->name
				     : text_format(a->arena, "sm_%d", a->hw.arch.sm),
		.sm = a->hw.arch.sm,
		.is_product = a->product != NULL,
		.argv = command_line(a->arena, argc, argv),
		.argc = (size_t)argc + 1,
		.kernels = given_kernels(a),
		.kernels_n = a->pick.wanted,
		.launches = given_launches(a),
		.launches_n = q->cases_n,
		.notes = a->notes,
		.notes_n = a->notes_n,
	};

	if (!g.device || !g.argv || !g.kernels || !g.launches)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	return session_given(&a->session, &g, a->arena, e);
}

/* A model_work_fn: what the options say is said of every kernel asked for. */
static int given_work(void *ctx, const struct session_shape *shape, struct work *work,
		      struct err *e)
{
	const struct analyze_case *c = &((const struct analyze_request *)ctx)->cases[shape->given];

	(void)e;
	*work = c->work;
	return c->has_work;
}

static int build(struct job *a, struct err *e)
{
	struct report_options o = {.listing = code_facts_listing};
	struct model_sources sources = {&a->q.peaks, code_facts_of, code_facts_access,
					NULL,        given_work,    &a->q};

	a->facts = code_facts_new(&a->session, false, 0, "");
	if (!a->facts)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	sources.code_ctx = o.listing_ctx = a->facts;
	o.listings = strcmp(a->q.format, "html") == 0 ? RENDER_LISTINGS : 0;
	if (model_build(&a->model, &a->session, &sources, e) != 0)
		return -1;
	return report_build(&a->report, &a->session, &a->model, &o, e);
}

/* Peaks of one architecture say nothing of another. */
static int check_peaks(const struct job *a, struct err *e)
{
	const struct analyze_request *q = &a->q;

	if (!q->peaks.found || !q->peaks.sm || q->peaks.sm == a->hw.arch.sm)
		return 0;
	return err_set(e, ERR_USAGE, -1, "--peaks: %.100s is of sm_%d, and the device is sm_%d",
		       err_path(q->peaks_file), q->peaks.sm, a->hw.arch.sm);
}

/* The words of --arch and --device together. */
static int check_fit(const struct analyze_request *q, struct err *e)
{
	if (!q->arch || !q->device || (q->arch / 10 == q->device / 10 && q->arch <= q->device))
		return 0;
	return err_set(e, ERR_USAGE, -1, "--arch: code for sm_%d does not run on sm_%d (%.60s)",
		       q->arch, q->device, q->device_name);
}

static int analyze(struct job *a, int argc, char **argv, struct err *e)
{
	const struct analyze_request *q = &a->q;

	if (check_fit(q, e) != 0)
		return -1;
	cmd_fail_when_cut("analyze", q->path);
	a->pick = (struct code_pick){
		.path = q->path,
		.filter = q->filter,
		.device = (uint32_t)q->device,
		.arch = (uint32_t)q->arch,
		.suffix = q->suffix,
		.arena = a->arena,
	};
	if (code_pick_scan(&a->pick, e) != 0)
		return -1;
	set_device(a);
	if (check_peaks(a, e) != 0 || check_matches(a, e) != 0 ||
	    code_pick_load(&a->pick, e) != 0 || check_launch(a, e) != 0 || note_choice(a, e) != 0 ||
	    note_unused(a, e) != 0)
		return -1;
	note_again(a);
	if (make_session(a, argc, argv, e) != 0 || build(a, e) != 0)
		return -1;
	return cmd_write_report(&a->report, q->format, q->output, 0, e);
}

/* The candidates stand below the line that says why they are shown. */
static int fail(struct job *a, const struct err *e)
{
	const int status = cmd_fail("analyze", e);

	if (a->list != LIST_NONE)
		list_candidates(a, a->list == LIST_WANTED);
	return status;
}

int cmd_analyze(int argc, char **argv)
{
	struct job a = {.arena = arena_new()};
	struct err e = {.offset = -1};
	int status = CMD_GOOD;

	if (!a.arena)
		err_set(&e, ERR_MEMORY, -1, "out of memory");
	if (!a.arena || analyze_options(&a.q, argc, argv, a.arena, &e) != 0 ||
	    (!a.q.help && analyze(&a, argc, argv, &e) != 0))
		status = fail(&a, &e);
	code_facts_free(a.facts);
	code_pick_close(&a.pick);
	names_free(a.q.filter);
	arena_free(a.arena);
	return status;
}
