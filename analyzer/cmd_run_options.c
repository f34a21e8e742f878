/*
 * cmd_run_options.c - see cmd_run_options.h. Input: the settings table (kbn_env.h): every option sets its
 * variable for the program and for all that it starts, so launchers (mpirun, torchrun) need nothing more.
 * What the recorder would only find out inside the program is refused here, with what to type instead.
 */
#include "cmd_run_options.h"

#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct setting {
	const char *variable, *option, *argument, *def, *help;
};

static const struct setting settings[] = {
#define SETTING(field, variable, option, argument, def, help) \
	[KBN_ENV_##field] = {variable, option, argument, def, help},
	KBN_ENV_TABLE(SETTING)
#undef SETTING
};

const char *run_option_default(enum kbn_env setting)
{
	return settings[setting].def;
}

void run_options_help(FILE *out)
{
	fprintf(out, "usage: kbn run [options] [--] APP [ARGUMENTS]\n\n"
		     "Runs APP with the recorder in front and writes the report when it ends.\n"
		     "The exit status is APP's, 128 + the signal when one ended it.\n\n");
	for (size_t i = 0; i < KBN_ENV_N; i++) {
		const struct setting *s = &settings[i];
		char left[64];

		if (!s->option[0])
			continue;
		snprintf(left, sizeof(left), "%s%s%s", s->option, s->argument[0] ? " " : "",
			 s->argument);
		fprintf(out, "  %-32s %s\n", left, s->help);
	}
	fprintf(out,
		"\nEach option sets a variable; `kbn help env` lists them with their defaults.\n");
}

/* ---- what to type instead ---- */

static void say_instead_of_format(const char *value)
{
	if (strstr(value, "text") || strstr(value, "txt"))
		fprintf(stderr,
			"the table is printed at the end when stderr is a terminal, and at any "
			"time by: kbn report DIR\n");
	else
		fprintf(stderr, "for example: kbn run --report md,json -- APP...\n");
}

/* `name` = bytes of `arg` before a "=". */
static void say_instead_of_option(const char *arg, size_t name)
{
	static const struct {
		const char *option, *instead;
	} rows[] = {
		{"--md", "kbn run --report md -- APP..."},
		{"--json", "kbn run --report json -- APP..."},
		{"--csv", "kbn run --report csv -- APP..."},
		{"--text", "kbn report DIR, when the program has ended"},
		{"--html", "kbn run --report html -- APP..."},
		{"--top", "kbn report DIR --top N, when the program has ended"},
		{"--kernel",
		 "kbn run --kernels RE -- APP... records only these; kbn report DIR --kernel RE "
		 "shows only these"},
		{"--out", "kbn run -o DIR -- APP..."},
		{"--output", "kbn run -o DIR -- APP..."},
		{"--env",
		 "kbn help env lists the settings; they are variables of kbn run's own environment"},
	};
	const char *best = NULL;
	char typed[64];
	int least = TEXT_FAR;

	snprintf(typed, sizeof(typed), "%.*s", (int)(name < 60 ? name : 60), arg);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].option, typed)) {
			fprintf(stderr, "for that: %s\n", rows[i].instead);
			return;
		}
	for (size_t i = 0; i < KBN_ENV_N; i++) {
		int far = text_distance(typed, settings[i].option);

		if (strlen(settings[i].option) > 2 && far < least) {
			best = settings[i].option;
			least = far;
		}
	}
	if (best)
		fprintf(stderr, "did you mean %s?\n", best);
	else
		fprintf(stderr,
			"kbn help run shows the options; those of APP come behind it: kbn run -- APP "
			"%s\n",
			arg);
}

/* The length of the word at `list`, that ends at one of `ends`, when it is one of "a|b|c"; else 0. */
static size_t word_of(const char *list, const char *ends, const char *words)
{
	size_t n = strcspn(list, ends);

	for (const char *w = words; n && w; w = strchr(w, '|') ? strchr(w, '|') + 1 : NULL)
		if (!strncmp(w, list, n) && (w[n] == '|' || w[n] == '\0'))
			return n;
	return 0;
}

static bool is_word(const char *value, const char *words)
{
	return word_of(value, "", words) > 0;
}

static bool is_report_list(const char *value)
{
	size_t n;

	while ((n = word_of(value, ",", "md|json|csv|html|none")) && value[n])
		value += n + 1;
	return n > 0;
}

/* Digits at `text`, few enough for any integer of 64 bits; 0 = none, or too many. */
static size_t digits(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n <= 18 ? n : 0;
}

static bool is_count(const char *value)
{
	size_t n = digits(value);

	return n > 0 && value[n] == '\0';
}

/* What the recorder can read: no sign, no exponent, at most six decimals. */
static bool is_decimal(const char *value, double most)
{
	size_t n = digits(value), decimals = value[n] == '.' ? digits(value + n + 1) : 0;

	if (value[n] == '.')
		n += 1 + decimals;
	return n > 0 && decimals <= 6 && value[n] == '\0' && strcmp(value, ".") &&
	       strtod(value, NULL) <= most;
}

