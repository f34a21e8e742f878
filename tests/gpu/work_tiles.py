"""
The Triton kernels of triton_set.py, each behind a marker as in work_class.py.
usage: work_tiles.py LIST LAUNCHES
"""
import json
import sys

import torch

import triton_set


def main():
    launches = int(sys.argv[2])
    with open(sys.argv[1], "w") as out:
        for name, launch, _ in triton_set.cases():
            for _ in range(2):
                launch()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            torch.cuda._sleep(1000)
            for _ in range(launches):
                launch()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            out.write(json.dumps({"case": name, "calls": 2 + launches}) + "\n")
    print("tiles done")


main()
