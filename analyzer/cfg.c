/*
 * cfg.c - see cfg.h. Blocks begin at the function's start, behind what ends a block, and where branches
 * and calls lead. A call goes on behind itself; its target is an entry of its own. A call that keeps no
 * return address (.NOINC) and leads into the middle of a function is a jump: the assembler for sm_80
 * leaves loops that way. A library has functions of 100,000 instructions: every step here takes about as
 * long as there are instructions and edges, whatever the nesting. Dominators: cfg_dominators.c.
 */
#include "cfg.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cfg_dominators.h"
#include "cfg_rare.h"

static const struct {
	const char *op;
	enum cfg_flow flow;
} flows[] = {
	{"BRA", CFG_BRANCH},    {"JMP", CFG_BRANCH},   {"BRX", CFG_INDIRECT},
	{"BRXU", CFG_INDIRECT}, {"JMX", CFG_INDIRECT}, {"JMXU", CFG_INDIRECT},
	{"CALL", CFG_CALL},     {"RET", CFG_RETURN},   {"EXIT", CFG_EXIT},
	{"KILL", CFG_EXIT},     {"RTT", CFG_RETURN},
};

enum cfg_flow cfg_flow(const struct sass_insn *insn)
{
	const char *op = sass_op(insn);

	/* Asked of every instruction, and most begin otherwise. */
	if (*op != 'B' && *op != 'J' && *op != 'C' && *op != 'R' && *op != 'E' && *op != 'K')
		return CFG_NEXT;
	for (size_t i = 0; i < sizeof(flows) / sizeof(*flows); i++)
		if (!strcmp(op, flows[i].op))
			return flows[i].flow;
	return CFG_NEXT;
}

bool cfg_is_conditional(const struct sass_insn *insn)
{
	if (insn->guard != SASS_PT || insn->guard_not)
		return true;
	if (cfg_flow(insn) == CFG_BRANCH && sass_bits(insn->word, 32, 2) >= 2)
		return true; /* .DIV, .CONV: whether lanes diverge; the mask of lanes may be unsaid */
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if ((o->kind == SASS_PRED || o->kind == SASS_UPRED) &&
		    (o->reg != SASS_PT || o->flags & SASS_NOT))
			return true;
	}
	return false;
}

int64_t cfg_target(const struct sass_insn *insn)
{
	for (unsigned i = 0; i < insn->operands_n; i++)
		if (insn->operands[i].kind == SASS_TARGET)
			return insn->operands[i].value;
	return -1;
}

/* ------------------------------------------------------------------------------------ the build */

struct build {
	struct cfg *g;
	struct arena *arena;
	const struct cubin_function *f;
	bool *leader; /* of each instruction */
	bool *entry;
	uint32_t *order, *number; /* blocks in reverse postorder, and each one's place in it */
	uint32_t order_n;
	uint32_t *around; /* of each loop: itself, or one nearer to the outermost that it is in */
	bool no_memory;
};

static void *take(struct build *b, size_t n, size_t bytes)
{
	void *p = arena_array(b->arena, n, bytes);

	if (!p)
		b->no_memory = true;
	return p;
}

/* Instruction at an offset, CFG_NONE when it is none of this code. */
static uint32_t insn_at(const struct cfg *g, int64_t offset)
{
	if (offset < 0 || offset % SASS_BYTES || offset / SASS_BYTES >= g->insns_n)
		return CFG_NONE;
	return (uint32_t)(offset / SASS_BYTES);
}

static int compare_branch(const void *key, const void *branch)
{
	const uint64_t address = *(const uint64_t *)key;
	const uint32_t offset = ((const struct cubin_branch *)branch)->offset;

	return (address > offset) - (address < offset);
}

static const struct cubin_branch *branch_of(const struct build *b, const struct sass_insn *insn)
{
	if (!b->f->branches_n)
		return NULL;
	return bsearch(&insn->address, b->f->branches, b->f->branches_n, sizeof(*b->f->branches),
		       compare_branch);
}

