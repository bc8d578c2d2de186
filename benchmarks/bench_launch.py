"""Host time of a kernel launch from PyTorch, by all launchers that are installed, as ratios to a C loop.

    python benchmarks/bench_launch.py [--quick] [--json FILE] [--plot FILE] [--baseline FILE] [--upstream FILE]

The floor is a C loop over cuLaunchKernel with everything prepared, in the faster of its two forms. In 8 threads, all
launch the same kernel on the same stream at once, and a launch's time is the time from the first thread's begin to the
last one's end, divided by all launches: the floor there is 8 threads of C++, the others run in Python's threads.

Method: each launcher's result is checked once. Then rounds run a batch of each launcher, in a new order every round,
garbage collection off, with the GPU idle before each batch and too few launches in it to fill the driver's queue. The
rounds are divided into groups; a figure is the median over the groups of the ratio of minima: noise only adds time, so
that the minimum of a group is what a launch costs undisturbed, and the median guards against one lucky minimum and
against clocks that drift. The table has the range over the groups as well.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import measured_on
import torch
from launchers import build, floor, ours, peers, report, tvm_ffi_peer, upstream
from launchers.cases import CASES, Case, Launch
from launchers.measure import BATCH, GROUPS, Launcher, measure, summarize

Provider = Callable[[Launch], Iterator[Launcher]]
PROVIDERS: dict[str, Provider] = {
    **floor.PROVIDERS,
    **ours.PROVIDERS,
    **upstream.PROVIDERS,
    **tvm_ffi_peer.PROVIDERS,
    **peers.PROVIDERS,
}
ROUNDS = {True: GROUPS, False: 10 * GROUPS}  # by whether it shall be quick


def reason(error: Exception) -> str:
    """An error on one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"


def progress(text: str) -> None:
    """Say what goes on, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def ready_launchers(launch: Launch, names: Sequence[str], results: report.Report) -> list[Launcher]:
    """The launchers of the named providers that compute what they should; the others are noted in the results."""
    ready = []
    for name in names:
        progress(f"{launch.case.name}: preparing {name}")
        try:
            for launcher in PROVIDERS[name](launch):
                launch.check(partial(launcher.timer, 1, 1))
                ready.append(launcher)
        except Exception as error:
            results.missing.append(report.Missing(name, launch.case.name, reason(error)))
            progress(f"  not measured: {reason(error)}")
    return ready


def measure_case(
    case: Case, names: Sequence[str], threads: Sequence[int], rounds: int, folder: Path, results: report.Report
) -> None:
    """Add a case's rows to the results."""
    launch = Launch(case, build.cubin(case.cuda_source(), build.architecture(), folder), folder)
    launchers = ready_launchers(launch, names, results)
    groups = {launcher.name: launcher for launcher in launchers}
    for count in threads:
        setting = report.Setting(case.name, len(case.parameters), count)
        progress(f"{setting}: measuring {len(launchers)} launchers, {rounds} rounds")

        def failed(launcher: Launcher, error: Exception, setting: report.Setting = setting) -> None:
            results.missing.append(report.Missing(launcher.name, str(setting), reason(error)))

        samples = measure(launchers, count, rounds, torch.cuda.synchronize, failed)
        for name, figures in summarize(samples, floor.FORMS).items():
            launcher = groups[name]
            results.rows.append(report.Row(setting, name, launcher.group, target=launcher.target, **asdict(figures)))
    results.set_targets(upstream.RIVALS)


def options_of(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: less exact")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there (PNG)")
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing, show an earlier run's JSON")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="compare with an earlier run's JSON")
    parser.add_argument(
        "--upstream", type=Path, metavar="FILE", help="wave-lang's wave_runtime*.so, where wave-lang is not installed"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 8], metavar="N", help="default: 1 8")
    parser.add_argument(
        "--case", choices=[case.name for case in CASES], nargs="+", default=[case.name for case in CASES]
    )
    parser.add_argument("--only", choices=list(PROVIDERS), nargs="+", help="measure these, and the floor")
    parser.add_argument("--without", choices=list(PROVIDERS), nargs="+", default=[], help="leave these out")
    return parser.parse_args(words)


def run(options: argparse.Namespace) -> report.Report:
    """Measure what the options say."""
    if options.upstream:
        os.environ[upstream.PATH_VARIABLE] = str(options.upstream.resolve())
    faulthandler.enable()
    gc.disable()
    torch.manual_seed(0)
    names = [
        name
        for name in PROVIDERS
        if name in floor.PROVIDERS or (name not in options.without and (not options.only or name in options.only))
    ]
    rounds = ROUNDS[options.quick]
    results = report.Report(measured_on.describe(), {"rounds": rounds, "groups": GROUPS, "batch": BATCH})
    with tempfile.TemporaryDirectory(prefix="bench_launch.") as folder:
        for case in CASES:
            if case.name in options.case:
                measure_case(case, names, options.threads, rounds, Path(folder), results)
                # A later case that brings the process down leaves this one's figures.
                if options.json:
                    options.json.write_text(results.to_json())
    return results


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the files."""
    options = options_of(words)
    baseline = report.Report.from_json(options.baseline.read_text()) if options.baseline else None
    if options.show:
        results = report.Report.from_json(options.show.read_text())
    elif torch.cuda.is_available() and not torch.version.hip:
        results = run(options)
    else:
        print("bench_launch.py needs an NVIDIA GPU and a torch built for CUDA; nothing was measured")
        return 0
    print(report.table(results, baseline))
    if options.plot:
        try:
            report.draw(results, options.plot)
        except ImportError:
            print("There is no picture: matplotlib is not installed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
