/*
 * code_facts.c - see code_facts.h. A damaged image costs the facts of its kernels, never the report.
 */
#include "code_facts.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "code.h"
#include "kernel_access.h"
#include "kernel_code.h"
#include "kernel_listing.h"
#include "kernel_view.h"
#include "keymap.h"
#include "line_table.h"
#include "vec.h"

/*
 * Instructions of single warps that are interpreted for one report: a fraction of a second, and less the more
 * kernels there are to be read, so that a report of hundreds of them comes within two seconds.
 */
#define ACCESS_STEPS       (UINT64_C(12) << 18)
#define ACCESS_STEPS_LEAST (UINT64_C(1) << 18)
#define ACCESS_STEPS_READ \
	5600 /* that each kernel to be read leaves fewer: reading it takes time, too */

static const char no_compiler[] =
	"the driver compiled this code from PTX, and it could not be compiled "
	"again here (that needs the driver with a GPU, or ptxas)";
static const char no_function[] = "the stored code has no function of this name";

struct listed {
	const struct session_kernel *kernel;
	int sm;
	const struct metric_listings *listings;
};

struct code_facts {
	const struct session *session;
	const char *late; /* what to say when the time for compiling is used up */
	struct code_compile compile;
	const struct session_image *image; /* at hand, for devices of `sm`; NULL = none yet */
	int sm;
	bool is_open;
	const char *why; /* why it is not open */
	struct code code;
	bool has_lines; /* of that image */
	struct line_table lines;
	const struct cubin_function *viewed; /* of that image; NULL = none yet */
	struct kernel_view view;
	/* What was read of a kernel's instructions: its shapes come in any order. */
	struct keymap read; /* by struct read_key */
	VEC(struct model_code) read_code;
	VEC(struct listed) listed;
	uint64_t access_steps, again_steps; /* left */
};

struct read_key {
	const void *kernel;
	int64_t sm;
};

/* One kernel of several may take one part in so many of the steps that are left. */
#define ACCESS_SHARE_LEAST 8u
#define ACCESS_SHARE_MOST  32u

static unsigned share_of(size_t kernels)
{
	return kernels < ACCESS_SHARE_LEAST  ? ACCESS_SHARE_LEAST
	       : kernels > ACCESS_SHARE_MOST ? ACCESS_SHARE_MOST
					     : (unsigned)kernels;
}

static uint64_t steps_of(size_t kernels)
{
	const uint64_t read = (uint64_t)kernels * ACCESS_STEPS_READ;

	return read < ACCESS_STEPS - ACCESS_STEPS_LEAST ? ACCESS_STEPS - read : ACCESS_STEPS_LEAST;
}

struct code_facts *code_facts_new(const struct session *s, bool simulated, unsigned jit_ms,
				  const char *late)
{
	struct code_facts *f = calloc(1, sizeof(*f));

	if (f) {
		f->session = s;
		f->late = late;
		f->access_steps = steps_of(s->shapes_n) * 2 / 3;
		f->again_steps = steps_of(s->shapes_n) / 3;
		f->compile = (struct code_compile){.no_driver = simulated, .left_ms = jit_ms};
	}
	return f;
}

static void drop_view(struct code_facts *f)
{
	if (f->viewed)
		kernel_view_close(&f->view);
	f->viewed = NULL;
}

/* Accesses are asked for behind the code of the same kernel, and its shapes mostly follow one another. */
static const struct kernel_view *view_of(struct code_facts *f,
					 const struct cubin_function *function, struct err *e)
{
	if (f->viewed == function)
		return &f->view;
	drop_view(f);
	if (kernel_view_open(&f->view, (int)f->code.cubin.sm, function, e) != 0)
		return NULL;
	f->viewed = function;
	return &f->view;
}

static void drop_image(struct code_facts *f)
{
	drop_view(f);
	if (f->has_lines)
		line_table_close(&f->lines);
	f->has_lines = false;
	if (f->is_open)
		code_close(&f->code);
	f->is_open = false;
	f->image = NULL;
}

