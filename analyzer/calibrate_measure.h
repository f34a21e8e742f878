/*
 * calibrate_measure.h - what the measurements of `kbn calibrate` share: the plain kernels, and how a
 * reading is given. Included by calibrate_measure.c and calibrate_bias.c only.
 */
#ifndef KBN_CALIBRATE_MEASURE_H
#define KBN_CALIBRATE_MEASURE_H

#include "calibrate.h"
#include "calibrate_gpu.h"

struct calibrate_basic {
	CUmodule module;
	CUfunction empty, spin, ffma, fill, read;
	CUdeviceptr scratch; /* 4 KB */
};

/* A reading and how it was measured; one that is not a positive number is missing. */
void calibrate_known(struct calibrate_device *d, enum calibrate_reading r, double value,
		     const char *how, ...) __attribute__((format(printf, 4, 5)));

/* No reading, and why; NULL or "" = not measured. */
void calibrate_missing(struct calibrate_device *d, enum calibrate_reading r, const char *why);

/*
 * A gated pair around an empty kernel reads bias + e, with e the kernel's own time as CUPTI would
 * give it. e comes from CUPTI itself (`cupti_us`, 0 = not known), else from an earlier measurement of
 * this architecture, else from its bounds: a further kernel in the bracket adds e and the gap between
 * two kernels, so e lies between 0 and that slope.
 */
void calibrate_gated(struct gpu *g, const struct calibrate_basic *b, double cupti_us,
		     struct calibrate_device *d);

/*
 * A plain pair on a stream that is never idle, against gated pairs of the same kernel, which must be a
 * long one: around short kernels the two read the same (tables/bias.def). After calibrate_gated.
 */
void calibrate_plain(struct gpu *g, const struct calibrate_basic *b, struct calibrate_device *d);

#endif
