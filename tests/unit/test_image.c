/* unit: shim */
/*
 * test_image.c - reading code images in place, and what of them is kept. Every image ends right
 * before an unreadable page: one byte read too far is a crash.
 */
#define MADE_BYTES 16384
#include "made.h"

#include "filer.h"
#include "image.h"
#include "image_scan.h"
#include "kbn_hash.h"
#include "state.h"
#include "sys.h"
#include "timing.h"
#include "writer.h"

/* --------------------------------------------------------------------------------- builders */

static void container_begin(struct made *m)
{
	const uint32_t head[4] = {CONTAINER_MAGIC, CONTAINER_HEADER << 16 | 1, 0, 0};

	m->n = 0;
	put(m, head, sizeof(head));
}

/* One entry whose payload is `fill` repeated; the container's payload size follows. */
static size_t entry(struct made *m, unsigned kind, uint32_t sm, uint64_t flags, char fill)
{
	uint8_t head[ENTRY_HEADER] = {0}, payload[40];
	size_t at = m->n;
	uint64_t total, bytes = sizeof(payload);
	uint32_t header = ENTRY_HEADER;

	memset(payload, fill, sizeof(payload));
	head[0] = (uint8_t)kind;
	memcpy(head + 4, &header, 4);
	memcpy(head + 8, &bytes, 8);
	memcpy(head + 28, &sm, 4);
	memcpy(head + 40, &flags, 8);
	put(m, head, sizeof(head));
	put(m, payload, sizeof(payload));
	total = m->n - CONTAINER_HEADER;
	memcpy(m->bytes + 8, &total, 8);
	return at;
}

/* Places in an ELF file: header, one program header, three section headers, code. */
enum { PHDR = 64, SHDR = PHDR + 56, SECTION = 64, TEXT = SHDR + 3 * SECTION };

/* A cubin of `text` bytes of code with the given numbering of the SM. */
static void cubin(struct made *m, uint32_t sm, bool new_abi, size_t text)
{
	static const uint8_t code[TEXT + 256];

	m->n = 0;
	put(m, code, TEXT + text);
	set(m, 0, ELF_MAGIC, 4);
	set(m, 4, 2, 1); /* 64-bit */
	set(m, 5, 1, 1); /* little-endian */
	set(m, 7, new_abi ? 0x41 : 0x33, 1);
	set(m, 18, 190, 2); /* e_machine */
	set(m, 32, PHDR, 8);
	set(m, 40, SHDR, 8);
	set(m, 48, new_abi ? 0x06000004 | sm << 8 : 0x00500500 | sm, 4);
	set(m, 54, 56, 2);
	set(m, 56, 1, 2);
	set(m, 58, SECTION, 2);
	set(m, 60, 3, 2);
	set(m, PHDR + 8, TEXT, 8);
	set(m, PHDR + 32, text, 8);       /* p_filesz */
	set(m, PHDR + 40, 1 << 30, 8);    /* p_memsz: no bytes of the file */
	set(m, SHDR + SECTION + 4, 1, 4); /* PROGBITS */
	set(m, SHDR + SECTION + 24, TEXT, 8);
	set(m, SHDR + SECTION + 32, text, 8);
	set(m, SHDR + 2 * SECTION + 4, 8, 4); /* NOBITS */
	set(m, SHDR + 2 * SECTION + 32, 1 << 30, 8);
}

/* Extent of a guarded copy of the first `n` bytes; -1, or the length. */
static long extent(const struct made *m, size_t n, size_t limit, enum kbn_image_kind *kind)
{
	struct tail_copy t = tail_copy(m->bytes, n);
	size_t bytes = 0;
	int result = kbn_image_extent(t.data, limit, kind, &bytes);

	tail_free(&t);
	return result < 0 ? -1 : (long)bytes;
}

/* ----------------------------------------------------------------------------------- extents */

static void test_cubin_extent(void **state)
{
	enum kbn_image_kind kind = KBN_KIND_UNKNOWN;
	struct made m;

	(void)state;
	for (int abi = 0; abi < 2; abi++) {
		cubin(&m, 90, abi, 200);
		assert_int_equal(extent(&m, m.n, SIZE_MAX, &kind), m.n);
		assert_int_equal(kind, KBN_KIND_CUBIN);
		assert_int_equal(extent(&m, m.n, m.n, &kind), m.n);
		assert_int_equal(kbn_image_sm(m.bytes, m.n, KBN_KIND_CUBIN), 90);
		for (size_t n = 0; n < m.n; n++)
			assert_int_equal(extent(&m, n, n, &kind), -1);
	}
	cubin(&m, 120, true, 16);
	assert_int_equal(kbn_image_sm(m.bytes, m.n, KBN_KIND_CUBIN), 120);
}

