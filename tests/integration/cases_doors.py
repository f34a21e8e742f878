"""Every way into the driver."""
import os
import shutil
import struct

from rig import FAKE, SAN, SHIM, Skipped, case, check, code_captured, equal, true_counts


def door(name, launches=True, **more):
    def run(c):
        r = c.both(["app_doors", name], **more)
        if launches:
            rec = r.one()
            true_counts(r, rec)
            code_captured(r, rec)
        return r
    return run


for _name in ("base_names", "suffixed_names", "runtime", "errors", "plugin_direct"):
    case("doors/" + _name)(door(_name))
for _name in ("runtime_v1", "pseudo", "plugin_local", "absent"):
    case("doors/" + _name)(door(_name, launches=False))


@case("doors/plugin_runpath")
def plugin_runpath(c):
    plugins = os.path.join(c.home, "plugins")
    os.makedirs(plugins + "/dep")
    shutil.copy(FAKE + "/plugin_runpath.so", plugins)
    shutil.copy(FAKE + "/plugin_dep.so", plugins + "/dep")
    r = c.both(["app_doors", "plugin_runpath"], env={"PLUGINS": plugins})
    check("dependency open" in r.out, "the run path does not work: %s", r.out)


@case("doors/plugin_deepbind")
def plugin_deepbind(c):
    if SAN:
        raise Skipped("sanitizers refuse RTLD_DEEPBIND")
    # Known miss: such a library binds to the driver directly. The program must not notice us.
    c.both(["app_doors", "plugin_deepbind"])


@case("doors/plugin_joins")
def plugin_joins(c):
    r = c.both(["app_doors", "plugin_joins"], limit=20)
    equal(20, r.one().total("ran"), "launches")


@case("doors/two_copies")
def two_copies(c):
    """Of two copies of the library only the first records."""
    if SAN:
        raise Skipped("the sanitizer wraps dlsym as well")
    copy = os.path.join(c.home, "libkbn.so")
    shutil.copy(SHIM, copy)
    for before, after in (((copy,), ()), ((), (copy,))):
        r = c.run(["app_direct", "basic"], before=before, after=after)
        c.same(c.run(["app_direct", "basic"], shim=None), r)
        true_counts(r, r.one())


@case("doors/private_table")
def private_table(c):
    """Code that comes in through a private table: launches exact, kernel named, code said to be missing."""
    r = c.both(["app_doors", "private_table"])
    rec = r.one()
    equal(40, rec.total("ran"), "launches")
    equal({"k_none_5us": 40}, rec.by_kernel("ran"), "kernels")
    equal([0], [k["image"] for k in rec.kernels.values()], "image of a kernel whose code was not seen")
    check(any(n[0] == 5 for n in rec.notes), "no note of the private table")


@case("doors/same_names")
def same_names(c):
    """A preload that defines functions with the names of our internals changes nothing."""
    other = os.path.join(FAKE, "other_names.so")
    for before, after in (((other,), ()), ((), (other,))):
        r = c.both(["app_direct", "basic"], before=before, after=after)
        true_counts(r, r.one())


@case("doors/next")
def next_pointer(c):
    two = [FAKE + "/plugin_first.so", FAKE + "/plugin_second.so"]
    for before, after in ((two, ()), ((), two), (two[:1], two[1:])):
        r = c.both(["app_doors", "next"], before=before, after=after)
        check("first sees second" in r.out, "RTLD_NEXT: %s", r.out)


@case("doors/injection")
def injection(c):
    bare = c.run(["app_direct", "basic"], shim=None)
    r = c.run(["app_direct", "basic"], shim=None,
              env={"CUDA_INJECTION64_PATH": SHIM, "KBN_OUT": "rec", "KBN_QUIET": 1, "KBN_REPORT": "none"})
    c.same(bare, r)


@case("doors/injection_and_preload")
def injection_and_preload(c):
    r = c.both(["app_direct", "basic"], env={"CUDA_INJECTION64_PATH": SHIM},
               bare_env={"CUDA_INJECTION64_PATH": ""})
    true_counts(r, r.one())


def interposer(name, argv, launches, bypassed=False):
    """Another interposer on either side. `bypassed`: in front of us it goes to the driver past us."""
    def run(c):
        if SAN:
            raise Skipped("the sanitizer wraps dlsym as well")
        other = os.path.join(FAKE, name)
        for before, after in (((other,), ()), ((), (other,))):
            count = os.path.join(c.home, "other")
            r = c.both(argv, before=before, after=after, env={"OTHER_COUNT": count})
            where = "before" if before else "after"
            equal(str(launches), open(count).read().strip(), "launches seen by the other one, %s us" % where)
            recorded = sum(rec.by_kernel("ran").get("k_none_5us", 0) + rec.by_kernel("ran").get("k_2us", 0) +
                           rec.by_kernel("ran").get("k_20us", 0) for rec in r.recordings())
            if not (bypassed and before):
                equal(r.counts.ok, recorded, "launches recorded, the other one %s us" % where)
            for rec in r.recordings():
                equal((rec.bins(), 0), (rec.seen, rec.thread_dropped), "launches in bins and seen, dropped")
    return run


for _other, _past in (("other_hami.so", True), ("other_mango.so", False)):
    case("doors/%s_linked" % _other[:-3])(interposer(_other, ["app_direct", "basic"], 240, _past))
    case("doors/%s_dlsym" % _other[:-3])(interposer(_other, ["app_doors", "base_names"], 60, _past))


case("doors/other_asks_linked")(interposer("other_asks.so", ["app_direct", "basic"], 240))


@case("doors/count_hook")
def count_hook(c):
    """The independent counter of the GPU tests agrees with the driver, in front of the recorder."""
    if SAN:
        raise Skipped("the sanitizer wraps dlsym as well")
    hook = os.path.join(FAKE, "count_hook.so")
    for argv in (["app_graph", "capture"], ["app_doors", "runtime"], ["app_doors", "base_names"],
                 ["app_direct", "ptsz"]):
        home = c.folder()
        r = c.run(argv, before=(hook,), env={"COUNT_DIR": home}, home=home)
        files = [f for f in os.listdir(home) if f.startswith("count.")]
        equal(1, len(files), "count files")
        ok, captured, failed, graphs = struct.unpack("<4Q", open(os.path.join(home, files[0]), "rb").read())
        n = r.counts
        equal((n.ok, n.captured, n.failed, n.graphs), (ok, captured, failed, graphs), "counts of %s" % argv[1])
        rec = r.one()
        equal((ok, captured, failed), (rec.total("ran"), rec.total("captured"), rec.total("failed")),
              "counts of the recording")
