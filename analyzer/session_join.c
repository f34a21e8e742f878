/*
 * session_join.c - one process: what its log defines (devices, contexts, images, kernels, graphs)
 * becomes entries that are shared by all processes.
 * Input: a process directory through trace_read. Output: struct join, and the run's own facts.
 * Leaves slots and counting to session_count.c, order and pointers to session.c.
 */
#include "session_join.h"

#include <stdio.h>
#include <string.h>

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "out of memory while joining the recording");
}

int join_note(struct join *j, int note, int64_t value, uint64_t mono_ns, uint32_t run,
	      const char *text, struct err *e)
{
	struct session_note *n = vec_add(&j->notes);
	const char *copy = arena_string(j->arena, text, SIZE_MAX);

	if (!n || !copy)
		return no_memory(e);
	*n = (struct session_note){
		.note = note, .value = value, .mono_ns = mono_ns, .run = run, .text = copy};
	return 0;
}

int join_damage(struct join_process *p, const struct err *fault, struct err *e)
{
	char text[4096 + sizeof(fault->text)];

	snprintf(text, sizeof(text), "%s: %s", p->trace.dir, fault->text);
	return join_note(p->join, SESSION_NOTE_DAMAGED, fault->offset, 0, p->run, text, e);
}

/* A field that is NUL-padded to `room` bytes but need not end with a NUL. */
static const char *padded(struct join *j, const char *field, size_t room)
{
	return arena_string(j->arena, field, room);
}

/* ---- interning */

uint32_t join_device(struct join *j, const struct session_device *d)
{
	char key[16 + 96 + 64 + 2];
	int n;
	uint32_t *index;
	struct session_device *added;

	memcpy(key, d->uuid, 16);
	n = snprintf(key + 16, sizeof(key) - 16, "%.96s%c%.64s", d->name, '\n', d->mig);
	index = keymap_put(&j->device_of, j->arena, key, 16 + (uint32_t)n);
	if (!index)
		return JOIN_NONE;
	if (*index == KEYMAP_NONE) {
		added = vec_add(&j->devices);
		if (!added)
			return JOIN_NONE;
		*added = *d;
		*index = (uint32_t)j->devices.n - 1;
	}
	return *index;
}

/*
 * Stored code gives a kernel its identity. The binary version belongs to it, because one fat binary
 * runs as different code on different devices. Without the code there is only the name.
 */
static uint32_t *kernel_slot(struct join *j, const struct session_kernel *k, uint32_t image)
{
	static const uint8_t none[16];
	const uint8_t *hash = image == JOIN_NONE ? none : j->images.at[image].hash;
	bool has_code = memcmp(hash, none, sizeof(none)) != 0;
	int32_t version = has_code ? k->binary_version : 0;
	size_t name_bytes = strlen(k->name), bytes = 20 + name_bytes;
	uint8_t *key = malloc(bytes);
	uint32_t *index;

	if (!key || bytes > UINT32_MAX) {
		free(key);
		return NULL;
	}
	memcpy(key, hash, 16);
	memcpy(key + 16, &version, 4);
	memcpy(key + 20, k->name, name_bytes);
	index = keymap_put(&j->kernel_of, j->arena, key, (uint32_t)bytes);
	free(key);
	return index;
}

/* What one process learned of a kernel may be unknown to another (-1). */
static void kernel_complete(struct session_kernel *k, const struct session_kernel *more)
{
	int *into[] = {&k->registers,   &k->static_smem_bytes,  &k->local_bytes,
		       &k->const_bytes, &k->max_threads,        &k->binary_version,
		       &k->ptx_version, &k->max_dyn_smem_bytes, &k->carveout};
	const int from[] = {more->registers,   more->static_smem_bytes,  more->local_bytes,
			    more->const_bytes, more->max_threads,        more->binary_version,
			    more->ptx_version, more->max_dyn_smem_bytes, more->carveout};

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		if (*into[i] < 0)
			*into[i] = from[i];
	}
	/* A program may raise its own limit at any time; the highest is the one that was used. */
	if (more->max_dyn_smem_bytes > k->max_dyn_smem_bytes)
		k->max_dyn_smem_bytes = more->max_dyn_smem_bytes;
	if (!k->params_known && more->params_known) {
		k->params_known = true;
		k->params = more->params;
		k->params_n = more->params_n;
	}
	k->is_comm |= more->is_comm;
}

