/*
 * kbn_test.h - what every unit test includes, and the only includer of cmocka.h: the headers that
 * cmocka needs, in its order, and three helpers. Everything here is for tests only.
 */
#ifndef KBN_TEST_H
#define KBN_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The bytes of a guarded copy, and the mapping behind them. */
struct tail_copy {
	void *data;
	void *map;
	size_t map_bytes;
};

/*
 * A copy of `bytes` bytes that ends right before an unreadable page, so that one byte read too far
 * is a crash even without a sanitizer. Free with tail_free().
 */
static inline struct tail_copy tail_copy(const void *data, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t body = (bytes + page - 1) / page * page;
	struct tail_copy t = {.map_bytes = body + page};

	t.map = mmap(NULL, t.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(t.map, MAP_FAILED);
	assert_int_equal(mprotect((char *)t.map + body, page, PROT_NONE), 0);
	t.data = (char *)t.map + body - bytes;
	if (bytes)
		memcpy(t.data, data, bytes);
	return t;
}

static inline void tail_free(struct tail_copy *t)
{
	munmap(t->map, t->map_bytes);
	t->data = t->map = NULL;
}

/* A whole file, NUL-terminated behind its *bytes bytes; fails the test when it cannot be read. */
static inline void *load_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	size_t used = 0, room = 1 << 16, got;
	char *data = malloc(room);

	if (!f)
		fail_msg("cannot open %s", path);
	while ((got = fread(data + used, 1, room - used - 1, f)) > 0) {
		used += got;
		if (used + 1 == room)
			data = realloc(data, room *= 2);
	}
	fclose(f);
	data[used] = '\0';
	if (bytes)
		*bytes = used;
	return data;
}

/* A new empty directory under $TMPDIR; its path in `path`. Remove with remove_dir(). */
static inline char *temp_dir(char path[256])
{
	const char *base = getenv("TMPDIR");

	snprintf(path, 256, "%s/kbn-test-XXXXXX", base && *base ? base : "/tmp");
	assert_non_null(mkdtemp(path));
	return path;
}

/* Remove a directory made by temp_dir() with everything below it. */
static inline void remove_dir(const char *path)
{
	char command[320];

	assert_non_null(strstr(path, "/kbn-test-"));
	snprintf(command, sizeof(command), "rm -rf -- '%s'", path);
	assert_int_equal(system(command), 0);
}

#endif
