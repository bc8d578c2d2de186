"""What tests rely on of the processes that have torch already."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT


def test_it_is_as_a_process_of_its_own(tmp_path: Path) -> None:
    """But for torch: nothing of the package is loaded, and no thread runs."""
    code = """
import os, sys, threading
print(__name__, sys.argv, os.getcwd(), os.environ["NAME"], "HOME" in os.environ, sys.stdin.read() == "")
print("torch" in sys.modules, any("wave" in name for name in sys.modules), len(os.listdir("/proc/self/task")))
import wave_runtime
print(wave_runtime.__file__)
print("error", file=sys.stderr)
sys.exit(3)
"""
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    done = warm_python.run("-c", code, "a", 1, env={**environment, "NAME": "value"}, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        f"__main__ ['-c', 'a', '1'] {tmp_path} value False True",
        "True False 1",
        str(ROOT / "wave_runtime" / "__init__.py"),
    ]
    assert (done.stderr, done.returncode) == ("error\n", 3)


def test_modules_and_files_run(tmp_path: Path) -> None:
    file = tmp_path / "it.py"
    file.write_text("import sys\nimport other\nprint(__name__, sys.argv, __file__)\n")
    (tmp_path / "other.py").write_text("")
    expected = f"__main__ ['{file}', 'x'] {file}\n"
    for arguments, folder in ((("-m", "it"), tmp_path), ((file,), ROOT)):
        done = warm_python.run(*arguments, "x", cwd=folder)
        assert (done.stdout, done.stderr) == (expected, "")


def test_the_compiler_is_there_where_it_is_asked_for() -> None:
    code = "import sys; print('torch._dynamo' in sys.modules, any('wave' in name for name in sys.modules))"
    assert warm_python.run("-c", code).stdout == "False False\n"
    is_there = not torch.version.cuda and not torch.version.hip
    assert warm_python.run("-c", code, imported=warm_python.COMPILER).stdout == f"{is_there} False\n"


def test_ends() -> None:
    failed = warm_python.run("-c", "raise ValueError('this')")
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (1, "ValueError: this")
    assert warm_python.run("-c", "import os; os.abort()").returncode == -signal.SIGABRT
    with warm_python.WarmProcess("-c", "print(1, flush=True); import time; time.sleep(600)") as process:
        assert process.stdout.readline() == "1\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(subprocess.TimeoutExpired):
        warm_python.run("-c", "import time; time.sleep(600)", timeout=0.1)


@pytest.mark.parametrize(
    ("end", "status", "errors"),
    [("", 0, ""), ("sys.exit()", 0, ""), ("sys.exit(3)", 3, ""), ("sys.exit('this')", 1, "this\n"), ("1 / 0", 1, None)],
)
def test_exit_functions_run(end: str, status: int, errors: str | None) -> None:
    """And what is written in them is seen."""
    code = f"""
import atexit, sys, weakref
class Owner: pass
owner = Owner()
weakref.finalize(owner, print, "finalized", end="")
atexit.register(print, "function", end=" ")
{end}"""
    done = warm_python.run("-c", code)
    assert (done.stdout, done.returncode) == ("function finalized", status)
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n") if errors is None else done.stderr == errors


def test_output_to_a_file_and_variables_of_the_start(tmp_path: Path) -> None:
    code = "import os, sys, torch; print(torch.get_num_threads(), flush=True); print('error', file=sys.stderr)"
    with (tmp_path / "output").open("w+") as output:
        with warm_python.WarmProcess("-c", code, started={"OMP_NUM_THREADS": "1"}, output=output) as process:
            while process.poll() is None:
                time.sleep(0.01)
        output.seek(0)
        assert (process.returncode, output.read()) == (0, "1\nerror\n")


def test_what_would_be_read_too_late_is_refused() -> None:
    for name in ("OMP_NUM_THREADS", "TORCH_LOGS", "TORCHINDUCTOR_CPP_WRAPPER"):
        with pytest.raises(ValueError, match=f"{name}: too late"):
            warm_python.run("-c", "", env={**os.environ, name: "7"})
    assert warm_python.run("-c", "", env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": "/tmp"}).returncode == 0
