/*
 * image.c - keeps the code that the program loads: copies it at load time, hashes and stores it
 * later. Input: what a load call was given. Output: IMAGE and STORED records, files in code/.
 *
 * The copy is all that the program waits for. Reading images is image_scan.c's, files are writer.c's.
 */
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filer.h"
#include "image_scan.h"
#include "kbn_hash.h"
#include "map.h"
#include "state.h"
#include "sys.h"
#include "writer.h"

#define QUEUE_BYTES  ((size_t)256 << 20) /* with more than this queued a loading thread waits, */
#define FULL_WAIT_NS 2000000000u         /* at most so long */
#define FINISH_NS    200000u /* between two looks while waiting for the storing thread */
#define SMS_MAX      8       /* distinct compute capabilities of one process */
#define LINKED_MAX   4096    /* pre-linked containers behind one wrapper */
#define PATH_BYTES   4096
#define SAME_BYTES   ((size_t)4 << 20) /* larger code is not compared with what was loaded before */
#define OPTIONS_MAX  32

/* A copy on its way to the disk: this header, then the bytes, in one mapping. */
struct copy {
	struct copy *next;
	size_t map_bytes;
	size_t bytes;
	uint32_t image;
	uint32_t reserved[9];
};
_Static_assert(sizeof(struct copy) == 64, "keeps the bytes aligned");

/* An image that was kept, for another load of the same. */
struct known {
	uint8_t hash[16];
	_Atomic uint32_t image; /* 0 = could not be kept */
};

KBN_MAP(known_images, 1024); /* by half of the hash */

/* Pieces of the image that are kept, in order. */
struct pieces {
	struct iovec part[2 * SMS_MAX + 1];
	int n;
	size_t bytes;
};

static _Atomic(struct copy *) queue; /* pushed by loading threads, taken whole by the storing one */
static struct copy *oldest;          /* the storing thread's: what it took, in order */
static _Atomic uint64_t until_ns = UINT64_MAX; /* kbn_now_ns clock: nothing is stored after it */
static _Atomic size_t queue_bytes;
static _Atomic bool in_vain; /* a load has waited for room in vain, and nothing was stored since */
static _Atomic unsigned waiting; /* queued or being stored */
static _Atomic uint32_t last_image;
static _Atomic uint32_t known_epoch;

void kbn_image_begin(void)
{
	const uint32_t now = kbn_writer_epoch(), before = atomic_exchange(&known_epoch, now);

	if (before == now || !before)
		return;
	atomic_store(&queue, NULL);
	oldest = NULL;
	atomic_store(&until_ns, UINT64_MAX);
	atomic_store(&queue_bytes, 0);
	atomic_store(&in_vain, false);
	atomic_store(&waiting, 0);
	atomic_store(&last_image, 0);
	kbn_map_reset(&known_images);
}

/* ----------------------------------------------------------------------------------- records */

static void record_image(uint32_t id, const struct kbn_image_source *s, enum kbn_image_kind kind,
			 enum kbn_image_origin origin, uint32_t sm, size_t bytes)
{
	uint32_t pairs[2 * OPTIONS_MAX];
	unsigned n = s->jit_option && s->jit_value ? s->jit_options : 0;
	struct kbn_rec_image rec = {
		.image = id,
		.origin = (uint16_t)origin,
		.kind = (uint16_t)kind,
		.sm = sm,
		.path_bytes = s->path ? (uint32_t)strnlen(s->path, PATH_BYTES) : 0,
		.bytes = bytes,
	};
	struct iovec iov[3];

	if (n > OPTIONS_MAX)
		n = OPTIONS_MAX;
	for (unsigned i = 0; i < n; i++) {
		pairs[2 * i] = s->jit_option[i];
		pairs[2 * i + 1] = (uint32_t)(uintptr_t)s->jit_value[i];
	}
	rec.jit_options = n;
	iov[0] = (struct iovec){&rec, sizeof(rec)};
	iov[1] = (struct iovec){(void *)(uintptr_t)s->path, rec.path_bytes};
	iov[2] = (struct iovec){pairs, n * 2 * sizeof(pairs[0])};
	kbn_log_append(KBN_REC_IMAGE, 0, iov, 3);
}

