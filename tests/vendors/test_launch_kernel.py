"""The contract of the launcher that this one takes the place of, line by line, and what is to be better than there.

There a launcher writes a program with the buffers' contents in files, compiles it and runs it, for each launch.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime.compat import vendors
from wave_runtime.compat.vendors import _sycl, launch_kernel

SEVERAL = """
extern "C" __global__ void several(int* a, const short* b, long* c, unsigned* d) {
  const int i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    a[i] += b[i];
    c[i] = 1l << i;
    d[i] = blockDim.x * 100 + blockDim.y * 10 + blockDim.z;
  }
}
"""


def test_buffers_come_first_then_scalars(scale: vendors.PortableKernel) -> None:
    a, b = torch.randn(1000), torch.zeros(1000)
    launch_kernel(scale, [a, b], [3.0, 1000], (4, 1, 1), (256, 1, 1))
    assert torch.equal(b, 3 * a)
    with pytest.raises(TypeError, match=r"kernel 'scale' takes 4 arguments .*, given 3"):
        launch_kernel(scale, [a, b], [3.0], (4, 1, 1), (256, 1, 1))
    with pytest.raises(TypeError, match="launch_kernel: buffers must be a list, given Tensor"):
        launch_kernel(scale, a, [3.0], 4, 256)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="launch_kernel: scalars must be a list, given float"):
        launch_kernel(scale, [a, b], 3.0, 4, 256)  # type: ignore[arg-type]


@pytest.mark.usefixtures("compiler")
def test_the_grid_counts_workgroups_and_all_buffers_are_updated() -> None:
    """Of any element type, with no scalar; three dimensions; it waits, so that the results are there."""
    kernel = vendors.kernel("several", amd=SEVERAL)
    a = torch.arange(24, dtype=torch.int32)
    b, c = torch.full((24,), 100, dtype=torch.int16), torch.zeros(24, dtype=torch.int64)
    d = torch.zeros(24, dtype=torch.uint32)
    launch_kernel(kernel, [a, b, c, d], [], (2, 3, 4), (4, 2, 8), vendor="emulator")
    assert a.tolist() == [100 + i for i in range(24)]
    assert c.tolist() == [1 << i for i in range(24)]
    assert d.tolist() == [428] * 24


@pytest.mark.parametrize("form", ["text", "path", "bytes", "loaded"])
def test_source_and_binary(form: str, scale: vendors.PortableKernel, tmp_path: Path) -> None:
    """One argument for either; there text is for GPUs and a binary for the emulator, and both are always passed."""
    text = scale._recipes["amd"][""].source
    assert isinstance(text, str)
    binary = wave_runtime.compile(text).images["gfx942"]
    (tmp_path / "scale.hip").write_text(text)
    kernels: dict[str, vendors.PortableKernel | wave_runtime.Kernel] = {
        "text": vendors.kernel("scale", amd=text),
        "path": vendors.kernel("scale", amd=tmp_path / "scale.hip"),
        "bytes": vendors.kernel("scale", amd=binary, signature="*f32 const, *f32, f32, i32"),
        "loaded": wave_runtime.load(binary, signature="*f32 const, *f32, f32, i32")["scale"],
    }
    a, b = torch.randn(1000), torch.zeros(1000)
    for vendor in (None, "emulator"):
        launch_kernel(kernels[form], [a, b], [0.5, 1000], 4, 256, vendor)
        assert torch.equal(b, 0.5 * a)


def test_the_emulator_has_the_buffers_own_memory(scale: vendors.PortableKernel) -> None:
    """It is not limited to 4 GiB of them, nor to 255 registers; what is past an end is an error at once."""
    a, b = torch.randn(1000), torch.zeros(999)
    with pytest.raises(wave_runtime.KernelFault, match=r"out of bounds.*'b'|'b'.*out of bounds"):
        launch_kernel(scale, [a, b], [1.0, 1000], 4, 256)


def test_scalars_keep_their_types(scale: vendors.PortableKernel) -> None:
    """There all are u32."""
    a, b = torch.randn(10), torch.zeros(10)
    launch_kernel(scale, [a, b], [-0.25, 10], 1, 64)
    assert torch.equal(b, -0.25 * a)
    with pytest.raises(ValueError, match="an integer from -2147483648 to 2147483647, given 4294967296"):
        launch_kernel(scale, [a, b], [1.0, 1 << 32], 1, 64)
    with pytest.raises(TypeError, match="given one of dtype float64"):
        launch_kernel(scale, [a, b.double()], [1.0, 10], 1, 64)


def test_vendors_that_are_not_here(scale: vendors.PortableKernel) -> None:
    a, b = torch.randn(10), torch.zeros(10)
    absent = {
        "intel": torch.xpu.is_available() or _sycl.find_cpu() is not None,
        "apple": torch.backends.mps.is_available(),
        "nvidia": torch.cuda.is_available() and not torch.version.hip,
        "amd": torch.cuda.is_available() and bool(torch.version.hip),
    }
    for vendor in (name for name, is_here in absent.items() if not is_here):
        with pytest.raises(vendors.LaunchError, match=f"launch error: torch .* sees no device of {vendor}"):
            launch_kernel(scale, [a, b], [1.0, 10], 1, 64, vendor=vendor)
    with pytest.raises(ValueError, match="vendor='cpu': expected one of amd, nvidia, intel, apple, emulator"):
        launch_kernel(scale, [a, b], [1.0, 10], 1, 64, vendor="cpu")
    with pytest.raises(ValueError, match="without buffers, vendor= must say where to launch"):
        launch_kernel(scale, [], [], 1, 64)


def test_errors_of_compilers_and_launches(scale: vendors.PortableKernel) -> None:
    """With the launcher's words before the compiler's own, which there are lost, as a failed launch is."""
    broken = vendors.kernel("scale", amd="__global__ void scale() { undeclared(); }")
    a = torch.randn(10)
    text = "(?s)launch error: emulator compilation failed: .*use of undeclared identifier 'undeclared'"
    with pytest.raises(vendors.LaunchError, match=text):
        launch_kernel(broken, [a], [], 1, 64)
    needs_grad = torch.randn(10, requires_grad=True)
    with pytest.raises(vendors.LaunchError, match=r"launch error: emulator kernel execution failed: .*requires"):
        launch_kernel(scale, [needs_grad, torch.zeros(10)], [1.0, 10], 1, 64)


def test_nothing_is_compiled_twice(scale: vendors.PortableKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = torch.randn(10), torch.zeros(10)
    launch_kernel(scale, [a, b], [1.0, 10], 1, 64)
    monkeypatch.setattr("wave_runtime._builds.compile", lambda *_, **__: pytest.fail("compiled again"))
    launch_kernel(scale, [a, b], [2.0, 10], 1, 64)
    assert torch.equal(b, 2 * a)