/* Memory has no bytes in the file, and what follows the file is not ours to read. */
static void test_memory_sections_have_no_bytes(void **state)
{
	static const uint32_t types[] = {8, 0x70000007, 0x70000009, 0x7000000a, 0x70000015};
	enum kbn_image_kind kind;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		cubin(&m, 90, true, 64);
		set(&m, SHDR + 2 * SECTION + 4, types[i], 4);
		set(&m, SHDR + 2 * SECTION + 24, m.n, 8);
		set(&m, SHDR + 2 * SECTION + 32, 2048, 8);
		assert_int_equal(extent(&m, m.n, SIZE_MAX, &kind), m.n);
		assert_int_equal(extent(&m, m.n, m.n, &kind), m.n);
	}
	cubin(&m, 90, true, 64);
	set(&m, SHDR + 2 * SECTION + 4, 0x70000008, 4); /* initialised: bytes it has */
	assert_int_equal(extent(&m, m.n, m.n, &kind), -1);
}

static void test_large_section_count_stands_in_section_0(void **state)
{
	enum kbn_image_kind kind;
	struct made m;

	(void)state;
	cubin(&m, 90, true, 64);
	set(&m, 60, 0, 2);
	set(&m, SHDR + 32, 3, 8);
	assert_int_equal(extent(&m, m.n, m.n, &kind), m.n);
	set(&m, SHDR + 32, UINT64_MAX / SECTION + 2, 8); /* times 64 is small again */
	assert_int_equal(extent(&m, m.n, m.n, &kind), -1);
}

static void test_damaged_elf_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t bytes;
	} wrong[] = {
		{4, 1, 1},                  /* 32-bit */
		{5, 2, 1},                  /* big-endian */
		{32, UINT64_MAX - 8, 8},    /* program headers */
		{40, UINT64_MAX - 8, 8},    /* section headers */
		{40, (uint64_t)3 << 30, 8}, /* past the cap */
		{54, 8, 2},                 /* entry sizes */
		{58, 8, 2},
		{60, 0xffff, 2}, /* more sections than there is room for */
	};
	enum kbn_image_kind kind;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cubin(&m, 90, true, 64);
		set(&m, wrong[i].at, wrong[i].value, wrong[i].bytes);
		assert_int_equal(extent(&m, m.n, m.n, &kind), -1);
	}
}

static void test_container_extent(void **state)
{
	enum kbn_image_kind kind;
	struct made m;
	size_t one;

	(void)state;
	container_begin(&m);
	entry(&m, ENTRY_CUBIN, 90, 0, 'a');
	one = m.n;
	assert_int_equal(extent(&m, one, SIZE_MAX, &kind), one);
	assert_int_equal(kind, KBN_KIND_FATBIN);
	for (size_t n = 0; n < one; n++)
		assert_int_equal(extent(&m, n, n, &kind), -1);
	/* Two in a row count together only when it is known how far the memory goes. */
	memcpy(m.bytes + one, m.bytes, one);
	assert_int_equal(extent(&m, 2 * one, 2 * one, &kind), 2 * one);
	assert_int_equal(extent(&m, 2 * one, SIZE_MAX, &kind), one);
}

static void test_ptx_extent(void **state)
{
	static const struct {
		const char *text;
		bool is_ptx;
		uint32_t sm;
	} cases[] = {
		{".version 8.5\n.target sm_90a\n", true, 90},
		{"//\n// Generated\n//\n\n.version 8.5\n.target\tsm_100, debug\n", true, 100},
		{"/* a */ /**/.version 7.0\n", true, 0},
		{"  \r\n\t.version 7.0 .target texmode", true, 0},
		{"/*/ .version 7.0", false, 0},
		{"/* .version 7.0", false, 0},
		{"// .version 7.0", false, 0},
		{"version 7.0", false, 0},
		{".versio", false, 0},
		{"", false, 0},
	};
	enum kbn_image_kind kind;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].text);
		struct made m = {.n = 0};

		put(&m, cases[i].text, n + 1);
		/* In memory up to the NUL, in a file up to its end. */
		assert_int_equal(extent(&m, n + 1, SIZE_MAX, &kind),
				 cases[i].is_ptx ? (long)n : -1);
		assert_int_equal(extent(&m, n, n, &kind), cases[i].is_ptx ? (long)n : -1);
		if (cases[i].is_ptx)
			assert_int_equal(kbn_image_sm(m.bytes, n, KBN_KIND_PTX), cases[i].sm);
	}
}

