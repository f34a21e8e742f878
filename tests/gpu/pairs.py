"""
Section p: pairs of kernels that the rules were not written with. pairs.json names for each pair what is wrong with
the bad one, which advice a reader of the titles in analyzer/ADVICE.md would expect for it (any of `any_of`), and
which must not come for the cured one (`not_good`). Judged are how many pairs have their fault named, and for how many
of those the time that the cure saved lies in the range that the advice promised; how many cured ones are left alone;
each `set` apart: rules were made more general after the first and again after the second and the third, so the
fourth tells whether they are. Where no title fits, `any_of` is empty and the fault counts as not named.
`launches` of the bad one do what one of the good one does. Arguments are listed with the bytes of the buffer in place
of a pointer. pair-times.json in $OUT keeps each kernel's median with its geometry and arguments;
pairs-recordings.tar.xz.* both recordings.
usage: pairs.py [FOLDER]   FOLDER holds what the archive held, or whole recordings: judges those, without a GPU
"""
import json
import os
import sys

from gpulib import GPU, HERE, KBN, OUT, archive, bare_env, fresh, guarded, result, run, shim_env

PROGRAMS = ("app_pairs_mem", "app_pairs_sm", "app_pairs_more_mem", "app_pairs_more_sm", "app_pairs_more_lanes",
            "app_pairs_third_mem", "app_pairs_third_grid", "app_pairs_third_sm", "app_pairs_third_lanes",
            "app_pairs_fourth")
NAMED_PCT, ALONE_PCT, INSIDE_PCT = 80, 80, 80
# rules must not be changed by what comes of these: they say how well rules do on what they have never seen
BLIND = (4,)


def pairs():
    with open(os.path.join(HERE, "pairs.json")) as f:
        return json.load(f)


def record():
    """Folder with a recording of each program. A program that finds its pairs to disagree is a failed line."""
    folder = fresh("pairs")
    os.makedirs(folder)
    wrong, seconds = [], []
    for program in PROGRAMS:
        p = run([os.path.join(GPU, program)], shim_env(os.path.join(folder, program), KBN_REPORT="none"), 60)
        seconds.append(p.seconds)
        if p.returncode != 0:
            wrong.append("%s: status %d: %s" % (
                program, p.returncode, p.stderr.decode(errors="replace").strip().replace("\n", "; ")[-300:]))
    result("p", "pairs: same results", not wrong, "; ".join(wrong) or "%d pairs agree, %.1f s" % (
        len(pairs()), sum(seconds)))
    print("recordings: %.1f MB" % archive(folder, "pairs-recordings.tar.xz"))
    return folder


def runs_below(folder):
    """The recordings in a folder, or the folder itself when it is one."""
    below = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    named = [path for path in below if os.path.basename(path) in PROGRAMS and os.path.isdir(path)]
    return named or [folder]


def kernels_of(folder):
    """{name: kernel of the report}"""
    q = run([KBN, "report", *runs_below(folder), "--json", "--work", os.path.join(HERE, "pairs.work")], bare_env(), 60)
    if q.returncode != 0:
        raise RuntimeError(q.stderr.decode(errors="replace")[-300:])
    found = {}
    for k in json.loads(q.stdout)["kernels"]:
        if found.setdefault(k["name"], k) is not k and k["name"] in symbols():
            raise RuntimeError("%s has more than one geometry" % k["name"])
    return found


def symbols():
    return [p[side] for p in pairs() for side in ("bad", "good")]


def keep(kernels):
    times = {}
    for name, arguments in ((p[side], p[side + "_args"]) for p in pairs() for side in ("bad", "good")):
        k = kernels.get(name)
        if k is not None:
            times[name] = {
                "median_us": k["time_us"]["median"], "uncertainty_us": k["time_us"]["uncertainty"],
                "timed": k["time_us"]["timed"], "grid": k["launch"]["grid"], "block": k["launch"]["block"],
                "dyn_smem_bytes": k["launch"]["dyn_smem_bytes"], "args": arguments,
                "class": k["bottleneck"]["class"], "advice": [[a["id"], a["gain_pct"]] for a in k["advice"]]}
    with open(os.path.join(OUT, "pair-times.json"), "w") as f:
        json.dump(times, f, indent=1)


