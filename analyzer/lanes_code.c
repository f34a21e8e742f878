/* lanes_code.c - see lanes_code.h. Operations are rows of a table; a word that a row does not expect makes
 * the operation one that treats each lane by itself. */
#include "lanes_code.h"

#include <string.h>

#include "arena.h"

#define ACCESSES_MOST 60000u

/* What the words of an operation may be. */
enum {
	W_X = 1,      /* X, EX */
	W_SIGN = 2,   /* U32, S32, U64, S64 */
	W_HIGH = 4,   /* HI */
	W_WIDE = 8,   /* WIDE, of IMAD */
	W_NAME = 16,  /* MOV, SHL, IADD: other names of IMAD */
	W_SX32 = 32,  /* SX32 */
	W_SHIFT = 64, /* L, R, W and the types */
	W_COMPARE = 128,
	W_PAND = 256,
	W_LUT = 512,
	W_ANY = 1024,
	W_64 = 2048,
};

static const struct op_row {
	const char *name;
	uint8_t op;
	uint16_t words;
} rows[] = {
	{"MOV", LANES_OP_MOV, W_64},
	{"UMOV", LANES_OP_MOV, W_64},
	{"IMAD", LANES_OP_MAD, W_X | W_SIGN | W_HIGH | W_WIDE | W_NAME},
	{"UIMAD", LANES_OP_MAD, W_X | W_SIGN | W_HIGH | W_WIDE | W_NAME},
	{"IADD3", LANES_OP_ADD, W_X},
	{"UIADD3", LANES_OP_ADD, W_X | W_64},
	{"IADD", LANES_OP_ADD, W_X | W_64},
	{"VIADD", LANES_OP_ADD, 0},
	{"LEA", LANES_OP_LEA, W_X | W_HIGH | W_SX32},
	{"ULEA", LANES_OP_LEA, W_X | W_HIGH | W_SX32},
	{"LOP3", LANES_OP_LOP3, W_LUT | W_PAND},
	{"ULOP3", LANES_OP_LOP3, W_LUT | W_PAND},
	{"SHF", LANES_OP_SHF, W_SHIFT | W_HIGH | W_SIGN},
	{"USHF", LANES_OP_SHF, W_SHIFT | W_HIGH | W_SIGN},
	{"PRMT", LANES_OP_PRMT, 0},
	{"UPRMT", LANES_OP_PRMT, 0},
	{"SGXT", LANES_OP_SGXT, W_SHIFT | W_SIGN},
	{"USGXT", LANES_OP_SGXT, W_SHIFT | W_SIGN},
	{"BMSK", LANES_OP_BMSK, W_SHIFT},
	{"UBMSK", LANES_OP_BMSK, W_SHIFT},
	{"SEL", LANES_OP_SEL, W_64},
	{"USEL", LANES_OP_SEL, W_64},
	{"IMNMX", LANES_OP_MNMX, W_SIGN},
	{"UIMNMX", LANES_OP_MNMX, W_SIGN},
	{"VIMNMX", LANES_OP_MNMX, W_SIGN},
	{"UVIMNMX", LANES_OP_MNMX, W_SIGN},
	{"VIADDMNMX", LANES_OP_MNMX, W_SIGN},
	{"IABS", LANES_OP_ABS, 0},
	{"ISETP", LANES_OP_SETP, W_COMPARE | W_SIGN | W_X},
	{"UISETP", LANES_OP_SETP, W_COMPARE | W_SIGN | W_X},
	{"PLOP3", LANES_OP_PLOP3, W_LUT},
	{"UPLOP3", LANES_OP_PLOP3, W_LUT},
	{"S2R", LANES_OP_SPECIAL, 0},
	{"S2UR", LANES_OP_SPECIAL, 0},
	{"CS2R", LANES_OP_SPECIAL, W_ANY},
	{"CS2UR", LANES_OP_SPECIAL, W_ANY},
	{"LDC", LANES_OP_CONSTANT, W_ANY},
	{"ULDC", LANES_OP_CONSTANT, W_ANY},
	{"LDCU", LANES_OP_CONSTANT, W_ANY},
	{"R2UR", LANES_OP_TO_UNIFORM, 0},
	{"FLO", LANES_OP_FLO, W_SIGN},
	{"UFLO", LANES_OP_FLO, W_SIGN},
	{"POPC", LANES_OP_POPC, 0},
	{"UPOPC", LANES_OP_POPC, 0},
	{"BREV", LANES_OP_BREV, 0},
	{"UBREV", LANES_OP_BREV, 0},
	{"VOTE", LANES_OP_VOTE, W_ANY},
	{"VOTEU", LANES_OP_VOTE, W_ANY},
	{"SHFL", LANES_OP_SHFL, W_ANY},
	{"ELECT", LANES_OP_ELECT, W_ANY},
	{"HFMA2", LANES_OP_HALF_MOVE, W_ANY},
	{"HFMA2.MMA", LANES_OP_HALF_MOVE, W_ANY},
	{"I2F", LANES_OP_I2F, W_ANY},
	{"MUFU", LANES_OP_RCP, W_ANY},
	{"F2I", LANES_OP_F2I, W_ANY},
	{"BSSY", LANES_OP_BSSY, W_ANY},
	{"BSYNC", LANES_OP_BSYNC, W_ANY},
	{"BREAK", LANES_OP_BREAK, W_ANY},
	{"WARPSYNC", LANES_OP_WARPSYNC, W_ANY},
};

