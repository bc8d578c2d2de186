"""What tools/mutate.py breaks: the small mistakes that a line of C++ can have, and the tests that concern each file."""

from __future__ import annotations

import difflib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_ARITHMETIC = ["tests/emulator/test_instructions.py"]
_MEMORY = ["tests/emulator/test_memory_instructions.py", "tests/emulator/test_wild_addresses.py"]
_ATOMICS = ["tests/emulator/test_atomics.py", "tests/emulator/test_pending_adds.py"]
_LDS = ["tests/emulator/test_lds_instructions.py"]
_RARE = "tests/emulator/test_rdna_rare_instructions.py"
_RDNA_ARITHMETIC = ["tests/emulator/test_rdna_arithmetic.py", "tests/emulator/test_rdna2_instructions.py"]
_OUTPUT = ["tests/test_profile.py", "tests/test_run.py", "tests/test_sanitize_programs.py"]
_HOSTCALLS = ["tests/emulator/test_printing.py", "tests/compile/test_hostcalls.py"]
_SANITIZER = ["tests/emulator/test_sanitize.py"]
_RACE_MODEL = "tests/emulator/test_race_model.py"
_CACHES = "tests/emulator/test_workgroup_caches.py"
_FLAGS = "tests/emulator/test_flags.py"
_UNDEFINED = [
    "tests/emulator/test_undefined_values.py",
    "tests/emulator/test_uninitialized.py",
    "tests/emulator/test_unwritten_memory.py",
]
_HAZARDS = ["tests/emulator/test_hazards.py", "tests/emulator/test_wave32_observers.py"]
_COUNTERS = "tests/emulator/test_mixed_counters.py"
_LAUNCHES = ["tests/emulator/test_launch_state.py", "tests/emulator/test_progress.py"]
_HIP = ["tests/test_hip_emulator.py", "tests/test_hip_refused_arguments.py"]
_STREAMS = [*_HIP, "tests/test_launch_races.py"]