uint32_t join_kernel(struct join *j, const struct session_kernel *k, uint32_t image)
{
	uint32_t *index = kernel_slot(j, k, image);
	struct join_kernel *added;

	if (!index)
		return JOIN_NONE;
	if (*index == KEYMAP_NONE) {
		added = vec_add(&j->kernels);
		if (!added)
			return JOIN_NONE;
		added->k = *k;
		added->image = image;
		*index = (uint32_t)j->kernels.n - 1;
	} else {
		kernel_complete(&j->kernels.at[*index].k, k);
		if (j->kernels.at[*index].image == JOIN_NONE)
			j->kernels.at[*index].image = image;
	}
	return *index;
}

/* ---- records: each handler returns 0, or -1 with the fault (ERR_MEMORY ends the reading) */

static int split_strings(struct join_process *p, struct session_run *run, struct buf *rest,
			 uint32_t argc, uint32_t n, struct err *e)
{
	struct arena *a = p->join->arena;
	struct session_string *env;
	const char **argv;

	/* Each string takes at least its NUL, so the payload bounds the counts. */
	if (argc > n || n > buf_left(rest))
		return err_set(e, ERR_CORRUPT, buf_where(rest),
			       "%s: %u arguments in %u strings in %zu bytes", KBN_LOG_FILE, argc, n,
			       buf_left(rest));
	argv = arena_array(a, argc, sizeof(*argv));
	env = arena_array(a, n - argc, sizeof(*env));
	if (!argv || !env)
		return no_memory(e);
	/* Now, as the strings before a damaged one are kept. */
	run->argv = argv;
	run->env = env;
	for (uint32_t i = 0; i < n; i++) {
		const char *text = buf_string(rest, rest->at), *equals;
		char *copy;

		if (!text)
			return err_set(e, ERR_CORRUPT, buf_where(rest),
				       "%s: string %u of %u has no end", KBN_LOG_FILE, i, n);
		buf_seek(rest, rest->at + strlen(text) + 1);
		copy = arena_string(a, text, SIZE_MAX);
		if (!copy)
			return no_memory(e);
		if (i < argc) {
			argv[run->argc++] = copy;
			continue;
		}
		equals = strchr(copy, '=');
		env[run->env_n].key = copy;
		env[run->env_n++].value = equals ? equals + 1 : "";
		if (equals)
			copy[equals - copy] = '\0';
		if (!strcmp(copy, "KBN_COPIES") && equals)
			run->copies_known = !strcmp(equals + 1, "on") || !strcmp(equals + 1, "1");
	}
	return 0;
}

static int on_process(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct session_run *run = &p->join->runs.at[p->run];
	struct kbn_rec_process rec;

	if (p->has_process)
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset, "%s: a second process record",
			       KBN_LOG_FILE);
	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	p->has_process = true;
	run->pid = rec.pid;
	run->rank = rec.rank;
	run->world = rec.world;
	run->local_rank = rec.local_rank;
	run->driver_api = rec.driver_api;
	run->host = padded(p->join, rec.host, sizeof(rec.host));
	run->driver = padded(p->join, rec.driver, sizeof(rec.driver));
	run->foreign = padded(p->join, rec.foreign, sizeof(rec.foreign));
	if (!run->host || !run->driver || !run->foreign)
		return no_memory(e);
	return split_strings(p, run, &r->payload, rec.argc, rec.strings, e);
}

