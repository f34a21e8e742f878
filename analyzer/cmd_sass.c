/*
 * cmd_sass.c - `kbn sass`: the machine code in a file, with control codes, blocks and loops. One image,
 * one function at a time: the size of the file does not matter. Exit status 1 when the file is damaged
 * or is of no kind that holds device code; what could be read is printed all the same.
 */
#include "cmd.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "arena.h"
#include "cfg.h"
#include "cubin.h"
#include "demangle.h"
#include "image_file.h"
#include "kbn_hash.h"
#include "line_table.h"
#include "names.h"
#include "options.h"
#include "sass_text.h"
#include "text.h"

struct request {
	const char *kernel, *arch;
	bool json, jsonl, histogram, loops, help;
	/* made of them */
	struct names_filter *names;
	int sm;      /* 0 = any */
	char suffix; /* of --arch, 0 = any */
};

#define OPTIONS(q)                                                                                 \
	{"--kernel", OPTION_TEXT, &(q)->kernel, "RE",                                              \
	 "only functions whose mangled, demangled or short name has a match (PCRE2)"},             \
		{"--arch", OPTION_TEXT, &(q)->arch, "sm_XX", "only images for this architecture"}, \
		{"--loops", OPTION_FLAG, &(q)->loops, NULL,                                        \
		 "the loops of each function, no code"},                                           \
		{"--histogram", OPTION_FLAG, &(q)->histogram, NULL,                                \
		 "counts by mnemonic, no code"},                                                   \
		{"--json", OPTION_FLAG, &(q)->json, NULL, "everything, as one document"},          \
		{"--jsonl", OPTION_FLAG, &(q)->jsonl, NULL, "the same, a function a line"},        \
	{                                                                                          \
		"--help", OPTION_FLAG, &(q)->help, NULL, "this text"                               \
	}

/* What is being printed. */
struct listing {
	const struct request *q;
	const struct image *image;
	const struct cubin *cubin;
	uint32_t function; /* index in the cubin */
	const struct cubin_function *f;
	struct line_table lines; /* of the image; all zeros when it is damaged */
	struct cfg g;
	struct arena *arena; /* of the function */
	char suffix;         /* of the architecture: of the cubin, or of the container around it */
	bool any;            /* a function of this image has been printed */
};

/* What has been seen of the file. */
struct seen {
	bool image;    /* one was begun, perhaps one that turned out to be damaged */
	bool function; /* one was printed */
	size_t others; /* images for architectures whose instructions we cannot read, */
	unsigned other_least, other_most; /* and which */
	size_t link_time;                 /* images of link-time code, which nobody can read */
	size_t strange;                   /* images of kinds that we do not know */
};

#define ARCH_TEXT     16
#define LINE_MAX_TEXT 512

static const char *arch_text(const struct listing *l, char out[ARCH_TEXT])
{
	snprintf(out, ARCH_TEXT, "sm_%u%.1s", l->cubin->sm, l->suffix ? &l->suffix : "");
	return out;
}

/* -------------------------------------------------------------------------------------- as text */

/* B--23--:R-:W0:Y:S04: barriers waited for, set when read, set when written, yield, stall. */
static void control_text(const struct sass_control *c, char out[32])
{
	char *at = out;

	*at++ = 'B';
	for (int i = 0; i < 6; i++)
		*at++ = c->wait >> i & 1 ? (char)('0' + i) : '-';
	sprintf(at, ":R%c:W%c:%c:S%02u", c->read_barrier < 6 ? '0' + c->read_barrier : '-',
		c->write_barrier < 6 ? '0' + c->write_barrier : '-', c->yield ? 'Y' : '-',
		c->stall);
}

static void print_loop_line(const struct cfg *g, uint32_t loop)
{
	const struct cfg_loop *l = &g->loops[loop];

	printf("loop %" PRIu32 ": 0x%04x to 0x%04x, depth %" PRIu32 ", %" PRIu32 " %s, %" PRIu32
	       " %s%s\n",
	       loop, l->first * SASS_BYTES, l->last * SASS_BYTES, l->depth, l->blocks_n,
	       text_plural(l->blocks_n, "block", "blocks"), l->insns_n,
	       text_plural(l->insns_n, "instruction", "instructions"),
	       l->is_innermost   ? ", innermost"
	       : l->is_reduction ? ", of sine and cosine"
	       : l->is_for_lanes ? ", for lanes"
				 : "");
}

