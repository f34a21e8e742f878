/*
 * fake_memory.c - allocations, copies and sets.
 *
 * A device address is reserved but not accessible: whoever follows one on the host crashes, as on
 * a device. The contents live in a shadow, so that copies give back what was put in.
 */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct range {
	uintptr_t base;
	size_t bytes;
	unsigned char *shadow;
	bool host;
	struct range *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;

static struct range *find(CUdeviceptr at)
{
	struct range *r;

	pthread_mutex_lock(&lock);
	for (r = ranges; r; r = r->next)
		if (at >= r->base && at < r->base + r->bytes)
			break;
	pthread_mutex_unlock(&lock);
	return r;
}

static void *map(size_t bytes, int protection)
{
	void *at =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/*
 * Device addresses are the same in every run, so that arguments can be compared between runs. The
 * place is one that the sanitizers' memory layouts leave to programs.
 */
static void *reserve(size_t bytes)
{
	static _Atomic uintptr_t next = 0x7ea000000000;
	uintptr_t at = atomic_fetch_add(&next, (bytes + 0x1fffff) & ~(uintptr_t)0x1fffff);
	void *got = mmap((void *)at, bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	return got == MAP_FAILED ? map(bytes, PROT_NONE) : got;
}

static struct range *allocate(size_t bytes, bool host)
{
	struct range *r = calloc(1, sizeof(*r));

	r->shadow = map(bytes, PROT_READ | PROT_WRITE);
	r->base = host ? (uintptr_t)r->shadow : (uintptr_t)reserve(bytes);
	r->bytes = bytes;
	r->host = host;
	if (!r->base || !r->shadow) {
		free(r);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	r->next = ranges;
	ranges = r;
	pthread_mutex_unlock(&lock);
	return r;
}

static bool release(uintptr_t base)
{
	struct range **at, *r = NULL;

	pthread_mutex_lock(&lock);
	for (at = &ranges; *at; at = &(*at)->next)
		if ((*at)->base == base) {
			r = *at;
			*at = r->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!r)
		return false;
	munmap(r->shadow, r->bytes);
	if (!r->host)
		munmap((void *)r->base, r->bytes);
	free(r);
	return true;
}

static int device_alloc(struct fake_call *call, CUdeviceptr *out, size_t bytes)
{
	int result = fake_unsafe(call);
	struct fake_context *c = result ? NULL : fake_current_ok(call, &result);
	struct range *r;

	if (!c || !bytes || !out)
		return result ? result : 1;
	if (fake_ours(call))
		fake_violation(call, "the recorder takes device memory");
	if (bytes > c->device->total_bytes || !(r = allocate(bytes, false)))
		return 2;
	*out = r->base;
	return 0;
}

static int device_free(struct fake_call *call, CUdeviceptr at)
{
	int result = fake_unsafe(call);

	if (result)
		return result;
	return !at || release((uintptr_t)at) ? 0 : 1;
}

FAKE_SINGLE(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes), device_alloc(&call, out, bytes),
	    "%zu", bytes)
FAKE_SINGLE(cuMemFree_v2, (CUdeviceptr at), device_free(&call, at), "%d", at != 0)

static int stream_alloc(struct fake_call *call, CUdeviceptr *out, size_t bytes, CUstream stream,
			bool ptsz)
{
	int result;
	struct fake_stream *s = fake_stream(call, stream, ptsz, &result);
	struct range *r = s && bytes ? allocate(bytes, false) : NULL;

	if (r)
		*out = r->base;
	return s ? (r ? 0 : 1) : result;
}

static int stream_free(struct fake_call *call, CUdeviceptr at, CUstream stream, bool ptsz)
{
	int result;
	struct fake_stream *s = fake_stream(call, stream, ptsz, &result);

	return s ? (release((uintptr_t)at) ? 0 : 1) : result;
}

FAKE_TWINS(cuMemAllocAsync, (CUdeviceptr * out, size_t bytes, CUstream stream),
	   stream_alloc(&call, out, bytes, stream, ptsz), "%zu %s", bytes, fake_name(stream, n1))
FAKE_TWINS(cuMemFreeAsync, (CUdeviceptr at, CUstream stream), stream_free(&call, at, stream, ptsz),
	   "%s", fake_name(stream, n1))

static int host_alloc(struct fake_call *call, void **out, size_t bytes)
{
	int result = fake_unsafe(call);
	struct fake_context *c = result ? NULL : fake_current_ok(call, &result);
	struct range *r;

	if (!c)
		return result;
	if (fake_ours(call))
		fake_should_relax(call);
	r = bytes ? allocate(bytes, true) : NULL;
	if (r)
		*out = (void *)r->base;
	return r ? 0 : 1;
}

FAKE_SINGLE(cuMemHostAlloc, (void **out, size_t bytes, unsigned flags),
	    host_alloc(&call, out, bytes), "%zu %u", bytes, flags)
FAKE_SINGLE(cuMemAllocHost_v2, (void **out, size_t bytes), host_alloc(&call, out, bytes), "%zu",
	    bytes)
FAKE_SINGLE(cuMemFreeHost, (void *at),
	    fake_unsafe(&call)       ? 900
	    : release((uintptr_t)at) ? 0
				     : 1,
	    "-")

static int device_pointer(CUdeviceptr *out, void *at)
{
	struct range *r = find((uintptr_t)at);

	if (!r || !r->host)
		return 1;
	*out = (uintptr_t)at;
	return 0;
}

FAKE_SINGLE(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void *at, unsigned flags),
	    device_pointer(out, at), "%u", flags)

static int address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
	struct range *r = find(at);

	if (!r)
		return 500;
	if (base)
		*base = r->base;
	if (bytes)
		*bytes = r->bytes;
	return 0;
}

FAKE_SINGLE(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr at),
	    address_range(base, bytes, at), "-")

