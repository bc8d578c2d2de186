"""tools/mutate.py knows the files and tests that there are, and a mistake that can be chosen is that of its line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import ROOT, load_tool

mutants = load_tool("mutants")


@pytest.mark.parametrize("begin", mutants.CONCERNED)
def test_files_and_tests_are_there(begin: str) -> None:
    assert any(path.as_posix().startswith(str(ROOT / begin)) for path in (ROOT / begin).parent.iterdir())
    assert [test for test in mutants.CONCERNED[begin] if not (ROOT / test).exists()] == []


def test_the_longest_beginning_counts() -> None:
    assert mutants.concerned("csrc/emulator/exec_buffer_format.cpp") == [
        "tests/emulator/test_buffer_formats.py",
        "tests/emulator/test_buffer_formats_of_rdna.py",
    ]
    assert mutants.concerned("csrc/emulator/wave.h") == ["tests/emulator"]
    assert mutants.concerned("tools/mutate.py") == []


@pytest.mark.parametrize(
    ("line", "mistakes"),
    [
        ("  if (a < b) return;", ["  if (a <= b) return;", "  if (!(a < b)) return;"]),
        ('  report(wave, "a < b", 3);', ['  report(wave, "a < b", 4);', "  ;"]),
        ("  std::vector<int> none;", []),
        ("// if (a < b) return 1;", []),
    ],
)
def test_mistakes_of_a_line(line: str, mistakes: list[str]) -> None:
    assert [after for _, (after,) in mutants.changes_of(["{", line], 1)] == mistakes


# Lines of many shapes, in a function that tells what they compute.
LINES = r"""
struct Pair {
  int a, b;
};
static constexpr int kFour = 4;
static int twice(int x, int y) { return x * 2 + y; }
static Pair pair(int x) {
  if (x > 3 && x % 2 == 1) {
    return {x - 1, x << 2};
  } else if (x == 2) {
    x += 5;
  }
  return Pair{x, x / 2};
}
static bool condition(int x, int y) {
  return x < 2 && y > 1 ||
         x == y;
}
static int choose(int x) {
  const int large = x > 2 ? x + 10 : x - 10;
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += twice(i, large & 6);
  if (sum > 100) sum = sum - 30;
  sum = twice(sum,
              x + 1);
  return sum % 97;
}
std::vector<int> run() {
  std::vector<int> all;
  for (int x = 0; x < 6; ++x) {
    const Pair two = pair(x);
    all.push_back(two.a);
    all.push_back(two.b);
    all.push_back(condition(x, two.a) ? 1 : 0);
    all.push_back(choose(x) ^ kFour);
  }
  const std::string text = R"(
    x + 1,
  )";
  for (char letter : text) all.push_back(letter);
  return all;
}
""".splitlines()


def test_a_mistake_that_is_chosen_is_the_mistake(tmp_path: Path) -> None:
    found = [
        mutants.Mutant("program.cpp", at, kind, (LINES[at],), tuple(after))
        for at in range(len(LINES))
        for kind, after in mutants.changes_of(LINES, at)
    ]
    chosen = {mutant: mutants.chosen(mutant, number, LINES) for number, mutant in enumerate(found, 1)}
    assert {mutant.before[0].strip() for mutant, text in chosen.items() if text is None} == {
        "static constexpr int kFour = 4;",
        "return x < 2 && y > 1 ||",  # where && becomes ||, which binds less
        "x + 1,",
    }
    program = ["#include <cstdio>", "#include <string>", "#include <vector>", "static int made;"]
    program += ["#define WAVE_MUTANT(number) (made == (number))", "namespace original {", *LINES, "}"]
    checks = []
    for number, (mutant, text) in enumerate(chosen.items(), 1):
        if text is None:
            continue
        for name, changed in (("alone", mutant.after), ("together", [text])):
            lines = [*LINES[: mutant.line], *changed, *LINES[mutant.line + 1 :]]
            program += [f"namespace {name}{number} {{", *lines, "}"]
        checks += [
            f'made = 0; if (together{number}::run() != original::run()) std::puts("{number} is made unasked");',
            f'made = {number}; if (together{number}::run() != alone{number}::run()) std::puts("{number} differs");',
        ]
    assert len(checks) > 100
    (tmp_path / "program.cpp").write_text("\n".join([*program, "int main() {", *checks, "}"]))
    subprocess.run(["c++", "-std=c++20", "-w", "-o", "program", "program.cpp"], cwd=tmp_path, check=True)
    assert subprocess.run(["./program"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout == ""
