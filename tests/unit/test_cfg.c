/*
 * test_cfg.c - control flow of small programs written by hand: blocks, edges, dominators, loops.
 * sm_80, sm_75: a branch's displacement is one field.
 */
#include "kbn_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "cfg.h"

#define ROOM 64

struct program {
	uint8_t code[ROOM * SASS_BYTES];
	uint32_t n;
	int sm; /* 0 = 80 */
	struct cubin_function f;
	struct arena *arena;
	struct cfg g;
};

static void add(struct program *p, uint64_t lo, uint64_t hi)
{
	uint8_t *at = p->code + p->n++ * SASS_BYTES;

	for (int i = 0; i < 8; i++) {
		at[i] = (uint8_t)(lo >> 8 * i);
		at[8 + i] = (uint8_t)(hi >> 8 * i);
	}
}

#define ALWAYS 7u

static void nop(struct program *p)
{
	add(p, 0x918 | ALWAYS << 12, UINT64_C(0x000fc00000000000));
}

static void leave(struct program *p, unsigned guard)
{
	add(p, 0x94d | guard << 12, UINT64_C(0x000fea0003800000));
}

/* To instruction `to`. */
static void branch(struct program *p, unsigned op12, unsigned guard, int64_t to)
{
	const int64_t d = (to - (int64_t)p->n - 1) * SASS_BYTES / 4;
	const uint64_t v = (uint64_t)d & UINT64_C(0xffffffffffff);

	add(p, op12 | guard << 12 | v << 34, UINT64_C(0x000fea0003800000) | v >> 30);
}

#define BRA  0x947u
#define CALL 0x944u

static const struct cfg *build(struct program *p)
{
	struct err e = {0};

	p->arena = arena_new();
	assert_non_null(p->arena);
	p->f.code = buf_of(p->code, p->n * SASS_BYTES);
	assert_int_equal(cfg_build(&p->g, p->arena, p->sm ? p->sm : 80, &p->f, &e), 0);
	return &p->g;
}

static void done(struct program *p)
{
	arena_free(p->arena);
}

static bool has_edge(const struct cfg *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < g->blocks[from].successors_n; i++)
		if (g->edges[g->blocks[from].successors + i] == to)
			return true;
	return false;
}

static void straight(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g;

	(void)state;
	nop(&p);
	nop(&p);
	leave(&p, ALWAYS);
	nop(&p); /* padding */
	g = build(&p);
	assert_int_equal(g->blocks_n, 2);
	assert_int_equal(g->blocks[0].end, 3);
	assert_int_equal(g->blocks[0].successors_n, 0);
	assert_true(g->blocks[0].is_reachable);
	assert_false(g->blocks[1].is_reachable);
	assert_int_equal(g->loops_n, 0);
	assert_true(g->is_complete);
	done(&p);
}

/* if / else, and an exit under a guard in the middle. */
static void diamond(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g;

	(void)state;
	branch(&p, BRA, 0, 4);      /* 0 block 0 */
	nop(&p);                    /* 1 block 1 */
	leave(&p, 1);               /* 2 */
	branch(&p, BRA, ALWAYS, 5); /* 3 block 2 */
	nop(&p);                    /* 4 block 3 */
	leave(&p, ALWAYS);          /* 5 block 4 */
	g = build(&p);
	assert_int_equal(g->blocks_n, 5);
	assert_true(has_edge(g, 0, 3) && has_edge(g, 0, 1));
	assert_true(has_edge(g, 1, 2));
	assert_int_equal(g->blocks[1].successors_n, 1);
	assert_true(has_edge(g, 2, 4) && !has_edge(g, 2, 3));
	assert_true(has_edge(g, 3, 4));
	assert_int_equal(g->blocks[4].idom, 0);
	assert_int_equal(g->blocks[2].idom, 1);
	assert_true(cfg_dominates(g, 0, 4));
	assert_false(cfg_dominates(g, 3, 4));
	assert_int_equal(g->blocks[4].predecessors_n, 2);
	done(&p);
}

