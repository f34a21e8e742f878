/*
 * test_work.c - the words of instructions as numbers, and what those have a memory or a tensor core do:
 * held against the texts of NVIDIA's disassembler, and against what the PTX manual says of each operation.
 */
#include "kbn_test.h"

#include <ctype.h>
#include <string.h>

#include "golden_words.h"
#include "sass_reparse.h"
#include "sass_table.h"
#include "sass_text.h"
#include "sass_work.h"

/* ------------------------------------------------------------------------------------- modifiers */

static bool is_shape(const char *s, size_t n)
{
	bool has_x = false;

	for (size_t i = 0; i < n; i++) {
		has_x |= s[i] == 'x';
		if (s[i] != 'x' && !isdigit((unsigned char)s[i]))
			return false;
	}
	return has_x || n > 3 || (n == 3 && !strncmp(s, "884", 3));
}

/* The numbers of all shapes in a mnemonic: of 64x128x16 and of 168128 those that it stands for. */
static void check_numbers(const struct sass_modifiers *m, const char *text)
{
	static const char *const packed[] = {"884",    "1684",   "1688", "16816", "16832", "16864",
					     "168128", "168256", "8816", "8832",  "88128"};
	char joined[32];

	if (!m->numbers_n)
		return;
	snprintf(joined, sizeof(joined), m->numbers_n == 3 ? ".%ux%ux%u" : ".x%u", m->numbers[0],
		 m->numbers[1], m->numbers[2]);
	if (strstr(text, joined))
		return;
	assert_int_equal(m->numbers_n, 3);
	snprintf(joined, sizeof(joined), "%u%u%u", m->numbers[0], m->numbers[1], m->numbers[2]);
	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++)
		if (!strcmp(packed[i], joined) && strstr(text, joined))
			return;
	fail_msg("%s: %s", text, joined);
}

/* The words of the text's mnemonic, one after the other, are the modifiers. */
static void check_mnemonic(const struct sass_modifiers *m, const char *text)
{
	const char *at = text + (*text == '@' ? strcspn(text, " ") + 1 : 0);
	const char *end = at + strcspn(at, " ");
	unsigned i = 0;

	for (at += strcspn(at, ". "); at < end;) {
		const size_t n = strcspn(++at, ". ");

		if (is_shape(at, n) && strncmp(at, "16x2", n)) {
			assert_true(m->numbers_n > 0);
		} else {
			const char *name = i < m->own ? sass_modifier_name(m->at[i].word) : "";

			if (strlen(name) != n || strncmp(name, at, n) != 0)
				fail_msg("%s: word %u is %s", text, i, name);
			i++;
		}
		at += n;
	}
	assert_int_equal(i, m->own);
	check_numbers(m, text);
}

/* Each stands in the text behind an operand. */
static void check_operands(const struct sass_modifiers *m, const struct sass_insn *insn,
			   const char *text)
{
	for (unsigned i = m->own; i < m->n; i++) {
		char word[40];

		snprintf(word, sizeof(word), ".%s", sass_modifier_name(m->at[i].word));
		if (!strstr(text, word))
			fail_msg("%s: no %s", text, word);
		assert_true(m->at[i].operand < insn->operands_n);
		assert_true(sass_operand_has(m, m->at[i].operand, m->at[i].word));
	}
}

/* How many lanes, scales and widths of registers the text has: R4.H0_H0, R5.X4, R2.64, R2.B1. */
static unsigned suffixes(const char *text)
{
	static const char *const known[] = {"H0_H0", "H1_H1", "X4", "X8",  "X16",  "64",
					    "U32",   "B0",    "B1", "B2",  "B3",   "ROW",
					    "COL",   "H0",    "H1", "F32", "B3210"};
	unsigned found = 0;

	if (*text == '@')
		text = strchr(text, ' ') + 1;
	for (const char *at = strchr(text, ' '); at && (at = strpbrk(at, "RU"));) {
		const char *dot = at + strcspn(at, ".,+]|| ");
		const size_t n = *dot == '.' ? strcspn(dot + 1, ".,+]|| ") : 0;

		for (size_t i = 0; n && i < sizeof(known) / sizeof(*known); i++)
			found += strlen(known[i]) == n && !strncmp(dot + 1, known[i], n);
		at = dot;
	}
	return found;
}

