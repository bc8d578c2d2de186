"""What compilers make of plain arithmetic for processors whose waves have 32 lanes, compared with numpy: floats of 16
bits, clamps, minima and maxima of each kind, conversions, dot products, clocks, atomics of floats."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model import rdna_sums
from requirements import need

import wave_runtime

TARGETS = ("gfx1030", "gfx1100", "gfx1201")
SINCE_RDNA3 = ("gfx1100", "gfx1201")
COMPILERS = ("clang-19", "clang-22")
# Halves of registers as operands of encodings of 32 bits, which LLVM 22 uses for gfx1201 only when told to.
HALVES = ["-Xclang", "-target-feature", "-Xclang", "+real-true16"]
HIP = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-w"]
PREFIX = """
#define KERNEL(name) extern "C" __attribute__((global)) void name
#define SHARED __attribute__((shared))
#define I (__builtin_amdgcn_workgroup_id_x() * 32 + __builtin_amdgcn_workitem_id_x())
typedef _Float16 half;
typedef __bf16 bf16;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef bf16 bf162 __attribute__((ext_vector_type(2)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef u16 ushort2 __attribute__((ext_vector_type(2)));
#define min(a, b) __builtin_elementwise_min(a, b)
#define max(a, b) __builtin_elementwise_max(a, b)
#define minimum(a, b) __builtin_elementwise_minimum(a, b)
#define maximum(a, b) __builtin_elementwise_maximum(a, b)
"""
DTYPES = {
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "u8": np.uint8,
    "u16": np.uint16,
    "short": np.int16,
}
Array = Any  # of numpy


@dataclass(frozen=True)
class Function:
    """An expression of a, b and c of one type, and what it is on arrays that hold more than that type does."""

    name: str
    type: str
    expression: str
    expected: Callable[[Array, Array, Array], Array]
    result: str = ""
    since: int = 0  #: the first clang that has its builtins


def wide(array: Array) -> Array:
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def finite(a: Array, result: Array) -> Array:
    return np.where(np.isfinite(a), result, 0)


def of_floats(type: str) -> Sequence[Function]:
    def function(name: str, expression: str, expected: Callable[..., Array], since: int = 0) -> Function:
        return Function(f"{name}_{type}", type, expression, expected, since=since)

    one = f"({type})1"
    return [
        function("fused", "a * b + c", lambda a, b, c: a * b + c),
        function("fused_sub", "a * b - c", lambda a, b, c: a * b - c),
        function("times_constant", f"a * ({type})3.25 + b", lambda a, b, c: a * 3.25 + b),
        function("plus_constant", f"a * b + ({type})3.25", lambda a, b, c: a * b + 3.25),
        function("clamp", "min(max(a, b), c)", lambda a, b, c: np.fmin(np.fmax(a, b), c)),
        function("reverse_clamp", "max(min(a, b), c)", lambda a, b, c: np.fmax(np.fmin(a, b), c)),
        function("unit_clamp", f"min(max(a, -{one}), {one})", lambda a, b, c: np.fmin(np.fmax(a, -1), 1)),
        function("min3", "min(min(a, b), c)", lambda a, b, c: np.fmin(np.fmin(a, b), c)),
        function("max3", "max(max(a, b), c)", lambda a, b, c: np.fmax(np.fmax(a, b), c)),
        function("minimum", "minimum(a, b)", lambda a, b, c: np.minimum(a, b), 22),
        function("maximum", "maximum(a, b)", lambda a, b, c: np.maximum(a, b), 22),
        function("minimum3", "minimum(minimum(a, b), c)", lambda a, b, c: np.minimum(np.minimum(a, b), c), 22),
        function("maximum3", "maximum(maximum(a, b), c)", lambda a, b, c: np.maximum(np.maximum(a, b), c), 22),
        function("low_high", "minimum(maximum(a, b), c)", lambda a, b, c: np.minimum(np.maximum(a, b), c), 22),
        function("high_low", "maximum(minimum(a, b), c)", lambda a, b, c: np.maximum(np.minimum(a, b), c), 22),
        function("chosen", "a < b ? c : a", lambda a, b, c: np.where(a < b, c, a)),
    ]


def of_integers(type: str) -> Sequence[Function]:
    functions = {
        "bits": ("(a & b) | (~a & c)", lambda a, b, c: (a & b) | (~a & c)),
        "xor": ("a ^ b ^ c", lambda a, b, c: a ^ b ^ c),
        "equal": ("a == b ? c : a", lambda a, b, c: np.where(a == b, c, a)),
        "clamp": ("min(max(a, b), c)", lambda a, b, c: np.minimum(np.maximum(a, b), c)),
        "sum": ("a * b + c", lambda a, b, c: a * b + c),
        "rotate": ("(a << 3) | (a >> (sizeof(a) * 8 - 3))", lambda a, b, c: (a << 3) | (a >> (8 * ITEM[type] - 3))),
    }
    own = [
        Function(f"{name}_{type}", type, f"({type})({text})", function) for name, (text, function) in functions.items()
    ]
    return [*own, Function(f"long_{type}", type, "(long)a * 65537", lambda a, b, c: a * 65537, "long")]


ITEM = {"u8": 1, "u16": 2, "short": 2}
FUNCTIONS = [
    *(function for type in ("half", "float", "double") for function in of_floats(type)),
    *(function for type in ("u8", "u16", "short") for function in of_integers(type)),
    Function("mantissa", "half", "__builtin_amdgcn_frexp_manth(a)", lambda a, b, c: np.frexp(a)[0]),
    Function("exponent", "half", "__builtin_amdgcn_frexp_exph(a)", lambda a, b, c: finite(a, np.frexp(a)[1]), "short"),
]
TENTH, SMALL = float(np.float16(0.1)), float(np.float16(-0.001))  # whose products are exact in f64
FLOATS = [0.0, 1.0, -1.5, TENTH, 3.25, -77.0, 255.0, SMALL, np.nan, np.inf, -np.inf]
INTEGERS = [0, 1, 2, 77, 127, 128, 200, 255, 1000, 32767, 32768, 65535, 40000]


def arguments(type: str) -> list[Array]:
    values = np.array(FLOATS if DTYPES[type](0.5) else INTEGERS)
    triples = np.array(list(itertools.product(values, values, values)))
    triples = triples[: len(triples) // 32 * 32]
    return [column.astype(DTYPES[type]) for column in triples.T]


def kernel(function: Function) -> str:
    type, result = function.type, function.result or function.type
    parameters, store = f"{type} a, {type} b, {type} c, {result}* O", f"O[I] = {function.expression};"
    return (
        f"KERNEL({function.name})(const {type}* A, const {type}* B, const {type}* C, {result}* O) {{\n"
        f"  {type} a = A[I], b = B[I], c = C[I];\n  {store}\n}}\n"
        f"KERNEL({function.name}_uniform)({parameters}) {{ {store} }}\n"
    )


def build(compiler: str, target: str, source: str, folder: Path) -> Path:
    file, binary = folder / "plain.hip", folder / "plain.hsaco"
    file.write_text(PREFIX + source)
    halves = HALVES if compiler == "clang-22" and target in SINCE_RDNA3 else []
    options = [*HIP, *halves, f"--offload-arch={target}", "-O2"]
    subprocess.run([need(compiler), *options, file, "-o", binary], check=True, capture_output=True)
    return binary


NAMES = {"half": "f16", "float": "f32", "double": "f64", "u8": "u8", "u16": "u16", "short": "i16", "long": "i64"}


def same(found: Array, expected: Array) -> Array:
    return (found == expected) | ((found != found) & (expected != expected))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", TARGETS)
def test_functions(compiler: str, target: str, tmp_path: Path) -> None:
    functions = [function for function in FUNCTIONS if function.since <= int(compiler.removeprefix("clang-"))]
    binary = build(compiler, target, "".join(map(kernel, functions)), tmp_path)
    signatures = {}
    for function in functions:
        type, result = NAMES[function.type], NAMES[function.result or function.type]
        signatures[function.name] = f"*{type} const, *{type} const, *{type} const, *{result}"
        signatures[f"{function.name}_uniform"] = f"{type}, {type}, {type}, *{result}"
    module = wave_runtime.load(binary, signature=signatures)
    wrong = []
    for function in functions:
        dtype = np.dtype(np.int64 if function.result == "long" else DTYPES[function.result or function.type])
        given = arguments(function.type)
        with np.errstate(all="ignore"):
            expected = function.expected(*map(wide, given)).astype(dtype)
        found = torch.zeros(len(given[0]), dtype=getattr(torch, dtype.name))
        module[function.name](*map(torch.from_numpy, given), found, grid=len(given[0]) // 32, block=32)
        for at in np.flatnonzero(~same(found.numpy(), expected))[:1]:
            wrong.append(f"{function.name}{tuple(v[at] for v in given)} = {found[at]}, must be {expected[at]}")
        for at in range(0, len(given[0]), 97):
            one = torch.zeros(32, dtype=found.dtype)
            module[f"{function.name}_uniform"](*(v[at].item() for v in given), one, grid=1, block=32)
            if not same(one.numpy(), expected[at]).all():
                wrong.append(f"{function.name}_uniform{tuple(v[at] for v in given)} = {one[0]}, must be {expected[at]}")
    assert wrong == []


DOTS = """
KERNEL(dot_f16)(const half2* a, const half2* b, const float* c, float* o) { o[I] = __builtin_amdgcn_fdot2(a[I], b[I], c[I], false); }
KERNEL(dot_f16_one)(const half2* a, const half2* b, const float* c, float* o) { o[I] = __builtin_amdgcn_fdot2(a[I], (half2)1, c[I], false); }
KERNEL(dot_f16_f16)(const half2* a, const half2* b, const half* c, half* o) { o[I] = __builtin_amdgcn_fdot2_f16_f16(a[I], b[I], c[I]); }
KERNEL(dot_bf16)(const bf162* a, const bf162* b, const float* c, float* o) { o[I] = __builtin_amdgcn_fdot2_f32_bf16(a[I], b[I], c[I], false); }
KERNEL(dot_bf16_one)(const bf162* a, const bf162* b, const float* c, float* o) { o[I] = __builtin_amdgcn_fdot2_f32_bf16(a[I], (bf162){(bf16)1.0f, (bf16)1.0f}, c[I], false); }
KERNEL(dot_bf16_bf16)(const bf162* a, const bf162* b, const short* c, short* o) { o[I] = __builtin_amdgcn_fdot2_bf16_bf16(a[I], b[I], c[I]); }
"""  # noqa: E501


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", SINCE_RDNA3)
def test_dot_products_of_floats(compiler: str, target: str, tmp_path: Path) -> None:
    """Of small integers, whose sums are exact in each type, but RDNA3's in f32 where signs differ."""
    kinds = {"dot_f16": ("f16", "f32"), "dot_f16_one": ("f16", "f32"), "dot_f16_f16": ("f16", "f16")}
    kinds |= {"dot_bf16": ("bf16", "f32"), "dot_bf16_one": ("bf16", "f32"), "dot_bf16_bf16": ("bf16", "bf16")}
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    signatures = {}
    for name, (factor, sum) in kinds.items():
        signatures[name] = f"*{factor} const, *{factor} const" + ", *{0} const, *{0}".format(
            "i16" if sum == "bf16" else sum
        )
    module = wave_runtime.load(build(compiler, target, DOTS, tmp_path), signature=signatures)
    for name, (factor, sum) in kinds.items():
        a, b = (torch.randint(-8, 8, (64, 2)).to(types[factor]) for _ in range(2))
        c, out = torch.randint(-8, 8, (64,)).to(types[sum]), torch.zeros(64, dtype=types[sum])
        views = (c, out) if sum != "bf16" else (c.view(torch.int16), out.view(torch.int16))
        module[name](a, b, *views, grid=2, block=32)
        factors = torch.ones(64, 2) if name.endswith("_one") else b.float()
        expected = (a.float() * factors).sum(1) + c.float()
        if target.startswith("gfx11") and sum == "f32":
            terms = zip(a.tolist(), factors.tolist(), c.tolist(), strict=True)
            codes = (rdna_sums.add(11, (factor, factor), "f32", *of_one) for of_one in terms)
            expected = torch.tensor([rdna_sums.number_of(code, "f32") for code in codes])
        wrong = (out.float() != expected).nonzero()
        assert len(wrong) == 0, f"{name}: elements {wrong.flatten().tolist()}"


CONVERSIONS = """
KERNEL(to_short)(const float2* a, short2* o) { o[I] = __builtin_convertvector(a[I], short2); }
KERNEL(to_ushort)(const float2* a, ushort2* o) { o[I] = __builtin_convertvector(a[I], ushort2); }
KERNEL(to_fractions)(const float2* a, short2* o) { o[I] = __builtin_amdgcn_cvt_pknorm_i16(a[I].x, a[I].y); }
KERNEL(to_byte)(const float2* a, u32* o) { o[I] = __builtin_amdgcn_cvt_pk_u8_f32(a[I].x, 2, 0x11223344); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", TARGETS)
def test_packed_conversions(compiler: str, target: str, tmp_path: Path) -> None:
    names = {"to_short": "i16", "to_ushort": "u16", "to_fractions": "i16", "to_byte": "u32"}
    signatures = {name: f"*f32 const, *{type}" for name, type in names.items()}
    module = wave_runtime.load(build(compiler, target, CONVERSIONS, tmp_path), signature=signatures)

    def converted(name: str, values: Array, dtype: torch.dtype) -> Array:
        out = torch.zeros(32 if name == "to_byte" else 64, dtype=dtype)
        module[name](torch.from_numpy(values.astype(np.float32)), out, grid=1, block=32)
        return out.numpy().astype(np.int64)

    random = np.random.default_rng(0)
    whole = random.integers(0, 32767, 64) + random.choice([0, 0.25, 0.75], 64)
    signed = whole * random.choice([-1, 1], 64)
    assert np.array_equal(converted("to_short", signed, torch.int16), np.trunc(signed))
    assert np.array_equal(converted("to_ushort", 2 * whole, torch.uint16), np.trunc(2 * whole))
    fractions = signed / 16384  # half of them beyond 1
    expected = np.rint(np.clip(fractions.astype(np.float32), -1, 1).astype(np.float64) * 32767)
    assert np.array_equal(converted("to_fractions", fractions, torch.int16), expected)
    halves = np.where(np.arange(64) % 4, signed / 64, np.trunc(signed / 64) + 0.5)  # some lie between two integers
    bytes = np.clip(np.rint(halves), 0, 255).astype(np.int64)[::2]  # which this one alone rounds, as MODE says
    assert np.array_equal(converted("to_byte", halves, torch.uint32), 0x11003344 | bytes << 16)


SIGNS = list(itertools.product((True, False), repeat=3))


@pytest.mark.parametrize("target", SINCE_RDNA3)
@pytest.mark.parametrize("bits", [8, 4])
def test_dot_products_of_integers(target: str, bits: int, tmp_path: Path) -> None:
    """Each factor has signs or not; the sum is signed, and CLAMP keeps it in its range."""
    text = "KERNEL(dot{number})(const int* a, const int* b, const int* c, int* o) {{\n"
    text += "  o[I] = __builtin_amdgcn_sudot{count}({first}, a[I], {second}, b[I], c[I], {clamps});\n}}\n"
    source = ""
    for number, (first, second, clamps) in enumerate(SIGNS):
        words = [str(flag).lower() for flag in (first, second, clamps)]
        source += text.format(number=number, count=32 // bits, first=words[0], second=words[1], clamps=words[2])
    signatures = {f"dot{number}": "*i32 const, *i32 const, *i32 const, *i32" for number in range(len(SIGNS))}
    module = wave_runtime.load(build("clang-19", target, source, tmp_path), signature=signatures)
    random = np.random.default_rng(0)
    a, b = (random.integers(-(2**31), 2**31, 320).astype(np.int32) for _ in range(2))
    c = np.concatenate([random.integers(-1000, 1000, 160), np.repeat([2**31 - 1, -(2**31)], 80)]).astype(np.int32)

    def elements(packed: Array, signed: bool) -> Array:
        parts = packed.astype(np.int64)[:, None] >> np.arange(0, 32, bits) & (1 << bits) - 1
        return parts - (parts >> (bits - 1) << bits if signed else 0)

    for number, (first, second, clamps) in enumerate(SIGNS):
        out = torch.zeros(320, dtype=torch.int32)
        module[f"dot{number}"](*map(torch.from_numpy, (a, b, c)), out, grid=10, block=32)
        sums = (elements(a, first) * elements(b, second)).sum(1) + c
        expected = np.clip(sums, -(2**31), 2**31 - 1) if clamps else sums
        assert np.array_equal(out.numpy(), expected.astype(np.int32)), SIGNS[number]


CLOCKS = """
KERNEL(clocks)(unsigned long* o) {
  o[0] = __builtin_readcyclecounter(), o[1] = __builtin_readcyclecounter();
  o[2] = __builtin_readsteadycounter(), o[3] = __builtin_readsteadycounter();
}
KERNEL(wait)(long* o) {
  const long begin = __builtin_readsteadycounter(), cycles = __builtin_readcyclecounter();
  const long waits = __builtin_readsteadycounter();
  long end;
  do end = __builtin_readsteadycounter();
  while (end - waits < 10000);
  o[0] = __builtin_readcyclecounter() - cycles;
  o[1] = end - waits, o[2] = __builtin_readsteadycounter() - begin;
}
"""
# MHz, as a device's clockRate says; how many bits of the shader's clock code reads; how often it does for a value.
OF_CLOCKS = {
    "gfx90a": (1700, 64, 1),
    "gfx942": (2100, 64, 1),
    "gfx1030": (2250, 64, 1),
    "gfx1100": (2500, 20, 1),
    "gfx1201": (2970, 64, 3),
}


def clocks(compiler: str, target: str, tmp_path: Path) -> wave_runtime.Module:
    return wave_runtime.load(
        build(compiler, target, CLOCKS, tmp_path), signature={"clocks": "o: *i64", "wait": "o: *i64"}
    )


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", OF_CLOCKS)
def test_clocks(compiler: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shader's clock, of which code for GFX11 reads 20 bits, and the constant one of 100 MHz. Counted, each look at
    them takes 100 ns."""
    megahertz, bits, looks = OF_CLOCKS[target]
    kernel = clocks(compiler, target, tmp_path)["clocks"]
    before = torch.zeros(4, dtype=torch.int64)
    kernel(before, grid=1, block=32)
    assert int(before[:2].max()) < 2**bits
    assert before[3] >= before[2] > 0
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    counted = torch.zeros(4, dtype=torch.int64)
    kernel(counted, grid=1, block=32)
    assert counted[1] - counted[0] == looks * megahertz // 10
    assert counted[3] - counted[2] == 10


@pytest.mark.parametrize("target", ["gfx942", "gfx1030", "gfx1201"])
def test_the_clocks_agree(target: str, tmp_path: Path) -> None:
    """What a kernel waits by the one clock has passed by the other: more than between the looks that lie within, less
    than between those around."""
    megahertz, _, _ = OF_CLOCKS[target]
    of_both = torch.zeros(3, dtype=torch.int64)
    clocks(COMPILERS[0], target, tmp_path)["wait"](of_both, grid=1, block=32)
    cycles, within, around = of_both.tolist()
    assert within >= 10_000
    assert (within - 1) * megahertz <= cycles * 100 <= (around + 1) * megahertz


ATOMICS = """
template <class T> __attribute__((device)) void extremes(const T* values, T* out) {
  SHARED static T least, most;
  if (I == 0) least = out[0], most = out[1];
  __builtin_amdgcn_s_barrier();
  __hip_atomic_fetch_min(&least, values[I], __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_max(&most, values[I], __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_min(out + 2, values[I], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(out + 3, values[I], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __builtin_amdgcn_s_barrier();
  if (I == 0) out[0] = least, out[1] = most;
}
KERNEL(extremes_f32)(const float* values, float* out) { extremes(values, out); }
KERNEL(extremes_f64)(const double* values, double* out) { extremes(values, out); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_atomic_minima_and_maxima(compiler: str, target: str, dtype: torch.dtype, tmp_path: Path) -> None:
    bits = torch.finfo(dtype).bits
    name, signature = f"extremes_f{bits}", f"*f{bits} const, *f{bits}"
    module = wave_runtime.load(build(compiler, target, ATOMICS, tmp_path), signature={name: signature})
    values, out = torch.randn(32, dtype=dtype), torch.zeros(4, dtype=dtype)
    module[name](values, out, grid=1, block=32)
    assert out.tolist() == [values.min(), values.max()] * 2
