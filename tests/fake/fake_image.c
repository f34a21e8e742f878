/*
 * fake_image.c - reads code images the way a driver does: which kernels, with which resources.
 *
 * Takes a cubin, a fat binary (wrapper or container, stored entries only) or PTX text. An
 * independent reading of the formats: shares no code with the recorder or the analyzer, so that an
 * error in those is seen. Trusts its input, which tests make.
 */
#include "fake_cuda.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRAPPER_MAGIC   0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u
#define ENTRY_PTX       1
#define ENTRY_CUBIN     2
#define FLAG_A          0x100000u
#define FLAG_F          0x200000u
#define FLAG_PACKED     0xa000u /* LZ4 or zstd */

#define INFO_REGCOUNT    0x2f
#define INFO_FRAME_SIZE  0x11
#define INFO_MAX_THREADS 0x05
#define INFO_REQNTID     0x10
#define INFO_PARAM       0x17
#define INFO_PARAM_V2    0x45
#define INFO_PARAM_BYTES 0x19
#define INFO_CLUSTER     0x3d

#define NVINFO_TYPE 0x70000000u

static uint16_t u16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const unsigned char *p)
{
	return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
	return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

/* "…_20us", "…_600ns": that long; "hang…" never ends; else 1 to 50 us by name. */
uint64_t fake_duration(const char *name)
{
	const char *option = fake_option("FAKE_DURATION_NS");
	uint64_t hash = 1469598103934665603ull;

	if (strstr(name, "hang"))
		return UINT64_MAX;
	if (option)
		return strtoull(option, NULL, 10);
	for (const char *p = name; *p; p++) {
		char *end;
		unsigned long n;

		hash = (hash ^ (unsigned char)*p) * 1099511628211ull;
		if (*p != '_' || p[1] < '0' || p[1] > '9')
			continue;
		n = strtoul(p + 1, &end, 10);
		if (strncmp(end, "us", 2) == 0)
			return n * 1000;
		if (strncmp(end, "ns", 2) == 0)
			return n;
	}
	return 1000 + hash % 49000;
}

static struct fake_entry *add_entry(struct fake_image *image, const char *name, size_t length)
{
	struct fake_entry *e;

	image->entry = realloc(image->entry, (image->entries + 1) * sizeof(*e));
	e = &image->entry[image->entries++];
	*e = (struct fake_entry){
		.name = strndup(name, length), .registers = 32, .max_threads = 1024};
	e->duration_ns = fake_duration(e->name);
	e->counter = fake_count_row(e->name);
	return e;
}

static void add_param(struct fake_entry *e, uint32_t index, uint32_t offset, uint32_t bytes)
{
	if (index >= e->param_count) {
		e->params = realloc(e->params, (index + 1) * sizeof(*e->params));
		memset(e->params + e->param_count, 0,
		       (index + 1 - e->param_count) * sizeof(*e->params));
		e->param_count = index + 1;
	}
	e->params[index] = (struct fake_param){offset, bytes};
	if (offset + bytes > e->param_bytes)
		e->param_bytes = offset + bytes;
}

struct fake_entry *fake_image_entry(struct fake_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->entries; i++)
		if (strcmp(image->entry[i].name, name) == 0)
			return &image->entry[i];
	return NULL;
}

void fake_image_free(struct fake_image *image)
{
	/* Entries stay: functions and graph nodes of a driver outlive little, but tests may look. */
	memset(image, 0, sizeof(*image));
}

/* ---- cubin ---- */

struct elf {
	const unsigned char *at;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	const char *names;
};

static const char *section_name(const struct elf *e, int i)
{
	return e->names + e->sections[i].sh_name;
}

/* Walk the records of one .nv.info section; `visit` gets code, 16-bit value and payload. */
static void walk_info(const struct elf *e, int section,
		      void (*visit)(void *, int, uint16_t, const unsigned char *), void *user)
{
	const unsigned char *p = e->at + e->sections[section].sh_offset;
	const unsigned char *end = p + e->sections[section].sh_size;

	while (p + 4 <= end) {
		int format = p[0], code = p[1];
		uint16_t value = u16(p + 2);

		visit(user, code, value, p + 4);
		p += 4 + (format == 4 ? value : 0);
	}
}

