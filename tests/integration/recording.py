"""A second reader of the recording, written from the format's header alone.

Input: a run directory. Output: class Recording with what the tests compare. Shares no code with
the analyzer, so that an error in either shows.
"""
import os
import struct

SLOT = struct.Struct("<5I3I3I3I2I 2I5Q2Q 2I8Q12I2I")
THREAD = struct.Struct("<4I6Q24Q")
REC = struct.Struct("<3I2H")
FILE = struct.Struct("<Q6I2Q2Q")
COMMIT = 0x4B424E43
HEADER_BYTES = 4096


class Slot:
    """One accumulator slot; `ran` = launches that ran."""

    def __init__(self, raw):
        v = SLOT.unpack(raw)
        self.kind, self.thread, self.kernel, self.flags, self.context = v[0:5]
        self.grid, self.block, self.cluster = v[5:8], v[8:11], v[11:14]
        self.smem = v[14]
        self.launch_seq = v[16]
        self.sampled_out, self.untimeable, self.bracketed, self.captured, self.failed = v[18:23]
        self.time_seq = v[25]
        self.gated, self.plain, self.starved, self.lost = v[27:31]
        self.sum_ns, self.min_ns, self.max_ns, self.slack_ns = v[31:35]
        self.early = list(zip(v[35:47:2], v[36:47:2]))
        self.early_count, self.samples = v[47:49]
        self.ran = self.sampled_out + self.untimeable + self.bracketed


def _pairs(data, at, n):
    return [struct.unpack_from("<2I", data, at + 8 * i) for i in range(n)]


class Process:
    """One process directory."""

    def __init__(self, path):
        self.path = path
        self.slots, self.graphs_slots, self.threads = [], [], []
        self.kernels, self.images, self.stored, self.params = {}, {}, {}, []
        self.graphs, self.notes, self.devices, self.contexts = {}, [], [], []
        self.process, self.ended, self.torn = None, None, 0
        self._read_slots(open(os.path.join(path, "slots.kbn"), "rb").read())
        self._read_log(open(os.path.join(path, "log.kbn"), "rb").read())

    def _read_slots(self, data):
        head = FILE.unpack_from(data)
        if struct.pack("<Q", head[0]) != b"KBNSLT1\0" or head[1] != 1:
            raise ValueError("%s: not slots of version 1" % self.path)
        (self.heartbeat, self.state, self.slot_cap, self.slot_count, self.sketches, self.dropped,
         self.gates, self.gate_deadlines, self.self_ns, self.log_dropped, self.budget_ppm,
         self.timing) = struct.unpack_from("<Q2I7Q2I", data, 64)
        for at in range(HEADER_BYTES, len(data) - 255, 256):
            raw = data[at:at + 256]
            kind = struct.unpack_from("<I", raw)[0]
            if kind == 1:
                self.slots.append(Slot(raw))
            elif kind == 2:
                self.graphs_slots.append(Slot(raw))
            elif kind == 3:
                self.threads.append(THREAD.unpack(raw))

    def _read_log(self, data):
        at = FILE.unpack_from(data)[3]
        self.log_bytes = 0
        while at + REC.size <= len(data):
            commit, size, _, kind, _ = REC.unpack_from(data, at)
            if commit != COMMIT or at + REC.size + size > len(data):
                self.torn += any(data[at:at + 16])
                break
            self._record(kind, data[at + REC.size:at + REC.size + size])
            at += REC.size + (size + 7) // 8 * 8
            self.log_bytes = at

    def _record(self, kind, p):
        if kind == 1:
            self.process = struct.unpack_from("<2I3i3I", p)
        elif kind == 2:
            self.devices.append(p[24:120].split(b"\0")[0].decode())
        elif kind == 3:
            self.contexts.append(struct.unpack_from("<4I", p))
        elif kind == 4:
            image, origin, what, sm, path_bytes, options = struct.unpack_from("<I2H3I", p)
            size = struct.unpack_from("<Q", p, 24)[0]
            path = p[32:32 + path_bytes].decode()
            self.images[image] = dict(origin=origin, kind=what, sm=sm, bytes=size, path=path,
                                      options=_pairs(p, 32 + path_bytes, options))
        elif kind == 5:
            image, why, size = struct.unpack_from("<2IQ", p)
            self.stored[image] = dict(bytes=size, hash=p[16:32].hex(), why=p[32:32 + why].decode())
        elif kind == 6:
            v = struct.unpack_from("<2I12i4I", p)
            n, name = v[14], v[15]
            self.kernels[v[0]] = dict(
                image=v[1], registers=v[2], smem=v[3], local=v[4], max_threads=v[6],
                cluster=v[11:14], flags=v[16], params=_pairs(p, 72, n),
                name=p[72 + 8 * n:72 + 8 * n + name].decode())
        elif kind == 7:
            kernel, slot, launch, ns, size, allocs, pieces, _ = struct.unpack_from("<2I2Q4I", p)
            self.params.append(dict(kernel=kernel, slot=slot, launch=launch, data=p[40:40 + size],
                                    allocations=[struct.unpack_from("<2I2Q", p, 40 + size + 24 * i)
                                                 for i in range(allocs)]))
        elif kind == 8:
            graph, previous, n, other, flags, _ = struct.unpack_from("<6I", p)
            nodes = [struct.unpack_from("<14I", p, 24 + 56 * i) for i in range(n)]
            self.graphs[graph] = dict(previous=previous, other=other, flags=flags, nodes=nodes)
        elif kind == 9:
            note, size, value = struct.unpack_from("<2Iq", p)
            self.notes.append((note, value, p[24:24 + size].decode(errors="replace")))
        elif kind == 10:
            self.ended = struct.unpack_from("<Q2I", p)

    # -- sums

    @property
    def seen(self):
        return sum(t[4] for t in self.threads)

    @property
    def filtered(self):
        return sum(t[5] for t in self.threads)

    @property
    def thread_dropped(self):
        return sum(t[6] for t in self.threads)

    @property
    def graph_launches(self):
        return sum(t[7] for t in self.threads)

    def total(self, field):
        return sum(getattr(s, field) for s in self.slots)

    def bins(self):
        return (sum(self.total(f) for f in ("sampled_out", "untimeable", "bracketed", "captured", "failed"))
                + self.filtered + self.thread_dropped)

    def by_kernel(self, field):
        out = {}
        for s in self.slots:
            name = self.kernels.get(s.kernel, {}).get("name", "?%d" % s.kernel)
            out[name] = out.get(name, 0) + getattr(s, field)
        return {k: v for k, v in out.items() if v}

    def node_launches(self):
        """Kernel name -> launches as graph nodes, as far as the recording knows them."""
        out = {}
        for s in self.graphs_slots:
            for node in self.graphs.get(s.kernel, {"nodes": []})["nodes"]:
                name = self.kernels.get(node[0], {}).get("name", "?")
                out[name] = out.get(name, 0) + s.ran * node[1]
        return {k: v for k, v in out.items() if v}


def process_dirs(run_dir):
    if not os.path.isdir(run_dir):
        return []
    return sorted(os.path.join(run_dir, d) for d in os.listdir(run_dir) if d.startswith("proc-"))


def read(run_dir):
    return [Process(d) for d in process_dirs(run_dir)]
