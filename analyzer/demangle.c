/*
 * demangle.c - libiberty's demangler behind limits, and the short form of what it says.
 * Input: names from a recording, so hostile ones too. Output: text in an arena.
 *
 * libiberty keeps its work on the stack, and by itself refuses names above about 1,000 characters;
 * names of generated kernels are often longer. Those run in a thread with a stack that fits, up to
 * a length where even the worst name fits. Output is capped, as it can grow exponentially.
 */
#include "demangle.h"

#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "arena.h"

#define PLAIN_LENGTH 1000u /* what libiberty does within its own limits */
/*
 * Its largest array has (template parameters used) × (templates) entries of 16 bytes: at most
 * (16384 / 3)² × 16 = 477 MB. The memory is only touched as far as a name needs it.
 */
#define MOST_LENGTH  16384u
#define STACK_BYTES  (640ull << 20)
#define OUTPUT_MAX   (1u << 20)

struct job {
	const char *name;
	int options;
	char *text; /* result, NULL = not a mangled name, or too much */
	size_t bytes, room;
	jmp_buf give_up;
};

/* libiberty allocates nothing on the heap here, so that a jump out of it leaves nothing behind. */
static void collect(const char *part, size_t n, void *opaque)
{
	struct job *job = opaque;

	if (n >= OUTPUT_MAX - job->bytes)
		longjmp(job->give_up, 1);
	if (job->bytes + n + 1 > job->room) {
		size_t room = (job->bytes + n + 1) * 2;
		char *text = realloc(job->text, room);

		if (!text)
			longjmp(job->give_up, 1);
		job->text = text;
		job->room = room;
	}
	memcpy(job->text + job->bytes, part, n);
	job->bytes += n;
	job->text[job->bytes] = '\0';
}

static void *run(void *opaque)
{
	struct job *job = opaque;

	if (setjmp(job->give_up) ||
	    !cplus_demangle_v3_callback(job->name, job->options, collect, job)) {
		free(job->text);
		job->text = NULL;
	}
	return NULL;
}

static void run_on_large_stack(struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BYTES) &&
	    !pthread_create(&thread, &attr, run, job))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

/* malloc'd text, or NULL. */
static char *demangle(const char *name, int options)
{
	size_t length = strnlen(name, MOST_LENGTH + 1);
	struct job job = {.name = name, .options = options};

	if (strncmp(name, "_Z", 2) || length > MOST_LENGTH)
		return NULL;
	if (length > PLAIN_LENGTH) {
		job.options |= DMGL_NO_RECURSE_LIMIT;
		run_on_large_stack(&job);
	} else {
		run(&job);
	}
	return job.text;
}

const char *demangle_full(struct arena *arena, const char *name)
{
	char *text = demangle(name, DMGL_PARAMS | DMGL_ANSI);
	const char *copy = arena_string(arena, text ? text : name, SIZE_MAX);

	free(text);
	return copy;
}

/* ---- the short form */

/* Behind the symbol of an operator function, whose brackets are no brackets: `operator<<`. */
static const char *skip_operator(const char *p)
{
	p += strlen("operator");
	if (!strncmp(p, "()", 2) || !strncmp(p, "[]", 2))
		return p + 2;
	if (*p == '<' || *p == '-')
		return p + strspn(p, "<>=-*");
	if (*p == '>')
		return p + strspn(p, ">=");
	return p + strspn(p, "=!+*/%^&|~,");
}

static bool is_operator(const char *p)
{
	return !strncmp(p, "operator", 8) && !isalnum((unsigned char)p[8]) && p[8] != '_';
}

/* A component of a qualified name: [start, end), its identifier [start, base). */
struct part {
	const char *start, *base, *end;
};

static bool is_lambda(const struct part *p)
{
	return !strncmp(p->start, "{lambda(", 8);
}

static bool is_call(const struct part *p)
{
	return !strncmp(p->start, "operator()", 10);
}

