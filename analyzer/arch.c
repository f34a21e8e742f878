/*
 * arch.c - the hardware tables and what follows from them for one device.
 * Input: tables/arch.def, tables/products.def, driver attributes. Output: struct arch_device.
 * Leaves judgement (rooflines, occupancy) to others.
 */
#include "arch.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NA         ARCH_UNKNOWN
#define ARRAY_N(a) (sizeof(a) / sizeof(*(a)))

const char *const arch_peak_keys[PEAK_N] = {
	"fp32_tflops",
	"fp64_tflops",
	"fp16_tflops",
	"fp64_tensor_tflops",
	"tf32_tensor_tflops",
	"fp16_tensor_tflops",
	"fp16_tensor_fp32acc_tflops",
	"bf16_tensor_tflops",
	"fp8_tensor_tflops",
	"fp4_tensor_tflops",
	"int8_tensor_tops",
	"int4_tensor_tops",
};

/* The five row kinds of arch.def stand in the same order of architectures; set_arch() checks it. */
struct limits {
	int sm, warps, blocks, regs_sm, regs_block, regs_thread, regs_least, regs_least_syscalls,
		reg_gran, warp_gran, partitions, smem_kb, optin_kb, default_kb, reserved, smem_gran,
		barriers, enough, l1_kb;
	const char *configs, *chips, *source;
};
struct rates {
	int sm, fp32, fp64, fp16x2, add, mad, special, shared, l1, l1_measured, l2, starts;
	const char *source;
};
struct tensor {
	int sm, generation, fp16, fp16_32, fp16_32_gf, bf16, bf16_gf, tf32, tf32_gf, fp64, int8,
		int4, fp8, fp8_32, fp8_32_gf, fp4, warp_pct;
	const char *source;
};
struct spacing {
	int sm, ffma, imad, alu, cross, hfma2, dfma, dfma_sb, mma;
	const char *source;
};
struct caveat {
	int sm;
	const char *text;
};

#define ARCH_LIMITS(...)
#define ARCH_RATES(...)
#define ARCH_TENSOR(...)
#define ARCH_SPACING(...)
#define ARCH_CAVEAT(...)

#undef ARCH_LIMITS
#define ARCH_LIMITS(...) {__VA_ARGS__},
static const struct limits limits[] = {
#include "tables/arch.def"
};
#undef ARCH_LIMITS
#define ARCH_LIMITS(...)

#undef ARCH_RATES
#define ARCH_RATES(...) {__VA_ARGS__},
static const struct rates rates[] = {
#include "tables/arch.def"
};
#undef ARCH_RATES
#define ARCH_RATES(...)

#undef ARCH_TENSOR
#define ARCH_TENSOR(...) {__VA_ARGS__},
static const struct tensor tensor[] = {
#include "tables/arch.def"
};
#undef ARCH_TENSOR
#define ARCH_TENSOR(...)

#undef ARCH_SPACING
#define ARCH_SPACING(...) {__VA_ARGS__},
static const struct spacing spacing[] = {
#include "tables/arch.def"
};
#undef ARCH_SPACING
#define ARCH_SPACING(...)

#undef ARCH_CAVEAT
#define ARCH_CAVEAT(...) {__VA_ARGS__},
static const struct caveat caveats[] = {
#include "tables/arch.def"
};
#undef ARCH_CAVEAT
#undef ARCH_LIMITS
#undef ARCH_RATES
#undef ARCH_TENSOR
#undef ARCH_SPACING

#define ARCH_N ARRAY_N(limits)
_Static_assert(ARRAY_N(rates) == ARCH_N && ARRAY_N(tensor) == ARCH_N &&
		       ARRAY_N(spacing) == ARCH_N && ARRAY_N(caveats) == ARCH_N,
	       "an architecture lacks a row in arch.def");

