/* unit: shim */
/*
 * test_registry.c - handles to kernels, shapes to slots, parameters to bytes, and the settings, on a
 * driver of a few functions that are stood in for here.
 */
#include "kbn_test.h"

#include <pthread.h>

#include "hook.h"
#include "launch.h"
#include "map.h"
#include "params.h"
#include "process.h"
#include "registry.h"
#include "settings.h"
#include "writer.h"

static char dir[256];

/* ------------------------------------------------------------------------- the stood-in functions */

static int asked; /* calls of the functions below */

static CUresult get_module(CUmodule *m, CUfunction f)
{
	asked++;
	/* Kernels are no functions: handles from 0x9000 on. */
	if ((uintptr_t)f >= 0x9000)
		return CUDA_ERROR_INVALID_HANDLE;
	*m = (CUmodule)(uintptr_t)0x70;
	return CUDA_SUCCESS;
}

static CUresult get_name(const char **name, CUfunction f)
{
	asked++;
	*name = (uintptr_t)f == 0x555 ? "asked_for" : "other";
	return CUDA_SUCCESS;
}

static CUresult kernel_get_name(const char **name, CUkernel k)
{
	asked++;
	if ((uintptr_t)k == 0x9999)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = "library_kernel";
	return CUDA_SUCCESS;
}

static CUresult param_end = CUDA_ERROR_INVALID_VALUE;

static CUresult get_param(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
	static const struct kbn_param table[] = {{0, 8}, {8, 4}, {16, 24}};

	(void)f;
	if (i >= 3)
		return param_end;
	*offset = table[i].offset;
	*bytes = table[i].bytes;
	return CUDA_SUCCESS;
}

static int setup(void **state)
{
	const char *why;

	(void)state;
	temp_dir(dir);
	kbn_settings_read();
	kbn_registry_reset();
	memset(&real, 0, sizeof(real));
	real.cuFuncGetModule = get_module;
	real.cuFuncGetName = get_name;
	real.cuKernelGetName = kernel_get_name;
	real.cuFuncGetParamInfo = get_param;
	atomic_store(&kbn_resolved, true);
	param_end = CUDA_ERROR_INVALID_VALUE;
	asked = 0;
	return kbn_writer_open(dir, 16, &why);
}

static int teardown(void **state)
{
	(void)state;
	remove_dir(dir);
	return 0;
}

#define MODULE(n)   ((CUmodule)(uintptr_t)(n))
#define FUNCTION(n) ((CUfunction)(uintptr_t)(n))
#define KERNEL(n)   ((CUkernel)(uintptr_t)(n))
#define LIBRARY(n)  ((CUlibrary)(uintptr_t)(n))

/* ---------------------------------------------------------------------------------------- handles */

static void a_look_up_names_the_kernel(void **state)
{
	struct kbn_kernel *a, *b, *c;

	(void)state;
	kbn_registry_module(MODULE(0x70), 5);
	kbn_registry_function(FUNCTION(0x100), MODULE(0x70), "first");
	kbn_registry_function(FUNCTION(0x200), MODULE(0x70), "second");
	kbn_registry_function(FUNCTION(0x300), MODULE(0x70), "first");
	a = kbn_registry_resolve(FUNCTION(0x100));
	b = kbn_registry_resolve(FUNCTION(0x200));
	c = kbn_registry_resolve(FUNCTION(0x300));
	assert_string_equal(a->name, "first");
	assert_int_equal(a->image, 5);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(a, c); /* one per image and name, however many handles */
	assert_int_equal(asked, 0);
	assert_ptr_equal(kbn_registry_resolve(FUNCTION(0x100)), a);
}

static void unknown_handles_are_asked_about_once(void **state)
{
	struct kbn_kernel *a, *k, *none;

	(void)state;
	kbn_registry_module(MODULE(0x70), 3);
	a = kbn_registry_resolve(FUNCTION(0x555));
	assert_string_equal(a->name, "asked_for");
	assert_int_equal(a->image, 3);
	assert_int_equal(asked, 2);
	assert_ptr_equal(kbn_registry_resolve(FUNCTION(0x555)), a);
	assert_int_equal(asked, 2);
	k = kbn_registry_resolve(FUNCTION(0x9100));
	assert_string_equal(k->name, "library_kernel");
	assert_true(k->is_cukernel);
	none = kbn_registry_resolve(FUNCTION(0x9999));
	assert_string_equal(none->name, "");
	assert_int_equal(none->image, 0);
}

