/*
 * render_html_chart.c - the roofline of the HTML page: an SVG in log-log for each kind of device, with the DRAM roof,
 * one compute roof per precision in use, and each kernel whose work is known: a dot, its bounds as bars. Drawn twice,
 * for wide and for narrow screens. A kernel without a place is counted below, never drawn somewhere.
 */
#include "render_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOXES      1200 /* that names keep clear of, */
#define NAMES      30   /* so many of these for names themselves */
#define NAME       22   /* characters of a name in the chart */
#define CHAR_WIDTH 6.3
#define LINE       14
#define ROOF_NAME  80 /* bytes that hold a roof's name */

static const char *const peak_names[PEAK_N] = {
	"FP32",
	"FP64",
	"FP16",
	"FP64 tensor",
	"TF32 tensor",
	"FP16 tensor",
	"FP16 tensor, FP32 sums",
	"BF16 tensor",
	"FP8 tensor",
	"FP4 tensor",
	"INT8 tensor",
	"INT4 tensor",
};

struct box {
	double x0, y0, x1, y1;
	bool is_dot;
};

struct size {
	const char *class;
	double width, height, left, right, top, bottom;
	int names;     /* dots with a name, at most */
	double least;  /* radius of a dot */
	bool has_tips; /* there is a pointer to hold over a dot */
};

static const struct size sizes[] = {
	{"large", 880, 472, 66, 16, 28, 46, 14, 4, true},
	{"narrow", 370, 392, 46, 10, 26, 44, 5, 3.5, false},
};

struct chart {
	const struct report *r;
	size_t device;         /* the first of its kind */
	size_t n;              /* kernels looked at */
	size_t sections;       /* that can be linked to */
	bool roof[PEAK_N];     /* in use, and known */
	double x0, x1, y0, y1; /* decades: log10 of FLOP/B, of GFLOP/s */
	const struct size *s;
	struct box boxes[BOXES];
	size_t boxes_n;
	double label_x[PEAK_N], label_y[PEAK_N]; /* where names of roofs end, NaN = none */
	FILE *out;
};

/* ------------------------------------------------------------- what is in it */

static bool same_kind(const struct report_device *a, const struct report_device *b)
{
	return strcmp(a->name, b->name) == 0 && a->hw.dram_gbps == b->hw.dram_gbps &&
	       memcmp(a->hw.peaks, b->hw.peaks, sizeof(a->hw.peaks)) == 0;
}

static const struct report_device *device_of(const struct chart *c)
{
	return &c->r->devices[c->device];
}

static double bandwidth(const struct chart *c)
{
	return device_of(c)->hw.dram_gbps;
}

static bool is_positive(double v)
{
	return isfinite(v) && v > 0;
}

/* GFLOP/s that a kernel of that intensity can reach; NaN when a side is not known. */
static double ceiling(const struct chart *c, const struct roofline *f)
{
	const double peak = f->precision >= 0 ? 1000 * device_of(c)->hw.peaks[f->precision]
					      : (double)NAN;

	return is_positive(peak) && is_positive(bandwidth(c)) && is_positive(f->intensity.value)
		       ? fmin(peak, bandwidth(c) * f->intensity.value)
		       : (double)NAN;
}

enum place {
	PLACE_NONE,
	PLACE_DOT,
	PLACE_SPAN,    /* speed known, intensity only within bounds */
	PLACE_CEILING, /* no time: where the roof over it is */
};

static enum place place_of(const struct chart *c, const struct report_kernel *k)
{
	const struct roofline *f = k->roofline;
	bool has_speed, has_bound;

	if (!f || k->device >= c->r->devices_n ||
	    !same_kind(&c->r->devices[k->device], device_of(c)))
		return PLACE_NONE;
	has_speed = quantity_known(&f->effective_gflops) && f->effective_gflops.value > 0;
	has_bound = is_positive(f->intensity.low) || is_positive(f->intensity.high);
	if (!quantity_known(&f->intensity) || f->intensity.value <= 0)
		return has_speed && has_bound ? PLACE_SPAN : PLACE_NONE;
	if (has_speed)
		return PLACE_DOT;
	return isnan(ceiling(c, f)) ? PLACE_NONE : PLACE_CEILING;
}

