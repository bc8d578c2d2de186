"""The code that from_wave writes: sizes from shapes, and the grid. It needs no compiler."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
import torch

from wave_runtime.wave_lang._source import Buffer, Code, Scalar, code_of, grid_expressions

M, N, K = sympy.symbols("M N K", integer=True)


def buffer(name: str, *shape: Any, is_written: bool = False) -> Buffer:
    return Buffer(name, shape, torch.float32, is_written)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        (sympy.ceiling(M / 32), "-(-(M) // (32))"),
        (sympy.floor(M / 32), "((M) // (32))"),
        (sympy.ceiling(sympy.Rational(3, 4) * M) * N, "N*-(-(3*M) // (4))"),
        (sympy.Max(1, M - N), "max(1, M - N)"),
        (sympy.Integer(7), "7"),
    ],
)
def test_expressions(expression: Any, code: str) -> None:
    assert code_of(expression) == code
    for m, n in ((1, 1), (33, 5), (70, 90)):
        assert eval(code, {"M": m, "N": n}) == expression.subs({M: m, N: n})


@pytest.mark.parametrize("expression", [M / 2, M / 3, sympy.Rational(3, 4) * M])
def test_fractions_are_refused(expression: Any) -> None:
    """A grid of floats would fail in a trace, or be rounded."""
    with pytest.raises(ValueError, match="is no whole number"):
        code_of(expression)


def test_grids() -> None:
    text = "lambda M, N: [math.ceil(M/32), max(1, N), 1]"
    assert list(map(code_of, grid_expressions(text))) == ["-(-(M) // (32))", "max(1, N)", "1"]
    with pytest.raises(ValueError, match="in a form that is not known: lambda M: f"):
        grid_expressions("lambda M: f(M)")


def test_launch() -> None:
    code = Code("gemm", [buffer("a", M, K), buffer("b", M, is_written=True)], {K: 64}, [M], [sympy.ceiling(M / 16)])
    assert code.launch(["a", "b"]) == (
        "def gemm(a, b):\n"
        "    if a.dim() != 2:\n"
        "        refuse('a', '[M, K]', None, a)\n"
        "    if b.dim() != 1:\n"
        "        refuse('b', '[M]', None, b)\n"
        "    M = a.shape[0]\n"
        "    if a.shape != (M, 64):\n"
        "        refuse('a', '[M, K]', (M, 64), a)\n"
        "    if b.shape != (M,):\n"
        "        refuse('b', '[M]', (M,), b)\n"
        "    launch(a, b, M, grid=(-(-(M) // (16)),))\n"
    )


def test_tensors_named_as_sizes() -> None:
    """As K, the keys of an attention, beside K, the size."""
    parameters = [buffer("K", M, K), buffer("kernel", K), buffer("out", M, is_written=True)]
    calls: list[tuple[Any, ...]] = []
    namespace: dict[str, Any] = {"launch": lambda *args, grid: calls.append((*args, grid)), "torch": torch}
    code = Code("attention", parameters, {}, [M, K], [M, K])
    exec(code.launch(["K", "kernel", "out"]), namespace)
    tensors = (torch.empty(3, 5), torch.empty(5), torch.empty(3))
    namespace["attention"](*tensors)
    assert calls[0][3:] == (3, 5, (3, 5))
    assert all(given is tensor for given, tensor in zip(calls[0], tensors, strict=False))


def test_scalars_that_are_sizes() -> None:
    parameters = [Scalar("rows", False, M), buffer("a", M, N), buffer("b", M, is_written=True)]
    source = Code("f", parameters, {}, [], [M]).functional(["a", "b"])
    assert source.startswith("def f(rows: int, a: Tensor) -> Tensor:\n")
    assert "    M = rows\n    N = a.shape[1]\n" in source
    assert source.endswith("    launch(a, b, rows, grid=(M,))\n    return b\n")


def test_what_cannot_be_known() -> None:
    with pytest.raises(ValueError, match="no argument tells the size K, N"):
        Code("f", [buffer("a", M, 2 * N)], {}, [K], [N]).launch(["a"])
    with pytest.raises(ValueError, match="needs a tensor that it only reads"):
        Code("f", [buffer("a", M, is_written=True)], {}, [], [M]).functional(["a"])
