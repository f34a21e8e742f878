/*
 * resolve.h - what cuGetProcAddress gives out.
 */
#ifndef KBN_SHIM_RESOLVE_H
#define KBN_SHIM_RESOLVE_H

#include "kbn_cuda.h"

/*
 * The pointer to hand to a caller who asked for (symbol, version, flags) and was given `p` by the
 * driver: the wrapper of exactly that function, or `p`.
 */
void *kbn_substitute(const char *symbol, void *p, int version, cuuint64_t flags);

/* Write the notes that came up before the recording began. */
void kbn_resolve_tell(void);

#endif
