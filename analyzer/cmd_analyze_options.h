/*
 * cmd_analyze_options.h - what `kbn analyze` was asked for, checked as far as that is possible without
 * the file. Private to cmd_analyze*.c.
 */
#ifndef KBN_CMD_ANALYZE_OPTIONS_H
#define KBN_CMD_ANALYZE_OPTIONS_H

#include <stdbool.h>

#include "calibration.h"
#include "err.h"
#include "given.h"
#include "launch_limits.h"
#include "names.h"
#include "options.h"
#include "work.h"

struct arena;

/* One launch that is asked about: the options, or what a --case makes of them. */
struct analyze_case {
	struct launch launch;
	double *times_us;
	size_t times_n;
	struct given given;
	struct work work; /* WORK_INIT unless has_work */
	bool has_work;
};

struct analyze_request {
	const char *path;
	const char *kernel, *arch_name, *device_name, *peaks_file, *output;
	const char *format; /* of render_find() */
	bool all, help;
	/* made of them */
	struct names_filter *filter; /* NULL = every kernel */
	int arch;                    /* 0 = not given */
	char suffix;                 /* of --arch, 0 = none */
	const struct product *product;
	int device;                 /* SM of the device, 0 = not given */
	struct analyze_case *cases; /* in their order; at least one */
	size_t cases_n;
	double expect_pct; /* of the peak, NaN = not given */
	struct calibration peaks;
};

/*
 * Fill *q, whose memory comes from `a`; only the filter is freed apart (names_free). With --help the text
 * is printed and nothing else is looked at.
 */
int analyze_options(struct analyze_request *q, int argc, char **argv, struct arena *a,
		    struct err *e);

#endif
