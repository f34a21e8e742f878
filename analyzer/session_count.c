/*
 * session_count.c - one process: its slots become counts and times of shapes, its graph launches
 * are multiplied with their nodes, its parameter samples find their shapes; then the accounting
 * of the run, whose bins must add up to the launches seen.
 * Input: slots, sketches and PARAMS records of an opened trace. Output: struct join.
 */
#include "session_join.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "out of memory while joining the recording");
}

/* ---- what a slot belongs to */

/* Launches are never lost with the definition of their kernel: they count under the empty name. */
static uint32_t kernel_of(struct join_process *p, uint32_t id)
{
	uint32_t known = keymap_get(&p->kernel_of, &id, sizeof(id));
	struct session_kernel k = {
		.name = "",
		SESSION_KERNEL_UNKNOWN,
	};

	if (known != KEYMAP_NONE)
		return known;
	if (p->nameless == JOIN_NONE)
		p->nameless = join_kernel(p->join, &k, JOIN_NONE);
	return p->nameless;
}

/* A launch whose context is not known belongs to the only device there is, or to an unknown one. */
static uint32_t device_of(struct join_process *p, uint32_t context, uint32_t *sm_count)
{
	uint32_t known = keymap_get(&p->context_of, &context, sizeof(context));
	struct session_device d = {.name = "unknown", .mig = ""};

	*sm_count = 0;
	if (known != KEYMAP_NONE && p->contexts.at[known].device != JOIN_NONE) {
		*sm_count = p->contexts.at[known].sm_count;
		return p->contexts.at[known].device;
	}
	if (p->devices.n == 1)
		return p->devices.at[0];
	if (p->elsewhere == JOIN_NONE)
		p->elsewhere = join_device(p->join, &d);
	return p->elsewhere;
}

/* The index of a shape, made when it is new; JOIN_NONE when memory has run out. */
static uint32_t shape_of(struct join *j, const struct join_shape_key *key)
{
	uint32_t *index = keymap_put(&j->shape_of, j->arena, key, sizeof(*key));
	struct join_shape *shape;
	struct session_shape *s;

	if (!index)
		return JOIN_NONE;
	if (*index != KEYMAP_NONE)
		return *index;
	shape = vec_add(&j->shapes);
	if (!shape)
		return JOIN_NONE;
	*index = (uint32_t)j->shapes.n - 1;
	shape->kernel = key->kernel;
	shape->last_run = JOIN_NONE;
	s = &shape->s;
	s->device = key->device;
	memcpy(s->grid, key->grid, sizeof(s->grid));
	memcpy(s->block, key->block, sizeof(s->block));
	memcpy(s->cluster, key->cluster, sizeof(s->cluster));
	s->dyn_smem_bytes = key->dyn_smem_bytes;
	s->green_sm_count = key->green_sm_count;
	s->cooperative = key->flags & KBN_SLOT_COOPERATIVE;
	s->pdl = key->flags & KBN_SLOT_PDL;
	s->overflow = key->flags & KBN_SLOT_OVERFLOW;
	return *index;
}

static struct join_shape_key shape_key(struct join_process *p, uint32_t kernel, uint32_t context,
				       uint32_t flags)
{
	struct join_shape_key key = {.kernel = kernel_of(p, kernel)};

	key.device = device_of(p, context, &key.green_sm_count);
	key.flags = flags & (KBN_SLOT_COOPERATIVE | KBN_SLOT_PDL | KBN_SLOT_OVERFLOW);
	return key;
}

static void shape_seen_in(struct join_shape *s, uint32_t run)
{
	if (s->last_run != run)
		s->s.runs++;
	s->last_run = run;
}

/* ---- times */

/*
 * A process killed within an update leaves one sample half added. That cannot be seen in a long
 * sum, but a mean of few samples could be far off: then the statistics go, the counts stay.
 */
static bool has_plausible_times(const struct kbn_slot *s)
{
	__extension__ typedef unsigned __int128 wide;

	if (s->samples > count_sum(s->gated, s->plain))
		return false;
	return !s->samples ||
	       (s->min_ns <= s->max_ns && (wide)s->min_ns * s->samples <= s->sum_ns &&
		(wide)s->max_ns * s->samples >= s->sum_ns);
}

static uint32_t *sketch_of(struct join *j, struct session_times *t)
{
	if (!t->sketch)
		t->sketch = arena_array(j->arena, KBN_SKETCH_BUCKETS, sizeof(*t->sketch));
	return t->sketch;
}

