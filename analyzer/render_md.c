/*
 * render_md.c - the report to read: a workload page, then one section per kernel. What this version
 * does not find out is said in one line, never as an empty table.
 */
#include "render.h"

#include <math.h>
#include <string.h>

#include "finding.h"
#include "render_cases.h"
#include "render_md_access.h"
#include "render_md_advice.h"
#include "text.h"

#define MD_SECTIONS   20  /* kernels described one by one unless asked for more */
#define MD_ROWS       200 /* kernels in the table */
#define MD_LOOPS      8   /* of a kernel */
#define MD_OPERATIONS 12
#define MD_TRACE_PCT  1.0 /* of stalls */
#define WORK_UNKNOWN  finding_rows[FINDING_WORK_UNKNOWN].id
#define LABEL         60  /* columns of a name in the table */
#define NAME_CHARS    400 /* of a demangled name in its section; complete in the JSON */

/* Characters that Markdown would take for markup; a table cell must not contain a bar. */
static void plain(const char *s, FILE *out)
{
	for (; *s; s++) {
		if (strchr("\\`*_{}[]<>|#", *s))
			fputc('\\', out);
		fputc(*s, out);
	}
}

void render_md_plain(const char *s, FILE *out)
{
	plain(s, out);
}

/* As code, which only a backtick can end, and a bar in a table cell. Cut at whole characters. */
static void code(const char *s, size_t most, bool is_cell, FILE *out)
{
	size_t n = 0;

	fputc('`', out);
	for (; *s; s++) {
		if ((*s & 0xc0) != 0x80 && n++ == most) {
			fputs("...", out);
			break;
		}
		if (*s == '|' && is_cell)
			fputc('\\', out);
		fputc(*s == '`' ? '\'' : *s, out);
	}
	fputc('`', out);
}

static void cell_count(int64_t n, FILE *out)
{
	char t[TEXT_NUMBER];

	fprintf(out, " %s |", text_int(t, n));
}

static void quantity(const char *what, const struct quantity *q,
		     const char *(*show)(char *, double), FILE *out)
{
	char t[TEXT_NUMBER], low[TEXT_NUMBER], high[TEXT_NUMBER];

	if (!quantity_known(q)) {
		fprintf(out, "- %s: not known (%s)\n", what, q->why ? q->why : "no data");
		return;
	}
	fprintf(out, "- %s: **%s** (%s", what, show(t, q->value), quantity_label_names[q->label]);
	if (!isnan(q->low) && !isnan(q->high) && q->low < q->high)
		fprintf(out, ", %s to %s", show(low, q->low), show(high, q->high));
	fprintf(out, "%s%s)\n", q->why ? "; " : "", q->why ? q->why : "");
}

static const char *show_us(char *t, double v)
{
	return text_us(t, v);
}

static const char *show_pct(char *t, double v)
{
	return text_pct(t, v);
}

/* --------------------------------------------------------------- workload */

static void command(const struct report_run *p, FILE *out)
{
	fputc('`', out);
	for (size_t k = 0, n = 0; k < p->command_n && n < NAME_CHARS; k++) {
		for (const char *s = p->command[k]; *s && n < NAME_CHARS; s++, n++)
			fputc(*s == '`' ? '\'' : *s, out);
		if (k + 1 < p->command_n)
			fputc(' ', out);
	}
	fputc('`', out);
}

/* Nothing ran: no end, no duration, no accounting. */
static void given(const struct report *r, FILE *out)
{
	for (size_t i = 0; i < r->runs_n; i++) {
		fputs("- ", out);
		command(&r->runs[i], out);
		fprintf(out, ": %s\n", r->runs[i].end_text);
	}
	fputs("\n", out);
}

static void runs(const struct report *r, FILE *out)
{
	char t[TEXT_NUMBER];

	for (size_t i = 0; i < r->runs_n; i++) {
		const struct report_run *p = &r->runs[i];

		fputs("- ", out);
		if (p->rank >= 0)
			fprintf(out, "rank %d: ", p->rank);
		command(p, out);
		fprintf(out, " on %s, pid %u, %s, %s", *p->host ? p->host : "unknown host", p->pid,
			text_us(t, 1e6 * p->duration_s), p->end_text);
		if (*p->driver)
			fprintf(out, ", driver %s", p->driver);
		if (p->foreign)
			fprintf(out, ", **another profiler was present: %s**", p->foreign);
		fputs("\n", out);
	}
	fputs("\n", out);
}

