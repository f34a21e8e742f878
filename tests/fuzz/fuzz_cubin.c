/*
 * fuzz_cubin.c - hostile cubins. Whatever the bytes: what cubin_open accepts points into the file,
 * every function is found by its name, what is listed of it lies in its code, and its numbers agree
 * with each other; a line table has rows of these functions in order, and finds each of them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_err(const struct err *e)
{
	check(e->code != ERR_NONE && e->text[0] && strlen(e->text) < sizeof(e->text));
	check(e->offset >= 0 || e->code == ERR_MEMORY || e->code == ERR_LIMIT);
}

static void check_within(const struct cubin *c, const struct buf *part)
{
	check(!part->bytes || (part->data >= c->file.data &&
			       part->data + part->bytes <= c->file.data + c->file.bytes));
}

/* Strings are views into the file; reading them to the end must stay within it. */
static void check_string(const char *text, size_t size)
{
	check(text && strlen(text) < size + 1);
}

static void check_lists(const struct cubin *c, const struct cubin_function *f)
{
	size_t size = c->file.bytes;
	uint32_t last = 0;

	for (size_t i = 0; i < f->parts_n; i++) {
		check(f->parts[i].offset >= last);
		check((uint64_t)f->parts[i].offset + f->parts[i].bytes <= f->code.bytes);
		check_string(f->parts[i].name, size);
		last = f->parts[i].offset;
	}
	for (size_t i = 0; i < f->branches_n; i++) {
		const struct cubin_branch *b = &f->branches[i];

		check(b->offset < f->code.bytes && (!i || b[-1].offset <= b->offset));
		for (size_t k = 0; k < b->targets_n; k++)
			check(b->targets[k] < f->code.bytes && b->targets[k] % 8 == 0);
	}
	for (size_t i = 0; i < f->spills; i++)
		check(f->spills_at[i] < f->code.bytes &&
		      (!i || f->spills_at[i - 1] <= f->spills_at[i]));
	for (size_t i = 0; i < f->relocs_n; i++) {
		check(f->relocs[i].offset < f->code.bytes);
		check_string(f->relocs[i].symbol, size);
	}
}

static void check_lines(const struct cubin *c)
{
	struct line_table t;
	struct err e = {0};

	if (line_table_open(&t, c, &e) < 0) {
		check_err(&e);
		return;
	}
	check(t.first[0] == 0 && t.first[c->functions_n] == t.rows_n);
	for (size_t i = 0; i < t.rows_n; i++) {
		const struct line_row *r = &t.rows[i], *found;

		check(r->function < c->functions_n && i >= t.first[r->function] &&
		      i < t.first[r->function + 1]);
		check(r->file == LINE_NONE || r->file < t.files_n);
		check(!i || r[-1].function < r->function ||
		      (r[-1].function == r->function && r[-1].offset <= r->offset));
		check_string(r->inlined, c->file.bytes);
		found = line_table_find(&t, r->function, r->offset);
		check(!found || (found->offset == r->offset && found->file != LINE_NONE));
		/* the chain of callers ends */
		for (size_t n = 0; found && i < 64; n++) {
			check(n <= t.rows_n);
			found = line_table_caller(&t, found);
		}
	}
	for (size_t i = 0; i < t.files_n; i++) {
		check_string(t.files[i].directory, c->file.bytes);
		check_string(t.files[i].name, c->file.bytes);
	}
	line_table_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	struct cubin c;
	uint32_t sm;
	char suffix;

	if (cubin_open(&c, buf_of(data, size), &e) < 0) {
		check_err(&e);
		return 0;
	}
	for (size_t i = 0; i < c.functions_n; i++) {
		const struct cubin_function *f = &c.functions[i], *found = cubin_find(&c, f->name);

		check(found && !strcmp(found->name, f->name));
		check_within(&c, &f->code);
		check_within(&c, &f->exits);
		check_lists(&c, f);
		check(!f->params_n || f->params);
	}
	for (size_t i = 0; i < c.banks_n; i++) {
		check(c.banks[i].function == CUBIN_ALL || c.banks[i].function < c.functions_n);
		check_within(&c, &c.banks[i].data);
	}
	check(cubin_target(buf_of(data, size), &sm, &suffix, &e) == 0);
	check(sm == c.sm && suffix == c.suffix);
	check_lines(&c);
	check(c.command[0] == '\0' || strlen(c.command) < size);
	cubin_close(&c);
	return 0;
}
