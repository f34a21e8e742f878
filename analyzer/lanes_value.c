/*
 * lanes_value.c - see lanes_value.h. Everything is interned through keymap.h; arithmetic makes the parts of
 * the result and interns them.
 */
#include "lanes_value.h"

#include "arena.h"

#define FORMS_MOST    (1u << 18)
#define PATTERNS_MOST (1u << 14)
#define SYMBOLS_MOST  (1u << 16)
#define REACH_MOST    4096u
#define DEPTH_MOST    32u /* of symbols made of symbols */

bool lanes_values_init(struct lanes_values *v, struct arena *arena)
{
	memset(v, 0, sizeof(*v));
	v->arena = arena;
	/* Term list 0 and pattern 0 are empty; form 0 is the number 0. */
	return vec_add(&v->terms) && vec_add(&v->patterns) && lanes_form(v, 0, 0, 0, false) == 0;
}

void lanes_values_free(struct lanes_values *v)
{
	vec_fini(&v->symbols);
	vec_fini(&v->terms);
	vec_fini(&v->patterns);
	vec_fini(&v->forms);
	vec_fini(&v->lower);
	keymap_fini(&v->symbol_ids);
	keymap_fini(&v->term_ids);
	keymap_fini(&v->pattern_ids);
	keymap_fini(&v->form_ids);
}

static uint32_t full(struct lanes_values *v)
{
	v->is_full = true;
	return LANES_NONE;
}

/* ------------------------------------------------------------------------------------- interning */

uint32_t lanes_symbol(struct lanes_values *v, const struct lanes_symbol *s)
{
	const struct {
		uint64_t kind_owner, key, parent;
	} key = {(uint64_t)s->kind << 32 | s->owner, s->key,
		 s->kind >= LANES_SIGNED ? s->parent : LANES_NONE};
	uint32_t *id = keymap_put(&v->symbol_ids, v->arena, &key, sizeof(key));
	struct lanes_symbol *made;

	if (!id || (*id == KEYMAP_NONE && v->symbols.n >= SYMBOLS_MOST))
		return full(v);
	if (*id != KEYMAP_NONE) {
		v->symbols.at[*id].reasons |= s->reasons;
		return *id;
	}
	made = vec_add(&v->symbols);
	if (!made)
		return full(v);
	*made = *s;
	return *id = (uint32_t)v->symbols.n - 1;
}

static uint32_t intern_terms(struct lanes_values *v, const struct lanes_terms *t)
{
	struct lanes_terms key, *made;
	uint32_t *id;

	if (!t->n)
		return 0;
	memset(&key, 0, sizeof(key)); /* with its padding */
	key.n = t->n;
	memcpy(key.symbol, t->symbol, t->n * sizeof(*t->symbol));
	memcpy(key.coefficient, t->coefficient, t->n * sizeof(*t->coefficient));
	id = keymap_put(&v->term_ids, v->arena, &key, sizeof(key));
	if (!id)
		return full(v);
	if (*id != KEYMAP_NONE)
		return *id;
	made = vec_add(&v->terms);
	if (!made)
		return full(v);
	*made = key;
	return *id = (uint32_t)v->terms.n - 1;
}

static uint32_t intern_pattern(struct lanes_values *v, const struct lanes_pattern *p)
{
	static const struct lanes_pattern none;
	struct lanes_pattern *made;
	uint32_t *id;

	if (!memcmp(p, &none, sizeof(none)))
		return 0;
	if (v->patterns.n >= PATTERNS_MOST)
		return full(v);
	id = keymap_put(&v->pattern_ids, v->arena, p, sizeof(*p));
	if (!id)
		return full(v);
	if (*id != KEYMAP_NONE)
		return *id;
	made = vec_add(&v->patterns);
	if (!made)
		return full(v);
	*made = *p;
	return *id = (uint32_t)v->patterns.n - 1;
}

