/*
 * report.c - see report.h: names, ids, order and wording. Input: session and model. Computes no metric.
 */
#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "demangle.h"
#include "kbn_hash.h"
#include "report_build.h"
#include "variant.h"

#ifndef KBN_VERSION
#define KBN_VERSION "0"
#endif

static const char no_code[] =
	"how much work a kernel does is not derived from its code in this version";
static const char no_memory[] =
	"cache traffic needs instruction analysis, which is not part of this version";
static const char no_counters[] =
	"needs hardware counters or samples, which this version does not take";

void *report_must(struct builder *b, const void *p)
{
	if (!p)
		b->failed = true;
	return (void *)p;
}

const char *report_clean(struct builder *b, const char *s)
{
	const char *out = s ? report_must(b, text_utf8(b->arena, s, NULL)) : NULL;

	return out ? out : s ? "" : NULL;
}

bool report_is_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* NULL for "". */
static const char *clean_or_null(struct builder *b, const char *s)
{
	return s && *s ? report_clean(b, s) : NULL;
}

/* ------------------------------------------------------------------- head */

static const char *rfc3339(struct builder *b, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char day[40];
	struct tm tm;

	if (!unix_ns || !gmtime_r(&seconds, &tm) ||
	    !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
		return "";
	return report_must(b, text_format(b->arena, "%s.%03uZ", day,
					  (unsigned)(unix_ns / 1000000 % 1000)));
}

/* "SIGKILL", or "signal 40" for one without a name that all systems share. */
static const char *signal_name(struct builder *b, int signal)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
		{SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
		{SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
		{SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
		{SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
		{SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == signal)
			return names[i].name;
	return report_must(b, text_format(b->arena, "signal %d", signal));
}

/*
 * How the process ended, and no more than is known: the recording tells whether its exit handlers ran, and
 * only who waited for it (`kbn run`) was told a status.
 */
static void build_end(struct builder *b, struct report_run *out, const struct session_run *in)
{
	static const struct {
		const char *word, *text, *with_status;
	} ends[] = {
		[SESSION_END_RUNNING] = {"running", "still running", ""},
		[SESSION_END_EXIT] = {"exit", "exit (status not recorded)", ""},
		[SESSION_END_KILLED] = {"killed", "killed or _exit", " (no exit handlers)"},
		[SESSION_END_NEVER] = {NULL, "nothing ran", ""},
		[SESSION_END_STOPPED] = {NULL, "end not seen (recording stopped before)",
					 " (recording stopped before)"},
	};

	out->exit_status = in->exit_status;
	out->signal = in->signal;
	out->end = ends[in->end].word;
	out->end_text = ends[in->end].text;
	if (in->signal > 0) {
		out->end = "signal";
		out->end_text = report_must(b, text_format(b->arena, "killed by %s",
							   signal_name(b, in->signal)));
	} else if (in->exit_status >= 0) {
		out->end = "exit";
		out->end_text =
			report_must(b, text_format(b->arena, "exit status %d%s", in->exit_status,
						   ends[in->end].with_status));
	}
}

static void build_run(struct builder *b, struct report_run *out, const struct session_run *in)
{
	out->dir = report_clean(b, in->dir);
	out->host = report_clean(b, in->host);
	out->driver = report_clean(b, in->driver);
	out->started = rfc3339(b, in->start_unix_ns);
	out->foreign = clean_or_null(b, in->foreign);
	build_end(b, out, in);
	out->pid = in->pid;
	out->driver_api = in->driver_api;
	out->rank = in->rank;
	out->world = in->world;
	out->local_rank = in->local_rank;
	out->duration_s = (double)in->duration_ns / 1e9;
	out->command = report_must(b, arena_array(b->arena, in->argc, sizeof(*out->command)));
	for (size_t i = 0; out->command && i < in->argc; i++)
		out->command[out->command_n++] = report_clean(b, in->argv[i]);
	struct report_pair *env = report_must(b, arena_array(b->arena, in->env_n, sizeof(*env)));
	for (size_t i = 0; env && i < in->env_n; i++)
		env[out->env_n++] = (struct report_pair){report_clean(b, in->env[i].key),
							 report_clean(b, in->env[i].value)};
	out->env = env;
	b->r->simulated |= in->simulated;
	b->r->running |= in->end == SESSION_END_RUNNING;
}

static void build_device(struct builder *b, struct report_device *out,
			 const struct session_device *in, const struct model_device *m)
{
	char uuid[48];

	calibration_uuid(uuid, in->uuid);
	out->hw = m->hw;
	out->uuid = report_must(b, text_format(b->arena, "%s", in->is_row ? "" : uuid));
	out->mig = clean_or_null(b, in->mig);
	out->name = report_clean(b, in->name);
	out->calibrated = m->calibration.found ? report_clean(b, m->calibration.date) : NULL;
	out->bias_calibrated = m->bias.calibrated;
}

static void build_accounting(struct report_accounting *a, const struct session *s)
{
	for (size_t i = 0; i < s->runs_n; i++) {
		const struct session_run *r = &s->runs[i];

		a->launches_seen = count_sum(a->launches_seen, r->seen);
#define SUM(key) a->key = count_sum(a->key, r->key)
		SUM(timed);
		SUM(sampled_out);
		SUM(untimeable);
		SUM(captured);
		SUM(failed);
		SUM(unfinished);
		SUM(filtered);
		SUM(dropped);
		SUM(overflow);
		SUM(graph_launches);
		SUM(graph_node_launches);
		SUM(copies);
		SUM(sets);
#undef SUM
		a->copies_known |= r->copies_known;
	}
}

static void build_head(struct builder *b)
{
	struct report *r = b->r;
	const struct model_timing *t = &b->m->timing;
	const struct model_totals *sum = &b->m->totals;

	r->version = KBN_VERSION;
	r->is_given = b->s->is_given;
	r->no_code = no_code;
	r->no_memory = no_memory;
	r->no_counters = no_counters;
	r->runs = report_must(b, arena_array(b->arena, b->s->runs_n, sizeof(*r->runs)));
	r->devices = report_must(b, arena_array(b->arena, b->s->devices_n, sizeof(*r->devices)));
	for (size_t i = 0; r->runs && i < b->s->runs_n; i++, r->runs_n++) {
		build_run(b, &r->runs[i], &b->s->runs[i]);
		r->totals.duration_s += r->runs[i].duration_s;
	}
	for (size_t i = 0; r->devices && i < b->s->devices_n; i++, r->devices_n++)
		build_device(b, &r->devices[i], &b->s->devices[i], &b->m->devices[i]);
	/* the mark of the stand-in stands in the log beside the device: where one is lost both may be */
	for (size_t i = 0; i < r->devices_n; i++)
		r->reality_unknown |= !r->simulated && r->devices[i].hw.arch.sm <= 0;
	build_accounting(&r->accounting, b->s);
	r->timing = (struct report_timing){
		.method = t->method,
		.bias_us = t->bias_us,
		.uncertainty_us = t->uncertainty_us,
		.self_overhead_pct = t->self_overhead_pct,
		.gated = t->gated,
		.plain = t->plain,
		.gates = t->gates,
		.gate_deadlines = t->gate_deadlines,
	};
	r->totals.kernel_time_us = sum->kernel_time_us;
	r->totals.busy_pct = sum->busy_pct;
	r->totals.gap_us = sum->gap_us;
	r->totals.copy_time_us = sum->copy_time_us;
	r->totals.copy_overlap_pct = sum->copy_overlap_pct;
}

/* ---------------------------------------------------------------- kernels */

/*
 * What a kernel is, wherever it runs: the hash of its code, its symbol and its geometry, in
 * fixed-width little-endian fields.
 */
static void kernel_id(char id[17], const struct session_shape *s)
{
	uint32_t numbers[12] = {s->grid[0],
				s->grid[1],
				s->grid[2],
				s->block[0],
				s->block[1],
				s->block[2],
				s->cluster[0],
				s->cluster[1],
				s->cluster[2],
				s->dyn_smem_bytes,
				(uint32_t)s->cooperative | (uint32_t)s->pdl << 1 |
					(uint32_t)s->overflow << 2,
				s->green_sm_count};
	uint8_t code[16 + sizeof(numbers) + 8 + 4] = {0};
	uint64_t name = kbn_hash64(s->kernel->name, strlen(s->kernel->name)), hash;
	size_t at = 16;

	if (s->kernel->image)
		memcpy(code, s->kernel->image->hash, 16);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		for (int k = 0; k < 4; k++)
			code[at++] = (uint8_t)(numbers[i] >> 8 * k);
	for (int k = 0; k < 8; k++)
		code[at++] = (uint8_t)(name >> 8 * k);
	/* One size after the other with one geometry: only `kbn analyze` has that. */
	for (int k = 0; s->given_again && k < 4; k++)
		code[at++] = (uint8_t)(s->given_again >> 8 * k);
	hash = kbn_hash64(code, at);
	for (int k = 15; k >= 0; k--, hash >>= 4)
		id[k] = "0123456789abcdef"[hash & 15];
	id[16] = '\0';
}

static void build_names(struct builder *b, struct report_kernel *k, const char *mangled)
{
	bool changed;
	const char *readable;

	if (!*mangled)
		mangled = "(unknown)";
	k->name = report_must(b, text_utf8(b->arena, mangled, &changed));
	k->name_hex = changed ? report_must(b, text_hex(b->arena, mangled, strlen(mangled))) : NULL;
	readable = report_must(b, demangle_full(b->arena, mangled));
	k->demangled = report_clean(b, readable ? readable : mangled);
	k->short_name = report_clean(b, report_must(b, demangle_short(b->arena, mangled)));
}

static void build_code(struct builder *b, struct report_code *c, const struct session_kernel *f,
		       int device_sm, const struct model_code *facts)
{
	static const char *const origins[] = {"none", "library", "module", "linker", "jit", "file"};
	const struct session_image *image = f->image;
	int sm;

	*c = (struct report_code){.origin = "none",
				  .debug_build = facts->debug_build,
				  .reconstructed_by = facts->reconstructed_by};
	if (!image) {
		c->why_missing = "the load of this code was not seen";
		return;
	}
	/* The driver compiles PTX for the device, whatever its target says. */
	sm = session_is_jit(image) || !image->sm ? device_sm : (int)image->sm;
	if (!report_is_zero(image->hash, sizeof(image->hash)))
		c->hash = report_must(b, text_hex(b->arena, image->hash, sizeof(image->hash)));
	c->arch = sm > 0 ? report_must(b, text_format(b->arena, "sm_%d", sm)) : NULL;
	if (image->origin > 0 && image->origin < sizeof(origins) / sizeof(*origins))
		c->origin = origins[session_is_jit(image) ? KBN_ORIGIN_JIT : image->origin];
	c->file = clean_or_null(b, image->file);
	c->why_missing = clean_or_null(b, image->why_missing);
	if (!c->hash && !c->why_missing)
		c->why_missing = "the code was not stored";
	if (!c->why_missing)
		c->why_missing = clean_or_null(b, facts->why);
}

static void build_findings(struct builder *b, struct metric_finding *list, int n)
{
	for (int i = 0; i < n; i++)
		list[i].text = report_clean(b, list[i].text);
}

static void build_kernel(struct builder *b, struct report_kernel *k, const struct model_kernel *m)
{
	const struct session_shape *s = m->shape;
	const struct arch_device *hw = &b->m->devices[s->device].hw;

	kernel_id(k->id, s);
	k->device = s->device;
	k->shape = (size_t)(s - b->s->shapes);
	k->run_count = s->runs;
	build_names(b, k, s->kernel->name);
	build_code(b, &k->code, s->kernel, hw->arch.sm, &m->code);
	memcpy(k->grid, s->grid, sizeof(k->grid));
	memcpy(k->block, s->block, sizeof(k->block));
	memcpy(k->cluster, s->cluster, sizeof(k->cluster));
	k->dyn_smem_bytes = s->dyn_smem_bytes;
	k->given = s->given;
	k->cooperative = s->cooperative;
	k->pdl = s->pdl;
	k->overflow = s->overflow;
	k->launches = m->launches;
	k->captured = s->captured;
	k->failed = s->failed;
	k->graph_node_launches = s->graph_node_launches;
	k->share_pct = quantity_known(&m->times.total) &&
				       quantity_known(&b->m->totals.kernel_time_us)
			       ? 100 * m->times.total.value / b->m->totals.kernel_time_us.value
			       : NAN;
	k->times = m->times;
	k->resources = m->resources;
	k->occupancy_known = m->occupancy_known;
	k->occupancy = m->occupancy;
	k->cliff_known = m->cliff_known;
	k->cliff = m->cliff;
	k->published_cliff_bytes = hw->product ? hw->product->published_cliff_bytes : -1;
	k->work = m->work_known ? &m->work : NULL;
	k->roofline = m->work_known ? &m->roofline : NULL;
	k->sass = m->code.sass;
	k->access = m->access;
	k->stalls = m->stalls;
	k->no_sass = k->code.why_missing ? k->code.why_missing
		     : m->code.no_sass   ? m->code.no_sass
					 : "the code was not read";
	k->verdict = m->verdict;
	build_findings(b, k->verdict.reasons, k->verdict.reasons_n);
	memcpy(k->traps, m->traps, sizeof(k->traps));
	k->traps_n = m->traps_n;
	build_findings(b, k->traps, k->traps_n);
	report_advise(b, k, m);
}

/* By total time, those without one last; then by id, and by device. */
static int by_weight(const void *pa, const void *pb)
{
	const struct report_kernel *a = pa, *b = pb;
	double x = quantity_known(&a->times.total) ? a->times.total.value : 0;
	double y = quantity_known(&b->times.total) ? b->times.total.value : 0;
	int ids;

	if (x != y)
		return x < y ? 1 : -1;
	ids = strcmp(a->id, b->id);
	return ids ? ids : (a->device > b->device) - (a->device < b->device);
}

static void build_variants(struct builder *b)
{
	struct report *r = b->r;
	struct variant *v = report_must(b, arena_array(b->arena, r->kernels_n, sizeof(*v)));

	for (size_t i = 0; v && i < r->kernels_n; i++)
		v[i] = (struct variant){r->kernels[i].name, r->kernels[i].demangled,
					r->kernels[i].short_name, ""};
	if (b->failed || variants_find(b->arena, v, r->kernels_n) < 0) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < r->kernels_n; i++)
		r->kernels[i].variant = report_clean(b, v[i].text);
}

static int by_label(const void *pa, const void *pb)
{
	const struct report_kernel *a = *(struct report_kernel *const *)pa,
				   *b = *(struct report_kernel *const *)pb;
	int names = strcmp(a->short_name, b->short_name);

	return names ? names : strcmp(a->variant, b->variant);
}

/* "256", "(8,4)", "(8,4,2)" */
static const char *dimensions(struct builder *b, const uint32_t v[3])
{
	if (v[2] > 1)
		return report_must(b, text_format(b->arena, "(%u,%u,%u)", v[0], v[1], v[2]));
	if (v[1] > 1)
		return report_must(b, text_format(b->arena, "(%u,%u)", v[0], v[1]));
	return report_must(b, text_format(b->arena, "%u", v[0]));
}

static void add_geometry(struct builder *b, struct report_kernel *k)
{
	const char *grid = dimensions(b, k->grid), *block = dimensions(b, k->block), *smem = "";

	if (k->dyn_smem_bytes)
		smem = report_must(b, text_format(b->arena, ",%u", k->dyn_smem_bytes));
	if (!b->failed && !k->overflow)
		k->variant = report_must(b, text_format(b->arena, "%s <<<%s,%s%s>>>", k->variant,
							grid, block, smem));
}

/* Two kernels of one name in one file: the start of the hash of the image that each is in. */
static void add_code(struct builder *b, struct report_kernel *k)
{
	if (!b->failed && k->code.hash)
		k->variant = report_must(b, text_format(b->arena, "%s code %.8s", k->variant,
							k->code.hash));
}

static bool is_other_code(struct report_kernel *const *group, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(group[i]->code.hash ? group[i]->code.hash : "",
			   group[0]->code.hash ? group[0]->code.hash : "") != 0)
			return true;
	return false;
}

static bool is_other_geometry(struct report_kernel *const *group, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (memcmp(group[i]->grid, group[0]->grid, sizeof(group[0]->grid)) != 0 ||
		    memcmp(group[i]->block, group[0]->block, sizeof(group[0]->block)) != 0 ||
		    group[i]->dyn_smem_bytes != group[0]->dyn_smem_bytes)
			return true;
	return false;
}

/* Also where nothing on this page tells them apart: they are of two devices, or clusters. */
static bool needs_geometry(struct report_kernel *const *group, size_t n)
{
	return n > 1 && (is_other_geometry(group, n) || !is_other_code(group, n));
}

/* Groups of equal labels, of which `needs` says whether to add something to each. */
static void tell_apart(struct builder *b, struct report_kernel **order,
		       bool (*needs)(struct report_kernel *const *group, size_t n),
		       void (*add)(struct builder *b, struct report_kernel *k))
{
	const size_t n = b->r->kernels_n;

	if (b->failed || !n)
		return;
	qsort(order, n, sizeof(*order), by_label);
	for (size_t i = 0, end; !b->failed && i < n; i = end) {
		for (end = i + 1; end < n && !by_label(&order[end], &order[i]); end++)
			;
		for (size_t k = i, more = needs(&order[i], end - i); more && k < end; k++)
			add(b, order[k]);
	}
}

/* Shapes of one kernel look the same by name: put the geometry behind it, then the code. */
static void build_labels(struct builder *b)
{
	struct report *r = b->r;
	struct report_kernel **order =
		report_must(b, arena_array(b->arena, r->kernels_n, sizeof(*order)));

	for (size_t i = 0; order && i < r->kernels_n; i++)
		order[i] = &r->kernels[i];
	tell_apart(b, order, needs_geometry, add_geometry);
	tell_apart(b, order, is_other_code, add_code);
}

static int by_case(const void *pa, const void *pb)
{
	const struct report_kernel *a = *(const struct report_kernel *const *)pa,
				   *b = *(const struct report_kernel *const *)pb;
	int order = strcmp(a->name, b->name);

	if (!order && a->code.hash && b->code.hash)
		order = strcmp(a->code.hash, b->code.hash);
	return order ? order : (a->given > b->given) - (a->given < b->given);
}

static void build_cases(struct builder *b)
{
	struct report *r = b->r;

	if (b->failed || b->s->given_launches < 2)
		return;
	r->cases = report_must(b, arena_array(b->arena, r->kernels_n, sizeof(*r->cases)));
	for (size_t i = 0; r->cases && i < r->kernels_n; i++)
		r->cases[r->cases_n++] = &r->kernels[i];
	if (r->cases_n)
		qsort(r->cases, r->cases_n, sizeof(*r->cases), by_case);
}

static void build_kernels(struct builder *b)
{
	struct report *r = b->r;
	const struct report_options *o = b->o;

	r->kernels_all = b->s->shapes_n;
	r->kernels = report_must(b, arena_array(b->arena, b->s->shapes_n, sizeof(*r->kernels)));
	for (size_t i = 0; r->kernels && !b->failed && i < b->s->shapes_n; i++) {
		struct report_kernel *k = &r->kernels[r->kernels_n];

		memset(k, 0, sizeof(*k));
		build_kernel(b, k, &b->m->kernels[i]);
		if (b->failed || !o || !o->match ||
		    o->match(o->match_ctx, b->s->shapes[i].kernel->name, k->demangled,
			     k->short_name))
			r->kernels_n++;
	}
	build_variants(b);
	build_labels(b);
	if (r->kernels_n)
		qsort(r->kernels, r->kernels_n, sizeof(*r->kernels), by_weight);
	if (o && o->top && r->kernels_n > o->top)
		r->kernels_n = o->top;
	build_cases(b);
}

static const struct session_shape *shape_of(const struct builder *b, size_t kernel)
{
	return &b->s->shapes[b->r->kernels[kernel].shape];
}

/* Of the first kernels, image by image: opening one costs more than listing a kernel of it. */
static void build_listings(struct builder *b)
{
	const struct report_options *o = b->o;
	struct report *r = b->r;
	const size_t wanted = o && o->listing ? o->listings : 0;
	const size_t n = wanted < r->kernels_n ? wanted : r->kernels_n;
	bool *done = report_must(b, arena_array(b->arena, n, sizeof(*done)));

	for (size_t i = 0; done && i < n; i++) {
		for (size_t k = i; k < n; k++) {
			const struct session_shape *s = shape_of(b, k);

			if (done[k] || s->kernel->image != shape_of(b, i)->kernel->image ||
			    s->device != shape_of(b, i)->device)
				continue;
			done[k] = true;
			r->kernels[k].listings = o->listing(o->listing_ctx, s->kernel,
							    b->m->devices[s->device].hw.arch.sm);
		}
	}
}

int report_build(struct report *r, const struct session *s, const struct model *m,
		 const struct report_options *o, struct err *e)
{
	struct report built = {0};
	struct builder b = {.r = &built, .s = s, .m = m, .o = o, .arena = s->arena};

	build_head(&b);
	build_kernels(&b);
	if (!b.failed)
		report_advice(&b);
	build_listings(&b);
	report_notes(&b);
	if (b.failed)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	*r = built;
	return 0;
}
