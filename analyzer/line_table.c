/*
 * line_table.c - runs the line programs of a cubin and keeps their rows by function.
 * Input: .debug_line with its relocations, string sections. Output: struct line_table.
 * The program's addresses all begin at 0; which function one belongs to is said by the relocation of
 * the place where it is set. Rows of functions without code in this cubin are dropped.
 */
#include "line_table.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "elf.h"
#include "vec.h"

/* Standard and extended opcodes that do something here, and content types and forms of DWARF 5. */
enum {
	DW_LNS_COPY = 1,
	DW_LNS_ADVANCE_PC = 2,
	DW_LNS_ADVANCE_LINE = 3,
	DW_LNS_SET_FILE = 4,
	DW_LNS_SET_COLUMN = 5,
	DW_LNS_CONST_ADD_PC = 8,
	DW_LNS_FIXED_ADVANCE_PC = 9,
	DW_LNE_END_SEQUENCE = 1,
	DW_LNE_SET_ADDRESS = 2,
	DW_LNE_DEFINE_FILE = 3,
	DW_LNE_NV_INLINED_CALL = 0x90,
	DW_LNCT_PATH = 1,
	DW_LNCT_DIRECTORY = 2,
	DW_FORM_DATA2 = 0x05,
	DW_FORM_DATA4 = 0x06,
	DW_FORM_DATA8 = 0x07,
	DW_FORM_STRING = 0x08,
	DW_FORM_BLOCK = 0x09,
	DW_FORM_DATA1 = 0x0b,
	DW_FORM_STRP = 0x0e,
	DW_FORM_UDATA = 0x0f,
	DW_FORM_DATA16 = 0x1e,
	DW_FORM_LINE_STRP = 0x1f,
};

#define RELA        4u
#define ROWS_MAX    (1u << 26) /* a row is a byte of the program at least, and 40 in memory */
#define NO_FUNCTION UINT32_MAX
#define NO_NAMES    UINT64_MAX

/* An address within .debug_line that stands for a place in a function. */
struct place {
	uint64_t at; /* offset in .debug_line */
	uint32_t function;
	uint64_t offset; /* of the code */
	bool is_inline;  /* `offset` is to be added to what stands there */
};

struct row {
	struct line_row r;
	uint32_t order; /* as emitted */
};

struct builder {
	struct line_table *t;
	const struct cubin *c;
	struct buf lines, strings, line_strings;
	VEC(struct place) places;
	VEC(struct line_file) files;
	VEC(struct row) rows;
	uint32_t *of_section; /* function + 1 */
	uint64_t names_from;  /* bases of names of the units so far lie below */
};

/* One unit: the constants of its header, and its files as indices in the table's. */
struct unit {
	uint16_t version;
	unsigned offset_bytes; /* 4, or 8 in the 64-bit format */
	uint8_t step;          /* minimum length of an instruction */
	int8_t line_base;
	uint8_t line_range, opcode_base;
	const uint8_t *lengths; /* numbers of operands of opcodes 1 to opcode_base - 1 */
	VEC(const char *) directories;
	size_t first_file; /* what the unit calls file 1, in DWARF 5 file 0 */
	size_t files;
	uint64_t names; /* where the names of its inlined functions begin in .debug_str, NO_NAMES */
};

/* The registers of the line program. */
struct state {
	uint32_t function;
	uint64_t offset;
	uint64_t file, line, column;
	uint32_t caller;
	const char *inlined;
	size_t first_row; /* of the sequence: callers are counted from there, from 1 */
};

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "out of memory while reading source lines");
}

static int corrupt(const struct buf *b, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, buf_where(b), "source lines: %s", what);
}

/* ---- relocations of addresses */

static int add_places(struct builder *b, const struct elf_section *s,
		      const struct elf_section *symtab, struct err *e)
{
	static const struct elf_section no_strings;
	struct buf r = s->data;

	while (buf_left(&r) >= (s->type == RELA ? 24u : 16u)) {
		struct place p = {.at = buf_u64(&r), .is_inline = s->type != RELA};
		uint64_t info = buf_u64(&r), addend = s->type == RELA ? buf_u64(&r) : 0;
		struct elf_symbol symbol;
		struct place *added;

		if (info >> 32 >= elf_symbols(symtab))
			return corrupt(&r, "relocation with an unknown symbol", e);
		elf_symbol_at(symtab, &no_strings, (uint32_t)(info >> 32), &symbol);
		p.function = symbol.section < b->c->sections_n && b->of_section[symbol.section]
				     ? b->of_section[symbol.section] - 1
				     : NO_FUNCTION;
		p.offset = symbol.value + addend;
		added = vec_add(&b->places);
		if (!added)
			return no_memory(e);
		*added = p;
	}
	return 0;
}

