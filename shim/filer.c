/*
 * filer.c - see filer.h. Input: jobs, a list that others push to and the thread takes whole; and the
 * images that image.c has queued, when there is no job.
 *
 * Whoever waits holds no lock of ours, and the thread needs none of the loader's or the program's.
 */
#include "filer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "files.h"
#include "image.h"
#include "sys.h"
#include "writer.h"

#define START_NAP_NS  20000u
#define START_NAPS    5000u /* 100 ms for another thread to make the thread */
#define READ_NS       2000000000u
#define READ_PATH     4096u
#define UNSIZED_BYTES (16u << 20) /* of a file that does not tell its size, as in /proc */

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE 2u /* CLOSE_RANGE_UNSHARE, Linux 5.9; older headers lack it */

enum phase { NONE, STARTING, RUNS, FAILED };

static _Atomic uint64_t phase; /* epoch of the writer << 2 | enum phase */
static _Atomic uint32_t thread_id;
static _Atomic(struct kbn_job *) posted; /* newest first */
static _Atomic uint32_t asleep;          /* futex: the thread waits while it is 1 */
static _Atomic bool hangs;             /* somebody has waited in vain, and nothing was done since */
static _Atomic(struct kbn_job *) only; /* of kbn_filer_once */

/*
 * An empty descriptor table for this thread. Never unshare() and a loop of close(): a copy of the
 * program's table holds the write ends of its pipes, and their readers would wait for them. Where the
 * call is missing or refused the program's table is used, for moments, as everybody does.
 */
static bool leave_table(void)
{
	return !kbn_fault(KBN_FAULT_TABLE) && syscall(SYS_close_range, 0, ~0u, UNSHARE) == 0;
}

static void done(struct kbn_job *job)
{
	kbn_futex_wake(&job->busy, 0); /* the last touch: the memory may go away with it */
}

static bool claim(struct kbn_job *job)
{
	uint32_t idle = 0;

	return atomic_compare_exchange_strong(&job->busy, &idle, 1);
}

static void push(struct kbn_job *job)
{
	job->next = atomic_load(&posted);
	while (!atomic_compare_exchange_weak(&posted, &job->next, job))
		;
	if (atomic_load(&asleep))
		kbn_futex_wake(&asleep, 0);
}

/* ------------------------------------------------------------------------------------ the thread */

static void serve(void)
{
	struct kbn_job *taken = atomic_exchange(&posted, NULL), *turned = NULL, *next;

	for (; taken; taken = next) {
		next = taken->next;
		taken->next = turned;
		turned = taken;
	}
	for (; turned; turned = next) {
		next = turned->next;
		turned->run(turned);
		done(turned);
		atomic_store(&hangs, false);
	}
}

/* Once only: the first that knows how the start ended says so. */
static bool started(uint64_t mine, enum phase how)
{
	uint64_t starting = mine | STARTING;

	atomic_compare_exchange_strong(&phase, &starting, mine | how);
	return atomic_load(&phase) == (mine | RUNS);
}

static void *work(void *unused)
{
	const uint64_t mine = atomic_load(&phase) >> 2;

	(void)unused;
	kbn_thread_name("kbn-files");
	/* Whoever had it made may have left by longjmp, or has given it up. */
	if (!started(mine << 2, RUNS))
		return NULL;
	if (leave_table())
		kbn_writer_keep_open();
	atomic_store(&thread_id, (uint32_t)syscall(SYS_gettid));
	while (kbn_writer_epoch() == mine) {
		atomic_store(&asleep, 1); /* before it looks: who comes later wakes it */
		serve();
		if (kbn_image_store_next())
			atomic_store(&hangs, false);
		else
			kbn_futex_wait(&asleep, 1, 0);
	}
	return NULL;
}

static void *work_once(void *unused)
{
	struct kbn_job *job = atomic_load(&only);

	(void)unused;
	kbn_thread_name("kbn-files");
	leave_table();
	job->run(job);
	done(job);
	return NULL;
}

/* The thread is there. In a forked child it is not, until a recording of the child's own asks for it. */
static bool ready(void)
{
	const uint64_t mine = (uint64_t)kbn_writer_epoch() << 2;
	uint64_t now = atomic_load(&phase);

	if (now >> 2 != mine >> 2 &&
	    atomic_compare_exchange_strong(&phase, &now, mine | STARTING)) {
		kbn_image_begin();
		atomic_store(&posted, NULL);
		atomic_store(&asleep, 0);
		atomic_store(&hangs, false);
		atomic_store(&thread_id, 0);
		return started(mine, kbn_thread_start(work) < 0 ? FAILED : RUNS);
	}
	for (uint32_t i = 0; i < START_NAPS && atomic_load(&phase) == (mine | STARTING); i++)
		kbn_sleep_ns(START_NAP_NS);
	return started(mine, FAILED); /* nobody waits for it again */
}