static int pointer_attribute(void *out, CUpointer_attribute attribute, CUdeviceptr at)
{
	struct range *r = find(at);

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		if (!r)
			return 1;
		*(unsigned *)out = r->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return 0;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)out = r ? r->base : 0; return 0;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)out = r ? r->bytes : 0; return 0;
	default: return 801;
	}
}

FAKE_SINGLE(cuPointerGetAttribute, (void *out, CUpointer_attribute attribute, CUdeviceptr at),
	    pointer_attribute(out, attribute, at), "%d", (int)attribute)

static int pointer_attributes(unsigned n, CUpointer_attribute *attribute, void **out,
			      CUdeviceptr at)
{
	int result = 0;

	for (unsigned i = 0; i < n && !result; i++)
		result = pointer_attribute(out[i], attribute[i], at);
	return result == 1 ? 0 : result;
}

FAKE_SINGLE(cuPointerGetAttributes,
	    (unsigned n, CUpointer_attribute *attribute, void **out, CUdeviceptr at),
	    pointer_attributes(n, attribute, out, at), "%u", n)

/* ---- copies and sets ---- */

/* Where the bytes of an address really are; NULL when it does not cover them. */
static unsigned char *real_address(CUdeviceptr at, size_t bytes)
{
	struct range *r = find(at);

	if (!r)
		return NULL;
	return at + bytes <= r->base + r->bytes ? r->shadow + (at - r->base) : NULL;
}

/* `stream` NULL and sync: the legacy stream, and wait. */
static int transfer(struct fake_call *call, void *to, const void *from, size_t bytes, bool sync,
		    CUstream stream, bool ptsz)
{
	int result;
	struct fake_stream *s;

	if (fake_ours(call))
		fake_violation(call, "the recorder copies device memory");
	if (sync && (result = fake_unsafe(call)))
		return result;
	s = fake_stream(call, stream, ptsz, &result);
	if (!s)
		return result;
	if (!to || !from)
		return 1;
	switch (fake_capture_route(call, s, &result)) {
	case 0: break;
	case 1:
		fake_capture_chain(s, fake_node_new(s->capture->graph, CU_GRAPH_NODE_TYPE_MEMCPY,
						    call));
		return 0;
	default: return result;
	}
	memcpy(to, from, bytes);
	pthread_mutex_lock(&s->context->lock);
	fake_stream_work(s, 500 + bytes / 1000);
	if (sync)
		result = fake_stream_drain(call, s);
	pthread_mutex_unlock(&s->context->lock);
	return result;
}

