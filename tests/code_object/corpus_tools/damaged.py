"""The files of the corpus that must be refused, each with what the error must say."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from . import tools
from .assembly import Kernel, argument, assemble, document, source
from .tools import ElfEditor, msgpack
from .valid import compressed, raw_bundle

PT_LOAD, PT_DYNAMIC = 1, 2  # of the ELF specification

Damage = tuple[str, bytes, str]  # name, contents, part of the error


def headers(good: bytes) -> Iterator[Damage]:
    """What the ELF header and its tables can get wrong.

    `good` is asm_relocations.co; these files differ from it in a few bytes, which is what is stored of them.
    """

    def edit(name: str, error: str, change: Callable[[ElfEditor], object]) -> Damage:
        editor = ElfEditor(good)
        change(editor)
        return f"bad_elf_{name}", editor.bytes(), error

    yield edit("32bit", "malformed file at offset 0x4: not a 64-bit ELF file", lambda e: e.put("B", 4, 1))
    yield edit("big_endian", "malformed file at offset 0x5: not a little-endian ELF file", lambda e: e.put("B", 5, 2))
    yield edit("osabi_none", "an AMDGPU ELF for OS ABI 0, not an HSA code object", lambda e: e.put("B", 7, 0))
    yield edit("osabi_pal", "an AMDGPU ELF for PAL (amdpal), not an HSA code object", lambda e: e.put("B", 7, 65))
    yield edit("osabi_mesa", "an AMDGPU ELF for Mesa (mesa3d), not an HSA code object", lambda e: e.put("B", 7, 66))
    yield edit("version_2", "at offset 0x8: code object version 2; versions 3 to 6", lambda e: e.put("B", 8, 0))
    yield edit("version_7", "at offset 0x8: code object version 7; versions 3 to 6", lambda e: e.put("B", 8, 5))
    yield edit("core", "an AMDGPU ELF of type 4, not a code object", lambda e: e.put("H", 16, 4))
    yield edit("machine_host", "an ELF for machine 62 without HIP or CUDA fat binaries", lambda e: e.put("H", 18, 62))
    yield edit("machine_unknown", "at offset 0x30: unknown machine number 0x27 in e_flags", lambda e: e.flags(0x27))
    yield edit(
        "target_mismatch",
        "amdhsa.target says amdgcn-amd-amdhsa--gfx942, the ELF header's flags say gfx90a",
        lambda e: e.flags(0x53F),
    )
    yield edit("feature_mismatch", "the ELF header's flags say gfx942:xnack-", lambda e: e.flags(0x64C))
    yield edit("segment_size", "at offset 0x36: program headers of 32 bytes", lambda e: e.put("H", 54, 32))
    yield edit(
        "segment_count", "at offset 0x38: 65535 program headers, the limit is 256", lambda e: e.put("H", 56, 65535)
    )
    yield edit("section_size", "at offset 0x3a: section headers of 40 bytes", lambda e: e.put("H", 58, 40))
    yield edit("section_offset", "64 bytes wanted, 0 left", lambda e: e.put("Q", 40, 1 << 40))
    yield edit("section_names", "wanted", lambda e: e.put("H", 62, 0xFFFE))
    yield edit("symbol_names_link", "symbol names in section 999", lambda e: e.put("I", e.section(".dynsym") + 40, 999))
    yield edit("symbol_table_size", "a symbol table of 25 bytes", lambda e: e.put("Q", e.section(".dynsym") + 32, 25))
    yield edit("symbol_tables", "a second symbol table of one kind", lambda e: e.put("I", e.section(".symtab") + 4, 11))
    yield edit(
        "segment_memory", "bytes in the file and 1 in memory", lambda e: e.put("Q", e.segments(PT_LOAD)[0] + 40, 1)
    )
    yield edit("segment_wraps", "in memory", lambda e: e.put("Q", e.segments(PT_LOAD)[-1] + 40, (1 << 64) - 1))
    yield edit("segment_span", "segments span", lambda e: e.put("Q", e.segments(PT_LOAD)[-1] + 40, 1 << 40))
    yield edit("segment_overlap", "segments overlap", lambda e: e.put("Q", e.segments(PT_LOAD)[0] + 40, 1 << 20))
    yield edit("segment_file", "wanted", lambda e: e.put("Q", e.segments(PT_LOAD)[0] + 32, 1 << 40))
    yield edit("no_code_segment", "is not in code", lambda e: e.put("I", e.segments(PT_LOAD)[1] + 4, 4))
    yield edit("relocation_place", "outside of the segments", lambda e: e.put("Q", e.contents(".rela.dyn"), 1 << 33))
    yield edit(
        "relocation_symbol", "a relocation against symbol 99 of", lambda e: e.put("I", e.contents(".rela.dyn") + 12, 99)
    )
    yield edit(
        "relocation_rel",
        "relocations without addends are not supported",
        lambda e: e.put("Q", e.get("Q", e.segments(PT_DYNAMIC)[0] + 8), 17),
    )
    yield edit("entry_unaligned", "is not a multiple of 256", lambda e: _shift_entry(e, 4))
    yield edit("entry_outside", "is not in code", lambda e: _shift_entry(e, 1 << 20))
    yield edit("note_size", "wanted", lambda e: e.put("I", e.contents(".note") + 4, 1 << 31))
    yield "bad_elf_names_overlap", _overlapping_names(), "names that overlap too much"
    yield "bad_elf_tables_overlap", _overlapping_tables(), "tables that overlap too much"


def _shift_entry(editor: ElfEditor, by: int) -> None:
    at = editor.contents(".rodata") + 16
    editor.put("q", at, editor.get("q", at) + by)


def _file_header(section_count: int, size: int, names: int, segment_count: int = 0) -> bytes:
    """Header of an AMDGPU code object whose program headers follow it and whose section headers end it."""
    ident = b"\x7fELF\x02\x01\x01" + bytes([64, 3]) + bytes(7)
    sections = size - 64 * section_count
    return ident + struct.pack(
        "<HHIQQQIHHHHHH",
        3,
        224,
        1,
        0,
        64 if segment_count else 0,
        sections,
        0x54C,
        64,
        56,
        segment_count,
        64,
        section_count,
        names,
    )


def _section(kind: int, offset: int, size: int, link: int = 0, entry_size: int = 0) -> bytes:
    return struct.pack("<IIQQQQIIQQ", 0, kind, 2, 0, offset, size, link, 0, 1, entry_size)


def _overlapping_names() -> bytes:
    """A hundred symbols that share one long name."""
    symbols = struct.pack("<IBBHQQ", 0, 1, 0, 1, 0, 0) * 100
    names = b"a" * 2000 + b"\0"
    sections = _section(0, 0, 0) + _section(11, 64, len(symbols), 2, 24) + _section(3, 64 + len(symbols), len(names))
    size = 64 + len(symbols) + len(names) + len(sections)
    return _file_header(3, size, 0) + symbols + names + sections


def _overlapping_tables() -> bytes:
    """Many note sections that are all the same notes."""
    notes = struct.pack("<III", 0, 0, 0) * 100
    sections = _section(0, 0, 0) + _section(7, 64, len(notes)) * 20
    return _file_header(21, 64 + len(notes) + len(sections), 0) + notes + sections


def metadata(folder: Path) -> Iterator[Damage]:
    """What the MessagePack document can get wrong."""

    def with_note(name: str, document_bytes: bytes, error: str, kernels: list[Kernel] | None = None) -> Damage:
        path = folder / "note.tmp"
        assemble(source("gfx942", kernels or [Kernel("k", [], 0)], 5, document_bytes), "gfx942", path)
        data = path.read_bytes()
        path.unlink()
        return f"bad_note_{name}", data, error

    def of_kernel(kernel: dict[str, object]) -> bytes:
        return msgpack({"amdhsa.kernels": [kernel]})

    named = {".name": "k", ".symbol": "k.kd"}
    yield with_note("empty", b"", "0x")
    yield with_note(
        "truncated", msgpack(document("gfx942", [Kernel("k", [], 0)]))[:-9], "malformed code object metadata"
    )
    yield with_note("not_a_map", b"\x93\1\2\3", "a MessagePack map wanted, another type found")
    yield with_note("reserved", b"\x81\xa1a\xc1", "byte 0xc1 starts no MessagePack value")
    yield with_note(
        "array_lies", b"\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff", "a MessagePack container of 4294967295 elements"
    )
    yield with_note("map_lies", b"\xdf\x80\x00\x00\x00", "a MessagePack container of 2147483648 elements")
    yield with_note("string_lies", b"\x81\xa1a\xdb\xff\xff\xff\xf0", "4294967285 bytes wanted")
    yield with_note("deep", b"\x81\xa1a" + b"\x91" * 200 + b"\xc0", "MessagePack nested too deeply")
    yield with_note("negative", msgpack({"amdhsa.version": [-1, 0]}), "a number that must not be negative is")
    yield with_note("too_big", of_kernel(named | {".sgpr_count": 1 << 40}), "1099511627776 does not fit into 32 bits")
    yield with_note("version", msgpack({"amdhsa.version": [1]}), "amdhsa.version has two numbers")
    yield with_note("name_none", of_kernel({".symbol": "k.kd"}), "a kernel without .name or .symbol")
    yield with_note(
        "symbol_missing", of_kernel(named | {".symbol": "z.kd"}), "kernel k: no symbol z.kd in .dynsym or .symtab"
    )
    yield with_note("twice", msgpack({"amdhsa.kernels": [named, named]}), "kernel k (k.kd) is listed twice")
    yield with_note("symbol_address", of_kernel(named | {".symbol": "k"}), "no segment of the file holds 64 bytes")
    yield with_note(
        "dimensions", of_kernel(named | {".reqd_workgroup_size": [64, 1]}), "a workgroup size has three dimensions"
    )
    yield with_note(
        "kernarg_huge", of_kernel(named | {".kernarg_segment_size": 1 << 24}), "kernarg segment of 16777216 bytes"
    )
    yield with_note(
        "argument_offset",
        of_kernel(named | {".args": [argument("x", (1 << 32) - 1, (1 << 32) - 1)]}),
        "kernarg segment of 8589934590 bytes",
    )
    yield with_note(
        "argument_bare", of_kernel(named | {".args": [{".name": "x"}]}), "without .offset, .size or .value_kind"
    )
    yield with_note(
        "target_unknown", msgpack({"amdhsa.target": "gfx9999"}), 'amdhsa.target: target id "gfx9999": unknown processor'
    )


def containers(folder: Path) -> Iterator[Damage]:
    """What offload bundles and their compression can get wrong."""
    plain = (folder / "bundle_plain.hipfb").read_bytes()
    zstd = (folder / "bundle_zstd_v2.hipfb").read_bytes()
    code = (folder / "asm_args_pad.co").read_bytes()
    entry = "hipv4-amdgcn-amd-amdhsa--gfx942"
    magic = plain[:24]
    yield "bad_bundle_truncated", plain[:40], "bytes wanted"
    yield "bad_bundle_count", magic + struct.pack("<Q", (1 << 64) - 1), "8 bytes wanted, 0 left"
    yield "bad_bundle_empty", raw_bundle([]), "no entry is for a known GPU; it has no entries"
    yield "bad_bundle_entry", magic + struct.pack("<QQQQ", 1, 1 << 40, 9, 1) + b"x", "bytes wanted"
    yield "bad_bundle_overlap", _overlapping_entries(entry, code), "bundle entries that overlap too much"
    yield "bad_bundle_bitcode", raw_bundle([(entry, b"BC\xc0\xde")]), "LLVM bitcode: compile and link it first"
    yield (
        "bad_bundle_nested",
        raw_bundle([(entry, raw_bundle([(entry, code)]))]),
        f"bundle entry {entry} holds another container",
    )
    yield (
        "bad_bundle_mislabelled",
        raw_bundle([(entry.replace("gfx942", "gfx90a"), code)]),
        "gfx90a holds code for gfx942",
    )
    yield (
        "bad_bundle_ambiguous",
        raw_bundle([(entry, code), (entry, code.replace(b"pad", b"pod"))]),
        "the file holds 2 code objects for gfx942, of several translation units, and one is wanted",
    )
    yield "bad_ccob_version", zstd[:4] + b"\x09\0" + zstd[6:], "compressed bundle of version 9; versions 1 to 3"
    yield "bad_ccob_method", zstd[:6] + b"\x07\0" + zstd[8:], "unknown compression method 7"
    yield "bad_ccob_damaged", zstd[:100] + bytes(50) + zstd[150:], "zstd: "
    yield "bad_ccob_short", compressed(2, 1, zstd[24:200], len(plain)), "zstd: "
    yield (
        "bad_ccob_size",
        compressed(2, 1, zstd[24:], len(plain) + 1),
        f"decompresses to {len(plain)} bytes, declared are",
    )
    yield "bad_ccob_size_small", compressed(2, 0, zlib.compress(plain), 100), "cut short or holds more than declared"
    yield "bad_ccob_ratio", compressed(2, 1, zstd[24:], 1 << 31), "decompressed, more than 1024 times its"
    yield "bad_ccob_limit", compressed(3, 1, zstd[24:], 1 << 40), "more than the limit of 4 GiB"
    yield "bad_ccob_zlib", compressed(2, 0, b"not deflated", 100), "damaged zlib stream"
    yield "bad_ccob_other", compressed(2, 0, zlib.compress(code), len(code)), "no offload bundle inside"
    yield "bad_ccob_nothing", compressed(2, 0, zlib.compress(b""), 0), "declares 0 bytes decompressed"


def _overlapping_entries(entry: str, code: bytes) -> bytes:
    """Twenty entries that are all the same bytes."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 20)
    offset = len(head) + 20 * (24 + len(entry))
    return head + (struct.pack("<QQQ", offset, len(code), len(entry)) + entry.encode()) * 20 + code


