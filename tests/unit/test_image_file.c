/*
 * test_image_file.c - every kind of file that carries device code, made here from stored cubins:
 * what is found, in which order, and what is said of damage. Containers themselves: test_fatbin.
 */
#include "image_file.h"

#include <fcntl.h>

#include "cubin.h"
#define MADE_BYTES (1 << 18)
#include "made_fatbin.h"

#define CUBIN "tests/golden/cubin/uncoalesced_bad.sm_90.cubin"

struct section {
	const char *name;
	size_t at, bytes;
};

/* The section table of a host file whose sections lie in `m` already; its header is at `start`. */
static void put_sections(struct made *m, size_t start, const struct section *s, size_t n)
{
	size_t names = m->n - start, at = names, table;
	char text[256] = "";
	size_t used = 1, name_at[8];

	for (size_t i = 0; i < n; i++) {
		name_at[i] = used;
		used += (size_t)sprintf(text + used, "%s", s[i].name) + 1;
	}
	put(m, text, used);
	align(m, 8);
	table = m->n - start;
	set(m, start + 40, table, 8);
	put(m, NULL, 64);
	for (size_t i = 0; i <= n; i++) {
		bool is_names = i == n;

		put_number(m, (is_names ? 0 : name_at[i]) | (is_names ? 3ull : 1) << 32, 8);
		put_number(m, 0, 8);
		put_number(m, 0, 8);
		put_number(m, is_names ? at : s[i].at - start, 8);
		put_number(m, is_names ? used : s[i].bytes, 8);
		put(m, NULL, 24);
	}
	set(m, start + 58, 64 | (n + 2) << 16 | (n + 1) << 32, 6);
}

