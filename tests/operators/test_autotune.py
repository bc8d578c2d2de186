"""One function with several configurations, and how its times are taken."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from operators_support import vector_add
from torch import Tensor

import wave_runtime
from wave_runtime import cdiv

CONFIGS = [{"block": 64}, {"block": 128}, {"block": 256}]
Blocks = Callable[[], list[int]]

pytestmark = pytest.mark.usefixtures("cache")


def add(a: Tensor, b: Tensor, c: Tensor, *, block: int) -> None:
    """Adds."""
    vector_add(a, b, c, a.numel(), grid=cdiv(a.numel(), block), block=block)


def tensors(n: int = 500) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(n), torch.randn(n), torch.zeros(n)


def times(cache: Path) -> dict[str, float]:
    entries = [json.loads(path.read_text()) for path in (cache / "variants").iterdir()]
    return {entry["of"]["launch"]: entry["milliseconds"] for entry in entries}


def test_the_fastest_configuration(blocks: Blocks, cache: Path) -> None:
    tuned = wave_runtime.autotune(CONFIGS)(add)
    assert (tuned.__name__, tuned.__doc__) == ("add", "Adds.")
    a, b, c = tensors()
    tuned(a, b, c)
    assert torch.equal(c, a + b)
    assert set(blocks()) == {64, 128, 256}
    kept = times(cache)
    assert set(kept) == {"add(block=64)", "add(block=128)", "add(block=256)"}
    for path in (cache / "variants").iterdir():
        entry = json.loads(path.read_text())
        entry["milliseconds"] = 1.0 if entry["of"]["launch"] == "add(block=128)" else 2.0
        path.write_text(json.dumps(entry))
    wave_runtime.autotune(CONFIGS)(add)(a, b, c)
    assert blocks() == [128], "what earlier processes measured is known"


def test_pruned_configurations_are_not_made(blocks: Blocks, cache: Path) -> None:
    asked = []

    def prune(config: dict[str, int], a: Tensor, b: Tensor, c: Tensor) -> bool:
        asked.append(config["block"])
        return config["block"] != 128

    tuned = wave_runtime.autotune(CONFIGS, prune=prune)(add)
    tuned(*tensors())
    assert set(blocks()) == {128}
    assert set(times(cache)) == {"add(block=128)"}
    tuned(*tensors())
    assert (blocks(), asked) == ([128], [64, 128, 256]), "it is asked once for a class"
    compiled = torch.compile(lambda a, b, c: tuned(a, b, c), fullgraph=True)
    compiled(*tensors())
    assert blocks() == [128], "traced, the first that is left"


def test_nothing_is_left(cache: Path) -> None:
    with pytest.raises(ValueError, match="prune= leaves none of the 3 configurations for these arguments"):
        wave_runtime.autotune(CONFIGS, prune=lambda config, *args: True)(add)(*tensors())
    with pytest.raises(ValueError, match="expected at least one configuration"):
        wave_runtime.autotune([])(add)


def test_a_configuration_that_fails(blocks: Blocks, cache: Path) -> None:
    """It is reported, left out, and tried again by whoever comes next."""
    broken = True

    def sometimes(a: Tensor, b: Tensor, c: Tensor, *, block: int) -> None:
        if broken and block == 64:
            raise torch.OutOfMemoryError("no memory")
        add(a, b, c, block=block)

    with pytest.warns(RuntimeWarning, match=r"sometimes\(block=64\)' is left out for .*OutOfMemoryError: no memory"):
        wave_runtime.autotune(CONFIGS, key=lambda *args: "all")(sometimes)(*tensors())
    assert not any("block=64" in name for name in times(cache))
    broken = False
    blocks()
    wave_runtime.autotune(CONFIGS, key=lambda *args: "all")(sometimes)(*tensors())
    assert 64 in blocks()


def test_do_bench_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it counts is the clock; how often it runs follows from the first time and the limit."""
    now, runs = 0.0, []
    durations = iter([5.0, 0.010, 0.030, 0.010, 0.020])

    def run() -> None:
        nonlocal now
        runs.append(now)
        now += next(durations)

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    assert wave_runtime.do_bench(run, device="cpu", seconds=0.035) == pytest.approx(20)
    assert len(runs) == 5, "to load, alone, and three that fit"


def test_what_takes_long_runs_twice() -> None:
    runs = []
    wave_runtime.do_bench(lambda: runs.append(0), device="cpu", seconds=0)
    assert len(runs) == 2
    with pytest.raises(ValueError, match="statistic='most': expected one of median, mean, min"):
        wave_runtime.do_bench(lambda: None, statistic="most")  # type: ignore[arg-type]


def test_a_configuration_that_is_no_dict() -> None:
    for option in ("prune", "key"):
        with pytest.raises(TypeError, match=f"autotune: {option}=: expected a function, given int"):
            wave_runtime.autotune([{"block": 64}], **{option: 5})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'autotune: expected dicts of keywords, as in {"block": 64}, given 64'):
        wave_runtime.autotune([64, 128])  # type: ignore[list-item]
