/*
 * work.c - see work.h. A line is checked when the file is read and computed when a kernel matches it, both by
 * the same code: without a geometry it reads and computes nothing.
 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "names.h"
#include "vec.h"

#define FILE_MAX  ((size_t)16 << 20) /* nobody writes more by hand */
#define WORD_ROOM 32

const char *const work_kind_names[] = {NULL, "formula", "bytes", "gemm", "attention"};

static const struct {
	const char *name;
	int bits;
	const char *others[3];
} dtypes[WORK_DTYPES] = {
	[WORK_FP64] = {"fp64", 64, {"f64", "double"}},
	[WORK_FP32] = {"fp32", 32, {"f32", "float"}},
	[WORK_TF32] = {"tf32", 32, {0}},
	[WORK_FP16] = {"fp16", 16, {"f16", "half"}},
	[WORK_BF16] = {"bf16", 16, {"bfloat16"}},
	[WORK_FP8] = {"fp8", 8, {"e4m3", "e5m2"}},
	[WORK_FP4] = {"fp4", 4, {"e2m1"}},
	[WORK_INT8] = {"int8", 8, {"i8", "u8"}},
	[WORK_INT4] = {"int4", 4, {"i4", "u4"}},
};

enum work_dtype work_dtype_find(const char *name)
{
	for (int i = WORK_DTYPE_NONE + 1; i < WORK_DTYPES; i++) {
		if (strcasecmp(name, dtypes[i].name) == 0)
			return (enum work_dtype)i;
		for (int k = 0; k < 3 && dtypes[i].others[k]; k++)
			if (strcasecmp(name, dtypes[i].others[k]) == 0)
				return (enum work_dtype)i;
	}
	return WORK_DTYPE_NONE;
}

const char *work_dtype_name(enum work_dtype dtype)
{
	return dtypes[dtype].name;
}

int work_dtype_bits(enum work_dtype dtype)
{
	return dtypes[dtype].bits;
}

/* ------------------------------------------------------------------------------------- figures */

