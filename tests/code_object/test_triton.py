"""Code objects of Triton 3.9, whose LLVM writes triples that name the processor: made_by_triton/make.py makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from code_object_support import FOLDER
from corpus_tools.valid import raw_bundle

import wave_runtime
from wave_runtime import _C

FILES = sorted((FOLDER / "made_by_triton").glob("*.hsaco"))
SIGNATURE = "*f32 const, *f32 const, *f32, f32, i32, *, *"  # the last two are scratch memory, of which it takes none


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_targets(path: Path) -> None:
    module = wave_runtime.load(path)
    assert (module.target, module.kernels) == (path.stem, ("scale_add",))
    data = bytearray(path.read_bytes())
    data[48] = 0x2C
    with pytest.raises(ValueError, match=r"amdhsa\.target says amdgpu.*, the ELF header's flags say gfx900"):
        _C.CodeObject(bytes(data)).describe()


def check(module: wave_runtime.Module, block: int) -> None:
    a, b, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    none = torch.empty(0)
    module["scale_add"](a, b, out, 2.5, 1000, none, none, grid=4, block=block)
    torch.testing.assert_close(out, 2.5 * a + b)


@pytest.mark.parametrize(("processor", "lanes"), [("gfx942", 64), ("gfx1100", 32), ("gfx1201", 32)])
def test_launches(processor: str, lanes: int) -> None:
    check(wave_runtime.load(FOLDER / "made_by_triton" / f"{processor}.hsaco", signature=SIGNATURE), 4 * lanes)


def test_a_bundle_of_all() -> None:
    """As LLVM 24 names its entries: what fits is taken."""
    subarches = {"gfx90a": "9.0a", "gfx942": "9.42", "gfx950": "9.50", "gfx1100": "11.00", "gfx1201": "12.01"}
    entries = [
        (f"hipv4-amdgpu{subarch}-amd-amdhsa--{name}", (FOLDER / "made_by_triton" / f"{name}.hsaco").read_bytes())
        for name, subarch in subarches.items()
    ]
    module = wave_runtime.load(raw_bundle(entries), signature=SIGNATURE)
    assert module.targets == tuple(subarches)
    check(module, 256)
