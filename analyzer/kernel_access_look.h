/*
 * kernel_access_look.h - the looks at a kernel's warps: at all at once, at some one by one (kernel_access_look.c); what
 * they say of how often code is executed and of all warps together (kernel_access_count.c). Private to kernel_access*.c.
 */
#ifndef KBN_KERNEL_ACCESS_LOOK_H
#define KBN_KERNEL_ACCESS_LOOK_H

#include "kernel_access.h"
#include "lanes.h"
#include "lanes_again.h"
#include "tile.h"

#define ACCESS_WARPS  32u /* of a block at most */
#define ACCESS_BLOCKS 16u /* warps looked at of blocks between the first and the last one */
#define ACCESS_WARPS_ALL \
	4u /* of a block: all of the first and of the last block are looked at; of more two */
#define ACCESS_SAMPLES (ACCESS_WARPS + 2 * ACCESS_WARPS_ALL)

/* One look: at every warp, or at one that stands for `weight` of them. */
struct access_look {
	struct lanes_warp warp;
	double weight;
	struct lanes_result r;
	/* By block, what access_times_passed() found; NULL = it was not asked. */
	struct access_times *times;
};

struct access_times {
	double n;
	const char *why;
	bool is_known;
};

/* An instruction's access in all looks. */
struct access_place {
	uint32_t insn;
	bool is_second;
	const struct lanes_site *of_any;
	const struct lanes_site *of[ACCESS_SAMPLES];
};

struct access_reader {
	const struct kernel_access_launch *l;
	struct arena *arena, *scratch;
	struct cfg g;
	struct tiles tiles;
	struct lanes_code *code;
	struct lanes_launch launch;
	struct access_look any;
	bool has_any;
	struct access_look samples[ACCESS_SAMPLES];
	unsigned samples_n;
	/* Bit n: accesses of enum lanes_kind n are done by what is called, or perhaps. */
	uint32_t called, called_maybe;
	uint32_t unseen;    /* as lanes_unseen_kinds() */
	bool is_all;        /* the samples are all warps of the launch */
	bool has_roles_all; /* they have each number that a warp may have in its block */
	double warps;
	struct access_place *places;
	uint32_t places_n;
	struct lanes_again *again;
	uint32_t again_n;
	uint8_t *passes; /* of always_passed(): from each block on the one in question is passed */
	bool no_memory;
};

extern const char access_why_sampled[], access_why_limit[], access_why_aligned[],
	access_why_called[], access_why_meeting[], access_why_uncounted[], access_why_unseen[];

/* Words for reasons (lanes_value.h): why something is not known, why fewer lanes may take part. */
const char *access_why(uint32_t reasons);
const char *access_why_absent(uint32_t reasons);

/* Quantities by the interpreter. */
struct quantity access_derived(double value);
struct quantity access_estimated(double value, double low, double high, const char *why);
struct quantity access_unknown(const char *why);

/* False with the reason in *e: memory has run out. Samples are all taken or none. */
bool access_look(struct access_reader *k, struct access_look *at, struct err *e);
bool access_sample(struct access_reader *k, struct err *e);
/* Something is open that a look at one warp may decide. */
bool access_needs_samples(struct access_reader *k);

/* Fills in called, called_maybe and unseen, after the looks. */
void access_note_calls(struct access_reader *k);

/* How often a warp that was looked at passes a block; NAN = not known, and why. */
double access_times_passed(struct access_reader *k, struct access_look *at, uint32_t block,
			   const char **why);
/* The same where it is not known: at least so often. */
double access_times_least(struct access_reader *k, struct access_look *at, uint32_t block);
/*
 * Instructions that a warp executes beyond those of a block, each time that it passes it: lanes that parted, or left a
 * loop in different turns, come to the BSYNC where they meet, or to the end, one group after another, and each
 * executes it. NAN = not known.
 */
double access_repeated(struct access_reader *k, struct access_look *at, uint32_t block);

/* What the samples say of something, each for itself. NAN = that warp has none of it. */
struct access_tally {
	double value[ACCESS_SAMPLES], low[ACCESS_SAMPLES], high[ACCESS_SAMPLES];
	double weight[ACCESS_SAMPLES];
	bool is_weight_known;
};

/*
 * The mean of the samples that have some, by weight; `weight` is 0 when none has any. Warps of the same number within
 * their blocks stand for each other: low and high are what it would be were all of a number like the least and the
 * most of those seen; the least and the most of all where the weights are not known. And of n samples that are alike, 3 / n of all warps may still be unlike them, in 95 of 100 cases:
 * these are taken to have `floor` or `ceiling`.
 */
struct access_mean {
	double value, low, high, weight;
};
struct access_mean access_mean(const struct access_reader *k, const struct access_tally *t,
			       double floor, double ceiling);

/* Of the launch at one place: requests, and lanes that take part in them all together. */
struct quantity access_requests(struct access_reader *k, const struct access_place *p);
struct quantity access_lanes(struct access_reader *k, const struct access_place *p);

/* The weights of a tally of one place: the requests that a sample stands for, its warps where those are not known. */
void access_weigh(struct access_reader *k, const struct access_place *p, struct access_tally *t);

/*
 * Into `out` the pipe that is busiest and for how long at least, and where the instructions are not known how many at least;
 * false: memory has run out (kernel_access_unit.c).
 */
bool access_units(struct access_reader *k, struct metric_access *out);

/* Iterations of a loop whenever it is entered, as the launch decides, else as the code does; 0 = not known. */
uint64_t access_trips(const struct access_reader *k, const struct lanes_result *r, uint32_t loop);

/* Of a place's excess what no neighbour uses; and who uses the rest, NULL = nobody (kernel_access_waste.c). */
struct quantity access_own_excess(struct access_reader *k, const struct access_place *p,
				  const struct quantity *excess);
const char *access_sharers(const struct access_place *p, unsigned samples_n);

#endif
