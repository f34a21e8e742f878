"""
Section l: what the report derives of the lanes of a warp (sectors per request, wavefronts, requests, divergence,
atomics, in all and by instruction) against what Nsight Compute counts of the same launches: samples, CUDA,
Triton, PyTorch. What the report calls derived has to be within 1% of the count, what it calls estimated within its
interval; one derived figure that is not fails the line. What is unknown is counted.

  lanes.py              as a section of scripts/gpu-check: lanes.json and lanes.tar.xz.* in $OUT
  lanes.py FOLDER       compares again what an unpacked lanes.tar.xz holds, without a GPU

By instruction the reference is what ncu counts by patching the code ("L2 Theoretical Sectors Global", "L1 Wavefronts
Shared", "Instructions Executed"), so it is of that instruction alone; of a kernel it is what the hardware counts
at the L1 (l1tex__t_sectors / l1tex__t_requests). Not compared: `excess`, where ncu has another ideal (each lane
its own bytes, also where lanes share them).
"""
import collections
import concurrent.futures
import csv
import io
import json
import math
import os
import re
import shutil
import sys

from gpulib import BUILD, GPU, OUT, archive, bare_env, fresh, guarded, report, result, run, shim_env, work
from ncu import DYNAMIC, MARKER, parse

NEAR = 0.01
NEAR_LANES_PCT = 0.05 # of divergence, which may be 0
SITES_MOST = 64 # that a report lists
SHOWN = 40
SECTORS, WAVEFRONTS = "memory_l2_theoretical_sectors_global", "memory_l1_wavefronts_shared"
WARPS, LANES = "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"
RATIO = "smsp__thread_inst_executed_per_inst_executed.ratio"
L1 = "l1tex__t_%s_pipe_lsu_mem_global_op_%s.sum"
# an asynchronous copy is a load here; which of its names a chip has, ncu is asked
COPY_OPS = (("ldgsts",), ("ldgsts_cache_access", "ldgsts_cache_bypass"))
# column of ncu's source page: our name
COLUMNS = {"Instructions Executed": "warps", "Thread Instructions Executed": "lanes",
           "Predicated-On Thread Instructions Executed": "lanes_on", "L2 Theoretical Sectors Global": "sectors",
           "L1 Wavefronts Shared": "wavefronts", "inst_executed": "warps", "thread_inst_executed": "lanes",
           "thread_inst_executed_true": "lanes_on", SECTORS: "sectors", WAVEFRONTS: "wavefronts"}
CASES_ONLY = ["--profile-from-start", "off"]


def programs():
    """(name, command, options of ncu)"""
    listed, wanted = fresh("list"), os.environ.get("GPU_LANES", "samples lanes cuda triton pytorch").split()
    return [p for p in (
        ("samples", [os.path.join(BUILD, "samples", "demo"), "-n", "1"], []),
        ("lanes", [os.path.join(GPU, "app_lanes")], []),
        ("cuda", [os.path.join(GPU, "app_class"), listed, "1"], CASES_ONLY),
        ("triton", work("work_tiles.py", listed, 1), CASES_ONLY),
        ("pytorch", work("work_class.py", listed, 1, 0, 2), CASES_ONLY),
    ) if p[0] in wanted]


# ------------------------------------------------------------------------------ ncu

def ncu(*args, limit=60):
    p = run([shutil.which("ncu") or "/usr/local/cuda/bin/ncu", *args], bare_env(), limit)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def copy_ops():
    """The names under which this chip counts asynchronous copies; () where ncu does not say."""
    _, text, _ = ncu("--query-metrics", limit=40)
    for ops in COPY_OPS:
        if all(L1[:-4] % ("sectors", op) in text and L1[:-4] % ("requests", op) in text for op in ops):
            return ops
    return ()


def metrics(ops):
    return [WARPS, LANES, RATIO, SECTORS, WAVEFRONTS] + [L1 % (what, op) for op in ("ld", "st", *ops)
                                                         for what in ("requests", "sectors")]


def instructions(text):
    """[(kernel name, [{"offset", "text", counts}])] of ncu's source page, in its order."""
    kernels, header = [], None
    for row in csv.reader(io.StringIO(text)):
        if len(row) >= 2 and row[0] in ("Kernel Name", "Function Name"):
            kernels.append((row[1], []))
            header = None
        elif "Address" in row[:3] and "Source" in row[:4]:
            header = row
        elif header and kernels and len(row) == len(header):
            cells = dict(zip(header, row))
            if not re.fullmatch(r"0x[0-9a-f]+|\d+", cells["Address"].strip()):
                continue
            insn = {"offset": int(cells["Address"], 0), "text": cells["Source"].strip()}
            for column, name in COLUMNS.items():
                if column in cells:
                    try:
                        insn[name] = float(cells[column].replace(",", "") or 0)
                    except ValueError:
                        insn[name] = 0.0
            kernels[-1][1].append(insn)
    for _, insns in kernels:
        for insn in insns[::-1]:
            insn["offset"] -= insns[0]["offset"]
    return kernels


