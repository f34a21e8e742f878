/*
 * fake_names.c - all exported names: stubs for those without a model, and cuGetProcAddress.
 *
 * A stub answers "not supported". Every name has an address of its own, as pointer identity needs.
 * This file sees no prototypes: a stub is any of them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fake_names.h"

#define NOT_SUPPORTED 801

/* Weak: a part of the model that defines the name wins. */
#define FAKE_NAME(symbol, base, version, abi)  \
	int symbol(void);                      \
	__attribute__((weak)) int symbol(void) \
	{                                      \
		return NOT_SUPPORTED;          \
	}
#include "names.def"
#undef FAKE_NAME

#define PLAIN 0
#define PTSZ  1
#define PTDS  1

static const struct {
	const char *symbol, *base;
	void *at;
	int version;
	bool per_thread;
} names[] = {
#define FAKE_NAME(symbol, base, version, abi) \
	{#symbol, #base, (void *)(uintptr_t)symbol, version, abi},
#include "names.def"
#undef FAKE_NAME
};

void *fake_names_find(const char *base, int version, unsigned long long flags, int *status)
{
	bool per_thread = flags & 2, known = false;
	int best = -1;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].base, base) != 0)
			continue;
		known = true;
		if (names[i].version > version || (names[i].per_thread && !per_thread))
			continue;
		/* The per-thread form wins where there is one, then the newest. */
		if (best < 0 || names[i].per_thread > names[best].per_thread ||
		    (names[i].per_thread == names[best].per_thread &&
		     names[i].version > names[best].version))
			best = (int)i;
	}
	*status = best >= 0 ? 0 : known ? 2 : 1;
	return best >= 0 ? names[best].at : NULL;
}

size_t fake_names_count(void)
{
	return sizeof(names) / sizeof(names[0]);
}
