/*
 * test_cubin.c - the stored cubins against what their assembler said of them (RESOURCES), the two
 * header layouts, what is listed of functions, and damaged files. Run from the top of the tree, as all tests are.
 */
#include "cubin.h"

#include <string.h>

#include "elf.h"
#include "kbn_test.h"

#define GOLDEN "tests/golden/cubin/"
#define LINES  "tests/golden/lines/"

static void test_resources(void **state)
{
	char line[512], file[128], kernel[256], path[256];
	unsigned registers, barriers, shared, stack, stores, loads, checked = 0, sms = 0;
	FILE *f = fopen(GOLDEN "RESOURCES", "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const struct cubin_function *k;
		struct err e = {0};
		struct cubin c;
		size_t bytes;
		void *data;

		assert_int_equal(sscanf(line, "%127s %255s %u %u %u %u %u %u", file, kernel,
					&registers, &barriers, &shared, &stack, &stores, &loads),
				 8);
		snprintf(path, sizeof(path), GOLDEN "%s.cubin", file);
		data = load_file(path, &bytes);
		if (cubin_open(&c, buf_of(data, bytes), &e) < 0)
			fail_msg("%s: %s at %ld", file, e.text, (long)e.offset);
		assert_int_equal(c.sm, atoi(strrchr(file, '_') + 1));
		assert_int_equal(c.cuda_version, 130);
		assert_int_equal(c.virtual_sm, c.sm);
		assert_int_equal(c.is_debug, !strncmp(file, "debug_bad.", 10)); /* built with -G */
		assert_false(c.is_relocatable);
		assert_non_null(strstr(c.command, "-arch sm_"));
		k = cubin_find(&c, kernel);
		if (!k)
			fail_msg("%s: no kernel %s", file, kernel);
		assert_true(k->is_kernel);
		assert_true(k->code.bytes >= 128 && k->code.bytes % 128 == 0);
		if (k->registers != registers || k->barriers != barriers ||
		    k->static_smem_bytes != shared || k->frame_bytes != stack)
			fail_msg(
				"%s %s: %u registers %u barriers %u shared %u stack, assembler: %u %u %u %u",
				file, kernel, k->registers, k->barriers, k->static_smem_bytes,
				k->frame_bytes, registers, barriers, shared, stack);
		assert_int_equal(k->spills > 0, stores + loads > 0);
		assert_true(k->spills * 16ull >=
			    stores + loads); /* at most 16 bytes by one instruction */
		assert_false(k->uses_syscalls);
		assert_true(k->params_n > 0);
		assert_int_equal(k->param_base, c.sm < 90 ? 0x160 : c.sm == 90 ? 0x210 : 0x380);
		assert_int_equal(k->const0_bytes, k->param_base + k->param_bytes);
		for (size_t i = 0; i < k->params_n; i++)
			assert_true(k->params[i].bytes &&
				    k->params[i].offset + k->params[i].bytes <= k->param_bytes);
		assert_null(cubin_find(&c, "no such kernel"));
		sms |= 1u << (c.sm / 10);
		cubin_close(&c);
		free(data);
		checked++;
	}
	fclose(f);
	assert_true(checked >= 100);
	assert_int_equal(sms, 1u << 8 | 1u << 9 | 1u << 10 | 1u << 12);
}

/*
 * The header as CUDA up to 12 wrote it: made from a stored cubin by moving the SM number and taking
 * the new ABI mark away. On sm_90 the section has what the system takes as well, by either header.
 */
