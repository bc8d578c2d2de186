"""wave_runtime.emulate: what programs find of the GPU, and that nothing of it is left."""

from __future__ import annotations

import copy
import ctypes
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import torch

import wave_runtime
from wave_runtime import _C, _emulate

PROCESSORS = sorted(_C.emulator_processors())
INTEGRATED = ("gfx1033", "gfx1035", "gfx1036", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153")


# --- beginning and end ---


def everything() -> dict[tuple[str, str], object]:
    """All attributes of torch's modules that are loaded, of its classes that are patched, and the environment."""
    owners = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torch"}
    owners |= {"Tensor": torch.Tensor, "autocast": torch.amp.autocast_mode.autocast}  # type: ignore[dict-item]
    owners |= {"DeviceContext": sys.modules["torch.utils._device"].DeviceContext}
    found = {(owner, name): value for owner, module in owners.items() for name, value in vars(module).items()}
    return found | {("environment", name): value for name, value in os.environ.items()}


def test_everything_is_put_back() -> None:
    with wave_runtime.emulate():
        pass  # what is imported on the way stays
    before, processor = everything(), _C.emulator_processor()
    with wave_runtime.emulate("gfx1100", devices=3, time_limit=9.0):
        within = everything()
        assert within[("torch.cuda", "is_available")] is not before[("torch.cuda", "is_available")]
        torch.empty(2, device="cuda").cuda().cpu()
        torch.cuda.set_device(2)
    torch.accelerator.is_available()
    after = everything()
    changed = {key for key in before if after.get(key) is not before[key] and key[0] != "environment"}
    assert changed == set()
    assert set(after) == set(before)
    assert all(after[key] == before[key] for key in before if key[0] == "environment")
    assert _C.emulator_processor() == processor
    assert len([key for key in within if within[key] is not before.get(key)]) > 100


@pytest.mark.needs("clang")
def test_each_emulation_runs_the_build_for_its_processor() -> None:
    """Also where one before it has loaded another."""
    source = """__global__ void name(int* out) {
    #if defined(__gfx1100__)
      *out = 1100;
    #elif defined(__gfx1201__)
      *out = 1201;
    #else
      *out = 942;
    #endif
    }"""
    targets = ["gfx942", "gfx1100", "gfx1201"]
    kernel = wave_runtime.compile(source, language="hip", targets=targets)["name"]
    for target in [*targets, *targets]:
        out = torch.zeros(1, dtype=torch.int32)
        with wave_runtime.emulate(target):
            kernel(out, grid=1, block=1)
        assert f"gfx{out.item()}" == target


def test_within_another_the_later_counts() -> None:
    with wave_runtime.emulate("gfx942") as outer:
        inner = wave_runtime.emulate("gfx1100")
        assert torch.cuda.get_device_properties(0).gcnArchName == "gfx1100"
        with pytest.raises(
            RuntimeError, match=r"emulate\('gfx942'\) ends before emulate\('gfx1100'\), which is within"
        ):
            outer.stop()
        inner.stop()
        inner.stop()  # once is enough
        assert torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")
    assert repr(outer) == "<wave_runtime.emulate gfx942, ended>"


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=f"target='mi300': the emulator has the processors {', '.join(PROCESSORS)}"):
        wave_runtime.emulate("mi300")
    with pytest.raises(ValueError, match="devices=0: expected 1 to 64"):
        wave_runtime.emulate(devices=0)
    with pytest.raises(ValueError, match="time_limit=-1: expected seconds"):
        wave_runtime.emulate(time_limit=-1)
    with pytest.raises(ValueError, match="inductor='yes': expected True or False"):
        wave_runtime.emulate(inductor="yes")  # type: ignore[arg-type]
    assert _emulate._stack == []


# --- torch.cuda ---


