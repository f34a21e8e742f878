/*
 * session.c - a recording of one or many processes as one set of plain data.
 * Input: run directories and process directories, in any mixture. Output: struct session, in the
 * order that session.h states.
 * Leaves the reading of one process to session_join.c, and all judgement to the layers above.
 */
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "session_join.h"

/* A process directory that was found, with what orders it. */
struct found {
	char *dir;
	int rank;
	uint64_t start_unix_ns;
	uint32_t pid;
	char host[64];
};

struct finder {
	VEC(struct found) found;
	struct join *join;
	struct err first; /* the first fault, in case that nothing can be read */
};

int32_t session_attr(const struct session_device *d, int attribute, int32_t missing)
{
	for (size_t i = 0; i < d->attrs_n; i++) {
		if (d->attrs[i].attribute == attribute)
			return d->attrs[i].value;
	}
	return missing;
}

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "out of memory while joining the recording");
}

/* ---- finding the directories */

/* What cannot be read is a note beside the rest. */
static int skip(struct finder *f, const struct err *fault, struct err *e)
{
	if (f->first.code == ERR_NONE)
		f->first = *fault;
	return join_note(f->join, SESSION_NOTE_DAMAGED, fault->offset, 0, SESSION_NO_RUN,
			 fault->text, e);
}

static void peek(struct trace *t, struct found *f)
{
	struct trace_record r;
	struct kbn_rec_process rec;

	f->rank = -1;
	f->start_unix_ns = t->head.start_unix_ns;
	f->pid = t->head.pid;
	while (trace_next_record(t, &r)) {
		if (r.kind != KBN_REC_PROCESS || trace_fixed(&r, &rec, sizeof(rec), NULL) < 0)
			continue;
		f->rank = rec.rank;
		memcpy(f->host, rec.host, sizeof(f->host));
		return;
	}
}

static int find_process(struct finder *f, const char *dir, struct err *e)
{
	struct err fault = {0};
	struct found *found;
	struct trace t;

	if (trace_open(&t, dir, &fault) < 0)
		return fault.code == ERR_MEMORY ? (*e = fault, -1) : skip(f, &fault, e);
	found = vec_add(&f->found);
	if (!found) {
		trace_close(&t);
		return no_memory(e);
	}
	peek(&t, found);
	trace_close(&t);
	found->dir = strdup(dir);
	return found->dir ? 0 : no_memory(e);
}

static bool is_process_dir(const char *dir)
{
	char path[4096];
	struct stat st;

	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, KBN_LOG_FILE) < sizeof(path) &&
	       !stat(path, &st);
}

/* One argument: a process directory itself, or a run directory with some. */
static int find_in(struct finder *f, const char *dir, struct err *e)
{
	struct err fault = {0};
	struct dirent *entry;
	bool any = false;
	char path[4096];
	DIR *d;

	if (is_process_dir(dir))
		return find_process(f, dir, e);
	d = opendir(dir);
	if (!d) {
		err_set(&fault, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, -1, "%s: %s",
			err_path(dir), strerror(errno));
		return skip(f, &fault, e);
	}
	while ((entry = readdir(d))) {
		if (strncmp(entry->d_name, KBN_PROC_PREFIX, strlen(KBN_PROC_PREFIX)))
			continue;
		any = true;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >=
		    sizeof(path))
			continue;
		if (find_process(f, path, e) < 0) {
			closedir(d);
			return -1;
		}
	}
	closedir(d);
	if (any)
		return 0;
	err_set(&fault, ERR_NOT_FOUND, -1, "%s: no recording here (no %s* directory)",
		err_path(dir), KBN_PROC_PREFIX);
	return skip(f, &fault, e);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_found(const void *va, const void *vb)
{
	const struct found *a = va, *b = vb;
	int c = COMPARE(a->rank, b->rank);

	if (!c)
		c = COMPARE(a->start_unix_ns, b->start_unix_ns);
	if (!c)
		c = COMPARE(a->pid, b->pid);
	if (!c)
		c = memcmp(a->host, b->host, sizeof(a->host));
	return c ? c : strcmp(a->dir, b->dir);
}

/* A run directory and one of its processes, or a copy of it: read once, or all counts double. */
static bool is_same_recording(const struct found *a, const struct found *b)
{
	return a->start_unix_ns == b->start_unix_ns && a->pid == b->pid &&
	       !memcmp(a->host, b->host, sizeof(a->host));
}

