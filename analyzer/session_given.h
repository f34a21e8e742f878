/*
 * session_given.h - a session of launches that nobody recorded: `kbn analyze` describes them, and the
 * layers above treat them like recorded ones. Input: code, a device of the hardware table, geometry and
 * times in the user's words, checked by the caller. Output: struct session.
 */
#ifndef KBN_SESSION_GIVEN_H
#define KBN_SESSION_GIVEN_H

#include "session.h"

struct session_given_kernel {
	const char *name; /* mangled */
	const uint8_t *
		image; /* a cubin; kernels of one have the same pointer. It must outlive the session */
	size_t image_bytes;
	uint32_t sm;         /* it was built for */
	uint32_t cluster[3]; /* compiled in; 0,0,0 = none */
	const struct session_params
		*params; /* of each launch, bytes_n 0 = not given; NULL = of none */
};

/* One launch of every kernel. */
struct session_given_launch {
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0,0,0 = not given */
	uint32_t dyn_smem_bytes;
	const double *times_us; /* any order */
	size_t times_n;
};

struct session_given {
	const char *file; /* where the code comes from */
	const char *
		device; /* a name of the product table, or anything else for the architecture alone */
	int sm;         /* of the device */
	bool is_product;   /* `device` is a name of the table */
	const char **argv; /* command line, for the reader */
	size_t argc;
	const struct session_given_kernel *kernels;
	size_t kernels_n;
	const struct session_given_launch *launches; /* shapes have the index as `given` */
	size_t launches_n;
	const struct session_note *notes; /* to be said besides that nothing ran */
	size_t notes_n;
};

/* Memory comes from `arena`, which becomes the session's; on failure (no memory) it stays the caller's. */
int session_given(struct session *s, const struct session_given *g, struct arena *arena,
		  struct err *e);

#endif
