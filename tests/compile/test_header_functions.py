"""The functions of AMD's headers that no other test of our own headers has: all are there, and what they compute."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
import torch
from requirements import hip_headers
from torch import Tensor

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

HEADERS = ["amd_device_functions", "amd_warp_functions", "amd_hip_atomic", "amd_hip_unsafe_atomics", "amd_hip_complex"]
HEADERS += ["amd_hip_fp16", "amd_math_functions", "hip_ldg"]
OTHERS = ["hip_fp16", "hip_bf16", "hip_fp8", "hip_complex", "hip_cooperative_groups"]
# Of AMD's names these are for its own headers' use or name what only its runtime has; the last are no functions.
NOT_HERE = re.compile(
    r"__hip_hc_\w+|__local_to_generic|\w+_dynamicgroupbaseptr|__named_sync|__barrier|__work_group_barrier|__smid"
    r"|__builtin\w+|__make_mantissa\w*|__hip_get_string_length"
    r"|__DEF_\w+|__HIP_\w+|__attribute\w*|decltype|func|__fn|T"
)
TARGETS = ["gfx942", "gfx1100"]


def amds_functions() -> list[str]:
    folder = hip_headers("hip/amd_detail/amd_hip_complex.h")[0] / "hip/amd_detail"
    names: set[str] = set()
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / f"{header}.h").read_text(), flags=re.DOTALL)
        # Arithmetic that rounds in a direction, which AMD's header leaves out, too.
        text = re.sub(r"#if defined OCML_BASIC_ROUNDED_OPERATIONS.*?#(?:else|endif)", "", text, flags=re.DOTALL)
        names.update(re.findall(r"(?:__device__|__DEVICE__|__HOST_DEVICE__)[^;{}()#=]*?\b([A-Za-z_]\w*)\s*\(", text))
        names.update(re.findall(r"^#define\s+([a-z_]\w*)\(", text, flags=re.MULTILINE))
    return sorted(name for name in names if not NOT_HERE.fullmatch(name))


def test_all_functions_of_amds_headers_are_there() -> None:
    names = amds_functions()
    assert len(names) > 400
    source = "".join(f"#include <hip/{header}.h>\n" for header in OTHERS) + "namespace check {\n"
    source += "".join(f"#ifndef {name}\nusing ::{name};\n#endif\n" for name in names) + "}\n__global__ void none() {}"
    wave_runtime.compile(source, target="gfx942")


def test_what_amds_header_says_that_gpus_can_do() -> None:
    """AMD's header says it first of hosts, with 0 for all, and then of the device."""
    header = "hip/amd_detail/amd_hip_runtime.h"
    text = (hip_headers(header)[0] / header).read_text()
    features = re.findall(r"^#define (__HIP_ARCH_HAS_\w+) \(([01])\)", text, re.MULTILINE)
    assert len(features) > 15
    source = "".join(f"static_assert({name} == {value});\n" for name, value in features) + "__global__ void none() {}"
    wave_runtime.compile(source, target="gfx942")


def run(source: str, target: str, *tensors: Tensor) -> None:
    """One wave that has a thread for each element of the last tensor."""
    headers = "#include <hip/hip_complex.h>\n"
    wave_runtime.compile(headers + source, target=target, options=["-O1"])["run"](
        *tensors, grid=1, block=len(tensors[-1])
    )


LARGE = [0, 1, 2, 3, 2**24 - 1, 2**24, 2**24 + 1, 2**24 + 3, 2**25 + 1, 2**31 - 1, 2**31 - 64, 2**31 - 65]
LARGE += [2**53, 2**53 + 1, 2**53 + 3, 2**54 + 2, 2**62 + 1, 2**63 - 1, 2**63 - 512, 2**63 - 513, 2**40 + 7]
TINY = [1e-50, 1e-45, 7e-46, 1.17e-38, 1.0000001, 0.1, 1 / 3, 3.4028234663852886e38, 3.4028235e38, 1e300, 16777217.0]
OF = {
    "int": (torch.int32, "int", [s * x for x in LARGE if x < 2**31 for s in (1, -1)] + [-(2**31)]),
    "uint": (torch.uint32, "unsigned", [x for x in LARGE if x < 2**32] + [2**32 - 1, 2**32 - 128, 2**31 + 1]),
    "ll": (torch.int64, "long long", [s * x for x in LARGE for s in (1, -1)] + [-(2**63)]),
    "ull": (torch.uint64, "unsigned long long", [*LARGE, 2**64 - 1, 2**64 - 1024, 2**64 - 1025, 2**63 + 1]),
    "double": (torch.float64, "double", [s * x for x in [0.0, *TINY] for s in (1, -1)] + [math.inf, -math.inf]),
}


