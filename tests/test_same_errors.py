"""A launch is checked once, whoever launches: the same mistake is the same error, and of two mistakes the same one."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import pytest
import support
import torch

import wave_runtime

BASICS = support.EXAMPLES / "binaries" / "basics.hsaco"
Launcher = Callable[..., None]

_names = (f"same_errors::op{i}" for i in itertools.count())


def kernel(signature: str | None = "a: *f32 const, b: *f32 const, c: *f32, n: i32") -> wave_runtime.Kernel:
    return wave_runtime.load(BASICS, signature=signature and {"vector_add": signature})["vector_add"]


def call(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    kernel()(a, b, c, n, grid=grid, block=block)


def bound(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    kernel().bind(a, b, c, n, grid=grid, block=block)()


def sequence(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    wave_runtime.sequence([kernel().bind(a, b, c, n, grid=grid, block=block)])()


def changed(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    launch = kernel().bind(torch.ones(4), torch.ones(4), torch.ones(4), 4, grid=grid, block=block)
    for index, value in enumerate((a, b, c, n)):
        launch[index] = value
    launch()


def addresses(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    kernel()._launch_addresses(a, b, c, n, grid=grid, block=block)


def own_operator(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    kernel().as_operator(next(_names), block=block)(a, b, c, n, grid)


def generic_operator(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    torch.ops.wave.launch(kernel().handle, [a, b], [c], [n], [], [grid, 1, 1], [block, 1, 1])


def declared(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    wave_runtime.define_op(next(_names), kernel(), grid=lambda: grid, block=block)(a, b, c, n)


def declared_by_dispatcher(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    wave_runtime.define_op(next(_names), kernel(), grid=lambda: grid, block=block).overload(a, b, c, n)


def raw(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    packed = struct.pack("<QQQi", a.data_ptr(), b.data_ptr(), c.data_ptr(), n)
    kernel().launch_raw(packed, memory=[c], reads=[a, b], grid=grid, block=block)


def upstream(a: Any, b: Any, c: Any, n: Any, grid: Any, block: Any) -> None:
    _, function = wave_runtime.load_binary(str(BASICS), "vector_add")
    info = wave_runtime.KernelLaunchInfo(gpu_func=function, gridX=grid, blockX=block)
    wave_runtime.launch(info, [a, b, c], [], [n])


OPERATORS = [own_operator, generic_operator, declared, declared_by_dispatcher]
READERS = [call, bound, sequence, addresses, *OPERATORS]
ALL = [*READERS, changed, raw, upstream]


def good() -> dict[str, Any]:
    return {"a": torch.ones(4), "b": torch.ones(4), "c": torch.zeros(4), "n": 4, "grid": 1, "block": 64}


def overlapping() -> dict[str, Any]:
    memory = torch.zeros(6)
    return {"a": memory[:4], "c": memory[2:]}


def error_of(launcher: Launcher, mistakes: dict[str, Any]) -> tuple[type[Exception], str]:
    with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
        launcher(**{**good(), **mistakes})
    prefix, _, message = str(caught.value).partition("kernel 'vector_add'")
    assert prefix == "" or prefix.startswith("operator 'same_errors::")
    return caught.type, message


# What is wrong, as arguments, and who can make the mistake.
MISTAKES: dict[str, tuple[Callable[[], dict[str, Any]], list[Launcher], type[Exception], str]] = {
    "dtype": (
        lambda: {"b": torch.ones(4, dtype=torch.float64)},
        READERS,
        TypeError,
        "argument 1 'b': expected a tensor",
    ),
    "strides": (lambda: {"b": torch.ones(8)[::2]}, READERS, ValueError, "expected a contiguous tensor"),
    "range": (lambda: {"n": 2**31}, READERS, ValueError, "argument 3 'n': expected i32, an integer from"),
    "overlap": (overlapping, [*READERS, changed], ValueError, "shares memory with argument 0 'a'"),
    "grid": (lambda: {"grid": -1}, ALL, ValueError, "has an extent below 1"),
    "block": (lambda: {"block": 2048}, ALL, ValueError, "has more than the 1024 work-items"),
    "gradient": (
        lambda: {"a": torch.ones(4, requires_grad=True)},
        [launcher for launcher in ALL if launcher not in (declared, declared_by_dispatcher, raw)],
        RuntimeError,
        "a tensor requires grad, but a launch has no derivative",
    ),
}


@pytest.mark.parametrize(
    ("mistake", "launcher"),
    [(name, launcher) for name, (_, launchers, *_) in MISTAKES.items() for launcher in launchers],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_one_mistake(mistake: str, launcher: Launcher) -> None:
    arguments, _, kind, words = MISTAKES[mistake]
    error, message = error_of(launcher, arguments())
    assert error is kind
    assert words in message
    assert message == error_of(call, arguments())[1]


# The first of two is reported: arguments one by one, then together, then the geometry, then autograd. To operators
# autograd comes first, as to torch's own.
@pytest.mark.parametrize(
    ("first", "second", "launchers"),
    [
        ("dtype", "grid", READERS),
        ("range", "block", READERS),
        ("overlap", "block", READERS),
        ("grid", "gradient", [call, bound, sequence, addresses, upstream]),
        ("block", "gradient", [call, bound, sequence, addresses, upstream]),
        ("gradient", "dtype", [own_operator, generic_operator]),
    ],
)
def test_of_two_mistakes_the_first_is_reported(first: str, second: str, launchers: list[Launcher]) -> None:
    for launcher in launchers:
        mistakes = {**MISTAKES[second][0](), **MISTAKES[first][0]()}
        assert error_of(launcher, mistakes) == error_of(call, MISTAKES[first][0]()), launcher.__name__


@pytest.mark.parametrize("launcher", [call, bound, sequence, addresses])
def test_inference_tensors_of_unknown_use(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = kernel(None)
    monkeypatch.setitem(globals(), "kernel", lambda: unknown)
    with torch.inference_mode():
        made = torch.ones(4)
    with pytest.raises(RuntimeError, match="cannot be used with tensors made in inference mode"):
        launcher(**{**good(), "a": made})


@pytest.mark.parametrize("launcher", [*READERS, changed, raw, upstream])
def test_all_launch(launcher: Launcher) -> None:
    arguments = good()
    version = arguments["c"]._version
    launcher(**arguments)
    assert arguments["c"].tolist() == [2.0] * 4
    assert launcher is upstream or arguments["c"]._version > version
