/*
 * app_process.c - how processes start others, change, and end.
 *
 * Usage: app_process CASE. Forked children try to use the driver, as careless programs do, and must
 * see what they see without us; the parent's recording must not notice them.
 */
#include "client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

extern char **environ;

static CUcontext context;
static CUmodule module;
static CUfunction none, hang, late;

static int quick(unsigned grid)
{
	return (int)cuLaunchKernel(none, grid, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
}

static void start(void)
{
	struct make_buffer image = client_cubin();

	if (OK(cuInit(0)) || OK(cuDevicePrimaryCtxRetain(&context, 0)) ||
	    OK(cuCtxSetCurrent(context)) || OK(cuModuleLoadData(&module, image.at)) ||
	    OK(cuModuleGetFunction(&none, module, "k_none_5us")) ||
	    OK(cuModuleGetFunction(&hang, module, "k_hang")) ||
	    OK(cuModuleGetFunction(&late, module, "k_20us")))
		_exit(3);
	for (int i = 0; i < 20; i++)
		OK(quick(1));
}

static void reap(pid_t pid, const char *what)
{
	int status = 0;

	waitpid(pid, &status, 0);
	printf("%s %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- children ---- */

static void child_work(void)
{
	int result = 0;

	for (int i = 0; i < 50; i++)
		result = quick(1);
	printf("child launch %d init %d\n", result, (int)cuInit(0));
}

static void forks(void)
{
	pid_t pid;

	start();
	fflush(stdout);
	if (!(pid = fork())) {
		child_work();
		exit(5);
	}
	reap(pid, "exit");
	if (!(pid = fork())) {
		child_work();
		fflush(stdout);
		_exit(6);
	}
	reap(pid, "_exit");
	if (!(pid = fork())) {
		execlp("true", "true", NULL);
		_exit(7);
	}
	reap(pid, "exec");
	if (!(pid = vfork())) {
		execlp("true", "true", NULL);
		_exit(7);
	}
	reap(pid, "vfork exec");
	if (!(pid = vfork()))
		_exit(8);
	reap(pid, "vfork _exit");
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		int result = quick(1);

		syscall(SYS_exit_group, result);
	}
	reap(pid, "clone");
	if (!posix_spawnp(&pid, "sh", NULL, NULL, (char *[]){"sh", "-c", "exit 9", NULL}, environ))
		reap(pid, "spawn");
	printf("system %d\n", WEXITSTATUS(system("exit 4")));
	for (int i = 0; i < 10; i++)
		OK(quick(1));
	DO(cuCtxSynchronize());
}

/* The parent never used CUDA; each child does, on its own, and is a recording of its own. */
static void fork_first(void)
{
	pid_t pid[3];

	fflush(stdout);
	for (int i = 0; i < 3; i++)
		if (!(pid[i] = fork())) {
			start();
			for (int k = 0; k < 10 * i; k++)
				OK(quick(2));
			cuCtxSynchronize();
			exit(0);
		}
	for (int i = 0; i < 3; i++)
		reap(pid[i], "child");
}

static _Atomic int stop;

static void *launching(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(context);
	while (!stop)
		quick(3);
	return NULL;
}

/* fork while another thread is somewhere inside a hook. */
static void fork_loop(void)
{
	long rounds = client_number("ROUNDS", 300);
	int bad = 0;
	pthread_t t;

	start();
	fflush(stdout);
	pthread_create(&t, NULL, launching, NULL);
	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			int result = quick(1);

			if (i & 1)
				_exit(result);
			exit(result);
		}
		waitpid(pid, &status, 0);
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 3;
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("bad children %d\n", bad);
	DO(cuCtxSynchronize());
}

/* Not allowed, and done: the child runs the exit handlers in its parent's memory. */
static void vfork_exit(void)
{
	pid_t pid;

	start();
	usleep((useconds_t)client_number("WAIT_US", 0));
	fflush(stdout);
	if (!(pid = vfork()))
		exit(0);
	reap(pid, "vfork exit");
	for (int i = 0; i < 10; i++)
		OK(quick(1));
	DO(cuCtxSynchronize());
}

/* A program that becomes another one in the middle. */
static void exec_over(void)
{
	start();
	fflush(stdout);
	execlp("echo", "echo", "replaced", NULL);
}

/* ---- ends ---- */

static void end_return(void)
{
	start();
}

static void end_exit(void)
{
	start();
	DO(cuCtxSynchronize());
	exit(21);
}

static void end_exit_now(void)
{
	start();
	fflush(stdout);
	_exit(22);
}

static void end_quick(void)
{
	start();
	fflush(stdout);
	quick_exit(23);
}

static void end_abort(void)
{
	start();
	fflush(stdout);
	abort();
}

static void end_kill(void)
{
	start();
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

static void end_term(void)
{
	start();
	fflush(stdout);
	kill(getpid(), SIGTERM);
}

static void end_segv(void)
{
	start();
	fflush(stdout);
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void launch_at_exit_early(void)
{
	printf("registered before cuInit: launch %d\n", quick(4));
}

static void launch_at_exit_late(void)
{
	printf("registered after cuInit: launch %d\n", quick(4));
}

static void end_handlers(void)
{
	atexit(launch_at_exit_early);
	start();
	atexit(launch_at_exit_late);
	exit(24);
}

/* Work that never ends: the exit must not wait for it for ever. */
static void end_hang(void)
{
	uint64_t a = 1;
	void *params[] = {&a};

	start();
	DO(cuCtxSynchronize());
	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernel(hang, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	exit(25);
}

static void *launch_forever(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(context);
	for (;;)
		quick(5);
	return NULL;
}

/* exit while threads are launching. */
static void end_threads(void)
{
	pthread_t t;

	start();
	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, launch_forever, NULL);
	usleep(20000);
	exit(26);
}

/* A host that waits for all its children at its end, and one with a handler for them. */
static _Atomic int children;

static void on_child(int signal_number)
{
	(void)signal_number;
	children++;
}

static void reap_all(void)
{
	int n = 0;

	while (wait(NULL) > 0)
		n++;
	printf("children reaped %d signals %d\n", n, children);
}

static void end_reaper(void)
{
	struct sigaction act = {.sa_handler = on_child};

	sigaction(SIGCHLD, &act, NULL);
	atexit(reap_all); /* runs after the recorder's handler */
	start();
	exit(27);
}

/* ---- surroundings ---- */

/* A daemon closes every descriptor, then opens its own over them. */
static void close_fds(void)
{
	char name[32], text[32];
	int fd[64];

	start();
	fflush(stdout);
	for (int i = 3; i < 256; i++)
		close(i);
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "own-%d", i);
		fd[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	}
	for (int i = 0; i < 2000; i++)
		OK(cuLaunchKernel(none, 1 + (unsigned)i, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	for (int i = 0; i < 64; i++) {
		int n = snprintf(text, sizeof(text), "mine %d", i);

		if (write(fd[i], text, (size_t)n) != n)
			printf("write failed\n");
	}
	DO(cuCtxSynchronize());
	for (int i = 0; i < 64; i++) {
		char back[64] = "";
		int n = snprintf(text, sizeof(text), "mine %d", i);

		if (pread(fd[i], back, sizeof(back), 0) != n || memcmp(back, text, (size_t)n) != 0)
			printf("file %d is not as it was left\n", i);
	}
}

/* Descriptor 2 is closed and becomes a file of the program, before cuInit or after it. */
static void use_stderr(bool early)
{
	const char text[] = "mine";
	char back[256] = "";
	int fd;

	if (!early)
		start();
	close(2);
	fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (early)
		start();
	else
		cuInit(0);
	if (write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		printf("write failed\n");
	printf("file %d holds %zd bytes: %s\n", fd, pread(fd, back, sizeof(back) - 1, 0), back);
}

static void stderr_early(void)
{
	use_stderr(true);
}

static void stderr_late(void)
{
	use_stderr(false);
}

static void descriptors(void)
{
	int before = dup(0), after;

	close(before);
	start();
	usleep(200000); /* code is being stored by another thread meanwhile */
	after = dup(0);
	printf("no descriptor kept %d\n", before == after);
	DO(cuCtxSynchronize());
}

/* errno and the signal mask across everything. */
static void quiet_state(void)
{
	sigset_t before, after;
	int changed = 0;

	sigprocmask(SIG_SETMASK, NULL, &before);
	errno = 77;
	start();
	for (int i = 0; i < 100; i++) {
		errno = 78;
		quick(1 + (unsigned)i);
		changed += errno != 78;
	}
	sigprocmask(SIG_SETMASK, NULL, &after);
	printf("errno changed %d mask changed %d\n", changed,
	       memcmp(&before, &after, sizeof(before)) != 0);
}

/* ---- small stacks ---- */

static ucontext_t main_context, fiber_context;

static void fiber(void)
{
	for (int i = 0; i < 500; i++)
		quick(1 + (unsigned)i % 7);
}

/* The first launch of a kernel, with all that is asked about it then. */
static void first_fiber(void)
{
	uint64_t a = 1;
	void *params[] = {&a, &a};

	OK(cuLaunchKernel(late, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	fiber();
}

static void on_small_stack(void (*run)(void))
{
	size_t page = 4096, bytes = 16384;
	char *stack = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	start();
	mprotect(stack, page, PROT_NONE);
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = stack + page;
	fiber_context.uc_stack.ss_size = bytes;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, run, 0);
	swapcontext(&main_context, &fiber_context);
	DO(cuCtxSynchronize());
}

static void fibers(void)
{
	on_small_stack(fiber);
}

static void fibers_first(void)
{
	on_small_stack(first_fiber);
}

/* ---- a jump out of a launch ---- */

static sigjmp_buf jump;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	siglongjmp(jump, 1);
}

static __attribute__((noinline)) int launch_deeper(int depth)
{
	volatile char room[4096];
	int result;

	room[0] = 1;
	result = depth ? launch_deeper(depth - 1) : quick(3);
	return result + room[0] - 1;
}

/* With FAKE_LAUNCH_US so large that the alarm comes in the middle of a launch. */
static void jumps(void)
{
	struct itimerval once = {{0, 0}, {0, 2000}};

	start();
	signal(SIGALRM, on_alarm);
	if (!sigsetjmp(jump, 1)) {
		setitimer(ITIMER_REAL, &once, NULL);
		quick(2);
	}
	/* The frame of that launch lies above these, where nothing overwrites it. */
	for (int i = 0; i < 100; i++)
		OK(launch_deeper(3));
	for (int i = 0; i < 10; i++)
		OK(quick(4));
}

/* ---- a handler that launches, on a stack above that of the launch which it interrupts ---- */

#define HALF (256u << 10)

static char *stacks;
static volatile sig_atomic_t handled;

static void launch_too(int sig)
{
	(void)sig;
	quick(7);
	handled = 1;
}

static void *interrupted(void *arg)
{
	const stack_t above = {.ss_sp = stacks + HALF, .ss_size = HALF};
	const struct itimerval once = {{0, 0}, {0, 5000}};
	sigset_t alarms;

	sigaltstack(&above, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 12; i++) {
		handled = 0;
		setitimer(ITIMER_REAL, &once, NULL);
		OK(quick(2)); /* FAKE_LAUNCH_US: the alarm comes in the middle */
		while (!handled)
			usleep(1000);
	}
	return arg;
}

static void handlers(void)
{
	const struct sigaction action = {.sa_handler = launch_too, .sa_flags = SA_ONSTACK};
	pthread_attr_t attr;
	sigset_t alarms;
	pthread_t t;

	start();
	stacks = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarms, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stacks, HALF);
	pthread_create(&t, &attr, interrupted, NULL);
	pthread_join(t, NULL);
}

/* ---- the loader's lock ---- */

static void *loader(void *arg)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/plugin_first.so", (const char *)arg);
	while (!stop) {
		void *handle = dlopen(path, RTLD_NOW);

		if (handle)
			dlclose(handle);
	}
	return NULL;
}

static void constructor(void)
{
	const char *folder = getenv("PLUGINS");
	char path[4096];
	pthread_t t;
	void *handle;

	pthread_create(&t, NULL, loader, (void *)(uintptr_t)folder);
	snprintf(path, sizeof(path), "%s/plugin_constructor.so", folder);
	handle = dlopen(path, RTLD_NOW);
	printf("constructor %s\n", handle ? "ran" : dlerror());
	stop = 1;
	pthread_join(t, NULL);
	DO(cuCtxSynchronize());
}

static const struct client_case cases[] = {
	{"forks", forks},
	{"fork_first", fork_first},
	{"fork_loop", fork_loop},
	{"vfork_exit", vfork_exit},
	{"exec_over", exec_over},
	{"end_return", end_return},
	{"end_exit", end_exit},
	{"end_exit_now", end_exit_now},
	{"end_quick", end_quick},
	{"end_abort", end_abort},
	{"end_kill", end_kill},
	{"end_term", end_term},
	{"end_segv", end_segv},
	{"end_handlers", end_handlers},
	{"end_hang", end_hang},
	{"end_threads", end_threads},
	{"end_reaper", end_reaper},
	{"close_fds", close_fds},
	{"stderr_early", stderr_early},
	{"stderr_late", stderr_late},
	{"descriptors", descriptors},
	{"quiet_state", quiet_state},
	{"fibers", fibers},
	{"fibers_first", fibers_first},
	{"jumps", jumps},
	{"handlers", handlers},
	{"constructor", constructor},
};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
