"""The counters that the tables give to memory instructions are those that LLVM waits for."""

from __future__ import annotations

import functools
import re
import subprocess

import check_isa
import pytest
from isa.overrides import base_name
from isa.row import Row
from isa_support import PROCESSORS

# By name: a parameter, and what is done to it. Results are waited for where they are used, what has none by a fence.
USED = {
    "global_load": ("ptr addrspace(1) %p", "%v = load i32, ptr addrspace(1) %p"),
    "global_atomic": ("ptr addrspace(1) %p", "%v = atomicrmw add ptr addrspace(1) %p, i32 7 monotonic"),
    "flat_load": ("ptr %p", "%v = load i32, ptr %p"),
    "flat_atomic": ("ptr %p", "%v = atomicrmw xchg ptr %p, i32 7 monotonic"),
    "scratch_load": ("ptr addrspace(5) %p", "%v = load i32, ptr addrspace(5) %p"),
    "lds_load": ("ptr addrspace(3) %p", "%v = load i32, ptr addrspace(3) %p"),
    "lds_atomic": ("ptr addrspace(3) %p", "%v = atomicrmw umax ptr addrspace(3) %p, i32 7 monotonic"),
    "exchange": ("i32 %p", "%v = call i32 @llvm.amdgcn.ds.bpermute(i32 %p, i32 %p)"),
    "buffer_load": ("ptr addrspace(8) inreg %p",
                    "%v = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %p, i32 0, i32 0, i32 0)"),
    "scalar_load": ("ptr addrspace(4) inreg %p", "%v = load i32, ptr addrspace(4) %p"),
}  # fmt: skip
FENCED = {
    "global_store": ("ptr addrspace(1) %p", "store i32 7, ptr addrspace(1) %p"),
    "global_atomic_without_result": ("ptr addrspace(1) %p", "%v = atomicrmw add ptr addrspace(1) %p, i32 7 monotonic"),
    "flat_store": ("ptr %p", "store i32 7, ptr %p"),
    "buffer_store": ("ptr addrspace(8) inreg %p", "call void @llvm.amdgcn.raw.ptr.buffer.store.i32"
                     "(i32 7, ptr addrspace(8) %p, i32 0, i32 0, i32 0)"),
}  # fmt: skip
COUNTERS = {
    "vmcnt": {"LoadCount"},
    "loadcnt": {"LoadCount"},
    "vscnt": {"StoreCount"},
    "storecnt": {"StoreCount"},
    "lgkmcnt": {"LdsCount", "ScalarCount"},
    "dscnt": {"LdsCount"},
    "kmcnt": {"ScalarCount"},
}
ACCESS = re.compile(
    r"(global|flat|scratch|buffer|ds|s)_(load|store|read|write|atomic|bpermute|swizzle|max|add|buffer)\w*"
)


@functools.cache
def compiled(processor: str) -> dict[str, list[str]]:
    """The instructions of each function."""
    source = ""
    for name, (parameter, code) in USED.items():
        source += f"define void @{name}({parameter}, ptr addrspace(1) %q) {{\n  {code}\n"
        source += "  %x = xor i32 %v, 5\n  store i32 %x, ptr addrspace(1) %q\n  ret void\n}\n"
    for name, (parameter, code) in FENCED.items():
        source += f"define void @{name}({parameter}) {{\n  {code}\n  fence release\n  ret void\n}}\n"
    command = ["llc-22", "-march=amdgcn", f"-mcpu={processor}", "-O1", "-o", "-", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    functions = re.findall(r"^(\w+):\s.*?$(.*?)s_setpc", text, re.DOTALL | re.MULTILINE)
    return {name: re.findall(r"^\t([a-z]\w+(?:[ \t]+[^;\n]*)?)", body, re.MULTILINE) for name, body in functions}


def access_and_waits(processor: str, name: str) -> tuple[str, set[frozenset[str]]]:
    """The instruction of the function, and the counters of each wait behind it."""
    lines = compiled(processor)[name]
    at = next(i for i, line in enumerate(lines) if ACCESS.match(line))
    access = lines[at].split()[0]
    behind = lines[at + 1 :]
    end = next((i for i, line in enumerate(behind) if "xor" in line), len(behind))
    named = re.findall("|".join(COUNTERS), " ".join(line for line in behind[:end] if line.startswith("s_wait")))
    return access, {frozenset(COUNTERS[counter]) for counter in named}


@functools.cache
def rows(processor: str) -> dict[str, Row]:
    """The first of each name."""
    return {base_name(row.mnemonic): row for row in reversed(check_isa.table(processor).rows)}


def counters(processor: str, name: str, returns: bool) -> set[str]:
    """Those of the tables; of an atomic that loads and stores count, one."""
    found = {trait for trait in rows(processor)[name].traits if trait.endswith("Count")}
    if found >= {"LoadCount", "StoreCount"}:
        found.remove("StoreCount" if returns else "LoadCount")
    return found


@pytest.mark.needs("llc")
@pytest.mark.parametrize("name", [*USED, *FENCED])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_what_is_waited_for_are_its_counters(processor: str, name: str) -> None:
    access, waits = access_and_waits(processor, name)
    expected = counters(processor, access, returns=name in USED)
    assert expected
    assert expected <= set().union(*waits), access
    assert all(wait & expected for wait in waits), access
