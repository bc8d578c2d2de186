"""hip_fp16.h, hip_bf16.h and hip_math_constants.h: every name of AMD's, beside NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mpmath import mp
from torch import Tensor

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

HEAD = "#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n#include <hip/hip_math_constants.h>\n"
NUMBERS = {torch.float16: "__half", torch.bfloat16: "__hip_bfloat16"}
PAIRS = {torch.float16: "__half2", torch.bfloat16: "__hip_bfloat162"}
BOTH = pytest.mark.parametrize("dtype", NUMBERS)
TYPES = {**NUMBERS, torch.float32: "float", torch.float64: "double", torch.int32: "int", torch.int64: "long long"}


def compute(lines: list[str], *inputs: Tensor, out: torch.dtype, target: str = "gfx942") -> list[Tensor]:
    """What expressions of a, b, c and i give, each for all i."""
    size = len(inputs[0])
    results = torch.zeros(len(lines), size, dtype=out)
    parameters = [f"const {TYPES[tensor.dtype]}* {name}_" for name, tensor in zip("abc", inputs, strict=False)]
    values = [f"const {TYPES[tensor.dtype]} {name} = {name}_[i];" for name, tensor in zip("abc", inputs, strict=False)]
    stores = [f"out[{k}ul * n + i] = {line};" for k, line in enumerate(lines)]
    source = (
        f"{HEAD}__global__ void map({', '.join(parameters)}, {TYPES[out]}* out, int n) {{\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  "
        + "\n  ".join(values + stores)
        + "\n}"
    )
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    kernel = wave_runtime.compile(source, target=target, options=options)["map"]
    kernel(*inputs, results.view(-1), size, grid=-(-size // 256), block=256)
    return list(results)


def every(dtype: torch.dtype) -> Tensor:
    return torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)


def two(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Operands: each edge with each, and random bits."""
    edges = [0, 1, 2, 0x3FF, 0x400, 0x7F, 0x80, 0x3C00, 0x3BFF, 0x3F80, 0x4248, 0x7BFF, 0x7F7F, 0x7C00, 0x7F80]
    edges += [0x7E00, 0x7FC0, 0x7FFF, 0x6800, 0x1234]
    words = np.array(edges + [edge | 0x8000 for edge in edges], np.uint16)
    some = np.random.default_rng(5).integers(0, 1 << 16, (2, 4000)).astype(np.uint16)
    sides = (np.repeat(words, len(words)), np.tile(words, len(words)))
    a, b = (torch.from_numpy(np.concatenate(pair).view(np.int16)) for pair in zip(sides, some, strict=True))
    return a.view(dtype), b.view(dtype)


def rounded(exact: np.ndarray, dtype: torch.dtype) -> Tensor:
    """From double: NumPy rounds once, and what bfloat16 does is exact in float, or rounded there as in the header."""
    with np.errstate(over="ignore"):
        if dtype == torch.float16:
            return torch.from_numpy(exact.astype(np.float16))
        return torch.from_numpy(exact.astype(np.float32)).bfloat16()


def assert_same(actual: Tensor, expected: Tensor, what: str) -> None:
    """Bit by bit, but that all NaNs are one."""
    same = (actual.view(torch.int16) == expected.view(torch.int16)) | (actual.isnan() & expected.isnan())
    assert same.all(), (what, same.logical_not().nonzero()[:5].flatten().tolist())


def in_pairs(name: str, *arguments: str, dtype: torch.dtype) -> str:
    """A function of pairs, whose other number is another one: both as they come out, the wanted one chosen by i."""
    pair = PAIRS[dtype]
    turned = ", ".join(f"{pair}{{{x}, {x}}}" for x in arguments)
    return f"(i & 1 ? {name}({turned}).x : {name}({turned}).y)"


