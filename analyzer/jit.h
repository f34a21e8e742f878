/*
 * jit.h - machine code of PTX that the driver compiled in the recorded program, made again here:
 * by the driver's own linker when there is a GPU, else by ptxas. Input: PTX text. Output: a cubin,
 * to be labelled `reconstructed`. Runs in a process of its own with a time limit, so that a fault
 * of the driver costs one kernel's code and not the report.
 */
#ifndef KBN_JIT_H
#define KBN_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct jit_option {
	uint32_t option, value;
}; /* CUjit_option and the low half of its value */

struct jit_source {
	const char *ptx; /* need not end in a NUL */
	size_t bytes;
	uint32_t sm; /* of the device that ran it, 90 */
	const struct jit_option *options;
	size_t options_n;
	bool no_driver;    /* the recording was made on a stand-in: only ptxas may be asked */
	unsigned limit_ms; /* time for all of it, 0 = 20 s */
};

struct jit_result {
	uint8_t *cubin; /* free() */
	size_t bytes;
	const char *by; /* "driver" or "ptxas" */
};

/* 0, or -1 with the reason in one sentence (also when neither tool is there). */
int jit_reconstruct(const struct jit_source *source, struct jit_result *result, struct err *e);

/*
 * The architecture to compile for, as ptxas names it: the device's, with the `a` or `f` of the
 * PTX's own target where that applies to it. Exposed for tests.
 */
void jit_target(const char *ptx, size_t bytes, uint32_t sm, char out[16]);

#endif
