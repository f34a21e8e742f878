/*
 * err.h - the error value of the analyzer. A function that can fail returns 0 or -1 and takes a
 * last argument `struct err *`, filled where the fault is seen; on failure outputs are untouched.
 */
#ifndef KBN_ERR_H
#define KBN_ERR_H

#include <stdint.h>

enum err_code {
	ERR_NONE = 0,
	/* 10: input */
	ERR_TRUNCATED = 10, /* the input ends before what its headers promise */
	ERR_CORRUPT = 11,   /* a value contradicts the format */
	ERR_VERSION = 12,   /* a format or version we do not read */
	ERR_FORMAT = 13,    /* not the kind of file asked for */
	ERR_LIMIT = 14,     /* larger than a safety limit */
	/* 20: system */
	ERR_IO = 20,
	ERR_MEMORY = 21,
	/* 30: request */
	ERR_USAGE = 30,
	ERR_NOT_FOUND = 31,
};

struct err {
	enum err_code code;
	int64_t offset; /* byte offset in the input, -1 = none */
	char text[240]; /* one short sentence, no newline */
};

/* Fill *e (may be NULL) and return -1, so that `return err_set(...)` reads well. */
int err_set(struct err *e, enum err_code code, int64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A path for an error text: its last 120 bytes, so that the reason behind it is never cut off. */
const char *err_path(const char *path);

#endif
