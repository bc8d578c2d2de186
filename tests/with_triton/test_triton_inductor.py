"""torch.compile of ordinary code on CPU tensors, for an emulated GPU: emulate(inductor=True)."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import warm_python
from torch.nn.attention.flex_attention import flex_attention

import wave_runtime


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRITON_CACHE_DIR")


@pytest.fixture
def launched() -> Iterator[list[str]]:
    """The names of kernels that were launched."""
    names: list[str] = []
    with wave_runtime.hooks.launch_hook(enter=lambda event: names.append(event.kernel)):
        yield names


def reductions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.sum(0), x.mean(1), x.amax(), x.argmax(1), x.var(1)


# What is compiled, and what makes its arguments.
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[torch.Tensor, ...]]]] = {
    "pointwise": (lambda x, y: torch.relu(x) + y.sin(), lambda: (torch.randn(1000), torch.randn(1000))),
    "softmax": (lambda x: torch.softmax(x, -1), lambda: (torch.randn(33, 200),)),
    "layer norm": (
        lambda x, w, b: F.layer_norm(x, (100,), w, b),
        lambda: (torch.randn(17, 100), torch.randn(100), torch.randn(100)),
    ),
    "gelu": (F.gelu, lambda: (torch.randn(17, 100, requires_grad=True),)),
    "reductions": (reductions, lambda: (torch.randn(50, 300),)),
    "embedding": (lambda w, i: 2 * F.embedding(i, w), lambda: (torch.randn(50, 64), torch.randint(50, (3, 7)))),
    "cumsum": (lambda x: torch.cumsum(x, 1), lambda: (torch.randn(7, 130),)),
    "bf16": (lambda x: F.silu(x) + 1, lambda: (torch.randn(30, 50, dtype=torch.bfloat16),)),
    "flex attention": (
        lambda q, k: 2 * flex_attention(q.sin(), k, k, score_mod=lambda score, b, h, i, j: score + 0.1 * (i - j)),
        lambda: (torch.randn(1, 2, 140, 32), torch.randn(1, 2, 140, 32)),
    ),
    "flex decoding": (
        flex_attention,
        lambda: (torch.randn(1, 2, 3, 32), torch.randn(1, 2, 140, 32), torch.randn(1, 2, 140, 32)),
    ),
    "matmul": (lambda x, y: torch.relu(x @ y), lambda: (torch.randn(70, 64), torch.randn(64, 40))),
}
CASES = [("gfx942", name) for name in PROGRAMS]
CASES += [("gfx950", "softmax"), ("gfx1100", "gelu")]


@pytest.mark.filterwarnings("ignore:flex_attention called without")  # as what is expected is
@pytest.mark.parametrize(("target", "name"), CASES)
def test_programs(target: str, name: str, launched: list[str]) -> None:
    function, arguments = PROGRAMS[name]
    torch.manual_seed(0)
    given = arguments()
    leaves = [each for each in given if each.requires_grad]
    with wave_runtime.emulate(target, inductor=True):
        found = torch.compile(function)(*given)
        forward = len(launched)
        derivatives = torch.autograd.grad(found.sum(), leaves) if leaves else ()
    expected = function(*given)
    torch.testing.assert_close(found, expected)
    assert forward > 0
    assert "flex" not in name or any(kernel.startswith("triton_tem_fused_") for kernel in launched)
    if leaves:
        torch.testing.assert_close(derivatives, torch.autograd.grad(expected.sum(), leaves))
        assert len(launched) > forward


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")  # used by Inductor itself
def test_matrix_products_by_triton(launched: list[str]) -> None:
    """Each candidate is launched once, and those that launch nothing, torch's own, are not chosen."""
    x, y = torch.randn(16, 16), torch.randn(16, 16)
    with wave_runtime.emulate("gfx942", inductor=True):
        compiled = torch.compile(torch.mm, options={"max_autotune_gemm": True})
        torch.testing.assert_close(compiled(x, y), x @ y)
        tried = launched.count("triton_mm")
        assert tried > 1
        launched.clear()
        compiled(x, y)
    assert launched == ["triton_tem_fused_mm_0"]


def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x + 1


def test_code_is_of_the_processor_that_is_emulated(launched: list[str]) -> None:
    """Compiled anew for another one, and for the CPU when it ends: in memory, and in files."""
    compiled, x = torch.compile(double), torch.randn(100)
    for _ in range(2):
        for target in ("gfx942", "gfx1100"):
            with wave_runtime.emulate(target, inductor=True):
                launched.clear()
                assert torch.equal(compiled(x), double(x))
                assert len(set(launched)) == 1
                texts = [file.read_text() for file in Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).rglob("*.amdgcn")]
                assert texts
                assert all(f'-{target}"' in text for text in texts)
    launched.clear()
    assert torch.equal(compiled(x), double(x))
    with wave_runtime.emulate("gfx942"):
        assert torch.equal(compiled(x), double(x))
    assert launched == []


def test_threads_begun_within_compile_for_it(launched: list[str]) -> None:
    x = torch.randn(100)
    found: list[torch.Tensor] = []
    with wave_runtime.emulate("gfx942", inductor=True):
        thread = threading.Thread(target=lambda: found.append(torch.compile(double)(x)))
        thread.start()
        thread.join()
    assert torch.equal(found[0], double(x))
    assert launched


def test_everything_is_put_back() -> None:
    from torch._dynamo.device_interface import CpuInterface, CudaInterface
    from torch._inductor import config
    from torch._inductor.runtime.hints import DeviceProperties

    def state() -> dict[str, object]:
        owners = {"cuda": CudaInterface, "cpu": CpuInterface, "properties": DeviceProperties}
        found = {f"{name}.{key}": value for name, owner in owners.items() for key, value in vars(owner).items()}
        return found | {"config": config.get_config_copy(), "environment": dict(os.environ)}

    before = state()
    with wave_runtime.emulate("gfx942", inductor=True):
        assert config.cpu_backend == "triton"
        with wave_runtime.emulate("gfx950"):
            assert config.cpu_backend == "cpp"  # the later counts
        assert config.cpu_backend == "triton"
    assert state() == before


def test_kernels_outlive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is freed when there is no driver any more frees nothing of another's."""
    import triton_kernels

    errors: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    with wave_runtime.emulate("gfx942"):
        x = torch.ones(64)
        compiled = triton_kernels.add.warmup(x, x, x, 64, BLOCK=64, grid=(1,))
        compiled[(1, 1, 1)](x, x, x.clone(), 64, 64)
    triton_kernels.add.device_caches.clear()
    del compiled
    gc.collect()
    assert errors == []


def test_processes_inherit_it(tmp_path: Path) -> None:
    code = """
import torch, wave_runtime
names = []
with wave_runtime.hooks.launch_hook(enter=lambda event: names.append(event.kernel)):
    torch.compile(lambda x: x + 1)(torch.randn(100, device="cuda"))
print(names)
"""
    done = warm_python.run("-m", "wave_runtime", "emulate", "--inductor", "--", sys.executable, "-c", code)
    assert "triton_poi_fused_add_0" in done.stdout, done.stderr
    assert [folder.name for folder in (tmp_path / "wave_runtime").iterdir()] == ["gfx942"]


def test_it_needs_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    monkeypatch.setattr(sys.modules["triton"], "__version__", "3.6.0", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: SimpleNamespace(origin="file"))
    with pytest.raises(RuntimeError, match=r"inductor=True needs Triton 3\.9: pip install 'triton==3\.9\.\*'"):
        wave_runtime.emulate(inductor=True)
