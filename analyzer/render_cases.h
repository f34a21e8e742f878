/*
 * render_cases.h - the table of several sizes side by side. Private to the renderers for people; nothing is
 * written for a report without cases.
 */
#ifndef KBN_RENDER_CASES_H
#define KBN_RENDER_CASES_H

#include "render.h"

void render_cases_md(const struct report *r, FILE *out);
void render_cases_text(const struct report *r, int columns, FILE *out);

#endif
