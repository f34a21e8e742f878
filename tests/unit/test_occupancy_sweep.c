/*
 * test_occupancy_sweep.c - occupancy of registers x block x shared memory, every combination in steps,
 * against the answers of the vendor's calculator kept in GOLDEN (its head explains the format).
 * Where the toolkit's header is, the file is also checked to be what the header says today;
 * KBN_GOLDEN_UPDATE=1 rewrites it, after every point of the sweep was asked for.
 */
#include "kbn_test.h"

#include <stdlib.h>
#include <string.h>

#include "occupancy.h"

#define GOLDEN      "tests/golden/occupancy-sweep.txt"
#define REGISTERS   255
#define WARP        32
#define WARPS       32 /* of the largest block */
#define MOST_BLOCKS 64

/* The answers for one architecture. */
struct sweep {
	int sm;
	int blocks[WARPS + 1][REGISTERS + 1]; /* without shared memory, 0 = no launch */
	int steps_n;
	int64_t steps[MOST_BLOCKS + 1]; /* most bytes per block that leave room for so many blocks */
};

/* What the stored answers say of a launch; -1 bytes of a step: so many blocks never fit. */
static int stored(const struct sweep *s, int registers, int threads, int64_t smem)
{
	int blocks = s->blocks[(threads + WARP - 1) / WARP][registers];

	while (blocks > 0 && smem > s->steps[blocks])
		blocks--;
	return blocks;
}

/* ------------------------------------------------------------------------------- reading the file */

static void read_steps(struct sweep *s, char *line)
{
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		int blocks;
		long long bytes;

		assert_int_equal(sscanf(word, "%d:%lld", &blocks, &bytes), 2);
		assert_in_range(blocks, 1, MOST_BLOCKS);
		s->steps[blocks] = bytes;
		s->steps_n++;
	}
}

static void read_block(struct sweep *s, char *line)
{
	char *word = strtok(line, " \n");
	const int threads = atoi(word);
	int next = 1;

	assert_int_equal(threads % WARP, 0);
	assert_in_range(threads, WARP, WARP * WARPS);
	while ((word = strtok(NULL, " \n"))) {
		int from, to, blocks;

		assert_int_equal(sscanf(word, "%d-%d:%d", &from, &to, &blocks), 3);
		assert_int_equal(from, next);
		assert_in_range(to, from, REGISTERS);
		for (; next <= to; next++)
			s->blocks[threads / WARP][next] = blocks;
	}
	assert_int_equal(next, REGISTERS + 1);
}

/* The next architecture; false at the end of the file. */
static bool read_sweep(struct sweep *s, FILE *f)
{
	char line[4096];
	int blocks = 0;

	*s = (struct sweep){0};
	while (blocks < WARPS && fgets(line, sizeof(line), f)) {
		assert_non_null(strchr(line, '\n'));
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (strncmp(line, "sm_", 3) == 0)
			s->sm = atoi(line + 3);
		else if (strncmp(line, "shared ", 7) == 0)
			read_steps(s, line + 7);
		else if (strncmp(line, "block ", 6) == 0 && ++blocks)
			read_block(s, line + 6);
		else
			fail_msg("%s: %s", GOLDEN, line);
	}
	assert_true(blocks == WARPS || blocks == 0);
	return blocks == WARPS;
}

/* ------------------------------------------------------------------------------------ comparing */

/* Shared bytes to look at, none twice: both sides of each step and what lies between. */
static int smem_points(const struct sweep *s, const struct arch *a, int64_t *out)
{
	const int64_t most = (int64_t)a->smem_optin_kb * 1024;
	int n = 0;

	for (int k = a->blocks_per_sm; k >= 1; k--) {
		const int64_t low = k < a->blocks_per_sm ? s->steps[k + 1] : -1, high = s->steps[k];

		if (high <= low)
			continue;
		out[n++] = low + 1;
		if (high > low + 2)
			out[n++] = low + (high - low) / 2 + 1;
		if (high > low + 1)
			out[n++] = high;
	}
	out[n++] = most + 1;
	return n;
}

static int ours(const struct arch *a, int registers, int threads, int64_t smem)
{
	const struct occupancy_input in = {.registers = registers,
					   .block_threads = threads,
					   .dyn_smem_bytes = smem,
					   .carveout = -1,
					   .sm_count = -1};
	struct occupancy o;

	occupancy_compute(&o, a, &in);
	return o.blocks_per_sm;
}

struct tally {
	size_t legal, points, differ;
};

