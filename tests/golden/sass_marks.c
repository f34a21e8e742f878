/*
 * sass_marks.c - what cubins say of places in their code: source lines with the calls around them,
 * relocations, and how they were compiled. usage: sass_marks FILE...
 * A line each, with tabs: "image" at lines debug; "line" function, code offset, file:line of the instruction
 * and of the calls (where they differ from those of the instruction before; "-" = none); "reloc"
 * function, code offset, type, symbol, addend. Compare with scripts/sass-marks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "golden/tool.h"
#include "line_table.h"

#define LINES_TEXT 16384

static int status;

static void describe(const struct line_table *t, uint32_t function, uint32_t offset,
		     char text[LINES_TEXT])
{
	const struct line_row *row = line_table_find(t, function, offset);
	size_t n = 0;

	strcpy(text, "-");
	if (row && !row->line) /* code of the compiler's own */
		return;
	for (; row && n < LINES_TEXT; row = line_table_caller(t, row)) {
		const struct line_file *f = &t->files[row->file];

		n += (size_t)snprintf(text + n, LINES_TEXT - n, "%s%s%s%s:%" PRIu32, n ? " " : "",
				      f->directory, *f->directory ? "/" : "", f->name, row->line);
	}
}

static void show_function(const struct cubin_function *f, const struct line_table *t,
			  uint32_t index)
{
	static char text[LINES_TEXT], last[LINES_TEXT];

	*last = '\0';
	for (uint32_t at = 0; t->first && at < f->code.bytes; at += SASS_BYTES) {
		describe(t, index, at, text);
		if (strcmp(text, last))
			printf("line\t%s\t%04" PRIx32 "\t%s\n", f->name, at, text);
		strcpy(last, text);
	}
	for (size_t i = 0; i < f->relocs_n; i++) {
		const struct cubin_reloc *r = &f->relocs[i];

		printf("reloc\t%s\t%04" PRIx64 "\t%" PRIu32 "\t%s\t%" PRIx64 "\n", f->name,
		       r->offset, r->type, r->symbol, (uint64_t)r->addend);
	}
}

static bool show_cubin(const struct image *image, const struct cubin *c)
{
	struct line_table t = {0};
	struct err e = {0};

	printf("image\t%" PRIu64 "\t%s\t%s\n", image->offset, c->has_lines ? "lines" : "-",
	       c->is_debug ? "debug" : "-");
	if (line_table_open(&t, c, &e) != 0) {
		fprintf(stderr, "image at %" PRIu64 ": %s\n", image->offset, e.text);
		status = 1;
	}
	for (size_t i = 0; i < c->functions_n; i++)
		show_function(&c->functions[i], &t, (uint32_t)i);
	if (t.first)
		line_table_close(&t);
	return true;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		status |= tool_each_cubin(argv[i], show_cubin);
	return status;
}
