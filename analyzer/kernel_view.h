/*
 * kernel_view.h - what everything that reads a kernel's instructions begins with: its control flow with the
 * instructions, and its tiles. Made once for a function and shared. Input: a function of a cubin.
 */
#ifndef KBN_KERNEL_VIEW_H
#define KBN_KERNEL_VIEW_H

#include "cfg.h"
#include "cubin.h"
#include "err.h"
#include "tile.h"

struct arena;

struct kernel_view {
	struct arena *arena; /* of all that follows */
	struct cfg cfg;
	struct tiles tiles;
};

/*
 * Of function f, which must outlive the view, of architecture sm (90 = sm_90). 0, or -1 with the reason in *e, and
 * nothing to close: the architecture is not known, the code is damaged, or memory has run out.
 */
int kernel_view_open(struct kernel_view *v, int sm, const struct cubin_function *f, struct err *e);
void kernel_view_close(struct kernel_view *v);

#endif