/* 0,3-5 */
static bool is_rank_list(const char *value)
{
	for (;; value++) {
		long from, to;
		char *end;

		if (!digits(value))
			return false;
		from = to = strtol(value, &end, 10);
		if (*end == '-') {
			if (!digits(end + 1))
				return false;
			to = strtol(end + 1, &end, 10);
		}
		if (to < from || (*end && *end != ','))
			return false;
		value = end;
		if (!*value)
			return true;
	}
}

static bool is_expression(const char *value)
{
	regex_t re;

	if (regcomp(&re, value + (value[0] == '!'), REG_EXTENDED | REG_NOSUB))
		return false;
	regfree(&re);
	return true;
}

static const char must_be_one_of[] = "must be one of";

/* Refuse what the recorder would only find out inside the program. NULL, or what it must be. */
static const char *check_value(const struct setting *s, const char *value)
{
	if (s == &settings[KBN_ENV_RANK])
		return !*value || is_rank_list(value) ? NULL : "must be ranks such as 0,3-5";
	if (s == &settings[KBN_ENV_REPORT])
		return is_report_list(value) ? NULL : "must be a list of md, json, csv, html, none";
	if (!strcmp(s->argument, "on|off"))
		return is_word(value, "on|off|1|0") ? NULL : must_be_one_of;
	if (strchr(s->argument, '|'))
		return is_word(value, s->argument) ? NULL : must_be_one_of;
	if (!strcmp(s->argument, "N"))
		return is_count(value) ? NULL : "must be a whole number";
	if (!strcmp(s->argument, "PCT"))
		return is_decimal(value, 100) ? NULL : "must be a number up to 100";
	if (!strcmp(s->argument, "SECONDS"))
		return is_decimal(value, 86400) ? NULL : "must be a number up to 86400";
	if (!strcmp(s->argument, "RE"))
		return is_expression(value) ? NULL : "must be a POSIX extended regular expression";
	return NULL;
}

/* `as` is the name by which the value came: the option or the variable. */
static int refuse(const struct setting *s, const char *as, const char *value, const char *why)
{
	bool has_words = why == must_be_one_of;

	fprintf(stderr, "kbn run: %s %s%s%s, not \"%s\"\n", as, why, has_words ? " " : "",
		has_words ? s->argument : "", value);
	if (s == &settings[KBN_ENV_REPORT])
		say_instead_of_format(value);
	return -1;
}

/* The same for what the environment brought. Empty is as good as not set. 0 or -1 after saying so. */
static int check_environment(void)
{
	for (size_t i = 0; i < KBN_ENV_N; i++) {
		const struct setting *s = &settings[i];
		const char *value = getenv(s->variable), *why;

		why = value && *value ? check_value(s, value) : NULL;
		if (why)
			return refuse(s, s->variable, value, why);
	}
	return 0;
}

int run_options_parse(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		const char *arg = argv[i], *value = NULL, *why;
		const struct setting *s = NULL;
		size_t name = strcspn(arg, "=");

		if (!strcmp(arg, "--")) {
			i++;
			break;
		}
		if (!strcmp(arg, "--help") || !strcmp(arg, "-h"))
			return 0;
		for (size_t k = 0; k < KBN_ENV_N && !s; k++)
			if (settings[k].option[0] && strlen(settings[k].option) == name &&
			    !strncmp(settings[k].option, arg, name))
				s = &settings[k];
		if (!s) {
			fprintf(stderr, "kbn run: unknown option %s\n", arg);
			say_instead_of_option(arg, name);
			return -1;
		}
		if (arg[name] == '=')
			value = arg + name + 1;
		else if (!s->argument[0])
			value = "1";
		else if (i + 1 < argc)
			value = argv[++i];
		if (!value) {
			fprintf(stderr, "kbn run: %s wants %s: %s\n", arg, s->argument, s->help);
			return -1;
		}
		why = check_value(s, value);
		if (why)
			return refuse(s, s->option, value, why);
		setenv(s->variable, value, 1);
	}
	if (check_environment() < 0)
		return -1;
	if (i >= argc) {
		fprintf(stderr,
			"kbn run: no program given; kbn run [options] -- APP ARGUMENTS...\n");
		return -1;
	}
	return i;
}

void run_options_say_absent(void)
{
	static const struct {
		enum kbn_env setting;
		const char *instead;
	} absent[] = {
		{KBN_ENV_STACKS, "no call stacks are recorded"},
		{KBN_ENV_TIMELINE, "no timeline is recorded"},
	};

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		const struct setting *s = &settings[absent[i].setting];
		const char *value = getenv(s->variable);

		if (value && is_word(value, "on|1"))
			fprintf(stderr, "kbn: %s is not in this version: %s\n", s->option,
				absent[i].instead);
	}
}