static void put_host_header(struct made *m)
{
	put(m, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
	put_number(m, 3 | 62 << 16, 4);
	put(m, NULL, 44);
}

static uint8_t *cubin;
static size_t cubin_bytes;

static int load(void **state)
{
	(void)state;
	cubin = load_file(CUBIN, &cubin_bytes);
	return 0;
}

static int unload(void **state)
{
	(void)state;
	free(cubin);
	return 0;
}

/* A host file with images in a data section, in .nv_fatbin (two containers) and in __nv_relfatbin. */
static void put_host(struct made *m)
{
	size_t start = m->n;
	struct section s[3] = {{".ldata", 0, 0}, {".nv_fatbin", 0, 0}, {"__nv_relfatbin", 0, 0}};

	put_host_header(m);
	put_number(m, FATBIN_MAGIC, 8); /* in the code of something that reads fat binaries */
	s[0].at = m->n;
	put_container(m, FATBIN_CUBIN, 90, 0x8000, cubin, cubin_bytes);
	s[0].bytes = m->n - s[0].at;
	s[2].at = m->n;
	put_container(m, FATBIN_CUBIN, 90, 0x100000, cubin, cubin_bytes);
	put(m, NULL, 3);
	s[2].bytes = m->n - s[2].at; /* what follows is aligned all the same */
	align(m, 8);
	put_container(m, FATBIN_PTX, 75, 0, ".version 8.0", 13);
	put(m, "12345678", 8);
	s[1].at = m->n;
	put_container(m, FATBIN_PTX, 80, 0, ".version 8.0", 13);
	put(m, NULL, 16);
	put_container(m, FATBIN_LTO, 100, 0x200000, "opaque", 6);
	s[1].bytes = m->n - s[1].at;
	put_sections(m, start, s, 3);
}

static const char host_images[] = "2:90 2:90a 1:75 1:80 8:100f";

/* Images as "kind:target", errors as the number of their code, in a line. */
static void list(struct image_file *f, char text[512], int64_t *offset)
{
	struct image image;
	struct err e = {0};
	size_t n = 0, index = 0;
	int rc;

	*text = '\0';
	*offset = -1;
	while ((rc = image_file_next(f, &image, &e))) {
		struct buf bytes;

		assert_in_range(n, 0, 400);
		n += (size_t)sprintf(text + n, "%s", n ? " " : "");
		if (rc < 0) {
			n += (size_t)sprintf(text + n, "!%d", e.code);
			*offset = e.offset;
			assert_non_null(strstr(e.text, f->path));
			continue;
		}
		assert_int_equal(image.index, index++);
		n += (size_t)sprintf(text + n, "%s%s%u:%u%s", image.member,
				     *image.member ? "=" : "", image.kind, image.sm,
				     image.suffix ? (char[]){image.suffix, 0} : "");
		assert_true(image.offset < f->file.bytes);
		assert_int_equal(image_bytes(f, &image, &bytes, &e), 0);
		assert_int_equal(bytes.origin, 0);
		if (image.kind == FATBIN_CUBIN)
			assert_memory_equal(bytes.data, cubin, cubin_bytes);
		else if (image.kind == FATBIN_PTX)
			assert_string_equal((const char *)bytes.data, ".version 8.0");
		else
			assert_memory_equal(bytes.data, "opaque", 6);
	}
}

/* The list of images of these bytes; the file must be of a known kind. */
static void check_list(const struct made *m, const char *expected)
{
	struct tail_copy t = tail_copy(m->bytes, m->n);
	struct image_file f;
	struct err e = {0};
	char text[512];
	int64_t offset;

	if (image_file_of(&f, buf_of(t.data, m->n), "given", &e) < 0)
		fail_msg("%s", e.text);
	list(&f, text, &offset);
	assert_string_equal(text, expected);
	image_file_close(&f);
	tail_free(&t);
}

static void test_kinds(void **state)
{
	struct made m = {0};

	(void)state;
	put(&m, cubin, cubin_bytes);
	check_list(&m, "2:90");
	m.n = 0;
	put_container(&m, FATBIN_CUBIN, 90, 0, cubin, cubin_bytes);
	put(&m, NULL, 8);
	put_container(&m, FATBIN_PTX, 120, 0x200000, ".version 8.0", 13);
	check_list(&m, "2:90 1:120f");
	m.n = 0;
	put_number(&m, FATBIN_WRAPPER_MAGIC | 1ull << 32, 8);
	put_number(&m, 0x7f0012345678, 8);
	put_number(&m, 0, 8);
	put_container(&m, FATBIN_PTX, 80, 0, ".version 8.0", 13);
	check_list(&m, "1:80");
	m.n = 0;
	put_host(&m);
	check_list(&m, host_images);
	m.n = 0;
	put_host_header(&m); /* no code, no sections */
	check_list(&m, "");
}

/*
 * Cubins that stand alone in a host file, as the profilers' libraries have them: before, between and
 * behind containers, with other matter right behind; but not within a container a second time.
 */
static void test_alone(void **state)
{
	struct made m = {0};
	struct image_file f;
	struct image image;
	struct err e = {0};
	size_t at[3];

	(void)state;
	put_host_header(&m);
	at[0] = m.n;
	put(&m, cubin, cubin_bytes);
	align(&m, 8);
	put_container(&m, FATBIN_CUBIN, 90, 0, cubin, cubin_bytes);
	put(&m, "no code.", 8);
	at[1] = m.n;
	put(&m, cubin, cubin_bytes);
	put(&m, "constant", 8);
	align(&m, 8);
	put_container(&m, FATBIN_PTX, 80, 0, ".version 8.0", 13);
	at[2] = m.n;
	put(&m, cubin, cubin_bytes);
	check_list(&m, "2:90 2:90 2:90 1:80 2:90");
	assert_int_equal(image_file_of(&f, buf_of(m.bytes, m.n), "given", &e), 0);
	for (size_t i = 0; i < 5; i++) {
		static const int alone[] = {0, -1, 1, -1, 2};

		assert_int_equal(image_file_next(&f, &image, &e), 1);
		if (alone[i] < 0)
			continue;
		assert_int_equal(image.offset, at[alone[i]]);
		assert_int_equal(image.bytes, cubin_bytes);
	}
	image_file_close(&f);

	/* What only begins like one is passed over: another machine, no sections, a table outside. */
	set(&m, at[0] + 18, 62, 2);
	check_list(&m, "2:90 2:90 1:80 2:90");
	set(&m, at[1] + 60, 0, 2);
	set(&m, at[1] + 40, 0, 8);
	check_list(&m, "2:90 1:80 2:90");
	set(&m, at[2] + 40, m.n, 8);
	check_list(&m, "2:90 1:80");
}

/* The targets that only the notes of a cubin tell apart. */
static void test_targets(void **state)
{
	static const char *const names[] = {"90a", "100f", "120", "75"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char path[96], target[16];
		struct image_file f;
		struct image image;
		struct err e = {0};

		snprintf(path, sizeof(path), "tests/golden/lines/lines.sm_%s.cubin", names[i]);
		assert_int_equal(image_file_open(&f, path, &e), 0);
		assert_int_equal(image_file_next(&f, &image, &e), 1);
		snprintf(target, sizeof(target), "%u%s", image.sm,
			 image.suffix ? (char[]){image.suffix, 0} : "");
		assert_string_equal(target, names[i]);
		assert_int_equal(image.offset, 0);
		assert_int_equal(image_file_next(&f, &image, &e), 0);
		image_file_close(&f);
	}
}

static size_t put_member(struct made *m, const char *name, size_t bytes)
{
	char header[64];

	if (m->n % 2)
		put(m, "\n", 1);
	snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644,
		 bytes);
	put(m, header, 60);
	return m->n;
}

