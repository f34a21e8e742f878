/*
 * report.h - the finished, sorted answer as plain data: everything a renderer may see, and nothing
 * that it would have to look up elsewhere. All text is valid UTF-8. Units are in the names.
 * Order: runs by rank then start, devices as in the recording, kernels by total time then id.
 */
#ifndef KBN_REPORT_H
#define KBN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch.h"
#include "count.h"
#include "err.h"
#include "metrics.h"
#include "occupancy.h"
#include "roofline.h"
#include "work.h"

struct arena;
struct model;
struct session;

struct report_pair {
	const char *key, *value;
};

struct report_run {
	const char *dir, *host, *driver, *started; /* started: RFC 3339; "" = not known */
	const char *foreign; /* another profiler in the process, NULL = none */
	const char *
		end; /* the word of the contract: "exit", "signal", "killed", "running"; NULL = not known */
	const char *end_text;    /* the same for people, as much as is known */
	int exit_status, signal; /* -1 = not known, not so */
	const char **command;
	size_t command_n;
	const struct report_pair *env;
	size_t env_n;
	uint32_t pid, driver_api;
	int rank, world, local_rank; /* -1 = none */
	double duration_s;
};

struct report_device {
	struct arch_device hw;
	const char *uuid, *mig; /* mig NULL = none */
	const char *name;
	const char *calibrated; /* RFC 3339, NULL = never */
	bool bias_calibrated;
};

struct report_accounting {
	uint64_t launches_seen, timed, sampled_out, untimeable, captured, failed, unfinished,
		filtered, dropped, overflow, graph_launches, graph_node_launches, copies, sets;
	bool copies_known;
};

struct report_timing {
	const char *method;
	double bias_us, uncertainty_us, self_overhead_pct;
	struct metric_pairs gated, plain;
	uint64_t gates, gate_deadlines;
};

struct report_totals {
	struct quantity kernel_time_us, busy_pct, gap_us, copy_time_us, copy_overlap_pct;
	double duration_s; /* of all runs together */
};

struct report_code {
	const char *hash, *arch, *origin, *file; /* hash, arch, file NULL = not known */
	const char *why_missing;      /* NULL = the code is there, as it ran or reconstructed */
	const char *reconstructed_by; /* "driver", "ptxas": made again from PTX; NULL = as it ran */
	int debug_build;              /* 0, 1, -1 = not known */
};

struct report_kernel {
	char id[17];
	size_t device;
	size_t shape; /* of the session, for what is added to the report later */
	uint32_t run_count;
	const char *name, *demangled, *short_name;
	const char *variant; /* behind short_name, where others of this report have it too; else "" */
	const char *name_hex; /* the exact bytes when `name` had to be changed, else NULL */
	struct report_code code;
	uint32_t grid[3], block[3], cluster[3], dyn_smem_bytes;
	uint32_t given; /* of launches that nobody recorded: which of them; else 0 */
	bool cooperative, pdl,
		overflow; /* overflow: many geometries in one, grid and block are 0 */
	uint64_t launches, captured, failed, graph_node_launches;
	double share_pct; /* of the known kernel time, NaN = no time */
	struct metric_times times;
	struct metric_resources resources;
	bool occupancy_known, cliff_known;
	struct occupancy occupancy;
	struct smem_cliff cliff;
	int published_cliff_bytes; /* -1 = none */
	const struct work *work;   /* NULL = nothing is known of it; then `roofline` is NULL too */
	const struct roofline *roofline;
	const struct metric_sass *sass;     /* NULL = not known */
	const char *no_sass;                /* why */
	const struct metric_access *access; /* NULL = not known */
	const struct metric_stalls *stalls; /* NULL = not known */
	const struct metric_listings
		*listings; /* NULL = not asked for or not known; shapes of a kernel share them */
	struct metric_advices advice;
	struct metric_class verdict;
	struct metric_finding traps[METRIC_FINDINGS];
	int traps_n;
};

/* An item of what to do first in the whole run. */
struct report_advice {
	const struct report_kernel *kernel; /* NULL = the run itself, not one kernel */
	const struct metric_advice *advice;
	double gain_low_pct, gain_high_pct; /* of all kernel time; NaN = not known */
};

struct report {
	const char *version;
	bool simulated;       /* the times are those of a stand-in driver */
	bool reality_unknown; /* not simulated as far as is known; but of some device nothing is known */
	bool running;         /* a process is still being recorded */
	bool is_given;        /* nothing ran: launches as the user describes them */
	struct report_run *runs;
	size_t runs_n;
	struct report_device *devices;
	size_t devices_n;
	struct report_accounting accounting;
	struct report_timing timing;
	struct report_totals totals;
	struct report_kernel *kernels;
	size_t kernels_n;   /* those that were asked for */
	size_t kernels_all; /* before --kernel and --top */
	const struct report_kernel *
		*cases; /* several sizes of each kernel, by kernel, then as they were asked for */
	size_t cases_n; /* 0 = none asked for */
	const struct report_advice *advice; /* by expected saving of the run */
	size_t advice_n;
	struct metric_finding *notes;
	size_t notes_n;
	const char *no_code; /* why everything that needs the instructions is unknown */
	const char *no_memory,
		*no_counters; /* likewise for cache traffic and for what only counters tell */
};

struct session_kernel;

/* A listing of a kernel's code as a device of that SM runs it, in the arena; NULL = the code is not at hand. */
typedef const struct metric_listings *report_listing_fn(void *ctx,
							const struct session_kernel *kernel,
							int sm);

struct report_options {
	/* Keeps a kernel when it matches one of its three names; NULL = all. */
	bool (*match)(void *ctx, const char *mangled, const char *demangled,
		      const char *short_name);
	void *match_ctx;
	const char *pattern; /* what `match` looks for, to be named when nothing has it */
	size_t top;          /* keep the first N, 0 = all */
	/* The first N kernels get a listing of their code, which `listing` makes; 0 = none, for it costs time. */
	size_t listings;
	report_listing_fn *listing;
	void *listing_ctx;
};

/* Everything is allocated in the session's arena and lives as long as it. Fails only for want of memory. */
int report_build(struct report *r, const struct session *s, const struct model *m,
		 const struct report_options *o, struct err *e);

#endif
