"""
Nsight Compute as the reference of the GPU checks: a program run under it, its table read. Metrics,
launches in their order, and which launches of a program belong to which of its cases. Nothing of kbn.
"""
import csv
import io
import re
import shutil

from gpulib import bare_env, run

DYNAMIC = "launch__shared_mem_per_block_dynamic"
MARKER = "spin_kernel" # launched before each case, by torch.cuda._sleep and by app_class.cu


def triple(text):
    n = [int(v) for v in re.findall(r"\d+", text)]
    return tuple((n + [1, 1, 1])[:3])


def number(text):
    return float(text.replace(",", ""))


def parse(text, wanted):
    """[(mangled name, grid, block, dynamic bytes), {metric: value}] in launch order; raises where there is no table."""
    start = text.find('"ID"')
    if start < 0:
        raise RuntimeError("ncu gave no table: %s" % text[-400:])
    rows = []
    for row in csv.DictReader(io.StringIO(text[start:])):
        if not (row.get("ID") or "").isdigit():
            continue # the row of units
        values = {}
        for metric in wanted:
            try:
                values[metric] = number(row.get(metric) or "")
            except ValueError:
                pass # "no data", "n/a": the metric is not there
        key = (row["Kernel Name"], triple(row["Grid Size"]), triple(row["Block Size"]),
               int(number(row.get(DYNAMIC) or "0")))
        rows.append((key, values))
    return rows


def launches(command, metrics, options=(), limit=170, read=None):
    """
    Run `command` under ncu; parse() of what it printed, of the metrics `read` where these are others than
    those asked for. Clocks and caches are left alone.
    """
    p = run([shutil.which("ncu") or "/usr/local/cuda/bin/ncu", "--clock-control", "none", "--target-processes", "all",
             "--metrics", ",".join(list(metrics) + [DYNAMIC]), "--print-kernel-base", "mangled", "--print-units", "base",
             "--page", "raw", "--csv", *options] + list(command), bare_env(), limit)
    try:
        return parse(p.stdout.decode(errors="replace"), list(read or metrics))
    except RuntimeError as e:
        raise RuntimeError("%s; status %d: %s" % (e, p.returncode, p.stderr.decode(errors="replace")[-300:])) from e


def by_case(rows):
    """[[(key, values)]]: the launches behind each marker; what comes before the first one is none's."""
    cases = []
    for key, values in rows:
        if MARKER in key[0]:
            cases.append([])
        elif cases:
            cases[-1].append((key, values))
    return cases