static void print_block_mark(const struct cfg *g, uint32_t b)
{
	const struct cfg_block *block = &g->blocks[b];
	const uint32_t loop = block->loop;

	if (loop != CFG_NONE && g->loops[loop].header == b) {
		fputs("                              ; ", stdout);
		print_loop_line(g, loop);
	}
	printf(".B%" PRIu32 ":%s\n", b,
	       block->is_reachable ? block->is_entry && b ? "  ; called" : "" : "  ; not reached");
}

/* A name of the input as a terminal may have it. */
static const char *shown(const struct listing *l, const char *name)
{
	const char *text = text_utf8(l->arena, name, NULL);

	return text ? text : "";
}

/* "file:line" of an instruction; false when it is not known. */
static bool line_text(const struct listing *l, const struct sass_insn *insn,
		      char out[LINE_MAX_TEXT])
{
	const struct line_row *row =
		l->lines.first ? line_table_find(&l->lines, l->function, (uint32_t)insn->address)
			       : NULL;
	const struct line_file *file;

	if (!row || row->file == LINE_NONE || !row->line)
		return false;
	file = &l->lines.files[row->file];
	snprintf(out, LINE_MAX_TEXT, "%s%s%s:%" PRIu32, file->directory,
		 *file->directory ? "/" : "", file->name, row->line);
	return true;
}

static void print_code_text(const struct listing *l)
{
	const struct cfg *g = &l->g;
	char text[SASS_TEXT_MAX], control[32], line[LINE_MAX_TEXT], said[LINE_MAX_TEXT] = "";

	for (uint32_t i = 0; i < g->insns_n; i++) {
		const struct sass_insn *insn = &g->insns[i];
		const uint32_t block = g->block_of[i];

		if (g->blocks[block].first == i && g->blocks_n > 1)
			print_block_mark(g, block);
		if (line_text(l, insn, line) && strcmp(line, said)) {
			printf("                              ; %s\n", shown(l, line));
			strcpy(said, line);
		}
		sass_text(g->sm, insn, text);
		control_text(&insn->control, control);
		printf("  %s  /*%04" PRIx64 "*/  %s", control, insn->address, text);
		if (!insn->is_decoded)
			printf("  ; UNDECODED 0x%016" PRIx64 "%016" PRIx64, insn->word.hi,
			       insn->word.lo);
		putchar('\n');
	}
}

struct count {
	const char *mnemonic;
	json_int_t n;
};

/* The most frequent first. */
static int compare_counts(const void *va, const void *vb)
{
	const struct count *a = va, *b = vb;

	return a->n != b->n ? (a->n < b->n) - (a->n > b->n) : strcmp(a->mnemonic, b->mnemonic);
}

static int print_histogram_text(const struct listing *l, json_t *counts, struct err *e)
{
	const size_t n = json_object_size(counts);
	struct count *list = arena_array(l->arena, n, sizeof(*list));
	const char *mnemonic;
	json_t *value;
	size_t i = 0;

	if (!list)
		return err_set(e, ERR_MEMORY, -1, "no memory");
	json_object_foreach(counts, mnemonic, value)
		list[i++] = (struct count){mnemonic, json_integer_value(value)};
	if (n)
		qsort(list, n, sizeof(*list), compare_counts);
	for (i = 0; i < n; i++)
		printf("  %10" JSON_INTEGER_FORMAT "  %s\n", list[i].n, list[i].mnemonic);
	return 0;
}

static void print_head_text(struct listing *l)
{
	const struct cfg *g = &l->g;
	char a[TEXT_NUMBER], b[TEXT_NUMBER], arch[ARCH_TEXT];

	if (!l->any)
		printf("image %zu: %s, at byte %" PRIu64 "%s%s\n", l->image->index,
		       arch_text(l, arch), l->image->offset, *l->image->member ? " of " : "",
		       shown(l, l->image->member));
	printf("\n%s %s\n", l->f->is_kernel ? "kernel" : "function",
	       shown(l, demangle_full(l->arena, l->f->name)));
	printf("  %s instructions in %s blocks, %u registers%s", text_count(a, g->insns_n),
	       text_count(b, g->blocks_n), l->f->registers,
	       g->is_complete ? "" : ", not all branches known");
	if (g->is_irreducible)
		fputs(", a cycle with two ways in is no loop", stdout);
	if (g->undecoded)
		printf(", %s UNDECODED", text_count(a, g->undecoded));
	putchar('\n');
}

/* -------------------------------------------------------------------------------------- as JSON */

static json_t *barrier_json(unsigned b)
{
	return b < 6 ? json_integer(b) : json_null();
}