static double height_of(const struct chart *c, const struct report_kernel *k)
{
	return place_of(c, k) == PLACE_CEILING ? ceiling(c, k->roofline)
					       : k->roofline->effective_gflops.value;
}

static void extend(double *low, double *high, double v)
{
	if (!is_positive(v))
		return;
	*low = fmin(*low, log10(v));
	*high = fmax(*high, log10(v));
}

/* Roofs in use and the decades that hold everything; the number of kernels with a place. */
static size_t survey(struct chart *c)
{
	double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
	size_t placed = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct report_kernel *k = &c->r->kernels[i];
		const struct roofline *f = k->roofline;

		if (place_of(c, k) == PLACE_NONE)
			continue;
		placed++;
		extend(&x0, &x1, f->intensity.value);
		extend(&x0, &x1, f->intensity.low);
		extend(&x0, &x1, f->intensity.high);
		extend(&y0, &y1, height_of(c, k));
		if (f->precision >= 0 && is_positive(device_of(c)->hw.peaks[f->precision]))
			c->roof[f->precision] = true;
	}
	if (!placed)
		return 0;
	for (int p = 0; p < PEAK_N; p++)
		if (c->roof[p]) {
			const double peak = 1000 * device_of(c)->hw.peaks[p];

			extend(&y0, &y1, peak);
			extend(&x0, &x1, peak / bandwidth(c));
		}
	c->x0 = x0 - 0.5;
	c->x1 = x1 + 0.7;
	c->y0 = y0 - 0.4;
	c->y1 = y1 + 0.3;
	if (c->y1 - c->y0 < 2)
		c->y0 = c->y1 - 2;
	return placed;
}

/* ---------------------------------------------------------------- geometry */

static double at_x(const struct chart *c, double intensity)
{
	const double room = c->s->width - c->s->left - c->s->right;

	return c->s->left + room * (log10(intensity) - c->x0) / (c->x1 - c->x0);
}

static double at_y(const struct chart *c, double gflops)
{
	const double room = c->s->height - c->s->top - c->s->bottom;

	return c->s->top + room * (c->y1 - log10(gflops)) / (c->y1 - c->y0);
}

