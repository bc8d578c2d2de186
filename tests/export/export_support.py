"""A model whose kernels need all that a launch can have, and processes that never loaded them."""

from __future__ import annotations

import struct
from pathlib import Path

import torch
import warm_python
from support import ROOT

import wave_runtime
from wave_runtime import _C

LIBRARY = Path(_C.__file__ or "").with_name("libwave_runtime.so")
CODE = ROOT / "tests" / "code_object"
MOST = 1024  # elements that the model takes

SIGNATURES = {
    "vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32",
    "store_scalars": "out: *u8, i8: i8, u8: u8, i16: i16, u16: u16, i32: i32, u32: u32, i64: i64, u64: u64, "
    "flag: bool, half: f16, single: f32, twice: f64, mixed: bytes[24]",
    "reverse_dynamic": "a: *i32 const, b: *i32, n: i32",
    "sum_over_grid": "a: *i32 const, sum: *i32, arrived: *i32, out: *i32, workgroups: i32",
}
MIXED = struct.pack("<fhxxd4b", 1.5, -7, -2.25, 1, -2, 3, 0) + bytes(4)


def several_builds() -> wave_runtime.Kernel:
    """scale(out, in, factor, n) for four targets: two of AMD, NVIDIA's as cubin and as PTX."""
    files = (
        "corpus/clang_v5_gfx90a_xnack_on.co",
        "corpus/clang_v5_gfx942.co",
        "nvidia/sm_90.cubin",
        "nvidia/kernels.ptx",
    )
    codes = [_C.CodeObject((CODE / file).read_bytes()) for file in files]
    return _C.make_kernel(codes, "scale", "x: *f32 const, y: *f32, factor: f32, n: i32", None, "any", False)


class Model(torch.nn.Module):
    """Launches kernels of two files: from [n] of f32, n up to 1024, to four results."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(MOST))
        self.kernels = wave_runtime.load(ROOT / "tests/conformance/kernels.hsaco", signature=SIGNATURES)
        self.add, self.store, self.reverse, self.sum = (self.kernels[name] for name in SIGNATURES)
        self.scale = several_builds()

    def forward(self, a: torch.Tensor, factor: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = a.shape[0]
        added = torch.empty_like(a)
        self.add(a * 2, self.weight.detach()[:n], added, n, grid=(n + 255) // 256, block=256)
        scaled = torch.zeros(2, n)
        self.scale(added, scaled[0], 0.5, n, grid=(n + 63) // 64, block=64)
        self.scale(added, scaled[1], factor, n, grid=(n + 63) // 64, block=64)
        ints = (a * 100).to(torch.int32)
        reverse = torch.empty_like(ints)
        self.reverse(ints, reverse, n, grid=1, block=256, shared_memory=4 * n)
        scalars = torch.zeros(128, dtype=torch.uint8)
        self.store(
            scalars, -1, 2, -3, 4, -5, 6, -n, 1 << 63, True, 0.5, -1.25, 1e-9, MIXED, grid=1, block=64
        )  # fmt: skip
        sums = torch.zeros(6, dtype=torch.int32)
        self.sum(ints, sums[4:5], sums[5:], sums[:4], 4, grid=4, block=64, cooperative=True)
        return scaled.relu(), reverse, scalars, sums

    def expected(self, a: torch.Tensor, factor: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The same in torch."""
        added = a * 2 + self.weight.detach()[: a.shape[0]]
        ints = (a * 100).to(torch.int32)
        total = int(ints[:4].sum())
        scalars = torch.zeros(128, dtype=torch.uint8)
        values = (-1, 2, -3, 4, -5, 6, -a.shape[0], 1 << 63, True, 0.5, -1.25, 1e-9)
        for index, (kind, value) in enumerate(zip("bBhHiIqQ?efd", values, strict=True)):
            packed = struct.pack("<" + kind, value)
            scalars[8 * index : 8 * index + len(packed)] = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
        x, y, z, *w = struct.unpack_from("<fhxxd3b", MIXED)
        for offset, kind, value in ((96, "f", x), (104, "h", y), (112, "d", z), (120, "3b", w)):
            packed = struct.pack("<" + kind, *(value if kind == "3b" else [value]))
            scalars[offset : offset + len(packed)] = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
        sums = torch.tensor([*[total] * 4, total, 4], dtype=torch.int32)
        return torch.stack([added * 0.5, added * factor]).relu(), ints.flip(0), scalars, sums


def exported(model: Model, strict: bool = False) -> torch.export.ExportedProgram:
    """The program, for any size."""
    size = torch.export.Dim("size", min=4, max=MOST)
    example = (torch.randn(300), torch.tensor(3.0))
    return torch.export.export(model, example, dynamic_shapes={"a": {0: size}, "factor": None}, strict=strict)


def cases(model: Model) -> list[tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]]:
    """Inputs, of sizes other than the exported one and of that, and results."""
    inputs = [(torch.randn(n), torch.tensor(float(n))) for n in (5, 300, MOST)]
    return [(pair, model.expected(*pair)) for pair in inputs]


RUN = """
import sys, torch
{prelude}
model = {load}
for inputs, expected in torch.load(sys.argv[2]):
    torch.testing.assert_close(model(*inputs), expected, rtol=0, atol=0)
assert {imported} == ("wave_runtime" in sys.modules)
"""
IMPORT = "import wave_runtime"
ONLY_LIBRARY = f"torch.ops.load_library({str(LIBRARY)!r})"
EXPORTED = "torch.export.load(sys.argv[1]).module()"
PACKAGE = "torch._inductor.aoti_load_package(sys.argv[1])"


def run_elsewhere(load: str, prelude: str, program: Path, cases_file: Path) -> None:
    """Run a saved program in a process that never loaded the kernels, and compare its results."""
    code = RUN.format(prelude=prelude, load=load, imported=prelude == IMPORT)
    imported = warm_python.COMPILER if load == PACKAGE else "torch"
    done = warm_python.run("-c", code, program, cases_file, imported=imported)
    assert done.returncode == 0, done.stderr
