/*
 * cmd_write.c - where a report goes: to a file, or to standard output with the width of its terminal.
 */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "render.h"

#define NO_TERMINAL_COLUMNS 100 /* of a pipe or file: wide enough for every column of the table */

int cmd_columns(int fd)
{
	const char *set = getenv("COLUMNS");
	struct winsize w;
	int n = set ? atoi(set) : 0;

	if (n <= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0)
		n = w.ws_col;
	return n > 0 && n < 1000 ? n : NO_TERMINAL_COLUMNS;
}

int cmd_write_report(const struct report *r, const char *format, const char *path, size_t top,
		     struct err *e)
{
	const struct render_format *f = render_find(format);
	struct render_options o = {cmd_columns(STDOUT_FILENO), top};

	if (path)
		return render_file(f, r, &o, path, e);
	if (f->report(r, &o, stdout, e) != 0)
		return -1;
	return fflush(stdout) == 0 ? 0 : err_set(e, ERR_IO, -1, "cannot write to standard output");
}
