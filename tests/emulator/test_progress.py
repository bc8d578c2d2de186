"""Waves and workgroups that wait for each other, threads, and launches that are stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from requirements import does_not_apply
from support import LoadKernel
from warm_python import WarmProcess

import wave_runtime

FIRST_POINTER = "*i32, i64, i32, i32"


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["wait_for_other", "sleep_for_other"])
def test_workgroups_that_poll_memory_make_progress(probe: LoadKernel, name: str, threads: int) -> None:
    flags = torch.zeros(2, dtype=torch.int32)
    probe(name, FIRST_POINTER)(flags, 0, 0, 0, grid=2, block=64)
    assert flags.tolist() == [1, 1]


def test_waves_that_ended_do_not_count_at_a_barrier(probe: LoadKernel) -> None:
    out = torch.full((256,), -1, dtype=torch.int32)
    probe("barrier_without_ended_wave", FIRST_POINTER)(out, 0, 0, 0, grid=1, block=256)
    assert out.tolist() == [*range(64), *range(64), *range(64), *[-1] * 64]


@pytest.mark.parametrize("name", ["overwrite_after_wait", "overwrite_after_others"])
def test_waves_that_share_lds_run_side_by_side(probe: LoadKernel, name: str) -> None:
    """As hand-written kernels rely on: all waves have read before the first one writes again."""
    out = torch.full((128,), -1, dtype=torch.int32)
    probe(name, FIRST_POINTER)(out, 0, 0, 0, grid=1, block=128)
    assert out.tolist() == [*range(64, 128), *range(64)]


def test_number_of_threads_does_not_change_results(threads: int) -> None:
    from catalog import CATALOG, as_tuple

    for example in CATALOG:
        inputs = example.inputs(*example.sizes[0])
        result = example.run(*inputs)
        torch.set_num_threads(1)
        pairs = zip(as_tuple(result), as_tuple(example.run(*inputs)), strict=True)
        assert all(torch.equal(several, one) for several, one in pairs), example.name
        torch.set_num_threads(threads)


def test_launches_from_torchs_own_threads(vector_add: wave_runtime.Kernel) -> None:
    """A launch inside of a parallel region uses the thread that it is on."""
    results: list[bool] = []

    def work() -> None:
        a, b, c = torch.randn(10**5), torch.randn(10**5), torch.zeros(10**5)
        vector_add(a, b, c, 10**5, grid=391, block=256)
        results.append(torch.equal(c, a + b))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [True] * 8


def test_flush_denormal_of_the_host_does_not_matter(vector_add: wave_runtime.Kernel) -> None:
    """torch.set_flush_denormal() sets the thread's mode; a kernel whose descriptor keeps denormals must keep them."""
    a, c = torch.full((64,), 1e-40), torch.zeros(64)
    expected = a + a
    if not torch.set_flush_denormal(True):
        does_not_apply("this processor cannot flush denormals")
    try:
        vector_add(a, a, c, 64, grid=1, block=64)
        still_flushing = bool((torch.full((1,), 1e-40) * 1 == 0).all())
    finally:
        torch.set_flush_denormal(False)
    assert torch.equal(c, expected)
    assert still_flushing, "the thread's own mode must be restored"


@pytest.mark.parametrize("name", ["spin", "spin_at_barrier"])
@pytest.mark.parametrize("grid", [1, 8])
def test_keyboard_interrupt(name: str, grid: int) -> None:
    file = Path(__file__).parent / "kernels" / "probes.hsaco"
    code = (
        "import signal, torch, wave_runtime\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # background jobs of a shell ignore it
        f"kernel = wave_runtime.load({str(file)!r}, signature={{{name!r}: {FIRST_POINTER!r}}})[{name!r}]\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    kernel(torch.zeros(4, dtype=torch.int32), 0, 0, 0, grid={grid}, block=256)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    with WarmProcess("-c", code) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert output == "interrupted\n"


def test_other_python_threads_run_meanwhile(probe: LoadKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", "30000000")
    kernel, out = probe("spin", FIRST_POINTER), torch.zeros(4, dtype=torch.int32)

    def launch() -> None:
        with pytest.raises(wave_runtime.KernelFault, match="WAVE_RUNTIME_MAX_INSTRUCTIONS"):
            kernel(out, 0, 0, 0, grid=1, block=64)

    worker = threading.Thread(target=launch)
    worker.start()
    rounds = 0
    while worker.is_alive():
        rounds += 1
        time.sleep(0)
    worker.join()
    assert rounds > 10


def test_forked_process_can_launch(vector_add: wave_runtime.Kernel) -> None:
    a, c = torch.ones(64), torch.zeros(64)
    vector_add(a, a, c, 64, grid=1, block=64)
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)  # as torch's data loader does
        d = torch.zeros(64)
        vector_add(a, a, d, 64, grid=1, block=64)
        os._exit(0 if torch.equal(c, d) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_deterministic_launches_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workgroups run in their order, and the clock counts how often it was asked: 100 ns each, of 2.1 GHz."""
    from machine import State, encode, run
    from memory_support import BY_NAME

    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    words = encode(BY_NAME["s_memtime"], SDATA=20) + encode(BY_NAME["s_memrealtime"], SDATA=22)
    for _ in range(2):
        after = run(words, State(8))
        assert after.s[:, 20].tolist() == [420 * wave + 210 for wave in range(8)]
        assert after.s[:, 22].tolist() == [20 * wave + 20 for wave in range(8)]


GRID_BARRIER = """
extern "C" __global__ void grid_barrier(unsigned* arrived, unsigned* seen, unsigned workgroups) {
  extern __shared__ unsigned lds[];
  lds[threadIdx.x] = blockIdx.x;
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != workgroups)
      __builtin_amdgcn_s_sleep(1);
    seen[blockIdx.x] = lds[0] + 1;
  }
}
"""


@pytest.mark.each_value
@pytest.mark.needs("clang")
@pytest.mark.parametrize("mode", ["-mcumode", "-mno-cumode"])
@pytest.mark.parametrize(
    ("target", "units", "lds"),
    [
        ("gfx90a", 104, 65536),
        ("gfx942", 304, 65536),
        ("gfx950", 256, 163840),
        ("gfx1100", 96, 65536),
        ("gfx1201", 64, 65536),
    ],
)
def test_cooperative_grids_at_the_limit_end(
    target: str, units: int, lds: int, mode: str, monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    """With all LDS of a compute unit for a workgroup each of them holds one. A workgroup processor is two of them."""
    monkeypatch.setenv("WAVE_RUNTIME_MAX_INSTRUCTIONS", "100000")  # of a wave: a barrier that never ends is a fault
    kernel = wave_runtime.compile(GRID_BARRIER, target=target, options=[mode])["grid_barrier"]

    def launch(workgroups: int) -> torch.Tensor:
        arrived, seen = torch.zeros(1, dtype=torch.uint32), torch.zeros(workgroups, dtype=torch.uint32)
        options = {"block": 32, "shared_memory": lds, "cooperative": True}
        kernel(arrived, seen, workgroups, grid=workgroups, **options)
        return seen.to(torch.int64)

    assert torch.equal(launch(units), torch.arange(1, units + 1))
    with pytest.raises(ValueError, match=rf"kernel 'grid_barrier'.* must be resident at once, .* holds {units} work"):
        launch(units + 1)