static void test_old_header(void **state)
{
	static const uint8_t old[] = {0x33, 7};
	const uint32_t flags = 90u << 16 | 0x500 | 90;
	const struct cubin_function *a, *b;
	struct err e = {0};
	struct cubin new_abi, old_abi;
	size_t bytes;
	uint8_t *data = load_file(GOLDEN "bank_conflict_bad.sm_90.cubin", &bytes),
		*patched = malloc(bytes);

	(void)state;
	memcpy(patched, data, bytes);
	memcpy(patched + 7, old, 2);
	memcpy(patched + 48, &flags, 4);
	assert_int_equal(cubin_open(&new_abi, buf_of(data, bytes), &e), 0);
	assert_int_equal(cubin_open(&old_abi, buf_of(patched, bytes), &e), 0);
	assert_int_equal(new_abi.abi, 8);
	assert_int_equal(old_abi.abi, 7);
	assert_int_equal(new_abi.sm, 90);
	assert_int_equal(old_abi.sm, 90);
	a = &new_abi.functions[0];
	b = &old_abi.functions[0];
	assert_int_equal(a->static_smem_bytes, 4096);
	assert_int_equal(b->static_smem_bytes, a->static_smem_bytes);
	assert_int_equal(a->registers, b->registers);
	cubin_close(&new_abi);
	cubin_close(&old_abi);
	free(data);
	free(patched);
}

/*
 * The wide form of a parameter record has marks of pointers above the size. Made from a record of
 * the old form: format 4, code 0x17, 12 bytes.
 */
static void test_wide_parameters(void **state)
{
	static const uint8_t record[] = {0x04, 0x17, 0x0c, 0x00};
	struct err e = {0};
	struct cubin c;
	size_t bytes, changed = 0;
	uint8_t *data = load_file(GOLDEN "uncoalesced_bad.sm_120.cubin", &bytes);

	(void)state;
	for (size_t i = 0; i + 16 <= bytes; i += 4) {
		uint32_t word;

		if (memcmp(data + i, record, sizeof(record)))
			continue;
		memcpy(&word, data + i + 12, 4);
		word = 0x05000000 | word >> 18;
		memcpy(data + i + 12, &word, 4);
		data[i + 1] = 0x45;
		changed++;
	}
	assert_true(changed > 0);
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	/* the clone in another encoding has such records too, and is not read */
	assert_in_range(c.functions[0].params_n, 1, changed);
	for (size_t i = 0; i < c.functions[0].params_n; i++)
		assert_true(c.functions[0].params[i].offset + c.functions[0].params[i].bytes <=
			    c.functions[0].param_bytes);
	cubin_close(&c);
	free(data);
}

/* A debug section with a size and no data, as shipped libraries have them, is no reason to refuse. */
static void test_cut_sections(void **state)
{
	struct err e = {0};
	struct cubin c;
	size_t bytes;
	uint8_t *data = load_file(GOLDEN "uncoalesced_bad.sm_90.cubin", &bytes);
	uint64_t table, far = UINT64_MAX / 2;
	uint16_t sections;
	unsigned opened = 0;

	(void)state;
	memcpy(&table, data + 40, sizeof(table));
	memcpy(&sections, data + 60, sizeof(sections));
	for (unsigned i = 1; i < sections; i++) {
		uint8_t kept[8], *offset = data + table + i * 64u + 24;

		memcpy(kept, offset, 8);
		memcpy(offset, &far, 8);
		if (cubin_open(&c, buf_of(data, bytes), &e) == 0) {
			opened++;
			assert_int_equal(c.functions_n, 1);
			assert_true(c.functions[0].registers && c.functions[0].params_n);
			cubin_close(&c);
		} else {
			assert_int_equal(e.code, ERR_TRUNCATED);
		}
		memcpy(offset, kept, 8);
	}
	/* .debug_frame and relocations may be missing; code, symbols, attributes may not */
	assert_in_range(opened, 1, sections - 7);
	free(data);
}

/* A device linker gives shared memory a type of its own, at an offset that need not lie in the file. */
static void test_linked_shared_memory(void **state)
{
	struct err e = {0};
	struct cubin c;
	struct elf elf;
	size_t bytes;
	uint8_t *data = load_file(GOLDEN "bank_conflict_bad.sm_90.cubin", &bytes);
	const uint64_t offset = bytes;
	const uint32_t type = 0x7000000a;
	unsigned changed = 0;
	uint32_t smem;

	(void)state;
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	smem = c.functions[0].static_smem_bytes;
	cubin_close(&c);
	assert_int_equal(elf_open(&elf, buf_of(data, bytes), &e), 0);
	for (uint32_t i = 1; i < elf.sections_n; i++) {
		uint8_t *header = data + elf.sections_at + i * 64u;
		struct elf_section s;

		assert_int_equal(elf_section_at(&elf, i, &s, &e), 0);
		if (strncmp(s.name, ".nv.shared.", 11) != 0)
			continue;
		memcpy(header + 4, &type, sizeof(type));
		memcpy(header + 24, &offset, sizeof(offset));
		changed++;
	}
	assert_true(changed > 0 && smem > 0);
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	assert_int_equal(c.functions[0].static_smem_bytes, smem);
	cubin_close(&c);
	free(data);
}