static int compare_part(const void *key, const void *part)
{
	const int64_t at = *(const int64_t *)key;
	const int64_t offset = ((const struct cubin_part *)part)->offset;

	return (at > offset) - (at < offset);
}

static bool is_function(const struct build *b, int64_t offset)
{
	return offset == 0 || (b->f->parts_n && bsearch(&offset, b->f->parts, b->f->parts_n,
							sizeof(*b->f->parts), compare_part));
}

/* As cfg_flow, but knows a call that is a jump. */
static enum cfg_flow flow_of(const struct build *b, const struct sass_insn *insn)
{
	const enum cfg_flow flow = cfg_flow(insn);

	if (flow == CFG_CALL && sass_bits(insn->word, 86, 1) &&
	    insn_at(b->g, cfg_target(insn)) != CFG_NONE && !is_function(b, cfg_target(insn)))
		return CFG_BRANCH;
	return flow;
}

static void decode(struct build *b, struct buf code)
{
	struct cfg *g = b->g;
	struct sass_insn *insns = take(b, g->insns_n, sizeof(*insns));
	struct sass_modifiers *modifiers = take(b, g->insns_n, sizeof(*modifiers));

	g->insns = insns;
	g->modifiers = modifiers;
	for (uint32_t i = 0; !b->no_memory && i < g->insns_n; i++) {
		g->undecoded += !sass_decode(g->sm, sass_load(code.data + (size_t)i * SASS_BYTES),
					     (uint64_t)i * SASS_BYTES, &insns[i]);
		sass_modifiers(g->sm, &insns[i], &modifiers[i]);
	}
}

static void mark(struct build *b, int64_t target, bool is_call)
{
	const uint32_t i = insn_at(b->g, target);

	if (i == CFG_NONE) {
		b->g->is_complete = b->g->is_complete && is_call; /* another function's */
		return;
	}
	b->leader[i] = true;
	b->entry[i] |= is_call;
}

static void find_leaders(struct build *b)
{
	struct cfg *g = b->g;

	b->leader = take(b, g->insns_n + 1, sizeof(*b->leader));
	b->entry = take(b, g->insns_n + 1, sizeof(*b->entry));
	if (b->no_memory)
		return;
	b->leader[0] = b->entry[0] = true;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		const struct sass_insn *insn = &g->insns[i];
		const enum cfg_flow flow = flow_of(b, insn);
		const struct cubin_branch *t;

		if (flow == CFG_NEXT)
			continue;
		if (flow == CFG_BRANCH)
			mark(b, cfg_target(insn), false);
		if (flow == CFG_CALL) {
			g->calls_n++;
			if (cfg_target(insn) >= 0)
				mark(b, cfg_target(insn), true);
			continue;
		}
		b->leader[i + 1] = true;
		if (flow != CFG_INDIRECT)
			continue;
		t = branch_of(b, insn);
		g->is_complete &= t != NULL;
		for (size_t k = 0; t && k < t->targets_n; k++)
			mark(b, (int64_t)t->targets[k], false);
	}
}

static void make_blocks(struct build *b)
{
	struct cfg *g = b->g;
	uint32_t n = 0, calls = 0;

	for (uint32_t i = 0; i < g->insns_n; i++)
		n += b->leader[i];
	g->blocks = take(b, n, sizeof(*g->blocks));
	g->block_of = take(b, g->insns_n, sizeof(*g->block_of));
	g->calls = take(b, g->calls_n, sizeof(*g->calls));
	if (b->no_memory)
		return;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		if (b->leader[i])
			g->blocks[g->blocks_n++] = (struct cfg_block){.first = i,
								      .idom = CFG_NONE,
								      .loop = CFG_NONE,
								      .is_entry = b->entry[i]};
		g->blocks[g->blocks_n - 1].end = i + 1;
		g->block_of[i] = g->blocks_n - 1;
		if (flow_of(b, &g->insns[i]) == CFG_CALL)
			g->calls[calls++] = (struct cfg_call){i, cfg_target(&g->insns[i])};
	}
}

