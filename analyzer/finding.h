/*
 * finding.h - the statements that a report can make, each with a stable id, what it means and what to do
 * about it: tables/findings.def, read by whoever makes one and by `kbn help`. Knows no figures; those are
 * put in where the statement is made.
 */
#ifndef KBN_FINDING_H
#define KBN_FINDING_H

#include <stddef.h>

enum finding {
#define FINDING(name, id, text, why, advice) FINDING_##name,
#include "tables/findings.def"
#undef FINDING
	FINDING_N
};

struct finding_row {
	const char *id, *text, *why, *advice;
};
extern const struct finding_row finding_rows[FINDING_N];

/* By id in any case, "KBN-N010" or "N010"; NULL = there is none. */
const struct finding_row *finding_find(const char *id);

#endif