static json_t *insn_json(const struct listing *l, const struct sass_insn *insn)
{
	char text[SASS_TEXT_MAX], mnemonic[SASS_TEXT_MAX], encoding[33], where[LINE_MAX_TEXT];
	const struct sass_control *c = &insn->control;
	const int64_t target = cfg_target(insn);
	const enum cfg_flow flow = cfg_flow(insn);
	json_t *line = NULL;

	sass_text(l->g.sm, insn, text);
	sass_mnemonic(l->g.sm, insn, mnemonic);
	sprintf(encoding, "%016" PRIx64 "%016" PRIx64, insn->word.hi, insn->word.lo);
	if (line_text(l, insn, where))
		line = json_string(text_utf8(l->arena, where, NULL));
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:b, s:o, s:o, s:i, s:i, s:o, s:o}", "offset",
			 (json_int_t)insn->address, "mnemonic", mnemonic, "text", text, "encoding",
			 encoding, "stall", (int)c->stall, "yield", (int)c->yield, "wbar",
			 barrier_json(c->write_barrier), "rbar", barrier_json(c->read_barrier),
			 "wait", (int)c->wait, "reuse", (int)c->reuse, "target",
			 target >= 0 && (flow == CFG_BRANCH || flow == CFG_CALL)
				 ? json_integer((json_int_t)target)
				 : json_null(),
			 "line", line ? line : json_null());
}

static json_t *histogram(const struct cfg *g)
{
	json_t *counts = json_object();

	for (uint32_t i = 0; counts && i < g->insns_n; i++) {
		char mnemonic[SASS_TEXT_MAX];
		json_t *n;

		sass_mnemonic(g->sm, &g->insns[i], mnemonic);
		n = json_object_get(counts, mnemonic);
		if (n)
			json_integer_set(n, json_integer_value(n) + 1);
		else
			json_object_set_new(counts, mnemonic, json_integer(1));
	}
	return counts;
}

/* What is known of a function without its code. NULL when memory has run out. */
static json_t *function_json(const struct listing *l)
{
	const struct cfg *g = &l->g;
	bool changed = false;
	json_t *f = json_pack("{s:s, s:I, s:I, s:I}", "name",
			      text_utf8(l->arena, l->f->name, &changed), "bytes",
			      (json_int_t)l->f->code.bytes, "instructions", (json_int_t)g->insns_n,
			      "undecoded", (json_int_t)g->undecoded);

	if (f && changed)
		json_object_set_new(
			f, "name_hex",
			json_string(text_hex(l->arena, l->f->name, strlen(l->f->name))));
	if (f && l->q->histogram)
		json_object_set_new(f, "mnemonics", histogram(g));
	return f;
}

/* Prints the members of an object without the braces around them; false when that fails. */
static bool put_members(json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	const size_t n = text ? strlen(text) : 0;
	const bool good = n > 2 && fwrite(text + 1, 1, n - 2, stdout) == n - 2;

	free(text);
	json_decref(object);
	return good;
}

/* One instruction after the other: those of a function would take 2 KB each as one document. */
static bool put_code(const struct listing *l)
{
	bool good = true;

	fputs(",\"code\":[", stdout);
	for (uint32_t i = 0; good && i < l->g.insns_n; i++) {
		fputs(i ? ",{" : "{", stdout);
		good = put_members(insn_json(l, &l->g.insns[i]));
		putchar('}');
	}
	putchar(']');
	return good;
}

static int print_json(struct listing *l, struct err *e)
{
	char arch[ARCH_TEXT];
	bool good;

	fputs(l->any && !l->q->jsonl ? ",{" : "{", stdout);
	good = put_members(function_json(l)) && (l->q->histogram || put_code(l));
	if (l->q->jsonl)
		printf(",\"image\":%zu,\"arch\":\"%s\"", l->image->index, arch_text(l, arch));
	fputs(l->q->jsonl ? "}\n" : "}", stdout);
	if (ferror(stdout))
		return err_set(e, ERR_IO, -1, "cannot write the output");
	return good ? 0 : err_set(e, ERR_MEMORY, -1, "no memory");
}

/* --------------------------------------------------------------------------------- one function */

static int print_function(struct listing *l, struct err *e)
{
	const struct request *q = l->q;
	json_t *counts;
	int result = 0;

	if (q->json || q->jsonl)
		return print_json(l, e);
	print_head_text(l);
	if (q->histogram) {
		counts = histogram(&l->g);
		result = print_histogram_text(l, counts, e);
		json_decref(counts);
	} else if (q->loops) {
		for (uint32_t i = l->g.loops_n; i-- > 0;) {
			fputs("  ", stdout);
			print_loop_line(&l->g, i);
		}
	} else {
		print_code_text(l);
	}
	if (result == 0 && ferror(stdout))
		result = err_set(e, ERR_IO, -1, "cannot write the output");
	return result;
}

