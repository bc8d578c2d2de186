"""What the tests share: the kernels they launch, and the environment they need."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from requirements import need, required
from support import EXAMPLES, PROBES, ROOT, LoadKernel

import wave_runtime
from wave_emulator import _toolchain
from wave_runtime import _compile
from wave_runtime._cache import Cache, Kept
from wave_runtime._compile import _clang
from wave_runtime._compile._unit import Unit

# That the host's compiler knows the host's vector instructions. Inductor compiles four programs else to see, for each
# folder of what it keeps: seven seconds.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")

# OpenMP's threads, which torch wakes for each operator, else look for more work in a loop: a twelfth of all time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
gc.set_threshold(100_000)  # else Python looks for garbage after each 700 new objects: another twelfth

sys.path[:0] = [str(EXAMPLES), str(EXAMPLES.parent), str(ROOT / "benchmarks")]


# What takes longest, and what is long in the last folders, which would else be begun when the others are through.
LONGEST = (
    "test_packaging.py",
    "test_cpp.py",
    "test_hip_programs.py",
    "test_extensions.py",
    "test_wave_lang.py",
    "test_docs.py",
    "test_emulate_processes.py",
    "test_isa_llvm.py",
    "test_triton_kernels.py",
    "test_triton_inductor.py",
    "test_examples.py",
    "test_sycl.py",
    "test_instructions.py",
    "test_rdna_arithmetic.py",
    "test_data_parallel.py",
    "test_inductor.py",
    "test_inductor_ops.py",
    "test_wave_gemm.py",
    "test_wave_attention.py",
    "test_triton_driver.py",
    "test_triton_sanitized.py",
)


def pytest_configure() -> None:
    required()  # raises for what is no requirement


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            need(name)


def leave_to_test_all(combinations: list[pytest.Function]) -> None:
    """Of a test's combinations of parameters `make test` takes so many that each value occurs; the others are long."""
    values = {item: {(name, id(value)) for name, value in item.callspec.params.items()} for item in combinations}
    missing = set().union(*values.values())
    while missing:
        chosen = max(values, key=lambda item: len(values[item] & missing))
        missing -= values.pop(chosen)
    for item in values:
        item.add_marker(pytest.mark.long)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out those that are long
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that both processes end at about one time."""
    combined = defaultdict(list)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if isinstance(item, pytest.Function) and "each_value" in marks and "long" not in marks:
            combined[item.function].append(item)
    for combinations in combined.values():
        leave_to_test_all(combinations)
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


def pytest_collection_finish() -> None:
    """Thousands of tests are of no interest to a search for garbage, which would else look at each again and again."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # or extensions count at the end what was never destroyed


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.default_generator.manual_seed(0)  # torch.manual_seed notes the stack, for a GPU that may come: a millisecond
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(0)


@pytest.fixture(scope="session")
def precompiled_headers(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """What clang has made of the headers, for all tests of this run and all processes that run them."""
    folder = tmp_path_factory.getbasetemp()
    return Cache((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "precompiled_headers")


@pytest.fixture(scope="session")
def hip_toolchain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands in for ROCm where HIP programs are compiled."""
    folder = tmp_path_factory.mktemp("hip") / "toolchain"
    _toolchain.make(folder, "clang++-19")
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, precompiled_headers: Cache, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what the test compiles, in a process that has compiled nothing. Of headers it shares what others
    have compiled: that is tested in test_precompiled.py."""
    folder, precompiled = tmp_path / "cache", _clang.precompiled

    def shared(unit: Unit, store: Cache | None, *command: Any) -> Kept[bytes] | None:
        return precompiled(unit, store and precompiled_headers, *command)

    monkeypatch.setattr(_clang, "precompiled", shared)
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(folder))
    monkeypatch.setattr(_compile, "_known", {})
    return folder


@pytest.fixture(scope="session")
def probe() -> LoadKernel:
    """Loads a kernel of probes.s by name. Their arguments are two 8-byte values and two 4-byte values."""

    def load(name: str, signature: str = "*i32 const, *i32, i32, i32", **options: object) -> wave_runtime.Kernel:
        return wave_runtime.load(PROBES / "probes.hsaco", signature={name: signature}, **options)[name]

    return load


@pytest.fixture(scope="session")
def language() -> LoadKernel:
    """Loads a kernel of language.hip by name."""

    def load(name: str, signature: str) -> wave_runtime.Kernel:
        return wave_runtime.load(PROBES / "language.hsaco", signature={name: signature})[name]

    return load


@pytest.fixture(scope="session")
def vector_add() -> wave_runtime.Kernel:
    """C = a + b, n elements, blocks of 256: (*f32 const, *f32 const, *f32, i32)."""
    signature = "a: *f32 const, b: *f32 const, c: *f32, n: i32"
    return wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature={"vector_add": signature})["vector_add"]


@pytest.fixture
def gpu() -> Iterator[wave_runtime.Emulation]:
    """Two emulated GPUs, which programs find."""
    with wave_runtime.emulate("gfx942", devices=2) as emulation:
        yield emulation
