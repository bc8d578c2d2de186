"""One kernel object on an NVIDIA GPU and on the emulator, and launches that copy their buffers there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime.compat import vendors
from wave_runtime.compat.vendors import launch_kernel

pytestmark = [pytest.mark.gpu, pytest.mark.needs("cuda", "cuda-compiler")]

SCALE = """
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = factor * a[i];
}
"""
SIGNATURE = "a: *f32 const, b: *f32, factor: f32, n: i32"


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> vendors.PortableKernel:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "cache"))
    return vendors.kernel("scale", amd=SCALE, nvidia=SCALE, signature=SIGNATURE)


def devices(kernel: vendors.PortableKernel) -> list[str]:
    """Without clang there is no code for the CPU."""
    try:
        kernel.on("cpu")
    except wave_runtime.CompileError:
        return ["cuda"]
    return ["cuda", "cpu"]


def test_dispatch(scale: vendors.PortableKernel) -> None:
    operator = scale.as_operator("vendors_cuda_test::scale", block=256)

    def double(a: torch.Tensor) -> torch.Tensor:
        b = torch.empty_like(a)
        scale(a, b, 2.0, a.numel(), grid=4, block=256)
        return b

    for device in devices(scale):
        a = torch.randn(1000, device=device)
        b = torch.zeros_like(a)
        scale(a, b, 3.0, 1000, grid=4, block=256)
        assert torch.equal(b, 3 * a)
        operator(a, b, 5.0, 1000, 4)
        assert torch.equal(b, 5 * a)
        torch._dynamo.reset()
        assert torch.equal(torch.compile(double, fullgraph=True)(a), 2 * a)


def test_launch_kernel(scale: vendors.PortableKernel) -> None:
    """The buffers may lie anywhere."""
    for where in ("cpu", "cuda"):
        for vendor in ("nvidia", "emulator") if "cpu" in devices(scale) else ("nvidia",):
            a, b = torch.randn(1000, device=where), torch.zeros(1000, device=where)
            launch_kernel(scale, [a, b], [3.0, 1000], 4, 256, vendor=vendor)
            assert torch.equal(b, 3 * a)
    with pytest.raises(vendors.LaunchError, match="sees no device of amd"):
        launch_kernel(scale, [a, b], [3.0, 1000], 4, 256, vendor="amd")


def test_errors(scale: vendors.PortableKernel) -> None:
    a, b = torch.randn(10), torch.zeros(10)
    broken = vendors.kernel("scale", nvidia="__global__ void scale() { undeclared(); }")
    with pytest.raises(vendors.LaunchError, match=r"(?s)launch error: CUDA compilation failed: .*undeclared"):
        launch_kernel(broken, [a], [], 1, 64, vendor="nvidia")
    with pytest.raises(ValueError, match="has code for amd, and none for tensors on cuda"):
        launch_kernel(vendors.kernel("scale", amd=SCALE), [a, b], [1.0, 10], 1, 64, vendor="nvidia")


def test_by_target(scale: vendors.PortableKernel) -> None:
    own = "sm_{}{}".format(*torch.cuda.get_device_capability())
    kernel = vendors.kernel("scale", nvidia={"sm_20": "broken {", own: SCALE}, signature=SIGNATURE)
    a, b = torch.randn(10, device="cuda"), torch.zeros(10, device="cuda")
    kernel(a, b, 2.0, 10, grid=1, block=32)
    assert torch.equal(b, 2 * a)
