/*
 * render_json.h - one kernel as the JSON object K of the contract, for formats that are made from it.
 */
#ifndef KBN_RENDER_JSON_H
#define KBN_RENDER_JSON_H

#include <jansson.h>

#include "report.h"

/* A new reference. */
json_t *render_json_kernel(const struct report *r, const struct report_kernel *k);

/* The like of one advice A, and of two parts of K. */
json_t *render_json_advice(const struct metric_advice *a);
json_t *render_json_occupancy_object(const struct occupancy *o, const char *no_counters);
json_t *render_json_cliff_object(const struct smem_cliff *c, int published);

#endif