static int on_device(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct join *j = p->join;
	struct kbn_rec_device rec;
	struct session_device d = {0};
	uint32_t *known, *slot;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	if (rec.attributes > buf_left(&r->payload) / 8)
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: device record with %u attributes in %zu bytes", KBN_LOG_FILE,
			       rec.attributes, buf_left(&r->payload));
	memcpy(d.uuid, rec.uuid, sizeof(d.uuid));
	d.name = padded(j, rec.name, sizeof(rec.name));
	d.mig = padded(j, rec.mig, sizeof(rec.mig));
	d.total_bytes = rec.total_bytes;
	d.attrs = arena_array(j->arena, rec.attributes, sizeof(*d.attrs));
	if (!d.name || !d.mig || !d.attrs)
		return no_memory(e);
	d.attrs_n = rec.attributes;
	for (uint32_t i = 0; i < rec.attributes; i++) {
		d.attrs[i].attribute = (int32_t)buf_u32(&r->payload);
		d.attrs[i].value = (int32_t)buf_u32(&r->payload);
	}
	/* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR */
	d.cc = (int)((int64_t)session_attr(&d, 75, 0) % 1000 * 10 + session_attr(&d, 76, 0) % 10);
	known = keymap_put(&p->device_of, j->arena, &rec.device, sizeof(rec.device));
	slot = vec_add(&p->devices);
	if (!known || !slot)
		return no_memory(e);
	*known = (uint32_t)p->devices.n - 1;
	*slot = join_device(j, &d);
	return *slot == JOIN_NONE ? no_memory(e) : 0;
}

static int on_context(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct kbn_rec_context rec;
	struct join_context *c;
	uint32_t *known, device;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	device = keymap_get(&p->device_of, &rec.device, sizeof(rec.device));
	known = keymap_put(&p->context_of, p->join->arena, &rec.context, sizeof(rec.context));
	c = vec_add(&p->contexts);
	if (!known || !c)
		return no_memory(e);
	*known = (uint32_t)p->contexts.n - 1;
	c->device = device == KEYMAP_NONE ? JOIN_NONE : p->devices.at[device];
	c->sm_count = rec.flags & KBN_CTX_GREEN ? rec.sm_count : 0;
	return 0;
}

static int on_image(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct join_image *i;
	struct join_image parsed = {.index = JOIN_NONE};
	uint32_t *known;

	if (trace_fixed(r, &parsed.image, sizeof(parsed.image), e) < 0)
		return -1;
	if (!buf_part(&r->payload, r->payload.at, parsed.image.path_bytes, &parsed.path) ||
	    !buf_part(&r->payload, r->payload.at + parsed.image.path_bytes,
		      parsed.image.jit_options * 8ull, &parsed.jit))
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: image record shorter than its path and options", KBN_LOG_FILE);
	known = keymap_put(&p->image_of, p->join->arena, &parsed.image.image,
			   sizeof(parsed.image.image));
	i = vec_add(&p->images);
	if (!known || !i)
		return no_memory(e);
	*known = (uint32_t)p->images.n - 1;
	*i = parsed;
	return 0;
}

static int on_stored(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct kbn_rec_stored rec;
	struct buf why;
	uint32_t known;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	if (!buf_part(&r->payload, r->payload.at, rec.why_bytes, &why))
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: stored record shorter than its text", KBN_LOG_FILE);
	known = keymap_get(&p->image_of, &rec.image, sizeof(rec.image));
	if (known == KEYMAP_NONE)
		return 0;
	p->images.at[known].has_stored = true;
	p->images.at[known].stored = rec;
	p->images.at[known].why = why;
	return 0;
}

