/* unit: shim */
/*
 * test_filer.c - the thread that touches files: its table, waits that end, files that cannot be read.
 */
#include "kbn_test.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "filer.h"
#include "writer.h"

static char dir[256];

/* Each test has a recording of its own, and so a thread of its own. */
static int setup(void **state)
{
	const char *why;
	char run[300];

	(void)state;
	unsetenv("KBN_FAULT");
	temp_dir(dir);
	snprintf(run, sizeof(run), "%s/run", dir);
	return kbn_writer_open(run, 64, &why);
}

static int teardown(void **state)
{
	(void)state;
	unsetenv("KBN_FAULT");
	remove_dir(dir);
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct looking {
	struct kbn_job job;
	int pipe_end;   /* of the program */
	bool seen;      /* the pipe is in the table of who does the job */
	_Atomic int fd; /* opened there, left open */
} looking;

static void look(struct kbn_job *job)
{
	struct looking *l = (struct looking *)job;

	l->seen = fcntl(l->pipe_end, F_GETFD) >= 0;
	l->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void look_at(int pipe_end)
{
	memset(&looking, 0, sizeof(looking));
	looking.job.run = look;
	looking.pipe_end = pipe_end;
}

static void test_table_of_its_own(void **state)
{
	int ends[2], writer;
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	writer = fcntl(ends[1], F_DUPFD, 100); /* files of the thread's own have low numbers */
	close(ends[1]);
	look_at(writer);
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	if (looking.seen)
		skip(); /* Linux before 5.9 */
	assert_int_equal(looking.fd, 0);
	assert_int_equal(dup(0), ends[1]);
	close(ends[1]);
	/* No copy of the write end is left anywhere: the reader sees the end at once. */
	close(writer);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	/* A job is done as often as it is asked for. */
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	assert_int_equal(looking.fd, 1);
	look_at(ends[0]);
	assert_true(kbn_filer_once(&looking.job, UINT32_MAX));
	assert_false(looking.seen);
	assert_int_equal(looking.fd, 0);
	close(ends[0]);
}

static void test_shared_table_where_refused(void **state)
{
	(void)state;
	setenv("KBN_FAULT", "table:1+", 1);
	look_at(0);
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	assert_true(looking.seen);
	assert_int_equal(close(looking.fd), 0);
}

static void test_without_a_thread(void **state)
{
	(void)state;
	setenv("KBN_FAULT", "alloc:1", 1);
	look_at(0);
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	assert_true(looking.seen);
	close(looking.fd);
	assert_false(kbn_filer_wake());
	look_at(0);
	kbn_filer_post(&looking.job);
	assert_false(looking.seen);
	setenv("KBN_FAULT", "alloc:1+", 1); /* another text: counted from the start again */
	look_at(0);
	assert_true(kbn_filer_once(&looking.job, UINT32_MAX));
	assert_true(looking.seen);
	close(looking.fd);
}

static sigjmp_buf out;

static void leave(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* A handler of the program leaves the start of the thread; the ms that a hundred requests take then. */
static uint64_t jump_out(const char *fault, bool has_thread)
{
	void (*before)(int) = signal(SIGUSR1, leave);
	uint64_t began, took;

	setenv("KBN_FAULT", fault, 1);
	look_at(0);
	if (!sigsetjmp(out, 1)) {
		kbn_filer_do(&looking.job, UINT32_MAX);
		fail();
	}
	signal(SIGUSR1, before);
	began = now_ms();
	for (int i = 0; i < 100; i++)
		assert_int_equal(kbn_filer_wake(), has_thread);
	took = now_ms() - began;
	look_at(0);
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	return took;
}

/* While the thread is being made: it is there all the same. */
static void test_jump_out_of_the_start(void **state)
{
	(void)state;
	assert_in_range(jump_out("signal:2", true), 0, 99);
	assert_int_not_equal(looking.fd, -1);
}

/* Before there is a thread: one wait for it, then whoever asks does the job. */
static void test_jump_out_before_the_start(void **state)
{
	(void)state;
	assert_in_range(jump_out("signal:1", false), 50, 2000);
	assert_true(looking.seen);
	close(looking.fd);
}

static struct sleeping {
	struct kbn_job job;
	_Atomic int go, times;
} sleeping;

static void sleep_until_told(struct kbn_job *job)
{
	struct sleeping *s = (struct sleeping *)job;

	while (!s->go)
		usleep(1000);
	s->times++;
}

/* A file system that hangs costs one wait, and nothing is done twice. */
static void test_wait_is_bounded(void **state)
{
	uint64_t began = now_ms();

	(void)state;
	memset(&sleeping, 0, sizeof(sleeping));
	sleeping.job.run = sleep_until_told;
	assert_false(kbn_filer_do(&sleeping.job, 50000000));
	assert_in_range(now_ms() - began, 50, 5000);
	began = now_ms();
	for (int i = 0; i < 1000; i++)
		assert_false(kbn_filer_do(&sleeping.job, 1000000000));
	assert_in_range(now_ms() - began, 0, 999);
	assert_int_equal(sleeping.times, 0);
	sleeping.go = 1;
	while (sleeping.job.busy)
		usleep(1000);
	usleep(10000); /* it is known to answer again right after that */
	assert_int_equal(sleeping.times, 1);
	assert_true(kbn_filer_do(&sleeping.job, UINT32_MAX));
	assert_int_equal(sleeping.times, 2);
}

/* A file that does not grow in time is one that does not grow: records are lost, and counted. */
static void test_growth_is_bounded(void **state)
{
	static char text[1000];
	const struct iovec iov = {text, sizeof(text)};
	const uint64_t began = now_ms();
	uint64_t lost = 0;

	(void)state;
	memset(&sleeping, 0, sizeof(sleeping));
	sleeping.job.run = sleep_until_told;
	kbn_filer_post(&sleeping.job);
	for (int i = 0; i < 1000; i++)
		lost += kbn_log_append(KBN_REC_NOTE, 0, &iov, 1) < 0;
	assert_in_range(now_ms() - began, 500, 1400);
	assert_in_range(lost, 900, 999);
	assert_int_equal(kbn_writer_header()->log_dropped, lost);
	sleeping.go = 1;
	while (sleeping.job.busy)
		usleep(1000);
	usleep(10000);
	assert_int_equal(kbn_log_append(KBN_REC_NOTE, 0, &iov, 1), 0);
}

/* The files are open already: they grow when the path to them is gone, or the right to use it. */
static void test_grows_without_a_path(void **state)
{
	static char text[1000];
	const struct iovec iov = {text, sizeof(text)};
	char moved[300];

	(void)state;
	look_at(0);
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	if (looking.seen)
		skip();
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	assert_int_equal(rename(kbn_writer_run_dir(), moved), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(kbn_log_append(KBN_REC_NOTE, 0, &iov, 1), 0);
}

static void make_child_that_asks(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		const uint64_t began = now_ms();

		look_at(0);
		_exit(!kbn_filer_do(&looking.job, 50000000) && now_ms() - began < 5000 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* A forked child has no such thread. It does not ask; if it does, from a handler, its wait ends. */
static void test_child_has_no_thread(void **state)
{
	(void)state;
	look_at(0);
	assert_true(kbn_filer_do(&looking.job, UINT32_MAX));
	make_child_that_asks();
}

static struct storing {
	struct kbn_job job;
	const void *data;
	size_t bytes;
	_Atomic bool begun, ended;
	int result;
} storing;

static void store_large(struct kbn_job *job)
{
	struct storing *s = (struct storing *)job;
	const uint8_t hash[16] = {7};
	const char *why;

	s->begun = true;
	s->result = kbn_code_store(hash, s->data, s->bytes, &why);
	s->ended = true;
}

static struct between {
	struct kbn_job job;
	bool ended;
} between;

static void look_between(struct kbn_job *job)
{
	struct between *b = (struct between *)job;

	b->ended = storing.ended;
}

/* A launch that waits for a file to grow does not wait for megabytes of code. */
static void test_large_image_holds_up_nobody(void **state)
{
	size_t bytes = (size_t)64 << 20;
	void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(data, MAP_FAILED);
	memset(&storing, 0, sizeof(storing));
	storing.job.run = store_large;
	storing.data = data;
	storing.bytes = bytes;
	memset(&between, 0, sizeof(between));
	between.job.run = look_between;
	kbn_filer_post(&storing.job);
	while (!storing.begun)
		usleep(100);
	assert_true(kbn_filer_do(&between.job, UINT32_MAX));
	assert_false(between.ended);
	assert_true(kbn_filer_do(&storing.job, UINT32_MAX)); /* the same one, that is on its way */
	assert_true(storing.ended);
	assert_int_equal(storing.result, 0);
	munmap(data, bytes);
}

static void *read_it(const char *name, size_t most, size_t *bytes)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return kbn_filer_read(path, most, bytes);
}

static void test_read(void **state)
{
	char path[400];
	size_t bytes = 0;
	char *data;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	f = fopen(path, "w");
	for (int i = 0; i < 10000; i++)
		fputc('a' + i % 26, f);
	fclose(f);
	data = read_it("file", 10000, &bytes);
	assert_non_null(data);
	assert_int_equal(bytes, 10000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(data[i], 'a' + i % 26);
	munmap(data, bytes);
	assert_null(read_it("file", 9999, &bytes));
	assert_null(read_it("absent", 10000, &bytes));
	assert_null(read_it(".", SIZE_MAX, &bytes));
	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(read_it("pipe", SIZE_MAX, &bytes));
	snprintf(path, sizeof(path), "%s/empty", dir);
	fclose(fopen(path, "w"));
	assert_null(read_it("empty", SIZE_MAX, &bytes));
	assert_null(kbn_filer_read("/dev/zero", SIZE_MAX, &bytes));
	/* Without a size, and of this process, not of the thread. */
	data = kbn_filer_read("/proc/self/status", SIZE_MAX, &bytes);
	assert_non_null(data);
	snprintf(path, sizeof(path), "\nPid:\t%d\n", (int)getpid());
	assert_non_null(memmem(data, bytes, path, strlen(path)));
	munmap(data, bytes);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_table_of_its_own),
		CASE(test_shared_table_where_refused),
		CASE(test_without_a_thread),
		CASE(test_jump_out_of_the_start),
		CASE(test_jump_out_before_the_start),
		CASE(test_wait_is_bounded),
		CASE(test_growth_is_bounded),
		CASE(test_grows_without_a_path),
		CASE(test_child_has_no_thread),
		CASE(test_large_image_holds_up_nobody),
		CASE(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