def worth_keeping(insn):
    return any(insn.get(c) for c in ("sectors", "wavefronts")) or re.search(r"\b(ATOM|RED|BRA)", insn["text"])


def align(rows, pages):
    """The page of each launch, [] where that is not clear: a name's launches in order, each with as many pages."""
    of_name, seen = collections.defaultdict(list), collections.Counter()
    for name, insns in pages:
        of_name[name].append(insns)
    launches = collections.Counter(key[0] for key, _ in rows)
    out = []
    for key, _ in rows:
        found, n = of_name[key[0]], launches[key[0]]
        out.append(found[seen[key[0]] * (len(found) // n)] if found and len(found) % n == 0 else [])
        seen[key[0]] += 1
    return out


def profile(name, command, options, ops, folder):
    """What ncu counts of a program's launches, into `folder`/NAME.json. Clocks and caches are left alone."""
    wanted, path = metrics(ops), os.path.join(fresh("ncu") + ".ncu-rep")
    status, out, err = ncu("--clock-control", "none", "--cache-control", "none", "--target-processes", "all", "--section",
                           "SourceCounters", "--metrics", ",".join(wanted + [DYNAMIC]), "-f", "-o", path, *options, *command,
                           limit=200)
    if not os.path.exists(path):
        raise RuntimeError("ncu: status %d: %s" % (status, (err + out)[-300:]))
    page = ["--import", path, "--csv", "--print-kernel-base", "mangled", "--print-units", "base", "--page"]
    rows = parse(ncu(*page, "raw")[1], wanted)
    text = ncu(*page, "source", "--print-source", "sass", limit=120)[1]
    with open(os.path.join(folder, name + ".source.txt"), "w") as f:
        f.write(text[:20000]) # as it comes, should it not be understood
    pages = align(rows, instructions(text))
    launches = [{"name": key[0], "grid": key[1], "block": key[2], "dyn_smem_bytes": key[3], "counts": counts,
                 "insns": [i for i in insns if worth_keeping(i)]}
                for (key, counts), insns in zip(rows, pages) if MARKER not in key[0]]
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump(launches, f)


def record(name, command, folder):
    p = run(command, shim_env(os.path.join(folder, name), KBN_REPORT="none"), 150)
    if p.returncode != 0:
        raise RuntimeError("status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-200:]))


# ------------------------------------------------------------------------------ comparing

class Reading:
    """A figure of the report; that of a kernel where `site` is None."""

    def __init__(self, kernel, site, what, q, theirs, near=None):
        self.what, self.q, self.theirs = what, q, theirs
        self.kernel, self.site = kernel, site
        near = NEAR * max(abs(q["value"] or 0), abs(theirs)) if near is None else near
        if q["value"] is None:
            self.state = "unknown"
        else:
            low = q["value"] if q["label"] == "derived" or q["low"] is None else q["low"]
            high = q["value"] if q["label"] == "derived" else q["high"] if q["high"] is not None else math.inf
            inside = low - near - 1e-9 <= theirs <= high + near + 1e-9
            self.state = "%s %s" % (q["label"], "equal" if inside else "DIFFERENT")

    def data(self):
        return {"kernel": self.kernel["name"], "grid": self.kernel["launch"]["grid"],
                "block": self.kernel["launch"]["block"], "site": self.site and [self.site["offset"], self.site["op"]],
                "what": self.what, "state": self.state, "ncu": self.theirs,
                "kbn": {f: self.q[f] for f in ("value", "low", "high", "label", "why")}}

    def __str__(self):
        q = self.q
        ours = "%s %s" % (q["label"], q["value"]) + ("" if q["label"] == "derived" else " (%s..%s)" % (q["low"], q["high"]))
        return "%s %s %s: %s, ncu %.6g" % (self.kernel["name"][:60], "%s %s" % (self.site["offset"], self.site["op"]) if
                                          self.site else "", self.what, ours, self.theirs)


def product(a, b):
    """Of two figures; unknown where one is."""
    if a["value"] is None or b["value"] is None:
        return {"value": None, "low": None, "high": None, "label": "unknown", "why": a["why"] or b["why"]}
    ends = [None if a[e] is None or b[e] is None else a[e] * b[e] for e in ("low", "high")]
    return {"value": a["value"] * b["value"], "low": ends[0], "high": ends[1],
            "label": "derived" if a["label"] == b["label"] == "derived" else "estimated", "why": a["why"] or b["why"]}


def total(figures):
    figures = list(figures)
    out = {"value": 0, "low": 0, "high": 0, "label": "derived", "why": None}
    for q in figures:
        if q["value"] is None:
            return q
        for end in ("value", "low", "high"):
            out[end] = None if out[end] is None or q[end] is None else out[end] + q[end]
        if q["label"] != "derived":
            out["label"], out["why"] = q["label"], q["why"]
    return out


def of_site(kernel, site, insn):
    """Readings of one instruction. A guard may keep a whole warp from a request that it executes."""
    kind = site["kind"]
    # a predicate among the operands of a copy says likewise whether it reads
    is_guarded = insn["text"].startswith("@") or bool(re.match(r"LDGSTS.*, !?U?P\d\b", insn["text"]))
    count = insn.get("wavefronts" if kind == "shared" else "sectors", 0)
    if not is_guarded:
        yield Reading(kernel, site, "requests", site["requests"], insn["warps"])
    if kind == "atomic" and "SYS" not in site["op"]:
        return # sectors of what the L2 does are not counted by all versions
    if site["requests"]["value"] is not None:
        if count or site["sectors_per_request"]["value"] is not None:
            yield Reading(kernel, site, "wavefronts" if kind == "shared" else "sectors",
                          product(site["requests"], site["sectors_per_request"]), count)
    if insn["warps"] and not is_guarded:
        yield Reading(kernel, site, "wavefronts per request" if kind == "shared" else "sectors per request",
                      site["sectors_per_request"], count / insn["warps"])


def by_instruction(kernel, launch, problems):
    insns = {i["offset"]: i for i in launch["insns"]}
    for site in kernel["sites"]:
        insn = insns.get(int(site["offset"], 0))
        if site["kind"] == "branch":
            continue
        if insn and site["op"].split(".")[0] not in insn["text"]:
            problems.append("%s %s: %s there, by ncu %s" % (kernel["name"][:60], site["offset"], site["op"], insn["text"]))
        elif insn and "warps" in insn:
            yield from of_site(kernel, site, insn)
        elif launch["insns"] and site["requests"]["value"]:
            # what ncu saw nothing of was not executed, or moved nothing
            yield Reading(kernel, site, "requests at a place without any", site["requests"], 0)


def hardware(counts, ops):
    """(requests, sectors) of loads or stores at the L1; None where not counted."""
    found = [(counts.get(L1 % ("requests", op)), counts.get(L1 % ("sectors", op))) for op in ops]
    found = [f for f in found if None not in f]
    return [sum(f) for f in zip(*found)] if found else None


def in_all(kernel, launch):
    """Readings of the whole kernel."""
    counts, w = launch["counts"], kernel["work"]
    is_whole = len(kernel["sites"]) < SITES_MOST
    for kind, ops in (("load", ("ld", *{op for both in COPY_OPS for op in both})), ("store", ("st",))):
        seen = hardware(counts, ops)
        sites = [s for s in kernel["sites"] if s["kind"] == kind]
        # by hardware's count a copy that bypasses the L1 has less sectors than it fetches
        if seen and seen[0] and not any("LDGSTS" in s["op"] for s in sites):
            yield Reading(kernel, None, "sectors per request of a " + kind, w["sectors_per_request_" + kind], seen[1] / seen[0])
        if seen and is_whole and sites:
            yield Reading(kernel, None, "requests of %ss" % kind, total(s["requests"] for s in sites), seen[0])
    # ncu counts atomics of shared memory as well
    if is_whole and WAVEFRONTS in counts and not any("ATOMS" in s["op"] for s in kernel["sites"]):
        shared = [s for s in kernel["sites"] if s["kind"] == "shared"]
        if shared:
            yield Reading(kernel, None, "shared wavefronts", total(product(s["requests"], s["sectors_per_request"])
                                                                  for s in shared), counts[WAVEFRONTS])
    moved = [i for i in launch["insns"] if i.get("wavefronts") and not i["text"].startswith("@")]
    if moved and len(moved) == sum(bool(i.get("wavefronts")) for i in launch["insns"]):
        yield Reading(kernel, None, "wavefronts per shared request", w["shared_wavefronts_per_request"],
                      sum(i["wavefronts"] for i in moved) / sum(i["warps"] for i in moved))
    at = {int(s["offset"], 0) for s in kernel["sites"] if s["kind"] == "atomic"}
    atomics = [i for i in launch["insns"] if i["offset"] in at]
    if is_whole and (atomics or not at) and launch["insns"] and all("lanes_on" in i for i in atomics):
        yield Reading(kernel, None, "atomics", w["atomics"], sum(i["lanes_on"] for i in atomics))
    yield from divergence(kernel, counts)
    if counts.get(WARPS):
        yield Reading(kernel, None, "warp instructions", w["warp_instructions"], counts[WARPS])


def divergence(kernel, counts):
    """Of lanes that the warps have: blocks of whole warps, or of less than one."""
    x, y, z = kernel["launch"]["block"]
    threads = x * y * z
    lanes = counts[LANES] / counts[WARPS] if counts.get(WARPS) and LANES in counts else counts.get(RATIO)
    if lanes and (threads % 32 == 0 or threads < 32):
        yield Reading(kernel, None, "divergence", kernel["work"]["divergence_pct"],
                      100 * (1 - lanes / min(threads, 32)), NEAR_LANES_PCT)


def key_of(grid, block, dynamic, name):
    return name, tuple(grid), tuple(block), dynamic


def compare(name, folder):
    """([Reading], [problems]) of one program."""
    launches = json.load(open(os.path.join(folder, name + ".json")))
    kernels, problems, out = collections.defaultdict(list), [], []
    for k in report(os.path.join(folder, name))["kernels"]:
        kernels[key_of(k["launch"]["grid"], k["launch"]["block"], k["launch"]["dyn_smem_bytes"], k["name"])].append(k)
    for launch in launches:
        found = kernels[key_of(launch["grid"], launch["block"], launch["dyn_smem_bytes"], launch["name"])]
        if len(found) != 1:
            problems.append("%s %s: %d of that name and geometry" % (launch["name"][:60], launch["grid"], len(found)))
            continue
        if not launch["insns"]:
            problems.append("%s: no counts by instruction" % launch["name"][:60])
        out += list(in_all(found[0], launch)) + list(by_instruction(found[0], launch, problems))
    return out, problems


def judge(name, folder, everything):
    readings, problems = compare(name, folder)
    n = collections.Counter(r.state for r in readings)
    for r in sorted((r for r in readings if "DIFFERENT" in r.state), key=lambda r: r.state)[:SHOWN]:
        print("     %s" % r)
    for p in problems[:SHOWN]:
        print("     not compared: %s" % p)
    everything[name] = {"counts": n, "not_compared": problems,
                        "different": [r.data() for r in readings if "DIFFERENT" in r.state],
                        "by_what": collections.Counter("%s, %s" % (r.what, r.state) for r in readings)}
    by_instruction_too = sum(r.site is not None and r.state == "derived equal" for r in readings)
    result("l", "lanes: " + name, by_instruction_too > 0 and not n["derived DIFFERENT"],
           "derived: %d equal, %d different; estimated: %d within, %d outside; unknown %d; launches not compared %d" % (
               n["derived equal"], n["derived DIFFERENT"], n["estimated equal"], n["estimated DIFFERENT"], n["unknown"],
               len(problems)))


def collect(folder):
    """Everything of all programs into `folder`. Counts do not depend on what else runs, so recording may go on meanwhile."""
    ops, listed = copy_ops(), programs()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        recording = [(name, pool.submit(record, name, command, folder)) for name, command, _ in listed]
        for name, command, options in listed:
            guarded("l", "lanes: %s under ncu" % name, profile, name, command, options, ops, folder)
        for name, done in recording:
            guarded("l", "lanes: %s recorded" % name, done.result)
    return [name for name, _, _ in listed]


def main():
    again = len(sys.argv) > 1
    folder, everything = sys.argv[1] if again else fresh("lanes"), {}
    os.makedirs(folder, exist_ok=True)
    names = [n for n in ("samples", "lanes", "cuda", "triton", "pytorch") if os.path.exists(os.path.join(folder, n + ".json"))]
    for name in names if again else collect(folder):
        guarded("l", "lanes: " + name, judge, name, folder, everything)
        path = os.path.join(folder, "compared.json") if again else os.path.join(OUT, "lanes.json")
        with open(path, "w") as f: # at once: a limit may end this section
            json.dump(everything, f, indent=1)
    if not again:
        archive(folder, "lanes.tar.xz")


if __name__ == "__main__":
    main()