/* ----------------------------------------------------------------------------------- choice */

#define A ENTRY_ARCH
#define F ENTRY_FAMILY
#define C ENTRY_CUBIN
#define P ENTRY_PTX

static void test_select(void **state)
{
	static const struct {
		struct {
			unsigned kind;
			uint32_t sm;
			uint64_t flags;
		} e[5];
		int sm, expected;
	} cases[] = {
		{{{C, 80, 0}, {C, 86, 0}, {C, 90, 0}}, 86, 1},
		{{{C, 80, 0}, {C, 86, 0}, {C, 90, 0}}, 89, 1}, /* highest minor not above */
		{{{C, 80, 0}, {C, 90, 0}}, 75, -1},
		{{{C, 80, 0}, {P, 70, 0}}, 75, 1}, /* another major: only PTX */
		{{{C, 80, 0}, {P, 80, 0}}, 90, 1},
		{{{P, 90, 0}, {C, 80, 0}}, 86, 1}, /* a cubin before any PTX */
		{{{C, 90, A}, {C, 90, 0}}, 90, 0}, /* a over plain */
		{{{C, 90, 0}, {C, 90, A}}, 90, 1},
		{{{C, 100, F}, {C, 100, 0}, {C, 100, A}}, 100, 2}, /* a over f over plain */
		{{{C, 100, 0}, {C, 100, F}}, 100, 1},
		{{{C, 100, A}, {C, 100, F}}, 103, 1}, /* a on exactly its SM, f in the family */
		{{{C, 100, A}, {P, 90, 0}}, 103, 1},
		{{{C, 100, F}, {P, 80, 0}}, 110, 1},            /* another family */
		{{{P, 80, 0}, {P, 90, 0}, {P, 100, 0}}, 90, 1}, /* highest PTX not above */
		{{{P, 90, A}, {P, 80, 0}}, 100, 1},
		{{{P, 90, A}, {P, 80, 0}}, 90, 0},
		{{{P, 100, F}, {P, 90, 0}}, 103, 0},
		{{{P, 100, F}, {P, 90, 0}}, 120, 1},
		{{{8, 90, 0}, {P, 50, 0}}, 90, 1}, /* LTO is nothing that runs */
		{{{8, 90, 0}}, 90, -1},
		{{{C, 121, 0}, {C, 120, 0}}, 120, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at[5] = {0};
		struct tail_copy t;
		struct made m;

		container_begin(&m);
		for (int k = 0; k < 5 && cases[i].e[k].kind; k++)
			at[k] = entry(&m, cases[i].e[k].kind, cases[i].e[k].sm, cases[i].e[k].flags,
				      'x');
		t = tail_copy(m.bytes, m.n);
		assert_int_equal(kbn_image_select(t.data, m.n, cases[i].sm),
				 cases[i].expected < 0 ? -1 : (long)at[cases[i].expected]);
		tail_free(&t);
	}
}

static void test_select_stops_at_damage(void **state)
{
	uint64_t huge = UINT64_MAX - 10;
	size_t second;
	struct made m;

	(void)state;
	container_begin(&m);
	entry(&m, C, 80, 0, 'x');
	second = entry(&m, C, 86, 0, 'y');
	memcpy(m.bytes + second + 8, &huge, 8);
	assert_int_equal(kbn_image_select(m.bytes, m.n, 86), CONTAINER_HEADER);
	assert_int_equal(kbn_image_select(m.bytes, CONTAINER_HEADER - 1, 86), -1);
	assert_int_equal(kbn_image_select(m.bytes, m.n, 0), -1);
}

/* ---------------------------------------------------------------------------------- capture */

static char dir[256];

static int setup(void **state)
{
	char run[300];
	const char *why;

	(void)state;
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

/* What the log says of one image. */
struct logged {
	struct kbn_rec_image image;
	struct kbn_rec_stored stored;
	uint32_t pairs[8];
	char path[100], why[100];
};

static struct logged logged(uint32_t id)
{
	size_t bytes, at = sizeof(struct kbn_file_header);
	struct logged l = {.image = {.image = 0}};
	char path[700];
	uint8_t *log;

	snprintf(path, sizeof(path), "%s/" KBN_LOG_FILE, kbn_writer_proc_dir());
	log = load_file(path, &bytes);
	while (at + sizeof(struct kbn_rec) <= bytes) {
		const struct kbn_rec *rec = (void *)(log + at);
		const uint8_t *data = (void *)(rec + 1);

		if (rec->commit != KBN_REC_COMMIT)
			break;
		if (rec->kind == KBN_REC_IMAGE && ((struct kbn_rec_image *)data)->image == id) {
			memcpy(&l.image, data, sizeof(l.image));
			memcpy(l.path, data + sizeof(l.image), l.image.path_bytes);
			memcpy(l.pairs, data + sizeof(l.image) + l.image.path_bytes,
			       l.image.jit_options * 8);
		}
		if (rec->kind == KBN_REC_STORED && ((struct kbn_rec_stored *)data)->image == id) {
			memcpy(&l.stored, data, sizeof(l.stored));
			memcpy(l.why, data + sizeof(l.stored), l.stored.why_bytes);
		}
		at += (sizeof(*rec) + rec->bytes + 7) & ~(size_t)7;
	}
	free(log);
	return l;
}

static void *stored_bytes(const struct logged *l, size_t *bytes)
{
	char path[700];
	int n = snprintf(path, sizeof(path), "%s/" KBN_CODE_DIR "/", kbn_writer_run_dir());

	for (int i = 0; i < 16; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", l->stored.hash[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".img");
	return load_file(path, bytes);
}

static void assert_stored(const struct logged *l, const void *data, size_t n)
{
	uint8_t hash[16];
	size_t bytes;
	void *back;

	assert_int_equal(l->stored.image, l->image.image);
	assert_int_equal(l->stored.stored_bytes, n);
	assert_int_equal(l->stored.why_bytes, 0);
	back = stored_bytes(l, &bytes);
	assert_int_equal(bytes, n);
	assert_memory_equal(back, data, n);
	kbn_hash128(back, bytes, hash);
	assert_memory_equal(hash, l->stored.hash, 16);
	free(back);
}

static void test_capture_cubin(void **state)
{
	static const int sms[] = {90};
	const uint32_t option[] = {7, 12};
	void *const value[] = {(void *)4, (void *)0x1ffffffffull};
	struct kbn_image_source s = {.origin = KBN_ORIGIN_LIBRARY,
				     .jit_options = 2,
				     .jit_option = option,
				     .jit_value = value};
	struct tail_copy t;
	struct logged l;
	struct made m;
	uint32_t id;

	(void)state;
	cubin(&m, 90, true, 200);
	t = tail_copy(m.bytes, m.n);
	s.data = t.data;
	id = kbn_image_capture(&s, sms, 1);
	tail_free(&t); /* the program may unload it before it is stored */
	assert_true(id > 0);
	l = logged(id);
	assert_int_equal(l.image.kind, KBN_KIND_CUBIN);
	assert_int_equal(l.image.origin, KBN_ORIGIN_LIBRARY);
	assert_int_equal(l.image.sm, 90);
	assert_int_equal(l.image.bytes, m.n);
	assert_int_equal(l.image.jit_options, 2);
	assert_int_equal(l.pairs[0], 7);
	assert_int_equal(l.pairs[1], 4);
	assert_int_equal(l.pairs[3], 0xffffffffu);
	assert_int_equal(kbn_image_finish(UINT64_MAX), 0);
	l = logged(id);
	assert_stored(&l, m.bytes, m.n);
}

static void test_capture_fatbin_keeps_the_choice(void **state)
{
	static const int sms[] = {86, 90, 89};
	const void *wrapper[3] = {NULL};
	uint32_t head[2] = {WRAPPER_MAGIC, 1};
	struct kbn_image_source s = {.data = wrapper, .origin = KBN_ORIGIN_MODULE};
	size_t a, b;
	struct made m, kept;
	struct logged l;
	uint32_t id;

	(void)state;
	container_begin(&m);
	entry(&m, C, 80, 0, '0');
	a = entry(&m, C, 86, 0, '6');
	b = entry(&m, C, 90, 0, '9');
	entry(&m, P, 80, 0, 'p');
	memcpy(wrapper, head, sizeof(head));
	wrapper[1] = m.bytes;
	id = kbn_image_capture(&s, sms, 3);
	assert_int_equal(kbn_image_finish(UINT64_MAX), 0);
	l = logged(id);
	assert_int_equal(l.image.kind, KBN_KIND_FATBIN);
	assert_int_equal(l.image.origin, KBN_ORIGIN_MODULE);
	assert_int_equal(l.image.sm, 86);
	assert_int_equal(l.image.bytes, m.n);
	container_begin(&kept);
	assert_int_equal(entry(&kept, C, 86, 0, '6'), CONTAINER_HEADER);
	entry(&kept, C, 90, 0, '9');
	assert_int_equal(b - a, 104);
	assert_stored(&l, kept.bytes, kept.n);
}

static void test_capture_fatbin_ptx_is_jit(void **state)
{
	static const int sms[] = {90};
	struct made m;
	struct kbn_image_source s = {.data = m.bytes, .origin = KBN_ORIGIN_LIBRARY};
	struct logged l;

	(void)state;
	container_begin(&m);
	entry(&m, C, 80, 0, '0');
	entry(&m, P, 80, 0, 'p');
	l = logged(kbn_image_capture(&s, sms, 1));
	assert_int_equal(l.image.origin, KBN_ORIGIN_JIT);
	assert_int_equal(l.image.sm, 80);
	/* Nothing that fits: said so. */
	l = logged(kbn_image_capture(&s, (const int[]){75}, 1));
	assert_int_equal(l.stored.stored_bytes, 0);
	assert_true(l.stored.why_bytes > 0);
	kbn_image_finish(UINT64_MAX);
}

static void test_capture_linked_containers(void **state)
{
	static const int sms[] = {90};
	struct made one, two;
	const void *list[] = {two.bytes, NULL};
	struct {
		uint32_t magic, version;
		const void *data, *linked;
	} wrapper = {WRAPPER_MAGIC, 2, one.bytes, list};
	struct kbn_image_source s = {.data = &wrapper, .origin = KBN_ORIGIN_MODULE};
	struct made kept;
	struct logged l;
	uint32_t id;

	(void)state;
	container_begin(&one);
	entry(&one, 8, 90, 0, 'l');
	container_begin(&two);
	entry(&two, C, 90, 0, 'c');
	id = kbn_image_capture(&s, sms, 1);
	kbn_image_finish(UINT64_MAX);
	container_begin(&kept);
	entry(&kept, C, 90, 0, 'c');
	l = logged(id);
	assert_stored(&l, kept.bytes, kept.n);
	assert_int_equal(l.image.bytes, one.n + two.n);
}

static void test_capture_file(void **state)
{
	static const int sms[] = {90};
	static const char text[] = ".version 8.0\n.target sm_80\n";
	char path[300];
	struct kbn_image_source s = {.path = path, .origin = KBN_ORIGIN_FILE};
	uint32_t trap[6] = {WRAPPER_MAGIC, 1, 8, 0, 8, 0};
	struct logged l;
	uint32_t id;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/k.ptx", dir);
	f = fopen(path, "w");
	fwrite(text, 1, strlen(text), f);
	fclose(f);
	id = kbn_image_capture(&s, sms, 1);
	kbn_image_finish(UINT64_MAX);
	l = logged(id);
	assert_string_equal(l.path, path);
	assert_int_equal(l.image.kind, KBN_KIND_PTX);
	assert_int_equal(l.image.origin, KBN_ORIGIN_JIT);
	assert_int_equal(l.image.sm, 80);
	assert_stored(&l, text, strlen(text));

	/* Pointers in a file are not ours to follow. */
	f = fopen(path, "w");
	fwrite(trap, 1, sizeof(trap), f);
	fclose(f);
	l = logged(kbn_image_capture(&s, sms, 1));
	assert_int_equal(l.image.kind, KBN_KIND_UNKNOWN);
	assert_true(l.stored.why_bytes > 0);

	unlink(path);
	l = logged(kbn_image_capture(&s, sms, 1));
	assert_true(l.image.image > 0);
	assert_true(l.stored.why_bytes > 0);
}

static void test_capture_survives_faults(void **state)
{
	static const int sms[] = {90};
	struct made m;
	struct kbn_image_source s = {.data = m.bytes, .origin = KBN_ORIGIN_MODULE};
	struct logged l;
	uint32_t id;

	(void)state;
	cubin(&m, 90, true, 100);
	setenv("KBN_FAULT", "alloc:1", 1);
	l = logged(kbn_image_capture(&s, sms, 1));
	assert_true(l.stored.why_bytes > 0);
	setenv("KBN_FAULT", "write:1+", 1);
	id = kbn_image_capture(&s, sms, 1);
	assert_int_equal(kbn_image_finish(UINT64_MAX), 0);
	l = logged(id);
	assert_true(l.stored.why_bytes > 0);
	assert_int_equal(l.stored.stored_bytes, 0);
	s.data = "no image at all";
	assert_true(kbn_image_capture(&s, sms, 1) > 0);
}

/* Where no thread could be made the load stores its image itself: an end may never come. */
static void test_stores_without_a_thread(void **state)
{
	static const int sms[] = {90};
	struct made m;
	struct kbn_image_source s = {.data = m.bytes, .origin = KBN_ORIGIN_MODULE};
	struct logged l;
	uint32_t id;

	(void)state;
	cubin(&m, 90, true, 150);
	setenv("KBN_FAULT", "alloc:2", 1); /* the copy, the thread */
	id = kbn_image_capture(&s, sms, 1);
	assert_false(kbn_filer_wake());
	l = logged(id);
	assert_stored(&l, m.bytes, m.n);
	assert_int_equal(kbn_image_finish(0), 0);
}

static struct hanging {
	struct kbn_job job;
	_Atomic bool go;
} hanging;

static void hang(struct kbn_job *job)
{
	(void)job;
	while (!hanging.go)
		usleep(1000);
}

/* Load number `n` of a text of `bytes` bytes: how long it takes, in ns. */
static uint64_t load(char *text, size_t bytes, unsigned n, uint32_t *id)
{
	static const int sms[] = {90};
	const struct kbn_image_source s = {
		.data = text, .bytes_hint = bytes, .origin = KBN_ORIGIN_MODULE};
	const uint64_t began = kbn_clock_ns();

	text[100] = (char)('a' + n);
	*id = kbn_image_capture(&s, sms, 1);
	return kbn_clock_ns() - began;
}

/* With a full queue and a disk that hangs, one load waits, and what was queued is not lost. */
static void test_full_queue_costs_one_wait(void **state)
{
	const size_t bytes = (size_t)65 << 20;
	char *text = malloc(bytes);
	struct logged l;
	uint64_t ns;
	uint32_t id, first;

	(void)state;
	memset(text, ' ', bytes);
	memcpy(text, ".version 8.5\n.target sm_90\n//", 29);
	text[bytes - 1] = '\0';
	memset(&hanging, 0, sizeof(hanging));
	hanging.job.run = hang;
	kbn_filer_post(&hanging.job);
	load(text, bytes, 0, &first);
	for (unsigned i = 1; i < 4; i++)
		load(text, bytes, i, &id);
	ns = load(text, bytes, 4, &id);
	assert_in_range(ns, 1900000000u, 10000000000u);
	for (unsigned i = 5; i < 8; i++)
		assert_in_range(load(text, bytes, i, &id), 0, 1500000000u);
	l = logged(id);
	assert_string_equal(l.why, "the disk is too slow");
	hanging.go = true;
	assert_int_equal(kbn_image_finish(UINT64_MAX), 0);
	l = logged(first);
	assert_int_equal(l.stored.stored_bytes, bytes - 1);
	free(text);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin_extent),
		cmocka_unit_test(test_memory_sections_have_no_bytes),
		cmocka_unit_test(test_large_section_count_stands_in_section_0),
		cmocka_unit_test(test_damaged_elf_is_refused),
		cmocka_unit_test(test_container_extent),
		cmocka_unit_test(test_ptx_extent),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_select_stops_at_damage),
		CASE(test_capture_cubin),
		CASE(test_capture_fatbin_keeps_the_choice),
		CASE(test_capture_fatbin_ptx_is_jit),
		CASE(test_capture_linked_containers),
		CASE(test_capture_file),
		CASE(test_capture_survives_faults),
		CASE(test_stores_without_a_thread),
		CASE(test_full_queue_costs_one_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
