"""Launchable and CustomOp on NVIDIA GPUs: sources, graphs, compiled code; one operator for CPU and GPU tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from wave_runtime import cdiv
from wave_runtime.compat.launchable import Launchable
from wave_runtime.compat.op_reg import CustomOp, KernelBuilder, KernelLaunch, KernelSelection, def_library

pytestmark = [pytest.mark.gpu, pytest.mark.needs("cuda", "cuda-compiler")]

LIBRARY = def_library("test_launchable_cuda")
SCALE = """
extern "C" __global__ void scale(const float* a, float* b, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = factor * a[i];
}
"""
SIGNATURE = "a: *f32 const, b: *f32, factor: f32, n: i32"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "cache"))


def scale_options() -> dict[str, Any]:
    return {
        "entry_point": "scale",
        "signature": SIGNATURE,
        "results": lambda a, factor: torch.empty_like(a),
        "arguments": lambda a, factor, b: (a, b, factor, a.numel()),
        "grid": lambda a, factor, b: cdiv(a.numel(), 256),
        "block": 256,
    }


def test_launchable(tmp_path: Path) -> None:
    a = torch.randn(1000, device="cuda")
    scale = Launchable.jit_compile(SCALE, file_cache_dir=tmp_path, **scale_options())
    scale.preload(torch.device("cuda"))
    assert torch.equal(scale(a, 2.0), 2 * a)
    assert torch.equal(scale(a[::2], 2.0, outputs=[torch.empty(500, device="cuda")]), 2 * a[::2])
    kept = Launchable.from_file_cache_only(tmp_path, **scale_options())
    assert torch.equal(kept(a, 3.0), 3 * a)
    with pytest.raises(RuntimeError, match="Cannot launch with tensors from multiple devices: cpu vs cuda:0"):
        scale(a, 2.0, outputs=[torch.empty(1000)])


def test_custom_op() -> None:
    @CustomOp.register(library=LIBRARY)
    class scale(CustomOp):
        signature = "scale@UNIQUE@(Tensor a, float factor) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            a = sel.arg_tensor(0)
            sel.attr_float(1)
            sel.return_new_tensor(a.t.shape, a.t.dtype)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> KernelLaunch:
            options = scale_options()
            return KernelLaunch(
                SCALE, "scale", **{key: options[key] for key in ("signature", "arguments", "grid", "block")}
            )

    a = torch.randn(1000, device="cuda")
    assert torch.equal(scale(a, 2.0), 2 * a)
    compiled = torch.compile(lambda a: scale(a, 2.0) + 1, fullgraph=True)
    assert torch.equal(compiled(a), 2 * a + 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        b = scale(a, 2.0)
    a.fill_(3)
    graph.replay()
    assert torch.equal(b, torch.full_like(a, 6))
    with torch.cuda.stream(torch.cuda.Stream()):
        assert torch.equal(scale(a, 5.0), torch.full_like(a, 15))


@pytest.mark.needs("clang")
def test_one_operator_for_both_devices() -> None:
    """``generate`` is asked for each target."""
    targets: list[str] = []

    @CustomOp.register(library=LIBRARY)
    class double(CustomOp):
        signature = "double@UNIQUE@(Tensor a) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            sel.return_tensor(sel.arg_tensor(0).t)

        def generate(self, ksel: KernelSelection, kb: Any) -> KernelLaunch:
            targets.append(kb.target)
            return KernelLaunch(
                SCALE,
                "scale",
                signature=SIGNATURE,
                arguments=lambda a, b: (a, b, 2.0, a.numel()),
                grid=lambda a, b: cdiv(a.numel(), 256),
                block=256,
            )

    a = torch.randn(1000)
    assert torch.equal(double(a.cuda()).cpu(), 2 * a)
    assert torch.equal(double(a), 2 * a)
    assert targets == ["sm_{}{}".format(*torch.cuda.get_device_capability()), "gfx942"]
