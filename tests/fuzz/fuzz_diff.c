/*
 * fuzz_diff.c - hostile report documents: compared with themselves nothing changed, and what is said
 * of them is a document again. Both sides are the same bytes, or the two halves around a NUL.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "diff.h"
#include "diff_read.h"
#include "diff_render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_output(const struct diff *d)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *doc;

	check(out && diff_json(d, out, NULL) == 0 && fclose(out) == 0);
	doc = json_loadb(text, bytes, 0, NULL);
	check(doc && json_array_size(json_object_get(doc, "kernels")) == d->rows_n);
	json_decref(doc);
	free(text);
	out = open_memstream(&text, &bytes);
	check(out != NULL);
	diff_text(d, 5, 80, out);
	fclose(out);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	const size_t first = nul ? (size_t)(nul - data) : size;
	const uint8_t *second = nul ? nul + 1 : data;
	const size_t rest = nul ? size - first - 1 : size;
	struct arena *a = arena_new();
	struct diff_report r[2];
	struct diff_side base = {&r[0], 1}, new = {&r[1], 1};
	struct err e;
	struct diff d;

	check(a != NULL);
	if (diff_read_json(&r[0], a, "a", (const char *)data, first, &e) == 0 &&
	    diff_read_json(&r[1], a, "b", (const char *)second, rest, &e) == 0) {
		check(diff_build(&d, a, &base, &new, &e) == 0);
		check(d.rows_n >= r[0].kernels_n && d.rows_n <= r[0].kernels_n + r[1].kernels_n);
		for (size_t i = 0; !nul && i < d.rows_n; i++)
			check(isnan(d.rows[i].change_pct) || d.rows[i].change_pct == 0);
		check_output(&d);
	}
	arena_free(a);
	return 0;
}
