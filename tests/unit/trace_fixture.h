/*
 * trace_fixture.h - writes small recordings for tests, byte by byte as the shim would.
 *
 *   struct fixture f;
 *   fixture_begin(&f, run_dir, .pid = 41, .rank = 0);    log.kbn with PROCESS; run_dir must exist
 *   fixture_device(&f, 0, "NVIDIA H200", 90, 132); fixture_context(&f, 1, 0);
 *   fixture_image(&f, 1, KBN_KIND_CUBIN, 90, data, bytes);       stored in code/; NULL = not stored
 *   fixture_kernel(&f, 1, 1, "_Z3addPf", 32);
 *   struct kbn_slot *s = fixture_slot(&f, 1, 1, 1000, 256);      grid 1000, block 256, all counts 0
 *   fixture_times(s, &f, ns, n, gated);                          n samples after the warm-up
 *   fixture_thread(&f, 0)->seen = ...;
 *   fixture_end(&f, KBN_SEALED);                                 writes slots.kbn and sketch.kbn
 *
 * or all of it with fixture_simple(). Everything fails the test when it cannot be written.
 */
#ifndef TRACE_FIXTURE_H
#define TRACE_FIXTURE_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "kbn_test.h"

#include "kbn_hash.h"
#include "kbn_trace.h"

#define FIXTURE_SLOTS    4096
#define FIXTURE_SKETCHES 64
#define FIXTURE_START_NS 1700000000000000000ull

struct fixture {
	char run_dir[512], dir[768]; /* dir: the process directory */
	FILE *log;
	struct kbn_slots_header header;
	struct kbn_slot *slots;
	struct kbn_sketch *sketches;
	struct kbn_file_header file;
};

/* What fixture_begin takes beside the directory; all others 0. */
struct fixture_process {
	uint32_t pid;
	int rank, world;
	uint64_t start_unix_ns; /* 0 = FIXTURE_START_NS + pid */
	const char *host;       /* NULL = "node" (so never this machine) */
	const char *strings;    /* "./app\0arg\0NAME=value\0", NULL = "./app" */
	uint32_t argc, strings_n, strings_bytes;
};

static inline FILE *fixture_open(const struct fixture *f, const char *file, const char *mode)
{
	char path[1024];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", f->dir, file);
	out = fopen(path, mode);
	assert_non_null(out);
	return out;
}

/* Append one committed record; `rest` is what follows the fixed part. */
static inline void fixture_record(struct fixture *f, uint16_t kind, const void *fixed,
				  size_t fixed_bytes, const void *rest, size_t rest_bytes)
{
	size_t bytes = fixed_bytes + rest_bytes, padded = (bytes + 7) / 8 * 8;
	uint8_t *payload = calloc(1, padded + 1);
	struct kbn_rec rec = {.commit = KBN_REC_COMMIT, .bytes = (uint32_t)bytes, .kind = kind};

	if (fixed_bytes)
		memcpy(payload, fixed, fixed_bytes);
	if (rest_bytes)
		memcpy(payload + fixed_bytes, rest, rest_bytes);
	rec.check = (uint32_t)kbn_hash64(payload, bytes);
	assert_int_equal(fwrite(&rec, sizeof(rec), 1, f->log), 1);
	assert_int_equal(fwrite(payload, 1, padded, f->log), padded);
	assert_int_equal(fflush(f->log), 0);
	free(payload);
}

static inline void fixture_begin_with(struct fixture *f, const char *run_dir,
				      struct fixture_process p)
{
	static const char app[] = "./app";
	struct kbn_rec_process rec = {
		.pid = p.pid,
		.rank = p.rank,
		.world = p.world,
		.local_rank = p.rank,
		.driver_api = 13000,
		.driver = "580.00",
		.argc = p.strings ? p.argc : 1,
		.strings = p.strings ? p.strings_n : 1,
	};
	const char *host = p.host ? p.host : "node";

