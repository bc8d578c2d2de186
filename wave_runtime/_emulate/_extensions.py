"""Extensions with kernels, which torch.utils.cpp_extension builds for the emulated GPU as a torch for ROCm builds them.

A torch for the CPU has no library for GPUs, and its headers for them are CUDA's. A folder in the cache has what a torch
for ROCm has instead: these headers, converted by torch's own hipify; a library with what they declare, from the sources
in torch_hip/cuda/c10/cuda; hipcc; and what packages ask ROCm for before they build. In it ``DeviceType::CUDA`` is the
CPU, whose tensors an emulated GPU's are: code that asks for the one kind finds the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.abc
import importlib.machinery
import io
import os
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils.hipify import version as hipify

from wave_emulator import _hip, _toolchain, library
from wave_emulator._cache_folder import cache_folder, keep, new_folder_for
from wave_runtime._compile import _clang
from wave_runtime._compile._unit import CompileError, Unit, run
from wave_runtime._emulate import _hip_headers, _torch_headers
from wave_runtime._emulate._patches import Patches

MODULE = "torch.utils.cpp_extension"
_ROCM = Path("/opt/rocm")
_OF_ROCM = ("include/hip/hip_runtime.h", "include/hip/hip_version.h", "bin/hipcc")  # what is asked of any ROCm
_OURS = Path(__file__).with_name("torch_hip")
_FOR_GPUS = ("c10/cuda", "ATen/cuda", "ATen/native/cuda", "torch/headeronly/cuda")  # the last since torch 2.14
_MODULES = (__file__, _hip_headers.__file__, _torch_headers.__file__)
TORCH_ROOT = "Torch_ROOT"  # where CMake looks for Torch, in any version, before other places
_CONFIG = Path("share", "cmake", "Torch", "torch-config.cmake")
_SOURCES = ("c10/cuda/library.cpp", "c10/cuda/blas.cpp", "c10/cuda/stable.cpp")


def replace(patches: Patches) -> None:
    """Have torch.utils.cpp_extension build for the emulated GPU, once it is imported."""
    root = Path(os.environ.get(TORCH_ROOT, ""))
    if (root / _CONFIG).is_file():  # of a process that has called show()
        _set_cmake_prefix(root, patches)
    if (module := sys.modules.get(MODULE)) is not None:
        _replace_in(module, patches)
        return
    finder = _Finder(patches)
    sys.meta_path.insert(0, finder)
    patches.call_at_the_end(lambda: sys.meta_path.remove(finder))


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the module, whose import takes a while."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _replace_in(module, self._patches)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _replace_in(module: Any, patches: Patches) -> None:
    home = _Home()
    home.show(patches)
    include_paths = module.include_paths

    def with_ours(device_type: str = "cpu", *arguments: Any, **options: Any) -> list[str]:
        paths: list[str] = include_paths(device_type, *arguments, **options)
        return paths if device_type != "cuda" else [home.make(), *paths, *home.headers_of_rocm()]

    patches.set(module, "IS_HIP_EXTENSION", True)
    patches.set(module, "ROCM_HOME", str(home.path))
    # Functions of torch's headers that are inline have another meaning here than in torch's libraries.
    patches.set(module, "COMMON_HIP_FLAGS", [*module.COMMON_HIP_FLAGS, "-fvisibility-inlines-hidden"])
    patches.set(module, "include_paths", with_ours)


def _set_cmake_prefix(root: Path, patches: Patches) -> None:
    patches.set(torch.utils, "cmake_prefix_path", str((root / _CONFIG).parent.parent))


def show(patches: Patches) -> None:
    """Have processes that begin from here find what ROCm and a torch for it have for those who build."""
    _Home().show(patches)


def print_home() -> None:
    """For torch-config.cmake: make the folder that extensions are built with, or say what is missing for it."""
    home = _Home()
    try:
        home.make()
        print(home.path)
    except (CompileError, OSError, RuntimeError) as error:
        sys.exit(str(error))


class _Home:
    """The folder that torch.utils.cpp_extension takes for ROCm's.

    Attributes:
        path: one for each torch, HIP and compiler.
        rocm: ROCm's, with HIP's headers and the device libraries, or what stands in for it.
    """

    def __init__(self) -> None:
        compiler = None
        with contextlib.suppress(CompileError):  # that there is none matters where something is built
            compiler = _clang.find()
        named = (os.environ.get(name) for name in ("ROCM_HOME", "ROCM_PATH"))
        self.rocm = next((Path(name).absolute() for name in named if name), _ROCM)
        self._is_ours = self.rocm == _ROCM and not all((self.rocm / part).is_file() for part in _OF_ROCM)
        if self._is_ours and compiler is not None:
            self.rocm = _toolchain.folder_in_cache(compiler.path)
        files = [*sorted(_OURS.rglob("*")), *(Path(module) for module in _MODULES)]
        if not self._is_ours:
            files.append(self.rocm / "include" / "hip" / "hip_version.h")
        identity = compiler and compiler.identity
        names = (torch.__version__, _torch_headers.FOLDER, self.rocm, identity, library("wave_hip_emulator"))
        parts = [str(name).encode() for name in names]
        parts += [path.read_bytes() for path in files if path.is_file()]
        digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
        self.path = cache_folder().absolute() / "torch_hip" / digest

    def show(self, patches: Patches) -> None:
        """Have programs find the folder's, and CMake its Torch, unless something is missing for that."""
        with contextlib.suppress(CompileError, OSError, RuntimeError):  # which matters where something is built
            self.make_programs()
            folders = [str(self.path / "bin"), *os.get_exec_path()]
            patches.set_item(os.environ, "PATH", os.pathsep.join(dict.fromkeys(folders)))
            patches.set_item(os.environ, TORCH_ROOT, str(self.path))
            _set_cmake_prefix(self.path, patches)

    def make(self) -> str:
        """Make the folder where it is not there yet. Where headers are looked for before torch's own.

        Raises RuntimeError where there is no HIP, or where this torch's headers are others than those that are known;
        CompileError where there is no compiler, or the library does not compile.
        """
        if hipify.__version__.startswith("1."):
            raise RuntimeError(
                f"extensions with kernels need torch 2.11 or later here, and this is {torch.__version__}"
            )
        self._find_rocm()
        if not (self.path / "include").is_dir():
            with new_folder_for(self.path) as home:
                self._fill(home)
                self.make_programs()
                for part in ("lib", "include"):  # where the last is, all is
                    keep(home / part, self.path / part)
        return str(self.path / "include")

    def make_programs(self) -> None:
        """Make what is asked for before anything is built, where it is not there yet: programs, the release, for CMake.

        Raises RuntimeError where there is no HIP, CompileError where there is no compiler.
        """
        if not self.path.is_dir():
            self._find_rocm()
            with new_folder_for(self.path) as home:
                (home / ".info").mkdir(parents=True)
                (home / ".info" / "version").write_text(".".join(_toolchain.release_of(self.rocm).values()) + "\n")
                for name in ("rocminfo", "rocm_agent_enumerator"):  # of the GPU that there is in an emulation
                    _toolchain.write_program(home, f"bin/{name}")
                for name, options in (("hipcc", "-gline-tables-only "), ("hipconfig", "")):
                    # ROCm's finds what belongs to it by its own path.
                    program = home / "bin" / name
                    rocms = shlex.quote(str(self.rocm / "bin" / name))
                    program.write_text(f'#!/bin/sh\nexec {rocms} {options}"$@"\n')
                    program.chmod(0o755)
                self._write_cmake_package(home)
                keep(home, self.path)

    def _write_cmake_package(self, home: Path) -> None:
        """Of torch, as find_package(Torch) finds one for ROCm."""
        torchs = torch.__version__.partition("+")[0]
        release = _toolchain.release_of(self.rocm)
        variables = {
            "_python": sys.executable,
            "TORCH_INSTALL_PREFIX": _torch_headers.FOLDER.parent,
            "Torch_VERSION": torchs,
            "ROCM_PATH": self.rocm,
            "ROCM_VERSION_DEV": ".".join(release.values()),
            **{f"ROCM_VERSION_DEV_{part}": number for part, number in release.items()},
        }
        given = "".join(f'set({name} "{value}")\n' for name, value in variables.items())
        config = given + (_OURS / "cmake" / "torch-config.cmake").read_text()
        _toolchain.write_cmake_package((home / _CONFIG).parent, "torch", config, torchs)

    def _find_rocm(self) -> None:
        """Make the folder in the place of ROCm's, if there is no ROCm. Raises RuntimeError where there is no HIP."""
        if self._is_ours:
            compiler = _clang.find().path
            try:
                _toolchain.kept(compiler)
            except (OSError, ValueError) as error:
                raise RuntimeError(
                    "extensions with kernels need HIP's headers and device libraries: install those of Debian or "
                    f"Ubuntu, or name ROCm's folder in ROCM_PATH. {error}"
                ) from error
            return
        advice = "name ROCm's folder in ROCM_PATH, or none, so that one is made of HIP's packages of Debian or Ubuntu"
        for part in _OF_ROCM:
            if not (self.rocm / part).is_file():
                raise RuntimeError(f"{self.rocm} has no {part}, which extensions with kernels need: {advice}")
        if len(_toolchain.release_of(self.rocm)) != 3:
            raise RuntimeError(f"{self.rocm}/include/hip/hip_version.h does not say which release it is of: {advice}")

    def headers_of_rocm(self) -> list[str]:
        """Where compilers look for them besides: not where they look anyway, which they must do in its order."""
        include = self.rocm / "include"
        return [] if include == Path("/usr/include") else [str(include)]

    def _fill(self, home: Path) -> None:
        include = home / "include"
        sources = self._convert(include)
        torchs = f"torch {torch.__version__}"
        _torch_headers.change(include, _torch_headers.FOLDER, _torch_headers.CHANGES, torchs)
        shutil.copytree(_OURS / "include", include, dirs_exist_ok=True)
        _hip_headers.complete(include, self.rocm / "include")
        (home / "lib").mkdir()
        _hip.link(home / "lib")
        self._build_library(home, sources)

    def _convert(self, include: Path) -> list[str]:
        """CUDA's headers of torch, and ours, as HIP's. The library's sources."""
        from torch.utils.hipify import hipify_python  # only now: it takes half a second

        for part in _FOR_GPUS:
            if (_torch_headers.FOLDER / part).is_dir():
                shutil.copytree(_torch_headers.FOLDER / part, include / part)
        shutil.copytree(_OURS / "cuda", include, dirs_exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            converted = hipify_python.hipify(
                str(include),
                output_directory=str(include),
                includes=[f"{include}/*"],
                extensions=(".cuh", ".h", ".cpp"),
                hip_clang_launch=True,
                show_progress=False,
            )
        return [converted[str(include / name)].hipified_path for name in _SOURCES]

    def _build_library(self, home: Path, sources: list[str]) -> None:
        """The library, and what linkers find under the names of torch's and AMD's: its path, and that of the emulator.

        So programs that are linked with it find both without a path of their own to look in.
        """
        built = home / "lib" / "libwave_torch_hip.so"
        torchs = (_torch_headers.FOLDER, _torch_headers.FOLDER / "torch" / "csrc" / "api" / "include")
        includes = [home / "include", *torchs, *self.headers_of_rocm()]
        command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-O1", "-fPIC", "-shared"]
        # The stable ABI declares what it has for GPUs where USE_CUDA is defined, for ROCm, too.
        command += ["-fvisibility-inlines-hidden", "-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM=1", "-DUSE_CUDA=1"]
        command += [*(f"-I{path}" for path in includes), "-o", str(built)]
        # An extension may be linked with none of them but this library.
        hip = f"libamdhip64.so.{_toolchain.library_release(self.rocm)}"
        libraries = ["-Wl,--no-as-needed,-rpath,$ORIGIN", f"-L{home / 'lib'}", f"-l:{hip}"]
        libraries += [f"-L{_torch_headers.FOLDER.parent / 'lib'}", "-ltorch_cpu", "-lc10"]
        whole = [*command, *sources, *libraries]
        run(Unit(b"", sources[0], "cpp", f"torch {torch.__version__}", (), (), ()), [whole], home)
        names = {
            "amdhip64": hip,
            "c10_hip": built.name,
            "torch_hip": built.name,
        }
        for name, file in names.items():
            script = home / "lib" / f"lib{name}.so"
            script.unlink(missing_ok=True)
            script.write_text(f"INPUT({self.path / 'lib' / file})\n")
