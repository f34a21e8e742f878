/* whole_file.c - see whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void drop(struct whole_file *w)
{
	free(w->path);
	free(w->temporary);
	*w = (struct whole_file){0};
}

static int refuse(const char *path, struct err *e)
{
	return err_set(e, ERR_IO, -1, "cannot write %s: %s", path, strerror(errno));
}

int whole_file_open(struct whole_file *w, const char *path, struct err *e)
{
	struct stat st;
	const bool is_there = stat(path, &st) == 0;
	/* a link stays one; what cannot be followed by name (a deleted file behind a descriptor) is written as it is */
	char *end = is_there && S_ISREG(st.st_mode) ? realpath(path, NULL) : NULL;

	*w = (struct whole_file){0};
	if (is_there && !end) {
		w->path = strdup(path);
	} else {
		w->path = end ? end : strdup(path);
		if (w->path && asprintf(&w->temporary, "%s.%ld.tmp", w->path, (long)getpid()) < 0) {
			w->temporary = NULL;
			free(w->path);
			w->path = NULL;
		}
	}
	if (!w->path)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	w->out = fopen(w->temporary ? w->temporary : w->path, "we");
	if (w->out)
		return 0;
	refuse(path, e);
	drop(w);
	return -1;
}

int whole_file_close(struct whole_file *w, bool keep, struct err *e)
{
	int rc = 0;

	if (fclose(w->out) != 0 && keep)
		rc = refuse(w->path, e);
	if (rc == 0 && keep && w->temporary && rename(w->temporary, w->path) != 0)
		rc = refuse(w->path, e);
	if (w->temporary && (rc != 0 || !keep))
		unlink(w->temporary);
	drop(w);
	return rc;
}
