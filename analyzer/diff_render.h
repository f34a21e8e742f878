/*
 * diff_render.h - a comparison as text for a terminal and as kbn-diff/1. Computes nothing.
 */
#ifndef KBN_DIFF_RENDER_H
#define KBN_DIFF_RENDER_H

#include <stdio.h>

#include "diff.h"
#include "err.h"

/* One line of verdict, what weakens it, and a table that fits `columns`. */
void diff_text(const struct diff *d, double fail_on_pct, int columns, FILE *out);

int diff_json(const struct diff *d, FILE *out, struct err *e);

#endif
