"""kernel.bind(...) and wave_runtime.sequence([...]) on every driver."""

from __future__ import annotations

import gc
import itertools
import weakref

import pytest
import torch
from conformance_support import Driver
from support import Watch
from torch._subclasses.fake_tensor import FakeTensorMode

import wave_runtime


@pytest.fixture
def add(module: wave_runtime.Module) -> wave_runtime.Kernel:
    return module["vector_add"]


@pytest.fixture
def increment(module: wave_runtime.Module) -> wave_runtime.Kernel:
    return module["slow_increment"]


def test_repeated(driver: Driver, increment: wave_runtime.Kernel) -> None:
    a, b = driver.ints(1, 2, 3), driver.zeros(3)
    bound = increment.bind(a, b, 3, 0, grid=1, block=64)
    for i in range(5):
        a.fill_(i)
        bound()
        assert b.tolist() == [i + 1] * 3
    assert b._version == 5


def test_binding_launches_nothing(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    add.bind(a, a, c, 64, grid=1, block=64)
    assert not c.any()
    assert c._version == 0


def test_arguments_by_index_and_name(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, b, c = driver.randn(64), driver.randn(64), driver.zeros(64, torch.float32)
    bound = add.bind(a, a, c, 64, grid=1, block=64)
    assert bound[0] is a
    assert bound["n"] == 64
    bound[1] = b
    assert bound["b"] is b
    bound()
    assert torch.equal(c, a + b)
    c.zero_()
    bound["n"] = 10
    bound()
    assert torch.equal(c[:10], (a + b)[:10])
    assert not c[10:].any()
    other = driver.zeros(64, torch.float32)
    bound["c"] = other
    bound["n"] = 64
    bound()
    assert torch.equal(other, a + b)


def test_update(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, c = driver.randn(256), driver.zeros(256, torch.float32)
    bound = add.bind(a, a, c, 256, grid=1, block=64)
    bound()
    assert not c[64:].any()
    bound.update(grid=2)
    bound()
    assert torch.equal(c[:128], (a + a)[:128])
    bound.update(grid=(1, 1), block=256)
    bound()
    assert torch.equal(c, a + a)


def test_changes_are_checked(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    bound = add.bind(a, a, c, 64, grid=1, block=64)
    with pytest.raises(ValueError, match="kernel 'vector_add' has 4 arguments, no argument 4"):
        bound[4] = 1
    with pytest.raises(ValueError, match=r"kernel 'vector_add' has no argument 'd' \(a: \*f32 const"):
        bound["d"] = 1
    with pytest.raises(ValueError, match="argument 3 'n': expected i32"):
        bound["n"] = 2**40
    with pytest.raises(TypeError, match=r"argument 2 'c': expected a tensor for \*f32, given one of dtype int32"):
        bound["c"] = driver.zeros(64)
    with pytest.raises(ValueError, match="shares memory with"):
        bound["c"] = a
    with pytest.raises(ValueError, match="has an extent below 1"):
        bound.update(grid=0)
    with pytest.raises(TypeError, match="unexpected keyword 'n'"):
        bound.update(n=3)
    bound()  # as it was
    assert torch.equal(c, a + a)


def test_calls_take_no_arguments(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    bound = add.bind(a, a, c, 64, grid=1, block=64)
    message = "takes no arguments when it is called: they were given when it was made"
    with pytest.raises(TypeError, match=f"a bound launch {message}"):
        bound(1)
    with pytest.raises(TypeError, match=f"a sequence {message}"):
        wave_runtime.sequence([bound])(grid=1)
    with pytest.raises(TypeError, match="cannot create"):
        wave_runtime.BoundLaunch()


def test_tensors_are_kept(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    alive = weakref.ref(a)
    bound = add.bind(a, driver.randn(64), c, 64, grid=1, block=64)
    del a
    gc.collect()
    assert alive() is not None
    bound()
    assert torch.equal(c, bound["a"] + bound["b"])
    del bound
    gc.collect()
    assert alive() is None


def test_storage_that_moved(driver: Driver, increment: wave_runtime.Kernel) -> None:
    """A tensor may get another storage between two launches."""
    a, b = driver.ints(1, 2, 3), driver.zeros(3)
    bound = increment.bind(a, b, 3, 0, grid=1, block=64)
    bound()
    old = b.clone()
    b.set_(driver.zeros(3).untyped_storage(), 0, (3,))
    a.set_(driver.ints(7, 8, 9).untyped_storage(), 0, (3,))
    bound()
    assert b.tolist() == [8, 9, 10]
    assert old.tolist() == [2, 3, 4]


def test_gradients_are_looked_at_each_time(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    bound = add.bind(a, a, c, 64, grid=1, block=64)
    bound()
    a.requires_grad_()
    with pytest.raises(RuntimeError, match="a tensor requires grad"):
        bound()
    with torch.no_grad():
        bound()


def test_sequence(driver: Driver, increment: wave_runtime.Kernel) -> None:
    tensors = [driver.zeros(4) for _ in range(17)]
    launches = [increment.bind(a, b, 4, 0, grid=1, block=64) for a, b in itertools.pairwise(tensors)]
    sequence = wave_runtime.sequence(launches)
    assert len(sequence) == 16
    for start in (0, 100):
        tensors[0].fill_(start)
        sequence()
        assert [tensor.tolist() for tensor in tensors] == [[start + i] * 4 for i in range(17)]
    wave_runtime.sequence([])()


def test_sequence_of_what_is_no_bound_launch(driver: Driver, add: wave_runtime.Kernel) -> None:
    with pytest.raises(TypeError, match=r"sequence: item 0 is a .*Kernel: expected a bound launch, as kernel.bind"):
        wave_runtime.sequence([add])  # type: ignore[list-item]


def test_launches_that_change_after_the_sequence_was_made(driver: Driver, increment: wave_runtime.Kernel) -> None:
    a, b, c = driver.zeros(4), driver.zeros(4), driver.zeros(4)
    first = increment.bind(a, b, 4, 0, grid=1, block=64)
    second = increment.bind(b, c, 4, 0, grid=1, block=64)
    sequence = wave_runtime.sequence([first, second])
    sequence()
    assert c.tolist() == [2] * 4
    first["a"] = driver.ints(10, 20, 30, 40)
    second["n"] = 2
    sequence()
    assert c.tolist() == [12, 22, 2, 2]


def test_a_sequence_ends_with_the_launch_that_fails(driver: Driver, increment: wave_runtime.Kernel) -> None:
    a, b = driver.zeros(4), driver.zeros(4)
    x = driver.randn(64)
    good = increment.bind(a, b, 4, 0, grid=1, block=64)
    bad = driver.load()["vector_add"].bind(x, x, driver.zeros(64, torch.float32), 64, grid=1, block=64)
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="kernel 'vector_add': a tensor requires grad"):
        wave_runtime.sequence([good, bad, good])()
    assert b.tolist() == [1] * 4
    assert b._version == 1


def test_operators_under_modes(driver: Driver, increment: wave_runtime.Kernel) -> None:
    a, b = driver.zeros(4), driver.zeros(4)
    bound = increment.bind(a, b, 4, 0, grid=1, block=64)
    sequence = wave_runtime.sequence([bound, bound])
    with Watch() as watch:
        bound()
        sequence()
    assert watch.seen == ["wave.launch.default"] * 3
    assert b.tolist() == [1] * 4
    assert b._version == 3


def test_fake_mode_launches_nothing(driver: Driver, increment: wave_runtime.Kernel) -> None:
    a, b = driver.zeros(4), driver.zeros(4)
    bound = increment.bind(a, b, 4, 0, grid=1, block=64)
    with FakeTensorMode(allow_non_fake_inputs=True):
        bound()
        wave_runtime.sequence([bound])()
    assert not b.any()


def test_under_functorch(driver: Driver, increment: wave_runtime.Kernel) -> None:
    """A launch on tensors from outside of the transformation is the same as without it."""
    a, b = driver.ints(1, 2, 3, 4), driver.zeros(4)
    bound = increment.bind(a, b, 4, 0, grid=1, block=64)

    def function(x: torch.Tensor) -> torch.Tensor:
        bound()
        return x * 2

    torch.func.grad(lambda x: function(x).sum())(torch.ones(3))
    assert b.tolist() == [2, 3, 4, 5]


def test_repr(driver: Driver, add: wave_runtime.Kernel) -> None:
    a = driver.randn(64)
    bound = add.bind(a, a, driver.zeros(64, torch.float32), 64, grid=1, block=64)
    assert repr(bound) == f"<wave_runtime.BoundLaunch of vector_add on {driver.device}>"
