/*
 * test_line_table.c - source lines of the stored cubins against what the vendor's disassembler says
 * (EXPECTED), line programs of every DWARF version made here, and damage.
 */
#include "line_table.h"

#define MADE_BYTES 8192
#include "made.h"

#define GOLDEN "tests/golden/lines/"

struct opened {
	char name[64];
	uint8_t *data;
	struct cubin cubin;
	struct line_table table;
};

static void open_golden(struct opened *o, const char *name)
{
	char path[128];
	struct err e = {0};
	size_t bytes;

	snprintf(path, sizeof(path), GOLDEN "%s.cubin", name);
	snprintf(o->name, sizeof(o->name), "%s", name);
	o->data = load_file(path, &bytes);
	if (cubin_open(&o->cubin, buf_of(o->data, bytes), &e) < 0 ||
	    line_table_open(&o->table, &o->cubin, &e) < 0)
		fail_msg("%s: %s", path, e.text);
}

static void close_golden(struct opened *o)
{
	if (!o->data)
		return;
	line_table_close(&o->table);
	cubin_close(&o->cubin);
	free(o->data);
	*o = (struct opened){0};
}

/* "file:line" of an instruction and of the calls around it, "-" = none. */
static void describe(const struct opened *o, uint32_t function, uint32_t offset, char text[512])
{
	const struct line_row *row = line_table_find(&o->table, function, offset);
	int n = snprintf(text, 512, row ? "%s" : "-", "");

	for (; row; row = line_table_caller(&o->table, row)) {
		const struct line_file *f = &o->table.files[row->file];

		assert_true(!row->inlined[0] || row->caller != LINE_NONE);
		n += snprintf(text + n, (size_t)(512 - n), "%s%s/%s:%u", n ? " " : "", f->directory,
			      f->name, row->line);
		assert_in_range(n, 1, 511);
	}
}

/* Every instruction from `from` up to `to` has the lines that EXPECTED states for `from`. */
static unsigned check_stretch(const struct opened *o, uint32_t function, uint32_t from, uint32_t to,
			      const char *expected)
{
	unsigned n = 0;

	for (uint32_t at = from; at < to; at += 16, n++) {
		char text[512];

		describe(o, function, at, text);
		if (strcmp(text, expected))
			fail_msg("%s %s+0x%x: %s, expected %s", o->name,
				 o->cubin.functions[function].name, at, text, expected);
	}
	return n;
}

static void test_golden(void **state)
{
	char line[1024], name[64], function[128], lines[512], last[512] = "";
	struct opened o = {0};
	uint32_t from = 0, index = 0;
	unsigned offset, checked = 0, chains = 0;
	FILE *f = fopen(GOLDEN "EXPECTED", "r");

	(void)state;
	assert_non_null(f);
	for (;;) {
		bool is_row = fgets(line, sizeof(line), f);
		const struct cubin_function *same = NULL;

		if (is_row) {
			assert_int_equal(sscanf(line, "%63s %127s %x %511[^\n]", name, function,
						&offset, lines),
					 4);
			same = o.data && !strcmp(name, o.name) ? cubin_find(&o.cubin, function)
							       : NULL;
		}
		if (o.data)
			checked += check_stretch(
				&o, index, from,
				same == &o.cubin.functions[index]
					? offset
					: (uint32_t)o.cubin.functions[index].code.bytes,
				last);
		if (!is_row)
			break;
		if (!o.data || strcmp(name, o.name)) {
			close_golden(&o);
			open_golden(&o, name);
		}
		assert_non_null(cubin_find(&o.cubin, function));
		index = (uint32_t)(cubin_find(&o.cubin, function) - o.cubin.functions);
		from = offset;
		strcpy(last, lines);
		chains += strstr(lines, "lines.h:6 ") && strstr(lines, "lines.h:11 ") &&
			  strstr(lines, "lines.cu:");
	}
	close_golden(&o);
	fclose(f);
	assert_true(checked > 500);
	assert_true(chains >= 5); /* code inlined through two levels */
}

/*
 * Names of inlined functions: the body of each is one line of these sources. A unit that was linked behind
 * others has its names at a base of its own; where the linker has left that out they are not known.
 */
