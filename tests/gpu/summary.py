"""The closing table: every result line, sorted, and the counts. Writes gpu-check.txt and .json."""
import json
import os
import sys


def main(results, out, head):
    rows = [json.loads(line) for line in open(results)] if os.path.exists(results) else []
    rows.sort(key=lambda r: r["section"])
    lines = [head] + ["%-4s %s  %-44s %s" % (r["state"], r["section"], r["name"], r["text"]) for r in rows]
    count = {s: sum(r["state"] == s for r in rows) for s in ("pass", "FAIL", "skip")}
    lines.append("%d passed, %d failed, %d skipped" % (count["pass"], count["FAIL"], count["skip"]))
    text = "\n".join(lines) + "\n"
    with open(os.path.join(out, "gpu-check.txt"), "w") as f:
        f.write(text)
    with open(os.path.join(out, "gpu-check.json"), "w") as f:
        json.dump({"head": head, "results": rows}, f, indent=1)
    print(text, end="")
    return 1 if count["FAIL"] or not rows else 0


sys.exit(main(*sys.argv[1:4]))
