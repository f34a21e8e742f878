/*
 * trace_read.h - one process directory: opens and checks its files, then hands out records, slots
 * and sketches. Works while the program runs and on files cut at any byte.
 * Input: log.kbn, slots.kbn, sketch.kbn. Output: copies; nothing points into a file.
 * Leaves what records mean and how they belong together to session.c.
 */
#ifndef KBN_TRACE_READ_H
#define KBN_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "kbn_trace.h"

struct trace {
	char *dir;
	int log_fd, slots_fd, sketch_fd;  /* -1 = not there */
	struct buf log;                   /* the whole log, cursor at the next record */
	struct kbn_file_header head;      /* of the log */
	struct kbn_slots_header counters; /* as of the start of the slots; zero without slots.kbn */
	uint32_t slots_at, sketches_at;   /* offset of the first unit in its file */
	size_t slots_n;                   /* slots to walk */
	size_t slot_next;
	uint8_t *chunk; /* slots read ahead */
	size_t chunk_first, chunk_n;
	/* What was not as it should be; none of it stops the reading. */
	uint64_t records_torn, records_unknown; /* since the last trace_rewind */
	uint64_t slots_torn, slots_unknown;     /* torn: halves that never came to rest */
	struct err fault; /* the first damage met after the headers, ERR_NONE = none */
};

struct trace_record {
	uint16_t kind, flags;
	uint64_t offset;    /* of the record header in log.kbn */
	struct buf payload; /* good until trace_close */
};

/* A slot that is in use. `launch` covers KBN_SLOT_LAUNCH and KBN_SLOT_GRAPH, `thread` the third kind. */
struct trace_slot {
	uint32_t index;
	uint32_t kind;
	struct kbn_slot launch;
	struct kbn_thread_slot thread;
};

/*
 * Open a process directory. Fails when log.kbn is missing, shorter than its header, of another
 * version (refused by name) or not a log; when another file has a wrong header or belongs to a
 * different recording. A missing slots.kbn or sketch.kbn is an empty one.
 */
int trace_open(struct trace *t, const char *dir, struct err *e);
void trace_close(struct trace *t);

/*
 * The next record: 1, or 0 at the end. The end is the first word that is not a commit mark, or a
 * record that reaches past the end of the file. A committed record whose check does not fit is read
 * again a few times, then left out and counted as torn. Unknown kinds are left out and counted.
 */
int trace_next_record(struct trace *t, struct trace_record *r);

/* Back to the first record; the counts of torn and unknown records begin anew. */
void trace_rewind(struct trace *t);

/*
 * Copy the fixed part of a record into `out` and leave the cursor of r->payload behind it. -1 with
 * the offset in the log when the payload is too short.
 */
int trace_fixed(struct trace_record *r, void *out, size_t bytes, struct err *e);

/*
 * The next slot in use: 1, or 0 at the end. Each half is taken when its sequence counter is even
 * and the same before and after; after a few attempts it is taken as it stands and counted as
 * torn: every counter is one aligned store, so such a half is at most one launch or sample off.
 */
int trace_next_slot(struct trace *t, struct trace_slot *s);

/* Read a thread slot again (later than all launch slots, so that `seen` covers them). 0 or -1. */
int trace_thread_again(struct trace *t, uint32_t index, struct kbn_thread_slot *thread);

/* The counts of sketch `index`. -1 when it does not lie within the file. */
int trace_sketch(struct trace *t, uint32_t index, uint32_t counts[KBN_SKETCH_BUCKETS]);

#endif
