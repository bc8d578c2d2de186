"""Kernels that take a matrix row by row: types, lengths of rows, and waves that share one."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from catalog import normalization
from catalog._rows import by_row
from catalog.gemm import gelu
from torch.nn import functional
from wave_support import Compile, grid

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}

# Columns, and the waves that share them.
SPLITS = ((256, 1), (64, 1), (128, 1), (512, 1), (256, 2), (256, 4), (1024, 4), (2048, 8))


def close(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Within two units in the last place of the type, and some noise of f32 sums near zero."""
    tolerance = max(2 * torch.finfo(got.dtype).eps, 1e-5)
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=1e-5)


@pytest.mark.parametrize(("kind", "dtype", "split"), grid(product(normalization.KINDS, TYPES, SPLITS)))
def test_normalization(compile_wave: Compile, kind: str, dtype: str, split: tuple[int, int]) -> None:
    columns, waves = split
    reference, weights = normalization.KINDS[kind]
    path = compile_wave(f"normalization.{kind}({columns}, {waves}, tkl.{dtype})")
    run = by_row(path, ", ".join([f"*{dtype} const"] * (1 + weights) + [f"*{dtype}", "i64"]), columns=columns)
    for rows in (1, 7):
        tensors = [torch.randn(rows, columns), *(torch.randn(columns) for _ in range(weights))]
        inputs = [tensor.to(TYPES[dtype]) for tensor in tensors]
        close(run(*inputs), reference(*inputs))


@pytest.mark.parametrize(("kind", "dtype", "split"), grid(product(("sum", "max", "min"), TYPES, SPLITS)))
def test_row_reduction(compile_wave: Compile, kind: str, dtype: str, split: tuple[int, int]) -> None:
    columns, waves = split
    path = compile_wave(f"reduction.reduce_rows(tkw.{kind}, {columns}, {waves}, tkl.{dtype})")
    run = by_row(path, f"*{dtype} const, *f32, i64", columns=columns, output=lambda a: a.new_empty(len(a)).float())
    reference = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}[kind]
    for rows in (1, 7):
        a = torch.randn(rows, columns).to(TYPES[dtype])
        torch.testing.assert_close(run(a), reference(a.float(), dim=1), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("dtype", "columns"), grid(product(("i32", "f32"), (64, 128, 256, 512))))
def test_cumsum(compile_wave: Compile, dtype: str, columns: int) -> None:
    run = by_row(
        compile_wave(f"reduction.cumsum({columns}, tkl.{dtype})"), f"*{dtype} const, *{dtype}, i64", columns=columns
    )
    a = torch.randint(-50, 50, (5, columns)).to(torch.int32 if dtype == "i32" else torch.float32)
    torch.testing.assert_close(run(a), torch.cumsum(a, dim=1, dtype=a.dtype), rtol=0, atol=0)


@pytest.mark.parametrize(("function", "dtype"), grid(product(("gelu", "silu", "relu", "softplus"), TYPES)))
def test_activation(compile_wave: Compile, function: str, dtype: str) -> None:
    run = by_row(
        compile_wave(f"elementwise.activation(elementwise.{function}, tkl.{dtype})"),
        f"*{dtype} const, *{dtype}, i64, i64",
    )
    reference = {"gelu": gelu, "silu": functional.silu, "relu": torch.relu, "softplus": functional.softplus}[function]
    for shape in ((3, 256), (5, 257), (1, 1)):
        a = (3 * torch.randn(shape)).to(TYPES[dtype])
        close(run(a), reference(a.float()).to(a.dtype))
