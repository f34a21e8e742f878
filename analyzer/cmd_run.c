/*
 * cmd_run.c - `kbn run [options] -- APP...`: run a program with the recorder in front, then report.
 *
 * Input: the settings table (kbn_env.h): every option sets its variable for the program and for
 * all that it starts, so launchers (mpirun, torchrun) need nothing more. Output: the program's own
 * exit status; the report is made by cmd_report in a process of its own, so that nothing which
 * happens there can change that status. Records nothing itself.
 */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd_run_child.h"
#include "kbn_env.h"
#include "kbn_trace.h"

struct setting {
	const char *variable, *option, *argument, *def, *help;
};

static const struct setting settings[] = {
#define SETTING(field, variable, option, argument, def, help) \
	[KBN_ENV_##field] = {variable, option, argument, def, help},
	KBN_ENV_TABLE(SETTING)
#undef SETTING
};

/* ---- options ---- */

static void usage(FILE *out)
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

	while ((n = word_of(value, ",", "md|json|csv|none")) && value[n])
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

/* Refuse what the recorder would only find out inside the program. NULL, or what it must be. */
static const char *check_value(const struct setting *s, const char *value)
{
	if (s == &settings[KBN_ENV_RANK])
		return !*value || is_rank_list(value) ? NULL : "must be ranks such as 0,3-5:";
	if (s == &settings[KBN_ENV_REPORT])
		return is_report_list(value) ? NULL : "must be a list of md, json, csv, none:";
	if (!strcmp(s->argument, "on|off"))
		return is_word(value, "on|off|1|0") ? NULL : "must be one of";
	if (strchr(s->argument, '|'))
		return is_word(value, s->argument) ? NULL : "must be one of";
	if (!strcmp(s->argument, "N"))
		return is_count(value) ? NULL : "must be a whole number:";
	if (!strcmp(s->argument, "PCT"))
		return is_decimal(value, 100) ? NULL : "must be a number up to 100:";
	if (!strcmp(s->argument, "SECONDS"))
		return is_decimal(value, 86400) ? NULL : "must be a number up to 86400:";
	if (!strcmp(s->argument, "RE"))
		return is_expression(value) ? NULL : "must be a POSIX extended regular expression:";
	return NULL;
}

/* The same for what the environment brought. Empty is as good as not set. 0 or -1 after saying so. */
static int check_environment(void)
{
	for (size_t i = 0; i < KBN_ENV_N; i++) {
		const struct setting *s = &settings[i];
		const char *value = getenv(s->variable), *why;

		why = value && *value ? check_value(s, value) : NULL;
		if (why) {
			fprintf(stderr, "kbn run: %s %s %s, not \"%s\"\n", s->variable, why,
				s->argument, value);
			return -1;
		}
	}
	return 0;
}

/*
 * Read options into our own environment, where the program and the report find them.
 * Returns the index of APP in argv, or -1 after saying what is wrong; 0 = help was asked for.
 */
static int parse(int argc, char **argv)
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
			fprintf(stderr, "kbn run: unknown option %s (see kbn run --help)\n", arg);
			return -1;
		}
		if (arg[name] == '=')
			value = arg + name + 1;
		else if (!s->argument[0])
			value = "1";
		else if (i + 1 < argc)
			value = argv[++i];
		if (!value) {
			fprintf(stderr, "kbn run: %s wants %s\n", arg, s->argument);
			return -1;
		}
		why = check_value(s, value);
		if (why) {
			fprintf(stderr, "kbn run: %s %s %s, not \"%s\"\n", s->option, why,
				s->argument, value);
			return -1;
		}
		setenv(s->variable, value, 1);
	}
	if (check_environment() < 0)
		return -1;
	if (i >= argc) {
		fprintf(stderr, "kbn run: no program given (usage: kbn run [options] -- APP...)\n");
		return -1;
	}
	return i;
}

/* Nothing is to be said: asked for, or the recorder was off and there is nothing to say. */
static bool is_quiet(void)
{
	const char *quiet = getenv("KBN_QUIET"), *on = getenv("KBN");

	return (quiet && *quiet && strcmp(quiet, "0")) ||
	       (on && (!strcmp(on, "off") || !strcmp(on, "0")));
}