static void a_reused_handle_is_another_kernel(void **state)
{
	struct kbn_kernel *before, *after;

	(void)state;
	kbn_registry_module(MODULE(0x70), 1);
	kbn_registry_function(FUNCTION(0x100), MODULE(0x70), "old");
	before = kbn_registry_resolve(FUNCTION(0x100));
	kbn_registry_module_gone(MODULE(0x70));
	/* The same values come back for other code. */
	kbn_registry_module(MODULE(0x70), 2);
	kbn_registry_function(FUNCTION(0x100), MODULE(0x70), "new");
	after = kbn_registry_resolve(FUNCTION(0x100));
	assert_ptr_not_equal(before, after);
	assert_string_equal(after->name, "new");
	assert_int_equal(after->image, 2);
	/* And a stale handle that nobody looked up again is asked about, not trusted. */
	kbn_registry_module_gone(MODULE(0x70));
	asked = 0;
	assert_string_equal(kbn_registry_resolve(FUNCTION(0x100))->name, "other");
	assert_true(asked > 0);
}

static void function_and_kernel_of_a_library_are_one(void **state)
{
	struct kbn_kernel *k;

	(void)state;
	kbn_registry_library(LIBRARY(0x80), 9);
	kbn_registry_kernel(KERNEL(0x9100), LIBRARY(0x80), "twin");
	kbn_registry_kernel_function(FUNCTION(0x100), KERNEL(0x9100));
	k = kbn_registry_resolve(FUNCTION(0x9100));
	assert_int_equal(k->image, 9);
	assert_ptr_equal(kbn_registry_resolve(FUNCTION(0x100)), k);
}

/* The function of a graph node: its module was never seen, its name tells the library. */
static void a_name_leads_to_the_only_library_that_has_it(void **state)
{
	(void)state;
	kbn_registry_library(LIBRARY(0x80), 9);
	kbn_registry_kernel(KERNEL(0x9100), LIBRARY(0x80), "asked_for");
	assert_int_equal(kbn_registry_resolve(FUNCTION(0x555))->image, 9);
}

static void a_name_that_two_libraries_have_leads_nowhere(void **state)
{
	(void)state;
	kbn_registry_library(LIBRARY(0x80), 9);
	kbn_registry_library(LIBRARY(0x81), 10);
	kbn_registry_kernel(KERNEL(0x9100), LIBRARY(0x80), "asked_for");
	kbn_registry_kernel(KERNEL(0x9200), LIBRARY(0x81), "asked_for");
	assert_int_equal(kbn_registry_resolve(FUNCTION(0x555))->image, 0);
}

static void a_module_of_a_library_has_its_image(void **state)
{
	(void)state;
	kbn_registry_library(LIBRARY(0x80), 9);
	kbn_registry_library_module(MODULE(0x71), LIBRARY(0x80));
	kbn_registry_function(FUNCTION(0x100), MODULE(0x71), "k");
	assert_int_equal(kbn_registry_resolve(FUNCTION(0x100))->image, 9);
}

static void communication_kernels_are_known(void **state)
{
	static const struct {
		const char *name;
		bool is_comm;
	} cases[] = {
		{"_Z25ncclDevKernel_AllGather", true},
		{"myAllReduceKernel", true},
		{"cross_device_reduce_1stage", true},
		{"nvshmemi_transfer", true},
		{"reduce_kernel", false},
		{"gather_kernel", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kbn_registry_function(FUNCTION(0x1000 + 16 * i), MODULE(0x70), cases[i].name);
		assert_int_equal(kbn_registry_resolve(FUNCTION(0x1000 + 16 * i))->is_comm,
				 cases[i].is_comm);
	}
}

/* --------------------------------------------------------------------------------------- the map */

static void map_forgets_and_reuses(void **state)
{
	KBN_MAP(m, 4);
	int values[64];

	(void)state;
	for (uintptr_t i = 1; i < 64; i++)
		assert_null(kbn_map_put(&m, (void *)(i * 16), &values[i]));
	for (uintptr_t i = 1; i < 64; i++)
		assert_ptr_equal(kbn_map_get(&m, (void *)(i * 16)), &values[i]);
	assert_ptr_equal(kbn_map_add(&m, (void *)16, &values[0]), &values[1]);
	assert_ptr_equal(kbn_map_take(&m, (void *)16), &values[1]);
	assert_null(kbn_map_get(&m, (void *)16));
	assert_null(kbn_map_take(&m, (void *)16));
	assert_ptr_equal(kbn_map_add(&m, (void *)16, &values[0]), &values[0]);
	assert_null(kbn_map_get(&m, NULL));
}

/* Readers see the value of the key they asked for, or none, while entries come and go. */
static struct {
	_Atomic bool stop, wrong;
} race;
KBN_MAP(raced, 2);

static void *reader(void *arg)
{
	(void)arg;
	while (!atomic_load(&race.stop))
		for (uintptr_t k = 1; k < 32; k++) {
			void *v = kbn_map_get(&raced, (void *)k);

			if (v && (uintptr_t)v != k * 100)
				atomic_store(&race.wrong, true);
		}
	return NULL;
}

static void map_is_right_under_change(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, reader, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		const uintptr_t k = 1 + (uintptr_t)(i * 7) % 31;

		kbn_map_put(&raced, (void *)k, (void *)(k * 100));
		kbn_map_take(&raced, (void *)(1 + (uintptr_t)(i * 5) % 31));
	}
	atomic_store(&race.stop, true);
	pthread_join(t, NULL);
	assert_false(atomic_load(&race.wrong));
}

