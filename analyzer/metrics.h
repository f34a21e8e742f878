/*
 * metrics.h - what is said of one kernel, as plain values that the model fills and the report hands to
 * the renderers. No functions. NaN = not known for reals, -1 for counts.
 */
#ifndef KBN_METRICS_H
#define KBN_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quantity.h"

struct stall_path;

/* GPU time of one kernel shape, us, the bias of the event pair taken off. */
struct metric_times {
	uint64_t timed;                     /* launches with a good time, warm-up included */
	struct quantity total;              /* of all launches that ran */
	double mean, median, p90, min, max; /* without warm-up launches where there are others */
	double first;                       /* launch 0: first-launch cost */
	double uncertainty;                 /* of one time, both ways */
	const char *method;                 /* "gated-events", "events"; NULL = never timed */
	bool warmup_only;                   /* nothing but warm-up launches was timed */
	bool from_sketch; /* median and p90 are interpolated within 3.2% wide buckets */
	const char *why;  /* why there is no median, NULL = there is one */
};

/* The event pairs of one kind, of the whole run. */
struct metric_pairs {
	uint64_t n;
	double bias_us;        /* taken off each; NaN when devices differ */
	double uncertainty_us; /* the least that one may be off */
};

struct metric_resources {
	int registers;           /* as compiled */
	int registers_allocated; /* as a thread gets them: at least those compiled */
	int static_smem_bytes, local_bytes, spill_instructions;
	int uses_syscalls; /* calls the driver's device code (assert, printf, malloc): 0, 1, -1 = not known */
};

/* Instructions of one operation ("FFMA"): how many, and the stall counts of their control codes. */
struct metric_op {
	const char *op;
	uint32_t n;
	int stall_min, stall_median; /* cycles until the warp's next instruction may issue */
	int64_t reducible;           /* so many could provably have a lower count; -1 = not known */
	const char *note;            /* a published reading of its median, with its source; NULL */
};

/* A loop that runs nobody knows how often is taken to run so many times: only ratios may be made of that. */
#define METRIC_ASSUMED_TRIPS 16.0

/*
 * What one warp executes on its way through some code, in instructions of the warp. fma: FP32 multiplies and
 * adds; halves: the same in FP16; widened, narrowed: between float and double; shared, local: accesses of any kind.
 */
struct metric_mix {
	double issued, fma, halves, fp64, special, products, from_halves, widened, narrowed,
		shuffles, barriers;
	double loads, load_bytes, copies, stores, store_bytes, atomics; /* global memory */
	double shared, local, local_bytes, local_store_bytes;
	/*
	 * Integer divisions (idiom_divide.h), instructions that have part in them, first values of reciprocals; and calls
	 * of functions that divide, with what these execute, which is in no other figure.
	 */
	double divisions, dividing, divide_seeds, divide_calls, divide_called;
};

/* One loop of a kernel's code, a run through its body. See tile.h. */
struct metric_loop {
	uint64_t start,
		end; /* byte offsets in the function: lowest instruction, highest that jumps back */
	uint32_t depth;             /* 1 = outermost */
	bool is_innermost, is_main; /* main: the loop that computes most, the K-tile */
	bool is_rare;               /* of code for rare values: see cfg.h */
	uint64_t trips;             /* whenever it is entered; 0 = not known */
	const char *compute_op;     /* the one with most FLOPs, NULL = none */
	uint64_t compute_ops, load_ops, async_copies, barriers;
	int64_t load_bytes_per_warp; /* from global memory; -1 = not known */
	double ratio, ratio_raw;     /* of computing to loading; NaN = not known */
	const char *class;           /* "high", "medium", "low"; NULL = not known */
	const char *async_copy;      /* "beneficial", "neutral", "detrimental", "in use"; NULL */
	const char *why;             /* why the ratio is not known, NULL = it is */
	/* Estimates for one warp and one turn, of innermost loops; NaN = not known. See chain.h. */
	double recurrence_cycles; /* the longest chain that closes around the loop; 0 = none */
	double recurrence_loads;  /* loads from global memory, most in one such chain; */
	double chain_loads;       /* most in one chain within the turn; */
	double turn_loads;        /* and in all, those of one address and sector once */
	double load_waits;   /* times that a warp stands still for loads, as it issues in order */
	double issue_cycles; /* least to issue it: issue slots, or the busiest pipe of a quarter SM */
	/* Of the code of the loop and of those within, each instruction once: its stalls, of these provably not needed; -1 */
	int64_t stall_cycles, saved_cycles;
	uint32_t registers;     /* that its code names, of a thread; 0 = not known */
	struct metric_mix turn; /* one turn, with all turns of the loops within */
};