static bool overlaps(const struct box *a, const struct box *b)
{
	return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

static bool is_within(const struct chart *c, const struct box *b)
{
	return b->x0 >= c->s->left && b->x1 <= c->s->width - c->s->right && b->y0 >= c->s->top &&
	       b->y1 <= c->s->height - c->s->bottom;
}

/* How much of the dots there a label would cover, 0 = none; infinity where it cannot be. */
static double cover(const struct chart *c, const struct box *b)
{
	double covered = 0;

	if (!is_within(c, b) || c->boxes_n == BOXES)
		return INFINITY;
	for (size_t i = 0; i < c->boxes_n; i++) {
		const struct box *o = &c->boxes[i];

		if (overlaps(b, o))
			covered += o->is_dot ? (o->x1 - o->x0) * (o->y1 - o->y0) : (double)INFINITY;
	}
	return covered;
}

/* Keeps the room of a label when nothing is there yet. */
static bool take_room(struct chart *c, struct box b)
{
	if (cover(c, &b) > 0)
		return false;
	c->boxes[c->boxes_n++] = b;
	return true;
}

static struct box around(double x, double y, double radius)
{
	return (struct box){x - radius, y - radius, x + radius, y + radius, false};
}

static void keep_clear(struct chart *c, struct box b)
{
	if (c->boxes_n < BOXES - NAMES)
		c->boxes[c->boxes_n++] = b;
}

/* ------------------------------------------------------------------ frame */

static void tick_speed(char out[TEXT_NUMBER], int decade)
{
	static const char *const units[] = {"G", "T", "P", "E"};
	const int from = decade < 0 ? 0 : decade / 3 > 3 ? 3 : decade / 3;

	snprintf(out, TEXT_NUMBER, "%.6g %s", pow(10, decade - 3 * from), units[from]);
}

static void tick_intensity(char out[TEXT_NUMBER], int decade)
{
	if (decade > 6 || decade < -4)
		snprintf(out, TEXT_NUMBER, "1e%d", decade);
	else if (decade >= 3)
		snprintf(out, TEXT_NUMBER, "%.6gk", pow(10, decade - 3));
	else
		snprintf(out, TEXT_NUMBER, "%.4g", pow(10, decade));
}

static void frame(const struct chart *c)
{
	const struct size *s = c->s;
	const double right = s->width - s->right, bottom = s->height - s->bottom;
	const int step = c->x1 - c->x0 > 8 ? 2 : 1;
	char t[TEXT_NUMBER];

	for (int d = (int)ceil(c->x0); d <= (int)floor(c->x1); d += step) {
		const double x = at_x(c, pow(10, d));

		fprintf(c->out, "<path class=grid d=\"M%.1f %.1fV%.1f\"/>", x, s->top, bottom);
		tick_intensity(t, d);
		fprintf(c->out, "<text x=%.1f y=%.1f text-anchor=middle>%s</text>", x, bottom + 17,
			t);
	}
	for (int d = (int)ceil(c->y0); d <= (int)floor(c->y1); d++) {
		const double y = at_y(c, pow(10, d));

		fprintf(c->out, "<path class=grid d=\"M%.1f %.1fH%.1f\"/>", s->left, y, right);
		tick_speed(t, d);
		fprintf(c->out, "<text x=%.1f y=%.1f text-anchor=end>%s</text>", s->left - 7, y + 4,
			t);
	}
	fprintf(c->out, "<text x=%.1f y=%.1f text-anchor=end>intensity, FLOP per DRAM byte</text>",
		right, s->height - 8);
	fprintf(c->out, "<text x=4 y=%.1f>speed, FLOP/s</text>", s->top - 14);
	fprintf(c->out, "<path class=axis d=\"M%.1f %.1fV%.1fH%.1f\"/>", s->left, s->top, bottom,
		right);
}

/* ------------------------------------------------------------------ roofs */

static char *roof_name(const struct chart *c, int p, char text[ROOF_NAME])
{
	const bool is_integer = p == PEAK_INT8_TENSOR || p == PEAK_INT4_TENSOR;
	char number[TEXT_NUMBER];

	html_real(number, device_of(c)->hw.peaks[p]);
	if (c->s->has_tips)
		snprintf(text, ROOF_NAME, "%s %s %s", peak_names[p], number,
			 is_integer ? "TOPS" : "TFLOPS");
	else /* on a phone as the axis has it */
		snprintf(text, ROOF_NAME, "%s %s T", peak_names[p], number);
	return text;
}

/*
 * Keeps room for the name of a roof, above or below its line: at the right, further left where dots are in the way.
 * Names are written last.
 */
static void place_roof_name(struct chart *c, int p, double from, double y)
{
	const double right = c->s->width - c->s->right - 4;
	char text[ROOF_NAME];
	const double width = CHAR_WIDTH * (double)strlen(roof_name(c, p, text));
	double least = INFINITY;
	struct box best = {0};

	c->label_y[p] = NAN;
	for (double x = right; x - width >= from || x == right; x -= LINE)
		for (int below = 0; below < 2; below++) {
			const double line = below ? y + LINE : y - 5;
			const struct box b = {x - width, line - LINE + 3, x, line + 3, false};
			const double covered = cover(c, &b);

			if (covered >= least)
				continue;
			least = covered;
			best = b;
			c->label_x[p] = x;
			c->label_y[p] = line;
		}
	if (isfinite(least))
		keep_clear(c, best);
}

static void roof_names(const struct chart *c)
{
	char text[ROOF_NAME];

	for (int p = 0; p < PEAK_N; p++)
		if (c->roof[p] && !isnan(c->label_y[p]))
			fprintf(c->out, "<text class=rt x=%.1f y=%.1f text-anchor=end>%s</text>",
				c->label_x[p], c->label_y[p], roof_name(c, p, text));
}

static double highest_roof(const struct chart *c)
{
	double peak = NAN;

	for (int p = 0; p < PEAK_N; p++)
		if (c->roof[p])
			peak = fmax(peak, 1000 * device_of(c)->hw.peaks[p]);
	return peak;
}

#define SLOPE_BOXES 5 /* to either side of its middle: a slanted text in upright boxes */

static struct box slope_box(double x, double y, double angle, int i)
{
	return around(x + 12 * i * cos(angle), y + 12 * i * sin(angle) - 10, 8);
}

/* The intensity over which the name of the slope is written: where no dot is. */
static double name_of_slope(const struct chart *c, double from, double to, double angle)
{
	static const double parts[] = {0.42, 0.5, 0.34, 0.58, 0.66, 0.26, 0.74, 0.18};

	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
		const double at = pow(10, log10(from) + parts[p] * (log10(to) - log10(from)));
		const double x = at_x(c, at), y = at_y(c, at * bandwidth(c));
		int free = 0;

		for (int i = -SLOPE_BOXES; i <= SLOPE_BOXES; i++) {
			const struct box b = slope_box(x, y, angle, i);

			free += cover(c, &b) == 0;
		}
		if (free == 2 * SLOPE_BOXES + 1)
			return at;
	}
	return pow(10, log10(from) + parts[0] * (log10(to) - log10(from)));
}