/* What a device can compute and how much of it a byte of DRAM has to bring, precision by precision. */
static void balances(const struct report *r, size_t index, FILE *out)
{
	const struct arch_device *hw = &r->devices[index].hw;
	const bool is_profile = hw->product && hw->product->is_profile;
	char name[ROOFLINE_NAME], peak[TEXT_NUMBER];
	int listed = 0;

	for (int i = 0; i < PEAK_N; i++) {
		const double balance = roofline_balance(hw, i);

		if (isnan(hw->peaks[i]))
			continue;
		if (!listed++)
			fprintf(out,
				"| device %zu: precision | peak TFLOPS or TOPS | balance, FLOP/B |\n|---|---:|---:|\n",
				index);
		fprintf(out, "| %s | %s |", roofline_precision_name(name, i),
			text_real(peak, hw->peaks[i]));
		fprintf(out, isnan(balance) ? " - |\n" : " %.1f |\n", balance);
	}
	if (!listed)
		return;
	fprintf(out,
		"\nBalance = peak / bandwidth: with less work per byte than that memory is the limit. %s\n\n",
		is_profile ? "Peaks are as the profile has them: see its note."
			   : "Peaks are dense.");
}

static void devices(const struct report *r, FILE *out)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER];

	fputs("| device | SMs | clock MHz | DRAM GB/s | L2 | shared memory per SM | FP32 TFLOPS | peaks from |\n"
	      "|---|---:|---:|---:|---:|---:|---:|---|\n",
	      out);
	for (size_t i = 0; i < r->devices_n; i++) {
		const struct report_device *v = &r->devices[i];

		fprintf(out, "| %zu: ", i);
		plain(v->name, out);
		if (v->hw.arch.sm > 0)
			fprintf(out, " (sm\\_%d)", v->hw.arch.sm);
		fputs(" |", out);
		cell_count(v->hw.sm_count, out);
		cell_count(v->hw.clock_mhz, out);
		fprintf(out, " %s | %s | %s | %s | %s |\n", text_real(a, v->hw.dram_gbps),
			text_bytes(b, v->hw.l2_bytes), text_bytes(c, v->hw.smem_per_sm_bytes),
			text_real(d, v->hw.peaks[PEAK_FP32]),
			v->hw.peaks_source ? v->hw.peaks_source : "not known");
	}
	fputs("\n", out);
	for (size_t i = 0; i < r->devices_n; i++)
		balances(r, i, out);
}

static void accounting(const struct report_accounting *a, FILE *out)
{
	struct render_bin bins[RENDER_BINS];
	char t[TEXT_NUMBER], u[TEXT_NUMBER];

	render_bins(a, bins);
	fputs("| launches | | |\n|---|---:|---|\n", out);
	for (size_t i = 0; i < RENDER_BINS; i++)
		if (bins[i].n || i == 0)
			fprintf(out, "| %s | %s | %s |\n", bins[i].name, text_count(t, bins[i].n),
				bins[i].means);
	fprintf(out, "| **seen** | **%s** | the sum of the above |\n\n",
		text_count(t, a->launches_seen));
	if (a->graph_launches)
		fprintf(out,
			"%s graph launches replayed %s kernels, which are not part of the sum.\n\n",
			text_count(t, a->graph_launches), text_count(u, a->graph_node_launches));
}

static void workload_time(const struct report *r, FILE *out)
{
	char a[TEXT_NUMBER], timing[RENDER_TIMING];

	quantity("kernel time", &r->totals.kernel_time_us, show_us, out);
	quantity("GPU busy", &r->totals.busy_pct, show_pct, out);
	quantity("gaps between kernels", &r->totals.gap_us, show_us, out);
	quantity("copies", &r->totals.copy_time_us, show_us, out);
	fprintf(out, "- timing: %s", render_timing(timing, &r->timing));
	if (!isnan(r->timing.self_overhead_pct))
		fprintf(out, "; it cost %s of the time of the launching threads",
			text_pct(a, r->timing.self_overhead_pct));
	fputs("\n\n", out);
}

