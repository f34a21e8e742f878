/*
 * test_session.c - recordings made by trace_fixture.h, joined by session_open: merging, keys,
 * accounting, graphs, order, and what is said of damaged and killed ones.
 */
#include "session.h"

#include <sys/wait.h>

#include "trace_fixture.h"

static char run_dir[256];

static int make_dir(void **state)
{
	(void)state;
	temp_dir(run_dir);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	remove_dir(run_dir);
	return 0;
}

static void open_run(struct session *s)
{
	const char *dirs[] = {run_dir};
	struct err e = {0};

	if (session_open(s, dirs, 1, -1, &e) < 0)
		fail_msg("session_open: %s", e.text);
}

static const struct session_shape *shape_named(const struct session *s, const char *name)
{
	for (size_t i = 0; i < s->shapes_n; i++) {
		if (!strcmp(s->shapes[i].kernel->name, name))
			return &s->shapes[i];
	}
	fail_msg("no shape of kernel %s", name);
	return NULL;
}

static const struct session_note *note_of(const struct session *s, int note)
{
	for (size_t i = 0; i < s->notes_n; i++) {
		if (s->notes[i].note == note)
			return &s->notes[i];
	}
	return NULL;
}

static void assert_identity(const struct session_run *r)
{
	assert_int_equal(r->seen, r->timed + r->sampled_out + r->untimeable + r->captured +
					  r->failed + r->unfinished + r->filtered + r->dropped);
}

static void test_simple(void **state)
{
	struct session s;

	(void)state;
	fixture_simple(run_dir, 41, -1, 3);
	open_run(&s);
	assert_int_equal(s.runs_n, 1);
	assert_int_equal(s.runs[0].pid, 41);
	assert_int_equal(s.runs[0].rank, -1);
	assert_string_equal(s.runs[0].argv[0], "./app");
	assert_int_equal(s.runs[0].end, SESSION_END_EXIT);
	assert_int_equal(s.runs[0].duration_ns, 2000000000);
	assert_int_equal(s.runs[0].seen, 300);
	assert_int_equal(s.runs[0].timed, 150);
	assert_int_equal(s.runs[0].sampled_out, 150);
	assert_int_equal(s.runs[0].unfinished, 0);
	assert_identity(&s.runs[0]);
	assert_int_equal(s.devices_n, 1);
	assert_int_equal(s.devices[0].cc, 90);
	assert_int_equal(session_attr(&s.devices[0], 16, -1), 132);
	assert_int_equal(session_attr(&s.devices[0], 140, -7), -7);
	assert_int_equal(s.shapes_n, 3);
	assert_int_equal(s.notes_n, 0);

	const struct session_shape *shape = shape_named(&s, "kernel_1");

	assert_int_equal(shape->grid[0], 1001);
	assert_int_equal(shape->bracketed, 50);
	assert_int_equal(shape->runs, 1);
	assert_int_equal(shape->times.gated, 50);
	assert_int_equal(shape->times.samples, 47);
	assert_int_equal(shape->times.min_ns, 20000);
	assert_int_equal(shape->times.max_ns, 20200);
	assert_int_equal(shape->times.early_n, KBN_EARLY);
	assert_non_null(shape->times.sketch);
	assert_int_equal(shape->times.sketch[kbn_sketch_bucket(20000)] +
				 (kbn_sketch_bucket(20000) == kbn_sketch_bucket(20200)
					  ? 0
					  : shape->times.sketch[kbn_sketch_bucket(20200)]),
			 47);
	assert_int_equal(shape->times.sketchless, 0);
	assert_int_equal(shape->kernel->registers, 32);
	assert_int_equal(shape->kernel->params_n, 2);
	session_close(&s);
}

