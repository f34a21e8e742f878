/*
 * cubin.h - one cubin (the ELF file that a GPU runs): its functions with their code and resources.
 * Input: bytes in memory, which must outlive the result. Output: views and numbers.
 * Leaves instructions to sass.c, and what the numbers mean for a launch to occupancy.c.
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

/* A function with a text section of its own. Values not stated in the file are 0. */
struct cubin_function {
	const char *name;
	bool is_kernel;             /* false: a device function of relocatable code */
	struct buf code;            /* origin = offset in the cubin */
	uint32_t section;           /* of the code */
	uint32_t symbol;            /* of the function */
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
	struct buf exits;          /* u32 code offsets of EXIT instructions */
	struct buf branch_targets; /* raw INDIRECT_BRANCH_TARGETS payloads, first of them */
	bool has_annotations;      /* the compiler marks spills: `spills` is exact, also when 0 */
	uint32_t spills;           /* instructions that spill or refill a register */
	struct buf annotations;    /* pairs {u32 kind, u32 code offset}; kind 1 = spill */
};

struct cubin {
	struct buf file;
	uint32_t sm;           /* 90 */
	bool is_arch_specific; /* built for sm_90a and the like */
	uint32_t virtual_sm;   /* compute_XX it was compiled from, 0 = not stated */
	uint32_t cuda_version; /* of the toolkit, 130 = 13.0; 0 = not stated */
	uint8_t abi;           /* 7 or 8 */
	bool is_relocatable;
	bool is_debug;                    /* -G */
	bool has_lines;                   /* -lineinfo or -G */
	const char *command;              /* command line of the assembler, "" = not stated */
	struct cubin_function *functions; /* in file order */
	size_t functions_n;
	struct keymap by_name;
	struct arena *arena;
};

/* Read all metadata. Fails with the offset of the fault; a cubin is taken whole or not at all. */
int cubin_open(struct cubin *c, struct buf file, struct err *e);
void cubin_close(struct cubin *c);

/* The function of that mangled name, or NULL. */
const struct cubin_function *cubin_find(const struct cubin *c, const char *name);

#endif
