"""Arguments on every driver: packed exactly, and checked before anything runs."""

from __future__ import annotations

import struct
from functools import partial

import pytest
import torch
from conformance_support import WAYS, Driver, Launch, Way
from requirements import does_not_apply
from support import PROBES

import wave_runtime
from wave_runtime._kernel import call_operator

INTEGERS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}
ZEROS: tuple[object, ...] = (0, 0, 0, 0, 0, 0, 0, 0, False, 0.0, 0.0, 0.0, bytes(24))


def bounds(name: str) -> tuple[int, int]:
    bits = INTEGERS[name]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name[0] == "i" else (0, 2**bits - 1)


def stored(launch: Launch, driver: Driver, scalars: tuple[object, ...]) -> list[bytes]:
    out = driver.zeros(128, torch.uint8)
    launch(out, *scalars, grid=1, block=64)
    found = bytes(out.tolist())
    return [found[i : i + 8] for i in range(0, 128, 8)]


SCALARS = [
    ("zeros", ZEROS),
    ("lowest", (*(bounds(name)[0] for name in INTEGERS), False, -65504.0, -1e-45, -5e-324, bytes(range(24)))),
    ("highest", (*(bounds(name)[1] for name in INTEGERS), True, 1e5, 3.4e38, 1.7e308, bytes([255] * 24))),
    ("some", (-2, 200, -300, 60000, -70000, 4000000000, -(2**40), 2**63 + 1, True, 0.1, 0.1, 0.1, bytes(24))),
]


@pytest.mark.parametrize("scalars", [values for _, values in SCALARS], ids=[name for name, _ in SCALARS])
@pytest.mark.parametrize("way_name", ["call", "bound", "operator"])
def test_packing_is_exact(
    driver: Driver, module: wave_runtime.Module, way_name: str, scalars: tuple[object, ...]
) -> None:
    kernel = module["store_scalars"]
    found = stored(WAYS[way_name](kernel), driver, scalars)
    expected = [struct.pack(f"<{code}", value) for code, value in zip("bBhHiIqQ?", scalars, strict=False)]
    half = torch.tensor(scalars[9], dtype=torch.float64).half().view(torch.int16).item()
    expected += [struct.pack("<h", half)]
    expected += [torch.tensor(scalars[10], dtype=torch.float64).float().numpy().tobytes()]
    expected += [struct.pack("<d", scalars[11])]
    mixed = scalars[12]
    assert isinstance(mixed, bytes)
    expected += [mixed[0:4], mixed[4:6], mixed[8:16], mixed[16:19]]
    assert found == [value.ljust(8, b"\0") for value in expected]


def test_arguments_larger_than_the_usual(driver: Driver, module: wave_runtime.Module, way_without_structs: Way) -> None:
    values = list(range(-200, 200))
    out = driver.zeros(400)
    way_without_structs(module["copy_large"])(out, struct.pack("<400i", *values), grid=1, block=64)
    assert out.tolist() == values


@pytest.fixture(params=["call", "bound", "sequence", "operator"])
def way_without_structs(request: pytest.FixtureRequest) -> Way:
    """Operators of one kernel take no structs."""
    return WAYS[request.param]


@pytest.fixture
def add(driver: Driver, module: wave_runtime.Module, way: Way) -> Launch:
    return way(module["vector_add"])


def test_result(driver: Driver, add: Launch) -> None:
    a, b, c = driver.randn(1000), driver.randn(1000), driver.zeros(1000, torch.float32)
    add(a, b, c, 1000, grid=4, block=256)
    assert torch.equal(c, a + b)


def test_no_elements(driver: Driver, add: Launch) -> None:
    """They lie nowhere: the kernel gets null pointers, whatever storage the tensors are of."""
    base = driver.randn(64)
    before, empty = base.clone(), base[:0]
    add(empty, empty, empty, 0, grid=1, block=64)
    assert torch.equal(base, before)
    if driver.driver == "emulator":  # others end with it
        with pytest.raises(wave_runtime.KernelFault, match="address 0x0"):
            add(empty, empty, empty, 64, grid=1, block=64)


