/*
 * model.h - from what was recorded to what is said of each kernel: times without the bias of the event
 * pair, occupancy, cliffs, class. Input: struct session, calibrations, code facts. Output: plain data,
 * one entry per session shape in the same order. Leaves wording, names and sorting to report.c.
 */
#ifndef KBN_MODEL_H
#define KBN_MODEL_H

#include "arch.h"
#include "calibration.h"
#include "metrics.h"
#include "occupancy.h"
#include "roofline.h"
#include "session.h"
#include "work.h"

struct model_device {
	struct arch_device hw; /* peaks replaced by the calibration's where it has them */
	struct calibration calibration;
	struct event_bias bias;
};

/* What the stored code says of one kernel; -1 = not known. */
struct model_code {
	int sm; /* that it was made for */
	int registers, static_smem_bytes, local_bytes, spill_instructions, barriers, debug_build,
		uses_syscalls;
	const char *
		mismatch; /* how the stored code differs from what the driver ran, NULL = it does not */
	const char *why; /* why nothing is known of the code, NULL = it is, or was never stored */
	const char *
		reconstructed_by; /* "driver", "ptxas": compiled again from PTX; NULL = the code that ran */
	const struct metric_sass *sass; /* NULL = not known */
	const char *no_sass;            /* why, NULL = it is, or `why` says it */
};

/* Looks up the code facts of a kernel on a device of that SM; `ctx` is the caller's. Leaves *code as it is when there are none. */
typedef void (*model_code_fn)(void *ctx, const struct session_kernel *kernel, int sm,
			      struct model_code *code);

/*
 * What is known of the work of one launch of a shape into *work. 1 = something, 0 = nothing; -1 with the
 * reason in *e ends the analysis.
 */
typedef int (*model_work_fn)(void *ctx, const struct session_shape *shape, struct work *work,
			     struct err *e);

/* What the lanes of a shape's warps do together, NULL = not known; on a device of that SM. */
typedef const struct metric_access *(*model_access_fn)(void *ctx, const struct session_shape *shape,
						       int sm);

/* Where the model gets what the session does not have; all may be NULL. */
struct model_sources {
	const struct calibration *calibrations; /* one per session device */
	model_code_fn code;
	model_access_fn access;
	void *code_ctx; /* of both */
	model_work_fn work;
	void *work_ctx;
};

struct model_kernel {
	const struct session_shape *shape;
	uint64_t launches; /* that ran: neither captured nor failed */
	struct metric_times times;
	struct metric_resources resources;
	struct model_code code;
	bool occupancy_known; /* architecture known, geometry kept */
	struct occupancy occupancy;
	bool cliff_known;
	struct smem_cliff cliff;
	struct metric_class verdict;
	bool work_known; /* something of it */
	struct work work;
	struct roofline roofline;
	struct metric_finding traps[METRIC_FINDINGS];
	int traps_n;
	const struct metric_access *access; /* NULL = not known */
	const struct metric_stalls *stalls; /* NULL = not known */
};

struct model_totals {
	struct quantity kernel_time_us, busy_pct, gap_us, copy_time_us, copy_overlap_pct;
	uint64_t shapes_untimed; /* that ran without any good time */
};

struct model_timing {
	const char *method;             /* "gated-events", "events", "cupti", "off" */
	double bias_us, uncertainty_us; /* of most pairs; NaN when devices differ */
	struct metric_pairs gated, plain;
	double self_overhead_pct; /* host time of timing, of the time of all launching threads */
	uint64_t gates, gate_deadlines;
};

struct model {
	struct model_device *devices;
	struct model_kernel *kernels; /* as many as session shapes */
	struct model_totals totals;
	struct model_timing timing;
};

/* Memory comes from the session's arena; nothing to free. Fails for want of memory, or as sources->work does. */
int model_build(struct model *m, const struct session *s, const struct model_sources *sources,
		struct err *e);

/*
 * Times of one shape. `ran` = launches that ran. The rule: launches 0 to 2 are warm-up and stand apart;
 * mean, median, p90, min, max are of the others. A gated time loses gated_ns, a plain
 * one plain_ns.
 * Median and p90 come from the sketch by interpolation within a bucket, bounded by min and max, or
 * from the early samples when there is no sketch. total = what was timed + mean * what was not.
 * A time that is not positive after the bias is below the resolution and stays unknown.
 */
void model_times(struct metric_times *out, const struct session_times *t,
		 const struct event_bias *bias, uint64_t ran);

#endif
