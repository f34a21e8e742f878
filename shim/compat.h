/*
 * compat.h - binds the shim to the oldest symbol versions, so that a library built on a new system
 * loads on glibc 2.28. The Makefile puts it in front of every shim source; nothing includes it.
 *
 * glibc 2.34 moved libdl and libpthread into libc and gave each name a second, newer version, which
 * the linker takes by default. The old version is still there and is the same code. Newer functions
 * (stat, gettid, close_range ...) have no old version: use syscall(2).
 *
 * The moved names are weak. Before 2.34 they live in libdl.so.2 and libpthread.so.0; naming those in
 * NEEDED would load two files into every process, 60 of 118 microseconds per exec as measured,
 * also where they are empty. A process that uses CUDA has both, since libcuda needs them: libdl from
 * the start, libpthread perhaps only with libcuda; kbn_start() asks for it before anything else.
 * A name that a file does not use leaves no trace. scripts/check-exports holds all of this.
 */
#ifndef KBN_SHIM_COMPAT_H
#define KBN_SHIM_COMPAT_H

#ifdef __linux__

/* clang wants to have seen what is made weak */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#define KBN_PRAGMA(text) _Pragma(#text)

/* KBN_OLD(name, its first version on x86-64); on aarch64 all are as old as the port, 2.17. */
#if defined(__x86_64__)
#define KBN_OLD_AS(name, old, version) __asm__(".symver " #name "," #old "@GLIBC_" #version);
#elif defined(__aarch64__)
#define KBN_OLD_AS(name, old, version) __asm__(".symver " #name "," #old "@GLIBC_2.17");
#else
#define KBN_OLD_AS(name, old, version)
#endif
#define KBN_OLD(name, version) \
	KBN_PRAGMA(weak name)  \
	KBN_OLD_AS(name, name, version)

/* libdl; dlsym and dlvsym are ours (dlsym.c) */
KBN_OLD(dlopen, 2.2.5)
KBN_OLD(dlmopen, 2.3.4)
KBN_OLD(dlclose, 2.2.5)
KBN_OLD(dlerror, 2.2.5)
KBN_OLD(dladdr, 2.2.5)
KBN_OLD(dladdr1, 2.3.3)
KBN_OLD(dlinfo, 2.3.3)

/* libpthread */
KBN_OLD(pthread_create, 2.2.5)
KBN_OLD(pthread_join, 2.2.5)
KBN_OLD(pthread_detach, 2.2.5)
KBN_OLD(pthread_tryjoin_np, 2.3.3)
KBN_OLD(pthread_timedjoin_np, 2.3.3)
KBN_OLD(pthread_kill, 2.2.5)
KBN_OLD(pthread_sigmask, 2.2.5)
KBN_OLD(pthread_key_create, 2.2.5)
KBN_OLD(pthread_key_delete, 2.2.5)
KBN_OLD(pthread_getspecific, 2.2.5)
KBN_OLD(pthread_setspecific, 2.2.5)
KBN_OLD(pthread_once, 2.2.5)
KBN_OLD(pthread_mutex_trylock, 2.2.5)
KBN_OLD(pthread_mutex_timedlock, 2.2.5)
KBN_OLD(pthread_spin_lock, 2.2.5)
KBN_OLD(pthread_spin_trylock, 2.2.5)
KBN_OLD(pthread_spin_unlock, 2.2.5)
KBN_OLD(pthread_attr_setstack, 2.2.5)
KBN_OLD(pthread_attr_setstacksize, 2.2.5)
KBN_OLD(pthread_attr_setguardsize, 2.2.5)
KBN_OLD(pthread_attr_getstack, 2.2.5)
KBN_OLD(pthread_getattr_np, 2.2.5)
KBN_OLD(pthread_setname_np, 2.12)
KBN_OLD(pthread_getname_np, 2.12)
KBN_OLD(pthread_setaffinity_np, 2.3.4)
KBN_OLD(pthread_getaffinity_np, 2.3.4)
KBN_OLD(sem_init, 2.2.5)
KBN_OLD(sem_post, 2.2.5)
KBN_OLD(sem_wait, 2.2.5)
KBN_OLD(sem_trywait, 2.2.5)
KBN_OLD(sem_timedwait, 2.2.5)

/* glibc 2.38 headers rename these when C23 is on, which _GNU_SOURCE implies */
KBN_OLD_AS(__isoc23_strtol, strtol, 2.2.5)
KBN_OLD_AS(__isoc23_strtoul, strtoul, 2.2.5)
KBN_OLD_AS(__isoc23_strtoll, strtoll, 2.2.5)
KBN_OLD_AS(__isoc23_strtoull, strtoull, 2.2.5)
KBN_OLD_AS(__isoc23_sscanf, sscanf, 2.2.5)

#endif
#endif
