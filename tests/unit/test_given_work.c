/*
 * test_given_work.c - the work of a kernel as its user gives it (work.h): figures of known problems, lines and
 * options, which line counts, and every error with file, line and column.
 */
#include "kbn_test.h"

#include "work.h"

static const struct formula_geometry geometry = {{1000, 20, 3}, {256, 4, 1}};

static struct work of_line(const char *parts)
{
	struct work_file *f;
	struct work w = WORK_INIT;
	char text[512];
	struct err e;

	snprintf(text, sizeof(text), "k %s", parts);
	if (work_file_parse(&f, "w", text, strlen(text), &e) < 0 ||
	    work_file_find(f, "k", NULL, NULL, &geometry, &w, &e) != 1)
		fail_msg("%s: %s", parts, e.text);
	work_file_free(f);
	return w;
}

static void figures(void **state)
{
	static const struct {
		const char *parts;
		enum work_kind kind;
		enum work_dtype dtype;
		int64_t flops, bytes;
	} rows[] = {
		{"flops=2*gx*bx bytes=12*gx*bx", WORK_FORMULA, WORK_DTYPE_NONE, 512000, 3072000},
		{"bytes = 8 * gx dtype = fp16", WORK_BYTES, WORK_FP16, -1, 8000},
		{"flops=1e9", WORK_FORMULA, WORK_DTYPE_NONE, 1000000000, -1},
		{"bytes=1 flops=0", WORK_FORMULA, WORK_DTYPE_NONE, 0, 1},
		{"bytes=gx*9/8", WORK_BYTES, WORK_DTYPE_NONE, -1, 1125},
		{"bytes=7/2", WORK_BYTES, WORK_DTYPE_NONE, -1, 4},
		{"gemm(2,3,5,fp32)", WORK_GEMM, WORK_FP32, 60, (10 + 15 + 6) * 4},
		{"gemm(2,3,5)", WORK_GEMM, WORK_DTYPE_NONE, 60, -1},
		{"gemm(2,3,5) dtype=half", WORK_GEMM, WORK_FP16, 60, 62},
		{"dtype=DOUBLE gemm(2,3,5)", WORK_GEMM, WORK_FP64, 60, 248},
		{"gemm(2,3,5,int4)", WORK_GEMM, WORK_INT4, 60, 16},
		{"gemm(2,3,5,int8) bytes=10+15+6*4", WORK_GEMM, WORK_INT8, 60, 49},
		{"bytes=49 gemm(2,3,5,int8)", WORK_GEMM, WORK_INT8, 60, 49},
		{"gemm(gx*128, gy*128, 4096, f16)", WORK_GEMM, WORK_FP16, 2684354560000,
		 2 * (128000LL * 4096 + 4096 * 2560 + 128000LL * 2560)},
		{"gemm(8192,8192,8192,bf16)", WORK_GEMM, WORK_BF16, 1099511627776, 402653184},
		/* 4 B H S^2 D; Q, K, V, O of B H S D each */
		{"attention(2,16,1024,1024,64,fp16)", WORK_ATTENTION, WORK_FP16, 8589934592,
		 16777216},
		{"attention(2,16,1024,1024,64,causal,fp16)", WORK_ATTENTION, WORK_FP16, 4294967296,
		 16777216},
		{"attention(2,16,1024,1024,64,bf16,kvheads=4,causal)", WORK_ATTENTION, WORK_BF16,
		 4294967296, 2 * (2 * 2 * 16 * 1024 * 64 + 2 * 2 * 4 * 1024 * 64)},
		/* decode: one query sees every key but half of itself */
		{"attention(1,1,1,4096,64,fp16)", WORK_ATTENTION, WORK_FP16, 4 * 4096 * 64,
		 2 * (2 * 64 + 2 * 4096 * 64)},
		{"attention(1,1,1,4096,64,causal,fp16)", WORK_ATTENTION, WORK_FP16, 2 * 8191 * 64,
		 2 * (2 * 64 + 2 * 4096 * 64)},
		{"attention(1,1,8,4,16,causal)", WORK_ATTENTION, WORK_DTYPE_NONE, 2 * 16 * 16, -1},
		{"attention(1,1,1,1,1,causal)", WORK_ATTENTION, WORK_DTYPE_NONE, 2, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct work w = of_line(rows[i].parts);

		if (w.kind != rows[i].kind || w.dtype != rows[i].dtype ||
		    w.flops != rows[i].flops || w.bytes != rows[i].bytes)
			fail_msg("%s: kind %d, type %d, %lld FLOPs, %lld bytes", rows[i].parts,
				 w.kind, w.dtype, (long long)w.flops, (long long)w.bytes);
		assert_int_equal(w.line, 1);
	}
}

static void dims(void **state)
{
	static const char *const names[] = {"b", "h", "sq", "skv", "d", "kvheads", "causal"};
	struct work w = of_line("attention(2,16,1024,512,64,fp16)");
	const int64_t values[] = {2, 16, 1024, 512, 64, 16, 0};

	(void)state;
	assert_int_equal(w.dims_n, 7);
	for (int i = 0; i < 7; i++) {
		assert_string_equal(w.dims[i].name, names[i]);
		assert_int_equal(w.dims[i].value, values[i]);
	}
	w = of_line("gemm(gx,2,bx)");
	assert_int_equal(w.dims_n, 3);
	assert_string_equal(w.dims[2].name, "k");
	assert_int_equal(w.dims[0].value, 1000);
	assert_int_equal(w.dims[2].value, 256);
	assert_int_equal(of_line("flops=1").dims_n, 0);
	assert_string_equal(work_kind_names[WORK_ATTENTION], "attention");
}

static void types(void **state)
{
	(void)state;
	for (int i = WORK_FP64; i < WORK_DTYPES; i++) {
		assert_int_equal(work_dtype_find(work_dtype_name((enum work_dtype)i)), i);
		assert_true(work_dtype_bits((enum work_dtype)i) >= 4);
	}
	assert_int_equal(work_dtype_find("F32"), WORK_FP32);
	assert_int_equal(work_dtype_find("e5m2"), WORK_FP8);
	assert_int_equal(work_dtype_find("fp33"), WORK_DTYPE_NONE);
	assert_int_equal(work_dtype_find(""), WORK_DTYPE_NONE);
	assert_null(work_dtype_name(WORK_DTYPE_NONE));
}

/* A type that only the code knows gives the bytes, but changes nothing that was given. */
static void type_comes_later(void **state)
{
	struct work w = of_line("gemm(2,3,5)");
	struct quantity q = work_bytes(&w);

	(void)state;
	assert_false(quantity_known(&q));
	assert_non_null(strstr(q.why, "type"));
	work_set_dtype(&w, WORK_FP16);
	assert_int_equal(w.bytes, 62);
	q = work_bytes(&w);
	assert_true(quantity_known(&q) && q.value == 62 && q.low == 62 && q.high == 62);
	assert_int_equal(q.label, QUANTITY_DERIVED);
	assert_int_equal(q.by, QUANTITY_BY_USER);
	w = of_line("gemm(2,3,5,fp32)");
	work_set_dtype(&w, WORK_FP16);
	assert_int_equal(w.dtype, WORK_FP32);
	assert_int_equal(w.bytes, 124);
	w = of_line("gemm(2,3,5) bytes=7");
	work_set_dtype(&w, WORK_FP16);
	assert_int_equal(w.bytes, 7);
	w = of_line("flops=7");
	work_set_dtype(&w, WORK_FP16);
	q = work_bytes(&w);
	assert_int_equal(w.bytes, -1);
	assert_non_null(strstr(q.why, "bytes="));
	w = of_line("bytes=7");
	q = work_flops(&w);
	assert_non_null(strstr(q.why, "flops="));
}

/* ------------------------------------------------------------------------------------- files */

static const char *const file_text = "# the work of my kernels\n"
				     "\n"
				     "^saxpy      flops=2*gx*bx bytes=12*gx*bx   # 0.167 FLOP/B\r\n"
				     "  \"^void gemm<int, 3>\" gemm(128,128,64,fp16)\n"
				     "gemm        gemm(1,1,1)\n"
				     "\"\\d+ x\"\tbytes=5#x\n"
				     "saxpy flops=1\n"
				     "never bytes=1/(gz-3)";

static void first_line_counts(void **state)
{
	struct work_file *f;
	struct work w;
	struct err e;

	(void)state;
	assert_int_equal(work_file_parse(&f, "w", file_text, strlen(file_text), &e), 0);
	assert_int_equal(work_file_unused(f, 0), 3);
	assert_int_equal(work_file_find(f, "saxpy_kernel", NULL, NULL, &geometry, &w, &e), 1);
	assert_int_equal(w.line, 3);
	assert_int_equal(w.flops, 512000);
	assert_int_equal(work_file_find(f, "my_saxpy", NULL, NULL, &geometry, &w, &e), 1);
	assert_int_equal(w.line, 7);
	/* each of the three names is tried */
	assert_int_equal(work_file_find(f, "_Z4gemmv", "void gemm<int, 3>(float*)", "gemm",
					&geometry, &w, &e),
			 1);
	assert_int_equal(w.line, 4);
	assert_int_equal(work_file_find(f, "_Z1v", "x", "gemm", &geometry, &w, &e), 1);
	assert_int_equal(w.line, 5);
	assert_int_equal(work_file_find(f, "12 x", NULL, NULL, &geometry, &w, &e), 1);
	assert_int_equal(w.bytes, 5);
	assert_int_equal(work_file_find(f, "other", "o", "o", &geometry, &w, &e), 0);
	assert_int_equal(work_file_unused(f, 0), 8);
	assert_int_equal(work_file_find(f, "never", NULL, NULL, &geometry, &w, &e), -1);
	assert_string_equal(e.text, "w:8:14: division by zero");
	assert_int_equal(work_file_unused(f, 0), 0);
	work_file_free(f);
}

static void unused_lines_follow(void **state)
{
	static const char text[] = "a bytes=1\n\nb bytes=2\nc bytes=3\n";
	struct work_file *f;
	struct work w;
	struct err e;

	(void)state;
	assert_int_equal(work_file_parse(&f, "w", text, strlen(text), &e), 0);
	assert_int_equal(work_file_find(f, "b", NULL, NULL, &geometry, &w, &e), 1);
	assert_int_equal(work_file_unused(f, 0), 1);
	assert_int_equal(work_file_unused(f, 1), 4);
	assert_int_equal(work_file_unused(f, 4), 0);
	work_file_free(f);
	work_file_free(NULL);
}

static void errors_name_the_place(void **state)
{
	static const struct {
		const char *line, *error;
	} rows[] = {
		{"k", "2: neither flops= nor bytes=, gemm( or attention( is given"},
		{"k  # flops=1", "4: neither flops= nor bytes=, gemm( or attention( is given"},
		{"k dtype=fp32", "13: neither flops= nor bytes=, gemm( or attention( is given"},
		{"k flops", "8: a = is missing behind flops"},
		{"k flops(1)", "8: a = is missing behind flops"},
		{"k flops=", "9: a number, a name or ( is missing"},
		{"k flops=1 flops=2", "17: the FLOPs were given before (flops)"},
		{"k flops=1 gemm(1,2,3)", "16: the FLOPs were given before (flops)"},
		{"k gemm(1,2,3) flops=1", "21: the FLOPs were given before (gemm)"},
		{"k gemm(1,2,3) attention(1,1,1,1,1)", "25: the FLOPs were given before (gemm)"},
		{"k bytes=1 bytes=2", "17: the bytes were given before"},
		{"k bytes=-1", "9: bytes is negative"},
		{"k flops=2gx", "10: gx is not known: flops=, bytes=, dtype=, gemm(, attention("},
		{"k flops=1 = 2", "11: flops=, bytes=, dtype=, gemm( or attention( is missing"},
		{"k flop=1", "3: flop is not known: flops=, bytes=, dtype=, gemm(, attention("},
		{"k bytes=1 dtype=fp17",
		 "17: fp17 is no type: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8 int4"},
		{"k bytes=1 dtype=", "17: a type is missing"},
		{"k dtype=fp16 gemm(1,2,3,fp32)", "25: the type was given before: fp16"},
		{"k gemm[1,2,3]", "7: a ( is missing behind gemm"},
		{"k gemm(1,2)", "11: a comma is missing"},
		{"k gemm(1,2,3", "13: a ) is missing behind gemm(..."},
		{"k gemm(1,2,3,fp16,4)", "18: a ) is missing behind gemm(..."},
		{"k gemm(1,2,3,4)", "14: 4 is no type: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8 int4"},
		{"k gemm(1,0,3)", "10: n is 0, and must be at least 1"},
		{"k gemm(1,2,-3)", "12: k is -3, and must be at least 1"},
		{"k gemm(gx/3,2,3)", "8: m is not a whole number: 1000/3"},
		{"k gemm(1e9,1e9,1e9)", "8: FLOPs or bytes exceed 64 bits"},
		{"k gemm(1e18,2,3)", "8: FLOPs or bytes exceed 64 bits"},
		{"k gemm(3e9,1,3e9,fp64) ", "8: FLOPs or bytes exceed 64 bits"},
		{"k gemm(2e9,1,2e9)", "8: FLOPs or bytes exceed 64 bits"},
		{"k attention(1,1,1,1)", "20: a comma is missing"},
		{"k attention(1,1,1,1,1,causa)",
		 "23: causa is no type: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8 int4"},
		{"k attention(1,1,1,1,1,causal,causal)", "30: causal was given before"},
		{"k attention(1,4,1,1,1,kvheads=3)", "23: 4 heads do not divide into kvheads=3"},
		{"k attention(1,4,1,1,1,kvheads=0)", "31: kvheads is 0, and must be at least 1"},
		{"k attention(1,4,1,1,1,kvheads=2,kvheads=2)", "33: kvheads was given before"},
		{"k attention(1,4,1,1,1,kvheads)", "30: a = is missing behind kvheads"},
		{"k attention(1,1,4e9,4e9,1)", "13: FLOPs or bytes exceed 64 bits"},
		{"k attention(1,1,9e18,9e18,1,causal)", "13: FLOPs or bytes exceed 64 bits"},
		{"a(b flops=1", "4: pattern: missing closing parenthesis at character 3"},
		{"\"a b flops=1", "1: the \" is not closed"},
		{"\"\" flops=1", "1: the pattern is empty"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct work w = WORK_INIT;
		struct work_file *f;
		struct err e = {0};
		char text[256], error[256];
		int rc;

		/* as the third line, after one that is never reached */
		snprintf(text, sizeof(text), "# c\nzzz flops=1\n%s\nzzz bytes=2", rows[i].line);
		snprintf(error, sizeof(error), "dir/w.txt:3:%s", rows[i].error);
		rc = work_file_parse(&f, "dir/w.txt", text, strlen(text), &e);
		if (rc == 0) {
			assert_int_equal(work_file_find(f, "k", NULL, NULL, &geometry, &w, &e), -1);
			assert_int_equal(w.kind, WORK_NONE);
			work_file_free(f);
		}
		assert_string_equal(e.text, error);
		assert_int_equal(e.code, ERR_USAGE);
	}
}

static void bytes_that_are_no_text(void **state)
{
	static const char *const texts[] = {"k flops=1\0 ", "k\0 flops=1 ", "\0 flops=1   ",
					    "\"k\0\" flops=1"};
	struct work_file *f;
	struct err e;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(work_file_parse(&f, "w", texts[i], 11, &e), -1);
		assert_non_null(strstr(e.text, "NUL"));
	}
	/* every part of a good file: an error or an answer, and no byte too far */
	for (size_t n = 0; n <= strlen(file_text); n++) {
		struct tail_copy copy = tail_copy(file_text, n);

		if (work_file_parse(&f, "w", copy.data, n, &e) == 0)
			work_file_free(f);
		tail_free(&copy);
	}
}

static void files_are_read(void **state)
{
	char dir[256], path[300];
	struct work_file *f;
	struct work w;
	struct err e;
	FILE *out;

	(void)state;
	temp_dir(dir);
	snprintf(path, sizeof(path), "%s/work", dir);
	assert_int_equal(work_file_read(&f, path, &e), -1);
	assert_int_equal(e.code, ERR_IO);
	assert_non_null(strstr(e.text, "No such file"));
	assert_int_equal(work_file_read(&f, dir, &e), -1);
	assert_int_equal(e.code, ERR_IO);
	out = fopen(path, "w");
	assert_non_null(out);
	for (int i = 0; i < 20000; i++)
		fprintf(out, "k%d$ flops=%d\n", i, i);
	fclose(out);
	assert_int_equal(work_file_read(&f, path, &e), 0);
	assert_int_equal(work_file_find(f, "k19999", NULL, NULL, &geometry, &w, &e), 1);
	assert_int_equal(w.flops, 19999);
	work_file_free(f);
	out = fopen(path, "w");
	assert_non_null(out);
	fclose(out);
	assert_int_equal(work_file_read(&f, path, &e), 0);
	assert_int_equal(work_file_find(f, "k", NULL, NULL, &geometry, &w, &e), 0);
	work_file_free(f);
	remove_dir(dir);
}

/* ------------------------------------------------------------------------------------- options */

static void options(void **state)
{
	struct work w = WORK_INIT;
	struct err e;

	(void)state;
	assert_int_equal(work_option(&w, "--bytes", "12*gx", &geometry, &e), 0);
	assert_int_equal(w.kind, WORK_BYTES);
	assert_int_equal(work_option(&w, "--flops", "2*gx", &geometry, &e), 0);
	assert_int_equal(w.kind, WORK_FORMULA);
	assert_int_equal(w.flops, 2000);
	assert_int_equal(w.bytes, 12000);
	assert_int_equal(work_option(&w, "--gemm", "1,2,3", &geometry, &e), -1);
	assert_string_equal(e.text, "--gemm, character 1: the FLOPs were given before (flops)");
	assert_int_equal(w.kind, WORK_FORMULA);
	w = (struct work)WORK_INIT;
	assert_int_equal(work_option(&w, "--gemm", "4096, 4096, 1024, fp16", &geometry, &e), 0);
	assert_int_equal(w.flops, 34359738368);
	assert_int_equal(w.bytes, 2 * (2 * 4096 * 1024 + 4096 * 4096));
	assert_int_equal(work_option(&w, "--bytes", "1", &geometry, &e), 0);
	assert_int_equal(w.bytes, 1);
	assert_int_equal(w.kind, WORK_GEMM);
	w = (struct work)WORK_INIT;
	assert_int_equal(work_option(&w, "--attention", "1,8,64,64,32,causal,kvheads=2,bf16",
				     &geometry, &e),
			 0);
	assert_int_equal(w.flops, 2 * 8 * 64 * 64 * 32);
}

/* Without a geometry the notation is checked, and no figure made. */
static void options_are_checked(void **state)
{
	struct work w = WORK_INIT;
	struct err e;

	(void)state;
	assert_int_equal(work_option(&w, "--gemm", "gx/0,1,1,fp16", NULL, &e), 0);
	assert_int_equal(w.kind, WORK_GEMM);
	assert_int_equal(w.flops, -1);
	assert_int_equal(w.bytes, -1);
	assert_int_equal(work_option(&w, "--flops", "1", NULL, &e), -1);
	assert_string_equal(e.text, "--flops, character 1: the FLOPs were given before (gemm)");
	assert_int_equal(work_option(&w, "--bytes", "1 2", NULL, &e), -1);
	assert_string_equal(e.text, "--bytes, character 3: the rest was not understood");
	assert_int_equal(work_option(&w, "--bytes", "", NULL, &e), -1);
	assert_int_equal(work_option(&w, "--dtype", "fp16", NULL, &e), -1);
	assert_string_equal(e.text, "--dtype says nothing of the work");
	assert_int_equal(work_option(&w, "--bytes", "gx", NULL, &e), 0);
	assert_int_equal(w.bytes, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(dims),
		cmocka_unit_test(types),
		cmocka_unit_test(type_comes_later),
		cmocka_unit_test(first_line_counts),
		cmocka_unit_test(unused_lines_follow),
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(options),
		cmocka_unit_test(options_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