static void test_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum err_code code;
	} cases[] = {
		{0, 0, ERR_FORMAT},        /* magic */
		{4, 1, ERR_VERSION},       /* 32 bits */
		{5, 2, ERR_VERSION},       /* big-endian */
		{18, 62, ERR_FORMAT},      /* x86-64 */
		{43, 0x7f, ERR_TRUNCATED}, /* section table far away */
		{49, 1, ERR_VERSION},      /* sm_1 */
		{58, 32, ERR_CORRUPT},     /* size of section headers */
		{62, 0xf0, ERR_CORRUPT},   /* section of names */
	};
	size_t bytes;
	uint8_t *data = load_file(GOLDEN "uncoalesced_bad.sm_90.cubin", &bytes);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t kept = data[cases[i].at];
		struct cubin c = {.sm = 4711};
		struct err e = {0};

		data[cases[i].at] = cases[i].value;
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), -1);
		assert_int_equal(e.code, cases[i].code);
		assert_true(e.offset >= 0);
		assert_int_equal(c.sm, 4711); /* the output is as it was */
		data[cases[i].at] = kept;
	}
	free(data);
}

/* Cut anywhere, and one byte changed anywhere: an answer or an error, never a read outside. */
static void test_hostile(void **state)
{
	size_t bytes, opened = 0, needed;
	uint8_t *data = load_file(GOLDEN "bank_conflict_bad.sm_90.cubin", &bytes);
	uint64_t table;
	uint16_t sections;

	(void)state;
	memcpy(&table, data + 40, sizeof(table));
	memcpy(&sections, data + 60, sizeof(sections));
	needed = (size_t)table + sections * 64u; /* only program headers follow */
	for (size_t n = 0; n < needed; n++) {
		struct tail_copy t = tail_copy(data, n);
		struct err e = {0};
		struct cubin c;

		assert_int_equal(cubin_open(&c, buf_of(t.data, n), &e), -1);
		assert_in_range(e.offset, 0, n < 64 ? n : needed);
		tail_free(&t);
	}
	for (size_t i = 0; i < bytes; i += i < 64 || i > bytes - 4096 ? 1 : 7) {
		uint8_t kept = data[i];
		struct err e = {0};
		struct cubin c;

		data[i] ^= 0xff;
		if (cubin_open(&c, buf_of(data, bytes), &e) == 0) {
			for (size_t k = 0; k < c.functions_n; k++)
				assert_true(c.functions[k].code.origin +
						    c.functions[k].code.bytes <=
					    bytes);
			cubin_close(&c);
			opened++;
		}
		data[i] = kept;
	}
	assert_true(opened > 100);
	free(data);
}

/* The record of EXIT offsets renamed: to the callees outside, and to the places that call them. */
static void test_syscalls(void **state)
{
	static const uint8_t exits[] = {0x04, 0x1c}, names[] = {0x0f, 0x46};

	(void)state;
	for (size_t i = 0; i < sizeof(names); i++) {
		const char *kernel = "uncoalesced_bad";
		const struct cubin_function *k;
		struct err e = {0};
		struct cubin c;
		size_t bytes;
		uint8_t *data = load_file(GOLDEN "uncoalesced_bad.sm_90.cubin", &bytes), *at;

		at = memmem(data, bytes, exits, sizeof(exits));
		assert_non_null(at);
		at[1] = names[i];
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
		k = cubin_find(&c, kernel);
		assert_non_null(k);
		assert_int_equal(k->exits.bytes, 0); /* that record it was */
		assert_true(k->uses_syscalls);
		cubin_close(&c);
		free(data);
	}
}

