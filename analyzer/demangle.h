/*
 * demangle.h - kernel names for people. Input: a mangled C++ name, or any name. Output: text in an
 * arena. A name that is not mangled, or that cannot be demangled, stands for itself.
 * Leaves shortening for a column width to the renderers.
 */
#ifndef KBN_DEMANGLE_H
#define KBN_DEMANGLE_H

struct arena;

/* `void at::native::fill_kernel<4, float>(int, float)`. NULL only when memory has run out. */
const char *demangle_full(struct arena *arena, const char *name);

/*
 * The identifier alone: no namespaces, template arguments, parameters or return type.
 * `fill_kernel`; a call operator and a lambda keep what they belong to: `Functor::operator()`,
 * `run::{lambda#2}`. NULL only when memory has run out.
 */
const char *demangle_short(struct arena *arena, const char *name);

/*
 * The template arguments of that identifier: `<4, float>`, "" where there are none; those of what a
 * lambda or a call operator belongs to. NULL only when memory has run out.
 */
const char *demangle_arguments(struct arena *arena, const char *name);

/* The two steps on a name that is demangled already, such as a template argument. */
const char *demangle_shorten(struct arena *arena, const char *name);
const char *demangle_last_arguments(const char *name); /* up to the end of `name` */

#endif
