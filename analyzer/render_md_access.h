/*
 * render_md_access.h - private to render_md*.c: what the lanes of a kernel's warps do together, in Markdown.
 */
#ifndef KBN_RENDER_MD_ACCESS_H
#define KBN_RENDER_MD_ACCESS_H

#include "render.h"

/* "Memory Access" of a kernel; nothing where nothing is known, or it has no access and parts nowhere. */
void render_md_access(const struct report_kernel *k, FILE *out);

#endif
