#!/usr/bin/env python3
"""samples.py - what `kbn analyze` says of every sample, all of it, on every architecture of tests/golden/cubin.

Geometry and arguments are those of samples/demo.c, times those of h200-times.json, work that of WORK below. Each
sample is looked at by its code alone, and on the H200 with time and work as well. Prints one line for each list that
differs: the stored output is the expectation. Beside it, whatever is stored, these must hold, else there are lines
that begin with FAULT, and the exit status is 1:

  - the advice that the first comment of a sample names comes, that which it names with "No advice" does not
  - an advice comes with the finding that shows the same (SHOWN_BY)
  - the two published cases of the ratio, held to be memory-bound: 8 IMMA a tile are to copy asynchronously, 64 HMMA
    and what copies so already are not
  - under another name, and with another size, a sample gets the same advice and findings

usage: samples.py KBN      at the top of the tree
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, "tests")
import demo_table  # noqa: E402

KBN = sys.argv[1]
CUBINS = "tests/golden/cubin"
HERE = "tests/golden/advice"
IN, OUT = 0x7F0000000000, 0x7F1000000000

# The device that stands for an architecture.
DEVICES = {80: "NVIDIA A100-SXM4-40GB", 86: "NVIDIA GeForce RTX 3070 Ti", 89: "NVIDIA L4", 90: "NVIDIA H200",
           100: "NVIDIA B200", 120: "NVIDIA GeForce RTX 5090"}

# Which finding shows what an advice is about.
SHOWN_BY = {"A004": "T008", "A011": "T013", "A015": "R002", "A016": "R003", "A017": "T006", "A019": "T002",
            "A020": "T012", "A021": "T010", "A022": "T009", "A023": "T011", "A024": "T001", "A026": "T014",
            "A027": "T015", "A028": "T016", "A030": "R017"}

# What follows from the grid: another size may have it, or lose it.
OF_THE_GRID = {"A009", "A014", "A015", "A016", "A018", "R002", "R003", "R004", "R005"}

# Advice that needs to know what limits the kernel: not by code and geometry alone.
NEEDS_CLASS = {"A001", "A003", "A005", "A008", "A014"}

# Advice that needs a recording: how long the host takes from launch to launch.
NEEDS_RUN = {"A018"}

# FLOPs and unique bytes of a launch with n words, t threads: options of kbn analyze. Nothing where nobody knows.
WORK = {
    "uncoalesced": ("0", "8*n"), "bank_conflict": ("0", "8*n*n"), "spill": ("t*1088", "8*n"),
    "smem_cliff": ("n", "4*n"), "tiny_grid": ("2*n", "8*n"), "tail": ("t*1024", "8*t"),
    "divergent": ("t*128", "8*n"), "pointer_chase": ("0", "4*n+4*t"), "ffma_peak": ("t*4096", "8*t"),
    "memory_stream": ("n", "8*n"), "fp64_leak": ("t*64", "8*n"), "atomic": ("0", "4*n"), "debug": ("t*64", "8*n"),
    "launch_bound": ("2*n", "8*n"), "over_sync": ("0", "4*n"), "async_copy": ("2*n", "4*n"),
    "few_warps": ("t*128", "4*n+4*t"), "small_data": ("0", "8*n"), "gemm": ("2*n**3", "8*n*n"), "tensor": ("2*n**3", "8*n*n"),
}


def fault(text):
    faults.append("FAULT " + text)


class Sample:
    def __init__(self, row):
        self.row, self.file, self.symbol, self.n = row, row.file, row.symbol, row.n
        self.block = [row.block_x, row.block_y]
        self.stem, self.kind = self.file.rsplit("_", 1)
        with open(f"samples/{self.file}.cu") as f:
            head = f.read().split("*/")[0]
        self.wanted = re.findall(r"A\d+", "".join(re.findall(r"^ \* Advice: (.*)$", head, re.M)))
        self.unwanted = re.findall(r"A\d+", "".join(re.findall(r"^ \* No advice: (.*)$", head, re.M)))


class Device:
    def __init__(self, sm):
        product = next(p for p in known["products"] if p["name"] == DEVICES[sm])
        limits = next(a for a in known["architectures"] if a["sm"] == f"sm_{sm}")
        self.name, self.sm, self.sms = product["name"], sm, product["sm_count"]
        self.gbps = product["dram_gbps"]
        self.threads = 32 * limits["warps_per_sm"]
        self.cliff = limits["smem_per_sm_kb"] * 512 - limits["smem_reserved_per_block_bytes"]


def grid_of(s, d, block):
    return demo_table.grid(s.row, d.sms, d.threads, block)


def larger(s, d):
    """The same kernel with other sizes: grid, block and n."""
    block, n = list(s.block), s.n
    if s.row.per_sm == demo_table.FULL:  # the tail is that of a grid: other blocks
        block = [s.block[0] // 2, s.block[1]]
    elif s.row.per_sm or s.stem == "tiny_grid":
        n *= 2  # more turns of the loop
    grid = grid_of(s, d, block)
    if not s.row.per_sm and s.stem != "tiny_grid":
        grid = [2 * g if g > 1 else 1 for g in grid]
        n *= 2
    return grid, block, n


def analyze(file, symbol, s, d, grid, block, n, us):
    smem = demo_table.dynamic_smem(s.row, d.cliff)
    command = [KBN, "analyze", file, "--kernel", f"^{symbol}$", "--device", d.name, "--json",
               "--grid", ",".join(map(str, grid)), "--block", ",".join(map(str, block)), "--dyn-smem", str(smem),
               "--arg", f"ptr:{OUT}", "--arg", f"ptr:{IN}", "--arg", f"i32:{n}",
               "--alloc", f"{OUT}:{8 * demo_table.BIG}", "--alloc", f"{IN}:{8 * demo_table.BIG}"]
    if us:
        threads = grid[0] * grid[1] * block[0] * block[1]
        command += ["--time-us", str(us)]
        if s.stem in WORK:
            flops, size = (eval(e, {"n": n, "t": threads}) for e in WORK[s.stem])
            command += ["--flops", str(flops), "--bytes", str(size)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        fault(f"{' '.join(command)}: {done.stderr.strip()}")
        return None
    k = json.loads(done.stdout)["kernels"][0]

    for a in k["advice"]:
        if len(a["evidence"]) < 2:
            fault(f"{s.file} sm_{d.sm}: {a['id']} has {len(a['evidence'])} readings")
    return lists_of(k)


def lists_of(k):
    def ids(items):
        return sorted(i["id"][4:] for i in items)

    return {"class": k["bottleneck"]["class"], "advice": [a["id"][4:] for a in k["advice"]],
            "not now": ids(k["not_now"]), "findings": ids(k["traps"] + k["bottleneck"]["reasons"])}


def text_of(found):
    return "  ".join([found["class"].ljust(8), "do " + (" ".join(found["advice"]) or "-"),
                      "not " + (" ".join(found["not now"]) or "-"), "says " + (" ".join(found["findings"]) or "-")])


def renamed(path, symbol, folder):
    """A copy of a cubin in which the kernel is called otherwise, by as many letters."""
    name = re.sub(r"^_Z\d+([a-z_]+?)I.*|^(\w+)$", r"\1\2", symbol)
    other = ("kernel_" * 9)[:len(name)]
    with open(path, "rb") as f:
        data = f.read()
    copy = os.path.join(folder, os.path.basename(path))
    with open(copy, "wb") as f:
        f.write(data.replace(name.encode(), other.encode()))
    return copy, symbol.replace(name, other)


def hold_together(s, where, found, is_timed):
    """What the sample's own comment asks for."""
    advice, findings = found["advice"], found["findings"]
    for a in s.wanted:
        if a not in advice and a not in NEEDS_RUN and (is_timed or a not in NEEDS_CLASS):
            fault(f"{s.file} {where}: no {a}")
    for a in s.unwanted:
        if a in advice:
            fault(f"{s.file} {where}: {a}")
    for a in advice:
        # barriers cost a little long before they cost most
        if SHOWN_BY.get(a, "R")[0] == "T" and SHOWN_BY[a] not in findings and a != "A026":
            fault(f"{s.file} {where}: {a} without {SHOWN_BY[a]}")
    for a in s.wanted:
        # reasons are for a kernel that neither side saturates
        if a in SHOWN_BY and SHOWN_BY[a] not in findings and not (is_timed and SHOWN_BY[a][0] == "R"):
            fault(f"{s.file} {where}: no {SHOWN_BY[a]}")
    for a in s.unwanted:
        if SHOWN_BY.get(a) in findings:
            fault(f"{s.file} {where}: {SHOWN_BY[a]}")


