/*
 * advice.h - what to try first on a kernel, and what not to: the rules of tables/rules.def over what the model says
 * of it. Input: struct model. Output: for each kernel experiments by expected gain and the steps that a reading
 * rules out; for the run the experiments that save most of it. Every figure in a text is one of the model, or is
 * worked out by a formula of analyzer/ADVICE.md. Leaves layout to the renderers.
 */
#ifndef KBN_ADVICE_H
#define KBN_ADVICE_H

#include <stddef.h>

#include "err.h"
#include "metrics.h"
#include "model.h"

struct arena;

enum advice_id {
#define RULE(name, ...) ADVICE_##name,
#include "tables/rules.def"
#undef RULE
	ADVICE_N
};

struct advice_row {
	const char *id, *title, *source;
};
extern const struct advice_row advice_rows[ADVICE_N];

/* What a row means, for people: tables/rules_help.def. */
struct advice_help {
	const char *why, *advice;
};
extern const struct advice_help advice_helps[ADVICE_N];

/* By id in any case, "KBN-A004" or "A004"; NULL = there is none. */
const struct advice_row *advice_find(const char *id);

/* Two that are never given of one kernel, as each takes for granted what the other denies. */
struct advice_pair {
	enum advice_id first, second; /* the first is kept */
	const char *why;
};
extern const struct advice_pair advice_pairs[];
extern const size_t advice_pairs_n;

/* What else is known beside the kernel itself. */
struct advice_run {
	double busy_pct; /* of the recorded time at most, NaN = not known */
	bool no_times;   /* the times are not those of a GPU: nothing is made of them */
};

#define ADVICE_ITEMS   6
#define ADVICE_NOT_NOW 6

/*
 * Fill *out, in the arena: the best first, at most ADVICE_ITEMS and ADVICE_NOT_NOW. `share_pct`: of all known
 * kernel time, NaN = not known. 0, or -1 when memory has run out.
 */
int advice_build(struct metric_advices *out, const struct model_kernel *k,
		 const struct arch_device *hw, double share_pct, const struct advice_run *run,
		 struct arena *arena, struct err *e);

/* That of the whole run where the GPU idles, from busy_pct; false = none, or no memory. */
bool advice_of_run(struct metric_advice *out, const struct advice_run *run, struct arena *arena);

#endif
