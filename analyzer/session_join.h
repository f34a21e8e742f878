/*
 * session_join.h - the inside of session: what grows while processes are read one by one.
 * session.c finds and orders the directories and finishes the result; session_join.c reads the
 * definitions of one process into this, session_count.c its slots, session_image.c its code, session_end.c its end. Nothing else includes it.
 */
#ifndef KBN_SESSION_JOIN_H
#define KBN_SESSION_JOIN_H

#include "arena.h"
#include "count.h"
#include "keymap.h"
#include "session.h"
#include "trace_read.h"
#include "vec.h"

/* Pointers between the parts are indices until all have been read: arrays move while they grow. */
#define JOIN_NONE UINT32_MAX

struct join_kernel {
	struct session_kernel k;
	uint32_t image; /* JOIN_NONE = code not seen */
};

/* Identity of a shape; a hash key, so only 32-bit fields and no padding. */
struct join_shape_key {
	uint32_t device, kernel;
	uint32_t grid[3], block[3], cluster[3], dyn_smem_bytes;
	uint32_t green_sm_count;
	uint32_t flags; /* KBN_SLOT_* */
};

struct join_shape {
	struct session_shape s;
	uint32_t kernel, last_run;
};

struct join_early {
	uint32_t shape; /* or graph, in the list of graphs */
	struct kbn_early early;
	bool has_sketch; /* its slot has one, and the sample is in it */
};

struct join_params {
	uint32_t shape;
	size_t order; /* of reading */
	struct session_params p;
};

struct join {
	struct arena *arena;
	VEC(struct session_run) runs;
	VEC(struct session_device) devices;
	VEC(struct session_image) images;
	VEC(struct join_kernel) kernels;
	VEC(struct join_shape) shapes;
	VEC(struct session_graph) graphs;
	VEC(struct session_note) notes;
	VEC(struct join_early) early, graph_early;
	VEC(struct join_params) params;
	struct keymap device_of, image_of, kernel_of, shape_of; /* key → index in the lists above */
};

/* What the ids of one process mean. Lives only while that process is read. */
struct join_context {
	uint32_t device; /* index in join.devices */
	uint32_t sm_count;
};

struct join_image {
	struct kbn_rec_image image;
	struct buf path, jit;
	bool has_stored;
	struct kbn_rec_stored stored;
	struct buf why;
	uint32_t index; /* in join.images */
};

struct join_graph {
	struct buf nodes;
	uint32_t nodes_n, index; /* in join.graphs */
};

struct join_process {
	struct join *join;
	struct trace trace;
	uint32_t run; /* index in join.runs */
	bool has_process, has_end;
	uint64_t last_ns; /* latest time in any record */
	struct keymap device_of, context_of, image_of, kernel_of,
		graph_of;      /* the id of a record → index */
	VEC(uint32_t) devices; /* index in join.devices, by order of record */
	VEC(struct join_context) contexts;
	VEC(struct join_image) images;
	VEC(struct join_graph) graphs;
	uint32_t *shape_of_slot; /* by slot, JOIN_NONE = none */
	uint32_t nameless; /* kernel of launches whose definition was lost, JOIN_NONE = not made yet */
	uint32_t elsewhere; /* device of launches whose context is not known, JOIN_NONE = not made yet */
};

/* The index of a device, made when it is new. JOIN_NONE when memory has run out. */
uint32_t join_device(struct join *j, const struct session_device *d);

/* The index of a kernel; `image` may be JOIN_NONE. JOIN_NONE when memory has run out. */
uint32_t join_kernel(struct join *j, const struct session_kernel *k, uint32_t image);

/*
 * The second half of a process: slots into shapes, graph launches times nodes, parameter samples,
 * and the accounting of the run. 0, or -1 when memory has run out.
 */
int join_counts(struct join_process *p, struct err *e);

/* Make `from`, whose records have all been read, an entry of join.images; sets from->index. */
int join_add_image(struct join_process *p, struct join_image *from, struct err *e);

/* How the process ended and how long it was recorded, once its log has been read. */
void join_end(struct join_process *p, struct session_run *run);

typedef int (*join_record_fn)(struct join_process *p, struct trace_record *r, struct err *e);

/*
 * One pass over the log with a handler per kind (KBN_REC_END + 1 of them, NULL = none). A record that
 * contradicts itself becomes a note; only the lack of memory ends the pass.
 */
int join_pass(struct join_process *p, const join_record_fn *handlers, struct err *e);

/* A damaged record: a note on this run. -1 when memory has run out. */
int join_damage(struct join_process *p, const struct err *fault, struct err *e);

/*
 * Read the process directory `dir` and add all it holds as run number j->runs.n. On failure the
 * directory could not be opened and nothing was added, or memory ran out (ERR_MEMORY).
 */
int join_process(struct join *j, const char *dir, struct err *e);

/* Add a note; -1 when memory has run out. `text` is copied. */
int join_note(struct join *j, int note, int64_t value, uint64_t mono_ns, uint32_t run,
	      const char *text, struct err *e);

#endif
