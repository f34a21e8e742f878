/*
 * writer.h - the data directory: creates it, owns the mapped files, appends records, hands out
 * slots and sketches, stores code images. Owns no policy. Nothing here calls the driver.
 *
 * Every chunk is allocated on disk (fallocate) before it is mapped, so that a full disk is a
 * counted loss and never SIGBUS. No descriptor of the program's table is kept: growing reopens by path,
 * unless kbn_writer_keep_open() was called.
 * What is said to append or to make a slot has files grow on the thread of filer.h; the rest is called
 * there.
 */
#ifndef KBN_SHIM_WRITER_H
#define KBN_SHIM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "kbn_trace.h"

/*
 * Create RUN_DIR, RUN_DIR/code and the process directory from `out` (already expanded template) and
 * map the three files. When `out` cannot be created: tries $TMPDIR, then /tmp. 0, or -1 with *why.
 */
int kbn_writer_open(const char *out, uint32_t slot_cap, const char **why);

/*
 * How many times a writer was opened here, 0 = never. A forked child that starts a recording of its
 * own raises it: modules compare it with the number they began with, and drop what they inherited.
 */
uint32_t kbn_writer_epoch(void);

/*
 * On the thread of filer.h, in a table of its own: from now on it has the files open, so that they grow
 * also when the program has changed its root, its rights, or the path.
 */
void kbn_writer_keep_open(void);

const char *kbn_writer_run_dir(void);  /* absolute */
const char *kbn_writer_proc_dir(void); /* absolute */

struct kbn_slots_header *kbn_writer_header(void); /* never NULL after open */

/*
 * Append one record whose payload is the concatenation of `iov`. Thread-safe, bounded wait, no
 * malloc. 0, or -1 when it did not fit (counted in log_dropped).
 */
int kbn_log_append(uint16_t kind, uint16_t flags, const struct iovec *iov, int n);

/* A note record; text may be NULL. */
void kbn_log_note(enum kbn_note note, int64_t value, const char *text);

/*
 * A zeroed slot and its index. The caller fills the identity and stores `kind` last with release
 * order. `reserve` = true may go past slot_cap (overflow and thread slots; bounded by a reserve of
 * an eighth of the cap). NULL when there is none.
 */
struct kbn_slot *kbn_slot_new(bool reserve, uint32_t *index);

/* A zeroed sketch and its index; NULL at the cap or when the disk is full. Thread-safe. */
struct kbn_sketch *kbn_sketch_new(uint32_t *index);
struct kbn_sketch *kbn_sketch_at(uint32_t index);

/*
 * Write `bytes` bytes as code/<hash>.img unless the file is there; temporary file + rename, so that
 * several processes may do it at once. 0, or -1 with *why.
 */
int kbn_code_store(const uint8_t hash[16], const void *data, size_t bytes, const char **why);

/* END record unless `end` is NULL, then state = how; nothing is unmapped. Only the first call counts. */
void kbn_writer_seal(enum kbn_state how, const struct kbn_rec_end *end);

/* Anonymous memory for the shim: mmap-backed bump arena, zeroed, 16-byte aligned, never freed. NULL when none. */
void *kbn_alloc(size_t bytes);

/* The same for what every launch looks at: it begins where a pair of cache lines begins. */
void *kbn_alloc_lines(size_t bytes);

#endif