static uint8_t *open_lines(struct cubin *c, const char *name)
{
	struct err e = {0};
	char path[128];
	size_t bytes;
	uint8_t *data;

	snprintf(path, sizeof(path), LINES "%s.cubin", name);
	data = load_file(path, &bytes);
	if (cubin_open(c, buf_of(data, bytes), &e) < 0)
		fail_msg("%s: %s", name, e.text);
	return data;
}

/*
 * lines.cu on every architecture: the function out of line, the jump tables, the banks, the target
 * with its suffix. Where the branches are and where they lead was read off the disassembler's text.
 */
static void test_listed(void **state)
{
	static const struct {
		const char *name;
		uint32_t sm;
		char suffix;
		uint32_t part_at, branches, targets[4]; /* offset of each branch */
	} cases[] = {
		{"lines.sm_75", 75, 0, 0x3e0, 3, {0x110, 0x1b0, 0x2d0}},
		{"lines.sm_90a", 90, 'a', 0x410, 3, {0x140, 0x1e0, 0x300}},
		{"lines.sm_100f", 100, 'f', 0x440, 4, {0x140, 0x1e0, 0x310, 0x3b0}},
		{"lines.sm_120", 120, 0, 0x430, 4, {0x140, 0x1e0, 0x300, 0x3a0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cubin_function *f;
		unsigned own = 0, module = 0;
		struct cubin c;
		uint8_t *data = open_lines(&c, cases[i].name);

		assert_int_equal(c.sm, cases[i].sm);
		assert_int_equal(c.suffix, cases[i].suffix);
		assert_true(c.has_lines && !c.is_debug && !c.is_relocatable);
		assert_int_equal(c.functions_n, 1);
		f = &c.functions[0];
		assert_int_equal(f->param_base, cubin_layout(c.sm)->params);
		assert_int_equal(f->relocs_n, 0);
		assert_int_equal(f->parts_n, 1);
		assert_string_equal(f->parts[0].name, "$_Z8branchesPfPKfi$_Z4slowfi");
		assert_int_equal(f->parts[0].offset, cases[i].part_at);
		assert_int_equal(f->parts[0].offset + f->parts[0].bytes, f->code.bytes);
		assert_int_equal(f->branches_n, cases[i].branches);
		for (size_t k = 0; k < f->branches_n; k++) {
			assert_int_equal(f->branches[k].offset, cases[i].targets[k]);
			assert_int_equal(f->branches[k].targets_n, 3);
			for (size_t n = 0; n < 3; n++)
				assert_true(f->branches[k].targets[n] < f->parts[0].offset);
		}
		for (size_t k = 0; k < c.banks_n; k++) {
			const struct cubin_bank *b = &c.banks[k];

			assert_int_equal(b->bytes, b->data.bytes);
			if (b->function == CUBIN_ALL) { /* __constant__ float table[16] */
				module += b->number == 3 && b->bytes == 64;
				continue;
			}
			assert_int_equal(b->function, 0);
			/* the jump tables: a word for each target */
			own += b->number == 2 ? b->bytes == 12 * f->branches_n
					      : b->number == 0 && b->bytes == f->const0_bytes;
		}
		assert_int_equal(own, 2);
		assert_int_equal(module, 1);
		cubin_close(&c);
		free(data);
	}
}

/* Byte offset of the constant that an instruction reads, where it reads one. */
static uint32_t constant_of(const uint8_t *instruction)
{
	uint64_t word;

	memcpy(&word, instruction, sizeof(word));
	return word >> 38 & 0xffff;
}

/* Places that lie outside the code. The record of branches: 04 34, length, then {offset, 0, 3, targets}. */
static void test_places_outside(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *text;
	} cases[] = {
		{0, 0x10000, "indirect branch at no"},
		{0, 0x144, "indirect branch at no"},
		{8, 0x1000, "more targets"},
		{8, UINT32_MAX, "more targets"},
		{12, 0x10000, "target of an indirect branch at no"},
		{20, 0x8, "target of an indirect branch at no"},
	};
	struct err e = {0};
	struct cubin c;
	size_t bytes;
	uint8_t *data = load_file(LINES "lines.sm_90a.cubin", &bytes), *at;

	(void)state;
	at = memmem(data, bytes, "\4\64\110\0\100\1\0\0", 8); /* 72 bytes, a branch at 0x140 */
	assert_non_null(at);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t kept[4];

		memcpy(kept, at + 4 + cases[i].at, 4);
		memcpy(at + 4 + cases[i].at, &cases[i].value, 4);
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), -1);
		assert_int_equal(e.code, ERR_CORRUPT);
		assert_int_equal(e.offset, at + 4 - data);
		assert_non_null(strstr(e.text, cases[i].text));
		memcpy(at + 4 + cases[i].at, kept, 4);
	}
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);

	/* a function within the code that begins, and one that ends behind it */
	for (int i = 0; i < 2; i++) {
		const struct cubin_part part = c.functions[0].parts[0];
		const uint64_t place[2] = {part.offset, part.bytes}, far = 0x10000;

		at = memmem(data, bytes, place, sizeof(place));
		assert_non_null(at);
		memcpy(at + 8 * i, &far, 8);
		assert_int_equal(cubin_open(&(struct cubin){0}, buf_of(data, bytes), &e), -1);
		assert_int_equal(e.code, ERR_CORRUPT);
		memcpy(at, place, 16);
	}
	cubin_close(&c);
	free(data);
}

