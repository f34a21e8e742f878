/*
 * test_render_html.c - the HTML page: whole, self-contained, closed where it must be, small enough, and deaf to
 * what a kernel is called. KBN_HTML_PAGES=DIR keeps the pages, for scripts/shots to look at.
 */
#include "kbn_test.h"

#include <time.h>

#include "html_fixture.h"

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

static void keep(const char *name, const char *text, size_t bytes)
{
	const char *dir = getenv("KBN_HTML_PAGES");
	char path[4096];
	FILE *out;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s.html", dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, bytes, out), bytes);
	assert_int_equal(fclose(out), 0);
}

/* ---- the page as a tree */

#define DEPTH 64

/* HTML lets these stand without an end, or they have none. */
static bool needs_end(const char *name, size_t n)
{
	static const char *const free_ones[] = {"meta",  "li",    "dt",   "dd",    "p",
						"tr",    "td",    "th",   "br",    "thead",
						"tbody", "input", "path", "circle"};

	for (size_t i = 0; i < sizeof(free_ones) / sizeof(*free_ones); i++)
		if (strlen(free_ones[i]) == n && strncmp(free_ones[i], name, n) == 0)
			return false;
	return *name != '!';
}

/* Behind the tag; fails when an attribute could end early or swallow what follows. */
static const char *skip_tag(const char *at)
{
	char quote = 0;

	for (; *at && (quote || *at != '>'); at++) {
		if (quote)
			quote = *at == quote ? 0 : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == '<')
			fail_msg("< within a tag: %.80s", at - 20);
	}
	assert_int_equal(*at, '>');
	return at + 1;
}

/* Every element that needs an end has it, in the right order. */
static void assert_balanced(const char *page)
{
	struct {
		const char *name;
		size_t n;
	} open[DEPTH];
	size_t depth = 0;

	for (const char *at = page; (at = strchr(at, '<'));) {
		const bool is_end = at[1] == '/';
		const char *name = at + 1 + is_end;
		const size_t n = strcspn(name, " />\n");

		at = skip_tag(at + 1);
		if (at[-2] == '/' || !needs_end(name, n))
			continue;
		if (!is_end) {
			assert_true(depth < DEPTH);
			open[depth].name = name;
			open[depth++].n = n;
			if (n == 6 && strncmp(name, "script", 6) == 0) {
				at = strstr(at, "</script>");
				assert_non_null(at);
			} else if (n == 5 && strncmp(name, "style", 5) == 0) {
				at = strstr(at, "</style>");
				assert_non_null(at);
			}
			continue;
		}
		assert_true(depth > 0);
		depth--;
		if (open[depth].n != n || strncmp(open[depth].name, name, n) != 0)
			fail_msg("</%.*s> ends <%.*s> near %.60s", (int)n, name, (int)open[depth].n,
				 open[depth].name, name);
	}
	assert_int_equal(depth, 0);
}

/* ---- tests */

static void is_whole_and_needs_nothing(void **state)
{
	static const size_t sizes[] = {1, 20};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct html_fixture f = {0};
		size_t bytes;
		char *page;

		html_fixture_open(&f, sizes[i]);
		html_page(&f.report, &page, &bytes);
		assert_balanced(page);
		assert_int_equal(strlen(page), bytes);
		assert_null(strstr(page, "src="));
		assert_null(strstr(page, "url("));
		assert_null(strstr(page, "http:"));
		assert_null(strstr(page, "https:"));
		assert_null(strstr(page, "@import"));
		assert_null(strstr(page, "nan"));
		assert_null(strstr(page, "inf\""));
		assert_non_null(strstr(page, "default-src 'none'"));
		assert_int_equal(count(page, "<script"), 1);
		assert_int_equal(count(page, "<details class=k"), sizes[i]);
		assert_int_equal(count(page, "<summary>How to read the sections</summary>"), 1);
		assert_int_equal(count(page, "`"), count(page, "`kbn calibrate`") * 2);
		keep(sizes[i] == 1 ? "one" : "twenty", page, bytes);
		free(page);
		html_fixture_close(&f);
	}
}