/* ----------------------------------------------------------------------------------------- shapes */

static void shapes_are_told_apart(void **state)
{
	struct kbn_thread t = {.id = 3};
	struct kbn_shape_key key = {.kernel = 1, .grid = {2, 1, 1}, .block = {32, 1, 1}};
	struct kbn_shape *first = kbn_shape_of(&t, KBN_SLOT_LAUNCH, &key), *s;
	uint32_t *fields = &key.kernel;

	(void)state;
	assert_non_null(first);
	assert_int_equal(first->slot->thread, 3);
	assert_int_equal(first->slot->grid[0], 2);
	assert_int_equal(first->slot->kind, KBN_SLOT_LAUNCH);
	assert_ptr_equal(kbn_shape_of(&t, KBN_SLOT_LAUNCH, &key), first);
	/* Every field matters, each in turn; an earlier shape is still found. */
	for (size_t i = 0; i < 3; i++) {
		fields[sizeof(key) / 4 - 1 - i * 5] += 7;
		s = kbn_shape_of(&t, KBN_SLOT_LAUNCH, &key);
		assert_ptr_not_equal(s, first);
		fields[sizeof(key) / 4 - 1 - i * 5] -= 7;
		assert_ptr_equal(kbn_shape_of(&t, KBN_SLOT_LAUNCH, &key), first);
	}
	assert_ptr_not_equal(kbn_shape_of(&t, KBN_SLOT_GRAPH, &key), first);
}

/* Launches 0, 16, 256 and 4096, then never again. */
static void parameters_have_their_turn_four_times(void **state)
{
	struct kbn_shape s = {.launches = 0};
	uint64_t taken[8];
	int n = 0;

	(void)state;
	for (; s.launches < 100000; s.launches++)
		if (kbn_params_due(&s) && n < 8) {
			taken[n++] = s.launches;
			kbn_params_done(&s);
		}
	assert_int_equal(n, 4);
	assert_int_equal(taken[0], 0);
	assert_int_equal(taken[1], 16);
	assert_int_equal(taken[2], 256);
	assert_int_equal(taken[3], 4096);
}

static void past_the_cap_shapes_share_a_slot(void **state)
{
	struct kbn_thread t = {.id = 0};
	struct kbn_shape_key key = {.kernel = 1, .block = {32, 1, 1}};
	struct kbn_shape *last = NULL;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct kbn_shape *s;

		key.grid[0] = i + 1;
		s = kbn_shape_of(&t, KBN_SLOT_LAUNCH, &key);
		assert_non_null(s);
		assert_int_equal(!!(s->slot->flags & KBN_SLOT_OVERFLOW), i >= 16);
		if (i > 16)
			assert_ptr_equal(s, last);
		last = s;
	}
	assert_int_equal(last->slot->grid[0], 0);
	assert_int_equal(last->slot->kernel, 1);
}

/* Contexts without number: in the end one slot takes the launches of a kernel in all of them. */
static void past_the_reserve_no_launch_is_lost(void **state)
{
	struct kbn_thread t = {.id = 0};
	struct kbn_shape_key key = {.kernel = 1, .block = {32, 1, 1}};
	struct kbn_shape *s = NULL;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		key.context = i + 1;
		s = kbn_shape_of(&t, KBN_SLOT_LAUNCH, &key);
		assert_non_null(s);
	}
	assert_int_equal(s->slot->context, UINT32_MAX);
	assert_int_equal(s->slot->kernel, 1);
}