@BOTH
def test_arithmetic(dtype: torch.dtype) -> None:
    a, b = two(dtype)
    x, y = a.double().numpy(), b.double().numpy()
    with np.errstate(all="ignore"):
        exact = {"add": x + y, "sub": x - y, "mul": x * y}
        quotient = rounded(x / y, dtype)
    expected = {"__hdiv(a, b)": quotient, in_pairs("__h2div", "a", "b", dtype=dtype): quotient}
    for name, value in exact.items():
        near = rounded(value, dtype)
        clamped = torch.where(near < 0, 0.0, torch.where(near > 1, 1.0, near.float())).to(dtype)
        for form, wanted in (("", near), ("_rn", near), ("_sat", clamped)):
            expected[f"__h{name}{form}(a, b)"] = wanted
            expected[in_pairs(f"__h{name}2{form}", "a", "b", dtype=dtype)] = wanted
    for (line, wanted), actual in zip(expected.items(), compute([*expected], a, b, out=dtype), strict=True):
        assert_same(actual, wanted, line)


@BOTH
def test_fused_products(dtype: torch.dtype) -> None:
    a, b = two(dtype)
    c = b.flip(0)
    x, y, z = (tensor.double().numpy() for tensor in (a, b, c))
    with np.errstate(all="ignore"):
        product = x * y  # exact
        total = product + z
        virtual = total - product
        error = (product - (total - virtual)) + (z - virtual)
    chosen = ~np.isfinite(total) | (error == 0)  # where the sum is exact, too
    assert chosen.mean() > 0.2
    near = rounded(total, dtype)
    clamped = torch.where(near < 0, 0.0, torch.where(near > 1, 1.0, near.float())).to(dtype)
    lines = {"__hfma(a, b, c)": near, "__hfma_sat(a, b, c)": clamped}
    lines |= {in_pairs("__hfma2", "a", "b", "c", dtype=dtype): near}
    lines |= {in_pairs("__hfma2_sat", "a", "b", "c", dtype=dtype): clamped}
    index = torch.from_numpy(chosen)
    for (line, wanted), actual in zip(lines.items(), compute([*lines], a, b, c, out=dtype), strict=True):
        assert_same(actual[index], wanted[index], line)


@BOTH
def test_comparisons(dtype: torch.dtype) -> None:
    a, b = two(dtype)
    operators = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}
    nan = a.isnan() | b.isnan()
    one = PAIRS[dtype]
    lines: dict[str, Tensor] = {}
    for name, holds in operators.items():
        plain = holds(a, b)
        for form, wanted in ((name, plain), (f"{name}u", plain | nan)):
            lines[f"__h{form}(a, b)"] = wanted
            lines[f"__h{form}2({one}{{a, b}}, {one}{{b, a}}).x == ({NUMBERS[dtype]})1.0f"] = wanted
            lines[f"__h{form}2({one}{{b, a}}, {one}{{a, b}}).y == ({NUMBERS[dtype]})0.0f"] = ~wanted
            # Of halves, as in AMD's header, those of both with u are the ones without.
            both = plain if dtype == torch.float16 else wanted
            lines[f"__hb{form}2({one}{{a, a}}, {one}{{b, b}})"] = both
            lines[f"__hb{form}2({one}{{a, HIPRT_ONE}}, {one}{{b, HIPRT_ONE}})"] = both & (name in {"eq", "le", "ge"})
    lines |= {f"{one}{{a, a}} {op} {one}{{b, b}}": operators[name](a, b) for op, name in OPERATORS.items()}
    lines["__hisnan(a)"] = a.isnan()
    lines["__hisinf(a)"] = a.isinf()
    lines[f"__hisnan2({one}{{b, a}}).y == ({NUMBERS[dtype]})1.0f"] = a.isnan()
    lines[f"__hisinf2({one}{{a, b}}).x == ({NUMBERS[dtype]})1.0f"] = a.isinf()
    suffix = "FP16" if dtype == torch.float16 else "BF16"
    texts = [line.replace("HIPRT_ONE", f"HIPRT_ONE_{suffix}") for line in lines]
    for (line, wanted), actual in zip(lines.items(), compute(texts, a, b, out=torch.int32), strict=True):
        assert torch.equal(actual.bool(), wanted), line


