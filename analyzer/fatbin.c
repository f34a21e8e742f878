/*
 * fatbin.c - walks fat binary containers and unpacks their entries.
 * Input: bytes of any origin. Output: entries as views, unpacked bytes within a limit.
 */
#include "fatbin.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define CONTAINER_BYTES 16u
#define CONTAINER_HEAD  (1 | CONTAINER_BYTES << 16) /* version and header size */
#define ENTRY_BYTES     64u
#define ELF_MAGIC       0x464c457fu

#define FLAG_DEBUG  0x2u
#define FLAG_LZ4    0x2000u
#define FLAG_ZSTD   0x8000u
#define FLAG_ARCH   0x100000u
#define FLAG_FAMILY 0x200000u

static uint32_t word_at(const struct buf *b, size_t at)
{
	struct buf copy = *b;

	buf_seek(&copy, at);
	return buf_u32(&copy);
}

enum place { PLACE_END, PLACE_CONTAINER, PLACE_ELF };

/* Move the cursor to the next container at or behind it; of a scan also to an ELF file. */
static enum place find_place(struct fatbin *f)
{
	const uint8_t *data = f->data.data;

	/* Host files have hundreds of megabytes to pass over: no call for each word of them. */
	for (size_t at = (f->data.at + 7) / 8 * 8;
	     at < f->data.bytes && f->data.bytes - at >= CONTAINER_BYTES; at += 8) {
		uint32_t head[2];

		memcpy(head, data + at, sizeof(head));
		if (f->is_scan && head[0] == ELF_MAGIC) {
			buf_seek(&f->data, at);
			return PLACE_ELF;
		}
		if (head[0] != FATBIN_MAGIC || (f->is_scan && head[1] != CONTAINER_HEAD))
			continue;
		buf_seek(&f->data, at);
		return PLACE_CONTAINER;
	}
	f->data.at = f->end = f->data.bytes;
	return PLACE_END;
}

/* Read the container header at the cursor and leave the cursor at its first entry. */
static int enter_container(struct fatbin *f, struct err *e)
{
	int64_t where = buf_where(&f->data);
	size_t start = f->data.at;
	uint16_t version, header_bytes;
	uint64_t payload, room;

	buf_u32(&f->data); /* magic */
	version = buf_u16(&f->data);
	header_bytes = buf_u16(&f->data);
	payload = buf_u64(&f->data);
	/* In case of an error the search goes on behind this magic number. */
	f->end = start + 8;
	f->data.at = f->end;
	if (version != 1)
		return err_set(e, ERR_VERSION, where, "fat binary container of version %u",
			       version);
	if (header_bytes < CONTAINER_BYTES || header_bytes > f->data.bytes - start)
		return err_set(e, ERR_CORRUPT, where,
			       "fat binary container with a header of %u bytes", header_bytes);
	f->data.at = start + header_bytes;
	room = f->data.bytes - f->data.at;
	f->is_truncated = payload > room;
	f->end = f->data.at + (size_t)(payload < room ? payload : room);
	return 0;
}

static enum fatbin_packing packing_of(uint64_t flags)
{
	return flags & FLAG_ZSTD ? FATBIN_ZSTD : flags & FLAG_LZ4 ? FATBIN_LZ4 : FATBIN_STORED;
}

/* The rest of the container cannot be found any more. It may be the file that ends too early. */
static int damaged(struct fatbin *f, int64_t where, const char *what, struct err *e)
{
	f->data.at = f->end;
	return err_set(e, f->is_truncated ? ERR_TRUNCATED : ERR_CORRUPT, where,
		       "fat binary entry %s", what);
}

