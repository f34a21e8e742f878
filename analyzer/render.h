/*
 * render.h - the formats of a report: one struct of callbacks each. A renderer reads struct report
 * and writes text; it computes nothing.
 */
#ifndef KBN_RENDER_H
#define KBN_RENDER_H

#include <stdio.h>

#include "report.h"
#include "text.h"

struct render_options {
	int columns; /* of the terminal, for text */
	size_t top; /* kernels listed by text and described by Markdown, 0 = the format's own choice */
};

struct render_format {
	const char *name; /* also of the option: --json */
	const char *file; /* "report.json" */
	int (*report)(const struct report *r, const struct render_options *o, FILE *out,
		      struct err *e);
};

extern const struct render_format render_text, render_md, render_json, render_csv, render_html;

/* Kernels whose code is listed, by the format that does: see struct report_options. */
#define RENDER_LISTINGS 20

/* By name; NULL = there is no such format. */
const struct render_format *render_find(const char *name);

/* Write the report to `path` through a temporary file beside it and rename, so that no reader sees half of it. */
int render_file(const struct render_format *f, const struct report *r,
		const struct render_options *o, const char *path, struct err *e);

/* The `occupancy` and `smem_cliff` objects of the contract as one JSON document, for `kbn occupancy`. */
int render_json_occupancy(const struct occupancy *o, const struct smem_cliff *cliff,
			  int published_cliff_bytes, FILE *out, struct err *e);

#define RENDER_LABEL 512 /* bytes that hold a label of 100 columns */

/*
 * The name of a kernel for a table: its short name, and what tells it apart from others of that name, in at
 * most `columns` (16 to 100). The name is cut before the distinction is.
 */
char *render_label(char out[RENDER_LABEL], const struct report_kernel *k, size_t columns);

/*
 * What keeps more warps from an SM, in one word: "grid" where there are fewer blocks than the GPU has room
 * for, else the resource; "-" when not known.
 */
const char *render_limiter(const struct report_kernel *k);
#define RENDER_GRID "grid"

/*
 * How far the shared memory of a block is from the next cliff: "+27 KB" may be added before an SM holds one
 * block fewer, "-4.2 KB" above the cliff: less of it makes room for two blocks; "-" when not known. Exact bytes
 * are in Markdown and JSON.
 */
char *render_cliff(char out[TEXT_NUMBER], const struct report_kernel *k);
/* What the columns of a table mean, for below it. */
#define RENDER_ROOM_MEANS  "warps that an SM has room for, in percent of the most that it can hold"
#define RENDER_WAVES_MEANS "blocks of the grid to blocks that the GPU holds at once"
#define RENDER_GRID_MEANS  "fewer blocks than the GPU has room for"
#define RENDER_CLIFF_MEANS                                                                      \
	"shared memory that a block may add (+) before an SM holds one block fewer; above the " \
	"cliff how much less (-) makes room for two blocks"
/* Whether any of the first `n` kernels has that limiter, or a cliff that is known. */
bool render_any_grid(const struct report *r, size_t n);
bool render_any_cliff(const struct report *r, size_t n);
/* Whether the occupancy, or the class, of any of the first `n` kernels is known. */
bool render_any_room(const struct report *r, size_t n);
bool render_any_class(const struct report *r, size_t n);

/* Whether the class of a kernel is open because nobody stated its work, and what to do about it. */
bool render_lacks_work(const struct report_kernel *k);
#define RENDER_LACKS_WORK                                                                         \
	"What needs a class was not looked for: state its work (--work FILE, or --gemm, --flops " \
	"and --bytes of kbn analyze)."

/* What a warp with this reason of METRIC_STALL_LIST waits for, in a few words. */
const char *render_waits_for(const char *reason);

/* How to read a section of a kernel, said once in a report; what is between backticks is a word of it. */
struct render_hint {
	const char *section, *text;
};
#define RENDER_HINTS 8
extern const struct render_hint render_hints[RENDER_HINTS];

/* What the stall reasons of any of the first `n` kernels rest on, to stand behind the hint; NULL = there are none. */
const char *render_stall_model(const struct report *r, size_t n);
#define RENDER_STALL_HINT "of the cycles in which resident warps do not issue, what they wait for: "

/* One row of the occupancy table, for people. */
struct render_limit {
	const char *resource;
	char per_block[TEXT_NUMBER], per_sm[TEXT_NUMBER], blocks[TEXT_NUMBER];
	bool is_limiter;
};

/* The rows worth showing; returns how many. */
size_t render_limits(const struct occupancy *o, struct render_limit rows[LIMIT_N]);

#define RENDER_ROOM 240

/* What an SM holds of a kernel: "room for 64 warps per SM (100% of 64), ..."; "" when not known. */
char *render_room(char out[RENDER_ROOM], const struct occupancy *o);

/* Where a launch is counted. */
struct render_bin {
	const char *name;
	uint64_t n;
	const char *means;
};
#define RENDER_BINS 8

/* Each launch is in one of them: they add up to the launches seen. An empty one is worth no row, but for the first. */
void render_bins(const struct report_accounting *a, struct render_bin bins[RENDER_BINS]);

#define RENDER_GAIN 64

/* What an experiment saves: "59 to 72%"; "" when not known. */
char *render_gain(char out[RENDER_GAIN], double low_pct, double high_pct);

#define RENDER_TIMING 240

/* How the times were taken: "313 gated pairs of events (2.08 us taken off each, +-0.200 us), 17 plain (...)". */
char *render_timing(char out[RENDER_TIMING], const struct report_timing *t);

#define RENDER_UNCERTAIN_PCT 20

/* The median for a table, with a "~" in front where it is uncertain by more than that share of it. */
char *render_median(char out[TEXT_NUMBER], const struct metric_times *t);
/* Whether any of the first `n` kernels has that mark. */
bool render_any_uncertain(const struct report *r, size_t n);

/* The same as a table of plain text. `indent` spaces before each line. */
void render_text_occupancy(const struct occupancy *o, int indent, FILE *out);

#endif
