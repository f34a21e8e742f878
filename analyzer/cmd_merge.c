/*
 * cmd_merge.c - `kbn merge DIR... -o DIR`: process directories and their code into one run directory.
 * Nothing is interpreted and nothing overwritten: two process directories of one name are an error,
 * found before the first byte is copied. Code files are named by their content, so equal names are equal.
 */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "session.h"
#include "vec.h"

struct step {
	char *from, *to;
	bool is_code;
};
typedef VEC(struct step) step_list;

static bool is_process(const char *name)
{
	return strncmp(name, KBN_PROC_PREFIX, sizeof(KBN_PROC_PREFIX) - 1) == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int add(step_list *list, const char *from, const char *folder, const char *name,
	       bool is_code, struct err *e)
{
	struct step *s = vec_add(list);

	if (!s)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	s->is_code = is_code;
	s->from = strdup(from);
	if (asprintf(&s->to, "%s/%s", folder, name) < 0)
		s->to = NULL;
	return s->from && s->to ? 0 : err_set(e, ERR_MEMORY, -1, "out of memory");
}

/* Calls `each` for every entry of a directory but the dot ones. */
static int list_directory(const char *path,
			  int (*each)(void *ctx, const char *path, const char *name, struct err *e),
			  void *ctx, struct err *e)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!d)
		return err_set(e, ERR_IO, -1, "cannot read %s: %s", path, strerror(errno));
	while (rc == 0 && (entry = readdir(d))) {
		char *full;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&full, "%s/%s", path, entry->d_name) < 0) {
			rc = err_set(e, ERR_MEMORY, -1, "out of memory");
			break;
		}
		rc = each(ctx, full, entry->d_name, e);
		free(full);
	}
	closedir(d);
	return rc;
}

struct plan {
	step_list *list;
	const char *out;
	size_t processes;
};

static int plan_code(void *ctx, const char *path, const char *name, struct err *e)
{
	struct plan *p = ctx;
	size_t n = strlen(name);
	char folder[4400];

	if (n < 4 || strcmp(name + n - 4, ".img") !=
			     0) /* a file that is still being written has another name */
		return 0;
	snprintf(folder, sizeof(folder), "%.4096s/" KBN_CODE_DIR, p->out);
	return add(p->list, path, folder, name, true, e);
}

static int plan_entry(void *ctx, const char *path, const char *name, struct err *e)
{
	struct plan *p = ctx;

	if (is_process(name)) {
		p->processes++;
		return add(p->list, path, p->out, name, false, e);
	}
	return strcmp(name, KBN_CODE_DIR) == 0 ? list_directory(path, plan_code, p, e) : 0;
}

/* A run directory, or one process directory together with the code store beside it. */
static int plan_input(struct plan *p, const char *dir, struct err *e)
{
	char path[4400];
	struct stat st;
	size_t before = p->processes;
	size_t n = strlen(dir);
	int rc;

	while (n > 1 && dir[n - 1] == '/')
		n--;
	snprintf(path, sizeof(path), "%.*s", (int)(n < 4096 ? n : 4096), dir);
	if (!is_process(base_name(path))) {
		rc = list_directory(path, plan_entry, p, e);
		return rc == 0 && p->processes == before
			       ? err_set(e, ERR_NOT_FOUND, -1, "no recording in %s", path)
			       : rc;
	}
	p->processes++;
	if (add(p->list, path, p->out, base_name(path), false, e) != 0)
		return -1;
	strncat(path, "/../" KBN_CODE_DIR, sizeof(path) - strlen(path) - 1);
	return stat(path, &st) == 0 ? list_directory(path, plan_code, p, e) : 0;
}

static int by_target(const void *a, const void *b)
{
	return strcmp(((const struct step *)a)->to, ((const struct step *)b)->to);
}

