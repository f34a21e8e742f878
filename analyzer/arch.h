/*
 * arch.h - hardware facts: the limits and rates of a compute capability, the products, and what can
 * be said of one concrete device. Data from tables/arch.def and tables/products.def, each with source.
 */
#ifndef KBN_ARCH_H
#define KBN_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_UNKNOWN     (-1)
#define ARCH_CONFIGS_MAX 12

/* One compute capability. Rates per SM and clock, dense, one multiply-add counts one. -1 = not known. */
struct arch {
	int sm; /* 86 */
	int warps_per_sm, blocks_per_sm;
	int registers_per_sm, registers_per_block, registers_per_thread;
	int registers_least; /* allocated to a thread at least, -1 = no such rule is known */
	int registers_least_syscalls; /* the same for kernels that call into the driver's code */
	int register_granularity;     /* registers per warp */
	int warp_granularity; /* warps of a block are rounded up to it in the per-block check */
	int partitions;
	int smem_per_sm_kb, smem_optin_kb, smem_default_kb;
	int smem_reserved_bytes, smem_granularity_bytes;
	int barrier_slots; /* -1 = barriers are no limit here */
	int enough_warps;  /* warps per SM from which latency counts as hidden */
	int l1_kb;
	int smem_configs_kb[ARCH_CONFIGS_MAX], smem_configs; /* ascending */
	const char *chips, *limits_source;

	int fp32, fp64, fp16x2, int_add, int_mad, special, shared_bytes, l1_bytes,
		l1_bytes_measured, l2_bytes_measured;
	int block_starts_measured; /* per 1000 clocks, of the whole chip */
	const char *rates_source;

	int tensor_generation;
	int t_fp16, t_fp16_fp32acc, t_fp16_fp32acc_gf, t_bf16, t_bf16_gf, t_tf32, t_tf32_gf, t_fp64,
		t_int8, t_int4, t_fp8, t_fp8_fp32acc, t_fp8_fp32acc_gf, t_fp4;
	int warp_product_pct; /* of the tensor rates that products of one warp reach, FP64 apart; -1 = all, or not known */
	const char *tensor_source;

	int dep_ffma, dep_imad, dep_alu, dep_cross, dep_hfma2, dep_dfma, dep_mma;
	bool dep_dfma_scoreboard;
	const char *spacing_source;
	const char *caveat;
};

enum product_class {
	PRODUCT_DATACENTER,
	PRODUCT_PRO,
	PRODUCT_GEFORCE,
	PRODUCT_CAPPED,
	PRODUCT_INTEGRATED
};

/* The peaks of the contract, in its order. TFLOPS, TOPS for the integer ones; NaN = not known or none. */
enum arch_peak {
	PEAK_FP32,
	PEAK_FP64,
	PEAK_FP16,
	PEAK_FP64_TENSOR,
	PEAK_TF32_TENSOR,
	PEAK_FP16_TENSOR,
	PEAK_FP16_TENSOR_FP32ACC,
	PEAK_BF16_TENSOR,
	PEAK_FP8_TENSOR,
	PEAK_FP4_TENSOR,
	PEAK_INT8_TENSOR,
	PEAK_INT4_TENSOR,
	PEAK_N
};
extern const char *const arch_peak_keys[PEAK_N]; /* "fp32_tflops", ... */

struct product {
	const char *name, *chip;
	int sm, sm_count, boost_mhz, tensor_mhz, bus_bits,
		memory_mhz; /* memory: half the data rate */
	double dram_gbps;   /* published */
	int l2_kb, watts;
	enum product_class class;
	double fp32, fp64, fp64_tensor, tf32, fp16_acc16, fp16_acc32, fp8_acc16, fp8_acc32, int8,
		int4, fp4;
	int published_cliff_bytes; /* -1 = none published */
	const char *note, *source;
	bool is_profile; /* asked for by name, never matched to a device */
};

/* Tables, in file order; *n = rows. */
const struct arch *arch_table(size_t *n);
const struct product *product_table(size_t *n); /* products, then profiles */

/*
 * The row of `sm`. An unlisted one gets the nearest lower row of the same major, and *exact = false;
 * NULL when there is none. `exact` may be NULL.
 */
const struct arch *arch_find(int sm, bool *exact);

/* A product or profile by its full name (case does not matter), NULL = none. */
const struct product *product_find(const char *name);
/* The product whose name has `part` in it, or the other way round, without regard to case; NULL = none. */
const struct product *product_like(const char *part);
/* The product used when only an architecture is given, NULL = none. */
const struct product *product_reference(int sm);

struct arch_attribute {
	int attribute, value;
}; /* CUdevice_attribute and what the driver said */

/* What is known of one device. */
struct arch_device {
	char name[128];
	struct arch arch; /* a copy, where the driver's own limits replace the table's */
	bool arch_known, arch_exact;
	const struct product *product;       /* NULL = no row matched */
	int sm_count, clock_mhz;             /* -1 = not known */
	double dram_gbps;                    /* NaN = not known */
	int64_t l2_bytes, smem_per_sm_bytes; /* -1 = not known */
	double peaks[PEAK_N];
	const char *peaks_source; /* "table", "attributes", "profile"; NULL = no peaks */
	const char *dram_why;     /* why dram_gbps is not known, NULL otherwise */
};

/*
 * Describe a device from its driver name, compute capability and attributes (may be NULL, 0). A product
 * row is used only when name, capability and SM count agree; else the formula on attributes; else unknown.
 * Bandwidth by formula: bus bits / 8 * memory clock * 2, never for integrated parts, whose attributes lie.
 * A MIG slice (is_mig) has no peaks: what its bus width describes is not established.
 */
void arch_describe(struct arch_device *d, const char *name, int sm, bool is_mig,
		   const struct arch_attribute *attrs, size_t attrs_n);

/*
 * us in which the whole device can start so many blocks at best, whatever is in them; NaN = not known. Measured with
 * blocks of 32 to 256 threads; larger ones start no faster.
 */
double arch_start_us(const struct arch_device *d, double blocks);

/* Describe a row of the table as if it were present. */
void arch_describe_product(struct arch_device *d, const struct product *p);
/* "sm_86", "86", "8.6", "sm_90a" -> 86, 90; -1 = not such a name. */
int arch_parse(const char *text);

#endif
