"""
What samples/demo.c launches: the one reader of its table of kernels, for the tests that launch or look at the same.
"""
import os
import re
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Row = namedtuple("Row", "file symbol fill n grid_x grid_y per_sm block_x block_y smem repeats")
NUMBERS = set(Row._fields) - {"file", "symbol", "fill", "smem"}
_source = open(os.path.join(ROOT, "samples", "demo.c")).read()
_defined = dict(re.findall(r"^#define (\w+)\s+\(?(.+?)\)?(?:\s*/\*.*)?$", _source, re.M))


def size(text):
    """A C number: 4096, 0xffu, 1 << 20, or the name of one that demo.c defines."""
    left, _, shift = _defined.get(text, text).replace("u", "").partition("<<")
    return int(left, 0) << int(shift or 0)


WORDS, BIG, FULL = size("WORDS"), size("BIG"), size("FULL")


def _row(text):
    fields = [f.strip().strip('"') for f in text.split(",")]
    return Row(*(size(f) if name in NUMBERS else f for name, f in zip(Row._fields, fields, strict=True)))


_table = _source.split("kernels[] = {")[1].split("\n};")[0]
ROWS = [_row(text) for text in re.findall(r"^\t\{(.*)\},$", _table, re.M)]
if len(ROWS) != _table.count('\t{"'):
    raise ValueError("%d of %d rows of demo.c were read" % (len(ROWS), _table.count('\t{"')))


def grid(row, sms, threads_per_sm, block=None):
    """[x, y] in blocks, of this block or the row's own"""
    x, y = block or (row.block_x, row.block_y)
    per_sm = threads_per_sm // (x * y) if row.per_sm == FULL else row.per_sm
    return [row.grid_x + per_sm * sms, row.grid_y]


def dynamic_smem(row, cliff):
    """In bytes; cliff is the most with two blocks on an SM."""
    return {"NO_SMEM": 0, "AT_CLIFF": cliff, "PAST_CLIFF": cliff + 1}[row.smem]
