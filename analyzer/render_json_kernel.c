/*
 * render_json_kernel.c - one kernel as the object K of kbn-report/1. Each function makes one object of the
 * contract, keys in its order.
 */
#include "render_json.h"

#include <math.h>
#include <string.h>

#include "render.h"
#include "render_json_value.h"

/* ---------------------------------------------------------------- kernels */

static json_t *code(const struct report_code *c)
{
	json_t *o = json_object();

	value_put(o, "hash", value_text(c->hash));
	value_put(o, "arch", value_text(c->arch));
	value_put(o, "origin", value_text(c->origin));
	value_put(o, "file", value_text(c->file));
	value_put(o, "debug_build", value_tristate(c->debug_build));
	value_put(o, "why_missing", value_text(c->why_missing));
	value_put(o, "reconstructed_by", value_text(c->reconstructed_by));
	return o;
}

static json_t *launch(const struct report_kernel *k)
{
	json_t *o = json_object();

	value_put(o, "grid", value_triple(k->grid));
	value_put(o, "block", value_triple(k->block));
	value_put(o, "cluster", value_triple(k->cluster));
	value_put(o, "dyn_smem_bytes", json_integer(k->dyn_smem_bytes));
	value_put(o, "cooperative", json_boolean(k->cooperative));
	value_put(o, "pdl", json_boolean(k->pdl));
	return o;
}

static json_t *times(const struct metric_times *t)
{
	json_t *o = json_object();

	value_put(o, "timed", json_integer((json_int_t)t->timed));
	value_put(o, "total", value_quantity(&t->total));
	value_put(o, "mean", value_real(t->mean));
	value_put(o, "median", value_real(t->median));
	value_put(o, "p90", value_real(t->p90));
	value_put(o, "min", value_real(t->min));
	value_put(o, "max", value_real(t->max));
	value_put(o, "first", value_real(t->first));
	value_put(o, "method", value_text(t->method));
	value_put(o, "uncertainty", value_real(t->uncertainty));
	value_put(o, "warmup_only", json_boolean(t->warmup_only));
	value_put(o, "why", value_text(t->why));
	return o;
}

static json_t *resources(const struct metric_resources *r)
{
	json_t *o = json_object();

	value_put(o, "registers", value_count(r->registers));
	value_put(o, "registers_allocated", value_count(r->registers_allocated));
	value_put(o, "static_smem_bytes", value_count(r->static_smem_bytes));
	value_put(o, "local_bytes", value_count(r->local_bytes));
	value_put(o, "spill_instructions", value_count(r->spill_instructions));
	value_put(o, "uses_syscalls", value_tristate(r->uses_syscalls));
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
		value_put(out, occupancy_limit_names[i], value_count(l));
	}
	return out;
}

json_t *render_json_occupancy_object(const struct occupancy *o, const char *no_counters)
{
	struct quantity achieved = quantity_unknown(no_counters);
	json_t *out = json_object();

	value_put(out, "blocks_per_sm", value_count(o ? o->blocks_per_sm : -1));
	value_put(out, "warps_per_sm", value_count(o ? o->warps_per_sm : -1));
	value_put(out, "max_warps_per_sm", value_count(o ? o->max_warps_per_sm : -1));
	value_put(out, "pct", value_real(o ? o->pct : NAN));
	value_put(out, "limiter",
		  value_text(o && o->limiter >= 0 ? occupancy_limit_names[o->limiter] : NULL));
	value_put(out, "limits", limits(o));
	value_put(out, "waves", value_real(o ? o->waves : NAN));
	value_put(out, "tail_waste_pct", value_real(o ? o->tail_waste_pct : NAN));
	value_put(out, "last_wave_pct", value_real(o ? o->last_wave_pct : NAN));
	value_put(out, "enough_warps", value_tristate(o ? o->enough_warps : -1));
	value_put(out, "enough_warps_at", value_count(o ? o->enough_warps_at : -1));
	value_put(out, "achieved_pct", value_quantity(&achieved));
	value_put(out, "clusters_at_most", value_count(o ? o->clusters_at_most : -1));
	value_put(out, "why", value_text(o ? o->why : NULL));
	return out;
}

