"""HIP's mathematical functions: how they are called, where they are tried, and the errors that are allowed.

The bounds are those of AMD's HIP documentation, "HIP math API" of ROCm 7, in units in the last place (ULP), where they
are given there: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/math_api.html. Of functions that are listed
there without a bound ("No C++ STD implementation", "Unsupported") they are ours. Here they hold for all arguments, not
only in AMD's test ranges, and against the exact value, not against another library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Random arguments: so many of them, in a format with that smallest and largest exponent.
Draw = Callable[[np.random.Generator, int, tuple[float, float]], Array]


def uniform(low: float, high: float) -> Draw:
    """Numbers of an interval, all alike."""
    return lambda random, count, _: random.uniform(low, high, count)


def powers(low: float, high: float, positive: bool = False) -> Draw:
    """Numbers with magnitudes from 2^low to 2^high, each power alike."""

    def draw(random: np.random.Generator, count: int, limits: tuple[float, float]) -> Array:
        exponents = random.uniform(*np.clip((low, high), *limits), count)
        return np.exp2(exponents) * (1 if positive else random.choice([-1.0, 1.0], count))

    return draw


def mixed(*draws: Draw) -> Draw:
    """Some of each."""

    def draw(random: np.random.Generator, count: int, limits: tuple[float, float]) -> Array:
        return np.concatenate([one(random, count // len(draws) + 1, limits) for one in draws])[:count]

    return draw


def below_one(low: float) -> Draw:
    """1 - 2^low ... 1."""
    return lambda random, count, _: 1 - np.exp2(random.uniform(low, -1, count))


EVERY, POSITIVE, SMALL = powers(-1080, 1024), powers(-1080, 1024, True), powers(-60, 6)


@dataclass(frozen=True)
class Function:
    """A function of one or two numbers, by its name in double precision.

    `is_absolute`: the error is counted in units of the largest value nearby, since there are zeros at odd places.
    """

    name: str
    f32: float
    f64: float
    draws: tuple[Draw, ...]
    is_absolute: bool = False


def _one(name: str, f32: float, f64: float, *draws: Draw, is_absolute: bool = False) -> Function:
    return Function(name, f32, f64, (mixed(*draws),), is_absolute)


_ANGLES = (EVERY, uniform(-10, 10), uniform(-1e6, 1e6))
_NEAR_ONE = (uniform(-1, 1), powers(-60, 0))
_BASES = mixed(uniform(0, 4), powers(-40, 40, True), uniform(0.9, 1.1))
# Whose quotients by larger numbers are normal.
_TINY = powers(-1074, -1000)
_PLAIN = (uniform(-10, 10), EVERY)

FUNCTIONS = [
    _one("acos", 1, 1, *_NEAR_ONE, below_one(-52)),
    _one("acosh", 1, 1, uniform(1, 3), powers(0, 1024, True)),
    _one("asin", 2, 1, *_NEAR_ONE, below_one(-52)),
    _one("asinh", 1, 1, EVERY, uniform(-3, 3)),
    _one("atan", 2, 1, EVERY, uniform(-4, 4)),
    _one("atanh", 1, 1, *_NEAR_ONE),
    _one("cbrt", 2, 1, EVERY, uniform(-100, 100)),
    _one("ceil", 0, 0, *_PLAIN),
    _one("cos", 1, 1, *_ANGLES),
    _one("cosh", 1, 1, uniform(-715, 715), uniform(-3, 3), SMALL),
    _one("cospi", 1, 2, *_ANGLES),
    _one("cyl_bessel_i0", 1, 3, uniform(-30, 30), uniform(-715, 715), SMALL),
    _one("cyl_bessel_i1", 1, 3, uniform(-30, 30), uniform(-715, 715), SMALL),
    _one("erf", 4, 4, uniform(-6.2, 6.2), uniform(-1.2, 1.2), powers(-60, 2)),
    _one("erfc", 2, 2, uniform(-7, 28), uniform(-4, 4), powers(-60, 3)),
    _one("erfcinv", 1, 4, uniform(0, 2), powers(-1074, 1, True)),
    _one("erfcx", 5, 5, uniform(-26, 30), uniform(-2, 2), powers(-60, 1020, True)),
    _one("erfinv", 1, 4, *_NEAR_ONE, below_one(-52)),
    _one("exp", 1, 1, uniform(-750, 710), uniform(-104, 89), SMALL),
    _one("exp10", 1, 1, uniform(-324, 308.3), uniform(-45, 38.6), SMALL),
    _one("exp2", 1, 1, uniform(-1075, 1024), uniform(-150, 128), SMALL),
    _one("expm1", 1, 1, uniform(-40, 710), uniform(-1, 1), SMALL),
    _one("fabs", 0, 0, *_PLAIN),
    _one("floor", 0, 0, *_PLAIN),
    _one("j0", 1, 16, uniform(0, 8), uniform(0, 60), powers(-20, 40), is_absolute=True),
    _one("j1", 1, 16, uniform(0, 8), uniform(0, 60), powers(-20, 40), is_absolute=True),
    _one("lgamma", 4, 2, uniform(0.5, 20), powers(-60, 1000, True)),
    _one("log", 2, 1, POSITIVE, uniform(0.5, 2)),
    _one("log10", 2, 1, POSITIVE, uniform(0.5, 2)),
    _one("log1p", 1, 1, uniform(-1, 3), powers(-80, -1), POSITIVE),
    _one("log2", 1, 1, POSITIVE, uniform(0.5, 2)),
    _one("logb", 0, 0, EVERY),
    _one("nearbyint", 0, 0, *_PLAIN),
    _one("normcdf", 1, 3, uniform(-38, 8), uniform(-3, 3)),
    _one("normcdfinv", 1, 4, uniform(0, 1), powers(-1074, -1, True)),
    _one("rcbrt", 1, 1, EVERY, uniform(-100, 100)),
    _one("rint", 0, 0, *_PLAIN),
    _one("round", 0, 0, *_PLAIN),
    _one("rsqrt", 1, 1, POSITIVE),
    _one("sin", 1, 1, *_ANGLES),
    _one("sinh", 1, 1, uniform(-715, 715), uniform(-3, 3), SMALL),
    _one("sinpi", 2, 2, *_ANGLES),
    _one("sqrt", 1, 1, POSITIVE),
    _one("tan", 1, 1, *_ANGLES),
    _one("tanh", 2, 1, uniform(-22, 22), uniform(-1, 1), SMALL),
    _one("tgamma", 6, 6, uniform(0.5, 15), uniform(-180, 172), powers(-60, 4)),
    _one("trunc", 0, 0, *_PLAIN),
    _one("y0", 1, 16, uniform(0, 8), uniform(0, 60), powers(-20, 40, True), is_absolute=True),
    _one("y1", 1, 16, uniform(0, 8), uniform(0, 60), powers(-20, 40, True), is_absolute=True),
    Function("atan2", 1, 1, (mixed(EVERY, uniform(-4, 4), _TINY), mixed(EVERY, uniform(-2, 2), powers(-600, -100)))),
    Function("copysign", 0, 0, (EVERY, EVERY)),
    Function("fdim", 0, 0, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("fmax", 0, 0, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("fmin", 0, 0, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("fmod", 0, 0, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("hypot", 1, 1, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("nextafter", 0, 0, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("pow", 1, 1, (_BASES, mixed(uniform(-2, 2), uniform(-20, 20), SMALL))),
    Function("remainder", 0, 0, (mixed(*_PLAIN), mixed(*_PLAIN))),
    Function("rhypot", 1, 1, (uniform(-100, 100), uniform(-10, 100))),
]
LIMITS = {np.dtype(np.float32): (-149.0, 127.99), np.dtype(np.float64): (-1074.0, 1023.99)}


def source(functions: Sequence[Function] = FUNCTIONS) -> str:
    """A kernel for each precision that evaluates the function of a number at each work-item's arguments."""
    kernels = []
    for kernel, number, suffix in (("evaluate_f32", "float", "f"), ("evaluate_f64", "double", "")):
        cases = [
            f"    case {i}: result = {function.name}{suffix}({'x, y' if len(function.draws) == 2 else 'x'}); break;"
            for i, function in enumerate(functions)
        ]
        kernels += [
            f'extern "C" __global__ void {kernel}(const {number}* a, const {number}* b, {number}* out, int which,',
            "                                     int n) {",
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;",
            "  if (i >= n) return;",
            f"  const {number} x = a[i], y = b[i];",
            f"  {number} result = 0;",
            "  switch (which) {",
            *cases,
            "  }",
            "  out[i] = result;",
            "}",
        ]
    return "\n".join(kernels)


def arguments(function: Function, dtype: np.dtype[np.floating], count: int, seed: int) -> list[Array]:
    """Random arguments, which have the format's precision, as doubles."""
    random = np.random.default_rng(seed)
    draws = [draw(random, count, LIMITS[dtype]) for draw in function.draws]
    with np.errstate(over="ignore"):
        return [draw.astype(dtype).astype(np.float64) for draw in draws]


def unit_of(value: Array, dtype: np.dtype[np.floating]) -> Array:
    """The unit in the last place."""
    bits, smallest = (24, -149) if dtype == np.float32 else (53, -1074)
    return np.ldexp(1.0, np.maximum(np.frexp(value)[1] - bits, smallest))


def amplitude_of(x: Array, value: Array) -> Array:
    """What errors near the zeros of Bessel functions are compared with: the height of the waves."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.maximum(np.abs(value), np.minimum(1.0, np.sqrt(2 / (np.pi * np.abs(x)))))
