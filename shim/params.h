/*
 * params.h - parameter bytes of the first launch of a shape and of a few later ones.
 */
#ifndef KBN_SHIM_PARAMS_H
#define KBN_SHIM_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "registry.h"
#include "state.h"

#define KBN_PARAM_BYTES 32764u /* the largest parameter block there is */

/* Whether the parameters of this launch (0-based, of its shape) are to be taken. Cheap. */
static inline bool kbn_params_due(const struct kbn_shape *s)
{
	/* Launches 0, 16, 256, 4096: where pointers and sizes change over a run they are seen. */
	return s->params_taken < 4 &&
	       s->launches >= (s->params_taken ? 1ull << 4 * s->params_taken : 0);
}

/*
 * Copy the parameters into the thread's scratch, before the real call: the program may reuse the
 * memory right after. Only what the kernel's table says is there is read. Bytes copied; 0 = none.
 */
uint32_t kbn_params_copy(struct kbn_thread *t, const struct kbn_kernel *k, void **params,
			 void **extra);

/*
 * Record what was copied, after the launch succeeded. Asks the driver what the pointer-like values
 * point into, unless the launch went into a capture.
 */
void kbn_params_write(struct kbn_thread *t, const struct kbn_kernel *k, struct kbn_shape *s,
		      uint32_t bytes, bool captured);

#endif
