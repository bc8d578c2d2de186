"""wave-lang, unmodified, over our wave_runtime, on kernels of our own. `make test-wave-lang` runs its own tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python
from support import ROOT

pytestmark = pytest.mark.needs("wave-lang")
FOLDER = Path(__file__).parent
NOTEBOOK = ROOT / "examples" / "wave_gemm.ipynb"


def run(*arguments: str | Path) -> str:
    """Run pytest on tests that import the compiler, without this project's settings of it."""
    command = ["-m", "pytest", "-q", "-o", "addopts=", "-o", "filterwarnings=", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{FOLDER}:{ROOT / 'examples'}", "WAVE_CACHE_ON": "0"}
    done = warm_python.run(
        *command, *arguments, env=environment, cwd=FOLDER, imported=warm_python.COMPILER, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_plugin(tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text("# a comment\n*::test_known_failure: it shows that failures can be expected\n")
    plugin = ("-p", "wave_runtime.wave_lang.pytest", "--known-failures", known)
    output = run(*plugin, "wave_lang_kernels.py")
    assert "4 tests launched kernels (4 passed): 4 launches" in output
    assert "5 passed, 1 xfailed" in output


def test_from_wave() -> None:
    assert "12 passed" in run("from_wave_cases.py")


@pytest.mark.parametrize(
    ("chosen", "passed"), [("product or export", "2 passed"), pytest.param("test", "6 passed", marks=pytest.mark.long)]
)
def test_example(chosen: str, passed: str) -> None:
    assert passed in run("train_on_wave_cases.py", "-k", chosen)


def test_notebook_as_a_script(tmp_path: Path) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    script = tmp_path / "notebook.py"
    script.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WAVE_CACHE_ON": "0", "MPLBACKEND": "Agg"}
    done = warm_python.run(script, env=environment, imported=warm_python.COMPILER)
    assert done.returncode == 0, done.stderr
    for line in ("writes:    ('c',)", "ValueError: Wave kernel 'gemm', 'b'", "v_mfma_f32_16x16x16_f16", "'matrix': 8"):
        assert line in done.stdout
    assert not any(cell.get("outputs") for cell in cells)


@pytest.mark.needs("jupyter")
def test_notebook_in_jupyter(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "WAVE_CACHE_ON": "0"}
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", tmp_path, NOTEBOOK]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / NOTEBOOK.name).read_text())["cells"]
    assert "image/png" in cells[-1]["outputs"][0]["data"]
