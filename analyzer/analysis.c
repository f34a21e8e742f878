/*
 * analysis.c - see analysis.h.
 */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>

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

int analysis_open(struct analysis *a, const struct analysis_request *q, struct err *e)
{
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
	if (model_build(&a->model, &a->session, a->calibrations, code_facts_of, a->facts, e) != 0)
		return -1;
	return report_build(&a->report, &a->session, &a->model, &q->report, e);
}

void analysis_close(struct analysis *a)
{
	code_facts_free(a->facts);
	if (a->session.arena)
		session_close(&a->session);
	free(a->calibrations);
}
