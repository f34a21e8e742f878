/*
 * test_run.c - `kbn run` as its caller meets it: exit status, environment, signals, directories.
 * Drives the built program (../kbn beside this test), since what matters is what a process sees.
 */
#include "cmd_run_child.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "kbn_test.h"

static char kbn[PATH_MAX], top[PATH_MAX];

struct result {
	int status; /* exit status, 128 + signal */
	char text[16384];
};

/* `command` in a new shell inside `dir`; $KBN is the program. Output and errors together. */
static struct result run(const char *dir, const char *command)
{
	static struct result r;
	char line[8192];
	size_t used = 0, got;
	FILE *f;
	int status;

	snprintf(line, sizeof(line), "cd '%s' && KBN='%s' && exec 2>&1 && { %s\n}", dir, kbn,
		 command);
	f = popen(line, "r");
	assert_non_null(f);
	while ((got = fread(r.text + used, 1, sizeof(r.text) - 1 - used, f)) > 0)
		used += got;
	r.text[used] = '\0';
	status = pclose(f);
	r.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return r;
}

static int setup(void **state)
{
	static char dir[256];

	*state = temp_dir(dir);
	return 0;
}

static int teardown(void **state)
{
	remove_dir(*state);
	return 0;
}

static void status_is_the_programs(void **state)
{
	assert_int_equal(run(*state, "$KBN run --quiet true").status, 0);
	assert_int_equal(run(*state, "$KBN run --quiet -- sh -c 'exit 7'").status, 7);
	assert_int_equal(run(*state, "$KBN run --quiet -- sh -c 'kill -9 $$'").status, 137);
	assert_int_equal(run(*state, "$KBN run --quiet -- sh -c 'kill -TERM $$'").status, 143);
}

static void a_program_that_cannot_start(void **state)
{
	struct result r = run(*state, "$KBN run ./absent");

	assert_int_equal(r.status, 127);
	assert_non_null(strstr(r.text, "./absent"));
	r = run(*state, "echo x > file; $KBN run ./file");
	assert_int_equal(r.status, 126);
	assert_null(strstr(r.text, "no CUDA work"));
	assert_string_equal(run(*state, "rm file; ls").text, "");
}

