"""Every part of the driver's interface: bare = recorded, and the recording = the driver's counts."""
import json
import os
import struct
import subprocess

from rig import BUILD, SAN, Skipped, case, check, code_captured, equal, true_counts


GRAPHS = ("capture", "capture_legacy", "capture_threads", "graphs", "conditional", "reinstantiate")


# Without timing the shortest way through a launch begins with the third of a shape.
UNTIMED = {"KBN_TIMING": "off"}


def api(name, order=True, code=True, unseen=(), failed=True, nodes=True, env=None):
    def run(c):
        client = "app_graph" if name in GRAPHS else "app_direct"
        r = c.both([client, name], order=order, env=env)
        rec = r.one()
        true_counts(r, rec, failed=failed, nodes=nodes)
        if code:
            code_captured(r, rec, unseen)
        return r, rec
    return run


for _name in ("linker", "streams", "ptsz", "green", "old", "multi_device", "twice", "events",
              "resets"):
    case("api/" + _name)(api(_name))
    case("untimed/" + _name)(api(_name, env=UNTIMED))


@case("api/contexts")
@case("untimed/contexts", env=UNTIMED)
def contexts(c, env=None):
    # A CUfunction belongs to one context, a CUkernel is launched in two of them.
    r, rec = api("contexts", env=env)(c)
    ran = {}
    for s in rec.slots:
        name = rec.kernels[s.kernel]["name"]
        ran.setdefault(name, {}).setdefault(s.context, 0)
        ran[name][s.context] += s.ran
    equal([20, 50], sorted(ran["k_20us"].values()), "launches of the CUkernel by context")
    equal([30, 30, 31], sorted(ran["k_2us"].values()), "launches of the CUfunctions by context")


@case("api/second_context")
@case("untimed/second_context", env=UNTIMED)
def second_context(c, env=None):
    # While there is one context nobody is asked which it is.
    r, rec = api("second_context", env=env)(c)
    ran = {}
    for s in rec.slots:
        ran[s.context] = ran.get(s.context, 0) + s.ran
    equal([40, 57], sorted(ran.values()), "launches by context")


@case("api/wrong_context")
def wrong_context(c):
    """Nothing of the function's own context goes into a stream of the one that is current."""
    r, rec = api("wrong_context")(c)
    equal((2020, 200), (rec.total("ran"), rec.total("failed")), "launches that ran, that were refused")


@case("api/almost_alike")
@case("untimed/almost_alike", env=UNTIMED)
def almost_alike(c, env=None):
    r, rec = api("almost_alike", env=env)(c)
    ran = sorted((s.ran, s.grid, s.block, s.smem, s.cluster, s.flags) for s in rec.slots)
    usual = ((8, 2, 3), (32, 2, 2), 0, (0, 0, 0), 0)
    equal(60 * 10, sum(n for n, *shape in ran if tuple(shape) == usual), "launches of the usual shape")
    equal(10, len(ran), "shapes")
    equal({60}, {n for n, *shape in ran if tuple(shape) != usual}, "launches of the others")


@case("api/reload")
@case("untimed/reload", env=UNTIMED)
def reload(c, env=None):
    # The last launch is through a dead handle: a kernel without name and code.
    r, rec = api("reload", unseen=("",), env=env)(c)
    equal({"first_2us": 100, "second_3us": 110}, rec.by_kernel("ran"), "launches by kernel")


@case("api/load_loop")
def load_loop(c):
    """Equal code loaded again is the image and the kernel it was: one slot, a short log."""
    r = c.both(["app_direct", "load_loop"], log=False)
    rec = r.one()
    true_counts(r, rec)
    # The module and the library are two origins of the code.
    equal(["again_2us"] * 2, [k["name"] for k in rec.kernels.values()], "kernels")
    equal(3, len(rec.images), "images")
    check(len(rec.slots) <= 2, "%d slots", len(rec.slots))
    check(rec.log_bytes < 16384, "%d bytes of log", rec.log_bytes)


