"""Intel's path: SYCL, compiled by the runtime that PyPI has, on Intel's device for CPUs. Of GPUs none was tried."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT

import wave_runtime
from wave_runtime._dtypes import COMMON
from wave_runtime.compat import vendors
from wave_runtime.compat.vendors import _intel, _sycl

SCALE = re.findall(r"```\n(void scale\(sycl.*?)```", (ROOT / "docs/vendors.md").read_text(), re.DOTALL)[0]
SIGNATURE = "a: *f32 const, b: *f32, factor: f32, n: i32"
PLACE = """
#include "factor.h"
void place(sycl::nd_item<3> item, std::int64_t* out) {
  const auto i = item.get_global_id(2) + 8 * (item.get_global_id(1) + 6 * item.get_global_id(0));
  out[i] = FACTOR * (item.get_local_id(0) * 100 + item.get_local_id(1) * 10 + item.get_local_id(2));
}
"""


@pytest.fixture
def not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has used no SYCL yet."""
    monkeypatch.setattr(_sycl, "runtime", functools.cache(_sycl.runtime.__wrapped__))


@pytest.fixture(scope="module")
def folder_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def kept(cache: Path, folder_of_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test has compiled serves the others: each program takes two seconds."""
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(folder_of_all))


@pytest.mark.needs("sycl")
@pytest.mark.usefixtures("kept")
def test_cpu_tensors_are_used_in_place() -> None:
    kernel = vendors.kernel("scale", intel=SCALE, signature=SIGNATURE)
    a, b = torch.randn(1000), torch.zeros(1000)
    address, version = b.data_ptr(), b._version
    kernel(a, b[:999], 2.0, 999, grid=4, block=256)
    assert torch.equal(b[:999], 2 * a[:999])
    assert b[999] == 0
    assert (b.data_ptr(), b._version) == (address, version + 1)


@pytest.mark.needs("sycl")
@pytest.mark.usefixtures("kept")
def test_lazy_negatives_are_refused() -> None:
    """Their memory holds other values."""
    kernel = vendors.kernel("scale", intel=SCALE, signature=SIGNATURE)
    a, b = torch.ones(100), torch.zeros(100)
    for pair in ((torch._neg_view(a), b), (a, torch._neg_view(b))):
        with pytest.raises(ValueError, match=r"lazy negative whose storage holds other values: call .resolve_neg\(\)"):
            kernel(*pair, 2.0, 100, grid=1, block=128)
    assert not b.any()


@pytest.mark.needs("sycl")
def test_types() -> None:
    """Of tensors, and of numbers where one can be passed: all in one kernel, since each compilation takes seconds."""
    numbers = [type for type in COMMON if type not in ("f16", "bf16")]
    tensors = [torch.tensor([0, 1, 0, 1]).to(dtype) for dtype in COMMON.values()]
    names = _intel._C_TYPES
    parameters = [f"{names[type]}* t_{type}" for type in COMMON] + [f"{names[type]} n_{type}" for type in numbers]
    body = "".join(f"t_{type}[i] = t_{type}[i] != {f'n_{type}' if type in numbers else '1.0f'};\n" for type in COMMON)
    source = f"""void k(sycl::nd_item<3> item, {", ".join(parameters)}) {{
      const auto i = item.get_global_id(2);
      {body} }}"""
    kernel = vendors.kernel("k", intel=source, signature=", ".join([f"*{type}" for type in COMMON] + numbers))
    kernel(*tensors, *[1] * len(numbers), grid=1, block=4)
    assert {type: t.tolist() for type, t in zip(COMMON, tensors, strict=True)} == {
        type: [1, 0, 1, 0] for type in COMMON
    }


@pytest.mark.needs("sycl")
def test_three_dimensions_and_a_file_that_has_changed(tmp_path: Path) -> None:
    """x is the fastest; headers beside the source are found."""
    (tmp_path / "factor.h").write_text("#define FACTOR 1\n")
    (tmp_path / "place.cpp").write_text(PLACE)
    kernel = vendors.kernel("place", intel=tmp_path / "place.cpp", signature="*i64")
    out = torch.zeros(8, 6, 8, dtype=torch.int64)
    z, y, x = torch.meshgrid(*map(torch.arange, out.shape), indexing="ij")
    expected = z % 2 * 100 + y % 3 * 10 + x % 4
    kernel(out, grid=(2, 2, 4), block=(4, 3, 2))
    assert torch.equal(out, expected)
    (tmp_path / "place.cpp").write_text(PLACE.replace("FACTOR *", "2 * FACTOR *"))
    kernel(out, grid=(2, 2, 4), block=(4, 3, 2))
    assert torch.equal(out, 2 * expected)


@pytest.mark.needs("sycl")
def test_work_items_of_a_group_work_together() -> None:
    """Local memory, barriers, reductions and atomics."""
    source = """
        namespace experimental = sycl::ext::oneapi::experimental;
        experimental::work_group_static<float[256]> tile;
        void sums(sycl::nd_item<3> item, const float* a, float* by_tile, float* by_group, float* by_atomics) {
          const auto group = item.get_group();
          const auto i = item.get_local_linear_id(), g = item.get_group_linear_id();
          tile[i] = a[g * 256 + i];
          sycl::group_barrier(group);
          const float sum = sycl::reduce_over_group(group, tile[255 - i], sycl::plus<>());
          sycl::atomic_ref<float, sycl::memory_order::relaxed, sycl::memory_scope::device>(by_atomics[g]) += tile[i];
          if (i != 0) return;
          by_group[g] = sum;
          for (int j = 0; j < 256; ++j) by_tile[g] += tile[j];
        }
    """
    kernel = vendors.kernel("sums", intel=source, signature="*f32 const, *f32, *f32, *f32")
    a, sums = torch.randn(24, 256), torch.zeros(3, 24)
    kernel(a, *sums, grid=(2, 3, 4), block=(64, 4))
    for sum in sums:
        torch.testing.assert_close(sum, a.sum(1))


@pytest.mark.needs("sycl", "clang")
def test_launch_kernel(scale: vendors.PortableKernel) -> None:
    """vendor="intel" is Intel's code on the CPU's tensors, where a kernel has AMD's, too."""
    tripled = SCALE.replace("factor *", "3 * factor *")
    kernel = vendors.kernel("scale", amd=scale._recipes["amd"][""].source, intel=tripled, signature=SIGNATURE)
    a, b = torch.randn(1000), torch.zeros(1000)
    kernel(a, b, 2.0, 1000, grid=4, block=256)
    assert torch.equal(b, 2 * a)
    vendors.launch_kernel(kernel, [a, b], [2.0, 1000], 4, 256, vendor="intel")
    torch.testing.assert_close(b, 6 * a)
    with pytest.raises(ValueError, match=r"kernel 'scale' has code for amd, nvidia, and none for .*: pass intel="):
        vendors.launch_kernel(scale, [a, b], [2.0, 1000], 4, 256, vendor="intel")
    with pytest.raises(ValueError, match="kernel 'scale' is a binary of AMD's or NVIDIA's"):
        vendors.launch_kernel(scale.on("cpu"), [a, b], [2.0, 1000], 4, 256, vendor="intel")


@pytest.mark.needs("sycl")
@pytest.mark.usefixtures("kept")
def test_errors() -> None:
    a, b = torch.randn(1000), torch.zeros(1000)
    kernel = vendors.kernel("scale", intel=SCALE, signature=SIGNATURE)
    with pytest.raises(RuntimeError, match=r"kernel 'scale' on cpu: SYCL: .*work-group"):
        kernel(a, b, 2.0, 1000, grid=1, block=1 << 20)
    with pytest.raises(
        TypeError, match=r"argument 1 'b': expected a tensor for .*f32, given one of dtype torch.float64"
    ):
        kernel(a, b.double(), 2.0, 1000, grid=4, block=256)
    with pytest.raises(ValueError, match="kernel 'scale' on cpu: there are grid= and block=, both needed"):
        kernel(a, b, 2.0, 1000, grid=4, block=256, shared_memory=64)
    broken = vendors.kernel("scale", intel=SCALE + "int x = missing;", signature=SIGNATURE)
    text = r"(?s)kernel 'scale': the SYCL source does not compile.*source.cpp:5:9: error: .*'missing'"
    with pytest.raises(wave_runtime.CompileError, match=text):
        broken(a, b, 2.0, 1000, grid=4, block=256)
    with pytest.raises(vendors.LaunchError, match=r"(?s)launch error: SYCL compilation failed: .*'missing'"):
        vendors.launch_kernel(broken, [a, b], [2.0, 1000], 4, 256, vendor="intel")
    half = vendors.kernel("scale", intel=SCALE, signature="*f32 const, *f32, f16, i32")
    with pytest.raises(ValueError, match="f16 and bf16 are passed in tensors only"):
        half(a, b, 2.0, 1000, grid=4, block=256)


@pytest.mark.needs("sycl")
def test_env_names_the_runtime() -> None:
    text = warm_python.run("-m", "wave_runtime", "env", env=dict(os.environ)).stdout
    assert f"CPU tensors: {_sycl.find()}" in text


@pytest.mark.usefixtures("not_loaded")
def test_without_a_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sycl, "find", lambda: None)
    a = torch.zeros(4)
    kernel = vendors.kernel("scale", intel=SCALE, signature=SIGNATURE)
    with pytest.raises(wave_runtime.CompileError, match=r"no SYCL runtime; looked for .*: pip install intel-sycl-rt"):
        kernel(a, a, 2.0, 4, grid=1, block=4)
    if not torch.xpu.is_available():
        with pytest.raises(vendors.LaunchError, match=r"sees no device of intel; no SYCL runtime; .* intel-opencl-rt"):
            vendors.launch_kernel(kernel, [a, a], [2.0, 4], 1, 4, vendor="intel")


def test_where_a_runtime_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In oneAPI's folder, where pip has installed none, once it has the headers, too."""

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    monkeypatch.setattr(_sycl, "_ONEAPI", str(tmp_path / "nowhere"))
    monkeypatch.setenv("CMPLR_ROOT", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libsycl.so").touch()
    assert _sycl.find() is None
    (tmp_path / "include/sycl").mkdir(parents=True)
    (tmp_path / "include/sycl/sycl.hpp").touch()
    assert (_sycl.find(), _sycl.find_cpu()) == (tmp_path, None)
    (tmp_path / "lib/libintelocl.so").touch()
    assert _sycl.find_cpu() == tmp_path


@pytest.mark.needs("sycl")
@pytest.mark.usefixtures("not_loaded")
def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(wave_runtime.CompileError, match=r"no compiler of C\+\+ for sycl.cpp, .*none \(CXX\)"):
        _sycl.runtime()
