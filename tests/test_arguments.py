"""Arguments: packed exactly, and checked before anything runs."""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import EXAMPLES, LoadKernel
from torch.autograd import forward_ad

import wave_runtime

SIGNATURE = "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, bytes[8]"
INTEGERS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


def bounds(name: str) -> tuple[int, int]:
    bits = INTEGERS[name]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name[0] == "i" else (0, 2**bits - 1)


@pytest.fixture(scope="module")
def all_types(language: LoadKernel) -> wave_runtime.Kernel:
    return language("argument_types", SIGNATURE)


def stored(kernel: wave_runtime.Kernel, *scalars: object) -> list[bytes]:
    """Each argument as the kernel found it, in eight bytes that were zero."""
    out = torch.zeros(104, dtype=torch.uint8)
    kernel(out, *scalars, grid=1, block=1)
    return [bytes(out[i : i + 8].tolist()) for i in range(0, 104, 8)]


values = st.tuples(
    *(st.integers(*bounds(name)) for name in INTEGERS),
    st.booleans(),
    st.floats(width=64),
    st.floats(width=64),
    st.floats(width=64),
    st.binary(min_size=8, max_size=8),
)


@given(values)
def test_packing_is_exact(all_types: wave_runtime.Kernel, scalars: tuple[object, ...]) -> None:
    found = stored(all_types, *scalars)
    with np.errstate(over="ignore"):
        expected = [struct.pack(code, value) for code, value in zip("bBhHiIqQ?", scalars, strict=False)]
        expected += [np.float16(scalars[9]).tobytes(), np.float32(scalars[10]).tobytes(), struct.pack("d", scalars[11])]
    expected += [scalars[12]]
    for index, (have, want) in enumerate(zip(found, expected, strict=True)):
        if isinstance(scalars[index], float) and scalars[index] != scalars[index]:
            code = {9: "e", 10: "f", 11: "d"}[index]  # any NaN
            (number,) = struct.unpack_from(code, have)
            have, want = have[len(want) :], b"" if number != number else want
        assert have == want.ljust(len(have), b"\0"), (index, scalars[index])


BF16 = [Fraction(np.uint32(bits << 16).view(np.float32).item()) for bits in range(0x7F80)]  # every finite magnitude


def nearest_bf16(value: float) -> int:
    """The bits of the nearest bfloat16, ties to even, by exact arithmetic."""
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    magnitude = abs(Fraction(value))
    if magnitude >= BF16[-1] + (BF16[-1] - BF16[-2]) / 2:
        return sign | 0x7F80
    low = bisect_right(BF16, magnitude) - 1
    if low + 1 < len(BF16):
        below, above = magnitude - BF16[low], BF16[low + 1] - magnitude
        low += below > above or (below == above and low % 2 == 1)
    return sign | low


@given(
    st.one_of(
        st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(-1e-37, 1e-37), st.floats(-300, 300)
    )
)
def test_bf16_is_rounded_to_nearest_even(language_bf16: wave_runtime.Kernel, value: float) -> None:
    found = stored(language_bf16, 0, 0, 0, 0, 0, 0, 0, 0, False, value, 0.0, 0.0, bytes(8))[9]
    assert struct.unpack("<H", found[:2])[0] == nearest_bf16(value)


@pytest.fixture(scope="module")
def language_bf16(language: LoadKernel) -> wave_runtime.Kernel:
    return language("argument_types", SIGNATURE.replace("f16", "bf16", 1))


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_range(all_types: wave_runtime.Kernel, name: str) -> None:
    index = 1 + list(INTEGERS).index(name)
    low, high = bounds(name)
    for value in (low - 1, high + 1):
        scalars: list[object] = [0, 0, 0, 0, 0, 0, 0, 0, False, 0.0, 0.0, 0.0, bytes(8)]
        scalars[index - 1] = value
        message = rf"kernel 'argument_types', argument {index}: .*{value}"
        with pytest.raises(ValueError, match=message):
            stored(all_types, *scalars)


def test_what_counts_as_a_number(all_types: wave_runtime.Kernel) -> None:
    scalars = [np.int8(-5), True, np.int16(7), 3, np.int64(-9), 1, 2, 3, True, 1, np.float32(2.5), torch.tensor(4.5)]
    found = stored(all_types, *scalars, bytearray(8))
    assert struct.unpack("b", found[0][:1]) == (-5,)
    assert struct.unpack("e", found[9][:2]) == (1.0,)
    assert struct.unpack("f", found[10][:4]) == (2.5,)
    assert struct.unpack("d", found[11]) == (4.5,)