json_t *render_json_cliff_object(const struct smem_cliff *c, int published)
{
	json_t *o, *most;
	char key[16];

	if (!c)
		return json_null();
	o = json_object();
	most = json_object();
	for (int k = 1; k <= SMEM_CLIFF_STEPS; k++) {
		snprintf(key, sizeof(key), "%d", k);
		value_put(most, key, value_count(c->max_bytes_for[k - 1]));
	}
	value_put(o, "smem_per_block_bytes", json_integer(c->smem_per_block_bytes));
	value_put(o, "blocks_per_sm", value_count(c->blocks_per_sm));
	value_put(o, "max_bytes_for", most);
	value_put(o, "above_cliff", json_boolean(c->above_cliff));
	value_put(o, "published_cliff_bytes", value_count(published));
	value_put(o, "double_buffer_bytes", json_integer(c->double_buffer_bytes));
	value_put(o, "double_buffer_blocks_per_sm", value_count(c->double_buffer_blocks_per_sm));
	value_put(o, "to_next_step_bytes", value_count(c->to_next_step_bytes));
	value_put(o, "to_cliff_bytes", value_count(c->to_cliff_bytes));
	return o;
}

static const char *const work_keys[] = {"flops", "tensor_flops", NULL};
static const char *const memory_keys[] = {"l1_bytes",         "l2_bytes",
					  "dram_bytes",       "dram_read_bytes",
					  "dram_write_bytes", "l1_hit_pct",
					  "l2_hit_pct",       NULL};
static const char *const pipe_keys[] = {"fma", "alu", "fp64", "xu", "lsu", "tensor", NULL};

/* FLOPs as the user says them, accesses as the code proves them. */
static json_t *work(const struct work *known, const struct metric_access *access, const char *why)
{
	const struct quantity none = quantity_unknown(why);
	json_t *o = value_unknowns(work_keys, why);

	if (known) {
		const struct quantity flops = work_flops(known);

		value_put(o, "flops", value_quantity(&flops));
	}
#define ACCESS(key) value_put(o, #key, value_quantity(access ? &access->key : &none))
	ACCESS(warp_instructions);
	value_put(o, "executed", json_null());
	ACCESS(global_load_bytes);
	ACCESS(global_store_bytes);
	ACCESS(sectors_per_request_load);
	ACCESS(sectors_per_request_store);
	ACCESS(excess_sectors);
	ACCESS(shared_wavefronts_per_request);
	ACCESS(atomics);
	ACCESS(divergence_pct);
	ACCESS(wasted_sectors);
#undef ACCESS
	return o;
}

static json_t *sites(const struct metric_access *access)
{
	json_t *a = json_array();

	for (size_t i = 0; access && i < access->sites_n; i++) {
		const struct metric_site *s = &access->sites[i];
		json_t *o = json_object();

		value_put(o, "offset", value_offset(s->offset));
		value_put(o, "line", value_text(s->line));
		value_put(o, "op", value_text(s->op));
		value_put(o, "kind", value_text(s->kind));
		value_put(o, "requests", value_quantity(&s->requests));
		value_put(o, "sectors_per_request", value_quantity(&s->sectors_per_request));
		value_put(o, "excess", value_quantity(&s->excess));
		value_put(o, "pattern", value_text(s->pattern));
		if (!strcmp(s->kind, "load") || !strcmp(s->kind, "store")) {
			value_put(o, "own_excess", value_quantity(&s->own_excess));
			value_put(o, "sharers", value_text(s->sharers));
		}
		value_append(a, o);
	}
	return a;
}

static json_t *stalls(const struct metric_stalls *s, const char *why)
{
	const struct quantity none = quantity_unknown(why);
	json_t *o = json_object();

#define STALL(name) value_put(o, #name, value_quantity(s ? &s->name : &none));
	METRIC_STALL_LIST(STALL)
#undef STALL
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
		value_put(dims, w->dims[i].name, json_integer(w->dims[i].value));
	value_put(o, "kind", value_text(work_kind_names[w->kind]));
	value_put(o, "dims", dims);
	value_put(o, "dtype", value_text(work_dtype_name(w->dtype)));
	return o;
}

