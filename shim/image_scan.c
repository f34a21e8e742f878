/*
 * image_scan.c - reads code images in place: kind, length, entries of a fat binary, SM number.
 * Input: memory that the program handed to the driver, or hostile bytes in a test. No allocation, no
 * state. Every field is read by memcpy from inside the known length, every sum is checked; an image
 * that does not add up is refused. Storing is image.c's.
 */
#include "image.h"

#include <string.h>

#include "image_scan.h"
#include "kbn_elf.h"

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Raise *end to offset + bytes. False when that lies beyond the limit or is absurd. */
static bool reach(size_t *end, uint64_t offset, uint64_t bytes, size_t limit)
{
	if (offset > IMAGE_BYTES_MAX || bytes > IMAGE_BYTES_MAX || offset + bytes > limit ||
	    offset + bytes > IMAGE_BYTES_MAX)
		return false;
	if (offset + bytes > *end)
		*end = (size_t)(offset + bytes);
	return true;
}

/* --------------------------------------------------------------------------------------- ELF */

#define ELF_HEADER   64u
#define ELF_SECTION  64u
#define ELF_SEGMENT  56u
#define PN_XNUM_     0xffffu
#define ELF_OSABI_13 0x41u /* CUDA 13: the SM number stands in bits 8..23 of e_flags */

static int elf_extent(const uint8_t *elf, size_t limit, size_t *bytes)
{
	uint64_t shoff, phoff, shnum, phnum;
	size_t end = ELF_HEADER;

	if (limit < ELF_HEADER || elf[4] != 2 || elf[5] != 1) /* 64-bit, little-endian */
		return -1;
	phoff = get64(elf + 32);
	shoff = get64(elf + 40);
	phnum = get16(elf + 56);
	shnum = get16(elf + 60);
	if ((phnum && get16(elf + 54) != ELF_SEGMENT) || (shoff && get16(elf + 58) != ELF_SECTION))
		return -1;
	/* Counts that do not fit 16 bits stand in section 0. */
	if (shoff && (!shnum || phnum == PN_XNUM_)) {
		if (!reach(&end, shoff, ELF_SECTION, limit))
			return -1;
		if (!shnum)
			shnum = get64(elf + shoff + 32);
		if (phnum == PN_XNUM_)
			phnum = get32(elf + shoff + 44);
	}
	if (shnum > IMAGE_BYTES_MAX / ELF_SECTION)
		return -1;
	if ((shoff && !reach(&end, shoff, shnum * ELF_SECTION, limit)) ||
	    (phnum && !reach(&end, phoff, phnum * ELF_SEGMENT, limit)))
		return -1;
	for (uint64_t i = 0; shoff && i < shnum; i++) {
		const uint8_t *s = elf + shoff + i * ELF_SECTION;

		/* In section 0 the size field may be a count. */
		if (i && !kbn_elf_is_memory(get32(s + 4)) &&
		    !reach(&end, get64(s + 24), get64(s + 32), limit))
			return -1;
	}
	for (uint64_t i = 0; i < phnum; i++) {
		const uint8_t *p = elf + phoff + i * ELF_SEGMENT;

		if (!reach(&end, get64(p + 8), get64(p + 32), limit))
			return -1;
	}
	*bytes = end;
	return 0;
}

static uint32_t elf_sm(const uint8_t *elf, size_t bytes)
{
	uint32_t flags;

	if (bytes < ELF_HEADER || get16(elf + 18) != 190) /* EM_CUDA */
		return 0;
	flags = get32(elf + 48);
	return elf[7] == ELF_OSABI_13 ? flags >> 8 & 0xffff : flags & 0xff;
}

/* --------------------------------------------------------------------------------------- PTX */

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Offset of the first byte that is neither blank nor comment; `n` when there is none. */
static size_t skip_blank(const uint8_t *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i]) {
		if (is_space(s[i])) {
			i++;
		} else if (s[i] == '/' && i + 1 < n && s[i + 1] == '/') {
			while (i < n && s[i] && s[i] != '\n')
				i++;
		} else if (s[i] == '/' && i + 1 < n && s[i + 1] == '*') {
			for (i += 2; i < n && s[i]; i++)
				if (s[i] == '*' && i + 1 < n && s[i + 1] == '/')
					break;
			i += i < n && s[i] ? 2 : 0;
		} else {
			return i;
		}
	}
	return n;
}

static bool starts_with(const uint8_t *s, size_t n, const char *word)
{
	for (size_t i = 0; word[i]; i++)
		if (i >= n || s[i] != (uint8_t)word[i])
			return false;
	return true;
}

static int ptx_extent(const uint8_t *text, size_t limit, size_t *bytes)
{
	size_t cap = limit < IMAGE_BYTES_MAX ? limit : IMAGE_BYTES_MAX;
	size_t at = skip_blank(text, cap);

	if (at >= cap || !starts_with(text + at, cap - at, ".version"))
		return -1;
	*bytes = strnlen((const char *)text, cap);
	return *bytes < cap || cap == limit ? 0 : -1;
}

