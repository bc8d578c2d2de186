"""Memory at addresses that it had in another process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable

import torch

_MAP_FIXED_NOREPLACE = 0x100000  # linux/mman.h; Python's mmap takes no address
_FAILED = ctypes.c_void_p(-1).value


def _pages(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pages that spans of bytes lie in, as spans of which none touches another."""
    page = mmap.PAGESIZE
    merged: list[tuple[int, int]] = []
    for begin, size in sorted(spans):
        first, end = begin // page * page, -(-(begin + size) // page) * page
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif size:
            merged.append((first, end))
    return merged


def map_memory(spans: Iterable[tuple[int, int]]) -> bool:
    """Make memory of zeros at ``(address, size)`` each, in bytes, which stays as long as the process.

    Returns:
        Whether it is there: all of it or none, where this process has something at one of the addresses already.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED_NOREPLACE
    made: list[tuple[int, int]] = []
    for begin, end in _pages(spans):
        where = libc.mmap(begin, end - begin, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if where not in (_FAILED, None):
            made.append((where, end - begin))
        if where != begin:  # a kernel before Linux 4.17 takes the address as a hint
            for item in made:
                libc.munmap(*item)
            return False
    return True


def tensor_at(address: int, size: int) -> torch.Tensor:
    """The bytes at an address, uint8 ``[size]``."""
    if size == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=torch.uint8)
