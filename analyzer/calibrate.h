/*
 * calibrate.h - the measurements behind `kbn calibrate`: one device, its readings, each a number
 * with its method or a reason why there is none. Output is plain data; cmd_calibrate.c makes the
 * file of it. Everything here runs in kbn's own process, never in a recorded program.
 */
#ifndef KBN_CALIBRATE_H
#define KBN_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/*
 * X(id, group, key): group "" = top level of the file. Units are in the key; bandwidth counts bytes
 * read plus bytes written, matrix rates are dense.
 */
#define CALIBRATE_READINGS(X)                                 \
	X(GATED_BIAS, "", "gated_bias_us")                    \
	X(GATED_UNCERTAINTY, "", "gated_uncertainty_us")      \
	X(GATED_EMPTY, "", "gated_empty_us")                  \
	X(GATED_NOTHING, "", "gated_nothing_us")              \
	X(GATED_SLOPE, "", "gated_slope_us")                  \
	X(GATED_SPREAD, "", "gated_spread_us")                \
	X(CUPTI_EMPTY, "", "cupti_empty_us")                  \
	X(PLAIN_BIAS, "", "plain_bias_us")                    \
	X(COPY, "", "copy_gbps")                              \
	X(FP32, "", "fp32_tflops")                            \
	X(SM_CLOCK, "", "sm_clock_mhz")                       \
	X(L2_EFFECTIVE, "", "l2_effective_bytes")             \
	X(L2_BANDWIDTH, "", "l2_gbps")                        \
	X(FP16_ACC32, "matrix", "fp16_tensor_fp32acc_tflops") \
	X(FP16_ACC16, "matrix", "fp16_tensor_tflops")         \
	X(BF16, "matrix", "bf16_tensor_tflops")               \
	X(TF32, "matrix", "tf32_tensor_tflops")               \
	X(FP8, "matrix", "fp8_tensor_tflops")                 \
	X(INT8, "matrix", "int8_tensor_tops")

enum calibrate_reading {
#define CALIBRATE_ID(id, group, key) CALIBRATE_##id,
	CALIBRATE_READINGS(CALIBRATE_ID)
#undef CALIBRATE_ID
		CALIBRATE_N
};

struct calibrate_value {
	bool known;
	double value;
	char note[200]; /* known: how it was measured; else: why it is missing */
};

struct calibrate_device {
	char uuid[48]; /* "GPU-" and the usual 8-4-4-4-12 form */
	char name[128];
	int sm;         /* 90 */
	int driver_api; /* 13000 */
	double seconds; /* time the measurement took */
	struct calibrate_value values[CALIBRATE_N];
};

/* The time CUPTI gives for an empty kernel on each device, from a process of its own. */
#define CALIBRATE_DEVICES 64
struct calibrate_cupti {
	int devices;
	double empty_us[CALIBRATE_DEVICES]; /* 0 = not known */
	char why[120];                      /* when nothing is known */
};

/*
 * Asks CUPTI in a forked child, so that a broken CUPTI cannot harm the rest; call it before the
 * driver is initialised in this process. Never fails: without CUPTI nothing is known.
 */
void calibrate_cupti(struct calibrate_cupti *c);

/* 0 when there is a driver that executes code, else -1 with *e. Does not initialise it. */
int calibrate_available(struct err *e);

/* Number of devices, or -1 with *e: not available, or the driver does not start. */
int calibrate_count(struct err *e);

/* Measure device `ordinal`: some seconds. 0, or -1 with *e when the device cannot be used at all. */
int calibrate_device(int ordinal, const struct calibrate_cupti *cupti, struct calibrate_device *d,
		     struct err *e);

#endif
