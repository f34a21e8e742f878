/*
 * diff_because.c - what else changed about a kernel, in a few words each: "registers 32 -> 64". These
 * are the places to look first; which of them is the cause is not claimed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "diff_parts.h"
#include "text.h"

#define ARROW "\xe2\x86\x92"

struct words {
	struct diff_build *b;
	VEC(const char *) list;
};

static void add(struct words *w, const char *text)
{
	const char **slot = text ? vec_add(&w->list) : NULL;

	if (slot)
		*slot = text;
	else
		w->b->failed = true;
}

static void add_text(struct words *w, const char *what, const char *base, const char *new)
{
	if (strcmp(base, new) != 0)
		add(w, text_format(w->b->arena, "%s %s " ARROW " %s", what, base, new));
}

/* A count; a median of several may lie between two. */
static char *number(char out[TEXT_NUMBER], double n)
{
	return n == floor(n) && n < 1e15 ? text_count(out, (uint64_t)n) : text_real(out, n);
}

static void add_count(struct words *w, const char *what, double base, double new)
{
	char one[TEXT_NUMBER], other[TEXT_NUMBER];

	if (base >= 0 && new >= 0 && base != new)
		add_text(w, what, number(one, base), number(other, new));
}

static void add_bytes(struct words *w, const char *what, int64_t base, int64_t new)
{
	char one[TEXT_NUMBER], other[TEXT_NUMBER];

	if (base < 0 || new < 0)
		return;
	text_bytes(one, base);
	text_bytes(other, new);
	if (strcmp(one, other) == 0) { /* alike when rounded */
		snprintf(one, sizeof(one), "%jd B", (intmax_t)base);
		snprintf(other, sizeof(other), "%jd B", (intmax_t) new);
	}
	add_text(w, what, one, other);
}

static void add_triple(struct words *w, const char *what, const int64_t base[3],
		       const int64_t new[3])
{
	char one[80], other[80];

	snprintf(one, sizeof(one), "%jd,%jd,%jd", (intmax_t)base[0], (intmax_t)base[1],
		 (intmax_t)base[2]);
	snprintf(other, sizeof(other), "%jd,%jd,%jd", (intmax_t) new[0], (intmax_t) new[1],
		 (intmax_t) new[2]);
	add_text(w, what, one, other);
}

static void add_code(struct words *w, const struct diff_kernel *base, const struct diff_kernel *new)
{
	if (base->code && new->code && strcmp(base->code, new->code) != 0)
		add(w, text_format(w->b->arena, "code %.8s " ARROW " %.8s", base->code, new->code));
	else if (!base->code != !new->code)
		add(w, text_format(w->b->arena, "the code of %s is not known",
				   base->code ? "NEW" : "BASE"));
}

static void add_occupancy(struct words *w, double base, double new)
{
	char one[TEXT_NUMBER], other[TEXT_NUMBER];

	if (isfinite(base) && isfinite(new))
		add_text(w, "occupancy", text_pct(one, base), text_pct(other, new));
}

/* How the pair was found, where it is not by the same name and geometry. */
static void add_level(struct words *w, enum diff_level level, const struct diff_row *row)
{
	if (level == DIFF_LEVEL_NAME)
		add(w, "matched by name alone");
	if (level == DIFF_LEVEL_CODE) {
		add(w, "matched by code and geometry");
		add_text(w, "name", row->base->short_name, row->new->short_name);
	}
}

/* Why nothing can be said of the time. */
static void add_doubt(struct words *w, const struct diff_row *row)
{
	const struct diff_kernel *k[2] = {row->base, row->new};
	static const char *const side[] = {"BASE", "NEW"};

	if (isnan(row->base_us) && isnan(row->new_us)) {
		add(w, "no time on either side");
		return;
	}
	for (int s = 0; s < 2; s++) {
		if (isnan(s ? row->new_us : row->base_us))
			add(w, text_format(w->b->arena, "no time in %s", side[s]));
		else if (isnan(row->noise_pct) && k[s]->timed < 2)
			add(w, text_format(w->b->arena, "timed once in %s: its noise is not known",
					   side[s]));
		if (k[s]->warmup_only && !k[!s]->warmup_only)
			add(w, text_format(w->b->arena, "only first launches were timed in %s",
					   side[s]));
	}
}

static void finish(struct words *w, struct diff_row *row)
{
	row->because = arena_copy(w->b->arena, w->list.at, w->list.n * sizeof(*w->list.at));
	row->because_n = w->list.n;
	w->b->failed |= !row->because;
	vec_fini(&w->list);
}

void diff_because(struct diff_build *b, struct diff_row *row, enum diff_level level,
		  const double launches[2])
{
	const struct diff_kernel *p = row->base, *q = row->new;
	struct words w = {.b = b};

	add_doubt(&w, row);
	add_level(&w, level, row);
	add_triple(&w, "grid", p->grid, q->grid);
	add_triple(&w, "block", p->block, q->block);
	add_triple(&w, "cluster", p->cluster, q->cluster);
	add_count(&w, "registers", (double)p->registers, (double)q->registers);
	add_bytes(&w, "shared memory", p->dyn_smem_bytes, q->dyn_smem_bytes);
	add_bytes(&w, "static shared memory", p->static_smem_bytes, q->static_smem_bytes);
	add_bytes(&w, "local memory", p->local_bytes, q->local_bytes);
	add_occupancy(&w, p->occupancy_pct, q->occupancy_pct);
	add_code(&w, p, q);
	add_count(&w, "launches", launches[0], launches[1]);
	if (p->method && q->method)
		add_text(&w, "timed by", p->method, q->method);
	finish(&w, row);
}

void diff_because_single(struct diff_build *b, struct diff_row *row, bool ambiguous)
{
	struct words w = {.b = b};

	if (ambiguous)
		add(&w, "of that name there are several: none is surely the same");
	finish(&w, row);
}