/* False when 64 bits cannot hold the product. */
static bool product(int64_t *out, const int64_t *factors, int n)
{
	int64_t all = 1;

	for (int i = 0; i < n; i++)
		if (__builtin_mul_overflow(all, factors[i], &all))
			return false;
	*out = all;
	return true;
}
#define PRODUCT(out, ...)                            \
	product(out, (const int64_t[]){__VA_ARGS__}, \
		(int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* Bytes follow from elements and type, unless they were given. */
static void settle_bytes(struct work *w)
{
	int bits = work_dtype_bits(w->dtype);

	if (!w->is_bytes_given && w->elements >= 0 && bits)
		w->bytes = bits >= 8 ? w->elements * (bits / 8) : w->elements / 2 + w->elements % 2;
}

void work_set_dtype(struct work *w, enum work_dtype dtype)
{
	if (w->dtype == WORK_DTYPE_NONE)
		w->dtype = dtype;
	settle_bytes(w);
}

static struct quantity from_user(int64_t n, const char *why)
{
	double v = (double)n;

	if (n < 0)
		return quantity_unknown(why);
	return (struct quantity){v, v, v, QUANTITY_DERIVED, QUANTITY_BY_USER, NULL};
}

struct quantity work_flops(const struct work *w)
{
	return from_user(w->flops, "FLOPs were not given (flops=, --flops)");
}

struct quantity work_bytes(const struct work *w)
{
	return from_user(w->bytes, w->elements >= 0
					   ? "bytes follow from the type, which was not given"
					   : "bytes were not given (bytes=, --bytes)");
}

/* ------------------------------------------------------------------------------------- parts of a line */

static int read_dtype(struct formula *f, struct work *w, struct err *e)
{
	char word[WORD_ROOM];
	enum work_dtype dtype;
	size_t start;

	formula_next(f);
	start = f->at;
	if (!formula_word(f, word, sizeof(word)))
		return formula_error(f, start, e, "a type is missing");
	dtype = work_dtype_find(word);
	if (dtype == WORK_DTYPE_NONE)
		return formula_error(f, start, e,
				     "%s is no type: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8 int4",
				     word);
	if (w->dtype != WORK_DTYPE_NONE)
		return formula_error(f, start, e, "the type was given before: %s",
				     work_dtype_name(w->dtype));
	w->dtype = dtype;
	return 0;
}

static int take_comma(struct formula *f, struct err *e)
{
	if (formula_next(f) != ',')
		return formula_error(f, f->at, e, "a comma is missing");
	f->at++;
	return 0;
}

static int read_dims(struct formula *f, struct work *w, const char *const *names, int n,
		     struct err *e)
{
	for (int i = 0; i < n; i++) {
		if (i && take_comma(f, e) < 0)
			return -1;
		w->dims[i].name = names[i];
		if (formula_read_size(f, names[i], &w->dims[i].value, e) < 0)
			return -1;
	}
	w->dims_n = n;
	return 0;
}

static int too_large(const struct formula *f, size_t at, struct err *e)
{
	return formula_error(f, at, e, "FLOPs or bytes exceed 64 bits");
}

/* A problem and FLOPs say the same thing, so one of them is wrong. */
static int take_flops(const struct formula *f, size_t at, struct work *w, enum work_kind kind,
		      struct err *e)
{
	if (w->is_flops_given)
		return formula_error(f, at, e, "the FLOPs were given before (%s)",
				     w->kind >= WORK_GEMM ? work_kind_names[w->kind] : "flops");
	w->is_flops_given = true;
	w->kind = kind;
	return 0;
}

/* The largest type must fit, so that settle_bytes() cannot overflow whatever type comes later. */
static bool elements_fit(const struct work *w)
{
	int64_t bytes;

	return PRODUCT(&bytes, w->elements, work_dtype_bits(WORK_FP64) / 8);
}

static int read_gemm(struct formula *f, struct work *w, struct err *e)
{
	static const char *const names[] = {"m", "n", "k"};
	size_t start = f->at;
	int64_t m, n, k, a, b, c;

	if (take_flops(f, start, w, WORK_GEMM, e) < 0 || read_dims(f, w, names, 3, e) < 0)
		return -1;
	if (formula_next(f) == ',') {
		f->at++;
		if (read_dtype(f, w, e) < 0)
			return -1;
	}
	if (!f->geometry)
		return 0;
	m = w->dims[0].value;
	n = w->dims[1].value;
	k = w->dims[2].value;
	if (!PRODUCT(&w->flops, 2, m, n, k) || !PRODUCT(&a, m, k) || !PRODUCT(&b, k, n) ||
	    !PRODUCT(&c, m, n) || __builtin_add_overflow(a, b, &w->elements) ||
	    __builtin_add_overflow(w->elements, c, &w->elements) || !elements_fit(w))
		return too_large(f, start, e);
	return 0;
}

enum { ATT_B, ATT_H, ATT_SQ, ATT_SKV, ATT_D, ATT_KVHEADS, ATT_CAUSAL };

/* What stands behind the sizes, in any order: causal, kvheads=N, a type. */
static int read_attention_word(struct formula *f, struct work *w, struct err *e)
{
	struct work_dim *heads = &w->dims[ATT_KVHEADS], *causal = &w->dims[ATT_CAUSAL];
	char word[WORD_ROOM];
	size_t start;

	formula_next(f);
	start = f->at;
	formula_word(f, word, sizeof(word));
	if (strcmp(word, "causal") == 0) {
		if (causal->value)
			return formula_error(f, start, e, "causal was given before");
		causal->value = 1;
		return 0;
	}
	if (strcmp(word, "kvheads") != 0) {
		f->at = start;
		return read_dtype(f, w, e);
	}
	if (heads->value)
		return formula_error(f, start, e, "kvheads was given before");
	if (formula_next(f) != '=')
		return formula_error(f, f->at, e, "a = is missing behind kvheads");
	f->at++;
	if (formula_read_size(f, "kvheads", &heads->value, e) < 0)
		return -1;
	if (f->geometry && w->dims[ATT_H].value % heads->value != 0)
		return formula_error(f, start, e, "%lld heads do not divide into kvheads=%lld",
				     (long long)w->dims[ATT_H].value, (long long)heads->value);
	return 0;
}

/* Twice the number of pairs of query and key: the triangle of causal may end with a half. */
static bool pairs_doubled(const struct work *w, int64_t *out)
{
	int64_t sq = w->dims[ATT_SQ].value, skv = w->dims[ATT_SKV].value, keys;

	if (__builtin_mul_overflow(skv, 2, &keys))
		return false;
	if (!w->dims[ATT_CAUSAL].value)
		return PRODUCT(out, sq, keys);
	return sq <= skv ? PRODUCT(out, sq, keys - sq) : PRODUCT(out, skv, skv);
}

static bool attention_figures(struct work *w)
{
	const struct work_dim *d = w->dims;
	int64_t pairs, q, kv;

	return pairs_doubled(w, &pairs) &&
	       PRODUCT(&w->flops, 2, d[ATT_B].value, d[ATT_H].value, d[ATT_D].value, pairs) &&
	       PRODUCT(&q, 2, d[ATT_B].value, d[ATT_H].value, d[ATT_SQ].value, d[ATT_D].value) &&
	       PRODUCT(&kv, 2, d[ATT_B].value, d[ATT_KVHEADS].value, d[ATT_SKV].value,
		       d[ATT_D].value) &&
	       !__builtin_add_overflow(q, kv, &w->elements) && elements_fit(w);
}

static int read_attention(struct formula *f, struct work *w, struct err *e)
{
	static const char *const names[] = {"b", "h", "sq", "skv", "d"};
	size_t start = f->at;

	if (take_flops(f, start, w, WORK_ATTENTION, e) < 0 || read_dims(f, w, names, 5, e) < 0)
		return -1;
	w->dims[ATT_KVHEADS] = (struct work_dim){"kvheads", 0};
	w->dims[ATT_CAUSAL] = (struct work_dim){"causal", 0};
	w->dims_n = WORK_DIMS;
	while (formula_next(f) == ',') {
		f->at++;
		if (read_attention_word(f, w, e) < 0)
			return -1;
	}
	if (!w->dims[ATT_KVHEADS].value)
		w->dims[ATT_KVHEADS].value = w->dims[ATT_H].value;
	if (f->geometry && !attention_figures(w))
		return too_large(f, start, e);
	return 0;
}

static int read_flops(struct formula *f, struct work *w, struct err *e)
{
	int64_t v;

	formula_next(f);
	if (take_flops(f, f->at, w, WORK_FORMULA, e) < 0 ||
	    formula_read_count(f, "flops", &v, e) < 0)
		return -1;
	if (f->geometry)
		w->flops = v;
	return 0;
}

static int read_bytes(struct formula *f, struct work *w, struct err *e)
{
	int64_t v;

	formula_next(f);
	if (w->is_bytes_given)
		return formula_error(f, f->at, e, "the bytes were given before");
	if (formula_read_count(f, "bytes", &v, e) < 0)
		return -1;
	w->is_bytes_given = true;
	if (w->kind == WORK_NONE)
		w->kind = WORK_BYTES;
	if (f->geometry)
		w->bytes = v;
	return 0;
}

/* ------------------------------------------------------------------------------------- options and lines */

static const struct part {
	const char *word, *option; /* in a file: word=..., or word(...) */
	char open;
	int (*read)(struct formula *f, struct work *w, struct err *e);
} parts[] = {
	{"flops", "--flops", '=', read_flops},
	{"bytes", "--bytes", '=', read_bytes},
	{"dtype", NULL, '=', read_dtype},
	{"gemm", "--gemm", '(', read_gemm},
	{"attention", "--attention", '(', read_attention},
};
#define PARTS (sizeof(parts) / sizeof(*parts))

int work_option(struct work *w, const char *option, const char *text,
		const struct formula_geometry *g, struct err *e)
{
	struct formula f = {.text = text, .n = strlen(text), .geometry = g, .source = option};
	struct work filled = *w;
	const struct part *p = NULL;

	for (size_t i = 0; i < PARTS; i++)
		if (parts[i].option && strcmp(parts[i].option, option) == 0)
			p = &parts[i];
	if (!p)
		return err_set(e, ERR_USAGE, -1, "%s says nothing of the work", option);
	if (p->read(&f, &filled, e) < 0)
		return -1;
	if (formula_next(&f))
		return formula_error(&f, f.at, e, "the rest was not understood");
	settle_bytes(&filled);
	*w = filled;
	return 0;
}

static int read_part(struct formula *f, struct work *w, struct err *e)
{
	size_t start = f->at;
	const struct part *p = NULL;
	char word[WORD_ROOM];

	if (!formula_word(f, word, sizeof(word)))
		return formula_error(f, start, e,
				     "flops=, bytes=, dtype=, gemm( or attention( is missing");
	for (size_t i = 0; i < PARTS; i++)
		if (strcmp(word, parts[i].word) == 0)
			p = &parts[i];
	if (!p)
		return formula_error(f, start, e,
				     "%s is not known: flops=, bytes=, dtype=, gemm(, attention(",
				     word);
	if (formula_next(f) != p->open)
		return formula_error(f, f->at, e, "a %c is missing behind %s", p->open, word);
	f->at++;
	if (p->read(f, w, e) < 0)
		return -1;
	if (p->open == '(') {
		if (formula_next(f) != ')')
			return formula_error(f, f->at, e, "a ) is missing behind %s(...", word);
		f->at++;
	}
	return 0;
}

/* What stands behind the pattern; f->at stands there. */
static int read_parts(struct formula *f, struct work *w, struct err *e)
{
	struct work filled = WORK_INIT;
	char c;

	filled.line = f->line;
	while ((c = formula_next(f)) != '\0' && c != '#')
		if (read_part(f, &filled, e) < 0)
			return -1;
	if (f->at < f->n && c == '\0')
		return formula_error(f, f->at, e, "a NUL byte is no text");
	if (filled.kind == WORK_NONE)
		return formula_error(f, f->at, e,
				     "neither flops= nor bytes=, gemm( or attention( is given");
	settle_bytes(&filled);
	*w = filled;
	return 0;
}

struct work_line {
	struct names_filter *filter;
	const char *text; /* of the line, in work_file.text */
	size_t n, at;     /* at: behind the pattern */
	size_t line;
	bool counted;
};

struct work_file {
	char *source, *text;
	VEC(struct work_line) lines;
};

/* The pattern at f->at into *from and *n; f->at is set behind it. */
static int find_pattern(struct formula *f, size_t *from, size_t *n, struct err *e)
{
	size_t start = f->at;
	const char *end;

	if (f->text[start] != '"') {
		*from = start;
		while (f->at < f->n && !strchr(" \t\r", f->text[f->at]))
			f->at++;
		*n = f->at - start;
		return 0;
	}
	end = memchr(f->text + start + 1, '"', f->n - start - 1);
	if (!end)
		return formula_error(f, start, e, "the \" is not closed");
	*from = start + 1;
	*n = (size_t)(end - f->text) - *from;
	f->at = *from + *n + 1;
	return *n ? 0 : formula_error(f, start, e, "the pattern is empty");
}

static int compile_pattern(struct formula *f, struct work_line *l, struct err *e)
{
	struct err reason;
	char *pattern;
	size_t from = 0, n = 0;

	if (find_pattern(f, &from, &n, e) < 0)
		return -1;
	if (memchr(f->text + from, '\0', n))
		return formula_error(f, from, e, "a NUL byte is no text");
	pattern = strndup(f->text + from, n);
	if (!pattern)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	l->filter = names_compile(pattern, &reason);
	free(pattern);
	if (!l->filter && reason.code == ERR_USAGE)
		return formula_error(f, from + (size_t)reason.offset, e, "pattern: %s",
				     reason.text);
	if (!l->filter)
		return err_set(e, reason.code, -1, "%s", reason.text);
	return 0;
}

static int add_line(struct work_file *file, struct formula *f, struct err *e)
{
	struct work_line *l;
	struct work checked;
	char first = formula_next(f);

	if (f->at == f->n || first == '#')
		return 0;
	l = vec_add(&file->lines);
	if (!l)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	if (compile_pattern(f, l, e) < 0)
		return -1;
	l->text = f->text;
	l->n = f->n;
	l->at = f->at;
	l->line = f->line;
	return read_parts(f, &checked, e);
}

static int add_lines(struct work_file *file, size_t n, struct err *e)
{
	const char *at = file->text, *end = at + n;

	for (size_t line = 1; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct formula f = {.text = at, .source = file->source, .line = line};

		f.n = (size_t)((stop ? stop : end) - at);
		if (add_line(file, &f, e) < 0)
			return -1;
		at += f.n + 1;
	}
	return 0;
}

void work_file_free(struct work_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->lines.n; i++)
		names_free(f->lines.at[i].filter);
	vec_fini(&f->lines);
	free(f->source);
	free(f->text);
	free(f);
}

int work_file_parse(struct work_file **out, const char *source, const char *text, size_t n,
		    struct err *e)
{
	struct work_file *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	f->source = strdup(source);
	f->text = malloc(n + 1);
	if (!f->source || !f->text) {
		work_file_free(f);
		return err_set(e, ERR_MEMORY, -1, "out of memory");
	}
	memcpy(f->text, text, n);
	f->text[n] = '\0';
	if (add_lines(f, n, e) < 0) {
		work_file_free(f);
		return -1;
	}
	*out = f;
	return 0;
}

int work_file_read(struct work_file **out, const char *path, struct err *e)
{
	FILE *in = fopen(path, "rbe");
	char *text = NULL;
	size_t n = 0, room = 0, got;
	int rc = -1;

	if (!in)
		return err_set(e, ERR_IO, -1, "%s: %m", err_path(path));
	do {
		char *grown = realloc(text, room += (size_t)1 << 16);

		if (!grown) {
			err_set(e, ERR_MEMORY, -1, "out of memory");
			goto out;
		}
		text = grown;
		got = fread(text + n, 1, room - n, in);
		n += got;
	} while (got && n == room && n <= FILE_MAX);
	if (ferror(in))
		err_set(e, ERR_IO, -1, "%s: %m", err_path(path));
	else if (n > FILE_MAX)
		err_set(e, ERR_LIMIT, -1, "%s: more than %zu MB", err_path(path), FILE_MAX >> 20);
	else
		rc = work_file_parse(out, path, text, n, e);
out:
	free(text);
	fclose(in);
	return rc;
}

int work_file_find(struct work_file *f, const char *mangled, const char *demangled,
		   const char *short_name, const struct formula_geometry *g, struct work *out,
		   struct err *e)
{
	for (size_t i = 0; i < f->lines.n; i++) {
		struct work_line *l = &f->lines.at[i];
		struct formula at = {.text = l->text,
				     .n = l->n,
				     .at = l->at,
				     .geometry = g,
				     .source = f->source,
				     .line = l->line};

		if (!names_match(l->filter, mangled, demangled, short_name))
			continue;
		l->counted = true;
		return read_parts(&at, out, e) < 0 ? -1 : 1;
	}
	return 0;
}

size_t work_file_unused(const struct work_file *f, size_t after)
{
	for (size_t i = 0; i < f->lines.n; i++)
		if (f->lines.at[i].line > after && !f->lines.at[i].counted)
			return f->lines.at[i].line;
	return 0;
}
