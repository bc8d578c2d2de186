"""Functions of the source: what compilers' -g says of them (DWARF 4 and 5), in every form that it may take."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from support import build_cpp, elf

UNIT, FUNCTION, COPY, BLOCK = 0x11, 0x2E, 0x1D, 0x0B  # tags
NAME, STMT_LIST, LOW, HIGH, ORIGIN, SPECIFICATION, RANGES = 0x03, 0x10, 0x11, 0x12, 0x31, 0x47, 0x55
CALL_FILE, CALL_LINE, STR_OFFSETS_BASE, ADDR_BASE, RNGLISTS_BASE = 0x58, 0x59, 0x72, 0x73, 0x74
UNKNOWN = 0x2001  # an attribute that a vendor adds
ADDR, STRING, STRP, UDATA, DATA1, DATA4, DATA8, REF4, REF_ADDR = 0x01, 0x08, 0x0E, 0x0F, 0x0B, 0x06, 0x07, 0x13, 0x10
SEC_OFFSET, RNGLISTX, IMPLICIT_CONST = 0x17, 0x23, 0x21


def uleb(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def u16(value: int) -> bytes:
    return struct.pack("<H", value)


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


Value = tuple[int, int, bytes]  # an attribute, its form, its bytes in the entry


@dataclass
class Entry:
    tag: int
    values: list[Value] = field(default_factory=list)
    children: list[Entry] | None = None
    constant: bytes = b""  # what the abbreviation says of the last value, if its form wants that


class File:
    """Units and what they refer to; each entry has an abbreviation of its own."""

    def __init__(self, **sections: bytes) -> None:
        self.sections = sections
        self.abbreviations = b""
        self.units = b""
        self.count = 0

    def entry(self, entry: Entry) -> bytes:
        self.count += 1
        body = uleb(self.count) + b"".join(data for _, _, data in entry.values)
        parts = b"".join(uleb(attribute) + uleb(form) for attribute, form, _ in entry.values) + entry.constant
        self.abbreviations += uleb(self.count) + uleb(entry.tag) + bytes([entry.children is not None]) + parts + b"\0\0"
        if entry.children is not None:
            body += b"".join(self.entry(child) for child in entry.children) + b"\0"
        return body

    def unit(self, *entries: Entry, version: int = 5, kind: int = 1, behind: bytes = b"") -> File:
        body = b"".join(self.entry(entry) for entry in entries) + behind
        head = struct.pack("<HBBI", version, kind, 8, 0) if version == 5 else struct.pack("<HIB", version, 0, 8)
        self.units += u32(len(head + body)) + head + body
        return self

    def data(self) -> bytes:
        return elf(**{"debug_abbrev": self.abbreviations + b"\0", "debug_info": self.units} | self.sections)


def named(name: str) -> Value:
    return NAME, STRING, name.encode() + b"\0"


def code(low: int, size: int) -> list[Value]:
    return [(LOW, ADDR, u64(low)), (HIGH, DATA4, u32(size))]


def function(*values: Value, low: int = 0x1000, size: int = 0x40, children: list[Entry] | None = None) -> Entry:
    return Entry(FUNCTION, [*code(low, size), *values], children)


def copy(*values: Value, low: int = 0x1010, size: int = 0x10, children: list[Entry] | None = None) -> Entry:
    return Entry(COPY, [*code(low, size), *values], children)


Functions = list[tuple[str, list[tuple[int, int]], int | None, int, int, int]]
Read = Callable[[bytes], Functions]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The functions of a file: name, code (begin and size), caller, line table, file and line of the call."""
    sources = ["tests/cpp/print_functions.cpp"]
    sources += [f"csrc/base/{name}.cpp" for name in ("decompress", "dynamic_library", "error", "fork_safe", "lz4")]
    sources += [f"csrc/code_object/{name}.cpp" for name in ("dwarf", "elf", "function_table")]
    options = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = build_cpp(tmp_path_factory, "functions", sources, *options)
    path = program.with_suffix(".elf")

    def run(data: bytes) -> Functions:
        path.write_bytes(data)
        done = subprocess.run([program, path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        functions: Functions = []
        for line in done.stdout.splitlines()[1:]:
            if line.count("|") != 5:
                raise ValueError(line)
            name, spans, *numbers = line.split("|")
            pairs = [span.split("+") for span in spans.split()]
            caller, lines, file, at = map(int, numbers)
            parts = [(int(begin, 16), int(size, 16)) for begin, size in pairs]
            functions.append((name, parts, None if caller < 0 else caller, lines, file, at))
        return functions

    return run


# Indices whose bytes all matter, and what tables have there.
SMALL, MIDDLE, LARGE = 2, 0x102, 0x10002
NAMES = {SMALL: "small", MIDDLE: "middle", LARGE: "large"}
PLACES = {SMALL: 0x1000, MIDDLE: 0x2000, LARGE: 0x3000}
STRINGS = b"another\0the name\0small\0middle\0large\0"


def table(header: int, values: dict[int, bytes], other: bytes) -> bytes:
    """Values by index behind a header."""
    return bytes(header) + b"".join(values.get(index, other) for index in range(max(values) + 1))


STRING_OFFSETS = table(8, {i: u32(STRINGS.index(name.encode())) for i, name in NAMES.items()}, u32(0))
ADDRESSES = table(8, {i: u64(place) for i, place in PLACES.items()}, u64(0x9000)) + u64(PLACES[MIDDLE] + 0x40)
BEHIND = LARGE + 1  # the address behind the function


@pytest.mark.parametrize(
    ("form", "value", "name"),
    [
        (STRING, b"the name\0", "the name"),
        (STRP, u32(8), "the name"),
        (0x1F, u32(8), "the name"),
        *((0x1A, uleb(index), name) for index, name in NAMES.items()),
        (0x25, bytes([SMALL]), "small"),
        (0x26, u16(MIDDLE), "middle"),
        (0x27, u32(LARGE)[:3], "large"),
        (0x28, u32(LARGE), "large"),
        (UDATA, b"\2", ""),  # no string
    ],
)
def test_names(form: int, value: bytes, name: str, read: Read) -> None:
    strings = {"debug_str": STRINGS} if form != 0x1F else {"debug_line_str": STRINGS}
    file = File(debug_str_offsets=STRING_OFFSETS, **strings)
    file.unit(Entry(UNIT, [], [function((NAME, form, value))]))
    assert read(file.data()) == [(name, [(0x1000, 0x40)], None, 0, 0, 0)]


@pytest.mark.parametrize(
    ("form", "value", "constant"),
    [
        (ADDR, u64(0x1040), b""),
        (DATA1, b"\x40", b""),
        (0x05, u16(0x40), b""),
        (DATA4, u32(0x40), b""),
        (DATA8, u64(0x40), b""),
        (UDATA, b"\xc0\0", b""),
        (0x0D, b"\xc0\0", b""),
        (IMPLICIT_CONST, b"", b"\xc0\0"),
    ],
)
def test_ends_of_code(form: int, value: bytes, constant: bytes, read: Read) -> None:
    values = [named("f"), (LOW, ADDR, u64(0x1000)), (HIGH, form, value)]
    file = File().unit(Entry(UNIT, [], [Entry(FUNCTION, values, constant=constant)]))
    assert read(file.data()) == [("f", [(0x1000, 0x40)], None, 0, 0, 0)]


@pytest.mark.parametrize(
    ("form", "value", "index"),
    [
        *((0x1B, uleb(index), index) for index in PLACES),
        (0x29, bytes([SMALL]), SMALL),
        (0x2A, u16(MIDDLE), MIDDLE),
        (0x2B, u32(LARGE)[:3], LARGE),
        (0x2C, u32(LARGE), LARGE),
    ],
)
def test_addresses_by_index(form: int, value: bytes, index: int, read: Read) -> None:
    entry = Entry(FUNCTION, [named("f"), (LOW, form, value), (HIGH, DATA4, u32(0x40))])
    file = File(debug_addr=ADDRESSES).unit(Entry(UNIT, [], [entry]))
    assert read(file.data()) == [("f", [(PLACES[index], 0x40)], None, 0, 0, 0)]


def test_functions_without_code(read: Read) -> None:
    """Declarations, and what has one of the two attributes alone."""
    entries = [Entry(FUNCTION, [named("f"), *values]) for values in ([], code(0x1000, 8)[:1], code(0x1000, 8)[1:])]
    assert read(File().unit(Entry(UNIT, [], entries)).data()) == []


RANGE_LISTS = {
    "none": (b"", None),
    "startx_endx": (b"\2" + uleb(MIDDLE) + uleb(BEHIND), [(0x2000, 0x40)]),
    "startx_length": (b"\3" + uleb(SMALL) + uleb(0x140), [(0x1000, 0x140)]),
    "offset_pair from the unit's address": (b"\4" + uleb(0x10) + uleb(0x150), [(0x810, 0x140)]),
    "base_addressx": (b"\1" + uleb(SMALL) + b"\4" + uleb(0x10) + uleb(0x20), [(0x1010, 0x10)]),
    "base_address": (b"\5" + u64(0x5000) + b"\4" + uleb(0x10) + uleb(0x20), [(0x5010, 0x10)]),
    "start_end": (b"\6" + u64(0x3000, 0x3010), [(0x3000, 0x10)]),
    "start_length": (b"\7" + u64(0x3000) + uleb(0x90), [(0x3000, 0x90)]),
    "several": (b"\4\x10\x20\7" + u64(0x3000) + b"\4\4\x30\x34", [(0x810, 0x10), (0x3000, 4), (0x830, 4)]),
}


@pytest.mark.parametrize("form", [SEC_OFFSET, RNGLISTX])
@pytest.mark.parametrize("kind", RANGE_LISTS)
def test_range_lists(kind: str, form: int, read: Read) -> None:
    data, spans = RANGE_LISTS[kind]
    head = bytes(12) + u32(77) + u32(8)  # two lists, of which the second follows
    lists = head + data + b"\0"
    ranges = (RANGES, form, u32(len(head)) if form == SEC_OFFSET else b"\1")
    entry = Entry(FUNCTION, [named("f"), ranges])
    root = Entry(UNIT, [(LOW, ADDR, u64(0x800))], [function(named("g"), low=0x7000), entry])
    found = read(File(debug_rnglists=lists, debug_addr=ADDRESSES).unit(root).data())
    assert found[0][:2] == ("g", [(0x7000, 0x40)])
    assert found[1:] == ([("f", spans, None, 0, 0, 0)] if spans else [])


def test_ranges_of_version_4(read: Read) -> None:
    """From the unit's address on, until a pair sets another base."""
    ranges = u64(0x10, 0x20) + u64(0, 8) + u64((1 << 64) - 1, 0x5000) + u64(0x10, 0x50) + bytes(16) + u64(1, 2)
    entry = Entry(FUNCTION, [named("f"), (RANGES, SEC_OFFSET, u32(16))])
    other = Entry(FUNCTION, [named("g"), (RANGES, SEC_OFFSET, u32(16 * 6))])
    file = File(debug_ranges=u64(7, 8) + ranges + bytes(16))
    file.unit(Entry(UNIT, [(LOW, ADDR, u64(0x800))], [entry, other]), version=4)
    spans = [(0x810, 0x10), (0x800, 8), (0x5010, 0x40)]
    assert read(file.data()) == [("f", spans, None, 0, 0, 0), ("g", [(0x801, 1)], None, 0, 0, 0)]


def test_bases_of_tables(read: Read) -> None:
    """Where a unit's part of each begins."""
    at = {STR_OFFSETS_BASE: 20, ADDR_BASE: 40, RNGLISTS_BASE: 24}
    bases = [(attribute, SEC_OFFSET, u32(base)) for attribute, base in at.items()]
    values = [(NAME, 0x25, b"\1"), (RANGES, RNGLISTX, b"\1")]
    file = File(
        debug_str=STRINGS,
        debug_str_offsets=bytes(20) + u32(0) + u32(8),
        debug_addr=bytes(40) + u64(0x9000, 0x1000),
        debug_rnglists=bytes(24) + u32(77) + u32(8) + b"\3\1\x40\0",
    )
    file.unit(Entry(UNIT, [*bases], [Entry(FUNCTION, values)]))
    assert read(file.data()) == [("the name", [(0x1000, 0x40)], None, 0, 0, 0)]


# Values of attributes that do not matter, which have to be passed over.
FORMS = {
    **dict.fromkeys((11, 12, 17, 37, 41), b"\x02"),
    **{form: u16(2) for form in (0x05, 0x12, 0x26, 0x2A)},
    **dict.fromkeys((39, 43), b"\x02\x00\x00"),
    **{form: u32(2) for form in (0x06, 0x0E, 0x10, 0x13, 0x17, 0x1C, 0x1D, 0x1F, 0x28, 0x2C)},
    **{form: u64(2) for form in (0x01, 0x07, 0x14, 0x20, 0x24)},
    **dict.fromkeys((13, 15, 21, 26, 27, 34, 35), b"\x82\x80\x01"),
    0x1E: bytes(16),  # data16
    0x08: b"text\0",
    0x0A: b"\x03abc",
    0x03: u16(300) + bytes(300),
    0x04: u32(3) + b"abc",
    0x09: uleb(300) + bytes(300),
    0x18: uleb(300) + bytes(300),
    0x19: b"",
}


@pytest.mark.parametrize("form", FORMS)
def test_attributes_that_do_not_matter(form: int, read: Read) -> None:
    file = File().unit(Entry(UNIT, [], [function((UNKNOWN, form, FORMS[form]), named("f"))]))
    assert read(file.data()) == [("f", [(0x1000, 0x40)], None, 0, 0, 0)]


def call(line: int) -> list[Value]:
    return [(CALL_FILE, DATA1, b"\3"), (CALL_LINE, DATA1, bytes([line]))]


def test_what_is_inlined_into_what(read: Read) -> None:
    """A copy's caller is what contains it, through blocks, and through copies without code."""
    inner = copy(named("inner"), *call(11), low=0x1014, size=4)
    outer = copy(named("outer"), *call(12), children=[inner])
    block = Entry(BLOCK, [], [copy(named("in a block"), *call(13), low=0x1020)])
    without = Entry(COPY, [named("without"), *call(14)], [copy(named("of none"), *call(15), low=0x1030)])
    own = function(named("local"), low=0x3000)  # of a local class: nothing is inlined
    first = function(named("f"), children=[outer, block, Entry(BLOCK), without, own, copy(named("last"), *call(16))])
    root = Entry(UNIT, [(STMT_LIST, SEC_OFFSET, u32(99))], [first, function(named("g"), low=0x2000), copy(named("h"))])
    found = read(File().unit(root).data())
    assert [(name, caller, line) for name, _, caller, _, _, line in found] == [
        ("f", None, 0),
        ("outer", 0, 12),
        ("inner", 1, 11),
        ("in a block", 0, 13),
        ("of none", 0, 15),
        ("local", None, 0),
        ("last", 0, 16),
        ("g", None, 0),
        ("h", None, 0),
    ]
    assert {lines for _, _, _, lines, _, _ in found} == {99}
    assert [file for _, _, _, _, file, _ in found] == [0, 3, 3, 3, 3, 0, 3, 0, 0]


@pytest.mark.parametrize("version", [4, 5])
def test_names_of_origins(version: int, read: Read) -> None:
    """A copy's name is that of the function, whose own may be that of its declaration."""
    head = 4 + (8 if version == 5 else 7)

    def unit(at: int, by: int) -> Entry:
        entries = [
            Entry(FUNCTION, [named("declared")]),
            Entry(FUNCTION, [(SPECIFICATION, REF4, u32(at))]),
            copy((ORIGIN, by, u32(at + len(first)))),
        ]
        return Entry(UNIT, [], entries)

    first = b"\2declared\0"
    for by, name in ((REF4, "declared"), (REF_ADDR, "")):  # the latter is of any unit
        file = File().unit(unit(head + 1, by), version=version)
        assert read(file.data()) == [(name, [(0x1010, 0x10)], None, 0, 0, 0)]


def test_an_origin_of_itself(read: Read) -> None:
    file = File().unit(Entry(UNIT, [], [copy((ORIGIN, REF4, u32(13)))]))
    assert [name for name, *_ in read(file.data())] == [""]


@pytest.mark.parametrize(("version", "kind"), [(3, 1), (6, 1), (5, 2), (5, 4)])
def test_units_of_another_kind_are_left_out(version: int, kind: int, read: Read) -> None:
    file = File().unit(function(named("g")), version=version, kind=kind)
    file.unit(Entry(UNIT, [], [function(named("f"))]))
    assert [name for name, *_ in read(file.data())] == ["f"]


def test_what_is_behind_a_units_last_entry(read: Read) -> None:
    """Linkers fill units with zeros."""
    file = File().unit(Entry(UNIT, [], [function(named("f"))]), behind=bytes(3)).unit(function(named("g")))
    assert [name for name, *_ in read(file.data())] == ["f", "g"]


UNKNOWN_FORM = File().unit(function((UNKNOWN, 0x7F, b"")))
NO_LIST, EMPTY_LIST = (
    File(debug_rnglists=bytes(4)).unit(Entry(FUNCTION, [(RANGES, SEC_OFFSET, u32(at))])) for at in (5, 4)
)
NO_KIND = File(debug_rnglists=b"\x08").unit(Entry(FUNCTION, [(RANGES, SEC_OFFSET, u32(0))]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (elf(debug_info=u32(0xFFFFFFF0)), "malformed debugging information at offset 0x44: a unit of 64-bit DWARF"),
        (elf(debug_info=u32(0xFFFFFFEF)), "malformed debugging information at offset 0x44: 4294967279 bytes wanted"),
        (
            elf(debug_abbrev=bytes(4), debug_info=u32(9) + struct.pack("<HBBIB", 5, 1, 8, 5, 1)),
            "malformed abbreviations at offset 0x45: a unit's abbreviations",
        ),
        (
            elf(debug_abbrev=bytes(4), debug_info=u32(9) + struct.pack("<HBBIB", 5, 1, 8, 4, 1)),
            "malformed abbreviations at offset 0x44: 1 bytes wanted",
        ),
        (
            elf(debug_abbrev=bytes(4), debug_info=u32(9) + struct.pack("<HBBIB", 5, 1, 8, 3, 9)),
            "an entry with the unknown abbreviation 9",
        ),
        (UNKNOWN_FORM.data(), "the unknown form 127"),
        (EMPTY_LIST.data(), "malformed range lists at offset .*: 1 bytes wanted, 0 left"),
        (NO_LIST.data(), "malformed range lists at offset .*: a list of ranges"),
        (NO_KIND.data(), "the unknown kind 8 of a range"),
    ],
)
def test_what_is_malformed(data: bytes, message: str, read: Read) -> None:
    with pytest.raises(ValueError, match=message):
        read(data)
