/*
 * calibrate_ptx.c - writes the PTX text of the calibration kernels. Text with loops rather than
 * long literals: a matrix kernel names up to 128 accumulator registers. How often and with what
 * the kernels run is calibrate_measure.c's.
 */
#include "calibrate_ptx.h"

#include <stdio.h>
#include <stdlib.h>

#define CHAINS   16 /* independent FFMA per thread */
#define TILES    8  /* independent accumulators of a warp, mma.sync */
#define STEPS    8  /* instructions per loop of a warpgroup, wgmma */
#define WG_N     256
#define WG_M     64
#define WG_COUNT 2                                    /* warpgroups in a block */
#define WG_SMEM  (WG_COUNT * WG_M * 128 + WG_N * 128) /* rows of 128 bytes: A of each, then B */

/* A result that never occurs guards the store: the compiler must keep the work. */
#define MAGIC "0x7f123457"

static const char basic_head[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry empty()\n{\n\tret;\n}\n"
	".visible .entry spin(.param .u64 cycles)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b64 %start, %now, %want;\n"
	"\tld.param.u64 %want, [cycles];\n\tmov.u64 %start, %clock64;\n"
	"AGAIN:\n\tmov.u64 %now, %clock64;\n\tsub.u64 %now, %now, %start;\n"
	"\tsetp.lt.u64 %p, %now, %want;\n\t@%p bra AGAIN;\n\tret;\n}\n"
	".visible .entry fill(.param .u64 out, .param .u64 words)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %i, %n, %o, %at, %step;\n"
	"\tld.param.u64 %o, [out];\n\tld.param.u64 %n, [words];\n"
	"\tmov.u32 %r0, %tid.x;\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n"
	"\tmov.u32 %r3, %nctaid.x;\n\tmul.wide.u32 %step, %r2, %r3;\n"
	"\tmul.wide.u32 %i, %r1, %r2;\n\tcvt.u64.u32 %at, %r0;\n\tadd.u64 %i, %i, %at;\n"
	"NEXT:\n\tsetp.ge.u64 %p, %i, %n;\n\t@%p bra DONE;\n"
	"\tcvt.u32.u64 %r4, %i;\n\tmul.lo.u32 %r4, %r4, 0x9e3779b1;\n\tshr.u32 %r5, %r4, 15;\n"
	"\txor.b32 %r4, %r4, %r5;\n\tmul.lo.u32 %r4, %r4, 0x846ca68b;\n"
	"\tshl.b64 %at, %i, 2;\n\tadd.u64 %at, %at, %o;\n\tst.global.u32 [%at], %r4;\n"
	"\tadd.u64 %i, %i, %step;\n\tbra NEXT;\nDONE:\n\tret;\n}\n";

static void ffma_kernel(FILE *f)
{
	fprintf(f,
		".visible .entry ffma(.param .u64 out, .param .u32 loops)\n{\n"
		"\t.reg .pred %%p, %%q;\n\t.reg .b32 %%n, %%t, %%b;\n"
		"\t.reg .b64 %%o, %%c, %%g, %%d, %%h;\n\t.reg .f32 %%f<%d>, %%m, %%a;\n"
		"\tld.param.u64 %%o, [out];\n\tld.param.u32 %%n, [loops];\n"
		"\tmov.u32 %%t, %%tid.x;\n\tmov.u32 %%b, %%ctaid.x;\n"
		"\tmov.f32 %%m, 0f3F7FBE77;\n\tmov.f32 %%a, 0f3A83126F;\n\tcvt.rn.f32.u32 %%f0, %%t;\n",
		CHAINS);
	for (int i = 1; i < CHAINS; i++)
		fprintf(f, "\tadd.f32 %%f%d, %%f%d, 0f3F9D70A4;\n", i, i - 1);
	fprintf(f, "\tmov.u64 %%c, %%clock64;\n\tmov.u64 %%g, %%globaltimer;\nLOOP:\n");
	for (int i = 0; i < CALIBRATE_FFMA_PER_LOOP; i++)
		fprintf(f, "\tfma.rn.f32 %%f%d, %%f%d, %%m, %%a;\n", i % CHAINS, i % CHAINS);
	fprintf(f, "\tsub.u32 %%n, %%n, 1;\n\tsetp.ne.u32 %%p, %%n, 0;\n\t@%%p bra LOOP;\n"
		   "\tmov.u64 %%d, %%clock64;\n\tmov.u64 %%h, %%globaltimer;\n");
	for (int i = 1; i < CHAINS; i++)
		fprintf(f, "\tadd.f32 %%f0, %%f0, %%f%d;\n", i);
	fprintf(f, "\tsub.u64 %%d, %%d, %%c;\n\tsub.u64 %%h, %%h, %%g;\n\tor.b32 %%b, %%b, %%t;\n"
		   "\tsetp.eq.u32 %%p, %%b, 0;\n\t@%%p st.global.u64 [%%o], %%d;\n"
		   "\t@%%p st.global.u64 [%%o+8], %%h;\n\tmov.b32 %%t, %%f0;\n"
		   "\tsetp.eq.u32 %%q, %%t, " MAGIC
		   ";\n\t@%%q st.global.u64 [%%o], %%g;\n\tret;\n}\n");
}

static void read_kernel(FILE *f)
{
	fprintf(f,
		".visible .entry read(.param .u64 in, .param .u64 units, .param .u32 loops, .param .u64 out)\n{\n"
		"\t.reg .pred %%p;\n\t.reg .b32 %%n, %%x, %%y, %%r<4>, %%v<%d>;\n"
		"\t.reg .b64 %%base, %%units, %%step, %%at, %%a, %%o;\n"
		"\tld.param.u64 %%base, [in];\n\tld.param.u64 %%units, [units];\n"
		"\tld.param.u32 %%n, [loops];\n\tld.param.u64 %%o, [out];\n"
		"\tmov.u32 %%r0, %%tid.x;\n\tmov.u32 %%r1, %%ctaid.x;\n\tmov.u32 %%r2, %%ntid.x;\n"
		"\tmov.u32 %%r3, %%nctaid.x;\n\tmul.wide.u32 %%step, %%r2, %%r3;\n"
		"\tmul.wide.u32 %%at, %%r1, %%r2;\n\tcvt.u64.u32 %%a, %%r0;\n\tadd.u64 %%at, %%at, %%a;\n"
		"\tmov.u32 %%x, 0;\nLOOP:\n",
		4 * CALIBRATE_READS_PER_LOOP);
	for (int i = 0; i < CALIBRATE_READS_PER_LOOP; i++)
		fprintf(f,
			"\tshl.b64 %%a, %%at, 4;\n\tadd.u64 %%a, %%a, %%base;\n"
			"\tld.global.cg.v4.u32 {%%v%d, %%v%d, %%v%d, %%v%d}, [%%a];\n"
			"\tadd.u64 %%at, %%at, %%step;\n\tsetp.ge.u64 %%p, %%at, %%units;\n"
			"\t@%%p sub.u64 %%at, %%at, %%units;\n",
			4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
	for (int i = 0; i < 4 * CALIBRATE_READS_PER_LOOP; i++)
		fprintf(f, "\txor.b32 %%x, %%x, %%v%d;\n", i);
	fprintf(f, "\tsub.u32 %%n, %%n, 1;\n\tsetp.ne.u32 %%p, %%n, 0;\n\t@%%p bra LOOP;\n"
		   "\tsetp.eq.u32 %%p, %%x, " MAGIC
		   ";\n\t@%%p st.global.u32 [%%o], %%x;\n\tret;\n}\n");
}

char *calibrate_ptx_basic(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fputs(basic_head, f);
	ffma_kernel(f);
	read_kernel(f);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Operand patterns: sign and mantissa random, exponent of [0.5, 1). */
#define F16  0x83ff83ffu, 0x38003800u, 0x80008000u
#define BF16 0x807f807fu, 0x3f003f00u, 0x80008000u
#define TF32 0x807fe000u, 0x3f000000u, 0x80000000u
#define E4M3 0x87878787u, 0x30303030u, 0x80808080u
#define S8   0xffffffffu, 0x00000000u, 0x00000000u

/* clang-format off */
const struct calibrate_mma calibrate_mma_table[] = {
	/* reading              sm  ptx wg     k   types                acc  regs operands */
	{CALIBRATE_FP16_ACC32, 80, 70, false, 16, "f32.f16.f16.f32",   'f', 4, F16},
	{CALIBRATE_FP16_ACC16, 80, 70, false, 16, "f16.f16.f16.f16",   'r', 2, F16},
	{CALIBRATE_BF16,       80, 70, false, 16, "f32.bf16.bf16.f32", 'f', 4, BF16},
	{CALIBRATE_TF32,       80, 70, false, 8,  "f32.tf32.tf32.f32", 'f', 4, TF32},
	{CALIBRATE_FP8,        89, 84, false, 32, "f32.e4m3.e4m3.f32", 'f', 4, E4M3},
	{CALIBRATE_INT8,       80, 70, false, 32, "s32.s8.s8.s32",     'r', 4, S8},
	{CALIBRATE_FP16_ACC32, 90, 80, true,  16, "f32.f16.f16",       'f', 128, F16},
	{CALIBRATE_FP16_ACC16, 90, 80, true,  16, "f16.f16.f16",       'r', 64,  F16},
	{CALIBRATE_BF16,       90, 80, true,  16, "f32.bf16.bf16",     'f', 128, BF16},
	{CALIBRATE_TF32,       90, 80, true,  8,  "f32.tf32.tf32",     'f', 128, TF32},
	{CALIBRATE_FP8,        90, 80, true,  32, "f32.e4m3.e4m3",     'f', 128, E4M3},
	{CALIBRATE_INT8,       90, 80, true,  32, "s32.s8.s8",         'r', 128, S8},
};
/* clang-format on */
const size_t calibrate_mma_count = sizeof(calibrate_mma_table) / sizeof(calibrate_mma_table[0]);

int calibrate_mma_threads(const struct calibrate_mma *m)
{
	return m->warpgroup ? WG_COUNT * 128 : 256;
}

int calibrate_mma_blocks(const struct calibrate_mma *m)
{
	return m->warpgroup ? 1 : 2;
}

double calibrate_mma_flop(const struct calibrate_mma *m)
{
	if (m->warpgroup)
		return 2.0 * WG_M * WG_N * m->k * STEPS * WG_COUNT;
	return 2.0 * 16 * 8 * m->k * TILES * 2 * (256 / 32);
}

/* {%f0, %f1, ...}: `n` registers of kind `kind` from number `first` on. */
static void registers(FILE *f, char kind, int first, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%%%c%d", i ? ", " : "{", kind, first + i);
	fputc('}', f);
}

static void accumulators_start(FILE *f, const struct calibrate_mma *m, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(f, "\tmov.b32 %%%c%d, 0;\n", m->acc, i);
}

/* Loop end, and a store of the accumulators that never happens. */
static void accumulators_end(FILE *f, const struct calibrate_mma *m, int n)
{
	fprintf(f,
		"\tsub.u32 %%n, %%n, 1;\n\tsetp.ne.u32 %%p, %%n, 0;\n\t@%%p bra LOOP;\n\tmov.u32 %%x, 0;\n");
	for (int i = 0; i < n; i++)
		fprintf(f, "\tmov.b32 %%y, %%%c%d;\n\txor.b32 %%x, %%x, %%y;\n", m->acc, i);
	fprintf(f, "\tsetp.eq.u32 %%p, %%x, " MAGIC
		   ";\n\t@%%p st.global.u32 [%%o], %%x;\n\tret;\n}\n");
}

static void head(FILE *f, const struct calibrate_mma *m, int acc)
{
	fprintf(f, ".version %d.%d\n.target sm_%d%s\n.address_size 64\n", m->ptx / 10, m->ptx % 10,
		m->sm, m->warpgroup ? "a" : "");
	fprintf(f,
		".visible .entry mma(.param .u64 out, .param .u32 loops)\n{\n"
		"\t.reg .pred %%p, %%one;\n\t.reg .b32 %%n, %%x, %%y, %%t, %%a<4>, %%s<4>, %%b<2>;\n"
		"\t.reg .b64 %%o, %%da, %%db, %%d;\n\t.reg .b32 %%%c<%d>;\n",
		m->acc, acc);
	if (m->warpgroup)
		fprintf(f, "\t.shared .align 1024 .b8 tile[%d];\n", WG_SMEM);
	fprintf(f,
		"\tld.param.u64 %%o, [out];\n\tld.param.u32 %%n, [loops];\n\tmov.u32 %%t, %%tid.x;\n");
}

/* %to = a pseudo-random operand word out of %t and a number. */
static void operand(FILE *f, const struct calibrate_mma *m, const char *to, unsigned number)
{
	fprintf(f,
		"\tmad.lo.u32 %%x, %%t, 0x7feb352d, 0x%x;\n\tshr.u32 %%y, %%x, 15;\n"
		"\txor.b32 %%x, %%x, %%y;\n\tmul.lo.u32 %%x, %%x, 0x846ca68b;\n"
		"\tand.b32 %%x, %%x, 0x%x;\n\tor.b32 %s, %%x, 0x%x;\n",
		number * 0x9e3779b1u + 1, m->keep, to, m->set);
}

/* Every second round has A negated, so that 16-bit accumulators do not run away. */
static void mma_sync(FILE *f, const struct calibrate_mma *m)
{
	int shape_a = 4, shape_b = 2; /* registers of 16 x k and k x 8 */
	char name[16];

	head(f, m, TILES * m->acc_regs);
	for (int i = 0; i < shape_a; i++) {
		snprintf(name, sizeof(name), "%%a%d", i);
		operand(f, m, name, (unsigned)i);
		fprintf(f, "\txor.b32 %%s%d, %%a%d, 0x%x;\n", i, i, m->sign);
	}
	for (int i = 0; i < shape_b; i++) {
		snprintf(name, sizeof(name), "%%b%d", i);
		operand(f, m, name, (unsigned)(16 + i));
	}
	accumulators_start(f, m, TILES * m->acc_regs);
	fputs("LOOP:\n", f);
	for (int i = 0; i < 2 * TILES; i++) {
		fprintf(f, "\tmma.sync.aligned.m16n8k%d.row.col.%s ", m->k, m->types);
		registers(f, m->acc, i % TILES * m->acc_regs, m->acc_regs);
		fputs(", ", f);
		registers(f, i < TILES ? 'a' : 's', 0, shape_a);
		fputs(", ", f);
		registers(f, 'b', 0, shape_b);
		fputs(", ", f);
		registers(f, m->acc, i % TILES * m->acc_regs, m->acc_regs);
		fputs(";\n", f);
	}
	accumulators_end(f, m, TILES * m->acc_regs);
}

/* The operand tiles, filled by all threads; then the matrix unit's proxy must see them. */
static void warpgroup_tiles(FILE *f, const struct calibrate_mma *m)
{
	fputs("\tmov.u32 %a0, tile;\n\tshl.b32 %a1, %t, 2;\n\tadd.u32 %a1, %a1, %a0;\nFILL:\n", f);
	operand(f, m, "%a2", 7);
	fprintf(f,
		"\tst.shared.u32 [%%a1], %%a2;\n\tadd.u32 %%t, %%t, %d;\n\tadd.u32 %%a1, %%a1, %d;\n"
		"\tsetp.lt.u32 %%p, %%t, %d;\n\t@%%p bra FILL;\n"
		"\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n",
		WG_COUNT * 128, WG_COUNT * 512, WG_SMEM / 4);
}

/*
 * Descriptors: address / 16, rows of 128 bytes in groups of 8 (stride 1024 / 16), 128-byte swizzle
 * (1 << 62). The swizzle only permutes random data, but it is what avoids bank conflicts.
 */
static void warpgroup_descriptors(FILE *f)
{
	fprintf(f,
		"\tmov.u32 %%t, %%tid.x;\n\tshr.u32 %%a1, %%t, 7;\n\tmad.lo.u32 %%a1, %%a1, %d, %%a0;\n"
		"\tadd.u32 %%a2, %%a0, %d;\n"
		"\tshr.u32 %%a1, %%a1, 4;\n\tshr.u32 %%a2, %%a2, 4;\n"
		"\tcvt.u64.u32 %%da, %%a1;\n\tcvt.u64.u32 %%db, %%a2;\n\tmov.u64 %%d, 0x4000004000010000;\n"
		"\tor.b64 %%da, %%da, %%d;\n\tor.b64 %%db, %%db, %%d;\n\tsetp.ge.u32 %%one, %%t, 0;\n",
		WG_M * 128, WG_COUNT * WG_M * 128);
}

static void mma_warpgroup(FILE *f, const struct calibrate_mma *m)
{
	bool is_int = m->sign == 0;
	bool transposable = m->k == 16; /* the 16-bit types take two transpose flags */

	head(f, m, m->acc_regs);
	warpgroup_tiles(f, m);
	warpgroup_descriptors(f);
	accumulators_start(f, m, m->acc_regs);
	fputs("LOOP:\n\twgmma.fence.sync.aligned;\n", f);
	for (int i = 0; i < STEPS; i++) {
		/* four steps of 32 bytes along a row, the second time with the sign changed */
		fprintf(f,
			"\t{ .reg .b64 %%ka, %%kb; add.u64 %%ka, %%da, %d; add.u64 %%kb, %%db, %d;\n"
			"\twgmma.mma_async.sync.aligned.m64n%dk%d.%s ",
			i % 4 * 2, i % 4 * 2, WG_N, m->k, m->types);
		registers(f, m->acc, 0, m->acc_regs);
		fputs(", %ka, %kb, %one", f);
		if (!is_int)
			fprintf(f, ", %d, 1%s", i < 4 ? 1 : -1, transposable ? ", 0, 0" : "");
		fputs("; }\n", f);
	}
	fputs("\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n", f);
	accumulators_end(f, m, m->acc_regs);
}

char *calibrate_ptx_mma(const struct calibrate_mma *m)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (m->warpgroup)
		mma_warpgroup(f, m);
	else
		mma_sync(f, m);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
