/*
 * code.h - from an image of the recording to the cubin that ran: reads the stored file, checks its
 * hash, picks the device's entry of a fat binary, unpacks it, has PTX compiled. Then: does it fit
 * what the driver said of the kernel?
 * Input: session_image, session_kernel. Output: an open cubin.
 */
#ifndef KBN_CODE_H
#define KBN_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cubin.h"
#include "err.h"
#include "session.h"

struct code {
	struct cubin cubin;
	uint8_t *bytes;
	bool is_reconstructed; /* compiled from PTX after the program, not the code that ran itself */
	const char *by;        /* then "driver" or "ptxas"; else NULL */
};

/* What may be spent on compiling PTX again. */
struct code_compile {
	bool no_driver; /* the recording was made on the stand-in driver: only ptxas may be asked */
	int64_t left_ms; /* counted down, the running compilation included; from 0 on none is started */
	bool was_needed; /* set when the code is PTX */
};

/*
 * Open the code that a device of that SM (90) ran of `image`. -1 with the reason in one sentence:
 * not stored, damaged, nothing for this device, cannot be compiled, or not in time. `how` NULL =
 * by all means, within the limit of jit.h.
 */
int code_open(struct code *c, const struct session_image *image, uint32_t sm,
	      struct code_compile *how, struct err *e);
void code_close(struct code *c);

enum code_match {
	CODE_MATCHES,   /* all that both sides state is equal */
	CODE_DIFFERS,   /* not the code that ran */
	CODE_UNCHECKED, /* the driver said nothing that could be compared */
};

/*
 * Compare what the driver said of a kernel with a function of the cubin. `text` gets the first
 * difference ("registers: driver 32, code 40"), or what was compared.
 */
enum code_match code_confirm(const struct session_kernel *k, const struct cubin *c,
			     const struct cubin_function *f, char text[160]);

#endif
