/*
 * session.h - what was recorded, joined: processes, devices, kernels with their code, and one entry
 * per (device, code hash, symbol, geometry) merged over threads and processes.
 * Input: RUN_DIR or process directories (trace_read). Output: plain data, in a stated order.
 * Knows nothing of models and advice.
 */
#ifndef KBN_SESSION_H
#define KBN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "kbn_trace.h"

struct session_string {
	const char *key, *value;
};

enum session_end {
	SESSION_END_RUNNING,
	SESSION_END_EXIT, /* its exit handlers ran */
	SESSION_END_KILLED, /* gone without them: killed, _exit, or another program in its place (exec) */
	SESSION_END_NEVER,  /* nothing ran: see session_given.h */
	SESSION_END_STOPPED /* the recording turned itself off: how the process ended was not seen */
};

/* One recorded process. */
struct session_run {
	const char *dir;
	const char **argv;
	size_t argc;
	const struct session_string *env;
	size_t env_n;
	const char *host, *driver, *foreign; /* "" = not known / none */
	uint32_t pid, driver_api;
	int rank, world, local_rank;         /* -1 = none */
	uint64_t start_unix_ns, duration_ns; /* duration: END record, else the last heartbeat */
	enum session_end end;
	int exit_status, signal; /* what `kbn run` was told of its end; -1 = not known, not so */
	bool simulated;          /* recorded on the stand-in driver */
	bool no_slots;           /* the file with the launches is missing */
	enum kbn_timing timing;
	/* accounting of this process, see the identity in the contract */
	uint64_t seen, timed, sampled_out, untimeable, captured, failed, unfinished, filtered,
		dropped, overflow;
	uint64_t graph_launches, graph_node_launches, copies, sets;
	bool copies_known;
	uint64_t gates, gate_deadlines, self_ns, log_dropped;
	uint32_t budget_ppm;
	uint64_t torn;    /* halves of slots taken, and records left out, while being written */
	uint64_t unknown; /* records and slots of a kind that this version does not know */
	uint32_t threads; /* launching threads */
};

struct session_device {
	uint8_t uuid[16];
	const char *name, *mig; /* mig "" = none */
	int cc;                 /* 90 */
	bool is_row;            /* no device: the product or profile of that name in the table */
	uint64_t total_bytes;
	struct {
		int32_t attribute, value;
	} * attrs;
	size_t attrs_n;
};
/* The value of a CUdevice_attribute, or `missing`. */
int32_t session_attr(const struct session_device *d, int attribute, int32_t missing);

/* A code image by content. */
struct session_image {
	uint8_t hash[16];        /* all zero when never stored */
	const char *path;        /* of the stored file, NULL = not stored */
	const uint8_t *data;     /* or its stored_bytes bytes, where they are at hand; else NULL */
	const char *why_missing; /* NULL when stored */
	const char *file;        /* path the program loaded, NULL = from memory */
	enum kbn_image_origin origin;
	enum kbn_image_kind kind;
	uint32_t sm;
	uint64_t bytes, stored_bytes;
	struct {
		uint32_t option, value;
	} * jit;
	size_t jit_n;
};

/* Whether the driver compiles it from PTX, by itself or out of a fat binary; false of NULL. */
static inline bool session_is_jit(const struct session_image *image)
{
	return image && (image->kind == KBN_KIND_PTX || image->origin == KBN_ORIGIN_JIT);
}

struct session_kernel {
	const char *name;                  /* mangled, "" = unknown */
	const struct session_image *image; /* NULL = code not seen */
	int registers, static_smem_bytes, local_bytes, const_bytes, max_threads, binary_version,
		ptx_version, max_dyn_smem_bytes, carveout; /* from the driver, -1 = unknown */
	int cluster[3];
	bool params_known, is_comm;
	struct {
		uint32_t offset, bytes;
	} * params;
	size_t params_n;
};

/* For an initialiser: what the driver would say, when it was not asked. */
#define SESSION_KERNEL_UNKNOWN                                                                \
	.registers = -1, .static_smem_bytes = -1, .local_bytes = -1, .const_bytes = -1,       \
	.max_threads = -1, .binary_version = -1, .ptx_version = -1, .max_dyn_smem_bytes = -1, \
	.carveout = -1

