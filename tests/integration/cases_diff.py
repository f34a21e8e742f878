"""Recordings of the stand-in driver held against each other: kbn diff and its exit status."""
import json
import os
import subprocess

from rig import BUILD, Skipped, case, check, equal


def record(c, **env):
    return c.run(["app_timing", "behind"], env=env, log=False).run_dir


def diff(*words):
    kbn = os.path.join(BUILD, "kbn")
    if not os.path.exists(kbn):
        raise Skipped("no kbn program")
    p = subprocess.run([kbn, "diff", "--json"] + list(words), stdin=subprocess.DEVNULL, capture_output=True)
    return p.returncode, json.loads(p.stdout), p.stderr.decode()


@case("diff/slower")
def slower(c):
    """Every kernel 10% slower: named, and exit 3."""
    rc, doc, err = diff(record(c, FAKE_DURATION_NS=50000), record(c, FAKE_DURATION_NS=55000))
    equal((3, ""), (rc, err), "exit status and stderr")
    equal("regressed", doc["verdict"], "verdict of the run")
    equal(["regressed"] * 2, [k["verdict"] for k in doc["kernels"]], "verdicts of the kernels")
    for k in doc["kernels"]:
        check(9 < k["change_pct"] < 11.5, "%s changed by %s%%", k["short_name"], k["change_pct"])
        equal("code", k["match"], "match of " + k["short_name"])
    change = doc["run_change_pct"]
    check(0 < change["low"] < 10 < change["high"], "the run changed by %s", change)


@case("diff/same")
def same(c):
    """Several runs of the same on each side: neutral."""
    runs = [record(c, FAKE_DURATION_NS=50000) for _ in range(4)]
    rc, doc, err = diff(*runs[:2], "--to", *runs[2:])
    equal((0, ""), (rc, err), "exit status and stderr")
    equal("neutral", doc["verdict"], "verdict of the run")
    equal(["neutral"] * 2, [k["verdict"] for k in doc["kernels"]], "verdicts of the kernels")
    equal([], [b for k in doc["kernels"] for b in k["because"] if "timed by" not in b], "what changed")


@case("diff/other_device")
def other_device(c):
    """Another GPU: nothing is compared, exit 4."""
    rc, doc, err = diff(record(c, FAKE_DURATION_NS=50000), record(c, FAKE_DURATION_NS=80000, FAKE_NAME="other"))
    equal((4, ""), (rc, err), "exit status and stderr")
    equal((False, "inconclusive"), (doc["comparable"], doc["verdict"]), "verdict")
    check("other" in doc["why_not"][0], "%s", doc["why_not"])