static void nested_loops(void **state)
{
	struct program p = {.n = 0};
	const struct cfg_loop *inner, *outer;
	const struct cfg *g;

	(void)state;
	nop(&p);               /* 0 block 0 */
	nop(&p);               /* 1 block 1: outer header */
	nop(&p);               /* 2 block 2: inner header */
	branch(&p, BRA, 1, 5); /* 3 */
	nop(&p);               /* 4 block 3 */
	branch(&p, BRA, 0, 2); /* 5 block 4: back to the inner */
	branch(&p, BRA, 2, 1); /* 6 block 5: back to the outer */
	leave(&p, ALWAYS);     /* 7 block 6 */
	g = build(&p);
	assert_int_equal(g->blocks_n, 7);
	assert_int_equal(g->loops_n, 2);
	inner = &g->loops[g->blocks[3].loop];
	outer = &g->loops[inner->parent];
	assert_int_equal(inner->header, 2);
	assert_int_equal(inner->depth, 2);
	assert_int_equal(inner->blocks_n, 3);
	assert_int_equal(inner->first, 2);
	assert_int_equal(inner->last, 5);
	assert_true(inner->is_innermost);
	assert_int_equal(outer->header, 1);
	assert_int_equal(outer->depth, 1);
	assert_int_equal(outer->blocks_n, 5);
	assert_int_equal(outer->first, 1);
	assert_int_equal(outer->last, 6);
	assert_false(outer->is_innermost);
	assert_true(cfg_in_loop(g, 4, inner->parent));
	assert_int_equal(g->blocks[6].loop, CFG_NONE);
	assert_int_equal(g->blocks[0].loop, CFG_NONE);
	assert_false(g->is_irreducible);
	done(&p);
}

/* Two loops side by side share nothing; a loop of one block; the endless one behind an exit. */
static void loops_side_by_side(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g;

	(void)state;
	nop(&p);                    /* 0 block 0: a loop of its own */
	branch(&p, BRA, 0, 0);      /* 1 */
	nop(&p);                    /* 2 block 1 */
	branch(&p, BRA, 1, 2);      /* 3 */
	leave(&p, ALWAYS);          /* 4 block 2 */
	branch(&p, BRA, ALWAYS, 5); /* 5 block 3: padding */
	g = build(&p);
	assert_int_equal(g->blocks_n, 4);
	assert_int_equal(g->loops_n, 2);
	assert_int_equal(g->loops[0].blocks_n, 1);
	assert_int_equal(g->loops[0].parent, CFG_NONE);
	assert_int_equal(g->loops[1].parent, CFG_NONE);
	assert_true(g->blocks[0].loop != g->blocks[1].loop);
	assert_false(g->blocks[3].is_reachable);
	assert_int_equal(g->blocks[3].loop, CFG_NONE);
	done(&p);
}

/* A branch to itself that is reached asks no lane. */
static void endless(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g;

	(void)state;
	nop(&p);                    /* 0 block 0 */
	branch(&p, BRA, ALWAYS, 1); /* 1 block 1 */
	g = build(&p);
	assert_int_equal(g->loops_n, 1);
	assert_true(g->loops[0].is_innermost && !g->loops[0].is_for_lanes);
	done(&p);
}

/*
 * Code of sm_90: a copy whose operands are uniform, for the lanes that ELECT picks. It is for lanes while
 * .ANY of them is left; by another condition it is a loop like others.
 */
static void loops_for_lanes(void **state)
{
	static const uint64_t any = UINT64_C(1) << 20, uniform = UINT64_C(1) << 32;

	(void)state;
	for (int is_for_lanes = 0; is_for_lanes < 2; is_for_lanes++) {
		struct program p = {.sm = 90};
		const struct cfg *g;

		add(&p, 0x3f082f, UINT64_C(0x000fe20003820000)); /* @P0 ELECT P1, URZ, PT */
		add(&p, UINT64_C(0x6040073ba), UINT64_C(0x0003d80008000208)); /* UBLKCP.S.G */
		add(&p, 0x181c, UINT64_C(0x000fe40000f0e170));                /* @P1 PLOP3.LUT P0 */
		nop(&p);
		add(&p, UINT64_C(0xfffffffd00ec0947) & ~(is_for_lanes ? 0 : uniform),
		    UINT64_C(0x002fea000393ffff) & ~(is_for_lanes ? 0 : any));
		leave(&p, ALWAYS);
		g = build(&p);
		assert_int_equal(g->undecoded, 0);
		assert_int_equal(g->blocks_n, 2);
		assert_int_equal(g->loops_n, 1);
		assert_int_equal(g->loops[0].is_for_lanes, is_for_lanes);
		assert_int_equal(g->loops[0].is_innermost, !is_for_lanes);
		done(&p);
	}
}

