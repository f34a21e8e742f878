/*
 * schema.h - the shape of every JSON output, as JSON Schema (draft 2020-12). Made from a short
 * notation so that the keys stand in one readable place.
 */
#ifndef KBN_SCHEMA_H
#define KBN_SCHEMA_H

#include <jansson.h>
#include <stddef.h>

/* Names of the formats, "kbn-report/1" ..., ended by NULL. */
extern const char *const schema_names[];

/* A new reference to the schema of one format; NULL when there is none of that name. */
json_t *schema_make(const char *name);

#endif