static void kernel_table(const struct report *r, FILE *out)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER], label[RENDER_LABEL];
	size_t n = r->kernels_n < MD_ROWS ? r->kernels_n : MD_ROWS;

	fputs("## Kernels by total time\n\n", out);
	if (!n) {
		fputs("No kernel to show.\n\n", out);
		return;
	}
	fputs("| # | share | total | median | launches | max occupancy | limited by | waves | cliff | class | kernel |\n"
	      "|---:|---:|---:|---:|---:|---:|---|---:|---:|---|---|\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		const struct report_kernel *k = &r->kernels[i];
		const struct occupancy *o = k->occupancy_known ? &k->occupancy : NULL;

		fprintf(out, "| %zu | %s | %s | %s | %s |", i + 1, text_pct(a, k->share_pct),
			text_us(b, k->times.total.value), render_median(c, &k->times),
			text_count(d, count_sum(k->launches, k->graph_node_launches)));
		fprintf(out, " %s | %s | %s | %s | %s | ", text_pct(a, o ? o->pct : NAN),
			render_limiter(k), text_ratio(b, o ? o->waves : NAN), render_cliff(c, k),
			k->verdict.class);
		code(render_label(label, k, LABEL), LABEL, true, out);
		fputs(" |\n", out);
	}
	if (n < r->kernels_n)
		fprintf(out, "\n%zu more in report.json.\n", r->kernels_n - n);
	fputs("\n", out);
	if (render_any_uncertain(r, n))
		fprintf(out, "- ~ uncertain by more than %d%%\n", RENDER_UNCERTAIN_PCT);
	if (render_any_room(r, n))
		fputs("- max occupancy: " RENDER_ROOM_MEANS "\n"
		      "- limited by: what keeps more warps from an SM",
		      out);
	if (render_any_grid(r, n))
		fputs("; " RENDER_GRID ": " RENDER_GRID_MEANS, out);
	if (render_any_room(r, n))
		fputs("\n- waves: " RENDER_WAVES_MEANS "\n", out);
	if (render_any_cliff(r, n))
		fputs("- cliff: " RENDER_CLIFF_MEANS "\n", out);
	fputs("\n", out);
}

/* --------------------------------------------------------------- sections */

static void baseline(const struct report_kernel *k, FILE *out)
{
	const struct metric_times *t = &k->times;
	struct quantity total = t->total;
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER], e[TEXT_NUMBER],
		f[TEXT_NUMBER];

	fputs("#### Baseline\n\n", out);
	fprintf(out, "- launches: %s", text_count(a, k->launches));
	if (k->graph_node_launches)
		fprintf(out, ", %s more by graph replay", text_count(a, k->graph_node_launches));
	if (k->captured)
		fprintf(out, ", %s captured", text_count(a, k->captured));
	if (k->failed)
		fprintf(out, ", %s failed", text_count(a, k->failed));
	if (k->overflow)
		fputs("; of many geometries\n", out);
	else
		fprintf(out, "; grid %u x %u x %u, block %u x %u x %u%s%s\n", k->grid[0],
			k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
			k->cooperative ? ", cooperative" : "",
			k->pdl ? ", programmatic dependent launch" : "");
	if (count_volume(k->cluster) > 1)
		fprintf(out, "- cluster: %u x %u x %u\n", k->cluster[0], k->cluster[1],
			k->cluster[2]);
	if (total.label == QUANTITY_ESTIMATED)
		total.why = NULL; /* said of the kernel time of the run */
	quantity("total", &total, show_us, out);
	if (t->why)
		fprintf(out, "- median: not known (%s)\n", t->why);
	else
		fprintf(out, "- median **%s**%s%s, p90 %s, min %s, max %s (%s timed, %s)\n",
			text_us(a, t->median), isnan(t->uncertainty) ? "" : " +-",
			isnan(t->uncertainty) ? "" : text_us(b, t->uncertainty), text_us(c, t->p90),
			text_us(d, t->min), text_us(e, t->max), text_count(f, t->timed), t->method);
	if (!isnan(t->first))
		fprintf(out, "- first launch: %s\n", text_us(a, t->first));
	if (t->warmup_only)
		fputs("- only warm-up launches (the first three) were timed: not steady state\n",
		      out);
	fputs("\n", out);
}

static const char *show_gflops(char out[TEXT_NUMBER], double v)
{
	static const char *const units[] = {"GFLOP/s", "TFLOP/s", "PFLOP/s"};
	int unit = 0;

	for (; v >= 1000 && unit < 2; unit++)
		v /= 1000;
	snprintf(out, TEXT_NUMBER, "%.4g %s", v, units[unit]);
	return out;
}

