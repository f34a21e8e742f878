/*
 * code.c - opens the code of an image and confirms that it is the code of a kernel.
 * Input: a stored file, which may be damaged. Output: a cubin with the bytes that it points into.
 */
#include "code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buf.h"
#include "fatbin.h"
#include "jit.h"
#include "kbn_hash.h"

#define IMAGE_MAX (2ull << 30)

_Static_assert(sizeof(struct jit_option) == sizeof(*((struct session_image *)0)->jit),
	       "option pairs are the same");

static int copy(const struct session_image *image, uint8_t **data, size_t *bytes, struct err *e)
{
	*bytes = image->stored_bytes;
	*data = malloc(*bytes + 1);
	if (!*data)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	memcpy(*data, image->data, *bytes);
	return 0;
}

static int load(const struct session_image *image, uint8_t **data, size_t *bytes, struct err *e)
{
	uint8_t hash[16];

	if (image->data)
		return copy(image, data, bytes, e);
	if (!image->path)
		return err_set(e, ERR_NOT_FOUND, -1, "%s",
			       image->why_missing ? image->why_missing : "the code was not stored");
	if (buf_load(image->path, IMAGE_MAX, data, bytes, e) < 0)
		return -1;
	kbn_hash128(*data, *bytes, hash);
	if (!memcmp(hash, image->hash, sizeof(hash)))
		return 0;
	free(*data);
	return err_set(e, ERR_CORRUPT, -1,
		       "%s: the stored code is damaged (its hash is not its name)",
		       err_path(image->path));
}

static int compile(struct code *c, const struct session_image *image, const uint8_t *ptx,
		   size_t bytes, uint32_t sm, struct code_compile *how, struct err *e)
{
	struct jit_option *options = calloc(image->jit_n + 1, sizeof(*options));
	struct jit_source source = {.ptx = (const char *)ptx,
				    .bytes = strnlen((const char *)ptx, bytes),
				    .sm = sm,
				    .options = options,
				    .options_n = image->jit_n,
				    .no_driver = how && how->no_driver,
				    .limit_ms = how ? (unsigned)how->left_ms : 0};
	struct jit_result result;
	struct timespec start, end;
	int rc;

	if (how)
		how->was_needed = true;
	if (!options)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (how && how->left_ms <= 0) {
		free(options);
		return err_set(e, ERR_NOT_FOUND, -1, "no time is left to compile PTX again");
	}
	for (size_t i = 0; i < image->jit_n; i++)
		options[i] = (struct jit_option){image->jit[i].option, image->jit[i].value};
	clock_gettime(CLOCK_MONOTONIC, &start);
	rc = jit_reconstruct(&source, &result, e);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (how)
		how->left_ms -= (end.tv_sec - start.tv_sec) * 1000 +
				(end.tv_nsec - start.tv_nsec) / 1000000;
	free(options);
	if (rc < 0)
		return -1;
	c->bytes = result.cubin;
	c->by = result.by;
	c->is_reconstructed = true;
	rc = cubin_open(&c->cubin, buf_of(result.cubin, result.bytes), e);
	if (rc < 0)
		free(result.cubin);
	return rc;
}

/* A fat binary: `data` stays with the caller. */
static int open_entry(struct code *c, const struct session_image *image, struct buf data,
		      uint32_t sm, struct code_compile *how, struct err *e)
{
	uint64_t budget = FATBIN_ENTRY_MAX;
	struct fatbin_entry entry;
	size_t bytes;
	uint8_t *unpacked;
	int rc = fatbin_select(data, sm, &entry, e);

	if (rc < 0)
		return -1;
	if (!rc)
		return err_set(e, ERR_NOT_FOUND, -1, "the stored fat binary has no code for sm_%u",
			       sm);
	if (fatbin_unpack(&entry, &budget, &unpacked, &bytes, e) < 0)
		return -1;
	if (entry.kind == FATBIN_PTX) {
		rc = compile(c, image, unpacked, bytes, sm, how, e);
		free(unpacked);
		return rc;
	}
	c->bytes = unpacked;
	rc = cubin_open(&c->cubin, buf_of(unpacked, bytes), e);
	if (rc < 0)
		free(unpacked);
	return rc;
}

int code_open(struct code *c, const struct session_image *image, uint32_t sm,
	      struct code_compile *how, struct err *e)
{
	struct code result = {0};
	uint8_t *data;
	size_t bytes;
	int rc;

	if (load(image, &data, &bytes, e) < 0)
		return -1;
	switch (image->kind) {
	case KBN_KIND_CUBIN:
		result.bytes = data;
		rc = cubin_open(&result.cubin, buf_of(data, bytes), e);
		data = rc < 0 ? data : NULL;
		break;
	case KBN_KIND_FATBIN:
		rc = open_entry(&result, image, buf_of(data, bytes), sm, how, e);
		break;
	case KBN_KIND_PTX: rc = compile(&result, image, data, bytes, sm, how, e); break;
	default:
		rc = err_set(e, ERR_FORMAT, -1,
			     "the stored image is of a kind that holds no machine code");
		break;
	}
	free(data);
	if (rc == 0)
		*c = result;
	return rc;
}

void code_close(struct code *c)
{
	cubin_close(&c->cubin);
	free(c->bytes);
	*c = (struct code){0};
}

/*
 * Threads that launch bounds allow; 0 = no bounds. A block size that the kernel requires (.reqntid) is none: the
 * driver reports what registers allow for such kernels, 1,024 for those that Triton makes for 128.
 */
static int64_t bound_of(const struct cubin_function *f)
{
	const uint32_t *d = f->max_threads;

	return d[0] ? (int64_t)d[0] * (d[1] ? d[1] : 1) * (d[2] ? d[2] : 1) : 0;
}

enum code_match code_confirm(const struct session_kernel *k, const struct cubin *c,
			     const struct cubin_function *f, char text[160])
{
	const struct {
		const char *what;
		int64_t driver, code; /* driver < 0 = unknown */
		bool at_most;         /* the driver may say less: registers bound the threads too */
	} facts[] = {
		{"registers", k->registers, f->registers, false},
		{"static shared memory", k->static_smem_bytes, f->static_smem_bytes, false},
		{"binary version", k->binary_version, c->sm, false},
		{"PTX version", c->virtual_sm ? k->ptx_version : -1, c->virtual_sm, false},
		{"threads per block", bound_of(f) ? k->max_threads : -1, bound_of(f), true},
	};
	unsigned compared = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (facts[i].driver < 0)
			continue;
		compared++;
		if (facts[i].at_most ? facts[i].driver <= facts[i].code
				     : facts[i].driver == facts[i].code)
			continue;
		snprintf(text, 160, "%s: driver %" PRId64 ", code %" PRId64, facts[i].what,
			 facts[i].driver, facts[i].code);
		return CODE_DIFFERS;
	}
	snprintf(text, 160, "%u attributes compared", compared);
	return compared ? CODE_MATCHES : CODE_UNCHECKED;
}
