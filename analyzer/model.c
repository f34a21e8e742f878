/*
 * model.c - see model.h: joins times, occupancy and code facts of each kernel and sums up the run.
 * The class of a kernel needs its work (FLOPs, bytes). Until the code is interpreted that is not
 * known, and only what time and geometry prove by themselves is said.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "count.h"
#include "model_stall.h"
#include "model_traps.h"
#include "model_work.h"
#include "text.h"

/* ---------------------------------------------------------------- devices */

static int build_device(struct model_device *d, const struct session_device *s,
			const struct calibration *c, struct arena *arena)
{
	struct arch_attribute *attrs = arena_array(arena, s->attrs_n, sizeof(*attrs));

	if (!attrs)
		return -1;
	for (size_t i = 0; i < s->attrs_n; i++)
		attrs[i] = (struct arch_attribute){s->attrs[i].attribute, s->attrs[i].value};
	if (s->is_row && product_find(s->name))
		arch_describe_product(&d->hw, product_find(s->name));
	else
		arch_describe(&d->hw, s->name, s->cc, s->mig[0] != '\0', attrs, s->attrs_n);
	if (c)
		d->calibration = *c;
	d->bias = calibration_bias(c, s->cc);
	if (!c || !c->found)
		return 0;
	for (int i = 0; i < PEAK_N; i++)
		if (!isnan(c->peaks[i])) {
			d->hw.peaks[i] = c->peaks[i];
			d->hw.peaks_source = c->is_of_user ? "file" : "calibrated";
		}
	if (!isnan(c->copy_gbps))
		d->hw.dram_gbps = c->copy_gbps;
	return 0;
}

/* ---------------------------------------------------------------- kernels */

static int cluster_blocks(const struct session_shape *s)
{
	const int *c = s->kernel->cluster;
	const uint32_t compiled[3] = {(uint32_t)c[0], (uint32_t)c[1], (uint32_t)c[2]};

	if (count_volume(s->cluster))
		return count_int(count_volume(s->cluster));
	return c[0] > 0 && c[1] > 0 && c[2] > 0 ? count_int(count_volume(compiled)) : 0;
}

/* The driver's word first: it describes the code that ran. */
static int driver_or_code(int driver, int code)
{
	return driver >= 0 ? driver : code;
}

static void build_occupancy(struct model_kernel *k, const struct model_device *d)
{
	const struct session_shape *s = k->shape;
	struct occupancy_input in = {
		.registers = k->resources.registers,
		.uses_syscalls = k->code.uses_syscalls == 1,
		.block_threads = count_int(count_volume(s->block)),
		.static_smem_bytes = k->resources.static_smem_bytes,
		.dyn_smem_bytes = s->dyn_smem_bytes,
		.barriers = k->code.barriers,
		.cluster_blocks = cluster_blocks(s),
		.carveout = s->kernel->carveout,
		.grid_blocks = count_volume(s->grid),
		.sm_count = s->green_sm_count ? count_int(s->green_sm_count) : d->hw.sm_count,
	};

	if (!d->hw.arch_known || s->overflow || in.block_threads == 0)
		return;
	k->occupancy_known = true;
	occupancy_compute(&k->occupancy, &d->hw.arch, &in);
	k->cliff_known = smem_cliff_compute(&k->cliff, &d->hw.arch, &in);
}

static int build_kernel(struct model_kernel *k, const struct session_shape *s,
			const struct model_device *d, const struct model_sources *sources,
			struct arena *a, struct err *e)
{
	const struct session_kernel *f = s->kernel;

	k->code = (struct model_code){
		.sm = -1,
		.registers = -1,
		.static_smem_bytes = -1,
		.local_bytes = -1,
		.spill_instructions = -1,
		.barriers = -1,
		.debug_build = -1,
		.uses_syscalls = -1,
	};
	if (sources->code)
		sources->code(sources->code_ctx, f, d->hw.arch.sm, &k->code);
	if (sources->access)
		k->access = sources->access(sources->code_ctx, s, d->hw.arch.sm);
	k->resources.registers = driver_or_code(f->registers, k->code.registers);
	k->resources.registers_allocated =
		d->hw.arch_known ? occupancy_registers(&d->hw.arch, k->resources.registers,
						       k->code.uses_syscalls == 1)
				 : -1;
	k->resources.static_smem_bytes =
		driver_or_code(f->static_smem_bytes, k->code.static_smem_bytes);
	k->resources.local_bytes = driver_or_code(f->local_bytes, k->code.local_bytes);
	k->resources.spill_instructions = k->code.spill_instructions;
	k->resources.uses_syscalls = k->code.uses_syscalls;
	build_occupancy(k, d);
	if (!model_stall(k, d, a))
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (model_roofline(k, d, sources, a, e) != 0)
		return -1;
	model_traps(k, &d->hw, a);
	return 0;
}