static const char *show_gbps(char out[TEXT_NUMBER], double v)
{
	snprintf(out, TEXT_NUMBER, "%.4g GB/s", v);
	return out;
}

static const char *show_intensity(char out[TEXT_NUMBER], double v)
{
	snprintf(out, TEXT_NUMBER, "%.4g FLOP/B", v);
	return out;
}

static const char *show_count(char out[TEXT_NUMBER], double v)
{
	if (v >= 0 && v < 1e15 && v == floor(v))
		return text_count(out, (uint64_t)v);
	snprintf(out, TEXT_NUMBER, "%.6g", v);
	return out;
}

/* The work that the user knows, against the roofs. */
static void known_work(const struct report_kernel *k, FILE *out)
{
	const struct roofline *r = k->roofline;
	const struct quantity flops = work_flops(k->work), bytes = work_bytes(k->work);
	char precision[ROOFLINE_NAME];

	fprintf(out, "- work: %s", work_kind_names[k->work->kind]);
	for (int i = 0; i < k->work->dims_n; i++)
		fprintf(out, "%s %s %lld", i ? "," : "", k->work->dims[i].name,
			(long long)k->work->dims[i].value);
	if (work_dtype_name(k->work->dtype))
		fprintf(out, ", %s", work_dtype_name(k->work->dtype));
	fputs("\n", out);
	quantity("FLOPs", &flops, show_count, out);
	quantity("DRAM bytes", &bytes, show_count, out);
	quantity("intensity", &r->intensity, show_intensity, out);
	if (r->precision >= 0 && !isnan(r->balance))
		fprintf(out, "- balance: %.4g FLOP/B (%s%s)\n", r->balance,
			roofline_precision_name(precision, r->precision),
			r->precision_pct ? ", of which products of single warps reach a part" : "");
	quantity("speed", &r->effective_gflops, show_gflops, out);
	quantity("traffic", &r->effective_gbps, show_gbps, out);
	quantity("share of the busiest compute unit", &r->sol_compute_pct, show_pct, out);
	quantity("share of the bandwidth", &r->sol_memory_pct, show_pct, out);
	quantity("attained of the nearer roof", &r->attained_pct, show_pct, out);
	fputs("\n", out);
}

/* Only where something is known beyond that the work is not. */
static void classification(const struct report_kernel *k, FILE *out)
{
	if (k->verdict.reasons_n == 1 && strcmp(k->verdict.reasons[0].id, WORK_UNKNOWN) == 0)
		return;
	fputs("#### Roofline Classification\n\n", out);
	if (k->roofline)
		known_work(k, out);
	fprintf(out, "Class **%s**%s.", k->verdict.class,
		k->verdict.launch_bound ? ", launch-bound" : "");
	for (int i = 0; i < k->verdict.reasons_n; i++) {
		if (strcmp(k->verdict.reasons[i].id, WORK_UNKNOWN) == 0)
			continue;
		fprintf(out, " %s ", k->verdict.reasons[i].id);
		plain(k->verdict.reasons[i].text, out);
		fputs(".", out);
	}
	fputs("\n\n", out);
}

static void occupancy(const struct report_kernel *k, FILE *out)
{
	const struct occupancy *o = &k->occupancy;
	struct render_limit rows[LIMIT_N];
	size_t n = k->occupancy_known ? render_limits(o, rows) : 0;
	char a[TEXT_NUMBER], c[TEXT_NUMBER], room[RENDER_ROOM];

	fputs("#### Occupancy\n\n", out);
	if (!k->occupancy_known) {
		fprintf(out, "Not known: %s.\n\n",
			k->overflow ? "the entry holds many geometries"
				    : "no hardware row for this device");
		return;
	}
	fputs("| resource | per block | limit per SM | blocks per SM | limiting |\n|---|---:|---:|---:|---|\n",
	      out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "| %s | %s | %s | %s | %s |\n", rows[i].resource, rows[i].per_block,
			rows[i].per_sm, rows[i].blocks, rows[i].is_limiter ? "**yes**" : "");
	if (k->resources.registers < 0)
		fputs("\nRegisters per thread: not known", out);
	else
		fprintf(out, "\n%d %s per thread", k->resources.registers,
			text_plural((uint64_t)k->resources.registers, "register", "registers"));
	if (k->resources.registers_allocated > k->resources.registers)
		fprintf(out, " (%d allocated)", k->resources.registers_allocated);
	if (o->blocks_per_sm >= 0)
		fprintf(out, "; %s", render_room(room, o));
	if (!isnan(o->waves))
		fprintf(out, "; %s waves, the last %s full", text_ratio(a, o->waves),
			show_pct(c, o->last_wave_pct));
	if (o->why && k->resources.registers >= 0)
		fprintf(out, ". Note: %s", o->why);
	fputs(".\n\n", out);
	if (o->clusters_at_most >= 0)
		fprintf(out,
			"At most %lld clusters are resident at once; how many fit a GPC of this chip is not known.\n\n",
			(long long)o->clusters_at_most);
}

