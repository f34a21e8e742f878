/*
 * schema_valid.h - a document against a schema: as much of JSON Schema as schema.c makes.
 */
#ifndef SCHEMA_VALID_H
#define SCHEMA_VALID_H

#include <jansson.h>
#include <stdbool.h>

#include "schema.h"

static inline const char *type_name(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT: return "object";
	case JSON_ARRAY: return "array";
	case JSON_STRING: return "string";
	case JSON_INTEGER: return "integer";
	case JSON_REAL: return "number";
	case JSON_NULL: return "null";
	default: return "boolean";
	}
}

/* What no schema can say of a quantity: what is not known or assumed has a reason, and lies within its bounds. */
static inline bool quantity_holds(const json_t *v, const char *path, char *why)
{
	const json_t *value = json_object_get(v, "value"), *low = json_object_get(v, "low"),
		     *high = json_object_get(v, "high");
	const char *label = json_string_value(json_object_get(v, "label"));
	const bool is_unknown = label && !strcmp(label, "unknown");
	const double n = json_number_value(value), slack = 1e-5 * (n < 0 ? -n : n);

	if (is_unknown == json_is_number(value))
		sprintf(why, "%.400s: value and label disagree", path);
	else if ((is_unknown || (label && !strcmp(label, "estimated"))) &&
		 !json_is_string(json_object_get(v, "why")))
		sprintf(why, "%.400s: %s, and no reason", path, label);
	else if ((!is_unknown && json_is_number(low) && json_number_value(low) > n + slack) ||
		 (!is_unknown && json_is_number(high) && json_number_value(high) < n - slack) ||
		 (json_is_number(low) && json_is_number(high) &&
		  json_number_value(low) > json_number_value(high)))
		sprintf(why, "%.400s: the value is outside of its bounds", path);
	else
		return true;
	return false;
}

static inline bool valid(json_t *root, json_t *schema, json_t *v, const char *path, char *why)
{
	json_t *part, *item, *required = json_object_get(schema, "required"),
			     *properties = json_object_get(schema, "properties");
	json_t *rest = json_object_get(schema, "additionalProperties");
	const char *type = json_string_value(json_object_get(schema, "type")), *key;
	char below[512];
	size_t i;

	if (json_object_get(schema, "$ref"))
		return valid(root, json_object_get(json_object_get(root, "$defs"), "quantity"), v,
			     path, why) &&
		       quantity_holds(v, path, why);
	if ((part = json_object_get(schema, "anyOf"))) {
		json_array_foreach(part, i, item) if (valid(root, item, v, path, why)) return true;
		return false;
	}
	snprintf(why, 512, "%s", path);
	if ((part = json_object_get(schema, "const")) && !json_equal(part, v))
		return false;
	if ((part = json_object_get(schema, "enum"))) {
		json_array_foreach(part, i, item) if (json_equal(item, v)) return true;
		return false;
	}
	if (type && strcmp(type, type_name(v)) != 0 &&
	    !(strcmp(type, "number") == 0 && json_is_integer(v)))
		return false;
	json_array_foreach(required, i, item)
	{
		snprintf(why, 512, "%s has no %s", path, json_string_value(item));
		if (!json_object_get(v, json_string_value(item)))
			return false;
	}
	if (json_is_object(v))
		json_object_foreach(v, key, item)
		{
			json_t *s = json_object_get(properties, key);

			snprintf(below, sizeof(below), "%.400s.%s", path, key);
			if ((s || rest) && !valid(root, s ? s : rest, item, below, why))
				return false;
		}
	if (json_is_array(v) && (part = json_object_get(schema, "items")))
		json_array_foreach(v, i, item)
		{
			snprintf(below, sizeof(below), "%.400s[%zu]", path, i);
			if (!valid(root, part, item, below, why))
				return false;
		}
	return true;
}

static inline void assert_valid(json_t *doc, const char *format)
{
	json_t *schema = schema_make(format);
	char why[512];

	assert_non_null(schema);
	if (!valid(schema, schema, doc, format, why))
		fail_msg("not as the schema says: %s", why);
	json_decref(schema);
}

#endif
