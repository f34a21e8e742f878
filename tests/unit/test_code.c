/*
 * test_code.c - from stored images to cubins: cubin, fat binary and PTX, damaged and missing files,
 * the compiler in its own process, and whether the code is that of the kernel.
 * A shell script stands for ptxas, so that no toolkit is needed.
 */
#include "code.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fatbin.h"
#include "jit.h"
#include "kbn_hash.h"
#include "kbn_test.h"

#define GOLDEN "tests/golden/cubin/uncoalesced_bad.sm_90.cubin"

static char dir[256], image_path[300];
static const char ptx[] = "//\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n";

static int make_dir(void **state)
{
	(void)state;
	temp_dir(dir);
	snprintf(image_path, sizeof(image_path), "%s/image", dir);
	setenv("CUDA_HOME", dir, 1);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	remove_dir(dir);
	return 0;
}

static struct session_image store(enum kbn_image_kind kind, const void *data, size_t bytes)
{
	struct session_image i = {.kind = kind, .path = image_path, .stored_bytes = bytes};
	FILE *f = fopen(image_path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	fclose(f);
	kbn_hash128(data, bytes, i.hash);
	return i;
}

/* $CUDA_HOME/bin/ptxas with this body. */
static void fake_ptxas(const char *body)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/bin", dir);
	mkdir(path, 0700);
	strcat(path, "/ptxas");
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
}