static void test_inlined_names(void **state)
{
	static const struct {
		const char *file;
		uint32_t line;
		const char *name;
	} functions[] = {
		{"link.h", 6, "_Z4cubefPKf"},
		{"link.h", 11, "_Z5twicefPKf"},
		{"link_b.cu", 6, "_Z5alonefPKf"},
	};
	static const char *const cubins[] = {"linked.sm_75", "linked.sm_90"};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		unsigned named = 0, second = 0;
		struct opened o;
		uint32_t outside;

		open_golden(&o, cubins[k]);
		outside = (uint32_t)(cubin_find(&o.cubin, "_Z7outsidefPKf") - o.cubin.functions);
		for (size_t i = 0; i < o.table.rows_n; i++) {
			const struct line_row *row = &o.table.rows[i];
			const char *file =
				o.table.files[row->file == LINE_NONE ? 0 : row->file].name;
			const char *expected = "";

			for (size_t f = 0; f < 3 && row->caller != LINE_NONE; f++)
				if (!strcmp(file, functions[f].file) &&
				    row->line == functions[f].line)
					expected = functions[f].name;
			if (k && row->function == outside)
				expected = "";
			assert_string_equal(row->inlined, expected);
			named += *expected != '\0';
			second += *expected && row->function == outside;
		}
		assert_true(named >= 3);
		assert_true(k ? !second : second >= 2);
		close_golden(&o);
	}
}

/* ---- cubins made here: one function, one symbol, one relocation */

#define PUT(m, ...) put(m, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static const char section_names[] = "\0.text.k\0.symtab\0.strtab\0.debug_line\0.rela.debug_line\0"
				    ".debug_line_str\0.debug_str\0.rel.debug_line";
static const char symbol_names[] = "\0k";

static uint32_t name_at(const char *name)
{
	const char *at = memmem(section_names, sizeof(section_names), name, strlen(name) + 1);

	assert_non_null(at);
	return (uint32_t)(at - section_names);
}

/* A cubin for sm_90 around a .debug_line whose address at `address_at` is relocated to k + 16. */
static void wrap(struct made *out, const struct made *lines, size_t address_at, const char *strings,
		 size_t strings_bytes, bool is_rela)
{
	static const uint8_t code[256];
	const struct {
		const char *name;
		uint32_t type, link, info;
		const void *data;
		size_t bytes;
	} parts[] = {
		{"", 0, 0, 0, NULL, 0},
		{".text.k", 1, 0, 0, code, sizeof(code)},
		{".symtab", 2, 3, 1, NULL, 0},
		{".strtab", 3, 0, 0, symbol_names, sizeof(symbol_names)},
		{".debug_line", 1, 0, 0, lines->bytes, lines->n},
		{is_rela ? ".rela.debug_line" : ".rel.debug_line", is_rela ? 4 : 9, 2, 4, NULL, 0},
		{is_rela ? ".rel.debug_line" : ".rela.debug_line", is_rela ? 9 : 4, 2, 4, NULL, 0},
		{".debug_line_str", 1, 0, 0, strings, strings_bytes},
		{".debug_str", 1, 0, 0, strings, strings_bytes},
		{"", 3, 0, 0, section_names, sizeof(section_names)},
	};
	size_t n = sizeof(parts) / sizeof(parts[0]), at[16], bytes[16];

	*out = (struct made){0};
	PUT(out, 0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0);
	put_number(out, 2 | 190 << 16, 4);
	out->n = 48;
	put_number(out, 0x06005a04, 4);
	out->n = 58;
	put_number(out, 64 | n << 16 | (n - 1) << 32, 6);
	for (size_t i = 0; i < n; i++) {
		at[i] = out->n;
		if (i == 2) { /* a null symbol and the kernel */
			put(out, code, 24);
			put_number(out, 1 | 0x12ull << 32 | 0x10ull << 40 | 1ull << 48, 8);
			put_number(out, 0, 8);
			put_number(out, sizeof(code), 8);
		} else if (i == 5) {
			put_number(out, address_at, 8);
			put_number(out, 2 | 1ull << 32, 8);
			if (is_rela)
				put_number(out, 16, 8);
		} else if (parts[i].bytes) {
			put(out, parts[i].data, parts[i].bytes);
		}
		bytes[i] = out->n - at[i];
	}
	memcpy(out->bytes + 40, &(uint64_t){out->n}, 8);
	for (size_t i = 0; i < n; i++) {
		put_number(out, i ? name_at(parts[i].name) : 0, 4);
		put_number(out, parts[i].type, 4);
		put_number(out, 0, 8);
		put_number(out, 0, 8);
		put_number(out, at[i], 8);
		put_number(out, bytes[i], 8);
		put_number(out, parts[i].link, 4);
		put_number(out, parts[i].info, 4);
		put_number(out, 0, 8);
		put_number(out, 0, 8);
	}
}

