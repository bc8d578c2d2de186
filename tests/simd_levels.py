"""Tests that run once more at each level of the host's vector instructions, of which a process uses one."""

from __future__ import annotations

import functools
import os

import warm_python
from requirements import does_not_apply

LEVELS = ("avx512", "avx2", "portable")  # the best first, which is taken where WAVE_RUNTIME_SIMD names none
LACKS = "this processor lacks it"


def run_again(level: str, *arguments: object) -> None:
    """Run pytest with these arguments at a level, but at that at which the tests run as they are."""
    if level == own_level():
        does_not_apply(f"{level} is the level at which the tests themselves run here")
    done = warm_python.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, env=at(level))
    if LACKS in done.stdout:
        does_not_apply(f"this processor lacks {level}")
    assert done.returncode == 0, done.stdout


def at(level: str) -> dict[str, str]:
    """The environment of a process that uses a level."""
    return {**os.environ, "WAVE_RUNTIME_SIMD": level}


@functools.cache
def own_level() -> str:
    """That of this process, and of those that name none."""
    use = "import wave_runtime; wave_runtime._C.implemented_instructions('gfx942')"
    own = os.environ.get("WAVE_RUNTIME_SIMD")
    return own or next(level for level in LEVELS if LACKS not in warm_python.run("-c", use, env=at(level)).stderr)
