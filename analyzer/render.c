/*
 * render.c - the list of formats.
 */
#include "render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "whole_file.h"

static const struct render_format *const formats[] = {&render_text, &render_md, &render_json,
						      &render_csv, &render_html};

const struct render_format *render_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

int render_file(const struct render_format *f, const struct report *r,
		const struct render_options *o, const char *path, struct err *e)
{
	struct whole_file w;
	int rc;

	if (whole_file_open(&w, path, e) != 0)
		return -1;
	rc = f->report(r, o, w.out, e);
	if (rc != 0 && ferror(w.out))
		err_set(e, ERR_IO, -1, "cannot write %s", path);
	return whole_file_close(&w, rc == 0, e) == 0 ? rc : -1;
}

/* At most `columns` characters of `s`, with ".." at the end when it was cut; returns the bytes. */
static size_t put_cut(char *out, const char *s, size_t columns)
{
	size_t have = text_columns(s), take = have <= columns ? have : columns - 2, n = 0, at = 0;

	for (; s[at]; at++) {
		if ((s[at] & 0xc0) != 0x80 && n++ == take)
			break;
		out[at] = s[at];
	}
	if (have > columns) {
		out[at++] = '.';
		out[at++] = '.';
	}
	out[at] = '\0';
	return at;
}

char *render_label(char out[RENDER_LABEL], const struct report_kernel *k, size_t columns)
{
	size_t name = text_columns(k->short_name), variant = text_columns(k->variant), half;

	if (columns > 100)
		columns = 100;
	half = columns / 2;
	if (name + variant > columns) {
		/* what one side does not need the other may have */
		if (variant > half)
			variant = name < columns - half ? columns - name : half;
		name = columns - variant;
	}
	put_cut(out + put_cut(out, k->short_name, name), k->variant, variant);
	return out;
}

const char *render_limiter(const struct report_kernel *k)
{
	static const char *const words[LIMIT_N] = {"registers", "shared",   "warps",
						   "blocks",    "barriers", "cluster"};

	if (!k->occupancy_known || k->occupancy.limiter < 0)
		return "-";
	return k->occupancy.waves < 1 ? RENDER_GRID : words[k->occupancy.limiter];
}

/* Rounded to the side where the promise holds: room down, what is to be saved up. */
static void put_step(char out[TEXT_NUMBER], char sign, int64_t bytes)
{
	const int64_t unit = bytes < 100 * 1024 ? 10 : 1; /* parts of a KB that are shown */
	const int64_t parts = (bytes * unit + (sign == '-' ? 1023 : 0)) / 1024;

	if (bytes < 1024)
		snprintf(out, TEXT_NUMBER, "%c%d B", sign, (int)bytes);
	else if (unit == 1 || parts % unit == 0)
		snprintf(out, TEXT_NUMBER, "%c%lld KB", sign, (long long)(parts / unit));
	else
		snprintf(out, TEXT_NUMBER, "%c%lld.%lld KB", sign, (long long)(parts / unit),
			 (long long)(parts % unit));
}

char *render_cliff(char out[TEXT_NUMBER], const struct report_kernel *k)
{
	const struct smem_cliff *c = &k->cliff;

	if (!k->cliff_known || c->to_cliff_bytes < 0)
		snprintf(out, TEXT_NUMBER, "-");
	else if (c->above_cliff && c->to_next_step_bytes > 0)
		put_step(out, '-', c->to_next_step_bytes);
	else
		put_step(out, '+', c->to_cliff_bytes);
	return out;
}

bool render_any_grid(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(render_limiter(&r->kernels[i]), RENDER_GRID) == 0)
			return true;
	return false;
}

bool render_any_cliff(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->kernels[i].cliff_known && r->kernels[i].cliff.to_cliff_bytes >= 0)
			return true;
	return false;
}

bool render_any_room(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->kernels[i].occupancy_known)
			return true;
	return false;
}

bool render_any_class(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(r->kernels[i].verdict.class, "unknown") != 0)
			return true;
	return false;
}

bool render_lacks_work(const struct report_kernel *k)
{
	return !k->work && strcmp(k->verdict.class, "unknown") == 0;
}