	memset(f, 0, sizeof(*f));
	snprintf(f->run_dir, sizeof(f->run_dir), "%s", run_dir);
	f->file = (struct kbn_file_header){
		.magic = KBN_LOG_MAGIC,
		.version = KBN_TRACE_VERSION,
		.endian = KBN_ENDIAN_MARK,
		.header_bytes = sizeof(f->file),
		.unit_bytes = 8,
		.pid = p.pid,
		.start_unix_ns = p.start_unix_ns ? p.start_unix_ns : FIXTURE_START_NS + p.pid,
		.start_mono_ns = 1000,
	};
	snprintf(f->dir, sizeof(f->dir), "%s/%s%s-%u-%llx", run_dir, KBN_PROC_PREFIX, host, p.pid,
		 (unsigned long long)f->file.start_unix_ns);
	assert_int_equal(mkdir(f->dir, 0700), 0);
	f->slots = calloc(FIXTURE_SLOTS, sizeof(*f->slots));
	f->sketches = calloc(FIXTURE_SKETCHES, sizeof(*f->sketches));
	f->header.file = f->file;
	f->header.file.magic = KBN_SLOTS_MAGIC;
	f->header.file.header_bytes = KBN_SLOTS_HEADER_BYTES;
	f->header.file.unit_bytes = sizeof(struct kbn_slot);
	f->header.slot_cap = FIXTURE_SLOTS;
	f->header.budget_ppm = 10000;
	f->header.timing = KBN_TIMING_EVENTS;
	f->log = fixture_open(f, KBN_LOG_FILE, "wb");
	assert_int_equal(fwrite(&f->file, sizeof(f->file), 1, f->log), 1);
	snprintf(rec.host, sizeof(rec.host), "%s", host);
	rec.start_unix_ns = f->file.start_unix_ns;
	fixture_record(f, KBN_REC_PROCESS, &rec, sizeof(rec), p.strings ? p.strings : app,
		       p.strings ? p.strings_bytes : sizeof(app));
}
#define fixture_begin(f, run_dir, ...) \
	fixture_begin_with(f, run_dir, (struct fixture_process){__VA_ARGS__})

/* A device with the attributes that occupancy needs, as an H200 has them. */
static inline void fixture_device(struct fixture *f, uint32_t device, const char *name, int cc,
				  int sm_count)
{
	const int32_t attributes[] = {
		75, cc / 10, 76,     cc % 10, 16,     sm_count, 10,   32,   39,    2048,     106,
		32, 81,      233472, 97,      232448, 111,      1024, 82,   65536, 8,        49152,
		1,  1024,    13,     1980000, 36,     3201000,  37,   6144, 38,    62914560,
	};
	struct kbn_rec_device rec = {
		.device = device,
		.ordinal = (int32_t)device,
		.total_bytes = 141ull << 30,
		.attributes = sizeof(attributes) / 8,
	};

	memset(rec.uuid, 0x10 + (int)device, sizeof(rec.uuid));
	snprintf(rec.name, sizeof(rec.name), "%s", name);
	fixture_record(f, KBN_REC_DEVICE, &rec, sizeof(rec), attributes, sizeof(attributes));
}

static inline void fixture_context(struct fixture *f, uint32_t context, uint32_t device)
{
	struct kbn_rec_context rec = {.context = context, .device = device};

	fixture_record(f, KBN_REC_CONTEXT, &rec, sizeof(rec), NULL, 0);
}

/* IMAGE and STORED; the bytes go into code/. NULL data: an image that could not be stored. */
static inline void fixture_image(struct fixture *f, uint32_t image, enum kbn_image_kind kind,
				 uint32_t sm, const void *data, size_t bytes)
{
	struct kbn_rec_image rec = {
		.image = image,
		.origin = kind == KBN_KIND_PTX ? KBN_ORIGIN_JIT : KBN_ORIGIN_MODULE,
		.kind = (uint16_t)kind,
		.sm = sm,
		.bytes = bytes,
	};
	struct kbn_rec_stored stored = {.image = image, .stored_bytes = data ? bytes : 0};
	static const char why[] = "the image could not be read";
	char path[1024];
	FILE *out;

	fixture_record(f, KBN_REC_IMAGE, &rec, sizeof(rec), NULL, 0);
	if (!data) {
		stored.why_bytes = sizeof(why) - 1;
		fixture_record(f, KBN_REC_STORED, &stored, sizeof(stored), why, sizeof(why) - 1);
		return;
	}
	kbn_hash128(data, bytes, stored.hash);
	snprintf(path, sizeof(path), "%s/" KBN_CODE_DIR, f->run_dir);
	mkdir(path, 0700);
	strcat(path, "/");
	for (int i = 0; i < 16; i++)
		sprintf(path + strlen(path), "%02x", stored.hash[i]);
	strcat(path, ".img");
	out = fopen(path, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, bytes, out), bytes);
	fclose(out);
	fixture_record(f, KBN_REC_STORED, &stored, sizeof(stored), NULL, 0);
}

