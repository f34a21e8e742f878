/*
 * golden_words.h - instructions and what NVIDIA's disassembler makes of them, kept in
 * tests/golden/sass/sm_XX.txt ("hex address text" a line; scripts/sass-oracle makes them).
 */
#ifndef KBN_TEST_GOLDEN_WORDS_H
#define KBN_TEST_GOLDEN_WORDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sass.h"

static const int architectures[] = {70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 107, 110, 120, 121};
#define ARCHITECTURES (sizeof(architectures) / sizeof(*architectures))

/* Each line of an architecture's file; how many there were. */
static size_t each_line(int sm, void (*check)(int sm, struct sass_word w, uint64_t address,
					      const char *text))
{
	static char line[1024];
	char path[64], half[17] = "";
	size_t n = 0;
	FILE *in;

	snprintf(path, sizeof(path), "tests/golden/sass/sm_%d.txt", sm);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in)) {
		struct sass_word w;
		uint64_t address;
		char *text;

		if (strlen(line) < 36)
			continue;
		line[strcspn(line, "\n")] = '\0';
		memcpy(half, line, 16);
		w.hi = strtoull(half, NULL, 16);
		memcpy(half, line + 16, 16);
		w.lo = strtoull(half, NULL, 16);
		address = strtoull(line + 32, &text, 16);
		check(sm, w, address, text + 1);
		n++;
	}
	if (in)
		fclose(in);
	return n;
}

#endif