static double weight_of(const struct model_kernel *k)
{
	return quantity_known(&k->times.total) ? k->times.total.value : 0;
}

static int by_weight(const void *pa, const void *pb)
{
	const struct model_kernel *const *a = pa, *const *b = pb;
	double x = weight_of(*a), y = weight_of(*b);

	return x != y ? (x < y ? 1 : -1) : (*a > *b) - (*a < *b);
}

/* The longest first: what sources can look at is limited, and that is where it matters. */
static int build_kernels(struct model *m, const struct session *s,
			 const struct model_sources *sources, struct err *e)
{
	struct model_kernel **order = arena_array(s->arena, s->shapes_n, sizeof(*order));

	if (!order)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (size_t i = 0; i < s->shapes_n; i++) {
		const struct session_shape *shape = &s->shapes[i];
		struct model_kernel *k = order[i] = &m->kernels[i];

		k->shape = shape;
		k->launches = count_sum(count_sum(shape->sampled_out, shape->untimeable),
					shape->bracketed);
		model_times(&k->times, &shape->times, &m->devices[shape->device].bias, k->launches);
	}
	qsort(order, s->shapes_n, sizeof(*order), by_weight);
	for (size_t i = 0; i < s->shapes_n; i++)
		if (build_kernel(order[i], order[i]->shape, &m->devices[order[i]->shape->device],
				 sources, s->arena, e) < 0)
			return -1;
	return 0;
}

/* ----------------------------------------------------------------- totals */

static void add_kernel_time(struct quantity *sum, const struct quantity *q)
{
	sum->value += q->value;
	sum->low += q->low;
	sum->high += q->high;
	if (q->label == QUANTITY_ESTIMATED) {
		sum->label = QUANTITY_ESTIMATED;
		sum->why = sum->why ? sum->why : q->why;
	}
	if (q->by == QUANTITY_BY_EVENTS || q->by == QUANTITY_BY_USER)
		sum->by = q->by;
}

static void build_kernel_time(struct model *m, const struct session *s)
{
	struct quantity sum = {0, 0, 0, QUANTITY_MEASURED, QUANTITY_BY_GATED_EVENTS, NULL};
	struct model_totals *t = &m->totals;
	bool replayed = false, any = false;

	for (size_t i = 0; i < s->shapes_n; i++) {
		const struct model_kernel *k = &m->kernels[i];

		replayed |= s->shapes[i].graph_node_launches > 0;
		if (quantity_known(&k->times.total)) {
			add_kernel_time(&sum, &k->times.total);
			any = true;
		} else if (k->launches > 0) {
			t->shapes_untimed++;
		}
	}
	if (!any) {
		t->kernel_time_us = quantity_unknown("no kernel has a usable time");
		return;
	}
	if (t->shapes_untimed || replayed) {
		sum.label = QUANTITY_ESTIMATED;
		sum.high = NAN;
		sum.why = replayed ? "kernels replayed by graphs are not in it"
				   : text_format(s->arena,
						 "%llu kernel %s without a time %s not in it",
						 (unsigned long long)t->shapes_untimed,
						 text_plural(t->shapes_untimed, "shape", "shapes"),
						 text_plural(t->shapes_untimed, "is", "are"));
	}
	t->kernel_time_us = sum;
}

