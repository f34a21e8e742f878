/*
 * quantity.h - a number that says how it was come by. Every figure of a report that is not an exact
 * count is one of these; what is not known is NaN here and null in JSON, never 0.
 */
#ifndef KBN_QUANTITY_H
#define KBN_QUANTITY_H

#include <math.h>
#include <stdbool.h>

enum quantity_label {
	QUANTITY_UNKNOWN,
	QUANTITY_MEASURED,
	QUANTITY_DERIVED,
	QUANTITY_ESTIMATED,
	QUANTITY_RECONSTRUCTED
};

enum quantity_by {
	QUANTITY_BY_EVENTS,
	QUANTITY_BY_GATED_EVENTS,
	QUANTITY_BY_CUPTI,
	QUANTITY_BY_DRIVER,
	QUANTITY_BY_CODE,
	QUANTITY_BY_INTERPRETER,
	QUANTITY_BY_USER,
	QUANTITY_BY_COUNTERS,
	QUANTITY_BY_MODEL,
};

struct quantity {
	double value, low, high; /* NaN = not known */
	enum quantity_label label;
	enum quantity_by by;
	const char *why; /* why it is unknown or only estimated, NULL = nothing to say */
};

/* Nothing known, because of `why`. */
static inline struct quantity quantity_unknown(const char *why)
{
	return (struct quantity){NAN, NAN, NAN, QUANTITY_UNKNOWN, QUANTITY_BY_MODEL, why};
}

static inline bool quantity_known(const struct quantity *q)
{
	return q->label != QUANTITY_UNKNOWN && !isnan(q->value);
}

/* The words of the contract, indexed by the enums. */
static const char *const quantity_label_names[] = {"unknown", "measured", "derived", "estimated",
						   "reconstructed"};
static const char *const quantity_by_names[] = {
	"events",      "gated-events", "cupti",    "driver", "code",
	"interpreter", "user",         "counters", "model",
};

#endif
