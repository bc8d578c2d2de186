"""What needs a process of its own on every driver: faults, WAVE_RUNTIME_SYNC, fork."""

from __future__ import annotations

import re

import pytest
from conformance_support import DRIVERS, Driver

FAR = 2**40

STORE = f"""
out = driver.zeros(64)
kernel = driver.load()["store_at"]
try:
    kernel(out, {FAR}, 7, grid=1, block=64)
    driver.synchronize()
    print("nothing raised")
except Exception as error:
    print(type(error).__name__, error, sep=": ")
"""


def output(driver: Driver, code: str, **environment: str) -> str:
    done = driver.run(code, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_launch_that_works(driver: Driver) -> None:
    code = "out = driver.zeros(2)\ndriver.load()['take'](out, 1, 2, grid=1, block=64)\nprint(out.tolist())"
    assert output(driver, code) == "[5, 4]\n"
    assert output(driver, code, WAVE_RUNTIME_SYNC="1") == "[5, 4]\n"


def test_a_store_out_of_bounds(driver: Driver) -> None:
    found = output(driver, STORE)
    if driver.driver == "emulator":
        assert found.startswith(
            "KernelFault: kernel 'store_at' on the gfx942 emulator: a store of 4 bytes out of bounds"
        )
    else:
        assert re.search("illegal (memory )?a(ddress|ccess)|IllegalAddress|ILLEGAL_ADDRESS", found), found


def test_sync_names_the_launch(driver: Driver) -> None:
    """The driver's code name is kept, and the launch is told with its arguments."""
    found = output(driver, STORE, WAVE_RUNTIME_SYNC="1")
    if driver.driver == "emulator":
        assert "kernel 'store_at'" in found
        return
    name = "hipErrorIllegalAddress" if driver.driver == "hip" else "CUDA_ERROR_ILLEGAL_ADDRESS"
    if driver.name == "hip-cuda":
        name = "(hipErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS)"
    call = "hipStreamSynchronize" if driver.driver == "hip" else "cuStreamSynchronize"
    if driver.name == "hip-emulator":  # which waits for the kernel itself
        call = "hipModuleLaunchKernel"
    place = re.escape(driver.place)
    assert re.match(
        rf"RuntimeError: kernel 'store_at' on {place}: {call} failed: {name} \(700\): .*; grid \(1, 1, 1\), "
        rf"block \(64, 1, 1\), shared_memory 0, arguments out=0x[0-9a-f]+, index={FAR}, value=7\n",
        found,
    ), found


LATER = f"""
out = driver.zeros(64)
module = driver.load()
module["store_at"](out, {FAR}, 7, grid=1, block=64)
try:
    torch.cuda.synchronize()
except Exception:
    pass
try:
    module["take"](out, 1, 0, grid=1, block=64)
except RuntimeError as error:
    print(error)
try:
    print(module.unload())
except RuntimeError as error:
    print(error)
"""


def test_a_launch_after_one_that_failed(gpu: Driver) -> None:
    """Says that it may be another's fault, and how to find out. Nothing else happens: no crash, no noise at the end."""
    done = gpu.run(LATER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "an earlier kernel may have failed: WAVE_RUNTIME_SYNC=1 tells which" in done.stdout
    assert "Traceback" not in done.stderr


def test_trap(driver: Driver) -> None:
    code = """
out = driver.zeros(64)
try:
    driver.load()["trap"](out, grid=1, block=64)
    driver.synchronize()
except Exception as error:
    print(type(error).__name__)
"""
    assert output(driver, code, WAVE_RUNTIME_SYNC="1").strip() in ("KernelFault", "RuntimeError", "AcceleratorError")


WORKERS = """
import multiprocessing
from torch.utils.data import DataLoader, Dataset

class Sums(Dataset):
    def __init__(self):
        self.kernel = wave_runtime.load(BINARY, signature=SIGNATURES)["vector_add"]
    def __len__(self):
        return 32
    def __getitem__(self, i):
        a, out = torch.full((1000,), float(i)), torch.zeros(1000)
        self.kernel(a, a, out, 1000, grid=4, block=256)
        return out.sum()

torch.set_num_threads(4)
sums = Sums()
print([float(sums[i]) for i in range(3)])  # several threads of OpenMP have run in this process
loader = DataLoader(sums, batch_size=4, num_workers=2, multiprocessing_context="fork")
print(torch.cat(list(loader)).tolist() == [2000.0 * i for i in range(32)])
"""


def test_data_loader_workers_use_the_emulator() -> None:
    assert output(DRIVERS["emulator"](), WORKERS) == "[0.0, 2000.0, 4000.0]\nTrue\n"


def test_data_loader_workers_beside_a_gpu(gpu: Driver) -> None:
    """CPU tensors in workers, while the parent uses the GPU."""
    code = "x = driver.zeros(2)\ndriver.load()['take'](x, 1, 0, grid=1, block=64)\n" + WORKERS
    assert output(gpu, code).endswith("True\n")


FORK = """
out = driver.zeros(2)
kernel = driver.load()["take"]
kernel(out, 1, 0, grid=1, block=64)
driver.synchronize()
sys.stdout.flush()
child = os.fork()
if child == 0:
    status = 1
    try:
        try:
            kernel(out, 1, 1, grid=1, block=64)
            print("launched", out[1].item() if not driver.is_gpu else "", flush=True)
        except RuntimeError as error:
            print("refused:", error, flush=True)
        del kernel
        import gc
        gc.collect()
        status = 0
    finally:
        os._exit(status)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
kernel(out, 1, 2, grid=1, block=64)
print("parent", out.tolist()[1])
"""


def test_fork(driver: Driver) -> None:
    found = output(driver, FORK)
    assert found.endswith("child 0\nparent 4\n"), found
    if driver.driver == "emulator":
        assert found.startswith("launched 2\n"), found
    else:
        assert "this process was forked after its parent had used the GPU" in found.splitlines()[0], found
        assert '"spawn" or "forkserver"' in found


@pytest.mark.parametrize("threads", [1, 4])
def test_forked_processes_after_threads_of_openmp(threads: int) -> None:
    """Of the parent's OpenMP threads none is in the child: a launch there must not wait for them."""
    code = f"""
torch.set_num_threads({threads})
kernel = driver.load()["vector_add"]
def add():
    a, out = torch.ones(1000), torch.zeros(1000)  # so small that torch itself takes no threads
    kernel(a, a, out, 1000, grid=400, block=256)
    return bool((out == 2).all())
print(add(), (torch.rand(1000, 1000) @ torch.rand(1000, 1000)).shape[0], flush=True)
child = os.fork()
if child == 0:
    print(add(), flush=True)
    os._exit(0)
import time
end = time.monotonic() + 60
while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
    time.sleep(0.1)
if done == (0, 0):
    os.kill(child, 9)
    print("the child hangs")
"""
    assert output(DRIVERS["emulator"](), code) == "True 1000\nTrue\n"
