/*
 * fake_cuda.h - the stand-in driver: what its parts share.
 *
 * A model of a driver, not a script of answers: devices, contexts with generations, streams with a
 * simulated clock, captures, graphs, modules read from real images. It runs no kernel. It ends the
 * process with status 99 when the recorder does something that would harm a real program.
 * README.md lists the FAKE_* variables.
 */
#ifndef KBN_FAKE_CUDA_H
#define KBN_FAKE_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kbn_cuda.h"

#pragma GCC visibility push(hidden) /* a driver exports its own names only */

#define FAKE_DRIVER_VERSION 13000
#define FAKE_STATUS         99 /* exit status after a violation */
#define FAKE_PARAMS_MAX     32764
#define FAKE_DEVICES_MAX    8

/* ---- calls: who called, should it fail, what goes into the log (fake_log.c) ---- */

struct fake_call {
	const char *name;
	const void *from;
	_Atomic int8_t *hooked; /* per place: 1 = the recorder wraps this function, -1 = not known */
	int8_t ours; /* 1 = the recorder's own call, 0 = the program's, -1 = not looked up yet */
};

enum fake_slow {
	FAKE_SLOW_LOG = 1,
	FAKE_SLOW_FAIL = 2,
	FAKE_SLOW_DEAD = 4, /* the exit handler has run: everything answers 4 */
};
extern _Atomic unsigned fake_slow;
/* 1 between cuInit and the end, reads 0 in a forked child (the page is wiped there). */
extern _Atomic(_Atomic unsigned *) fake_alive;