static int read_found(struct finder *f, int rank, struct err *e)
{
	vec_sort(&f->found, compare_found);
	for (size_t i = 0; i < f->found.n; i++) {
		const struct found *now = &f->found.at[i];
		struct err fault = {0};

		if (rank >= 0 && now->rank != rank)
			continue;
		if (i && is_same_recording(now, now - 1)) {
			if (join_note(f->join, SESSION_NOTE_TWICE, 0, 0, SESSION_NO_RUN, now->dir,
				      e) < 0)
				return -1;
			continue;
		}
		if (join_process(f->join, now->dir, &fault) == 0)
			continue;
		if (fault.code == ERR_MEMORY) {
			*e = fault;
			return -1;
		}
		if (skip(f, &fault, e) < 0)
			return -1;
	}
	for (size_t i = 0; i < f->join->runs.n; i++)
		if (!f->join->runs.at[i].no_slots)
			return 0;
	if (f->join->runs.n)
		return err_set(e, ERR_NOT_FOUND, -1, "%s: %s is missing: launches are not known",
			       err_path(f->join->runs.at[0].dir), KBN_SLOTS_FILE);
	if (f->found.n && f->first.code == ERR_NONE)
		return err_set(e, ERR_NOT_FOUND, -1, "no process of rank %d was recorded", rank);
	*e = f->first;
	return -1;
}

/* ---- finishing: order, then pointers */

/* qsort has no context argument; order[] entries carry what is compared. */
struct ordered {
	const void *at;
	uint32_t from;
};

static int compare_devices(const void *va, const void *vb)
{
	const struct session_device *a = ((const struct ordered *)va)->at,
				    *b = ((const struct ordered *)vb)->at;
	int c = memcmp(a->uuid, b->uuid, sizeof(a->uuid));

	if (!c)
		c = strcmp(a->name, b->name);
	return c ? c : strcmp(a->mig, b->mig);
}

static int compare_kernels(const void *va, const void *vb)
{
	const struct session_kernel *a = ((const struct ordered *)va)->at,
				    *b = ((const struct ordered *)vb)->at;
	static const uint8_t none[16];
	int c = memcmp(a->image ? a->image->hash : none, b->image ? b->image->hash : none,
		       sizeof(none));

	if (!c)
		c = strcmp(a->name, b->name);
	return c ? c : COMPARE(a->binary_version, b->binary_version);
}

static int compare_triples(const uint32_t a[3], const uint32_t b[3])
{
	for (int i = 0; i < 3; i++) {
		if (a[i] != b[i])
			return COMPARE(a[i], b[i]);
	}
	return 0;
}

/* Kernels are in their final order by now, so their addresses order them. */
static int compare_shapes(const void *va, const void *vb)
{
	const struct session_shape *a = ((const struct ordered *)va)->at,
				   *b = ((const struct ordered *)vb)->at;
	uint32_t fa = a->cooperative + 2u * a->pdl + 4u * a->overflow,
		 fb = b->cooperative + 2u * b->pdl + 4u * b->overflow;
	int c = COMPARE(a->device, b->device);

	if (!c)
		c = COMPARE(a->kernel, b->kernel);
	if (!c)
		c = compare_triples(a->grid, b->grid);
	if (!c)
		c = compare_triples(a->block, b->block);
	if (!c)
		c = compare_triples(a->cluster, b->cluster);
	if (!c)
		c = COMPARE(a->dyn_smem_bytes, b->dyn_smem_bytes);
	if (!c)
		c = COMPARE(a->green_sm_count, b->green_sm_count);
	return c ? c : COMPARE(fa, fb);
}

/*
 * The order of n elements of `bytes` bytes, and in where[old index] the new place of each. Both
 * belong to the arena. NULL when memory has run out.
 */
static struct ordered *sort_order(struct arena *arena, const void *at, size_t n, size_t bytes,
				  int (*compare)(const void *, const void *), uint32_t **where)
{
	struct ordered *order = arena_array(arena, n, sizeof(*order));

	*where = arena_array(arena, n, sizeof(**where));
	if (!order || !*where)
		return NULL;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct ordered){.at = (const uint8_t *)at + i * bytes,
					    .from = (uint32_t)i};
	if (n)
		qsort(order, n, sizeof(*order), compare);
	for (size_t i = 0; i < n; i++)
		(*where)[order[i].from] = (uint32_t)i;
	return order;
}

static int finish_devices(struct session *s, struct join *j, uint32_t **where)
{
	struct ordered *order = sort_order(s->arena, j->devices.at, j->devices.n,
					   sizeof(*j->devices.at), compare_devices, where);

	s->devices_n = j->devices.n;
	s->devices = arena_array(s->arena, s->devices_n, sizeof(*s->devices));
	if (!order || !s->devices)
		return -1;
	for (size_t i = 0; i < s->devices_n; i++)
		s->devices[i] = j->devices.at[order[i].from];
	return 0;
}

