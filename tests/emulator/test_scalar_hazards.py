"""Scalar registers of RDNA4 that vector instructions have read: where LLVM waits before they are read again."""

from __future__ import annotations

import random
import re
import subprocess

import pytest

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

TARGETS = ("gfx1200", "gfx1201")
REGISTERS = [*(f"v{i}" for i in range(40, 48)), *(f"s{i}" for i in range(40, 52)), "vcc", "memory"]
READ, WRITE = "v_mov_b32 v40, s40", "s_mov_b32 s40, 0"
SELECT, COMPARE = "v_cndmask_b32 v42, v43, v44, vcc_lo", "v_cmp_eq_u32 vcc_lo, v40, v41"
DPP = "quad_perm:[3,0,1,2] row_mask:0xf bank_mask:0xf bound_ctrl:1"
OF_SCALAR, OF_VECTOR, OF_VCC = "depctr_sa_sdst(0)", "depctr_va_sdst(0)", "depctr_va_vcc(0)"
MISTAKES = {
    "scalar": ([READ, WRITE, READ], OF_SCALAR),
    "scalar_reader": ([READ, WRITE, "s_mov_b32 s44, s40"], OF_SCALAR),
    "vector": ([READ, "v_readfirstlane_b32 s40, v41", READ], OF_VECTOR),
    "vcc": ([SELECT, COMPARE, SELECT], OF_VCC),
    "scalar_vcc": ([SELECT, "s_mov_b32 vcc_lo, 0", SELECT], OF_SCALAR),
    "other_half": ([READ, "s_mov_b32 s41, 0", "v_mov_b32 v41, s41"], OF_SCALAR),
    "mask": (["v_cndmask_b32 v42, v43, v44, s42", "v_cmp_eq_u32 s42, v40, v41", "v_mov_b32 v40, s42"], OF_VECTOR),
}
RIGHT = {
    **{name: [*lines[:-1], f"s_wait_alu {wait}", lines[-1]] for name, (lines, wait) in MISTAKES.items()},
    "never_read": [WRITE, READ],
    "only_written": ["v_cmp_ne_u32_e64 s42, v40, v41", "v_mov_b32 v40, s42"],
    "only_written_with_dpp": [f"v_cmp_ne_u32_e64_dpp s42, v40, v41 {DPP}", "v_mov_b32 v40, s42"],
    "only_written_with_dpp8": ["v_cmp_ne_u32_e64_dpp s42, v40, v41 dpp8:[1,0,3,2,5,4,7,6]", "v_mov_b32 v40, s42"],
    "read_by_a_scalar_one": [READ, "v_readfirstlane_b32 s40, v41", "s_mov_b32 s44, s40", READ],
    "read_by_a_scalar_one_where_paths_meet": [
        *[READ, "v_readfirstlane_b32 s40, v41", "s_cmp_eq_u32 0, 0", "s_cbranch_scc1 1", "v_mov_b32 v40, s46"],
        *["s_mov_b32 s44, s46", READ],
    ],
    "branch_on_vcc": [SELECT, COMPARE, "s_cbranch_vccz 0", SELECT],
    "memory": [READ, WRITE, "s_getpc_b64 s[48:49]", "s_load_b32 s50, s[48:49], 0x0", READ, "s_wait_kmcnt 0"],
    "memory_behind_a_vector_instruction": [
        *["s_getpc_b64 s[48:49]", READ, "v_readfirstlane_b32 s40, v41", "s_load_b32 s50, s[48:49], 0x0", READ],
        "s_wait_kmcnt 0",
    ],
    "memory_behind_a_comparison": [
        *["s_getpc_b64 s[48:49]", SELECT, COMPARE, "s_load_b32 s50, s[48:49], 0x0", SELECT, "s_wait_kmcnt 0"]
    ],
    "nops_of_lds": [READ, *["ds_nop"] * 4, WRITE, READ],
}


def kernel(lines: list[str], name: str) -> str:
    """One whose text has these instructions; the compiler does not look into it."""
    text = "\\n".join(["s_nop 15", *lines, "s_nop 15"])
    clobbered = ", ".join(f'"{register}"' for register in REGISTERS)
    return f'extern "C" __attribute__((global)) void {name}() {{\n  asm volatile("{text}" ::: {clobbered});\n}}\n'


def module(kernels: dict[str, list[str]], target: str) -> wave_runtime.Module:
    source = "".join(kernel(lines, name) for name, lines in kernels.items())
    return wave_runtime.compile(source, target=target, language="hip", options=["-nogpulib", "-nogpuinc"])