OPERATORS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@BOTH
def test_extremes_and_signs(dtype: torch.dtype) -> None:
    a, b = two(dtype)
    first, second = torch.where(a.isnan(), b, a), torch.where(b.isnan(), a, b)  # torch.fmax has NaN of signaling ones
    larger, smaller = torch.maximum(first, second), torch.minimum(first, second)
    nan = a.isnan() | b.isnan()
    of_nan = torch.full_like(a, float("nan"))
    lines = {
        "__hmax(a, b)": larger,
        "__hmin(a, b)": smaller,
        in_pairs("__hmax2", "a", "b", dtype=dtype): larger,
        in_pairs("__hmin2", "a", "b", dtype=dtype): smaller,
        "__hmax_nan(a, b)": torch.where(nan, of_nan, larger),
        "__hmin_nan(a, b)": torch.where(nan, of_nan, smaller),
        "__hneg(a)": -a,
        "__habs(a)": a.abs(),
        in_pairs("__hneg2", "a", dtype=dtype): -a,
        in_pairs("__habs2", "a", dtype=dtype): a.abs(),
        f"(-{PAIRS[dtype]}{{b, a}}).y": -a,
    }
    zeros = (a == 0) & (b == 0)  # which of two zeros is the larger one is open
    for (line, wanted), actual in zip(lines.items(), compute([*lines], a, b, out=dtype), strict=True):
        open_ = zeros if "max" in line or "min" in line else torch.zeros_like(zeros)
        assert_same(actual[~open_], wanted[~open_], line)


FUNCTIONS = ("ceil", "floor", "trunc", "rint", "sqrt", "rcp", "rsqrt", "exp", "exp2", "exp10", "log", "log2", "log10")
FUNCTIONS += ("sin", "cos")


def test_functions_of_every_bfloat16() -> None:
    """As f32 has them, rounded; test_math_forms.py has the halves."""
    x = every(torch.bfloat16)
    lines = [f"h{name}(a)" for name in FUNCTIONS]
    lines += [in_pairs(f"h2{name}", "a", dtype=torch.bfloat16) for name in FUNCTIONS]
    results = compute(lines, x, out=torch.bfloat16)
    wide = x.double()
    for name, alone, paired in zip(FUNCTIONS, results, results[len(FUNCTIONS) :], strict=False):
        function = {"exp10": lambda v: 10.0**v, "rint": torch.round, "rcp": torch.reciprocal}.get(name)
        expected = (function or getattr(torch, name))(wide)
        near = expected.float().bfloat16()
        # Two units of float's last place in front of the rounding.
        unit = torch.exp2((torch.frexp(expected)[1] - 8).clamp(min=-133).double())
        close = (alone.double() - expected).abs() <= 0.5001 * unit
        same = (alone == near) | (alone.isnan() & near.isnan())
        assert (same | close).all(), (name, x[~(same | close)][:5], alone[~(same | close)][:5])
        assert_same(alone, paired, name)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
