/*
 * elf.h - 64-bit little-endian ELF, sections only, bounds-checked: enough for cubins and for host
 * files that carry fat binaries. Input: bytes. Output: sections as views into them.
 * Leaves the meaning of sections to cubin.c and fatbin.c. (libelf is not used here: it wants to own
 * the file, and its answers to damaged headers are not those of a reader of hostile input.)
 */
#ifndef KBN_ELF_H
#define KBN_ELF_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define ELF_MACHINE_CUDA 190u
#define ELF_SYMTAB       2u

struct elf {
	struct buf file;
	uint8_t os_abi, abi_version;
	uint16_t type, machine;
	uint32_t flags;
	uint64_t sections_at; /* offset of the section table */
	uint32_t sections_n;  /* 0 = no section table */
	struct buf names;
};

struct elf_section {
	const char *name; /* "" = none */
	uint32_t type, link, info;
	uint64_t flags;
	uint64_t bytes;  /* sh_size, also of sections without data */
	struct buf data; /* empty where kbn_elf_is_memory() */
	bool is_cut;     /* the data lie outside the file; then `data` is empty */
};

struct elf_symbol {
	const char *name; /* "" = none */
	uint8_t type;     /* STT_*: 2 = function */
	uint8_t other;
	uint16_t section;
	uint64_t value, bytes;
};

/* Does `file` begin like an ELF file? */
bool elf_is(const struct buf *file);

/* The machine number of an ELF file, 0 when the file ends before it. */
uint16_t elf_machine(const struct buf *file);

/* Check the headers. Fails on 32-bit and big-endian files, and on a section table outside the file. */
int elf_open(struct elf *elf, struct buf file, struct err *e);

/*
 * Section `index` < sections_n; fails when its name lies outside the file. Data that do are for the
 * caller to judge: debug sections of shipped cubins have sizes without data.
 */
int elf_section_at(const struct elf *elf, uint32_t index, struct elf_section *s, struct err *e);

/*
 * Where the file ends: behind the last of its tables and sections that lie within `file`, which may go
 * on with other matter. 0 when it has no sections.
 */
uint64_t elf_extent(const struct elf *elf);

/* Number of symbols in a symbol table, and the one at `index`, named from the string table `strings`. */
uint32_t elf_symbols(const struct elf_section *symtab);
void elf_symbol_at(const struct elf_section *symtab, const struct elf_section *strings,
		   uint32_t index, struct elf_symbol *s);

#endif
