"""Builds the libraries, which have no Python in them, and the binding over them.

libwave_emulator.so      code objects and the emulator
libwave_launch.so        drivers, launches, and the C interface (wave_runtime.h), over it
libwave_runtime.so       the operators, over both; the only one that needs torch
libwave_hip_emulator.so  HIP's interface over the emulator
"""

import os
import shutil
import sys
from glob import glob
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command import editable_wheel

try:
    import torch
    from torch.utils.cpp_extension import BuildExtension, include_paths, library_paths
except ImportError as error:
    raise SystemExit(
        "wave_runtime is built against the torch it will run with, and there is none here.\n"
        "Install torch first, then: pip install --no-build-isolation ."
    ) from error

EMULATOR = "wave_runtime.libwave_emulator"
LAUNCH = "wave_runtime.libwave_launch"
RUNTIME = "wave_runtime.libwave_runtime"
HIP_EMULATOR = "wave_runtime.libwave_hip_emulator"
BINDING = "wave_runtime._C"

EMULATOR_FOLDERS = ("base", "code_object", "emulator", "emulator/isa")
LAUNCH_FOLDERS = ("driver", "driver/cuda", "driver/emulator", "driver/hip", "launch", "c_api")

# Bit-exact arithmetic: no contraction to fused multiply-adds. The other two let loops over lanes be vectorised; no code
# looks at errno or at floating-point exception flags.
FLAGS = ["-std=c++20", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra"]
# Nobody puts functions of his own in the place of ours: calls within a library need no table, and can be inlined.
FLAGS += ["-fno-semantic-interposition"]
# The emulator's loops are hot. A launch runs each instruction once, after the driver has driven them out of the caches:
# what it costs is the number of cache lines of code. So it is compiled to be small, and calls without a detour.
# Some distributions' compilers (Ubuntu's) let the C library check each copy of a lane's bytes, and guard each frame:
# the emulator checks a kernel's accesses itself.
HOT = ["-O3", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fno-stack-clash-protection", "-fcf-protection=none"]
SMALL = ["-O2", "-fno-plt"]
# What `build_ext --debug` adds: the emulator is too slow without any optimisation.
DEBUG = ["-g", "-O1", "-UNDEBUG"]

# An editable install must win over the module wave_runtime*.so of the wave-lang wheel, as the package does when it lies
# beside it: its finder must be asked before site-packages are searched, not after.
editable_wheel._FINDER_TEMPLATE = editable_wheel._FINDER_TEMPLATE.replace(
    "sys.meta_path.append(_EditableFinder)", "sys.meta_path.insert(0, _EditableFinder)"
)


def sources(*folders: str) -> list[str]:
    return sorted(path for folder in folders for path in glob(f"csrc/{folder}/*.cpp"))


def torch_requirement() -> str:
    """What is built fits one release of torch; the sources fit many."""
    release = ".".join(str(torch.__version__).split(".")[:2])
    return "torch>=2.10" if "sdist" in sys.argv else f"torch=={release}.*"


class Build(BuildExtension):
    """Names the libraries as libraries are named, and lets what is built later link against them.

    Leaves the version of torch beside them, for wave_runtime/_abi.py, and beside the objects.
    """

    def run(self) -> None:
        version = str(torch.__version__)
        objects = Path(self.build_temp)
        if (objects / "torch").exists() and (objects / "torch").read_text() != version:
            for folder in ("op", "python"):  # torch's are system headers, whose changes no build notices
                shutil.rmtree(objects / "csrc" / folder, ignore_errors=True)
        objects.mkdir(parents=True, exist_ok=True)
        (objects / "torch").write_text(version)
        super().run()
        package = Path("wave_runtime" if self.inplace else f"{self.build_lib}/wave_runtime")
        (package / "_built_for.py").write_text(f'"""What setup.py built the libraries for."""\n\nTORCH = "{version}"\n')

    def get_ext_filename(self, ext_name: str) -> str:
        if self._is_library(ext_name):
            return os.path.join(*ext_name.split(".")) + ".so"
        name: str = super().get_ext_filename(ext_name)
        return name

    def build_extension(self, ext: Extension) -> None:
        if self.debug:
            ext.extra_compile_args += DEBUG
        ext.library_dirs.append(os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name))))
        super().build_extension(ext)

    def get_export_symbols(self, ext: Extension) -> Any:
        return [] if self._is_library(ext.name) else super().get_export_symbols(ext)

    @staticmethod
    def _is_library(name: str) -> bool:
        return name.split(".")[-1] != BINDING.split(".")[-1]


def link_options(name: str) -> list[str]:
    options = ["-Wl,-rpath,$ORIGIN", "-Wl,-Bsymbolic-functions"]
    if name != BINDING:
        options.append("-Wl,--no-undefined")
    # Programs that link a library without this name would record its path. HIP's emulator is linked under HIP's name.
    if name not in (BINDING, HIP_EMULATOR):
        options.append(f"-Wl,-soname,{name.split('.')[-1]}.so")
    if name == HIP_EMULATOR:
        options.append(f"-Wl,--version-script={os.path.abspath('csrc/hip_emulator/exports.map')}")
    return options


def extension(name: str, folders: tuple[str, ...], libraries: tuple[str, ...], *options: str) -> Extension:
    uses_torch = "c10" in libraries
    # Torch's headers as system headers: their warnings are not ours to mend.
    torch_headers = [f"-isystem{path}" for path in include_paths()] if uses_torch else []
    return Extension(
        name,
        sources=sources(*folders),
        include_dirs=[
            os.path.abspath(path) for path in ("csrc", *(["wave_runtime/include"] if "c_api" in folders else []))
        ],
        library_dirs=library_paths() if uses_torch else [],
        libraries=list(libraries),
        extra_compile_args=[*FLAGS, *(HOT if "emulator" in name else SMALL), *options, *torch_headers],
        extra_link_args=link_options(name),
        depends=glob("csrc/**/*.h", recursive=True)
        + glob("csrc/**/*.in[cl]", recursive=True)
        + glob("csrc/**/*.map", recursive=True)
        + glob("*/include/*.h"),
        language="c++",
    )


setup(
    install_requires=[torch_requirement()],
    ext_modules=[
        extension(EMULATOR, EMULATOR_FOLDERS, ()),
        extension(HIP_EMULATOR, ("hip_emulator",), ("wave_emulator",), "-fvisibility=hidden"),
        extension(LAUNCH, LAUNCH_FOLDERS, ("wave_emulator",)),
        extension(RUNTIME, ("op",), ("wave_launch", "wave_emulator", "c10", "torch_cpu")),
        extension(
            BINDING, ("python",), ("wave_runtime", "wave_launch", "wave_emulator", "c10", "torch_cpu", "torch_python")
        ),
    ],
    cmdclass={"build_ext": Build},
)