@pytest.mark.parametrize(
    ("position", "value", "error", "message"),
    [
        (5, 1.0, TypeError, r"argument 5: expected i32, given the float 1\.0$"),
        (5, 1.5, TypeError, r"argument 5: expected i32, given the float 1\.5$"),
        (11, 10**400, ValueError, "argument 11: expected f32, given an integer that is too large for any float"),
        (5, "1", TypeError, "argument 5: expected i32, given str"),
        (5, None, TypeError, "argument 5: expected i32, given NoneType"),
        (
            5,
            torch.tensor(1),
            TypeError,
            r"argument 5: expected i32, given a tensor of dtype int64 and shape \[\]: pass tensor\.item\(\)$",
        ),
        (9, 2, ValueError, "argument 9: expected bool, an integer from 0 to 1, given 2"),
        (11, "1", TypeError, "argument 11: expected f32, given str"),
        (
            11,
            torch.tensor(2),
            TypeError,
            r"argument 11: expected f32, given a tensor of dtype int64 and shape \[\]: pass tensor\.item\(\)$",
        ),
        (11, torch.ones(2), TypeError, r"argument 11: expected f32, given a tensor of dtype float32 and shape \[2\]$"),
        (13, bytes(7), ValueError, "argument 13: expected 8 bytes, given 7"),
        (13, 5, TypeError, r"argument 13: expected bytes\[8\], given the integer 5"),
        (0, None, TypeError, r"argument 0: expected a tensor \(\*u8\), given None"),
        (0, np.zeros(104, np.int8), TypeError, r"argument 0: expected a tensor for \*u8, given one of dtype int8"),
        (
            0,
            12345,
            TypeError,
            r"argument 0: expected a tensor \(\*u8\), given int: pass the tensor itself, not its data_ptr",
        ),
        (0, torch.zeros(104), TypeError, r"argument 0: expected a tensor for \*u8, given one of dtype float32"),
        (
            0,
            torch.zeros(208, dtype=torch.uint8)[::2],
            ValueError,
            r"argument 0: expected a contiguous tensor, given shape \[104\]",
        ),
        (
            0,
            torch.zeros(104, dtype=torch.uint8).to_sparse(),
            TypeError,
            "argument 0: expected a strided tensor, given one of layout Sparse",
        ),
    ],
)
def test_wrong_argument(
    all_types: wave_runtime.Kernel, position: int, value: object, error: type[Exception], message: str
) -> None:
    arguments: list[object] = [torch.zeros(104, dtype=torch.uint8), *[0] * 8, False, 0.0, 0.0, 0.0, bytes(8)]
    arguments[position] = value
    with pytest.raises(error, match=f"kernel 'argument_types', {message}"):
        all_types(*arguments, grid=1, block=1)


def test_types_of_mx_formats() -> None:
    """Scales of eight bits, and numbers of four, of which torch has two in an element."""
    signature = {"vector_add": "scales: *f8e8m0fnu const, numbers: *f4e2m1fn_x2 const, c: *f32, n: i32"}
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["vector_add"]
    assert kernel.signature == signature["vector_add"]
    a, b, c = torch.randn(64), torch.randn(64), torch.zeros(64)
    scales, numbers = a.view(torch.uint8).view(torch.float8_e8m0fnu), b.view(torch.uint8).view(torch.float4_e2m1fn_x2)
    kernel(scales, numbers, c, 64, grid=1, block=64)
    assert torch.equal(c, a + b)
    with pytest.raises(
        TypeError, match=r"'numbers': expected a tensor for \*f4e2m1fn_x2 const, given .*float8_e8m0fnu"
    ):
        kernel(scales, scales, c, 64, grid=1, block=64)


def test_each_kind_of_fp8_is_its_own() -> None:
    """CDNA3's numbers (FNUZ) and those of OCP have the same bits, and mean other numbers."""
    signature = "*f8e4m3fnuz const, *, *, i32"
    module = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature={"vector_add": signature})
    x = torch.zeros(64)
    with pytest.raises(TypeError, match=r"expected a tensor for \*f8e4m3fnuz const, given .*float8_e4m3fn\b"):
        module["vector_add"](x.to(torch.float8_e4m3fn), x, x.clone(), 16, grid=1, block=64)


def test_number_of_arguments(vector_add: wave_runtime.Kernel) -> None:
    message = r"kernel 'vector_add' takes 4 arguments \(a: \*f32 const, b: \*f32 const, c: \*f32, n: i32\), given 1"
    with pytest.raises(TypeError, match=message):
        vector_add(torch.ones(1), grid=1, block=64)
    with pytest.raises(
        TypeError, match=r"unexpected keyword 'threads'; it takes grid=, block=, shared_memory=, cluster="
    ):
        vector_add(torch.ones(1), torch.ones(1), torch.ones(1), 1, grid=1, block=64, threads=0)  # type: ignore[call-arg]


