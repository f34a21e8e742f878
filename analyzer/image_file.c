/*
 * image_file.c - finds the device code of a file: members of a library, regions of a member, entries
 * of a region. Input: a mapped file, or bytes of any origin. Output: images one by one.
 * Leaves containers and unpacking to fatbin.c, and what is inside an image to cubin.c.
 */
#include "image_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cubin.h"
#include "elf.h"

#define LIBRARY_MAGIC "!<arch>\n"
#define THIN_MAGIC    "!<thin>\n"
#define MAGIC_BYTES   8u
#define MEMBER_BYTES  60u

/* How far to move from something that only began like a cubin. */
#define ELF_STEP 4u

/* Pages behind us are given back in pieces of this size. */
#define RELEASE_BYTES (16u << 20)

/* ---- errors */

/* "file: text" or "file(member): text"; always -1. */
static int in_file(const struct image_file *f, struct err *e)
{
	char text[sizeof(e->text)];

	if (!e)
		return -1;
	snprintf(text, sizeof(text), "%s", e->text);
	if (*f->member)
		return err_set(e, e->code, e->offset, "%s(%.60s): %s", err_path(f->path), f->member,
			       text);
	return err_set(e, e->code, e->offset, "%s: %s", err_path(f->path), text);
}

int image_fail(const struct image_file *f, const struct image *image, struct err *e)
{
	char text[sizeof(e->text)];

	if (!e)
		return -1;
	snprintf(text, sizeof(text), "%s", e->text);
	err_set(e, e->code, e->offset, "image %zu at %llu: %s", image->index,
		(unsigned long long)image->offset, text);
	return in_file(f, e);
}

/* ---- regions of a file or member */

static int add_region(struct image_file *f, struct buf data, int how, struct err *e)
{
	struct image_region *r = vec_add(&f->regions);

	if (!r)
		return err_set(e, ERR_MEMORY, (int64_t)data.origin,
			       "out of memory for the regions of a file");
	r->data = data;
	r->how = how;
	return 0;
}

/* What lies between two sections, from the first place where a container may begin. */
static int add_gap(struct image_file *f, const struct buf *part, uint64_t from, uint64_t to,
		   struct err *e)
{
	struct buf gap;

	from = (from + 7) / 8 * 8;
	if (from >= to || !buf_part(part, from, to - from, &gap))
		return 0;
	return add_region(f, gap, REGION_SCAN, e);
}

static bool is_fatbin_section(const struct elf_section *s)
{
	return !strcmp(s->name, ".nv_fatbin") || !strcmp(s->name, "__nv_relfatbin");
}

static int compare_regions(const void *va, const void *vb)
{
	const struct image_region *a = va, *b = vb;

	return (a->data.origin > b->data.origin) - (a->data.origin < b->data.origin);
}

/* The sections that must hold fat binaries; what is wrong with the table of sections is `pending`. */
static int find_sections(struct image_file *f, const struct buf *part, struct err *e)
{
	struct elf elf;

	if (elf_open(&elf, *part, &f->pending) < 0)
		return 0;
	for (uint32_t i = 1; i < elf.sections_n; i++) {
		struct elf_section s;

		if (elf_section_at(&elf, i, &s, &f->pending) < 0)
			return 0;
		if (!is_fatbin_section(&s))
			continue;
		if (s.is_cut)
			err_set(&f->pending, ERR_TRUNCATED, (int64_t)(part->origin + part->bytes),
				"section %s reaches past the end of the file", s.name);
		else if (s.data.bytes && add_region(f, s.data, REGION_CONTAINERS, e) < 0)
			return -1;
	}
	return 0;
}

/* A host file: its fat binary sections, and the rest of it between them. */
static int host_regions(struct image_file *f, const struct buf *part, struct err *e)
{
	uint64_t at = 0;
	size_t n;

	if (find_sections(f, part, e) < 0)
		return -1;
	n = f->regions.n;
	vec_sort(&f->regions, compare_regions);
	for (size_t i = 0; i < n; i++) {
		const struct buf *data = &f->regions.at[i].data;
		uint64_t from = data->origin - part->origin, to = from + data->bytes;

		/* Sections that overlap are not from a linker: what was read is not read again. */
		if (from < at) {
			buf_part(part, at, to > at ? to - at : 0, &f->regions.at[i].data);
			from = at;
		}
		if (add_gap(f, part, at, from, e) < 0)
			return -1;
		at = to > at ? to : at;
	}
	if (add_gap(f, part, at, part->bytes, e) < 0)
		return -1;
	vec_sort(&f->regions, compare_regions);
	return 0;
}

/* What kind of file this is, by its first bytes. ERR_FORMAT when it is none that has device code. */
static int find_regions(struct image_file *f, const struct buf *part, struct err *e)
{
	struct fatbin probe;

	f->regions.n = f->region = 0;
	f->is_walking = false;
	if (!elf_is(part)) {
		if (fatbin_open(&probe, *part, e) < 0)
			return -1;
		return add_region(f, *part, REGION_CONTAINERS, e);
	}
	if (elf_machine(part) == ELF_MACHINE_CUDA)
		return add_region(f, *part, REGION_CUBIN, e);
	return host_regions(f, part, e);
}