/* 0 = go on, else the result to return. `early` = legal before cuInit. */
int fake_enter(struct fake_call *call, bool early);
int fake_leave(struct fake_call *call, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool fake_ours(struct fake_call *call);
/* A rule was broken: tell, and make the process end with FAKE_STATUS. */
void fake_violation(const struct fake_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool fake_thread_of_kbn(void);
const char *fake_option(const char *name);
void fake_log_init(void);
/* Address range of the recorder in this process, for telling the callers apart. */
void fake_find_kbn(void);

#define FAKE_CALL(symbol)                   \
	static _Atomic int8_t hooked_ = -1; \
	struct fake_call call = {#symbol, __builtin_return_address(0), &hooked_, -1}
#define FAKE_BEGIN_AS(symbol, early)                                                           \
	FAKE_CALL(symbol);                                                                     \
	do {                                                                                   \
		if (__builtin_expect(atomic_load_explicit(&fake_slow, memory_order_relaxed) || \
					     !*atomic_load_explicit(&fake_alive,               \
								    memory_order_acquire),     \
				     0)) {                                                     \
			int enter_ = fake_enter(&call, early);                                 \
			if (enter_)                                                            \
				return enter_;                                                 \
		}                                                                              \
	} while (0)
#define FAKE_BEGIN(symbol)       FAKE_BEGIN_AS(symbol, false)
#define FAKE_BEGIN_EARLY(symbol) FAKE_BEGIN_AS(symbol, true)

/* Ends a call: returns `result`; the rest is its line in the log. */
#define FAKE_END(result, ...)                                                               \
	do {                                                                                \
		int end_ = (result);                                                        \
		if (atomic_load_explicit(&fake_slow, memory_order_relaxed) & FAKE_SLOW_LOG) \
			fake_leave(&call, end_, __VA_ARGS__);                               \
		return end_;                                                                \
	} while (0)

/* In the arguments of FAKE_END: the name of what a call has made, when it has. */
#define FAKE_MADE(out, buffer) (end_ == 0 ? fake_name(*(out), buffer) : "-")

/* Every exported function: the declaration repeats the header's, so that a slip does not compile. */
#define FAKE_API(symbol, ...)         \
	CUresult symbol(__VA_ARGS__); \
	CUresult symbol(__VA_ARGS__)

/*
 * A whole exported function: `result` does the work, the rest is its line in the log. Both may use
 * `call`, `ptsz` and the name buffers n1, n2. FAKE_TWINS makes it and its per-thread twin.
 */
#define FAKE_FUNCTION(symbol, per_thread, params, result, ...) \
	CUresult symbol params;                                \
	CUresult symbol params                                 \
	{                                                      \
		FAKE_BEGIN(symbol);                            \
		const bool ptsz = per_thread;                  \
		char n1[40], n2[40];                           \
                                                               \
		(void)ptsz, (void)n1, (void)n2;                \
		FAKE_END(result, __VA_ARGS__);                 \
	}
#define FAKE_SINGLE(symbol, params, result, ...) \
	FAKE_FUNCTION(symbol, false, params, result, __VA_ARGS__)
#define FAKE_TWINS(symbol, params, result, ...)                   \
	FAKE_FUNCTION(symbol, false, params, result, __VA_ARGS__) \
	FAKE_FUNCTION(symbol##_ptsz, true, params, result, __VA_ARGS__)

/* ---- objects: every handle is the address of one of these ---- */

enum fake_kind {
	FAKE_CONTEXT = 0x51c0de01,
	FAKE_STREAM,
	FAKE_EVENT,
	FAKE_MODULE,
	FAKE_LIBRARY,
	FAKE_FUNCTION,
	FAKE_KERNEL,
	FAKE_GRAPH,
	FAKE_NODE,
	FAKE_EXEC,
	FAKE_LINK,
	FAKE_GREEN,
};

struct fake_object {
	_Atomic uint32_t kind;
	uint32_t id; /* counted per kind, apart for the program and the recorder */
	uint32_t bytes;
	_Atomic bool alive;
	bool ours;
	struct fake_object *next_free;
};

/* Zeroed object; a freed one of the kind is reused first, at the same address, as drivers do. */
void *fake_new(enum fake_kind kind, size_t bytes, struct fake_call *call);
void fake_free(void *object);
/* The object when `handle` is one of that kind and alive, else NULL. Takes any value. */
void *fake_get(const void *handle, enum fake_kind kind);
/* As fake_get; a destroyed or wrong handle from the recorder is a violation. */
void *fake_need(struct fake_call *call, const void *handle, enum fake_kind kind);
/* For logs: "stream#2", "kbn-event#7", "0". */
const char *fake_name(const void *handle, char out[40]);

/* ---- devices and contexts ---- */

struct fake_device {
	int ordinal;
	char name[96];
	unsigned char uuid[16];
	int sm; /* 90 */
	int sm_count;
	size_t total_bytes;
	struct fake_context *primary;
};
extern struct fake_device fake_devices[FAKE_DEVICES_MAX];
extern int fake_device_count;
void fake_device_init(void);
int fake_device_attribute(int attribute, int device, int *value); /* CUresult */
int fake_device_number(const struct fake_device *device);

struct fake_op;

struct fake_stream {
	struct fake_object object;
	struct fake_context *context;
	struct fake_stream *next; /* in its context */
	unsigned flags;           /* CU_STREAM_NON_BLOCKING */
	int priority;
	uint64_t unique;      /* cuStreamGetId */
	_Atomic bool overlap; /* saw a launch that wants to overlap its neighbours */
	bool special;         /* legacy or per-thread default */
	uint32_t thread;      /* owner of a per-thread default stream */
	uint64_t tail_ns;     /* end of the last operation whose time is known */
	struct fake_op *ops;  /* from the first shut gate on */
	uint32_t op_head, op_count, op_cap;
	_Atomic(struct fake_capture *) capture;
	struct fake_node **last; /* capture: what the next node depends on */
	uint32_t last_count;
};

struct fake_context {
	struct fake_object object;
	struct fake_device *device;
	struct fake_green *green;
	unsigned flags;
	_Atomic uint32_t generation; /* grows when a primary context is reset */
	uint32_t refs;               /* retains of a primary context */
	bool primary;
	_Atomic int sticky;        /* the error that ended it */
	_Atomic uint64_t fault_ns; /* when the faulting kernel will have failed, 0 = none */
	_Atomic unsigned asked_after_death; /* the recorder's calls since */
	pthread_mutex_t lock;               /* its streams, events and clock */
	struct fake_stream legacy;
	struct fake_stream *streams; /* created and per-thread ones */
	_Atomic unsigned blocking;   /* created blocking streams alive */
	_Atomic unsigned captures;   /* blocking streams that capture */
	struct fake_module *modules; /* of libraries, loaded at first use */
};

struct fake_green {
	struct fake_object object;
	struct fake_context *context;
	unsigned sm_count;
};

struct fake_context *fake_current(void);
/* The current context when usable; else NULL and the code. */
struct fake_context *fake_current_ok(struct fake_call *call, int *result);
void fake_context_kill_streams(struct fake_context *c);
/* Code to answer in a context: 0 or its sticky error (the recorder must stop asking soon). */
int fake_sticky(struct fake_call *call, struct fake_context *c);
bool fake_is_sticky_code(int code);

/* ---- streams, events, clock ---- */

uint64_t fake_now(void);

enum fake_event_state { FAKE_EVENT_NEW, FAKE_EVENT_PENDING, FAKE_EVENT_TIMED, FAKE_EVENT_CAPTURED };

struct fake_event {
	struct fake_object object;
	struct fake_context *context;
	uint32_t generation;
	unsigned flags;
	enum fake_event_state state;
	uint32_t record; /* number of the last record, so that an older one loses */
	uint64_t time_ns;
	struct fake_capture *capture;
	struct fake_node **nodes; /* captured: what a waiter depends on */
	uint32_t node_count;
};

/* The stream behind a handle under an ABI; NULL and the code when there is none. */
struct fake_stream *fake_stream(struct fake_call *call, CUstream handle, bool ptsz, int *result);
/* Append work of `duration` ns; lock of the context held. UINT64_MAX never ends. */
void fake_stream_work(struct fake_stream *s, uint64_t duration);
/* Wait, as the program would, until all work of a stream is done. Lock held; let go meanwhile. */
int fake_stream_drain(struct fake_call *call, struct fake_stream *s);
void fake_stream_forget(struct fake_stream *s);

/* ---- capture ---- */

struct fake_capture {
	uint64_t id;
	CUstreamCaptureMode mode;
	uint32_t thread;
	_Atomic bool invalid;
	bool to_graph;
	struct fake_graph *graph;
	struct fake_stream *origin;
	struct fake_capture *next;
};

extern _Atomic unsigned fake_captures_open;
/* A call that is unsafe while captures are open: 0, or 900 after invalidating them. */
int fake_unsafe(struct fake_call *call);
/* A call that is safe on a device today but that the recorder must make in RELAXED mode anyway. */
void fake_should_relax(struct fake_call *call);
/* Work enters a stream. 0 = run it, 1 = it was captured: add a node; else an error. */
int fake_capture_route(struct fake_call *call, struct fake_stream *s, int *result);
void fake_capture_chain(struct fake_stream *s, struct fake_node *node);
int fake_capture_event_record(struct fake_call *call, struct fake_stream *s, struct fake_event *e);
int fake_capture_event_wait(struct fake_stream *s, struct fake_event *e);
void fake_capture_drop(struct fake_stream *s);

/* ---- code ---- */

struct fake_param {
	uint32_t offset, bytes;
};

struct fake_entry { /* a kernel of an image */
	char *name;
	int registers, static_smem_bytes, local_bytes, const_bytes, max_threads;
	int cluster[3];
	bool params_known;
	uint32_t param_count, param_bytes;
	struct fake_param *params;
	uint64_t duration_ns;
	uint32_t counter; /* row in the counts */
};

struct fake_image { /* what the driver made of the bytes given */
	int sm;
	bool any_name; /* a compressed entry: names unknown, any is accepted */
	bool was_ptx;
	uint32_t entries;
	struct fake_entry *entry;
};

/* Read an image as a device of that SM would. 0 or a CUresult. Uncompressed entries only. */
int fake_image_read(const void *data, int sm, struct fake_image *out);
int fake_image_read_file(const char *path, int sm, struct fake_image *out);
struct fake_entry *fake_image_entry(struct fake_image *image, const char *name);
void fake_image_free(struct fake_image *image);
uint64_t fake_duration(const char *name);

struct fake_module {
	struct fake_object object;
	struct fake_context *context;
	uint32_t generation;
	struct fake_library *library; /* non-NULL: loaded on behalf of it */
	struct fake_image *image;
	struct fake_function *functions;
	struct fake_module *next;
};

struct fake_library {
	struct fake_object object;
	struct fake_image image;
	struct fake_kernel *kernels;
};

struct fake_function {
	struct fake_object object;
	struct fake_module *module;
	struct fake_entry *entry;
	struct fake_kernel *kernel;
	struct fake_function *next;
	int block[3]; /* cuFuncSetBlockShape */
	unsigned smem;
	int max_dynamic, carveout;
	size_t param_size;
	unsigned char param_buffer[256]; /* cuParamSet* */
};

struct fake_kernel {
	struct fake_object object;
	struct fake_library *library;
	struct fake_entry *entry;
	struct fake_kernel *next;
	int max_dynamic;
};

/* ---- launches and graphs ---- */

struct fake_launch {
	CUfunction function;
	unsigned grid[3], block[3], smem;
	void **params, **extra;
	const CUlaunchConfig *config;
	bool cooperative;
};

/* What a launch will do, after all checks. */
struct fake_work {
	struct fake_entry *entry;
	CUfunction function;
	unsigned grid[3], block[3], smem;
	unsigned char *args; /* packed copy, NULL when not wanted */
	uint32_t arg_bytes;
};

/* Check a launch and read its parameters as a driver would. `copy` keeps them in work->args. */
int fake_launch_check(struct fake_call *call, const struct fake_launch *l, struct fake_work *w,
		      struct fake_context *c, bool copy);

struct fake_node {
	struct fake_object object;
	struct fake_graph *graph;
	CUgraphNodeType type;
	struct fake_work work;    /* kernels */
	void **param_pointers;    /* into work.args, what GetParams hands out */
	struct fake_graph *child; /* child graphs and bodies of conditional nodes */
	bool disabled;
	struct fake_node **from;
	uint32_t from_count;
	uint32_t source; /* id of the node it was cloned from */
};

struct fake_graph {
	struct fake_object object;
	struct fake_node **nodes;
	uint32_t count, cap;
	bool owned; /* belongs to a node */
};

struct fake_exec {
	struct fake_object object;
	struct fake_graph *graph; /* a copy */
	struct fake_context *context;
};

struct fake_graph *fake_graph_new(struct fake_call *call);
void fake_graph_free(struct fake_graph *g);
struct fake_node *fake_node_new(struct fake_graph *g, CUgraphNodeType type, struct fake_call *call);
void fake_node_set_work(struct fake_node *n, const struct fake_work *w);
/* cuGraph…KernelNodeSetParams on any node; `v1`: the older of the two structures. */
int fake_node_set_params(struct fake_call *call, struct fake_node *n, const void *params, bool v1);
struct fake_graph *fake_graph_copy(struct fake_graph *g, struct fake_call *call);

/* ---- counts, also for other processes to read (FAKE_COUNT) ---- */

#define FAKE_COUNT_MAGIC   0x544e4343454b4146ull
#define FAKE_COUNT_THREADS 256
#define FAKE_COUNT_KERNELS 4096

struct fake_thread_count {
	_Atomic uint64_t ok, failed, captured, graphs, nodes;
	_Atomic uint64_t graphs_not_run; /* failed or captured */
	uint64_t reserved[2];
};
struct fake_kernel_count {
	char name[96];
	_Atomic uint64_t ok, failed, captured, nodes;
};
struct fake_counts {
	uint64_t magic;
	_Atomic uint64_t threads, kernels, violations, own_calls, gates, gates_timed_out,
		own_events;
	struct fake_thread_count thread[FAKE_COUNT_THREADS];
	struct fake_kernel_count kernel[FAKE_COUNT_KERNELS];
};
extern struct fake_counts *fake_counts;
uint32_t fake_count_row(const char *kernel);

/* Per-thread state. */
struct fake_thread {
	uint32_t id; /* 1, 2, ... by first call */
	int8_t of_kbn;
	CUstreamCaptureMode mode;
	uint32_t depth;
	struct fake_context *stack[32];
	struct fake_thread_count *count;
};
struct fake_thread *fake_thread(void);

#pragma GCC visibility pop

#endif
