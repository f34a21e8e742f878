"""
Section e: registers, shared memory, occupancy limits and waves of each kernel, against Nsight
Compute on the same program. Kernels are matched by mangled name and launch geometry.
"""
import csv
import io
import os
import re
import shutil

from gpulib import BUILD, bare_env, fresh, guarded, report, result, run, shim_env, work

# ncu metric, our value, tolerance
METRICS = [
    ("launch__registers_per_thread", lambda k: k["resources"]["registers"], 0),
    ("launch__shared_mem_per_block_static", lambda k: k["resources"]["static_smem_bytes"], 0),
    ("launch__occupancy_limit_registers", lambda k: k["occupancy"]["limits"]["registers"], 0),
    ("launch__occupancy_limit_shared_mem", lambda k: k["occupancy"]["limits"]["shared_memory"], 0),
    ("launch__occupancy_limit_warps", lambda k: k["occupancy"]["limits"]["warps"], 0),
    ("launch__occupancy_limit_blocks", lambda k: k["occupancy"]["limits"]["blocks"], 0),
    ("launch__waves_per_multiprocessor", lambda k: k["occupancy"]["waves"], 1e-3),
    ("sm__maximum_warps_per_active_cycle_pct", lambda k: k["occupancy"]["pct"], 1e-3),
]
DYNAMIC = "launch__shared_mem_per_block_dynamic"
# A resource that limits nothing has no number of ours, or a number past any other limit.
UNLIMITED = 32


def triple(text):
    n = [int(v) for v in re.findall(r"\d+", text)]
    return tuple((n + [1, 1, 1])[:3])


def ncu_rows(command):
    """{(mangled name, grid, block, dynamic bytes): {metric: value}}"""
    metrics = ",".join([m for m, _, _ in METRICS] + [DYNAMIC])
    p = run([shutil.which("ncu") or "/usr/local/cuda/bin/ncu", "--clock-control", "none", "--target-processes", "all",
             "--metrics", metrics, "--print-kernel-base", "mangled", "--print-units", "base", "--page", "raw",
             "--csv", "--launch-count", "700"] + command, bare_env(), 170)
    text = p.stdout.decode(errors="replace")
    start = text.find('"ID"')
    if start < 0:
        raise RuntimeError("ncu gave no table: %s" % (text + p.stderr.decode(errors="replace"))[-300:])
    rows = {}
    for row in csv.DictReader(io.StringIO(text[start:])):
        if not (row.get("ID") or "").isdigit():
            continue # the row of units
        values = {m: float(row[m].replace(",", "")) for m, _, _ in METRICS if row.get(m)}
        key = (row["Kernel Name"], triple(row["Grid Size"]), triple(row["Block Size"]),
               int(float((row.get(DYNAMIC) or "0").replace(",", ""))))
        rows[key] = values
    return rows


def equal(ours, theirs, tolerance):
    if ours is None:
        return theirs >= UNLIMITED
    return abs(ours - theirs) <= tolerance * max(1.0, abs(theirs)) or (ours >= UNLIMITED and theirs >= UNLIMITED)


def kbn_rows(command):
    out = fresh("ncu")
    run(command, shim_env(out))
    return {(k["name"], tuple(k["launch"]["grid"]), tuple(k["launch"]["block"]), k["launch"]["dyn_smem_bytes"]): k
            for k in report(out)["kernels"]}


def compare(name, command, least):
    theirs, ours = ncu_rows(command), kbn_rows(command)
    wrong = []
    matched = set(theirs) & set(ours)
    for key in sorted(matched):
        for metric, get, tolerance in METRICS:
            if metric not in theirs[key]: # renamed or refused: not a silent pass
                wrong.append("%s: ncu gave no %s" % (key[0][:60], metric))
            elif not equal(get(ours[key]), theirs[key][metric], tolerance):
                wrong.append("%s %s %s: %s is %s, ncu %g" % (key[0][:60], key[1], key[2], metric,
                                                             get(ours[key]), theirs[key][metric]))
    names = {key[0] for key in matched}
    result("e", "Nsight Compute: " + name, len(matched) >= least and not wrong,
           "%d launch shapes, %d kernels compared (of %d), %d differences%s" % (
               len(matched), len(names), len(theirs), len(wrong), ": " + wrong[0] if wrong else ""),
           differences=wrong[:40], unmatched=[str(k) for k in sorted(set(theirs) - matched)][:20])


def main():
    demo = [os.path.join(BUILD, "samples", "demo"), "-n", "1"]
    guarded("e", "Nsight Compute: samples", compare, "samples", demo, 20)
    guarded("e", "Nsight Compute: PyTorch", compare, "PyTorch", work("work_variety.py"), 60)


main()
