"""The headers that stand in for HIP's: each function on the emulator beside torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")


def map_over(body: str, *tensors: Tensor, out: Tensor, head: str = "", threads: int = 64) -> Tensor:
    """Run a body for each i, with the tensors as a, b, ... and out."""
    types = {torch.float32: "float", torch.float64: "double", torch.int32: "int", torch.int64: "long"}
    types |= {torch.float16: "__half", torch.bfloat16: "__hip_bfloat16"}
    named = [*zip("abcd", tensors, strict=False), ("out", out)]
    parameters = ", ".join(f"{types[tensor.dtype]}* {name}" for name, tensor in named)
    module = wave_runtime.compile(
        f"{head}\n__global__ void map({parameters}, int n) {{\n"
        f"  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {{ {body} }}\n}}"
    )
    size = max(tensor.numel() for tensor in tensors)
    module["map"](*tensors, out, size, grid=-(-size // threads), block=threads)
    return out


def test_indices() -> None:
    out = torch.zeros(4, 3, 2, 5, dtype=torch.int32)
    kernel = wave_runtime.compile("""
    __global__ void place(int* out) {
      const dim3 block = blockDim;
      const int row = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      out[row * block.x + threadIdx.x] = 1000 * blockIdx.z + 100 * blockIdx.y + 10 * blockIdx.x + threadIdx.x;
    }""")["place"]
    kernel(out, grid=(2, 3, 4), block=5)
    z, y, x, thread = (torch.arange(n) for n in out.shape)
    expected = 1000 * z[:, None, None, None] + 100 * y[:, None, None] + 10 * x[:, None] + thread
    assert torch.equal(out.long(), expected)


def test_shuffles() -> None:
    x, lane = torch.randn(128, dtype=torch.float64), torch.arange(128)
    group, own = lane & ~15, lane & 15
    expected = {
        "__shfl(a[i], 5)": (lane & ~63) + 5,
        "__shfl(a[i], i + 1, 16)": group + (own + 1) % 16,
        "__shfl_up(a[i], 3, 16)": torch.where(own >= 3, lane - 3, lane),
        "__shfl_down(a[i], 3, 16)": torch.where(own < 13, lane + 3, lane),
        "__shfl_xor(a[i], 9)": lane ^ 9,
        "__shfl_xor_sync(~0ull, a[i], 4, 16)": lane ^ 4,
    }
    stores = "".join(f"out[{128 * k} + i] = {call};" for k, call in enumerate(expected))
    found = map_over(stores, x, out=torch.empty(len(expected), 128, dtype=x.dtype), threads=128)
    for (call, source), out in zip(expected.items(), found, strict=True):
        assert torch.equal(out, x[source]), call


@pytest.mark.parametrize(("options", "lanes"), [([], 32), (["-mwavefrontsize64"], 64)])
def test_a_wave_has_as_many_lanes_as_the_compiler_gave_it(options: list[str], lanes: int) -> None:
    """Beyond the wave's ends a shuffle gives the lane's own value. No macro of clang 22 tells where they are."""
    source = """
    __global__ void shift(const int* a, int* down, int* up, int* size) {
      const int i = threadIdx.x;
      down[i] = __shfl_down(a[i], 1);
      up[i] = __shfl_up(a[i], 1);
      size[i] = warpSize;
    }"""
    a, i = torch.randint(1000, (128,), dtype=torch.int32), torch.arange(128)
    down, up, size = (torch.empty_like(a) for _ in range(3))
    kernel = wave_runtime.compile(source, target="gfx1100", options=options)["shift"]
    kernel(a, down, up, size, grid=1, block=128)
    assert (size == lanes).all()
    assert torch.equal(down, a[torch.where(i % lanes == lanes - 1, i, i + 1).clamp(max=127)])
    assert torch.equal(up, a[torch.where(i % lanes == 0, i, i - 1)])


LEADERS = [
    ("int", "__shfl(first, leader)"),
    ("long", "__shfl_sync(~0ull, first, leader)"),
    ("double", "__shfl_xor(first, lane ^ leader)"),
    ("long2", "__shfl(first, leader).x"),
    ("int", "__shfl_up(first, lane - leader)"),
    ("int", "group.shfl(first, 0)"),
    ("long", "group.shfl_up(first, group.thread_rank())"),
    ("int", "cg::tiled_partition<warpSize>(cg::this_thread_block()).shfl_xor(first, lane ^ leader)"),
]


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_a_leader_gives_what_only_it_has_set(target: str) -> None:
    """Filters in public code count so: one atomic for the lanes that are active. The variable has no value at first."""
    kernels = "".join(
        f"""
    __global__ void keep_positive{number}(const int* a, int* kept, int* count, int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n || a[i] <= 0) return;
      const unsigned long long active = __ballot(1);
      const int leader = __ffsll(active) - 1, lane = __lane_id();
      const auto group = cg::coalesced_threads();
      {value} first;
      if (lane == leader) first = {value}(atomicAdd(count, __popcll(active)));
      kept[static_cast<int>({taken}) + __popcll(active & __lanemask_lt())] = a[i];
    }}"""
        for number, (value, taken) in enumerate(LEADERS)
    )
    head = "#include <hip/hip_cooperative_groups.h>\nnamespace cg = cooperative_groups;"
    module = wave_runtime.compile(head + kernels, target=target)
    a = torch.randint(-9, 10, (1000,), dtype=torch.int32)
    expected = a[a > 0]
    for number, leader in enumerate(LEADERS):
        kept, count = torch.zeros_like(a), torch.zeros(1, dtype=torch.int32)
        module[f"keep_positive{number}"](a, kept, count, a.numel(), grid=8, block=128)
        assert count.item() == expected.numel(), leader
        assert torch.equal(kept[: expected.numel()].sort().values, expected.sort().values), leader


def test_ballots() -> None:
    x = torch.randint(2, (64,), dtype=torch.int32)
    out = map_over(
        "out[i] = i == 0 ? __ballot(a[i]) : i == 1 ? __any(a[i]) + 2 * __all(a[i]) : __popcll(__activemask());",
        x,
        out=torch.empty(64, dtype=torch.int64),
    )
    # Each branch sees the lanes that are in it.
    assert out[0] == x[0]
    assert out[1] == 3 * x[1]
    assert out[2:].tolist() == [62] * 62


def test_a_block_works_together() -> None:
    """A sum through dynamic shared memory, a barrier, and an atomic addition."""
    source = """
    __global__ __launch_bounds__(256, 4) void sum(const float* x, float* total, unsigned* ticket, int n) {
      extern __shared__ float part[];
      const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
      part[threadIdx.x] = i < n ? x[i] : 0;
      for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      }
      if (threadIdx.x == 0) {
        atomicAdd(total, part[0]);
        __threadfence();
        atomicInc(ticket, gridDim.x - 2);
      }
    }"""
    x = torch.randint(10, (1000,)).float()
    total, ticket = torch.zeros(1), torch.zeros(1, dtype=torch.int32)
    wave_runtime.compile(source)["sum"](
        x, total, ticket.view(torch.uint32), 1000, grid=4, block=256, shared_memory=1024
    )
    assert total.item() == x.sum().item()
    assert ticket.item() == 1  # 1, 2, 0, 1


def test_atomics() -> None:
    """Each by 64 work-items, on a number of its own, which is 5 before."""
    expected = {
        "atomicAdd(at, 3)": 5 + 64 * 3,
        "atomicSub(at, 1)": 5 - 64,
        "atomicMax(at, i)": 63,
        "atomicMin(at, i - 9)": -9,
        "atomicAnd(at, i | 4)": 4,
        "atomicOr(at, i)": 63,
        "atomicXor(at, 1 << (i & 3))": 5,
        "atomicExch(at, 8)": 8,
        "atomicCAS(at, 5, 77)": 77,
    }
    calls = "".join(f"{{ int* at = out + {k}; {call}; }}" for k, call in enumerate(expected))
    out = torch.full((len(expected),), 5, dtype=torch.int32)
    map_over(calls, torch.zeros(64, dtype=torch.int32), out=out)
    assert dict(zip(expected, out.tolist(), strict=True)) == expected


def test_bits() -> None:
    x = torch.tensor([0, 1, -1, 0x12345678, -(1 << 31)], dtype=torch.int32)
    out = map_over(
        "int* o = out + 4 * i; o[0] = __clz(a[i]); o[1] = __popc(a[i]); o[2] = __ffs(a[i]); o[3] = __brev(a[i]);",
        x,
        out=torch.zeros(20, dtype=torch.int32),
    )
    expected = []
    for value in (int(item) & 0xFFFFFFFF for item in x):
        text = f"{value:032b}"
        first = text[::-1].find("1") + 1
        reverse = int(text[::-1], 2)
        expected += [32 - value.bit_length(), text.count("1"), first, reverse - (reverse >> 31 << 32)]
    assert out.tolist() == expected


def test_half_precision() -> None:
    a, b = torch.randn(64).half(), torch.randn(64).half()
    head = "#include <hip/hip_fp16.h>"
    expected = {
        "__hadd(a[i], b[i])": a + b,
        "a[i] * b[i]": a * b,
        "__hfma(a[i], b[i], a[i])": (a.double() * b.double() + a.double()).half(),
        "__float2half(__half2float(a[i]) + 1)": (a.float() + 1).half(),
        "__hadd2(__halves2half2(a[i], b[i]), __half2half2(b[i])).y": b + b,
        "__hmax(a[i], b[i])": torch.maximum(a, b),
    }
    stores = "".join(f"out[{64 * k} + i] = {call};" for k, call in enumerate(expected))
    found = map_over(stores, a, b, out=torch.empty(len(expected), 64).half(), head=head)
    for (call, wanted), out in zip(expected.items(), found, strict=True):
        assert torch.equal(out, wanted), call


def test_bfloat16() -> None:
    a, b = torch.randn(64).bfloat16(), torch.randn(64)
    head = "#include <hip/hip_bf16.h>"
    out = map_over("out[i] = a[i] * 2.0f + b[i];", a, b, out=torch.empty(64).bfloat16(), head=head)
    assert torch.equal(out, (a.float() * 2 + b).bfloat16())
    special = torch.tensor([float("inf"), float("nan"), 3.4e38, 1e-40, -0.0])
    out = map_over("out[i] = a[i];", special, out=torch.empty(5).bfloat16(), head=head)
    torch.testing.assert_close(out, special.bfloat16(), equal_nan=True, rtol=0, atol=0)


def test_vectors() -> None:
    a, out = torch.randn(16, 4), torch.empty(16, 4)
    kernel = wave_runtime.compile("""
    __global__ void k(const float4* a, float4* out) {
      float4 v = 2.0f * a[threadIdx.x] - make_float4(1, 2, 3, 4);
      float& first = v.x;
      first += 10;
      v *= v;
      out[threadIdx.x] = v == v ? v / 2.0f : float4{};
      static_assert(sizeof(float3) == 12 && alignof(float4) == 16 && sizeof(uchar2) == 2, "");
    }""")["k"]
    kernel(a, out, grid=1, block=16)
    expected = 2 * a - torch.tensor([1.0, 2.0, 3.0, 4.0])
    expected[:, 0] += 10
    torch.testing.assert_close(out, expected * expected / 2, rtol=1e-6, atol=0)


def test_vectors_of_integers() -> None:
    a, out = torch.randint(1, 1000, (16, 4), dtype=torch.int32), torch.empty(16, 8, dtype=torch.int32)
    kernel = wave_runtime.compile("""
    __global__ void k(const int4* a, int4* out) {
      int4 v = a[threadIdx.x];
      out[2 * threadIdx.x] = (v << 3 | 5) % 7 + (v & ~v) - (-v ^ v >> 1);
      const int4 before = v++;
      ++v, --v, v %= 100;
      const int4 twice = v--;
      out[2 * threadIdx.x + 1] = twice * before + v;
    }""")["k"]
    kernel(a, out, grid=1, block=16)
    first = (a << 3 | 5) % 7 - (-a ^ a >> 1)
    rest = (a + 1) % 100
    assert torch.equal(out.view(16, 2, 4)[:, 0], first)
    assert torch.equal(out.view(16, 2, 4)[:, 1], rest * a + rest - 1)


def test_assertions_are_faults() -> None:
    source = "#include <assert.h>\n__global__ void k(int* p, int n) { assert(n > 3); *p = n; }"
    kernel, out = wave_runtime.compile(source)["k"], torch.zeros(1, dtype=torch.int32)
    kernel(out, 4, grid=1, block=1)
    assert out.item() == 4
    with pytest.raises(wave_runtime.KernelFault, match="Device-side assertion `n > 3' failed"):
        kernel(out, 3, grid=1, block=1)


@pytest.mark.parametrize("include", ["", "#include <hip/hip_runtime.h>", "#include <cassert>"])
def test_assertions_need_no_include(include: str) -> None:
    source = f"{include}\n__global__ void k(int* p, int n) {{ assert(n > 3); *p = n; }}"
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(wave_runtime.KernelFault, match="Device-side assertion `n > 3' failed"):
        wave_runtime.compile(source)["k"](out, 3, grid=1, block=1)
    off = wave_runtime.compile(source, defines={"NDEBUG": None})["k"]
    off(out, 3, grid=1, block=1)
    assert out.item() == 3
    off = wave_runtime.compile(f"#define NDEBUG\n#include <assert.h>\n{source}")["k"]
    out.zero_()
    off(out, 3, grid=1, block=1)
    assert out.item() == 3


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030", "gfx1100", "gfx1201"])
def test_headers_are_for_other_processors(target: str) -> None:
    """They compile for waves of 32, too; nothing here runs them."""
    source = """
    #include <hip/hip_fp16.h>
    #include <hip/hip_bf16.h>
    __global__ void k(float* p) { *p = __shfl_xor(*p, 1) + __ballot(*p > 0) + sinf(*p) + warpSize; __syncthreads(); }
    """
    assert wave_runtime.compile(source, target=target).target == target


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("version", [4, 5, 6])
def test_sizes_of_the_grid_in_each_version_of_code_objects(version: int, target: str) -> None:
    source = "__global__ void sizes(int* out) { out[0] = gridDim.x * 10000 + gridDim.y * 100 + blockDim.x; }"
    kernel = wave_runtime.compile(source, target=target, options=[f"-mcode-object-version={version}"])["sizes"]
    out = torch.zeros(1, dtype=torch.int32)
    kernel(out, grid=(3, 2), block=48)
    assert out.item() == 30248
