"""Who writes what: kernel.infer_writes, and load(strict=True)."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
import torch
from support import EXAMPLES, LoadKernel

import wave_runtime

HSACO = next(EXAMPLES.rglob("basics.hsaco"))
ADD = "a: *f32, b: *f32, c: *f32, n: i32"


def vector_add(**options: object) -> wave_runtime.Kernel:
    return wave_runtime.load(HSACO, **{"signature": {"vector_add": ADD}, **options})["vector_add"]


def vectors(n: int = 300) -> tuple[torch.Tensor, ...]:
    return torch.randn(n), torch.randn(n), torch.zeros(n)


def test_infer_writes_names_what_is_written() -> None:
    a, b, c = vectors()
    accesses = vector_add().infer_writes(a, b, c, 300, grid=2, block=256)
    assert accesses == (("c",), ("a", "b"))
    assert not c.any(), "the launch works on copies"


def test_result_is_what_writes_takes() -> None:
    a, b, c = vectors()
    accesses = vector_add().infer_writes(a, b, c, 300, grid=2, block=256)
    kernel = vector_add(writes={"vector_add": accesses.writes})
    assert kernel.writes == (2,)
    assert torch.compile(lambda a, b, c: kernel(a, b, c, 300, grid=2, block=256), fullgraph=True)(a, b, c) is None
    assert torch.equal(c, a + b)


def test_arguments_without_names_are_indices() -> None:
    kernel = vector_add(signature={"vector_add": "*f32 const, *f32 const, *f32 const, i32"})
    assert kernel.infer_writes(*vectors(), 300, grid=2, block=256) == ((2,), (0, 1)), "const does not matter"


def test_an_atomic_reads_and_writes() -> None:
    signature = {"histogram": "values: *u8, counts: *i32, n: i32"}
    kernel = wave_runtime.load(HSACO, signature=signature)["histogram"]
    values, counts = torch.arange(100, dtype=torch.uint8), torch.zeros(256, dtype=torch.int32)
    accesses = kernel.infer_writes(values, counts, 100, grid=1, block=256)
    assert accesses == (("counts",), ("values", "counts"))


def test_views_of_one_storage_are_told_apart() -> None:
    storage = torch.randn(3, 300)
    accesses = vector_add().infer_writes(storage[0], storage[1], storage[2], 300, grid=2, block=256)
    assert accesses == (("c",), ("a", "b"))


def test_nothing_touched() -> None:
    assert vector_add().infer_writes(*vectors(), 0, grid=1, block=256) == ((), ())


def test_infer_writes_checks_arguments_as_a_call_does() -> None:
    a, b, c = vectors()
    kernel = vector_add()
    with pytest.raises(TypeError, match=r"takes 4 arguments"):
        kernel.infer_writes(a, b, c, grid=1, block=256)
    with pytest.raises(TypeError, match=r"argument 1 'b': expected a tensor for .*float64"):
        kernel.infer_writes(a, b.double(), c, 300, grid=1, block=256)
    with pytest.raises(ValueError, match="block"):
        kernel.infer_writes(a, b, c, 300, grid=1, block=2048)


def test_strict_warns_of_what_is_never_written(capfd: pytest.CaptureFixture[str]) -> None:
    a, b, c = vectors()
    kernel = vector_add(signature={"vector_add": "a: *f32, b: *f32 const, c: *f32, n: i32"}, strict=True)
    with pytest.warns(
        RuntimeWarning, match=r"argument 0 'a': declared as written, but this launch wrote nothing to it"
    ):
        kernel(a, b, c, 300, grid=2, block=256)
    assert torch.equal(c, a + b)
    torch.ops.wave.launch(kernel.handle, [b], [a, c], [300], [], [2], [256])
    assert "argument 0 'a': declared as written" in capfd.readouterr().err


def test_strict_is_quiet_about_a_right_declaration() -> None:
    a, b, c = vectors()
    kernel = vector_add(signature={"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(a, b, c, 300, grid=2, block=256)
    assert torch.equal(c, a + b)


@pytest.mark.parametrize("strict", [False, True])
def test_written_though_const_is_a_fault(strict: bool) -> None:
    kernel = vector_add(signature={"vector_add": "a: *f32, b: *f32 const, c: *f32 const, n: i32"}, strict=strict)
    with pytest.raises(
        wave_runtime.KernelFault, match=r"argument 2 'c'.* the kernel's signature says that it only reads"
    ):
        kernel(*vectors(), 300, grid=2, block=256)


def test_strict_refuses_over_reads(probe: LoadKernel) -> None:
    source, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    with pytest.warns(RuntimeWarning, match="past the end"):
        probe("load_at")(source, out, 4, 0, grid=1, block=64)
    with pytest.raises(wave_runtime.KernelFault, match=r"past the end|before the end"):
        probe("load_at", strict=True)(source, out, 4, 0, grid=1, block=64)


def test_strict_belongs_to_the_handle() -> None:
    kernel = vector_add(strict=True)
    assert kernel.strict
    assert kernel.handle.endswith(";strict")
    assert kernel != vector_add()
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert copy.deepcopy(kernel).strict
