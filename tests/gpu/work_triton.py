"""A Triton kernel, launched 100 times. Prints a checksum of the result."""
import torch
import triton
import triton.language as tl


@triton.jit
def scale_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) * 2.0 + tl.load(y + i, mask=mask), mask=mask)


def main():
    n = 1 << 20
    x = torch.arange(n, device="cuda", dtype=torch.float32)
    y = torch.ones(n, device="cuda")
    out = torch.zeros(n, device="cuda")
    for _ in range(100):
        scale_add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    torch.cuda.synchronize()
    print("triton", out.double().sum().item())


main()
