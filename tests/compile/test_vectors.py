"""float4 and its like: the layout of HIP's, on the host and in kernels, and what makes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from requirements import hip_headers

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

SIZES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8}
SIZES |= {"longlong": 8, "ulonglong": 8, "float": 4, "double": 8}


def layouts() -> str:
    """As assertions. A vector of three elements is aligned as one of them, others as all of them."""
    lines = []
    for name, size in SIZES.items():
        for count in (1, 2, 3, 4):
            alignment = size if count == 3 else count * size
            lines.append(f"static_assert(sizeof({name}{count}) == {count * size}, {name!r});".replace("'", '"'))
            lines.append(f"static_assert(alignof({name}{count}) == {alignment}, {name!r});".replace("'", '"'))
    return "\n".join([*lines, ""])


def test_layout() -> None:
    source = f"{layouts()}\nstruct S {{ char a; double4 b; char c; }};\nstatic_assert(sizeof(S) == 96);"
    wave_runtime.compile(f"{source}\n__global__ void none() {{}}")


def test_layout_of_amds(tmp_path: Path, clang: str) -> None:
    """What host code has, which includes AMD's header."""
    folder = hip_headers("hip/hip_vector_types.h")[0]
    path = tmp_path / "layouts.cpp"
    path.write_text(f"#include <hip/hip_vector_types.h>\n{layouts()}")
    command = [clang, "-x", "c++", "-std=c++17", "-D__HIP_PLATFORM_AMD__", f"-I{folder}", "-fsyntax-only", path]
    subprocess.run(command, check=True)


# Each is 1, and what makes it stands in AMD's header, too.
MADE = {
    "one": "float4{2.f} == make_float4(2, 2, 2, 2)",
    "one_in_parentheses": "float4(3.f) == make_float4(3, 3, 3, 3)",
    "one_cast": "static_cast<float3>(8) == make_float3(8, 8, 8) && double2{4} == make_double2(4, 4)",
    "one_of_one": "float1(5).x == 5",
    "of_another_type": "int2(7.9f) == make_int2(7, 7) && uchar4(1, 2.5, 3u, 4l) == make_uchar4(1, 2, 3, 4)",
    "all": "float4(1, 2, 3, 4) == float4{1, 2, 3, 4} && float3(1, 2, 3).z == 3 && ulonglong2(1, 2).y == 2",
    "none": "float4{} == float4(0) && int3() == int3(0)",
    "from_operators": "2 * float2(1, 2) - 1 == float2(1, 3) && int2(4) / 2 == 2 && 3 != int2(3, 4)",
    "data": "float4(1, 2, 3, 4).data[i % 4] == i % 4 + 1 && float3(5, 6, 7).data[2] == 7 && double1(4).data[0] == 4",
    "half2": "__half2(1, 2).y == (__half)2 && half2(__half2{3, 4}.data * __half2{2, 2}.data).x == (__half)6",
    "bfloat162": "__hip_bfloat162(1.0f, 2.0f).y == 2.0f && __hip_bfloat162{3.0f, 4.0f}.x == 3.0f",
    "initialized": "make().w == 4 && [] { float2 v = {1, 2}; return v.y; }() == 2",
    "in_a_structure": "kInner.v.y == 2 && kInner.of == 9",
    "constant": "kConstant == 7",
    "written": "write(float4(1, 2, 3, 4)) == float4(3, 4, 11, 6) && write(float3(1, 2, 3)).y == 4",
}
HEAD = """
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

struct Inner {
  float2 v;
  int of;
};
constexpr Inner kInner = {{1, 2}, 9};
constexpr float4 kVector = {1, 2, 3, 4};
constexpr float kConstant = kVector.z + float2(4.0f).y;
static_assert(kConstant == 7);
static_assert(__is_trivially_constructible(float4) && __is_trivially_copyable(float4) && __is_trivial(double3));

union Both {
  float4 vector;
  float numbers[4];
};

__device__ float4 make() { return {1, 2, 3, 4}; }

__device__ float4 write(float4 v) {
  v.data[0] = 3;
  v.data += 2.0f;
  auto& all = v.data;
  all[2] += 6;
  float4 other;
  other.data = v.data;
  other.data[0] -= 2;
  return other;
}
__device__ float3 write(float3 v) {
  v.data[1] *= 2;
  return v;
}
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_what_makes_a_vector(each_clang: str, target: str) -> None:
    stores = "\n".join(f"out[{k} * 64 + i] = {expression};" for k, expression in enumerate(MADE.values()))
    source = f"{HEAD}\n__global__ void make(int* out) {{ const int i = threadIdx.x;\n{stores} }}"
    options = ["-O1", "-Wall", "-Wextra", "-Werror"]
    out = torch.zeros(len(MADE), 64, dtype=torch.int32)
    wave_runtime.compile(source, target=target, options=options)["make"](out.view(-1), grid=1, block=64)
    assert [name for name, row in zip(MADE, out, strict=True) if not row.all()] == []


def test_vectors_in_shared_memory_and_unions() -> None:
    kernel = wave_runtime.compile(f"""{HEAD}
    __global__ void turn(const float4* a, float* out) {{
      __shared__ float4 rows[64];
      __shared__ Both last;
      rows[threadIdx.x] = a[threadIdx.x];
      if (threadIdx.x == 63) last.vector = a[63];
      __syncthreads();
      for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = rows[63 - threadIdx.x].data[i] + last.numbers[i];
    }}""")["turn"]
    a, out = torch.randn(64, 4), torch.empty(64, 4)
    kernel(a, out, grid=1, block=64)
    assert torch.equal(out, a.flip(0) + a[63])


@pytest.mark.parametrize("line", ["float4 v = 1.0f;", "float4 v = {1.0f};", "float4 v{1, 2};", "float4 v(float2(1));"])
def test_what_makes_none(line: str) -> None:
    """In HIP either."""
    with pytest.raises(wave_runtime.CompileError, match=r"no viable conversion|explicit|no matching constructor"):
        wave_runtime.compile(f"__global__ void k() {{ {line} }}")
