/*
 * process.h - what is recorded of the process itself, with secrets taken out.
 */
#ifndef KBN_SHIM_PROCESS_H
#define KBN_SHIM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Read what stands in files: the command line, the driver's version. On the thread of filer.h. */
void kbn_process_read(void);

/* Append the PROCESS record, of what was read, and notes on other profilers and a simulated driver. */
void kbn_process_record(void);

/*
 * Blank what looks like a secret in `bytes` of NUL-terminated strings, in place: the value of any
 * --option=VALUE, NAME=VALUE, or "--option VALUE" whose name holds token, secret, passw, key or
 * credential. Values become "*". Returns the bytes used now (at most `bytes`).
 */
size_t kbn_redact(char *strings, size_t bytes);

#endif
