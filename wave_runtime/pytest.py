"""Tests that find an AMD GPU, which is emulated: ``pytest --wave-emulate=gfx942``.

``--wave-sanitize`` fails a test whose kernels make mistakes (docs/sanitize.md). pytest finds the options where the
package is installed; in a tree that is built in place ``-p wave_runtime.pytest`` names this plugin.

Besides, it counts launches, and runs a part of a suite of others, whose known failures a file lists.
"""

from __future__ import annotations

import copy
import itertools
import random
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

import wave_runtime
import wave_runtime_pytest
from wave_runtime._sanitize import known_tools


class Launches:
    """Counts launches and the tests that made them."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.tests: dict[str, int] = {}
        self._begin = 0.0

    def enter(self, event: wave_runtime.hooks.LaunchEvent) -> None:
        """A launch begins."""
        self.count += 1
        self._begin = time.perf_counter()

    def exit(self, event: wave_runtime.hooks.LaunchEvent) -> None:
        """It has ended well."""
        self.seconds += time.perf_counter() - self._begin

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Note whether the test launches."""
        before = self.count
        yield
        if self.count > before:
            self.tests[item.nodeid] = self.count - before

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many launches there were."""
        if not self.count:
            return
        outcomes = {
            name: sum(report.nodeid in self.tests for report in terminalreporter.getreports(name))
            for name in ("passed", "failed", "xfailed")
        }
        counts = ", ".join(f"{count} {name}" for name, count in outcomes.items() if count)
        terminalreporter.write_line(
            f"{len(self.tests)} tests launched kernels ({counts}): {self.count} launches, {self.seconds:.0f} s in them"
        )


class Sanitizer:
    """Fails tests in which launches show mistakes of kernels."""

    def __init__(self, tools: list[str], suppressions: Path | None) -> None:
        self._tools = tools
        self._suppressions = suppressions

    def _sanitized(self) -> Iterator[None]:
        with wave_runtime.sanitize(*self._tools, suppressions=self._suppressions) as report:
            outcome: Any = yield
        if outcome.excinfo is None and report.findings:
            outcome.force_exception(pytest.fail.Exception(str(report), pytrace=False))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Look at the launches of fixtures."""
        yield from self._sanitized()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Look at the test's own."""
        yield from self._sanitized()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options of this plugin, but those that an installed package's entry point has added."""
    if not pluginmanager.has_plugin("wave_runtime_pytest"):
        wave_runtime_pytest.add_options(parser)
    parser.addoption(
        "--known-failures",
        type=Path,
        help="a file with a line '<pattern of test ids>: <cause>' for each test that is expected to fail; "
        "one whose cause begins with 'sometimes' may pass",
    )
    parser.addoption("--sample", type=int, metavar="N", help="run so many tests, drawn at random, each time the same")
    parser.addoption(
        "--sample-each",
        type=int,
        metavar="N",
        help="run so many of each test function's cases that are not marked to be skipped, drawn at random, each time "
        "the same; with --sample that is drawn from these",
    )


def _give_paths_back(
    option: str, otherwise: str, is_value: Callable[[str], bool], config: pytest.Config, args: list[str]
) -> bool:
    """Have paths that an option with an optional value has taken be arguments of pytest's. Whether there are any.

    pytest has looked for its settings beside them before, when it did not know the option.
    """
    folder = config.invocation_params.dir
    taken = [
        index
        for index, (word, value) in enumerate(itertools.pairwise(args))
        if word == option and not is_value(value) and (folder / value.partition("::")[0]).exists()
    ]
    for index in taken:
        args[index] = f"{option}={otherwise}"
    return bool(taken)


def _are_tools(text: str) -> bool:
    try:
        return bool(known_tools(text.split(",")))
    except ValueError:
        return False


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Emulate before conftest.py files are loaded, until all tests have run.

    They may ask torch for a GPU; and Triton is to be imported before they put the folder of its sources on the path.

    Raises:
        UsageError: there is no such processor, or Inductor is to compile for it and Triton is missing.
    """
    given_back = _give_paths_back("--wave-sanitize", "all", _are_tools, early_config, args)
    given_back |= _give_paths_back("--wave-emulate", "gfx942", lambda text: text.startswith("gfx"), early_config, args)
    if given_back:
        early_config.known_args_namespace = parser.parse_known_args(args, namespace=copy.copy(early_config.option))
    options = early_config.known_args_namespace
    if options.wave_emulate is None:
        if options.wave_inductor:
            raise pytest.UsageError("--wave-inductor needs --wave-emulate=TARGET")
        return
    try:
        emulation = wave_runtime.emulate(options.wave_emulate, inductor=options.wave_inductor)
    except (ValueError, RuntimeError) as error:
        raise pytest.UsageError(f"--wave-emulate: {error}; the option is --wave-emulate=TARGET, with =") from None
    early_config.add_cleanup(emulation.stop)


def pytest_configure(config: pytest.Config) -> None:
    """Count launches, and look at them where that is asked for. Raises UsageError: there is no such tool, or file."""
    _configure_sanitizer(config)
    launches = Launches()
    hook = wave_runtime.hooks.launch_hook(enter=launches.enter, exit=launches.exit)
    config.add_cleanup(hook.remove)
    config.pluginmanager.register(launches, "wave_runtime_launches")


def _configure_sanitizer(config: pytest.Config) -> None:
    tools = config.getoption("--wave-sanitize")
    if tools is None:
        return
    sanitizer = tools.split(","), config.getoption("--wave-suppressions")
    try:
        wave_runtime.sanitize(*sanitizer[0], suppressions=sanitizer[1]).stop()
    except (ValueError, OSError) as error:
        raise pytest.UsageError(f"--wave-sanitize: {error}; the option is --wave-sanitize=TOOLS, with =") from None
    config.pluginmanager.register(Sanitizer(*sanitizer), "wave_runtime_sanitizer")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the sample from what -k and the like have left, and expect the known failures."""
    each: int | None = config.getoption("--sample-each")
    if each is not None:
        cases: dict[str, list[int]] = {}
        for index, item in enumerate(items):
            if not _is_skipped(item):
                cases.setdefault(item.nodeid.partition("[")[0], []).append(index)
        draw = random.Random(0)
        _keep(config, items, {index for case in cases.values() for index in draw.sample(case, min(each, len(case)))})
    count: int | None = config.getoption("--sample")
    if count is not None and count < len(items):
        _keep(config, items, set(random.Random(0).sample(range(len(items)), count)))
    path: Path | None = config.getoption("--known-failures")
    for line in [] if path is None else path.read_text().splitlines():
        pattern, _, cause = line.partition(": ")
        if not cause or line.startswith("#"):
            continue
        for item in items:
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=cause, strict=not cause.startswith("sometimes")))


def _keep(config: pytest.Config, items: list[pytest.Item], drawn: set[int]) -> None:
    config.hook.pytest_deselected(items=[item for index, item in enumerate(items) if index not in drawn])
    items[:] = [item for index, item in enumerate(items) if index in drawn]


def _is_skipped(item: pytest.Item) -> bool:
    """Whether a mark says that the test will not run, as far as that is known without evaluating texts."""
    conditions = [condition for mark in item.iter_markers("skipif") for condition in mark.args]
    return item.get_closest_marker("skip") is not None or any(condition is True for condition in conditions)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which processor is emulated."""
    target = config.getoption("--wave-emulate")
    return f"wave_runtime {wave_runtime.__version__}: a GPU with {target} is emulated" if target else None
