/*
 * app_empty.cu - the launch-bound worst case: empty kernels as fast as the host can. Prints
 * nanoseconds per launch over the whole loop. usage: app_empty LAUNCHES | app_empty serve
 * (for each line with a number on stdin: that many launches, answered with a list of one figure)
 */
#include <cstring>

#include "app.h"

__global__ void empty(void)
{
}

static double loop(int launches)
{
	uint64_t start = app_now();

	for (int i = 0; i < launches; i++)
		empty<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	return (double)(app_now() - start) / launches;
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? std::atoi(argv[1]) : 100000;

	loop(100);
	if (argc < 2 || std::strcmp(argv[1], "serve") != 0) {
		std::printf("value %.1f launches %d\n", loop(launches), launches + 100);
		return 0;
	}
	loop(20000);
	std::printf("ready\n");
	std::fflush(stdout);
	while (std::scanf("%d", &launches) == 1) {
		std::printf("[%.1f]\n", loop(launches));
		std::fflush(stdout);
	}
	return 0;
}
