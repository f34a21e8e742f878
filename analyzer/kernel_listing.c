/* kernel_listing.c - see kernel_listing.h. */
#include "kernel_listing.h"

#include <string.h>

#include "arena.h"
#include "cfg.h"
#include "sass_text.h"
#include "text.h"
#include "tile.h"

struct lister {
	const struct cubin *cubin;
	const struct cubin_function *function;
	const struct line_table *lines;
	struct arena *arena;
	struct cfg g;
	struct metric_listing at[LISTING_LOOPS];
	struct metric_listings all;
	size_t room; /* lines left */
	bool failed; /* memory has run out */
};

/* "file:line" of an instruction, NULL = not known. The one before is taken again where it is the same. */
static const char *source_of(struct lister *l, uint32_t offset, const char *before)
{
	const uint32_t function = (uint32_t)(l->function - l->cubin->functions);
	const struct line_row *row = l->lines ? line_table_find(l->lines, function, offset) : NULL;
	const struct line_file *file;
	const char *text, *clean;

	if (!row || row->file == LINE_NONE || !row->line)
		return NULL;
	file = &l->lines->files[row->file];
	text = text_format(l->arena, "%s%s%s:%u", file->directory, *file->directory ? "/" : "",
			   file->name, row->line);
	clean = text ? text_utf8(l->arena, text, NULL) : NULL;
	l->failed |= !clean;
	return before && clean && strcmp(before, clean) == 0 ? before : clean;
}

static void fill_line(struct lister *l, struct metric_line *out, const struct sass_insn *insn,
		      const char *before)
{
	char text[SASS_TEXT_MAX];

	sass_text(l->g.sm, insn, text);
	*out = (struct metric_line){
		.offset = (uint32_t)insn->address,
		.stall = insn->control.stall,
		.wait = insn->control.wait,
		.reuse = insn->control.reuse,
		.write_barrier =
			insn->control.write_barrier < 6 ? (int8_t)insn->control.write_barrier : -1,
		.read_barrier = insn->control.read_barrier < 6 ? (int8_t)insn->control.read_barrier
							       : -1,
		.yield = insn->control.yield,
		.is_decoded = insn->is_decoded,
		.text = arena_string(l->arena, text, SIZE_MAX),
		.source = source_of(l, (uint32_t)insn->address, before),
	};
	l->failed |= !out->text;
}

/* Instructions [first, end), as far as there is room. */
static void list(struct lister *l, uint32_t first, uint32_t end, uint32_t depth, bool is_main)
{
	const size_t most = l->room < LISTING_MAIN ? l->room : LISTING_MAIN;
	const size_t n = end - first < most ? end - first : most;
	struct metric_line *lines;

	if (l->all.n == LISTING_LOOPS || !n) {
		l->all.left_out++;
		return;
	}
	lines = arena_array(l->arena, n, sizeof(*lines));
	if (!lines) {
		l->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		fill_line(l, &lines[i], &l->g.insns[first + i], i ? lines[i - 1].source : NULL);
	l->at[l->all.n++] = (struct metric_listing){depth, is_main, lines, n, end - first - n};
	l->room -= n;
}

static void list_loop(struct lister *l, const struct tile *t, bool is_main)
{
	list(l, t->start / SASS_BYTES, t->end / SASS_BYTES + 1, t->depth, is_main);
}

static bool is_candidate(const struct tile *t, bool only_working)
{
	return t->is_innermost && t->joined_to == TILE_NONE &&
	       (!only_working || t->compute_ops || t->load_ops);
}

static void list_loops(struct lister *l, const struct tiles *tiles)
{
	const struct tile *main = tile_loop(tiles);
	bool any_works = main != NULL;

	for (uint32_t i = 0; i < tiles->n; i++)
		any_works |= is_candidate(&tiles->at[i], true);
	if (main)
		list_loop(l, main, true);
	for (uint32_t i = 0; i < tiles->n; i++)
		if (&tiles->at[i] != main && is_candidate(&tiles->at[i], any_works))
			list_loop(l, &tiles->at[i], false);
}

/* Functions are filled up with NOPs. */
static void list_all(struct lister *l)
{
	uint32_t end = l->g.insns_n;

	while (end && strcmp(sass_op(&l->g.insns[end - 1]), "NOP") == 0)
		end--;
	if (end)
		list(l, 0, end, 0, false);
}

static const struct metric_listings *finish(struct lister *l)
{
	struct metric_listings *out = arena_alloc(l->arena, sizeof(*out));

	l->all.at = arena_copy(l->arena, l->at, l->all.n * sizeof(*l->at));
	if (!out || !l->all.at)
		return NULL;
	*out = l->all;
	return out;
}

const struct metric_listings *kernel_listing_read(const struct cubin *c,
						  const struct cubin_function *f,
						  const struct line_table *lines,
						  struct arena *arena, struct err *e)
{
	struct lister l = {
		.cubin = c, .function = f, .lines = lines, .arena = arena, .room = LISTING_LINES};
	const struct metric_listings *out = NULL;
	struct arena *scratch = arena_new();
	struct tiles tiles;

	if (!scratch) {
		err_set(e, ERR_MEMORY, -1, "no memory for the code of a kernel");
		return NULL;
	}
	if (cfg_build(&l.g, scratch, (int)c->sm, f, e) == 0 &&
	    tile_read(&l.g, scratch, &tiles, e) == 0) {
		if (tiles.n)
			list_loops(&l, &tiles);
		else
			list_all(&l);
		out = l.failed ? NULL : finish(&l);
		if (!out)
			err_set(e, ERR_MEMORY, -1, "no memory for the code of a kernel");
	}
	arena_free(scratch);
	return out;
}
