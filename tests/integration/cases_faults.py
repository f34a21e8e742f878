"""Faults: our n-th driver call, allocation or file operation fails; the program must not notice."""
import os

from rig import SAN, SHIM, SHIM_FAULTS, Failed, Skipped, case, check, equal

STEP = max(1, int(os.environ.get("FAULT_STEP", "4")))


def sweep(c, argv, variable, values, shim, order=True):
    """Run with each fault; all must equal the bare run. True counts only where recording went on."""
    bare = c.run(argv, shim=None)
    for text in values:
        r = c.run(argv, shim=shim, env={variable: text})
        try:
            c.same(bare, r, order)
        except Failed as e:
            raise Failed("%s=%s: %s" % (variable, text, e))
        for rec in r.recordings():
            check(rec.seen == rec.bins(), "%s=%s: %d launches seen, %d in bins", variable, text, rec.seen,
                  rec.bins())
            # A fault never makes a launch up.
            check(rec.total("ran") <= r.counts.ok, "%s=%s: more launches than the driver saw", variable, text)


def driver_calls(c, argv, code, limit):
    probe = c.run(argv)
    n = min(len(probe.own_calls), limit)
    check(n > 20, "only %d driver calls of our own", n)
    first = list(range(1, min(n, 12)))
    rest = list(range(12 + code % STEP, n, STEP * (2 if SAN else 1)))
    return ["kbn:%d:%d" % (i, code) for i in first + rest]


for _argv, _code in ((["app_direct", "basic"], 999), (["app_graph", "graphs"], 1),
                     (["app_direct", "library"], 400), (["app_graph", "capture"], 900)):
    def _run(c, argv=_argv, code=_code):
        sweep(c, argv, "FAKE_FAIL", driver_calls(c, argv, code, 220), SHIM)
    case("faults/driver_%s_%d" % (_argv[1], _code))(_run)


@case("faults/driver_all")
def driver_all(c):
    """Everything of ours fails from the n-th call on."""
    values = ["kbn:%d+:%d" % (n, code) for n in (1, 2, 5, 20, 60) for code in (1, 3, 4, 201, 700, 801, 999)]
    sweep(c, ["app_direct", "streams"], "FAKE_FAIL", values, SHIM)


@case("faults/driver_by_name")
def driver_by_name(c):
    """Each function that we call for ourselves fails, always."""
    probe = c.run(["app_graph", "graphs"])
    names = sorted({line.split(" ")[0] for line in probe.own_calls})
    check(len(names) > 5, "only %s", names)
    sweep(c, ["app_graph", "graphs"], "FAKE_FAIL", ["kbn:%s:1+:801" % n for n in names],
          SHIM)
    # A driver that is too old to have it answers so from the start.
    probe = c.run(["app_direct", "library"])
    names = sorted({line.split(" ")[0] for line in probe.own_calls})
    sweep(c, ["app_direct", "library"], "FAKE_FAIL", ["kbn:%s:1+:400" % n for n in names],
          SHIM)


@case("faults/program")
def program(c):
    """The program's own calls fail: it sees each code once, from the one real call."""
    values = ["app:%s:%d:%d" % (name, n, code) for name, n, code in (
        ("cuInit", 1, 999), ("cuDevicePrimaryCtxRetain", 1, 2), ("cuModuleLoadData", 1, 200),
        ("cuModuleGetFunction", 2, 500), ("cuLaunchKernel", 1, 1), ("cuLaunchKernel", 77, 719),
        ("cuLaunchKernel", 30, 701), ("cuCtxSynchronize", 1, 700), ("cuModuleUnload", 1, 4))]
    for text in values:
        r = c.both(["app_direct", "basic"], env={"FAKE_FAIL": text})
        for rec in r.recordings():
            equal(r.counts.ok, rec.total("ran"), "launches that ran, %s" % text)
            equal(r.counts.failed, rec.total("failed"), "failed launches, %s" % text)
    for text in ("app:cuStreamBeginCapture_v2:1:900", "app:cuStreamEndCapture:1:901",
                 "app:cuGraphInstantiateWithFlags:2:1", "app:cuGraphLaunch:3:719", "app:cuLaunchKernel:20:901"):
        c.both(["app_graph", "capture"], env={"FAKE_FAIL": text})


def shim_faults(kind, argv):
    def run(c):
        if not os.path.exists(SHIM_FAULTS):
            raise Skipped("no build with fault switches")
        values = ["%s:%d" % (kind, n) for n in list(range(1, 25)) + list(range(25, 60, STEP))]
        values += ["%s:%d+" % (kind, n) for n in (1, 2, 3, 5, 8, 12, 20)]
        sweep(c, argv, "KBN_FAULT", values, SHIM_FAULTS)
    return run


@case("faults/stall")
def stall(c):
    """Files that do not grow for longer than anybody waits: shapes of that moment share a slot, those that
    come again have their own. Nothing is lost, and nothing is said to be full."""
    if not os.path.exists(SHIM_FAULTS):
        raise Skipped("no build with fault switches")
    shared = 0
    for n in (4, 5, 6):  # the first three make the files
        r = c.both(["app_soak", "pauses"], shim=SHIM_FAULTS, env={"KBN_FAULT": "stall:%d" % n}, log=False,
                   calls=False)
        rec = r.one()
        equal((6 * 800, 6 * 800), (r.counts.ok, rec.total("ran")), "launches, stall %d" % n)
        equal((0, 0), (rec.dropped, rec.thread_dropped), "launches dropped, stall %d" % n)
        equal([], [note for note in rec.notes if note[0] == 3], "notes of full slots, stall %d" % n)
        own = [s for s in rec.slots if not s.flags & 4]
        equal(800, len(own), "shapes, stall %d" % n)
        check(all(s.ran >= 5 for s in own), "launches after the stall are not told apart")
        shared += sum(s.ran for s in rec.slots) - sum(s.ran for s in own)
    check(shared > 0, "no stall was felt")


case("faults/alloc")(shim_faults("alloc", ["app_direct", "streams"]))
case("faults/write")(shim_faults("write", ["app_direct", "modules"]))
