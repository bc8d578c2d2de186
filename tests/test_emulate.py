"""wave_runtime.emulate: what programs find of the GPU, and that nothing of it is left."""

from __future__ import annotations

import ctypes
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support import ROOT

import wave_runtime
from wave_runtime import _C, _emulate

PROCESSORS = sorted(_C.emulator_processors())


@pytest.fixture
def gpu() -> Iterator[wave_runtime.Emulation]:
    with wave_runtime.emulate("gfx942", devices=2) as emulation:
        yield emulation


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
    assert _emulate._stack == []


# --- tensors ---


@pytest.mark.parametrize("device", ["cuda", "cuda:1", torch.device("cuda"), torch.device("cuda", 0), 1])
def test_factories(gpu: object, device: Any) -> None:
    makers: list[Callable[..., torch.Tensor]] = [
        lambda device: torch.empty(3, device=device),
        lambda device: torch.tensor([1.0, 2.0, 3.0], device=device),
        lambda device: torch.arange(3, device=device),
        lambda device: torch.randn(3, device=device, requires_grad=True),
        lambda device: torch.zeros_like(torch.ones(3), device=device),
        lambda device: torch.ones(2).new_zeros(3, device=device),
        lambda device: torch.as_tensor([1, 2, 3], device=device),
        lambda device: torch.randint(5, (3,), device=device, generator=torch.Generator(device)),
        lambda device: torch.ones(3).to(device),
        lambda device: torch.ones(3).to(device=device, dtype=torch.float16),
        lambda device: torch.ones(3).cuda(device),
        lambda device: torch.nn.Linear(3, 3, device=device).bias,
        lambda device: torch.nn.Linear(3, 3).to(device).bias,
        lambda device: torch.fft.fftfreq(3, device=device),
    ]
    for make in makers:
        made = make(device)
        assert made.shape == (3,)
        assert made.device == torch.device("cpu")
        assert made.is_cuda
        assert made.get_device() == 0


def test_a_device_that_there_is_not(gpu: object) -> None:
    for make in (
        lambda: torch.empty(3, device="cuda:2"),
        lambda: torch.ones(3).cuda(2),
        lambda: torch.cuda.set_device(7),
    ):
        with pytest.raises(RuntimeError, match=r"device cuda:\d: invalid device ordinal, 2 emulated"):
            make()


def test_moves_copy(gpu: object) -> None:
    """As between a host and a GPU: what is written on one side is not seen on the other."""
    host = torch.zeros(4)
    there = host.cuda()
    there += 1
    assert host.sum() == 0
    back = there.cpu()
    there += 1
    assert back.sum() == 4
    result = there * 2  # where it is nobody notes
    kept = result.to("cpu")
    result.zero_()
    assert kept.sum() == 16
    array = torch.as_tensor(host, device="cuda")
    array += 1
    assert host.sum() == 0


def test_what_is_there_stays_there(gpu: object) -> None:
    """A leaf of autograd's graph among it."""
    leaf = torch.randn(4, device="cuda", requires_grad=True)
    for same in (leaf.cuda(), leaf.to("cuda"), leaf.to(torch.device("cuda", 0)), leaf.to(device="cuda")):
        assert same is leaf
    part = leaf.detach()[1:]
    assert part.cuda() is part
    model = torch.nn.Linear(4, 4).cuda()
    addresses = [parameter.data_ptr() for parameter in model.parameters()]
    assert [parameter.data_ptr() for parameter in model.cuda().parameters()] == addresses
    assert torch.ones(1).to(leaf) is not None
    moved = leaf.detach().clone().to(torch.ones(2, device="cuda"))
    assert moved.untyped_storage().data_ptr() != leaf.untyped_storage().data_ptr()


