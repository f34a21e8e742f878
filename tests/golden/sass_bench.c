/*
 * sass_bench.c - how fast machine code is read: megabytes and instructions a second on one core, decoded
 * only, with text, and with control flow. Unpacking is not in the times.
 * usage: sass_bench [-n IMAGES] FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "arena.h"
#include "cfg.h"
#include "golden/tool.h"
#include "sass_text.h"

static double seconds[3];
static unsigned long bytes, text_bytes, instructions, undecoded, functions, images, most = ~0ul;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(int sm, const struct cubin_function *f)
{
	const size_t n = f->code.bytes / SASS_BYTES;
	struct arena *arena = arena_new();
	char text[SASS_TEXT_MAX];
	struct sass_insn insn;
	struct err e = {0};
	struct cfg g;
	double t[4];

	t[0] = now();
	for (size_t i = 0; i < n; i++)
		undecoded += !sass_decode(sm, sass_load(f->code.data + i * SASS_BYTES),
					  i * SASS_BYTES, &insn);
	t[1] = now();
	for (size_t i = 0; i < n; i++) {
		sass_decode(sm, sass_load(f->code.data + i * SASS_BYTES), i * SASS_BYTES, &insn);
		text_bytes += sass_text(sm, &insn, text);
	}
	t[2] = now();
	cfg_build(&g, arena, sm, f, &e);
	t[3] = now();
	arena_free(arena);
	for (int i = 0; i < 3; i++)
		seconds[i] += t[i + 1] - t[i];
	bytes += f->code.bytes;
	instructions += n;
	functions++;
}

static bool measure_cubin(const struct image *image, const struct cubin *c)
{
	(void)image;
	if (images >= most)
		return false;
	images++;
	for (size_t i = 0; sass_has((int)c->sm) && i < c->functions_n; i++)
		measure((int)c->sm, &c->functions[i]);
	return true;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"decode", "decode and text", "control flow"};
	struct rusage usage;
	int first = 1, status = 0;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		most = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		status |= tool_each_cubin(argv[i], measure_cubin);
	getrusage(RUSAGE_SELF, &usage);
	printf("%lu images, %lu functions, %lu instructions, %.1f MB of code, %.1f MB of text, %lu undecoded (%.4f%%), peak %ld MB\n",
	       images, functions, instructions, 1e-6 * (double)bytes, 1e-6 * (double)text_bytes,
	       undecoded, instructions ? 100.0 * (double)undecoded / (double)instructions : 0,
	       usage.ru_maxrss / 1024);
	for (int i = 0; i < 3 && seconds[i] > 0; i++)
		printf("%-16s %8.1f MB/s %10.2f million instructions/s\n", names[i],
		       1e-6 * (double)bytes / seconds[i], 1e-6 * (double)instructions / seconds[i]);
	return status;
}
