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

/* What the attributes of a launch say, as far as it concerns us. */
struct attributes {
	uint32_t flags, cluster[3];
	bool pdl, ungated;
};

/*
 * Everything that launches have in common. Only what the wrapper describes is written: the rest of
 * the structure is a few hundred bytes, to be filled when it is needed.
 */
static inline void describe(struct kbn_call *c, CUfunction f, const uint32_t grid[3],
			    const uint32_t block[3], unsigned smem, CUstream stream, bool ptsz,
			    void **params, void **extra, const struct attributes *a)
{
	c->function = f;
	kbn_ask(&c->asked, a->flags, grid, block, a->cluster, smem);
	c->stream = stream;
	c->ptsz = ptsz;
	c->pdl = a->pdl;
	c->ungated = a->ungated;
	c->untimed = false;
	c->params = params;
	c->extra = extra;
}

static inline void plain_call(struct kbn_call *c, CUfunction f, unsigned gx, unsigned gy,
			      unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned smem,
			      CUstream stream, bool ptsz, void **params, void **extra)
{
	describe(c, f, (uint32_t[]){gx, gy, gz}, (uint32_t[]){bx, by, bz}, smem, stream, ptsz,
		 params, extra, &(struct attributes){0});
}

/* A launch in full, after kbn_enter_launch: `setup` describes it in `call`, `...` are the arguments. */
#define LAUNCH_IN_FULL(symbol, setup, ...)                       \
	do {                                                     \
		struct kbn_call call;                            \
		CUresult result;                                 \
                                                                 \
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

/* The shape of every launch wrapper. */
#define LAUNCH(symbol, setup, ...)                            \
	do {                                                  \
		if (!kbn_enter_launch()) {                    \
			kbn_passed_launch();                  \
			return KBN_PASS(symbol, __VA_ARGS__); \
		}                                             \
		LAUNCH_IN_FULL(symbol, setup, __VA_ARGS__);   \
	} while (0)

/* The same when most launches are like an earlier one: `again` finds it, `in_full` does the others. */
#define LAUNCH_OFTEN(symbol, again, in_full, ...)                \
	do {                                                     \
		struct kbn_shape *shape;                         \
		CUresult result;                                 \
                                                                 \
		if (!kbn_enter_launch()) {                       \
			kbn_passed_launch();                     \
			return KBN_PASS(symbol, __VA_ARGS__);    \
		}                                                \
		shape = again;                                   \
		if (KBN_LIKELY(shape)) {                         \
			result = KBN_FOUND(symbol, __VA_ARGS__); \
			if (KBN_LIKELY(kbn_is_guard()))          \
				kbn_again_end(shape, result);    \
			kbn_leave();                             \
			return result;                           \
		}                                                \
		result = in_full(__VA_ARGS__);                   \
		KBN_KEEP_FRAME(result);                          \
		return result;                                   \
	} while (0)

#define PLAIN(symbol, in_full, ptsz)                                                              \
	static __attribute__((noinline)) CUresult in_full(                                        \
		CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,    \
		unsigned bz, unsigned smem, CUstream stream, void **params, void **extra)         \
	{                                                                                         \
		LAUNCH_IN_FULL(symbol,                                                            \
			       plain_call(&call, f, gx, gy, gz, bx, by, bz, smem, stream, ptsz,   \
					  params, extra),                                         \
			       f, gx, gy, gz, bx, by, bz, smem, stream, params, extra);           \
	}                                                                                         \
	KBN_HOT_CODE KBN_WRAP(symbol)(CUfunction f, unsigned gx, unsigned gy, unsigned gz,        \
				      unsigned bx, unsigned by, unsigned bz, unsigned smem,       \
				      CUstream stream, void **params, void **extra)               \
	{                                                                                         \
		LAUNCH_OFTEN(symbol, kbn_again(f, gx, gy, gz, bx, by, bz, smem, stream), in_full, \
			     f, gx, gy, gz, bx, by, bz, smem, stream, params, extra);             \
	}

PLAIN(cuLaunchKernel, launch_in_full, false)
PLAIN(cuLaunchKernel_ptsz, launch_ptsz_in_full, true)

static inline void cooperative_call(struct kbn_call *c, CUfunction f, unsigned gx, unsigned gy,
				    unsigned gz, unsigned bx, unsigned by, unsigned bz,
				    unsigned smem, CUstream stream, bool ptsz, void **params)
{
	describe(c, f, (uint32_t[]){gx, gy, gz}, (uint32_t[]){bx, by, bz}, smem, stream, ptsz,
		 params, NULL, &(struct attributes){.flags = KBN_SLOT_COOPERATIVE});
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

static void set_programmatic(struct attributes *all)
{
	all->pdl = true;
	all->flags |= KBN_SLOT_PDL;
}

/* The attributes that change what a launch is; all others, known or not, are none of our business. */
static void read_attribute(struct attributes *all, const CUlaunchAttribute *a)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if (a->value.cooperative)
			all->flags |= KBN_SLOT_COOPERATIVE;
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		all->cluster[0] = a->value.clusterDim.x;
		all->cluster[1] = a->value.clusterDim.y;
		all->cluster[2] = a->value.clusterDim.z;
		break;
	/* The driver picks between two shapes by what is free: nothing of ours may stand before it. */
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: all->ungated = true; break;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		if (a->value.programmaticStreamSerializationAllowed)
			set_programmatic(all);
		break;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: set_programmatic(all); break;
	default: break;
	}
}

static void extended_call(struct kbn_call *c, const CUlaunchConfig *config, CUfunction f, bool ptsz,
			  void **params, void **extra)
{
	static const CUlaunchConfig none; /* the driver will name the error */
	struct attributes all = {0};

	if (!config) {
		config = &none;
		params = extra = NULL;
	}
	for (unsigned i = 0; config->attrs && i < config->numAttrs && i < MAX_ATTRIBUTES; i++)
		read_attribute(&all, &config->attrs[i]);
	describe(c, f, (uint32_t[]){config->gridDimX, config->gridDimY, config->gridDimZ},
		 (uint32_t[]){config->blockDimX, config->blockDimY, config->blockDimZ},
		 config->sharedMemBytes, config->hStream, ptsz, params, extra, &all);
}

static KBN_ALWAYS_INLINE struct kbn_shape *extended_again(const CUlaunchConfig *c, CUfunction f)
{
	if (!c || c->numAttrs)
		return NULL;
	return kbn_again(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
			 c->blockDimZ, c->sharedMemBytes, c->hStream);
}

#define EXTENDED(symbol, in_full, ptsz)                                                          \
	static __attribute__((noinline)) CUresult in_full(                                       \
		const CUlaunchConfig *config, CUfunction f, void **params, void **extra)         \
	{                                                                                        \
		LAUNCH_IN_FULL(symbol, extended_call(&call, config, f, ptsz, params, extra),     \
			       config, f, params, extra);                                        \
	}                                                                                        \
	KBN_HOT_CODE KBN_WRAP(symbol)(const CUlaunchConfig *config, CUfunction f, void **params, \
				      void **extra)                                              \
	{                                                                                        \
		LAUNCH_OFTEN(symbol, extended_again(config, f), in_full, config, f, params,      \
			     extra);                                                             \
	}

EXTENDED(cuLaunchKernelEx, extended_in_full, false)
EXTENDED(cuLaunchKernelEx_ptsz, extended_ptsz_in_full, true)

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
