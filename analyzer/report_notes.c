/*
 * report_notes.c - what a reader must know before trusting the figures: each note with a stable id.
 * Input: notes of the recording, what the report already holds. Output: r->notes, by id then text.
 */
#include "report_build.h"

#include <stdlib.h>
#include <string.h>

#define BUSY_PCT 80.0 /* below it the problem is on the host */

static void note(struct builder *b, const char *id, const char *text)
{
	struct metric_finding *n;

	text = report_clean(b, report_must(b, text));
	for (size_t i = 0; i < b->notes.n; i++)
		if (strcmp(b->notes.at[i].id, id) == 0 && strcmp(b->notes.at[i].text, text) == 0)
			return;
	n = report_must(b, vec_add(&b->notes));
	if (n)
		*n = (struct metric_finding){id, text};
}
#define NOTE(b, id, ...) note(b, id, text_format((b)->arena, __VA_ARGS__))

static const char simulated_text[] =
	"times are simulated: this was recorded on a stand-in driver that runs no kernel; durations are made "
	"up, whatever the code does";

/* One row per note of the recording: its id, and words before and after what it shows. */
static const struct note_row {
	int note; /* enum kbn_note or enum session_note_kind */
	const char *id, *before;
	enum { NOTE_PLAIN, NOTE_TEXT, NOTE_VALUE } shows;
	const char *after;
} note_rows[] = {
	{KBN_NOTE_OFF, "KBN-N001", "recording stopped early: ", NOTE_TEXT, ""},
	{KBN_NOTE_LOG_FULL, "KBN-N002", "", NOTE_VALUE,
	 " log records were dropped: some kernels may lack name or code"},
	{KBN_NOTE_SLOTS_FULL, "KBN-N003",
	 "the cap on kernel shapes was reached: later geometries share one entry per kernel",
	 NOTE_PLAIN, ""},
	{KBN_NOTE_TIMING_OFF, "KBN-N004", "kernel times could not be taken: ", NOTE_TEXT, ""},
	{KBN_NOTE_EXPORT_TABLE, "KBN-N005",
	 "the program asked for an unusual private driver table, calls through it are not seen: ",
	 NOTE_TEXT, ""},
	{KBN_NOTE_UNWRAPPED, "KBN-N006",
	 "a driver function was handed out unwrapped, calls through it are not seen: ", NOTE_TEXT,
	 ""},
	{KBN_NOTE_FOREIGN, "KBN-N007",
	 "another profiler was in the process and may disturb the times: ", NOTE_TEXT, ""},
	{KBN_NOTE_STICKY, "KBN-N008", "a context ended with CUDA error ", NOTE_VALUE, ""},
	{KBN_NOTE_SIMULATED, "KBN-N010", simulated_text, NOTE_PLAIN, ""},
	{KBN_NOTE_SKETCH_FULL, "KBN-N011",
	 "the cap on quantile sketches was reached: some medians rest on the first samples only",
	 NOTE_PLAIN, ""},
	{KBN_NOTE_CHECKPOINT, "KBN-N012", "the process was checkpointed: times across it are void",
	 NOTE_PLAIN, ""},
	{SESSION_NOTE_DAMAGED, "KBN-N040", "a part of the recording could not be read: ", NOTE_TEXT,
	 ""},
	{SESSION_NOTE_IDENTITY, "KBN-N025",
	 "accounting does not add up: launches seen and bins differ by ", NOTE_VALUE, ""},
	{SESSION_NOTE_TWICE, "KBN-N041", "the same recording was given twice and is counted once",
	 NOTE_PLAIN, ""},
	{SESSION_NOTE_TORN, "KBN-N022", "", NOTE_VALUE,
	 " parts were being written while they were read and may lag behind"},
	{SESSION_NOTE_UNKNOWN, "KBN-N042", "", NOTE_VALUE,
	 " records are of a kind that only a newer kbn knows"},
};

/*
 * Tables that the CUDA runtime 12 and 13, PyTorch and its libraries ask for. Seen with programs whose
 * launches were all counted, against an independent counter (tests/gpu, section a): nobody need be told.
 */
static const char *const usual_tables[] = {
	"1734dc26-800d-4745-8726-c0f1e7dd8bca", "21318c60-9714-3248-8ca6-41ff7324c8f2",
	"263e8860-7cd2-6143-92f6-bbd5006dfa7e", "42d85a81-23f6-cb47-8298-f6e78a3aecdc",
	"69a28e9f-2449-8b47-b030-c5da330ea4e9", "6bd5fb6c-5bf4-e74a-8987-d93912fd9df9",
	"a094798c-2e74-2e74-93f2-0800200c0a66", "c693336e-1121-df11-a8c3-68f355d89593",
	"d4082055-bde6-704b-8d34-ba123c66e1f2", "f8cff951-2146-8b4e-b9e2-fb469e7c0dd9",
};

static bool is_usual_table(const char *uuid)
{
	for (size_t i = 0; i < sizeof(usual_tables) / sizeof(*usual_tables); i++)
		if (!strcmp(uuid, usual_tables[i]))
			return true;
	return false;
}

