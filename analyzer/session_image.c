/*
 * session_image.c - the code images of one process become images that are told apart by content.
 * Input: IMAGE and STORED records, the code directory beside the process directory. Output:
 * struct join. Leaves opening them to code.c.
 */
#include "session_join.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, -1, "out of memory while joining the recording");
}

/* Content is the identity of stored code; what was not stored is told apart by what is known of it. */
static uint32_t *image_slot(struct join *j, const struct session_image *i)
{
	static const uint8_t none[16];
	char key[1024];
	int n;

	if (memcmp(i->hash, none, sizeof(none)))
		return keymap_put(&j->image_of, j->arena, i->hash, sizeof(i->hash));
	n = snprintf(key, sizeof(key), "none %d %d %u %" PRIu64 " %.400s %.400s", (int)i->origin,
		     (int)i->kind, i->sm, i->bytes, i->file ? i->file : "",
		     i->why_missing ? i->why_missing : "");
	return keymap_put(&j->image_of, j->arena, key, (uint32_t)n);
}

static int find_stored(struct join_process *p, struct session_image *i, struct err *e)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/../" KBN_CODE_DIR "/", p->trace.dir) >
	    sizeof(path) - 40)
		return err_set(e, ERR_IO, -1, "%s: path too long", p->trace.dir);
	for (int k = 0; k < 16; k++)
		sprintf(path + strlen(path), "%02x", i->hash[k]);
	strcat(path, ".img");
	if (access(path, R_OK) < 0) {
		i->why_missing = "its file in the code directory is missing";
		return 0;
	}
	i->path = arena_string(p->join->arena, path, sizeof(path));
	return i->path ? 0 : no_memory(e);
}

int join_add_image(struct join_process *p, struct join_image *from, struct err *e)
{
	struct join *j = p->join;
	struct session_image i = {
		.origin = (enum kbn_image_origin)from->image.origin,
		.kind = (enum kbn_image_kind)from->image.kind,
		.sm = from->image.sm,
		.bytes = from->image.bytes,
	};
	uint32_t *index;

	if (from->path.bytes) {
		i.file = arena_string(j->arena, (const char *)from->path.data, from->path.bytes);
		if (!i.file)
			return no_memory(e);
	}
	i.jit_n = from->image.jit_options;
	i.jit = arena_array(j->arena, i.jit_n, sizeof(*i.jit));
	if (!i.jit)
		return no_memory(e);
	for (size_t k = 0; k < i.jit_n; k++) {
		i.jit[k].option = buf_u32(&from->jit);
		i.jit[k].value = buf_u32(&from->jit);
	}
	if (!from->has_stored) {
		i.why_missing = "the recording ended before it was stored";
	} else if (from->stored.stored_bytes) {
		memcpy(i.hash, from->stored.hash, sizeof(i.hash));
		i.stored_bytes = from->stored.stored_bytes;
		if (find_stored(p, &i, e) < 0)
			return -1;
	} else {
		i.why_missing = from->why.bytes
					? arena_string(j->arena, (const char *)from->why.data,
						       from->why.bytes)
					: "not stored";
		if (!i.why_missing)
			return no_memory(e);
	}
	index = image_slot(j, &i);
	if (!index)
		return no_memory(e);
	if (*index == KEYMAP_NONE) {
		struct session_image *added = vec_add(&j->images);

		if (!added)
			return no_memory(e);
		*added = i;
		*index = (uint32_t)j->images.n - 1;
	} else if (!j->images.at[*index].path && i.path) {
		j->images.at[*index].path = i.path;
		j->images.at[*index].why_missing = NULL;
	}
	from->index = *index;
	return 0;
}
