"""
How well kbn's picture of stalls agrees with Nsight Compute's sampling: the top reason, and whether it is among
the top two of either side. Offline.
usage: stall_score.py [-v] SAMPLES.json REPORT.json...
       SAMPLES {"kernels": [{"name": mangled, "grid": [x, y, z], "block": [x, y, z], "samples": {reason: n}}, ...]}, as
               section v of gpu-check writes it, or {mangled name: {reason: n}}; reasons as in
               smsp__pcsamp_warps_issue_stalled_<reason>
       REPORT  kbn report --json; a kernel is looked for by its name and geometry
"""
import collections
import json
import sys

REASONS = ("long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle", "lg_throttle", "mio_throttle",
           "wait", "not_selected", "branch", "other")
FEWEST = 100   # samples that a picture takes


def measured(samples):
    """Percent of the samples that are not issued instructions, by kbn's reasons."""
    found = dict.fromkeys(REASONS, 0.0)
    for name, n in samples.items():
        if name.endswith("_not_issued") or name == "selected":
            continue
        name = "branch" if name == "branch_resolving" else name
        found[name if name in found else "other"] += n
    total = sum(found.values())
    return {k: 100 * v / total for k, v in found.items()} if total else None


def cases(data):
    if isinstance(data, dict) and "kernels" in data:
        return data["kernels"]
    return [{"name": k, "samples": v} for k, v in data.items()]


def derived(reports, case):
    for k in (k for r in reports for k in r["kernels"]):
        if k["name"] != case["name"] or any(case.get(g, k["launch"][g]) != k["launch"][g]
                                            for g in ("grid", "block", "dyn_smem_bytes")):
            continue
        stalls = {r: q["value"] for r, q in k["stalls"].items()}
        if None not in stalls.values():
            return stalls
    return None


def ranked(shares):
    return sorted(shares, key=lambda r: -shares[r])


def text(shares, n=4):
    return " ".join("%s %.0f" % (r, shares[r]) for r in ranked(shares)[:n])


def short(name):
    """The first and the last of a long mangled name: what it is, and which of many."""
    return name if len(name) <= 44 else name[:22] + ".." + name[-20:]


def main(args):
    verbose = "-v" in args
    samples, *reports = [a for a in args if a != "-v"]
    reports = [json.load(open(r)) for r in reports]
    tops, found = collections.Counter(), []
    for case in cases(json.load(open(samples))):
        n = sum(v for k, v in case["samples"].items() if not k.endswith("_not_issued"))
        if n < FEWEST:
            continue
        real, ours = measured(case["samples"]), derived(reports, case)
        if not ours:
            print("- %s: no picture" % case["name"][:60])
        order = ranked(ours)[:2] if ours else [None, None]
        top = ranked(real)[0]
        found.append((top == order[0], top in order))
        tops[top, order[0]] += 1
        if verbose and ours:
            print("%s %-44s sampled: %-66s derived: %s" % (
                "=" if found[-1][0] else "2" if found[-1][1] else "x", short(case["name"]), text(real, 3),
                text(ours, 3)))
    for (real, ours), n in sorted(tops.items(), key=lambda t: -t[1]):
        print("%5d  sampled %s, derived %s" % (n, real, ours))
    right, among = (sum(f[i] for f in found) for i in (0, 1))
    print("%d kernels: the top reason is right for %d (%.0f %%), among the first two for %d (%.0f %%)" % (
        len(found), right, 100 * right / max(len(found), 1), among, 100 * among / max(len(found), 1)))


main(sys.argv[1:])
