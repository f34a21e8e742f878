/*
 * test_kernel_listing.c - the code that a report shows: which loops, where they begin, that every line is the
 * instruction that stands there with its control code, and that no kernel gets more than its share.
 */
#include "kbn_test.h"

#include <string.h>

#include "arena.h"
#include "cubin.h"
#include "kernel_listing.h"
#include "sass.h"
#include "sass_text.h"

struct opened {
	void *data;
	struct cubin cubin;
	struct line_table lines;
	struct arena *arena;
};

static void open_cubin(struct opened *o, const char *path)
{
	struct err e = {.text = ""};
	size_t bytes;

	o->data = load_file(path, &bytes);
	o->arena = arena_new();
	assert_non_null(o->arena);
	if (cubin_open(&o->cubin, buf_of(o->data, bytes), &e) < 0 ||
	    line_table_open(&o->lines, &o->cubin, &e) < 0)
		fail_msg("%s", e.text);
}

static void close_cubin(struct opened *o)
{
	line_table_close(&o->lines);
	cubin_close(&o->cubin);
	arena_free(o->arena);
	free(o->data);
}

static const struct metric_listings *list(struct opened *o, const struct cubin_function *f)
{
	struct err e = {.text = ""};
	const struct metric_listings *all =
		kernel_listing_read(&o->cubin, f, &o->lines, o->arena, &e);

	if (!all)
		fail_msg("%s", e.text);
	return all;
}

/* Decoded again, one by one: what is listed is what stands there. */
static void assert_same_as_code(const struct opened *o, const struct cubin_function *f,
				const struct metric_listing *l)
{
	for (size_t i = 0; i < l->lines_n; i++) {
		const struct metric_line *line = &l->lines[i];
		struct sass_insn insn;
		char text[SASS_TEXT_MAX];

		assert_true(line->offset + SASS_BYTES <= f->code.bytes);
		assert_int_equal(line->offset, l->lines[0].offset + SASS_BYTES * i);
		sass_decode((int)o->cubin.sm, sass_load(f->code.data + line->offset), line->offset,
			    &insn);
		sass_text((int)o->cubin.sm, &insn, text);
		assert_string_equal(line->text, text);
		assert_int_equal(line->stall, insn.control.stall);
		assert_int_equal(line->wait, insn.control.wait);
		assert_int_equal(line->yield, insn.control.yield);
		assert_int_equal(line->write_barrier,
				 insn.control.write_barrier == 7 ? -1 : insn.control.write_barrier);
		assert_int_equal(line->read_barrier,
				 insn.control.read_barrier == 7 ? -1 : insn.control.read_barrier);
	}
}

static void the_main_loop_comes_first(void **state)
{
	struct opened o = {0};
	const struct metric_listings *all;
	const struct metric_listing *main;
	const struct cubin_function *f;
	size_t lines = 0;

	(void)state;
	open_cubin(&o, "tests/golden/cubin/gemm_good.sm_90.cubin");
	f = &o.cubin.functions[0];
	all = list(&o, f);
	assert_true(all->n >= 1 && all->n <= LISTING_LOOPS);
	main = &all->at[0];
	assert_true(main->is_main);
	assert_true(main->depth >= 1);
	for (size_t i = 0; i < all->n; i++) {
		assert_true(i == 0 || !all->at[i].is_main);
		assert_same_as_code(&o, f, &all->at[i]);
		assert_true(all->at[i].lines_n <= LISTING_MAIN);
		lines += all->at[i].lines_n;
	}
	assert_true(lines <= LISTING_LINES);
	/* the loop ends with the jump back to its beginning, or is cut and says so */
	if (main->left_out)
		assert_int_equal(main->lines_n, LISTING_MAIN);
	else
		assert_non_null(strstr(main->lines[main->lines_n - 1].text, "BRA"));
	close_cubin(&o);
}

/* Straight code is listed as a whole, without what fills it up. */
static void nothing_loops(void **state)
{
	struct opened o = {0};
	const struct metric_listings *all;
	const struct cubin_function *f;
	const struct metric_listing *l;

	(void)state;
	open_cubin(&o, "tests/golden/cubin/bank_conflict_bad.sm_90.cubin");
	f = &o.cubin.functions[0];
	all = list(&o, f);
	assert_int_equal(all->n, 1);
	l = &all->at[0];
	assert_int_equal(l->depth, 0);
	assert_false(l->is_main);
	assert_int_equal(l->lines[0].offset, 0);
	assert_int_equal(l->left_out, 0);
	assert_same_as_code(&o, f, l);
	assert_null(strstr(l->lines[l->lines_n - 1].text, "NOP"));
	assert_true(l->lines_n * SASS_BYTES <= f->code.bytes);
	close_cubin(&o);
}

static void lines_of_the_source(void **state)
{
	struct opened o = {0};
	bool any = false;

	(void)state;
	open_cubin(&o, "tests/golden/lines/lines.sm_90a.cubin");
	for (size_t i = 0; i < o.cubin.functions_n; i++) {
		const struct metric_listings *all = list(&o, &o.cubin.functions[i]);

		for (size_t k = 0; k < all->n; k++)
			for (size_t n = 0; n < all->at[k].lines_n; n++) {
				const char *source = all->at[k].lines[n].source;

				any |= source && strstr(source, "lines.cu:");
			}
	}
	assert_true(any);
	close_cubin(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_main_loop_comes_first),
		cmocka_unit_test(nothing_loops),
		cmocka_unit_test(lines_of_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