static json_t *roofline(const struct roofline *r, const char *why)
{
	struct quantity q = quantity_unknown(why);
	char precision[ROOFLINE_NAME];
	json_t *o = json_object();

	if (r) {
		value_put(o, "intensity", value_quantity(&r->intensity));
		value_put(o, "balance", value_real(r->balance));
		value_put(o, "precision",
			  value_text(roofline_precision_name(precision, r->precision)));
		value_put(o, "side", value_text(r->side));
		value_put(o, "attained_pct", value_quantity(&r->attained_pct));
		value_put(o, "sol_compute_pct", value_quantity(&r->sol_compute_pct));
		value_put(o, "sol_memory_pct", value_quantity(&r->sol_memory_pct));
		return o;
	}

	value_put(o, "intensity", value_quantity(&q));
	value_put(o, "balance", json_null());
	value_put(o, "precision", json_null());
	value_put(o, "side", value_text("unknown"));
	value_put(o, "attained_pct", value_quantity(&q));
	value_put(o, "sol_compute_pct", value_quantity(&q));
	value_put(o, "sol_memory_pct", value_quantity(&q));
	return o;
}

static json_t *bottleneck(const struct metric_class *v)
{
	json_t *o = json_object();

	value_put(o, "class", value_text(v->class));
	value_put(o, "larger", value_text(v->larger));
	value_put(o, "launch_bound", json_boolean(v->launch_bound));
	value_put(o, "reasons", value_findings(v->reasons, (size_t)v->reasons_n));
	value_put(o, "label", value_text(v->label));
	return o;
}

static void kernel_names(json_t *o, const struct report_kernel *k)
{
	value_put(o, "name", value_text(k->name));
	if (k->name_hex)
		value_put(o, "name_hex", value_text(k->name_hex));
	value_put(o, "demangled", value_text(k->demangled));
	value_put(o, "short_name", value_text(k->short_name));
}

static json_t *stall_list(const struct metric_sass *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->ops_n; i++) {
		json_t *o = json_object();

		value_put(o, "op", value_text(s->ops[i].op));
		value_put(o, "count", json_integer(s->ops[i].n));
		value_put(o, "min", json_integer(s->ops[i].stall_min));
		value_put(o, "median", json_integer(s->ops[i].stall_median));
		value_put(o, "reducible", value_count(s->ops[i].reducible));
		value_append(a, o);
	}
	return a;
}

static json_t *loop(const struct metric_loop *l)
{
	const double n = (double)l->trips;
	const struct quantity trips =
		l->trips ? (struct quantity){n, n, n, QUANTITY_DERIVED, QUANTITY_BY_CODE, NULL}
			 : quantity_unknown("the code does not prove how often it runs");
	json_t *o = json_object();

	value_put(o, "start", value_offset(l->start));
	value_put(o, "end", value_offset(l->end));
	value_put(o, "depth", json_integer(l->depth));
	value_put(o, "innermost", json_boolean(l->is_innermost));
	value_put(o, "main", json_boolean(l->is_main));
	value_put(o, "trips", value_quantity(&trips));
	value_put(o, "compute_ops", json_integer((json_int_t)l->compute_ops));
	value_put(o, "compute_op", value_text(l->compute_op));
	value_put(o, "load_ops", json_integer((json_int_t)l->load_ops));
	value_put(o, "load_bytes_per_warp", value_count(l->load_bytes_per_warp));
	value_put(o, "async_copies", json_integer((json_int_t)l->async_copies));
	value_put(o, "barriers", json_integer((json_int_t)l->barriers));
	value_put(o, "ratio", value_real(l->ratio));
	value_put(o, "ratio_raw", value_real(l->ratio_raw));
	value_put(o, "class", value_text(l->class));
	value_put(o, "async_copy", value_text(l->async_copy));
	value_put(o, "why", value_text(l->why));
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
		value_put(mix, s->ops[i].op, json_integer(s->ops[i].n));
	for (size_t i = 0; i < s->loops_n; i++)
		value_append(loops, loop(&s->loops[i]));
	value_put(o, "instructions", json_integer(s->instructions));
	value_put(o, "undecoded", json_integer(s->undecoded));
	value_put(o, "mix", mix);
	value_put(o, "stalls", stall_list(s));
	value_put(o, "loops", loops);
	return o;
}

static const char no_path[] = "the geometry or the architecture is not known";

