/*
 * fake_log.c - who called, and what came of it.
 *
 * Tells the recorder's own calls from the program's, makes chosen calls fail, writes one line per
 * call, counts launches in a file that survives the process, and judges broken rules. The rules
 * themselves stand where the model meets them.
 */
#include "fake_cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define VERDICTS_MAX 10

struct fault {
	bool ours;
	char name[64]; /* "" = any */
	uint64_t nth;
	bool onward; /* this and all later ones */
	int code;
	_Atomic uint64_t seen;
};

_Atomic unsigned fake_slow;
static _Atomic unsigned never_alive;
_Atomic(_Atomic unsigned *) fake_alive = &never_alive;

static struct fake_counts local_counts;
struct fake_counts *fake_counts = &local_counts;

static struct fault faults[16];
static unsigned fault_count;
static int log_fd = -1;
static _Atomic uintptr_t kbn_low, kbn_high;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t thread_count;

/* The functions that the recorder wraps: such a call from inside it is the program's, passed on. */
static const char *const hooked[] = {
#define KBN_HOOK(symbol, ...) #symbol,
#if __has_include("../../shim/hooks.def")
#include "../../shim/hooks.def"
#endif
#undef KBN_HOOK
	NULL,
};

const char *fake_option(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int find_kbn(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *base = strrchr(info->dlpi_name, '/');
	uintptr_t low = UINTPTR_MAX, high = 0;

	(void)size;
	(void)unused;
	base = base ? base + 1 : info->dlpi_name;
	if (strcmp(base, "libkbn.so") != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		low = at < low ? at : low;
		at += info->dlpi_phdr[i].p_memsz;
		high = at > high ? at : high;
	}
	kbn_low = low;
	kbn_high = high;
	return 1;
}

void fake_find_kbn(void)
{
	dl_iterate_phdr(find_kbn, NULL);
}

/* One "kbn:3:700", "kbn:cuEventCreate:1:2" or "app:cuLaunchKernel:5+:1". */
static void add_fault(char *text)
{
	struct fault *f = &faults[fault_count];
	char *field[4], *save = NULL;
	int n = 0;

	for (char *p = strtok_r(text, ":", &save); p && n < 4; p = strtok_r(NULL, ":", &save))
		field[n++] = p;
	if (n < 3 || fault_count == sizeof(faults) / sizeof(faults[0]))
		return;
	f->ours = strcmp(field[0], "kbn") == 0;
	if (n == 4)
		snprintf(f->name, sizeof(f->name), "%s", field[1]);
	f->nth = strtoull(field[n - 2], NULL, 10);
	f->onward = strchr(field[n - 2], '+') != NULL;
	f->code = atoi(field[n - 1]);
	fault_count++;
}

static void map_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(*fake_counts)) != 0)
		return;
	at = mmap(NULL, sizeof(*fake_counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return;
	fake_counts = at;
	fake_counts->magic = FAKE_COUNT_MAGIC;
}

__attribute__((constructor)) static void load(void)
{
	const char *log = fake_option("FAKE_LOG");
	const char *fail = fake_option("FAKE_FAIL");
	const char *count = fake_option("FAKE_COUNT");

	if (log) {
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		/* Out of the way of clients that close or reuse small numbers. */
		if (log_fd >= 0) {
			int high = fcntl(log_fd, F_DUPFD_CLOEXEC, 900);

			if (high >= 0) {
				close(log_fd);
				log_fd = high;
			}
			fake_slow |= FAKE_SLOW_LOG;
		}
	}
	if (fail) {
		char *copy = strdup(fail), *save = NULL;

		for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
			add_fault(p);
		free(copy);
		fake_slow |= FAKE_SLOW_FAIL;
	}
	if (count)
		map_counts(count);
}

void fake_log_init(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fake_find_kbn();
	if (page == MAP_FAILED)
		return;
	madvise(page, 4096, MADV_WIPEONFORK);
	atomic_store((_Atomic unsigned *)page, 1);
	fake_alive = page;
}

struct fake_thread *fake_thread(void)
{
	static __thread struct fake_thread self;

	if (!self.id) {
		self.id = atomic_fetch_add(&thread_count, 1) + 1;
		self.of_kbn = -1;
		self.count = &fake_counts->thread[(self.id - 1) % FAKE_COUNT_THREADS];
		atomic_store(&fake_counts->threads, atomic_load(&thread_count));
	}
	return &self;
}

bool fake_thread_of_kbn(void)
{
	struct fake_thread *t = fake_thread();

	if (t->of_kbn < 0) {
		char name[32] = "";

		prctl(PR_GET_NAME, name);
		t->of_kbn = strncmp(name, "kbn", 3) == 0;
	}
	return t->of_kbn;
}

static bool is_hooked(struct fake_call *call)
{
	int8_t known = atomic_load_explicit(call->hooked, memory_order_relaxed);

	if (known < 0) {
		known = 0;
		for (const char *const *h = hooked; *h && !known; h++)
			known = strcmp(*h, call->name) == 0;
		atomic_store_explicit(call->hooked, known, memory_order_relaxed);
	}
	return known;
}

bool fake_ours(struct fake_call *call)
{
	uintptr_t from = (uintptr_t)call->from;

	if (call->ours < 0)
		call->ours = fake_thread_of_kbn() ||
			     (from >= kbn_low && from < kbn_high && !is_hooked(call));
	return call->ours;
}

/* The code to answer instead of doing the call, 0 = do it. */
static int injected(struct fake_call *call)
{
	for (unsigned i = 0; i < fault_count; i++) {
		struct fault *f = &faults[i];
		uint64_t n;

		if (f->ours != fake_ours(call) || (f->name[0] && strcmp(f->name, call->name) != 0))
			continue;
		n = atomic_fetch_add(&f->seen, 1) + 1;
		if (n == f->nth || (f->onward && n > f->nth))
			return f->code;
	}
	return 0;
}

/* A launch that ended before it began is a failed one all the same. */
static void count_refused(const char *name)
{
	struct fake_thread_count *count = fake_thread()->count;

	if (strncmp(name, "cuLaunch", 8) == 0 && !strstr(name, "Host"))
		atomic_fetch_add(&count->failed, 1);
	if (strncmp(name, "cuGraphLaunch", 13) == 0)
		atomic_fetch_add(&count->graphs_not_run, 1);
}

int fake_enter(struct fake_call *call, bool early)
{
	int result = 0;

	if (fake_ours(call))
		atomic_fetch_add(&fake_counts->own_calls, 1);
	if (fake_slow & FAKE_SLOW_DEAD) {
		if (fake_ours(call))
			fake_violation(call, "called after the driver has ended");
		result = 4;
	} else if (!*atomic_load(&fake_alive) && !early) {
		if (fake_ours(call))
			fake_violation(call, "called before cuInit or in a forked child");
		result = 3;
	}
	if (!result && fake_slow & FAKE_SLOW_FAIL) {
		result = injected(call);
		if (result && !fake_ours(call) && fake_is_sticky_code(result) && fake_current())
			fake_current()->sticky = result;
	}
	if (result)
		count_refused(call->name);
	if (result && fake_slow & FAKE_SLOW_LOG)
		fake_leave(call, result, "not done");
	return result;
}

int fake_leave(struct fake_call *call, int result, const char *format, ...)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s %u %s ", fake_ours(call) ? "kbn" : "app",
			 fake_thread()->id, call->name);
	int saved = errno;
	va_list ap;

	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 16, format, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 17)
		n = (int)sizeof(line) - 17;
	n += snprintf(line + n, 16, " = %d\n", result);
	if (write(log_fd, line, (size_t)n) < 0)
		fake_slow &= ~(unsigned)FAKE_SLOW_LOG;
	errno = saved;
	return result;
}

