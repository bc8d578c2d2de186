"""Signatures as Python sees them. csrc/code_object/signature.h has the grammar and the parser."""

from __future__ import annotations

from typing import NamedTuple

import torch

from wave_runtime import _C
from wave_runtime._dtypes import DTYPES


class Parameter(NamedTuple):
    """A parameter of a kernel.

    Attributes:
        name: "" where the signature has none.
        text: its type as signatures write it: "*f32 const".
        type: "f32", of what a pointer points to, too.
    """

    name: str
    text: str
    type: str
    is_pointer: bool
    is_const: bool

    @property
    def dtype(self) -> torch.dtype | None:
        """The dtype of such a value, or of a pointer's elements, where there is one."""
        return DTYPES.get(self.type)


def parse(signature: str) -> list[Parameter]:
    """The parameters of a signature. Raises ValueError, which shows the signature and the position."""
    return [Parameter(*parameter) for parameter in _C.parse_signature(signature)]