static void record_stored(uint32_t id, const uint8_t hash[16], size_t bytes, const char *why)
{
	struct kbn_rec_stored rec = {
		.image = id,
		.why_bytes = why ? (uint32_t)strlen(why) : 0,
		.stored_bytes = why ? 0 : bytes,
	};
	struct iovec iov[2] = {{&rec, sizeof(rec)}, {(void *)(uintptr_t)why, rec.why_bytes}};

	if (hash && !why)
		memcpy(rec.hash, hash, sizeof(rec.hash));
	kbn_log_append(KBN_REC_STORED, 0, iov, 2);
}

/* ------------------------------------------------------------------------------------- store */

static void store(struct copy *c)
{
	const void *data = c + 1;
	const char *why = NULL;
	uint8_t hash[16];

	kbn_hash128(data, c->bytes, hash);
	if (kbn_code_store(hash, data, c->bytes, &why) < 0 && !why)
		why = "could not be written";
	record_stored(c->image, hash, c->bytes, why);
	munmap(c, c->map_bytes);
}

static void queue_push(struct copy *c)
{
	c->next = atomic_load(&queue);
	while (!atomic_compare_exchange_weak(&queue, &c->next, c))
		;
}

bool kbn_image_store_next(void)
{
	struct copy *c, *next;
	size_t bytes;

	if (!oldest)
		for (c = atomic_exchange_explicit(&queue, NULL, memory_order_acquire); c;
		     c = next) { /* newest first */
			next = c->next;
			c->next = oldest;
			oldest = c;
		}
	c = oldest;
	if (!c || kbn_now_ns() >= atomic_load(&until_ns))
		return false;
	oldest = c->next;
	bytes = c->map_bytes;
	store(c);
	atomic_fetch_sub(&queue_bytes, bytes);
	atomic_fetch_sub(&waiting, 1);
	atomic_store(&in_vain, false);
	return true;
}

unsigned kbn_image_finish(uint64_t deadline_ns)
{
	if (!atomic_load(&waiting))
		return 0;
	atomic_store(&until_ns, deadline_ns);
	if (kbn_filer_wake()) {
		while (atomic_load(&waiting) && kbn_now_ns() < deadline_ns)
			kbn_sleep_ns(FINISH_NS);
	} else {
		while (kbn_image_store_next())
			;
	}
	return atomic_load(&waiting);
}

/* ----------------------------------------------------------------------------------- capture */

static uint32_t image_new(void)
{
	return atomic_fetch_add(&last_image, 1) + 1;
}

static struct copy *copy_new(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t map = (sizeof(struct copy) + bytes + page - 1) / page * page;
	struct copy *c = kbn_map_memory(map, PROT_READ | PROT_WRITE);

	if (!c)
		return NULL;
	c->map_bytes = map;
	c->bytes = bytes;
	return c;
}

/*
 * Queue the copy, when there is room in the queue; where there is no thread that empties it, store it.
 * A disk that hangs costs one wait. NULL, or why not.
 */
static const char *copy_hand_over(struct copy *c)
{
	const uint64_t give_up = kbn_clock_ns() + FULL_WAIT_NS;

	if (!kbn_filer_wake()) {
		store(c);
		return NULL;
	}
	while (atomic_load(&queue_bytes) > QUEUE_BYTES) {
		if (atomic_load(&in_vain) || kbn_clock_ns() >= give_up) {
			atomic_store(&in_vain, true);
			munmap(c, c->map_bytes);
			return "the disk is too slow";
		}
		kbn_sleep_ns(FINISH_NS);
	}
	atomic_fetch_add(&queue_bytes, c->map_bytes);
	atomic_fetch_add(&waiting, 1);
	queue_push(c);
	kbn_filer_wake();
	return NULL;
}

