/*
 * sass_work.c - see sass_work.h. Rows of tables/sass_work.def by operation; sizes from the registers that
 * an instruction moves.
 */
#include "sass_work.h"

#include <string.h>

#include "sass_table.h"

enum size { BY_DATA, BY_WORD, BY_NUMBER };

/* The names of the table's column: a rule, and the number it needs. */
#define SIZE_DATA     BY_DATA, 0
#define SIZE_WORD     BY_WORD, 0
#define SIZE_MBARRIER BY_NUMBER, 8
#define SIZE_UNTOLD   BY_NUMBER, 0
#define SIZE_8        BY_NUMBER, 8
#define SIZE_16       BY_NUMBER, 16

static const struct access_row {
	const char *op;
	uint16_t when;
	uint8_t act, from, to, size;
	uint16_t bytes;
	bool is_async;
} accesses[] = {
#define TYPE(...)
#define NARROW(...)
#define MMA(...)
#define ACCESS(op, when, act, from, to, size, async) \
	{#op, SASS_M_##when, SASS_##act, SASS_##from, SASS_##to, SIZE_##size, async},
#include "tables/sass_work.def"
#undef ACCESS
#undef NARROW
};

static const struct narrow {
	uint16_t modifier;
	uint8_t bytes;
} narrows[] = {
#define ACCESS(...)
#define NARROW(modifier, bytes) {SASS_M_##modifier, bytes},
#include "tables/sass_work.def"
#undef NARROW
#undef TYPE
#undef MMA
};

static const struct type {
	const char *name;
	uint16_t modifier;
	uint8_t bits;
} types[] = {
	{"unknown", SASS_M_NONE, 0},
#define NARROW(...)
#define MMA(...)
#define TYPE(name, modifier, bits) {#name, SASS_M_##modifier, bits},
#include "tables/sass_work.def"
#undef TYPE
#undef MMA
};

#define SASS_TYPE_UNKNOWN SASS_UNKNOWN

static const struct mma_row {
	const char *op;
	uint8_t who, ab, d;
} mmas[] = {
#define TYPE(...)
#define MMA(op, who, ab, d) {#op, SASS_##who, SASS_TYPE_##ab, SASS_TYPE_##d},
#include "tables/sass_work.def"
#undef MMA
#undef TYPE
#undef ACCESS
#undef NARROW
};

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* ------------------------------------------------------------------------------------- memory */

uint8_t sass_find_access(const char *op)
{
	_Static_assert(LENGTH(accesses) < UINT8_MAX, "rows are counted in 8 bits");
	for (size_t i = 0; i < LENGTH(accesses); i++)
		if (!strcmp(accesses[i].op, op))
			return (uint8_t)(i + 1);
	return 0;
}

static const struct access_row *find_access(const struct sass_row *row,
					    const struct sass_modifiers *m)
{
	size_t i = row->access ? row->access - 1u : LENGTH(accesses);

	for (; i < LENGTH(accesses) && !strcmp(accesses[i].op, row->name); i++)
		if (accesses[i].when == SASS_M_NONE || sass_has_modifier(m, accesses[i].when))
			return &accesses[i];
	return NULL;
}

static uint8_t space_of_word(enum sass_modifier word)
{
	return word == SASS_M_S ? SASS_SHARED : word == SASS_M_G ? SASS_GLOBAL : SASS_GENERIC;
}

/* Registers of one kind that carry data: written by what reads a memory, else neither written nor address. */
static unsigned data_registers(const struct sass_insn *insn, bool is_read, uint8_t kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->kind == kind && !(o->flags & (SASS_IN_ADDRESS | SASS_IN_BANK)) &&
		    !(o->flags & SASS_DEST) != is_read)
			n += o->regs;
	}
	return n;
}

static void size_by_data(const struct sass_insn *insn, const struct sass_modifiers *m,
			 struct sass_access *a)
{
	const bool is_read = a->act == SASS_LOAD || a->act == SASS_ATOMIC;
	unsigned n = data_registers(insn, is_read, SASS_REG);

	if (!n && a->act == SASS_ATOMIC) { /* compare and swap that only says whether it did */
		n = data_registers(insn, false, SASS_REG) / 2;
	} else if (!n) {
		n = data_registers(insn, is_read, SASS_UREG);
		a->is_uniform = true;
	}
	a->bytes = (uint16_t)(4 * n);
	if (a->act == SASS_LOAD || a->act == SASS_STORE)
		for (size_t i = 0; i < LENGTH(narrows); i++)
			if (sass_has_modifier(m, narrows[i].modifier))
				a->bytes = narrows[i].bytes;
}