static void kernel_info(void *user, int code, uint16_t value, const unsigned char *payload)
{
	struct fake_entry *e = user;
	uint32_t n;

	switch (code) {
	case INFO_PARAM:
		add_param(e, u16(payload + 4), u16(payload + 6), u32(payload + 8) >> 18);
		break;
	case INFO_PARAM_V2:
		add_param(e, u16(payload + 4), u16(payload + 6), u32(payload + 8) & 0xffff);
		break;
	case INFO_MAX_THREADS:
	case INFO_REQNTID:
		n = u32(payload) * u32(payload + 4) * u32(payload + 8);
		if ((int)n < e->max_threads)
			e->max_threads = (int)n;
		break;
	case INFO_CLUSTER:
		for (int i = 0; i < 3; i++)
			e->cluster[i] = (int)u32(payload + 4 * i);
		break;
	case INFO_PARAM_BYTES: e->param_bytes = value; break;
	}
}

struct by_symbol {
	struct fake_entry *entry;
	uint32_t symbol;
};

static void module_info(void *user, int code, uint16_t value, const unsigned char *payload)
{
	struct by_symbol *s = user;

	(void)value;
	if ((code != INFO_REGCOUNT && code != INFO_FRAME_SIZE) || u32(payload) != s->symbol)
		return;
	if (code == INFO_REGCOUNT)
		s->entry->registers = (int)u32(payload + 4);
	else
		s->entry->local_bytes = (int)u32(payload + 4);
}

/* The resources of one kernel, gathered over all sections. */
static void read_kernel(const struct elf *e, struct fake_entry *k, uint32_t symbol, bool new_abi,
			int sm)
{
	char name[512];

	for (int i = 0; i < e->head->e_shnum; i++) {
		const Elf64_Shdr *s = &e->sections[i];
		const char *n = section_name(e, i);

		if (s->sh_type == NVINFO_TYPE && strcmp(n, ".nv.info") == 0) {
			struct by_symbol by = {k, symbol};

			walk_info(e, i, module_info, &by);
		}
		snprintf(name, sizeof(name), ".nv.info.%s", k->name);
		if (s->sh_type == NVINFO_TYPE && strcmp(n, name) == 0)
			walk_info(e, i, kernel_info, k);
		snprintf(name, sizeof(name), ".nv.shared.%s", k->name);
		if (strcmp(n, name) == 0)
			k->static_smem_bytes = (int)s->sh_size - (new_abi && sm >= 90 ? 1024 : 0);
		if (strcmp(n, ".nv.constant3") == 0)
			k->const_bytes = (int)s->sh_size;
	}
	k->params_known = true;
}

static int read_cubin(const unsigned char *at, struct fake_image *out)
{
	struct elf e = {.at = at, .head = (const void *)at};
	bool new_abi = at[EI_OSABI] == 0x41;

	if (e.head->e_machine != 190)
		return 200;
	out->sm = new_abi ? (int)(e.head->e_flags >> 8 & 0xffff) : (int)(e.head->e_flags & 0xff);
	e.sections = (const void *)(at + e.head->e_shoff);
	e.names = (const char *)at + e.sections[e.head->e_shstrndx].sh_offset;
	for (int i = 0; i < e.head->e_shnum; i++) {
		const Elf64_Shdr *s = &e.sections[i];
		const Elf64_Sym *symbols = (const void *)(at + s->sh_offset);
		const char *strings;

		if (s->sh_type != SHT_SYMTAB || strcmp(section_name(&e, i), ".symtab") != 0)
			continue;
		strings = (const char *)at + e.sections[s->sh_link].sh_offset;
		for (uint32_t k = 0; k < s->sh_size / sizeof(*symbols); k++) {
			const char *name = strings + symbols[k].st_name;

			if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC &&
			    symbols[k].st_other & 0x10)
				read_kernel(&e, add_entry(out, name, strlen(name)), k, new_abi,
					    out->sm);
		}
	}
	return 0;
}

/* ---- PTX ---- */

static uint32_t ptx_type_bytes(const char *type)
{
	static const struct {
		const char *name;
		uint32_t bytes;
	} types[] = {
		{".u8", 1},  {".s8", 1},  {".b8", 1},  {".pred", 1}, {".u16", 2}, {".s16", 2},
		{".b16", 2}, {".f16", 2}, {".u32", 4}, {".s32", 4},  {".b32", 4}, {".f32", 4},
		{".u64", 8}, {".s64", 8}, {".b64", 8}, {".f64", 8},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strncmp(type, types[i].name, strlen(types[i].name)) == 0)
			return types[i].bytes;
	return 0;
}

