#!/usr/bin/env python3
"""Writes wave_emulator/device/wave_device/math/polynomials.h: the polynomials and constants of the math functions.

A polynomial interpolates its function at Chebyshev's nodes of an interval, in 80 digits, and is rounded to doubles;
that comes within a factor of a few of the best polynomial of that degree. The output is reproducible.
"""

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf

OUTPUT = Path(__file__).resolve().parents[1] / "wave_emulator/device/wave_device/math/polynomials.h"
HEAD = """\
// Polynomials and constants, each with what it stands for. tools/generate_math.py makes this file.
// clang-format off
#pragma once

namespace wave_device {

// Horner's rule, from the highest coefficient downwards.
__device__ __forceinline__ double polynomial(double x, const double* coefficients, int count) {
  double value = coefficients[0];
#pragma unroll
  for (int i = 1; i < count; ++i) value = __builtin_fma(value, x, coefficients[i]);
  return value;
}

"""

OF_ERFC = "(g(t) - g(0)) / t, g = (1 + 2 x) exp(x^2) erfc(x), t = (x - 4) / (x + 4), x >= 0"
OF_ERFCINV = "erfcinv(y) v, v = 1 / sqrt(-log(y (2 - y))), 1.7 <= 1 / v <= 28"
OF_GAMMA = "(log(gamma(2 + u)) - (1 - g) u) / u^2, |u| <= 1/2, g = Euler's constant"
OF_STIRLING = "x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2), z = 1 / x^2, x >= 10"

Function = Callable[[mpf], mpf]
mp.dps = 80


@dataclass(frozen=True)
class Polynomial:
    """A function of `variable` in an interval, as a polynomial with so many terms."""

    name: str
    variable: str
    says: str
    function: Function
    low: mpf
    high: mpf
    terms: int

    def coefficients(self) -> list[float]:
        """From the constant upwards: Newton's divided differences, multiplied out."""
        middle, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        angles = [mp.pi * (2 * i + 1) / (2 * self.terms) for i in range(self.terms)]
        nodes = [middle + half * mp.cos(angle) for angle in angles]
        differences = [self.function(node) for node in nodes]
        for order in range(1, self.terms):
            for i in range(self.terms - 1, order - 1, -1):
                differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - order])
        result = [mpf(0)] * self.terms
        for difference, node in zip(reversed(differences), reversed(nodes), strict=True):
            rest = [low - node * high for low, high in itertools.pairwise(result)]
            result = [difference - node * result[0], *rest]
        return [float(value) for value in result]

    def error(self, coefficients: list[float]) -> mpf:
        """The largest error beside the largest value, at many points; not that of rounding in evaluation."""
        points = [self.low + (self.high - self.low) * (i + mpf(1) / 3) / 200 for i in range(200)]
        values = [self.function(x) for x in points]
        errors = [abs(mp.polyval(coefficients[::-1], x) - y) for x, y in zip(points, values, strict=True)]
        return max(errors) / max(abs(value) for value in values)

    def text(self) -> str:
        """The function in C++, and before it the coefficients from the highest downwards."""
        coefficients, x = self.coefficients(), self.variable
        table = "k" + "".join(word.capitalize() for word in self.name.split("_"))
        lines = [f"// {self.says}; relative error {mp.nstr(self.error(coefficients), 2)}."]
        rows = _rows([value.hex() for value in coefficients[::-1]], 4)
        lines += [f"__constant__ constexpr double {table}[] = {{", rows + "};"]
        lines += [f"__device__ __forceinline__ double {self.name}(double {x}) {{"]
        lines += [f"  return polynomial({x}, {table}, {len(coefficients)});", "}"]
        return "\n".join([*lines, ""])


def _rows(items: list[str], width: int) -> str:
    """Items with commas between them, so many in a line."""
    return ",\n".join("    " + ", ".join(items[i : i + width]) for i in range(0, len(items), width))


def _cut(value: mpf, bits: int) -> float:
    """The first bits of a value."""
    scale = mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(value), 2)))
    return float(mp.floor(value * scale) / scale)


def _parts(name: str, says: str, value: mpf, bits: int = 53, parts: int = 2) -> str:
    """A constant as a sum of doubles, all but the last of which have so many bits."""
    names = ["High", "Low"] if parts == 2 else ["High", "Middle", "Low"]
    lines = [f"// {says}"]
    for i, part in enumerate(names):
        number = float(value) if i == parts - 1 or bits == 53 else _cut(value, bits)
        lines += [f"constexpr double k{name}{part} = {number.hex()};"]
        value -= mpf(number)
    return "\n".join([*lines, ""])


def _odd(function: Function, first: mpf, power: int = 1) -> Function:
    """(f(x) - first x) / x^3, or without `- first x` f(x) / x, of z = x^2."""

    def result(z: mpf) -> mpf:
        with mp.extradps(80):
            x = mp.sqrt(z)
            return +((function(x) - first * x) / x ** (1 + power))

    return result


