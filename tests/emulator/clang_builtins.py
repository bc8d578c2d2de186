"""Kernels that call each of clang's builtins for AMD GPUs, as far as a processor has it.

Clang itself says what there is: names stand in its own library, types in the tree that it dumps of wrong calls. What it
then refuses of a kernel is mended by what it says of it (an argument must be a constant, in a range), or the kernel is
left out, with clang's reason.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "__builtin_amdgcn_"
LANGUAGE = ["-x", "c++", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-ffreestanding", "-w"]
DIAGNOSTICS = ["-ferror-limit=0", "-fdiagnostics-print-source-range-info"]
PROLOGUE = """
#define KERNEL(name) extern "C" __attribute__((amdgpu_kernel)) void name(char *in, char *out, unsigned at)
#define LDS [[clang::loader_uninitialized]] static __attribute__((address_space(3)))
#define lane __builtin_amdgcn_workitem_id_x
LDS char lds[4096];
LDS __amdgpu_named_workgroup_barrier_t barrier;
"""
# What C++ has for a type where a value cannot be loaded as any other is.
MADE = {
    "__amdgpu_buffer_rsrc_t": f"{PREFIX}make_buffer_rsrc(in, 0, -1, 0x27000)",
    "const char *": '"workgroup"',
}
LLVM_FAILS = "LLVM"  # how the reason begins where it is not clang that refuses
GROUP = 48  # how many calls one run of clang is given
CONSTANTS = (0, 1, 2, 3, 4, 8, 12, 16, 31, 128, 255)  # which arguments that must be constants are tried with
SEQ_CST = 5  # clang's __ATOMIC_SEQ_CST: a memory order stands before a scope
NOT_CONSTANT = re.compile(r"must be a constant|is not an integer constant|integer is required")
RANGE = re.compile(r"argument value \S+ is outside the valid range \[(-?\d+), (-?\d+)\]")


@dataclass(frozen=True)
class Builtin:
    """A builtin and its type."""

    name: str
    result: str
    arguments: tuple[str, ...]


@dataclass
class Call:
    """A kernel that calls a builtin with constants, and else with what lies in memory, for a wave or for each lane.

    Attributes:
        refused: why it cannot be compiled, or nothing.
    """

    builtin: Builtin
    uniform: bool
    constants: dict[int, int] = field(default_factory=dict)
    refused: str = ""

    @property
    def name(self) -> str:
        """That of the kernel: all that it depends on."""
        values = [f"{at}_{value}".replace("-", "minus") for at, value in sorted(self.constants.items())]
        return "_".join([self.builtin.name.removeprefix(PREFIX), "uniform" if self.uniform else "lanes", *values])

    def source(self) -> tuple[str, list[int]]:
        """The kernel in one line, and the columns at which the arguments of the call end."""
        at = "at" if self.uniform else "lane()"
        line = f"KERNEL({self.name}) {{ char *from = in + {at} * 512; "
        line += "".join(f"typedef {kind} T{number}; " for number, kind in enumerate(self.builtin.arguments))
        if self.builtin.result not in ("void", "__amdgpu_buffer_rsrc_t"):
            line += f"typedef {self.builtin.result} R; *(R *)(out + {at} * 512) = "
        line += f"{self.builtin.name}("
        ends = []
        for number, kind in enumerate(self.builtin.arguments):
            line += ", " if number else ""
            line += str(self.constants[number]) if number in self.constants else _value(kind, number)
            ends.append(len(line))
        return f"{line}); }}", ends


def _value(kind: str, number: int) -> str:
    if kind in MADE:
        return MADE[kind]
    if "named_workgroup_barrier" in kind:
        return "&barrier"
    if kind.endswith("*"):
        return f"(T{number})" + ("(lds + lane() * 64)" if "address_space(3)" in kind else "from")
    return f"*(T{number} *)(from + {32 * number})"


def names(clang: str) -> list[str]:
    """The builtins whose names stand in clang's library, or in clang where it has none."""
    program = _output(clang, "-print-prog-name=clang")  # since `clang` may be ccache, or a script
    linked = re.search(r"libclang-cpp\S* => (\S+)", _output("ldd", program))
    library = Path(linked[1] if linked else program)
    found = {name.decode() for name in re.findall(rb"\b__builtin_amdgcn_\w+(?=\0)", library.read_bytes())}
    if not found:
        raise RuntimeError(f"no name of a builtin stands in {library}, where {clang} should have them")
    return sorted(found)


