"""Two GPUs: of one process, and of two."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import torch
from catalog.training import Functions, layer_by_torch, trainable_layer
from ranks import run_ranks
from support import ROOT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.needs("cuda", "two-gpus"),
    pytest.mark.filterwarnings("default"),  # NCCL and torch have advice for each machine.
]


@pytest.fixture
def functions() -> Functions:
    """Of two GPUs; the same kernels serve both."""
    return Functions("cuda:0")


@pytest.mark.parametrize("current", [0, 1])
def test_whatever_device_is_current(functions: Functions, current: int) -> None:
    with torch.cuda.device(current):
        for device in ("cuda:0", "cuda:1", "cuda:0", "cuda:1"):
            a, b = torch.randn(70, 50, device=device), torch.randn(50, 90, device=device)
            product = functions.matmul(a, b)
            assert product.device == a.device
            assert torch.cuda.current_device() == current
            torch.testing.assert_close(product, a @ b, rtol=1e-5, atol=1e-4)


def test_a_launch_takes_tensors_of_one_device(functions: Functions) -> None:
    with pytest.raises(ValueError, match="device"):
        functions.matmul(torch.ones(2, 2, device="cuda:0"), torch.ones(2, 2, device="cuda:1"))


def test_a_thread_for_each_gpu(functions: Functions) -> None:
    """Threads that never used CUDA before launch the same kernels at once, each on a stream of its own."""
    wrong: list[str] = []

    def work(device: str) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream(device)):
                x = torch.randn(10_000, device=device)
                expected = torch.nn.functional.gelu(x, approximate="tanh")
                for i in range(200):
                    if (error := (functions.gelu(x) - expected).abs().max().item()) > 1e-5:
                        wrong.append(f"{device}, launch {i}: error {error}")
        except Exception as error:
            wrong.append(f"{device}: {error!r}")

    threads = [threading.Thread(target=work, args=(f"cuda:{i % 2}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_backward_pass_over_two_gpus(functions: Functions) -> None:
    """A model whose layers lie on different GPUs; torch runs the backward of each GPU in a thread of its own."""
    torch.manual_seed(0)
    x = torch.randn(40, 64, device="cuda:0")
    weights = [torch.randn(64, 64, device=f"cuda:{i}") / 8 for i in (0, 1)]
    results = []
    for layer in (trainable_layer(functions), layer_by_torch):
        w0, w1 = (w.clone().requires_grad_() for w in weights)
        loss = layer(layer(x, w0).to("cuda:1"), w1).square().sum()
        results.append((loss.detach(), *torch.autograd.grad(loss, (w0, w1))))
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [(), ("--fsdp",), ("--fsdp", "--compile")], ids=["ddp", "fsdp2", "fsdp2-compiled"])
def test_two_processes_train_together(options: tuple[str, ...], tmp_path: Path) -> None:
    """The program compares with torch, distributed in the same way."""
    program, file = ROOT / "examples" / "train_tiny_transformer.py", tmp_path / "losses.json"
    files = ("--json", file, "--picture", tmp_path / "x.png")
    run_ranks(program, "--device=cuda", "--compare", "--steps=20", *files, *options, directory=tmp_path)
    losses, _ = json.loads(file.read_text()).values()
    assert losses[-1] < losses[0] - 0.5


def test_the_gemm_is_sharded(tmp_path: Path) -> None:
    output = run_ranks(ROOT / "examples" / "sharded_gemm.py", "--device=cuda", directory=tmp_path)
    assert "All results equal torch's" in output