/* ---- members of a static library */

static uint64_t decimal(const char *text, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(text[i] - '0');
	return v;
}

/* The name: "name/", "/123" with an offset in the table of long names, or "#1/20" before the data. */
static void name_member(struct image_file *f, const char header[16], struct buf *data)
{
	const char *from = header;
	size_t n = 16;

	if (!strncmp(header, "#1/", 3)) {
		n = (size_t)decimal(header + 3, 13);
		n = n < data->bytes ? n : data->bytes;
		from = (const char *)data->data;
		buf_part(data, n, data->bytes - n, data);
	} else if (header[0] == '/' && header[1] >= '0' && header[1] <= '9') {
		struct buf name = f->long_names;

		buf_seek(&name, decimal(header + 1, 15));
		n = buf_left(&name);
		from = (const char *)buf_take(&name, n);
	}
	n = n < IMAGE_MEMBER_MAX - 1 ? n : IMAGE_MEMBER_MAX - 1;
	for (size_t i = 0; i < n; i++) {
		f->member[i] = from[i];
		if (!from[i] || from[i] == '\n')
			n = i;
	}
	while (n && f->member[n - 1] == ' ')
		n--;
	if (n && f->member[n - 1] == '/')
		n--;
	f->member[n] = '\0';
}

static bool begins(const struct buf *b, const char magic[MAGIC_BYTES])
{
	return b->bytes >= MAGIC_BYTES && !memcmp(b->data, magic, MAGIC_BYTES);
}

/* The next member that may have device code becomes the current one: 1, 0 at the end, -1. */
static int next_member(struct image_file *f, struct err *e)
{
	while (f->next_member < f->file.bytes) {
		uint64_t start = f->next_member, bytes;
		char header[MEMBER_BYTES];
		struct buf b = f->file, data;
		struct err not_code;

		*f->member = '\0';
		f->next_member = f->file.bytes;
		buf_seek(&b, start);
		buf_copy(&b, header, sizeof(header));
		if (!buf_ok(&b))
			return err_set(e, ERR_TRUNCATED, (int64_t)start,
				       "library ends within the header of a member");
		if (memcmp(header + 58, "`\n", 2))
			return err_set(e, ERR_CORRUPT, (int64_t)start,
				       "no header of a member where the library should have one");
		bytes = decimal(header + 48, 10);
		if (!buf_part(&f->file, start + MEMBER_BYTES, bytes, &data)) {
			buf_part(&f->file, b.at, buf_left(&b), &data);
			name_member(f, header, &data);
			return err_set(e, ERR_TRUNCATED, (int64_t)start,
				       "member of %llu bytes reaches past the end of the library",
				       (unsigned long long)bytes);
		}
		f->next_member = start + MEMBER_BYTES + bytes + bytes % 2;
		if (!strncmp(header, "// ", 3)) {
			f->long_names = data;
			continue;
		}
		name_member(f, header, &data);
		if (begins(&data, LIBRARY_MAGIC) || begins(&data, THIN_MAGIC))
			return err_set(e, ERR_VERSION, (int64_t)start,
				       "a library within a library is passed over");
		if (find_regions(f, &data, &not_code) == 0)
			return 1;
		if (not_code.code != ERR_FORMAT) {
			if (e)
				*e = not_code;
			return -1;
		}
	}
	return 0;
}

/* ---- images */

/* Pages of a mapped file that were passed need not stay in memory. */
static void release(struct image_file *f, uint64_t at)
{
	uint64_t behind = at / RELEASE_BYTES * RELEASE_BYTES;

	if (!f->map || behind <= f->released)
		return;
	madvise((char *)f->map + f->released, (size_t)(behind - f->released), MADV_DONTNEED);
	f->released = (size_t)behind;
}

static int cubin_entry(const struct buf *data, struct fatbin_entry *entry, char *suffix,
		       struct err *e)
{
	uint32_t sm;

	if (cubin_target(*data, &sm, suffix, e) < 0)
		return -1;
	*entry = (struct fatbin_entry){
		.offset = data->origin,
		.kind = FATBIN_CUBIN,
		.sm = sm,
		.is_arch_specific = *suffix == 'a',
		.is_family_specific = *suffix == 'f',
		.payload = *data,
		.bytes = data->bytes,
	};
	return 1;
}

/* Begin with region `region`: 1 when it is itself an image, 0 when it has to be walked through. */
static int enter_region(struct image_file *f, struct fatbin_entry *entry, char *suffix,
			struct err *e)
{
	const struct image_region *r = &f->regions.at[f->region++];

	release(f, r->data.origin);
	if (r->how == REGION_CUBIN)
		return cubin_entry(&r->data, entry, suffix, e);
	/* not fatbin_open: filling may come before the first container */
	f->walk = (struct fatbin){.data = r->data, .is_scan = r->how == REGION_SCAN};
	f->is_walking = true;
	return 0;
}