/*
 * What is accepted for later versions is said, else its absence looks like a fault. The recorder
 * says it of KBN_TIMING.
 */
static void say_what_is_not_there(void)
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

/* ---- the run directory ---- */

/*
 * The name of this job, as the recorder would choose it (shim/settings.c) for a program started
 * here; our pid stands for what no launcher has named.
 */
static const char *job_name(char text[256])
{
	static const char *const variables[] = {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID",
						"PMIX_NAMESPACE",      "OMPI_MCA_ess_base_jobid",
						"PBS_JOBID",           "LSB_JOBID"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *v = getenv(variables[i]);

		if (!v || !*v)
			continue;
		if (!strcmp(v, "none")) /* torchrun without an id */
			break;
		snprintf(text, 256, "%s", v);
		for (char *c = text; *c; c++)
			if (*c == '/' || (unsigned char)*c < ' ')
				*c = '_';
		return text;
	}
	snprintf(text, 256, "%ld", (long)getpid());
	return text;
}

/* The run directory, in the three forms that are wanted of it. */
struct out_path {
	char path[PATH_MAX];         /* as it is; only when complete */
	char template[PATH_MAX * 2]; /* for the recorder, who expands it once more */
	char pattern[PATH_MAX * 2];  /* a glob that finds what the recorder makes of it */
	size_t path_bytes, template_bytes, pattern_bytes;
	bool complete; /* nothing is left for the recorder to fill in */
};

static void add_text(struct out_path *o, const char *text)
{
	for (; *text && o->path_bytes + 1 < PATH_MAX; text++) {
		o->path[o->path_bytes++] = *text;
		if (*text == '%')
			o->template[o->template_bytes++] = '%';
		o->template[o->template_bytes++] = *text;
		if (strchr("*?[\\", *text))
			o->pattern[o->pattern_bytes++] = '\\';
		o->pattern[o->pattern_bytes++] = *text;
	}
}

static void add_wildcard(struct out_path *o, char directive)
{
	if (o->path_bytes + 1 >= PATH_MAX)
		return;
	o->path[o->path_bytes++] = '*';
	o->template[o->template_bytes++] = '%';
	o->template[o->template_bytes++] = directive;
	o->pattern[o->pattern_bytes++] = '*';
	o->complete = false;
}

/*
 * Make KBN_OUT absolute (the program may change directory) and fill in what is the same for all
 * processes of the job: %j and %t. What differs between them (%h %p %r) stays for the recorder.
 */
static void resolve_out(struct out_path *o)
{
	const char *template = getenv("KBN_OUT");
	char job[256], seconds[24], cwd[PATH_MAX];

	memset(o, 0, sizeof(*o));
	o->complete = true;
	if (!template || !*template)
		template = settings[KBN_ENV_OUT].def;
	snprintf(seconds, sizeof(seconds), "%lld", (long long)time(NULL));
	if (template[0] != '/' && getcwd(cwd, sizeof(cwd))) {
		add_text(o, strcmp(cwd, "/") ? cwd : "");
		add_text(o, "/");
	}
	for (const char *c = template; *c; c++) {
		char directive = *c == '%' ? c[1] : '\0';

		switch (directive) {
		case 'j': add_text(o, job_name(job)); break;
		case 't': add_text(o, seconds); break;
		case '%': add_text(o, "%"); break;
		case 'h':
		case 'p':
		case 'r': add_wildcard(o, directive); break;
		default: add_text(o, (char[]){*c, '\0'}); continue;
		}
		c++;
	}
	o->path[o->path_bytes] = o->template[o->template_bytes] = o->pattern[o->pattern_bytes] =
		'\0';
}

/*
 * mkdir -p, 0700 for the last one. Unless the user named it the directory must be a new one: in a
 * container the pid, and so the name, is the same in every run, and two runs in one report would
 * be a wrong report. 0 or -1 with errno.
 */
