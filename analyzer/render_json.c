/*
 * render_json.c - kbn-report/1: everything, for programs. Each function makes one object of the
 * contract, keys in its order, every key always present. Numbers that are not known are null.
 */
#include "render.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "render_json.h"

/*
 * jansson drops a key silently when memory runs out, and a key must never be missing: the dump is
 * refused when any was. One document is made at a time.
 */
static bool incomplete;

static void put(json_t *object, const char *key, json_t *value)
{
	if (!value || json_object_set_new(object, key, value) < 0)
		incomplete = true;
}

static json_t *text(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* Of a run that never was (kbn analyze), and of what was not recorded, there is nothing: not 0, not "". */
static json_t *text_if(const char *s)
{
	return text(s && *s ? s : NULL);
}

static json_t *count_if(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Counts that use -1 for unknown. */
static json_t *count(int64_t n)
{
	return n >= 0 ? json_integer(n) : json_null();
}

static json_t *tristate(int v)
{
	return v < 0 ? json_null() : json_boolean(v);
}

static json_t *triple(const uint32_t v[3])
{
	return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static json_t *quantity(const struct quantity *q)
{
	json_t *o = json_object();

	put(o, "value", real(q->value));
	put(o, "low", real(q->low));
	put(o, "high", real(q->high));
	put(o, "label", text(quantity_label_names[q->label]));
	put(o, "by", text(quantity_by_names[q->by]));
	put(o, "why", text(q->why));
	return o;
}

/* An object of quantities that are all unknown for one reason. */
static json_t *unknown_quantities(const char *const *keys, const char *why)
{
	struct quantity q = quantity_unknown(why);
	json_t *o = json_object();

	for (; *keys; keys++)
		put(o, *keys, quantity(&q));
	return o;
}

static json_t *findings(const struct metric_finding *list, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_pack("{s:s,s:s}", "id", list[i].id, "text",
						   list[i].text));
	if (json_array_size(a) != n)
		incomplete = true;
	return a;
}

/* ------------------------------------------------------------------- head */

static json_t *run(const struct report_run *r)
{
	json_t *o = json_object(), *command = json_array(), *env = json_object();

	for (size_t i = 0; i < r->command_n; i++)
		json_array_append_new(command, text(r->command[i]));
	for (size_t i = 0; i < r->env_n; i++)
		put(env, r->env[i].key, text(r->env[i].value));
	put(o, "dir", text(r->dir));
	put(o, "command", command);
	put(o, "host", text_if(r->host));
	put(o, "pid", count_if(r->pid));
	put(o, "rank", count(r->rank));
	put(o, "world", count(r->world));
	put(o, "local_rank", count(r->local_rank));
	put(o, "started", text_if(r->started));
	put(o, "duration_s", real(r->pid ? r->duration_s : (double)NAN));
	put(o, "end", text(r->end));
	put(o, "exit_status", count(r->exit_status));
	put(o, "signal", r->signal > 0 ? json_integer(r->signal) : json_null());
	put(o, "driver", text_if(r->driver));
	put(o, "cuda_driver_api", count_if(r->driver_api));
	put(o, "env", env);
	put(o, "foreign_profiler", text(r->foreign));
	return o;
}

static json_t *device(const struct report_device *d, size_t index)
{
	json_t *o = json_object(), *peaks = json_object();
	char sm[16];

	for (int i = 0; i < PEAK_N; i++)
		put(peaks, arch_peak_keys[i], real(d->hw.peaks[i]));
	snprintf(sm, sizeof(sm), "sm_%d", d->hw.arch.sm);
	put(o, "index", json_integer((json_int_t)index));
	put(o, "uuid", text(d->uuid));
	put(o, "mig", text(d->mig));
	put(o, "name", text(d->name));
	put(o, "sm", text(d->hw.arch.sm > 0 ? sm : NULL));
	put(o, "sm_count", count(d->hw.sm_count));
	put(o, "clock_mhz", count(d->hw.clock_mhz));
	put(o, "observed_clock_mhz", json_null());
	put(o, "dram_gbps", real(d->hw.dram_gbps));
	put(o, "l2_bytes", count(d->hw.l2_bytes));
	put(o, "smem_per_sm_bytes", count(d->hw.smem_per_sm_bytes));
	put(o, "peaks", peaks);
	put(o, "peaks_source", text(d->hw.peaks_source));
	put(o, "calibrated", text(d->calibrated));
	return o;
}

static json_t *accounting(const struct report_accounting *a)
{
	json_t *o = json_object();

#define COUNT(key) put(o, #key, json_integer((json_int_t)a->key))
	COUNT(launches_seen);
	COUNT(timed);
	COUNT(sampled_out);
	COUNT(untimeable);
	COUNT(captured);
	COUNT(failed);
	COUNT(unfinished);
	COUNT(filtered);
	COUNT(dropped);
	COUNT(overflow);
	COUNT(graph_launches);
	COUNT(graph_node_launches);
#undef COUNT
	put(o, "copies", a->copies_known ? json_integer((json_int_t)a->copies) : json_null());
	put(o, "sets", a->copies_known ? json_integer((json_int_t)a->sets) : json_null());
	return o;
}

static json_t *timing(const struct report_timing *t)
{
	json_t *o = json_object();

	put(o, "method", text(t->method));
	put(o, "bias_us", real(t->bias_us));
	put(o, "uncertainty_us", real(t->uncertainty_us));
	put(o, "self_overhead_pct", real(t->self_overhead_pct));
	put(o, "gates", json_integer((json_int_t)t->gates));
	put(o, "gate_deadlines", json_integer((json_int_t)t->gate_deadlines));
	return o;
}

static json_t *totals(const struct report_totals *t)
{
	json_t *o = json_object();

	put(o, "kernel_time_us", quantity(&t->kernel_time_us));
	put(o, "busy_pct", quantity(&t->busy_pct));
	put(o, "gap_us", quantity(&t->gap_us));
	put(o, "copy_time_us", quantity(&t->copy_time_us));
	put(o, "copy_bytes", json_null());
	put(o, "copy_overlap_pct", quantity(&t->copy_overlap_pct));
	return o;
}

/* ---------------------------------------------------------------- kernels */

static json_t *code(const struct report_code *c)
{
	json_t *o = json_object();

	put(o, "hash", text(c->hash));
	put(o, "arch", text(c->arch));
	put(o, "origin", text(c->origin));
	put(o, "file", text(c->file));
	put(o, "debug_build", tristate(c->debug_build));
	put(o, "why_missing", text(c->why_missing));
	put(o, "reconstructed_by", text(c->reconstructed_by));
	return o;
}

static json_t *launch(const struct report_kernel *k)
{
	json_t *o = json_object();

	put(o, "grid", triple(k->grid));
	put(o, "block", triple(k->block));
	put(o, "cluster", triple(k->cluster));
	put(o, "dyn_smem_bytes", json_integer(k->dyn_smem_bytes));
	put(o, "cooperative", json_boolean(k->cooperative));
	put(o, "pdl", json_boolean(k->pdl));
	return o;
}

static json_t *times(const struct metric_times *t)
{
	json_t *o = json_object();

	put(o, "timed", json_integer((json_int_t)t->timed));
	put(o, "total", quantity(&t->total));
	put(o, "mean", real(t->mean));
	put(o, "median", real(t->median));
	put(o, "p90", real(t->p90));
	put(o, "min", real(t->min));
	put(o, "max", real(t->max));
	put(o, "first", real(t->first));
	put(o, "method", text(t->method));
	put(o, "uncertainty", real(t->uncertainty));
	put(o, "warmup_only", json_boolean(t->warmup_only));
	put(o, "why", text(t->why));
	return o;
}

static json_t *resources(const struct metric_resources *r)
{
	json_t *o = json_object();

	put(o, "registers", count(r->registers));
	put(o, "registers_allocated", count(r->registers_allocated));
	put(o, "static_smem_bytes", count(r->static_smem_bytes));
	put(o, "local_bytes", count(r->local_bytes));
	put(o, "spill_instructions", count(r->spill_instructions));
	put(o, "uses_syscalls", tristate(r->uses_syscalls));
	return o;
}

/* A resource that the kernel does not use stands with the block limit: it never binds before it. */
static json_t *limits(const struct occupancy *o)
{
	json_t *out = json_object();

	for (int i = 0; i < LIMIT_N; i++) {
		int l = o ? o->limits[i] : OCCUPANCY_UNKNOWN;

		if (l == OCCUPANCY_NO_LIMIT)
			l = i == LIMIT_BARRIERS || i == LIMIT_CLUSTER ? OCCUPANCY_UNKNOWN
								      : o->max_blocks_per_sm;
		put(out, occupancy_limit_names[i], count(l));
	}
	return out;
}

static json_t *occupancy(const struct occupancy *o, const char *no_counters)
{
	struct quantity achieved = quantity_unknown(no_counters);
	json_t *out = json_object();

	put(out, "blocks_per_sm", count(o ? o->blocks_per_sm : -1));
	put(out, "warps_per_sm", count(o ? o->warps_per_sm : -1));
	put(out, "max_warps_per_sm", count(o ? o->max_warps_per_sm : -1));
	put(out, "pct", real(o ? o->pct : NAN));
	put(out, "limiter", text(o && o->limiter >= 0 ? occupancy_limit_names[o->limiter] : NULL));
	put(out, "limits", limits(o));
	put(out, "waves", real(o ? o->waves : NAN));
	put(out, "tail_waste_pct", real(o ? o->tail_waste_pct : NAN));
	put(out, "last_wave_pct", real(o ? o->last_wave_pct : NAN));
	put(out, "enough_warps", tristate(o ? o->enough_warps : -1));
	put(out, "achieved_pct", quantity(&achieved));
	put(out, "clusters_at_most", count(o ? o->clusters_at_most : -1));
	put(out, "why", text(o ? o->why : NULL));
	return out;
}

static json_t *smem_cliff(const struct smem_cliff *c, int published)
{
	json_t *o, *most;
	char key[16];

	if (!c)
		return json_null();
	o = json_object();
	most = json_object();
	for (int k = 1; k <= SMEM_CLIFF_STEPS; k++) {
		snprintf(key, sizeof(key), "%d", k);
		put(most, key, count(c->max_bytes_for[k - 1]));
	}
	put(o, "smem_per_block_bytes", json_integer(c->smem_per_block_bytes));
	put(o, "blocks_per_sm", count(c->blocks_per_sm));
	put(o, "max_bytes_for", most);
	put(o, "above_cliff", json_boolean(c->above_cliff));
	put(o, "published_cliff_bytes", count(published));
	put(o, "double_buffer_bytes", json_integer(c->double_buffer_bytes));
	put(o, "double_buffer_blocks_per_sm", count(c->double_buffer_blocks_per_sm));
	put(o, "to_next_step_bytes", count(c->to_next_step_bytes));
	put(o, "to_cliff_bytes", count(c->to_cliff_bytes));
	return o;
}

static const char *const work_keys[] = {"flops", "tensor_flops", "warp_instructions", NULL};
static const char *const work_access_keys[] = {"global_load_bytes",
					       "global_store_bytes",
					       "sectors_per_request_load",
					       "sectors_per_request_store",
					       "excess_sectors",
					       "shared_wavefronts_per_request",
					       "atomics",
					       "divergence_pct",
					       NULL};
static const char *const memory_keys[] = {"l1_bytes",         "l2_bytes",
					  "dram_bytes",       "dram_read_bytes",
					  "dram_write_bytes", "l1_hit_pct",
					  "l2_hit_pct",       NULL};
static const char *const stall_keys[] = {"long_scoreboard",
					 "short_scoreboard",
					 "barrier",
					 "math_pipe_throttle",
					 "lg_throttle",
					 "mio_throttle",
					 "wait",
					 "not_selected",
					 "branch",
					 "other",
					 NULL};
static const char *const pipe_keys[] = {"fma", "alu", "fp64", "xu", "lsu", "tensor", NULL};

/* What the user says of it; the rest is not derived. */
static json_t *work(const struct work *known, const char *why)
{
	json_t *o = unknown_quantities(work_keys, why),
	       *rest = unknown_quantities(work_access_keys, why);

	if (known) {
		const struct quantity flops = work_flops(known);

		put(o, "flops", quantity(&flops));
	}
	put(o, "executed", json_null());
	if (json_object_update(o, rest) < 0)
		incomplete = true;
	json_decref(rest);
	return o;
}

static json_t *problem(const struct work *w)
{
	json_t *o, *dims;

	if (!w)
		return json_null();
	o = json_object();
	dims = json_object();
	for (int i = 0; i < w->dims_n; i++)
		put(dims, w->dims[i].name, json_integer(w->dims[i].value));
	put(o, "kind", text(work_kind_names[w->kind]));
	put(o, "dims", dims);
	put(o, "dtype", text(work_dtype_name(w->dtype)));
	return o;
}

static json_t *roofline(const struct roofline *r, const char *why)
{
	struct quantity q = quantity_unknown(why);
	char precision[ROOFLINE_NAME];
	json_t *o = json_object();

	if (r) {
		put(o, "intensity", quantity(&r->intensity));
		put(o, "balance", real(r->balance));
		put(o, "precision", text(roofline_precision_name(precision, r->precision)));
		put(o, "side", text(r->side));
		put(o, "attained_pct", quantity(&r->attained_pct));
		put(o, "sol_compute_pct", quantity(&r->sol_compute_pct));
		put(o, "sol_memory_pct", quantity(&r->sol_memory_pct));
		return o;
	}

	put(o, "intensity", quantity(&q));
	put(o, "balance", json_null());
	put(o, "precision", json_null());
	put(o, "side", text("unknown"));
	put(o, "attained_pct", quantity(&q));
	put(o, "sol_compute_pct", quantity(&q));
	put(o, "sol_memory_pct", quantity(&q));
	return o;
}

static json_t *bottleneck(const struct metric_class *v)
{
	json_t *o = json_object();

	put(o, "class", text(v->class));
	put(o, "larger", text(v->larger));
	put(o, "launch_bound", json_boolean(v->launch_bound));
	put(o, "reasons", findings(v->reasons, (size_t)v->reasons_n));
	put(o, "label", text(v->label));
	return o;
}

static void kernel_names(json_t *o, const struct report_kernel *k)
{
	put(o, "name", text(k->name));
	if (k->name_hex)
		put(o, "name_hex", text(k->name_hex));
	put(o, "demangled", text(k->demangled));
	put(o, "short_name", text(k->short_name));
}

static json_t *stall_list(const struct metric_sass *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->ops_n; i++) {
		json_t *o = json_object();

		put(o, "op", text(s->ops[i].op));
		put(o, "count", json_integer(s->ops[i].n));
		put(o, "min", json_integer(s->ops[i].stall_min));
		put(o, "median", json_integer(s->ops[i].stall_median));
		put(o, "reducible", count(s->ops[i].reducible));
		if (json_array_append_new(a, o) < 0)
			incomplete = true;
	}
	return a;
}

static json_t *offset(uint64_t v)
{
	return json_sprintf("0x%llx", (unsigned long long)v);
}

static json_t *loop(const struct metric_loop *l)
{
	const double n = (double)l->trips;
	const struct quantity trips =
		l->trips ? (struct quantity){n, n, n, QUANTITY_DERIVED, QUANTITY_BY_CODE, NULL}
			 : quantity_unknown("the code does not prove how often it runs");
	json_t *o = json_object();

	put(o, "start", offset(l->start));
	put(o, "end", offset(l->end));
	put(o, "depth", json_integer(l->depth));
	put(o, "innermost", json_boolean(l->is_innermost));
	put(o, "main", json_boolean(l->is_main));
	put(o, "trips", quantity(&trips));
	put(o, "compute_ops", json_integer((json_int_t)l->compute_ops));
	put(o, "compute_op", text(l->compute_op));
	put(o, "load_ops", json_integer((json_int_t)l->load_ops));
	put(o, "load_bytes_per_warp", count(l->load_bytes_per_warp));
	put(o, "async_copies", json_integer((json_int_t)l->async_copies));
	put(o, "barriers", json_integer((json_int_t)l->barriers));
	put(o, "ratio", real(l->ratio));
	put(o, "ratio_raw", real(l->ratio_raw));
	put(o, "class", text(l->class));
	put(o, "async_copy", text(l->async_copy));
	put(o, "why", text(l->why));
	return o;
}

static json_t *sass(const struct metric_sass *s)
{
	json_t *o, *mix, *loops;

	if (!s)
		return json_null();
	o = json_object();
	mix = json_object();
	loops = json_array();
	for (size_t i = 0; i < s->ops_n; i++)
		put(mix, s->ops[i].op, json_integer(s->ops[i].n));
	for (size_t i = 0; i < s->loops_n; i++)
		if (json_array_append_new(loops, loop(&s->loops[i])) < 0)
			incomplete = true;
	put(o, "instructions", json_integer(s->instructions));
	put(o, "undecoded", json_integer(s->undecoded));
	put(o, "mix", mix);
	put(o, "stalls", stall_list(s));
	put(o, "loops", loops);
	return o;
}

/* Most of it no part of this version finds out: present, and saying so. */
static void kernel_rest(json_t *o, const struct report *r, const struct report_kernel *k)
{
	struct quantity q = quantity_unknown(r->no_code);

	put(o, "work", work(k->work, r->no_code));
	put(o, "memory", unknown_quantities(memory_keys, r->no_memory));
	put(o, "sites", json_array());
	put(o, "stalls", unknown_quantities(stall_keys, r->no_counters));
	put(o, "ipc", quantity(&q));
	put(o, "pipes", unknown_quantities(pipe_keys, r->no_code));
	put(o, "timeline", json_null());
	put(o, "roofline", roofline(k->roofline, r->no_code));
}

json_t *render_json_kernel(const struct report *r, const struct report_kernel *k)
{
	struct quantity no_work = quantity_unknown(r->no_code);
	json_t *o = json_object();

	put(o, "id", text(k->id));
	put(o, "device", json_integer((json_int_t)k->device));
	put(o, "run_count", json_integer(k->run_count));
	kernel_names(o, k);
	put(o, "code", code(&k->code));
	put(o, "launch", launch(k));
	put(o, "overflow", json_boolean(k->overflow));
	put(o, "launches", json_integer((json_int_t)k->launches));
	put(o, "captured", json_integer((json_int_t)k->captured));
	put(o, "failed", json_integer((json_int_t)k->failed));
	put(o, "graph_node_launches", json_integer((json_int_t)k->graph_node_launches));
	put(o, "share_pct", real(k->share_pct));
	put(o, "time_us", times(&k->times));
	put(o, "problem", problem(k->work));
	put(o, "effective_gflops",
	    quantity(k->roofline ? &k->roofline->effective_gflops : &no_work));
	put(o, "effective_gbps", quantity(k->roofline ? &k->roofline->effective_gbps : &no_work));
	put(o, "resources", resources(&k->resources));
	put(o, "occupancy", occupancy(k->occupancy_known ? &k->occupancy : NULL, r->no_counters));
	put(o, "smem_cliff",
	    smem_cliff(k->cliff_known ? &k->cliff : NULL, k->published_cliff_bytes));
	put(o, "sass", sass(k->sass));
	put(o, "no_sass", k->sass ? json_null() : text(k->no_sass));
	kernel_rest(o, r, k);
	put(o, "bottleneck", bottleneck(&k->verdict));
	put(o, "advice", json_array());
	put(o, "not_now", json_array());
	put(o, "traps", findings(k->traps, (size_t)k->traps_n));
	put(o, "origin", json_pack("{s:[],s:[],s:[]}", "stacks", "python", "nvtx"));
	return o;
}

bool render_json_complete(void)
{
	bool was = !incomplete;

	incomplete = false;
	return was;
}

/* Six significant digits are more than any figure here is good for. */
static int dump(json_t *root, FILE *out, struct err *e)
{
	int rc = render_json_complete()
			 ? json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
			 : -1;

	json_decref(root);
	if (rc < 0 || fputc('\n', out) == EOF)
		return err_set(e, ERR_IO, -1, "cannot write the JSON document");
	return 0;
}

static json_t *document(const struct report *r)
{
	json_t *o = json_object(), *runs = json_array(), *devices = json_array(),
	       *kernels = json_array();

	for (size_t i = 0; i < r->runs_n; i++)
		json_array_append_new(runs, run(&r->runs[i]));
	for (size_t i = 0; i < r->devices_n; i++)
		json_array_append_new(devices, device(&r->devices[i], i));
	for (size_t i = 0; i < r->kernels_n; i++)
		json_array_append_new(kernels, render_json_kernel(r, &r->kernels[i]));
	put(o, "schema", text("kbn-report/1"));
	put(o, "tool", json_pack("{s:s}", "version", r->version));
	put(o, "simulated", json_boolean(r->simulated));
	put(o, "runs", runs);
	put(o, "devices", devices);
	put(o, "accounting", accounting(&r->accounting));
	put(o, "timing", timing(&r->timing));
	put(o, "totals", totals(&r->totals));
	put(o, "kernels", kernels);
	put(o, "kernels_all", json_integer((json_int_t)r->kernels_all));
	put(o, "advice", json_array());
	put(o, "notes", findings(r->notes, r->notes_n));
	return o;
}

static int report_json(const struct report *r, const struct render_options *options, FILE *out,
		       struct err *e)
{
	(void)options;
	incomplete = false;
	return dump(document(r), out, e);
}

int render_json_occupancy(const struct occupancy *o, const struct smem_cliff *cliff,
			  int published_cliff_bytes, FILE *out, struct err *e)
{
	json_t *root = json_object();

	incomplete = false;
	put(root, "schema", text("kbn-occupancy/1"));
	put(root, "occupancy", occupancy(o, "a launch that was not run has no achieved occupancy"));
	put(root, "smem_cliff", smem_cliff(cliff, published_cliff_bytes));
	return dump(root, out, e);
}

const struct render_format render_json = {"json", "report.json", report_json};
