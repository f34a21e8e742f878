/*
 * code_fixture.h - what kernel_code_read() makes of a kernel of tests/golden, for the tests of its parts. set_up() and
 * tear_down() keep the arena in which it stands.
 */
#ifndef KBN_TEST_CODE_FIXTURE_H
#define KBN_TEST_CODE_FIXTURE_H

#include <string.h>

#include "arena.h"
#include "golden/tool.h"
#include "kernel_code.h"
#include "kernel_view.h"

static struct arena *arena;
static const char *wanted;
static const struct metric_sass *found;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static const struct metric_sass *code_of(int sm, const struct cubin_function *f, struct err *e)
{
	const struct metric_sass *s;
	struct kernel_view v;

	if (kernel_view_open(&v, sm, f, e) != 0)
		return NULL;
	s = kernel_code_read(&v, arena, e);
	kernel_view_close(&v);
	return s;
}

static bool visit(const struct image *image, const struct cubin *c)
{
	struct err e;

	(void)image;
	for (size_t i = 0; i < c->functions_n; i++)
		if (strstr(c->functions[i].name, wanted))
			found = code_of((int)c->sm, &c->functions[i], &e);
	return true;
}

/* Of the last function of the file whose name has `kernel` in it; there must be one. */
static const struct metric_sass *code_in(const char *path, const char *kernel)
{
	wanted = kernel;
	found = NULL;
	assert_int_equal(tool_each_cubin(path, visit), 0);
	assert_non_null(found);
	return found;
}

#endif
