"""Whatever clang 22 makes of its builtins for AMD GPUs runs on the emulator, but for a list with reasons."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import clang_builtins
import pytest
from clang_builtins import Builtin, Call

from wave_runtime._coverage import coverage

# What the kernels of some builtins have that the emulator lacks. docs/emulator.md names these instructions, too.
MISSING = {
    r"ds_gws_sema_\w+ is not implemented": "semaphores of the whole device, which a driver must reserve",
    r"ds_bvh_stack_\w+ is not implemented": "stacks of ray tracing, whose images are not there either",
    r"s_barrier_(init|join|leave) is not implemented": "named barriers, which RDNA4's document reserves",
    r"s_[gs]etreg_b32 is not implemented": "where scratch lies, which registers of that name tell",
}
NOT_IN_WAVES_OF_64 = r"global_load_tr_b(64|128) is not implemented"  # in which order they transpose is not published

PROCESSORS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1150", "gfx1201")
# Which have the instructions of one of those.
RELATED = ("gfx1036", "gfx1101", "gfx1102", "gfx1103", "gfx1151", "gfx1152", "gfx1153", "gfx1200")


def unexplained(built: list[Path], lanes: int) -> dict[str, list[str]]:
    """What the emulator cannot run of code objects and is not listed above, by kernel."""
    missing = [*MISSING, *([NOT_IN_WAVES_OF_64] if lanes == 64 else [])]
    found = {}
    for name, report in (item for file in built for item in coverage(file).items()):
        reasons = [text for text in report["unsupported"] if not any(re.match(pattern, text) for pattern in missing)]
        if reasons:
            found[name] = reasons
    return found


def compiled(made: Iterable[Call]) -> set[str]:
    return {call.builtin.name for call in made if not call.refused}


@functools.cache
def names() -> list[str]:
    return clang_builtins.names("clang-22")


def its_builtins(options: list[str]) -> list[Builtin]:
    found = clang_builtins.declared("clang-22", options, names())
    assert len(found) > 200
    return found


@pytest.mark.needs("clang-22")
def test_names_are_found_behind_a_wrapper(tmp_path: Path) -> None:
    """As ccache is one, in whose own file they do not stand."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nexec clang-22 "$@"\n')
    wrapper.chmod(0o755)
    assert clang_builtins.names(str(wrapper)) == names()


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(
    ("clang", "options", "known", "message"),
    [
        ("clang-22", ["-mcpu=gfx1"], [f"{clang_builtins.PREFIX}s_barrier"], "error: .*gfx1"),
        ("clang-22", ["-mcpu=gfx942"], [], "has no builtins with -mcpu=gfx942"),
        ("false", [], [], "false has no builtins"),
    ],
)
def test_clang_says_why_there_are_none(clang: str, options: list[str], known: list[str], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        clang_builtins.declared(clang, options, known)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("processor", [*PROCESSORS, *RELATED])
def test_some_builtins_run(processor: str, tmp_path: Path) -> None:
    options = [f"-mcpu={processor}", "-O1"]
    every = 9 if processor in ("gfx1100", "gfx1201") else 25
    chosen = its_builtins(options)[::every]
    made = [Call(builtin, uniform=False) for builtin in chosen]
    lanes = 64 if processor.startswith("gfx9") else 32
    assert unexplained(clang_builtins.build("clang-22", options, made, tmp_path), lanes) == {}
    assert len(compiled(made)) > 0.8 * len(chosen)


@pytest.mark.long
@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(
    ("processor", "lanes", "level"),
    [
        (processor, lanes, level)
        for processor, lanes, level in [
            *itertools.product(PROCESSORS, (32, 64), ("-O0", "-O2")),
            *itertools.product(RELATED, (32, 64), ("-O2",)),
        ]
        if lanes == 64 or not processor.startswith("gfx9")
    ],
)
def test_builtins_run(processor: str, lanes: int, level: str, tmp_path: Path) -> None:
    """With constants, too, that choose between instructions: how many bytes, which message, which register."""
    size = ["-mwavefrontsize64"] if lanes == 64 and not processor.startswith("gfx9") else []
    options = [f"-mcpu={processor}", level, *size]
    chosen = its_builtins(options)
    made, built = clang_builtins.build_all("clang-22", options, chosen, tmp_path)
    assert unexplained(built, lanes) == {}
    assert len(compiled(made)) > 0.9 * len(chosen)


@pytest.mark.needs("clang-22")
def test_an_instruction_that_is_missing_is_seen(tmp_path: Path) -> None:
    """Of those with a reason, without the reason."""
    options = ["-mcpu=gfx1100", "-O1"]
    (builtin,) = (found for found in its_builtins(options) if found.name.endswith("_ds_gws_sema_v"))
    built = clang_builtins.build("clang-22", options, [Call(builtin, uniform=False)], tmp_path)
    (report,) = coverage(built[0]).values()
    assert report["unsupported"] == {"ds_gws_sema_v is not implemented": 1}
    assert unexplained(built, 32) == {}