static int on_kernel(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct join *j = p->join;
	struct kbn_rec_kernel rec;
	struct session_kernel k = {0};
	uint32_t *known, image;
	const uint8_t *name;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	if (rec.params > buf_left(&r->payload) / 8)
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: kernel record with %u parameters in %zu bytes", KBN_LOG_FILE,
			       rec.params, buf_left(&r->payload));
	k.params = arena_array(j->arena, rec.params, sizeof(*k.params));
	if (!k.params)
		return no_memory(e);
	k.params_n = rec.params;
	for (uint32_t i = 0; i < rec.params; i++) {
		k.params[i].offset = buf_u32(&r->payload);
		k.params[i].bytes = buf_u32(&r->payload);
	}
	name = buf_take(&r->payload, rec.name_bytes);
	if (!name)
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: kernel record shorter than its name", KBN_LOG_FILE);
	k.name = arena_string(j->arena, (const char *)name, rec.name_bytes);
	if (!k.name)
		return no_memory(e);
	k.registers = rec.registers;
	k.static_smem_bytes = rec.static_smem_bytes;
	k.local_bytes = rec.local_bytes;
	k.const_bytes = rec.const_bytes;
	k.max_threads = rec.max_threads;
	k.binary_version = rec.binary_version;
	k.ptx_version = rec.ptx_version;
	k.max_dyn_smem_bytes = rec.max_dyn_smem_bytes;
	k.carveout = rec.carveout;
	memcpy(k.cluster, rec.cluster, sizeof(k.cluster));
	k.params_known = rec.flags & KBN_KERNEL_PARAMS_KNOWN;
	k.is_comm = rec.flags & KBN_KERNEL_COMM;

	image = rec.image ? keymap_get(&p->image_of, &rec.image, sizeof(rec.image)) : KEYMAP_NONE;
	known = keymap_put(&p->kernel_of, j->arena, &rec.kernel, sizeof(rec.kernel));
	if (!known)
		return no_memory(e);
	*known = join_kernel(j, &k, image == KEYMAP_NONE ? JOIN_NONE : p->images.at[image].index);
	return *known == JOIN_NONE ? no_memory(e) : 0;
}

static int on_graph(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct join *j = p->join;
	struct kbn_rec_graph rec;
	struct join_graph *g, parsed = {.index = (uint32_t)j->graphs.n};
	struct session_graph *out;
	uint64_t kernel_nodes = 0;
	uint32_t *known;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	if (!buf_part(&r->payload, r->payload.at,
		      rec.nodes * (uint64_t)sizeof(struct kbn_graph_node), &parsed.nodes))
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset,
			       "%s: graph record shorter than its %u nodes", KBN_LOG_FILE,
			       rec.nodes);
	parsed.nodes_n = rec.nodes;
	for (uint32_t i = 0; i < rec.nodes; i++) {
		struct kbn_graph_node node;

		buf_copy(&r->payload, &node, sizeof(node));
		kernel_nodes += node.count;
	}
	known = keymap_put(&p->graph_of, j->arena, &rec.graph, sizeof(rec.graph));
	g = vec_add(&p->graphs);
	out = vec_add(&j->graphs);
	if (!known || !g || !out)
		return no_memory(e);
	*known = (uint32_t)p->graphs.n - 1;
	*g = parsed;
	out->run = p->run;
	out->kernel_nodes = kernel_nodes < UINT32_MAX ? (uint32_t)kernel_nodes : UINT32_MAX;
	out->other_nodes = rec.other_nodes;
	out->flags = rec.flags;
	return 0;
}

static int on_note(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct kbn_rec_note rec;
	const uint8_t *text;
	const char *copy;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	/* Ours begin at 1000; a kind of a newer shim may be shown by its number. */
	if (rec.note >= SESSION_NOTE_DAMAGED)
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset, "%s: note of kind %u",
			       KBN_LOG_FILE, rec.note);
	text = buf_take(&r->payload, rec.text_bytes);
	if (!text)
		return err_set(e, ERR_CORRUPT, (int64_t)r->offset, "%s: note shorter than its text",
			       KBN_LOG_FILE);
	copy = arena_string(p->join->arena, (const char *)text, rec.text_bytes);
	if (!copy)
		return no_memory(e);
	if (rec.note == KBN_NOTE_SIMULATED)
		p->join->runs.at[p->run].simulated = true;
	if (rec.mono_ns > p->last_ns)
		p->last_ns = rec.mono_ns;
	return join_note(p->join, (int)rec.note, rec.value, rec.mono_ns, p->run, copy, e);
}

static int on_end(struct join_process *p, struct trace_record *r, struct err *e)
{
	struct kbn_rec_end rec;

	if (trace_fixed(r, &rec, sizeof(rec), e) < 0)
		return -1;
	p->has_end = true;
	p->join->runs.at[p->run].duration_ns = rec.mono_ns;
	return 0;
}

