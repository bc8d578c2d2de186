"""What is not supported says so, and what instead; kernels in torch.package."""

from __future__ import annotations

import io

import pytest
import torch
from torch.package import PackageExporter, PackageImporter

import wave_runtime


def test_script_of_a_function(vector_add: wave_runtime.Kernel) -> None:
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = torch.empty_like(a)
        vector_add(a, b, c, 8)
        return c

    # In some processes torch stumbles over the annotations of the call before it asks the kernel.
    ours = r"kernel 'vector_add': torch.jit.script is not supported; use torch"
    with pytest.raises((RuntimeError, ValueError), match=rf"{ours}|Unknown type annotation"):
        torch.jit.script(add)


def test_script_of_a_module(vector_add: wave_runtime.Kernel) -> None:
    class Add(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add = vector_add

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            c = torch.empty_like(a)
            self.add(a, a, c, 8)
            return c

    with pytest.raises(RuntimeError, match=r"kernel 'vector_add': torch.jit.script is not supported; use torch"):
        torch.jit.script(Add())
    with pytest.raises(RuntimeError, match=r"kernel 'vector_add': torch.jit.script is not supported; use torch"):
        torch.jit.script(vector_add)


@wave_runtime.define_op("wave_test::scripted")
def scripted(a: torch.Tensor) -> torch.Tensor:
    return a.clone()


def test_script_of_operators_and_bound_launches(vector_add: wave_runtime.Kernel) -> None:
    a, b, c = (torch.ones(8) for _ in range(3))

    class Holder(torch.nn.Module):
        def __init__(self, launch: object) -> None:
            super().__init__()
            self.launch = launch

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return self.launch(a)  # type: ignore[no-any-return, operator]

    ours = r"operator 'wave_test::scripted': torch.jit.script is not supported; use torch"
    for what in (scripted, Holder(scripted)):
        with pytest.raises(RuntimeError, match=ours):
            torch.jit.script(what)
    bound = vector_add.bind(a, b, c, 8, grid=1, block=256)
    for what in (bound, Holder(bound), Holder(wave_runtime.sequence([bound]))):
        with pytest.raises(RuntimeError, match=r"torch.jit.script is not supported; use torch"):
            torch.jit.script(what)


def test_torch_package(vector_add: wave_runtime.Kernel) -> None:
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        exporter.extern("wave_runtime.**")
        exporter.save_pickle("kernels", "add.pkl", {"add": vector_add})
    file.seek(0)
    assert PackageImporter(file).load_pickle("kernels", "add.pkl")["add"] == vector_add
