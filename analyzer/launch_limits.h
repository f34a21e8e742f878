/*
 * launch_limits.h - can a kernel be launched so at all? The limits of CUDA, of the device and of what was
 * compiled in, for launches that nobody has tried. Input: architecture, function of a cubin, geometry.
 * Output: the first limit that is broken, in words. Leaves how many blocks fit to occupancy.c.
 */
#ifndef KBN_LAUNCH_LIMITS_H
#define KBN_LAUNCH_LIMITS_H

#include <stdint.h>

#include "arch.h"
#include "cubin.h"
#include "err.h"
#include "given.h"

struct launch {
	int64_t grid[3], block[3], cluster[3]; /* cluster 0,0,0 = not given */
	int64_t dyn_smem_bytes;
};

/* The limits that hold for every kernel. ERR_USAGE names the limit and the option. */
int launch_check(const struct launch *l, struct err *e);

/* Those of this kernel on this device as well. */
int launch_check_kernel(const struct launch *l, const struct arch *a,
			const struct cubin_function *f, struct err *e);

/* Are the arguments as many and as large as those of the kernel? */
int launch_check_args(const struct given *g, const struct cubin_function *f, struct err *e);

#endif
