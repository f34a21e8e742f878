/*
 * advice_case.h - private to advice.c and rule_*.c: one kernel as the rules see it, and the item that a rule
 * makes. A rule asks for readings, and says nothing where one that it needs is not known.
 */
#ifndef KBN_ADVICE_CASE_H
#define KBN_ADVICE_CASE_H

#include <stdbool.h>

#include "advice.h"
#include "model.h"
#include "text.h"

enum advice_class {
	CLASS_UNKNOWN,
	CLASS_MEMORY,
	CLASS_COMPUTE,
	CLASS_BALANCED,
	CLASS_LATENCY,
	CLASS_LAUNCH
};

struct advice_case {
	const struct model_kernel *k;
	const struct arch_device *hw;
	const struct advice_run *run;
	struct arena *arena;
	double share_pct;

	enum advice_class class;
	const struct occupancy *occupancy; /* NULL = not known */
	const struct smem_cliff *cliff;    /* NULL = not known */
	const struct metric_sass *sass;    /* NULL = not known, or a part is not decoded */
	const struct metric_loop *tile;    /* the K-tile; else the hottest loop; NULL = none */
	const struct metric_loop *hot;     /* the hottest loop, NULL = none */
	double hot_turns; /* that a warp makes of it in all, as its lanes say; NaN = not known */
	double us;        /* the median, NaN = not known */
	double blocks, warps;       /* of the grid, NaN = not known */
	double sm_warps;            /* that the busiest SM runs in all, NaN = not known */
	double resident;            /* warps on an SM at a time, NaN = not known */
	double sm_count, clock_mhz; /* NaN = not known */
	/*
	 * NaN = not known. Where the data fits the L2 memory's share is that of the L2's bandwidth, as nobody knows how
	 * much DRAM delivered; dram_pct is of DRAM in any case.
	 */
	double attained_pct, compute_pct, memory_pct, dram_pct;
	double issue_pct; /* of the issue slots, or of the busiest pipe, at least */
	bool fits_l2;
};

void advice_case_init(struct advice_case *c, const struct model_kernel *k,
		      const struct arch_device *hw, double share_pct, const struct advice_run *run,
		      struct arena *arena);

/*
 * Turns that a warp makes of a loop in all, on average, as the lanes of the launch say it: by the requests of an access
 * that every turn makes. NaN = not known.
 */
double advice_loop_turns(const struct advice_case *c, const struct metric_loop *l);

/*
 * us that the bytes of the kernel need at a share of the bandwidth: the L2's for the best case, where the data may lie
 * there; DRAM's for the worst. NaN = not known.
 */
double advice_bytes_us(const struct advice_case *c, double share, bool is_best);

/* Whether a unit is known to be near its limit. */
bool advice_is_saturated(const struct advice_case *c);
/* Whether compute is, alone or more than memory. */
bool advice_is_compute(const struct advice_case *c);
/* "memory at 83.2% of its peak": why it is; "" when it is not. */
const char *advice_saturation(const struct advice_case *c);

/*
 * us that an SM needs for `per_warp` cycles of one of its units from each warp that it runs in all; NaN when
 * grid, SMs or clock are not known.
 */
double advice_unit_us(const struct advice_case *c, double per_warp);

/* Conversions between float and double per SM and cycle: 16 where FP64 is fast, else as many as FP64 (CUDA Programming Guide). */
static inline double advice_wide_conversions(const struct arch *a)
{
	return a->fp64 > 2 ? 16 : a->fp64;
}

/* Bytes per cycle and SM out of each memory; NaN = not known. */
double advice_dram_rate(const struct advice_case *c);
double advice_l2_rate(const struct advice_case *c);
double advice_l1_rate(const struct advice_case *c);

/* Latency in cycles, measured by pointer chase on V100 to GH200 (tables/latency.def). */
#define ADVICE_L2_LEAST   200.0
#define ADVICE_L2_MOST    281.0
#define ADVICE_DRAM_LEAST 500.0
#define ADVICE_DRAM_MOST  800.0
/* Of a bandwidth by data sheet, streams reach about so much. */
#define ADVICE_REACHED    0.85

/* A unit at so much of its peak leaves no room for what is tempting by other readings. */
#define ADVICE_NEAR_PEAK_PCT 80.0

/* From so much of the bandwidth by data sheet on there is nothing left to hide: streams reach 75 to 90%. */
#define ADVICE_NEAR_BANDWIDTH_PCT 75.0

/*
 * Whether the hottest loop proves that the kernel waits: it loads, and the resident warps have neither code enough to
 * issue during the latency of the L2 nor, if each lane fetches a sector, bytes enough in flight for DRAM.
 */
bool advice_waits(const struct advice_case *c);

