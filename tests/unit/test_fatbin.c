/*
 * test_fatbin.c - containers built here, entry by entry: walking, unpacking, choosing, damage.
 */
#include "fatbin.h"

#include <lz4.h>
#include <zstd.h>

#define MADE_BYTES (1 << 16)
#include "made.h"

static size_t container; /* offset of the current one */

static void begin(struct made *m)
{
	align(m, 8);
	container = m->n;
	put_number(m, FATBIN_MAGIC, 4);
	put_number(m, 1 | 16 << 16, 4);
	put_number(m, 0, 8);
}

/* One entry; returns its offset. `flags` chooses how the payload is packed. */
static size_t add(struct made *m, uint16_t kind, uint32_t sm, uint64_t flags, const void *data,
		  size_t bytes)
{
	size_t at = m->n, packed = bytes;
	uint8_t payload[1 << 15];

	if (flags & 0x2000)
		packed = (size_t)LZ4_compress_default(data, (char *)payload, (int)bytes,
						      sizeof(payload));
	else if (flags & 0x8000)
		packed = ZSTD_compress(payload, sizeof(payload), data, bytes, 3);
	else
		memcpy(payload, data, bytes);
	put_number(m, kind | 0x0101 << 16, 4);
	put_number(m, 72, 4); /* header with 8 bytes of options */
	put_number(m, (packed + 7) / 8 * 8, 8);
	put_number(m, flags & 0xa000 ? (uint32_t)packed : 0, 4);
	put_number(m, 64, 4);
	put_number(m, 8 << 16 | 3, 4);
	put_number(m, sm, 4);
	put_number(m, 0, 8);
	put_number(m, flags, 8);
	put_number(m, 0, 8);
	put_number(m, flags & 0xa000 ? bytes : 0, 8);
	put_number(m, 0x1122334455667788, 8);
	put(m, payload, packed);
	align(m, 8);
	set(m, container + 8, m->n - container - 16, 8);
	return at;
}

static void assert_unpacks(const struct fatbin_entry *entry, const void *data, size_t bytes)
{
	uint64_t budget = 1 << 20;
	struct err e = {0};
	uint8_t *out;
	size_t n;

	assert_int_equal(fatbin_unpack(entry, &budget, &out, &n, &e), 0);
	assert_true(n >= bytes && n < bytes + 8);
	assert_memory_equal(out, data, bytes);
	assert_int_equal(budget, (1 << 20) - n);
	free(out);
}

static char text[5000];

static void fill_text(void)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i * i % 17);
}

static void test_walk(void **state)
{
	struct made m = {0};
	struct fatbin_entry entry;
	struct fatbin f;
	struct err e = {0};
	size_t at[5];

	(void)state;
	fill_text();
	begin(&m);
	at[0] = add(&m, FATBIN_CUBIN, 80, 0x11, text, 1001);
	at[1] = add(&m, FATBIN_CUBIN, 90, 0x100011, text, 0);
	at[2] = add(&m, FATBIN_PTX, 90, 0x8011, text, 5000);
	put_number(&m, 0, 8); /* filling between containers */
	put_number(&m, 0, 8);
	begin(&m);
	at[3] = add(&m, FATBIN_PTX, 75, 0x2013, text, 4000);
	at[4] = add(&m, 77, 103, 0x200011, text, 16);

	struct tail_copy t = tail_copy(m.bytes, m.n);

	assert_int_equal(fatbin_open(&f, buf_of(t.data, m.n), &e), 0);
	for (int i = 0; i < 5; i++) {
		static const uint32_t sms[] = {80, 90, 90, 75, 103};
		static const uint16_t kinds[] = {FATBIN_CUBIN, FATBIN_CUBIN, FATBIN_PTX, FATBIN_PTX,
						 77};
		static const size_t sizes[] = {1001, 0, 5000, 4000, 16};

		assert_int_equal(fatbin_next(&f, &entry, &e), 1);
		assert_int_equal(entry.offset, at[i]);
		assert_int_equal(entry.sm, sms[i]);
		assert_int_equal(entry.kind, kinds[i]);
		assert_int_equal(entry.major, 8);
		assert_int_equal(entry.minor, 3);
		assert_int_equal(entry.is_arch_specific, i == 1);
		assert_int_equal(entry.is_family_specific, i == 4);
		assert_int_equal(entry.is_debug, i == 3);
		assert_unpacks(&entry, text, sizes[i]);
	}
	assert_int_equal(fatbin_next(&f, &entry, &e), 0);
	assert_int_equal(fatbin_next(&f, &entry, &e), 0);
	tail_free(&t);
}

