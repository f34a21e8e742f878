/*
 * diff.h - two sides of reports as plain data, and what changed between them: kernel by kernel with a
 * noise floor, and the run. Input: one or more reports a side (several = how far runs vary by
 * themselves). Output: struct diff. Reading documents is diff_read, writing is diff_text and diff_json.
 */
#ifndef KBN_DIFF_H
#define KBN_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "quantity.h"

struct arena;

struct diff_device {
	const char *name, *sm; /* "" = not known */
	int64_t sm_count;      /* -1 = not known */
	double clock_mhz, observed_clock_mhz;
};

/* One kernel of one report. NaN = not known for reals, -1 for counts, NULL for text. */
struct diff_kernel {
	const char *id, *name, *demangled, *short_name;
	const char *code; /* hash of its image */
	int64_t device;   /* index */
	int64_t grid[3], block[3], cluster[3], dyn_smem_bytes;
	bool overflow;    /* many geometries in one */
	bool warmup_only; /* only first launches were timed */
	double launches, timed;
	double total_us, median_us, p90_us, min_us, uncertainty_us;
	const char *method;
	int64_t registers, static_smem_bytes, local_bytes;
	double occupancy_pct;
};

struct diff_report {
	const char *path;
	const char *driver;    /* "" = not known */
	const char *arguments; /* of the first process, without its program */
	size_t processes;
	bool simulated; /* times of the stand-in driver */
	bool running;   /* of some process the end is still to come */
	const struct diff_device *devices;
	size_t devices_n;
	const struct diff_kernel *kernels;
	size_t kernels_n;
	double kernels_all; /* of the recording: more than kernels_n when the report was filtered */
	double kernel_time_us;
};

struct diff_side {
	const struct diff_report *reports;
	size_t n; /* at least 1 */
};

enum diff_match { DIFF_BY_CODE, DIFF_BY_NAME, DIFF_ADDED, DIFF_REMOVED };
enum diff_verdict { DIFF_IMPROVED, DIFF_REGRESSED, DIFF_NEUTRAL, DIFF_INCONCLUSIVE, DIFF_VERDICTS };

/* The words of the contract, indexed by the enums. */
static const char *const diff_match_names[] = {"code", "name", "added", "removed"};
static const char *const diff_verdict_names[] = {"improved", "regressed", "neutral",
						 "inconclusive"};

struct diff_row {
	enum diff_match match;
	const struct diff_kernel *base, *new; /* of the first report that has it; NULL = in none */
	double base_us, new_us;       /* median of a launch; of the medians of several runs */
	double base_total_us;         /* of all launches; NaN also when added or removed */
	double change_pct, noise_pct; /* of base_us; how much of it the runs may differ by */
	double share_pct;  /* of the kernel time of a run, on the side where it is larger */
	double effect_pct; /* what it adds to the kernel time of the run */
	enum diff_verdict verdict;
	const char *const *because; /* what else changed */
	size_t because_n;
};

struct diff {
	bool comparable;
	const char *const *why_not; /* also what only weakens a comparison */
	size_t why_not_n;
	enum diff_verdict verdict;      /* of the run */
	struct quantity run_change_pct; /* of its kernel time */
	const struct diff_row *rows;    /* by effect on the run, those without one last */
	size_t rows_n;
	size_t count[DIFF_VERDICTS]; /* matched kernels by verdict */
	size_t added, removed;
};

/*
 * Change below which nothing is said, pct; and what the share of a kernel must be to fail a check.
 * The rules are the contract's: noise is the larger of DIFF_NOISE_PCT and the spread, which is the range of
 * the medians over several runs of a side (of few runs at least the other), or p90 - minimum within one run, and the uncertainty of a time on top. Half of either is not enough: of equal runs on an H200 one pair in 450 then differs by more.
 */
#define DIFF_NOISE_PCT 2.0
#define DIFF_SHARE_PCT 1.0

/* All memory is the arena's; the reports must live as long. Fails only for want of memory. */
int diff_build(struct diff *d, struct arena *arena, const struct diff_side *base,
	       const struct diff_side *new, struct err *e);

/* Did the run, or a kernel with DIFF_SHARE_PCT of its time, regress by more than `pct`? */
bool diff_fails(const struct diff *d, double pct);
bool diff_row_fails(const struct diff_row *row, double pct);

#endif
