/*
 * render_json.h - one kernel as the JSON object K of the contract, for formats that are made from it.
 */
#ifndef KBN_RENDER_JSON_H
#define KBN_RENDER_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "report.h"

/* A new reference. */
json_t *render_json_kernel(const struct report *r, const struct report_kernel *k);

/* False when memory ran out in any object made since the last call; clears the mark. */
bool render_json_complete(void);

#endif