def test_part_of_a_storage(driver: Driver, add: Launch) -> None:
    base = driver.randn(300)
    expected = base.clone()
    expected[100:164] = base[:64] + base[200:264]
    add(base[:64], base[200:264], base[100:164], 64, grid=1, block=64)
    assert torch.equal(base, expected)


def test_number_of_arguments(driver: Driver, module: wave_runtime.Module) -> None:
    kernel = module["vector_add"]
    a = driver.randn(4)
    for launch in (kernel, lambda *args, **options: kernel.bind(*args, **options)):
        with pytest.raises(TypeError, match=r"kernel 'vector_add' takes 4 arguments \(.*\), given 3"):
            launch(a, a, a, grid=1, block=64)


@pytest.mark.parametrize(
    ("position", "value", "error", "message"),
    [
        (3, 1.5, TypeError, "argument 3 'n': expected i32, given the float 1.5"),
        (3, "1", TypeError, "argument 3 'n': expected i32, given str"),
        (3, None, TypeError, "argument 3 'n': expected i32, given NoneType"),
        (3, 2**31, ValueError, "argument 3 'n': expected i32, an integer from -2147483648 to 2147483647, given 2147"),
        (3, 2**70, ValueError, "argument 3 'n': 1180591620717411303424 does not fit in 64 bits"),
        (0, None, TypeError, r"argument 0 'a': expected a tensor \(\*f32 const\), given None"),
        (0, 4096, TypeError, "argument 0 'a': expected a tensor .*not its data_ptr"),
        (2, "int32", TypeError, r"argument 2 'c': expected a tensor for \*f32, given one of dtype int32"),
        (
            1,
            "strided",
            ValueError,
            r"argument 1 'b': expected a contiguous tensor, given shape \[50\] with strides \[2\]",
        ),
        (1, "sparse", TypeError, "argument 1 'b': (expected a strided tensor|a bound launch takes plain tensors)"),
    ],
)
@pytest.mark.parametrize("way_name", ["call", "bound"])
def test_wrong_argument(
    driver: Driver,
    module: wave_runtime.Module,
    way_name: str,
    position: int,
    value: object,
    error: type[Exception],
    message: str,
) -> None:
    if position < 3 and isinstance(value, str):
        tensors = {
            "int32": driver.zeros(50),
            "strided": driver.randn(100)[::2],
            "sparse": driver.randn(50).to_sparse(),
        }
        value = tensors[value]
    c = driver.zeros(50, torch.float32)
    arguments: list[object] = [driver.randn(50), driver.randn(50), c, 50]
    arguments[position] = value
    with pytest.raises(error, match=f"kernel 'vector_add', {message}"):
        WAYS[way_name](module["vector_add"])(*arguments, grid=1, block=64)
    assert not c.any()


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_range(driver: Driver, module: wave_runtime.Module, name: str) -> None:
    position = list(INTEGERS).index(name)
    for value in (bounds(name)[0] - 1, bounds(name)[1] + 1):
        scalars = list(ZEROS)
        scalars[position] = value
        with pytest.raises(ValueError, match=rf"kernel 'store_scalars', argument {position + 1} '{name}': .*{value}"):
            stored(module["store_scalars"], driver, tuple(scalars))


def test_length_of_a_struct(driver: Driver, module: wave_runtime.Module) -> None:
    with pytest.raises(ValueError, match="argument 13 'mixed': expected 24 bytes, given 23"):
        stored(module["store_scalars"], driver, (*ZEROS[:-1], bytes(23)))


