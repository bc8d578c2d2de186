"""wave_runtime._info: what `python -m wave_runtime info` prints."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from code_object_support import CORPUS, CodeObject, Kernel, corpus_file, golden
from corpus_tools.tools import msgpack
from corpus_tools.valid import raw_bundle

from wave_runtime._info import describe, render

ENTRY = "hipv4-amdgcn-amd-amdhsa--gfx942"
FILES = sorted(golden("llvm.json"))


@pytest.mark.parametrize("name", FILES)
def test_every_valid_file(name: str) -> None:
    """By its path and by its bytes; the result survives JSON; the text names every kernel and argument."""
    description = describe(CORPUS / name)
    assert description == describe(corpus_file(name)) == json.loads(json.dumps(description))
    data = corpus_file(name)
    (image,) = description["images"]
    assert image == {
        "format": "AMD code object",
        "target": description["target"],
        "version": description["version"],
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    assert description["targets"] == [description["target"]]
    text = render(description)
    for kernel in description["kernels"]:
        assert f"kernel {kernel['name']}\n" in text
        for argument in kernel["kernarg"]["arguments"] or []:
            assert argument["kind"] in text
            assert argument["name"] is None or argument["name"] in text


def test_a_kernel_in_full() -> None:
    """What asm_descriptor_fields.co was written with (corpus_tools/valid.py)."""
    (kernel,) = describe(CORPUS / "asm_descriptor_fields.co")["kernels"]
    assert kernel == {
        "name": "kernel",
        "symbol": "kernel.kd",
        "image": 0,
        "signature": "x: *, y: *, n: b32",
        "block": {"required": [64, 2, 1], "max_size": 256},
        "wavefront_size": 64,
        "registers": {"sgprs": 16, "vgprs": 8, "agprs": 4, "allocated_sgprs": 96, "allocated_vgprs": 104},
        "spills": {"sgprs": 1, "vgprs": 2},
        "shared_memory": 1024,
        "scratch_size": 40,
        "uses_dynamic_stack": True,
        "code_size": 4,
        "kernarg": {
            "size": 24,
            "align": 8,
            "preloaded_dwords": 3,
            "arguments": [
                {"name": "x", "type": None, "offset": 0, "size": 8, "kind": "global_buffer", "hidden": False}
                | {"access": "read_only"},
                {"name": "y", "type": None, "offset": 8, "size": 8, "kind": "global_buffer", "hidden": False}
                | {"access": "write_only"},
                {"name": "n", "type": None, "offset": 16, "size": 4, "kind": "by_value", "hidden": False}
                | {"access": None},
            ],
        },
        "occupancy": {
            "workgroup_size": 128,
            "unit": "compute unit",
            "waves_per_simd": 4,
            "max_waves_per_simd": 8,
            "workgroups_per_unit": 8,
            "limited_by": "VGPRs",
        },
    }


def test_the_text_of_a_kernel() -> None:
    data = corpus_file("asm_descriptor_fields.co")
    assert (
        render(describe(data))
        == f"""\
gfx942, code object v5
2824 bytes, sha256 {hashlib.sha256(data).hexdigest()}
1 kernel

kernel kernel
  signature  x: *, y: *, n: b32
  block      64 x 2 x 1 work-items, required
  wavefront  64 work-items
  registers  16 SGPRs, 8 VGPRs, 4 AGPRs; allocated: 96 SGPRs, 104 VGPRs
  spills     1 SGPR, 2 VGPRs
  LDS        1024 bytes
  scratch    40 bytes a work-item, more for a dynamic stack
  code       4 bytes
  occupancy  4 of 8 waves a SIMD, limited by VGPRs (8 workgroups of 128 work-items a compute unit)
  kernarg    24 bytes, the first 3 dwords preloaded
    offset  size  kind           access      type  name
         0     8  global_buffer  read_only   -     x
         8     8  global_buffer  write_only  -     y
        16     4  by_value       -           -     n"""
    )


def test_what_is_not_stated() -> None:
    (kernel,) = describe(corpus_file("asm_args_none.co"))["kernels"]
    assert kernel["kernarg"]["arguments"] is None
    assert kernel["spills"] == {"sgprs": None, "vgprs": None}
    text = render(describe(corpus_file("asm_args_none.co")))
    assert "  kernarg    48 bytes; the arguments are not stated" in text
    assert "  spills     not stated" in text


def test_occupancy_that_cannot_be_told() -> None:
    metadata = msgpack({"amdhsa.kernels": [{".name": "kernel", ".symbol": "kernel.kd"}]})
    no_block = describe(CodeObject(metadata=metadata).build())
    assert no_block["kernels"][0]["occupancy"]["unknown"] == "the file states no block size"
    assert "  block      not stated" in render(no_block)
    old = describe(CodeObject(flags=0x2A, abi_version=2, kernels=[Kernel()]).build())
    assert old["kernels"][0]["occupancy"]["unknown"] == "the limits of gfx803 are not known"
    assert "  occupancy  unknown: the limits of gfx803 are not known" in render(old)


@pytest.mark.parametrize(("name", "granule"), [("clang_v5_gfx1100.co", 24), ("clang_v5_gfx1100_wave64.co", 12)])
def test_registers_are_allocated_in_whole_granules(name: str, granule: int) -> None:
    """Those of the hardware (LLVM, getVGPRAllocGranule), which are larger than the units of the descriptor."""
    for kernel in describe(corpus_file(name))["kernels"]:
        registers = kernel["registers"]
        assert registers["allocated_vgprs"] == -(-registers["vgprs"] // granule) * granule


def test_workgroup_processor_mode() -> None:
    """The unit is the workgroup processor where the kernel runs in that mode."""
    assert " a workgroup processor)" in render(describe(corpus_file("clang_v5_gfx1100.co")))
    assert " a compute unit)" in render(describe(corpus_file("clang_v5_gfx1030_cumode.co")))


def test_containers_and_errors(tmp_path: Path) -> None:
    bundle = CORPUS / "bundle_zstd_v2.hipfb"
    assert describe(bundle, "gfx942")["target"] == "gfx942"
    assert describe(str(bundle), target="gfx90a:xnack+")["target"] == "gfx90a:xnack+"
    with pytest.raises(
        ValueError, match=r"bundle_zstd_v2\.hipfb: no entry runs on gfx1100; the entries are .*: compile for"
    ):
        describe(bundle, "gfx1100")
    with pytest.raises(ValueError, match='target id "gfx": unknown processor'):
        describe(corpus_file("asm_args_pad.co"), "gfx")
    with pytest.raises(FileNotFoundError):
        describe(tmp_path / "none.co")


def test_a_library_of_several_translation_units() -> None:
    """All their kernels are described, with the code object that each is in."""
    entries = [(ENTRY, corpus_file("asm_args_pad.co")), (ENTRY, corpus_file("clang_v5_gfx942.co"))]
    description = describe(raw_bundle(entries), "gfx942")
    assert [(kernel["name"], kernel["image"]) for kernel in description["kernels"]] == [
        ("k", 0),
        ("scale", 1),
        ("shuffle", 1),
    ]
    text = render(description)
    assert text.startswith("gfx942, code object v5, 2 of them for as many translation units\n2560 bytes, sha256 ")
    assert "\n3 kernels\n\nkernel k\n" in text