static void check_words(int sm, struct sass_word w, uint64_t address, const char *text)
{
	struct sass_modifiers m;
	struct sass_insn insn;
	unsigned behind;

	sass_decode(sm, w, address, &insn);
	if (!sass_reparses(text, &insn))
		fail_msg("sm_%d %s: not the registers of the structure", sm, text);
	sass_modifiers(sm, &insn, &m);
	check_mnemonic(&m, text);
	check_operands(&m, &insn, text);
	behind = m.n - m.own;
	if (strncmp(sass_op(&insn), "BMOV", 4) && suffixes(text) > behind)
		fail_msg("%s: %u words behind operands", text, behind);
}

static void words_are_those_of_the_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		each_line(architectures[i], check_words);
}

static void names_have_an_order(void **state)
{
	(void)state;
	for (unsigned i = 2; i < SASS_M_END; i++)
		if (strcmp(sass_modifier_name(i - 1), sass_modifier_name(i)) >= 0)
			fail_msg("%s is not in its place", sass_modifier_name(i));
	assert_string_equal(sass_modifier_name(SASS_M_NONE), "");
	assert_string_equal(sass_modifier_name(SASS_M_END), "");
	assert_string_equal(sass_modifier_name(SASS_M_WIDE), "WIDE");
}

/* Words that no row has would stay for ever. */
static bool used[SASS_M_END];

static void use(const struct sass_terms *t)
{
	for (unsigned i = 0; t && i < t->words_n; i++)
		used[t->words[i]] = true;
}

static void no_word_is_left_over(void **state)
{
	(void)state;
	for (int sm = SASS_SM_FIRST; sm <= SASS_SM_LAST; sm++) {
		const struct sass_table *t = sass_table(sm);
		uint32_t items = 0;

		for (unsigned op = 0; t && op < SASS_OPCODES; op++)
			for (unsigned i = 0; i < t->by_opcode[op].n; i++) {
				const struct sass_row *r = &t->rows[t->by_opcode[op].first + i];
				const struct sass_operand_row *o = &t->operands[r->operands_first];

				use(&r->name_terms);
				items = r->mods_first + r->mods_n > items
						? r->mods_first + r->mods_n
						: items;
				for (unsigned k = 0; k < r->operands_n; k++)
					if (o[k].first + o[k].n > items)
						items = o[k].first + o[k].n;
			}
		for (uint32_t i = 0; t && i < items; i++) {
			const struct sass_item *item = &t->items[i];
			const size_t n = item->kind == SASS_ITEM_CHOICE
						 ? (size_t)1 << item->choice->width
						 : 1;

			for (size_t v = 0; item->terms && v < n; v++)
				use(&item->terms[v]);
		}
	}
	for (unsigned i = 1; i < SASS_M_END; i++)
		if (!used[i])
			fail_msg("%s is in no row", sass_modifier_name(i));
}

/* ------------------------------------------------------------------------------------- memory */

