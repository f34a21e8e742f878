/*
 * kbn_trace.h - the recording: what the shim writes and the analyzer reads.
 *
 * Input of:  analyzer/trace_read.c.  Output of: shim/writer.c.
 * The prose, with the torn-read rule and what a reader must skip or refuse, is TRACE-FORMAT.md.
 * Fixed-width little-endian fields, no bit-fields, no pointers, no compiler padding.
 *
 *   RUN_DIR/                              one per job; mode 0700
 *     code/<32 hex>.img                   code images by content hash, shared by all processes
 *     proc-<host>-<pid>-<start>/          one per recorded process; <start> = hex of start_unix_ns
 *       log.kbn                           definitions and samples, append-only
 *       slots.kbn                         accumulators, updated in place
 *       sketch.kbn                        quantile sketches, updated in place
 */
#ifndef KBN_TRACE_H
#define KBN_TRACE_H

#include <stdint.h>

#define KBN_TRACE_VERSION 1u
#define KBN_ENDIAN_MARK   0x01020304u

#define KBN_LOG_MAGIC    0x31474f4c4e424bull /* "KBNLOG1" */
#define KBN_SLOTS_MAGIC  0x31544c534e424bull /* "KBNSLT1" */
#define KBN_SKETCH_MAGIC 0x31544b534e424bull /* "KBNSKT1" */

#define KBN_CODE_DIR    "code"
#define KBN_PROC_PREFIX "proc-"
#define KBN_LOG_FILE    "log.kbn"
#define KBN_SLOTS_FILE  "slots.kbn"
#define KBN_SKETCH_FILE "sketch.kbn"
#define KBN_STATUS_FILE "status" /* by `kbn run`: "exit N\n" or "signal N\n" */

/* Every file begins with this header; it is complete before the file gets its name. */
struct kbn_file_header {
	uint64_t magic;
	uint32_t version;      /* KBN_TRACE_VERSION */
	uint32_t endian;       /* KBN_ENDIAN_MARK */
	uint32_t header_bytes; /* offset of the first record, slot or sketch */
	uint32_t unit_bytes;   /* bytes of one slot or sketch; 8 (alignment) for the log */
	uint32_t pid;
	uint32_t reserved;
	uint64_t start_unix_ns; /* CLOCK_REALTIME at start; the same in the three files */
	uint64_t start_mono_ns; /* CLOCK_MONOTONIC at start; all other times count from it */
	uint64_t reserved2[2];
};
_Static_assert(sizeof(struct kbn_file_header) == 64, "file header");

/* ------------------------------------------------------------------ log.kbn */

#define KBN_REC_COMMIT 0x4b424e43u /* "CNBK"; stored last, with release order */

/* A record: this header, then `bytes` bytes of payload, then zeros up to a multiple of 8. */
struct kbn_rec {
	uint32_t commit; /* KBN_REC_COMMIT once complete, 0 before */
	uint32_t bytes;  /* payload bytes, without header and padding */
	uint32_t check;  /* low 32 bits of kbn_hash64 of the payload */
	uint16_t kind;   /* enum kbn_rec_kind; unknown kinds are skipped */
	uint16_t flags;  /* per kind */
};
_Static_assert(sizeof(struct kbn_rec) == 16, "record header");

enum kbn_rec_kind {
	KBN_REC_PROCESS = 1, /* struct kbn_rec_process + strings */
	KBN_REC_DEVICE = 2,  /* struct kbn_rec_device + attributes */
	KBN_REC_CONTEXT = 3, /* struct kbn_rec_context */
	/* struct kbn_rec_image + path + JIT options; written at the first load of equal code */
	KBN_REC_IMAGE = 4,
	KBN_REC_STORED = 5, /* struct kbn_rec_stored + reason; written when the bytes are kept */
	KBN_REC_KERNEL = 6, /* struct kbn_rec_kernel + parameters + name */
	KBN_REC_PARAMS = 7, /* struct kbn_rec_params + bytes + allocations */
	KBN_REC_GRAPH = 8,  /* struct kbn_rec_graph + nodes */
	KBN_REC_NOTE = 9,   /* struct kbn_rec_note + text */
	KBN_REC_END = 10,   /* struct kbn_rec_end; absent when the process was killed */
};

