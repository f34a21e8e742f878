/*
 * trace_read.c - reads the three files of a process directory.
 * Input: files that another process may be writing right now, or that a killed one left.
 * Output: records and slots, each checked; counts of what was torn, unknown or damaged.
 *
 * Files are read with pread and never mapped: a file that shrinks under a mapping is a SIGBUS.
 */
#include "trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kbn_hash.h"

/* Twice what the shim ever writes is still honest; more is not ours. */
#define LOG_MAX_BYTES (256u << 20)
#define CHUNK_SLOTS   256u
#define ATTEMPTS      4
#define SLOT_BYTES    sizeof(struct kbn_slot)
#define LAUNCH_HALF   offsetof(struct kbn_slot, launch_seq)
#define TIME_HALF     offsetof(struct kbn_slot, time_seq)
#define THREAD_HALF   offsetof(struct kbn_thread_slot, seq)

_Static_assert(sizeof(struct kbn_slot) == sizeof(struct kbn_thread_slot), "one size of slot");

/* ---- files */

/* `bytes` bytes at `offset`, all or nothing. */
static bool read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
	size_t used = 0;

	while (used < bytes) {
		ssize_t got =
			pread(fd, (uint8_t *)out + used, bytes - used, (off_t)(offset + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		used += (size_t)got;
	}
	return true;
}

static uint64_t file_bytes(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0
		       ? (uint64_t)st.st_size
		       : 0;
}

/* Offsets are within the file; the text names it. */
static int check_header(const struct kbn_file_header *h, const char *file, uint64_t magic,
			uint32_t header_bytes, uint32_t unit_bytes, struct err *e)
{
	if (h->magic != magic)
		return err_set(e, ERR_FORMAT, 0, "%s: not a kbn recording", file);
	if (h->endian != KBN_ENDIAN_MARK)
		return err_set(e, ERR_FORMAT, offsetof(struct kbn_file_header, endian),
			       "%s: written on a big-endian machine", file);
	if (h->version != KBN_TRACE_VERSION)
		return err_set(e, ERR_VERSION, offsetof(struct kbn_file_header, version),
			       "%s: format version %u, this kbn reads version %u", file, h->version,
			       KBN_TRACE_VERSION);
	if (h->header_bytes < header_bytes || h->header_bytes % 8)
		return err_set(e, ERR_CORRUPT, offsetof(struct kbn_file_header, header_bytes),
			       "%s: header of %u bytes", file, h->header_bytes);
	if (h->unit_bytes != unit_bytes)
		return err_set(e, ERR_CORRUPT, offsetof(struct kbn_file_header, unit_bytes),
			       "%s: units of %u bytes", file, h->unit_bytes);
	return 0;
}

/* Open DIR/FILE; a missing file is fine and gives -1 in *fd. */
static int open_optional(const struct trace *t, const char *file, int *fd, struct err *e)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", t->dir, file) >= sizeof(path))
		return err_set(e, ERR_IO, -1, "%s: path too long", file);
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0 && errno != ENOENT)
		return err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
	return 0;
}

static int open_log(struct trace *t, struct err *e)
{
	char path[4096];
	uint8_t *data;
	size_t bytes;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", t->dir, KBN_LOG_FILE) >= sizeof(path))
		return err_set(e, ERR_IO, -1, "%s: path too long", KBN_LOG_FILE);
	if (buf_load(path, LOG_MAX_BYTES, &data, &bytes, e) < 0)
		return -1;
	t->log = buf_of(data, bytes);
	buf_copy(&t->log, &t->head, sizeof(t->head));
	if (!buf_ok(&t->log))
		return err_set(e, ERR_TRUNCATED, (int64_t)bytes, "%s: ends within its header",
			       err_path(path));
	if (check_header(&t->head, err_path(path), KBN_LOG_MAGIC, sizeof(t->head), 8, e) < 0)
		return -1;
	trace_rewind(t);
	return open_optional(t, KBN_LOG_FILE, &t->log_fd, e);
}

/*
 * Slots and sketches: the header must be of this recording; *header_bytes is where the first unit
 * stands. A missing file and one cut within its header count as empty.
 */