/* The slope of the bandwidth, from where it enters the frame up to the highest roof. */
static void memory_roof(struct chart *c)
{
	const double gbps = bandwidth(c), top = highest_roof(c);
	double from = pow(10, c->x0), to = isnan(top) ? pow(10, c->y1) / gbps : top / gbps;
	double where, x, y, angle;
	char number[TEXT_NUMBER];

	if (!is_positive(gbps))
		return;
	from = fmax(from, pow(10, c->y0) / gbps);
	to = fmin(to, pow(10, c->x1));
	if (from >= to)
		return;
	fprintf(c->out, "<path class=roof d=\"M%.1f %.1fL%.1f %.1f\"/>", at_x(c, from),
		at_y(c, from * gbps), at_x(c, to), at_y(c, to * gbps));
	angle = atan2(at_y(c, to * gbps) - at_y(c, from * gbps), at_x(c, to) - at_x(c, from));
	where = name_of_slope(c, from, to, angle);
	x = at_x(c, where);
	y = at_y(c, where * gbps);
	fprintf(c->out,
		"<text class=rt x=%.1f y=%.1f text-anchor=middle transform=\"rotate(%.1f %.1f %.1f)\">DRAM %s GB/s"
		"</text>",
		x, y - 6, angle * 180 / M_PI, x, y, html_real(number, gbps));
	for (int i = -SLOPE_BOXES; i <= SLOPE_BOXES; i++)
		keep_clear(c, slope_box(x, y, angle, i));
	for (double d = log10(from); d < log10(to); d += 0.1)
		keep_clear(c, around(at_x(c, pow(10, d)), at_y(c, pow(10, d) * gbps), 3));
}

static void roofs(struct chart *c)
{
	const double top = highest_roof(c);

	for (int p = 0; p < PEAK_N; p++) {
		const double peak = 1000 * device_of(c)->hw.peaks[p];
		double from = pow(10, c->x0), y;

		if (!c->roof[p])
			continue;
		if (is_positive(bandwidth(c)))
			from = fmax(from, peak / bandwidth(c));
		y = at_y(c, peak);
		fprintf(c->out, "<path class=%s d=\"M%.1f %.1fH%.1f\"/>",
			peak == top ? "roof" : "roof2", at_x(c, from), y,
			c->s->width - c->s->right);
		place_roof_name(c, p, at_x(c, from), y);
	}
	memory_roof(c);
}

/* ------------------------------------------------------------------- dots */

/* Where there are many, all are smaller. */
static double radius(const struct chart *c, const struct report_kernel *k)
{
	const double least = c->n > 100 ? 0.8 * c->s->least : c->s->least;

	return least + 7 * sqrt(isnan(k->share_pct) ? 0 : fmin(k->share_pct, 100) / 100);
}

/* The bar from one bound to the other; dashed to the frame's edge where one of them is not known. */
static void span_x(const struct chart *c, double low, double high, double y)
{
	const bool is_open = !is_positive(low) || !is_positive(high);
	const double from = is_positive(low) ? at_x(c, low) : c->s->left;
	const double to = is_positive(high) ? at_x(c, high) : c->s->width - c->s->right;

	if (to - from > 0.5)
		fprintf(c->out, "<path class=iv%s d=\"M%.1f %.1fH%.1f\"/>",
			is_open ? " stroke-dasharray=\"2 4\"" : "", from, y, to);
}

static void span_y(const struct chart *c, double low, double high, double x)
{
	if (is_positive(low) && is_positive(high) && at_y(c, low) - at_y(c, high) > 0.5)
		fprintf(c->out, "<path class=iv d=\"M%.1f %.1fV%.1f\"/>", x,
			fmin(at_y(c, low), c->s->height - c->s->bottom),
			fmax(at_y(c, high), c->s->top));
}

