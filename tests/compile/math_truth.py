"""What HIP's mathematical functions are: to many digits by mpmath, and at the edges by the C library."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable

from mpmath import mp, mpf

mp.prec = 160
_INF, _NAN = math.inf, math.nan


def _sinpi(x: mpf) -> mpf:
    return mp.sinpi(x - 2 * mp.nint(x / 2))


def _cospi(x: mpf) -> mpf:
    return mp.cospi(x - 2 * mp.nint(x / 2))


def _erfcx(x: mpf) -> mpf:
    if x < 40:
        return mp.exp(x * x) * mp.erfc(x)
    term, total = mpf(1), mpf(0)
    for k in range(1, 60):
        total += term
        term *= -(2 * k - 1) / (2 * x * x)
    return total / (x * mp.sqrt(mp.pi))


def _erfcinv(y: mpf) -> mpf:
    if y > 1:
        return -_erfcinv(2 - y)
    if y > 0.1:
        return mp.erfinv(1 - y)
    x = mp.sqrt(-mp.log(y))
    for _ in range(30):
        scaled = _erfcx(x)
        step = (mp.log(scaled) - x * x - mp.log(y)) * scaled * mp.sqrt(mp.pi) / 2
        x += step
        if abs(step) < x * mpf(2) ** -120:
            break
    return x


def _erfinv(x: mpf) -> mpf:
    return mp.sign(x) * _erfcinv(1 - abs(x)) if abs(x) > 0.9 else mp.erfinv(x)


def _length(x: mpf, y: mpf) -> mpf:
    return mp.sqrt(x * x + y * y)


_SAME_NAMES = "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp expm1 log log10 log1p sin sinh"
# By the names of double precision, for arguments in the domain whose results are finite.
TRUTH: dict[str, Callable[..., mpf]] = {
    **{name: getattr(mp, name) for name in [*_SAME_NAMES.split(), "sqrt", "tan", "tanh"]},
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "cospi": _cospi,
    "cyl_bessel_i0": lambda x: mp.besseli(0, x),
    "cyl_bessel_i1": lambda x: mp.besseli(1, x),
    "erfcinv": _erfcinv,
    "erfcx": _erfcx,
    "erfinv": _erfinv,
    "exp10": lambda x: mpf(10) ** x,
    "exp2": lambda x: mpf(2) ** x,
    "hypot": _length,
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x),
    "log2": lambda x: mp.log(x, 2),
    "normcdf": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
    "normcdfinv": lambda y: -mp.sqrt(2) * _erfcinv(2 * y),
    "pow": lambda x, y: x**y,
    "rcbrt": lambda x: mp.sign(x) / mp.cbrt(abs(x)),
    "rhypot": lambda x, y: 1 / _length(x, y),
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sinpi": _sinpi,
    "tgamma": mp.gamma,
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
}

# What the C library lacks, at arguments that are infinite, zero, or outside of the domain.
SPECIAL: dict[str, Callable[[float], float]] = {
    "cospi": lambda x: _NAN if math.isinf(x) else 1.0,
    "cyl_bessel_i0": lambda x: _INF if math.isinf(x) else 1.0,
    "cyl_bessel_i1": lambda x: x,
    "erfcinv": lambda y: _INF if y == 0 else -_INF if y == 2 else _NAN,
    "erfcx": lambda x: 1.0 if x == 0 else 0.0 if x > 0 else _INF,
    "erfinv": lambda x: x if x == 0 else math.copysign(_INF, x) if abs(x) == 1 else _NAN,
    "normcdf": lambda x: 0.5 if x == 0 else 1.0 if x > 0 else 0.0,
    "normcdfinv": lambda y: -_INF if y == 0 else _INF if y == 1 else _NAN,
    "rcbrt": lambda x: math.copysign(0.0, x) if math.isinf(x) else math.copysign(_INF, x),
    "rsqrt": lambda x: math.copysign(_INF, x) if x == 0 else 0.0 if x > 0 else _NAN,
    "sinpi": lambda x: _NAN if math.isinf(x) else x,
}

_LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))


def by_library(name: str, *arguments: float, single: bool = False) -> float:
    """What the C library computes, in double or single precision."""
    kind = ctypes.c_float if single else ctypes.c_double
    function = getattr(_LIBRARY, name + "f" * single)
    function.restype, function.argtypes = kind, [kind] * len(arguments)
    return float(function(*arguments))