static void wrong_use_is_status_2(void **state)
{
	static const struct {
		const char *command, *must_say;
	} cases[] = {
		{"$KBN run --bogus true", "--bogus"},
		{"$KBN run", "no program"},
		{"$KBN run --", "no program"},
		{"$KBN run -o", "-o wants DIR"},
		{"$KBN run --timing=foo true", "events|cupti|auto|off"},
		{"$KBN run --timing event true", "events|cupti|auto|off"},
		{"$KBN run --budget much true", "much"},
		{"$KBN run --skip -1 true", "-1"},
		{"$KBN run --skip 1e5 true", "--skip must be a whole number"},
		{"$KBN run --count 99999999999999999999 true", "--count"},
		{"$KBN run --budget 1e1 true", "--budget"},
		{"$KBN run --budget . true", "--budget"},
		{"$KBN run --budget 101 true", "--budget"},
		{"$KBN run --rank zero true", "--rank must be ranks"},
		{"$KBN run --rank 1- true", "--rank"},
		{"$KBN run --rank 3-1 true", "--rank"},
		{"$KBN run --rank 1,,2 true", "--rank"},
		{"$KBN run --report md,pdf true", "--report must be a list of md, json"},
		{"$KBN run --report text true", "html, none, not \"text\"\n"},
		{"$KBN run --report text true", "kbn report DIR\n"},
		{"KBN_REPORT=table $KBN run true", "kbn run --report md,json -- APP"},
		{"$KBN run --skip x true", "must be a whole number, not \"x\"\n"},
		{"$KBN run --html -- true", "kbn run --report html -- APP"},
		{"$KBN run --json -- true", "kbn run --report json -- APP"},
		{"$KBN run --top=5 -- true", "kbn report DIR --top N"},
		{"$KBN run --kernel gemm true", "kbn run --kernels RE"},
		{"$KBN run --output d true", "kbn run -o DIR"},
		{"$KBN run --tinimg off true", "did you mean --timing?"},
		{"$KBN run --frob true", "kbn run -- APP --frob"},
		{"$KBN run --frob=1 true", "kbn run -- APP --frob=1"},
		{"$KBN run --stacks maybe true", "on|off"},
		{"KBN_RANK=zero $KBN run true", "KBN_RANK must be ranks"},
		{"KBN_SEAL_WAIT=soon $KBN run true", "KBN_SEAL_WAIT"},
		{"$KBN run --kernels '(' true", "--kernels"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result r = run(*state, cases[i].command);

		if (r.status != 2 || !strstr(r.text, cases[i].must_say))
			fail_msg("%s: status %d, said %s", cases[i].command, r.status, r.text);
	}
	assert_string_equal(run(*state, "ls").text, "");
}

/* Natural slips before a command get the line to type instead. */
static void wrong_words_lead_on(void **state)
{
	static const struct {
		const char *command, *must_say;
		int status;
	} cases[] = {
		{"touch app; chmod +x app; $KBN app", "kbn run -- ./app\n", 2},
		{"$KBN ./app", "kbn run -- ./app\n", 2},
		{"mkdir d; $KBN d", "kbn report d\n", 2},
		{"$KBN reprot d", "did you mean kbn report?\n", 2},
		{"$KBN -o d -- app", "kbn run [options] -- APP", 2},
		{"$KBN frobnicate", "kbn help lists", 2},
		{"$KBN help reprot", "did you mean kbn report?\n", 2},
		{"$KBN report --report json d", "kbn report DIR --json\n", 2},
		{"$KBN run ./d", "kbn report ./d\n", 126},
		{"$KBN run app", "kbn run -- ./app\n", 127},
		{"touch t.py; $KBN run t.py", "kbn run -- python3 t.py\n", 127},
		{"$KBN run ./t.py", "kbn run -- python3 ./t.py\n", 126},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result r = run(*state, cases[i].command);

		if (r.status != cases[i].status || !strstr(r.text, cases[i].must_say))
			fail_msg("%s: status %d, said %s", cases[i].command, r.status, r.text);
	}
}

static void right_values_pass(void **state)
{
	static const char *const commands[] = {
		"$KBN run --quiet --budget .5 --rank 0,3-5,7 --report none true",
		"$KBN run --quiet --budget 100 --rank 7 --skip 0 --stacks off true",
		"KBN_RANK= KBN_EXIT_WAIT=0.25 KBN_COPIES=1 KBN=0 $KBN run --quiet true",
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct result r = run(*state, commands[i]);

		if (r.status != 0 || r.text[0])
			fail_msg("%s: status %d, said %s", commands[i], r.status, r.text);
	}
}

static void every_option_sets_its_variable(void **state)
{
	struct result r =
		run(*state,
		    "$KBN run --quiet -o out --timing off --budget=2.5 --kernels '!nccl.*' "
		    "--skip 3 --count 4 --window profiler --rank 0,2 --params scalars "
		    "--stacks on --timeline on --report json -- sh -c 'env | grep ^KBN_ | sort'");
	char expected[2048];

	assert_int_equal(r.status, 0);
	snprintf(
		expected, sizeof(expected),
		"KBN_BUDGET=2.5\nKBN_COUNT=4\nKBN_DEFER=1\nKBN_KERNELS=!nccl.*\nKBN_OUT=%s/out\n"
		"KBN_PARAMS=scalars\nKBN_QUIET=1\nKBN_RANK=0,2\nKBN_REPORT=json\nKBN_SKIP=3\nKBN_STACKS=on\n"
		"KBN_TIMELINE=on\nKBN_TIMING=off\nKBN_WINDOW=profiler\n",
		(const char *)*state);
	assert_string_equal(r.text, expected);
}

static void arguments_of_the_program_stay_its_own(void **state)
{
	assert_string_equal(run(*state, "$KBN run --quiet echo --timing -o -- x").text,
			    "--timing -o -- x\n");
}

static void preload_keeps_what_is_there(void **state)
{
	const char *show = "$KBN run --quiet -- sh -c 'echo $LD_PRELOAD' 2> /dev/null | "
			   "sed 's|[^ :]*/libkbn.so|K|'";
	char command[512];

	snprintf(command, sizeof(command), "%s", show);
	assert_string_equal(run(*state, command).text, "K\n");
	snprintf(command, sizeof(command), "export LD_PRELOAD=/no/a.so:/no/b.so; %s", show);
	assert_non_null(strstr(run(*state, command).text, "K:/no/a.so:/no/b.so\n"));
	snprintf(command, sizeof(command), "export LD_PRELOAD=/no/libasan.so.8:/no/b.so; %s", show);
	assert_non_null(strstr(run(*state, command).text, "/no/libasan.so.8:K:/no/b.so\n"));
	snprintf(command, sizeof(command), "export LD_PRELOAD=/no/libtsan.so; %s", show);
	assert_non_null(strstr(run(*state, command).text, "/no/libtsan.so:K\n"));
	/* another copy of the recorder would count everything twice */
	snprintf(command, sizeof(command),
		 "export LD_PRELOAD=/no/libkbn.so:/no/libasan.so.8:libkbn.so:/no/notlibkbn.so; %s",
		 show);
	assert_non_null(strstr(run(*state, command).text, "/no/libasan.so.8:K:/no/notlibkbn.so\n"));
}

static void no_cuda_leaves_nothing_and_says_so(void **state)
{
	struct result r = run(*state, "$KBN run true");

	assert_int_equal(r.status, 0);
	assert_string_equal(r.text, "kbn: no CUDA work was seen in true; nothing recorded\n");
	assert_string_equal(run(*state, "$KBN run --quiet -o a/b true").text, "");
	assert_string_equal(run(*state, "rmdir a; ls").text, "");
	assert_string_equal(run(*state, "KBN=off $KBN run true").text, "");
}

static void the_directory_is_absolute_and_new(void **state)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "%s/kbn-job7\n", (const char *)*state);
	assert_string_equal(run(*state, "export TORCHELASTIC_RUN_ID=job7; "
					"$KBN run --quiet -- sh -c 'cd / && echo $KBN_OUT'")
				    .text,
			    expected);
	snprintf(expected, sizeof(expected), "%s/kbn-job7-2\n", (const char *)*state);
	assert_string_equal(run(*state, "mkdir kbn-job7; export TORCHELASTIC_RUN_ID=job7; "
					"$KBN run --quiet -- sh -c 'echo $KBN_OUT'")
				    .text,
			    expected);
	/* what differs between processes is left to them */
	snprintf(expected, sizeof(expected), "%s/r%%r-%%h\n", (const char *)*state);
	assert_string_equal(run(*state, "$KBN run --quiet -o r%r-%h -- sh -c 'echo $KBN_OUT'").text,
			    expected);
}

