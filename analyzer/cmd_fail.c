/*
 * cmd_fail.c - how a command ends that could not do its work: one line, one exit status.
 */
#include "cmd.h"

#include <stdio.h>

#include "arch.h"

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

int cmd_too_many(const char *command)
{
	const struct err e = {.code = ERR_USAGE, .offset = -1, .text = "too many words"};

	return cmd_fail(command, &e);
}

int cmd_no_device(const char *name, struct err *e)
{
	const struct product *like = product_like(name);

	if (like)
		return err_set(
			e, ERR_USAGE, -1,
			"no device or architecture named %s; is it \"%s\"? (kbn devices lists all)",
			name, like->name);
	return err_set(e, ERR_USAGE, -1,
		       "no device or architecture named %s (kbn devices lists all)", name);
}
