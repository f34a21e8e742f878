/*
 * test_access_launch.c - what accesses of a launch come to: kernels of tests/golden/access/launch.cu on five architectures
 * against figures that follow from source and geometry. Of one request: test_access.c.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "cubin.h"
#include "kernel_access.h"
#include "kernel_view.h"

static const char *const archs[] = {"80", "86", "90", "100", "120", NULL};
static bool is_spoilt; /* an instruction in front of the first exit is none */

/* What is said of a kernel with these blocks of a launch of two, in the arena. */
static const struct metric_access *of(const char *arch, const char *kernel, uint32_t threads,
				      int32_t n, struct arena *arena)
{
	static const uint64_t out = UINT64_C(0x7f0000000000), in = UINT64_C(0x7f1000000000);
	struct kernel_access_launch x = {
		.grid = {2, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1}, .params_n = 20};
	const struct metric_access *m;
	struct kernel_view view;
	struct cubin c;
	struct err e = {0};
	uint8_t params[20], known[20], *data;
	char path[96];
	size_t bytes;

	memcpy(params, &out, 8);
	memcpy(params + 8, &in, 8);
	memcpy(params + 16, &n, 4);
	memset(known, 0xff, sizeof(known));
	snprintf(path, sizeof(path), "tests/golden/access/launch.sm_%s.cubin", arch);
	data = load_file(path, &bytes);
	if (cubin_open(&c, buf_of(data, bytes), &e) < 0)
		fail_msg("%s: %s", path, e.text);
	for (size_t i = 0; i < c.functions_n; i++)
		if (c.functions[i].is_kernel && !strcmp(c.functions[i].name, kernel))
			x.function = &c.functions[i];
	assert_non_null(x.function);
	if (is_spoilt) /* the code is in `data` */
		memset((uint8_t *)(uintptr_t)x.function->code.data + 16, 0xff, 2);
	if (kernel_view_open(&view, (int)c.sm, x.function, &e) != 0)
		fail_msg("%s", e.text);
	x.cubin = &c;
	x.view = &view;
	x.params = params;
	x.known = known;
	m = kernel_access_read(&x, arena, &e);
	assert_non_null(m);
	kernel_view_close(&view);
	cubin_close(&c);
	free(data);
	return m;
}

static void is_derived(const struct quantity *q, double value, const char *arch, const char *what)
{
	if (q->label != QUANTITY_DERIVED || q->value != value)
		fail_msg("sm_%s %s: %s %g, not %g", arch, what, quantity_label_names[q->label],
			 q->value, value);
}

static void lanes_that_are_not_there_do_nothing(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++)
		for (uint32_t threads = 1; threads <= 128; threads += threads == 1 ? 47 : 40) {
			struct arena *arena = arena_new();
			const struct metric_access *m = of(*arch, "one_each", threads, 0, arena);

			is_derived(&m->global_load_bytes, 2 * 4 * threads, *arch, "loads");
			is_derived(&m->global_store_bytes, 2 * 4 * threads, *arch, "stores");
			is_derived(&m->atomics, 2 * threads, *arch, "atomics");
			arena_free(arena);
		}
}

static void lanes_count_warp_by_warp(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "two_stores", 128, 0, arena);

		is_derived(&m->global_store_bytes, 2 * 4 * 40, *arch, "stores");
		arena_free(arena);
	}
}

/* The last that all have in common is executed by each group of lanes that left the loop together. */
static void leaving_in_two_turns_costs_one_instruction(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *together = of(*arch, "leaving", 32, 128, arena),
					   *apart = of(*arch, "leaving", 32, 101, arena);

		assert_int_equal(together->warp_instructions.label, QUANTITY_DERIVED);
		is_derived(&apart->warp_instructions, together->warp_instructions.value + 2, *arch,
			   "instructions of two warps");
		arena_free(arena);
	}
}

static void who_meets_before_the_end_does_not_end_apart(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "waits", 64, 0, arena);

		assert_int_equal(m->warp_instructions.label, QUANTITY_UNKNOWN);
		assert_true(m->global_store_bytes.value == 2 * 4 * 64);
		arena_free(arena);
	}
}

/* In the second block no lane leaves, and those that parted meet: one BSYNC more than in the first, where nobody is met. */
static void who_leaves_does_not_meet_for_nothing(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *none = of(*arch, "all_or_none", 32, 2, arena),
					   *one = of(*arch, "all_or_none", 32, 1, arena);

		if (none->warp_instructions.label == QUANTITY_DERIVED &&
		    one->warp_instructions.label == QUANTITY_DERIVED)
			is_derived(&one->warp_instructions, none->warp_instructions.value + 1,
				   *arch, "instructions of two warps");
		arena_free(arena);
	}
}

