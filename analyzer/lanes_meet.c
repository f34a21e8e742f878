/*
 * lanes_meet.c - where two ways meet: what of the registers, predicates and spilled registers holds by both. What lanes
 * differ by stays where it is the same, what they share becomes a symbol of the place. See lanes.c.
 */
#include <string.h>

#include "arena.h"
#include "lanes_walk.h"

#define VISITS_FREE   6u /* of a block; later, what still changes is unknown */
#define VISITS_AFRESH 3u /* of a loop's first block, whose changes begin its turn afresh */
#define GROUPS        64u
#define ALIGNED_FIRST 63u

/* ------------------------------------------------------------------------------------- meeting */

/* What two values of one register are, and which symbol stands for what they share. */
struct group {
	uint32_t a, b; /* forms; of upper halves the whole forms */
	uint32_t low_a, low_b;
	uint32_t value;  /* form of the result, LANES_NONE = none */
	unsigned q;      /* the register that it was made for */
	bool is_claimed; /* a register has its lower half */
};

struct meeting {
	struct lanes_walk *w;
	uint32_t block;
	struct lanes_state *old;
	const struct lanes_state *in;
	bool is_back;        /* from the end of a turn of the loop that begins here */
	bool is_one_crew;    /* all lanes come by one of the ways */
	bool is_final;       /* what changes now is unknown */
	uint32_t take, both; /* lanes that come only by the new way; by either */
	struct group groups[GROUPS];
	unsigned groups_n;
	bool is_changed;
};

static uint32_t read_cell(const struct lanes_walk *w, const struct lanes_state *s, unsigned i)
{
	return i < w->run.registers ? s->r[i] : s->ur[i - w->run.registers];
}

static bool is_joined_here(const struct meeting *m, uint32_t form)
{
	const struct lanes_values *v = &m->w->run.v;

	return v->forms.at[form].terms && lanes_mentions(v, form, LANES_JOINED, m->block);
}

/* By how much it grows from one time to the next. */
static void note_step(struct lanes_values *v, uint32_t symbol, uint32_t in, uint32_t from)
{
	const uint32_t d = lanes_lower(v, lanes_add(v, lanes_without_pattern(v, in),
						    lanes_scale(v, from, UINT64_MAX)));
	struct lanes_symbol *s = &v->symbols.at[symbol];
	uint32_t number;

	if (d == LANES_NONE || !lanes_is_number(v, d << 2 | LANES_LOW, &number) ||
	    (s->step_known && s->step != (int32_t)number)) {
		s->step_known = 2;
	} else if (!s->step_known) {
		s->step_known = 1;
		s->step = (int32_t)number;
	}
}

/* What comes from the end of a turn says how the value grows, what comes from outside how it begins. */
static void note_growth(struct meeting *m, uint32_t symbol, uint32_t old, uint32_t in)
{
	struct lanes_values *v = &m->w->run.v;
	const uint32_t parent = v->symbols.at[symbol].parent;

	if (m->is_back && is_joined_here(m, in))
		note_step(v, symbol, in, lanes_term(v, symbol, 1));
	else if (m->is_back && !is_joined_here(m, old)) /* the first turn */
		note_step(v, symbol, in, parent);
	else if (m->is_back)
		v->symbols.at[symbol].step_known = 2;
	else if (lanes_lower(v, lanes_without_pattern(v, in)) != lanes_lower(v, parent))
		v->symbols.at[symbol].is_reentered = true;
}

/* How far the new value is a multiple of a power of two away from what the symbol began with. */
static void note_alignment(struct meeting *m, uint32_t symbol, uint32_t in)
{
	struct lanes_values *v = &m->w->run.v;
	const uint32_t parent = v->symbols.at[symbol].parent;
	uint64_t residue, modulus;
	uint32_t from = is_joined_here(m, in) ? lanes_term(v, symbol, 1) : parent, d;
	unsigned aligned = 0;

	d = lanes_add(v, lanes_without_pattern(v, in), lanes_scale(v, from, UINT64_MAX));
	if (d != LANES_NONE) {
		modulus = lanes_alignment(v, d, UINT64_C(1) << 12, false, &residue);
		aligned = residue ? (unsigned)__builtin_ctzll(residue)
				  : (unsigned)__builtin_ctzll(modulus);
		if (!residue && !v->forms.at[d].terms && !v->forms.at[d].base)
			aligned = ALIGNED_FIRST;
	}
	if (aligned < v->symbols.at[symbol].aligned)
		v->symbols.at[symbol].aligned = (uint8_t)aligned;
}

