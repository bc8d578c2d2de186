"""Kernels by the names of the source: one that several could mean is none's, and a symbol is itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime._compile import _source_names, assembly
from wave_runtime._compile._names import of_symbols
from wave_runtime._spelling import Spellings


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


SPELLINGS = {
    "fill<__half>": ["fill<half>", "fill<_Float16>", "n::fill<__half>", "void n::fill<__half>(__half*, int)"],
    "fill<__half2>": ["fill<half2>"],
    "fill<__hip_bfloat16>": ["fill<__nv_bfloat16>"],
    "fill<uint32_t>": ["fill<unsigned>", "fill<unsigned int>", "fill<std::uint32_t>", "fill<uint>"],
    "fill<size_t>": ["fill<unsigned long>", "fill<std::size_t>", "fill<long unsigned int>", "fill<uint64_t>"],
    "fill<long long>": ["fill<long long int>", "fill<signed long long>"],
    "fill<int8_t>": ["fill<signed char>"],
    "fill<char>": [],
    "fill<float4>": [],
    "fill<const float*>": ["fill<float const *>", "fill< const float * >"],
    "pick<7u, true>": ["pick<7, true>", "pick<7U,true>", "n::pick<7, true>(int*)"],
    "only": ["n::only", "only(int*)", "n::only(int *)"],
}


def test_any_spelling_of_a_name(clang: str, tmp_path: Path) -> None:
    """As the source has it, and as others would write it; of what is loaded without a source, too."""
    instances = [name for name in SPELLINGS if name.startswith("fill")]
    source = (
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\nnamespace n {\n"
        "template <class T> __global__ void fill(T* out, int n) { out[n] = T(); }\n"
        "template <unsigned i, bool b> __global__ void pick(int* out) { *out = i; }\n"
        "__global__ void only(int* out) { *out = 1; }\n"
        + "".join(f"template __global__ void {name}({name[5:-1]}*, int);\n" for name in instances)
        + "template __global__ void pick<7u, true>(int*);\n}\n"
    )
    compiled = wave_runtime.compile(source, language="hip", target="gfx942", writes={"fill<half>": [0]})
    assert len(compiled) == len(SPELLINGS)
    for module in (compiled, wave_runtime.load(compiled.images["gfx942"], signature={"fill<half>": "*f16, i32"})):
        found = {module[name].name for name in SPELLINGS}
        assert len(found) == len(SPELLINGS)
        for name, others in SPELLINGS.items():
            for other in others:
                assert module[other] is module[name], other
                assert other in module
        for wrong in ("fill<float>", "fill", "fill<int>", "pick<8, true>", "m::only", "only(float*)"):
            assert wrong not in module
            with pytest.raises(KeyError, match="no kernel"):
                module[wrong]


def test_a_type_and_its_alias_that_are_two() -> None:
    """ROCm's headers have a struct __half beside _Float16: each is found by its own name alone."""
    names = {"fill<__half>": "_Z1a", "fill<_Float16>": "_Z1b"}
    spellings = Spellings(["_Z1a", "_Z1b"], names)
    assert {name: spellings.symbol(name) for name in names} == names
    assert spellings.symbol("fill<half>") is None


def test_messages_name_halves(clang: str) -> None:
    """Whose mangling the demangler of an older C++ library does not know."""
    source = (
        "#include <hip/hip_fp16.h>\n"
        "template <class T> __global__ void put(T* out, __bf16* x) { out[0] = T(); }\n"
        "template __global__ void put<__half>(__half*, __bf16*);\n"
    )
    put = wave_runtime.compile(source, language="hip", target="gfx942")["put<__half>"]
    with pytest.raises(TypeError, match=r"^kernel 'put<_Float16>\(_Float16\*, (__bf16|std::bfloat16_t)\*\)' takes 2"):
        put(grid=1, block=1)
