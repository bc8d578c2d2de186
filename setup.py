"""Builds libwave_runtime.so, which has no Python in it and registers the operators, and the binding over it."""

import os
from glob import glob
from typing import Any

from setuptools import Extension, setup
from setuptools.command import editable_wheel

try:
    from torch.utils.cpp_extension import BuildExtension, include_paths, library_paths
except ImportError as error:
    raise SystemExit(
        "wave_runtime is built against the torch it will run with, and there is none here.\n"
        "Install torch first, then: pip install --no-build-isolation ."
    ) from error

LIBRARY = "wave_runtime.libwave_runtime"

# Bit-exact arithmetic: no contraction to fused multiply-adds. The other two let loops over lanes be vectorised; no code
# looks at errno or at floating-point exception flags.
FLAGS = ["-std=c++20", "-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra"]

# An editable install must win over the module wave_runtime*.so of the wave-lang wheel, as the package does when it lies
# beside it: its finder must be asked before site-packages are searched, not after.
editable_wheel._FINDER_TEMPLATE = editable_wheel._FINDER_TEMPLATE.replace(
    "sys.meta_path.append(_EditableFinder)", "sys.meta_path.insert(0, _EditableFinder)"
)

LIBRARY_FOLDERS = (
    "base",
    "code_object",
    "emulator",
    "emulator/isa",
    "driver",
    "driver/cuda",
    "driver/emulator",
    "driver/hip",
    "launch",
    "op",
)


def sources(*folders: str) -> list[str]:
    return sorted(path for folder in folders for path in glob(f"csrc/{folder}/*.cpp"))


class Build(BuildExtension):
    """Names the library as libraries are named, and lets the binding link against it."""

    def get_ext_filename(self, ext_name: str) -> str:
        name: str = super().get_ext_filename(ext_name)
        if ext_name.split(".")[-1] == LIBRARY.split(".")[-1]:
            return os.path.join(os.path.dirname(name), LIBRARY.split(".")[-1] + ".so")
        return name

    def build_extension(self, ext: Extension) -> None:
        if ext.name != LIBRARY:
            built: str = self.get_ext_fullpath(LIBRARY)
            ext.library_dirs.append(os.path.dirname(os.path.abspath(built)))
        super().build_extension(ext)

    def get_export_symbols(self, ext: Extension) -> Any:
        return [] if ext.name == LIBRARY else super().get_export_symbols(ext)


def extension(name: str, folders: tuple[str, ...], libraries: list[str], link: list[str]) -> Extension:
    return Extension(
        name,
        sources=sources(*folders),
        include_dirs=[os.path.abspath("csrc")],
        library_dirs=library_paths(),
        libraries=libraries,
        # Torch's headers as system headers: their warnings are not ours to mend.
        extra_compile_args=[*FLAGS, *(f"-isystem{path}" for path in include_paths())],
        extra_link_args=link,
        depends=glob("csrc/**/*.h", recursive=True) + glob("csrc/**/*.in[cl]", recursive=True),
        language="c++",
    )


setup(
    ext_modules=[
        extension(LIBRARY, LIBRARY_FOLDERS, ["c10", "torch_cpu"], ["-Wl,--no-undefined"]),
        extension(
            "wave_runtime._C", ("python",), ["wave_runtime", "c10", "torch_cpu", "torch_python"], ["-Wl,-rpath,$ORIGIN"]
        ),
    ],
    cmdclass={"build_ext": Build},
)