/* A relocation behind the code. */
static void test_reloc_outside(void **state)
{
	struct err e = {0};
	struct cubin c;
	uint8_t *data = open_lines(&c, "relocatable.sm_90"), *at;
	const struct cubin_reloc *r = cubin_find(&c, "_Z8branchesPfPKfi")->relocs;
	const uint64_t place = r->offset, far = cubin_find(&c, "_Z8branchesPfPKfi")->code.bytes;
	size_t bytes = c.file.bytes;

	(void)state;
	for (at = data; (at = memmem(at, (size_t)(data + bytes - at), &place, 8)); at++) {
		/* the type, which is not zero, follows */
		if (at + 12 <= data + bytes && !memcmp(at + 8, &r->type, 4))
			break;
	}
	assert_non_null(at);
	memcpy(at, &far, 8);
	cubin_close(&c);
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_int_equal(e.offset, at - data);
	free(data);
}

/* A kernel begins by loading its stack pointer; this one also reads the size of its block. */
static void test_layout(void **state)
{
	static const char *const names[] = {"75", "90a", "100f", "120"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct cubin_layout *layout;
		const struct cubin_function *f;
		bool has_block = false;
		char name[32];
		struct cubin c;
		uint8_t *data;

		snprintf(name, sizeof(name), "lines.sm_%s", names[i]);
		data = open_lines(&c, name);
		layout = cubin_layout(c.sm);
		f = &c.functions[0];
		assert_int_equal(constant_of(f->code.data), layout->stack);
		for (size_t at = 0; at < f->parts[0].offset; at += 16)
			has_block |= constant_of(f->code.data + at) == layout->block;
		assert_true(has_block);
		/* the grid follows the block, with a gap on newer ones, and the stack both */
		assert_in_range(layout->grid - layout->block, 12, 16);
		assert_in_range(layout->stack - layout->grid, 12, 28);
		cubin_close(&c);
		free(data);
	}
}

/* The frame of a function within a function: the record of the symbol that is not the kernel's. */
static void test_part_frame(void **state)
{
	struct err e = {0};
	struct cubin c;
	size_t bytes, changed = 0;
	uint8_t *data = load_file(LINES "lines.sm_90a.cubin", &bytes);
	uint32_t kernel;

	(void)state;
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	kernel = c.functions[0].symbol;
	assert_int_equal(c.functions[0].parts[0].frame_bytes, 0);
	cubin_close(&c);
	for (size_t i = 0; i + 12 <= bytes; i += 4) {
		uint32_t symbol, frame = 48;

		if (memcmp(data + i, "\4\21\10\0", 4))
			continue;
		memcpy(&symbol, data + i + 4, 4);
		if (symbol == kernel)
			continue;
		memcpy(data + i + 8, &frame, 4);
		changed++;
	}
	assert_int_equal(changed, 1);
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	assert_int_equal(c.functions[0].parts[0].frame_bytes, 48);
	assert_int_equal(c.functions[0].frame_bytes, 0);
	cubin_close(&c);
	free(data);
}