/* ------------------------------------------------------------------------------------- parameters */

static struct kbn_kernel *kernel_with_params(void)
{
	kbn_registry_function(FUNCTION(0x100), MODULE(0x70), "with_params");
	return kbn_registry_resolve(FUNCTION(0x100));
}

static void parameters_come_from_their_own_bytes(void **state)
{
	static const uint64_t a = 0x1122334455667788, c[3] = {1, 2, 3};
	static const uint32_t b = 0xcafe;
	struct tail_copy ta = tail_copy(&a, 8), tb = tail_copy(&b, 4), tc = tail_copy(c, 24);
	void *params[] = {ta.data, tb.data, tc.data};
	struct kbn_thread t = {0};
	const struct kbn_kernel *k = kernel_with_params();

	(void)state;
	assert_true(k->params_known);
	assert_int_equal(k->param_bytes, 40);
	assert_int_equal(kbn_params_copy(&t, k, params, NULL), 40);
	assert_memory_equal(t.params, &a, 8);
	assert_memory_equal(t.params + 8, &b, 4);
	assert_memory_equal(t.params + 16, c, 24);
	tail_free(&ta);
	tail_free(&tb);
	tail_free(&tc);
}

static void a_short_buffer_is_not_read_past(void **state)
{
	uint8_t block[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	struct tail_copy tail = tail_copy(block, sizeof(block));
	size_t bytes = sizeof(block);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, tail.data, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};
	void *unknown[] = {(void *)77, NULL, CU_LAUNCH_PARAM_END};
	void *empty[] = {CU_LAUNCH_PARAM_END};
	struct kbn_thread t = {0};
	const struct kbn_kernel *k = kernel_with_params();

	(void)state;
	assert_int_equal(kbn_params_copy(&t, k, NULL, extra), 40);
	assert_memory_equal(t.params, block, 12);
	assert_int_equal(t.params[16], 0);
	assert_int_equal(kbn_params_copy(&t, k, NULL, unknown), 0);
	assert_int_equal(kbn_params_copy(&t, k, NULL, empty), 0);
	assert_int_equal(kbn_params_copy(&t, k, empty, extra), 0); /* the driver refuses both */
	assert_int_equal(kbn_params_copy(&t, k, NULL, NULL), 0);
	tail_free(&tail);
}

/* A table whose end the driver did not name is no table. */
static void without_an_exact_table_nothing_is_read(void **state)
{
	void *params[] = {NULL};
	struct kbn_thread t = {0};

	(void)state;
	param_end = CUDA_ERROR_NOT_SUPPORTED;
	assert_false(kernel_with_params()->params_known);
	assert_int_equal(kbn_params_copy(&t, kernel_with_params(), params, NULL), 0);
}

static void scalars_leave_large_values_out(void **state)
{
	uint64_t a = 7, c[3] = {1, 2, 3};
	uint32_t b = 8;
	void *params[] = {&a, &b, c};
	struct kbn_thread t = {0};

	(void)state;
	kbn_settings.params = 1;
	assert_int_equal(kbn_params_copy(&t, kernel_with_params(), params, NULL), 40);
	assert_int_equal(t.params[0], 7);
	assert_int_equal(t.params[8], 8);
	assert_int_equal(t.params[16], 0);
	kbn_settings.params = 0;
	assert_int_equal(kbn_params_copy(&t, kernel_with_params(), params, NULL), 0);
}

/* --------------------------------------------------------------------------------------- settings */

static void rank_lists(void **state)
{
	(void)state;
	assert_true(kbn_rank_in_list("", 5));
	assert_true(kbn_rank_in_list("0,3-5", 0));
	assert_true(kbn_rank_in_list("0,3-5", 4));
	assert_true(kbn_rank_in_list("0,3-5", 5));
	assert_false(kbn_rank_in_list("0,3-5", 1));
	assert_false(kbn_rank_in_list("0,3-5", 6));
	assert_false(kbn_rank_in_list("x", 0));
}

