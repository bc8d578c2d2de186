"""Element types of IREE, and tensors as buffers of its CPU devices."""

from __future__ import annotations

import functools
from typing import Any

import torch

from wave_runtime.compat.launchable._errors import require

# Torch's dtypes with the names that IREE's runtime gives to element types. It has no other dtypes.
_NAMES = {
    torch.bool: "BOOL_8",
    torch.int8: "SINT_8",
    torch.int16: "SINT_16",
    torch.int32: "SINT_32",
    torch.int64: "SINT_64",
    torch.uint8: "UINT_8",
    torch.uint16: "UINT_16",
    torch.uint32: "UINT_32",
    torch.uint64: "UINT_64",
    torch.float16: "FLOAT_16",
    torch.bfloat16: "BFLOAT_16",
    torch.float32: "FLOAT_32",
    torch.float64: "FLOAT_64",
    torch.complex64: "COMPLEX_64",
    torch.complex128: "COMPLEX_128",
    torch.float8_e4m3fn: "FLOAT_8_E4M3_FN",
    torch.float8_e4m3fnuz: "FLOAT_8_E4M3_FNUZ",
    torch.float8_e5m2: "FLOAT_8_E5M2",
    torch.float8_e5m2fnuz: "FLOAT_8_E5M2_FNUZ",
    torch.float8_e8m0fnu: "FLOAT_8_E8M0_FNU",
}
_SIGNLESS = {"INT_8": torch.int8, "INT_16": torch.int16, "INT_32": torch.int32, "INT_64": torch.int64}
_WITHOUT_NUMPY = {  # numpy lacks them: integers of their size travel in their place
    dtype: torch.int16 if dtype.itemsize == 2 else torch.uint8
    for dtype in _NAMES
    if dtype.is_floating_point and (dtype == torch.bfloat16 or dtype.itemsize == 1)
}


def element_type_of(dtype: torch.dtype) -> Any:
    """IREE's ``HalElementType`` for a dtype. Raises ValueError where it has none."""
    if dtype not in _NAMES:
        raise ValueError(f"IREE has no element type for {dtype}")
    return getattr(require("iree.runtime").HalElementType, _NAMES[dtype])


@functools.cache
def _dtypes() -> dict[int, torch.dtype]:
    types = require("iree.runtime").HalElementType
    named = {**{name: dtype for dtype, name in _NAMES.items()}, **_SIGNLESS}
    return {int(getattr(types, name)): dtype for name, dtype in named.items()}


def dtype_of(element_type: int) -> torch.dtype:
    """Torch's dtype for a ``HalElementType``. Raises NotImplementedError where it has none."""
    if int(element_type) not in _dtypes():
        raise NotImplementedError(f"HalBufferView.element_type({element_type}) has no mapping to dtype")
    return _dtypes()[int(element_type)]


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, where its memory holds its values one behind the other, or else a copy of which that is so.

    It is not so of lazy negatives and conjugates, either, whose memory holds other values.
    """
    return tensor.contiguous().resolve_conj().resolve_neg()


def copy_from_cpu(hal_device: Any, tensor: torch.Tensor) -> Any:
    """A buffer view with a copy of a CPU tensor.

    A copy, because IREE takes no memory that does not begin at a multiple of 64 bytes, and may return what it is given.
    """
    runtime = require("iree.runtime")
    element_type = element_type_of(tensor.dtype)
    plain = dense(tensor.detach())
    return hal_device.allocator.allocate_buffer_copy(
        memory_type=runtime.MemoryType.DEVICE_LOCAL,
        allowed_usage=runtime.BufferUsage.DEFAULT,
        device=hal_device,
        buffer=plain.view(_WITHOUT_NUMPY.get(plain.dtype, plain.dtype)).numpy(),
        element_type=element_type,
    )


def map_on_cpu(view: Any, like: torch.Tensor) -> torch.Tensor:
    """A CPU tensor that shares a buffer view's memory, with the shape and dtype of ``like``."""
    stand_in = _WITHOUT_NUMPY.get(like.dtype, like.dtype)
    if like.numel() == 0:
        return torch.empty(like.shape, dtype=like.dtype)
    array = view.map().asarray(list(like.shape), torch.empty(0, dtype=stand_in).numpy().dtype)
    return torch.from_numpy(array).view(like.dtype)