/* Relocatable code: device functions are functions of their own, calls and addresses are open. */
static void test_relocatable(void **state)
{
	const struct cubin_function *f, *slow;
	unsigned calls = 0;
	struct cubin c;
	uint8_t *data = open_lines(&c, "relocatable.sm_90");

	(void)state;
	assert_true(c.is_relocatable);
	assert_int_equal(c.functions_n, 2);
	f = cubin_find(&c, "_Z8branchesPfPKfi");
	slow = cubin_find(&c, "_Z4slowfi");
	assert_true(f && f->is_kernel && slow && !slow->is_kernel);
	assert_int_equal(f->parts_n, 0);
	assert_int_equal(f->relocs_n + slow->relocs_n, 8);
	for (size_t i = 0; i < f->relocs_n; i++) {
		const struct cubin_reloc *r = &f->relocs[i];

		assert_true(r->offset < f->code.bytes && r->offset % 16 == 0 && r->type);
		assert_true(!i || f->relocs[i - 1].offset <= r->offset);
		calls += !strcmp(r->symbol, "_Z4slowfi");
	}
	assert_int_equal(calls, 1);
	for (size_t i = 0; i < slow->relocs_n; i++)
		assert_string_equal(slow->relocs[i].symbol, "table");
	cubin_close(&c);
	free(data);
}

/* Every relocation of code, as readelf lists them: of both forms of sections, and none besides. */
static void test_relocations(void **state)
{
	char line[512], file[64], name[128], symbol[128], open[64] = "";
	unsigned offset, type, rows = 0, both = 0;
	long long addend;
	FILE *f = fopen("tests/golden/lines/RELOCATIONS", "r");
	uint8_t *data = NULL;
	struct cubin c = {0};

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const struct cubin_function *function;
		unsigned found = 0;

		assert_int_equal(sscanf(line, "%63s %127s %x %x %llx %127s", file, name, &offset,
					&type, &addend, symbol),
				 6);
		if (strcmp(file, open)) {
			cubin_close(&c);
			free(data);
			data = open_lines(&c, file);
			for (size_t i = 0; i < c.functions_n; i++)
				rows -= (unsigned)c.functions[i].relocs_n;
			strcpy(open, file);
		}
		function = cubin_find(&c, name);
		assert_non_null(function);
		for (size_t i = 0; i < function->relocs_n; i++) {
			const struct cubin_reloc *r = &function->relocs[i];

			assert_true(!i || r[-1].offset <= r->offset);
			found += r->offset == offset && r->type == type && r->addend == addend &&
				 !strcmp(r->symbol, symbol);
		}
		if (found != 1)
			fail_msg("%u times: %s", found, line);
		rows++;
		both |= 1u << (addend < 0) | 4u << (type == 0x70);
	}
	assert_int_equal(rows, 0); /* as many as the cubins have */
	assert_int_equal(both, 15);
	cubin_close(&c);
	free(data);
	fclose(f);
}

/* -G by each of its three marks, which the assembler leaves one by one as it is asked. */
static void test_debug(void **state)
{
	static const char *const marks[] = {".debug_info", ".nv_debug_info_reg_sass", " -g "};
	const size_t bytes = 12032;
	struct err e = {0};
	struct cubin c;
	uint8_t *data = open_lines(&c, "debug.sm_90");

	(void)state;
	assert_int_equal(c.file.bytes, bytes);
	assert_true(c.is_debug && c.has_lines);
	cubin_close(&c);
	for (size_t alone = 0; alone < 4; alone++) {
		char *changed[3] = {NULL};

		for (size_t i = 0; i < 3; i++) {
			char *at = memmem(data, bytes, marks[i], strlen(marks[i]) + (i < 2));

			assert_non_null(at);
			if (i != alone)
				changed[i] = at + strlen(marks[i]) - 2;
		}
		for (size_t i = 0; i < 3; i++)
			if (changed[i])
				*changed[i] ^= 1;
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
		assert_int_equal(c.is_debug, alone < 3);
		assert_true(c.has_lines);
		cubin_close(&c);
		for (size_t i = 0; i < 3; i++)
			if (changed[i])
				*changed[i] ^= 1;
	}
	free(data);
}

