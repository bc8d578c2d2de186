"""Builds what needs torch: the operators, and the binding over them.

wave_runtime/torch_2_13/  for one release of torch, whose interface the next does not have:
    libwave_runtime.so      the operators
    _C.abi3.so              the binding, for each Python from 3.10 on

They are built for the torch that is installed, or for all releases whose headers lie in the folder that the environment
variable WAVE_RUNTIME_TORCH_HEADERS names, as tools/make_wheel.py puts them there. Both need the libraries of
wave_emulator, which emulator/CMakeLists.txt builds, and which may be built later.
"""

import os
import re
import subprocess
import sys
from glob import glob
from pathlib import Path
from typing import Any

from setuptools import Extension, setup

try:
    import torch
    from torch.utils.cpp_extension import BuildExtension, include_paths, library_paths
except ImportError as error:
    raise SystemExit(
        "wave_runtime is built against the torch it will run with, and there is none here.\n"
        "Install torch first, then: pip install --no-build-isolation ."
    ) from error

sys.path.insert(0, os.path.abspath("tools"))
from project_urls import project_urls

TORCH_LIBRARIES = ("c10", "torch_cpu", "torch_python")
OUR_LIBRARIES = ("wave_launch", "wave_emulator")

# A launch runs each instruction once, after the driver has driven them out of the caches: what it costs is the number
# of cache lines of code. So it is compiled to be small, and calls without a detour. Nobody puts functions of his own in
# the place of ours: calls within a library need no table, and can be inlined. Narrowing is an error to clang, too.
FLAGS = ["-std=c++20", "-g0", "-O2", "-fno-plt", "-fno-semantic-interposition", "-Wall", "-Wextra", "-Werror=narrowing"]
# At most so many sources are compiled as one: torch's headers take seconds to read, again for each that is compiled.
SOURCES_AT_ONCE = 10
# They see all of Python's API, the others the limited one.
COMPILED_ALONE = ["csrc/python/layout.cpp"]
# What `build_ext --debug` adds.
DEBUG = ["-g", "-O1", "-UNDEBUG"]


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


VERSION = re.findall(r'"(.*)"', Path("wave_runtime/_version.py").read_text())[-1]
TORCHES = torch_headers()
IS_FOR_HERE = [*TORCHES] == [str(torch.__version__)]


def torch_requirement() -> str:
    """What is built fits the releases of torch that it was built for; the sources fit many."""
    if "sdist" in sys.argv:
        return "torch>=2.10"
    first, last = (release(version) for version in (next(iter(TORCHES)), [*TORCHES][-1]))
    major, minor = last.split(".")
    return f"torch>={first},<{major}.{int(minor) + 1}"


def description() -> str:
    """README.md as an index of packages shows it: there a link to a file of the sources would lead nowhere.

    Such a link becomes the name of the file, behind its text where that says something else.
    """

    def name(link: re.Match[str]) -> str:
        text, file = link[1], link[2].partition("#")[0]
        return text if text == file else f"{text} ({file})"

    title, rest = Path("README.md").read_text(encoding="utf-8").split("\n", 1)
    parts = re.split(r"(^```.*?^```)", rest, flags=re.MULTILINE | re.DOTALL)
    rest = "".join(
        part if part.startswith("```") else re.sub(r"\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)", name, part) for part in parts
    )
    return f"{title}\n\nFiles that are named here, such as docs/tutorial.md, are in the source distribution.\n{rest}"