/* Calls `to` for each successor of a block; the order is that of the text, the branch first. */
static void each_successor(const struct build *b, uint32_t block,
			   void (*to)(void *, uint32_t, uint32_t), void *context)
{
	const struct cfg *g = b->g;
	const struct cfg_block *from = &g->blocks[block];
	const struct sass_insn *last = &g->insns[from->end - 1];
	const enum cfg_flow flow = flow_of(b, last);
	const struct cubin_branch *t = flow == CFG_INDIRECT ? branch_of(b, last) : NULL;
	const uint32_t target = flow == CFG_BRANCH ? insn_at(g, cfg_target(last)) : CFG_NONE;

	if (target != CFG_NONE)
		to(context, block, g->block_of[target]);
	for (size_t k = 0; t && k < t->targets_n; k++) {
		const uint32_t i = insn_at(g, (int64_t)t->targets[k]);

		if (i != CFG_NONE)
			to(context, block, g->block_of[i]);
	}
	if (flow == CFG_NEXT || flow == CFG_CALL || cfg_is_conditional(last))
		if (from->end < g->insns_n &&
		    g->block_of[from->end] != (target == CFG_NONE ? CFG_NONE : g->block_of[target]))
			to(context, block, block + 1);
}

static void count_edge(void *context, uint32_t from, uint32_t to)
{
	struct cfg *g = context;

	g->blocks[from].successors_n++;
	g->blocks[to].predecessors_n++;
}

static void add_edge(void *context, uint32_t from, uint32_t to)
{
	struct cfg *g = context;
	struct cfg_block *a = &g->blocks[from], *z = &g->blocks[to];

	g->edges[a->successors + a->successors_n++] = to;
	g->edges[z->predecessors + z->predecessors_n++] = from;
}

static void make_edges(struct build *b)
{
	struct cfg *g = b->g;
	uint32_t at = 0;

	for (uint32_t i = 0; i < g->blocks_n; i++)
		each_successor(b, i, count_edge, g);
	for (uint32_t i = 0; i < g->blocks_n; i++) {
		struct cfg_block *block = &g->blocks[i];

		block->successors = at;
		at += block->successors_n;
		block->predecessors = at;
		at += block->predecessors_n;
		block->successors_n = block->predecessors_n = 0;
	}
	g->edges = take(b, at, sizeof(*g->edges));
	for (uint32_t i = 0; !b->no_memory && i < g->blocks_n; i++)
		each_successor(b, i, add_edge, g);
}

/* Depth first without recursion; b->order ends as reverse postorder of what the entries reach. */
static void number_blocks(struct build *b)
{
	struct cfg *g = b->g;
	uint32_t *stack = take(b, g->blocks_n, sizeof(*stack));
	uint32_t *done = take(b, g->blocks_n, sizeof(*done)); /* successors looked at */
	bool *seen = take(b, g->blocks_n, sizeof(*seen));
	uint32_t depth = 0, at = g->blocks_n;

	b->order = take(b, g->blocks_n, sizeof(*b->order));
	b->number = take(b, g->blocks_n, sizeof(*b->number));
	if (b->no_memory)
		return;
	for (uint32_t root = g->blocks_n; root-- > 0;) {
		if (!g->blocks[root].is_entry || seen[root])
			continue;
		seen[root] = true;
		stack[depth++] = root;
		while (depth) {
			const uint32_t block = stack[depth - 1];
			const struct cfg_block *x = &g->blocks[block];
			uint32_t next;

			if (done[block] == x->successors_n) {
				b->order[--at] = block;
				depth--;
				continue;
			}
			next = g->edges[x->successors + done[block]++];
			if (!seen[next]) {
				seen[next] = true;
				stack[depth++] = next;
			}
		}
	}
	b->order_n = g->blocks_n - at;
	memmove(b->order, b->order + at, b->order_n * sizeof(*b->order));
	for (uint32_t i = 0; i < b->order_n; i++)
		b->number[b->order[i]] = i;
}

bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t z)
{
	const struct cfg_block *x = &g->blocks[a], *y = &g->blocks[z];

	return x->tree_first <= y->tree_first && y->tree_last <= x->tree_last && x->is_reachable &&
	       y->is_reachable;
}

bool cfg_is_within(const struct cfg *g, int64_t target)
{
	return insn_at(g, target) != CFG_NONE;
}

bool cfg_is_called(const struct cfg *g, uint32_t block)
{
	return g->blocks[block].is_reachable && !cfg_dominates(g, 0, block);
}

/* ---------------------------------------------------------------------------------------- loops */

bool cfg_in_loop(const struct cfg *g, uint32_t block, uint32_t loop)
{
	uint32_t l = g->blocks[block].loop;

	while (l != loop && l != CFG_NONE)
		l = g->loops[l].parent;
	return l == loop;
}

static bool is_back_edge(const struct cfg *g, uint32_t from, uint32_t to)
{
	return g->blocks[from].is_reachable && cfg_dominates(g, to, from);
}

bool cfg_in_every_turn(const struct cfg *g, uint32_t block, uint32_t loop)
{
	const uint32_t header = g->loops[loop].header;
	const struct cfg_block *h = &g->blocks[header];

	for (uint32_t i = 0; i < h->predecessors_n; i++) {
		const uint32_t from = g->edges[h->predecessors + i];

		if (is_back_edge(g, from, header) && !cfg_dominates(g, block, from))
			return false;
	}
	return true;
}

/* The outermost of the loops found so far that a block is in. The ways there are shortened. */
static uint32_t outermost(const struct build *b, uint32_t block)
{
	uint32_t l = b->g->blocks[block].loop;

	if (l == CFG_NONE)
		return l;
	for (; b->around[l] != l; l = b->around[l])
		b->around[l] = b->around[b->around[l]];
	return l;
}

/*
 * Headers in postorder: inner loops before the ones around them. What flows backwards into the header
 * belongs to the loop; a block that has a loop already stands for the outermost one that it is in.
 */
static void fill_loop(struct build *b, uint32_t loop, uint32_t *stack)
{
	struct cfg *g = b->g;
	struct cfg_loop *l = &g->loops[loop];
	const struct cfg_block *h = &g->blocks[l->header];
	uint32_t depth = 0;

	g->blocks[l->header].loop = loop;
	l->first = h->first;
	for (uint32_t k = 0; k < h->predecessors_n; k++) {
		const uint32_t p = g->edges[h->predecessors + k];

		if (!is_back_edge(g, p, l->header))
			continue;
		if (g->blocks[p].end - 1 > l->last)
			l->last = g->blocks[p].end - 1;
		if (p != l->header)
			stack[depth++] = p;
	}
	while (depth) {
		uint32_t block = stack[--depth], inner = outermost(b, block);

		if (inner == loop)
			continue;
		if (inner != CFG_NONE) {
			g->loops[inner].parent = b->around[inner] = loop;
			block = g->loops[inner].header;
		} else {
			g->blocks[block].loop = loop;
		}
		for (uint32_t k = 0; k < g->blocks[block].predecessors_n; k++) {
			const uint32_t p = g->edges[g->blocks[block].predecessors + k];

			if (g->blocks[p].is_reachable && outermost(b, p) != loop &&
			    cfg_dominates(g, l->header, p))
				stack[depth++] = p;
		}
	}
}

/* Only asks how the lanes of a warp stand, and goes by the answer. *votes: counts the questions. */
static bool asks_lanes(const struct cfg *g, const struct cfg_block *x, uint32_t *votes)
{
	static const char *const ops[] = {"VOTE", "VOTEU", "LOP3", "YIELD", "BRA"};
	const size_t n = sizeof(ops) / sizeof(*ops), questions = 2;

	for (uint32_t i = x->first; i < x->end; i++) {
		size_t k = 0;

		while (k < n && strcmp(sass_op(&g->insns[i]), ops[k]))
			k++;
		if (k == n)
			return false;
		*votes += k < questions;
	}
	return true;
}

