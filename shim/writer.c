/*
 * writer.c - the data directory of one process: its three files, records, slots, sketches, and the
 * code store of the run. Output: files as TRACE-FORMAT.md says. Growing files is region.c's.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "filer.h"
#include "files.h"
#include "kbn_hash.h"
#include "region.h"
#include "sys.h"

#define LOG_CAP       (64u << 20)
#define LOG_RESERVE   4096u /* end of the log kept for the last notes and END */
#define SKETCH_CAP    4096u
#define SKETCH_HEADER 4096u /* a page, so that sketches are aligned to their size */
#define RUN_DIR_MAX   800u
#define CODE_PIECE    (1u << 20)
#define SLOTS_SPARE   (16u << 10)

static struct {
	char run[KBN_PATH_ROOM], proc[KBN_PATH_ROOM];
	struct kbn_region log, slots, sketch;
	uint64_t start_mono_ns, start_unix_ns;
	uint32_t slot_cap;
	_Atomic bool sealed;
	_Atomic bool told_slots, told_sketch;
} w;

static _Atomic uint32_t epoch;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -------------------------------------------------------------------------------------- open */

/* "<host>-<pid>-<start>" with every byte of the host name that is not plain replaced. */
static void process_name(char out[128])
{
	struct kbn_text t = {out, 0, 128};
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) != 0 || !host[0])
		memcpy(host, "host", 5);
	for (char *c = host; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || *c == '.' || *c == '_' ||
		      (*c == '-' && c > host)))
			*c = '_';
	kbn_text_add(&t, host, strlen(host));
	kbn_text_add(&t, "-", 1);
	kbn_text_number(&t, (uint64_t)getpid(), 10);
	kbn_text_add(&t, "-", 1);
	kbn_text_number(&t, w.start_unix_ns, 16);
}

/* One of the three files, with its header. `header` and `unit` in bytes. */
static int create_file(struct kbn_region *r, const char *dir, const char *name, uint64_t magic,
		       uint32_t header, uint32_t unit, size_t units)
{
	struct kbn_file_header h = {
		.magic = magic,
		.version = KBN_TRACE_VERSION,
		.endian = KBN_ENDIAN_MARK,
		.header_bytes = header,
		.unit_bytes = unit,
		.pid = (uint32_t)getpid(),
		.start_unix_ns = w.start_unix_ns,
		.start_mono_ns = w.start_mono_ns,
	};

	return kbn_region_create(r, dir, name, header + units * unit, &h);
}

static int create_files(const char *dir)
{
	if (create_file(&w.log, dir, KBN_LOG_FILE, KBN_LOG_MAGIC, sizeof(struct kbn_file_header), 8,
			LOG_CAP / 8) < 0 ||
	    create_file(&w.slots, dir, KBN_SLOTS_FILE, KBN_SLOTS_MAGIC, KBN_SLOTS_HEADER_BYTES,
			sizeof(struct kbn_slot), w.slot_cap + w.slot_cap / 8) < 0 ||
	    create_file(&w.sketch, dir, KBN_SKETCH_FILE, KBN_SKETCH_MAGIC, SKETCH_HEADER,
			sizeof(struct kbn_sketch), SKETCH_CAP) < 0)
		return -1;
	kbn_writer_header()->slot_cap = w.slot_cap;
	return 0;
}

/*
 * The process directory in w.run. It is filled under a name that no reader looks at and renamed
 * whole: a reader never meets a file without its header.
 */