# Where a file's mistakes should be noticed, by the beginning of its path; the longest one that fits counts.
CONCERNED = {
    "csrc/base": ["tests/test_cpp.py", "tests/code_object", "tests/test_load.py"],
    "csrc/base/emulator_options": ["tests/test_environment.py", "tests/emulator/test_checks.py"],
    "csrc/base/environment": ["tests/test_environment.py"],
    "csrc/base/dynamic_library": ["tests/test_env.py", "tests/test_cpp.py"],
    "csrc/base/error": ["tests/test_cpp.py", "tests/compile/test_kernel_names.py"],
    "csrc/base/finding": _SANITIZER,
    "csrc/base/fork_safe": ["tests/test_fork.py"],
    "csrc/base/freed_memory": ["tests/emulator/test_unwritten_memory.py"],
    "csrc/base/host_threads": ["tests/conformance", "tests/test_hip_api_sequences.py"],
    "csrc/base/json": _OUTPUT,
    "csrc/base/launch_profile": ["tests/test_profile.py"],
    "csrc/base/output_file": _OUTPUT,
    "csrc/base/process_memory": ["tests/emulator/test_unwritten_memory.py", "tests/emulator/test_wild_addresses.py"],
    "csrc/base/profile_log": _OUTPUT,
    "csrc/base/profile_session": ["tests/test_profile.py"],
    "csrc/base/sanitizer": [*_SANITIZER, "tests/test_sanitize_programs.py"],
    "csrc/base/sessions": [*_SANITIZER, "tests/test_profile.py"],
    "csrc/base/tools": _SANITIZER,
    "csrc/base/unwritten_memory": ["tests/emulator/test_unwritten_memory.py"],
    "csrc/c_api": ["tests/export/test_c_api.py"],
    "csrc/code_object": ["tests/code_object", "tests/test_load.py", "tests/test_load_nvidia.py"],
    "csrc/code_object/function_table": ["tests/code_object", *_SANITIZER],
    "csrc/code_object/launch_dump": ["tests/test_run.py", "tests/test_tools_on_rdna.py", "tests/test_hip_observed.py"],
    "csrc/code_object/printf_formats": _HOSTCALLS,
    "csrc/driver": ["tests/conformance", "tests/test_run.py"],
    "csrc/driver/cuda": ["tests/test_cuda_api.py", "tests/conformance"],
    "csrc/driver/hip": ["tests/test_hip_api.py", "tests/conformance"],
    "csrc/emulator": ["tests/emulator"],
    "csrc/emulator/addresses": [*_MEMORY, *_LDS],
    "csrc/emulator/atomic": _ATOMICS,
    "csrc/emulator/barriers": _SANITIZER,
    "csrc/emulator/binding": ["tests/emulator/test_bindings.py", "tests/emulator/test_rdna_rare_instructions.py"],
    "csrc/emulator/checks": [*_SANITIZER, "tests/emulator/test_checks.py", "tests/test_profile.py"],
    "csrc/emulator/device_heap": ["tests/compile/test_hostcalls.py", "tests/compile/test_c_in_kernels.py"],
    "csrc/emulator/dispatch": [*_LAUNCHES, *_HIP, *_SANITIZER],
    "csrc/emulator/exec_buffer": [
        "tests/emulator/test_memory_instructions.py",
        "tests/emulator/test_buffers_of_rdna.py",
    ],
    "csrc/emulator/exec_buffer_format": [
        "tests/emulator/test_buffer_formats.py",
        "tests/emulator/test_buffer_formats_of_rdna.py",
    ],
    "csrc/emulator/exec_control": [
        "tests/emulator/test_control.py",
        "tests/emulator/test_indexing.py",
        "tests/compile/test_device_headers.py",
    ],
    "csrc/emulator/exec_convert_scaled": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_exchange_cdna4": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_gws": ["tests/emulator/test_grid_sync.py"],
    "csrc/emulator/exec_hardware_register": [
        "tests/emulator/test_control.py",
        "tests/emulator/test_launch_state.py",
        "tests/emulator/test_indexing.py",
        _RARE,
    ],
    "csrc/emulator/exec_lane": [
        *_ARITHMETIC,
        "tests/emulator/test_rdna_exchanges.py",
        "tests/emulator/test_wave32.py",
        _RARE,
    ],
    "csrc/emulator/exec_lds": _LDS,
    "csrc/emulator/exec_matrix": ["tests/emulator/test_matrix_instructions.py", "tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_matrix_scaled": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_matrix_wave": ["tests/emulator/test_wave_matrices.py"],
    "csrc/emulator/exec_scalar": [*_ARITHMETIC, "tests/emulator/test_scalar_memory.py", _RARE, *_RDNA_ARITHMETIC],
    "csrc/emulator/exec_scalar_gfx11": [
        "tests/emulator/test_rdna_instructions.py",
        "tests/emulator/test_rdna_arithmetic.py",
        "tests/emulator/test_plain_arithmetic.py",
        "tests/emulator/test_float_modes.py",
        _RARE,
    ],
    "csrc/emulator/exec_scalar_memory": ["tests/emulator/test_scalar_memory.py"],
    "csrc/emulator/exec_vector": [*_ARITHMETIC, "tests/emulator/test_fp8_conversions.py", *_RDNA_ARITHMETIC],
    "csrc/emulator/exec_vector_cdna4": ["tests/emulator/test_cdna4.py"],
    "csrc/emulator/exec_vector_convert_fp8": [
        *_ARITHMETIC,
        "tests/emulator/test_fp8_conversions.py",
        "tests/emulator/test_rdna_fp8.py",
        _RARE,
    ],
    "csrc/emulator/exec_vector_float": [
        *_ARITHMETIC,
        "tests/emulator/test_float_modes.py",
        "tests/compile/test_math.py",
        *_RDNA_ARITHMETIC,
    ],
    "csrc/emulator/exec_vector_gfx11": [
        _RARE,
        "tests/emulator/test_rdna_instructions.py",
        "tests/emulator/test_rdna_fp8.py",
        "tests/emulator/test_rdna_arithmetic.py",
        "tests/emulator/test_plain_arithmetic.py",
    ],
    "csrc/emulator/exec_vector_memory": [*_MEMORY, *_LDS, _RARE],
    "csrc/emulator/exec_wave32": ["tests/emulator/test_rdna_instructions.py", "tests/emulator/test_wave32.py"],
    "csrc/emulator/findings": [*_SANITIZER, "tests/emulator/test_races.py"],
    "csrc/emulator/float_rows": [*_SANITIZER, "tests/emulator/test_denormals.py", "tests/emulator/test_numbers.py"],
    "csrc/emulator/global_": [
        _RACE_MODEL,
        *_SANITIZER,
        _CACHES,
        "tests/test_launch_races.py",
        "tests/emulator/test_racy_patterns.py",
        _FLAGS,
        "tests/test_false_alarms.py",
    ],
    "csrc/emulator/grid_sync": ["tests/emulator/test_grid_sync.py"],
    "csrc/emulator/hazards": [*_HAZARDS, "tests/emulator/test_matrix_timing.py"],
    "csrc/emulator/hostcall": _HOSTCALLS,
    "csrc/emulator/isa": ["tests/isa"],
    "csrc/emulator/isa/memory_order": [*_SANITIZER, _CACHES, *_HAZARDS],
    "csrc/emulator/lane_dwords": [*_MEMORY, *_LDS],
    "csrc/emulator/lanes": ["tests/emulator/test_lanes.py", *_SANITIZER],
    "csrc/emulator/launch_accesses": ["tests/test_launch_races.py"],
    "csrc/emulator/launch_state": [*_LAUNCHES, *_HIP, "tests/compile/test_hostcalls.py"],
    "csrc/emulator/lds_": ["tests/emulator/test_races.py", _RACE_MODEL, _FLAGS, "tests/test_cpp.py"],
    "csrc/emulator/matrix": [
        "tests/emulator/test_matrix_instructions.py",
        "tests/emulator/test_cdna4.py",
        "tests/emulator/test_wave_matrices.py",
    ],
    "csrc/emulator/matrix_timing": ["tests/emulator/test_matrix_timing.py", "tests/emulator/test_hazards.py"],
    "csrc/emulator/memory": [*_MEMORY, "tests/emulator/test_faults.py", *_HIP],
    "csrc/emulator/numbers": ["tests/emulator/test_numbers.py", "tests/emulator/test_denormals.py", *_SANITIZER],
    "csrc/emulator/pending_adds": _ATOMICS,
    "csrc/emulator/print": _HOSTCALLS,
    "csrc/emulator/polls": [_FLAGS, "tests/emulator/test_racy_patterns.py", "tests/emulator/test_progress.py"],
    "csrc/emulator/profile": ["tests/test_profile.py", "tests/emulator/test_statistics.py"],
    "csrc/emulator/progress_bar": ["tests/test_progress_bar.py", "tests/test_hip_observed.py"],
    "csrc/emulator/races": ["tests/emulator/test_races.py", _RACE_MODEL],
    "csrc/emulator/rdna_sums": ["tests/emulator/test_wave_matrices.py", "tests/emulator/test_rdna_instructions.py"],
    "csrc/emulator/run_as_asked": ["tests/test_run.py", "tests/test_hip_observed.py", "tests/test_progress_bar.py"],
    "csrc/emulator/skipped_access": [*_SANITIZER, "tests/emulator/test_wild_addresses.py"],
    "csrc/emulator/spinning": _SANITIZER,
    "csrc/emulator/trace_file": ["tests/test_run.py", "tests/test_hip_observed.py"],
    "csrc/emulator/undefined": _UNDEFINED,
    "csrc/emulator/uninitialized": [*_UNDEFINED, *_SANITIZER],
    "csrc/emulator/vector_memory": [*_MEMORY, *_ATOMICS, *_LDS],
    "csrc/emulator/wait_counters": [*_HAZARDS, _COUNTERS],
    "csrc/emulator/wait_states": ["tests/emulator/test_wait_states.py", "tests/emulator/test_hazards.py"],
    "csrc/hip_emulator": [*_HIP, "tests/test_hip_programs.py", "tests/conformance"],
    "csrc/hip_emulator/api_graph": _HIP,
    "csrc/hip_emulator/api_link": ["tests/test_hip_rtc_linking.py", *_HIP],
    "csrc/hip_emulator/api_pool": _HIP,
    "csrc/hip_emulator/api_rtc": ["tests/test_hip_rtc.py"],
    "csrc/hip_emulator/api_stream": _STREAMS,
    "csrc/hip_emulator/device_memory": [
        *_STREAMS,
        "tests/emulator/test_unwritten_memory.py",
        "tests/test_sanitize_programs.py",
    ],
    "csrc/hip_emulator/dumped_launch": ["tests/test_hip_observed.py"],
    "csrc/hip_emulator/graph": _HIP,
    "csrc/hip_emulator/graph_events": _STREAMS,
    "csrc/hip_emulator/host_program": ["tests/test_hip_programs.py"],
    "csrc/hip_emulator/launch": [*_HIP, "tests/test_hip_programs.py", "tests/test_sanitize_programs.py"],
    "csrc/hip_emulator/module": [*_HIP, "tests/test_hip_modules.py", "tests/test_hip_programs.py"],
    "csrc/hip_emulator/page_advice": _HIP,
    "csrc/hip_emulator/queue": _STREAMS,
    "csrc/hip_emulator/rtc": ["tests/test_hip_rtc.py"],
    "csrc/hip_emulator/stream_order": ["tests/test_launch_races.py"],
    "csrc/hip_emulator/submit": _STREAMS,
    "csrc/hip_emulator/user_object": _HIP,
    "csrc/launch": ["tests/test_arguments.py", "tests/test_geometry.py", "tests/conformance"],
    "csrc/launch/kernel": [
        "tests/test_load.py",
        "tests/test_load_nvidia.py",
        "tests/test_packages.py",
        "tests/conformance",
    ],
    "csrc/op": ["tests/test_operator.py", "tests/operators", "tests/upstream/test_c_entry_points.py"],
    "csrc/python": ["tests/test_arguments.py", "tests/conformance", "tests/upstream/test_contract.py"],
    "csrc/python/code_object_bindings": ["tests/code_object", "tests/test_load.py"],
    "csrc/python/isa_bindings": ["tests/isa", "tests/test_cli.py"],
}
SOURCES = ("csrc/**/*.cpp", "csrc/**/*.h", "csrc/**/*.inl")

# Binary operators have a blank on both sides, brackets of templates have none (clang-format).
OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "^": "&",
    "&&": "||",
    "||": "&&",
}
OPERATOR = re.compile(r"(?<= )(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^<>])(?= )")
CONSTANT = re.compile(r"(?<![\w.\"'])(0x[0-9a-f]+|0|[1-9]\d*)(?=u?[\s;,)\]}])")
CONDITION = re.compile(r"\b(if|while) \((?!constexpr)(.+)\) (?=\{|return|throw|continue|break)")
STATEMENT = re.compile(r"^\s+(throw |fault|check|[\w.>-]+(\[[^]]*\])? [-+|&^*]?= |[\w.>-]+\()[^{}]*;\s*(//.*)?$")
ROW = re.compile(r'^(\s+\{"[^"]+", )(.+)(\},)$')
NOT_CODE = re.compile(r"^\s*(//|#|static_assert|template|using|namespace|\*)")


