/*
 * kernel_access_look.h - the looks at a kernel's warps: at all at once, at some one by one; what they say of how often
 * code is executed. Private to kernel_access*.c.
 */
#ifndef KBN_KERNEL_ACCESS_LOOK_H
#define KBN_KERNEL_ACCESS_LOOK_H

#include "kernel_access.h"
#include "lanes.h"
#include "tile.h"

#define ACCESS_WARPS_ALL \
	4u /* of a block: all are looked at; of more the first, a middle and the last */
#define ACCESS_SAMPLES (3 * ACCESS_WARPS_ALL)

/* One look: at every warp, or at one that stands for `weight` of them. */
struct access_look {
	struct lanes_warp warp;
	double weight;
	struct lanes_result r;
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
	bool is_all; /* the samples are all warps of the launch */
	double warps;
	struct access_place *places;
	uint32_t places_n;
	uint8_t *passes; /* of always_passed(): from each block on the one in question is passed */
	bool no_memory;
};

extern const char access_why_sampled[], access_why_limit[], access_why_aligned[],
	access_why_called[], access_why_meeting[];

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
bool access_needs_samples(const struct access_reader *k);

/* Fills in called and called_maybe, after the looks. */
void access_note_calls(struct access_reader *k);

/* How often a warp that was looked at passes a block; NAN = not known, and why. */
double access_times_passed(struct access_reader *k, const struct lanes_result *r, uint32_t block,
			   const char **why);
/*
 * Instructions that a warp executes beyond those of a block, each time that it passes it: lanes that parted come to the
 * BSYNC where they meet one group after another, and each executes it. NAN = not known.
 */
double access_repeated(const struct access_reader *k, const struct lanes_result *r, uint32_t block);
/* Requests of the launch at one place. */
struct quantity access_requests(struct access_reader *k, const struct access_place *p);

/* Iterations of a loop whenever it is entered, as the launch decides, else as the code does; 0 = not known. */
uint64_t access_trips(const struct access_reader *k, const struct lanes_result *r, uint32_t loop);

/* Of a place's excess what no neighbour uses; and who uses the rest, NULL = nobody (kernel_access_waste.c). */
struct quantity access_own_excess(const struct access_reader *k, const struct access_place *p,
				  const struct quantity *excess);
const char *access_sharers(const struct access_place *p, unsigned samples_n);

#endif
