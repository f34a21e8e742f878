/*
 * test_trace_read.c - one process directory: headers that must be refused, records that must be
 * left out, slots while they are written.
 */
#include "trace_read.h"

#include <pthread.h>
#include <stdatomic.h>

#include "trace_fixture.h"

static char run_dir[256];

static int make_dir(void **state)
{
	(void)state;
	temp_dir(run_dir);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	remove_dir(run_dir);
	return 0;
}

/* Overwrite `bytes` bytes of a file of the fixture. */
static void patch(const struct fixture *f, const char *file, long offset, const void *data,
		  size_t bytes)
{
	FILE *out = fixture_open(f, file, "r+b");

	assert_int_equal(fseek(out, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(data, 1, bytes, out), bytes);
	fclose(out);
}

static void patch32(const struct fixture *f, const char *file, long offset, uint32_t value)
{
	patch(f, file, offset, &value, sizeof(value));
}

static void test_headers(void **state)
{
	static const struct {
		const char *file;
		long offset;
		enum err_code code;
		const char *says;
	} cases[] = {
		{KBN_LOG_FILE, 0, ERR_FORMAT, "not a kbn recording"},
		{KBN_LOG_FILE, 8, ERR_VERSION, "format version 99"},
		{KBN_LOG_FILE, 12, ERR_FORMAT, "big-endian"},
		{KBN_LOG_FILE, 16, ERR_CORRUPT, "header of 99 bytes"},
		{KBN_LOG_FILE, 20, ERR_CORRUPT, "units of 99 bytes"},
		{KBN_SLOTS_FILE, 0, ERR_FORMAT, "not a kbn recording"},
		{KBN_SLOTS_FILE, 8, ERR_VERSION, "this kbn reads version 1"},
		{KBN_SLOTS_FILE, 16, ERR_CORRUPT, "header of 99 bytes"},
		{KBN_SLOTS_FILE, 20, ERR_CORRUPT, "units of 99 bytes"},
		{KBN_SLOTS_FILE, 32, ERR_CORRUPT, "belongs to another recording"},
		{KBN_SKETCH_FILE, 8, ERR_VERSION, "format version 99"},
		{KBN_SKETCH_FILE, 24, ERR_CORRUPT, "belongs to another recording"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {0};
		struct fixture f;
		struct trace t;

		fixture_begin(&f, run_dir, .pid = 100 + (uint32_t)i);
		fixture_end(&f, KBN_SEALED);
		assert_int_equal(trace_open(&t, f.dir, &e), 0);
		trace_close(&t);
		patch32(&f, cases[i].file, cases[i].offset, 99);
		assert_int_equal(trace_open(&t, f.dir, &e), -1);
		assert_int_equal(e.code, cases[i].code);
		assert_non_null(strstr(e.text, cases[i].says));
		assert_non_null(strstr(e.text, cases[i].file));
	}
}

static void test_missing_files(void **state)
{
	struct err e = {0};
	struct fixture f;
	struct trace t;
	struct trace_slot s;
	char path[1024];
	uint32_t counts[KBN_SKETCH_BUCKETS];

	(void)state;
	fixture_begin(&f, run_dir, .pid = 200);
	fixture_slot(&f, 1, 1, 8, 32);
	fixture_end(&f, KBN_SEALED);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_SLOTS_FILE);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_SKETCH_FILE);
	unlink(path);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(trace_next_slot(&t, &s), 0);
	assert_int_equal(trace_sketch(&t, 0, counts), -1);
	assert_int_equal(t.fault.code, ERR_NOT_FOUND);
	assert_string_equal(t.fault.text, "slots.kbn is missing: launches are not known");
	trace_close(&t);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_LOG_FILE);
	unlink(path);
	assert_int_equal(trace_open(&t, f.dir, &e), -1);
	assert_int_equal(e.code, ERR_NOT_FOUND);
}

/* A directory in place of a file, and files of no length. */
static void test_odd_files(void **state)
{
	struct err e = {0};
	struct fixture f;
	struct trace t;
	char path[1024];

	(void)state;
	fixture_begin(&f, run_dir, .pid = 201);
	fixture_end(&f, KBN_SEALED);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_SLOTS_FILE);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(t.fault.code, ERR_TRUNCATED);
	assert_int_equal(t.slots_n, 0);
	trace_close(&t);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(t.fault.code, ERR_TRUNCATED);
	trace_close(&t);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(t.slots_n, 0);
	trace_close(&t);
}

static unsigned count_records(struct trace *t, unsigned *notes)
{
	struct trace_record r;
	unsigned n = 0;

	trace_rewind(t);
	*notes = 0;
	for (; trace_next_record(t, &r); n++)
		*notes += r.kind == KBN_REC_NOTE;
	return n;
}

