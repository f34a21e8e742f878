/*
 * model_times.c - time statistics of one kernel shape: raw event times in, unbiased us out.
 * Input: struct session_times. Leaves everything that is not time to model.c.
 */
#include "model.h"

#include <stdlib.h>

#define SKETCH_ERROR 0.016 /* half a bucket */
#define Z95          1.96

static const char below_resolution[] = "below the resolution of the event pair";
static const char not_given[] = "nothing ran, and no time was given";
static const char given[] = "by the user, not by kbn";

/* Good samples by kind: steady ones, or warm-up where there is nothing else. */
struct mixture {
	const struct event_bias *bias;
	double gated, plain;
	double uncertainty_ns;
};

static bool is_plain(const struct kbn_early *s)
{
	return (s->launch & KBN_EARLY_PLAIN) != 0;
}

static bool is_warmup(const struct kbn_early *s)
{
	return (s->launch & ~KBN_EARLY_PLAIN) < KBN_WARMUP;
}

static double unbiased_ns(const struct kbn_early *s, const struct event_bias *b)
{
	return (double)s->ns - (is_plain(s) ? b->plain_ns : b->gated_ns);
}

/*
 * Where the host stayed short enough between the records, but the stream may have been idle, the
 * true time lies anywhere between elapsed - host time and elapsed.
 */
static double plain_uncertainty(const struct session_times *t, const struct event_bias *b)
{
	double slack = t->plain ? (double)t->slack_ns / (double)t->plain : 0;

	return fmax(event_bias_plain_uncertainty(b), slack - b->plain_ns);
}

static struct mixture mix(const struct session_times *t, const struct event_bias *b)
{
	struct mixture m = {b, (double)t->gated, (double)t->plain, b->gated_uncertainty_ns};

	for (size_t i = 0; i < t->early_n; i++)
		if (is_warmup(&t->early[i]))
			*(is_plain(&t->early[i]) ? &m.plain : &m.gated) -= 1;
	m.gated = fmax(m.gated, 0);
	m.plain = fmax(m.plain, 0);
	if (m.gated + m.plain == 0) { /* warm-up only */
		m.gated = (double)t->gated;
		m.plain = (double)t->plain;
	}
	if (m.plain > 0) /* a few plain ones among many gated move a mean or a median little */
		m.uncertainty_ns =
			(m.gated * b->gated_uncertainty_ns + m.plain * plain_uncertainty(t, b)) /
			(m.gated + m.plain);
	return m;
}

/* Sum, extremes and sketch do not tell gated samples from plain ones: each stands for the mixture. */
static double mixture_bias(const struct mixture *m)
{
	double share = m->gated + m->plain > 0 ? m->gated / (m->gated + m->plain) : 1;

	return share * m->bias->gated_ns + (1 - share) * m->bias->plain_ns;
}

