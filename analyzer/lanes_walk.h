/*
 * lanes_walk.h - an interpretation of a function for one warp, or all, while it goes on. Private to lanes.c,
 * lanes_meet.c and lanes_share.c.
 */
#ifndef KBN_LANES_WALK_H
#define KBN_LANES_WALK_H

#include "lanes_step.h"

#define LANES_SPLIT_MIXED UINT32_MAX /* lanes of different ways: nobody knows which are together */

struct lanes_place {
	struct lanes_state *in;    /* NULL = not reached */
	struct lanes_state *spare; /* room for it */
	bool is_waiting;
	uint32_t visits;
	uint64_t edges;
};

/* What a symbol of a loop's header grows by in one turn. */
struct lanes_growth {
	uint64_t step;
	bool is_known, is_open; /* by one way back; by ways that differ, or it is no number */
};

struct sector;

struct lanes_walk {
	struct lanes_run run;
	const struct cfg *g;
	struct arena *arena;
	struct lanes_place *places;
	struct lanes_state now, left;
	uint64_t steps;
	bool is_stale; /* less is known of a symbol than when it was used */
	bool is_over;  /* a limit was met */
	bool no_memory;
	const uint64_t *trips; /* of each loop, from a walk before; NULL = there was none */
	/* the last pass, that only looks */
	struct lanes_result *out;
	uint32_t room;
	struct lanes_growth *growths; /* of the symbols before that pass */
	uint32_t growths_n;
	struct sector *sectors; /* room for lanes_share() */
};

/*
 * A state comes to a block from the end of another, CFG_NONE = from outside; the block waits for its turn where that
 * changes anything.
 */
void lanes_arrive(struct lanes_walk *w, uint32_t from, uint32_t block, const struct lanes_state *s);

/* What is a counter of a loop that is left, and how often it ran is known: its last value. */
void lanes_leave_loop(struct lanes_walk *w, struct lanes_state *s, uint32_t loop);

/* How often the loop runs that a block's branch leaves, by what decides whether it is taken; into w->out. */
void lanes_count_trips(struct lanes_walk *w, uint32_t block, const struct lanes_pred *p);

/* In the last pass, at the end of a block: a way that leads back to a loop's header says what grows in a turn. */
void lanes_note_turn(struct lanes_walk *w, uint32_t block, uint32_t to);

/* After it: of each site what of its sectors is not used by its neighbours either (lanes_share.c). */
void lanes_share(struct lanes_walk *w);

#endif