static void sketch_add(uint32_t *sketch, uint32_t bucket, uint32_t count)
{
	sketch[bucket] = sketch[bucket] > UINT32_MAX - count ? UINT32_MAX : sketch[bucket] + count;
}

/* The samples of a slot without a sketch stand in `early`, as long as there are few. */
static uint64_t early_samples(const struct kbn_slot *s, uint32_t early_n)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < early_n; i++)
		n += (s->early[i].launch & ~KBN_EARLY_PLAIN) >= KBN_WARMUP;
	return n < s->samples ? n : s->samples;
}

static int add_sketch(struct join_process *p, struct session_times *t, const struct kbn_slot *s,
		      uint32_t early_n, struct err *e)
{
	uint32_t counts[KBN_SKETCH_BUCKETS], *sketch;

	if (!s->samples)
		return 0;
	if (s->sketch && trace_sketch(&p->trace, s->sketch - 1, counts) == 0) {
		sketch = sketch_of(p->join, t);
		if (!sketch)
			return no_memory(e);
		for (uint32_t i = 0; i < KBN_SKETCH_BUCKETS; i++)
			sketch_add(sketch, i, counts[i]);
		return 0;
	}
	t->sketchless = count_sum(t->sketchless, s->samples - early_samples(s, early_n));
	return 0;
}

/*
 * Add the time half of a slot to `t`, and its early samples to the list `early` under `index`.
 * Early samples of slots without a sketch enter the sketch at the end (session.c), if there is one.
 */
static int add_times(struct join_process *p, struct session_times *t, const struct kbn_slot *s,
		     bool is_graph, uint32_t index, struct err *e)
{
	struct join *j = p->join;
	uint32_t early_n = s->early_count < KBN_EARLY ? s->early_count : KBN_EARLY;
	bool had_samples = t->samples > 0;

	t->gated = count_sum(t->gated, s->gated);
	t->plain = count_sum(t->plain, s->plain);
	t->starved = count_sum(t->starved, s->starved);
	t->lost = count_sum(t->lost, s->lost);
	t->slack_ns = count_sum(t->slack_ns, s->slack_ns);
	for (uint32_t i = 0; i < early_n; i++) {
		struct join_early *early = is_graph ? vec_add(&j->graph_early) : vec_add(&j->early);

		if (!early)
			return no_memory(e);
		*early = (struct join_early){
			.shape = index, .early = s->early[i], .has_sketch = s->sketch != 0};
	}
	if (!has_plausible_times(s)) {
		j->runs.at[p->run].torn++;
		return 0;
	}
	if (!s->samples)
		return 0;
	t->samples = count_sum(t->samples, s->samples);
	t->sum_ns = count_sum(t->sum_ns, s->sum_ns);
	if (!had_samples || s->min_ns < t->min_ns)
		t->min_ns = s->min_ns;
	if (s->max_ns > t->max_ns)
		t->max_ns = s->max_ns;
	return add_sketch(p, t, s, early_n, e);
}

/* ---- slots */

static int add_launch_slot(struct join_process *p, const struct trace_slot *slot, struct err *e)
{
	struct join *j = p->join;
	struct session_run *run = &j->runs.at[p->run];
	const struct kbn_slot *s = &slot->launch;
	struct join_shape_key key = shape_key(p, s->kernel, s->context, s->flags);
	uint64_t resolved =
			 count_sum(count_sum(s->gated, s->plain), count_sum(s->starved, s->lost)),
		 bracketed;
	struct session_shape *shape;
	uint32_t index;

	memcpy(key.grid, s->grid, sizeof(key.grid));
	memcpy(key.block, s->block, sizeof(key.block));
	memcpy(key.cluster, s->cluster, sizeof(key.cluster));
	key.dyn_smem_bytes = s->dyn_smem_bytes;
	index = key.kernel == JOIN_NONE || key.device == JOIN_NONE ? JOIN_NONE : shape_of(j, &key);
	if (index == JOIN_NONE)
		return no_memory(e);
	p->shape_of_slot[slot->index] = index;
	shape_seen_in(&j->shapes.at[index], p->run);

	/* The drain thread may resolve a pair before the launching thread has counted it. */
	bracketed = s->bracketed > resolved ? s->bracketed : resolved;
	shape = &j->shapes.at[index].s;
	shape->sampled_out = count_sum(shape->sampled_out, s->sampled_out);
	shape->untimeable = count_sum(shape->untimeable, s->untimeable);
	shape->bracketed = count_sum(shape->bracketed, bracketed);
	shape->captured = count_sum(shape->captured, s->captured);
	shape->failed = count_sum(shape->failed, s->failed);

	run->timed = count_sum(run->timed, count_sum(s->gated, s->plain));
	run->sampled_out = count_sum(run->sampled_out, s->sampled_out);
	run->untimeable = count_sum(run->untimeable,
				    count_sum(s->untimeable, count_sum(s->starved, s->lost)));
	run->captured = count_sum(run->captured, s->captured);
	run->failed = count_sum(run->failed, s->failed);
	run->unfinished = count_sum(run->unfinished, bracketed - resolved);
	if (s->flags & KBN_SLOT_OVERFLOW)
		run->overflow = count_sum(
			run->overflow, count_sum(count_sum(count_sum(s->sampled_out, s->untimeable),
							   count_sum(bracketed, s->captured)),
						 s->failed));
	return add_times(p, &shape->times, s, false, index, e);
}