static void a_percent_sign_in_the_way_is_kept(void **state)
{
	char expected[512];

	/* doubled for the recorder, who expands once more */
	snprintf(expected, sizeof(expected), "%s/%%%%p/out\n", (const char *)*state);
	assert_string_equal(run(*state,
				"mkdir %p; cd %p; $KBN run --quiet -o out -- sh -c 'echo $KBN_OUT'")
				    .text,
			    expected);
	assert_string_equal(run(*state, "ls; ls %p").text, "%p\n");
}

static void a_directory_that_cannot_be_made(void **state)
{
	struct result r = run(*state, "touch f; $KBN run -o f/x -- touch ran");

	assert_int_equal(r.status, 1);
	assert_non_null(strstr(r.text, "f/x"));
	assert_string_equal(run(*state, "ls").text, "f\n");
}

static void signals_from_processes_are_passed_on(void **state)
{
	struct result r =
		run(*state,
		    "$KBN run --quiet -- sh -c 'trap \"echo got; exit 3\" TERM; echo up > up; "
		    "while :; do sleep 0.05; done' & p=$!; while [ ! -s up ]; do sleep 0.02; done; "
		    "kill -TERM $p; wait $p; echo $?");

	assert_string_equal(r.text, "got\n3\n");
}

/* Says that it is up, counts INT signals, a file for each, until there is a file `end`; says how many. */
static const char count_int[] = "import os, signal, time\n"
				"n = []\n"
				"def got(*a):\n"
				"    n.append(1)\n"
				"    open('got%d' % len(n), 'w')\n"
				"signal.signal(signal.SIGINT, got)\n"
				"open('up', 'w').write('x')\n"
				"while not os.path.exists('end'): time.sleep(0.02)\n"
				"print(len(n))\n";
#define COUNT_INT "python3 count.py "
#define WAIT_UP   "while [ ! -s up ]; do sleep 0.02; done; "
/* A second one would come soon; that the machine is too busy for it can hide it, not make it up. */
#define WAIT_GOT  "while [ ! -e got1 ]; do sleep 0.02; done; sleep 0.3; touch end; wait $p"

static void write_count_int(const char *dir)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/count.py", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(count_int, f);
	fclose(f);
}

/* A signal reaches the program once, whomever it was sent to. */
static void a_signal_arrives_once(void **state)
{
	static const struct {
		const char *what, *command;
	} cases[] = {
		{"to kbn alone",
		 "$KBN run --quiet -- " COUNT_INT "& p=$!; " WAIT_UP "kill -INT $p; " WAIT_GOT},
		{"to the group", "setsid $KBN run --quiet -- " COUNT_INT "& p=$!; " WAIT_UP
				 "kill -INT -$p; " WAIT_GOT},
		{"to a program in a group of its own",
		 "setsid $KBN run --quiet -- setsid " COUNT_INT "& p=$!; " WAIT_UP
		 "kill -INT -$p; " WAIT_GOT},
		/* & without job control: INT is ignored from the start */
		{"ignored at the start, then handled",
		 "trap '' INT; $KBN run --quiet -- " COUNT_INT "& p=$!; " WAIT_UP
		 "kill -INT $p; " WAIT_GOT},
	};

	write_count_int(*state);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result r;

		run(*state, "rm -f up got* end");
		r = run(*state, cases[i].command);
		if (strcmp(r.text, "1\n") != 0)
			fail_msg("%s: %s", cases[i].what, r.text);
	}
}

