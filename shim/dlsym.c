/*
 * dlsym.c - the exported dlsym and dlvsym.
 *
 * glibc tells from the return address of a dlsym call what RTLD_NEXT and RTLD_DEFAULT mean, so a
 * wrapper in C would change the answer. Here a stub in assembly asks a chooser in C, and then either
 * returns the chooser's pointer or *jumps* to the next dlsym, which sees the program's own return
 * address. The chooser allocates nothing, takes no lock, calls nothing that a sanitizer intercepts,
 * and never looks up a name that the program did not ask for: that would change dlerror.
 */
#include <dlfcn.h>
#include <link.h>

#include "hook.h"
#include "state.h"

/* What the stub does: jump to `jump` with the caller's arguments, or return `value` when it is NULL. */
struct choice {
	void *value;
	void *jump;
};

/* `caller` is the return address of the program's call. */
struct choice kbn_choose_dlsym(void *handle, const char *name, const void *caller);
struct choice kbn_choose_dlvsym(void *handle, const char *name, const char *version,
				const void *caller);

#ifndef KBN_UNIT
/* clang-format off */
#if defined(__x86_64__)
#define ARGUMENT_3 "%rdx"
#define ARGUMENT_4 "%rcx" /* not an argument of either function, so it need not be kept */
#define STUB(name, chooser, caller)                                                                \
	__asm__(".pushsection .text\n"                                                             \
		".globl " name "\n"                                                                \
		".type " name ", @function\n"                                                      \
		".p2align 4\n"                                                                     \
		name ":\n"                                                                         \
		".cfi_startproc\n"                                                                 \
		"endbr64\n"                                                                        \
		"pushq %rdi\n .cfi_adjust_cfa_offset 8\n"                                          \
		"pushq %rsi\n .cfi_adjust_cfa_offset 8\n"                                          \
		"pushq %rdx\n .cfi_adjust_cfa_offset 8\n" /* the stack is aligned to 16 again */   \
		"movq 24(%rsp), " caller "\n"                                                      \
		"call " chooser "\n"                                                               \
		"movq %rdx, %r11\n"                                                                \
		"popq %rdx\n .cfi_adjust_cfa_offset -8\n"                                          \
		"popq %rsi\n .cfi_adjust_cfa_offset -8\n"                                          \
		"popq %rdi\n .cfi_adjust_cfa_offset -8\n"                                          \
		"testq %r11, %r11\n"                                                               \
		"jz 1f\n"                                                                          \
		"jmp *%r11\n"                                                                      \
		"1: ret\n"                                                                         \
		".cfi_endproc\n"                                                                   \
		".size " name ", .-" name "\n"                                                     \
		".popsection\n")
#elif defined(__aarch64__)
#define ARGUMENT_3 "x2"
#define ARGUMENT_4 "x3"
#define STUB(name, chooser, caller)                                                                \
	__asm__(".pushsection .text\n"                                                             \
		".globl " name "\n"                                                                \
		".type " name ", %function\n"                                                      \
		".p2align 4\n"                                                                     \
		name ":\n"                                                                         \
		".cfi_startproc\n"                                                                 \
		"hint #34\n" /* bti c */                                                           \
		"stp x29, x30, [sp, #-48]!\n"                                                      \
		".cfi_def_cfa_offset 48\n .cfi_offset 29, -48\n .cfi_offset 30, -40\n"             \
		"mov x29, sp\n"                                                                    \
		"stp x0, x1, [sp, #16]\n"                                                          \
		"str x2, [sp, #32]\n"                                                              \
		"mov " caller ", x30\n"                                                            \
		"bl " chooser "\n"                                                                 \
		"mov x16, x1\n"                                                                    \
		"cbz x16, 1f\n"                                                                    \
		"ldp x0, x1, [sp, #16]\n"                                                          \
		"ldr x2, [sp, #32]\n"                                                              \
		"1: ldp x29, x30, [sp], #48\n"                                                     \
		".cfi_restore 29\n .cfi_restore 30\n .cfi_def_cfa_offset 0\n"                      \
		"cbz x16, 2f\n"                                                                    \
		"br x16\n"                                                                         \
		"2: ret\n"                                                                         \
		".cfi_endproc\n"                                                                   \
		".size " name ", .-" name "\n"                                                     \
		".popsection\n")
#else
#error "dlsym.c needs a stub for this processor"
#endif
/* clang-format on */

STUB("dlsym", "kbn_choose_dlsym", ARGUMENT_3);
STUB("dlvsym", "kbn_choose_dlvsym", ARGUMENT_4);
#endif

