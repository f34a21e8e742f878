/*
 * sampler.h - which launches of a shape are timed: their places, and the purse that pays for them.
 * Knows counts and nanoseconds; events are timing.c's. All of it is decided in functions that take
 * the time as an argument.
 */
#ifndef KBN_SHIM_SAMPLER_H
#define KBN_SHIM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#define KBN_CREDIT_MAX 400000  /* ns of unused budget that are kept */
#define KBN_DEBT       9000000 /* ns that early samples may have borrowed from later budget */
#define KBN_DEBT_FIRST 9000000 /* ns more, for the first three samples of a shape */

/* A new recording: nothing is earned or spent. */
void kbn_sampler_restart(void);

/*
 * What the process may spend at `now_ns` (of the recording): budget_ppm of all time so far, less
 * what was spent, at most KBN_CREDIT_MAX. Negative = in debt. One purse for all threads.
 */
int64_t kbn_sampler_credit(uint64_t now_ns);

/*
 * Whether a shape of which `sampled` launches have been timed gets one more, at a cost of about
 * `cost_ns`. The first samples may borrow, later ones have to be saved for, the longer the more
 * the shape has: shapes with few come first.
 */
bool kbn_sampler_wants(uint32_t sampled, uint32_t cost_ns, uint64_t now_ns);

/*
 * A sample took `ns`. The n-th of a shape is charged 1 + n / 8 times, so that the cost of a steady
 * program falls with what is known of it: a ninth of the budget at 64 samples of each shape.
 */
void kbn_sampler_pay(uint32_t sampled, uint64_t ns);

/*
 * Launches to leave out after launch number `launch` was timed, or was not to be (`refused`). None
 * before launch 4; then each place is half as far again as the one before, at most 20 launches
 * away, and from launch 1280 on 1/64 of all launches so far. Random within half and three halves
 * of that, so that samples do not fall into step with the program. `random`: any 32 bits.
 */
uint32_t kbn_sampler_skip(uint64_t launch, uint32_t random);
uint32_t kbn_sampler_skip_refused(uint64_t launch, uint32_t random);

#endif
