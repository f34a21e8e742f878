"""
Section v: what warps waited for, as Nsight Compute samples it, of as many kernels as can be had:
samples, CUDA, PyTorch, Triton. Nothing is judged here but that there is enough: the samples go to
stalls.json, kbn's recordings of the same programs to stalls-recordings.tar.xz.*, both in $OUT, so that
what `kbn report` derives can be held against them anywhere (stall_score.py).

stalls.json: {"kernels": [{"program", "name" (mangled), "grid", "block", "dyn_smem_bytes", "launches", "interval",
"samples": {reason: n}, "not_issued": {reason: n}, "shares": {reason of the report: percent}}], "programs": [name]}.
The archive has a directory per program; `cat` puts its pieces together. Shares are of the samples in which the warp
did not issue ("selected" apart).
"""
import json
import os
import shutil

from gpulib import BUILD, GPU, OUT, archive, fresh, guarded, result, run, shim_env, work
from ncu import MARKER, launches
from pairs import PROGRAMS

LEAST_KERNELS, LEAST_SAMPLES = 60, 100
PIECE, PIECES = 15000000, 3 # what a machine gives back is limited
PREFIX, INTERVAL = "smsp__pcsamp_warps_issue_stalled_", "smsp__pcsamp_interval_cycles"
REASONS = ("barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle "
           "membar mio_throttle misc no_instructions not_selected selected short_scoreboard sleeping tex_throttle "
           "wait warpgroup_arrive").split()
# what the report calls them; everything else is "other", and "selected" is no stall
REPORT = {r: r for r in ("long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle", "lg_throttle",
                         "mio_throttle", "wait", "not_selected")}
REPORT["branch_resolving"] = "branch"
METRICS = [PREFIX + r for r in REASONS] + [PREFIX + r + "_not_issued" for r in REASONS]
# another version of ncu may know other reasons: then its own list of them
GROUPS = ["group:smsp__pcsamp_warp_stall_reasons", "group:smsp__pcsamp_warp_stall_reasons_not_issued"]
CASES_ONLY = ["--profile-from-start", "off"]
SECOND_ONLY = ["--kernel-id", ":::2"] # of programs that do not take a number of launches


def programs():
    """(name, command for a number of launches, options of ncu); GPU_STALLS names some of them"""
    listed, wanted = fresh("list"), os.environ.get("GPU_STALLS", "samples cuda triton pytorch pairs").split()
    return [p for p in (
        ("samples", lambda n: [os.path.join(BUILD, "samples", "demo"), "-n", str(n)], []),
        ("cuda", lambda n: [os.path.join(GPU, "app_class"), listed, str(n)], CASES_ONLY),
        ("triton", lambda n: work("work_tiles.py", listed, n), CASES_ONLY),
        ("pytorch", lambda n: work("work_class.py", listed, n), CASES_ONLY),
        *(("pairs " + name[len("app_pairs_"):], lambda n, name=name: [os.path.join(GPU, name)], SECOND_ONLY)
          for name in PROGRAMS),
    ) if p[0].split()[0] in wanted]


def shares(samples):
    """Percent of the stalled samples by the report's reasons; {} without samples."""
    total = sum(n for r, n in samples.items() if r != "selected")
    out = dict.fromkeys([*REPORT.values(), "other"], 0.0)
    for reason, n in samples.items():
        if reason != "selected" and total:
            out[REPORT.get(reason, "other")] += 100 * n / total
    return {r: round(v, 2) for r, v in out.items()} if total else {}


def collect(program, rows):
    """One entry per kernel and geometry, its launches added up."""
    kernels = {}
    for key, values in rows:
        if MARKER in key[0] or PREFIX + "selected" not in values:
            continue
        k = kernels.setdefault(key, {"program": program, "name": key[0], "grid": key[1], "block": key[2],
                                     "dyn_smem_bytes": key[3], "launches": 0, "interval": values.get(INTERVAL),
                                     "samples": dict.fromkeys(REASONS, 0), "not_issued": dict.fromkeys(REASONS, 0)})
        k["launches"] += 1
        for reason in REASONS:
            k["samples"][reason] += int(values.get(PREFIX + reason, 0))
            k["not_issued"][reason] += int(values.get(PREFIX + reason + "_not_issued", 0))
    for k in kernels.values():
        k["shares"] = shares(k["samples"])
    return list(kernels.values())


def record(command):
    """A recording's directory; raises when the program fails under kbn."""
    out = fresh("stalls")
    p = run(command, shim_env(out, KBN_REPORT="none"))
    if p.returncode != 0:
        raise RuntimeError("status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-200:]))
    return out


def sampled(command, options):
    try:
        return launches(command, METRICS, options, 110, METRICS + [INTERVAL])
    except RuntimeError as e:
        print("by groups, since %s" % e)
        return launches(command, GROUPS, options, 110, METRICS + [INTERVAL])


def sample(name, command, options, kernels, recordings):
    rows = sampled(command(2), options)
    found = collect(name, rows)
    kernels += found
    recordings[name.replace(" ", "-")] = record(command(8))
    result("v", "stalls: " + name, bool(found), "%d launches sampled, %d kernels, %d of them with %d samples" % (
        len(rows), len(found), sum(sum(k["samples"].values()) >= LEAST_SAMPLES for k in found), LEAST_SAMPLES))


def keep(recordings):
    """All recordings in one archive; returns its size in MB."""
    folder = fresh("archive")
    os.makedirs(folder)
    for name, path in recordings.items():
        shutil.move(path, os.path.join(folder, name))
    return archive(folder, "stalls-recordings.tar.xz", PIECE)


def main():
    kernels, recordings = [], {}
    for name, command, options in programs():
        guarded("v", "stalls: " + name, sample, name, command, options, kernels, recordings)
        with open(os.path.join(OUT, "stalls.json"), "w") as f: # at once: a limit may end this section
            json.dump({"kernels": kernels, "programs": sorted(recordings)}, f, indent=1)
    enough = [k for k in kernels if sum(k["samples"].values()) >= LEAST_SAMPLES]
    size = keep(recordings)
    result("v", "stalls: enough", len(enough) >= LEAST_KERNELS and size <= PIECE * PIECES / 1e6,
           "%d kernels with %d samples or more (at least %d); recordings %.1f MB (at most %g)" % (
               len(enough), LEAST_SAMPLES, LEAST_KERNELS, size, PIECE * PIECES / 1e6))


if __name__ == "__main__":
    main()