def same(s, d, what, found, other, apart=frozenset()):
    """The same lists, but for ids `apart`; those of the sample's own comment are never apart."""
    own = set(s.wanted) | {SHOWN_BY.get(a) for a in s.wanted}

    def kept(items):
        return items if isinstance(items, str) else sorted(i for i in items if i in own or i not in apart)

    if other and any(kept(found[k]) != kept(other[k]) for k in found):
        fault(f"{s.file} sm_{d.sm} {what}: {text_of(other)}\n      instead of {text_of(found)}")


def look(s):
    """All lists of one sample, as lines."""
    lists = {}
    with tempfile.TemporaryDirectory() as folder:
        for sm, d in devices.items():
            path = f"{CUBINS}/{s.file}.sm_{sm}.cubin"
            grid = grid_of(s, d, s.block)
            found = analyze(path, s.symbol, s, d, grid, s.block, s.n, None)
            if not found:
                continue
            hold_together(s, f"sm_{sm}", found, False)
            lists.setdefault(text_of(found), []).append(f"sm_{sm}")
            copy, symbol = renamed(path, s.symbol, folder)
            same(s, d, "under another name", found, analyze(copy, symbol, s, d, grid, s.block, s.n, None))
            same(s, d, "with another size", found, analyze(path, s.symbol, s, d, *larger(s, d), None),
                 OF_THE_GRID)
            us = times["kernels"].get(s.symbol) if sm == 90 else None
            if us:
                found = analyze(path, s.symbol, s, d, grid, s.block, s.n, us)
                hold_together(s, "on the H200", found, True)
                lists.setdefault(text_of(found), []).append(f"H200 {us:g} us")
    return [f"{s.file:<19} {','.join(where)}\n    {what}" for what, where in lists.items()]


