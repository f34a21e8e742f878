/*
 * fake_names.h - the exported names of the stand-in driver.
 */
#ifndef KBN_FAKE_NAMES_H
#define KBN_FAKE_NAMES_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/*
 * What cuGetProcAddress answers for a base name, a version and flags (1 legacy, 2 per-thread).
 * NULL with *status 1 = no such name, 2 = only in later versions.
 */
void *fake_names_find(const char *base, int version, unsigned long long flags, int *status);
size_t fake_names_count(void);

#pragma GCC visibility pop

#endif