static void two_ways_into_a_cycle(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g;

	(void)state;
	branch(&p, BRA, 0, 3); /* 0 */
	nop(&p);               /* 1 */
	nop(&p);               /* 2 */
	nop(&p);               /* 3 */
	branch(&p, BRA, 1, 1); /* 4 */
	leave(&p, ALWAYS);     /* 5 */
	g = build(&p);
	assert_true(g->is_irreducible);
	assert_int_equal(g->loops_n, 0);
	done(&p);
}

static void calls(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g;

	(void)state;
	nop(&p);                     /* 0 block 0 */
	branch(&p, CALL, ALWAYS, 4); /* 1 */
	nop(&p);                     /* 2 */
	leave(&p, ALWAYS);           /* 3 */
	nop(&p);                     /* 4 block 1: a function within */
	leave(&p, ALWAYS);           /* 5 */
	g = build(&p);
	assert_int_equal(g->calls_n, 1);
	assert_int_equal(g->calls[0].insn, 1);
	assert_int_equal(g->calls[0].target, 4 * SASS_BYTES);
	assert_int_equal(g->blocks_n, 2);
	assert_int_equal(g->blocks[0].successors_n, 0);
	assert_true(g->blocks[1].is_entry && g->blocks[1].is_reachable);
	assert_int_equal(g->blocks[1].idom, CFG_NONE);
	done(&p);
}

#define NOINC (UINT64_C(1) << 22) /* in the upper half: no return address is kept */

static void no_return_address(struct program *p)
{
	uint8_t *at = p->code + (p->n - 1) * SASS_BYTES + 8;

	at[2] |= (uint8_t)(NOINC >> 16);
}

/*
 * A call without a return address into the middle of the function is a jump, one to a function within is a
 * call. Two loops, left that way: the inner one under a guard, the outer one always.
 */
static void calls_that_jump(void **state)
{
	struct cubin_part part = {.name = "within", .offset = 8 * SASS_BYTES};
	struct program p = {.f = {.parts = &part, .parts_n = 1}};
	const struct cfg *g;

	(void)state;
	nop(&p);                     /* 0 block 0: outer header */
	branch(&p, CALL, ALWAYS, 8); /* 1 block 1: inner header; a call */
	no_return_address(&p);
	branch(&p, CALL, 0, 4); /* 2 out of the inner loop */
	no_return_address(&p);
	branch(&p, BRA, ALWAYS, 1);  /* 3 block 2 */
	branch(&p, BRA, 1, 0);       /* 4 block 3 */
	branch(&p, CALL, ALWAYS, 7); /* 5 block 4: out of the outer one */
	no_return_address(&p);
	nop(&p);           /* 6 block 5 */
	leave(&p, ALWAYS); /* 7 block 6 */
	leave(&p, ALWAYS); /* 8 block 7: a function within */
	g = build(&p);
	assert_int_equal(g->blocks_n, 8);
	assert_int_equal(g->calls_n, 1);
	assert_int_equal(g->calls[0].insn, 1);
	assert_true(has_edge(g, 1, 2) && has_edge(g, 1, 3));
	assert_true(has_edge(g, 4, 6) && !has_edge(g, 4, 5));
	assert_false(g->blocks[3].is_entry || g->blocks[6].is_entry || g->blocks[5].is_reachable);
	assert_true(g->blocks[7].is_entry);
	assert_false(g->is_irreducible);
	assert_int_equal(g->loops_n, 2);
	assert_int_equal(g->loops[g->blocks[1].loop].depth, 2);
	assert_int_equal(g->loops[g->blocks[3].loop].depth, 1);
	done(&p);
}

