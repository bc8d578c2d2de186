"""Arrays of other libraries as tensors over the same memory: NumPy's, CuPy's, JAX's, Numba's."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.utils.dlpack


class _Writable:
    """An array without its flag that it is read-only, of which torch would warn: whoever asks does not write it."""

    def __init__(self, array: Any) -> None:
        self._array = array  # keeps the memory
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def tensor_over(value: Any, where: str, is_const: bool) -> torch.Tensor | None:
    """The tensor that shares an array's memory; None for what is no array.

    NumPy's arrays are taken as they are, those of ml_dtypes included; structured ones become their bytes, a dimension
    more, as ``torch.uint8``. What has ``__dlpack__`` is asked for its memory on torch's current stream; what only has
    ``__cuda_array_interface__`` is ordered by nobody.

    Args:
        value: an argument.
        where: names it in errors.
        is_const: whether the kernel only reads it, so that it may be read-only.

    Raises:
        TypeError: torch has no such type of elements.
        ValueError: the memory cannot be shared as it is: it is read-only and would be written, has negative strides, or
            lies where torch has no tensors.
    """
    numpy = sys.modules.get("numpy")
    is_numpy = numpy is not None and isinstance(value, numpy.ndarray)
    if is_numpy and not value.flags.writeable and not is_const:
        raise ValueError(f"{where}: the array is read-only, and the kernel may write it")
    try:
        if is_numpy:
            return _over_numpy(numpy, value)
        if hasattr(value, "__dlpack__"):
            return torch.utils.dlpack.from_dlpack(value)
        if hasattr(value, "__cuda_array_interface__"):
            return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        raise kind(f"{where}: the {name} cannot be passed as a tensor over the same memory: {error}") from None
    return None


def _over_numpy(numpy: Any, array: Any) -> torch.Tensor:
    if not array.flags.writeable:
        array = numpy.asarray(_Writable(array)).view(array.dtype)
    dtype = getattr(torch, array.dtype.name, None)
    is_registered = array.dtype.isbuiltin == 2  # with NumPy by another package: ml_dtypes' bfloat16, float8_e4m3fn
    if is_registered and isinstance(dtype, torch.dtype):
        return torch.from_numpy(array.view(f"u{array.dtype.itemsize}")).view(dtype)
    if array.dtype.kind == "V" and not is_registered:
        return torch.from_numpy(array[..., None].view(numpy.uint8))
    return torch.from_numpy(array)
