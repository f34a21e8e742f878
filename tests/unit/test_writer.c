/* unit: shim */
/*
 * test_writer.c - the data directory: what is in it, that concurrent appends are whole, that a kill
 * at any point leaves readable files, and that a full disk is a counted loss and nothing worse.
 */
#include "kbn_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kbn_hash.h"
#include "writer.h"

static char dir[256], run[320];

static int setup(void **state)
{
	(void)state;
	unsetenv("KBN_FAULT");
	temp_dir(dir);
	/* A name of its own: when `dir` is refused the writer uses it in /tmp. */
	snprintf(run, sizeof(run), "%s/kbn-test-run-%d", dir, (int)getpid());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unsetenv("KBN_FAULT");
	remove_dir(dir);
	return 0;
}

static void open_writer(void)
{
	const char *why = NULL;

	assert_int_equal(kbn_writer_open(run, 64, &why), 0);
}

static int append(const void *data, size_t bytes)
{
	struct iovec iov[2] = {{(void *)(uintptr_t)data, bytes / 2},
			       {(char *)(uintptr_t)data + bytes / 2, bytes - bytes / 2}};

	return kbn_log_append(KBN_REC_NOTE, 0, iov, 2);
}

/* Records in the log of `proc`; fails the test at a committed record that does not add up. */
static unsigned count_records(const char *proc,
			      void (*each)(const struct kbn_rec *, const uint8_t *))
{
	char path[700];
	size_t bytes, at = sizeof(struct kbn_file_header);
	unsigned n = 0;
	uint8_t *log;

	snprintf(path, sizeof(path), "%s/" KBN_LOG_FILE, proc);
	log = load_file(path, &bytes);
	assert_true(bytes >= at);
	assert_int_equal(((struct kbn_file_header *)log)->magic, KBN_LOG_MAGIC);
	while (at + sizeof(struct kbn_rec) <= bytes) {
		struct kbn_rec rec;

		memcpy(&rec, log + at, sizeof(rec));
		if (rec.commit != KBN_REC_COMMIT)
			break;
		assert_true(rec.bytes <= bytes - at - sizeof(rec));
		assert_int_equal(rec.check,
				 (uint32_t)kbn_hash64(log + at + sizeof(rec), rec.bytes));
		if (each)
			each(&rec, log + at + sizeof(rec));
		n++;
		at += (sizeof(rec) + rec.bytes + 7) & ~(size_t)7;
	}
	free(log);
	return n;
}

