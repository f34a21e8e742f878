/*
 * app_soak.c - many launches.
 *
 *   app_soak run       LAUNCHES launches over SHAPES shapes
 *   app_soak geometry  LAUNCHES launches, each with a geometry of its own
 *   app_soak stuck     LAUNCHES launches behind a kernel that never ends
 *   app_soak forever   THREADS threads until killed; counts in the file COUNTER what was done:
 *                      per thread {launches begun, launches returned}
 *   app_soak cost      a warm loop of LAUNCHES launches over SHAPES shapes (1), for counting
 *                      instructions
 *
 * LIBRARY=1: through CUkernel handles, as the CUDA runtime does.
 */
#include "client.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static CUcontext context;
static CUmodule module;
static CUlibrary library;
static CUfunction f[4];

static void start(void)
{
	static const struct make_kernel kernels[] = {{.name = "soak_a_1us"},
						     {.name = "soak_b_2us"},
						     {.name = "soak_c_3us"},
						     {.name = "soak_d_4us"}};
	struct make_buffer image = make_cubin(90, kernels, 4, 256);

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	if (client_number("LIBRARY", 0)) {
		OK(cuLibraryLoadData(&library, image.at, NULL, NULL, 0, NULL, NULL, 0));
		for (int i = 0; i < 4; i++)
			OK(cuLibraryGetKernel((CUkernel *)&f[i], library, kernels[i].name));
		free(image.at);
		return;
	}
	OK(cuModuleLoadData(&module, image.at));
	for (int i = 0; i < 4; i++)
		OK(cuModuleGetFunction(&f[i], module, kernels[i].name));
	free(image.at);
}

static long resident_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void run(void)
{
	long launches = client_number("LAUNCHES", 100000), shapes = client_number("SHAPES", 200);
	long early = 0, limit = client_number("RSS_GROWTH_KB", 4096);
	int failed = 0;

	start();
	for (long i = 0; i < launches; i++) {
		long s = i % shapes;

		if (i == launches / 2)
			early = resident_kb();
		failed += cuLaunchKernel(f[s & 3], 1 + (unsigned)s, 1, 1, 64, 1, 1, 0, NULL, NULL,
					 NULL) != 0;
	}
	printf("failed %d\n", failed);
	printf("memory flat %d\n", resident_kb() - early < limit);
	DO(cuCtxSynchronize());
}

static void geometry(void)
{
	long launches = client_number("LAUNCHES", 100000);
	int failed = 0;

	start();
	for (long i = 0; i < launches; i++)
		failed += cuLaunchKernel(f[i & 3], 1 + (unsigned)(i % 65536),
					 1 + (unsigned)(i / 65536), 1, 64, 1, 1, 0, NULL, NULL,
					 NULL) != 0;
	printf("failed %d\n", failed);
	DO(cuCtxSynchronize());
}

/* Many shapes at once, a pause, and the same again. */
static void pauses(void)
{
	const unsigned shapes = (unsigned)client_number("SHAPES", 800);
	int failed = 0;

	start();
	for (int pass = 0; pass < 6; pass++) {
		for (unsigned s = 0; s < shapes; s++)
			failed += cuLaunchKernel(f[s & 3], 1 + s, 1, 1, 64, 1, 1, 0, NULL, NULL,
						 NULL) != 0;
		if (!pass)
			usleep(500000);
	}
	printf("failed %d\n", failed);
	DO(cuCtxSynchronize());
}

static void stuck(void)
{
	static const struct make_kernel kernel = {.name = "hang"};
	long launches = client_number("LAUNCHES", 100000), early = 0;
	struct make_buffer image = make_cubin(90, &kernel, 1, 128);
	CUfunction hang;
	int failed = 0;

	start();
	OK(cuModuleLoadData(&module, image.at));
	OK(cuModuleGetFunction(&hang, module, "hang"));
	OK(cuLaunchKernel(hang, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	for (long i = 0; i < launches; i++) {
		if (i == launches / 2)
			early = resident_kb();
		failed += cuLaunchKernel(f[i & 3], 1 + (unsigned)(i % 50), 1, 1, 64, 1, 1, 0, NULL,
					 NULL, NULL) != 0;
	}
	printf("failed %d\n", failed);
	printf("memory flat %d\n", resident_kb() - early < client_number("RSS_GROWTH_KB", 4096));
}

static _Atomic uint64_t *counter;

static void *forever_thread(void *arg)
{
	long me = (long)(intptr_t)arg;
	_Atomic uint64_t *mine = counter + 8 * me;

	cuCtxSetCurrent(context);
	for (unsigned i = 0;; i++) {
		mine[0]++;
		cuLaunchKernel(f[i & 3], 1 + i % 50, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
		mine[1]++;
	}
	return NULL;
}

static void forever(void)
{
	const char *path = getenv("COUNTER");
	long threads = client_number("THREADS", 2);
	int fd = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
	pthread_t t;

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		_exit(3);
	counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	start();
	for (long i = 0; i < threads; i++)
		pthread_create(&t, NULL, forever_thread, (void *)(intptr_t)i);
	for (;;)
		pause();
}

static void cost(void)
{
	long launches = client_number("LAUNCHES", 20000), shapes = client_number("SHAPES", 1);

	start();
	for (long i = 0; i < launches; i++) {
		long s = i % shapes;

		cuLaunchKernel(f[s & 3], 1 + (unsigned)s, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
	}
}

static const struct client_case cases[] = {{"run", run},         {"geometry", geometry},
					   {"pauses", pauses},   {"stuck", stuck},
					   {"forever", forever}, {"cost", cost}};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
