/*
 * whole_file.h - files that appear whole or not at all: written beside, then renamed. What is no file (a device, a
 * pipe, the standard output by its name) is written to as it is, and never replaced.
 */
#ifndef KBN_WHOLE_FILE_H
#define KBN_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "err.h"

struct whole_file {
	FILE *out;
	char *path;      /* what is replaced: the end of a chain of links */
	char *temporary; /* NULL = `out` is the thing itself */
};

/* Begins to write `path`. On failure nothing is left to close; the message names `path`. */
int whole_file_open(struct whole_file *w, const char *path, struct err *e);

/* Ends it: with `keep` the file is there under its name, else nothing of it is. Frees what open took either way. */
int whole_file_close(struct whole_file *w, bool keep, struct err *e);

#endif
