"""Every valid file of the corpus, compared with what llvm-readobj and llvm-objdump say of it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from code_object_support import corpus_file, golden

from wave_runtime import _C

TRUTH = golden("llvm.json")
FILES = sorted(TRUTH)
LATER_MACHINES = {0x4F: "gfx950", 0x5F: "gfx9-4-generic"}  # that LLVM 19 has no name for


def expected_target(truth: dict[str, Any]) -> str:
    """The target id, from the names that LLVM gives to the flags."""
    machine, features = LATER_MACHINES.get(truth["flags"] & 0xFF, ""), {}
    for name in truth["flag_names"]:
        if name.startswith("EF_AMDGPU_MACH_AMDGCN_"):
            machine = name.removeprefix("EF_AMDGPU_MACH_AMDGCN_").lower().replace("_", "-")
        elif name.endswith("_V3"):
            features[name.removeprefix("EF_AMDGPU_FEATURE_").removesuffix("_V3").lower()] = "+"
        elif name.endswith(("_ON_V4", "_OFF_V4")):
            feature, setting = name.removeprefix("EF_AMDGPU_FEATURE_").removesuffix("_V4").lower().split("_")
            features[feature] = {"on": "+", "off": "-"}[setting]
    if truth["abi_version"] == 1:  # v3: a feature that is not on is off, on the processors that have it
        features = {"sramecc": "-", "xnack": "-"} | features
    return "".join([machine, *(f":{feature}{sign}" for feature, sign in sorted(features.items()))])


@pytest.mark.parametrize("name", FILES)
def test_target_and_version(name: str) -> None:
    truth, parsed = TRUTH[name], _C.CodeObject(corpus_file(name)).describe()
    assert parsed["target"] == expected_target(truth)
    assert parsed["version"] == truth["abi_version"] + 2
    assert parsed["generic_version"] == truth["flags"] >> 24


@pytest.mark.parametrize("name", FILES)
def test_image_and_hash(name: str) -> None:
    data = corpus_file(name)
    assert _C.CodeObject(data).data == data
    assert _C.CodeObject(data).describe()["sha256"] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", FILES)
def test_segments(name: str) -> None:
    parsed = _C.CodeObject(corpus_file(name)).describe()["segments"]
    expected = [
        {
            "address": address,
            "file_offset": offset,
            "file_size": file_size,
            "memory_size": memory_size,
            "writable": bool(flags & 2),
            "executable": bool(flags & 1),
        }
        for address, offset, file_size, memory_size, flags in TRUTH[name]["segments"]
    ]
    assert parsed == sorted(expected, key=lambda segment: segment["address"])


WITH_SECTIONS = [name for name in FILES if name != "asm_sections_none.co"]  # llvm-readobj looks into no others


@pytest.mark.parametrize("name", WITH_SECTIONS)
def test_symbols(name: str) -> None:
    parsed = {
        (s["name"], s["address"], s["size"], s["is_function"])
        for s in _C.CodeObject(corpus_file(name)).describe()["symbols"]
    }
    assert parsed == {(n, address, size, kind == "Function") for n, address, size, kind in TRUTH[name]["symbols"]}


@pytest.mark.parametrize("name", WITH_SECTIONS)
def test_relocations(name: str) -> None:
    types = {"R_AMDGPU_ABS64": 3, "R_AMDGPU_RELATIVE64": 13}
    addresses = {symbol[0]: symbol[1] for symbol in TRUTH[name]["symbols"]}
    undefined = {"missing"}  # "maybe" is weak: it resolves to zero
    expected = [
        {
            "address": address,
            "type": types[kind],
            "addend": addend,
            "symbol_address": addresses.get(symbol, 0),
            "undefined": symbol if symbol in undefined else "",
        }
        for address, kind, symbol, addend in TRUTH[name]["relocations"]
    ]
    assert _C.CodeObject(corpus_file(name)).describe()["relocations"] == expected


def expected_argument(argument: dict[str, Any]) -> dict[str, Any]:
    access = {None: None, "default": None} | {word: word for word in ("read_only", "write_only", "read_write")}
    return {
        "name": argument.get(".name", ""),
        "type_name": argument.get(".type_name", ""),
        "kind": argument[".value_kind"],
        "is_hidden": argument[".value_kind"].startswith("hidden_"),
        "may_be_pointer": False,
        "offset": argument[".offset"],
        "size": argument[".size"],
        "pointee_align": argument.get(".pointee_align", 0),
        "address_space": argument.get(".address_space", ""),
        "access": access[argument.get(".access")],
        "actual_access": access[argument.get(".actual_access")],
        "is_const": argument.get(".is_const", False),
        "is_restrict": argument.get(".is_restrict", False),
        "is_volatile": argument.get(".is_volatile", False),
    }


@pytest.mark.parametrize("name", [name for name in FILES if TRUTH[name]["metadata"]])
def test_metadata(name: str) -> None:
    stated = TRUTH[name]["metadata"]["amdhsa.kernels"]
    parsed = _C.CodeObject(corpus_file(name)).describe()["kernels"]
    assert [kernel["name"] for kernel in parsed] == [kernel[".name"] for kernel in stated]
    for kernel, truth in zip(parsed, stated, strict=True):
        arguments = truth.get(".args")
        expected = None if arguments is None else [expected_argument(argument) for argument in arguments]
        assert kernel["arguments"] == expected
        assert kernel["symbol"] == truth[".symbol"]
        assert kernel["reqd_workgroup_size"] == truth.get(".reqd_workgroup_size")
        for key in (
            "kernarg_segment_align",
            "group_segment_fixed_size",
            "private_segment_fixed_size",
            "wavefront_size",
            "sgpr_count",
            "vgpr_count",
            "max_flat_workgroup_size",
        ):
            assert kernel[key] == truth[f".{key}"], key
        for key in ("agpr_count", "sgpr_spill_count", "vgpr_spill_count"):
            assert kernel[key] == truth.get(f".{key}"), key
        for key in ("uniform_work_group_size", "uses_dynamic_stack"):
            assert kernel[key] == bool(truth.get(f".{key}", False)), key
        last = max((argument["offset"] + argument["size"] for argument in kernel["arguments"] or []), default=0)
        assert kernel["kernarg_segment_size"] == max(truth[".kernarg_segment_size"], last)


EXCEPTIONS = [
    "fp_ieee_invalid_op",
    "fp_denorm_src",
    "fp_ieee_div_zero",
    "fp_ieee_overflow",
    "fp_ieee_underflow",
    "fp_ieee_inexact",
    "int_div_zero",
]
FIELDS = {  # a directive and the field of the descriptor that it sets
    "dx10_clamp": "enable_dx10_clamp",
    "round_robin_scheduling": "enable_dx10_clamp",
    "ieee_mode": "enable_ieee_mode",
    "workgroup_processor_mode": "wgp_mode",
    "system_sgpr_private_segment_wavefront_offset": "enable_private_segment",
    "system_vgpr_workitem_id": "enable_vgpr_workitem_id",
    "wavefront_size32": "enable_wavefront_size32",
    "user_sgpr_kernarg_preload_length": "kernarg_preload_length",
    "user_sgpr_kernarg_preload_offset": "kernarg_preload_offset",
} | {f"exception_{word}": "exception_flags" for word in EXCEPTIONS}
ALLOCATED = {"next_free_vgpr", "next_free_sgpr", "reserve_vcc", "reserve_flat_scratch", "reserve_xnack_mask"}


def field_of(directive: str) -> str:
    if directive.startswith("system_sgpr_workgroup"):
        return "enable_" + directive.removeprefix("system_")
    if directive.startswith("user_sgpr_") and directive not in FIELDS:
        return "enable_" + directive.removeprefix("user_")
    return FIELDS.get(directive, directive)


@pytest.mark.parametrize("name", WITH_SECTIONS)
def test_kernel_descriptors(name: str) -> None:
    kernels = {kernel["name"]: kernel for kernel in _C.CodeObject(corpus_file(name)).describe()["kernels"]}
    assert kernels.keys() == TRUTH[name]["descriptors"].keys()
    for kernel_name, directives in TRUTH[name]["descriptors"].items():
        kernel, descriptor = kernels[kernel_name], kernels[kernel_name]["descriptor"]
        exceptions = sum(directives[f"exception_{word}"] << bit for bit, word in enumerate(EXCEPTIONS))
        for directive, value in directives.items():
            if directive in ALLOCATED:
                continue
            field = field_of(directive)
            assert int(descriptor[field]) == (exceptions if field == "exception_flags" else value), directive
        assert kernel["allocated_vgprs"] == directives["next_free_vgpr"]
        if kernel["allocated_sgprs"] != 128:  # always so on gfx10 and later
            assert (descriptor["granulated_wavefront_sgpr_count"] + 1) * 8 == directives["next_free_sgpr"]
            assert kernel["allocated_sgprs"] == -(-directives["next_free_sgpr"] // 16) * 16


@pytest.mark.parametrize("name", WITH_SECTIONS)
def test_entry_and_code_size(name: str) -> None:
    functions = {symbol[0]: symbol for symbol in TRUTH[name]["symbols"]}
    for kernel in _C.CodeObject(corpus_file(name)).describe()["kernels"]:
        _, address, size, _ = functions[kernel["name"]]
        assert (kernel["entry_address"], kernel["code_size"]) == (address, size)
        assert kernel["descriptor_address"] == functions[kernel["symbol"]][1]
        assert kernel["descriptor"]["kernel_code_entry_byte_offset"] == address - kernel["descriptor_address"]


def test_without_sections_the_dynamic_segment_serves() -> None:
    with_sections = _C.CodeObject(corpus_file("asm_relocations.co")).describe()
    without = _C.CodeObject(corpus_file("asm_sections_none.co")).describe()
    assert without["kernels"] == with_sections["kernels"]
    assert without["relocations"] == with_sections["relocations"]
    static = {"_DYNAMIC"}  # only in .symtab, which is gone
    assert without["symbols"] == [symbol for symbol in with_sections["symbols"] if symbol["name"] not in static]


@pytest.mark.parametrize(
    ("name", "size", "agprs"), [("asm_metadata_none.co", 64, 0), ("asm_metadata_none_gfx1100.co", 32, None)]
)
def test_metadata_from_descriptors(name: str, size: int, agprs: int | None) -> None:
    for kernel in _C.CodeObject(corpus_file(name)).describe()["kernels"]:
        assert kernel["arguments"] is None
        assert kernel["symbol"] == kernel["name"] + ".kd"
        assert (kernel["wavefront_size"], kernel["agpr_count"]) == (size, agprs)
        assert (kernel["vgpr_count"], kernel["sgpr_count"]) == (kernel["allocated_vgprs"], kernel["allocated_sgprs"])
        assert kernel["kernarg_segment_size"] == kernel["descriptor"]["kernarg_size"]
        assert (kernel["max_flat_workgroup_size"], kernel["reqd_workgroup_size"]) == (1024, None)