static void says_what_is_not_known(void **state)
{
	struct fixture_report f;
	size_t bytes;
	char *page;

	(void)state;
	fixture_report_open(&f);
	f.report.simulated = true;
	f.report.advice_n = 0;
	for (size_t i = 0; i < f.report.kernels_n; i++)
		f.report.kernels[i].advice.n = 0;
	html_page(&f.report, &page, &bytes);
	assert_balanced(page);
	assert_non_null(strstr(page, "Times are simulated."));
	assert_non_null(strstr(page, "No kernel has a place in a roofline"));
	assert_null(strstr(page, "<svg"));
	assert_non_null(strstr(page, "Not known: the load of this code was not seen"));
	assert_non_null(strstr(page, "Nothing is proposed"));
	/* the bins add up to what was seen, and a figure that is estimated says so */
	assert_non_null(strstr(page, "<tr class=sum><td>seen<td>1,174"));
	assert_non_null(strstr(page, "39.7 ms<sup class=e"));
	f.report.simulated = false;
	free(page);
	html_page(&f.report, &page, &bytes);
	assert_null(strstr(page, "simulated"));
	free(page);
	fixture_report_close(&f);
}

static void names_are_text_only(void **state)
{
	static const char hostile[] =
		"</script><script>alert(1)</script><img onerror='x()' src=x>\"' onload=\"y()&#60;";
	struct html_fixture f = {0};
	size_t bytes, quiet;
	char *page;

	(void)state;
	html_fixture_open(&f, 3);
	html_page(&f.report, &page, &quiet);
	free(page);
	for (size_t i = 0; i < 3; i++) {
		struct report_kernel *k = &f.report.kernels[i];

		k->name = k->demangled = k->short_name = k->variant = hostile;
		k->code.file = hostile;
	}
	f.report.runs[0].command[0] = hostile;
	f.report.runs[0].host = hostile;
	f.report.devices[0].name = hostile;
	f.report.notes[0].text = hostile;
	html_page(&f.report, &page, &bytes);
	assert_balanced(page);
	assert_int_equal(count(page, "<script"), 1);
	assert_null(strstr(page, "<img"));
	assert_null(strstr(page, "onload=\""));
	assert_null(strstr(page, "onerror='"));
	assert_true(count(page, "&lt;img") > 3);
	keep("hostile", page, bytes);
	free(page);
	html_fixture_close(&f);
}

/* 100 KB of name cost no more than the names of three kernels may. */
static void long_names_are_cut(void **state)
{
	const size_t n = 100 * 1024;
	struct html_fixture f = {0};
	char *name = malloc(n + 1), *page;
	size_t bytes, before;

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < n; i++)
		name[i] = "void f<int, (anonymous)::Tile"[i % 29];
	name[n] = '\0';
	html_fixture_open(&f, 3);
	html_page(&f.report, &page, &before);
	free(page);
	for (size_t i = 0; i < 3; i++)
		f.report.kernels[i].name = f.report.kernels[i].demangled =
			f.report.kernels[i].short_name = name;
	html_page(&f.report, &page, &bytes);
	assert_balanced(page);
	assert_true(bytes < before + 3 * 6000);
	assert_non_null(strstr(page, "\xe2\x80\xa6"));
	keep("long", page, bytes);
	free(page);
	free(name);
	html_fixture_close(&f);
}

/* The content policy names the script that is there. */
static void policy_fits_the_script(void **state)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char dir[256], path[300], command[400], hex[65] = "", want[80] = "sha256-", *out = want + 7;
	struct html_fixture f = {0};
	const char *script;
	uint8_t hash[33] = {0};
	size_t bytes;
	char *page;
	FILE *file;

	(void)state;
	html_fixture_open(&f, 1);
	html_page(&f.report, &page, &bytes);
	script = strstr(page, "<script>");
	assert_non_null(script);
	script += strlen("<script>");
	snprintf(path, sizeof(path), "%s/script", temp_dir(dir));
	file = fopen(path, "w");
	assert_non_null(file);
	fwrite(script, 1, (size_t)(strstr(script, "</script>") - script), file);
	fclose(file);
	snprintf(command, sizeof(command), "sha256sum %s", path);
	file = popen(command, "r");
	assert_non_null(file);
	assert_non_null(fgets(hex, sizeof(hex), file));
	pclose(file);
	for (int i = 0; i < 32; i++)
		hash[i] = (uint8_t)strtoul((char[]){hex[2 * i], hex[2 * i + 1], 0}, NULL, 16);
	for (int i = 0; i < 33; i += 3) {
		const uint32_t v = (uint32_t)hash[i] << 16 | (uint32_t)hash[i + 1] << 8 |
				   hash[i + 2];

		for (int k = 18; k >= 0; k -= 6)
			*out++ = digits[v >> k & 63];
	}
	out[-1] = '=';
	*out = '\0';
	if (!strstr(page, want))
		fail_msg("the script is '%s' now", want);
	remove_dir(dir);
	free(page);
	html_fixture_close(&f);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void many_kernels_fit(void **state)
{
	struct html_fixture f = {0};
	size_t bytes, sections;
	double start, took;
	char *page;

	(void)state;
	html_fixture_open(&f, 500);
	start = seconds();
	html_page(&f.report, &page, &bytes);
	took = seconds() - start;
	sections = count(page, "<details class=k");
	if (getenv("KBN_HTML_PAGES"))
		printf("500 kernels: %zu bytes, %zu sections, %.3f s\n", bytes, sections, took);
	keep("many", page, bytes);
	assert_true(bytes <= 3000000);
	assert_true(took < 1);
	assert_int_equal(count(page, "<tr title"), 500);
	assert_int_equal(count(page, "<pre"), 2 * RENDER_LISTINGS);
	assert_int_equal(sections, 500);
	assert_balanced(page);
	free(page);
	html_fixture_close(&f);
}

