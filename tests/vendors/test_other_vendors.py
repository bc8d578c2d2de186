"""Intel's and Apple's paths, which have no hardware here.

Intel's runs with a SYCL of the host's in the place of Intel's: the library is generated, compiled, loaded and called.
Of Apple's only what torch is asked for is seen.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from requirements import does_not_apply

import wave_runtime
from wave_runtime.compat.vendors import _apple, _intel
from wave_runtime.compat.vendors._parameters import Signature

CPU = torch.device("cpu")
SYCL = """
#include "factor.h"
void several(sycl::nd_item<3> item, const float* a, float* b, float factor, std::int32_t n, std::uint64_t large) {
  const auto i = item.get_global_id(2) + 8 * (item.get_global_id(1) + 4 * item.get_global_id(0));
  if (i < std::size_t(n)) b[i] = FACTOR * factor * a[i] + float(large >> 60);
}
"""
SIGNATURE = Signature.parse("several", "a: *f32 const, b: *f32, factor: f32, n: i32, large: u64")


@pytest.fixture
def icpx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """g++ with a SYCL of the host's, as icpx."""
    script = tmp_path / "icpx"
    folder = Path(__file__).parent
    script.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"os.execvp('g++', ['g++', '-I{folder}', *(word for word in sys.argv[1:] if word != '-fsycl')])\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("ICPX", str(script))
    _intel._entry.cache_clear()


def launch_sycl(
    tmp_path: Path, *arguments: Any, source: str = SYCL, grid: tuple[int, int, int] = (2, 2, 3), x: int = 4
) -> None:
    (tmp_path / "factor.h").write_text("#define FACTOR 10\n")
    queue = ctypes.c_int()
    address = ctypes.addressof(queue)
    _intel.launch(SIGNATURE, source, str(tmp_path / "a.cpp"), arguments, grid, (x, 2, 1), CPU, address)


@pytest.mark.usefixtures("icpx")
def test_sycl(tmp_path: Path, cache: Path) -> None:
    """Three dimensions, x the fastest; headers beside the source; kept as what compile() makes is."""
    a, b = torch.randn(96), torch.zeros(96)
    version = b._version
    launch_sycl(tmp_path, a, b, 0.5, 90, 3 << 60)
    torch.testing.assert_close(b[:90], 5 * a[:90] + 3)
    assert (b[90:] == 0).all()
    assert b._version == version + 1
    assert len([path for path in (cache / "results").rglob("*") if path.is_file()]) == 1


@pytest.mark.usefixtures("icpx")
def test_errors_of_sycl(tmp_path: Path) -> None:
    a, b = torch.randn(96), torch.zeros(96)
    with pytest.raises(RuntimeError, match="kernel 'several' on cpu: SYCL: a work-group of more than 1024 work-items"):
        launch_sycl(tmp_path, a, b, 0.5, 90, 0, x=1024)
    with pytest.raises(wave_runtime.CompileError, match=r"(?s)the sycl source does not compile .*missing"):
        launch_sycl(tmp_path, a, b, 0.5, 90, 0, source=SYCL + "int x = missing;")


def test_no_icpx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ICPX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    _intel._entry.cache_clear()
    with pytest.raises(wave_runtime.CompileError, match=r"no compiler for Intel GPUs; looked for icpx .*Install Intel"):
        launch_sycl(tmp_path, torch.zeros(1), torch.zeros(1), 0.5, 90, 0)


class Metal:
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def compile_shader(self, source: str) -> Metal:
        self.sources.append(source)
        return self

    def scale(self, *arguments: Any, **options: Any) -> None:
        self.calls.append((arguments, options))


def test_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are counted, not threadgroups; numbers have the width that the source expects; one compilation."""
    metal = Metal()
    monkeypatch.setattr(torch.mps, "compile_shader", metal.compile_shader)
    signature = Signature.parse(
        "scale", "*f32 const, *f32, factor: f32, n: u32, small: i8, flag: bool, big: i64, h: f16"
    )
    a, b = torch.zeros(4), torch.zeros(4)
    for _ in range(2):
        arguments = (a, b, 1, 2**32 - 1, -3, True, 1 << 40, 0.5)
        _apple.launch(signature, "kernel void scale() {}", arguments, (4, 2, 1), (32, 8, 1), CPU)
    assert metal.sources == ["kernel void scale() {}"]
    (values, options), _ = metal.calls
    assert values[:2] == (a, b)
    assert values[2:] == (1.0, 2**32 - 1, -3, 1, 1 << 40, 0.5)
    assert isinstance(values[2], float)
    casts = {3: "int32", 4: "int8", 5: "uint8", 7: "fp16"}
    assert options == {"threads": [128, 16, 1], "group_size": [32, 8, 1], "arg_casts": casts}
    with pytest.raises(ValueError, match="Metal has no f64"):
        _apple.launch(Signature.parse("scale", "*f64"), "", (a,), (1, 1, 1), (1, 1, 1), CPU)


def test_no_metal() -> None:
    if torch.backends.mps.is_available():
        does_not_apply("there is an Apple GPU")
    with pytest.raises(wave_runtime.CompileError, match="kernel 'scale': the Metal source does not compile"):
        _apple.launch(Signature.parse("scale", ""), "kernel void other() {}", (), (1, 1, 1), (1, 1, 1), CPU)


def test_signatures_and_arguments() -> None:
    """The checks that binaries' kernels have, for code that says nothing."""
    signature = Signature.parse("k", "a: *f32 const, n: u8, x: f64")
    a = torch.zeros(4)
    assert signature.check((a, 255, 1), CPU)[1:] == [255, 1.0]
    for arguments, error, text in (
        ((a, 255), TypeError, r"kernel 'k' takes 3 arguments \(.*\), given 2"),
        ((1, 255, 1.0), TypeError, r"argument 0 'a': expected a tensor \(\*f32\), given int"),
        ((a.double(), 255, 1.0), TypeError, r"expected a tensor for \*f32, given one of dtype torch.float64"),
        ((torch.zeros(4, 4).T, 255, 1.0), ValueError, "expected a contiguous tensor"),
        ((a.to("meta"), 255, 1.0), ValueError, "expected a tensor on cpu, given one on meta"),
        ((torch.zeros(4, requires_grad=True), 255, 1.0), RuntimeError, "the tensor requires grad"),
        ((a, 256, 1.0), ValueError, "argument 1 'n': expected u8, an integer from 0 to 255, given 256"),
        ((a, 0.5, 1.0), TypeError, "argument 1 'n': expected u8, given float"),
        ((a, 1, "1"), TypeError, "argument 2 'x': expected f64, given str"),
    ):
        with pytest.raises(error, match=text):
            signature.check(arguments, CPU)
    for text in ("*f33", "f32 const", "a b"):
        with pytest.raises(ValueError, match=r"kernel 'k': signature \".*\", position \d"):
            Signature.parse("k", text)
    for text in ("bytes[4]", "*", "b32", "*f8e5m2 const"):
        with pytest.raises(ValueError, match=r"kernel 'k': signature '.*': '.*' is for AMD and NVIDIA alone"):
            Signature.parse("k", text)
