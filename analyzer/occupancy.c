/*
 * occupancy.c - see occupancy.h. Every limit is a small function of its own: blocks per SM, 0 = the
 * launch fails. The rules are those of the vendor's calculator, restated; a test compares them with
 * it where it is installed and with stored answers everywhere.
 */
#include "occupancy.h"

#include <math.h>
#include <stddef.h>

#define ENOUGH_PUBLISHED_SM 86 /* where the number of warps that hide latency was measured */
#define WARP_THREADS        32
#define MAX_BLOCK_THREADS   1024
#define MAX_CLUSTER_BLOCKS  16 /* beyond 8 the program must opt in */

const char *const occupancy_limit_names[LIMIT_N] = {"registers", "shared_memory", "warps",
						    "blocks",    "barriers",      "cluster"};

/* With equal limits the one that no change of the kernel can lift is named. */
static const enum occupancy_limit occupancy_limiter_order[] = {
	LIMIT_WARPS, LIMIT_BLOCKS, LIMIT_REGISTERS, LIMIT_SMEM, LIMIT_BARRIERS};

static int64_t round_up(int64_t x, int64_t unit)
{
	return (x + unit - 1) / unit * unit;
}

static int block_warps(const struct occupancy_input *in)
{
	return in->block_threads / WARP_THREADS + (in->block_threads % WARP_THREADS > 0);
}

static int limit_warps(const struct arch *a, const struct occupancy_input *in)
{
	return in->block_threads > MAX_BLOCK_THREADS ? 0 : a->warps_per_sm / block_warps(in);
}

/*
 * sm_90 gives every thread at least 16, and 32 where the kernel calls into the driver's code, whose
 * needs the compiler does not count. cuda_occupancy.h does not know that: see the source in arch.def.
 * It never decides alone, as 32 registers leave room for all warps; only the limit by registers
 * shows it.
 */
int occupancy_registers(const struct arch *a, int registers, bool uses_syscalls)
{
	int least = uses_syscalls && a->registers_least_syscalls > a->registers_least
			    ? a->registers_least_syscalls
			    : a->registers_least;

	return registers > 0 && registers < least ? least : registers;
}

static int registers_per_warp(const struct arch *a, const struct occupancy_input *in)
{
	return (int)round_up((int64_t)occupancy_registers(a, in->registers, in->uses_syscalls) *
				     WARP_THREADS,
			     a->register_granularity);
}

static int limit_registers(const struct arch *a, const struct occupancy_input *in)
{
	int warps = block_warps(in), per_warp;

	if (in->registers < 0)
		return OCCUPANCY_UNKNOWN;
	if (in->registers == 0)
		return OCCUPANCY_NO_LIMIT;
	if (in->registers > a->registers_per_thread)
		return 0;
	per_warp = registers_per_warp(a, in);
	/* The launch check counts the block as if it filled all partitions evenly. */
	if ((int64_t)per_warp * round_up(warps, a->warp_granularity) > a->registers_per_block)
		return 0;
	return a->registers_per_sm / a->partitions / per_warp * a->partitions / warps;
}

static int64_t smem_allocated(const struct arch *a, int64_t bytes)
{
	return round_up(bytes + a->smem_reserved_bytes, a->smem_granularity_bytes);
}

/* The smallest size the SM can be set to that holds `bytes`, -1 = none. */
static int64_t smem_config(const struct arch *a, int64_t bytes)
{
	for (int i = 0; i < a->smem_configs; i++)
		if ((int64_t)a->smem_configs_kb[i] * 1024 >= bytes)
			return (int64_t)a->smem_configs_kb[i] * 1024;
	return -1;
}

/* Shared bytes of the SM in force for a block that takes `allocated`. */
static int64_t smem_capacity(const struct arch *a, const struct occupancy_input *in,
			     int64_t allocated)
{
	int64_t most = (int64_t)a->smem_per_sm_kb * 1024, c = most;

	if (in->smem_config_bytes > 0)
		c = in->smem_config_bytes < most ? in->smem_config_bytes : most;
	else if (in->carveout >= 0 && in->carveout <= 100)
		c = smem_config(a, most * in->carveout / 100);
	/* A preference too small for one block gives way to the smallest size that holds one. */
	if (c < allocated)
		c = smem_config(a, allocated);
	return c < 0 ? most : c;
}

