/*
 * roofline_class.c - the second half of roofline.h: from shares, time and geometry to a class and its reasons. A
 * class is only given when both shares are known and no input contradicts another one.
 */
#include "roofline.h"

#include <math.h>
#include <string.h>

#include "arena.h"
#include "finding.h"
#include "text.h"

#define CALIBRATED_SLACK_PCT \
	10 /* that a kernel may be better than the calibration, where no table says more */

/* What the class is made of: shares where `memory` may be that of the L2, see share_of_l2(). */
struct judge {
	struct roofline *r;
	const struct roofline_input *in;
	struct arena *arena;
	struct quantity compute, memory;
	bool contradiction, no_memory;
};

static void add(struct judge *j, enum finding finding, const char *text)
{
	struct metric_class *v = &j->r->verdict;

	if (!text)
		j->no_memory = true;
	else if (v->reasons_n < METRIC_FINDINGS)
		v->reasons[v->reasons_n++] =
			(struct metric_finding){finding_rows[finding].id, text};
}
#define REASON(j, finding, ...) add(j, FINDING_##finding, text_format((j)->arena, __VA_ARGS__))
#define PLAIN(j, finding)       add(j, FINDING_##finding, finding_rows[FINDING_##finding].text)

/* ------------------------------------------------------------------------------------- words */

/* "24.1 G" of 24.1e9, to be followed by FLOP or B. */
static const char *amount(char out[TEXT_NUMBER + 8], double v)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
	char number[TEXT_NUMBER];
	int i = 0;

	for (; v >= 1000 && i < 5; i++)
		v /= 1000;
	snprintf(out, TEXT_NUMBER + 8, "%s %s", text_real(number, v), prefixes[i]);
	return out;
}

/* "the fp32 peak (21.7 TFLOPS)", "608 GB/s"; of a share of nothing also where no peak is known. */
static const char *roof(struct judge *j, bool of_memory)
{
	const struct arch_device *d = j->in->device;
	int peak = j->in->precision.peak;
	char number[TEXT_NUMBER], name[ROOFLINE_NAME];
	bool is_integer = peak == PEAK_INT8_TENSOR || peak == PEAK_INT4_TENSOR;
	const char *text =
		of_memory && isnan(d->dram_gbps) ? "any bandwidth"
		: !of_memory && peak < 0         ? "any peak"
		: of_memory ? text_format(j->arena, "%s GB/s", text_real(number, d->dram_gbps))
			    : text_format(j->arena, "the %s peak %s(%s %s)",
					  roofline_precision_name(name, peak),
					  j->in->precision.pct ? "of single-warp products " : "",
					  text_real(number, roofline_peak(d, &j->in->precision)),
					  is_integer ? "TOPS" : "TFLOPS");

	j->no_memory |= !text;
	return text ? text : "";
}

/* ------------------------------------------------------------------------------------- thresholds */

enum roof_class { LATENCY, MEMORY, COMPUTE, BALANCED };
static const char *const class_names[] = {"latency", "memory", "compute", "balanced"};

static enum roof_class classify(double compute, double memory)
{
	bool by_compute = compute >= ROOFLINE_SATURATED_PCT;
	bool by_memory = memory >= ROOFLINE_SATURATED_PCT;

	if (by_compute)
		return by_memory ? BALANCED : COMPUTE;
	return by_memory ? MEMORY : LATENCY;
}

/* Another class at an end of the intervals; `class` itself when there is none. */
static enum roof_class other_class(const struct judge *j, enum roof_class class)
{
	const double compute[] = {j->compute.low, j->compute.high};
	const double memory[] = {j->memory.low, j->memory.high};

	for (int c = 0; c < 2; c++)
		for (int m = 0; m < 2; m++) {
			enum roof_class other =
				classify(isnan(compute[c]) ? j->compute.value : compute[c],
					 isnan(memory[m]) ? j->memory.value : memory[m]);

			if (other != class)
				return other;
		}
	return class;
}

/* ------------------------------------------------------------------------------------- above 100% */

/*
 * What the device can do at the very most, in percent of the peak that shares are held against. Tensor peaks are
 * stated at the clock of full load, calibrated ones are what a measurement achieved: both can be passed.
 */
