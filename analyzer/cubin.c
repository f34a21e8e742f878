/*
 * cubin.c - reads a cubin: header, sections, symbols, relocations and notes.
 * Input: bytes of any origin. Output: struct cubin, or an error with the offset of the fault.
 * Leaves the attribute records of functions to cubin_info.c.
 *
 * Every section and every record is looked at once: a cubin of a mathematics library has thousands
 * of kernels, and a search by name for each would be quadratic.
 */
#include "cubin.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cubin_read.h"

#define NOTE_TOOL       0x7d0u
#define NOTE_CUDA       0x3e8u
#define SYMBOL_FUNCTION 2u
#define SYMBOL_SECTION  3u
#define SYMBOL_ENTRY    0x10u
#define RESERVED_SMEM   1024u
#define RELOC_BYTES     16u /* of a RELA one 8 more */
#define RELA            4u

int cubin_no_memory(const struct reader *r, struct err *e)
{
	return err_set(e, ERR_MEMORY, (int64_t)r->c->file.origin,
		       "out of memory while reading a cubin");
}

/* A section that is needed must lie within the file. */
static int check_whole(const struct reader *r, const struct elf_section *s, struct err *e)
{
	if (!s->is_cut)
		return 0;
	return err_set(e, ERR_TRUNCATED, (int64_t)(r->c->file.origin + r->elf.sections_at),
		       "section %.100s lies outside the cubin", s->name);
}

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* ---- header */

static int read_header(struct reader *r, struct err *e)
{
	struct cubin *c = r->c;

	if (elf_open(&r->elf, c->file, e) < 0)
		return -1;
	if (r->elf.machine != ELF_MACHINE_CUDA)
		return err_set(e, ERR_FORMAT, (int64_t)c->file.origin + 18,
			       "ELF file for machine %u, not CUDA", r->elf.machine);
	c->abi = r->elf.abi_version;
	c->sections_n = r->elf.sections_n;
	c->is_relocatable = r->elf.type == 1;
	c->sm = c->abi >= 8 ? r->elf.flags >> 8 & 0xffff : r->elf.flags & 0xff;
	if (c->abi < 8)
		c->virtual_sm = r->elf.flags >> 16 & 0xff;
	if (c->sm < 20 || c->sm > 999)
		return err_set(e, ERR_VERSION, (int64_t)c->file.origin + 48,
			       "cubin for the unknown architecture %u", c->sm);
	return 0;
}

/* ---- sections, first round: where the functions are */

static int add_text(struct reader *r, uint32_t index, const struct elf_section *s, struct err *e)
{
	struct cubin_function *f;

	if (check_whole(r, s, e) < 0)
		return -1;
	f = vec_add(&r->functions);
	if (!f)
		return cubin_no_memory(r, e);
	f->name = s->name + strlen(".text.");
	f->code = s->data;
	f->section = index;
	/* The register count stood here up to CUDA 12; REGCOUNT, where present, says the same. */
	f->registers = s->info >> 24;
	f->barriers = r->c->abi < 8 ? s->flags >> 20 & 0x7f : 0;
	r->of_section[index] = (uint32_t)r->functions.n;
	return 0;
}

static int find_sections(struct reader *r, struct err *e)
{
	for (uint32_t i = 1; i < r->elf.sections_n; i++) {
		struct elf_section s;

		if (elf_section_at(&r->elf, i, &s, e) < 0)
			return -1;
		if (starts(s.name, ".text.") && add_text(r, i, &s, e) < 0)
			return -1;
		/* The second one alone: PTX of another kind of build, assembled with -g. */
		if (!strcmp(s.name, ".debug_info") || !strcmp(s.name, ".nv_debug_info_reg_sass"))
			r->c->is_debug = true;
		if (!strcmp(s.name, ".debug_line"))
			r->c->has_lines = true;
		/* By name too: a cubin may hold a second table for its clone in another encoding. */
		if (s.type == ELF_SYMTAB && !strcmp(s.name, ".symtab")) {
			if (elf_section_at(&r->elf, s.link, &r->strings, e) < 0 ||
			    check_whole(r, &s, e) < 0 || check_whole(r, &r->strings, e) < 0)
				return -1;
			r->symtab = s;
		}
	}
	return 0;
}

static int add_part(struct reader *r, uint32_t index, const struct elf_symbol *s, struct err *e)
{
	uint32_t function = r->of_section[s->section] - 1;
	const struct buf *code = &r->functions.at[function].code;
	struct part *p;

	if (s->value > code->bytes || s->bytes > code->bytes - s->value || s->value > UINT32_MAX ||
	    s->bytes > UINT32_MAX)
		return err_set(e, ERR_CORRUPT, (int64_t)r->symtab.data.origin,
			       "function %.80s reaches past the end of its section", s->name);
	p = vec_add(&r->parts);
	if (!p)
		return cubin_no_memory(r, e);
	p->function = function;
	p->p.name = s->name;
	p->p.offset = (uint32_t)s->value;
	p->p.bytes = (uint32_t)s->bytes;
	r->part_of_symbol[index] = (uint32_t)r->parts.n;
	return 0;
}

