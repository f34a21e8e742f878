"""Many launches, many shapes, and being killed at any moment."""
import os
import random
import struct
import subprocess
import signal
import time

import recording
from rig import FAKE, SAN, SHIM, Failed, case, check, equal, true_counts

LAUNCHES = int(os.environ.get("SOAK_LAUNCHES", 20000 if SAN else 300000))
GEOMETRIES = int(os.environ.get("GEOMETRIES", 3000 if SAN else 100000))
KILLS = int(os.environ.get("KILLS", "20" if SAN else "100"))


def folder_bytes(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


@case("soak/launches")
def launches(c):
    grown = 200000 if SAN else 4096
    r = c.both(["app_soak", "run"], env={"LAUNCHES": LAUNCHES, "SHAPES": 200, "RSS_GROWTH_KB": grown}, log=False,
               calls=False, limit=60 + LAUNCHES / 50000)
    rec = r.one()
    true_counts(r, rec)
    equal(LAUNCHES, rec.seen, "launches seen")
    equal(200, len(rec.slots), "shapes")
    check(folder_bytes(r.run_dir) < 8 << 20, "%d bytes of data", folder_bytes(r.run_dir))


@case("soak/geometry")
def geometry(c):
    cap = min(65536, GEOMETRIES // 3)
    r = c.both(["app_soak", "geometry"], env={"LAUNCHES": GEOMETRIES, "KBN_SLOTS": cap}, log=False,
               calls=False, limit=60 + GEOMETRIES / 10000)
    rec = r.one()
    true_counts(r, rec)
    shapes = [s for s in rec.slots if not s.flags & 4]
    over = [s for s in rec.slots if s.flags & 4]
    check(len(shapes) <= cap, "%d shapes past the cap of %d", len(shapes), cap)
    equal(GEOMETRIES - len(shapes), sum(s.ran for s in over), "launches in overflow slots")
    equal(4, len(over), "one overflow slot for each kernel")


@case("soak/stuck")
def stuck(c):
    """Work that never ends: a bounded pool, every launch in a bin, flat memory, an end in time."""
    n = LAUNCHES // 3
    r = c.both(["app_soak", "stuck"], env={"LAUNCHES": n, "RSS_GROWTH_KB": 200000 if SAN else 4096}, log=False,
               calls=False, limit=60 + n / 50000)
    rec = r.one()
    true_counts(r, rec)
    equal(n + 1, rec.seen, "launches seen")
    check(r.counts.own_events <= 2 * 4096 + 64, "%d events", r.counts.own_events)
    check(rec.total("gated") + rec.total("plain") == 0, "times of launches that never ended")


@case("kill/anywhere")
def anywhere(c):
    """SIGKILL at a random moment: the recording opens, and lacks at most the launch in flight."""
    reached = 0
    rng = random.Random(int(os.environ.get("SEED", "1")))
    threads = 2
    for i in range(KILLS):
        home = c.folder()
        counter = os.path.join(home, "counter")
        env = c.env(home, SHIM, {"COUNTER": counter, "THREADS": threads, "FAKE_LOG": None}, (), ())
        p = subprocess.Popen([os.path.join(FAKE, "app_soak"), "forever"], env=env, cwd=home,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # Some before the first launch, most in the middle.
        time.sleep(rng.choice((0.01, 0.03, 0.1)) * rng.random() * (8 if SAN else 1) + 0.001)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        check(not os.path.exists(os.path.join(home, "verdict")), "a rule was broken")
        data = open(counter, "rb").read() if os.path.exists(counter) else b""
        begun = returned = 0
        for t in range(threads if len(data) >= 4096 else 0):
            b, d = struct.unpack_from("<2Q", data, 64 * t)
            begun += b
            returned += d
        for d in recording.process_dirs(os.path.join(home, "rec")):
            try:
                rec = recording.Process(d)
            except FileNotFoundError:
                check(returned == 0, "round %d: no complete recording after %d launches", i, returned)
                continue
            ran = sum(s.ran + s.failed for s in rec.slots)
            check(returned - threads <= ran <= begun,
                  "round %d: %d launches recorded, %d begun, %d returned", i, ran, begun, returned)
            check(rec.seen - rec.bins() <= threads, "round %d: %d seen, %d in bins", i, rec.seen, rec.bins())
            check(rec.seen <= begun, "round %d: %d seen, %d begun", i, rec.seen, begun)
        reached += returned > 0
        if returned:
            check(recording.process_dirs(os.path.join(home, "rec")), "round %d: no recording", i)
    check(reached >= KILLS // 4, "only %d of %d kills came after the first launch", reached, KILLS)


@case("kill/exit_report")
def exit_report(c):
    """A killed run is still readable by the analyzer."""
    kbn = os.path.join(os.path.dirname(SHIM), "kbn")
    if not os.path.exists(kbn):
        from rig import Skipped
        raise Skipped("no kbn program")
    r = c.run(["app_process", "end_kill"])
    p = subprocess.run([kbn, "report", r.run_dir, "--json"], capture_output=True, text=True)
    equal(0, p.returncode, "exit status of kbn report (%s)" % p.stderr[-300:])
    import json
    doc = json.loads(p.stdout)
    equal("killed", doc["runs"][0]["end"], "end")
    equal(20, doc["accounting"]["launches_seen"], "launches")