static void put_old_names(struct made *m)
{
	put(m, "/src\0inc\0", 10);        /* directories 1 and 2, and the end */
	put(m, "a.cu\0\1\0\0", 8);        /* file 1 in directory 1 */
	put(m, "b.h\0\2\x81\1\0", 8);     /* file 2; a time of two bytes */
	put(m, "/abs/c.h\0\1\0\0\0", 13); /* file 3, and the end */
}

static void put_new_names(struct made *m, size_t width)
{
	/* .debug_line_str holds "/src", "inc", "a.cu" at 0, 5, 9; file 0 is file 1 once more */
	PUT(m, 1, 1, 0x1f, 3);
	put_number(m, 0, width);
	put_number(m, 0, width);
	put_number(m, 5, width);
	PUT(m, 3, 1, 0x1f, 2, 0x0b, 5, 0x1e, 4);
	for (int i = 0; i < 4; i++) {
		static const uint8_t names[4] = {9, 9, 14, 18}, directories[4] = {1, 1, 2, 0};

		put_number(m, names[i], width);
		put_number(m, directories[i], 1);
		put_number(m, i, 8); /* MD5 */
		put_number(m, i, 8);
	}
}

static const char new_strings[] = "/src\0inc\0a.cu\0b.h\0/abs/c.h";

/* Returns where the address stands. A program with an opcode of each kind. */
static size_t make_lines(struct made *m, unsigned version, bool is_64)
{
	size_t start, header, end, address, width = is_64 ? 8 : 4;

	*m = (struct made){0};
	if (is_64)
		put_number(m, UINT32_MAX, 4);
	start = m->n;
	put_number(m, 0, width); /* length, below */
	put_number(m, version, 2);
	if (version == 5)
		PUT(m, 8, 0);
	header = m->n;
	put_number(m, 0, width); /* length of the header, below */
	put_number(m, 1, 1);
	if (version >= 4)
		put_number(m, 1, 1);
	PUT(m, 1, (uint8_t)-5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1);
	if (version < 5)
		put_old_names(m);
	else
		put_new_names(m, width);
	if (!is_64)
		put_number(m, 3, 4); /* where names of inlined functions begin */
	end = m->n;
	PUT(m, 0, 0, 0, 0); /* nothing, twice */
	PUT(m, 0, 9, 2);    /* set address */
	address = m->n;
	put_number(m, 16, 8);         /* counts only when the relocation has no addend of its own */
	PUT(m, 3, 9, 5, 7, 1);        /* line 10, column 7, row 1: at 16 */
	PUT(m, 13 + 16 * 14 + 5 + 2); /* 16 on, line 12, row 2 */
	PUT(m, 0, 3, 0x90, 1, is_64 ? 5 : 2); /* inlined by row 1: the name at 5 */
	PUT(m, 4, 2, 3, 0x7d, 2, 16, 1);      /* file 2, line 9, 16 on, row 3 */
	PUT(m, 0, 3, 0x90, 0, 0);             /* out again */
	PUT(m, 4, 3, 9, 16, 0);               /* file 3, 16 on */
	PUT(m, 6, 10, 12, 9, 1);              /* three opcodes that say nothing here, row 4 */
	PUT(m, 8, 1);                         /* 17 on: const_add_pc, row 5 */
	PUT(m, 0, 2, 0x42, 1);                /* an extended opcode nobody knows */
	PUT(m, 2, 0x80, 1, 0, 1, 1);          /* 128 on, the end */
	memcpy(m->bytes + start, &(uint64_t){m->n - start - width}, width);
	memcpy(m->bytes + header, &(uint64_t){end - header - width}, width);
	return address;
}

static void check_made(const struct line_table *t)
{
	static const struct {
		uint32_t from;
		const char *directory, *file;
		uint32_t line, column;
	} rows[] = {
		{16, "/src", "a.cu", 10, 7}, {32, "/src", "a.cu", 12, 7}, {48, "inc", "b.h", 9, 7},
		{64, "", "/abs/c.h", 9, 7},  {81, "", "/abs/c.h", 9, 7},
	};
	const struct line_row *row;

	assert_null(line_table_find(t, 0, 15));
	for (size_t i = 0; i < 5; i++) {
		uint32_t at = rows[i].from;

		for (uint32_t k = 0; k < 16; k++) {
			row = line_table_find(t, 0, at + k);
			assert_non_null(row);
			assert_int_equal(row->offset, at);
			assert_string_equal(t->files[row->file].directory, rows[i].directory);
			assert_string_equal(t->files[row->file].name, rows[i].file);
			assert_int_equal(row->line, rows[i].line);
			assert_int_equal(row->column, rows[i].column);
			assert_string_equal(row->inlined, i == 2 ? "inc" : "");
			assert_ptr_equal(line_table_caller(t, row),
					 i == 2 ? line_table_find(t, 0, 16) : NULL);
		}
	}
	assert_null(line_table_find(t, 0, 81 + 128));
	assert_null(line_table_find(t, 0, UINT32_MAX));
}

