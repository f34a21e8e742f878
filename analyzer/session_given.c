/*
 * session_given.c - see session_given.h. One run that never was, one device of the table, a shape for
 * each launch of each kernel. Judges nothing: that the geometry can be launched is for the caller to see to.
 */
#include "session_given.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "kbn_hash.h"

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Copies and empty texts: everything is there, and what nobody knows is -1 or "". */
static bool add_run(struct session *s, const struct session_given *g)
{
	struct session_run *r = arena_array(s->arena, 1, sizeof(*r));
	uint64_t launches = 0;

	if (!r)
		return false;
	for (size_t i = 0; i < g->launches_n; i++)
		launches += (uint64_t)g->kernels_n * g->launches[i].times_n;
	*r = (struct session_run){
		.dir = "",
		.argv = arena_copy(s->arena, g->argv, g->argc * sizeof(*g->argv)),
		.argc = g->argc,
		.host = "",
		.driver = "",
		.foreign = "",
		.rank = -1,
		.world = -1,
		.local_rank = -1,
		.end = SESSION_END_NEVER,
		.exit_status = -1,
		.signal = -1,
		.timing = KBN_TIMING_OFF,
		.seen = launches,
		.timed = launches,
	};
	s->runs = r;
	s->runs_n = 1;
	return r->argv != NULL;
}

static bool add_device(struct session *s, const struct session_given *g)
{
	struct session_device *d = arena_array(s->arena, 1, sizeof(*d));

	if (!d)
		return false;
	d->name = arena_string(s->arena, g->device, SIZE_MAX);
	d->mig = "";
	d->cc = g->sm;
	d->is_row = g->is_product;
	s->devices = d;
	s->devices_n = 1;
	return d->name != NULL;
}

/* The image of a kernel, which another one may have brought already. */
static struct session_image *image_of(struct session *s, const struct session_given_kernel *k,
				      const char *file)
{
	struct session_image *i;

	for (size_t n = 0; n < s->images_n; n++)
		if (s->images[n].data == k->image)
			return &s->images[n];
	i = &s->images[s->images_n++];
	*i = (struct session_image){
		.data = k->image,
		.file = file,
		.origin = KBN_ORIGIN_FILE,
		.kind = KBN_KIND_CUBIN,
		.sm = k->sm,
		.bytes = k->image_bytes,
		.stored_bytes = k->image_bytes,
	};
	kbn_hash128(k->image, k->image_bytes, i->hash);
	return i;
}

static bool add_kernels(struct session *s, const struct session_given *g)
{
	const char *file = arena_string(s->arena, g->file, SIZE_MAX);

	s->images = arena_array(s->arena, g->kernels_n, sizeof(*s->images));
	s->kernels = arena_array(s->arena, g->kernels_n, sizeof(*s->kernels));
	if (!file || !s->images || !s->kernels)
		return false;
	for (size_t i = 0; i < g->kernels_n; i++) {
		const struct session_given_kernel *from = &g->kernels[i];
		struct session_kernel *k = &s->kernels[s->kernels_n++];

		*k = (struct session_kernel){
			.name = arena_string(s->arena, from->name, SIZE_MAX),
			.image = image_of(s, from, file),
			SESSION_KERNEL_UNKNOWN,
			.cluster = {(int)from->cluster[0], (int)from->cluster[1],
				    (int)from->cluster[2]},
		};
		if (!k->name)
			return false;
	}
	return true;
}

/* How many of the launches before number `at` have its geometry. */
static uint32_t launches_like(const struct session_given *g, size_t at)
{
	const struct session_given_launch *x = &g->launches[at];
	uint32_t n = 0;

	for (size_t i = 0; i < at; i++) {
		const struct session_given_launch *y = &g->launches[i];

		n += !memcmp(x->grid, y->grid, sizeof(x->grid)) &&
		     !memcmp(x->block, y->block, sizeof(x->block)) &&
		     !memcmp(x->cluster, y->cluster, sizeof(x->cluster)) &&
		     x->dyn_smem_bytes == y->dyn_smem_bytes;
	}
	return n;
}

static bool add_params(struct session *s, struct session_shape *shape,
		       const struct session_params *from)
{
	if (!from->bytes_n)
		return true;
	shape->params = arena_copy(s->arena, from, sizeof(*from));
	if (!shape->params)
		return false;
	shape->params->bytes = arena_copy(s->arena, from->bytes, from->bytes_n);
	shape->params_n = 1;
	return shape->params->bytes != NULL;
}

static bool add_shape(struct session *s, const struct session_kernel *kernel,
		      const struct session_given_kernel *from, const struct session_given *g,
		      size_t at)
{
	const struct session_given_launch *l = &g->launches[at];
	struct session_shape *shape = &s->shapes[s->shapes_n++];
	double *times = arena_copy(s->arena, l->times_us, l->times_n * sizeof(*times));

	if (!times)
		return false;
	if (l->times_n)
		qsort(times, l->times_n, sizeof(*times), by_value);
	shape->kernel = kernel;
	memcpy(shape->grid, l->grid, sizeof(shape->grid));
	memcpy(shape->block, l->block, sizeof(shape->block));
	memcpy(shape->cluster, l->cluster, sizeof(shape->cluster));
	shape->dyn_smem_bytes = l->dyn_smem_bytes;
	shape->given = (uint32_t)at;
	shape->given_again = launches_like(g, at);
	shape->bracketed = l->times_n;
	shape->times.is_given = true;
	shape->times.given_us = times;
	shape->times.given_n = l->times_n;
	return !from->params || add_params(s, shape, &from->params[at]);
}

static bool add_shapes(struct session *s, const struct session_given *g)
{
	s->shapes = arena_array(s->arena, s->kernels_n * g->launches_n, sizeof(*s->shapes));
	if (!s->shapes)
		return false;
	for (size_t i = 0; i < s->kernels_n; i++)
		for (size_t k = 0; k < g->launches_n; k++)
			if (!add_shape(s, &s->kernels[i], &g->kernels[i], g, k))
				return false;
	s->given_launches = g->launches_n;
	return true;
}

static bool add_notes(struct session *s, const struct session_given *g)
{
	s->notes = arena_array(s->arena, g->notes_n + 1, sizeof(*s->notes));
	if (!s->notes)
		return false;
	s->notes[s->notes_n++] =
		(struct session_note){.note = SESSION_NOTE_GIVEN, .run = SESSION_NO_RUN};
	for (size_t i = 0; i < g->notes_n; i++) {
		struct session_note *n = &s->notes[s->notes_n++];

		*n = g->notes[i];
		n->run = SESSION_NO_RUN;
		n->text = arena_string(s->arena, n->text ? n->text : "", SIZE_MAX);
		if (!n->text)
			return false;
	}
	return true;
}

int session_given(struct session *s, const struct session_given *g, struct arena *arena,
		  struct err *e)
{
	struct session made = {.is_given = true, .arena = arena};

	if (!add_run(&made, g) || !add_device(&made, g) || !add_kernels(&made, g) ||
	    !add_shapes(&made, g) || !add_notes(&made, g))
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	*s = made;
	return 0;
}
