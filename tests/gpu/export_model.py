"""Steps of test_export_cuda.py, each in a process of its own: compilers and loaders of packages may crash.

python export_model.py STEP DEVICE FOLDER, with one of the functions below, and "cuda" or, to try the steps, "cpu".
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

TESTS = Path(__file__).absolute().parent.parent
SIGNATURES = {
    "vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32",
    "reverse_dynamic": "a: *i32 const, b: *i32, n: i32",
}
SIZES = (100, 300, 1024)  # 300 is the one that is traced


class Model(torch.nn.Module):
    """Two kernels, a weight, dynamic shared memory, and a launch into a view: from [n] of f32, n up to 1024."""

    def __init__(self, device: str) -> None:
        super().__init__()
        import wave_runtime

        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 1024, device=device))
        kernels = wave_runtime.load(binary(device), signature=SIGNATURES)
        self.add, self.reverse = (kernels[name] for name in SIGNATURES)

    def forward(self, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Twice the input plus the weight, and hundreds of the input in reverse behind as many zeros."""
        n = a.shape[0]
        added = torch.empty_like(a)
        self.add(a * 2, self.weight.detach()[:n], added, n, grid=(n + 255) // 256, block=256)
        ints = (a * 100).to(torch.int32)
        out = torch.zeros(2 * n, dtype=torch.int32, device=a.device)
        self.reverse(ints, out[n:], n, grid=1, block=256, shared_memory=4 * n)
        return added.relu(), out

    def expected(self, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The same in torch."""
        ints = (a * 100).to(torch.int32)
        added = a * 2 + self.weight.detach()[: a.shape[0]]
        return added.relu(), torch.cat([torch.zeros_like(ints), ints.flip(0)])


class Sine(torch.nn.Module):
    """A model without our kernels, to tell our failures from torch's."""

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        """The sine."""
        return a.sin()


def binary(device: str) -> bytes:
    """The kernels of the conformance suite for the device."""
    if device == "cpu":
        return (TESTS / "conformance/kernels.hsaco").read_bytes()
    import wave_runtime

    major, minor = torch.cuda.get_device_capability()
    target = f"sm_{major}{minor}"
    return wave_runtime.compile(TESTS / "conformance/kernels.cu", target=target).images[target]


def exported(model: torch.nn.Module, device: str) -> torch.export.ExportedProgram:
    size = torch.export.Dim("size", min=4, max=1024)
    return torch.export.export(model, (torch.randn(300, device=device),), dynamic_shapes={"a": {0: size}})


def cases(folder: Path) -> list[tuple[torch.Tensor, tuple[torch.Tensor, ...]]]:
    loaded: list[tuple[torch.Tensor, tuple[torch.Tensor, ...]]] = torch.load(folder / "cases.pt")
    return loaded


def compare(given: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, ...]) -> None:
    torch.testing.assert_close(tuple(given), expected, rtol=0, atol=0)


def export(device: str, folder: Path) -> None:
    """Save the program, inputs and what they give."""
    model = Model(device)
    torch.export.save(exported(model, device), folder / "program.pt2")
    inputs = [torch.randn(n, device=device) for n in SIZES]
    torch.save([(a, model.expected(a)) for a in inputs], folder / "cases.pt")
    for index, a in enumerate(inputs):
        torch.save([a], folder / f"inputs{index}.pt")


def run_program(device: str, folder: Path) -> None:
    """Run the program where the operator library is all that is loaded."""
    command = [sys.executable, "-m", "wave_runtime", "operators"]
    library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    torch.ops.load_library(library)
    program = torch.export.load(folder / "program.pt2").module()
    for a, expected in cases(folder):
        compare(program(a), expected)
    assert "wave_runtime" not in sys.modules


def package(device: str, folder: Path) -> None:
    """Compile the package."""
    torch._inductor.aoti_compile_and_package(exported(Model(device), device), package_path=str(folder / "model.pt2"))


def package_sine(device: str, folder: Path) -> None:
    """The same for the model without our kernels."""
    torch._inductor.aoti_compile_and_package(exported(Sine(), device), package_path=str(folder / "sine.pt2"))


def compare_outputs(device: str, folder: Path) -> None:
    """Compare what the C++ program wrote."""
    for index, (_, expected) in enumerate(cases(folder)):
        compare(torch.load(folder / f"outputs{index}.pt"), expected)


STEPS = {step.__name__: step for step in (export, run_program, package, package_sine, compare_outputs)}

if __name__ == "__main__":
    STEPS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
