"""tools/mutate.py knows the files and the tests that there are."""

from __future__ import annotations

import pytest
from support import ROOT, load_tool

mutate = load_tool("mutate")


@pytest.mark.parametrize("begin", mutate.CONCERNED)
def test_files_and_tests_are_there(begin: str) -> None:
    assert any(path.as_posix().startswith(str(ROOT / begin)) for path in (ROOT / begin).parent.iterdir())
    assert [test for test in mutate.CONCERNED[begin] if not (ROOT / test).exists()] == []


def test_the_longest_beginning_counts() -> None:
    assert mutate.concerned("csrc/emulator/exec_buffer_format.cpp") == [
        "tests/emulator/test_buffer_formats.py",
        "tests/emulator/test_buffer_formats_of_rdna.py",
    ]
    assert mutate.concerned("csrc/emulator/wave.h") == ["tests/emulator"]
    assert mutate.concerned("tools/mutate.py") == []


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("  if (a < b) return;", ["  if (a <= b) return;", "  if (!(a < b)) return;"]),
        ('  report(wave, "a < b", 3);', ['  report(wave, "a < b", 4);', "  ;"]),
        ("  std::vector<int> none;", []),
        ("// if (a < b) return 1;", []),
    ],
)
def test_mistakes_of_a_line(line: str, mutants: list[str]) -> None:
    assert [after for _, (after,) in mutate.changes_of(["{", line], 1)] == mutants
