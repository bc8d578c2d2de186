"""Raises ImportError where the libraries were built for another release of torch, with which they could crash."""

from __future__ import annotations

import torch


def release(version: str) -> str:
    """The part of a version that names a release with one binary interface: "2.13"."""
    return ".".join(version.split(".")[:2])


def check() -> None:
    """Raise ImportError unless the torch that is installed is of the release that setup.py built the libraries for."""
    try:
        from wave_runtime import _built_for
    except ImportError:
        raise ImportError(
            "wave_runtime is not built here: run `make build` in its sources, or install it by "
            "`pip install --no-build-isolation .`"
        ) from None
    built, here = _built_for.TORCH, str(torch.__version__)
    if release(built) != release(here):
        raise ImportError(
            f"wave_runtime was built for torch {built}, and torch {here} is installed here: build it again, by "
            "`pip install --no-build-isolation --no-deps --force-reinstall .` (or `make build`) in its sources, or "
            f"install torch=={release(built)}.*"
        )


check()
