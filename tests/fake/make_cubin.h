/*
 * make_cubin.h - small but real images made at run time, so that no test needs a toolkit: a cubin
 * with kernels, registers and a parameter table, and a fat binary around such images.
 *
 * Used by the clients and by the stand-in driver's linker. No code in them would run anywhere.
 */
#ifndef KBN_MAKE_CUBIN_H
#define KBN_MAKE_CUBIN_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct make_kernel {
	const char *name;
	uint32_t params; /* 8-byte parameters, unless big is set */
	uint32_t big;    /* one parameter of so many bytes */
	uint32_t registers;
	uint32_t smem; /* static, without what the system reserves */
};

struct make_buffer {
	unsigned char *at;
	size_t bytes;
};

static inline size_t make_put(struct make_buffer *b, const void *data, size_t bytes)
{
	size_t at = b->bytes;

	b->at = realloc(b->at, b->bytes + bytes + 16);
	memcpy(b->at + at, data, bytes);
	b->bytes += bytes;
	return at;
}

static inline void make_align(struct make_buffer *b, size_t align)
{
	static const unsigned char zeros[128];

	if (b->bytes % align)
		make_put(b, zeros, align - b->bytes % align);
}

static inline uint32_t make_string(struct make_buffer *b, const char *prefix, const char *name)
{
	char text[600];
	int n = snprintf(text, sizeof(text), "%s%s", prefix, name);

	return (uint32_t)make_put(b, text, (size_t)n + 1);
}

static inline void make_info(struct make_buffer *b, uint8_t code, const uint32_t *words, uint16_t n)
{
	unsigned char head[4] = {4, code, (unsigned char)(n * 4), 0};

	make_put(b, head, 4);
	make_put(b, words, (size_t)n * 4);
}

/* The parameter table of one kernel, highest ordinal first as the tools write it. */
static inline struct make_buffer make_kernel_info(const struct make_kernel *k)
{
	struct make_buffer b = {0};
	uint32_t bytes = k->big ? k->big : k->params * 8;
	unsigned char size[4] = {3, 0x19, (unsigned char)bytes, (unsigned char)(bytes >> 8)};

	make_put(&b, size, 4);
	if (k->big) {
		/* The wide form: size in the low half of the last word. */
		uint32_t wide[3] = {0, 0, k->big};

		make_info(&b, 0x45, wide, 3);
	}
	for (uint32_t i = k->big ? 0 : k->params; i-- > 0;) {
		uint32_t narrow[3] = {0, i | i * 8 << 16, 8u << 18 | 0x1f000};

		make_info(&b, 0x17, narrow, 3);
	}
	return b;
}

/*
 * A cubin for an SM with n kernels. Every kernel gets `code` bytes of text, filled from its name,
 * so that two different sets never have the same bytes. Free with free(result.at).
 */
