"""
Section e: registers, shared memory, occupancy limits and waves of each kernel, against Nsight
Compute on the same program. Kernels are matched by mangled name and launch geometry. What depends on
the shared memory that the driver set the SM to is asked of `kbn occupancy` at that setting.
"""
import functools
import json
import os

from gpulib import BUILD, KBN, bare_env, fresh, guarded, report, result, run, shim_env, work
from ncu import launches

CONFIG = "launch__shared_mem_config_size" # bytes that the driver set the SM to for this launch
PCT = "sm__maximum_warps_per_active_cycle_pct"
TWO_DECIMALS = 0.0051 # ncu prints so many of what is no count

# ncu metric, our value from the report's kernel and from `kbn occupancy` at ncu's setting, tolerance
METRICS = [
    ("launch__registers_per_thread", lambda k, at: k["resources"]["registers_allocated"], 0),
    ("launch__shared_mem_per_block_static", lambda k, at: k["resources"]["static_smem_bytes"], 0),
    ("launch__occupancy_limit_registers", lambda k, at: k["occupancy"]["limits"]["registers"], 0),
    ("launch__occupancy_limit_shared_mem", lambda k, at: at["limits"]["shared_memory"], 0),
    ("launch__occupancy_limit_warps", lambda k, at: k["occupancy"]["limits"]["warps"], 0),
    ("launch__occupancy_limit_blocks", lambda k, at: k["occupancy"]["limits"]["blocks"], 0),
    ("launch__waves_per_multiprocessor", lambda k, at: at["waves"], TWO_DECIMALS),
    (PCT, lambda k, at: at["pct"], TWO_DECIMALS),
]
# A resource that limits nothing has no number of ours, or a number past any other limit.
UNLIMITED = 32


def ncu_rows(command):
    """{(mangled name, grid, block, dynamic bytes): {metric: value}}"""
    wanted = [m for m, _, _ in METRICS] + [CONFIG]
    return dict(launches(command, wanted, ["--launch-count", "700"]))


def kbn_rows(command):
    """{the same key: kernel of the report}, each with the "sm" and "sm_count" of its device"""
    out = fresh("ncu")
    run(command, shim_env(out))
    r = report(out)
    rows = {}
    for k in r["kernels"]:
        k.update({f: r["devices"][k["device"]][f] for f in ("sm", "sm_count")})
        rows[k["name"], tuple(k["launch"]["grid"]), tuple(k["launch"]["block"]), k["launch"]["dyn_smem_bytes"]] = k
    return rows


@functools.lru_cache(maxsize=None)
def occupancy(*options):
    """`kbn occupancy` with these options; a start takes milliseconds, so each distinct one is a process."""
    p = run([KBN, "occupancy", "--json"] + ["%s=%s" % o for o in options], bare_env(), 20)
    if p.returncode != 0:
        raise RuntimeError("kbn occupancy: %s" % p.stderr.decode(errors="replace")[-200:])
    return json.loads(p.stdout)["occupancy"]