static double hard_limit_pct(const struct roofline_input *in, bool of_memory)
{
	const struct arch_device *d = in->device;
	const struct product *p = d->product;
	struct arch_device own;
	double most;

	if (!p)
		return d->peaks_source && strcmp(d->peaks_source, "calibrated") == 0
			       ? 100 + CALIBRATED_SLACK_PCT
			       : 100;
	arch_describe_product(&own, p);
	if (of_memory)
		return fmax(100, 100 * own.dram_gbps / d->dram_gbps);
	if (in->precision.peak < 0) /* the share of nothing */
		return 100;
	most = own.peaks[in->precision.peak];
	if (in->precision.peak >= PEAK_FP64_TENSOR && p->tensor_mhz > 0)
		most *= fmax(1, (double)p->boost_mhz / p->tensor_mhz);
	return fmax(100, 100 * most / d->peaks[in->precision.peak]);
}

static void contradict(struct judge *j, struct quantity *shown, bool of_memory)
{
	char pct[TEXT_NUMBER];

	shown->why = finding_rows[FINDING_OVER_PEAK].text;
	j->contradiction = true;
	REASON(j, OVER_PEAK,
	       "%s of %s: more than the hardware can do, so work, type, time or peak is wrong",
	       text_pct(pct, shown->value), roof(j, of_memory));
}

/* The low end of an interval decides: a share whose interval begins at 100% or below contradicts nothing. */
static bool is_above(const struct quantity *q, double pct)
{
	return quantity_known(q) && (isnan(q->low) ? q->value : q->low) > pct;
}

static void check_limit(struct judge *j, bool of_memory)
{
	struct quantity *q = of_memory ? &j->r->sol_memory_pct : &j->r->sol_compute_pct;
	double limit;
	char pct[TEXT_NUMBER], most[TEXT_NUMBER];

	if (!is_above(q, 100))
		return;
	limit = hard_limit_pct(j->in, of_memory);
	if (is_above(q, limit)) {
		contradict(j, q, of_memory);
		return;
	}
	q->why = finding_rows[FINDING_SOFT_PEAK].text;
	REASON(j, SOFT_PEAK, "%s of %s, which is no hard limit: the device can do up to %s of it",
	       text_pct(pct, q->value), roof(j, of_memory), text_pct(most, limit));
}

#define ISSUE_SLACK_PCT 10 /* that a clock may be above the one that is known */

/* A scheduler issues one instruction a cycle: what surely is executed takes so long. */
static void check_issue(struct judge *j)
{
	const double pct = j->r->issue_pct.low;
	char times[TEXT_NUMBER];

	if (!(pct > 100 + ISSUE_SLACK_PCT))
		return;
	j->contradiction = true;
	REASON(j, OVER_PEAK,
	       "what is surely executed takes the issue slots of %s times as long, so time, device or geometry is wrong",
	       text_ratio(times, pct / 100));
}

static bool fits_l2(const struct judge *j)
{
	int64_t l2 = j->in->device->l2_bytes;

	return l2 > 0 && quantity_known(&j->in->bytes) && j->in->bytes.value <= (double)l2;
}

/* Unknown where nobody measured the L2 of this architecture. Estimated: chips of it differ in size. */
static struct quantity share_of_l2(const struct judge *j)
{
	const struct arch_device *d = j->in->device;
	double times = d->dram_gbps * 1e3 / ((double)d->arch.l2_bytes_measured * d->clock_mhz);
	struct quantity q = j->memory;

	if (!d->arch_known || d->arch.l2_bytes_measured <= 0 || d->clock_mhz <= 0)
		return quantity_unknown("the bandwidth of the L2 is not known");
	q.value *= times;
	q.low *= times;
	q.high *= times;
	q.label = roofline_weakest(q.label, QUANTITY_ESTIMATED);
	q.why = "share of the bandwidth that an L2 of this architecture was measured to have";
	return q;
}