def test_gradients_go_through_moves(gpu: object) -> None:
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).cpu().sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training(gpu: object, optimizer: type[torch.optim.Optimizer]) -> None:
    """With what programs for GPUs use: autocast, a scaler of gradients, an optimizer that asks for the accelerator."""
    model = torch.nn.Linear(4, 1).cuda()
    chosen, scaler = optimizer(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    x, y = torch.randn(16, 4, device="cuda"), torch.ones(16, 1, device="cuda")
    losses = []
    for _ in range(10):
        chosen.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = (model(x) - y).square().mean()
        scaler.scale(loss).backward()
        scaler.step(chosen)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_pinned_memory(gpu: object) -> None:
    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned()
    assert pinned.pin_memory() is pinned
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert not torch.empty(3).is_pinned()


def test_files(gpu: object, tmp_path: Path) -> None:
    torch.save({"x": torch.ones(3, device="cuda")}, tmp_path / "x.pt")
    for where in (None, "cuda", "cuda:1", torch.device("cuda"), {"cpu": "cuda:0"}, "cpu"):
        assert torch.load(tmp_path / "x.pt", map_location=where)["x"].device.type == "cpu"
    file = io.BytesIO((ROOT / "tests" / "emulator" / "kernels" / "probes.hsaco").read_bytes())
    with pytest.raises(Exception, match=r"(?i)pickle|magic|weights_only"):
        torch.load(file)


def test_device_contexts(gpu: object) -> None:
    with torch.device("cuda"):
        assert torch.ones(3).device.type == "cpu"
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


def test_random_numbers(gpu: object) -> None:
    torch.cuda.manual_seed(7)
    state = torch.cuda.get_rng_state()
    first = torch.randn(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.randn(3, device="cuda"), first)
    generator = torch.Generator(device="cuda")
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    with torch.random.fork_rng(devices=[0]):
        torch.randn(3, device="cuda")


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
        assert torch.cuda.get_device_capability() == (properties.major, properties.minor)
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


def test_memory_figures(gpu: object) -> None:
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_stats()["allocated_bytes.all.current"] == 0


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
        return x + torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu")

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


# --- processes ---

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


def test_processes_inherit_it() -> None:
    with wave_runtime.emulate("gfx1100", devices=2):
        environment = [*os.environ["PYTHONPATH"].split(os.pathsep), str(ROOT)]
        assert run(SHOW, PYTHONPATH=os.pathsep.join(environment)) == "gfx1100 2 cpu\n"
        assert run(f"import wave_runtime\n{SHOW}") == "gfx1100 2 cpu\n"  # also without the folder on the path
        grandchild = (
            f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {SHOW!r}], text=True))"
        )
        assert "gfx1100 2 cpu" in run(grandchild, PYTHONPATH=os.pathsep.join(environment))


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


COMMAND = (sys.executable, "-m", "wave_runtime", "emulate")


def test_command() -> None:
    shown = run(SHOW, *COMMAND, "--target", "gfx1201", "--devices", "2", "--")
    assert shown == "gfx1201 2 cpu\n"
    done = subprocess.run([*COMMAND, "--target", "mi300", "--", "true"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "target='mi300': the emulator has" in done.stderr


@pytest.mark.parametrize("upstream", [False, True])
def test_command_in_a_tree_that_nobody_has_installed(upstream: bool, tmp_path: Path) -> None:
    """The program's own folder is on its path, the tree is not; and upstream's module may be."""
    program = tmp_path / "program.py"
    program.write_text(f"{SHOW}import wave_runtime.triton\nprint(wave_runtime.__file__)\n")
    if upstream:
        (tmp_path / "wave_runtime.py").write_text("raise AssertionError('not this one')\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [*COMMAND, "--target", "gfx1201", "--", sys.executable, program]
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
    wrong = outcome("--wave-emulate=mi300")
    assert wrong.returncode == 4
    assert "--wave-emulate: target='mi300'" in wrong.stderr
    alone = outcome("--wave-inductor")
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
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-rpx", "-p", "wave_runtime.pytest", f"--known-failures={known}"]

    def outcome(*options: str) -> str:
        done = subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True)
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
    command = [sys.executable, "-m", "pytest", "-q", "-p", "wave_runtime.pytest", "--sample-each=3", "--collect-only"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
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
    assert run(code) == "2.0\n"


def test_another_version_of_triton(tmp_path: Path) -> None:
    """Whose interface to drivers is another: programs without Triton kernels run all the same."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.6.0'\n")
    code = """
import warnings, torch, wave_runtime
with warnings.catch_warnings(record=True) as found, wave_runtime.emulate():
    print(torch.ones(2, device="cuda").sum().item(), [str(each.message) for each in found])
"""
    out = run(code, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert out.startswith("2.0 ")
    assert "Triton 3.6.0 is installed; its kernels cannot be launched on the emulated gfx942" in out


def test_triton_is_not_imported() -> None:
    assert run("import sys, wave_runtime; print('triton' in sys.modules)") == "False\n"
