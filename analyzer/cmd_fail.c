/*
 * cmd_fail.c - what every command shares: how it ends that could not do its work (one line, one exit
 * status), and how wide it may write.
 */
#include "cmd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static struct err cut; /* what is to be said then */

static void end_cut_off(int signal, siginfo_t *info, void *context)
{
	ssize_t written;

	(void)context;
	if (info->si_code != BUS_ADRERR) { /* not of a mapping: what happens without us */
		raise(signal);
		return;
	}
	written = write(STDERR_FILENO, cut.text, strlen(cut.text));
	(void)written;
	_exit(CMD_INPUT);
}

void cmd_fail_when_cut(const char *command, const char *path)
{
	struct sigaction action = {.sa_sigaction = end_cut_off,
				   .sa_flags = SA_SIGINFO | SA_RESETHAND};

	/* err_path leaves room for the end of the line */
	err_set(&cut, ERR_IO, -1, "kbn %s: %s: became shorter while it was read", command,
		err_path(path));
	strcat(cut.text, "\n");
	sigaction(SIGBUS, &action, NULL);
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