/* Two threads of one process and two processes on the same device are one shape. */
static void test_merge(void **state)
{
	const uint64_t fast[] = {1000}, slow[] = {3000};
	struct session s;

	(void)state;
	for (unsigned process = 0; process < 2; process++) {
		struct fixture f;

		fixture_begin(&f, run_dir, .pid = 50 + process, .rank = 1 - (int)process);
		fixture_device(&f, 0, "NVIDIA H200", 90, 132);
		fixture_context(&f, 7, 0);
		fixture_image(&f, 3 + process, KBN_KIND_CUBIN, 90, "same code", 9);
		fixture_kernel(&f, 5, 3 + process, "k", 40);
		for (unsigned t = 0; t < 2; t++) {
			struct kbn_slot *slot = fixture_slot(&f, 5, 7, 10, 64);

			slot->thread = t;
			/* 10 samples have a sketch, 5 only stand in `early` */
			fixture_times(slot, &f, t ? slow : fast, 1, t ? 5 : 10, t == 0);
			fixture_thread(&f, t)->seen = t ? 5 : 10;
		}
		fixture_end(&f, KBN_SEALED);
	}
	open_run(&s);
	assert_int_equal(s.runs_n, 2);
	assert_int_equal(s.runs[0].rank, 0);
	assert_int_equal(s.runs[0].pid, 51);
	assert_int_equal(s.runs[0].threads, 2);
	assert_int_equal(s.images_n, 1);
	assert_non_null(s.images[0].path);
	assert_null(s.images[0].why_missing);
	assert_int_equal(s.kernels_n, 1);
	assert_ptr_equal(s.kernels[0].image, &s.images[0]);
	assert_int_equal(s.shapes_n, 1);

	const struct session_times *t = &s.shapes[0].times;

	assert_int_equal(s.shapes[0].runs, 2);
	assert_int_equal(s.shapes[0].bracketed, 30);
	assert_int_equal(t->gated, 20);
	assert_int_equal(t->plain, 10);
	assert_int_equal(t->samples, 2 * (7 + 2));
	assert_int_equal(t->sum_ns, 2 * (7 * 1000 + 2 * 3000));
	assert_int_equal(t->min_ns, 1000);
	assert_int_equal(t->max_ns, 3000);
	/* the early samples of the slots without a sketch have entered the common one */
	assert_int_equal(t->sketch[kbn_sketch_bucket(1000)], 14);
	assert_int_equal(t->sketch[kbn_sketch_bucket(3000)], 4);
	assert_int_equal(t->sketchless, 0);
	assert_int_equal(t->early_n, 2 * (6 + 5));
	for (size_t i = 1; i < t->early_n; i++)
		assert_true((t->early[i - 1].launch & ~KBN_EARLY_PLAIN) <=
			    (t->early[i].launch & ~KBN_EARLY_PLAIN));
	session_close(&s);
}

