/*
 * report_fixture.h - one recording with a bit of everything, and the report that is made of it.
 * The same recording is kept under tests/golden/recordings for the command line tests: it must open
 * with every later version too. KBN_GOLDEN_UPDATE=1 ./test_report rewrites it.
 */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <stdbool.h>

#include "trace_fixture.h"

#include "code_facts.h"
#include "model.h"
#include "render.h"
#include "report.h"
#include "session.h"

#define FIXTURE_CUBIN "tests/golden/cubin/bank_conflict_bad.sm_90.cubin"

/* A launch slot with `ran` untimed launches. */
static inline struct kbn_slot *recording_slot(struct fixture *f, struct kbn_thread_slot *t,
					      uint32_t kernel, uint32_t grid, uint32_t block,
					      uint64_t untimed)
{
	struct kbn_slot *s = fixture_slot(f, kernel, 1, grid, block);

	s->sampled_out = untimed;
	t->seen += untimed;
	return s;
}

static inline void recording_times(struct fixture *f, struct kbn_thread_slot *t, struct kbn_slot *s,
				   uint64_t ns, size_t n, bool gated)
{
	const uint64_t v[] = {ns, ns + ns / 100, ns + ns / 50};

	fixture_times(s, f, v, 3, n, gated);
	t->seen += n;
}

/* The kernels, and what each is there for. */
static inline void recording_write(const char *run_dir)
{
	static const char strings[] = "./train\0--lr\0"
				      "0.1\0CUDA_VISIBLE_DEVICES=0";
	struct kbn_thread_slot *t;
	struct kbn_slot *s;
	struct fixture f;
	size_t bytes;
	void *cubin = load_file(FIXTURE_CUBIN, &bytes);

	fixture_begin(&f, run_dir, .pid = 41, .rank = -1, .world = -1, .strings = strings,
		      .argc = 3, .strings_n = 4, .strings_bytes = sizeof(strings));
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_image(&f, 1, KBN_KIND_CUBIN, 90, cubin, bytes);
	fixture_image(&f, 2, KBN_KIND_PTX, 80, ".version 8.0", 12);
	fixture_image(&f, 3, KBN_KIND_CUBIN, 90, NULL, 1000);
	t = fixture_thread(&f, 0);
	/* steady, half of it timed */
	fixture_kernel(&f, 1, 3, "_Z5saxpyifPKfPf", 32);
	recording_times(&f, t, recording_slot(&f, t, 1, 4096, 256, 50), 12000, 50, true);
	/* the same in another shape, long, plain pairs, a slow first launch */
	s = recording_slot(&f, t, 1, 65536, 256, 0);
	recording_times(&f, t, s, 900000, 20, false);
	s->early[0].ns = 20000000;
	s->slack_ns = 20 * 6000;
	/* code is stored and agrees */
	fixture_kernel(&f, 2, 1, "bank_conflict_bad", 22);
	s = recording_slot(&f, t, 2, 64, 1024, 0);
	recording_times(&f, t, s, 2500, 10, true);
	/* compiled from PTX; a shape above the shared memory cliff with a tail */
	fixture_kernel(&f, 3, 2, "_ZN2my4tile6kernelILi4EEEvPf", 96);
	s = recording_slot(&f, t, 3, 200, 128, 5);
	s->dyn_smem_bytes = 120000;
	recording_times(&f, t, s, 150000, 5, true);
	/* nothing known, nothing timed */
	recording_slot(&f, t, 99, 1, 32, 3)->untimeable = 2;
	t->seen += 2;
	fixture_kernel(&f, 4, 0, "never_timed", -1);
	recording_slot(&f, t, 4, 10, 64, 7);
	/* too short for the event pair */
	fixture_kernel(&f, 5, 0, "tiny", 16);
	recording_times(&f, t, recording_slot(&f, t, 5, 1, 32, 0), 1500, 5, true);
	/* a name that is no text */
	fixture_kernel(&f, 6, 0, "k_\xff_\tx", 16);
	s = recording_slot(&f, t, 6, 264, 64, 1);
	s->captured = 4;
	s->failed = 1;
	t->seen += 5;
	/* geometries past the cap */
	fixture_kernel(&f, 7, 0, "many_shapes", 40);
	s = recording_slot(&f, t, 7, 0, 0, 1000);
	s->flags = KBN_SLOT_OVERFLOW;
	/* a graph that was launched 30 times */
	fixture_graph(&f, 1, 1, 1, 5, 4096, 256);
	fixture_graph_slot(&f, 1, 30);
	t->graph_launches = 30;
	t->filtered = 11;
	t->seen += 11;
	fixture_note(&f, KBN_NOTE_SLOTS_FULL, 0, "");
	fixture_note(&f, KBN_NOTE_STICKY, 700, "");
	f.header.gates = 80;
	f.header.gate_deadlines = 1;
	f.header.self_ns = 1000000;
	fixture_end(&f, KBN_SEALED);
	free(cubin);
}

struct fixture_report {
	char dir[256];
	struct session session;
	struct model model;
	struct report report;
	struct code_facts *facts;
};

static inline void fixture_report_build(struct fixture_report *f, const struct report_options *o)
{
	assert_int_equal(report_build(&f->report, &f->session, &f->model, o, NULL), 0);
}

static inline void fixture_report_open_dir(struct fixture_report *f, const char *dir)
{
	struct err e = {.text = ""};

	if (session_open(&f->session, &dir, 1, -1, &e) != 0)
		fail_msg("%s", e.text);
	f->facts = code_facts_new(&f->session, true, 0, "no time");
	assert_non_null(f->facts);
	assert_int_equal(
		model_build(&f->model, &f->session,
			    &(struct model_sources){.code = code_facts_of, .code_ctx = f->facts},
			    &e),
		0);
	fixture_report_build(f, NULL);
}

static inline void fixture_report_open(struct fixture_report *f)
{
	recording_write(temp_dir(f->dir));
	fixture_report_open_dir(f, f->dir);
}

static inline void fixture_report_close(struct fixture_report *f)
{
	code_facts_free(f->facts);
	session_close(&f->session);
	remove_dir(f->dir);
}

#endif