static int open_units(struct trace *t, const char *file, uint64_t magic, uint32_t unit_bytes,
		      int *fd, uint32_t *header_bytes, struct err *e)
{
	struct kbn_file_header h;
	char path[4096];

	if (open_optional(t, file, fd, e) < 0)
		return -1;
	if (*fd < 0)
		return 0;
	if (!read_at(*fd, &h, sizeof(h), 0)) {
		err_set(&t->fault, ERR_TRUNCATED, (int64_t)file_bytes(*fd),
			"%s: ends within its header", file);
		close(*fd);
		*fd = -1;
		return 0;
	}
	snprintf(path, sizeof(path), "%s/%s", t->dir, file);
	if (check_header(&h, err_path(path), magic, *header_bytes, unit_bytes, e) < 0)
		return -1;
	if (h.start_unix_ns != t->head.start_unix_ns || h.pid != t->head.pid)
		return err_set(e, ERR_CORRUPT, offsetof(struct kbn_file_header, start_unix_ns),
			       "%s: belongs to another recording than %s", err_path(path),
			       KBN_LOG_FILE);
	*header_bytes = h.header_bytes;
	return 0;
}

/* Counters of the process, and how many slots there are to walk. */
static void read_counters(struct trace *t)
{
	uint64_t bytes = file_bytes(t->slots_fd), slots;

	t->slots_n = 0;
	if (t->slots_fd < 0) {
		if (t->fault.code == ERR_NONE)
			err_set(&t->fault, ERR_NOT_FOUND, -1,
				"%s is missing: launches are not known", KBN_SLOTS_FILE);
		return;
	}
	if (!read_at(t->slots_fd, &t->counters, sizeof(t->counters), 0)) {
		memset(&t->counters, 0, sizeof(t->counters));
		err_set(&t->fault, ERR_TRUNCATED, (int64_t)bytes, "%s: ends within its header",
			KBN_SLOTS_FILE);
		return;
	}
	slots = bytes > t->slots_at ? (bytes - t->slots_at) / SLOT_BYTES : 0;
	if (slots < t->counters.slots)
		err_set(&t->fault, ERR_TRUNCATED, (int64_t)bytes, "%s: holds %llu of %llu slots",
			KBN_SLOTS_FILE, (unsigned long long)slots,
			(unsigned long long)t->counters.slots);
	else
		slots = t->counters.slots;
	t->slots_n = (size_t)(slots < UINT32_MAX ? slots : UINT32_MAX);
}

int trace_open(struct trace *t, const char *dir, struct err *e)
{
	*t = (struct trace){.log_fd = -1, .slots_fd = -1, .sketch_fd = -1};
	t->dir = strdup(dir);
	if (!t->dir) {
		err_set(e, ERR_MEMORY, -1, "%s: out of memory", dir);
		goto fail;
	}
	if (open_log(t, e) < 0)
		goto fail;
	t->slots_at = KBN_SLOTS_HEADER_BYTES;
	t->sketches_at = sizeof(struct kbn_file_header);
	if (open_units(t, KBN_SLOTS_FILE, KBN_SLOTS_MAGIC, SLOT_BYTES, &t->slots_fd, &t->slots_at,
		       e) < 0)
		goto fail;
	if (open_units(t, KBN_SKETCH_FILE, KBN_SKETCH_MAGIC, sizeof(struct kbn_sketch),
		       &t->sketch_fd, &t->sketches_at, e) < 0)
		goto fail;
	read_counters(t);
	return 0;
fail:
	trace_close(t);
	return -1;
}

