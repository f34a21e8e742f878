/*
 * fuzz_lanes.c - any bytes as the code of a function, interpreted for all warps and for one: it ends, figures are in
 * order, what one warp does all warps may do, and what is said of all holds for it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "lanes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static const struct lanes_site *find(const struct lanes_result *r, const struct lanes_site *like)
{
	for (uint32_t i = 0; i < r->sites_n; i++)
		if (r->sites[i].insn == like->insn && r->sites[i].kind == like->kind &&
		    r->sites[i].is_second == like->is_second)
			return &r->sites[i];
	return NULL;
}

static void check_sites(const struct lanes_result *r, const struct cfg *g)
{
	for (uint32_t i = 0; i < r->sites_n; i++) {
		const struct lanes_site *s = &r->sites[i];

		check(s->insn < g->insns_n && (s->lanes & ~r->warp) == 0);
		check(memchr(s->pattern, 0, sizeof(s->pattern)) != NULL);
		if (s->kind == LANES_BRANCH || !s->is_known)
			continue;
		check(s->low <= s->value && s->value <= s->high && s->low && s->addresses);
		check(s->addresses <= 32 && s->ideal && s->ideal <= s->low);
	}
}

/* What all warps are said to do, each does. */
static void check_agreement(const struct lanes_result *all, const struct lanes_result *one)
{
	for (uint32_t i = 0; i < one->sites_n; i++) {
		const struct lanes_site *b = &one->sites[i], *a = find(all, b);

		if (b->kind == LANES_BRANCH)
			continue;
		check(a != NULL && (b->lanes & ~a->lanes) == 0);
		if (a->is_known && !a->absent && b->is_known && !b->absent)
			check(a->lanes == b->lanes && a->low <= b->high && b->low <= a->high);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int sms[] = {75, 80, 90, 100, 120};
	static const uint8_t params[64] = {0, 0, 0, 0x10, 0x7f};
	static uint8_t known[64];
	struct arena *arena = arena_new();
	struct cubin_function f = {.param_bytes = sizeof(params)};
	struct lanes_launch l = {
		.function = &f, .grid = {5, 2, 1}, .block = {64, 2, 1}, .cluster = {1, 1, 1}};
	struct lanes_warp any = {.is_any = true}, one = {.block = {3, 1, 0}, .warp = 2};
	struct lanes_result all, single;
	struct lanes_code *code;
	struct err e = {0};
	struct cfg g;

	if (arena && size > 1 && size <= 1 << 14) {
		f.code = buf_of(data + 1, size - 1);
		if (data[0] & 0x80) {
			memset(known, data[0] & 0x40 ? 0xff : 0x0f, sizeof(known));
			l.params = params;
			l.known = known;
			l.params_n = sizeof(params);
		}
		if (cfg_build(&g, arena, sms[(data[0] & 0x3f) % 5], &f, &e) == 0) {
			code = lanes_code_new(&g, arena);
			check(code != NULL);
			check(lanes_run(code, &l, &any, arena, &all, &e) == 0);
			check(lanes_run(code, &l, &one, arena, &single, &e) == 0);
			check_sites(&all, &g);
			check_sites(&single, &g);
			if (all.is_complete && single.is_complete)
				check_agreement(&all, &single);
		}
	}
	arena_free(arena);
	return 0;
}