static void from_cache(struct judge *j)
{
	struct quantity *shown = &j->r->sol_memory_pct;
	char gbps[TEXT_NUMBER], size[TEXT_NUMBER], pct[TEXT_NUMBER];

	shown->why = finding_rows[FINDING_FROM_CACHE].text;
	j->memory = share_of_l2(j);
	REASON(j, FROM_CACHE,
	       "%s GB/s where DRAM has %s: the data fits the L2 (%s), so this is cache and not speed%s%s%s",
	       text_real(gbps, j->r->effective_gbps.value), roof(j, true),
	       text_bytes(size, j->in->device->l2_bytes),
	       quantity_known(&j->memory) ? "; of what an L2 was measured to deliver it is " : "",
	       quantity_known(&j->memory) ? text_pct(pct, j->memory.value) : "",
	       quantity_known(&j->memory) ? "" : "; how near to the limit of the L2 is not known");
}

static void check_memory(struct judge *j)
{
	const struct quantity *q = &j->r->sol_memory_pct;
	char size[TEXT_NUMBER];

	if (quantity_known(q) && q->value > 100 && fits_l2(j)) {
		from_cache(j);
		return;
	}
	check_limit(j, true);
	if (quantity_known(q) && q->value >= ROOFLINE_SATURATED_PCT && fits_l2(j)) {
		j->memory.label = roofline_weakest(q->label, QUANTITY_ESTIMATED);
		REASON(j, FITS_L2,
		       "the data fits the L2 (%s): DRAM may deliver less than the share of memory says",
		       text_bytes(size, j->in->device->l2_bytes));
	}
}

/* ------------------------------------------------------------------------------------- reasons */

static void say_shares(struct judge *j)
{
	char compute[TEXT_NUMBER], memory[TEXT_NUMBER];

	REASON(j, SHARES, "compute %s of %s, memory %s of %s",
	       text_pct(compute, j->r->flops_pct.value), roof(j, false),
	       text_pct(memory, j->r->sol_memory_pct.value), roof(j, true));
	if (j->r->flops_pct.value >= ROOFLINE_SATURATED_PCT)
		return;
	if (j->r->issue_pct.low >= ROOFLINE_SATURATED_PCT && j->r->issue_pct.low <= 100)
		REASON(j, ISSUE,
		       "warps issue in %s%s of the slots: what is issued sets the time, not what is computed",
		       quantity_known(&j->r->issue_pct) ? "" : "at least ",
		       text_pct(compute, j->r->issue_pct.low));
	else if (j->r->pipe_pct >= ROOFLINE_SATURATED_PCT && j->r->pipe_pct <= 100)
		REASON(j, ISSUE,
		       "the %s pipe is busy for at least %s of the time, with more than the FLOPs",
		       j->in->pipe, text_pct(compute, j->r->pipe_pct));
}

/* From how much work on the unknown side would be saturated, as ", if it does 12.3 GFLOP or more"; "" = not known. */
static const char *needed(struct judge *j, bool of_memory)
{
	const struct roofline_input *in = j->in;
	double per_us = of_memory ? in->device->dram_gbps * 1e3
				  : roofline_peak(in->device, &in->precision) * 1e6;
	double least = ROOFLINE_SATURATED_PCT / 100 * per_us * in->time_us.value;
	char number[TEXT_NUMBER + 8];
	const char *text = "";

	if (least > 0 && isfinite(least))
		text = text_format(j->arena,
				   of_memory ? " if it moves %sB or more"
					     : " if it does %sFLOP or more",
				   amount(number, least));
	j->no_memory |= !text;
	return text ? text : "";
}

static const char *why_unknown(const struct quantity *q)
{
	return q->why ? q->why : "it was not given";
}

static void say_one_side(struct judge *j)
{
	bool is_memory = quantity_known(&j->r->sol_memory_pct);
	const struct quantity *known = is_memory ? &j->r->sol_memory_pct : &j->r->sol_compute_pct;
	const struct quantity *other = is_memory ? &j->r->sol_compute_pct : &j->r->sol_memory_pct;
	const char *here = is_memory ? "memory" : "compute",
		   *there = is_memory ? "compute" : "memory";
	const char *why = why_unknown(other);
	const char *last = needed(j, !is_memory);
	char pct[TEXT_NUMBER];

	text_pct(pct, known->value);
	if (known->value >= ROOFLINE_SATURATED_PCT)
		REASON(j, ONE_SIDE, "%s %s of %s, so %s-bound, or balanced%s; %s is not known: %s",
		       here, pct, roof(j, is_memory), here, last, there, why);
	else
		REASON(j, ONE_SIDE,
		       "%s %s of %s, so latency-bound, or %s-bound%s; %s is not known: %s", here,
		       pct, roof(j, is_memory), there, last, there, why);
}

