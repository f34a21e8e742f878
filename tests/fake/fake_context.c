/*
 * fake_context.c - contexts: created, primary (same handle after a reset, next generation), green,
 * the per-thread stack of current ones, and the error that ends one.
 */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

/* A real driver may be asked once more by a thread that has not heard yet; not for ever. */
#define ASKED_AFTER_DEATH 64

bool fake_is_sticky_code(int code)
{
	return (code >= 700 && code <= 719 && code != 701 && code != 704 && code != 705 &&
		code != 708 && code != 709 && code != 712 && code != 713) ||
	       code == 214;
}

int fake_sticky(struct fake_call *call, struct fake_context *c)
{
	int code = atomic_load_explicit(&c->sticky, memory_order_relaxed);

	if (!code)
		return 0;
	if (fake_ours(call) && ++c->asked_after_death == ASKED_AFTER_DEATH)
		fake_violation(call, "keeps calling in a context that ended with error %d", code);
	return code;
}

struct fake_context *fake_current(void)
{
	struct fake_thread *t = fake_thread();

	return t->depth ? t->stack[t->depth - 1] : NULL;
}

struct fake_context *fake_current_ok(struct fake_call *call, int *result)
{
	struct fake_context *c = fake_current();

	*result = !c ? 201 : !c->object.alive ? 709 : fake_sticky(call, c);
	return *result ? NULL : c;
}

static struct fake_context *context_new(struct fake_call *call, int device, unsigned flags)
{
	struct fake_context *c = fake_new(FAKE_CONTEXT, sizeof(*c), call);

	c->device = &fake_devices[device];
	c->flags = flags;
	pthread_mutex_init(&c->lock, NULL);
	c->legacy.context = c;
	c->legacy.special = true;
	c->legacy.object.alive = true;
	c->legacy.object.kind = FAKE_STREAM;
	return c;
}

/* Everything that lives in a context ends with it. */
void fake_context_kill_streams(struct fake_context *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->streams) {
		struct fake_stream *s = c->streams;

		c->streams = s->next;
		fake_stream_forget(s);
		fake_free(s);
	}
	fake_stream_forget(&c->legacy);
	c->legacy.tail_ns = 0;
	c->blocking = 0;
	c->modules = NULL;
	c->sticky = 0;
	c->fault_ns = 0;
	c->asked_after_death = 0;
	c->generation++;
	pthread_mutex_unlock(&c->lock);
}

static int create(struct fake_call *call, CUcontext *out, unsigned flags, CUdevice device)
{
	struct fake_thread *t = fake_thread();
	struct fake_context *c;
	int unsafe = fake_unsafe(call);

	if (unsafe)
		return unsafe;
	if (!out || device < 0 || device >= fake_device_count || t->depth == 32)
		return !out ? 1 : 101;
	if (fake_ours(call))
		fake_violation(call, "the recorder makes a context");
	c = context_new(call, device, flags);
	t->stack[t->depth++] = c;
	*out = (CUcontext)c;
	return 0;
}

FAKE_SINGLE(cuCtxCreate, (CUcontext * out, unsigned flags, CUdevice device),
	    create(&call, out, flags, device), "%u %d -> %s", flags, device, FAKE_MADE(out, n1))
FAKE_SINGLE(cuCtxCreate_v2, (CUcontext * out, unsigned flags, CUdevice device),
	    create(&call, out, flags, device), "%u %d -> %s", flags, device, FAKE_MADE(out, n1))
FAKE_SINGLE(cuCtxCreate_v3,
	    (CUcontext * out, CUexecAffinityParam *affinity, int n, unsigned flags,
	     CUdevice device),
	    create(&call, out, flags, device), "%d %d %u %d -> %s", affinity != NULL, n, flags,
	    device, FAKE_MADE(out, n1))
FAKE_SINGLE(cuCtxCreate_v4,
	    (CUcontext * out, CUctxCreateParams *params, unsigned flags, CUdevice device),
	    create(&call, out, flags, device), "%d %u %d -> %s", params != NULL, flags, device,
	    FAKE_MADE(out, n1))

