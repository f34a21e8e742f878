/*
 * variant.c - see variant.h. Kernels of one short name are a group; its members are the different
 * demangled names, each with its template arguments.
 */
#include "variant.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "demangle.h"
#include "text.h"

#define ARGUMENTS_MAX 32 /* looked at */

/* How much of an argument is shown. */
enum detail { DETAIL_NAME, DETAIL_ARGUMENTS, DETAIL_ALL, DETAIL_N };

struct member {
	const char *args[ARGUMENTS_MAX];
	size_t args_n;
	const char *candidate; /* text under examination */
	const char *text;      /* found, NULL = not yet */
};

/* ---- template arguments */

/* The text up to the comma or the bracket that ends an argument. */
static size_t argument_length(const char *s)
{
	int depth = 0;
	size_t n = 0;

	for (; s[n]; n++) {
		if (!depth && (s[n] == ',' || s[n] == '>'))
			break;
		depth += strchr("<({[", s[n]) != NULL;
		depth -= strchr(">)}]", s[n]) && depth > 0;
	}
	return n;
}

/* Splits "<4, float>"; returns how many, -1 = out of memory. */
static int split(struct arena *a, const char *s, const char *args[ARGUMENTS_MAX])
{
	int n = 0;

	while (*s && *s != '>' && n < ARGUMENTS_MAX) {
		size_t length;

		s += strspn(s, "<, ");
		length = argument_length(s);
		args[n] = arena_string(a, s, length);
		if (!args[n++])
			return -1;
		s += length;
	}
	return n;
}

/* At most VARIANT_COLUMNS characters of "<...>". */
static const char *finish(struct arena *a, const char *inside)
{
	size_t most = VARIANT_COLUMNS - strlen("<..>"), n = 0, at = 0;

	if (!inside)
		return NULL;
	if (text_columns(inside) <= VARIANT_COLUMNS - strlen("<>"))
		return text_format(a, "<%s>", inside);
	for (; inside[at]; at++)
		if ((inside[at] & 0xc0) != 0x80 && n++ == most)
			break;
	return text_format(a, "<%.*s..>", (int)at, inside);
}

static const char *append(struct arena *a, const char *text, const char *more)
{
	return text && more ? text_format(a, "%s%s%s", text, *text ? ", " : "", more) : NULL;
}

static const char *shown(struct arena *a, const char *arg, enum detail detail)
{
	const char *inner[ARGUMENTS_MAX], *name, *list = "";
	int n;

	if (detail == DETAIL_ALL)
		return arg;
	name = demangle_shorten(a, arg);
	if (detail == DETAIL_NAME || !name)
		return name;
	n = split(a, demangle_last_arguments(arg), inner);
	for (int i = 0; i < n; i++)
		list = append(a, list, demangle_shorten(a, inner[i]));
	return n < 0 || !list ? NULL : n ? text_format(a, "%s<%s>", name, list) : name;
}

/* ---- a group */

static const char *argument(const struct member *m, size_t at)
{
	return at < m->args_n ? m->args[at] : "";
}

static bool differs(const struct member *m, size_t n, size_t at)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(argument(&m[0], at), argument(&m[i], at)) != 0)
			return true;
	return false;
}

static int by_candidate(const void *a, const void *b)
{
	return strcmp((*(struct member *const *)a)->candidate,
		      (*(struct member *const *)b)->candidate);
}

/* Takes the candidates that only one member has, for those that have no text yet; returns whether all are such. */
static bool take_unique(struct member **sorted, size_t n)
{
	bool all = true;

	qsort(sorted, n, sizeof(*sorted), by_candidate);
	for (size_t i = 0; i < n; i++) {
		const char *c = sorted[i]->candidate;
		bool same = (i && strcmp(sorted[i - 1]->candidate, c) == 0) ||
			    (i + 1 < n && strcmp(sorted[i + 1]->candidate, c) == 0);

		all &= !same;
		if (!same && !sorted[i]->text)
			sorted[i]->text = c;
	}
	return all;
}