/* Members lie at any even offset, so that what is inside is not aligned in the file. */
static void test_library(void **state)
{
	struct made m = {0}, host = {0};
	struct image_file f;
	struct err e = {0};
	char text[512];
	int64_t offset;
	size_t second;

	(void)state;
	put_host(&host);
	put(&m, "!<arch>\n", 8);
	put_member(&m, "/", 10);
	put(&m, "0123456789", 10);
	put_member(&m, "//", 30);
	put(&m, "a_name_of_some_length_more.o/\n", 30);
	put_member(&m, "/0", host.n);
	put(&m, host.bytes, host.n);
	put_member(&m, "text.txt/", 5);
	put(&m, "hello", 5);
	second = put_member(&m, "#1/6", 6 + cubin_bytes);
	put(&m, "bsd.o\0", 6);
	put(&m, cubin, cubin_bytes);
	put_member(&m, "host.o/", host.n);
	put(&m, host.bytes, host.n);
	check_list(&m, "a_name_of_some_length_more.o=2:90 a_name_of_some_length_more.o=2:90a "
		       "a_name_of_some_length_more.o=1:75 a_name_of_some_length_more.o=1:80 "
		       "a_name_of_some_length_more.o=8:100f "
		       "bsd.o=2:90 host.o=2:90 host.o=2:90a host.o=1:75 host.o=1:80 host.o=8:100f");

	/* a header that is none: what comes before it is given */
	m.bytes[second - 1] ^= 1;
	assert_int_equal(image_file_of(&f, buf_of(m.bytes, m.n), "given", &e), 0);
	list(&f, text, &offset);
	assert_string_equal(text + 103, "a_name_of_some_length_more.o=1:80 "
					"a_name_of_some_length_more.o=8:100f !11");
	assert_int_equal(offset, second - 60);
	image_file_close(&f);
	m.bytes[second - 1] ^= 1;

	/* a member that ends too late; damage within one names it */
	assert_int_equal(image_file_of(&f, buf_of(m.bytes, m.n - 1), "given", &e), 0);
	list(&f, text, &offset);
	assert_non_null(strstr(text, "bsd.o=2:90 !10"));
	assert_null(strstr(text, "host.o"));
	image_file_close(&f);
	assert_int_equal(image_file_of(&f, buf_of("!<thin>\n", 8), "given", &e), -1);
	assert_int_equal(e.code, ERR_FORMAT);
	assert_int_equal(image_file_of(&f, buf_of("!<arch>\n", 8), "given", &e), 0);
	list(&f, text, &offset);
	assert_string_equal(text, "");
	image_file_close(&f);
}

