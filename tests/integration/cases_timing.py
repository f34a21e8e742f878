"""Which pairs are published, which shapes are gated, and an end with work still to do."""
from rig import case, check, equal, true_counts

#: the host needs 20 us for a launch, a kernel of 2 us or 5 us far less
SLOW = {"FAKE_LAUNCH_US": 20, "KBN_BUDGET": 50}
NO_GATES = dict(SLOW, FAKE_NO_WAIT=1, FAKE_ATTR_92=0, FAKE_ATTR_94=0, FAKE_ATTR_122=0, FAKE_ATTR_123=0)


def shape(rec, name):
    found = [s for s in rec.slots if rec.kernels[s.kernel]["name"] == name]
    equal(1, len(found), "shapes of " + name)
    return found[0]


@case("timing/behind")
def behind(c):
    """Queued behind other work, a plain pair is exact although the host was slow."""
    r = c.both(["app_timing", "behind"], env=NO_GATES, log=False)
    rec = r.one()
    true_counts(r, rec)
    s = shape(rec, "k_2us")
    check(s.plain >= 10, "%d plain times, %d starved", s.plain, s.starved)
    check(2000 <= s.min_ns <= s.max_ns < 6000, "2 us read as %d to %d ns", s.min_ns, s.max_ns)


@case("timing/behind_gated")
def behind_gated(c):
    """A gate in front of a GPU that is busy with other work makes no gated pair."""
    r = c.both(["app_timing", "behind"], env={"KBN_BUDGET": 50}, log=False)
    rec = r.one()
    true_counts(r, rec)
    s = shape(rec, "k_2us")
    check(rec.gates >= 10, "%d gates", rec.gates)
    check(s.plain >= 10 and s.plain > 4 * s.gated, "%d plain times, %d gated", s.plain, s.gated)
    check(2000 <= s.min_ns <= s.max_ns < 6000, "2 us read as %d to %d ns", s.min_ns, s.max_ns)


@case("timing/ahead_gated")
def ahead_gated(c):
    """On an idle GPU the gate makes the pair."""
    r = c.both(["app_timing", "ahead"], env={"KBN_BUDGET": 50, "FAKE_LAUNCH_US": 1}, log=False)
    rec = r.one()
    true_counts(r, rec)
    s = shape(rec, "k_2us")
    # A gate that the watcher opened too late to do harm leaves a plain time.
    check(s.plain <= rec.gate_deadlines, "%d plain times", s.plain)
    check(s.gated >= 5 or rec.gate_deadlines >= 2, "%d gated times", s.gated)


@case("timing/ahead")
def ahead(c):
    """On an idle GPU a plain pair reads the host: not published."""
    r = c.both(["app_timing", "ahead"], env=NO_GATES, log=False)
    rec = r.one()
    true_counts(r, rec)
    s = shape(rec, "k_2us")
    check(s.starved >= 10, "%d starved", s.starved)
    equal((0, 0), (s.gated, s.plain), "published times")


@case("timing/cluster")
def cluster(c):
    """A portable cluster is gated once its plain pairs have starved, and not before."""
    r = c.both(["app_timing", "cluster"], env=SLOW, log=False)
    rec = r.one()
    true_counts(r, rec)
    s = shape(rec, "k_none_5us")
    check(s.starved >= 4, "%d starved pairs", s.starved)
    # On a busy machine the watcher opens some, and then gating ends for the shape.
    check(rec.gates >= 5 or rec.gate_deadlines >= 2, "%d gates", rec.gates)
    equal(rec.gates - rec.gate_deadlines, s.gated, "gated times")
    check(not s.gated or 5000 <= s.min_ns <= s.max_ns < 9000, "5 us read as %d to %d ns", s.min_ns, s.max_ns)


def never_gated(c, what):
    r = c.both(["app_timing", what], env=SLOW, log=False)
    rec = r.one()
    true_counts(r, rec)
    s = shape(rec, "k_none_5us")
    check(s.starved >= 10, "%d starved pairs", s.starved)
    equal(0, rec.gates, "gates")


@case("timing/cluster_large")
def cluster_large(c):
    never_gated(c, "cluster_large")


@case("timing/cluster_preferred")
def cluster_preferred(c):
    never_gated(c, "cluster_preferred")


@case("timing/cluster_cooperative")
def cluster_cooperative(c):
    never_gated(c, "cluster_cooperative")


@case("timing/unfinished")
def unfinished(c):
    """With the normal wait: sealed within two seconds, what is not known is counted."""
    bare = c.run(["app_timing", "unfinished"], shim=None)
    r = c.run(["app_timing", "unfinished"], env={"KBN_SEAL_WAIT": None})
    c.same(bare, r)
    rec = r.one()
    true_counts(r, rec)
    check(1.9 <= r.seconds - bare.seconds < 2.5, "the exit took %.2f s longer", r.seconds - bare.seconds)
    check(rec.ended is not None, "not sealed")
    pairs = sum(s.bracketed - s.gated - s.plain - s.starved - s.lost for s in rec.slots)
    equal(pairs, rec.ended[1], "pairs left unresolved")
    check(pairs >= 5, "only %d", pairs)