/* .DIV and .CONV go on behind themselves, also when no mask of lanes is written; .U does not. */
static void branch_of_lanes(void **state)
{
	static const struct {
		uint64_t kind; /* bits 32 and 33 */
		bool goes_on;
	} kinds[] = {{0, false}, {1, false}, {2, true}, {3, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct program p = {.sm = 75};
		const struct cfg *g;

		branch(&p, BRA, ALWAYS, 2);
		p.code[4] |= (uint8_t)kinds[i].kind;
		leave(&p, ALWAYS);
		leave(&p, ALWAYS);
		g = build(&p);
		assert_int_equal(g->undecoded, 0);
		assert_true(has_edge(g, 0, 2));
		assert_int_equal(has_edge(g, 0, 1), kinds[i].goes_on);
		done(&p);
	}
}

static void out_of_the_code(void **state)
{
	struct program p = {.n = 0};
	struct err e = {0};
	const struct cfg *g;

	(void)state;
	branch(&p, BRA, 0, 40);
	leave(&p, ALWAYS);
	g = build(&p);
	assert_false(g->is_complete);
	assert_int_equal(g->blocks[0].successors_n, 1);
	p.f.code.bytes = 20;
	assert_int_equal(cfg_build(&p.g, p.arena, 80, &p.f, &e), -1);
	assert_int_equal(e.offset, 16);
	p.f.code.bytes = 16;
	assert_int_equal(cfg_build(&p.g, p.arena, 20, &p.f, &e), -1);
	p.f.code.bytes = 0;
	assert_int_equal(cfg_build(&p.g, p.arena, 80, &p.f, &e), 0);
	assert_int_equal(p.g.blocks_n, 0);
	done(&p);
}

/* ---- graphs that nobody draws by hand */

/* Whether block z can be reached from an entry without going through block `without`. */
static bool is_reached(const struct cfg *g, uint32_t z, uint32_t without)
{
	uint32_t stack[ROOM], depth = 0;
	bool seen[ROOM] = {false};

	for (uint32_t b = 0; b < g->blocks_n; b++)
		if (g->blocks[b].is_entry && b != without) {
			stack[depth++] = b;
			seen[b] = true;
		}
	while (depth) {
		const struct cfg_block *x = &g->blocks[stack[--depth]];

		for (uint32_t i = 0; i < x->successors_n; i++) {
			const uint32_t to = g->edges[x->successors + i];

			if (to == without || seen[to])
				continue;
			seen[to] = true;
			stack[depth++] = to;
		}
	}
	return seen[z];
}

/* By the definition: whoever dominates a block cannot be gone around. */
static void check_dominators(const struct cfg *g)
{
	for (uint32_t z = 0; z < g->blocks_n; z++) {
		const bool is_reachable = is_reached(g, z, CFG_NONE);
		uint32_t nearest = CFG_NONE;

		assert_int_equal(g->blocks[z].is_reachable, is_reachable);
		for (uint32_t a = 0; a < g->blocks_n; a++) {
			const bool dominates = is_reachable && !is_reached(g, z, a);

			assert_int_equal(cfg_dominates(g, a, z), dominates);
			if (dominates && a != z &&
			    (nearest == CFG_NONE || cfg_dominates(g, nearest, a)))
				nearest = a;
		}
		assert_int_equal(g->blocks[z].idom, nearest);
	}
}

/* What a loop says of itself, counted block by block. */
static void check_loops(const struct cfg *g)
{
	for (uint32_t l = 0; l < g->loops_n; l++) {
		uint32_t blocks = 0, insns = 0, depth = 1, first = UINT32_MAX;

		for (uint32_t b = 0; b < g->blocks_n; b++) {
			if (!cfg_in_loop(g, b, l))
				continue;
			blocks++;
			insns += g->blocks[b].end - g->blocks[b].first;
			first = g->blocks[b].first < first ? g->blocks[b].first : first;
			assert_true(cfg_dominates(g, g->loops[l].header, b));
		}
		for (uint32_t up = g->loops[l].parent; up != CFG_NONE; up = g->loops[up].parent)
			depth++;
		assert_int_equal(g->loops[l].blocks_n, blocks);
		assert_int_equal(g->loops[l].insns_n, insns);
		assert_int_equal(g->loops[l].first, first);
		assert_int_equal(g->loops[l].depth, depth);
	}
}

static void any_graph(void **state)
{
	uint32_t seed = 1, loops = 0, irreducible = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct program p = {.n = 0};
		const uint32_t n = 4 + (uint32_t)round % 40;

		while (p.n < n) {
			seed = seed * 1664525u + 1013904223u;
			switch (seed >> 28) {
			case 0: branch(&p, CALL, ALWAYS, (seed >> 8) % n); break;
			case 1: branch(&p, BRA, ALWAYS, (seed >> 8) % n); break;
			case 2: leave(&p, ALWAYS); break;
			case 3:
			case 4:
			case 5: nop(&p); break;
			default: branch(&p, BRA, 0, (seed >> 8) % n);
			}
		}
		build(&p);
		check_dominators(&p.g);
		check_loops(&p.g);
		loops += p.g.loops_n;
		irreducible += p.g.is_irreducible;
		done(&p);
	}
	assert_true(loops > 3000 && irreducible > 300);
}

