# What single unit tests need beyond the common flags.

# The vendor's occupancy calculator is an oracle where a toolkit is installed.
CUDA_OCCUPANCY := $(firstword $(wildcard $(addsuffix ../include/cuda_occupancy.h,$(dir $(NVCC)))))
$(BUILD)/tests/unit/test_occupancy.o $(BUILD)/tests/unit/test_occupancy_sweep.o: EXTRA_CFLAGS := \
	$(if $(CUDA_OCCUPANCY),-DHAVE_CUDA_OCCUPANCY -isystem $(dir $(CUDA_OCCUPANCY)))