static int by_one_argument(struct arena *a, struct member *m, struct member **sorted, size_t n,
			   size_t at)
{
	for (size_t i = 0; i < n; i++) {
		m[i].candidate = finish(a, shown(a, argument(&m[i], at), DETAIL_NAME));
		if (!m[i].candidate)
			return -1;
	}
	if (take_unique(sorted, n))
		return 1;
	for (size_t i = 0; i < n; i++)
		m[i].text = NULL;
	return 0;
}

static int by_all_arguments(struct arena *a, struct member *m, struct member **sorted, size_t n,
			    const bool differ[ARGUMENTS_MAX], enum detail detail)
{
	for (size_t i = 0; i < n; i++) {
		const char *list = "";

		for (size_t at = 0; at < m[i].args_n; at++)
			if (differ[at])
				list = append(a, list, shown(a, m[i].args[at], detail));
		m[i].candidate = finish(a, list);
		if (!m[i].candidate)
			return -1;
	}
	return take_unique(sorted, n);
}

/* `m` in the order of the demangled names. */
static int distinguish(struct arena *a, struct member *m, struct member **sorted, size_t n)
{
	bool differ[ARGUMENTS_MAX];
	int done = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &m[i];
	for (size_t at = 0; at < ARGUMENTS_MAX; at++)
		differ[at] = differs(m, n, at);
	for (size_t at = 0; !done && at < ARGUMENTS_MAX; at++)
		if (differ[at])
			done = by_one_argument(a, m, sorted, n, at);
	for (int detail = 0; !done && detail < DETAIL_N; detail++)
		done = by_all_arguments(a, m, sorted, n, differ, (enum detail)detail);
	for (size_t i = 0; done >= 0 && i < n; i++)
		if (!m[i].text && !(m[i].text = text_format(a, " #%zu", i + 1)))
			done = -1;
	return done < 0 ? -1 : 0;
}

/* ---- all */

static int by_names(const void *pa, const void *pb)
{
	const struct variant *a = *(struct variant *const *)pa, *b = *(struct variant *const *)pb;
	int names = strcmp(a->short_name, b->short_name);

	return names ? names : strcmp(a->demangled, b->demangled);
}

/* A group of `n` kernels, sorted; `m` and `sorted` have room for as many. */
static int find_in_group(struct arena *a, struct variant **group, size_t n, struct member *m,
			 struct member **sorted)
{
	size_t members = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		group[i]->text = "";
	if (strcmp(group[0]->demangled, group[n - 1]->demangled) == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *list;
		int args;

		if (i && strcmp(group[i]->demangled, group[i - 1]->demangled) == 0)
			continue;
		m[members] = (struct member){0};
		list = demangle_arguments(a, group[i]->mangled);
		args = list ? split(a, list, m[members].args) : -1;
		if (args < 0)
			return -1;
		m[members++].args_n = (size_t)args;
	}
	if (distinguish(a, m, sorted, members) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		at += i && strcmp(group[i]->demangled, group[i - 1]->demangled) != 0;
		group[i]->text = m[at].text;
	}
	return 0;
}

int variants_find(struct arena *arena, struct variant *list, size_t n)
{
	struct variant **order = calloc(n + 1, sizeof(*order));
	struct member *m = calloc(n + 1, sizeof(*m)), **sorted = calloc(n + 1, sizeof(*sorted));
	int rc = order && m && sorted ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < n; i++)
		order[i] = &list[i];
	if (rc == 0 && n)
		qsort(order, n, sizeof(*order), by_names);
	for (size_t i = 0, end; rc == 0 && i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (strcmp(order[end]->short_name, order[i]->short_name) != 0)
				break;
		rc = find_in_group(arena, &order[i], end - i, m, sorted);
	}
	free(sorted);
	free(m);
	free(order);
	return rc;
}
