/*
 * code_pick.c - see code_pick.h. The file is read twice: for the names, then for the few cubins that are
 * taken, so that a large library never stands in memory.
 */
#include "code_pick.h"

#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "arena.h"
#include "demangle.h"
#include "fatbin.h"
#include "image_file.h"
#include "kbn_hash.h"

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "out of memory");
}

/* How well cubins for that architecture, or PTX, fit a device; 0 = not at all. */
static uint32_t fitness(uint16_t kind, uint32_t sm, char suffix, uint32_t device)
{
	const struct fatbin_entry entry = {.kind = kind,
					   .sm = sm,
					   .is_arch_specific = suffix == 'a',
					   .is_family_specific = suffix == 'f'};

	return fatbin_fitness(&entry, device);
}

/* Is it for the device and the architecture that were named, as far as any was? */
static bool may_fit(const struct code_pick *p, uint16_t kind, uint32_t sm, char suffix)
{
	return (!p->device || fitness(kind, sm, suffix, p->device)) &&
	       (!p->arch || fitness(kind, sm, suffix, p->arch));
}

static bool has_name(const struct code_pick *p, struct arena *names, const char *name)
{
	return !p->filter || names_match(p->filter, name, demangle_full(names, name),
					 demangle_short(names, name));
}

/* Equal when the instructions are, and what is set up for them. */
static uint64_t code_hash(const struct cubin_function *f)
{
	uint64_t of[] = {kbn_hash64(f->code.data, f->code.bytes),
			 f->registers,
			 f->static_smem_bytes,
			 f->frame_bytes,
			 f->local_bytes,
			 f->barriers,
			 f->max_threads[0],
			 f->max_threads[1],
			 f->max_threads[2],
			 f->block[0],
			 f->block[1],
			 f->block[2],
			 f->cluster[0],
			 f->cluster[1],
			 f->cluster[2],
			 f->param_bytes};

	return kbn_hash64(of, sizeof(of));
}

static int add_kernels(struct code_pick *p, const struct cubin *c, size_t image, char suffix,
		       struct err *e)
{
	for (size_t i = 0; i < c->functions_n; i++) {
		const struct cubin_function *f = &c->functions[i];
		struct arena *names;
		struct code_pick_kernel *k;

		if (!f->is_kernel)
			continue;
		names = arena_new();
		k = vec_add(&p->kernels);
		if (!names || !k) {
			arena_free(names);
			return no_memory(e);
		}
		*k = (struct code_pick_kernel){
			.name = arena_string(p->arena, f->name, SIZE_MAX),
			.is_wanted = has_name(p, names, f->name),
			.sm = c->sm,
			.suffix = suffix,
			.code = code_hash(f),
			.image = image,
		};
		arena_free(names);
		if (!k->name)
			return no_memory(e);
	}
	return 0;
}

static int scan_cubin(struct code_pick *p, const struct cubin *c, const struct image *image,
		      struct err *e)
{
	const char suffix = c->suffix ? c->suffix : image->suffix;

	if (c->sm > p->any_sm)
		p->any_sm = c->sm;
	if ((p->suffix && suffix != p->suffix) || !may_fit(p, FATBIN_CUBIN, c->sm, suffix) ||
	    !arch_find((int)c->sm, NULL))
		return 0;
	return add_kernels(p, c, image->index, suffix, e);
}

static int scan_image(struct code_pick *p, struct image_file *file, const struct image *image,
		      struct err *e)
{
	struct cubin cubin;
	struct buf bytes;
	int rc;

	if (image->kind == FATBIN_PTX)
		p->has_ptx |= may_fit(p, FATBIN_PTX, image->sm, image->suffix);
	if (image->kind != FATBIN_CUBIN)
		return 0;
	if (image->sm > p->any_sm)
		p->any_sm = image->sm;
	/* what the container does not say the cubin does; nothing that fits is passed over here */
	if (image->sm && !may_fit(p, FATBIN_CUBIN, image->sm, image->suffix))
		return 0;
	if (image_bytes(file, image, &bytes, e) != 0)
		return -1;
	if (cubin_open(&cubin, bytes, e) != 0)
		return image_fail(file, image, e);
	rc = scan_cubin(p, &cubin, image, e);
	cubin_close(&cubin);
	return rc;
}

/* ----------------------------------------------------------------------- of all those the fittest */

/* By name, the fittest first; then what makes the order the same every time. */
static int by_name(const void *va, const void *vb)
{
	const struct code_pick_kernel *a = va, *b = vb;
	const int names = strcmp(a->name, b->name);

	if (names)
		return names;
	if (a->fitness != b->fitness)
		return a->fitness > b->fitness ? -1 : 1;
	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return (a->image > b->image) - (a->image < b->image);
}

/* The wanted ones; where there are none, all. */
static bool counts(const struct code_pick *p, const struct code_pick_kernel *k)
{
	return !p->wanted || k->is_wanted;
}

