"""wave_runtime.emulate: what tensors are that programs ask for on the GPU."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support import ROOT


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
    functions = (lambda storage, where: storage.cuda(), lambda storage, where: storage.cuda(1))
    for where in (None, "cuda", "cuda:1", torch.device("cuda"), {"cpu": "cuda:0"}, "cpu", *functions):
        assert torch.load(tmp_path / "x.pt", map_location=where)["x"].device.type == "cpu"
    file = io.BytesIO((ROOT / "tests" / "emulator" / "kernels" / "probes.hsaco").read_bytes())
    with pytest.raises(Exception, match=r"(?i)pickle|magic|weights_only"):
        torch.load(file)


def test_the_device_of_a_tensor_there(gpu: object) -> None:
    """Wrappers of kernels write ``out.to(x.device)`` and launch on the result, which is ``out`` where it is there."""
    x = torch.zeros(4, device="cuda")
    where = x.device
    assert where == torch.device("cpu")
    for there in (
        x,
        x[1:].detach(),
        torch.empty(3, device=where),
        torch.empty_like(x),
        x.new_zeros(3),
        torch.zeros(3, device=torch.empty_like(x).device),
        torch.ones(3).to(where),
        torch.nn.Linear(3, 3).to(where).weight,
        torch.nn.Linear(3, 3, device=where).bias,
    ):
        assert there.to(where) is there.to(device=where) is there.cuda() is there
    module = torch.nn.Linear(3, 3, device="cuda")
    assert module.to(where).weight.data_ptr() == module.weight.data_ptr()


def test_what_is_there_stays_there_in_a_context(gpu: object) -> None:
    """The context is a mode of torch, which has each function called by way of it."""
    x = torch.zeros(4, device="cuda")
    with torch.device("cuda"):
        for same in (x.to("cuda"), x.to(device="cuda"), x.cuda(), x.to(x.device), x.to(torch.ones_like(x).device)):
            assert same is x
        assert x.new_zeros(3).cuda().cpu().sum() == 0
        back = x.to(torch.device("cpu"))
        x += 1
        assert back.sum() == 0


def test_the_device_of_a_tensor_on_the_host(gpu: object) -> None:
    """It is not the other's, though both are the CPU."""
    host, x = torch.zeros(4), torch.zeros(4, device="cuda")
    there = host.to(x.device)
    there += 1
    assert host.sum() == 0
    for device in (host.device, torch.zeros_like(host).device, torch.device("cpu"), x.cpu().device):
        back = there.to(device)
        there += 1
        assert back.sum() == there.sum() - 4
    as_there = torch.as_tensor(host, device=x.device)
    as_there += 1
    assert host.sum() == 0
    sparse = torch.eye(3, device="cuda").to_sparse()
    assert torch.zeros_like(sparse).device == sparse.device == torch.device("cpu")
    assert torch.empty(3, device="meta").device == torch.device("meta")


def test_the_device_of_a_tensor_in_compiled_code(gpu: object) -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(4, device=x.device) + x.to(x.device)

    x = torch.randn(4, device="cuda")
    torch.testing.assert_close(torch.compile(shifted, fullgraph=True, backend="aot_eager")(x), x + 1)


def test_storages_move(gpu: object) -> None:
    """As tensors do: a copy, unless it is there."""
    on_host = torch.ones(3)
    on_gpu = on_host.untyped_storage().cuda()
    assert on_gpu.data_ptr() != on_host.data_ptr()
    assert on_gpu.cuda().data_ptr() == on_gpu.to(device="cuda:1").data_ptr() == on_gpu.data_ptr()
    assert on_gpu.cpu().data_ptr() != on_gpu.data_ptr()
    on_host.zero_()
    assert torch.tensor([], dtype=torch.float32).set_(on_gpu).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        on_gpu.cuda(9)


def test_transformed_functions_move(gpu: object) -> None:
    """Under vmap and grad a tensor has no storage of its own."""

    def moves(x: torch.Tensor) -> torch.Tensor:
        there = x.cuda() * torch.ones_like(x, device="cuda")
        return (there.to("cuda:1").cpu().pin_memory() ** 2).sum() if not there.is_pinned() else there.sum()

    x = torch.randn(4, 3)
    torch.testing.assert_close(torch.vmap(moves)(x), (x**2).sum(1))
    torch.testing.assert_close(torch.func.grad(moves)(x), 2 * x)
    torch.testing.assert_close(torch.vmap(torch.func.grad(moves))(x), 2 * x)


def test_data_parallel(gpu: object) -> None:
    """One device does it all."""
    model = torch.nn.Linear(3, 4, device="cuda")
    x = torch.randn(6, 3, device="cuda")
    assert torch.equal(torch.nn.DataParallel(model).cuda()(x), model(x))


def test_scripted_functions(gpu: object) -> None:
    x = torch.ones(3, device="cuda")
    assert torch.equal(torch.jit.script(_zeros_and_ones)(x), torch.tensor([0.0, 0, 0, 1, 1, 1, 1, 1, 1]))


def _zeros_and_ones(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.zeros([3], dtype=x.dtype, device=x.device), torch.ones_like(x), x.new_ones(3)])


def test_device_contexts(gpu: object) -> None:
    with torch.device("cuda"):
        assert torch.ones(3).device.type == "cpu"
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


TYPES = {
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}


@pytest.mark.parametrize(("name", "dtype"), TYPES.items())
def test_types_of_tensors(gpu: object, name: str, dtype: torch.dtype) -> None:
    """torch.cuda.FloatTensor and its like make tensors, convert them, and know those of their dtype."""
    kind = getattr(torch.cuda, name)
    host = torch.ones(2, 3, dtype=dtype)
    makers: list[Callable[[], torch.Tensor]] = [
        lambda: kind(2, 3).fill_(1),
        lambda: kind(torch.Size((2, 3)), device="cuda:1").fill_(1),
        lambda: kind([[1, 1, 1], [1, 1, 1]]),
        lambda: torch.ones(2, 3).type(kind),
        lambda: host.type(kind, non_blocking=True),
        lambda: host.type(f"torch.cuda.{name}"),
    ]
    for make in makers:
        made = make()
        assert torch.equal(made, host)
        assert isinstance(made, kind)
        assert made.cuda() is made
        made.zero_()
        assert host.all()
    assert (kind.dtype, kind.is_cuda, repr(kind)) == (dtype, True, f"<class 'torch.cuda.{name}'>")
    assert not isinstance(torch.ones(2, dtype=torch.complex64), kind)


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type:UserWarning")
def test_the_default_type_of_tensors(gpu: object) -> None:
    assert torch.ones(2).type(torch.float64).type() == "torch.DoubleTensor"
    assert torch.nn.Linear(2, 2).type(torch.cuda.HalfTensor).weight.dtype == torch.float16
    try:
        for kind in (torch.cuda.DoubleTensor, "torch.cuda.DoubleTensor"):
            torch.set_default_tensor_type(kind)
            assert torch.ones(2).dtype == torch.Tensor(2).dtype == torch.float64
            torch.set_default_tensor_type(torch.FloatTensor)
            assert torch.ones(2).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


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
