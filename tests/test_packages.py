"""Packages whose kernels are compiled into their wheels: by setuptools, and by CMake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT

import wave_runtime
from wave_runtime import build
from wave_runtime.__main__ import main

pytestmark = pytest.mark.needs("clang")

PACKAGE = ROOT / "examples" / "package"
USE = """
import torch, scaled
x = torch.arange(1000.0)
assert torch.equal(scaled.scaled(x, 3.0), 3 * x)
assert (scaled.filled(torch.zeros(300, dtype=torch.int32), 7) == 7).all()
assert scaled.kernels.scale.signature == "x: *f32 const, out: *f32, factor: f32, n: i32"
assert scaled.kernels.module.targets == ("gfx942", "gfx1100")
compiled = torch.compile(lambda x: scaled.scaled(x, 2.0), fullgraph=True, backend="eager")
assert torch.equal(compiled(x), 2 * x)
try:
    scaled.kernels.nothing
except AttributeError as error:
    assert "has no kernel 'nothing'; its kernels are ['scale'" in str(error)
print(scaled.__file__)
"""
NO_COMPILER = {"CLANG": "/nonexistent/clang", "PATH": "/usr/bin:/bin"}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def python(code: str, cwd: Path, imported: str = "torch", **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = warm_python.run("-c", code, cwd=cwd, env=environment, imported=imported)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def use(cwd: Path, **variables: str) -> str:
    """Which module a program uses that has no compiler of kernels."""
    return python(USE, cwd, warm_python.COMPILER, **NO_COMPILER, **variables)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PACKAGE, tmp_path / "package"))


def backend(function: str, package: Path, folder: Path) -> Path:
    """What a front end asks of the package's build backend."""
    folder.mkdir(exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.{function}({str(folder)!r}))"
    return folder / python(code, package).splitlines()[-1]


def test_a_wheel(package: Path, tmp_path: Path) -> None:
    """It is for any Python and machine, and works where there is neither the source nor a compiler."""
    wheel = backend("build_wheel", package, tmp_path / "wheels")
    assert wheel.name == "scaled-0.1.0-py3-none-any.whl"
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    kinds = ["__init__.py", "kernels.gfx1100.hsaco", "kernels.gfx942.hsaco", "kernels.py"]
    assert sorted(path.name for path in (installed / "scaled").iterdir()) == kinds
    shutil.rmtree(package)
    told = use(tmp_path, PYTHONPATH=f"{installed}:{ROOT}")
    assert told == str(installed / "scaled" / "__init__.py")


