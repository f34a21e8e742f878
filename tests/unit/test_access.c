/*
 * test_access.c - what accesses of neighbours use of one sector, and wide accesses to shared memory: kernels of
 * tests/golden/access on five architectures against figures that follow from their source.
 */
#include "kbn_test.h"

#include <math.h>

#include "arena.h"
#include "cubin.h"
#include "kernel_access.h"
#include "kernel_access_look.h"
#include "kernel_view.h"

static const char *const archs[] = {"80", "86", "90", "100", "120", NULL};

struct row {
	const char *kernel, *op; /* the operation begins so; every access of it is meant */
	unsigned n;              /* so many */
	double each, excess;     /* sectors or wavefronts of a request */
	double own, low, high;   /* NaN = it has none */
	enum quantity_label label;
	const char *sharers;
};

#define NEIGHBOURS "neighbouring instructions"
#define TURNS      "turns of the loop"

static const struct row rows[] = {
	/* the other half is the neighbour's, 1 MB away, or only used if a value says so */
	{"both_halves", "LDG", 2, 32, 16, 0, 0, 0, QUANTITY_DERIVED, NEIGHBOURS},
	{"both_halves", "STG", 2, 32, 16, 16, 16, 16, QUANTITY_DERIVED,
	 NULL}, /* stores pass the L1 one by one */
	{"rooted", "LDG", 1, 32, 28, 0, 0, NAN, QUANTITY_ESTIMATED, TURNS},
	{"rooted", "STG", 1, 32, 28, 28, 28, 28, QUANTITY_ESTIMATED, NULL},
	{"past_l1", "LDG.E.128.STRONG.GPU", 2, 32, 16, 16, 16, 16, QUANTITY_DERIVED, NULL},
	{"apart", "LDG.E.128", 1, 32, 16, 16, 16, 16, QUANTITY_DERIVED, NULL},
	{"perhaps", "LDG.E.128", 2, 32, 16, 16, 16, 16, QUANTITY_DERIVED, NULL},
	/* 16 of 32 bytes are nobody's: 16 sectors for two requests. Two words of a sector: 24 bytes */
	{"quarters", "LDG", 2, 32, 24, 8, 8, 8, QUANTITY_DERIVED, NEIGHBOURS},
	{"apart", "LDG.E", 3, 32, NAN, NAN, NAN, NAN, QUANTITY_DERIVED, ""},
	/* 16 turns use a sector up, 4 do not, and n may; 30 of 32 are wasted by 4 turns that share it, or part it */
	{"turns_64", "LDG", 1, 32, 30, 0, 0, 0, QUANTITY_DERIVED, TURNS},
	{"turns_4", "LDG", 1, 32, 30, 7.5, 0, 15, QUANTITY_ESTIMATED, TURNS},
	{"turns_n", "LDG", 1, 32, 30, 0, 0, 30, QUANTITY_ESTIMATED, TURNS},
	{"strides", "LDG", 1, 32, 28, 28, 28, 28, QUANTITY_ESTIMATED, NULL},
	/* a register of each lane at a time, two of half the lanes where neighbours have the same */
	{"eight_each", "LDS", 1, 2, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"eight_pairs", "LDS", 1, 1, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"sixteen_each", "LDS", 1, 4, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"sixteen_pairs", "LDS", 1, 2, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"sixteen_next_but_one", "LDS", 1, 2, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"sixteen_by_four", "LDS", 1, 4, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"sixteen_of_all", "LDS", 1, 2, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
	{"sixteen_pairs", "STS", 1, 4, 0, NAN, NAN, NAN, QUANTITY_UNKNOWN, NULL},
};

static void check(const struct row *r, const char *arch, const struct metric_site *s)
{
	const double got[] = {s->sectors_per_request.value, s->excess.value, s->own_excess.value,
			      s->own_excess.low, s->own_excess.high};
	const double want[] = {r->each, r->excess, r->own, r->low, r->high};

	for (unsigned i = 0; i < 5; i++)
		if (!isnan(want[i]) && got[i] != want[i])
			fail_msg("%s sm_%s %s: %u: %g, not %g", r->kernel, arch, s->op, i, got[i],
				 want[i]);
	if (s->own_excess.label != r->label)
		fail_msg("%s sm_%s %s: %s", r->kernel, arch, s->op,
			 quantity_label_names[s->own_excess.label]);
	if (!r->sharers || *r->sharers) {
		if (!r->sharers)
			assert_null(s->sharers);
		else
			assert_string_equal(s->sharers, r->sharers);
	}
}

static const struct cubin_function *find(const struct cubin *c, const char *name)
{
	for (size_t i = 0; i < c->functions_n; i++)
		if (c->functions[i].is_kernel && !strcmp(c->functions[i].name, name))
			return &c->functions[i];
	fail_msg("no %s", name);
	return NULL;
}

/* Of a launch of 64 warps, each a block; `params_n` bytes of parameters, and which bits of them are known. */
static const struct metric_access *read_one(const struct cubin *c, const char *kernel,
					    const uint8_t *params, const uint8_t *known,
					    size_t params_n, struct arena *arena)
{
	struct kernel_view view;
	struct kernel_access_launch x = {.cubin = c,
					 .function = find(c, kernel),
					 .view = &view,
					 .grid = {64, 1, 1},
					 .block = {32, 1, 1},
					 .cluster = {1, 1, 1},
					 .params = params,
					 .known = known,
					 .params_n = params_n};
	const struct metric_access *m;
	struct err e = {0};

	assert_non_null(x.function);
	if (kernel_view_open(&view, (int)c->sm, x.function, &e) != 0)
		fail_msg("%s", e.text);
	m = kernel_access_read(&x, arena, NULL);
	kernel_view_close(&view);
	return m;
}

static void what_neighbours_use(void **state)
{
	static const uint64_t out = UINT64_C(0x7f0000000000), in = UINT64_C(0x7f1000000000);
	uint8_t params[20], known[20];

	(void)state;
	memcpy(params, &out, 8);
	memcpy(params + 8, &in, 8);
	memset(params + 16, 0, 4);
	memset(known, 0xff, 16);
	memset(known + 16, 0, 4); /* n */
	for (const char *const *arch = archs; *arch; arch++) {
		char path[96];
		struct cubin c;
		struct err e = {0};
		size_t bytes;
		uint8_t *data;

		snprintf(path, sizeof(path), "tests/golden/access/access.sm_%s.cubin", *arch);
		data = load_file(path, &bytes);
		if (cubin_open(&c, buf_of(data, bytes), &e) < 0)
			fail_msg("%s: %s", path, e.text);
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			struct arena *arena = arena_new();
			const struct metric_access *m =
				read_one(&c, rows[i].kernel, params, known, sizeof(params), arena);
			unsigned found = 0;

			assert_non_null(m);
			for (size_t k = 0; k < m->sites_n; k++) {
				if (strncmp(m->sites[k].op, rows[i].op, strlen(rows[i].op)))
					continue;
				found++;
				check(&rows[i], *arch, &m->sites[k]);
			}
			if (found != rows[i].n)
				fail_msg("%s sm_%s: %u %s", rows[i].kernel, *arch, found,
					 rows[i].op);
			arena_free(arena);
		}
		cubin_close(&c);
		free(data);
	}
}