def published(d):
    """The kernels of tests/golden/tile/published.cu with a time at which DRAM delivers 65% of its bandwidth."""
    lines = []
    for kernel in ("hmma_64", "imma_8", "hmma_async"):
        command = [KBN, "analyze", f"tests/golden/tile/published.sm_{d.sm}.cubin", "--kernel", f"^{kernel}$", "--json",
                   "--device", d.name, "--grid", str(4 * d.sms), "--block", "128", "--arg", f"ptr:{IN}", "--arg",
                   f"ptr:{IN}", "--arg", f"ptr:{OUT}", "--arg", "i32:64", "--time-us", "100", "--flops", "0",
                   "--bytes", str(int(0.65 * d.gbps * 1e5))]
        k = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["kernels"][0]
        found = lists_of(k)
        if ("A001" in found["advice"]) != (kernel == "imma_8") or ("A001" in found["not now"]) == (kernel == "imma_8"):
            fault(f"{kernel} sm_{d.sm}: {text_of(found)}")
        lines.append(f"{kernel:<19} sm_{d.sm}, memory-bound\n    {text_of(found)}")
    return lines


faults = []
known = json.loads(subprocess.run([KBN, "devices", "--json"], capture_output=True, check=True).stdout)
devices = {sm: Device(sm) for sm in DEVICES}
with open(f"{HERE}/h200-times.json") as f:
    times = json.load(f)
samples = [Sample(row) for row in demo_table.ROWS]
with ThreadPoolExecutor(2) as pool:
    for lines in pool.map(look, samples):
        print("\n".join(lines))
for device in devices.values():
    if device.sm != 89:  # not built for it
        print("\n".join(published(device)))
print("\n".join(sorted(faults)))
sys.exit(1 if faults else 0)