/* The symbol of what register q shares in front of the block, with the offsets that both values have. */
static uint32_t joined(struct meeting *m, unsigned q, uint32_t old, uint32_t in, bool is_upper)
{
	struct lanes_values *v = &m->w->run.v;
	const struct lanes_form f = v->forms.at[old];
	struct lanes_symbol s = {
		.kind = LANES_JOINED,
		.aligned = ALIGNED_FIRST,
		.owner = m->block,
		.reasons = lanes_form_reasons(v, old) | lanes_form_reasons(v, in),
		.key = q | (uint64_t)is_upper << 32,
		.parent = is_joined_here(m, old) ? 0 : lanes_without_pattern(v, old),
	};
	const size_t before = v->symbols.n;
	const uint32_t symbol = lanes_symbol(v, &s);
	uint8_t aligned;

	if (symbol == LANES_NONE)
		return symbol;
	aligned = v->symbols.at[symbol].aligned;
	note_growth(m, symbol, old, in);
	note_alignment(m, symbol, in);
	if (!is_joined_here(m, old))
		note_alignment(m, symbol, old);
	/* something may have been concluded from what was known of it */
	if (symbol < before && v->symbols.at[symbol].aligned != aligned)
		m->w->is_stale = true;
	return lanes_add(v, lanes_term(v, symbol, 1),
			 lanes_form(v, 0, 0, f.pattern, f.is_assumed | v->forms.at[in].is_assumed));
}

static struct group *find_group(struct meeting *m, uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < m->groups_n; i++)
		if (m->groups[i].a == a && m->groups[i].b == b)
			return &m->groups[i];
	return NULL;
}

/*
 * The whole value of which register q is the lower half. Of several (pointers may be alike below) that of the register
 * next to it, else one that has no lower half yet: whoever is added to it must find its own.
 */
static struct group *find_whole(struct meeting *m, unsigned q, uint32_t a, uint32_t b)
{
	struct group *found = NULL;

	for (unsigned i = 0; i < m->groups_n; i++) {
		struct group *g = &m->groups[i];

		if (g->low_a != a || g->low_b != b || g->value == LANES_NONE)
			continue;
		if (g->q == q + 1)
			return g;
		if (!found || (found->is_claimed && !g->is_claimed))
			found = g;
	}
	return found;
}

static uint32_t meet_forms(struct meeting *m, unsigned q, uint32_t a, uint32_t b, bool is_upper)
{
	struct lanes_values *v = &m->w->run.v;
	struct group *g = find_group(m, a, b);
	uint32_t value = LANES_NONE;

	if (g)
		return g->value;
	if (v->forms.at[a].pattern == v->forms.at[b].pattern)
		value = joined(m, q, a, b, is_upper);
	if (m->groups_n < GROUPS)
		m->groups[m->groups_n++] = (struct group){a,
							  b,
							  is_upper ? lanes_lower(v, a) : LANES_NONE,
							  is_upper ? lanes_lower(v, b) : LANES_NONE,
							  value,
							  q,
							  false};
	return value;
}

/* Register q is the upper half of one value and a number in the other: of what is the number the upper half? */
static uint32_t whole(struct meeting *m, const struct lanes_state *s,
		      const struct lanes_state *other, unsigned q, uint32_t form)
{
	struct lanes_values *v = &m->w->run.v;
	const unsigned n = lanes_cells(&m->w->run);

	for (unsigned k = 0; k < n; k++) {
		const unsigned p = (q + n - 1 + k) % n; /* most often the register below */
		const uint32_t low = read_cell(m->w, other, p);

		if (lanes_half(low) == LANES_LOW && lanes_of(low) == lanes_lower(v, form) &&
		    lanes_half(read_cell(m->w, s, p)) == LANES_LOW)
			return lanes_pair(v, read_cell(m->w, s, p), read_cell(m->w, s, q));
	}
	return LANES_NONE;
}