/*
 * Warps on an SM with which the bytes in flight of code that streams are bandwidth x latency, at most as many as there is
 * room for; NaN = it is not known that too few are what it waits for.
 */
double advice_warps_wanted(const struct advice_case *c);
/*
 * Bytes that the resident warps have in flight at most, whatever they do beside loading, where these are surely fewer than
 * any memory delivers in its latency; else NaN. `wanted`: warps with which they are bandwidth x latency.
 */
double advice_flight(const struct advice_case *c, double *wanted);
/* Whether a part of such code is for warps of which few are known to come there. */
bool advice_is_partly_sure(const struct advice_case *c);

/* An operation of the code by its base name, NULL = there is none, or the code is not known. */
const struct metric_op *advice_op(const struct advice_case *c, const char *name);

/* Whether an access is of a kind of the contract: "load", "store", "shared", "atomic", "branch". */
bool advice_is_kind(const struct metric_site *s, const char *kind);

/* Occupancy with other registers, or shared memory; false when it is not known. */
bool advice_occupancy(const struct advice_case *c, int registers, int64_t smem_bytes,
		      struct occupancy *out);

/*
 * The part of a kernel's time that no change inside it removes: from an empty kernel (0.61 us, measured on an
 * H200) to one that loads, computes and stores once at the latency of DRAM.
 */
#define ADVICE_FIXED_LEAST_US ROOFLINE_EMPTY_US
#define ADVICE_FIXED_MOST_US  2.0

/* ------------------------------------------------------------------------------------- items */

enum advice_outcome {
	ADVICE_SILENT,    /* nothing points to it, or a reading is missing */
	ADVICE_GIVEN,     /* the item is filled */
	ADVICE_RULED_OUT, /* it seems to apply, and a reading speaks against it */
};

struct advice_draft {
	const struct advice_case *c;
	struct metric_advice item;
	const char *why_not;
	bool is_fixed_shared; /* the change saves of the fixed part too */
	bool no_memory;
};

typedef enum advice_outcome (*advice_rule_fn)(const struct advice_case *c, struct advice_draft *d);

/* printf into the arena; "" when memory has run out, which is noted. */
const char *advice_text(struct advice_draft *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What an SM has room for after a change: "2 blocks and 16 warps per SM (64 now)". */
const char *advice_room(struct advice_draft *d, int blocks);
/* Where an access stands: "LDG.E at 0x80 (saxpy.cu:12)"; the line only where it is known. */
const char *advice_site(struct advice_draft *d, const struct metric_site *s);
/* A reading that speaks for the item. At least two make one. */
#define advice_evidence(d, ...) advice_add_evidence(d, advice_text(d, __VA_ARGS__))
/* What the change costs elsewhere, worked out. */
#define advice_conflict(d, ...) advice_add_conflict(d, advice_text(d, __VA_ARGS__))
/* "62% of the stalls are long scoreboard (estimated)", where the model makes it a fifth or more. */
void advice_stalls(struct advice_draft *d, const struct quantity *share, const char *name);
/* That of a reason, NULL where no stalls are known. */
#define advice_stall(c, reason) ((c)->k->stalls ? &(c)->k->stalls->reason : NULL)
/* text_plural() of a count that is a real. */
static inline const char *advice_plural(double n, const char *one, const char *many)
{
	return text_plural(n == 1 ? 1 : 2, one, many);
}

void advice_add_evidence(struct advice_draft *d, const char *text);
void advice_add_conflict(struct advice_draft *d, const char *text);
/* Percent of the kernel's time; bounded afterwards. */
void advice_gain(struct advice_draft *d, double low, double high);
/* Of what a unit does less at least that much is saved where it sets the time. */
#define ADVICE_UNIT_SURE 0.75
/*
 * The same where a unit goes from `before` to `after` us of work: at most what it does less, at least the part of
 * that which is not hidden under what the kernel spends elsewhere. Only with a known time; false without.
 */
bool advice_gain_unit(struct advice_draft *d, double before, double after);
/* The same for a change that leaves `ratio` of the time but for the fixed part, from worst to best case. */
void advice_gain_ratio(struct advice_draft *d, double worst, double best);
void advice_try(struct advice_draft *d, const char *change, const char *expect,
		const char *otherwise);
#define advice_against(d, ...) ((d)->why_not = advice_text(d, __VA_ARGS__), ADVICE_RULED_OUT)

/* Of KBN-A020: a sum of floats that is kept in double, where that is what sets the time (rule_sum.c). */
enum advice_outcome advice_double_sum(const struct advice_case *c, struct advice_draft *d);

#define RULE(name, id, title, function, roof, source) \
	enum advice_outcome function(const struct advice_case *c, struct advice_draft *d);
#include "tables/rules.def"
#undef RULE

#endif
