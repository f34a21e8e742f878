/*
 * model_traps.h - what of a kernel is easily overlooked: the traps, KBN-T... of tables/findings.def, each a
 * predicate on what the model knows. What a trap needs and nobody knows makes no trap.
 */
#ifndef KBN_MODEL_TRAPS_H
#define KBN_MODEL_TRAPS_H

#include "finding.h"
#include "model.h"

/* Fill k->traps, by id, once everything else of *k is there. Texts are in the arena. */
void model_traps(struct model_kernel *k, const struct arch_device *hw, struct arena *arena);

/*
 * Those that only several geometries of one kernel show; `kernels` are those of s->shapes. 0, or -1 when memory
 * has run out.
 */
int model_traps_across(struct model_kernel *kernels, const struct session *s);

bool model_has_trap(const struct model_kernel *k, enum finding finding);

#endif
