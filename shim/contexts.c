/*
 * contexts.c - contexts by generation, and devices, for registry.h.
 *
 * A destroyed context's handle value comes back, as that of a primary context after a reset always
 * does: so each life of a handle is its own struct kbn_context, never freed.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "hook.h"
#include "map.h"
#include "registry.h"
#include "state.h"
#include "writer.h"

#define MAX_DEVICES    64  /* ordinals; more than any machine shows to one process */
#define MAX_ATTRIBUTES 150 /* CUdevice_attribute values asked for: 1..150 */

KBN_MAP(contexts, 256);
KBN_MAP(greens, 256);   /* CUgreenCtx → CUcontext */
KBN_MAP(streams, 1024); /* CUstream → struct kbn_context */

static _Atomic uint32_t context_count;

/* --------------------------------------------------------------------------------------- devices */

static _Atomic uint32_t device_ids[MAX_DEVICES]; /* id + 1, 0 = not seen yet */
static _Atomic uint32_t device_count;

struct attribute_pair {
	int32_t attribute, value;
};

static uint32_t ask_attributes(CUdevice d, struct attribute_pair *pairs)
{
	uint32_t n = 0;
	int v;

	for (int a = 1; a <= MAX_ATTRIBUTES; a++)
		if (real.cuDeviceGetAttribute &&
		    real.cuDeviceGetAttribute(&v, a, d) == CUDA_SUCCESS)
			pairs[n++] = (struct attribute_pair){a, v};
	return n;
}

static void ask_uuid(CUdevice d, struct kbn_rec_device *r)
{
	CUuuid uuid;
	CUresult result = CUDA_ERROR_NOT_FOUND;

	/* Version 2 names the MIG instance, version 1 the whole GPU. */
	if (real.cuDeviceGetUuid_v2)
		result = real.cuDeviceGetUuid_v2(&uuid, d);
	else if (real.cuDeviceGetUuid)
		result = real.cuDeviceGetUuid(&uuid, d);
	if (result == CUDA_SUCCESS)
		memcpy(r->uuid, uuid.bytes, sizeof(r->uuid));
}

static void record_device(uint32_t id, CUdevice d)
{
	struct attribute_pair pairs[MAX_ATTRIBUTES];
	struct kbn_rec_device r = {.device = id, .ordinal = d};
	size_t total = 0;
	const char *mig;

	ask_uuid(d, &r);
	if (!real.cuDeviceGetName ||
	    real.cuDeviceGetName(r.name, sizeof(r.name) - 1, d) != CUDA_SUCCESS)
		r.name[0] = 0;
	mig = strstr(r.name, "MIG");
	if (mig)
		memcpy(r.mig, mig, strnlen(mig, sizeof(r.mig) - 1));
	if (real.cuDeviceTotalMem_v2 && real.cuDeviceTotalMem_v2(&total, d) == CUDA_SUCCESS)
		r.total_bytes = total;
	r.attributes = ask_attributes(d, pairs);
	kbn_log_append(KBN_REC_DEVICE, 0,
		       (struct iovec[]){{&r, sizeof(r)}, {pairs, r.attributes * sizeof(pairs[0])}},
		       2);
}

uint32_t kbn_registry_device(CUdevice d)
{
	const uint32_t busy = UINT32_MAX;
	uint32_t seen = 0, id;

	if (d < 0 || d >= MAX_DEVICES)
		return 0;
	if (atomic_compare_exchange_strong(&device_ids[d], &seen, busy)) {
		id = atomic_fetch_add(&device_count, 1);
		record_device(id, d);
		atomic_store(&device_ids[d], id + 1);
		return id;
	}
	/* Another thread is asking; a handful of driver calls. */
	while ((seen = atomic_load(&device_ids[d])) == busy)
		;
	return seen - 1;
}

static int device_sm(CUdevice d)
{
	int major = 0, minor = 0;

	if (!real.cuDeviceGetAttribute ||
	    real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d) ||
	    real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d))
		return 0;
	return major * 10 + minor;
}