static void find_addresses(const struct sass_insn *insn, struct sass_access *a)
{
	unsigned n = 0;

	a->address[0] = a->address[1] = SASS_OPERANDS;
	for (uint8_t i = 0; i < insn->operands_n && n < 2; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if ((o->flags & (SASS_IN_ADDRESS | SASS_IN_BANK)) &&
		    (!n || insn->operands[a->address[n - 1]].index != o->index))
			a->address[n++] = i;
	}
}

bool sass_access(const struct sass_insn *insn, const struct sass_modifiers *m,
		 struct sass_access *out)
{
	const struct access_row *row = insn->is_decoded ? find_access(insn->row, m) : NULL;

	memset(out, 0, sizeof(*out));
	if (!row || row->act == SASS_NOTHING)
		return false;
	out->act = row->act;
	out->from = row->from == SASS_WORDED ? space_of_word(m->at[1].word) : row->from;
	out->to = row->to == SASS_WORDED ? space_of_word(m->at[0].word) : row->to;
	out->is_async = row->is_async;
	out->is_uniform = insn->guard_uniform && row->size != BY_DATA;
	out->bytes = row->bytes;
	if (row->size == BY_DATA)
		size_by_data(insn, m, out);
	else if (row->size == BY_WORD)
		out->bytes = sass_has_modifier(m, SASS_M_128)  ? 16
			     : sass_has_modifier(m, SASS_M_64) ? 8
							       : 4;
	find_addresses(insn, out);
	return true;
}

/* ------------------------------------------------------------------------------------- matrices */

const char *sass_type_name(enum sass_type type)
{
	return types[(unsigned)type < SASS_TYPES ? type : SASS_UNKNOWN].name;
}

unsigned sass_type_bits(enum sass_type type)
{
	return types[(unsigned)type < SASS_TYPES ? type : SASS_UNKNOWN].bits;
}

static uint8_t type_of(unsigned word)
{
	for (uint8_t i = 1; i < SASS_TYPES; i++)
		if (types[i].modifier == word && word != SASS_M_NONE)
			return i;
	return SASS_UNKNOWN;
}

static void read_types(const struct sass_modifiers *m, struct sass_mma *out)
{
	bool has_d = false;
	unsigned inputs = 0;

	for (unsigned i = 0; i < m->own; i++) {
		const uint8_t type = type_of(m->at[i].word);

		if (type == SASS_UNKNOWN)
			continue;
		if (type == SASS_TYPE_F16 || type == SASS_TYPE_F32) {
			if (!has_d)
				out->d = type;
			has_d = true;
		} else if (inputs++) {
			out->b = type;
		} else {
			out->a = out->b = type;
		}
	}
}

/* Four quarters of the warp make a product each. */
static unsigned parts_of_884(const struct sass_mma *p)
{
	const unsigned steps = p->d == SASS_TYPE_F16 ? 2 : 4;

	return 4 / steps;
}

uint8_t sass_find_mma(const char *op)
{
	_Static_assert(LENGTH(mmas) < UINT8_MAX, "rows are counted in 8 bits");
	for (size_t i = 0; i < LENGTH(mmas); i++)
		if (!strcmp(mmas[i].op, op))
			return (uint8_t)(i + 1);
	return 0;
}

bool sass_mma(const struct sass_insn *insn, const struct sass_modifiers *m, struct sass_mma *out)
{
	const struct mma_row *row;

	memset(out, 0, sizeof(*out));
	if (!insn->is_decoded || !insn->row->mma)
		return false;
	row = &mmas[insn->row->mma - 1];
	*out = (struct sass_mma){.who = row->who, .a = row->ab, .b = row->ab, .d = row->d};
	read_types(m, out);
	if (out->who == SASS_BLOCK && sass_has_modifier(m, SASS_M_2CTA))
		out->who = SASS_BLOCK_PAIR;
	out->is_sparse = sass_has_modifier(m, SASS_M_SP);
	out->is_scaled = sass_has_modifier(m, SASS_M_SF);
	if (m->numbers_n < 3)
		return true;
	out->m = m->numbers[0];
	out->n = m->numbers[1];
	out->k = m->numbers[2];
	out->operations = 2u * out->m * out->n * out->k;
	if (!strcmp(row->op, "HMMA") && out->m == 8)
		out->operations *= parts_of_884(out);
	return true;
}
