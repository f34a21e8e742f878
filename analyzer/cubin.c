/*
 * cubin.c - reads a cubin: header, sections, symbols, attribute records and notes.
 * Input: bytes of any origin. Output: struct cubin, or an error with the offset of the fault.
 *
 * Every section and every record is looked at once: a cubin of a mathematics library has thousands
 * of kernels, and a search by name for each would be quadratic.
 */
#include "cubin.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "elf.h"
#include "vec.h"

/* .nv.info record codes that we read; others are skipped. */
enum {
	INFO_MAX_THREADS = 0x05,
	INFO_PARAM_CBANK = 0x0a,
	INFO_EXTERNS = 0x0f,
	INFO_REQNTID = 0x10,
	INFO_FRAME_SIZE = 0x11,
	INFO_MIN_STACK_SIZE = 0x12,
	INFO_KPARAM = 0x17,
	INFO_CBANK_PARAM_SIZE = 0x19,
	INFO_MAXREG_COUNT = 0x1b,
	INFO_EXITS = 0x1c,
	INFO_MAX_STACK_SIZE = 0x23,
	INFO_REGCOUNT = 0x2f,
	INFO_BRANCH_TARGETS = 0x34,
	INFO_CTA_PER_CLUSTER = 0x3d,
	INFO_EXPLICIT_CLUSTER = 0x3e,
	INFO_KPARAM_V2 = 0x45,
	INFO_SYSCALL_OFFSETS = 0x46,
	INFO_NUM_BARRIERS = 0x4c,
	INFO_ANNOTATIONS = 0x55,
	COMPAT_ARCH_SPECIFIC = 0x09, /* in .nv.compat */
};

#define NOTE_TOOL        0x7d0u
#define NOTE_CUDA        0x3e8u
#define ANNOTATION_SPILL 1u
#define SYMBOL_FUNCTION  2u
#define SYMBOL_ENTRY     0x10u
#define MAX_PARAMS       4096u /* 32,764 bytes of parameters; each has at least 4 in practice */
#define RESERVED_SMEM    1024u

struct param {
	uint32_t function, ordinal;
	struct cubin_param p;
};

struct reader {
	struct cubin *c;
	struct elf elf;
	VEC(struct cubin_function) functions;
	VEC(struct param) params;
	uint32_t *of_section; /* function + 1 by text section */
	uint32_t *of_symbol;  /* function + 1 by symbol; other symbols of a text section are 0 */
	uint32_t symbols_n;
	struct elf_section symtab, strings;
};

static int no_memory(const struct reader *r, struct err *e)
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
		return no_memory(r, e);
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
		if (!strcmp(s.name, ".debug_info"))
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

static int find_symbols(struct reader *r, struct err *e)
{
	r->symbols_n = elf_symbols(&r->symtab);
	r->of_symbol = calloc((size_t)r->symbols_n + 1, sizeof(*r->of_symbol));
	if (!r->of_symbol)
		return no_memory(r, e);
	for (uint32_t i = 0; i < r->symbols_n; i++) {
		struct cubin_function *f;
		struct elf_symbol s;

		elf_symbol_at(&r->symtab, &r->strings, i, &s);
		if (s.type != SYMBOL_FUNCTION || s.section >= r->elf.sections_n ||
		    !r->of_section[s.section])
			continue;
		f = &r->functions.at[r->of_section[s.section] - 1];
		/* Device functions kept out of line live in the text of their kernel. */
		if (strcmp(s.name, f->name))
			continue;
		r->of_symbol[i] = r->of_section[s.section];
		f->symbol = i;
		f->is_kernel = s.other & SYMBOL_ENTRY;
	}
	return 0;
}

/* ---- attribute records */

struct info {
	uint8_t format, code;
	uint16_t value;     /* formats 2 and 3 */
	struct buf payload; /* format 4 */
};

/* The next record: 1, 0 at the end, -1 when it reaches past the end. */
static int next_info(struct buf *b, struct info *i, struct err *e)
{
	int64_t where = buf_where(b);

	if (buf_left(b) < 4)
		return 0;
	i->format = buf_u8(b);
	i->code = buf_u8(b);
	i->value = buf_u16(b);
	i->payload = (struct buf){0};
	if (i->format != 4)
		return 1;
	if (!buf_part(b, b->at, i->value, &i->payload))
		return err_set(e, ERR_CORRUPT, where,
			       "attribute record 0x%02x reaches past the end of its section",
			       i->code);
	buf_seek(b, b->at + i->value);
	return 1;
}

