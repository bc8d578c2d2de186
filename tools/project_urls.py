"""The address of the sources, for the metadata of both packages: that of the clone which they are built from.

setup.py asks for it, and scikit-build-core, as emulator/pyproject.toml says. Sources that lie in no clone, or in one of
a folder, have none.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parent.parent
# Without the name and password that an address may have; git@host:path is ssh's way to write it.
ADDRESS = re.compile(r"(?:https?://(?:[^/@]*@)?|(?:ssh://)?git@)([^/:@]+)(?::\d+)?[:/](.+?)(?:\.git)?/?")


def address(origin: str) -> str | None:
    """What a browser opens for the origin of a clone: "https://host/owner/name"."""
    found = ADDRESS.fullmatch(origin)
    return f"https://{found[1]}/{found[2]}" if found else None


def project_urls(root: Path = ROOT) -> dict[str, str]:
    """The field Project-URL."""
    if not (root / ".git").exists():
        return {}
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        origin = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return {}
    found = address(origin)
    return {"Source": found} if found else {}


def dynamic_metadata(field: str, settings: Mapping[str, Any], project: Any = None) -> dict[str, str]:
    """As scikit-build-core asks, in some versions without the project."""
    return project_urls()
