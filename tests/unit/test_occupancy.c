/*
 * test_occupancy.c - the occupancy rules against the vendor's own calculator: byte by byte where its
 * header is installed, against stored answers of it everywhere; and the published examples.
 * KBN_GOLDEN_UPDATE=1 rewrites the stored answers (needs the header).
 */
#include "kbn_test.h"

#include <math.h>

#include "occupancy.h"

#define GOLDEN "tests/golden/occupancy.txt"

static const struct arch *arch(int sm)
{
	bool exact;
	const struct arch *a = arch_find(sm, &exact);

	assert_non_null(a);
	assert_true(exact);
	return a;
}

static struct occupancy compute(const struct arch *a, int registers, int threads, int64_t smem)
{
	struct occupancy_input in = {.registers = registers,
				     .block_threads = threads,
				     .static_smem_bytes = smem,
				     .barriers = 0,
				     .carveout = -1,
				     .sm_count = -1};
	struct occupancy o;

	occupancy_compute(&o, a, &in);
	return o;
}

/* The published register steps for 256 threads on sm_86. */
static void register_steps(void **state)
{
	static const struct {
		int registers, blocks;
	} steps[] = {{40, 6}, {48, 5}, {64, 4}, {80, 3}, {128, 2}};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(compute(arch(86), steps[i].registers, 256, 0).blocks_per_sm,
				 steps[i].blocks);
		if (steps[i].registers != 40) /* 40 to 41 stays within the unit of 8 */
			assert_int_equal(compute(arch(86), steps[i].registers, 256, 0).limiter,
					 LIMIT_REGISTERS);
	}
}

