/*
 * roofline.c - the figures of roofline.h: which peak, intensity, balance, shares. Intervals follow their inputs;
 * the class is made of them in roofline_class.c.
 */
#include "roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- which peak */

/* Peaks by type: of the ordinary units, of the tensor units. */
static const struct {
	int plain, tensor;
	bool one_unit; /* only one of them can do it at all */
} units[WORK_DTYPES] = {
	[WORK_DTYPE_NONE] = {-1, -1, false},
	[WORK_FP64] = {PEAK_FP64, PEAK_FP64_TENSOR, false},
	[WORK_FP32] = {PEAK_FP32, -1, true},
	[WORK_TF32] = {-1, PEAK_TF32_TENSOR, true},
	[WORK_FP16] = {PEAK_FP16, PEAK_FP16_TENSOR_FP32ACC, false},
	[WORK_BF16] = {-1, PEAK_BF16_TENSOR, false},
	[WORK_FP8] = {-1, PEAK_FP8_TENSOR, true},
	[WORK_FP4] = {-1, PEAK_FP4_TENSOR, true},
	[WORK_INT8] = {-1, PEAK_INT8_TENSOR, false},
	[WORK_INT4] = {-1, PEAK_INT4_TENSOR, true},
};

static struct roofline_precision unknown_peak(const char *why)
{
	return (struct roofline_precision){-1, why, 0};
}

/* Has this device tensor units for the type? The columns of FP16 are two. */
static bool has_tensor(const struct arch_device *d, enum work_dtype dtype)
{
	return !isnan(d->peaks[units[dtype].tensor]) ||
	       (dtype == WORK_FP16 && !isnan(d->peaks[PEAK_FP16_TENSOR]));
}

static struct roofline_precision fp16_tensor(const struct arch_device *d, int sums_fp32)
{
	double fp16 = d->peaks[PEAK_FP16_TENSOR], fp32 = d->peaks[PEAK_FP16_TENSOR_FP32ACC];

	if (d->product && d->product->is_profile && isnan(fp32))
		return (struct roofline_precision){PEAK_FP16_TENSOR, NULL, 0};
	if (sums_fp32 < 0 && fp16 != fp32)
		return unknown_peak(
			"whether FP16 products are summed in FP16 or FP32 is not known, "
			"and the peaks differ");
	return (struct roofline_precision){
		sums_fp32 == 0 ? PEAK_FP16_TENSOR : PEAK_FP16_TENSOR_FP32ACC, NULL, 0};
}

struct roofline_precision roofline_precision(const struct arch_device *d, enum work_dtype dtype,
					     int on_tensor, int sums_fp32)
{
	int plain = units[dtype].plain, tensor = units[dtype].tensor;

	if (dtype == WORK_DTYPE_NONE)
		return unknown_peak("the type of the work is not known");
	if (on_tensor < 0 && units[dtype].one_unit)
		on_tensor = tensor >= 0;
	if (on_tensor < 0 && plain >= 0 && !has_tensor(d, dtype))
		on_tensor = 0;
	if (on_tensor < 0)
		return unknown_peak("whether tensor units do the work is not known");
	if (on_tensor && tensor < 0)
		return unknown_peak("no tensor unit multiplies FP32: the work is of another type, "
				    "or not on tensor units");
	if (!on_tensor && plain < 0)
		return unknown_peak("no peak of this type is known but that of tensor units, which "
				    "do not do the work");
	if (dtype == WORK_FP16 && on_tensor)
		return fp16_tensor(d, sums_fp32);
	return (struct roofline_precision){on_tensor ? tensor : plain, NULL, 0};
}

const char *roofline_precision_name(char out[ROOFLINE_NAME], int peak)
{
	const char *key, *unit;

	if (peak < 0)
		return NULL;
	key = arch_peak_keys[peak];
	unit = strrchr(key, '_');
	snprintf(out, ROOFLINE_NAME, "%.*s", (int)(unit - key), key);
	return out;
}

static double roofline_part(const struct roofline_precision *p)
{
	return p->pct ? p->pct / 100.0 : 1;
}