static int limit_smem(const struct arch *a, const struct occupancy_input *in)
{
	int64_t allocated;

	if (in->static_smem_bytes < 0 || in->dyn_smem_bytes < 0)
		return OCCUPANCY_UNKNOWN;
	allocated = smem_allocated(a, in->static_smem_bytes + in->dyn_smem_bytes);
	if (allocated > (int64_t)a->smem_optin_kb * 1024 + a->smem_reserved_bytes)
		return 0;
	if (allocated == 0)
		return OCCUPANCY_NO_LIMIT;
	return (int)(smem_capacity(a, in, allocated) / allocated);
}

static int limit_barriers(const struct arch *a, const struct occupancy_input *in)
{
	if (a->barrier_slots < 0 || in->barriers == 0)
		return OCCUPANCY_NO_LIMIT;
	return in->barriers < 0 ? OCCUPANCY_UNKNOWN : a->barrier_slots / in->barriers;
}

static void choose_limiter(struct occupancy *o)
{
	int least = OCCUPANCY_NO_LIMIT;

	o->limiter = -1;
	for (size_t i = 0; i < sizeof(occupancy_limiter_order) / sizeof(*occupancy_limiter_order);
	     i++) {
		int l = o->limits[occupancy_limiter_order[i]];

		if (l >= 0 && l < least) {
			least = l;
			o->limiter = (int)occupancy_limiter_order[i];
		}
	}
	o->blocks_per_sm = least;
	if (o->limits[LIMIT_REGISTERS] < 0)
		o->why = "the register count of the kernel is not known";
	else if (o->limits[LIMIT_SMEM] < 0)
		o->why = "the static shared memory of the kernel is not known";
	else
		return;
	/* A launch that cannot work at all stays one, whatever the missing figure is. */
	if (least > 0) {
		o->blocks_per_sm = OCCUPANCY_UNKNOWN;
		o->limiter = -1;
	}
}

static void set_waves(struct occupancy *o, const struct occupancy_input *in)
{
	double full;

	if (o->blocks_per_sm <= 0 || in->grid_blocks == 0 || in->sm_count <= 0)
		return;
	o->waves = (double)in->grid_blocks / ((double)in->sm_count * o->blocks_per_sm);
	full = ceil(o->waves);
	o->last_wave_pct = 100 * (o->waves - (full - 1));
	o->tail_waste_pct = 100 * (1 - o->waves / full);
	if (o->waves < 1)
		o->grid_warps_per_sm =
			o->warps_per_block * (int)ceil((double)in->grid_blocks / in->sm_count);
}

static void set_clusters(struct occupancy *o, const struct occupancy_input *in)
{
	if (in->cluster_blocks <= 1)
		return;
	o->limits[LIMIT_CLUSTER] = OCCUPANCY_UNKNOWN;
	if (in->cluster_blocks > MAX_CLUSTER_BLOCKS)
		o->why = "a cluster of more than 16 blocks cannot be launched";
	if (o->blocks_per_sm > 0 && in->sm_count > 0)
		o->clusters_at_most = (int64_t)in->sm_count * o->blocks_per_sm / in->cluster_blocks;
}