def at_setting(k, config):
    """
    Our occupancy of a report's kernel with the SM set as ncu saw it. The report itself assumes the
    largest setting, which the driver need not choose.
    """
    barriers = k["occupancy"]["limits"]["barriers"]
    # any count with the limit that the report gives, out of the slots of the SM
    slots = 24 if k["sm"] in ("sm_110", "sm_120", "sm_121") else 64
    o = dict(occupancy(("--arch", k["sm"]), ("--registers", k["resources"]["registers"]),
                       ("--block", "%d,%d,%d" % tuple(k["launch"]["block"])),
                       ("--smem", k["resources"]["static_smem_bytes"]), ("--dyn-smem", k["launch"]["dyn_smem_bytes"]),
                       ("--barriers", slots // barriers if barriers else 0), ("--carveout", int(config))))
    x, y, z = k["launch"]["grid"]
    o["waves"] = x * y * z / (k["sm_count"] * o["blocks_per_sm"]) if o["blocks_per_sm"] else 0
    return o


def equal(ours, theirs, tolerance):
    if ours is None:
        return theirs >= UNLIMITED
    return abs(ours - theirs) <= tolerance or (tolerance == 0 and ours >= UNLIMITED and theirs >= UNLIMITED)


def differences(k, row):
    """[text] of all that ncu says otherwise of one launch shape."""
    missing = [m for m in [CONFIG] + [m for m, _, _ in METRICS] if m not in row]
    if missing: # renamed or refused: not a silent pass
        return ["ncu gave no " + ", ".join(missing)]
    if k["resources"]["registers"] is None or k["resources"]["static_smem_bytes"] is None:
        return ["the report does not know registers or static shared memory"]
    at = at_setting(k, row[CONFIG])
    if not at["blocks_per_sm"]:
        return ["kbn occupancy says that it cannot be launched: %s" % at["why"]]
    wrong = ["%s is %s, ncu %g (SM set to %d bytes)" % (metric, get(k, at), row[metric], row[CONFIG])
             for metric, get, tolerance in METRICS if not equal(get(k, at), row[metric], tolerance)]
    blocks = round(row[PCT] / 100 * at["max_warps_per_sm"] / (at["warps_per_sm"] / at["blocks_per_sm"]))
    if at["blocks_per_sm"] != blocks:
        wrong.append("blocks per SM are %d, ncu %d" % (at["blocks_per_sm"], blocks))
    if k["occupancy"]["pct"] < row[PCT] - TWO_DECIMALS:
        wrong.append("the report says %g%% with the largest setting, ncu %g%%" % (k["occupancy"]["pct"], row[PCT]))
    return wrong


def compare(name, command, least):
    theirs, ours = ncu_rows(command), kbn_rows(command)
    matched = sorted(set(theirs) & set(ours))
    wrong = ["%s %s %s: %s" % (key[0][:60], key[1], key[2], text)
             for key in matched for text in differences(ours[key], theirs[key])]
    less = [key for key in matched if theirs[key].get(PCT, 100) < (ours[key]["occupancy"]["pct"] or 0) - TWO_DECIMALS]
    # does a kernel that calls the driver's code (assert, printf, malloc) get at least 32 registers?
    threads = "launch__registers_per_thread"
    other = [key for key in matched if ours[key]["resources"]["registers_allocated"] != theirs[key].get(threads)]
    few = [key for key in matched if ours[key]["resources"]["uses_syscalls"] and (ours[key]["resources"]["registers"] or 32) < 32]
    agreed = [key for key in few if key not in other]
    for key in other:
        r = ours[key]["resources"]
        print("registers differ: %s: compiled %s, said %s, ncu %s, calls the driver's code: %s" % (
            key[0], r["registers"], r["registers_allocated"], theirs[key].get(threads), r["uses_syscalls"]))
    print("kernels that call the driver's code and have fewer than 32 registers: %d, as ncu says: %d" % (len(few), len(agreed)))
    # every count that ncu and the code state, to see how registers are rounded
    registers = sorted({(ours[key]["resources"]["registers"], theirs[key].get("launch__registers_per_thread"))
                        for key in matched}, key=str)
    result("e", "Nsight Compute: " + name, len(matched) >= least and not wrong,
           "%d launch shapes, %d kernels compared (of %d), %d differences%s; the driver's setting of shared memory "
           "leaves %d of them less than the largest" % (
               len(matched), len({key[0] for key in matched}), len(theirs), len(wrong),
               ": " + wrong[0] if wrong else "", len(less)),
           differences=wrong[:200],
           registers_differ=[[key[0], ours[key]["resources"], theirs[key].get(threads)] for key in other][:50],
           syscalls=[[key[0], ours[key]["resources"]["registers"], theirs[key].get(threads)] for key in few][:50], less=[str(k) for k in less][:20], registers=registers,
           unmatched=[str(k) for k in sorted(set(theirs) - set(ours))][:20])


def main():
    demo = [os.path.join(BUILD, "samples", "demo"), "-n", "1"]
    guarded("e", "Nsight Compute: samples", compare, "samples", demo, 20)
    guarded("e", "Nsight Compute: PyTorch", compare, "PyTorch", work("work_variety.py"), 60)


if __name__ == "__main__":
    main()