static double unbiased_mixed(const struct mixture *m, double raw_ns)
{
	return raw_ns - mixture_bias(m);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of sorted values, linear between neighbours. */
static double quantile(const double *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

static double sketch_quantile(const uint32_t *count, double total, double q)
{
	double target = q * total, before = 0;

	for (uint32_t b = 0; b < KBN_SKETCH_BUCKETS; b++) {
		if (count[b] && before + count[b] >= target) {
			double low = (double)kbn_sketch_edge(b),
			       high = (double)kbn_sketch_edge(b + 1);

			return low + (high - low) * (target - before) / count[b];
		}
		before += count[b];
	}
	return NAN;
}

/* Standard deviation by bucket midpoints. */
static double sketch_spread(const uint32_t *count, double total)
{
	double sum = 0, squares = 0;

	for (uint32_t b = 0; b < KBN_SKETCH_BUCKETS; b++) {
		double mid = ((double)kbn_sketch_edge(b) + (double)kbn_sketch_edge(b + 1)) / 2;

		sum += count[b] * mid;
		squares += count[b] * mid * mid;
	}
	sum /= total;
	return sqrt(fmax(squares / total - sum * sum, 0));
}

static double mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

static double spread(const double *v, size_t n)
{
	const double middle = mean(v, n);
	double squares = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - middle) * (v[i] - middle);
	return sqrt(squares / (double)(n - 1));
}

/* A time in us, or unknown when the bias has eaten it. */
static double us_or_unknown(double ns)
{
	return ns > 0 ? ns / 1e3 : NAN;
}

struct early_stats {
	double *steady, *warm; /* unbiased ns, sorted; in one allocation that starts at `steady` */
	size_t steady_n, warm_n;
	double warm_sum; /* launches 0 to 2, all of them */
	double first;    /* ns, NaN = launch 0 was not timed */
	size_t warm_all_n;
};

/* The first launch of each thread is one; with several the slowest shows the cost. */
static bool early_collect(struct early_stats *s, const struct session_times *t,
			  const struct event_bias *b)
{
	*s = (struct early_stats){.first = NAN};
	s->steady = malloc((2 * t->early_n + 1) * sizeof(double));
	if (!s->steady)
		return false;
	s->warm = s->steady + t->early_n;
	for (size_t i = 0; i < t->early_n; i++) {
		double ns = unbiased_ns(&t->early[i], b);

		if (!is_warmup(&t->early[i])) {
			s->steady[s->steady_n++] = ns;
			continue;
		}
		s->warm_sum += ns;
		s->warm_all_n++;
		if ((t->early[i].launch & ~KBN_EARLY_PLAIN) != 0)
			s->warm[s->warm_n++] = ns;
		else if (!(ns <= s->first))
			s->first = ns;
	}
	if (!s->warm_n && s->warm_all_n) /* nothing but first launches */
		s->warm[s->warm_n++] = s->warm_sum / (double)s->warm_all_n;
	qsort(s->steady, s->steady_n, sizeof(double), by_value);
	qsort(s->warm, s->warm_n, sizeof(double), by_value);
	return true;
}

/* mean, median, ... of a handful of values kept one by one. */
static void from_values(struct metric_times *out, const double *v, size_t n)
{
	if (!n)
		return;
	out->mean = us_or_unknown(mean(v, n));
	out->median = us_or_unknown(quantile(v, n, 0.5));
	out->p90 = us_or_unknown(quantile(v, n, 0.9));
	out->min = us_or_unknown(v[0]);
	out->max = us_or_unknown(v[n - 1]);
}

static double bounded(double v, double low, double high)
{
	return fmin(fmax(v, low), high);
}

/* Of all samples together: each kind's bias by its share. */
static void from_sums(struct metric_times *out, const struct session_times *t,
		      const struct mixture *m)
{
	out->mean = us_or_unknown(unbiased_mixed(m, (double)t->sum_ns / (double)t->samples));
	out->min = us_or_unknown(unbiased_mixed(m, (double)t->min_ns));
	out->max = us_or_unknown(unbiased_mixed(m, (double)t->max_ns));
}

static void from_sketch(struct metric_times *out, const struct session_times *t, double total,
			const struct mixture *m)
{
	double low = (double)t->min_ns, high = (double)t->max_ns;
	double median = bounded(sketch_quantile(t->sketch, total, 0.5), low, high),
	       p90 = bounded(sketch_quantile(t->sketch, total, 0.9), low, high);

	out->median = us_or_unknown(unbiased_mixed(m, median));
	out->p90 = us_or_unknown(unbiased_mixed(m, p90));
	out->from_sketch = true;
	out->uncertainty = SKETCH_ERROR * median / 1e3;
}

static double sketch_total(const struct session_times *t)
{
	double total = 0;

	for (uint32_t b = 0; t->sketch && b < KBN_SKETCH_BUCKETS; b++)
		total += t->sketch[b];
	return total;
}

/*
 * Sum over the launches that ran. The untimed ones are taken to be like the timed steady ones; the
 * interval holds the error of the bias and the sampling error of the mean.
 */
static void set_total(struct metric_times *out, double timed_ns, uint64_t timed, uint64_t ran,
		      double mean_ns, double spread_ns, double samples, double uncertainty_ns,
		      enum quantity_by by)
{
	double rest = ran > timed ? (double)(ran - timed) : 0;
	double total = timed_ns + rest * mean_ns;
	double margin = uncertainty_ns * (double)ran,
	       sampling = rest > 0 ? rest * Z95 * spread_ns / sqrt(samples) : 0;

	out->total = (struct quantity){.by = by,
				       .label = rest > 0 ? QUANTITY_ESTIMATED : QUANTITY_MEASURED};
	out->total.value = total > 0 ? total / 1e3 : NAN;
	out->total.high =
		fmax(total + margin + sampling, 0) / 1e3; /* NaN stays: nothing bounds one sample */
	out->total.low = fmax(total - margin - (isnan(sampling) ? total : sampling), 0) / 1e3;
	if (isnan(sampling))
		out->total.high = NAN;
	if (rest > 0)
		out->total.why =
			"launches that were not timed are taken to be like those that were";
	if (isnan(out->total.value)) {
		out->total.label = QUANTITY_UNKNOWN;
		out->total.why = below_resolution;
	}
}

static const char *why_untimed(const struct session_times *t, uint64_t ran)
{
	if (ran == 0)
		return "it never ran by itself";
	if (t->starved > 0)
		return "every sample measured the host instead of the kernel";
	if (t->lost > 0)
		return "the samples were lost with their context or stream";
	return "no launch of it was timed";
}

/* Of no event pair: nothing is taken off, and how far they are off is the user's knowledge. */
static void from_user(struct metric_times *out, const struct session_times *t)
{
	double sum = 0;

	out->why = t->given_n ? NULL : not_given;
	out->total = quantity_unknown(not_given);
	if (!t->given_n)
		return;
	for (size_t i = 0; i < t->given_n; i++)
		sum += t->given_us[i];
	out->timed = t->given_n;
	out->method = quantity_by_names[QUANTITY_BY_USER];
	out->mean = sum / (double)t->given_n;
	out->median = quantile(t->given_us, t->given_n, 0.5);
	out->p90 = quantile(t->given_us, t->given_n, 0.9);
	out->min = t->given_us[0];
	out->max = t->given_us[t->given_n - 1];
	out->total = (struct quantity){sum, sum, sum, QUANTITY_MEASURED, QUANTITY_BY_USER, given};
}

void model_times(struct metric_times *out, const struct session_times *t,
		 const struct event_bias *bias, uint64_t ran)
{
	struct mixture m = mix(t, bias);
	struct early_stats early;
	double in_sketch = sketch_total(t), mean_ns, timed_ns, spread_ns, samples;
	enum quantity_by by = m.gated >= m.plain ? QUANTITY_BY_GATED_EVENTS : QUANTITY_BY_EVENTS;

	*out = (struct metric_times){.timed = t->gated + t->plain,
				     .mean = NAN,
				     .median = NAN,
				     .p90 = NAN,
				     .min = NAN,
				     .max = NAN,
				     .first = NAN,
				     .uncertainty = NAN};
	if (t->is_given) {
		from_user(out, t);
		return;
	}
	out->total = quantity_unknown(why_untimed(t, ran));
	out->why = out->total.why;
	if (out->timed == 0 || !early_collect(&early, t, bias))
		return;
	out->method = quantity_by_names[by];
	out->first = us_or_unknown(early.first);
	samples = (double)t->samples;
	timed_ns = early.warm_sum;
	if (t->samples > 0) {
		mean_ns = unbiased_mixed(&m, (double)t->sum_ns / samples);
		if (in_sketch > 0) {
			from_sketch(out, t, in_sketch, &m);
			spread_ns = sketch_spread(t->sketch, in_sketch);
		} else {
			from_values(out, early.steady, early.steady_n);
			spread_ns = spread(early.steady, early.steady_n);
		}
		/* where each was kept it lost the bias of its own kind, and nothing of the sums goes with that */
		if (in_sketch > 0 || early.steady_n != t->samples)
			from_sums(out, t, &m);
		else
			mean_ns = mean(early.steady, early.steady_n);
		timed_ns += mean_ns * samples;
	} else if (early.warm_n) {
		out->warmup_only = true;
		from_values(out, early.warm, early.warm_n);
		samples = (double)early.warm_n;
		mean_ns = mean(early.warm, early.warm_n);
		spread_ns = spread(early.warm, early.warm_n);
	} else {
		free(early.steady);
		return;
	}
	if (isnan(out->uncertainty) || isnan(out->median))
		out->uncertainty = 0;
	out->uncertainty += m.uncertainty_ns / 1e3;
	out->why = isnan(out->median) ? below_resolution : NULL;
	set_total(out, timed_ns, out->timed, ran, mean_ns, spread_ns, samples, m.uncertainty_ns,
		  by);
	free(early.steady);
}
