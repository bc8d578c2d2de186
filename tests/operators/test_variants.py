"""Several launches as one function: chosen by a rule, or by what they took."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from operators_support import matmul_naive, vector_add
from torch import Tensor
from torch._dynamo.testing import CompileCounter

import wave_runtime
from wave_runtime import cdiv

Blocks = Callable[[], list[int]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def blocks() -> Iterator[Blocks]:
    """The block sizes of the launches since it was last asked."""
    seen: list[int] = []

    def since() -> list[int]:
        result = seen.copy()
        seen.clear()
        return result

    with wave_runtime.hooks.launch_hook(enter=lambda event: seen.append(event.block[0])):
        yield since


def once(a: Tensor, b: Tensor, c: Tensor) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)


def often(a: Tensor, b: Tensor, c: Tensor) -> None:
    for _ in range(50):
        vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 64), block=64)


def too_large(a: Tensor, b: Tensor, c: Tensor) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), 2048), block=2048)


def tensors(n: int = 500) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(n), torch.randn(n), torch.zeros(n)


def test_rule(blocks: Blocks, cache: Path) -> None:
    launch = wave_runtime.variants(once, often, rule=lambda a, b, c: a.numel() > 1000)
    for n, expected in ((500, [256]), (2000, [64] * 50)):
        a, b, c = tensors(n)
        launch(a, b, c)
        assert torch.equal(c, a + b)
        assert blocks() == expected
    assert list(cache.iterdir()) == []


def test_the_fastest_is_found_once_for_a_class(blocks: Blocks, cache: Path) -> None:
    launch = wave_runtime.variants(often, too_large, once)
    a, b, c = tensors(500)
    launch(a, b, c)
    assert torch.equal(c, a + b)
    measured = blocks()
    assert set(measured) == {64, 256}
    assert measured[-1] == 256
    for n in (500, 300, 512):
        launch(*tensors(n))
    assert blocks() == [256] * 3
    launch(*tensors(513))
    assert len(blocks()) > 1

    entries = [json.loads(path.read_text()) for path in (cache / "variants").iterdir()]
    times = {entry["of"]["launch"]: entry["milliseconds"] for entry in entries if "512" in entry["of"]["key"]}
    assert times["too_large"] is None
    assert times["often"] > times["once"]
    assert {entry["of"]["device"] for entry in entries} == {"cpu"}


def test_other_processes_know_the_times(blocks: Blocks) -> None:
    wave_runtime.variants(often, once)(*tensors())
    blocks()
    wave_runtime.variants(often, once)(*tensors())
    assert blocks() == [256]
    wave_runtime.variants(often, once, too_large)(*tensors())
    assert blocks() == [256], "a further one is measured, the others are not"


def test_damaged_files_count_for_nothing(blocks: Blocks, cache: Path) -> None:
    wave_runtime.variants(often, once)(*tensors())
    for path in (cache / "variants").iterdir():
        path.write_text(path.read_text()[:20])
    blocks()
    wave_runtime.variants(often, once)(*tensors())
    assert len(blocks()) > 2


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "file"))
    a, b, c = tensors()
    with pytest.warns(RuntimeWarning, match="times of launches are not kept for other processes"):
        wave_runtime.variants(often, once)(a, b, c)
    assert torch.equal(c, a + b)


def test_key(blocks: Blocks) -> None:
    launch = wave_runtime.variants(often, once, key=lambda a, b, c: a.dtype)
    launch(*tensors(10))
    blocks()
    launch(*tensors(5000))
    assert blocks() == [256]


def test_nothing_is_measured_where_that_is_switched_off(blocks: Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_AUTOTUNE", "0")
    launch = wave_runtime.variants(often, once)
    launch(*tensors())
    assert blocks() == [64] * 50, "the first"
    monkeypatch.delenv("WAVE_RUNTIME_AUTOTUNE")
    launch(*tensors())
    assert blocks()[-1] == 256
    monkeypatch.setenv("WAVE_RUNTIME_AUTOTUNE", "0")
    wave_runtime.variants(often, once)(*tensors())
    assert blocks() == [256], "the times are known"


def test_what_is_written_is_written_once() -> None:
    """Measuring works on copies, also of views with strides."""

    def add_to(x: Tensor, y: Tensor) -> None:
        total = torch.empty(x.shape)
        vector_add(x.contiguous(), y, total, x.numel(), grid=1, block=256)
        x.copy_(total)

    base, y = torch.arange(12.0).view(4, 3), torch.ones(2, 4)
    wave_runtime.variants(add_to, lambda x, y: add_to(x, y))(base.T[1:], y)
    assert torch.equal(base, torch.arange(12.0).view(4, 3) + torch.tensor([0.0, 1, 1]))


def test_launches_that_take_long_are_timed_once(blocks: Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wave_runtime._op._tuning.SECONDS", 0.0)
    wave_runtime.variants(often, once)(*tensors())
    assert blocks() == [64] * 100 + [256] * 3, "the first to load the kernel"


def test_errors(probe: Callable[..., wave_runtime.Kernel]) -> None:
    with pytest.raises(ValueError, match="at least one launch"):
        wave_runtime.variants()
    with pytest.raises(ValueError, match="a rule needs no key="):
        wave_runtime.variants(once, rule=lambda *args: 0, key=lambda *args: 0)
    with pytest.raises(ValueError, match=r"block .*2048"):
        wave_runtime.variants(too_large)(*tensors())

    def fault(a: Tensor, b: Tensor, c: Tensor) -> None:
        vector_add(a, b, c, a.numel() + 1, grid=cdiv(a.numel() + 1, 256), block=256)

    with pytest.raises(wave_runtime.KernelFault):
        wave_runtime.variants(once, fault)(*tensors(512))


def test_in_an_operator(blocks: Blocks) -> None:
    launch = wave_runtime.variants(often, once)

    @wave_runtime.define_op("wave_test::tuned")
    def tuned(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        launch(a, b, c)
        return c

    a, b, _ = tensors()
    counter = CompileCounter()
    compiled = torch.compile(lambda a, b: tuned(a, b), fullgraph=True, dynamic=True, backend=counter)
    for n in (500, 501, 20):
        a, b, _ = tensors(n)
        assert torch.equal(compiled(a, b), a + b)
        assert blocks()[-1] == 256, "compiled code measures when it first runs"
    assert counter.frame_count == 1
    torch.library.opcheck(tuned.overload, (a, b), {"fingerprint": tuned.fingerprint})
    other = wave_runtime.variants(once)
    assert _fingerprint_with(launch) != _fingerprint_with(other)


def _fingerprint_with(launch: wave_runtime.Variants) -> str:
    @wave_runtime.define_op("wave_test::tuned_too")
    def tuned_too(a: Tensor) -> Tensor:
        launch(a, a, a)
        return a + 1

    return tuned_too.fingerprint


@pytest.mark.parametrize("rule", [None, lambda a, b, c: 1])
def test_traced_launches(rule: Any, blocks: Blocks) -> None:
    """What compilers trace is the rule's choice, or the first."""
    launch = wave_runtime.variants(often, once, rule=rule)

    def function(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        launch(a, b, c)
        return c

    a, b, _ = tensors()
    assert torch.equal(torch.compile(function, fullgraph=True, backend="aot_eager")(a, b), a + b)
    assert blocks() == ([64] * 50 if rule is None else [256])


def test_kernels_of_different_signatures() -> None:
    def by_square(a: Tensor, b: Tensor, c: Tensor) -> None:
        matmul_naive(a, b, c, len(a), grid=(1, 1), block=(16, 16))

    def by_torch(a: Tensor, b: Tensor, c: Tensor) -> None:
        torch.mm(a, b, out=c)

    a, b, c = torch.randn(16, 16), torch.randn(16, 16), torch.empty(16, 16)
    wave_runtime.variants(by_square, by_torch)(a, b, c)
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)
