"""torch.compile of a small model, forward and backward. Prints a checksum."""
import torch


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 64)
    ).cuda()
    step = torch.compile(model)
    x = torch.randn(128, 256, device="cuda")
    total = 0.0
    for _ in range(20):
        model.zero_grad()
        loss = step(x).square().mean()
        loss.backward()
        total += loss.item()
    print("compile", repr(total))


main()