@case("api/null_kernel")
def null_kernel(c):
    if SAN:
        raise Skipped("the sanitizer's memory grows")
    r = c.both(["app_direct", "null_kernel"], log=False)
    rec = r.one()
    equal(100100, rec.total("failed"), "failed launches")
    check("memory grows: 0" in r.out, "%s", r.out)
    equal(1, len(rec.slots), "slots")


@case("api/basic")
def basic(c):
    r, rec = api("basic")(c)
    shapes = {(rec.kernels[s.kernel]["name"], s.grid, s.block, s.smem): s.ran for s in rec.slots}
    equal({("k_2us", (8, 1, 1), (128, 1, 1), 0): 200,
           ("k_20us", (132, 2, 1), (32, 8, 1), 1024): 30,
           ("k_none_5us", (1, 1, 1), (64, 1, 1), 0): 4,
           ("k_none_5us", (2, 1, 1), (64, 1, 1), 0): 3,
           ("k_none_5us", (3, 1, 1), (64, 1, 1), 0): 3}, shapes, "shapes")
    k = {v["name"]: v for v in rec.kernels.values()}
    equal((24, 0), (k["k_2us"]["registers"], k["k_2us"]["smem"]), "registers, static memory")
    equal((40, 4096), (k["k_20us"]["registers"], k["k_20us"]["smem"]), "registers, static memory")
    equal([(0, 8), (8, 8), (16, 8)], k["k_2us"]["params"], "parameter table")
    check(k["k_none_5us"]["flags"] & 1 and not k["k_none_5us"]["params"], "empty table is not exact")
    equal(["kbn stand-in H200-like"], rec.devices, "devices")
    check(any(n[0] == 10 for n in rec.notes), "no note that times are simulated")
    check(rec.ended and rec.state == 1, "not sealed")


@case("report/jit")
def report_jit(c):
    """What the driver compiled itself is said to be so, with what to do; what came as machine code is not."""
    kbn = os.path.join(BUILD, "kbn")
    if not os.path.exists(kbn):
        raise Skipped("no kbn program")
    run_dir = c.run(["app_direct", "modules"]).run_dir
    p = subprocess.run([kbn, "report", "--json", run_dir], stdin=subprocess.DEVNULL, capture_output=True)
    document = json.loads(p.stdout)
    kernels = document["kernels"]
    check(document["advice"], "nothing is said of what to do first")
    equal([], [a["id"] for a in document["advice"] if a["gain_of_run_pct"] is not None],
          "what promises to save of a run whose times are made up")
    # by itself, and within a fat binary
    equal(["ptx_4us", "ptx_none_6us", "ptx_none_6us"],
          sorted(k["name"] for k in kernels if k["code"]["origin"] == "jit"), "kernels compiled by the driver")
    for k in kernels:
        is_jit = k["code"]["origin"] == "jit"
        equal(is_jit, "KBN-T003" in [t["id"] for t in k["traps"]], "trap of " + k["name"])
        equal(is_jit, "KBN-A025" in [a["id"] for a in k["advice"]], "advice on " + k["name"])


@case("api/modules")
def modules(c):
    r, rec = api("modules", unseen=("packed_2us",))(c)
    of = {v["name"]: v["image"] for v in rec.kernels.values()}
    origins = {name: rec.images[image] for name, image in of.items()}
    equal(2, origins["other_7us"]["kind"], "kind of a fat binary")
    equal(90, origins["other_7us"]["sm"], "entry chosen for the device")
    equal(3, origins["ptx_4us"]["kind"], "kind of PTX")
    check(any(i["options"] == [(0, 64), (7, 3)] for i in rec.images.values()), "JIT options: %s",
          [i["options"] for i in rec.images.values()])
    check(origins["file_9us"]["path"].endswith("module.cubin"), "path of a file: %s",
          origins["file_9us"]["path"])
    packed = rec.stored[of["packed_2us"]]
    check(packed["bytes"] > 0, "compressed entry not stored: %s", packed["why"])