/* With more to say than there is room for, sections are left out and counted; no link leads nowhere. */
static void what_does_not_fit_is_counted(void **state)
{
	struct html_fixture f = {0};
	size_t bytes, sections;
	char *page, text[80];

	(void)state;
	html_fixture_open(&f, 2000);
	html_page(&f.report, &page, &bytes);
	assert_true(bytes <= 3000000);
	sections = count(page, "<details class=k");
	assert_true(sections > 100 && sections < 2000);
	snprintf(text, sizeof(text), "%zu kernels more are in the JSON report", 2000 - sections);
	assert_non_null(strstr(page, text));
	snprintf(text, sizeof(text), "href=#k%zu ", sections);
	assert_non_null(strstr(page, text));
	snprintf(text, sizeof(text), "href=#k%zu ", sections + 1);
	assert_null(strstr(page, text));
	assert_balanced(page);
	free(page);
	html_fixture_close(&f);
}

/* ---- the chart */

static double number_behind(const char *at, const char *word)
{
	at = strstr(at, word);
	assert_non_null(at);
	return strtod(at + strlen(word), NULL);
}

static void set_place(struct html_fixture *f, size_t i, double intensity, double gflops)
{
	struct report_kernel *k = &f->report.kernels[i];
	struct roofline *r = arena_copy(f->arena, f->report.kernels[0].roofline, sizeof(*r));

	assert_non_null(r);
	r->intensity = made_quantity(intensity, QUANTITY_DERIVED, 0);
	r->effective_gflops = made_quantity(gflops, QUANTITY_MEASURED, 0);
	r->precision = PEAK_FP32;
	k->roofline = r;
}

static void dots_are_where_they_belong(void **state)
{
	struct html_fixture f = {0};
	struct arch_device *d;
	const char *chart, *a, *b, *c;
	size_t bytes;
	char *page;

	(void)state;
	html_fixture_open(&f, 3);
	made_work(&f, &f.report.kernels[0], &(uint32_t){1});
	f.report.kernels[1].work = f.report.kernels[2].work = f.report.kernels[0].work;
	d = &f.report.devices[0].hw;
	set_place(&f, 0, 1, 1000);
	set_place(&f, 1, 100, 1000); /* two decades to the right */
	set_place(&f, 2, 100, NAN);  /* no time: where the roof is, that of FP32 */
	((struct roofline *)f.report.kernels[2].roofline)->effective_gflops =
		quantity_unknown("no time");
	html_page(&f.report, &page, &bytes);
	chart = strstr(page, "<svg");
	assert_non_null(chart);
	a = strstr(chart, "href=#k1>");
	b = strstr(chart, "href=#k2>");
	c = strstr(chart, "href=#k3>");
	assert_true(a && b && c);
	assert_true(fabs(number_behind(a, "cy=") - number_behind(b, "cy=")) < 0.11);
	/* a decade is as wide as between two lines of the grid */
	{
		const char *line = strstr(chart, "<path class=grid d=\"M");
		const double x0 = number_behind(line, "d=\"M");
		const double x1 = number_behind(line + 10, "<path class=grid d=\"M");

		assert_true(fabs(number_behind(b, "cx=") - number_behind(a, "cx=") -
				 2 * (x1 - x0)) < 0.25);
	}
	assert_non_null(strstr(c, "class=hollow"));
	assert_true(d->peaks[PEAK_FP32] * 1000 < 100 * d->dram_gbps);
	{
		const char *roof = strstr(chart, "<path class=roof ");
		double y;

		assert_non_null(roof);
		y = strtod(strchr(strstr(roof, "d=\"M"), ' ') + 1, NULL);
		assert_true(fabs(number_behind(c, "cy=") - y) < 0.11);
	}
	assert_non_null(strstr(page, "FP32 66.9 TFLOPS"));
	assert_null(strstr(page, ">FP64 "));
	free(page);
	html_fixture_close(&f);
}

