"""Several launches as one function: chosen by a rule, or by what they took."""

from __future__ import annotations

import copy
import json
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import warm_python
from operators_support import matmul_naive, vector_add
from support import ROOT
from torch import Tensor
from torch._dynamo.testing import CompileCounter
from variants_support import often, once, tensors, too_large

import wave_runtime
from wave_runtime import cdiv
from wave_runtime._op import _variants
from wave_runtime._op._fingerprint import hash_of

Blocks = Callable[[], list[int]]

pytestmark = pytest.mark.usefixtures("cache")


def times(cache: Path, key: str = "") -> dict[str, float]:
    """What is kept, by the names of the launches."""
    entries = [json.loads(path.read_text()) for path in (cache / "variants").iterdir()]
    return {entry["of"]["launch"]: entry["milliseconds"] for entry in entries if key in entry["of"]["key"]}


def fastest(cache: Path, key: str = "") -> list[int]:
    """The block sizes of the launch that took the shortest time, whichever it was."""
    found = times(cache, key)
    return BLOCKS[min(found, key=lambda name: found[name])]


BLOCKS = {"once": [256], "often": [64] * 50}


def test_rule(blocks: Blocks, cache: Path) -> None:
    launch = wave_runtime.variants(once, often, rule=lambda a, b, c: a.numel() > 1000)
    for n, expected in ((500, [256]), (2000, [64] * 50)):
        a, b, c = tensors(n)
        launch(a, b, c)
        assert torch.equal(c, a + b)
        assert blocks() == expected
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("index", [2, "once", None])
def test_what_a_rule_returns_is_an_index(index: Any) -> None:
    launch = wave_runtime.variants(once, often, rule=lambda *args: index)
    with pytest.raises(ValueError, match=f"rule to return an index of 2 launches, it returned {index!r}"):
        launch(*tensors())


def test_the_fastest_is_found_once_for_a_class(blocks: Blocks, cache: Path) -> None:
    launch = wave_runtime.variants(often, too_large, once)
    a, b, c = tensors(500)
    launch(a, b, c)
    assert torch.equal(c, a + b)
    assert set(blocks()) == {64, 256}, "each is measured"
    chosen = fastest(cache)
    for n in (500, 300, 512):
        launch(*tensors(n))
        assert blocks() == chosen
    launch(*tensors(513))
    assert len(blocks()) > len(chosen)
    assert sorted(times(cache, "512")) == sorted(times(cache, "1024")) == ["often", "once"], "failures are not kept"
    entries = [json.loads(path.read_text()) for path in (cache / "variants").iterdir()]
    assert {entry["of"]["device"] for entry in entries} == {"cpu"}


def test_the_shortest_time_wins(blocks: Blocks, cache: Path) -> None:
    """The times that are kept decide, whatever a launch takes now."""
    for shortest in ("once", "often"):
        wave_runtime.variants(often, once)(*tensors())
        for path in (cache / "variants").iterdir():
            entry = json.loads(path.read_text())
            path.write_text(json.dumps({**entry, "milliseconds": 1.0 if entry["of"]["launch"] == shortest else 2.0}))
        blocks()
        wave_runtime.variants(often, once)(*tensors())
        assert blocks() == BLOCKS[shortest]


PROGRAM = """
import sys, variants_support as t
import wave_runtime
seen = []
with wave_runtime.hooks.launch_hook(enter=lambda event: seen.append(event.block[0])):
    wave_runtime.variants(*(getattr(t, name) for name in sys.argv[1:]))(*t.tensors())
print(*seen)
"""


