"""The layers of csrc/: who may include whom, and what stays out of those below torch; what is in one place only."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
CSRC = TESTS.parent / "csrc"

# Folder -> the folders that its files may include, besides their own.
MAY_INCLUDE = {
    "base": set(),
    "code_object": {"base"},
    "emulator": {"base", "code_object", "emulator/isa"},
    "emulator/isa": {"base"},
    "driver": {"base", "code_object"},
    "driver/cuda": {"base", "code_object", "driver"},
    "driver/emulator": {"base", "code_object", "driver", "emulator"},
    "driver/hip": {"base", "code_object", "driver"},
    "c_api": {"base", "code_object", "driver", "launch"},
    "hip_emulator": {"base", "code_object", "emulator", "driver/hip"},
    "launch": {"base", "code_object", "driver"},
    "op": {"base", "code_object", "driver", "launch"},
    "python": {"base", "code_object", "driver", "launch", "op", "emulator", "emulator/isa"},
}
MAY_SEE_TORCH = {"op", "python"}


def files() -> list[Path]:
    return sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cpp", ".inl"})


def folder(path: Path) -> str:
    return str(path.parent.relative_to(CSRC))


def test_includes_follow_the_layers() -> None:
    wrong = []
    for path in files():
        own = folder(path)
        for include in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            target = str(Path(include).parent)
            if target != own and target not in MAY_INCLUDE[own]:
                wrong.append(f"{path.relative_to(CSRC)} includes {include}")
            if not (CSRC / include).exists():
                wrong.append(f"{path.relative_to(CSRC)} includes {include}, which does not exist")
    assert wrong == []


def test_torch_and_python_stay_at_the_top() -> None:
    outside = re.compile(r"^#include <(torch|ATen|c10|pybind11|Python\.h)", re.MULTILINE)
    wrong = [str(p) for p in files() if folder(p) not in MAY_SEE_TORCH and outside.search(p.read_text())]
    assert wrong == []


def test_libraries_are_opened_in_one_place() -> None:
    users = [str(p.relative_to(CSRC)) for p in files() if re.search(r"\bdlopen\(", p.read_text())]
    assert users == ["base/dynamic_library.cpp"]


def test_tests_are_skipped_in_one_place() -> None:
    """Where WAVE_RUNTIME_REQUIRE is heeded."""
    skip = re.compile(r"\b(pytest|unittest)\.(skip|importorskip|SkipTest)|\bmark\.skip|\bskip(if|_test)?\(")
    users = [str(p.relative_to(TESTS)) for p in sorted(TESTS.rglob("*.py")) if skip.search(p.read_text())]
    assert users == ["requirements.py"]
