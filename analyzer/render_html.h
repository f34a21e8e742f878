/*
 * render_html.h - private to render_html*.c: the parts of the HTML page, and how a text, a figure and a bar are
 * put into it. The page is one file: style and script within, nothing loaded, readable without the script.
 */
#ifndef KBN_RENDER_HTML_H
#define KBN_RENDER_HTML_H

#include "render.h"

/* ------------------------------------------------------------------ words */

/* Characters of a name: in a row, in the tip of a row, in the section of its kernel. The JSON has all of it. */
#define HTML_NAME       60
#define HTML_NAME_TIP   120
#define HTML_NAME_BRIEF 300
#define HTML_NAME_WHOLE 800
#define HTML_SENTENCE   300 /* of a text of ours that may hold a name */

/* `s` with nothing left in it that HTML would read, within quotes too; at most `most` characters of it. */
void html_text(const char *s, size_t most, FILE *out);
/* The first `n` bytes of `s` likewise. */
void html_bytes(const char *s, size_t n, FILE *out);
/* The name of a kernel as a table has it, in at most `columns`. */
void html_label(const struct report_kernel *k, size_t columns, FILE *out);
/* long_scoreboard as people write it. */
void html_words(const char *key, FILE *out);
/* The kernel's class as a coloured word. */
void html_class(const struct metric_class *v, FILE *out);

/* ---------------------------------------------------------------- figures */

/* Numbers as text.h has them, and with more units; fit to be put into the page as they are. */
typedef char *html_show(char out[TEXT_NUMBER], double v);
html_show html_us, html_pct, html_share /* to a tenth of a percent */, html_real, html_ratio,
	html_gflops, html_gbps, html_intensity, html_amount;

/* The mark of its label: a small letter, "user" for what was not measured but told; its tip says why, where there is a reason. */
void html_mark(const struct quantity *q, FILE *out);
/* The figure, its mark, and its bounds where they differ from it; what is not known is a dash with the reason in its tip. */
void html_quantity(const struct quantity *q, html_show *show, FILE *out);
/* The same, but the reason for what is not known is said in the text. */
void html_quantity_said(const struct quantity *q, html_show *show, FILE *out);
/* A bar that is `pct` percent full; nothing when that is not known. */
void html_bar(double pct, FILE *out);
/* A bar with a solid part up to `low` and a pale one up to `high` percent. */
void html_bar_range(double low, double high, FILE *out);

/*
 * The reasons why warps wait that are known and not none, the most frequent first: name, as people write it, and
 * share into out[]. Returns how many.
 */
struct html_reason {
	const char *name;
	const struct quantity *q;
};
#define HTML_REASONS 16
size_t html_reasons(const struct metric_stalls *s, struct html_reason out[HTML_REASONS]);

/* A row of two cells: what, and a figure. */
void html_row(const char *what, const struct quantity *q, html_show *show, FILE *out);

/* ------------------------------------------------------------------ parts */

/*
 * A page that opens at once on a phone: so many kernels in table and chart, and sections as long as there is room.
 * Those behind the first ones are brief: a line for each part, names cut earlier.
 */
#define HTML_BYTES 2900000
#define HTML_ROWS  1000
#define HTML_WHOLE 40

/* Everything in front of the body, up to </head>. */
void html_head(const struct report *r, FILE *out);
/* The script, in front of </body>. */
void html_script(FILE *out);

/* What ran, its figures, what to do first; and further below what was recorded, and the notes. */
void html_top(const struct report *r, size_t sections, FILE *out);
void html_run(const struct report *r, FILE *out);
/* One chart for each kind of device; says so where no kernel has a place in one. */
void html_rooflines(const struct report *r, size_t n, size_t sections, FILE *out);
/* The first `n` kernels; `sections` of them are linked to. */
void html_table(const struct report *r, size_t n, size_t sections, FILE *out);
void html_kernel(const struct report *r, size_t index, FILE *out);
/* Of html_kernel: all of it for one with little time, */
void html_brief(const struct report_kernel *k, FILE *out);
/* or what its loops, its instructions and their accesses say, their listing, and what to do about it. */
void html_loops(const struct report_kernel *k, FILE *out);
void html_code(const struct report *r, const struct report_kernel *k, FILE *out);
void html_sites(const struct report_kernel *k, FILE *out);
void html_listing(const struct report *r, size_t index, FILE *out);
void html_advice(const struct report_kernel *k, size_t number, FILE *out);
/* What an experiment may save, percent of `of`; NaN = not known. */
#define HTML_OF_KERNEL "of this kernel's time"
void html_gain(double low_pct, double high_pct, const char *of, FILE *out);
/* The first of it in a line. */
void html_advice_short(const struct report_kernel *k, size_t number, FILE *out);

#endif