def neighbours(number: float, to: torch.dtype) -> tuple[float, float]:
    """The largest number of the type that is not above, and the smallest that is not below."""
    if math.isinf(number):
        return number, number
    near = torch.tensor(float(number), dtype=torch.float64).to(to)
    candidates = [near, *(torch.nextafter(near, torch.tensor(end, dtype=to)) for end in (-math.inf, math.inf))]
    exact = [(float(x), Fraction(float(x)) if x.isfinite() else float(x)) for x in candidates]
    return (
        max(x for x, value in exact if value <= Fraction(number)),
        min(x for x, v in exact if v >= Fraction(number)),
    )


CONVERSIONS = [*((of, "float") for of in OF), ("ll", "double"), ("ull", "double")]


@pytest.fixture(scope="module", params=TARGETS)
def conversions(request: pytest.FixtureRequest) -> wave_runtime.Module:
    kernels = (
        f"""__global__ void {of}_to_{to}({to}* out, const {OF[of][1]}* in) {{
      const int i = threadIdx.x;
      out[4 * i] = __{of}2{to}_rd(in[i]);
      out[4 * i + 1] = __{of}2{to}_ru(in[i]);
      out[4 * i + 2] = __{of}2{to}_rz(in[i]);
      out[4 * i + 3] = __{of}2{to}_rn(in[i]);
    }}\n"""
        for of, to in CONVERSIONS
    )
    return wave_runtime.compile("".join(kernels), target=request.param, options=["-O1"], cache=False)


@pytest.mark.parametrize(("of", "to"), CONVERSIONS)
def test_conversions_that_round_in_a_direction(conversions: wave_runtime.Module, of: str, to: str) -> None:
    dtype, _, numbers = OF[of]
    result_dtype = {"float": torch.float32, "double": torch.float64}[to]
    results = torch.zeros(4 * len(numbers), dtype=result_dtype)
    conversions[f"{of}_to_{to}"](results, torch.tensor(numbers, dtype=dtype), grid=1, block=len(numbers))
    for number, (down, up, zero, near) in zip(numbers, results.view(-1, 4).tolist(), strict=True):
        low, high = neighbours(number, result_dtype)
        assert (down, up, zero) == (low, high, high if number < 0 else low), number
        assert near in (low, high)


@pytest.mark.parametrize("target", TARGETS)
def test_fields_of_bits(target: str) -> None:
    values = torch.randint(-(2**63), 2**63 - 1, (64,), generator=torch.Generator().manual_seed(3))
    results = torch.zeros(64 * 4, dtype=torch.int64)
    source = """__global__ void run(unsigned long long* out, const unsigned long long* in) {
      const unsigned i = threadIdx.x, offset = i % 40, width = i % 29;
      const unsigned long long x = in[i], y = in[63 - i];
      out[4 * i] = __bitextract_u64(x, offset, width);
      out[4 * i + 1] = __bitinsert_u64(x, y, offset, width);
      out[4 * i + 2] = __bitextract_u32((unsigned)x, offset, width);
      out[4 * i + 3] = __bitinsert_u32((unsigned)x, (unsigned)y, offset, width);
    }"""
    run(source, target, results.view(torch.uint64), values.view(torch.uint64))
    for i, found in enumerate(results.view(-1, 4).tolist()):
        width = i % 29
        for bits, (extracted, inserted) in ((64, found[:2]), (32, found[2:])):
            x, y = (values[j].item() % 2**bits for j in (i, 63 - i))
            offset, mask = i % 40 % bits, (1 << width) - 1
            assert extracted % 2**64 == x >> offset & mask
            assert inserted % 2**64 == (x & ~(mask << offset) | (y & mask) << offset) % 2**bits


