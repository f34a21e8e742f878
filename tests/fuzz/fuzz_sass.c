/*
 * fuzz_sass.c - any 128 bits as an instruction of any architecture: registers are registers, texts end,
 * and an instruction that is decoded has no bit that nobody explains.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sass_reparse.h"
#include "sass_text.h"
#include "sass_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_operand(const struct sass_operand *o, const struct sass_insn *insn)
{
	switch (o->kind) {
	case SASS_REG:
	case SASS_UREG: check(o->reg <= 255); break;
	case SASS_PRED:
	case SASS_UPRED: check(o->reg <= 7); break;
	case SASS_BARRIER: check(o->reg <= 15); break;
	case SASS_SPECIAL: check(o->value >= 0 && o->value <= 255); break;
	default: break;
	}
	check(o->index < SASS_OPERANDS && o->kind <= SASS_CHOICE);
	check(!insn->operands_n || o->index <= insn->operands[insn->operands_n - 1].index);
}

/* Words stand in the text; a memory and a tensor core are never both at work. */
static void check_work(int sm, const struct sass_insn *insn, const char *text)
{
	struct sass_modifiers m;
	struct sass_access a;
	struct sass_mma p;

	sass_modifiers(sm, insn, &m);
	check(m.own <= m.n && m.n <= SASS_MODIFIERS && m.numbers_n <= SASS_NUMBERS);
	for (unsigned i = 0; i < m.n; i++) {
		check(m.at[i].word > SASS_M_NONE && m.at[i].word < SASS_M_END);
		check(i < m.own ? m.at[i].operand == SASS_NO_OPERAND
				: m.at[i].operand < SASS_OPERANDS);
		check(i >= m.own || strstr(text, sass_modifier_name(m.at[i].word)) ||
		      strlen(text) == SASS_TEXT_MAX - 1);
	}
	check(!(sass_access(insn, &m, &a) && sass_mma(insn, &m, &p)));
	check(a.act <= SASS_MBARRIER && a.from < SASS_WORDED && a.to < SASS_WORDED);
	check(a.bytes <= 1024);
	if (sass_mma(insn, &m, &p))
		check(p.a < SASS_TYPES && p.b < SASS_TYPES && p.d < SASS_TYPES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int sms[] = {70, 75, 80, 86, 89, 90, 100, 103, 120, 121};
	const int sm = size ? sms[data[0] % 10] : 80;

	for (size_t at = 1; at + SASS_BYTES <= size; at += SASS_BYTES) {
		char text[SASS_TEXT_MAX], mnemonic[SASS_TEXT_MAX];
		struct sass_insn insn;
		const bool good =
			sass_decode(sm, sass_load(data + at), at / SASS_BYTES * SASS_BYTES, &insn);
		const size_t n = sass_text(sm, &insn, text);

		check(good == insn.is_decoded);
		check(!good || (insn.row && !insn.unclaimed.lo && !insn.unclaimed.hi));
		check(n == strlen(text) && n < SASS_TEXT_MAX);
		check(sass_mnemonic(sm, &insn, mnemonic) <= n);
		check(!good || n == SASS_TEXT_MAX - 1 || sass_reparses(text, &insn));
		check(strstr(text, mnemonic) != NULL || n == SASS_TEXT_MAX - 1);
		check(insn.operands_n <= SASS_OPERANDS && insn.control.stall <= 15);
		for (unsigned i = 0; i < insn.operands_n; i++)
			check_operand(&insn.operands[i], &insn);
		check_work(sm, &insn, text);
	}
	return 0;
}
