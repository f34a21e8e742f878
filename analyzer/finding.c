/*
 * finding.c - see finding.h.
 */
#include "finding.h"

#include <string.h>
#include <strings.h>

#define PREFIX "KBN-"

const struct finding_row finding_rows[FINDING_N] = {
#define FINDING(name, id, text, why, advice) {id, text, why, advice},
#include "tables/findings.def"
#undef FINDING
};

const struct finding_row *finding_find(const char *id)
{
	if (strncasecmp(id, PREFIX, strlen(PREFIX)) == 0)
		id += strlen(PREFIX);
	for (size_t i = 0; i < FINDING_N; i++)
		if (strcasecmp(finding_rows[i].id + strlen(PREFIX), id) == 0)
			return &finding_rows[i];
	return NULL;
}
