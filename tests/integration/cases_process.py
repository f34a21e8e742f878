"""Other processes, ends of processes, and surroundings."""
import os
import subprocess
import time

import recording
from rig import FAKE, SAN, SHIM, Skipped, case, check, equal, nothing_left, true_counts


@case("process/forks")
def forks(c):
    if SAN:
        raise Skipped("children that are not built for the sanitizer")
    r = c.both(["app_process", "forks"], order=False)
    rec = r.recordings()
    equal(1, len(rec), "recordings (children leave none)")
    equal(30, rec[0].total("ran"), "launches of the parent")
    equal(rec[0].seen, rec[0].bins(), "launches seen and their bins")


@case("process/fork_first")
def fork_first(c):
    r = c.both(["app_process", "fork_first"], order=False)
    ran = sorted(p.total("ran") for p in r.recordings())
    equal([20, 30, 40], ran, "a recording for each child that uses CUDA")


@case("process/fork_loop")
def fork_loop(c):
    r = c.both(["app_process", "fork_loop"], env={"ROUNDS": 10 if SAN else 150}, calls=False, log=False)
    rec = r.one()
    equal(r.counts.ok, rec.total("ran"), "launches of the parent")
    equal(rec.seen, rec.bins(), "launches seen and their bins")


@case("process/exec_over")
def exec_over(c):
    r = c.both(["app_process", "exec_over"])
    equal(20, r.one().total("ran"), "launches before the exec")


def end(name, ran=20, sealed=None):
    def run(c):
        r = c.both(["app_process", name], calls=name != "end_threads")
        rec = r.one()
        if ran is not None:
            equal(ran, rec.total("ran"), "launches recorded")
        if sealed is not None:
            equal(sealed, rec.state, "sealed")
        check(rec.torn == 0, "torn log after an orderly end" if sealed else "torn log")
        equal(rec.seen, rec.bins(), "launches seen and their bins")
        return r
    return run


for _name, _sealed in (("end_return", 1), ("end_exit", 1), ("end_exit_now", 0), ("end_quick", None),
                       ("end_abort", 0), ("end_kill", 0), ("end_term", 0), ("end_segv", 0)):
    case("process/" + _name)(end(_name, sealed=_sealed))


@case("process/end_handlers")
def end_handlers(c):
    r = c.both(["app_process", "end_handlers"])
    # The handler of after cuInit runs before ours: its launch counts.
    equal(21, r.one().total("ran"), "launches recorded")


@case("process/end_hang")
def end_hang(c):
    r = c.both(["app_process", "end_hang"])
    check(r.seconds < 5.0, "the exit took %.1f s", r.seconds)
    rec = r.one()
    equal(40, rec.total("ran"), "launches recorded")


@case("process/end_threads")
def end_threads(c):
    r = c.both(["app_process", "end_threads"], calls=False, log=False)
    rec = r.one()
    # Threads go on while the recording is sealed and after it: never more than the driver has seen.
    check(rec.total("ran") <= r.counts.ok, "more launches than the driver saw")
    check(rec.total("ran") > 20, "no launches of the threads")


@case("process/end_reaper")
def end_reaper(c):
    c.both(["app_process", "end_reaper"])
    # Also when there is a report to make at exit.
    kbn = os.path.join(os.path.dirname(SHIM), "kbn")
    if os.path.exists(kbn):
        c.both(["app_process", "end_reaper"], env={"KBN_REPORT": "json"}, bare_env={"KBN_REPORT": None})


@case("process/report_at_exit")
def report_at_exit(c):
    kbn = os.path.join(os.path.dirname(SHIM), "kbn")
    if not os.path.exists(kbn):
        raise Skipped("no kbn program")
    r = c.run(["app_direct", "basic"], env={"KBN_REPORT": "md,json"})
    files = sorted(f for f in os.listdir(r.run_dir) if f.startswith("report."))
    equal(["report.json", "report.md"], files, "reports")
    import json
    doc = json.load(open(os.path.join(r.run_dir, "report.json")))
    a = doc["accounting"]
    equal(240, a["launches_seen"], "launches_seen")
    equal(a["launches_seen"], sum(a[k] for k in ("timed", "sampled_out", "untimeable", "captured", "failed",
                                                "unfinished", "filtered", "dropped")), "bins")
    equal("", r.err, "stderr under KBN_QUIET")


@case("process/close_fds")
def close_fds(c):
    r = c.both(["app_process", "close_fds"])
    true_counts(r, r.one())


for _name in ("descriptors", "quiet_state"):
    def _plain(c, name=_name):
        r = c.both(["app_process", name])
        equal(r.counts.ok, r.one().total("ran"), "launches recorded")
    case("process/" + _name)(_plain)