@case("api/library")
def library(c):
    r, rec = api("library")(c)
    # 12 launches of the CUkernel and 5 of its CUfunction are launches of one kernel.
    equal(17, rec.by_kernel("ran")["k_2us"], "launches through CUkernel and CUfunction")
    named = [k for k in rec.kernels.values() if k["name"] == "k_2us"]
    equal(1, len(named), "kernels called k_2us")
    equal([(0, 8), (8, 8), (16, 8)], named[0]["params"], "parameter table of a CUkernel")


@case("api/capture")
@case("untimed/capture", env=UNTIMED)
def capture(c, env=None):
    r, rec = api("capture", env=env)(c)
    check(rec.total("captured") > 0, "nothing captured")


@case("api/capture_legacy")
def capture_legacy(c):
    api("capture_legacy")(c)


@case("api/capture_threads")
def capture_threads(c):
    r = c.both(["app_graph", "capture_threads"], order=False, calls=False)
    rec = r.one()
    true_counts(r, rec, nodes=False)


@case("api/graphs")
def graphs(c):
    r, rec = api("graphs", nodes=False)(c)
    # The driver ran 100 + 10 + 10 (one node off) + 10 + 5 + 1 times; the recording follows or says so.
    stale = any(g["flags"] & 4 for g in rec.graphs.values())
    if not stale:
        equal(r.counts.by_kernel(3), rec.node_launches(), "graph node launches by kernel")
    equal(2, max(n[1] for g in rec.graphs.values() for n in g["nodes"]), "equal nodes counted together")


@case("api/conditional")
def conditional(c):
    r = c.both(["app_graph", "conditional"])
    rec = r.one()
    true_counts(r, rec, nodes=False)
    check(any(g["flags"] & 1 for g in rec.graphs.values()), "conditional node not marked")


@case("api/reinstantiate")
def reinstantiate(c):
    r = c.both(["app_graph", "reinstantiate"], env={"ROUNDS": 1500})
    rec = r.one()
    true_counts(r, rec)
    check(len(rec.graphs) < 50, "%d records for one graph made again and again", len(rec.graphs))


@case("api/attributes")
@case("untimed/attributes", env=UNTIMED)
def attributes(c, env=None):
    r, rec = api("attributes", env=env)(c)
    flags = {(s.cluster, s.flags & 3): 0 for s in rec.slots}
    for s in rec.slots:
        flags[(s.cluster, s.flags & 3)] += s.ran
    equal(20, flags.get(((4, 1, 1), 0)), "cluster launches")
    equal(21, flags.get(((0, 0, 0), 1)), "cooperative launches")
    equal(30, flags.get(((0, 0, 0), 2)), "launches with overlap")


@case("api/parameters")
def parameters(c):
    r, rec = api("parameters")(c)
    wide = [p for p in rec.params if rec.kernels[p["kernel"]]["name"] == "k_wide_3us"]
    check(wide and all(p["data"] == b"\x5a" * 32764 for p in wide), "wide block not whole")
    small = [p for p in rec.params if rec.kernels[p["kernel"]]["name"] == "k_2us" and p["allocations"]]
    check(small, "no parameter sample with an allocation")
    for p in small:
        value = struct.unpack("<Q", p["data"][:8])[0]
        equal((value, 1 << 20), p["allocations"][0][2:4], "allocation of a pointer")
    mixed = [p for p in rec.params if rec.kernels[p["kernel"]]["name"] == "ptx_4us"]
    check(mixed and len(mixed[0]["data"]) == 40, "mixed sizes")


@case("untimed/parameters")
def parameters_untimed(c):
    r = c.both(["app_direct", "basic"], env=UNTIMED)
    taken = [p["launch"] for p in r.one().params if r.one().kernels[p["kernel"]]["name"] == "k_2us"]
    equal([0, 16], taken, "launches whose parameters were taken")


@case("api/parameters_scalars")
def parameters_scalars(c):
    r = c.both(["app_direct", "parameters"], env={"KBN_PARAMS": "scalars"})
    true_counts(r, r.one())
    wide = [p for p in r.one().params if r.one().kernels[p["kernel"]]["name"] == "k_wide_3us"]
    check(not any(b"\x5a" * 64 in p["data"] for p in wide), "a block was kept with KBN_PARAMS=scalars")


