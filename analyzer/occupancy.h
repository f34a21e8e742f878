/*
 * occupancy.h - how many blocks of a kernel one SM holds, what stops it from holding more, how the
 * grid falls into waves, and where the shared memory cliffs are. Exact hardware rules, no estimate.
 * Input: struct arch and launch facts. Leaves the verdict (is it enough?) to advice.
 */
#ifndef KBN_OCCUPANCY_H
#define KBN_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "arch.h"

#define OCCUPANCY_NO_LIMIT INT32_MAX /* the kernel does not use this resource */
#define OCCUPANCY_UNKNOWN  (-1)

struct occupancy_input {
	int registers;      /* per thread; 0 = none, -1 = not known */
	bool uses_syscalls; /* the kernel calls into the driver's code (assert, printf, malloc) */
	int block_threads;
	int64_t static_smem_bytes, dyn_smem_bytes; /* static -1 = not known */
	int barriers;              /* named barriers per block, 0 = none, -1 = not known */
	int cluster_blocks;        /* blocks per cluster, 0 or 1 = no cluster */
	int carveout;              /* preferred shared memory percent, -1 = the driver's default */
	int64_t smem_config_bytes; /* the size the SM was set to, where known; 0 = by carveout */
	uint64_t grid_blocks;      /* 0 = not known */
	int sm_count;              /* -1 = not known */
};

/* In the order of the contract; ties go to the first in occupancy_limiter_order. */
enum occupancy_limit {
	LIMIT_REGISTERS,
	LIMIT_SMEM,
	LIMIT_WARPS,
	LIMIT_BLOCKS,
	LIMIT_BARRIERS,
	LIMIT_CLUSTER,
	LIMIT_N
};
extern const char *const occupancy_limit_names[LIMIT_N];

struct occupancy {
	int limits[LIMIT_N]; /* blocks per SM by each resource, OCCUPANCY_UNKNOWN, OCCUPANCY_NO_LIMIT */
	int limiter;         /* enum occupancy_limit, -1 = not known */
	int blocks_per_sm; /* 0 = cannot launch, -1 = not known */
	int warps_per_block, warps_per_sm, max_warps_per_sm;
	int max_blocks_per_sm;
	int64_t registers_per_block; /* as allocated; -1 also when a thread cannot have so many */
	int64_t smem_per_block;      /* as allocated, with the reserve */
	int64_t smem_per_sm;         /* the carveout in force */
	int registers_per_sm;
	double pct; /* of the SM's warps; NaN = not known, as below */
	double waves, tail_waste_pct, last_wave_pct;
	int enough_warps;         /* 0, 1, -1 = not known */
	int enough_warps_at;      /* the threshold, warps per SM */
	bool enough_is_published; /* for this architecture; else a rule of thumb */
	int grid_warps_per_sm; /* that a grid of less than one wave puts on an SM when spread evenly, rounded up; -1 = it fills them, or not known */
	int64_t clusters_at_most; /* whole device; an upper bound, -1 = no cluster or not known */
	const char *why;          /* what is missing or forbids the launch, NULL = nothing */
};

/*
 * Fill *o. Rules (words: warps of a block rounded up; registers allocated per warp in units, warps
 * spread over partitions; shared memory with reserve in units, out of the chosen carveout; barrier
 * slots from sm_90 on). waves = grid blocks / (SMs * blocks per SM); last_wave_pct = how full the last
 * wave is; tail_waste_pct = share of the SM time that idles when all blocks take the same time.
 *
 * Clusters: the blocks of one must be resident together inside one GPC, and how many SMs each GPC of a
 * given chip kept is not an attribute. So limits[LIMIT_CLUSTER] stays unknown; exact is only that
 * blocks_per_sm cannot be exceeded, hence clusters_at_most.
 */
void occupancy_compute(struct occupancy *o, const struct arch *a, const struct occupancy_input *in);

/*
 * Registers that a thread of a kernel compiled for `registers` gets; 0 and -1 (none, not known) stay.
 * `uses_syscalls` as in struct occupancy_input.
 */
int occupancy_registers(const struct arch *a, int registers, bool uses_syscalls);

#define SMEM_CLIFF_STEPS 3

struct smem_cliff {
	int64_t smem_per_block_bytes; /* static + dynamic, as the program sees it */
	int blocks_per_sm;            /* by all limits together */
	int64_t max_bytes_for
		[SMEM_CLIFF_STEPS]; /* largest bytes per block that leave room for 1, 2, 3 blocks */
	int64_t to_next_step_bytes; /* bytes to save for one more block by shared memory, 0 = not limited by it, -1 = none */
	int64_t to_cliff_bytes; /* bytes that a block may add before an SM holds one block less (with one block: before it cannot launch), -1 = cannot launch, or not known */
	bool above_cliff; /* one block per SM because of shared memory alone, the rest would allow two */
	int64_t double_buffer_bytes;     /* twice the bytes */
	int double_buffer_blocks_per_sm; /* by all limits together, 0 = cannot launch */
};

/* Largest static + dynamic bytes per block such that shared memory alone allows k blocks; k >= 1. */
int64_t smem_usable(const struct arch *a, int k);

/* Returns false (untouched) when registers, shared memory or the architecture are not known. */
bool smem_cliff_compute(struct smem_cliff *c, const struct arch *a,
			const struct occupancy_input *in);

#endif