static void piece_add(struct pieces *p, const void *data, size_t bytes)
{
	p->part[p->n++] = (struct iovec){(void *)(uintptr_t)data, bytes};
	p->bytes += bytes;
}

/* What was chosen from a fat binary. */
struct choice {
	uint32_t sm;  /* of the entry for the first device that found one */
	bool is_text; /* that entry is PTX */
};

static long select_entry(const uint8_t *container, size_t bytes, int sm)
{
	const char *force = secure_getenv("CUDA_FORCE_PTX_JIT");
	long ptx = -1;

	if (force && force[0] && force[0] != '0')
		ptx = kbn_image_select_kind(container, bytes, sm, ENTRY_PTX);
	return ptx >= 0 ? ptx : kbn_image_select(container, bytes, sm);
}

/*
 * Add to `p` the entries of one container that the devices would run, behind the place of the new
 * container's header. Every entry once, also when two devices agree on it.
 */
static void choose(struct pieces *p, const uint8_t *container, size_t bytes, const int *sms,
		   int sm_count, struct choice *c)
{
	for (int i = 0; i < sm_count && p->n < 2 * SMS_MAX; i++) {
		long at = select_entry(container, bytes, sms[i]);
		struct image_entry e;
		bool known = false;

		if (at < 0 || !kbn_image_entry(container, bytes, (size_t)at, &e))
			continue;
		for (int k = 1; k < p->n; k++)
			known |= p->part[k].iov_base == (const void *)(container + at);
		if (known)
			continue;
		piece_add(p, container + at, e.bytes);
		if (!c->sm) {
			c->sm = e.sm;
			c->is_text = e.kind == ENTRY_PTX;
		}
	}
}

static bool is_wrapper(const void *data, enum kbn_image_kind kind)
{
	uint32_t magic = 0;

	if (kind == KBN_KIND_FATBIN)
		memcpy(&magic, data, sizeof(magic));
	return magic == WRAPPER_MAGIC;
}

/* The containers of a fat binary in turn: behind a wrapper, or one or more in a row. */
struct containers {
	const uint8_t *row; /* of containers in a row: the next one */
	size_t row_bytes;
	const uint8_t *const *linked; /* wrapper v2: the pre-linked ones */
	unsigned linked_n;
};

static const uint8_t *next_container(struct containers *c, size_t *bytes)
{
	enum kbn_image_kind kind;
	const uint8_t *at;

	if (c->row_bytes >= CONTAINER_HEADER) {
		uint64_t payload;

		at = c->row;
		memcpy(&payload, at + 8, sizeof(payload));
		*bytes = CONTAINER_HEADER + (size_t)payload;
		c->row += *bytes;
		c->row_bytes -= *bytes;
		return at;
	}
	while (c->linked && c->linked_n++ < LINKED_MAX && (at = *c->linked++))
		if (kbn_image_extent(at, SIZE_MAX, &kind, bytes) == 0 && kind == KBN_KIND_FATBIN &&
		    !is_wrapper(at, kind))
			return at;
	return NULL;
}

static bool containers_open(struct containers *c, const uint8_t *data, size_t bytes)
{
	enum kbn_image_kind kind;
	uint32_t version;

	memset(c, 0, sizeof(*c));
	c->row = data;
	c->row_bytes = bytes;
	if (!is_wrapper(data, KBN_KIND_FATBIN))
		return true;
	memcpy(&version, data + 4, sizeof(version));
	memcpy(&c->row, data + 8, sizeof(c->row));
	c->row_bytes = 0;
	if (version == 2)
		memcpy(&c->linked, data + 16, sizeof(c->linked));
	if (!c->row)
		return c->linked;
	return kbn_image_extent(c->row, SIZE_MAX, &kind, &c->row_bytes) == 0 &&
	       kind == KBN_KIND_FATBIN && !is_wrapper(c->row, kind);
}