static uint32_t ptx_sm(const uint8_t *text, size_t bytes)
{
	size_t head = bytes < 65536 ? bytes : 65536; /* directives come first */

	for (size_t i = 0; i + 8 < head; i++) {
		uint32_t sm = 0;

		if (text[i] != '.' || !starts_with(text + i, head - i, ".target"))
			continue;
		for (i += 7; i < head && is_space(text[i]); i++)
			;
		if (!starts_with(text + i, head - i, "sm_"))
			return 0;
		for (i += 3; i < head && text[i] >= '0' && text[i] <= '9' && sm < 1000; i++)
			sm = sm * 10 + (uint32_t)(text[i] - '0');
		return sm;
	}
	return 0;
}

/* -------------------------------------------------------------------------------- containers */

/* Length of the container at `c` with its header, or 0. */
static size_t container_bytes(const uint8_t *c, size_t limit)
{
	size_t end = 0;

	if (limit < CONTAINER_HEADER || get32(c) != CONTAINER_MAGIC || get16(c + 4) != 1 ||
	    get16(c + 6) != CONTAINER_HEADER || !reach(&end, CONTAINER_HEADER, get64(c + 8), limit))
		return 0;
	return end;
}

bool kbn_image_entry(const uint8_t *container, size_t bytes, size_t offset, struct image_entry *e)
{
	const uint8_t *p = container + offset;
	uint64_t header, payload;

	if (offset < CONTAINER_HEADER || offset > bytes || bytes - offset < ENTRY_HEADER)
		return false;
	header = get32(p + 4);
	payload = get64(p + 8);
	if (header < ENTRY_HEADER || header > bytes - offset || payload > bytes - offset - header)
		return false;
	e->offset = offset;
	e->bytes = (size_t)(header + payload);
	e->kind = get16(p);
	e->sm = get32(p + 28);
	e->flags = get64(p + 40);
	return true;
}

bool kbn_image_fits(const struct image_entry *e, int sm)
{
	uint32_t device = (uint32_t)sm;

	if (e->sm > device || (e->flags & ENTRY_ARCH && e->sm != device))
		return false;
	/* Cubins and family PTX stay within the major version; plain PTX runs on everything later. */
	if (e->kind == ENTRY_CUBIN || e->flags & ENTRY_FAMILY)
		return e->sm / 10 == device / 10;
	return true;
}

/* Of two entries that fit, the later SM is nearer to the device; then a, then f, then plain. */
static uint64_t rank(const struct image_entry *e)
{
	return (uint64_t)e->sm << 2 | (e->flags & ENTRY_ARCH ? 2 : 0) |
	       (e->flags & ENTRY_FAMILY ? 1 : 0);
}

long kbn_image_select_kind(const uint8_t *container, size_t bytes, int sm, unsigned kind)
{
	struct image_entry e;
	uint64_t best_rank = 0;
	long best = -1;

	for (size_t at = CONTAINER_HEADER; kbn_image_entry(container, bytes, at, &e);
	     at += e.bytes) {
		if (e.kind != kind || !kbn_image_fits(&e, sm))
			continue;
		if (best < 0 || rank(&e) > best_rank) {
			best = (long)at;
			best_rank = rank(&e);
		}
	}
	return best;
}

long kbn_image_select(const uint8_t *container, size_t bytes, int sm)
{
	size_t whole = container_bytes(container, bytes);
	long best;

	if (!whole || sm <= 0)
		return -1;
	best = kbn_image_select_kind(container, whole, sm, ENTRY_CUBIN);
	return best >= 0 ? best : kbn_image_select_kind(container, whole, sm, ENTRY_PTX);
}

/* ------------------------------------------------------------------------------------ public */

int kbn_image_extent(const void *data, size_t limit, enum kbn_image_kind *kind, size_t *bytes)
{
	const uint8_t *p = data;
	uint32_t magic = 0;
	size_t n = 0, more;

	/* One byte at a time: a short text must not be read as a word past its NUL. */
	for (size_t i = 0; i < 4 && i < limit; i++) {
		magic |= (uint32_t)p[i] << 8 * i;
		if (!p[i])
			break;
	}
	switch (magic) {
	case WRAPPER_MAGIC:
		if (limit < WRAPPER_BYTES || get32(p + 4) < 1 || get32(p + 4) > 2)
			return -1;
		n = WRAPPER_BYTES;
		*kind = KBN_KIND_FATBIN;
		break;
	case CONTAINER_MAGIC:
		n = container_bytes(p, limit);
		if (!n)
			return -1;
		while (limit != SIZE_MAX && n < limit && (more = container_bytes(p + n, limit - n)))
			n += more;
		*kind = KBN_KIND_FATBIN;
		break;
	case ELF_MAGIC:
		if (elf_extent(p, limit, &n) < 0)
			return -1;
		*kind = KBN_KIND_CUBIN;
		break;
	default:
		if (ptx_extent(p, limit, &n) < 0)
			return -1;
		*kind = KBN_KIND_PTX;
	}
	*bytes = n;
	return 0;
}

uint32_t kbn_image_sm(const void *data, size_t bytes, enum kbn_image_kind kind)
{
	switch (kind) {
	case KBN_KIND_CUBIN: return elf_sm(data, bytes);
	case KBN_KIND_PTX: return ptx_sm(data, bytes);
	default: return 0;
	}
}