void code_facts_free(struct code_facts *f)
{
	if (!f)
		return;
	drop_image(f);
	keymap_fini(&f->read);
	vec_fini(&f->read_code);
	vec_fini(&f->listed);
	free(f);
}

/* The reason in words that do not change from one analysis to the next: compilers name temporary files. */
static const char *why_not(struct code_facts *f, const struct err *e)
{
	if (f->compile.was_needed)
		return f->compile.left_ms > 0 ? no_compiler : f->late;
	return arena_string(f->session->arena, e->text, SIZE_MAX);
}

static void take_image(struct code_facts *f, const struct session_image *image, int sm)
{
	struct err e = {.offset = -1};

	drop_image(f);
	f->image = image;
	f->sm = sm;
	f->compile.was_needed = false;
	f->is_open = code_open(&f->code, image, (uint32_t)sm, &f->compile, &e) == 0;
	f->why = f->is_open ? NULL : why_not(f, &e);
}

static void read_instructions(struct code_facts *f, const struct cubin_function *function,
			      struct model_code *code)
{
	struct arena *a = f->session->arena;
	struct err e = {.offset = -1};
	const struct kernel_view *view = view_of(f, function, &e);

	code->sass = view ? kernel_code_read(view, a, &e) : NULL;
	if (!code->sass)
		code->no_sass = arena_string(a, e.text, SIZE_MAX);
}

static void read_code(struct code_facts *f, const struct session_kernel *kernel, int sm,
		      struct model_code *code)
{
	const struct cubin_function *function;
	char text[160];

	if (f->image != kernel->image || f->sm != sm)
		take_image(f, kernel->image, sm);
	function = f->is_open ? cubin_find(&f->code.cubin, kernel->name) : NULL;
	if (!function) {
		code->why = f->is_open ? no_function : f->why;
		return;
	}
	code->sm = (int)f->code.cubin.sm;
	code->registers = (int)function->registers;
	code->static_smem_bytes = (int)function->static_smem_bytes;
	code->local_bytes = (int)(function->frame_bytes + function->local_bytes);
	code->spill_instructions = function->has_annotations ? (int)function->spills : -1;
	code->barriers = (int)function->barriers;
	code->debug_build = f->code.cubin.is_debug;
	code->uses_syscalls = function->uses_syscalls;
	read_instructions(f, function, code);
	code->reconstructed_by = f->code.by;
	/* Code that was compiled again may differ in details without being wrong. */
	if (!f->code.is_reconstructed &&
	    code_confirm(kernel, &f->code.cubin, function, text) == CODE_DIFFERS)
		code->mismatch = arena_string(f->session->arena, text, sizeof(text));
}

void code_facts_of(void *ctx, const struct session_kernel *kernel, int sm, struct model_code *code)
{
	struct code_facts *f = ctx;
	const struct read_key key = {kernel, sm};
	uint32_t *index;
	struct model_code *kept;

	if (!kernel->image || !kernel->name[0] || sm <= 0)
		return;
	index = keymap_put(&f->read, f->session->arena, &key, sizeof(key));
	if (index && *index != KEYMAP_NONE) {
		*code = f->read_code.at[*index];
		return;
	}
	read_code(f, kernel, sm, code);
	index = index ? keymap_put(&f->read, f->session->arena, &key, sizeof(key)) : NULL;
	kept = index ? vec_add(&f->read_code) : NULL;
	if (kept) {
		*kept = *code;
		*index = (uint32_t)(f->read_code.n - 1);
	}
}

/* Damaged lines cost the lines, not the listing. */
static const struct line_table *source_lines(struct code_facts *f)
{
	if (!f->has_lines && f->code.cubin.has_lines)
		f->has_lines = line_table_open(&f->lines, &f->code.cubin, NULL) == 0;
	return f->has_lines ? &f->lines : NULL;
}

