"""Every instruction has a second implementation in Python, which tests compare it with, or a reason why not."""

from __future__ import annotations

import re

import machine
import model
import pytest
import test_buffer_formats
import test_lds_instructions
import test_matrix_instructions
import test_memory_instructions
import test_rdna_arithmetic
from memory_model import DS_ATOMIC
from memory_support import names

from wave_runtime import _C

# Whose expected results are written out in tests of their own, or computed there.
TESTED = {
    "test_lds_instructions.py": r"ds_(read2|write2|wrxchg2)(st64)?_.*|ds_(b?permute|swizzle)_b32|ds_(append|consume)|"
    r"ds_(read|write)_addtid_b32|ds_condxchg32_rtn_b64",
    "test_buffer_formats.py": r"t?buffer_store_format_.*",
    "test_control.py": r"s_branch|s_cbranch_(?!cdbg).*|s_(call|getpc|setpc|swappc)_b64|s_barrier|s_trap|"
    r"s_sendmsg(halt)?|s_sethalt|s_endpgm",
    "test_grid_sync.py": r"ds_gws_(init|barrier)",
    "test_indexing.py": r"s_set_gpr_idx_(on|off|mode)|s_setvskip",
}
NOT_MODELLED = {
    "time, which the host's clock tells": r"s_mem(real)?time",
    "for debuggers, which there are none, and other ways to end": r"s_cbranch_cdbg.*|s_endpgm_.+",
    "no result: waits, caches, priorities, probes, counters": r"s_(nop|sleep|wakeup|waitcnt|setprio|setkill|icache_inv|"
    r"dcache_.*|atc_probe.*|(inc|dec)perflevel|ttracedata)|ds_nop|buffer_(inv|wbl2)",
}


def modelled() -> set[str]:
    found = {row["mnemonic"] for row in machine.ROWS if model.is_modelled(row["base_name"])}
    found |= {row["mnemonic"] for row in test_matrix_instructions.ALL}
    found |= {name for name in names("ds_") if re.fullmatch(DS_ATOMIC, name)} | set(test_lds_instructions.DS_PLAIN)
    found |= set(test_memory_instructions.MUBUF_LOADS) | set(test_buffer_formats.LOADS)
    found |= {name for name in names("buffer_store") if "format" not in name and "lds" not in name}
    found |= set(names("global_", "flat_", "scratch_", "buffer_atomic"))
    return found | set(names("s_load", "s_store", "s_scratch", "s_buffer", "s_atomic"))


def test_every_instruction_has_a_model_or_a_reason() -> None:
    implemented = set(_C.implemented_instructions())
    rest = {row["base_name"] for row in machine.ROWS if row["mnemonic"] not in modelled()} & implemented
    reasons = re.compile("|".join([*TESTED.values(), *NOT_MODELLED.values()]))
    assert {name for name in rest if not reasons.fullmatch(name)} == set()


@pytest.mark.parametrize("reason", [*TESTED, *NOT_MODELLED])
def test_the_list_has_nothing_else(reason: str) -> None:
    pattern = (TESTED | NOT_MODELLED)[reason]
    assert any(re.fullmatch(pattern, row["base_name"]) for row in machine.ROWS)
    listed = {row["mnemonic"] for row in machine.ROWS if re.fullmatch(pattern, row["base_name"])}
    assert listed & modelled() == set()


# Of RDNA: what is computed in tests of its own, or in compiled programs. Memory instructions have the bodies of
# gfx942's, which have models; test_rdna_instructions.py, test_buffers_of_rdna.py and its like try many.
OF_RDNA = {
    "test_wave_matrices.py": r"v_(wmma|swmmac)_.*",
    "test_plain_arithmetic.py": r"v_dot(2|2acc|4|8)_.*|s_sendmsg_rtn_.*",
    "test_rdna_fp8.py": r"v_dot4_f32_.*|v_cvt_.*[fb][fp]8.*",
    "test_rdna_exchanges.py": r"v_swap_b16|v_permlanex?16_var_b32",
    "test_rdna_rare_instructions.py": r"v_mullit_f32|v_swaprel_b32|s_movrel.*|s_(denorm|round)_mode|s_[gs]etreg_.*|"
    r"s_barrier_(signal.*|wait)|s_get_barrier_state|s_(alloc_vgpr|sleep_var)",
    "test_wave32.py": r"v_movrel.*|v_permlane(x?16|64)_b32|v_s_.*|v_(readfirstlane|readlane|writelane)_b32",
    "memory": r"(t?buffer|flat|global|scratch|ds)_.*|s_(buffer_)?(load|prefetch)_.*",
}
NO_RESULT_ON_RDNA = (
    r"s_(wait.*|delay_alu|clause|gl1_inv|inst_prefetch|set_inst_prefetch_distance|ttracedata_imm|barrier)|"
    r"v_(nop|pipeflush|clrexcp)"
)


@pytest.mark.parametrize("target", test_rdna_arithmetic.TARGETS)
def test_every_instruction_of_rdna_has_a_model_or_a_reason(target: str) -> None:
    """Halves of VOPD are instructions of their own."""
    implemented = set(_C.implemented_instructions(target))
    tried = {row["mnemonic"] for row in test_rdna_arithmetic.ROWS[target]}
    rows = [row for row in machine.isa_rows(target) if row["base_name"] in implemented]
    done = {row["base_name"] for row in rows if row["mnemonic"] in tried}
    names = {half.replace("v_dual_", "v_") for row in rows for half in row["base_name"].split(" :: ")}
    reasons = "|".join([*OF_RDNA.values(), NO_RESULT_ON_RDNA, *TESTED.values(), *NOT_MODELLED.values()])
    assert {name for name in names - done if not re.fullmatch(reasons, name)} == set()
    assert len(done) > 400
