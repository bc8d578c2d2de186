"""Declared operators on every driver, on tensors that take the shortest way to the driver where it is a GPU's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from conformance_support import Driver
from requirements import does_not_apply

import wave_runtime
from wave_runtime import cdiv

_serial = itertools.count()


def declared(kernel: wave_runtime.Kernel, **options: Any) -> wave_runtime.Operator:
    """An operator of a new name."""
    return wave_runtime.define_op(f"conformance::declared_{next(_serial)}", kernel, **options)


@pytest.fixture
def add(module: wave_runtime.Module) -> wave_runtime.Operator:
    return declared(
        module["vector_add"],
        outputs={"c": lambda a: a.new_empty(a.shape)},
        arguments={"n": lambda a: a.numel()},
        grid=lambda a: cdiv(a.numel(), 256),
        block=256,
    )


def test_results(driver: Driver, add: wave_runtime.Operator) -> None:
    # The first call loads the kernel and specialises; those that follow take the shortest way.
    for shape in ((500,), (500,), (20, 30), (20, 30), (37,), (0,)):
        a, b = driver.randn(600)[: int(torch.tensor(shape).prod())].view(shape), torch.ones(shape, device=driver.device)
        for result in (add(a, b), add(b=b, a=a), add.overload(a, b)):
            assert result.device == driver.device
            assert torch.equal(result, a + b)


def test_usual_calls_do_not_reach_the_dispatcher(
    driver: Driver, add: wave_runtime.Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = driver.randn(500), driver.randn(500)
    add(a, b)
    calls: list[object] = []
    monkeypatch.setattr(add, "overload", lambda *args, fingerprint, **keywords: calls.append(args))
    for given, keywords in (((a, b), {}), ((a,), {"b": b}), ((a[:0], b[:0]), {})):
        add(*given, **keywords)
    with torch.no_grad():
        add(torch.nn.Parameter(a), b)
    assert calls == []
    add(torch.nn.Parameter(a), b)
    assert len(calls) == 1


def test_written_inputs(driver: Driver, module: wave_runtime.Module) -> None:
    add_out = declared(module["vector_add"], defaults={"n": 500}, grid=lambda n: cdiv(n, 256), block=256)
    a, b, c = driver.randn(500), driver.randn(500), driver.zeros(500, torch.float32)
    for count in (500, 500, 100):
        c.zero_()
        version = c._version
        assert (add_out(a, b, c) if count == 500 else add_out(a, b, c, n=count)) is None
        assert torch.equal(c[:count], (a + b)[:count])
        assert not c[count:].any()
        assert c._version == version + 1
    with pytest.raises(ValueError, match="shares memory with argument 0 'a'"):
        add_out(c, b, c)
    with pytest.raises(RuntimeError, match="requires grad, but the operator has no derivative"):
        add_out(a.requires_grad_(), b, c)


def test_shared_memory_by_expression(driver: Driver, module: wave_runtime.Module) -> None:
    reverse = declared(
        module["reverse_dynamic"],
        outputs={"b": lambda a: a.new_zeros(a.shape)},
        arguments={"n": lambda a: a.shape[0]},
        grid=1,
        block=lambda a: (a.shape[0], 1),
        shared_memory=lambda a: a.shape[0] * a.element_size(),
    )
    for n in (64, 64, 128, 33):
        a = torch.arange(n, dtype=torch.int32, device=driver.device)
        assert torch.equal(reverse(a), a.flip(0))
    with pytest.raises(ValueError, match=r"block .*4096"):
        reverse(torch.zeros(4096, dtype=torch.int32, device=driver.device))


def test_what_is_not_as_usual(driver: Driver, add: wave_runtime.Operator) -> None:
    a, b = driver.randn(500), driver.randn(500)
    add(a, b)
    assert torch.equal(add(torch.nn.Parameter(a, requires_grad=False), b), a + b)
    with torch.inference_mode():
        assert add(a, b).is_inference()
    with pytest.raises(TypeError, match="argument 1 'b': expected a tensor for"):
        add(a, b.double())
    with pytest.raises(ValueError, match="expected a contiguous tensor"):
        add(a[:400].view(20, 20), b[:400].view(20, 20).T)
    with pytest.raises(RuntimeError, match="is missing value for argument 'b'"):
        add(a)
    with pytest.raises(RuntimeError, match=r"expected at most 3 argument\(s\)"):
        add(a, b, b)


def test_streams_and_graphs(driver: Driver, add: wave_runtime.Operator) -> None:
    if not driver.is_gpu:
        does_not_apply("streams are a GPU's")
    a, b = driver.randn(500), driver.randn(500)
    add(a, b)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = add(add(a, b), b)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(result, a + b + b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = add(add(a, b), b)
    a.fill_(1.0)
    graph.replay()
    assert torch.equal(result, a + b + b)