def run_alone(*names: str) -> list[int]:
    """The block sizes of the launches that one call makes in a process of its own."""
    folders = [
        ROOT,
        *(ROOT / "tests" / name for name in ("", "operators")),
        ROOT / "examples" / "kernels",
        ROOT / "examples",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = warm_python.run("-c", PROGRAM, *names, env=environment)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_other_processes_know_the_times(cache: Path) -> None:
    assert set(run_alone("often", "once")) == {64, 256}
    before = times(cache)
    assert run_alone("often", "once") == fastest(cache)
    more = run_alone("often", "once", "twice")
    assert more[:-2].count(128) > 2, "a further one is measured"
    assert 64 not in more[:-50], "the others are not"
    assert {name: times(cache)[name] for name in before} == before


class Failing:
    """A launch that fails for a while."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.calls = 0

    def __call__(self, a: Tensor, b: Tensor, c: Tensor) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error
        once(a, b, c)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("no memory"),
        RuntimeError("the driver is away"),
        wave_runtime.CompileError("no compiler"),
        ValueError("not for odd sizes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_failures_are_reported_and_not_kept(error: Exception, cache: Path) -> None:
    """What is not there for one process may be there for the next."""
    failing = Failing(error)
    launch = wave_runtime.variants(failing, once)
    is_trouble = not isinstance(error, ValueError)
    for n, calls in ((500, 1), (300, 1), (700, 1 if isinstance(error, wave_runtime.CompileError) else 2)):
        a, b, c = tensors(n)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            launch(a, b, c)
        assert torch.equal(c, a + b)
        assert failing.calls == calls, n
        is_new = n == 500 or (n == 700 and calls == 2)
        texts = [str(warning.message) for warning in warned]
        assert [str(error) in text and "'<class" in text for text in texts] == [True] * (is_trouble and is_new)
    assert sorted(times(cache)) == ["once"]
    failing.error = None
    wave_runtime.variants(failing, once)(*tensors())
    assert len(times(cache, "512")) == 2


@pytest.mark.parametrize("kept", ["null", "Infinity", "-1.0", "NaN", '"1"', "true", "[]"])
def test_what_is_no_time_is_measured_again(kept: str, blocks: Blocks, cache: Path) -> None:
    """Earlier versions kept null for failures of any kind."""
    wave_runtime.variants(once)(*tensors())
    (path,) = (cache / "variants").iterdir()
    path.write_text(f'{{"of": {{}}, "milliseconds": {kept}}}')
    blocks()
    wave_runtime.variants(once)(*tensors())
    assert len(blocks()) > 1
    assert times(cache)["once"] > 0


def test_floats_are_no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call with another float costs a look-up: no code is walked."""
    hashed: list[object] = []
    monkeypatch.setattr(_variants, "hash_of", lambda launch: hashed.append(launch) or hash_of(launch))

    def scaled(a: Tensor, b: Tensor, c: Tensor, factor: float, more: tuple[float, ...]) -> None:
        once(a, b, c)

    launch = wave_runtime.variants(scaled, lambda *args, **more: scaled(*args, **more))
    for step in range(50):
        launch(*tensors(), step / 7, more=(1.5 * step,))
    assert len(hashed) == 2
    assert len(launch._best) == 1
    by_key = wave_runtime.variants(
        scaled, lambda *args, **more: scaled(*args, **more), key=lambda a, b, c, factor, more: factor > 1
    )
    for factor in (0.5, 1.5, 0.7, 1.7):
        by_key(*tensors(), factor, ())
    assert len(hashed) == 2 + 2 * 2, "a key may look at floats"


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


def any_once(a: Any, b: Any, c: Any) -> None:
    vector_add(a, b, c, len(a), grid=2, block=256)


def any_often(a: Any, b: Any, c: Any) -> None:
    for _ in range(50):
        vector_add(a, b, c, len(a), grid=8, block=64)


def test_arrays_of_numpy(blocks: Blocks, cache: Path) -> None:
    """They are of one class with tensors like them, and what is measured writes copies."""
    launch = wave_runtime.variants(any_once, any_often)
    a, b, c = (tensor.numpy() for tensor in tensors())
    a.flags.writeable = False
    launch(a, b, c)
    assert (c == a + b).all()
    assert set(blocks()) == {64, 256}, "each is measured"
    launch(a, b, c)
    launch(*tensors())
    assert len(blocks()) in (2, 100), "neither measures"
    with pytest.raises(ValueError, match="argument 2 'c': the array is read-only"):
        launch(b, c, a)


def test_arrays_are_measured_on_copies(cache: Path) -> None:
    seen: list[Any] = []
    array = torch.zeros(500).numpy()
    wave_runtime.variants(lambda arrays: seen.extend(arrays))([array])
    assert all(isinstance(item, type(array)) for item in seen)
    assert [item is array for item in seen] == [False] * (len(seen) - 1) + [True], "the last is the call itself"
    assert len(seen) > 1


def test_pickle_and_copy(cache: Path) -> None:
    """What a decorator made goes by its name, as functions do; others take their launches along."""
    model = torch.nn.Module()
    model.tuned, model.launch = tuned, wave_runtime.variants(any_once, any_often)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.tuned is tuned
        assert other.launch.launches == (any_once, any_often)
        a, b, c = tensors()
        other.launch(a, b, c)
        assert torch.equal(c, a + b)


@wave_runtime.autotune([{"block": 64}, {"block": 256}])
def tuned(a: Tensor, b: Tensor, c: Tensor, *, block: int) -> None:
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), block), block=block)


