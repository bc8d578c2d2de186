"""The fingerprint: it changes with what an operator is made of, and compilers' caches heed it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import warm_python
from operators_support import BINARIES, add, basics, matmul, matmul_naive, vector_add
from torch import Tensor

import wave_runtime
from wave_runtime._op._fingerprint import _Walk, hash_of

SCALE = 2.0


def with_kernel(kernel: wave_runtime.Kernel) -> Callable[[Tensor], None]:
    return lambda a: kernel(a, a, a, 1, grid=1, block=1)


def by_helper(a: Tensor) -> Tensor:
    return helper(a)


def helper(a: Tensor) -> Tensor:
    return a * SCALE


def with_default(scale: float) -> Callable[[Tensor], Tensor]:
    def body(a: Tensor, by: float = scale) -> Tensor:
        return a * by

    return body


class Holder:
    def __init__(self, kernel: wave_runtime.Kernel) -> None:
        self.kernels = {"add": kernel}

    def launch(self, a: Tensor) -> None:
        self.kernels["add"](a, a, a, 1, grid=1, block=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (with_kernel(vector_add), with_kernel(matmul_naive)),
        (Holder(vector_add).launch, Holder(matmul_naive).launch),
        (with_default(1.0), with_default(2.0)),
        (lambda a: a + 1, lambda a: a + 2),
        (lambda a: a.sin(), lambda a: a.cos()),
        (lambda a: [x + 1 for x in a], lambda a: [x + 2 for x in a]),
        (lambda a: add(a, a), lambda a: matmul(a, a)),
        (lambda a: a.to(torch.float16), lambda a: a.to(torch.float32)),
        ({"kernels": basics}, {"kernels": [vector_add]}),
        (np.float32(1), np.float32(2)),
    ],
    ids=["closure", "method", "default", "constant", "attribute", "inner", "operator", "dtype", "file", "numpy"],
)
def test_it_changes_with(one: object, other: object) -> None:
    assert hash_of(one) == hash_of(one)
    assert hash_of(one) != hash_of(other)


def test_it_changes_with_globals_and_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {hash_of(by_helper)}
    monkeypatch.setattr(f"{__name__}.SCALE", 3.0)
    hashes.add(hash_of(by_helper))
    monkeypatch.setattr(f"{__name__}.helper", lambda a: a)
    hashes.add(hash_of(by_helper))
    assert len(hashes) == 3


class Config:
    TILE = 16


def by_class(a: Tensor) -> Tensor:
    return a * Config.TILE


def by_module(a: Tensor) -> Tensor:
    return package.inner.helper(a)


package, package.inner = ModuleType("package"), ModuleType("package.inner")  # type: ignore[attr-defined]
package.inner.package = package  # modules import each other


def test_it_changes_with_classes_and_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = hash_of(by_class)
    monkeypatch.setattr(Config, "TILE", 32)
    assert hash_of(by_class) != before
    monkeypatch.setattr(package.inner, "helper", helper, raising=False)
    before = hash_of(by_module)
    monkeypatch.setattr(package.inner, "helper", by_helper)
    assert hash_of(by_module) != before


def test_it_is_the_same_in_every_process() -> None:
    code = f"import sys; sys.path[:0] = {sys.path!r}; import operators_support as o; print(o.matmul.fingerprint)"
    done = warm_python.run("-c", code)
    assert done.stdout.strip() == matmul.fingerprint, done.stderr


def test_it_changes_with_rules() -> None:
    @wave_runtime.define_op("wave_test::ruled")
    def ruled(a: Tensor) -> Tensor:
        return a + 1

    prints = {ruled.fingerprint}
    ruled.register_backward(lambda grad, a: grad)
    prints.add(ruled.fingerprint)
    ruled.register_backward(lambda grad, a: grad * 2)
    prints.add(ruled.fingerprint)
    ruled.register_autocast(torch.float16)
    prints.add(ruled.fingerprint)
    ruled.register_vmap(lambda info, in_dims, a: (ruled(a), in_dims[0]))
    prints.add(ruled.fingerprint)
    assert len(prints) == 5


def test_an_operator_may_be_part_of_its_own_rules() -> None:
    assert matmul.fingerprint == matmul.fingerprint  # its backward calls it


PROGRAM = """
import sys, torch, wave_runtime
from torch import Tensor
from torch._dynamo.utils import counters