/* timeout(1) and others send to the pid, then to the group: the second decides. */
static void who_gives_the_signal(void **state)
{
	static const struct {
		int saw, si_code;
		bool in_our_group, is_ours;
	} cases[] = {
		{1, SI_USER, true, false}, /* sent to the group, or to us and then to it */
		{0, SI_USER, true, true},  /* sent to us alone */
		{1, SI_USER, false, true}, /* to the group, of which the program is not */
		{0, SI_USER, false, true},
		{-1, SI_USER, true, true},    /* no witness: by a process */
		{-1, SI_KERNEL, true, false}, /* no witness: by the terminal */
		{-1, SI_KERNEL, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(signal_is_ours_to_give(cases[i].saw, cases[i].si_code,
							cases[i].in_our_group),
				 cases[i].is_ours);
}

/* The second is sent when the program has counted the first: two are two. */
static void signals_do_not_melt(void **state)
{
	write_count_int(*state);
	assert_string_equal(run(*state, "$KBN run --quiet -- " COUNT_INT "& p=$!; " WAIT_UP
					"kill -INT $p; while [ ! -e got1 ]; do sleep 0.02; done; "
					"kill -INT $p; while [ ! -e got2 ]; do sleep 0.02; done; "
					"touch end; wait $p")
				    .text,
			    "2\n");
}

/* A setting that does nothing yet is not taken in silence, unless silence was asked for. */
static void what_is_not_there_is_said(void **state)
{
	assert_non_null(strstr(run(*state, "$KBN run --stacks on -- true").text,
			       "--stacks is not in this version"));
	assert_non_null(strstr(run(*state, "KBN_TIMELINE=1 $KBN run -- true").text,
			       "--timeline is not in this version"));
	assert_null(strstr(run(*state, "$KBN run --timeline off -- true").text, "version"));
	assert_string_equal(run(*state, "$KBN run --quiet --stacks on -- true").text, "");
}

/* What was ignored stays so in a program that does not care. */
static void ignored_signals_stay_ignored(void **state)
{
	struct result r = run(*state,
			      "trap '' HUP; $KBN run --quiet -- sh -c 'echo > up; sleep 0.3; "
			      "exit 4' & p=$!; " WAIT_UP "kill -HUP $p; wait $p");

	assert_int_equal(r.status, 4);
}

static void a_caller_that_ignores_its_children(void **state)
{
	assert_int_equal(
		run(*state, "env --ignore-signal=CHLD $KBN run --quiet -- sh -c 'exit 7'").status,
		7);
	assert_string_equal(run(*state, "env --ignore-signal=CHLD $KBN run --quiet -- "
					"grep SigIgn /proc/self/status | grep -o '.....$'")
				    .text,
			    run(*state, "env --ignore-signal=CHLD grep SigIgn /proc/self/status | "
					"grep -o '.....$'")
				    .text);
}

static void a_damaged_recording_does_not_change_the_status(void **state)
{
	struct result r = run(*state,
			      "$KBN run --quiet -o out -- sh -c 'mkdir $KBN_OUT/proc-x-1-2; "
			      "echo junk > $KBN_OUT/proc-x-1-2/log.kbn; exit 5'");

	assert_int_equal(r.status, 5);
}

/* The whole way, on the stand-in driver. */
static void a_recorded_program_has_its_report(void **state)
{
	char command[2 * PATH_MAX];
	struct result r;

	snprintf(
		command, sizeof(command),
		"b=$(dirname $KBN); export LD_LIBRARY_PATH=$b/fake; "
		"$KBN run -o out --report json,md -- $b/samples/demo -d %s/tests/golden/cubin > /dev/null",
		top);
	r = run(*state, command);
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.text, "out/report.md"));
	r = run(*state,
		"grep -c '\"schema\": *\"kbn-report/1\"' out/report.json; ls -d out/proc-* | wc -l");
	assert_string_equal(r.text, "1\n1\n");
	/* again into the same folder: said, since the report then covers both */
	r = run(*state, command);
	assert_non_null(strstr(r.text, "held a recording already"));
}

