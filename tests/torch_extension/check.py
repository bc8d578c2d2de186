"""Calls the extension's operators on an emulated GPU: the first argument says what is called."""

import os
import re
import sys
from collections.abc import Callable

import torch  # first: it loads the libraries that the extension was linked with

import emulated_extension  # isort: skip

operators = torch.ops.emulated_extension


def results() -> None:
    """Kernels, and what torch's headers declare for them, against torch."""
    torch.manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        a, b = (torch.randn(1000, device="cuda").to(dtype) for _ in range(2))
        assert torch.equal(operators.add(a, b), a + b)
        small = torch.arange(600, device="cuda").remainder(2).to(dtype)
        assert torch.equal(operators.sums(small, 3), small.view(200, 3).sum(0))
    a, b = (torch.randn(1000, device="cuda").bfloat16() for _ in range(2))
    assert torch.equal(operators.add_pairs(a, b), a + b)
    for dtype, error in ((torch.complex64, 2e-5), (torch.complex128, 1e-13)):
        z = torch.randn(1000, dtype=dtype, device="cuda")
        expected = torch.exp(z) / (z * z) + torch.sqrt(z) * torch.tanh(z)
        torch.testing.assert_close(operators.exponential(z), expected, rtol=error, atol=error)
    values = torch.randint(0, 10, (2000,), device="cuda")
    assert operators.counts(values, 10).tolist() == torch.bincount(values).tolist()
    (size,) = {torch.cuda.get_device_properties(0).warp_size}
    assert operators.wave_sizes() == [size, size, size, torch.cuda.device_count()]
    assert operators.negative(values).tolist() == (-values).tolist()
    compiled = torch.compile(lambda a: operators.add(a, a) * 2, backend="eager")
    assert torch.equal(compiled(values.float()), values.float() * 4)


def products() -> None:
    """Of matrices, by hipBLAS and by torch's functions over it: to float's sums."""
    torch.manual_seed(2)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        a, b = (torch.randn(3, rows, 5, device="cuda").to(dtype) for rows in (7, 4))
        for is_torchs in (False, True):
            expected = (a.double() @ b.double().mT + 0.5).to(dtype)
            torch.testing.assert_close(operators.products(a, b, 0.5, 7, is_torchs), expected)
            behind = r"by \d+ bytes past the end of the hipMalloc at .*: 3 of 4 x 8 elements"
            assert re.search(behind, raised(operators.products, a, b, 0.5, 8, is_torchs))
    one = torch.ones(1, 1, 4, device="cuda")
    assert "share their memory" in raised(operators.products, one.expand(1, 2, 4), one, 0.0, 2, True)


def raised(function: Callable[..., object], *arguments: object) -> str:
    try:
        function(*arguments)
    except RuntimeError as error:
        return str(error)
    return "nothing"


def random_numbers() -> None:
    """Keys come from torch's seed, another one for each launch."""
    torch.manual_seed(1)
    keys = [operators.philox(4).tolist() for _ in range(2)]
    assert keys[0][0] != keys[1][0]
    assert keys[0][1] == keys[1][1] == 0
    torch.cuda.manual_seed(1)
    assert keys[0] == operators.philox(4).tolist()
    for generator in (torch.Generator("cuda"), torch.Generator()):
        others = [operators.philox(4, generator.manual_seed(seed)).tolist() for seed in (1, 5, 5)]
        assert others[0] == keys[0]
        assert others[0] != others[1] == others[2] != operators.philox(4, generator).tolist()
    assert keys[1] == operators.philox(4).tolist()  # others than theirs have drawn nothing from it


def devices() -> None:
    """Those that a program hands over, by an operator and by a function of the module, and those with a name."""
    for places in (operators.places, emulated_extension.places):
        for device in ("cuda", "cuda:0"):
            for tensor in places(torch.device(device), device):
                assert tensor.tolist() == [0, 0]
                assert tensor.is_cuda
        for name in ("cuda:", "cuda:x", "cudas"):
            assert f"no device is called '{name}': expected" in raised(places, torch.device("cuda"), name)


def forked_children() -> None:
    """A child has its parent's tensors, and makes its own, as the processes of a DataLoader do."""
    a = torch.ones(1000, device="cuda")
    operators.add(a, a)
    child = os.fork()
    if child == 0:
        b = a + torch.ones(1000)
        del a
        os._exit(0 if b.tolist() == [2.0] * 1000 else 1)
    assert os.waitpid(child, 0) == (child, 0)
    assert operators.add(a, a).tolist() == [2.0] * 1000


def behind_the_end() -> None:
    """The kernel counts a value for which the tensor has no place."""
    counts = operators.counts(torch.full((100,), 12, device="cuda"), 10)
    print("returned", counts.tolist())


globals()[sys.argv[1]]()