static const struct expected_access {
	const char *mnemonic;
	struct sass_access is;
} accesses[] = {
	{"LDG.E", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 4, {0}}},
	{"LDG.E.64", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 8, {0}}},
	{"LDG.E.128", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 16, {0}}},
	{"LDG.E.U8", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 1, {0}}},
	{"LDG.E.S8", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 1, {0}}},
	{"LDG.E.U16", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 2, {0}}},
	{"LDG.E.S16.CONSTANT", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 2, {0}}},
	{"LDG.E.128.CONSTANT", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 16, {0}}},
	{"LDG.E.LTC128B.64", {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 8, {0}}},
	{"LDG.E.ENL2.256.CONSTANT",
	 {SASS_LOAD, SASS_GLOBAL, SASS_REGISTERS, false, false, 32, {0}}},
	{"LD.E", {SASS_LOAD, SASS_GENERIC, SASS_REGISTERS, false, false, 4, {0}}},
	{"LD.E.128", {SASS_LOAD, SASS_GENERIC, SASS_REGISTERS, false, false, 16, {0}}},
	{"LDS", {SASS_LOAD, SASS_SHARED, SASS_REGISTERS, false, false, 4, {0}}},
	{"LDS.U16", {SASS_LOAD, SASS_SHARED, SASS_REGISTERS, false, false, 2, {0}}},
	{"LDS.U.128", {SASS_LOAD, SASS_SHARED, SASS_REGISTERS, false, false, 16, {0}}},
	{"LDSM.16.M88.4", {SASS_LOAD, SASS_SHARED, SASS_REGISTERS, false, false, 16, {0}}},
	{"LDSM.16.MT88.2", {SASS_LOAD, SASS_SHARED, SASS_REGISTERS, false, false, 8, {0}}},
	{"LDL.64", {SASS_LOAD, SASS_LOCAL, SASS_REGISTERS, false, false, 8, {0}}},
	{"LDC.64", {SASS_LOAD, SASS_CONSTANT, SASS_REGISTERS, false, false, 8, {0}}},
	{"LDC.U8", {SASS_LOAD, SASS_CONSTANT, SASS_REGISTERS, false, false, 1, {0}}},
	{"ULDC.64", {SASS_LOAD, SASS_CONSTANT, SASS_REGISTERS, false, true, 8, {0}}},
	{"LDCU.128", {SASS_LOAD, SASS_CONSTANT, SASS_REGISTERS, false, true, 16, {0}}},
	{"LDTM.x64", {SASS_LOAD, SASS_TENSOR, SASS_REGISTERS, false, false, 256, {0}}},
	{"STG.E.128", {SASS_STORE, SASS_REGISTERS, SASS_GLOBAL, false, false, 16, {0}}},
	{"STG.E.U8", {SASS_STORE, SASS_REGISTERS, SASS_GLOBAL, false, false, 1, {0}}},
	{"ST.E.64", {SASS_STORE, SASS_REGISTERS, SASS_GENERIC, false, false, 8, {0}}},
	{"STS.128", {SASS_STORE, SASS_REGISTERS, SASS_SHARED, false, false, 16, {0}}},
	{"STS.U16", {SASS_STORE, SASS_REGISTERS, SASS_SHARED, false, false, 2, {0}}},
	{"STSM.16.M88.4", {SASS_STORE, SASS_REGISTERS, SASS_SHARED, false, false, 16, {0}}},
	{"STAS.64", {SASS_STORE, SASS_REGISTERS, SASS_SHARED, true, false, 8, {0}}},
	{"STL", {SASS_STORE, SASS_REGISTERS, SASS_LOCAL, false, false, 4, {0}}},
	{"ATOMG.E.ADD.STRONG.GPU", {SASS_ATOMIC, SASS_GLOBAL, SASS_GLOBAL, false, false, 4, {0}}},
	{"ATOMG.E.ADD.64.STRONG.GPU",
	 {SASS_ATOMIC, SASS_GLOBAL, SASS_GLOBAL, false, false, 8, {0}}},
	{"ATOMG.E.CAS.STRONG.GPU", {SASS_ATOMIC, SASS_GLOBAL, SASS_GLOBAL, false, false, 4, {0}}},
	{"ATOM.E.ADD.STRONG.GPU", {SASS_ATOMIC, SASS_GENERIC, SASS_GENERIC, false, false, 4, {0}}},
	{"ATOMS.CAST.SPIN.64", {SASS_ATOMIC, SASS_SHARED, SASS_SHARED, false, false, 8, {0}}},
	{"ATOMS.CAST.SPIN", {SASS_ATOMIC, SASS_SHARED, SASS_SHARED, false, false, 4, {0}}},
	{"UREDGR.E.ADD.NA.STRONG.GPU",
	 {SASS_REDUCTION, SASS_REGISTERS, SASS_GLOBAL, false, true, 4, {0}}},
	{"ATOMS.ADD", {SASS_ATOMIC, SASS_SHARED, SASS_SHARED, false, false, 4, {0}}},
	{"RED.E.ADD.STRONG.GPU",
	 {SASS_REDUCTION, SASS_REGISTERS, SASS_GLOBAL, false, false, 4, {0}}},
	{"REDG.E.ADD.STRONG.GPU",
	 {SASS_REDUCTION, SASS_REGISTERS, SASS_GLOBAL, false, false, 4, {0}}},
	{"REDG.E.ADD.F16x8.RN.STRONG.GPU",
	 {SASS_REDUCTION, SASS_REGISTERS, SASS_GLOBAL, false, false, 16, {0}}},
	{"LDGSTS.E.BYPASS.128", {SASS_COPY, SASS_GLOBAL, SASS_SHARED, true, false, 16, {0}}},
	{"LDGSTS.E.BYPASS.LTC128B.128",
	 {SASS_COPY, SASS_GLOBAL, SASS_SHARED, true, false, 16, {0}}},
	{"LDGSTS.E.64", {SASS_COPY, SASS_GLOBAL, SASS_SHARED, true, false, 8, {0}}},
	{"LDGSTS.E", {SASS_COPY, SASS_GLOBAL, SASS_SHARED, true, false, 4, {0}}},
	{"UTMALDG.2D", {SASS_COPY, SASS_GLOBAL, SASS_SHARED, true, true, 0, {0}}},
	{"UTMASTG.2D", {SASS_COPY, SASS_SHARED, SASS_GLOBAL, true, true, 0, {0}}},
	{"UBLKCP.S.G", {SASS_COPY, SASS_GLOBAL, SASS_SHARED, true, true, 0, {0}}},
	{"UBLKCP.G.S", {SASS_COPY, SASS_SHARED, SASS_GLOBAL, true, true, 0, {0}}},
	{"UTMAREDG.2D.ADD", {SASS_REDUCTION, SASS_SHARED, SASS_GLOBAL, true, true, 0, {0}}},
	{"UTMAPF.L2.3D", {SASS_PREFETCH, SASS_GLOBAL, SASS_CACHE, true, true, 0, {0}}},
	{"CCTL.E.PF2", {SASS_PREFETCH, SASS_GLOBAL, SASS_CACHE, true, false, 0, {0}}},
	{"SYNCS.PHASECHK.TRANS64.TRYWAIT",
	 {SASS_MBARRIER, SASS_SHARED, SASS_SHARED, false, false, 8, {0}}},
	{"TEX.EF", {SASS_LOAD, SASS_TEXTURE, SASS_REGISTERS, false, false, 0, {0}}},
	{"SULD.D.1D.EF.U8.IGN", {SASS_LOAD, SASS_SURFACE, SASS_REGISTERS, false, false, 1, {0}}},
	{"IADD3", {0}},
	{"CCTL.IVALL", {0}},
	{"MEMBAR.SC.GPU", {0}},
	{"HMMA.16816.F32", {0}},
	{"QSPC.E.G", {0}},
};
#define ACCESSES (sizeof(accesses) / sizeof(*accesses))
static unsigned seen_access[ACCESSES];

