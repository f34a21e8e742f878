"""Threads: counts stay exact, nothing breaks, nothing hangs."""
from rig import SAN, Skipped, case, check, equal, true_counts

SCALE = 4 if SAN else 1


def threads(name, rounds):
    def run(c):
        r = c.both(["app_threads", name], env={"ROUNDS": max(rounds // SCALE, 2)}, calls=False, log=False)
        rec = r.one()
        true_counts(r, rec)
        return r, rec
    return run


for _name, _rounds in (("matrix", 100), ("churn", 40), ("unload", 60), ("contexts", 20), ("first", 1)):
    case("threads/" + _name)(threads(_name, _rounds))


@case("threads/contended")
def contended(c):
    r, rec = threads("contended", 400)(c)
    equal(3200 // SCALE, r.counts.ok, "launches")


@case("threads/cancelled")
def cancelled(c):
    """Threads that are to be cancelled come back from each call, also where something of ours waits."""
    for _ in range(5):
        threads("cancelled", 1)(c)


@case("threads/no_keys")
def no_keys(c):
    """States of threads whose end nobody reports are found by their ids."""
    if SAN:
        raise Skipped("the sanitizer needs a key")
    r, rec = threads("no_keys", 1)(c)
    check(len(rec.threads) <= 8, "%d thread slots for one thread at a time", len(rec.threads))


@case("threads/recycled")
def recycled(c):
    """Short-lived threads reuse the states of ended ones: memory and slots stay bounded."""
    r = c.both(["app_threads", "churn"], env={"ROUNDS": 150 // SCALE}, calls=False, log=False)
    rec = r.one()
    true_counts(r, rec)
    check(len(rec.threads) <= 32, "%d thread slots for 8 threads at a time", len(rec.threads))