#define PRODUCT_ROW(name, chip, sm, sms, boost, tensor, bus, mem, gbps, l2, watts, class, fp32, \
		    fp64, fp64t, tf32, h16, h32, q16, q32, i8, i4, f4, cliff, note, source,     \
		    profile)                                                                    \
	{name, chip,   sm,     sms,  boost, tensor, bus, mem, gbps, l2, watts, PRODUCT_##class, \
	 fp32, fp64,   fp64t,  tf32, h16,   h32,    q16, q32, i8,   i4, f4,    cliff,           \
	 note, source, profile},
#define PRODUCT(...) PRODUCT_ROW(__VA_ARGS__, false)
#define PROFILE(...) PRODUCT_ROW(__VA_ARGS__, true)
static const struct product products[] = {
#include "tables/products.def"
};
#undef PRODUCT
#undef PROFILE

const struct product *product_table(size_t *n)
{
	*n = ARRAY_N(products);
	return products;
}

static void set_configs(struct arch *a, const char *list)
{
	char *end;

	for (a->smem_configs = 0; *list && a->smem_configs < ARCH_CONFIGS_MAX;
	     list = *end ? end + 1 : end)
		a->smem_configs_kb[a->smem_configs++] = (int)strtol(list, &end, 10);
}

static void set_arch(struct arch *a, size_t i)
{
	const struct limits *l = &limits[i];
	const struct rates *r = &rates[i];
	const struct tensor *t = &tensor[i];
	const struct spacing *s = &spacing[i];

	assert(r->sm == l->sm && t->sm == l->sm && s->sm == l->sm && caveats[i].sm == l->sm);
	*a = (struct arch){
		.sm = l->sm,
		.warps_per_sm = l->warps,
		.blocks_per_sm = l->blocks,
		.registers_per_sm = l->regs_sm,
		.registers_per_block = l->regs_block,
		.registers_per_thread = l->regs_thread,
		.registers_least = l->regs_least,
		.registers_least_syscalls = l->regs_least_syscalls,
		.register_granularity = l->reg_gran,
		.warp_granularity = l->warp_gran,
		.partitions = l->partitions,
		.smem_per_sm_kb = l->smem_kb,
		.smem_optin_kb = l->optin_kb,
		.smem_default_kb = l->default_kb,
		.smem_reserved_bytes = l->reserved,
		.smem_granularity_bytes = l->smem_gran,
		.barrier_slots = l->barriers,
		.enough_warps = l->enough,
		.l1_kb = l->l1_kb,
		.chips = l->chips,
		.limits_source = l->source,
		.fp32 = r->fp32,
		.fp64 = r->fp64,
		.fp16x2 = r->fp16x2,
		.int_add = r->add,
		.int_mad = r->mad,
		.special = r->special,
		.shared_bytes = r->shared,
		.l1_bytes = r->l1,
		.l1_bytes_measured = r->l1_measured,
		.l2_bytes_measured = r->l2,
		.block_starts_measured = r->starts,
		.rates_source = r->source,
		.tensor_generation = t->generation,
		.t_fp16 = t->fp16,
		.t_fp16_fp32acc = t->fp16_32,
		.t_fp16_fp32acc_gf = t->fp16_32_gf,
		.t_bf16 = t->bf16,
		.t_bf16_gf = t->bf16_gf,
		.t_tf32 = t->tf32,
		.t_tf32_gf = t->tf32_gf,
		.t_fp64 = t->fp64,
		.t_int8 = t->int8,
		.t_int4 = t->int4,
		.t_fp8 = t->fp8,
		.t_fp8_fp32acc = t->fp8_32,
		.t_fp8_fp32acc_gf = t->fp8_32_gf,
		.t_fp4 = t->fp4,
		.warp_product_pct = t->warp_pct,
		.tensor_source = t->source,
		.dep_ffma = s->ffma,
		.dep_imad = s->imad,
		.dep_alu = s->alu,
		.dep_cross = s->cross,
		.dep_hfma2 = s->hfma2,
		.dep_dfma = s->dfma,
		.dep_dfma_scoreboard = s->dfma_sb == 1,
		.dep_mma = s->mma,
		.spacing_source = s->source,
		.caveat = caveats[i].text,
	};
	set_configs(a, l->configs);
}