void fake_violation(const struct fake_call *call, const char *format, ...)
{
	const char *path = fake_option("FAKE_VERDICT");
	char line[512];
	int n, fd;
	va_list ap;

	n = snprintf(line, sizeof(line), "stand-in driver: %s (thread %u): ", call->name,
		     fake_thread()->id);
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 2, format, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	/* One broken rule often breaks a thousand times. */
	if (atomic_fetch_add(&fake_counts->violations, 1) >= VERDICTS_MAX)
		return;
	if (write(2, line, (size_t)n) < 0)
		n = 0;
	fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) {
		if (write(fd, line, (size_t)n) < 0)
			n = 0;
		close(fd);
	}
	/* The driver's exit handler ends the process; after it there is nobody else to do so. */
	if (fake_slow & FAKE_SLOW_DEAD && !fake_option("FAKE_LENIENT"))
		_exit(FAKE_STATUS);
}

/* ---- objects ---- */

#define ARENA_BYTES (1ull << 32)
#define ALIGN       64u

static _Atomic(unsigned char *) arena;
static _Atomic size_t arena_used;
static struct fake_object *free_list[16];
static uint32_t next_id[16][2];

void *fake_new(enum fake_kind kind, size_t bytes, struct fake_call *call)
{
	unsigned k = (unsigned)kind & 15;
	bool ours = call && fake_ours(call);
	struct fake_object *o;

	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	pthread_mutex_lock(&lock);
	if (!arena) {
		void *at = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at == MAP_FAILED)
			abort();
		arena = at;
	}
	o = free_list[k];
	if (o && !ours) {
		free_list[k] = o->next_free;
		memset((char *)o + sizeof(*o), 0, bytes - sizeof(*o));
	} else {
		if (arena_used + bytes > ARENA_BYTES)
			abort();
		o = (struct fake_object *)(void *)(arena + arena_used);
		arena_used += bytes;
	}
	o->kind = (uint32_t)kind;
	o->bytes = (uint32_t)bytes;
	o->alive = true;
	o->ours = ours;
	o->id = ++next_id[k][ours];
	pthread_mutex_unlock(&lock);
	return o;
}

