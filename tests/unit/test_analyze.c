/*
 * test_analyze.c - kbn analyze: every sample cubin at the geometry of its sample, the document against its
 * schema, its registers against the linker's own listing, what must be said of it and what must not; times
 * of the user; which kernels and which code are taken; launches that cannot be.
 */
#include "kbn_test.h"

#include <math.h>

#include <jansson.h>

#include "arch.h"
#include "cmd.h"
#include "occupancy.h"
#include "schema_valid.h"

#define GOLDEN "tests/golden/cubin/"
#define WORDS  64

/* Run the command; its document, NULL when it failed. *status = exit status. */
static json_t *analyze(int *status, const char *words)
{
	char path[] = "/tmp/kbn-analyze-XXXXXX", line[1024], *argv[WORDS];
	const int fd = mkstemp(path);
	json_t *doc = NULL;
	int argc = 0;

	assert_true(fd >= 0);
	close(fd);
	snprintf(line, sizeof(line), "analyze --json -o %s %s", path, words);
	for (char *w = strtok(line, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	*status = cmd_analyze(argc, argv);
	if (*status == CMD_GOOD)
		doc = json_load_file(path, 0, NULL);
	unlink(path);
	return doc;
}

static int status_of(const char *words)
{
	int status;

	json_decref(analyze(&status, words));
	return status;
}

static json_t *must(const char *words)
{
	int status;
	json_t *doc = analyze(&status, words);

	assert_int_equal(status, CMD_GOOD);
	assert_non_null(doc);
	assert_valid(doc, "kbn-report/1");
	return doc;
}

static json_t *kernel_of(json_t *doc)
{
	assert_int_equal(json_array_size(json_object_get(doc, "kernels")), 1);
	return json_array_get(json_object_get(doc, "kernels"), 0);
}

static json_t *at(json_t *v, const char *key, const char *below)
{
	v = json_object_get(v, key);
	return below ? json_object_get(v, below) : v;
}

static bool has_id(json_t *list, const char *id)
{
	json_t *f;
	size_t i;

	json_array_foreach(list, i, f) if (!strcmp(json_string_value(json_object_get(f, "id")),
						   id)) return true;
	return false;
}

/* ---- the samples */

static const struct sample {
	const char *name, *block;
	unsigned x, y; /* grid, in multiples of the number of SMs where per_sm > 0 */
	double per_sm; /* PER_WAVE: as many as fit */
	int more;      /* blocks beyond that */
	const char *
		says; /* the finding that its first comment names, NULL = none of time and geometry */
	const char * not ;
} samples[] = {
#define PER_WAVE (-1)
	{"atomic_bad", "256", 4096, 1, 0, 0, NULL, NULL},
	{"atomic_good", "256", 4096, 1, 0, 0, NULL, NULL},
	{"bank_conflict_bad", "32,8", 128, 128, 0, 0, NULL, NULL},
	{"bank_conflict_good", "32,8", 128, 128, 0, 0, NULL, NULL},
	{"divergent_bad", "256", 4096, 1, 0, 0, NULL, NULL},
	{"divergent_good", "256", 4096, 1, 0, 0, NULL, NULL},
	{"ffma_peak_bad", "128", 0, 1, 1, 0, NULL, NULL},
	{"ffma_peak_good", "128", 0, 1, 1, 0, NULL, NULL},
	{"fp64_leak_bad", "256", 16384, 1, 0, 0, NULL, NULL},
	{"fp64_leak_good", "256", 16384, 1, 0, 0, NULL, NULL},
	{"gemm_bad", "16,16", 64, 64, 0, 0, NULL, NULL},
	{"gemm_good", "128", 8, 16, 0, 0, NULL, NULL},
	{"memory_stream_bad", "256", 0, 1, 4, 0, NULL, NULL},
	{"memory_stream_good", "256", 0, 1, 8, 0, NULL, NULL},
	{"pointer_chase_bad", "128", 0, 1, 1, 0, NULL, NULL},
	{"pointer_chase_good", "128", 0, 1, 1, 0, NULL, NULL},
	{"smem_cliff_bad", "256", 0, 1, 2, 0, "KBN-T006", NULL},
	{"smem_cliff_good", "256", 0, 1, 2, 0, NULL, "KBN-T006"},
	{"spill_bad", "256", 4096, 1, 0, 0, "KBN-T002", NULL},
	{"spill_good", "256", 4096, 1, 0, 0, NULL, "KBN-T002"},
	{"tail_bad", "256", 0, 1, PER_WAVE, 1, "KBN-R003", NULL},
	{"tail_good", "256", 0, 1, PER_WAVE, 0, NULL, "KBN-R003"},
	{"tiny_grid_bad", "256", 8, 1, 0, 0, "KBN-R002", NULL},
	{"tiny_grid_good", "256", 4096, 1, 0, 0, NULL, "KBN-R002"},
	{"uncoalesced_bad", "256", 65536, 1, 0, 0, NULL, NULL},
	{"uncoalesced_good", "256", 65536, 1, 0, 0, NULL, NULL},
};
static const int sms[] = {80, 86, 89, 90, 100, 120};

/* Registers by the listing that was made with other tools. */
static int registers_of(const char *file)
{
	FILE *f = fopen(GOLDEN "RESOURCES", "r");
	char line[512], name[256];
	int registers, found = -1;

	assert_non_null(f);
	while (found < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "%255s %*s %d", name, &registers) == 2 && !strcmp(name, file))
			found = registers;
	fclose(f);
	return found;
}

/* The shared memory of the two samples of the cliff. */
static long dyn_smem(const struct sample *s, const struct arch *a)
{
	if (strncmp(s->name, "smem_cliff", 10))
		return 0;
	return a->smem_per_sm_kb * 1024 / 2 - a->smem_reserved_bytes +
	       !strcmp(s->name, "smem_cliff_bad");
}

static void check_sample(const struct sample *s, int sm)
{
	const struct product *p = product_reference(sm);
	const struct arch *a = arch_find(sm, NULL);
	const double per_sm = s->per_sm == PER_WAVE ? a->warps_per_sm / 8 : s->per_sm;
	const unsigned x = s->x ? s->x : (unsigned)(per_sm * p->sm_count) + (unsigned)s->more;
	char words[512], file[128];
	json_t *doc, *k;

	snprintf(file, sizeof(file), "%s.sm_%d", s->name, sm);
	snprintf(words, sizeof(words), GOLDEN "%s.cubin --grid %u,%u --block %s --dyn-smem %ld",
		 file, x, s->y, s->block, dyn_smem(s, a));
	doc = must(words);
	k = kernel_of(doc);
	assert_string_equal(
		json_string_value(at(json_array_get(at(doc, "devices", NULL), 0), "name", NULL)),
		p->name);
	assert_int_equal(json_integer_value(at(k, "resources", "registers")), registers_of(file));
	assert_true(json_is_null(at(json_array_get(at(doc, "runs", NULL), 0), "end", NULL)));
	assert_int_equal(json_integer_value(at(k, "launches", NULL)), 0);
	assert_int_equal(json_integer_value(at(doc, "accounting", "launches_seen")), 0);
	assert_string_equal(json_string_value(json_object_get(at(k, "time_us", "total"), "label")),
			    "unknown");
	assert_true(json_integer_value(at(k, "occupancy", "blocks_per_sm")) > 0);
	assert_true(has_id(at(doc, "notes", NULL), "KBN-N044"));
	for (int i = 0; i < 2; i++) {
		const char *id = i ? s->not : s->says;
		const bool is_there = id && (has_id(at(k, "traps", NULL), id) ||
					     has_id(at(k, "bottleneck", "reasons"), id));

		if (id && is_there != !i)
			fail_msg("%s: %s is %s", file, id, i ? "said" : "not said");
	}
	json_decref(doc);
}

static void every_sample(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		for (size_t k = 0; k < sizeof(sms) / sizeof(*sms); k++)
			check_sample(&samples[i], sms[k]);
}

/* ---- times */

#define GEMM GOLDEN "gemm_bad.sm_90.cubin --grid 64,64 --block 16,16 "

static void times_are_the_users(void **state)
{
	json_t *doc = must(GEMM "--time-us 30 --time-us 10 --time-us 5e6"), *k = kernel_of(doc),
	       *total;

	(void)state;
	total = at(k, "time_us", "total");
	assert_string_equal(json_string_value(json_object_get(total, "by")), "user");
	assert_string_equal(json_string_value(json_object_get(total, "label")), "measured");
	assert_true(json_number_value(json_object_get(total, "value")) == 5000040);
	assert_true(json_number_value(at(k, "time_us", "median")) == 30); /* no bias is taken off */
	assert_true(json_number_value(at(k, "time_us", "min")) == 10);
	assert_true(json_number_value(at(k, "time_us", "max")) == 5e6);
	assert_true(json_is_null(at(k, "time_us", "first")));
	assert_true(json_is_null(at(k, "time_us", "uncertainty")));
	assert_string_equal(json_string_value(at(k, "time_us", "method")), "user");
	assert_int_equal(json_integer_value(at(k, "launches", NULL)), 3);
	assert_int_equal(json_integer_value(at(doc, "accounting", "launches_seen")), 3);
	assert_int_equal(json_integer_value(at(doc, "accounting", "timed")), 3);
	assert_string_equal(
		json_string_value(json_object_get(at(doc, "totals", "kernel_time_us"), "by")),
		"user");
	assert_string_equal(
		json_string_value(json_object_get(at(doc, "totals", "busy_pct"), "label")),
		"unknown");
	json_decref(doc);
}

/* The code says the type of the work and which unit does it, where the user does not. */
static void work_and_its_type(void **state)
{
	json_t *doc = must(GEMM "--gemm 512,512,512 --time-us 62"), *k = kernel_of(doc);

	(void)state;
	assert_string_equal(json_string_value(at(k, "problem", "dtype")), "fp32");
	assert_string_equal(json_string_value(at(k, "roofline", "precision")), "fp32");
	json_decref(doc);
	doc = must(GOLDEN
		   "gemm_good.sm_90.cubin --grid 8,16 --block 128 --gemm 512,512,512 --time-us 62");
	k = kernel_of(doc);
	assert_string_equal(json_string_value(at(k, "problem", "kind")), "gemm");
	assert_string_equal(json_string_value(at(k, "problem", "dtype")), "fp16");
	assert_string_equal(json_string_value(at(k, "roofline", "precision")),
			    "fp16_tensor_fp32acc");
	assert_true(json_number_value(json_object_get(at(k, "work", "flops"), "value")) ==
		    268435000);
	json_decref(doc);
}

/* ---- device, peaks */

static json_t *device_of(json_t *doc)
{
	return json_array_get(json_object_get(doc, "devices"), 0);
}

static void devices(void **state)
{
	json_t *doc = must(
		       GOLDEN
		       "gemm_bad.sm_80.cubin --grid 64,64 --block 16,16 --device ga104-reference"),
	       *d;

	(void)state;
	/* sm_86 runs the code of sm_80 */
	d = device_of(doc);
	assert_string_equal(json_string_value(at(d, "peaks_source", NULL)), "profile");
	assert_true(json_number_value(at(d, "peaks", "fp32_tflops")) == 21.7);
	assert_true(json_number_value(at(d, "dram_gbps", NULL)) == 608);
	assert_string_equal(json_string_value(at(kernel_of(doc), "code", "arch")), "sm_80");
	assert_string_equal(json_string_value(at(kernel_of(doc), "code", "origin")), "file");
	json_decref(doc);
	doc = must(GOLDEN "gemm_bad.sm_80.cubin --grid 64,64 --block 16,16 --arch sm_87");
	assert_string_equal(json_string_value(at(device_of(doc), "sm", NULL)), "sm_87");
	json_decref(doc);
	assert_int_equal(status_of(GEMM "--device sm_80"), CMD_USAGE);
	assert_int_equal(status_of(GEMM "--arch sm_90 --device sm_80"), CMD_USAGE);
	assert_int_equal(status_of(GEMM "--arch sm_90a"), CMD_USAGE);
	assert_int_equal(status_of(GEMM "--device H200"), CMD_USAGE);
}

static void peaks_of_a_file(void **state)
{
	char path[] = "/tmp/kbn-peaks-XXXXXX", words[256];
	const int fd = mkstemp(path);
	static const char text[] = "{\"schema\":\"kbn-calibration/1\",\"copy_gbps\":1234.5,"
				   "\"matrix\":{\"fp32_tflops\":50.5}}";
	json_t *doc, *d;

	(void)state;
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(words, sizeof(words), GEMM "--peaks %s", path);
	doc = must(words);
	d = device_of(doc);
	assert_string_equal(json_string_value(at(d, "peaks_source", NULL)), "file");
	assert_true(json_number_value(at(d, "peaks", "fp32_tflops")) == 50.5);
	assert_true(json_number_value(at(d, "dram_gbps", NULL)) == 1234.5);
	json_decref(doc);
	unlink(path);
	assert_int_equal(status_of(words), CMD_INPUT);
	assert_int_equal(status_of(GEMM "--peaks " GOLDEN "RESOURCES"), CMD_INPUT);
}

/* What `kbn calibrate -o` writes, of one GPU; it is not taken for a GPU of another architecture. */
static void peaks_of_a_calibration(void **state)
{
	static const char file[] = "tests/gpu/results/2026-11-30-h200/calibrate.json";
	char words[256];
	json_t *doc, *d;

	(void)state;
	snprintf(words, sizeof(words), GEMM "--peaks %s", file);
	doc = must(words);
	d = device_of(doc);
	assert_string_equal(json_string_value(at(d, "peaks_source", NULL)), "file");
	assert_true(fabs(json_number_value(at(d, "dram_gbps", NULL)) - 4185.67) < 0.01);
	json_decref(doc);
	snprintf(words, sizeof(words),
		 GOLDEN "gemm_bad.sm_80.cubin --kernel gemm_bad --grid 8 --block 32 --peaks %s",
		 file);
	assert_int_equal(status_of(words), CMD_USAGE);
}

/* ---- launches that cannot be */

static void impossible(void **state)
{
	static const char *const words[] = {
		"--grid 1 --block 1025",
		"--grid 1 --block 1,1,65",
		"--grid 1 --block 32,33",
		"--grid 0 --block 1",
		"--grid 2147483648 --block 1",
		"--grid 1,65536 --block 1",
		"--grid 1 --block 32 --dyn-smem 232449",
		"--grid 1 --block 32 --dyn-smem 9223372036854775807",
		"--grid 16 --block 32 --cluster 3",
		"--grid 34 --block 32 --cluster 17",
		"--grid 32,32 --block 32 --cluster 8,4",
		"--grid 16",
		"--block 16",
		"--grid 1 --block 1 --json --md",
		"--grid 1 --block 1 --html --csv",
		"--grid 1 --block 1 --kernel nosuch",
		"--grid 1 --block 1 --kernel (",
		"--grid 1 --block 1 --time-us -1",
		"--grid 1 --block 1 --arg i32:1",
		"--grid 1 --block 1 --arg ptr:1 --arg ptr:2 --arg i64:3",
		"--grid 1 --block 1 --arg ptr:1 --params 00",
		"--grid 1 --block 1 --params 00",
		"--grid 1 --block 1 --flops 1 --gemm 1,1,1",
		"--grid 1 --block 1 --gemm 1,1,1 --attention 1,1,1,1,1",
		"--grid 1 --block 1 --expect-pct 101",
	};
	char line[512];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		snprintf(line, sizeof(line), GOLDEN "gemm_bad.sm_90.cubin %s", words[i]);
		if (status_of(line) != CMD_USAGE)
			fail_msg("not refused: %s", words[i]);
	}
	/* and at their limits they are taken */
	json_decref(
		must(GOLDEN "gemm_bad.sm_90.cubin --grid 2147483647,65535,65535 --block 16,1,64"));
	json_decref(must(
		GOLDEN "gemm_bad.sm_90.cubin --grid 32 --block 32 --cluster 16 --dyn-smem 232448"));
	/* no cluster before sm_90 */
	assert_int_equal(status_of(GOLDEN "gemm_bad.sm_80.cubin --grid 32 --block 32 --cluster 2"),
			 CMD_USAGE);
}

