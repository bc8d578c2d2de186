"""Installing: from the source distribution, with what torch and setuptools there are; and with CMake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import torch
from requirements import does_not_apply, need
from support import ROOT, load_tool

import wave_emulator
import wave_runtime

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


def requirements(metadata: str) -> list[str]:
    return re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)


def test_source_distribution_is_complete(source_distribution: Path) -> None:
    """Whatever git tracks is in it."""
    if not (ROOT / ".git").exists():
        does_not_apply("not a git checkout")
    with tarfile.open(source_distribution) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in tracked if not name.startswith(".")} - packed == set()


def test_sources_fit_many_releases_of_torch(source_distribution: Path) -> None:
    with tarfile.open(source_distribution) as archive:
        names = {name.split("/", 1)[-1]: name for name in archive.getnames()}
        metadata = archive.extractfile(names["PKG-INFO"])
        assert metadata is not None
        required = requirements(metadata.read().decode())
    assert [line for line in required if "extra ==" not in line] == [
        "torch>=2.10",
        f"wave-emulator=={wave_runtime.__version__}",
    ]
    extras = {line.split("extra == ")[1].strip('"') for line in required if "extra ==" in line}
    assert extras == {"dev", "flydsl", "sycl", "triton", "wave"}


def test_no_link_of_a_description_leads_into_the_sources(source_distribution: Path) -> None:
    """An index of packages shows descriptions on a page of its own, from which relative links lead nowhere."""
    with tarfile.open(source_distribution) as archive:
        (name,) = (name for name in archive.getnames() if re.fullmatch(r"[^/]*/PKG-INFO", name))
        metadata = archive.extractfile(name)
        assert metadata is not None
        text = metadata.read().decode()
    assert "Description-Content-Type: text/markdown" in text
    assert "it looks like this (docs/pictures/demo.png)" in text
    for description in (text, (ROOT / "emulator" / "README.md").read_text()):
        prose = re.sub(r"^```.*?^```", "", description, flags=re.MULTILINE | re.DOTALL)
        assert re.findall(r"\]\((?!https?://)[^)]*\)", prose) == []


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://example.org/owner/name.git", "https://example.org/owner/name"),
        ("https://user:secret@example.org/owner/name", "https://example.org/owner/name"),
        ("git@example.org:owner/name.git", "https://example.org/owner/name"),
        ("ssh://git@example.org:2222/owner/name.git", "https://example.org/owner/name"),
        ("/somewhere/on/this/machine", None),
        ("file:///somewhere", None),
        ("", None),
    ],
)
def test_wheels_say_where_their_sources_are(origin: str, expected: str | None, tmp_path: Path) -> None:
    """Which is where the clone is from, but for its password. Others have no address."""
    project_urls = load_tool("project_urls").project_urls
    assert project_urls(tmp_path) == {}
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    if origin:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", origin], check=True)
    assert project_urls(tmp_path) == ({"Source": expected} if expected else {})


@pytest.mark.long
@pytest.mark.timeout(1200)  # builds all of it
def test_installs_from_the_source_distribution(source_distribution: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    subprocess.run([*command, "--target", tmp_path, source_distribution], check=True, capture_output=True)
    (tmp_path / "wave_emulator").symlink_to(ROOT / "wave_emulator")  # a package of its own, which is built already
    release = ".".join(torch.__version__.split(".")[:2])
    for file in (
        f"torch_{release.replace('.', '_')}/libwave_runtime.so",
        "share/cmake/wave_runtime/wave_runtime-config.cmake",
        "share/cmake/wave_runtime/wave_runtime-config-version.cmake",
    ):
        assert (tmp_path / "wave_runtime" / file).is_file(), file
    on_path = {"PYTHONPATH": str(tmp_path)}
    (metadata,) = tmp_path.glob("wave_runtime-*.dist-info/METADATA")
    required = requirements(metadata.read_text())
    assert [line for line in required if "extra ==" not in line] == [
        f"torch<2.{int(release[2:]) + 1},>={release}",
        f"wave-emulator=={wave_runtime.__version__}",
    ]
    program = [tmp_path / "bin" / "wave-runtime", "--version"]
    command = subprocess.run(program, env=on_path, capture_output=True, text=True)
    assert command.stdout == f"{wave_runtime.__version__}\n", command.stderr
    code = LAUNCH.format(file=ROOT / "examples/kernels/binaries/basics.hsaco")
    done = subprocess.run([sys.executable, "-c", code], env=on_path, cwd="/", capture_output=True, text=True)
    assert done.stdout.split() == [str(tmp_path / "wave_runtime/__init__.py"), "111"], done.stderr


def test_editable_install_wins_over_upstreams_module(tmp_path: Path) -> None:
    build = "import build_backend, sys; print(build_backend.make_editable_wheel(sys.argv[1], None))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(
        [sys.executable, "-c", build, tmp_path], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]) as wheel:
        wheel.extractall(tmp_path)
    (tmp_path / "wave_runtime.so").write_text("not this one")
    code = f"import site; site.addsitedir({str(tmp_path)!r}); import wave_runtime; print(wave_runtime.__file__)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(Path(wave_emulator.__file__).parent.parent)])
    found = subprocess.run(
        [sys.executable, "-c", code], cwd="/", env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout == f"{ROOT / 'wave_runtime' / '__init__.py'}\n"


def cmake(*arguments: str | Path, destination: Path) -> subprocess.CompletedProcess[str]:
    need("cmake")
    environment = {**os.environ, "DESTDIR": str(destination)}
    return subprocess.run(["cmake", *arguments], env=environment, capture_output=True, text=True)


@pytest.mark.timeout(1200)  # builds all of it
def test_cmake_builds_the_package(tmp_path: Path) -> None:
    """From what is compiled already: only the libraries are linked anew."""
    if not list((ROOT / "build").glob("temp.*/csrc/python/*.o")):
        does_not_apply("nothing is compiled: make build")
    package = tmp_path / "out" / "wave_runtime"
    options = (f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={package.parent}", f"-DPython_EXECUTABLE={sys.executable}")
    for step in (
        ("-B", tmp_path / "build", "-S", ROOT, *options),
        ("--build", tmp_path / "build"),
        ("--install", tmp_path / "build"),
    ):
        done = cmake(*step, destination=tmp_path / "installed")
        assert done.returncode == 0, done.stdout + done.stderr
    code = LAUNCH.format(file=ROOT / "examples/kernels/binaries/basics.hsaco")
    run = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(package.parent)}, cwd="/", capture_output=True, text=True
    )
    assert run.stdout.split() == [str(package / "__init__.py"), "111"], run.stderr
    for name in ("wave_emulator", "wave_runtime"):
        (installed,) = (tmp_path / "installed").rglob(f"{name}/py.typed")
        libraries = {path.relative_to(package.with_name(name)) for path in package.with_name(name).rglob("*.so")}
        assert libraries
        assert {path.relative_to(installed.parent) for path in installed.parent.rglob("*.so")} == libraries


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("-DCMAKE_BUILD_TYPE=Fast", "CMAKE_BUILD_TYPE is Release or Debug, not Fast"),
        ("-DCMAKE_SYSTEM_NAME=Windows", "wave_emulator builds on Linux, not on Windows"),
        ("-DPython_EXECUTABLE={bare}/bin/python", "built against the torch it will run with"),
    ],
)
def test_cmake_says_what_is_missing(option: str, error: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    if "{bare}" in option:
        venv.create(bare, symlinks=True)
    done = cmake("-B", tmp_path / "build", "-S", ROOT, option.format(bare=bare), destination=tmp_path)
    assert done.returncode != 0
    assert error in " ".join(done.stderr.split())
