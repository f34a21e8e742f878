/*
 * wrap_launch.c - the launch entry points. Each describes the launch, makes the real call once with
 * the caller's own arguments, and leaves all bookkeeping to launch.c.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "hook.h"
#include "launch.h"
#include "map.h"
#include "writer.h"

#define MAX_ATTRIBUTES 256 /* of one launch; more than the driver knows */

/*
 * Everything a plain launch has in common. Only what the wrapper describes is written: the rest of
 * the structure is a few hundred bytes, to be filled when it is needed.
 */
static inline void plain_call(struct kbn_call *c, CUfunction f, unsigned gx, unsigned gy,
			      unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned smem,
			      CUstream stream, bool ptsz, void **params, void **extra)
{
	c->function = f;
	c->key = (struct kbn_shape_key){
		.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dyn_smem_bytes = smem};
	c->stream = stream;
	c->ptsz = ptsz;
	c->pdl = false;
	c->ungated = false;
	c->untimed = false;
	c->params = params;
	c->extra = extra;
}

/*
 * The shape of every launch wrapper: `setup` describes the launch in `call`, `...` are the
 * arguments of the real function.
 */
#define LAUNCH(symbol, setup, ...)                               \
	do {                                                     \
		struct kbn_call call;                            \
		CUresult result;                                 \
                                                                 \
		if (!kbn_enter_launch()) {                       \
			kbn_passed_launch();                     \
			return KBN_PASS(symbol, __VA_ARGS__);    \
		}                                                \
		if (kbn_recording()) {                           \
			setup;                                   \
			kbn_call_begin(&call);                   \
			result = KBN_FOUND(symbol, __VA_ARGS__); \
			kbn_call_end(&call, result);             \
		} else {                                         \
			result = KBN_REAL(symbol, __VA_ARGS__);  \
		}                                                \
		kbn_leave();                                     \
		return result;                                   \
	} while (0)

#define PLAIN(symbol, ptsz)                                                                     \
	KBN_WRAP(symbol)                                                                        \
	(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,         \
	 unsigned bz, unsigned smem, CUstream stream, void **params, void **extra)              \
	{                                                                                       \
		LAUNCH(symbol,                                                                  \
		       plain_call(&call, f, gx, gy, gz, bx, by, bz, smem, stream, ptsz, params, \
				  extra),                                                       \
		       f, gx, gy, gz, bx, by, bz, smem, stream, params, extra);                 \
	}

PLAIN(cuLaunchKernel, false)
PLAIN(cuLaunchKernel_ptsz, true)

static inline void cooperative_call(struct kbn_call *c, CUfunction f, unsigned gx, unsigned gy,
				    unsigned gz, unsigned bx, unsigned by, unsigned bz,
				    unsigned smem, CUstream stream, bool ptsz, void **params)
{
	plain_call(c, f, gx, gy, gz, bx, by, bz, smem, stream, ptsz, params, NULL);
	c->key.flags |= KBN_SLOT_COOPERATIVE;
}

#define COOPERATIVE(symbol, ptsz)                                                             \
	KBN_WRAP(symbol)                                                                      \
	(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
	 unsigned bz, unsigned smem, CUstream stream, void **params)                          \
	{                                                                                     \
		LAUNCH(symbol,                                                                \
		       cooperative_call(&call, f, gx, gy, gz, bx, by, bz, smem, stream, ptsz, \
					params),                                              \
		       f, gx, gy, gz, bx, by, bz, smem, stream, params);                      \
	}

COOPERATIVE(cuLaunchCooperativeKernel, false)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

/* ------------------------------------------------------------------------------- extended launch */

static void set_programmatic(struct kbn_call *call)
{
	call->pdl = true;
	call->key.flags |= KBN_SLOT_PDL;
}

/* The attributes that change what a launch is; all others, known or not, are none of our business. */
static void read_attribute(struct kbn_call *call, const CUlaunchAttribute *a)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if (a->value.cooperative)
			call->key.flags |= KBN_SLOT_COOPERATIVE;
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		call->key.cluster[0] = a->value.clusterDim.x;
		call->key.cluster[1] = a->value.clusterDim.y;
		call->key.cluster[2] = a->value.clusterDim.z;
		break;
	/* The driver picks between two shapes by what is free: nothing of ours may stand before it. */
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: call->ungated = true; break;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		if (a->value.programmaticStreamSerializationAllowed)
			set_programmatic(call);
		break;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: set_programmatic(call); break;
	default: break;
	}
}

static void extended_call(struct kbn_call *c, const CUlaunchConfig *config, CUfunction f, bool ptsz,
			  void **params, void **extra)
{
	static const CUlaunchConfig none; /* the driver will name the error */

	if (!config) {
		config = &none;
		params = extra = NULL;
	}
	plain_call(c, f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
		   config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
		   ptsz, params, extra);
	for (unsigned i = 0; config->attrs && i < config->numAttrs && i < MAX_ATTRIBUTES; i++)
		read_attribute(c, &config->attrs[i]);
}