double roofline_peak(const struct arch_device *d, const struct roofline_precision *p)
{
	return p->peak < 0 ? NAN : d->peaks[p->peak] * roofline_part(p);
}

double roofline_balance(const struct arch_device *d, int peak)
{
	double balance = peak < 0 ? NAN : d->peaks[peak] * 1e3 / d->dram_gbps;

	return isfinite(balance) ? balance : NAN;
}

/* ------------------------------------------------------------------------------------- quantities */

enum quantity_label roofline_weakest(enum quantity_label a, enum quantity_label b)
{
	static const int weakness[] = {[QUANTITY_MEASURED] = 0,
				       [QUANTITY_DERIVED] = 1,
				       [QUANTITY_RECONSTRUCTED] = 2,
				       [QUANTITY_ESTIMATED] = 3,
				       [QUANTITY_UNKNOWN] = 4};

	return weakness[a] >= weakness[b] ? a : b;
}

static double real(double v)
{
	return isfinite(v) ? v : NAN;
}

/* scale * a / b with the interval of both; what neither knows stays unknown, with the reason of the first. */
static struct quantity quotient(const struct quantity *a, const struct quantity *b, double scale)
{
	enum quantity_label label = roofline_weakest(a->label, b->label);

	if (!quantity_known(a) || !quantity_known(b))
		return quantity_unknown(quantity_known(a) ? b->why : a->why);
	if (!(b->value > 0))
		return quantity_unknown("a division by zero");
	if (!isfinite(scale * a->value / b->value))
		return quantity_unknown("the figures are out of any range");
	return (struct quantity){
		.value = scale * a->value / b->value,
		.low = real(scale * a->low / b->high),
		.high = b->low > 0 ? real(scale * a->high / b->low) : NAN,
		.label = label,
		.by = label == a->label ? a->by : b->by,
		.why = label == a->label && a->why ? a->why : b->why,
	};
}

static bool is_nothing(const struct quantity *work)
{
	return quantity_known(work) && work->value == 0 && !(work->high > 0);
}

/* Share of a peak in percent; `per_us` is what the peak does in a us. No work is 0% of any peak, known or not. */
static struct quantity share(const struct quantity *work, const struct quantity *time_us,
			     double per_us, const char *why)
{
	if (is_nothing(work))
		return quotient(work, time_us, 100);
	if (quantity_known(work) && quantity_known(time_us) && !(per_us > 0))
		return quantity_unknown(why);
	return quotient(work, time_us, 100 / per_us);
}

/* What one side and the time bound: no more than a peak can have moved or computed. */
static struct quantity intensity(const struct roofline_input *in, double flops_per_us,
				 double bytes_per_us)
{
	const struct quantity *f = &in->flops, *b = &in->bytes, *t = &in->time_us;
	struct quantity q = quotient(f, b, 1);

	if (quantity_known(f) && quantity_known(b))
		return q;
	if (!quantity_known(t) || !(t->high > 0))
		return q;
	if (quantity_known(f) && bytes_per_us > 0)
		q.low = real(f->low / (bytes_per_us * t->high));
	else if (quantity_known(b) && flops_per_us > 0 && b->low > 0)
		q.high = real(flops_per_us * t->high / b->low);
	return q;
}

static const char *side(const struct quantity *q, double balance)
{
	if (is_nothing(q))
		return "memory";
	if (!quantity_known(q) || isnan(balance))
		return "unknown";
	return q->value < balance ? "memory" : "compute";
}

/* The larger share; where one is not known, the other one is the least that it can be. */
static struct quantity attained(const struct quantity *compute, const struct quantity *memory)
{
	struct quantity q;

	if (quantity_known(compute) && quantity_known(memory)) {
		q = compute->value >= memory->value ? *compute : *memory;
		q.low = fmax(compute->low, memory->low);
		q.high = isnan(compute->high) || isnan(memory->high)
				 ? NAN
				 : fmax(compute->high, memory->high);
		q.label = roofline_weakest(compute->label, memory->label);
		return q;
	}
	q = quantity_unknown(quantity_known(compute) ? memory->why : compute->why);
	if (quantity_known(compute) || quantity_known(memory))
		q.low = quantity_known(compute) ? compute->low : memory->low;
	return q;
}

