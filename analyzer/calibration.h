/*
 * calibration.h - what `kbn calibrate` measured on a device, read back; and what an event pair adds to
 * a kernel's time on machines that were never calibrated (tables/bias.def).
 */
#ifndef KBN_CALIBRATION_H
#define KBN_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch.h"
#include "err.h"

struct calibration {
	bool found;
	bool is_of_user; /* a file that the user named, not the one of this device */
	int sm;          /* of the device that was measured, 0 = not stated */
	char date[40];   /* RFC 3339 */
	double gated_bias_us, gated_uncertainty_us,
		plain_bias_us; /* NaN = not measured, as below */
	double copy_gbps;      /* bytes read and written */
	double peaks[PEAK_N];  /* achieved, dense */
	double sm_clock_mhz, l2_effective_bytes;
};

/*
 * The file of a device below ${XDG_CACHE_HOME:-~/.cache}/kbn, named <uuid>.json with or without "GPU-".
 * A missing file is no error: c->found = false. A damaged one fails and leaves c->found = false.
 */
int calibration_load(struct calibration *c, const uint8_t uuid[16], struct err *e);

/* The same of a file that must be there, for peaks that the user wants. */
int calibration_file(struct calibration *c, const char *path, struct err *e);

/*
 * Read one calibration document, as it is or as the only one of what `kbn calibrate -o` writes. `uuid` of the
 * file is not checked.
 */
int calibration_parse(struct calibration *c, const char *json, size_t bytes, struct err *e);

/* "GPU-01234567-89ab-cdef-0123-456789abcdef" */
void calibration_uuid(char out[48], const uint8_t uuid[16]);

/*
 * ns to take off a time and how far the result may be wrong. A gated pair adds the same to every
 * kernel; what a plain pair on a busy stream adds grows with the kernel, from the gated bias up to
 * plain_ns (tables/bias.def has the measurement).
 */
struct event_bias {
	double gated_ns, gated_uncertainty_ns;
	double plain_ns;
	bool calibrated; /* of this device, else of the table */
	const char *source;
};

/* How far a plain time is wrong at most: the gated uncertainty and half of what plain pairs add. */
double event_bias_plain_uncertainty(const struct event_bias *b);

/* The calibration's figures where it has them, else the row of the architecture. `c` may be NULL. */
struct event_bias calibration_bias(const struct calibration *c, int sm);

#endif
