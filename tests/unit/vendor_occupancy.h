/*
 * vendor_occupancy.h - asks the vendor's occupancy calculator, a header of the toolkit, about a launch.
 * What a driver would tell of the device (warps, registers and shared memory of an SM, the reserve per
 * block) is taken from our table; what the calculator itself knows of an architecture (blocks of an SM,
 * units of allocation, partitions, sizes of the carveout, barriers) is what it is asked for.
 */
#ifndef KBN_VENDOR_OCCUPANCY_H
#define KBN_VENDOR_OCCUPANCY_H

#include <cuda_occupancy.h>

#include "arch.h"

struct vendor_launch {
	int registers, threads, barriers, carveout; /* carveout -1 = the default */
	int64_t static_smem, dyn_smem;
};

/* False when the calculator does not take the question. */
static inline bool vendor_occupancy(cudaOccResult *r, const struct arch *a,
				    const struct vendor_launch *l)
{
	cudaOccDeviceProp prop = {0};
	cudaOccFuncAttributes f = {0};
	cudaOccDeviceState s = {0};

	prop.computeMajor = a->sm / 10;
	prop.computeMinor = a->sm % 10;
	prop.maxThreadsPerBlock = 1024;
	prop.maxThreadsPerMultiprocessor = a->warps_per_sm * 32;
	prop.regsPerBlock = a->registers_per_block;
	prop.regsPerMultiprocessor = a->registers_per_sm;
	prop.warpSize = 32;
	prop.sharedMemPerBlock = 48 * 1024;
	prop.sharedMemPerMultiprocessor = (size_t)a->smem_per_sm_kb * 1024;
	prop.sharedMemPerBlockOptin = (size_t)a->smem_optin_kb * 1024;
	prop.reservedSharedMemPerBlock = (size_t)a->smem_reserved_bytes;
	prop.numSms = 1;
	f.maxThreadsPerBlock = 1024;
	f.numRegs = l->registers;
	f.sharedSizeBytes = (size_t)l->static_smem;
	f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
	f.maxDynamicSharedSizeBytes = (size_t)l->dyn_smem;
	f.numBlockBarriers = l->barriers;
	s.carveoutConfig = l->carveout;
	return cudaOccMaxActiveBlocksPerMultiprocessor(r, &prop, &f, &s, l->threads,
						       (size_t)l->dyn_smem) == CUDA_OCC_SUCCESS;
}

#endif
