/*
 * stall_sim.c - see stall_sim.h. Every warp has a state that holds until a cycle; only then it is looked at
 * again, so that time passes quickly where all wait.
 */
#include "stall_sim.h"

#include <string.h>

#include "arena.h"

#define ISSUES      4000u    /* enough was seen */
#define ISSUES_MOST 10000u   /* where one way is longer */
#define CYCLES      2000000u /* the same */
#define DEEPEST     8u       /* of the queues */
#define STARTED     24u      /* cycles from one block to the next when a kernel begins; assumed */
#define REPLACED    120u /* from the end of a block to the next one's first instruction; assumed */
#define BARRIER     24u  /* from the last warp's arrival on */
#define PENDING     8u   /* completions that a scoreboard remembers, for DEPBAR */
#define SECTOR      32.0
#define LANES       32.0
#define NEVER       UINT32_MAX
#define ASKED       20u /* cycles to ask a barrier in shared memory; assumed */
#define AHEAD       2   /* latencies, of copies by the block's other warps; assumed */
#define LOCAL_L1    33u /* cycles, as latency.def has it */
#define ACCEPTED \
	100u /* from leaving its queue until a store is out of the way of its warp's end; assumed */

/*
 * Instructions that wait in a queue in front of memory. Assumed: of 16 warps that all want a full one, Nsight
 * Compute finds on an H200 about 3 with an instruction under way.
 */
#define MIO_QUEUE 3u
#define LG_QUEUE  6u

struct scoreboard {
	uint32_t done[PENDING]; /* cycles, the last ones in a ring */
	uint32_t n, all_done;
	uint8_t reason;
};

struct warp {
	const struct stall_step *step;
	uint32_t since, until;   /* its state holds from, to */
	uint32_t stored;         /* its stores are through, */
	uint32_t group, earlier; /* its products, and those before its last WARPGROUP */
	uint8_t state;           /* enum stall_reason */
	bool is_here, at_barrier;
	bool is_ready; /* nothing that its next instruction waits for is under way */
	struct scoreboard boards[6];
};

struct queue {
	uint32_t begins[DEEPEST]; /* when the last ones leave it, in a ring */
	uint32_t n, free_at, depth;
};

struct sim {
	const struct stall_path *path;
	const struct stall_sm *sm;
	struct stall_shares *out;
	struct warp *warps;
	uint32_t *arrived, *left; /* of each block: at its barrier, not yet at an end */
	uint64_t blocks;          /* begun */
	uint32_t pipe_free[STALL_PIPES];
	struct queue mio, lg;
	double memory_free;
	double streamed; /* when the data of the next product is in shared memory */
	unsigned last;   /* warp that issued */
};

