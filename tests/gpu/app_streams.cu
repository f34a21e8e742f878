/*
 * app_streams.cu - 8 threads x 8 streams, launches from all of them at once; with
 * --default-stream per-thread (as app_ptds) each thread uses its own default stream in addition.
 * Prints its result and the number of launches it made.
 */
#include <thread>
#include <vector>

#include "app.h"

#define THREADS 8
#define STREAMS 8
#define ROUNDS  100

__global__ void add(unsigned *word, unsigned v)
{
	if (threadIdx.x == 0)
		atomicAdd(word, v);
}

static void work(unsigned *words, int thread, int *launches)
{
	cudaStream_t s[STREAMS];

	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamCreate(&s[i]));
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < STREAMS; i++) {
			add<<<1 + i, 32 * (1 + thread), 0, s[i]>>>(words + thread * 32 + i, r);
			CHECK(cudaGetLastError());
			++*launches;
		}
		add<<<1, 32>>>(words + thread * 32 + STREAMS, r);
		CHECK(cudaGetLastError());
		++*launches;
	}
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamSynchronize(s[i]));
		CHECK(cudaStreamDestroy(s[i]));
	}
}

int main(void)
{
	unsigned *words, host[THREADS * 32], sum = 0;
	int launches[THREADS] = {}, total = 0;
	std::vector<std::thread> threads;

	CHECK(cudaMalloc(&words, sizeof(host)));
	CHECK(cudaMemset(words, 0, sizeof(host)));
	CHECK(cudaDeviceSynchronize());
	for (int t = 0; t < THREADS; t++)
		threads.emplace_back(work, words, t, &launches[t]);
	for (auto &t : threads)
		t.join();
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, words, sizeof(host), cudaMemcpyDeviceToHost));
	for (unsigned w : host)
		sum = sum * 31 + w;
	for (int n : launches)
		total += n;
	std::printf("sum %08x launches %d\n", sum, total);
	return 0;
}
