/*
 * sass_tiles.c - what tile.h says of the loops of every function in cubins, a line each.
 * usage: sass_tiles CUBIN...      the K-tile has a star
 */
#include <inttypes.h>
#include <stdio.h>

#include "golden/tool.h"
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

static int show(const char *cubin, const char *function, const struct cfg *g, struct arena *arena,
		struct err *e)
{
	struct tiles t;

	if (tile_read(g, arena, &t, e) != 0)
		return -1;
	tile_text(stdout, &t, cubin, function);
	return 0;
}

int main(int argc, char **argv)
{
	return tool_show(argc, argv, show);
}
