/*
 * cmd_devices.c - `kbn devices [NAME]`: the hardware tables as text, or with every column and source as
 * kbn-devices/1. NAME is a product, a profile or an architecture.
 */
#include "cmd.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch.h"
#include "options.h"
#include "text.h"

static json_t *known(double v)
{
	return isfinite(v) && v >= 0 ? json_real(v) : json_null();
}

static json_t *count(int64_t n)
{
	return n >= 0 ? json_integer(n) : json_null();
}

static json_t *named(const char *s)
{
	return s && *s ? json_string(s) : json_null();
}

/* Columns of struct arch by name, so that the list of keys is the list of fields. */
static const struct {
	const char *key;
	size_t offset;
} arch_columns[] = {
#define COLUMN(key, field)                        \
	{                                         \
		key, offsetof(struct arch, field) \
	}
	COLUMN("warps_per_sm", warps_per_sm),
	COLUMN("blocks_per_sm", blocks_per_sm),
	COLUMN("registers_per_sm", registers_per_sm),
	COLUMN("registers_per_block", registers_per_block),
	COLUMN("registers_per_thread", registers_per_thread),
	COLUMN("registers_per_thread_least", registers_least),
	COLUMN("registers_per_thread_least_syscalls", registers_least_syscalls),
	COLUMN("register_granularity_per_warp", register_granularity),
	COLUMN("warp_granularity", warp_granularity),
	COLUMN("partitions", partitions),
	COLUMN("smem_per_sm_kb", smem_per_sm_kb),
	COLUMN("smem_per_block_optin_kb", smem_optin_kb),
	COLUMN("smem_per_block_default_kb", smem_default_kb),
	COLUMN("smem_reserved_per_block_bytes", smem_reserved_bytes),
	COLUMN("smem_granularity_bytes", smem_granularity_bytes),
	COLUMN("barrier_slots_per_sm", barrier_slots),
	COLUMN("enough_warps_per_sm", enough_warps),
	COLUMN("l1_kb", l1_kb),
	COLUMN("fp32_fma_per_clock", fp32),
	COLUMN("fp64_fma_per_clock", fp64),
	COLUMN("fp16x2_fma_per_clock", fp16x2),
	COLUMN("int_add_per_clock", int_add),
	COLUMN("int_mad_per_clock", int_mad),
	COLUMN("special_per_clock", special),
	COLUMN("shared_bytes_per_clock", shared_bytes),
	COLUMN("l1_bytes_per_clock", l1_bytes),
	COLUMN("l1_bytes_per_clock_measured", l1_bytes_measured),
	COLUMN("l2_chip_bytes_per_clock_measured", l2_bytes_measured),
	COLUMN("block_starts_per_1000_clocks_measured", block_starts_measured),
	COLUMN("tensor_generation", tensor_generation),
	COLUMN("tensor_fp16", t_fp16),
	COLUMN("tensor_fp16_fp32acc", t_fp16_fp32acc),
	COLUMN("tensor_fp16_fp32acc_geforce", t_fp16_fp32acc_gf),
	COLUMN("tensor_bf16", t_bf16),
	COLUMN("tensor_bf16_geforce", t_bf16_gf),
	COLUMN("tensor_tf32", t_tf32),
	COLUMN("tensor_tf32_geforce", t_tf32_gf),
	COLUMN("tensor_fp64", t_fp64),
	COLUMN("tensor_int8", t_int8),
	COLUMN("tensor_int4", t_int4),
	COLUMN("tensor_fp8", t_fp8),
	COLUMN("tensor_fp8_fp32acc", t_fp8_fp32acc),
	COLUMN("tensor_fp8_fp32acc_geforce", t_fp8_fp32acc_gf),
	COLUMN("tensor_fp4", t_fp4),
	COLUMN("warp_product_pct", warp_product_pct),
	COLUMN("cycles_ffma", dep_ffma),
	COLUMN("cycles_imad", dep_imad),
	COLUMN("cycles_alu", dep_alu),
	COLUMN("cycles_fma_alu_crossing", dep_cross),
	COLUMN("cycles_hfma2", dep_hfma2),
	COLUMN("cycles_dfma", dep_dfma),
	COLUMN("cycles_mma_m16n8k16", dep_mma),
#undef COLUMN
};