/* Cycles of all schedulers in a us. At a clock below the one that is known they are fewer. */
static double scheduler_cycles(const struct roofline_input *in)
{
	const struct arch_device *d = in->device;

	return in->sm_count > 0 && d->arch_known && d->clock_mhz > 0
		       ? (double)in->sm_count * d->arch.partitions * d->clock_mhz
		       : NAN;
}

static double at_least(const struct roofline_input *in, double cycles)
{
	return quantity_known(&in->time_us) && in->time_us.high > 0
		       ? real(100 * cycles / (scheduler_cycles(in) * in->time_us.high))
		       : NAN;
}

static struct quantity issue_share(const struct roofline_input *in)
{
	struct quantity q = share(&in->instructions, &in->time_us, scheduler_cycles(in),
				  "SMs, schedulers or clock are not known");

	if (!quantity_known(&in->instructions))
		q.low = at_least(in, in->instructions.low);
	return q;
}

/* The busiest unit that is known: what is certain of issue and pipes, where that is more than the work of its peak. */
static struct quantity busiest(const struct roofline *r, const char *pipe)
{
	const struct quantity *issue = &r->issue_pct, *flops = &r->flops_pct;
	struct quantity q = *issue;

	if (!quantity_known(flops) || !(fmax(issue->low, r->pipe_pct) > flops->value) ||
	    fmax(issue->low, r->pipe_pct) > 100)
		return *flops;
	q.why = "share of the slots in which warps issue, the busiest unit that is known";
	if (r->pipe_pct > issue->low) {
		q.value = q.low = r->pipe_pct;
		q.why = !strcmp(pipe, "ALU")
				? "share of the cycles of the ALU, the busiest unit that is known"
				: "share of the cycles of a pipe, the busiest unit that is known";
	} else if (quantity_known(issue)) {
		return q;
	}
	q.value = q.low;
	q.high = NAN;
	q.label = QUANTITY_ESTIMATED;
	q.by = QUANTITY_BY_INTERPRETER;
	return q;
}

int roofline_build(struct roofline *r, const struct roofline_input *in, struct arena *a,
		   struct err *e)
{
	const struct arch_device *d = in->device;
	int peak = in->precision.peak;
	double flops_per_us = roofline_peak(d, &in->precision) * 1e6;
	double bytes_per_us = d->dram_gbps * 1e3;
	const char *no_peak = in->precision.why ? in->precision.why
						: "no peak of this type is known of the device";
	const char *no_bandwidth = d->dram_why ? d->dram_why : "the bandwidth is not known";

	*r = (struct roofline){
		.balance = roofline_balance(d, peak) * roofline_part(&in->precision),
		.precision = peak,
		.precision_pct = in->precision.pct,
		.intensity = intensity(in, flops_per_us, bytes_per_us),
		.sol_compute_pct = share(&in->flops, &in->time_us, flops_per_us, no_peak),
		.sol_memory_pct = share(&in->bytes, &in->time_us, bytes_per_us, no_bandwidth),
		.effective_gflops = quotient(&in->flops, &in->time_us, 1e-3),
		.effective_gbps = quotient(&in->bytes, &in->time_us, 1e-3),
	};
	r->side = side(&r->intensity, r->balance);
	if (quantity_known(&in->flops) && in->flops.value > 0 && quantity_known(&in->bytes) &&
	    in->bytes.value == 0) {
		r->intensity = quantity_unknown("no DRAM bytes: only compute has a roof");
		r->side = "compute";
	}
	r->attained_pct = attained(&r->sol_compute_pct, &r->sol_memory_pct);
	r->issue_pct = issue_share(in);
	r->flops_pct = r->sol_compute_pct;
	r->pipe_pct = in->pipe_cycles > 0 ? at_least(in, in->pipe_cycles) : NAN;
	r->sol_compute_pct = busiest(r, in->pipe);
	return roofline_class(r, in, a, e);
}