void trace_close(struct trace *t)
{
	int fds[] = {t->log_fd, t->slots_fd, t->sketch_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	free((void *)t->log.data);
	free(t->chunk);
	free(t->dir);
	*t = (struct trace){.log_fd = -1, .slots_fd = -1, .sketch_fd = -1};
}

/* ---- records */

void trace_rewind(struct trace *t)
{
	t->log.short_read = false;
	t->records_torn = t->records_unknown = 0;
	buf_seek(&t->log, t->head.header_bytes);
}

static bool check_fits(const struct kbn_rec *rec, const struct buf *payload)
{
	return (uint32_t)kbn_hash64(payload->data, payload->bytes) == rec->check;
}

/*
 * The commit word is stored last, but one large read of a live file may still see it before the
 * payload. Read the payload again, over our copy, until it fits.
 */
static bool read_again(struct trace *t, const struct kbn_rec *rec, const struct buf *payload)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		if (t->log_fd < 0 ||
		    !read_at(t->log_fd, (uint8_t *)payload->data, payload->bytes, payload->origin))
			return false;
		if (check_fits(rec, payload))
			return true;
	}
	return false;
}

/* Nothing behind this point can be trusted. */
static int end_log(struct trace *t, enum err_code code, uint64_t offset, const char *what)
{
	if (code != ERR_NONE && t->fault.code == ERR_NONE)
		err_set(&t->fault, code, (int64_t)offset, "%s: %s", KBN_LOG_FILE, what);
	buf_seek(&t->log, t->log.bytes);
	return 0;
}

int trace_next_record(struct trace *t, struct trace_record *r)
{
	for (;;) {
		struct buf *log = &t->log;
		uint64_t offset = log->at;
		struct kbn_rec rec;
		struct buf payload;

		if (buf_left(log) < sizeof(rec))
			return 0;
		buf_copy(log, &rec, sizeof(rec));
		if (rec.commit == 0)
			return end_log(t, ERR_NONE, offset, "");
		if (rec.commit != KBN_REC_COMMIT)
			return end_log(t, ERR_CORRUPT, offset, "no record begins here");
		if (!buf_part(log, log->at, rec.bytes, &payload))
			return end_log(t, ERR_TRUNCATED, offset, "ends within a record");
		/* The padding of the very last record may be cut off. */
		if (buf_left(log) - rec.bytes < (8 - rec.bytes % 8) % 8)
			buf_seek(log, log->bytes);
		else
			buf_seek(log, log->at + (rec.bytes + 7ull) / 8 * 8);
		if (!check_fits(&rec, &payload) && !read_again(t, &rec, &payload)) {
			t->records_torn++;
			continue;
		}
		if (rec.kind < KBN_REC_PROCESS || rec.kind > KBN_REC_END) {
			t->records_unknown++;
			continue;
		}
		*r = (struct trace_record){
			.kind = rec.kind, .flags = rec.flags, .offset = offset, .payload = payload};
		return 1;
	}
}

int trace_fixed(struct trace_record *r, void *out, size_t bytes, struct err *e)
{
	buf_seek(&r->payload, 0);
	buf_copy(&r->payload, out, bytes);
	if (!buf_ok(&r->payload))
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: record of kind %u has %zu bytes, needs %zu", KBN_LOG_FILE,
			       r->kind, r->payload.bytes, bytes);
	return 0;
}

/* ---- slots */

static uint32_t word_at(const uint8_t *slot, size_t offset)
{
	uint32_t v;

	memcpy(&v, slot + offset, sizeof(v));
	return v;
}

static uint64_t slot_offset(const struct trace *t, size_t index)
{
	return t->slots_at + (uint64_t)index * SLOT_BYTES;
}

static bool is_settled(const uint8_t *before, const uint8_t *copy, const uint8_t *after, size_t seq)
{
	uint32_t v = word_at(copy, seq);

	return v % 2 == 0 && v == word_at(before, seq) && v == word_at(after, seq);
}

/* Bring the part [seq, end) of one slot to rest, or count it as torn. */
static void settle(struct trace *t, size_t index, uint8_t *slot, size_t seq, size_t end)
{
	uint8_t tries[3][SLOT_BYTES];

	for (int i = 0; i < ATTEMPTS; i++) {
		for (int k = 0; k < 3; k++) {
			if (!read_at(t->slots_fd, tries[k], SLOT_BYTES, slot_offset(t, index)))
				goto torn;
		}
		memcpy(slot + seq, tries[1] + seq, end - seq);
		if (is_settled(tries[0], tries[1], tries[2], seq))
			return;
	}
torn:
	t->slots_torn++;
}