static int compare_places(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;

	return (a->at > b->at) - (a->at < b->at);
}

static const struct place *place_at(const struct builder *b, uint64_t at)
{
	struct place key = {.at = at};

	return b->places.n ? bsearch(&key, b->places.at, b->places.n, sizeof(key), compare_places)
			   : NULL;
}

/* ---- headers of units */

/* An offset as wide as the format says. */
static uint64_t read_offset(struct buf *b, const struct unit *u)
{
	return u->offset_bytes == 8 ? buf_u64(b) : buf_u32(b);
}

/* A string at the cursor, which moves behind it. */
static const char *read_string(struct buf *b)
{
	const char *text = buf_string(b, b->at);

	buf_seek(b, text ? b->at + strlen(text) + 1 : (uint64_t)b->bytes + 1);
	return text ? text : "";
}

static int add_file(struct builder *b, const struct unit *u, const char *name, uint64_t directory,
		    struct err *e)
{
	struct line_file *file = vec_add(&b->files);

	if (!file)
		return no_memory(e);
	file->directory =
		directory < u->directories.n && *name != '/' ? u->directories.at[directory] : "";
	file->name = name;
	return 0;
}

/* Directories and files up to DWARF 4: strings, files with three numbers each, empty ones at the end. */
static int read_old_names(struct builder *b, struct unit *u, struct buf *h, struct err *e)
{
	const char *name = "", **directory;

	do { /* directory 0 is that of the compilation, which stands elsewhere */
		directory = vec_add(&u->directories);
		if (!directory)
			return no_memory(e);
		*directory = name;
		name = read_string(h);
	} while (*name);
	while (*(name = read_string(h))) {
		uint64_t in = buf_uleb(h);

		buf_uleb(h); /* time */
		buf_uleb(h); /* size */
		if (add_file(b, u, name, in, e) < 0)
			return -1;
	}
	return 0;
}

/* A section of strings without what has no NUL behind it, so that every offset in it is a string. */
static struct buf terminated(struct buf strings)
{
	while (strings.bytes && strings.data[strings.bytes - 1])
		strings.bytes--;
	return strings;
}

static const char *string_at(const struct buf *strings, uint64_t offset)
{
	return offset < strings->bytes ? (const char *)strings->data + offset : "";
}

/* One value of a table of DWARF 5: a string or a number; false for a form that no producer uses here. */
static bool read_form(const struct builder *b, const struct unit *u, struct buf *h, uint64_t form,
		      const char **text, uint64_t *number)
{
	switch (form) {
	case DW_FORM_STRING: *text = read_string(h); break;
	case DW_FORM_LINE_STRP: *text = string_at(&b->line_strings, read_offset(h, u)); break;
	case DW_FORM_STRP: *text = string_at(&b->strings, read_offset(h, u)); break;
	case DW_FORM_UDATA: *number = buf_uleb(h); break;
	case DW_FORM_DATA1: *number = buf_u8(h); break;
	case DW_FORM_DATA2: *number = buf_u16(h); break;
	case DW_FORM_DATA4: *number = buf_u32(h); break;
	case DW_FORM_DATA8: *number = buf_u64(h); break;
	case DW_FORM_DATA16: buf_take(h, 16); break;
	case DW_FORM_BLOCK: buf_take(h, buf_uleb(h)); break;
	default: return false;
	}
	return true;
}

/* A table of DWARF 5, of directories or of files: the format of its entries, then these. */
static int read_table(struct builder *b, struct unit *u, struct buf *h, bool is_files,
		      struct err *e)
{
	struct {
		uint64_t type, form;
	} format[256];
	uint8_t fields = buf_u8(h);
	uint64_t n;

	for (uint8_t i = 0; i < fields; i++) {
		format[i].type = buf_uleb(h);
		format[i].form = buf_uleb(h);
	}
	n = buf_uleb(h);
	if (n > buf_left(h)) /* an entry has a byte at least, or it says nothing */
		return corrupt(h, "more names than the header has room for", e);
	while (n-- && buf_ok(h)) {
		const char *path = "", *text = "", **directory;
		uint64_t in = 0, number = 0;

		for (uint8_t i = 0; i < fields; i++) {
			if (!read_form(b, u, h, format[i].form, &text, &number))
				return corrupt(h, "name of an unknown form", e);
			if (format[i].type == DW_LNCT_PATH)
				path = text;
			if (format[i].type == DW_LNCT_DIRECTORY)
				in = number;
		}
		if (is_files) {
			if (add_file(b, u, path, in, e) < 0)
				return -1;
			continue;
		}
		directory = vec_add(&u->directories);
		if (!directory)
			return no_memory(e);
		*directory = path;
	}
	return 0;
}

