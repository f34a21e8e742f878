/*
 * kbn_elf.h - what the recorder and the analyzer both have to know of CUDA's ELF files.
 */
#ifndef KBN_CUDA_ELF_H
#define KBN_CUDA_ELF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is a section of type `sh_type` memory that a kernel gets and the file does not hold? Then its offset and
 * size say nothing about the file. ptxas writes NOBITS; what a device linker made (nvcc -rdc, relocatable
 * output) has types of NVIDIA's own for global, local, shared and reserved shared memory. Initialised
 * global memory (0x70000008) does lie in the file.
 */
static inline bool kbn_elf_is_memory(uint32_t sh_type)
{
	return sh_type == 8 || sh_type == 0x70000007 || sh_type == 0x70000009 ||
	       sh_type == 0x7000000a || sh_type == 0x70000015;
}

#endif