static int add_graph_slot(struct join_process *p, const struct kbn_slot *s, struct err *e)
{
	uint32_t known = keymap_get(&p->graph_of, &s->kernel, sizeof(s->kernel)), index;
	struct session_graph *g;

	/* The definition was lost with the log; the thread slot still counts these launches. */
	if (known == KEYMAP_NONE)
		return 0;
	index = p->graphs.at[known].index;
	g = &p->join->graphs.at[index];
	g->launches = count_sum(g->launches,
				count_sum(count_sum(s->sampled_out, s->untimeable), s->bracketed));
	return add_times(p, &g->times, s, true, index, e);
}

/* Graph launches × nodes: what ran inside graphs, by shape. */
static int add_graph_nodes(struct join_process *p, struct err *e)
{
	struct join *j = p->join;

	for (size_t i = 0; i < p->graphs.n; i++) {
		struct join_graph *g = &p->graphs.at[i];
		uint64_t launches = j->graphs.at[g->index].launches;

		for (uint32_t n = 0; launches && n < g->nodes_n; n++) {
			struct kbn_graph_node node;
			struct join_shape_key key;
			uint32_t index;

			buf_copy(&g->nodes, &node, sizeof(node));
			key = shape_key(p, node.kernel, node.context, node.flags);
			memcpy(key.grid, node.grid, sizeof(key.grid));
			memcpy(key.block, node.block, sizeof(key.block));
			memcpy(key.cluster, node.cluster, sizeof(key.cluster));
			key.dyn_smem_bytes = node.dyn_smem_bytes;
			index = key.kernel == JOIN_NONE || key.device == JOIN_NONE
					? JOIN_NONE
					: shape_of(j, &key);
			if (index == JOIN_NONE)
				return no_memory(e);
			shape_seen_in(&j->shapes.at[index], p->run);
			j->shapes.at[index].s.graph_node_launches =
				count_sum(j->shapes.at[index].s.graph_node_launches,
					  count_product(launches, node.count));
			j->runs.at[p->run].graph_node_launches =
				count_sum(j->runs.at[p->run].graph_node_launches,
					  count_product(launches, node.count));
		}
	}
	return 0;
}

/* ---- parameter samples */

static int add_params(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct arena *a = p->join->arena;
	struct kbn_rec_params rec;
	struct join_params *out;
	struct session_params s = {0};
	struct kbn_allocation *allocations;
	const uint8_t *bytes;
	uint32_t *pieces;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	if (rec.mono_ns > p->last_ns)
		p->last_ns = rec.mono_ns;
	/* The definition of a slot precedes its samples, but a cut slots file may have lost it. */
	if (rec.slot >= p->trace.slots_n || p->shape_of_slot[rec.slot] == JOIN_NONE)
		return 0;
	bytes = buf_take(&r->payload, rec.bytes);
	if (!bytes || rec.allocations > buf_left(&r->payload) / sizeof(struct kbn_allocation) ||
	    rec.pieces >
		    (buf_left(&r->payload) - rec.allocations * sizeof(struct kbn_allocation)) / 8)
		return err_set(
			e, ERR_CORRUPT, (int64_t)r->offset,
			"%s: parameter record of %zu bytes is shorter than its %u bytes, %u allocations, %u pieces",
			KBN_LOG_FILE, r->payload.bytes, rec.bytes, rec.allocations, rec.pieces);
	s.launch = rec.launch;
	s.bytes_n = rec.bytes;
	s.allocations_n = rec.allocations;
	s.pieces_n = rec.pieces;
	s.bytes = arena_copy(a, bytes, rec.bytes);
	allocations = arena_array(a, rec.allocations, sizeof(*allocations));
	pieces = arena_array(a, rec.pieces, 2 * sizeof(*pieces));
	out = vec_add(&p->join->params);
	if (!s.bytes || !allocations || !pieces || !out)
		return no_memory(e);
	buf_copy(&r->payload, allocations, rec.allocations * sizeof(*allocations));
	buf_copy(&r->payload, pieces, rec.pieces * 2 * sizeof(*pieces));
	s.allocations = allocations;
	s.pieces = pieces;
	out->shape = p->shape_of_slot[rec.slot];
	out->p = s;
	return 0;
}

