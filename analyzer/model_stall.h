/*
 * model_stall.h - why the resident warps of a kernel do not issue: a picture from its code and geometry alone.
 * Input: a kernel of the model with its code. See stall_sim.h for how, and README.md for what it means.
 */
#ifndef KBN_MODEL_STALL_H
#define KBN_MODEL_STALL_H

#include "model.h"

struct arena;

/* Leaves k->stalls NULL where code, geometry or architecture are not known. False: memory has run out. */
bool model_stall(struct model_kernel *k, const struct model_device *d, struct arena *arena);

#endif
