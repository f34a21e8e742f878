/* render_json_value.c - see render_json_value.h. */
#include "render_json_value.h"

#include <math.h>

/*
 * jansson drops a key silently when memory runs out, and a key must never be missing: the dump is
 * refused when any was. One document is made at a time.
 */
static bool incomplete;

void value_put(json_t *object, const char *key, json_t *value)
{
	if (!value || json_object_set_new(object, key, value) < 0)
		incomplete = true;
}

json_t *value_text(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* Of a run that never was (kbn analyze), and of what was not recorded, there is nothing: not 0, not "". */
json_t *value_text_if(const char *s)
{
	return value_text(s && *s ? s : NULL);
}

json_t *value_count_if(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

json_t *value_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Counts that use -1 for unknown. */
json_t *value_count(int64_t n)
{
	return n >= 0 ? json_integer(n) : json_null();
}

json_t *value_tristate(int v)
{
	return v < 0 ? json_null() : json_boolean(v);
}

json_t *value_triple(const uint32_t v[3])
{
	return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

json_t *value_quantity(const struct quantity *q)
{
	json_t *o = json_object();

	value_put(o, "value", value_real(q->value));
	value_put(o, "low", value_real(q->low));
	value_put(o, "high", value_real(q->high));
	value_put(o, "label", value_text(quantity_label_names[q->label]));
	value_put(o, "by", value_text(quantity_by_names[q->by]));
	value_put(o, "why", value_text(q->why));
	return o;
}

/* An object of quantities that are all unknown for one reason. */
json_t *value_unknowns(const char *const *keys, const char *why)
{
	struct quantity q = quantity_unknown(why);
	json_t *o = json_object();

	for (; *keys; keys++)
		value_put(o, *keys, value_quantity(&q));
	return o;
}

void value_append(json_t *array, json_t *value)
{
	if (!value || json_array_append_new(array, value) < 0)
		incomplete = true;
}

json_t *value_findings(const struct metric_finding *list, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		value_append(a, json_pack("{s:s,s:s}", "id", list[i].id, "text", list[i].text));
	return a;
}

json_t *value_offset(uint64_t v)
{
	return json_sprintf("0x%llx", (unsigned long long)v);
}

json_t *value_range(double low, double high)
{
	return isfinite(low) && isfinite(high) ? json_pack("[f,f]", low, high) : json_null();
}

bool value_complete(void)
{
	bool was = !incomplete;

	incomplete = false;
	return was;
}
