/*
 * fuzz_work.c - any bytes as a file of work: a fault names a line that exists, and a figure that comes out is
 * that of its dimensions. The first six bytes are the geometry.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_error(const struct err *e, const char *text, size_t n)
{
	size_t line, column, lines = 1;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	check(e->code == ERR_USAGE);
	check(sscanf(e->text, "w:%zu:%zu: ", &line, &column) == 2);
	check(line >= 1 && line <= lines && column >= 1 && column <= n + 1);
}

static double dim(const struct work *w, int i)
{
	return (double)w->dims[i].value;
}

static int near(int64_t figure, double expected)
{
	return fabs((double)figure - expected) <= 1e-9 * expected;
}

static void check_figures(const struct work *w)
{
	double pairs;

	check(w->kind != WORK_NONE && w->flops >= -1 && w->bytes >= -1 && w->elements >= -1);
	check(w->flops >= 0 || w->bytes >= 0);
	if (w->kind == WORK_GEMM) {
		check(near(w->flops, 2 * dim(w, 0) * dim(w, 1) * dim(w, 2)));
	} else if (w->kind == WORK_ATTENTION) {
		pairs = dim(w, 2) * dim(w, 3);
		if (dim(w, 6) && dim(w, 2) <= dim(w, 3))
			pairs -= dim(w, 2) * dim(w, 2) / 2;
		else if (dim(w, 6))
			pairs = dim(w, 3) * dim(w, 3) / 2;
		check(near(w->flops, 4 * dim(w, 0) * dim(w, 1) * dim(w, 4) * pairs));
	}
	if (w->kind >= WORK_GEMM && w->dtype != WORK_DTYPE_NONE && !w->is_bytes_given)
		check(near(w->bytes, ceil((double)w->elements * work_dtype_bits(w->dtype) / 8)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"k", "_Z4gemmPf", "void gemm<int, 3>(float*)"};
	struct formula_geometry g;
	struct work_file *f;
	struct err e;
	const char *text;

	if (size < 6)
		return 0;
	for (int i = 0; i < 3; i++) {
		g.grid[i] = data[i];
		g.block[i] = data[i + 3];
	}
	text = (const char *)data + 6;
	size -= 6;
	if (work_file_parse(&f, "w", text, size, &e) < 0) {
		check_error(&e, text, size);
		return 0;
	}
	for (int i = 0; i < 3; i++) {
		struct work w = WORK_INIT;
		int rc = work_file_find(f, names[i], NULL, NULL, &g, &w, &e);

		if (rc < 0)
			check_error(&e, text, size);
		else if (rc == 1)
			check_figures(&w);
	}
	work_file_free(f);
	return 0;
}