static void pop_if_current(struct fake_context *c)
{
	struct fake_thread *t = fake_thread();

	if (t->depth && t->stack[t->depth - 1] == c)
		t->depth--;
}

static int destroy(struct fake_call *call, CUcontext handle)
{
	struct fake_context *c = fake_need(call, handle, FAKE_CONTEXT);

	if (!c || c->primary || c->green)
		return 201;
	if (fake_ours(call))
		fake_violation(call, "the recorder ends a context");
	fake_context_kill_streams(c);
	pop_if_current(c);
	fake_free(c);
	return 0;
}

FAKE_SINGLE(cuCtxDestroy, (CUcontext handle), destroy(&call, handle), "%s", fake_name(handle, n1))

FAKE_SINGLE(cuCtxDestroy_v2, (CUcontext handle), destroy(&call, handle), "%s",
	    fake_name(handle, n1))

FAKE_API(cuCtxAttach, CUcontext *out, unsigned flags)
{
	FAKE_BEGIN(cuCtxAttach);
	int result;
	struct fake_context *c = fake_current_ok(&call, &result);

	if (c)
		*out = (CUcontext)c;
	FAKE_END(result, "%u", flags);
}

FAKE_API(cuCtxDetach, CUcontext handle)
{
	FAKE_BEGIN(cuCtxDetach);
	char name[40];

	FAKE_END(fake_need(&call, handle, FAKE_CONTEXT) ? 0 : 201, "%s", fake_name(handle, name));
}

/* ---- current ---- */

static int push(struct fake_call *call, CUcontext handle)
{
	struct fake_context *c = fake_need(call, handle, FAKE_CONTEXT);
	struct fake_thread *t = fake_thread();

	if (!c || t->depth == 32)
		return 201;
	t->stack[t->depth++] = c;
	return 0;
}

static int pop(CUcontext *out)
{
	struct fake_thread *t = fake_thread();

	if (!t->depth)
		return 201;
	t->depth--;
	if (out)
		*out = (CUcontext)t->stack[t->depth];
	return 0;
}

FAKE_API(cuCtxPushCurrent_v2, CUcontext handle)
{
	FAKE_BEGIN(cuCtxPushCurrent_v2);
	char name[40];

	FAKE_END(push(&call, handle), "%s", fake_name(handle, name));
}

FAKE_API(cuCtxPopCurrent_v2, CUcontext *out)
{
	FAKE_BEGIN(cuCtxPopCurrent_v2);
	FAKE_END(pop(out), "-");
}

FAKE_API(cuCtxSetCurrent, CUcontext handle)
{
	FAKE_BEGIN(cuCtxSetCurrent);
	struct fake_thread *t = fake_thread();
	struct fake_context *c = handle ? fake_need(&call, handle, FAKE_CONTEXT) : NULL;
	char name[40];

	if (handle && !c)
		FAKE_END(201, "%s", fake_name(handle, name));
	if (fake_ours(&call) && !fake_thread_of_kbn())
		fake_violation(&call, "the recorder replaces the program's current context");
	if (!c)
		t->depth -= t->depth > 0;
	else if (t->depth)
		t->stack[t->depth - 1] = c;
	else
		t->stack[t->depth++] = c;
	FAKE_END(0, "%s", fake_name(handle, name));
}

FAKE_API(cuCtxGetCurrent, CUcontext *out)
{
	FAKE_BEGIN(cuCtxGetCurrent);
	struct fake_context *c = fake_current();
	char name[40];

	*out = (CUcontext)c;
	FAKE_END(0, "-> %s", fake_name(c, name));
}

FAKE_API(cuCtxGetDevice, CUdevice *out)
{
	FAKE_BEGIN(cuCtxGetDevice);
	struct fake_context *c = fake_current();

	if (!c)
		FAKE_END(201, "-");
	*out = fake_device_number(c->device);
	FAKE_END(0, "-> %d", *out);
}