static int read_entry(struct fatbin *f, struct fatbin_entry *entry, struct err *e)
{
	struct fatbin_entry n = {.offset = (uint64_t)buf_where(&f->data)};
	struct buf b = f->data;
	size_t start = b.at, left = f->end - start;
	uint32_t header_bytes, packed_bytes;
	uint64_t padded_bytes, flags;
	int64_t where = (int64_t)n.offset;

	if (left < ENTRY_BYTES)
		return damaged(f, where, "ends within its header", e);
	n.kind = buf_u16(&b);
	buf_u16(&b); /* version */
	header_bytes = buf_u32(&b);
	padded_bytes = buf_u64(&b);
	packed_bytes = buf_u32(&b);
	buf_u32(&b); /* options */
	n.minor = buf_u16(&b);
	n.major = buf_u16(&b);
	n.sm = buf_u32(&b);
	buf_u64(&b); /* name */
	flags = buf_u64(&b);
	buf_u64(&b);
	n.bytes = buf_u64(&b);
	if (header_bytes < ENTRY_BYTES || header_bytes > left)
		return damaged(f, where, "has a header of impossible size", e);
	if (padded_bytes > left - header_bytes)
		return damaged(f, where, "reaches past the end of its container", e);
	if (packed_bytes > padded_bytes)
		return damaged(f, where, "has a packed size above its room", e);
	n.is_debug = flags & FLAG_DEBUG;
	n.is_arch_specific = flags & FLAG_ARCH;
	n.is_family_specific = flags & FLAG_FAMILY;
	n.packing = packing_of(flags);
	if (n.packing == FATBIN_STORED || !packed_bytes || !n.bytes) {
		n.packing = FATBIN_STORED;
		packed_bytes = 0;
		n.bytes = padded_bytes;
	}
	buf_part(&f->data, start + header_bytes, packed_bytes ? packed_bytes : padded_bytes,
		 &n.payload);
	f->data.at = start + header_bytes + (size_t)padded_bytes;
	*entry = n;
	return 1;
}

int fatbin_open(struct fatbin *f, struct buf data, struct err *e)
{
	struct fatbin result = {.data = data};

	buf_seek(&result.data, 0);
	/* A wrapper holds pointers, which mean nothing in a file: its container is looked for. */
	if (data.bytes < 4 ||
	    (word_at(&data, 0) != FATBIN_MAGIC && word_at(&data, 0) != FATBIN_WRAPPER_MAGIC))
		return err_set(e, ERR_FORMAT, (int64_t)data.origin, "not a fat binary");
	if (data.bytes < CONTAINER_BYTES)
		return err_set(e, ERR_TRUNCATED, (int64_t)(data.origin + data.bytes),
			       "fat binary ends within its header");
	if (find_place(&result) == PLACE_END)
		return err_set(e, ERR_FORMAT, (int64_t)data.origin,
			       "fat binary wrapper without a container");
	*f = result;
	return 0;
}

int fatbin_next(struct fatbin *f, struct fatbin_entry *entry, struct err *e)
{
	while (f->data.at >= f->end) {
		const enum place place = find_place(f);

		if (place == PLACE_END)
			return 0;
		if (place == PLACE_ELF)
			return FATBIN_MET_ELF;
		if (enter_container(f, e) < 0)
			return -1;
	}
	return read_entry(f, entry, e);
}

/* ---- unpacking */

static size_t zstd_unpack(const struct buf *in, uint8_t *out, size_t room)
{
	size_t got = ZSTD_decompress(out, room, in->data, in->bytes);

	return ZSTD_isError(got) ? 0 : got;
}

static size_t lz4_unpack(const struct buf *in, uint8_t *out, size_t room)
{
	int got;

	if (in->bytes > LZ4_MAX_INPUT_SIZE || room > INT32_MAX)
		return 0;
	got = LZ4_decompress_safe((const char *)in->data, (char *)out, (int)in->bytes, (int)room);
	return got < 0 ? 0 : (size_t)got;
}

/* Unpack into `room` bytes; the number of bytes that came out, 0 = damaged. */
static size_t unpack(const struct fatbin_entry *entry, uint8_t *out, size_t room)
{
	switch (entry->packing) {
	case FATBIN_ZSTD: return zstd_unpack(&entry->payload, out, room);
	case FATBIN_LZ4: return lz4_unpack(&entry->payload, out, room);
	default: break;
	}
	if (room != entry->payload.bytes)
		return 0;
	if (room)
		memcpy(out, entry->payload.data, room);
	return room;
}

/* Room to unpack to. Link-time code may have to be copied as it is, see unpack_checked(). */
static uint64_t room_for(const struct fatbin_entry *entry)
{
	uint64_t packed = entry->kind == FATBIN_LTO ? entry->payload.bytes : 0;

	return entry->bytes > packed ? entry->bytes : packed;
}

