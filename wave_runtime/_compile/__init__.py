"""From source to kernels."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Literal

import torch

from wave_emulator._cache_folder import cache_folder
from wave_runtime import _C
from wave_runtime._cache import Cache, Dependency, Kept
from wave_runtime._compile import _clang, _cuda, _hiprtc, _mlir
from wave_runtime._compile._unit import Compiled, CompileError, Program, Unit, describe, environment
from wave_runtime._device import emulated, has_gpu, target_of
from wave_runtime._module import Module, Writes
from wave_runtime._spelling import Spellings

__all__ = ["LANGUAGES", "CompileError", "Language", "assembly", "compile"]

Language = Literal["hip", "cuda", "asm", "llvm", "mlir"]
SourceText = str | os.PathLike[str]

LANGUAGES: dict[str, Language] = {
    ".hip": "hip",
    ".cpp": "hip",
    ".cc": "hip",
    ".cxx": "hip",
    ".cu": "cuda",
    ".s": "asm",
    ".S": "asm",
    ".asm": "asm",
    ".ll": "llvm",
    ".mlir": "mlir",
}
_FORMAT = 6  # of what the cache keeps; another for each change of it, or of the options that compilers are given

# What this process has compiled, by request: the files that it was made of, and its modules by the options of load().
_known: dict[str, Kept[tuple[_C.CodeObject, Compiled]]] = {}


def compile(
    source: SourceText | Sequence[SourceText],
    *,
    language: Language | None = None,
    target: str | None = None,
    targets: Sequence[str] | None = None,
    options: Sequence[str] = (),
    defines: Mapping[str, object] | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    signature: str | Mapping[str, str] | None = None,
    writes: Writes | Mapping[str, Writes] | None = None,
    strides: Literal["contiguous", "any"] = "contiguous",
    strict: bool = False,
    cache: bool = True,
    verbose: bool = False,
) -> Module:
    """Compile the kernels of a source, and load them.

    The result is kept. The same call compiles again only if the source, a file that it includes, an option or the
    compiler has changed.

    The parameters of kernels in HIP C++ have the types of the source: a float is a float, and a ``const T*`` is only
    read. The kernels are found by their names in the source, ``module["scale"]`` or ``module["scale<float>"]``, and by
    their symbols.

    Args:
        source: a path, or the text itself (a str with a line break or a brace). A list of sources is linked into one
            module: HIP C++ and LLVM IR for AMD's targets, or CUDA C++ for nvcc. Functions and variables of one source
            may be declared ``extern`` in the others.
        language: "hip", "cuda", "asm" (AMD's assembly), "llvm" (textual IR) or "mlir". By default the suffix of the
            file says it (.hip .cpp .cu .s .ll .mlir); a text is "hip". CUDA C++ for an AMD target is compiled as HIP.
        target: "gfx942", "sm_90". By default that of the current GPU, if the language can be compiled for it (CUDA C++
            for any GPU, the others for AMD's), else "gfx942", which the emulator runs.
        targets: several targets, instead of one. The module has code for each, and a launch takes the code that fits
            the tensors' device.
        options: options for the compiler, behind the default ones (``-O3 -std=c++17``).
        defines: macros, or symbols of assembly, with their values. None defines one without a value.
        include_dirs: folders in which headers are looked for, besides the source's own folder.
        signature, writes, strides, strict: as for :func:`load`. HIP C++ needs no signature.
        cache: keep the result in ``WAVE_RUNTIME_CACHE_DIR`` (by default in the user's cache folder), and use a result
            that is kept there.
        verbose: print the compiler's commands, and all that it says, to stderr. Nothing is printed for a result that
            was kept: pass ``cache=False``, too, to see its warnings.

    Raises:
        OSError: the source cannot be read.
        ValueError: the language is not known, or ``signature`` or ``writes`` does not fit the kernels.
        TypeError: an option is of another type.
        CompileError: the compiler rejects the source, and its messages and command are in the error; or there is no
            compiler, and the error says where one was looked for; or the compiler cannot link several sources.
        TimeoutError: another process has been compiling the same source for ten minutes.
    """
    check_lists(options=options, include_dirs=include_dirs, **({} if targets is None else {"targets": targets}))
    if target is not None and targets is not None:
        raise ValueError("target= names one target, targets= several: give one of them")
    if isinstance(source, (str, bytes, os.PathLike)) or not isinstance(source, Iterable):
        sources = [source]
    else:
        sources = list(source)
    if not sources:
        raise ValueError("no source is given")
    read = [_read(item) for item in sources]
    languages = [_language(path, language) for _, path in read]
    wanted = list(targets) if targets is not None else [target or _default_target(languages[0])]
    if not wanted:
        raise ValueError("targets= is empty")
    macros = _macros(defines)
    folders = tuple(os.path.abspath(folder) for folder in include_dirs)
    found = []
    for name in wanted:
        chosen = [_language_for(name, given, path) for given, (_, path) in zip(languages, read, strict=True)]
        units = [
            Unit(text, path, of, name, tuple(options), macros, folders, verbose=verbose)
            for of, (text, path) in zip(chosen, read, strict=True)
        ]
        found.append(_compiled(replace(units[0], others=tuple(units[1:])), cache))
    codes = [kept.value[0] for kept in found]
    results = [kept.value[1] for kept in found]
    known = {symbol: types for compiled in results for symbol, types in compiled.signatures.items()}
    kernels = {name for code in codes for name in code.kernels}
    names = _source_names([compiled.symbols for compiled in results], kernels)
    given = signature
    if signature is None:
        signature = known or None
    elif isinstance(signature, Mapping):
        given = Spellings(kernels, names).by_symbol(signature)
        signature = {**known, **given}
    files = {file.path: None for kept in found for file in kept.dependencies}
    paths = [path for _, path in read if path is not None]
    module = Module(codes, signature, writes, strides, strict, names, dict.fromkeys([*paths, *files]))
    module.check(given, writes)
    return module


def _source_names(tables: Iterable[Mapping[str, str]], kernels: Collection[str]) -> dict[str, str]:
    """The kernels by their names in the source, where these are clear: no symbol, and of one kernel in all builds."""
    symbols: dict[str, set[str]] = {}
    for table in tables:
        for name, symbol in table.items():
            symbols.setdefault(name, set()).add(symbol)
    return {name: only for name, (only, *others) in symbols.items() if not others and name not in kernels}


def assembly(
    path: str | os.PathLike[str],
    *,
    language: Language | None = None,
    target: str | None = None,
    options: Sequence[str] = (),
    defines: Mapping[str, object] | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
) -> bytes:
    """HIP C++ or LLVM IR in a file as assembly, which compile() takes when it was changed by hand.

    Args and errors are those of :func:`compile`; nothing is kept.
    """
    text, absolute = _read(path)
    name = target or _default_target("hip")
    unit = Unit(
        text,
        absolute,
        _language_for(name, _language(absolute, language), absolute),
        name,
        tuple(options),
        _macros(defines),
        tuple(os.path.abspath(folder) for folder in include_dirs),
    )
    if unit.language not in ("hip", "llvm"):
        raise ValueError(f"{path}: {unit.language} is not compiled to AMD's assembly")
    with tempfile.TemporaryDirectory() as folder:
        return _clang.assembly(unit, _clang.find(), Path(folder))


def _macros(defines: Mapping[str, object] | None) -> tuple[tuple[str, str | None], ...]:
    if defines is not None and not isinstance(defines, Mapping):
        raise TypeError(f'defines= must be a dict, as in {{"TILE": 64, "FAST": None}}, given {type(defines).__name__}')
    return tuple((name, None if value is None else str(value)) for name, value in sorted((defines or {}).items()))


def check_lists(**options: object) -> None:
    """Raise TypeError for a text where a list of texts is expected: it would be taken letter by letter."""
    for name, value in options.items():
        if isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"{name}= must be a list, as in {name}=[{str(value)!r}], given {type(value).__name__}")


def is_text(source: SourceText) -> bool:
    """Whether it is a source's text, not a path."""
    return isinstance(source, str) and ("\n" in source or "{" in source)


def is_source(source: SourceText) -> bool:
    """Whether it is a text, or a path whose suffix is a source's, not a binary's."""
    return is_text(source) or os.path.splitext(source)[1] in LANGUAGES


def _read(source: SourceText) -> tuple[bytes, str | None]:
    """The text of a source, and its absolute path where it has one."""
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"source: expected a path or a text, or a list of them, given {type(source).__name__}")
    if is_text(source):
        return str(source).encode(), None
    if not source:
        raise ValueError("the source is empty: expected a path, or the text itself")
    path = os.path.abspath(source)
    return Path(path).read_bytes(), path


def _language(path: str | None, language: str | None) -> str:
    """What a source is written in."""
    if language is None:
        suffix = ".hip" if path is None else os.path.splitext(path)[1]
        if suffix not in LANGUAGES:
            raise ValueError(
                f"{path}: its suffix says no language: {', '.join(LANGUAGES)}; or pass language= (--language on the "
                "command line)"
            )
        return LANGUAGES[suffix]
    if language not in LANGUAGES.values():
        raise ValueError(f"language={language!r}: expected one of {', '.join(sorted(set(LANGUAGES.values())))}")
    return language


def _language_for(target: str, language: str, path: str | None) -> str:
    """What a source is compiled as: CUDA C++ for an AMD target as HIP."""
    is_amd = target.startswith("gfx")
    if language == "cuda":
        return "hip" if is_amd else "cuda"
    if not is_amd:
        raise ValueError(f"{path or 'the source'}: {language} is compiled for AMD's targets (gfx942), not {target}")
    return language


def _default_target(language: str) -> str:
    """The current GPU's target where the language is compiled for such a GPU, else the emulator's."""
    if has_gpu() and (language == "cuda" or torch.version.hip is not None):
        return target_of(torch.cuda.current_device())
    return emulated()


def _toolchain(unit: Unit) -> tuple[ModuleType, Program]:
    """What compiles a unit, and the compiler. Raises CompileError where there is none."""
    if unit.language == "cuda":
        return _cuda, _cuda.find()
    if unit.language == "mlir":
        return _mlir, _mlir.find()
    try:
        return _clang, _clang.find()
    except CompileError:
        library = _hiprtc.find(unit.target) if unit.language == "hip" else None
        if library is None:
            raise
        return _hiprtc, library


def _compiled(unit: Unit, cache: bool) -> Kept[tuple[_C.CodeObject, Compiled]]:
    """A unit's code, from this process, the cache or the compiler."""
    toolchain, program = _toolchain(unit)
    key = json.dumps([_FORMAT, program.identity, environment(), describe(unit)])
    request = hashlib.sha256(key.encode()).hexdigest()
    found = _known.get(request)
    if cache and found is not None and all(file.is_same() for file in found.dependencies):
        return found

    store = Cache(cache_folder()) if cache else None

    def build() -> tuple[bytes, Sequence[str]]:
        with tempfile.TemporaryDirectory() as folder:
            compiled = toolchain.compile_unit(replace(unit, store=store), program, Path(folder))
        return compiled.pack(), compiled.files

    def read(data: bytes) -> tuple[_C.CodeObject, Compiled]:
        compiled = Compiled.unpack(data)
        return _C.CodeObject(compiled.image), compiled

    if store is not None:
        found = _known[request] = store.get(request, build, read)
        return found
    data, files = build()
    return Kept(read(data), tuple(map(Dependency.of, files)))
