"""Calls AMD's rocSPARSE and rocRAND on tensors of an emulated GPU: ``rocm_libraries.py NAME...``.

Each of the functions that the names say compares what a library gives with torch, or with the generator's definition.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_double, c_int, c_size_t, c_ulonglong, c_void_p
from typing import Any

import torch

# Values of rocsparse-types.h and rocrand.h.
NONE, LOWER = 111, 0
ANALYSIS_REUSE, SOLVE_AUTO = 0, 0
PHILOX, SOBOL = 404, 501


def succeed(status: int) -> None:
    assert status == 0, status


def at(tensor: torch.Tensor) -> c_void_p:
    return c_void_p(tensor.data_ptr())


def made(function: Any, *arguments: Any) -> c_void_p:
    """What a function makes, to which it takes a pointer first."""
    result = c_void_p()
    succeed(function(byref(result), *arguments))
    return result


class Sparse:
    """A matrix of f64 in CSR on the device, and rocSPARSE's handles."""

    def __init__(self, dense: torch.Tensor) -> None:
        self.library = ctypes.CDLL("librocsparse.so.0")
        rows = [row.nonzero().flatten() for row in dense]
        starts = torch.tensor([0] + [len(row) for row in rows]).cumsum(0)
        self.starts, self.columns = starts.int().to("cuda"), torch.cat(rows).int().to("cuda")
        self.values = dense[dense != 0].to("cuda")
        self.handle = made(self.library.rocsparse_create_handle)
        self.description = made(self.library.rocsparse_create_mat_descr)
        self.info = made(self.library.rocsparse_create_mat_info)
        self.rows, self.inner = dense.shape
        self.csr = (self.description, at(self.values), at(self.starts), at(self.columns))


def matrix(rows: int, columns: int) -> torch.Tensor:
    """A twentieth of it is not zero."""
    kept = torch.rand(rows, columns) < 0.05
    return torch.where(kept, torch.randn(rows, columns, dtype=torch.float64), 0)


def csrmv() -> None:
    dense = matrix(700, 300)
    a, x, y = Sparse(dense), torch.randn(300, dtype=torch.float64), torch.zeros(700, dtype=torch.float64, device="cuda")
    given, call = x.to("cuda"), (NONE, a.rows, a.inner, len(a.values))
    succeed(a.library.rocsparse_dcsrmv_analysis(a.handle, *call, *a.csr, a.info))
    alpha, beta = c_double(2), c_double(0)
    x_y = (at(given), byref(beta), at(y))
    succeed(a.library.rocsparse_dcsrmv(a.handle, *call, byref(alpha), *a.csr, a.info, *x_y))
    torch.cuda.synchronize()
    torch.testing.assert_close(y.cpu(), 2 * dense @ x)


def csrmm() -> None:
    dense, b = matrix(130, 90), torch.randn(90, 40, dtype=torch.float64)
    a, c = Sparse(dense), torch.zeros(40, 130, dtype=torch.float64, device="cuda")  # columns lie one after the other
    given, call = b.t().contiguous().to("cuda"), (NONE, NONE, a.rows, 40, a.inner, len(a.values))
    alpha, beta = c_double(1), c_double(0)
    b_c = (at(given), a.inner, byref(beta), at(c), a.rows)
    succeed(a.library.rocsparse_dcsrmm(a.handle, *call, byref(alpha), *a.csr, *b_c))
    torch.cuda.synchronize()
    torch.testing.assert_close(c.cpu().t(), dense @ b)


def csrsv() -> None:
    """Solves by waves that wait for the rows that others solve."""
    dense = matrix(400, 400).tril(-1) + 3 * torch.eye(400, dtype=torch.float64)
    a, b, x = Sparse(dense), torch.randn(400, dtype=torch.float64), torch.zeros(400, dtype=torch.float64, device="cuda")
    succeed(a.library.rocsparse_set_mat_fill_mode(a.description, LOWER))
    given, size, call = b.to("cuda"), c_size_t(), (NONE, a.rows, len(a.values))
    succeed(a.library.rocsparse_dcsrsv_buffer_size(a.handle, *call, *a.csr, a.info, byref(size)))
    room, alpha = torch.empty(size.value, dtype=torch.uint8, device="cuda"), c_double(1)
    policies = (ANALYSIS_REUSE, SOLVE_AUTO, at(room))
    succeed(a.library.rocsparse_dcsrsv_analysis(a.handle, *call, *a.csr, a.info, *policies))
    end = (a.info, at(given), at(x), SOLVE_AUTO, at(room))
    succeed(a.library.rocsparse_dcsrsv_solve(a.handle, *call, byref(alpha), *a.csr, *end))
    torch.cuda.synchronize()
    torch.testing.assert_close(x.cpu(), torch.linalg.solve_triangular(dense, b[:, None], upper=False)[:, 0])


