/*
 * test_sass.c - instructions against the text that NVIDIA's disassembler gives them, kept in
 * tests/golden/sass (golden_words.h).
 */
#include "kbn_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "golden_words.h"
#include "sass_read.h"
#include "sass_text.h"

static void tables_load(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		assert_true(sass_has(architectures[i]));
	assert_false(sass_has(61));
	assert_false(sass_has(0));
}

/* Reads one row for an architecture; what is wrong with it, "" = nothing. */
static const char *why_wrong(struct sass_reader *r, int sm, const struct sass_source *row)
{
	static const struct sass_choice specials = {"special", 8, NULL};
	static struct err e;

	e.text[0] = '\0';
	*r = (struct sass_reader){.sm = sm, .texts = arena_new(), .specials = &specials, .e = &e};
	if (sass_read_row(r, row) != !e.text[0])
		fail_msg("%s %s: %s", row->opcode, row->operands, e.text);
	return e.text;
}

static void forget(struct sass_reader *r)
{
	vec_fini(&r->rows);
	vec_fini(&r->items);
	vec_fini(&r->operands);
	arena_free(r->texts);
}

/* The example that explains the language in tables/sass.def. */
static void a_row_is_read(void **state)
{
	const struct sass_source row = {80,
					121,
					7,
					"x.def",
					"029/17",
					"76=0",
					"DADD .FTZ@80 rnd@78",
					">R@16#2 R@24-72|73*122#2 dC#2 P@87!90?"};
	const struct sass_item *items;
	struct sass_reader r;

	(void)state;
	assert_string_equal(why_wrong(&r, 90, &row), "");
	assert_int_equal(r.rows.n, 2); /* one for each form */
	assert_int_equal(r.rows.at[0].value.lo, 0x229);
	assert_int_equal(r.rows.at[1].value.lo, 0xe29);
	assert_int_equal(r.rows.at[1].value.hi, 1u << 27); /* bit 91 */
	assert_int_equal(r.rows.at[0].mask.hi, 1u << 27 | 1u << 12);
	assert_string_equal(r.rows.at[0].name, "DADD");
	assert_int_equal(r.rows.at[0].mods_n, 2);
	assert_int_equal(r.rows.at[0].operands_n, 4);
	assert_true(r.operands.at[0].is_dest);
	assert_true(r.operands.at[3].is_optional);
	items = &r.items.at[r.operands.at[1].first];
	assert_int_equal(items->kind, SASS_ITEM_REG);
	assert_int_equal(items->regs, 2);
	assert_int_equal(items->pieces[0].at, 24);
	assert_int_equal(items->marks.minus, 72);
	assert_int_equal(items->marks.bars, 73);
	assert_int_equal(items->marks.reuse, 122);
	items = &r.items.at[r.operands.at[2].first];
	assert_int_equal(items->kind, SASS_ITEM_REG);
	assert_int_equal(items->pieces[0].at, 64);
	items = &r.items.at[r.operands.at[6].first];
	assert_int_equal(items->kind, SASS_ITEM_UREG);
	assert_int_equal(items->pieces[0].at, 32);
	assert_int_equal(r.rows.at[0].claimed.lo, 0xffffffff);
	forget(&r);
}

/* What is read and not in the text, counts with bits behind them, bits without a trace. */
static void hidden_and_counted(void **state)
{
	const struct sass_source row = {
		80,      89, 7,   "x.def",
		"=981+", "", "N", ">R@16#mem_n@73+76+76 [{R@24#0+72}] #87-90 ^UR@32#2"};
	struct sass_reader r;

	(void)state;
	assert_string_equal(why_wrong(&r, 80, &row), "");
	assert_int_equal(r.rows.at[0].operands_n, 3);
	assert_int_equal(r.rows.at[0].claimed.hi >> 23 & 15, 15);
	assert_true(r.operands.at[2].is_hidden && !r.operands.at[2].is_dest);
	assert_false(r.operands.at[0].is_hidden || r.operands.at[1].is_hidden);
	assert_string_equal(r.items.at[0].regs_of->name, "mem_n");
	assert_int_equal(r.items.at[0].more_n, 2);
	assert_int_equal(r.items.at[0].more[1], 76);
	assert_int_equal(r.items.at[2].regs, 0);
	assert_int_equal(r.items.at[2].more_n, 1);
	assert_int_equal(r.items.at[2].more[0], 72);
	assert_int_equal(r.items.at[r.operands.at[2].first].kind, SASS_ITEM_UREG);
	assert_int_equal(r.items.at[r.operands.at[2].first].regs, 2);
	forget(&r);
}