/*
 * A unit with inlined calls ends its header with the base of their names. Units of one cubin come from a
 * linker, which moves the bases of later units up, but not for every architecture: a base that is not
 * above the others is still that of the unit alone and says nothing.
 */
static void read_names_base(struct builder *b, struct unit *u, struct buf *h)
{
	bool is_stated = buf_left(h) >= 4;
	uint64_t base = is_stated ? buf_u32(h) : 0;

	u->names = base < b->names_from ? NO_NAMES : base;
	if (is_stated && base >= b->names_from)
		b->names_from = base + 1;
}

/* The unit at the cursor: its header, and its program as *program. The cursor moves to the next unit. */
static int read_header(struct builder *b, struct unit *u, struct buf *program, struct err *e)
{
	struct buf all, h;
	uint64_t bytes = buf_u32(&b->lines);

	u->offset_bytes = bytes == UINT32_MAX ? 8 : 4;
	if (bytes == UINT32_MAX)
		bytes = buf_u64(&b->lines);
	if (!buf_part(&b->lines, b->lines.at, bytes, &all))
		return err_set(e, ERR_TRUNCATED, buf_where(&b->lines),
			       "source lines end within a unit");
	buf_seek(&b->lines, b->lines.at + bytes);
	u->version = buf_u16(&all);
	if (u->version < 2 || u->version > 5)
		return err_set(e, ERR_VERSION, (int64_t)all.origin,
			       "source lines of DWARF version %u", u->version);
	if (u->version == 5)
		buf_u16(&all); /* sizes of addresses and of segment selectors */
	bytes = read_offset(&all, u);
	if (!buf_ok(&all) || !buf_part(&all, all.at, bytes, &h))
		return corrupt(&all, "header reaches past its unit", e);
	buf_part(&all, all.at + bytes, all.bytes - all.at - bytes, program);
	u->step = buf_u8(&h);
	if (u->version >= 4)
		buf_u8(&h); /* operations of one instruction: there is only one */
	buf_u8(&h);         /* is a row a statement */
	u->line_base = (int8_t)buf_u8(&h);
	u->line_range = buf_u8(&h);
	u->opcode_base = buf_u8(&h);
	u->lengths = u->opcode_base ? buf_take(&h, u->opcode_base - 1u) : NULL;
	if (!u->lengths || !u->line_range)
		return corrupt(&h, "impossible header", e);
	u->first_file = b->files.n;
	if (u->version < 5) {
		if (read_old_names(b, u, &h, e) < 0)
			return -1;
	} else if (read_table(b, u, &h, false, e) < 0 || read_table(b, u, &h, true, e) < 0) {
		return -1;
	}
	if (!buf_ok(&h))
		return corrupt(&h, "names reach past the header", e);
	u->files = b->files.n - u->first_file;
	read_names_base(b, u, &h);
	return 0;
}

/* ---- programs */

static struct state fresh(const struct builder *b)
{
	return (struct state){
		.function = NO_FUNCTION,
		.file = 1,
		.line = 1,
		.caller = LINE_NONE,
		.inlined = "",
		.first_row = b->rows.n,
	};
}

/* Rows stay in the sequence even when they are of no use: callers are counted. */
static int emit(struct builder *b, const struct unit *u, const struct state *s, bool is_end,
		struct err *e)
{
	uint64_t file = u->version < 5 ? s->file - 1 : s->file;
	struct row *row;

	if (b->rows.n >= ROWS_MAX)
		return err_set(e, ERR_LIMIT, -1, "too many source lines");
	row = vec_add(&b->rows);
	if (!row)
		return no_memory(e);
	row->order = (uint32_t)b->rows.n - 1;
	row->r = (struct line_row){
		.function = s->function,
		.offset = s->offset < UINT32_MAX ? (uint32_t)s->offset : UINT32_MAX,
		.file = !is_end && file < u->files ? (uint32_t)(u->first_file + file) : LINE_NONE,
		.line = s->line < UINT32_MAX ? (uint32_t)s->line : 0,
		.column = s->column < UINT32_MAX ? (uint32_t)s->column : 0,
		.caller = s->caller,
		.inlined = s->inlined,
	};
	return 0;
}