/* Different code under one name stays apart; without code the name is all there is. */
static void test_keys(void **state)
{
	struct session s;
	struct fixture f;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 60, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_device(&f, 1, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_context(&f, 2, 1);
	fixture_image(&f, 1, KBN_KIND_CUBIN, 90, "code a", 6);
	fixture_image(&f, 2, KBN_KIND_CUBIN, 90, "code b", 6);
	fixture_image(&f, 3, KBN_KIND_CUBIN, 90, "code a", 6); /* loaded twice */
	fixture_image(&f, 4, KBN_KIND_CUBIN, 90, NULL, 6);
	fixture_image(&f, 5, KBN_KIND_FATBIN, 90, NULL, 6);
	for (uint32_t k = 1; k <= 5; k++)
		fixture_kernel(&f, k, k, "k", 32);
	for (uint32_t k = 1; k <= 5; k++)
		fixture_slot(&f, k, 1, 8, 32)->sampled_out = 1;
	fixture_slot(&f, 1, 2, 8, 32)->sampled_out = 1;      /* other device */
	fixture_slot(&f, 1, 1, 9, 32)->sampled_out = 1;      /* other grid */
	fixture_slot(&f, 1, 1, 8, 32)->flags = KBN_SLOT_PDL; /* never launched: no shape */
	fixture_thread(&f, 0)->seen = 7;
	fixture_end(&f, KBN_SEALED);
	open_run(&s);
	assert_int_equal(s.devices_n, 2);
	assert_int_equal(s.images_n, 4);
	assert_int_equal(s.kernels_n, 3); /* code a, code b, no code */
	assert_int_equal(s.shapes_n, 5);
	for (size_t i = 1; i < s.shapes_n; i++) {
		assert_true(s.shapes[i - 1].device <= s.shapes[i].device);
		if (s.shapes[i - 1].device == s.shapes[i].device)
			assert_true(s.shapes[i - 1].kernel <= s.shapes[i].kernel);
	}
	assert_identity(&s.runs[0]);
	assert_int_equal(s.runs[0].seen, 7);
	/* not stored sorts first: its hash is zero */
	assert_null(s.kernels[0].image->path);
	assert_string_equal(s.kernels[0].image->why_missing, "the image could not be read");
	session_close(&s);
}

static void test_accounting(void **state)
{
	struct session s;
	struct fixture f;
	struct kbn_slot *slot;
	struct kbn_thread_slot *thread;
	static const char strings[] = "./app\0--fast\0KBN_COPIES=on\0EMPTY=\0ODD";

	(void)state;
	fixture_begin(&f, run_dir, .pid = 61, .rank = 3, .strings = strings, .argc = 2,
		      .strings_n = 5, .strings_bytes = sizeof(strings));
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_kernel(&f, 1, 0, "k", 32);
	slot = fixture_slot(&f, 1, 1, 8, 32);
	slot->sampled_out = 100;
	slot->untimeable = 20;
	slot->bracketed = 16;
	slot->gated = 5;
	slot->plain = 4;
	slot->starved = 3;
	slot->lost = 2; /* and two not yet resolved */
	slot->captured = 7;
	slot->failed = 6;
	slot = fixture_slot(&f, 1, 1, 0, 0);
	slot->flags = KBN_SLOT_OVERFLOW;
	slot->sampled_out = 1000;
	thread = fixture_thread(&f, 0);
	thread->seen = 100 + 20 + 16 + 7 + 6 + 1000 + 30 + 40;
	thread->filtered = 30;
	thread->dropped = 40;
	thread->graph_launches = 9;
	thread->copies = 8;
	f.header.gates = 5;
	f.header.gate_deadlines = 1;
	f.header.self_ns = 77;
	fixture_end(&f, KBN_SEALED);
	open_run(&s);

	const struct session_run *r = &s.runs[0];

	assert_identity(r);
	assert_int_equal(r->timed, 9);
	assert_int_equal(r->sampled_out, 1100);
	assert_int_equal(r->untimeable, 25);
	assert_int_equal(r->unfinished, 2);
	assert_int_equal(r->captured, 7);
	assert_int_equal(r->failed, 6);
	assert_int_equal(r->filtered, 30);
	assert_int_equal(r->dropped, 40);
	assert_int_equal(r->overflow, 1000);
	assert_int_equal(r->graph_launches, 9);
	assert_int_equal(r->copies, 8);
	assert_true(r->copies_known);
	assert_int_equal(r->gates, 5);
	assert_int_equal(r->self_ns, 77);
	assert_int_equal(r->timing, KBN_TIMING_EVENTS);
	assert_int_equal(r->argc, 2);
	assert_string_equal(r->argv[1], "--fast");
	assert_int_equal(r->env_n, 3);
	assert_string_equal(r->env[0].key, "KBN_COPIES");
	assert_string_equal(r->env[0].value, "on");
	assert_string_equal(r->env[2].key, "ODD");
	assert_string_equal(r->env[2].value, "");
	assert_null(note_of(&s, SESSION_NOTE_IDENTITY));
	session_close(&s);
}

/* What a kill explains is unfinished; what nothing explains is said. */
static void test_identity(void **state)
{
	const struct {
		enum kbn_state state;
		int seen_more;
		int64_t note; /* 0 = none */
		uint64_t unfinished, seen;
	} cases[] = {
		{KBN_SEALED, 0, 0, 0, 10},  {KBN_SEALED, 1, 1, 1, 11},   {KBN_RUNNING, 1, 0, 1, 11},
		{KBN_RUNNING, 2, 2, 2, 12}, {KBN_SEALED, -4, -4, 0, 10},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session s;
		struct fixture f;

		drop_dir(NULL);
		make_dir(NULL);
		fixture_begin(&f, run_dir, .pid = 62, .rank = -1);
		fixture_device(&f, 0, "NVIDIA H200", 90, 132);
		fixture_kernel(&f, 1, 0, "k", 32);
		fixture_slot(&f, 1, 1, 8, 32)->sampled_out =
			10; /* context lost: the only device is meant */
		fixture_thread(&f, 0)->seen = (uint64_t)(10 + cases[i].seen_more);
		fixture_end(&f, cases[i].state);
		open_run(&s);
		assert_identity(&s.runs[0]);
		assert_int_equal(s.runs[0].seen, cases[i].seen);
		assert_int_equal(s.runs[0].unfinished, cases[i].unfinished);
		assert_int_equal(s.runs[0].end, cases[i].state == KBN_SEALED ? SESSION_END_EXIT
									     : SESSION_END_KILLED);
		if (cases[i].state == KBN_RUNNING)
			assert_int_equal(s.runs[0].duration_ns, 1900000000);
		if (cases[i].note)
			assert_int_equal(note_of(&s, SESSION_NOTE_IDENTITY)->value, cases[i].note);
		else
			assert_null(note_of(&s, SESSION_NOTE_IDENTITY));
		assert_string_equal(s.devices[s.shapes[0].device].name, "NVIDIA H200");
		session_close(&s);
	}
}

static void test_graphs(void **state)
{
	struct session s;
	struct fixture f;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 63, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_kernel(&f, 1, 0, "in_graph", 32);
	fixture_slot(&f, 1, 1, 8, 32)->captured = 3;
	fixture_graph(&f, 1, 1, 1, 3, 8, 32);
	fixture_graph(&f, 2, 1, 1, 2, 9, 32);  /* another geometry, only inside the graph */
	fixture_graph(&f, 3, 1, 1, 50, 8, 32); /* never launched */
	fixture_graph_slot(&f, 1, 1000);
	fixture_graph_slot(&f, 1, 24); /* a second thread */
	fixture_graph_slot(&f, 2, 10);
	fixture_thread(&f, 0)->seen = 3;
	fixture_end(&f, KBN_SEALED);
	open_run(&s);
	assert_identity(&s.runs[0]);
	assert_int_equal(s.runs[0].captured, 3);
	assert_int_equal(s.runs[0].graph_node_launches, 3 * 1024 + 20);
	assert_int_equal(s.shapes_n, 2);
	assert_int_equal(s.shapes[0].graph_node_launches, 3 * 1024);
	assert_int_equal(s.shapes[0].captured, 3);
	assert_int_equal(s.shapes[1].grid[0], 9);
	assert_int_equal(s.shapes[1].graph_node_launches, 20);
	assert_int_equal(s.graphs_n, 3);
	assert_int_equal(s.graphs[0].launches, 1024);
	assert_int_equal(s.graphs[0].kernel_nodes, 3);
	assert_int_equal(s.graphs[0].other_nodes, 2);
	assert_int_equal(s.graphs[2].launches, 0);
	session_close(&s);
}

static void test_params(void **state)
{
	struct session s;
	struct fixture f;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 64, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_kernel(&f, 1, 0, "k", 32);
	fixture_slot(&f, 1, 1, 8, 32)->sampled_out = 10;
	fixture_slot(&f, 1, 1, 9, 32)->sampled_out = 10;
	fixture_params(&f, 1, 0, 6, 0x7f0000001000);
	fixture_params(&f, 1, 0, 0, 0x7f0000002000);
	fixture_params(&f, 1, 1, 2, 0x7f0000003000);
	fixture_params(&f, 1, 4000, 2, 0x7f0000003000); /* of no slot */
	fixture_thread(&f, 0)->seen = 20;
	fixture_end(&f, KBN_SEALED);
	open_run(&s);
	assert_int_equal(s.shapes_n, 2);
	assert_int_equal(s.shapes[0].params_n, 2);
	assert_int_equal(s.shapes[0].params[0].launch, 0);
	assert_int_equal(s.shapes[0].params[1].launch, 6);
	assert_int_equal(s.shapes[0].params[0].bytes_n, 12);
	assert_int_equal(s.shapes[0].params[0].allocations_n, 1);
	assert_int_equal(s.shapes[0].params[0].allocations[0].base, 0x7f0000002000);
	assert_int_equal(s.shapes[1].params_n, 1);
	session_close(&s);
}

/* A slot whose writer died within an update keeps its counts; a torn mean is not published. */
static void test_torn(void **state)
{
	const uint64_t ns[] = {5000};
	struct session s;
	struct fixture f;
	struct kbn_slot *slot;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 65, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_kernel(&f, 1, 0, "launch_half", 32);
	fixture_kernel(&f, 2, 0, "time_half", 32);
	slot = fixture_slot(&f, 1, 1, 8, 32);
	fixture_times(slot, &f, ns, 1, 10, true);
	slot->launch_seq = 21;
	slot = fixture_slot(&f, 2, 1, 8, 32);
	fixture_times(slot, &f, ns, 1, 4, true);
	slot->time_seq = 7;
	slot->samples++; /* counted, but not yet in the sum */
	fixture_thread(&f, 0)->seen = 14;
	fixture_end(&f, KBN_RUNNING);
	open_run(&s);
	assert_identity(&s.runs[0]);
	assert_int_equal(s.runs[0].timed, 14);
	assert_int_equal(s.runs[0].torn, 3);
	assert_int_equal(shape_named(&s, "launch_half")->times.samples, 7);
	assert_int_equal(shape_named(&s, "time_half")->times.samples, 0);
	assert_int_equal(shape_named(&s, "time_half")->times.gated, 4);
	assert_int_equal(note_of(&s, SESSION_NOTE_TORN)->value, 3);
	session_close(&s);
}

/* A slot that was handed out but not released must not hide those behind it. */
static void test_unreleased_slot(void **state)
{
	struct session s;
	struct fixture f;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 66, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_kernel(&f, 1, 0, "k", 32);
	fixture_any_slot(&f, KBN_SLOT_FREE);
	fixture_slot(&f, 1, 1, 8, 32)->sampled_out = 10;
	fixture_slot(&f, 77, 1, 8, 32)->sampled_out = 5; /* its definition was lost */
	fixture_thread(&f, 0)->seen = 15;
	fixture_end(&f, KBN_RUNNING);
	open_run(&s);
	assert_int_equal(s.runs[0].sampled_out, 15);
	assert_int_equal(shape_named(&s, "")->sampled_out, 5);
	assert_int_equal(shape_named(&s, "")->kernel->registers, -1);
	session_close(&s);
}

/* One fat binary runs as different code on devices of different architecture. */
static void test_versions(void **state)
{
	struct session s;
	struct fixture f;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct kbn_rec_kernel rec = {.kernel = 1,
					     .image = 1,
					     .registers = 32,
					     .binary_version = i ? 80 : 90,
					     .name_bytes = 1};

		fixture_begin(&f, run_dir, .pid = 67 + i, .rank = -1);
		fixture_device(&f, 0, i ? "NVIDIA A100" : "NVIDIA H200", i ? 80 : 90, 132);
		fixture_context(&f, 1, 0);
		fixture_image(&f, 1, KBN_KIND_FATBIN, 0, "fat", 3);
		fixture_record(&f, KBN_REC_KERNEL, &rec, sizeof(rec), "k", 1);
		fixture_slot(&f, 1, 1, 8, 32)->sampled_out = 1;
		fixture_thread(&f, 0)->seen = 1;
		fixture_end(&f, KBN_SEALED);
	}
	open_run(&s);
	assert_int_equal(s.images_n, 1);
	assert_int_equal(s.kernels_n, 2);
	assert_int_equal(s.kernels[0].binary_version, 80);
	assert_int_equal(s.kernels[1].binary_version, 90);
	assert_int_equal(s.devices_n, 2);
	session_close(&s);
}