static void test_versions(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		unsigned version = 2 + i % 4;
		bool is_64 = i & 4, is_rela = i & 8;
		struct made lines, file;
		struct line_table t;
		struct cubin c;
		struct err e = {0};
		size_t address = make_lines(&lines, version, is_64);

		wrap(&file, &lines, address, new_strings, sizeof(new_strings), is_rela);
		assert_int_equal(cubin_open(&c, buf_of(file.bytes, file.n), &e), 0);
		assert_int_equal(c.functions_n, 1);
		if (line_table_open(&t, &c, &e) < 0)
			fail_msg("version %u: %s at %ld", version, e.text, (long)e.offset);
		check_made(&t);
		line_table_close(&t);
		cubin_close(&c);
	}
}

/* Where a sequence ends and, in another, code begins, that code has its line. */
static void test_end_and_begin(void **state)
{
	struct made lines, file;
	struct line_table t;
	struct cubin c;
	struct err e = {0};
	size_t address = make_lines(&lines, 4, false);
	/* after the first row: back to the end of the sequence at the place of that row */
	static const uint8_t end[] = {0, 1, 1};

	(void)state;
	memcpy(lines.bytes + address + 8 + 5, end, sizeof(end));
	lines.n = address + 8 + 5 + sizeof(end);
	memcpy(lines.bytes, &(uint32_t){(uint32_t)lines.n - 4}, 4);
	wrap(&file, &lines, address, new_strings, sizeof(new_strings), true);
	assert_int_equal(cubin_open(&c, buf_of(file.bytes, file.n), &e), 0);
	assert_int_equal(line_table_open(&t, &c, &e), 0);
	assert_int_equal(t.rows_n, 2);
	assert_non_null(line_table_find(&t, 0, 16));
	assert_int_equal(line_table_find(&t, 0, 16)->line, 10);
	line_table_close(&t);
	cubin_close(&c);
}

/* A program without a relocation belongs to no function; a cubin without lines has none. */
static void test_no_lines(void **state)
{
	struct made lines, none = {0}, file;
	struct line_table t;
	struct cubin c;
	struct err e = {0};
	size_t address = make_lines(&lines, 2, false);

	(void)state;
	for (int i = 0; i < 2; i++) {
		wrap(&file, i ? &none : &lines, address + 1, new_strings, sizeof(new_strings),
		     true);
		assert_int_equal(cubin_open(&c, buf_of(file.bytes, file.n), &e), 0);
		assert_int_equal(line_table_open(&t, &c, &e), 0);
		assert_int_equal(t.rows_n, 0);
		assert_null(line_table_find(&t, 0, 16));
		line_table_close(&t);
		cubin_close(&c);
	}
}

/* Cut at any byte and with any byte changed: rows of the function with files of the table, or an error. */
static void test_hostile(void **state)
{
	(void)state;
	for (unsigned version = 2; version <= 5; version++) {
		struct made lines, file;
		size_t address = make_lines(&lines, version, false), whole = lines.n, refused = 0;

		for (size_t i = 0; i < 2 * whole; i++) {
			struct made m = lines;
			struct tail_copy copy;
			struct line_table t;
			struct cubin c;
			struct err e = {0};

			if (i < whole)
				m.n = i;
			else
				m.bytes[i - whole] ^= 0xff;
			wrap(&file, &m, address, new_strings, sizeof(new_strings), true);
			copy = tail_copy(file.bytes, file.n);
			assert_int_equal(cubin_open(&c, buf_of(copy.data, file.n), &e), 0);
			if (line_table_open(&t, &c, &e) < 0) {
				assert_true(e.offset > 0 && e.offset < (int64_t)file.n);
				refused++;
			} else {
				/* less than a length is no unit */
				assert_true(i >= whole || i < 4);
				for (size_t k = 0; k < t.rows_n; k++) {
					assert_int_equal(t.rows[k].function, 0);
					assert_true(t.rows[k].file == LINE_NONE ||
						    t.rows[k].file < t.files_n);
				}
				line_table_close(&t);
			}
			cubin_close(&c);
			tail_free(&copy);
		}
		assert_true(refused >= whole - 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),   cmocka_unit_test(test_inlined_names),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_end_and_begin),
		cmocka_unit_test(test_no_lines), cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
