"""hip_fp8.h: both families of 8-bit floats on processors with conversions of either family, or none, beside torch."""

from __future__ import annotations

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
C = {torch.float32: "float", torch.float64: "double", torch.int32: "int", torch.float16: "__half"}
CODES = torch.arange(256, dtype=torch.int32).to(torch.uint8)


def combined(*targets: str) -> pytest.MarkDecorator:
    """Kinds with targets: first one kind for each target."""
    kinds = [*KINDS]
    pairs = [(kinds[(i + turn) % 4], target) for turn in range(4) for i, target in enumerate(targets)]
    marks = [() if number < len(targets) else pytest.mark.long for number in range(len(pairs))]
    return pytest.mark.parametrize(
        ("kind", "target"), [pytest.param(*pair, marks=mark) for pair, mark in zip(pairs, marks, strict=True)]
    )


def convert(expression: str, target: str, x: Tensor, out: torch.dtype = torch.uint8) -> Tensor:
    """An expression of x, for each element."""
    result = torch.zeros(len(x), dtype=out)
    given = C.get(x.dtype, "unsigned char")
    source = f"""#include <hip/hip_fp8.h>
    #include <hip/hip_fp16.h>
    #include <hip/hip_bf16.h>
    __global__ void map(const {given}* in, {C.get(out, "unsigned char")}* out, int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      const {given} x = in[i];
      out[i] = {expression};
    }}"""
    wave_runtime.compile(source, target=target, options=["-O1"])["map"](
        x, result, len(x), grid=-(-len(x) // 256), block=256
    )
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


@combined(*TARGETS)
def test_every_code(kind: str, target: str) -> None:
    values = convert(f"static_cast<float>({kind}{{reinterpret_cast<const {kind}&>(x)}})", target, CODES, torch.float32)
    wanted = CODES.view(KINDS[kind][0]).float()
    same = (values.view(torch.int32) == wanted.view(torch.int32)) | (values.isnan() & wanted.isnan())
    assert same.all(), CODES[~same]


@combined(*TARGETS)
def test_floats(kind: str, target: str) -> None:
    x = numbers(kind)
    assert_codes(convert(f"{kind}(x).__x", target, x), expected(kind, x), kind, x)


@combined("gfx942", "gfx950", "gfx1100", "gfx90a")
def test_doubles_are_rounded_once(kind: str, target: str) -> None:
    """Beside the middle of two numbers by less than a float knows."""
    x = numbers(kind)
    finite = torch.unique(x[:505][x[:505] != 0])  # the numbers, and what lies halfway between two
    for end in (torch.inf, -torch.inf):
        beside = torch.nextafter(finite, torch.tensor(end))
        given = finite.double() + (beside.double() - finite) * 2.0**-20
        assert_codes(convert(f"{kind}(x).__x", target, given), expected(kind, beside), kind, given)
    assert_codes(convert(f"{kind}(x).__x", target, x.double()), expected(kind, x), kind, x)


@combined("gfx1201", "gfx942", "gfx950", "gfx1100")
def test_other_types(kind: str, target: str) -> None:
    integers = torch.arange(-500, 500, dtype=torch.int32)
    assert_codes(convert(f"{kind}(x).__x", target, integers), expected(kind, integers.float()), kind, integers)
    halves = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    assert_codes(convert(f"{kind}(x).__x", target, halves), expected(kind, halves.float()), kind, halves)
    brief = halves.view(torch.bfloat16).float()
    of_brief = convert(f"{kind}(__hip_bfloat16(x)).__x", target, brief)
    assert_codes(of_brief, expected(kind, brief), kind, brief)


@combined("gfx1030", "gfx1201", "gfx942", "gfx950")
def test_without_saturation(kind: str, target: str) -> None:
    """What would be rounded beyond the largest number is what an infinity is."""
    interpretation = f"__HIP_{kind.removeprefix('__hip_fp8_').upper()}"
    x = numbers(kind)
    largest = KINDS[kind][1]
    limit = {448.0: 464.0, 57344.0: 61440.0, 240.0: 248.0}[largest]  # halfway to the number that would come next
    wanted = expected(kind, x)
    for name in ("float", "double"):
        got = convert(f"__hip_cvt_{name}_to_fp8(x, __HIP_SATFINITE, {interpretation})", target, x)
        assert_codes(got, wanted, kind, x)
        got = convert(f"__hip_cvt_{name}_to_fp8(x, __HIP_NOSAT, {interpretation})", target, x)
        beyond = x.abs() > limit
        inside = (x.abs() < limit) | x.isnan()
        assert_codes(got[inside], wanted[inside], kind, x[inside])
        infinite = expected(kind, torch.copysign(torch.tensor(torch.inf), x[beyond]))
        assert_codes(got[beyond], infinite, kind, x[beyond])


def run_on_vectors(kind: str, target: str, body: str, x: Tensor, out: Tensor) -> None:
    """One work-item, `in` and `out` of the tensors' types; Two and Four are the kind's types, and kKind its number."""
    suffix = kind.removeprefix("__hip_fp8_")
    types = {torch.uint8: "unsigned char", torch.int16: "short", **C}
    source = f"""#include <hip/hip_fp8.h>
    using Two = __hip_fp8x2_{suffix};
    using Four = __hip_fp8x4_{suffix};
    constexpr auto kKind = __HIP_{suffix.upper()};
    __global__ void run(const {types[x.dtype]}* in, {types[out.dtype]}* out, int n) {{ {body} }}"""
    wave_runtime.compile(source, target=target, options=["-O1"])["run"](x, out, len(x), grid=1, block=1)


@combined("gfx942", "gfx1201", "gfx1100", "gfx950")
def test_pairs_and_fours(kind: str, target: str) -> None:
    """Each is as four single numbers are, in the order of its bytes, made of any type of vector."""
    x = numbers(kind)[:4096]
    wanted = expected(kind, x)
    for type_, make in (("float", "make_float"), ("double", "make_double")):
        codes = torch.zeros(len(x) * 3, dtype=torch.uint8)
        body = f"""for (int i = 0; i < n; i += 4) {{
          const {type_}4 v = {make}4(in[i], in[i + 1], in[i + 2], in[i + 3]);
          const Four four(v);
          const Two low({make}2(v.x, v.y)), high({make}2(v.z, v.w));
          const auto cut = __hip_cvt_{type_}2_to_fp8x2({make}2(v.x, v.y), __HIP_SATFINITE, kKind);
          *(unsigned*)(out + i) = four.__x;
          *(unsigned*)(out + n + i) = low.__x | unsigned{{high.__x}} << 16;
          *(unsigned*)(out + 2 * n + i) = cut | unsigned{{high.__x}} << 16;
        }}"""
        run_on_vectors(kind, target, body, x, codes)
        for part in codes.view(3, -1):
            assert_codes(part, wanted, kind, x)


@combined("gfx1100", "gfx942", "gfx950", "gfx1201")
def test_pairs_and_fours_of_short_floats(kind: str, target: str) -> None:
    halves = torch.arange(1 << 12, dtype=torch.int32).mul(16).to(torch.int16)
    body = """for (int i = 0; i < n; i += 4) {
      PAIR low, high;
      __builtin_memcpy(&low, in + i, 4);
      __builtin_memcpy(&high, in + i + 2, 4);
      const Four four(low, high);
      RAW raw{(unsigned short)in[i], (unsigned short)in[i + 1]};
      *(unsigned*)(out + i) = four.__x;
      *(unsigned*)(out + n + i) =
          CONVERT2(raw, __HIP_SATFINITE, kKind) | CONVERT({(unsigned short)in[i + 2]}, __HIP_SATFINITE, kKind) << 16 |
          unsigned(CONVERT({(unsigned short)in[i + 3]}, __HIP_SATFINITE, kKind)) << 24;
    }"""
    for dtype, pair, raw, name in (
        (torch.float16, "__half2", "__half2_raw", "halfraw"),
        (torch.bfloat16, "__hip_bfloat162", "__hip_bfloat162_raw", "bfloat16raw"),
    ):
        codes = torch.zeros(2 * len(halves), dtype=torch.uint8)
        convert2, convert1 = f"__hip_cvt_{name}2_to_fp8x2", f"__hip_cvt_{name}_to_fp8"
        text = body.replace("CONVERT2", convert2).replace("CONVERT", convert1).replace("PAIR", pair)
        run_on_vectors(kind, target, text.replace("RAW", raw), halves, codes)
        values = halves.view(dtype).float()
        for part in codes.view(2, -1):
            assert_codes(part, expected(kind, values), kind, values)


@combined("gfx950", "gfx1100", "gfx1201", "gfx942")
def test_values_of_pairs_and_fours(kind: str, target: str) -> None:
    values = torch.zeros(4 * 256)
    body = """for (int i = 0; i < n; i += 4) {
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
      }
    }"""
    run_on_vectors(kind, target, body, CODES, values)
    for part in values.view(4, -1):
        torch.testing.assert_close(part, CODES.view(KINDS[kind][0]).float(), rtol=0, atol=0, equal_nan=True)