def _output(*command: str) -> str:
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr}")
    return result.stdout.strip()


def declared(clang: str, options: list[str], known: Iterable[str]) -> list[Builtin]:
    """Those that a processor has, with their types, but images. Where there are none, clang says why in the error."""
    asked = "\n".join(f"#if __has_builtin({name})\n{name}\n#endif" for name in known if "_image_" not in name)
    preprocessed = _run(clang, options, asked, "-E", "-P")
    its_own = re.findall(rf"^{PREFIX}\w+$", preprocessed.stdout, re.MULTILINE)
    if not its_own:
        raise RuntimeError(f"{clang} has no builtins with {' '.join(options)}: {preprocessed.stderr or asked[:1000]}")
    wrong = "\n".join(f"{name}({', '.join('0' * 20)});" for name in its_own)
    dumping = ["-ferror-limit=0", "-fsyntax-only", "-Xclang", "-ast-dump"]
    dumped = _run(clang, options, f"void f() {{ {wrong} }}", *dumping)
    found = dict(re.findall(r"Function 0x\w+ '(__builtin_amdgcn_\w+)' '(.*)'$", dumped.stdout, re.MULTILINE))
    if untyped := set(its_own) - set(found):
        raise RuntimeError(f"{clang} does not show the types of {', '.join(sorted(untyped))}: {dumped.stderr}")
    return [Builtin(name, *_signature(found[name])) for name in its_own]


def _signature(kind: str) -> tuple[str, tuple[str, ...]]:
    """The result and the arguments of a function's type. What clang writes behind them belongs to the result."""
    kind = re.sub(r" noexcept| __attribute__\(\(noreturn\)\)", "", kind)
    kind, *behind = kind.partition(" __attribute__((ext_")
    result = "".join(behind).strip()
    arguments, depth, start = [""], 1, len(kind) - 1
    while depth > 0:
        start -= 1
        depth += {")": 1, "(": -1}.get(kind[start], 0)
    for letter in kind[start + 1 : -1]:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += letter
    return f"{result} {kind[:start]}".strip(), tuple(a.strip() for a in arguments if a.strip() not in ("", "..."))