static int add_all_params(struct join_process *p, struct err *e)
{
	static const join_record_fn only[KBN_REC_END + 1] = {[KBN_REC_PARAMS] = add_params};

	return join_pass(p, only, e);
}

/* ---- accounting */

static void add_thread(struct session_run *run, const struct kbn_thread_slot *t)
{
	run->threads++;
	run->seen = count_sum(run->seen, t->seen);
	run->filtered = count_sum(run->filtered, t->filtered);
	run->dropped = count_sum(run->dropped, t->dropped);
	run->graph_launches = count_sum(run->graph_launches, t->graph_launches);
	run->copies = count_sum(run->copies, t->copies);
	run->sets = count_sum(run->sets, t->sets);
}

static uint64_t binned(const struct session_run *r)
{
	const uint64_t bins[] = {r->timed,  r->sampled_out, r->untimeable, r->captured,
				 r->failed, r->unfinished,  r->filtered,   r->dropped};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(bins) / sizeof(bins[0]); i++)
		n = count_sum(n, bins[i]);
	return n;
}

static bool has_closed(const struct session_run *r)
{
	return r->end == SESSION_END_EXIT || r->end == SESSION_END_STOPPED;
}

/*
 * Every launch is in one bin. A thread that was within a launch when the recording ended, or is in
 * one now, has counted it as seen and not yet anywhere else: unfinished. Any other difference is a
 * fault, and is said.
 */
static int check_identity(struct join_process *p, struct session_run *run, struct err *e)
{
	uint64_t bins = binned(run), open;
	char text[160];

	if (run->seen >= bins) {
		open = run->seen - bins;
		run->unfinished += open;
		if (open <= (has_closed(run) ? 0 : run->threads) || run->end == SESSION_END_RUNNING)
			return 0;
		snprintf(text, sizeof(text),
			 "%" PRIu64 " of %" PRIu64
			 " launches are in no bin and count as unfinished",
			 open, run->seen);
		return join_note(p->join, SESSION_NOTE_IDENTITY,
				 open < INT64_MAX ? (int64_t)open : INT64_MAX, 0, p->run, text, e);
	}
	open = bins - run->seen;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " launches more are in bins than the %" PRIu64 " that were seen", open,
		 run->seen);
	run->seen = bins;
	return join_note(p->join, SESSION_NOTE_IDENTITY,
			 open < INT64_MAX ? -(int64_t)open : INT64_MIN, 0, p->run, text, e);
}

int join_counts(struct join_process *p, struct err *e)
{
	struct session_run *run = &p->join->runs.at[p->run];
	VEC(uint32_t) threads = {0};
	struct trace_slot slot;
	int rc = -1;

	p->shape_of_slot = malloc((p->trace.slots_n + 1) * sizeof(*p->shape_of_slot));
	if (!p->shape_of_slot)
		return no_memory(e);
	memset(p->shape_of_slot, 0xff, (p->trace.slots_n + 1) * sizeof(*p->shape_of_slot));
	while (trace_next_slot(&p->trace, &slot)) {
		uint32_t *thread;

		if (slot.kind == KBN_SLOT_THREAD) {
			thread = vec_add(&threads);
			if (!thread) {
				no_memory(e);
				goto out;
			}
			*thread = slot.index;
		} else if (slot.kind == KBN_SLOT_LAUNCH) {
			if (add_launch_slot(p, &slot, e) < 0)
				goto out;
		} else if (add_graph_slot(p, &slot.launch, e) < 0) {
			goto out;
		}
	}
	/* After all launch slots: what those hold has been seen by now, also while the program runs. */
	for (size_t i = 0; i < threads.n; i++) {
		struct kbn_thread_slot t;

		if (trace_thread_again(&p->trace, threads.at[i], &t) == 0)
			add_thread(run, &t);
	}
	run->dropped = count_sum(run->dropped, p->trace.counters.dropped);
	run->seen = count_sum(run->seen, p->trace.counters.dropped);
	if (add_graph_nodes(p, e) < 0 || add_all_params(p, e) < 0)
		goto out;
	rc = check_identity(p, run, e);
out:
	vec_fini(&threads);
	return rc;
}