/* Each lane by itself, whatever their words say. A name that ends with * is a beginning. */
static const char *const lanewise[] = {
	"FADD*",  "FMUL*",  "FFMA*",     "FSETP",  "FSET",       "FSEL",    "FMNMX*", "FCHK",
	"FRND*",  "F2F*",   "F2FP*",     "I2FP*",  "I2I*",       "I2IP*",   "F2IP*",  "HADD2*",
	"HMUL2*", "HSETP2", "HSET2",     "HMNMX2", "DADD",       "DMUL",    "DFMA",   "DSETP",
	"DMNMX",  "IDP*",   "VABSDIFF*", "IMUL*",  "VIADDMNMX*", "VIMNMX3", "IMNMX",  "LOP*",
	"SHL",    "SHR",    "ISCADD",    "XMAD",   "UF*",        "UI2F*",   "CLMAD",  "P2R",
	"UP2UR",  "BFE",    "BFI",       "VISET",  "IMAD*",      "I2F*",    "F2I*",   "MUFU*",
	"VHMNMX", "R2UR",
};

static bool is_lanewise(const char *name)
{
	for (size_t i = 0; i < sizeof(lanewise) / sizeof(*lanewise); i++) {
		const size_t n = strcspn(lanewise[i], "*");

		if (!strncmp(name, lanewise[i], n) && (lanewise[i][n] || !name[n]))
			return true;
	}
	return false;
}

/* Takes one word; false = the row does not expect it. */
static bool take_word(struct lanes_insn *x, const struct op_row *row, enum sass_modifier word)
{
	const uint16_t words = row->words;

	switch (word) {
	case SASS_M_X:
	case SASS_M_EX: x->is_x = true; return words & W_X;
	case SASS_M_U64:
	case SASS_M_S64: x->is_64 = true; /* fall through */
	case SASS_M_S32:
	case SASS_M_U32:
		x->is_unsigned = word == SASS_M_U32 || word == SASS_M_U64;
		return words & W_SIGN;
	case SASS_M_HI: x->is_high = true; return words & W_HIGH;
	case SASS_M_WIDE: x->op = LANES_OP_MAD_WIDE; return words & W_WIDE;
	case SASS_M_MOV:
	case SASS_M_SHL:
	case SASS_M_IADD: return words & W_NAME;
	case SASS_M_SX32: x->is_signed_upper = true; return words & W_SX32;
	case SASS_M_R: x->is_right = true; return words & W_SHIFT;
	case SASS_M_L: return words & W_SHIFT;
	case SASS_M_W: x->is_wrapped = true; return words & W_SHIFT;
	case SASS_M_LT:
	case SASS_M_LE:
	case SASS_M_GT:
	case SASS_M_GE:
	case SASS_M_EQ:
	case SASS_M_NE:
	case SASS_M_F:
	case SASS_M_T: x->relation = (uint16_t)word; return words & W_COMPARE;
	case SASS_M_AND:
	case SASS_M_OR:
	case SASS_M_XOR: x->logic = (uint16_t)word; return words & W_COMPARE;
	case SASS_M_PAND: x->is_x = true; return words & W_PAND;
	case SASS_M_LUT: return words & W_LUT;
	case SASS_M_64: x->is_64 = true; return words & W_64;
	default: return false;
	}
}

