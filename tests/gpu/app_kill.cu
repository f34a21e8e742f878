/*
 * app_kill.cu - launches without end from several threads and counts each successful launch in a
 * file mapped shared, which outlives a SIGKILL. usage: app_kill FILE THREADS
 * FILE is THREADS counters of 64 bytes, each beginning with a 64-bit count.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "app.h"

__global__ void tick(unsigned *word)
{
	*word += 1;
}

static void work(volatile uint64_t *counter, unsigned *word)
{
	cudaStream_t s;

	CHECK(cudaStreamCreate(&s));
	for (;;) {
		tick<<<1, 1, 0, s>>>(word);
		CHECK(cudaGetLastError());
		*counter = *counter + 1;
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? std::atoi(argv[2]) : 4;
	size_t bytes = (size_t)threads * 64;
	std::vector<std::thread> all;
	unsigned *words;
	int fd;
	char *map;

	if (argc < 2 || (fd = open(argv[1], O_RDWR | O_CREAT, 0600)) < 0 ||
	    ftruncate(fd, (off_t)bytes) != 0)
		return 2;
	map = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 2;
	CHECK(cudaMalloc(&words, threads * 128));
	CHECK(cudaMemset(words, 0, threads * 128));
	CHECK(cudaDeviceSynchronize());
	for (int t = 0; t < threads; t++)
		all.emplace_back(work, (volatile uint64_t *)(map + t * 64), words + t * 32);
	for (auto &t : all)
		t.join();
	return 0;
}
