/*
 * app_empty.cu - the launch-bound worst case: empty kernels as fast as the host can. Prints
 * nanoseconds per launch over the whole loop. usage: app_empty LAUNCHES
 */
#include "app.h"

__global__ void empty(void)
{
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? std::atoi(argv[1]) : 100000;
	uint64_t start;

	for (int i = 0; i < 100; i++)
		empty<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	start = app_now();
	for (int i = 0; i < launches; i++)
		empty<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	std::printf("value %.1f launches %d\n", (double)(app_now() - start) / launches,
		    launches + 100);
	return 0;
}
