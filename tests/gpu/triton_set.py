"""
Triton kernels of many kinds for checks that need to launch compiled code themselves. cases() gives
(name, launch, outputs): launch() runs the kernel once and returns what Triton compiled, outputs are the
tensors that it writes. Needs a GPU; the same inputs every time.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def poly(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    s = v
    for _ in range(64):
        s = s * v + 0.25
        s = s * 0.5 + v
    tl.store(out + i, s, mask=i < n)


@triton.jit
def gelu(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, 0.5 * v * (1.0 + tl.math.erf(v * 0.70710678)), mask=i < n)


@triton.jit
def softmax(x, out, stride, n, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * stride
    v = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def layer_norm(x, w, b, out, stride, n, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * stride
    m = i < n
    v = tl.load(x + row + i, mask=m, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / n + 1e-5)
    tl.store(out + row + i, d * r * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


@triton.jit
def row_sum(x, out, stride, n, B: tl.constexpr):
    acc = tl.zeros((B,), dtype=tl.float32)
    row = tl.program_id(0) * stride
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        acc += tl.load(x + row + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(acc, 0))


@triton.jit
def running_sum(x, out, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * stride
    tl.store(out + row + i, tl.cumsum(tl.load(x + row + i), 0))


@triton.jit
def transpose(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(out + j[:, None] * n + i[None, :], tl.trans(tl.load(x + i[:, None] * n + j[None, :])))


@triton.jit
def rotary(x, cos, sin, out, half, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * stride
    a = tl.load(x + row + i)
    b = tl.load(x + row + half + i)
    c = tl.load(cos + tl.program_id(0) * half + i)
    s = tl.load(sin + tl.program_id(0) * half + i)
    tl.store(out + row + i, a * c - b * s)
    tl.store(out + row + half + i, b * c + a * s)


@triton.jit
def mix(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    for k in range(32):
        v = v ^ (v >> 15)
        v = v * 0x2c1b3c6d + k
        v = v ^ (v << 7)
    tl.store(out + i, v, mask=i < n)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    q = tl.arange(0, K)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for p in range(0, k, K):
        x = tl.load(a + i[:, None] * k + (p + q)[None, :])
        y = tl.load(b + (p + q)[:, None] * n + j[None, :])
        acc += tl.dot(x, y)
    tl.store(c + i[:, None] * n + j[None, :], acc)


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    base = tl.program_id(1) * length * D
    x = tl.load(q + base + i[:, None] * D + d[None, :])
    top = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for p in range(0, length, N):
        j = p + tl.arange(0, N)
        s = tl.dot(x, tl.trans(tl.load(k + base + j[:, None] * D + d[None, :]))) * scale
        now = tl.maximum(top, tl.max(s, 1))
        e = tl.exp(s - now[:, None])
        keep = tl.exp(top - now)
        total = total * keep + tl.sum(e, 1)
        acc = acc * keep[:, None] + tl.dot(e.to(tl.float16), tl.load(v + base + j[:, None] * D + d[None, :]))
        top = now
    tl.store(out + base + i[:, None] * D + d[None, :], acc / total[:, None])


def cases():
    torch.manual_seed(3)
    n, rows, width = 1 << 20, 2048, 1000
    f = torch.rand(n, device="cuda") + 0.5
    g = torch.randn(n, device="cuda")
    table = torch.randn(rows, 1024, device="cuda")
    ints = torch.randint(-2**31, 2**31 - 1, (n,), device="cuda", dtype=torch.int32)
    weights, bias = torch.randn(1024, device="cuda"), torch.randn(1024, device="cuda")
    per = (triton.cdiv(n, 1024),)

    def like(t):
        return torch.zeros_like(t)

    found = []

    def case(name, kernel, grid, args, out, **constants):
        found.append((name, lambda: kernel[grid](*args, **constants), [out]))

    for name, kernel in (("poly", poly), ("gelu", gelu)):
        out = like(f)
        case(name, kernel, per, (f, out, n), out, B=1024)
    out = like(f)
    case("add", add, per, (f, g, out, n), out, B=1024)
    out = like(ints)
    case("mix", mix, per, (ints, out, n), out, B=1024)
    out = like(table)
    case("softmax", softmax, (rows,), (table, out, 1024, width), out, B=1024)
    out = like(table)
    case("layer_norm", layer_norm, (rows,), (table, weights, bias, out, 1024, width), out, B=1024)
    out = torch.zeros(rows, device="cuda")
    case("row_sum", row_sum, (rows,), (table, out, 1024, width), out, B=128)
    out = like(table)
    case("running_sum", running_sum, (rows,), (table, out, 1024), out, B=1024)
    square = torch.randn(1024, 1024, device="cuda")
    out = like(square)
    case("transpose", transpose, (32, 32), (square, out, 1024), out, B=32)
    cos, sin = torch.randn(rows, 512, device="cuda"), torch.randn(rows, 512, device="cuda")
    out = like(table)
    case("rotary", rotary, (rows,), (table, cos, sin, out, 512, 1024), out, B=512)
    for name, dtype in (("matmul_fp16", torch.float16), ("matmul_tf32", torch.float32)):
        a, b = (torch.randn(512, 512, device="cuda").to(dtype) for _ in range(2))
        out = torch.zeros(512, 512, device="cuda")
        case(name, matmul, (8, 8), (a, b, out, 512, 512, 512), out, M=64, N=64, K=32)
    q, k, v = (torch.randn(8, 512, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.zeros(8, 512, 64, device="cuda")
    case("attention", attention, (8, 8), (q, k, v, out, 512, 0.125), out, M=64, N=64, D=64)
    return found
