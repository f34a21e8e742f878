/*
 * cmd_run_options.h - the options of `kbn run` and the variables that stand for them. Leaves what they do
 * to the recorder and to cmd_run.c.
 */
#ifndef KBN_CMD_RUN_OPTIONS_H
#define KBN_CMD_RUN_OPTIONS_H

#include <stdio.h>

#include "kbn_env.h"

/*
 * Read options into our own environment, where the program and the report find them, and check what the
 * environment brought. Returns the index of APP in argv, or -1 after saying what is wrong and what to type;
 * 0 = help was asked for.
 */
int run_options_parse(int argc, char **argv);

void run_options_help(FILE *out);
const char *run_option_default(enum kbn_env setting);

/*
 * What is accepted for later versions is said, else its absence looks like a fault. The recorder says it
 * of KBN_TIMING.
 */
void run_options_say_absent(void);

#endif