/* The only process directory in the run directory. */
static char *find_proc(char out[640])
{
	DIR *d = opendir(run);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		assert_true(strncmp(e->d_name, ".new", 4) != 0);
		if (strncmp(e->d_name, KBN_PROC_PREFIX, 5) == 0) {
			snprintf(out, 640, "%s/%s", run, e->d_name);
			n++;
		}
	}
	closedir(d);
	assert_int_equal(n, 1);
	return out;
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_layout(void **state)
{
	unsigned before = open_descriptors();
	struct kbn_slots_header *h;
	struct stat s;
	char path[600];

	(void)state;
	open_writer();
	assert_int_equal(open_descriptors(), before);
	assert_string_equal(kbn_writer_run_dir(), run);
	assert_int_equal(stat(run, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
	assert_int_equal(stat(kbn_writer_proc_dir(), &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
	snprintf(path, sizeof(path), "%s/" KBN_CODE_DIR, run);
	assert_int_equal(stat(path, &s), 0);

	h = kbn_writer_header();
	assert_int_equal(h->file.magic, KBN_SLOTS_MAGIC);
	assert_int_equal(h->file.unit_bytes, sizeof(struct kbn_slot));
	assert_int_equal(h->file.header_bytes, KBN_SLOTS_HEADER_BYTES);
	assert_int_equal(h->file.pid, getpid());
	assert_int_equal(h->slot_cap, 64);
	assert_int_equal(h->state, KBN_RUNNING);
	assert_int_equal(count_records(kbn_writer_proc_dir(), NULL), 0);
}

static unsigned notes_seen, ends_seen;

static void classify(const struct kbn_rec *rec, const uint8_t *payload)
{
	struct kbn_rec_note note;

	if (rec->kind == KBN_REC_END)
		ends_seen++;
	if (rec->kind != KBN_REC_NOTE)
		return;
	memcpy(&note, payload, sizeof(note));
	assert_int_equal(note.note, KBN_NOTE_FOREIGN);
	assert_int_equal(note.value, 7);
	assert_int_equal(note.text_bytes, 4);
	assert_memory_equal(payload + sizeof(note), "nsys", 4);
	notes_seen++;
}

static void test_note_and_seal(void **state)
{
	struct kbn_rec_end end = {.mono_ns = 5, .unfinished = 1};

	(void)state;
	notes_seen = ends_seen = 0;
	open_writer();
	kbn_log_note(KBN_NOTE_FOREIGN, 7, "nsys");
	kbn_writer_seal(KBN_SEALED, &end);
	kbn_writer_seal(KBN_STOPPED, &end);
	assert_int_equal(kbn_writer_header()->state, KBN_SEALED);
	assert_int_equal(count_records(kbn_writer_proc_dir(), classify), 2);
	assert_int_equal(notes_seen, 1);
	assert_int_equal(ends_seen, 1);
}

#define THREADS 8
#define EACH    3000

static uint8_t seen[THREADS][EACH];

static void mark(const struct kbn_rec *rec, const uint8_t *payload)
{
	uint32_t who = payload[0], number;

	memcpy(&number, payload + 1, 4);
	assert_true(who < THREADS && number < EACH);
	assert_int_equal(seen[who][number], 0);
	seen[who][number] = 1;
	assert_int_equal(rec->bytes, 5 + number % 200);
	for (uint32_t i = 5; i < rec->bytes; i++)
		assert_int_equal(payload[i], (uint8_t)(who + number));
}

static void *append_many(void *arg)
{
	uint8_t who = (uint8_t)(uintptr_t)arg, data[256];
	uintptr_t lost = 0;

	for (uint32_t i = 0; i < EACH; i++) {
		memset(data, (uint8_t)(who + i), sizeof(data));
		data[0] = who;
		memcpy(data + 1, &i, 4);
		lost += append(data, 5 + i % 200) != 0;
	}
	return (void *)lost;
}

static void test_concurrent_append(void **state)
{
	pthread_t t[THREADS];
	void *lost;

	(void)state;
	memset(seen, 0, sizeof(seen));
	open_writer();
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, append_many, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &lost);
		assert_null(lost);
	}
	assert_int_equal(count_records(kbn_writer_proc_dir(), mark), THREADS * EACH);
	assert_int_equal(kbn_writer_header()->log_dropped, 0);
}

static void test_kill_leaves_all_committed(void **state)
{
	char proc[640];

	(void)state;
	for (int round = 0; round < 20; round++) {
		_Atomic unsigned *done =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		struct timespec nap = {0, 200000 + round * 173000};
		unsigned n;
		pid_t pid = fork();

		if (pid == 0) {
			const char *why;
			char data[96];

			if (kbn_writer_open(run, 64, &why) < 0)
				_exit(1);
			memset(data, 'x', sizeof(data));
			for (;;) {
				if (append(data, 1 + *done % sizeof(data)) == 0)
					(*done)++;
			}
		}
		assert_true(pid > 0);
		while (!*done)
			usleep(100);
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		n = count_records(find_proc(proc), NULL);
		/* The child may be killed between the append and its count. */
		assert_true(n == *done || n == *done + 1);
		munmap((void *)done, 4096);
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
	}
}

static void test_full_disk_is_counted(void **state)
{
	char data[1000];
	unsigned good = 0, bad = 0;
	uint32_t index;

	(void)state;
	memset(data, 'y', sizeof(data));
	open_writer();
	setenv("KBN_FAULT", "write:1+", 1);
	for (int i = 0; i < 200; i++) {
		if (append(data, sizeof(data)) == 0)
			good++;
		else
			bad++;
	}
	assert_true(good > 50);
	assert_true(bad > 50);
	assert_int_equal(kbn_writer_header()->log_dropped, bad);
	assert_int_equal(count_records(kbn_writer_proc_dir(), NULL), good);
	/* Slots that fit what is mapped already are still there. */
	assert_non_null(kbn_slot_new(false, &index));
	/* The disk has room again: growth is tried again, after a pause. */
	unsetenv("KBN_FAULT");
	usleep(150000);
	assert_int_equal(append(data, sizeof(data)), 0);
}

static void test_file_size_limit_is_no_signal(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct rlimit limit = {256 << 10, 256 << 10};
		uint8_t hash[16] = {1};
		const char *why = NULL;
		static char data[300 << 10];
		unsigned bad = 0;

		if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || kbn_writer_open(run, 4096, &why) < 0)
			_exit(2);
		for (int i = 0; i < 1000; i++)
			bad += append(data, 1000) != 0;
		if (kbn_code_store(hash, data, sizeof(data), &why) == 0 || !why)
			_exit(3);
		_exit(bad > 500 && bad < 1000 ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_slots_cap_and_reserve(void **state)
{
	struct kbn_slot *slot, *last = NULL;
	uint32_t index;

	(void)state;
	open_writer();
	for (uint32_t i = 0; i < 64; i++) {
		slot = kbn_slot_new(false, &index);
		assert_non_null(slot);
		assert_int_equal(index, i);
		assert_int_equal(slot->kind, KBN_SLOT_FREE);
		assert_true(slot != last);
		assert_int_equal((uintptr_t)slot % sizeof(*slot), 0);
		last = slot;
	}
	assert_null(kbn_slot_new(false, &index));
	for (uint32_t i = 64; i < 72; i++) {
		assert_non_null(kbn_slot_new(true, &index));
		assert_int_equal(index, i);
	}
	assert_null(kbn_slot_new(true, &index));
	assert_int_equal(kbn_writer_header()->slots, 72);
}

static void test_slots_grow(void **state)
{
	const char *why;
	uint32_t index;

	(void)state;
	assert_int_equal(kbn_writer_open(run, 20000, &why), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct kbn_slot *slot = kbn_slot_new(false, &index);

		assert_non_null(slot);
		slot->kernel = i;
	}
	assert_null(kbn_slot_new(false, &index));
}

static void test_sketches(void **state)
{
	uint32_t index = 99;

	(void)state;
	open_writer();
	for (uint32_t i = 0; i < 40; i++) {
		struct kbn_sketch *s = kbn_sketch_new(&index);

		assert_non_null(s);
		assert_int_equal(index, i);
		assert_ptr_equal(s, kbn_sketch_at(index));
		for (uint32_t b = 0; b < KBN_SKETCH_BUCKETS; b++)
			assert_int_equal(s->count[b], 0);
		s->count[KBN_SKETCH_BUCKETS - 1] = i;
	}
}

static void test_code_store_once(void **state)
{
	uint8_t hash[16];
	const char *why = NULL;
	struct stat first, second;
	char path[600];
	size_t bytes;
	char *back;

	(void)state;
	open_writer();
	kbn_hash128("hello", 5, hash);
	assert_int_equal(kbn_code_store(hash, "hello", 5, &why), 0);
	strcpy(path, run);
	strcat(path, "/" KBN_CODE_DIR "/");
	for (int i = 0; i < 16; i++)
		sprintf(path + strlen(path), "%02x", hash[i]);
	strcat(path, ".img");
	back = load_file(path, &bytes);
	assert_int_equal(bytes, 5);
	assert_memory_equal(back, "hello", 5);
	free(back);
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(kbn_code_store(hash, "hello", 5, &why), 0);
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);

	setenv("KBN_FAULT", "write:1+", 1);
	hash[0] ^= 1;
	assert_int_equal(kbn_code_store(hash, "hello", 5, &why), -1);
	assert_non_null(why);
}

static void test_falls_back_to_tmpdir(void **state)
{
	const char *why = NULL;
	char expected[600], *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;

	(void)state;
	setenv("TMPDIR", dir, 1);
	assert_int_equal(kbn_writer_open("/proc/no-such-place/kbn-7", 64, &why), 0);
	snprintf(expected, sizeof(expected), "%s/kbn-7", dir);
	assert_string_equal(kbn_writer_run_dir(), expected);
	/* A directory of that name that others may write to is not ours. */
	snprintf(expected, sizeof(expected), "%s/kbn-8", dir);
	assert_int_equal(mkdir(expected, 0777), 0);
	assert_int_equal(chmod(expected, 0777), 0);
	assert_int_equal(kbn_writer_open("/proc/no-such-place/kbn-8", 64, &why), 0);
	assert_string_equal(kbn_writer_run_dir(), "/tmp/kbn-8");
	assert_int_equal(system("rm -rf /tmp/kbn-8"), 0);
	if (old)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
}

static void test_relative_path_becomes_absolute(void **state)
{
	const char *why;
	char here[512];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(kbn_writer_open("a/b/c/", 64, &why), 0);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(kbn_writer_run_dir()[0], '/');
	assert_string_equal(kbn_writer_run_dir() + strlen(kbn_writer_run_dir()) - 6, "/a/b/c");
	/* Growth reopens by that path, from anywhere. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(append(here, sizeof(here)), 0);
}

static void assert_no_half_made(const char *in)
{
	DIR *d = opendir(in);
	struct dirent *e;

	while (d && (e = readdir(d)))
		assert_false(strncmp(e->d_name, ".new", 4) == 0);
	if (d)
		closedir(d);
}

/* From the n-th operation on everything fails, also in the places tried instead of `run`. */
static void test_fault_sweep_of_open(void **state)
{
	static const char *const kinds[] = {"write", "alloc"};
	unsigned failed = 0, opened = 0;
	char fault[32], other[64];

	(void)state;
	snprintf(other, sizeof(other), "/tmp/kbn-test-run-%d", (int)getpid());
	for (int n = 1; n < 60; n++) {
		const char *why = NULL;

		snprintf(fault, sizeof(fault), "%s:%d+", kinds[n % 2], (n + 1) / 2);
		setenv("KBN_FAULT", fault, 1);
		if (kbn_writer_open(run, 64, &why) < 0) {
			assert_non_null(why);
			assert_null(kbn_writer_header());
			failed++;
		} else {
			opened++;
		}
		assert_no_half_made(run);
		assert_no_half_made(other);
	}
	assert_true(failed > 10);
	assert_true(opened > 10);
	remove_dir(other);
}

static void test_alloc(void **state)
{
	char *last = NULL;

	(void)state;
	for (size_t n = 1; n < 3000; n++) {
		char *p = kbn_alloc(n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_int_equal(p[0] | p[n - 1], 0);
		assert_ptr_not_equal(p, last);
		memset(p, 0xff, n);
		last = p;
	}
	for (size_t n = 1; n < 3000; n += 7) {
		char *p = kbn_alloc_lines(n), *q = kbn_alloc(1);

		assert_int_equal((uintptr_t)p % 128, 0);
		assert_int_equal(p[0] | p[n - 1], 0);
		assert_true(q < p || q >= p + n);
		memset(p, 0xff, n);
		*q = 1;
	}
	assert_int_equal((uintptr_t)kbn_alloc_lines(5 << 20) % 128, 0);
	last = kbn_alloc(5 << 20);
	assert_non_null(last);
	last[(5 << 20) - 1] = 1;
	assert_null(kbn_alloc(SIZE_MAX - 3));
	setenv("KBN_FAULT", "alloc:1", 1);
	assert_null(kbn_alloc(5 << 20));
	assert_non_null(kbn_alloc(5 << 20));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_layout),
		CASE(test_note_and_seal),
		CASE(test_concurrent_append),
		CASE(test_kill_leaves_all_committed),
		CASE(test_full_disk_is_counted),
		CASE(test_file_size_limit_is_no_signal),
		CASE(test_slots_cap_and_reserve),
		CASE(test_slots_grow),
		CASE(test_sketches),
		CASE(test_code_store_once),
		CASE(test_falls_back_to_tmpdir),
		CASE(test_relative_path_becomes_absolute),
		CASE(test_fault_sweep_of_open),
		CASE(test_alloc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