/* A matrix instruction has its uniform predicate from sm_86 on; before, these bits mean nothing. */
static void words_by_architecture(void **state)
{
	const struct sass_source row = {80, 121, 7, "x.def", "=23c", "", "N", "$mma_predicate"};
	struct sass_reader r;

	(void)state;
	for (int sm = 80; sm <= 86; sm += 6) {
		assert_string_equal(why_wrong(&r, sm, &row), "");
		assert_int_equal(r.rows.at[0].operands_n, sm == 86);
		assert_int_equal(r.rows.at[0].claimed.hi >> 23 & 15, 15);
		forget(&r);
	}
}

/* The reason names the row, and begins with `why`. */
static void wrong_rows(void **state)
{
	static const struct {
		const char *opcode, *when, *name, *operands, *why;
	} cases[] = {
		{"029", "", "N", "", "which opcode: 029"},
		{"=1029", "", "N", "", "which opcode: =1029"},
		{"=029,", "", "N", "", "which opcode: =029,"},
		{"029/19", "", "N", "", "which form: 9"},
		{"=029", "72-73", "N", "", "which condition: 72-73"},
		{"=029", "73-72=1", "N", "", "which condition: 73-72=1"},
		{"=029", "128=1", "N", "", "which condition: 128=1"},
		{"=029", "72=x", "N", "", "which value: 72=x"},
		{"=029", "1!=0 2!=0 3!=0 4!=0 5!=0", "N", "", "too many conditions: 5!=0"},
		{"=029", "", "", "", "no name: "},
		{"=029", "", "N #84-", "", "which bits: #84-"},
		{"=029", "", "N rnd@78?", "", "what is this: ?"},
		{"=029", "", "N nothing@78", "", "no such kind or choice: nothing@78"},
		{"=029", "", "N $nothing", "", "no such words: nothing"},
		{"=029", "", "N rnd@78:3", "", "not as many bits as the choice has: rnd@78:3"},
		{"=029", "", "N", "R@", "where is it: "},
		{"=029", "", "N", "R@124", "no such bits: R@124"},
		{"=029", "", "N", "R@16:9", "no register is so wide: R@16:9"},
		{"=029", "", "N", "t@1:40,2,3,4,5,6,7,8", "too many pieces: t@1:40,2,3,4,5,6,7,8"},
		{"=029", "", "N", "x@40:", "how wide is it: 40:"},
		{"=029", "", "N", "x@40:8<2", "how much is it shifted: 40:8<2"},
		{"=029", "", "N", "x@1,2,3,4,5,6,7,8,9", "too many pieces: x@1,2,3,4,5,6,7,8,9"},
		{"=029", "", "N", "R@16^2", "what is this: ^2"},
		{"=029", "", "N", "R@16-", "what is this: -"},
		{"=029", "", "N", "R@16#nothing@3", "how many registers: nothing@3"},
		{"=029", "", "N", "R@16#0", "how many registers: 0"},
		{"=029", "", "N", "R@16#+", "how many registers: +"},
		{"=029", "", "N", "R@16#2+", "which bit: "},
		{"=029", "", "N", "R@16#2+128", "which bit: 128"},
		{"=029", "", "N", "R@16#mem_n@73+1+2+3+4+5", "too many bits: 5"},
		{"=029", "", "N", "R@16+2", "what is this: +2"},
		{"=029", "", "N", "^>R@16", "no such kind or choice: >R@16"},
		{"=029", "", "N", ">^R@16", "no such kind or choice: ^R@16"},
		{"=029", "", "N", "#84-", "which bits: #84-"},
		{"=029", "", "N", "fB", "no such operand in this form: fB"},
		{"029/4", "", "N", "'PR", "no end of: PR"},
		{"=029", "", "N", "[{R@24]", "no end of: {R@24]"},
		{"=029", "", "N", "[{R@24}", "no end of the address: "},
		{"=029", "", "N", "[[{R@24}]]", "brackets within brackets: [{R@24}]]"},
		{"=029", "", "N", "{R@24}]", "brackets within brackets: ]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sass_source row = {70,
						121,
						7,
						"x.def",
						cases[i].opcode,
						cases[i].when,
						cases[i].name,
						cases[i].operands};
		struct sass_reader r;
		char want[256];

		snprintf(want, sizeof(want), "x.def:7: %s of sm_90: %s", row.name, cases[i].why);
		assert_string_equal(why_wrong(&r, 90, &row), want);
		forget(&r);
	}
}