def _run(clang: str, options: list[str], source: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [clang, *LANGUAGE, *options, *more, "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False)


def build_all(
    clang: str, options: list[str], builtins: Iterable[Builtin], folder: Path
) -> tuple[list[Call], list[Path]]:
    """Make code objects of kernels that call each in every way that clang knows. Those that are refused say why."""
    made = [Call(builtin, uniform) for builtin in builtins for uniform in (False, True)]
    built = build(clang, options, made, folder)
    others = list(_with_other_constants(made))
    return made + others, built + build(clang, options, others, folder)


def _with_other_constants(settled: list[Call]) -> Iterator[Call]:
    """Of what LLVM refuses one, since it may be for the constant: comparisons have one that is always false."""
    for call in settled:
        others = CONSTANTS if not call.refused else CONSTANTS[1:2] if call.refused.startswith(LLVM_FAILS) else ()
        for at, value in call.constants.items() if not call.uniform else ():
            for other in others:
                if other != value:
                    yield Call(call.builtin, call.uniform, {**call.constants, at: other})


def settle(clang: str, options: list[str], made: list[Call]) -> list[Call]:
    """Give the calls the constants that clang wants, until all compile to LLVM's IR that are not refused."""
    while True:
        compiled = [call for call in made if not call.refused]
        output = _run(clang, options, sources(compiled), *DIAGNOSTICS, "-S", "-emit-llvm", "-o", "/dev/null").stderr
        errors = re.findall(r"^<stdin>:(\d+):(\d+):(?:(?:{.*?-\d+:(\d+)})+:)? error: (.*)$", output, re.MULTILINE)
        if not errors:
            return made
        for line, column, end, message in errors:
            call = compiled[int(line) - PROLOGUE.count("\n") - 1]
            if not _mend(call, int(end or column) - 1, message):
                call.refused = message


def sources(compiled: Iterable[Call]) -> str:
    """A file of these kernels, a line each."""
    return PROLOGUE + "\n".join(call.source()[0] for call in compiled)


def _mend(call: Call, column: int, message: str) -> bool:
    """Whether an argument has become what clang wants instead."""
    ends, kinds = call.source()[1], call.builtin.arguments
    at = next((number for number, end in enumerate(ends) if column <= end), None)
    if at is None:
        return False
    if found := RANGE.search(message):
        value = int(found[1])
    elif "invalid size" in message and call.constants.get(at) == 0:
        value = 4
    elif NOT_CONSTANT.search(message) and at not in call.constants:
        value = SEQ_CST if "const char *" in kinds[at + 1 : at + 2] else 0
    else:
        return False
    call.constants[at] = value
    return True


def build(clang: str, options: list[str], made: list[Call], folder: Path) -> list[Path]:
    """Make code objects of the calls, in a folder. Those with which clang or LLVM fails are refused.

    Few in each, since either often stops at the first error, and may not say where it is.
    """
    groups = [made[at : at + GROUP] for at in range(0, len(made), GROUP)]
    return [file for group in groups for file in _build(clang, options, settle(clang, options, group), folder)]


def _build(clang: str, options: list[str], group: list[Call], folder: Path) -> list[Path]:
    """Where LLVM fails, a second run says at which function it was; where that does not help, each half is tried."""
    while compiled := [call for call in group if not call.refused]:
        output = folder / f"{compiled[0].name}_and_{len(compiled) - 1}.hsaco"
        command = (clang, options, sources(compiled), "-ferror-limit=0", "-fno-crash-diagnostics", "-o", str(output))
        result = _run(*command)
        if result.returncode == 0:
            return [output]
        if _refuse(compiled, _places(result.stderr)):
            continue
        if _refuse(compiled, _functions(_run(*command, "-mllvm", "-debug-pass=Executions").stderr)):
            continue
        if len(compiled) > 1:
            halves = compiled[: len(compiled) // 2], compiled[len(compiled) // 2 :]
            return [file for half in halves for file in _build(clang, options, half, folder)]
        compiled[0].refused = _reason(result.stderr)
    return []


def _refuse(compiled: list[Call], reasons: Mapping[int | str, str]) -> bool:
    """Refuse the calls that have one, by their lines or names."""
    for number, call in enumerate(compiled):
        call.refused = reasons.get(number, reasons.get(call.name, ""))
    return any(call.refused for call in compiled)


def _places(errors: str) -> dict[int | str, str]:
    """What is wrong in which line, counted from 0, or in which function."""
    lines = re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", errors, re.MULTILINE)
    found: dict[int | str, str] = {int(line) - PROLOGUE.count("\n") - 1: message for line, message in lines}
    return found | {name: _reason(errors) for name in re.findall(r"in function:? '?@?(\w+)", errors)}


def _functions(log: str) -> dict[int | str, str]:
    """At which functions LLVM was when it found errors, or when it crashed."""
    found: dict[int | str, str] = {}
    current = ""
    for line in log.splitlines():
        if run := re.search(r"Executing Pass .* on Function '(\w+)'", line):
            current = run[1]
        elif "error: " in line and current:
            found.setdefault(current, _reason(line))
    return found or {current: _reason("")}


def _reason(errors: str) -> str:
    """What LLVM says first, without the addresses of what it cannot select."""
    found = re.search(r"(?:error in backend|LLVM ERROR|error): (?!error in backend|unable to execute)(.*)", errors)
    return f"{LLVM_FAILS}: {re.sub(r'0x[0-9a-f]+', '', found[1]) if found else 'it crashes'}"
