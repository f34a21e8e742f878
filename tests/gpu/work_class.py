"""
PyTorch operations of each class of the roofline, one kernel each where the library has one, whose
work is known by formula from the shapes chosen here: FLOPs and unique bytes.

  work_class.py LIST LAUNCHES [SET SETS]     LIST receives a line of JSON per case; of SETS processes
                                             this one runs the cases of number SET, so that two shapes
                                             of a library's kernel need not meet in one recording

Each case: two calls to warm up, then, seen by a profiler, a marker kernel and LAUNCHES calls.
FLOPs count what the operation is defined as (a multiply-add is two, a function of one element one, softmax
five an element, a normalisation eight); tensors of FP16 and BF16 are computed in FP32 by all but matrix products.
"""
import json
import sys

import torch
import torch.nn.functional as F

N = 1 << 27 # elements of the large vectors: 512 MB in FP32, nine times the L2 of an H200
SIZE = {torch.float64: 8, torch.float32: 4, torch.float16: 2, torch.bfloat16: 2, torch.int8: 1, torch.int64: 8,
        torch.float8_e4m3fn: 1}
NAMES = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
         torch.int8: "int8", torch.float8_e4m3fn: "fp8"}
half, bf16, single, double = torch.float16, torch.bfloat16, torch.float32, torch.float64

CASES = [] # (name, function that makes (call, flops, bytes, dtype))


def case(name, make, *args):
    CASES.append((name, lambda: make(*args)))


def randn(*shape, dtype=single):
    return torch.randn(*shape, device="cuda", dtype=dtype)


# ------------------------------------------------------------------------------ streams

def unary(f, n, dtype=single, flops=1):
    x = randn(n, dtype=dtype)
    out = torch.empty_like(x)
    return (lambda: f(x, out)), flops * n, 2 * n * SIZE[dtype], "fp32"


def binary(f, n, dtype=single, flops=1):
    x, y = randn(n, dtype=dtype), randn(n, dtype=dtype)
    out = torch.empty_like(x)
    return (lambda: f(x, y, out)), flops * n, 3 * n * SIZE[dtype], "fp64" if dtype == double else "fp32"


def convert(n, a, b):
    x, out = randn(n, dtype=a), torch.empty(n, device="cuda", dtype=b)
    return (lambda: out.copy_(x)), n, n * (SIZE[a] + SIZE[b]), "fp32"


def fill(n):
    out = torch.empty(n, device="cuda")
    return (lambda: out.fill_(1.5)), 0, 4 * n, "fp32"


def rows(f, r, c, dtype=single, flops=1, out=0):
    """A reduction of each row (out elements a row), or with out < 0 a function that keeps the shape."""
    x = randn(r, c, dtype=dtype)
    written = r * out if out >= 0 else r * c
    return (lambda: f(x)), flops * r * c, (r * c + written) * SIZE[dtype], "fp32"


def layer_norm(r, c, dtype=single):
    x, w, b = randn(r, c, dtype=dtype), randn(c, dtype=dtype), randn(c, dtype=dtype)
    return (lambda: F.layer_norm(x, (c,), w, b)), 8 * r * c, 2 * r * c * SIZE[dtype] + 2 * c * SIZE[dtype], "fp32"


def rms_norm(r, c, dtype=single):
    x, w = randn(r, c, dtype=dtype), randn(c, dtype=dtype)
    return (lambda: F.rms_norm(x, (c,), w)), 4 * r * c, 2 * r * c * SIZE[dtype] + c * SIZE[dtype], "fp32"


def embedding(rows_n, width, dtype=single):
    """Each row once, in random order."""
    table, index = randn(rows_n, width, dtype=dtype), torch.randperm(rows_n, device="cuda")
    return (lambda: F.embedding(index, table)), 0, 2 * rows_n * width * SIZE[dtype] + 8 * rows_n, "fp32"


def transposed(n, dtype=single):
    x, out = randn(n, n, dtype=dtype), torch.empty(n, n, device="cuda", dtype=dtype)
    return (lambda: out.copy_(x.t())), 0, 2 * n * n * SIZE[dtype], "fp32"


