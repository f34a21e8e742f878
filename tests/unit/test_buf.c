/*
 * test_buf.c - the bounds-checked reader: values, ends, overflowing sums, strings, files.
 */
#include "buf.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "kbn_test.h"

static void test_numbers(void **state)
{
	const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
				 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f};
	struct tail_copy t = tail_copy(bytes, sizeof(bytes));
	struct buf b = buf_of(t.data, sizeof(bytes));

	(void)state;
	assert_int_equal(buf_u8(&b), 0x01);
	assert_int_equal(buf_u16(&b), 0x0302);
	assert_int_equal(buf_u32(&b), 0x07060504);
	assert_int_equal(buf_u64(&b), 0x0f0e0d0c0b0a0908);
	assert_true(buf_ok(&b));
	assert_int_equal(buf_left(&b), 0);
	/* a read past the end is zero, and remembered */
	assert_int_equal(buf_u8(&b), 0);
	assert_false(buf_ok(&b));
	buf_seek(&b, 0);
	assert_int_equal(buf_u8(&b), 0x01);
	assert_false(buf_ok(&b));

	/* a number that lies half within reads as zero, not as a part of it */
	b = buf_of(t.data, sizeof(bytes));
	buf_seek(&b, 13);
	assert_int_equal(buf_u32(&b), 0);
	assert_false(buf_ok(&b));

	/* of an empty view nothing can be taken, which is no short read, with or without an address */
	b = (struct buf){0};
	assert_non_null(buf_take(&b, 0));
	assert_true(buf_ok(&b));
	assert_null(buf_take(&b, 1));
	assert_false(buf_ok(&b));
	tail_free(&t);
}

static void test_parts(void **state)
{
	struct tail_copy t = tail_copy("0123456789", 10);
	struct buf b = buf_of(t.data, 10), part, inner, kept = {.bytes = 42};

	(void)state;
	assert_true(buf_part(&b, 2, 5, &part));
	assert_int_equal(part.bytes, 5);
	assert_int_equal(part.origin, 2);
	assert_memory_equal(part.data, "23456", 5);
	assert_true(buf_part(&part, 1, 2, &inner));
	assert_int_equal(inner.origin, 3);
	assert_int_equal(buf_where(&inner), 3);
	assert_true(buf_part(&b, 10, 0, &part));
	part = kept;
	assert_false(buf_part(&b, 11, 0, &part));
	assert_false(buf_part(&b, 9, 2, &part));
	/* sums that wrap around must not pass */
	assert_false(buf_part(&b, 2, UINT64_MAX, &part));
	assert_false(buf_part(&b, UINT64_MAX, 2, &part));
	assert_false(buf_part(&b, UINT64_MAX - 1, UINT64_MAX - 1, &part));
	assert_int_equal(part.bytes, 42);
	assert_null(buf_take(&b, UINT64_MAX));
	assert_false(buf_ok(&b));
	buf_seek(&b, UINT64_MAX);
	assert_int_equal(b.at, 10);
	tail_free(&t);
}

static void test_copy(void **state)
{
	struct tail_copy t = tail_copy("abcdef", 6);
	struct buf b = buf_of(t.data, 6);
	char out[4] = "....";

	(void)state;
	buf_copy(&b, out, 4);
	assert_memory_equal(out, "abcd", 4);
	buf_copy(&b, out, 4);
	assert_memory_equal(out, "\0\0\0\0", 4);
	assert_false(buf_ok(&b));
	tail_free(&t);
}

static void test_strings(void **state)
{
	struct tail_copy t = tail_copy("one\0two", 7);
	struct buf b = buf_of(t.data, 7);

	(void)state;
	assert_string_equal(buf_string(&b, 0), "one");
	assert_string_equal(buf_string(&b, 3), "");
	assert_null(buf_string(&b, 4)); /* has no end within */
	assert_null(buf_string(&b, 7));
	assert_null(buf_string(&b, UINT64_MAX));
	tail_free(&t);
}

static void test_files(void **state)
{
	struct err e = {0};
	char dir[256], path[300];
	uint8_t *data = NULL;
	size_t bytes = 0;
	FILE *f;

	(void)state;
	temp_dir(dir);
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(buf_load(path, 100, &data, &bytes, &e), -1);
	assert_int_equal(e.code, ERR_NOT_FOUND);
	f = fopen(path, "wb");
	assert_int_equal(fwrite("12345", 1, 5, f), 5);
	fclose(f);
	assert_int_equal(buf_load(path, 4, &data, &bytes, &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);
	assert_null(data);
	assert_int_equal(buf_load(path, 5, &data, &bytes, &e), 0);
	assert_int_equal(bytes, 5);
	assert_memory_equal(data, "12345", 5);
	free(data);
	assert_int_equal(buf_load(dir, 100, &data, &bytes, &e), -1);
	assert_int_equal(e.code, ERR_FORMAT);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(buf_load(path, 100, &data, &bytes, &e),
			 -1); /* and does not wait for a writer */
	assert_int_equal(e.code, ERR_FORMAT);
	remove_dir(dir);
}

static void test_leb(void **state)
{
	static const struct {
		const char *bytes;
		size_t n, used;
		uint64_t u;
		int64_t s;
	} cases[] = {
		{"\0", 1, 1, 0, 0},
		{"\x3f", 1, 1, 63, 63},
		{"\x7f", 1, 1, 127, -1},
		{"\x80\x7f", 2, 2, 127 << 7, -128},
		{"\xe5\x8e\x26", 3, 3, 624485, 624485},
		{"\xc0\xbb\x78", 3, 3, 1973696, -123456},
		{"\x81\x80\x80\x80\x00\xff", 6, 5, 1, 1},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, 10, UINT64_MAX, -1},
		{"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 12, 12, 1,
		 1}, /* more than 64 bits */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tail_copy t = tail_copy(cases[i].bytes, cases[i].n);
		struct buf u = buf_of(t.data, cases[i].n), s = u, cut;

		assert_true(buf_uleb(&u) == cases[i].u);
		assert_true(buf_sleb(&s) == cases[i].s);
		assert_true(buf_ok(&u) && buf_ok(&s));
		assert_int_equal(u.at, cases[i].used);
		assert_int_equal(s.at, cases[i].used);
		cut = buf_of(t.data, cases[i].used - 1);
		buf_uleb(&cut);
		assert_false(buf_ok(&cut));
		tail_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leb),     cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_parts),   cmocka_unit_test(test_copy),
		cmocka_unit_test(test_strings), cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