static bool is_wanted(const struct request *q, struct arena *arena, const char *name)
{
	return !q->names ||
	       names_match(q->names, name, demangle_full(arena, name), demangle_short(arena, name));
}

static int do_function(struct listing *l, struct err *e)
{
	int result = 0;

	l->arena = arena_new();
	if (!l->arena)
		return err_set(e, ERR_MEMORY, -1, "no memory");
	if (is_wanted(l->q, l->arena, l->f->name)) {
		result = cfg_build(&l->g, l->arena, (int)l->cubin->sm, l->f, e);
		if (result == 0) {
			result = print_function(l, e);
			l->any = true;
		}
	}
	arena_free(l->arena);
	return result;
}

/* ------------------------------------------------------------------------------------ one image */

static void begin_image(const struct listing *l, struct buf bytes, bool is_first)
{
	uint8_t hash[16];
	char arch[ARCH_TEXT];

	if (!l->q->json)
		return;
	kbn_hash128(bytes.data, bytes.bytes, hash);
	printf("%s{\"index\":%zu,\"arch\":\"%s\",\"kind\":\"cubin\",\"hash\":\"",
	       is_first ? "" : ",", l->image->index, arch_text(l, arch));
	for (int i = 0; i < 16; i++)
		printf("%02x", hash[i]);
	fputs("\",\"functions\":[", stdout);
}

/* Does --arch ask for it? Of what the container or the cubin does not say the other one decides. */
static bool is_asked_for(const struct request *q, uint32_t sm, char suffix)
{
	return (!q->sm || !sm || (int)sm == q->sm) &&
	       (!q->suffix || !suffix || suffix == q->suffix);
}

/* An image whose instructions we cannot read is no damage: libraries have old ones beside new ones. */
static void pass_over(struct seen *seen, unsigned sm)
{
	if (!seen->others++ || sm < seen->other_least)
		seen->other_least = sm;
	if (sm > seen->other_most)
		seen->other_most = sm;
}

/* All of them, and the first fault: without source lines, or without one function, the others are good. */
static int do_functions(struct listing *l, struct err *e)
{
	struct err fault = {.offset = -1};
	int result = line_table_open(&l->lines, l->cubin, e);

	for (size_t i = 0; i < l->cubin->functions_n; i++) {
		l->f = &l->cubin->functions[i];
		l->function = (uint32_t)i;
		if (do_function(l, &fault) == 0)
			continue;
		if (result == 0 || fault.code == ERR_IO)
			*e = fault;
		result = -1;
		if (fault.code == ERR_IO)
			break;
	}
	line_table_close(&l->lines);
	return result;
}

static int do_image(struct image_file *file, const struct image *image, const struct request *q,
		    struct seen *seen, struct err *e)
{
	struct listing l = {.q = q, .image = image};
	struct cubin cubin;
	struct buf bytes;
	int result = 0;

	if (!is_asked_for(q, image->sm, image->suffix))
		return 0;
	if (image->kind != FATBIN_CUBIN) {
		seen->link_time += image->kind == FATBIN_LTO;
		seen->strange += image->kind != FATBIN_LTO && image->kind != FATBIN_PTX;
		return 0;
	}
	if (image_bytes(file, image, &bytes, e) != 0)
		return -1;
	if (cubin_open(&cubin, bytes, e) != 0)
		return image_fail(file, image, e);
	l.cubin = &cubin;
	l.suffix = cubin.suffix ? cubin.suffix : image->suffix;
	if (!is_asked_for(q, cubin.sm, l.suffix) || (q->suffix && !l.suffix)) {
		cubin_close(&cubin);
		return 0;
	}
	begin_image(&l, bytes, !seen->image);
	seen->image = true;
	if (sass_has((int)cubin.sm))
		result = do_functions(&l, e);
	else
		pass_over(seen, cubin.sm);
	seen->function |= l.any;
	if (q->json)
		fputs("]}", stdout);
	else if (l.any && !q->jsonl)
		putchar('\n');
	cubin_close(&cubin);
	if (result < 0 && e->code == ERR_IO)
		return -1; /* of the output */
	return result ? image_fail(file, image, e) : 0;
}

static void tell_passed_over(size_t n, const char *what, const char *path)
{
	struct err e;

	if (!n)
		return;
	err_set(&e, ERR_NONE, -1, "%s: %zu %s of %s passed over", err_path(path), n,
		text_plural(n, "image", "images"), what);
	fprintf(stderr, "kbn sass: %s\n", e.text);
}