static void each_request_counts_once(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "warps_differ", 64, 0, arena);

		is_derived(&m->sectors_per_request_load, (1 * 4 + 3 * 8) / 4.0, *arch, "sectors");
		is_derived(&m->excess_sectors, 2 * 3 * 4, *arch, "excess");
		is_derived(&m->wasted_sectors, 2 * 3 * 4, *arch, "waste");
		is_derived(&m->global_load_bytes, 2 * 4 * 128, *arch, "loads");
		arena_free(arena);
	}
}

/* Two blocks of up to 32 warps that differ, all looked at or some of them. */
static void blocks_of_many_warps(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++)
		for (uint32_t warps = 17; warps <= 32; warps += 3) {
			struct arena *arena = arena_new();
			const struct metric_access *m =
				of(*arch, "some_scatter_twice", 32 * warps, 7, arena);
			const struct quantity *q = &m->global_store_bytes;

			if (q->value != 2 * 4 * 32 * (warps + warps + 7.0))
				fail_msg("sm_%s, %u warps: %g bytes", *arch, warps, q->value);
			arena_free(arena);
		}
}

/* Two blocks of 32 warps are more than are looked at: how many scatter twice is estimated, and so is the mean request. */
static void a_mean_is_no_surer_than_its_weights(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++)
		for (int32_t n = 1; n < 32; n += 6) {
			const double truth = (32 * 4 + (32 + n) * 32) / (64.0 + n);
			struct arena *arena = arena_new();
			const struct metric_access *m =
				of(*arch, "some_scatter_twice", 1024, n, arena);
			const struct quantity *q = &m->sectors_per_request_store;

			if (q->label == QUANTITY_DERIVED)
				assert_float_equal(q->value, truth, 1e-9);
			else if (!(q->low < truth && truth < q->high))
				fail_msg("sm_%s, %d: %g is not in %g to %g", *arch, n, truth,
					 q->low, q->high);
			arena_free(arena);
		}
}

static void what_is_called_may_load(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "calling", 64, 0, arena);

		assert_int_equal(m->global_load_bytes.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->sectors_per_request_load.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->warp_instructions.label, QUANTITY_UNKNOWN);
		is_derived(&m->global_store_bytes, 2 * 4 * 64, *arch, "stores");
		arena_free(arena);
	}
}

static void who_left_does_not_meet_the_others(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "some_leave", 64, 0, arena);

		is_derived(&m->global_load_bytes, 2 * 2 * 4 * 27, *arch, "loads");
		is_derived(&m->global_store_bytes, 2 * 2 * 4 * (16 + 11 + 27), *arch, "stores");
		assert_int_equal(m->divergence_pct.label, QUANTITY_DERIVED);
		m = of(*arch, "some_may_leave", 64, 0, arena);
		for (size_t i = 0; i < m->sites_n; i++)
			if (m->sites[i].sectors_per_request.label == QUANTITY_DERIVED &&
			    m->sites[i].sectors_per_request.value == 4)
				fail_msg("sm_%s: all lanes at 0x%x", *arch,
					 (unsigned)m->sites[i].offset);
		if (m->global_store_bytes.label != QUANTITY_UNKNOWN)
			assert_true(m->global_store_bytes.low <= 2 * 2 * 4 * (16 + 16));
		arena_free(arena);
	}
}

static void copies_of_blocks_are_not_nothing(void **state)
{
	(void)state;
	for (const char *const *arch = archs + 2; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "block_copy", 64, 0, arena);

		assert_int_equal(m->global_load_bytes.label, QUANTITY_UNKNOWN);
		assert_true(m->global_store_bytes.value == 2 * 4 * 64);
		is_derived(&m->atomics, 0, *arch, "atomics");
		arena_free(arena);
	}
}

static void what_is_not_decoded_may_do_anything(void **state)
{
	(void)state;
	is_spoilt = true;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "one_each", 64, 0, arena);

		assert_int_equal(m->global_load_bytes.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->warp_instructions.label, QUANTITY_UNKNOWN);
		assert_int_equal(m->divergence_pct.label, QUANTITY_UNKNOWN);
		arena_free(arena);
	}
	is_spoilt = false;
}