static inline struct make_buffer make_cubin(int sm, const struct make_kernel *kernels, uint32_t n,
					    size_t code)
{
	struct make_buffer out = {0}, names = {0}, strings = {0}, symbols = {0}, info = {0};
	Elf64_Ehdr head = {0};
	Elf64_Shdr *sections = calloc(6 + 4 * (size_t)n, sizeof(*sections));
	uint32_t count = 1;
	Elf64_Sym none = {0};

	make_put(&out, &head, sizeof(head));
	make_put(&names, "", 1);
	make_put(&strings, "", 1);
	make_put(&symbols, &none, sizeof(none));
	for (uint32_t i = 0; i < n; i++) {
		const struct make_kernel *k = &kernels[i];
		struct make_buffer table = make_kernel_info(k);
		uint32_t text = count, words[2] = {i + 1, k->registers ? k->registers : 32};
		Elf64_Sym s = {0};

		make_info(&info, 0x2f, words, 2);
		make_align(&out, 128);
		sections[count] = (Elf64_Shdr){.sh_name = make_string(&names, ".text.", k->name),
					       .sh_type = SHT_PROGBITS,
					       .sh_flags = 6,
					       .sh_offset = out.bytes,
					       .sh_size = code,
					       .sh_info = i + 1,
					       .sh_addralign = 128};
		count++;
		for (size_t w = 0; w < code; w += 16) {
			unsigned char insn[16] = {0x18, 0x79};

			memcpy(insn + 8, k->name, strlen(k->name) < 8 ? strlen(k->name) : 8);
			insn[4] = (unsigned char)w;
			make_put(&out, insn, 16);
		}
		make_align(&out, 8);
		sections[count] = (Elf64_Shdr){.sh_name = make_string(&names, ".nv.info.", k->name),
					       .sh_type = 0x70000000,
					       .sh_info = text,
					       .sh_offset = out.bytes,
					       .sh_size = table.bytes};
		count++;
		make_put(&out, table.at, table.bytes);
		free(table.at);
		if (k->smem) {
			sections[count] =
				(Elf64_Shdr){.sh_name = make_string(&names, ".nv.shared.", k->name),
					     .sh_type = SHT_NOBITS,
					     .sh_info = text,
					     .sh_offset = out.bytes,
					     .sh_size = k->smem + (sm >= 90 ? 1024u : 0u)};
			count++;
		}
		s.st_name = make_string(&strings, "", k->name);
		s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		s.st_other = 0x10;
		s.st_shndx = (uint16_t)text;
		s.st_size = code;
		make_put(&symbols, &s, sizeof(s));
	}
	make_align(&out, 8);
	sections[count++] = (Elf64_Shdr){.sh_name = make_string(&names, ".nv.info", ""),
					 .sh_type = 0x70000000,
					 .sh_offset = out.bytes,
					 .sh_size = info.bytes};
	make_put(&out, info.at, info.bytes);
	make_align(&out, 8);
	sections[count] = (Elf64_Shdr){.sh_name = make_string(&names, ".symtab", ""),
				       .sh_type = SHT_SYMTAB,
				       .sh_link = count + 1,
				       .sh_info = 1,
				       .sh_offset = out.bytes,
				       .sh_size = symbols.bytes,
				       .sh_entsize = sizeof(none)};
	count++;
	make_put(&out, symbols.at, symbols.bytes);
	sections[count++] = (Elf64_Shdr){.sh_name = make_string(&names, ".strtab", ""),
					 .sh_type = SHT_STRTAB,
					 .sh_offset = out.bytes,
					 .sh_size = strings.bytes};
	make_put(&out, strings.at, strings.bytes);
	sections[count] = (Elf64_Shdr){.sh_name = make_string(&names, ".shstrtab", ""),
				       .sh_type = SHT_STRTAB,
				       .sh_offset = out.bytes};
	sections[count].sh_size = names.bytes;
	count++;
	make_put(&out, names.at, names.bytes);
	make_align(&out, 8);
	memcpy(head.e_ident, ELFMAG, 4);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = 1;
	head.e_ident[EI_OSABI] = 0x41;
	head.e_ident[EI_ABIVERSION] = 8;
	head.e_type = ET_EXEC;
	head.e_machine = 190;
	head.e_version = 1;
	head.e_flags = 0x06000000u | (uint32_t)sm << 8 | (sm < 100 ? 4 : 2);
	head.e_ehsize = sizeof(head);
	head.e_shoff = out.bytes;
	head.e_shentsize = sizeof(*sections);
	head.e_shnum = (uint16_t)count;
	head.e_shstrndx = (uint16_t)(count - 1);
	make_put(&out, sections, count * sizeof(*sections));
	memcpy(out.at, &head, sizeof(head));
	free(sections);
	free(names.at);
	free(strings.at);
	free(symbols.at);
	free(info.at);
	return out;
}

struct make_entry {
	int kind; /* 1 PTX, 2 cubin */
	int sm;
	uint64_t flags; /* 0x100000 a, 0x200000 f, 0x2000 LZ4, 0x8000 zstd: then data is opaque */
	const void *data;
	size_t bytes;
};

/* A fat binary container of n entries. */
static inline struct make_buffer make_container(const struct make_entry *entries, uint32_t n)
{
	struct make_buffer out = {0};
	unsigned char head[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
	uint64_t payload;

	make_put(&out, head, sizeof(head));
	for (uint32_t i = 0; i < n; i++) {
		unsigned char e[64] = {0};
		uint64_t padded = (entries[i].bytes + 7) / 8 * 8, flags = 0x11 | entries[i].flags;
		uint32_t sm = (uint32_t)entries[i].sm;

		e[0] = (unsigned char)entries[i].kind;
		e[2] = e[3] = 1;
		e[4] = 64;
		memcpy(e + 8, &padded, 8);
		e[26] = entries[i].kind == 1 ? 8 : 1;
		memcpy(e + 28, &sm, 4);
		memcpy(e + 40, &flags, 8);
		if (flags & 0xa000) {
			uint32_t packed = (uint32_t)entries[i].bytes;
			uint64_t whole = packed * 4ull;

			memcpy(e + 16, &packed, 4);
			memcpy(e + 56, &whole, 8);
		}
		make_put(&out, e, sizeof(e));
		make_put(&out, entries[i].data, entries[i].bytes);
		make_align(&out, 8);
	}
	payload = out.bytes - 16;
	memcpy(out.at + 8, &payload, 8);
	return out;
}

/* What compiled programs register and load. */
struct make_wrapper {
	uint32_t magic, version;
	const void *data;
	const void *extra;
};

static inline struct make_wrapper make_wrapper(const void *container)
{
	return (struct make_wrapper){0x466243b1u, 1, container, NULL};
}

#endif