def test_names_of_arguments_are_in_messages(vector_add: wave_runtime.Kernel) -> None:
    with pytest.raises(TypeError, match=r"argument 3 'n': expected i32, given the float 1\.5"):
        vector_add(torch.ones(1), torch.ones(1), torch.ones(1), 1.5, grid=1, block=64)


def test_devices_and_overlap(vector_add: wave_runtime.Kernel) -> None:
    x = torch.ones(64)
    with pytest.raises(ValueError, match=r"different devices: argument 0 'a' is on cpu, argument 1 'b' on meta"):
        vector_add(x, x.to("meta"), torch.ones(64), 64, grid=1, block=64)
    with pytest.raises(ValueError, match="argument 2 'c', which the kernel writes, shares memory with argument 0 'a'"):
        vector_add(x, torch.ones(64), x, 64, grid=1, block=64)
    both = torch.ones(100)
    with pytest.raises(ValueError, match="shares memory"):
        vector_add(both[:64], torch.ones(64), both[36:], 64, grid=1, block=64)
    vector_add(x, x, both[:64], 64, grid=1, block=64)  # twice, but only read
    vector_add(both[:32], both[:32], both[32:64], 32, grid=1, block=64)  # parts of one storage that do not overlap
    assert both[32:64].tolist() == [4.0] * 32


def test_overlap_of_storages(vector_add: wave_runtime.Kernel) -> None:
    """Storages over one numpy array share its memory; lazy copies do not share what is written."""
    array = np.ones(128, dtype=np.float32)
    whole, same, ones = torch.from_numpy(array), torch.from_numpy(array), torch.ones(64)
    with pytest.raises(ValueError, match="argument 2 'c', which the kernel writes, shares memory with argument 0 'a'"):
        vector_add(whole[:64], ones, same[63:127], 64, grid=1, block=64)
    vector_add(whole[:64], ones, same[64:], 64, grid=1, block=64)  # parts that do not overlap
    assert array.tolist() == [1.0] * 64 + [2.0] * 64
    with pytest.raises(wave_runtime.KernelFault, match="a store of 4 bytes into the storage of argument 0 'a'"):
        vector_add(whole[32:96], ones, same[:32], 64, grid=1, block=64)
    a = torch.ones(64)
    lazy = torch._lazy_clone(a)
    vector_add(a, ones, lazy, 64, grid=1, block=64)
    assert (a.sum(), lazy.sum()) == (64, 128)


def test_lazy_values_are_refused(vector_add: wave_runtime.Kernel) -> None:
    x, negative = torch.ones(64), torch._neg_view(torch.ones(64))
    for arguments in ((negative, x, torch.ones(64)), (x, x, negative)):
        with pytest.raises(ValueError, match=r"lazy negative .*resolve_neg\(\)"):
            vector_add(*arguments, 64, grid=1, block=64)


def test_untyped_scalars_take_the_type_that_is_passed(probe: LoadKernel) -> None:
    """A binary tells how long a by-value argument is, not whether it is a float."""
    kernel = probe("preloaded", "*u8, b64, b32, b32")
    out = torch.zeros(16, dtype=torch.uint8)
    kernel(out, 0, 1.5, -2, grid=1, block=64)
    assert struct.unpack("fi", bytes(out[:8].tolist())) == (1.5, -2)
    kernel(out, 0, 2**32 - 1, 0, grid=1, block=64)
    assert struct.unpack("I", bytes(out[:4].tolist())) == (2**32 - 1,)


