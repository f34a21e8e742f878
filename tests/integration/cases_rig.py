"""The rig itself: a recorder that breaks a rule must be noticed, each time for the right reason."""
import os
import shutil

from rig import FAKE, Failed, case, check

#: what the rude recorder does, in which client, what must be said about it
RUDE = (
    ("stdout", ["app_direct", "basic"], "stdout"),
    ("stderr", ["app_direct", "basic"], "stderr"),
    ("result", ["app_direct", "basic"], "stdout"),
    ("lost", ["app_direct", "basic"], "the program's calls"),
    ("twice", ["app_direct", "basic"], "the program's calls"),
    ("grid", ["app_direct", "basic"], "the program's calls"),
    ("stream", ["app_direct", "basic"], "the program's calls"),
    ("sync", ["app_direct", "basic"], "the program's calls"),
    ("exit", ["app_direct", "basic"], "stdout|exit status"),
    ("errno", ["app_process", "quiet_state"], "stdout"),
    ("memory", ["app_direct", "basic"], "takes device memory"),
    ("thread", ["app_direct", "basic"], "waits for the device"),
    ("late", ["app_direct", "basic"], "after the driver has ended"),
    ("destroyed", ["app_direct", "basic"], "not a living object"),
    ("context", ["app_direct", "basic"], "replaces the program's current context"),
    ("record", ["app_graph", "capture"], "into a capturing stream"),
    ("record", ["app_direct", "attributes"], "launches overlap"),
    ("record", ["app_direct", "contexts"], "different contexts"),
    ("record", ["app_direct", "resets"], "context that has ended"),
    ("unrelaxed", ["app_graph", "capture"], "not in RELAXED mode"),
    ("query", ["app_graph", "capture"], "not in RELAXED mode"),
    ("gate", ["app_direct", "basic"], "a gate was never opened|gate that nobody opens"),
    ("gate", ["app_direct", "streams"], "gate on the legacy stream"),
)


def rude(mode, argv, text):
    def run(c):
        shim = os.path.join(c.home, "libkbn.so")
        shutil.copy(FAKE + "/other_rude.so", shim)
        try:
            c.both(argv, shim=shim, env={"RUDE": mode})
        except Failed as e:
            check(any(t in str(e) for t in text.split("|")), "noticed for another reason: %s", e)
            return
        raise Failed("nobody noticed")
    return run


for _mode, _argv, _text in RUDE:
    case("rig/%s_%s" % (_mode, _argv[1]))(rude(_mode, _argv, _text))


@case("rig/hang")
def hang(c):
    shim = os.path.join(c.home, "libkbn.so")
    shutil.copy(FAKE + "/other_rude.so", shim)
    try:
        c.both(["app_direct", "basic"], shim=shim, env={"RUDE": "hang"}, limit=2)
    except Failed as e:
        check("does not end" in str(e), "noticed for another reason: %s", e)
        return
    raise Failed("nobody noticed")


@case("rig/names")
def names(c):
    """The stand-in driver exports what a driver exports, and nothing else but its marker."""
    import subprocess
    out = subprocess.run(["nm", "-D", "--defined-only", FAKE + "/libcuda.so.1"], capture_output=True, text=True)
    if out.returncode:
        from rig import Skipped
        raise Skipped("no nm")
    got = {line.split()[2].split("@")[0] for line in out.stdout.splitlines()}
    other = {g for g in got if not g.startswith("cu")} - {"kbn_stand_in_driver"}
    other = {g for g in other if not g.startswith(("_", "__"))}
    if not os.environ.get("SAN"):
        check(not other, "also exported: %s", sorted(other))
    check(len([g for g in got if g.startswith("cu")]) == 637, "%d names", len(got))
    places = {line.split()[0] for line in out.stdout.splitlines() if line.split()[2].startswith("cu")}
    check(len(places) == 637, "637 names at %d addresses", len(places))
