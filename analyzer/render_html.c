/*
 * render_html.c - the report as one HTML page that needs nothing else: workload, what to do first, the kernels
 * against the roofs of their device, a table, and a section per kernel as long as there is room. The parts are in
 * render_html_*.c.
 */
#include "render_html.h"

#include <stdlib.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A hint has words of the report between backticks. */
static void hint(const char *section, const char *text, const char *more, FILE *out)
{
	bool is_code = false;

	fprintf(out, "<dt>%s<dd>", section);
	for (; *text; text++) {
		if (*text != '`') {
			html_bytes(text, 1, out);
			continue;
		}
		fputs(is_code ? "</code>" : "<code>", out);
		is_code = !is_code;
	}
	if (more) {
		html_text(more, HTML_SENTENCE, out);
		fputc('.', out);
	}
	fputc('\n', out);
}

static void how_to_read(const struct report *r, size_t sections, FILE *out)
{
	const char *stalls = render_stall_model(r, sections);

	fputs("<details><summary>How to read the sections</summary><dl class=t>\n", out);
	for (size_t i = 0; i < RENDER_HINTS; i++)
		hint(render_hints[i].section, render_hints[i].text, NULL, out);
	if (stalls)
		hint("Why warps wait", RENDER_STALL_HINT, stalls, out);
	fputs("</dl></details>\n", out);
}

/* All but the sections, which the rest may link to. */
static void front(const struct report *r, size_t sections, FILE *out)
{
	const size_t rows = least(r->kernels_n, HTML_ROWS);

	html_head(r, out);
	fputs("<body>\n", out);
	html_top(r, sections, out);
	html_rooflines(r, rows, sections, out);
	html_table(r, rows, sections, out);
	html_run(r, out);
	if (!sections)
		return;
	fputs("<h2 id=each>Kernel by kernel</h2>\n", out);
	how_to_read(r, sections, out);
}

static void back(const struct report *r, size_t sections, FILE *out)
{
	if (sections && sections < r->kernels_n)
		fprintf(out, "<p class=s1>%zu kernels more are in the JSON report.\n",
			r->kernels_n - sections);
	fprintf(out, "<p class=\"key end\">kbn %s\n", r->version);
	html_script(out);
	fputs("</body>\n</html>\n", out);
}

/* As many sections as fit in `room` bytes; *bytes = those of them. */
static size_t put_sections(const struct report *r, size_t most, size_t room, FILE *out,
			   size_t *bytes)
{
	size_t n = 0;

	for (*bytes = 0; n < most; n++) {
		long end;

		html_kernel(r, n, out);
		end = ftell(out);
		if (end < 0 || (size_t)end > room)
			break;
		*bytes = (size_t)end;
	}
	return n;
}

/* The front is made before, to learn how much room it leaves. */
static int report_html(const struct report *r, const struct render_options *o, FILE *out,
		       struct err *e)
{
	const size_t most = least(r->kernels_n, o->top ? o->top : HTML_ROWS);
	char *page = NULL, *text = NULL;
	size_t page_n = 0, text_n = 0, bytes = 0, sections = 0;
	FILE *first = open_memstream(&page, &page_n), *behind = open_memstream(&text, &text_n);
	int rc = -1;

	if (!first || !behind)
		goto out;
	front(r, most, first);
	if (fflush(first) != 0)
		goto out;
	sections = put_sections(r, most, page_n < HTML_BYTES ? HTML_BYTES - page_n : 0, behind,
				&bytes);
	if (fflush(behind) == 0 && !ferror(first) && !ferror(behind))
		rc = 0;
out:
	if (first)
		fclose(first);
	if (behind)
		fclose(behind);
	if (rc != 0)
		err_set(e, ERR_MEMORY, -1, "no memory for the page");
	else if (sections == most)
		fwrite(page, 1, page_n, out);
	else
		front(r, sections, out);
	if (rc == 0) {
		fwrite(text, 1, bytes, out);
		back(r, sections, out);
	}
	free(page);
	free(text);
	if (rc == 0 && ferror(out))
		rc = err_set(e, ERR_IO, -1, "cannot write the report");
	return rc;
}

const struct render_format render_html = {"html", "report.html", report_html};
