/*
 * report_notes.c - what a reader must know before trusting the figures: each note with a stable id.
 * Input: notes of the recording, what the report already holds. Output: r->notes, by id then text.
 */
#include "report_build.h"

#include <stdlib.h>
#include <string.h>

#include "finding.h"

#define BUSY_PCT 80.0 /* below it the problem is on the host */

static void note(struct builder *b, enum finding finding, const char *text)
{
	const char *id = finding_rows[finding].id;
	struct metric_finding *n;

	text = report_clean(b, report_must(b, text));
	for (size_t i = 0; i < b->notes.n; i++)
		if (strcmp(b->notes.at[i].id, id) == 0 && strcmp(b->notes.at[i].text, text) == 0)
			return;
	n = report_must(b, vec_add(&b->notes));
	if (n)
		*n = (struct metric_finding){id, text};
}
#define NOTE(b, finding, ...) note(b, finding, text_format((b)->arena, __VA_ARGS__))

/* The notes of the recording: which statement each is, and what is put into its text. */
static const struct note_row {
	int note; /* enum kbn_note or enum session_note_kind */
	enum finding finding;
	enum {
		NOTE_PLAIN,
		NOTE_TEXT, /* behind a colon */
		NOTE_VALUE /* for the # */
	} shows;
} note_rows[] = {
	{KBN_NOTE_OFF, FINDING_OFF, NOTE_TEXT},
	{KBN_NOTE_LOG_FULL, FINDING_LOG_FULL, NOTE_VALUE},
	{KBN_NOTE_SLOTS_FULL, FINDING_SLOTS_FULL, NOTE_PLAIN},
	{KBN_NOTE_TIMING_OFF, FINDING_TIMING_OFF, NOTE_TEXT},
	{KBN_NOTE_EXPORT_TABLE, FINDING_EXPORT_TABLE, NOTE_TEXT},
	{KBN_NOTE_UNWRAPPED, FINDING_UNWRAPPED, NOTE_TEXT},
	{KBN_NOTE_FOREIGN, FINDING_FOREIGN, NOTE_TEXT},
	{KBN_NOTE_STICKY, FINDING_STICKY, NOTE_VALUE},
	{KBN_NOTE_SIMULATED, FINDING_SIMULATED, NOTE_PLAIN},
	{KBN_NOTE_SKETCH_FULL, FINDING_SKETCH_FULL, NOTE_PLAIN},
	{KBN_NOTE_CHECKPOINT, FINDING_CHECKPOINT, NOTE_PLAIN},
	{SESSION_NOTE_DAMAGED, FINDING_DAMAGED, NOTE_TEXT},
	{SESSION_NOTE_IDENTITY, FINDING_IDENTITY, NOTE_VALUE},
	{SESSION_NOTE_TWICE, FINDING_TWICE, NOTE_PLAIN},
	{SESSION_NOTE_TORN, FINDING_TORN, NOTE_VALUE},
	{SESSION_NOTE_UNKNOWN, FINDING_NEWER, NOTE_VALUE},
	{SESSION_NOTE_GIVEN, FINDING_GIVEN, NOTE_PLAIN},
	{SESSION_NOTE_CHOICE, FINDING_CHOICE, NOTE_TEXT},
	{SESSION_NOTE_LEFT_OUT, FINDING_LEFT_OUT, NOTE_TEXT},
	{SESSION_NOTE_NOT_USED, FINDING_NOT_USED, NOTE_TEXT},
	{SESSION_NOTE_AGAIN, FINDING_AGAIN, NOTE_VALUE},
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

/* The statement with a number in place of its #. */
static void note_number(struct builder *b, enum finding finding, int64_t n)
{
	const char *text = finding_rows[finding].text, *number = strchr(text, '#');
	char shown[TEXT_NUMBER];

	if (number)
		NOTE(b, finding, "%.*s%s%s%s", (int)(number - text), text, n < 0 ? "-" : "",
		     text_count(shown, n < 0 ? 0 - (uint64_t)n : (uint64_t)n), number + 1);
}

static void note_from_row(struct builder *b, const struct note_row *row, int64_t value,
			  const char *said)
{
	const char *text = finding_rows[row->finding].text;

	if (row->shows == NOTE_VALUE)
		note_number(b, row->finding, value);
	else if (row->shows == NOTE_TEXT)
		NOTE(b, row->finding, "%s: %s", text, said);
	else
		NOTE(b, row->finding, "%s", text);
}

/* The header of the slots has the number of all, where it could be read. */
static bool is_counted(const struct builder *b, const struct session_note *n)
{
	return n->note == KBN_NOTE_LOG_FULL && n->run < b->s->runs_n &&
	       b->s->runs[n->run].log_dropped;
}

static void note_from_session(struct builder *b, const struct session_note *n)
{
	const char *said = n->text ? n->text : "";

	if (n->note == KBN_NOTE_WINDOW) /* says when; note_of_window says what it means */
		return;
	if (is_counted(b, n))
		return;
	if (n->note == KBN_NOTE_EXPORT_TABLE && is_usual_table(said))
		return;
	for (size_t i = 0; i < sizeof(note_rows) / sizeof(*note_rows); i++)
		if (note_rows[i].note == n->note) {
			note_from_row(b, &note_rows[i], n->value, said);
			return;
		}
	NOTE(b, FINDING_OTHER, "%s", *said ? said : finding_rows[FINDING_OTHER].text);
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
		NOTE(b, FINDING_WINDOW, "%s%s", finding_rows[FINDING_WINDOW].text,
		     opened ? "" : ", and the program never called cuProfilerStart");
}

/* Nothing launched, or all of it left out on request? */
static void note_of_nothing(struct builder *b)
{
	uint64_t filtered = b->r->accounting.filtered;
	char n[TEXT_NUMBER];

	if (filtered)
		NOTE(b, FINDING_NOTHING, "no kernel to show: %s %s left out on request",
		     text_count(n, filtered),
		     text_plural(filtered, "launch was", "launches were all"));
	else
		NOTE(b, FINDING_NOTHING, "%s", finding_rows[FINDING_NOTHING].text);
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
		NOTE(b, FINDING_RUNNING,
		     "%u of %zu %s still running: the figures are those of this moment", running,
		     b->s->runs_n, text_plural(b->s->runs_n, "process is", "processes are"));
	if (killed)
		NOTE(b, FINDING_NOT_CLOSED,
		     "%u of %zu %s ended without closing the recording (killed, or _exit): everything "
		     "written until then is here",
		     killed, b->s->runs_n, text_plural(b->s->runs_n, "process", "processes"));
	if (log_dropped)
		note_number(b, FINDING_LOG_FULL,
			    log_dropped < INT64_MAX ? (int64_t)log_dropped : INT64_MAX);
	if (unfinished && !running)
		NOTE(b, FINDING_UNFINISHED, "%llu timed %s had no result when the recording ended",
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
		NOTE(b, FINDING_IDENTITY,
		     "accounting does not add up: %llu launches seen, %llu in bins",
		     (unsigned long long)a->launches_seen, (unsigned long long)sum);
	if (a->dropped)
		NOTE(b, FINDING_DROPPED, "%llu %s could not be recorded for want of room",
		     (unsigned long long)a->dropped, text_plural(a->dropped, "launch", "launches"));
}

static void notes_of_devices(struct builder *b)
{
	for (size_t i = 0; i < b->r->devices_n; i++) {
		const struct report_device *d = &b->r->devices[i];

		if (d->hw.arch.sm <= 0) {
			NOTE(b, FINDING_DEVICE, "the device of some launches is not known");
			continue;
		}
		if (!d->hw.arch_known)
			NOTE(b, FINDING_DEVICE,
			     "%s: no row for sm_%d in the hardware table, occupancy is not known",
			     d->name, d->hw.arch.sm);
		else if (!d->hw.arch_exact)
			NOTE(b, FINDING_DEVICE,
			     "%s: sm_%d is not in the hardware table, the nearest row is used",
			     d->name, d->hw.arch.sm);
		if (d->hw.dram_why)
			NOTE(b, FINDING_BANDWIDTH, "%s: bandwidth not known: %s", d->name,
			     d->hw.dram_why);
		if (!d->bias_calibrated && !b->r->simulated &&
		    b->r->timing.gated.n + b->r->timing.plain.n > 0)
			NOTE(b, FINDING_NOT_CALIBRATED,
			     "%s: never calibrated, times lose a constant of the table (%s); `kbn calibrate` narrows "
			     "them",
			     d->name, b->m->devices[i].bias.source);
		if (d->hw.product && d->hw.product->is_profile)
			NOTE(b, FINDING_PROFILE, "%s: %s", d->name, d->hw.product->note);
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
		NOTE(b, FINDING_NO_CODE, "%llu of %zu kernel %s no stored code",
		     (unsigned long long)no_image, b->s->shapes_n,
		     b->s->shapes_n == 1 ? "shape has"
		     : no_image == 1     ? "shapes has"
					 : "shapes have");
	if (nodes)
		NOTE(b, FINDING_GRAPHS,
		     "%llu kernel %s replayed by graphs: counted, not timed one by one",
		     (unsigned long long)nodes, text_plural(nodes, "launch was", "launches were"));
	if (b->m->totals.shapes_untimed)
		NOTE(b, FINDING_UNTIMED, "%llu kernel %s ran without a usable time",
		     (unsigned long long)b->m->totals.shapes_untimed,
		     text_plural(b->m->totals.shapes_untimed, "shape", "shapes"));
	if (mismatch)
		NOTE(b, FINDING_MISMATCH,
		     "%llu kernel %s stored code in what the driver says of %s",
		     (unsigned long long)mismatch,
		     text_plural(mismatch, "shape differs from its", "shapes differ from their"),
		     text_plural(mismatch, "it", "them"));
	if (!b->r->kernels_n && b->r->kernels_all && b->o && b->o->pattern)
		NOTE(b, FINDING_SHOWN, "no kernel matches '%s'; totals are of all %zu",
		     b->o->pattern, b->r->kernels_all);
	else if (b->r->kernels_n < b->r->kernels_all)
		NOTE(b, FINDING_SHOWN, "%zu of %zu kernel shapes %s shown; totals are of all",
		     b->r->kernels_n, b->r->kernels_all, text_plural(b->r->kernels_n, "is", "are"));
}

/*
 * The reading of a busy share. It needs an upper bound: with kernels that nobody timed there is none.
 * The sum over kernels counts what overlaps twice, so the true share is no larger.
 */
static void note_of_busy(struct builder *b)
{
	const struct quantity *busy = &b->r->totals.busy_pct;
	char value[TEXT_NUMBER], most[TEXT_NUMBER], from[TEXT_NUMBER];

	if (!b->r->simulated && !b->r->reality_unknown && quantity_known(busy) &&
	    busy->high < BUSY_PCT)
		NOTE(b, FINDING_HOST,
		     "kernels ran in %s of the recorded time (%s, at most %s), below the %s from which they "
		     "are the first thing to look at: the rest is the host's, with its start-up, launch gaps "
		     "and copies, and faster kernels cannot shorten it",
		     text_pct(value, busy->value), quantity_label_names[busy->label],
		     text_pct(most, busy->high), text_pct(from, BUSY_PCT));
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
		NOTE(b, FINDING_SIMULATED, "%s", finding_rows[FINDING_SIMULATED].text);
	if (r->reality_unknown)
		NOTE(b, FINDING_REALITY, "%s", finding_rows[FINDING_REALITY].text);
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
