/* unit: shim */
/*
 * test_hook.c - the table of hooks and what is handed out by it: look-up by name, by pointer, by
 * version; substitution for cuGetProcAddress. The driver is a set of made-up addresses.
 */
#include "kbn_test.h"

#include "hook.h"
#include "resolve.h"

/* One address per row, which nobody calls. */
static char functions[512];

static void **slot(struct kbn_real *table, const struct kbn_hook *h)
{
	return (void **)((char *)table + h->slot);
}

static int setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < kbn_hook_count; i++) {
		*slot(&real, &kbn_hooks[i]) = &functions[i];
		*slot(&kbn_driver, &kbn_hooks[i]) = &functions[i];
	}
	atomic_store(&kbn_resolved, true);
	return 0;
}

static void table_is_sorted_and_sound(void **state)
{
	(void)state;
	assert_int_equal(kbn_hook_count, KBN_ROWS);
	assert_true(kbn_hook_count > 100);
	for (unsigned i = 0; i < kbn_hook_count; i++) {
		const struct kbn_hook *h = &kbn_hooks[i];

		if (i)
			assert_true(strcmp(kbn_hooks[i - 1].symbol, h->symbol) < 0);
		assert_int_equal(strncmp(h->symbol, h->base, strlen(h->base)), 0);
		assert_int_equal(strstr(h->symbol, "_ptsz") != NULL, h->abi == KBN_ABI_PTSZ);
		assert_int_equal(strstr(h->symbol, "_ptds") != NULL, h->abi == KBN_ABI_PTDS);
		assert_true(h->version >= 2000 && h->version <= 13000);
		assert_ptr_equal(kbn_hook_find(h->symbol), h);
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(kbn_hooks[k].wrapper, h->wrapper);
	}
}