static int create_process(void)
{
	char name[128], hidden[KBN_PATH_ROOM], label[144] = ".new-";
	const char *const files[] = {KBN_LOG_FILE, KBN_SLOTS_FILE, KBN_SKETCH_FILE};
	struct kbn_region *const regions[] = {&w.log, &w.slots, &w.sketch};
	int error;

	process_name(name);
	strcat(label, name);
	if (!kbn_path_join(hidden, w.run, label)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(label, KBN_PROC_PREFIX, sizeof(KBN_PROC_PREFIX) - 1);
	if (!kbn_path_join(w.proc, w.run, label) || kbn_make_dir(hidden) < 0)
		return -1;
	if (create_files(hidden) == 0 && kbn_file_rename(hidden, w.proc)) {
		for (int i = 0; i < 3; i++)
			kbn_path_join(regions[i]->path, w.proc, files[i]);
		return 0;
	}
	error = errno;
	for (int i = 0; i < 3; i++)
		kbn_region_drop(regions[i]);
	rmdir(hidden);
	errno = error;
	return -1;
}

static int open_in(const char *run, bool shared_parent)
{
	char code[KBN_PATH_ROOM];
	bool made_run = false, made_code = false;
	int error;

	if (strlen(run) > RUN_DIR_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memmove(w.run, run, strlen(run) + 1);
	if (kbn_make_dirs(w.run, &made_run) < 0)
		return -1;
	if (shared_parent && !kbn_is_private(w.run)) {
		errno = EEXIST;
		return -1;
	}
	if (kbn_path_join(code, w.run, KBN_CODE_DIR) && kbn_make_dirs(code, &made_code) == 0 &&
	    create_process() == 0)
		return 0;
	error = errno;
	if (made_code)
		rmdir(code);
	if (made_run)
		rmdir(w.run);
	errno = error;
	return -1;
}

/* out[KBN_PATH_ROOM] = `path`, absolute and without slashes at its end. */
static bool absolute(char *out, const char *path)
{
	char here[KBN_PATH_ROOM];
	size_t n;

	if (path[0] == '/') {
		struct kbn_text t = {out, 0, KBN_PATH_ROOM};

		kbn_text_add(&t, path, strlen(path));
	} else if (!getcwd(here, sizeof(here)) || here[0] != '/' ||
		   !kbn_path_join(out, here, path)) {
		return false;
	}
	for (n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
		out[n - 1] = '\0';
	return out[0] == '/';
}

int kbn_writer_open(const char *out, uint32_t slot_cap, const char **why)
{
	const char *temp = secure_getenv("TMPDIR");
	const char *bases[] = {temp && temp[0] == '/' ? temp : NULL, "/tmp"};
	char path[KBN_PATH_ROOM];
	const char *name;
	int error, saved = errno;

	/* What a forked child inherited stays mapped: its parent's threads may have left locks in it. */
	memset(&w, 0, sizeof(w));
	atomic_fetch_add(&epoch, 1);
	w.slot_cap = slot_cap < 16 ? 16 : slot_cap > (1u << 22) ? 1u << 22 : slot_cap;
	w.start_unix_ns = clock_ns(CLOCK_REALTIME);
	w.start_mono_ns = clock_ns(CLOCK_MONOTONIC);

	errno = ENAMETOOLONG;
	if (absolute(path, out) && open_in(path, false) == 0) {
		errno = saved;
		return 0;
	}
	error = errno;
	name = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
	if (!name[0])
		name = "kbn";
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (bases[i] && kbn_path_join(path, bases[i], name) && open_in(path, true) == 0) {
			errno = saved;
			return 0;
		}
	memset(&w, 0, sizeof(w));
	*why = kbn_why_not(error);
	errno = saved;
	return -1;
}

uint32_t kbn_writer_epoch(void)
{
	return atomic_load_explicit(&epoch, memory_order_relaxed);
}

void kbn_writer_keep_open(void)
{
	kbn_region_keep_open(&w.log);
	kbn_region_keep_open(&w.slots);
	kbn_region_keep_open(&w.sketch);
}

const char *kbn_writer_run_dir(void)
{
	return w.run;
}

const char *kbn_writer_proc_dir(void)
{
	return w.proc;
}

struct kbn_slots_header *kbn_writer_header(void)
{
	return (struct kbn_slots_header *)w.slots.base;
}

/* --------------------------------------------------------------------------------------- log */

static bool is_last_word(uint16_t kind, const struct iovec *iov, int n)
{
	uint32_t note = 0;

	if (kind == KBN_REC_NOTE && n > 0 && iov[0].iov_len >= sizeof(note))
		memcpy(&note, iov[0].iov_base, sizeof(note));
	return kind == KBN_REC_END || note == KBN_NOTE_LOG_FULL || note == KBN_NOTE_OFF;
}

static void append_locked(uint16_t kind, uint16_t flags, const struct iovec *iov, int n,
			  size_t bytes)
{
	struct kbn_rec *rec = (struct kbn_rec *)(w.log.base + w.log.used);
	uint8_t *at = (uint8_t *)(rec + 1);

	for (int i = 0; i < n; i++) {
		if (iov[i].iov_len)
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	rec->bytes = (uint32_t)bytes;
	rec->check = (uint32_t)kbn_hash64(rec + 1, bytes);
	rec->kind = kind;
	rec->flags = flags;
	__atomic_store_n(&rec->commit, KBN_REC_COMMIT, __ATOMIC_RELEASE);
	w.log.used += (sizeof(*rec) + bytes + 7) & ~(size_t)7;
}

int kbn_log_append(uint16_t kind, uint16_t flags, const struct iovec *iov, int n)
{
	size_t bytes = 0, total;
	bool fits = false;

	for (int i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	total = (sizeof(struct kbn_rec) + bytes + 7) & ~(size_t)7;
	if (w.log.base && bytes < LOG_CAP &&
	    kbn_region_lock(&w.log, total, is_last_word(kind, iov, n) ? 0 : LOG_RESERVE)) {
		append_locked(kind, flags, iov, n, bytes);
		kbn_region_unlock(&w.log);
		fits = true;
	}
	if (!fits && w.slots.base)
		__atomic_fetch_add(&kbn_writer_header()->log_dropped, 1, __ATOMIC_RELAXED);
	return fits ? 0 : -1;
}

void kbn_log_note(enum kbn_note note, int64_t value, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	struct kbn_rec_note rec = {
		.note = note,
		.text_bytes = (uint32_t)n,
		.value = value,
		.mono_ns = clock_ns(CLOCK_MONOTONIC) - w.start_mono_ns,
	};
	struct iovec iov[2] = {{&rec, sizeof(rec)}, {(void *)(uintptr_t)text, n}};

	if (w.log.base)
		kbn_log_append(KBN_REC_NOTE, 0, iov, 2);
}

void kbn_writer_seal(enum kbn_state how, const struct kbn_rec_end *end)
{
	struct kbn_slots_header *h = kbn_writer_header();
	uint64_t dropped;

	if (!h || atomic_exchange(&w.sealed, true))
		return;
	dropped = __atomic_load_n(&h->log_dropped, __ATOMIC_RELAXED);
	if (dropped)
		kbn_log_note(KBN_NOTE_LOG_FULL, (int64_t)dropped, NULL);
	if (end) {
		struct kbn_rec_end copy = *end;
		struct iovec iov = {&copy, sizeof(copy)};

		kbn_log_append(KBN_REC_END, 0, &iov, 1);
	}
	__atomic_store_n(&h->state, how, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------- slots and sketches */

/*
 * One more unit of a region, with `spare` usable bytes left behind it; its index from *count, which is
 * raised. NULL when it does not fit.
 */
static void *unit_new(struct kbn_region *r, uint64_t *count, uint64_t cap, size_t unit,
		      size_t spare, uint32_t *index)
{
	void *at = NULL;
	uint64_t i;

	if (!r->base || __atomic_load_n(count, __ATOMIC_RELAXED) >= cap ||
	    !kbn_region_lock(r, unit + spare, 0))
		return NULL;
	i = *count;
	if (i < cap) {
		at = r->base + r->used;
		r->used += unit;
		*index = (uint32_t)i;
		__atomic_store_n(count, i + 1, __ATOMIC_RELEASE);
	}
	kbn_region_unlock(r);
	return at;
}

/*
 * Slots past the cap are asked for when the others have run out, be it for a moment in which the file
 * does not grow. Those that will be needed then are mapped already.
 */
static size_t slots_spare(bool reserve)
{
	const size_t all = w.slot_cap / 8 * sizeof(struct kbn_slot);

	return reserve ? 0 : all < SLOTS_SPARE ? all : SLOTS_SPARE;
}

struct kbn_slot *kbn_slot_new(bool reserve, uint32_t *index)
{
	uint64_t cap = reserve ? w.slot_cap + w.slot_cap / 8 : w.slot_cap;
	struct kbn_slots_header *h = kbn_writer_header();
	struct kbn_slot *slot;

	if (!h)
		return NULL;
	slot = unit_new(&w.slots, &h->slots, cap, sizeof(*slot), slots_spare(reserve), index);
	if (!slot && __atomic_load_n(&h->slots, __ATOMIC_RELAXED) >= w.slot_cap &&
	    !atomic_load(&w.told_slots) && !atomic_exchange(&w.told_slots, true))
		kbn_log_note(KBN_NOTE_SLOTS_FULL, (int64_t)h->slots, NULL);
	return slot;
}

struct kbn_sketch *kbn_sketch_new(uint32_t *index)
{
	struct kbn_slots_header *h = kbn_writer_header();
	struct kbn_sketch *sketch;

	if (!h)
		return NULL;
	sketch = unit_new(&w.sketch, &h->sketches, SKETCH_CAP, sizeof(*sketch), 0, index);
	if (!sketch && !atomic_exchange(&w.told_sketch, true))
		kbn_log_note(KBN_NOTE_SKETCH_FULL, (int64_t)h->sketches, NULL);
	return sketch;
}

struct kbn_sketch *kbn_sketch_at(uint32_t index)
{
	return (struct kbn_sketch *)(w.sketch.base + SKETCH_HEADER) + index;
}

/* -------------------------------------------------------------------------------- code store */

/* In pieces: where zeros are written for want of fallocate, a launch does not wait for all of them. */
static int code_extend(int fd, size_t bytes)
{
	for (size_t done = 0, n; done < bytes; done += n) {
		n = bytes - done < CODE_PIECE ? bytes - done : CODE_PIECE;
		if (kbn_file_extend(fd, done, n) < 0)
			return -1;
		kbn_filer_yield();
	}
	return 0;
}

/*
 * Mapped and closed before a byte is copied, like the log. Where the descriptor is one of the program's
 * table the program may close it and open its own under the same number while megabytes are on their
 * way, and they would go there.
 */
static int code_write(const char *path, const void *data, size_t bytes)
{
	void *at = NULL;
	int fd = kbn_file_open(path, O_RDWR | O_CREAT | O_EXCL);

	if (fd < 0)
		return -1;
	if (code_extend(fd, bytes) == 0)
		at = kbn_fd_map(fd, NULL, bytes, 0);
	if (kbn_fd_close(fd) < 0 && at) { /* where quota errors show late (NFS) */
		munmap(at, bytes);
		at = NULL;
	}
	if (!at)
		return -1;
	for (size_t done = 0, n; done < bytes; done += n) {
		n = bytes - done < CODE_PIECE ? bytes - done : CODE_PIECE;
		memcpy((char *)at + done, (const char *)data + done, n);
		kbn_filer_yield(); /* a launch may be waiting for a file to grow */
	}
	munmap(at, bytes);
	return 0;
}

int kbn_code_store(const uint8_t hash[16], const void *data, size_t bytes, const char **why)
{
	static _Atomic uint32_t number;
	char name[64], temp[KBN_PATH_ROOM], path[KBN_PATH_ROOM];
	struct kbn_text t = {name, 0, sizeof(name)};
	int saved = errno;

	kbn_text_add(&t, KBN_CODE_DIR "/", sizeof(KBN_CODE_DIR));
	for (int i = 0; i < 16; i++) {
		kbn_text_number(&t, hash[i] >> 4, 16);
		kbn_text_number(&t, hash[i] & 15, 16);
	}
	kbn_text_add(&t, ".img", 4);
	if (!w.run[0] || !kbn_path_join(path, w.run, name)) {
		*why = "path too long";
		return -1;
	}
	if (access(path, F_OK) == 0)
		return 0;

	t = (struct kbn_text){temp, 0, KBN_PATH_ROOM};
	kbn_text_add(&t, w.proc, strlen(w.proc));
	kbn_text_add(&t, "/.code-", 7);
	kbn_text_number(&t, atomic_fetch_add(&number, 1), 10);
	if (!temp[0] || code_write(temp, data, bytes) < 0 || !kbn_file_rename(temp, path)) {
		*why = temp[0] ? kbn_why_not(errno) : "path too long";
		if (temp[0])
			unlink(temp);
		errno = saved;
		return -1;
	}
	return 0;
}
