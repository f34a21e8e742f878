/*
 * options.h - command line options by table, the same manners for every command: --name VALUE or
 * --name=VALUE, operands anywhere, "--" ends options, an unknown one is an error that names it.
 */
#ifndef KBN_OPTIONS_H
#define KBN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

enum option_kind {
	OPTION_FLAG,   /* bool * */
	OPTION_TEXT,   /* const char ** */
	OPTION_NUMBER, /* int64_t *, not negative */
	OPTION_TRIPLE, /* int64_t[3]: X[,Y[,Z]], missing ones are 1 */
	OPTION_LIST,   /* struct option_list *, may be given again */
};

/* Every value of one option, in their order. */
struct option_list {
	const char **at; /* room of the caller's for argc */
	size_t n;
};

struct option_spec {
	const char *name; /* "--json" */
	enum option_kind kind;
	void *target;
	const char *argument; /* shown in help; NULL for a flag */
	const char *help;     /* NULL = not shown */
};

/*
 * Read argv[1] to argv[argc - 1]. Operands go to `operands` (room for argc) in their order. A single
 * letter name ("-o") is written with one dash. Fails with ERR_USAGE.
 */
int options_parse(const struct option_spec *table, size_t n, int argc, char **argv,
		  const char **operands, size_t *operands_n, struct err *e);

/*
 * The option of `table` that whoever typed `word` may have meant ("--kernal", "--kern=x"); NULL = none is
 * near. Options without help are never offered.
 */
const char *options_like(const struct option_spec *table, size_t n, const char *word);

/* One line per option. */
void options_help(const struct option_spec *table, size_t n, FILE *out);

#endif
