"""The command line: ``python -m wave_emulator run -- ./program`` and what programs are linked with."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from wave_emulator import LIBRARIES, __version__, _hip, cmake_dir, include_dir, library


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="python -m wave_emulator", description="Run HIP programs without a GPU.")
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="a HIP program, on emulated GPUs")
    run.add_argument("--target", metavar="PROCESSOR", help=f"by default {_hip.PROCESSOR}, else gfx942")
    run.add_argument(
        "--devices", type=int, metavar="N", help=f"how many GPUs the program finds; by default {_hip.DEVICES}, else 1"
    )
    run.add_argument("--time-limit", type=float, metavar="SECONDS", help="after which a launch is stopped")
    run.add_argument("program", nargs="+", metavar="PROGRAM", help="with its arguments, behind --")
    run.set_defaults(advice=_hip.ADVICE)
    link = commands.add_parser("link", help="make links to HIP's library, under all names that AMD's has")
    link.add_argument("folder", type=Path)
    path = commands.add_parser("library", help="print the path of a library")
    path.add_argument("name", nargs="?", default="wave_hip_emulator", choices=LIBRARIES)
    toolchain = commands.add_parser("toolchain", help="make a folder in the place of ROCm's, and print its path")
    toolchain.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", help="by default one in the cache")
    toolchain.add_argument("--clang", help="by default CLANG, else the oldest that can")
    toolchain.add_argument(
        "--headers", type=Path, nargs=2, metavar=("HIP", "CLR"), help="checkouts with newer headers; needs FOLDER"
    )
    commands.add_parser("include", help="print the folder of the headers")
    commands.add_parser("cmake", help="print what CMAKE_PREFIX_PATH needs")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit status, 2 for errors; ``run`` becomes the program."""
    options = _hip.parse(parser(), arguments)
    try:
        if options.command == "run":
            _run(options)
        elif options.command == "link":
            print(*_hip.link(options.folder), sep="\n")
        elif options.command == "library":
            print(library(options.name))
        elif options.command == "toolchain":
            print(_make_toolchain(options))
        else:
            print(include_dir() if options.command == "include" else cmake_dir())
    except (ImportError, OSError, ValueError) as error:
        print(f"python -m wave_emulator: {error}", file=sys.stderr)
        return 2
    return 0


def _make_toolchain(options: argparse.Namespace) -> Path:
    """The folder. Raises OSError or ValueError where it cannot be made."""
    from wave_emulator import _toolchain  # only now: a program that is run needs none, and starts sooner

    clang = options.clang or _toolchain.compiler()
    if options.folder is None:
        if options.headers:
            raise ValueError("toolchain --headers: name the folder to make as well")
        return _toolchain.kept(clang)
    folder: Path = options.folder.absolute()
    _toolchain.make(folder, clang, options.headers)
    return folder


def _run(options: argparse.Namespace) -> None:
    """Become a program. Raises OSError where there is none, ValueError for a GPU that there is not."""
    program = shutil.which(options.program[0]) or options.program[0]
    os.environ.update(_hip.devices(options.target, options.devices, options.time_limit))
    try:
        _hip.check_devices()
    except ValueError as error:
        text = str(error)
        if options.target is not None:
            text = text.replace(f"{_hip.PROCESSOR}=", "--target ")
        if options.devices is not None:
            text = text.replace(f"{_hip.DEVICES}=", "--devices ")
        raise ValueError(text) from None
    os.environ.update(_hip.variables_for(program))
    _hip.become(options.program)


if __name__ == "__main__":
    sys.exit(main())
