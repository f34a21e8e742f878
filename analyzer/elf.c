/*
 * elf.c - reads ELF headers, sections and symbols out of a buf.
 * Input: bytes of any origin. Output: views that lie within them, or an error with the offset.
 */
#include "elf.h"

#include <string.h>

#include "kbn_elf.h"

#define HEADER_BYTES  64u
#define SECTION_BYTES 64u
#define SYMBOL_BYTES  24u

bool elf_is(const struct buf *file)
{
	return file->bytes >= 4 && !memcmp(file->data, "\177ELF", 4);
}

uint16_t elf_machine(const struct buf *file)
{
	struct buf b = *file;

	buf_seek(&b, 18);
	return buf_u16(&b);
}

/* The fields of section header `index`, unchecked but for lying within the table. */
struct raw_section {
	uint32_t name, type, link, info;
	uint64_t flags, offset, bytes;
};

static void read_section(const struct elf *elf, uint32_t index, struct raw_section *r)
{
	struct buf b = elf->file;

	buf_seek(&b, elf->sections_at + (uint64_t)index * SECTION_BYTES);
	r->name = buf_u32(&b);
	r->type = buf_u32(&b);
	r->flags = buf_u64(&b);
	buf_u64(&b); /* address */
	r->offset = buf_u64(&b);
	r->bytes = buf_u64(&b);
	r->link = buf_u32(&b);
	r->info = buf_u32(&b);
}

/* More than 65,279 sections do not fit in the header: then the counts stand in section 0. */
static int find_sections(struct elf *elf, uint32_t count, uint32_t names, struct err *e)
{
	struct raw_section r;
	uint64_t room, n = count;

	if (!elf->sections_at)
		return 0;
	if (elf->sections_at > elf->file.bytes ||
	    elf->file.bytes - elf->sections_at < SECTION_BYTES)
		return err_set(e, ERR_TRUNCATED, (int64_t)(elf->file.origin + 40),
			       "ELF section table lies outside the file");
	room = (elf->file.bytes - elf->sections_at) / SECTION_BYTES;
	read_section(elf, 0, &r);
	if (!count)
		n = r.bytes;
	if (names == 0xffff)
		names = r.link;
	if (n > room || n > UINT32_MAX)
		return err_set(e, ERR_TRUNCATED, (int64_t)(elf->file.origin + elf->sections_at),
			       "ELF section table is cut off");
	elf->sections_n = (uint32_t)n;
	if (!n || !names)
		return 0;
	if (names >= n)
		return err_set(e, ERR_CORRUPT, (int64_t)(elf->file.origin + 62),
			       "ELF section names in section %u of %u", names, elf->sections_n);
	read_section(elf, names, &r);
	if (!buf_part(&elf->file, r.offset, r.bytes, &elf->names))
		return err_set(e, ERR_TRUNCATED,
			       (int64_t)(elf->file.origin + elf->sections_at +
					 (uint64_t)names * SECTION_BYTES),
			       "ELF section names lie outside the file");
	return 0;
}

int elf_open(struct elf *elf, struct buf file, struct err *e)
{
	struct elf result = {.file = file};
	struct buf b = file;
	uint32_t count, names;
	uint8_t class, order;

	buf_seek(&b, 0);
	if (!elf_is(&file))
		return err_set(e, ERR_FORMAT, (int64_t)file.origin, "not an ELF file");
	if (file.bytes < HEADER_BYTES)
		return err_set(e, ERR_TRUNCATED, (int64_t)(file.origin + file.bytes),
			       "ELF file ends within its header");
	buf_seek(&b, 4);
	class = buf_u8(&b);
	order = buf_u8(&b);
	if (class != 2 || order != 1)
		return err_set(e, ERR_VERSION, (int64_t)(file.origin + 4),
			       "not a 64-bit little-endian ELF file");
	buf_seek(&b, 7);
	result.os_abi = buf_u8(&b);
	result.abi_version = buf_u8(&b);
	buf_seek(&b, 16);
	result.type = buf_u16(&b);
	result.machine = buf_u16(&b);
	buf_seek(&b, 40);
	result.sections_at = buf_u64(&b);
	result.flags = buf_u32(&b);
	buf_seek(&b, 58);
	if (buf_u16(&b) != SECTION_BYTES && result.sections_at)
		return err_set(e, ERR_CORRUPT, (int64_t)(file.origin + 58),
			       "ELF section headers of an unknown size");
	count = buf_u16(&b);
	names = buf_u16(&b);
	if (find_sections(&result, count, names, e) < 0)
		return -1;
	*elf = result;
	return 0;
}

int elf_section_at(const struct elf *elf, uint32_t index, struct elf_section *s, struct err *e)
{
	struct elf_section result = {.name = ""};
	struct raw_section r;
	int64_t where =
		(int64_t)(elf->file.origin + elf->sections_at + (uint64_t)index * SECTION_BYTES);

	if (index >= elf->sections_n)
		return err_set(e, ERR_CORRUPT, (int64_t)(elf->file.origin + elf->sections_at),
			       "ELF section %u of %u", index, elf->sections_n);
	read_section(elf, index, &r);
	result.type = r.type;
	result.link = r.link;
	result.info = r.info;
	result.flags = r.flags;
	result.bytes = r.bytes;
	if (elf->names.bytes && r.name)
		result.name = buf_string(&elf->names, r.name);
	if (!result.name)
		return err_set(e, ERR_CORRUPT, where, "ELF section %u has a name without an end",
			       index);
	if (!kbn_elf_is_memory(r.type) && r.type != 0)
		result.is_cut = !buf_part(&elf->file, r.offset, r.bytes, &result.data);
	*s = result;
	return 0;
}

uint64_t elf_extent(const struct elf *elf)
{
	uint64_t end = elf->sections_at + (uint64_t)elf->sections_n * SECTION_BYTES, at, bytes;
	struct buf b = elf->file, part;

	if (!elf->sections_n)
		return 0;
	buf_seek(&b, 32);
	at = buf_u64(&b); /* of the program headers */
	buf_seek(&b, 54);
	bytes = buf_u16(&b);
	bytes *= buf_u16(&b);
	if (buf_part(&elf->file, at, bytes, &part) && at + bytes > end)
		end = at + bytes;
	for (uint32_t i = 1; i < elf->sections_n; i++) {
		struct raw_section r;

		read_section(elf, i, &r);
		if (!kbn_elf_is_memory(r.type) && buf_part(&elf->file, r.offset, r.bytes, &part) &&
		    r.offset + r.bytes > end)
			end = r.offset + r.bytes;
	}
	return end;
}

uint32_t elf_symbols(const struct elf_section *symtab)
{
	uint64_t n = symtab->data.bytes / SYMBOL_BYTES;

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

void elf_symbol_at(const struct elf_section *symtab, const struct elf_section *strings,
		   uint32_t index, struct elf_symbol *s)
{
	struct buf b = symtab->data;
	const char *name;

	buf_seek(&b, (uint64_t)index * SYMBOL_BYTES);
	name = buf_string(&strings->data, buf_u32(&b));
	s->name = name ? name : "";
	s->type = buf_u8(&b) & 15;
	s->other = buf_u8(&b);
	s->section = buf_u16(&b);
	s->value = buf_u64(&b);
	s->bytes = buf_u64(&b);
}
