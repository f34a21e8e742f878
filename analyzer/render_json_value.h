/*
 * render_json_value.h - values of the contract as JSON, for the renderers that make it. What is not known is
 * null. jansson drops a key silently when memory runs out, and a key must never be missing: value_complete()
 * says whether any was. One document is made at a time.
 */
#ifndef KBN_RENDER_JSON_VALUE_H
#define KBN_RENDER_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "report.h"

/* Take the reference to `value`. */
void value_put(json_t *object, const char *key, json_t *value);
void value_append(json_t *array, json_t *value);

/* New references, null of NULL. */
json_t *value_text(const char *s);
json_t *value_text_if(const char *s); /* also of "" */
json_t *value_count_if(uint64_t n);   /* null of 0 */
json_t *value_real(double v);         /* null of NaN and infinity */
json_t *value_count(int64_t n);       /* null below 0 */
json_t *value_tristate(int v);        /* null below 0 */
json_t *value_triple(const uint32_t v[3]);
json_t *value_offset(uint64_t v); /* "0x1f0" */
json_t *value_range(double low, double high);
json_t *value_quantity(const struct quantity *q);
json_t *value_findings(const struct metric_finding *list, size_t n);

/* An object of quantities that are all unknown for one reason; `keys` ends with NULL. */
json_t *value_unknowns(const char *const *keys, const char *why);

/* False when anything has been missing since the last call; clears the mark. */
bool value_complete(void);

#endif