/* ".param .align 8 .b8 name[24]" or ".param .u64 name": size and alignment. */
static const char *ptx_param(const char *p, const char *end, struct fake_entry *e, uint32_t *offset)
{
	uint32_t align = 0, bytes = 0;
	const char *stop = p;
	const char *bracket;

	while (stop < end && *stop != ',')
		stop++;
	for (const char *q = p + 6; q < stop; q++) {
		if (*q != '.')
			continue;
		if (strncmp(q, ".align", 6) == 0)
			align = (uint32_t)strtoul(q + 6, NULL, 10);
		else if (!bytes)
			bytes = ptx_type_bytes(q);
	}
	align = align ? align : bytes;
	bracket = memchr(p, '[', (size_t)(stop - p));
	if (bracket)
		bytes *= (uint32_t)strtoul(bracket + 1, NULL, 10);
	if (align)
		*offset = (*offset + align - 1) / align * align;
	add_param(e, e->param_count, *offset, bytes);
	*offset += bytes;
	return stop;
}

static int read_ptx(const char *text, struct fake_image *out)
{
	const char *target = strstr(text, ".target");

	if (!strstr(text, ".version") || !target)
		return 218;
	target = strstr(target, "sm_");
	out->sm = target ? atoi(target + 3) : 0;
	out->was_ptx = true;
	for (const char *p = strstr(text, ".entry"); p; p = strstr(p, ".entry")) {
		const char *name = p + 6 + strspn(p + 6, " \t\n");
		size_t length = strcspn(name, "( \t\n{");
		const char *open = name + length + strspn(name + length, " \t\n");
		const char *close = *open == '(' ? strchr(open, ')') : NULL;
		struct fake_entry *e = add_entry(out, name, length);
		uint32_t offset = 0;

		for (const char *q = close ? open : NULL; q && q < close;) {
			if (strncmp(q, ".param", 6) == 0)
				q = ptx_param(q, close, e, &offset);
			else
				q++;
		}
		e->params_known = true;
		p = name + length;
	}
	return 0;
}

/* ---- fat binaries ---- */

/* How good an entry is for a device; higher wins, 0 = not usable. */
static uint32_t rank(const unsigned char *entry, int sm)
{
	int kind = u16(entry), arch = (int)u32(entry + 28);
	uint64_t flags = u64(entry + 40);
	bool same_major = arch / 10 == sm / 10;

	if ((flags & FLAG_A && arch != sm) || (flags & FLAG_F && !same_major) || arch > sm)
		return 0;
	if (kind == ENTRY_CUBIN)
		return same_major ? (uint32_t)(100000 + arch * 4 +
					       (flags & FLAG_A   ? 2
						: flags & FLAG_F ? 1
								 : 0))
				  : 0;
	return kind == ENTRY_PTX ? (uint32_t)(1000 + arch * 4 + !!(flags & FLAG_A)) : 0;
}

static int read_container(const unsigned char *at, int sm, struct fake_image *out)
{
	const unsigned char *end = at + 16 + u64(at + 8), *best = NULL, *payload;
	uint32_t best_rank = 0;

	for (const unsigned char *p = at + u16(at + 6); p + 64 <= end;
	     p += u32(p + 4) + u64(p + 8)) {
		uint32_t r = rank(p, sm);

		if (r > best_rank) {
			best_rank = r;
			best = p;
		}
	}
	if (!best)
		return 209;
	payload = best + u32(best + 4);
	out->sm = (int)u32(best + 28);
	if (u64(best + 40) & FLAG_PACKED) {
		out->any_name = true;
		return 0;
	}
	return u16(best) == ENTRY_CUBIN ? read_cubin(payload, out)
					: read_ptx((const char *)payload, out);
}

int fake_image_read(const void *data, int sm, struct fake_image *out)
{
	const unsigned char *at = data;
	int result;

	memset(out, 0, sizeof(*out));
	if (!data)
		return 1;
	if (memcmp(at, ELFMAG, 4) == 0)
		result = read_cubin(at, out);
	else if (u32(at) == WRAPPER_MAGIC)
		return fake_image_read((const void *)(uintptr_t)u64(at + 8), sm, out);
	else if (u32(at) == CONTAINER_MAGIC)
		result = read_container(at, sm, out);
	else
		result = read_ptx((const char *)at, out);
	/* A cubin runs on its own major only, on no older minor. */
	if (!result && !out->was_ptx && (out->sm / 10 != sm / 10 || out->sm > sm))
		result = 209;
	return result;
}

int fake_image_read_file(const char *path, int sm, struct fake_image *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *copy;
	ssize_t n;

	if (fd < 0)
		return 301;
	if (fstat(fd, &st) != 0 || !(copy = calloc(1, (size_t)st.st_size + 1))) {
		close(fd);
		return 304;
	}
	n = read(fd, copy, (size_t)st.st_size);
	close(fd);
	/* The copy stays: entry names are taken from it once, tests load few files. */
	return n == st.st_size ? fake_image_read(copy, sm, out) : 304;
}
