/*
 * test_calibrate.c - the kernels of `kbn calibrate` as far as they can be judged without a GPU: the
 * amount of work claimed is the amount of work in the text, every row has a reading of its own, and
 * where ptxas is installed it takes every text for every architecture that would be given it.
 */
#include "kbn_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate_ptx.h"

static int occurrences(const char *text, const char *what)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

static void work_of_ffma(void **state)
{
	char *ptx = calibrate_ptx_basic();

	(void)state;
	assert_non_null(ptx);
	assert_int_equal(occurrences(ptx, "fma.rn.f32"), CALIBRATE_FFMA_PER_LOOP);
	assert_int_equal(occurrences(ptx, "ld.global.cg.v4.u32"), CALIBRATE_READS_PER_LOOP);
	assert_int_equal(occurrences(ptx, ".visible .entry"), 5);
	assert_int_equal(occurrences(ptx, "{"), occurrences(ptx, "}"));
	free(ptx);
}

/* FLOP per instruction from its shape, instructions from the text, times the warps or warpgroups. */
static void work_of_matrix_kernels(void **state)
{
	(void)state;
	for (size_t i = 0; i < calibrate_mma_count; i++) {
		const struct calibrate_mma *m = &calibrate_mma_table[i];
		char *ptx = calibrate_ptx_mma(m);
		int threads = calibrate_mma_threads(m);
		double flop;

		assert_non_null(ptx);
		if (m->warpgroup)
			flop = 2.0 * 64 * 256 * m->k * occurrences(ptx, "wgmma.mma_async") *
			       (threads / 128);
		else
			flop = 2.0 * 16 * 8 * m->k * occurrences(ptx, "mma.sync.aligned") *
			       (threads / 32);
		assert_true(flop == calibrate_mma_flop(m));
		assert_in_range(m->reading, 0, CALIBRATE_N - 1);
		free(ptx);
	}
}

static int assemble(const char *ptxas, const char *ptx, int sm, bool warpgroup)
{
	char path[] = "/tmp/kbn-calibrate-XXXXXX", command[512], made[64];
	int fd = mkstemp(path), status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, ptx, strlen(ptx)), strlen(ptx));
	close(fd);
	/* not to /dev/null: ptxas makes its output anew, and root may replace a device by a file */
	snprintf(made, sizeof(made), "%s.cubin", path);
	snprintf(command, sizeof(command), "%s -arch=sm_%d%s %s -o %s", ptxas, sm,
		 warpgroup ? "a" : "", path, made);
	status = system(command);
	unlink(path);
	unlink(made);
	return status;
}

static void ptxas_takes_all(void **state)
{
	static const int sms[] = {75, 80, 86, 89, 90, 100, 120};
	const char *ptxas =
		access("/usr/local/cuda/bin/ptxas", X_OK) == 0 ? "/usr/local/cuda/bin/ptxas" : NULL;
	char *basic = calibrate_ptx_basic();

	(void)state;
	assert_non_null(basic);
	if (!ptxas) {
		free(basic);
		skip();
	}
	for (size_t s = 0; s < sizeof(sms) / sizeof(sms[0]); s++)
		assert_int_equal(assemble(ptxas, basic, sms[s], false), 0);
	free(basic);
	for (size_t i = 0; i < calibrate_mma_count; i++) {
		const struct calibrate_mma *m = &calibrate_mma_table[i];
		char *ptx = calibrate_ptx_mma(m);

		assert_non_null(ptx);
		assert_int_equal(assemble(ptxas, ptx,
					  m->warpgroup ? m->sm
					  : m->sm < 90 ? m->sm
						       : 90,
					  m->warpgroup),
				 0);
		free(ptx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_of_ffma),
		cmocka_unit_test(work_of_matrix_kernels),
		cmocka_unit_test(ptxas_takes_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
