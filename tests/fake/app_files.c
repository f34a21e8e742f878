/*
 * app_files.c - what a program sees of its own descriptors while a recorder stores code and grows files.
 *
 * Usage: app_files CASE. The main thread loads image after image and launches shape after shape for
 * MS milliseconds; another thread, which must be the only one that opens anything, looks and counts.
 */
#include "client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define MANY  64
#define LOADS 3000

static _Atomic int stop;
static long wrong;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* One image that was never seen before, and eight shapes of its kernel. */
static void load_and_launch(int i)
{
	struct make_kernel kernel = {.registers = 16};
	struct make_buffer image;
	CUfunction f;
	CUmodule m;
	char name[32];

	snprintf(name, sizeof(name), "new_%d_1us", i);
	kernel.name = name;
	image = make_cubin(90, &kernel, 1, 8192);
	if (OK(cuModuleLoadData(&m, image.at)) || OK(cuModuleGetFunction(&f, m, name)))
		exit(3);
	for (unsigned k = 1; k <= 8; k++)
		OK(cuLaunchKernel(f, k, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	OK(cuModuleUnload(m));
	free(image.at);
}

static void start(void)
{
	CUcontext context;

	if (OK(cuInit(0)) || OK(cuDevicePrimaryCtxRetain(&context, 0)) ||
	    OK(cuCtxSetCurrent(context)))
		exit(3);
	load_and_launch(0);
}

static void work_beside(void *(*look)(void *))
{
	const uint64_t end = now_ms() + (uint64_t)client_number("MS", 1500);
	pthread_t t;
	int i = 1;

	pthread_create(&t, NULL, look, NULL);
	for (; now_ms() < end && i < LOADS; i++) {
		load_and_launch(i);
		usleep(500);
	}
	stop = 1;
	pthread_join(t, NULL);
	OK(cuCtxSynchronize());
	printf("enough done %d\n", i > 10);
}

/* Each number is the lowest free one. */
static void *take_numbers(void *arg)
{
	const int lowest = open("/dev/null", O_RDONLY);

	close(lowest);
	while (!stop) {
		int fd[2];

		for (int i = 0; i < 2; i++)
			fd[i] = open("/dev/null", O_RDONLY);
		wrong += fd[0] != lowest || fd[1] != lowest + 1;
		for (int i = 0; i < 2; i++)
			close(fd[i]);
	}
	return arg;
}

static void numbers(void)
{
	start();
	work_beside(take_numbers);
	printf("wrong numbers %ld\n", wrong);
}

/* The same from before the start: of all that is done with files, nothing is seen. */
static void numbers_early(void)
{
	pthread_t t;

	pthread_create(&t, NULL, take_numbers, NULL);
	usleep(10000);
	start();
	for (int i = 1; i < 200; i++)
		load_and_launch(i);
	stop = 1;
	pthread_join(t, NULL);
	printf("wrong numbers %ld\n", wrong);
}

static long count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	long n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static void *scan_table(void *arg)
{
	const long before = count_open();

	while (!stop)
		wrong += count_open() != before;
	return arg;
}

static void scan(void)
{
	start();
	work_beside(scan_table);
	printf("strangers in the table %ld\n", wrong);
}

static int count_numbers(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void *make_children(void *arg)
{
	const int before = count_numbers();

	while (!stop) {
		int status = 0;
		pid_t pid = fork();

		if (!pid)
			_exit(count_numbers() == before ? 0 : 1);
		wrong += waitpid(pid, &status, 0) != pid || status != 0;
	}
	return arg;
}

static void inherit(void)
{
	start();
	work_beside(make_children);
	printf("children with more %ld\n", wrong);
}

/* A daemon, again and again. */
static void *close_all(void *arg)
{
	while (!stop)
		for (int fd = 3; fd < MANY; fd++)
			close(fd);
	return arg;
}

static void closer(void)
{
	start();
	work_beside(close_all);
}

/* The program has used up its own numbers. */
static void exhausted(void)
{
	const struct rlimit limit = {MANY, MANY};
	int n = 0;

	setrlimit(RLIMIT_NOFILE, &limit);
	start();
	while (open("/dev/null", O_RDONLY) >= 0)
		n++;
	printf("some were free %d, then %d\n", n > 0, errno == EMFILE);
	for (int i = 1; i < 200; i++)
		load_and_launch(i);
	OK(cuCtxSynchronize());
}

static int count_tasks(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n - 2; /* . and .. */
}

/* No more threads than before: such a process may fork without a thought, or leave a namespace. */
static void lone(void)
{
	const int before = count_tasks();

	DO(cuInit(0));
	for (int i = 0; i < 1000 && count_tasks() != before; i++)
		usleep(1000);
	printf("more threads %d\n", count_tasks() - before);
}

static const struct client_case cases[] = {
	{"numbers", numbers}, {"numbers_early", numbers_early},
	{"scan", scan},       {"inherit", inherit},
	{"closer", closer},   {"exhausted", exhausted},
	{"lone", lone},
};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
