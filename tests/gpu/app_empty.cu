/*
 * app_empty.cu - the launch-bound worst case: empty kernels as fast as the host can. Prints
 * nanoseconds per launch over the whole loop. usage: app_empty LAUNCHES | app_empty serve
 * (for each line with a number on stdin: that many launches, answered with a list of one figure)
 * | app_empty swap SWAP.SO SECONDS (under the recorder: the calls alone, without it and with it by
 * turns of a millisecond; prints a list of pairs, ns without and ns with, and a null)
 */
#include <dlfcn.h>

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

/* ns per call, the queue never full */
static double calls(void)
{
	const int launches = 300;
	uint64_t start, end;

	CHECK(cudaDeviceSynchronize());
	start = app_now();
	for (int i = 0; i < launches; i++)
		empty<<<1, 1>>>();
	end = app_now();
	CHECK(cudaDeviceSynchronize());
	return (double)(end - start) / launches;
}

static int swap(const char *library, double seconds)
{
	void *swap_library = dlopen(library, RTLD_NOW);
	auto find = (int (*)(void))(swap_library ? dlsym(swap_library, "swap_find") : nullptr);
	auto to = (void (*)(int))(swap_library ? dlsym(swap_library, "swap_to") : nullptr);
	uint64_t end;

	loop(100);
	if (!find || !to || !find()) {
		std::fprintf(stderr, "app_empty: no recorder to take out\n");
		return 1;
	}
	loop(20000);
	end = app_now() + (uint64_t)(seconds * 1e9);
	std::printf("[");
	for (bool bare_outside = false; app_now() < end; bare_outside = !bare_outside) {
		double time[2] = {0, 0};

		for (int i = 0; i < 4; i++) { /* A B B A */
			bool bare = (i == 0 || i == 3) == bare_outside;

			to(bare);
			calls(); /* caches, predictors */
			time[!bare] += calls() / 2;
		}
		std::printf("[%.1f, %.1f], ", time[0], time[1]);
	}
	std::printf("null]\n");
	return 0;
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? std::atoi(argv[1]) : 100000;

	if (argc == 4 && std::strcmp(argv[1], "swap") == 0)
		return swap(argv[2], std::atof(argv[3]));

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