static int find_symbols(struct reader *r, struct err *e)
{
	r->symbols_n = elf_symbols(&r->symtab);
	r->of_symbol = calloc((size_t)r->symbols_n + 1, sizeof(*r->of_symbol));
	r->part_of_symbol = calloc((size_t)r->symbols_n + 1, sizeof(*r->part_of_symbol));
	if (!r->of_symbol || !r->part_of_symbol)
		return cubin_no_memory(r, e);
	for (uint32_t i = 0; i < r->symbols_n; i++) {
		struct cubin_function *f;
		struct elf_symbol s;

		elf_symbol_at(&r->symtab, &r->strings, i, &s);
		if (s.type != SYMBOL_FUNCTION || s.section >= r->elf.sections_n ||
		    !r->of_section[s.section])
			continue;
		f = &r->functions.at[r->of_section[s.section] - 1];
		if (strcmp(s.name, f->name)) {
			if (add_part(r, i, &s, e) < 0)
				return -1;
			continue;
		}
		r->of_symbol[i] = r->of_section[s.section];
		f->symbol = i;
		f->is_kernel = s.other & SYMBOL_ENTRY;
	}
	return 0;
}

/* ---- relocations */

static const char *name_of_symbol(const struct reader *r, uint32_t index)
{
	struct elf_section section;
	struct elf_symbol s;

	if (index >= r->symbols_n)
		return "";
	elf_symbol_at(&r->symtab, &r->strings, index, &s);
	if (!*s.name && s.type == SYMBOL_SECTION &&
	    elf_section_at(&r->elf, s.section, &section, NULL) == 0)
		return section.name;
	return s.name;
}

static int add_relocs(struct reader *r, uint32_t function, const struct elf_section *s,
		      struct err *e)
{
	size_t entry = s->type == RELA ? RELOC_BYTES + 8 : RELOC_BYTES;
	struct buf b = s->data;

	while (buf_left(&b) >= entry) {
		struct reloc *n = vec_add(&r->relocs);
		int64_t where = buf_where(&b);

		if (!n)
			return cubin_no_memory(r, e);
		n->function = function;
		n->r.offset = buf_u64(&b);
		n->r.type = buf_u32(&b);
		n->r.symbol = name_of_symbol(r, buf_u32(&b));
		n->r.addend = s->type == RELA ? (int64_t)buf_u64(&b) : 0;
		if (n->r.offset >= r->functions.at[function].code.bytes)
			return err_set(e, ERR_CORRUPT, where,
				       "relocation behind the end of the code");
	}
	return 0;
}

/* ---- notes: who made it */

/* The letter behind the SM number of the command line's target: -arch sm_90a, or -arch=sm_90a. */
static char suffix_of(const char *command)
{
	const char *at = strstr(command, "-arch");

	at = at ? strstr(at, "sm_") : NULL;
	if (!at)
		return 0;
	at += 3;
	at += strspn(at, "0123456789");
	return *at == 'a' || *at == 'f' ? *at : 0;
}

/* Does the command line ask for code that a debugger can follow? It may leave out all debug sections. */
static bool asks_for_debug(const char *command)
{
	const char *at = command;

	while ((at = strstr(at, "-g"))) {
		if ((at == command || at[-1] == ' ') && (!at[2] || at[2] == ' '))
			return true;
		at += 2;
	}
	return false;
}

static void read_note(struct reader *r, const struct elf_section *s)
{
	struct buf b = s->data, desc;
	uint32_t name_bytes = buf_u32(&b), desc_bytes = buf_u32(&b), type = buf_u32(&b), command;
	const char *text;

	if (!buf_part(&s->data, 12 + (name_bytes + 3ull) / 4 * 4, desc_bytes, &desc))
		return;
	if (type == NOTE_CUDA) {
		buf_u16(&desc); /* version of the note */
		r->c->virtual_sm = buf_u16(&desc);
		r->c->cuda_version = buf_u16(&desc);
	} else if (type == NOTE_TOOL) {
		/* Six words, the last four of them offsets of strings behind: tool, release, build, command. */
		buf_seek(&desc, 20);
		command = buf_u32(&desc);
		text = buf_string(&desc, 24ull + command);
		if (buf_ok(&desc) && text) {
			r->c->command = text;
			if (suffix_of(text))
				r->c->suffix = suffix_of(text);
			r->c->is_debug |= asks_for_debug(text);
		}
	}
}

