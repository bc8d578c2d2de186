"""Which entry of a container is taken."""

from __future__ import annotations

import struct

import pytest
from code_object_support import corpus_file, images
from corpus_tools.valid import raw_bundle

from wave_runtime import _C

BUNDLES = [
    "bundle_plain.hipfb",
    "bundle_zlib_v2.hipfb",
    "bundle_zstd_v1.hipfb",
    "bundle_zstd_v2.hipfb",
    "bundle_zstd_v3.hipfb",
    "host_library.elf",
]
PREFIX = "hipv4-amdgcn-amd-amdhsa--"


@pytest.mark.parametrize("name", BUNDLES)
@pytest.mark.parametrize(
    ("target", "inside"),
    [
        ("gfx942", "asm_args_pad.co"),
        ("gfx942:sramecc+:xnack-", "asm_args_pad.co"),
        ("gfx90a", "clang_v5_gfx90a_xnack_on.co"),
        ("gfx90a:xnack+", "clang_v5_gfx90a_xnack_on.co"),
    ],
)
def test_the_image_is_the_file_that_was_put_in(name: str, target: str, inside: str) -> None:
    assert _C.CodeObject(corpus_file(name), target).data == corpus_file(inside)
    assert _C.CodeObject(corpus_file(name), target).describe() == _C.CodeObject(corpus_file(inside)).describe()


@pytest.mark.parametrize("name", BUNDLES)
def test_no_entry_fits(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"no entry runs on gfx90a:xnack-; the entries are {PREFIX}gfx90a:xnack\+, {PREFIX}gfx942"
    ):
        _C.CodeObject(corpus_file(name), "gfx90a:xnack-").describe()


@pytest.mark.parametrize("name", BUNDLES)
def test_several_gpus_need_a_target(name: str) -> None:
    with pytest.raises(ValueError, match="there is code for several GPUs: say which target; the entries are hipv4-"):
        _C.CodeObject(corpus_file(name)).describe()


def test_one_gpu_needs_none() -> None:
    assert _C.CodeObject(corpus_file("host_object.elf")).describe()["target"] == "gfx1100"
    assert [k["name"] for k in _C.CodeObject(corpus_file("host_object.elf")).describe()["kernels"]] == ["store_one"]


@pytest.mark.parametrize(
    ("target", "taken"),
    [
        ("gfx942:sramecc+:xnack-", "gfx942:xnack-"),  # fixes what the device fixes
        ("gfx942:sramecc+:xnack+", "gfx942"),  # the other one is fixed to the other setting
        ("gfx942", "gfx942"),  # the device's setting is not known: code that does not depend on it
        ("gfx950:xnack-", "gfx9-4-generic"),
        ("gfx9-4-generic", "gfx9-4-generic"),
        ("gfx906:sramecc-:xnack-", "gfx906:sramecc-:xnack-"),  # written "hip-amdgcn-amd-amdhsa-gfx906"
    ],
)
def test_the_most_specific_entry_is_taken(target: str, taken: str) -> None:
    assert _C.CodeObject(corpus_file("bundle_choice.hipfb"), target).describe()["target"] == taken


@pytest.mark.parametrize(
    "entry",
    [
        "hip-amdgcn-amd-amdhsa-gfx942",
        "hip-amdgpu9.42-amd-amdhsa--gfx942",
        "hipv4-amdgpu9.42-amd-amdhsa-unknown-gfx942",
        "hipv4-amdgpu9.42-amd-amdhsa--",
        "hip-amdgpu9.4-amd-amdhsa--gfx942:xnack-",
        "openmp-amdgpu-amd-amdhsa--gfx942",
    ],
)
def test_forms_of_entries(entry: str) -> None:
    """clang names entries by the triple, whose form has changed."""
    code = corpus_file("asm_target_none.co")
    bundle = raw_bundle([("host-x86_64-unknown-linux-gnu-", b""), (entry, code)])
    assert _C.CodeObject(bundle, "gfx942:xnack-").data == _C.CodeObject(bundle).data == code


def test_an_entry_whose_triple_contradicts_its_processor_is_for_no_gpu() -> None:
    with pytest.raises(
        ValueError, match=r"no entry is for a known GPU; the entries are hip-amdgpu9\.0a-amd-amdhsa--gfx"
    ):
        _C.CodeObject(raw_bundle([("hip-amdgpu9.0a-amd-amdhsa--gfx942", corpus_file("asm_target_none.co"))]))


