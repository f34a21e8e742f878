/*
 * kernel_code.h - what the instructions of one kernel say, as the metrics of a report: how many of each
 * operation and with which stall counts, and its loops. Input: the view of a function. Output: plain data in
 * an arena. Leaves judgement to the model.
 */
#ifndef KBN_KERNEL_CODE_H
#define KBN_KERNEL_CODE_H

#include "err.h"
#include "metrics.h"

struct arena;
struct kernel_view;

/*
 * The result and its texts live as long as `arena`, and need no view. NULL with the reason in *e: memory has run
 * out.
 */
const struct metric_sass *kernel_code_read(const struct kernel_view *v, struct arena *arena,
					   struct err *e);

#endif
