/*
 * cmd_fail.c - how a command ends that could not do its work: one line, one exit status.
 */
#include "cmd.h"

#include <stdio.h>

int cmd_fail(const char *command, const struct err *e)
{
	fprintf(stderr, "kbn %s: %s", command, e->text);
	if (e->offset >= 0 && e->code < ERR_IO)
		fprintf(stderr, " at byte %lld", (long long)e->offset);
	fputc('\n', stderr);
	if (e->code == ERR_USAGE) {
		fprintf(stderr, "kbn help %s shows the options\n", command);
		return CMD_USAGE;
	}
	return CMD_INPUT;
}
