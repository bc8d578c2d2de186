"""A two-layer perceptron whose matrix products are Wave kernels, beside the same model in torch, eager and compiled.

The kernels were compiled for an MI300X (gfx942). On such a GPU they run there; anywhere else the same binaries run on
CPU tensors, in the emulator.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent / "kernels"))
from catalog import CATALOG, gemm_reference, wave_gemm

BATCH, FEATURES, HIDDEN = 128, 256, 512

up = wave_gemm("wave_gemm_f16_16x16x16_128x512x256.hsaco", dynamic=False)
down = wave_gemm("wave_gemm_f16_32x32x8_128x256x512.hsaco", dynamic=False)


class Perceptron(nn.Module):
    """relu(x W1^T + b1) W2^T + b2: f16 operands, products summed in f32, by torch."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(FEATURES, HIDDEN).requires_grad_(False)
        self.second = nn.Linear(HIDDEN, FEATURES).requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [BATCH, FEATURES] f16 to [BATCH, FEATURES] f32."""
        hidden = torch.relu(gemm_reference(x, self.first.weight.half()) + self.first.bias)
        return gemm_reference(hidden.half(), self.second.weight.half()) + self.second.bias


class WavePerceptron(Perceptron):
    """The same with both products by Wave kernels."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [BATCH, FEATURES] f16 to [BATCH, FEATURES] f32."""
        hidden = torch.relu(up(x, self.first.weight.half()) + self.first.bias)
        return down(hidden.half(), self.second.weight.half()) + self.second.bias


def device() -> torch.device:
    """A GPU that the kernels were compiled for, or the CPU."""
    is_rocm = torch.version.hip is not None and torch.cuda.is_available()
    fits = is_rocm and torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")
    return torch.device("cuda" if fits else "cpu")


def timed(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> tuple[torch.Tensor, float]:
    """The result of a call and the least milliseconds of five, after one to warm up."""
    result, best = function(*inputs), float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        result = function(*inputs)
        if result.is_cuda:
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return result, best * 1e3


def row(name: str, where: torch.device, shape: object, error: float, milliseconds: float) -> str:
    """A line of the table."""
    return f"{name:<38} {where.type:<6} {shape!s:<18} {error:>13.2e} {milliseconds:>10.2f}"


def main() -> None:
    """Print the table; exit with an error where a result differs from torch's."""
    torch.manual_seed(0)
    where = device()
    if where.type == "cuda":
        print(f"Running on {torch.cuda.get_device_name()}.")
    else:
        print(
            f"No gfx942 GPU here: the kernels run in the emulator, on the CPU with {torch.get_num_threads()} threads."
        )
    print(f"\n{'kernel':<38} {'device':<6} {'shape':<18} {'largest error':>13} {'time (ms)':>10}")

    failures = []
    for example in CATALOG:
        inputs = tuple(tensor.to(where) for tensor in example.inputs(*example.sizes[0]))
        result, milliseconds = timed(example.run, *inputs)
        error = (result.double() - example.reference(*inputs).double()).abs().max().item()
        print(row(example.name, where, example.sizes[0], error, milliseconds))
        if not error <= example.tolerance:
            failures.append(example.name)

    plain = Perceptron().to(where)
    wave = WavePerceptron().to(where)
    wave.load_state_dict(plain.state_dict())
    x = torch.randn(BATCH, FEATURES, device=where).half()
    expected, milliseconds = timed(plain, x)
    print(f"\n{row('MLP in torch', where, tuple(x.shape), 0.0, milliseconds)}")
    models: dict[str, Callable[..., torch.Tensor]] = {
        "MLP on Wave kernels, eager": wave,
        "MLP on Wave kernels, torch.compile": torch.compile(wave, fullgraph=True),
    }
    for name, model in models.items():
        result, milliseconds = timed(model, x)
        error = (result - expected).abs().max().item()
        print(row(name, where, tuple(x.shape), error, milliseconds))
        if not torch.allclose(result, expected, rtol=1e-3, atol=1e-3):
            failures.append(name)

    if failures:
        raise SystemExit(f"\nResults differ from torch's: {', '.join(failures)}")
    print("\nAll results equal torch's, within the last bits of sums that are added in another order.")


if __name__ == "__main__":
    main()