def test_arguments_that_the_file_does_not_list(driver: Driver) -> None:
    """AMD's HIP would drop them, whatever way they are handed over."""
    if driver.is_nvidia:
        does_not_apply("the kernel is AMD's")
    signature = "*i32 const, *i32, i32, i32"
    kernel = wave_runtime.load(PROBES / "probes.hsaco", signature={"load_at": signature})["load_at"]
    source, out = driver.ints(*range(64)), driver.zeros(64)
    if driver.driver == "emulator":
        kernel(source, out, 0, 0, grid=1, block=64)
        assert out.tolist() == list(range(64))
        return
    with pytest.raises(ValueError, match=r"kernel 'load_at': its file does not list its arguments, and AMD's HIP"):
        kernel(source, out, 0, 0, grid=1, block=64)


def test_no_tensor(driver: Driver) -> None:
    kernel = driver.load(signature={"trap": "u64"})["trap"]
    with pytest.raises(ValueError, match="no tensor among the arguments, so there is no device to launch on: say it"):
        kernel(0, grid=1, block=64)


@pytest.mark.parametrize("form", ["call", "bound"])
def test_no_tensor_but_a_device(driver: Driver, form: str) -> None:
    """What it does is seen in memory that it knows by its address, which the emulator was not given."""
    kernel = driver.load_fresh(signature={"take": "u64, i32, i32"})["take"]
    out = driver.zeros(2)
    for device in (driver.device, str(driver.device), driver.device.type):
        arguments, options = (out.data_ptr(), 1, 1), {"grid": 1, "block": 64, "device": device}
        launch = kernel.bind(*arguments, **options) if form == "bound" else partial(kernel, *arguments, **options)
        if driver.driver == "emulator":
            with pytest.raises(wave_runtime.KernelFault, match="a store of 4 bytes"):
                launch()
        else:
            launch()
    assert out.tolist() == ([0, 0] if driver.driver == "emulator" else [7, 2])


def test_device_beside_tensors(driver: Driver) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    kernel = driver.load()["vector_add"]
    for device in (driver.device, driver.device.type, None):
        kernel(a, a, c, 64, grid=1, block=64, device=device)
        assert torch.equal(c, a + a)
        c.zero_()
    if driver.is_gpu:
        with pytest.raises(ValueError, match="kernel 'vector_add': device=cpu given, but the tensors are on cuda:0"):
            kernel(a, a, c, 64, grid=1, block=64, device="cpu")
    with pytest.raises(ValueError, match=r"kernels run on CPU and CUDA \(ROCm\) tensors, not on meta"):
        driver.load(signature={"trap": "u64"})["trap"](0, grid=1, block=64, device="meta")


def test_operators_take_the_device_of_tensors(driver: Driver) -> None:
    kernel = driver.load(signature={"take": "u64, i32, i32"})["take"]
    message = "kernel 'take': device= is for plain calls: under torch.compile"

    def launch() -> None:
        kernel(0, 0, 0, grid=1, block=64, device=driver.device)

    with pytest.raises(ValueError, match=message):
        call_operator(kernel, 0, 0, 0, grid=1, block=64, device=driver.device)
    with pytest.raises(Exception, match=message):
        torch.compile(launch, backend="eager", fullgraph=True)()


def test_any_strides(driver: Driver, way: Way) -> None:
    base, c = driver.randn(100), driver.zeros(100, torch.float32)
    way(driver.load(strides="any")["vector_add"])(base[::2], base[1::2], c, 50, grid=1, block=64)
    assert torch.equal(c[:50], base[:50] + base[1:51])  # the kernel sees the storage


def test_overlap_is_refused(driver: Driver, add: Launch) -> None:
    base = driver.randn(100)
    message = "argument 2 'c', which the kernel writes, shares memory with argument 0 'a': pass a clone of one of them"
    with pytest.raises(ValueError, match=message):
        add(base[:64], driver.randn(64), base[32:96], 64, grid=1, block=64)


def test_other_devices_are_refused(driver: Driver, add: Launch) -> None:
    a, meta = driver.randn(64), torch.empty(64, device="meta")
    with pytest.raises((ValueError, TypeError), match=r"different devices|a bound launch takes plain tensors"):
        add(a, meta, driver.zeros(64, torch.float32), 64, grid=1, block=64)