static void check_access(int sm, struct sass_word w, uint64_t address, const char *text)
{
	const char *at = text + (*text == '@' ? strcspn(text, " ") + 1 : 0);
	const size_t n = strcspn(at, " ");
	struct sass_modifiers m;
	struct sass_access a;
	struct sass_insn insn;
	bool any;

	sass_decode(sm, w, address, &insn);
	sass_modifiers(sm, &insn, &m);
	any = sass_access(&insn, &m, &a);
	if (any && a.from != SASS_TEXTURE && !strchr(at, '['))
		fail_msg("%s: no address", text);
	if (any && !a.bytes && !a.is_async && a.from != SASS_TEXTURE && !strstr(at, "STAT") &&
	    strncmp(at, "SUST.P", 6) != 0)
		fail_msg("%s: no bytes", text);
	if (any && a.address[0] < SASS_OPERANDS)
		assert_true(insn.operands[a.address[0]].flags & (SASS_IN_ADDRESS | SASS_IN_BANK));
	for (size_t i = 0; i < ACCESSES; i++) {
		const struct sass_access *e = &accesses[i].is;

		if (strlen(accesses[i].mnemonic) != n || strncmp(accesses[i].mnemonic, at, n))
			continue;
		seen_access[i]++;
		if (any != (e->act != SASS_NOTHING) || a.act != e->act || a.from != e->from ||
		    a.to != e->to || a.is_async != e->is_async || a.is_uniform != e->is_uniform ||
		    a.bytes != e->bytes)
			fail_msg("sm_%d %s: %d %d %d %d %d %u", sm, text, a.act, a.from, a.to,
				 a.is_async, a.is_uniform, a.bytes);
	}
}