static int sms[MAX_DEVICES];
static _Atomic int sm_count;

int kbn_registry_sms(const int **list)
{
	int n = atomic_load(&sm_count), count = 0, found[MAX_DEVICES];
	CUdevice d;

	*list = sms;
	if (n || !real.cuDeviceGetCount || real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return n;
	for (int i = 0; i < count && i < MAX_DEVICES; i++) {
		const int sm = real.cuDeviceGet && !real.cuDeviceGet(&d, i) ? device_sm(d) : 0;
		int k = 0;

		while (k < n && found[k] != sm)
			k++;
		if (sm && k == n)
			found[n++] = sm;
	}
	/* Two threads may come here: they store the same numbers. */
	for (int k = 0; k < n; k++)
		__atomic_store_n(&sms[k], found[k], __ATOMIC_RELAXED);
	atomic_store(&sm_count, n);
	return n;
}

/* -------------------------------------------------------------------------------------- contexts */

/* Room behind the structure: a newer driver's is longer. */
union resource {
	CUdevResource r;
	unsigned char room[512];
};

/* SMs of a green context, 0 = the context has the whole device. */
static uint32_t partition_sms(CUcontext c, CUdevice d)
{
	union resource got = {0};
	int all = 0;

	if (!real.cuCtxGetDevResource || !real.cuDeviceGetAttribute ||
	    real.cuCtxGetDevResource(c, &got.r, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
	    real.cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d))
		return 0;
	return got.r.sm.smCount < (unsigned)all ? got.r.sm.smCount : 0;
}

static bool ask_device(CUcontext c, CUdevice *d)
{
	CUcontext current = NULL, popped;
	bool pushed = false, known;

	if (!real.cuCtxGetDevice || !real.cuCtxGetCurrent)
		return false;
	if (real.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
		return false;
	if (current != c) {
		if (!real.cuCtxPushCurrent_v2 || !real.cuCtxPopCurrent_v2 ||
		    real.cuCtxPushCurrent_v2(c) != CUDA_SUCCESS)
			return false;
		pushed = true;
	}
	known = real.cuCtxGetDevice(d) == CUDA_SUCCESS;
	if (pushed)
		real.cuCtxPopCurrent_v2(&popped);
	return known;
}

static _Atomic(CUcontext) first_context;
static _Atomic bool several;

void kbn_registry_context_made(CUcontext c)
{
	CUcontext first = NULL;

	if (!c || atomic_compare_exchange_strong(&first_context, &first, c) || first == c)
		return;
	if (!atomic_exchange(&several, true))
		kbn_registry_changed();
}

bool kbn_registry_single(void)
{
	return !atomic_load_explicit(&several, memory_order_relaxed);
}

static struct kbn_context *context_make(CUcontext handle)
{
	struct kbn_context *c = kbn_alloc(sizeof(*c)), *there;
	struct kbn_rec_context r = {0};

	if (!c || !ask_device(handle, &c->ordinal))
		return NULL;
	kbn_registry_context_made(handle);
	c->handle = handle;
	c->device = kbn_registry_device(c->ordinal);
	c->id = atomic_fetch_add(&context_count, 1);
	there = kbn_map_add(&contexts, handle, c);
	if (there != c)
		return there; /* another thread was first; the number stays unused */
	r.context = c->id;
	r.device = c->device;
	r.sm_count = partition_sms(handle, c->ordinal);
	r.flags = r.sm_count ? KBN_CTX_GREEN : 0;
	kbn_log_append(KBN_REC_CONTEXT, 0, (struct iovec[]){{&r, sizeof(r)}}, 1);
	return c;
}

static struct kbn_context *context_of(CUcontext handle)
{
	struct kbn_context *c = kbn_map_get(&contexts, handle);
	struct kbn_relaxed relaxed;
	int saved_errno;

	if (c || !handle)
		return c;
	saved_errno = errno;
	relaxed = kbn_relaxed_enter();
	c = context_make(handle);
	kbn_relaxed_leave(&relaxed);
	errno = saved_errno;
	return c;
}

/* A stream of a green context tells which green context stands for this CUcontext. */
static void learn_green(CUstream stream, CUcontext handle)
{
	CUcontext plain = NULL;
	CUgreenCtx green = NULL;

	if (real.cuStreamGetCtx_v2 &&
	    real.cuStreamGetCtx_v2(stream, &plain, &green) == CUDA_SUCCESS && green)
		kbn_registry_green(green, handle);
}

struct kbn_context *kbn_registry_stream(CUstream stream)
{
	struct kbn_context *c = NULL;
	CUcontext handle = NULL;

	if (real.cuStreamGetCtx && real.cuStreamGetCtx(stream, &handle) == CUDA_SUCCESS) {
		if (!kbn_map_get(&contexts, handle))
			learn_green(stream, handle);
		c = context_of(handle);
	}
	if (c)
		kbn_map_put(&streams, stream, c);
	return c;
}

void kbn_registry_stream_gone(CUstream stream)
{
	kbn_map_take(&streams, stream);
	kbn_registry_changed();
}

/* What is not known is not remembered: a stream may become known without any handle changing. */
static struct kbn_context *remember(struct kbn_context_hit *hit, const void *handle,
				    struct kbn_context *c)
{
	*hit = (struct kbn_context_hit){c ? handle : NULL, c};
	return c;
}

struct kbn_context *kbn_registry_current(struct kbn_thread *t)
{
	CUcontext current = NULL;

	if (!real.cuCtxGetCurrent || real.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
		return NULL;
	if (t->current.handle == (const void *)current)
		return t->current.context;
	return remember(&t->current, current, context_of(current));
}

struct kbn_context *kbn_registry_context_search(struct kbn_thread *t, CUstream stream)
{
	return remember(&t->last_stream, stream, kbn_map_get(&streams, stream));
}

struct kbn_context *kbn_registry_context(CUstream stream, bool ptsz)
{
	struct kbn_thread *t = kbn_self();

	(void)ptsz; /* the special streams are the current context's in either ABI */
	if (!t)
		return NULL;
	kbn_registry_refresh(t);
	return kbn_registry_context_of(t, stream);
}

/* Streams end with their context. */
static void forget_stream(const void *stream, void *context, void *gone)
{
	if (context == gone)
		kbn_map_take(&streams, stream);
}

/* True when it has just ended. Launches into it are looked at in full from now on. */
static bool end_context(struct kbn_context *c)
{
	if (!c || atomic_exchange(&c->dead, true))
		return false;
	kbn_registry_changed();
	return true;
}

void kbn_registry_context_gone(CUcontext c)
{
	struct kbn_context *gone = kbn_map_take(&contexts, c);

	if (gone) {
		end_context(gone);
		kbn_map_each(&streams, forget_stream, gone);
	}
	kbn_registry_changed();
}

struct kbn_context *kbn_registry_find_context(CUcontext c)
{
	return kbn_map_get(&contexts, c);
}

void kbn_registry_green(CUgreenCtx green, CUcontext c)
{
	kbn_map_put(&greens, green, c);
}

CUcontext kbn_registry_green_context(CUgreenCtx green)
{
	return kbn_map_get(&greens, green);
}

bool kbn_registry_error(struct kbn_context *c, CUresult result)
{
	switch (result) {
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_DEINITIALIZED:
		/* The process ends: nothing has gone wrong in the context. */
		end_context(c);
		return true;
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
		if (end_context(c))
			kbn_log_note(KBN_NOTE_STICKY, result, NULL);
		return true;
	default: return false;
	}
}

void kbn_contexts_reset(void)
{
	kbn_map_reset(&contexts);
	kbn_map_reset(&greens);
	kbn_map_reset(&streams);
	for (int i = 0; i < MAX_DEVICES; i++)
		atomic_store(&device_ids[i], 0);
	atomic_store(&context_count, 0);
	atomic_store(&first_context, NULL);
	atomic_store(&several, false);
	atomic_store(&device_count, 0);
}
