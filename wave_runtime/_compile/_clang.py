"""HIP C++, assembly and LLVM IR for AMD GPUs, by clang: that of ROCm, or any other from version 17."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import wave_emulator
from wave_runtime._compile._names import of_image
from wave_runtime._compile._precompiled import precompiled, refuse, rule_in
from wave_runtime._compile._types import signatures
from wave_runtime._compile._unit import Compiled, CompileError, Program, Unit, included, run
from wave_runtime._fork import start

_OLDEST = 17
_NEWEST = 25
_HEADERS = Path(wave_emulator.__file__).parent / "device"
_SUFFIXES = {"hip": ".hip", "asm": ".s", "llvm": ".ll"}
# clang's headers for C++ in kernels are not looked for below HIP 3.6, and that is what it takes a machine without for.
_CLANGS_WRAPPERS = "--hip-version=6.0"
_IR_OPTIONS = ("-x", "ir", "-O3", "-Wno-override-module")
# What only host code has, or code for both.
_HOST_CODE = re.compile(rb"<<<|\bmain\s*\(|\b(?:hip|cuda)[A-Z]\w*")
_INCLUDE = re.compile(rb'^\s*\.(?:include|incbin)\s+"((?:[^"\\\n]|\\.)+)"', re.MULTILINE)


def _candidates() -> Iterator[str]:
    if named := os.environ.get("CLANG"):
        yield named
        return
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if root:
            yield f"{root}/llvm/bin/clang"
    yield from (f"clang-{version}" for version in range(_NEWEST, _OLDEST - 1, -1))
    yield "clang"


def find() -> Program:
    """The compiler: ``CLANG``, that of ROCm, or the newest on PATH.

    Raises:
        CompileError: there is none, with all that was looked for.
    """
    for name in _candidates():
        path = shutil.which(name)
        if path is not None and (name != "clang" or _version(path) >= _OLDEST):
            program = Program.at(path)
            return replace(program, identity=f"{program.identity} {_HEADERS}")  # each installation has its own
    looked_for = "\n  ".join(_candidates())
    raise CompileError(
        f"no compiler for AMD GPUs; looked for\n  {looked_for}\nand clang must be of version {_OLDEST} or later. "
        "Install ROCm, or clang and lld (Debian: apt install clang-19 lld-19), or name a clang in CLANG. For the GPU "
        "at hand hipRTC would do, which a torch built for ROCm brings along (WAVE_RUNTIME_LIBHIPRTC names one)"
    )


@functools.cache
def _version(path: str) -> int:
    output, _ = start([path, "-dumpversion"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).communicate()
    major = output.decode().split(".")[0]
    return int(major) if major.isdigit() else 0


def rocm_of(program: Program) -> str | None:
    """The ROCm that a compiler belongs to, whose headers and device libraries it finds itself."""
    root = Path(os.path.realpath(program.path)).parents[2]
    return str(root) if (root / "include" / "hip" / "hip_runtime.h").is_file() else None


def _version_of_code_objects(unit: Unit) -> str:
    version = 6 if "-generic" in unit.target else 5  # the oldest that each has; older ROCm does not load 6
    return f"-mcode-object-version={version}"


def _hip_options(unit: Unit, program: Program) -> list[str]:
    options = [
        "-x",
        "hip",
        f"--offload-arch={unit.target}",
        "--offload-device-only",
        "--no-gpu-bundle-output",
        _version_of_code_objects(unit),
        "-std=c++17",
        "-O3",
    ]
    if (rocm := rocm_of(program)) is not None:
        return [*options, f"--rocm-path={rocm}"]
    if _HOST_CODE.search(unit.text):
        options.append("-DWAVE_DEVICE_HOST_CODE")
    if "-mwavefrontsize64" in unit.options:
        options.append("-DWAVE_DEVICE_WAVE_SIZE=64")  # since clang 22 no macro tells
    if "-mcode-object-version=4" in unit.options:
        options.append("-DWAVE_DEVICE_GRID_IN_PACKET")  # nor of this
    options += ["-nogpulib", "-nogpuinc", _CLANGS_WRAPPERS]
    return [*options, "-isystem", str(_HEADERS), "-isystem", str(_HEADERS / "cuda")]


def _headers(unit: Unit) -> list[str]:
    """What each source begins with."""
    options = ["-include", "hip/hip_runtime.h"]
    if (unit.path or "").endswith(".cu"):
        options += ["-include", "cuda_runtime.h"]  # as nvcc does
    return options


def _target_options(unit: Unit) -> list[str]:
    return ["-target", "amdgcn-amd-amdhsa", f"-mcpu={unit.target}", "-nogpulib"]


def compile_unit(unit: Unit, program: Program, folder: Path) -> Compiled:
    """Compile for an AMD GPU. Temporary files lie in the folder. Raises CompileError."""
    plain = [_Headers(_headers(part), ()) for part in unit.sources]
    read = [_headers_read(unit, part, program, folder, number) for number, part in enumerate(unit.sources)]
    if any(read):
        with contextlib.suppress(CompileError):  # whose message is to have the command that anybody can give
            return _compile(unit, program, folder, [one or other for one, other in zip(read, plain, strict=True)])
        compiled = _compile(unit, program, folder, plain)
        for part in unit.sources:
            refuse(program, _reading(unit, part, program))
        return compiled
    return _compile(unit, program, folder, plain)


class _Headers(NamedTuple):
    """What a source begins with.

    Attributes:
        options: that name it.
        files: that it was made of, where the compiler does not read them again.
    """

    options: Sequence[str]
    files: Sequence[str]


def _reading(unit: Unit, part: Unit, program: Program) -> list[str]:
    """What reads the headers of one source of a unit, but for the output."""
    linked = ["-fgpu-rdc"] if unit.others else []
    return [program.path, *_hip_options(part, program), *_headers(part), *linked, *part.options]


def _headers_read(unit: Unit, part: Unit, program: Program, folder: Path, number: int) -> _Headers | None:
    """The headers of one source of a unit, read before; None where they are to be read."""
    if part.language != "hip" or rocm_of(program) is not None:  # whose headers were not tried
        return None
    kept = precompiled(part, unit.store, program, _reading(unit, part, program))
    if kept is None:
        return None
    file = folder / f"headers{number}.pch"
    file.write_bytes(kept.value)
    words = ("-include-pch", str(file))
    return _Headers([each for word in words for each in ("-Xclang", word)], [file.path for file in kept.dependencies])


def _compile(unit: Unit, program: Program, folder: Path, headers: Sequence[_Headers]) -> Compiled:
    if unit.others:
        return _link(unit, program, folder, headers)
    source, image = unit.in_folder(folder, _SUFFIXES[unit.language]), folder / "image"
    includes = [f"-I{path}" for path in unit.include_dirs]
    if unit.language == "hip":
        build, look = _hip_commands(unit, program, source, folder, 0, headers[0])
        run(unit, [[*build, "-fuse-cuid=none", "-o", str(image)], look], folder)
        return Compiled(image.read_bytes(), *_told_by_hip(source, folder, 0, headers[0]))
    command = [program.path, *_target_options(unit)]
    if unit.language == "asm":
        symbols = [f"-Wa,-defsym,{name}={1 if value is None else value}" for name, value in unit.defines]
        command += ["-x", "assembler", *symbols, f"-I{source.parent}", *includes]
    else:
        command += _IR_OPTIONS
    run(unit, [[*command, *unit.options, source, "-o", image]], folder)
    files = _assembly_files(unit, source.parent) if unit.language == "asm" else []
    data = image.read_bytes()
    return Compiled(data, *of_image(data), files)


def assembly(unit: Unit, program: Program, folder: Path) -> bytes:
    """HIP C++ or LLVM IR as assembly, which compile_unit() takes. Raises CompileError."""
    source, text = unit.in_folder(folder, _SUFFIXES[unit.language]), folder / "assembly.s"
    includes = [f"-I{path}" for path in unit.include_dirs]
    if unit.language == "hip":
        options = [*_hip_options(unit, program), *_headers(unit), "-fhip-kernel-arg-name"]
        command = [program.path, *options, *unit.definitions(), *includes]
    else:
        command = [program.path, *_target_options(unit), *_IR_OPTIONS]
    run(unit, [[*command, *unit.options, "-S", source, "-o", text]], folder)
    return text.read_bytes()


def _hip_commands(
    unit: Unit, program: Program, source: Path, folder: Path, number: int, headers: _Headers
) -> tuple[list[str], list[str]]:
    """What compiles a source, but for the output, and what writes all its debug information, for parameters' types."""
    includes = [f"-I{path}" for path in unit.include_dirs]
    command = [program.path, *_hip_options(unit, program), *headers.options, *unit.definitions(), *includes]
    command += [*unit.options, str(source)]
    # The folder's name must not be in the code, which is kept under its hash.
    lines = ["-gline-tables-only", f"-ffile-prefix-map={folder}/=", "-fdebug-compilation-dir=."]
    build = [*command, *lines, "-fhip-kernel-arg-name", *rule_in(folder / f"files{number}.d")]
    look = ["-g", "-w", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
    return build, [*command, *look, "-o", str(folder / f"types{number}.ll")]


def _told_by_hip(
    source: Path, folder: Path, number: int, headers: _Headers
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Signatures, symbols by their names in the source, and files that were included, once the commands have run."""
    types = (folder / f"types{number}.ll").read_text("utf-8", "replace")
    files = dict.fromkeys([*included(folder / f"files{number}.d", source), *headers.files])
    return *signatures(types), list(files)


def _link(unit: Unit, program: Program, folder: Path, headers: Sequence[_Headers]) -> Compiled:
    """Compile several sources to LLVM's bitcode, and link that: objects would each bring metadata of their own."""
    commands: list[list[str]] = []
    sources, parts = [], []
    for number, part in enumerate(unit.sources):
        if part.language not in ("hip", "llvm"):
            unit.refuse_others(f"one is {part.language}; HIP C++ and LLVM IR are")
        source = part.in_folder(folder, _SUFFIXES[part.language], number)
        sources.append(source)
        parts.append(str(folder / f"part{number}.bc"))
        if part.language == "hip":
            build, look = _hip_commands(part, program, source, folder, number, headers[number])
            # Each source has a variable of its own that is named after its id, without which names would meet.
            commands += [[*build, "-fgpu-rdc", f"-cuid={number}", "-c", "-emit-llvm", "-o", parts[-1]]]
            commands += [[*look, "-fgpu-rdc"]]
        else:
            options = [*_target_options(part), *_IR_OPTIONS, *part.options]
            commands += [[program.path, *options, str(source), "-c", "-emit-llvm", "-o", parts[-1]]]
    run(unit, commands, folder)
    image = folder / "image"
    level = [option for option in ("-O3", *unit.options) if re.fullmatch(r"-O[0-3]", option)][-1]
    link = [program.path, *_target_options(unit), _version_of_code_objects(unit), level, "-flto"]
    run(unit, [[*link, *parts, "-o", image]], folder)
    data = image.read_bytes()
    types, symbols = of_image(data)
    files: list[str] = []
    for number, (part, source) in enumerate(zip(unit.sources, sources, strict=True)):
        if part.language == "hip":
            told_types, told_symbols, told_files = _told_by_hip(source, folder, number, headers[number])
            types, symbols, files = {**types, **told_types}, {**symbols, **told_symbols}, [*files, *told_files]
    return Compiled(data, types, symbols, files)


def _assembly_files(unit: Unit, folder: Path) -> list[str]:
    """The files that .include and .incbin name, and those that these include in turn."""
    found: dict[str, None] = {}
    texts = [unit.text]
    while texts:
        for name in _INCLUDE.findall(texts.pop()):
            for base in (str(folder), *unit.include_dirs):
                path = os.path.normpath(os.path.join(base, os.fsdecode(_unescaped(name))))
                if path not in found and os.path.isfile(path):
                    found[path] = None
                    texts.append(Path(path).read_bytes())
    return list(found)


def _unescaped(text: bytes) -> bytes:
    """What stands between quotes in assembly, where a backslash goes before another, a quote, or an octal number."""

    def meant(escape: re.Match[bytes]) -> bytes:
        return escape[2] or bytes([int(escape[1], 8) & 255])

    return re.sub(rb"\\(?:([0-7]{1,3})|(.))", meant, text, flags=re.DOTALL)