static void test_directories(void **state)
{
	struct err e = {0};
	struct session s;
	struct fixture f;
	char missing[300], empty[300], bad[300];

	(void)state;
	fixture_simple(run_dir, 70, 1, 1);
	fixture_simple(run_dir, 71, 0, 2);
	fixture_begin(&f, run_dir, .pid = 72, .rank = -1);
	fixture_end(&f, KBN_SEALED);
	snprintf(missing, sizeof(missing), "%s/nothing", run_dir);
	snprintf(empty, sizeof(empty), "%s/code", run_dir);
	snprintf(bad, sizeof(bad), "%s/proc-bad", run_dir);
	assert_int_equal(mkdir(empty, 0700), 0);
	assert_int_equal(mkdir(bad, 0700), 0);

	/* run directory, one of its processes again, and a damaged one inside */
	const char *both[] = {run_dir, f.dir};

	assert_int_equal(session_open(&s, both, 2, -1, &e), 0);
	assert_int_equal(s.runs_n, 3);
	assert_int_equal(s.runs[0].rank, -1);
	assert_int_equal(s.runs[1].pid, 71);
	assert_int_equal(s.runs[2].pid, 70);
	assert_non_null(note_of(&s, SESSION_NOTE_TWICE));
	assert_non_null(note_of(&s, SESSION_NOTE_DAMAGED));
	session_close(&s);

	assert_int_equal(session_open(&s, both, 1, 0, &e), 0);
	assert_int_equal(s.runs_n, 1);
	assert_int_equal(s.shapes_n, 2);
	session_close(&s);

	const char *one[] = {f.dir};

	assert_int_equal(session_open(&s, one, 1, -1, &e), 0);
	assert_int_equal(s.shapes_n, 0);
	session_close(&s);

	assert_int_equal(session_open(&s, one, 1, 5, &e), -1);
	assert_int_equal(e.code, ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, "rank 5"));

	const char *none[] = {missing};

	assert_int_equal(session_open(&s, none, 1, -1, &e), -1);
	assert_int_equal(e.code, ERR_NOT_FOUND);
	none[0] = empty;
	assert_int_equal(session_open(&s, none, 1, -1, &e), -1);
	assert_non_null(strstr(e.text, "no recording here"));
	none[0] = bad;
	assert_int_equal(session_open(&s, none, 1, -1, &e), -1);
	assert_int_equal(session_open(&s, none, 0, -1, &e), -1);
}