/* Code of an architecture that is in no table. */
static void unknown_architecture(void **state)
{
	char path[] = "/tmp/kbn-analyze-XXXXXX", words[256];
	const int fd = mkstemp(path);
	size_t bytes;
	uint8_t *data = load_file(GOLDEN "gemm_bad.sm_90.cubin", &bytes);

	(void)state;
	assert_true(fd >= 0);
	for (int i = 48; i < 52; i++) /* e_flags */
		if (data[i] == 90)
			data[i] = 60;
	assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
	close(fd);
	snprintf(words, sizeof(words), "%s --grid 1 --block 32", path);
	assert_int_equal(status_of(words), CMD_INPUT);
	unlink(path);
	free(data);
}

static void not_used_is_said(void **state)
{
	json_t *doc = must(
		       GEMM
		       "--arg ptr:0x1000 --arg ptr:0x2000 --arg i32:1024 --alloc 0x1000:64 --gemm 1,2,3 "
		       "--expect-pct 80"),
	       *note;
	size_t i;
	bool found = false;

	(void)state;
	json_array_foreach(at(doc, "notes", NULL), i,
			   note) if (!strcmp(json_string_value(at(note, "id", NULL)), "KBN-N047"))
	{
		found = true;
		assert_non_null(strstr(json_string_value(at(note, "text", NULL)),
				       ": --alloc, --expect-pct"));
	}
	assert_true(found);
	json_decref(doc);
}

