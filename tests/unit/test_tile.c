/*
 * test_tile.c - what loops compute and load: the published cases, nests and samples against figures that
 * were read from their disassembly; single instructions put into a loop; trips against changed bounds.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "cubin.h"
#include "tile.h"

#define GOLDEN "tests/golden/"

struct loaded {
	uint8_t *data;
	struct cubin cubin;
	struct arena *arena;
	struct cfg g;
	struct tiles tiles;
};

/* An instruction that takes the place of the one at `at`. */
struct patch {
	uint32_t at; /* byte offset in the function */
	uint64_t hi, lo;
};

static struct loaded load_patched(const char *file, const char *function,
				  const struct patch *patches, size_t n)
{
	struct loaded l = {0};
	struct err e = {0};
	char path[160];
	size_t bytes, f = 0;

	snprintf(path, sizeof(path), GOLDEN "%s.cubin", file);
	l.data = load_file(path, &bytes);
	if (cubin_open(&l.cubin, buf_of(l.data, bytes), &e) < 0)
		fail_msg("%s: %s", path, e.text);
	while (f < l.cubin.functions_n && strcmp(l.cubin.functions[f].name, function))
		f++;
	if (f == l.cubin.functions_n)
		fail_msg("%s: no %s", path, function);
	for (size_t i = 0; i < n; i++) {
		const size_t code = (size_t)(l.cubin.functions[f].code.data - l.data);

		memcpy(l.data + code + patches[i].at, &patches[i].lo, 8);
		memcpy(l.data + code + patches[i].at + 8, &patches[i].hi, 8);
	}
	l.arena = arena_new();
	assert_non_null(l.arena);
	if (cfg_build(&l.g, l.arena, (int)l.cubin.sm, &l.cubin.functions[f], &e) != 0 ||
	    tile_read(&l.g, l.arena, &l.tiles, &e) != 0)
		fail_msg("%s %s: %s", path, function, e.text);
	return l;
}

static struct loaded load(const char *file, const char *function)
{
	return load_patched(file, function, NULL, 0);
}

static void drop(struct loaded *l)
{
	arena_free(l->arena);
	cubin_close(&l->cubin);
	free(l->data);
}

static void put_number(char *out, size_t bytes, double v)
{
	if (isnan(v))
		snprintf(out, bytes, "-");
	else
		snprintf(out, bytes, "%.4g", v);
}

/* All that is said of a loop but where it is, as text, so that a difference shows whole. */
static void tile_line(char *out, size_t bytes, const struct loaded *l, const struct tile *t)
{
	char ratio[32], raw[32], known[160];

	put_number(ratio, sizeof(ratio), t->ratio);
	put_number(raw, sizeof(raw), t->ratio_raw);
	snprintf(known, sizeof(known), "%s%s%s%s", tile_class_name(t->class), t->async ? " " : "",
		 tile_async_name(t->async), t->reason == TILE_KNOWN ? "" : " ?");
	snprintf(
		out, bytes,
		"%sd%u %s%s trips %llu | %llu %s guarded %llu other %llu | %llu loads guarded %llu "
		"async %llu unsized %llu, %llu B | bar %llu wait %llu call %llu bad %llu | %s raw %s %s%s",
		t == tile_loop(&l->tiles) ? "*" : "", t->depth, t->is_innermost ? "inner" : "outer",
		t->is_joined                ? " joined"
		: t->joined_to != TILE_NONE ? " part"
					    : "",
		(unsigned long long)t->trips, (unsigned long long)t->compute_ops,
		t->compute_op ? t->compute_op : "-", (unsigned long long)t->guarded_ops,
		(unsigned long long)t->other_ops, (unsigned long long)t->load_ops,
		(unsigned long long)t->guarded_loads, (unsigned long long)t->async_copies,
		(unsigned long long)t->unsized_loads, (unsigned long long)t->load_bytes,
		(unsigned long long)t->barriers, (unsigned long long)t->mbarrier_waits,
		(unsigned long long)t->calls, (unsigned long long)t->undecoded, ratio, raw, known,
		tile_reason_text(t->reason));
}

