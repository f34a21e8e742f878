/*
 * app_threads.c - many threads: streams, short lives, loads and unloads under launches.
 *
 * Usage: app_threads CASE. ROUNDS scales a case. Prints totals only.
 */
#include "client.h"

#include <pthread.h>

#define THREADS 8
#define STREAMS 8

static CUcontext context;
static CUmodule module;
static CUfunction k2, none;
static _Atomic int failures;

static void start(void)
{
	struct make_buffer image = client_cubin();

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, image.at));
	OK(cuModuleGetFunction(&k2, module, "k_2us"));
	OK(cuModuleGetFunction(&none, module, "k_none_5us"));
	free(image.at);
}

static void on_threads(void *(*body)(void *), int n)
{
	pthread_t t[64];

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, body, (void *)(intptr_t)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("failures %d\n", failures);
	DO(cuCtxSynchronize());
}

static void *eight_streams(void *arg)
{
	unsigned me = (unsigned)(intptr_t)arg;
	long rounds = client_number("ROUNDS", 100);
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};
	CUstream s[STREAMS];

	failures += cuCtxSetCurrent(context) != 0;
	for (int i = 0; i < STREAMS; i++)
		failures += cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING) != 0;
	for (long r = 0; r < rounds; r++)
		for (int i = 0; i < STREAMS; i++)
			failures += cuLaunchKernel(k2, 1 + me, 1, 1, 32, 1, 1, 0, s[i], params,
						   NULL) != 0;
	for (int i = 0; i < STREAMS; i++) {
		failures += cuStreamSynchronize(s[i]) != 0;
		failures += cuStreamDestroy_v2(s[i]) != 0;
	}
	return NULL;
}

static void matrix(void)
{
	start();
	on_threads(eight_streams, THREADS);
}

/* All threads into one stream: brackets overlap. */
static CUstream shared;

static void *one_stream(void *arg)
{
	long rounds = client_number("ROUNDS", 400);

	(void)arg;
	failures += cuCtxSetCurrent(context) != 0;
	for (long r = 0; r < rounds; r++)
		failures += cuLaunchKernel(none, 2, 1, 1, 32, 1, 1, 0, shared, NULL, NULL) != 0;
	return NULL;
}

static void contended(void)
{
	start();
	OK(cuStreamCreate(&shared, CU_STREAM_NON_BLOCKING));
	on_threads(one_stream, THREADS);
}

static void *short_life(void *arg)
{
	(void)arg;
	failures += cuCtxSetCurrent(context) != 0;
	for (int i = 0; i < 5; i++)
		failures += cuLaunchKernel(none, 3, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, NULL,
					   NULL) != 0;
	return NULL;
}

static void churn(void)
{
	long rounds = client_number("ROUNDS", 40);

	start();
	for (long r = 0; r < rounds; r++) {
		pthread_t t[8];

		for (int i = 0; i < 8; i++)
			pthread_create(&t[i], NULL, short_life, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], NULL);
	}
	printf("failures %d\n", failures);
	DO(cuCtxSynchronize());
}

/* Each thread loads, launches and unloads its own code; handles go round among them. */
static void *load_unload(void *arg)
{
	unsigned me = (unsigned)(intptr_t)arg;
	long rounds = client_number("ROUNDS", 60);
	char name[32];
	struct make_kernel k = {.name = name};
	struct make_buffer image;

	snprintf(name, sizeof(name), "thread%u_2us", me % 4);
	image = make_cubin(90, &k, 1, 256);
	failures += cuCtxSetCurrent(context) != 0;
	for (long r = 0; r < rounds; r++) {
		CUmodule m;
		CUfunction f;

		failures += cuModuleLoadData(&m, image.at) != 0;
		failures += cuModuleGetFunction(&f, m, name) != 0;
		for (int i = 0; i < 10; i++)
			failures += cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != 0;
		failures += cuModuleUnload(m) != 0;
	}
	free(image.at);
	return NULL;
}

static void unload(void)
{
	start();
	on_threads(load_unload, THREADS);
}

/* Contexts come and go in every thread. */
static void *own_contexts(void *arg)
{
	long rounds = client_number("ROUNDS", 20);
	struct make_buffer image = client_cubin();

	(void)arg;
	for (long r = 0; r < rounds; r++) {
		CUcontext c;
		CUmodule m;
		CUfunction f;

		failures += cuCtxCreate_v2(&c, 0, 0) != 0;
		failures += cuModuleLoadData(&m, image.at) != 0;
		failures += cuModuleGetFunction(&f, m, "k_none_5us") != 0;
		for (int i = 0; i < 10; i++)
			failures += cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != 0;
		failures += cuCtxDestroy_v2(c) != 0;
	}
	free(image.at);
	return NULL;
}

static void contexts(void)
{
	start();
	on_threads(own_contexts, 4);
}

/* First use of everything by many threads at once. */
static void *first_use(void *arg)
{
	struct make_buffer image = client_cubin();
	CUcontext c;
	CUmodule m;
	CUfunction f;

	(void)arg;
	failures += cuInit(0) != 0;
	failures += cuDevicePrimaryCtxRetain(&c, 0) != 0;
	failures += cuCtxSetCurrent(c) != 0;
	failures += cuModuleLoadData(&m, image.at) != 0;
	failures += cuModuleGetFunction(&f, m, "k_none_5us") != 0;
	for (int i = 0; i < 50; i++)
		failures += cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != 0;
	return NULL;
}

static void first(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, first_use, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("failures %d\n", failures);
}

/* Threads that are to end at their next cancellation point: a call of the driver is none. */
static _Atomic int came_back;
static pthread_barrier_t together;

static void *cancelled_first(void *arg)
{
	const unsigned me = (unsigned)(intptr_t)arg;
	struct make_buffer image = client_cubin();
	CUcontext c;
	CUmodule m;
	CUfunction f;

	image.at[image.bytes - 1] ^= (char)me; /* one that nobody else loads */
	pthread_barrier_wait(&together);
	pthread_cancel(pthread_self());
	failures += cuInit(0) != 0;
	failures += cuDevicePrimaryCtxRetain(&c, 0) != 0;
	failures += cuCtxSetCurrent(c) != 0;
	failures += cuModuleLoadData(&m, image.at) != 0;
	failures += cuModuleGetFunction(&f, m, "k_none_5us") != 0;
	for (unsigned i = 0; i < 100; i++)
		failures += cuLaunchKernel(f, 1 + i + 100 * me, 1, 1, 32, 1, 1, 0, NULL, NULL,
					   NULL) != 0;
	came_back++;
	return NULL;
}

static void cancelled(void)
{
	pthread_barrier_init(&together, NULL, THREADS);
	on_threads(cancelled_first, THREADS);
	printf("came back %d\n", came_back);
}

/* All keys are taken: nobody tells the recorder that a thread ends. */
static void no_keys(void)
{
	pthread_key_t key;
	pthread_t t;
	int keys = 0;

	while (!pthread_key_create(&key, NULL))
		keys++;
	printf("keys taken %d\n", keys > 0);
	for (int i = 0; i < 100; i++) {
		pthread_create(&t, NULL, first_use, NULL);
		pthread_join(t, NULL);
	}
	printf("failures %d\n", failures);
}

static const struct client_case cases[] = {
	{"matrix", matrix},   {"contended", contended}, {"churn", churn},
	{"unload", unload},   {"contexts", contexts},   {"first", first},
	{"no_keys", no_keys}, {"cancelled", cancelled},
};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