def judge(pair, kernels):
    """One row: what was named, what the good one still has, what was saved and what was promised."""
    bad, good = kernels[pair["bad"]], kernels[pair["good"]]
    before, after = bad["time_us"]["median"], good["time_us"]["median"]
    given = [a["id"] for a in bad["advice"]]
    accepted = [a for a in bad["advice"] if a["id"] in pair["any_of"]]
    row = {"pair": pair["bad"], "bad_us": before, "good_us": after, "class": bad["bottleneck"]["class"],
           "advice": [[a["id"], a["gain_pct"]] for a in bad["advice"]],
           "good_advice": [[a["id"], a["gain_pct"]] for a in good["advice"]],
           "named": accepted[0]["id"] if accepted else None,
           "place": given.index(accepted[0]["id"]) + 1 if accepted else None,
           "still": [a["id"] for a in good["advice"] if a["id"] in pair["not_good"]],
           "saved_pct": None, "gain_pct": accepted[0]["gain_pct"] if accepted else None, "inside": None}
    if None not in (before, after):
        row["saved_pct"] = round(100 * (1 - after / (pair["launches"] * before)), 1)
        if accepted:
            low, high = row["gain_pct"]
            row["inside"] = low <= row["saved_pct"] <= high
    return row


def line(row, pair):
    if row["named"]:
        what = "%s (%d of %d) promised %g to %g" % (
            row["named"], row["place"], len(row["advice"]), *row["gain_pct"])
    else:
        what = "LACKS %s, has %s" % (
            " or ".join(pair["any_of"]) or "a title that fits", ", ".join("%s %g to %g" % (i, *g) for i, g in row["advice"]) or "none")
    marks = "   OUTSIDE" if row["inside"] is False else ""
    marks += "   good one still has " + " ".join(row["still"]) if row["still"] else ""
    saved = "saved %5.1f%%" % row["saved_pct"] if row["saved_pct"] is not None else "no median"
    print("%-20s %9s -> %8s us %-8s %s, %s%s" % (
        row["pair"], row["bad_us"], row["good_us"], row["class"], saved, what, marks), flush=True)


def share(part, whole):
    return 100 * part / whole if whole else 0


def passes(number, holds):
    return None if number in BLIND else holds


def compare(kernels):
    rows, missing = {}, []
    for pair in pairs():
        lost = [pair[side] for side in ("bad", "good") if pair[side] not in kernels]
        missing += lost
        of_set = rows.setdefault(pair["set"], [])
        if not lost:
            of_set.append(judge(pair, kernels))
            line(of_set[-1], pair)
    judged = sum(rows.values(), [])
    untimed = [r["pair"] for r in judged if r["saved_pct"] is None]
    result("p", "pairs: times", not missing and not untimed, "%d pairs%s%s" % (
        len(judged), ", not in the report: " + ", ".join(missing) if missing else "",
        ", without a median: " + ", ".join(untimed) if untimed else ""))
    for number in sorted(rows):
        results_of(number, rows[number], sum(1 for pair in pairs() if pair["set"] == number))


def results_of(number, rows, pairs_of_set):
    """The three lines of one set; a pair that is not among its rows is one that failed."""
    named = [r for r in rows if r["named"]]
    result("p", "pairs: fault named, set %d" % number, passes(number, share(len(named), pairs_of_set) >= NAMED_PCT),
           "of %d pairs the bad one has an expected advice in %.0f%% (at least %d)%s" % (
               pairs_of_set, share(len(named), pairs_of_set), NAMED_PCT,
               listed(r["pair"] for r in rows if not r["named"])), pairs=rows)
    alone = [r for r in rows if not r["still"]]
    result("p", "pairs: cured ones left alone, set %d" % number, passes(number, share(len(alone), pairs_of_set) >= ALONE_PCT),
           "of %d pairs the good one has no such advice any more in %.0f%% (at least %d)%s" % (
               pairs_of_set, share(len(alone), pairs_of_set), ALONE_PCT,
               listed("%s %s" % (r["pair"], " ".join(r["still"])) for r in rows if r["still"])))
    judged = [r for r in named if r["inside"] is not None]
    inside = [r for r in judged if r["inside"]]
    if not judged:
        result("p", "pairs: gains, set %d" % number, None, "no pair has an expected advice and two medians")
        return
    result("p", "pairs: gains, set %d" % number, passes(number, share(len(inside), len(judged)) >= INSIDE_PCT),
           "of %d pairs with an expected advice the time saved is in the promised range for %.0f%% (at least %d)%s" % (
               len(judged), share(len(inside), len(judged)), INSIDE_PCT,
               listed("%s (%s: %g, promised %g to %g)" % (r["pair"], r["named"], r["saved_pct"], *r["gain_pct"])
                      for r in judged if not r["inside"])))


def listed(names):
    names = list(names)
    return ": not " + ", ".join(names) if names else ""


def main():
    folder, kernels = sys.argv[1:2], {}
    if not folder:
        guarded("p", "pairs: run", lambda: folder.append(record()))
    os.makedirs(OUT, exist_ok=True)
    if folder:
        guarded("p", "pairs: report", lambda: kernels.update(kernels_of(folder[0])))
    if kernels:
        guarded("p", "pairs: compare", compare, kernels)
        if len(sys.argv) < 2:
            guarded("p", "pairs: times kept", keep, kernels)


if __name__ == "__main__":
    main()
