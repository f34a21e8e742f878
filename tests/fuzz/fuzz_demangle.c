/*
 * fuzz_demangle.c - hostile names: always an answer, never longer than the limits say, and the short
 * form of a name that is not mangled is the name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	char *name = malloc(size + 3);
	const char *full, *brief;

	/* half of the inputs are given the prefix that makes them mangled */
	strcpy(name, size && data[0] % 2 ? "_Z" : "");
	strncat(name, (const char *)data + (size > 0), size ? size - 1 : 0);
	full = demangle_full(a, name);
	brief = demangle_short(a, name);
	check(full && brief);
	check(strlen(full) <= (1u << 20) || !strcmp(full, name));
	if (strncmp(name, "_Z", 2))
		check(!strcmp(full, name) && !strcmp(brief, name));
	else
		check(!*name || *brief);
	free(name);
	arena_free(a);
	return 0;
}