static void read_words(struct lanes_insn *x, const struct op_row *row,
		       const struct sass_modifiers *m)
{
	for (unsigned i = 0; i < m->own; i++)
		if (!take_word(x, row, (enum sass_modifier)m->at[i].word) && !(row->words & W_ANY))
			x->op = LANES_OP_LANEWISE;
	if (x->op == LANES_OP_MAD && x->is_high)
		x->op = LANES_OP_MAD_HI;
}

/* ------------------------------------------------------------------------------------- special cases */

/* HFMA2 R, -RZ, RZ, high, low puts a number into a register. */
static bool is_half_move(const struct lanes_insn *x)
{
	uint32_t n;

	if (x->sources_n != 3 || x->source[0].kind != LANES_ARG_REG ||
	    x->source[0].reg != SASS_RZ || x->source[1].kind != LANES_ARG_REG ||
	    x->source[1].reg != SASS_RZ || x->source[2].kind != LANES_ARG_NUMBER ||
	    x->source[2].regs != 2)
		return false;
	n = (uint32_t)x->source[2].value;
	for (int i = 0; i < 32; i += 16)
		if ((n >> i & 0x7c00) == 0x7c00 || (n >> i & 0xffff) == 0x8000)
			return false;
	return true;
}

/* Only the conversions of an integer division, which rounds up on the way there and down on the way back. */
static void check_conversion(struct lanes_insn *x, const struct sass_modifiers *m)
{
	bool is_such = x->sources_n == 1 && x->dests_n == 1 && x->dest[0].regs == 1;

	switch (x->op) {
	case LANES_OP_I2F:
		is_such = is_such && sass_has_modifier(m, SASS_M_RP) && x->source[0].regs == 1 &&
			  !(sass_has_modifier(m, SASS_M_F64) || sass_has_modifier(m, SASS_M_F16) ||
			    sass_has_modifier(m, SASS_M_BF16) || sass_has_modifier(m, SASS_M_U8) ||
			    sass_has_modifier(m, SASS_M_S8) || sass_has_modifier(m, SASS_M_U16) ||
			    sass_has_modifier(m, SASS_M_S16) || sass_has_modifier(m, SASS_M_U64) ||
			    sass_has_modifier(m, SASS_M_S64));
		x->is_unsigned = sass_has_modifier(m, SASS_M_U32);
		break;
	case LANES_OP_RCP:
		is_such = is_such && sass_has_modifier(m, SASS_M_RCP) && m->own == 1;
		break;
	case LANES_OP_F2I:
		is_such = is_such && sass_has_modifier(m, SASS_M_U32) &&
			  sass_has_modifier(m, SASS_M_TRUNC) && sass_has_modifier(m, SASS_M_NTZ) &&
			  !sass_has_modifier(m, SASS_M_F64) && !sass_has_modifier(m, SASS_M_F16);
		break;
	default: return;
	}
	if (!is_such)
		x->op = LANES_OP_LANEWISE;
}

