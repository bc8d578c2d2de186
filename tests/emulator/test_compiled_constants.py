"""Constants in packed, mixed and dot instructions, as compilers write them: which half an inline constant or a literal
is in, and what OP_SEL takes from it, is something that LLVM knows."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import torch
from requirements import need

import wave_runtime

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
COMPILERS = ("clang-19", "clang-22")
UNKNOWN = ("gfx950", "clang-19")  # which does not know it
# Halves of registers as operands of encodings of 32 bits, which LLVM 22 uses for gfx1201 only when told to.
HALVES = ["-Xclang", "-target-feature", "-Xclang", "+real-true16"]
LANES = 32
# An inline constant of the type, one that is none, one that is inline as an integer, and zero.
FLOATS = (1.0, -4.0, 3.0, 0.0)
INTEGERS = (1, -16, 64, 0x3F80, 0x3C00, 1234, 0)
DTYPES = {"half": torch.float16, "i16": torch.int16, "float": torch.float32, "bfloat": torch.bfloat16}
WIDE = {"half": torch.float64, "bfloat": torch.float64, "float": torch.float64, "i16": torch.int64}

Operation = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Function:
    """A function of two vectors of two and of a constant one: in LLVM IR, and on tensors that round nothing."""

    name: str
    element: str
    ir: str
    on_tensors: Operation


def functions() -> Iterator[Function]:
    for element in ("half", "float", "bfloat"):
        for name, operation in {"fadd": torch.add, "fmul": torch.mul}.items():
            yield Function(name, element, f"{name} <2 x {element}> %a, C", lambda a, b, c, f=operation: f(a, c))
        call = f"call <2 x {element}> @llvm.fma.v2{{}}(<2 x {element}> %a, <2 x {element}> {{}}, <2 x {element}> {{}})"
        suffix = {"half": "f16", "float": "f32", "bfloat": "bf16"}[element]
        yield Function("fma_factor", element, call.format(suffix, "D", "%b"), lambda a, b, c: a * c + b)
        yield Function("fma_addend", element, call.format(suffix, "%b", "D"), lambda a, b, c: a * b + c)
    yield Function("add", "i16", "add <2 x i16> %a, C", lambda a, b, c: a + c)
    yield Function("sub", "i16", "sub <2 x i16> C, %a", lambda a, b, c: c - a)
    yield Function("mul", "i16", "mul <2 x i16> %a, C", lambda a, b, c: a * c)
    call = "call <2 x i16> @llvm.{}.v2i16(<2 x i16> %a, <2 x i16> C)"
    yield Function("smax", "i16", call.format("smax"), lambda a, b, c: torch.maximum(a, c))
    yield Function("smin", "i16", call.format("smin"), lambda a, b, c: torch.minimum(a, c))


def constants(element: str) -> Iterator[tuple[float, float]]:
    values = INTEGERS if element == "i16" else FLOATS
    yield from itertools.product(values, values)


def literal(element: str, value: float) -> str:
    return f"{element} {int(value) if element == 'i16' else f'{value:.1f}'}"


def kernel(name: str, function: Function, pair: tuple[float, float]) -> str:
    element, constant = function.element, f"<{', '.join(literal(function.element, value) for value in pair)}>"
    operation = function.ir.replace("D", constant).replace("C", constant)
    vector, pointer = f"<2 x {element}>", "ptr addrspace(1)"
    return f"""
define amdgpu_kernel void @{name}({pointer} %x, {pointer} %y, {pointer} %z) {{
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %px = getelementptr {vector}, {pointer} %x, i32 %i
  %py = getelementptr {vector}, {pointer} %y, i32 %i
  %pz = getelementptr {vector}, {pointer} %z, i32 %i
  %a = load {vector}, {pointer} %px
  %b = load {vector}, {pointer} %py
  %r = {operation}
  store {vector} %r, {pointer} %pz
  ret void
}}
"""


CASES = {
    f"{function.name}_{function.element}_{number}": (function, pair)
    for function in functions()
    for number, pair in enumerate(constants(function.element))
}


@cache
def program() -> str:
    return "".join(kernel(name, *case) for name, case in CASES.items())


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("target", "compiler"), [pair for pair in itertools.product(TARGETS, COMPILERS) if pair != UNKNOWN]
)
def test_what_compilers_make_of_constants(compiler: str, target: str, tmp_path: Path) -> None:
    source, binary = tmp_path / "constants.ll", tmp_path / "constants.hsaco"
    source.write_text(program())
    halves = HALVES if compiler == "clang-22" and target.startswith(("gfx11", "gfx12")) else []
    command = [need(compiler), "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O2", *halves]
    subprocess.run([*command, source, "-o", binary], check=True, capture_output=True)
    module = wave_runtime.load(binary, signature=dict.fromkeys(CASES, "*i32 const, *i32 const, *i32"))
    random = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-60, 60, (LANES, 2), generator=random) for _ in range(2))
    wrong = []
    for name, (function, pair) in CASES.items():
        dtype, wide = DTYPES[function.element], WIDE[function.element]
        x, y, z = a.to(dtype), b.to(dtype), torch.zeros(LANES, 2, dtype=dtype)
        module[name](*(tensor.view(torch.int32) for tensor in (x, y, z)), grid=1, block=LANES)
        wanted = function.on_tensors(x.to(wide), y.to(wide), torch.tensor(pair).to(wide)).to(dtype)
        if not torch.equal(z, wanted):
            wrong.append(f"{name} with {pair}: {z[0].tolist()} for {x[0].tolist()}, must be {wanted[0].tolist()}")
    assert wrong == []