/*
 * PROCESS: followed by `strings` NUL-terminated strings: argc arguments of the (redacted) command
 * line, then "NAME=value" pairs of the recorded environment (CUDA_*, KBN*, rank variables).
 */
struct kbn_rec_process {
	uint32_t pid, ppid;
	int32_t rank, world, local_rank; /* -1 = not known */
	uint32_t argc;
	uint32_t strings;    /* arguments + environment entries */
	uint32_t driver_api; /* cuDriverGetVersion: 13000 */
	char host[64];       /* NUL-padded */
	char driver[32];     /* "580.159.04" or "" */
	char foreign[64];    /* name of another profiler found in the process, "" = none */
	uint64_t start_unix_ns;
};
_Static_assert(sizeof(struct kbn_rec_process) == 200, "process record");

/* DEVICE: followed by `attributes` pairs {int32_t CUdevice_attribute, int32_t value}. */
struct kbn_rec_device {
	uint32_t device; /* our id: 0, 1, ... in order of first use */
	int32_t ordinal; /* driver ordinal in this process */
	uint8_t uuid[16];
	char name[96]; /* cuDeviceGetName, NUL-padded */
	char mig[64];  /* MIG identity, "" = none */
	uint64_t total_bytes;
	uint32_t attributes;
	uint32_t reserved;
};
_Static_assert(sizeof(struct kbn_rec_device) == 200, "device record");

struct kbn_rec_context {
	uint32_t context;  /* our id, never reused; a reset primary context gets a new one */
	uint32_t device;   /* our device id */
	uint32_t sm_count; /* SMs of a green context, 0 = the whole device */
	uint32_t flags;    /* KBN_CTX_* */
};
#define KBN_CTX_GREEN 1u

enum kbn_image_origin {
	KBN_ORIGIN_LIBRARY = 1, /* cuLibraryLoadData */
	KBN_ORIGIN_MODULE = 2,  /* cuModuleLoadData, ...Ex, ...FatBinary */
	KBN_ORIGIN_LINKER = 3,  /* output of cuLinkComplete */
	KBN_ORIGIN_JIT = 4,     /* PTX text, compiled by the driver */
	KBN_ORIGIN_FILE = 5,    /* cuModuleLoad, cuLibraryLoadFromFile */
};

enum kbn_image_kind {
	KBN_KIND_UNKNOWN = 0,
	KBN_KIND_CUBIN = 1,  /* bare ELF */
	KBN_KIND_FATBIN = 2, /* stored as one container with the chosen entries only */
	KBN_KIND_PTX = 3,    /* text; the stored image is the text without its NUL */
	KBN_KIND_OTHER = 4,  /* LTO intermediate and the like, kept opaque */
};

/* IMAGE: followed by path_bytes of path (no NUL), then jit_options pairs {uint32_t CUjit_option, uint32_t value}. */
struct kbn_rec_image {
	uint32_t image;  /* our id, never reused */
	uint16_t origin; /* enum kbn_image_origin */
	uint16_t kind;   /* enum kbn_image_kind */
	uint32_t sm;     /* SM number of the chosen entry, 90; 0 = not known. PTX: its target */
	uint32_t path_bytes;
	uint32_t jit_options;
	uint32_t reserved;
	uint64_t bytes; /* size of the whole image as the program gave it */
};
_Static_assert(sizeof(struct kbn_rec_image) == 32, "image record");

/* STORED: the outcome for one image; followed by `why_bytes` of text when nothing was stored. */
struct kbn_rec_stored {
	uint32_t image;
	uint32_t why_bytes;
	uint64_t stored_bytes; /* 0 = not stored */
	uint8_t hash[16];      /* kbn_hash128 of the stored bytes; names the file in code/ */
};
_Static_assert(sizeof(struct kbn_rec_stored) == 32, "stored record");

