"""Which instructions of a code object the emulator cannot run: behind ``python -m wave_runtime coverage``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from wave_runtime import _C
from wave_runtime._file import Image, Source, open_images


def coverage(source: Source, target: str | None = None) -> dict[str, Any]:
    """Count the instructions of each kernel by whether the emulator runs them.

    Code is counted as it lies in the file: an instruction may stand where no launch reaches it.

    Returns:
        ``{kernel: {"instructions": int, "unsupported": {reason: count}}}``.
    """
    images = open_images(source, target, only_amd="the emulator")
    return {kernel["name"]: _of_kernel(image, kernel) for image in images for kernel in image.parsed["kernels"]}


def of_image(image: Image, name: str) -> dict[str, Any]:
    """The same of one kernel of one code object."""
    return next(_of_kernel(image, kernel) for kernel in image.parsed["kernels"] if kernel["name"] == name)


def _of_kernel(image: Image, kernel: dict[str, Any]) -> dict[str, Any]:
    code = image.code(kernel["name"], kernel["entry_address"], kernel["code_size"])
    instructions, lanes = _C.disassemble(image.processor, code), image.lanes(kernel["entry_address"])
    reasons = Counter(_C.unsupported(image.processor, words, lanes) for _, words, _ in instructions)
    del reasons[None]
    return {"instructions": len(instructions), "unsupported": dict(reasons.most_common())}


def render(report: dict[str, Any]) -> str:
    """The report of :func:`coverage` as text."""
    lines = []
    for name, kernel in report.items():
        missing = sum(kernel["unsupported"].values())
        lines.append(f"{name}: {kernel['instructions'] - missing} of {kernel['instructions']} instructions run")
        lines += [f"  {count:6}  {reason}" for reason, count in kernel["unsupported"].items()]
    return "\n".join(lines)
