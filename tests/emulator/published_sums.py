"""What an MI300 was found to give for sums of products that tell one rule of addition from another.

From Khattak, Mikaitis and Graziani, "Accurate Models of AMD Matrix Cores" (arXiv 2609.14845), section 4.3, with the
operands that the formalization in pauljiang03/TC-EFT (amd/tests) gives them. Left out is the one output of bf16 that
the formalization holds for a mistake of the paper's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import frexp, inf, nan


@dataclass(frozen=True)
class Sum:
    """``kind``: the type of A and B, as instructions have it. ``d``: what C plus the products A B gave."""

    kind: str
    factors: tuple[tuple[float, float], ...]
    c: float
    d: float


def two(exponent: int) -> float:
    return 2.0**exponent


def bits(first: int, last: int) -> float:
    """The sum of 2^-first to 2^-last."""
    return sum(two(-i) for i in range(first, last + 1))


def halved(product: float) -> tuple[float, float]:
    """Two factors whose exponents halve that of their product."""
    if product == 0:
        return 0.0, 1.0
    half = -((frexp(abs(product))[1] - 1) // 2)
    return product * two(half), two(-half)


def of(kind: str, products: list[float], c: float, d: float) -> Sum:
    return Sum(kind, tuple(map(halved, products)), c, d)


def both(kind: str, products: list[float], c: float, d: float, negative: float) -> Iterator[Sum]:
    """And with all signs changed, where the result is ``negative``."""
    yield of(kind, products, c, d)
    yield of(kind, [-p for p in products], -c, negative)


def f16() -> Iterator[Sum]:
    yield Sum("f16", ((two(-24), two(-24)),), 0, two(-48))
    yield of("f16", [0], two(-140), two(-140))
    yield of("f16", [1], two(-23) + two(-24), 1 + two(-22))
    for c, p, q in ((1, two(-24), two(-24)), (two(-24), 1, two(-24)), (two(-24), two(-24), 1)):
        yield from both("f16", [p, q], c, 1 + two(-23), -1 - two(-23))
    for i in range(1, 16):  # eight at once
        products = [two(-24) if k in (0, i) else 0.0 for k in range(16)]
        yield of("f16", products, 1, 1 + two(-23) if i < 8 else 1)
    x = two(-24) + two(-25)
    for three in ([1, 0, x], [1, x, 0], [0, 1, x], [x, 1, 0], [x, 0, 1], [0, x, 1]):
        yield from both("f16", three, 0, 1, -1)
    for i in range(10):
        yield from both("f16", [1, two(-24) + two(-25 - i)], 0, 1, -1)
    rest = tuple(map(halved, (two(-23), two(-24), two(-24))))
    yield Sum("f16", ((1.5, 1.5), *rest), 0, 2.25 + two(-22))
    yield Sum("f16", ((2.25, 1.0), *rest), 0, 2.25)
    yield of("f16", [two(-25), two(-25), two(-24)], 1, 1 + two(-23))
    for i in range(23):
        yield from both("f16", [1], two(-24) + two(-25 - i), 1, -1 - two(-23))
    yield of("f16", [1, two(-24)], two(-24), 1 + two(-23))
    for i in range(10):
        yield from both("f16", [two(-24) + two(-25 - i)], 1, 1 + two(-23) if i < 7 else 1, -1 - two(-23))
    for j in range(11):
        more = -bits(32, 30 + j) if j >= 2 else 0.0
        yield of("f16", [-two(-24), -bits(26, min(31, 30 + j)), more], 1, 1 - two(-24) if j <= 2 else 1 - two(-23))
    yield of("f16", [-two(-24), -bits(26, 31), two(-33)], 1, 1 - two(-24))
    for i in range(24, 33):
        yield of("f16", [two(-22), two(-23) + two(-i)], 2 - two(-22), 2 + two(-22) if i <= 30 else 2)
    for i in range(28, 33):
        products = [-two(-21), -two(-22), -bits(24, i)]
        yield of("f16", products, -2 + two(-21), -2 - two(-22) if i <= 30 else -2 - two(-21))
    yield of("f16", [two(-24), two(-31)], 1, 1 + two(-23))
    yield of("f16", [two(-24), two(-32)], 1, 1)
    yield of("f16", [-two(-24), -bits(26, 32)], 1, 1 - two(-24))
    yield of("f16", [two(29), -two(29)], two(4), 0)
    yield Sum("f16", ((inf, 1.0),), 0, inf)
    yield Sum("f16", ((inf, 1.0), (-inf, 1.0)), 0, nan)


def bf16() -> Iterator[Sum]:
    yield of("bf16", [two(35), -two(35)], two(10), 0)
    yield Sum("bf16", ((two(64), two(64)),), 0, inf)
    yield Sum("bf16", ((two(64), -two(64)),), 0, -inf)
    large = 1.5 * two(64), 1.5 * two(63)
    yield Sum("bf16", (large, (large[0], -large[1])), 0, nan)
    yield of("bf16", [1.5 * two(127), 1.5 * two(127), -1.5 * two(127)], 0, 1.5 * two(127))
    for i in range(24):
        small = two(-149) if i < 6 else 0.0
        yield of("bf16", [two(-150), two(-152 - i)], 0, small)
        yield of("bf16", [two(-150), 0, two(-152 - i)], 0, small)
        yield of("xf32", [two(-150), two(-152 - i)], 0, small)
    for i in range(23):
        yield of("bf16", [-two(-150), -two(-152 - i)], 0, -two(-149))
    for j in range(11):
        d = two(-127) + two(-149) if j <= 3 else two(-127)
        yield of("bf16", [two(-140), two(-150), two(-154 - j)], two(-127) - two(-140), d)


def xf32() -> Iterator[Sum]:
    for sign in (1, -1):
        yield Sum("xf32", ((1 + two(-10) + two(-11), float(sign)),), 0, sign * (1 + two(-10)))
    for i in range(1, 8):  # four at once
        yield of("xf32", [two(-24) if k in (0, i) else 0.0 for k in range(8)], 1, 1 + two(-23) if i < 4 else 1)


def bf8() -> Iterator[Sum]:
    x = two(-24) + two(-25)
    for three in ([1, 0, x], [x, 0, 1]):
        yield from both("bf8", three, 0, 1, -1)
    for three in ([1, x, 0], [0, 1, x], [x, 1, 0], [0, x, 1]):
        yield from both("bf8", three, 0, 1, -1 - two(-23))
    for i in range(11):
        yield from both("bf8", [1], two(-24) + two(-25 - i), 1, -1 - two(-23))
    for i in (1, 2):
        yield from both("bf8", [two(-24) + two(-24 - i)], 1, 1 + two(-23), -1 - two(-23))
    yield from both("bf8", [1, two(-24)], two(-25), 1, -1 - two(-23))
    for i in range(20):
        yield from both("bf8", [1, two(-24)], two(-26 - i), 1, -1)
        yield from both("bf8", [1], two(-24) + two(-25 - i), 1, -1 - two(-23))
    for pair in ([1, two(-25)], [two(-25), 1]):
        yield from both("bf8", pair, x, 1, -1 - two(-22))
    yield of("bf8", [1, two(5), 0, -two(5)], two(-20), 1)
    yield of("bf8", [two(29), -two(29)], two(4), 0)


SUMS = [*f16(), *bf16(), *xf32(), *bf8()]
