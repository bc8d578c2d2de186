"""Files that must be refused: which error, and that nothing worse happens."""

from __future__ import annotations

import re

import pytest
from code_object_support import CodeObject, Kernel, corpus_file, damaged_file, golden
from corpus_tools.tools import msgpack

from wave_runtime import _C

ERRORS = golden("errors.json")


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_the_error_says_what_is_wrong(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(ERRORS[name]["error"])):
        _C.CodeObject(damaged_file(name)).describe()


@pytest.mark.parametrize(
    "name",
    [
        "asm_relocations.co",
        "clang_v5_gfx1100.co",
        "bundle_plain.hipfb",
        "bundle_zlib_v2.hipfb",
        "bundle_zstd_v1.hipfb",
        "bundle_zstd_v3.hipfb",
        "host_object.elf",
    ],
)
def test_every_truncated_prefix_is_refused(name: str) -> None:
    data = corpus_file(name)
    for target in (None, "gfx942", "gfx1100"):
        for size in range(len(data)):
            with pytest.raises(ValueError, match=r"."):
                _C.CodeObject(data[:size], target).describe()


def test_a_prefix_without_sections_still_needs_its_segments() -> None:
    data = corpus_file("asm_sections_none.co")
    end = max(s["file_offset"] + s["file_size"] for s in _C.CodeObject(data).describe()["segments"])
    for size in range(end):
        with pytest.raises(ValueError, match="wanted" if size >= 4 else "expected"):
            _C.CodeObject(data[:size]).describe()


def test_a_wrong_target() -> None:
    with pytest.raises(
        ValueError, match=r"^code object built for gfx90a:xnack\+ does not run on gfx90a:sramecc\+:xnack-$"
    ):
        _C.CodeObject(corpus_file("clang_v5_gfx90a_xnack_on.co"), "gfx90a:sramecc+:xnack-").describe()
    with pytest.raises(ValueError, match="code object built for gfx942 does not run on gfx1100"):
        _C.CodeObject(corpus_file("clang_v5_gfx942.co"), "gfx1100").describe()


def test_an_unknown_kernel_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match='no kernel "saxpy" in the code object for gfx942; it has scale, shuffle'):
        _C.occupancy(corpus_file("clang_v5_gfx942.co"), None, "saxpy", 64, 0)


def test_names_that_are_not_text() -> None:
    """Names out of a file reach messages and results whatever their bytes are."""
    data = CodeObject(kernels=[Kernel("kern")]).build().replace(b"kern", b"k\xff\x80n")
    assert _C.CodeObject(data).describe()["kernels"][0]["name"] == "k\\xff\\x80n"
    with pytest.raises(ValueError, match=r"it has k\\xff\\x80n"):
        _C.occupancy(data, None, "kern", 64, 0)


def test_many_arguments_take_little_memory() -> None:
    """Elements that lack what every argument has are refused at the first one, not collected."""
    empty_arguments = b"\xdd" + (1 << 16).to_bytes(4, "big") + b"\x80" * (1 << 16)
    metadata = msgpack({"amdhsa.kernels": [{".name": "kernel", ".symbol": "kernel.kd", ".args": []}]})
    with pytest.raises(ValueError, match=r"without \.offset, \.size or \.value_kind"):
        _C.CodeObject(
            CodeObject(metadata=metadata.replace(b"\xa5.args\x90", b"\xa5.args" + empty_arguments)).build()
        ).describe()