/* Pieces of a fat binary; *whole = bytes of all its containers. NULL, or why there is nothing to keep. */
static const char *fatbin_pieces(struct pieces *p, uint8_t header[CONTAINER_HEADER],
				 const uint8_t *data, size_t bytes, const int *sms, int sm_count,
				 struct choice *choice, size_t *whole)
{
	static const uint8_t start[8] = {0x50, 0xed, 0x55, 0xba, 1, 0, CONTAINER_HEADER, 0};
	struct containers all;
	const uint8_t *at;
	uint64_t payload;
	size_t n;

	*whole = 0;
	if (!containers_open(&all, data, bytes))
		return "damaged fat binary";
	piece_add(p, header, CONTAINER_HEADER);
	while ((at = next_container(&all, &n))) {
		*whole += n;
		choose(p, at, n, sms, sm_count, choice);
	}
	if (p->n == 1)
		return "no entry for the devices of this process";
	payload = p->bytes - CONTAINER_HEADER;
	memcpy(header, start, sizeof(start));
	memcpy(header + 8, &payload, sizeof(payload));
	return NULL;
}

/* Copy the pieces and queue them. NULL, or why not. */
static const char *keep(uint32_t id, const struct pieces *p)
{
	struct copy *c = copy_new(p->bytes);
	uint8_t *to = (uint8_t *)(c + 1);

	if (!c)
		return "out of memory";
	for (int i = 0; i < p->n; i++) {
		memcpy(to, p->part[i].iov_base, p->part[i].iov_len);
		to += p->part[i].iov_len;
	}
	c->image = id;
	return copy_hand_over(c);
}

/* What a load says of its image, before anything is kept. */
struct found {
	enum kbn_image_kind kind;
	enum kbn_image_origin origin;
	size_t bytes; /* of the whole image */
	struct choice choice;
	struct pieces pieces;
	uint8_t header[CONTAINER_HEADER]; /* first of the pieces of a fat binary */
	const char *why;                  /* there is nothing to keep */
};

static void find_pieces(struct found *f, const void *data, size_t limit, size_t bytes_hint,
			const int *sms, int sm_count)
{
	/* A wrapper holds pointers of this process: in a file it can only be a trap. */
	if (kbn_image_extent(data, limit, &f->kind, &f->bytes) < 0 ||
	    (is_wrapper(data, f->kind) && limit != SIZE_MAX)) {
		f->kind = KBN_KIND_UNKNOWN;
		f->bytes = bytes_hint;
		f->why = "not a kind of image that is known";
	} else if (f->kind == KBN_KIND_FATBIN) {
		f->why = fatbin_pieces(&f->pieces, f->header, data, f->bytes, sms, sm_count,
				       &f->choice, &f->bytes);
	} else {
		f->choice.sm = kbn_image_sm(data, f->bytes, f->kind);
		f->choice.is_text = f->kind == KBN_KIND_PTX;
		piece_add(&f->pieces, data, f->bytes);
	}
	if (f->choice.is_text)
		f->origin = KBN_ORIGIN_JIT;
}

/*
 * Options whose values say nothing of the code: the time it took, log buffers and their sizes (2 to
 * 6), tables of addresses (17, 18). Their pointers differ from load to load.
 */
static bool is_setting(uint32_t option)
{
	return !(option >= 2 && option <= 6) && option != 17 && option != 18;
}

