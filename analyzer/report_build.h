/*
 * report_build.h - private to report*.c: the report under construction.
 */
#ifndef KBN_REPORT_BUILD_H
#define KBN_REPORT_BUILD_H

#include "arena.h"
#include "model.h"
#include "report.h"
#include "session.h"
#include "text.h"
#include "vec.h"

/* Everything that is put together here, with the way out when memory runs out. */
struct builder {
	struct report *r;
	const struct session *s;
	const struct model *m;
	const struct report_options *o;
	struct arena *arena;
	VEC(struct metric_finding) notes;
	bool failed; /* memory has run out */
};

/* Passes `p` on; a NULL marks the report as failed. */
void *report_must(struct builder *b, const void *p);
/* `s` as valid UTF-8, "" when memory has run out; NULL stays NULL. */
const char *report_clean(struct builder *b, const char *s);
bool report_is_zero(const uint8_t *bytes, size_t n);

/* Fill k->advice; the rest of *k is there. */
void report_advise(struct builder *b, struct report_kernel *k, const struct model_kernel *m);
/* Fill r->advice, of the kernels that are shown. */
void report_advice(struct builder *b);
/* Fill r->notes, last of all. */
void report_notes(struct builder *b);

#endif