def findings(loaded: wave_runtime.Module, name: str) -> list[wave_runtime.Finding]:
    """Those about scalar registers, in the order of their instructions."""
    with wave_runtime.sanitize("waits") as report:
        loaded[name](grid=1, block=32, device="cpu")
    found = [finding for finding in report.findings if "s_wait_alu" in finding.message]
    return sorted(found, key=lambda finding: finding.at.pc)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_again_too_early(target: str) -> None:
    loaded = module({name: lines for name, (lines, _) in MISTAKES.items()}, target)
    for name, (lines, wait) in MISTAKES.items():
        (finding,) = findings(loaded, name)
        assert (finding.tool, finding.kind) == ("waits", "wait-states"), name
        assert f"s_wait_alu {wait} is missing" in finding.message, name
        assert finding.message.startswith("VCC" if "vcc" in name else "s4"), name
        assert finding.other is not None
        assert finding.other.instruction.split()[0].startswith(lines[1].split()[0]), name
        assert finding.at.instruction.split()[0].startswith(lines[2].split()[0]), name


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_in_time(target: str) -> None:
    loaded = module(RIGHT, target)
    for name in RIGHT:
        assert findings(loaded, name) == [], name


def test_other_processors_wait_by_themselves() -> None:
    loaded = module({"scalar": MISTAKES["scalar"][0]}, "gfx1100")
    with wave_runtime.sanitize("waits", fail=True):
        loaded["scalar"](grid=1, block=32, device="cpu")


def random_instruction(draw: random.Random) -> str:
    """In LLVM's machine code."""
    number = draw.randrange(6)
    one, other = f"$sgpr{40 + number}", f"$sgpr{40 + draw.randrange(6)}"
    # Of a pair's halves LLVM takes the second one for read before, as soon as it has come to the first.
    apart = f"$sgpr{40 + (number + 2) % 6}"
    mask = draw.choice([one, "$vcc_lo"])
    pair = draw.choice(["$sgpr40_sgpr41", "$sgpr42_sgpr43", "$sgpr44_sgpr45"])
    return draw.choice(
        [
            f"$vgpr40 = V_MOV_B32_e32 {one}, implicit $exec",
            f"$vgpr41 = V_ADD_F32_e64 0, {one}, 0, {apart}, 0, 0, implicit $mode, implicit $exec",
            f"$vgpr42 = V_CNDMASK_B32_e64 0, $vgpr43, 0, $vgpr44, {mask}, implicit $exec",
            f"{mask} = V_CMP_EQ_U32_e64 $vgpr40, $vgpr41, implicit $exec",
            f"{one} = V_READFIRSTLANE_B32 $vgpr40, implicit $exec",
            f"{one} = S_MOV_B32 {other}",
            f"{one} = S_MOV_B32 7",
            f"{mask} = S_MOV_B32 {other}",
            f"{pair} = S_MOV_B64 0",
            f"{one} = S_ADD_U32 {other}, {mask}, implicit-def $scc",
            "\n    ".join(["DS_NOP implicit $m0, implicit $exec"] * draw.choice([1, 4])),
        ]
    )


def compiled_by_llvm(seeds: range) -> dict[str, list[str]]:
    """Random instructions with the waits that LLVM puts between them."""
    declared = "".join(f"  define amdgpu_kernel void @random{seed}() {{ unreachable }}\n" for seed in seeds)
    functions = [f"--- |\n{declared}...\n"]  # of functions that are no kernels LLVM takes all registers for read
    for seed in seeds:
        draw = random.Random(seed)
        lines = "\n    ".join(random_instruction(draw) for _ in range(40))
        functions.append(f"---\nname: random{seed}\nbody: |\n  bb.0:\n    {lines}\n    S_ENDPGM 0\n...\n")
    arguments = ["llc-22", "-x", "mir", "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx1200", "-o", "-"]
    start = ["-start-before=amdgpu-wait-sgpr-hazards"]
    text = subprocess.run(
        [*arguments, *start], input="".join(functions), capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, list[str]] = {}
    lines_of: list[str] = []
    for line in text.splitlines():
        code = line.partition(";")[0].strip()
        if match := re.fullmatch(r"(random\d+):", code):
            lines_of = found.setdefault(match[1], [])
        elif re.match(r"[vsd]s?_", code) and not code.startswith(("s_endpgm", "s_delay_alu")):
            lines_of.append(" ".join(code.split()))
    return found


@pytest.mark.needs("llc")
def test_waits_are_missing_where_llvm_has_them() -> None:
    """Where it has none none is missing, and each one that is taken out is."""
    kernels = compiled_by_llvm(range(100))
    waits = {name: [line for line in lines if line.startswith("s_wait_alu")] for name, lines in kernels.items()}
    assert sum(map(len, waits.values())) > 300
    loaded = module(kernels, "gfx1200")
    without = module(
        {name: [line for line in lines if line not in waits[name]] for name, lines in kernels.items()}, "gfx1200"
    )
    for name in kernels:
        assert findings(loaded, name) == [], name
        found = findings(without, name)
        missing = [
            match[1] for finding in found if (match := re.search(r"(s_wait_alu .*) is missing", finding.message))
        ]
        assert missing == waits[name], name
        behind = [b for a, b in zip(kernels[name], kernels[name][1:], strict=False) if a.startswith("s_wait_alu")]
        assert [finding.at.instruction.split()[0] for finding in found] == [line.split()[0] for line in behind], name
