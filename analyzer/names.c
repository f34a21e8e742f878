/*
 * names.c - see names.h.
 */
#include "names.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

struct names_filter {
	pcre2_code *code;
	pcre2_match_data *data;
};

struct names_filter *names_compile(const char *pattern, struct err *e)
{
	struct names_filter *f = calloc(1, sizeof(*f));
	PCRE2_SIZE at = 0;
	PCRE2_UCHAR text[120];
	int error = 0;

	if (!f) {
		err_set(e, ERR_MEMORY, -1, "out of memory");
		return NULL;
	}
	f->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
	if (!f->code) {
		pcre2_get_error_message(error, text, sizeof(text));
		err_set(e, ERR_USAGE, (int64_t)at, "%s at character %zu", (const char *)text,
			(size_t)at);
		free(f);
		return NULL;
	}
	f->data = pcre2_match_data_create_from_pattern(f->code, NULL);
	if (!f->data) {
		err_set(e, ERR_MEMORY, -1, "out of memory");
		names_free(f);
		return NULL;
	}
	pcre2_jit_compile(f->code, PCRE2_JIT_COMPLETE); /* without it matching is only slower */
	return f;
}

struct names_filter *names_new(const char *pattern, struct err *e)
{
	struct err bare;
	struct names_filter *f = names_compile(pattern, &bare);

	if (!f && bare.code == ERR_USAGE)
		err_set(e, ERR_USAGE, bare.offset, "--kernel: %s", bare.text);
	else if (!f && e)
		*e = bare;
	return f;
}

void names_free(struct names_filter *f)
{
	if (!f)
		return;
	pcre2_match_data_free(f->data);
	pcre2_code_free(f->code);
	free(f);
}

/* Compiled patterns have 32 KB of stack: too little for many a pattern on a name of some thousand letters. */
static bool is_match(const struct names_filter *f, const char *name)
{
	const PCRE2_SPTR text = (PCRE2_SPTR)name;
	int rc = pcre2_match(f->code, text, PCRE2_ZERO_TERMINATED, 0, 0, f->data, NULL);

	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(f->code, text, PCRE2_ZERO_TERMINATED, 0, PCRE2_NO_JIT, f->data,
				 NULL);
	return rc >= 0;
}

bool names_match(void *filter, const char *mangled, const char *demangled, const char *short_name)
{
	const struct names_filter *f = filter;
	const char *names[] = {mangled, demangled, short_name};

	for (int i = 0; i < 3; i++)
		if (names[i] && is_match(f, names[i]))
			return true;
	return false;
}
