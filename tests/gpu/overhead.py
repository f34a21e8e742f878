"""
Section c: overhead, as the upper 95% bound of the median ratio over interleaved pairs. The GEMM
program runs afresh for each pair; the launch-bound ones run in long-lived processes that take short
turns: the machine's speed wanders by 10% within seconds, and a pair must be shorter than that.

Both sides alike, against noise that is not ours: a fixed set of cores, no address space
randomisation, a fixed hash seed, no garbage collection within the steps.
"""
import ctypes
import json
import os
import statistics
import subprocess
import time

from gpulib import GPU, app, bare_env, fresh, guarded, median_ratio_bound, result, run, shim_env, word_after, work

PAIRS = int(os.environ.get("GPU_PAIRS", "30"))
SWAP = os.path.join(GPU, "swap.so")
ADDR_NO_RANDOMIZE = 0x0040000 # <sys/personality.h>

_libc = ctypes.CDLL(None)


def steady(cores, same_addresses=True):
    """
    For preexec_fn: the last `cores` cores, away from core 0 and its interrupts, and if so wanted the same
    addresses in each process. Done here and not by setarch and taskset, which the recorder would be
    loaded into.
    """
    chosen = sorted(os.sched_getaffinity(0))[-cores:]

    def set_up():
        os.sched_setaffinity(0, chosen)
        if same_addresses:
            _libc.personality(ADDR_NO_RANDOMIZE) # refused in some containers: then as random as before

    return set_up


def value(command, env, prepare):
    p = run(command, env, preexec_fn=prepare)
    v = word_after(p.stdout.decode(), "value")
    if p.returncode != 0 or v is None:
        raise RuntimeError("%s: %d %s" % (command[0], p.returncode, p.stderr.decode(errors="replace")[-200:]))
    return v


def judge(name, pairs, limit, unit, more=""):
    median, bound = median_ratio_bound(pairs)
    bare = statistics.median(a for a, _ in pairs)
    result("c", name, bound <= limit, "ratio %.4f, upper bound %.4f (limit %.3f), bare %.4g %s%s, %d pairs" % (
        median, bound, limit, bare, unit, more, len(pairs)), pairs=pairs, median=median, bound=bound)


def programs(name, command, limit, unit, pairs_n=PAIRS, prepare=None):
    pairs = []
    for i in range(pairs_n):
        sides = {}
        for side in ("bare", "shim") if i % 2 == 0 else ("shim", "bare"):
            env = bare_env() if side == "bare" else shim_env(fresh("over"), KBN_REPORT="none")
            sides[side] = value(command, env, prepare)
        pairs.append((sides["bare"], sides["shim"]))
    judge(name, pairs, limit, unit)


class Server:
    """A program that answers each line with the figures of that many steps."""

    def __init__(self, command, env, cores):
        self.p = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, preexec_fn=steady(cores))

    def ready(self):
        if self.p.stdout.readline().strip() != "ready":
            raise RuntimeError("the program did not start")

    def ask(self, steps, discard):
        """All figures but the first ones, which find the caches as the other process left them."""
        self.p.stdin.write("%d\n" % steps)
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())[discard:]

    def close(self):
        self.p.stdin.close()
        self.p.wait(60)


def turn(bare, shim, first, steps, discard):
    """
    A pair: the median figure of each side over its two visits. The visits go A B B A, so that a clock or a
    neighbour that changes steadily adds the same to both.
    """
    times = {bare: [], shim: []}
    a, b = (bare, shim) if first == "bare" else (shim, bare)
    for server in (a, b, b, a):
        times[server] += server.ask(steps, discard)
    return statistics.median(times[bare]), statistics.median(times[shim])


def take_turns(command, steps, discard, cores, limit_s, servers=2, **shim_more):
    both = [(Server(command, bare_env(PYTHONHASHSEED="0"), cores),
             Server(command, shim_env(fresh("turns"), KBN_REPORT="none", PYTHONHASHSEED="0", **shim_more), cores))
            for _ in range(servers)]
    for pair in both:
        for server in pair:
            server.ready()
    pairs, end = [], time.monotonic() + limit_s
    while time.monotonic() < end:
        i = len(pairs)
        # each bare process meets each shimmed one, so that the luck of one process averages out
        pairs.append(turn(both[i % servers][0], both[(i + i // servers) % servers][1],
                          "bare" if i // (servers * servers) % 2 == 0 else "shim", steps, discard))
    for pair in both:
        for server in pair:
            server.close()
    if len(pairs) < 30:
        raise RuntimeError("only %d pairs in %d s" % (len(pairs), limit_s))
    return pairs


def resident(name, command, limit, unit, steps, discard, cores, limit_s):
    pairs = take_turns(command, steps, discard, cores, limit_s)
    judge(name, pairs, limit, unit, ", median difference %+.3g %s" % (
        statistics.median(b - a for a, b in pairs), unit))


def pairs_within(command, prepare, **shim_more):
    """
    Pairs of one process that runs the driver's own functions and the recorder's by turns (swap.c): no
    luck of two processes between the sides, so a much narrower bound. The recorder's threads run beside
    both sides, so this measures what it does to the thread that launches.
    """
    p = run(command, shim_env(fresh("within"), KBN_REPORT="none", PYTHONHASHSEED="0", **shim_more),
            preexec_fn=prepare)
    if p.returncode != 0:
        raise RuntimeError("%s: %d %s" % (command[0], p.returncode, p.stderr.decode(errors="replace")[-200:]))
    return [tuple(pair) for pair in json.loads(p.stdout) if pair]


def within(name, command, limit, unit, cores):
    judge(name + ", in one process", pairs_within(command, steady(cores)), limit, unit)


def untimed(processes, seconds):
    """
    Tens of nanoseconds in thousands: where a process's data comes to lie in the caches is as much, so the
    pairs of several processes are put together, each at other addresses.
    """
    pairs = []
    for _ in range(processes):
        pairs += pairs_within(app("app_empty") + ["swap", SWAP, str(seconds)], steady(2, same_addresses=False),
                              KBN_TIMING="off", KBN_PARAMS="off")
    more = sorted(b - a for a, b in pairs)
    result("c", "untimed launch", statistics.median(more) <= 60,
           "median %.0f ns more of %.0f (limit 60), quartiles %.0f to %.0f, %d pairs" % (
               statistics.median(more), statistics.median(a for a, _ in pairs), more[len(more) // 4],
               more[3 * len(more) // 4], len(more)), pairs=pairs)


def main():
    guarded("c", "untimed launch", untimed, 5, 4)
    guarded("c", "empty kernels, in one process", within, "empty kernels", app("app_empty") + ["swap", SWAP, "6"],
            1.05, "ns", 2)
    guarded("c", "eager training step, in one process", within, "eager training step",
            work("work_eager.py", "swap", SWAP, 30), 1.02, "ms", 4)
    guarded("c", "eager training step", resident, "eager training step", work("work_eager.py", "serve"), 1.02, "ms",
            3, 1, 4, 125)
    guarded("c", "empty kernels", resident, "empty kernels", app("app_empty") + ["serve"], 1.05, "ns",
            20000, 0, 2, 60)
    guarded("c", "GEMM loop", programs, "GEMM loop", app("app_gemm") + ["60"], 1.005, "us")


if __name__ == "__main__":
    main()
