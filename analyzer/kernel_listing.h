/*
 * kernel_listing.h - the code of a kernel's loops for people to read: instructions as text, with their control codes
 * and source lines. Input: a function of a cubin. Output: plain data in an arena, as the report has it.
 */
#ifndef KBN_KERNEL_LISTING_H
#define KBN_KERNEL_LISTING_H

#include "cubin.h"
#include "err.h"
#include "line_table.h"
#include "metrics.h"

struct arena;

#define LISTING_LOOPS 4   /* of a kernel */
#define LISTING_LINES 384 /* of a kernel, and */
#define LISTING_MAIN  256 /* of one loop of it */

/*
 * Of function f of cubin c: the main loop first, then innermost loops that compute or load, by offset; all innermost
 * ones where none does; the whole function where nothing loops. `lines` NULL = no source lines. NULL with the reason
 * in *e as kernel_code_read().
 */
const struct metric_listings *kernel_listing_read(const struct cubin *c,
						  const struct cubin_function *f,
						  const struct line_table *lines,
						  struct arena *arena, struct err *e);

#endif
