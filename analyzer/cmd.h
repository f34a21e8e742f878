/*
 * cmd.h - the commands of kbn, and what they share: exit status and the one line on stderr that says
 * why something failed. A command gets argv[0] = its own name and returns the exit status.
 */
#ifndef KBN_CMD_H
#define KBN_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum cmd_status {
	CMD_GOOD = 0,
	CMD_INPUT = 1, /* the input cannot be analysed */
	CMD_USAGE = 2,
	CMD_REGRESSED = 3,
	CMD_NOTHING = 4, /* nothing comparable */
};

int cmd_run(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_analyze(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_occupancy(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_sass(int argc, char **argv);
int cmd_schema(int argc, char **argv);

struct report;

/* Write a report as "text", "md", "json", "csv" or "html" to `path`, NULL = standard output. top: 0 = as the format likes. */
int cmd_write_report(const struct report *r, const char *format, const char *path, size_t top,
		     struct err *e);

/* Does `word` look like the id of a statement in a report: KBN-N010, n010? */
bool cmd_is_note(const char *word);
/* Print what the statement `id` means, why it is made and what to do; or all of them, a line each. */
int cmd_help_note(const char *id);
int cmd_help_notes(void);

/*
 * From now on, when a mapped file is cut off under us, say so of `path` and end with CMD_INPUT. Output
 * that is still in the buffer is lost: the file may be cut in the midst of writing it.
 */
void cmd_fail_when_cut(const char *command, const char *path);

/* More words than a command takes at all: cmd_fail with that. */
#define CMD_WORDS 64
int cmd_too_many(const char *command);

/* Fill *e for a name that is no device; a similar one is suggested. Returns -1. */
int cmd_no_device(const char *name, struct err *e);

/* Columns of the terminal at `fd`: $COLUMNS, what the terminal says, or 100. */
int cmd_columns(int fd);

/* Print "kbn COMMAND: text [at byte N]" to stderr; returns the exit status that the error stands for. */
int cmd_fail(const char *command, const struct err *e);

#endif