static void cliff(const struct report_kernel *k, FILE *out)
{
	const struct smem_cliff *c = &k->cliff;
	char a[TEXT_NUMBER], b[TEXT_NUMBER], d[TEXT_NUMBER];

	fputs("#### Smem Cliff\n\n", out);
	if (!k->cliff_known) {
		fputs("Not known: registers or shared memory of the kernel are missing.\n\n", out);
		return;
	}
	fprintf(out, "%s bytes per block, %d %s per SM%s. ",
		text_count(a, (uint64_t)c->smem_per_block_bytes), c->blocks_per_sm,
		text_plural((uint64_t)c->blocks_per_sm, "block", "blocks"),
		c->above_cliff ? ", **above the cliff**" : "");
	fputs("Largest bytes per block that leave an SM room for", out);
	for (int i = 0; i < SMEM_CLIFF_STEPS; i++)
		fprintf(out, "%s %d block%s: %s", i ? ";" : "", i + 1, i ? "s" : "",
			text_count(a, (uint64_t)c->max_bytes_for[i]));
	fputs(".", out);
	if (k->published_cliff_bytes >= 0)
		fprintf(out,
			" Published cliff: %s (%s bytes, without the reserve); exact cliff: %s.",
			text_bytes(b, k->published_cliff_bytes),
			text_count(a, (uint64_t)k->published_cliff_bytes),
			text_bytes(d, c->max_bytes_for[1]));
	if (c->to_next_step_bytes > 0)
		fprintf(out, " %s %s one block more per SM.",
			text_count(a, (uint64_t)c->to_next_step_bytes),
			text_plural((uint64_t)c->to_next_step_bytes, "byte less allows",
				    "bytes less allow"));
	if (c->to_cliff_bytes >= 0)
		fprintf(out, " %s %s before %s.", text_count(a, (uint64_t)c->to_cliff_bytes),
			text_plural((uint64_t)c->to_cliff_bytes, "byte more fits",
				    "bytes more fit"),
			c->blocks_per_sm > 1 ? "an SM holds one block fewer"
					     : "the kernel cannot be launched");
	if (c->smem_per_block_bytes > 0) {
		fprintf(out, " Twice the bytes (double buffering), %s: ",
			text_count(a, (uint64_t)c->double_buffer_bytes));
		if (c->double_buffer_blocks_per_sm > 0)
			fprintf(out, "%d %s per SM%s.", c->double_buffer_blocks_per_sm,
				text_plural((uint64_t)c->double_buffer_blocks_per_sm, "block",
					    "blocks"),
				c->blocks_per_sm > 1 && c->double_buffer_blocks_per_sm == 1
					? ", over the cliff"
					: "");
		else
			fputs("cannot be launched.", out);
	}
	fputs("\n\n", out);
}

static void loop_row(const struct metric_loop *l, FILE *out)
{
	char t[TEXT_NUMBER];

	fprintf(out, "| %s0x%llx-0x%llx%s | %u%s |", l->is_main ? "**" : "",
		(unsigned long long)l->start, (unsigned long long)l->end, l->is_main ? "**" : "",
		l->depth, l->is_innermost ? "" : ", outer");
	fprintf(out, " %s |", l->trips ? text_count(t, l->trips) : "-");
	fprintf(out, " %s %s |", text_count(t, l->compute_ops), l->compute_op ? l->compute_op : "");
	cell_count((int64_t)l->load_ops, out);
	cell_count(l->load_bytes_per_warp, out);
	cell_count((int64_t)l->async_copies, out);
	cell_count((int64_t)l->barriers, out);
	fprintf(out, " %s |", isnan(l->ratio) ? "-" : text_ratio(t, l->ratio));
	fprintf(out, " %s |", isnan(l->ratio_raw) ? "-" : text_ratio(t, l->ratio_raw));
	fprintf(out, " %s |\n", l->async_copy ? l->async_copy : l->why ? l->why : "-");
}