uint32_t lanes_form(struct lanes_values *v, uint64_t base, uint32_t terms, uint32_t pattern,
		    bool is_assumed)
{
	const struct {
		uint64_t base;
		uint32_t terms, pattern;
		uint64_t is_assumed;
	} key = {base, terms, pattern, is_assumed};
	struct lanes_form *made;
	uint32_t *id, *lower;

	if (terms == LANES_NONE || pattern == LANES_NONE || v->forms.n >= FORMS_MOST)
		return full(v);
	id = keymap_put(&v->form_ids, v->arena, &key, sizeof(key));
	if (!id)
		return full(v);
	if (*id != KEYMAP_NONE)
		return *id;
	made = vec_add(&v->forms);
	lower = made ? vec_add(&v->lower) : NULL;
	if (!lower)
		return full(v);
	*made = (struct lanes_form){base, terms, pattern, is_assumed};
	*lower = LANES_NONE;
	return *id = (uint32_t)v->forms.n - 1;
}

uint32_t lanes_of_numbers(struct lanes_values *v, const uint64_t number[LANES])
{
	struct lanes_pattern p;

	for (unsigned i = 0; i < LANES; i++)
		p.at[i] = (int64_t)(number[i] - number[0]);
	return lanes_form(v, number[0], 0, intern_pattern(v, &p), false);
}

bool lanes_form_numbers(const struct lanes_values *v, uint32_t form, uint64_t number[LANES])
{
	const struct lanes_form *f;

	if (form == LANES_NONE)
		return false;
	f = &v->forms.at[form];
	if (f->terms)
		return false;
	for (unsigned i = 0; i < LANES; i++)
		number[i] = f->base + (uint64_t)v->patterns.at[f->pattern].at[i];
	return true;
}

/* ------------------------------------------------------------------------------------- arithmetic */

static uint32_t add_patterns(struct lanes_values *v, uint32_t a, uint32_t b)
{
	struct lanes_pattern p;

	if (!a || !b)
		return a ? a : b;
	for (unsigned i = 0; i < LANES; i++)
		p.at[i] = (int64_t)((uint64_t)v->patterns.at[a].at[i] +
				    (uint64_t)v->patterns.at[b].at[i]);
	return intern_pattern(v, &p);
}

static bool add_term(struct lanes_terms *t, uint32_t symbol, uint64_t coefficient)
{
	uint32_t i = 0;

	while (i < t->n && t->symbol[i] < symbol)
		i++;
	if (i < t->n && t->symbol[i] == symbol) {
		t->coefficient[i] += coefficient;
		if (t->coefficient[i])
			return true;
		t->n--;
		memmove(&t->symbol[i], &t->symbol[i + 1], (t->n - i) * sizeof(*t->symbol));
		memmove(&t->coefficient[i], &t->coefficient[i + 1],
			(t->n - i) * sizeof(*t->coefficient));
		return true;
	}
	if (!coefficient)
		return true;
	if (t->n == LANES_TERMS)
		return false;
	memmove(&t->symbol[i + 1], &t->symbol[i], (t->n - i) * sizeof(*t->symbol));
	memmove(&t->coefficient[i + 1], &t->coefficient[i], (t->n - i) * sizeof(*t->coefficient));
	t->symbol[i] = symbol;
	t->coefficient[i] = coefficient;
	t->n++;
	return true;
}

uint32_t lanes_term(struct lanes_values *v, uint32_t symbol, uint64_t coefficient)
{
	struct lanes_terms t = {.n = 0};

	if (symbol == LANES_NONE || !add_term(&t, symbol, coefficient))
		return LANES_NONE;
	return lanes_form(v, 0, intern_terms(v, &t), 0, false);
}

uint32_t lanes_add(struct lanes_values *v, uint32_t a, uint32_t b)
{
	struct lanes_form x, y;
	struct lanes_terms t;

	if (a == LANES_NONE || b == LANES_NONE)
		return LANES_NONE;
	x = v->forms.at[a];
	y = v->forms.at[b];
	t = v->terms.at[x.terms];
	for (uint32_t i = 0; i < v->terms.at[y.terms].n; i++)
		if (!add_term(&t, v->terms.at[y.terms].symbol[i],
			      v->terms.at[y.terms].coefficient[i]))
			return LANES_NONE;
	return lanes_form(v, x.base + y.base, !y.terms ? x.terms : intern_terms(v, &t),
			  add_patterns(v, x.pattern, y.pattern), x.is_assumed | y.is_assumed);
}

