/*
 * metrics.h - what is said of one kernel, as plain values that the model fills and the report hands to
 * the renderers. No functions. NaN = not known for reals, -1 for counts.
 */
#ifndef KBN_METRICS_H
#define KBN_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "quantity.h"

/* GPU time of one kernel shape, us, the bias of the event pair taken off. */
struct metric_times {
	uint64_t timed;                     /* launches with a good time, warm-up included */
	struct quantity total;              /* of all launches that ran */
	double mean, median, p90, min, max; /* without warm-up launches where there are others */
	double first;                       /* launch 0: first-launch cost */
	double uncertainty;                 /* of one time, both ways */
	const char *method;                 /* "gated-events", "events"; NULL = never timed */
	bool warmup_only;                   /* nothing but warm-up launches was timed */
	bool from_sketch; /* median and p90 are interpolated within 3.2% wide buckets */
	const char *why;  /* why there is no median, NULL = there is one */
};

/* The event pairs of one kind, of the whole run. */
struct metric_pairs {
	uint64_t n;
	double bias_us;        /* taken off each; NaN when devices differ */
	double uncertainty_us; /* the least that one may be off */
};

struct metric_resources {
	int registers;           /* as compiled */
	int registers_allocated; /* as a thread gets them: at least those compiled */
	int static_smem_bytes, local_bytes, spill_instructions;
	int uses_syscalls; /* calls the driver's device code (assert, printf, malloc): 0, 1, -1 = not known */
};

/* A statement with a stable id, which is that of a row of finding.h. */
struct metric_finding {
	const char *id, *text;
};

#define METRIC_FINDINGS 8

struct metric_class {
	const char *class;  /* of the contract; "unknown" while the work is not known */
	const char *larger; /* "memory", "compute", NULL */
	bool launch_bound;
	const char *label; /* how far the inputs carry it, a label of quantity.h */
	struct metric_finding reasons[METRIC_FINDINGS];
	int reasons_n;
};

#endif
