"""The kernels that are launched: few arguments and many, each trivial, so that the host's time is what counts."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

ELEMENTS = 1024
BLOCK = 256


@dataclass(frozen=True)
class Case:
    """A kernel. Its parameters are inputs, the output, ints and floats, in this order: pointers to f32, i32, f32.

    Attributes:
        value: what thread ``i`` stores, in CUDA C++.
        expected: the same of whole tensors.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    value: str
    expected: Callable[..., torch.Tensor]
    ints: dict[str, int]
    floats: dict[str, float] = field(default_factory=dict)

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the pointer parameters."""
        return (*self.inputs, self.output)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of all parameters."""
        return (*self.tensors, *self.ints, *self.floats)

    @property
    def arguments(self) -> str:
        """The parameters' names as they stand in a call."""
        return ", ".join(self.parameters)

    def cuda_source(self, float_type: str = "float") -> str:
        """The kernel in CUDA C++, its by-value floating-point parameters of the given type."""
        parameters = [
            *(f"const float* {name}" for name in self.inputs),
            f"float* {self.output}",
            *(f"int {name}" for name in self.ints),
            *(f"{float_type} {name}" for name in self.floats),
        ]
        return (
            f'extern "C" __global__ void {self.name}({", ".join(parameters)}) {{\n'
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"  if (i < n) {self.output}[i] = {self.value};\n"
            "}\n"
        )

    @property
    def signature(self) -> str:
        """What wave_runtime.load takes as signature=."""
        return ", ".join(
            [
                *(f"{name}: *f32 const" for name in self.inputs),
                f"{self.output}: *f32",
                *(f"{name}: i32" for name in self.ints),
                *(f"{name}: f32" for name in self.floats),
            ]
        )


# Inputs are small integers and the scale a power of two, so that any order of summation gives the same bits. No int is
# 1: Triton makes constants of those.
CASES = (
    Case(
        name="vector_add",
        inputs=("a", "b"),
        output="c",
        ints={"n": ELEMENTS},
        value="a[i] + b[i]",
        expected=lambda a, b: a + b,
    ),
    Case(
        name="blend",
        inputs=("x0", "x1", "x2", "x3", "x4", "x5", "x6"),
        output="y",
        ints={"n": ELEMENTS, "step": 3, "shift": 5},
        floats={"scale": 0.5},
        value="scale * (x0[i] + x1[i] + x2[i] + x3[i] + x4[i] + x5[i]) + x6[(i * step + shift) % n]",
        expected=lambda *x: 0.5 * sum(x[:6]) + x[6][(torch.arange(ELEMENTS, device=x[6].device) * 3 + 5) % ELEMENTS],
    ),
)


class Launch:
    """A case with its binary and its arguments on the GPU.

    Attributes:
        binary: a cubin.
        folder: for files that launchers need.
        values: the arguments by name, the grid as a tuple ``grid`` and its only extent as ``grid_x``.
        stream: torch's current stream, as an integer.
    """

    def __init__(self, case: Case, binary: bytes, folder: Path) -> None:
        self.case = case
        self.binary = binary
        self.folder = folder
        self.binary_path = folder / f"{case.name}.cubin"
        self.binary_path.write_bytes(binary)
        self.grid = ELEMENTS // BLOCK
        self.inputs = [torch.randint(-8, 8, (ELEMENTS,), device="cuda").float() for _ in case.inputs]
        self.output = torch.zeros(ELEMENTS, device="cuda")
        self.expected = case.expected(*self.inputs)
        self.values: dict[str, Any] = {
            **dict(zip(case.inputs, self.inputs, strict=True)),
            case.output: self.output,
            **case.ints,
            **case.floats,
            "grid": (self.grid,),
            "grid_x": self.grid,
        }
        self.stream: int = torch.cuda.current_stream().cuda_stream

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The pointer arguments."""
        return [*self.inputs, self.output]

    def packed(self) -> tuple[bytearray, list[int]]:
        """The kernel's argument buffer, and where in it each argument begins."""
        case = self.case
        layout = "P" * len(case.tensors) + "i" * len(case.ints) + "f" * len(case.floats)
        pointers = [tensor.data_ptr() for tensor in self.tensors]
        buffer = struct.pack(layout, *pointers, *case.ints.values(), *case.floats.values())
        ends = [struct.calcsize(layout[: i + 1]) for i in range(len(layout))]
        return bytearray(buffer), [end - struct.calcsize(kind) for end, kind in zip(ends, layout, strict=True)]

    def check(self, run: Callable[[], object]) -> None:
        """Raise where ``run`` does not compute what it should."""
        self.output.fill_(float("nan"))
        torch.cuda.synchronize()
        run()
        torch.cuda.synchronize()
        if not torch.equal(self.output, self.expected):
            wrong = int((self.output != self.expected).sum())
            raise RuntimeError(f"wrong result: {wrong} of {ELEMENTS} elements differ")