/* A recording of a process that lives: our own pid, under our own host name. */
static void test_running(void **state)
{
	struct session s;
	struct fixture f;
	char host[64];

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	fixture_begin(&f, run_dir, .pid = (uint32_t)getpid(), .rank = -1, .host = host);
	fseek(f.log, 0, SEEK_SET);
	f.file.start_mono_ns = UINT64_MAX / 4; /* long after the start of this process */
	assert_int_equal(fwrite(&f.file, sizeof(f.file), 1, f.log), 1);
	fseek(f.log, 0, SEEK_END);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_kernel(&f, 1, 0, "k", 32);
	fixture_slot(&f, 1, 1, 8, 32)->sampled_out = 10;
	fixture_thread(&f, 0)->seen = 15;
	fixture_end(&f, KBN_RUNNING);
	open_run(&s);
	assert_int_equal(s.runs[0].end, SESSION_END_RUNNING);
	assert_int_equal(s.runs[0].unfinished, 5);
	assert_null(note_of(&s, SESSION_NOTE_IDENTITY));
	session_close(&s);
}

/* What `kbn run` was told stands beside the recording; anything else in that file is as good as nothing. */
static void test_status(void **state)
{
	static const struct {
		const char *text;
		int status, signal;
	} cases[] = {
		{"exit 0\n", 0, -1},
		{"exit 255\n", 255, -1},
		{"signal 9\n", -1, 9},
		{"exit 256\n", -1, -1},
		{"exit -1\n", -1, -1},
		{"signal 0\n", -1, -1},
		{"exit 3", -1, -1},
		{"exit\n", -1, -1},
		{"", -1, -1},
		{"exits 3\n", -1, -1},
		{"signal 128\n", -1, -1},
		{"exit 00000000000000000000000000000000000000003\n", -1, -1},
	};
	struct fixture f;
	struct session s;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 62, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_kernel(&f, 1, 0, "k", 32);
	fixture_slot(&f, 1, 1, 8, 32)->sampled_out = 10;
	fixture_thread(&f, 0)->seen = 10;
	fixture_end(&f, KBN_RUNNING);
	open_run(&s);
	assert_int_equal(s.runs[0].exit_status, -1);
	assert_int_equal(s.runs[0].signal, -1);
	session_close(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *out = fixture_open(&f, KBN_STATUS_FILE, "w");

		fputs(cases[i].text, out);
		fclose(out);
		open_run(&s);
		assert_int_equal(s.runs[0].end, SESSION_END_KILLED);
		assert_int_equal(s.runs[0].exit_status, cases[i].status);
		assert_int_equal(s.runs[0].signal, cases[i].signal);
		session_close(&s);
	}
}