uint32_t lanes_scale(struct lanes_values *v, uint32_t form, uint64_t factor)
{
	struct lanes_pattern p;
	struct lanes_terms t = {.n = 0};
	struct lanes_form f;

	if (form == LANES_NONE || factor == 1)
		return form;
	f = v->forms.at[form];
	for (uint32_t i = 0; i < v->terms.at[f.terms].n; i++)
		add_term(&t, v->terms.at[f.terms].symbol[i],
			 v->terms.at[f.terms].coefficient[i] * factor);
	for (unsigned i = 0; i < LANES; i++)
		p.at[i] = (int64_t)((uint64_t)v->patterns.at[f.pattern].at[i] * factor);
	return lanes_form(v, f.base * factor, intern_terms(v, &t),
			  f.pattern ? intern_pattern(v, &p) : 0, f.is_assumed);
}

static bool is_plain_number(const struct lanes_values *v, uint32_t form)
{
	return !v->forms.at[form].terms && !v->forms.at[form].pattern;
}

uint32_t lanes_multiply(struct lanes_values *v, uint32_t a, uint32_t b)
{
	uint64_t x[LANES], y[LANES];

	if (a == LANES_NONE || b == LANES_NONE)
		return LANES_NONE;
	if (is_plain_number(v, a))
		return lanes_scale(v, b, v->forms.at[a].base);
	if (is_plain_number(v, b))
		return lanes_scale(v, a, v->forms.at[b].base);
	if (!lanes_form_numbers(v, a, x) || !lanes_form_numbers(v, b, y))
		return LANES_NONE;
	for (unsigned i = 0; i < LANES; i++)
		x[i] *= y[i];
	return lanes_of_numbers(v, x);
}

uint32_t lanes_without_pattern(struct lanes_values *v, uint32_t form)
{
	const struct lanes_form f = form == LANES_NONE ? (struct lanes_form){0} : v->forms.at[form];

	return form == LANES_NONE ? form : lanes_form(v, f.base, f.terms, 0, f.is_assumed);
}

static int64_t low32(uint64_t n)
{
	return (int64_t)(int32_t)(uint32_t)n;
}

/*
 * Sums of 32 bits have coefficients and offsets from -2^31 on and a base from 0 on; an extended value has the
 * lower half of what was extended.
 */
static uint32_t make_lower(struct lanes_values *v, uint32_t form)
{
	const struct lanes_form f = v->forms.at[form];
	const struct lanes_terms from = v->terms.at[f.terms];
	struct lanes_terms t = {.n = 0};
	struct lanes_pattern p;
	uint32_t sum, inner = 0;
	bool is_done = true;

	for (uint32_t i = 0; i < from.n; i++) {
		const struct lanes_symbol s = v->symbols.at[from.symbol[i]];
		const uint64_t c = (uint64_t)low32(from.coefficient[i]);

		if (s.kind == LANES_SIGNED || s.kind == LANES_UNSIGNED) {
			inner = lanes_add(v, inner, lanes_scale(v, s.parent, c));
			is_done = false;
		} else {
			add_term(&t, from.symbol[i], c);
		}
	}
	for (unsigned i = 0; i < LANES; i++)
		p.at[i] = low32((uint64_t)v->patterns.at[f.pattern].at[i]);
	sum = lanes_form(v, (uint32_t)f.base, intern_terms(v, &t),
			 f.pattern ? intern_pattern(v, &p) : 0, f.is_assumed);
	if (is_done)
		return sum;
	sum = lanes_add(v, sum, inner);
	return sum == LANES_NONE || sum == form ? sum : lanes_lower(v, sum);
}

uint32_t lanes_lower(struct lanes_values *v, uint32_t form)
{
	uint32_t found;

	if (form == LANES_NONE)
		return form;
	if (v->lower.at[form] != LANES_NONE)
		return v->lower.at[form];
	found = make_lower(v, form);
	return v->lower.at[form] = found;
}

/* ------------------------------------------------------------------------------------- registers */

uint32_t lanes_low(struct lanes_values *v, uint32_t form)
{
	const uint32_t f = lanes_lower(v, form);

	return f == LANES_NONE ? lanes_unknown(LANES_LIMIT) : f << 2 | LANES_LOW;
}

/* Positions in a grid are small numbers. */
static bool is_below_32_bits(const struct lanes_values *v, uint32_t form)
{
	for (unsigned i = 0; i < LANES; i++) {
		int64_t low, high;

		if (!lanes_range(v, form, false, i, &low, &high) || low < 0 || high > UINT32_MAX)
			return false;
	}
	return true;
}

