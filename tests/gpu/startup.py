"""
Section f: what a program pays once. Start-up with 104 MB of code and the exit without the report,
in pairs; the time of the report itself.
"""
import glob
import os
import shutil
import statistics
import time

from gpulib import KBN, app, bare_env, fresh, guarded, result, run, shim_env, word_after, work

PAIRS = int(os.environ.get("GPU_STARTUP_PAIRS", "20"))
BIG = sorted(glob.glob(os.path.join(os.environ.get("GPU_BIG", "/tmp/kbn-big"), "*.cubin")))


def load_once(shimmed):
    """(ms from before cuInit to after the last launch, ms from the end of main to the end of the process)"""
    out = fresh("load")
    p = run(app("app_load") + BIG, shim_env(out, KBN_REPORT="none") if shimmed else bare_env())
    end = time.monotonic() * 1e3
    shutil.rmtree(out, ignore_errors=True) # 104 MB each time
    text = p.stdout.decode()
    if p.returncode != 0:
        raise RuntimeError("app_load: %d %s" % (p.returncode, p.stderr.decode(errors="replace")[-200:]))
    return word_after(text, "value"), end - word_after(text, "end")


def load():
    start, leave = [], []
    for i in range(PAIRS):
        sides = {}
        for side in ("bare", "shim") if i % 2 == 0 else ("shim", "bare"):
            sides[side] = load_once(side == "shim")
        start.append(sides["shim"][0] - sides["bare"][0])
        leave.append(sides["shim"][1] - sides["bare"][1])
    size = sum(os.path.getsize(p) for p in BIG) / 1e6
    result("f", "start-up, %d MB of code" % size, statistics.median(start) <= 150,
           "median %.1f ms more (limit 150), worst %.1f" % (statistics.median(start), max(start)), extra_ms=start)
    result("f", "exit without the report", statistics.median(leave) <= 300,
           "median %.1f ms more (limit 300), worst %.1f" % (statistics.median(leave), max(leave)), extra_ms=leave)


# format: most bytes of the output
FORMATS = {"json": None, "md": None, "text": None, "csv": None, "html": 3000000}


def exit_report():
    """The report of a PyTorch run in each format: time, memory, size."""
    out = fresh("torch")
    p = run(work("work_variety.py"), shim_env(out, KBN_REPORT="none"))
    if p.returncode != 0:
        raise RuntimeError(p.stderr.decode(errors="replace")[-200:])
    size = sum(os.path.getsize(f) for f in glob.glob(os.path.join(out, "code", "*"))) / 1e6
    timer = "import resource,subprocess,sys,time;t=time.time();r=subprocess.run(sys.argv[1:]);" \
            "print(r.returncode,time.time()-t,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    for name, most in FORMATS.items():
        path = fresh("report")
        q = run(["python3", "-c", timer, KBN, "report", out, "--" + name, "-o", path], bare_env())
        status, seconds, kilobytes = q.stdout.split()
        if int(status) == 2: # the command line has no such format
            result("f", "report of a PyTorch run, " + name, None, q.stderr.decode(errors="replace").strip()[:80])
            continue
        written = os.path.getsize(path)
        ok = int(status) == 0 and float(seconds) <= 2 and int(kilobytes) <= 512 * 1024 and (not most or written <= most)
        result("f", "report of a PyTorch run, " + name, ok, "%.2f s (limit 2), %d MB (limit 512), %.2f MB written%s, %.0f MB of code" % (
            float(seconds), int(kilobytes) // 1024, written / 1e6, " (limit %g)" % (most / 1e6) if most else "", size))


def main():
    if BIG:
        guarded("f", "start-up", load)
    else:
        result("f", "start-up", None, "no large images: tests/gpu/build could not make them")
    guarded("f", "report of a PyTorch run", exit_report)


main()
