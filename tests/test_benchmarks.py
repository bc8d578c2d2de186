"""The benchmark of launches: its method, its report, and those parts that need no GPU."""

from __future__ import annotations

import itertools
import random
import sys
import threading
from dataclasses import replace
from pathlib import Path

import bench_launch
import gemm_cdna
import gemm_wave
import pytest
import torch
import warm_python
from launchers import floor, ours, report, upstream
from launchers.cases import CASES
from launchers.measure import BATCH, GROUPS, Launcher, divided, measure, python_timer, summarize, warm_up
from requirements import does_not_apply
from support import EXAMPLES, ROOT

import wave_runtime

SETTINGS = [
    report.Setting(case.name, len(case.parameters), threads) for case, threads in itertools.product(CASES, (1, 8))
]


def results(ratio: float) -> report.Report:
    rows = [
        row
        for setting in SETTINGS
        for row in (
            report.Row(setting, "C loop", "floor", 2.5, 1.0, 1.0, 1.01),
            report.Row(setting, "kernel(...)", "ours", 2.5 * ratio, ratio, ratio - 0.02, ratio + 0.02, target=1.1),
            report.Row(setting, "another", "peer", 9.0, 3.6, 3.5, 3.7),
        )
    ]
    missing = [report.Missing("absent", case.name, "ModuleNotFoundError: No module named 'absent'") for case in CASES]
    machine = {"gpu": "a GPU", "cpu": "a processor", "torch": "2.0", "driver": "1.0"}
    return report.Report(machine, {"rounds": 70}, rows, missing)