@case("process/fibers")
def fibers(c):
    if SAN:
        raise Skipped("the sanitizer does not support small stacks of one's own")
    r = c.both(["app_process", "fibers"])
    equal(520, r.one().total("ran"), "launches recorded")


@case("process/fibers_stacks")
def fibers_stacks(c):
    if SAN:
        raise Skipped("the sanitizer does not support small stacks of one's own")
    r = c.both(["app_process", "fibers"], env={"KBN_STACKS": "on"})
    equal(520, r.one().total("ran"), "launches recorded")


@case("process/fibers_filter")
def fibers_filter(c):
    if SAN:
        raise Skipped("the sanitizer does not support small stacks of one's own")
    for pattern, ran in (("(k_none|k_.*us)+[^abc]*$", 521), ("!^k_20us$", 520), ("^k_2", 1)):
        r = c.both(["app_process", "fibers_first"], env={"KBN_KERNELS": pattern})
        rec = r.one()
        equal(ran, rec.total("ran"), "launches recorded of " + pattern)
        equal(521 - ran, rec.filtered, "launches left out")


@case("process/jumps")
def jumps(c):
    """A longjmp out of a launch leaves our guard behind. Nothing is lost without being counted."""
    if SAN:
        raise Skipped("the sanitizer's signal handling delays the jump")
    r = c.both(["app_process", "jumps"], env={"FAKE_LAUNCH_US": 4000}, calls=False)
    rec = r.one()
    equal(131, rec.seen, "launches seen: 20, the one that was left, 100, 10")
    equal(rec.seen, rec.bins(), "launches seen and their bins")
    check(1 <= rec.thread_dropped <= 33, "%d launches dropped", rec.thread_dropped)


@case("process/handlers")
def handlers(c):
    """A signal handler launches in the middle of a launch, from a stack above: each counts once."""
    if SAN:
        raise Skipped("the sanitizer's signal handling delays the handler")
    for env in ({}, {"KBN_TIMING": "off"}, {"KBN_KERNELS": "!k_none_5us"}, {"KBN_KERNELS": "k_none_5us"}):
        r = c.both(["app_process", "handlers"], env=dict(env, FAKE_LAUNCH_US=20000), calls=False)
        rec = r.one()
        equal(r.counts.ok, rec.seen, "launches seen")
        equal(rec.seen, rec.bins(), "launches seen and their bins")
        equal(rec.thread_dropped > 0, not rec.filtered, "a recorded launch was interrupted")


@case("process/vfork_exit")
def vfork_exit(c):
    # The child ends the sanitizer's runtime in our memory: not while a thread still begins in it.
    r = c.both(["app_process", "vfork_exit"], env={"WAIT_US": 100000 if SAN else 0}, calls=False)
    equal(30, r.one().total("ran"), "launches recorded")


@case("process/stderr_reused")
def stderr_reused(c):
    """No message, and no report, in a file of the program under the number of stderr."""
    for name in ("stderr_early", "stderr_late"):
        for report in ("none", "md"):
            env = {"KBN_QUIET": 0, "KBN_TIMING": "nonsense", "KBN_REPORT": report, "PATH": "/nowhere"}
            r = c.run(["app_process", name], env=env)
            check("file 2 holds 5 bytes: mine" in r.out, "%s: %s", name, r.out)
            equal(b"mine\0", open(os.path.join(r.home, "work", "data"), "rb").read(), "the file at the end")


@case("process/stderr_file")
def stderr_file(c):
    """A stderr that a shell has sent to a file gets its messages."""
    for redirect in ("2>err", "2>>err", ">err 2>&1"):
        argv = limited("exec " + redirect, ["app_direct", "twice"])
        r = c.run(argv, env={"KBN_QUIET": 0, "KBN_TIMING": "nonsense"})
        text = open(os.path.join(r.home, "work", "err")).read()
        check("unusable value of KBN_TIMING" in text, "no message with %s: %r", redirect, text)


@case("process/no_malloc")
def no_malloc(c):
    if SAN:
        raise Skipped("the sanitizer is the allocator")
    r = c.both(["app_malloc"], log=False)
    check("allocations 0" in r.out, "%s", r.out)


@case("process/constructor")
def constructor(c):
    r = c.both(["app_process", "constructor"])
    equal(20, r.one().total("ran"), "launches recorded")