/* Plain and per-thread forms of a synchronous copy. */
#define COPY_SYNC(symbol, per_thread_symbol, params, to, from)                                   \
	FAKE_FUNCTION(symbol, false, params, transfer(&call, to, from, bytes, true, NULL, ptsz), \
		      "%zu", bytes)                                                              \
	FAKE_FUNCTION(per_thread_symbol, true, params,                                           \
		      transfer(&call, to, from, bytes, true, NULL, ptsz), "%zu", bytes)
#define COPY_ASYNC(symbol, params, to, from)                                              \
	FAKE_TWINS(symbol, params, transfer(&call, to, from, bytes, false, stream, ptsz), \
		   "%zu %s", bytes, fake_name(stream, n1))

COPY_SYNC(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void *from, size_t bytes),
	  real_address(to, bytes), from)
COPY_SYNC(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, (void *to, CUdeviceptr from, size_t bytes), to,
	  real_address(from, bytes))
COPY_SYNC(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
	  real_address(to, bytes), real_address(from, bytes))
COPY_SYNC(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
	  real_address(to, bytes), real_address(from, bytes))
COPY_ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
	   real_address(to, bytes), from)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), to,
	   real_address(from, bytes))
COPY_ASYNC(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
	   real_address(to, bytes), real_address(from, bytes))
COPY_ASYNC(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
	   real_address(to, bytes), real_address(from, bytes))

/* Pattern of `width` bytes, n times. */
static int set(struct fake_call *call, CUdeviceptr at, unsigned value, unsigned width, size_t n,
	       bool sync, CUstream stream, bool ptsz)
{
	unsigned char *p = real_address(at, n * width);
	int result;
	struct fake_stream *s;

	if (fake_ours(call))
		fake_violation(call, "the recorder sets device memory");
	if (sync && (result = fake_unsafe(call)))
		return result;
	s = fake_stream(call, stream, ptsz, &result);
	if (!s || !p)
		return s ? 1 : result;
	switch (fake_capture_route(call, s, &result)) {
	case 0: break;
	case 1:
		fake_capture_chain(s, fake_node_new(s->capture->graph, CU_GRAPH_NODE_TYPE_MEMSET,
						    call));
		return 0;
	default: return result;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(p + i * width, &value, width);
	pthread_mutex_lock(&s->context->lock);
	fake_stream_work(s, 500 + n * width / 1000);
	pthread_mutex_unlock(&s->context->lock);
	return 0;
}

#define SET(symbol, async, type, width)                                               \
	FAKE_FUNCTION(symbol##_v2, false, (CUdeviceptr at, type value, size_t n),     \
		      set(&call, at, value, width, n, true, NULL, ptsz), "%u %zu",    \
		      (unsigned)value, n)                                             \
	FAKE_FUNCTION(symbol##_v2_ptds, true, (CUdeviceptr at, type value, size_t n), \
		      set(&call, at, value, width, n, true, NULL, ptsz), "%u %zu",    \
		      (unsigned)value, n)                                             \
	FAKE_TWINS(async, (CUdeviceptr at, type value, size_t n, CUstream stream),    \
		   set(&call, at, value, width, n, false, stream, ptsz), "%u %zu %s", \
		   (unsigned)value, n, fake_name(stream, n1))

SET(cuMemsetD8, cuMemsetD8Async, unsigned char, 1)
SET(cuMemsetD16, cuMemsetD16Async, unsigned short, 2)
SET(cuMemsetD32, cuMemsetD32Async, unsigned, 4)