def test_a_ratio_is_the_median_over_groups_of_the_ratios_of_minima() -> None:
    generator = random.Random(0)
    # The clock drifts by a factor of two over the run, and each group has but one round without noise.
    drift = [1 + group / GROUPS for group in range(GROUPS)]

    def noisy(base: float) -> list[float]:
        values = []
        for factor in drift:
            rounds = [base * factor * generator.uniform(1.1, 3) for _ in range(9)] + [base * factor]
            generator.shuffle(rounds)
            values += rounds
        return values

    samples = {"floor, slow": noisy(3e-6), "floor, fast": noisy(2e-6), "other": noisy(2.2e-6)}
    samples["other"][0] = 1e-9  # a lucky one
    figures = summarize(samples, ["floor, slow", "floor, fast"])
    assert figures["floor, fast"].ratio == pytest.approx(1)
    assert figures["floor, slow"].ratio == pytest.approx(1.5)
    assert figures["other"].ratio == pytest.approx(1.1)
    assert figures["other"].low < 0.01
    assert figures["other"].high == pytest.approx(1.1)
    assert figures["floor, fast"].microseconds == pytest.approx(2 * drift[GROUPS // 2])


def test_without_a_floor_there_is_no_ratio() -> None:
    with pytest.raises(ValueError, match="the floor was not measured"):
        summarize({"other": [1.0]}, ["floor"])


@pytest.mark.parametrize("count", [1, GROUPS - 1, GROUPS, GROUPS + 1, 10 * GROUPS])
def test_groups_hold_every_round_once(count: int) -> None:
    groups = divided(list(range(count)))
    assert [value for group in groups for value in group] == list(range(count))
    assert len(groups) == min(count, GROUPS)
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


@pytest.mark.parametrize("threads", [1, 4])
def test_a_statement_runs_as_often_as_asked_on_each_thread(threads: int) -> None:
    calls: list[int] = []
    timer = python_timer("note(get_ident())", {"note": calls.append, "get_ident": threading.get_ident})
    assert timer(30, threads) > 0
    assert len(set(calls)) == threads
    assert [calls.count(thread) for thread in set(calls)] == [30 + warm_up(30)] * threads


@pytest.mark.parametrize("threads", [1, 4])
def test_what_a_statement_raises_arrives(threads: int) -> None:
    turns = itertools.count()
    timer = python_timer("1 // (next(turns) != 3)", {"turns": turns})
    with pytest.raises(ZeroDivisionError):
        timer(30, threads)


def test_a_round_runs_every_launcher_and_leaves_out_what_fails() -> None:
    order: list[str] = []
    launches: list[int] = []

    def launcher(name: str, size: int = 1) -> Launcher:
        def timer(calls: int, threads: int) -> float:
            order.append(name)
            launches.append(calls * size * threads)
            if name == "broken" and order.count(name) > 3:
                raise RuntimeError("no more")
            return calls * size * threads * 1e-6

        return Launcher(name, "peer", timer, launches=size)

    failures: list[str] = []
    names = ["a", "b", "broken", "sequence"]
    launchers = [launcher(name, 16 if name == "sequence" else 1) for name in names]
    samples = measure(launchers, 2, 20, lambda: None, lambda failed, error: failures.append(f"{failed.name}: {error}"))
    assert failures == ["broken: no more"]
    assert {name: len(values) for name, values in samples.items()} == {"a": 20, "b": 20, "sequence": 20}
    assert all(value == pytest.approx(1e-6) for values in samples.values() for value in values)
    assert max(launches) <= BATCH
    assert len({tuple(order[i : i + 4]) for i in range(0, 12, 4)}) > 1


def test_json_keeps_everything() -> None:
    assert report.Report.from_json(results(1.05).to_json()) == results(1.05)


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": 0}'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected results of bench_launch\.py"):
        report.Report.from_json(text)


def test_table() -> None:
    text = report.table(results(1.15), baseline=results(1.05))
    assert text.startswith("gpu a GPU, cpu a processor, torch 2.0, driver 1.0\nbaseline: gpu a GPU")
    assert text.count("kernel(...)") == len(SETTINGS)
    row = next(line for line in text.splitlines() if line.startswith("kernel(...)"))
    assert row.split() == ["kernel(...)", "2.88", "1.15", "1.13-1.17", "1.05", "<=", "1.10", "MISSED"]
    assert "blend, 12 arguments, 8 threads" in text
    assert text.endswith("not measured: absent (vector_add; blend): ModuleNotFoundError: No module named 'absent'")
    assert "<= 1.10 met" in report.table(results(1.05))


def test_picture(tmp_path: Path) -> None:
    report.draw(results(1.05), tmp_path / "bench.png")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_an_earlier_run_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, ratio in (("now.json", 1.15), ("then.json", 1.05)):
        (tmp_path / name).write_text(results(ratio).to_json())
    files = ["--show", "now.json", "--baseline", "then.json", "--plot", "plot.png"]
    assert bench_launch.main([word if word.startswith("--") else str(tmp_path / word) for word in files]) == 0
    assert capsys.readouterr().out == report.table(results(1.15), results(1.05)) + "\n"
    assert (tmp_path / "plot.png").exists()


@pytest.mark.parametrize("words", [["--only", "nobody"], ["--threads", "many"], ["--case", "none"]])
def test_options_are_checked(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench_launch.options_of(words)


@pytest.fixture
def no_gpu() -> None:
    if torch.cuda.is_available():
        does_not_apply("there is a GPU")


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("script", ["bench_launch.py", "bench_modules.py"])
def test_without_a_gpu(script: str) -> None:
    done = warm_python.run(ROOT / "benchmarks" / script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{script} needs an NVIDIA GPU and a torch built for CUDA; nothing was measured\n"


@pytest.mark.usefixtures("no_gpu")
def test_the_floor_says_that_the_driver_is_missing() -> None:
    message = floor.library().floor_load(b"", b"kernel", None)
    assert b"libcuda.so.1" in message


@pytest.mark.parametrize("threads", [1, 3])
def test_the_loop_in_cpp_launches_as_often_as_asked(threads: int) -> None:
    ours.load_dispatcher_loop()
    signature = {"histogram": "*u8 const, *i32, i32"}
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["histogram"]
    values, counts = torch.tensor([7], dtype=torch.uint8), torch.zeros(256, dtype=torch.int32)
    lists = ([values], [counts], [1], [], (1, 1, 1), (256, 1, 1))
    assert torch.ops.wave_benchmark.seconds_of_operator(kernel.handle, *lists, 20, 5, threads) > 0
    assert counts[7] == counts.sum() == 25 * threads
    with pytest.raises(ValueError, match="takes 1 inputs"):
        torch.ops.wave_benchmark.seconds_of_operator(kernel.handle, [], *lists[1:], 20, 5, threads)


def test_targets_that_others_set() -> None:
    """In each setting that of its own; a target stays where the other one was not measured."""
    found = results(1.2)
    found.rows[:] = [replace(row, ratio=row.setting.threads * row.ratio) for row in found.rows]
    found.set_targets({"kernel(...)": "another", "another": "absent", "C loop": "kernel(...)"})
    for setting in found.settings():
        rows = {row.launcher: row for row in found.rows_of(setting)}
        assert rows["kernel(...)"].target == rows["another"].ratio == 3.6 * setting.threads
        assert rows["C loop"].verdict == f"<= {1.2 * setting.threads:.2f} met"
        assert rows["another"].target is None
    names = {f"{label}, {way}" for label in (upstream.OURS, upstream.UPSTREAMS) for way in upstream.WAYS}
    assert {*upstream.RIVALS, *upstream.RIVALS.values()} == names


@pytest.mark.needs("wave-lang")
def test_upstreams_module_stands_beside_ours() -> None:
    module = upstream.load_extension(upstream.extension_path())
    assert sys.modules["wave_runtime"] is wave_runtime
    assert module is not wave_runtime
    assert {"launch", "load_binary", "load_hip_functions"} <= set(dir(module))


def test_a_model_of_launches(tmp_path: Path) -> None:
    figures, picture = tmp_path / "model.json", tmp_path / "model.png"
    words = ["--layers=2", "--quick", f"--json={figures}", f"--plot={picture}", "--only", "kernel(...)", "define_op"]
    done = warm_python.run(ROOT / "benchmarks" / "bench_model.py", *words)
    assert done.returncode == 0, done.stderr
    results = report.Report.from_json(figures.read_text())
    assert results.missing == []
    measured = {row.launcher for row in results.rows}
    assert {"eager: kernel(...)", "torch.compile: kernel(...)", "eager: define_op, decorated"} <= measured
    ratios = {row.launcher: row.ratio for row in results.rows}
    targets = {row.launcher: row.target for row in results.rows if row.target is not None}
    assert targets == {
        f"torch.compile: {name}": ratios[f"eager: {name}"]
        for name in ("kernel(...)", "define_op, decorated", "define_op, declared")
    }
    assert picture.stat().st_size > 10_000


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("example", [*gemm_cdna.EXAMPLES, *gemm_wave.EXAMPLES], ids=lambda example: example.name)
def test_the_emulators_matrix_products(example: gemm_cdna.Example) -> None:
    example.check(*example.sizes[0])
