/*
 * err.c - fills the error value.
 * Input: code, offset, format. Output: one line of text that is always terminated.
 */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_code code, int64_t offset, const char *format, ...)
{
	va_list ap;

	if (!e)
		return -1;
	e->code = code;
	e->offset = offset;
	va_start(ap, format);
	if (vsnprintf(e->text, sizeof(e->text), format, ap) < 0)
		e->text[0] = '\0';
	va_end(ap);
	/* Names from the input end up here; one fault must stay one line of a terminal. */
	for (char *p = e->text; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	return -1;
}

const char *err_path(const char *path)
{
	size_t n = strlen(path);

	return n > 120 ? path + n - 120 : path;
}
