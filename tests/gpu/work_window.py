"""
What recording adds to an eager training step, within one process: turns of steps with the window
open (recorded) and closed (launches left out), so that the luck of a process is on both sides.
The wrapper's own cost stands on both sides too: scripts/bench-launch has that.
usage: LD_PRELOAD=libkbn.so KBN_WINDOW=profiler work_window.py SECONDS
"""
import gc
import statistics
import sys
import time

import torch
from work_eager import make

STEPS = 6


def turn(step, is_open):
    (torch.cuda.profiler.start if is_open else torch.cuda.profiler.stop)()
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[1:])


def main():
    step = make()
    for i in range(10):
        turn(step, i % 2 == 0)
    gc.collect()
    gc.disable()
    pairs, end = [], time.perf_counter() + float(sys.argv[1])
    while time.perf_counter() < end:
        first = len(pairs) % 2 == 0
        a = turn(step, first)
        b = turn(step, not first)
        pairs.append((b, a) if first else (a, b))
    ratios = sorted(y / x for x, y in pairs)
    n = len(ratios)
    print("pairs %d, closed %.3f ms, open/closed median %.4f, quartiles %.4f %.4f, difference %.0f us" % (
        n, statistics.median(x for x, _ in pairs), ratios[n // 2], ratios[n // 4], ratios[3 * n // 4],
        statistics.median((y - x) * 1e3 for x, y in pairs)))


main()
