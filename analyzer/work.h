/*
 * work.h - the work of a kernel as its user knows it: FLOPs and bytes of one launch, given as formulas or as a
 * known problem (gemm, attention), in a file with a line per kernel or as options of the command line. Output:
 * exact counts. Leaves peaks and shares to roofline.h, and what the code says of its types to others.
 *
 * A line:   RE  flops=EXPR bytes=EXPR [dtype=TYPE]
 *           RE  gemm(M,N,K[,TYPE]) [bytes=EXPR] [dtype=TYPE]
 *           RE  attention(B,H,SQ,SKV,D[,causal][,kvheads=N][,TYPE]) [bytes=EXPR] [dtype=TYPE]
 * RE is a pattern as of --kernel and ends at a blank; "RE" may contain blanks. EXPR is a formula of formula.h;
 * a fraction of a byte or a FLOP is rounded to the nearest. What follows a # is a comment. The first line whose RE
 * matches counts.
 *
 * bytes are unique DRAM bytes: what must come from or go to memory once, however often it is loaded.
 *   gemm       2 M N K FLOPs, (M K + K N + M N) x size: all three of one type; bytes= replaces it where the result
 *              has another one.
 *   attention  4 B H D x (pairs of query and key) FLOPs, for both products; the softmax is not counted. Q and O
 *              are B H SQ D, K and V B kvheads SKV D elements (kvheads = H unless given). Pairs are SQ x SKV.
 *              causal: the last query sees all keys, and half of the square at the end is masked: SQ SKV - SQ^2/2,
 *              for SQ = SKV exactly half, as it is usually counted (the diagonal by half). With SQ > SKV the
 *              first SQ - SKV queries see nothing: SKV^2/2.
 */
#ifndef KBN_WORK_H
#define KBN_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "formula.h"
#include "quantity.h"

/* The types that peaks tell apart. */
enum work_dtype {
	WORK_DTYPE_NONE, /* not given */
	WORK_FP64,
	WORK_FP32,
	WORK_TF32, /* stored in 32 bits */
	WORK_FP16,
	WORK_BF16,
	WORK_FP8,
	WORK_FP4,
	WORK_INT8,
	WORK_INT4,
	WORK_DTYPES
};

enum work_kind { WORK_NONE, WORK_FORMULA, WORK_BYTES, WORK_GEMM, WORK_ATTENTION };

/* "gemm", as `problem.kind` of the contract has it; "formula": FLOPs given; "bytes": bytes alone. */
extern const char *const work_kind_names[];

struct work_dim {
	const char *name; /* "m", "kvheads" */
	int64_t value;    /* causal: 0, 1 */
};
#define WORK_DIMS 7

struct work {
	enum work_kind kind;
	enum work_dtype dtype;
	int64_t flops, bytes; /* of one launch, -1 = not known */
	int64_t elements; /* that must move, of one type; -1 = not known. bytes follow from it */
	struct work_dim dims[WORK_DIMS];
	int dims_n;
	size_t line; /* of the file, 0 = from options */
	bool is_flops_given, is_bytes_given;
};
/* Before the first option. */
#define WORK_INIT                                        \
	{                                                \
		.flops = -1, .bytes = -1, .elements = -1 \
	}

/* A type by any of its names ("fp16", "f16", "half"), in any case; WORK_DTYPE_NONE = no such type. */
enum work_dtype work_dtype_find(const char *name);
const char *work_dtype_name(enum work_dtype dtype); /* "fp16"; NULL of WORK_DTYPE_NONE */
int work_dtype_bits(enum work_dtype dtype);         /* 0 of WORK_DTYPE_NONE */

/* The code says the type, which the user did not: bytes that waited for it are known now. */
void work_set_dtype(struct work *w, enum work_dtype dtype);

/* As quantities, derived from what the user says; unknown with the reason. */
struct quantity work_flops(const struct work *w);
struct quantity work_bytes(const struct work *w);

/*
 * One option: "--flops", "--bytes" (EXPR), "--gemm" (M,N,K[,TYPE]), "--attention" (B,H,SQ,SKV,D[,...]). They add
 * up in *w. `g` NULL checks the notation only: *w is unchanged, but for the parts that say what was given. -1 with
 * ERR_USAGE, *w unchanged, for a wrong one, one given twice, and two that contradict each other.
 */
int work_option(struct work *w, const char *option, const char *text,
		const struct formula_geometry *g, struct err *e);

struct work_file;

/*
 * Read a file of lines, or the text of one (`source` names it in errors). All lines are checked: -1 with file,
 * line and column. ERR_USAGE for what is written there, ERR_IO when it cannot be read.
 */
int work_file_read(struct work_file **out, const char *path, struct err *e);
int work_file_parse(struct work_file **out, const char *source, const char *text, size_t n,
		    struct err *e);
void work_file_free(struct work_file *f);

/*
 * The work of a kernel at a geometry. 1 = *out filled; 0 = no line matches; -1 = its formula cannot be computed at
 * this geometry (division by zero, more than 64 bits), with file, line and column. NULL names match nothing.
 */
int work_file_find(struct work_file *f, const char *mangled, const char *demangled,
		   const char *short_name, const struct formula_geometry *g, struct work *out,
		   struct err *e);

/* The number of the first line behind line `after` (0 = from the start) that never counted; 0 = none. */
size_t work_file_unused(const struct work_file *f, size_t after);

#endif