static json_t *arch_json(const struct arch *a)
{
	const struct product *ref = product_reference(a->sm);
	json_t *o = json_object(), *configs = json_array();

	json_object_set_new(o, "sm", json_sprintf("sm_%d", a->sm));
	json_object_set_new(o, "chips", named(a->chips));
	json_object_set_new(o, "reference_product", named(ref ? ref->name : NULL));
	for (size_t i = 0; i < sizeof(arch_columns) / sizeof(*arch_columns); i++)
		json_object_set_new(
			o, arch_columns[i].key,
			count(*(const int *)((const char *)a + arch_columns[i].offset)));
	for (int i = 0; i < a->smem_configs; i++)
		json_array_append_new(configs, json_integer(a->smem_configs_kb[i]));
	json_object_set_new(o, "smem_configs_kb", configs);
	json_object_set_new(o, "dfma_scoreboarded", json_boolean(a->dep_dfma_scoreboard));
	json_object_set_new(o, "caveat", named(a->caveat));
	json_object_set_new(o, "sources",
			    json_pack("{s:s,s:s,s:s,s:s}", "limits", a->limits_source, "rates",
				      a->rates_source, "tensor", a->tensor_source, "cycles",
				      a->spacing_source));
	return o;
}

static json_t *product_json(const struct product *p)
{
	static const char *const classes[] = {"datacenter", "pro", "geforce", "capped",
					      "integrated"};
	json_t *o = json_object(), *peaks = json_object();
	struct arch_device d;

	arch_describe_product(&d, p);
	json_object_set_new(o, "name", named(p->name));
	json_object_set_new(o, "chip", named(p->chip));
	json_object_set_new(o, "sm", json_sprintf("sm_%d", p->sm));
	json_object_set_new(o, "class", named(classes[p->class]));
	json_object_set_new(o, "sm_count", count(p->sm_count));
	json_object_set_new(o, "boost_mhz", count(p->boost_mhz));
	json_object_set_new(o, "tensor_mhz", count(p->tensor_mhz));
	json_object_set_new(o, "bus_bits", count(p->bus_bits));
	json_object_set_new(o, "memory_mhz", count(p->memory_mhz));
	json_object_set_new(o, "dram_gbps", known(p->dram_gbps));
	json_object_set_new(o, "l2_bytes", count(d.l2_bytes));
	json_object_set_new(o, "watts", count(p->watts));
	for (int i = 0; i < PEAK_N; i++)
		json_object_set_new(peaks, arch_peak_keys[i], known(d.peaks[i]));
	json_object_set_new(o, "peaks", peaks);
	json_object_set_new(o, "fp8_tensor_fp32acc_tflops", known(p->fp8_acc32));
	json_object_set_new(o, "published_cliff_bytes", count(p->published_cliff_bytes));
	json_object_set_new(o, "profile", json_boolean(p->is_profile));
	json_object_set_new(o, "note", named(p->note));
	json_object_set_new(o, "source", named(p->source));
	return o;
}

/* Everything when `name` is NULL. */
static bool wanted_arch(const struct arch *a, const char *name)
{
	const struct product *p = name ? product_find(name) : NULL;

	return !name || (p ? p->sm : arch_parse(name)) == a->sm;
}

static bool wanted_product(const struct product *p, const char *name)
{
	return !name || product_find(name) == p || arch_parse(name) == p->sm;
}

static json_t *tables_json(const char *name)
{
	json_t *archs = json_array(), *list = json_array();
	const struct product *p;
	const struct arch *a;
	size_t an, pn;

	a = arch_table(&an);
	p = product_table(&pn);
	for (size_t i = 0; i < an; i++)
		if (wanted_arch(&a[i], name))
			json_array_append_new(archs, arch_json(&a[i]));
	for (size_t i = 0; i < pn; i++)
		if (wanted_product(&p[i], name))
			json_array_append_new(list, product_json(&p[i]));
	return json_pack("{s:s,s:o,s:o}", "schema", "kbn-devices/1", "architectures", archs,
			 "products", list);
}

