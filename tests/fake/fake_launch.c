/*
 * fake_launch.c - every way to launch: checks as a driver makes them, parameters read as far as
 * the kernel's own table says and no byte further, then simulated time or a graph node.
 */
#include "fake_cuda.h"
#include "fake_clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMEM_MAX         232448u
#define BLOCKS_PER_SM    32u
#define FUTURE_ATTRIBUTE 900 /* ids from here on: unknown to the recorder, fine with the driver */

static struct fake_entry *entry_of(CUfunction handle)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);
	struct fake_kernel *k;

	if (f)
		return f->module->generation == f->module->context->generation ? f->entry : NULL;
	k = fake_get(handle, FAKE_KERNEL);
	return k ? k->entry : NULL;
}

/* The packed buffer of an `extra` list; false when the list is none. */
static bool extra_buffer(void **extra, const unsigned char **at, size_t *bytes)
{
	*at = NULL;
	*bytes = 0;
	for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*at = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(size_t *)extra[i + 1];
		else
			return false;
	}
	return true;
}

static int read_params(const struct fake_launch *l, struct fake_work *w, bool copy)
{
	const struct fake_entry *e = w->entry;
	const unsigned char *packed;
	size_t bytes;

	if (l->params && l->extra)
		return 1;
	if (l->extra && !extra_buffer(l->extra, &packed, &bytes))
		return 1;
	if (!l->params && !l->extra)
		return e->params_known && e->param_count ? 1 : 0;
	if (!copy || !e->params_known)
		return 0;
	w->arg_bytes = e->param_bytes;
	w->args = calloc(1, e->param_bytes + 1);
	if (l->extra) {
		memcpy(w->args, packed, bytes < e->param_bytes ? bytes : e->param_bytes);
		return 0;
	}
	for (uint32_t i = 0; i < e->param_count; i++)
		memcpy(w->args + e->params[i].offset, l->params[i], e->params[i].bytes);
	return 0;
}

static int check_attributes(const struct fake_launch *l)
{
	for (unsigned i = 0; l->config && i < l->config->numAttrs; i++) {
		const CUlaunchAttribute *a = &l->config->attrs[i];

		if ((int)a->id < 0 || ((int)a->id > 17 && (int)a->id < FUTURE_ATTRIBUTE))
			return 1;
		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
		    (!a->value.clusterDim.x || l->grid[0] % a->value.clusterDim.x ||
		     l->grid[1] % a->value.clusterDim.y || l->grid[2] % a->value.clusterDim.z))
			return 1;
	}
	return 0;
}

int fake_launch_check(struct fake_call *call, const struct fake_launch *l, struct fake_work *w,
		      struct fake_context *c, bool copy)
{
	struct fake_function *f = fake_get(l->function, FAKE_FUNCTION);
	uint64_t blocks = 1, threads = 1;
	int result;

	(void)call;
	memset(w, 0, sizeof(*w));
	w->entry = entry_of(l->function);
	w->function = l->function;
	memcpy(w->grid, l->grid, sizeof(w->grid));
	memcpy(w->block, l->block, sizeof(w->block));
	w->smem = l->smem;
	if (!w->entry || (f && f->module->context != c && !c->green))
		return 400;
	for (int i = 0; i < 3; i++) {
		blocks *= l->grid[i];
		threads *= l->block[i];
	}
	if (!blocks || !threads || threads > 1024 || l->grid[1] > 65535 || l->grid[2] > 65535 ||
	    l->smem + (unsigned)w->entry->static_smem_bytes > SMEM_MAX)
		return 1;
	if (threads > (unsigned)w->entry->max_threads)
		return 701;
	if (l->cooperative && blocks > (uint64_t)c->device->sm_count * BLOCKS_PER_SM)
		return 720;
	result = check_attributes(l);
	return result ? result : read_params(l, w, copy);
}

/* What the recorder wrongly did before a launch with overlap attributes would spoil it. */
static bool wants_overlap(const struct fake_launch *l)
{
	for (unsigned i = 0; l->config && i < l->config->numAttrs; i++) {
		int id = (int)l->config->attrs[i].id;

		if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
		    id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
		    id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			return true;
	}
	return false;
}

