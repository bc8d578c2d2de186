"""The command line: ``python -m wave_runtime info|disasm|coverage FILE``, ``env``, ``hip-emulator`` and ``cmake``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

from wave_runtime import __version__, _coverage, _disasm, _env, _info

_FOLDER = Path(__file__).absolute().parent


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="python -m wave_runtime", description="Look into compiled GPU kernels.")
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    file = argparse.ArgumentParser(add_help=False)
    file.add_argument("file", metavar="FILE", help="code object, cubin, PTX, or a file that contains them")
    file.add_argument("--target", help='which entry to take, for example "gfx942" or "sm_90"')
    info = commands.add_parser("info", parents=[file], help="kernels, signatures, registers, occupancy")
    info.add_argument("--json", action="store_true", help="for tools")
    disasm = commands.add_parser("disasm", parents=[file], help="the instructions")
    disasm.add_argument("kernel", nargs="?", metavar="KERNEL", help="one kernel only")
    coverage = commands.add_parser("coverage", help="instructions that the emulator does not run")
    coverage.add_argument("files", nargs="+", metavar="FILE")
    coverage.add_argument("--target", help='which entry to take, for example "gfx942" or "sm_90"')
    env = commands.add_parser("env", help="drivers, devices, versions, and why a driver is not available")
    env.add_argument("--json", action="store_true", help="for tools")
    commands.add_parser("hip-emulator", help="print the path of a HIP library that runs on the emulator")
    commands.add_parser("cmake", help="print what CMAKE_PREFIX_PATH needs to find wave_runtime and Torch")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit status: 1 where coverage finds an instruction that does not run, 2 for errors."""
    options = parser().parse_args(arguments)
    try:
        if options.command == "info":
            description = _info.describe(options.file, options.target)
            print(json.dumps(description, indent=2) if options.json else _info.render(description))
        elif options.command == "disasm":
            print(_disasm.disassemble(options.file, options.kernel, options.target))
        elif options.command == "env":
            environment = _env.describe()
            print(json.dumps(environment, indent=2) if options.json else _env.render(environment))
        elif options.command == "hip-emulator":
            print(_FOLDER / "libwave_hip_emulator.so")
        elif options.command == "cmake":
            print(_FOLDER / "share" / "cmake", torch.utils.cmake_prefix_path, sep=";")
        else:
            return _coverage_of(options.files, options.target)
    except BrokenPipeError:  # the reader has seen enough, as head(1) does
        sys.stdout = None
    except (OSError, ValueError) as error:
        print(f"python -m wave_runtime: {error}", file=sys.stderr)
        return 2
    return 0


def _coverage_of(files: list[str], target: str | None) -> int:
    complete = True
    for file in files:
        report = _coverage.coverage(file, target)
        complete &= not any(kernel["unsupported"] for kernel in report.values())
        print(f"{file}\n{_coverage.render(report)}" if len(files) > 1 else _coverage.render(report))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
