/*
 * variant.h - what tells kernels of one short name apart, for people's tables: `<1>` and `<8>` of
 * ffma_peak<1> and ffma_peak<8>. Input: the names of a report. Output: text in an arena. Depends on what
 * else is in the report, so it is no name to store: the JSON has the full names.
 */
#ifndef KBN_VARIANT_H
#define KBN_VARIANT_H

#include <stddef.h>

struct arena;

#define VARIANT_COLUMNS 40 /* it is never longer */

struct variant {
	const char *mangled, *demangled, *short_name;
	const char *text; /* out: what to put behind short_name, "" = nothing is needed */
};

/*
 * Fill `text` of all. Kernels are told apart when they have the same short name and different
 * demangled ones: by the first template argument in which all differ, else by all in which any
 * differ, each in its shortest form that does it; where template arguments cannot, by `#1`, `#2` in
 * the order of the demangled names. 0, or -1 when memory has run out.
 */
int variants_find(struct arena *arena, struct variant *list, size_t n);

#endif