/* Unpack to `out`, which has the room that room_for() says. */
static int unpack_checked(const struct fatbin_entry *entry, uint8_t *out, size_t *bytes,
			  struct err *e)
{
	*bytes = (size_t)entry->bytes;
	if (unpack(entry, out, *bytes) == *bytes)
		return 0;
	/* Link-time code bears the marks of a packed entry without being packed. */
	if (entry->kind == FATBIN_LTO) {
		*bytes = entry->payload.bytes;
		memcpy(out, entry->payload.data, *bytes);
		return 0;
	}
	return err_set(e, ERR_CORRUPT, (int64_t)entry->payload.origin,
		       "%s payload of a fat binary entry is damaged",
		       entry->packing == FATBIN_ZSTD ? "zstd" : "LZ4");
}

static int no_room(const struct fatbin_entry *entry, struct err *e)
{
	return err_set(e, ERR_MEMORY, (int64_t)entry->offset,
		       "no memory for a fat binary entry of %llu bytes",
		       (unsigned long long)entry->bytes);
}

static int check_limit(const struct fatbin_entry *entry, uint64_t limit, struct err *e)
{
	if (room_for(entry) <= FATBIN_ENTRY_MAX && room_for(entry) <= limit)
		return 0;
	return err_set(e, ERR_LIMIT, (int64_t)entry->offset,
		       "fat binary entry of %llu bytes is above the limit",
		       (unsigned long long)entry->bytes);
}

int fatbin_unpack(const struct fatbin_entry *entry, uint64_t *budget, uint8_t **out, size_t *bytes,
		  struct err *e)
{
	uint8_t *data;
	size_t n;

	if (check_limit(entry, *budget, e) < 0)
		return -1;
	data = malloc((size_t)room_for(entry) + 1);
	if (!data)
		return no_room(entry, e);
	if (unpack_checked(entry, data, &n, e) < 0) {
		free(data);
		return -1;
	}
	*budget -= n;
	*out = data;
	*bytes = n;
	return 0;
}

int fatbin_view(const struct fatbin_entry *entry, struct fatbin_room *room, struct buf *out,
		struct err *e)
{
	size_t n;

	if (entry->packing == FATBIN_STORED) {
		*out = buf_of(entry->payload.data, entry->payload.bytes);
		return 0;
	}
	if (check_limit(entry, FATBIN_ENTRY_MAX, e) < 0)
		return -1;
	if (room->bytes < room_for(entry)) {
		/* not realloc: the old content would be copied for nothing */
		free(room->data);
		room->bytes = 0;
		room->data = malloc((size_t)room_for(entry));
		if (!room->data)
			return no_room(entry, e);
		room->bytes = (size_t)room_for(entry);
	}
	if (unpack_checked(entry, room->data, &n, e) < 0)
		return -1;
	*out = buf_of(room->data, n);
	return 0;
}

/* ---- selection */

/* Cubins are above any PTX. */
uint32_t fatbin_fitness(const struct fatbin_entry *n, uint32_t sm)
{
	uint32_t rank = n->is_arch_specific ? 2 : n->is_family_specific ? 1 : 0;

	if (n->sm > sm || n->sm > 10000 || (n->kind != FATBIN_CUBIN && n->kind != FATBIN_PTX))
		return 0;
	if (n->is_arch_specific && n->sm != sm)
		return 0;
	if ((n->is_family_specific || n->kind == FATBIN_CUBIN) && n->sm / 10 != sm / 10)
		return 0;
	return (n->kind == FATBIN_CUBIN ? 1u << 20 : 0) + n->sm * 4 + rank + 1;
}

int fatbin_select(struct buf data, uint32_t sm, struct fatbin_entry *entry, struct err *e)
{
	struct fatbin_entry n;
	struct fatbin f;
	uint32_t best = 0;
	int rc;

	if (fatbin_open(&f, data, e) < 0)
		return -1;
	while ((rc = fatbin_next(&f, &n, e)) > 0) {
		uint32_t fits = fatbin_fitness(&n, sm);

		if (fits > best) {
			best = fits;
			*entry = n;
		}
	}
	/* What was found before a damaged part is still right, but a better one may have been lost. */
	return best ? 1 : rc;
}
