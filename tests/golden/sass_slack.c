/*
 * sass_slack.c - a cubin with other stalls: lowered as far as kbn proves (plan), or raised, which is always
 * allowed (loosen: each by 0 to K at random; level: all to K at least). Compilers leave next to nothing to
 * prove; in raised code there is plenty, and what a plan makes of it may be tighter than what they made.
 * break: FFMA, FADD and FMUL do not wait for their results, which is wrong.
 * Meant for tests/gpu/slack.py, which runs both on hardware: their results must be the same bit by bit.
 * usage: sass_slack plan|loosen|level|break FILE.cubin OUT.cubin [K [SEED]]
 *        lines: function, operation, instructions, stalls changed, cycles before, cycles after
 */
#include "golden/tool.h"
#include "sass_table.h"
#include "stall.h"

#define LONGEST 11u /* a longer one has other rules of encoding */

enum mode { PLAN, LOOSEN, LEVEL, BREAK, MODES };

static const char *const modes[] = {"plan", "loosen", "level", "break"};
static unsigned by = 6;
static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % n;
}

static unsigned raised(enum mode mode, unsigned stall)
{
	const unsigned more = mode == LOOSEN ? stall + random_below(by + 1)
			      : stall < by   ? by
					     : stall;

	if (!stall || stall >= LONGEST)
		return stall;
	return more < LONGEST ? more : LONGEST;
}

static unsigned broken(const struct sass_insn *insn)
{
	const char *op = sass_op(insn);
	const unsigned stall = insn->control.stall;

	if (strcmp(op, "FFMA") && strcmp(op, "FADD") && strcmp(op, "FMUL"))
		return stall;
	return stall < 1 ? stall : 1;
}

static void put_stall(uint8_t *at, unsigned stall)
{
	struct sass_word w = sass_load(at);

	sass_set_bits(&w, 105, 4, stall);
	for (int i = 0; i < 8; i++) {
		at[i] = (uint8_t)(w.lo >> 8 * i);
		at[8 + i] = (uint8_t)(w.hi >> 8 * i);
	}
}

static int change_function(const struct cfg *g, enum mode mode, const char *name, uint8_t *code,
			   struct arena *arena)
{
	const uint8_t *plan = mode == PLAN ? stall_plan(g, arena) : NULL;
	unsigned before = 0, after = 0, changed = 0;

	if (mode == PLAN && !plan)
		return -1;
	for (uint32_t i = 0; i < g->insns_n; i++) {
		const unsigned old = g->insns[i].control.stall;
		const unsigned new = plan            ? plan[i]
				     : mode == BREAK ? broken(&g->insns[i])
						     : raised(mode, old);

		before += old;
		after += new;
		changed += new != old;
		if (new != old)
			put_stall(code + (size_t)i * SASS_BYTES, new);
	}
	printf("%s\t%u\t%u\t%u\t%u\n", name, g->insns_n, changed, before, after);
	return 0;
}

static int change(struct cubin *c, enum mode mode, uint8_t *copy, const uint8_t *data,
		  struct err *e)
{
	for (size_t i = 0; i < c->functions_n; i++) {
		const struct cubin_function *f = &c->functions[i];
		struct arena *arena = arena_new();
		struct cfg g;
		int result = -1;

		if (arena && cfg_build(&g, arena, (int)c->sm, f, e) == 0)
			result = change_function(&g, mode, f->name, copy + (f->code.data - data),
						 arena);
		arena_free(arena);
		if (result != 0)
			return err_set(e, ERR_MEMORY, -1, "no memory for a function");
	}
	return 0;
}

static int write_file(const char *path, const uint8_t *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");
	const bool is_good = f && fwrite(data, 1, bytes, f) == bytes;

	return (f && fclose(f) != 0) || !is_good ? -1 : 0;
}

static int change_file(const char *from, const char *to, enum mode mode, struct err *e)
{
	struct image_file file;
	struct image image;
	struct buf data;
	struct cubin c;
	uint8_t *copy;
	int result = -1;

	if (image_file_open(&file, from, e) != 0)
		return -1;
	if (image_file_next(&file, &image, e) == 1 && image.kind == FATBIN_CUBIN &&
	    image_bytes(&file, &image, &data, e) == 0 && cubin_open(&c, data, e) == 0) {
		copy = malloc(data.bytes);
		if (copy) {
			memcpy(copy, data.data, data.bytes);
			result = change(&c, mode, copy, data.data, e);
			if (result == 0 && write_file(to, copy, data.bytes) != 0)
				result = err_set(e, ERR_IO, -1, "cannot write %s", to);
		}
		free(copy);
		cubin_close(&c);
	} else if (!*e->text) {
		err_set(e, ERR_FORMAT, -1, "no cubin");
	}
	image_file_close(&file);
	return result;
}

int main(int argc, char **argv)
{
	struct err e = {.offset = -1};
	unsigned mode = 0;

	while (argc > 1 && mode < MODES && strcmp(modes[mode], argv[1]))
		mode++;
	if (argc < 4 || mode == MODES) {
		fprintf(stderr,
			"usage: sass_slack plan|loosen|level|break FILE.cubin OUT.cubin [K [SEED]]\n");
		return 2;
	}
	if (argc > 4)
		by = (unsigned)strtoul(argv[4], NULL, 10);
	if (argc > 5)
		seed = (uint32_t)strtoul(argv[5], NULL, 10);
	if (change_file(argv[2], argv[3], (enum mode)mode, &e) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", argv[2], e.text);
	return 1;
}
