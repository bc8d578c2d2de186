"""The code objects that lie beside the folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import experts
from launches import Case


def beside(folder: Path) -> Iterator[Case]:
    """Of a processor's folder, those that lie in it."""
    for file in sorted(folder.glob("*.co")):
        yield from experts.cases_of(file, folder.name)
