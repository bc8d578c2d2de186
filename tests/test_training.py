"""The example that trains a transformer, on the emulator, against torch."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT
from torch.nn import functional
from train_tiny_transformer import OURS, PRESETS, TORCH, Place, Text, main, make_model, parse_options
from training_operators import matmul, rmsnorm
from training_support import Call, calls, opcheck

PLACE = Place(torch.device("cpu"))
SCRIPT = ROOT / "examples" / "train_tiny_transformer.py"


@pytest.mark.parametrize("call", calls("cpu"), ids=lambda call: call[0].name)
def test_operators_pass_torchs_checks(call: Call) -> None:
    opcheck(call)


def test_gradients_are_torchs() -> None:
    preset, text = replace(PRESETS["cpu"], batch=2), Text()
    characters, following = next(text.batches(preset, PLACE))
    gradients = []
    for do in (OURS, TORCH):
        model = make_model(do, preset, text, PLACE, parse_options([]))
        loss = functional.cross_entropy(model(characters), following.flatten())
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    for ours, expected in zip(*gradients, strict=True):
        assert (ours - expected).norm() < 0.01 * expected.norm()  # a few bits of bf16


@pytest.mark.parametrize(
    "options", [pytest.param((), id="eager"), pytest.param(("--compile",), id="compiled", marks=pytest.mark.long)]
)
def test_losses_are_torchs(options: tuple[str, ...], tmp_path: Path) -> None:
    """The program compares them, and fails where they differ."""
    picture = tmp_path / "losses.png"
    done = warm_python.run(SCRIPT, "--compare", "--steps=5", "--picture", picture, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The largest difference of a loss from torch's is 0.0" in done.stdout
    assert "Wave kernels [####################] step 5/5  loss" in done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_block_compiles_once_for_any_size() -> None:
    text = Text()
    model = make_model(OURS, PRESETS["cpu"], text, PLACE, parse_options([]))
    compiled = torch.compile(model.blocks[0], backend="aot_eager", fullgraph=True, dynamic=True)
    compiled(torch.randn(2 * 16, 128, requires_grad=True), 16).sum().backward()
    with torch.compiler.set_stance("fail_on_recompile"):
        for batch, sequence in ((3, 20), (5, 33)):
            tokens = torch.randn(batch * sequence, 128, requires_grad=True)
            torch.testing.assert_close(compiled(tokens, sequence), model.blocks[0](tokens, sequence))


def test_errors() -> None:
    a = torch.randn(4, 8).bfloat16()
    with pytest.raises(ValueError, match=r"matmul of layout 'nn': shapes \[4, 8\] and \[4, 8\] do not fit"):
        matmul(a, a, "nn")
    with pytest.raises(ValueError, match="rows of up to 1024 numbers, and not 1025"):
        rmsnorm(torch.randn(2, 1025), torch.ones(1025))


def test_fsdp_needs_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--fsdp"])
    with pytest.raises(SystemExit, match="start them by torchrun"):
        main()
