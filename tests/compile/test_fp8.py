"""hip_fp8.h: both families of 8-bit floats on processors with conversions of either family, or none, beside torch."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

KINDS = {
    "__hip_fp8_e4m3": (torch.float8_e4m3fn, 448.0),
    "__hip_fp8_e5m2": (torch.float8_e5m2, 57344.0),
    "__hip_fp8_e4m3_fnuz": (torch.float8_e4m3fnuz, 240.0),
    "__hip_fp8_e5m2_fnuz": (torch.float8_e5m2fnuz, 57344.0),
}
TARGETS = ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx9-4-generic", "gfx12-generic"]
TYPES = {torch.float32: "float", torch.float64: "double", torch.int32: "int", torch.float16: "__half"}
TYPES |= {torch.uint8: "unsigned char", torch.int16: "short"}
CODES = torch.arange(256, dtype=torch.int32).to(torch.uint8)


# One kind for each processor, and for those with conversions of one family a kind of the other.
FIRST = [*zip([*KINDS] * 2, TARGETS, strict=True)]
FIRST += [("__hip_fp8_e4m3_fnuz", "gfx942"), ("__hip_fp8_e4m3", "gfx950"), ("__hip_fp8_e4m3_fnuz", "gfx1201")]
OTHERS = [(kind, target) for kind in KINDS for target in TARGETS if (kind, target) not in FIRST]
combined = pytest.mark.parametrize(
    ("kind", "target"), [*FIRST, *(pytest.param(*pair, marks=pytest.mark.long) for pair in OTHERS)]
)


# Of vectors one work-item does four at a time. Two and Four are the kind's types, and kKind is its number.
VALUES = """
      Four four;
      __builtin_memcpy(&four.__x, in + i, 4);
      Two two{};
      two.__x = (unsigned short)four.__x;
      const float4 v = four;
      const float2 pair = two;
      const __half2 halves = two, raw = __hip_cvt_fp8x2_to_halfraw2(two.__x, kKind);
      const float all[] = {v.x, v.y, v.z, v.w};
      for (int j = 0; j < 4; ++j) {
        out[i + j] = all[j];
        out[n + i + j] = j == 0 ? pair.x : j == 1 ? pair.y : all[j];
        out[2 * n + i + j] = j == 0 ? (float)halves.x : j == 1 ? (float)halves.y : all[j];
        out[3 * n + i + j] =
            j == 0 ? (float)raw.x : j == 1 ? (float)raw.y : (float)__half(__hip_cvt_fp8_to_halfraw(in[i + j], kKind));
      }"""


def of_four(type_: str) -> str:
    return f"""
      const {type_}4 v = make_{type_}4(in[i], in[i + 1], in[i + 2], in[i + 3]);
      const Four four(v);
      const Two low(make_{type_}2(v.x, v.y)), high(make_{type_}2(v.z, v.w));
      const auto cut = __hip_cvt_{type_}2_to_fp8x2(make_{type_}2(v.x, v.y), __HIP_SATFINITE, kKind);
      *(unsigned*)(out + i) = four.__x;
      *(unsigned*)(out + n + i) = low.__x | unsigned{{high.__x}} << 16;
      *(unsigned*)(out + 2 * n + i) = cut | unsigned{{high.__x}} << 16;"""


def of_short_floats(pair: str, name: str) -> str:
    convert = f"__hip_cvt_{name}_to_fp8"
    return f"""
      {pair} low, high;
      __builtin_memcpy(&low, in + i, 4);
      __builtin_memcpy(&high, in + i + 2, 4);
      const Four four(low, high);
      {pair}_raw raw{{(unsigned short)in[i], (unsigned short)in[i + 1]}};
      *(unsigned*)(out + i) = four.__x;
      *(unsigned*)(out + n + i) =
          __hip_cvt_{name}2_to_fp8x2(raw, __HIP_SATFINITE, kKind) |
          {convert}({{(unsigned short)in[i + 2]}}, __HIP_SATFINITE, kKind) << 16 |
          unsigned({convert}({{(unsigned short)in[i + 3]}}, __HIP_SATFINITE, kKind)) << 24;"""


# Kernels by their names: the types of what is read and written, and either an expression of x or a body for four.
MAPS = {
    "value": (torch.uint8, torch.float32, "static_cast<float>(One{reinterpret_cast<const One&>(x)})"),
    "of_float": (torch.float32, torch.uint8, "One(x).__x"),
    "of_double": (torch.float64, torch.uint8, "One(x).__x"),
    "of_int": (torch.int32, torch.uint8, "One(x).__x"),
    "of_half": (torch.float16, torch.uint8, "One(x).__x"),
    "of_bfloat16": (torch.float32, torch.uint8, "One(__hip_bfloat16(x)).__x"),
    "saturated_float": (torch.float32, torch.uint8, "__hip_cvt_float_to_fp8(x, __HIP_SATFINITE, kKind)"),
    "saturated_double": (torch.float32, torch.uint8, "__hip_cvt_double_to_fp8(x, __HIP_SATFINITE, kKind)"),
    "unsaturated_float": (torch.float32, torch.uint8, "__hip_cvt_float_to_fp8(x, __HIP_NOSAT, kKind)"),
    "unsaturated_double": (torch.float32, torch.uint8, "__hip_cvt_double_to_fp8(x, __HIP_NOSAT, kKind)"),
}
FOURS = {
    "four_of_float": (torch.float32, torch.uint8, of_four("float")),
    "four_of_double": (torch.float32, torch.uint8, of_four("double")),
    "four_of_half": (torch.int16, torch.uint8, of_short_floats("__half2", "halfraw")),
    "four_of_bfloat16": (torch.int16, torch.uint8, of_short_floats("__hip_bfloat162", "bfloat16raw")),
    "values": (torch.uint8, torch.float32, VALUES),
}


def source(kind: str) -> str:
    """All kernels for a kind."""
    suffix = kind.removeprefix("__hip_fp8_")
    text = f"""#include <hip/hip_fp8.h>
    #include <hip/hip_fp16.h>
    #include <hip/hip_bf16.h>
    using One = {kind};
    using Two = __hip_fp8x2_{suffix};
    using Four = __hip_fp8x4_{suffix};
    constexpr auto kKind = __HIP_{suffix.upper()};"""
    for name, (given, out, expression) in MAPS.items():
        text += f"""
    __global__ void {name}(const {TYPES[given]}* in, {TYPES[out]}* out, int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      const {TYPES[given]} x = in[i];
      out[i] = {expression};
    }}"""
    for name, (given, out, body) in FOURS.items():
        text += f"""
    __global__ void {name}(const {TYPES[given]}* in, {TYPES[out]}* out, int n) {{
      for (int i = 0; i < n; i += 4) {{{body}
      }}
    }}"""
    return text


Compile = Callable[[str, str], wave_runtime.Module]


@pytest.fixture(scope="module")
def compiled() -> Compile:
    """Compiles the kernels for a kind and a processor, once."""
    return functools.cache(
        lambda kind, target: wave_runtime.compile(source(kind), target=target, options=["-O1"], cache=False)
    )


def convert(module: wave_runtime.Module, name: str, x: Tensor) -> Tensor:
    """What one of MAPS gives for each element."""
    given, out, _ = MAPS[name]
    assert x.dtype == given
    result = torch.zeros(len(x), dtype=out)
    module[name](x, result, len(x), grid=-(-len(x) // 256), block=256)
    return result


def numbers(kind: str) -> Tensor:
    """Every number of the format, what lies halfway between two and beside that, random ones, and edges."""
    dtype, largest = KINDS[kind]
    every = CODES.view(dtype).float()
    every = torch.unique(every[every.isfinite()])
    middle = (every[1:] + every[:-1]) / 2  # exact
    beside = [torch.nextafter(x, torch.tensor(end)) for x in (every, middle) for end in (torch.inf, -torch.inf)]
    generator = torch.Generator().manual_seed(8)
    words = torch.randint(-(2**31), 2**31, (20000,), generator=generator).int().view(torch.float32)
    near = torch.randn(4000, generator=generator) * torch.exp2(torch.randint(-22, 18, (4000,), generator=generator))
    tops = [largest * factor for factor in (1.0, 1.01, 1.03, 1.04, 1.0625, 1.07, 1.1, 2.0, 1e9)]
    edges = torch.tensor([*tops, 3e38, 1e-30, 1e-45, 0.0, torch.inf, torch.nan])
    return torch.cat([every, middle, *beside, words, near, edges, -edges])


def expected(kind: str, x: Tensor) -> Tensor:
    """Codes: torch has the nearest number, within the range that HIP cuts finite ones to; infinities have none."""
    dtype, largest = KINDS[kind]
    inside = torch.where(x.isfinite(), x.clamp(-largest, largest), x)
    codes = inside.float().to(dtype).view(torch.uint8)
    sign = torch.signbit(x).to(torch.uint8) << 7
    nan = torch.full_like(sign, 0x80) if kind.endswith("fnuz") else sign | 0x7F
    infinity = sign | 0x7C if kind == "__hip_fp8_e5m2" else nan
    return torch.where(x.isnan(), nan, torch.where(x.isinf(), infinity, codes))


def assert_codes(actual: Tensor, wanted: Tensor, kind: str, x: Tensor) -> None:
    """Bit by bit, but that all NaNs are one."""
    dtype = KINDS[kind][0]
    both_nan = actual.view(dtype).float().isnan() & wanted.view(dtype).float().isnan()
    wrong = ((actual != wanted) & ~both_nan).nonzero().flatten()[:5]
    assert len(wrong) == 0, (x[wrong], actual[wrong], wanted[wrong])


@combined
def test_every_code(compiled: Compile, kind: str, target: str) -> None:
    values = convert(compiled(kind, target), "value", CODES)
    wanted = CODES.view(KINDS[kind][0]).float()
    same = (values.view(torch.int32) == wanted.view(torch.int32)) | (values.isnan() & wanted.isnan())
    assert same.all(), CODES[~same]


@combined
def test_floats(compiled: Compile, kind: str, target: str) -> None:
    x = numbers(kind)
    assert_codes(convert(compiled(kind, target), "of_float", x), expected(kind, x), kind, x)


@combined
def test_doubles_are_rounded_once(compiled: Compile, kind: str, target: str) -> None:
    """Beside the middle of two numbers by less than a float knows."""
    x, module = numbers(kind), compiled(kind, target)
    finite = torch.unique(x[:505][x[:505] != 0])  # the numbers, and what lies halfway between two
    for end in (torch.inf, -torch.inf):
        beside = torch.nextafter(finite, torch.tensor(end))
        given = finite.double() + (beside.double() - finite) * 2.0**-20
        assert_codes(convert(module, "of_double", given), expected(kind, beside), kind, given)
    assert_codes(convert(module, "of_double", x.double()), expected(kind, x), kind, x)


@combined
def test_other_types(compiled: Compile, kind: str, target: str) -> None:
    module = compiled(kind, target)
    integers = torch.arange(-500, 500, dtype=torch.int32)
    assert_codes(convert(module, "of_int", integers), expected(kind, integers.float()), kind, integers)
    halves = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    assert_codes(convert(module, "of_half", halves), expected(kind, halves.float()), kind, halves)
    brief = halves.view(torch.bfloat16).float()
    assert_codes(convert(module, "of_bfloat16", brief), expected(kind, brief), kind, brief)


@combined
def test_without_saturation(compiled: Compile, kind: str, target: str) -> None:
    """What would be rounded beyond the largest number is what an infinity is."""
    x, module = numbers(kind), compiled(kind, target)
    largest = KINDS[kind][1]
    limit = {448.0: 464.0, 57344.0: 61440.0, 240.0: 248.0}[largest]  # halfway to the number that would come next
    wanted = expected(kind, x)
    for name in ("float", "double"):
        assert_codes(convert(module, f"saturated_{name}", x), wanted, kind, x)
        got = convert(module, f"unsaturated_{name}", x)
        beyond = x.abs() > limit
        inside = (x.abs() < limit) | x.isnan()
        assert_codes(got[inside], wanted[inside], kind, x[inside])
        infinite = expected(kind, torch.copysign(torch.tensor(torch.inf), x[beyond]))
        assert_codes(got[beyond], infinite, kind, x[beyond])


@combined
def test_pairs_and_fours(compiled: Compile, kind: str, target: str) -> None:
    """Each is as four single numbers are, in the order of its bytes, made of any type of vector."""
    x = numbers(kind)[:4096]
    wanted = expected(kind, x)
    for name in ("four_of_float", "four_of_double"):
        codes = torch.zeros(len(x) * 3, dtype=torch.uint8)
        compiled(kind, target)[name](x, codes, len(x), grid=1, block=1)
        for part in codes.view(3, -1):
            assert_codes(part, wanted, kind, x)


@combined
def test_pairs_and_fours_of_short_floats(compiled: Compile, kind: str, target: str) -> None:
    halves = torch.arange(1 << 12, dtype=torch.int32).mul(16).to(torch.int16)
    for name, dtype in (("four_of_half", torch.float16), ("four_of_bfloat16", torch.bfloat16)):
        codes = torch.zeros(2 * len(halves), dtype=torch.uint8)
        compiled(kind, target)[name](halves, codes, len(halves), grid=1, block=1)
        values = halves.view(dtype).float()
        for part in codes.view(2, -1):
            assert_codes(part, expected(kind, values), kind, values)


@combined
def test_values_of_pairs_and_fours(compiled: Compile, kind: str, target: str) -> None:
    values = torch.zeros(4 * 256)
    compiled(kind, target)["values"](CODES, values, 256, grid=1, block=1)
    for part in values.view(4, -1):
        torch.testing.assert_close(part, CODES.view(KINDS[kind][0]).float(), rtol=0, atol=0, equal_nan=True)