/* What a kernel's author may not have meant. See idiom.h; all 0 = none. Offsets are bytes in the function. */
struct metric_idioms {
	uint32_t doubles, widened,
		narrowed; /* FP64 operations, and conversions from and to float */
	uint64_t doubles_at;
	/* Of the loop (or the code outside of all) that they are in: see idiom.h. */
	uint32_t doubles_on, doubles_around, doubles_seeds;
	uint32_t summed, summed_widened; /* of a sum of floats that is kept in double */
	uint64_t summed_at;
	uint32_t sums, multiplies; /* of a matrix product without matrix instructions */
	double uses;
	uint8_t rows,
		columns; /* coordinates of its operands, 0 where they do not tell: see idiom.h */
	bool is_staged;  /* from shared memory: those within the block alone */
	uint64_t product_at;
	uint32_t pairs, pair_operands; /* of what is built like a product of other operations */
	uint64_t pairs_at;
};

/* What the instructions of a kernel say, those of functions that it calls left out. */
struct metric_sass {
	uint32_t instructions, undecoded;
	const struct metric_op *ops; /* the most frequent first */
	size_t ops_n;
	const struct metric_loop *loops; /* by offset */
	size_t loops_n;
	/* Types of the matrix products, enum sass_type: of A, and of the sums; 0 = none, several or not known. */
	uint8_t product_type, product_sums;
	bool has_products;
	bool has_warp_products; /* all of them are of single warps (mma.sync), none of warp groups */
	struct metric_mix whole, hot; /* the function; one turn of its hottest loop */
	int64_t hot_loop;             /* in `loops`, -1 = none */
	bool trips_known;             /* `whole` rests on no METRIC_ASSUMED_TRIPS */
	bool has_halves; /* arithmetic in half precision apart from products; moves and conversions are none */
	/*
	 * The code outside of loops, once through, for one warp: its longest chain, most loads from global
	 * memory in one chain, and in all, how often it waits for loads, and the least cycles to issue it. NaN = not
	 * known. See chain.h.
	 */
	double straight_cycles, straight_loads, straight_all_loads, straight_waits;
	double straight_issue_cycles;
	struct metric_idioms idioms;
	const struct stall_path *path; /* of one warp through it; NULL = not known */
};

/* One instruction of a listing, with its control code. */
struct metric_line {
	uint32_t offset; /* bytes in the function */
	uint8_t stall;   /* cycles until the warp's next instruction may issue */
	uint8_t wait,
		reuse; /* bit n: waits for barrier n; source n stays in the cache of operands */
	int8_t write_barrier, read_barrier; /* that it takes until written, until read; -1 = none */
	bool yield, is_decoded;
	const char *text;   /* "@!P0 LDG.E R4, [R2.64]" */
	const char *source; /* "file:line", NULL = not known */
};

/* The code of one loop, with what lies in it; or of the whole function, where nothing loops. */
struct metric_listing {
	uint32_t depth; /* of the loop, 1 = outermost; 0 = no loop */
	bool is_main;   /* the loop that computes most, the K-tile */
	const struct metric_line *lines;
	size_t lines_n;
	size_t left_out; /* instructions behind the last line */
};

/* Code for people to read: the main loop first, then innermost ones by offset. */
struct metric_listings {
	const struct metric_listing *at;
	size_t n;
	size_t left_out; /* loops that are not listed */
};

