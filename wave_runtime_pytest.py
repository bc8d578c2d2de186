"""What pytest finds of an installed wave_runtime: its options, which cost nothing until one is given.

The plugin itself, ``wave_runtime.pytest``, imports torch. This module lies outside the package for that reason.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = "wave_runtime"
PLUGIN = f"{PACKAGE}.pytest"


def add_options(parser: pytest.Parser) -> None:
    """Add the options that are useful in any suite. Those of ``wave_runtime.pytest`` are more."""
    parser.addoption(
        "--wave-sanitize",
        metavar="TOOLS",
        nargs="?",
        const="all",
        help="fail tests whose kernels make mistakes: --wave-sanitize=memory,races, or with nothing behind it all",
    )
    parser.addoption("--wave-suppressions", metavar="FILE", type=Path, help="lines KIND [KERNEL [PLACE]] of known ones")
    parser.addoption(
        "--wave-emulate",
        metavar="TARGET",
        nargs="?",
        const="gfx942",
        help="emulate a GPU with this processor: --wave-emulate=gfx90a, or with nothing behind it gfx942",
    )
    parser.addoption("--wave-inductor", action="store_true", help="and torch.compile makes Triton kernels for it")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options, unless ``-p wave_runtime.pytest`` has."""
    if not pluginmanager.has_plugin(PLUGIN):
        add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Load the plugin where an option asks for it. Raises what the plugin raises for a wrong one."""
    options, plugins = early_config.known_args_namespace, early_config.pluginmanager
    is_asked_for = options.wave_sanitize is not None or options.wave_emulate is not None or options.wave_inductor
    if is_asked_for and not plugins.has_plugin(PLUGIN):
        plugin = _import_plugin()
        plugins.register(plugin, PLUGIN)
        plugin.pytest_load_initial_conftests(early_config, parser, args)


def _import_plugin() -> ModuleType:
    """The plugin. Raises UsageError where another module has the package's name, as one of wave-lang's wheel has."""
    try:
        return import_module(PLUGIN)
    except ModuleNotFoundError as error:
        found = sys.modules.get(PACKAGE)
        if error.name != PLUGIN or found is None:
            raise
        raise pytest.UsageError(
            f"{PACKAGE} is the module {found.__file__} here, not the package with these options: wave-lang installs "
            "such a module; put the package's folder before the module's on sys.path (PYTHONPATH)"
        ) from error
