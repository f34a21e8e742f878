/*
 * params.c - parameter bytes of sampled launches, for PARAMS records.
 *
 * Input: kernelParams or extra as the program gave them, and the exact table of the kernel. Output:
 * the packed block, the parts that were really copied, and the allocations that pointer-like values
 * point into. An unknown table means that nothing is read.
 */
#include "params.h"

#include <string.h>
#include <sys/uio.h>

#include "hook.h"
#include "writer.h"

#define MAX_EXTRA       16 /* entries walked of an `extra` list */
#define MAX_ALLOCATIONS 32 /* pointers asked about per launch */
#define MAX_PIECES      96
#define SCALAR_BYTES    8 /* KBN_PARAMS=scalars takes pieces up to this */
#define LOWEST_ADDRESS  0x10000u

struct piece {
	uint32_t offset, bytes;
};

static bool is_wanted(const struct kbn_param *p)
{
	return kbn_settings.params == 2 || p->bytes <= SCALAR_BYTES;
}

/* The buffer and its size out of an `extra` list: pairs of key and value, ended by key 0. */
static bool find_buffer(void **extra, const char **buffer, size_t *bytes)
{
	const size_t *size = NULL;

	*buffer = NULL;
	for (int i = 0; i < MAX_EXTRA && extra[0] != CU_LAUNCH_PARAM_END; i++, extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = extra[1];
		else
			return false;
	}
	*bytes = size ? *size : 0;
	return *buffer && size;
}

static uint8_t *scratch(struct kbn_thread *t)
{
	if (!t->params)
		t->params = kbn_alloc(KBN_PARAM_BYTES + 4);
	return t->params;
}

static uint32_t copy_from_pointers(uint8_t *to, const struct kbn_kernel *k, void **params)
{
	for (uint32_t i = 0; i < k->param_count; i++) {
		const struct kbn_param *p = &k->params[i];

		if (params[i] && is_wanted(p))
			memcpy(to + p->offset, params[i], p->bytes);
	}
	return k->param_bytes;
}

static uint32_t copy_from_buffer(uint8_t *to, const struct kbn_kernel *k, void **extra)
{
	const char *buffer;
	size_t bytes;

	if (!find_buffer(extra, &buffer, &bytes))
		return 0;
	for (uint32_t i = 0; i < k->param_count; i++) {
		const struct kbn_param *p = &k->params[i];

		if (p->offset + p->bytes <= bytes && is_wanted(p))
			memcpy(to + p->offset, buffer + p->offset, p->bytes);
	}
	return k->param_bytes;
}

uint32_t kbn_params_copy(struct kbn_thread *t, const struct kbn_kernel *k, void **params,
			 void **extra)
{
	uint8_t *to;

	/* Both lists at once is an error that the driver will name. */
	if (!kbn_settings.params || !k->params_known || !k->param_bytes || !params == !extra ||
	    k->param_bytes > KBN_PARAM_BYTES)
		return 0;
	to = scratch(t);
	if (!to)
		return 0;
	memset(to, 0, k->param_bytes);
	return params ? copy_from_pointers(to, k, params) : copy_from_buffer(to, k, extra);
}

/* ----------------------------------------------------------------------------------- allocations */

struct found {
	struct kbn_allocation allocation[MAX_ALLOCATIONS];
	uint32_t count, asked;
};

static void ask(struct found *f, uint32_t offset, uint64_t value)
{
	CUdeviceptr base = 0;
	size_t bytes = 0;

	f->asked++;
	for (uint32_t i = 0; i < f->count; i++)
		if (value - f->allocation[i].base < f->allocation[i].bytes) {
			f->allocation[f->count] = f->allocation[i];
			f->allocation[f->count++].param_offset = offset;
			return;
		}
	if (real.cuMemGetAddressRange_v2(&base, &bytes, value) != CUDA_SUCCESS || !bytes)
		return;
	f->allocation[f->count++] =
		(struct kbn_allocation){.param_offset = offset, .base = base, .bytes = bytes};
}

/*
 * Pointers stand in parameters of their own and inside structures: every aligned 8 bytes of the
 * block that could be an address are asked about.
 */
static void find_allocations(struct found *f, const struct kbn_kernel *k, const uint8_t *block)
{
	struct kbn_relaxed relaxed;

	f->count = f->asked = 0;
	if (!real.cuMemGetAddressRange_v2)
		return;
	relaxed = kbn_relaxed_enter();
	for (uint32_t i = 0; i < k->param_count; i++) {
		const struct kbn_param *p = &k->params[i];

		for (uint32_t at = 0; at + 8 <= p->bytes; at += 8) {
			uint64_t value;

			memcpy(&value, block + p->offset + at, 8);
			if (value < LOWEST_ADDRESS || value >> 57)
				continue;
			if (f->asked == MAX_ALLOCATIONS)
				break;
			ask(f, p->offset + at, value);
		}
	}
	kbn_relaxed_leave(&relaxed);
}

static uint32_t list_pieces(const struct kbn_kernel *k, struct piece *pieces)
{
	uint32_t n = 0;

	if (kbn_settings.params == 2)
		return 0;
	for (uint32_t i = 0; i < k->param_count && n < MAX_PIECES; i++)
		if (is_wanted(&k->params[i]))
			pieces[n++] = (struct piece){k->params[i].offset, k->params[i].bytes};
	return n;
}

void kbn_params_write(struct kbn_thread *t, const struct kbn_kernel *k, struct kbn_shape *s,
		      uint32_t bytes, bool captured)
{
	struct found f = {.count = 0};
	struct piece pieces[MAX_PIECES];
	struct kbn_rec_params r = {
		.kernel = k->id,
		.slot = s->index,
		.launch = s->launches,
		.mono_ns = kbn_now_ns(),
		.bytes = bytes,
	};

	if (!captured)
		find_allocations(&f, k, t->params);
	r.allocations = f.count;
	r.pieces = list_pieces(k, pieces);
	/* Full copies have no list; scalars of which none was small enough have nothing to say. */
	if (kbn_settings.params == 2 || r.pieces)
		kbn_log_append(KBN_REC_PARAMS, 0,
			       (struct iovec[]){{&r, sizeof(r)},
						{t->params, bytes},
						{f.allocation, f.count * sizeof(f.allocation[0])},
						{pieces, r.pieces * sizeof(pieces[0])}},
			       4);
	kbn_params_done(s);
}