static void output_templates(void **state)
{
	char out[64], want[64], small[8];

	(void)state;
	setenv("SLURM_JOB_ID", "77/..", 1);
	unsetenv("TORCHELASTIC_RUN_ID");
	kbn_settings.rank = 3;
	kbn_expand_out("a-%r-%j-%%-%q", out, sizeof(out));
	assert_string_equal(out, "a-3-77_..-%-%q"); /* a job id cannot leave the directory */
	setenv("TORCHELASTIC_RUN_ID", "none", 1);   /* torchrun's word for no id */
	kbn_expand_out("%j", out, sizeof(out));
	snprintf(want, sizeof(want), "%d", (int)getppid());
	assert_string_equal(out, want);
	unsetenv("SLURM_JOB_ID");
	unsetenv("TORCHELASTIC_RUN_ID");
	kbn_settings.rank = -1;
	kbn_expand_out("%p=%j", out, sizeof(out));
	snprintf(want, sizeof(want), "%d=%d", (int)getpid(), (int)getpid());
	assert_string_equal(out, want);
	kbn_expand_out("0123456789%p", small, sizeof(small));
	assert_string_equal(small, "0123456");
}

static void settings_fall_back_to_defaults(void **state)
{
	(void)state;
	setenv("KBN_QUIET", "1", 1);
	setenv("KBN_BUDGET", "0.25", 1);
	setenv("KBN_SKIP", "three", 1);
	setenv("KBN_PARAMS", "scalars", 1);
	setenv("KBN_TIMING", "sundial", 1);
	setenv("RANK", "2", 1);
	kbn_settings_read();
	assert_int_equal(kbn_settings.budget_ppm, 2500);
	assert_int_equal(kbn_settings.skip, 0);
	assert_int_equal(kbn_settings.params, 1);
	assert_int_equal(kbn_settings.timing, KBN_TIMING_EVENTS);
	assert_int_equal(kbn_settings.rank, 2);
	assert_int_equal(kbn_settings.world, -1);
	assert_false(kbn_selects);
	setenv("KBN_RANK", "0,1", 1);
	kbn_settings_read();
	assert_false(kbn_settings_wanted());
	setenv("KBN_RANK", "0-2", 1);
	kbn_settings_read();
	assert_true(kbn_settings_wanted());
	for (size_t i = 0; i < 6; i++) { /* one message, and everything is recorded */
		setenv("KBN_RANK", (const char *[]){"zero", "-1", "1-", "1,", "0-1-3", "1 2"}[i],
		       1);
		kbn_settings_read();
		assert_true(kbn_settings_wanted());
	}
	setenv("KBN", "off", 1);
	kbn_settings_read();
	assert_false(kbn_settings_wanted());
	for (size_t i = 0; i < 8; i++)
		unsetenv((const char *[]){"KBN_QUIET", "KBN_BUDGET", "KBN_SKIP", "KBN_PARAMS",
					  "KBN_TIMING", "RANK", "KBN_RANK", "KBN"}[i]);
}

static void secrets_are_taken_out(void **state)
{
	static const char before[] = "app\0--token=abc\0--lr=0.1\0--api-key\0s3cret\0HF_TOKEN=x\0"
				     "--password\0--verbose\0plain";
	static const char after[] = "app\0--token=*\0--lr=0.1\0--api-key\0*\0HF_TOKEN=*\0"
				    "--password\0--verbose\0plain";
	char text[sizeof(before)];
	size_t n;

	(void)state;
	memcpy(text, before, sizeof(before));
	n = kbn_redact(text, sizeof(before));
	assert_int_equal(n, sizeof(after));
	assert_memory_equal(text, after, sizeof(after));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_look_up_names_the_kernel),
		TEST(unknown_handles_are_asked_about_once),
		TEST(a_reused_handle_is_another_kernel),
		TEST(function_and_kernel_of_a_library_are_one),
		TEST(a_name_leads_to_the_only_library_that_has_it),
		TEST(a_name_that_two_libraries_have_leads_nowhere),
		TEST(a_module_of_a_library_has_its_image),
		TEST(communication_kernels_are_known),
		TEST(map_forgets_and_reuses),
		TEST(map_is_right_under_change),
		TEST(shapes_are_told_apart),
		TEST(parameters_have_their_turn_four_times),
		TEST(past_the_cap_shapes_share_a_slot),
		TEST(past_the_reserve_no_launch_is_lost),
		TEST(parameters_come_from_their_own_bytes),
		TEST(a_short_buffer_is_not_read_past),
		TEST(without_an_exact_table_nothing_is_read),
		TEST(scalars_leave_large_values_out),
		TEST(rank_lists),
		TEST(output_templates),
		TEST(settings_fall_back_to_defaults),
		TEST(secrets_are_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