/* Cut anywhere: each kind of file gives an error with an offset in it, and what is whole before. */
static void test_cut(void **state)
{
	struct made m = {0};
	size_t images = 0;

	(void)state;
	put_host(&m);
	for (size_t n = 0; n < m.n; n++) {
		struct tail_copy t = tail_copy(m.bytes, n);
		struct image_file f;
		struct err e = {0};
		char text[512];
		int64_t offset;
		size_t found = 0;

		if (image_file_of(&f, buf_of(t.data, n), "given", &e) < 0) {
			assert_true(n < 4);
			assert_int_equal(e.code, ERR_FORMAT);
			tail_free(&t);
			continue;
		}
		list(&f, text, &offset);
		assert_non_null(strstr(text, "!10"));
		assert_in_range(offset, 0, n);
		for (const char *p = text; (p = strchr(p, ':')); p++)
			found++;
		assert_true(found >= images); /* the longer, the more */
		images = found;
		image_file_close(&f);
		tail_free(&t);
	}
	assert_int_equal(images, 5);
}

static void test_cut_cubin(void **state)
{
	uint64_t table;
	uint16_t sections;
	size_t needed;

	(void)state;
	memcpy(&table, cubin + 40, sizeof(table));
	memcpy(&sections, cubin + 60, sizeof(sections));
	needed = (size_t)table + sections * 64u; /* only program headers follow */
	for (size_t n = 0; n < needed; n++) {
		struct tail_copy t = tail_copy(cubin, n);
		struct image_file f;
		struct image image;
		struct err e = {0};

		if (image_file_of(&f, buf_of(t.data, n), "given", &e) == 0) {
			assert_int_equal(image_file_next(&f, &image, &e), -1);
			assert_int_equal(e.code, ERR_TRUNCATED);
			assert_int_equal(image_file_next(&f, &image, &e), 0);
			image_file_close(&f);
		} else {
			assert_true(n < 4);
		}
		assert_in_range(e.offset, 0, n < 64 ? n : needed);
		assert_memory_equal(e.text, "given: ", 7);
		tail_free(&t);
	}
}

/* Each fault costs its container or its section; everything else is found. */
static void test_damage(void **state)
{
	static const struct {
		const char *what;
		int section; /* its header is changed, else the container in it: -1 = the third */
		size_t at;
		uint64_t value;
		size_t bytes;
		const char *images;
	} cases[] = {
		{"version of a container", -1, 4, 9, 2, "2:90 2:90a 1:75 !12 8:100f"},
		{"magic of a container", -1, 0, 0, 4, "2:90 2:90a 1:75 8:100f"},
		{"section past the end", 1, 32, 1 << 30, 8, "!10 2:90 2:90a 1:75 1:80 8:100f"},
		{"section over a container", 1, 24, 72, 8, "!10 2:90a 1:75 1:80 8:100f"},
		{"name past the end", 1, 0, 9999, 4, "!11 2:90 2:90a 1:75 1:80 8:100f"},
	};
	struct made m = {0};
	uint64_t table;

	(void)state;
	put_host(&m);
	memcpy(&table, m.bytes + 40, 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made damaged = m;
		size_t at = table + 64 * 2;

		if (cases[i].section < 0) {
			uint64_t section;

			memcpy(&section, m.bytes + at + 24, 8);
			at = section;
		}
		set(&damaged, at + cases[i].at, cases[i].value, cases[i].bytes);
		check_list(&damaged, cases[i].images);
	}
}