static void note_from_session(struct builder *b, const struct session_note *n)
{
	const char *said = n->text ? n->text : "";

	if (n->note == KBN_NOTE_WINDOW) /* says when; note_of_window says what it means */
		return;
	if (n->note == KBN_NOTE_EXPORT_TABLE && is_usual_table(said))
		return;
	for (size_t i = 0; i < sizeof(note_rows) / sizeof(*note_rows); i++) {
		const struct note_row *row = &note_rows[i];

		if (row->note != n->note)
			continue;
		if (row->shows == NOTE_VALUE)
			NOTE(b, row->id, "%s%lld%s", row->before, (long long)n->value, row->after);
		else
			NOTE(b, row->id, "%s%s%s", row->before, row->shows == NOTE_TEXT ? said : "",
			     row->after);
		return;
	}
	NOTE(b, "KBN-N099", "%s", *said ? said : "a note that this version does not know");
}

/* The program may call cuProfilerStart for itself: it limits the recording only when asked to. */
static bool is_window(const struct session_run *r)
{
	for (size_t i = 0; i < r->env_n; i++)
		if (!strcmp(r->env[i].key, "KBN_WINDOW") && !strcmp(r->env[i].value, "profiler"))
			return true;
	return false;
}

static void note_of_window(struct builder *b)
{
	bool limited = false, opened = false;

	for (size_t i = 0; i < b->s->runs_n; i++)
		limited |= is_window(&b->s->runs[i]);
	for (size_t i = 0; i < b->s->notes_n; i++)
		opened |= b->s->notes[i].note == KBN_NOTE_WINDOW && b->s->notes[i].value;
	if (limited)
		NOTE(b, "KBN-N009", "recording was limited to cuProfilerStart ... cuProfilerStop%s",
		     opened ? "" : ", and the program never called cuProfilerStart");
}

/* Nothing launched, or all of it left out on request? */
static void note_of_nothing(struct builder *b)
{
	uint64_t filtered = b->r->accounting.filtered;
	char n[TEXT_NUMBER];

	if (filtered)
		NOTE(b, "KBN-N024", "no kernel to show: %s %s left out on request",
		     text_count(n, filtered),
		     text_plural(filtered, "launch was", "launches were all"));
	else
		NOTE(b, "KBN-N024", "no kernel launch was recorded");
}

static void notes_of_runs(struct builder *b)
{
	uint64_t log_dropped = 0, unfinished = 0;
	unsigned killed = 0, running = 0;

	for (size_t i = 0; i < b->s->runs_n; i++) {
		const struct session_run *r = &b->s->runs[i];

		killed += r->end == SESSION_END_KILLED;
		running += r->end == SESSION_END_RUNNING;
		log_dropped = count_sum(log_dropped, r->log_dropped);
		unfinished = count_sum(unfinished, r->unfinished);
	}
	if (running)
		NOTE(b, "KBN-N020",
		     "%u of %zu %s still running: the figures are those of this moment", running,
		     b->s->runs_n, text_plural(b->s->runs_n, "process is", "processes are"));
	if (killed)
		NOTE(b, "KBN-N021",
		     "%u of %zu %s ended without closing the recording (killed, or _exit): everything "
		     "written until then is here",
		     killed, b->s->runs_n, text_plural(b->s->runs_n, "process", "processes"));
	if (log_dropped)
		NOTE(b, "KBN-N002", "%llu log %s dropped: some kernels may lack name or code",
		     (unsigned long long)log_dropped,
		     text_plural(log_dropped, "record was", "records were"));
	if (unfinished && !running)
		NOTE(b, "KBN-N023", "%llu timed %s had no result when the recording ended",
		     (unsigned long long)unfinished, text_plural(unfinished, "launch", "launches"));
	if (b->s->runs_n && !b->s->shapes_n)
		note_of_nothing(b);
}

/* Every launch falls into one bin; a sum that does not add up is a fault of the tool, so it is said. */
static void note_of_identity(struct builder *b)
{
	const struct report_accounting *a = &b->r->accounting;
	const uint64_t bins[] = {a->timed,  a->sampled_out, a->untimeable, a->captured,
				 a->failed, a->unfinished,  a->filtered,   a->dropped};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(bins) / sizeof(*bins); i++)
		sum = count_sum(sum, bins[i]);
	if (sum != a->launches_seen)
		NOTE(b, "KBN-N025", "accounting does not add up: %llu launches seen, %llu in bins",
		     (unsigned long long)a->launches_seen, (unsigned long long)sum);
	if (a->dropped)
		NOTE(b, "KBN-N026", "%llu %s could not be recorded for want of room",
		     (unsigned long long)a->dropped, text_plural(a->dropped, "launch", "launches"));
}

