/*
 * test_code_pick.c - the code that a device runs of a file with several, by the rule of the driver: newest
 * when nobody chose, highest minor below, specific before plain, equal code once. And what is damaged.
 */
#include "code_pick.h"

#include "arena.h"
#define MADE_BYTES (1 << 20)
#include "made_fatbin.h"

#define ARCH_SPECIFIC   0x100000
#define FAMILY_SPECIFIC 0x200000

static struct made made;
static char path[64];

static void add(uint32_t sm, uint64_t flags, const char *file)
{
	char name[128];
	uint8_t *data;
	size_t n;

	snprintf(name, sizeof(name), "tests/golden/%s.cubin", file);
	data = load_file(name, &n);
	put_container(&made, FATBIN_CUBIN, sm, flags, data, n);
	free(data);
}

static void store(size_t bytes)
{
	int fd;

	strcpy(path, "/tmp/kbn-pick-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, made.bytes, bytes), (ssize_t)bytes);
	close(fd);
}

static int begin(void **state)
{
	(void)state;
	made.n = 0;
	add(80, 0, "cubin/gemm_bad.sm_80");
	add(90, 0x8000, "cubin/gemm_bad.sm_90");
	add(86, 0, "cubin/gemm_bad.sm_86");
	add(90, 0, "cubin/gemm_bad.sm_90"); /* once more, as of another source file */
	add(80, 0, "cubin/spill_bad.sm_80");
	put_container(&made, FATBIN_PTX, 75, 0, ".version 8.0", 13);
	store(made.n);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void scan(struct code_pick *p, uint32_t device, uint32_t arch, char suffix,
		 const char *pattern)
{
	struct err e = {.offset = -1};

	*p = (struct code_pick){.path = path,
				.device = device,
				.arch = arch,
				.suffix = suffix,
				.arena = arena_new(),
				.filter = pattern ? names_new(pattern, &e) : NULL};
	if (code_pick_scan(p, &e) != 0)
		fail_msg("%s", e.text);
}

static void done(struct code_pick *p)
{
	names_free(p->filter);
	code_pick_close(p);
	arena_free(p->arena);
}

/* How many wanted kernels, and for which architecture the first of them is. */
static void expect(uint32_t device, uint32_t arch, const char *pattern, size_t wanted, uint32_t sm)
{
	struct code_pick p;
	struct err e = {.offset = -1};

	scan(&p, device, arch, '\0', pattern);
	assert_int_equal(p.wanted, wanted);
	assert_int_equal(code_pick_load(&p, &e), 0);
	for (size_t i = 0; i < p.kernels.n; i++) {
		const struct code_pick_kernel *k = &p.kernels.at[i];

		if (!k->is_wanted)
			continue;
		assert_int_equal(k->sm, sm);
		assert_string_equal(k->function->name, k->name);
		assert_memory_equal(k->bytes,
				    "\x7f"
				    "ELF",
				    4);
	}
	done(&p);
}

static void what_a_device_runs(void **state)
{
	struct code_pick p;

	(void)state;
	expect(90, 0, "gemm", 1, 90);
	expect(89, 0, "gemm", 1, 86);
	expect(87, 0, "gemm", 1, 86);
	expect(86, 0, "gemm", 1, 86);
	expect(80, 0, "gemm", 1, 80);
	expect(86, 0, "spill", 1, 80);
	expect(86, 80, "gemm", 1, 80); /* the code of sm_80 on sm_86 */
	expect(0, 87, "gemm", 1, 86);
	expect(90, 0, "spill", 0, 0);
	scan(&p, 75, 0, '\0', NULL);
	assert_int_equal(p.kernels.n, 0);
	assert_true(p.has_ptx);
	assert_int_equal(p.any_sm, 90);
	done(&p);
}

static void the_newest(void **state)
{
	struct code_pick p;

	(void)state;
	scan(&p, 0, 0, '\0', "gemm");
	assert_int_equal(p.sm, 90);
	assert_int_equal(p.wanted, 1);
	assert_int_equal(p.others_n, 2);
	assert_int_equal(p.others[0], 80);
	assert_int_equal(p.others[1], 86);
	done(&p);
	/* the newest that the wanted kernel has */
	scan(&p, 0, 0, '\0', "spill");
	assert_int_equal(p.sm, 80);
	assert_int_equal(p.wanted, 1);
	assert_int_equal(p.others_n, 0);
	assert_int_equal(p.kernels.n, 2);
	done(&p);
}

static void specific(void **state)
{
	struct code_pick p;
	size_t plain;

	(void)state;
	unlink(path);
	made.n = 0;
	add(100, FAMILY_SPECIFIC, "lines/lines.sm_100f");
	add(90, ARCH_SPECIFIC, "lines/lines.sm_90a");
	store(made.n);
	scan(&p, 103, 0, '\0', NULL);
	assert_true(p.wanted > 0);
	assert_int_equal(p.kernels.at[0].suffix, 'f');
	plain = p.wanted;
	done(&p);
	scan(&p, 120, 0, '\0', NULL);
	assert_int_equal(p.wanted, 0);
	done(&p);
	scan(&p, 0, 90, 'a', NULL);
	assert_int_equal(p.wanted, plain);
	assert_int_equal(p.kernels.at[0].suffix, 'a');
	done(&p);
	scan(&p, 0, 90, 'f', NULL);
	assert_int_equal(p.wanted, 0);
	done(&p);
}

/* One name, two codes: both; and what makes no difference but is set up otherwise counts as one. */
static void each_code_of_a_name(void **state)
{
	struct code_pick p;
	struct err e = {.offset = -1};
	size_t n;
	uint8_t *data = load_file("tests/golden/cubin/gemm_bad.sm_90.cubin", &n);
	struct cubin c;

	(void)state;
	scan(&p, 90, 0, '\0', "gemm_bad");
	assert_int_equal(p.wanted, 1);
	assert_int_equal(p.again, 1); /* begin() put it there twice */
	done(&p);
	assert_int_equal(cubin_open(&c, buf_of(data, n), &e), 0);
	data[c.functions[0].code.origin + 4] ^= 1; /* an immediate or a register: other code */
	cubin_close(&c);
	put_container(&made, FATBIN_CUBIN, 90, 0, data, n);
	free(data);
	unlink(path);
	store(made.n);
	scan(&p, 90, 0, '\0', "gemm_bad");
	assert_int_equal(p.wanted, 2);
	assert_int_equal(p.again, 1);
	assert_int_equal(code_pick_load(&p, &e), 0);
	for (size_t i = 0; i + 1 < p.kernels.n; i++)
		if (p.kernels.at[i].is_wanted && p.kernels.at[i + 1].is_wanted)
			assert_ptr_not_equal(p.kernels.at[i].bytes, p.kernels.at[i + 1].bytes);
	done(&p);
}

static void damage_is_an_error(void **state)
{
	struct err e = {.offset = -1};
	struct code_pick p;

	(void)state;
	unlink(path);
	store(made.n - 2000);
	p = (struct code_pick){.path = path, .arena = arena_new()};
	assert_int_equal(code_pick_scan(&p, &e), -1);
	assert_true(e.code < ERR_IO && e.offset > 0);
	done(&p);
	unlink(path);
	p = (struct code_pick){.path = path, .arena = arena_new()};
	assert_int_equal(code_pick_scan(&p, &e), -1);
	assert_int_equal(e.code, ERR_IO);
	done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_device_runs, begin, end),
		cmocka_unit_test_setup_teardown(the_newest, begin, end),
		cmocka_unit_test_setup_teardown(specific, begin, end),
		cmocka_unit_test_setup_teardown(each_code_of_a_name, begin, end),
		cmocka_unit_test_setup_teardown(damage_is_an_error, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
