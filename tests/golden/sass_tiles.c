/*
 * sass_tiles.c - what tile.h says of the loops of every function in cubins, a line each.
 * usage: sass_tiles CUBIN...      the K-tile has a star
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cubin.h"
#include "image_file.h"
#include "tile.h"

static void tile_text(FILE *out, const struct tiles *t, const char *cubin, const char *function)
{
	fprintf(out, "%s\t%s\t%u\n", cubin, function, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tile *x = &t->at[i];

		fprintf(out, "%c\t%x-%x\tdepth %u%s%s\ttrips %" PRIu64,
			tile_loop(t) == x ? '*' : ' ', x->start, x->end, x->depth,
			x->is_innermost ? " innermost" : "",
			x->is_joined                ? " joined"
			: x->joined_to != TILE_NONE ? " part"
						    : "",
			x->trips);
		fprintf(out, "\t%" PRIu64 " %s (%" PRIu64 " guarded, %" PRIu64 " other)",
			x->compute_ops, x->compute_op ? x->compute_op : "-", x->guarded_ops,
			x->other_ops);
		fprintf(out,
			"\t%" PRIu64 " loads (%" PRIu64 " guarded, %" PRIu64 " async), %" PRIu64
			" bytes",
			x->load_ops, x->guarded_loads, x->async_copies, x->load_bytes);
		fprintf(out, "\t%" PRIu64 " barriers, %" PRIu64 " waits, %" PRIu64 " calls",
			x->barriers, x->mbarrier_waits, x->calls);
		fprintf(out, "\t%.4g raw %.4g\t%s\t%s\t%s\n", x->ratio, x->ratio_raw,
			tile_class_name(x->class), tile_async_name(x->async),
			tile_reason_text(x->reason));
	}
}

static int show_function(const char *name, const struct cubin *c, const struct cubin_function *f,
			 struct err *e)
{
	struct arena *arena = arena_new();
	struct cfg g;
	struct tiles t;
	int result;

	if (!arena)
		return err_set(e, ERR_MEMORY, -1, "no memory");
	result = cfg_build(&g, arena, (int)c->sm, f, e);
	if (result == 0)
		result = tile_read(&g, arena, &t, e);
	if (result == 0)
		tile_text(stdout, &t, name, f->name);
	arena_free(arena);
	return result;
}

static int show_file(const char *path, struct err *e)
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
			result = show_function(slash ? slash + 1 : path, &c, &c.functions[i], e);
		cubin_close(&c);
	}
	image_file_close(&file);
	return result;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		struct err e = {.offset = -1};

		if (show_file(argv[i], &e) != 0) {
			fprintf(stderr, "%s: %s\n", argv[i], e.text);
			status = 1;
		}
	}
	return status;
}
