/*
 * cupti_inject.h - what the two injected libraries of tests/gpu share: opening CUPTI, and the name
 * of the file to write. They are loaded by the driver itself through CUDA_INJECTION64_PATH, so they
 * see a program from another side than kbn does. No CUPTI headers: the few types are restated.
 *
 *   KBN_TEST_CUPTI  path of libcupti.so (else the loader's search)
 *   KBN_TEST_FILE   prefix of the result file; the process id is appended
 */
#ifndef KBN_CUPTI_INJECT_H
#define KBN_CUPTI_INJECT_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void *cupti_library(void)
{
	const char *path = getenv("KBN_TEST_CUPTI");
	/* PyTorch brings a copy of its own; two copies in one process would be in each other's way */
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);

	if (!lib)
		lib = dlopen(path && *path ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fprintf(stderr, "tests/gpu: no CUPTI: %s\n", dlerror());
	return lib;
}

static inline FILE *cupti_result_file(void)
{
	const char *prefix = getenv("KBN_TEST_FILE");
	char path[4096];

	if (!prefix)
		return NULL;
	snprintf(path, sizeof(path), "%s.%d", prefix, (int)getpid());
	return fopen(path, "w");
}

#endif
