"""Environment variables that Python code reads, strictly: what a value cannot mean is an error that names it.

Those of C++ are read by csrc/base/environment.h, in the same way. docs/environment.md lists them all.
"""

from __future__ import annotations

import os
import re

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def flag(name: str, default: bool) -> bool:
    """Whether a variable is 1 rather than 0.

    Raises:
        ValueError: it is set to anything else.
    """
    text = os.environ.get(name) or str(int(default))
    if text not in ("0", "1"):
        raise ValueError(f"{name}={text}: expected 1 for yes or 0 for no, for instance {name}=1")
    return text == "1"


def whole(name: str, default: int, most: int) -> int:
    """A number from 1 on.

    Raises:
        ValueError: the variable is set to something else.
    """
    text = os.environ.get(name) or str(default)
    if not re.fullmatch("[0-9]{1,18}", text) or not 1 <= int(text) <= most:
        raise ValueError(
            f"{name}={text}: expected a whole number from 1 to {most} in decimal digits, for instance {name}=2"
        )
    return int(text)


def size(name: str, default: str) -> int:
    """A number of bytes: "500M", "2G".

    Raises:
        ValueError: the variable is set to something else.
    """
    text = os.environ.get(name) or default
    found = re.fullmatch(r"([0-9]+)([KMG]?)", text, re.IGNORECASE)
    if found is None:
        raise ValueError(
            f"{name}={text}: expected a number of bytes, with K, M or G behind it or not, for instance {name}=2G"
        )
    return int(found[1]) * _UNITS[found[2].upper()]
