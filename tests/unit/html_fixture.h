/*
 * html_fixture.h - reports of any number of kernels, with every part filled that a report can have: known work on
 * several precisions, accesses, stalls, advice, listings, names that nobody would give. Figures are made up and the
 * report says so; what follows from them (roofline, class) is computed as ever.
 */
#ifndef HTML_FIXTURE_H
#define HTML_FIXTURE_H

#include <math.h>

#include "report_fixture.h"

#include "arena.h"

struct html_fixture {
	struct fixture_report base;
	struct arena *arena;
	struct report report;
};

/* The same numbers every time. */
static inline uint32_t made_number(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

static inline struct quantity made_quantity(double v, enum quantity_label label, double spread)
{
	return (struct quantity){
		v,     v * (1 - spread),        v * (1 + spread),
		label, QUANTITY_BY_INTERPRETER, spread > 0 ? "sampled warps stand for all" : NULL};
}

static inline const struct metric_sass *made_sass(struct arena *a, uint32_t *seed)
{
	static const char *const names[] = {"FFMA",  "LDG", "IMAD",  "LDS",  "STS",
					    "ISETP", "LEA", "IADD3", "LOP3", "BRA",
					    "MOV",   "SHF", "BAR",   "STG",  "LDGSTS"};
	const size_t n = sizeof(names) / sizeof(*names), loops_n = 1 + made_number(seed, 5);
	struct metric_sass *s = arena_alloc(a, sizeof(*s));
	struct metric_op *ops = arena_array(a, n, sizeof(*ops));
	struct metric_loop *loops = arena_array(a, loops_n, sizeof(*loops));

	assert_true(s && ops && loops);
	for (size_t i = 0; i < n; i++) {
		ops[i] = (struct metric_op){
			names[i],
			(uint32_t)(800 / (i + 1)),
			1,
			4,
			i == 0 ? 12 : 0,
			i == 0 ? "sm_86: reducible to S01 where the next ones are independent"
			       : NULL};
		s->instructions += ops[i].n;
	}
	for (size_t i = 0; i < loops_n; i++)
		loops[i] = (struct metric_loop){
			.start = 0x300 + 0x1000 * i,
			.end = 0x900 + 0x1000 * i,
			.depth = 2,
			.is_innermost = true,
			.is_main = i == 0,
			.compute_op = "FFMA",
			.compute_ops = 64 + made_number(seed, 600),
			.load_ops = 8,
			.async_copies = i == 1 ? 8 : 0,
			.barriers = 2,
			.load_bytes_per_warp = 4096,
			.ratio = 1 + made_number(seed, 40),
			.ratio_raw = 8,
			.class = "medium",
			.async_copy = "neutral",
			.recurrence_cycles = 128,
			.issue_cycles = 200,
		};
	s->ops = ops;
	s->ops_n = n;
	s->loops = loops;
	s->loops_n = loops_n;
	return s;
}

static inline const struct metric_access *made_access(struct arena *a, uint32_t *seed)
{
	struct metric_access *m = arena_alloc(a, sizeof(*m));
	struct metric_site *sites = arena_array(a, 12, sizeof(*sites));

	assert_true(m && sites);
	for (size_t i = 0; i < 12; i++)
		sites[i] = (struct metric_site){
			.offset = 0x440 + 0x80 * i,
			.line = i % 2 ? "kernels/attention/flash_forward.cu:187" : NULL,
			.op = "LDG.E.128",
			.kind = i % 3 ? "load" : "shared",
			.requests = made_quantity(1e6 + made_number(seed, 1000000),
						  QUANTITY_ESTIMATED, 0.02),
			.sectors_per_request = made_quantity(32, QUANTITY_DERIVED, 0),
			.excess = made_quantity(28 - (double)i, QUANTITY_DERIVED, 0),
			.pattern = "lane stride 4096 B",
		};
	*m = (struct metric_access){
		.sectors_per_request_load = made_quantity(18.5, QUANTITY_ESTIMATED, 0.1),
		.sectors_per_request_store = made_quantity(4, QUANTITY_DERIVED, 0),
		.excess_sectors = made_quantity(29.5e6, QUANTITY_ESTIMATED, 0.05),
		.shared_wavefronts_per_request = made_quantity(1, QUANTITY_DERIVED, 0),
		.atomics = quantity_unknown("an address is loaded from memory"),
		.divergence_pct = made_quantity(3.1, QUANTITY_ESTIMATED, 0.2),
		.sites = sites,
		.sites_n = 12,
	};
	return m;
}

static inline const struct metric_stalls *made_stalls(struct arena *a, uint32_t *seed)
{
	struct metric_stalls *s = arena_alloc(a, sizeof(*s));
	const double top = 30 + made_number(seed, 40);

	assert_non_null(s);
	*s = (struct metric_stalls){
		.long_scoreboard = made_quantity(top, QUANTITY_ESTIMATED, 0.2),
		.short_scoreboard = made_quantity(12, QUANTITY_ESTIMATED, 0.3),
		.barrier = made_quantity(8, QUANTITY_ESTIMATED, 0.3),
		.math_pipe_throttle = quantity_unknown("other warps are not modelled"),
		.lg_throttle = made_quantity(0, QUANTITY_ESTIMATED, 0),
		.mio_throttle = made_quantity(3, QUANTITY_ESTIMATED, 0.5),
		.wait = made_quantity(9, QUANTITY_ESTIMATED, 0.1),
		.not_selected = quantity_unknown("other warps are not modelled"),
		.branch = made_quantity(1, QUANTITY_ESTIMATED, 0.5),
		.other = quantity_unknown("not in the code"),
	};
	return s;
}

static inline struct metric_advices made_advice(struct arena *a, uint32_t *seed)
{
	static const struct metric_not_now not_now[] = {
		{"KBN-A010", "Raise the occupancy",
		 "24 warps per SM hide the latency already (at least 8 do)"},
		{"KBN-A015", "Lower the stall codes",
		 "no stall of the main loop is provably longer than needed"},
	};
	struct metric_advice *items = arena_array(a, 3, sizeof(*items));

	assert_non_null(items);
	items[0] = (struct metric_advice){
		.id = "KBN-A002",
		.title = "Let neighbouring lanes read neighbouring addresses",
		.gain_low_pct = 20 + made_number(seed, 20),
		.gain_high_pct = 55,
		.share_of_run_pct = 12,
		.evidence = {"32 sectors per request at 0x440, where 4 would do",
			     "memory is busy for 71.3% of the time, compute for 9.2%"},
		.evidence_n = 2,
		.conflicts = {"a padded tile takes 4,224 B more: 3 blocks per SM become 2"},
		.conflicts_n = 1,
		.change = "transpose through shared memory, or swap the two innermost loops",
		.expect = "sectors per request fall to 4, and the median by at least 20%",
		.otherwise =
			"if the sectors fall and the time does not, something else bounds it: look at the stalls",
		.source = "decision matrix: memory-bound, excess sectors",
	};
	items[1] = (struct metric_advice){
		.id = "KBN-A001",
		.title = "Pipeline the loads of the tile with asynchronous copies",
		.gain_low_pct = 10,
		.gain_high_pct = 35,
		.evidence = {"ratio 2.7 in the main loop, below 5", "no asynchronous copy in it"},
		.evidence_n = 2,
		.conflicts = {"two tiles take 33,792 B: 6 blocks per SM become 5"},
		.conflicts_n = 1,
		.change = "two stages with cp.async",
		.expect = "waits for long scoreboard disappear from the loop",
		.otherwise = "the loop does not wait for its loads",
		.source = "decision matrix: memory-bound, ratio below 5",
	};
	items[2] = items[0];
	items[2].id = "KBN-A009";
	items[2].title = "Fill the last wave";
	items[2].gain_low_pct = items[2].gain_high_pct = NAN;
	return (struct metric_advices){items, 1 + made_number(seed, 3), not_now, 2};
}

/* As long as they come. */
static inline const struct metric_listings *made_listing(struct arena *a, uint32_t *seed)
{
	static const char *const texts[] = {
		"@!P0 LDG.E.128.CONSTANT R24, desc[UR4][R2.64+0x1000]",
		"HMMA.16816.F32 R36, R4.reuse, R12, R36",
		"LDS.128 R8, [R45.X16+UR4+0x2200]",
		"FFMA R7, R8.reuse, R9, R7",
		"BAR.SYNC.DEFER_BLOCKING 0x0",
		"@P2 BRA 0x450",
	};
	struct metric_listings *all = arena_alloc(a, sizeof(*all));
	struct metric_listing *at = arena_array(a, 2, sizeof(*at));
	struct metric_line *lines = arena_array(a, 384, sizeof(*lines));

	assert_true(all && at && lines);
	for (uint32_t i = 0; i < 384; i++)
		lines[i] = (struct metric_line){
			.offset = 0x450 + 16 * i,
			.stall = (uint8_t)made_number(seed, 12),
			.wait = (uint8_t)(made_number(seed, 4) ? 0 : 1u << made_number(seed, 6)),
			.write_barrier = (int8_t)((int)made_number(seed, 7) - 1),
			.read_barrier = -1,
			.yield = made_number(seed, 3) == 0,
			.is_decoded = true,
			.text = texts[made_number(seed, 6)],
			.source = i % 16 < 8 ? "/src/kernels/flash_forward.cu:187"
					     : "/src/kernels/flash_forward.cu:191",
		};
	at[0] = (struct metric_listing){2, true, lines, 256, 40};
	at[1] = (struct metric_listing){1, false, lines + 256, 128, 0};
	*all = (struct metric_listings){at, 2, 1};
	return all;
}

static inline void made_work(struct html_fixture *f, struct report_kernel *k, uint32_t *seed)
{
	static const int peaks[] = {PEAK_FP32, PEAK_FP16_TENSOR_FP32ACC, PEAK_FP32, PEAK_FP64};
	const struct arch_device *d = &f->report.devices[k->device].hw;
	struct work *w = arena_alloc(f->arena, sizeof(*w));
	struct roofline *r = arena_alloc(f->arena, sizeof(*r));
	const int peak = peaks[made_number(seed, 4)];
	const double intensity = pow(10, -1 + made_number(seed, 4000) / 1000.0);
	const double attained = pow(10, -2 + made_number(seed, 1950) / 1000.0);
	const double reach = fmin(1000 * d->peaks[peak], d->dram_gbps * intensity); /* GFLOP/s */

	assert_true(w && r);
	*w = (struct work){.kind = WORK_FORMULA, .dtype = WORK_FP32, .elements = -1};
	w->flops = (int64_t)(reach * attained * 1e3 * k->times.median);
	w->bytes = (int64_t)((double)w->flops / intensity);
	w->is_flops_given = w->is_bytes_given = true;
	const struct roofline_input in = {
		.flops = work_flops(w),
		.bytes = made_number(seed, 5)
				 ? work_bytes(w)
				 : made_quantity((double)w->bytes, QUANTITY_ESTIMATED, 0.6),
		.time_us = made_quantity(k->times.median, QUANTITY_MEASURED, 0.04),
		.precision = {peak, NULL, 0},
		.device = d,
		.occupancy = &k->occupancy,
		.grid_blocks = count_volume(k->grid),
		.sm_count = d->sm_count,
		.launch_gap_us = NAN,
	};
	assert_int_equal(roofline_build(r, &in, f->arena, NULL), 0);
	k->work = w;
	k->roofline = r;
	k->verdict = r->verdict;
}

/* Names as libraries have them. */
static inline void made_name(struct html_fixture *f, struct report_kernel *k, size_t i)
{
	static const char *const names[] = {
		"vectorized_elementwise_kernel",
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32",
		"flash_fwd_kernel",
		"reduce_kernel",
		"triton_poi_fused_add_mul_0",
		"cunn_SoftMaxForward",
		"nchwToNhwcKernel",
		"layer_norm_fwd",
	};

	k->short_name = names[i % 8];
	k->variant = text_format(f->arena, " #%zu", i / 8 + 1);
	k->name = k->short_name;
	k->demangled = text_format(
		f->arena,
		"void at::native::%s<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>, "
		"at::native::LoadWithCast<2>, at::native::StoreWithCast<1>, TrivialOffsetCalculator<2, unsigned int>, "
		"TrivialOffsetCalculator<1, unsigned int>>(int, at::native::CUDAFunctor_add<float>, std::array<char*, "
		"3ul>, OffsetCalculator<2, unsigned int>, OffsetCalculator<1, unsigned int>) #%zu",
		k->short_name, i);
	snprintf(k->id, sizeof(k->id), "%016zx", i);
	assert_true(k->variant && k->demangled);
}

static inline void html_fixture_kernel(struct html_fixture *f, size_t i, size_t n, uint32_t *seed)
{
	struct report_kernel *k = &f->report.kernels[i];
	/* the one with code and a geometry that fills the GPU */
	*k = f->base.report.kernels[0];
	made_name(f, k, i);
	k->grid[0] = 100 + made_number(seed, 20000);
	k->block[0] = 32u << made_number(seed, 5);
	k->times.median = 2 + 3000.0 / (double)(i + 1);
	k->times.min = 0.98 * k->times.median;
	k->times.max = k->times.p90 = 1.05 * k->times.median;
	k->launches = 10 + made_number(seed, 5000);
	k->share_pct = 100.0 / (double)(i + 1) / (log((double)n) + 1);
	k->times.total =
		made_quantity(k->times.median * (double)k->launches, QUANTITY_ESTIMATED, 0.03);
	k->occupancy.pct = 12.5 * (1 + made_number(seed, 8));
	k->sass = made_sass(f->arena, seed);
	k->no_sass = NULL;
	k->code.why_missing = NULL;
	k->access = made_access(f->arena, seed);
	k->stalls = made_stalls(f->arena, seed);
	k->advice = made_advice(f->arena, seed);
	k->listings = i < RENDER_LISTINGS ? made_listing(f->arena, seed) : NULL;
	if (made_number(seed, 3))
		made_work(f, k, seed);
}

/* A report of `n` kernels. */
static inline void html_fixture_open(struct html_fixture *f, size_t n)
{
	struct report_advice *first;
	uint32_t seed = 7;

	fixture_report_open(&f->base);
	f->arena = arena_new();
	f->report = f->base.report;
	f->report.kernels = arena_array(f->arena, n, sizeof(*f->report.kernels));
	first = arena_array(f->arena, 3, sizeof(*first));
	assert_true(f->arena && f->report.kernels && first);
	f->report.kernels_n = f->report.kernels_all = n;
	f->report.advice_n = 0;
	for (size_t i = 0; i < n; i++)
		html_fixture_kernel(f, i, n, &seed);
	for (size_t i = 0; i < 3 && i < n; i++, f->report.advice_n++) {
		const struct report_kernel *k = &f->report.kernels[i];

		first[i] = (struct report_advice){
			k, &k->advice.items[0],
			k->advice.items[0].gain_low_pct * k->share_pct / 100,
			k->advice.items[0].gain_high_pct * k->share_pct / 100};
	}
	f->report.advice = first;
}

static inline void html_fixture_close(struct html_fixture *f)
{
	arena_free(f->arena);
	fixture_report_close(&f->base);
}

/* The whole page; free() it. */
static inline void html_page(const struct report *r, char **text, size_t *bytes)
{
	struct render_options o = {80, 0};
	struct err e = {.text = ""};
	FILE *out = open_memstream(text, bytes);

	assert_non_null(out);
	if (render_html.report(r, &o, out, &e) != 0)
		fail_msg("%s", e.text);
	fclose(out);
}

#endif