static void say_no_share(struct judge *j)
{
	REASON(j, NO_SHARE, "no share of a peak is known; compute: %s; memory: %s",
	       why_unknown(&j->r->sol_compute_pct), why_unknown(&j->r->sol_memory_pct));
}

static const char *few_blocks(struct judge *j)
{
	const struct roofline_input *in = j->in;
	uint64_t blocks = in->grid_blocks, idle;
	char waves[TEXT_NUMBER];

	if (!blocks || in->sm_count <= 0 || blocks >= (uint64_t)in->sm_count)
		return text_format(
			j->arena,
			"%s waves: the grid does not fill the SMs with the blocks they could hold",
			text_ratio(waves, in->occupancy->waves));
	idle = (uint64_t)in->sm_count - blocks;
	return text_format(j->arena, "%llu %s for %d SMs: %llu %s", (unsigned long long)blocks,
			   text_plural(blocks, "block", "blocks"), in->sm_count,
			   (unsigned long long)idle,
			   text_plural(idle, "SM never works", "SMs never work"));
}

static void say_few_warps(struct judge *j)
{
	const struct occupancy *o = j->in->occupancy;
	const char *rule = o->enough_is_published ? "" : " (a rule of thumb)";

	if (o->enough_warps == 0)
		REASON(j, FEW_WARPS,
		       "room for %d %s per SM, below the %d from which latency counts as hidden%s",
		       o->warps_per_sm, text_plural((uint64_t)o->warps_per_sm, "warp", "warps"),
		       o->enough_warps_at, rule);
	else if (o->grid_warps_per_sm > 0 && o->grid_warps_per_sm < o->enough_warps_at)
		REASON(j, FEW_WARPS,
		       "the grid puts %d %s on an SM, below the %d from which latency counts as hidden%s",
		       o->grid_warps_per_sm,
		       text_plural((uint64_t)o->grid_warps_per_sm, "warp", "warps"),
		       o->enough_warps_at, rule);
}

/* Blocks of a grid that the device holds at once are no queue. */
#define STARTS_WAVES 2.0

double roofline_starts_pct(const struct arch_device *d, const struct occupancy *o, double blocks,
			   double us)
{
	return o && o->waves >= STARTS_WAVES && us > ROOFLINE_EMPTY_US
		       ? 100 * arch_start_us(d, blocks) / (us - ROOFLINE_EMPTY_US)
		       : NAN;
}

static void say_starts(struct judge *j)
{
	const struct roofline_input *in = j->in;
	const double blocks = (double)in->grid_blocks;
	char now[TEXT_NUMBER], most[TEXT_NUMBER];

	if (!quantity_known(&in->time_us) ||
	    !(roofline_starts_pct(in->device, in->occupancy, blocks, in->time_us.value) >=
	      ROOFLINE_STARTS_PCT))
		return;
	REASON(j, BLOCK_STARTS,
	       "%s blocks start per us, and %s is the most that was measured on a device of this architecture",
	       text_real(now, blocks / in->time_us.value),
	       text_real(most, 1 / arch_start_us(in->device, 1)));
}

/* What grid and occupancy prove of a kernel that is not known to saturate anything. */
static void say_geometry(struct judge *j)
{
	const struct occupancy *o = j->in->occupancy;
	char waves[TEXT_NUMBER], full[TEXT_NUMBER], idle[TEXT_NUMBER];

	if (!o)
		return;
	if (o->waves < 1)
		add(j, FINDING_SMALL_GRID, few_blocks(j));
	say_few_warps(j);
	if (o->waves >= 1 && o->waves < 2 && o->last_wave_pct < 100)
		REASON(j, TAIL,
		       "tail: %s waves, the last %s full; %s of the SM time idles when all blocks take the "
		       "same time",
		       text_ratio(waves, o->waves), text_pct(full, o->last_wave_pct),
		       text_pct(idle, o->tail_waste_pct));
}

