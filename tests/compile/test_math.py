"""HIP's mathematical functions by the headers that stand in for HIP's: their errors, and their edges."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from math_functions import FUNCTIONS, Array, Function, amplitude_of, arguments, source, unit_of
from math_truth import SPECIAL, TRUTH, by_library
from mpmath import mpf
from support import ROOT

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

COUNT = 120
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
EDGES = [
    *(0.0, 2.0**-1074, 2.0**-1022 * 0.75, 2.0**-1022, 2.0**-149, 2.0**-126, 2.0**-126 * 0.75, 1e-30, 2.0**-28, 1e-3),
    *(0.5, 0.75, 1 - 2.0**-24, 1.0, 1 + 2.0**-23, 1 + 2.0**-52, 1.5, 2.0, 2.5, math.e, 3.0, math.pi, 4.0, 7.5, 10.0),
    *(
        math.pi / 4,
        math.pi / 2,
        88.72283,
        88.75,
        103.97,
        104.5,
        127.5,
        128.0,
        171.625,
        200.0,
        355.0,
        709.78,
        709.8,
        745.2,
    ),
    *(1e4, 2.0**24 + 2, 1e9, 2.0**31, 1e15, 2.0**53 - 1, 2.0**53, 1e22, 2.0**120, 2.0**127 * 1.9999999, 2.0**1000),
    *(2.0**1023 * (2 - 2.0**-52), math.inf),
]
EDGES = [*EDGES, *(-x for x in EDGES), math.nan]
# For functions of two arguments, each with each.
EDGES_2 = [
    0.0,
    2.0**-1074,
    2.0**-149,
    0.5,
    1.0,
    1.5,
    2.0,
    3.0,
    7.0,
    1e9 + 7,
    2.0**53,
    1e22,
    2.0**120,
    2.0**1000,
    math.inf,
]
EDGES_2 = [*EDGES_2, math.inf, -math.inf, *(-x for x in EDGES_2), math.nan]

# Where millions of arguments found a mistake.
FOUND = {"atan2": [(1.202803e-318, 1.141593180713109e-122)]}


@pytest.fixture(scope="session")
def functions(clang: str, tmp_path_factory: pytest.TempPathFactory) -> wave_runtime.Module:
    """All functions in one code object, which is compiled once."""
    return wave_runtime.compile(source(), options=["-O1"], cache=False)


def evaluate(
    module: wave_runtime.Module,
    function: Function,
    dtype: np.dtype[np.floating],
    *x: Array,
    of: Sequence[Function] = FUNCTIONS,
) -> Array:
    """The function at arguments that have the format's precision."""
    columns = [torch.from_numpy(column.astype(dtype)) for column in (x[0], x[-1])]
    out = torch.empty_like(columns[0])
    kernel = module["evaluate_f32" if dtype == F32 else "evaluate_f64"]
    kernel(*columns, out, of.index(function), len(out), grid=-(-len(out) // 64), block=64)
    return out.numpy().astype(np.float64)


def error_of(function: Function, dtype: np.dtype[np.floating], result: float, *x: float) -> float:
    """Of a finite value, in units in the last place; an infinity is the first power of two beyond the format."""
    # Of zeros and infinities the library's double is good enough, and the right limit.
    limit = len(x) == 2 and function.name != "rhypot" and (0 in x or not all(map(math.isfinite, x)))
    truth = mpf(by_library(function.name, *x)) if limit else TRUTH[function.name](*(mpf(each) for each in x))
    if abs(truth) >= mpf(2) ** (128 if dtype == F32 else 1024):
        return 0.0 if result == (math.inf if truth > 0 else -math.inf) else math.inf
    value = mpf(result)
    if math.isinf(result):
        value = math.copysign(1.0, result) * mpf(2) ** (128 if dtype == F32 else 1024)
    scale = np.array(float(abs(truth)))
    if function.is_absolute:
        scale = amplitude_of(np.array(x[0]), scale)
    elif function.name == "lgamma" and x[0] < 0:
        scale = np.maximum(scale, 1.0)  # It has zeros there at odd places.
    return float(abs(value - truth) / mpf(float(unit_of(scale, dtype))))


def same(left: float, right: float) -> bool:
    if left != left or right != right:
        return left != left and right != right
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def check(function: Function, dtype: np.dtype[np.floating], result: float, *x: float) -> None:
    """A result is within the bound where it is a plain number, else exact."""
    single, called = (
        dtype == F32,
        f"{function.name}{'f' if dtype == F32 else ''}({', '.join(map(repr, x))}) = {result!r}",
    )
    bound = function.f32 if single else function.f64
    if bound == 0:
        expected = by_library(function.name, *x, single=single)
        zero_of_any_sign = function.name in ("fmax", "fmin") and expected == 0 == result
        assert same(result, expected) or zero_of_any_sign, f"{called}, expected {expected!r}"
        return
    special = expected_at_edge(function, *x)
    if special is not None:
        assert same(result, special), f"{called}, expected {special!r}"
    else:
        error = error_of(function, dtype, result, *x)
        assert error <= bound, f"{called}, off by {error:.3f} ULP, at most {bound}"


def expected_at_edge(function: Function, *x: float) -> float | None:
    """Zeros, infinities and NaN, with their signs, or None for what TRUTH knows."""
    name = function.name
    if any(each != each for each in x) and name not in ("pow", "hypot", "rhypot"):
        return math.nan
    if name == "rhypot":
        value = by_library("hypot", *x)
        return value if value != value else None if 0 < value < math.inf else 1 / value if value else math.inf
    if name in SPECIAL:
        outside = {"erfcinv": not 0 < x[0] < 2, "normcdfinv": not 0 < x[0] < 1, "erfinv": not 0 < abs(x[0]) < 1}
        outside |= {"rsqrt": x[0] <= 0, "erfcx": x[0] < -1000, "normcdf": abs(x[0]) > 1000}
        zero = x[0] == 0 or (name == "sinpi" and x[0] == math.trunc(x[0]) if math.isfinite(x[0]) else False)
        if math.isinf(x[0]) or outside.get(name, False):
            return SPECIAL[name](x[0])
        if zero and name == "sinpi":
            return math.copysign(0.0, x[0])
        return SPECIAL[name](x[0]) if zero else None
    value = by_library(name, *x)
    return None if math.isfinite(value) and value != 0 else value


@pytest.mark.parametrize("function", FUNCTIONS, ids=[function.name for function in FUNCTIONS])
def test_errors(functions: wave_runtime.Module, function: Function) -> None:
    for dtype in (F32, F64):
        columns = arguments(function, dtype, COUNT, seed=11)
        for result, *x in zip(evaluate(functions, function, dtype, *columns), *columns, strict=True):
            check(function, dtype, float(result), *map(float, x))


@pytest.mark.parametrize("function", FUNCTIONS, ids=[function.name for function in FUNCTIONS])
def test_edges(functions: wave_runtime.Module, function: Function) -> None:
    for dtype in (F32, F64):
        points = [(x,) for x in EDGES] if len(function.draws) == 1 else [*itertools.product(EDGES_2, repeat=2)]
        points += FOUND.get(function.name, [])
        with np.errstate(over="ignore"):
            columns = list(np.array(points).astype(dtype).astype(np.float64).T.copy())
        for result, *x in zip(evaluate(functions, function, dtype, *columns), *columns, strict=True):
            if function.is_absolute and 2.0**60 < abs(x[0]) < math.inf:
                assert abs(result) < 1e-8 or x[0] < 0 or result != result
            else:
                check(function, dtype, float(result), *map(float, x))


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
def test_other_processors_give_the_same_bits(functions: wave_runtime.Module, target: str) -> None:
    names = ("atan2", "cbrt", "erfc", "exp", "fmod", "hypot", "log", "pow", "rsqrt", "sin", "tan", "tgamma", "y0")
    some = [function for function in FUNCTIONS if function.name in names]
    there = wave_runtime.compile(source(some), options=["-O1"], target=target)
    for function, dtype in itertools.product(some, (F32, F64)):
        columns = arguments(function, dtype, 256, seed=5)
        here = evaluate(functions, function, dtype, *columns)
        assert np.array_equal(evaluate(there, function, dtype, *columns, of=some), here, equal_nan=True), function.name


def test_polynomials_are_what_the_generator_makes(tmp_path: Path) -> None:
    made = tmp_path / "polynomials.h"
    subprocess.run([sys.executable, ROOT / "tools/generate_math.py", "--output", made], check=True)
    assert made.read_text() == (ROOT / "wave_emulator/device/wave_device/math/polynomials.h").read_text()