def test_conversions_of_floats(target: str) -> None:
    """To the nearest half below, above, and towards zero: every half, what lies around and between them, and edges."""
    halves = every(torch.float16).float()
    finite = halves[halves.isfinite()].numpy()
    middle = np.nextafter(finite, np.float32(np.inf)), np.nextafter(finite, np.float32(-np.inf))
    between = (finite.astype(np.float64) * (1 + 2**-12)).astype(np.float32)
    edges = np.array(
        [np.inf, -np.inf, np.nan, 65519.9, 65520, -65520, 1e30, -1e30, 1e-30, -1e-30, 0.0, -0.0], np.float32
    )
    x = np.concatenate([finite, *middle, between, edges])
    with np.errstate(over="ignore"):
        near = x.astype(np.float16)
        up = np.where(near < x, np.nextafter(near, np.float16(np.inf)), near)
        down = np.where(near > x, np.nextafter(near, np.float16(-np.inf)), near)
    # From zero and below nextafter gives 0 where the direction of rounding keeps the sign.
    up, down = np.copysign(up, x), np.copysign(down, x)
    zero = np.where(x < 0, up, down)
    lines = {
        "__float2half_rn(a)": near,
        "__float2half_ru(a)": up,
        "__float2half_rd(a)": down,
        "__float2half_rz(a)": zero,
    }
    lines |= {"__float2half(a)": near, "__float22half2_rn(float2{1.0f, a}).y": near}
    actual = compute([*lines], torch.from_numpy(x), out=torch.float16, target=target)
    for (line, wanted), result in zip(lines.items(), actual, strict=True):
        assert_same(result, torch.from_numpy(wanted.astype(np.float16)), line)


INTEGERS = {
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "ll": np.int64,
    "ull": np.uint64,
}
MODES = ("rn", "rz", "rd", "ru")


def test_conversions_of_integers_to_halves() -> None:
    """As in AMD's header: to the nearest half, whatever the name says."""
    rng = np.random.default_rng(7)
    columns = []
    for kind in INTEGERS.values():
        limits = np.iinfo(kind)
        some = rng.integers(max(-70000, limits.min), min(70000, limits.max), 4000)
        columns.append(np.concatenate([some.astype(kind), np.array([limits.max], kind)]))
    as_words = torch.from_numpy(np.concatenate([column.astype(np.int64) for column in columns]))
    lines = [f"__{name}2half_{mode}(a)" for name in INTEGERS for mode in MODES]
    for number, (line, actual) in enumerate(zip(lines, compute(lines, as_words, out=torch.float16), strict=True)):
        column = number // len(MODES)
        with np.errstate(over="ignore"):
            near = torch.from_numpy(columns[column].astype(np.float64).astype(np.float16))
        assert_same(actual.view(len(INTEGERS), -1)[column], near, line)