static void check_operands(struct lanes_insn *x, const struct sass_modifiers *m)
{
	/* sources at least, destinations at least */
	static const uint8_t needs[LANES_OP_NOTHING + 1][2] = {
		[LANES_OP_MOV] = {1, 1},        [LANES_OP_MAD] = {3, 1},
		[LANES_OP_MAD_WIDE] = {3, 1},   [LANES_OP_MAD_HI] = {3, 1},
		[LANES_OP_ADD] = {2, 1},        [LANES_OP_LEA] = {3, 1},
		[LANES_OP_LOP3] = {5, 1},       [LANES_OP_SHF] = {3, 1},
		[LANES_OP_PRMT] = {3, 1},       [LANES_OP_SGXT] = {2, 1},
		[LANES_OP_BMSK] = {2, 1},       [LANES_OP_SEL] = {3, 1},
		[LANES_OP_MNMX] = {3, 1},       [LANES_OP_ABS] = {1, 1},
		[LANES_OP_SETP] = {3, 2},       [LANES_OP_PLOP3] = {5, 2},
		[LANES_OP_SPECIAL] = {1, 1},    [LANES_OP_CONSTANT] = {1, 1},
		[LANES_OP_TO_UNIFORM] = {1, 1}, [LANES_OP_FLO] = {1, 1},
		[LANES_OP_POPC] = {1, 1},       [LANES_OP_BREV] = {1, 1},
		[LANES_OP_VOTE] = {1, 1},       [LANES_OP_SHFL] = {3, 1},
		[LANES_OP_ELECT] = {1, 1},
	};

	if (x->op == LANES_OP_HALF_MOVE && !is_half_move(x))
		x->op = LANES_OP_LANEWISE;
	check_conversion(x, m);
	if (x->sources_n < needs[x->op][0] || x->dests_n < needs[x->op][1])
		x->op = LANES_OP_OTHER;
	if (x->op == LANES_OP_SHFL)
		x->relation = sass_has_modifier(m, SASS_M_UP)     ? SASS_M_UP
			      : sass_has_modifier(m, SASS_M_DOWN) ? SASS_M_DOWN
			      : sass_has_modifier(m, SASS_M_BFLY) ? SASS_M_BFLY
								  : SASS_M_IDX;
	if (x->op == LANES_OP_VOTE)
		x->relation = sass_has_modifier(m, SASS_M_ANY)   ? SASS_M_ANY
			      : sass_has_modifier(m, SASS_M_ALL) ? SASS_M_ALL
								 : SASS_M_EQ;
	if (x->op == LANES_OP_CONSTANT)
		for (unsigned i = 0; i < m->own; i++)
			switch (m->at[i].word) {
			case SASS_M_U8:
			case SASS_M_S8:
			case SASS_M_U16:
			case SASS_M_S16:
			case SASS_M_IL:
			case SASS_M_IS:
			case SASS_M_ISL: x->op = LANES_OP_LANEWISE; break;
			default: break;
			}
}

/* ------------------------------------------------------------------------------------- operands */

static uint8_t arg_kind(const struct sass_operand *o)
{
	switch (o->kind) {
	case SASS_REG: return LANES_ARG_REG;
	case SASS_UREG: return LANES_ARG_UREG;
	case SASS_PRED: return LANES_ARG_PRED;
	case SASS_UPRED: return LANES_ARG_UPRED;
	case SASS_SPECIAL: return LANES_ARG_SPECIAL;
	case SASS_IMMEDIATE:
	case SASS_F32:
	case SASS_F64:
	case SASS_F16:
	case SASS_BF16: return LANES_ARG_NUMBER;
	default: return LANES_ARG_NONE;
	}
}

static struct lanes_arg plain(const struct sass_operand *o)
{
	return (struct lanes_arg){
		.kind = arg_kind(o),
		.flags = (uint8_t)(o->flags & (SASS_NEG | SASS_ABS | SASS_NOT)),
		.regs = o->regs,
		.reg = o->reg,
		.value = o->value,
	};
}