static void notes_of_devices(struct builder *b)
{
	for (size_t i = 0; i < b->r->devices_n; i++) {
		const struct report_device *d = &b->r->devices[i];

		if (d->hw.arch.sm <= 0) {
			NOTE(b, "KBN-N027", "the device of some launches is not known");
			continue;
		}
		if (!d->hw.arch_known)
			NOTE(b, "KBN-N027",
			     "%s: no row for sm_%d in the hardware table, occupancy is not known",
			     d->name, d->hw.arch.sm);
		else if (!d->hw.arch_exact)
			NOTE(b, "KBN-N027",
			     "%s: sm_%d is not in the hardware table, the nearest row is used",
			     d->name, d->hw.arch.sm);
		if (d->hw.dram_why)
			NOTE(b, "KBN-N028", "%s: bandwidth not known: %s", d->name, d->hw.dram_why);
		if (!d->bias_calibrated && !b->r->simulated &&
		    b->r->timing.gated.n + b->r->timing.plain.n > 0)
			NOTE(b, "KBN-N029",
			     "%s: never calibrated, times lose a constant of the table (%s); `kbn calibrate` narrows "
			     "them",
			     d->name, b->m->devices[i].bias.source);
		if (d->hw.product && d->hw.product->is_profile)
			NOTE(b, "KBN-N030", "%s: %s", d->name, d->hw.product->note);
	}
}

static void notes_of_kernels(struct builder *b)
{
	uint64_t no_image = 0, mismatch = 0, nodes = b->r->accounting.graph_node_launches;

	for (size_t i = 0; i < b->s->shapes_n; i++) {
		const struct session_image *image = b->s->shapes[i].kernel->image;

		no_image += !image || image->why_missing ||
			    report_is_zero(image->hash, sizeof(image->hash));
		mismatch += b->m->kernels[i].code.mismatch != NULL;
	}
	if (no_image)
		NOTE(b, "KBN-N031", "%llu of %zu kernel shapes %s no stored code",
		     (unsigned long long)no_image, b->s->shapes_n,
		     text_plural(no_image, "has", "have"));
	if (nodes)
		NOTE(b, "KBN-N032",
		     "%llu kernel %s replayed by graphs: counted, not timed one by one",
		     (unsigned long long)nodes, text_plural(nodes, "launch was", "launches were"));
	if (b->m->totals.shapes_untimed)
		NOTE(b, "KBN-N033", "%llu kernel %s ran without a usable time",
		     (unsigned long long)b->m->totals.shapes_untimed,
		     text_plural(b->m->totals.shapes_untimed, "shape", "shapes"));
	if (mismatch)
		NOTE(b, "KBN-N034", "%llu kernel %s stored code in what the driver says of %s",
		     (unsigned long long)mismatch,
		     text_plural(mismatch, "shape differs from its", "shapes differ from their"),
		     text_plural(mismatch, "it", "them"));
	if (!b->r->kernels_n && b->r->kernels_all && b->o && b->o->pattern)
		NOTE(b, "KBN-N035", "no kernel matches '%s'; totals are of all %zu", b->o->pattern,
		     b->r->kernels_all);
	else if (b->r->kernels_n < b->r->kernels_all)
		NOTE(b, "KBN-N035", "%zu of %zu kernel shapes %s shown; totals are of all",
		     b->r->kernels_n, b->r->kernels_all, text_plural(b->r->kernels_n, "is", "are"));
}

/*
 * The reading of a busy share. It needs an upper bound: with kernels that nobody timed there is none.
 * The sum over kernels counts what overlaps twice, so the true share is no larger.
 */
static void note_of_busy(struct builder *b)
{
	const struct quantity *busy = &b->r->totals.busy_pct;

	if (!b->r->simulated && !b->r->reality_unknown && quantity_known(busy) &&
	    busy->high < BUSY_PCT)
		NOTE(b, "KBN-N036",
		     "kernels ran in %.3g%% of the recorded time (%s, at most %.3g%%), below the %.0f%% from which "
		     "they are the first thing to look at: the rest is the host's, with its start-up, launch "
		     "gaps and copies, and faster kernels cannot shorten it",
		     busy->value, quantity_label_names[busy->label], busy->high, BUSY_PCT);
}

static int by_id(const void *a, const void *b)
{
	const struct metric_finding *x = a, *y = b;
	int ids = strcmp(x->id, y->id);

	return ids ? ids : strcmp(x->text, y->text);
}

void report_notes(struct builder *b)
{
	struct report *r = b->r;

	for (size_t i = 0; i < b->s->notes_n; i++)
		note_from_session(b, &b->s->notes[i]);
	if (r->simulated)
		NOTE(b, "KBN-N010", "%s", simulated_text);
	if (r->reality_unknown)
		NOTE(b, "KBN-N043",
		     "whether these times are real is not known: the part of the recording that names the device "
		     "is missing");
	notes_of_runs(b);
	note_of_window(b);
	note_of_identity(b);
	notes_of_devices(b);
	notes_of_kernels(b);
	note_of_busy(b);
	vec_sort(&b->notes, by_id);
	if (b->notes.n)
		r->notes = report_must(b, arena_copy(b->arena, b->notes.at,
						     b->notes.n * sizeof(*b->notes.at)));
	r->notes_n = r->notes ? b->notes.n : 0;
	vec_fini(&b->notes);
}
