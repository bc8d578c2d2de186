"""The rules of "Manually Inserted Wait States": two instructions that follow each other too closely, and far enough."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

CDNA = ("gfx90a", "gfx942", "gfx950")
CDNA3 = ("gfx942", "gfx950")
GFX9 = (*CDNA, "gfx9-generic")
RDNA = ("gfx1100", "gfx1150", "gfx1201")
RELATED = ("gfx1101", "gfx1102", "gfx1103", "gfx1151", "gfx1152", "gfx1153", "gfx1200")  # to one of these


@dataclass(frozen=True)
class Rule:
    """Two instructions, and how many wait states, or vector instructions, must lie between them."""

    name: str
    first: str
    second: str
    states: int
    targets: tuple[str, ...]
    before: str = ""
    between: str = "s_nop 0"


SET_MODE = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15"
PARTIAL = "v_add_u32_sdwa v40, v41, v42 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD"
MFMA = "v_mfma_f32_4x4x4f16 v[52:55], v[40:41], v[42:43], v[44:47]"
DOT = "v_dot2_f32_f16 v40, v41, v42, v43"
WMMA = {
    "gfx12": (
        "v_wmma_f32_16x16x16_f16 v[40:47], v[48:51], v[52:55], v[40:47]",
        "v[56:63], v[40:43], v[52:55], v[56:63]",
    ),
    "gfx11": (
        "v_wmma_f32_16x16x16_f16 v[40:47], v[48:55], v[56:63], v[40:47]",
        "v[64:71], v[40:47], v[56:63], v[64:71]",
    ),
}
RULES = [
    Rule("dpp", "v_mov_b32 v40, v41", "v_mov_b32_dpp v42, v40 row_shr:1 row_mask:0xf bank_mask:0xf", 2, GFX9),
    Rule(
        "exec_dpp",
        "v_cmpx_eq_u32 v40, v40",
        "v_mov_b32_dpp v42, v43 row_shr:1 row_mask:0xf bank_mask:0xf",
        5,
        GFX9,
    ),
    Rule("div_fmas", "v_cmp_eq_u32 vcc, v40, v41", "v_div_fmas_f32 v42, v43, v44, v45", 4, GFX9),
    Rule("lane", "v_readfirstlane_b32 s40, v40", "v_readlane_b32 s41, v41, s40", 4, GFX9, "v_mov_b32 v40, 0"),
    Rule("write_lane", "v_readfirstlane_b32 s40, v40", "v_writelane_b32 v41, 7, s40", 4, GFX9, "v_mov_b32 v40, 0"),
    Rule(
        "memory",
        "v_readfirstlane_b32 s40, v40",
        "global_load_dword v42, v43, s[40:41]\ns_waitcnt vmcnt(0)",
        5,
        GFX9,
        "s_mov_b64 exec, 0",
    ),
    Rule("m0", "s_mov_b32 m0, 0", "s_movrels_b32 s40, s41", 1, GFX9),
    Rule(
        "m0_global",
        "s_mov_b32 m0, 0",
        "global_load_lds_dword v[40:41], off\ns_waitcnt vmcnt(0)",
        1,
        CDNA3,
        "s_mov_b64 exec, 0",
    ),
    Rule(
        "m0_scratch",
        "s_mov_b32 m0, 0",
        "scratch_load_lds_dword v40, off\ns_waitcnt vmcnt(0)",
        1,
        CDNA3,
        "s_mov_b64 exec, 0",
    ),
    Rule("set_get", SET_MODE, "s_getreg_b32 s40, hwreg(HW_REG_MODE)", 2, GFX9),
    Rule("set_set", SET_MODE, SET_MODE, 2, GFX9),
    Rule(
        "store_old",
        "global_store_dwordx3 v[40:41], v[42:44], off",
        "v_mov_b32 v43, 0",
        1,
        ("gfx90a", "gfx9-generic"),
        "s_mov_b64 exec, 0",
    ),
    Rule("store", "global_store_dwordx4 v[40:41], v[42:45], off", "v_mov_b32 v43, 0", 2, CDNA3, "s_mov_b64 exec, 0"),
    Rule("matrix", "v_mov_b32 v41, 0", MFMA, 2, CDNA),
    Rule("exec_matrix", "v_cmpx_eq_u32 v60, v60", MFMA, 4, CDNA),
    Rule("dot", DOT, "v_mov_b32 v44, v40", 3, CDNA),
    Rule("dot_overwritten", DOT, "v_mov_b32 v40, 0", 3, CDNA),
    Rule("dot_stored", DOT, "global_store_dword v[42:43], v40, off", 3, CDNA, "s_mov_b64 exec, 0"),
    Rule("dot_to_lds", DOT, "ds_write_b32 v41, v40", 3, CDNA, "s_mov_b64 exec, 0"),
    Rule("transcendental", "v_rcp_f32 v40, v41", "v_add_f32 v42, v40, v40", 1, CDNA3),
    Rule("partial", PARTIAL, "v_add_u32 v43, v40, v40", 1, CDNA3),
    Rule("scalar", "v_readfirstlane_b32 s40, v40", "v_add_u32 v41, s40, v42", 2, CDNA3),
    Rule("mask", "v_cmp_eq_u32 vcc, v40, v41", "v_cndmask_b32 v42, v43, v44, vcc", 2, CDNA3),
    Rule("read_lane", "v_mov_b32 v40, 0", "v_readlane_b32 s40, v40, 1", 1, CDNA3),
    Rule("exec_lane", "v_cmpx_eq_u32 v40, v40", "v_readfirstlane_b32 s40, v41", 4, CDNA3),
    Rule("permlane", "v_mov_b32 v40, 0", "v_permlane32_swap_b32 v40, v41", 2, ("gfx950",)),
    Rule("exec_permlane", "v_cmpx_eq_u32 v44, v44", "v_permlane32_swap_b32 v40, v41", 4, ("gfx950",)),
    *(
        Rule(f"wmma_{family}", first, f"v_wmma_f32_16x16x16_f16 {second}", 1, targets, between="v_nop")
        for family, targets in (("gfx11", ("gfx1100", "gfx1150")), ("gfx12", ("gfx1201",)))
        for first, second in (WMMA[family],)
    ),
    Rule(
        "transcendental_of_rdna3",
        "v_rcp_f32 v40, v41",
        "v_add_f32 v42, v40, v40",
        6,
        ("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
        between="v_mov_b32 v50, v51",
    ),
    Rule(
        "exec_permlane_of_rdna",
        "v_cmpx_eq_u32 v40, v40",
        "v_permlane16_b32 v42, v43, s40, s41",
        1,
        RDNA + RELATED,
        between="v_mov_b32 v50, v51",
    ),
]
CASES = [(rule, target) for rule in RULES for target in rule.targets]
IDS = [f"{rule.name}-{target}" for rule, target in CASES]
REGISTERS = [*(f"v{i}" for i in range(40, 72)), *(f"s{i}" for i in range(40, 48)), "vcc", "m0", "memory"]


def kernel(rule: Rule, states: int, name: str) -> str:
    """One whose text has the two instructions with so many between; the compiler does not look into it."""
    lines = [*rule.before.splitlines(), "s_nop 15", *rule.first.splitlines(), *[rule.between] * states]
    text = "\\n".join([*lines, *rule.second.splitlines(), "s_nop 15", "s_nop 15"])
    clobbered = ", ".join(f'"{register}"' for register in REGISTERS)
    return f'extern "C" __attribute__((global)) void {name}() {{\n  asm volatile("{text}" ::: {clobbered});\n}}\n'


def states_found(rule: Rule, target: str) -> list[int]:
    """How many states the findings say that there are, where nothing is put between the two instructions."""
    source = kernel(rule, 0, "few")
    module = wave_runtime.compile(source, target=target, language="hip", options=["-nogpulib", "-nogpuinc"])
    with wave_runtime.sanitize("waits") as report:
        module["few"](grid=1, block=64, device="cpu")
    return sorted(int(re.findall(r"after (\d+) ", finding.message)[0]) for finding in report.findings)


@pytest.fixture(scope="module")
def modules() -> dict[str, wave_runtime.Module]:
    compiled = {}
    for target in sorted({target for _, target in CASES}):
        rules = [rule for rule in RULES if target in rule.targets]
        source = "".join(
            kernel(rule, states, name)
            for rule in rules
            for states, name in ((rule.states - 1, f"{rule.name}_wrong"), (rule.states, f"{rule.name}_right"))
        )
        options = ["-nogpulib", "-nogpuinc"]
        compiled[target] = wave_runtime.compile(source, target=target, language="hip", options=options)
    return compiled


@pytest.mark.parametrize(("rule", "target"), CASES, ids=IDS)
def test_one_state_too_few(rule: Rule, target: str, modules: dict[str, wave_runtime.Module]) -> None:
    with wave_runtime.sanitize("waits") as report:
        modules[target][f"{rule.name}_wrong"](grid=1, block=64, device="cpu")
    (finding,) = report.findings
    assert (finding.tool, finding.kind) == ("waits", "wait-states")
    assert f"after {rule.states - 1} " in finding.message
    assert f"of {rule.states} that must lie between" in finding.message
    assert finding.other is not None
    assert finding.other.instruction.split()[0].startswith(rule.first[:12].split()[0])
    assert finding.at.instruction.split()[0].startswith(rule.second[:12].split()[0])


CHAINS = [
    ("dot", DOT.replace("v43", "v40"), "v_mov_b32 v44, v40"),
    ("exec_dpp", "v_cmpx_eq_u32 v40, v40", "v_mov_b32_dpp v42, v43 row_shr:1 row_mask:0xf bank_mask:0xf"),
    ("lane", "v_readfirstlane_b32 s40, v40", "v_readlane_b32 s41, v41, s40"),
]


@pytest.mark.parametrize(("name", "first", "second"), CHAINS, ids=[name for name, _, _ in CHAINS])
def test_a_chain_is_one_hazard(name: str, first: str, second: str) -> None:
    """That of the last which writes: a wait for it is one for those before."""
    rule = Rule(name, "\n".join([first] * 3), second, 5, CDNA)
    assert [states_found(rule, target) for target in CDNA] == [[0]] * len(CDNA)


def test_a_branch_over_wait_states() -> None:
    """The instruction that is jumped to is the next one, and the branch one state."""
    (rule,) = (rule for rule in RULES if rule.name == "exec_dpp")
    jumps = replace(rule, first=f"{rule.first}\ns_branch 1\ns_nop 15")
    assert [states_found(jumps, target) for target in CDNA] == [[1]] * len(CDNA)


def test_what_others_of_a_chain_wrote_is_a_hazard_of_its_own() -> None:
    first = f"{DOT}\n{DOT.replace('v40', 'v44')}\n{DOT.replace('v40', 'v45')}"
    assert states_found(Rule("chain", first, "v_add_u32 v46, v40, v44", 3, CDNA), "gfx942") == [1, 2]


@pytest.mark.parametrize(("rule", "target"), CASES, ids=IDS)
def test_as_many_as_there_must_be(rule: Rule, target: str, modules: dict[str, wave_runtime.Module]) -> None:
    with wave_runtime.sanitize("waits", fail=True):
        modules[target][f"{rule.name}_right"](grid=1, block=64, device="cpu")


@pytest.mark.parametrize(
    ("name", "second", "targets"),
    [
        ("dpp", "v_mov_b32_dpp v42, v43 row_shr:1 row_mask:0xf bank_mask:0xf", CDNA),
        ("lane", "v_readlane_b32 s41, v41, s42", CDNA),
        ("store", "v_mov_b32 v40, 0", CDNA3),
        ("store_old", "v_mov_b32 v40, 0", ("gfx90a",)),
        ("matrix", MFMA.replace("v[40:41]", "v[48:49]"), CDNA),
        ("transcendental", "v_add_f32 v42, v41, v41", CDNA3),
        ("scalar", "v_add_u32 v41, s41, v42", CDNA3),
        ("mask", "v_cndmask_b32 v42, v43, v44, s[42:43]", CDNA3),
        ("write_lane", "v_writelane_b32 v41, 7, s42", CDNA),
        ("memory", "global_load_dword v42, v43, s[42:43]\ns_waitcnt vmcnt(0)", CDNA),
        ("m0", "s_mov_b32 s40, s41", CDNA),
        ("dot", "v_mov_b32 v44, v41", CDNA),
        ("dot_overwritten", "v_mov_b32 v41, 0", CDNA),
        ("partial", "v_add_u32 v43, v41, v41", CDNA3),
        ("read_lane", "v_readlane_b32 s40, v41, 1", CDNA3),
        ("permlane", "v_permlane32_swap_b32 v41, v42", ("gfx950",)),
        ("transcendental_of_rdna3", "v_add_f32 v42, v41, v41", ("gfx1100",)),
        # D as C alone: the hardware hands it on, also to where it is written again.
        ("wmma_gfx11", "v_wmma_f32_16x16x16_f16 v[64:71], v[48:55], v[56:63], v[40:47]", ("gfx1100", "gfx1150")),
        ("wmma_gfx11", WMMA["gfx11"][0], ("gfx1100", "gfx1150")),
        ("wmma_gfx12", "v_wmma_f32_16x16x16_f16 v[56:63], v[48:51], v[52:55], v[40:47]", ("gfx1201",)),
        ("wmma_gfx12", WMMA["gfx12"][0], ("gfx1201",)),
    ],
)
def test_registers_that_are_not_meant(name: str, second: str, targets: tuple[str, ...]) -> None:
    """The same instructions of other registers: of a store the address, which it reads at once, say."""
    (rule,) = (rule for rule in RULES if rule.name == name)
    source = kernel(replace(rule, second=second), 0, "none")
    for target in targets:
        options = ["-nogpulib", "-nogpuinc"]
        module = wave_runtime.compile(source, target=target, language="hip", options=options)
        with wave_runtime.sanitize("waits", fail=True):
            module["none"](grid=1, block=64, device="cpu")


@pytest.mark.parametrize("target", RDNA)
def test_rdna_waits_by_itself(target: str, modules: dict[str, wave_runtime.Module]) -> None:
    """For what CDNA does not: the rules are each processor's own."""
    rule = Rule("none", "v_mov_b32 v40, v41", "v_readlane_b32 s40, v40, 1", 1, (target,))
    options = ["-nogpulib", "-nogpuinc"]
    module = wave_runtime.compile(kernel(rule, 0, "none"), target=target, language="hip", options=options)
    with wave_runtime.sanitize("waits", fail=True):
        module["none"](grid=1, block=64, device="cpu")


def test_a_memory_instruction_ends_transcendental_ones(modules: dict[str, wave_runtime.Module]) -> None:
    """On RDNA3, as s_waitcnt_depctr does."""
    first, second = "v_rcp_f32 v40, v41", "v_add_f32 v42, v40, v40"
    for wait in ("s_waitcnt_depctr 0xfff", "ds_nop"):
        rule = Rule("ended", first, second, 6, ("gfx1100",), between=wait)
        module = wave_runtime.compile(
            kernel(rule, 1, "ended"), target="gfx1100", language="hip", options=["-nogpulib", "-nogpuinc"]
        )
        with wave_runtime.sanitize("waits", fail=True):
            module["ended"](grid=1, block=64, device="cpu")
