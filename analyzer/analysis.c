/*
 * analysis.c - see analysis.h.
 */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

/* Most time that compiling PTX again may take. Somebody waits for the recorded program to end. */
#define JIT_MS         20000
#define JIT_AT_EXIT_MS 500

static const char late[] =
	"the driver compiled this code from PTX, and 20 s were not enough to compile "
	"all of it again";
static const char late_at_exit[] =
	"the driver compiled this code from PTX: run `kbn report` for the "
	"reconstruction, which is not done while the program ends";

static bool is_simulated(const struct session *s)
{
	for (size_t i = 0; i < s->runs_n; i++)
		if (s->runs[i].simulated)
			return true;
	return false;
}

/* A damaged calibration is as good as none, but it is said: the times are wider for it. */
static int load_calibrations(struct analysis *a, const struct analysis_request *q, struct err *e)
{
	a->calibrations = calloc(a->session.devices_n + 1, sizeof(*a->calibrations));
	if (!a->calibrations)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (size_t i = 0; !is_simulated(&a->session) && i < a->session.devices_n; i++) {
		struct err bad = {0};

		if (calibration_load(&a->calibrations[i], a->session.devices[i].uuid, &bad) != 0 &&
		    !q->at_exit)
			fprintf(stderr, "kbn %s: %s; table values are used\n", q->command,
				bad.text);
	}
	return 0;
}

/* A model_work_fn on a file of known work. */
static int find_work(void *ctx, const struct session_shape *shape, struct work *work, struct err *e)
{
	struct analysis *a = ctx;
	const char *name = shape->kernel->name;
	struct formula_geometry g;
	const char *demangled = demangle_full(a->session.arena, name);
	const char *short_name = demangle_short(a->session.arena, name);

	if (!demangled || !short_name)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	memcpy(g.grid, shape->grid, sizeof(g.grid));
	memcpy(g.block, shape->block, sizeof(g.block));
	return work_file_find(a->work, name, demangled, short_name, &g, work, e);
}

static void name_unused_work(const struct analysis *a, const struct analysis_request *q)
{
	for (size_t line = 0; (line = work_file_unused(a->work, line)) != 0;)
		fprintf(stderr, "kbn %s: %s:%zu: matches no kernel that ran\n", q->command, q->work,
			line);
}

int analysis_open(struct analysis *a, const struct analysis_request *q, struct err *e)
{
	struct report_options options = q->report;

	if (session_open(&a->session, q->dirs, q->dirs_n, q->rank, e) != 0) {
		a->session.arena = NULL;
		return -1;
	}
	if (load_calibrations(a, q, e) != 0)
		return -1;
	a->facts = code_facts_new(&a->session, is_simulated(&a->session),
				  q->at_exit ? JIT_AT_EXIT_MS : JIT_MS,
				  q->at_exit ? late_at_exit : late);
	if (!a->facts)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (q->work && work_file_read(&a->work, q->work, e) != 0)
		return -1;
	if (model_build(&a->model, &a->session,
			&(struct model_sources){a->calibrations, code_facts_of, code_facts_access,
						a->facts, a->work ? find_work : NULL, a},
			e) != 0)
		return -1;
	if (a->work)
		name_unused_work(a, q);
	options.listing = code_facts_listing;
	options.listing_ctx = a->facts;
	return report_build(&a->report, &a->session, &a->model, &options, e);
}

void analysis_close(struct analysis *a)
{
	code_facts_free(a->facts);
	if (a->session.arena)
		session_close(&a->session);
	free(a->calibrations);
	work_file_free(a->work);
}
