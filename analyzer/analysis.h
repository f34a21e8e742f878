/*
 * analysis.h - from the directories of a recording to its report, for every command that needs one:
 * session, calibrations of this machine, code facts, model, report. Leaves formats to the renderers.
 */
#ifndef KBN_ANALYSIS_H
#define KBN_ANALYSIS_H

#include "calibration.h"
#include "code_facts.h"
#include "err.h"
#include "model.h"
#include "report.h"
#include "session.h"
#include "work.h"

struct analysis {
	struct session session;
	struct calibration *calibrations;
	struct code_facts *facts;
	struct work_file *work;
	struct model model;
	struct report report;
};

struct analysis_request {
	const char *command; /* that asks, for what is said on stderr */
	const char *const *dirs;
	size_t dirs_n;
	int rank;         /* -1 = all */
	const char *work; /* file of known work, NULL = none */
	bool at_exit;     /* somebody waits for the recorded program to end: be quick and quiet */
	struct report_options report; /* where listings are wanted, they are made here */
};

/* Fills *a (all zero before); free with analysis_close also after a failure. */
int analysis_open(struct analysis *a, const struct analysis_request *q, struct err *e);
void analysis_close(struct analysis *a);

#endif
