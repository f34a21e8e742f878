/*
 * app_timing.c - launches whose times are hard to get: behind other work, never behind other work,
 * in clusters, and unfinished at the end.
 */
#include "client_program.h"

static CUfunction k200, hang;

static void begin(void)
{
	start();
	DO(cuModuleGetFunction(&k200, module, "k_200us"));
	DO(cuModuleGetFunction(&hang, module, "k_hang"));
	DO(cuCtxSynchronize());
}

static int launch1(CUfunction f)
{
	uint64_t a = 1;
	void *params[] = {&a};

	return (int)cuLaunchKernel(f, 8, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
}

/* The GPU has something to do for longer than the host needs, even one that is taken off its core. */
static void behind(void)
{
	begin();
	for (int i = 0; i < 1000; i++)
		OK(launch1(k200));
	for (int i = 0; i < 100; i++)
		OK(launch2(NULL));
	DO(cuCtxSynchronize());
}

/* The GPU waits for every launch. */
static void ahead(void)
{
	begin();
	for (int i = 0; i < 100; i++) {
		OK(launch2(NULL));
		OK(cuCtxSynchronize());
	}
}

/* One shape, each launch alone on the GPU; `more` = a second attribute. */
static void cluster_launches(unsigned blocks, const CUlaunchAttribute *more)
{
	CUlaunchAttribute attributes[2];
	CUlaunchConfig config = {.gridDimX = 16 * blocks,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 64,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = attributes,
				 .numAttrs = more ? 2 : 1};

	memset(attributes, 0, sizeof(attributes));
	attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	attributes[0].value.clusterDim.x = blocks;
	attributes[0].value.clusterDim.y = attributes[0].value.clusterDim.z = 1;
	if (more)
		attributes[1] = *more;
	for (int i = 0; i < 100; i++) {
		/* Time enough to learn what the first pairs read. */
		if (i == 10)
			usleep(300000);
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
		OK(cuCtxSynchronize());
	}
}

static void cluster(void)
{
	begin();
	cluster_launches(8, NULL);
}

static void cluster_large(void)
{
	begin();
	cluster_launches(16, NULL);
}

static void cluster_preferred(void)
{
	CUlaunchAttribute larger = {.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION};

	larger.value.clusterDim.x = 4;
	larger.value.clusterDim.y = larger.value.clusterDim.z = 1;
	begin();
	cluster_launches(2, &larger);
}

static void cluster_cooperative(void)
{
	CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};

	cooperative.value.cooperative = 1;
	begin();
	cluster_launches(2, &cooperative);
}

/* Work for seconds, and nobody waits for it. */
static void unfinished(void)
{
	begin();
	OK(launch2(NULL));
	DO(cuCtxSynchronize());
	OK(launch1(hang));
	for (int i = 0; i < 20; i++)
		OK(launch2(NULL));
}

static const struct client_case cases[] = {{"behind", behind},
					   {"ahead", ahead},
					   {"cluster", cluster},
					   {"cluster_large", cluster_large},
					   {"cluster_preferred", cluster_preferred},
					   {"cluster_cooperative", cluster_cooperative},
					   {"unfinished", unfinished}};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
