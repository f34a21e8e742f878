"""
Section r: stalls that kbn calls reducible, put to the proof. The code of the samples and of Triton kernels is
patched (BUILD/sass_slack) and run: what comes out must be the same bit by bit. Compilers leave next to nothing
to lower, so most patched code comes of code whose stalls were raised first, which is always allowed: what kbn's
plan then leaves may be lower than what the compiler had. A control, with stalls that are known to be needed
lowered, must come out wrong: else the comparison sees nothing.
usage: slack.py [NAME...]
"""
import ctypes
import os
import statistics
import subprocess
import sys

from gpulib import BUILD, ROOT, fresh, guarded, result
import demo_table  # found through gpulib
from demo_table import BIG, WORDS

LAUNCHES = int(os.environ.get("GPU_SLACK_LAUNCHES", "200"))
TOOL = next((p for p in (os.path.join(BUILD, "sass_slack"), os.path.join(BUILD, "golden", "sass_slack"))
             if os.path.exists(p)), None)
# what is done to the code before the plan: mode, K, seed
RAISED = (None, ("level", 11, 0), ("level", 8, 0), ("loosen", 6, 1), ("loosen", 9, 2))
MAX_DYNAMIC_SMEM = 8
totals = {"kernels": 0, "lowered": 0, "below": 0, "launches": 0}


def driver():
    lib = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        status = getattr(lib, name)(*args)
        if status:
            raise RuntimeError("%s: error %d" % (name, status))
    return call


class Code:
    """A cubin and its stalls; changed() gives another one."""

    def __init__(self, data):
        self.path = fresh("slack") + ".cubin"
        with open(self.path, "wb") as f:
            f.write(data)
        self.data = data

    def changed(self, *how):
        to = fresh("slack") + ".cubin"
        done = subprocess.run([TOOL, how[0], self.path, to, *map(str, how[1:])], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("sass_slack: " + done.stderr[-200:])
        return Code(open(to, "rb").read())

    def stalls(self):
        """Of each instruction, by the control code's bits; code sections only matter, other bytes are equal."""
        return [self.data[i + 13] >> 1 & 15 for i in range(0, len(self.data) - 15, 16)]

    def function(self, call, name, smem=0):
        module, handle = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), self.data)
        call("cuModuleGetFunction", ctypes.byref(handle), module, name.encode())
        if smem > 48 << 10:
            call("cuFuncSetAttribute", handle, MAX_DYNAMIC_SMEM, smem)
        return handle


def lowered(old, new):
    """(stalls that are lower in new, cycles less)"""
    less = [a - b for a, b in zip(old.stalls(), new.stalls()) if b < a]
    return len(less), sum(less)


def time_of(torch, launch, n=10):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(n):
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / n


def times(torch, launches):
    """us of each, in turns."""
    got = [[] for _ in launches]
    for _ in range(15):
        for times_of, launch in zip(got, launches):
            times_of.append(time_of(torch, launch))
    return [statistics.median(t) for t in got]


def differing(torch, launch, outputs, expected, n):
    """How many of n launches come out other than expected."""
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(n):
        for t in outputs:
            t.zero_()
        launch()
        same = torch.stack([(t.view(-1).view(torch.uint8) == e).all() for t, e in zip(outputs, expected)]).all()
        wrong += ~same
    torch.cuda.synchronize()
    return int(wrong.item())


def bits(t):
    return t.view(-1).view(__import__("torch").uint8).clone()


def expected_of(launch, outputs):
    for t in outputs:
        t.zero_()
    launch()
    return [bits(t) for t in outputs]