/* The loops of a function are these lines; where one begins and ends is checked by itself. */
static void check(const char *file, const char *function, const char *const *lines)
{
	struct loaded l = load(file, function);
	uint32_t n = 0;
	char found[512];

	while (lines[n])
		n++;
	assert_int_equal(l.tiles.n, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct tile *t = &l.tiles.at[i];

		tile_line(found, sizeof(found), &l, t);
		if (strcmp(found, lines[i]))
			fail_msg("%s %s, loop %u:\n  found    %s\n  expected %s", file, function, i,
				 found, lines[i]);
		assert_true(t->start < t->end);
		assert_true(!i || t[-1].start <= t->start);
		assert_int_equal(t->start, l.g.loops[t->loop].first * SASS_BYTES);
		assert_int_equal(t->end, l.g.loops[t->loop].last * SASS_BYTES);
	}
	drop(&l);
}

static void check_architectures(const char *stem, const char *function, const char *const *archs,
				const char *const *lines)
{
	for (; *archs; archs++) {
		char file[96];

		snprintf(file, sizeof(file), "%s.sm_%s", stem, *archs);
		check(file, function, lines);
	}
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_LINES   ((const char *const[]){NULL})
#define TILE_ARCHS LINES("80", "86", "90", "100", "120")
#define ALL_ARCHS  LINES("80", "86", "89", "90", "100", "120")

#define NONE "no loads from global memory"
#define OPEN "a loop within runs a number of times that the code does not prove"
#define REST "bar 0 wait 0 call 0 bad 0 | "
#define DRY  "0 loads guarded 0 async 0 unsized 0, 0 B | " REST "- raw -  ?" NONE

/* ------------------------------------------------------------------------------------- kernels */

static void test_published(void **state)
{
	(void)state;
	check_architectures(
		"tile/published", "hmma_64", TILE_ARCHS,
		LINES("*d1 inner trips 0 | 64 HMMA guarded 0 other 0 | 2 loads guarded 0 "
		      "async 0 unsized 0, 1024 B | bar 2 wait 0 call 0 bad 0 | 32 raw 32 "
		      "high detrimental"));
	check_architectures(
		"tile/published", "imma_8", TILE_ARCHS,
		LINES("*d1 inner trips 0 | 8 IMMA guarded 0 other 0 | 4 loads guarded 0 "
		      "async 0 unsized 0, 2048 B | bar 2 wait 0 call 0 bad 0 | 2 raw 2 "
		      "low beneficial"));
	check_architectures(
		"tile/published", "hmma_async", TILE_ARCHS,
		LINES("*d1 inner trips 0 | 8 HMMA guarded 0 other 0 | 2 loads guarded 0 "
		      "async 2 unsized 0, 1024 B | bar 2 wait 0 call 0 bad 0 | 4 raw 4 "
		      "low in use"));
}

static void test_nests(void **state)
{
	static const char *const within[] = {"nest_open", "nest_break"};

	(void)state;
	check_architectures(
		"tile/nests", "nest_deep", TILE_ARCHS,
		LINES("*d1 outer joined trips 0 | 96 FFMA guarded 0 other 0 | 2 loads guarded 0 async 0 "
		      "unsized 0, 256 B | bar 2 wait 0 call 0 bad 0 | 192 raw 48 high detrimental",
		      "d2 outer part trips 4 | 0 - guarded 0 other 0 | " DRY,
		      "d3 inner part trips 8 | 3 FFMA guarded 0 other 0 | " DRY));
	check_architectures(
		"tile/nests", "nest_down", TILE_ARCHS,
		LINES("*d1 outer joined trips 0 | 12 FFMA guarded 0 other 0 | 1 loads guarded 0 async 0 "
		      "unsized 0, 128 B | bar 2 wait 0 call 0 bad 0 | 48 raw 12 high detrimental",
		      "d2 inner part trips 7 | 1 FFMA guarded 0 other 0 | " DRY,
		      "d2 inner part trips 5 | 1 FFMA guarded 0 other 0 | " DRY));
	for (int i = 0; i < 2; i++)
		check_architectures(
			"tile/nests", within[i], TILE_ARCHS,
			LINES("d1 outer trips 0 | 0 - guarded 0 other 0 | 1 loads guarded 0 async 0 "
			      "unsized 0, 128 B | bar 2 wait 0 call 0 bad 0 | - raw -  ?" OPEN,
			      "*d2 inner trips 0 | 1 FFMA guarded 0 other 0 | " DRY));
}

static void test_guards(void **state)
{
	(void)state;
	check_architectures(
		"tile/nests", "pipelined", TILE_ARCHS,
		LINES("*d1 inner trips 0 | 32 FFMA guarded 0 other 0 | 1 loads guarded 1 "
		      "async 0 unsized 0, 128 B | bar 1 wait 0 call 0 bad 0 | 128 raw 32 "
		      "high detrimental"));
	check_architectures(
		"tile/nests", "two_latches", TILE_ARCHS,
		LINES("*d1 inner trips 0 | 1 FFMA guarded 1 other 0 | 3 loads guarded 2 "
		      "async 0 unsized 0, 384 B | " REST "1.333 raw 0.3333 low beneficial"));
}

#define FFMA_LOOP(star, ffma, ldg, bytes)                                  \
	star "d1 inner trips 0 | " #ffma " FFMA guarded 0 other 0 | " #ldg \
	     " loads guarded 0 async 0 unsized 0, " #bytes " B | " REST "4 raw 0.5 low beneficial"
#define HMMA_LOOP(star, hmma, ldg, bytes)                                  \
	star "d1 inner trips 0 | " #hmma " HMMA guarded 0 other 0 | " #ldg \
	     " loads guarded 0 async 0 unsized 0, " #bytes " B | " REST    \
	     "2.667 raw 0.6667 low beneficial"
#define STREAM(bytes)                                                                             \
	"d1 inner trips 0 | 0 - guarded 0 other 0 | 1 loads guarded 0 async 0 unsized 0, " #bytes \
	" B | " REST "0 raw 0 low beneficial"

/* Unrolled by 16, 4 and 1 up to sm_90, by 16 and 1 from then on; the good one by 4 and 1, and 2. */
static void test_samples(void **state)
{
	(void)state;
	check_architectures("cubin/gemm_bad", "gemm_bad", LINES("80", "86", "89", "90"),
			    LINES(FFMA_LOOP("*", 16, 32, 2048), FFMA_LOOP("", 4, 8, 512),
				  FFMA_LOOP("", 1, 2, 128)));
	check_architectures("cubin/gemm_bad", "gemm_bad", LINES("100", "120"),
			    LINES(FFMA_LOOP("*", 16, 32, 2048), FFMA_LOOP("", 1, 2, 128)));
	check_architectures("cubin/gemm_good", "gemm_good", LINES("80", "86", "89", "90"),
			    LINES(HMMA_LOOP("*", 64, 96, 12288), HMMA_LOOP("", 16, 24, 3072)));
	check_architectures("cubin/gemm_good", "gemm_good", LINES("100", "120"),
			    LINES(HMMA_LOOP("*", 32, 48, 6144)));
	check_architectures("cubin/memory_stream_bad", "memory_stream_bad", ALL_ARCHS,
			    LINES(STREAM(128)));
	check_architectures("cubin/memory_stream_good", "memory_stream_good", ALL_ARCHS,
			    LINES(STREAM(512)));
	/* the compiler has unrolled their loops away */
	check_architectures("cubin/pointer_chase_bad", "pointer_chase_bad", ALL_ARCHS, NO_LINES);
	check_architectures("cubin/pointer_chase_good", "pointer_chase_good", ALL_ARCHS, NO_LINES);
}

/* A warp that copies in bulk, others that multiply, and loops that wait: none of these hides a tile. */
static void test_specialised(void **state)
{
	const char *const wait =
		"d2 inner trips 0 | 0 - guarded 0 other 0 | 0 loads guarded 0 async 0 "
		"unsized 0, 0 B | bar 0 wait 1 call 0 bad 0 | - raw -  ?" NONE;

	(void)state;
	check("loops/gemm.sm_90", "gemm_specialised",
	      LINES("d1 inner trips 4 | 0 - guarded 0 other 0 | " DRY,
		    "*d1 outer trips 0 | 2 HMMA guarded 0 other 0 | 0 loads guarded 0 async 0 unsized 0, "
		    "0 B | bar 0 wait 1 call 0 bad 0 | - raw -  ?" NONE,
		    "d1 outer trips 0 | 0 - guarded 0 other 0 | 1 loads guarded 0 async 1 unsized 1, 0 B | "
		    "bar 0 wait 1 call 0 bad 0 | - raw 0  in use ?the size of a bulk or tensor copy is not "
		    "in the instruction",
		    wait, wait));
}

/* Loads of its own beside a tile within: the outer loop has no ratio. */
static void test_outer(void **state)
{
	(void)state;
	check_architectures(
		"tile/nests", "nest_outer", TILE_ARCHS,
		LINES("d1 outer trips 0 | 0 - guarded 0 other 0 | 1 loads guarded 0 async 0 unsized 0, 128 B "
		      "| " REST "- raw -  ?the loops within it are tiles of their own",
		      "*d2 inner trips 0 | 2 FFMA guarded 0 other 0 | 1 loads guarded 0 async 0 unsized 0, "
		      "128 B | " REST "8 raw 2 medium neutral"));
}

/* The operation with most FLOPs gives its name; FFMA and its like count together. */
static void test_halves(void **state)
{
	struct loaded l = load("tile/nests.sm_80", "halves");
	const struct tile *t = l.tiles.at;

	(void)state;
	assert_int_equal(l.tiles.n, 1);
	assert_string_equal(t->compute_op, "HFMA2");
	assert_int_equal(t->compute_ops, 3 + 2 + 1);
	assert_int_equal(t->flops, 32 * (3 * 4 + 2 * 2 + 1 * 2));
	assert_int_equal(t->load_bytes, 32 * (4 + 4 + 8));
	assert_float_equal(t->ratio, 6, 1e-9);
	assert_int_equal(t->class, TILE_MEDIUM);
	drop(&l);
}

static void test_far_call(void **state)
{
	struct loaded l = load("loops/gemm.sm_120", "gemm_specialised");
	unsigned n = 0;

	(void)state;
	for (uint32_t i = 0; i < l.tiles.n; i++) {
		const struct tile *t = &l.tiles.at[i];

		if (!t->calls)
			continue;
		assert_int_equal(t->reason, TILE_CALL);
		assert_true(isnan(t->ratio_raw));
		n++;
	}
	assert_int_equal(n, 1);
	drop(&l);
}

/* ------------------------------------------------------------------------------------- instructions */

static uint32_t find_op(const struct loaded *l, const char *op, uint32_t from)
{
	uint32_t i = from / SASS_BYTES;

	while (i < l->g.insns_n && strcmp(sass_op(&l->g.insns[i]), op))
		i++;
	assert_true(i < l->g.insns_n);
	return i * SASS_BYTES;
}

/* The only loop of a kernel with one instruction replaced by another. */
static struct loaded replace(const char *file, const char *op, uint64_t hi, uint64_t lo)
{
	struct loaded l = load(file, "pipelined");
	const struct patch p = {find_op(&l, op, l.tiles.at[0].start), hi, lo};

	assert_true(p.at < l.tiles.at[0].end);
	drop(&l);
	l = load_patched(file, "pipelined", &p, 1);
	assert_int_equal(l.tiles.n, 1);
	return l;
}

static void test_warpgroup(void **state)
{
	/* HGMMA.64x64x16.F32 R88, R24, gdesc[UR16], R88, gsb0 */
	struct loaded l =
		replace("tile/nests.sm_90", "FFMA", 0x000fe20008000858, 0x00e0001018587df0);
	const struct tile *t = l.tiles.at;

	(void)state;
	assert_string_equal(t->compute_op, "HGMMA");
	assert_int_equal(t->compute_ops, 1);
	assert_int_equal(t->other_ops, 31);
	assert_int_equal(t->flops, 2 * 64 * 64 * 16 / 4);
	assert_true(t->is_matrix);
	assert_float_equal(t->ratio, 8 / 0.25, 1e-9);
	assert_float_equal(t->ratio_raw, 1, 1e-9);
	drop(&l);
}

static void test_shapeless(void **state)
{
	/* UTCHMMA gdesc[UR42], gdesc[UR48], tmem[UR16], tmem[UR24], idesc[UR25], UPT */
	struct loaded l =
		replace("tile/nests.sm_100", "FFMA", 0x0003e2000b800010, 0x00ff18302a0075ea);
	const struct tile *t = l.tiles.at;

	(void)state;
	assert_string_equal(t->compute_op, "UTCHMMA");
	assert_int_equal(t->flops, 0);
	assert_int_equal(t->reason, TILE_SHAPE);
	assert_true(isnan(t->ratio));
	assert_float_equal(t->ratio_raw, 1, 1e-9);
	assert_int_equal(t->class, TILE_UNCLASSED);
	assert_int_equal(t->async, TILE_ASYNC_UNKNOWN);
	drop(&l);
}

static void test_tensor_copy(void **state)
{
	/* UTMALDG.3D [UR32], [UR62], desc[UR6] */
	struct loaded l =
		replace("tile/nests.sm_100", "LDG", 0x0003e20008011000, 0x000006203e0075b4);
	const struct tile *t = l.tiles.at;

	(void)state;
	assert_int_equal(t->load_ops, 1);
	assert_int_equal(t->unsized_loads, 1);
	assert_int_equal(t->load_bytes, 0);
	assert_int_equal(t->reason, TILE_SIZE);
	assert_true(isnan(t->ratio));
	assert_float_equal(t->ratio_raw, 32, 1e-9);
	assert_int_equal(t->class, TILE_UNCLASSED);
	assert_int_equal(t->async, TILE_IN_USE);
	drop(&l);
}

static void test_generic(void **state)
{
	/* LD.E R33, desc[UR6][R22.64] */
	struct loaded l =
		replace("tile/nests.sm_90", "FFMA", 0x0000a2000c101900, 0x0000000616217980);

	(void)state;
	assert_int_equal(l.tiles.at->other_loads, 1);
	assert_int_equal(l.tiles.at->load_ops, 1);
	assert_int_equal(l.tiles.at->reason, TILE_OTHER_LOADS);
	assert_true(isnan(l.tiles.at->ratio_raw));
	drop(&l);
}

/* BAR.ARV waits for nobody; a move by HFMA2 computes nothing. */
static void test_not_counted(void **state)
{
	/* BAR.ARV R0, 0x100; HFMA2.MMA R11, -RZ, RZ, 0, 0 */
	struct loaded l =
		replace("tile/nests.sm_90", "FFMA", 0x0003ec0000002000, 0x000400000000751d);

	(void)state;
	assert_int_equal(l.tiles.at->barriers, 1);
	assert_int_equal(l.tiles.at->compute_ops, 31);
	drop(&l);
	l = replace("tile/nests.sm_90", "FFMA", 0x000fe200000001ff, 0x00000000ff0b7435);
	assert_int_equal(l.g.undecoded, 0);
	assert_int_equal(l.tiles.at->compute_ops, 31);
	assert_int_equal(l.tiles.at->other_ops, 0);
	drop(&l);
}

static void test_undecoded(void **state)
{
	struct loaded l = replace("tile/nests.sm_90", "FFMA", UINT64_MAX, UINT64_MAX);
	const struct tile *t = l.tiles.at;

	(void)state;
	assert_int_equal(t->undecoded, 1);
	assert_int_equal(t->compute_ops, 31);
	assert_int_equal(t->reason, TILE_UNDECODED);
	assert_true(isnan(t->ratio));
	assert_true(isnan(t->ratio_raw));
	assert_int_equal(t->class, TILE_UNCLASSED);
	assert_string_equal(tile_reason_text(t->reason), "an instruction is not decoded");
	drop(&l);
}

/* ------------------------------------------------------------------------------------- trips */

/* Trips of the innermost loop of nest_deep on sm_90, IADD3 R2, 0x10 from 0x1000, with another bound. */
static uint64_t trips_with(uint32_t bound)
{
	struct loaded l = load("tile/nests.sm_90", "nest_deep");
	const uint32_t at = find_op(&l, "ISETP", l.tiles.at[2].start);
	const struct sass_word w = l.g.insns[at / SASS_BYTES].word;
	const struct patch p = {at, w.hi, (w.lo & UINT32_MAX) | (uint64_t)bound << 32};
	uint64_t trips;

	assert_int_equal(w.lo >> 32, 0x1080);
	drop(&l);
	l = load_patched("tile/nests.sm_90", "nest_deep", &p, 1);
	trips = l.tiles.at[2].trips;
	/* what is not proven is not joined */
	assert_int_equal(l.tiles.at[0].is_joined, trips != 0);
	assert_int_equal(l.tiles.at[0].compute_ops, trips ? 4 * 3 * trips : 0);
	assert_int_equal(l.tiles.at[0].reason, trips ? TILE_KNOWN : TILE_TRIPS);
	drop(&l);
	return trips;
}

static void test_trips(void **state)
{
	(void)state;
	assert_int_equal(trips_with(0x1080), 8);
	assert_int_equal(trips_with(0x1010), 1);
	assert_int_equal(trips_with(0x1000 + 16 * 65536), 65536);
	assert_int_equal(trips_with(0x1000 + 16 * 65537), 0); /* more than are counted */
	assert_int_equal(trips_with(0x1081), 0);              /* never equal */
}

/* A step that a predicate guards proves nothing. */
static void test_no_proof(void **state)
{
	struct loaded l = load("tile/nests.sm_90", "nest_deep");
	const uint32_t step = find_op(&l, "IADD3", l.tiles.at[2].start);
	const struct sass_word w = l.g.insns[step / SASS_BYTES].word;
	const struct patch guarded = {step, w.hi, w.lo & ~UINT64_C(0xf000)};

	(void)state;
	assert_int_equal(l.tiles.at[2].trips, 8);
	drop(&l);
	l = load_patched("tile/nests.sm_90", "nest_deep", &guarded, 1);
	assert_int_equal(l.g.insns[step / SASS_BYTES].guard, 0);
	assert_int_equal(l.tiles.at[2].trips, 0);
	drop(&l);
}

/* A second step behind the comparison: 0x1010, 0x1030 ... are what it sees. */
static void test_two_steps(void **state)
{
	struct loaded l = load("tile/nests.sm_90", "nest_deep");
	const uint32_t start = l.tiles.at[2].start, compare = find_op(&l, "ISETP", start);
	const struct sass_word step = l.g.insns[find_op(&l, "IADD3", start) / SASS_BYTES].word;
	const struct sass_word w = l.g.insns[compare / SASS_BYTES].word;
	const struct patch patches[] = {
		{find_op(&l, "FFMA", compare), step.hi, step.lo},
		{compare, w.hi, (w.lo & UINT32_MAX) | UINT64_C(0x1090) << 32},
	};

	(void)state;
	drop(&l);
	l = load_patched("tile/nests.sm_90", "nest_deep", patches, 1);
	assert_int_equal(l.tiles.at[2].trips, 0);
	drop(&l);
	l = load_patched("tile/nests.sm_90", "nest_deep", patches, 2);
	assert_int_equal(l.tiles.at[2].trips, 5);
	drop(&l);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(tile_class_name(TILE_MEDIUM), "medium");
	assert_string_equal(tile_async_name(TILE_NEUTRAL), "neutral");
	for (int r = TILE_KNOWN + 1; r < TILE_REASONS; r++)
		assert_true(strlen(tile_reason_text((enum tile_reason)r)) > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),   cmocka_unit_test(test_nests),
		cmocka_unit_test(test_guards),      cmocka_unit_test(test_samples),
		cmocka_unit_test(test_specialised), cmocka_unit_test(test_warpgroup),
		cmocka_unit_test(test_shapeless),   cmocka_unit_test(test_tensor_copy),
		cmocka_unit_test(test_generic),     cmocka_unit_test(test_not_counted),
		cmocka_unit_test(test_undecoded),   cmocka_unit_test(test_trips),
		cmocka_unit_test(test_no_proof),    cmocka_unit_test(test_two_steps),
		cmocka_unit_test(test_outer),       cmocka_unit_test(test_halves),
		cmocka_unit_test(test_far_call),    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