FAKE_API(cuCtxGetDevResource, CUcontext handle, CUdevResource *out, CUdevResourceType type)
{
	FAKE_BEGIN(cuCtxGetDevResource);
	struct fake_context *c = fake_need(&call, handle, FAKE_CONTEXT);

	if (!c || type != CU_DEV_RESOURCE_TYPE_SM)
		FAKE_END(c ? 1 : 201, "-");
	memset(out, 0, sizeof(*out));
	out->type = type;
	out->sm.smCount = (unsigned)(c->green ? (int)c->green->sm_count : c->device->sm_count);
	FAKE_END(0, "-> %u", out->sm.smCount);
}

/* `c` NULL: no usable context, `result` says why. */
static int synchronize(struct fake_call *call, struct fake_context *c, int result)
{
	if (fake_ours(call))
		fake_violation(call, "the recorder waits for the device");
	if (!c || (result = fake_unsafe(call)))
		return result;
	pthread_mutex_lock(&c->lock);
	result = fake_stream_drain(call, &c->legacy);
	for (struct fake_stream *s = c->streams; s && !result; s = s->next)
		result = s->capture ? 0 : fake_stream_drain(call, s);
	pthread_mutex_unlock(&c->lock);
	return result ? result : fake_sticky(call, c);
}

FAKE_API(cuCtxSynchronize, void)
{
	FAKE_BEGIN(cuCtxSynchronize);
	int result;
	struct fake_context *c = fake_current_ok(&call, &result);

	FAKE_END(synchronize(&call, c, result), "-");
}

FAKE_SINGLE(cuCtxSynchronize_v2, (CUcontext handle),
	    synchronize(&call, fake_need(&call, handle, FAKE_CONTEXT), 201), "%s",
	    fake_name(handle, n1))

/* ---- primary contexts ---- */

FAKE_API(cuDevicePrimaryCtxRetain, CUcontext *out, CUdevice device)
{
	FAKE_BEGIN(cuDevicePrimaryCtxRetain);
	struct fake_device *d;
	char name[40];

	if (device < 0 || device >= fake_device_count)
		FAKE_END(101, "%d", device);
	if (fake_ours(&call))
		fake_violation(&call, "the recorder makes a context");
	d = &fake_devices[device];
	pthread_mutex_lock(&primary_lock);
	if (!d->primary) {
		d->primary = context_new(&call, device, 0);
		d->primary->primary = true;
	}
	d->primary->refs++;
	d->primary->object.alive = true;
	*out = (CUcontext)d->primary;
	pthread_mutex_unlock(&primary_lock);
	FAKE_END(0, "%d -> %s", device, FAKE_MADE(out, name));
}

/* `reset` ends it whatever the count is. */
static int release(struct fake_call *call, CUdevice device, bool reset)
{
	struct fake_context *c;
	int result = 0;

	if (device < 0 || device >= fake_device_count)
		return 101;
	if (fake_ours(call))
		fake_violation(call, "the recorder ends a context");
	pthread_mutex_lock(&primary_lock);
	c = fake_devices[device].primary;
	if (!reset && (!c || !c->refs))
		result = 201;
	else if (c) {
		if (!reset)
			c->refs--;
		if (reset || !c->refs) {
			fake_context_kill_streams(c);
			c->object.alive = reset && c->refs;
		}
	}
	pthread_mutex_unlock(&primary_lock);
	return result;
}

FAKE_SINGLE(cuDevicePrimaryCtxRelease, (CUdevice device), release(&call, device, false), "%d",
	    device)
FAKE_SINGLE(cuDevicePrimaryCtxRelease_v2, (CUdevice device), release(&call, device, false), "%d",
	    device)
FAKE_SINGLE(cuDevicePrimaryCtxReset, (CUdevice device), release(&call, device, true), "%d", device)
FAKE_SINGLE(cuDevicePrimaryCtxReset_v2, (CUdevice device), release(&call, device, true), "%d",
	    device)

