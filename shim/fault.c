/*
 * fault.c - counts the shim's allocations and file operations and says which one has to fail.
 * Empty unless built with -DKBN_FAULTS; see fault.h.
 */
#include "fault.h"

#ifdef KBN_FAULTS

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	[KBN_FAULT_ALLOC] = "alloc:", [KBN_FAULT_WRITE] = "write:",   [KBN_FAULT_TABLE] = "table:",
	[KBN_FAULT_STALL] = "stall:", [KBN_FAULT_SIGNAL] = "signal:",
};

bool kbn_fault(enum kbn_fault_kind kind)
{
	static _Atomic unsigned long calls[KBN_FAULT_KINDS];
	static char current[32]; /* a changed setting starts a new count (tests set it again) */
	const char *setting = getenv("KBN_FAULT");
	size_t skip = strlen(names[kind]);
	unsigned long wanted, now;
	char *end;

	if (!setting)
		setting = "";
	if (strncmp(current, setting, sizeof(current) - 1) != 0) {
		strncpy(current, setting, sizeof(current) - 1);
		for (int i = 0; i < KBN_FAULT_KINDS; i++)
			atomic_store(&calls[i], 0);
	}
	if (strncmp(setting, names[kind], skip) != 0)
		return false;
	wanted = strtoul(setting + skip, &end, 10);
	now = atomic_fetch_add(&calls[kind], 1) + 1;
	return now == wanted || (*end == '+' && now > wanted);
}

#else

typedef int kbn_no_faults; /* ISO C forbids an empty translation unit */

#endif