/* Of everything that the records of an image hold, and of its code. */
static void hash_found(const struct found *f, const struct kbn_image_source *s, uint8_t hash[16])
{
	struct {
		uint64_t kind, origin, bytes, sm, options;
		uint8_t path[16], code[2 * SMS_MAX + 1][16];
		uint32_t option[OPTIONS_MAX][2];
	} all;

	memset(&all, 0, sizeof(all));
	all.kind = f->kind;
	all.origin = f->origin;
	all.bytes = f->bytes;
	all.sm = f->choice.sm;
	all.options = s->jit_options;
	if (s->path)
		kbn_hash128(s->path, strnlen(s->path, PATH_BYTES), all.path);
	for (int i = 0; i < f->pieces.n; i++)
		kbn_hash128(f->pieces.part[i].iov_base, f->pieces.part[i].iov_len, all.code[i]);
	for (unsigned i = 0; i < s->jit_options && i < OPTIONS_MAX && s->jit_option; i++) {
		all.option[i][0] = s->jit_option[i];
		if (s->jit_value && is_setting(s->jit_option[i]))
			all.option[i][1] = (uint32_t)(uintptr_t)s->jit_value[i];
	}
	kbn_hash128(&all, sizeof(all), hash);
}

/*
 * The entry of an image that is small enough to be compared; *id is raised for one that is new and
 * found for one that is not. NULL = this image stands for itself.
 */
static struct known *known_of(const struct found *f, const struct kbn_image_source *s, uint32_t *id)
{
	struct known *k, *fresh;
	uint8_t hash[16];
	uint64_t key;

	*id = 0;
	if (f->why || f->pieces.bytes > SAME_BYTES)
		return NULL;
	hash_found(f, s, hash);
	memcpy(&key, hash, sizeof(key));
	key |= 1;
	k = kbn_map_get(&known_images, (const void *)(uintptr_t)key);
	if (!k) {
		fresh = kbn_alloc(sizeof(*fresh));
		if (!fresh)
			return NULL;
		memcpy(fresh->hash, hash, sizeof(fresh->hash));
		*id = image_new();
		atomic_store(&fresh->image, *id);
		k = kbn_map_add(&known_images, (const void *)(uintptr_t)key, fresh);
		if (k == fresh)
			return k;
	}
	*id = memcmp(k->hash, hash, sizeof(hash)) ? 0 : atomic_load(&k->image);
	return NULL;
}

static uint32_t capture_memory(const struct kbn_image_source *s, const void *data, size_t limit,
			       const int *sms, int sm_count)
{
	struct found f = {.kind = KBN_KIND_UNKNOWN, .origin = s->origin};
	struct known *known;
	uint32_t id;

	find_pieces(&f, data, limit, s->bytes_hint, sms, sm_count);
	known = known_of(&f, s, &id);
	if (id && !known)
		return id; /* loaded before: its records are there */
	if (!id)
		id = image_new();
	record_image(id, s, f.kind, f.origin, f.choice.sm, f.bytes);
	if (!f.why)
		f.why = keep(id, &f.pieces);
	if (f.why) {
		record_stored(id, NULL, 0, f.why);
		if (known)
			atomic_store(&known->image, 0);
	}
	return id;
}

uint32_t kbn_image_capture(const struct kbn_image_source *source, const int *sms, int sm_count)
{
	int saved = errno;
	size_t bytes = 0;
	uint32_t id;
	void *file;

	kbn_image_begin();
	if (sm_count > SMS_MAX)
		sm_count = SMS_MAX;
	if (source->data) {
		id = capture_memory(source, source->data,
				    source->bytes_hint ? source->bytes_hint : SIZE_MAX, sms,
				    sm_count);
	} else if (source->path && (file = kbn_filer_read(source->path, IMAGE_BYTES_MAX, &bytes))) {
		id = capture_memory(source, file, bytes, sms, sm_count);
		munmap(file, bytes);
	} else {
		id = image_new();
		record_image(id, source, KBN_KIND_UNKNOWN, source->origin, 0, 0);
		record_stored(id, NULL, 0,
			      source->path ? "the file could not be read"
					   : "the program gave no image");
	}
	errno = saved;
	return id;
}