/* Loops that neither compute nor load are counted, not listed. */
static void ratios(const struct report_kernel *k, FILE *out)
{
	const struct metric_sass *s = k->sass;
	size_t listed = 0;

	fputs("#### Compute/Load Ratio\n\n", out);
	if (!s) {
		fputs("Not known: ", out);
		plain(k->no_sass, out);
		fputs(".\n\n", out);
		return;
	}
	for (size_t i = 0; i < s->loops_n; i++) {
		if (!s->loops[i].compute_ops && !s->loops[i].load_ops)
			continue;
		if (!listed++)
			fputs("| loop | depth | trips | computes | loads | bytes per warp | async | barriers | ratio | raw | async copy |\n"
			      "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---|\n",
			      out);
		if (listed <= MD_LOOPS)
			loop_row(&s->loops[i], out);
	}
	if (listed > MD_LOOPS)
		fprintf(out, "\n%zu more loops are in the JSON report.\n", listed - MD_LOOPS);
	if (!listed)
		fprintf(out, "%s.\n",
			s->loops_n ? "No loop computes or loads from global memory" : "No loops");
	fputs("\n", out);
}

static void instructions(const struct report_kernel *k, FILE *out)
{
	const struct metric_sass *s = k->sass;
	char n[TEXT_NUMBER];
	int noted = 0;

	if (!s)
		return; /* said by the section in front */
	fprintf(out, "#### SASS Instruction Mix\n\n%s instructions",
		text_count(n, s->instructions));
	if (s->undecoded)
		fprintf(out, ", **%u not decoded**", s->undecoded);
	fputs(".\n\n| operation | count | share | stall, least | stall, median | reducible |\n|---|---:|---:|---:|---:|---:|\n",
	      out);
	for (size_t i = 0; i < s->ops_n && i < MD_OPERATIONS; i++) {
		fprintf(out, "| %s | %s | %s | %d | %d |", s->ops[i].op, text_count(n, s->ops[i].n),
			show_pct((char[TEXT_NUMBER]){0}, 100.0 * s->ops[i].n / s->instructions),
			s->ops[i].stall_min, s->ops[i].stall_median);
		cell_count(s->ops[i].reducible, out);
		fputs("\n", out);
	}
	if (s->ops_n > MD_OPERATIONS)
		fprintf(out, "\n%zu more %s in the JSON report.\n", s->ops_n - MD_OPERATIONS,
			text_plural(s->ops_n - MD_OPERATIONS, "operation is", "operations are"));
	fputs("\n", out);
	for (size_t i = 0; i < s->ops_n; i++)
		if (s->ops[i].note)
			noted += fprintf(out, "- %s.\n", s->ops[i].note) > 0;
	if (noted)
		fputs("\n", out);
}

/* The largest first; what is a trace of all is left to the JSON. */
static void stall_reasons(const struct report_kernel *k, FILE *out)
{
#define NAME(name) #name,
#define AT(name)   &k->stalls->name,
	static const char *const names[] = {METRIC_STALL_LIST(NAME)};
	enum { REASONS = sizeof(names) / sizeof(*names) };
	const struct quantity *of[REASONS + 1] = {NULL};

	if (!k->stalls)
		return;
	memcpy(of, (const struct quantity *[]){METRIC_STALL_LIST(AT)}, REASONS * sizeof(*of));
	fputs("#### Stall Reasons\n\n| reason | share, estimated | between | the warp waits for |\n|---|---:|---:|---|\n",
	      out);
	for (size_t n = 0; n < REASONS; n++) {
		size_t top = REASONS;

		for (size_t i = 0; i < REASONS; i++)
			if (of[i] && (top == REASONS || of[i]->value > of[top]->value))
				top = i;
		if (!(of[top]->value >= MD_TRACE_PCT))
			break;
		fprintf(out, "| %s | %.0f%% | %.0f%% to %.0f%% | %s |\n", names[top],
			of[top]->value, of[top]->low, of[top]->high, render_waits_for(names[top]));
		of[top] = NULL;
	}
	fputs("\n", out);
#undef NAME
#undef AT
}

