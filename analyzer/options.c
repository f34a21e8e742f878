/*
 * options.c - see options.h.
 */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* The whole of `s` up to `end` as a number that is not negative. */
static bool number(const char *s, char **end, int64_t *out)
{
	long long v;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoll(s, end, 10);
	if (errno)
		return false;
	*out = v;
	return true;
}

static int set_number(const struct option_spec *o, const char *value, struct err *e)
{
	int64_t v;
	char *end;

	if (!number(value, &end, &v) || *end)
		return err_set(e, ERR_USAGE, -1, "%s wants a number, not \"%s\"", o->name, value);
	*(int64_t *)o->target = v;
	return 0;
}

static int set_triple(const struct option_spec *o, const char *value, struct err *e)
{
	int64_t v[3] = {1, 1, 1};
	const char *at = value;
	char *end;

	for (int i = 0; i < 3; i++) {
		if (!number(at, &end, &v[i]) || v[i] == 0 || (*end && *end != ','))
			break;
		if (!*end) {
			memcpy(o->target, v, sizeof(v));
			return 0;
		}
		at = end + 1;
	}
	return err_set(e, ERR_USAGE, -1, "%s wants X[,Y[,Z]], each at least 1, not \"%s\"", o->name,
		       value);
}

static void add(struct option_list *list, const char *value)
{
	list->at[list->n++] = value;
}

static int set(const struct option_spec *o, const char *value, struct err *e)
{
	switch (o->kind) {
	case OPTION_FLAG: *(bool *)o->target = true; return 0;
	case OPTION_TEXT: *(const char **)o->target = value; return 0;
	case OPTION_NUMBER: return set_number(o, value, e);
	case OPTION_TRIPLE: return set_triple(o, value, e);
	case OPTION_LIST: add(o->target, value); return 0;
	}
	return -1;
}

static const struct option_spec *find(const struct option_spec *table, size_t n, const char *word,
				      size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(table[i].name) == length && strncmp(table[i].name, word, length) == 0)
			return &table[i];
	return NULL;
}

const char *options_like(const struct option_spec *table, size_t n, const char *word)
{
	const char *best = NULL;
	char typed[64];
	int least = TEXT_FAR;

	snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
	for (size_t i = 0; i < n; i++) {
		int far = text_distance(typed, table[i].name);

		if (table[i].help && strlen(table[i].name) > 2 && far < least) {
			best = table[i].name;
			least = far;
		}
	}
	return best;
}

static int unknown(const struct option_spec *table, size_t n, const char *word, int length,
		   struct err *e)
{
	const char *like = options_like(table, n, word);

	return err_set(e, ERR_USAGE, -1, "unknown option %.*s%s%s%s", length, word,
		       like ? "; did you mean " : "", like ? like : "", like ? "?" : "");
}

int options_parse(const struct option_spec *table, size_t n, int argc, char **argv,
		  const char **operands, size_t *operands_n, struct err *e)
{
	bool only_operands = false;

	*operands_n = 0;
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *equals = strchr(word, '='), *value = NULL;
		const struct option_spec *o;
		size_t length = equals && word[1] == '-' ? (size_t)(equals - word) : strlen(word);

		if (only_operands || word[0] != '-' || word[1] == '\0') {
			operands[(*operands_n)++] = word;
			continue;
		}
		if (strcmp(word, "--") == 0) {
			only_operands = true;
			continue;
		}
		o = find(table, n, strcmp(word, "-h") ? word : "--help",
			 strcmp(word, "-h") ? length : strlen("--help"));
		if (!o)
			return unknown(table, n, word, (int)(length > 100 ? 100 : length), e);
		if (word[length] == '=')
			value = word + length + 1;
		if (o->kind == OPTION_FLAG && value)
			return err_set(e, ERR_USAGE, -1, "%s takes no value", o->name);
		if (o->kind != OPTION_FLAG && !value) {
			if (i + 1 >= argc)
				return err_set(e, ERR_USAGE, -1, "%s wants a value", o->name);
			value = argv[++i];
		}
		if (set(o, value, e) != 0)
			return -1;
	}
	return 0;
}

void options_help(const struct option_spec *table, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		char left[64];

		if (!table[i].help)
			continue;
		snprintf(left, sizeof(left), "%s%s%s", table[i].name, table[i].argument ? " " : "",
			 table[i].argument ? table[i].argument : "");
		fprintf(out, "  %-22s %s\n", left, table[i].help);
	}
}