/* The name of a roof goes where no kernel is: none of the dots lies within it, on either screen. */
static void roofs_are_named_beside_dots(void **state)
{
	struct html_fixture f = {0};
	size_t bytes, seen = 0;
	char *page;

	(void)state;
	html_fixture_open(&f, 3);
	made_work(&f, &f.report.kernels[0], &(uint32_t){1});
	f.report.kernels[1].work = f.report.kernels[2].work = f.report.kernels[0].work;
	set_place(&f, 0, 0.001, 1);
	set_place(&f, 1, 6000, 90000); /* above the roof, where its name would be */
	set_place(&f, 2, 10000, 80000);
	html_page(&f.report, &page, &bytes);
	for (const char *svg = page; (svg = strstr(svg, "<svg")); svg++) {
		const char *end = strstr(svg, "</svg>"), *name = strstr(svg, ">FP32 66.9 T");
		const char *rt = svg, *dot = svg;
		double right = 0, line = 0;

		assert_true(name && name < end);
		for (const char *at = svg; (at = strstr(at, "<text class=rt x=")) && at < name;
		     at++)
			rt = at;
		right = number_behind(rt, " x=");
		line = number_behind(rt, " y=");
		while ((dot = strstr(dot, "<circle class=pt")) && dot < end) {
			const double x = number_behind(dot, "cx="), y = number_behind(dot, "cy=");

			seen++;
			dot++;
			if (x < right && x > right - 6.3 * 11 && y < line + 3 && y > line - 11)
				fail_msg("a dot at %g, %g under the name at %g, %g", x, y, right,
					 line);
		}
	}
	assert_int_equal(seen, 6);
	free(page);
	html_fixture_close(&f);
}

/* Ranks and devices of one kind are shown once; kernels of another kind of device have a chart of their own. */
static void ranks_and_devices(void **state)
{
	struct html_fixture f = {0};
	struct report_run *runs;
	struct report_device *devices;
	size_t bytes;
	char *page;

	(void)state;
	html_fixture_open(&f, 12);
	runs = arena_array(f.arena, 12, sizeof(*runs));
	devices = arena_array(f.arena, 9, sizeof(*devices));
	assert_true(runs && devices);
	for (int i = 0; i < 12; i++) {
		runs[i] = f.report.runs[0];
		runs[i].rank = i;
	}
	for (size_t i = 0; i < 9; i++)
		devices[i] = f.report.devices[0];
	f.report.runs = runs;
	f.report.runs_n = 12;
	f.report.devices = devices;
	f.report.devices_n = 9;
	for (size_t i = 0; i < 12; i++) {
		made_work(&f, &f.report.kernels[i], &(uint32_t){(uint32_t)i});
		f.report.kernels[i].device = i % 9;
	}
	html_page(&f.report, &page, &bytes);
	assert_balanced(page);
	assert_int_equal(count(page, "<figure>"), 1);
	assert_non_null(strstr(page, "<summary>4 processes more</summary>"));
	assert_non_null(strstr(page, "rank 11: "));
	assert_non_null(strstr(page, "12 processes; "));
	assert_null(strstr(page, "have no place here"));
	free(page);
	devices[8].name = "another GPU";
	html_page(&f.report, &page, &bytes);
	assert_balanced(page);
	assert_int_equal(count(page, "<figure>"), 2);
	assert_non_null(strstr(page, "<b>another GPU</b>, 1 kernel"));
	free(page);
	html_fixture_close(&f);
}

/* ---- sections */