/* How the program ended is left beside its recording, and the report says it. */
static void the_end_is_reported(void **state)
{
	static const struct {
		const char *ending, *must_say, *json;
		int status;
	} cases[] = {
		{"end_return", "  exit status 0\n", "exit 0 null", 0},
		{"end_exit", "  exit status 21\n", "exit 21 null", 21},
		{"end_quick", "  exit status 23 (no exit handlers)\n", "exit 23 null", 23},
		{"end_kill", "  killed by SIGKILL\n", "signal null 9", 137},
		{"end_abort", "  killed by SIGABRT\n", "signal null 6", 134},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char command[1024];
		struct result r;

		snprintf(command, sizeof(command),
			 "b=$(dirname $KBN); export LD_LIBRARY_PATH=$b/fake; ulimit -c 0; "
			 "$KBN run --quiet -o %s -- $b/fake/app_process %s",
			 cases[i].ending, cases[i].ending);
		assert_int_equal(run(*state, command).status, cases[i].status);
		snprintf(
			command, sizeof(command),
			"$KBN report %s; $KBN report %s --json | python3 -c '"
			"import json, sys; r = json.load(sys.stdin)[\"runs\"][0]; "
			"print(r[\"end\"], r[\"exit_status\"], r[\"signal\"])' | sed s/None/null/g",
			cases[i].ending, cases[i].ending);
		r = run(*state, command);
		if (!strstr(r.text, cases[i].must_say) || !strstr(r.text, cases[i].json))
			fail_msg("%s: %s", cases[i].ending, r.text);
	}
	/* without kbn run nobody knows, and nothing is said that nobody knows */
	assert_non_null(strstr(run(*state, "rm end_exit/proc-*/status; $KBN report end_exit").text,
			       "  exit (status not recorded)\n"));
	assert_non_null(strstr(run(*state, "rm end_kill/proc-*/status; $KBN report end_kill").text,
			       "  killed or _exit\n"));
	/* it goes where the recording goes */
	assert_non_null(strstr(run(*state, "$KBN merge end_quick end_abort -o all > /dev/null; "
					   "$KBN report all")
				       .text,
			       "  killed by SIGABRT\n"));
}

/* Only the program that was started: not its children, nor an earlier recording of the same pid. */
static void the_end_is_of_the_program(void **state)
{
	struct result r =
		run(*state,
		    "$KBN run --quiet -o out -- sh -c 'h=$(uname -n | sed s/[^a-zA-Z0-9._-]/_/g);"
		    "for n in $h-$$-1 $h-$$-ffffffffffffff00 $h-$$-ffffffffffffff01 "
		    "other-$$-ffffffffffffff02 $h-1$$-ffffffffffffff03; do "
		    "mkdir $KBN_OUT/proc-$n; done; exit 5'; cd out; cat proc-*/status; "
		    "ls proc-*-ffffffffffffff01");

	assert_string_equal(r.text, "exit 5\nstatus\n");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(status_is_the_programs),
		CASE(a_program_that_cannot_start),
		CASE(wrong_use_is_status_2),
		CASE(wrong_words_lead_on),
		CASE(right_values_pass),
		CASE(every_option_sets_its_variable),
		CASE(arguments_of_the_program_stay_its_own),
		CASE(preload_keeps_what_is_there),
		CASE(no_cuda_leaves_nothing_and_says_so),
		CASE(the_directory_is_absolute_and_new),
		CASE(a_percent_sign_in_the_way_is_kept),
		CASE(a_directory_that_cannot_be_made),
		CASE(signals_from_processes_are_passed_on),
		CASE(a_signal_arrives_once),
		CASE(signals_do_not_melt),
		CASE(who_gives_the_signal),
		CASE(what_is_not_there_is_said),
		CASE(ignored_signals_stay_ignored),
		CASE(a_caller_that_ignores_its_children),
		CASE(a_damaged_recording_does_not_change_the_status),
		CASE(a_recorded_program_has_its_report),
		CASE(the_end_is_reported),
		CASE(the_end_is_of_the_program),
	};
	char exe[PATH_MAX - 16];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	/* from BUILD/unit/test_run to BUILD/kbn */
	exe[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 2 && (slash = strrchr(exe, '/')); i++)
		*slash = '\0';
	snprintf(kbn, sizeof(kbn), "%s/kbn", exe);
	if (!getcwd(top, sizeof(top)))
		return 1;
#ifdef __SANITIZE_ADDRESS__
	/* the shells below are not built with the runtime that our library brings */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
#endif
	/* the settings of whoever runs the tests are not those under test */
	for (char **e = environ; *e;) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (strncmp(name, "KBN", 3) || unsetenv(name))
			e++;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
