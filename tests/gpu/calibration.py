"""
Section g: `kbn calibrate` runs within its time and its figures are possible; the whole document is
kept with the results. Run first: sections b and on then use the measured bias.
"""
import json
import os

from gpulib import KBN, bare_env, guarded, result, run

# key path, lowest and highest believable value on any GPU of today
RANGES = [("gated_bias_us", 0.5, 6), ("gated_uncertainty_us", 0.01, 2), ("plain_bias_us", 0.5, 10),
          ("copy_gbps", 100, 10000), ("fp32_tflops", 1, 200), ("sm_clock_mhz", 300, 4000),
          ("l2_effective_bytes", 5e5, 3e8), ("matrix.fp16_tensor_fp32acc_tflops", 20, 5000),
          ("matrix.bf16_tensor_tflops", 20, 5000), ("matrix.tf32_tensor_tflops", 10, 2500)]


def main():
    p = run([KBN, "calibrate", "--json"], bare_env(), 60)
    if p.returncode != 0:
        raise RuntimeError("status %d: %s" % (p.returncode, p.stderr.decode(errors="replace")[-300:]))
    document = json.loads(p.stdout)
    with open(os.path.join(os.environ.get("OUT", "."), "calibrate.json"), "w") as f:
        json.dump(document, f, indent=1)
    for d in document["devices"]:
        result("g", "calibrate: time", d["seconds"] <= 10, "%.1f s on %s (limit 10)" % (d["seconds"], d["name"]))
        for path, low, high in RANGES:
            value, why = d, d["why"]
            for part in path.split("."):
                value = value[part]
            key = path.split(".")[-1]
            result("g", "calibrate: " + key, value is not None and low <= value <= high,
                   "%.6g (%s)" % (value, d["methods"][key]) if value is not None else why[key])


guarded("g", "calibrate", main)
