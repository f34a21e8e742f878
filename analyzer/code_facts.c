/*
 * code_facts.c - see code_facts.h. A damaged image costs the facts of its kernels, never the report.
 */
#include "code_facts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "code.h"

struct code_facts {
	const struct session *session;
	bool simulated;
	double jit_seconds;                /* left */
	const struct session_image *image; /* at hand, for devices of `sm`; NULL = none yet */
	int sm;
	bool is_open;
	struct code code;
};

struct code_facts *code_facts_new(const struct session *s, bool simulated, double jit_seconds)
{
	struct code_facts *f = calloc(1, sizeof(*f));

	if (f) {
		f->session = s;
		f->simulated = simulated;
		f->jit_seconds = jit_seconds;
	}
	return f;
}

static void drop_image(struct code_facts *f)
{
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
	free(f);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void take_image(struct code_facts *f, const struct session_image *image, int sm)
{
	double start = now();
	bool is_ptx = image->kind == KBN_KIND_PTX;

	drop_image(f);
	f->image = image;
	f->sm = sm;
	if (is_ptx && f->jit_seconds <= 0)
		return;
	f->is_open = code_open(&f->code, image, (uint32_t)sm, f->simulated, NULL) == 0;
	if (is_ptx)
		f->jit_seconds -= now() - start;
}

void code_facts_of(void *ctx, const struct session_kernel *kernel, int sm, struct model_code *code)
{
	struct code_facts *f = ctx;
	const struct cubin_function *function;
	char text[160];

	if (!kernel->image || !kernel->name[0] || sm <= 0)
		return;
	if (f->image != kernel->image || f->sm != sm)
		take_image(f, kernel->image, sm);
	function = f->is_open ? cubin_find(&f->code.cubin, kernel->name) : NULL;
	if (!function)
		return;
	code->registers = (int)function->registers;
	code->static_smem_bytes = (int)function->static_smem_bytes;
	code->local_bytes = (int)(function->frame_bytes + function->local_bytes);
	code->spill_instructions = function->has_annotations ? (int)function->spills : -1;
	code->barriers = (int)function->barriers;
	code->debug_build = f->code.cubin.is_debug;
	code->reconstructed_by = f->code.by;
	/* Code that was compiled again may differ in details without being wrong. */
	if (!f->code.is_reconstructed &&
	    code_confirm(kernel, &f->code.cubin, function, text) == CODE_DIFFERS)
		code->mismatch = arena_string(f->session->arena, text, sizeof(text));
}