const struct arch *arch_table(size_t *n)
{
	static struct arch table[ARCH_N];
	static bool ready;

	for (size_t i = 0; !ready && i < ARCH_N; i++)
		set_arch(&table[i], i);
	ready = true;
	*n = ARCH_N;
	return table;
}

const struct arch *arch_find(int sm, bool *exact)
{
	const struct arch *best = NULL, *table;
	size_t n;

	table = arch_table(&n);
	for (size_t i = 0; i < n; i++)
		if (table[i].sm / 10 == sm / 10 && table[i].sm <= sm &&
		    (!best || table[i].sm > best->sm))
			best = &table[i];
	/* An unlisted minor of 8.x has the limits of 8.6: so says the vendor's own occupancy rule. */
	if (best && best->sm != sm && sm / 10 == 8)
		best = arch_find(86, NULL);
	if (exact)
		*exact = best && best->sm == sm;
	return best;
}

const struct product *product_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_N(products); i++)
		if (strcasecmp(products[i].name, name) == 0)
			return &products[i];
	return NULL;
}

const struct product *product_like(const char *part)
{
	for (size_t i = 0; *part && i < ARRAY_N(products); i++)
		if (strcasestr(products[i].name, part) || strcasestr(part, products[i].name))
			return &products[i];
	return NULL;
}

/*
 * A data-centre part (its tensor units run at full rate), then one whose row was read from a device,
 * then the largest.
 */
static int reference_score(const struct product *p)
{
	return (p->class == PRODUCT_DATACENTER ? 100000 : 0) +
	       (strncmp(p->source, "device log", 10) == 0 ? 10000 : 0) + p->sm_count;
}

const struct product *product_reference(int sm)
{
	const struct product *best = NULL;

	for (size_t i = 0; i < ARRAY_N(products); i++) {
		const struct product *p = &products[i];

		if (p->sm == sm && !p->is_profile &&
		    (!best || reference_score(p) > reference_score(best)))
			best = p;
	}
	return best;
}

int arch_parse(const char *text)
{
	char *end;
	long major;

	if (strncmp(text, "sm_", 3) == 0 || strncmp(text, "SM_", 3) == 0)
		text += 3;
	if (!isdigit((unsigned char)*text))
		return -1;
	major = strtol(text, &end, 10);
	if (*end == '.' && isdigit((unsigned char)end[1]) && end[2] == '\0' && major < 100)
		return (int)major * 10 + (end[1] - '0');
	if ((*end == 'a' || *end == 'f') && end[1] == '\0')
		end++;
	return *end == '\0' && major >= 10 && major < 1000 ? (int)major : -1;
}

/* CUdevice_attribute numbers that matter here. */
enum {
	ATTR_SMEM_BLOCK = 8,
	ATTR_CLOCK_KHZ = 13,
	ATTR_SM_COUNT = 16,
	ATTR_INTEGRATED = 18,
	ATTR_MEMORY_KHZ = 36,
	ATTR_BUS_BITS = 37,
	ATTR_L2_BYTES = 38,
	ATTR_THREADS_PER_SM = 39,
	ATTR_SMEM_PER_SM = 81,
	ATTR_REGS_PER_SM = 82,
	ATTR_SMEM_OPTIN = 97,
	ATTR_BLOCKS_PER_SM = 106,
	ATTR_SMEM_RESERVED = 111,
};

static int attr(const struct arch_attribute *attrs, size_t n, int which, int missing)
{
	for (size_t i = 0; i < n; i++)
		if (attrs[i].attribute == which)
			return attrs[i].value;
	return missing;
}

static double teraflops(int per_sm_clock, int sm_count, int mhz)
{
	return per_sm_clock > 0 && sm_count > 0 && mhz > 0 ? 2e-6 * per_sm_clock * sm_count * mhz
							   : NAN;
}

/* A table figure, NA -> NaN. */
static double figure(double v)
{
	return v < 0 ? NAN : v;
}