class Build(BuildExtension):
    """Names the libraries as libraries are named, and links against libraries that are found when ours are loaded."""

    def run(self) -> None:
        self.make_names()
        if self.inplace:
            for ext in self.extensions:
                os.makedirs(os.path.dirname(ext.name.replace(".", "/")), exist_ok=True)
        super().run()

    def make_names(self) -> None:
        """Empty libraries with the names of those that are not here, to link against."""
        os.makedirs(self.folder_of_names(), exist_ok=True)
        for name in (*OUR_LIBRARIES, *TORCH_LIBRARIES):
            library = f"{self.folder_of_names()}/lib{name}.so"
            options = ["-shared", "-nostdlib", f"-Wl,-soname,lib{name}.so", "-x", "c", "/dev/null", "-o", library]
            subprocess.run([os.environ.get("CC", "cc"), *options], check=True)

    def folder_of_names(self) -> str:
        return os.path.join(self.build_temp, "names")

    def get_ext_filename(self, ext_name: str) -> str:
        if self._is_library(ext_name):
            return os.path.join(*ext_name.split(".")) + ".so"
        name: str = super().get_ext_filename(ext_name)
        return name

    def build_extension(self, ext: Extension) -> None:
        if self.debug:
            ext.extra_compile_args += DEBUG
        objects = self.build_temp
        here = os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))
        emulator = os.path.abspath(f"{here}/../../wave_emulator")
        ext.library_dirs += [here, emulator, self.folder_of_names()]
        if IS_FOR_HERE and os.path.exists(f"{emulator}/libwave_launch.so") and self._is_library(ext.name):
            ext.extra_link_args.append("-Wl,--no-undefined")
        # Torch's are system headers, whose changes no build notices: each version has objects of its own.
        self.build_temp = os.path.join(objects, ext.define_macros[0][1])
        sources, ext.sources = ext.sources, self.joined(ext.sources, f"{objects}/sources")
        super().build_extension(ext)
        self.build_temp, ext.sources = objects, sources

    def joined(self, sources: list[str], folder: str) -> list[str]:
        """Files in the folder that include the sources, about as many in one as in another."""
        alone = [[source] for source in sources if source in COMPILED_ALONE]
        others = [source for source in sources if source not in COMPILED_ALONE]
        count = -(-len(others) // SOURCES_AT_ONCE)
        files = []
        for index, included in enumerate([*alone, *(others[first::count] for first in range(count))]):
            file = Path(folder, f"{Path(included[0]).parent.name}_{index}.cpp")
            text = "".join(f'#include "{os.path.relpath(source, "csrc")}"\n' for source in included)
            if not file.exists() or file.read_text() != text:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            files.append(str(file))
        return files

    def get_export_symbols(self, ext: Extension) -> Any:
        return [] if self._is_library(ext.name) else super().get_export_symbols(ext)

    @staticmethod
    def _is_library(name: str) -> bool:
        return name.split(".")[-1] != "_C"


def extension(name: str, folder: str, libraries: tuple[str, ...], *options: str, **more: Any) -> Extension:
    sources = sorted(glob(f"csrc/{folder}/*.cpp"))
    # Empty libraries have nothing that is needed, and are needed all the same.
    needed = (*libraries, *OUR_LIBRARIES, *(TORCH_LIBRARIES if folder == "python" else TORCH_LIBRARIES[:2]))
    return Extension(
        name,
        sources=sources,
        include_dirs=[os.path.abspath("csrc")],
        extra_compile_args=[*FLAGS, *options],
        extra_link_args=[
            "-Wl,-rpath,$ORIGIN",
            "-Wl,-rpath,$ORIGIN/../../wave_emulator",
            "-Wl,-Bsymbolic-functions",
            "-Wl,--gc-sections",
            f"-Wl,-soname,{name.split('.')[-1]}.so",
            *("-Wl,--push-state,--no-as-needed", *(f"-l{name}" for name in needed), "-Wl,--pop-state"),
        ],
        depends=[*sources, *glob("csrc/**/*.h", recursive=True)],
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
    runtime = extension(f"{package}.libwave_runtime", "op", (), *options, **more)
    # Of layout.cpp, which sees all of Python's API, nothing may be left in the binding.
    options += ["-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"]
    return [runtime, extension(f"{package}._C", "python", ("wave_runtime",), *options, py_limited_api=True, **more)]


setup(
    long_description=description(),
    long_description_content_type="text/markdown",
    project_urls=project_urls(),
    install_requires=[torch_requirement(), f"wave-emulator=={VERSION}"],
    ext_modules=[part for version, headers in TORCHES.items() for part in torch_extensions(version, headers)],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