static void set_address(const struct builder *b, struct state *s, struct buf *o)
{
	const struct place *p = place_at(b, o->origin + o->at - b->lines.origin);
	uint64_t there = buf_u64(o);

	s->function = p ? p->function : NO_FUNCTION;
	s->offset = p ? p->offset + (p->is_inline ? there : 0) : 0;
}

/*
 * What follows is the code of a function that was inlined: by the call in row `context` of this
 * sequence, 0 = back in the outermost function. Only an earlier row can be the caller.
 */
static void enter_inlined(const struct builder *b, const struct unit *u, struct state *s,
			  struct buf *o)
{
	uint64_t context = buf_uleb(o), name = buf_uleb(o), rows = b->rows.n - s->first_row;

	s->caller = context && context <= rows ? (uint32_t)(s->first_row + context - 1) : LINE_NONE;
	s->inlined = s->caller == LINE_NONE || u->names == NO_NAMES
			     ? ""
			     : string_at(&b->strings, u->names + name);
}

static int run_extended(struct builder *b, struct unit *u, struct state *s, struct buf *p,
			struct err *e)
{
	uint64_t bytes = buf_uleb(p);
	struct buf o;

	if (!buf_part(p, p->at, bytes, &o))
		return corrupt(p, "operation reaches past its unit", e);
	buf_seek(p, p->at + bytes);
	if (!bytes) /* no operation at all */
		return 0;
	switch (buf_u8(&o)) {
	case DW_LNE_END_SEQUENCE:
		if (emit(b, u, s, true, e) < 0)
			return -1;
		*s = fresh(b);
		break;
	case DW_LNE_SET_ADDRESS: set_address(b, s, &o); break;
	case DW_LNE_NV_INLINED_CALL: enter_inlined(b, u, s, &o); break;
	case DW_LNE_DEFINE_FILE: {
		const char *name = read_string(&o);

		if (add_file(b, u, name, buf_uleb(&o), e) < 0)
			return -1;
		u->files++;
		break;
	}
	default: break;
	}
	return 0;
}

/* An opcode below opcode_base. */
static int run_standard(struct builder *b, const struct unit *u, struct state *s, uint8_t opcode,
			struct buf *p, struct err *e)
{
	switch (opcode) {
	case DW_LNS_COPY: return emit(b, u, s, false, e);
	case DW_LNS_ADVANCE_PC: s->offset += buf_uleb(p) * u->step; break;
	case DW_LNS_ADVANCE_LINE: s->line += (uint64_t)buf_sleb(p); break;
	case DW_LNS_SET_FILE: s->file = buf_uleb(p); break;
	case DW_LNS_SET_COLUMN: s->column = buf_uleb(p); break;
	case DW_LNS_CONST_ADD_PC:
		s->offset += (uint64_t)((255 - u->opcode_base) / u->line_range) * u->step;
		break;
	case DW_LNS_FIXED_ADVANCE_PC: s->offset += buf_u16(p); break;
	default: /* says nothing about lines, or is not known: its operands are passed over */
		for (uint8_t i = 0; i < u->lengths[opcode - 1]; i++)
			buf_uleb(p);
	}
	return 0;
}

static int run(struct builder *b, struct unit *u, struct buf p, struct err *e)
{
	struct state s = fresh(b);

	while (buf_left(&p)) {
		uint8_t opcode = buf_u8(&p);
		int rc = 0;

		if (opcode >= u->opcode_base) {
			opcode -= u->opcode_base;
			s.offset += (uint64_t)(opcode / u->line_range) * u->step;
			s.line += (uint64_t)(int64_t)(u->line_base + opcode % u->line_range);
			rc = emit(b, u, &s, false, e);
		} else if (opcode) {
			rc = run_standard(b, u, &s, opcode, &p, e);
		} else {
			rc = run_extended(b, u, &s, &p, e);
		}
		if (rc < 0)
			return -1;
		if (!buf_ok(&p))
			return corrupt(&p, "program ends within an operation", e);
	}
	return 0;
}

/* ---- the table */

/* By function and offset; where they are equal the end of a sequence goes first, the last row wins. */
static int compare_rows(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;
	bool a_goes_on = a->r.file != LINE_NONE, b_goes_on = b->r.file != LINE_NONE;

	if (a->r.function != b->r.function)
		return a->r.function < b->r.function ? -1 : 1;
	if (a->r.offset != b->r.offset)
		return a->r.offset < b->r.offset ? -1 : 1;
	if (a_goes_on != b_goes_on)
		return a_goes_on - b_goes_on;
	return (a->order > b->order) - (a->order < b->order);
}