static void peaks_from_product(struct arch_device *d, const struct product *p)
{
	double *k = d->peaks;

	k[PEAK_FP32] = figure(p->fp32);
	k[PEAK_FP64] = figure(p->fp64);
	k[PEAK_FP16] = p->is_profile ? NAN : teraflops(d->arch.fp16x2, p->sm_count, p->boost_mhz);
	k[PEAK_FP64_TENSOR] = figure(p->fp64_tensor);
	k[PEAK_TF32_TENSOR] = figure(p->tf32);
	k[PEAK_FP16_TENSOR] = figure(p->fp16_acc16);
	k[PEAK_FP16_TENSOR_FP32ACC] = p->is_profile ? NAN : figure(p->fp16_acc32);
	k[PEAK_BF16_TENSOR] = d->arch.t_bf16 > 0 && !p->is_profile ? figure(p->fp16_acc32) : NAN;
	/* The ceiling: FP8 with FP32 sums has been seen to beat its published half rate on 12.0. */
	k[PEAK_FP8_TENSOR] = figure(p->fp8_acc16);
	k[PEAK_FP4_TENSOR] = figure(p->fp4);
	k[PEAK_INT8_TENSOR] = figure(p->int8);
	k[PEAK_INT4_TENSOR] = figure(p->int4);
	d->peaks_source = p->is_profile ? "profile" : "table";
}

/* GeForce halves FP32 sums; no other class can be told from a name that is in no table. */
static void peaks_from_formula(struct arch_device *d)
{
	const struct arch *a = &d->arch;
	bool gf = strstr(d->name, "GeForce") != NULL;
	double *k = d->peaks;
#define RATE(full, geforce) \
	teraflops(gf && (geforce) > 0 ? (geforce) : (full), d->sm_count, d->clock_mhz)

	k[PEAK_FP32] = RATE(a->fp32, NA);
	k[PEAK_FP64] = RATE(a->fp64, NA);
	k[PEAK_FP16] = RATE(a->fp16x2, NA);
	k[PEAK_FP64_TENSOR] = RATE(a->t_fp64, NA);
	k[PEAK_TF32_TENSOR] = RATE(a->t_tf32, a->t_tf32_gf);
	k[PEAK_FP16_TENSOR] = RATE(a->t_fp16, NA);
	k[PEAK_FP16_TENSOR_FP32ACC] = RATE(a->t_fp16_fp32acc, a->t_fp16_fp32acc_gf);
	k[PEAK_BF16_TENSOR] = RATE(a->t_bf16, a->t_bf16_gf);
	k[PEAK_FP8_TENSOR] = RATE(a->t_fp8, NA);
	k[PEAK_FP4_TENSOR] = RATE(a->t_fp4, NA);
	k[PEAK_INT8_TENSOR] = RATE(a->t_int8, NA);
	k[PEAK_INT4_TENSOR] = RATE(a->t_int4, NA);
#undef RATE
	d->peaks_source = isnan(k[PEAK_FP32]) ? NULL : "attributes";
}

/* The driver knows this very device: its limits replace the row's where it gave any. */
static void limits_from_driver(struct arch *a, const struct arch_attribute *attrs, size_t n)
{
	int v;

	if ((v = attr(attrs, n, ATTR_THREADS_PER_SM, 0)) >= 32)
		a->warps_per_sm = v / 32;
	if ((v = attr(attrs, n, ATTR_BLOCKS_PER_SM, 0)) > 0)
		a->blocks_per_sm = v;
	if ((v = attr(attrs, n, ATTR_REGS_PER_SM, 0)) > 0)
		a->registers_per_sm = v;
	if ((v = attr(attrs, n, ATTR_SMEM_PER_SM, 0)) > 0)
		a->smem_per_sm_kb = v / 1024;
	if ((v = attr(attrs, n, ATTR_SMEM_OPTIN, 0)) > 0)
		a->smem_optin_kb = v / 1024;
	if ((v = attr(attrs, n, ATTR_SMEM_BLOCK, 0)) > 0)
		a->smem_default_kb = v / 1024;
	if ((v = attr(attrs, n, ATTR_SMEM_RESERVED, -1)) >= 0)
		a->smem_reserved_bytes = v;
}