static bool is_address(const struct meeting *m, unsigned q)
{
	return q < m->w->run.registers && m->w->run.c->is_address[q / 8 % 32] >> q % 8 & 1;
}

/* Register q may be written again before the loop that begins with the block comes back to it. */
static bool moves_in_loop(const struct meeting *m, unsigned q)
{
	const struct cfg *g = m->w->g;
	const uint32_t loop = g->blocks[m->block].loop;

	return loop != CFG_NONE && g->loops[loop].header == m->block &&
	       m->w->run.c->loop_writes[loop].r[q / 64] >> q % 64 & 1;
}

/* Both halves of 64 bits that belong together in both values, as one form each; false = they do not. */
static bool both_whole(struct meeting *m, unsigned q, uint32_t a, uint32_t b, uint32_t *x,
		       uint32_t *y)
{
	struct lanes_values *v = &m->w->run.v;

	if (lanes_half(a) == LANES_HIGH && lanes_half(b) == LANES_HIGH) {
		*x = lanes_of(a);
		*y = lanes_of(b);
		return true;
	}
	if (lanes_half(a) == LANES_HIGH || lanes_half(b) == LANES_HIGH) {
		*x = lanes_half(a) == LANES_HIGH ? lanes_of(a)
						 : whole(m, m->old, m->in, q, lanes_of(b));
		*y = lanes_half(b) == LANES_HIGH ? lanes_of(b)
						 : whole(m, m->in, m->old, q, lanes_of(a));
		return *x != LANES_NONE && *y != LANES_NONE;
	}
	/* an address whose lower half moves */
	if (!q || !is_address(m, q - 1) || !moves_in_loop(m, q) ||
	    read_cell(m->w, m->old, q - 1) == read_cell(m->w, m->in, q - 1))
		return false;
	*x = lanes_pair(v, read_cell(m->w, m->old, q - 1), a);
	*y = lanes_pair(v, read_cell(m->w, m->in, q - 1), b);
	return *x != LANES_NONE && *y != LANES_NONE;
}

static uint32_t parted(const struct meeting *m, uint32_t a, uint32_t b)
{
	const struct lanes_values *v = &m->w->run.v;

	return lanes_unknown(lanes_reasons(v, a) | lanes_reasons(v, b) |
			     (m->is_final ? LANES_LIMIT : LANES_PARTED));
}

/* Lanes of both values come together. */
static uint32_t mixed(struct meeting *m, uint32_t a, uint32_t b)
{
	struct lanes_values *v = &m->w->run.v;
	const uint32_t one = lanes_select(v, a, b, m->take);

	if (!m->both || one == lanes_select(v, a, b, m->take | m->both))
		return one;
	return parted(m, a, b);
}

/* Upper halves first: they say which lower ones are theirs. */
static void meet_cell(struct meeting *m, unsigned q, bool only_upper, uint32_t *result)
{
	struct lanes_values *v = &m->w->run.v;
	const uint32_t a = read_cell(m->w, m->old, q), b = read_cell(m->w, m->in, q);
	const bool is_known = lanes_half(a) != LANES_UNKNOWN && lanes_half(b) != LANES_UNKNOWN;
	struct group *g;
	uint32_t x, y, value;

	if (!is_known) {
		if (!only_upper)
			*result = a == b ? a : parted(m, a, b);
		return;
	}
	if (!m->is_one_crew) {
		if (!only_upper)
			*result = a == b && !is_joined_here(m, lanes_of(a)) ? a : mixed(m, a, b);
		return;
	}
	if (only_upper && (a != b || lanes_half(a) == LANES_HIGH || is_address(m, q - 1)) &&
	    both_whole(m, q, a, b, &x, &y) && (x != y || is_joined_here(m, x))) {
		value = meet_forms(m, q, x, y, true);
		*result = value == LANES_NONE ? parted(m, a, b) : lanes_high(v, value);
		return;
	}
	if (only_upper || *result != LANES_NONE)
		return;
	if (a == b && !is_joined_here(m, lanes_of(a))) {
		*result = a;
		return;
	}
	if (lanes_half(a) != LANES_LOW || lanes_half(b) != LANES_LOW) {
		*result = parted(m, a, b);
		return;
	}
	g = find_whole(m, q, lanes_of(a), lanes_of(b));
	value = g ? g->value : meet_forms(m, q, lanes_of(a), lanes_of(b), false);
	if (g)
		g->is_claimed = true;
	*result = value == LANES_NONE ? parted(m, a, b) : lanes_low(v, value);
}