/* The exact cliffs of the table, and one byte past each. */
static void cliffs(void **state)
{
	static const struct {
		int sm;
		int64_t most[8];
	} rows[] = {
		{86, {101376, 50176, 33024, 24576, 19456, 16000, 0, 11776}},
		{89, {101376, 50176, 33024, 24576, 19456, 16000, 0, 11776}},
		{120, {101376, 50176, 33024, 24576, 19456, 16000, 0, 11776}},
		{80, {166912, 82944, 54912, 40960, 32512, 26880, 0, 19968}},
		{90, {232448, 115712, 76800, 57344, 45568, 37888, 0, 28160}},
		{103, {232448, 115712, 76800, 57344, 45568, 37888, 0, 28160}},
		{75, {65536, 32768, 21760, 16384, 13056, 0, 0, 8192}},
		{70, {98304, 49152, 32768, 24576, 19456, 16384, 0, 12288}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int k = 1; k <= 8; k++) {
			const struct arch *a = arch(rows[i].sm);
			int64_t most = rows[i].most[k - 1];

			if (!most)
				continue;
			assert_int_equal(smem_usable(a, k), most);
			assert_int_equal(compute(a, 16, 32, most).limits[LIMIT_SMEM], k);
			assert_int_equal(compute(a, 16, 32, most + 1).limits[LIMIT_SMEM], k - 1);
		}
}

static void cliff_of_a_kernel(void **state)
{
	struct occupancy_input in = {.registers = 32,
				     .block_threads = 128,
				     .static_smem_bytes = 0,
				     .dyn_smem_bytes = 50177,
				     .carveout = -1,
				     .sm_count = -1};
	struct smem_cliff c;

	(void)state;
	assert_true(smem_cliff_compute(&c, arch(86), &in));
	assert_true(c.above_cliff);
	assert_int_equal(c.blocks_per_sm, 1);
	assert_int_equal(c.to_next_step_bytes, 1);
	assert_int_equal(c.to_cliff_bytes, 101376 - 50177); /* one block: to the most it may have */
	assert_int_equal(c.double_buffer_bytes, 100354);
	assert_int_equal(c.double_buffer_blocks_per_sm, 1);
	in.dyn_smem_bytes = 50176;
	assert_true(smem_cliff_compute(&c, arch(86), &in));
	assert_false(c.above_cliff);
	assert_int_equal(c.blocks_per_sm, 2);
	assert_int_equal(c.to_cliff_bytes, 0); /* at the edge */
	assert_int_equal(c.max_bytes_for[0], 101376);
	assert_int_equal(c.max_bytes_for[1], 50176);
	/* one block anyway: shared memory is not to blame */
	in.dyn_smem_bytes = 60000;
	in.block_threads = 1024;
	assert_true(smem_cliff_compute(&c, arch(86), &in));
	assert_false(c.above_cliff);
	in.dyn_smem_bytes = 60 * 1024;
	assert_true(smem_cliff_compute(&c, arch(86), &in));
	assert_int_equal(c.double_buffer_blocks_per_sm, 0);
	in.registers = -1;
	assert_false(smem_cliff_compute(&c, arch(86), &in));
}

/* Exactly so many bytes: with them as many blocks as before, with one more there are fewer. */
static void bytes_to_the_cliff(void **state)
{
	static const int sms[] = {75, 80, 86, 90, 100, 120};
	struct occupancy_input in = {.carveout = -1, .sm_count = -1};

	(void)state;
	for (size_t i = 0; i < sizeof(sms) / sizeof(*sms); i++)
		for (int64_t bytes = 0; bytes < 110000; bytes += 977)
			for (in.registers = 16; in.registers <= 128; in.registers += 56) {
				struct smem_cliff c, at, past;

				in.block_threads = 32 + (int)(bytes % 7) * 32;
				in.static_smem_bytes = bytes % 2000;
				in.dyn_smem_bytes = bytes - in.static_smem_bytes;
				assert_true(smem_cliff_compute(&c, arch(sms[i]), &in));
				if (c.blocks_per_sm == 0) {
					assert_int_equal(c.to_cliff_bytes, -1);
					continue;
				}
				assert_true(c.to_cliff_bytes >= 0);
				in.dyn_smem_bytes += c.to_cliff_bytes;
				assert_true(smem_cliff_compute(&at, arch(sms[i]), &in));
				assert_int_equal(at.blocks_per_sm, c.blocks_per_sm);
				in.dyn_smem_bytes++;
				assert_true(smem_cliff_compute(&past, arch(sms[i]), &in));
				assert_true(past.blocks_per_sm < c.blocks_per_sm);
			}
}

/* 2048 blocks on 148 SMs with 8 each: 1.73 waves, the last 73% full. */
static void waves(void **state)
{
	struct occupancy_input in = {.registers = 32,
				     .block_threads = 256,
				     .carveout = -1,
				     .grid_blocks = 2048,
				     .sm_count = 148};
	struct occupancy o;

	(void)state;
	occupancy_compute(&o, arch(100), &in);
	assert_int_equal(o.blocks_per_sm, 8);
	assert_float_equal(o.waves, 1.7297, 0.0001);
	assert_float_equal(o.last_wave_pct, 72.97, 0.01);
	assert_float_equal(o.tail_waste_pct, 13.51, 0.01);
	in.grid_blocks = 148 * 8 * 3;
	occupancy_compute(&o, arch(100), &in);
	assert_float_equal(o.waves, 3, 0);
	assert_int_equal(o.grid_warps_per_sm, -1);
	assert_float_equal(o.last_wave_pct, 100, 0);
	assert_float_equal(o.tail_waste_pct, 0, 0);
	in.grid_blocks = 37;
	occupancy_compute(&o, arch(100), &in);
	assert_float_equal(o.waves, 37.0 / 1184, 1e-9);
	assert_int_equal(o.grid_warps_per_sm, o.warps_per_block); /* 37 blocks, one on an SM */
	assert_false(o.enough_is_published);
	assert_float_equal(o.last_wave_pct, 3.125, 1e-9);
	in.sm_count = -1;
	occupancy_compute(&o, arch(100), &in);
	assert_true(isnan(o.waves) && isnan(o.tail_waste_pct));
}

/* What is missing must not turn into a number; what is decided without it stays decided. */
static void unknowns(void **state)
{
	struct occupancy o = compute(arch(90), -1, 256, 0);
	struct occupancy_input in = {.registers = 32,
				     .block_threads = 256,
				     .barriers = -1,
				     .carveout = -1,
				     .sm_count = 132,
				     .cluster_blocks = 4,
				     .grid_blocks = 1000};

	(void)state;
	assert_int_equal(o.blocks_per_sm, OCCUPANCY_UNKNOWN);
	assert_int_equal(o.limiter, -1);
	assert_int_equal(o.enough_warps, -1);
	assert_true(isnan(o.pct));
	assert_non_null(o.why);
	o = compute(arch(90), -1, 256, 233000);
	assert_int_equal(o.blocks_per_sm, 0);
	o = compute(arch(90), 32, 0, 0);
	assert_int_equal(o.blocks_per_sm, OCCUPANCY_UNKNOWN);
	occupancy_compute(&o, arch(90), &in);
	assert_int_equal(o.limits[LIMIT_BARRIERS], OCCUPANCY_UNKNOWN);
	assert_int_equal(o.limits[LIMIT_CLUSTER], OCCUPANCY_UNKNOWN);
	assert_int_equal(o.blocks_per_sm, 8);
	assert_int_equal(o.clusters_at_most, 132 * 8 / 4);
}

static void limiter_and_threshold(void **state)
{
	struct occupancy o = compute(arch(80), 32, 256, 0);

	(void)state;
	assert_int_equal(o.limiter, LIMIT_WARPS); /* registers allow 8 too: nothing to gain there */
	assert_float_equal(o.pct, 100, 0);
	o = compute(arch(86), 255, 64, 0);
	assert_int_equal(o.warps_per_sm, 8);
	assert_int_equal(o.enough_warps, 1);
	o = compute(arch(86), 16, 96, 101376);
	assert_int_equal(o.limiter, LIMIT_SMEM);
	assert_int_equal(o.warps_per_sm, 3);
	assert_int_equal(o.enough_warps, 0);
	o = compute(arch(86), 255, 1024, 0);
	assert_int_equal(o.blocks_per_sm, 0);
	assert_non_null(o.why);
}

/* What Nsight Compute prints on an H200: 16 at least, from there on as compiled. */
static void least_registers(void **state)
{
	static const struct {
		int registers, allocated, blocks;
	} rows[] = {{8, 16, 16}, {15, 16, 16}, {16, 16, 16}, {17, 17, 10}, {72, 72, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct occupancy o = compute(arch(90), rows[i].registers, 256, 0);

		assert_int_equal(occupancy_registers(arch(90), rows[i].registers, false),
				 rows[i].allocated);
		assert_int_equal(o.limits[LIMIT_REGISTERS], rows[i].blocks);
	}
	assert_int_equal(compute(arch(90), 8, 256, 0).blocks_per_sm,
			 8); /* warps decide, as before */
	assert_int_equal(compute(arch(90), 8, 256, 0).registers_per_block, 16 * 256);
	/* elsewhere nobody has seen such a rule */
	assert_int_equal(compute(arch(80), 8, 256, 0).limits[LIMIT_REGISTERS], 32);
	assert_int_equal(occupancy_registers(arch(80), 8, false), 8);
	/* none and not known stay what they are */
	assert_int_equal(occupancy_registers(arch(90), 0, false), 0);
	assert_int_equal(occupancy_registers(arch(90), -1, false), -1);
}

/* With device assert and the like; on the H200 24 and 30 registers became 32. */
static void least_registers_with_syscalls(void **state)
{
	struct occupancy_input in = {.registers = 24,
				     .uses_syscalls = true,
				     .block_threads = 256,
				     .carveout = -1,
				     .sm_count = -1};
	struct occupancy o;

	(void)state;
	assert_int_equal(occupancy_registers(arch(90), 8, true), 32);
	assert_int_equal(occupancy_registers(arch(90), 30, true), 32);
	assert_int_equal(occupancy_registers(arch(90), 33, true), 33);
	assert_int_equal(occupancy_registers(arch(90), 0, true), 0);
	assert_int_equal(occupancy_registers(arch(90), -1, true), -1);
	assert_int_equal(occupancy_registers(arch(80), 24, true), 24);
	occupancy_compute(&o, arch(90), &in);
	assert_int_equal(o.limits[LIMIT_REGISTERS], 8);
	assert_int_equal(o.registers_per_block, 32 * 256);
	in.uses_syscalls = false;
	occupancy_compute(&o, arch(90), &in);
	assert_int_equal(o.limits[LIMIT_REGISTERS], 10);
	assert_int_equal(o.blocks_per_sm, 8); /* warps decide in both */
}

/* A recording may hold any number: what no thread and no block can have is never calculated with. */
static void absurd_figures(void **state)
{
	struct occupancy_input in = {.barriers = 1, .carveout = -1, .sm_count = 132};
	struct occupancy o;

	(void)state;
	o = compute(arch(90), INT32_MAX, 256, 0);
	assert_int_equal(o.blocks_per_sm, 0);
	assert_int_equal(o.registers_per_block, -1);
	assert_non_null(o.why);
	o = compute(arch(90), 256, 256, 0);
	assert_int_equal(o.limits[LIMIT_REGISTERS], 0);
	assert_int_equal(o.registers_per_block, -1);
	o = compute(arch(90), 255, INT32_MAX, 0);
	assert_int_equal(o.blocks_per_sm, 0);
	assert_int_equal(o.warps_per_block, INT32_MAX / 32 + 1);
	assert_int_equal(o.registers_per_block, (INT32_MAX / 32 + 1ll) * 8192);
	in.registers = 32;
	in.block_threads = 128;
	in.static_smem_bytes = INT32_MAX;
	in.dyn_smem_bytes = UINT32_MAX;
	in.cluster_blocks = INT32_MAX;
	in.grid_blocks = UINT64_MAX;
	occupancy_compute(&o, arch(90), &in);
	assert_int_equal(o.limits[LIMIT_SMEM], 0);
	assert_int_equal(o.limits[LIMIT_CLUSTER], -1);
	assert_int_equal(o.clusters_at_most, -1);
}

/* The size that the SM was set to, as Nsight Compute tells it, and what it says of the limit then. */
static void smem_as_it_was_set(void **state)
{
	static const struct {
		int64_t bytes, set;
		int blocks;
	} rows[] = {
		{64, 32 << 10, 28},    {4096, 100 << 10, 20}, {4224, 100 << 10, 19},
		{4096, 132 << 10, 26}, {4096, 0, 45},         {4096, 1 << 30, 45},
		{40000, 16 << 10, 1}}; /* less than one block needs: the smallest that holds one */
	struct occupancy_input in = {
		.registers = 16, .block_threads = 256, .carveout = -1, .sm_count = -1};
	struct occupancy o;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		in.dyn_smem_bytes = rows[i].bytes;
		in.smem_config_bytes = rows[i].set;
		occupancy_compute(&o, arch(90), &in);
		assert_int_equal(o.limits[LIMIT_SMEM], rows[i].blocks);
	}
	/* it goes before a preference */
	in.dyn_smem_bytes = 4096;
	in.smem_config_bytes = 100 << 10;
	in.carveout = 100;
	occupancy_compute(&o, arch(90), &in);
	assert_int_equal(o.limits[LIMIT_SMEM], 20);
	assert_int_equal(o.smem_per_sm, 100 << 10);
}

/* ---- the vendor's calculator ---- */

struct point {
	int sm, registers, threads, barriers, carveout;
	int64_t static_smem, dyn_smem;
};
struct answer {
	int blocks, registers, smem, warps;
};

static struct answer ours(const struct point *p)
{
	struct occupancy_input in = {.registers = p->registers,
				     .block_threads = p->threads,
				     .static_smem_bytes = p->static_smem,
				     .dyn_smem_bytes = p->dyn_smem,
				     .barriers = p->barriers,
				     .carveout = p->carveout,
				     .sm_count = -1};
	struct arch a = *arch(p->sm);
	struct occupancy o;

	a.registers_least = a.registers_least_syscalls =
		ARCH_UNKNOWN; /* measured; the calculator does not know of it */
	occupancy_compute(&o, &a, &in);
	return (struct answer){o.blocks_per_sm, o.limits[LIMIT_REGISTERS], o.limits[LIMIT_SMEM],
			       o.limits[LIMIT_WARPS]};
}

#ifdef HAVE_CUDA_OCCUPANCY
#include "vendor_occupancy.h"

static uint64_t rng_state = 88172645463325252ull;

static uint64_t rng(uint64_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state % n;
}

/* Half the points anywhere, half at the edges of the units, where rounding goes wrong. */
static struct point random_point(const struct arch *a)
{
	struct point p = {a->sm, (int)rng(256), 1 + (int)rng(1024), (int)rng(17), -1, 0, 0};
	int64_t most = (int64_t)a->smem_optin_kb * 1024 + 300;
	int64_t smem = rng(3) ? (int64_t)rng((uint64_t)most)
			      : smem_usable(a, 1 + (int)rng(16)) + (int64_t)rng(3) - 1;

	if (rng(2))
		p.threads = 32 * (1 + (int)rng(32));
	if (rng(4) == 0)
		p.carveout = (int)rng(101);
	if (rng(8) == 0 || smem < 0)
		smem = 0;
	p.static_smem = (int64_t)rng((uint64_t)smem + 1) % (48 * 1024);
	p.dyn_smem = smem - p.static_smem;
	return p;
}

static struct answer vendors(const struct point *p)
{
	const struct vendor_launch l = {p->registers, p->threads,     p->barriers,
					p->carveout,  p->static_smem, p->dyn_smem};
	cudaOccResult r = {0};

	assert_true(vendor_occupancy(&r, arch(p->sm), &l));
	return (struct answer){r.activeBlocksPerMultiprocessor, r.blockLimitRegs,
			       r.blockLimitSharedMem, r.blockLimitWarps};
}

static void against_the_calculator(void **state)
{
	const struct arch *table;
	size_t n, points = 0, differ = 0;

	(void)state;
	table = arch_table(&n);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 120000; k++, points++) {
			struct point p = random_point(&table[i]);
			struct answer a = ours(&p), b = vendors(&p);

			if (memcmp(&a, &b, sizeof(a)) != 0 && differ++ < 5)
				print_error(
					"sm_%d R %d T %d smem %lld+%lld bar %d carve %d: ours %d (%d %d %d), theirs %d (%d %d %d)\n",
					p.sm, p.registers, p.threads, (long long)p.static_smem,
					(long long)p.dyn_smem, p.barriers, p.carveout, a.blocks,
					a.registers, a.smem, a.warps, b.blocks, b.registers, b.smem,
					b.warps);
		}
	assert_true(points >= 100000 * n);
	assert_int_equal(differ, 0);
}

