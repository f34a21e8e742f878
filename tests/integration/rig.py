"""Runs a client of the stand-in driver, bare or recorded, and compares what came of it.

The differential rule: exit status, stdout, stderr and the driver's log of the program's own calls
must be the same with and without the recorder. Everything else is judged by the stand-in driver
itself (FAKE_VERDICT) and by its counts (FAKE_COUNT).
"""
import functools
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import recording

BUILD = os.path.abspath(os.environ.get("KBN_BUILD", "build"))
FAKE = os.path.join(BUILD, "fake")
SHIM = os.path.join(BUILD, "libkbn.so")
SHIM_FAULTS = os.path.join(BUILD, "faults", "libkbn.so")
SAN = os.environ.get("SAN", "")
#: what must come before libkbn.so when it is built with a sanitizer
SAN_PRELOAD = os.environ.get("SAN_PRELOAD", "").split()
#: command that runs programs of another architecture; takes -E NAME=VALUE like qemu-user
EMULATOR = os.environ.get("KBN_EMULATOR", "").split()
LIMIT_S = float(os.environ.get("CASE_LIMIT", "60")) * (4 if SAN or EMULATOR else 1)


#: (name, function of a Case), in order of definition
CASES = []


def case(name, **given):
    """Registers a test: its function gets a Case, and what is `given`, and raises Failed."""
    def register(function):
        CASES.append((name, functools.partial(function, **given) if given else function))
        return function
    return register


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def check(condition, text, *more):
    if not condition:
        raise Failed(text % more if more else text)


def equal(a, b, what):
    if a == b:
        return
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                raise Failed("%s differs at %d:\n  bare:     %s\n  recorded: %s" % (what, i, x, y))
        extra = a[len(b):] or b[len(a):]
        raise Failed("%s: %d bare, %d recorded, first extra: %s" % (what, len(a), len(b), extra[0]))
    raise Failed("%s differs:\n  bare:     %r\n  recorded: %r" % (what, a, b))


class Counts:
    """The driver's own counts."""

    def __init__(self, data):
        self.ok = self.failed = self.captured = self.graphs = self.nodes = self.graphs_not_run = 0
        self.kernels = {}
        if not data:
            self.violations = self.own_calls = 0
            return
        _, _, kernels, self.violations, self.own_calls, self.gates, _, self.own_events = \
            struct.unpack_from("<8Q", data)
        self.threads = []
        for i in range(256):
            t = struct.unpack_from("<6Q", data, 64 + 64 * i)
            self.threads.append(t)
            self.ok += t[0]
            self.failed += t[1]
            self.captured += t[2]
            self.graphs += t[3]
            self.nodes += t[4]
            self.graphs_not_run += t[5]
        for i in range(kernels):
            at = 64 + 64 * 256 + 128 * i
            name = data[at:at + 96].split(b"\0")[0].decode()
            self.kernels[name] = struct.unpack_from("<4Q", data, at + 96)

    def by_kernel(self, column):
        return {k: v[column] for k, v in self.kernels.items() if v[column]}


class Run:
    """What one run of a client left behind."""

    def __init__(self, rc, out, err, seconds, home):
        self.rc, self.out, self.err, self.seconds, self.home = rc, out, err, seconds, home
        self.log = self._lines("log")
        self.verdict = "\n".join(self._lines("verdict"))
        count = os.path.join(home, "count")
        self.counts = Counts(open(count, "rb").read() if os.path.exists(count) else b"")
        self.run_dir = os.path.join(home, "rec")
        self.app_calls = [" ".join(line.split(" ")[2:]) for line in self.log if line.startswith("app ")]
        self.own_calls = [" ".join(line.split(" ")[2:]) for line in self.log if line.startswith("kbn ")]

    def _lines(self, name):
        path = os.path.join(self.home, name)
        return open(path, errors="replace").read().splitlines() if os.path.exists(path) else []

    def recordings(self):
        return recording.read(self.run_dir)

    def one(self):
        r = self.recordings()
        check(len(r) == 1, "%d recordings instead of 1", len(r))
        return r[0]


