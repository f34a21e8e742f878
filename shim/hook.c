/*
 * hook.c - the table of hooks, the pointers behind it, and the search for the driver.
 *
 * Input: the list of loaded objects and their symbol tables, read directly. Asking dlsym would
 * overwrite the thread's dlerror text for every name an older driver lacks, could allocate, and
 * could land in another interposer. Output: real, kbn_driver. Leaves deciding to dlsym.c.
 */
#include "hook.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>

struct kbn_real real;
struct kbn_real kbn_driver;
_Atomic bool kbn_resolved;

const struct kbn_hook kbn_hooks[] = {
#define KBN_HOOK(symbol, base, version, abi, wrapper) \
	{#symbol,                                     \
	 #base,                                       \
	 version,                                     \
	 KBN_ABI_##abi,                               \
	 KBN_GROUP_##wrapper,                         \
	 (void *)symbol,                              \
	 offsetof(struct kbn_real, symbol)},
#include "hooks.def"
#undef KBN_HOOK
};
const unsigned kbn_hook_count = sizeof(kbn_hooks) / sizeof(kbn_hooks[0]);

static const struct {
	const char *symbol;
	size_t slot;
} calls[] = {
#define KBN_CALL(symbol) {#symbol, offsetof(struct kbn_real, symbol)},
#include "calls.def"
#undef KBN_CALL
};

/* String functions of our own: libc's are intercepted by sanitizers and may not be ready yet. */
static int compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

/* ------------------------------------------------------------------------ look-ups in the table */