static void text_is(int sm, struct sass_word w, uint64_t address, const char *text)
{
	char got[SASS_TEXT_MAX];
	struct sass_insn insn;

	if (!sass_decode(sm, w, address, &insn))
		fail_msg("sm_%d %016llx%016llx: not decoded: %s", sm, (unsigned long long)w.hi,
			 (unsigned long long)w.lo, text);
	sass_text(sm, &insn, got);
	if (strcmp(got, text))
		fail_msg("sm_%d %016llx%016llx: %s, not %s", sm, (unsigned long long)w.hi,
			 (unsigned long long)w.lo, got, text);
}

static void as_the_oracle_says(void **state)
{
	size_t files = 0;

	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		files += each_line(architectures[i], text_is) > 100;
	assert_true(files >= 9);
}

/* The control code by another way: as one number of 21 bits. */
static void control_is(int sm, struct sass_word w, uint64_t address, const char *text)
{
	const uint32_t all = (uint32_t)(w.hi >> 41);
	const struct sass_control c = sass_control(w);

	(void)sm;
	(void)address;
	(void)text;
	assert_int_equal(c.stall, all & 15);
	assert_int_equal(c.yield, !(all >> 4 & 1));
	assert_int_equal(c.write_barrier, all >> 5 & 7);
	assert_int_equal(c.read_barrier, all >> 8 & 7);
	assert_int_equal(c.wait, all >> 11 & 63);
	assert_int_equal(c.reuse, all >> 17 & 7);
}

static void control_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		each_line(architectures[i], control_is);
}

/* What no row explains is said: one more bit where none belongs. */
static void is_honest(int sm, struct sass_word w, uint64_t address, const char *text)
{
	static const int foreign[] = {93, 95, 99, 103, 125, 127};
	struct sass_insn insn;

	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		const uint64_t bit = UINT64_C(1) << (foreign[i] - 64);
		const struct sass_word more = {w.lo, w.hi | bit};

		/* 125: the selector of a sparse matrix is used again, as the mark in its text says too */
		if (w.hi & bit || (foreign[i] == 125 && strstr(text, "MMA.SP")))
			continue;
		assert_false(sass_decode(sm, more, address, &insn));
		assert_true(!insn.row || insn.unclaimed.hi & bit);
	}
}

static void unclaimed_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++)
		each_line(architectures[i], is_honest);
}

/* Any 128 bits: never a crash, numbers in their ranges. */
static void any_word(void **state)
{
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct sass_word w;
		struct sass_insn insn;
		char text[SASS_TEXT_MAX];
		const int sm = architectures[i % (int)ARCHITECTURES];

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		w.lo = x;
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		w.hi = x;
		sass_decode(sm, w, (uint64_t)i * 16, &insn);
		assert_true(sass_text(sm, &insn, text) < SASS_TEXT_MAX);
		assert_in_range(insn.operands_n, 0, SASS_OPERANDS);
		for (unsigned k = 0; k < insn.operands_n; k++) {
			const struct sass_operand *o = &insn.operands[k];

			if (o->kind == SASS_REG || o->kind == SASS_UREG)
				assert_in_range(o->reg, 0, 255);
			if (o->kind == SASS_PRED || o->kind == SASS_UPRED)
				assert_in_range(o->reg, 0, 7);
		}
	}
}

/* The second of two rows for the same words that explain the same bits is never used. */
static void rows_are_said_once(void **state)
{
	(void)state;
	for (int sm = SASS_SM_FIRST; sm <= SASS_SM_LAST; sm++) {
		const struct sass_table *t = sass_has(sm) ? sass_table(sm) : NULL;

		for (unsigned op = 0; t && op < SASS_OPCODES; op++) {
			const struct sass_rows of = t->by_opcode[op];

			for (unsigned i = 0; i < of.n; i++)
				for (unsigned k = i + 1; k < of.n; k++) {
					const struct sass_row *a = &t->rows[of.first + i];
					const struct sass_row *b = &t->rows[of.first + k];

					if (memcmp(&a->mask, &b->mask, sizeof(a->mask)) ||
					    memcmp(&a->value, &b->value, sizeof(a->value)) ||
					    memcmp(&a->claimed, &b->claimed, sizeof(a->claimed)) ||
					    a->power_width || b->power_width || a->unlike_n)
						continue;
					fail_msg("sm_%d: %s is said twice", sm, b->name);
				}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_load),        cmocka_unit_test(a_row_is_read),
		cmocka_unit_test(hidden_and_counted), cmocka_unit_test(words_by_architecture),
		cmocka_unit_test(wrong_rows),         cmocka_unit_test(as_the_oracle_says),
		cmocka_unit_test(control_codes),      cmocka_unit_test(unclaimed_bits),
		cmocka_unit_test(any_word),           cmocka_unit_test(rows_are_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