static int finish_kernels(struct session *s, struct join *j, uint32_t **where)
{
	struct session_kernel *all = arena_array(s->arena, j->kernels.n, sizeof(*all));
	struct ordered *order;

	s->images_n = j->images.n;
	s->images = arena_copy(s->arena, j->images.at, j->images.n * sizeof(*j->images.at));
	s->kernels_n = j->kernels.n;
	s->kernels = arena_array(s->arena, s->kernels_n, sizeof(*s->kernels));
	if (!all || !s->images || !s->kernels)
		return -1;
	for (size_t i = 0; i < j->kernels.n; i++) {
		all[i] = j->kernels.at[i].k;
		if (j->kernels.at[i].image != JOIN_NONE)
			all[i].image = &s->images[j->kernels.at[i].image];
	}
	order = sort_order(s->arena, all, s->kernels_n, sizeof(*all), compare_kernels, where);
	if (!order)
		return -1;
	for (size_t i = 0; i < s->kernels_n; i++)
		s->kernels[i] = all[order[i].from];
	return 0;
}

/* A slot that was handed out and never counted a launch is no shape. */
static bool is_launched(const struct session_shape *s)
{
	return s->sampled_out || s->untimeable || s->bracketed || s->captured || s->failed ||
	       s->graph_node_launches;
}

static int finish_shapes(struct session *s, struct join *j, const uint32_t *devices,
			 const uint32_t *kernels, uint32_t **where)
{
	struct session_shape *all = arena_array(s->arena, j->shapes.n, sizeof(*all));
	struct ordered *order;

	if (!all)
		return -1;
	for (size_t i = 0; i < j->shapes.n; i++) {
		all[i] = j->shapes.at[i].s;
		all[i].device = devices[all[i].device];
		all[i].kernel = &s->kernels[kernels[j->shapes.at[i].kernel]];
	}
	order = sort_order(s->arena, all, j->shapes.n, sizeof(*all), compare_shapes, where);
	s->shapes = arena_array(s->arena, j->shapes.n, sizeof(*s->shapes));
	if (!order || !s->shapes)
		return -1;
	for (size_t i = 0; i < j->shapes.n; i++) {
		const struct session_shape *shape = order[i].at;

		(*where)[order[i].from] = is_launched(shape) ? (uint32_t)s->shapes_n : JOIN_NONE;
		if (is_launched(shape))
			s->shapes[s->shapes_n++] = *shape;
	}
	return 0;
}

static int compare_early(const void *va, const void *vb)
{
	const struct join_early *a = va, *b = vb;
	uint32_t la = a->early.launch & ~KBN_EARLY_PLAIN, lb = b->early.launch & ~KBN_EARLY_PLAIN;
	int c = COMPARE(a->shape, b->shape);

	if (!c)
		c = COMPARE(la, lb);
	if (!c)
		c = COMPARE(a->early.ns, b->early.ns);
	return c ? c : COMPARE(a->early.launch, b->early.launch);
}

/*
 * Early samples [first, first + n) of the sorted list belong to `t`. Where other threads or
 * processes had a sketch, the few samples of one without enter it too: it then covers all.
 */
static int finish_early(struct arena *arena, struct session_times *t,
			const struct join_early *early, size_t n)
{
	t->early = arena_array(arena, n, sizeof(*t->early));
	if (!t->early)
		return -1;
	t->early_n = n;
	for (size_t i = 0; i < n; i++) {
		bool is_warmup = (early[i].early.launch & ~KBN_EARLY_PLAIN) < KBN_WARMUP;
		uint32_t *count;

		t->early[i] = early[i].early;
		if (!t->sketch || early[i].has_sketch || is_warmup)
			continue;
		count = &t->sketch[kbn_sketch_bucket(early[i].early.ns)];
		*count += *count < UINT32_MAX;
	}
	return 0;
}

/* Shape indices of join_early and join_params become final ones; then equal ones stand together. */
#define RENUMBER(list, where)                                                 \
	do {                                                                  \
		for (size_t i_ = 0; i_ < (list)->n; i_++)                     \
			(list)->at[i_].shape = (where)[(list)->at[i_].shape]; \
	} while (0)