static int finish(struct builder *b, struct err *e)
{
	struct line_table *t = b->t;
	size_t n = b->rows.n, functions = b->c->functions_n, f = 0;
	uint32_t *place = calloc(n + 1, sizeof(*place)); /* where the row went, by its order */

	vec_sort(&b->rows, compare_rows);
	t->files = arena_copy(t->arena, b->files.at, b->files.n * sizeof(*t->files));
	t->rows = arena_array(t->arena, n, sizeof(*t->rows));
	t->first = arena_array(t->arena, functions + 1, sizeof(*t->first));
	if (!place || !t->files || !t->rows || !t->first) {
		free(place);
		return no_memory(e);
	}
	t->files_n = b->files.n;
	for (size_t i = 0; i < n; i++)
		place[b->rows.at[i].order] = (uint32_t)i;
	for (size_t i = 0; i < n && b->rows.at[i].r.function != NO_FUNCTION; i++) {
		struct line_row *r = &t->rows[t->rows_n++];

		*r = b->rows.at[i].r;
		if (r->caller != LINE_NONE)
			r->caller = place[r->caller];
		while (f <= r->function)
			t->first[f++] = (uint32_t)i;
	}
	while (f <= functions)
		t->first[f++] = (uint32_t)t->rows_n;
	free(place);
	return 0;
}

static int find_sections(struct builder *b, struct err *e)
{
	struct elf_section s, symtab = {0}, relocs[2] = {0}; /* a cubin may have both forms */
	struct elf elf;

	if (elf_open(&elf, b->c->file, e) < 0)
		return -1;
	for (uint32_t i = 1; i < elf.sections_n; i++) {
		if (elf_section_at(&elf, i, &s, e) < 0)
			return -1;
		if (!strcmp(s.name, ".debug_line"))
			b->lines = s.data;
		else if (!strcmp(s.name, ".debug_str"))
			b->strings = terminated(s.data);
		else if (!strcmp(s.name, ".debug_line_str"))
			b->line_strings = terminated(s.data);
		else if (!strcmp(s.name, ".rela.debug_line"))
			relocs[0] = s;
		else if (!strcmp(s.name, ".rel.debug_line"))
			relocs[1] = s;
		else if (s.type == ELF_SYMTAB && !strcmp(s.name, ".symtab"))
			symtab = s;
	}
	for (int i = 0; i < 2; i++)
		if (add_places(b, &relocs[i], &symtab, e) < 0)
			return -1;
	vec_sort(&b->places, compare_places);
	return 0;
}

static int build(struct builder *b, struct err *e)
{
	b->of_section = calloc((size_t)b->c->sections_n + 1, sizeof(*b->of_section));
	if (!b->of_section)
		return no_memory(e);
	for (size_t i = 0; i < b->c->functions_n; i++)
		b->of_section[b->c->functions[i].section] = (uint32_t)i + 1;
	if (find_sections(b, e) < 0)
		return -1;
	while (buf_left(&b->lines) >= 4) {
		struct unit u = {0};
		struct buf program = {0};
		int rc = read_header(b, &u, &program, e);

		if (rc == 0)
			rc = run(b, &u, program, e);
		vec_fini(&u.directories);
		if (rc < 0)
			return -1;
	}
	return finish(b, e);
}

int line_table_open(struct line_table *t, const struct cubin *c, struct err *e)
{
	struct line_table result = {.arena = arena_new()};
	struct builder b = {.t = &result, .c = c};
	int rc = result.arena ? build(&b, e) : no_memory(e);

	vec_fini(&b.places);
	vec_fini(&b.files);
	vec_fini(&b.rows);
	free(b.of_section);
	if (rc < 0)
		line_table_close(&result);
	else
		*t = result;
	return rc;
}

void line_table_close(struct line_table *t)
{
	arena_free(t->arena);
	*t = (struct line_table){0};
}

const struct line_row *line_table_find(const struct line_table *t, uint32_t function,
				       uint32_t offset)
{
	uint32_t low = t->first[function], high = t->first[function + 1], start = low;

	/* the first row behind `offset`; the one before it covers it */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > start && t->rows[low - 1].file != LINE_NONE ? &t->rows[low - 1] : NULL;
}

const struct line_row *line_table_caller(const struct line_table *t, const struct line_row *row)
{
	return row->caller == LINE_NONE ? NULL : &t->rows[row->caller];
}
