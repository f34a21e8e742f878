/*
 * code_facts.h - what the stored code images say of the kernels of a recording: resources, spills,
 * barriers, debug build, and whether the driver agrees. Input: images of a session. One image is
 * open at a time, so memory follows the largest image, not their sum.
 */
#ifndef KBN_CODE_FACTS_H
#define KBN_CODE_FACTS_H

#include <stdbool.h>

#include "model.h"

struct code_facts;

/*
 * `s` must outlive the result; texts are put into its arena. Compiling PTX again takes at most
 * `jit_ms` in all, 0 = never; kernels that come too late for it have the reason `late`, which is not
 * copied. NULL when memory has run out.
 */
struct code_facts *code_facts_new(const struct session *s, bool simulated, unsigned jit_ms,
				  const char *late);
void code_facts_free(struct code_facts *f);

/*
 * A model_code_fn; `ctx` is a struct code_facts. Cheapest when kernels of one image come one after
 * another. An image that is missing, damaged or holds no such function leaves *code as it is, but for the reason.
 */
void code_facts_of(void *ctx, const struct session_kernel *kernel, int sm, struct model_code *code);

/*
 * A model_access_fn; `ctx` is a struct code_facts. Of one launch of a shape, with what its parameter samples agree
 * in; NULL when the code is not at hand, the geometry was not kept, or memory has run out.
 */
const struct metric_access *code_facts_access(void *ctx, const struct session_shape *shape, int sm);

struct metric_listings;

/*
 * A report_listing_fn; `ctx` is a struct code_facts. The code that code_facts_of() spoke of, for people to read, in
 * the session's arena; NULL when it is not at hand. Cheapest when kernels of one image come one after another.
 */
const struct metric_listings *code_facts_listing(void *ctx, const struct session_kernel *kernel,
						 int sm);

#endif
