/*
 * exit.h - the end of a recording: seal within the deadline, then the report in a process of its own.
 */
#ifndef KBN_SHIM_EXIT_H
#define KBN_SHIM_EXIT_H

/* Registered with atexit right after the first successful cuInit. Seals, reports, returns. Does nothing in a forked child. */
void kbn_exit_handler(void);

#endif