static void tip(const struct chart *c, size_t i)
{
	const struct report_kernel *k = &c->r->kernels[i];
	const struct roofline *f = k->roofline;
	char t[TEXT_NUMBER];

	fprintf(c->out, "<title>%zu. ", i + 1);
	html_label(k, HTML_NAME, c->out);
	if (quantity_known(&f->intensity))
		fprintf(c->out, ", %s", html_intensity(t, f->intensity.value));
	if (quantity_known(&f->effective_gflops))
		fprintf(c->out, ", %s", html_gflops(t, f->effective_gflops.value));
	if (quantity_known(&f->attained_pct)) {
		fputs(", ", c->out);
		fputs(html_pct(t, f->attained_pct.value), c->out);
		fputs(" of the roof", c->out);
	}
	if (f->precision >= 0)
		fprintf(c->out, " (%s)", peak_names[f->precision]);
	fputs("</title>", c->out);
}

static void dot(struct chart *c, size_t i)
{
	const struct report_kernel *k = &c->r->kernels[i];
	const struct roofline *f = k->roofline;
	const enum place place = place_of(c, k);
	const double y = at_y(c, height_of(c, k)), size = radius(c, k);

	fprintf(c->out, i < c->sections ? "<a class=\"p %s\" href=#k%zu>" : "<g class=\"p %s\">",
		k->verdict.class, i + 1);
	if (c->s->has_tips)
		tip(c, i);
	if (isfinite(f->intensity.low) || isfinite(f->intensity.high))
		span_x(c, f->intensity.low, f->intensity.high, y);
	if (place != PLACE_SPAN) {
		const double x = at_x(c, f->intensity.value);

		if (place == PLACE_DOT)
			span_y(c, f->effective_gflops.low, f->effective_gflops.high, x);
		fprintf(c->out, "<circle class=%s cx=%.1f cy=%.1f r=%.1f />",
			place == PLACE_CEILING ? "hollow" : "pt", x, y, size);
	}
	fputs(i < c->sections ? "</a>\n" : "</g>\n", c->out);
}

/* Right, left, above, below; none where all are taken. */
static bool name(struct chart *c, size_t i)
{
	const struct report_kernel *k = &c->r->kernels[i];
	const double y = at_y(c, height_of(c, k)), gap = radius(c, k) + 4;
	char label[RENDER_LABEL];
	double x, width;

	if (place_of(c, k) == PLACE_SPAN)
		return false;
	x = at_x(c, k->roofline->intensity.value);
	width = CHAR_WIDTH * (double)text_columns(render_label(label, k, NAME));
	const struct {
		double x, y;
		const char *anchor;
		double from;
	} tries[] = {
		{x + gap, y + 4, "start", x + gap},    {x - gap, y + 4, "end", x - gap - width},
		{x, y - gap, "middle", x - width / 2}, {x, y + gap + 9, "middle", x - width / 2},
		{x + gap, y - 9, "start", x + gap},    {x + gap, y + 17, "start", x + gap},
	};
	for (size_t t = 0; t < sizeof(tries) / sizeof(*tries); t++) {
		if (!take_room(c, (struct box){tries[t].from, tries[t].y - LINE + 3,
					       tries[t].from + width, tries[t].y + 3, false}))
			continue;
		fprintf(c->out, "<text class=nm x=%.1f y=%.1f text-anchor=%s>", tries[t].x,
			tries[t].y, tries[t].anchor);
		html_label(k, NAME, c->out);
		fputs("</text>\n", c->out);
		return true;
	}
	return false;
}

/* Before anything is named. */
static void keep_dots_clear(struct chart *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct report_kernel *k = &c->r->kernels[i];
		const enum place place = place_of(c, k);
		struct box b;

		if (place == PLACE_NONE || place == PLACE_SPAN)
			continue;
		b = around(at_x(c, k->roofline->intensity.value), at_y(c, height_of(c, k)),
			   radius(c, k) + 1);
		b.is_dot = true;
		keep_clear(c, b);
	}
}

/* The largest dots first: names go to those with most time, and small dots lie on top. */
static void dots(struct chart *c)
{
	int named = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct report_kernel *k = &c->r->kernels[i];

		if (place_of(c, k) != PLACE_NONE)
			dot(c, i);
	}
	for (size_t i = 0; i < c->n && named < c->s->names; i++)
		if (place_of(c, &c->r->kernels[i]) != PLACE_NONE)
			named += name(c, i);
}