static int check_clashes(step_list *list, struct err *e)
{
	struct stat st;

	vec_sort(list, by_target);
	for (size_t i = 0; i < list->n; i++) {
		const struct step *s = &list->at[i];

		if (s->is_code)
			continue;
		if (i + 1 < list->n && strcmp(s->to, list->at[i + 1].to) == 0)
			return err_set(e, ERR_IO, -1, "%.90s and %.90s have the same name", s->from,
				       list->at[i + 1].from);
		if (lstat(s->to, &st) == 0)
			return err_set(e, ERR_IO, -1, "%.180s exists already", s->to);
	}
	return 0;
}

static int copy_bytes(int in, int out)
{
	static char buffer[1 << 16];
	ssize_t n, done;

	while ((n = read(in, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		for (ssize_t at = 0; at < n; at += done) {
			done = write(out, buffer + at, (size_t)(n - at));
			if (done < 0 && errno == EINTR)
				done = 0;
			if (done < 0)
				return -1;
		}
	}
	return 0;
}

static int copy_file(const char *from, const char *to, struct err *e)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, rc;

	if (in < 0)
		return err_set(e, ERR_IO, -1, "cannot read %s: %s", from, strerror(errno));
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0 && errno == EEXIST) { /* code of the same content */
		close(in);
		return 0;
	}
	rc = out < 0 ? -1 : copy_bytes(in, out);
	if (out >= 0 && close(out) != 0)
		rc = -1;
	if (rc != 0) {
		err_set(e, ERR_IO, -1, "cannot write %s: %s", to, strerror(errno));
		if (out >= 0)
			unlink(to);
	}
	close(in);
	return rc;
}

static int copy_into(void *ctx, const char *path, const char *name, struct err *e)
{
	char to[8192];

	snprintf(to, sizeof(to), "%s/%s", (const char *)ctx, name);
	return copy_file(path, to, e);
}

static int make_directory(const char *path, struct err *e)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_set(e, ERR_IO, -1, "cannot make %s: %s", path, strerror(errno));
}

static int carry_out(const step_list *list, const char *out, struct err *e)
{
	char code[4400];

	snprintf(code, sizeof(code), "%.4096s/" KBN_CODE_DIR, out);
	if (make_directory(out, e) != 0 || make_directory(code, e) != 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct step *s = &list->at[i];

		if (s->is_code ? copy_file(s->from, s->to, e) != 0
			       : make_directory(s->to, e) != 0 ||
					 list_directory(s->from, copy_into, s->to, e) != 0)
			return -1;
	}
	return 0;
}

int cmd_merge(int argc, char **argv)
{
	const char *output = NULL, **dirs = calloc((size_t)argc + 1, sizeof(*dirs));
	bool help = false;
	const struct option_spec table[] = {
		{"-o", OPTION_TEXT, &output, "DIR", "the run directory to make or to add to"},
		{"--help", OPTION_FLAG, &help, NULL, "this text"},
	};
	step_list list = {0};
	struct err e = {.offset = -1};
	size_t n = 0;
	int rc = -1;

	if (!dirs)
		err_set(&e, ERR_MEMORY, -1, "out of memory");
	else
		rc = options_parse(table, 2, argc, argv, dirs, &n, &e);
	if (rc == 0 && help) {
		printf("usage: kbn merge DIR... -o DIR\n\n"
		       "Joins what several processes or ranks recorded, so that `kbn report` sees one run.\n\n");
		options_help(table, 2, stdout);
		goto out;
	}
	if (rc == 0 && (!output || !n))
		rc = err_set(&e, ERR_USAGE, -1,
			     output ? "no directory given" : "-o DIR is missing");
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct plan p = {&list, output, 0};

		rc = plan_input(&p, dirs[i], &e);
	}
	if (rc == 0)
		rc = check_clashes(&list, &e);
	if (rc == 0)
		rc = carry_out(&list, output, &e);
out:
	for (size_t i = 0; i < list.n; i++) {
		free(list.at[i].from);
		free(list.at[i].to);
	}
	vec_fini(&list);
	free(dirs);
	return rc == 0 ? CMD_GOOD : cmd_fail("merge", &e);
}
