"""``python -m wave_runtime run``: launches from the command line, traces, statistics, and dumps made again."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from support import EXAMPLES, PROBES, LoadKernel

import wave_runtime
from wave_runtime import _C, _run
from wave_runtime.__main__ import main
from wave_runtime._signature import parse

BASICS = str(EXAMPLES / "binaries" / "basics.hsaco")
VECTOR_ADD = ["run", BASICS, "vector_add", "--signature", "a: *f32 const, b: *f32 const, c: *f32, n: i32"]


def vector_add(*options: str, n: int = 300) -> list[str]:
    sizes = [f"--arg={value}" for value in (f"iota:{n}", f"ones:{n}", f"zeros:{n}", str(n))]
    return [*VECTOR_ADD, "--grid", str(-(-n // 256)), "--block", "256", *sizes, *options]


def test_results_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(vector_add(n=6)) == 0
    assert capsys.readouterr().out == "c: tensor([1., 2., 3., 4., 5., 6.])\n"


def test_tensors_from_files_and_to_files(tmp_path: Path) -> None:
    a, b = torch.randn(100), np.random.default_rng(0).standard_normal(100, dtype=np.float32)
    torch.save(a, tmp_path / "a.pt")
    np.save(tmp_path / "b.npy", b)
    files = [f"--arg={tmp_path}/a.pt", f"--arg={tmp_path}/b.npy", "--arg=zeros:100", "--arg=100"]
    for name in ("c.npy", "c.pt"):
        assert main([*VECTOR_ADD, "--grid=1", "--block=256", *files, f"--save=c={tmp_path}/{name}"]) == 0
    assert np.array_equal(np.load(tmp_path / "c.npy"), a.numpy() + b)
    assert torch.equal(torch.load(tmp_path / "c.pt"), a + torch.from_numpy(b))


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        ("3", "i32", 3),
        ("0x10", "u32", 16),
        ("-2.5", "f32", -2.5),
        ("true", "bool", True),
        ("zeros:2,3", "*f16 const", torch.zeros(2, 3, dtype=torch.float16)),
        ("iota:i8:4", "*", torch.tensor([0, 1, 2, 3], dtype=torch.int8)),
        ("ones:f8e5m2:2", "*void", torch.ones(2).to(torch.float8_e5m2)),
    ],
)
def test_arguments(text: str, type: str, expected: object) -> None:
    found = _run.parse_argument(text, parse(f"x: {type}")[0])
    if isinstance(expected, torch.Tensor):
        assert found.dtype == expected.dtype
        assert torch.equal(found.float(), expected.float())
    else:
        assert found == expected


def test_random_arguments_depend_on_the_seed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for seed in ("1", "1", "2"):
        command = [
            *VECTOR_ADD,
            "--grid=1",
            "--block=256",
            "--arg=random:8",
            "--arg=zeros:8",
            "--arg=zeros:8",
            "--arg=8",
        ]
        assert main([*command, "--seed", seed]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--arg=1"], "takes 4 arguments (a: *f32 const, b: *f32 const, c: *f32, n: i32), given 1"),
        (["--arg=zeros:x", "--arg=1", "--arg=1", "--arg=1"], "argument a: 'x' is no shape such as 64,128"),
        (["--arg=zero:4", "--arg=1", "--arg=1", "--arg=1"], "'zero:4' is no number, no .npy or .pt file"),
        (["--arg=none.npy", "--arg=1", "--arg=1", "--arg=1"], "none.npy"),
        (
            ["--arg=ones:f4e2m1fn_x2:4", "--arg=1", "--arg=1", "--arg=1"],
            "argument a: torch makes no torch.float4_e2m1fn_x2",
        ),
        (["--arg=1"] * 4, "expected a tensor (*f32 const)"),
        (["--arg=zeros:8"] * 3 + ["--arg=8", "--save=a=a.pt"], "--save a: the kernel writes c"),
    ],
)
def test_errors(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*VECTOR_ADD, "--grid=1", "--block=256", *options]) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", BASICS, "vector_sub", "--grid=1"]) == 2
    assert "no kernel 'vector_sub' in the code object; its kernels are" in capsys.readouterr().err


def test_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 300 elements in two workgroups of four waves."""
    assert main(vector_add("--stats")) == 0
    text = capsys.readouterr().out
    assert " of 8 waves in 2 workgroups" in text
    assert f"{300 * 4:14,}  bytes global stored" in text
    assert "%  vector ALU" in text
    assert "  s_endpgm" not in text