def others(folder: Path) -> Iterator[Damage]:
    """Files of other kinds."""
    yield "other_empty", b"", "an empty file; expected an AMDGPU code object"
    yield "other_text", b"hello, world\n", "it starts with 68 65 6c 6c 6f 2c 20 77 (hello, w); expected"
    yield "other_bitcode", b"BC\xc0\xde" + bytes(12), "LLVM bitcode"
    yield "other_spirv", b"\x03\x02\x23\x07" + bytes(12), "SPIR-V"
    yield "other_archive", b"!<arch>\nx", "an archive"
    yield "other_offload_binary", b"\x10\xff\x10\xad" + bytes(12), "an LLVM offload binary"
    path = folder / "object.tmp"
    tools.run(
        tools.MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-o", path, "-", input_text="s_endpgm\n"
    )
    yield "other_object", path.read_bytes(), "link it first with ld.lld -shared"
    path.unlink()
    for name, text in (("other_no_kernels", NO_KERNELS), ("other_nameless_kernel", NO_KERNELS + NAMELESS_DESCRIPTOR)):
        assemble(text, "gfx942", path)
        yield name, path.read_bytes(), "a code object without kernels"
        path.unlink()


NO_KERNELS = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.globl function
function:
  s_endpgm
"""

NAMELESS_DESCRIPTOR = """
.globl ".kd"
.type ".kd",@object
".kd":
  .zero 64
.size ".kd", 64
"""


def make(folder: Path) -> dict[str, dict[str, object]]:
    """Writes the files; gives the error that each must raise.

    For those that are a copy of another with a few bytes changed it gives the changes, to keep the corpus small.
    """
    result: dict[str, dict[str, object]] = {}
    base = "asm_relocations.co"
    good = (folder / base).read_bytes()
    for name, data, error in [*headers(good), *metadata(folder), *containers(folder), *others(folder)]:
        result[name] = {"error": error}
        if name.startswith("bad_elf_") and len(data) == len(good):
            changed = [i for i in range(len(good)) if good[i] != data[i]]
            result[name] |= {"base": base, "bytes": {str(i): data[i] for i in changed}}
        else:
            (folder / name).write_bytes(data)
    return result
