"""Mathematical functions under the sanitizer's tool `numbers`: what they are not defined for is found, with the number
that the caller had, and nothing is where the result is finite."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from math_functions import FUNCTIONS, arguments, source
from support import first_or_long

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

# Of these the compiler makes v_rsq of 0, and of f32 a product for small numbers, and selects something else.
ROOTS = ("acos", "acosh", "asin", "hypot", "sqrt")
NAMES = [function.name for function in FUNCTIONS]
DTYPES = (np.float32, np.float64)
# Functions, arguments, what the tool finds, and of which number.
BAD: list[tuple[str, tuple[float, ...], str, float]] = [
    *((name, (0.0,), "infinity", 0.0) for name in ("log", "log2", "log10", "logb", "lgamma", "erfcinv", "y0", "y1")),
    *((name, (-0.5,), "nan", -0.5) for name in ("log", "log2", "log10", "sqrt", "y0", "y1", "erfcinv", "normcdfinv")),
    *((name, (0.0,), "infinity", 0.0) for name in ("normcdfinv",)),
    *((name, (2.0,), "nan", 2.0) for name in ("acos", "asin", "atanh", "erfinv", "normcdfinv")),
    *((name, (1.0,), "infinity", 1.0) for name in ("atanh", "erfinv", "normcdfinv")),
    *((name, (-1.0,), "infinity", -1.0) for name in ("atanh", "erfinv", "log1p", "lgamma")),
    *((name, (-2.0,), "nan", -2.0) for name in ("tgamma", "log1p", "rsqrt", "acosh", "acos", "asin", "atanh")),
    *((name, (-30.0,), "infinity", -30.0) for name in ("erfcx",)),
    *((name, (1000.0,), "infinity", 1000.0) for name in ("exp", "exp10", "expm1", "sinh", "cosh")),
    *((name, (-1000.0,), "infinity", -1000.0) for name in ("sinh", "cosh")),
    ("exp2", (2000.0,), "infinity", 2000.0),
    ("erfcinv", (2.0,), "infinity", 2.0),
    ("acosh", (0.5,), "nan", 0.5),
    ("pow", (-1.5, 0.5), "nan", -1.5),
    ("pow", (0.0, -1.5), "infinity", 0.0),
    ("fmod", (1.0, 0.0), "nan", 0.0),
    ("remainder", (1.0, 0.0), "nan", 0.0),
    ("rhypot", (0.0, 0.0), "infinity", 0.0),
]


@pytest.fixture(scope="module", params=first_or_long(["gfx942", "gfx1100", "gfx1201", "gfx90a"], 1))
def module(clang: str, request: pytest.FixtureRequest) -> wave_runtime.Module:
    return wave_runtime.compile(source(), target=request.param, cache=False)


def evaluate(
    module: wave_runtime.Module, name: str, dtype: type, *x: np.ndarray
) -> tuple[np.ndarray, list[wave_runtime.Finding]]:
    columns = [torch.from_numpy(np.array(column, dtype)) for column in (x[0], x[-1])]
    out = torch.empty_like(columns[0])
    kernel = module["evaluate_f32" if dtype == np.float32 else "evaluate_f64"]
    with wave_runtime.sanitize("numbers") as report:
        kernel(*columns, out, NAMES.index(name), len(out), grid=-(-len(out) // 64), block=64)
    return out.numpy(), list(report.findings)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bad_arguments_are_found(module: wave_runtime.Module, dtype: type) -> None:
    """One lane has them, where the others have good ones."""
    wrong = []
    for name, bad, kind, number in BAD:
        if name not in NAMES:
            continue
        columns = [np.full(64, 0.75, dtype) for _ in bad]
        if name == "acosh":
            columns[0][:] = 1.5
        for column, value in zip(columns, bad, strict=True):
            column[7] = value
        result, findings = evaluate(module, name, dtype, *columns)
        assert np.isfinite(np.delete(result, 7)).all()
        assert not np.isfinite(result[7]), (name, bad, result[7])
        found = [(finding.kind, finding.message) for finding in findings]
        what = "a NaN" if kind == "nan" else "an infinity"
        if found != [(kind, f"an instruction makes {what} of finite operands: {number:g}")]:
            wrong.append((name, bad, found))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("dtype", DTYPES)
def test_good_arguments_are_no_findings(module: wave_runtime.Module, dtype: type) -> None:
    wrong = []
    edges = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 5e-324, 1e-310, 1e-40, -1e-40, 30.0, 700.0, 1e30, -3.0])
    for function in FUNCTIONS:
        with np.errstate(all="ignore"):
            columns = arguments(function, np.dtype(dtype), 500, seed=3)
            columns = [np.concatenate([column, edges]).astype(dtype) for column in columns]
        result, _ = evaluate(module, function.name, dtype, *columns)
        finite = np.isfinite(result)
        if function.name in ROOTS:
            finite &= np.all([(abs(column) < 1e28) & ~np.isin(abs(column), (0, 1)) for column in columns], axis=0)
        result, findings = evaluate(module, function.name, dtype, *(column[finite] for column in columns))
        if findings:
            wrong.append((function.name, [(finding.kind, finding.message) for finding in findings]))
    assert not wrong, "\n".join(map(str, wrong))
