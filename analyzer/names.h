/*
 * names.h - kernels chosen by name: a PCRE2 pattern, unanchored, tried on the mangled, the demangled
 * and the short name.
 */
#ifndef KBN_NAMES_H
#define KBN_NAMES_H

#include <stdbool.h>

#include "err.h"

struct names_filter;

/* Compile a pattern; NULL with ERR_USAGE and the offset in the pattern when it is wrong. */
struct names_filter *names_new(const char *pattern, struct err *e);
/* The same, for a pattern that was not given with --kernel: the error is the bare reason. */
struct names_filter *names_compile(const char *pattern, struct err *e);
void names_free(struct names_filter *f);

/* Does one of the names match? A pattern that exceeds the library's limits on a name does not. */
bool names_match(void *filter, const char *mangled, const char *demangled, const char *short_name);

#endif
