/*
 * render_json.c - kbn-report/1: everything, for programs. Each function makes one object of the
 * contract, keys in its order, every key always present. Numbers that are not known are null.
 */
#include "render_json.h"

#include <math.h>
#include <string.h>

#include "render.h"
#include "render_json_value.h"

/* ------------------------------------------------------------------- head */

static json_t *run(const struct report_run *r)
{
	json_t *o = json_object(), *command = json_array(), *env = json_object();

	for (size_t i = 0; i < r->command_n; i++)
		json_array_append_new(command, value_text(r->command[i]));
	for (size_t i = 0; i < r->env_n; i++)
		value_put(env, r->env[i].key, value_text(r->env[i].value));
	value_put(o, "dir", value_text(r->dir));
	value_put(o, "command", command);
	value_put(o, "host", value_text_if(r->host));
	value_put(o, "pid", value_count_if(r->pid));
	value_put(o, "rank", value_count(r->rank));
	value_put(o, "world", value_count(r->world));
	value_put(o, "local_rank", value_count(r->local_rank));
	value_put(o, "started", value_text_if(r->started));
	value_put(o, "duration_s", value_real(r->pid ? r->duration_s : (double)NAN));
	value_put(o, "end", value_text(r->end));
	value_put(o, "exit_status", value_count(r->exit_status));
	value_put(o, "signal", r->signal > 0 ? json_integer(r->signal) : json_null());
	value_put(o, "driver", value_text_if(r->driver));
	value_put(o, "cuda_driver_api", value_count_if(r->driver_api));
	value_put(o, "env", env);
	value_put(o, "foreign_profiler", value_text(r->foreign));
	return o;
}

static json_t *device(const struct report_device *d, size_t index)
{
	json_t *o = json_object(), *peaks = json_object(), *balances = json_object();
	char sm[16], precision[ROOFLINE_NAME];

	for (int i = 0; i < PEAK_N; i++) {
		value_put(peaks, arch_peak_keys[i], value_real(d->hw.peaks[i]));
		value_put(balances, roofline_precision_name(precision, i),
			  value_real(roofline_balance(&d->hw, i)));
	}
	snprintf(sm, sizeof(sm), "sm_%d", d->hw.arch.sm);
	value_put(o, "index", json_integer((json_int_t)index));
	value_put(o, "uuid", value_text(d->uuid));
	value_put(o, "mig", value_text(d->mig));
	value_put(o, "name", value_text(d->name));
	value_put(o, "sm", value_text(d->hw.arch.sm > 0 ? sm : NULL));
	value_put(o, "sm_count", value_count(d->hw.sm_count));
	value_put(o, "clock_mhz", value_count(d->hw.clock_mhz));
	value_put(o, "observed_clock_mhz", json_null());
	value_put(o, "dram_gbps", value_real(d->hw.dram_gbps));
	value_put(o, "l2_bytes", value_count(d->hw.l2_bytes));
	value_put(o, "smem_per_sm_bytes", value_count(d->hw.smem_per_sm_bytes));
	value_put(o, "peaks", peaks);
	value_put(o, "balances", balances);
	value_put(o, "peaks_source", value_text(d->hw.peaks_source));
	value_put(o, "calibrated", value_text(d->calibrated));
	return o;
}

static json_t *accounting(const struct report_accounting *a)
{
	json_t *o = json_object();

#define COUNT(key) value_put(o, #key, json_integer((json_int_t)a->key))
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
	value_put(o, "copies", a->copies_known ? json_integer((json_int_t)a->copies) : json_null());
	value_put(o, "sets", a->copies_known ? json_integer((json_int_t)a->sets) : json_null());
	return o;
}

static json_t *timing(const struct report_timing *t)
{
	json_t *o = json_object();

	value_put(o, "method", value_text(t->method));
	value_put(o, "bias_us", value_real(t->bias_us));
	value_put(o, "uncertainty_us", value_real(t->uncertainty_us));
	value_put(o, "self_overhead_pct", value_real(t->self_overhead_pct));
	value_put(o, "gates", json_integer((json_int_t)t->gates));
	value_put(o, "gate_deadlines", json_integer((json_int_t)t->gate_deadlines));
	return o;
}

static json_t *totals(const struct report_totals *t)
{
	json_t *o = json_object();

	value_put(o, "kernel_time_us", value_quantity(&t->kernel_time_us));
	value_put(o, "busy_pct", value_quantity(&t->busy_pct));
	value_put(o, "gap_us", value_quantity(&t->gap_us));
	value_put(o, "copy_time_us", value_quantity(&t->copy_time_us));
	value_put(o, "copy_bytes", json_null());
	value_put(o, "copy_overlap_pct", value_quantity(&t->copy_overlap_pct));
	return o;
}

/* Six significant digits are more than any figure here is good for. */
static int dump(json_t *root, FILE *out, struct err *e)
{
	int rc = value_complete() ? json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
				  : -1;

	json_decref(root);
	if (rc < 0 || fputc('\n', out) == EOF)
		return err_set(e, ERR_IO, -1, "cannot write the JSON document");
	return 0;
}

/* What to do first in the whole run; "kernel" is null of what is the run's own. */
static json_t *advice(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->advice_n; i++) {
		const struct report_advice *from = &r->advice[i];
		json_t *o = render_json_advice(from->advice);

		value_put(o, "kernel", value_text(from->kernel ? from->kernel->id : NULL));
		value_put(o, "gain_of_run_pct",
			  value_range(from->gain_low_pct, from->gain_high_pct));
		value_append(a, o);
	}
	return a;
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
	value_put(o, "schema", value_text("kbn-report/1"));
	value_put(o, "tool", json_pack("{s:s}", "version", r->version));
	value_put(o, "simulated", json_boolean(r->simulated));
	value_put(o, "runs", runs);
	value_put(o, "devices", devices);
	value_put(o, "accounting", accounting(&r->accounting));
	value_put(o, "timing", timing(&r->timing));
	value_put(o, "totals", totals(&r->totals));
	value_put(o, "kernels", kernels);
	value_put(o, "kernels_all", json_integer((json_int_t)r->kernels_all));
	value_put(o, "advice", advice(r));
	value_put(o, "notes", value_findings(r->notes, r->notes_n));
	return o;
}

static int report_json(const struct report *r, const struct render_options *options, FILE *out,
		       struct err *e)
{
	(void)options;
	value_complete();
	return dump(document(r), out, e);
}

int render_json_occupancy(const struct occupancy *o, const struct smem_cliff *cliff,
			  int published_cliff_bytes, FILE *out, struct err *e)
{
	json_t *root = json_object();

	value_complete();
	value_put(root, "schema", value_text("kbn-occupancy/1"));
	value_put(root, "occupancy",
		  render_json_occupancy_object(
			  o, "a launch that was not run has no achieved occupancy"));
	value_put(root, "smem_cliff", render_json_cliff_object(cliff, published_cliff_bytes));
	return dump(root, out, e);
}

const struct render_format render_json = {"json", "report.json", report_json};