def test_a_source_distribution_makes_the_same_wheel(package: Path, tmp_path: Path) -> None:
    archive = backend("build_sdist", package, tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    wheel = backend("build_wheel", tmp_path / "unpacked" / "scaled-0.1.0", tmp_path / "wheels")
    with zipfile.ZipFile(wheel) as archive_of_wheel:
        assert "scaled/kernels.gfx942.hsaco" in archive_of_wheel.namelist()


def test_an_editable_install_compiles_into_the_tree(package: Path, tmp_path: Path) -> None:
    backend("build_editable", package, tmp_path / "wheels")
    assert (package / "scaled" / "kernels.gfx1100.hsaco").exists()
    use(package)


def test_a_wrong_source_fails_the_build(package: Path, tmp_path: Path) -> None:
    path = package / "csrc" / "kernels.hip"
    path.write_text(path.read_text().replace("work_item()", "work_items()"))
    with pytest.raises(AssertionError, match=r"kernels\.hip:4:\d+: error: .*work_items"):
        backend("build_wheel", package, tmp_path / "wheels")


def test_arguments_that_do_not_fit() -> None:
    """Errors of setup.py's own lines: a text would be taken letter by letter when the wheel is made."""
    with pytest.raises(TypeError, match=r"sources= must be a list, as in sources=\['kernels.hip'\], given str"):
        build.Kernels("scaled.kernels", "kernels.hip")
    with pytest.raises(TypeError, match=r"targets= must be a list, as in targets=\['gfx942'\], given str"):
        build.Kernels("scaled.kernels", ["kernels.hip"], targets="gfx942")
    with pytest.raises(TypeError, match=r"options= must be a dict .*, as in .*include_dirs.*, given list"):
        build.Kernels("scaled.kernels", ["kernels.hip"], options=["-O1"])  # type: ignore[arg-type]
    kernels = build.Kernels("scaled.kernels", ["kernels.hip"])
    with pytest.raises(TypeError, match=r"commands: expected one build.Kernels or several, given list"):
        build.commands([kernels])  # type: ignore[arg-type]


def test_what_is_written_is_what_was_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures that were given, what is written, strides and names of templates."""
    source = "template <class T> __global__ void copy(T* a, T* b) { b[threadIdx.x] = a[threadIdx.x]; }\n"
    source += "template __global__ void copy<int>(int*, int*);"
    module = wave_runtime.compile(source, writes={"copy<int>": ["b"]}, strides="any")
    build.write(module, tmp_path / "copies.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    import copies  # type: ignore[import-not-found]

    kernel = copies.module["copy<int>"]
    assert kernel.signature == module["copy<int>"].signature
    a, b = torch.arange(16, dtype=torch.int32)[::2], torch.zeros(8, dtype=torch.int32)
    kernel(a, b, grid=1, block=8)  # strides="any": the storage as it is
    assert b.tolist() == list(range(8))
    with pytest.raises(ValueError, match="shares memory"):
        kernel(b, b, grid=1, block=8)
    (tmp_path / "copies.gfx942.hsaco").unlink()
    with pytest.raises(FileNotFoundError, match=r"copies\.gfx942\.hsaco"):
        build.read(str(tmp_path / "copies.py"), images=["copies.gfx942.hsaco"])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, rule = tmp_path / "kernels.py", tmp_path / "kernels.d"
    source = str(PACKAGE / "csrc" / "kernels.hip")
    arguments = ["compile", source, "--target", "gfx942", "--target", "gfx1100", "--depfile", str(rule)]
    assert main([*arguments, "-o", str(output)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(output)
    made, _, of = rule.read_text().partition(": ")
    assert made == str(output)
    assert {source, str(PACKAGE / "csrc" / "work_item.h")} <= set(of.split())
    assert main([*arguments, "-o", str(tmp_path / "kernels.hsaco")]) == 2
    assert "several targets need -o FILE.py" in capsys.readouterr().err


CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(scaled LANGUAGES NONE)
find_package(wave_runtime REQUIRED)
wave_runtime_add_kernels(kernels SOURCES csrc/kernels.hip TARGETS gfx942 gfx1100 OPTIONS -O2 DEFINITIONS WORD BLOCK=64
                         INCLUDE_DIRECTORIES csrc OUTPUT scaled/kernels.py)
wave_runtime_add_kernels(alone SOURCES csrc/kernels.hip OUTPUT alone.hsaco)
get_target_property(files kernels WAVE_RUNTIME_FILES)
install(FILES ${files} scaled/__init__.py DESTINATION scaled)
"""


@pytest.mark.needs("cmake")
def test_cmake(package: Path, tmp_path: Path) -> None:
    """It compiles, installs, and compiles again when a header has changed, and only then."""
    (package / "CMakeLists.txt").write_text(CMAKE)
    prefix = warm_python.run("-m", "wave_runtime", "cmake").stdout.strip()
    python = f"-DPython_EXECUTABLE={sys.executable}"
    made, installed = tmp_path / "build", tmp_path / "installed"
    run("cmake", "-B", made, "-S", package, f"-DCMAKE_PREFIX_PATH={prefix}", python, cwd=tmp_path)
    run("cmake", "--build", made, cwd=tmp_path)
    run("cmake", "--install", made, "--prefix", installed, cwd=tmp_path)
    use(tmp_path, PYTHONPATH=f"{installed}:{ROOT}")
    assert wave_runtime.load(made / "alone.hsaco").targets == ("gfx942",)
    assert "Compiling" not in run("cmake", "--build", made, cwd=tmp_path)
    header = package / "csrc" / "work_item.h"
    header.write_text(header.read_text().replace("return ", "return 1 - 1 + "))
    assert "Compiling kernels for gfx942;gfx1100" in run("cmake", "--build", made, "--target", "kernels", cwd=tmp_path)
    (package / "CMakeLists.txt").write_text(CMAKE.replace("SOURCES csrc", "FILES csrc"))
    with pytest.raises(AssertionError, match="expected SOURCES and files"):
        run("cmake", "-B", made, "-S", package, cwd=tmp_path)
