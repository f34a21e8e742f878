/*
 * buf.c - the bounds-checked reader.
 * Input: bytes of any origin. Output: numbers, strings and sub-views that lie within them.
 * Leaves the meaning of the bytes, and all error texts but those of buf_load, to its callers.
 */
#include "buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "formats are little-endian, and so are all CUDA hosts");

struct buf buf_of(const void *data, size_t bytes)
{
	return (struct buf){.data = data, .bytes = bytes};
}

bool buf_part(const struct buf *b, uint64_t offset, uint64_t bytes, struct buf *part)
{
	if (offset > b->bytes || bytes > b->bytes - offset)
		return false;
	*part = (struct buf){
		.data = b->data ? b->data + offset : NULL,
		.bytes = (size_t)bytes,
		.origin = b->origin + offset,
	};
	return true;
}

void buf_seek(struct buf *b, uint64_t at)
{
	if (at > b->bytes) {
		b->short_read = true;
		at = b->bytes;
	}
	b->at = (size_t)at;
}

const uint8_t *buf_take(struct buf *b, uint64_t n)
{
	const uint8_t *p;

	if (n > buf_left(b)) {
		b->short_read = true;
		b->at = b->bytes;
		return NULL;
	}
	/* an empty view may have no address, and not even 0 may be added to none */
	p = b->data ? b->data + b->at : (const uint8_t *)"";
	b->at += (size_t)n;
	return p;
}

void buf_copy(struct buf *b, void *out, size_t n)
{
	const uint8_t *p = buf_take(b, n);

	if (p && n)
		memcpy(out, p, n);
	else
		memset(out, 0, n);
}

uint8_t buf_u8(struct buf *b)
{
	uint8_t v;

	buf_copy(b, &v, sizeof(v));
	return v;
}

uint16_t buf_u16(struct buf *b)
{
	uint16_t v;

	buf_copy(b, &v, sizeof(v));
	return v;
}

uint32_t buf_u32(struct buf *b)
{
	uint32_t v;

	buf_copy(b, &v, sizeof(v));
	return v;
}

uint64_t buf_u64(struct buf *b)
{
	uint64_t v;

	buf_copy(b, &v, sizeof(v));
	return v;
}

static uint64_t leb(struct buf *b, bool is_signed)
{
	unsigned bits = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = buf_u8(b);
		if (bits < 64)
			value |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	} while (byte & 0x80); /* a short read gives 0 and ends this too */
	if (is_signed && bits < 64 && byte & 0x40)
		value |= UINT64_MAX << bits;
	return value;
}

uint64_t buf_uleb(struct buf *b)
{
	return leb(b, false);
}

int64_t buf_sleb(struct buf *b)
{
	return (int64_t)leb(b, true);
}

const char *buf_string(const struct buf *b, uint64_t offset)
{
	if (offset >= b->bytes || !memchr(b->data + offset, 0, b->bytes - (size_t)offset))
		return NULL;
	return (const char *)b->data + offset;
}

/* Read up to `room` bytes; short only at the end of the file. -1 with errno on failure. */
static ssize_t read_all(int fd, uint8_t *data, size_t room)
{
	size_t used = 0;

	while (used < room) {
		ssize_t got = read(fd, data + used, room - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

int buf_load(const char *path, size_t limit, uint8_t **data, size_t *bytes, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t *copy = NULL;
	struct stat st;
	ssize_t got;
	int rc = -1;

	if (fd < 0)
		return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, -1, "%s: %s",
			       err_path(path), strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(e, ERR_FORMAT, -1, "%s: not a regular file", err_path(path));
		goto out;
	}
	if (st.st_size < 0 || (uint64_t)st.st_size > limit) {
		err_set(e, ERR_LIMIT, -1, "%s: larger than %zu bytes", err_path(path), limit);
		goto out;
	}
	copy = malloc((size_t)st.st_size + 1);
	if (!copy) {
		err_set(e, ERR_MEMORY, -1, "%s: no memory for %lld bytes", err_path(path),
			(long long)st.st_size);
		goto out;
	}
	got = read_all(fd, copy, (size_t)st.st_size);
	if (got < 0) {
		err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
		goto out;
	}
	*data = copy;
	*bytes = (size_t)got;
	copy = NULL;
	rc = 0;
out:
	free(copy);
	close(fd);
	return rc;
}