static struct cubin_function *function_of_symbol(struct reader *r, uint32_t symbol)
{
	return symbol < r->symbols_n && r->of_symbol[symbol]
		       ? &r->functions.at[r->of_symbol[symbol] - 1]
		       : NULL;
}

/* Records about all functions of the module: symbol index, then a value. */
static int read_module_info(struct reader *r, const struct elf_section *s, struct err *e)
{
	struct buf b = s->data;
	struct info i;
	int rc;

	while ((rc = next_info(&b, &i, e)) > 0) {
		struct cubin_function *f = function_of_symbol(r, buf_u32(&i.payload));
		uint32_t value = buf_u32(&i.payload);

		if (!f || !buf_ok(&i.payload))
			continue;
		if (i.code == INFO_REGCOUNT)
			f->registers = value;
		else if (i.code == INFO_FRAME_SIZE)
			f->frame_bytes = value;
		else if ((i.code == INFO_MIN_STACK_SIZE || i.code == INFO_MAX_STACK_SIZE) &&
			 value > f->stack_bytes)
			f->stack_bytes = value;
	}
	return rc;
}

static int add_param(struct reader *r, uint32_t function, struct info *i, struct err *e)
{
	struct param *p = vec_add(&r->params);
	uint32_t word;

	if (!p)
		return no_memory(r, e);
	buf_u32(&i->payload); /* index, always 0 */
	p->function = function;
	p->ordinal = buf_u16(&i->payload);
	p->p.offset = buf_u16(&i->payload);
	word = buf_u32(&i->payload);
	/* Sizes above 16,383 bytes need the wide form: size in the low bits, marks of pointers above. */
	p->p.bytes = i->code == INFO_KPARAM_V2 ? word & 0xffffff : word >> 18;
	if (!buf_ok(&i->payload) || p->ordinal >= MAX_PARAMS)
		return err_set(e, ERR_CORRUPT, (int64_t)i->payload.origin,
			       "impossible parameter record");
	return 0;
}

static void read_triple(struct info *i, uint32_t out[3])
{
	for (int k = 0; k < 3; k++)
		out[k] = buf_u32(&i->payload);
}

static uint32_t count_spills(struct buf pairs)
{
	uint32_t n = 0;

	while (buf_left(&pairs) >= 8) {
		n += buf_u32(&pairs) == ANNOTATION_SPILL;
		buf_u32(&pairs);
	}
	return n;
}

static int read_function_info(struct reader *r, uint32_t function, const struct elf_section *s,
			      struct err *e)
{
	struct cubin_function *f = &r->functions.at[function];
	struct buf b = s->data;
	struct info i;
	uint32_t word;
	int rc;

	while ((rc = next_info(&b, &i, e)) > 0) {
		switch (i.code) {
		case INFO_MAX_THREADS: read_triple(&i, f->max_threads); break;
		case INFO_REQNTID: read_triple(&i, f->block); break;
		case INFO_CTA_PER_CLUSTER: read_triple(&i, f->cluster); break;
		case INFO_EXPLICIT_CLUSTER: f->needs_cluster = true; break;
		case INFO_MAXREG_COUNT: f->max_registers = i.value < 255 ? i.value : 0; break;
		case INFO_NUM_BARRIERS:
			f->barriers = i.format == 2 ? i.value & 0xff : i.value;
			break;
		case INFO_CBANK_PARAM_SIZE: f->param_bytes = i.value; break;
		/* a linked cubin has no other symbol without a definition than those of the driver */
		case INFO_EXTERNS:
			f->uses_syscalls |= !r->c->is_relocatable && i.payload.bytes > 0;
			break;
		case INFO_SYSCALL_OFFSETS: f->uses_syscalls |= i.payload.bytes > 0; break;
		case INFO_EXITS: f->exits = i.payload; break;
		case INFO_BRANCH_TARGETS:
			if (!f->branch_targets.bytes)
				f->branch_targets = i.payload;
			break;
		case INFO_ANNOTATIONS:
			f->annotations = i.payload;
			f->spills = count_spills(i.payload);
			break;
		case INFO_PARAM_CBANK:
			buf_u32(&i.payload); /* symbol of the bank */
			word = buf_u32(&i.payload);
			f->param_base = word & 0xffff;
			if (word >> 16)
				f->param_bytes = word >> 16;
			break;
		case INFO_KPARAM:
		case INFO_KPARAM_V2:
			if (add_param(r, function, &i, e) < 0)
				return -1;
			break;
		default: break;
		}
	}
	return rc;
}

