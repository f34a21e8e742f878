/*
 * kbn_env.h - every setting, one row each: the shim reads it, `kbn run` sets it, help prints it.
 *
 * KBN_ENV(field, variable, option, argument, default, help)
 *   field     name in code (enum kbn_env: KBN_ENV_<field>)
 *   option    of `kbn run`, "" = none
 *   argument  shown in help, "" = a flag that sets "1"
 */
#ifndef KBN_ENV_H
#define KBN_ENV_H

/* clang-format off */
#define KBN_ENV_TABLE(X)                                                                                               \
	X(SWITCH,    "KBN",           "",           "on|off",  "on",       "off: load but record nothing")                   \
	X(OUT,       "KBN_OUT",       "-o",         "DIR",     "kbn-%j",   "run directory; %h host, %p pid, %r rank, %j job (pid when there is no launcher), %t start time") \
	X(TIMING,    "KBN_TIMING",    "--timing",   "events|cupti|auto|off", "events", "how kernel times are taken (cupti: not in this version)")          \
	X(BUDGET,    "KBN_BUDGET",    "--budget",   "PCT",     "1",        "host time that timing may cost, percent of the run") \
	X(KERNELS,   "KBN_KERNELS",   "--kernels",  "RE",      "",         "record only kernels whose mangled name matches (POSIX extended); a leading ! leaves them out instead") \
	X(SKIP,      "KBN_SKIP",      "--skip",     "N",       "0",        "leave out the first N launches of each kernel")  \
	X(COUNT,     "KBN_COUNT",     "--count",    "N",       "0",        "then record only N launches of each kernel, 0 = all") \
	X(WINDOW,    "KBN_WINDOW",    "--window",   "all|profiler", "all", "profiler: only between cuProfilerStart and cuProfilerStop") \
	X(RANK,      "KBN_RANK",      "--rank",     "LIST",    "",         "record only these ranks: 0,3-5")                 \
	X(PARAMS,    "KBN_PARAMS",    "--params",   "full|scalars|off", "full", "kernel parameters of sampled launches (kept for later analysis)")     \
	X(STACKS,    "KBN_STACKS",    "--stacks",   "on|off",  "off",      "host call stacks of first launches (not in this version)")             \
	X(TIMELINE,  "KBN_TIMELINE",  "--timeline", "on|off",  "off",      "raw launches with times, capped (not in this version)")                \
	X(COPIES,    "KBN_COPIES",    "",           "on|off",  "off",      "count copies and memory sets")                   \
	X(REPORT,    "KBN_REPORT",    "--report",   "LIST",    "md,json",  "reports written at exit: md, json, csv, html, none") \
	X(EXIT_WAIT, "KBN_EXIT_WAIT", "",           "SECONDS", "10",       "how long the ending process waits for the report") \
	X(SEAL_WAIT, "KBN_SEAL_WAIT", "",           "SECONDS", "2",        "how long the ending process waits for the GPU's last times") \
	X(SLOTS,     "KBN_SLOTS",     "",           "N",       "65536",    "most kernel shapes kept apart, then overflow slots") \
	X(QUIET,     "KBN_QUIET",     "--quiet",    "",        "0",        "say nothing on stderr (the variable: 1)")                           \
	X(DEFER,     "KBN_DEFER",     "",           "0|1",     "0",        "1: only seal the data, `kbn run` makes the report")

enum kbn_env {
#define KBN_ENV_ID(field, variable, option, argument, def, help) KBN_ENV_##field,
	KBN_ENV_TABLE(KBN_ENV_ID)
#undef KBN_ENV_ID
	KBN_ENV_N
};
/* clang-format on */

#endif