bool kbn_filer_is_here(void)
{
	const uint32_t id = atomic_load(&thread_id);

	return id && (uint32_t)syscall(SYS_gettid) == id;
}

/* --------------------------------------------------------------------------------------- requests */

static bool wait_for(struct kbn_job *job, uint64_t wait_ns)
{
	const uint64_t give_up = kbn_clock_ns() + wait_ns;
	uint64_t now;

	while (atomic_load(&job->busy)) {
		now = kbn_clock_ns();
		if (now >= give_up)
			return false;
		kbn_futex_wait(&job->busy, 1, give_up - now);
	}
	return true;
}

static void do_here(struct kbn_job *job)
{
	const int saved = errno;

	job->run(job);
	errno = saved;
	done(job);
}

bool kbn_filer_do(struct kbn_job *job, uint64_t wait_ns)
{
	if (kbn_filer_is_here()) {
		if (claim(job))
			do_here(job);
		else
			serve();
		return true;
	}
	if (claim(job)) {
		if (ready())
			push(job);
		else
			do_here(job);
	}
	if (!atomic_load(&job->busy))
		return true;
	if (!atomic_load(&hangs) && wait_for(job, wait_ns))
		return true;
	atomic_store(&hangs, true);
	if (atomic_load(&job->busy))
		return false;
	atomic_store(&hangs, false); /* done in between: nobody else might take the mark away */
	return true;
}

void kbn_filer_post(struct kbn_job *job)
{
	if (ready() && claim(job))
		push(job);
}

bool kbn_filer_once(struct kbn_job *job, uint64_t wait_ns)
{
	claim(job);
	atomic_store(&only, job);
	if (kbn_thread_start(work_once) < 0)
		do_here(job);
	return wait_for(job, wait_ns);
}

bool kbn_filer_wake(void)
{
	if (!ready())
		return false;
	if (atomic_load(&asleep))
		kbn_futex_wake(&asleep, 0);
	return true;
}

void kbn_filer_yield(void)
{
	if (kbn_filer_is_here())
		serve();
}

/* ------------------------------------------------------------------------------------------- read */

struct reading {
	struct kbn_job job;
	size_t most, bytes;
	char *data;
	char path[READ_PATH];
};

static void read_run(struct kbn_job *job)
{
	struct reading *r = (struct reading *)job;
	/* Not blocking: of a pipe that nobody writes to. */
	const int fd = kbn_fd_open(r->path, O_RDONLY | O_NONBLOCK);
	const off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	const size_t room = end > 0 ? (size_t)end : UNSIZED_BYTES;
	size_t kept = 0;
	ssize_t n = -1;

	if (fd < 0)
		return;
	if (room <= r->most)
		r->data = kbn_map_memory(room, PROT_READ | PROT_WRITE);
	if (r->data)
		n = kbn_fd_read(fd, r->data, room);
	kbn_fd_close(fd);
	/* All of it; or as much as there is of a file without a size. */
	if (n > 0 && ((size_t)n == room) == (end > 0)) {
		const size_t page = (size_t)sysconf(_SC_PAGESIZE);

		r->bytes = (size_t)n;
		kept = (r->bytes + page - 1) / page * page;
	}
	if (r->data && kept < room)
		munmap(r->data + kept, room - kept);
	if (!kept)
		r->data = NULL;
}

void *kbn_filer_read(const char *path, size_t most, size_t *bytes)
{
	const size_t n = strnlen(path, READ_PATH);
	struct reading *r;
	void *data;

	if (n == READ_PATH || atomic_load(&hangs))
		return NULL;
	r = kbn_map_memory(sizeof(*r), PROT_READ | PROT_WRITE);
	if (!r)
		return NULL;
	r->job.run = read_run;
	r->most = most;
	memcpy(r->path, path, n);
	if (!kbn_filer_do(&r->job, READ_NS))
		return NULL; /* the thread still has it: left to it for good */
	data = r->data;
	*bytes = r->bytes;
	munmap(r, sizeof(*r));
	return data;
}