class Case:
    """A folder of its own for one case, removed when it passed."""

    def __init__(self, name):
        self.home = tempfile.mkdtemp(prefix="kbn-%s-" % name.replace("/", "-"))
        self.n = 0

    def env(self, home, shim, extra, before, after):
        env = {k: os.environ[k] for k in ("PATH", "HOME", "LANG", "TERM") if k in os.environ}
        for k in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if k in os.environ:
                env[k] = os.environ[k]
        # Clients and the stand-in driver leave memory behind at their end; the recorder uses none of malloc's.
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        env.update(LD_LIBRARY_PATH=FAKE, PLUGINS=FAKE, FAKE_VERDICT=os.path.join(home, "verdict"),
                   FAKE_COUNT=os.path.join(home, "count"), FAKE_LOG=os.path.join(home, "log"))
        preload = list(before) + ([shim] if shim else []) + list(after)
        if SAN:
            preload = SAN_PRELOAD + preload
        if preload:
            env["LD_PRELOAD"] = ":".join(preload)
        if shim:
            env.update(KBN_QUIET="1", KBN_OUT=os.path.join(home, "rec"), KBN_REPORT="none",
                       KBN_SEAL_WAIT="0.5")
        env.update({k: str(v) for k, v in (extra or {}).items() if v is not None})
        for k, v in (extra or {}).items():
            if v is None:
                env.pop(k, None)
        return env

    @staticmethod
    def emulated(env):
        """The command in front of the program; what is meant for its loader must not reach the emulator's."""
        given = ["%s=%s" % (k, env.pop(k)) for k in ("LD_PRELOAD", "LD_LIBRARY_PATH") if k in env]
        return EMULATOR + [word for setting in given for word in ("-E", setting)]

    def folder(self):
        self.n += 1
        home = os.path.join(self.home, str(self.n))
        os.makedirs(os.path.join(home, "work"))
        return home

    def run(self, argv, shim=SHIM, env=None, before=(), after=(), limit=None, log=True, cwd=None,
            home=None):
        home = home or self.folder()
        full = self.env(home, shim, env, before, after)
        if not log:
            full.pop("FAKE_LOG", None)
        program = argv[0] if "/" in argv[0] or argv[0] in ("sh", "python3") else os.path.join(FAKE, argv[0])
        command = (self.emulated(full) if EMULATOR else []) + [program] + argv[1:]
        began = time.monotonic()
        p = subprocess.Popen(command, env=full, cwd=cwd or os.path.join(home, "work"),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = p.communicate(timeout=limit or LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            raise Failed("%s does not end within %.0f s\n%s" %
                         (" ".join(argv), limit or LIMIT_S, err.decode(errors="replace")[-2000:]))
        return Run(p.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                   time.monotonic() - began, home)

    def both(self, argv, env=None, order=True, calls=True, before=(), after=(), shim=SHIM, bare_env=None,
             **more):
        """Bare and recorded; equal in everything the program can see. Gives the recorded run."""
        bare = self.run(argv, shim=None, env=dict(env or {}, **(bare_env or {})), before=before,
                        after=after, **more)
        kbn = self.run(argv, shim=shim, env=env, before=before, after=after, **more)
        self.same(bare, kbn, order, calls)
        return kbn

    @staticmethod
    def same(bare, kbn, order=True, calls=True):
        check(not bare.verdict, "the bare run breaks a rule: %s", bare.verdict)
        check(not kbn.verdict, "%s", kbn.verdict)
        equal(bare.err, kbn.err, "stderr")
        equal(bare.out.splitlines(), kbn.out.splitlines(), "stdout")
        equal(bare.out, kbn.out, "stdout")
        equal(bare.rc, kbn.rc, "exit status")
        if calls and order:
            equal(bare.app_calls, kbn.app_calls, "the program's calls")
        elif calls:
            equal(sorted(bare.app_calls), sorted(kbn.app_calls), "the program's calls")

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


def true_counts(run, rec, failed=True, nodes=True):
    """The recording agrees with the driver: every launch once, under its kernel."""
    c = run.counts
    equal(c.ok, rec.total("ran"), "launches that ran (driver, recording)")
    equal(c.captured, rec.total("captured"), "captured launches")
    if failed:
        equal(c.failed, rec.total("failed"), "failed launches")
    equal(c.graphs + c.graphs_not_run, rec.graph_launches, "graph launches, also captured and failed ones")
    equal(c.graphs, sum(s.ran for s in rec.graphs_slots), "graph launches that ran")
    equal(c.by_kernel(0), rec.by_kernel("ran"), "launches by kernel")
    equal(c.by_kernel(2), rec.by_kernel("captured"), "captured launches by kernel")
    if nodes:
        equal(c.by_kernel(3), rec.node_launches(), "graph node launches by kernel")
    equal(rec.seen, rec.bins(), "launches seen and their bins")
    check(rec.dropped == 0 and rec.log_dropped == 0, "drops: %d launches, %d records", rec.dropped,
          rec.log_dropped)
    for s in rec.slots:
        known = s.gated + s.plain + s.starved + s.lost
        check(known <= s.bracketed, "more times (%d) than brackets (%d)", known, s.bracketed)


def code_captured(run, rec, unseen=()):
    """Every launched kernel has its code in the store, under its hash."""
    for k in rec.kernels.values():
        if k["name"] in unseen:
            continue
        check(k["image"] in rec.images, "kernel %s has no image", k["name"])
        s = rec.stored.get(k["image"])
        check(s is not None, "image of %s: outcome not recorded", k["name"])
        check(s["bytes"] > 0, "image of %s not stored: %s", k["name"], s["why"])
        path = os.path.join(run.run_dir, "code", s["hash"] + ".img")
        check(os.path.exists(path), "%s is missing", path)
        equal(s["bytes"], os.path.getsize(path), "size of the stored image of " + k["name"])


def nothing_left(run):
    check(not os.path.exists(run.run_dir), "files were left: %s", run.run_dir)
