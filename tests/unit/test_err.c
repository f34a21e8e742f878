/*
 * test_err.c - the error value: always terminated, one line, and fine without a place to put it.
 */
#include "err.h"

#include "kbn_test.h"

static void test_fill(void **state)
{
	struct err e = {0};
	char path[400];

	(void)state;
	assert_int_equal(err_set(&e, ERR_CORRUPT, 77, "record of kind %u", 5u), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_int_equal(e.offset, 77);
	assert_string_equal(e.text, "record of kind 5");
	assert_int_equal(err_set(NULL, ERR_IO, -1, "nobody asks"), -1);
	/* a name from the input must not break the line, nor the terminal */
	err_set(&e, ERR_CORRUPT, -1, "%s", "a\nb\033[31m");
	assert_string_equal(e.text, "a?b?[31m");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	err_set(&e, ERR_IO, -1, "%s", path);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	err_set(&e, ERR_IO, -1, "%s: the reason", err_path(path));
	assert_non_null(strstr(e.text, ": the reason"));
	assert_string_equal(err_path("/short"), "/short");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
