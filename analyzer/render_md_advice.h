/*
 * render_md_advice.h - private to render_md*.c: what to do first, in Markdown.
 */
#ifndef KBN_RENDER_MD_ADVICE_H
#define KBN_RENDER_MD_ADVICE_H

#include "render.h"

/* Text with what Markdown would take for markup escaped. */
void render_md_plain(const char *s, FILE *out);

/* The workload page's "What to do first"; nothing where nothing is known to help. */
void render_md_first(const struct report *r, FILE *out);

/* "Recommended Optimizations" and "Not now" of a kernel. */
void render_md_advice(const struct report_kernel *k, FILE *out);

#endif