static void test_cubin(void **state)
{
	struct err e = {0};
	struct code c;
	size_t bytes;
	uint8_t *data = load_file(GOLDEN, &bytes);
	struct session_image i = store(KBN_KIND_CUBIN, data, bytes);

	(void)state;
	assert_int_equal(code_open(&c, &i, 90, NULL, &e), 0);
	assert_int_equal(c.cubin.sm, 90);
	assert_int_equal(c.cubin.functions_n, 1);
	assert_false(c.is_reconstructed);
	code_close(&c);

	i.hash[3] ^= 1; /* the file is not what was stored */
	assert_int_equal(code_open(&c, &i, 90, NULL, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	unlink(image_path);
	assert_int_equal(code_open(&c, &i, 90, NULL, &e), -1);
	assert_int_equal(e.code, ERR_NOT_FOUND);
	i.path = NULL;
	i.why_missing = "the image could not be read";
	assert_int_equal(code_open(&c, &i, 90, NULL, &e), -1);
	assert_string_equal(e.text, "the image could not be read");
	i = store(KBN_KIND_OTHER, data, bytes);
	assert_int_equal(code_open(&c, &i, 90, NULL, &e), -1);
	i = store(KBN_KIND_CUBIN, "not a cubin", 11);
	assert_int_equal(code_open(&c, &i, 90, NULL, &e), -1);
	assert_int_equal(e.code, ERR_FORMAT);
	free(data);
}

static void test_fat_binary(void **state)
{
	struct err e = {0};
	struct code c;
	size_t bytes;
	uint8_t *cubin = load_file(GOLDEN, &bytes), *fat = calloc(1, bytes + 256);
	const uint32_t head[] = {FATBIN_MAGIC,
				 1 | 16 << 16,
				 (uint32_t)bytes + 64 + 8,
				 0,
				 FATBIN_CUBIN | 0x0101 << 16,
				 64,
				 (uint32_t)(bytes + 7) / 8 * 8,
				 0,
				 0,
				 0,
				 0,
				 90};

	(void)state;
	memcpy(fat, head, sizeof(head));
	memcpy(fat + 80, cubin, bytes);

	struct session_image i = store(KBN_KIND_FATBIN, fat, 80 + (bytes + 7) / 8 * 8);

	assert_int_equal(code_open(&c, &i, 90, NULL, &e), 0);
	assert_int_equal(c.cubin.sm, 90);
	code_close(&c);
	assert_int_equal(code_open(&c, &i, 80, NULL, &e), -1);
	assert_int_equal(e.code, ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, "sm_80"));
	free(cubin);
	free(fat);
}

static void test_target(void **state)
{
	static const struct {
		const char *ptx;
		uint32_t sm;
		const char *target;
	} cases[] = {
		{".target sm_80", 80, "sm_80"},
		{".target sm_80", 90, "sm_90"},
		{".target sm_90a", 90, "sm_90a"},
		{".target sm_90a", 100, "sm_100"},
		{".target sm_100f", 103, "sm_103f"},
		{".target sm_100f", 120, "sm_120"},
		{".target\tsm_90a, debug", 90, "sm_90a"},
		{"", 90, "sm_90"},
		{".target ", 90, "sm_90"},
		{".target sm_", 90, "sm_90"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tail_copy t = tail_copy(cases[i].ptx, strlen(cases[i].ptx));
		char target[16];

		jit_target(t.data, strlen(cases[i].ptx), cases[i].sm, target);
		assert_string_equal(target, cases[i].target);
		tail_free(&t);
	}
}

/* The script notes how it was called and gives back a stored cubin. */
static void test_ptxas(void **state)
{
	struct err e = {0};
	struct code c;
	size_t bytes;
	char body[1024], path[300], *called, *text;
	struct session_image i = store(KBN_KIND_PTX, ptx, sizeof(ptx) - 1);
	struct code_compile how = {.no_driver = true, .left_ms = 20000};

	(void)state;
	i.jit_n = 3;
	i.jit = calloc(i.jit_n, sizeof(*i.jit));
	i.jit[0].option = 0; /* CU_JIT_MAX_REGISTERS */
	i.jit[0].value = 64;
	i.jit[1].option = 13; /* CU_JIT_GENERATE_LINE_INFO */
	i.jit[1].value = 1;
	i.jit[2].option = 999;
	snprintf(
		body, sizeof(body),
		"echo \"$@\" > %s/called\ncp \"$4\" %s/text\ncp %s \"$6\"\necho \"${LD_PRELOAD-none} $KBN\" >> %s/called",
		dir, dir, GOLDEN, dir);
	fake_ptxas(body);
	setenv("LD_PRELOAD", "", 1);
	assert_int_equal(code_open(&c, &i, 90, &how, &e), 0);
	assert_true(how.was_needed);
	assert_in_range(how.left_ms, 1, 20000);
	assert_true(c.is_reconstructed);
	assert_string_equal(c.by, "ptxas");
	assert_int_equal(c.cubin.sm, 90);
	code_close(&c);
	unsetenv("LD_PRELOAD");
	snprintf(path, sizeof(path), "%s/called", dir);
	called = load_file(path, &bytes);
	assert_int_equal(strncmp(called, "-arch=sm_90a -maxrregcount=64 -lineinfo /", 40), 0);
	assert_non_null(strstr(called, "\nnone off\n"));
	snprintf(path, sizeof(path), "%s/text", dir);
	text = load_file(path, &bytes);
	assert_string_equal(text, ptx);
	free(called);
	free(text);
	free(i.jit);
}

static int try_ptxas(const char *body, unsigned limit_ms, struct err *e)
{
	const struct jit_source source = {.ptx = ptx,
					  .bytes = sizeof(ptx) - 1,
					  .sm = 90,
					  .no_driver = true,
					  .limit_ms = limit_ms};
	struct jit_result result;
	int rc;

	if (body)
		fake_ptxas(body);
	rc = jit_reconstruct(&source, &result, e);
	if (rc == 0)
		free(result.cubin);
	return rc;
}

/*
 * The time is one for all: the compilation that uses it up is ended, and no other is started. On a
 * busy machine the first may be ended before it has said that it started, so at most one says so.
 */
static void test_time_for_all(void **state)
{
	struct session_image i = store(KBN_KIND_PTX, ptx, sizeof(ptx) - 1);
	struct code_compile how = {.no_driver = true, .left_ms = 200};
	struct err e = {0};
	char body[700], path[300];
	struct code c;

	(void)state;
	snprintf(path, sizeof(path), "%s/starts", dir);
	snprintf(body, sizeof(body), "echo one >> %s; exec sleep 1000", path);
	fake_ptxas(body);
	for (int n = 0; n < 3; n++)
		assert_int_equal(code_open(&c, &i, 90, &how, &e), -1);
	assert_true(how.left_ms <= 0);
	snprintf(body, sizeof(body), "touch %s; test $(wc -l < %s) -le 1", path, path);
	assert_int_equal(system(body), 0);
}

static void test_ptxas_failures(void **state)
{
	struct err e = {0};
	char lock[300], body[700];
	int fd;

	(void)state;
	assert_int_equal(try_ptxas("echo ptxas fatal: no such thing >&2; echo more; exit 1", 0, &e),
			 -1);
	assert_string_equal(e.text, "ptxas failed: ptxas fatal: no such thing");
	assert_int_equal(try_ptxas("exit 0", 0, &e), -1); /* says all is well and leaves no file */
	assert_int_equal(try_ptxas("kill -SEGV $$", 0, &e), -1);
	assert_int_equal(try_ptxas("kill -KILL $PPID; sleep 5", 0, &e),
			 -1); /* the helper itself dies */
	assert_string_equal(e.text, "compiling the PTX crashed");

	/* too long: it goes with all its children; whoever is left of them keeps the lock */
	snprintf(lock, sizeof(lock), "%s/lock", dir);
	snprintf(body, sizeof(body), "exec 9> %s; flock 9; sleep 1000 & sleep 1000", lock);
	assert_int_equal(try_ptxas(body, 300, &e), -1);
	assert_non_null(strstr(e.text, "longer than 300 ms"));
	fd = open(lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	close(fd);
}

static void test_no_tool(void **state)
{
	struct err e = {0};
	char *path = strdup(getenv("PATH"));

	(void)state;
	setenv("PATH", dir, 1);
	assert_int_equal(try_ptxas(NULL, 0, &e), -1);
	setenv("PATH", path, 1);
	free(path);
	assert_int_equal(e.code, ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, "no ptxas"));
}

static void test_confirm(void **state)
{
	const struct cubin c = {.sm = 90, .virtual_sm = 80};
	const struct cubin_function f = {
		.registers = 40, .static_smem_bytes = 1200, .max_threads = {128, 2, 1}};
	const struct session_kernel good = {.registers = 40,
					    .static_smem_bytes = 1200,
					    .binary_version = 90,
					    .ptx_version = 80,
					    .max_threads = 256,
					    .local_bytes = -1};
	struct cubin_function required = {.registers = 40, .static_smem_bytes = 1200};
	struct session_kernel k = good;
	char text[160];

	(void)state;
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_MATCHES);
	assert_string_equal(text, "5 attributes compared");
	k.max_threads = 128; /* bounded by registers */
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_MATCHES);
	k.max_threads = 1024;
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_DIFFERS);
	assert_string_equal(text, "threads per block: driver 1024, code 256");
	/* the driver does not report a block size that the kernel requires */
	required.block[0] = 128;
	assert_int_equal(code_confirm(&k, &c, &required, text), CODE_MATCHES);
	assert_string_equal(text, "4 attributes compared");
	k = good;
	k.registers = 32;
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_DIFFERS);
	assert_string_equal(text, "registers: driver 32, code 40");
	k = good;
	k.static_smem_bytes = 0;
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_DIFFERS);
	k = good;
	k.binary_version = 80;
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_DIFFERS);
	k = (struct session_kernel){.registers = -1,
				    .static_smem_bytes = -1,
				    .binary_version = -1,
				    .ptx_version = -1,
				    .max_threads = -1};
	assert_int_equal(code_confirm(&k, &c, &f, text), CODE_UNCHECKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cubin, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_fat_binary, make_dir, drop_dir),
		cmocka_unit_test(test_target),
		cmocka_unit_test_setup_teardown(test_ptxas, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_time_for_all, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_ptxas_failures, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_no_tool, make_dir, drop_dir),
		cmocka_unit_test(test_confirm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