const struct render_hint render_hints[RENDER_HINTS] = {
	{"Baseline",
	 "times on the GPU. The median is of steady launches, the first three left out; +-: its uncertainty; `events`: timed by a pair of CUDA events, `gated-events`: held until both were queued, which is surer."},
	{"Roofline Classification",
	 "the class of a kernel whose work nobody states (`kbn report --work FILE`) is unknown (KBN-R001). Then only what time and geometry alone say is here, and what needs a class is not recommended."},
	{"Occupancy",
	 "the limiting resource is the one that keeps more blocks from an SM when there are blocks enough."},
	{"Compute/Load Ratio",
	 "of one turn of a loop and one warp. `computes`: matrix products or multiply-adds; `loads`, `async`: loads from global memory, copies that a warp need not wait for; `ratio`: products to 512 bytes loaded (16 a lane), `raw`: to loads. The loop that computes most is bold."},
	{"SASS Instruction Mix",
	 "how many there are in the code, not how often they ran. `stall`: cycles that the control code makes a warp wait before its next instruction; `reducible`: how many of these are longer than anything needs."},
	{"Memory Access",
	 "of one instruction of one warp. Sectors have 32 bytes: 4 are ideal for words of 4 bytes, 8 for 8, 16 for 16. Wavefronts are turns of shared memory: 1 is ideal for words of 4 bytes. `excess`: more than that."},
	{"Smem Cliff", "what more or less shared memory per block does to the blocks on an SM."},
	{"Recommended Optimizations",
	 "best first. `change` one thing, then see whether what to `expect` comes true."},
};

const char *render_stall_model(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->kernels[i].stalls)
			return r->kernels[i].stalls->wait.why;
	return NULL;
}

