"""Metadata and hashes over more inputs than the corpus has."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest
import torch
from code_object_support import CodeObject, Kernel, relaxed
from corpus_tools.tools import msgpack
from hypothesis import given
from hypothesis import strategies as st

import wave_runtime
from wave_runtime import _C

# Every encoding of an integer that holds 5.
FIVES = [
    b"\x05",
    b"\xcc\x05",
    b"\xcd\0\x05",
    b"\xce\0\0\0\x05",
    b"\xcf" + bytes(7) + b"\x05",
    b"\xd0\x05",
    b"\xd1\0\x05",
    b"\xd2\0\0\0\x05",
    b"\xd3" + bytes(7) + b"\x05",
]
# A value of every type of MessagePack.
VALUES = [
    *FIVES,
    b"\xc0",
    b"\xc2",
    b"\xc3",
    b"\xff",
    b"\xca" + bytes(4),
    b"\xcb" + bytes(8),
    b"\xa2ab",
    b"\xd9\x01a",
    b"\xda\0\x01a",
    b"\xdb\0\0\0\x01a",
    b"\xc4\x01a",
    b"\xc5\0\x01a",
    b"\xc6\0\0\0\x01a",
    b"\xd4\x01a",
    b"\xd5\x01ab",
    b"\xd6\x01abcd",
    b"\xd7\x01" + bytes(8),
    b"\xd8\x01" + bytes(16),
    b"\xc7\x03\x01abc",
    b"\xc8\0\x03\x01abc",
    b"\xc9\0\0\0\x03\x01abc",
    b"\x92\x01\x02",
    b"\xdc\0\x01\x01",
    b"\xdd\0\0\0\x01\x01",
    b"\x81\x01\x02",
    b"\xde\0\x01\x01\x02",
    b"\xdf\0\0\0\x01\x01\x02",
    b"\x80",
    b"\x90",
]
ACCESSES = {"read_only": "read_only", "write_only": "write_only", "read_write": "read_write", "default": None}


def read(metadata: bytes) -> dict[str, Any]:
    kernels = _C.CodeObject(CodeObject(metadata=metadata).build()).describe()["kernels"]
    assert len(kernels) == 1
    return dict(kernels[0])


def kernel_map(pairs: bytes, count: int) -> bytes:
    """A document of one kernel with `count` more pairs."""
    head = msgpack("amdhsa.kernels")
    return (
        b"\x81"
        + head
        + b"\x91"
        + bytes([0x80 + 2 + count])
        + msgpack(".name")
        + msgpack("kernel")
        + msgpack(".symbol")
        + msgpack("kernel.kd")
        + pairs
    )


@pytest.mark.parametrize("five", FIVES)
def test_integers_of_every_width(five: bytes) -> None:
    assert read(kernel_map(msgpack(".sgpr_count") + five, 1))["sgpr_count"] == 5


@pytest.mark.parametrize("value", VALUES)
def test_unknown_keys_are_skipped_whatever_they_hold(value: bytes) -> None:
    pairs = msgpack(".novelty") + value + msgpack(".vgpr_count") + b"\x07"
    assert read(kernel_map(pairs, 2))["vgpr_count"] == 7


@pytest.mark.parametrize("value", [value for value in VALUES if value not in FIVES])
def test_a_number_of_another_type_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="malformed code object metadata at offset"):
        read(kernel_map(msgpack(".vgpr_count") + value, 1))


def test_nesting_up_to_the_limit() -> None:
    for depth, accepted in ((60, True), (70, False)):
        pairs = msgpack(".novelty") + b"\x91" * depth + b"\xc0"
        if accepted:
            read(kernel_map(pairs, 1))
        else:
            with pytest.raises(ValueError, match="nested too deeply"):
                read(kernel_map(pairs, 1))


def arguments() -> st.SearchStrategy[list[dict[str, Any]]]:
    names = st.text("abcXYZ_09.[]\u00e9\u4e16\U0001f600", max_size=40)
    kinds = st.sampled_from(
        ["by_value", "global_buffer", "dynamic_shared_pointer", "hidden_none", "hidden_grid_dims", "future"]
    )
    return st.lists(
        st.fixed_dictionaries(
            {".offset": st.integers(0, 500), ".size": st.integers(0, 500), ".value_kind": kinds},
            optional={
                ".name": names,
                ".type_name": names,
                ".actual_access": st.sampled_from(sorted(ACCESSES)),
                ".is_const": st.booleans(),
            },
        ),
        max_size=40,
    )


@relaxed
@given(arguments(), st.integers(0, 2000))
def test_arguments(stated: list[dict[str, Any]], size: int) -> None:
    kernel = read(
        msgpack(
            {
                "amdhsa.kernels": [
                    {".name": "kernel", ".symbol": "kernel.kd", ".args": stated, ".kernarg_segment_size": size}
                ]
            }
        )
    )
    assert kernel["kernarg_segment_size"] == max([size] + [a[".offset"] + a[".size"] for a in stated])
    for parsed, truth in zip(kernel["arguments"], stated, strict=True):
        assert parsed["name"] == truth.get(".name", "")
        assert parsed["type_name"] == truth.get(".type_name", "")
        assert (parsed["offset"], parsed["size"]) == (truth[".offset"], truth[".size"])
        assert (parsed["kind"], parsed["is_hidden"]) == (
            truth[".value_kind"],
            truth[".value_kind"].startswith("hidden_"),
        )
        assert parsed["actual_access"] == ACCESSES[truth.get(".actual_access", "default")]
        assert parsed["is_const"] == truth.get(".is_const", False)


@relaxed
@given(st.integers(0, 200), st.integers(0, 255))
def test_sha256(size: int, byte: int) -> None:
    """Whatever follows the ELF belongs to the image: any size, so that every kind of last block is seen."""
    data = CodeObject().build() + bytes([byte]) * size
    assert _C.CodeObject(data).describe()["sha256"] == hashlib.sha256(data).hexdigest()


@relaxed
@given(
    st.integers(0, (1 << 32) - 1),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, (1 << 16) - 1),
)
def test_descriptor_bits(rsrc1: int, rsrc2: int, rsrc3: int, properties: int) -> None:
    """Every bit of gfx942's descriptor is in the place that the usage guide gives."""
    kernel = Kernel(rsrc1=rsrc1, rsrc2=rsrc2, rsrc3=rsrc3, properties=properties, kernarg_size=24)
    parsed = _C.CodeObject(CodeObject(kernels=[kernel]).build()).describe()["kernels"][0]
    d = parsed["descriptor"]
    assert rsrc1 & 0x07FFFFFF == (
        d["granulated_workitem_vgpr_count"]
        | d["granulated_wavefront_sgpr_count"] << 6
        | d["priority"] << 10
        | d["float_round_mode_32"] << 12
        | d["float_round_mode_16_64"] << 14
        | d["float_denorm_mode_32"] << 16
        | d["float_denorm_mode_16_64"] << 18
        | d["priv"] << 20
        | d["enable_dx10_clamp"] << 21
        | d["debug_mode"] << 22
        | d["enable_ieee_mode"] << 23
        | d["bulky"] << 24
        | d["cdbg_user"] << 25
        | d["fp16_overflow"] << 26
    )
    assert not any(
        d[name] for name in ("wgp_mode", "memory_ordered", "forward_progress", "shared_vgpr_count", "inst_pref_size")
    )
    assert rsrc2 & 0x7FFF9FFF == (
        d["enable_private_segment"]
        | d["user_sgpr_count"] << 1
        | d["enable_trap_handler"] << 6
        | d["enable_sgpr_workgroup_id_x"] << 7
        | d["enable_sgpr_workgroup_id_y"] << 8
        | d["enable_sgpr_workgroup_id_z"] << 9
        | d["enable_sgpr_workgroup_info"] << 10
        | d["enable_vgpr_workitem_id"] << 11
        | d["granulated_lds_size"] << 15
        | d["exception_flags"] << 24
    )
    assert (d["accum_offset"], d["tg_split"], d["rsrc3"]) == ((rsrc3 % 64 + 1) * 4, bool(rsrc3 >> 16 & 1), rsrc3)
    assert properties & 0x87F == (
        d["enable_sgpr_private_segment_buffer"]
        | d["enable_sgpr_dispatch_ptr"] << 1
        | d["enable_sgpr_queue_ptr"] << 2
        | d["enable_sgpr_kernarg_segment_ptr"] << 3
        | d["enable_sgpr_dispatch_id"] << 4
        | d["enable_sgpr_flat_scratch_init"] << 5
        | d["enable_sgpr_private_segment_size"] << 6
        | d["uses_dynamic_stack"] << 11
    )
    assert not d["enable_wavefront_size32"]
    assert parsed["allocated_vgprs"] == (rsrc1 % 64 + 1) * 8
    assert (d["kernarg_size"], d["kernarg_preload_length"]) == (24, 0)


