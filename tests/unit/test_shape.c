/* unit: shim */
/*
 * test_shape.c - slots for shapes, and what shapes share when there are none: past the cap, and while
 * the file does not grow.
 */
#include "kbn_test.h"

#include "launch.h"
#include "writer.h"

static char dir[256];
static struct kbn_thread *thread;

static int setup(void **state)
{
	(void)state;
	unsetenv("KBN_FAULT");
	temp_dir(dir);
	thread = calloc(1, sizeof(*thread));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unsetenv("KBN_FAULT");
	free(thread);
	remove_dir(dir);
	return 0;
}

static void open_writer(uint32_t cap)
{
	const char *why;
	char run[300];

	snprintf(run, sizeof(run), "%s/run", dir);
	assert_int_equal(kbn_writer_open(run, cap, &why), 0);
}

static struct kbn_shape *shape(uint32_t kernel, uint32_t grid)
{
	const struct kbn_shape_key key = {.kernel = kernel, .grid = {grid, 1, 1}};

	return kbn_shape_of(thread, KBN_SLOT_LAUNCH, &key);
}

static bool is_shared(const struct kbn_shape *s)
{
	return s->slot->flags & KBN_SLOT_OVERFLOW;
}

/* Notes of full slots in the log. */
static unsigned notes(void)
{
	size_t bytes, at = sizeof(struct kbn_file_header);
	struct kbn_rec rec;
	struct kbn_rec_note note;
	char path[700];
	unsigned n = 0;
	uint8_t *log;

	snprintf(path, sizeof(path), "%s/" KBN_LOG_FILE, kbn_writer_proc_dir());
	log = load_file(path, &bytes);
	for (; at + sizeof(rec) + sizeof(note) <= bytes;
	     at += (sizeof(rec) + rec.bytes + 7) & ~7u) {
		memcpy(&rec, log + at, sizeof(rec));
		if (rec.commit != KBN_REC_COMMIT)
			break;
		memcpy(&note, log + at + sizeof(rec), sizeof(note));
		n += rec.kind == KBN_REC_NOTE && note.note == KBN_NOTE_SLOTS_FULL;
	}
	free(log);
	return n;
}

static void test_past_the_cap(void **state)
{
	struct kbn_shape *s;

	(void)state;
	open_writer(64);
	for (uint32_t i = 0; i < 64; i++)
		assert_false(is_shared(shape(1, i)));
	assert_int_equal(notes(), 0);
	s = shape(1, 64);
	assert_true(is_shared(s));
	assert_false(kbn_shape_may_improve(s));
	assert_ptr_equal(shape(1, 65), s);
	assert_ptr_not_equal(shape(2, 65), s);
	assert_false(is_shared(shape(1, 63)));
	assert_int_equal(notes(), 1);
}

/* Nobody gets a slot of its own for a moment, and everybody one that counts. */
static void test_while_the_file_does_not_grow(void **state)
{
	struct kbn_shape *s = NULL;
	uint32_t i = 0;

	(void)state;
	open_writer(4096);
	setenv("KBN_FAULT", "stall:1", 1);
	for (; i < 4000 && (!s || !is_shared(s)); i++) {
		s = shape(1, i);
		assert_non_null(s);
	}
	assert_in_range(i, 100, 3000);
	assert_true(kbn_shape_may_improve(s));
	/* Other kernels have their own slots, of those that were kept. */
	for (uint32_t kernel = 2; kernel < 34; kernel++) {
		assert_non_null(shape(kernel, i));
		assert_ptr_not_equal(shape(kernel, i), s);
	}
	usleep(400000);
	s = shape(1, i);
	assert_false(is_shared(s));
	assert_false(kbn_shape_may_improve(s));
	assert_int_equal(notes(), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_past_the_cap),
		CASE(test_while_the_file_does_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