uint32_t lanes_high(struct lanes_values *v, uint32_t form)
{
	uint64_t n[LANES];

	if (form == LANES_NONE)
		return lanes_unknown(LANES_LIMIT);
	if (!lanes_form_numbers(v, form, n))
		return is_below_32_bits(v, form) ? lanes_uniform(v, 0) : form << 2 | LANES_HIGH;
	for (unsigned i = 0; i < LANES; i++)
		n[i] >>= 32;
	return lanes_low(v, lanes_of_numbers(v, n));
}

uint32_t lanes_uniform(struct lanes_values *v, uint32_t number)
{
	return lanes_low(v, lanes_form(v, number, 0, 0, false));
}

uint32_t lanes_known(struct lanes_values *v, const uint32_t number[LANES])
{
	uint64_t n[LANES];

	for (unsigned i = 0; i < LANES; i++)
		n[i] = number[i];
	return lanes_low(v, lanes_of_numbers(v, n));
}

bool lanes_numbers(const struct lanes_values *v, uint32_t value, uint32_t number[LANES])
{
	const struct lanes_form *f;

	if (lanes_half(value) != LANES_LOW)
		return false;
	f = &v->forms.at[lanes_of(value)];
	if (f->terms)
		return false;
	for (unsigned i = 0; i < LANES; i++)
		number[i] = (uint32_t)(f->base + (uint64_t)v->patterns.at[f->pattern].at[i]);
	return true;
}

bool lanes_is_number(const struct lanes_values *v, uint32_t value, uint32_t *number)
{
	if (lanes_half(value) != LANES_LOW || !is_plain_number(v, lanes_of(value)))
		return false;
	*number = (uint32_t)v->forms.at[lanes_of(value)].base;
	return true;
}

bool lanes_is_uniform(const struct lanes_values *v, uint32_t value)
{
	return lanes_half(value) != LANES_UNKNOWN && !v->forms.at[lanes_of(value)].pattern;
}

uint32_t lanes_form_reasons(const struct lanes_values *v, uint32_t form)
{
	const struct lanes_terms *t = &v->terms.at[v->forms.at[form].terms];
	uint32_t reasons = 0;

	for (uint32_t i = 0; i < t->n; i++)
		reasons |= v->symbols.at[t->symbol[i]].reasons;
	return reasons;
}

uint32_t lanes_reasons(const struct lanes_values *v, uint32_t value)
{
	return lanes_half(value) == LANES_UNKNOWN ? lanes_of(value)
						  : lanes_form_reasons(v, lanes_of(value));
}

static uint32_t derived(struct lanes_values *v, uint8_t kind, uint32_t parent)
{
	const struct lanes_symbol s = {
		.kind = kind,
		.owner = LANES_NONE,
		.reasons = lanes_form_reasons(v, parent),
		.parent = parent,
	};

	return lanes_term(v, lanes_symbol(v, &s), 1);
}

/* Of an upper half: what is a multiple of 2^32 is taken out, the rest must be the same in all lanes. */
static uint32_t sum_of_upper(struct lanes_values *v, uint32_t form)
{
	const struct lanes_form f = v->forms.at[form];
	const struct lanes_terms from = v->terms.at[f.terms];
	struct lanes_terms whole = {.n = 0}, rest = {.n = 0};
	struct lanes_pattern p;

	for (uint32_t i = 0; i < from.n; i++) {
		const uint64_t c = from.coefficient[i];

		if ((uint32_t)c)
			add_term(&rest, from.symbol[i], c);
		else
			add_term(&whole, from.symbol[i], c >> 32);
	}
	for (unsigned i = 0; i < LANES; i++) {
		p.at[i] = v->patterns.at[f.pattern].at[i] >> 32;
		if ((uint32_t)v->patterns.at[f.pattern].at[i])
			return LANES_NONE;
	}
	form = lanes_form(v, f.base >> 32, intern_terms(v, &whole),
			  f.pattern ? intern_pattern(v, &p) : 0, f.is_assumed);
	if (rest.n) {
		const uint32_t low =
			lanes_form(v, (uint32_t)f.base, intern_terms(v, &rest), 0, f.is_assumed);

		if (low == LANES_NONE)
			return low;
		form = lanes_add(v, form, derived(v, LANES_UPPER, low));
	}
	return lanes_lower(v, form);
}

