"""What takes long is done once: a package, and the example programs."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
import torch
import warm_python
from export_support import Model, cases, exported
from requirements import need
from support import ROOT


@pytest.fixture(scope="session")
def model() -> Model:
    """With the same weights for all tests."""
    torch.manual_seed(0)
    return Model()


@pytest.fixture(scope="session")
def cases_file(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cases") / "cases.pt"
    torch.save(cases(model), file)
    return file


@pytest.fixture(scope="session")
def package(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as AOTInductor compiles it, with grad mode on: no weight that requires grad may stop it."""
    file = tmp_path_factory.mktemp("package") / "model.pt2"
    torch._inductor.aoti_compile_and_package(exported(model), package_path=str(file))
    return file


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of examples/cpp are, built as their CMakeLists.txt says, once for all processes of the run."""
    need("cmake")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, built = shared / "programs", shared / "programs_are_built"
    with (shared / "programs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            build(folder)
            built.touch()
    return folder


def build(folder: Path) -> None:
    prefix = warm_python.run("-m", "wave_runtime", "cmake").stdout.strip()
    for step in (["-S", "examples/cpp", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}"], ["--build", folder]):
        done = subprocess.run(["cmake", *step], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
