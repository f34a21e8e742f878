"""The program's descriptors are its own: no number is taken, none of ours is seen, closed or inherited."""
import os

from rig import SAN, SHIM_FAULTS, Skipped, case, check, code_captured, equal, true_counts

MS = 600 if SAN else 1500
#: small files one after the other: a slow disk has time for all of them
ENV = {"MS": MS, "KBN_SEAL_WAIT": 30}


def own_table():
    """Linux 5.9 and no filter that refuses the call."""
    import ctypes
    import threading
    answer = []
    libc = ctypes.CDLL(None, use_errno=True)

    def ask():
        answer.append(libc.syscall(436, ctypes.c_uint(0), ctypes.c_uint(0xffffffff), ctypes.c_uint(2)))
    t = threading.Thread(target=ask)
    t.start()
    t.join()
    return answer == [0]


def complete(r):
    rec = r.one()
    true_counts(r, rec)
    code_captured(r, rec)


def files(name):
    def run(c):
        if not own_table():
            raise Skipped("no descriptor table of one's own")
        complete(c.both(["app_files", name], env=ENV, calls=False, log=False))
    return run


for _name in ("numbers", "numbers_early", "scan", "inherit", "closer", "exhausted"):
    case("files/" + _name)(files(_name))


@case("files/lone")
def lone(c):
    """After cuInit alone there are as many threads as without us."""
    if SAN == "thread":
        raise Skipped("the sanitizer has a thread of its own beside the first other one")
    c.both(["app_files", "lone"])


@case("files/shared_table")
def shared_table(c):
    """Where the call is refused all is recorded, and numbers are taken for moments: this is what
    files/numbers would see."""
    if not os.path.exists(SHIM_FAULTS):
        raise Skipped("no build with fault switches")
    env = dict(ENV, KBN_FAULT="table:1+")
    for name, told in (("numbers", "wrong numbers "), ("scan", "strangers in the table ")):
        seen = 0
        for _ in range(10): # moments that a busy machine may let pass
            r = c.run(["app_files", name], shim=SHIM_FAULTS, env=env, log=False)
            check(not r.verdict and r.rc == 0, "%s %s", r.rc, r.verdict)
            complete(r)
            seen = int(r.out.split(told)[1].split()[0])
            if seen > 0:
                break
        check(seen > 0, "%s: nothing was seen in ten runs", name)
    for name in ("closer", "exhausted"):  # something may be lost; nothing breaks
        r = c.both(["app_files", name], shim=SHIM_FAULTS, env=env, calls=False, log=False)
        rec = r.one()
        equal(rec.seen, rec.bins(), "launches seen and their bins")