/* The next component of `p`; moves *p behind the `::` that ends it. False at the end. */
static bool next_part(const char **p, struct part *part)
{
	const char *s = *p;
	int depth = 0;

	if (!*s)
		return false;
	part->start = s;
	part->base = NULL;
	if (is_operator(s))
		s = skip_operator(s);
	for (; *s; s++) {
		if (!depth && s != part->start && !part->base &&
		    (*s == '<' || *s == '(' || *s == '['))
			part->base = s;
		if (!depth && s[0] == ':' && s[1] == ':')
			break;
		depth += *s == '<' || *s == '(' || *s == '{' || *s == '[';
		/* An arrow or a comparison inside template arguments must not end them twice. */
		if (*s == '>' || *s == ')' || *s == '}' || *s == ']')
			depth -= depth > 0;
	}
	part->end = s;
	if (!part->base)
		part->base = s;
	*p = *s ? s + 2 : s;
	return true;
}

/* `{lambda(int)#2}` → `{lambda#2}` */
static char *put_lambda(char *out, const struct part *p)
{
	const char *number = memrchr(p->start, '#', (size_t)(p->end - p->start));

	out = stpcpy(out, "{lambda");
	while (number && number < p->end && *number != '}')
		*out++ = *number++;
	return stpcpy(out, "}");
}

static char *put(char *out, const struct part *p)
{
	size_t n = (size_t)(p->base - p->start);

	while (n && p->start[n - 1] == ' ')
		n--;
	memcpy(out, p->start, n);
	return out + n;
}

/* Shorten a qualified name without parameters and return type, in place. */
static void shorten(char *name)
{
	struct part part, last = {0}, owner = {0};
	const char *p = name;
	char *out, *text;

	while (next_part(&p, &part)) {
		/* What a lambda or a call operator belongs to is the last thing before that is neither. */
		if (last.start && !is_lambda(&last) && !is_call(&last))
			owner = last;
		if (is_call(&part) && last.start && is_lambda(&last))
			continue;
		last = part;
	}
	text = last.start ? malloc((size_t)(p - name) + 16) : NULL;
	if (!text)
		return;
	out = text;
	if ((is_lambda(&last) || is_call(&last)) && owner.start)
		out = stpcpy(put(out, &owner), "::");
	out = is_lambda(&last) ? put_lambda(out, &last) : put(out, &last);
	*out = '\0';
	if (out > text && out - text <= p - name)
		strcpy(name, text);
	free(text);
}

const char *demangle_shorten(struct arena *arena, const char *name)
{
	char *text = arena_string(arena, name, SIZE_MAX);

	if (text)
		shorten(text);
	return text;
}

const char *demangle_last_arguments(const char *name)
{
	struct part part;
	const char *found = "";

	while (next_part(&name, &part))
		if (part.base < part.end && *part.base == '<')
			found = part.base;
		else if (!is_lambda(&part) && !is_call(&part))
			found = "";
	return found;
}

const char *demangle_arguments(struct arena *arena, const char *name)
{
	char *text = demangle(name, DMGL_NO_OPTS);
	const char *copy = arena_string(arena, text ? demangle_last_arguments(text) : "", SIZE_MAX);

	free(text);
	return copy;
}

/*
 * The last identifier of a mangled name that was too long to demangle: `_ZN2at6native4fillI...`
 * spells its names as <length><letters> up to the template arguments.
 */
static const char *spelled(struct arena *arena, const char *name)
{
	const char *p = name + 2, *best = NULL;
	size_t best_n = 0;

	if (strncmp(name, "_Z", 2))
		return NULL;
	p += *p == 'L';
	p += *p == 'N';
	while (isdigit((unsigned char)*p)) {
		char *end;
		unsigned long n = strtoul(p, &end, 10);

		if (n > strnlen(end, n))
			break;
		best = end;
		best_n = n;
		p = end + n;
	}
	return best_n ? arena_string(arena, best, best_n) : NULL;
}

const char *demangle_short(struct arena *arena, const char *name)
{
	char *text = demangle(name, DMGL_NO_OPTS);
	const char *copy;

	if (!text) {
		copy = spelled(arena, name);
		return copy ? copy : arena_string(arena, name, SIZE_MAX);
	}
	shorten(text);
	copy = arena_string(arena, text, SIZE_MAX);
	free(text);
	return copy;
}