@pytest.mark.parametrize("target", TARGETS)
def test_exchanges_of_lanes_by_instructions(target: str) -> None:
    """32 lanes, which is what one instruction reaches on each of the targets."""
    results = torch.zeros(32 * 8)
    source = """__global__ void run(float* out, const int* in) {
      const int i = threadIdx.x, x = in[i];
      float* to = out + 8 * i;
      to[0] = __hip_ds_bpermute(4 * (i ^ 5), x);
      to[1] = __hip_ds_bpermutef(4 * ((i + 1) % 32), 0.5f + x);
      to[2] = __hip_ds_permute(4 * ((i + 3) % 32), x);
      to[3] = __hip_ds_permutef(4 * (31 - i), 0.5f + x);
      to[4] = __hip_ds_swizzle(x, 0x041f);  // each lane and its neighbour change places
      to[5] = __hip_ds_swizzlef(0.5f + x, 0x041f);
      to[6] = __hip_move_dpp(x, 0x1b, 0xf, 0xf, true);  // the four lanes of each quad in reverse
      to[7] = __mbcnt_hi(0, __mbcnt_lo(0x0f0f0f0f, 100)) + __popcll(__ballot64(x == 7));
    }"""
    run(source, target, results, torch.arange(32, dtype=torch.int32))
    lanes = torch.arange(32)
    below = torch.tensor([bin(0x0F0F0F0F & ((1 << i) - 1)).count("1") for i in range(32)])
    expected = [lanes ^ 5, (lanes + 1) % 32 + 0.5, (lanes - 3) % 32, 31 - lanes + 0.5, lanes ^ 1, (lanes ^ 1) + 0.5]
    expected += [lanes ^ 3, below + 101]
    assert torch.equal(results.view(32, 8), torch.stack([row.float() for row in expected], 1))


@pytest.mark.parametrize("target", TARGETS)
def test_other_atomics(target: str) -> None:
    sums, words = torch.zeros(8), torch.tensor([100, 0, 0], dtype=torch.int32)
    source = """__global__ void run(float* sums, int* words, const int* in) {
      const int i = in[threadIdx.x];
      atomicAddNoRet(sums, (float)i);
      safeAtomicAdd(sums + 1, (float)i);
      safeAtomicMax(sums + 2, (float)i);
      safeAtomicMin(sums + 3, -(float)i);
      unsafeAtomicMax(sums + 4, (float)i);
      unsafeAtomicMin(sums + 5, -(float)i);
      atomicSub_system(words, 1);
      atomicCAS_system(words + 1 + (i != 5), i == 5 ? 0 : i - 1, i);
      const long long begin = __clock64(), end = __clock();
      if (end < begin) sums[7] = 1;
    }"""
    run(source, target, sums, words, torch.arange(32, dtype=torch.int32))
    assert sums.tolist() == [496, 496, 31, -31, 31, -31, 0, 0]
    assert words[:2].tolist() == [68, 5]


@pytest.mark.each_value
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("f", "type_"), [("f", "Float"), ("", "Double")])
def test_complex_numbers(f: str, type_: str, target: str) -> None:
    real = torch.float32 if f else torch.float64
    generator = torch.Generator().manual_seed(4)
    a, b, c = (torch.randn(32, 2, generator=generator, dtype=real) for _ in range(3))
    results = torch.zeros(32, 20, dtype=real)
    source = f"""using C = hip{type_}Complex;
    __global__ void run(decltype(C::x)* out, const C* as, const C* bs, const C* cs) {{
      const C a = as[threadIdx.x], b = bs[threadIdx.x], c = cs[threadIdx.x];
      C* to = (C*)(out + 20 * threadIdx.x);
      to[0] = hipCadd{f}(a, b);
      to[1] = hipCsub{f}(a, b);
      to[2] = hipCmul{f}(a, b);
      to[3] = hipCdiv{f}(a, b);
      to[4] = hipCfma{f}(a, b, c);
      to[5] = hipConj{f}(a);
      to[6] = make_hip{type_}Complex(hipCabs{f}(a), hipCsqabs{f}(a));
      to[7] = make_hip{type_}Complex(hipCreal{f}(a), hipCimag{f}(a));
      const hipFloatComplex brief = {"a" if f else "hipComplexDoubleToFloat(a)"};
      const hipDoubleComplex wide = hipComplexFloatToDouble(brief);
      to[8] = make_hip{type_}Complex(wide.x, wide.y);
      const hipComplex plain = make_hipComplex(brief.x, brief.y);
      to[9] = make_hip{type_}Complex(plain.x, plain.y);
    }}"""
    run(source, target, results, a, b, c)
    x, y, z = (torch.view_as_complex(part) for part in (a, b, c))
    brief = torch.view_as_complex(a.float().to(real))
    sizes = torch.complex(x.abs(), x.abs() ** 2)
    expected = torch.stack([x + y, x - y, x * y, x / y, x * y + z, x.conj(), sizes, x, brief, brief], 1)
    torch.testing.assert_close(torch.view_as_complex(results.view(32, 10, 2)), expected)