def _scaled_erfc(t: mpf) -> mpf:
    x = 4 * (1 + t) / (1 - t)
    with mp.extradps(40):
        return +((1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)) if x < 60 else _erfc_far(x)


def _erfc_far(x: mpf) -> mpf:
    """(1 + 2 x) exp(x^2) erfc(x) by the asymptotic series."""
    total, term, k = mpf(0), mpf(1), 0
    while abs(term) > mpf(10) ** -70:
        total += term
        k += 1
        term *= -(2 * k - 1) / (2 * x * x)
    return total * (2 + 1 / x) / mp.sqrt(mp.pi)


def _stirling(z: mpf) -> mpf:
    """x times the rest of Stirling's formula, of z = 1 / x^2."""
    x = 1 / mp.sqrt(z)
    with mp.extradps(40):
        return +(x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2))


def _inverse_erf(w: mpf) -> mpf:
    """erfinv(x) / x of w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def _inverse_erf_tail(v: mpf) -> mpf:
    """erfcinv(y) v of v = 1 / sqrt(-log(y (2 - y)))."""
    s = 1 / v
    y = -mp.expm1(mp.log1p(-mp.exp(-s * s)) / 2)
    x = s
    for _ in range(12):
        f = mp.log(mp.erfc(x)) - mp.log(y)
        x -= f / (-2 * mp.exp(-x * x) / (mp.sqrt(mp.pi) * mp.erfc(x)))
    return x / s


def _hankel_polynomial(order: int, odd: int) -> Polynomial:
    name = f"hankel_{'pq'[odd]}{order}"
    says = f"{('P', 'x Q')[odd]} of Hankel's expansion of J{order} and Y{order}, z = 1 / x^2, x >= 25"
    return Polynomial(name, "z", says, _hankel(order, odd), mpf(0), 1 / mpf(625), 7)


def _exp_square(r: mpf) -> mpf:
    return (mp.exp(r) - 1 - r) / r**2


def _exp_cubic(r: mpf) -> mpf:
    return (mp.exp(r) - 1 - r - r * r / 2) / r**3


def _erf_far(u: mpf) -> mpf:
    return mp.erf(u + mpf(5) / 2)


def _scaled_erfc_rest(t: mpf) -> mpf:
    return (_scaled_erfc(t) - _scaled_erfc(mpf(0))) / t


def _gamma_rest(u: mpf) -> mpf:
    return (mp.loggamma(2 + u) - (1 - mp.euler) * u) / u**2


def _hankel(order: int, odd: int) -> Function:
    """The P (or x times the Q) of Hankel's asymptotic expansion of a Bessel function, of z = 1 / x^2."""

    def result(z: mpf) -> mpf:
        total, term = mpf(0), mpf(1)
        for k in range(40):
            if k % 2 == odd:
                total += (-1) ** (k // 2) * term
            term *= (4 * order * order - (2 * k + 1) ** 2) / (mpf(8) * (k + 1))
            if k % 2 == 1:
                term *= z
        return total

    return result


def polynomials() -> list[Polynomial]:
    """All of them, in the order of the file. The short ones are for f32, which is computed in f64."""
    log, angle = mp.log(2) / 2 * mpf("1.0001"), (mp.pi / 4 * mpf("1.0001")) ** 2
    root, tangent = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2, ((mp.sqrt(2) - 1) * mpf("1.0001")) ** 2
    zero, one = mpf(0), mpf(1)
    sine, arc_sine = _odd(mp.sin, one, 2), _odd(mp.asin, one, 2)
    cosine, arc_tangent = _odd(lambda r: r * (mp.cos(r) - 1 + r * r / 2), zero, 4), _odd(mp.atan, one, 2)
    short_log = _odd(lambda s: 2 * mp.atanh(s), mpf(2), 2)
    long_log = _odd(lambda s: 2 * mp.atanh(s) - 2 * s**3 / 3, mpf(2), 4)
    of_sine, of_cosine = (
        "(sin(r) - r) / r^3, z = r^2, |r| <= pi / 4",
        "(cos(r) - 1 + r^2 / 2) / r^4, z = r^2, |r| <= pi / 4",
    )
    of_arc_sine, of_arc_tangent = (
        "(asin(x) - x) / x^3, z = x^2, |x| <= 1/2",
        "(atan(t) - t) / t^3, z = t^2, |t| <= sqrt(2) - 1",
    )
    of_log, of_short_log = (
        "(log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5, z = s^2",
        "(log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2",
    )
    return [
        Polynomial("exp_tail", "r", "(exp(r) - 1 - r - r^2 / 2) / r^3, |r| <= log(2) / 2", _exp_cubic, -log, log, 10),
        Polynomial("exp_tail_f32", "r", "(exp(r) - 1 - r) / r^2, |r| <= log(2) / 2", _exp_square, -log, log, 6),
        Polynomial("log_tail", "z", of_log, long_log, zero, root, 9),
        Polynomial("log_tail_f32", "z", of_short_log, short_log, zero, root, 6),
        Polynomial("sin_tail", "z", of_sine, sine, zero, angle, 7),
        Polynomial("sin_tail_f32", "z", of_sine, sine, zero, angle, 4),
        Polynomial("cos_tail", "z", of_cosine, cosine, zero, angle, 7),
        Polynomial("cos_tail_f32", "z", of_cosine, cosine, zero, angle, 4),
        Polynomial("atan_tail", "z", of_arc_tangent, arc_tangent, zero, tangent, 12),
        Polynomial("atan_tail_f32", "z", of_arc_tangent, arc_tangent, zero, tangent, 6),
        Polynomial("asin_tail", "z", of_arc_sine, arc_sine, zero, one / 4, 14),
        Polynomial("asin_tail_f32", "z", of_arc_sine, arc_sine, zero, one / 4, 7),
        Polynomial("erf_tail", "z", "(erf(x) - x) / x, z = x^2, |x| <= 1", _odd(mp.erf, one, 0), zero, one, 14),
        Polynomial("erf_tail_f32", "z", "erf(x) / x, z = x^2, |x| <= 1", _odd(mp.erf, zero, 0), zero, one, 9),
        Polynomial("erf_far_f32", "u", "erf(5/2 + u), |u| <= 3/2", _erf_far, -one * 3 / 2, one * 3 / 2, 17),
        Polynomial("erfc_scaled_rest", "t", OF_ERFC, _scaled_erfc_rest, -one, one, 26),
        Polynomial("gamma_tail", "u", OF_GAMMA, _gamma_rest, -one / 2, one / 2, 20),
        Polynomial("stirling", "z", OF_STIRLING, _stirling, mpf(10) ** -12, one / 100, 7),
        Polynomial(
            "erfinv_start", "w", "erfinv(x) / x, w = -log(1 - x^2) <= 3", _inverse_erf, mpf(10) ** -9, mpf(3), 8
        ),
        Polynomial("erfcinv_start", "v", OF_ERFCINV, _inverse_erf_tail, one / 28, 1 / mpf("1.7"), 9),
        *(_hankel_polynomial(order, odd) for order in (0, 1) for odd in (0, 1)),
    ]


def constants() -> str:
    """Numbers with more digits than a double has."""
    return "\n".join(
        [
            _parts("Log2", "log(2); the first part times an exponent is exact", mp.log(2), 41),
            _parts("Log10Of2", "log10(2); the first part times an exponent is exact", mp.log10(2), 41),
            _parts("PerLog2", "1 / log(2)", 1 / mp.log(2)),
            _parts("PerLog10", "1 / log(10)", 1 / mp.log(10)),
            _parts("Log10", "log(10)", mp.log(10)),
            _parts("NaturalOf2", "log(2)", mp.log(2)),
            _parts("HalfPi", "pi / 2", mp.pi / 2),
            _parts("Pi", "pi", mp.pi),
            _parts("PerHalfPi", "2 / pi", 2 / mp.pi, parts=3),
            _parts("RootHalf", "sqrt(1 / 2)", mp.sqrt(mpf(1) / 2)),
            _parts("ErfcMiddle", "(1 + 2 x) exp(x^2) erfc(x) at x = 4", _scaled_erfc(mpf(0))),
            _parts("GammaSlope", "1 - g, where g is Euler's constant", 1 - mp.euler),
            _parts("LogRootTwoPi", "log(2 pi) / 2", mp.log(2 * mp.pi) / 2),
        ]
    )


def bits_of_two_over_pi(words: int = 20) -> str:
    """2 / pi in words of 64 bits, after one word of zeros."""
    with mp.workprec(64 * words + 64):
        number = int(mp.floor(mp.ldexp(2 / mp.pi, 64 * (words - 1))))
    digits = f"{number:0{16 * words}x}"
    items = [f"0x{digits[16 * i : 16 * i + 16]}" for i in range(words)]
    return (
        "// 2 / pi in words of 64 bits, after one of zeros.\n"
        f"__constant__ constexpr unsigned long kTwoOverPi[] = {{\n{_rows(items, 5)}}};\n"
    )


def text() -> str:
    """The whole file."""
    parts = [constants(), bits_of_two_over_pi(), *(polynomial.text() for polynomial in polynomials())]
    return HEAD + "\n".join(parts) + "\n}  // namespace wave_device\n"


def main() -> None:
    """Write the file, or another one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.parse_args().output.write_text(text())


if __name__ == "__main__":
    main()