@case("api/parameters_off")
def parameters_off(c):
    r = c.both(["app_direct", "parameters"], env={"KBN_PARAMS": "off"})
    true_counts(r, r.one())
    equal([], r.one().params, "parameter records")


@case("api/failing")
@case("untimed/failing", env=UNTIMED)
def failing(c, env=None):
    r, rec = api("failing", unseen=("",), env=env)(c)
    equal(10, rec.total("failed"), "failed launches")


@case("api/sticky")
def sticky(c):
    r = c.both(["app_direct", "sticky"])
    rec = r.one()
    true_counts(r, rec)


@case("api/memory")
def memory(c):
    r = c.both(["app_direct", "memory"])
    check(r.one().seen == 0, "launches in a program without any")
    r = c.both(["app_direct", "memory"], env={"KBN_COPIES": "on"})
    t = r.one().threads
    equal((5, 2), (sum(x[8] for x in t), sum(x[9] for x in t)), "copies and sets")


@case("api/profiler")
@case("untimed/profiler", env=UNTIMED)
def profiler(c, env=None):
    r = c.both(["app_direct", "profiler"], env=dict(env or {}, KBN_WINDOW="profiler"))
    rec = r.one()
    equal((7, 16), (rec.total("ran"), rec.filtered), "inside and outside the window")
    r = c.both(["app_direct", "profiler"])
    true_counts(r, r.one())


@case("api/filters")
@case("untimed/filters", env=UNTIMED)
def filters(c, env=None):
    env = env or {}
    r = c.both(["app_direct", "basic"], env=dict(env, KBN_KERNELS="20us$"))
    rec = r.one()
    equal(({"k_20us": 30}, 210), (rec.by_kernel("ran"), rec.filtered), "one kernel")
    r = c.both(["app_direct", "basic"], env=dict(env, KBN_KERNELS="!20us$"))
    rec = r.one()
    equal(({"k_2us": 200, "k_none_5us": 10}, 30), (rec.by_kernel("ran"), rec.filtered), "all but one")
    r = c.both(["app_direct", "basic"], env=dict(env, KBN_SKIP=5, KBN_COUNT=3))
    rec = r.one()
    equal(({"k_2us": 3, "k_20us": 3, "k_none_5us": 3}, 231), (rec.by_kernel("ran"), rec.filtered), "skip")
    equal(rec.seen, rec.bins(), "launches seen and their bins")


@case("api/no_device")
def no_device(c):
    r = c.both(["app_direct", "no_device"], env={"FAKE_NO_DEVICE": 1})
    check(not r.recordings(), "a recording without a successful cuInit")


@case("api/off")
def off(c):
    r = c.both(["app_direct", "basic"], env={"KBN": "off"})
    check(not r.recordings(), "a recording with KBN=off")
    equal(0, r.counts.own_calls, "driver calls of our own with KBN=off")


@case("api/timing_off")
def timing_off(c):
    r = c.both(["app_direct", "basic"], env={"KBN_TIMING": "off"})
    rec = r.one()
    true_counts(r, rec)
    equal((0, 0), (rec.total("bracketed"), r.counts.own_events), "brackets and events")


@case("api/rank")
def rank(c):
    r = c.both(["app_direct", "basic"], env={"RANK": 2, "WORLD_SIZE": 4, "KBN_RANK": "0,3"})
    check(not r.recordings(), "a recording of a rank that was not asked for")
    r = c.both(["app_direct", "basic"], env={"RANK": 2, "WORLD_SIZE": 4, "KBN_RANK": "0,1-2"})
    equal((2, 4), r.one().process[2:4], "rank and world")


@case("api/devices")
def devices(c):
    r = c.both(["app_direct", "basic"], env={"FAKE_DEVICES": 4, "FAKE_SM": 90})
    true_counts(r, r.one())