/* Per launch: what two requests waste together is counted once. */
static void what_a_launch_wastes(void **state)
{
	static const struct {
		const char *kernel;
		double excess, wasted;
	} launches[] = {{"both_halves", 64 * 64, 64 * 32}, {"quarters", 64 * 48, 64 * 16}};
	size_t bytes;
	uint8_t *data = load_file("tests/golden/access/access.sm_90.cubin", &bytes);
	struct cubin c;
	uint8_t params[20] = {0}, known[20];

	(void)state;
	memset(known, 0xff, sizeof(known));
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		const struct metric_access *m =
			read_one(&c, launches[i].kernel, params, known, sizeof(params), arena);

		assert_non_null(m);
		assert_int_equal(m->wasted_sectors.label, QUANTITY_DERIVED);
		/* additions of floats and of addresses; whichever takes longest is within what is issued twice */
		assert_true(m->pipe_cycles > 0 && m->pipe &&
			    m->pipe_cycles <= 2 * m->warp_instructions.value);
		assert_true(m->excess_sectors.value == launches[i].excess);
		assert_true(m->wasted_sectors.value == launches[i].wasted);
		arena_free(arena);
	}
	cubin_close(&c);
	free(data);
}

/* What a guard may keep from being executed keeps no pipe busy for certain. */
static void what_surely_keeps_a_pipe_busy(void **state)
{
	uint8_t params[20] = {0}, known[20];

	(void)state;
	memset(known, 0xff, sizeof(known));
	for (const char *const *arch = archs; *arch; arch++) {
		char path[96];
		size_t bytes;
		uint8_t *data;
		struct cubin c;

		snprintf(path, sizeof(path), "tests/golden/access/access.sm_%s.cubin", *arch);
		data = load_file(path, &bytes);
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), NULL), 0);
		for (int is_guarded = 0; is_guarded < 2; is_guarded++) {
			struct arena *arena = arena_new();
			const struct metric_access *m =
				read_one(&c, is_guarded ? "powers_perhaps" : "powers_always",
					 params, known, sizeof(params), arena);

			assert_non_null(m);
			assert_non_null(m->pipe);
			if ((strcmp(m->pipe, "XU") == 0) == is_guarded)
				fail_msg("%s: %s", path, m->pipe);
			/* 64 warps, 64 powers, on any chip at most 8 lanes in a clock of a scheduler */
			if (!is_guarded)
				assert_true(m->pipe_cycles >= 4 * 64 * 64);
			assert_true(m->warp_instructions.value >= 64 * 64);
			arena_free(arena);
		}
		cubin_close(&c);
		free(data);
	}
}

