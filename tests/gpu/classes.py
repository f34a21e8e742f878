"""
Section k: the class that kbn gives a kernel whose work is known by formula, against Nsight Compute's
speed of light of the same launch. The work comes from the programs themselves (app_class.cu,
work_class.py), which chose the shapes; ncu says only which kernel a case launched, and how fast units were.

Class by ncu: the row "Compute (SM) Throughput" (sm__throughput) for one side; for the other "DRAM
Throughput", as kbn's share of memory is that of DRAM too. The same with "Memory Throughput", which is the
busiest of DRAM, L2, L1 and shared memory, is counted beside it. Both with kbn's threshold, 60%. All
readings go to classes.json in $OUT.
"""
import collections
import concurrent.futures
import json
import os
import re

from gpulib import GPU, KBN, OUT, bare_env, fresh, guarded, result, run, shim_env, work
from ncu import by_case, launches

PCT = ".avg.pct_of_peak_sustained_elapsed"
TIME, COMPUTE, DRAM = "gpu__time_duration.sum", "sm__throughput" + PCT, "gpu__dram_throughput" + PCT
MEMORY, L2 = "gpu__compute_memory_throughput" + PCT, "lts__throughput" + PCT
RATE, CLOCK = "dram__bytes.sum.per_second", "gpc__cycles_elapsed.avg.per_second"
# parts of sm__throughput: those that FLOPs are counted against, and the others
MATH = ["sm__pipe_%s_cycles_active" % p + PCT for p in ("fma", "fmaheavy", "fp64", "shared", "tensor")]
OTHER = ["sm__issue_active" + PCT, "sm__pipe_alu_cycles_active" + PCT, "sm__inst_executed_pipe_lsu" + PCT,
         "sm__inst_executed_pipe_xu" + PCT, "sm__mio_inst_issued" + PCT, "sm__mio2rf_writeback_active" + PCT]
METRICS = [TIME, COMPUTE, DRAM, MEMORY, L2, RATE, CLOCK] + MATH + OTHER

SATURATED, AGREE_PCT, LEAST_OF_CLASS = 60, 90, 8
LEAST = {"CUDA": 25, "PyTorch": 60}
MAIN_SHARE = 0.85 # of a case's time; with less it is no kernel of which the work is known
CLASSES = ("memory", "compute", "balanced", "latency")
SETS = 2 # processes of PyTorch cases
CALLS = 40 # of each case while kbn records: from 20 on a shape has a median


def programs():
    """(group, command for a list file and a number of launches)"""
    yield "CUDA", lambda listed, n: [os.path.join(GPU, "app_class"), listed, str(n)]
    for i in range(SETS):
        yield "PyTorch", lambda listed, n, i=i: work("work_class.py", listed, n, i, SETS)