/* Access of a warp at one instruction, or a branch on which its lanes part. */
struct metric_site {
	uint64_t offset;  /* bytes in the function */
	const char *line; /* "file:line", NULL = not known */
	const char *op;   /* "LDG.E" */
	const char *kind; /* of the contract: "load", "store", "shared", "atomic", "branch" */
	struct quantity requests; /* of the launch */
	bool is_unseen; /* they are not known, and of warps of every number in their blocks none came here */
	struct quantity sectors_per_request; /* of shared memory: wavefronts */
	struct quantity excess; /* of these, more than the bytes asked for need, of a request */
	/*
	 * Of these what no neighbour uses either: no load (store) in the same stretch of code, nor in other turns of
	 * its loop. The L1 fetches what they share once. Of other accesses not known.
	 */
	struct quantity own_excess;
	double lines; /* of 128 bytes that a request touches, where they likely begin; 0 = not known */
	const char *sharers; /* who uses the rest: "neighbouring instructions", NULL = nobody */
	const char *pattern; /* "lane stride 4096 B", NULL = none */
	/*
	 * That take part in an average request; of a branch those that take it where they part. 0 = not known. The
	 * `excess` of a branch is the instructions of the shorter side, and at the high end those of the longer one.
	 */
	double lanes;
	bool is_of_all_blocks; /* every block of the launch asks for the same; false where that is not known */
	bool is_everywhere;  /* of an atomic: all warps of the launch do it on one address */
	uint16_t lane_bytes; /* that a lane asks for; 0 = not known */
	/* Of a load from global memory: reads what the load at `first` has read, in an earlier pass. See lanes_again.h. */
	bool is_again;
	uint64_t first;
	/* Reads the same in each turn of the loop at `around`, which holds its own. */
	bool is_each_turn;
	uint64_t around;
};

/* Loads of one stretch of code whose lanes, or turns, ask for the same words. See lanes_again.h. */
struct metric_overlap {
	uint32_t loads; /* instructions, 0 = none is known */
	uint64_t first; /* the first of them, bytes in the function */
	bool is_in_loop;
	uint32_t asked, different; /* words of a warp */
	double blocks; /* that ask for the same, as a number of theirs is in no address; 1 = its own alone */
};

/* What the lanes of a warp do together. */
struct metric_access {
	struct quantity sectors_per_request_load, sectors_per_request_store, excess_sectors,
		wasted_sectors, shared_wavefronts_per_request, atomics, divergence_pct;
	/*
	 * Executed by all warps of the launch (where that is not known `low` are surely executed); bytes that lanes
	 * ask for, however many sectors that takes.
	 */
	struct quantity warp_instructions, global_load_bytes, global_store_bytes;
	/* Cycles of a scheduler that the busiest pipe has for all of them, at least; 0 = not known. "ALU" */
	double pipe_cycles;
	const char *pipe;
	struct metric_overlap overlap, shared_overlap; /* of global memory; of shared memory */
	const struct metric_site
		*sites; /* by excess, the largest first; not known last, then branches */
	size_t sites_n,
		sites_all; /* that are listed; and in all, of which figures and advice are */
};

/* Why resident warps do not issue, in percent of the samples of warps that do not; in the order of the contract. */
#define METRIC_STALL_LIST(X)  \
	X(long_scoreboard)    \
	X(short_scoreboard)   \
	X(barrier)            \
	X(math_pipe_throttle) \
	X(lg_throttle) X(mio_throttle) X(wait) X(not_selected) X(branch) X(other)

struct metric_stalls {
#define METRIC_STALL_FIELD(name) struct quantity name;
	METRIC_STALL_LIST(METRIC_STALL_FIELD)
#undef METRIC_STALL_FIELD
};

/* A statement with a stable id, which is that of a row of finding.h. */
struct metric_finding {
	const char *id, *text;
};

#define METRIC_FINDINGS 16

struct metric_class {
	const char *class;  /* of the contract; "unknown" while the work is not known */
	const char *larger; /* "memory", "compute", NULL */
	bool launch_bound;
	const char *label; /* how far the inputs carry it, a label of quantity.h */
	struct metric_finding reasons[METRIC_FINDINGS];
	int reasons_n;
};

#define METRIC_EVIDENCE  4
#define METRIC_CONFLICTS 4

/* One experiment that a person should make. `id` and `title` are those of a row of tables/rules.def. */
struct metric_advice {
	const char *id, *title;
	double gain_low_pct, gain_high_pct; /* of this kernel's time; NaN = nothing bounds it */
	double share_of_run_pct; /* of the kernel, of all known kernel time; NaN = not known */
	const char *evidence[METRIC_EVIDENCE]; /* readings with figures, at least two */
	int evidence_n;
	const char *conflicts[METRIC_CONFLICTS]; /* computed: what it costs elsewhere */
	int conflicts_n;
	const char *change, *expect,
		*otherwise; /* the experiment: do, see, and what it means if not */
	const char *source;
};

/* A tempting step that a reading rules out. */
struct metric_not_now {
	const char *id, *title, *why;
};

/* What to do about one kernel, the best first. */
struct metric_advices {
	const struct metric_advice *items;
	size_t n;
	const struct metric_not_now *not_now;
	size_t not_now_n;
};

#endif
