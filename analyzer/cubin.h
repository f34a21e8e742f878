/*
 * cubin.h - one cubin (the ELF file that a GPU runs): its functions with their code and resources.
 * Input: bytes in memory, which must outlive the result. Output: views and numbers.
 * Leaves instructions to sass.c, source lines to line_table.c, and what the numbers mean for a launch to occupancy.c.
 * Reads both layouts of the header: the one of CUDA up to 12 and the one that CUDA 13 writes.
 */
#ifndef KBN_CUBIN_H
#define KBN_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "keymap.h"

struct arena;

struct cubin_param {
	uint32_t offset, bytes;
}; /* offset within the parameter block */

/* A function kept in the text of another: a device function out of line, a helper of the compiler. */
struct cubin_part {
	const char *name;       /* $kernel$function, $__internal_0_$__cuda_sm20_div_rn_f64_full */
	uint32_t offset, bytes; /* within the code of the function around it */
	uint32_t frame_bytes;   /* stack frame of its own */
};

/* An indirect branch and the places where it can go, all of them offsets within the code. */
struct cubin_branch {
	uint32_t offset;
	const uint32_t *targets;
	uint32_t targets_n;
};

/* A place in the code that the linker or the driver fills in. */
struct cubin_reloc {
	uint64_t offset; /* within the code */
	uint32_t type;   /* R_CUDA_* */
	const char *symbol;
	int64_t addend;
};

/* A function with a text section of its own. Values not stated in the file are 0. */
struct cubin_function {
	const char *name;
	bool is_kernel;           /* false: a device function of relocatable code */
	struct buf code;          /* origin = offset in the cubin */
	uint32_t section;         /* of the code */
	uint32_t symbol;          /* of the function */
	struct cubin_part *parts; /* by offset */
	size_t parts_n;
	uint32_t registers;         /* per thread */
	uint32_t max_registers;     /* ceiling given to the compiler, 0 = none */
	uint32_t static_smem_bytes; /* without what the system reserves */
	uint32_t frame_bytes;       /* stack frame of the function alone */
	uint32_t stack_bytes;       /* with all it calls, as far as known */
	uint32_t local_bytes;       /* local data outside the stack; normally 0 */
	uint32_t barriers;          /* named barriers */
	bool uses_syscalls;      /* itself calls into the driver's code: assert, printf, malloc */
	uint32_t max_threads[3]; /* __launch_bounds__; 0,0,0 = none */
	uint32_t block[3];       /* block size demanded by reqntid; 0,0,0 = none */
	uint32_t cluster[3];     /* compiled-in cluster shape; 0,0,0 = none */
	bool needs_cluster;      /* must be launched as a cluster (of any size) */
	uint32_t const0_bytes;   /* size of constant bank 0 */
	uint32_t param_base;     /* offset of the parameters in constant bank 0 */
	uint32_t param_bytes;
	struct cubin_param *params; /* by ordinal */
	size_t params_n;
	struct buf exits;              /* u32 code offsets of EXIT instructions */
	struct cubin_branch *branches; /* by offset */
	size_t branches_n;
	bool has_annotations;       /* the compiler marks spills: `spills` is exact, also when 0 */
	uint32_t spills;            /* instructions that spill or refill a register */
	uint32_t *spills_at;        /* their code offsets, ascending */
	struct cubin_reloc *relocs; /* of the code, by offset */
	size_t relocs_n;
};

#define CUBIN_ALL UINT32_MAX

/* The initial content of a constant bank. */
struct cubin_bank {
	uint32_t number;   /* 3 as in c[0x3][...] */
	uint32_t function; /* index of the only one that sees it, CUBIN_ALL = the whole module */
	uint64_t bytes;
	struct buf data; /* empty when the file states only the size */
};

struct cubin {
	struct buf file;
	uint32_t sm;           /* 90 */
	char suffix;           /* 'a' as in sm_90a, 'f' as in sm_100f; 0 = none, or not stated */
	uint32_t virtual_sm;   /* compute_XX it was compiled from, 0 = not stated */
	uint32_t cuda_version; /* of the toolkit, 130 = 13.0; 0 = not stated */
	uint8_t abi;           /* 7 or 8 */
	bool is_relocatable;
	bool is_debug;                    /* -G, or -g of the assembler: code is not optimised */
	bool has_lines;                   /* -lineinfo or -G */
	const char *command;              /* command line of the assembler, "" = not stated */
	struct cubin_function *functions; /* in file order */
	size_t functions_n;
	uint32_t sections_n;
	struct cubin_bank *banks; /* in file order */
	size_t banks_n;
	struct keymap by_name;
	struct arena *arena;
};

/*
 * Where the driver puts what a kernel finds in constant bank 0, as offsets within it. Block and grid
 * are three 32-bit sizes x, y, z each. Learnt from code of the assembler of CUDA 13.0 for sm_75 to sm_120.
 */
struct cubin_layout {
	uint32_t block, grid;
	uint32_t stack; /* the initial stack pointer */
	uint32_t params; /* the first parameter; cubin_function.param_base of each kernel says the same */
};

const struct cubin_layout *cubin_layout(uint32_t sm);

/* Read all metadata. Fails with the offset of the fault; a cubin is taken whole or not at all. */
int cubin_open(struct cubin *c, struct buf file, struct err *e);
void cubin_close(struct cubin *c);

/* What the cubin was built for, without the rest: 90 and 'a' for sm_90a. Fails as cubin_open does. */
int cubin_target(struct buf file, uint32_t *sm, char *suffix, struct err *e);

/* The function of that mangled name, or NULL. */
const struct cubin_function *cubin_find(const struct cubin *c, const char *name);

#endif