def read_list(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


# ------------------------------------------------------------------------------ what ncu saw

def match_cases(listed, rows):
    """[(case, its main kernel's key, launches of that a call, values)]; and [text] of cases without one."""
    ran = [c for c in listed if "error" not in c]
    dropped = ["%s: %s" % (c["case"], c["error"]) for c in listed if "error" in c]
    groups = by_case(rows)
    # a case that failed behind its marker has a group and no entry: then nothing can be told apart
    if len(groups) != len(ran):
        raise RuntimeError("%d cases, but %d markers seen by ncu" % (len(ran), len(groups)))
    found = []
    for case, group in zip(ran, groups):
        time = collections.Counter()
        for key, values in group:
            time[key] += values.get(TIME, 0)
        key, most = time.most_common(1)[0] if time else (None, 0)
        if key is None or most < MAIN_SHARE * sum(time.values()):
            dropped.append("%s: several kernels, none with %d%% of the time" % (case["case"], 100 * MAIN_SHARE))
            continue
        same = [values for k, values in group if k == key]
        if len(same) > 1:
            dropped.append("%s: %d launches of one kernel" % (case["case"], len(same)))
        elif COMPUTE not in same[0] or DRAM not in same[0]:
            dropped.append("%s: ncu gave no throughput" % case["case"])
        else:
            found.append((case, key, same[0]))
    return found, dropped


def without_doubles(found):
    """Two cases with one kernel and geometry have one row in a report: neither can be compared."""
    count = collections.Counter(key for _, key, _ in found)
    return ([f for f in found if count[f[1]] == 1],
            ["%s: the same launch as another case" % f[0]["case"] for f in found if count[f[1]] > 1])


# ------------------------------------------------------------------------------ what kbn says

def groups_of(found):
    """Cases split so that no two of a group share a kernel's name: a work file goes by names."""
    groups = []
    for f in found:
        for g in groups:
            if all(other[1][0] != f[1][0] for other in g):
                g.append(f)
                break
        else:
            groups.append([f])
    return groups


def work_lines(group):
    return "".join("^%s$ flops=%d bytes=%d dtype=%s\n" % (re.sub(r"([^\w])", r"\\\1", key[0]), case["flops"], case["bytes"],
                                                          case["dtype"]) for case, key, _ in group)


def kernel_of(document, key):
    for k in document["kernels"]:
        launch = k["launch"]
        if (k["name"], tuple(launch["grid"]), tuple(launch["block"]), launch["dyn_smem_bytes"]) == key:
            return k
    return None


def judged(recording, group):
    """[(case, values, kernel of the report or None)]"""
    path = fresh("work")
    with open(path, "w") as f:
        f.write(work_lines(group))
    p = run([KBN, "report", recording, "--json", "--work", path], bare_env(), 60)
    if p.returncode != 0:
        raise RuntimeError("kbn report: %s" % p.stderr.decode(errors="replace")[-300:])
    document = json.loads(p.stdout)
    return [(case, values, kernel_of(document, key)) for case, key, values in group]


# ------------------------------------------------------------------------------ side by side

def classify(compute, memory):
    if compute >= SATURATED:
        return "balanced" if memory >= SATURATED else "compute"
    return "memory" if memory >= SATURATED else "latency"


def row_of(group, case, values, k):
    r = k["roofline"]
    ours = {"launch": "latency"}.get(k["bottleneck"]["class"], k["bottleneck"]["class"])
    row = {"group": group, "case": case["case"], "kernel": k["name"], "flops": case["flops"], "bytes": case["bytes"],
           "dtype": case["dtype"], "kbn": ours, "label": k["bottleneck"]["label"],
           "reasons": [x["id"] for x in k["bottleneck"]["reasons"]], "median_us": k["time_us"]["median"],
           "kbn_compute": r["sol_compute_pct"]["value"], "kbn_memory": r["sol_memory_pct"]["value"],
           "ncu": classify(values[COMPUTE], values[DRAM]),
           "ncu_all_memory": classify(values[COMPUTE], values.get(MEMORY, values[DRAM])),
           "ncu_us": values.get(TIME, 0) / 1e3, "readings": values}
    row["why"] = [] if row["kbn"] == row["ncu"] else why(row)
    return row


def why(row):
    """What is known of a disagreement."""
    v, out = row["readings"], []
    for name, pct in (("kbn compute", row["kbn_compute"]), ("kbn memory", row["kbn_memory"]),
                      ("ncu compute", v[COMPUTE]), ("ncu DRAM", v[DRAM])):
        if pct is not None and abs(pct - SATURATED) <= 5:
            out.append("%s is %.1f%%, near the threshold" % (name, pct))
    math = max([v[m] for m in MATH if m in v] or [0])
    other = max([(v[m], m) for m in OTHER if m in v] or [(0, "")])
    if v[COMPUTE] >= SATURATED > math and other[0] >= SATURATED:
        out.append("ncu's busiest unit is no arithmetic: %s %.0f%%, arithmetic %.0f%%" % (
            other[1].split(".")[0], other[0], math))
    if math >= SATURATED and row["kbn_compute"] is not None and row["kbn_compute"] < SATURATED:
        out.append("an arithmetic unit is busy for %.0f%% with more than the FLOPs of the formula (indices, comparisons, "
                   "instructions below its full rate)" % math)
    if row["bytes"] > 0 and RATE in v:
        ratio = v[RATE] * row["ncu_us"] / 1e6 / row["bytes"]
        if not 0.8 <= ratio <= 1.25:
            out.append("DRAM moved %.2f times the unique bytes" % ratio)
    if row["median_us"] and not 0.85 <= row["ncu_us"] / row["median_us"] <= 1.18:
        out.append("ncu's launch took %.1f us, kbn's median is %.1f" % (row["ncu_us"], row["median_us"]))
    if row["kbn"] == "unknown":
        out.append("kbn: " + " ".join(row["reasons"]))
    return out or ["no reason found"]


def matrix(rows):
    """Lines: by ncu's class, how often kbn gave which."""
    count = collections.Counter((r["ncu"], r["kbn"]) for r in rows)
    names = CLASSES + ("unknown",)
    lines = ["%-14s" % "ncu \\ kbn" + "".join("%10s" % n for n in names)]
    for theirs in CLASSES:
        lines.append("%-14s" % theirs + "".join("%10d" % count[theirs, n] for n in names))
    return lines


def measure(group, command, rows, dropped):
    out, listed = fresh("classes"), fresh("list")
    p = run(command(listed, CALLS), shim_env(out, KBN_REPORT="none"), 100)
    if p.returncode != 0:
        raise RuntimeError("status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-300:]))
    calls = {c["case"]: c.get("calls") for c in read_list(listed)}
    seen = launches(command(listed, 1), METRICS, ["--profile-from-start", "off"], 140)
    found, less = match_cases(read_list(listed), seen)
    found, doubles = without_doubles(found)
    dropped += less + doubles
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for part in pool.map(lambda g: judged(out, g), groups_of(found)):
            for case, values, k in part:
                if k is None:
                    dropped.append("%s: not in the report" % case["case"])
                elif k["launches"] != calls.get(case["case"]):
                    dropped.append("%s: %d launches in the report, %s calls: not of this case alone" % (
                        case["case"], k["launches"], calls.get(case["case"])))
                else:
                    rows.append(row_of(group, case, values, k))


def judge(rows, dropped):
    for r in sorted(rows, key=lambda r: (r["group"], r["ncu"], r["case"])):
        print("     %-8s %-36s ncu %-9s C %5.1f D %5.1f M %5.1f %9.1f us | kbn %-9s C %5s M %5s %9s us%s" % (
            r["group"], r["case"], r["ncu"], r["readings"][COMPUTE], r["readings"][DRAM],
            r["readings"].get(MEMORY, float("nan")), r["ncu_us"], r["kbn"], short(r["kbn_compute"]),
            short(r["kbn_memory"]), short(r["median_us"]), "" if not r["why"] else "   <> " + "; ".join(r["why"])))
    print("\n".join("     " + line for line in matrix(rows) + ["not compared: " + d for d in dropped]))
    for group, least in LEAST.items():
        n = sum(r["group"] == group for r in rows)
        result("k", "class: %s kernels" % group, n >= least, "%d compared (at least %d)" % (n, least))
    agree = sum(r["kbn"] == r["ncu"] for r in rows)
    beside = sum(r["kbn"] == r["ncu_all_memory"] for r in rows)
    each = collections.Counter(r["ncu"] for r in rows)
    few = [c for c in CLASSES if each[c] < LEAST_OF_CLASS]
    result("k", "class: agreement", bool(rows) and 100 * agree >= AGREE_PCT * len(rows),
           "%d of %d kernels (%.1f%%, at least %d%%); by ncu's busiest memory instead of DRAM %.1f%%" % (
               agree, len(rows), 100 * agree / max(len(rows), 1), AGREE_PCT, 100 * beside / max(len(rows), 1)),
           matrix=matrix(rows), disagreements=[[r["group"], r["case"], r["ncu"], r["kbn"], r["why"]] for r in rows if r["why"]])
    result("k", "class: each one", not few, ", ".join("%s %d" % (c, each[c]) for c in CLASSES) +
           " by ncu (at least %d of each)" % LEAST_OF_CLASS)


def main():
    rows, dropped = [], []
    for group, command in programs():
        guarded("k", "class: " + group, measure, group, command, rows, dropped)
        with open(os.path.join(OUT, "classes.json"), "w") as f: # at once: a limit may end this section
            json.dump({"kernels": rows, "not_compared": dropped}, f, indent=1)
    guarded("k", "class", judge, rows, dropped)


def short(v):
    return "-" if v is None else "%.1f" % v


if __name__ == "__main__":
    main()
