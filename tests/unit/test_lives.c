/*
 * test_lives.c - what instructions write and read against the life ranges that NVIDIA's disassembler gives
 * them, kept in tests/golden/lives/sm_XX.txt ("hex WRITES < READS" a line; scripts/sass-lives makes them).
 */
#include "kbn_test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataflow.h"

static const int architectures[] = {75, 80, 86, 87, 89, 90, 100, 103, 107, 110, 120, 121};
#define ARCHITECTURES (sizeof(architectures) / sizeof(*architectures))

static void add(struct regset *s, const char *kind, unsigned long reg)
{
	assert_true(reg < 256);
	if (!strcmp(kind, "R"))
		s->r[reg / 64] |= UINT64_C(1) << reg % 64;
	else if (!strcmp(kind, "UR"))
		s->ur[reg / 64] |= UINT64_C(1) << reg % 64;
	else if (!strcmp(kind, "P"))
		s->p |= (uint8_t)(1u << reg);
	else if (!strcmp(kind, "UP"))
		s->up |= (uint8_t)(1u << reg);
	else
		fail_msg("no registers: %s", kind);
}

/* "R4-7 UR9 P0"; where it ends. */
static char *read_set(char *text, struct regset *s)
{
	memset(s, 0, sizeof(*s));
	text += strspn(text, " \n");
	while (isalpha((unsigned char)*text)) {
		char kind[3] = "";
		unsigned long first, last;

		for (int i = 0; i < 2 && isalpha((unsigned char)*text); i++)
			kind[i] = *text++;
		first = last = strtoul(text, &text, 10);
		if (*text == '-')
			last = strtoul(text + 1, &text, 10);
		for (; first <= last; first++)
			add(s, kind, first);
		text += strspn(text, " \n");
	}
	return text;
}

static void check(int sm, char *line)
{
	struct effects is, said;
	char half[17] = "", *text = line + 33;
	struct sass_insn insn;
	struct sass_word w;

	memcpy(half, line, 16);
	w.hi = strtoull(half, NULL, 16);
	memcpy(half, line + 16, 16);
	w.lo = strtoull(half, NULL, 16);
	text = read_set(text, &said.writes);
	assert_int_equal(*text, '<');
	text = read_set(text + 1, &said.reads);
	assert_int_equal(*text, '\0');
	sass_decode(sm, w, 0, &insn);
	dataflow_effects(&insn, &is);
	if (!is.is_certain || memcmp(&is.writes, &said.writes, sizeof(is.writes)) ||
	    memcmp(&is.reads, &said.reads, sizeof(is.reads)))
		fail_msg("sm_%d: other registers than %.*s", sm, (int)strcspn(line, "\n"), line);
}

static void as_the_oracle_says(void **state)
{
	size_t lines = 0, files = 0;

	(void)state;
	for (size_t i = 0; i < ARCHITECTURES; i++) {
		char path[64], line[512];
		FILE *in;

		snprintf(path, sizeof(path), "tests/golden/lives/sm_%d.txt", architectures[i]);
		in = fopen(path, "r");
		if (!in)
			continue;
		files++;
		for (; fgets(line, sizeof(line), in); lines++) {
			assert_true(strlen(line) > 34);
			check(architectures[i], line);
		}
		fclose(in);
	}
	assert_true(files >= 5);
	assert_true(lines > 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_oracle_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
