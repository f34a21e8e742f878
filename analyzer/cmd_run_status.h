/*
 * cmd_run_status.h - how the program that `kbn run` waited for ended, left beside its recording.
 */
#ifndef KBN_CMD_RUN_STATUS_H
#define KBN_CMD_RUN_STATUS_H

#include <stdint.h>
#include <sys/types.h>

/* Now, on the clock that names process directories: ns since 1970. */
uint64_t run_status_now(void);

/*
 * Write KBN_STATUS_FILE into the newest process directory of `dir` that is of process `pid` of this
 * host and began at `since_ns` or later; nothing when there is none. `status` is that of waitpid. What
 * fails is not said: the recording is good without it.
 */
void run_status_leave(const char *dir, pid_t pid, uint64_t since_ns, int status);

#endif
