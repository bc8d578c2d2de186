"""What an example is, and how its kernel is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import wave_runtime

BINARIES = Path(__file__).parent.parent / "binaries"
SOURCES = Path(__file__).parent.parent / "sources"

Tensors = tuple[torch.Tensor, ...]
Size = tuple[int, ...]


def as_tuple(result: torch.Tensor | Tensors) -> Tensors:
    """The results of an example, one or several."""
    return (result,) if isinstance(result, torch.Tensor) else result


@dataclass(frozen=True)
class Example:
    """A kernel as a function.

    Attributes:
        name: the binary's, or the kernel's where a binary holds several.
        run: launches the kernel.
        reference: computes the same with torch.
        inputs: makes inputs of a size.
        sizes: what the tests run; the first is the one of tables.
        tolerance: largest absolute error; sums of products in another order differ in their last bits.
        binaries: where one of that name is not all.
        share: that the error of all elements together may be of them, which tells rounding from a factor.
    """

    name: str
    run: Callable[..., torch.Tensor | Tensors]
    reference: Callable[..., torch.Tensor | Tensors]
    inputs: Callable[..., Tensors]
    sizes: tuple[Size, ...]
    tolerance: float = 0.0
    binaries: tuple[str, ...] = ()
    share: float = 4e-3

    def check(self, *size: int, device: torch.device | str = "cpu") -> None:
        """Run one size, and raise an AssertionError where it differs from torch."""
        inputs = tuple(tensor.to(device) for tensor in self.inputs(*size))
        for got, expected in zip(as_tuple(self.run(*inputs)), as_tuple(self.reference(*inputs)), strict=True):
            check_close(got, expected, self.tolerance, self.share)


def check_close(got: torch.Tensor, expected: torch.Tensor, tolerance: float, share: float = 4e-3) -> None:
    """Compare element by element and as a whole, and raise an AssertionError where they differ.

    A tolerance that suits the largest elements would take results that are some percent too large.
    """
    torch.testing.assert_close(got, expected, rtol=0, atol=tolerance)
    size = expected.double().norm().item()
    rounding = 1e-6 * expected.numel() ** 0.5  # what is below, as a gradient that is zero but for it, has no share
    error = (got.double() - expected.double()).norm().item()
    if size > rounding and not error <= share * size + rounding:
        raise AssertionError(f"as a whole results differ by {error / size:.2%} of them, and may by {share:.2%}")


def cdiv(a: int, b: int) -> int:
    """Ceiling division."""
    return (a + b - 1) // b


def load(binary: str, signature: str, kernel: str | None = None) -> wave_runtime.Kernel:
    """Load the kernel of a binary, or one of several. Metadata does not tell an int from a float: signatures are given.

    Args:
        binary: its name in the folder of binaries, or a path, without the suffix.
        signature: of the kernel.
        kernel: its name, where there are several.
    """
    module = wave_runtime.load(BINARIES / f"{binary}.hsaco", signature={kernel: signature} if kernel else signature)
    return module[kernel or module.kernels[0]]


def load_source(
    name: str,
    signatures: Mapping[str, str],
    device: torch.device | str = "cpu",
    target: str | None = None,
    **options: Any,
) -> wave_runtime.Module:
    """Load the kernels of a source that is for both AMD and NVIDIA GPUs.

    Args:
        name: of the source and its binary, without the suffix.
        signatures: of its kernels.
        device: an NVIDIA GPU, which the source is compiled for, or another device, which takes the binary for gfx942.
        target: another AMD processor, which the source is compiled for instead: CPU tensors take it in the emulator.
        options: of wave_runtime.load and compile.
    """
    device = torch.device(device)
    if device.type == "cuda" and torch.version.hip is None:
        major, minor = torch.cuda.get_device_capability(device)
        target = f"sm_{major}{minor}"
    if target is not None:
        return wave_runtime.compile(SOURCES / f"{name}.cu", target=target, signature=signatures, **options)
    return wave_runtime.load(BINARIES / f"{name}.hsaco", signature=signatures, **options)