/* A kernel with the given registers and no other resources; image 0 = code not seen. */
static inline void fixture_kernel(struct fixture *f, uint32_t kernel, uint32_t image,
				  const char *name, int registers)
{
	struct kbn_rec_kernel rec = {
		.kernel = kernel,
		.image = image,
		.registers = registers,
		.max_threads = 1024,
		.binary_version = 90,
		.ptx_version = 90,
		.max_dyn_smem_bytes = 49152,
		.carveout = -1,
		.params = 2,
		.name_bytes = (uint32_t)strlen(name),
		.flags = KBN_KERNEL_PARAMS_KNOWN,
	};
	const uint32_t params[] = {0, 8, 8, 4};
	uint8_t *rest = calloc(1, sizeof(params) + rec.name_bytes + 1);

	memcpy(rest, params, sizeof(params));
	memcpy(rest + sizeof(params), name, rec.name_bytes);
	fixture_record(f, KBN_REC_KERNEL, &rec, sizeof(rec), rest, sizeof(params) + rec.name_bytes);
	free(rest);
}

static inline void fixture_note(struct fixture *f, enum kbn_note note, int64_t value,
				const char *text)
{
	struct kbn_rec_note rec = {
		.note = note, .value = value, .text_bytes = (uint32_t)strlen(text)};

	fixture_record(f, KBN_REC_NOTE, &rec, sizeof(rec), text, rec.text_bytes);
}

/* A graph of one kind of node that occurs `count` times. */
static inline void fixture_graph(struct fixture *f, uint32_t graph, uint32_t kernel,
				 uint32_t context, uint32_t count, uint32_t grid, uint32_t block)
{
	struct kbn_rec_graph rec = {.graph = graph, .nodes = 1, .other_nodes = 2};
	struct kbn_graph_node node = {.kernel = kernel,
				      .count = count,
				      .grid = {grid, 1, 1},
				      .block = {block, 1, 1},
				      .context = context};

	fixture_record(f, KBN_REC_GRAPH, &rec, sizeof(rec), &node, sizeof(node));
}

/* A parameter sample of 12 bytes with one allocation for its pointer. */
static inline void fixture_params(struct fixture *f, uint32_t kernel, uint32_t slot,
				  uint64_t launch, uint64_t pointer)
{
	struct kbn_rec_params rec = {
		.kernel = kernel, .slot = slot, .launch = launch, .bytes = 12, .allocations = 1};
	struct kbn_allocation allocation = {.base = pointer, .bytes = 4096};
	uint8_t rest[12 + sizeof(allocation)] = {0};

	memcpy(rest, &pointer, 8);
	memcpy(rest + 8, &launch, 4);
	memcpy(rest + 12, &allocation, sizeof(allocation));
	fixture_record(f, KBN_REC_PARAMS, &rec, sizeof(rec), rest, sizeof(rest));
}

static inline struct kbn_slot *fixture_any_slot(struct fixture *f, uint32_t kind)
{
	assert_true(f->header.slots < FIXTURE_SLOTS);
	f->slots[f->header.slots].kind = kind;
	return &f->slots[f->header.slots++];
}

static inline struct kbn_slot *fixture_slot(struct fixture *f, uint32_t kernel, uint32_t context,
					    uint32_t grid, uint32_t block)
{
	struct kbn_slot *s = fixture_any_slot(f, KBN_SLOT_LAUNCH);

	s->kernel = kernel;
	s->context = context;
	s->grid[0] = grid;
	s->block[0] = block;
	s->grid[1] = s->grid[2] = s->block[1] = s->block[2] = grid ? 1 : 0;
	return s;
}

/* A graph slot; its launches are `untimeable`, as this version times no graphs. */
static inline struct kbn_slot *fixture_graph_slot(struct fixture *f, uint32_t graph,
						  uint64_t launches)
{
	struct kbn_slot *s = fixture_any_slot(f, KBN_SLOT_GRAPH);

	s->kernel = graph;
	s->untimeable = launches;
	return s;
}

static inline struct kbn_thread_slot *fixture_thread(struct fixture *f, uint32_t thread)
{
	struct kbn_slot *s = fixture_any_slot(f, KBN_SLOT_THREAD);

	s->thread = thread;
	return (struct kbn_thread_slot *)(void *)s;
}