static void test_records(void **state)
{
	struct err e = {0};
	struct fixture f;
	struct trace t;
	struct trace_record r;
	struct kbn_rec_device too_long;
	unsigned notes;
	long damaged, after;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 300);
	fixture_note(&f, KBN_NOTE_WINDOW, 1, "first");
	fixture_record(&f, 999, "of the future", 13, NULL, 0);
	damaged = ftell(f.log);
	fixture_note(&f, KBN_NOTE_WINDOW, 2, "damaged");
	fixture_record(&f, KBN_REC_CONTEXT, "xyz", 3, NULL, 0);
	after = ftell(f.log);
	fixture_note(&f, KBN_NOTE_WINDOW, 3, "last");
	fixture_end(&f, KBN_SEALED);
	patch32(&f, KBN_LOG_FILE, damaged + 16, 0x55555555);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	/* PROCESS, first, the short CONTEXT, last, END */
	assert_int_equal(count_records(&t, &notes), 5);
	assert_int_equal(notes, 2);
	assert_int_equal(t.records_torn, 1);
	assert_int_equal(t.records_unknown, 1);
	/* a second round finds the same */
	assert_int_equal(count_records(&t, &notes), 5);
	assert_int_equal(t.records_torn, 1);
	trace_rewind(&t);
	while (trace_next_record(&t, &r) && r.kind != KBN_REC_CONTEXT) {}
	assert_int_equal(trace_fixed(&r, &too_long, sizeof(too_long), &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_int_equal(e.offset, r.offset);
	trace_close(&t);

	/* neither free nor committed: the rest cannot be found */
	patch32(&f, KBN_LOG_FILE, after, 0x12345678);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(count_records(&t, &notes), 3);
	assert_int_equal(t.fault.code, ERR_CORRUPT);
	assert_int_equal(t.fault.offset, after);
	trace_close(&t);

	/* not yet committed: the end, and no fault */
	patch32(&f, KBN_LOG_FILE, after, 0);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(count_records(&t, &notes), 3);
	assert_int_equal(t.fault.code, ERR_NONE);
	trace_close(&t);

	/* a length that reaches past the end of the file */
	patch32(&f, KBN_LOG_FILE, after, KBN_REC_COMMIT);
	patch32(&f, KBN_LOG_FILE, after + 4, 0xfffffff0);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(count_records(&t, &notes), 3);
	assert_int_equal(t.fault.code, ERR_TRUNCATED);
	trace_close(&t);
}

/* More slots promised than there are: those that are there count. */
static void test_short_slots(void **state)
{
	struct err e = {0};
	struct fixture f;
	struct trace t;
	struct trace_slot s;
	char path[1024];
	unsigned n = 0;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 400);
	for (unsigned i = 0; i < 600; i++)
		fixture_slot(&f, i, 1, i, 32);
	f.slots[10].kind = 77; /* of the future */
	fixture_end(&f, KBN_SEALED);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	for (n = 0; trace_next_slot(&t, &s); n++)
		assert_int_equal(s.launch.kernel, s.index);
	assert_int_equal(n, 599);
	assert_int_equal(t.slots_unknown, 1);
	assert_int_equal(t.slots_torn, 0);
	trace_close(&t);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_SLOTS_FILE);
	assert_int_equal(truncate(path, KBN_SLOTS_HEADER_BYTES + 256 * 300 + 5), 0);
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(t.fault.code, ERR_TRUNCATED);
	for (n = 0; trace_next_slot(&t, &s);)
		n++;
	assert_int_equal(n, 299);
	trace_close(&t);

	uint64_t slots = UINT64_MAX; /* a damaged count ends at the end of the file */

	patch(&f, KBN_SLOTS_FILE, offsetof(struct kbn_slots_header, slots), &slots, sizeof(slots));
	assert_int_equal(trace_open(&t, f.dir, &e), 0);
	assert_int_equal(t.slots_n, 300);
	trace_close(&t);
}

/* A writer as in the shim: both counters of the launch half change together, under launch_seq. */
struct live {
	struct kbn_slot *slots;
	atomic_bool stop;
};

static void *write_slots(void *arg)
{
	struct live *l = arg;

	for (uint64_t n = 1; !l->stop; n++) {
		for (int i = 0; i < 4; i++) {
			struct kbn_slot *s = &l->slots[i];

			__atomic_store_n(&s->launch_seq, (uint32_t)(2 * n - 1), __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_RELEASE);
			__atomic_store_n(&s->sampled_out, n, __ATOMIC_RELAXED);
			__atomic_store_n(&s->failed, n, __ATOMIC_RELAXED);
			__atomic_store_n(&s->launch_seq, (uint32_t)(2 * n), __ATOMIC_RELEASE);
		}
		if (n % 64 == 0)
			usleep(50);
	}
	return NULL;
}

static void test_live_slots(void **state)
{
	struct live l = {0};
	struct err e = {0};
	struct fixture f;
	pthread_t thread;
	char path[1024];
	unsigned whole = 0;
	void *map;
	int fd;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 500);
	for (unsigned i = 0; i < 4; i++)
		fixture_slot(&f, i, 1, i, 32);
	fixture_end(&f, KBN_RUNNING);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_SLOTS_FILE);
	fd = open(path, O_RDWR);
	map = mmap(NULL, KBN_SLOTS_HEADER_BYTES + 4 * 256, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	assert_ptr_not_equal(map, MAP_FAILED);
	close(fd);
	l.slots = (void *)((char *)map + KBN_SLOTS_HEADER_BYTES);
	assert_int_equal(pthread_create(&thread, NULL, write_slots, &l), 0);
	for (int round = 0; round < 300; round++) {
		struct trace_slot s;
		struct trace t;
		uint64_t torn = 0;

		assert_int_equal(trace_open(&t, f.dir, &e), 0);
		while (trace_next_slot(&t, &s)) {
			/* either it is whole, or it was counted as torn; torn ones are one launch off at most */
			if (t.slots_torn == torn) {
				assert_int_equal(s.launch.sampled_out, s.launch.failed);
				whole++;
			}
			torn = t.slots_torn;
		}
		trace_close(&t);
	}
	l.stop = true;
	pthread_join(thread, NULL);
	munmap(map, KBN_SLOTS_HEADER_BYTES + 4 * 256);
	assert_true(whole > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_headers, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_missing_files, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_odd_files, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_records, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_short_slots, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_live_slots, make_dir, drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
