"""Installing: from the source distribution, with what torch and setuptools there are."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from setuptools.command import editable_wheel
from support import ROOT

LAUNCH = """
import torch, wave_runtime
kernel = wave_runtime.load(r"{file}", signature={{"collatz": "*i32 const, *i32, i32"}})["collatz"]
out = torch.zeros(1, dtype=torch.int32)
kernel(torch.tensor([27], dtype=torch.int32), out, 1, grid=1, block=64)
print(wave_runtime.__file__, out.item())
"""


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    code = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, check=True, capture_output=True)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def test_source_distribution_is_complete(source_distribution: Path) -> None:
    """Whatever git tracks is in it."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    with tarfile.open(source_distribution) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in tracked if not name.startswith(".")} - packed == set()


def test_installs_from_the_source_distribution(source_distribution: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    subprocess.run([*command, "--target", tmp_path, source_distribution], check=True, capture_output=True)
    for file in (
        "libwave_launch.so",
        "libwave_runtime.so",
        "include/wave_runtime.h",
        "include/wave_runtime.hpp",
        "share/cmake/wave_runtime/wave_runtime-config.cmake",
        "share/cmake/wave_runtime/wave_runtime-config-version.cmake",
    ):
        assert (tmp_path / "wave_runtime" / file).is_file(), file
    code = LAUNCH.format(file=ROOT / "examples/kernels/binaries/basics.hsaco")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, cwd="/", capture_output=True, text=True
    )
    assert done.stdout.split() == [str(tmp_path / "wave_runtime/__init__.py"), "111"], done.stderr


def test_finder_of_editable_installs_can_be_put_first() -> None:
    """setup.py changes a text of setuptools, which must be there to be changed."""
    assert "sys.meta_path.append(_EditableFinder)" in editable_wheel._FINDER_TEMPLATE
