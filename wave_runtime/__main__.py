"""The command line: ``python -m wave_runtime compile|info|disasm|run FILE``, ``selftest``, ``env`` and others."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

import torch

import wave_emulator
from wave_emulator import _hip
from wave_runtime import (
    _C,
    KernelFault,
    __version__,
    _abi,
    _coverage,
    _disasm,
    _emulate,
    _env,
    _info,
    _profile,
    _replay,
    _run,
    _selftest,
    _selftest_cases,
    build,
    compile,
)
from wave_runtime._compile import LANGUAGES, assembly
from wave_runtime._files import check_writable, write_file
from wave_runtime._module import FROM_A_SOURCE
from wave_runtime._sanitize import Besides, _program

_NO_CODE = {*LANGUAGES, ".ptx", ".txt", ".bc", ".json", ".html"} - {".s"}  # suffixes of what compile does not write
_FOLDER = Path(__file__).absolute().parent


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(
        prog="python -m wave_runtime",
        description="Compile GPU kernels, look into them, and run and check them without a GPU.",
    )
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    file = argparse.ArgumentParser(add_help=False)
    file.add_argument("file", metavar="FILE", help="code object, cubin, PTX, or a file that contains them")
    file.add_argument("--target", help='which entry to take, for example "gfx942" or "sm_90"')
    info = commands.add_parser(
        "info", parents=[file], help="show the kernels of a file: signatures, registers, occupancy"
    )
    info.add_argument("--json", action="store_true", help="as JSON")
    disasm = commands.add_parser("disasm", parents=[file], help="print the instructions of a file")
    disasm.add_argument("kernel", nargs="?", metavar="KERNEL", help="one kernel only")
    coverage = commands.add_parser("coverage", help="count the instructions that the emulator does not run")
    coverage.add_argument("files", nargs="+", metavar="FILE")
    coverage.add_argument("--target", help='which entry to take, for example "gfx942" or "sm_90"')
    _add_run(commands.add_parser("run", help="make one launch of a kernel, or a dumped launch again"))
    _add_compile(commands.add_parser("compile", help="compile HIP or CUDA C++, assembly, LLVM IR or MLIR"))
    selftest = commands.add_parser("selftest", help="compare the instructions of a GPU with the emulator's")
    selftest.add_argument("--device", choices=["hip", "cuda", "cpu"], default="hip", help="cpu: the emulator itself")
    processors = [*_selftest_cases.PROCESSORS, *_selftest_cases.SAME]
    selftest.add_argument("--target", choices=processors, help="the processor; by default the device's")
    selftest.add_argument(
        "--cases", type=int, default=2, metavar="N", help="how many cases of each instruction and encoding"
    )
    selftest.add_argument("--rows", default="", metavar="TEXT", help="only instructions whose name contains TEXT")
    selftest.add_argument("--seed", default="", metavar="TEXT", help="another seed gives other cases")
    env = commands.add_parser("env", help="show drivers, devices, versions, and why a driver is not available")
    env.add_argument("--json", action="store_true", help="as JSON")
    emulate = commands.add_parser("emulate", help="run a program that finds an AMD GPU, which is emulated")
    _add_emulate(emulate)
    profiled = commands.add_parser("profile", help="emulate, and count what the program's kernels do")
    profiled.add_argument("-o", "--output", default="profile.html", metavar="FILE", help=".html, .json or .csv")
    _add_emulate(profiled)
    sanitize = commands.add_parser("sanitize", help="emulate, and find the mistakes of the program's kernels")
    tools = ", ".join(_C.sanitizer_tools())
    sanitize.add_argument("--tools", default="all", metavar="LIST", help=f"separated by commas: {tools}, or all")
    sanitize.add_argument("--over-reads", action="store_true", help="report reads up to 512 bytes past an end, too")
    sanitize.add_argument(
        "--denormals", action="store_true", help="report results that denormals change by counting as zeros, too"
    )
    sanitize.add_argument(
        "--dead-registers", action="store_true", help="report reads without a wait whose result nobody uses, too"
    )
    sanitize.add_argument(
        "--exact-bounds", action="store_true", help="in HIP programs, report accesses of what HIP did not allocate, too"
    )
    sanitize.add_argument("--suppressions", metavar="FILE", help="findings to leave out: lines KIND [KERNEL [PLACE]]")
    sanitize.add_argument("--json", metavar="FILE", help="write the findings there, too")
    sanitize.add_argument(
        "--exit-code",
        type=int,
        default=1,
        metavar="N",
        help="the exit status if there are findings and the program ended with 0",
    )
    _add_emulate(sanitize)
    commands.add_parser("cmake", help="print what CMAKE_PREFIX_PATH needs to find the packages and Torch")
    commands.add_parser("operators", help="print the path of the library that torch.ops.load_library takes")
    return top


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="the source, or several to be linked; the suffix says the language"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="by default the source's name with .hsaco or .cubin; .s: the assembly; .py: a module of a package",
    )
    parser.add_argument(
        "--target",
        action="append",
        dest="targets",
        help='by default that of the current GPU if it runs the language, else "gfx942"; several for a .py file',
    )
    parser.add_argument("--depfile", metavar="FILE", help="write there, as a rule of make, what the code is made of")
    parser.add_argument("--language", help="hip, cuda, asm, llvm or mlir")
    parser.add_argument("-D", action="append", default=[], dest="defines", metavar="NAME[=VALUE]", help="a macro")
    parser.add_argument(
        "-I", action="append", default=[], dest="include_dirs", metavar="FOLDER", help="a folder of headers"
    )
    parser.add_argument(
        "--option", action="append", default=[], dest="options", help="an option for the compiler: --option=-g"
    )
    parser.add_argument("--no-cache", action="store_true", help="compile in any case, and keep nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the compiler does and says")
    parser.set_defaults(advice="; options of the compiler are given as in --option=-O1")


def _add_emulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", help=f"the GPU's processor; by default {_hip.PROCESSOR}, else gfx942")
    parser.add_argument(
        "--devices", type=int, metavar="N", help=f"how many devices there are; by default {_hip.DEVICES}, else 1"
    )
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop launches that take longer")
    parser.add_argument("--inductor", action="store_true", help="torch.compile makes Triton kernels for it")
    parser.add_argument("program", nargs="+", metavar="PROGRAM", help="after --: the program and its arguments")
    parser.set_defaults(advice=_hip.ADVICE)


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("file", metavar="FILE", help="what wave_runtime.load takes, or a folder of WAVE_RUNTIME_DUMP")
    run.add_argument("kernel", nargs="?", metavar="KERNEL")
    run.add_argument("--grid", type=_dims, metavar="X[,Y,Z]", help="how many workgroups")
    run.add_argument(
        "--block", type=_dims, metavar="X[,Y,Z]", help="work-items of a workgroup, if the binary fixes none"
    )
    run.add_argument("--shared-memory", type=int, default=0, metavar="BYTES", help="dynamic LDS")
    run.add_argument(
        "--arg",
        action="append",
        default=[],
        dest="arguments",
        metavar="VALUE",
        help="one for each parameter: a number, file.npy, file.pt, or zeros|ones|iota|random:[DTYPE:]SHAPE",
    )
    run.add_argument("--signature", help='the parameters\' types: "a: *f32 const, c: *f32, n: i32"')
    run.add_argument("--target", help='which entry to take, for example "gfx942"')
    run.add_argument("--device", default="cpu", help="where to launch; by default the CPU, on the emulator")
    run.add_argument("--seed", type=int, default=0, help="the seed of random:")
    run.add_argument("--save", action="append", type=_saved, default=[], metavar="NAME=FILE", help=".npy or .pt")
    run.add_argument("--profile", metavar="FILE", help="write a profile: .html, .json or .csv")
    run.add_argument("--stats", action="store_true", help="instructions by kind, bytes moved, bank conflicts of LDS")
    run.add_argument("--trace", metavar="FILE", help='a line for each instruction ("-": to stderr)')
    run.add_argument(
        "--trace-only", metavar="GROUP[.WAVE]", help="trace one workgroup, by its number, or one wave of it"
    )
    run.add_argument(
        "--check", metavar="hazards,races", help="look for missing waits (hazards), for races in LDS (races), or both"
    )
    run.add_argument("--deterministic", action="store_true", help="run on one thread, so that launches repeat exactly")


def _dims(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(extent) for extent in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected X[,Y,Z], given {text!r}") from None


def _saved(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE, given {text!r}")
    return name, path


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Returns the exit status: 1 where coverage finds an instruction that does not run, a kernel that was run failed, or
    the self-test found a difference; of sanitize the program's own, or --exit-code where it ended well and there are
    findings; 2 for other errors.
    """
    options = _hip.parse(parser(), arguments)
    try:
        if options.command == "info":
            description = _info.describe(options.file, options.target)
            print(json.dumps(description, indent=2) if options.json else _info.render(description))
        elif options.command == "disasm":
            print(_disasm.disassemble(options.file, options.kernel, options.target))
        elif options.command == "env":
            environment = _env.describe()
            print(json.dumps(environment, indent=2) if options.json else _env.render(environment))
        elif options.command == "compile":
            _compile_file(options)
        elif options.command == "run":
            _run_kernel(options)
        elif options.command == "selftest":
            return _selftest_on(options)
        elif options.command == "emulate":
            _run_emulated(options)
        elif options.command == "profile":
            return _run_profiled(options)
        elif options.command == "sanitize":
            return _run_sanitized(options)
        elif options.command == "cmake":
            print(_FOLDER / "share" / "cmake", wave_emulator.cmake_dir(), torch.utils.cmake_prefix_path, sep=";")
        elif options.command == "operators":
            print(_abi.folder() / "libwave_runtime.so")
        else:
            return _coverage_of(options.files, options.target)
    except BrokenPipeError:  # the reader has seen enough, as head(1) does
        sys.stdout = None
    except KernelFault as error:
        print(f"python -m wave_runtime: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        print(f"python -m wave_runtime: {error.args[0] if isinstance(error, KeyError) else error}", file=sys.stderr)
        return 2
    return 0


def _emulate_for(options: argparse.Namespace) -> None:
    """Have processes that begin from here do so as within emulate()."""
    # Wrong options are errors of this process rather than of the one that begins.
    inductor = options.inductor or _emulate.inductor_of_environment()
    devices = _emulate.devices_of_environment() if options.devices is None else options.devices
    target = options.target or _C.emulator_processor()
    _emulate.emulate(target, devices=devices, time_limit=options.time_limit, inductor=inductor)
    program = shutil.which(options.program[0]) or options.program[0]
    os.environ.update(_hip.variables_for(program))
    _emulate.show_rocm()


def _run_sanitized(options: argparse.Namespace) -> int:
    """Run a program under the sanitizer. Returns the exit status."""
    request = _program.Request(
        program=options.program,
        tools=options.tools.split(","),
        besides=Besides(options.over_reads, options.denormals, options.dead_registers),
        suppressions=options.suppressions,
    )
    findings = request.findings()
    if options.json:
        check_writable(options.json)
    _emulate_for(options)
    if options.exact_bounds:
        os.environ[_hip.BOUNDS] = "exact"
    status = request.run(findings)
    print(findings, file=sys.stderr)
    if options.json:
        findings.save(options.json)
    return status or (options.exit_code if findings.all() else 0)


def _run_profiled(options: argparse.Namespace) -> int:
    """Run a program that begins as within emulate() and profile(). Returns the exit status."""
    from wave_runtime._profile import _program as profiled_program

    _emulate_for(options)
    return profiled_program.run(options.program, options.output)


def _run_emulated(options: argparse.Namespace) -> None:
    """Become a program that begins as within emulate(). Raises OSError where there is no such program."""
    _emulate_for(options)
    _hip.become(options.program)


def _compile_file(options: argparse.Namespace) -> None:
    defines = {name: value if equals else None for name, equals, value in (d.partition("=") for d in options.defines)}
    request = {
        "language": options.language,
        "options": options.options,
        "defines": defines,
        "include_dirs": options.include_dirs,
    }
    kind = Path(options.output or "").suffix
    if options.targets and len(options.targets) > 1 and kind != ".py":
        raise ValueError("several targets need -o FILE.py, beside which the code for each lies")
    if kind == ".s":
        if len(options.files) != 1:
            raise ValueError(f"{options.output}: there is assembly of one source, not of {len(options.files)}")
        target = options.targets[0] if options.targets else None
        write_file(options.output, assembly(options.files[0], **request, target=target))
        print(options.output)
        return
    if kind in _NO_CODE:
        raise ValueError(
            f"{options.output}: code objects are binaries, with .hsaco or .cubin; a .s file gets the assembly, a .py "
            "file is a module of a package"
        )
    files = [Path(file) for file in options.files]
    module = compile(files, **request, targets=options.targets, cache=not options.no_cache, verbose=options.verbose)
    suffix = ".hsaco" if module.target.startswith("gfx") else ".cubin"
    output = Path(options.output or files[0].with_suffix(suffix))
    if kind == ".py":
        build.write(module, output, options.files)
    else:
        write_file(output, module.images[module.target])
    if options.depfile:
        named = [str(path).replace(" ", "\\ ") for path in (output, *module.files)]
        write_file(options.depfile, f"{named[0]}: {' '.join(named[1:])}\n".encode())
    print(output)
    for name, in_source in module.names_in_source().items():
        print(f"  {in_source}({module[name].signature})")
    if not module.kernels:
        print(f"  no kernels{FROM_A_SOURCE}")
    elif kind != ".py":
        signatures = {name: str(module[name].signature) for name in module}
        print(f"The file does not hold these types. Give them to load: signature={signatures}")


def _run_kernel(options: argparse.Namespace) -> None:
    if not options.profile:
        return _run_one(options)
    _profile.writer_for(options.profile)
    with _profile.profile() as counted:
        _run_one(options)
    counted.save(options.profile)
    print(counted.table())


def _run_one(options: argparse.Namespace) -> None:
    variables = {
        "WAVE_RUNTIME_TRACE": options.trace,
        "WAVE_RUNTIME_TRACE_ONLY": options.trace_only,
        "WAVE_RUNTIME_CHECK": options.check,
        "WAVE_RUNTIME_STATS": "1" if options.stats else None,
        "WAVE_RUNTIME_DETERMINISTIC": "1" if options.deterministic else None,
    }
    environment = {name: value for name, value in variables.items() if value is not None}
    if _run.is_dump(options.file):
        if options.kernel or options.grid or options.block or options.arguments:
            raise ValueError("a dumped launch has its own kernel, grid, block and arguments")
        result = _replay.replay(options.file, environment)
    else:
        if options.kernel is None or options.grid is None:
            raise ValueError("run needs KERNEL and --grid")
        request = _run.Request(
            file=options.file,
            kernel=options.kernel,
            grid=options.grid,
            block=options.block,
            shared_memory=options.shared_memory,
            arguments=options.arguments,
            signature=options.signature,
            target=options.target,
            device=options.device,
            seed=options.seed,
            environment=environment,
        )
        result = _run.run(request)
    result.save(dict(options.save))
    print(_run.render(result))
    if options.stats and result.statistics:
        print(_run.render_statistics(result.statistics))


def _selftest_on(options: argparse.Namespace) -> int:
    report = _selftest.selftest(options.device, options.cases, options.rows, options.seed, options.target)
    print(report)
    return 0 if report.passed else 1


def _coverage_of(files: list[str], target: str | None) -> int:
    complete = True
    for file in files:
        report = _coverage.coverage(file, target)
        complete &= not any(kernel["unsupported"] for kernel in report.values())
        print(f"{file}\n{_coverage.render(report)}" if len(files) > 1 else _coverage.render(report))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
