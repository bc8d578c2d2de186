"""Tests that find an AMD GPU, which is emulated: ``pytest -p wave_runtime.pytest --wave-emulate=gfx942``."""

from __future__ import annotations

import pytest

import wave_runtime


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--wave-emulate``."""
    parser.addoption("--wave-emulate", metavar="TARGET", help="emulate a GPU with this processor: gfx942, ...")


def pytest_configure(config: pytest.Config) -> None:
    """Emulate before tests are collected, until all have run. Raises UsageError for a wrong processor."""
    target = config.getoption("--wave-emulate")
    if target is None:
        return
    try:
        emulation = wave_runtime.emulate(target)
    except ValueError as error:
        raise pytest.UsageError(f"--wave-emulate: {error}") from None
    config.add_cleanup(emulation.stop)