/*
 * A cubin that stands alone where a scan met an ELF file: the profilers' libraries have some. 1, or 0
 * when it is none: in a file of other things bytes that only look like one are no error.
 */
static int lone_cubin(struct image_file *f, struct fatbin_entry *entry, char *suffix)
{
	struct buf *walk = &f->walk.data, data;
	struct elf elf;

	if (buf_part(walk, walk->at, buf_left(walk), &data) &&
	    elf_machine(&data) == ELF_MACHINE_CUDA && elf_open(&elf, data, NULL) == 0 &&
	    buf_part(&data, 0, elf_extent(&elf), &data) && data.bytes &&
	    cubin_entry(&data, entry, suffix, NULL) > 0) {
		buf_seek(walk, walk->at + data.bytes);
		return 1;
	}
	buf_seek(walk, walk->at + ELF_STEP);
	return 0;
}

static int next_entry(struct image_file *f, struct fatbin_entry *entry, char *suffix, struct err *e)
{
	for (;;) {
		int rc;

		if (f->pending.code) {
			if (e)
				*e = f->pending;
			f->pending = (struct err){0};
			return -1;
		}
		if (f->is_walking) {
			rc = fatbin_next(&f->walk, entry, e);
			if (rc == FATBIN_MET_ELF) {
				rc = lone_cubin(f, entry, suffix);
				if (!rc)
					continue;
			}
			if (rc)
				return rc;
			f->is_walking = false;
		}
		if (f->region < f->regions.n) {
			rc = enter_region(f, entry, suffix, e);
			if (rc)
				return rc;
			continue;
		}
		if (!f->is_library)
			return 0;
		rc = next_member(f, e);
		if (rc != 1)
			return rc;
	}
}

int image_file_next(struct image_file *f, struct image *image, struct err *e)
{
	struct fatbin_entry entry;
	char suffix = 0;
	int rc = next_entry(f, &entry, &suffix, e);

	if (rc < 0)
		return in_file(f, e);
	if (!rc)
		return 0;
	release(f, entry.offset);
	if (entry.is_arch_specific || entry.is_family_specific)
		suffix = entry.is_arch_specific ? 'a' : 'f';
	*image = (struct image){
		.index = f->images++,
		.kind = entry.kind,
		.sm = entry.sm,
		.suffix = suffix,
		.offset = entry.offset,
		.bytes = entry.bytes,
		.member = f->member,
		.entry = entry,
	};
	return 1;
}

int image_bytes(struct image_file *f, const struct image *image, struct buf *out, struct err *e)
{
	return fatbin_view(&image->entry, &f->room, out, e) < 0 ? image_fail(f, image, e) : 0;
}

/* ---- open and close */

int image_file_of(struct image_file *f, struct buf file, const char *name, struct err *e)
{
	struct image_file result = {.path = name, .file = file};
	int rc = 0;

	if (begins(&file, THIN_MAGIC))
		rc = err_set(e, ERR_FORMAT, (int64_t)file.origin,
			     "a thin library: its members are files of their own");
	else if (begins(&file, LIBRARY_MAGIC)) {
		result.is_library = true;
		result.next_member = MAGIC_BYTES;
	} else {
		rc = find_regions(&result, &file, e);
		if (rc < 0 && e && e->code == ERR_FORMAT)
			err_set(e, ERR_FORMAT, (int64_t)file.origin,
				"neither a cubin, a fat binary, an ELF file nor a library of them");
	}
	if (rc < 0) {
		in_file(&result, e);
		vec_fini(&result.regions);
		return -1;
	}
	*f = result;
	return 0;
}

/* The content of the open file, mapped; *map stays NULL for an empty one. */
static int map_file(int fd, const char *path, void **map, size_t *bytes, struct err *e)
{
	struct stat st;

	*map = NULL;
	if (fstat(fd, &st) < 0)
		return err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_FORMAT, -1, "%s: not a regular file", err_path(path));
	*bytes = (size_t)st.st_size;
	if (!*bytes)
		return 0;
	*map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (*map == MAP_FAILED) {
		*map = NULL;
		return err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
	}
	madvise(*map, *bytes, MADV_SEQUENTIAL);
	return 0;
}

int image_file_open(struct image_file *f, const char *path, struct err *e)
{
	/* O_NONBLOCK: a pipe of that name must not keep us waiting */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image_file result;
	size_t bytes = 0;
	void *map;
	int rc;

	if (fd < 0)
		return err_set(e, ERR_IO, -1, "%s: %s", err_path(path), strerror(errno));
	rc = map_file(fd, path, &map, &bytes, e);
	close(fd);
	if (rc < 0)
		return -1;
	if (image_file_of(&result, buf_of(map, bytes), path, e) < 0) {
		if (map)
			munmap(map, bytes);
		return -1;
	}
	result.map = map;
	*f = result;
	return 0;
}

void image_file_close(struct image_file *f)
{
	if (f->map)
		munmap(f->map, f->file.bytes);
	vec_fini(&f->regions);
	free(f->room.data);
	*f = (struct image_file){0};
}