/* What a reader of the output would miss; 1 when nothing of what was asked for can be read. */
static int tell_missing(const struct seen *seen, const struct request *q, const char *path)
{
	char sms[64];
	struct err e;

	tell_passed_over(seen->link_time, "link-time code, which is opaque until it is linked,",
			 path);
	tell_passed_over(seen->strange, "an unknown kind", path);
	snprintf(sms, sizeof(sms),
		 seen->other_least < seen->other_most ? "sm_%u to sm_%u" : "sm_%u",
		 seen->other_least, seen->other_most);
	if (seen->others)
		err_set(&e, ERR_VERSION, -1,
			"%s: %zu %s for %s passed over, instructions are known from sm_%d to sm_%d",
			err_path(path), seen->others, text_plural(seen->others, "image", "images"),
			sms, SASS_SM_FIRST, SASS_SM_LAST);
	else if (q->json || q->jsonl || seen->function)
		return CMD_GOOD;
	else if (seen->image && q->kernel)
		err_set(&e, ERR_NONE, -1, "no function of that name in %s", err_path(path));
	else
		err_set(&e, ERR_NONE, -1, "no machine code %sin %s",
			q->arch ? "for that architecture " : "", err_path(path));
	fprintf(stderr, "kbn sass: %s\n", e.text);
	return seen->others && !seen->function ? CMD_INPUT : CMD_GOOD;
}

static int do_file(const char *path, const struct request *q)
{
	struct err first = {.offset = -1}, e = {.offset = -1};
	struct image_file file;
	struct image image;
	struct seen seen = {.image = false};
	bool failed = false;
	int more;

	cmd_fail_when_cut("sass", path);
	if (image_file_open(&file, path, &e) != 0)
		return cmd_fail("sass", &e);
	if (q->json) {
		struct arena *arena = arena_new();
		const char *name = arena ? text_utf8(arena, path, NULL) : NULL;

		fputs("{\"schema\":\"kbn-sass/1\",", stdout);
		put_members(json_pack("{s:s}", "file", name ? name : ""));
		fputs(",\"images\":[", stdout);
		arena_free(arena);
	}
	while ((more = image_file_next(&file, &image, &e)) != 0) {
		const int done = more < 0 ? -1 : do_image(&file, &image, q, &seen, &e);

		if (done < 0 && !failed)
			first = e;
		failed |= done < 0;
		if (done < 0 && e.code == ERR_IO)
			break;
	}
	if (q->json)
		fputs("]}\n", stdout);
	image_file_close(&file);
	return failed ? cmd_fail("sass", &first) : tell_missing(&seen, q, path);
}

static int check(struct request *q, size_t files, struct err *e)
{
	if (files != 1)
		return err_set(e, ERR_USAGE, -1,
			       files ? "one file at a time" : "no file; kbn help sass");
	if (q->json && q->jsonl)
		return err_set(e, ERR_USAGE, -1, "--json or --jsonl, not both");
	if (q->arch) {
		q->sm = arch_parse(q->arch);
		if (q->sm < 0)
			return err_set(e, ERR_USAGE, -1, "%s is no architecture like sm_90",
				       q->arch);
		q->suffix = strchr("af", q->arch[strlen(q->arch) - 1])
				    ? q->arch[strlen(q->arch) - 1]
				    : '\0';
	}
	if (q->kernel) {
		q->names = names_new(q->kernel, e);
		return q->names ? 0 : -1;
	}
	return 0;
}

int cmd_sass(int argc, char **argv)
{
	struct request q = {.sm = 0};
	const struct option_spec table[] = {OPTIONS(&q)};
	const size_t options = sizeof(table) / sizeof(*table);
	const char *operands[CMD_WORDS];
	struct err e = {.offset = -1};
	size_t n;
	int status;

	if (argc > CMD_WORDS)
		return cmd_too_many("sass");
	if (options_parse(table, options, argc, argv, operands, &n, &e) != 0)
		return cmd_fail("sass", &e);
	if (q.help) {
		printf("usage: kbn sass FILE [options]\n\n"
		       "The machine code in FILE: a cubin, a fat binary, an executable or library with CUDA code.\n"
		       "Control code: B = barriers waited for, R and W = barrier set when read and written,\n"
		       "Y = the scheduler may switch, S = stall cycles.\n\n");
		options_help(table, options, stdout);
		return CMD_GOOD;
	}
	if (check(&q, n, &e) != 0)
		return cmd_fail("sass", &e);
	status = do_file(operands[0], &q);
	names_free(q.names);
	return status;
}