static void arch_text(const char *name)
{
	const struct arch *a;
	size_t n;

	a = arch_table(&n);
	printf("%-7s %6s %7s %8s %9s %8s %6s %5s  %s\n", "sm", "warps", "blocks", "smem KB",
	       "per block", "reserve", "FP32", "FP64", "chips (FMA per clock and SM)");
	for (size_t i = 0; i < n; i++)
		if (wanted_arch(&a[i], name))
			printf("sm_%-4d %6d %7d %8d %9d %8d %6d %5d  %s\n", a[i].sm,
			       a[i].warps_per_sm, a[i].blocks_per_sm, a[i].smem_per_sm_kb,
			       a[i].smem_optin_kb, a[i].smem_reserved_bytes, a[i].fp32, a[i].fp64,
			       a[i].chips);
}

static void product_text(const char *name)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER];
	const struct product *p;
	size_t n;

	p = product_table(&n);
	printf("\n%-50s %-7s %4s %6s %7s %9s %9s %9s\n", "product (dense peaks, TFLOPS)", "sm",
	       "SMs", "GB/s", "L2", "FP32", "FP16 TC", "INT8 TC");
	for (size_t i = 0; i < n; i++) {
		struct arch_device dev;

		if (!wanted_product(&p[i], name))
			continue;
		arch_describe_product(&dev, &p[i]);
		printf("%-50s sm_%-4d %4d %6s %7s %9s %9s %9s\n", p[i].name, p[i].sm, p[i].sm_count,
		       text_real(a, p[i].dram_gbps), text_bytes(b, dev.l2_bytes),
		       text_real(c, dev.peaks[PEAK_FP32]),
		       text_real(d, isnan(dev.peaks[PEAK_FP16_TENSOR_FP32ACC])
					    ? dev.peaks[PEAK_FP16_TENSOR]
					    : dev.peaks[PEAK_FP16_TENSOR_FP32ACC]),
		       text_real((char[TEXT_NUMBER]){0}, dev.peaks[PEAK_INT8_TENSOR]));
		if (name && *p[i].note)
			printf("  %s\n", p[i].note);
		if (name)
			printf("  source: %s\n", p[i].source);
	}
	if (!name)
		printf("\nFP16 TC with FP32 sums. --json has every column with its source.\n");
}

int cmd_devices(int argc, char **argv)
{
	bool json = false, help = false;
	const struct option_spec table[] = {
		{"--json", OPTION_FLAG, &json, NULL,
		 "all columns and sources, schema kbn-devices/1"},
		{"--help", OPTION_FLAG, &help, NULL, "this text"},
	};
	const char *operands[CMD_WORDS];
	struct err e = {.offset = -1};
	const char *name;
	size_t n;

	if (argc > CMD_WORDS)
		return cmd_too_many("devices");
	if (options_parse(table, 2, argc, argv, operands, &n, &e) != 0)
		return cmd_fail("devices", &e);
	if (help) {
		printf("usage: kbn devices [NAME | sm_XX] [options]\n\n"
		       "The limits, rates and peaks that kbn takes for a GPU, and where each is from. NAME is one\n"
		       "that `kbn devices` lists: a GPU as its driver calls it (\"NVIDIA H200\"), or a profile.\n\n");
		options_help(table, 2, stdout);
		return CMD_GOOD;
	}
	name = n ? operands[0] : NULL;
	if (n > 1 || (name && !product_find(name) &&
		      (arch_parse(name) < 0 || !arch_find(arch_parse(name), NULL)))) {
		if (n > 1)
			err_set(&e, ERR_USAGE, -1, "one name at a time");
		else
			cmd_no_device(name, &e);
		return cmd_fail("devices", &e);
	}
	if (json) {
		json_t *doc = tables_json(name);
		int rc = json_dumpf(doc, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));

		putchar('\n');
		json_decref(doc);
		return rc == 0 ? CMD_GOOD : CMD_INPUT;
	}
	arch_text(name);
	product_text(name);
	return CMD_GOOD;
}
