/*
 * render.c - the list of formats, and files that appear whole or not at all.
 */
#include "render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct render_format *const formats[] = {&render_text, &render_md, &render_json,
						      &render_csv};

const struct render_format *render_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

int render_file(const struct render_format *f, const struct report *r,
		const struct render_options *o, const char *path, struct err *e)
{
	char *temporary = NULL;
	FILE *out;
	int rc = -1;

	if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	out = fopen(temporary, "we");
	if (!out) {
		err_set(e, ERR_IO, -1, "cannot write %s: %s", path, strerror(errno));
		goto out;
	}
	rc = f->report(r, o, out, e);
	if (fclose(out) != 0 && rc == 0)
		rc = err_set(e, ERR_IO, -1, "cannot write %s: %s", path, strerror(errno));
	if (rc == 0 && rename(temporary, path) != 0)
		rc = err_set(e, ERR_IO, -1, "cannot write %s: %s", path, strerror(errno));
	if (rc != 0)
		unlink(temporary);
out:
	free(temporary);
	return rc;
}

/* At most `columns` characters of `s`, with ".." at the end when it was cut; returns the bytes. */
static size_t put_cut(char *out, const char *s, size_t columns)
{
	size_t have = text_columns(s), take = have <= columns ? have : columns - 2, n = 0, at = 0;

	for (; s[at]; at++) {
		if ((s[at] & 0xc0) != 0x80 && n++ == take)
			break;
		out[at] = s[at];
	}
	if (have > columns) {
		out[at++] = '.';
		out[at++] = '.';
	}
	out[at] = '\0';
	return at;
}

char *render_label(char out[RENDER_LABEL], const struct report_kernel *k, size_t columns)
{
	size_t name = text_columns(k->short_name), variant = text_columns(k->variant), half;

	if (columns > 100)
		columns = 100;
	half = columns / 2;
	if (name + variant > columns) {
		/* what one side does not need the other may have */
		if (variant > half)
			variant = name < columns - half ? columns - name : half;
		name = columns - variant;
	}
	put_cut(out + put_cut(out, k->short_name, name), k->variant, variant);
	return out;
}

size_t render_limits(const struct occupancy *o, struct render_limit rows[LIMIT_N])
{
	static const char *const resources[LIMIT_N] = {"registers", "shared memory", "warps",
						       "blocks",    "barriers",      "cluster"};
	const int64_t per_block[LIMIT_N] = {
		o->registers_per_block, o->smem_per_block, o->warps_per_block, 1, -1, -1};
	const int64_t per_sm[LIMIT_N] = {o->registers_per_sm,
					 o->smem_per_sm,
					 o->max_warps_per_sm,
					 o->max_blocks_per_sm,
					 -1,
					 -1};
	size_t n = 0;

	for (int i = 0; i < LIMIT_N; i++) {
		struct render_limit *row = &rows[n];
		int l = o->limits[i];

		if (i >= LIMIT_BARRIERS && l == OCCUPANCY_NO_LIMIT)
			continue;
		n++;
		row->resource = resources[i];
		row->is_limiter = i == o->limiter;
		if (i == LIMIT_SMEM) {
			text_bytes(row->per_block, l < 0 ? -1 : per_block[i]);
			text_bytes(row->per_sm, per_sm[i]);
		} else {
			text_int(row->per_block, per_block[i]);
			text_int(row->per_sm, per_sm[i]);
		}
		if (l == OCCUPANCY_NO_LIMIT)
			snprintf(row->blocks, sizeof(row->blocks), "no limit");
		else
			text_int(row->blocks, l);
	}
	return n;
}