/* ---- several sizes */

static json_t *of_size(json_t *doc, int m)
{
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(doc, "kernels"), i, k)
	{
		if (json_integer_value(at(at(k, "problem", "dims"), "m", NULL)) == m)
			return k;
	}
	fail_msg("no kernel of size %d", m);
	return NULL;
}

static const char *class_of(json_t *k)
{
	return json_string_value(at(k, "bottleneck", "class"));
}

/* Each with its own geometry, work and time; what a case does not say is as the options say. */
static void sizes_side_by_side(void **state)
{
	json_t *doc = must(GOLDEN
			   "gemm_good.sm_90.cubin --block 128 --gemm 256,256,64 --time-us 5 "
			   "--case grid=4,4;gemm=512,512,512;time-us=30;time-us=32 "
			   "--case grid=64,64;gemm=8192,8192,8192;time-us=2000 "
			   "--case grid=64,64;gemm=4096,4096,8192;time-us=7000 --case grid=2");
	json_t *small = of_size(doc, 512), *large = of_size(doc, 8192);
	json_t *again = of_size(doc, 4096), *rest = of_size(doc, 256);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(doc, "kernels")), 4);
	assert_string_equal(class_of(small), "latency");
	assert_string_equal(class_of(large), "compute");
	assert_float_equal(json_real_value(at(small, "time_us", "median")), 31, 1e-9);
	assert_float_equal(json_real_value(at(large, "time_us", "median")), 2000, 1e-9);
	assert_int_equal(json_integer_value(json_array_get(at(small, "launch", "grid"), 1)), 4);
	assert_int_equal(json_integer_value(json_array_get(at(rest, "launch", "grid"), 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(at(rest, "launch", "block"), 0)), 128);
	assert_float_equal(json_real_value(at(rest, "time_us", "median")), 5, 1e-9);
	/* one geometry, two sizes: an id each */
	assert_string_not_equal(json_string_value(at(large, "id", NULL)),
				json_string_value(at(again, "id", NULL)));
	json_decref(doc);
}

