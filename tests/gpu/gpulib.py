"""
What the GPU checks share: where things are, running a program bare or under the shim, reading a
report, statistics, and recording one result line. Standard library only.

Settings come from scripts/gpu-check: BUILD, GPU_WORK (scratch folder), OUT (what is kept), GPU_RESULTS
(file of result lines), KBN_TEST_CUPTI (libcupti, may be empty).
"""
import glob
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
GPU = os.path.join(BUILD, "gpu")
KBN = os.path.join(BUILD, "kbn")
SHIM = os.path.join(BUILD, "libkbn.so")
WORK = os.environ.get("GPU_WORK", "/tmp/kbn-gpu")
OUT = os.path.abspath(os.environ.get("OUT", WORK))
RESULTS = os.environ.get("GPU_RESULTS", os.path.join(WORK, "results.jsonl"))
HERE = os.path.join(ROOT, "tests", "gpu")
sys.path.append(os.path.dirname(HERE))

_serial = itertools.count(1)


def fresh(name):
    """A path in the scratch folder that nothing has used, in any thread."""
    os.makedirs(WORK, exist_ok=True)
    return os.path.join(WORK, "%s-%d-%d" % (name, os.getpid(), next(_serial)))


def app(name):
    return [os.path.join(GPU, name)]


def work(name, *args):
    return [sys.executable, os.path.join(HERE, name), *map(str, args)]


def bare_env(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("KBN_") or k.startswith("KBN_TEST")}
    env.pop("LD_PRELOAD", None)
    env.update(more)
    return env


def shim_env(out, **more):
    return bare_env(LD_PRELOAD=SHIM, KBN_OUT=out, KBN_QUIET="1", **more)


def run(command, env, limit=120, preexec_fn=None):
    """CompletedProcess with bytes, and .seconds; a timeout becomes return code -99."""
    start = time.monotonic()
    try:
        p = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=limit, preexec_fn=preexec_fn)
    except subprocess.TimeoutExpired as e:
        p = subprocess.CompletedProcess(command, -99, e.stdout or b"", e.stderr or b"")
    p.seconds = time.monotonic() - start
    return p


def report(run_dir):
    """The report of a run directory as data; raises with kbn's own words."""
    p = run([KBN, "report", run_dir, "--json"], bare_env(), 60)
    if p.returncode != 0:
        raise RuntimeError("kbn report: status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-300:]))
    return json.loads(p.stdout)


BINS = ("timed", "sampled_out", "untimeable", "captured", "failed", "unfinished", "filtered", "dropped")


def bins_add_up(accounting):
    return accounting["launches_seen"] == sum(accounting[b] for b in BINS)


def word_after(text, word):
    """The number after the last `word` in a program's output, or None."""
    words = text.split()
    at = [i for i, w in enumerate(words[:-1]) if w == word]
    return float(words[at[-1] + 1]) if at else None


def median_ratio_bound(pairs, draws=4000):
    """Median of b / a over the pairs and the upper 95% bound of it (bootstrap over the pairs)."""
    ratios = [b / a for a, b in pairs]
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(draws))
    return statistics.median(ratios), medians[int(draws * 0.95)]


def archive(folder, name, piece=15000000):
    """
    All of a folder as $OUT/NAME.0, NAME.1, ..., of so many bytes each, since what a machine gives back is limited;
    `cat` puts them together. Returns the size of all in MB.
    """
    # one window over all images: libraries repeat much of their code
    subprocess.run("tar -C %s -cf - . | xz -T0 --lzma2=preset=6,dict=64MiB | split -d -a 1 -b %d - %s." % (
        folder, piece, os.path.join(OUT, name)), shell=True, check=True, env=bare_env(), timeout=100)
    return sum(os.path.getsize(p) for p in glob.glob(os.path.join(OUT, name) + ".[0-9]")) / 1e6


def result(section, name, ok, text, **data):
    """Record and print one line; ok None = not run, with the reason in `text`."""
    state = {True: "pass", False: "FAIL", None: "skip"}[ok]
    print("%-4s %s  %-34s %s" % (state, section, name, text), flush=True)
    with open(RESULTS, "a") as f:
        f.write(json.dumps({"section": section, "name": name, "state": state, "text": text, **data}) + "\n")


def guarded(section, name, function, *args):
    """Run one check; an exception is a failed line, not the end of the section."""
    try:
        function(*args)
    except Exception as e:  # noqa: BLE001 - whatever it is, it belongs in the table
        result(section, name, False, "%s: %s" % (type(e).__name__, str(e)[:300]))
