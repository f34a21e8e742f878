/*
 * cmd_schema.c - `kbn schema [FORMAT]`: the JSON Schema of one output format, or of all in one object.
 */
#include "cmd.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"
#include "schema.h"

int cmd_schema(int argc, char **argv)
{
	bool help = false;
	const struct option_spec table[] = {{"--help", OPTION_FLAG, &help, NULL, "this text"}};
	const char *operands[CMD_WORDS];
	struct err e = {.offset = -1};
	json_t *doc;
	size_t n;

	if (argc > CMD_WORDS)
		return cmd_too_many("schema");
	if (options_parse(table, 1, argc, argv, operands, &n, &e) != 0)
		return cmd_fail("schema", &e);
	if (help) {
		printf("usage: kbn schema [FORMAT]\nformats:");
		for (size_t i = 0; schema_names[i]; i++)
			printf(" %s", schema_names[i]);
		putchar('\n');
		return CMD_GOOD;
	}
	if (n == 0) {
		doc = json_object();
		for (size_t i = 0; schema_names[i]; i++)
			json_object_set_new(doc, schema_names[i], schema_make(schema_names[i]));
	} else {
		doc = schema_make(operands[0]);
	}
	if (!doc) {
		err_set(&e, ERR_USAGE, -1, "no format %s", operands[0]);
		return cmd_fail("schema", &e);
	}
	json_dumpf(doc, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(doc);
	return CMD_GOOD;
}