/* Most of it no part of this version finds out: present, and saying so. */
static void kernel_rest(json_t *o, const struct report *r, const struct report_kernel *k)
{
	struct quantity q = quantity_unknown(r->no_code);

	value_put(o, "work", work(k->work, k->access, r->no_code));
	value_put(o, "memory", value_unknowns(memory_keys, r->no_memory));
	value_put(o, "sites", sites(k->access));
	value_put(o, "stalls", stalls(k->stalls, k->sass ? no_path : k->no_sass));
	value_put(o, "ipc", value_quantity(&q));
	value_put(o, "pipes", value_unknowns(pipe_keys, r->no_code));
	value_put(o, "timeline", json_null());
	value_put(o, "roofline", roofline(k->roofline, r->no_code));
}

static json_t *texts(const char *const *list, int n)
{
	json_t *a = json_array();

	for (int i = 0; i < n; i++)
		value_append(a, value_text(list[i]));
	return a;
}

json_t *render_json_advice(const struct metric_advice *a)
{
	json_t *o = json_object(), *experiment = json_object();

	value_put(experiment, "change", value_text(a->change));
	value_put(experiment, "expect", value_text(a->expect));
	value_put(experiment, "otherwise", value_text(a->otherwise));
	value_put(o, "id", value_text(a->id));
	value_put(o, "title", value_text(a->title));
	value_put(o, "gain_pct", value_range(a->gain_low_pct, a->gain_high_pct));
	value_put(o, "share_of_run_pct", value_real(a->share_of_run_pct));
	value_put(o, "evidence", texts(a->evidence, a->evidence_n));
	value_put(o, "conflicts", texts(a->conflicts, a->conflicts_n));
	value_put(o, "experiment", experiment);
	value_put(o, "source", value_text(a->source));
	return o;
}

static json_t *advice(const struct metric_advices *list)
{
	json_t *a = json_array();

	for (size_t i = 0; i < list->n; i++)
		value_append(a, render_json_advice(&list->items[i]));
	return a;
}

static json_t *not_now(const struct metric_advices *list)
{
	json_t *a = json_array();

	for (size_t i = 0; i < list->not_now_n; i++) {
		json_t *o = json_object();

		value_put(o, "id", value_text(list->not_now[i].id));
		value_put(o, "title", value_text(list->not_now[i].title));
		value_put(o, "why", value_text(list->not_now[i].why));
		value_append(a, o);
	}
	return a;
}

json_t *render_json_kernel(const struct report *r, const struct report_kernel *k)
{
	struct quantity no_work = quantity_unknown(r->no_code);
	json_t *o = json_object();

	value_put(o, "id", value_text(k->id));
	value_put(o, "device", json_integer((json_int_t)k->device));
	value_put(o, "run_count", json_integer(k->run_count));
	kernel_names(o, k);
	value_put(o, "code", code(&k->code));
	value_put(o, "launch", launch(k));
	value_put(o, "overflow", json_boolean(k->overflow));
	value_put(o, "launches", json_integer((json_int_t)k->launches));
	value_put(o, "captured", json_integer((json_int_t)k->captured));
	value_put(o, "failed", json_integer((json_int_t)k->failed));
	value_put(o, "graph_node_launches", json_integer((json_int_t)k->graph_node_launches));
	value_put(o, "share_pct", value_real(k->share_pct));
	value_put(o, "time_us", times(&k->times));
	value_put(o, "problem", problem(k->work));
	value_put(o, "effective_gflops",
		  value_quantity(k->roofline ? &k->roofline->effective_gflops : &no_work));
	value_put(o, "effective_gbps",
		  value_quantity(k->roofline ? &k->roofline->effective_gbps : &no_work));
	value_put(o, "resources", resources(&k->resources));
	value_put(o, "occupancy",
		  render_json_occupancy_object(k->occupancy_known ? &k->occupancy : NULL,
					       r->no_counters));
	value_put(o, "smem_cliff",
		  render_json_cliff_object(k->cliff_known ? &k->cliff : NULL,
					   k->published_cliff_bytes));
	value_put(o, "sass", sass(k->sass));
	value_put(o, "no_sass", k->sass ? json_null() : value_text(k->no_sass));
	kernel_rest(o, r, k);
	value_put(o, "bottleneck", bottleneck(&k->verdict));
	value_put(o, "advice", advice(&k->advice));
	value_put(o, "not_now", not_now(&k->advice));
	value_put(o, "traps", value_findings(k->traps, (size_t)k->traps_n));
	value_put(o, "origin", json_pack("{s:[],s:[],s:[]}", "stacks", "python", "nvtx"));
	return o;
}