static void accesses_of_known_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		each_line(architectures[i], check_access);
	for (size_t i = 0; i < ACCESSES; i++)
		if (!seen_access[i])
			fail_msg("%s was not met", accesses[i].mnemonic);
}

/* ------------------------------------------------------------------------------------- matrices */

static const struct expected_mma {
	const char *mnemonic;
	struct sass_mma is;
} mmas[] = {
	{"HMMA.16816.F32",
	 {SASS_WARP, 16, 8, 16, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F32, 0, 0, 4096}},
	{"HMMA.16816.F16",
	 {SASS_WARP, 16, 8, 16, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F16, 0, 0, 4096}},
	{"HMMA.16816.F32.BF16",
	 {SASS_WARP, 16, 8, 16, SASS_TYPE_BF16, SASS_TYPE_BF16, SASS_TYPE_F32, 0, 0, 4096}},
	{"HMMA.1688.F32.TF32",
	 {SASS_WARP, 16, 8, 8, SASS_TYPE_TF32, SASS_TYPE_TF32, SASS_TYPE_F32, 0, 0, 2048}},
	{"HMMA.1688.F32",
	 {SASS_WARP, 16, 8, 8, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F32, 0, 0, 2048}},
	{"HMMA.SP.16832.F32",
	 {SASS_WARP, 16, 8, 32, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F32, 1, 0, 8192}},
	{"HMMA.884.F32.F32.STEP0",
	 {SASS_WARP, 8, 8, 4, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F32, 0, 0, 512}},
	{"HMMA.884.F16.F16.STEP0",
	 {SASS_WARP, 8, 8, 4, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F16, 0, 0, 1024}},
	{"IMMA.16832.S8.S8",
	 {SASS_WARP, 16, 8, 32, SASS_TYPE_S8, SASS_TYPE_S8, SASS_TYPE_S32, 0, 0, 8192}},
	{"IMMA.16832.U4.U8",
	 {SASS_WARP, 16, 8, 32, SASS_TYPE_U4, SASS_TYPE_U8, SASS_TYPE_S32, 0, 0, 8192}},
	{"DMMA.884", {SASS_WARP, 8, 8, 4, SASS_TYPE_F64, SASS_TYPE_F64, SASS_TYPE_F64, 0, 0, 512}},
	{"DMMA.8x8x4",
	 {SASS_WARP, 8, 8, 4, SASS_TYPE_F64, SASS_TYPE_F64, SASS_TYPE_F64, 0, 0, 512}},
	{"QMMA.16832.F32.E4M3.E4M3",
	 {SASS_WARP, 16, 8, 32, SASS_TYPE_E4M3, SASS_TYPE_E4M3, SASS_TYPE_F32, 0, 0, 8192}},
	{"HGMMA.64x128x16.F32.BF16",
	 {SASS_WARPGROUP, 64, 128, 16, SASS_TYPE_BF16, SASS_TYPE_BF16, SASS_TYPE_F32, 0, 0,
	  262144}},
	{"HGMMA.64x64x16.F32",
	 {SASS_WARPGROUP, 64, 64, 16, SASS_TYPE_F16, SASS_TYPE_F16, SASS_TYPE_F32, 0, 0, 131072}},
	{"QGMMA.64x128x32.F32.E4M3.E4M3",
	 {SASS_WARPGROUP, 64, 128, 32, SASS_TYPE_E4M3, SASS_TYPE_E4M3, SASS_TYPE_F32, 0, 0,
	  524288}},
	{"QGMMA.64x128x32.F32.E5M2.E4M3",
	 {SASS_WARPGROUP, 64, 128, 32, SASS_TYPE_E5M2, SASS_TYPE_E4M3, SASS_TYPE_F32, 0, 0,
	  524288}},
	{"IGMMA.64x128x32.S8.S8",
	 {SASS_WARPGROUP, 64, 128, 32, SASS_TYPE_S8, SASS_TYPE_S8, SASS_TYPE_S32, 0, 0, 524288}},
	{"UTCHMMA", {SASS_BLOCK, 0, 0, 0, SASS_UNKNOWN, SASS_UNKNOWN, SASS_UNKNOWN, 0, 0, 0}},
	{"UTCHMMA.2CTA",
	 {SASS_BLOCK_PAIR, 0, 0, 0, SASS_UNKNOWN, SASS_UNKNOWN, SASS_UNKNOWN, 0, 0, 0}},
};
#define MMAS (sizeof(mmas) / sizeof(*mmas))
static unsigned seen_mma[MMAS];