static void section(const struct report_kernel *k, size_t number, FILE *out)
{
	char label[RENDER_LABEL];

	fprintf(out, "### %zu. ", number);
	plain(render_label(label, k, LABEL), out);
	fputs("\n\n", out);
	if (strcmp(k->demangled, label) != 0) {
		code(k->demangled, NAME_CHARS, false, out);
		fputs("\n\n", out);
	}
	fprintf(out, "id %s, device %zu, code %s", k->id, k->device,
		k->code.arch ? k->code.arch : "not known");
	if (k->code.reconstructed_by)
		fprintf(out, ", reconstructed by %s", k->code.reconstructed_by);
	if (k->code.why_missing) {
		fputs(k->code.hash ? ": " : ", not stored: ", out);
		plain(k->code.why_missing, out);
	}
	fputs("\n\n", out);
	for (int i = 0; i < k->traps_n; i++) {
		fprintf(out, "> %s ", k->traps[i].id);
		plain(k->traps[i].text, out);
		fputs("\n\n", out);
	}
	baseline(k, out);
	classification(k, out);
	occupancy(k, out);
	ratios(k, out);
	instructions(k, out);
	render_md_access(k, out);
	stall_reasons(k, out);
	cliff(k, out);
	render_md_advice(k, out);
}

/* What stands in every section, said once. */
static void how_to_read(const struct report *r, size_t n, FILE *out)
{
	const char *stalls = render_stall_model(r, n);

	fputs("## Kernels\n\nHow to read the sections; `kbn help KBN-...` explains each id.\n\n",
	      out);
	for (size_t i = 0; i < RENDER_HINTS; i++)
		fprintf(out, "- %s: %s\n", render_hints[i].section, render_hints[i].text);
	if (stalls) {
		fputs("- Stall Reasons: " RENDER_STALL_HINT, out);
		plain(stalls, out);
		fputs(".\n", out);
	}
	fputs("\n", out);
}

/* How much of a run there is, on what, and how well it was timed. */
static void the_run(const struct report *r, FILE *out)
{
	if (!r->devices_n && r->is_given)
		return;
	fputs(r->is_given ? "## The device\n\n" : "## The run\n\n", out);
	if (r->devices_n)
		devices(r, out);
	if (!r->is_given) {
		accounting(&r->accounting, out);
		workload_time(r, out);
	}
}

static void notes(const struct report *r, FILE *out)
{
	if (!r->notes_n)
		return;
	fputs("## Notes\n\n", out);
	for (size_t i = 0; i < r->notes_n; i++) {
		fprintf(out, "- %s ", r->notes[i].id);
		plain(r->notes[i].text, out);
		fputs("\n", out);
	}
	fprintf(out, "\n`kbn help %s` says why, and what to do; so for every id here.\n\n",
		r->notes[0].id);
}

static int report_md(const struct report *r, const struct render_options *o, FILE *out,
		     struct err *e)
{
	size_t top = o->top ? o->top : MD_SECTIONS, n = r->kernels_n < top ? r->kernels_n : top;

	fputs("# kbn report\n\n", out);
	if (r->simulated)
		fputs("> **Times are simulated**: this was recorded on a stand-in driver that runs no kernel, and durations are made up.\n\n",
		      out);
	if (r->reality_unknown)
		fputs("> **Whether these times are real is not known**: the device is not.\n\n",
		      out);
	if (r->is_given)
		given(r, out);
	else
		runs(r, out);
	render_md_first(r, out);
	kernel_table(r, out);
	render_cases_md(r, out);
	the_run(r, out);
	notes(r, out);
	if (n)
		how_to_read(r, n, out);
	for (size_t i = 0; i < n; i++)
		section(&r->kernels[i], i + 1, out);
	if (n < r->kernels_n)
		fprintf(out,
			"%zu more kernels are in the JSON report; `kbn report DIR --md --top N` describes N of them here.\n",
			r->kernels_n - n);
	return ferror(out) ? err_set(e, ERR_IO, -1, "cannot write the report") : 0;
}

const struct render_format render_md = {"md", "report.md", report_md};
