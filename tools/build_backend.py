"""The build backend of pyproject.toml: setuptools', but for editable installs.

Those compile in place, and so what has changed alone, and are found before the module wave_runtime*.so that the
wave-lang wheel puts beside other packages. setuptools' own compile in a new folder each time, and are found after it.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).absolute().parent.parent
FINDER = "__wave_runtime_finder__"
SOURCE = """import sys
from importlib.machinery import PathFinder


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [{root!r}]) if name in {names!r} else None


sys.meta_path.insert(0, Finder)
"""
NAMES = ("wave_runtime", "wave_runtime_pytest")


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Compile in place what has changed, and make a wheel that leads Python there (PEP 660). Returns its name."""
    subprocess.run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=ROOT, check=True)
    return make_editable_wheel(wheel_directory, config_settings)


def make_editable_wheel(wheel_directory: str, config_settings: dict[str, Any] | None) -> str:
    """Make a wheel that leads Python to this tree. Returns its name."""
    with tempfile.TemporaryDirectory() as folder:
        name = build_meta.prepare_metadata_for_build_editable(folder, config_settings)
        files = {f"{name}/{path.name}": path.read_bytes() for path in (Path(folder) / name).iterdir() if path.is_file()}
    files[f"{FINDER}.py"] = SOURCE.format(root=str(ROOT), names=NAMES).encode()
    files[f"{FINDER}.pth"] = f"import {FINDER}\n".encode()
    files[f"{name}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: wave_runtime\nRoot-Is-Purelib: false\nTag: py3-none-any\n"
    records = [f"{path},sha256={digest(data)},{len(data)}" for path, data in files.items()]
    files[f"{name}/RECORD"] = "\n".join([*records, f"{name}/RECORD,,", ""]).encode()
    wheel = f"{name.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


def digest(data: bytes) -> str:
    """SHA-256 as a RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
