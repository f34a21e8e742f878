/*
 * check_cuda_h.c - include/kbn_cuda.h against the vendor's cuda.h, where a toolkit is installed.
 *
 * Compiled twice, with and without KBN_VENDOR: each makes the same table of sizes, offsets and
 * constants from its header. The vendor's object also includes kbn_cuda.h behind cuda.h, which then
 * declares only prototypes, so that the compiler compares those. The plain object has main(), which
 * compares the tables. Not a cmocka test: it must not need a toolkit to be skipped.
 */
#ifdef KBN_VENDOR
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#endif
#include "kbn_cuda.h"

#include <stdio.h>
#include <string.h>

struct fact {
	const char *what;
	long value;
};

extern const struct fact vendor_facts[];

#define SIZE(type)                                  \
	{                                           \
		"sizeof " #type, (long)sizeof(type) \
	}
#define PLACE(type, member)                                     \
	{                                                       \
#type "." #member, (long)offsetof(type, member) \
	}
#define VALUE(name)                 \
	{                           \
#name, (long)(name) \
	}

#ifdef KBN_VENDOR
#define FACTS vendor_facts
#else
#define FACTS our_facts
static
#endif
const struct fact FACTS[] = {
	SIZE(CUresult),
	SIZE(CUdevice),
	SIZE(CUdeviceptr),
	SIZE(CUuuid),
	SIZE(CUlaunchAttribute),
	SIZE(CUlaunchAttributeValue),
	SIZE(CUlaunchConfig),
	SIZE(CUDA_LAUNCH_PARAMS_v1),
	SIZE(CUDA_KERNEL_NODE_PARAMS_v1),
	SIZE(CUDA_KERNEL_NODE_PARAMS_v2),
	SIZE(CUgraphNodeParams),
	SIZE(CUDA_CONDITIONAL_NODE_PARAMS),
	SIZE(CUgraphEdgeData),
	SIZE(CUdevResource),
	SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS),
	SIZE(CUgraphExecUpdateResultInfo),
	SIZE(CUDA_MEMCPY2D_v2),
	SIZE(CUDA_MEMCPY3D_v2),
	SIZE(CUjit_option),
	PLACE(CUlaunchAttribute, value),
	PLACE(CUlaunchConfig, hStream),
	PLACE(CUlaunchConfig, attrs),
	PLACE(CUlaunchConfig, numAttrs),
	PLACE(CUDA_LAUNCH_PARAMS_v1, hStream),
	PLACE(CUDA_LAUNCH_PARAMS_v1, kernelParams),
	PLACE(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams),
	PLACE(CUDA_KERNEL_NODE_PARAMS_v2, kern),
	PLACE(CUDA_KERNEL_NODE_PARAMS_v2, ctx),
	PLACE(CUgraphNodeParams, kernel),
	PLACE(CUgraphNodeParams, conditional),
	PLACE(CUgraphNodeParams, reserved2),
	PLACE(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out),
	PLACE(CUdevResource, sm),
	PLACE(CUDA_MEMCPY2D_v2, dstArray),
	PLACE(CUDA_MEMCPY2D_v2, Height),
	PLACE(CUDA_MEMCPY3D_v2, dstArray),
	PLACE(CUDA_MEMCPY3D_v2, Depth),
	PLACE(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out),
	VALUE(CUDA_ERROR_INVALID_VALUE),
	VALUE(CUDA_ERROR_NOT_INITIALIZED),
	VALUE(CUDA_ERROR_DEINITIALIZED),
	VALUE(CUDA_ERROR_STUB_LIBRARY),
	VALUE(CUDA_ERROR_INVALID_CONTEXT),
	VALUE(CUDA_ERROR_INVALID_HANDLE),
	VALUE(CUDA_ERROR_NOT_READY),
	VALUE(CUDA_ERROR_ILLEGAL_ADDRESS),
	VALUE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
	VALUE(CUDA_ERROR_CONTEXT_IS_DESTROYED),
	VALUE(CUDA_ERROR_ASSERT),
	VALUE(CUDA_ERROR_LAUNCH_FAILED),
	VALUE(CUDA_ERROR_NOT_SUPPORTED),
	VALUE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
	VALUE(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
	VALUE(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
	VALUE(CUDA_ERROR_CAPTURED_EVENT),
	VALUE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD),
	VALUE(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
	VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
	VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
	VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
	VALUE(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1),
	VALUE(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
	VALUE(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH),
	VALUE(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR),
	VALUE(CU_FUNC_ATTRIBUTE_NUM_REGS),
	VALUE(CU_FUNC_ATTRIBUTE_BINARY_VERSION),
	VALUE(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
	VALUE(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET),
	VALUE(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
	VALUE(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
	VALUE(CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
	VALUE(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
	VALUE(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION),
	VALUE(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT),
	VALUE(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT),
	VALUE(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION),
	VALUE(CU_GRAPH_NODE_TYPE_KERNEL),
	VALUE(CU_GRAPH_NODE_TYPE_GRAPH),
	VALUE(CU_GRAPH_NODE_TYPE_EMPTY),
	VALUE(CU_GRAPH_NODE_TYPE_CONDITIONAL),
	VALUE(CU_STREAM_CAPTURE_MODE_RELAXED),
	VALUE(CU_STREAM_CAPTURE_STATUS_NONE),
	VALUE(CU_STREAM_CAPTURE_STATUS_ACTIVE),
	VALUE(CU_STREAM_NON_BLOCKING),
	VALUE(CU_STREAM_WAIT_VALUE_GEQ),
	VALUE(CU_EVENT_DEFAULT),
	VALUE(CU_EVENT_DISABLE_TIMING),
	VALUE(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
	VALUE(CU_DEV_RESOURCE_TYPE_SM),
	VALUE(CU_LAUNCH_PARAM_END),
	VALUE(CU_LAUNCH_PARAM_BUFFER_POINTER),
	VALUE(CU_LAUNCH_PARAM_BUFFER_SIZE),
	VALUE(CU_STREAM_LEGACY),
	VALUE(CU_STREAM_PER_THREAD),
	VALUE(CU_MEMHOSTALLOC_PORTABLE),
	VALUE(CU_MEMHOSTALLOC_DEVICEMAP),
	VALUE(CU_JIT_OPTIMIZATION_LEVEL),
	VALUE(CU_JIT_TARGET),
	VALUE(CU_JIT_INPUT_PTX),
	{NULL, 0},
};

#ifndef KBN_VENDOR
int main(void)
{
	int wrong = 0, n = 0;

	for (; our_facts[n].what; n++) {
		if (!strcmp(our_facts[n].what, vendor_facts[n].what) &&
		    our_facts[n].value == vendor_facts[n].value)
			continue;
		printf("%s: ours %ld, vendor's %ld\n", our_facts[n].what, our_facts[n].value,
		       vendor_facts[n].value);
		wrong = 1;
	}
	printf("%d facts compared\n", n);
	return wrong;
}
#endif
