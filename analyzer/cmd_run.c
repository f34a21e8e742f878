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
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kbn_env.h"
#include "kbn_trace.h"

/* As env(1), nohup(1) and timeout(1) have it. */
#define EXIT_CANNOT_EXEC 126
#define EXIT_NOT_FOUND   127

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

/* Whether `value` is one of the words of "a|b|c". */
static bool is_one_of(const char *value, const char *words)
{
	size_t n = strlen(value);

	for (const char *w = words; w; w = strchr(w, '|') ? strchr(w, '|') + 1 : NULL)
		if (n && !strncmp(w, value, n) && (w[n] == '|' || w[n] == '\0'))
			return true;
	return false;
}

static bool is_number(const char *value)
{
	char *end;
	double v = strtod(value, &end);

	return end != value && *end == '\0' && v >= 0 && v < 1e18;
}

/* Refuse what the recorder would only find out inside the program. NULL, or why not. */
static const char *check_value(const struct setting *s, const char *value)
{
	if (strchr(s->argument, '|'))
		return is_one_of(value, s->argument) ? NULL : "must be one of";
	if (!strcmp(s->argument, "N") || !strcmp(s->argument, "PCT"))
		return is_number(value) ? NULL : "must be a number:";
	if (!strcmp(s->argument, "RE")) {
		regex_t re;

		if (regcomp(&re, value + (value[0] == '!'), REG_EXTENDED | REG_NOSUB))
			return "must be a POSIX extended regular expression:";
		regfree(&re);
	}
	return NULL;
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

/* How long the leading sanitizer runtimes in a preload list are: they insist on being first. */
static size_t sanitizers_first(const char *list)
{
	static const char *const runtimes[] = {"libasan", "libtsan", "liblsan", "libubsan",
					       "libclang_rt."};
	size_t used = 0;

	for (;;) {
		size_t n = strcspn(list + used, " :");
		const char *item = list + used, *base = item;
		bool is_runtime = false;

		for (size_t i = 0; i < n; i++)
			if (item[i] == '/')
				base = item + i + 1;
		for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
			is_runtime |= n && !strncmp(base, runtimes[i], strlen(runtimes[i]));
		if (!is_runtime)
			return used;
		used += n;
		used += strspn(list + used, " :");
		if (!list[used])
			return used;
	}
}

/* Put `library` in front of LD_PRELOAD, behind sanitizers; what is there stays. 0 or -1. */
static int set_preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *list;
	size_t head;
	int rc;

	if (!old || !*old)
		return setenv("LD_PRELOAD", library, 1);
	head = sanitizers_first(old);
	if (asprintf(&list, "%.*s%s%s%s%s", (int)head, old,
		     head && !strchr(" :", old[head - 1]) ? ":" : "", library, old[head] ? ":" : "",
		     old + head) < 0)
		return -1;
	rc = setenv("LD_PRELOAD", list, 1);
	free(list);
	return rc;
}

static volatile sig_atomic_t child_pid;
static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define FORWARDED (sizeof(forwarded) / sizeof(forwarded[0]))

/* What the terminal sends reaches the whole foreground group: only what a process sent us is passed on. */
static void forward(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (child_pid > 0 && info->si_code <= 0)
		kill(child_pid, sig);
	errno = saved;
}

static void forward_signals(struct sigaction old[FORWARDED])
{
	struct sigaction sa = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};

	for (size_t i = 0; i < FORWARDED; i++) {
		sigaction(forwarded[i], NULL, &old[i]);
		if (old[i].sa_handler != SIG_IGN) /* nohup: stays ignored */
			sigaction(forwarded[i], &sa, NULL);
	}
}

static void restore_signals(const struct sigaction old[FORWARDED])
{
	for (size_t i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i], &old[i], NULL);
}

/* Start argv with the library preloaded. The status of waitpid, or -1 when it could not be started; *code is then ours. */
static int run_program(char **argv, const char *library, int *code)
{
	struct sigaction old[FORWARDED];
	sigset_t all, mask;
	int tell[2], status = 0, failed = 0;
	pid_t pid;

	*code = EXIT_CANNOT_EXEC;
	if (pipe2(tell, O_CLOEXEC))
		return -1;
	fflush(NULL);
	/* no signal may come between fork and the moment we know whom to pass it on to */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	forward_signals(old);
	pid = fork();
	if (pid == 0) {
		restore_signals(old);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		if (set_preload(library) == 0)
			execvp(argv[0], argv);
		failed = errno;
		if (write(tell[1], &failed, sizeof(failed)) < 0) {
			/* nobody to tell: the exit status below has to do */
		}
		_exit(failed == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC);
	}
	child_pid = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(tell[1]);
	if (pid < 0) {
		failed = errno;
	} else {
		if (read(tell[0], &failed, sizeof(failed)) != (ssize_t)sizeof(failed))
			failed = 0;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	child_pid = 0;
	restore_signals(old);
	close(tell[0]);
	if (failed) {
		fprintf(stderr, "kbn run: cannot run %s: %s\n", argv[0], strerror(failed));
		*code = failed == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
		return -1;
	}
	return status;
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

	status = run_program(argv + first, library, &code);
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
		fprintf(stderr, "kbn: %s held a recording already; the report covers all of it\n",
			out.path);
	return code;
}
