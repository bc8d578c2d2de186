"""The wait states behind matrix instructions, in the tables and in the hazard check, are those that LLVM inserts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from machine import ROWS, encode, run
from memory_support import BY_NAME, random_state, set_pair
from waits import nop

import wave_runtime
from wave_runtime import _C

FORMS = [row for row in ROWS if row["matrix"]]
NAME = re.compile(r"v_(mfma|mfma_scale|smfmac)_(f32|i32|f64)_(\d+x\d+x\d+)(?:_\d+b)?_?([a-z]\w+)")


def source_type(kind: str, dwords: int, sparse: bool, old: bool) -> str:
    if kind == "f16":
        return f"<{2 * dwords} x half>"
    if kind == "bf16":
        return f"<{2 * dwords} x {'i16' if old else 'bfloat'}>"
    if kind in ("f32", "xf32", "f64"):
        return {"f32": "float", "xf32": "<2 x float>", "f64": "double"}[kind]
    return f"<{dwords} x i32>" if sparse or dwords > 2 else f"i{32 * dwords}"


def function(row: Mapping[str, Any]) -> str:
    """LLVM IR that stores what a matrix instruction writes."""
    name = str(row["base_name"])
    match = NAME.fullmatch(name)
    assert match is not None, name
    operation, to, shape, kinds = match.groups()
    sparse, kind = operation == "smfmac", kinds.split("_")[0]
    dwords = {operand["field"]: int(operand["dwords"]) for operand in row["operands"]}
    old = dwords["SRC0"] <= 2  # than gfx950
    a, b = (source_type(kind, dwords[field], sparse, old) for field in ("SRC0", "SRC1"))
    count = dwords["VDST"] // (2 if to == "f64" else 1)
    element = {"f32": "float", "i32": "i32", "f64": "double"}[to]
    d = f"<{count} x {element}>" if count > 1 else element
    has_dot = sparse or kind in ("xf32", "bf8", "fp8") or not old or (kind == "i8" and dwords["SRC0"] == 2)
    suffix = "bf16.1k" if kind == "bf16" and not sparse and dwords["SRC0"] == 2 else kinds.replace("_", ".")
    if kind == "f8f6f4":
        return scaled_function(name, shape, d, scaled=operation == "mfma_scale")
    intrinsic = f"@llvm.amdgcn.{operation}.{to}.{shape}{'.' if has_dot else ''}{suffix}"
    modes = "i32 %i, i32 0, i32 0" if sparse else "i32 0, i32 0, i32 0"
    mode_types = "i32, i32 immarg, i32 immarg" if sparse else "i32 immarg, i32 immarg, i32 immarg"
    return f"""declare {d} {intrinsic}({a}, {b}, {d}, {mode_types})
define void @{name}(ptr addrspace(1) %p, {a} %a, {b} %b, {d} %c, i32 %i) {{
  %d = call {d} {intrinsic}({a} %a, {b} %b, {d} %c, {modes})
  store {d} %d, ptr addrspace(1) %p
  ret void
}}
"""


def scaled_function(name: str, shape: str, d: str, scaled: bool) -> str:
    """The same of products of FP8; without scales where these are constants that say 1."""
    intrinsic = f"@llvm.amdgcn.mfma.scale.f32.{shape}.f8f6f4.v8i32.v8i32"
    scale = "%i" if scaled else "0"
    modes = f"i32 0, i32 0, i32 0, i32 {scale}, i32 0, i32 {scale}"
    return f"""declare {d} {intrinsic}(<8 x i32>, <8 x i32>, {d}, i32, i32, i32, i32, i32, i32)
