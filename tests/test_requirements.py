"""What the tests need of the machine, and what they must bear: a missing requirement is a skip, or a failure where
WAVE_RUNTIME_REQUIRE lists it; plugins of pytest that happen to be installed change nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import warm_python
from requirements import REQUIREMENTS
from support import ROOT

TESTS = """
import pytest
from requirements import REQUIREMENTS, Requirement, absent, need

REQUIREMENTS["nvcc"] = Requirement(lambda: None, "a compiler")
REQUIREMENTS["cmake"] = Requirement(lambda: "/bin/cmake", "a builder")


@pytest.mark.needs("cmake", "nvcc")
def test_marked():
    raise AssertionError("runs")


def test_needed():
    assert need("cmake") == "/bin/cmake"
    need("nvcc")


def test_absent():
    absent("nvcc", "none of this version")


@pytest.mark.needs("cmake")
def test_there():
    pass
"""


def outcomes(tests: str, folder: Path, required: str = "") -> tuple[dict[str, int], str]:
    """How many tests of a file passed, failed and so on, and what pytest printed."""
    file = folder / "test_file.py"
    file.write_text(tests)
    command = ["-m", "pytest", "-q", f"--rootdir={ROOT}", f"--confcutdir={folder}", "-p", "conftest"]
    path = os.pathsep.join(map(str, (folder, ROOT / "tests", ROOT)))
    environment = {**os.environ, "WAVE_RUNTIME_REQUIRE": required, "PYTHONPATH": path}
    options = ["-c", ROOT / "pyproject.toml", "-p", "no:cacheprovider", file]
    done = warm_python.run(*command, *options, env=environment)
    printed = done.stdout + done.stderr
    return {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)", printed)}, printed


@pytest.mark.parametrize(
    ("required", "expected"),
    [("", {"passed": 1, "skipped": 3}), ("cmake,nvcc", {"passed": 1, "failed": 2, "error": 1})],
)
def test_what_is_missing(required: str, expected: dict[str, int], tmp_path: Path) -> None:
    found, printed = outcomes(TESTS, tmp_path, required)
    assert found == expected, printed
    assert "needs a compiler" in printed
    assert "none of this version" in printed


def test_a_name_that_is_none(tmp_path: Path) -> None:
    found, printed = outcomes(TESTS, tmp_path, "cmake,nvc")
    assert found == {}
    assert "WAVE_RUNTIME_REQUIRE lists ['nvc'], but there are" in printed


def test_all_are_documented() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in REQUIREMENTS if f"`{name}`" not in text] == []


def test_pytest_benchmark_may_be_installed(tmp_path: Path) -> None:
    """Its warning, as it is up to version 5.1, must not end the run."""
    (tmp_path / "some_plugin.py").write_text(
        "import warnings\ndef pytest_configure():\n    warnings.warn('disabled')\n"
    )
    for name in ("benchmark", "another"):
        metadata = tmp_path / f"pytest_{name}-4.0.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pytest-{name}\nVersion: 4.0.0\n")
        (metadata / "entry_points.txt").write_text(f"[pytest11]\n{name} = some_plugin\n")
        found, printed = outcomes("def test(): pass", tmp_path)
        assert (found == {"passed": 1}) == (name == "benchmark"), printed  # what another one warns of is seen
