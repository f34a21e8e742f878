/*
 * fuzz_cubin.c - hostile cubins. Whatever the bytes: what cubin_open accepts points into the file,
 * every function is found by its name, and its numbers agree with each other.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_within(const struct cubin *c, const struct buf *part)
{
	check(!part->bytes || (part->data >= c->file.data &&
			       part->data + part->bytes <= c->file.data + c->file.bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	struct cubin c;

	if (cubin_open(&c, buf_of(data, size), &e) < 0) {
		check(e.code != ERR_NONE && e.text[0] && strlen(e.text) < sizeof(e.text));
		check(e.offset >= 0 && (uint64_t)e.offset <= UINT64_MAX / 2);
		return 0;
	}
	for (size_t i = 0; i < c.functions_n; i++) {
		const struct cubin_function *f = &c.functions[i], *found = cubin_find(&c, f->name);

		check(found && !strcmp(found->name, f->name));
		check_within(&c, &f->code);
		check_within(&c, &f->exits);
		check_within(&c, &f->branch_targets);
		check_within(&c, &f->annotations);
		check(f->spills <= f->annotations.bytes / 8);
		check(!f->params_n || f->params);
	}
	check(c.command[0] == '\0' || strlen(c.command) < size);
	cubin_close(&c);
	return 0;
}