/* A moment beyond all that is run is as late as any. */
static uint32_t cycle_of(double t)
{
	return t < CYCLES ? (uint32_t)t : CYCLES;
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void account(struct sim *s, struct warp *w, uint32_t now)
{
	const struct stall_step *step = w->step;

	if (w->is_here && now > w->since)
		s->out->cycles[step->is_guessed][w->state] +=
			(double)(now - w->since) * (double)step->weight;
	if (now > w->since)
		w->since = now;
}

static void set_state(struct sim *s, struct warp *w, enum stall_reason state, uint32_t now,
		      uint32_t until)
{
	if (w->state != state) {
		account(s, w, now);
		w->state = (uint8_t)state;
	}
	w->until = until;
}

/* ------------------------------------------------------------------------------ what keeps a warp back */

/* When no more than `pending` are under way. */
static uint32_t board_free(const struct scoreboard *b, unsigned pending)
{
	if (!pending)
		return b->all_done;
	if (pending >= PENDING || b->n <= pending)
		return 0;
	return b->done[(b->n - 1 - pending) % PENDING];
}

static uint32_t boards_free(const struct warp *w, const struct stall_step *step,
			    enum stall_reason *reason)
{
	uint32_t free_at = 0;

	if (!step->waits && step->pending_of == STALL_NO_BAR)
		return 0;
	for (unsigned b = 0; b < 6; b++) {
		const bool is_pending = step->pending_of == b;
		const uint32_t at = step->waits >> b & 1 ? board_free(&w->boards[b], 0)
				    : is_pending         ? board_free(&w->boards[b], step->pending)
							 : 0;

		if (at <= free_at)
			continue;
		free_at = at;
		*reason = (enum stall_reason)w->boards[b].reason;
	}
	return free_at;
}

static bool is_mio(const struct stall_step *step)
{
	return step->pipe == STALL_PIPE_SHARED || step->pipe == STALL_PIPE_XU;
}

/* Until the queue has room. */
static uint32_t queue_room(const struct queue *q)
{
	return q->n < q->depth ? 0 : q->begins[(q->n - q->depth) % DEEPEST];
}

/* Puts a warp into the state that keeps it back, or finds that it can issue. */
static bool can_issue(struct sim *s, struct warp *w, uint32_t now)
{
	const struct stall_step *step = w->step;
	enum stall_reason reason = STALL_OTHER;
	uint32_t until = w->is_ready ? 0 : boards_free(w, step, &reason);

	w->is_ready = until <= now;
	if (until <= now && is_mio(step)) {
		until = queue_room(&s->mio);
		reason = STALL_MIO;
	} else if (until <= now && step->pipe == STALL_PIPE_GLOBAL) {
		until = queue_room(&s->lg);
		reason = STALL_LG;
	} else if (until <= now && step->group >= STALL_WAITS_ALL) {
		until = step->group == STALL_WAITS_ALL ? w->group : w->earlier;
		reason = STALL_TENSOR;
	} else if (until <= now && step->group != STALL_STARTS) {
		until = s->pipe_free[step->pipe];
		reason = STALL_MATH;
	}
	if (until <= now && step->is_exit) {
		until = w->stored;
		reason = STALL_DRAIN;
	}
	if (until <= now)
		return true;
	set_state(s, w, reason, now, until);
	return false;
}

/* ------------------------------------------------------------------------------------- an instruction */

static double spread_of(const struct sim *s, const struct stall_step *step)
{
	return s->sm->spread ? (double)s->sm->spread[step - s->path->steps] : 1;
}

/* Enters a queue; the cycle in which its unit takes it. */
static uint32_t enqueue(struct queue *q, uint32_t now, uint32_t cycles)
{
	const uint32_t begin = later(now + 1, q->free_at);

	q->free_at = begin + cycles;
	q->begins[q->n++ % DEEPEST] = begin;
	return begin;
}

static uint32_t shared_cycles(const struct sim *s, const struct stall_step *step)
{
	const double cycles = step->cycles * spread_of(s, step) * s->sm->schedulers / 4;

	return cycles < 1 ? 1 : cycle_of(cycles);
}

/* Through the memory behind the L1: when it begins to answer. */
static uint32_t from_memory(struct sim *s, const struct stall_step *step, uint32_t begin)
{
	const double bytes = step->bytes ? step->bytes : 4;
	const double sectors = bytes * spread_of(s, step);
	const double from = s->memory_free > begin ? s->memory_free : begin;

	s->memory_free = from + sectors * SECTOR / s->sm->bytes_per_cycle;
	return cycle_of(from) + s->sm->latency;
}

static void set_board(struct warp *w, unsigned board, uint32_t done, enum stall_reason reason)
{
	struct scoreboard *b;

	if (board == STALL_NO_BAR)
		return;
	b = &w->boards[board];
	b->done[b->n++ % PENDING] = done;
	if (done >= b->all_done) {
		b->all_done = done;
		b->reason = (uint8_t)reason;
	}
}

/* Operands of products are copied ahead: no later than the memory can, as far ahead as AHEAD latencies. */
static void stream(struct sim *s, const struct stall_step *step, uint32_t now)
{
	const double from = (double)now - AHEAD * s->sm->latency;

	if (s->streamed < from)
		s->streamed = from;
	s->streamed += step->streamed / s->sm->shared_by / s->sm->bytes_per_cycle;
}

/* Takes its pipe or queue; when its result is there (*done), and its sources are read. */
static uint32_t occupy(struct sim *s, struct warp *w, const struct stall_step *step, uint32_t now,
		       uint32_t *done)
{
	uint32_t begin = now;
	bool is_far;

	if (step->pipe == STALL_PIPE_GLOBAL) {
		is_far = step->is_local ? !s->sm->is_local_in_l1 : !step->is_again;
		begin = enqueue(&s->lg, now, shared_cycles(s, step));
		*done = is_far ? from_memory(s, step, begin) : begin + LOCAL_L1;
		if (step->access == STALL_STORES)
			w->stored = later(w->stored, begin + ACCEPTED);
		return begin + step->read;
	}
	if (step->pipe == STALL_PIPE_SHARED) {
		begin = enqueue(&s->mio, now, shared_cycles(s, step));
	} else if (step->pipe == STALL_PIPE_XU) {
		begin = later(now + 1, s->pipe_free[STALL_PIPE_XU]);
		s->mio.begins[s->mio.n++ % DEEPEST] = begin;
		s->pipe_free[STALL_PIPE_XU] = begin + step->cycles;
	} else if (step->group == STALL_STARTS) {
		begin = later(now, s->pipe_free[step->pipe]);
		s->pipe_free[step->pipe] = w->group = begin + step->cycles;
		stream(s, step, now);
	} else if (step->is_mbarrier) {
		begin = later(now + ASKED, cycle_of(s->streamed));
		*done = begin;
		return begin;
	} else if (step->pipe != STALL_PIPE_NONE) {
		s->pipe_free[step->pipe] = now + step->cycles;
	}
	if (step->group >= STALL_WAITS_ALL)
		w->earlier = w->group;
	s->out->pipe_busy[step->pipe] += step->cycles;
	*done = begin + step->result;
	return begin + step->read;
}

static unsigned block_of(const struct sim *s, const struct warp *w)
{
	return (unsigned)(w - s->warps) / s->sm->block_warps;
}

/* The last one to arrive lets them all go. */
static void arrive(struct sim *s, struct warp *w, uint32_t now)
{
	const unsigned block = block_of(s, w);
	struct warp *first = &s->warps[block * s->sm->block_warps];

	w->at_barrier = true;
	set_state(s, w, STALL_BARRIER, now + 1, NEVER);
	if (++s->arrived[block] < s->left[block])
		return;
	s->arrived[block] = 0;
	for (unsigned i = 0; i < s->sm->block_warps; i++) {
		if (first[i].is_here && first[i].at_barrier)
			first[i].until = now + BARRIER;
		first[i].at_barrier = false;
	}
}

static void begin_block(struct sim *s, unsigned block, uint32_t at)
{
	s->blocks++;
	s->left[block] = s->sm->block_warps;
	s->arrived[block] = 0;
	for (unsigned i = 0; i < s->sm->block_warps; i++) {
		struct warp *w = &s->warps[block * s->sm->block_warps + i];

		memset(w, 0, sizeof(*w));
		w->step = s->path->steps;
		w->since = w->until = at;
		w->state = STALL_FIXED_WAIT;
	}
}

static void leave(struct sim *s, struct warp *w, uint32_t now)
{
	const unsigned block = block_of(s, w);

	account(s, w, now + 1);
	w->is_here = false;
	w->until = NEVER;
	if (--s->left[block])
		return;
	if (s->blocks < s->sm->blocks)
		begin_block(s, block, now + REPLACED);
}

static void issue(struct sim *s, struct warp *w, uint32_t now)
{
	const struct stall_step *step = w->step;
	const uint32_t stall = step->stall ? step->stall : 1;
	uint32_t done, read;

	s->out->work += (double)step->weight;
	set_state(s, w, STALL_SELECTED, now, now + 1);
	account(s, w, now + 1);
	read = occupy(s, w, step, now, &done);
	set_board(w, step->write_barrier, done, (enum stall_reason)step->reason);
	set_board(w, step->read_barrier, read, (enum stall_reason)step->reason);
	s->out->issued++;
	if (step + 1 == s->path->steps + s->path->n) {
		leave(s, w, now);
		return;
	}
	w->step++;
	w->is_ready = false;
	w->state = STALL_FIXED_WAIT;
	w->until = now + stall;
	if (step->is_block_wide) {
		arrive(s, w, now);
	} else if (step->hold > stall) {
		w->state = step->hold_reason;
		w->until = now + step->hold;
	}
}

/* ----------------------------------------------------------------------------------------- the clock */

/*
 * Looks at those of a range whose state is over: one is *chosen to issue, unless one was. *next: when to look again
 * at the others, if that is earlier.
 */
static void look_at(struct sim *s, struct warp *w, const struct warp *end, uint32_t now,
		    struct warp **chosen, uint32_t *next)
{
	uint32_t first = *next;

	for (; w < end; w++) {
		if (w->until > now) {
			if (w->until < first)
				first = w->until;
			continue;
		}
		if (!w->is_here) {
			w->is_here = true;
			w->since = now;
		}
		if (can_issue(s, w, now)) {
			if (!*chosen) {
				*chosen = w;
				continue;
			}
			set_state(s, w, STALL_NOT_SELECTED, now, now);
		}
		if (w->until < first)
			first = w->until;
	}
	*next = first;
}

/* The warp to issue, the last one first, or NULL. *next: when to look again. */
static struct warp *look(struct sim *s, uint32_t now, uint32_t *next)
{
	struct warp *const last = &s->warps[s->last];
	struct warp *chosen = NULL;

	*next = NEVER;
	look_at(s, last, s->warps + s->sm->warps, now, &chosen, next);
	look_at(s, s->warps, last, now, &chosen, next);
	return chosen;
}

static void run(struct sim *s)
{
	uint64_t most = (uint64_t)s->path->n * s->sm->warps;
	uint32_t now = 0, next;

	most = most < ISSUES ? ISSUES : most > ISSUES_MOST ? ISSUES_MOST : most;
	while (s->out->issued < most && now < CYCLES) {
		struct warp *w = look(s, now, &next);

		if (w) {
			s->last = (unsigned)(w - s->warps);
			issue(s, w, now);
			next = now + 1;
		}
		if (next == NEVER)
			break;
		now = later(next, now + 1);
	}
	for (unsigned i = 0; i < s->sm->warps; i++)
		account(s, &s->warps[i], now);
	s->out->elapsed = now;
}

bool stall_sim(const struct stall_path *path, const struct stall_sm *sm, struct arena *scratch,
	       struct stall_shares *out)
{
	struct sim s = {
		.path = path, .sm = sm, .out = out, .mio.depth = MIO_QUEUE, .lg.depth = LG_QUEUE};
	const unsigned blocks = sm->block_warps ? sm->warps / sm->block_warps : 0;

	memset(out, 0, sizeof(*out));
	s.warps = arena_array(scratch, sm->warps, sizeof(*s.warps));
	s.arrived = arena_array(scratch, blocks, sizeof(*s.arrived));
	s.left = arena_array(scratch, blocks, sizeof(*s.left));
	if (!path->n || !blocks || !s.warps || !s.arrived || !s.left)
		return false;
	for (unsigned i = 0; i < sm->warps; i++)
		s.warps[i].until = NEVER;
	for (unsigned b = 0; b < blocks && s.blocks < sm->blocks; b++)
		begin_block(&s, b, b * STARTED);
	run(&s);
	return out->issued > 0;
}
