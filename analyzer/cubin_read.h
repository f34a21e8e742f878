/*
 * cubin_read.h - what the files that read a cubin share; nobody else includes it.
 * cubin.c walks sections and symbols, cubin_info.c reads the attribute records of functions.
 */
#ifndef KBN_CUBIN_READ_H
#define KBN_CUBIN_READ_H

#include "cubin.h"
#include "elf.h"
#include "vec.h"

/* Lists of all functions together, by function only when they are complete. */
struct param {
	uint32_t function, ordinal;
	struct cubin_param p;
};

struct spill {
	uint32_t function, offset;
};

struct branch {
	uint32_t function;
	struct cubin_branch b;
};

struct part {
	uint32_t function;
	struct cubin_part p;
};

struct reloc {
	uint32_t function;
	struct cubin_reloc r;
};

struct reader {
	struct cubin *c;
	struct elf elf;
	VEC(struct cubin_function) functions;
	VEC(struct param) params;
	VEC(struct spill) spills;
	VEC(struct branch) branches;
	VEC(struct part) parts;
	VEC(struct reloc) relocs;
	VEC(struct cubin_bank) banks;
	uint32_t *of_section;     /* function + 1 by text section */
	uint32_t *of_symbol;      /* function + 1 by symbol */
	uint32_t *part_of_symbol; /* part + 1 by symbol */
	uint32_t symbols_n;
	struct elf_section symtab, strings;
};

int cubin_no_memory(const struct reader *r, struct err *e);

/* Records about all functions of the module, about one of them, and about the cubin (.nv.compat). */
int cubin_module_info(struct reader *r, const struct elf_section *s, struct err *e);
int cubin_function_info(struct reader *r, uint32_t function, const struct elf_section *s,
			struct err *e);
int cubin_compat(struct reader *r, const struct elf_section *s, struct err *e);

#endif
