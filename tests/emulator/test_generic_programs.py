"""Programs compiled for a generic processor of GFX9 run on CPU tensors, whatever the emulated device is."""

from __future__ import annotations

import pytest
import torch
from support import ROOT, bundle

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")
TARGETS = ("gfx9-generic", "gfx9-4-generic")

KERNELS = r"""
// A number of each work-item, from its ids in three dimensions, by way of an array of its own and of LDS.
extern "C" __global__ void number(int* to, const int* order, int count) {
  __shared__ int kept[256];
  int mine[16];
  for (int i = 0; i < count; ++i) mine[order[i]] = i;
  const int item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  kept[item] = 10000 * threadIdx.z + 100 * threadIdx.y + threadIdx.x;
  __syncthreads();
  const int items = blockDim.x * blockDim.y * blockDim.z;
  to[item] = kept[items - 1 - item] + mine[threadIdx.x % count];
}

// One dimension alone: the ids of the others may lie anywhere.
extern "C" __global__ void scale(const float* from, double* to, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = double(from[i] * factor + 1.0f) / 3.0;
}
"""


@pytest.fixture(scope="module", params=TARGETS)
def kernels(request: pytest.FixtureRequest) -> wave_runtime.Module:
    module = wave_runtime.compile(KERNELS, target=request.param, language="hip")
    assert module.targets == (request.param,)
    return module


@pytest.mark.parametrize("block", [(64, 1, 1), (8, 4, 2), (5, 3, 7)])
def test_ids_in_three_dimensions(kernels: wave_runtime.Module, block: tuple[int, int, int]) -> None:
    items, count = block[0] * block[1] * block[2], 5
    found, order = torch.zeros(items, dtype=torch.int32), torch.randperm(count, dtype=torch.int32)
    kernels["number"](found, order, count, grid=1, block=block)
    z, y, x = (axis.flatten() for axis in torch.meshgrid(*(torch.arange(n) for n in block[::-1]), indexing="ij"))
    assert torch.equal(found.long(), (10000 * z + 100 * y + x).flip(0) + order.argsort()[x % count])


def test_arithmetic(kernels: wave_runtime.Module) -> None:
    values, found = torch.randn(1000), torch.zeros(1000, dtype=torch.float64)
    kernels["scale"](values, found, 3.0, grid=10, block=100)
    torch.testing.assert_close(found, (values * 3.0 + 1.0).double() / 3)


def test_the_example_kernels(kernels: wave_runtime.Module) -> None:
    module = wave_runtime.compile(ROOT / "examples/kernels/sources/basics.hip", target=kernels.targets[0])
    x, y, z = torch.randn(64, 64), torch.randn(64, 64), torch.zeros(64, 64)
    module["matmul_tiled"](x, y, z, 64, grid=(4, 4), block=(16, 16))
    torch.testing.assert_close(z, x @ y, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("device", ["gfx90a", "gfx942", "gfx950", "gfx1100"])
def test_what_is_selected_runs_on_any_device(kernels: wave_runtime.Module, device: str) -> None:
    """Also out of a bundle, beside a build for a processor that is not emulated."""
    (target,) = kernels.targets
    image = kernels.images[target]
    module = wave_runtime.load(bundle((target, image), ("gfx908", image)), signature={"scale": "*f32 const, *f64, f32"})
    values, found = torch.randn(64), torch.zeros(64, dtype=torch.float64)
    with wave_runtime.emulate(device):
        module["scale"](values, found, 2.0, grid=1, block=64)
    torch.testing.assert_close(found, (values * 2.0 + 1.0).double() / 3)


@pytest.mark.parametrize("target", [*TARGETS, "gfx10-3-generic", "gfx11-generic", "gfx12-generic"])
def test_all_tools_look_into_generic_code(target: str) -> None:
    source = """extern "C" __global__ void exchange(const float* from, float* to) {
      __shared__ float kept[64];
      kept[threadIdx.x] = from[threadIdx.x];
      __syncthreads();
      float sum, other = kept[63 - threadIdx.x];
      asm("v_add_f32_dpp %0, %1, %1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf" : "=v"(sum) : "v"(other));
      to[threadIdx.x] = sum * 0.0f / 0.0f;
    }"""
    module = wave_runtime.compile(source, target=target, language="hip")
    found = torch.zeros(64)
    with wave_runtime.sanitize() as report, wave_runtime.profile() as profile:
        module["exchange"](torch.randn(64), found, grid=1, block=64)
    assert found.isnan().all()
    assert {(finding.tool, finding.kind) for finding in report.findings} == {("numbers", "nan")}
    assert profile.kernels[0].instructions


@pytest.mark.parametrize(
    ("form", "modifiers"),
    [("e32", ""), ("e64", ""), ("dpp", "quad_perm:[0,1,2,3]"), ("sdwa", "dst_sel:DWORD src0_sel:DWORD src1_sel:DWORD")],
)
def test_a_product_that_gfx9_has_in_another_place(form: str, modifiers: str) -> None:
    """V_MUL_LEGACY_F32, by which zero times anything is zero, has an opcode that gfx90a gives to V_FMAC_F64."""
    source = """extern "C" __global__ void multiply(const float* a, const float* b, float* c) {
      float product;
      asm("INSTRUCTION" : "=v"(product) : "v"(a[threadIdx.x]), "v"(b[threadIdx.x]));
      c[threadIdx.x] = product;
    }""".replace("INSTRUCTION", f"v_mul_legacy_f32_{form} %0, %1, %2 {modifiers}")
    module = wave_runtime.compile(source, target="gfx9-generic", language="hip")
    assert f"v_mul_legacy_f32_{form}" in module["multiply"].asm["gfx9-generic"]
    a, b, c = torch.randn(64), torch.randn(64), torch.zeros(64)
    a[:2], b[0], b[1] = 0, float("inf"), float("nan")
    module["multiply"](a, b, c, grid=1, block=64)
    assert torch.equal(c, torch.where(a == 0, 0, a * b))


@pytest.mark.parametrize(
    ("processor", "generic"),
    [
        ("gfx904", "gfx9-generic"),
        ("gfx90c", "gfx9-generic"),
        ("gfx1010", None),
        ("gfx1250", None),
    ],
)
def test_a_generic_processor_is_advised(processor: str, generic: str | None) -> None:
    """Where the emulator runs its code."""
    source = 'extern "C" __attribute__((global)) void nothing() {}'
    options = ["-nogpulib", "-nogpuinc"]
    kernel = wave_runtime.compile(source, target=processor, language="hip", options=options)["nothing"]
    with pytest.raises(ValueError, match=f"kernel 'nothing' was built for {processor}, and the emulator") as caught:
        kernel(grid=1, block=64, device="cpu")
    ending = "build the kernel for gfx942" + (f", or for {generic}, which {processor} runs, too" if generic else "")
    assert str(caught.value).endswith(ending)


def test_older_processors_are_refused_by_name() -> None:
    for processor in ("gfx900", "gfx906", "gfx908"):
        kernel = wave_runtime.compile(KERNELS, target=processor, language="hip")["scale"]
        with pytest.raises(ValueError, match=f"kernel 'scale' was built for {processor}, and the emulator") as caught:
            kernel(torch.zeros(64), torch.zeros(64, dtype=torch.float64), 1.0, grid=1, block=64)
        assert (f"or for gfx9-generic, which {processor} runs, too" in str(caught.value)) == (processor != "gfx908")
