"""
Section b: event times against CUPTI. The same program runs under kbn and, apart from that, under
CUPTI activity tracing (cupti_times.c); medians per kernel must agree within max(5%, 0.3 us). Then
the share of shapes with at least 20 launches that have a median at all.
"""
import collections
import glob
import os
import statistics

from gpulib import GPU, app, bare_env, fresh, guarded, report, result, run, shim_env, work

TRACER = os.path.join(GPU, "cupti_times.so")
GAPS = (("back to back", 0), ("20 us host gaps", 20))


def cupti_medians(command):
    prefix = fresh("times")
    p = run(command, bare_env(CUDA_INJECTION64_PATH=TRACER, KBN_TEST_FILE=prefix))
    times = collections.defaultdict(list)
    for path in glob.glob(glob.escape(prefix) + ".*"):
        for line in open(path):
            name, ns = line.rsplit(None, 1)
            times[name].append(int(ns) / 1e3)
    if not times:
        raise RuntimeError("no CUPTI records: " + p.stderr.decode(errors="replace")[-200:])
    return {name: statistics.median(v) for name, v in times.items()}


def compare(label, gap):
    command = app("app_spin") + [str(gap), "400"]
    out = fresh("spin")
    p = run(command, shim_env(out))
    if p.returncode != 0:
        raise RuntimeError(p.stderr.decode(errors="replace")[-200:])
    document = report(out)
    reference = cupti_medians(command)
    for k in document["kernels"]:
        truth, seen = reference.get(k["name"]), k["time_us"]["median"]
        if truth is None or "ILi1EE" in k["name"]: # spin<1> only raises the clocks
            continue
        ok = seen is not None and abs(seen - truth) <= max(0.05 * truth, 0.3)
        result("b", "kernel of %.1f us, %s" % (truth, label), ok, "CUPTI %.2f us, kbn %s us (%s, %d timed)" % (
            truth, "none" if seen is None else "%.2f" % seen, k["time_us"]["method"], k["time_us"]["timed"]),
            kernel=k["demangled"], cupti_us=truth, kbn_us=seen, timing=document["timing"])


def coverage(name, command):
    out = fresh("coverage")
    p = run(command, shim_env(out))
    document = report(out)
    shapes = [k for k in document["kernels"] if k["launches"] >= 20]
    timed = [k for k in shapes if k["time_us"]["median"] is not None]
    share = len(timed) / len(shapes) if shapes else 0.0
    result("b", "coverage: " + name, p.returncode == 0 and share >= 0.95,
           "%d of %d shapes with >= 20 launches have a median (%.1f%%)" % (len(timed), len(shapes), 100 * share),
           without=[k["short_name"] for k in shapes if k["time_us"]["median"] is None][:20],
           accounting=document["accounting"], timing=document["timing"])


def main():
    for label, gap in GAPS:
        guarded("b", label, compare, label, gap)
    guarded("b", "coverage: training", coverage, "training, 40 steps", work("work_eager.py", 40))
    guarded("b", "coverage: streams", coverage, "8 threads x 8 streams", app("app_streams"))


main()