/*
 * `n` good samples of ns[i % period], the first KBN_WARMUP of them warm-up; counted as bracketed.
 * As in the shim there is a sketch from the seventh sample on.
 */
static inline void fixture_times(struct kbn_slot *s, struct fixture *f, const uint64_t *ns,
				 size_t period, size_t n, bool gated)
{
	struct kbn_sketch *sketch = NULL;

	if (n > KBN_EARLY) {
		assert_true(f->header.sketches < FIXTURE_SKETCHES);
		sketch = &f->sketches[f->header.sketches++];
		s->sketch = (uint32_t)f->header.sketches;
	}
	s->bracketed += n;
	*(gated ? &s->gated : &s->plain) += n;
	for (size_t i = 0; i < n; i++) {
		uint64_t v = ns[i % period];

		if (s->early_count < KBN_EARLY)
			s->early[s->early_count++] = (struct kbn_early){
				.launch = (uint32_t)i | (gated ? 0 : KBN_EARLY_PLAIN),
				.ns = (uint32_t)v};
		if (i < KBN_WARMUP)
			continue;
		if (!s->samples || v < s->min_ns)
			s->min_ns = v;
		if (v > s->max_ns)
			s->max_ns = v;
		s->samples++;
		s->sum_ns += v;
		if (sketch)
			sketch->count[kbn_sketch_bucket(v)]++;
	}
}

/* Write what is in memory; may be called several times while the test goes on changing it. */
static inline void fixture_flush(struct fixture *f)
{
	struct kbn_file_header sketch = f->file;
	uint8_t page[4096] = {0};
	FILE *out = fixture_open(f, KBN_SLOTS_FILE, "wb");

	assert_int_equal(fwrite(&f->header, sizeof(f->header), 1, out), 1);
	assert_int_equal(fwrite(f->slots, sizeof(*f->slots), f->header.slots + 1, out),
			 f->header.slots + 1);
	fclose(out);
	sketch.magic = KBN_SKETCH_MAGIC;
	sketch.header_bytes = sizeof(page);
	sketch.unit_bytes = sizeof(struct kbn_sketch);
	out = fixture_open(f, KBN_SKETCH_FILE, "wb");
	memcpy(page, &sketch, sizeof(sketch));
	assert_int_equal(fwrite(page, sizeof(page), 1, out), 1);
	assert_int_equal(fwrite(f->sketches, sizeof(*f->sketches), f->header.sketches, out),
			 f->header.sketches);
	fclose(out);
	fflush(f->log);
}

/* KBN_SEALED writes the END record (2 s of recording) too; KBN_RUNNING leaves what a kill leaves. */
static inline void fixture_end(struct fixture *f, enum kbn_state state)
{
	struct kbn_rec_end end = {.mono_ns = 2000000000};

	f->header.state = state;
	f->header.heartbeat_ns = 1900000000;
	if (state != KBN_RUNNING)
		fixture_record(f, KBN_REC_END, &end, sizeof(end), NULL, 0);
	fixture_flush(f);
	fclose(f->log);
	free(f->slots);
	free(f->sketches);
}

/*
 * A whole process directory: `kernels` kernels named kernel_0 ... on one device, each launched
 * 100 times with grid 1000 + k and block 256 by one thread, 50 of these timed at 10, 20 ... µs.
 */
static inline void fixture_simple(const char *run_dir, uint32_t pid, int rank, unsigned kernels)
{
	struct fixture f;
	struct kbn_thread_slot *thread;

	fixture_begin(&f, run_dir, .pid = pid, .rank = rank, .world = rank < 0 ? -1 : 2);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	thread = fixture_thread(&f, 0);
	for (unsigned k = 0; k < kernels; k++) {
		const uint64_t ns[] = {10000 * (k + 1), 10100 * (k + 1)};
		char name[32];
		struct kbn_slot *s;

		snprintf(name, sizeof(name), "kernel_%u", k);
		fixture_kernel(&f, k + 1, 0, name, 32);
		s = fixture_slot(&f, k + 1, 1, 1000 + k, 256);
		fixture_times(s, &f, ns, 2, 50, true);
		s->sampled_out = 50;
		thread->seen += 100;
	}
	fixture_end(&f, KBN_SEALED);
}

#endif
