/*
 * model_work.h - the work of a kernel, held against what its device can do. A part of the model of its own: the
 * type of the work, as far as the user does not say it, comes from the code.
 */
#ifndef KBN_MODEL_WORK_H
#define KBN_MODEL_WORK_H

#include "model.h"

/*
 * Asks sources->work for the work of the kernel and fills work, roofline and verdict; without work the verdict
 * is what time and geometry prove. -1 with the reason when that fails, or memory has run out.
 */
int model_roofline(struct model_kernel *k, const struct model_device *d,
		   const struct model_sources *sources, struct arena *a, struct err *e);

#endif
