"""wave_runtime.emulate for other processes: those that begin within it, programs as they are, and suites of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT, first_or_long

import wave_runtime
from wave_runtime import _emulate

SHOW = """
import torch
print(torch.cuda.get_device_properties(0).gcnArchName, torch.cuda.device_count(), torch.ones(2, device="cuda").device)
"""


def run(code: str, *command: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [*command, sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_warm(code: str, **variables: str) -> str:
    done = warm_python.run("-c", code, env={**os.environ, "PYTHONPATH": str(ROOT)} | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_inherit_it() -> None:
    with wave_runtime.emulate("gfx1100", devices=2):
        environment = [*os.environ["PYTHONPATH"].split(os.pathsep), str(ROOT)]
        assert run(f"import wave_runtime\n{SHOW}") == "gfx1100 2 cpu\n"  # also without the folder on the path
        grandchild = (
            f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {SHOW!r}], text=True))"
        )
        assert "gfx1100 2 cpu" in run(grandchild, PYTHONPATH=os.pathsep.join(environment))


def test_optimizers_for_several_processes_are_imported() -> None:
    """torch.distributed.optim compiles the functions of optimizers with TorchScript, which reads their sources."""
    code = """
import wave_runtime
with wave_runtime.emulate("gfx942"):
    from torch.distributed.optim import ZeroRedundancyOptimizer
print(ZeroRedundancyOptimizer.__name__)
"""
    assert run_warm(code) == "ZeroRedundancyOptimizer\n"


def test_what_waits_says_that_a_kernel_of_hip_has_failed() -> None:
    """As on a GPU, for a program that has not asked what came of its launch."""
    code = """
import ctypes, torch, wave_emulator, wave_runtime

wave_runtime.emulate("gfx942")
hip = ctypes.CDLL(str(wave_emulator.library("wave_hip_emulator")))
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
hip.hipModuleLoad(ctypes.byref(module), b"examples/kernels/binaries/basics.hsaco")
hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"vector_add")
hip.hipMalloc(ctypes.byref(data), ctypes.c_size_t(16))
waits = (torch.cuda.synchronize, torch.cuda.current_stream().synchronize, torch.cuda.Event().synchronize)
for count in (4, 5):
    arguments = [data, data, data, ctypes.c_int(count)]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(argument) for argument in arguments))
    hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None)
    for wait in waits:
        try:
            wait()
            print("fine")
        except RuntimeError as error:
            print(error)
"""
    error = "HIP error: an illegal memory access was encountered: stderr has what an earlier kernel did"
    names = ("torch.cuda.synchronize", "Stream.synchronize", "Event.synchronize")
    assert run_warm(code).splitlines() == ["fine"] * 3 + [f"{name}: {error}" for name in names]


def test_programs_may_ask_for_torch_before(tmp_path: Path) -> None:
    variables = _emulate.environment("gfx1100")
    path = os.pathsep.join([variables.pop("PYTHONPATH").split(os.pathsep)[0], str(ROOT)])
    asked = "import importlib.util\nassert importlib.util.find_spec('torch')"
    assert run(f"{asked}\n{SHOW}", **variables, PYTHONPATH=path).startswith("gfx1100 1")


def test_a_hidden_sitecustomize_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.hidden = 'ran'\n")
    variables = _emulate.environment("gfx942")
    path = os.pathsep.join([variables.pop("PYTHONPATH").split(os.pathsep)[0], str(tmp_path), str(ROOT)])
    assert run(f"print(hidden)\n{SHOW}", **variables, PYTHONPATH=path).startswith("ran\ngfx942")


def test_the_release_of_hip_is_that_of_the_library() -> None:
    code = """
