"""
The launch-bound training step of the overhead figures: an 8-layer Transformer encoder (d = 512),
bf16, eager AdamW with foreach off, about 1,180 kernels a step.

  work_eager.py STEPS     that many steps, then the loss
  work_eager.py serve     for each line on stdin that many steps; answers with the ms of each as JSON
"""
import gc
import json
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


def main():
    step = make()
    if sys.argv[1] != "serve":
        loss = None
        for _ in range(int(sys.argv[1])):
            loss = step()
        print("eager", repr(loss.item()))
        return
    timed(step, 40)
    gc.collect() # now, and not within the steps
    gc.freeze()
    gc.disable()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(step, int(line))), flush=True)


main()
