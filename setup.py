"""Builds the libraries, which have no Python in them, and the binding over them.

libwave_emulator.so      code objects and the emulator
libwave_launch.so        drivers, launches, and the C interface (wave_runtime.h), over it
libwave_hip_emulator.so  HIP's interface over the emulator
torch_2_13/              for one release of torch, whose interface the next does not have:
    libwave_runtime.so     the operators, over both of the first
    _C.abi3.so             the binding, for each Python from 3.10 on

They are built for the torch that is installed, or for all releases whose headers lie in the folder that the environment
variable WAVE_RUNTIME_TORCH_HEADERS names, as tools/make_wheel.py puts them there.
"""

import os
import re
import subprocess
import sys
from glob import glob
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
HIP_EMULATOR = "wave_runtime.libwave_hip_emulator"

TORCH_LIBRARIES = ("c10", "torch_cpu", "torch_python")
TORCH_PACKAGE = re.compile(r"^wave_runtime\.torch_\d+_\d+\.")

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


def release(version: str) -> str:
    """The part of a version that names a release with one binary interface: "2.13"."""
    return ".".join(version.split(".")[:2])


def torch_headers() -> dict[str, list[str]]:
    """The folders of headers for each version of torch to build for."""
    if folder := os.environ.get("WAVE_RUNTIME_TORCH_HEADERS"):
        versions = sorted(os.listdir(folder), key=lambda version: [int(part) for part in version.split(".")])
        roots = {version: f"{folder}/{version}/torch/include" for version in versions}
        return {version: [root, f"{root}/torch/csrc/api/include"] for version, root in roots.items()}
    return {str(torch.__version__): list(include_paths())}


TORCHES = torch_headers()
IS_FOR_HERE = [*TORCHES] == [str(torch.__version__)]


def torch_requirement() -> str:
    """What is built fits the releases of torch that it was built for; the sources fit many."""
    if "sdist" in sys.argv:
        return "torch>=2.10"
    first, last = (release(version) for version in (next(iter(TORCHES)), [*TORCHES][-1]))
    major, minor = last.split(".")
    return f"torch>={first},<{major}.{int(minor) + 1}"


class Build(BuildExtension):
    """Names the libraries as libraries are named, and lets what is built later link against them."""

    def run(self) -> None:
        if not IS_FOR_HERE:
            self.make_names_of_torch()
        if self.inplace:
            for ext in self.extensions:
                os.makedirs(os.path.dirname(ext.name.replace(".", "/")), exist_ok=True)
        super().run()

    def make_names_of_torch(self) -> None:
        """Empty libraries with the names of torch's, to link against: torch's own are found when ours are loaded."""
        os.makedirs(self.folder_of_names(), exist_ok=True)
        for name in TORCH_LIBRARIES:
            library = f"{self.folder_of_names()}/lib{name}.so"
            options = ["-shared", "-nostdlib", f"-Wl,-soname,lib{name}.so", "-x", "c", "/dev/null", "-o", library]
            subprocess.run([os.environ.get("CC", "cc"), *options], check=True)

    def folder_of_names(self) -> str:
        return os.path.join(self.build_temp, "torch_names")

    def get_ext_filename(self, ext_name: str) -> str:
        if self._is_library(ext_name):
            return os.path.join(*ext_name.split(".")) + ".so"
        name: str = super().get_ext_filename(ext_name)
        return name

    def build_extension(self, ext: Extension) -> None:
        if self.debug:
            ext.extra_compile_args += DEBUG
        objects = self.build_temp
        package = os.path.dirname(os.path.abspath(self.get_ext_fullpath(LAUNCH)))
        ext.library_dirs += [package, os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))]
        if not IS_FOR_HERE:
            ext.library_dirs.append(self.folder_of_names())
        if TORCH_PACKAGE.search(ext.name):
            # Torch's are system headers, whose changes no build notices: each version has objects of its own.
            self.build_temp = os.path.join(objects, ext.define_macros[0][1])
        super().build_extension(ext)
        self.build_temp = objects

    def get_export_symbols(self, ext: Extension) -> Any:
        return [] if self._is_library(ext.name) else super().get_export_symbols(ext)

    @staticmethod
    def _is_library(name: str) -> bool:
        return name.split(".")[-1] != "_C"


def link_options(name: str) -> list[str]:
    options = ["-Wl,-rpath,$ORIGIN", "-Wl,-Bsymbolic-functions"]
    if TORCH_PACKAGE.search(name):
        options += ["-Wl,-rpath,$ORIGIN/..", "-Wl,--gc-sections"]
        # Empty libraries have nothing that is needed, and are needed all the same.
        libraries = TORCH_LIBRARIES if name.endswith("._C") else TORCH_LIBRARIES[:2]
        options += ["-Wl,--push-state,--no-as-needed", *(f"-l{name}" for name in libraries), "-Wl,--pop-state"]
    if not name.endswith("._C") and (IS_FOR_HERE or not TORCH_PACKAGE.search(name)):
        options.append("-Wl,--no-undefined")
    # Programs that link a library without this name would record its path. HIP's emulator is linked under HIP's name.
    if name != HIP_EMULATOR:
        options.append(f"-Wl,-soname,{name.split('.')[-1]}.so")
    if name == HIP_EMULATOR:
        options.append(f"-Wl,--version-script={os.path.abspath('csrc/hip_emulator/exports.map')}")
    return options


def extension(name: str, folders: tuple[str, ...], libraries: tuple[str, ...], *options: str, **more: Any) -> Extension:
    return Extension(
        name,
        sources=sources(*folders),
        include_dirs=[
            os.path.abspath(path) for path in ("csrc", *(["wave_runtime/include"] if "c_api" in folders else []))
        ],
        libraries=list(libraries),
        extra_compile_args=[*FLAGS, *(HOT if "emulator" in name else SMALL), *options],
        extra_link_args=link_options(name),
        depends=glob("csrc/**/*.h", recursive=True)
        + glob("csrc/**/*.in[cl]", recursive=True)
        + glob("csrc/**/*.map", recursive=True)
        + glob("*/include/*.h"),
        language="c++",
        **more,
    )


def torch_extensions(version: str, headers: list[str]) -> list[Extension]:
    """What is built anew for each release of torch."""
    package = f"wave_runtime.torch_{release(version).replace('.', '_')}"
    more: dict[str, Any] = {
        "define_macros": [("WAVE_RUNTIME_TORCH", version)],
        "library_dirs": library_paths() if IS_FOR_HERE else [],
    }
    # Torch's headers as system headers: their warnings are not ours to mend.
    options = [f"-isystem{path}" for path in headers]
    ours = ("wave_launch", "wave_emulator")
    runtime = extension(f"{package}.libwave_runtime", ("op",), ours, *options, **more)
    # Of layout.cpp, which sees all of Python's API, nothing may be left in the binding.
    options += ["-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"]
    libraries = ("wave_runtime", *ours)
    return [runtime, extension(f"{package}._C", ("python",), libraries, *options, py_limited_api=True, **more)]


setup(
    install_requires=[torch_requirement()],
    ext_modules=[
        extension(EMULATOR, EMULATOR_FOLDERS, ()),
        extension(HIP_EMULATOR, ("hip_emulator",), ("wave_emulator",), "-fvisibility=hidden"),
        extension(LAUNCH, LAUNCH_FOLDERS, ("wave_emulator",)),
        *(part for version, headers in TORCHES.items() for part in torch_extensions(version, headers)),
    ],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
