/*
 * cmd_run_child.h - the program that `kbn run` runs: started with the recorder in front, signals
 * passed on, its status brought back. Leaves options, folders and the report to cmd_run.c.
 */
#ifndef KBN_CMD_RUN_CHILD_H
#define KBN_CMD_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* As env(1), nohup(1) and timeout(1) have it. */
#define EXIT_CANNOT_EXEC 126
#define EXIT_NOT_FOUND   127

/*
 * Run argv with `library` in LD_PRELOAD until it ends. Returns the status of waitpid; or -1 after
 * saying that it could not be started, and *code is then the exit status that stands for this.
 * *pid = the process that it was.
 */
int run_child(char **argv, const char *library, pid_t *pid, int *code);

/*
 * Whether a signal that came to us must still be given to the program. `witness_saw_it`: 1 = the
 * whole process group was sent it, 0 = it was not, -1 = that cannot be told, then `si_code` of the
 * signal decides. `in_our_group`: the program is in that group, so it has what the group was sent.
 */
bool signal_is_ours_to_give(int witness_saw_it, int si_code, bool in_our_group);

#endif
