/*
 * diff_join.c - which kernels are the same one: over the runs of one side, and between the sides. From
 * the surest mark to the least; a mark that two kernels of a side share proves nothing and pairs none.
 */
#include "diff_parts.h"

#include <string.h>

#include "arena.h"
#include "keymap.h"
#include "text.h"

/* What has one mark: how many on either side, and the last of each. */
struct marked {
	size_t n[2], last[2];
};

static char *geometry(struct arena *arena, const struct diff_kernel *k, const char *what)
{
	const int64_t *g = k->grid, *b = k->block, *c = k->cluster;

	return text_format(arena, "%jd %jd,%jd,%jd %jd,%jd,%jd %jd,%jd,%jd %jd %d %s",
			   (intmax_t)k->device, (intmax_t)g[0], (intmax_t)g[1], (intmax_t)g[2],
			   (intmax_t)b[0], (intmax_t)b[1], (intmax_t)b[2], (intmax_t)c[0],
			   (intmax_t)c[1], (intmax_t)c[2], (intmax_t)k->dyn_smem_bytes, k->overflow,
			   what);
}

/* The mark of a kernel at a level; *none when it has none of that kind. */
static char *mark(struct arena *arena, const struct diff_kernel *k, enum diff_level level,
		  bool *none)
{
	*none = level == DIFF_LEVEL_CODE && !k->code;
	switch (level) {
	case DIFF_LEVEL_ID: return text_format(arena, "%jd %s", (intmax_t)k->device, k->id);
	case DIFF_LEVEL_GEOMETRY: return geometry(arena, k, k->name);
	case DIFF_LEVEL_NAME: return text_format(arena, "%jd %s", (intmax_t)k->device, k->name);
	default: return *none ? NULL : geometry(arena, k, k->code);
	}
}

/* A name must be the only one of all kernels, other marks of those without a partner. */
static bool counts(const struct diff_joined *j, enum diff_level level)
{
	return level == DIFF_LEVEL_NAME || j->level == DIFF_LEVEL_NONE;
}

struct marks {
	struct keymap map;
	VEC(struct marked) list;
};

/* Count the kernels of a list as those of side `s`; *of[i] = the mark of the i-th. */
static bool count_marks(struct arena *arena, struct marks *m, const struct diff_list *l, int s,
			enum diff_level level, uint32_t *of)
{
	for (size_t i = 0; i < l->n; i++) {
		bool none = false;
		char *key = counts(&l->at[i], level) ? mark(arena, l->at[i].first, level, &none)
						     : NULL;
		uint32_t *value;

		of[i] = KEYMAP_NONE;
		if (!counts(&l->at[i], level) || none)
			continue;
		value = key ? keymap_put(&m->map, arena, key, (uint32_t)strlen(key)) : NULL;
		if (!value)
			return false;
		if (*value == KEYMAP_NONE) {
			*value = (uint32_t)m->list.n;
			if (!vec_add(&m->list))
				return false;
		}
		of[i] = *value;
		m->list.at[of[i]].n[s]++;
		m->list.at[of[i]].last[s] = i;
	}
	return true;
}

/* Pair what is the only one of its mark on both sides. */
static bool match_level(struct arena *arena, struct diff_list *a, struct diff_list *b,
			enum diff_level level)
{
	uint32_t *of_a = arena_array(arena, a->n + 1, sizeof(*of_a));
	uint32_t *of_b = arena_array(arena, b->n + 1, sizeof(*of_b));
	struct marks m = {0};
	bool done = of_a && of_b && count_marks(arena, &m, a, 0, level, of_a) &&
		    count_marks(arena, &m, b, 1, level, of_b);

	for (size_t i = 0; done && i < a->n; i++) {
		const struct marked *k = of_a[i] == KEYMAP_NONE ? NULL : &m.list.at[of_a[i]];
		struct diff_joined *one = &a->at[i], *other;

		if (!k || !k->n[1] || one->level != DIFF_LEVEL_NONE)
			continue;
		other = &b->at[k->last[1]];
		if (k->n[0] > 1 || k->n[1] > 1) {
			one->ambiguous |= level != DIFF_LEVEL_CODE;
			continue;
		}
		if (other->level != DIFF_LEVEL_NONE)
			continue;
		one->level = other->level = level;
		one->partner = k->last[1];
		other->partner = i;
	}
	for (size_t i = 0; done && level != DIFF_LEVEL_CODE && i < b->n; i++) {
		const struct marked *k = of_b[i] == KEYMAP_NONE ? NULL : &m.list.at[of_b[i]];

		if (k && k->n[0] && (k->n[0] > 1 || k->n[1] > 1))
			b->at[i].ambiguous |= b->at[i].level == DIFF_LEVEL_NONE;
	}
	keymap_fini(&m.map);
	vec_fini(&m.list);
	return done;
}

bool diff_match(struct arena *arena, struct diff_list *a, struct diff_list *b)
{
	for (int level = DIFF_LEVEL_ID; level < DIFF_LEVEL_NONE; level++)
		if (!match_level(arena, a, b, (enum diff_level)level))
			return false;
	return true;
}

static struct diff_joined *joined(struct arena *arena, struct diff_joined *j, size_t reports)
{
	*j = (struct diff_joined){.in = arena_array(arena, reports, sizeof(*j->in)),
				  .n = reports,
				  .level = DIFF_LEVEL_NONE};
	return j->in ? j : NULL;
}

/* The kernels of one report as a list of their own, to be paired with what is there already. */
static bool list_of(struct arena *arena, const struct diff_report *r, size_t index, size_t reports,
		    struct diff_list *l)
{
	l->n = 0;
	l->at = arena_array(arena, r->kernels_n + 1, sizeof(*l->at));
	for (size_t i = 0; l->at && i < r->kernels_n; i++, l->n++) {
		if (!joined(arena, &l->at[i], reports))
			return false;
		l->at[i].in[index] = l->at[i].first = &r->kernels[i];
	}
	return l->at != NULL;
}

/* The kernels of one more report: into those that are there, or behind them. */
static bool add_report(struct arena *arena, struct diff_list *all, struct diff_list *more,
		       size_t index)
{
	struct diff_joined *grown = arena_array(arena, all->n + more->n + 1, sizeof(*grown));

	if (!grown || !match_level(arena, all, more, DIFF_LEVEL_ID) ||
	    !match_level(arena, all, more, DIFF_LEVEL_GEOMETRY))
		return false;
	if (all->n)
		memcpy(grown, all->at, all->n * sizeof(*grown));
	all->at = grown;
	for (size_t i = 0; i < more->n; i++) {
		if (more->at[i].level != DIFF_LEVEL_NONE)
			all->at[more->at[i].partner].in[index] = more->at[i].first;
		else
			all->at[all->n++] = more->at[i];
	}
	for (size_t i = 0; i < all->n; i++) {
		all->at[i].level = DIFF_LEVEL_NONE;
		all->at[i].ambiguous = false;
	}
	return true;
}

struct diff_list diff_join(struct arena *arena, const struct diff_side *side)
{
	struct diff_list all = {0}, more;

	for (size_t i = 0; i < side->n; i++)
		if (!list_of(arena, &side->reports[i], i, side->n, &more) ||
		    !add_report(arena, &all, &more, i))
			return (struct diff_list){0};
	return all;
}
