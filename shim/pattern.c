/*
 * pattern.c - see pattern.h. The text is compiled to steps of a machine that has all its possible
 * states at once (a bit per step), so a match takes bounded time and a few hundred bytes of stack.
 *
 * A repetition compiles its operand anew for each count, by reading that part of the text again.
 */
#include "pattern.h"

#include <string.h>

#define DEPTH_MAX  12  /* of nested groups: each takes stack */
#define REPEAT_MAX 255 /* RE_DUP_MAX of POSIX */
#define WORDS      (KBN_PATTERN_STEPS / 64)

enum op { CHAR, ANY, SET, FORK, JUMP, AT_BEGIN, AT_END, AT_EDGE, NOT_EDGE, WORD_BEGIN, WORD_END, MATCH };

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

static uint16_t emit(struct parser *s, enum op op, unsigned value)
{
	if (s->p->steps >= KBN_PATTERN_STEPS) {
		s->bad = true;
		return 0;
	}
	s->p->step[s->p->steps] = (struct kbn_pattern_step){(uint8_t)op, (uint8_t)value, 0, 0};
	return (uint16_t)s->p->steps++;
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
static bool bracket_item(struct parser *s, uint64_t *set)
{
	unsigned from = (unsigned char)*s->at++, to = from;

	if (from == '[' && *s->at == ':')
		return bracket_class(s, set);
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
		if (!*s->at || !bracket_item(s, set))
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

static void atom(struct parser *s)
{
	const char c = *s->at++;

	switch (c) {
	case '(': group(s); break;
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

/* The atom once more, from its own text. */
static void atom_again(struct parser *s, const char *from)
{
	const char *behind = s->at;

	s->at = from;
	atom(s);
	s->at = behind;
}

/* `atom` least to most times, in place of the steps from `begin` on. `from` .. is its text. */
static void repeat(struct parser *s, const char *from, uint32_t begin, uint32_t sets, int least, int most)
{
	struct kbn_pattern *p = s->p;
	int copies = most < 0 ? least : most;

	/* Written anew from its text, so that each copy has its own places to go to. */
	p->steps = begin;
	p->sets = sets;
	for (int i = 0; i < copies && !s->bad; i++) {
		uint16_t fork = 0;

		if (i >= least)
			fork = emit(s, FORK, 0);
		atom_again(s, from);
		if (i >= least) {
			p->step[fork].a = (uint16_t)(fork + 1);
			p->step[fork].b = (uint16_t)p->steps;
		}
	}
	if (most < 0 && !s->bad) {
		const uint16_t fork = emit(s, FORK, 0);

		atom_again(s, from);
		p->step[emit(s, JUMP, 0)].a = fork;
		p->step[fork].a = (uint16_t)(fork + 1);
		p->step[fork].b = (uint16_t)p->steps;
	}
}

static void piece(struct parser *s)
{
	const char *from = s->at;
	const uint32_t begin = s->p->steps, sets = s->p->sets;
	int least, most;

	atom(s);
	/* a**, a{2}{3}: the repetition is the operand of the next; one suffices for all but counts. */
	if (!s->bad && quantifier(s, &least, &most)) {
		repeat(s, from, begin, sets, least, most);
		while (!s->bad && (*s->at == '*' || *s->at == '+' || *s->at == '?')) {
			int least2, most2;

			quantifier(s, &least2, &most2);
			least = least && least2;
			most = most < 0 || most2 < 0 ? -1 : most;
			if (least != 0 || most >= 0 || begin == s->p->steps) {
				/* (a?)? (a+)+ and the like change nothing but whether none will do */
			}
			repeat(s, from, begin, sets, least, most);
		}
		if (*s->at == '{')
			s->bad = true;
	}
}

static bool ends_branch(const struct parser *s)
{
	return !*s->at || *s->at == '|' || (*s->at == ')' && s->depth);
}

static void alternatives(struct parser *s)
{
	struct kbn_pattern *p = s->p;
	uint32_t begin = p->steps;

	(void)begin;
	while (!s->bad && !ends_branch(s))
		piece(s);
}

bool kbn_pattern_compile(struct kbn_pattern *p, const char *text)
{
	struct parser s = {.p = p, .at = text};

	p->steps = p->sets = 0;
	alternatives(&s);
	emit(&s, MATCH, 0);
	return !s.bad && !*s.at;
}
