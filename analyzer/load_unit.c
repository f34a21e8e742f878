/* load_unit.c - see load_unit.h. */
#include "load_unit.h"

#include <math.h>
#include <string.h>

#include "access_cost.h"

static bool is_kind(const struct metric_site *s, const char *kind)
{
	return s->kind && !strcmp(s->kind, kind);
}

/* Bytes a cycle; where nobody has measured it those of shared memory, which is the same memory. */
static double l1_bytes(const struct arch *a)
{
	return a->l1_bytes_measured > 0 ? a->l1_bytes_measured
	       : a->l1_bytes > 0        ? a->l1_bytes
					: a->shared_bytes;
}

double load_unit_cycles(const struct metric_site *s, const struct arch *hw)
{
	const double bytes = l1_bytes(hw);
	double n = quantity_known(&s->sectors_per_request) ? s->sectors_per_request.value : 1;

	n -= quantity_known(&s->excess) ? s->excess.value : 0;
	if (is_kind(s, "shared") || !(bytes > 0))
		return fmax(1, n);
	return fmax(1, n * ACCESS_SECTOR_BYTES / bytes);
}

void load_unit_read(const struct metric_access *a, const struct metric_sass *sass,
		    const struct arch *hw, struct load_unit *out)
{
	const struct metric_loop *hot = sass && sass->hot_loop >= 0 &&
							(size_t)sass->hot_loop < sass->loops_n
						? &sass->loops[sass->hot_loop]
						: NULL;
	/* also those that no report lists */
	const size_t n = !a ? 0 : a->sites_all > a->sites_n ? a->sites_all : a->sites_n;

	*out = (struct load_unit){0};
	for (size_t i = 0; i < n; i++) {
		const struct metric_site *s = &a->sites[i];
		const bool is_shared = is_kind(s, "shared");
		const bool is_hot = hot && s->offset >= hot->start && s->offset <= hot->end;
		const double cycles = load_unit_cycles(s, hw);
		const double all = quantity_known(&s->requests) ? cycles * s->requests.value : NAN;

		if (!is_shared && !is_kind(s, "load") && !is_kind(s, "store"))
			continue;
		if (is_hot)
			*(is_shared ? &out->shared : &out->global) += cycles;
		out->launch += all;
		out->launch_hot += is_hot ? all : 0;
	}
	if (!n)
		out->launch = out->launch_hot = NAN;
}
