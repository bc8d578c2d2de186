"""The instructions of a code object's kernels as text, without a GPU and without LLVM."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wave_runtime import _C
from wave_runtime._file import Image, Source, open_images

_BRANCH = re.compile(r"s_(?:branch|cbranch_\w+|call_b64) (?:.*, )?(\d+)$")


@dataclass(frozen=True)
class _Function:
    name: str
    address: int
    size: int
    is_kernel: bool

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.address + self.size


def disassemble(source: Source, kernel: str | None = None, target: str | None = None) -> str:
    """Disassemble the code of a file, as LLVM writes it.

    Each function begins with a label; each line has an address, the instruction's words and its text. The targets of
    branches stand in a comment: ``# -> kernel+0x40``. Words that are no instruction are printed as ``.long``. Where the
    file has line tables (``-g``), a comment says which source line the instructions below it come from, and the line
    itself, where the source is there.

    Args:
        source: the path or the contents of an ELF code object, an offload bundle, or a host object with one.
        kernel: print this kernel only; without it, all functions.
        target: which entry of a bundle to take, as a target id ("gfx942:xnack-").

    Raises:
        ValueError: the file is malformed, has no such kernel, or is for a processor without an instruction table.
        OSError: the file cannot be read.
    """
    return text_of_all(open_images(source, target, only_amd="disassembling"), kernel)


def text_of_all(images: Sequence[Image], kernel: str | None) -> str:
    """What :func:`disassemble` returns, of code objects of AMD's."""
    names = [item["name"] for image in images for item in image.parsed["kernels"]]
    if kernel is not None and kernel not in names:
        raise ValueError(f"no kernel {kernel!r} in this code object; its kernels: {', '.join(names) or 'none'}")
    blocks = [block for image in images for block in _blocks(image, kernel)]
    return "\n".join(blocks)


def text_of(image: Image, kernel: str) -> str | None:
    """A kernel's code as text: of AMD its instructions, of PTX the whole file. None of what cannot be shown: cubins."""
    if image.is_amd:
        return "\n".join(_blocks(image, kernel))
    return image.data.rstrip(b"\0").decode() if image.code_object.format == "PTX" else None


def _blocks(image: Image, kernel: str | None) -> list[str]:
    known = functions(image.parsed)
    chosen = [function for function in known if kernel is None or (function.is_kernel and function.name == kernel)]
    sources = _Sources(image)
    return [_block(image, function, known, sources) for function in chosen]


def functions(parsed: dict[str, Any]) -> list[_Function]:
    """The kernels and the other functions, by address."""
    found = {
        kernel["entry_address"]: _Function(kernel["name"], kernel["entry_address"], kernel["code_size"], True)
        for kernel in parsed["kernels"]
    }
    for symbol in parsed["symbols"]:
        if symbol["is_function"] and symbol["size"] > 0:
            function = _Function(symbol["name"], symbol["address"], symbol["size"], False)
            found.setdefault(function.address, function)
    return [found[address] for address in sorted(found)]


def _label(address: int, functions: list[_Function]) -> str:
    """An address as the function that contains it and an offset; outside of all functions as a number."""
    index = bisect_right([function.address for function in functions], address) - 1
    if index < 0 or address not in functions[index]:
        return f"{address:#x}"
    offset = address - functions[index].address
    return functions[index].name + (f"+{offset:#x}" if offset else "")


class _Sources:
    """The source lines of an image's instructions."""

    def __init__(self, image: Image) -> None:
        self._files, rows = _C.line_table(image.data)
        self._rows = {address: (file, line) for address, line, file in rows}  # of rows at one address the last counts
        self._texts: dict[str, list[str]] = {}

    def comment(self, address: int) -> str | None:
        """``# file.hip:12: text``, where another line begins at an address."""
        file, line = self._rows.get(address, (0, 0))
        if line == 0:
            return None
        path = self._files[file]
        if path not in self._texts:
            try:
                self._texts[path] = Path(path).read_text(errors="replace").splitlines()
            except OSError:
                self._texts[path] = []
        texts = self._texts[path]
        return f"  # {path}:{line}" + (f": {texts[line - 1].strip()}" if line <= len(texts) else "")


def _lines(image: Image, function: _Function, functions: list[_Function], sources: _Sources) -> Iterator[str]:
    code = image.code(function.name, function.address, function.size)
    lanes, last_comment = image.lanes(function.address), None
    for line_address, words, text in _C.disassemble(image.processor, code, function.address, lanes):
        comment = sources.comment(line_address)
        if comment is not None and comment != last_comment:
            yield comment
            last_comment = comment
        digits = " ".join(f"{int.from_bytes(words[i : i + 4], 'little'):08x}" for i in range(0, len(words), 4))
        line = f"  {line_address:012x}  {digits:<17}  {text}"
        if match := _BRANCH.match(text):
            distance = (int(match[1]) ^ 0x8000) - 0x8000  # SIMM16 counts words from the next instruction on
            line += f"  # -> {_label(line_address + 4 + 4 * distance, functions)}"
        yield line


def _block(image: Image, function: _Function, functions: list[_Function], sources: _Sources) -> str:
    lines = _lines(image, function, functions, sources)
    return "".join(f"{line}\n" for line in (f"{function.name}:", *lines))