static const struct metric_listings *read_listing(struct code_facts *f,
						  const struct session_kernel *kernel, int sm)
{
	const struct cubin_function *function;

	if (f->image != kernel->image || f->sm != sm)
		take_image(f, kernel->image, sm);
	function = f->is_open ? cubin_find(&f->code.cubin, kernel->name) : NULL;
	return function ? kernel_listing_read(&f->code.cubin, function, source_lines(f),
					      f->session->arena, NULL)
			: NULL;
}

const struct metric_listings *code_facts_listing(void *ctx, const struct session_kernel *kernel,
						 int sm)
{
	struct code_facts *f = ctx;
	const struct metric_listings *listings;
	struct listed *kept;

	if (!kernel->image || !kernel->name[0] || sm <= 0)
		return NULL;
	for (size_t i = 0; i < f->listed.n; i++)
		if (f->listed.at[i].kernel == kernel && f->listed.at[i].sm == sm)
			return f->listed.at[i].listings;
	listings = read_listing(f, kernel, sm);
	kept = vec_add(&f->listed);
	if (kept)
		*kept = (struct listed){kernel, sm, listings};
	return listings;
}

/* ------------------------------------------------------------------------------------- accesses */

/* Which bytes of a sample were really copied. */
static void mark_pieces(const struct session_params *p, uint8_t *known)
{
	if (!p->pieces_n)
		memset(known, 0xff, p->bytes_n);
	for (size_t i = 0; i < p->pieces_n; i++) {
		const uint32_t from = p->pieces[2 * i], n = p->pieces[2 * i + 1];

		if (from < p->bytes_n)
			memset(known + from, 0xff, n < p->bytes_n - from ? n : p->bytes_n - from);
	}
}

/* The bits in which all samples of a shape agree. False when memory has run out. */
static bool agree(const struct session_shape *shape, struct kernel_access_launch *l,
		  struct arena *a)
{
	const struct session_params *first = shape->params;
	uint8_t *known, *more;

	if (!shape->params_n || !first->bytes_n)
		return true;
	known = arena_alloc(a, first->bytes_n);
	more = arena_alloc(a, first->bytes_n);
	if (!known || !more)
		return false;
	mark_pieces(first, known);
	for (size_t i = 1; i < shape->params_n; i++) {
		const struct session_params *p = &shape->params[i];

		if (p->bytes_n != first->bytes_n)
			return true;
		memset(more, 0, p->bytes_n);
		mark_pieces(p, more);
		for (size_t k = 0; k < p->bytes_n; k++)
			known[k] &= (uint8_t)(more[k] & ~(p->bytes[k] ^ first->bytes[k]));
	}
	l->params = first->bytes;
	l->known = known;
	l->params_n = (uint32_t)first->bytes_n;
	return true;
}

const struct metric_access *code_facts_access(void *ctx, const struct session_shape *shape, int sm)
{
	struct code_facts *f = ctx;
	const struct session_kernel *kernel = shape->kernel;
	struct kernel_access_launch l = {.steps = &f->access_steps,
					 .steps_share = share_of(f->session->shapes_n),
					 .again_steps = &f->again_steps};
	const struct metric_access *access = NULL;
	struct arena *scratch;

	if (!kernel->image || !kernel->name[0] || sm <= 0 || shape->overflow)
		return NULL;
	for (int i = 0; i < 3; i++)
		if (!shape->grid[i] || !shape->block[i])
			return NULL;
	if (f->image != kernel->image || f->sm != sm)
		take_image(f, kernel->image, sm);
	l.function = f->is_open ? cubin_find(&f->code.cubin, kernel->name) : NULL;
	l.view = l.function ? view_of(f, l.function, NULL) : NULL;
	scratch = l.view ? arena_new() : NULL;
	if (!scratch)
		return NULL;
	l.cubin = &f->code.cubin;
	l.lines = source_lines(f);
	memcpy(l.grid, shape->grid, sizeof(l.grid));
	memcpy(l.block, shape->block, sizeof(l.block));
	memcpy(l.cluster, shape->cluster, sizeof(l.cluster));
	if (agree(shape, &l, scratch))
		access = kernel_access_read(&l, f->session->arena, NULL);
	arena_free(scratch);
	return access;
}
