/*
 * sass_words.c - instructions as text, one a line, for comparisons with another disassembler.
 * usage: sass_words sm_XX < lines of "32 hex digits, the most significant first, and an address in hex"
 * Output: one line each; "?" in front of one that is not decoded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/tool.h"
#include "sass_text.h"

int main(int argc, char **argv)
{
	static char line[4096];
	const int sm = argc > 1 && !strncmp(argv[1], "sm_", 3) ? atoi(argv[1] + 3) : 0;

	if (!sass_has(sm)) {
		fprintf(stderr, "usage: sass_words sm_XX\n");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char text[SASS_TEXT_MAX];
		struct sass_insn insn;
		struct sass_word w;

		if (!tool_word(line, &w))
			continue;
		sass_decode(sm, w, strtoull(line + 32, NULL, 16), &insn);
		sass_text(sm, &insn, text);
		printf("%s%s\n", insn.is_decoded ? "" : "?", text);
	}
	return 0;
}
