"""Occupancy, compared with LLVM's, with figures that AMD publishes, and with what the formula must satisfy."""

from __future__ import annotations

from typing import Any

import pytest
from code_object_support import CodeObject, Kernel, corpus_file, golden, relaxed
from hypothesis import given
from hypothesis import strategies as st

from wave_runtime import _C

LLVM = golden("occupancy.json")
MACHINES = golden("machines.json") | {"gfx950": 0x54F, "gfx9-4-generic": 1 << 24 | 0x55F}
WAVE32, WGP_MODE = 1 << 10, 1 << 29


def code_object(processor: str, **kernel: int) -> bytes:
    return CodeObject(flags=MACHINES[processor], abi_version=4, kernels=[Kernel(**kernel)]).build()  # type: ignore[arg-type]


def occupancy(processor: str, size: int, lds: int = 0, **kernel: int) -> dict[str, Any]:
    return dict(_C.occupancy(code_object(processor, **kernel), None, "kernel", size, lds))


def vgpr_field(processor: str, vgprs: int, wave32: bool = False) -> int:
    """compute_pgm_rsrc1 of a kernel with this many VGPRs."""
    granule = 8 if wave32 or processor in ("gfx90a", "gfx942", "gfx950") else 4
    return -(-vgprs // granule) - 1


@pytest.mark.parametrize("processor", sorted(LLVM))
def test_like_llvm(processor: str) -> None:
    """Workgroups of one wave and no LDS: only registers and wave slots limit."""
    for size, kernels in LLVM[processor].items():
        for rsrc1, rsrc3, sgprs, waves in kernels:
            if processor.startswith("gfx9") and (80 < sgprs <= 88 or 96 < sgprs <= 100):
                continue  # see test_sgprs_are_allocated_in_16
            result = occupancy(processor, int(size), rsrc1=rsrc1, rsrc3=rsrc3, properties=WAVE32 if size == "32" else 0)
            assert result["waves_per_simd"] == waves, (size, rsrc1, rsrc3, sgprs)


@pytest.mark.parametrize(("sgprs", "waves"), [(80, 10), (88, 8), (96, 8), (100, 7), (102, 7)])
def test_sgprs_are_allocated_in_16(sgprs: int, waves: int) -> None:
    """800 SGPRs of a SIMD, in 16: for 81 to 88 and 97 to 100 LLVM's table, in granules of 8, has one wave more."""
    result = occupancy("gfx906", 64, rsrc1=(-(-sgprs // 8) - 1) << 6)
    assert result["waves_per_simd"] == waves
    assert result["limited_by"] == ("wave slots" if waves == 10 else "SGPRs")


# AMD's tables of waves for a count of VGPRs: GCN and Vega (GPUOpen, "Optimizing GPU occupancy and resource usage with
# large thread groups"), CDNA2 (AMD lab notes, "Register pressure in AMD CDNA2 GPUs"); RDNA2 and RDNA3 by the 1024 and
# 1536 VGPRs of a SIMD and their granules of 16 and 24 (RDNA2 and RDNA3 ISA documents, "VGPR Allocation").
PUBLISHED = [
    ("gfx906", 64, 10, {24: 10, 28: 9, 32: 8, 36: 7, 40: 6, 48: 5, 64: 4, 84: 3, 128: 2, 256: 1}),
    ("gfx90a", 64, 8, {64: 8, 72: 7, 80: 6, 96: 5, 128: 4, 168: 3, 256: 2, 512: 1}),
    ("gfx942", 64, 8, {64: 8, 72: 7, 80: 6, 96: 5, 128: 4, 168: 3, 256: 2, 512: 1}),
    ("gfx1030", 32, 16, {64: 16, 72: 12, 80: 12, 96: 10, 112: 9, 128: 8, 144: 7, 160: 6, 192: 5, 256: 4}),
    ("gfx1100", 32, 16, {96: 16, 120: 12, 144: 10, 168: 9, 192: 8, 216: 7, 240: 6, 256: 5}),
]


@pytest.mark.parametrize(("processor", "size", "most", "table"), PUBLISHED)
def test_published_tables(processor: str, size: int, most: int, table: dict[int, int]) -> None:
    for vgprs, waves in table.items():
        properties = WAVE32 if size == 32 else 0
        result = occupancy(processor, size, rsrc1=vgpr_field(processor, vgprs, size == 32), properties=properties)
        assert (result["waves_per_simd"], result["max_waves_per_simd"]) == (waves, most), vgprs
        assert result["limited_by"] == ("wave slots" if waves == most else "VGPRs")


@pytest.mark.parametrize(
    ("processor", "size", "lds", "mode", "workgroups", "waves", "limit"),
    [
        # 64 KiB of LDS, 4 SIMDs with 8 waves each
        ("gfx942", 256, 0, 0, 8, 8, "wave slots"),
        ("gfx942", 256, 16384, 0, 4, 4, "LDS"),
        ("gfx942", 256, 16385, 0, 3, 3, "LDS"),  # rounded up to 16896
        ("gfx942", 1024, 65536, 0, 1, 4, "LDS"),
        ("gfx942", 64, 40000, 0, 1, 1, "LDS"),  # one wave on one of the four SIMDs
        ("gfx942", 100, 0, 0, 16, 8, "wave slots"),  # two waves each
        ("gfx942", 64, 0, 0, 32, 8, "wave slots"),  # a single wave takes no barrier: more than 16 fit
        ("gfx906", 128, 0, 0, 16, 8, "workgroup slots"),  # 20 would fit
        ("gfx950", 256, 40960, 0, 4, 4, "LDS"),  # 160 KiB
        ("gfx950", 256, 163840, 0, 1, 1, "LDS"),
        ("gfx950", 256, 32000, 0, 5, 5, "LDS"),  # 25 granules of 1280
        ("gfx950", 256, 32001, 0, 4, 4, "LDS"),
        # RDNA: a compute unit of 2 SIMDs; in WGP mode 4 SIMDs and twice the LDS
        ("gfx1030", 256, 32768, 0, 2, 8, "LDS"),
        ("gfx1030", 256, 32768, WGP_MODE, 4, 8, "LDS"),
        ("gfx1100", 1024, 0, 0, 1, 16, "wave slots"),
        ("gfx1100", 1024, 0, WGP_MODE, 2, 16, "wave slots"),
        ("gfx1100", 64, 0, WGP_MODE, 32, 16, "wave slots"),
        ("gfx1010", 64, 0, WGP_MODE, 32, 16, "workgroup slots"),  # 40 would fit
    ],
)
def test_workgroups(processor: str, size: int, lds: int, mode: int, workgroups: int, waves: int, limit: str) -> None:
    properties = WAVE32 if processor.startswith("gfx1") else 0
    result = occupancy(processor, size, lds, rsrc1=mode, properties=properties)
    assert (result["workgroups_per_unit"], result["waves_per_simd"], result["limited_by"]) == (workgroups, waves, limit)


def test_lds_is_the_limit_where_registers_are_one_as_well() -> None:
    """Of 512 VGPRs clang gives a kernel 256 if its LDS leaves room for two waves of a SIMD alone."""
    for granules, limit in ((31, "LDS"), (63, "VGPRs")):  # of 8 registers, less one
        result = occupancy("gfx942", 256, 32768, rsrc1=granules)
        assert (result["waves_per_simd"], result["limited_by"]) == (2 if limit == "LDS" else 1, limit)


def test_what_does_not_fit() -> None:
    for size in (0, 1025):
        with pytest.raises(ValueError, match=f"workgroups have 1 to 1024 work-items, not {size}"):
            occupancy("gfx942", size)
    with pytest.raises(ValueError, match="65537 bytes of LDS are more than the 65536 that a workgroup may have"):
        occupancy("gfx942", 64, 65537)
    with pytest.raises(ValueError, match=r"1024 work-items \(16 waves\) does not fit: too many VGPRs"):
        occupancy("gfx906", 1024, rsrc1=vgpr_field("gfx906", 256))
    with pytest.raises(ValueError, match="the limits of gfx803 are not known"):
        occupancy("gfx803", 64)


def test_a_real_kernel() -> None:
    """scale has 8 VGPRs, shuffle 256 bytes of LDS: neither limits."""
    data = corpus_file("clang_v5_gfx942.co")
    assert _C.occupancy(data, None, "scale", 256, 0) == {
        "waves_per_simd": 8,
        "max_waves_per_simd": 8,
        "workgroups_per_unit": 8,
        "limited_by": "wave slots",
    }
    assert _C.occupancy(data, "gfx942", "shuffle", 64, 256)["workgroups_per_unit"] == 32


@relaxed
@given(
    processor=st.sampled_from([*sorted(LLVM), "gfx950", "gfx9-4-generic"]),
    size=st.integers(1, 1024),
    lds=st.integers(0, 65536),
    rsrc1=st.integers(0, (1 << 10) - 1),
    wave32=st.booleans(),
    wgp=st.booleans(),
)
def test_properties(processor: str, size: int, lds: int, rsrc1: int, wave32: bool, wgp: bool) -> None:
    """Never more than the slots, and needing more never helps."""
    kernel = {"rsrc1": rsrc1 | (WGP_MODE if wgp else 0), "properties": WAVE32 if wave32 else 0}
    try:
        result = occupancy(processor, size, lds, **kernel)
    except ValueError as error:
        if "does not fit" in str(error):
            return
        raise
    assert 1 <= result["waves_per_simd"] <= result["max_waves_per_simd"]
    assert result["limited_by"] in ("VGPRs", "SGPRs", "LDS", "workgroup slots", "wave slots")
    assert occupancy(processor, size, lds // 2, **kernel)["workgroups_per_unit"] >= result["workgroups_per_unit"]
    if rsrc1 & 63:
        fewer = kernel | {"rsrc1": kernel["rsrc1"] - 1}
        assert occupancy(processor, size, lds, **fewer)["workgroups_per_unit"] >= result["workgroups_per_unit"]