/* Of 20 lanes that do not meet again one leaves alone: its store is a request, and that of the others, where they share one. */
static void who_parted_asks_apart(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "ends_twice", 64, 33, arena);
		double stores = 0;
		bool are_known = true;

		for (size_t i = 0; i < m->sites_n; i++) {
			if (strncmp(m->sites[i].op, "STG", 3))
				continue;
			are_known &= m->sites[i].requests.label == QUANTITY_DERIVED;
			stores += m->sites[i].requests.value;
		}
		/* two of each warp by those 20, and that in the end; 18 with the ends of the loop in one piece of code */
		if (are_known && stores != 2 * 2 * 3 && stores != 18)
			fail_msg("sm_%s: %g stores", *arch, stores);
		arena_free(arena);
	}
}

/* A warp turns four times, and in three of them the lane that stores has left. */
static void who_left_a_loop_asks_for_nothing(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "first_turn", 64, 0, arena);

		for (size_t i = 0; i < m->sites_n; i++)
			if (m->sites[i].requests.label == QUANTITY_DERIVED &&
			    m->sites[i].requests.value != 2 * 2)
				fail_msg("sm_%s: %s %g times", *arch, m->sites[i].op,
					 m->sites[i].requests.value);
		arena_free(arena);
	}
}

static const struct quantity *requests(const struct metric_access *m, const char *op,
				       double sectors)
{
	for (size_t i = 0; i < m->sites_n; i++)
		if (!strncmp(m->sites[i].op, op, strlen(op)) &&
		    m->sites[i].sectors_per_request.value == sectors)
			return &m->sites[i].requests;
	fail_msg("no %s of %g sectors", op, sectors);
	return NULL;
}

/* What not every warp comes to, or only if a value says so. */
/* Of the loads in loops the first is of all blocks; neither the block's own row nor what lies where memory says. */
static void tables_are_of_all_blocks(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "tables", 256, 1024, arena);
		uint64_t first = UINT64_MAX;
		unsigned of_all = 0, loads = 0;

		for (size_t i = 0; i < m->sites_all; i++) {
			const struct metric_site *s = &m->sites[i];

			if (strcmp(s->kind, "load") != 0) {
				assert_false(s->is_of_all_blocks && !strcmp(s->kind, "store"));
				continue;
			}
			/* the word that says where, too: it stands alone */
			if (s->lane_bytes && s->pattern && strstr(s->pattern, "all lanes one"))
				continue;
			loads++;
			of_all += s->is_of_all_blocks;
			first = s->offset < first ? s->offset : first;
		}
		if (loads != 3 || of_all != 1)
			fail_msg("sm_%s: %u of %u loads are of all blocks", *arch, of_all, loads);
		for (size_t i = 0; i < m->sites_all; i++)
			if (m->sites[i].offset == first)
				assert_true(m->sites[i].is_of_all_blocks);
		arena_free(arena);
	}
}

static void who_left_does_not_come_here(void **state)
{
	(void)state;
	for (const char *const *arch = archs; *arch; arch++) {
		struct arena *arena = arena_new();
		const struct metric_access *m = of(*arch, "first_leaves", 64, 0, arena);
		const struct quantity *q = requests(m, "LDG", 4);

		if (q->label != QUANTITY_UNKNOWN)
			is_derived(q, 2, *arch, "loads of the second block");
		m = of(*arch, "half_may_be_gone", 64, 0, arena);
		for (size_t i = 0; i < m->sites_n; i++)
			if (m->sites[i].sectors_per_request.value == 2 &&
			    m->sites[i].requests.value == 2 * 2 * 3)
				fail_msg("sm_%s: three turns of half a warp that may not be there",
					 *arch);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_that_are_not_there_do_nothing),
		cmocka_unit_test(lanes_count_warp_by_warp),
		cmocka_unit_test(leaving_in_two_turns_costs_one_instruction),
		cmocka_unit_test(who_meets_before_the_end_does_not_end_apart),
		cmocka_unit_test(who_leaves_does_not_meet_for_nothing),
		cmocka_unit_test(each_request_counts_once),
		cmocka_unit_test(blocks_of_many_warps),
		cmocka_unit_test(a_mean_is_no_surer_than_its_weights),
		cmocka_unit_test(what_is_called_may_load),
		cmocka_unit_test(copies_of_blocks_are_not_nothing),
		cmocka_unit_test(what_is_not_decoded_may_do_anything),
		cmocka_unit_test(who_left_does_not_meet_the_others),
		cmocka_unit_test(who_left_does_not_come_here),
		cmocka_unit_test(tables_are_of_all_blocks),
		cmocka_unit_test(who_parted_asks_apart),
		cmocka_unit_test(who_left_a_loop_asks_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