/*
 * KERNEL: one per (image, symbol). Values that the driver did not give are -1.
 * Followed by `params` pairs {uint32_t offset, uint32_t bytes}, then name_bytes of mangled name.
 */
struct kbn_rec_kernel {
	uint32_t kernel; /* our id, never reused, > 0 */
	uint32_t image;  /* 0 = code not seen */
	int32_t registers, static_smem_bytes, local_bytes, const_bytes;
	int32_t max_threads, binary_version, ptx_version, max_dyn_smem_bytes, carveout;
	int32_t cluster[3]; /* compiled-in cluster shape, 0 = none */
	uint32_t params;
	uint32_t name_bytes;
	uint32_t flags; /* KBN_KERNEL_* */
	uint32_t reserved;
};
_Static_assert(sizeof(struct kbn_rec_kernel) == 72, "kernel record");
#define KBN_KERNEL_PARAMS_KNOWN 1u /* the parameter table is exact (also when it is empty) */
#define KBN_KERNEL_COMM         2u /* named like a communication kernel: never gated */

/*
 * PARAMS: followed by `bytes` of the packed parameter block (offsets of the KERNEL record), then
 * `allocations` of struct kbn_allocation for its pointer-like values, then `pieces` pairs
 * {uint32_t offset, uint32_t bytes} of the parts that were really copied (KBN_PARAMS=scalars; 0 = all).
 */
struct kbn_rec_params {
	uint32_t kernel;
	uint32_t slot;    /* index in slots.kbn */
	uint64_t launch;  /* 0-based number of the launch in its slot */
	uint64_t mono_ns; /* since start_mono_ns */
	uint32_t bytes;
	uint32_t allocations;
	uint32_t pieces;
	uint32_t reserved;
};
_Static_assert(sizeof(struct kbn_rec_params) == 40, "params record");

struct kbn_allocation {
	uint32_t param_offset; /* where in the block the pointer stands */
	uint32_t reserved;
	uint64_t base, bytes;
};

/* GRAPH: one version of an instantiated graph; followed by `nodes` of struct kbn_graph_node. */
struct kbn_rec_graph {
	uint32_t graph;       /* our id of this exec and version, never reused */
	uint32_t previous;    /* the id it replaces after an update, 0 = none */
	uint32_t nodes;       /* entries that follow */
	uint32_t other_nodes; /* memcpy, memset, host, event nodes */
	uint32_t flags;       /* KBN_GRAPH_* */
	uint32_t reserved;
};
#define KBN_GRAPH_CONDITIONAL 1u /* has nodes that run an unknown number of times; not listed */
#define KBN_GRAPH_TRUNCATED   2u /* more kernel nodes than we walk */
#define KBN_GRAPH_STALE       4u /* changed in a way that we could not follow */

struct kbn_graph_node {
	uint32_t kernel;
	uint32_t count; /* nodes of this shape in the graph */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dyn_smem_bytes;
	uint32_t flags; /* KBN_SLOT_COOPERATIVE, KBN_SLOT_PDL */
	uint32_t context;
};
_Static_assert(sizeof(struct kbn_graph_node) == 56, "graph node");

enum kbn_note {
	KBN_NOTE_OFF = 1,          /* recording stopped early; text = why */
	KBN_NOTE_LOG_FULL = 2,     /* log records were dropped; value = how many so far */
	KBN_NOTE_SLOTS_FULL = 3,   /* the cap was reached; launches went to overflow slots */
	KBN_NOTE_TIMING_OFF = 4,   /* timing not possible here; text = why */
	KBN_NOTE_EXPORT_TABLE = 5, /* a private driver table was asked for; text = its UUID */
	KBN_NOTE_UNWRAPPED = 6,    /* cuGetProcAddress result passed on unwrapped; text = name */
	KBN_NOTE_FOREIGN = 7,      /* another profiler; text = which */
	KBN_NOTE_STICKY = 8,       /* a context ended with an error; value = CUresult */
	KBN_NOTE_WINDOW = 9,       /* cuProfilerStart (value 1) / Stop (value 0) */
	KBN_NOTE_SIMULATED = 10,   /* the driver is the stand-in: times are simulated */
	KBN_NOTE_SKETCH_FULL = 11, /* the cap of sketches was reached */
	KBN_NOTE_CHECKPOINT = 12,  /* the process was checkpointed; times across it are void */
};