int join_pass(struct join_process *p, const join_record_fn *handlers, struct err *e)
{
	struct trace_record r;

	trace_rewind(&p->trace);
	while (trace_next_record(&p->trace, &r)) {
		struct err fault = {0};

		if (!handlers[r.kind] || handlers[r.kind](p, &r, &fault) == 0)
			continue;
		if (fault.code == ERR_MEMORY) {
			*e = fault;
			return -1;
		}
		if (join_damage(p, &fault, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the run */

static void take_counters(const struct kbn_slots_header *h, struct session_run *run)
{
	run->timing = h->timing <= KBN_TIMING_AUTO ? (enum kbn_timing)h->timing : KBN_TIMING_OFF;
	run->gates = h->gates;
	run->gate_deadlines = h->gate_deadlines;
	run->self_ns = h->self_ns;
	run->log_dropped = h->log_dropped;
	run->budget_ppm = h->budget_ppm;
}

/* Faults that do not belong to one record. */
static int note_faults(struct join_process *p, struct session_run *run, struct err *e)
{
	const struct trace *t = &p->trace;

	run->torn += t->records_torn + t->slots_torn;
	run->unknown = t->records_unknown + t->slots_unknown;
	run->no_slots = t->slots_fd < 0 && t->fault.code == ERR_NOT_FOUND;
	if (t->fault.code != ERR_NONE && join_damage(p, &t->fault, e) < 0)
		return -1;
	if (run->torn && join_note(p->join, SESSION_NOTE_TORN, (int64_t)run->torn, 0, p->run,
				   "parts were being written while they were read", e) < 0)
		return -1;
	if (run->unknown &&
	    join_note(p->join, SESSION_NOTE_UNKNOWN, (int64_t)run->unknown, 0, p->run,
		      "records of a kind that only a newer kbn knows", e) < 0)
		return -1;
	return 0;
}

static int read_process(struct join_process *p, struct err *e)
{
	static const join_record_fn first[KBN_REC_END + 1] = {
		[KBN_REC_PROCESS] = on_process, [KBN_REC_DEVICE] = on_device,
		[KBN_REC_CONTEXT] = on_context, [KBN_REC_IMAGE] = on_image,
		[KBN_REC_STORED] = on_stored,   [KBN_REC_NOTE] = on_note,
		[KBN_REC_END] = on_end,
	};
	/* Kernels name images, whose identity (STORED) comes later in the log. */
	static const join_record_fn second[KBN_REC_END + 1] = {
		[KBN_REC_KERNEL] = on_kernel,
		[KBN_REC_GRAPH] = on_graph,
	};
	struct session_run *run = &p->join->runs.at[p->run];

	take_counters(&p->trace.counters, run);
	if (join_pass(p, first, e) < 0)
		return -1;
	for (size_t i = 0; i < p->images.n; i++) {
		if (join_add_image(p, &p->images.at[i], e) < 0)
			return -1;
	}
	if (join_pass(p, second, e) < 0)
		return -1;
	join_end(p, run);
	if (join_counts(p, e) < 0)
		return -1;
	return note_faults(p, run, e);
}

int join_process(struct join *j, const char *dir, struct err *e)
{
	struct join_process p = {.join = j, .nameless = JOIN_NONE, .elsewhere = JOIN_NONE};
	struct session_run *run;
	int rc = -1;

	if (trace_open(&p.trace, dir, e) < 0)
		return -1;
	run = vec_add(&j->runs);
	if (!run) {
		no_memory(e);
		goto out;
	}
	p.run = (uint32_t)j->runs.n - 1;
	run->dir = arena_string(j->arena, dir, SIZE_MAX);
	run->host = run->driver = run->foreign = "";
	run->pid = p.trace.head.pid;
	run->rank = run->world = run->local_rank = run->exit_status = run->signal = -1;
	run->start_unix_ns = p.trace.head.start_unix_ns;
	if (!run->dir) {
		no_memory(e);
		goto out;
	}
	rc = read_process(&p, e);
out:
	trace_close(&p.trace);
	keymap_fini(&p.device_of);
	keymap_fini(&p.context_of);
	keymap_fini(&p.image_of);
	keymap_fini(&p.kernel_of);
	keymap_fini(&p.graph_of);
	vec_fini(&p.devices);
	vec_fini(&p.contexts);
	vec_fini(&p.images);
	vec_fini(&p.graphs);
	free(p.shape_of_slot);
	return rc;
}
