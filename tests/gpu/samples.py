"""
Section s: the sample pairs on this device. sample-times.json in $OUT keeps the median of each kernel with its
geometry and arguments. Then the advice that a sample's first comment names must be given for the bad one and not
for the good one, and the time that the cure saved must lie in the range that the advice promised.
"""
import json
import os
import re
import statistics

from gpulib import BUILD, GPU, HERE, KBN, OUT, ROOT, bare_env, fresh, guarded, result, run, shim_env
import demo_table  # found through gpulib

SAMPLES = os.path.join(ROOT, "samples")
INSIDE_PCT, WIDTH = 80, 30


def demo_rows():
    """{symbol: (sample, n)} as demo.c launches them."""
    return {row.symbol: (row.file, row.n) for row in demo_table.ROWS}


def named_advice(sample, words="Advice:"):
    """Ids behind these words of the first comment; [] where it has none. "No advice:" is the other one."""
    with open(os.path.join(SAMPLES, sample + ".cu")) as f:
        comment = f.read().split("*/")[0]
    sentence = re.search(r"^ \* %s([^.]*)\." % words, comment, re.M)
    return re.findall(r"KBN-A\d{3}", sentence[1]) if sentence else []


def measure():
    """{sample: kernel of the report}"""
    out = fresh("samples")
    p = run([os.path.join(BUILD, "samples", "demo")], shim_env(out, KBN_REPORT="none"))
    if p.returncode != 0:
        raise RuntimeError(p.stderr.decode(errors="replace")[-200:])
    q = run([KBN, "report", out, "--json", "--work", os.path.join(HERE, "samples.work")], bare_env())
    if q.returncode != 0:
        raise RuntimeError(q.stderr.decode(errors="replace")[-300:])
    return kernels_of(json.loads(q.stdout))


def kernels_of(document):
    rows, found = demo_rows(), {}
    for k in document["kernels"]:
        if k["name"] in rows:
            sample, n = rows[k["name"]]
            found[sample] = dict(k, n=n)
    return found


def keep(kernels):
    times = {}
    for sample, k in sorted(kernels.items()):
        times[k["name"]] = {
            "sample": sample, "median_us": k["time_us"]["median"], "uncertainty_us": k["time_us"]["uncertainty"],
            "timed": k["time_us"]["timed"], "grid": k["launch"]["grid"], "block": k["launch"]["block"],
            "dyn_smem_bytes": k["launch"]["dyn_smem_bytes"], "args": ["ptr", "ptr", "i32:%d" % k["n"]],
            "class": k["bottleneck"]["class"], "advice": [[a["id"], a["gain_pct"]] for a in k["advice"]]}
    with open(os.path.join(OUT, "sample-times.json"), "w") as f:
        json.dump(times, f, indent=1)
    return times


def compiled_by_driver():
    """{sample: kernel of the report} of the pair whose fault is in how it is built, which no prebuilt code has."""
    found = {}
    for name in ("jit_bad", "jit_good"):
        out = fresh(name)
        p = run([os.path.join(GPU, name), "50"], shim_env(out, KBN_REPORT="none"))
        if p.returncode != 0:
            raise RuntimeError("%s: %s" % (name, p.stderr.decode(errors="replace")[-200:]))
        q = run([KBN, "report", out, "--json"], bare_env())
        found.update({name: k for k in json.loads(q.stdout)["kernels"] if k["name"] == name})
    return found


def times(kernels):
    missing = sorted(set(s for s, _ in demo_rows().values()) - set(kernels))
    without = [s for s, k in kernels.items() if k["time_us"]["median"] is None]
    keep(kernels)
    result("s", "samples: times", not missing and not without, "%d samples, %d without a median%s" % (
        len(kernels), len(without), ", not in the report: " + ", ".join(missing) if missing else ""))


def advice(kernels):
    """What is named is given; what the good one names as none, and what the bad one names, is not given for the good one."""
    wrong, named = [], 0
    for sample, k in sorted(kernels.items()):
        given = [a["id"] for a in k["advice"]]
        wanted = named_advice(sample)
        barred = named_advice(sample, "No advice:")
        if sample.endswith("_good"):
            barred += named_advice(sample[:-5] + "_bad")
        named += len(wanted)
        wrong += ["%s lacks %s (has %s)" % (sample, name, " ".join(given) or "none") for name in wanted if name not in given]
        wrong += ["%s still has %s" % (sample, name) for name in sorted(set(barred)) if name in given]
    if not named:
        result("s", "samples: advice", None, "no sample names advice")
        return
    result("s", "samples: advice", not wrong, "%d ids named, %d wrong%s" % (
        named, len(wrong), ": " + "; ".join(wrong[:6]) if wrong else ""), wrong=wrong)


def saved_pct(bad, good):
    """Percent of the bad one's time that the good one saves; of the time for a byte, since a launch may do another share."""
    a, b = (k["effective_gbps"]["value"] for k in (bad, good))
    return 100 * (1 - a / b)


def gains(kernels):
    rows = []
    for bad, k in sorted(kernels.items()):
        good = kernels.get(bad[:-4] + "_good")
        names = named_advice(bad) if bad.endswith("_bad") else []
        promised = [a for a in k["advice"] if a["id"] in names]
        if good is None or not promised or None in (k["effective_gbps"]["value"], good["effective_gbps"]["value"]):
            continue
        low, high = promised[0]["gain_pct"]
        saved = saved_pct(k, good)
        rows.append({"pair": bad[:-4], "id": promised[0]["id"], "saved_pct": round(saved, 1), "gain_pct": [low, high],
                     "inside": low <= saved <= high, "width": high - low})
        print("%-16s %s saved %5.1f%%, promised %g to %g%s" % (
            bad[:-4], promised[0]["id"], saved, low, high, "" if low <= saved <= high else "   OUTSIDE"))
    if not rows:
        result("s", "samples: gains", None, "no pair has named advice with a gain")
        return
    inside = 100 * sum(r["inside"] for r in rows) / len(rows)
    width = statistics.median(r["width"] for r in rows)
    outside = ["%s (%s: %g, promised %g to %g)" % (r["pair"], r["id"], r["saved_pct"], *r["gain_pct"])
               for r in rows if not r["inside"]]
    result("s", "samples: gains", inside >= INSIDE_PCT and width <= WIDTH,
           "of %d pairs the time saved is in the promised range for %.0f%% (at least %d); median width %g points "
           "(at most %d)%s" % (len(rows), inside, INSIDE_PCT, width, WIDTH,
                               "; outside: " + ", ".join(outside) if outside else ""), pairs=rows)


def main():
    kernels = {}
    guarded("s", "samples: run", lambda: kernels.update(measure()))
    if kernels:
        guarded("s", "samples: times", times, kernels)
        guarded("s", "samples: gains", gains, kernels)
        guarded("s", "samples: run, compiled by the driver", lambda: kernels.update(compiled_by_driver()))
        guarded("s", "samples: advice", advice, kernels)


if __name__ == "__main__":
    main()
