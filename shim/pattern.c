/*
 * pattern.c - see pattern.h. The text is compiled to steps of a machine that has all its possible
 * states at once (a bit per step), so a match takes bounded time and a few hundred bytes of stack.
 *
 * Steps lead to others by relative numbers, so a part can be moved and copied as it is: that is how a
 * repetition becomes its operand so many times over.
 */
#include "pattern.h"

#include <string.h>

#define DEPTH_MAX  12 /* of nested groups: each takes stack */
#define REPEAT_MAX ((int)KBN_PATTERN_STEPS)
#define WORDS      (KBN_PATTERN_STEPS / 64)

enum op {
	CHAR,
	ANY,
	SET,
	FORK,
	JUMP,
	AT_BEGIN,
	AT_END,
	AT_EDGE,
	NOT_EDGE,
	WORD_BEGIN,
	WORD_END,
	MATCH
};

/* -------------------------------------------------------------------------------- characters */

static bool is_word(unsigned c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_space(unsigned c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(unsigned c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(unsigned c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(unsigned c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_alpha(unsigned c)
{
	return is_upper(c) || is_lower(c);
}

static bool is_alnum(unsigned c)
{
	return is_alpha(c) || is_digit(c);
}

static bool is_xdigit(unsigned c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_blank(unsigned c)
{
	return c == ' ' || c == '\t';
}

static bool is_control(unsigned c)
{
	return c < ' ' || c == 127;
}

static bool is_graph(unsigned c)
{
	return c > ' ' && c < 127;
}

static bool is_print(unsigned c)
{
	return c >= ' ' && c < 127;
}

static bool is_punct(unsigned c)
{
	return is_graph(c) && !is_alnum(c);
}

static const struct {
	const char *name;
	bool (*has)(unsigned c);
} classes[] = {
	{"alpha", is_alpha}, {"digit", is_digit}, {"alnum", is_alnum}, {"upper", is_upper},
	{"lower", is_lower}, {"space", is_space}, {"blank", is_blank}, {"xdigit", is_xdigit},
	{"punct", is_punct}, {"print", is_print}, {"graph", is_graph}, {"cntrl", is_control},
};

/* ------------------------------------------------------------------------------- compilation */

struct parser {
	struct kbn_pattern *p;
	const char *at;
	int depth;
	bool bad;
};

static void emit(struct parser *s, enum op op, unsigned value)
{
	if (s->p->steps >= KBN_PATTERN_STEPS)
		s->bad = true;
	else
		s->p->step[s->p->steps++] =
			(struct kbn_pattern_step){.op = (uint8_t)op, .value = (uint8_t)value};
}

static void emit_fork(struct parser *s, int a, int b)
{
	emit(s, FORK, 0);
	if (!s->bad) {
		s->p->step[s->p->steps - 1].a = (int16_t)a;
		s->p->step[s->p->steps - 1].b = (int16_t)b;
	}
}

static void emit_jump(struct parser *s, int a)
{
	emit(s, JUMP, 0);
	if (!s->bad)
		s->p->step[s->p->steps - 1].a = (int16_t)a;
}

static void emit_copy(struct parser *s, uint32_t from, uint32_t n)
{
	struct kbn_pattern *p = s->p;

	if (p->steps + n > KBN_PATTERN_STEPS) {
		s->bad = true;
		return;
	}
	memcpy(&p->step[p->steps], &p->step[from], n * sizeof(p->step[0]));
	p->steps += n;
}

/* A fork in front of the last steps, from `begin` on: into them, or by `over` steps past it. */
static void insert_fork(struct parser *s, uint32_t begin, uint32_t over)
{
	struct kbn_pattern *p = s->p;
	const uint32_t n = p->steps - begin;

	emit(s, JUMP, 0);
	if (s->bad)
		return;
	memmove(&p->step[begin + 1], &p->step[begin], n * sizeof(p->step[0]));
	p->step[begin] = (struct kbn_pattern_step){.op = FORK, .a = 1, .b = (int16_t)over};
}

static uint64_t *set_new(struct parser *s)
{
	if (s->p->sets >= KBN_PATTERN_SETS) {
		s->bad = true;
		return NULL;
	}
	emit(s, SET, s->p->sets);
	return memset(s->p->set[s->p->sets++], 0, sizeof(s->p->set[0]));
}

static void set_add(uint64_t *set, unsigned c)
{
	set[c / 64] |= (uint64_t)1 << c % 64;
}

static void set_class(uint64_t *set, bool (*has)(unsigned), bool wanted)
{
	for (unsigned c = 1; set && c < 256; c++)
		if (has(c) == wanted)
			set_add(set, c);
}

/* "[:name:]" behind the first '['. */
static bool bracket_class(struct parser *s, uint64_t *set)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const size_t n = strlen(classes[i].name);

		if (!strncmp(s->at + 1, classes[i].name, n) && !strncmp(s->at + 1 + n, ":]", 2)) {
			set_class(set, classes[i].has, true);
			s->at += n + 3;
			return true;
		}
	}
	return false;
}

/* One character, span or class of a bracket expression. */
static bool bracket_item(struct parser *s, uint64_t *set, bool first)
{
	unsigned from = (unsigned char)*s->at++, to = from;

	if (from == '[' && *s->at == ':')
		return bracket_class(s, set);
	if (from == '-' && !first && *s->at != ']')
		return false; /* the second '-' of a-b-c */
	if (from == '[' && (*s->at == '.' || *s->at == '='))
		return false;
	if (s->at[0] == '-' && s->at[1] && s->at[1] != ']') {
		to = (unsigned char)s->at[1];
		if (to == '[' && (s->at[2] == '.' || s->at[2] == '=' || s->at[2] == ':'))
			return false;
		s->at += 2;
	}
	for (unsigned c = from; c <= to; c++)
		set_add(set, c);
	return from <= to;
}

/* Behind '['. A ']' that comes first is an ordinary character. */
static void bracket(struct parser *s)
{
	const bool negated = *s->at == '^';
	uint64_t *set = set_new(s);

	s->at += negated;
	for (bool first = true; set && !s->bad && (first || *s->at != ']'); first = false)
		if (!*s->at || !bracket_item(s, set, first))
			s->bad = true;
	if (!set || s->bad)
		return;
	s->at++;
	for (int i = 0; negated && i < 4; i++)
		set[i] = ~set[i];
}

static void escape(struct parser *s)
{
	const char c = *s->at;

	if (!c || is_digit((unsigned char)c)) { /* at the end, or a back-reference */
		s->bad = true;
		return;
	}
	s->at++;
	switch (c) {
	case 'w': set_class(set_new(s), is_word, true); break;
	case 'W': set_class(set_new(s), is_word, false); break;
	case 's': set_class(set_new(s), is_space, true); break;
	case 'S': set_class(set_new(s), is_space, false); break;
	case 'b': emit(s, AT_EDGE, 0); break;
	case 'B': emit(s, NOT_EDGE, 0); break;
	case '<': emit(s, WORD_BEGIN, 0); break;
	case '>': emit(s, WORD_END, 0); break;
	case '`': emit(s, AT_BEGIN, 0); break;
	case '\'': emit(s, AT_END, 0); break;
	default: emit(s, CHAR, (unsigned char)c); break;
	}
}

static void alternatives(struct parser *s);

static void group(struct parser *s)
{
	if (++s->depth > DEPTH_MAX) {
		s->bad = true;
		return;
	}
	alternatives(s);
	s->depth--;
	if (*s->at != ')')
		s->bad = true;
	else
		s->at++;
}

/* False when what was read cannot be repeated: an anchor. */
static bool atom(struct parser *s)
{
	const uint32_t begin = s->p->steps;
	const char c = *s->at++;

	switch (c) {
	case '(': group(s); return true;
	case '[': bracket(s); break;
	case '\\': escape(s); break;
	case '.': emit(s, ANY, 0); break;
	case '^': emit(s, AT_BEGIN, 0); break;
	case '$': emit(s, AT_END, 0); break;
	case '*':
	case '+':
	case '?':
	case '{': s->bad = true; break; /* nothing to repeat */
	default: emit(s, CHAR, (unsigned char)c); break;
	}
	return !s->bad && s->p->step[begin].op <= SET;
}

static int number(struct parser *s)
{
	int n = 0;

	if (!is_digit((unsigned char)*s->at))
		return -1;
	for (; is_digit((unsigned char)*s->at) && n <= REPEAT_MAX; s->at++)
		n = n * 10 + *s->at - '0';
	return n;
}

/* How often: *most = -1 means any number of times. */
static bool quantifier(struct parser *s, int *least, int *most)
{
	switch (*s->at) {
	case '*': *least = 0, *most = -1; break;
	case '+': *least = 1, *most = -1; break;
	case '?': *least = 0, *most = 1; break;
	case '{':
		s->at++;
		*least = *most = number(s);
		if (*s->at == ',') {
			s->at++;
			*most = number(s);
			*least = *least < 0 ? 0 : *least;
		}
		if (*s->at != '}' || *least < 0 || *least > REPEAT_MAX || *most > REPEAT_MAX ||
		    (*most >= 0 && *most < *least)) {
			s->bad = true;
			return false;
		}
		break;
	default: return false;
	}
	s->at++;
	return true;
}

/* The last steps, from `begin` on, least to most times. */
static void repeat(struct parser *s, uint32_t begin, int least, int most)
{
	const uint32_t n = s->p->steps - begin;
	uint32_t source = begin;

	if (most == 0) {
		s->p->steps = begin;
	} else if (least == 0) {
		insert_fork(s, begin, n + 1 + (most < 0));
		source++;
	}
	for (int i = 1; i < least && !s->bad; i++)
		emit_copy(s, source, n);
	if (most < 0 && least == 0)
		emit_jump(s, -(int)n - 1);
	else if (most < 0)
		emit_fork(s, -(int)n, 1);
	for (int i = least ? least : 1; i < most && !s->bad; i++) {
		emit_fork(s, 1, (int)n + 1);
		emit_copy(s, source, n);
	}
}

static void piece(struct parser *s)
{
	const uint32_t begin = s->p->steps;
	int least, most;

	if (atom(s))
		while (!s->bad && quantifier(s, &least, &most))
			repeat(s, begin, least, most);
}

static void branch(struct parser *s)
{
	while (!s->bad && *s->at && *s->at != '|' && !(*s->at == ')' && s->depth))
		piece(s);
}

static void alternatives(struct parser *s)
{
	const uint32_t begin = s->p->steps;

	branch(s);
	while (!s->bad && *s->at == '|') {
		uint32_t jump;

		s->at++;
		/* fork, the former ones, a jump over the next one, the next one */
		insert_fork(s, begin, s->p->steps - begin + 2);
		jump = s->p->steps;
		emit_jump(s, 0);
		branch(s);
		if (!s->bad)
			s->p->step[jump].a = (int16_t)(s->p->steps - jump);
	}
}

bool kbn_pattern_compile(struct kbn_pattern *p, const char *text)
{
	struct parser s = {.p = p, .at = text};

	p->steps = p->sets = 0;
	alternatives(&s);
	emit(&s, MATCH, 0);
	return !s.bad && !*s.at;
}

/* ---------------------------------------------------------------------------------- matching */

struct place {
	int before, here; /* characters, -1 = none */
};

static bool holds(enum op op, const struct place *at)
{
	const bool before = at->before >= 0 && is_word((unsigned)at->before);
	const bool here = at->here >= 0 && is_word((unsigned)at->here);

	switch (op) {
	case AT_BEGIN: return at->before < 0;
	case AT_END: return at->here < 0;
	case AT_EDGE: return before != here;
	case NOT_EDGE: return before == here;
	case WORD_BEGIN: return !before && here;
	case WORD_END: return before && !here;
	default: return false;
	}
}

static bool takes(const struct kbn_pattern *p, const struct kbn_pattern_step *s, unsigned c)
{
	switch (s->op) {
	case CHAR: return s->value == c;
	case ANY: return true;
	case SET: return p->set[s->value][c / 64] >> c % 64 & 1;
	default: return false;
	}
}

struct states {
	uint64_t bit[WORDS];
};

static bool add(struct states *s, struct states *todo, uint32_t step)
{
	const uint64_t bit = (uint64_t)1 << step % 64;

	if (!(s->bit[step / 64] & bit)) {
		s->bit[step / 64] |= bit;
		todo->bit[step / 64] |= bit;
		return true;
	}
	return false;
}

/* All steps that are reached without taking a character. True when the end is one of them. */
static bool close_states(const struct kbn_pattern *p, struct states *now, const struct place *at)
{
	struct states todo = *now;
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t w = 0; w < WORDS; w++)
			while (todo.bit[w]) {
				const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(todo.bit[w]);
				const struct kbn_pattern_step *s = &p->step[i];

				todo.bit[w] &= todo.bit[w] - 1;
				if (s->op == MATCH)
					return true;
				if (s->op == FORK || s->op == JUMP)
					more |= add(now, &todo, (uint32_t)((int)i + s->a));
				if (s->op == FORK)
					more |= add(now, &todo, (uint32_t)((int)i + s->b));
				if (s->op > JUMP && holds(s->op, at))
					more |= add(now, &todo, i + 1);
			}
	}
	return false;
}

static void advance(const struct kbn_pattern *p, struct states *now, unsigned c)
{
	struct states next = {{0}}, unused = {{0}};

	for (uint32_t w = 0; w < WORDS; w++)
		for (uint64_t left = now->bit[w]; left; left &= left - 1) {
			const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(left);

			if (takes(p, &p->step[i], c))
				add(&next, &unused, i + 1);
		}
	*now = next;
}

bool kbn_pattern_matches(const struct kbn_pattern *p, const char *name)
{
	struct states now = {{0}};
	struct place at = {-1, -1};

	for (;; name++) {
		now.bit[0] |= 1; /* a match may begin anywhere */
		at.here = *name ? (unsigned char)*name : -1;
		if (close_states(p, &now, &at))
			return true;
		if (!*name)
			return false;
		advance(p, &now, (unsigned char)*name);
		at.before = at.here;
	}
}