/* c[bank][register + offset]: all items with one index. Returns how many there are. */
static unsigned bank(const struct sass_insn *insn, unsigned first, struct lanes_arg *out)
{
	unsigned i = first;
	bool has_bank = false;

	*out = (struct lanes_arg){.kind = LANES_ARG_BANK};
	for (; i < insn->operands_n && insn->operands[i].index == insn->operands[first].index;
	     i++) {
		const struct sass_operand *o = &insn->operands[i];

		out->flags |= (uint8_t)(o->flags & (SASS_NEG | SASS_ABS | SASS_NOT));
		if (o->kind == SASS_IMMEDIATE && !has_bank) {
			out->bank = (uint8_t)o->value;
			has_bank = true;
		} else if (o->kind == SASS_IMMEDIATE) {
			out->value += o->value;
		} else if (!has_bank) { /* cx[UR]: the bank is in a register */
			out->bank = 255;
			has_bank = true;
		} else if (o->reg != SASS_RZ) {
			out->index_kind = arg_kind(o);
			out->index = (uint8_t)o->reg;
		}
	}
	return i - first;
}

static void read_args(struct lanes_insn *x, const struct sass_insn *insn)
{
	unsigned i = 0;

	while (i < insn->operands_n) {
		const struct sass_operand *o = &insn->operands[i];
		struct lanes_arg a;

		if (o->flags & SASS_IN_ADDRESS) {
			i++;
			continue;
		}
		if (o->flags & SASS_IN_BANK) {
			i += bank(insn, i, &a);
		} else {
			a = plain(o);
			i++;
		}
		if (o->flags & SASS_DEST && !(o->flags & SASS_IN_BANK)) {
			if (x->dests_n < LANES_DESTS)
				x->dest[x->dests_n++] = a;
		} else if (x->sources_n < LANES_SOURCES) {
			x->source[x->sources_n++] = a;
		}
	}
}

/* ------------------------------------------------------------------------------------- instructions */

/* What the names of rows of the instruction tables mean, found before. */
#define KNOWN 512u

struct known_op {
	const struct sass_row *row;
	const struct op_row *op; /* NULL = none of them */
	bool is_lanewise;
};

static struct known_op find_op(struct known_op *cache, const struct sass_insn *insn)
{
	struct known_op *k = &cache[(uintptr_t)insn->row / sizeof(void *) % KNOWN];
	const char *name = sass_op(insn);

	if (k->row == insn->row && insn->row)
		return *k;
	*k = (struct known_op){.row = insn->row, .is_lanewise = is_lanewise(name)};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !k->op; i++) {
		const size_t n = strlen(rows[i].name);

		if (!strncmp(name, rows[i].name, n) && (!name[n] || name[n] == '.'))
			k->op = &rows[i];
	}
	return *k;
}

static void read_op(struct lanes_insn *x, const struct sass_insn *insn,
		    const struct sass_modifiers *m, struct known_op *cache)
{
	const struct known_op known = find_op(cache, insn);

	x->op = known.is_lanewise ? LANES_OP_LANEWISE : LANES_OP_OTHER;
	if (known.op) {
		x->op = known.op->op;
		read_words(x, known.op, m);
	}
	check_operands(x, m);
	if (cfg_flow(insn) == CFG_BRANCH)
		x->relation = sass_has_modifier(m, SASS_M_DIV)    ? SASS_M_DIV
			      : sass_has_modifier(m, SASS_M_CONV) ? SASS_M_CONV
			      : sass_has_modifier(m, SASS_M_ANY)  ? SASS_M_ANY
								  : SASS_M_NONE;
	if (x->op == LANES_OP_OTHER && !x->dests_n)
		x->op = LANES_OP_NOTHING;
}

/* [R4.X16]: the register counts 16 bytes. */
static uint8_t scale_of(const struct sass_insn *insn, const struct sass_modifiers *m, uint8_t first)
{
	for (unsigned i = first; i < insn->operands_n; i++) {
		if (insn->operands[i].index != insn->operands[first].index)
			break;
		if (sass_operand_has(m, i, SASS_M_X4))
			return 4;
		if (sass_operand_has(m, i, SASS_M_X8))
			return 8;
		if (sass_operand_has(m, i, SASS_M_X16))
			return 16;
	}
	return 1;
}