def test_strides_any(probe: LoadKernel) -> None:
    """The kernel sees the storage: nothing is copied, so it reads neighbours that the view skips."""
    kernel = probe("load_at", strides="any")
    source, out = torch.arange(128, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    kernel(source[::2], out, 0, 0, grid=1, block=64)
    assert out.tolist() == list(range(64))


def test_launch_raw(vector_add: wave_runtime.Kernel) -> None:
    a, b, c = torch.randn(100), torch.randn(100), torch.zeros(100)
    packed = struct.pack("<QQQi", a.data_ptr(), b.data_ptr(), c.data_ptr(), 100)
    vector_add.launch_raw(packed, grid=1, block=128, memory=[a, b, c])
    assert torch.equal(c, a + b)
    with pytest.raises(ValueError, match=r"'vector_add' takes 288 bytes of arguments, given 1000"):
        vector_add.launch_raw(bytes(1000), grid=1, block=128)
    with pytest.raises(wave_runtime.KernelFault, match=r"a load of 4 bytes .*memory\[0\] \(float32 \[100\]\)"):
        vector_add.launch_raw(packed, grid=1, block=128, memory=[c])
    with pytest.raises(TypeError, match=r"memory\[0\]: expected a tensor, given int"):
        vector_add.launch_raw(packed, grid=1, block=128, memory=[5])  # type: ignore[list-item]


def test_what_a_raw_launch_only_reads(vector_add: wave_runtime.Kernel) -> None:
    a, b, c = torch.randn(100), torch.randn(100), torch.zeros(100)
    packed = struct.pack("<QQQi", a.data_ptr(), b.data_ptr(), c.data_ptr(), 100)
    vector_add.launch_raw(packed, grid=1, block=128, memory=[c], reads=[a, b])
    assert torch.equal(c, a + b)
    assert (a._version, b._version, c._version) == (0, 0, 1)
    with pytest.raises(
        wave_runtime.KernelFault, match=r"a store of 4 bytes into reads\[2\] .*: it was given as reads="
    ):
        vector_add.launch_raw(packed, grid=1, block=128, reads=[a, b, c])
    with pytest.raises(TypeError, match=r"reads\[0\]: expected a tensor, given int"):
        vector_add.launch_raw(packed, grid=1, block=128, reads=[5])  # type: ignore[list-item]


def test_launches_that_are_not_looked_at(vector_add: wave_runtime.Kernel) -> None:
    """With raw=True neither autograd nor arguments that share memory are looked at; the bounds of memory are."""
    a = torch.ones(1000, requires_grad=True)
    kept = a.exp()
    with pytest.raises(RuntimeError, match="requires grad"):
        vector_add._launch_addresses(a, a, torch.empty(1000), 1000, grid=4, block=256)
    with pytest.raises(ValueError, match="shares memory"):
        vector_add._launch_addresses(a.detach(), a.detach(), a.detach(), 1000, grid=4, block=256)
    vector_add._launch_addresses(a, a, a, 1000, grid=4, block=256, raw=True)
    assert a.eq(2).all()
    kept.sum().backward()  # nobody has told autograd
    short = torch.empty(500)
    with pytest.raises(wave_runtime.KernelFault, match="past the end of argument 2 'c'"):
        vector_add._launch_addresses(a, a, short, 1000, grid=4, block=256, raw=True)
    room = torch.empty(1000)
    there = a.detach()
    vector_add._launch_addresses(there, there, room[:500], 1000, grid=4, block=256, process_memory=True)
    assert room.eq(4).all()
    with torch.inference_mode():
        vector_add._launch_addresses(a, a, torch.empty(1000), 1000, grid=4, block=256, raw=True)


def test_a_number_whose_tensor_requires_grad_raises() -> None:
    """Its gradient would be lost, as that of other tensors."""
    signature = "a: *f32 const, b: *f32 const, c: *f32, n: f32"
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature={"vector_add": signature})[
        "vector_add"
    ]
    a, c = torch.ones(4), torch.zeros(4)
    number = torch.tensor(4, dtype=torch.int32).view(torch.float32)  # the bits of the number of elements
    parameter = torch.nn.Parameter(number)
    message = "kernel 'vector_add': a tensor requires grad, but a launch has no derivative"

    def launch(n: torch.Tensor, grid: int = 1) -> None:
        kernel(a, a, c, n, grid=grid, block=64)

    for n in (parameter, parameter * 1):
        with pytest.raises(RuntimeError, match=message):
            launch(n)
    with pytest.raises(ValueError, match="has an extent below 1"):  # reported before gradients
        launch(parameter, grid=0)
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="a tensor carries a forward-mode tangent"):
        launch(forward_ad.make_dual(number, torch.tensor(1.0)))
    bound = kernel.bind(a, a, c, parameter, grid=1, block=64)
    with pytest.raises(RuntimeError, match=message):
        bound()
    assert (c._version, c.tolist()) == (0, [0.0] * 4)

    def without_gradient() -> None:
        with torch.no_grad():
            launch(parameter)

    def in_inference() -> None:
        with torch.inference_mode():
            launch(parameter)

    def bound_without_gradient() -> None:
        with torch.no_grad():
            bound()

    ways = [without_gradient, in_inference, bound_without_gradient, lambda: launch(parameter.detach())]
    for way in [*ways, lambda: launch(number)]:
        c.zero_()
        way()
        assert c.tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("rest", "scalars", "dwords"),
    [
        ("i32, bytes[8]", (1, struct.pack("<2i", 2, 3)), (2, 3)),
        ("i32, bytes[12]", (1, struct.pack("<3i", 2, 3, 4)), (3, 4)),
        ("i8, bytes[3], i32, i32, i32", (1, b"abc", 2, 3, 4), (3, 4)),
    ],
)
def test_bytes_are_aligned_by_their_size(
    probe: LoadKernel, rest: str, scalars: tuple[object, ...], dwords: tuple[int, int]
) -> None:
    """Where the file does not say where arguments lie: the kernel stores their fifth dword and the sixth one."""
    out = torch.zeros(4, dtype=torch.int32)
    probe("preloaded", f"*i32, {rest}")(out, *scalars, grid=1, block=16)
    assert tuple(out.tolist()[:2]) == dwords
