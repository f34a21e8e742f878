/*
 * cmd_run.c - `kbn run [options] -- APP...`: run a program with the recorder in front, then report.
 *
 * Input: options and settings (cmd_run_options.c), a program. Output: the program's own
 * exit status; the report is made by cmd_report in a process of its own, so that nothing which
 * happens there can change that status. Records nothing itself.
 */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd_run_child.h"
#include "cmd_run_options.h"
#include "cmd_run_status.h"
#include "kbn_env.h"
#include "kbn_trace.h"

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
		template = run_option_default(KBN_ENV_OUT);
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

/* What could not be started may not have been meant as a program. */
static void say_instead_of_program(const char *word)
{
	size_t n = strlen(word);
	struct stat st;

	if (stat(word, &st))
		return;
	if (S_ISDIR(st.st_mode))
		fprintf(stderr, "to report what was recorded there: kbn report %s\n", word);
	else if (n > 3 && !strcmp(word + n - 3, ".py"))
		fprintf(stderr, "it is a script: kbn run -- python3 %s\n", word);
	else if (!strchr(word, '/') && !access(word, X_OK))
		fprintf(stderr, "in this directory: kbn run -- ./%s\n", word);
}

/* ---- the report ---- */

/* The program that we waited for. */
struct ended {
	uint64_t since_ns; /* it began no earlier, on the clock of run_status_now */
	pid_t pid;
	int status; /* of waitpid, -1 = it could not be started */
};

/* In a process of its own; what it returns does not matter to the program's status. */
static void report(const char *dir, const struct ended *p)
{
	char *argv[] = {(char *)"report", (char *)dir, (char *)"--at-exit", NULL};
	pid_t pid;

	if (p->status >= 0)
		run_status_leave(dir, p->pid, p->since_ns, p->status);
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
static size_t report_all(const char *pattern, const struct ended *p)
{
	const time_t since = (time_t)(p->since_ns / 1000000000u) - 1;
	glob_t g;
	struct stat st;
	size_t found = 0;

	if (glob(pattern, 0, NULL, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *dir = g.gl_pathv[i];

		/* a new process directory moves the time of the run directory */
		if (stat(dir, &st) == 0 && st.st_mtime >= since && recordings(dir)) {
			report(dir, p);
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
	int first = run_options_parse(argc, argv), code;
	struct ended p = {.since_ns = run_status_now()};
	size_t before = 0, found;

	if (first < 0)
		return CMD_USAGE;
	if (first == 0) {
		run_options_help(stdout);
		return CMD_GOOD;
	}
	if (!is_quiet())
		run_options_say_absent();
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

	p.status = run_child(argv + first, library, &p.pid, &code);
	if (p.status >= 0)
		code = WIFSIGNALED(p.status) ? 128 + WTERMSIG(p.status) : WEXITSTATUS(p.status);
	if (!out.complete) {
		found = report_all(out.pattern, &p);
	} else {
		rmdir(out.path); /* goes only when nothing was recorded */
		found = recordings(out.path) - before;
		if (found)
			report(out.path, &p);
	}
	if (p.status < 0)
		say_instead_of_program(argv[first]);
	if (p.status < 0 || is_quiet())
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