static void bandwidth(struct arch_device *d, bool is_mig, const struct arch_attribute *attrs,
		      size_t n)
{
	int bits = attr(attrs, n, ATTR_BUS_BITS, 0), khz = attr(attrs, n, ATTR_MEMORY_KHZ, 0);

	d->dram_gbps = NAN;
	if (is_mig)
		d->dram_why =
			"a MIG slice has a share of the bandwidth that its attributes do not tell";
	else if (d->product)
		d->dram_gbps = d->product->dram_gbps;
	else if (attr(attrs, n, ATTR_INTEGRATED, 0))
		d->dram_why =
			"the memory attributes of integrated parts are not reliable and no table row matches";
	else if (bits <= 0 || khz <= 0)
		d->dram_why =
			"the driver gave no bus width or memory clock and no table row matches";
	else
		d->dram_gbps = bits / 8.0 * khz * 2 * 1e-6;
}

static void describe_common(struct arch_device *d, const char *name, int sm)
{
	const struct arch *row;

	*d = (struct arch_device){.sm_count = -1,
				  .clock_mhz = -1,
				  .l2_bytes = -1,
				  .smem_per_sm_bytes = -1,
				  .dram_gbps = NAN};
	for (int i = 0; i < PEAK_N; i++)
		d->peaks[i] = NAN;
	snprintf(d->name, sizeof(d->name), "%s", name);
	row = arch_find(sm, &d->arch_exact);
	d->arch_known = row != NULL;
	d->arch = row ? *row : (struct arch){0};
	d->arch.sm = sm;
}

void arch_describe(struct arch_device *d, const char *name, int sm, bool is_mig,
		   const struct arch_attribute *attrs, size_t attrs_n)
{
	const struct product *p = product_find(name);
	int v;

	describe_common(d, name, sm);
	d->sm_count = attr(attrs, attrs_n, ATTR_SM_COUNT, -1);
	if ((v = attr(attrs, attrs_n, ATTR_CLOCK_KHZ, 0)) > 0)
		d->clock_mhz = v / 1000;
	if (d->arch_known)
		limits_from_driver(&d->arch, attrs, attrs_n);
	if (p && !p->is_profile && p->sm == sm && p->sm_count == d->sm_count && !is_mig)
		d->product = p;
	if ((v = attr(attrs, attrs_n, ATTR_L2_BYTES, 0)) > 0)
		d->l2_bytes = v;
	else if (d->product)
		d->l2_bytes = (int64_t)d->product->l2_kb * 1024;
	if (d->clock_mhz < 0 && d->product)
		d->clock_mhz = d->product->boost_mhz;
	if (d->arch_known)
		d->smem_per_sm_bytes = (int64_t)d->arch.smem_per_sm_kb * 1024;
	bandwidth(d, is_mig, attrs, attrs_n);
	if (d->product)
		peaks_from_product(d, d->product);
	else if (d->arch_known && !is_mig)
		peaks_from_formula(d);
}

double arch_start_us(const struct arch_device *d, double blocks)
{
	const int starts = d->arch_known ? d->arch.block_starts_measured : ARCH_UNKNOWN;

	return starts > 0 && d->clock_mhz > 0 ? 1e3 * blocks / starts / d->clock_mhz : NAN;
}

void arch_describe_product(struct arch_device *d, const struct product *p)
{
	describe_common(d, p->name, p->sm);
	d->product = p;
	d->sm_count = p->sm_count;
	d->clock_mhz = p->boost_mhz;
	d->dram_gbps = p->dram_gbps;
	d->l2_bytes = (int64_t)p->l2_kb * 1024;
	d->smem_per_sm_bytes = (int64_t)d->arch.smem_per_sm_kb * 1024;
	peaks_from_product(d, p);
}