static void write_golden(void)
{
	const struct arch *table;
	FILE *f = fopen(GOLDEN, "w");
	size_t n;

	assert_non_null(f);
	fprintf(f,
		"# answers of cuda_occupancy.h: sm registers threads static dynamic barriers carveout = blocks by-registers by-smem by-warps\n");
	table = arch_table(&n);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 60; k++) {
			struct point p = random_point(&table[i]);
			struct answer a = vendors(&p);

			fprintf(f, "%d %d %d %lld %lld %d %d = %d %d %d %d\n", p.sm, p.registers,
				p.threads, (long long)p.static_smem, (long long)p.dyn_smem,
				p.barriers, p.carveout, a.blocks, a.registers, a.smem, a.warps);
		}
	fclose(f);
}
#else
static void against_the_calculator(void **state)
{
	(void)state;
	skip();
}

static void write_golden(void)
{
	fail_msg("the header of the toolkit is needed to make " GOLDEN);
}
#endif

static void against_stored_answers(void **state)
{
	char line[200];
	size_t n = 0;
	FILE *f;

	(void)state;
	if (getenv("KBN_GOLDEN_UPDATE"))
		write_golden();
	f = fopen(GOLDEN, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct answer want, got;
		struct point p;
		long long s, d;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%d %d %d %lld %lld %d %d = %d %d %d %d", &p.sm,
					&p.registers, &p.threads, &s, &d, &p.barriers, &p.carveout,
					&want.blocks, &want.registers, &want.smem, &want.warps),
				 11);
		p.static_smem = s;
		p.dyn_smem = d;
		got = ours(&p);
		if (memcmp(&got, &want, sizeof(got)) != 0)
			fail_msg("%s: we say %d (%d %d %d)", line, got.blocks, got.registers,
				 got.smem, got.warps);
		n++;
	}
	fclose(f);
	assert_true(n >= 700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_steps),
		cmocka_unit_test(cliffs),
		cmocka_unit_test(cliff_of_a_kernel),
		cmocka_unit_test(bytes_to_the_cliff),
		cmocka_unit_test(waves),
		cmocka_unit_test(unknowns),
		cmocka_unit_test(limiter_and_threshold),
		cmocka_unit_test(least_registers),
		cmocka_unit_test(least_registers_with_syscalls),
		cmocka_unit_test(smem_as_it_was_set),
		cmocka_unit_test(absurd_figures),
		cmocka_unit_test(against_the_calculator),
		cmocka_unit_test(against_stored_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
