/*
 * cupti_times.c - the reference clock: CUPTI activity records of every kernel (concurrent kind),
 * written at exit as one line "MANGLED_NAME NANOSECONDS" each. Injected through
 * CUDA_INJECTION64_PATH, in a run without kbn.
 */
#include <stdint.h>

#include "cupti_inject.h"

#define CONCURRENT_KERNEL 10
#define BUFFER            (8u << 20)

/* The head of CUPTI's kernel record; this part has not moved since CUDA 8. */
struct activity_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t partitioned_requested, partitioned_executed;
	uint64_t start_ns, end_ns, completed_ns;
	uint32_t device, context, stream;
	int32_t grid[3], block[3], static_smem, dynamic_smem;
	uint32_t local_thread, local_total, correlation;
	int64_t grid_id;
	const char *name;
};
_Static_assert(sizeof(struct activity_kernel) == 112, "kernel record");

static int (*next_record)(uint8_t *, size_t, struct activity_kernel **);
static int (*flush_all)(uint32_t);
static FILE *out;

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*bytes = *buffer ? BUFFER : 0;
	*max_records = 0;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct activity_kernel *k = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (out && next_record(buffer, valid, &k) == 0)
		if (k->kind == CONCURRENT_KERNEL)
			fprintf(out, "%s %llu\n", k->name,
				(unsigned long long)(k->end_ns - k->start_ns));
	free(buffer);
}

static void on_exit_flush(void)
{
	flush_all(1);
	if (out)
		fclose(out);
	out = NULL;
}

int InitializeInjection(void);

int InitializeInjection(void)
{
	static int done;
	int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *),
				  void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
	int (*enable)(int);
	void *lib;

	if (done++)
		return 1;
	lib = cupti_library();
	if (!lib)
		return 1;
	*(void **)&register_callbacks = dlsym(lib, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(lib, "cuptiActivityEnable");
	*(void **)&flush_all = dlsym(lib, "cuptiActivityFlushAll");
	*(void **)&next_record = dlsym(lib, "cuptiActivityGetNextRecord");
	if (!register_callbacks || !enable || !flush_all || !next_record)
		return 1;
	out = cupti_result_file();
	if (register_callbacks(give_buffer, take_buffer) != 0 || enable(CONCURRENT_KERNEL) != 0)
		fprintf(stderr, "tests/gpu: CUPTI is taken\n");
	atexit(on_exit_flush);
	return 1;
}
