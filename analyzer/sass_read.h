/*
 * sass_read.h - what the files that read the rows of tables/sass_*.def share; nobody else but their test
 * includes it. sass_table.c holds the facts, sass_row.c reads a row, sass_operand.c one operand of it,
 * sass_item.c one item of that. The language of the rows is explained in tables/sass.def.
 */
#ifndef KBN_SASS_READ_H
#define KBN_SASS_READ_H

#include <string.h>

#include "err.h"
#include "sass_table.h"
#include "vec.h"

/* A row as it is written. */
struct sass_source {
	int from, to, line;
	const char *file, *opcode, *when, *name, *operands;
};

/* The part of a row's text that is not read yet. */
struct sass_cursor {
	const char *at, *end;
};

struct sass_reader {
	int sm;
	struct arena *texts;                /* of the rows' names */
	const struct sass_choice *specials; /* the special registers of this architecture */
	VEC(struct sass_row) rows;
	VEC(struct sass_item) items;
	VEC(struct sass_operand_row) operands;
	/* of the row being read */
	const struct sass_source *source;
	struct sass_row *row;
	char form; /* as the opcode writes it, '\0' = the row has none */
	/* of the slot being read (fA): the marks that its type has, NULL = all; R stands for UR */
	const char *marks;
	bool is_uniform;
	bool failed; /* nothing more is read; why is in *e */
	struct err *e;
};

/* What stands behind an operand or an item. */
struct sass_suffixes {
	struct sass_marks marks;
	uint8_t regs, regs_at, more_n, more[SASS_MORE];
	const struct sass_count *regs_of;
	bool is_optional, is_kept, has_nothing;
	bool are_around; /* of an operand of several items: around all of them */
	int16_t nothing;
};

/*
 * Adds the rows that one source stands for, one for each form of its opcode. False with *r->e, which
 * names file, line and architecture, when it is not understood or memory has run out.
 */
bool sass_read_row(struct sass_reader *r, const struct sass_source *source);

/* Adds one operand, a word of the row. */
void sass_read_operand(struct sass_reader *r, struct sass_cursor word);

/* Adds KIND@place, CHOICE@place, .TEXT@bit or text, and stops where its suffixes begin. */
void sass_read_item(struct sass_reader *r, struct sass_cursor *c);
void sass_add_text(struct sass_reader *r, const char *text, size_t n);
struct sass_item *sass_add_item(struct sass_reader *r, enum sass_item_kind kind);

extern const struct sass_suffixes sass_no_suffixes;

/* Adds to *x the suffixes from the cursor to its end; their bits are claimed. */
void sass_read_suffixes(struct sass_reader *r, struct sass_cursor c, struct sass_suffixes *x);
/* Gives them to the item that was added last. */
void sass_apply_suffixes(struct sass_reader *r, const struct sass_suffixes *x);

/* The row explains these bits. */
void sass_claim(struct sass_reader *r, unsigned at, unsigned width);

/* Keeps the first reason; `where` is the text from which on the row is not understood. */
void sass_fail(struct sass_reader *r, const char *why, const char *where);

static inline bool sass_is_name(const char *name, const char *wanted, size_t n)
{
	return *name == *wanted && !strncmp(name, wanted, n) && !name[n];
}

/* By name; NULL when there is none. */
const struct sass_choice *sass_find_choice(const char *name, size_t n);
/* The words of its texts, by value; NULL when one is unknown, or without memory. */
const struct sass_terms *sass_choice_terms(const struct sass_choice *choice);
const struct sass_count *sass_find_count(const char *name, size_t n);
/* The words that $name stands for on an architecture. */
const char *sass_find_words(int sm, const char *name, size_t n);

/* The next character, if it is this one. */
static inline bool sass_take(struct sass_cursor *c, char letter)
{
	const bool is = c->at < c->end && *c->at == letter;

	c->at += is;
	return is;
}

/* Digits of base 10 or 16; false when there is none. */
static inline bool sass_number(struct sass_cursor *c, unsigned base, unsigned *out)
{
	const char *first = c->at;

	for (*out = 0; c->at < c->end; c->at++) {
		const char *digits = "0123456789abcdef", *digit = strchr(digits, *c->at);

		if (!*c->at || !digit || digit - digits >= (int)base)
			break;
		*out = *out * base + (unsigned)(digit - digits);
	}
	return c->at > first;
}

#endif