static void other_names_are_not_found(void **state)
{
	static const char *const names[] = {"",
					    "cu",
					    "cuLaunchKerne",
					    "cuLaunchKernelEx_v2",
					    "cuLaunchKernelE",
					    "cudnnCreate",
					    "cublasCreate_v2",
					    "cuMemAlloc_v2",
					    "dlsym",
					    "zz",
					    "CuInit"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(kbn_hook_find(names[i]));
}

/* What the driver gives for (base, version, flags), from the version table of the headers. */
static void version_chooses_the_abi(void **state)
{
	static const struct {
		const char *base;
		int version;
		unsigned flags;
		const char *symbol;
	} cases[] = {
		{"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
		{"cuLaunchKernel", 4000, 2, "cuLaunchKernel"},
		{"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"},
		{"cuLaunchKernel", 13000, 0, "cuLaunchKernel"},
		{"cuLaunchKernel", 13000, 1, "cuLaunchKernel"},
		{"cuLaunchKernel", 13000, 2, "cuLaunchKernel_ptsz"},
		{"cuLaunchKernelEx", 11060, 2, "cuLaunchKernelEx_ptsz"},
		{"cuLaunchKernelEx", 11050, 0, NULL},
		{"cuCtxCreate", 2000, 0, "cuCtxCreate"},
		{"cuCtxCreate", 4000, 0, "cuCtxCreate_v2"},
		{"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
		{"cuCtxCreate", 13000, 2, "cuCtxCreate_v4"},
		{"cuLinkCreate", 5050, 0, "cuLinkCreate"},
		{"cuLinkCreate", 6050, 0, "cuLinkCreate_v2"},
		{"cuStreamBeginCapture", 10000, 0, "cuStreamBeginCapture"},
		{"cuStreamBeginCapture", 10010, 2, "cuStreamBeginCapture_v2_ptsz"},
		{"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
		{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
		{"cuMemcpy2D", 7000, 2, "cuMemcpy2D_v2_ptds"},
		{"cuNoSuch", 13000, 0, NULL},
		{"", 0, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct kbn_hook *h =
			kbn_hook_of_version(cases[i].base, cases[i].version, cases[i].flags);

		if (cases[i].symbol)
			assert_string_equal(h ? h->symbol : "none", cases[i].symbol);
		else
			assert_null(h);
	}
}

/* Every pointer of the driver becomes the wrapper of the same symbol, whatever was asked for. */
static void pointer_decides_before_the_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < kbn_hook_count; i++) {
		const struct kbn_hook *h = &kbn_hooks[i];
		void *want = h->group == KBN_GROUP_copy ? (void *)&functions[i] : h->wrapper;

		assert_ptr_equal(kbn_substitute(h->base, &functions[i], 13000, 0), want);
		assert_ptr_equal(kbn_substitute(h->base, &functions[i], 2000, 2), want);
	}
}

static void shared_function_goes_by_the_name(void **state)
{
	const struct kbn_hook *a = kbn_hook_find("cuCtxDestroy");
	const struct kbn_hook *b = kbn_hook_find("cuStreamDestroy");

	(void)state;
	*slot(&real, b) = kbn_hook_real(a);
	assert_ptr_equal(kbn_hook_of_pointer(kbn_hook_real(a), "cuStreamDestroy"), b);
	assert_ptr_equal(kbn_hook_of_pointer(kbn_hook_real(a), "cuCtxDestroy"), a);
}

/* A function at an unknown address is never guessed at, unless the row has no address yet. */
static void unknown_function_stays_itself(void **state)
{
	const struct kbn_hook *h = kbn_hook_find("cuLaunchKernelEx");
	char stranger;

	(void)state;
	assert_ptr_equal(kbn_substitute("cuLaunchKernelEx", &stranger, 13000, 0), &stranger);
	assert_ptr_equal(kbn_hook_real(h), &functions[h - kbn_hooks]);
	*slot(&real, h) = *slot(&kbn_driver, h) = NULL;
	assert_ptr_equal(kbn_substitute("cuLaunchKernelEx", &stranger, 13000, 0), h->wrapper);
	assert_ptr_equal(kbn_hook_real(h), &stranger);
}

static void odd_requests_are_passed_on(void **state)
{
	char p;

	(void)state;
	assert_null(kbn_substitute("cuLaunchKernel", NULL, 13000, 0));
	assert_ptr_equal(kbn_substitute("", &p, 0, 0), &p);
	assert_ptr_equal(kbn_substitute(NULL, &p, 0, 0), &p);
	assert_ptr_equal(kbn_substitute("cuMemAlloc", &p, 13000, 0), &p);
	assert_ptr_equal(kbn_substitute("cuInit", kbn_hook_find("cuInit")->wrapper, 2000, 0),
			 kbn_hook_find("cuInit")->wrapper);
}

/* The first interposer in front of the driver is followed, a second driver is not. */
static void only_the_first_stranger_is_adopted(void **state)
{
	const struct kbn_hook *h = kbn_hook_find("cuLaunchKernel");
	char interposer, second;

	(void)state;
	assert_true(kbn_hook_adopt(h, kbn_hook_real(h)));
	assert_true(kbn_hook_adopt(h, &interposer));
	assert_ptr_equal(kbn_hook_real(h), &interposer);
	assert_false(kbn_hook_adopt(h, &second));
	assert_ptr_equal(kbn_hook_real(h), &interposer);
}

/* A direct call with nothing behind it answers as the vendor's stub library does. */
static void missing_function_answers_34(void **state)
{
	const struct kbn_hook *h = kbn_hook_find("cuCtxDetach");

	(void)state;
	*slot(&real, h) = NULL;
	assert_int_equal(cuCtxDetach(NULL), CUDA_ERROR_STUB_LIBRARY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(table_is_sorted_and_sound, setup),
		cmocka_unit_test_setup(other_names_are_not_found, setup),
		cmocka_unit_test_setup(version_chooses_the_abi, setup),
		cmocka_unit_test_setup(pointer_decides_before_the_name, setup),
		cmocka_unit_test_setup(shared_function_goes_by_the_name, setup),
		cmocka_unit_test_setup(unknown_function_stays_itself, setup),
		cmocka_unit_test_setup(odd_requests_are_passed_on, setup),
		cmocka_unit_test_setup(only_the_first_stranger_is_adopted, setup),
		cmocka_unit_test_setup(missing_function_answers_34, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