@case("timing/times")
def times(c):
    """Pairs around kernels of known length. A busy machine may open every gate: then again."""
    truth = {"k_2us": 2000, "k_20us": 20000, "k_200us": 200000}
    for attempt in range(4):
        r = c.both(["app_direct", "times"], env={"KBN_BUDGET": 50}, log=False)
        rec = r.one()
        true_counts(r, rec)
        missing = []
        for s in rec.slots:
            name = rec.kernels[s.kernel]["name"]
            if s.samples:
                # A gated pair reads the kernel and 2,080 ns; the smallest sample is one that went right.
                bias = s.min_ns - truth[name]
                check(0 <= bias <= 3500, "%s: smallest time %d ns", name, s.min_ns)
                equal(True, s.min_ns * s.samples <= s.sum_ns <= s.max_ns * s.samples, "sum within bounds")
            # What follows other work without a pause is no gate's doing, gate or not.
            good = s.gated if name == "k_2us" else s.gated + s.plain
            if not good or not s.samples or not 1900 <= s.min_ns - truth[name] <= 3000:
                missing.append((name, s.gated, s.plain, s.starved, s.lost, s.bracketed, s.min_ns))
        if not missing:
            return
    check(False, "no good sample in four runs: name, gated, plain, starved, lost, bracketed, min %s", missing)


@case("timing/slow_launch")
def slow_launch(c):
    """A launch call that blocks with the gate shut: the second thread opens it, and soon for good."""
    r = c.both(["app_direct", "times"], env={"FAKE_LAUNCH_US": 400, "KBN_BUDGET": 50}, log=False)
    rec = r.one()
    true_counts(r, rec)
    shapes = len(rec.slots)
    check(rec.gate_deadlines <= 2 * shapes, "%d deadlines for %d shapes", rec.gate_deadlines, shapes)
    check(rec.gates <= 2 * shapes, "%d gates although every launch blocks", rec.gates)
    # What such a pair reads is the host, unless the watcher came so late that all was queued by then.
    short = [s for s in rec.slots if rec.kernels[s.kernel]["name"] == "k_2us"][0]
    read = [ns for _, ns in short.early[:short.early_count]] + [short.max_ns] * (short.samples > 0)
    check(all(2000 <= ns < 6000 for ns in read), "a launch that blocks was published: %s ns", read)
    check(short.starved >= 5, "%d starved pairs", short.starved)


@case("timing/no_wait_value")
def no_wait_value(c):
    """Without gates: pairs that measured the host are recognised, long kernels still get times."""
    env = {"FAKE_NO_WAIT": 1, "FAKE_ATTR_92": 0, "FAKE_ATTR_94": 0, "FAKE_ATTR_122": 0, "FAKE_ATTR_123": 0,
           "KBN_BUDGET": 50}
    r = c.both(["app_direct", "times"], env=env, log=False)
    rec = r.one()
    true_counts(r, rec)
    equal(0, rec.total("gated"), "gated samples")
    by = {rec.kernels[s.kernel]["name"]: s for s in rec.slots}
    for name, truth in (("k_2us", 2000), ("k_20us", 20000), ("k_200us", 200000)):
        s = by[name]
        if s.samples:
            check(s.min_ns >= truth, "%s: %d ns is less than its work", name, s.min_ns)
            check(s.max_ns < truth * 1.1 + 4000, "%s: published %d ns", name, s.max_ns)
    check(by["k_200us"].plain > 0, "no time for a long kernel")


@case("timing/budget")
def budget(c):
    """A small budget: the first launches of a shape, then few."""
    r = c.both(["app_soak", "run"], env={"LAUNCHES": 100000, "SHAPES": 4, "KBN_BUDGET": "0.1",
                                         "RSS_GROWTH_KB": 200000}, log=False, calls=False)
    rec = r.one()
    true_counts(r, rec)
    check(all(s.bracketed >= 1 for s in rec.slots), "a shape without any sample")
    check(rec.total("bracketed") < 20000, "%d of 100,000 launches timed", rec.total("bracketed"))


@case("api/foreign_profiler")
def foreign(c):
    """Another profiler's marks in the environment are noted."""
    r = c.both(["app_direct", "twice"], env={"NVTX_INJECTION64_PATH": "", "NSYS_PROFILING_SESSION_ID": "1"})
    check(any(n[0] == 7 for n in r.one().notes), "no note of a foreign profiler: %s", r.one().notes)