/* `a` targets cannot be told from the header. */
static int read_compat(struct reader *r, const struct elf_section *s, struct err *e)
{
	struct buf b = s->data;
	struct info i;
	int rc;

	while ((rc = next_info(&b, &i, e)) > 0) {
		if (i.format == 2 && i.code == COMPAT_ARCH_SPECIFIC)
			r->c->is_arch_specific = (i.value & 0xff) == 1;
	}
	return rc;
}

/* ---- notes: who made it */

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
		if (buf_ok(&desc) && text)
			r->c->command = text;
	}
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

	if ((starts(s->name, ".nv.") || starts(s->name, ".note.nv.")) && check_whole(r, s, e) < 0)
		return -1;
	if (!strcmp(s->name, ".nv.info"))
		return read_module_info(r, s, e);
	if (!strcmp(s->name, ".nv.compat"))
		return read_compat(r, s, e);
	if (starts(s->name, ".note.nv.")) {
		read_note(r, s);
	} else if ((f = function_of(r, s, ".nv.info."))) {
		return read_function_info(r, f - 1, s, e);
	} else if ((f = function_of(r, s, ".nv.constant0."))) {
		r->functions.at[f - 1].const0_bytes = clamp32(s->bytes);
	} else if ((f = function_of(r, s, ".nv.local."))) {
		r->functions.at[f - 1].local_bytes = clamp32(s->bytes);
	} else if ((f = function_of(r, s, ".nv.shared."))) {
		/* CUDA 13 adds what the system takes on sm_90 and newer to the kernel's own. */
		uint64_t reserved = c->abi >= 8 && c->sm >= 90 ? RESERVED_SMEM : 0;

		r->functions.at[f - 1].static_smem_bytes =
			clamp32(s->bytes > reserved ? s->bytes - reserved : 0);
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

static int compare_params(const void *va, const void *vb)
{
	const struct param *a = va, *b = vb;
	int c = (a->function > b->function) - (a->function < b->function);

	return c ? c : (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static int finish(struct reader *r, struct err *e)
{
	struct cubin *c = r->c;
	size_t n = r->functions.n;

	c->functions = arena_copy(c->arena, r->functions.at, n * sizeof(*c->functions));
	if (!c->functions)
		return no_memory(r, e);
	c->functions_n = n;
	for (size_t i = 0; i < n; i++) {
		const char *name = c->functions[i].name;
		uint32_t *index = keymap_put(&c->by_name, c->arena, name, clamp32(strlen(name)));

		if (!index)
			return no_memory(r, e);
		if (*index == KEYMAP_NONE)
			*index = (uint32_t)i;
		/* Where the compiler marks spills at all it may still have had none to mark. */
		c->functions[i].has_annotations = c->functions[i].annotations.bytes ||
						  c->cuda_version >= 128;
	}
	vec_sort(&r->params, compare_params);
	for (size_t i = 0, k; i < r->params.n; i += k) {
		struct cubin_function *f = &c->functions[r->params.at[i].function];

		for (k = 1; i + k < r->params.n &&
			    r->params.at[i + k].function == r->params.at[i].function;)
			k++;
		f->params = arena_array(c->arena, k, sizeof(*f->params));
		if (!f->params)
			return no_memory(r, e);
		f->params_n = k;
		for (size_t p = 0; p < k; p++)
			f->params[p] = r->params.at[i + p].p;
	}
	return 0;
}

int cubin_open(struct cubin *c, struct buf file, struct err *e)
{
	struct cubin result = {.file = file, .command = "", .arena = arena_new()};
	struct reader r = {.c = &result};
	int rc = -1;

	if (!result.arena) {
		no_memory(&r, e);
		goto out;
	}
	if (read_header(&r, e) < 0)
		goto out;
	r.of_section = calloc((size_t)r.elf.sections_n + 1, sizeof(*r.of_section));
	if (!r.of_section) {
		no_memory(&r, e);
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
	free(r.of_section);
	free(r.of_symbol);
	return rc;
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