@pytest.mark.parametrize("target", PROCESSORS)
def test_properties(target: str) -> None:
    figures = _C.emulator_processors()[target]
    with wave_runtime.emulate(target):
        properties = torch.cuda.get_device_properties("cuda:0")
        assert properties.gcnArchName.split(":")[0] == figures["code"]
        assert properties.multi_processor_count == figures["multiprocessors"]
        assert properties.warp_size == figures["lanes"]
        assert properties.total_memory > 0
        assert properties.is_integrated == (target in INTEGRATED)
        assert torch.cuda.get_device_capability() == (properties.major, properties.minor)
        assert torch.cuda.is_tf32_supported() == (target in ("gfx942", "gfx950"))
        assert _C.describe_driver("emulator")["devices"][0]["target"] == figures["code"]
        assert torch.version.hip is not None
        assert torch.version.cuda is None


def test_figures_of_gfx942() -> None:
    """AMD's: 304 compute units of 32 waves of 64, 64 KiB of LDS; torch says 9.4."""
    with wave_runtime.emulate("gfx942"):
        properties = torch.cuda.get_device_properties()
        assert (properties.multi_processor_count, properties.max_threads_per_multi_processor) == (304, 2048)
        assert properties.shared_memory_per_block == 65536
        assert torch.cuda.get_device_capability() == (9, 4)
        assert copy.deepcopy(properties) == properties
        with pytest.raises(AttributeError, match="the property 'pci_bus_id' is not known of the emulated device"):
            properties.pci_bus_id  # noqa: B018


def test_devices_and_threads(gpu: object) -> None:
    assert torch.cuda.device_count() == 2
    assert torch.accelerator.device_count() == 2
    torch.cuda.set_device(1)
    seen: list[int] = []
    thread = threading.Thread(
        target=lambda: seen.append(torch.cuda.current_device() + torch.ones(1, device="cuda").numel())
    )
    thread.start()
    thread.join()
    assert seen == [1]  # the first device, as in torch
    with torch.cuda.device(0):
        assert torch.cuda.current_device() == 0
    assert torch.cuda.current_device() == 1
    assert torch.cuda.get_device_capability(torch.cuda.device(0)) == torch.cuda.get_device_capability(0)
    assert torch.cuda.default_stream(torch.cuda.device(0)).device_index == 0  # torch takes a context for its device


def test_streams_and_events(gpu: object) -> None:
    stream = torch.cuda.Stream()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
        begin.record()
        sum(range(1000))
        end.record()
    assert torch.cuda.current_stream() is torch.cuda.default_stream()
    assert ctypes.cast(torch.cuda.current_stream(), ctypes.c_void_p).value is None  # as launchers by ctypes do
    torch.cuda.synchronize()
    stream.wait_stream(torch.cuda.current_stream())
    assert begin.elapsed_time(end) > 0
    with pytest.raises(ValueError, match="must be recorded"):
        begin.elapsed_time(torch.cuda.Event(enable_timing=True))
    with pytest.raises(ValueError, match="enable_timing=True"):
        torch.cuda.Event().elapsed_time(end)


def test_handles_of_streams(gpu: object) -> None:
    """As launchers ask for them, which is not by torch.cuda."""
    assert torch._C._cuda_getCurrentRawStream(0) == 0
    with torch.cuda.stream(torch.cuda.ExternalStream(4096, device=1)):
        assert [torch._C._cuda_getCurrentRawStream(index) for index in range(2)] == [0, 4096]


def test_memory_figures(gpu: object) -> None:
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_stats()["allocated_bytes.all.current"] == 0
    assert "CUDA memory summary, device ID 0" in torch.cuda.memory_summary()


@pytest.mark.parametrize("name", ["cudart", "MemPool", "memory_snapshot"])
def test_what_is_not_emulated_says_so(gpu: object, name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"torch\.cuda\.{name} is not emulated: .*docs/emulate\.md"):
        getattr(torch.cuda, name)()


def test_every_function_answers_or_refuses(gpu: object) -> None:
    """None is torch's own, which would look for a GPU."""
    own = {
        name
        for name in torch.cuda.__all__
        if callable(value := getattr(torch.cuda, name, None))
        and getattr(value, "__module__", "").startswith("torch.cuda")
        and not name.endswith(("Storage", "Tensor", "Error", "cudaStatus"))
    }
    assert own == set(_emulate._cuda.AS_THEY_ARE)