/* The sections that say for what and by whom the cubin was made. */
static int read_origin(struct reader *r, const struct elf_section *s, struct err *e)
{
	if (starts(s->name, ".note.nv."))
		read_note(r, s);
	return strcmp(s->name, ".nv.compat") ? 0 : cubin_compat(r, s, e);
}

/* ---- constant banks */

/* .nv.constant<number>, for all or with .<function> behind. */
static int add_bank(struct reader *r, const struct elf_section *s, struct err *e)
{
	const char *at = s->name + strlen(".nv.constant");
	struct cubin_bank *bank;
	uint32_t number = 0, function = CUBIN_ALL;

	for (; *at >= '0' && *at <= '9' && number < 1000; at++)
		number = number * 10 + (uint32_t)(*at - '0');
	if (*at == '.') {
		/* of a function that has no code here: nobody will ask for it */
		if (s->info >= r->elf.sections_n || !r->of_section[s->info])
			return 0;
		function = r->of_section[s->info] - 1;
		if (number == 0)
			r->functions.at[function].const0_bytes =
				s->bytes < UINT32_MAX ? (uint32_t)s->bytes : UINT32_MAX;
	} else if (*at) {
		return 0;
	}
	bank = vec_add(&r->banks);
	if (!bank)
		return cubin_no_memory(r, e);
	*bank = (struct cubin_bank){number, function, s->bytes, s->data};
	return 0;
}

/* See cubin.h. Measured by compiling a kernel that reads all of them. */
const struct cubin_layout *cubin_layout(uint32_t sm)
{
	static const struct {
		uint32_t from_sm;
		struct cubin_layout layout;
	} rows[] = {
		{100, {.block = 0x360, .grid = 0x370, .stack = 0x37c, .params = 0x380}},
		{90, {.block = 0x0, .grid = 0xc, .stack = 0x28, .params = 0x210}},
		{0, {.block = 0x0, .grid = 0xc, .stack = 0x28, .params = 0x160}},
	};
	size_t i = 0;

	while (sm < rows[i].from_sm)
		i++;
	return &rows[i].layout;
}

/* ---- sections, second round: what is known of the functions */

static uint32_t function_of(const struct reader *r, const struct elf_section *s, const char *prefix)
{
	if (!starts(s->name, prefix) || s->info >= r->elf.sections_n)
		return 0;
	return r->of_section[s->info];
}