static void note_other(struct code_pick *p, uint32_t sm)
{
	const size_t room = sizeof(p->others) / sizeof(*p->others);
	size_t at = 0;

	while (at < p->others_n && p->others[at] < sm)
		at++;
	if (sm == p->sm || p->others_n == room || (at < p->others_n && p->others[at] == sm))
		return;
	memmove(&p->others[at + 1], &p->others[at], (p->others_n - at) * sizeof(*p->others));
	p->others[at] = sm;
	p->others_n++;
}

/* Nobody named an architecture: the newest one it is. */
static void choose_newest(struct code_pick *p)
{
	for (size_t i = 0; i < p->kernels.n; i++)
		if (counts(p, &p->kernels.at[i]) && p->kernels.at[i].sm > p->sm)
			p->sm = p->kernels.at[i].sm;
	for (size_t i = 0; i < p->kernels.n; i++)
		if (counts(p, &p->kernels.at[i]))
			note_other(p, p->kernels.at[i].sm);
}

static void keep_fitting(struct code_pick *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->kernels.n; i++) {
		struct code_pick_kernel *k = &p->kernels.at[i];

		k->fitness = fitness(FATBIN_CUBIN, k->sm, k->suffix, p->sm);
		if (k->fitness)
			p->kernels.at[kept++] = *k;
	}
	p->kernels.n = kept;
}

/* Of each name the fittest code; equal code from several places once. */
static void keep_fittest(struct code_pick *p)
{
	const struct code_pick_kernel *best = NULL, *last = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < p->kernels.n; i++) {
		const struct code_pick_kernel *k = &p->kernels.at[i];

		if (!best || strcmp(best->name, k->name))
			best = last = NULL;
		if (best && k->fitness < best->fitness)
			continue;
		if (best && k->code == last->code) {
			p->again += k->is_wanted;
			continue;
		}
		p->kernels.at[kept] = *k;
		last = &p->kernels.at[kept++];
		best = best ? best : last;
	}
	p->kernels.n = kept;
}

static void count_wanted(struct code_pick *p)
{
	p->wanted = 0;
	for (size_t i = 0; i < p->kernels.n; i++)
		p->wanted += p->kernels.at[i].is_wanted;
}

/* One call of `each` per image, until one fails. */
static int walk(struct code_pick *p,
		int (*each)(struct code_pick *p, struct image_file *file, const struct image *image,
			    struct err *e),
		struct err *e)
{
	struct image_file file;
	struct image image;
	int more, rc = 0;

	if (image_file_open(&file, p->path, e) != 0)
		return -1;
	while (rc == 0 && (more = image_file_next(&file, &image, e)) != 0)
		rc = more < 0 ? -1 : each(p, &file, &image, e);
	image_file_close(&file);
	return rc;
}

int code_pick_scan(struct code_pick *p, struct err *e)
{
	if (walk(p, scan_image, e) != 0)
		return -1;
	count_wanted(p);
	p->sm = p->arch ? p->arch : p->device;
	if (!p->sm)
		choose_newest(p);
	keep_fitting(p);
	vec_sort(&p->kernels, by_name);
	keep_fittest(p);
	count_wanted(p);
	return 0;
}

/* --------------------------------------------------------------------------- those that are taken */

static int take(struct code_pick *p, const struct cubin *c, const uint8_t *bytes, size_t n,
		size_t image, struct err *e)
{
	for (size_t i = 0; i < p->kernels.n; i++) {
		struct code_pick_kernel *k = &p->kernels.at[i];

		if (!k->is_wanted || k->image != image)
			continue;
		k->bytes = bytes;
		k->bytes_n = n;
		k->function = cubin_find(c, k->name);
		if (!k->function)
			return err_set(e, ERR_CORRUPT, -1, "%s: changed while it was read",
				       err_path(p->path));
	}
	return 0;
}

static bool is_wanted(const struct code_pick *p, size_t image)
{
	for (size_t i = 0; i < p->kernels.n; i++)
		if (p->kernels.at[i].is_wanted && p->kernels.at[i].image == image)
			return true;
	return false;
}

static int load_image(struct code_pick *p, struct image_file *file, const struct image *image,
		      struct err *e)
{
	struct cubin *cubin, **added;
	struct buf view;
	uint8_t *bytes;

	if (image->kind != FATBIN_CUBIN || !is_wanted(p, image->index))
		return 0;
	if (image_bytes(file, image, &view, e) != 0)
		return -1;
	bytes = arena_copy(p->arena, view.data, view.bytes);
	cubin = arena_alloc(p->arena, sizeof(*cubin));
	if (!bytes || !cubin)
		return no_memory(e);
	if (cubin_open(cubin, buf_of(bytes, view.bytes), e) != 0)
		return image_fail(file, image, e);
	added = vec_add(&p->cubins);
	if (!added) {
		cubin_close(cubin);
		return no_memory(e);
	}
	*added = cubin;
	return take(p, cubin, bytes, view.bytes, image->index, e);
}

int code_pick_load(struct code_pick *p, struct err *e)
{
	return walk(p, load_image, e);
}

void code_pick_close(struct code_pick *p)
{
	for (size_t i = 0; i < p->cubins.n; i++)
		cubin_close(p->cubins.at[i]);
	vec_fini(&p->cubins);
	vec_fini(&p->kernels);
}
