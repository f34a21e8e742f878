/*
 * diff_read.h - one report as plain data for a comparison: from a kbn-report/1 document, or from the
 * directory of a recording by way of the same document. Knows nothing of comparing.
 */
#ifndef KBN_DIFF_READ_H
#define KBN_DIFF_READ_H

#include "diff.h"
#include "err.h"

struct arena;

/*
 * Read `path`, a file or a directory, into *r; all memory is the arena's. A fault names the file, and the
 * line where it is one of JSON.
 */
int diff_read(struct diff_report *r, struct arena *arena, const char *path, struct err *e);

/* The same from `bytes` bytes of a document; `path` is for errors and is kept. */
int diff_read_json(struct diff_report *r, struct arena *arena, const char *path, const char *json,
		   size_t bytes, struct err *e);

#endif
