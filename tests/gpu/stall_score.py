"""
How well kbn's picture of stalls agrees with Nsight Compute's sampling: the top reason, and whether it is among
the top two of either side. Offline.
usage: stall_score.py [-v] REPORT.json SAMPLES.json [REPORT.json SAMPLES.json]...
       REPORT  kbn report --json (a kernel is found by its mangled name, and by its geometry where given)
       SAMPLES {mangled name: {reason: samples}}, or [{"name": ..., "grid": [x, y, z], "block": [x, y, z],
               "shares": {reason: share}}, ...]; reasons as in smsp__pcsamp_warps_issue_stalled_<reason>
"""
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
    if isinstance(data, dict):
        data = [{"name": k, "shares": v} for k, v in data.items()]
    for case in data:
        yield case, case.get("shares") or case.get("samples") or case.get("stalls")


def derived(report, case):
    for k in report["kernels"]:
        if k["name"] != case["name"] or any(case.get(g) and case[g] != k["launch"][g] for g in ("grid", "block")):
            continue
        stalls = {r: q["value"] for r, q in k["stalls"].items()}
        if None not in stalls.values():
            return stalls
    return None


def ranked(shares):
    return sorted(shares, key=lambda r: -shares[r])


def text(shares, n=4):
    return " ".join("%s %.0f" % (r, shares[r]) for r in ranked(shares)[:n])


def main(args):
    verbose = "-v" in args
    args = [a for a in args if a != "-v"]
    n = top = second = 0
    for report, samples in zip(args[::2], args[1::2]):
        report = json.load(open(report))
        for case, raw in cases(json.load(open(samples))):
            real, ours = measured(raw), derived(report, case)
            if not real or sum(v for k, v in raw.items() if not k.endswith("_not_issued")) < FEWEST and \
                    sum(raw.values()) > 150:
                continue
            if not ours:
                print("----- %s: no picture" % case["name"][:60])
                n += 1
                continue
            a, b = ranked(real), ranked(ours)
            n, top, second = n + 1, top + (a[0] == b[0]), second + (a[0] in b[:2])
            if verbose:
                mark = "=" if a[0] == b[0] else "2" if a[0] in b[:2] else "x"
                print("%s %-32s ncu: %s\n  %-32s kbn: %s" % (mark, case["name"][:32], text(real), "", text(ours)))
    print("%d kernels: top reason right %d (%.0f %%), the real top among kbn's first two %d (%.0f %%)" % (
        n, top, 100 * top / max(n, 1), second, 100 * second / max(n, 1)))


main(sys.argv[1:])
