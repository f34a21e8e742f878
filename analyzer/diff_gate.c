/*
 * diff_gate.c - may the two sides be compared at all? Every report is held against the first one of the
 * base. Another device ends it; everything else is said, so that nobody reads it as the code's doing.
 */
#include "diff_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "text.h"

#define CLOCK_PCT 3.0 /* clocks that differ by less are those of the same setting */

void diff_say(struct diff_build *b, const char *format, ...)
{
	char line[TEXT_LINE];
	const char **text = vec_add(&b->why_not);
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (text)
		*text = text_utf8(b->arena, text_format(b->arena, "%s", line), NULL);
	if (!text || !*text)
		b->failed = true;
}

/* What was said already: once of each kind is enough. */
struct said {
	bool device, driver, clock, arguments, processes, simulated, filtered;
};

static bool same_device(const struct diff_device *a, const struct diff_device *b)
{
	return *a->name && strcmp(a->name, b->name) == 0 && strcmp(a->sm, b->sm) == 0 &&
	       a->sm_count == b->sm_count;
}

static void put_device(char out[200], const struct diff_device *d)
{
	if (!*d->name)
		snprintf(out, 200, "an unknown device");
	else
		snprintf(out, 200, "%.120s (%.20s, %jd SMs)", d->name, d->sm,
			 (intmax_t)d->sm_count);
}

static void gate_devices(struct diff_build *b, const struct diff_report *x,
			 const struct diff_report *y)
{
	size_t n = x->devices_n < y->devices_n ? x->devices_n : y->devices_n;
	char one[200], other[200];

	if (n == 0) {
		b->d->comparable = false;
		diff_say(b, "no device is known of %s", err_path(x->devices_n ? y->path : x->path));
	}
	for (size_t i = 0; i < n; i++) {
		if (same_device(&x->devices[i], &y->devices[i]))
			continue;
		b->d->comparable = false;
		put_device(one, &x->devices[i]);
		put_device(other, &y->devices[i]);
		diff_say(b, "device %zu is %s in %s, %s in %s", i, one, err_path(x->path), other,
			 err_path(y->path));
		return;
	}
	if (x->devices_n != y->devices_n)
		diff_say(b, "%zu devices in %s, %zu in %s", x->devices_n, err_path(x->path),
			 y->devices_n, err_path(y->path));
}

/* Clocks as observed where both are, else as the device states them. */
static void gate_clocks(struct diff_build *b, const struct diff_report *x,
			const struct diff_report *y, bool *said)
{
	for (size_t i = 0; i < x->devices_n && i < y->devices_n; i++) {
		const struct diff_device *p = &x->devices[i], *q = &y->devices[i];
		bool seen = p->observed_clock_mhz > 0 && q->observed_clock_mhz > 0;
		double one = seen ? p->observed_clock_mhz : p->clock_mhz;
		double other = seen ? q->observed_clock_mhz : q->clock_mhz;
		double pct = one > 0 && other > 0 ? 100 * fabs(other - one) / fmin(one, other) : 0;

		if (pct <= CLOCK_PCT)
			continue;
		b->clock_pct = fmax(b->clock_pct, pct);
		if (!*said)
			diff_say(
				b,
				"the %s clock is %.0f MHz in %s, %.0f MHz in %s: a change of up to "
				"%.1f%% may be the clock's",
				seen ? "observed" : "nominal", one, err_path(x->path), other,
				err_path(y->path), pct);
		*said = true;
	}
}

/* Say once that a text of both reports differs. */
static void gate_text(struct diff_build *b, bool *said, const char *what,
		      const struct diff_report *x, const char *one, const struct diff_report *y,
		      const char *other)
{
	if (*said || strcmp(one, other) == 0)
		return;
	*said = true;
	diff_say(b, "%s: %.200s in %s, %.200s in %s", what, *one ? one : "(none)",
		 err_path(x->path), *other ? other : "(none)", err_path(y->path));
}

static void gate_pair(struct diff_build *b, const struct diff_report *x,
		      const struct diff_report *y, struct said *said)
{
	if (!said->device)
		gate_devices(b, x, y);
	said->device |= !b->d->comparable;
	if (x->simulated != y->simulated && !said->simulated) {
		b->d->comparable = false;
		said->simulated = true;
		diff_say(b, "the times of %s are made up by a stand-in driver, those of %s are not",
			 err_path(x->simulated ? x->path : y->path),
			 err_path(x->simulated ? y->path : x->path));
	}
	gate_text(b, &said->driver, "the driver differs", x, x->driver, y, y->driver);
	gate_text(b, &said->arguments, "the arguments of the program differ", x, x->arguments, y,
		  y->arguments);
	gate_clocks(b, x, y, &said->clock);
	if (x->processes != y->processes && !said->processes) {
		said->processes = true;
		diff_say(b, "%zu %s in %s, %zu in %s", x->processes,
			 text_plural(x->processes, "process", "processes"), err_path(x->path),
			 y->processes, err_path(y->path));
	}
}

static void gate_alone(struct diff_build *b, const struct diff_report *r, struct said *said)
{
	if (r->running)
		diff_say(b, "%s is of a program that still runs", err_path(r->path));
	if (r->kernels_all > (double)r->kernels_n && !said->filtered)
		diff_say(b, "%s lists %zu of %.0f kernels: what is added or removed is not known",
			 err_path(r->path), r->kernels_n, r->kernels_all);
	said->filtered |= r->kernels_all > (double)r->kernels_n;
}

void diff_gate(struct diff_build *b)
{
	const struct diff_report *first = &b->side[0]->reports[0];
	struct said said = {0};

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < b->side[s]->n; i++) {
			const struct diff_report *r = &b->side[s]->reports[i];

			if (r != first)
				gate_pair(b, first, r, &said);
			gate_alone(b, r, &said);
		}
	if (first->simulated && !said.simulated)
		diff_say(b, "all times are made up by a stand-in driver");
}
