/*
 * calibrate_cupti.c - asks CUPTI, where it is installed, for the time of an empty kernel: what the
 * event bias is measured against. Runs in a forked child with a time limit; the answer comes back
 * through a pipe. Needs no CUPTI headers: the few types are restated here.
 */
#include "calibrate.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate_gpu.h"
#include "calibrate_ptx.h"

#define LIMIT_MS 20000
#define LAUNCHES 200
#define BUFFER   (1u << 20)

/* Activity kinds and the part of a kernel record that has not moved since CUDA 8. */
enum { ACTIVITY_KERNEL = 3, ACTIVITY_CONCURRENT_KERNEL = 10 };

struct activity_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t partitioned_requested, partitioned_executed;
	uint64_t start_ns, end_ns;
};

typedef void (*buffer_requested)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*buffer_completed)(CUcontext c, uint32_t stream, uint8_t *buffer, size_t bytes,
				 size_t valid);

static struct {
	int (*register_callbacks)(buffer_requested, buffer_completed);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*flush)(uint32_t flags);
	int (*next)(uint8_t *buffer, size_t valid, struct activity_kernel **record);
} cupti;

static double times_us[4 * LAUNCHES];
static size_t times_n;

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*bytes = *buffer ? BUFFER : 0;
	*max_records = 0;
}

static void take_buffer(CUcontext c, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct activity_kernel *k = NULL;

	(void)c;
	(void)stream;
	(void)bytes;
	while (cupti.next(buffer, valid, &k) == 0 &&
	       times_n < sizeof(times_us) / sizeof(times_us[0]))
		if (k->kind == ACTIVITY_KERNEL || k->kind == ACTIVITY_CONCURRENT_KERNEL)
			times_us[times_n++] = (double)(k->end_ns - k->start_ns) / 1e3;
	free(buffer);
}

static bool cupti_open(void)
{
	static const char *const names[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	};
	void *lib = NULL;

	for (size_t i = 0; !lib && i < sizeof(names) / sizeof(names[0]); i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&cupti.register_callbacks = dlsym(lib, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = dlsym(lib, "cuptiActivityEnable");
	*(void **)&cupti.disable = dlsym(lib, "cuptiActivityDisable");
	*(void **)&cupti.flush = dlsym(lib, "cuptiActivityFlushAll");
	*(void **)&cupti.next = dlsym(lib, "cuptiActivityGetNextRecord");
	return cupti.register_callbacks && cupti.enable && cupti.disable && cupti.flush &&
	       cupti.next;
}

static double empty_us(int ordinal)
{
	struct gpu g;
	struct err e;
	CUmodule module = NULL;
	CUfunction f;
	char *ptx = calibrate_ptx_basic();
	bool ok = ptx && gpu_open(&g, ordinal, &e) == 0 && gpu_load(&g, ptx, &module) &&
		  gpu_function(&g, module, "empty", &f);

	times_n = 0;
	for (int i = 0; ok && i < 50; i++) /* warm up, not recorded */
		ok = gpu_launch(&g, f, 1, 1, NULL) && GPU(&g, cuStreamSynchronize, g.stream);
	ok = ok && cupti.enable(ACTIVITY_CONCURRENT_KERNEL) == 0;
	for (int i = 0; ok && i < LAUNCHES; i++)
		ok = gpu_launch(&g, f, 1, 1, NULL) && GPU(&g, cuStreamSynchronize, g.stream);
	ok = ok && cupti.flush(1) == 0 && cupti.disable(ACTIVITY_CONCURRENT_KERNEL) == 0;
	free(ptx);
	return ok && times_n >= LAUNCHES / 2 ? gpu_median(times_us, times_n) : 0.0;
}

/* The child: one double per device to the pipe; its death at any point only shortens the answer. */
static void child(int fd)
{
	struct err e;
	int n;

	if (!cupti_open() || cupti.register_callbacks(give_buffer, take_buffer) != 0)
		_exit(3);
	n = calibrate_count(&e);
	for (int i = 0; i < n && i < CALIBRATE_DEVICES; i++) {
		double us = empty_us(i);

		if (write(fd, &us, sizeof(us)) != (ssize_t)sizeof(us))
			break;
	}
	_exit(0);
}

static void receive(struct calibrate_cupti *c, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (c->devices < CALIBRATE_DEVICES && poll(&p, 1, LIMIT_MS) > 0) {
		double us;

		if (read(fd, &us, sizeof(us)) != (ssize_t)sizeof(us))
			break;
		c->empty_us[c->devices++] = us;
	}
}

void calibrate_cupti(struct calibrate_cupti *c)
{
	int fd[2], status = 0;
	pid_t pid;

	memset(c, 0, sizeof(*c));
	snprintf(c->why, sizeof(c->why), "CUPTI is not installed, in use, or not permitted here");
	if (pipe(fd) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		child(fd[1]);
	}
	close(fd[1]);
	if (pid > 0) {
		receive(c, fd[0]);
		kill(pid, SIGKILL); /* it has nothing to finish */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
}