static void compare(struct tally *t, const struct sweep *s, const struct arch *a, int registers,
		    int threads, int64_t smem)
{
	const int want = stored(s, registers, threads, smem),
		  got = ours(a, registers, threads, smem);

	t->points++;
	t->legal += want > 0;
	if (got != want && t->differ++ < 5)
		print_error("sm_%d, %d registers, %d threads, %lld shared bytes: %d, stored %d\n",
			    a->sm, registers, threads, (long long)smem, got, want);
}

static void compare_arch(const struct sweep *s, const struct arch *a)
{
	int64_t smem[3 * MOST_BLOCKS + 1];
	const int n = smem_points(s, a, smem);
	struct tally t = {0};

	for (int r = 1; r <= REGISTERS; r++)
		for (int w = 1; w <= WARPS; w++)
			for (int i = 0; i < n; i++)
				compare(&t, s, a, r, w * WARP, smem[i]);
	/* blocks that do not fill their last warp, and every single byte of a launch's range */
	for (int threads = 1; threads < WARPS * WARP; threads += 3)
		for (int r = 1; r <= REGISTERS; r += 7)
			compare(&t, s, a, r, threads, smem[(threads + r) % n]);
	for (int64_t bytes = 0; bytes <= (int64_t)a->smem_optin_kb * 1024; bytes++)
		compare(&t, s, a, 40, 96, bytes);
	assert_int_equal(t.differ, 0);
	assert_true(t.legal >= 100000);
}

static void against_stored_answers(void **state)
{
	static struct sweep s;
	size_t rows, seen = 0;
	FILE *f = fopen(GOLDEN, "r");

	(void)state;
	assert_non_null(f);
	arch_table(&rows);
	for (; read_sweep(&s, f); seen++) {
		bool is_exact;
		const struct arch *a = arch_find(s.sm, &is_exact);

		assert_true(a && is_exact);
		assert_int_equal(s.steps_n, a->blocks_per_sm);
		compare_arch(&s, a);
	}
	assert_int_equal(seen, rows);
	fclose(f);
}

/*
 * The one thing known of hardware that the calculator does not know: sm_90 gives a thread no fewer than
 * 16 registers. It changes the limit by registers of fewer than 16, and no number of blocks.
 */
static void least_registers_decide_nothing(void **state)
{
	const struct arch *table;
	size_t rows, changed = 0;

	(void)state;
	table = arch_table(&rows);
	for (size_t i = 0; i < rows; i++)
		for (int r = 1; r <= REGISTERS; r++)
			for (int threads = WARP; threads <= WARPS * WARP; threads += WARP) {
				const struct occupancy_input in = {.registers = r,
								   .block_threads = threads,
								   .carveout = -1,
								   .sm_count = -1};
				struct arch plain = table[i];
				struct occupancy here, there;

				plain.registers_least = ARCH_UNKNOWN;
				occupancy_compute(&here, &table[i], &in);
				occupancy_compute(&there, &plain, &in);
				assert_int_equal(here.blocks_per_sm, there.blocks_per_sm);
				if (here.limits[LIMIT_REGISTERS] == there.limits[LIMIT_REGISTERS])
					continue;
				assert_int_equal(table[i].sm, 90);
				assert_true(r < 16);
				changed++;
			}
	assert_true(changed > 0);
}

/* -------------------------------------------------------------------------------- the calculator */

#ifdef HAVE_CUDA_OCCUPANCY
#include <cuda.h>

#include "vendor_occupancy.h"

static const char head[] =
	"# occupancy-sweep.txt - blocks per SM as cuda_occupancy.h of CUDA %d.%d has them, for every number of\n"
	"# registers (1 to 255), every block of whole warps and every number of shared bytes that a block may\n"
	"# have. Made by KBN_GOLDEN_UPDATE=1 build/unit/test_occupancy_sweep; checked by the same.\n"
	"#\n"
	"#   block T  A-B:N ...   a kernel of T threads and A to B registers each: N blocks without shared\n"
	"#                        memory, 0 = cannot be launched\n"
	"#   shared   K:S ...     with K blocks a block may have up to S bytes (static and dynamic); -1 = never\n"
	"#\n"
	"# Both together are the answer to every combination: of N blocks those that the bytes leave room for.\n"
	"# While this file was made the calculator was asked for all of them, at the first and the last byte of\n"
	"# every unit of shared memory, and said the same: %zu points per architecture and more.\n"
	"# Launches without named barriers and with the largest carveout; occupancy.txt has the others.\n"
	"#\n"
	"# The calculator is told warps, registers, shared memory and reserve of an SM (on a machine the driver\n"
	"# tells it); they are those of analyzer/tables/arch.def. Known to differ from hardware: on an H200 a\n"
	"# thread has at least 16 registers, 32 in kernels with device assert, printf or malloc. That changes\n"
	"# the limit by registers that profilers print, never the blocks (a test says so).\n";