def test_statistics_of_matrices_and_lds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of 256 by 256 by 256; each wave reads LDS without conflicts where rows are padded."""
    from catalog import CATALOG

    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    example = next(item for item in CATALOG if item.name == "gemm_f16_16x16x16_256x256x256")
    example.run(*example.inputs(256, 256, 256))
    statistics = _C.emulator_statistics()
    assert statistics["matrix_operations"] == 2 * 256**3
    assert sum(statistics["kinds"].values()) == sum(statistics["names"].values()) == statistics["instructions"]
    assert statistics["bytes"]["global stored"] == 256 * 256 * 4
    assert 0 <= statistics["lds_conflict_cycles"] < statistics["lds_cycles"]


def test_without_statistics_there_are_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAVE_RUNTIME_STATS", raising=False)
    main(vector_add())
    assert set(_C.emulator_statistics()) == {"instructions", "waves", "workgroups"}


def test_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    assert main(vector_add("--trace", str(file), "--trace-only", "1.0")) == 0
    lines = file.read_text().splitlines()
    assert all(line.startswith("(1, 0, 0) wave 0  vector_add") for line in lines)
    assert lines[0].split("  ")[1] == "vector_add+0x0"
    assert lines[-1].endswith("s_endpgm")
    assert any("v_add_f32" in line and line.endswith(" in lane 0") for line in lines)


def test_trace_of_a_fault_ends_with_its_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(tmp_path / "trace"))
    kernel = wave_runtime.load(PROBES / "probes.hsaco", signature={"jump_to": "u64, *i32, i32, i32"})["jump_to"]
    with pytest.raises(wave_runtime.KernelFault):
        kernel(0, torch.zeros(4, dtype=torch.int32), 0, 0, grid=1, block=64)
    assert (tmp_path / "trace").read_text().endswith("s_setpc_b64 s[4:5]\n")


def test_a_trace_is_written_behind_what_its_file_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: LoadKernel
) -> None:
    (tmp_path / "trace").write_text("before\n")
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(tmp_path / "trace"))
    given, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    texts = []
    for _ in range(2):
        language("call_function", "*i32 const, *i32")(given, out, grid=1, block=64)
        texts.append((tmp_path / "trace").read_text())
    assert texts[0].startswith("before\n(0, 0, 0) wave 0")
    assert texts[1] == texts[0] + texts[0].removeprefix("before\n")


def test_trace_of_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: LoadKernel) -> None:
    """Calls and returns, after which the wave is in another function."""
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(tmp_path / "trace"))
    given, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    language("call_function", "*i32 const, *i32")(given, out, grid=1, block=64)
    lines = (tmp_path / "trace").read_text().splitlines()
    (call,) = (i for i, line in enumerate(lines) if "s_swappc_b64" in line)
    (back,) = (i for i, line in enumerate(lines) if "s_setpc_b64" in line)
    assert re.search(r"  # s\d+ = 0x[0-9a-f]{16}$", lines[call])  # where to return to
    assert call < back < len(lines) - 1
    assert torch.equal(out, torch.where(given % 2 == 1, 3 * given + 1, given // 2))


def test_check_takes_both_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(vector_add("--check=races, hazards", n=2)) == 0
    capsys.readouterr()
    assert main(vector_add("--check=leaks")) == 2
    assert "expected hazards, races or hazards,races" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert "--check hazards,races " in " ".join(capsys.readouterr().out.split()) + " "


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("WAVE_RUNTIME_CHECK", "leaks", "expected hazards, races or hazards,races"),
        ("WAVE_RUNTIME_TRACE", "/nowhere/trace", "WAVE_RUNTIME_TRACE=/nowhere/trace: cannot open it: No such file"),
        ("WAVE_RUNTIME_TRACE", "/", "WAVE_RUNTIME_TRACE=/: cannot open it: Is a directory"),
        ("WAVE_RUNTIME_TRACE", "/dev/full", "WAVE_RUNTIME_TRACE=/dev/full: cannot write it: No space left on device"),
    ],
)
def test_bad_variables(
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(vector_add()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("workgroups", [4, 40])  # less than a buffer holds, and more
def test_a_trace_that_cannot_be_written(workgroups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch fails, and the error says which one, and what could not be written."""
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", "/dev/full")
    kernel = wave_runtime.load(BASICS, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    elements = 256 * workgroups
    a, c = torch.ones(elements), torch.zeros(elements)
    with pytest.raises(RuntimeError, match="/dev/full: cannot write it: No space left on device") as caught:
        kernel(a, a, c, elements, grid=workgroups, block=256)
    assert "kernel 'vector_add' on cpu" in str(caught.value)


def test_a_fault_whose_trace_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", "/dev/full")
    kernel = wave_runtime.load(BASICS, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    a = torch.ones(64)
    with pytest.raises(wave_runtime.KernelFault, match="out of bounds") as caught:
        kernel(a, a, a[:8].clone(), 64, grid=1, block=64)
    assert "WAVE_RUNTIME_TRACE=/dev/full: cannot write it: No space left on device" in str(caught.value)


def test_a_trace_whose_reader_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(fifo))

    def read_a_little() -> None:
        with open(fifo, "rb") as file:
            file.read(100)

    reader = threading.Thread(target=read_a_little)
    reader.start()
    kernel = wave_runtime.load(BASICS, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    a, c = torch.ones(25600), torch.zeros(25600)
    with pytest.raises(RuntimeError, match=f"WAVE_RUNTIME_TRACE={fifo}: cannot write it: Broken pipe"):
        kernel(a, a, c, 25600, grid=100, block=256)
    reader.join()


def test_a_dump_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is raised all the same."""
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("WAVE_RUNTIME_DUMP", str(file))
    kernel = wave_runtime.load(BASICS, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    a = torch.ones(64)
    with pytest.raises(wave_runtime.KernelFault, match="out of bounds") as caught:
        kernel(a, a, a[:8].clone(), 64, grid=1, block=64)
    assert re.search(
        rf"  not written: WAVE_RUNTIME_DUMP={file}/vector_add-\d+-\d+: cannot make it: ", str(caught.value)
    )


@pytest.mark.parametrize("suffix", [".npy", ".pt"])
def test_results_that_cannot_be_saved(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = tmp_path / f"full{suffix}"
    full.symlink_to("/dev/full")
    assert main(vector_add("--save", f"c={full}")) == 2
    assert f"cannot write {full}: No space left on device" in capsys.readouterr().err


def test_a_failed_launch_is_dumped_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where tensors share a storage, of which they are parts."""
    monkeypatch.setenv("WAVE_RUNTIME_DUMP", str(tmp_path))
    signature = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
    kernel = wave_runtime.load(BASICS, signature=signature)["vector_add"]
    storage = torch.randn(4096)
    c = torch.zeros(500)
    with pytest.raises(wave_runtime.KernelFault) as caught:
        kernel(storage[1024:2048], storage[2048:3072], c, 1000, grid=4, block=256)
    (folder,) = tmp_path.iterdir()
    assert f"written to {folder}, for `python -m wave_runtime run`" in str(caught.value)
    monkeypatch.delenv("WAVE_RUNTIME_DUMP")
    assert main(["run", str(folder)]) == 1
    again = capsys.readouterr().err
    first = str(caught.value).splitlines()
    assert first[0] in again
    assert first[1] in again
    assert json.loads((folder / "launch.json").read_text())["fault"] in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--grid=a"], "argument --grid: expected X[,Y,Z], given 'a'"),
        (["--save=c"], "argument --save: expected NAME=FILE, given 'c'"),
    ],
)
def test_options_are_explained(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*VECTOR_ADD, *options])
    assert message in capsys.readouterr().err


def test_no_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(vector_add("--device=cuda")) == 2
    assert "torch finds no GPU here" in capsys.readouterr().err


def test_a_dump_has_the_memory_before_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The launch goes on until a limit; made again without it, it ends and prints its results."""
    monkeypatch.setenv("WAVE_RUNTIME_DUMP", str(tmp_path))
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", "5")
    signature = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
    kernel = wave_runtime.load(BASICS, signature=signature)["vector_add"]
    with pytest.raises(wave_runtime.KernelFault):
        kernel(torch.arange(3.0), torch.ones(3), torch.full((3,), -1.0), 3, grid=1, block=256)
    monkeypatch.delenv("WAVE_RUNTIME_MAX_INSTRUCTIONS")
    (folder,) = tmp_path.iterdir()
    assert main(["run", str(folder), f"--save=c={tmp_path}/c.pt"]) == 0
    assert "c: tensor([1., 2., 3.])" in capsys.readouterr().out
    assert torch.load(tmp_path / "c.pt").tolist() == [1, 2, 3]
    assert main(["run", str(folder), "--grid=2"]) == 2
    assert "a dumped launch has its own kernel, grid" in capsys.readouterr().err