FAKE_API(cuDevicePrimaryCtxGetState, CUdevice device, unsigned *flags, int *active)
{
	FAKE_BEGIN(cuDevicePrimaryCtxGetState);
	struct fake_context *c;

	if (device < 0 || device >= fake_device_count)
		FAKE_END(101, "%d", device);
	c = fake_devices[device].primary;
	*flags = c ? c->flags : 0;
	*active = c && c->object.alive && c->refs;
	FAKE_END(0, "%d -> %d", device, *active);
}

/* ---- green contexts: a part of the SMs with a context of its own ---- */

FAKE_API(cuDeviceGetDevResource, CUdevice device, CUdevResource *out, CUdevResourceType type)
{
	FAKE_BEGIN(cuDeviceGetDevResource);
	if (device < 0 || device >= fake_device_count || type != CU_DEV_RESOURCE_TYPE_SM)
		FAKE_END(101, "%d", device);
	memset(out, 0, sizeof(*out));
	out->type = type;
	out->sm.smCount = (unsigned)fake_devices[device].sm_count;
	FAKE_END(0, "%d", device);
}

FAKE_API(cuDevSmResourceSplitByCount, CUdevResource *out, unsigned *groups, const CUdevResource *in,
	 CUdevResource *rest, unsigned flags, unsigned least)
{
	FAKE_BEGIN(cuDevSmResourceSplitByCount);
	unsigned size = (least + 7) / 8 * 8, most;

	if (!size || !groups || in->sm.smCount < size)
		FAKE_END(1, "%u", least);
	most = in->sm.smCount / size;
	*groups = *groups < most ? *groups : most;
	for (unsigned i = 0; out && i < *groups; i++) {
		out[i] = *in;
		out[i].sm.smCount = size;
	}
	if (rest) {
		*rest = *in;
		rest->sm.smCount = in->sm.smCount - *groups * size;
	}
	FAKE_END(0, "%u %u -> %u", flags, least, *groups);
}

FAKE_API(cuDevResourceGenerateDesc, CUdevResourceDesc *out, CUdevResource *in, unsigned n)
{
	FAKE_BEGIN(cuDevResourceGenerateDesc);
	unsigned sms = 0;

	for (unsigned i = 0; i < n; i++)
		sms += in[i].sm.smCount;
	/* The description is opaque: the number itself will do. */
	*out = (CUdevResourceDesc)(uintptr_t)(sms << 4);
	FAKE_END(0, "%u", sms);
}

FAKE_API(cuGreenCtxCreate, CUgreenCtx *out, CUdevResourceDesc desc, CUdevice device, unsigned flags)
{
	FAKE_BEGIN(cuGreenCtxCreate);
	struct fake_green *g;
	char name[40];

	if (device < 0 || device >= fake_device_count)
		FAKE_END(101, "%d", device);
	g = fake_new(FAKE_GREEN, sizeof(*g), &call);
	g->sm_count = (unsigned)((uintptr_t)desc >> 4);
	g->context = context_new(&call, device, 0);
	g->context->green = g;
	*out = (CUgreenCtx)g;
	FAKE_END(0, "%u sms, %u -> %s", g->sm_count, flags, fake_name(g, name));
}

FAKE_API(cuGreenCtxDestroy, CUgreenCtx handle)
{
	FAKE_BEGIN(cuGreenCtxDestroy);
	struct fake_green *g = fake_need(&call, handle, FAKE_GREEN);
	char name[40];

	if (!g)
		FAKE_END(400, "-");
	fake_context_kill_streams(g->context);
	pop_if_current(g->context);
	fake_free(g->context);
	fake_free(g);
	FAKE_END(0, "%s", fake_name(g, name));
}

FAKE_API(cuCtxFromGreenCtx, CUcontext *out, CUgreenCtx handle)
{
	FAKE_BEGIN(cuCtxFromGreenCtx);
	struct fake_green *g = fake_need(&call, handle, FAKE_GREEN);
	char name[40];

	if (!g)
		FAKE_END(400, "-");
	*out = (CUcontext)g->context;
	FAKE_END(0, "-> %s", FAKE_MADE(out, name));
}