def test_cpu_and_gpu_tensors_are_refused_together(gpu: Driver, way: Way) -> None:
    message = r"tensors on different devices: argument 0 'a' is on cuda:0, argument 1 'b' on cpu"
    with pytest.raises((ValueError, RuntimeError), match=message):
        way(gpu.load()["vector_add"])(
            gpu.randn(64), torch.randn(64), gpu.zeros(64, torch.float32), 64, grid=1, block=64
        )


def test_versions_are_bumped(driver: Driver, add: Launch) -> None:
    a, b, c = driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)
    before = [tensor._version for tensor in (a, b, c)]
    add(a, b, c, 64, grid=1, block=64)
    assert [tensor._version for tensor in (a, b, c)] == [before[0], before[1], before[2] + 1]


def test_a_saved_tensor_must_not_change(driver: Driver, add: Launch) -> None:
    a, b, c = driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)
    weight = driver.randn(64).requires_grad_()
    loss = (weight * c).sum()
    add(a, b, c, 64, grid=1, block=64)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("position", [0, 2])
def test_requires_grad(driver: Driver, add: Launch, position: int) -> None:
    tensors = [driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)]
    tensors[position].requires_grad_()
    with pytest.raises(RuntimeError, match="kernel 'vector_add': a tensor requires grad, but a launch has no deriv"):
        add(*tensors, 64, grid=1, block=64)
    with torch.no_grad():
        add(*tensors, 64, grid=1, block=64)
        assert torch.equal(tensors[2], tensors[0] + tensors[1])


def test_forward_mode_tangent(driver: Driver, add: Launch) -> None:
    a, b, c = driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, b)
        with pytest.raises(RuntimeError, match="carries a forward-mode tangent"):
            add(dual, b, c, 64, grid=1, block=64)


def test_inference_mode(driver: Driver, add: Launch) -> None:
    with torch.inference_mode():
        a, b, c = driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)
        add(a, b, c, 64, grid=1, block=64)
        assert torch.equal(c, a + b)
    plain = driver.zeros(64, torch.float32)
    add(a, b, plain, 64, grid=1, block=64)  # read outside of inference mode
    assert torch.equal(plain, a + b)
    with pytest.raises(RuntimeError, match=r"[Ii]nference tensors? "):
        add(plain, plain, c, 64, grid=1, block=64)


def test_autocast_changes_nothing(driver: Driver, add: Launch) -> None:
    a, b, c = driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)
    with torch.autocast(driver.device.type, dtype=torch.bfloat16):
        add(a, b, c, 64, grid=1, block=64)
    assert torch.equal(c, a + b)


def test_lazy_values(driver: Driver) -> None:
    kernel = driver.load(signature={"trap": "*void const"})["trap"]
    numbers = torch.randn(4, dtype=torch.complex64, device=driver.device)
    with pytest.raises(ValueError, match=r"argument 0: the tensor is a lazy conjugate .* call .resolve_conj\(\) first"):
        kernel(numbers.conj(), grid=1, block=64)
    with pytest.raises(ValueError, match=r"argument 0: the tensor is a lazy negative .* call .resolve_neg\(\) first"):
        kernel(numbers.conj().imag, grid=1, block=64)


def test_unknown_mutability(driver: Driver) -> None:
    """Every pointer counts as written; where that could be wrong, the launch is refused."""
    kernel = driver.load(signature={"vector_add": "*f32, *f32, *f32, i32"}, writes={"vector_add": [2]})["vector_add"]
    assert kernel.writes == (2,)
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    kernel(a, a, c, 64, grid=1, block=64)
    assert torch.equal(c, a + a)


def test_a_lazy_copy_is_made_before_it_is_written(driver: Driver, add: Launch) -> None:
    a, original = driver.randn(64), driver.zeros(64, torch.float32)
    copy = torch._lazy_clone(original)
    add(a, a, copy, 64, grid=1, block=64)
    assert torch.equal(copy, a + a)
    assert not original.any()