struct kbn_rec_note {
	uint32_t note;       /* enum kbn_note */
	uint32_t text_bytes; /* text follows, no NUL */
	int64_t value;
	uint64_t mono_ns;
};

struct kbn_rec_end {
	uint64_t mono_ns;     /* duration of the recording */
	uint32_t unfinished;  /* event pairs still open when the data was sealed */
	uint32_t images_lost; /* images not stored before the deadline */
};

/* ---------------------------------------------------------------- slots.kbn */

#define KBN_SLOTS_HEADER_BYTES 4096u

/*
 * The header page of slots.kbn: kbn_file_header, then counters of the whole process.
 * Each counter is written by atomic adds or by one thread only; all only grow.
 */
struct kbn_slots_header {
	struct kbn_file_header file;
	uint64_t heartbeat_ns; /* last time the drain thread was seen, since start_mono_ns */
	uint32_t state;        /* enum kbn_state */
	uint32_t slot_cap;     /* most launch slots before overflow */
	uint64_t slots;    /* slots handed out so far; those whose kind is still free are skipped */
	uint64_t sketches; /* sketches handed out so far */
	uint64_t dropped;  /* launches that no slot could take (also part of `seen`) */
	uint64_t gates;    /* gates shut */
	uint64_t gate_deadlines; /* of these opened by the deadline */
	uint64_t self_ns;        /* host time spent in the timing of sampled launches */
	uint64_t log_dropped;    /* records that did not fit in the log */
	uint32_t budget_ppm;     /* overhead budget, parts per million of run time */
	uint32_t timing;         /* enum kbn_timing in force */
	uint8_t reserved[KBN_SLOTS_HEADER_BYTES - 64 - 80];
};
_Static_assert(sizeof(struct kbn_slots_header) == KBN_SLOTS_HEADER_BYTES, "slots header");

enum kbn_state {
	KBN_RUNNING = 0,
	KBN_SEALED = 1,
	KBN_STOPPED = 2 /* recording turned itself off */
};
enum kbn_timing {
	KBN_TIMING_OFF = 0,
	KBN_TIMING_EVENTS = 1,
	KBN_TIMING_CUPTI = 2,
	KBN_TIMING_AUTO = 3
};

enum kbn_slot_kind {
	KBN_SLOT_FREE = 0,   /* end of the used part */
	KBN_SLOT_LAUNCH = 1, /* struct kbn_slot: one kernel shape as launched by one thread */
	KBN_SLOT_GRAPH =
		2, /* struct kbn_slot: one graph version as launched by one thread; kernel = graph id */
	KBN_SLOT_THREAD = 3, /* struct kbn_thread_slot */
};

#define KBN_SLOT_COOPERATIVE 1u
#define KBN_SLOT_PDL         2u /* launched with a programmatic attribute */
#define KBN_SLOT_OVERFLOW    4u /* takes all shapes of `kernel` past the cap; geometry is 0 */

#define KBN_EARLY       6 /* timed launches kept one by one */
#define KBN_WARMUP      3 /* launches 0..2 of a shape are warm-up: never in sum, min, max, sketch */
#define KBN_EARLY_PLAIN 0x80000000u /* in kbn_early.launch: timed by a plain pair */

struct kbn_early {
	uint32_t launch; /* 0-based number in the slot; bit 31 = plain pair */
	uint32_t ns;     /* raw event time, UINT32_MAX when larger */
};

/*
 * An accumulator. Three parts: identity (written once, before `kind` is released), the launch half
 * (only the launching thread writes) and the time half (only the drain thread writes). Each half
 * is guarded by a sequence counter: odd = being written; a reader takes the half when the counter
 * is even and the same before and after the copy.
 * Launches of the slot = sampled_out + untimeable + bracketed + captured + failed.
 * Pairs not yet resolved = bracketed - gated - plain - starved - lost.
 */
