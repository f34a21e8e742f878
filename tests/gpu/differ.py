"""
Section n: kbn diff on real runs. Ten equal runs of two programs: no pair of them, in either direction, and no half
against the other may be called regressed. One kernel that does 10% more: that one is named, exit status 3. The
report of another device: exit status 4.
"""
import concurrent.futures
import itertools
import json
import os
import tarfile

from gpulib import BUILD, GPU, KBN, OUT, bare_env, fresh, guarded, result, run, shim_env

RUNS, SLOW_RUNS, PERCENT = 10, 3, 10
REGRESSED, INCONCLUSIVE = 3, 4


def recorded(command):
    """A report file of one run."""
    out = fresh("diff")
    p = run(command, shim_env(out, KBN_REPORT="none"))
    if p.returncode != 0:
        raise RuntimeError("status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-200:]))
    path = out + ".json"
    q = run([KBN, "report", out, "--json", "-o", path], bare_env(), 60)
    if q.returncode != 0:
        raise RuntimeError("kbn report: %s" % q.stderr.decode(errors="replace")[-200:])
    return path


def diff(base, new):
    """(exit status, document)"""
    p = run([KBN, "diff", *base, "--to", *new, "--json"], bare_env(), 60)
    if p.returncode not in (0, REGRESSED, INCONCLUSIVE):
        raise RuntimeError("kbn diff: status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-200:]))
    return p.returncode, json.loads(p.stdout)


def all_of(pairs):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda p: diff(*p), pairs))


def regressions(found):
    """[text] of what was called regressed: the run, or one of its kernels."""
    return ["status %d, run %s, %s" % (status, d["verdict"], ", ".join(
        "%s %+.1f%% (noise %s)" % (k["short_name"], k["change_pct"], k["noise_pct"])
        for k in d["kernels"] if k["verdict"] == "regressed") or "no kernel")
            for status, d in found
            if status == REGRESSED or d["verdict"] == "regressed" or any(k["verdict"] == "regressed" for k in d["kernels"])]


def equal_runs(name, files):
    pairs = [([a], [b]) for a, b in itertools.permutations(files, 2)]
    wrong = regressions(all_of(pairs))
    result("n", "diff: equal runs, " + name, not wrong, "%d ordered pairs of %d runs, %d called regressed%s" % (
        len(pairs), len(files), len(wrong), ": " + wrong[0] if wrong else ""), regressed=wrong[:50])
    half = len(files) // 2
    sides = [(files[:half], files[half:]), (files[half:], files[:half]), (files[::2], files[1::2]), (files[1::2], files[::2])]
    wrong = regressions(all_of(sides))
    result("n", "diff: %d against %d, %s" % (half, len(files) - half, name), not wrong, "%d comparisons, %d called regressed%s" % (
        len(sides), len(wrong), ": " + wrong[0] if wrong else ""), regressed=wrong)


def names(document, verdict):
    return sorted(k["short_name"] for k in document["kernels"] if k["verdict"] == verdict)


def slowed(files):
    slow = [recorded([os.path.join(GPU, "app_diff"), str(PERCENT), "100"]) for _ in range(SLOW_RUNS)]
    sides = [([a], [b]) for a in files for b in slow] + [(files, slow)]
    found = all_of(sides)
    wrong = ["status %d, regressed: %s" % (status, ", ".join(names(d, "regressed")) or "none")
             for status, d in found if status != REGRESSED or names(d, "regressed") != ["multiply"]]
    change = sorted(k["change_pct"] for _, d in found for k in d["kernels"] if k["short_name"] == "multiply")
    result("n", "diff: one kernel %d%% slower" % PERCENT, not wrong, "%d comparisons, %d do not name it alone with status "
           "%d%s; seen as %+.1f%% to %+.1f%%" % (len(sides), len(wrong), REGRESSED, ": " + wrong[0] if wrong else "",
                                                 change[0], change[-1]), wrong=wrong[:50], change_pct=change)
    back = [(d["verdict"], names(d, "improved")) for _, d in all_of([(slow, files)])]
    result("n", "diff: and back", all(improved == ["multiply"] for _, improved in back),
           "run %s, improved: %s" % (back[0][0], ", ".join(back[0][1]) or "none"))


def other_device(file):
    """The report of a run as it would be from a smaller GPU."""
    with open(file) as f:
        report = json.load(f)
    for d in report["devices"]:
        d.update(name="NVIDIA H100 PCIe", uuid="GPU-00000000-0000-0000-0000-000000000000", sm_count=114)
    path = fresh("other") + ".json"
    with open(path, "w") as f:
        json.dump(report, f)
    status, document = diff([path], [file])
    result("n", "diff: another device", status == INCONCLUSIVE and document["verdict"] == "inconclusive" and not document["comparable"],
           "status %d, %s: %s" % (status, document["verdict"], "; ".join(document["why_not"])[:120]))


def main():
    files = {}

    def make():
        # by turns, so that what drifts meets both
        for _ in range(RUNS):
            for name, command in (("app_diff", [os.path.join(GPU, "app_diff"), "0", "100"]),
                                  ("samples", [os.path.join(BUILD, "samples", "demo"), "-n", "40"])):
                files.setdefault(name, []).append(recorded(command))

    guarded("n", "diff: runs", make)
    with tarfile.open(os.path.join(OUT, "diff-reports.tar.xz"), "w:xz") as tar: # to look at noise without a GPU
        for name, made in files.items():
            for i, path in enumerate(made):
                tar.add(path, "%s-%d.json" % (name, i))
    for name, made in files.items():
        guarded("n", "diff: equal runs, " + name, equal_runs, name, made)
    if "app_diff" in files:
        guarded("n", "diff: one kernel slower", slowed, files["app_diff"])
        guarded("n", "diff: another device", other_device, files["app_diff"][0])


if __name__ == "__main__":
    main()