static void advice_has_its_experiment(void **state)
{
	struct html_fixture f = {0};
	size_t bytes;
	char *page;

	(void)state;
	html_fixture_open(&f, 1);
	f.report.kernels[0].advice.n = 3;
	html_page(&f.report, &page, &bytes);
	assert_non_null(strstr(page, "Let neighbouring lanes read neighbouring addresses"));
	assert_non_null(strstr(page, "<span class=gain>saves <b>"));
	assert_non_null(strstr(page, "<br><b>Expect:</b> sectors")); /* of what to do first */
	assert_non_null(strstr(page, "</span></a>: 100% of all kernel time, "));
	assert_non_null(strstr(page, "to 55%</b><sup class=e>e</sup> of this kernel's time"));
	assert_non_null(strstr(page, "<dt>Change<dd>transpose through"));
	assert_non_null(strstr(page, "<dt>Expect<dd>sectors"));
	assert_non_null(strstr(page, "<dt>Otherwise<dd>if the sectors"));
	assert_non_null(strstr(page, "<dt>Costs<dd>a padded tile"));
	assert_non_null(strstr(page, "what it saves is not known"));
	assert_non_null(strstr(page, "<h3>Not now</h3>"));
	assert_non_null(strstr(page, "24 warps per SM hide the latency already"));
	f.report.kernels[0].advice.n = 0;
	free(page);
	html_page(&f.report, &page, &bytes);
	assert_null(strstr(page, "<dt>Change"));
	free(page);
	html_fixture_close(&f);
}

static void code_is_listed_once(void **state)
{
	struct html_fixture f = {0};
	struct metric_listings all;
	struct metric_listing loop;
	struct metric_line line = {.offset = 0x450,
				   .stall = 12,
				   .wait = 5,
				   .write_barrier = 2,
				   .read_barrier = -1,
				   .yield = true,
				   .is_decoded = true,
				   .text = "@!P0 LDG.E R4, [R2.64]"};
	size_t bytes;
	char *page;

	(void)state;
	html_fixture_open(&f, 2);
	loop = (struct metric_listing){1, true, &line, 1, 0};
	all = (struct metric_listings){&loop, 1, 0};
	f.report.kernels[0].listings = f.report.kernels[1].listings = &all;
	html_page(&f.report, &page, &bytes);
	assert_non_null(strstr(page, "<s>  450</s> <u>12</u> y 2 . <u>0.2...</u>  "
				     "@!P0 <b>LDG.E</b> R4, [R2.64]"));
	assert_int_equal(count(page, "<pre"), 1);
	assert_non_null(strstr(page, "The same as of <a href=#k1>kernel 1</a>"));
	free(page);
	html_fixture_close(&f);
}

/* The listing of a real kernel, as the report gets it. */
static void code_comes_with_the_report(void **state)
{
	struct report_options o = {.listings = RENDER_LISTINGS, .listing = code_facts_listing};
	const struct metric_listings *all = NULL;
	struct fixture_report f;
	size_t bytes;
	char *page;

	(void)state;
	fixture_report_open(&f);
	for (size_t i = 0; i < f.report.kernels_n; i++)
		assert_null(f.report.kernels[i].listings); /* nobody asked */
	o.listing_ctx = f.facts;
	fixture_report_build(&f, &o);
	for (size_t i = 0; i < f.report.kernels_n; i++) {
		const bool is_stored = strcmp(f.report.kernels[i].name, "bank_conflict_bad") == 0;

		assert_int_equal(f.report.kernels[i].listings != NULL, is_stored);
		if (is_stored)
			all = f.report.kernels[i].listings;
	}
	assert_non_null(all);
	assert_true(all->n > 0 && all->at[0].lines_n > 3);
	assert_int_equal(all->at[0].lines[1].offset - all->at[0].lines[0].offset, 16);
	html_page(&f.report, &page, &bytes);
	assert_non_null(strstr(page, "<pre"));
	free(page);
	o.listings = 1; /* only the kernel with most time, whose code is not stored */
	fixture_report_build(&f, &o);
	for (size_t i = 0; i < f.report.kernels_n; i++)
		assert_null(f.report.kernels[i].listings);
	fixture_report_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_whole_and_needs_nothing),
		cmocka_unit_test(says_what_is_not_known),
		cmocka_unit_test(names_are_text_only),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(policy_fits_the_script),
		cmocka_unit_test(many_kernels_fit),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(dots_are_where_they_belong),
		cmocka_unit_test(roofs_are_named_beside_dots),
		cmocka_unit_test(ranks_and_devices),
		cmocka_unit_test(advice_has_its_experiment),
		cmocka_unit_test(code_is_listed_once),
		cmocka_unit_test(code_comes_with_the_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