/* ------------------------------------------------------------------ chart */

static void draw(struct chart *c, const struct size *s)
{
	c->s = s;
	c->boxes_n = 0;
	fprintf(c->out,
		"<svg class=%s viewBox=\"0 0 %.0f %.0f\" role=img aria-label=\"roofline: speed over intensity, "
		"both logarithmic\">\n",
		s->class, s->width, s->height);
	frame(c);
	fputc('\n', c->out);
	keep_dots_clear(c);
	roofs(c);
	fputc('\n', c->out);
	dots(c);
	roof_names(c);
	fputs("</svg>\n", c->out);
}

static void caption(const struct chart *c, size_t placed)
{
	static const char *const classes[] = {"memory",  "compute", "balanced",
					      "latency", "launch",  "unknown"};
	const struct report_device *d = device_of(c);
	bool has_ceiling = false, in_use[6] = {false};

	for (size_t i = 0; i < c->n; i++) {
		const struct report_kernel *k = &c->r->kernels[i];

		if (place_of(c, k) == PLACE_NONE)
			continue;
		has_ceiling |= place_of(c, k) == PLACE_CEILING;
		for (size_t t = 0; t < 6; t++)
			in_use[t] |= strcmp(classes[t], k->verdict.class) == 0;
	}
	fputs("<figcaption><b>", c->out);
	html_text(d->name, HTML_NAME, c->out);
	fprintf(c->out, "</b>, %zu %s. ", placed, text_plural(placed, "kernel", "kernels"));
	for (size_t t = 0; t < 6; t++)
		if (in_use[t])
			fprintf(c->out, "<span class=\"c %s\">\xe2\x97\x8f %s</span> ", classes[t],
				classes[t]);
	fputs("The larger a dot, the more of the kernel time. Bars are the bounds of what is not exact.",
	      c->out);
	if (has_ceiling)
		fputs(" Hollow: no time is known, and the ring is where the roof is.", c->out);
	fprintf(c->out,
		" Roofs: the precisions in use, dense; source of the peaks: %s.</figcaption></figure>\n",
		d->hw.peaks_source ? d->hw.peaks_source : "none");
}

/* Whether a device of this kind was drawn before. */
static bool is_repeated(const struct report *r, size_t device)
{
	for (size_t i = 0; i < device; i++)
		if (same_kind(&r->devices[i], &r->devices[device]))
			return true;
	return false;
}

/* Known to compute nothing: no place on a logarithmic scale. */
static bool computes_nothing(const struct report_kernel *k)
{
	return k->roofline && quantity_known(&k->roofline->intensity) &&
	       k->roofline->intensity.value <= 0;
}

static void left_out(const struct report *r, size_t n, size_t placed, FILE *out)
{
	size_t nothing = 0;

	for (size_t i = 0; i < n; i++)
		nothing += computes_nothing(&r->kernels[i]);
	if (placed + nothing < n)
		fprintf(out,
			"<p class=s1>%zu of %zu kernels have no place here: their FLOPs, bytes or time are not known.\n",
			n - placed - nothing, n);
	if (nothing)
		fprintf(out,
			"<p class=s1>%zu %s nothing that counts as a FLOP: their traffic is in their sections.\n",
			nothing, text_plural(nothing, "kernel computes", "kernels compute"));
}

void html_rooflines(const struct report *r, size_t n, size_t sections, FILE *out)
{
	size_t all = 0;

	fputs("<h2 id=roofline>Roofline</h2>\n", out);
	for (size_t d = 0; d < r->devices_n; d++) {
		struct chart c = {.r = r, .device = d, .n = n, .sections = sections, .out = out};
		size_t placed = is_repeated(r, d) ? 0 : survey(&c);

		if (!placed)
			continue;
		all += placed;
		fputs("<figure>\n", out);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			draw(&c, &sizes[i]);
		caption(&c, placed);
	}
	if (!all)
		fputs("<p>No kernel has a place in a roofline: that needs FLOPs, DRAM bytes and a time of it, and no kernel "
		      "has all three. State the work where you know it (<code>--work FILE</code>).\n",
		      out);
	else
		left_out(r, n, all, out);
}
