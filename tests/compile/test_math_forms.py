"""HIP's functions that give two results, take integers or vectors, or are of half precision; intrinsics; overloads."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from math_truth import TRUTH, by_library
from mpmath import mp, mpf
from requirements import need
from support import ROOT
from torch import Tensor

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

X = [
    0.0,
    -0.0,
    0.3,
    -0.7,
    1.0,
    -1.5,
    2.5,
    3.5,
    -7.75,
    10.0,
    1e-40,
    -3e-310,
    123456.75,
    1e9,
    1e22,
    math.inf,
    -math.inf,
    math.nan,
]
LIBM = ctypes.CDLL("libm.so.6")


def run(body: str, *inputs: Tensor, outputs: int, head: str = "", threads: int = 64) -> list[Tensor]:
    """Lines that give out0[i], out1[i], ... of type T from a[i], b[i], ..., for T of the first input's type."""
    types = {torch.float32: "float", torch.float64: "double", torch.int32: "int", torch.int64: "long long"}
    types[torch.float16] = "__half"
    outs = [torch.zeros_like(inputs[0]) for _ in range(outputs)]
    names = [*zip("abcd", inputs, strict=False), *((f"out{i}", out) for i, out in enumerate(outs))]
    parameters = ", ".join(f"{types[tensor.dtype]}* {name}" for name, tensor in names)
    size = len(inputs[0])
    module = wave_runtime.compile(
        f"{head}\nusing T = {types[inputs[0].dtype]};\n"
        f"__global__ void k({parameters}, int n) {{\n  const int i = threadIdx.x + blockIdx.x * {threads};\n"
        f"  if (i >= n) return;\n{body}\n}}",
        options=["-O1", "-Wall", "-Wextra", "-Werror"],
    )
    module["k"](*inputs, *outs, size, grid=-(-size // threads), block=threads)
    return outs


def assert_same(actual: Tensor, expected: list[float], label: str) -> None:
    """Equal, with the signs of zeros."""
    wanted = np.array(expected, dtype=actual.numpy().dtype)
    for x, got, want in zip(X, actual.tolist(), wanted.tolist(), strict=False):
        assert (got != got and want != want) or (got == want and math.copysign(1, got) == math.copysign(1, want)), (
            f"{label} at {x!r}: {got!r}, expected {want!r}"
        )


def library(name: str, single: bool, result: type, *values: object) -> object:
    function = getattr(LIBM, name + "f" * single)
    function.restype = result
    return function(*values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parts(dtype: torch.dtype) -> None:
    single = dtype == torch.float32
    real = ctypes.c_float if single else ctypes.c_double
    x = torch.tensor(X, dtype=dtype)
    out = run(
        """
        int e; T integer;
        out0[i] = frexp(a[i], &e), out1[i] = e, out2[i] = modf(a[i], &integer), out3[i] = integer;
        out4[i] = ilogb(a[i]), out5[i] = ldexp(a[i], -3), out6[i] = scalbn(a[i], 5);
        out7[i] = scalbln(a[i], -4000000000L);
        out8[i] = isnan(a[i]) + 2 * isinf(a[i]) + 4 * isfinite(a[i]) + 8 * signbit(a[i]) + 16 * isnormal(a[i]);
        out9[i] = fma(a[i], T(3), T(1)), out10[i] = abs(a[i]), out11[i] = max(a[i], T(1)) + min(a[i], T(1));
        """,
        x,
        outputs=12,
    )
    values = [real(v) for v in x.tolist()]
    expected: list[list[float]] = [[] for _ in out]
    for value in values:
        exponent, integer = ctypes.c_int(0), real()
        v = value.value
        expected[0].append(library("frexp", single, real, value, ctypes.byref(exponent)))
        expected[1].append(exponent.value)
        expected[2].append(library("modf", single, real, value, ctypes.byref(integer)))
        expected[3].append(integer.value)
        expected[4].append(library("ilogb", single, ctypes.c_int, value))
        expected[5].append(library("ldexp", single, real, value, -3))
        expected[6].append(library("scalbn", single, real, value, 5))
        expected[7].append(library("scalbln", single, real, value, ctypes.c_long(-4000000000)))
        kind = [math.isnan(v), math.isinf(v), math.isfinite(v)]
        smallest = float(torch.finfo(dtype).tiny)
        kind += [math.copysign(1, v) < 0, math.isfinite(v) and abs(v) >= smallest]
        expected[8].append(sum(bit << i for i, bit in enumerate(kind)))
        expected[9].append(library("fma", single, real, value, real(3), real(1)))
        expected[10].append(abs(v))
        expected[11].append(v + 1 if v == v else 2)
    for i, (actual, wanted) in enumerate(zip(out, expected, strict=True)):
        assert_same(actual, wanted, f"out{i}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_results(dtype: torch.dtype) -> None:
    """They are those of the functions of one result, which test_math.py measures."""
    x = torch.tensor([*X[:-3], *torch.linspace(-20, 20, 101).tolist()], dtype=dtype)
    s, c, sp, cp, *single = run(
        """
        sincos(a[i], &out0[i], &out1[i]), sincospi(a[i], &out2[i], &out3[i]);
        out4[i] = sin(a[i]), out5[i] = cos(a[i]), out6[i] = sinpi(a[i]), out7[i] = cospi(a[i]);
        """,
        x,
        outputs=8,
    )
    for pair, alone in zip((s, c, sp, cp), single, strict=True):
        assert torch.equal(pair, alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_remquo(dtype: torch.dtype) -> None:
    single = dtype == torch.float32
    real = ctypes.c_float if single else ctypes.c_double
    points = [(x, y) for x in X for y in [*X, 0.1, -3.0]]
    a, b = (torch.tensor(column, dtype=dtype) for column in zip(*points, strict=True))
    rest, quotient = run(
        "int q; out0[i] = remquo(a[i], b[i], &q), out1[i] = q < 0 ? -(-q & 7) : q & 7;", a, b, outputs=2
    )
    for x, y, r, q in zip(a.tolist(), b.tolist(), rest.tolist(), quotient.tolist(), strict=True):
        count = ctypes.c_int(0)
        expected = library("remquo", single, real, real(x), real(y), ctypes.byref(count))
        same = r == expected and math.copysign(1, r) == math.copysign(1, expected)
        assert same or (r != r and expected != expected), (x, y, r, expected)
        if r == r:
            # At least three bits of the quotient's magnitude, and its sign.
            assert abs(int(q)) == abs(count.value) % 8, (x, y)
            assert q == 0 or (q < 0) == ((x < 0) != (y < 0)), (x, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_orders_powers_and_lengths(dtype: torch.dtype) -> None:
    x = torch.tensor([0.3, 1.0, 2.5, 7.0, 30.0, 100.0], dtype=dtype)
    body = """
    out0[i] = jn(2, a[i]), out1[i] = jn(9, a[i]), out2[i] = yn(3, a[i]), out3[i] = powi(a[i], -7),
    out4[i] = pow(a[i], 3);
    const T v[] = {a[i], T(2), T(-3), T(4)};
    out5[i] = norm3d(v[0], v[1], v[2]), out6[i] = norm4d(v[0], v[1], v[2], v[3]), out7[i] = norm(4, v);
    out8[i] = rnorm3d(v[0], v[1], v[2]), out9[i] = rnorm4d(v[0], v[1], v[2], v[3]), out10[i] = rnorm(4, v);
    out11[i] = jn(-3, -a[i]), out12[i] = yn(-3, a[i]);
    out13[i] = lrint(a[i]) + llround(a[i]), out14[i] = fdividef(a[i], 3.0f);
    """
    suffix = ("norm3d", "norm4d") if dtype == torch.float32 else ()
    for name in suffix:
        body = body.replace(f"{name}(", f"{name}f(")
    out = run(body, x, outputs=15)

    def length(*rest: int) -> Callable[[mpf], mpf]:
        return lambda v: mp.sqrt(v * v + sum(each * each for each in rest))

    functions: list[Callable[[mpf], mpf]] = [
        lambda v: mp.besselj(2, v),
        lambda v: mp.besselj(9, v),
        lambda v: mp.bessely(3, v),
        lambda v: v**-7,
        lambda v: v**3,
        *(length(2, 3), length(2, 3, 4), length(2, 3, 4)),
        *(lambda v, f=f: 1 / f(v) for f in (length(2, 3), length(2, 3, 4), length(2, 3, 4))),
        lambda v: mp.besselj(3, v),
        lambda v: -mp.bessely(3, v),
        lambda v: mpf(int(by_library("rint", float(v)))) + mp.floor(v + mpf(1) / 2),
        lambda v: v / 3,
    ]
    unit = torch.finfo(dtype).eps
    for number, (actual, function) in enumerate(zip(out, functions, strict=True)):
        bound = 40 if number in (0, 1, 2, 11, 12) and dtype == torch.float64 else 1
        bound = max(bound, unit**-1 * 2.0**-23) if number == 14 else bound  # fdividef is of f32.
        for v, result in zip(x.tolist(), actual.tolist(), strict=True):
            truth = function(mpf(v))
            assert abs(result - truth) <= bound * unit * max(abs(truth), mpf(bound > 1) / 8), (number, v, result)


def test_nan_has_a_payload() -> None:
    x = torch.zeros(1, dtype=torch.float64)
    body = """
    out0[i] = nan("0x123"), out1[i] = __longlong_as_double(__float_as_uint(nanf("010"))), out2[i] = nan("x") + a[i];
    """
    out = run(body, x, outputs=3)
    assert [each.view(torch.int64).item() for each in out] == [0x7FF8000000000123, 0x7FC00008, 0x7FF8000000000000]


HALF = [
    "ceil",
    "cos",
    "exp",
    "exp10",
    "exp2",
    "floor",
    "log",
    "log10",
    "log2",
    "rcp",
    "rint",
    "rsqrt",
    "sin",
    "sqrt",
    "trunc",
]


def test_every_half() -> None:
    """All 65,536 of them, rounded as if from the exact value, or nearly."""
    x = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    head = "#include <hip/hip_fp16.h>"
    lines = [f"out{i}[i] = h2{name}(make_half2(a[i], h{name}(a[i]))).x;" for i, name in enumerate(HALF)]
    out = run("\n".join(lines), x, outputs=len(HALF), head=head, threads=256)
    wide = x.double()
    for name, actual in zip(HALF, out, strict=True):
        function = {"exp10": lambda v: 10.0**v, "rint": torch.round, "rcp": torch.reciprocal}.get(name)
        expected = (function or getattr(torch, name))(wide)
        rounded = expected.half()
        unit = torch.exp2((torch.frexp(expected)[1] - 11).clamp(min=-24).double())
        close = (actual.double() - expected).abs() <= 0.505 * unit
        same = (actual == rounded) | (actual.isnan() & rounded.isnan())
        assert (same | close).all(), (name, x[~(same | close)][:5])


def test_integers() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (torch.from_numpy(rng.integers(-(2**31), 2**31, 64).astype(np.int32)) for _ in range(3))
    out = run(
        """
        out0[i] = __byte_perm(a[i], b[i], c[i]), out1[i] = __funnelshift_l(a[i], b[i], c[i]);
        out2[i] = __funnelshift_r(a[i], b[i], c[i]), out3[i] = __funnelshift_lc(a[i], b[i], i);
        out4[i] = __funnelshift_rc(a[i], b[i], i), out5[i] = __hadd(a[i], b[i]), out6[i] = __rhadd(a[i], b[i]);
        out7[i] = __uhadd(a[i], b[i]), out8[i] = __urhadd(a[i], b[i]), out9[i] = __sad(a[i], b[i], c[i]);
        out10[i] = __usad(a[i], b[i], c[i]), out11[i] = __mulhi(a[i], b[i]), out12[i] = __umulhi(a[i], b[i]);
        out13[i] = __mul64hi((long long)a[i] << 31, (long long)b[i] << 20) >> 7, out14[i] = __mul24(a[i], b[i]);
        out15[i] = __umul24(a[i], b[i]), out16[i] = __fns32(a[i], i & 31, 3), out17[i] = __fns64(a[i], i, -2);
        out18[i] = __lastbit_u32_u32(a[i] & ~i), out19[i] = __popcll((long long)a[i] * b[i]),
        out20[i] = __ffs(c[i] << 7);
        """,
        a,
        b,
        c,
        outputs=21,
    )

    def unsigned(v: int) -> int:
        return v & 0xFFFFFFFF

    def low_24(v: int) -> int:
        return (v & 0xFFFFFF) - (v >> 23 & 1) * (1 << 24)

    def nth(mask: int, base: int, n: int, bits: int) -> int:
        order = range(base, bits) if n > 0 else range(base, -1, -1)
        found = [i for i in order if mask >> i & 1]
        return found[abs(n) - 1] if len(found) >= abs(n) else -1

    for i, (x, y, z) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        u, v, w = unsigned(x), unsigned(y), unsigned(z)
        both = v << 32 | u
        expected = [
            sum((both >> 8 * (w >> 4 * k & 7) & 255) << 8 * k for k in range(4)),
            both << (w & 31) >> 32,
            both >> (w & 31),
            both << min(i, 32) >> 32,
            both >> min(i, 32),
            (x + y) >> 1,
            (x + y + 1) >> 1,
            (u + v) >> 1,
            (u + v + 1) >> 1,
            abs(x - y) + w,
            abs(u - v) + w,
            x * y >> 32,
            u * v >> 32,
            ((x << 31) * (y << 20) >> 64) >> 7,
            low_24(x) * low_24(y),
            (u & 0xFFFFFF) * (v & 0xFFFFFF),
            nth(u, i & 31, 3, 32),
            nth(x & (2**64 - 1), i, -2, 64),
            ((x & ~i) & -(x & ~i)).bit_length() - 1,
            (x * y & (2**64 - 1)).bit_count(),
            (w << 7 & 0xFFFFFFFF & -(w << 7 & 0xFFFFFFFF)).bit_length(),
        ]
        assert [unsigned(int(column[i])) for column in out] == [unsigned(value) for value in expected], i


def test_conversions_and_rounded_operations() -> None:
    x = torch.tensor([0.5, -0.5, 1.5, 2.5, -2.5, 3.3, -3.7, 1e6 + 0.5], dtype=torch.float64)
    out = run(
        """
        out0[i] = __double2int_rn(a[i]), out1[i] = __float2int_rz(a[i]), out2[i] = __double2ll_rd(a[i]);
        out3[i] = __float2ll_ru(a[i]), out4[i] = __hiloint2double(__double2hiint(a[i]), __double2loint(a[i]));
        out5[i] = __fma_rn(a[i], a[i], -__dmul_rn(a[i], a[i])) + __dadd_rn(a[i], 1) + __dsub_rn(a[i], 1);
        out6[i] = __ddiv_rn(a[i], 3) + __drcp_rn(a[i]) + __dsqrt_rn(a[i] * a[i]), out7[i] = __saturatef(a[i]);
        out8[i] = __frsqrt_rn(__fmul_rn(a[i], a[i])),
        out9[i] = __fdiv_rn(a[i], 3.0f) + __fsqrt_rn(__fadd_rn(4.0f, 0.0f));
        """,
        x,
        outputs=10,
    )
    f = x.float()
    expected = [x.round(), x.trunc(), x.floor(), x.ceil(), x, 2 * x, x / 3 + 1 / x + x.abs(), x.clamp(0, 1)]
    expected += [(1 / (f * f).double().sqrt()).float().double(), (f / 3 + 2).double()]
    for actual, wanted in zip(out, expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=0 if actual is not out[6] else 1e-15, atol=0)


def test_approximations() -> None:
    """Intrinsics: errors beside the result, or beside 1 where a wave's zeros are near."""
    x = torch.linspace(0.01, 3.1, 997)
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "__expf": torch.exp,
        "__exp10f": lambda v: 10.0**v,
        "__logf": torch.log,
        "__log2f": torch.log2,
        "__log10f": torch.log10,
        "__sinf": torch.sin,
        "__cosf": torch.cos,
        "__powf": lambda v: v**1.5,
    }
    lines = [f"out{i}[i] = {name}(a[i]{', 1.5f' * (name == '__powf')});" for i, name in enumerate(functions)]
    lines.append("out8[i] = __tanf(a[i]) - __fdividef(__sinf(a[i]), __cosf(a[i]));")
    *out, rest = run("\n".join(lines), x, outputs=9)
    for (name, function), actual in zip(functions.items(), out, strict=True):
        expected = function(x.double())
        error = (actual.double() - expected).abs() / expected.abs().clamp(min=1)
        assert error.max() < 2.0**-19, name
    assert (rest[:400].abs() < 1e-5).all()  # below the pole


def test_overloads() -> None:
    """exp of a float is a float, of a double or an integer a double, as in C++."""
    source = """
    template <class T, class U> struct Same { static constexpr bool value = false; };
    template <class T> struct Same<T, T> { static constexpr bool value = true; };
    #define IS(T, call) static_assert(Same<T, decltype(call)>::value, #call)
    __global__ void k(double* p) {
      IS(float, exp(1.0f)); IS(double, exp(1.0)); IS(double, exp(1)); IS(double, sqrt(2)); IS(float, sqrt(2.0f));
      IS(float, pow(1.0f, 2.0f)); IS(float, pow(1.0f, 2)); IS(double, pow(1.0, 2)); IS(double, pow(1, 2));
      IS(double, pow(1.0f, 2.0)); IS(double, atan2(1.0, 2.0f)); IS(float, atan2(1.0f, 2.0f));
      IS(double, fmax(1.0f, 2.0));
      IS(long, lrint(1.0f)); IS(long long, llround(1)); IS(int, ilogb(1.0f)); IS(int, abs(-1)); IS(float, abs(-1.0f));
      IS(double, abs(-1.0)); IS(float, max(1.0f, 2.0f)); IS(double, max(1.0, 2.0f)); IS(int, max(1, 2));
      p[0] = exp(200.0), p[1] = exp(3), p[2] = pow(2, 10), p[3] = exp(1.0f);
    }"""
    out = torch.zeros(4, dtype=torch.float64)
    wave_runtime.compile(source)["k"](out, grid=1, block=1)
    assert out.tolist() == [math.exp(200), math.exp(3), 1024.0, float(np.float32(math.e))]
    assert abs(TRUTH["exp"](mpf(3)) - math.exp(3)) < 1e-15 * math.exp(3)


def check_no_warnings(target: str) -> None:
    """The headers as a program's own, so that the compiler does not hide what it thinks of them."""
    wave_runtime.compile(
        "#include <hip/hip_fp16.h>\n__global__ void k(float* p) { *p = sinf(*p); }",
        target=target,
        options=["-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "wave_emulator/device")],
    )


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_no_warnings(each_clang: str, target: str) -> None:
    check_no_warnings(target)


def test_no_warnings_for_gfx950(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which clang 19 does not know."""
    monkeypatch.setenv("CLANG", str(need("clang-22")))
    check_no_warnings("gfx950")