/* The limit, and payloads that are not what the header says. */
static void test_unpack(void **state)
{
	struct made m = {0};
	struct fatbin_entry entry;
	struct fatbin f;
	struct err e = {0};
	uint64_t budget = 4999;
	uint8_t *out = NULL;
	size_t n, at;

	(void)state;
	fill_text();
	for (int zstd = 0; zstd < 2; zstd++) {
		m.n = 0;
		begin(&m);
		at = add(&m, FATBIN_CUBIN, 90, zstd ? 0x8011 : 0x2011, text, 5000);
		assert_int_equal(fatbin_open(&f, buf_of(m.bytes, m.n), &e), 0);
		assert_int_equal(fatbin_next(&f, &entry, &e), 1);
		assert_int_equal(fatbin_unpack(&entry, &budget, &out, &n, &e), -1);
		assert_int_equal(e.code, ERR_LIMIT);
		assert_int_equal(budget, 4999);
		for (uint64_t claim = 4998; claim <= 5002; claim += 4) {
			set(&m, at + 56, claim, 8); /* another size than the payload has */
			budget = 1 << 20;
			assert_int_equal(fatbin_open(&f, buf_of(m.bytes, m.n), &e), 0);
			assert_int_equal(fatbin_next(&f, &entry, &e), 1);
			assert_int_equal(fatbin_unpack(&entry, &budget, &out, &n, &e), -1);
			assert_int_equal(e.code, ERR_CORRUPT);
		}
		set(&m, at + 56, UINT64_MAX, 8);
		budget = UINT64_MAX;
		assert_int_equal(fatbin_open(&f, buf_of(m.bytes, m.n), &e), 0);
		assert_int_equal(fatbin_next(&f, &entry, &e), 1);
		assert_int_equal(fatbin_unpack(&entry, &budget, &out, &n, &e), -1);
		assert_int_equal(e.code, ERR_LIMIT);
		budget = 4999;
	}
	/* link-time code is marked as packed without being so */
	for (int zstd = 0; zstd < 2; zstd++) {
		m.n = 0;
		begin(&m);
		at = add(&m, FATBIN_LTO, 90, 0x11, "opaque bytes", 12);
		set(&m, at + 40, zstd ? 0x18011 : 0x12011, 8);
		set(&m, at + 16, 12, 4);
		set(&m, at + 56, 4000, 8);
		assert_int_equal(fatbin_open(&f, buf_of(m.bytes, m.n), &e), 0);
		assert_int_equal(fatbin_next(&f, &entry, &e), 1);
		assert_unpacks(&entry, "opaque bytes", 12);
	}
}