define void @{name}(ptr addrspace(1) %p, <8 x i32> %a, <8 x i32> %b, {d} %c, i32 %i) {{
  %d = call {d} {intrinsic}(<8 x i32> %a, <8 x i32> %b, {d} %c, {modes})
  store {d} %d, ptr addrspace(1) %p
  ret void
}}
"""


def states_between(code: str) -> int:
    """The wait states from the matrix instruction to the store."""
    lines = [line.partition(";")[0].split() for line in code.splitlines()]
    lines = [line for line in lines if line]
    begin = next(i for i, line in enumerate(lines) if line[0].startswith(("v_mfma", "v_smfmac")))
    end = next(i for i, line in enumerate(lines) if line[0].startswith("global_store"))
    return sum(int(line[1]) + 1 if line[0] == "s_nop" else 1 for line in lines[begin + 1 : end])


def states_asked_for(row: Mapping[str, Any]) -> int:
    state, memory = random_state(np.random.default_rng(1), 1), torch.zeros(4096, dtype=torch.uint8)
    set_pair(state.v.transpose(1, 0, 2)[8:10], memory.data_ptr() + np.arange(64, dtype=np.uint64) * 4)
    third = 52 if "smfmac" in str(row["base_name"]) else 16  # C lies where D does; or the indices
    words = encode(row, VDST=16, SRC0=256 + 4, SRC1=256 + 48, SRC2=256 + third)
    words += encode(BY_NAME["global_store_dword"], DATA=16, ADDR=8, SADDR=127)
    with pytest.raises(wave_runtime.KernelFault) as caught:
        run(words, state, memory)
    found = re.search(r"read after 0 wait states, of (\d+) that the matrix instruction takes", str(caught.value))
    assert found is not None, caught.value
    return int(found[1])


def states_of_llvm(processor: str, forms: list[Mapping[str, Any]]) -> dict[str, int]:
    """The wait states that LLVM inserts between each matrix instruction and a store of its result."""
    parts = [function(row).partition("\n") for row in forms]  # a declaration, which two forms may share, and the rest
    source = "\n".join([*{declaration: None for declaration, _, _ in parts}, *(rest for _, _, rest in parts)])
    command = ["llc-22", "-march=amdgcn", f"-mcpu={processor}", "-O2", "-o", "-", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    compiled = dict(re.findall(r"^(v_\w+):.*?$(.*?)s_setpc", text, re.DOTALL | re.MULTILINE))
    return {str(row["base_name"]): states_between(compiled[str(row["base_name"])]) for row in forms}


def states_by_passes(row: Mapping[str, Any]) -> int:
    """Those of the documents ("Manually Inserted Wait States") between an instruction of so many passes and a store."""
    passes = int(row["matrix"]["passes"])
    if row["matrix"]["d"] == "F64":
        return {4: 9, 8: 18, 16: 18}[passes]
    return passes + (3 if "Xdl" in row["traits"] else 2) + ("LateResult" in row["traits"])


@pytest.mark.needs("llc")
@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx950"])
def test_the_passes_of_the_tables_are_those_of_llvm(processor: str) -> None:
    forms = [row for row in _C.isa_rows(processor) if row["matrix"]]
    assert {str(row["base_name"]): states_by_passes(row) for row in forms} == states_of_llvm(processor, forms)


@pytest.mark.needs("llc")
def test_every_form_takes_as_long_as_llvm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards")
    assert {str(row["base_name"]): states_asked_for(row) for row in FORMS} == states_of_llvm("gfx942", FORMS)


# Of gfx90a: LLVM's name, and the registers of A (and of B) and of C (and of D).
PRODUCTS = {
    "v_mfma_f32_4x4x4f16": ("V_MFMA_F32_4X4X4F16", 2, 4),
    "v_mfma_f32_16x16x16f16": ("V_MFMA_F32_16X16X16F16", 2, 4),
    "v_mfma_f32_32x32x8f16": ("V_MFMA_F32_32X32X8F16", 2, 16),
    "v_mfma_f32_32x32x2f32": ("V_MFMA_F32_32X32X2F32", 1, 16),
    "v_mfma_f64_4x4x4f64": ("V_MFMA_F64_4X4X4F64", 2, 2),
    "v_mfma_f64_16x16x4f64": ("V_MFMA_F64_16X16X4F64", 2, 8),
}
PAIRS = [(first, second, use) for first in PRODUCTS for second in PRODUCTS for use in ("C", "overlapping C", "A")
         if use != "C" or PRODUCTS[first][2] == PRODUCTS[second][2]]  # fmt: skip


def places(name: str, use: str, is_second: bool) -> dict[str, int]:
    """Registers of a product: the first writes v0 and on, the second uses what that wrote."""
    d = {"C": 0, "overlapping C": 2, "A": 20}[use] if is_second else 0
    return {"VDST": d, "SRC0": 0 if use == "A" and is_second else 40, "SRC1": 44, "SRC2": d}


def states_between_products() -> list[int]:
    """What LLVM's hazard recognizer puts between each pair."""

    def registers(first: int, count: int) -> str:
        return "$" + "_".join(f"vgpr{first + i}" for i in range(count))

    functions = []
    for i, (first, second, use) in enumerate(PAIRS):
        body = ""
        for name, is_second in ((first, False), (second, True)):
            opcode, factor, count = PRODUCTS[name]
            at = places(name, use, is_second)
            sources = [registers(at["SRC0"], factor), registers(at["SRC1"], factor), registers(at["SRC2"], count)]
            body += f"    {registers(at['VDST'], count)} = {opcode}_vgprcd_e64 {', '.join(sources)}, 0, 0, 0, "
            body += "implicit $mode, implicit $exec\n"
        functions.append(f"---\nname: f{i}\nbody: |\n  bb.0:\n{body}    S_ENDPGM 0\n...\n")
    command = ["llc-22", "-march=amdgcn", "-mcpu=gfx90a", "-run-pass=post-RA-hazard-rec", "-x", "mir", "-o", "-", "-"]
    text = subprocess.run(command, input="".join(functions), capture_output=True, text=True, check=True).stdout
    bodies = re.split(r"^name: +f\d+$", text, flags=re.MULTILINE)[1:]
    return [sum(int(states) + 1 for states in re.findall(r"S_NOP (\d+)", body)) for body in bodies]


def states_missing(words: list[int]) -> int:
    """What the check for hazards asks for between instructions of gfx90a, of which there is nothing."""
    try:
        run(words, random_state(np.random.default_rng(1), 1), processor="gfx90a")
    except wave_runtime.KernelFault as fault:
        found = re.search(r"read after 0 wait states, of (\d+) that the matrix instruction takes", str(fault))
        return int(found[1]) if found else -1
    return 0


@pytest.mark.needs("llc")
def test_what_gfx90a_waits_between_products_is_what_llvm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards")
    rows = {str(row["mnemonic"]): row for row in _C.isa_rows("gfx90a")}
    asked = []
    for first, second, use in PAIRS:
        words: list[int] = []
        for name, is_second in ((first, False), (second, True)):
            fields = places(name, use, is_second)
            sources = {field: 256 + fields[field] for field in ("SRC0", "SRC1", "SRC2")}
            words += encode(rows[name], VDST=fields["VDST"], **sources)
        words += nop(32)  # for what reads the registers behind
        asked.append(states_missing(words))
    assert dict(zip(PAIRS, asked, strict=True)) == dict(zip(PAIRS, states_between_products(), strict=True))