/* Hooked names begin with "cu" and a capital letter; cudnn* and cublas* are none of our business. */
static const struct kbn_hook *hooked(const char *name)
{
	const struct kbn_hook *h;

	if (!name || name[0] != 'c' || name[1] != 'u' || name[2] < 'A' || name[2] > 'Z')
		return NULL;
	h = kbn_hook_find(name);
	if (h && h->group == KBN_GROUP_copy && !kbn_copies_wanted())
		return NULL;
	return h;
}

/* The wrapper that stands for `p`, which the next dlsym found for this name; else `p` itself. */
static void *substitute(const struct kbn_hook *h, void *handle, void *p)
{
	if (!p || !kbn_ready())
		return p;
	if (kbn_hook_real(h) == p)
		return h->wrapper;
	/* Closed and opened again elsewhere before cuInit? Then the old pointers are void. */
	if (kbn_resolve_again() && kbn_hook_real(h) == p)
		return h->wrapper;
	/*
	 * The driver's own handle, yet not the driver's function: an interposer answers for it.
	 * Any other pointer belongs to a second driver or a look-alike: not ours to mix up.
	 */
	if (kbn_is_driver_handle(handle) && kbn_hook_adopt(h, p))
		return h->wrapper;
	return p;
}

static void *ask(void *handle, const char *name, const char *version)
{
	return version ? kbn_next_dlvsym()(handle, name, version) : kbn_next_dlsym()(handle, name);
}

/* What lies behind this library in the global scope: RTLD_NEXT counts from the caller, us. */
static void *behind(const char *name, const char *version)
{
	void *volatile found = ask(RTLD_NEXT, name, version);

	return found;
}

static struct link_map *map_of(const void *address)
{
	Dl_info info;
	struct link_map *map = NULL;

	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* True when a search from the caller on meets this library: it stands behind the caller. */
static bool is_before_us(const void *caller)
{
	const struct link_map *us = map_of((const void *)kbn_choose_dlsym);

	for (const struct link_map *m = map_of(caller); m; m = m->l_next)
		if (m == us)
			return true;
	return false;
}

/*
 * Whether a search by a pseudo handle would find something without us. Programs probe for CUDA this
 * way, and our export must not make a probe succeed that fails without it. RTLD_DEFAULT looks in the
 * global scope and then in the caller's own: a plug-in opened RTLD_LOCAL may have the driver there.
 */
static bool is_found_without_us(const struct kbn_hook *h, void *handle, const char *name,
				const char *version, const void *caller)
{
	void *p;

	if (handle == RTLD_NEXT && !is_before_us(caller))
		return true; /* or not; the search does not come by us */
	if (handle == RTLD_DEFAULT) {
		/* A handle of glibc is the link_map itself. */
		p = ask(map_of(caller), name, version);
		if (p && p != h->wrapper)
			return true;
	}
	/* Last, for a failure must leave its dlerror text: finding our own export would clear it. */
	return behind(name, version) != NULL;
}

/*
 * The program's own look-up with a real handle, done here because the caller's address does not
 * matter then. NULL stays NULL with the dlerror text that the real call left.
 */
static void *look_up(const struct kbn_hook *h, void *handle, const char *name, const char *version)
{
	void *p = ask(handle, name, version);

	/* The handle of the whole program: a search of the global scope like RTLD_DEFAULT. */
	if (p == h->wrapper)
		p = behind(name, version);
	return substitute(h, handle, p);
}

static struct choice choose(void *handle, const char *name, const char *version, const void *caller,
			    void *next)
{
	const struct kbn_hook *h = hooked(name);
	struct choice c = {NULL, next};

	if (!h || !next || kbn_inside())
		return c;
	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT) {
		c.value = look_up(h, handle, name, version);
		c.jump = NULL;
	} else if (!is_found_without_us(h, handle, name, version, caller)) {
		c.jump = NULL;
	}
	/* Else the search itself finds whoever is first: an interposer before us, or our export. */
	return c;
}

#ifndef KBN_UNIT
static bool is_dlsym(const char *name)
{
	const char *dlsym_name = "dlsym";

	while (*name && *name == *dlsym_name) {
		name++;
		dlsym_name++;
	}
	return *name == *dlsym_name;
}
#endif

struct choice kbn_choose_dlsym(void *handle, const char *name, const void *caller)
{
	return choose(handle, name, NULL, caller, (void *)kbn_next_dlsym());
}

struct choice kbn_choose_dlvsym(void *handle, const char *name, const char *version,
				const void *caller)
{
#ifndef KBN_UNIT
	/*
	 * An interposer in front of us that asks for glibc's dlsym by its version would pass us by,
	 * for ours has no version. The next one from its place is ours.
	 */
	if (handle == RTLD_NEXT && name && is_dlsym(name) && is_before_us(caller))
		return (struct choice){(void *)dlsym, NULL};
#endif
	return choose(handle, name, version ? version : "", caller, (void *)kbn_next_dlvsym());
}