#define EXTENDED(symbol, ptsz)                                                                    \
	KBN_WRAP(symbol)(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) \
	{                                                                                         \
		LAUNCH(symbol, extended_call(&call, config, f, ptsz, params, extra), config, f,   \
		       params, extra);                                                            \
	}

EXTENDED(cuLaunchKernelEx, false)
EXTENDED(cuLaunchKernelEx_ptsz, true)

/* ---------------------------------------------------------------------------------- multi-device */

/*
 * One call, one kernel per device. Counted after the call, since an entry needs no look before it:
 * never timed, and its parameters are those of every other entry.
 */
static void count_entry(const CUDA_LAUNCH_PARAMS_v1 *p, CUresult result)
{
	struct kbn_call call;

	cooperative_call(&call, p->function, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX,
			 p->blockDimY, p->blockDimZ, p->sharedMemBytes, p->hStream, false, NULL);
	call.untimed = true;
	kbn_call_begin(&call);
	kbn_call_end(&call, result);
}

KBN_WRAP(cuLaunchCooperativeKernelMultiDevice)
(CUDA_LAUNCH_PARAMS_v1 *list, unsigned n, unsigned flags)
{
	CUresult result;

	if (!kbn_enter()) {
		kbn_passed_launch();
		return KBN_PASS(cuLaunchCooperativeKernelMultiDevice, list, n, flags);
	}
	result = KBN_REAL(cuLaunchCooperativeKernelMultiDevice, list, n, flags);
	for (unsigned i = 0; kbn_recording() && list && i < n; i++)
		count_entry(&list[i], result);
	kbn_leave();
	return result;
}

/* -------------------------------------------------------------------------- launches before 4.0 */

/* The block shape is a state of the function there. */
struct block_state {
	uint32_t block[3], smem;
};

KBN_MAP(block_states, 64);

static struct block_state *state_of(CUfunction f)
{
	struct block_state *s = kbn_map_get(&block_states, f), *fresh;

	if (s || !f)
		return s;
	fresh = kbn_alloc(sizeof(*fresh));
	if (!fresh)
		return NULL;
	*fresh = (struct block_state){.block = {1, 1, 1}};
	return kbn_map_add(&block_states, f, fresh);
}

static void remember_block(CUfunction f, int x, int y, int z)
{
	struct block_state *s = state_of(f);

	if (s) {
		s->block[0] = (uint32_t)x;
		s->block[1] = (uint32_t)y;
		s->block[2] = (uint32_t)z;
	}
}

static void remember_smem(CUfunction f, unsigned bytes)
{
	struct block_state *s = state_of(f);

	if (s)
		s->smem = bytes;
}

KBN_WRAP(cuFuncSetBlockShape)(CUfunction f, int x, int y, int z)
{
	CUresult result;

	if (!kbn_enter())
		return KBN_PASS(cuFuncSetBlockShape, f, x, y, z);
	result = KBN_REAL(cuFuncSetBlockShape, f, x, y, z);
	if (result == CUDA_SUCCESS && kbn_recording())
		remember_block(f, x, y, z);
	kbn_leave();
	return result;
}

KBN_WRAP(cuFuncSetSharedSize)(CUfunction f, unsigned bytes)
{
	CUresult result;

	if (!kbn_enter())
		return KBN_PASS(cuFuncSetSharedSize, f, bytes);
	result = KBN_REAL(cuFuncSetSharedSize, f, bytes);
	if (result == CUDA_SUCCESS && kbn_recording())
		remember_smem(f, bytes);
	kbn_leave();
	return result;
}

static void old_call(struct kbn_call *c, CUfunction f, int width, int height, CUstream stream)
{
	const struct block_state *s = state_of(f);

	plain_call(c, f, (unsigned)width, (unsigned)height, 1, s ? s->block[0] : 1,
		   s ? s->block[1] : 1, s ? s->block[2] : 1, s ? s->smem : 0, stream, false, NULL,
		   NULL);
}

KBN_WRAP(cuLaunch)(CUfunction f)
{
	LAUNCH(cuLaunch, old_call(&call, f, 1, 1, NULL), f);
}

KBN_WRAP(cuLaunchGrid)(CUfunction f, int width, int height)
{
	LAUNCH(cuLaunchGrid, old_call(&call, f, width, height, NULL), f, width, height);
}

KBN_WRAP(cuLaunchGridAsync)(CUfunction f, int width, int height, CUstream stream)
{
	LAUNCH(cuLaunchGridAsync, old_call(&call, f, width, height, stream), f, width, height,
	       stream);
}