/*
 * FAKE_LAUNCH_US: a call that blocks, as the first launch of lazily loaded code does. The stream
 * goes on meanwhile: what stands behind a gate that opens now happens now.
 */
static void spend(struct fake_stream *s)
{
	static _Atomic long us = -1;
	uint64_t begin;

	if (us < 0) {
		const char *value = fake_option("FAKE_LAUNCH_US");

		us = value ? atol(value) : 0;
	}
	if (!us)
		return;
	begin = fake_now();
	do {
		usleep(us < 50 ? (unsigned)us : 50);
		pthread_mutex_lock(&s->context->lock);
		fake_clock_pump(s, fake_now());
		pthread_mutex_unlock(&s->context->lock);
	} while (fake_now() - begin < (uint64_t)us * 1000);
}

static void run(struct fake_stream *s, const struct fake_work *w)
{
	struct fake_context *c = s->context;

	spend(s);
	pthread_mutex_lock(&c->lock);
	if (!c->fault_ns && strstr(w->entry->name, "fault"))
		c->fault_ns = fake_now() + 1000000;
	fake_stream_work(s, w->entry->duration_ns);
	pthread_mutex_unlock(&c->lock);
}

static int launch(struct fake_call *call, CUstream stream, bool ptsz, const struct fake_launch *l)
{
	struct fake_thread_count *count = fake_thread()->count;
	bool copy = fake_slow & FAKE_SLOW_LOG, captured;
	struct fake_work w = {0};
	struct fake_stream *s;
	int result;

	if (fake_ours(call))
		fake_violation(call, "the recorder launches a kernel");
	s = fake_stream(call, stream, ptsz, &result);
	if (s)
		result = fake_launch_check(call, l, &w, s->context, copy || s->capture);
	if (s && !result && wants_overlap(l))
		s->overlap = true;
	captured = s && !result && fake_capture_route(call, s, &result) > 0;
	if (captured) {
		struct fake_node *n =
			fake_node_new(s->capture->graph, CU_GRAPH_NODE_TYPE_KERNEL, call);

		fake_node_set_work(n, &w);
		fake_capture_chain(s, n);
		atomic_fetch_add_explicit(&count->captured, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&fake_counts->kernel[w.entry->counter].captured, 1,
					  memory_order_relaxed);
	} else if (s && !result) {
		run(s, &w);
		atomic_fetch_add_explicit(&count->ok, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&fake_counts->kernel[w.entry->counter].ok, 1,
					  memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&count->failed, 1, memory_order_relaxed);
	}
	if (copy) {
		uint32_t hash = 2166136261u;
		char n1[40], n2[40];

		for (uint32_t i = 0; i < w.arg_bytes; i++)
			hash = (hash ^ w.args[i]) * 16777619u;
		fake_leave(call, result,
			   "%s %s grid %u,%u,%u block %u,%u,%u smem %u args %u:%08x attrs %u",
			   fake_name(l->function, n1), fake_name(stream, n2), l->grid[0],
			   l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->smem,
			   w.arg_bytes, w.arg_bytes ? hash : 0,
			   l->config ? l->config->numAttrs : 0);
	}
	free(w.args);
	return result;
}

#define LAUNCH(symbol, ptsz, stream, params, ...)       \
	CUresult symbol params;                         \
	CUresult symbol params                          \
	{                                               \
		FAKE_BEGIN(symbol);                     \
		struct fake_launch l = {__VA_ARGS__};   \
                                                        \
		return launch(&call, stream, ptsz, &l); \
	}
#define LAUNCH_TWINS(symbol, stream, params, ...)          \
	LAUNCH(symbol, false, stream, params, __VA_ARGS__) \
	LAUNCH(symbol##_ptsz, true, stream, params, __VA_ARGS__)

LAUNCH_TWINS(cuLaunchKernel, stream,
	     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	      unsigned bz, unsigned smem, CUstream stream, void **params, void **extra),
	     .function = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .smem = smem,
	     .params = params, .extra = extra)
LAUNCH_TWINS(cuLaunchCooperativeKernel, stream,
	     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	      unsigned bz, unsigned smem, CUstream stream, void **params),
	     .function = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .smem = smem,
	     .params = params, .cooperative = true)
