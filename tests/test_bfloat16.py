"""The header that stands in for AMD's bfloat16 where HIP's are older than it, against torch's bfloat16."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import ROOT

import wave_runtime
from wave_runtime._emulate import _extensions

SOURCES = ROOT / "tests" / "torch_extension"
FOR_ROCM_5 = Path(_extensions.__file__).with_name("torch_hip") / "for_rocm_5"
SIGNATURES = {
    "of_one": "values: *i16 const, results: *i16, count: i32",
    "of_three": "values: *i16 const, results: *i16, count: i32",
    "of_numbers": "floats: *f32 const, doubles: *f64 const, integers: *i32 const, results: *i16, count: i32",
    "to_integers": "values: *i16 const, results: *i64, count: i32",
    "add_at_once": "sum: *i16, values: *i16 const, count: i32",
}
BF16 = torch.bfloat16
ALL = torch.arange(65536, dtype=torch.int32).to(torch.int16)
# Zeros, ones, the least and the greatest numbers, infinities, NaN; of each kind both signs.
SPECIAL = torch.tensor([0x0000, 0x0001, 0x0080, 0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0x7FC0])
FUNCTIONS = ("ceil", "floor", "round", "trunc", "reciprocal", "sqrt", "rsqrt", "cos", "sin", "exp", "exp2")
ARITHMETIC: tuple[Any, ...] = (torch.add, torch.sub, torch.mul, torch.div)
EXTREMES: tuple[Any, ...] = (torch.fmax, torch.fmin)
COMPARISONS: tuple[Any, ...] = (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)

pytestmark = pytest.mark.needs("hip-compiler")


@pytest.fixture(scope="module", params=["gfx942", "gfx1201"])
def kernels(
    request: pytest.FixtureRequest, hip_toolchain: Path, tmp_path_factory: pytest.TempPathFactory
) -> wave_runtime.Module:
    built = tmp_path_factory.mktemp("bfloat16") / "kernels.hsaco"
    options = ["--offload-device-only", f"--offload-arch={request.param}", "-O1", "-std=c++17"]
    command = ["clang++-19", "-x", "hip", f"--rocm-path={hip_toolchain}", *options, f"-I{FOR_ROCM_5}"]
    subprocess.run([*command, SOURCES / "bfloat16.hip", "-o", built], check=True)
    return wave_runtime.load(built, signature=SIGNATURES)


def same(got: torch.Tensor, expected: torch.Tensor, what: str, off_by: int = 0) -> None:
    """All bits are, of zeros the sign among them, but for those of NaN; or the results are neighbours."""
    expected = expected.to(BF16)
    is_nan = expected.isnan()
    assert torch.equal(got.view(BF16).isnan(), is_nan), what
    places = [torch.where(bits < 0, -(bits.int() & 0x7FFF), bits.int()) for bits in (got, expected.view(torch.int16))]
    if off_by == 0:
        places = [got, expected.view(torch.int16)]
    assert int((places[0] - places[1]).abs()[~is_nan].max()) <= off_by, what


def run(
    kernel: wave_runtime.Kernel, rows: int, count: int, *inputs: torch.Tensor, dtype: torch.dtype = torch.int16
) -> Iterator[torch.Tensor]:
    results = torch.empty(rows, count, dtype=dtype)
    kernel(*inputs, results, count, grid=-(-count // 256), block=256)
    return iter(results)


def test_of_one_value(kernels: wave_runtime.Module) -> None:
    """Of each there is, and of it and its negative in a pair."""
    a = ALL.view(BF16)
    rows = run(kernels["of_one"], 112, len(a), ALL)

    def check(*expected: torch.Tensor, what: str, off_by: int = 0) -> None:
        for each in expected:
            same(next(rows), each, what, off_by)

    exact = {"ceil", "floor", "round", "trunc", "reciprocal", "sqrt"}
    for name in FUNCTIONS:
        f = getattr(torch, name)
        check(f(a.float()), f(a.float()), f(-a.float()), what=name, off_by=name not in exact)
    check(*(10 ** x.double() for x in (a, a, -a)), what="exp10", off_by=1)
    for f in (torch.log, torch.log2, torch.log10):
        check(f(a.float()), f(a.float()), f(-a.float()), what=f.__name__, off_by=1)

    check(-a, -a, a, -a, -a, a, what="negative")
    check(a, a, -a, what="as it is")
    check(a.abs(), a.abs(), a.abs(), what="abs")
    for one in (1, -1):
        first, last = (a, -a) if one == 1 else (a + 1 + 1, -a + 1 + 1)
        once, last_once = first + one, last + one
        check(first, first, last, once, once, last_once, what="steps")
        check(once + one, once + one, last_once + one, what="steps")
    check(a.isnan(), a.isnan(), torch.zeros_like(a), a.isinf(), a != 0, what="kinds")

    check(a, a, a, a, -a, a, a, -a, -a, what="low and high")
    check(a, -a, -a, a, what="lows and highs")
    check(-a, a, a, a, a, -a, what="pairs")
    check(a, -a, a, -a, a, -a, what="of float")
    check(a, a, a, -a, a, a, -a, what="of raw")
    assert next(rows, None) is None


def test_of_several_values(kernels: wave_runtime.Module) -> None:
    special = torch.cat([SPECIAL, SPECIAL | 0x8000])
    random = torch.randint(65536, (3, 20000), generator=torch.Generator().manual_seed(0))
    near = (random[:, :5000] & 0x83FF) | 0x3C00
    values = torch.cat([torch.cartesian_prod(special, special, special).T, random, near], 1).to(torch.int16)
    a, b, c = values.view(BF16)
    count = values.shape[1]
    rows = run(kernels["of_three"], 105, count, values)

    for f in ARITHMETIC:
        one, two = f(a, b), f(b, c)
        for each in (one, one, one, two, one, two, one, one, two, one, one, two):
            same(next(rows), each, f.__name__)
    for x, y, z in ((a, b, c), (a, b, c), (b, c, a)):
        same(next(rows), (x.double() * y.double() + z.double()).float(), "fma")
    for f in EXTREMES:
        for x, y in ((a, b), (a, b), (b, c)):
            expected = f(x.float().to(BF16), y.float().to(BF16))  # of signaling NaN C's functions make a NaN
            torch.testing.assert_close(next(rows).view(BF16), expected, rtol=0, atol=0, equal_nan=True)
    for f in COMPARISONS:
        one, two = f(a, b), f(b, c)
        unordered, also_unordered = one | a.isnan() | b.isnan(), two | b.isnan() | c.isnan()
        both = torch.logical_or if f is torch.ne else torch.logical_and
        pairs = (both(one, two), both(one, two), both(unordered, also_unordered))
        for each in (one, one, unordered, one, two, *pairs):
            same(next(rows), each, f.__name__)
    assert next(rows, None) is None


def rounded(x: np.ndarray) -> torch.Tensor:
    """Doubles of which bfloat16 has neighbours, to the nearest of them, of two the even one."""
    bits = x.view(np.int64)
    nearest = (bits + ((1 << 44) - 1 + (bits >> 45 & 1))) >> 45 << 45
    return torch.from_numpy(nearest.view(np.float64)).to(BF16)


def test_of_numbers(kernels: wave_runtime.Module) -> None:
    """Doubles, and integers, are rounded once: not to a float before."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, 20000, dtype=np.uint32)
    bits[:8] = (0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800001, 0xFFFFFFFF, 0x00008000, 0x80018000)
    ties = random.integers(0x3F80, 0x4700, 20000) + 0.5
    tie = (ties * 2**16).astype(np.uint32).view(np.float32).astype(np.float64)
    doubles = tie * random.choice((1, -1), len(tie)) * (1 + random.choice((-1, 0, 1), len(tie)) * 2.0**-40)
    integers = random.integers(-(1 << 31), 1 << 31, 20000, dtype=np.int64) >> random.integers(0, 31, 20000)
    floats = bits.view(np.float32)
    inputs = [torch.from_numpy(each) for each in (floats, doubles, integers.astype(np.int32))]
    rows = run(kernels["of_numbers"], 9, len(bits), *inputs)
    for _ in range(3):
        same(next(rows), inputs[0], "float")
    for _ in range(2):
        same(next(rows), rounded(doubles), "double")
    for dtype in (np.int32, np.uint32, np.int16, np.uint16):
        expected = integers.astype(dtype).astype(np.float64)
        same(next(rows), torch.where(torch.from_numpy(expected) == 0, 0, rounded(expected)), dtype.__name__)
    assert next(rows, None) is None