static void meet_registers(struct meeting *m)
{
	const unsigned n = lanes_cells(&m->w->run);
	uint32_t result[2 * LANES_REGS];

	for (unsigned q = 0; q < n; q++) {
		result[q] = LANES_NONE;
		meet_cell(m, q, true, &result[q]);
	}
	for (unsigned q = 0; q < n; q++)
		meet_cell(m, q, false, &result[q]);
	for (unsigned q = 0; q < n; q++) {
		uint32_t *to = lanes_cell(&m->w->run, m->old, q);

		if (result[q] == LANES_NONE ||
		    (m->is_final && *to != result[q] && lanes_half(result[q]) != LANES_UNKNOWN))
			result[q] = parted(m, *to, read_cell(m->w, m->in, q));
		m->is_changed |= *to != result[q];
		*to = result[q];
	}
}

static bool is_of_block(const struct lanes_symbol *s, const void *ctx)
{
	return s->kind == LANES_JOINED && s->owner == *(const uint32_t *)ctx;
}

/* It says the same of lanes that come by either way: made before they parted, of values that they share. */
static bool is_same_for_both(const struct meeting *m, const struct lanes_pred *a,
			     const struct lanes_pred *b)
{
	return a->compared[0] != LANES_NONE && !memcmp(a, b, sizeof(*a)) &&
	       !lanes_has_origin(&m->w->run, a, is_of_block, &m->block);
}

static void meet_pred(struct meeting *m, struct lanes_pred *a, const struct lanes_pred *b)
{
	const uint32_t lanes = m->old->crew.lanes | m->in->crew.lanes;
	struct lanes_pred p = *a;

	if (!m->is_one_crew && is_same_for_both(m, a, b))
		return;

	p.known = (a->known & b->known & ~(a->value ^ b->value) & m->both) | (b->known & m->take) |
		  (a->known & ~m->take & ~m->both);
	if (m->is_one_crew)
		p.known = a->known & b->known & ~(a->value ^ b->value);
	p.value = ((b->value & m->take) | (a->value & ~m->take)) & p.known;
	p.is_uniform = m->is_one_crew && !(p.known & lanes) &&
		       (a->is_uniform || lanes_all(a, lanes, true) || lanes_all(a, lanes, false)) &&
		       (b->is_uniform || lanes_all(b, lanes, true) || lanes_all(b, lanes, false));
	if (p.is_uniform)
		p.known = p.value = 0;
	p.reasons |= b->reasons | (a->reasons == 0 && p.known != LANES_ALL ? LANES_PARTED : 0);
	if (a->carry[0] != b->carry[0] || a->carry[1] != b->carry[1] || !m->is_one_crew ||
	    memcmp(a->compared, b->compared, sizeof(a->compared)) || a->relation != b->relation ||
	    a->is_unsigned != b->is_unsigned || a->is_opposite != b->is_opposite ||
	    lanes_has_origin(&m->w->run, &p, is_of_block, &m->block))
		lanes_plain(&p);
	if (memcmp(&p, a, sizeof(p))) {
		if (m->is_final)
			p = lanes_open(false, p.reasons | LANES_LIMIT);
		m->is_changed |= memcmp(&p, a, sizeof(p)) != 0;
		*a = p;
	}
}