/* A recording that turned itself off says nothing of how the process ended. */
static void test_stopped(void **state)
{
	struct session s;
	struct fixture f;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 62, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_kernel(&f, 1, 0, "k", 32);
	fixture_end(&f, KBN_STOPPED);
	open_run(&s);
	assert_int_equal(s.runs[0].end, SESSION_END_STOPPED);
	session_close(&s);
}

/* A process that was killed and is not yet waited for has its entry in /proc, but is no more. */
static void test_zombie(void **state)
{
	struct session s;
	struct fixture f;
	char host[64];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	fixture_begin(&f, run_dir, .pid = (uint32_t)pid, .rank = -1, .host = host);
	fseek(f.log, 0, SEEK_SET);
	f.file.start_mono_ns = UINT64_MAX / 4;
	assert_int_equal(fwrite(&f.file, sizeof(f.file), 1, f.log), 1);
	fseek(f.log, 0, SEEK_END);
	fixture_end(&f, KBN_RUNNING);
	open_run(&s);
	assert_int_equal(s.runs[0].end, SESSION_END_KILLED);
	session_close(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The log may end at any byte: no crash, launches stay, and what was whole before stays known. */
static void test_cut_log(void **state)
{
	struct err e = {0};
	struct fixture f;
	char path[1024];
	uint8_t *data;
	size_t bytes, known = 0;

	(void)state;
	fixture_begin(&f, run_dir, .pid = 80, .rank = -1);
	fixture_device(&f, 0, "NVIDIA H200", 90, 132);
	fixture_context(&f, 1, 0);
	fixture_image(&f, 1, KBN_KIND_CUBIN, 90, "code", 4);
	fixture_kernel(&f, 1, 1, "a_kernel", 32);
	fixture_graph(&f, 1, 1, 1, 3, 8, 32);
	fixture_slot(&f, 1, 1, 8, 32)->sampled_out = 10;
	fixture_params(&f, 1, 0, 6, 0x7f0000001000);
	fixture_note(&f, KBN_NOTE_WINDOW, 1, "a note");
	fixture_thread(&f, 0)->seen = 10;
	fixture_end(&f, KBN_SEALED);
	snprintf(path, sizeof(path), "%s/%s", f.dir, KBN_LOG_FILE);
	data = load_file(path, &bytes);
	for (size_t cut = 0; cut <= bytes; cut++) {
		const char *dirs[] = {f.dir};
		struct session s;
		FILE *out = fopen(path, "wb");

		assert_int_equal(fwrite(data, 1, cut, out), cut);
		fclose(out);
		if (session_open(&s, dirs, 1, -1, &e) < 0) {
			assert_true(cut < sizeof(struct kbn_file_header));
			assert_int_equal(e.offset, cut);
			continue;
		}
		assert_true(cut >= sizeof(struct kbn_file_header));
		assert_int_equal(s.shapes_n, 1);
		assert_int_equal(s.runs[0].sampled_out, 10);
		if (*s.shapes[0].kernel->name) {
			assert_string_equal(s.shapes[0].kernel->name, "a_kernel");
			known++;
		} else {
			assert_int_equal(known, 0);
		}
		session_close(&s);
	}
	assert_true(known > 100);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_simple, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_merge, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_keys, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_accounting, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_identity, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_graphs, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_params, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_torn, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_unreleased_slot, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_versions, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_directories, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_status, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_stopped, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_zombie, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_running, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_cut_log, make_dir, drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