def test_contexts_have_the_generators_that_torchs_have() -> None:
    """Dynamo names them when it is loaded (since torch 2.14)."""
    generators = {}
    for name in torch.cuda.__all__:
        generator = getattr(getattr(torch.cuda, name, None), "__wrapped__", None)
        if inspect.isgeneratorfunction(generator):
            generators[name] = generator
    assert "use_mem_pool" in generators
    with wave_runtime.emulate():
        assert {name: getattr(torch.cuda, name).__wrapped__ for name in generators} == generators


def test_compilers_are_loaded_within() -> None:
    """In a process of its own, where nothing has loaded them."""
    code = """
import torch, wave_runtime
with wave_runtime.emulate("gfx1201"):
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2, device="cuda")).tolist() == [2, 2]
"""
    path = os.pathsep.join(filter(None, sys.path))  # the package may lie elsewhere than the tests
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=True)


# --- launches ---


def test_launches(gpu: object, vector_add: wave_runtime.Kernel) -> None:
    a, b = torch.randn(1000, device="cuda"), torch.randn(1000).cuda()
    c = torch.empty_like(a)
    vector_add(a, b, c, 1000, grid=4, block=256)
    assert torch.equal(c, a + b)
    vector_add.preload("cuda")
    assert vector_add.resources("cuda:0") == vector_add.resources("cpu") == vector_add.resources()


def test_a_limit_of_time(probe: Callable[..., wave_runtime.Kernel]) -> None:
    with wave_runtime.emulate(time_limit=0.2):
        assert os.environ["WAVE_RUNTIME_TIME_LIMIT"] == "0.2"
        with pytest.raises(wave_runtime.KernelFault, match=r"0\.2 s"):
            probe("spin")(torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), 0, 0, grid=1, block=64)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled(gpu: object, backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.ones(4, device="cuda") + x.to("cuda")
        return (y * torch.arange(4, device=torch.device("cuda"))).cpu()

    torch.compiler.reset()  # asks how torch was built, and for a GPU
    x = torch.randn(4)
    torch.testing.assert_close(torch.compile(function, fullgraph=True, backend=backend)(x), function(x))


def test_compilers_leave_our_functions_alone(gpu: object, recwarn: pytest.WarningsRecorder) -> None:
    """Dynamo asks torch.accelerator for a stream, and torch calls factories, where it compiles what is called."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad((x * x).sum(), x)[0]  # is not traced, but calls torch.ones_like

    torch.compiler.reset()
    x = torch.ones(3, requires_grad=True)
    assert torch.equal(torch.compile(function, backend="eager")(x), 2 * x)
    assert [str(warning.message) for warning in recwarn if "does not know how to trace" in str(warning.message)] == []


def test_compiled_without_graphs(gpu: object) -> None:
    """What Inductor does where it may not capture."""
    x = torch.randn(20, device="cuda")
    torch.testing.assert_close(torch.compile(torch.sin, mode="reduce-overhead")(x), x.sin())


def test_code_compiled_within_is_compiled_anew_outside() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return x.to(device) + torch.ones(2, device=device)

    compiled = torch.compile(function, backend="eager")
    with wave_runtime.emulate():
        assert compiled(torch.zeros(2)).tolist() == [1, 1]
    assert compiled(torch.zeros(2)).device == function(torch.zeros(2)).device


class Numbers(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        assert torch.cuda.is_available()
        return torch.full((2,), float(index))


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader(gpu: object, context: str) -> None:
    loader = torch.utils.data.DataLoader(
        Numbers(), batch_size=2, num_workers=1, pin_memory=True, multiprocessing_context=context
    )
    batches = [batch.cuda(non_blocking=True) for batch in loader]
    assert torch.cat(batches)[:, 0].tolist() == [0, 1, 2, 3]
