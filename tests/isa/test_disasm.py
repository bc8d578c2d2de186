"""The text of whole code objects: labels, addresses, branch targets."""

from __future__ import annotations

import re
from pathlib import Path

import isa_support
import pytest

from wave_runtime import _C
from wave_runtime._disasm import disassemble

FILES = sorted((isa_support.ROOT / "examples/kernels").rglob("*.hsaco"))
LINE = re.compile(r"  ([0-9a-f]{12})  ((?:[0-9a-f]{8} ?)+?) +(\S.*)")


def blocks(text: str) -> dict[str, list[str]]:
    """The lines below each label."""
    found: dict[str, list[str]] = {}
    label = ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            label = line[:-1]
            found[label] = []
        elif line:
            found[label].append(line)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_kernel_is_printed(path: Path) -> None:
    parsed = _C.CodeObject(path.read_bytes(), None).describe()
    printed = blocks(disassemble(path))
    for kernel in parsed["kernels"]:
        lines = [match for line in printed[kernel["name"]] if (match := LINE.fullmatch(line))]
        assert len(lines) == len(printed[kernel["name"]])
        assert int(lines[0][1], 16) == kernel["entry_address"]
        assert sum(4 * len(match[2].split()) for match in lines) == kernel["code_size"] // 4 * 4
        for match in lines:
            words = [int(word, 16) for word in match[2].split()]
            assert isa_support.text(*words) == match[3].partition("  # ->")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_branches_name_their_targets(path: Path) -> None:
    """Each target is the address of an instruction, and what SIMM16 says."""
    for label, lines in blocks(disassemble(path)).items():
        matches = [match for line in lines if (match := LINE.fullmatch(line))]
        addresses = {int(match[1], 16) for match in matches}
        for match in matches:
            if not re.match(r"s_c?branch", match[3]):
                continue
            text, _, target = match[3].partition("  # -> ")
            offset = int(text.split()[-1])
            expected = int(match[1], 16) + 4 + 4 * (offset - 0x10000 if offset >= 0x8000 else offset)
            assert expected in addresses
            name, _, distance = target.partition("+")
            assert name == label
            assert expected == min(addresses) + int(distance or "0", 16)


def test_one_kernel_of_a_file() -> None:
    data = FILES[0].read_bytes()
    name = _C.CodeObject(data, None).describe()["kernels"][0]["name"]
    assert list(blocks(disassemble(data, kernel=name))) == [name]
    with pytest.raises(ValueError, match=f"no kernel 'nope' in this code object; its kernels: .*{name}"):
        disassemble(data, kernel="nope")


def test_other_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="code object"):
        disassemble(b"no code object")
    with pytest.raises(OSError, match="missing"):
        disassemble(tmp_path / "missing.co")