void occupancy_compute(struct occupancy *o, const struct arch *a, const struct occupancy_input *in)
{
	int64_t bytes = in->static_smem_bytes < 0 ? 0 : in->static_smem_bytes + in->dyn_smem_bytes;

	*o = (struct occupancy){.limiter = -1,
				.blocks_per_sm = OCCUPANCY_UNKNOWN,
				.warps_per_sm = OCCUPANCY_UNKNOWN,
				.pct = NAN,
				.waves = NAN,
				.tail_waste_pct = NAN,
				.last_wave_pct = NAN,
				.enough_warps = -1,
				.grid_warps_per_sm = -1,
				.clusters_at_most = -1};
	o->max_warps_per_sm = a->warps_per_sm;
	o->max_blocks_per_sm = a->blocks_per_sm;
	o->registers_per_sm = a->registers_per_sm;
	o->enough_warps_at = a->enough_warps;
	o->enough_is_published = a->sm == ENOUGH_PUBLISHED_SM;
	if (in->block_threads <= 0) {
		for (int i = 0; i < LIMIT_N; i++)
			o->limits[i] = OCCUPANCY_UNKNOWN;
		o->why = "the block size is not known";
		return;
	}
	o->warps_per_block = block_warps(in);
	o->limits[LIMIT_REGISTERS] = limit_registers(a, in);
	o->limits[LIMIT_SMEM] = limit_smem(a, in);
	o->limits[LIMIT_WARPS] = limit_warps(a, in);
	o->limits[LIMIT_BLOCKS] = a->blocks_per_sm;
	o->limits[LIMIT_BARRIERS] = limit_barriers(a, in);
	o->limits[LIMIT_CLUSTER] = OCCUPANCY_NO_LIMIT;
	o->registers_per_block = OCCUPANCY_UNKNOWN;
	if (in->registers >= 0 && in->registers <= a->registers_per_thread)
		o->registers_per_block = (int64_t)registers_per_warp(a, in) * o->warps_per_block;
	o->smem_per_block = smem_allocated(a, bytes);
	o->smem_per_sm = smem_capacity(a, in, o->smem_per_block);
	choose_limiter(o);
	if (o->blocks_per_sm == 0)
		o->why = "this combination cannot be launched";
	if (o->blocks_per_sm >= 0) {
		o->warps_per_sm = o->blocks_per_sm * o->warps_per_block;
		o->pct = 100.0 * o->warps_per_sm / a->warps_per_sm;
		o->enough_warps = o->warps_per_sm >= a->enough_warps;
	}
	set_waves(o, in);
	set_clusters(o, in);
}

int64_t smem_usable(const struct arch *a, int k)
{
	int64_t unit = a->smem_granularity_bytes, optin = (int64_t)a->smem_optin_kb * 1024;
	int64_t usable =
		(int64_t)a->smem_per_sm_kb * 1024 / k / unit * unit - a->smem_reserved_bytes;

	return usable < optin ? usable : optin;
}

/* The next step up is what one more block than shared memory allows now would need. */
static int64_t bytes_to_next_step(const struct arch *a, const struct occupancy *o, int64_t bytes)
{
	int64_t usable;

	if (o->limiter != LIMIT_SMEM || o->blocks_per_sm <= 0)
		return o->blocks_per_sm > 0 ? 0 : -1;
	usable = smem_usable(a, o->blocks_per_sm + 1);
	return usable >= 0 && bytes > usable ? bytes - usable : -1;
}

/* Down from where the kernel stands: as many blocks as now must still fit by shared memory. */
static int64_t bytes_to_cliff(const struct arch *a, const struct occupancy *o, int64_t bytes)
{
	int64_t usable;

	if (o->blocks_per_sm <= 0)
		return -1;
	usable = smem_usable(a, o->blocks_per_sm);
	return usable >= bytes ? usable - bytes : -1;
}

bool smem_cliff_compute(struct smem_cliff *c, const struct arch *a,
			const struct occupancy_input *in)
{
	struct occupancy now, twice;
	struct occupancy_input doubled = *in;
	int64_t bytes = in->static_smem_bytes + in->dyn_smem_bytes;

	if (in->registers < 0 || in->static_smem_bytes < 0 || in->block_threads <= 0)
		return false;
	doubled.dyn_smem_bytes = 2 * bytes - in->static_smem_bytes;
	occupancy_compute(&now, a, in);
	occupancy_compute(&twice, a, &doubled);
	*c = (struct smem_cliff){
		.smem_per_block_bytes = bytes,
		.blocks_per_sm = now.blocks_per_sm,
		.to_next_step_bytes = bytes_to_next_step(a, &now, bytes),
		.to_cliff_bytes = bytes_to_cliff(a, &now, bytes),
		.above_cliff = now.limits[LIMIT_SMEM] == 1 && now.limits[LIMIT_REGISTERS] >= 2 &&
			       now.limits[LIMIT_WARPS] >= 2 && now.limits[LIMIT_BLOCKS] >= 2,
		.double_buffer_bytes = 2 * bytes,
		.double_buffer_blocks_per_sm = twice.blocks_per_sm,
	};
	for (int k = 1; k <= SMEM_CLIFF_STEPS; k++)
		c->max_bytes_for[k - 1] = smem_usable(a, k);
	return true;
}
