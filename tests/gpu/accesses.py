"""
Section w: what the lanes of warps do (sectors and wavefronts per request, requests, idle lanes), derived from code and
recorded arguments, against Nsight Compute's counters on the same program. Kernels are matched by mangled name and
launch geometry. What is labelled derived must be right, what is estimated must contain the truth in its interval.
"""
import json
import os

from gpulib import BUILD, fresh, guarded, report, result, run, shim_env, work
from ncu import launches

GLOBAL = "l1tex__t_%s_pipe_lsu_mem_global_op_%s.sum"
LOADS, LOAD_SECTORS = GLOBAL % ("requests", "ld"), GLOBAL % ("sectors", "ld")
STORES, STORE_SECTORS = GLOBAL % ("requests", "st"), GLOBAL % ("sectors", "st")
SHARED = ["smsp__sass_inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_st.sum"]
SHARED_WAVEFRONTS = ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]
THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"
METRICS = [LOADS, LOAD_SECTORS, STORES, STORE_SECTORS, THREADS] + SHARED + SHARED_WAVEFRONTS
NEAR = 0.01


def ratio(row, above, below):
    """None where there is nothing to divide by, or a metric is missing."""
    a = [row.get(m) for m in above]
    b = [row.get(m) for m in below]
    return None if None in a or None in b or not sum(b) else sum(a) / sum(b)


def readings(row):
    """{what: value} as the counters have it."""
    r = {
        "sectors_per_request_load": ratio(row, [LOAD_SECTORS], [LOADS]),
        "sectors_per_request_store": ratio(row, [STORE_SECTORS], [STORES]),
        "shared_wavefronts_per_request": ratio(row, SHARED_WAVEFRONTS, SHARED),
        "requests_load": row.get(LOADS),
        "requests_store": row.get(STORES),
    }
    return {k: v for k, v in r.items() if v}


def requests(k, kind):
    """The sum over the sites of a kind as one quantity, None where it is not known."""
    sites = [s["requests"] for s in k["sites"] if s["kind"] == kind]
    # the report keeps 64 sites of a kernel: with as many the sum is not of all
    if not sites or len(k["sites"]) >= 64 or any(q["value"] is None for q in sites):
        return None
    label = "derived" if all(q["label"] == "derived" for q in sites) else "estimated"
    return {"label": label, **{f: sum(q[f] for q in sites) for f in ("value", "low", "high")}}


def ours_of(k):
    return {**{q: k["work"][q] for q in ("sectors_per_request_load", "sectors_per_request_store", "shared_wavefronts_per_request")},
            "requests_load": requests(k, "load"), "requests_store": requests(k, "store")}


def judge(q, truth):
    """"derived", "estimated", "unknown" when it is right, else the same with "wrong"."""
    if q is None or q["value"] is None:
        return "unknown"
    if q["label"] == "derived":
        return "derived" if abs(q["value"] - truth) <= NEAR * truth else "derived wrong"
    low = q["value"] if q["low"] is None else q["low"]
    high = truth if q["high"] is None else q["high"]
    return "estimated" if low * (1 - NEAR) <= truth <= high * (1 + NEAR) else "estimated wrong"


def compare(name, command, least):
    theirs = dict(launches(command, METRICS, ["--launch-count", "700"]))
    out = fresh("accesses")
    run(command, shim_env(out))
    ours = {(k["name"], tuple(k["launch"]["grid"]), tuple(k["launch"]["block"]), k["launch"]["dyn_smem_bytes"]): k
            for k in report(out)["kernels"]}
    matched = sorted(set(theirs) & set(ours))
    counts, wrong, rows = {}, [], []
    for key in matched:
        mine = ours_of(ours[key])
        for what, truth in readings(theirs[key]).items():
            verdict = judge(mine[what], truth)
            counts[verdict] = counts.get(verdict, 0) + 1
            rows.append([key[0], key[1], key[2], what, truth, mine[what], verdict])
            if "wrong" in verdict:
                wrong.append("%s %s: %s is %s %s, ncu %g" % (key[0][:60], what, mine[what]["label"], mine[what]["value"], verdict, truth))
    with open(os.path.join(os.environ.get("OUT", "."), "accesses-%s.json" % name.lower()), "w") as f:
        json.dump(rows, f, indent=0)
    bad = counts.get("derived wrong", 0)
    result("w", "accesses: " + name, len(matched) >= least and not bad,
           "%d launch shapes; %s%s" % (len(matched), ", ".join("%d %s" % (n, v) for v, n in sorted(counts.items())),
                                       "; " + wrong[0] if wrong else ""),
           wrong=wrong[:200])


def main():
    guarded("w", "accesses: samples", compare, "samples", [os.path.join(BUILD, "samples", "demo"), "-n", "1"], 20)
    guarded("w", "accesses: PyTorch", compare, "PyTorch", work("work_variety.py"), 60)


if __name__ == "__main__":
    main()