/* Every mark of a spill is at an LDL or STL: opcodes 0x983 and 0x387 in the low 12 bits. */
static void test_spills(void **state)
{
	static const char *const names[] = {"80", "90", "100", "120"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char path[96];
		size_t bytes, spills = 0;
		struct err e = {0};
		struct cubin c;
		uint8_t *data;

		snprintf(path, sizeof(path), GOLDEN "spill_bad.sm_%s.cubin", names[i]);
		data = load_file(path, &bytes);
		assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
		for (size_t k = 0; k < c.functions_n; k++) {
			const struct cubin_function *f = &c.functions[k];

			assert_true(f->has_annotations);
			for (size_t n = 0; n < f->spills; n++) {
				uint16_t opcode;

				assert_true(!n || f->spills_at[n - 1] < f->spills_at[n]);
				memcpy(&opcode, f->code.data + f->spills_at[n], 2);
				opcode &= 0xfff;
				assert_true(opcode == 0x983 || opcode == 0x387);
				spills++;
			}
		}
		assert_true(spills > 10);
		cubin_close(&c);
		free(data);
	}
}

/* Two records make one list. The record of a parameter becomes a second list of spills. */
static void test_two_records(void **state)
{
	const struct cubin_function *f;
	struct err e = {0};
	struct cubin c;
	size_t bytes, before;
	uint8_t *data = load_file(GOLDEN "spill_bad.sm_90.cubin", &bytes), *at;
	const uint32_t mark[2] = {1, 0x20};

	(void)state;
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	before = c.functions[0].spills;
	assert_true(before > 0);
	cubin_close(&c);
	/* parameters, 12 bytes each: 04 17 0c 00 */
	at = memmem(data, bytes, "\4\27\14\0", 4);
	assert_non_null(at);
	at[1] = 0x55;
	memcpy(at + 4, mark, 8);
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	f = &c.functions[0];
	assert_int_equal(f->spills, before + 1);
	assert_int_equal(f->spills_at[0], 0x20);
	cubin_close(&c);
	at[4] = 2; /* another kind of mark */
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), 0);
	assert_int_equal(c.functions[0].spills, before);
	cubin_close(&c);
	at[4] = 1;
	at[8] = 0x28; /* in the middle of an instruction */
	assert_int_equal(cubin_open(&c, buf_of(data, bytes), &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_int_equal(e.offset, at + 4 - data);
	free(data);
}

static void test_target(void **state)
{
	static const char *const names[] = {"75", "90a", "100f", "120"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char path[96], text[16];
		struct err e = {0};
		uint32_t sm = 0;
		size_t bytes;
		char suffix = 0;
		uint8_t *data;

		snprintf(path, sizeof(path), LINES "lines.sm_%s.cubin", names[i]);
		data = load_file(path, &bytes);
		assert_int_equal(cubin_target(buf_of(data, bytes), &sm, &suffix, &e), 0);
		snprintf(text, sizeof(text), "%u%s", sm, suffix ? (char[]){suffix, 0} : "");
		assert_string_equal(text, names[i]);
		assert_int_equal(cubin_target(buf_of(data, 100), &sm, &suffix, &e), -1);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_syscalls),
		cmocka_unit_test(test_old_header),
		cmocka_unit_test(test_wide_parameters),
		cmocka_unit_test(test_cut_sections),
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_places_outside),
		cmocka_unit_test(test_reloc_outside),
		cmocka_unit_test(test_part_frame),
		cmocka_unit_test(test_relocatable),
		cmocka_unit_test(test_relocations),
		cmocka_unit_test(test_debug),
		cmocka_unit_test(test_spills),
		cmocka_unit_test(test_two_records),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_linked_shared_memory),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
