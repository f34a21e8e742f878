/*
 * calibrate_ptx.h - the kernels of `kbn calibrate` as PTX text, which the driver compiles: the
 * oldest PTX version that knows the instruction, so that old drivers take it and new GPUs run it.
 */
#ifndef KBN_CALIBRATE_PTX_H
#define KBN_CALIBRATE_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrate.h"

/*
 * Kernels of the basic module (any GPU from sm_75 on):
 *   empty ()
 *   spin (u64 cycles)                          one thread waits that long
 *   ffma (u64 out, u32 loops)                  CALIBRATE_FFMA_PER_LOOP FFMA per thread and loop;
 *                                              out[0] = cycles, out[1] = nanoseconds of one thread
 *   fill (u64 out, u64 words)                  pseudo-random words
 *   read (u64 in, u64 units, u32 loops, u64 out)  CALIBRATE_READS_PER_LOOP 16-byte loads per thread
 *                                              and loop, round and round over `units` of 16 bytes
 */
#define CALIBRATE_FFMA_PER_LOOP  64
#define CALIBRATE_READS_PER_LOOP 8

/* A matrix instruction: one row of a table. */
struct calibrate_mma {
	int reading;    /* enum calibrate_reading; several rows of one reading: the best counts */
	int sm;         /* first architecture; with `warpgroup`, the only one */
	int ptx;        /* PTX version: 70 = 7.0 */
	bool warpgroup; /* wgmma (sm_90a), else mma.sync */
	int k;          /* depth of one instruction */
	const char *
		types; /* "f32.f16.f16" or with the accumulator again, as the instruction wants it */
	char acc;      /* register kind of the accumulator: 'f' or 'r' */
	int acc_regs;  /* accumulator registers per thread */
	unsigned keep, set; /* operand word = (random & keep) | set: values of magnitude [0.5, 1) */
	unsigned sign;      /* flips the sign of every element; 0 = wrap-around is harmless */
};

extern const struct calibrate_mma calibrate_mma_table[];
extern const size_t calibrate_mma_count;

/* Threads of a block of the kernel `mma (u64 out, u32 loops)`; blocks per SM; FLOP per block and loop. */
int calibrate_mma_threads(const struct calibrate_mma *m);
int calibrate_mma_blocks(const struct calibrate_mma *m);
double calibrate_mma_flop(const struct calibrate_mma *m);

/* NUL-terminated text, to be freed; NULL when there is no memory. */
char *calibrate_ptx_basic(void);
char *calibrate_ptx_mma(const struct calibrate_mma *m);

#endif
