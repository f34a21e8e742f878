"""
Section d: SIGKILL in the middle, against a count that the program keeps in shared memory: at most
one launch per thread may differ, and the bins must still add up.
"""
import os
import random
import signal
import struct
import subprocess
import time

from gpulib import app, bins_add_up, fresh, guarded, report, result, shim_env

KILLS = int(os.environ.get("GPU_KILLS", "20"))
THREADS = 4


def counters(path):
    try:
        data = open(path, "rb").read()
    except OSError:
        return [0] * THREADS
    return [struct.unpack_from("<Q", data, 64 * t)[0] if len(data) >= 64 * (t + 1) else 0 for t in range(THREADS)]


def one(rng):
    """(counted by the program, seen by kbn, bins add up)"""
    out, path = fresh("kill"), fresh("count")
    p = subprocess.Popen(app("app_kill") + [path, str(THREADS)], env=shim_env(out),
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 30
    while min(counters(path)) == 0 and p.poll() is None and time.monotonic() < limit:
        time.sleep(0.005)
    time.sleep(rng.uniform(0.0, 0.4))
    if p.poll() is not None:
        raise RuntimeError("the program ended by itself: %d" % p.returncode)
    p.send_signal(signal.SIGKILL)
    p.wait()
    accounting = report(out)["accounting"]
    return sum(counters(path)), accounting["launches_seen"], bins_add_up(accounting)


def main():
    rng = random.Random(int(os.environ.get("GPU_SEED", "1")))
    rows = [one(rng) for _ in range(KILLS)]
    worst = max(abs(seen - counted) for counted, seen, _ in rows)
    ok = all(abs(seen - counted) <= THREADS and fit for counted, seen, fit in rows)
    result("d", "kill -9, %d times" % KILLS, ok, "worst difference %d of %d..%d launches (limit %d); bins %s" % (
        worst, min(r[0] for r in rows), max(r[0] for r in rows), THREADS,
        "add up" if all(r[2] for r in rows) else "do NOT add up"), rows=rows)


guarded("d", "kill -9", main)
