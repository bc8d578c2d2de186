"""Kernels by the names of the source: one that several could mean is none's, and a symbol is itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime._compile import _source_names, assembly
from wave_runtime._compile._names import of_symbols


def described(*symbols: str) -> list[dict[str, object]]:
    return [{"name": symbol, "arguments": None} for symbol in symbols]


def test_names_that_symbols_say() -> None:
    _, names = of_symbols(described("_ZN1n3addEPf", "_Z5scalePfi", "_Z4fillIfEvPT_", "plain"))
    assert names == {"add": "_ZN1n3addEPf", "scale": "_Z5scalePfi", "fill<float>": "_Z4fillIfEvPT_"}


@pytest.mark.parametrize("other", ["_ZN1m3addEPf", "_ZN1n3addEPd", "add"])
def test_a_name_of_two_kernels_is_none(other: str) -> None:
    """In two namespaces, overloaded, or extern "C" besides, which is called by its own name."""
    for symbols in (("_ZN1n3addEPf", other), (other, "_ZN1n3addEPf")):
        _, names = of_symbols(described(*symbols, "_Z5scalePfi"))
        assert names == {"scale": "_Z5scalePfi"}


def test_names_of_several_builds() -> None:
    """Of one source for several targets, where macros may choose other types."""
    first, second = {"add": "_Z3addPf", "scale": "_Z5scalePf"}, {"add": "_Z3addPd", "scale": "_Z5scalePf"}
    assert _source_names([first, second], {"_Z3addPf", "_Z3addPd"}) == {"scale": "_Z5scalePf"}
    assert _source_names([first], {"add", "_Z3addPf"}) == {"scale": "_Z5scalePf"}


def test_a_kernel_without_mangling_beside_one_in_a_namespace(clang: str, tmp_path: Path) -> None:
    """Compiled from assembly, where the symbols alone say the names."""
    source = tmp_path / "two.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        "namespace other { __global__ void put(int* out) { *out = 2; } }\n"
        'extern "C" __global__ void put(int* out) { *out = 1; }\n'
        "namespace other { __global__ void only(int* out) { *out = 3; } }\n"
    )
    text = tmp_path / "two.s"
    text.write_bytes(assembly(source, target="gfx942"))
    out = torch.zeros(1, dtype=torch.int32)
    for file in (source, text):
        module = wave_runtime.compile(file, target="gfx942")
        for name, value in {"put": 1, "_ZN5other3putEPi": 2, "only": 3}.items():
            module[name](out, grid=1, block=1)
            assert out.item() == value, (file, name)


def test_messages_say_names_of_the_source(clang: str) -> None:
    """Checks of a call, and faults, where the symbol is mangled."""
    source = (
        "namespace n { template <class T> __global__ void put(T* out, int i) { out[i] = 1; } }\n"
        "template __global__ void n::put<float>(float*, int);\n"
    )
    put = wave_runtime.compile(source, target="gfx942")["put<float>"]
    out = torch.zeros(1)
    assert put.name == "_ZN1n3putIfEEvPT_i"
    with pytest.raises(TypeError, match=r"^kernel 'n::put<float>\(float\*, int\)' takes 2 arguments"):
        put(out, grid=1, block=1)
    with pytest.raises(wave_runtime.KernelFault, match=r"^kernel 'n::put<float>\(float\*, int\)' on the") as fault:
        put(out, 64, grid=1, block=1)
    assert fault.value.kernel == put.name