def where(n):
    x, y, m = randn(n), randn(n), torch.randint(0, 2, (n,), device="cuda", dtype=torch.bool)
    return (lambda: torch.where(m, x, y)), 0, n * (4 + 4 + 4 + 1), "fp32"


def dropout(n):
    x = randn(n)
    return (lambda: torch.native_dropout(x, 0.5, True)), n, n * (4 + 4 + 1), "fp32"


def pool(f, b, c, s, written):
    """Of 2 x 2 points one with `written` bytes."""
    x = randn(b, c, s, s)
    return (lambda: f(x, 2)), x.numel(), 4 * x.numel() + x.numel() // 4 * written, "fp32"


def upsample(b, c, s):
    x = randn(b, c, s, s)
    return (lambda: F.interpolate(x, scale_factor=2)), 0, 4 * x.numel() * 5, "fp32"


def adamw(n):
    p = torch.nn.Parameter(randn(n))
    p.grad = randn(n)
    step = torch.optim.AdamW([p], fused=True).step
    return step, 16 * n, 7 * 4 * n, "fp32"


# ------------------------------------------------------------------------------ matrix products

def product(m, n, k, dtype, tf32=False, layout="nn"):
    a = randn(m, k, dtype=dtype) if layout[0] == "n" else randn(k, m, dtype=dtype).t()
    b = randn(k, n, dtype=dtype) if layout[1] == "n" else randn(n, k, dtype=dtype).t()
    out = torch.empty(m, n, device="cuda", dtype=dtype)

    def call():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.mm(a, b, out=out)

    return call, 2 * m * n * k, (m * k + k * n + m * n) * SIZE[dtype], "tf32" if tf32 else NAMES[dtype]


def batched(b, m, n, k, dtype):
    x, y = randn(b, m, k, dtype=dtype), randn(b, k, n, dtype=dtype)
    return (lambda: torch.bmm(x, y)), 2 * b * m * n * k, b * (m * k + k * n + m * n) * SIZE[dtype], NAMES[dtype]


def linear(m, n, k, dtype):
    x, w, b = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype), randn(n, dtype=dtype)
    return (lambda: F.linear(x, w, b)), 2 * m * n * k, (m * k + k * n + m * n + n) * SIZE[dtype], NAMES[dtype]


def int8(m, n, k):
    a = torch.randint(-8, 8, (m, k), device="cuda", dtype=torch.int8)
    b = torch.randint(-8, 8, (n, k), device="cuda", dtype=torch.int8).t()
    return (lambda: torch._int_mm(a, b)), 2 * m * n * k, m * k + k * n + 4 * m * n, "int8"


def fp8(m, n, k):
    a = randn(m, k, dtype=bf16).to(torch.float8_e4m3fn)
    b = randn(n, k, dtype=bf16).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device="cuda")
    return ((lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=bf16)), 2 * m * n * k,
            m * k + k * n + 2 * m * n, "fp8")