static void test_refused(void **state)
{
	struct image_file f = {.images = 4711};
	struct err e = {0};
	char dir[256], path[300];

	(void)state;
	assert_int_equal(image_file_of(&f, buf_of("plain text, long enough", 23), "given", &e), -1);
	assert_int_equal(e.code, ERR_FORMAT);
	assert_int_equal(image_file_of(&f, buf_of("", 0), "given", &e), -1);
	assert_int_equal(image_file_open(&f, "/nowhere/at/all", &e), -1);
	assert_int_equal(e.code, ERR_IO);
	assert_non_null(strstr(e.text, "/nowhere/at/all"));
	temp_dir(dir);
	assert_int_equal(image_file_open(&f, dir, &e), -1);
	assert_int_equal(e.code, ERR_FORMAT);
	snprintf(path, sizeof(path), "%s/empty", dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(image_file_open(&f, path, &e), -1);
	assert_int_equal(e.code, ERR_FORMAT);
	assert_non_null(strstr(e.text, "/empty"));
	assert_int_equal(f.images, 4711);
	remove_dir(dir);
}

/* What is no member like the others: an error that names it, and the members around it are given. */
static void test_strange_members(void **state)
{
	static const char *const inside[] = {"!<arch>\n", "!<thin>\n"};
	const char *cut = "given(lib/cut_in_its_data_too.o): member of 999999 bytes";
	char text[512];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct made m = {0};
		struct image_file f;
		struct image image;
		struct err e = {0};
		size_t nested, last;

		put(&m, "!<arch>\n", 8);
		put_member(&m, "//", 44);
		put(&m, "lib/cut_in_its_data_too.o/\nother/nested.a/\n\n", 44);
		put_member(&m, "a.o/", cubin_bytes);
		put(&m, cubin, cubin_bytes);
		nested = put_member(&m, "/27", 8 + 60 + cubin_bytes) - 60;
		put(&m, inside[i], 8);
		put_member(&m, "b.o/", cubin_bytes);
		put(&m, cubin, cubin_bytes);
		put_member(&m, "#1/8", 8 + cubin_bytes);
		put(&m, "dir/c.o\0", 8);
		put(&m, cubin, cubin_bytes);
		last = put_member(&m, "/0", 999999) - 60;
		put(&m, cubin, cubin_bytes);
		assert_int_equal(image_file_of(&f, buf_of(m.bytes, m.n), "given", &e), 0);
		assert_int_equal(image_file_next(&f, &image, &e), 1);
		assert_string_equal(image.member, "a.o");
		assert_int_equal(image_file_next(&f, &image, &e), -1);
		assert_int_equal(e.code, ERR_VERSION);
		assert_int_equal(e.offset, nested);
		snprintf(text, sizeof(text), "%.27s", e.text);
		assert_string_equal(text, "given(other/nested.a): a li");
		assert_int_equal(image_file_next(&f, &image, &e), 1);
		assert_string_equal(image.member, "dir/c.o");
		assert_int_equal(image_file_next(&f, &image, &e), -1);
		assert_int_equal(e.code, ERR_TRUNCATED);
		assert_int_equal(e.offset, last);
		snprintf(text, sizeof(text), "%.*s", (int)strlen(cut), e.text);
		assert_string_equal(text, cut);
		assert_int_equal(image_file_next(&f, &image, &e), 0);
		image_file_close(&f);
	}
}

/* An error found inside an image names file, member, image and place. */
static void test_fail(void **state)
{
	struct made m = {0};
	struct image_file f;
	struct image image;
	struct buf bytes;
	struct cubin c;
	struct err e = {0};

	(void)state;
	put(&m, "!<arch>\n", 8);
	put_member(&m, "one.fatbin/", 80 + (cubin_bytes + 7) / 8 * 8);
	put_container(&m, FATBIN_CUBIN, 90, 0, cubin, cubin_bytes);
	set(&m, 8 + 60 + 80 + 18, 62, 2); /* machine of the cubin */
	assert_int_equal(image_file_of(&f, buf_of(m.bytes, m.n), "given.a", &e), 0);
	assert_int_equal(image_file_next(&f, &image, &e), 1);
	assert_int_equal(image.offset, 8 + 60 + 16);
	assert_int_equal(image_bytes(&f, &image, &bytes, &e), 0);
	assert_int_equal(cubin_open(&c, bytes, &e), -1);
	assert_int_equal(image_fail(&f, &image, &e), -1);
	assert_memory_equal(e.text, "given.a(one.fatbin): image 0 at 84: ", 36);
	assert_int_equal(e.code, ERR_FORMAT);
	assert_int_equal(e.offset, 18);
	image_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),   cmocka_unit_test(test_alone),
		cmocka_unit_test(test_targets), cmocka_unit_test(test_library),
		cmocka_unit_test(test_cut),     cmocka_unit_test(test_cut_cubin),
		cmocka_unit_test(test_damage),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fail),    cmocka_unit_test(test_strange_members),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