static void say_latency(struct judge *j)
{
	int before = j->r->verdict.reasons_n;

	say_geometry(j);
	say_starts(j);
	if (j->r->verdict.reasons_n != before)
		return;
	if (j->in->occupancy)
		PLAIN(j, DEPENDENT);
	else
		REASON(j, DEPENDENT,
		       "neither compute nor memory is saturated; whether for want of warps or blocks is not "
		       "known");
}

static void check_launch(struct judge *j)
{
	const struct quantity *t = &j->in->time_us;
	double gap = j->in->launch_gap_us;
	char time[TEXT_NUMBER], gap_text[TEXT_NUMBER];

	if (!quantity_known(t) || !(t->value > 0) || t->value >= ROOFLINE_SHORT_US)
		return;
	if (isnan(gap))
		REASON(j, SHORT,
		       "shorter than %.0f us: it may be bound by its launch, but the gaps between launches "
		       "are not recorded",
		       ROOFLINE_SHORT_US);
	else if (t->value < gap) {
		j->r->verdict.launch_bound = true;
		REASON(j, LAUNCH_GAP, "launch-bound: %s, and %s from one launch to the next",
		       text_us(time, t->value), text_us(gap_text, gap));
	}
}

/* ------------------------------------------------------------------------------------- the class */

static void set_class(struct judge *j)
{
	enum roof_class class = classify(j->compute.value, j->memory.value);
	enum roof_class other = other_class(j, class);
	struct metric_class *v = &j->r->verdict;
	enum quantity_label label = roofline_weakest(j->compute.label, j->memory.label);

	v->class = class_names[class];
	if (j->compute.value != j->memory.value)
		v->larger = j->compute.value > j->memory.value ? "compute" : "memory";
	if (other != class) {
		label = roofline_weakest(label, QUANTITY_ESTIMATED);
		REASON(j, NEAR_THRESHOLD, "within the uncertainty of its inputs it may be %s%s",
		       class_names[other], other == BALANCED ? "" : "-bound");
	}
	v->label = quantity_label_names[label];
	if (class == LATENCY)
		say_latency(j);
	else
		say_starts(j);
}

static void say_unknown(struct judge *j)
{
	const struct roofline_input *in = j->in;
	bool one = quantity_known(&j->r->sol_compute_pct) != quantity_known(&j->r->sol_memory_pct);

	if (one && !j->contradiction)
		say_one_side(j);
	else if (!quantity_known(&in->flops) && !quantity_known(&in->bytes))
		PLAIN(j, WORK_UNKNOWN);
	else if (!quantity_known(&in->time_us) || !(in->time_us.value > 0))
		PLAIN(j, NO_TIME);
	else if (!j->contradiction && !one)
		say_no_share(j);
	say_geometry(j);
	say_starts(j);
}

int roofline_class(struct roofline *r, const struct roofline_input *in, struct arena *a,
		   struct err *e)
{
	struct judge j = {.r = r,
			  .in = in,
			  .arena = a,
			  .compute = r->sol_compute_pct,
			  .memory = r->sol_memory_pct};
	struct metric_class *v = &r->verdict;

	*v = (struct metric_class){.class = quantity_label_names[QUANTITY_UNKNOWN],
				   .label = quantity_label_names[QUANTITY_UNKNOWN]};
	if (quantity_known(&r->sol_compute_pct) && quantity_known(&r->sol_memory_pct))
		say_shares(&j);
	check_issue(&j);
	check_limit(&j, false);
	check_memory(&j);
	if (!j.contradiction && quantity_known(&j.compute) && quantity_known(&j.memory))
		set_class(&j);
	else
		say_unknown(&j);
	check_launch(&j);
	/* The time and the gap alone carry this class, where nothing else carries one. */
	if (v->launch_bound && !j.contradiction &&
	    v->label == quantity_label_names[QUANTITY_UNKNOWN]) {
		v->class = "launch";
		v->label = quantity_label_names[in->time_us.label];
	}
	return j.no_memory ? err_set(e, ERR_MEMORY, -1, "out of memory") : 0;
}