static void meet_crew(struct meeting *m, struct lanes_crew *a, const struct lanes_crew *b,
		      bool is_one)
{
	struct lanes_crew c = *a;

	c.lanes |= b->lanes;
	c.absent |= b->absent;
	c.opened = lanes_opened_by_both(a->opened, b->opened);
	c.within |= b->within;
	if (a->lanes != b->lanes)
		c.absent |= LANES_PARTED;
	c.is_apart |= b->is_apart;
	if (!is_one) {
		c.is_split = LANES_SPLIT_MIXED;
		c.is_apart = 1;
	}
	m->is_changed |= memcmp(a, &c, sizeof(c)) != 0;
	*a = c;
}

static bool comes_back(const struct cfg *g, uint32_t from, uint32_t block)
{
	const uint32_t loop = g->blocks[block].loop;

	return from != CFG_NONE && loop != CFG_NONE && g->loops[loop].header == block &&
	       cfg_in_loop(g, from, loop);
}

static bool is_one_crew(const struct lanes_crew *a, const struct lanes_crew *b)
{
	return a->is_split == b->is_split && a->is_split != LANES_SPLIT_MIXED;
}

/* Spilled registers stay where they are the same by both ways. */
static void meet_slots(struct meeting *m)
{
	struct lanes_state *s = m->old;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->slots_n; i++) {
		const struct lanes_slot x = s->slots[i];
		bool is_same = false;

		for (uint32_t k = 0; k < m->in->slots_n && !is_same; k++)
			is_same = m->in->slots[k].address == x.address &&
				  m->in->slots[k].value == x.value;
		if (is_same && !is_joined_here(m, x.address) &&
		    (lanes_half(x.value) == LANES_UNKNOWN || !is_joined_here(m, lanes_of(x.value))))
			s->slots[n++] = x;
	}
	m->is_changed |= n != s->slots_n;
	s->slots_n = n;
}

/*
 * A turn of a loop that begins with less than the one before: what its blocks were reached with is of another turn, and
 * must not meet what they are reached with now, lanes that parted within the loop least of all.
 */
static void begin_turn(struct lanes_walk *w, uint32_t header)
{
	const uint32_t loop = w->g->blocks[header].loop;

	if (w->g->is_irreducible)
		return;
	for (uint32_t b = 0; b < w->g->blocks_n; b++) {
		struct lanes_place *p = &w->places[b];

		if (b == header || !p->in || !cfg_in_loop(w->g, b, loop))
			continue;
		p->spare = p->in;
		p->in = NULL;
		p->is_waiting = false;
		p->visits = 0;
	}
}

void lanes_arrive(struct lanes_walk *w, uint32_t from, uint32_t block, const struct lanes_state *s)
{
	struct lanes_place *p = &w->places[block];
	struct meeting m = {.w = w, .block = block, .in = s};

	if (!s->crew.lanes)
		return;
	if (!p->in) {
		p->in = p->spare ? p->spare : arena_alloc(w->arena, sizeof(*s));
		w->no_memory |= !p->in;
		if (p->in)
			*p->in = *s;
		p->is_waiting = p->in != NULL;
		return;
	}
	m.old = p->in;
	m.is_back = comes_back(w->g, from, block);
	m.is_one_crew = is_one_crew(&p->in->crew, &s->crew);
	m.is_final = p->visits > VISITS_FREE;
	m.take = s->crew.lanes & ~p->in->crew.lanes;
	m.both = s->crew.lanes & p->in->crew.lanes;
	meet_registers(&m);
	meet_slots(&m);
	for (unsigned i = 0; i < LANES_PREDS; i++) {
		meet_pred(&m, &p->in->p[i], &s->p[i]);
		meet_pred(&m, &p->in->up[i], &s->up[i]);
	}
	for (unsigned i = 0; i < LANES_BARRIERS; i++)
		meet_crew(&m, &p->in->saved[i], &s->saved[i],
			  p->in->saved[i].is_split == s->saved[i].is_split);
	meet_crew(&m, &p->in->crew, &s->crew, m.is_one_crew);
	p->is_waiting |= m.is_changed;
	if (m.is_back && m.is_changed && p->visits <= VISITS_AFRESH)
		begin_turn(w, block);
}
