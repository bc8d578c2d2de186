"""Programs in HIP, compiled for gfx950, give what torch gives; under the checks they raise no alarm."""

from __future__ import annotations

import pytest
import torch
from support import ROOT

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

KERNELS = r"""
typedef int int8v __attribute__((ext_vector_type(8)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef _Float16 half8v __attribute__((ext_vector_type(8)));

// C = A * B^T in blocks of 16 x 16, a wave each.
extern "C" __global__ void gemm_f16(const half8v* a, const half8v* b, float* c, int n, int k) {
  const int lane = threadIdx.x, row = 16 * blockIdx.y + lane % 16, column = 16 * blockIdx.x + lane % 16;
  float4v sum = {};
  for (int at = 0; at < k; at += 32) {
    const int place = (at + lane / 16 * 8) / 8;
    sum = __builtin_amdgcn_mfma_f32_16x16x32_f16(a[row * (k / 8) + place], b[column * (k / 8) + place], sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(16 * blockIdx.y + lane / 16 * 4 + i) * n + column] = sum[i];
}

// The same of FP4 with scales of 32.
extern "C" __global__ void gemm_mxfp4(const int4* a, const int4* b, const unsigned char* a_scales,
                                      const unsigned char* b_scales, float* c, int n, int k) {
  const int lane = threadIdx.x, row = 16 * blockIdx.y + lane % 16, column = 16 * blockIdx.x + lane % 16;
  float4v sum = {};
  for (int at = 0; at < k; at += 128) {
    const int block = at / 32 + lane / 16;
    const int4 x = a[row * (k / 32) + block], y = b[column * (k / 32) + block];
    const int8v first = {x.x, x.y, x.z, x.w}, second = {y.x, y.y, y.z, y.w};
    const int x_scale = a_scales[row * (k / 32) + block], y_scale = b_scales[column * (k / 32) + block];
    sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(first, second, sum, 4, 4, 0, x_scale, 0, y_scale);
  }
  for (int i = 0; i < 4; ++i) c[(16 * blockIdx.y + lane / 16 * 4 + i) * n + column] = sum[i];
}

// All 160 KiB of LDS.
extern "C" __global__ void reverse(const int* from, int* to, int count) {
  extern __shared__ int kept[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) kept[i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = kept[count - 1 - i];
}
"""


@pytest.fixture(scope="module")
def kernels() -> wave_runtime.Module:
    return wave_runtime.compile(KERNELS, target="gfx950", language="hip")


@pytest.fixture(params=["", "hazards,races"])
def checked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setenv("WAVE_RUNTIME_CHECK", request.param)


@pytest.mark.usefixtures("checked")
def test_a_product_of_f16(kernels: wave_runtime.Module) -> None:
    m, n, k = 32, 48, 96
    a, b, c = torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n)
    kernels["gemm_f16"](a, b, c, n, k, grid=(n // 16, m // 16), block=64)
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-4)


@pytest.mark.usefixtures("checked")
def test_a_product_of_fp4_with_scales(kernels: wave_runtime.Module) -> None:
    m, n, k = 32, 16, 256
    numbers = torch.tensor([0.0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = torch.cat([numbers, -numbers]).double()

    def factor(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Packed codes, scales, and the matrix."""
        codes, scales = torch.randint(16, (rows, k)), torch.randint(120, 135, (rows, k // 32))
        matrix = values[codes] * 2.0 ** (scales.double() - 127).repeat_interleave(32, 1)
        return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), scales.to(torch.uint8), matrix

    (a, a_scales, x), (b, b_scales, y) = factor(m), factor(n)
    c = torch.zeros(m, n)
    kernels["gemm_mxfp4"](
        a.view(torch.int32), b.view(torch.int32), a_scales, b_scales, c, n, k, grid=(n // 16, m // 16), block=64
    )
    assert bool(((c.double() - x @ y.T).abs() <= k * 2**-24 * (x.abs() @ y.abs().T)).all())


def test_all_of_lds(kernels: wave_runtime.Module) -> None:
    """Whatever the emulated device is called: a launch has the limits of the processor that its code is for."""
    assert wave_runtime._C.describe_driver("emulator")["devices"][0]["target"] == "gfx942"
    count = 160 * 1024 // 4
    numbers, found = torch.arange(count, dtype=torch.int32), torch.zeros(count, dtype=torch.int32)
    kernels["reverse"](numbers, found, count, grid=1, block=1024, shared_memory=4 * count)
    assert torch.equal(found, numbers.flip(0))
    with pytest.raises(ValueError, match="4 are more than the 163840 bytes that gfx950 has"):
        kernels["reverse"](numbers, found, count, grid=1, block=1024, shared_memory=4 * count + 4)


def test_occupancy_counts_lds_in_units_of_1280_bytes(kernels: wave_runtime.Module) -> None:
    """Of 128 units a workgroup with one byte more than 12 takes 13, so nine fit; with 12 there would be ten."""
    assert kernels["reverse"].occupancy(block=64, shared_memory=12 * 1280) == 10
    assert kernels["reverse"].occupancy(block=64, shared_memory=12 * 1280 + 4) == 9


@pytest.mark.usefixtures("checked")
def test_the_example_kernels() -> None:
    module = wave_runtime.compile(ROOT / "examples/kernels/sources/basics.hip", target="gfx950")
    a, b, c = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    module["vector_add"](a, b, c, 1000, grid=4, block=256)
    assert torch.equal(c, a + b)
    x, y, z = torch.randn(64, 64), torch.randn(64, 64), torch.zeros(64, 64)
    module["matmul_tiled"](x, y, z, 64, grid=(4, 4), block=(16, 16))
    torch.testing.assert_close(z, x @ y, rtol=1e-5, atol=1e-4)


def test_an_instruction_that_gfx950_lacks_is_refused_by_name() -> None:
    """XF32: LLVM knows the words for gfx942 only."""
    assert not any("xf32" in row["mnemonic"] for row in wave_runtime._C.isa_rows("gfx950"))
    xf32 = (0xD3BE0000).to_bytes(4, "little") + (0x04020000).to_bytes(4, "little")
    assert wave_runtime._C.unsupported("gfx950", xf32) == "not an instruction of gfx950"