void fake_free(void *object)
{
	struct fake_object *o = object;

	pthread_mutex_lock(&lock);
	o->alive = false;
	/* The recorder's handles are not reused, so that a late use of one is seen. */
	if (!o->ours) {
		o->next_free = free_list[o->kind & 15];
		free_list[o->kind & 15] = o;
	}
	pthread_mutex_unlock(&lock);
}

void *fake_get(const void *handle, enum fake_kind kind)
{
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)arena;
	const struct fake_object *o = handle;

	if (!base || at < base || at >= base + arena_used || (at - base) % ALIGN)
		return NULL;
	return o->kind == (uint32_t)kind && o->alive ? (void *)at : NULL;
}

void *fake_need(struct fake_call *call, const void *handle, enum fake_kind kind)
{
	void *o = fake_get(handle, kind);

	if (!o && fake_ours(call))
		fake_violation(call, "handle %p is not a living object of its kind", handle);
	return o;
}

const char *fake_name(const void *handle, char out[40])
{
	static const char *const names[16] = {
		[1] = "context", [2] = "stream",   [3] = "event",  [4] = "module",
		[5] = "library", [6] = "function", [7] = "kernel", [8] = "graph",
		[9] = "node",    [10] = "exec",    [11] = "link",  [12] = "green",
	};
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)arena;
	const struct fake_object *o = handle;

	if (base && at >= base && at < base + arena_used && (at - base) % ALIGN == 0)
		snprintf(out, 40, "%s%s#%u%s", o->ours ? "kbn-" : "", names[o->kind & 15], o->id,
			 o->alive ? "" : "(dead)");
	else if (at < 16)
		snprintf(out, 40, "%u", (unsigned)at);
	else
		snprintf(out, 40, "bad");
	return out;
}

uint32_t fake_count_row(const char *kernel)
{
	uint32_t i, n;

	pthread_mutex_lock(&lock);
	n = (uint32_t)fake_counts->kernels;
	for (i = 0; i < n; i++)
		if (strncmp(fake_counts->kernel[i].name, kernel, 95) == 0)
			break;
	if (i == n && n < FAKE_COUNT_KERNELS) {
		snprintf(fake_counts->kernel[i].name, 96, "%s", kernel);
		fake_counts->kernels = n + 1;
	}
	pthread_mutex_unlock(&lock);
	return i < FAKE_COUNT_KERNELS ? i : FAKE_COUNT_KERNELS - 1;
}
