"""Memory at addresses that it had in another process."""

from __future__ import annotations

import ctypes
import mmap

import torch

from wave_runtime._old_addresses import map_memory, tensor_at


def free_address(size: int) -> int:
    """Where this process has nothing, for so many bytes from the beginning of a page on."""
    with mmap.mmap(-1, size) as room:
        cell = ctypes.c_char.from_buffer(room)
        address = ctypes.addressof(cell)
        del cell
    return address


def test_memory_is_where_it_was() -> None:
    """Also where blocks share a page, reach into the next one, or are empty."""
    page = mmap.PAGESIZE
    begin = free_address(4 * page)
    spans = [(begin + 100, 50), (begin + page - 8, 16), (begin + 3 * page, 0), (begin + 200, 8)]
    assert map_memory(spans)
    for address, size in spans:
        tensor = tensor_at(address, size)
        assert tensor.tolist() == [0] * size
        tensor.fill_(7)
        assert size == 0 or tensor.data_ptr() == address
    assert tensor_at(begin + 100, 100).sum() == 50 * 7
    assert not map_memory([(begin + page, 1)])  # where there is memory now


def test_all_of_it_or_none() -> None:
    taken = torch.ones(8)
    begin = free_address(mmap.PAGESIZE)
    assert not map_memory([(begin, 10), (taken.data_ptr(), 32)])
    assert taken.sum() == 8
    assert map_memory([(begin, 10)])