def csrsort() -> None:
    """Sorts the columns of each row, by rocPRIM's radix sort."""
    a = Sparse(matrix(200, 5000))
    count, expected = len(a.values), a.columns.clone()
    order = torch.empty(count, dtype=torch.int32, device="cuda")
    for start, end in zip(a.starts[:-1].tolist(), a.starts[1:].tolist(), strict=True):
        a.columns[start:end] = a.columns[start:end].flip(0)
    flipped, size = a.columns.clone(), c_size_t()
    call = (a.handle, a.rows, a.inner, count)
    pattern = (at(a.starts), at(a.columns))
    succeed(a.library.rocsparse_csrsort_buffer_size(*call, *pattern, byref(size)))
    room = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    succeed(a.library.rocsparse_create_identity_permutation(a.handle, count, at(order)))
    succeed(a.library.rocsparse_csrsort(*call, a.description, *pattern, at(order), at(room)))
    torch.cuda.synchronize()
    assert torch.equal(a.columns, expected)
    assert torch.equal(flipped[order.long()], expected)


def gtsv() -> None:
    """Solves tridiagonal equations, with pivots."""
    library, count = ctypes.CDLL("librocsparse.so.0"), 600
    lower, main, upper = torch.randn(3, count, dtype=torch.float64)
    lower[0] = upper[-1] = 0
    dense, b = main.diag() + lower[1:].diag(-1) + upper[:-1].diag(1), torch.randn(count, dtype=torch.float64)
    x, diagonals, size = b.to("cuda"), [row.to("cuda") for row in (lower, main, upper)], c_size_t()
    call = (made(library.rocsparse_create_handle), c_int(count), c_int(1), *map(at, diagonals), at(x), c_int(count))
    succeed(library.rocsparse_dgtsv_buffer_size(*call, byref(size)))
    room = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    succeed(library.rocsparse_dgtsv(*call, at(room)))
    torch.cuda.synchronize()
    torch.testing.assert_close(dense @ x.cpu(), b, rtol=1e-8, atol=1e-8)


def generated(kind: int, count: int, dimensions: int = 0, seed: int = 0) -> torch.Tensor:
    """What a generator of rocRAND makes: integers of 32 bits without a sign."""
    library = ctypes.CDLL("librocrand.so.1")
    generator = made(library.rocrand_create_generator, kind)
    if dimensions:
        succeed(library.rocrand_set_quasi_random_generator_dimensions(generator, dimensions))
    else:
        succeed(library.rocrand_set_seed(generator, c_ulonglong(seed)))
    result = torch.zeros(count, dtype=torch.int32, device="cuda")
    succeed(library.rocrand_generate(generator, at(result), c_size_t(count)))
    torch.cuda.synchronize()
    return result.cpu().long() & 0xFFFFFFFF


def philox_block(block: int, seed: int) -> list[int]:
    """Four of Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    a, b, c, d = block, 0, 0, 0
    key, other = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = second >> 32 ^ b ^ key, second & 0xFFFFFFFF, first >> 32 ^ d ^ other, first & 0xFFFFFFFF
        key, other = key + 0x9E3779B9 & 0xFFFFFFFF, other + 0xBB67AE85 & 0xFFFFFFFF
    return [a, b, c, d]


def philox() -> None:
    seed = 0x0123456789ABCDEF
    expected = [value for block in range(1000) for value in philox_block(block, seed)]
    assert generated(PHILOX, 4000, seed=seed).tolist() == expected


def sobol() -> None:
    """The same directions as torch's, which keeps the first thirty bits."""
    got = generated(SOBOL, 7 * 1024, dimensions=7).view(7, 1024) >> 2
    expected = torch.quasirandom.SobolEngine(7).draw(1024, dtype=torch.float64).t() * 2**30
    assert torch.equal(got, expected.long())


if __name__ == "__main__":
    torch.manual_seed(0)
    for name in sys.argv[1:]:
        globals()[name]()
        print(name)