/* The id says nothing of cases: that of the only launch is that of the first of several. */
static void ids_are_those_of_one(void **state)
{
	json_t *one = must(GOLDEN "gemm_good.sm_90.cubin --block 128 --grid 4,4"),
	       *two = must(GOLDEN
			   "gemm_good.sm_90.cubin --block 128 --case grid=4,4 --case grid=5"),
	       *k;
	const char *id = json_string_value(at(kernel_of(one), "id", NULL));
	size_t i, found = 0;

	(void)state;
	json_array_foreach(json_object_get(two, "kernels"), i, k)
		found += !strcmp(json_string_value(at(k, "id", NULL)), id);
	assert_int_equal(found, 1);
	json_decref(one);
	json_decref(two);
}

static void bad_cases(void **state)
{
	static const char *const words[] = {
		"--case grid",
		"--case =4",
		"--case grid=1;;block=32",
		"--case grid=1;json=1",
		"--case grid=1;kernel=x",
		"--case grid=1;block=2048",
		"--case grid=1;time-us=0",
		"--case grid=1;gemm=1,2",
		"--case grid=1;flops=1;gemm=1,2,3",
		"--case block=32", /* no grid anywhere */
		"--case grid=1 --case grid=1;dyn-smem=300000",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char line[256];

		snprintf(line, sizeof(line), GOLDEN "gemm_good.sm_90.cubin --block 128 %s",
			 words[i]);
		if (status_of(line) != CMD_USAGE)
			fail_msg("%s", words[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample),         cmocka_unit_test(times_are_the_users),
		cmocka_unit_test(work_and_its_type),    cmocka_unit_test(devices),
		cmocka_unit_test(peaks_of_a_file),      cmocka_unit_test(peaks_of_a_calibration),
		cmocka_unit_test(impossible),           cmocka_unit_test(unknown_architecture),
		cmocka_unit_test(not_used_is_said),     cmocka_unit_test(sizes_side_by_side),
		cmocka_unit_test(ids_are_those_of_one), cmocka_unit_test(bad_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