def test_order_does_not_matter() -> None:
    entries = [
        (f"{PREFIX}gfx942", corpus_file("asm_args_pad.co")),
        (f"{PREFIX}gfx942:xnack-", corpus_file("asm_target_none.co")),
        (f"{PREFIX}gfx9-4-generic", corpus_file("asm_v6_gfx9_4_generic.co")),
    ]
    for order in (entries, entries[::-1], entries[1:] + entries[:1]):
        assert _C.CodeObject(raw_bundle(order), "gfx942:xnack-").describe()["target"] == "gfx942:xnack-"
        assert _C.CodeObject(raw_bundle(order), "gfx942:xnack+").describe()["target"] == "gfx942"


def test_equal_entries_count_as_one() -> None:
    code = corpus_file("asm_args_pad.co")
    assert _C.CodeObject(raw_bundle([(f"{PREFIX}gfx942", code), (f"{PREFIX}gfx942", code)])).data == code


def test_entries_that_suit_equally_well() -> None:
    on, off = corpus_file("clang_v5_gfx90a_xnack_on.co"), corpus_file("clang_v5_gfx90a_xnack_off.co")
    bundle = raw_bundle([(f"{PREFIX}gfx90a:xnack+", on), (f"{PREFIX}gfx90a:xnack-", off)])
    with pytest.raises(
        ValueError, match="several entries run on gfx90a equally well: say its features; the entries are"
    ):
        _C.CodeObject(bundle, "gfx90a").describe()
    assert _C.CodeObject(bundle, "gfx90a:sramecc+:xnack-").data == off


def test_a_code_object_for_each_translation_unit() -> None:
    """A HIP library has them all; one has to be taken."""
    first, second = corpus_file("asm_args_pad.co"), corpus_file("clang_v5_gfx942.co")
    library = raw_bundle([(f"{PREFIX}gfx942", first), (f"{PREFIX}gfx942", second), (f"{PREFIX}gfx942", first)])
    assert images(library, "gfx942") == images(library) == [first, second]
    with pytest.raises(ValueError, match=r"one is wanted; their kernels are \(k\), \(scale, shuffle\)$"):
        _C.CodeObject(library, "gfx942")
    assert images(corpus_file("host_library.elf"), "gfx942") == [first]  # the same code in both units
    assert images(second) == [second]


def test_code_that_contradicts_its_entry() -> None:
    bundle = raw_bundle([(f"{PREFIX}gfx90a", corpus_file("clang_v5_gfx90a_xnack_on.co"))])
    with pytest.raises(ValueError, match=r"code object built for gfx90a:xnack\+ does not run on gfx90a:xnack-"):
        _C.CodeObject(bundle, "gfx90a:xnack-").describe()


@pytest.mark.parametrize("more", [0, 1])
def test_bytes_that_entries_share(more: int) -> None:
    """As many as the file has twice; a file may not ask for the same bytes again and again."""
    code = corpus_file("asm_args_pad.co")
    names = [b"host-one", b"host-two", f"{PREFIX}gfx942".encode()]
    size = 32 + sum(24 + len(name) for name in names) + len(code)
    spans = [(0, size), (0, size - len(code) + more), (size - len(code), len(code))]
    data = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names))
    for name, span in zip(names, spans, strict=True):
        data += struct.pack("<QQQ", *span, len(name)) + name
    if more == 0:
        assert _C.CodeObject(data + code).data == code
        return
    with pytest.raises(ValueError, match="bundle entries that overlap too much"):
        _C.CodeObject(data + code)


def test_offsets_in_errors_are_those_of_the_file() -> None:
    """Of a plain bundle: of the bundle. Of a compressed one the message says that it is not."""
    bundle = bytearray(corpus_file("bundle_plain.hipfb"))
    image_at = bundle.index(_C.CodeObject(bytes(bundle), "gfx942").data)
    bundle[image_at + 4] = 1
    with pytest.raises(ValueError, match=f"malformed code object at offset {image_at + 4:#x}: not a 64-bit ELF file"):
        _C.CodeObject(bytes(bundle), "gfx942").describe()


@pytest.mark.parametrize(("name", "target"), [("host_library.elf", "gfx942"), ("host_object.elf", "gfx1100")])
def test_sections_that_16_bits_cannot_count(name: str, target: str) -> None:
    """The ELF header has zero of them then, and 0xffff for the names' one: the first section header has the numbers."""
    data = bytearray(corpus_file(name))
    (first,) = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    struct.pack_into("<HH", data, 60, 0, 0xFFFF)
    struct.pack_into("<QI", data, first + 32, count, names)
    assert images(bytes(data), target) == images(corpus_file(name), target)