uint32_t lanes_sum(struct lanes_values *v, uint32_t value)
{
	switch (lanes_half(value)) {
	case LANES_LOW: return lanes_of(value);
	case LANES_HIGH: return sum_of_upper(v, lanes_of(value));
	default: return LANES_NONE;
	}
}

bool lanes_range(const struct lanes_values *v, uint32_t form, bool is_32, unsigned lane,
		 int64_t *low, int64_t *high)
{
	const struct lanes_form *f = &v->forms.at[form];
	const struct lanes_terms *t = &v->terms.at[f->terms];
	int64_t a = (is_32 ? low32(f->base) : (int64_t)f->base), b;

	if (__builtin_add_overflow(a, v->patterns.at[f->pattern].at[lane], &a))
		return false;
	b = a;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct lanes_symbol *s = &v->symbols.at[t->symbol[i]];
		const int64_t c = is_32 ? low32(t->coefficient[i]) : (int64_t)t->coefficient[i];
		int64_t most;

		if (!s->has_range || s->high > INT32_MAX ||
		    __builtin_mul_overflow(c, (int64_t)s->high, &most) ||
		    __builtin_add_overflow(c < 0 ? a : b, most, c < 0 ? &a : &b))
			return false;
	}
	*low = a;
	*high = b;
	return true;
}

/* The form whose value of 64 bits is that of 32 bits, where no lane leaves the range of the type. */
static uint32_t extend_in_range(struct lanes_values *v, uint32_t form, bool is_signed)
{
	const struct lanes_form f = v->forms.at[form];
	const int64_t first = is_signed ? INT32_MIN : 0, last = is_signed ? INT32_MAX : UINT32_MAX;

	for (unsigned i = 0; i < LANES; i++) {
		int64_t low, high;

		if (!lanes_range(v, form, true, i, &low, &high) || low < first || high > last)
			return LANES_NONE;
	}
	return lanes_form(v, (uint64_t)low32(f.base), f.terms, f.pattern, f.is_assumed);
}

uint32_t lanes_extend(struct lanes_values *v, uint32_t value, bool is_signed)
{
	const uint32_t form = lanes_sum(v, value);
	uint32_t number[LANES], extended;
	struct lanes_form f;
	bool is_sure;

	if (form == LANES_NONE)
		return form;
	if (lanes_numbers(v, form << 2 | LANES_LOW, number)) {
		uint64_t wide[LANES];

		for (unsigned i = 0; i < LANES; i++)
			wide[i] = is_signed ? (uint64_t)low32(number[i]) : number[i];
		return lanes_of_numbers(v, wide);
	}
	extended = extend_in_range(v, form, is_signed);
	if (extended != LANES_NONE)
		return extended;
	f = v->forms.at[form];
	is_sure = lanes_reach(v, form, REACH_MOST) > 0;
	extended = lanes_without_pattern(v, form);
	if (extended == LANES_NONE)
		return extended;
	extended = derived(v, is_signed ? LANES_SIGNED : LANES_UNSIGNED, extended);
	return f.pattern ? lanes_add(v, extended, lanes_form(v, 0, 0, f.pattern, !is_sure))
			 : extended;
}

uint32_t lanes_pair(struct lanes_values *v, uint32_t low, uint32_t high)
{
	const uint32_t a = lanes_sum(v, low);
	uint32_t b;

	if (a == LANES_NONE || lanes_half(high) == LANES_UNKNOWN)
		return LANES_NONE;
	if (lanes_half(high) == LANES_HIGH)
		return lanes_lower(v, lanes_of(high)) == a ? lanes_of(high) : LANES_NONE;
	b = lanes_sum(v, high);
	/* The upper half of a symbol came back from arithmetic. */
	if (v->terms.at[v->forms.at[b].terms].n == 1 && !v->forms.at[b].base &&
	    !v->forms.at[b].pattern) {
		const struct lanes_terms *t = &v->terms.at[v->forms.at[b].terms];
		const struct lanes_symbol *s = &v->symbols.at[t->symbol[0]];

		if (s->kind == LANES_UPPER && t->coefficient[0] == 1 &&
		    lanes_lower(v, s->parent) == a)
			return s->parent;
	}
	return lanes_add(v, lanes_extend(v, a << 2 | LANES_LOW, false),
			 lanes_scale(v, b, UINT64_C(1) << 32));
}

/* ------------------------------------------------------------------------------------- questions */

