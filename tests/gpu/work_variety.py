"""
Many different kernels, each a few times: the sample of kernels whose occupancy is compared with
Nsight Compute. Shapes vary, so that registers, blocks, shared memory and warps limit in turn.
"""
import torch
import torch.nn.functional as F


def pointwise(x):
    for f in (torch.exp, torch.sin, torch.tanh, torch.sigmoid, torch.sqrt, torch.erf, torch.log1p,
              torch.abs, torch.floor, torch.reciprocal, F.gelu, F.silu, F.softplus, F.elu):
        f(x.abs() + 0.5)
    torch.where(x > 0, x, -x)
    x.to(torch.float16).to(torch.float64)
    torch.addcmul(x, x, x)
    torch.clamp(x, -1, 1)


def reductions(x):
    for f in (torch.sum, torch.mean, torch.amax, torch.amin, torch.std, torch.argmax, torch.logsumexp):
        f(x, dim=-1)
    x.sum(), x.max(), x.prod(), torch.cumsum(x, -1), torch.softmax(x, -1), torch.log_softmax(x, -1)
    torch.sort(x[:64], dim=-1), torch.topk(x, 5, dim=-1), torch.unique((x * 4).int())


def products(dtype):
    for m, n, k in ((64, 64, 64), (128, 256, 512), (1024, 1024, 1024), (2048, 2048, 512), (33, 65, 127)):
        torch.randn(m, k, device="cuda", dtype=dtype) @ torch.randn(k, n, device="cuda", dtype=dtype)
    torch.bmm(torch.randn(16, 128, 64, device="cuda", dtype=dtype),
              torch.randn(16, 64, 128, device="cuda", dtype=dtype))


def layers():
    x = torch.randn(8, 16, 64, 64, device="cuda")
    y = F.conv2d(x, torch.randn(32, 16, 3, 3, device="cuda"), padding=1)
    F.max_pool2d(y, 2), F.avg_pool2d(y, 2), F.interpolate(y, scale_factor=2)
    F.batch_norm(y, torch.zeros(32, device="cuda"), torch.ones(32, device="cuda"), training=True)
    F.layer_norm(torch.randn(512, 1024, device="cuda"), (1024,))
    F.embedding(torch.randint(0, 100, (64, 32), device="cuda"), torch.randn(100, 256, device="cuda"))
    q = torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.float16)
    F.scaled_dot_product_attention(q, q, q)
    F.dropout(x, 0.5, training=True)
    torch.fft.rfft(torch.randn(64, 4096, device="cuda"))


def main():
    torch.manual_seed(1)
    for n in (1 << 10, 1 << 16, 1 << 20):
        x = torch.randn(64, n // 64, device="cuda")
        pointwise(x)
        reductions(x)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        products(dtype)
    layers()
    torch.cuda.synchronize()
    print("variety done")


main()
