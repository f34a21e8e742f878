/*
 * test_arena.c - the containers: region memory, growable arrays, byte-string keys.
 */
#include "arena.h"

#include "kbn_test.h"
#include "keymap.h"
#include "vec.h"

static void test_alloc(void **state)
{
	struct arena *a = arena_new();
	uint8_t *all[2000];
	size_t total = 0;

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		size_t bytes = i % 97 == 0 ? 70000 : i; /* small ones between blocks of their own */

		all[i] = arena_alloc(a, bytes);
		assert_non_null(all[i]);
		assert_int_equal((uintptr_t)all[i] % 16, 0);
		for (size_t k = 0; k < bytes; k++)
			assert_int_equal(all[i][k], 0);
		memset(all[i], (int)i | 1, bytes);
		total += bytes;
	}
	for (size_t i = 0; i < 2000; i++) {
		if (i)
			assert_int_equal(all[i][i % 97 == 0 ? 69999 : i - 1], (uint8_t)(i | 1));
	}
	assert_true(arena_bytes(a) >= total);
	assert_non_null(arena_alloc(a, 0));
	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_alloc(a, SIZE_MAX - 100));
	assert_null(arena_array(a, SIZE_MAX / 4, 8));
	arena_free(a);
	arena_free(NULL);
}

static void test_strings(void **state)
{
	struct arena *a = arena_new();
	struct tail_copy t = tail_copy("padded", 6);

	(void)state;
	assert_string_equal(arena_string(a, t.data, 6), "padded"); /* no NUL within */
	assert_string_equal(arena_string(a, "whole", SIZE_MAX), "whole");
	assert_string_equal(arena_string(a, "whole", 3), "who");
	assert_memory_equal(arena_copy(a, t.data, 6), "padded", 6);
	tail_free(&t);
	arena_free(a);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void test_vec(void **state)
{
	VEC(int) v = {0};

	(void)state;
	vec_sort(&v, by_value); /* empty: no storage at all */
	for (int i = 0; i < 1000; i++) {
		int *p = vec_add(&v);

		assert_int_equal(*p, 0);
		*p = 999 - i;
	}
	assert_int_equal(v.n, 1000);
	vec_sort(&v, by_value);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.at[i], i);
	vec_fini(&v);
	assert_int_equal(v.n, 0);
	assert_null(v.at);

	size_t capacity = SIZE_MAX / 4;

	assert_null(vec_grow(NULL, SIZE_MAX / 4, &capacity, 8));
	assert_int_equal(capacity, SIZE_MAX / 4);
}

static void test_keymap(void **state)
{
	struct arena *a = arena_new();
	struct keymap m = {0};
	char key[16];

	(void)state;
	assert_int_equal(keymap_get(&m, "x", 1), KEYMAP_NONE);
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t *value = keymap_put(&m, a, key, (uint32_t)sprintf(key, "key %u", i));

		assert_int_equal(*value, KEYMAP_NONE);
		*value = i;
	}
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t n = (uint32_t)sprintf(key, "key %u", i);

		assert_int_equal(keymap_get(&m, key, n), i);
		assert_int_equal(*keymap_put(&m, a, key, n), i);
		assert_int_equal(keymap_get(&m, key, n - 1), i >= 10 ? i / 10 : KEYMAP_NONE);
	}
	assert_int_equal(m.n, 5000);
	/* the empty key is a key */
	*keymap_put(&m, a, key, 0) = 7;
	assert_int_equal(keymap_get(&m, "", 0), 7);
	keymap_fini(&m);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_keymap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