MACHINES = {"gfx803": 0x2A, "gfx906": 0x2F, "gfx90a": 0x3F, "gfx1030": 0x36, "gfx1100": 0x41, "gfx1201": 0x4E}
MACHINES |= {"gfx1250": 0x49}
RDNA = {"gfx1030", "gfx1100", "gfx1201", "gfx1250"}
# Fields that some processors have: the word, the first bit and the width there. LLVM's usage guide has the tables.
SOME_HAVE = {
    "fp16_overflow": dict.fromkeys(MACHINES.keys() - {"gfx803"}, ("rsrc1", 26, 1)),
    "wgp_mode": dict.fromkeys(RDNA, ("rsrc1", 29, 1)),
    "memory_ordered": dict.fromkeys(RDNA, ("rsrc1", 30, 1)),
    "forward_progress": dict.fromkeys(RDNA, ("rsrc1", 31, 1)),
    "user_sgpr_count": dict.fromkeys(MACHINES, ("rsrc2", 1, 5)) | {"gfx1250": ("rsrc2", 1, 6)},
    "enable_trap_handler": dict.fromkeys(MACHINES.keys() - {"gfx1201", "gfx1250"}, ("rsrc2", 6, 1)),
    "tg_split": {"gfx90a": ("rsrc3", 16, 1)},
    "shared_vgpr_count": dict.fromkeys(("gfx1030", "gfx1100"), ("rsrc3", 0, 4)),
    "inst_pref_size": {"gfx1100": ("rsrc3", 4, 6)} | dict.fromkeys(("gfx1201", "gfx1250"), ("rsrc3", 4, 8)),
    "enable_wavefront_size32": dict.fromkeys(RDNA, ("properties", 10, 1)),
}
WORDS = {"rsrc1": (1 << 32) - 1, "rsrc2": (1 << 32) - 1, "rsrc3": (1 << 32) - 1, "properties": (1 << 16) - 1}