static cudaOccResult ask(const struct arch *a, int registers, int threads, int64_t smem)
{
	const struct vendor_launch l = {
		.registers = registers, .threads = threads, .carveout = -1, .dyn_smem = smem};
	cudaOccResult r = {0};

	assert_true(vendor_occupancy(&r, a, &l));
	return r;
}

static void ask_sweep(struct sweep *s, const struct arch *a)
{
	const int64_t most = (int64_t)a->smem_optin_kb * 1024;
	int64_t bytes = most;

	*s = (struct sweep){.sm = a->sm, .steps_n = a->blocks_per_sm};
	for (int w = 1; w <= WARPS; w++)
		for (int r = 1; r <= REGISTERS; r++)
			s->blocks[w][r] = ask(a, r, w * WARP, 0).activeBlocksPerMultiprocessor;
	/* the limit by shared memory alone, so that no other hides a step */
	for (int k = 1; k <= s->steps_n; k++) {
		while (bytes >= 0 && ask(a, 1, WARP, bytes).blockLimitSharedMem < k)
			bytes--;
		s->steps[k] = bytes;
	}
}

/* Every point; returns how many. */
static size_t verify_sweep(const struct sweep *s, const struct arch *a)
{
	const int64_t unit = a->smem_granularity_bytes, most = (int64_t)a->smem_optin_kb * 1024;
	size_t points = 0;

	for (int r = 1; r <= REGISTERS; r++)
		for (int t = WARP; t <= WARPS * WARP; t += WARP)
			for (int64_t edge = 0; edge <= most; edge += unit)
				for (int64_t b = edge; b <= edge + 1; b++, points++)
					if (ask(a, r, t, b).activeBlocksPerMultiprocessor !=
					    stored(s, r, t, b))
						fail_msg("sm_%d %d registers %d threads %lld bytes",
							 a->sm, r, t, (long long)b);
	for (int r = 1; r <= REGISTERS; r++)
		for (int t = 1; t <= WARPS * WARP; t++, points++)
			assert_int_equal(ask(a, r, t, 0).activeBlocksPerMultiprocessor,
					 stored(s, r, t, 0));
	return points;
}

static void write_sweep(const struct sweep *s, FILE *f)
{
	fprintf(f, "\nsm_%d\nshared", s->sm);
	for (int k = 1; k <= s->steps_n; k++)
		fprintf(f, " %d:%lld", k, (long long)s->steps[k]);
	for (int w = 1; w <= WARPS; w++) {
		fprintf(f, "\nblock %d", w * WARP);
		for (int from = 1, to; from <= REGISTERS; from = to + 1) {
			for (to = from;
			     to < REGISTERS && s->blocks[w][to + 1] == s->blocks[w][from];)
				to++;
			fprintf(f, " %d-%d:%d", from, to, s->blocks[w][from]);
		}
	}
	fputc('\n', f);
}

static void write_golden(void)
{
	static struct sweep s;
	char *body = NULL;
	size_t bytes, rows, least = SIZE_MAX;
	const struct arch *table = arch_table(&rows);
	FILE *memory = open_memstream(&body, &bytes), *f;

	assert_non_null(memory);
	for (size_t i = 0; i < rows; i++) {
		size_t points;

		ask_sweep(&s, &table[i]);
		points = verify_sweep(&s, &table[i]);
		if (points < least)
			least = points;
		write_sweep(&s, memory);
	}
	fclose(memory);
	f = fopen(GOLDEN, "w");
	assert_non_null(f);
	fprintf(f, head, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, least);
	fputs(body, f);
	assert_int_equal(fclose(f), 0);
	free(body);
}

static void the_header_says_so_today(void **state)
{
	static struct sweep kept, now;
	bool is_exact;
	FILE *f;

	(void)state;
	if (getenv("KBN_GOLDEN_UPDATE"))
		write_golden();
	f = fopen(GOLDEN, "r");
	assert_non_null(f);
	while (read_sweep(&kept, f)) {
		ask_sweep(&now, arch_find(kept.sm, &is_exact));
		assert_memory_equal(now.blocks, kept.blocks, sizeof(now.blocks));
		assert_memory_equal(now.steps, kept.steps, sizeof(now.steps));
	}
	fclose(f);
}
#else
static void the_header_says_so_today(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_says_so_today), /* first: it may rewrite the file */
		cmocka_unit_test(against_stored_answers),
		cmocka_unit_test(least_registers_decide_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