static void build_totals(struct model *m, const struct session *s)
{
	struct model_totals *t = &m->totals;
	double duration_us = 0;

	build_kernel_time(m, s);
	for (size_t i = 0; i < s->runs_n; i++)
		duration_us += (double)s->runs[i].duration_ns / 1e3;
	if (quantity_known(&t->kernel_time_us) && duration_us > 0) {
		t->busy_pct = t->kernel_time_us;
		t->busy_pct.value *= 100 / duration_us;
		t->busy_pct.low *= 100 / duration_us;
		t->busy_pct.high *= 100 / duration_us;
		t->busy_pct.label = QUANTITY_ESTIMATED;
		t->busy_pct.by = QUANTITY_BY_MODEL;
		t->busy_pct.why =
			"kernel time over recorded time; kernels of different streams may overlap";
	} else {
		t->busy_pct = quantity_unknown(duration_us > 0
						       ? t->kernel_time_us.why
						       : "the duration of the run is not known");
	}
	t->gap_us = quantity_unknown("the gaps between launches are not recorded");
	t->copy_time_us = quantity_unknown("copies are not timed in this version");
	t->copy_overlap_pct = quantity_unknown("copies are not timed in this version");
}

/* One figure for the run only where it is that of every device. */
static void set_bias(struct metric_pairs *p, bool is_first, double bias_ns, double uncertainty_ns)
{
	if (is_first || p->bias_us == bias_ns / 1e3) {
		p->bias_us = bias_ns / 1e3;
		p->uncertainty_us = uncertainty_ns / 1e3;
	} else {
		p->bias_us = p->uncertainty_us = NAN;
	}
}

static void build_timing(struct model *m, const struct session *s)
{
	struct model_timing *t = &m->timing;
	double self = 0, host = 0;
	bool on = false, cupti = false, given = false;
	const struct metric_pairs *most;

	for (size_t i = 0; i < s->runs_n; i++) {
		const struct session_run *r = &s->runs[i];

		t->gates += r->gates;
		t->gate_deadlines += r->gate_deadlines;
		self += (double)r->self_ns;
		host += (double)r->duration_ns * (r->threads ? r->threads : 1);
		on |= r->timing != KBN_TIMING_OFF;
		cupti |= r->timing == KBN_TIMING_CUPTI;
	}
	for (size_t i = 0; i < s->shapes_n; i++) {
		t->gated.n = count_sum(t->gated.n, s->shapes[i].times.gated);
		t->plain.n = count_sum(t->plain.n, s->shapes[i].times.plain);
		given |= s->shapes[i].times.given_n > 0;
	}
	most = t->gated.n && t->gated.n >= t->plain.n ? &t->gated : &t->plain;
	t->method = given               ? quantity_by_names[QUANTITY_BY_USER]
		    : !on               ? "off"
		    : cupti             ? "cupti"
		    : most == &t->gated ? "gated-events"
					: "events";
	t->self_overhead_pct = host > 0 ? 100 * self / host : NAN;
	t->gated.bias_us = t->gated.uncertainty_us = t->plain.bias_us = t->plain.uncertainty_us =
		NAN;
	for (size_t i = 0; on && i < s->devices_n; i++) {
		const struct event_bias *b = &m->devices[i].bias;

		set_bias(&t->gated, i == 0, b->gated_ns, b->gated_uncertainty_ns);
		set_bias(&t->plain, i == 0, b->plain_ns, event_bias_plain_uncertainty(b));
	}
	t->bias_us = most->bias_us;
	t->uncertainty_us = most->uncertainty_us;
}

int model_build(struct model *m, const struct session *s, const struct model_sources *sources,
		struct err *e)
{
	static const struct model_sources none;
	const struct calibration *calibrations;
	struct model built = {0};

	if (!sources)
		sources = &none;
	calibrations = sources->calibrations;
	built.devices = arena_array(s->arena, s->devices_n, sizeof(*built.devices));
	built.kernels = arena_array(s->arena, s->shapes_n, sizeof(*built.kernels));
	if (!built.devices || !built.kernels)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	for (size_t i = 0; i < s->devices_n; i++)
		if (build_device(&built.devices[i], &s->devices[i],
				 calibrations ? &calibrations[i] : NULL, s->arena) < 0)
			return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (build_kernels(&built, s, sources, e) < 0)
		return -1;
	if (model_traps_across(built.kernels, s) != 0)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	build_totals(&built, s);
	build_timing(&built, s);
	*m = built;
	return 0;
}
