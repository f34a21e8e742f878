/*
 * main.c - the command table, help and version. Everything else is in cmd_*.c, one file per command.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "kbn_env.h"
#include "text.h"

#ifndef KBN_VERSION
#define KBN_VERSION "0"
#endif

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments, *help;
} commands[] = {
	{"run", cmd_run, "[options] -- APP...",
	 "run a program, record its kernels, report when it ends"},
	{"report", cmd_report, "DIR... [options]",
	 "analyse a recording, also while the program still runs"},
	{"diff", cmd_diff, "BASE... --to NEW... [options]",
	 "what changed between runs, with a verdict for scripts"},
	{"analyze", cmd_analyze, "FILE --grid X --block X ...",
	 "the same of a kernel in a file, without a run"},
	{"merge", cmd_merge, "DIR... -o DIR", "many processes or ranks into one run directory"},
	{"devices", cmd_devices, "[NAME] [--json]", "the hardware tables with their sources"},
	{"occupancy", cmd_occupancy, "--arch sm_XX --registers N ...",
	 "how many blocks an SM holds, and what limits it"},
	{"calibrate", cmd_calibrate, "[--json] [-o FILE]",
	 "measure this machine once: event bias, bandwidth, rates"},
	{"sass", cmd_sass, "FILE [options]",
	 "machine code with control codes, blocks and loops, of any CUDA file"},
	{"schema", cmd_schema, "[FORMAT]", "the JSON Schema of every output format"},
};
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* What somebody may have wanted who typed `word` where a command stands. */
static void say_instead(const char *word)
{
	const struct command *best = NULL;
	int least = TEXT_FAR;
	struct stat st;

	for (size_t i = 0; i < COMMANDS; i++) {
		int far = text_distance(word, commands[i].name);

		if (far < least) {
			best = &commands[i];
			least = far;
		}
	}
	if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
		fprintf(stderr, "to report what was recorded there: kbn report %s\n", word);
	else if (stat(word, &st) == 0 && access(word, X_OK) == 0)
		fprintf(stderr, "to record that program: kbn run -- %s%s\n",
			strchr(word, '/') ? "" : "./", word);
	else if (word[0] == '-')
		fprintf(stderr, "options come behind a command: kbn run [options] -- APP...\n");
	else if (best)
		fprintf(stderr, "did you mean kbn %s?\n", best->name);
	else
		fprintf(stderr, "kbn help lists the commands\n");
}

static void usage(FILE *out)
{
	fprintf(out,
		"kbn " KBN_VERSION
		": what the kernels of an unmodified CUDA program do, and how long they take\n\n"
		"To begin, either of these records APP and writes kbn-<pid>/report.md when it ends:\n"
		"  kbn run -- APP...\n"
		"  LD_PRELOAD=/path/to/libkbn.so APP...\n\n"
		"Commands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  kbn %-10s %-34s %s\n", commands[i].name, commands[i].arguments,
			commands[i].help);
	fprintf(out,
		"\nkbn help COMMAND describes a command, kbn help env the KBN_* settings, kbn help KBN-N010 a note\n"
		"of a report; kbn help notes lists those.\n"
		"Exit status: 0 good, 1 the input cannot be analysed, 2 usage, 3 regressed, 4 nothing comparable;\n"
		"kbn run: that of APP.\n");
}

/* The settings of the recorder, from the one table. */
static void help_env(void)
{
#define ROW(field, variable, option, argument, def, help)                                          \
	printf("%-14s %-22s default %-10s %s%s%s\n", variable, argument, def[0] ? def : "-", help, \
	       option[0] ? "; kbn run " : "", option);
	KBN_ENV_TABLE(ROW)
#undef ROW
}

static int help(int argc, char **argv)
{
	char *again[] = {argc > 1 ? argv[1] : NULL, (char *)"--help", NULL};
	const struct command *c;

	if (argc < 2) {
		usage(stdout);
		return CMD_GOOD;
	}
	if (strcmp(argv[1], "env") == 0) {
		help_env();
		return CMD_GOOD;
	}
	if (strcmp(argv[1], "notes") == 0)
		return cmd_help_notes();
	c = find(argv[1]);
	if (c)
		return c->run(2, again);
	if (cmd_is_note(argv[1]))
		return cmd_help_note(argv[1]);
	fprintf(stderr, "kbn help: no command %s\n", argv[1]);
	say_instead(argv[1]);
	return CMD_USAGE;
}

static int run(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		usage(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		puts("kbn " KBN_VERSION);
		return CMD_GOOD;
	}
	c = find(argv[1]);
	if (!c) {
		fprintf(stderr, "kbn: no command %s\n", argv[1]);
		say_instead(argv[1]);
		return CMD_USAGE;
	}
	return c->run(argc - 1, argv + 1);
}

/*
 * Output that fits into the buffer is written here, behind the command: a full disk is no success.
 * Whoever failed before has said so, and kbn run ends as the program did.
 */
int main(int argc, char **argv)
{
	const int status = run(argc, argv);

	if (status != CMD_GOOD || strcmp(argv[1], "run") == 0 ||
	    (fflush(stdout) == 0 && !ferror(stdout)))
		return status;
	fputs("kbn: cannot write to standard output\n", stderr);
	return CMD_INPUT;
}
