/*
 * fault.h - failure injection for tests: the n-th allocation or file operation of the shim fails.
 *
 * Compiled in with -DKBN_FAULTS only; otherwise kbn_fault() is a constant and leaves no code.
 * KBN_FAULT="alloc:7" fails the seventh allocation, "write:3+" the third and all later operations
 * on files, "table:1+" every request for a descriptor table of our own. "stall:9" fails nothing: the
 * ninth growth of a file takes longer than anybody waits; nor does "signal:2". Driver calls are failed
 * by the stand-in driver, not here.
 */
#ifndef KBN_SHIM_FAULT_H
#define KBN_SHIM_FAULT_H

#include <stdbool.h>

#define KBN_STALL_NS 600000000u

enum kbn_fault_kind {
	KBN_FAULT_ALLOC, /* anonymous memory, threads */
	KBN_FAULT_WRITE, /* make, open, extend, map, write or rename a file */
	KBN_FAULT_TABLE, /* a descriptor table of our own */
	KBN_FAULT_STALL, /* a growing file: takes KBN_STALL_NS */
	KBN_FAULT_SIGNAL, /* SIGUSR1 for the program: just before a thread of ours is made, just after */
	KBN_FAULT_KINDS,
};

#ifdef KBN_FAULTS
/* Counts one operation of this kind; true when it has to fail. Thread-safe. */
bool kbn_fault(enum kbn_fault_kind kind);
#else
static inline bool kbn_fault(enum kbn_fault_kind kind)
{
	(void)kind;
	return false;
}
#endif

#endif
