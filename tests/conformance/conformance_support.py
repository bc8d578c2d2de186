"""The drivers that the conformance suite runs on, and the kernels that it launches there."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import warm_python
from cuda_support import compile_cuda
from support import EXAMPLES, ROOT

import wave_emulator
import wave_runtime
from wave_runtime import _C
from wave_runtime._kernel import call_operator

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "kernels.cu"
BINARY = FOLDER / "kernels.hsaco"

SIGNATURES = {
    "vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32",
    "store_scalars": "out: *u8, i8: i8, u8: u8, i16: i16, u16: u16, i32: i32, u32: u32, i64: i64, u64: u64, "
    "flag: bool, half: f16, single: f32, twice: f64, mixed: bytes[24]",
    "copy_large": "out: *i32, large: bytes[1600]",
    "reverse_dynamic": "a: *i32 const, b: *i32, n: i32",
    "reverse_static": "a: *i32 const, b: *i32",
    "take": "out: *i32, step: i32, entry: i32",
    "slow_increment": "a: *i32 const, b: *i32, n: i32, cycles: i64",
    "sum_over_grid": "a: *i32 const, sum: *i32, arrived: *i32, out: *i32, workgroups: i32",
    "cluster_rank": "out: *i32",
    "store_at": "out: *i32, index: i64, value: i32",
    "trap": "out: *i32",
}
TABLE = (1, 2, 4, 8, 16, 32, 64, 128)
TABLE_BYTES = struct.pack("<8i", *TABLE)

Launch = Callable[..., None]
Way = Callable[[wave_runtime.Kernel], Launch]

_serial = itertools.count(1000)


class Absent(Exception):
    """A driver cannot be used here.

    Attributes:
        requirement: what WAVE_RUNTIME_REQUIRE lists to make that a failure; None where another driver takes its place.
    """

    def __init__(self, requirement: str | None, reason: str) -> None:
        super().__init__(reason)
        self.requirement = requirement


@dataclass(frozen=True)
class Driver:
    """A way to run the kernels.

    Attributes:
        name: of the suite's parameter.
        driver: of the product: "emulator", "hip", "cuda".
        device: where its tensors are.
    """

    name: str
    driver: str
    device: torch.device

    @property
    def is_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_nvidia(self) -> bool:
        return self.is_gpu and torch.version.cuda is not None

    @property
    def place(self) -> str:
        """The device as messages name it."""
        return str(self.device) if self.is_gpu else "cpu" if self.driver == "emulator" else "cpu (hip)"

    @property
    def description(self) -> dict[str, object]:
        devices: list[dict[str, object]] = _C.describe_driver(self.driver)["devices"]
        return devices[self.device.index or 0]

    @property
    def target(self) -> str:
        return str(self.description["target"])

    def binary(self) -> bytes:
        return compile_cuda(SOURCE, self.target) if self.is_nvidia else BINARY.read_bytes()

    def fresh_binary(self) -> tuple[bytes, int]:
        """A build that no other test has loaded, and its table's last entry, by which it can be told."""
        entry = next(_serial)
        binary = self.binary()
        assert binary.count(TABLE_BYTES) == 1
        return binary.replace(TABLE_BYTES, struct.pack("<8i", *TABLE[:7], entry)), entry

    def load(self, **options: object) -> wave_runtime.Module:
        return wave_runtime.load(self.binary(), **{"signature": SIGNATURES, **options})  # type: ignore[arg-type]

    def load_fresh(self, **options: object) -> wave_runtime.Module:
        return wave_runtime.load(self.fresh_binary()[0], **{"signature": SIGNATURES, **options})  # type: ignore[arg-type]

    def ints(self, *values: int) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def zeros(self, count: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
        return torch.zeros(count, dtype=dtype, device=self.device)

    def randn(self, count: int) -> torch.Tensor:
        return torch.randn(count, device=self.device)

    def synchronize(self) -> None:
        if self.is_gpu:
            torch.cuda.synchronize(self.device)

    def run(self, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run code in a process of its own, where `driver` is this one and all names of this file are known."""
        prelude = (
            "import os, sys\n"
            f"sys.path[:0] = {[str(p) for p in (ROOT, ROOT / 'tests', FOLDER, EXAMPLES)]!r}\n"
            "import torch, wave_runtime\n"
            "from conformance_support import *\n"
            f"driver = use_driver({self.name!r})\n"
        )
        variables = {**os.environ, **environment}
        if self.driver == "hip" and self.name != "hip":
            variables["WAVE_RUNTIME_LIBHIP"] = hip_library(self.name)
        return warm_python.run("-c", prelude + code, env=variables)


def _nvidia() -> None:
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise Absent("cuda", "needs an NVIDIA GPU and a torch built for CUDA")


def _emulator() -> Driver:
    return Driver("emulator", "emulator", torch.device("cpu"))


def _hip_emulator() -> Driver:
    if _preferred_hip() != "hip-emulator":
        raise Absent(None, "a process opens one HIP library: WAVE_RUNTIME_TEST_HIP=hip-emulator chooses this one")
    _open_hip("hip-emulator")
    return Driver("hip-emulator", "hip", torch.device("cpu"))


def _cuda() -> Driver:
    _nvidia()
    return Driver("cuda", "cuda", torch.device("cuda:0"))


def _hip_over_cuda() -> Driver:
    _nvidia()
    if _preferred_hip() != "hip-cuda":
        raise Absent(None, "a process opens one HIP library: WAVE_RUNTIME_TEST_HIP=hip-cuda chooses this one")
    _open_hip("hip-cuda")
    return Driver("hip-cuda", "hip", torch.device("cuda:0"))


def _hip() -> Driver:
    if torch.version.hip is None or not torch.cuda.is_available():
        raise Absent("hip", "needs an AMD GPU and a torch built for ROCm")
    driver = Driver("hip", "hip", torch.device("cuda:0"))
    if not _C.target_runs_on("gfx942", driver.target):
        raise Absent("hip", f"the suite's kernels were built for gfx942, cuda:0 is {driver.target}")
    return driver


DRIVERS: dict[str, Callable[[], Driver]] = {
    "emulator": _emulator,
    "hip-emulator": _hip_emulator,
    "cuda": _cuda,
    "hip-cuda": _hip_over_cuda,
    "hip": _hip,
}
ON_GPU = ("cuda", "hip-cuda", "hip")


def _preferred_hip() -> str:
    """Which HIP library this process opens."""
    if torch.cuda.is_available() and torch.version.hip is not None:
        return "hip"
    return os.environ.get("WAVE_RUNTIME_TEST_HIP", "hip-cuda" if torch.cuda.is_available() else "hip-emulator")


@functools.cache
def hip_library(name: str) -> str:
    """The HIP library of a driver of this suite."""
    if name == "hip-emulator":
        return str(wave_emulator.library("wave_hip_emulator"))
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source, library = ROOT / "tests" / "cpp" / "hip_on_cuda.cpp", f"{folder}/libamdhip64.so"
    options = ["-shared", "-fPIC", "-O2", "-std=c++20", f"-I{ROOT / 'csrc'}"]
    compiler = os.environ.get("CXX", "g++")
    done = subprocess.run([compiler, *options, source, "-ldl", "-o", library], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{source.name} does not compile:\n{done.stderr}")
    return library


@functools.cache
def _open_hip(name: str) -> None:
    """Make the HIP driver open this library, once and for all."""
    library = os.environ.get("WAVE_RUNTIME_LIBHIP") or hip_library(name)
    before = os.environ.get("WAVE_RUNTIME_LIBHIP")
    os.environ["WAVE_RUNTIME_LIBHIP"] = library
    try:
        found = _C.describe_driver("hip")
    finally:
        if before is None:
            del os.environ["WAVE_RUNTIME_LIBHIP"]
    assert found["error"] is None, found["error"]
    assert os.path.samefile(found["library"].split(", HIP")[0], library), found["library"]


def use_driver(name: str) -> Driver:
    """Sends the tensors of the driver's device to it, in this process. Raises Absent."""
    driver = DRIVERS[name]()
    (_C.set_gpu_driver if driver.is_gpu else _C.set_host_driver)(driver.driver)
    return driver


@contextmanager
def driver_in_use(name: str) -> Iterator[Driver]:
    """The same for a scope."""
    host, gpu = _C.drivers()
    try:
        yield use_driver(name)
    finally:
        _C.set_host_driver(host)
        _C.set_gpu_driver(gpu)


def images(module: wave_runtime.Module) -> list[bytes]:
    kernel = module["take"]
    found: list[bytes] = kernel.__reduce__()[1][0]  # type: ignore[index]
    return found


def loaded_of(module: wave_runtime.Module) -> list[wave_runtime.Loaded]:
    """What is loaded of a module: other tests' graphs keep theirs."""
    hashes = {wave_runtime._C.CodeObject(code).describe()["sha256"] for code in images(module)}
    return [item for item in wave_runtime.loaded() if item.sha256 in hashes]


_operators: dict[tuple[str, str], object] = {}  # by kernel and options: an operator is for good


def by_operator(kernel: wave_runtime.Kernel) -> Launch:
    return lambda *arguments, **options: call_operator(kernel, *arguments, **options)


def by_dedicated(kernel: wave_runtime.Kernel) -> Launch:
    """An operator of the kernel and its options; operators are for good, so each is made once."""

    def launch(*arguments: object, grid: int | tuple[int, ...], **options: object) -> None:
        key = (kernel.handle, repr(sorted(options.items())))
        if key not in _operators:
            _operators[key] = kernel.as_operator(f"conformance::launch{len(_operators)}", **options)
        _operators[key](*arguments, *((grid,) if isinstance(grid, int) else grid))  # type: ignore[operator]

    return launch


WAYS: dict[str, Way] = {
    "call": lambda kernel: kernel,
    "bound": lambda kernel: lambda *arguments, **options: kernel.bind(*arguments, **options)(),
    "sequence": lambda kernel: (
        lambda *arguments, **options: wave_runtime.sequence([kernel.bind(*arguments, **options)])()
    ),
    "operator": by_operator,
    "dedicated": by_dedicated,
}