import ctypes, subprocess, sys
path = subprocess.check_output([sys.executable, "-m", "wave_emulator", "library"], text=True).strip()
version = ctypes.c_int()
assert ctypes.CDLL(path).hipRuntimeGetVersion(ctypes.byref(version)) == 0
major, rest = divmod(version.value, 10_000_000)
print(f"{major}.{rest // 100_000}.{rest % 100_000}", end="")
"""
    assert run(code) == _emulate._cuda.HIP


COMMAND = ("-m", "wave_runtime", "emulate")


def test_command() -> None:
    done = warm_python.run(*COMMAND, "--target", "gfx1201", "--devices", "2", "--", sys.executable, "-c", SHOW)
    assert done.stdout == "gfx1201 2 cpu\n", done.stderr
    done = warm_python.run(*COMMAND, "--target", "mi300", "--", "true")
    assert done.returncode == 2
    assert "target='mi300': the emulator has" in done.stderr


def test_command_takes_what_is_not_given_from_the_environment() -> None:
    for name in ("WAVE_RUNTIME_EMULATOR_PROCESSOR", "WAVE_RUNTIME_EMULATE"):
        given = {**os.environ, name: "gfx1201", "WAVE_RUNTIME_EMULATOR_DEVICES": "3"}
        shown = warm_python.run(*COMMAND, "--", sys.executable, "-c", SHOW, env=given)
        assert shown.stdout == "gfx1201 3 cpu\n", shown.stderr
    wrong = {**os.environ, "WAVE_RUNTIME_EMULATOR_DEVICES": "65"}
    done = warm_python.run(*COMMAND, "--", "true", env=wrong)
    assert done.returncode == 2
    assert "WAVE_RUNTIME_EMULATOR_DEVICES=65: expected a whole number from 1 to 64" in done.stderr


@pytest.mark.parametrize("upstream", first_or_long([True, False], 1))
def test_command_in_a_tree_that_nobody_has_installed(upstream: bool, tmp_path: Path) -> None:
    """The program's own folder is on its path, the tree is not; and upstream's module may be."""
    program = tmp_path / "program.py"
    program.write_text(f"{SHOW}import wave_runtime.hooks\nprint(wave_runtime.__file__)\n")
    if upstream:
        (tmp_path / "wave_runtime.py").write_text("raise AssertionError('not this one')\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *COMMAND, "--target", "gfx1201", "--", sys.executable, program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"gfx1201 1 cpu\n{wave_runtime.__file__}\n"


def test_pytest_option(tmp_path: Path) -> None:
    test = "import torch, conftest\ndef test(): assert conftest.had_gpu and torch.ones(2, device='cuda').is_cuda\n"
    (tmp_path / "test_it.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "wave_runtime.pytest"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def outcome(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )

    (tmp_path / "conftest.py").write_text("import torch\nhad_gpu = torch.cuda.is_available()\n")
    assert outcome("--wave-emulate=gfx1100").returncode == 0
    assert outcome().returncode == (0 if torch.cuda.is_available() else 1)
    wrong = warm_python.run(*command[1:], "--wave-emulate=mi300", cwd=tmp_path)
    assert wrong.returncode == 4
    assert "--wave-emulate: target='mi300'" in wrong.stderr
    alone = warm_python.run(*command[1:], "--wave-inductor", cwd=tmp_path)
    assert alone.returncode == 4
    assert "--wave-inductor needs --wave-emulate=TARGET" in alone.stderr


SUITE = """
import pytest
@pytest.mark.parametrize("number", range(40))
def test(number):
    assert number % 2 == 0
"""


def test_part_of_a_suite(tmp_path: Path) -> None:
    """A sample is the same each time, and known failures are expected."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    known = tmp_path / "known"
    command = ["-m", "pytest", "-q", "-rpx", "-p", "wave_runtime.pytest", f"--known-failures={known}"]

    def outcome(*options: str) -> str:
        done = warm_python.run(*command, *options, cwd=tmp_path)
        return "\n".join(line.split(" in ")[0] for line in done.stdout.splitlines())

    known.write_text("# a comment\n*[[]*[13579][]]: odd\n")
    sample = outcome("--sample=10")
    assert outcome("--sample=10") == sample
    assert sample.count("PASSED") + sample.count("XFAIL") == 10
    part = outcome("--sample=10", "-k", "1 or 3")  # of the 24 that have these digits
    assert part.count("PASSED") + part.count("XFAIL") == 10
    known.write_text("test_suite.py::test[[]*[]]: odd\n")
    assert "20 failed, 20 xfailed" in outcome("--sample=60")
    known.write_text("test_suite.py::test[[]*[]]: sometimes\n")
    assert "20 xfailed, 20 xpassed" in outcome()


def test_a_part_of_each_test(tmp_path: Path) -> None:
    """Of cases that will not be skipped anyway."""
    skipped = "\n@pytest.mark.skipif(True, reason='never')\ndef test_never(): pass\ndef test_alone(): pass\n"
    (tmp_path / "test_suite.py").write_text(SUITE + skipped)
    command = ["-m", "pytest", "-q", "-p", "wave_runtime.pytest", "--sample-each=3", "--collect-only"]
    done = warm_python.run(*command, cwd=tmp_path)
    drawn = [line for line in done.stdout.splitlines() if "::" in line]
    assert len([line for line in drawn if "::test[" in line]) == 3
    assert [line for line in drawn if "::test[" not in line] == ["test_suite.py::test_alone"]


def test_triton_is_not_needed() -> None:
    code = """
import sys
sys.modules["triton"] = None  # an import raises
import torch, wave_runtime
with wave_runtime.emulate():
    print(torch.ones(2, device="cuda").sum().item())
"""
    assert run_warm(code) == "2.0\n"


def test_another_version_of_triton(tmp_path: Path) -> None:
    """Whose interface to drivers is another: programs without Triton kernels run all the same."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.6.0'\n")
    code = """
import warnings, torch, wave_runtime
with warnings.catch_warnings(record=True) as found, wave_runtime.emulate():
    print(torch.ones(2, device="cuda").sum().item(), [str(each.message) for each in found])
"""
    out = run_warm(code, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert out.startswith("2.0 ")
    assert "Triton 3.6.0 is installed; its kernels cannot be launched on the emulated gfx942" in out
    code = """
try:
    import wave_runtime.triton
except ImportError as error:
    print(error)
"""
    assert run_warm(code, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)])) == (
        "wave_runtime.triton is for Triton 3.9, and Triton 3.6.0 is installed: pip install 'triton==3.9.*'\n"
    )


def test_triton_is_not_imported() -> None:
    assert run_warm("import sys, wave_runtime; print('triton' in sys.modules)") == "False\n"