static int make_out(struct out_path *o, bool is_named)
{
	char copy[PATH_MAX];
	struct stat st;

	snprintf(copy, sizeof(copy), "%s", o->path);
	for (char *s = copy + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		mkdir(copy, 0777);
		*s = '/';
	}
	for (int i = 2; mkdir(o->path, 0700); i++) {
		if (errno != EEXIST || (is_named && stat(o->path, &st)))
			return -1;
		if (is_named && S_ISDIR(st.st_mode))
			return 0;
		if (is_named || i > 10000) {
			errno = EEXIST;
			return -1;
		}
		snprintf(o->path + o->path_bytes, sizeof(o->path) - o->path_bytes, "-%d", i);
		snprintf(o->template + o->template_bytes, sizeof(o->template) - o->template_bytes,
			 "-%d", i);
	}
	return 0;
}

/* How many recorded processes a run directory holds. */
static size_t recordings(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, KBN_PROC_PREFIX, strlen(KBN_PROC_PREFIX));
	if (d)
		closedir(d);
	return n;
}

/* ---- the program ---- */

/* libkbn.so beside kbn (build folder), then ../lib (installed). 0 or -1 after saying so. */
static int find_library(char path[PATH_MAX])
{
	static const char *const places[] = {"libkbn.so", "../lib/libkbn.so"};
	char exe[PATH_MAX], candidate[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s", exe, places[i]);
		if (realpath(candidate, path)) {
			if (!strpbrk(path, " :"))
				return 0;
			fprintf(stderr,
				"kbn run: %s: LD_PRELOAD cannot hold a path with a blank or colon\n",
				path);
			return -1;
		}
	}
	fprintf(stderr, "kbn run: libkbn.so is neither in %s nor in %s/../lib\n", exe, exe);
	return -1;
}

/* ---- the report ---- */

/* In a process of its own; what it returns does not matter to the program's status. */
static void report(const char *dir)
{
	char *argv[] = {(char *)"report", (char *)dir, (char *)"--at-exit", NULL};
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int rc = cmd_report(3, argv);

		fflush(NULL);
		_exit(rc);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Report every run directory of the pattern that this run wrote into; how many there were. */
static size_t report_all(const char *pattern, time_t since)
{
	glob_t g;
	struct stat st;
	size_t found = 0;

	if (glob(pattern, 0, NULL, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *dir = g.gl_pathv[i];

		/* a new process directory moves the time of the run directory */
		if (stat(dir, &st) == 0 && st.st_mtime >= since && recordings(dir)) {
			report(dir);
			found++;
		}
	}
	globfree(&g);
	return found;
}

int cmd_run(int argc, char **argv)
{
	bool is_named = getenv("KBN_OUT") != NULL;
	struct out_path out;
	char library[PATH_MAX];
	int first = parse(argc, argv), status, code;
	time_t since = time(NULL) - 1;
	size_t before = 0, found;

	if (first < 0)
		return CMD_USAGE;
	if (first == 0) {
		usage(stdout);
		return CMD_GOOD;
	}
	if (!is_quiet())
		say_what_is_not_there();
	if (find_library(library))
		return CMD_INPUT;
	is_named |= getenv("KBN_OUT") != NULL;
	resolve_out(&out);
	if (out.complete) {
		if (make_out(&out, is_named)) {
			fprintf(stderr, "kbn run: cannot make %s: %s\n", out.path, strerror(errno));
			return CMD_INPUT;
		}
		before = recordings(out.path);
	}
	setenv("KBN_OUT", out.template, 1);
	setenv("KBN_DEFER", "1", 1);

	status = run_child(argv + first, library, &code);
	if (status >= 0)
		code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (!out.complete) {
		found = report_all(out.pattern, since);
	} else {
		rmdir(out.path); /* goes only when nothing was recorded */
		found = recordings(out.path) - before;
		if (found)
			report(out.path);
	}
	if (status < 0 || is_quiet())
		return code;
	if (!found)
		fprintf(stderr, "kbn: no CUDA work was seen in %s; nothing recorded\n",
			argv[first]);
	else if (before)
		fprintf(stderr,
			"kbn: %s held a recording already (%zu process%s): the report is of all %zu "
			"together; another -o keeps runs apart\n",
			out.path, before, before == 1 ? "" : "es", before + found);
	return code;
}
