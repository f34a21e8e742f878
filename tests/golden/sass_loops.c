/*
 * sass_loops.c - the loops of every function in cubins, in the form of tests/golden/loops/EXPECTED.
 * usage: sass_loops CUBIN...      compare with scripts/build-loops --of CUBIN...
 */
#include <stdio.h>

#include "golden/tool.h"
#include "loop_text.h"

static int show(const char *cubin, const char *function, const struct cfg *g, struct arena *arena,
		struct err *e)
{
	(void)arena;
	(void)e;
	loop_text(stdout, g, cubin, function);
	return 0;
}

int main(int argc, char **argv)
{
	return tool_show(argc, argv, show);
}