/* Two halves of a sector, if the buffer begins with one. */
static void where_a_buffer_begins_counts(void **state)
{
	size_t bytes;
	uint8_t *data = load_file("tests/golden/access/access.sm_90.cubin", &bytes);
	struct arena *arena = arena_new();
	struct cubin c;
	const struct metric_access *m;

	(void)state;
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), NULL), 0);
	m = read_one(&c, "both_halves", NULL, NULL, 0, arena);
	assert_non_null(m);
	assert_int_equal(m->sites_n, 4);
	for (size_t i = 0; i < m->sites_n; i++) {
		if (!strcmp(m->sites[i].kind, "store"))
			continue; /* whoever has the other half */
		assert_true(m->sites[i].own_excess.value == 0);
		assert_int_equal(m->sites[i].own_excess.label, QUANTITY_ESTIMATED);
		assert_true(m->sites[i].own_excess.low == 0);
		assert_true(m->sites[i].own_excess.high >= 16);
	}
	arena_free(arena);
	cubin_close(&c);
	free(data);
}

/* Two warps in each of three blocks; what is not seen is at most 3 of n. */
static void what_samples_say_of_all(void **state)
{
	static const double seen[6] = {4, 10, 4, 12, 4, NAN};
	struct access_reader *k = calloc(1, sizeof(*k));
	struct access_tally t = {.is_weight_known = true};
	struct access_mean m;

	(void)state;
	assert_non_null(k);
	k->samples_n = 6;
	k->is_all = true;
	for (unsigned i = 0; i < 6; i++) {
		k->samples[i].warp.warp = i % 2;
		t.value[i] = t.low[i] = t.high[i] = seen[i];
		t.weight[i] = i % 2 ? 2 : 1;
	}
	/* 3 of the first kind and 4 of the second, of which one has none */
	m = access_mean(k, &t, 0, 12);
	assert_float_equal(m.weight, 7, 0);
	assert_float_equal(m.value, (3 * 4 + 2 * 10 + 2 * 12) / 7.0, 1e-12);
	assert_float_equal(m.low, (3 * 4 + 4 * 10) / 7.0, 1e-12);
	assert_float_equal(m.high, (3 * 4 + 4 * 12) / 7.0, 1e-12);
	k->is_all = false;
	m = access_mean(k, &t, 1, 32);
	assert_float_equal(m.low, 52 / 7.0 - 0.6 * (52 / 7.0 - 1), 1e-12);
	assert_float_equal(m.high, 60 / 7.0 + 0.6 * (32 - 60 / 7.0), 1e-12);
	t.is_weight_known = false;
	k->is_all = true;
	m = access_mean(k, &t, 0, 12);
	assert_float_equal(m.low, 4, 0);
	assert_float_equal(m.high, 12, 0);
	for (unsigned i = 0; i < 6; i++)
		t.value[i] = NAN;
	assert_float_equal(access_mean(k, &t, 0, 12).weight, 0, 0);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_neighbours_use),
		cmocka_unit_test(what_a_launch_wastes),
		cmocka_unit_test(what_surely_keeps_a_pipe_busy),
		cmocka_unit_test(where_a_buffer_begins_counts),
		cmocka_unit_test(what_samples_say_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
