/*
 * roofline.h - which roof is over a kernel, how near it comes, and what holds it back. Input: work, time, peaks and
 * geometry, each known or not. Output: what `roofline` and `bottleneck` of the report say. What an input cannot
 * carry stays unknown, and the reasons say what would be needed. Leaves advice to others.
 *
 *   intensity   FLOPs / unique DRAM bytes
 *   balance     peak of the precision and unit in use / DRAM bandwidth; below it memory is the nearer roof
 *   share       (FLOPs / time) / peak, (bytes / time) / bandwidth
 *   attained    (FLOPs / time) / min(peak, bandwidth x intensity), which is the larger of both shares
 *   compute     of the units that are known the busiest: that share of the peak, or of the slots in which warps issue
 *               (instructions / time / SMs / schedulers of each / clock), or of the cycles of a pipe, be it the least that is
 *               certain
 *   class       compute >= 60% and memory < 60%: compute; memory >= 60% and compute < 60%: memory; both: balanced;
 *               neither: latency. Launch-bound, beside the class: under 10 us and shorter than the launch gap.
 */
#ifndef KBN_ROOFLINE_H
#define KBN_ROOFLINE_H

#include "arch.h"
#include "err.h"
#include "metrics.h"
#include "occupancy.h"
#include "quantity.h"
#include "work.h"

struct arena;

#define ROOFLINE_SATURATED_PCT 60.0
#define ROOFLINE_SHORT_US      10.0
#define ROOFLINE_EMPTY_US      0.6 /* an empty kernel, measured on an H200 */
#define ROOFLINE_STARTS_PCT \
	80.0 /* of the time, that starting blocks takes at best, where it sets it */

struct roofline_precision {
	int peak;        /* enum arch_peak, -1 = not known */
	const char *why; /* why it is not known, NULL = it is */
	int pct;         /* of that peak that the instructions in use can reach; 0 = all of it */
};

/* FLOP/s of that peak, times 1e-12, as far as the instructions reach it; NaN = not known. */
double roofline_peak(const struct arch_device *d, const struct roofline_precision *p);

/*
 * The peak that work of a type is held against. `on_tensor`: does it run on tensor units; `sums_fp32`: with FP32
 * sums; 1, 0, -1 = not known. Never a tensor peak for FP32. Not known when two peaks could be meant and differ on
 * this device. A profile has one FP16 tensor figure for both kinds of sums.
 */
struct roofline_precision roofline_precision(const struct arch_device *d, enum work_dtype dtype,
					     int on_tensor, int sums_fp32);
/* "fp32", "fp16_tensor_fp32acc": the key of the contract without its unit, in `out`; NULL of -1. */
#define ROOFLINE_NAME 32
const char *roofline_precision_name(char out[ROOFLINE_NAME], int peak);
/* FLOP/B, NaN = not known. */
double roofline_balance(const struct arch_device *d, int peak);

/*
 * Percent of a time in which the device can have started no more than so many blocks; NaN = not known, or they wait for
 * no other to end.
 */
double roofline_starts_pct(const struct arch_device *d, const struct occupancy *o, double blocks,
			   double us);

struct roofline_input {
	struct quantity flops, bytes; /* of one launch */
	struct quantity
		instructions; /* of warps, of one launch; not known: `low` of them for certain */
	double pipe_cycles; /* of schedulers, that their busiest pipe is busy for certain; 0 = not known */
	const char *pipe;        /* "ALU" */
	struct quantity time_us; /* of one launch: the median */
	struct roofline_precision precision;
	const struct arch_device *device;
	const struct occupancy *occupancy; /* NULL = not known */
	uint64_t grid_blocks;              /* 0 = not known */
	int sm_count;                      /* that the kernel may use, -1 = not known */
	double launch_gap_us; /* host time from one launch to the next, NaN = not known */
};

struct roofline {
	struct quantity
		intensity; /* unknown, but with `low` or `high`, where only one side is known */
	double balance;    /* NaN = not known */
	int precision;     /* enum arch_peak, -1 = not known */
	int precision_pct; /* of that peak that is held to be the roof, see roofline_precision; 0 = all */
	const char *side; /* "memory", "compute", "unknown" */
	struct quantity attained_pct, sol_compute_pct, sol_memory_pct; /* never cut off at 100 */
	struct quantity flops_pct; /* of the peak alone, without other units */
	struct quantity issue_pct; /* of the slots; not known: `low` for certain */
	double pipe_pct; /* of the cycles of the busiest pipe, at least; NaN = not known */
	struct quantity effective_gflops, effective_gbps;
	struct metric_class verdict;
};

/* Fill *r; texts are in the arena. Fails only for want of memory. */
int roofline_build(struct roofline *r, const struct roofline_input *in, struct arena *a,
		   struct err *e);

/* The second half: the class and its reasons, from the figures in *r. */
int roofline_class(struct roofline *r, const struct roofline_input *in, struct arena *a,
		   struct err *e);

/* The weaker of two labels: measured, derived, reconstructed, estimated, unknown. */
enum quantity_label roofline_weakest(enum quantity_label a, enum quantity_label b);

#endif
