/*
 * sass_reparse.h - reads an instruction's text again and compares it with the structure: guard, and every
 * register, predicate and barrier in its place. For the unit tests and the fuzzers.
 */
#ifndef KBN_TEST_SASS_REPARSE_H
#define KBN_TEST_SASS_REPARSE_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sass.h"

/* A register's name at `at`: which kind, which number, how long it is; 0 = there is none. */
static inline size_t reparse_register(const char *at, uint8_t *kind, unsigned *reg)
{
	static const struct {
		const char *prefix;
		char none;
		uint8_t kind;
		unsigned value;
	} names[] = {
		{"UR", 'Z', SASS_UREG, SASS_RZ}, {"UP", 'T', SASS_UPRED, SASS_PT},
		{"SB", 0, SASS_SCOREBOARD, 0},   {"R", 'Z', SASS_REG, SASS_RZ},
		{"P", 'T', SASS_PRED, SASS_PT},  {"B", 0, SASS_BARRIER, 0},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const size_t n = strlen(names[i].prefix);
		const char *digits = at + n;
		char *end = (char *)digits;

		if (strncmp(at, names[i].prefix, n) != 0)
			continue;
		if (isdigit((unsigned char)*digits)) {
			*reg = (unsigned)strtoul(digits, &end, 10);
		} else if (names[i].none && *digits == names[i].none) {
			*reg = names[i].value;
			end++;
		}
		if (end == digits || isalnum((unsigned char)*end) || *end == '_')
			continue;
		*kind = names[i].kind;
		return (size_t)(end - at);
	}
	return 0;
}

static inline bool reparse_is_register(const struct sass_operand *o)
{
	return o->kind <= SASS_SCOREBOARD;
}

/* Says nothing, so the text may leave it out. */
static inline bool reparse_is_nothing(const struct sass_operand *o)
{
	return (o->kind <= SASS_UREG && o->reg == SASS_RZ) ||
	       ((o->kind == SASS_PRED || o->kind == SASS_UPRED) && o->reg == SASS_PT &&
		!(o->flags & SASS_NOT));
}

static inline bool reparse_guard(const char **at, const struct sass_insn *insn)
{
	const char *s = *at;
	unsigned reg;
	uint8_t kind;

	if (*s != '@')
		return insn->guard == SASS_PT && !insn->guard_not;
	s++;
	if ((*s == '!') != insn->guard_not)
		return false;
	s += *s == '!';
	*at = strchr(s, ' ');
	return *at && reparse_register(s, &kind, &reg) && reg == insn->guard &&
	       (kind == SASS_UPRED) == insn->guard_uniform && ++*at;
}

/* The operand from `next` on that is this register, nothing but what says nothing before it; else their number. */
static inline unsigned reparse_find(const struct sass_insn *insn, unsigned next, uint8_t kind,
				    unsigned reg)
{
	for (; next < insn->operands_n; next++) {
		const struct sass_operand *o = &insn->operands[next];

		if (o->kind == kind && o->reg == reg)
			return next;
		if (reparse_is_register(o) && !reparse_is_nothing(o))
			break;
	}
	return insn->operands_n;
}

/*
 * The registers of the text are those of the structure, in its order; what the text leaves out says nothing,
 * or is a uniform register that is read behind all others and never shown.
 */
static inline bool sass_reparses(const char *text, const struct sass_insn *insn)
{
	unsigned next = 0;

	if (!reparse_guard(&text, insn))
		return false;
	for (text += strcspn(text, " "); *text;) {
		const bool begins = !isalnum((unsigned char)text[-1]) && text[-1] != '_' &&
				    text[-1] != '.';
		unsigned reg, at;
		uint8_t kind;
		const size_t n = begins ? reparse_register(text, &kind, &reg) : 0;

		if (!n) {
			text++;
			continue;
		}
		text += n;
		at = reparse_find(insn, next, kind, reg);
		if (at < insn->operands_n)
			next = at + 1;
		else if (kind != SASS_UREG || reg != SASS_RZ) /* a URZ may be a mere word */
			return false;
	}
	for (; next < insn->operands_n; next++)
		if (reparse_is_register(&insn->operands[next]) &&
		    insn->operands[next].kind != SASS_UREG &&
		    !reparse_is_nothing(&insn->operands[next]))
			return false;
	return true;
}

#endif