static void check_mma(int sm, struct sass_word w, uint64_t address, const char *text)
{
	const char *at = text + (*text == '@' ? strcspn(text, " ") + 1 : 0);
	const size_t n = strcspn(at, " ");
	const bool says_so = memmem(at, n, "MMA", 3) && strncmp(at, "HFMA2", 5) != 0;
	struct sass_modifiers m;
	struct sass_insn insn;
	struct sass_mma p;

	sass_decode(sm, w, address, &insn);
	sass_modifiers(sm, &insn, &m);
	assert_true(sass_mma(&insn, &m, &p) == says_so);
	if (says_so && p.who < SASS_BLOCK &&
	    (!p.operations || !sass_type_bits(p.a) || !sass_type_bits(p.b) || !sass_type_bits(p.d)))
		fail_msg("%s: %u operations, %s, %s, %s", text, p.operations, sass_type_name(p.a),
			 sass_type_name(p.b), sass_type_name(p.d));
	for (size_t i = 0; i < MMAS; i++) {
		const struct sass_mma *e = &mmas[i].is;

		if (strlen(mmas[i].mnemonic) != n || strncmp(mmas[i].mnemonic, at, n))
			continue;
		seen_mma[i]++;
		if (p.who != e->who || p.m != e->m || p.n != e->n || p.k != e->k || p.a != e->a ||
		    p.b != e->b || p.d != e->d || p.is_sparse != e->is_sparse ||
		    p.is_scaled != e->is_scaled || p.operations != e->operations)
			fail_msg("%s: %u x %u x %u, %s %s %s, %u", text, p.m, p.n, p.k,
				 sass_type_name(p.a), sass_type_name(p.b), sass_type_name(p.d),
				 p.operations);
	}
}

static void shapes_and_types_of_matrix_products(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		each_line(architectures[i], check_mma);
	for (size_t i = 0; i < MMAS; i++)
		if (!seen_mma[i])
			fail_msg("%s was not met", mmas[i].mnemonic);
}

/* ------------------------------------------------------------------------------------- completeness */

static bool has_address(const struct sass_table *t, const struct sass_row *r)
{
	for (unsigned i = 0; i < r->operands_n; i++) {
		const struct sass_operand_row *o = &t->operands[r->operands_first + i];

		for (unsigned k = 0; k < o->n; k++)
			if (t->items[o->first + k].kind == SASS_ITEM_OPEN)
				return true;
	}
	return false;
}

/* Every operation with an address in brackets is in the table: as an access, or as one that moves nothing. */
static void every_address_is_explained(void **state)
{
	static const char *const known[] = {
#define TYPE(...)
#define NARROW(...)
#define ACCESS(op, ...) #op,
#define MMA(op, ...)    #op,
#include "tables/sass_work.def"
	};
	const size_t n = sizeof(known) / sizeof(*known);
	bool met[sizeof(known) / sizeof(*known)] = {0};

	(void)state;
	for (size_t k = 0; k < ARCHITECTURES; k++) {
		const struct sass_table *t = sass_table(architectures[k]);

		for (unsigned op = 0; op < SASS_OPCODES; op++)
			for (unsigned i = 0; i < t->by_opcode[op].n; i++) {
				const struct sass_row *r = &t->rows[t->by_opcode[op].first + i];
				bool found = false;

				for (size_t j = 0; j < n; j++)
					if (!strcmp(known[j], r->name))
						found = met[j] = true;
				if (!found && has_address(t, r))
					fail_msg("sm_%d: %s", t->sm, r->name);
			}
	}
	for (size_t j = 0; j < n; j++)
		if (!met[j])
			fail_msg("%s is no operation", known[j]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_the_text),
		cmocka_unit_test(names_have_an_order),
		cmocka_unit_test(no_word_is_left_over),
		cmocka_unit_test(accesses_of_known_instructions),
		cmocka_unit_test(shapes_and_types_of_matrix_products),
		cmocka_unit_test(every_address_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