static int finish_times(struct session *s, struct join *j, const uint32_t *where)
{
	RENUMBER(&j->early, where);
	vec_sort(&j->early, compare_early);
	vec_sort(&j->graph_early, compare_early);
	for (size_t i = 0, n; i < j->early.n; i += n) {
		uint32_t shape = j->early.at[i].shape;

		for (n = 1; i + n < j->early.n && j->early.at[i + n].shape == shape;)
			n++;
		if (shape != JOIN_NONE &&
		    finish_early(s->arena, &s->shapes[shape].times, &j->early.at[i], n) < 0)
			return -1;
	}
	for (size_t i = 0, n; i < j->graph_early.n; i += n) {
		uint32_t graph = j->graph_early.at[i].shape;

		for (n = 1; i + n < j->graph_early.n && j->graph_early.at[i + n].shape == graph;)
			n++;
		if (finish_early(s->arena, &s->graphs[graph].times, &j->graph_early.at[i], n) < 0)
			return -1;
	}
	return 0;
}

/* By launch; the run decides between equals, and the list is in the order of runs. */
static int compare_params(const void *va, const void *vb)
{
	const struct join_params *a = va, *b = vb;
	int c = COMPARE(a->shape, b->shape);

	if (!c)
		c = COMPARE(a->p.launch, b->p.launch);
	return c ? c : COMPARE(a->order, b->order);
}

static int finish_params(struct session *s, struct join *j, const uint32_t *where)
{
	RENUMBER(&j->params, where);
	for (size_t i = 0; i < j->params.n; i++)
		j->params.at[i].order = i;
	vec_sort(&j->params, compare_params);
	for (size_t i = 0, n; i < j->params.n; i += n) {
		uint32_t shape = j->params.at[i].shape;
		struct session_shape *to;

		for (n = 1; i + n < j->params.n && j->params.at[i + n].shape == shape;)
			n++;
		if (shape == JOIN_NONE)
			continue;
		to = &s->shapes[shape];
		to->params_n = n < SESSION_PARAMS_MAX ? n : SESSION_PARAMS_MAX;
		to->params = arena_array(s->arena, to->params_n, sizeof(*to->params));
		if (!to->params)
			return -1;
		for (size_t k = 0; k < to->params_n; k++)
			to->params[k] = j->params.at[i + k].p;
	}
	return 0;
}

static int finish(struct session *s, struct join *j, struct err *e)
{
	uint32_t *devices, *kernels, *shapes;

	s->runs_n = j->runs.n;
	s->runs = arena_copy(s->arena, j->runs.at, j->runs.n * sizeof(*j->runs.at));
	s->graphs_n = j->graphs.n;
	s->graphs = arena_copy(s->arena, j->graphs.at, j->graphs.n * sizeof(*j->graphs.at));
	s->notes_n = j->notes.n;
	s->notes = arena_copy(s->arena, j->notes.at, j->notes.n * sizeof(*j->notes.at));
	if (!s->runs || !s->graphs || !s->notes)
		return no_memory(e);
	if (finish_devices(s, j, &devices) < 0 || finish_kernels(s, j, &kernels) < 0)
		return no_memory(e);
	if (finish_shapes(s, j, devices, kernels, &shapes) < 0)
		return no_memory(e);
	if (finish_times(s, j, shapes) < 0 || finish_params(s, j, shapes) < 0)
		return no_memory(e);
	return 0;
}

static void join_fini(struct join *j)
{
	vec_fini(&j->runs);
	vec_fini(&j->devices);
	vec_fini(&j->images);
	vec_fini(&j->kernels);
	vec_fini(&j->shapes);
	vec_fini(&j->graphs);
	vec_fini(&j->notes);
	vec_fini(&j->early);
	vec_fini(&j->graph_early);
	vec_fini(&j->params);
	keymap_fini(&j->device_of);
	keymap_fini(&j->image_of);
	keymap_fini(&j->kernel_of);
	keymap_fini(&j->shape_of);
}

int session_open(struct session *s, const char *const *dirs, size_t n, int rank, struct err *e)
{
	struct join j = {.arena = arena_new()};
	struct finder f = {.join = &j};
	struct session result = {.arena = j.arena};
	struct err fault = {0};
	int rc = -1;

	if (!j.arena) {
		no_memory(&fault);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		if (find_in(&f, dirs[i], &fault) < 0)
			goto out;
	}
	if (read_found(&f, rank, &fault) < 0 || finish(&result, &j, &fault) < 0)
		goto out;
	*s = result;
	j.arena = NULL;
	rc = 0;
out:
	if (rc < 0 && e)
		*e = fault;
	for (size_t i = 0; i < f.found.n; i++)
		free(f.found.at[i].dir);
	vec_fini(&f.found);
	join_fini(&j);
	arena_free(j.arena);
	return rc;
}

void session_close(struct session *s)
{
	arena_free(s->arena);
	*s = (struct session){0};
}
