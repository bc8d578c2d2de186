"""Cubins, PTX and CUDA's fat binaries: what is read of them, and which of them is taken.

What the files hold stands in nvidia/kernels.ptx and cluster.ptx; nvidia/golden.json is what cuobjdump says of them.
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from code_object_support import corpus_file, images
from corpus_tools.valid import raw_bundle

from wave_runtime import _C

FOLDER = Path(__file__).resolve().parent / "nvidia"
GOLDEN: dict[str, Any] = json.loads((FOLDER / "golden.json").read_text())
KERNELS = [name for name in GOLDEN if "scale" in GOLDEN[name]["kernels"]]
CLUSTERS = [name for name in GOLDEN if "in_clusters" in GOLDEN[name]["kernels"]]
FATBINS = ["none.fatbin", "lz4.fatbin", "zstd.fatbin"]
RESERVED_SHARED = 1024  # of each block on sm_90 and later; cuobjdump counts it where a kernel uses shared memory


def image_for(data: bytes, device: str) -> bytes | None:
    code = _C.image_for(data, device)
    return None if code is None else code.data


def nvidia_file(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def kernels_of(data: bytes) -> dict[str, dict[str, Any]]:
    return {kernel["name"]: kernel for kernel in _C.CodeObject(data).describe()["kernels"]}


def layout(kernel: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [(a["offset"], a["size"], a["kind"]) for a in kernel["arguments"]]


SCALE = [(0, 8, "global_buffer"), (8, 8, "global_buffer"), (16, 4, "by_value"), (20, 4, "by_value")]
MIXED = [
    (0, 8, "pointer_or_value"),
    (8, 1, "by_value"),
    (16, 24, "by_value"),
    (40, 4, "by_value"),
    (48, 8, "by_value"),
    (56, 2, "by_value"),
]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_cubin_is_what_cuobjdump_says(name: str) -> None:
    parsed = _C.CodeObject(nvidia_file(name)).describe()
    golden = GOLDEN[name]
    assert parsed["format"] == "cubin"
    assert parsed["version"] == golden["abi"]
    assert parsed["target"] == f"sm_{golden['sm']}"
    assert {kernel["name"] for kernel in parsed["kernels"]} == set(golden["kernels"])
    reserved = RESERVED_SHARED if int(golden["sm"].strip("af")) >= 90 else 0
    for kernel in parsed["kernels"]:
        expected = golden["kernels"][kernel["name"]]
        assert kernel["vgpr_count"] == expected["registers"]
        assert kernel["private_segment_fixed_size"] == expected["stack"]
        assert kernel["group_segment_fixed_size"] == max(0, expected["shared"] - reserved)
        assert kernel["wavefront_size"] == 32
        assert kernel["code_size"] > 0
        assert kernel["code_size"] % 128 == 0


@pytest.mark.parametrize("name", KERNELS)
def test_a_cubin_is_what_its_source_says(name: str) -> None:
    kernels = kernels_of(nvidia_file(name))
    assert sorted(kernels) == ["mixed", "nothing", "scale"]
    scale, mixed, nothing = kernels["scale"], kernels["mixed"], kernels["nothing"]
    assert layout(scale) == SCALE
    assert scale["signature"] == "*, *, b32, b32"
    assert scale["reqd_workgroup_size"] == [64, 2, 1]
    assert scale["group_segment_fixed_size"] == 512
    assert scale["kernarg_segment_size"] == 24
    # The file has no types: of the numbers of 8 bytes one is a pointer and one a double.
    assert layout(mixed) == [(o, s, "pointer_or_value" if s == 8 else "by_value") for o, s, _ in MIXED]
    assert mixed["signature"] == "b64, b8, bytes[24], b32, b64, b16"
    assert mixed["max_flat_workgroup_size"] == 256
    assert mixed["reqd_workgroup_size"] is None
    assert mixed["private_segment_fixed_size"] == 128
    assert mixed["kernarg_segment_size"] == 58
    assert nothing["arguments"] == []
    assert nothing["signature"] == ""
    assert nothing["max_flat_workgroup_size"] == 1024


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters(name: str) -> None:
    kernel = kernels_of(nvidia_file(name))["in_clusters"]
    assert kernel["cluster_size"] == [2, 1, 1]
    assert kernel["signature"] == "*"


@pytest.mark.parametrize("name", [*KERNELS, "kernels.ptx"])
def test_variables(name: str) -> None:
    symbols = {s["name"]: s["size"] for s in _C.CodeObject(nvidia_file(name)).describe()["symbols"]}
    assert symbols == {"counter": 4, "table": 256}


def test_ptx() -> None:
    parsed = _C.CodeObject(nvidia_file("kernels.ptx")).describe()
    assert (parsed["format"], parsed["target"], parsed["version"]) == ("PTX", "sm_80", 80)
    kernels = kernels_of(nvidia_file("kernels.ptx"))
    assert list(kernels) == ["scale", "mixed", "nothing"]
    assert layout(kernels["scale"]) == SCALE
    assert layout(kernels["mixed"]) == MIXED
    assert kernels["scale"]["signature"] == "out: *, in: *, factor: f32, n: u32"
    assert kernels["scale"]["reqd_workgroup_size"] == [64, 2, 1]
    assert kernels["mixed"]["signature"] == (
        "mixed_param_0: b64, mixed_param_1: u8, mixed_param_2: bytes[24], mixed_param_3: i32, mixed_param_4: f64, "
        "mixed_param_5: b16"
    )
    assert kernels["mixed"]["max_flat_workgroup_size"] == 256
    assert kernels["nothing"]["signature"] == ""
    assert [kernels[name]["kernarg_segment_size"] for name in kernels] == [24, 58, 0]


def ptx(text: str, target: str = "sm_90") -> bytes:
    return f".version 8.5\n.target {target}, debug\n.address_size 64\n{text}".encode()


@pytest.mark.parametrize(
    ("parameters", "signature"),
    [
        ("", ""),
        (".param .u64 .ptr a", "a: *"),
        (".param .u64 .ptr .const .align 4 a", "a: *"),
        (".param .u64 .ptr .shared .align 4 a", "a: b64"),
        (".param .b64 a, .param .s64 b, .param .f64 c", "a: b64, b: i64, c: f64"),
        (".param .f16 a, .param .bf16 b, .param .f16x2 c", "a: f16, b: bf16, c: b32"),
        (".param .align 4 .b8 a[8], .param .b8 b[2][3]", "a: bytes[8], b: bytes[6]"),
        (".param .v4 .f32 a, .param .b32 b[0x10]", "a: bytes[16], b: bytes[64]"),
        (".param /* */ .u16 a // , .param .u8 b\n", "a: u16"),
        (".param .u32 $a, .param .u32 %b", "b32, b32"),
    ],
)
def test_ptx_parameters(parameters: str, signature: str) -> None:
    (kernel,) = kernels_of(ptx(f".entry k({parameters}) {{ }}")).values()
    assert kernel["signature"] == signature.replace("b32, b32", "u32, u32")


def test_ptx_that_is_passed_over() -> None:
    """Declarations, device functions, and brackets and keywords in comments, strings and bodies."""
    text = """
        .extern .func (.param .b32 r) f(.param .b64 x) .noreturn;
        .visible .func g() { .pragma "nounroll }"; { /* } */ } }
        .extern .entry declared(.param .u32 n);
        .pragma "a;b";
        .file 1 "entry { k(" , 12, 0x20
        .file 2 "b"
        .extern .shared .align 16 .b8 dynamic[];
        .visible .global .align 8 .u64 pointers[3] = {f, generic(g), 0}, more;
        .global .attribute(.managed) .v4 .f32 vectors[] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
        .section .debug_abbrev { .b8 1, 2 }
        .alias a, g;
        .entry k() .maxntid 32, 2 .minnctapersm 2 .pragma "noinline"; .maxnreg 16 .blocksareclusters
        { .param .b32 x; .entry_: bra .entry_; }
    """
    parsed = _C.CodeObject(ptx(text)).describe()
    assert [kernel["name"] for kernel in parsed["kernels"]] == ["k"]
    assert parsed["kernels"][0]["max_flat_workgroup_size"] == 64
    assert {s["name"]: s["size"] for s in parsed["symbols"]} == {"pointers": 24, "more": 8, "vectors": 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".version 8", "a version such as 8.5|the text ends"),
        (".version 8.5", r'at offset 0xc: "\.target" expected, the text ends'),
        (".version 8.5 .target debug .entry", r"a processor such as sm_90"),
        (".version 8.5 .target sm_80, sm_90", r"a second processor"),
        (".version 8.5 .target sm_90 nonsense", r'a directive expected at "nonsense"'),
        (".version 8.5 .target sm_90 .entry k( .u32 a) {}", r'"\.param" expected at "\.u32"'),
        (".version 8.5 .target sm_90 .entry k(.param a) {}", "a type expected"),
        (".version 8.5 .target sm_90 .entry k(.param .u33 a) {}", r"unknown type or property \.u33"),
        (".version 8.5 .target sm_90 .entry k(.param .b8 a[]) {}", "a parameter without a size"),
        (".version 8.5 .target sm_90 .entry k(.param .b8 a[99999999]) {}", "more than 1048576 bytes of parameters"),
        (".version 8.5 .target sm_90 .entry k(.param .b8 a[-1]) {}", 'a number expected at "-"'),
        (".version 8.5 .target sm_90 .entry k() { {", "the PTX ends in the middle"),
        (".version 8.5 .target sm_90 .entry k() { } .entry k() { }", "kernel k is defined twice"),
        (".version 8.5 .target sm_90 .entry k() .reqntid 99999999999 { }", "a dimension beyond 32 bits"),
        (".version 8.5 .target sm_90 .global .b64 a[9999999999][9999999999];", "an array that is too large"),
        (".version 8.5 .target sm_90 .global .align 0 .b64 a;", "an alignment that cannot be"),
        (".version 8.5 .target sm_90 /* no end", "a comment without an end"),
        ('.version 8.5 .target sm_90 .pragma "no end', "a string without an end"),
    ],
)
def test_malformed_ptx(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _C.CodeObject(text.encode()).describe()


def test_ptx_ends_at_a_zero() -> None:
    """As the driver reads it; files of compilers have one."""
    data = nvidia_file("kernels.ptx")
    assert kernels_of(data + b"\0rest {") == kernels_of(data)


@pytest.mark.parametrize("name", FATBINS)
def test_a_fat_binary_holds_what_was_put_in(name: str) -> None:
    data = nvidia_file(name)
    first, second, text = images(data)
    assert first == nvidia_file("sm_80.cubin")
    assert second[: len(nvidia_file("sm_90a.cubin"))] == nvidia_file("sm_90a.cubin")  # padded where not compressed
    assert kernels_of(text)["in_clusters"]["cluster_size"] == [2, 1, 1]
    assert b"\0" not in text
    with pytest.raises(
        ValueError,
        match=r"code for several GPUs: say which target; the entries are sm_80 \(cubin\), sm_90 \(PTX\), sm_90a \(cub",
    ):
        _C.CodeObject(data).describe()


@pytest.mark.parametrize("name", FATBINS)
@pytest.mark.parametrize(
    ("device", "taken"),
    [
        ("sm_80", "sm_80 cubin"),
        ("sm_86", "sm_80 cubin"),
        ("sm_87", None),  # Tegra: binaries of others do not run there, and the PTX is for later ones
        ("sm_90", "sm_90a cubin"),
        ("sm_100", "sm_90 PTX"),
        ("sm_120", "sm_90 PTX"),
        ("sm_75", None),
        ("gfx942", None),
    ],
)
def test_the_entry_for_a_device(name: str, device: str, taken: str | None) -> None:
    data = nvidia_file(name)
    if taken is None:
        assert image_for(data, device) is None
        with pytest.raises(ValueError, match=rf"no entry runs on {device}; the entries are sm_80 \(cubin\)"):
            images(data, device)
        return
    (image,) = images(data, device)
    assert image == image_for(data, device)
    parsed = _C.CodeObject(data, device).describe()
    assert parsed == _C.CodeObject(image).describe()
    assert f"{parsed['target']} {parsed['format']}" == taken


def test_host_objects() -> None:
    first, second, text = images(nvidia_file("host.o"))
    assert [_C.CodeObject(image).target for image in (first, second, text)] == ["sm_80", "sm_90", "sm_90"]
    for image in (first, second):
        assert kernels_of(image)["vector_add"]["signature"] == "b64, b64, b64, b32"
    assert kernels_of(text)["vector_add"]["arguments"][3]["offset"] == 24
    # The cubins of an object for nvlink cannot be loaded, its PTX can.
    (only,) = images(nvidia_file("host_relocatable.o"))
    assert _C.CodeObject(only).format == "PTX"
    with pytest.raises(ValueError, match=r"no entry runs on sm_80; the entries are .*sm_80 \(relocatable cubin\)"):
        images(nvidia_file("host_relocatable.o"), "sm_80")


def test_a_translation_unit_each() -> None:
    """Of each unit the best entry, also where one of them has only PTX for the device."""
    units = nvidia_file("lz4.fatbin") + bytes(40) + nvidia_file("zstd.fatbin")
    assert len(images(units)) == 3  # the same code in both
    assert len(images(units, "sm_90")) == 1
    mixed = fatbin((2, 90, nvidia_file("sm_90.cubin"))) + fatbin((1, 90, nvidia_file("cluster.ptx")))
    assert [_C.CodeObject(image).format for image in images(mixed, "sm_90")] == ["cubin", "PTX"]


def fatbin(*entries: tuple[int, int, bytes], flags: int = 0x11) -> bytes:
    """A fat binary with entries of a kind, a processor and contents."""
    body = b""
    for kind, processor, data in entries:
        padded = data + bytes(-len(data) % 8)
        head = struct.pack("<HHIQIIHHIII", kind, 0x101, 64, len(padded), 0, 0, 8, 1, processor, 0, 0)
        body += head + struct.pack("<QQQ", flags, 0, 0) + padded
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_a_wrapper_before_a_fat_binary() -> None:
    wrapper = struct.pack("<IIQQ", 0x466243B1, 1, 0, 0)
    data = wrapper + fatbin((2, 80, nvidia_file("sm_80.cubin")))
    assert _C.CodeObject(data).data == nvidia_file("sm_80.cubin")
    with pytest.raises(ValueError, match="no entry is for a known GPU; it has no entries"):
        images(wrapper)


def test_the_best_of_several() -> None:
    """The later cubin before the earlier one, and code for one processor or family before code for all."""
    cubins = fatbin((2, 80, nvidia_file("sm_80.cubin")), (2, 90, nvidia_file("sm_90.cubin")))
    both = cubins + fatbin((2, 90, nvidia_file("sm_90a.cubin")), (1, 80, nvidia_file("kernels.ptx")))
    taken = image_for(both, "sm_90")
    assert taken is not None
    assert taken.startswith(nvidia_file("sm_90a.cubin"))
    assert image_for(both, "sm_89") == nvidia_file("sm_80.cubin")
    assert image_for(both, "sm_100") == nvidia_file("kernels.ptx")
    texts = [ptx(".entry k() {}", target) for target in ("sm_90", "sm_100", "sm_100f", "sm_100a", "sm_103f")]
    several = fatbin(*((1, 100, text) for text in texts))
    for device, best in (("sm_90", 0), ("sm_100", 3), ("sm_103", 4), ("sm_110", 1), ("sm_120", 1)):
        assert image_for(several, device) == texts[best]


def test_amd_and_nvidia_in_one_choice() -> None:
    entry = "hipv4-amdgcn-amd-amdhsa--"
    codes = [corpus_file("asm_args_pad.co"), corpus_file("clang_v5_gfx90a_xnack_on.co")]
    bundle = raw_bundle([(f"{entry}gfx942", codes[0]), (f"{entry}gfx90a:xnack+", codes[1])])
    assert images(bundle) == codes
    assert image_for(bundle, "gfx90a:sramecc+:xnack+") == codes[1]
    assert image_for(bundle, "gfx90a:xnack-") is None
    assert image_for(bundle, "sm_90") is None


@pytest.mark.parametrize(
    ("code", "device", "runs"),
    [
        ("sm_80", "sm_86", True),
        ("sm_86", "sm_80", False),
        ("sm_80", "sm_90", False),
        ("sm_90", "sm_80", False),
        ("sm_90a", "sm_90", True),
        ("sm_100a", "sm_103", False),
        ("sm_100f", "sm_103", True),
        ("sm_103f", "sm_100", False),
        ("sm_100f", "sm_120", False),
        ("sm_120", "sm_121", True),
        ("sm_80", "sm_87", False),  # Tegra
        ("sm_87", "sm_87", True),
        ("sm_86", "sm_89", True),
    ],
)
def test_binary_compatibility(code: str, device: str, runs: bool) -> None:
    assert _C.target_runs_on(code, device) is runs


def test_a_single_file_for_another_device() -> None:
    with pytest.raises(ValueError, match=r"^cubin built for sm_90a does not run on sm_80$"):
        _C.CodeObject(nvidia_file("sm_90a.cubin"), "sm_80").describe()
    with pytest.raises(ValueError, match=r"^PTX built for sm_80 does not run on sm_75$"):
        _C.CodeObject(nvidia_file("kernels.ptx"), "sm_75").describe()
    assert _C.CodeObject(nvidia_file("kernels.ptx"), "sm_120").target == "sm_80"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (fatbin(), "no entry is for a known GPU; it has no entries"),
        (fatbin((4, 20, b"old")), r"the entries are sm_20 \(neither cubin nor PTX\)"),
        (fatbin((2, 90, b"not an ELF")), "malformed cubin at offset 0x50: not an ELF file"),
        (fatbin((1, 90, b"not PTX")), r'malformed PTX at offset 0x50: "\.version" expected at "not"'),
        (fatbin((1, 90, b"short"), flags=0x2011), "decompressed"),
        (fatbin((2, 90, corpus_file("asm_args_pad.co"))), "an ELF for another machine"),
        (b"\x50\xed\x55\xba\x02\0\x10\0" + bytes(8), "fat binary of version 2; version 1 is known"),
        (b"\x50\xed\x55\xba\x01\0\x08\0" + bytes(8), "a header of 8 bytes"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + bytes(64), "a header of 0 bytes"),
        (fatbin() + b"x", "malformed file at offset 0x10: no fat binary where one is expected"),
    ],
)
def test_malformed_fat_binaries(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        images(data)


def test_offsets_in_errors_are_those_of_the_file() -> None:
    data = bytearray(nvidia_file("none.fatbin"))
    at = data.index(b"\x7fELF") + 4
    data[at] = 1
    with pytest.raises(ValueError, match=f"malformed cubin at offset {at:#x}: not a 64-bit ELF file"):
        images(bytes(data))


@pytest.mark.parametrize(
    "name", ["lz4.fatbin", "zstd.fatbin", "host_relocatable.o", "abi7_sm_90a.cubin", "kernels.ptx"]
)
def test_every_truncated_prefix_is_refused(name: str) -> None:
    data = nvidia_file(name)
    # PTX that ends between two kernels is whole, and so is a host object whose last section ends before its end.
    is_whole = {size for size in range(len(data)) if name.endswith(".ptx") and _ends_whole(data[:size])}
    for size in range(len(data)):
        if size in is_whole:
            continue
        with pytest.raises(ValueError, match=r"."):
            images(data[:size])


def _ends_whole(text: bytes) -> bool:
    """Whether nothing but blanks and comments follows the last declaration, or nothing of the next one is there yet."""
    try:
        _C.CodeObject(text).describe()
    except ValueError:
        return False
    rest = re.sub(rb"//[^\n]*|/\*.*?\*/|\s", b"", text)
    return rest.endswith((b"}", b";", b"120", b"64", b"sm_80", b'.file1"kernels.cu"')) or rest[-1:].isdigit()


def test_a_kernel_that_is_listed_twice() -> None:
    data = nvidia_file("sm_80.cubin").replace(b"\0mixed\0", b"\0scale\0")
    with pytest.raises(ValueError, match=r"kernel scale is listed twice"):
        _C.CodeObject(data).describe()


def test_relocatable_cubins() -> None:
    data = bytearray(nvidia_file("sm_80.cubin"))
    data[16] = 1
    with pytest.raises(ValueError, match=r"a relocatable cubin .*link it first"):
        _C.CodeObject(bytes(data)).describe()
