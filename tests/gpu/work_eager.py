"""
The launch-bound training step of the overhead figures: an 8-layer Transformer encoder (d = 512),
bf16, eager AdamW with foreach off, about 1,180 kernels a step.

  work_eager.py STEPS     that many steps, then the loss
  work_eager.py serve     for each line on stdin that many steps; answers with the ms of each as JSON
  work_eager.py swap SWAP.SO SECONDS
                          under the recorder: steps without it and with it by turns, within this one
                          process; a list of pairs, ms without and ms with, as JSON
"""
import ctypes
import gc
import json
import os
import statistics
import sys
import time

import torch


def make():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False, fused=False)
    x = torch.randn(8, 64, 512, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad()
        loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def timed(step, n):
    """ms of each of n steps."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def warm(step):
    """
    The first steps; then every thread gets its place, for where they happen to run makes a quarter of
    the time: this one the first of the cores, the one that runs backward() the second, others the rest.
    """
    timed(step, 40)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) >= 4:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/comm" % task) as f:
                backward = f.read().startswith("pt_autograd")
            os.sched_setaffinity(int(task), cores[:1] if int(task) == os.getpid() else
                                 cores[1:2] if backward else cores[2:])
    gc.collect() # now, and not within the steps
    gc.freeze()
    gc.disable()


def serve(step):
    warm(step)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(step, int(line))), flush=True)


def swap(step, library, seconds):
    warm(step)
    recorder = ctypes.CDLL(library)
    if not recorder.swap_find():
        sys.exit("work_eager: no recorder to take out")
    pairs, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        ms = {0: [], 1: []}
        outer = len(pairs) % 2
        for bare in (outer, 1 - outer, 1 - outer, outer):
            recorder.swap_to(bare)
            ms[bare] += timed(step, 1)
        pairs.append([statistics.mean(ms[1]), statistics.mean(ms[0])])
    print(json.dumps(pairs))


def main():
    step = make()
    if sys.argv[1] == "serve":
        serve(step)
    elif sys.argv[1] == "swap":
        swap(step, sys.argv[2], float(sys.argv[3]))
    else:
        loss = None
        for _ in range(int(sys.argv[1])):
            loss = step()
        print("eager", repr(loss.item()))


if __name__ == "__main__":
    main()