def compare(torch, name, code, launch_of, launches_n, outputs):
    """launch_of(code) gives one launch for each grid; prints the line of one kernel."""
    base = launch_of(code)
    expected = [expected_of(launch, outputs) for launch in base]
    each = max(1, LAUNCHES // len(base))
    if any(differing(torch, launch, outputs, e, 20) for launch, e in zip(base, expected)):
        result("r", name, None, "its own results differ from launch to launch")
        return
    said, wrong, ran, most, below_all, slower = [], 0, 0, 0, 0, None
    for how in RAISED:
        start = code.changed(*how) if how else code
        plan = start.changed("plan")
        n, cycles = lowered(start, plan)
        below, _ = lowered(code, plan)
        if not n:
            continue
        most, below_all = max(most, n), max(below_all, below)
        patched = launch_of(plan)
        bad = sum(differing(torch, launch, outputs, e, each) for launch, e in zip(patched, expected))
        wrong += bad
        ran += each * len(base)
        text = "%s: %d lowered by %d cycles" % (" ".join(map(str, how[:2])) if how else "as compiled", n, cycles)
        if below:
            text += ", %d below the compiler's" % below
        if how in RAISED[:2]:
            t = times(torch, [base[0], launch_of(start)[0], patched[0]])
            text += ", %.2f us, raised %.2f, planned %.2f" % tuple(t)
        said.append(text + (", %d WRONG" % bad if bad else ""))
    if not said:
        result("r", name, True, "nothing to lower, raised or not")
        return
    totals["kernels"] += 1
    totals["lowered"] += most
    totals["below"] += below_all
    totals["launches"] += ran
    result("r", name, not wrong, "%d launches, all the same: " % ran * (not wrong) + "; ".join(said),
           launches=ran, wrong=wrong, lowered=most, below=below_all)


# ------------------------------------------------------------------------------------------- samples

def filled(torch, fill):
    i = torch.arange(WORDS, device="cuda", dtype=torch.int64)
    if fill == "CHAIN":
        return ((i + 0x9e3779b1) & (WORDS - 1)).to(torch.int32)
    gen = torch.Generator(device="cuda").manual_seed(5)
    if fill == "HALVES":
        r = torch.randint(0, 1 << 31, (WORDS,), device="cuda", generator=gen)
        return (r & 0x03ff03ff | 0x38003800).to(torch.int32)
    return (torch.rand(WORDS, device="cuda", generator=gen) + 0.5).view(torch.int32)


def sample_launches(call, row, inp, out, props, cliff):
    bx, by, bytes_ = row.block_x, row.block_y, demo_table.dynamic_smem(row, cliff)
    gx, gy = demo_table.grid(row, props.multi_processor_count, props.max_threads_per_multi_processor)
    values = [ctypes.c_void_p(out.data_ptr()), ctypes.c_void_p(inp.data_ptr()), ctypes.c_int(row.n)]
    params = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])

    def launch_of(code):
        handle = code.function(call, row.symbol, bytes_)

        def on(x, y):
            # `values` are what `params` points to
            return lambda _keep=values: call("cuLaunchKernel", handle, x, y, 1, bx, by, 1, bytes_, None, params, None)
        return [on(gx, gy), on(max(1, gx // 2), gy), on(1, 1)]
    return launch_of


def sample_code(file, props):
    for sm in range(props.major * 10 + props.minor, props.major * 10 - 1, -1):
        path = os.path.join(ROOT, "tests", "golden", "cubin", "%s.sm_%d.cubin" % (file, sm))
        if os.path.exists(path):
            return Code(open(path, "rb").read())
    return None


def samples(torch, call, wanted):
    props = torch.cuda.get_device_properties(0)
    cliff = ctypes.c_int(), ctypes.c_int()
    for value, attribute in zip(cliff, (81, 111)):
        call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
    cliff = cliff[0].value // 2 - cliff[1].value
    out = torch.zeros(BIG, dtype=torch.int32, device="cuda")
    inputs = {fill: filled(torch, fill).repeat(BIG // WORDS) for fill in ("FLOATS", "HALVES", "CHAIN")}
    for row in demo_table.ROWS:
        code = sample_code(row.file, props)
        if not code:
            result("r", row.file, None, "no code for this GPU")
            continue
        launch_of = sample_launches(call, row, inputs[row.fill], out, props, cliff)
        if row.file == "ffma_peak_bad":
            guarded("r", "control", control, torch, code, launch_of, out)
        if wanted(row.file):
            guarded("r", row.file, compare, torch, row.file, code, launch_of, LAUNCHES, [out])


def control(torch, code, launch_of, out):
    """A chain of dependent FFMAs with no stall at all."""
    launch = launch_of(code)[0]
    expected = expected_of(launch, [out])
    wrong = differing(torch, launch_of(code.changed("break"))[0], [out], expected, 20)
    result("r", "control: needed stalls lowered", wrong > 0, "%d of 20 launches come out wrong" % wrong)


# -------------------------------------------------------------------------------------------- Triton

def triton_launches(call, launch, compiled):
    first = compiled.function
    smem = compiled.metadata.shared

    def launch_of(code):
        handle = code.function(call, compiled.metadata.name, smem).value if code.data != original else first

        def run():
            compiled.function = handle
            launch()
            compiled.function = first
        return [run]
    original = bytes(compiled.asm["cubin"])
    return launch_of


def tritons(torch, call, wanted):
    import triton_set
    for name, launch, outputs in triton_set.cases():
        if not wanted(name):
            continue
        compiled = launch()
        torch.cuda.synchronize()
        code = Code(bytes(compiled.asm["cubin"]))
        guarded("r", "Triton " + name, compare, torch, "Triton " + name, code,
                triton_launches(call, launch, compiled), LAUNCHES, outputs)


def main(names):
    if not TOOL:
        result("r", "reducible stalls", None, "no sass_slack in %s" % BUILD)
        return
    import torch
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    call = driver()

    def wanted(name):
        return not names or any(name.startswith(n) for n in names)
    samples(torch, call, wanted)
    guarded("r", "Triton", tritons, torch, call, wanted)
    if not names:
        result("r", "reducible stalls", totals["kernels"] >= 20,
               "%(kernels)d kernels with lowered stalls (%(lowered)d of them, %(below)d below the compiler's), "
               "%(launches)d launches" % totals, **totals)


main(sys.argv[1:])
