"""Kernels in packages, compiled when the wheel is made: whoever installs the wheel needs no compiler.

    # setup.py
    from setuptools import setup
    from wave_runtime import build

    kernels = build.Kernels("my_package.kernels", ["csrc/kernels.hip"], targets=["gfx942", "gfx1100"])
    setup(cmdclass=build.commands(kernels))

The package then has a module ``my_package.kernels`` with the kernels by their names, and their code beside it:
``from my_package.kernels import scale``. CMake's hook is ``wave_runtime_add_kernels`` (docs/packages.md).
"""

from __future__ import annotations

import os
import pprint
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wave_runtime._compile import check_lists, compile
from wave_runtime._file import open_images
from wave_runtime._files import write_file
from wave_runtime._module import Module

if TYPE_CHECKING:
    from setuptools import Command

__all__ = ["Kernels", "commands", "read", "write"]

_TEXT = '''\
"""Kernels, compiled by wave_runtime from {sources}. Made anew by each build; not to be edited."""

from wave_runtime import build

module = build.read(
    __file__,
    {arguments}
)


def __getattr__(name):
    if name in module:
        return module[name]
    raise AttributeError(f"module {{__name__!r}} has no kernel {{name!r}}; its kernels are {{list(module)}}")


def __dir__():
    return sorted([*globals(), *module])
'''


@dataclass(frozen=True)
class Kernels:
    """A module of a package that is compiled from sources.

    Attributes:
        name: the module's name: "my_package.kernels".
        sources: the paths of the sources, relative to setup.py. Several are linked.
        targets: the GPUs to compile for: "gfx942", "sm_90".
        options: further arguments of :func:`wave_runtime.compile`: ``{"options": ["-O2"], "defines": {"TILE": 64},
            "include_dirs": ["csrc"], "signature": {...}, "writes": {...}}``.
    """

    name: str
    sources: Sequence[str]
    targets: Sequence[str] = ("gfx942",)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_lists(sources=self.sources, targets=self.targets)
        if not isinstance(self.options, Mapping):
            raise TypeError(
                'options= must be a dict of arguments of wave_runtime.compile, as in {"include_dirs": ["csrc"]}, given '
                f"{type(self.options).__name__}"
            )

    def outputs(self) -> list[str]:
        """The files of the module, relative to the folder that packages are in."""
        path = Path(*self.name.split(".")).with_suffix(".py")
        return [str(path), *(str(_image(path, target)) for target in self.targets)]

    def build(self, folder: str | os.PathLike[str]) -> Module:
        """Compile, and write the files to a folder that packages are in. Raises what :func:`compile` raises."""
        module = compile(list(self.sources), targets=self.targets, **self.options)
        write(module, Path(folder, self.outputs()[0]), self.sources)
        return module


def write(module: Module, path: str | os.PathLike[str], sources: Sequence[str] = ()) -> list[Path]:
    """Write a module of kernels as a Python file, with the kernels' code beside it.

    Args:
        module: what :func:`wave_runtime.compile` or ``load`` returned.
        path: the path of the Python file, ``kernels.py``. The code goes to ``kernels.gfx942.hsaco``.
        sources: names of the sources, which a comment in the file lists.

    Returns:
        The paths of all files.
    """
    path = Path(path)
    images = {target: _image(path, target) for target in module.targets}
    arguments = {
        "images": [image.name for image in images.values()],
        "signature": {name: module[name].signature for name in module if module[name].signature is not None},
        "writes": module._writes,
        "strides": module._strides,
        "names": dict(module._symbols),
    }
    lines = [
        f"{name}={pprint.pformat(value, width=100, sort_dicts=False)},".replace("\n", "\n    ")
        for name, value in arguments.items()
        if value
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, image in images.items():
        write_file(image, module.images[target])
    made_of = ", ".join(Path(source).name for source in sources) or "a module"
    write_file(path, _TEXT.format(sources=made_of, arguments="\n    ".join(lines)).encode())
    return [path, *images.values()]


def read(
    file: str,
    *,
    images: Sequence[str],
    signature: Mapping[str, str] | None = None,
    writes: Any = None,
    strides: Literal["contiguous", "any"] = "contiguous",
    names: Mapping[str, str] | None = None,
) -> Module:
    """Load the kernels of a file that :func:`write` has made. The file itself calls this.

    Raises:
        FileNotFoundError: the code is not beside the file, because the package was copied without it.
    """
    folder = Path(file).parent
    codes = [image.code_object for name in images for image in open_images(folder / name, None)]
    return Module(codes, signature, writes, strides, False, names)


def commands(*kernels: Kernels) -> dict[str, type[Command]]:
    """Make what ``setup(cmdclass=...)`` takes, so that kernels are compiled when a package is built.

    The compiled kernels go into the wheel. If nothing else in the wheel is compiled, one serves every Python and
    machine. An editable install puts them into the package's folder, and a source distribution has their sources.
    """
    from setuptools import Command
    from setuptools.command.build import build

    for module in kernels:
        if not isinstance(module, Kernels):
            raise TypeError(f"commands: expected one build.Kernels or several, given {type(module).__name__}")

    class BuildKernels(Command):  # type: ignore[misc]
        """Compiles the kernels of a package."""

        description = "compile kernels for GPUs"
        user_options: ClassVar[list[tuple[str, str | None, str]]] = [("build-lib=", "b", "where packages are built")]
        editable_mode: bool = False
        build_lib: str

        def initialize_options(self) -> None:
            self.build_lib = ""

        def finalize_options(self) -> None:
            self.build_lib = self.build_lib or self.get_finalized_command("build").build_lib

        def run(self) -> None:
            for module in kernels:
                self.announce(f"compiling {module.name} for {', '.join(module.targets)}", level=2)
                module.build(self._folder_of(module))

        def _folder_of(self, module: Kernels) -> str:
            """Where packages lie: where they are built, or their sources' folder."""
            if not self.editable_mode:
                return self.build_lib
            package, parts = module.name.rpartition(".")[0], module.name.count(".")
            found = Path(self.get_finalized_command("build_py").get_package_dir(package))
            return str(found.joinpath(*[".."] * parts))

        def get_source_files(self) -> list[str]:
            return [path for module in kernels for path in module.sources]

        def get_outputs(self) -> list[str]:
            return [os.path.join(self._folder_of(module), path) for module in kernels for path in module.outputs()]

        def get_output_mapping(self) -> dict[str, str]:
            return {}

    class Build(build):  # type: ignore[misc]
        """What builds a package, and its kernels last."""

        sub_commands: ClassVar[Any] = [*build.sub_commands, ("build_kernels", None)]

    return {"build": Build, "build_kernels": BuildKernels}


def _image(path: Path, target: str) -> Path:
    """Where the code for a target lies, beside the module's file."""
    kind = "hsaco" if target.startswith("gfx") else "cubin"
    return path.with_name(f"{path.stem}.{target.replace(':', '_')}.{kind}")