const struct kbn_hook *kbn_hook_find(const char *symbol)
{
	unsigned low = 0, high = kbn_hook_count;

	while (low < high) {
		unsigned mid = (low + high) / 2;
		int c = compare(symbol, kbn_hooks[mid].symbol);

		if (c == 0)
			return &kbn_hooks[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static void **slot_of(struct kbn_real *table, size_t slot)
{
	return (void **)((char *)table + slot);
}

void *kbn_hook_real(const struct kbn_hook *h)
{
	return __atomic_load_n(slot_of(&real, h->slot), __ATOMIC_RELAXED);
}

const struct kbn_hook *kbn_hook_of_pointer(const void *p, const char *base)
{
	const struct kbn_hook *found = NULL;

	for (unsigned i = 0; p && i < kbn_hook_count; i++) {
		if (kbn_hook_real(&kbn_hooks[i]) != p)
			continue;
		if (!compare(kbn_hooks[i].base, base))
			return &kbn_hooks[i];
		if (!found)
			found = &kbn_hooks[i];
	}
	return found;
}

const struct kbn_hook *kbn_hook_of_version(const char *base, int version, cuuint64_t flags)
{
	const bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	const struct kbn_hook *best = NULL;

	for (unsigned i = 0; i < kbn_hook_count; i++) {
		const struct kbn_hook *h = &kbn_hooks[i];

		if (h->version > version || compare(h->base, base))
			continue;
		if (h->abi != KBN_ABI_PLAIN && !per_thread)
			continue;
		/* The newest ABI wins; within it the per-thread form, which stands as its own row. */
		if (!best || h->version > best->version ||
		    (h->version == best->version && h->abi != KBN_ABI_PLAIN))
			best = h;
	}
	return best;
}

bool kbn_hook_adopt(const struct kbn_hook *h, void *p)
{
	void **slot = slot_of(&real, h->slot);
	void *driver = *slot_of(&kbn_driver, h->slot);
	void *now = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if (now == p)
		return true;
	/* Only the first stranger is taken: a later one belongs to a second driver. */
	return (!now || now == driver) &&
	       __atomic_compare_exchange_n(slot, &now, p, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------------ symbol tables */

struct object {
	const char *base; /* load bias */
	const char *strings;
	const ElfW(Sym) * symbols;
	const uint32_t *gnu_hash;
	const ElfW(Word) * hash;
	const char *soname;
};

/* glibc relocates these pointers in place, other loaders and the vDSO do not. */
static const void *pointer_of(ElfW(Addr) bias, ElfW(Addr) value)
{
	return (const void *)(value >= bias ? value : value + bias);
}

static bool object_open(struct object *o, ElfW(Addr) bias, const ElfW(Dyn) * dynamic)
{
	ElfW(Xword) soname = 0;
	bool named = false;

	*o = (struct object){.base = (const char *)bias};
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *p = pointer_of(bias, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag) {
		case DT_STRTAB: o->strings = p; break;
		case DT_SYMTAB: o->symbols = p; break;
		case DT_GNU_HASH: o->gnu_hash = p; break;
		case DT_HASH: o->hash = p; break;
		case DT_SONAME:
			soname = dynamic->d_un.d_val;
			named = true;
			break;
		default: break;
		}
	}
	if (!o->strings || !o->symbols)
		return false;
	if (named)
		o->soname = o->strings + soname;
	return true;
}

static void *symbol_at(const struct object *o, uint32_t index, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[index];

	if (s->st_shndx == SHN_UNDEF || s->st_value == 0 || ELF64_ST_TYPE(s->st_info) > STT_FUNC ||
	    compare(o->strings + s->st_name, name))
		return NULL;
	return (void *)(o->base + s->st_value);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static uint32_t sysv_hash_of(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

static void *find_gnu(const struct object *o, const char *name)
{
	const uint32_t buckets = o->gnu_hash[0], first = o->gnu_hash[1];
	const uint32_t *bucket = o->gnu_hash + 4 + o->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	const uint32_t h = gnu_hash_of(name);

	for (uint32_t i = buckets ? bucket[h % buckets] : 0; i >= first && i; i++) {
		void *p = (chain[i - first] | 1) == (h | 1) ? symbol_at(o, i, name) : NULL;

		if (p || chain[i - first] & 1)
			return p;
	}
	return NULL;
}

static void *find_sysv(const struct object *o, const char *name)
{
	const uint32_t buckets = o->hash[0];
	const ElfW(Word) *bucket = o->hash + 2, *chain = bucket + buckets;

	for (uint32_t i = buckets ? bucket[sysv_hash_of(name) % buckets] : 0; i; i = chain[i]) {
		void *p = symbol_at(o, i, name);

		if (p)
			return p;
	}
	return NULL;
}

static void *object_find(const struct object *o, const char *name)
{
	if (o->gnu_hash)
		return find_gnu(o, name);
	return o->hash ? find_sysv(o, name) : NULL;
}

/* ------------------------------------------------------------------------------- the objects */

#define MAX_INTERPOSERS 8

/* What a walk over the loaded objects found. */
struct objects {
	struct object driver, libc, interposer[MAX_INTERPOSERS];
	unsigned interposers;
	bool has_driver, has_libc, past_us;
};

static bool is_libc(const char *soname)
{
	return soname && (!compare(soname, "libc.so.6") || !compare(soname, "libdl.so.2"));
}

static bool defines_hooked(const struct object *o)
{
	for (unsigned i = 0; i < kbn_hook_count; i++)
		if (object_find(o, kbn_hooks[i].symbol))
			return true;
	return false;
}

/*
 * Objects between us and libc are preloads and libraries of the program itself: what they define
 * stands in front of the driver for a directly linked program. Behind libc there may be plug-ins
 * with local symbols, which nobody reaches by name.
 */
static void object_add(struct objects *all, const struct object *o, bool is_us)
{
	if (is_us) {
		all->past_us = true;
	} else if (is_libc(o->soname)) {
		/* On old systems dlsym lives in libdl, before or behind libc. */
		if (!all->has_libc || object_find(o, "dlsym")) {
			all->libc = *o;
			all->has_libc = true;
		}
	} else if (o->soname && !compare(o->soname, "libcuda.so.1")) {
		if (!all->has_driver) {
			all->driver = *o;
			all->has_driver = true;
		}
	} else if (all->past_us && !all->has_libc && all->interposers < MAX_INTERPOSERS &&
		   defines_hooked(o)) {
		all->interposer[all->interposers++] = *o;
	}
}

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object o;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_DYNAMIC)
			continue;
		if (object_open(&o, info->dlpi_addr,
				(const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr)))
			object_add(data, &o, contains(info, (uintptr_t)kbn_hooks));
	}
	return 0;
}

/* ---------------------------------------------------------------------------------- resolving */

static const char *_Atomic driver_base;

static void *chained(const struct objects *all, const char *name)
{
	for (unsigned i = 0; i < all->interposers; i++) {
		void *p = object_find(&all->interposer[i], name);

		if (p)
			return p;
	}
	return NULL;
}

static void fill(const struct objects *all, const char *symbol, size_t slot, bool hooked)
{
	void *driver = object_find(&all->driver, symbol);
	void *front = hooked ? chained(all, symbol) : NULL;

	__atomic_store_n(slot_of(&kbn_driver, slot), driver, __ATOMIC_RELAXED);
	__atomic_store_n(slot_of(&real, slot), front ? front : driver, __ATOMIC_RELAXED);
}

static bool resolve(bool again)
{
	struct objects all = {0};

	dl_iterate_phdr(visit, &all);
	if (!all.has_driver)
		return false;
	if (again && all.driver.base == atomic_load(&driver_base))
		return true;
	/* Two threads may do this at once: both store the same values. */
	for (unsigned i = 0; i < kbn_hook_count; i++)
		fill(&all, kbn_hooks[i].symbol, kbn_hooks[i].slot, true);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		fill(&all, calls[i].symbol, calls[i].slot, false);
	atomic_store(&driver_base, all.driver.base);
	atomic_store_explicit(&kbn_resolved, true, memory_order_release);
	return true;
}

bool kbn_resolve(void)
{
	return resolve(false);
}

bool kbn_resolve_again(void)
{
	return resolve(true);
}

bool kbn_is_driver_handle(const void *handle)
{
	/* A handle of glibc is the link_map itself; asking dlinfo could allocate. */
	const struct link_map *m = handle;

	return m && (const char *)m->l_addr == atomic_load(&driver_base);
}

bool kbn_copies_wanted(void)
{
	static _Atomic int wanted; /* 0 = not asked yet, 1 = no, 2 = yes */
	int w = atomic_load_explicit(&wanted, memory_order_relaxed);

	if (!w) {
		const char *v = secure_getenv("KBN_COPIES");

		w = v && (!compare(v, "on") || !compare(v, "1")) ? 2 : 1;
		atomic_store_explicit(&wanted, w, memory_order_relaxed);
	}
	return w == 2;
}

void *kbn_driver_symbol(const char *symbol)
{
	struct objects all = {0};

	dl_iterate_phdr(visit, &all);
	return all.has_driver ? object_find(&all.driver, symbol) : NULL;
}

/* ----------------------------------------------------------------------- the next dlsym, dlvsym */

/*
 * These run in the first dlsym of the process, perhaps from an allocator that is still starting:
 * so the loader's list is walked without its lock, only over the objects the program started with,
 * which never go away.
 */
extern struct r_debug _r_debug __attribute__((weak));

static bool find_libc(struct object *libc)
{
	struct object o;

	if (!&_r_debug)
		return false;
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		if (object_open(&o, m->l_addr, m->l_ld) && is_libc(o.soname) &&
		    object_find(&o, "dlsym")) {
			*libc = o;
			return true;
		}
	return false;
}

/*
 * The first of the objects the program started with that is a copy of this library, by its name and
 * by what it defines. Libraries behind libc were not preloaded.
 */
static bool find_first_copy(struct object *o)
{
	for (const struct link_map *m = &_r_debug ? _r_debug.r_map : NULL; m; m = m->l_next) {
		if (!object_open(o, m->l_addr, m->l_ld))
			continue;
		if (o->soname && !compare(o->soname, "libkbn.so"))
			return true;
		if (is_libc(o->soname))
			return false;
	}
	return false;
}

bool kbn_preloaded(void)
{
	struct object o;

	return find_first_copy(&o);
}

bool kbn_is_first(void)
{
	struct object o;

	return !find_first_copy(&o) || object_find(&o, kbn_hooks[0].symbol) == kbn_hooks[0].wrapper;
}

kbn_dlsym_fn kbn_next_dlsym(void)
{
	static _Atomic(kbn_dlsym_fn) next;
	kbn_dlsym_fn f = atomic_load_explicit(&next, memory_order_relaxed);
	struct object libc;
	void *volatile found;

	if (f || !find_libc(&libc))
		return f;
	f = (kbn_dlsym_fn)object_find(&libc, "dlsym");
	/*
	 * RTLD_NEXT is what comes behind the caller, so this must stay a call of ours: as a tail
	 * jump it would be the call of whoever called us. Hence the volatile.
	 */
	found = f(RTLD_NEXT, "dlsym");
	if (found)
		f = (kbn_dlsym_fn)found;
	atomic_store_explicit(&next, f, memory_order_relaxed);
	return f;
}

kbn_dlvsym_fn kbn_next_dlvsym(void)
{
	static _Atomic(kbn_dlvsym_fn) next;
	kbn_dlvsym_fn f = atomic_load_explicit(&next, memory_order_relaxed);
	struct object libc;
	void *volatile found;

	if (f || !find_libc(&libc))
		return f;
	f = (kbn_dlvsym_fn)object_find(&libc, "dlvsym");
	found = ((kbn_dlsym_fn)object_find(&libc, "dlsym"))(RTLD_NEXT, "dlvsym");
	if (found)
		f = (kbn_dlvsym_fn)found;
	atomic_store_explicit(&next, f, memory_order_relaxed);
	return f;
}