def test_to_integers(kernels: wave_runtime.Module) -> None:
    """Towards zero, where the type has the value."""
    results = run(kernels["to_integers"], 8, len(ALL), ALL, dtype=torch.int64)
    value = ALL.view(BF16).double().trunc()
    limits = (
        (-(1 << 7), 1 << 7),
        (0, 1 << 8),
        (-(1 << 15), 1 << 15),
        (0, 1 << 16),
        (-(1 << 31), 1 << 31),
        (0, 1 << 32),
    )
    for row, (low, high) in zip(results, (*limits, *[(-(1 << 63), 1 << 63)] * 2), strict=True):
        has = (value >= low) & (value < high)
        assert torch.equal(row[has].double(), value[has])


def test_sums_of_many_threads(kernels: wave_runtime.Module) -> None:
    total = torch.zeros(2, dtype=torch.int16)
    values = (torch.arange(256) % 3 - 1).to(BF16)
    kernels["add_at_once"](total, values.view(torch.int16), 255, grid=1, block=256)
    assert total.view(BF16).tolist() == [0, 255]


def test_on_the_host(hip_toolchain: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    includes = (f"-I{FOR_ROCM_5}", f"-I{hip_toolchain / 'include'}", "-D__HIP_PLATFORM_AMD__=1")
    subprocess.run(["c++", "-std=c++17", *includes, SOURCES / "bfloat16_on_host.cpp", "-o", program], check=True)
    parts = torch.randn(2, 1000, generator=torch.Generator().manual_seed(0))
    text = "".join(f"{a!r} {b!r}\n" for a, b in parts.T.tolist())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    results = torch.tensor([[float(word) for word in line.split()] for line in done.stdout.splitlines()])
    x, y = parts.to(BF16)
    expected = [x, x + y, x * y, x * y, x * y, x.maximum(y), -x, x < y]
    assert torch.equal(results.T, torch.stack([each.float() for each in expected]))