LAUNCH_TWINS(cuLaunchKernelEx, config->hStream,
	     (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),
	     .function = f, .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
	     .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
	     .smem = config->sharedMemBytes, .params = params, .extra = extra, .config = config)

FAKE_API(cuLaunchCooperativeKernelMultiDevice, CUDA_LAUNCH_PARAMS_v1 *list, unsigned n,
	 unsigned flags)
{
	FAKE_BEGIN(cuLaunchCooperativeKernelMultiDevice);
	int result = 0;

	for (unsigned i = 0; i < n && !result; i++) {
		struct fake_launch l = {
			.function = list[i].function,
			.grid = {list[i].gridDimX, list[i].gridDimY, list[i].gridDimZ},
			.block = {list[i].blockDimX, list[i].blockDimY, list[i].blockDimZ},
			.smem = list[i].sharedMemBytes,
			.params = list[i].kernelParams,
			.cooperative = true,
		};

		result = launch(&call, list[i].hStream, false, &l);
	}
	FAKE_END(result, "%u %u", n, flags);
}

/* ---- the way of the first versions: geometry and parameters are state of the function ---- */

static int block_shape(CUfunction handle, int x, int y, int z)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);

	if (f)
		memcpy(f->block, (int[]){x, y, z}, sizeof(f->block));
	return f ? 0 : 400;
}

static int shared_size(CUfunction handle, unsigned bytes)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);

	if (f)
		f->smem = bytes;
	return f ? 0 : 400;
}

static int param_size(CUfunction handle, unsigned bytes)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);

	if (!f || bytes > sizeof(f->param_buffer))
		return f ? 1 : 400;
	f->param_size = bytes;
	return 0;
}

static int param_set(CUfunction handle, int offset, const void *data, unsigned bytes)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);

	if (!f || offset < 0 || (unsigned)offset + bytes > sizeof(f->param_buffer))
		return f ? 1 : 400;
	memcpy(f->param_buffer + offset, data, bytes);
	return 0;
}

FAKE_SINGLE(cuFuncSetBlockShape, (CUfunction f, int x, int y, int z), block_shape(f, x, y, z),
	    "%s %d %d %d", fake_name(f, n1), x, y, z)
FAKE_SINGLE(cuFuncSetSharedSize, (CUfunction f, unsigned bytes), shared_size(f, bytes), "%s %u",
	    fake_name(f, n1), bytes)
FAKE_SINGLE(cuParamSetSize, (CUfunction f, unsigned bytes), param_size(f, bytes), "%s %u",
	    fake_name(f, n1), bytes)
FAKE_SINGLE(cuParamSetv, (CUfunction f, int offset, void *data, unsigned bytes),
	    param_set(f, offset, data, bytes), "%s %d %u", fake_name(f, n1), offset, bytes)
FAKE_SINGLE(cuParamSeti, (CUfunction f, int offset, unsigned value),
	    param_set(f, offset, &value, sizeof(value)), "%s %d %u", fake_name(f, n1), offset,
	    value)

static int launch_old(struct fake_call *call, CUfunction handle, int gx, int gy, CUstream stream)
{
	struct fake_function *f = fake_get(handle, FAKE_FUNCTION);
	size_t bytes = f ? f->param_size : 0;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, f ? f->param_buffer : NULL,
			 CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
	struct fake_launch l = {
		.function = handle, .grid = {(unsigned)gx, (unsigned)gy, 1}, .extra = extra};

	for (int i = 0; f && i < 3; i++)
		l.block[i] = (unsigned)f->block[i];
	l.smem = f ? f->smem : 0;
	return launch(call, stream, false, &l);
}

CUresult cuLaunch(CUfunction f)
{
	FAKE_BEGIN(cuLaunch);
	return launch_old(&call, f, 1, 1, NULL);
}

CUresult cuLaunchGrid(CUfunction f, int gx, int gy)
{
	FAKE_BEGIN(cuLaunchGrid);
	return launch_old(&call, f, gx, gy, NULL);
}

CUresult cuLaunchGridAsync(CUfunction f, int gx, int gy, CUstream stream)
{
	FAKE_BEGIN(cuLaunchGridAsync);
	return launch_old(&call, f, gx, gy, stream);
}