def conv(b, c, k, s, r, dtype):
    x = randn(b, c, s, s, dtype=dtype).to(memory_format=torch.channels_last)
    w = randn(k, c, r, r, dtype=dtype).to(memory_format=torch.channels_last)
    return ((lambda: F.conv2d(x, w, padding=r // 2)), 2 * b * s * s * k * c * r * r,
            (b * s * s * (c + k) + k * c * r * r) * SIZE[dtype], NAMES[dtype])


def attention(backend, b, h, s, d, dtype, causal=False):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (randn(b, h, s, d, dtype=dtype) for _ in range(3))
    which = getattr(SDPBackend, backend)

    def call():
        with sdpa_kernel(which):
            F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return call, 4 * b * h * s * s * d // (2 if causal else 1), 4 * b * h * s * d * SIZE[dtype], NAMES[dtype]


# ------------------------------------------------------------------------------ which

def large_streams():
    case("add", binary, lambda x, y, o: torch.add(x, y, out=o), N)
    case("mul bf16", binary, lambda x, y, o: torch.mul(x, y, out=o), N, bf16)
    case("add fp64", binary, lambda x, y, o: torch.add(x, y, out=o), N // 2, double)
    case("div", binary, lambda x, y, o: torch.div(x, y, out=o), N)
    case("maximum", binary, lambda x, y, o: torch.maximum(x, y, out=o), N)
    case("mul by a number", unary, lambda x, o: torch.mul(x, 2.5, out=o), N)
    case("relu bf16", unary, lambda x, o: torch.clamp_min(x, 0, out=o), N, bf16)
    case("clamp fp16", unary, lambda x, o: torch.clamp(x, -1, 1, out=o), N, half)
    case("exp", unary, lambda x, o: torch.exp(x, out=o), N)
    case("sqrt", unary, lambda x, o: torch.sqrt(x, out=o), N)
    case("sigmoid", unary, lambda x, o: torch.sigmoid(x, out=o), N)
    case("tanh", unary, lambda x, o: torch.tanh(x, out=o), N)
    case("abs", unary, lambda x, o: torch.abs(x, out=o), N)
    case("gelu", unary, lambda x, o: F.gelu(x), N)
    case("silu bf16", unary, lambda x, o: F.silu(x), N, bf16)
    case("fp32 to bf16", convert, N, single, bf16)
    case("fp16 to fp32", convert, N, half, single)
    case("fill", fill, N)
    case("where", where, N)
    case("dropout", dropout, N)
    case("transpose", transposed, 8192)
    case("transpose fp16", transposed, 16384, half)
    case("embedding", embedding, 1 << 17, 1024)
    case("embedding bf16", embedding, 1 << 16, 4096, bf16)
    case("adamw", adamw, 1 << 24)


def large_rows():
    case("sum of rows", rows, lambda x: x.sum(-1), 1 << 14, 1 << 13, single, 1, 1)
    case("sum of columns", rows, lambda x: x.sum(0), 1 << 14, 1 << 13, single, 1, 0)
    case("mean of rows bf16", rows, lambda x: x.mean(-1), 1 << 14, 1 << 14, bf16, 1, 1)
    case("amax of rows", rows, lambda x: x.amax(-1), 1 << 15, 1 << 12, single, 1, 1)
    case("norm of rows", rows, lambda x: torch.linalg.vector_norm(x, dim=-1), 1 << 14, 1 << 13, single, 2, 1)
    case("softmax", rows, lambda x: torch.softmax(x, -1), 1 << 15, 1 << 12, single, 5, -1)
    case("softmax bf16", rows, lambda x: torch.softmax(x, -1), 1 << 17, 1 << 10, bf16, 5, -1)
    case("log_softmax", rows, lambda x: torch.log_softmax(x, -1), 1 << 17, 1 << 10, single, 5, -1)
    case("layer_norm", layer_norm, 1 << 15, 1 << 12)
    case("layer_norm bf16", layer_norm, 1 << 16, 1 << 11, bf16)
    case("rms_norm bf16", rms_norm, 1 << 15, 1 << 12, bf16)
    case("cumsum", rows, lambda x: torch.cumsum(x, -1), 1 << 14, 1 << 13, single, 1, -1)
    case("max_pool2d", pool, F.max_pool2d, 64, 64, 224, 4 + 8) # and where the maximum was
    case("avg_pool2d", pool, F.avg_pool2d, 64, 64, 224, 4)
    case("upsample", upsample, 32, 64, 128)


def large_products():
    case("gemm fp16 8192", product, 8192, 8192, 8192, half)
    case("gemm bf16 8192 nt", product, 8192, 8192, 8192, bf16, False, "nt")
    case("gemm bf16 4096", product, 4096, 4096, 4096, bf16)
    case("gemm fp16 6144 tn", product, 6144, 6144, 6144, half, False, "tn")
    case("gemm tf32 8192", product, 8192, 8192, 8192, single, True)
    case("gemm tf32 4096 nt", product, 4096, 4096, 4096, single, True, "nt")
    case("gemm fp32 4096", product, 4096, 4096, 4096, single)
    case("gemm fp32 3072 nt", product, 3072, 3072, 3072, single, False, "nt")
    case("gemm fp64 4096", product, 4096, 4096, 4096, double)
    case("gemm fp64 3072 nt", product, 3072, 3072, 3072, double, False, "nt")
    case("gemm int8 8192", int8, 8192, 8192, 8192)
    case("gemm fp8 8192", fp8, 8192, 8192, 8192)
    case("bmm bf16", batched, 32, 2048, 2048, 2048, bf16)
    case("linear bf16", linear, 16384, 4096, 4096, bf16)
    case("conv 3x3 fp16", conv, 64, 256, 256, 56, 3, half)
    case("conv 1x1 bf16", conv, 64, 1024, 1024, 28, 1, bf16)
    case("attention, cuDNN, fp16", attention, "CUDNN_ATTENTION", 4, 16, 8192, 128, half)
    case("attention, cuDNN, bf16", attention, "CUDNN_ATTENTION", 8, 16, 4096, 64, bf16)
    case("attention, flash, bf16", attention, "FLASH_ATTENTION", 4, 16, 8192, 128, bf16)
    # a matrix that is read once: memory
    case("gemv fp16", product, 1, 16384, 16384, half, False, "nt")
    case("gemv fp32", product, 1, 16384, 16384, single, False, "nt")
    case("skinny gemm bf16", product, 16, 32768, 8192, bf16, False, "nt")


def small():
    for n in (1 << 10, 1 << 16):
        case("add of %d" % n, binary, lambda x, y, o: torch.add(x, y, out=o), n)
        case("exp of %d" % n, unary, lambda x, o: torch.exp(x, out=o), n)
    case("mul fp16 of 65536", binary, lambda x, y, o: torch.mul(x, y, out=o), 1 << 16, half)
    case("softmax of 64 rows", rows, lambda x: torch.softmax(x, -1), 64, 1 << 10, single, 5, -1)
    case("layer_norm of 128 rows", layer_norm, 128, 1024)
    case("sum of 16 rows", rows, lambda x: x.sum(-1), 16, 1 << 12, single, 1, 1)
    case("gemm bf16 256", product, 256, 256, 256, bf16)
    case("gemm fp16 512 nt", product, 512, 512, 512, half, False, "nt")
    case("gemm fp32 256", product, 256, 256, 256, single)
    case("gemm tf32 512 tn", product, 512, 512, 512, single, True, "tn")
    case("gemm fp64 256", product, 256, 256, 256, double)
    case("bmm fp16 small", batched, 16, 64, 64, 64, half)
    case("attention, flash, small", attention, "FLASH_ATTENTION", 1, 8, 256, 64, half)
    case("cumsum of 32 rows", rows, lambda x: torch.cumsum(x, -1), 32, 1 << 12, single, 1, -1)
    case("embedding of 64", embedding, 64, 256)
    case("transpose of 256", transposed, 256)


def run_case(name, make, out, launches):
    line = {"case": name}
    try:
        call, flops, size, dtype = make()
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()): # one that has seen a programmatic launch is not timed again
            for _ in range(2):
                call()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            torch.cuda._sleep(1000) # the marker
            for _ in range(launches):
                call()
        torch.cuda.synchronize()
        line.update(calls=2 + launches, flops=flops, bytes=size, dtype=dtype)
    except Exception as e:  # noqa: BLE001 - what this library lacks is a case less
        line["error"] = "%s: %s" % (type(e).__name__, str(e)[:200])
    torch.cuda.profiler.stop()
    out.write(json.dumps(line) + "\n")
    out.flush()


def main():
    path, launches = sys.argv[1], int(sys.argv[2])
    number, sets = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (0, 1)
    torch.manual_seed(1)
    large_streams(), large_rows(), large_products(), small()
    torch.set_grad_enabled(False)
    x = randn(4096, 4096, dtype=bf16)
    for _ in range(100): # the clocks go up before anything counts
        x @ x
    del x
    with open(path, "w") as out:
        for i, (name, make) in enumerate(CASES):
            if i % sets == number:
                run_case(name, make, out, launches)
                torch.cuda.empty_cache()
    print("class done")


if __name__ == "__main__":
    main()