@dataclass(frozen=True)
class Mutant:
    """One changed line of one file (two, where rows change places); lines are counted from 0."""

    file: str
    line: int
    kind: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def _blank_strings(line: str) -> str:
    """The line with its strings and comment made of blanks, as long as before."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', lambda found: '"' + "_" * (len(found[0]) - 2) + '"', line)
    return re.sub(r"//.*", lambda found: " " * len(found[0]), line)


def _replaced(line: str, found: re.Match[str], group: int, text: str) -> str:
    return line[: found.start(group)] + text + line[found.end(group) :]


def changes_of(lines: list[str], at: int) -> Iterator[tuple[str, list[str]]]:
    """What can be broken in a line: the kind of the mistake, and the lines in its place."""
    line = lines[at]
    if NOT_CODE.match(line):
        return
    code = _blank_strings(line)
    for found in OPERATOR.finditer(code):
        yield "operator", [_replaced(line, found, 1, OPERATORS[found[1]])]
    for found in CONSTANT.finditer(code):
        value = int(found[1], 0) + 1
        yield "constant", [_replaced(line, found, 1, hex(value) if found[1].startswith("0x") else str(value))]
    if condition := CONDITION.search(code):
        yield "condition", [_replaced(line, condition, 2, f"!({line[condition.start(2) : condition.end(2)]})")]
    if STATEMENT.match(code) and lines[at - 1].rstrip().endswith(("{", ";", "}")):
        yield "statement", [f"{' ' * (len(line) - len(line.lstrip()))};"]
    row, below = ROW.match(line), ROW.match(lines[at + 1]) if at + 1 < len(lines) else None
    if row and below and row[2] != below[2]:
        yield "rows", [f"{row[1]}{below[2]}{row[3]}", f"{below[1]}{row[2]}{below[3]}"]


# What stands before a part of an expression that parentheses may surround.
_OPENING = re.compile(r"[(\[{,;?]|(?<= ):(?= )|(?<= )([-+*/%&|^]|<<|>>)?=(?= )|\b(return|throw)(?= )")
_ENDS_BEFORE = re.compile(r"([{}();,?\[:]|&&|\|\||(?<![=!<>])=|\breturn)$")  # of the line before
_NEEDED_TO_COMPILE = re.compile(r"\b(constexpr|consteval|case|static_assert|enum|concept|requires)\b")
_RAW_STRING = re.compile(r'R"([^()\s]*)\(.*?\)\1"', re.DOTALL)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with that are the same."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _part(code: str, begin: int, end: int) -> tuple[int, int] | None:
    """Where the least part of a line begins and ends that holds [begin, end), and that parentheses may surround."""
    depth, left = 0, 0
    openings = {found.end() for found in _OPENING.finditer(code, 0, begin)}
    for at in range(begin, 0, -1):
        if depth == 0 and at in openings:
            left = at
            break
        depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(code[at - 1], 0)
    depth, right = 0, len(code.rstrip())
    for at in range(end, right):
        if depth == 0 and (code[at] in ")]},;?" or code[at - 1 : at + 2] == " : "):
            right = at
            break
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at], 0)
    else:
        if code.rstrip().endswith(("&&", "||")):
            right -= 2
    return (left, right) if left <= begin and end <= right else None


def chosen(mutant: Mutant, number: int, lines: list[str]) -> str | None:
    """The line of a file that makes the mistake only where its number is chosen; None where no line can say that.

    What such a line says may still not compile.
    """
    line, changed = mutant.before[0], mutant.after[0]
    code = _blank_strings(line)
    offset = len("\n".join(lines[: mutant.line])) + 1
    in_string = any(found.start() < offset < found.end() for found in _RAW_STRING.finditer("\n".join(lines)))
    if in_string or mutant.kind == "rows" or _NEEDED_TO_COMPILE.search(code):
        return None
    if mutant.kind == "statement":
        return f"if (!WAVE_MUTANT({number})) {{ {line[: len(code.rstrip())].strip()} }}"
    if mutant.kind == "condition":
        condition = CONDITION.search(code)
        part = condition and condition.span(2)
    else:
        begin = _alike(line, changed)
        part = _part(code, begin, max(len(line) - _alike(line[begin:][::-1], changed[begin:][::-1]), begin + 1))
    if part is None:
        return None
    left, right = part
    before = _blank_strings(lines[mutant.line - 1]).rstrip()
    if not code[:left].strip() and not _ENDS_BEFORE.search(before):
        return None
    original, mistaken = line[left:right].strip(), changed[left : len(changed) - (len(line) - right)].strip()
    within_condition = before.endswith(("&&", "||")) or re.search(r"&&|\|\|", code[right:])
    if within_condition and re.search(r"\|\||\?", original + mistaken):
        return None  # in parentheses it would mean something else
    return f"{line[:left]} (WAVE_MUTANT({number}) ? ({mistaken}) : ({original})) {line[right:]}"


def candidates(only: list[str]) -> list[Mutant]:
    """All mutants of the files that git tracks, whose paths begin with one of `only`."""
    tracked = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, check=True, capture_output=True, text=True)
    found = []
    for file in tracked.stdout.split():
        if not file.startswith(tuple(only)):
            continue
        lines = (ROOT / file).read_text().splitlines()
        for at in range(len(lines)):
            for kind, after in changes_of(lines, at):
                found.append(Mutant(file, at, kind, tuple(lines[at : at + len(after)]), tuple(after)))
    return found


def concerned(file: str) -> list[str]:
    """The tests that concern a file."""
    fitting = [begin for begin in CONCERNED if file.startswith(begin)]
    return CONCERNED[max(fitting, key=len)] if fitting else []


def diff(mutant: Mutant) -> str:
    """The mutant as a patch's lines."""
    lines = difflib.unified_diff(mutant.before, mutant.after, lineterm="", n=0)
    return "\n".join([f"{mutant.file}:{mutant.line + 1} ({mutant.kind})", *list(lines)[3:]])