binary, factor = sys.argv[1], int(sys.argv[2])
kernel = wave_runtime.load(binary, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]

@wave_runtime.define_op("wave_test::cached")
def cached(a: Tensor, b: Tensor) -> Tensor:
    c = a.new_empty(16 * factor, 16)
    kernel(a, b, c[:16], 256, grid=1, block=256)
    return c

@cached.register_backward
def _(grad, a, b):
    of_a = torch.empty_like(a)
    kernel(grad[:16].contiguous() * factor, torch.ones_like(a), of_a, 256, grid=1, block=256)
    return of_a, None

ways = {
    "object": lambda a, b: cached(a, b),
    "packet": lambda a, b: torch.ops.wave_test.cached(a, b),
    "overload": lambda a, b: torch.ops.wave_test.cached.default(a, b),
}
for way, call in ways.items():
    a, b = torch.full((16, 16), 3.0, requires_grad=True), torch.ones(16, 16)
    before = counters["aot_autograd"]["autograd_cache_hit"]
    result = torch.compile(call, fullgraph=True)(a, b)
    result[:16].sum().backward()
    hits = counters["aot_autograd"]["autograd_cache_hit"] - before
    print(way, result[0, 0].item(), len(result), a.grad[0, 0].item(), hits)
print(cached.fingerprint)
"""


def subtracting(binary: bytes) -> bytes:
    """The file with the addition of vector_add made a subtraction."""
    add, subtract = bytes.fromhex("060f0402"), bytes.fromhex("060f0404")  # v_add_f32 and v_sub_f32 of v2, v6, v7
    assert binary.count(add) == 1
    return binary.replace(add, subtract)


def test_what_pytest_makes_of_an_assertion_is_not_looked_into() -> None:
    """It leads to all of pytest, which takes seconds and has no part in what an operator computes."""

    def body(a: Tensor) -> Tensor:
        assert a.is_contiguous()
        return a * 2

    assert any(name.startswith("@pytest") for name in body.__code__.co_names)
    walk = _Walk()
    list(walk.parts(body))
    assert len(walk._seen) < 100


def test_no_cache_serves_another_definition(tmp_path: Path) -> None:
    """What is compiled again comes from the cache, but not for another kernel, body and backward, however it is called.

    Of the ways to call an operator two are those of any operator of torch's, in which users pass no fingerprint.
    """
    binary = tmp_path / "kernels.hsaco"

    def run(factor: int) -> tuple[list[str], str]:
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
        done = warm_python.run("-c", PROGRAM, binary, factor, env=environment, imported=warm_python.COMPILER)
        assert done.returncode == 0, done.stderr
        *lines, fingerprint = done.stdout.splitlines()
        return lines, fingerprint

    def lines(result: str, hits: int) -> list[str]:
        """The graph of the object's call is that of the overload's, so that the latter is always found."""
        return [f"object {result} {hits}", f"packet {result} {hits}", f"overload {result} 1"]

    code = (BINARIES / "basics.hsaco").read_bytes()
    binary.write_bytes(code)
    found, first = run(1)
    assert found == lines("4.0 16 2.0", hits=0)
    found, same = run(1)
    assert found == lines("4.0 16 2.0", hits=1)
    binary.write_bytes(subtracting(code))
    found, other = run(1)
    assert found == lines("2.0 16 0.0", hits=0)
    found, another = run(3)
    assert found == lines("2.0 48 2.0", hits=0)
    assert first == same
    assert len({first, other, another}) == 3
