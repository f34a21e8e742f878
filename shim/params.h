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
	return s->launches >= s->params_next;
}

/*
 * They were taken, or there are none to take. Launches 0, 16, 256 and 4096 have their turn: where
 * pointers and sizes change over a run they are seen.
 */
static inline void kbn_params_done(struct kbn_shape *s)
{
	s->params_next = !s->params_next         ? 16
			 : s->params_next < 4096 ? s->params_next * 16
						 : UINT64_MAX;
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