def test_key(blocks: Blocks, cache: Path) -> None:
    launch = wave_runtime.variants(often, once, key=lambda a, b, c: a.dtype)
    launch(*tensors(10))
    blocks()
    launch(*tensors(5000))
    assert blocks() == fastest(cache)


def test_nothing_is_measured_where_that_is_switched_off(
    blocks: Blocks, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_AUTOTUNE", "0")
    launch = wave_runtime.variants(often, once)
    launch(*tensors())
    assert blocks() == [64] * 50, "the first"
    monkeypatch.delenv("WAVE_RUNTIME_AUTOTUNE")
    launch(*tensors())
    assert set(blocks()) == {64, 256}
    monkeypatch.setenv("WAVE_RUNTIME_AUTOTUNE", "0")
    wave_runtime.variants(often, once)(*tensors())
    assert blocks() == fastest(cache), "the times are known"
    wave_runtime.variants(too_large, often, once)(*tensors())
    assert blocks() == fastest(cache), "of those that are known the fastest"


def test_what_is_written_is_written_once() -> None:
    """Measuring works on copies, also of views with strides."""

    def add_to(x: Tensor, y: Tensor) -> None:
        total = torch.empty(x.shape)
        vector_add(x.contiguous(), y, total, x.numel(), grid=1, block=256)
        x.copy_(total)

    base, y = torch.arange(12.0).view(4, 3), torch.ones(2, 4)
    wave_runtime.variants(add_to, lambda x, y: add_to(x, y))(base.T[1:], y)
    assert torch.equal(base, torch.arange(12.0).view(4, 3) + torch.tensor([0.0, 1, 1]))


def test_launches_that_take_long_are_timed_once(blocks: Blocks, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wave_runtime._op._tuning.SECONDS", 0.0)
    wave_runtime.variants(often, once)(*tensors())
    assert blocks() == [64] * 100 + [256] * 2 + fastest(cache), "the first to load the kernel"


def test_errors(probe: Callable[..., wave_runtime.Kernel]) -> None:
    with pytest.raises(ValueError, match="at least one launch"):
        wave_runtime.variants()
    with pytest.raises(TypeError, match="variants: launch 1: expected a function, given list"):
        wave_runtime.variants(print, [])  # type: ignore[arg-type]
    for option in ("rule", "key"):
        with pytest.raises(TypeError, match=f"variants: {option}=: expected a function, given int"):
            wave_runtime.variants(print, **{option: 5})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a rule needs no key="):
        wave_runtime.variants(once, rule=lambda *args: 0, key=lambda *args: 0)
    with pytest.raises(ValueError, match=r"block .*2048"):
        wave_runtime.variants(too_large)(*tensors())

    def fault(a: Tensor, b: Tensor, c: Tensor) -> None:
        vector_add(a, b, c, a.numel() + 1, grid=cdiv(a.numel() + 1, 256), block=256)

    with pytest.raises(wave_runtime.KernelFault):
        wave_runtime.variants(once, fault)(*tensors(512))


def test_in_an_operator(blocks: Blocks, cache: Path) -> None:
    launch = wave_runtime.variants(often, once)

    @wave_runtime.define_op("wave_test::tuned")
    def tuned(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        launch(a, b, c)
        return c

    a, b, _ = tensors()
    counter = CompileCounter()
    compiled = torch.compile(lambda a, b: tuned(a, b), fullgraph=True, dynamic=True, backend=counter)
    for n, rounded in ((500, 512), (501, 512), (20, 32)):
        a, b, _ = tensors(n)
        assert torch.equal(compiled(a, b), a + b)
        assert blocks()[-1] == fastest(cache, f"({rounded},)")[-1], "compiled code measures when it first runs"
    assert counter.frame_count == 1
    torch.library.opcheck(tuned.overload, (a, b))
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