const char *render_waits_for(const char *reason)
{
	static const struct {
		const char *reason, *what;
	} all[] = {
		{"long_scoreboard", "global, local or texture memory"},
		{"short_scoreboard", "shared memory, special functions"},
		{"barrier", "other warps of its block"},
		{"math_pipe_throttle", "a pipe that is taken: arithmetic is the limit"},
		{"lg_throttle", "room in the queue to global and local memory"},
		{"mio_throttle", "room in the queue to shared memory"},
		{"wait", "the fixed latency of the instruction before"},
		{"not_selected", "nothing: ready, another warp was chosen"},
		{"branch", "where to go on"},
		{"other", "caches of instructions and constants, fences, drains"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(all[i].reason, reason) == 0)
			return all[i].what;
	return "";
}

char *render_room(char out[RENDER_ROOM], const struct occupancy *o)
{
	char pct[TEXT_NUMBER];
	size_t at;

	out[0] = '\0';
	if (o->blocks_per_sm < 0)
		return out;
	at = (size_t)snprintf(out, RENDER_ROOM, "room for %d warp%s per SM (%s of %d), %s %d %s",
			      o->warps_per_sm, o->warps_per_sm == 1 ? "" : "s",
			      text_pct(pct, o->pct), o->max_warps_per_sm,
			      o->enough_warps ? "at least the" : "below the", o->enough_warps_at,
			      o->enough_is_published ? "that hide latency"
						     : "that by a rule of thumb hide latency");
	if (o->grid_warps_per_sm >= 0)
		snprintf(out + at, RENDER_ROOM - at,
			 "; this grid puts at most %d on an SM, spread evenly",
			 o->grid_warps_per_sm);
	return out;
}

static size_t put_pairs(char *out, size_t room, const char *kind, const struct metric_pairs *p,
			const char *more)
{
	char n[TEXT_NUMBER], bias[TEXT_NUMBER], off[TEXT_NUMBER];

	text_count(n, p->n);
	if (isnan(p->bias_us))
		return (size_t)snprintf(out, room, "%s %s (what is off differs by device)", n,
					kind);
	return (size_t)snprintf(out, room, "%s %s (%s us taken off each, +-%s us%s)", n, kind,
				text_real(bias, p->bias_us), text_real(off, p->uncertainty_us),
				more);
}

char *render_gain(char out[RENDER_GAIN], double low_pct, double high_pct)
{
	char high[TEXT_NUMBER];
	size_t at = 0;

	out[0] = '\0';
	if (isnan(low_pct) || isnan(high_pct))
		return out;
	if (low_pct < high_pct)
		at = (size_t)snprintf(out, RENDER_GAIN, "%.*f to ",
				      low_pct < 10 && low_pct != floor(low_pct) ? 1 : 0, low_pct);
	snprintf(out + at, RENDER_GAIN - at, "%s", text_pct(high, high_pct));
	return out;
}

void render_bins(const struct report_accounting *a, struct render_bin bins[RENDER_BINS])
{
	const struct render_bin all[RENDER_BINS] = {
		{"timed", a->timed, "with a good time"},
		{"sampled out", a->sampled_out, "ran, not timed by choice"},
		{"untimeable", a->untimeable, "ran, could not be timed without disturbing it"},
		{"captured", a->captured, "recorded into a graph, did not run"},
		{"failed", a->failed, "the driver returned an error"},
		{"unfinished", a->unfinished, "no result when the recording ended"},
		{"filtered", a->filtered, "left out on request"},
		{"dropped", a->dropped, "no room"},
	};

	memcpy(bins, all, sizeof(all));
}

char *render_timing(char out[RENDER_TIMING], const struct report_timing *t)
{
	size_t at = 0;

	if (!t->gated.n && !t->plain.n) {
		snprintf(out, RENDER_TIMING, "%s",
			 strcmp(t->method, "off") == 0    ? "off"
			 : strcmp(t->method, "user") == 0 ? "given by the user"
							  : "no launch has a time");
		return out;
	}
	if (t->gated.n)
		at = put_pairs(out, RENDER_TIMING,
			       t->gated.n == 1 ? "gated pair of events" : "gated pairs of events",
			       &t->gated, "");
	if (t->gated.n && t->plain.n)
		at += (size_t)snprintf(out + at, RENDER_TIMING - at, ", ");
	if (t->plain.n)
		put_pairs(out + at, RENDER_TIMING - at,
			  t->gated.n        ? "plain"
			  : t->plain.n == 1 ? "plain pair of events"
					    : "plain pairs of events",
			  &t->plain, " or more");
	return out;
}

static bool is_uncertain(const struct metric_times *t)
{
	return t->uncertainty > RENDER_UNCERTAIN_PCT / 100.0 * t->median;
}

char *render_median(char out[TEXT_NUMBER], const struct metric_times *t)
{
	char us[TEXT_NUMBER];

	snprintf(out, TEXT_NUMBER, "%s%.30s", is_uncertain(t) ? "~" : "", text_us(us, t->median));
	return out;
}

bool render_any_uncertain(const struct report *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_uncertain(&r->kernels[i].times))
			return true;
	return false;
}

size_t render_limits(const struct occupancy *o, struct render_limit rows[LIMIT_N])
{
	static const char *const resources[LIMIT_N] = {"registers", "shared memory", "warps",
						       "blocks",    "barriers",      "cluster"};
	const int64_t per_block[LIMIT_N] = {
		o->registers_per_block, o->smem_per_block, o->warps_per_block, 1, -1, -1};
	const int64_t per_sm[LIMIT_N] = {o->registers_per_sm,
					 o->smem_per_sm,
					 o->max_warps_per_sm,
					 o->max_blocks_per_sm,
					 -1,
					 -1};
	size_t n = 0;

	for (int i = 0; i < LIMIT_N; i++) {
		struct render_limit *row = &rows[n];
		int l = o->limits[i];

		if (i >= LIMIT_BARRIERS && l == OCCUPANCY_NO_LIMIT)
			continue;
		n++;
		row->resource = resources[i];
		row->is_limiter = i == o->limiter;
		if (i == LIMIT_SMEM) {
			text_bytes(row->per_block, l < 0 ? -1 : per_block[i]);
			text_bytes(row->per_sm, per_sm[i]);
		} else {
			text_int(row->per_block, per_block[i]);
			text_int(row->per_sm, per_sm[i]);
		}
		if (l == OCCUPANCY_NO_LIMIT)
			snprintf(row->blocks, sizeof(row->blocks), "no limit");
		else
			text_int(row->blocks, l);
	}
	return n;
}
