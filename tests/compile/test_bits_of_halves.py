"""Halves and bfloat16s as bits and back, and hip_bfloat16, which is a type of its own."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

TYPES = {torch.float16: ("__half", "__half2"), torch.bfloat16: ("__hip_bfloat16", "__hip_bfloat162")}
HEAD = "#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n"
INCLUDE = "#include <hip/hip_bfloat16.h>\n"


@pytest.mark.parametrize("dtype", TYPES)
def test_bits(each_clang: str, dtype: torch.dtype) -> None:
    number, pair = TYPES[dtype]
    source = f"""{HEAD}
    static_assert(__is_trivial({number}_raw) && sizeof({number}_raw) == 2 && alignof({pair}_raw) == 4);
    extern "C" __global__ void bits(const {number}* in, unsigned short* bits, {number}* out) {{
      const int i = threadIdx.x;
      {number}_raw raw = in[i];
      bits[i] = raw.x;
      raw.x ^= 0x8000;
      const {number} negative = raw;
      out[i] = {number}(raw) == negative ? negative : {number}(0.0f);
      {pair} two = {{in[i], negative}};
      {pair}_raw both = two;
      bits[64 + i] = static_cast<{number}_raw>(in[i]).x ^ both.x ^ both.y;
      both.y = both.x;
      two = both;
      out[64 + i] = two.y + {pair}(both).x;
    }}"""
    numbers = torch.randn(64).to(dtype)
    bits, out = torch.zeros(128, dtype=torch.int16), torch.zeros(128, dtype=dtype)
    wave_runtime.compile(source)["bits"](numbers, bits.view(torch.uint16), out, grid=1, block=64)
    words = numbers.view(torch.int16)
    assert torch.equal(bits[:64], words)
    assert torch.equal(bits[64:], words ^ -(1 << 15))
    assert torch.equal(out, torch.cat([-numbers, 2 * numbers]))


def test_braces_around_bits() -> None:
    """As in AMD's headers the first member is a half, but the bits of a bfloat16. Unsigned shorts are bits of both."""
    source = f"""{HEAD}
    extern "C" __global__ void store(float* out) {{
      out[0] = __half(__half_raw{{2}});
      out[1] = __hip_bfloat16(__hip_bfloat16_raw{{0x4000}});
      out[2] = __hip_bfloat162(__hip_bfloat162_raw{{0x3f80, 0x4000}}).y;
      const unsigned short bits = __half_as_ushort(2);
      out[3] = __half(__half_raw{{bits}});
      out[4] = __half2(__half2_raw{{1, bits}}).y;
      out[5] = __half2(__half2_raw{{1, 2}}).y;
    }}"""
    out = torch.zeros(6)
    wave_runtime.compile(source)["store"](out, grid=1, block=1)
    assert out.tolist() == [2] * 6


EDGES = [0.0, -0.0, 1.0, 1.00390625, 1.01171875, -1.9999999, 3.4e38, 1e-40, 1e-45, float("inf"), -float("inf")]


def test_hip_bfloat16(each_clang: str) -> None:
    """Floats are rounded or cut, and what is computed of two is rounded."""
    source = f"""{INCLUDE}
    static_assert(__is_trivial(hip_bfloat16) && sizeof(hip_bfloat16) == 2);
    extern "C" __global__ void compute(const float* a, const float* b, hip_bfloat16* out, float* floats, int n) {{
      const int i = threadIdx.x;
      const hip_bfloat16 x(a[i]), y = hip_bfloat16::round_to_bfloat16(b[i]);
      hip_bfloat16 z, steps = x;
      z = a[i];
      steps++;
      ++steps -= y;
      const hip_bfloat16 all[] = {{
          z, hip_bfloat16::round_to_bfloat16(a[i], hip_bfloat16::truncate), hip_bfloat16(a[i], hip_bfloat16::truncate),
          x + y, x - y, x * y, x / y, -x, steps}};
      for (int k = 0; k < 9; ++k) out[k * n + i] = all[k];
      floats[i] = x * y;
      floats[n + i] = x * 2.0f + b[i];
      floats[2 * n + i] = (x < y) + 2 * (x == y) + 4 * (x >= y) + 8 * (x.data == 0x8000);
    }}"""
    a, b = torch.tensor(EDGES + torch.randn(53).tolist()), torch.randn(64)
    b[0], b[2] = 0.0, 1.0
    out, floats = torch.zeros(9, 64, dtype=torch.bfloat16), torch.zeros(3, 64)
    wave_runtime.compile(source)["compute"](a, b, out.view(-1), floats.view(-1), 64, grid=1, block=64)
    x, y = a.bfloat16(), b.bfloat16()
    cut = (a.view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)
    one = torch.ones_like(x)
    expected = [x, cut, cut, x + y, x - y, x * y, x / y, -x, x + one + one - y]
    torch.testing.assert_close(out, torch.stack(expected), rtol=0, atol=0, equal_nan=True)
    assert torch.equal(out[:3].view(torch.int16), torch.stack(expected)[:3].view(torch.int16))
    less, equal, zero = x < y, x == y, x.view(torch.int16) == -(1 << 15)
    torch.testing.assert_close(floats[0], (x * y).float(), rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(floats[1], x.float() * 2 + b, rtol=1e-6, atol=0, equal_nan=True)
    assert torch.equal(floats[2], less + 2.0 * equal + 4.0 * ~less + 8.0 * zero)


def test_a_nan_stays_one() -> None:
    """Whose bits a bfloat16 has not."""
    source = f"""{INCLUDE}
    extern "C" __global__ void store(unsigned short* out) {{
      out[0] = hip_bfloat16(__uint_as_float(0x7f800001)).data;
      out[1] = hip_bfloat16(__uint_as_float(0xff80ffff), hip_bfloat16::truncate).data;
      out[2] = hip_bfloat16(__uint_as_float(0x7fffffff)).data;
      out[3] = hip_bfloat16(__uint_as_float(0x7fc00000)).data;
    }}"""
    out = torch.zeros(4, dtype=torch.int16)
    wave_runtime.compile(source)["store"](out.view(torch.uint16), grid=1, block=1)
    assert [word & 0xFFFF for word in out.tolist()] == [0x7F81, 0xFF81, 0x7FFF, 0x7FC0]


def test_both_bfloat16s_together() -> None:
    """Each is made of the other by way of a float; neither is the other."""
    source = f"""{INCLUDE}
    extern "C" __global__ void store(const __hip_bfloat16* a, hip_bfloat16* out) {{
      static_assert(!__is_same(hip_bfloat16, __hip_bfloat16));
      out[threadIdx.x] = a[threadIdx.x];
      const __hip_bfloat16 back(out[threadIdx.x]);
      out[threadIdx.x] = back + 1.0f;
    }}"""
    a, out = torch.randn(64).bfloat16(), torch.zeros(64, dtype=torch.bfloat16)
    wave_runtime.compile(source)["store"](a, out, grid=1, block=64)
    assert torch.equal(out, a + 1)
