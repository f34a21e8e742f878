/*
 * app_graph.cu - captures 20 launches into a graph and replays it 1,000 times. Prints the result,
 * the launches made into the capture and the replays.
 */
#include "app.h"

#define NODES   20
#define REPLAYS 1000

__global__ void step(unsigned *word)
{
	word[threadIdx.x] = word[threadIdx.x] * 1664525u + 1013904223u;
}

int main(void)
{
	unsigned *words, host[64], sum = 0;
	cudaStream_t s;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaMalloc(&words, sizeof(host)));
	CHECK(cudaMemset(words, 0, sizeof(host)));
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < NODES; i++)
		step<<<1, 64, 0, s>>>(words);
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < REPLAYS; i++)
		CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaMemcpy(host, words, sizeof(host), cudaMemcpyDeviceToHost));
	for (unsigned w : host)
		sum = sum * 31 + w;
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	std::printf("sum %08x launches %d graph_launches %d nodes %d\n", sum, NODES, REPLAYS,
		    NODES * REPLAYS);
	return 0;
}