def test_conversions_of_halves_to_integers() -> None:
    """As in AMD's header: towards zero, whatever the name says."""
    halves = every(torch.float16)
    values = halves.double()
    lines = [f"__half2{name}_{mode}(a)" for name in INTEGERS for mode in MODES]
    for number, (line, actual) in enumerate(zip(lines, compute(lines, halves, out=torch.int64), strict=True)):
        limits = np.iinfo([*INTEGERS.values()][number // len(MODES)])
        inside = (values >= float(limits.min)) & (values <= float(limits.max))
        assert torch.equal(actual[inside], values[inside].trunc().long()), line


@BOTH
def test_parts_and_bits(dtype: torch.dtype) -> None:
    a, b = two(dtype)
    name, one, other = (
        ("half", "__half2", "half2") if dtype == torch.float16 else ("bfloat16", "__hip_bfloat162", "bfloat162")
    )
    v, w = f"{one}{{a, b}}", f"{one}{{b, a}}"
    lines = {
        f"__low2{name}({v})": a,
        f"__high2{name}({v})": b,
        f"__low2{other}({v}).y": a,
        f"__high2{other}({v}).x": b,
        f"__lows2{other}({v}, {w}).y": b,
        f"__lows2{other}({v}, {w}).x": a,
        f"__highs2{other}({v}, {w}).x": b,
        f"__highs2{other}({v}, {w}).y": a,
        f"__lowhigh2highlow({v}).x": b,
        f"__halves2{other}(a, b).y": b,
        f"__{name}2{other}(a).y": a,
        f"__ushort_as_{name}(__{name}_as_ushort(a))": a,
        f"__short_as_{name}(__{name}_as_short(a))": a,
        "__ldg(a_ + i)": a,
        "__ldca(a_ + i)": a,
        "__ldcg(a_ + i)": a,
        "__ldcs(a_ + i)": a,
        "__shfl(a, __lane_id())": a,
        "__shfl_xor(__shfl_xor(a, 5), 5)": a,
    }
    size = len(a) & ~63  # whole waves, for shuffles
    a, b = a[:size], b[:size]
    for (line, wanted), actual in zip(lines.items(), compute([*lines], a, b, out=dtype), strict=True):
        assert torch.equal(actual.view(torch.int16), wanted[:size].view(torch.int16)), line
    finite = a[a.isfinite()]
    floats = [f"__{name}2float(a)", f"__low2float({one}{{a, a}})", f"__high2float({one}{{a, a}})", "(float)a"]
    for line, actual in zip(floats, compute(floats, finite, out=torch.float32), strict=True):
        assert torch.equal(actual, finite.float()), line


def test_constants_of_16_bits() -> None:
    names = ("ZERO", "ONE", "NEG_ZERO", "INF", "NAN", "MAX_NORMAL", "MIN_DENORM")
    zero = torch.zeros(1)
    for dtype, suffix, words in (
        (torch.float16, "FP16", (0, 0x3C00, 0x8000, 0x7C00, 0x7FFF, 0x7BFF, 1)),
        (torch.bfloat16, "BF16", (0, 0x3F80, 0x8000, 0x7F80, 0x7FFF, 0x7F7F, 1)),
    ):
        actual = compute([f"HIPRT_{name}_{suffix}" for name in names], zero, out=dtype)
        assert [value.view(torch.int16).item() & 0xFFFF for value in actual] == [*words]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx9-generic"])
def test_products_of_pairs(target: str) -> None:
    """RDNA3 adds terms whose signs differ a last place off, of the largest of them: 2^-18."""
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-8, 9, (64,), generator=generator).half() for _ in range(2))
    c = torch.randint(-9, 9, (64,), generator=generator).float()
    product = a.float() * b.float() + b.float() * 2 + c  # exact
    lines = [f"amd_mixed_dot(__half2{{a, 2}}, __half2{{b, b}}, c, {saturates})" for saturates in ("false", "true")]
    one, limited = compute(lines, a, b, c, out=torch.float32, target=target)
    off = 2**-17 if target == "gfx1100" else 0.0
    assert (one - product).abs().max() <= off
    assert (limited - product.clamp(0, 1)).abs().max() <= off


@BOTH
def test_atomic_additions(dtype: torch.dtype) -> None:
    """64 work-items add to a pair, and to a half beside one that keeps its sign of zero."""
    pair, number = PAIRS[dtype], NUMBERS[dtype]
    single = "unsafeAtomicAdd(x + 3, (__half)2.0f);" if dtype == torch.float16 else ""
    kernel = wave_runtime.compile(
        f"{HEAD}__global__ void add({number}* x) {{\n"
        f"  unsafeAtomicAdd(reinterpret_cast<{pair}*>(x), {pair}{{({number})1.0f, ({number})0.5f}});\n  {single}\n}}"
    )["add"]
    x = torch.tensor([3, -1, -0.0, 5], dtype=dtype)
    kernel(x, grid=2, block=32)
    assert x.tolist() == [67, 31, 0, 133 if single else 5]
    assert torch.signbit(x[2])


def constants() -> dict[str, mp.mpf]:
    pi, e = mp.pi, mp.e
    return {
        **{"SQRT_TWO": mp.sqrt(2), "SQRT_HALF": 1 / mp.sqrt(2), "THIRD": mp.mpf(1) / 3, "PI": +pi, "PIO2": pi / 2},
        **{"PIO4": pi / 4, "3PIO4": 3 * pi / 4, "2_OVER_PI": 2 / pi, "L2E": mp.log(e, 2), "L2T": mp.log(10, 2)},
        **{"LG2": mp.log10(2), "LGE": mp.log10(e), "LN2": mp.log(2), "LNT": mp.log(10), "LNPI": mp.log(pi)},
    }