/* Goes round while a lane is left (.ANY) that ELECT has not picked. */
static bool serves_lanes(const struct cfg *g, const struct cfg_block *x)
{
	const struct sass_insn *last = &g->insns[x->end - 1];

	if (cfg_flow(last) != CFG_BRANCH || !sass_bits(last->word, 84, 1) ||
	    cfg_target(last) != (int64_t)x->first * SASS_BYTES)
		return false;
	for (uint32_t i = x->first; i < x->end; i++)
		if (!strcmp(sass_op(&g->insns[i]), "ELECT"))
			return true;
	return false;
}

/* Numbers of bits that sine and cosine of large arguments multiply with, at most (Payne and Hanek). */
#define REDUCTION_INSNS 64u

/*
 * The loop in which sine and cosine reduce arguments beyond 1e5, which few are: one word of a table a turn, a product
 * of twice its width, and a word of the result into local memory, or into one of several registers by the turn.
 */
static bool reduces_argument(const struct cfg *g, const struct cfg_block *x)
{
	uint32_t loads = 0, products = 0, puts = 0;

	if (cfg_target(&g->insns[x->end - 1]) != (int64_t)x->first * SASS_BYTES ||
	    x->end - x->first > REDUCTION_INSNS)
		return false;
	for (uint32_t i = x->first; i < x->end; i++) {
		const struct sass_insn *insn = &g->insns[i];
		const struct sass_modifiers *m = &g->modifiers[i];
		const char *op = sass_op(insn);

		if (!strcmp(op, "LDG") && sass_has_modifier(m, SASS_M_CONSTANT))
			loads++;
		else if (!strcmp(op, "STL"))
			puts += 6;
		else if (!strcmp(op, "IMAD") && sass_has_modifier(m, SASS_M_WIDE) &&
			 sass_has_modifier(m, SASS_M_U32))
			products++;
		else if (insn->guard != SASS_PT && (!strcmp(op, "MOV") || !strcmp(op, "IMAD")))
			puts++;
		else if (*op == 'F' || *op == 'D' || !strcmp(op, "LDG") || !strcmp(op, "LDS") ||
			 !strncmp(op, "ST", 2) || !strncmp(op, "MUFU", 4))
			return false;
	}
	return loads == 1 && products >= 1 && puts >= 6;
}

/*
 * Loops that no source has. Before a branch by a uniform register, code for sm_75 waits until all lanes
 * agree; an instruction whose operands must be uniform serves one group of lanes after another.
 */
static void find_lane_loops(struct build *b)
{
	struct cfg *g = b->g;
	uint32_t *votes = take(b, g->loops_n, sizeof(*votes));

	for (uint32_t i = 0; votes && i < g->loops_n; i++)
		g->loops[i].is_for_lanes = true;
	for (uint32_t i = 0; votes && i < g->loops_n; i++)
		if (g->loops[i].parent != CFG_NONE)
			g->loops[g->loops[i].parent].is_for_lanes = false;
	for (uint32_t i = 0; votes && i < g->blocks_n; i++) {
		const struct cfg_block *x = &g->blocks[i];
		const uint32_t l = x->loop;

		if (l == CFG_NONE || !g->loops[l].is_for_lanes)
			continue;
		g->loops[l].is_reduction = reduces_argument(g, x);
		if (g->loops[l].is_reduction || serves_lanes(g, x))
			votes[l]++;
		else
			g->loops[l].is_for_lanes = asks_lanes(g, x, &votes[l]);
	}
	for (uint32_t i = 0; votes && i < g->loops_n; i++)
		g->loops[i].is_for_lanes &= votes[i] > 0;
}