static void settle_slot(struct trace *t, size_t index, const uint8_t *before, uint8_t *copy,
			const uint8_t *after)
{
	uint32_t kind = word_at(copy, 0);

	if (kind == KBN_SLOT_THREAD) {
		if (!is_settled(before, copy, after, THREAD_HALF))
			settle(t, index, copy, THREAD_HALF, SLOT_BYTES);
	} else if (kind == KBN_SLOT_LAUNCH || kind == KBN_SLOT_GRAPH) {
		if (!is_settled(before, copy, after, LAUNCH_HALF))
			settle(t, index, copy, LAUNCH_HALF, TIME_HALF);
		if (!is_settled(before, copy, after, TIME_HALF))
			settle(t, index, copy, TIME_HALF, SLOT_BYTES);
	}
}

/* Read the slots from `first` on, three times over: counters before, values, counters after. */
static bool fill_chunk(struct trace *t, size_t first)
{
	size_t n = t->slots_n - first < CHUNK_SLOTS ? t->slots_n - first : CHUNK_SLOTS,
	       bytes = n * SLOT_BYTES;
	uint8_t *copies[3];

	if (!t->chunk)
		t->chunk = malloc(3 * CHUNK_SLOTS * SLOT_BYTES);
	if (!t->chunk)
		return false;
	/* The copy that is kept comes first in memory, the one in the middle in time. */
	copies[0] = t->chunk + bytes;
	copies[1] = t->chunk;
	copies[2] = t->chunk + 2 * bytes;
	for (int k = 0; k < 3; k++) {
		if (!read_at(t->slots_fd, copies[k], bytes, slot_offset(t, first)))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		settle_slot(t, first + i, copies[0] + i * SLOT_BYTES, copies[1] + i * SLOT_BYTES,
			    copies[2] + i * SLOT_BYTES);
	t->chunk_first = first;
	t->chunk_n = n;
	return true;
}

int trace_next_slot(struct trace *t, struct trace_slot *s)
{
	while (t->slot_next < t->slots_n) {
		size_t i = t->slot_next++;
		const uint8_t *slot;

		if (i - t->chunk_first >= t->chunk_n && !fill_chunk(t, i)) {
			if (t->fault.code == ERR_NONE)
				err_set(&t->fault, ERR_TRUNCATED, (int64_t)slot_offset(t, i),
					"%s: ends within a slot", KBN_SLOTS_FILE);
			t->slot_next = t->slots_n;
			return 0;
		}
		slot = t->chunk + (i - t->chunk_first) * SLOT_BYTES;
		/* A slot that was handed out but is not released yet is free; later ones are not. */
		if (word_at(slot, 0) > KBN_SLOT_THREAD)
			t->slots_unknown++;
		if (word_at(slot, 0) == KBN_SLOT_FREE || word_at(slot, 0) > KBN_SLOT_THREAD)
			continue;
		s->index = (uint32_t)i;
		s->kind = word_at(slot, 0);
		memcpy(&s->launch, slot, sizeof(s->launch));
		memcpy(&s->thread, slot, sizeof(s->thread));
		return 1;
	}
	return 0;
}

int trace_thread_again(struct trace *t, uint32_t index, struct kbn_thread_slot *thread)
{
	uint8_t copy[3][SLOT_BYTES];

	for (int k = 0; k < 3; k++) {
		if (index >= t->slots_n ||
		    !read_at(t->slots_fd, copy[k], SLOT_BYTES, slot_offset(t, index)))
			return -1;
	}
	if (word_at(copy[1], 0) != KBN_SLOT_THREAD)
		return -1;
	settle_slot(t, index, copy[0], copy[1], copy[2]);
	memcpy(thread, copy[1], sizeof(*thread));
	return 0;
}

int trace_sketch(struct trace *t, uint32_t index, uint32_t counts[KBN_SKETCH_BUCKETS])
{
	uint64_t offset = t->sketches_at + (uint64_t)index * sizeof(struct kbn_sketch);

	return t->sketch_fd >= 0 && read_at(t->sketch_fd, counts, sizeof(struct kbn_sketch), offset)
		       ? 0
		       : -1;
}