static uint32_t clamp32(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static int read_section(struct reader *r, const struct elf_section *s, struct err *e)
{
	struct cubin *c = r->c;
	uint32_t f;

	if ((starts(s->name, ".nv.") || starts(s->name, ".note.nv.") ||
	     starts(s->name, ".rel.text.") || starts(s->name, ".rela.text.")) &&
	    check_whole(r, s, e) < 0)
		return -1;
	if (!strcmp(s->name, ".nv.info"))
		return cubin_module_info(r, s, e);
	if (starts(s->name, ".nv.constant"))
		return add_bank(r, s, e);
	if ((f = function_of(r, s, ".rela.text.")) || (f = function_of(r, s, ".rel.text.")))
		return add_relocs(r, f - 1, s, e);
	if ((f = function_of(r, s, ".nv.info.")))
		return cubin_function_info(r, f - 1, s, e);
	if ((f = function_of(r, s, ".nv.local."))) {
		r->functions.at[f - 1].local_bytes = clamp32(s->bytes);
	} else if ((f = function_of(r, s, ".nv.shared."))) {
		/*
		 * On sm_90 and newer with what the system takes: the same source has one size from CUDA 11.8
		 * to 13.2, and drivers report 1,024 less. A size below that comes from code that was linked
		 * again, and is the kernel's own.
		 */
		uint64_t reserved = c->sm >= 90 && s->bytes >= RESERVED_SMEM ? RESERVED_SMEM : 0;

		r->functions.at[f - 1].static_smem_bytes = clamp32(s->bytes - reserved);
	} else {
		return read_origin(r, s, e);
	}
	return 0;
}

static int read_sections(struct reader *r, struct err *e)
{
	for (uint32_t i = 1; i < r->elf.sections_n; i++) {
		struct elf_section s;

		if (elf_section_at(&r->elf, i, &s, e) < 0 || read_section(r, &s, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the result */

static int compare2(uint64_t a1, uint64_t b1, uint64_t a2, uint64_t b2)
{
	return a1 != b1 ? (a1 > b1) - (a1 < b1) : (a2 > b2) - (a2 < b2);
}

#define COMPARE(name, type, key)                                           \
	static int compare_##name(const void *va, const void *vb)          \
	{                                                                  \
		const struct type *a = va, *b = vb;                        \
                                                                           \
		return compare2(a->function, b->function, a->key, b->key); \
	}

COMPARE(params, param, ordinal)
COMPARE(spills, spill, offset)
COMPARE(branches, branch, b.offset)
COMPARE(parts, part, p.offset)
COMPARE(relocs, reloc, r.offset)

/* Sort a list of all functions' items and give each function its stretch of them. */
#define HAND_OUT(r, list, item, to, to_n, e)                                                       \
	do {                                                                                       \
		__typeof__(&(r)->list.at->item) all_ =                                             \
			arena_array((r)->c->arena, (r)->list.n, sizeof(*all_));                    \
                                                                                                   \
		if (!all_)                                                                         \
			return cubin_no_memory(r, e);                                              \
		vec_sort(&(r)->list, compare_##list);                                              \
		for (size_t i_ = 0; i_ < (r)->list.n; i_++) {                                      \
			struct cubin_function *f_ = &(r)->c->functions[(r)->list.at[i_].function]; \
                                                                                                   \
			all_[i_] = (r)->list.at[i_].item;                                          \
			if (!f_->to_n++)                                                           \
				f_->to = &all_[i_];                                                \
		}                                                                                  \
	} while (0)

static int index_functions(struct reader *r, struct err *e)
{
	struct cubin *c = r->c;

	for (size_t i = 0; i < c->functions_n; i++) {
		const char *name = c->functions[i].name;
		uint32_t *index = keymap_put(&c->by_name, c->arena, name, clamp32(strlen(name)));

		if (!index)
			return cubin_no_memory(r, e);
		if (*index == KEYMAP_NONE)
			*index = (uint32_t)i;
	}
	return 0;
}

static int finish(struct reader *r, struct err *e)
{
	struct cubin *c = r->c;

	c->functions =
		arena_copy(c->arena, r->functions.at, r->functions.n * sizeof(*c->functions));
	c->banks = arena_copy(c->arena, r->banks.at, r->banks.n * sizeof(*c->banks));
	if (!c->functions || !c->banks)
		return cubin_no_memory(r, e);
	c->functions_n = r->functions.n;
	c->banks_n = r->banks.n;
	if (index_functions(r, e) < 0)
		return -1;
	/* Where the compiler marks spills at all it may still have had none to mark. */
	for (size_t i = 0; i < c->functions_n; i++)
		c->functions[i].has_annotations |= c->cuda_version >= 128;
	HAND_OUT(r, params, p, params, params_n, e);
	HAND_OUT(r, spills, offset, spills_at, spills, e);
	HAND_OUT(r, branches, b, branches, branches_n, e);
	HAND_OUT(r, parts, p, parts, parts_n, e);
	HAND_OUT(r, relocs, r, relocs, relocs_n, e);
	return 0;
}

int cubin_open(struct cubin *c, struct buf file, struct err *e)
{
	struct cubin result = {.file = file, .command = "", .arena = arena_new()};
	struct reader r = {.c = &result};
	int rc = -1;

	if (!result.arena) {
		cubin_no_memory(&r, e);
		goto out;
	}
	if (read_header(&r, e) < 0)
		goto out;
	r.of_section = calloc((size_t)r.elf.sections_n + 1, sizeof(*r.of_section));
	if (!r.of_section) {
		cubin_no_memory(&r, e);
		goto out;
	}
	if (find_sections(&r, e) < 0 || find_symbols(&r, e) < 0 || read_sections(&r, e) < 0 ||
	    finish(&r, e) < 0)
		goto out;
	*c = result;
	rc = 0;
out:
	if (rc < 0)
		cubin_close(&result);
	vec_fini(&r.functions);
	vec_fini(&r.params);
	vec_fini(&r.spills);
	vec_fini(&r.branches);
	vec_fini(&r.parts);
	vec_fini(&r.relocs);
	vec_fini(&r.banks);
	free(r.of_section);
	free(r.of_symbol);
	free(r.part_of_symbol);
	return rc;
}

int cubin_target(struct buf file, uint32_t *sm, char *suffix, struct err *e)
{
	struct cubin c = {.file = file, .command = ""};
	struct reader r = {.c = &c};

	if (read_header(&r, e) < 0)
		return -1;
	for (uint32_t i = 1; i < r.elf.sections_n; i++) {
		struct elf_section s;

		if (elf_section_at(&r.elf, i, &s, e) < 0 || read_origin(&r, &s, e) < 0)
			return -1;
	}
	*sm = c.sm;
	*suffix = c.suffix;
	return 0;
}

void cubin_close(struct cubin *c)
{
	keymap_fini(&c->by_name);
	arena_free(c->arena);
	*c = (struct cubin){0};
}

const struct cubin_function *cubin_find(const struct cubin *c, const char *name)
{
	uint32_t index = keymap_get(&c->by_name, name, clamp32(strlen(name)));

	return index == KEYMAP_NONE ? NULL : &c->functions[index];
}
