/*
 * tool.h - what the tools of this folder share: words as the oracle's lists have them, and the cubins of a
 * file of any kind.
 */
#ifndef KBN_GOLDEN_TOOL_H
#define KBN_GOLDEN_TOOL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#endif
