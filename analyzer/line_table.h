/*
 * line_table.h - which line of which source file an instruction comes from (-lineinfo, -G).
 * Input: a cubin that was opened. Output: file and line of an offset in a function's code, and the
 * chain of calls where the compiler inlined functions. Built once per cubin; look-ups are by bisection.
 * Reads .debug_line of DWARF 2 to 5 with the vendor's mark of inlined code. Leaves the PTX lines in
 * .nv_debug_line_sass alone.
 */
#ifndef KBN_LINE_TABLE_H
#define KBN_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cubin.h"
#include "err.h"

#define LINE_NONE UINT32_MAX

/* From `offset` on, up to the next row of the function. */
struct line_row {
	uint32_t function; /* index in the cubin */
	uint32_t offset;   /* in the code of the function */
	uint32_t file; /* index in line_table.files, LINE_NONE = the code has no source from here on */
	uint32_t line;   /* from 1; 0 = none, as for code that the compiler added */
	uint32_t column; /* 0 = not stated */
	uint32_t caller; /* index of the row of the call that was inlined here, LINE_NONE = none */
	const char *
		inlined; /* mangled name of the function that was inlined here, "" = none, or not stated */
};

/* As the compiler was told. */
struct line_file {
	const char *directory; /* "" = not stated, or `name` begins with '/' */
	const char *name;
};

struct line_table {
	struct line_file *files;
	size_t files_n;
	struct line_row *rows; /* by function, then offset */
	size_t rows_n;
	uint32_t *first; /* index of the first row of each function of the cubin; one more for the end */
	struct arena *arena;
};

/*
 * Build the table. A cubin without lines is no error: the table is empty. All strings are
 * views into the cubin's bytes, which must outlive the table. Fails with the offset of the fault.
 */
int line_table_open(struct line_table *t, const struct cubin *c, struct err *e);
void line_table_close(struct line_table *t);

/* The row of an instruction, NULL = no source line is known. `function` is an index in the cubin. */
const struct line_row *line_table_find(const struct line_table *t, uint32_t function,
				       uint32_t offset);

/* The row of the call where the code of `row` was inlined, NULL when it was not. */
const struct line_row *line_table_caller(const struct line_table *t, const struct line_row *row);

#endif
