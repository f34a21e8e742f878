/*
 * cmd_run_child.h - the program that `kbn run` runs: started with the recorder in front, signals
 * passed on, its status brought back. Leaves options, folders and the report to cmd_run.c.
 */
#ifndef KBN_CMD_RUN_CHILD_H
#define KBN_CMD_RUN_CHILD_H

/* As env(1), nohup(1) and timeout(1) have it. */
#define EXIT_CANNOT_EXEC 126
#define EXIT_NOT_FOUND   127

/*
 * Run argv with `library` in LD_PRELOAD until it ends. Returns the status of waitpid; or -1 after
 * saying that it could not be started, and *code is then the exit status that stands for this.
 */
int run_child(char **argv, const char *library, int *code);

#endif
