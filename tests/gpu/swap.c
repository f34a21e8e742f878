/*
 * swap.c - takes the recorder out of a running program and puts it back, for comparisons within one
 * process. Every pointer to a function that libkbn.so exports, wherever a library or the program
 * keeps it in writable data, is exchanged for the driver's function of that name. Loaded with dlopen
 * by the checks; call swap_find once everything that will be used has been used.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct library {
	ElfW(Addr) base, low, high;
	const ElfW(Sym) * symbols;
	const char *names;
	size_t n;
};

struct place {
	void **at;
	void *wrapper, *driver;
};

static struct library kbn, cuda;
static struct place *places;
static int place_n;

/* Symbols are counted by the section header's absence of one: the hash table knows the last. */
static size_t symbols_of(const uint32_t *hash)
{
	const uint32_t buckets = hash[0], first = hash[1], words = hash[2];
	const uint32_t *bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t last = 0;

	for (uint32_t i = 0; i < buckets; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static void look_into(const struct dl_phdr_info *info, struct library *l)
{
	const ElfW(Dyn) *d = NULL;

	l->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(l->base + p->p_vaddr);
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			l->low = l->base + p->p_vaddr;
			l->high = l->low + p->p_memsz;
		}
	}
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			l->symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			l->names = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			l->n = symbols_of((const uint32_t *)d->d_un.d_ptr);
	}
}

static const char *name_at(const struct library *l, ElfW(Addr) address)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->symbols[i].st_shndx != SHN_UNDEF &&
		    l->base + l->symbols[i].st_value == address &&
		    !strncmp(l->names + l->symbols[i].st_name, "cu", 2))
			return l->names + l->symbols[i].st_name;
	return NULL;
}

static void *address_of(const struct library *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->symbols[i].st_shndx != SHN_UNDEF &&
		    !strcmp(l->names + l->symbols[i].st_name, name))
			return (void *)(l->base + l->symbols[i].st_value);
	return NULL;
}

static void examine(void **at)
{
	const ElfW(Addr) value = (ElfW(Addr)) * at;
	const char *name;
	void *driver;

	if (value < kbn.low || value >= kbn.high)
		return;
	name = name_at(&kbn, value);
	driver = name ? address_of(&cuda, name) : NULL;
	if (!driver)
		return;
	places = realloc(places, (size_t)(place_n + 1) * sizeof(*places));
	places[place_n++] = (struct place){at, *at, driver};
	if (getenv("SWAP_LIST"))
		fprintf(stderr, "%s\n", name);
}

static int find_libraries(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (strstr(info->dlpi_name, "libkbn.so"))
		look_into(info, &kbn);
	else if (strstr(info->dlpi_name, "libcuda.so"))
		look_into(info, &cuda);
	return 0;
}

static int search(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (info->dlpi_addr == kbn.base || info->dlpi_addr == cuda.base)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) from = info->dlpi_addr + p->p_vaddr, end = from + p->p_memsz;
		ElfW(Addr) relro = 0, relro_end = 0;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		for (int j = 0; j < info->dlpi_phnum; j++)
			if (info->dlpi_phdr[j].p_type == PT_GNU_RELRO) {
				relro = info->dlpi_addr + info->dlpi_phdr[j].p_vaddr;
				relro_end = (relro + info->dlpi_phdr[j].p_memsz + 4095) &
					    ~(ElfW(Addr))4095;
			}
		for (from = (from + 7) & ~(ElfW(Addr))7; from + 8 <= end; from += 8)
			if (from < relro || from >= relro_end)
				examine((void **)from);
	}
	return 0;
}

/* Number of pointers found; 0 when the recorder or the driver is not loaded. */
int swap_find(void)
{
	dl_iterate_phdr(find_libraries, NULL);
	if (kbn.n && cuda.n)
		dl_iterate_phdr(search, NULL);
	return place_n;
}

void swap_to(int bare)
{
	for (int i = 0; i < place_n; i++)
		__atomic_store_n(places[i].at, bare ? places[i].driver : places[i].wrapper,
				 __ATOMIC_RELEASE);
}

/* The driver's own function of that name, past every hook. NULL when it has none. */
void *swap_driver(const char *name)
{
	dl_iterate_phdr(find_libraries, NULL);
	return cuda.n ? address_of(&cuda, name) : NULL;
}