static bool any(const struct lanes_values *v, uint32_t form, unsigned depth,
		bool (*is_such)(const struct lanes_symbol *s, const void *ctx), const void *ctx)
{
	const struct lanes_terms *t = &v->terms.at[v->forms.at[form].terms];

	for (uint32_t i = 0; i < t->n; i++) {
		const struct lanes_symbol *s = &v->symbols.at[t->symbol[i]];

		if (is_such(s, ctx) || !depth)
			return true;
		if (s->kind >= LANES_SIGNED && any(v, s->parent, depth - 1, is_such, ctx))
			return true;
	}
	return false;
}

bool lanes_any(const struct lanes_values *v, uint32_t form,
	       bool (*is_such)(const struct lanes_symbol *s, const void *ctx), const void *ctx)
{
	return any(v, form, DEPTH_MOST, is_such, ctx);
}

struct owned {
	uint8_t kind;
	uint32_t owner;
};

static bool is_owned(const struct lanes_symbol *s, const void *ctx)
{
	const struct owned *o = ctx;

	return s->kind == o->kind && s->owner == o->owner;
}

bool lanes_mentions(const struct lanes_values *v, uint32_t form, uint8_t kind, uint32_t owner)
{
	const struct owned o = {kind, owner};

	return any(v, form, DEPTH_MOST, is_owned, &o);
}

struct bits {
	uint64_t modulus, residue;
};

static struct bits bits_of(const struct lanes_values *v, uint32_t form, uint64_t most,
			   bool pointers, unsigned depth);

static struct bits bits_of_symbol(const struct lanes_values *v, const struct lanes_symbol *s,
				  uint64_t most, bool pointers, unsigned depth)
{
	struct bits b = {1, 0};

	if (s->kind == LANES_CONSTANT && s->aligned)
		b = (struct bits){UINT64_C(1) << s->aligned, s->high};
	if (s->kind == LANES_CONSTANT && pointers && s->is_pointer && b.modulus < 256)
		return (struct bits){256 < most ? 256 : most, b.residue};
	if (s->kind == LANES_CONSTANT)
		return b;
	if (!depth || s->parent == LANES_NONE || s->kind == LANES_UPPER)
		return b;
	b = bits_of(v, s->parent, most, pointers, depth - 1);
	if (s->kind == LANES_JOINED && s->aligned < 63 && UINT64_C(1) << s->aligned < b.modulus)
		b.modulus = UINT64_C(1) << s->aligned;
	return b;
}

static struct bits bits_of(const struct lanes_values *v, uint32_t form, uint64_t most,
			   bool pointers, unsigned depth)
{
	const struct lanes_form *f = &v->forms.at[form];
	const struct lanes_terms *t = &v->terms.at[f->terms];
	struct bits sum = {most, f->base};

	for (uint32_t i = 0; i < t->n; i++) {
		const uint64_t c = t->coefficient[i];
		const struct bits s = bits_of_symbol(v, &v->symbols.at[t->symbol[i]], most,
						     pointers && c == 1, depth);
		/* c x (residue + modulus x anything) */
		const uint64_t unit = c & -c;
		const uint64_t modulus = unit > most / s.modulus ? most : unit * s.modulus;

		sum.residue += c * s.residue;
		if (modulus < sum.modulus)
			sum.modulus = modulus;
	}
	sum.residue &= sum.modulus - 1;
	return sum;
}

uint64_t lanes_alignment(const struct lanes_values *v, uint32_t form, uint64_t most, bool pointers,
			 uint64_t *residue)
{
	const struct bits b = bits_of(v, form, most, pointers, DEPTH_MOST);

	*residue = b.residue & (b.modulus - 1);
	return b.modulus;
}

uint64_t lanes_reach(const struct lanes_values *v, uint32_t form, uint64_t most)
{
	const struct lanes_pattern *p = &v->patterns.at[v->forms.at[form].pattern];
	uint64_t residue;
	const uint64_t modulus = lanes_alignment(v, form, most, false, &residue);

	for (uint64_t unit = 1; unit <= modulus; unit *= 2) {
		const int64_t at = (int64_t)(residue & (unit - 1));
		bool fits = true;

		for (unsigned i = 0; i < LANES && fits; i++)
			fits = p->at[i] >= -at && p->at[i] < (int64_t)unit - at;
		if (fits)
			return unit;
	}
	return 0;
}
