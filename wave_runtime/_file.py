"""Files with GPU code, for the tools that look into them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wave_runtime import _C

Source = str | os.PathLike[str] | bytes

AMD = "AMD code object"


@dataclass(frozen=True)
class Image:
    """A code object, a cubin or PTX as it lies in a file or in an entry of a container.

    Attributes:
        code_object: what a kernel is made of.
    """

    code_object: _C.CodeObject

    @cached_property
    def data(self) -> bytes:
        """The ELF image, or the text of PTX."""
        return self.code_object.data

    @cached_property
    def parsed(self) -> dict[str, Any]:
        """All that it says, which takes a while where it has many kernels."""
        return self.code_object.describe()

    @property
    def is_amd(self) -> bool:
        """Whether it is a code object of AMD's."""
        return self.code_object.format == AMD

    @property
    def processor(self) -> str:
        """The processor whose instructions it has: "gfx942". For a generic target, what the emulator runs it as."""
        target = self.code_object.target
        return _C.emulated_processor(target) or target.split(":")[0]

    def lanes(self, address: int) -> int:
        """The lanes of the waves that run a function: of RDNA 32 or 64, as its kernel's descriptor says.

        A function that is no kernel has those of all kernels, or where they differ 32.
        """
        sizes = {
            kernel["entry_address"]: 32 if kernel["descriptor"]["enable_wavefront_size32"] else 64
            for kernel in self.parsed["kernels"]
            if "descriptor" in kernel
        }
        everywhere = set(sizes.values())
        return sizes.get(address, everywhere.pop() if len(everywhere) == 1 else 32)

    def code(self, name: str, address: int, size: int) -> bytes:
        """The whole words of a function's instructions."""
        for segment in self.parsed["segments"]:
            offset = address - segment["address"]
            left = segment["file_size"] - offset
            if segment["executable"] and offset >= 0 and left > 0:
                begin = segment["file_offset"] + offset
                return self.data[begin : begin + min(size, left) // 4 * 4]
        raise ValueError(f"{name}: its code at {address:#x} is in no executable segment of the file")


def read(source: Source) -> bytes:
    """The contents of a file, or the bytes that were given."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    with open(os.fspath(source), "rb") as file:  # an int would be a file of the process, which would be closed
        return file.read()


def amd_images(images: Sequence[Image], purpose: str) -> list[Image]:
    """Those for AMD GPUs. Raises ValueError, which names the purpose and what there is, where there are none."""
    found = [image for image in images if image.is_amd]
    if not found:
        kinds = ", ".join(sorted({f"{image.code_object.target} ({image.code_object.format})" for image in images}))
        raise ValueError(f"{purpose} is for AMD code objects; this file holds {kinds}")
    return found


def open_images(source: Source, target: str | None, only_amd: str | None = None) -> list[Image]:
    """The code objects in a file, one for each translation unit: those for a target, or all. Errors name the file.

    Args:
        source: a path or contents.
        target: a target id.
        only_amd: what the caller does with AMD's code; a file without any is refused, and other code is left out.
    """
    data = read(source)
    try:
        images = [Image(code) for code in _C.code_objects(data, target)]
        return images if only_amd is None else amd_images(images, only_amd)
    except ValueError as error:
        if isinstance(source, (str, os.PathLike)):
            raise ValueError(f"{os.fspath(source)}: {error}") from None
        raise
