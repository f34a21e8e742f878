/*
 * kernel_code.h - what the instructions of one kernel say, as the metrics of a report: how many of each
 * operation and with which stall counts, and its loops. Input: a function of a cubin. Output: plain data in
 * an arena. Leaves judgement to the model.
 */
#ifndef KBN_KERNEL_CODE_H
#define KBN_KERNEL_CODE_H

#include "cubin.h"
#include "err.h"
#include "metrics.h"

struct arena;

/*
 * Of function f of architecture sm (90 = sm_90); the result and its texts live as long as `arena`. NULL with
 * the reason in *e: the architecture is not known, or memory has run out.
 */
const struct metric_sass *kernel_code_read(int sm, const struct cubin_function *f,
					   struct arena *arena, struct err *e);

#endif
