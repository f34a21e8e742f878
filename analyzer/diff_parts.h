/*
 * diff_parts.h - private to diff*.c: the comparison under construction, a kernel over the runs of its
 * side, and which kernels of the two sides belong together.
 */
#ifndef KBN_DIFF_PARTS_H
#define KBN_DIFF_PARTS_H

#include "diff.h"
#include "vec.h"

/* How two kernels were found to be the same one, from the surest to the least. */
enum diff_level {
	DIFF_LEVEL_ID,       /* code, symbol and geometry */
	DIFF_LEVEL_GEOMETRY, /* symbol and geometry: the code is another */
	DIFF_LEVEL_NAME,     /* the only one of that symbol on both sides */
	DIFF_LEVEL_CODE,     /* the only one left of that code and geometry: another symbol */
	DIFF_LEVEL_NONE,
};

/* A kernel of a side: one entry per report, NULL where that has none. */
struct diff_joined {
	const struct diff_kernel **in;
	size_t n;
	const struct diff_kernel *first; /* the first entry that is there */
	enum diff_level level;           /* how its partner was found */
	size_t partner;                  /* index on the other side */
	bool ambiguous; /* its mark is that of several, here or there: they were not paired */
};

struct diff_list {
	struct diff_joined *at;
	size_t n;
};

struct diff_build {
	struct arena *arena;
	struct diff *d;
	const struct diff_side *side[2]; /* base, new */
	struct diff_list list[2];
	VEC(const char *) why_not;
	VEC(struct diff_row) rows;
	double clock_pct; /* clocks differ by that much, 0 when by little or not known */
	double work;    /* launches of NEW for each of BASE, when all kernels agree on it; else 1 */
	double time_us; /* of the kernels of BASE that count in the run's change */
	double pairs_us; /* of those of them that have a partner */
	bool failed;     /* memory has run out */
};

/* The kernels of all reports of a side, the same kernel of several runs joined. NULL at = no memory. */
struct diff_list diff_join(struct arena *arena, const struct diff_side *side);

/* Find partners; false when memory has run out. */
bool diff_match(struct arena *arena, struct diff_list *a, struct diff_list *b);

/* One more reason why the comparison is not, or less, good. */
void diff_say(struct diff_build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Compare what the reports say of themselves: device, driver, clocks, arguments, times that are made up,
 * ends. Fills why_not, d->comparable and clock_pct.
 */
void diff_gate(struct diff_build *b);

/* Fill row->because: what of the kernel changed beside its time. `launches`: of base and new. */
void diff_because(struct diff_build *b, struct diff_row *row, enum diff_level level,
		  const double launches[2]);
void diff_because_single(struct diff_build *b, struct diff_row *row, bool ambiguous);

#endif