struct kbn_slot {
	uint32_t kind; /* enum kbn_slot_kind, stored last with release order */
	uint32_t thread;
	uint32_t kernel;
	uint32_t flags;
	uint32_t context;
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0,0,0 = none asked for */
	uint32_t dyn_smem_bytes;
	uint32_t reserved;

	uint32_t launch_seq;
	uint32_t launch_reserved;
	uint64_t sampled_out; /* ran, not timed by choice */
	uint64_t untimeable;  /* ran, could not be timed: PDL, pool empty, contended, error */
	uint64_t bracketed;   /* ran between two events */
	uint64_t captured;    /* recorded into a graph, did not run */
	uint64_t failed;      /* the driver returned an error */
	uint64_t launch_reserved2[2];

	uint32_t time_seq;
	uint32_t sketch;  /* index in sketch.kbn + 1, 0 = none */
	uint64_t gated;   /* good times from gated pairs, warm-up included */
	uint64_t plain;   /* good times from plain pairs, warm-up included */
	uint64_t starved; /* pairs that measured the host, not the kernel: never published */
	uint64_t lost;    /* pairs whose events failed or whose context ended */
	uint64_t sum_ns;  /* raw event time of good samples without warm-up */
	uint64_t min_ns, max_ns;
	uint64_t slack_ns; /* sum over good plain samples of the host time between the records */
	struct kbn_early early[KBN_EARLY]; /* the first good samples, warm-up included */
	uint32_t early_count;
	uint32_t samples; /* good samples in sum, min, max (and in the sketch once there is one) */
};
_Static_assert(sizeof(struct kbn_slot) == 256, "slot");

/*
 * Per launching thread. `seen` is counted on entry of the wrapper, before anything else; it is a
 * single store, and `seq` guards the other counters.
 */
struct kbn_thread_slot {
	uint32_t kind;
	uint32_t thread;
	uint32_t seq;
	uint32_t tid;      /* kernel thread id of the last owner */
	uint64_t seen;     /* launches that entered a wrapper */
	uint64_t filtered; /* left out on request (filter, skip, count, window) */
	uint64_t dropped;  /* no slot could be had, or a longjmp left or hid the launch */
	uint64_t graph_launches;
	uint64_t copies, sets; /* counted only with KBN_COPIES=on */
	uint64_t reserved[24];
};
_Static_assert(sizeof(struct kbn_thread_slot) == 256, "thread slot");

/* --------------------------------------------------------------- sketch.kbn */

/*
 * A histogram of raw event times with 32 linear buckets per octave: a value v in
 * [2^e, 2^(e+1)) ns falls in bucket (e - KBN_SKETCH_MIN_EXP) * 32 + top five mantissa bits, so a
 * bucket is at most 3.2% wide and its midpoint within 1.6%. Values below 64 ns count in bucket 0,
 * above 2^38 ns in the last.
 */
#define KBN_SKETCH_BUCKETS 1024u
#define KBN_SKETCH_MIN_EXP 6u

struct kbn_sketch {
	uint32_t count[KBN_SKETCH_BUCKETS];
};
_Static_assert(sizeof(struct kbn_sketch) == 4096, "sketch");

static inline uint32_t kbn_sketch_bucket(uint64_t ns)
{
	uint32_t e, i;

	if (ns < (1u << KBN_SKETCH_MIN_EXP))
		return 0;
	e = 63u - (uint32_t)__builtin_clzll(ns);
	i = (e - KBN_SKETCH_MIN_EXP) * 32u + (uint32_t)(ns >> (e - 5u) & 31u);
	return i < KBN_SKETCH_BUCKETS ? i : KBN_SKETCH_BUCKETS - 1u;
}

/* Lower edge of a bucket in ns; the bucket reaches to the edge of the next. */
static inline uint64_t kbn_sketch_edge(uint32_t bucket)
{
	return (uint64_t)(32u + bucket % 32u) << (bucket / 32u + KBN_SKETCH_MIN_EXP - 5u);
}

#endif
