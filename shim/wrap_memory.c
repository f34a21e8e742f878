/*
 * wrap_memory.c - calls that may wait for the device, and the opt-in count of copies and sets.
 *
 * A "busy" wrapper only keeps gates open while its real call runs: that call may wait for work that
 * stands behind a stream we hold. Copies are counted with KBN_COPIES=on; otherwise look-ups do not
 * even hand these wrappers out.
 */
#include <stddef.h>

#include "frame.h"
#include "hook.h"
#include "launch.h"
#include "state.h"

/* PARAMS and ARGS are parenthesised lists: the declaration and the call. */
#define UNPACK(...) __VA_ARGS__

#define BUSY(symbol, PARAMS, ARGS)                                         \
	KBN_WRAP(symbol) PARAMS                                            \
	{                                                                  \
		KBN_FRAMED(symbol, KBN_NOTHING, KBN_NOTHING, UNPACK ARGS); \
	}

/* clang-format off */
BUSY(cuCtxSynchronize, (void), ())
BUSY(cuCtxSynchronize_v2, (CUcontext c), (c))
BUSY(cuStreamSynchronize, (CUstream s), (s))
BUSY(cuStreamSynchronize_ptsz, (CUstream s), (s))
BUSY(cuEventSynchronize, (CUevent e), (e))
BUSY(cuMemFree_v2, (CUdeviceptr p), (p))
BUSY(cuMemFreeHost, (void *p), (p))

/* Graph calls that may load code or free memory. What they build is walked when it is instantiated. */
BUSY(cuGraphAddKernelNode,
     (CUgraphNode *node, CUgraph g, const CUgraphNode *deps, size_t n,
      const CUDA_KERNEL_NODE_PARAMS_v1 *p),
     (node, g, deps, n, p))
BUSY(cuGraphAddKernelNode_v2,
     (CUgraphNode *node, CUgraph g, const CUgraphNode *deps, size_t n,
      const CUDA_KERNEL_NODE_PARAMS_v2 *p),
     (node, g, deps, n, p))
BUSY(cuGraphAddNode,
     (CUgraphNode *node, CUgraph g, const CUgraphNode *deps, size_t n, CUgraphNodeParams *p),
     (node, g, deps, n, p))
BUSY(cuGraphAddNode_v2,
     (CUgraphNode *node, CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t n,
      CUgraphNodeParams *p),
     (node, g, deps, data, n, p))
BUSY(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p), (node, p))
BUSY(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *p),
     (node, p))
BUSY(cuGraphNodeSetParams, (CUgraphNode node, CUgraphNodeParams *p), (node, p))
BUSY(cuGraphClone, (CUgraph *clone, CUgraph g), (clone, g))
BUSY(cuGraphDestroy, (CUgraph g), (g))
BUSY(cuGraphUpload, (CUgraphExec e, CUstream s), (e, s))
BUSY(cuGraphUpload_ptsz, (CUgraphExec e, CUstream s), (e, s))

/* ---------------------------------------------------------------------------------------- copies */

#define COUNTED(symbol, counter, PARAMS, ARGS)                                                     \
	KBN_WRAP(symbol) PARAMS                                                                    \
	{                                                                                          \
		CUresult result;                                                                   \
                                                                                                   \
		if (!kbn_enter())                                                                  \
			return KBN_PASS(symbol, UNPACK ARGS);                                      \
		result = KBN_REAL(symbol, UNPACK ARGS);                                            \
		if (result == CUDA_SUCCESS && kbn_settings.copies && kbn_recording())              \
			KBN_COUNT(kbn_self(), counter);                                            \
		kbn_leave();                                                                       \
		return result;                                                                     \
	}

/* A synchronous form (per-thread ABI: _ptds) and an asynchronous one (_ptsz). */
#define SYNC(symbol, counter, PARAMS, ARGS)                                                        \
	COUNTED(symbol, counter, PARAMS, ARGS)                                                     \
	COUNTED(symbol##_ptds, counter, PARAMS, ARGS)
#define ASYNC(symbol, counter, PARAMS, ARGS)                                                       \
	COUNTED(symbol, counter, PARAMS, ARGS)                                                     \
	COUNTED(symbol##_ptsz, counter, PARAMS, ARGS)

SYNC(cuMemcpy, copies, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n))
SYNC(cuMemcpyPeer, copies,
     (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n), (d, dc, s, sc, n))
SYNC(cuMemcpyHtoD_v2, copies, (CUdeviceptr d, const void *s, size_t n), (d, s, n))
SYNC(cuMemcpyDtoH_v2, copies, (void *d, CUdeviceptr s, size_t n), (d, s, n))
SYNC(cuMemcpyDtoD_v2, copies, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n))
SYNC(cuMemcpy2D_v2, copies, (const CUDA_MEMCPY2D_v2 *p), (p))
SYNC(cuMemcpy2DUnaligned_v2, copies, (const CUDA_MEMCPY2D_v2 *p), (p))
SYNC(cuMemcpy3D_v2, copies, (const CUDA_MEMCPY3D_v2 *p), (p))
ASYNC(cuMemcpyAsync, copies, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t))
ASYNC(cuMemcpyPeerAsync, copies,
      (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream t),
      (d, dc, s, sc, n, t))
ASYNC(cuMemcpyHtoDAsync_v2, copies, (CUdeviceptr d, const void *s, size_t n, CUstream t),
      (d, s, n, t))
ASYNC(cuMemcpyDtoHAsync_v2, copies, (void *d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t))
ASYNC(cuMemcpyDtoDAsync_v2, copies, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t),
      (d, s, n, t))
ASYNC(cuMemcpy2DAsync_v2, copies, (const CUDA_MEMCPY2D_v2 *p, CUstream t), (p, t))
ASYNC(cuMemcpy3DAsync_v2, copies, (const CUDA_MEMCPY3D_v2 *p, CUstream t), (p, t))

SYNC(cuMemsetD8_v2, sets, (CUdeviceptr d, unsigned char v, size_t n), (d, v, n))
SYNC(cuMemsetD16_v2, sets, (CUdeviceptr d, unsigned short v, size_t n), (d, v, n))
SYNC(cuMemsetD32_v2, sets, (CUdeviceptr d, unsigned v, size_t n), (d, v, n))
SYNC(cuMemsetD2D8_v2, sets, (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t h),
     (d, p, v, w, h))
SYNC(cuMemsetD2D16_v2, sets, (CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t h),
     (d, p, v, w, h))
SYNC(cuMemsetD2D32_v2, sets, (CUdeviceptr d, size_t p, unsigned v, size_t w, size_t h),
     (d, p, v, w, h))
ASYNC(cuMemsetD8Async, sets, (CUdeviceptr d, unsigned char v, size_t n, CUstream t), (d, v, n, t))
ASYNC(cuMemsetD16Async, sets, (CUdeviceptr d, unsigned short v, size_t n, CUstream t), (d, v, n, t))
ASYNC(cuMemsetD32Async, sets, (CUdeviceptr d, unsigned v, size_t n, CUstream t), (d, v, n, t))
ASYNC(cuMemsetD2D8Async, sets,
      (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t h, CUstream t),
      (d, p, v, w, h, t))
ASYNC(cuMemsetD2D16Async, sets,
      (CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t h, CUstream t),
      (d, p, v, w, h, t))
ASYNC(cuMemsetD2D32Async, sets,
      (CUdeviceptr d, size_t p, unsigned v, size_t w, size_t h, CUstream t), (d, p, v, w, h, t))
/* clang-format on */
