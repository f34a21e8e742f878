/*
 * tool.h - what the tools of this folder share: words as the oracle's lists have them, and the cubins of a
 * file of any kind.
 */
#ifndef KBN_GOLDEN_TOOL_H
#define KBN_GOLDEN_TOOL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cfg.h"
#include "cubin.h"
#include "image_file.h"
#include "sass.h"

/* The instruction that a line begins with, 32 hexadecimal digits, the highest first; false: it is shorter. */
static inline bool tool_word(const char *line, struct sass_word *w)
{
	char half[17] = "";

	if (strlen(line) < 32)
		return false;
	memcpy(half, line, 16);
	w->hi = strtoull(half, NULL, 16);
	memcpy(half, line + 16, 16);
	w->lo = strtoull(half, NULL, 16);
	return true;
}

/* Shows every cubin that can be opened, until `visit` says false. 1 with a message when the file cannot be. */
static inline int tool_each_cubin(const char *path,
				  bool (*visit)(const struct image *, const struct cubin *))
{
	struct image_file file;
	struct image image;
	struct err e = {0};
	struct cubin c;
	struct buf data;
	bool more = true;

	if (image_file_open(&file, path, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	while (more && image_file_next(&file, &image, &e) > 0) {
		if (image.kind != FATBIN_CUBIN || image_bytes(&file, &image, &data, &e) != 0 ||
		    cubin_open(&c, data, &e) != 0)
			continue;
		more = visit(&image, &c);
		cubin_close(&c);
	}
	image_file_close(&file);
	return 0;
}

/* Shows a function of a cubin; -1 with the reason in *e ends the walk through the file. */
typedef int (*tool_show_fn)(const char *cubin, const char *function, const struct cfg *g,
			    struct arena *arena, struct err *e);

static inline int tool_show_function(const char *name, const struct cubin *c,
				     const struct cubin_function *f, tool_show_fn show,
				     struct err *e)
{
	struct arena *arena = arena_new();
	struct cfg g;
	int result;

	if (!arena)
		return err_set(e, ERR_MEMORY, -1, "no memory");
	result = cfg_build(&g, arena, (int)c->sm, f, e);
	if (result == 0)
		result = show(name, f->name, &g, arena, e);
	arena_free(arena);
	return result;
}

static inline int tool_show_file(const char *path, tool_show_fn show, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct image_file file;
	struct image image;
	struct cubin c;
	struct buf data;
	int more, result = 0;

	if (image_file_open(&file, path, e) != 0)
		return -1;
	while (result == 0 && (more = image_file_next(&file, &image, e)) != 0) {
		if (more < 0 || image_bytes(&file, &image, &data, e) != 0 ||
		    cubin_open(&c, data, e) != 0) {
			result = -1;
			break;
		}
		for (size_t i = 0; i < c.functions_n && result == 0; i++)
			result = tool_show_function(slash ? slash + 1 : path, &c, &c.functions[i],
						    show, e);
		cubin_close(&c);
	}
	image_file_close(&file);
	return result;
}

/* The main of a tool that shows every function of the files it is given: exit status 1 when one cannot be read. */
static inline int tool_show(int argc, char **argv, tool_show_fn show)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		struct err e = {.offset = -1};

		if (tool_show_file(argv[i], show, &e) != 0) {
			fprintf(stderr, "%s: %s\n", argv[i], e.text);
			status = 1;
		}
	}
	return status;
}

#endif