/* What a loop has it has itself or its inner loops have; these have lower numbers. */
static void describe_loops(struct cfg *g)
{
	for (uint32_t i = 0; i < g->loops_n; i++)
		g->loops[i].is_innermost = !g->loops[i].is_for_lanes;
	for (uint32_t i = 0; i < g->blocks_n; i++) {
		const struct cfg_block *x = &g->blocks[i];
		struct cfg_loop *l = x->loop == CFG_NONE ? NULL : &g->loops[x->loop];

		if (!l)
			continue;
		l->blocks_n++;
		l->insns_n += x->end - x->first;
		if (x->first < l->first)
			l->first = x->first;
	}
	for (uint32_t i = 0; i < g->loops_n; i++) {
		const struct cfg_loop *l = &g->loops[i];
		struct cfg_loop *up = l->parent == CFG_NONE ? NULL : &g->loops[l->parent];

		if (!up)
			continue;
		up->blocks_n += l->blocks_n;
		up->insns_n += l->insns_n;
		if (l->first < up->first)
			up->first = l->first;
		if (!l->is_for_lanes)
			up->is_innermost = false;
	}
	for (uint32_t i = g->loops_n; i-- > 0;) {
		const uint32_t up = g->loops[i].parent;

		g->loops[i].depth = up == CFG_NONE ? 1 : g->loops[up].depth + 1;
	}
}

static void find_loops(struct build *b)
{
	struct cfg *g = b->g;
	uint32_t n = 0, room = 0, *stack;

	for (uint32_t i = 0; i < b->order_n; i++) {
		const struct cfg_block *x = &g->blocks[b->order[i]];
		bool is_header = false;

		room += x->predecessors_n + 1;
		for (uint32_t k = 0; k < x->predecessors_n; k++) {
			const uint32_t p = g->edges[x->predecessors + k];

			if (is_back_edge(g, p, b->order[i]))
				is_header = true;
			else if (g->blocks[p].is_reachable && b->number[p] >= i)
				g->is_irreducible = true;
		}
		n += is_header;
	}
	g->loops = take(b, n, sizeof(*g->loops));
	b->around = take(b, n, sizeof(*b->around));
	stack = take(b, (size_t)room * 2 + 1, sizeof(*stack));
	if (b->no_memory)
		return;
	for (uint32_t i = b->order_n; i-- > 0;) {
		const struct cfg_block *x = &g->blocks[b->order[i]];
		bool is_header = false;

		for (uint32_t k = 0; k < x->predecessors_n; k++)
			is_header |= is_back_edge(g, g->edges[x->predecessors + k], b->order[i]);
		if (!is_header)
			continue;
		b->around[g->loops_n] = g->loops_n;
		g->loops[g->loops_n++] =
			(struct cfg_loop){.header = b->order[i], .parent = CFG_NONE};
		fill_loop(b, g->loops_n - 1, stack);
	}
	find_lane_loops(b);
	describe_loops(g);
}

int cfg_build(struct cfg *g, struct arena *arena, int sm, const struct cubin_function *f,
	      struct err *e)
{
	struct build b = {.g = g, .arena = arena, .f = f};
	const struct buf code = f->code;

	*g = (struct cfg){.sm = sm, .is_complete = true};
	if (!sass_has(sm))
		return err_set(e, ERR_VERSION, -1, "sm_%d: an architecture that is not known", sm);
	if (code.bytes % SASS_BYTES)
		return err_set(e, ERR_TRUNCATED,
			       (int64_t)(code.origin + code.bytes - code.bytes % SASS_BYTES),
			       "code of %.80s ends within an instruction", f->name ? f->name : "");
	if (code.bytes / SASS_BYTES > UINT32_MAX / 2)
		return err_set(e, ERR_LIMIT, -1, "too much code");
	g->insns_n = (uint32_t)(code.bytes / SASS_BYTES);
	if (!g->insns_n)
		return 0;
	decode(&b, code);
	if (!b.no_memory)
		find_leaders(&b);
	if (!b.no_memory)
		make_blocks(&b);
	if (!b.no_memory)
		make_edges(&b);
	if (!b.no_memory)
		number_blocks(&b);
	if (!b.no_memory)
		b.no_memory = !cfg_find_dominators(g, arena);
	if (!b.no_memory)
		find_loops(&b);
	if (!b.no_memory)
		cfg_find_rare(g);
	return b.no_memory ? err_set(e, ERR_MEMORY, -1, "no memory") : 0;
}
