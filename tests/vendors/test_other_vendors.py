"""Apple's path, of which only what torch is asked for is seen; and what Intel's and Apple's signatures say."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from requirements import does_not_apply

import wave_runtime
from wave_runtime.compat.vendors import _apple
from wave_runtime.compat.vendors._parameters import Signature

CPU = torch.device("cpu")


class Metal:
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def compile_shader(self, source: str) -> Metal:
        self.sources.append(source)
        return self

    def scale(self, *arguments: Any, **options: Any) -> None:
        self.calls.append((arguments, options))


def test_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are counted, not threadgroups; numbers have the width that the source expects; one compilation."""
    metal = Metal()
    monkeypatch.setattr(torch.mps, "compile_shader", metal.compile_shader)
    signature = Signature.parse(
        "scale", "*f32 const, *f32, factor: f32, n: u32, small: i8, flag: bool, big: i64, h: f16"
    )
    a, b = torch.zeros(4), torch.zeros(4)
    for _ in range(2):
        arguments = (a, b, 1, 2**32 - 1, -3, True, 1 << 40, 0.5)
        _apple.launch(signature, "kernel void scale() {}", arguments, (4, 2, 1), (32, 8, 1), CPU)
    assert metal.sources == ["kernel void scale() {}"]
    (values, options), _ = metal.calls
    assert values[:2] == (a, b)
    assert values[2:] == (1.0, 2**32 - 1, -3, 1, 1 << 40, 0.5)
    assert isinstance(values[2], float)
    casts = {3: "int32", 4: "int8", 5: "uint8", 7: "fp16"}
    assert options == {"threads": [128, 16, 1], "group_size": [32, 8, 1], "arg_casts": casts}
    with pytest.raises(ValueError, match="Metal has no f64"):
        _apple.launch(Signature.parse("scale", "*f64"), "", (a,), (1, 1, 1), (1, 1, 1), CPU)


def test_no_metal() -> None:
    if torch.backends.mps.is_available():
        does_not_apply("there is an Apple GPU")
    with pytest.raises(wave_runtime.CompileError, match="kernel 'scale': the Metal source does not compile"):
        _apple.launch(Signature.parse("scale", ""), "kernel void other() {}", (), (1, 1, 1), (1, 1, 1), CPU)


def test_signatures_and_arguments() -> None:
    """The checks that binaries' kernels have, for code that says nothing."""
    signature = Signature.parse("k", "a: *f32 const, n: u8, x: f64")
    a = torch.zeros(4)
    assert signature.check((a, 255, 1), CPU)[1:] == [255, 1.0]
    for arguments, error, text in (
        ((a, 255), TypeError, r"kernel 'k' takes 3 arguments \(.*\), given 2"),
        ((1, 255, 1.0), TypeError, r"argument 0 'a': expected a tensor \(\*f32\), given int"),
        ((a.double(), 255, 1.0), TypeError, r"expected a tensor for \*f32, given one of dtype torch.float64"),
        ((torch.zeros(4, 4).T, 255, 1.0), ValueError, "expected a contiguous tensor"),
        ((a.to("meta"), 255, 1.0), ValueError, "expected a tensor on cpu, given one on meta"),
        ((torch.zeros(4, requires_grad=True), 255, 1.0), RuntimeError, "the tensor requires grad"),
        ((a, 256, 1.0), ValueError, "argument 1 'n': expected u8, an integer from 0 to 255, given 256"),
        ((a, 0.5, 1.0), TypeError, "argument 1 'n': expected u8, given float"),
        ((a, 1, "1"), TypeError, "argument 2 'x': expected f64, given str"),
    ):
        with pytest.raises(error, match=text):
            signature.check(arguments, CPU)
    for text in ("*f33", "f32 const", "a b"):
        with pytest.raises(ValueError, match=r"kernel 'k': signature \".*\", position \d"):
            Signature.parse("k", text)
    for text in ("bytes[4]", "*", "b32", "*f8e5m2 const"):
        with pytest.raises(ValueError, match=r"kernel 'k': signature '.*': '.*' is for AMD and NVIDIA alone"):
            Signature.parse("k", text)
