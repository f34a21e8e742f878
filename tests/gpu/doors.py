"""
Section a: every door. Each program runs bare, under the shim, and once more under the shim with an
independent counter inside (CUPTI callbacks, cupti_count.c). Output and exit status must be equal,
launch counts exact, and the code of every launched kernel captured.
usage: doors.py [WORD...]   only the programs whose line contains a word
"""
import concurrent.futures
import glob
import os
import sys

from gpulib import (BUILD, GPU, bare_env, bins_add_up, app, fresh, guarded, report, result, run, shim_env,
                    word_after, work)

COUNTER = os.path.join(GPU, "cupti_count.so")

# The same choices in every run of a framework, or its outputs and launches differ by themselves.
FIXED = {"XLA_FLAGS": "--xla_gpu_autotune_level=0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
         "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
         "TORCHINDUCTOR_CACHE_DIR": os.path.join(os.environ.get("GPU_WORK", "/tmp"), "inductor"),
         "TRITON_CACHE_DIR": os.path.join(os.environ.get("GPU_WORK", "/tmp"), "triton")}

PROGRAMS = [
    ("nvcc, static cudart", app("sample_static")),
    ("nvcc, shared cudart", app("sample_shared")),
    ("nvcc, PTX for the driver", app("sample_jit")),
    ("driver API (demo)", [os.path.join(BUILD, "samples", "demo")]),
    ("graph replayed 1,000 times", app("app_graph")),
    ("per-thread default stream", app("app_ptds")),
    ("8 threads x 8 streams", app("app_streams")),
    ("Triton", work("work_triton.py")),
    ("PyTorch eager training", work("work_eager.py", 5)),
    ("torch.compile", work("work_compile.py")),
    ("CuPy", work("work_cupy.py")),
    ("JAX", work("work_jax.py")),
]


def counted(prefix):
    """Sums of the counter's files of all processes: launches, failed, graph_launches."""
    sums = {"launches": 0, "failed": 0, "graph_launches": 0}
    for path in glob.glob(glob.escape(prefix) + ".*"):
        words = open(path).read().split()
        for key in sums:
            sums[key] += int(words[words.index(key) + 1])
    return sums


def check_transparent(name, command):
    bare = run(command, bare_env(**FIXED))
    if bare.returncode != 0:
        result("a", name, None, "the bare program fails: " + bare.stderr.decode(errors="replace")[-200:])
        return None
    out = fresh("door")
    shimmed = run(command, shim_env(out, **FIXED))
    same = bare.stdout == shimmed.stdout and bare.returncode == shimmed.returncode
    text = "output and status identical" if same else "status %d, bare %d; output %r, bare %r" % (
        shimmed.returncode, bare.returncode, shimmed.stdout[-120:], bare.stdout[-120:])
    result("a", name + ": transparent", same, text, bare_s=bare.seconds, shim_s=shimmed.seconds)
    return out, bare.stdout.decode(errors="replace")


def check_own_count(name, out, stdout):
    """Against what the program itself says it launched."""
    accounting = report(out)["accounting"]
    launches, graphs = word_after(stdout, "launches"), word_after(stdout, "graph_launches")
    if launches is None:
        return
    ok = accounting["launches_seen"] == launches and bins_add_up(accounting)
    if graphs is not None:
        ok = ok and accounting["graph_launches"] == graphs and accounting["captured"] == launches
        ok = ok and accounting["graph_node_launches"] == word_after(stdout, "nodes")
    result("a", name + ": own count", ok, "program %d, kbn %d" % (launches, accounting["launches_seen"]),
           accounting=accounting)


def check_counter(name, command):
    """Against the second, independent hook in the same process."""
    out, prefix = fresh("door"), fresh("count")
    p = run(command, shim_env(out, CUDA_INJECTION64_PATH=COUNTER, KBN_TEST_FILE=prefix, **FIXED))
    there = counted(prefix)
    if p.returncode != 0 or there["launches"] + there["graph_launches"] == 0:
        result("a", name + ": counter", None, "the counter did not work: status %d %s"
               % (p.returncode, p.stderr.decode(errors="replace")[-200:]))
        return
    accounting = report(out)["accounting"]
    ok = (accounting["launches_seen"] == there["launches"] and accounting["failed"] == there["failed"]
          and accounting["graph_launches"] == there["graph_launches"] and bins_add_up(accounting))
    result("a", name + ": counter", ok, "launches %d/%d, failed %d/%d, graphs %d/%d" % (
        accounting["launches_seen"], there["launches"], accounting["failed"], there["failed"],
        accounting["graph_launches"], there["graph_launches"]), accounting=accounting, counter=there)


def check_code(name, out):
    kernels = [k for k in report(out)["kernels"] if k["launches"] or k["graph_node_launches"]]
    lost = [k["name"] for k in kernels if k["code"]["why_missing"]]
    jit = [k["name"] for k in kernels if k["code"]["origin"] == "jit"]
    result("a", name + ": code", bool(kernels) and not lost, "%d of %d kernels captured%s%s" % (
        len(kernels) - len(lost), len(kernels), ", JIT: %d" % len(jit) if jit else "",
        ", missing: " + ", ".join(lost[:3]) if lost else ""), missing=lost, jit=jit)


def door(name, command):
    transparent = check_transparent(name, command)
    if not transparent:
        return
    guarded("a", name + ": own count", check_own_count, name, *transparent)
    guarded("a", name + ": code", check_code, name, transparent[0])
    guarded("a", name + ": counter", check_counter, name, command)


def main():
    with concurrent.futures.ThreadPoolExecutor(5) as pool: # counts do not mind company
        wanted = [p for p in PROGRAMS if not sys.argv[1:] or any(word in p[0] for word in sys.argv[1:])]
        for f in [pool.submit(guarded, "a", name, door, name, command) for name, command in wanted]:
            f.result()


main()
