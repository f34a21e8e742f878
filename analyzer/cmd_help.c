/*
 * cmd_help.c - `kbn help KBN-N010` and `kbn help notes`: what the statements of a report mean, from the
 * table that they are made from. The help of commands is theirs, that of settings is in main.c.
 */
#include "cmd.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "advice.h"
#include "finding.h"
#include "text.h"

#define COLUMNS 100

bool cmd_is_note(const char *word)
{
	if (strncasecmp(word, "KBN-", 4) == 0)
		return true;
	return *word && strchr("ANRTanrt", *word) && isdigit((unsigned char)word[1]);
}

/* With "N" where the statement has a number. */
static void wrapped(const char *lead, const char *text)
{
	char shown[TEXT_LINE];
	size_t n = 0;

	for (; text[n] && n + 1 < sizeof(shown); n++)
		shown[n] = text[n] == '#' ? 'N' : text[n];
	shown[n] = '\0';
	text_wrapped(lead, shown, COLUMNS, stdout);
}

static int help_advice(const struct advice_row *row)
{
	char lead[16];

	snprintf(lead, sizeof(lead), "%s  ", row->id);
	wrapped(lead, row->title);
	putchar('\n');
	wrapped("Why       ", advice_helps[row - advice_rows].why);
	wrapped("Do        ", advice_helps[row - advice_rows].advice);
	wrapped("Source    ", row->source);
	wrapped("More      ",
		"analyzer/ADVICE.md in the sources: when it is given, how its gain is worked out");
	return CMD_GOOD;
}

int cmd_help_note(const char *id)
{
	const struct finding_row *row = finding_find(id);
	char lead[16];

	if (advice_find(id))
		return help_advice(advice_find(id));
	if (!row) {
		fprintf(stderr, "kbn help: no note %s; kbn help notes lists them\n", id);
		return CMD_USAGE;
	}
	snprintf(lead, sizeof(lead), "%s  ", row->id);
	wrapped(lead, row->text);
	putchar('\n');
	wrapped("Why       ", row->why);
	wrapped("Do        ", row->advice);
	return CMD_GOOD;
}

int cmd_help_notes(void)
{
	printf("Every statement with an id that a report can make: N of the whole report, R a reason beside the\n"
	       "class of a kernel, T a trap of a kernel, A an experiment to make. kbn help KBN-N010 says why, and\n"
	       "what to do.\n\n");
	for (size_t i = 0; i < FINDING_N; i++) {
		char lead[16];

		snprintf(lead, sizeof(lead), "%s  ", finding_rows[i].id);
		wrapped(lead, finding_rows[i].text);
	}
	for (size_t i = 0; i < ADVICE_N; i++) {
		char lead[16];

		snprintf(lead, sizeof(lead), "%s  ", advice_rows[i].id);
		wrapped(lead, advice_rows[i].title);
	}
	return CMD_GOOD;
}