@case("process/no_cuda")
def no_cuda(c):
    """Processes without CUDA: no file, no thread, nothing more mapped than the library itself."""
    if SAN:
        raise Skipped("the sanitizer's runtime costs and maps things")
    for argv in (["sh", "-c", "true"], ["sh", "-c", "cat /proc/self/status | grep Threads"],
                 ["python3", "-c", "import os; print(len(os.listdir('/proc/self/task')))"],
                 ["app_static"], ["sh", "-c", "echo a | sort | uniq; (exit 3)"]):
        bare = c.run(argv, shim=None)
        r = c.run(argv, shim=SHIM)
        c.same(bare, r)
        nothing_left(r)
    maps = "ls /proc/self/fd | wc -l; sed 's/.* //' /proc/self/maps | grep '\\.so' | sort -u | grep -v libkbn"
    bare, r = c.run(["sh", "-c", maps], shim=None), c.run(["sh", "-c", maps])
    new = set(r.out.splitlines()) - set(bare.out.splitlines())
    check(not [x for x in new if "libdl" not in x and "libpthread" not in x], "also mapped: %s", new)


@case("process/exec_cost")
def exec_cost(c):
    """An exec many times: the difference is small (the real figure comes from the benchmark)."""
    if SAN:
        raise Skipped("the sanitizer's runtime costs")
    n = 60
    home = c.folder()

    def timed(shim):
        env = c.env(home, shim, {}, (), ())
        began = time.perf_counter()
        for _ in range(n):
            subprocess.run(["/bin/true"], env=env, check=False)
        return (time.perf_counter() - began) / n
    best = min(timed(SHIM) - timed(None) for _ in range(4))
    check(best < 0.001, "%.2f ms more for each exec", best * 1e3)


@case("process/two_pids")
def two_pids(c):
    """Recordings of processes with equal names do not meet: two runs in one directory."""
    home = c.folder()
    for _ in range(2):
        c.run(["app_direct", "twice"], home=home)
    equal(2, len(recording.process_dirs(os.path.join(home, "rec"))), "process directories")


@case("process/read_only_dir")
def read_only_dir(c):
    # Nobody can make the directory, whoever runs the tests: its parent is a file.
    blocker = os.path.join(c.home, "file")
    open(blocker, "w").close()
    r = c.both(["app_direct", "basic"], env={"KBN_OUT": blocker + "/rec", "TMPDIR": blocker})
    check(not os.path.isdir(blocker), "the file in the way was replaced")
    del r


def limited(what, argv):
    """argv under a limit that a shell sets."""
    if SAN:
        raise Skipped("the sanitizer's runtime does not live under such limits")
    return ["sh", "-c", what + '; exec "$0" "$@"', os.path.join(FAKE, argv[0])] + argv[1:]


@case("process/no_space")
def no_space(c):
    """Files cannot grow and the signal for that is ignored: as on a full disk. Blocks of 512 bytes."""
    for blocks in (0, 8, 40, 140, 600):
        argv = limited("trap '' XFSZ; ulimit -f %d" % blocks, ["app_process", "quiet_state"])
        c.both(argv, log=False, env={"FAKE_COUNT": None})


@case("process/no_space_signal")
def no_space_signal(c):
    """With the default action the signal would kill the program: it must not come from us."""
    argv = limited("ulimit -f 40", ["app_process", "quiet_state"])
    c.both(argv, log=False, env={"FAKE_COUNT": None})


@case("process/few_descriptors")
def few_descriptors(c):
    for limit in (4, 5, 6, 8):
        argv = limited("ulimit -n %d" % limit, ["app_process", "quiet_state"])
        c.both(argv, log=False, env={"FAKE_COUNT": None})


@case("process/closed_stdio")
def closed_stdio(c):
    argv = limited("exec 2>&- <&-", ["app_direct", "twice"])
    c.both(argv, env={"KBN_QUIET": 0})


@case("process/malloc_perturb")
def malloc_perturb(c):
    r = c.both(["app_direct", "basic"], env={"MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"})
    true_counts(r, r.one())


@case("process/python_ctypes")
def python_ctypes(c):
    if SAN:
        raise Skipped("the interpreter is not built for the sanitizer")
    code = ("import ctypes, os, subprocess, multiprocessing as mp\n"
            "cu = ctypes.CDLL('libcuda.so.1')\n"
            "print(cu.cuInit(0))\n"
            "ctx = ctypes.c_void_p(); print(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0))\n"
            "print(subprocess.run(['true']).returncode)\n"
            "def work(n): return n * 2\n"
            "if __name__ == '__main__':\n"
            "    with mp.get_context('fork').Pool(2) as pool: print(pool.map(work, range(4)))\n"
            "os._exit(9)\n")
    script = os.path.join(c.home, "script.py")
    open(script, "w").write(code)
    r = c.both(["python3", script])
    equal(9, r.rc, "exit status")
    equal(1, len(r.recordings()), "recordings")
