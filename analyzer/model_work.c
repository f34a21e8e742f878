/* model_work.c - see model_work.h. */
#include "model_work.h"

#include <math.h>
#include <string.h>

#include "count.h"
#include "sass_work.h"

/* Which type of peaks a type of a product stands for. */
static const struct {
	enum sass_type type;
	enum work_dtype dtype;
} product_types[] = {
	{SASS_TYPE_F64, WORK_FP64},  {SASS_TYPE_TF32, WORK_TF32}, {SASS_TYPE_F16, WORK_FP16},
	{SASS_TYPE_BF16, WORK_BF16}, {SASS_TYPE_E4M3, WORK_FP8},  {SASS_TYPE_E5M2, WORK_FP8},
	{SASS_TYPE_E2M1, WORK_FP4},  {SASS_TYPE_S8, WORK_INT8},   {SASS_TYPE_U8, WORK_INT8},
	{SASS_TYPE_S4, WORK_INT4},   {SASS_TYPE_U4, WORK_INT4},
};

static uint32_t count_of(const struct metric_sass *s, const char *op)
{
	for (size_t i = 0; i < s->ops_n; i++)
		if (!strcmp(s->ops[i].op, op))
			return s->ops[i].n;
	return 0;
}

/* The one type that the code multiplies in; NONE when there are several, or none. */
static enum work_dtype dtype_of_code(const struct metric_sass *s)
{
	const bool has_single = count_of(s, "FFMA") || count_of(s, "FMUL") || count_of(s, "FADD");
	const bool has_double = count_of(s, "DFMA") || count_of(s, "DMUL") || count_of(s, "DADD");

	if (s->undecoded)
		return WORK_DTYPE_NONE;
	for (size_t i = 0; s->has_products && i < sizeof(product_types) / sizeof(*product_types);
	     i++)
		if (product_types[i].type == s->product_type)
			return product_types[i].dtype;
	if (s->has_products || s->has_halves)
		return WORK_DTYPE_NONE;
	return has_single && !has_double   ? WORK_FP32
	       : has_double && !has_single ? WORK_FP64
					   : WORK_DTYPE_NONE;
}

static int on_tensor(const struct metric_sass *s)
{
	return !s || (s->undecoded && !s->has_products) ? -1 : s->has_products;
}

static int sums_fp32(const struct metric_sass *s)
{
	if (!s || s->product_sums == SASS_UNKNOWN)
		return -1;
	return s->product_sums == SASS_TYPE_F32;
}

/* Of a tensor peak, what the instructions of the kernel can reach; 0 = all. */
static int reachable_pct(const struct arch *a, const struct metric_sass *s, int peak)
{
	if (!s || !s->has_warp_products || a->warp_product_pct <= 0 || peak <= PEAK_FP64_TENSOR)
		return 0;
	return a->warp_product_pct;
}

/* Of one launch: the median, and how far one time may be off. */
static struct quantity time_of(const struct model_kernel *k)
{
	const struct metric_times *t = &k->times;

	if (isnan(t->median))
		return quantity_unknown(t->why ? t->why : "no time");
	return (struct quantity){t->median,
				 fmax(t->median - t->uncertainty, 0),
				 t->median + t->uncertainty,
				 QUANTITY_MEASURED,
				 k->times.total.by,
				 NULL};
}

int model_roofline(struct model_kernel *k, const struct model_device *d,
		   const struct model_sources *sources, struct arena *a, struct err *e)
{
	const struct session_shape *s = k->shape;
	struct roofline_input in = {.device = &d->hw, .launch_gap_us = NAN};
	int found = 0;

	k->work = (struct work)WORK_INIT;
	if (sources->work && !s->overflow)
		found = sources->work(sources->work_ctx, s, &k->work, e);
	if (found < 0)
		return -1;
	k->work_known = found > 0;
	if (k->work.dtype == WORK_DTYPE_NONE && k->code.sass)
		work_set_dtype(&k->work, dtype_of_code(k->code.sass));
	in.flops = work_flops(&k->work);
	in.bytes = work_bytes(&k->work);
	in.instructions = k->access ? k->access->warp_instructions
				    : quantity_unknown("the code was not interpreted");
	in.time_us = time_of(k);
	if (k->access) {
		in.pipe_cycles = k->access->pipe_cycles;
		in.pipe = k->access->pipe;
	}
	in.precision = roofline_precision(&d->hw, k->work.dtype, on_tensor(k->code.sass),
					  sums_fp32(k->code.sass));
	in.precision.pct = reachable_pct(&d->hw.arch, k->code.sass, in.precision.peak);
	in.occupancy = k->occupancy_known ? &k->occupancy : NULL;
	in.grid_blocks = s->overflow ? 0 : count_volume(s->grid);
	in.sm_count = s->green_sm_count ? count_int(s->green_sm_count) : d->hw.sm_count;
	if (roofline_build(&k->roofline, &in, a, e) != 0)
		return -1;
	k->verdict = k->roofline.verdict;
	return 0;
}