@pytest.mark.parametrize("field", SOME_HAVE)
@pytest.mark.parametrize("processor", MACHINES)
def test_descriptor_bits_that_some_processors_have(processor: str, field: str) -> None:
    def read_field(words: dict[str, int]) -> int:
        code = CodeObject(flags=MACHINES[processor], kernels=[Kernel(**words)]).build()  # type: ignore[arg-type]
        return int(_C.CodeObject(code).describe()["kernels"][0]["descriptor"][field])

    if processor not in SOME_HAVE[field]:
        assert read_field(WORDS) == 0
        return
    word, first, width = SOME_HAVE[field][processor]
    for bit in range(width):
        assert read_field({word: 1 << (first + bit)}) == 1 << bit
    assert read_field(WORDS | {word: WORDS[word] & ~(((1 << width) - 1) << first)}) == 0


@pytest.mark.parametrize(("is_wave32", "registers"), [(False, 512), (True, 1024)])
def test_waves_of_gfx1250_have_up_to_1024_registers(is_wave32: bool, registers: int) -> None:
    kernel = Kernel(rsrc1=63, properties=int(is_wave32) << 10)
    parsed = _C.CodeObject(CodeObject(flags=0x49, kernels=[kernel]).build()).describe()["kernels"][0]
    assert parsed["allocated_vgprs"] == registers


def test_preload_is_read_where_there_is_one() -> None:
    descriptor_at = 256  # of the first kernel in what CodeObject builds
    for flags, expected in ((0x54C, (5, 3)), (0x41, (0, 0))):
        data = bytearray(CodeObject(flags=flags).build())
        struct.pack_into("<H", data, descriptor_at + 58, 5 | 3 << 7)
        descriptor = _C.CodeObject(bytes(data)).describe()["kernels"][0]["descriptor"]
        assert (descriptor["kernarg_preload_length"], descriptor["kernarg_preload_offset"]) == expected


def test_kernarg_segment_of_a_descriptor_is_limited() -> None:
    """Where there is no metadata, the size is the descriptor's. A launch allocates as much."""
    limit = 1 << 20
    info = _C.CodeObject(CodeObject(kernels=[Kernel(kernarg_size=limit)]).build()).describe()
    assert info["kernels"][0]["kernarg_segment_size"] == limit
    with pytest.raises(ValueError, match="kernel kernel has a kernarg segment of 4294967295 bytes"):
        _C.CodeObject(CodeObject(kernels=[Kernel(kernarg_size=0xFFFFFFFF)]).build()).describe()


PART = """
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_mov_b32_e32 v1, {value}
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[2:3]
  s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 2
    .max_flat_workgroup_size: 256
    .args:
      - {{.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""


@pytest.mark.needs("clang")
def test_each_part_of_a_file_has_a_note_of_its_own() -> None:
    """As lld --lto-partitions makes them, which clang passes where it links with -fgpu-rdc."""
    source = PART.format(name="first", value=1) + PART.format(name="second", value=2)
    module = wave_runtime.compile(source, language="asm", target="gfx942")
    assert sorted(module) == ["first", "second"]
    out = torch.zeros(64, dtype=torch.int32)
    for value, name in enumerate(("first", "second"), 1):
        module[name](out, grid=1, block=64)
        assert (out == value).all()