static void read_access(struct lanes_access *a, const struct sass_insn *insn,
			const struct sass_modifiers *m, uint32_t i)
{
	const char *name = sass_op(insn);

	a->insn = i;
	for (unsigned k = 0; k < 2; k++)
		a->scale[k] = a->access.address[k] < SASS_OPERANDS
				      ? scale_of(insn, m, a->access.address[k])
				      : 1;
	if (!strncmp(name, "LDSM", 4) || !strncmp(name, "STSM", 4))
		a->matrices = (uint8_t)(a->access.bytes / 4);
}

static void note_address(struct lanes_code *c, const struct sass_insn *insn)
{
	for (unsigned i = 0; i < insn->operands_n; i++) {
		const struct sass_operand *o = &insn->operands[i];

		if (o->kind == SASS_REG && o->flags & SASS_IN_ADDRESS && o->regs == 2)
			c->is_address[o->reg / 8 % 32] |= (uint8_t)(1u << o->reg % 8);
	}
}

static void note_writes(struct lanes_code *c, uint32_t i)
{
	struct effects x;

	dataflow_effects(&c->g->insns[i], &x);
	for (uint32_t loop = c->g->blocks[c->g->block_of[i]].loop; loop != CFG_NONE;
	     loop = c->g->loops[loop].parent)
		regset_add(&c->loop_writes[loop], &x.writes);
}

/*
 * What a call leaves changed: all that code writes which only calls lead to; and by the convention of compilers, of
 * code elsewhere, R0 and R3 to R15. Others that are read behind a call are those that it leaves alone.
 */
static void note_calls(struct lanes_code *c)
{
	const struct cfg *g = c->g;
	struct effects x;

	for (uint32_t k = 0; k < g->calls_n; k++) {
		c->insns[g->calls[k].insn].op = LANES_OP_CALL;
		if (!cfg_is_within(g, g->calls[k].target))
			c->called_writes.r[0] |= 0xfff9;
	}
	for (uint32_t b = 0; b < g->blocks_n && g->calls_n; b++)
		for (uint32_t i = g->blocks[b].first; cfg_is_called(g, b) && i < g->blocks[b].end;
		     i++) {
			dataflow_effects(&g->insns[i], &x);
			regset_add(&c->called_writes, &x.writes);
		}
}

bool lanes_code_read(struct lanes_code *c, const struct cfg *g, struct arena *arena)
{
	struct known_op cache[KNOWN] = {{NULL, NULL, false}};

	memset(c, 0, sizeof(*c));
	c->g = g;
	c->insns = arena_array(arena, g->insns_n, sizeof(*c->insns));
	c->accesses = arena_array(arena, g->insns_n, sizeof(*c->accesses));
	c->loop_writes = arena_array(arena, g->loops_n, sizeof(*c->loop_writes));
	if (!c->insns || !c->accesses || !c->loop_writes)
		return false;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		const struct sass_insn *insn = &g->insns[i];
		struct lanes_access *a = &c->accesses[c->accesses_n];
		struct lanes_insn *x = &c->insns[i];
		const struct sass_modifiers *m = &g->modifiers[i];

		note_writes(c, i);
		if (!insn->is_decoded)
			continue;
		read_args(x, insn);
		read_op(x, insn, m, cache);
		if (!sass_access(insn, m, &a->access))
			continue;
		c->are_accesses_cut |= c->accesses_n >= ACCESSES_MOST;
		if (c->accesses_n < ACCESSES_MOST) {
			read_access(a, insn, m, i);
			x->access = (uint16_t)++c->accesses_n;
			note_address(c, insn);
			if (x->op == LANES_OP_OTHER && a->access.act == SASS_LOAD)
				x->op = LANES_OP_LOAD;
		}
	}
	note_calls(c);
	return true;
}
