"""Line tables: which source line an instruction comes from, in listings and in messages."""

from __future__ import annotations

import struct
import zlib

import pytest
import torch
from support import PROBES, elf

import wave_runtime
from wave_runtime import _C
from wave_runtime.__main__ import main

VERSIONS = pytest.mark.parametrize("version", [4, 5])


@VERSIONS
def test_rows(version: int) -> None:
    """Of a function and a kernel; what is behind them has no line. llvm-dwarfdump says the same."""
    files, rows = _C.line_table((PROBES / f"lines_dwarf{version}.hsaco").read_bytes())
    lines = [line for _, line, _ in rows]
    assert lines == [2, 3, 3, 7, 8, 8, 8, 9, 0]
    assert [address - rows[0][0] for address, _, _ in rows] == [0, 4, 12, 256, 264, 284, 308, 316, 320]
    assert {files[file].removeprefix("./") for _, line, file in rows if line} == {"lines.hip"}


def test_files_without_line_tables_have_none() -> None:
    assert _C.line_table((PROBES / "probes.hsaco").read_bytes()) == ([], [])


@VERSIONS
def test_listing(version: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the source's text where it is found: paths are as the compiler was given them."""
    monkeypatch.chdir(PROBES)
    assert main(["disasm", f"lines_dwarf{version}.hsaco", "squares"]) == 0
    lines = capsys.readouterr().out.splitlines()
    comments = [line.strip() for line in lines if line.startswith("  #")]
    assert [comment.removeprefix("# ./").removeprefix("# ") for comment in comments] == [
        "lines.hip:7: const int i = __builtin_amdgcn_workitem_id_x();",
        "lines.hip:8: out[i] = square(in[i]);  // line 8",
        "lines.hip:9: }",
    ]
    monkeypatch.chdir(PROBES.parent)
    assert main(["disasm", str(PROBES / f"lines_dwarf{version}.hsaco"), "squares"]) == 0
    assert "lines.hip:7\n" in capsys.readouterr().out


def test_faults_say_the_line() -> None:
    signature = {"squares": "*i32 const, *i32"}
    kernel = wave_runtime.load(PROBES / "lines_dwarf5.hsaco", signature=signature)["squares"]
    with pytest.raises(wave_runtime.KernelFault, match=r"at squares\+0x[0-9a-f]+ \(lines.hip:8\): global_store_dword"):
        kernel(torch.arange(64, dtype=torch.int32), torch.zeros(8, dtype=torch.int32), grid=1, block=64)


def compressed(file: bytes, method: int = 1) -> bytes:
    """The file with its debugging information compressed, as clang's -gz=zlib does: SHF_COMPRESSED, and a header."""
    data = bytearray(file)
    (headers,), (size, count, names) = struct.unpack_from("<Q", file, 40), struct.unpack_from("<HHH", file, 58)
    (of_names,) = struct.unpack_from("<Q", file, headers + names * size + 24)
    for at in range(headers, headers + count * size, size):
        name, _, flags, _, offset, length = struct.unpack_from("<IIQQQQ", file, at)
        if not file.startswith(b".debug_", of_names + name):
            continue
        stream = struct.pack("<IIQQ", method, 0, length, 1) + zlib.compress(file[offset : offset + length])
        struct.pack_into("<Q", data, at + 8, flags | 0x800)
        struct.pack_into("<QQ", data, at + 24, len(data), len(stream))
        data += stream
    return bytes(data)


@VERSIONS
def test_compressed_tables(version: int) -> None:
    """As Debian and Fedora build ROCm's libraries."""
    file = (PROBES / f"lines_dwarf{version}.hsaco").read_bytes()
    assert _C.line_table(compressed(file)) == _C.line_table(file)
    kernel = wave_runtime.load(compressed(file), signature={"squares": "*i32 const, *i32"})["squares"]
    arguments = torch.arange(64, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    with wave_runtime.sanitize("memory") as report:
        kernel(*arguments, grid=1, block=64)
    (frame,) = report.findings[0].at.frames
    assert (frame.function, frame.line) == ("squares", 8)
    with pytest.raises(ValueError, match=r"malformed \w+ strings at offset 0x\w+: unknown compression method 7"):
        _C.line_table(compressed(file, method=7))


@pytest.mark.parametrize("length", [1, 20, 60])
def test_truncated_tables(length: int) -> None:
    """An error that says where, or fewer rows; never anything else."""
    data = bytearray((PROBES / "lines_dwarf5.hsaco").read_bytes())
    at = data.index(b"\x6f\0\0\0\x05\0\x08\0")  # the unit's length, version, size of addresses, none of segments
    data[at : at + 4] = length.to_bytes(4, "little")
    with pytest.raises(ValueError, match="malformed line table at offset"):
        _C.line_table(bytes(data))


def unit(begin: int, size: int, line: int) -> bytes:
    """A unit of version 4: rows for one line from `begin` on, which end behind `size` bytes."""
    header = bytes([4, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0" + b"file.hip\0\0\0\0" + b"\0"
    set_address, advance_line, advance = b"\0\x09\x02" + struct.pack("<Q", begin), bytes([3, line - 1]), b"\x02"
    program = set_address + advance_line + b"\x01" + advance + bytes([size // 4]) + b"\0\x01\x01"
    body = struct.pack("<HI", 4, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_unit_that_begins_where_another_ends(order: list[int]) -> None:
    """Linkers reorder functions and leave the units as they are."""
    units = [unit(0x1000, 64, line=10), unit(0x1040, 64, line=20)]
    _, rows = _C.line_table(elf(debug_line=b"".join(units[index] for index in order)))
    last = {address: line for address, line, _ in rows}  # of several at an address the last one counts
    assert last == {0x1000: 10, 0x1040: 20, 0x1080: 0}