static void test_select(void **state)
{
	static const struct {
		const char *entries; /* c = cubin, p = PTX, l = LTO; then target with its suffix */
		uint32_t sm;
		const char *chosen; /* "" = none */
	} cases[] = {
		{"c80 c86 c90", 80, "c80"},
		{"c80 c86 c90", 86, "c86"},
		{"c80 c86 c90", 89, "c86"},
		{"c80 c86 c90", 75, ""},
		{"c80 c86 c90", 100, ""},
		{"c86 p80", 80, "p80"}, /* a newer minor does not run */
		{"c80 p70", 90, "p70"},
		{"p70 p80 p90", 86, "p80"},
		{"p80 c80", 86, "c80"}, /* machine code before PTX, also when that is nearer */
		{"p86 c80", 86, "c80"},
		{"c90 c90a", 90, "c90a"},
		{"c90a", 90, "c90a"},
		{"c90a p80", 100, "p80"},
		{"c100a c100f c100", 103, "c100f"},
		{"c100a c100f c100", 100, "c100a"},
		{"c100 c100f", 100, "c100f"},
		{"c103 c100f", 103, "c103"},
		{"c120f", 103, ""},
		{"c120f", 121, "c120f"},
		{"p90a p80", 90, "p90a"},
		{"p90a p80", 100, "p80"},
		{"p100f p90", 103, "p100f"},
		{"p100f p90", 120, "p90"},
		{"l90", 90, ""},
		{"", 90, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made m = {0};
		struct fatbin_entry entry;
		struct err e = {0};
		char list[64], chosen[16] = "", *word, *rest = list;

		strcpy(list, cases[i].entries);
		begin(&m);
		while ((word = strsep(&rest, " ")) && *word) {
			char suffix = word[strlen(word) - 1];

			add(&m,
			    *word == 'c'   ? FATBIN_CUBIN
			    : *word == 'p' ? FATBIN_PTX
					   : FATBIN_LTO,
			    (uint32_t)atoi(word + 1),
			    0x11 | (suffix == 'a'   ? 0x100000
				    : suffix == 'f' ? 0x200000
						    : 0),
			    "payload", 7);
		}
		if (fatbin_select(buf_of(m.bytes, m.n), cases[i].sm, &entry, &e) == 1)
			snprintf(chosen, sizeof(chosen), "%c%u%s",
				 entry.kind == FATBIN_CUBIN ? 'c' : 'p', entry.sm,
				 entry.is_arch_specific     ? "a"
				 : entry.is_family_specific ? "f"
							    : "");
		if (strcmp(chosen, cases[i].chosen))
			fail_msg("of \"%s\" sm_%u runs \"%s\", not \"%s\"", cases[i].entries,
				 cases[i].sm, cases[i].chosen, chosen);
	}
}

/* A damaged container costs itself; the next one is read. */
static void test_damage(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		enum err_code code;
	} cases[] = {
		{4, 9 | 16 << 16, ERR_VERSION}, /* container version */
		{4, 1 | 3 << 16, ERR_CORRUPT},  /* container header */
		{16 + 4, 8, ERR_CORRUPT},       /* entry header */
		{16 + 4, 1u << 30, ERR_CORRUPT},
		{16 + 8, 4096, ERR_CORRUPT}, /* payload past the container */
		{16 + 12, 0x80000000, ERR_CORRUPT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made m = {0};
		struct fatbin_entry entry;
		struct fatbin f;
		struct err e = {0};

		begin(&m);
		add(&m, FATBIN_CUBIN, 80, 0x11, "payload", 7);
		begin(&m);
		add(&m, FATBIN_CUBIN, 90, 0x11, "payload", 7);
		set(&m, cases[i].at, cases[i].value, 4);

		struct tail_copy t = tail_copy(m.bytes, m.n);

		assert_int_equal(fatbin_open(&f, buf_of(t.data, m.n), &e), 0);
		assert_int_equal(fatbin_next(&f, &entry, &e), -1);
		assert_int_equal(e.code, cases[i].code);
		assert_in_range(e.offset, 0, 16);
		assert_int_equal(fatbin_next(&f, &entry, &e), 1);
		assert_int_equal(entry.sm, 90);
		assert_int_equal(fatbin_next(&f, &entry, &e), 0);
		tail_free(&t);
	}
}

/* A container cut at any byte gives the entries that are whole. */
static void test_cut(void **state)
{
	struct made m = {0};
	size_t second;

	(void)state;
	fill_text();
	begin(&m);
	add(&m, FATBIN_CUBIN, 80, 0x8011, text, 3000);
	second = m.n;
	add(&m, FATBIN_CUBIN, 90, 0x2011, text, 3000);
	for (size_t n = 0; n <= m.n; n++) {
		struct tail_copy t = tail_copy(m.bytes, n);
		struct fatbin_entry entry;
		struct fatbin f;
		struct err e = {0};
		int rc, entries = 0;

		if (fatbin_open(&f, buf_of(t.data, n), &e) == 0) {
			while ((rc = fatbin_next(&f, &entry, &e))) {
				if (rc > 0)
					assert_unpacks(&entry, text, 3000);
				else
					assert_int_equal(e.code, ERR_TRUNCATED);
				entries += rc > 0;
			}
		}
		assert_int_equal(entries, (n >= second) + (n == m.n));
		tail_free(&t);
	}
}

/* Views: into the input where nothing is packed, else into one room that is used again. */
static void test_view(void **state)
{
	static const struct {
		uint64_t flags;
		size_t bytes;
	} entries[] = {{0x8011, 5000}, {0x11, 1001}, {0x2011, 3000}, {0x8011, 4999}};
	struct fatbin_room room = {0};
	struct fatbin_entry entry;
	struct made m = {0};
	struct fatbin f;
	struct err e = {0};
	const uint8_t *first = NULL;

	(void)state;
	fill_text();
	begin(&m);
	for (size_t i = 0; i < 4; i++)
		add(&m, FATBIN_CUBIN, 90, entries[i].flags, text, entries[i].bytes);
	assert_int_equal(fatbin_open(&f, buf_of(m.bytes, m.n), &e), 0);
	for (size_t i = 0; i < 4; i++) {
		bool is_stored = entries[i].flags == 0x11;
		struct buf view;

		assert_int_equal(fatbin_next(&f, &entry, &e), 1);
		assert_int_equal(fatbin_view(&entry, &room, &view, &e), 0);
		assert_in_range(view.bytes, entries[i].bytes, entries[i].bytes + 7);
		assert_memory_equal(view.data, text, entries[i].bytes);
		assert_int_equal(view.origin, 0);
		if (!first)
			first = view.data;
		assert_ptr_equal(view.data, is_stored ? entry.payload.data : first);
	}
	assert_int_equal(room.bytes, 5000);
	entry.bytes = 5001; /* a claim that is wrong, and one that is absurd */
	assert_int_equal(fatbin_view(&entry, &room, &(struct buf){0}, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	entry.bytes = FATBIN_ENTRY_MAX + 1;
	assert_int_equal(fatbin_view(&entry, &room, &(struct buf){0}, &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);
	free(room.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),   cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_select), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_cut),    cmocka_unit_test(test_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
