"""
Section c: overhead, as the upper 95% bound of the median ratio over interleaved pairs. Small
programs run afresh for each pair; the training step runs in long-lived processes that take turns,
since starting PyTorch takes longer than what is measured.
"""
import os
import subprocess

from gpulib import app, bare_env, fresh, guarded, median_ratio_bound, result, run, shim_env, word_after, work

PAIRS = int(os.environ.get("GPU_PAIRS", "30"))


def value(command, env):
    p = run(command, env)
    v = word_after(p.stdout.decode(), "value")
    if p.returncode != 0 or v is None:
        raise RuntimeError("%s: %d %s" % (command[0], p.returncode, p.stderr.decode(errors="replace")[-200:]))
    return v


def judge(name, pairs, limit, unit):
    median, bound = median_ratio_bound(pairs)
    bare = sorted(a for a, _ in pairs)[len(pairs) // 2]
    result("c", name, bound <= limit, "ratio %.4f, upper bound %.4f (limit %.3f), bare %.4g %s, %d pairs" % (
        median, bound, limit, bare, unit, len(pairs)), pairs=pairs, median=median, bound=bound)


def programs(name, command, limit, unit):
    pairs = []
    for i in range(PAIRS):
        sides = {}
        for side in ("bare", "shim") if i % 2 == 0 else ("shim", "bare"):
            env = bare_env() if side == "bare" else shim_env(fresh("over"), KBN_REPORT="none")
            sides[side] = value(command, env)
        pairs.append((sides["bare"], sides["shim"]))
    judge(name, pairs, limit, unit)


class Server:
    """A program that answers each line with a time."""

    def __init__(self, command, env):
        self.p = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)

    def ready(self):
        if self.p.stdout.readline().strip() != "ready":
            raise RuntimeError("the program did not start")

    def ask(self, n):
        self.p.stdin.write("%d\n" % n)
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def close(self):
        self.p.stdin.close()
        self.p.wait(60)


def training(servers=4, steps=16):
    command = work("work_eager.py", "serve")
    both = [(Server(command, bare_env()), Server(command, shim_env(fresh("train"), KBN_REPORT="none")))
            for _ in range(servers)]
    for pair in both:
        for server in pair:
            server.ready()
    pairs = []
    for i in range(-(-PAIRS // servers) * servers):
        # each bare process meets each shimmed one, so that the luck of one process averages out
        bare, shim = both[i % servers][0], both[(i + i // servers) % servers][1]
        if i // servers % 2 == 0:
            a = bare.ask(steps)
            b = shim.ask(steps)
        else:
            b = shim.ask(steps)
            a = bare.ask(steps)
        pairs.append((a, b))
    for pair in both:
        for server in pair:
            server.close()
    judge("eager training step", pairs, 1.02, "ms")


def main():
    guarded("c", "empty kernels", programs, "empty kernels", app("app_empty") + ["100000"], 1.05, "ns")
    guarded("c", "eager training step", training)
    guarded("c", "GEMM loop", programs, "GEMM loop", app("app_gemm") + ["60"], 1.005, "us")


main()