/* A function of `n` instructions, the nth made by `make`; built within the time of the test's alarm. */
static const struct cfg *build_large(struct program *p, uint32_t n,
				     void (*make)(struct program *, uint32_t i, uint32_t n))
{
	uint8_t *code = malloc((size_t)n * SASS_BYTES);
	struct err e = {0};

	assert_non_null(code);
	for (uint32_t i = 0; i < n; i++) {
		struct program one = {.n = 0};

		make(&one, i, n);
		memcpy(code + (size_t)i * SASS_BYTES, one.code, SASS_BYTES);
	}
	p->arena = arena_new();
	p->f.code = buf_of(code, (size_t)n * SASS_BYTES);
	alarm(20); /* takes a tenth of a second; squares of these numbers take minutes */
	assert_int_equal(cfg_build(&p->g, p->arena, 80, &p->f, &e), 0);
	alarm(0);
	free(code);
	return &p->g;
}

/* A branch at instruction `at`, said by a program of nothing else. */
static void branch_from(struct program *p, uint32_t at, uint32_t to)
{
	branch(p, BRA, 0, (int64_t)to - at);
}

static void make_nest(struct program *p, uint32_t i, uint32_t n)
{
	if (i + 1 == n)
		leave(p, ALWAYS);
	else if (i < n / 2)
		nop(p);
	else
		branch_from(p, i, n - 2 - i);
}

static void many_loops_in_each_other(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g = build_large(&p, 60001, make_nest);

	(void)state;
	assert_int_equal(g->loops_n, 30000);
	assert_int_equal(g->loops[29999].depth, 1);
	assert_int_equal(g->loops[29999].insns_n, 60000);
	assert_int_equal(g->loops[0].depth, 30000);
	assert_int_equal(g->loops[0].insns_n, 2);
	assert_true(g->loops[0].is_innermost);
	done(&p);
}

static void make_checks(struct program *p, uint32_t i, uint32_t n)
{
	if (i + 1 == n)
		leave(p, ALWAYS);
	else
		branch_from(p, i, n - 1);
}

/* A function that checks every access branches from everywhere to its end. */
static void many_branches_to_one(void **state)
{
	struct program p = {.n = 0};
	const struct cfg *g = build_large(&p, 300001, make_checks);

	(void)state;
	assert_int_equal(g->blocks_n, 300001);
	assert_int_equal(g->blocks[300000].idom, 0);
	assert_int_equal(g->blocks[299999].idom, 299998);
	done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straight),
		cmocka_unit_test(diamond),
		cmocka_unit_test(nested_loops),
		cmocka_unit_test(loops_side_by_side),
		cmocka_unit_test(endless),
		cmocka_unit_test(loops_for_lanes),
		cmocka_unit_test(two_ways_into_a_cycle),
		cmocka_unit_test(calls),
		cmocka_unit_test(calls_that_jump),
		cmocka_unit_test(branch_of_lanes),
		cmocka_unit_test(out_of_the_code),
		cmocka_unit_test(any_graph),
		cmocka_unit_test(many_loops_in_each_other),
		cmocka_unit_test(many_branches_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