/* Merged time statistics: raw event time, no bias subtracted. */
struct session_times {
	uint64_t gated, plain, starved,
		lost; /* good pairs by method, warm-up included; bad pairs */
	uint64_t samples, sum_ns, min_ns, max_ns; /* good samples without warm-up */
	uint64_t slack_ns; /* host time between the records, summed over good plain samples */
	uint32_t *sketch;  /* KBN_SKETCH_BUCKETS counts over `samples`, NULL = use early */
	struct kbn_early *early;
	size_t early_n;      /* of all threads and processes, by launch number */
	uint64_t sketchless; /* samples whose sketch was not kept (cap, disk) */
	bool is_given; /* all of the above is 0: nothing ran, and the user says how long it takes: */
	const double *given_us; /* ascending */
	size_t given_n;
};

struct session_params { /* a parameter sample, bytes as packed by the driver's table */
	uint64_t launch;
	const uint8_t *bytes;
	size_t bytes_n;
	const struct kbn_allocation *allocations;
	size_t allocations_n;
	const uint32_t *pieces;
	size_t pieces_n; /* {offset, bytes} pairs really copied; 0 = all */
};

/* One (device, kernel, geometry). */
struct session_shape {
	uint32_t device; /* index in devices */
	const struct session_kernel *kernel;
	uint32_t grid[3], block[3], cluster[3], dyn_smem_bytes;
	uint32_t green_sm_count; /* 0 = whole device */
	bool cooperative, pdl, overflow;
	uint64_t sampled_out, untimeable, bracketed, captured,
		failed;               /* summed over threads and processes */
	uint64_t graph_node_launches; /* graph launches × nodes */
	uint32_t runs;                /* processes that launched it */
	struct session_times times;
	struct session_params *params;
	size_t params_n; /* by launch; at most SESSION_PARAMS_MAX */
	/* of launches that nobody recorded: which of them, and how many before it have this geometry */
	uint32_t given, given_again;
};
#define SESSION_PARAMS_MAX 32

/* Notes that the reading itself makes, beside enum kbn_note. */
enum session_note_kind {
	SESSION_NOTE_DAMAGED =
		1000, /* a directory or file could not be read to its end; text = which and where, value = offset */
	SESSION_NOTE_IDENTITY, /* launches seen and bins differ by `value`, more than the end explains */
	SESSION_NOTE_TWICE,   /* the same recording was given twice and read once */
	SESSION_NOTE_TORN,    /* `value` parts were being written while they were read */
	SESSION_NOTE_UNKNOWN, /* `value` records of a kind that only a newer kbn knows */
	/* of launches that nobody recorded (session_given.h) */
	SESSION_NOTE_GIVEN,    /* that nothing ran */
	SESSION_NOTE_CHOICE,   /* which code of the file was taken; text */
	SESSION_NOTE_LEFT_OUT, /* kernels that cannot be launched so; text */
	SESSION_NOTE_NOT_USED, /* what was given and is not used; text */
	SESSION_NOTE_AGAIN,    /* `value` kernels that the file has more than once */
};
#define SESSION_NO_RUN UINT32_MAX

struct session_note {
	int note; /* enum kbn_note or enum session_note_kind */
	int64_t value;
	uint64_t mono_ns;
	uint32_t run; /* index in runs, SESSION_NO_RUN = of no run that could be read */
	const char *text;
};

struct session_graph {
	uint32_t run;
	uint64_t launches;
	uint32_t kernel_nodes, other_nodes, flags;
	struct session_times times;
};

struct session {
	struct session_run *runs;
	size_t runs_n; /* by rank, then start */
	struct session_device *devices;
	size_t devices_n; /* by UUID, then name; distinct */
	struct session_image *images;
	size_t images_n;
	struct session_kernel *kernels;
	size_t kernels_n;
	struct session_shape *shapes;
	size_t shapes_n; /* by device, hash, name, geometry */
	struct session_graph *graphs;
	size_t graphs_n;
	struct session_note *notes;
	size_t notes_n;
	bool is_given;         /* nothing was recorded: launches as the user describes them */
	size_t given_launches; /* so many of each kernel */
	struct arena *arena;   /* owns everything above */
};

/*
 * Read `n` directories: run directories and process directories mixed. A damaged process directory
 * becomes a note and the rest is read; fails only when nothing at all could be read, with the file
 * and offset of the first fault. `rank` >= 0 keeps only that rank.
 */
int session_open(struct session *s, const char *const *dirs, size_t n, int rank, struct err *e);
void session_close(struct session *s);

#endif