def test_mathematical_constants() -> None:
    with mp.workprec(200):
        pi, real = +mp.pi, constants()
        double = real | {"TWOTHIRD": mp.mpf(2) / 3, "SQRT_2PI": mp.sqrt(2 * pi), "SQRT_PIO2": mp.sqrt(pi / 2)}
        double |= {"SQRT_2OPI": mp.sqrt(2 / pi), "TWO_TO_M1022": mp.mpf(2) ** -1022, "TWO_TO_M54": mp.mpf(2) ** -54}
        double |= {f"LN2_X_{n}": mp.log(2) * n for n in (1024, 1025, 1075)}
        double |= {f"LG2_X_{n}": mp.log10(2) * n for n in (1024, 1075)}
        double |= {f"TWO_TO_{n}": mp.mpf(2) ** n for n in (23, 52, 53, 54)}
        double |= {"ZERO": mp.mpf(0), "ONE": mp.mpf(1), "NEG_ZERO": mp.mpf(0), "MIN_DENORM": mp.mpf(2) ** -1074}
        double |= {"TRIG_PLOSS": mp.mpf(2) ** 31, "DBL2INT_CVT": mp.mpf(3) * 2**51, "INF": mp.inf}
        for name in ["SQRT_HALF", "PIO4", "PIO2", "PI", "SQRT_2PI", "SQRT_PIO2", "L2E", "LG2", "LGE", "LN2", "LNT"]:
            double[f"{name}_HI"] = mp.mpf(float(double[name]))
            double[f"{name}_LO"] = double[name] - double[f"{name}_HI"]
        single = real | {"SQRT_2_OVER_PI": mp.sqrt(2 / pi), "ZERO": mp.mpf(0), "ONE": mp.mpf(1), "NEG_ZERO": mp.mpf(0)}
        single |= {f"TWO_TO_{n}": mp.mpf(2) ** n for n in (23, 24, 31, 32, 126)} | {"TWO_TO_M126": mp.mpf(2) ** -126}
        largest = (2 - mp.mpf(2) ** -23) * mp.mpf(2) ** 127
        single |= {"INF": mp.inf, "MIN_DENORM": mp.mpf(2) ** -149, "MAX_NORMAL": largest, "NORM_HUGE": largest}
        single |= {"TRIG_PLOSS": mp.mpf(105615), "SQRT_HALF_HI": mp.mpf(float(np.float32(float(real["SQRT_HALF"]))))}
        single["SQRT_HALF_LO"] = real["SQRT_HALF"] - single["SQRT_HALF_HI"]
        wanted = torch.tensor([float(value) for value in double.values()], dtype=torch.float64)
        narrow = torch.tensor([float(value) for value in single.values()], dtype=torch.float64).float()
    zero = torch.zeros(1)
    actual = torch.cat(compute([f"HIP_{name}" for name in double], zero, out=torch.float64))
    assert torch.equal(actual, wanted), [n for n, x, y in zip(double, actual, wanted, strict=True) if x != y]
    actual = torch.cat(compute([f"HIP_{name}_F" for name in single], zero, out=torch.float32))
    assert torch.equal(actual, narrow), [n for n, x, y in zip(single, actual, narrow, strict=True) if x != y]
    words = ["__double_as_longlong(HIP_NAN)", "__float_as_uint(HIP_NAN_F)", "__double_as_longlong(HIP_NEG_ZERO)"]
    words += ["__float_as_uint(HIP_NEG_ZERO_F)", "HIP_REMQUO_BITS_F", "HIP_REMQUO_MASK_F"]
    bits = [value.item() & 2**64 - 1 for value in compute(words, zero, out=torch.int64)]
    assert bits == [0xFFF8 << 48, 0x7FFFFFFF, 1 << 63, 1 << 31, 3, 7]
