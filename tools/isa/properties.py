"""What an instruction is and does, by its name and format: the columns of a row that LLVM's text does not show.

The rules hold for every processor. A name that fits none although its format asks for one is an error, never a guess.
"""

import re
from dataclasses import replace

from .overrides import base_name
from .row import Matrix, Memory, Row

# Kinds by name; the first that fits decides, and then the format.
KINDS = {
    "Nop": r"s_nop",
    "WaitPacked": r"s_waitcnt",
    "WaitPair": r"s_wait_(load|store)cnt_dscnt",
    "Wait": r"s_wait(cnt)?_.*",
    "Control": r"s_(setpc|swappc|rfe|rfe_restore|call)_b64|s_cbranch_.*|s_subvector_loop_.*|s_sleep_var|s_barrier_.*|"
    r"s_get_barrier_state|s_sendmsg_rtn_.*|s_alloc_vgpr",
    "SparseMatrix": r"v_(smfmac|swmmac)_.*",
    "Matrix": r"v_(mfma|wmma)_.*",
    "DotProduct": r"v_dot\d.*",
}
KIND_OF_MEMORY = {"SMEM": "ScalarMemory", "DS": "Lds"} | dict.fromkeys(
    ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF"), "VectorMemory"
)

_WRITES_SCC = (
    r"(add|sub)(_co)?_[iu]32|addc_u32|subb_u32|(add|sub)_co_ci_u32|addk(_co)?_i32|absdiff_i32|abs_i32|(min|max)_[iu]32",
    r"(and|or|xor|nand|nor|xnor|andn2|orn2|and_not1|or_not1)_b(32|64)|\w+_(saveexec|wrexec)_b(32|64)",
    r"(not|wqm|quadmask)_b(32|64)|bcnt[01]_i32_b(32|64)",
    r"(lshl|lshr)_b(32|64)|ashr_i(32|64)|lshl[1-4]_add_u32|bfe_[iu](32|64)",
    r"cmpk?_\w+|bitcmp[01]_b(32|64)|barrier_signal_isfirst|barrier_leave|alloc_vgpr",
)
# Traits that follow from the name alone; enum Trait of isa.h says what they mean.
NAMED_TRAITS = {
    "WritesScc": rf"s_({'|'.join(_WRITES_SCC)})",
    "WritesExec": r"v_cmpx_.*|s_\w+_(saveexec|wrexec)_b(32|64)|s_cbranch_([gi]_fork|join)|s_subvector_loop_.*",
    "SignedLiteral": r".*_i64",
    "SignedFactors": r"v_(dot|wmma|swmmac)\w*_iu[48]",
    "ToUpperHalf": r"v_fma_mixhi_f16",
    "DataFirst": r"ds_cmpstore_.*",
    "NoLiteral": r"s_barrier_.*|s_get_barrier_state",
    "NotToM0": r"v_(readlane|readfirstlane)_.*",
    "NotToExec": r"v_s_.*",
    "ExecAddress": r"global_(load_lds_.*|(load|store)_(addtid_.*|dword_addtid))",
    "DelayCodes": r"s_delay_alu",
    "AnyTuple": r"ds_read_b96_tr_b6",
    "MixedFormats": r"v_mfma_(scale_)?\w+_f8f6f4",
    "IndexKey": r"v_swmmac_.*",
    "BarrierSignal": r"s_barrier_signal(_isfirst)?",
    "Transcendental": r"v_(rcp|rsq|sqrt|exp|log|sin|cos)(_iflag|_legacy)?_(f16|f32|f64)",
    "OneLane": r"v_(readlane|readfirstlane|writelane)_b32",
    "Permlane": r"v_permlane\w+|ds_b?permute_b32|ds_bpermute_fi_b32",
    "ReadsVccLate": r"v_div_fmas_f(32|64)",
    "ReadsM0": r"s_movrel\w+|s_sendmsg(halt)?|s_ttracedata|ds_(read|write)_addtid_b32|ds_gws_.*|"
    r"(global|scratch)_load_lds_.*",
    "SetsHardware": r"s_setreg(_imm32)?_b32",
    "GetsHardware": r"s_getreg_b32",
    "MakesFp8": r"v_cvt_(scalef32_)?(pk|sr|sr_pk)_fp8_.*",
    "MakesBf8": r"v_cvt_(scalef32_)?(pk|sr|sr_pk)_bf8_.*",
    "Invalidates": r"buffer_(inv|wbinvl1|wbinvl1_vol|gl0_inv)|global_(inv|wbinv)",
    "InvalidatesNext": r"buffer_(wbinvl1|wbinvl1_vol|gl1_inv)",
    "WritesBack": r"buffer_wbl2|global_(wb|wbinv)",
    "BranchesOnVcc": r"s_cbranch_vccn?z",
}
TRAIT_ORDER = (
    "WritesScc", "WritesMask", "WritesExec", "SignedLiteral", "SplatConstants", "SignedFactors", "ToUpperHalf",
    "DataFirst", "NoLiteral", "NotToM0", "NotToExec", "ExecAddress", "DelayCodes", "Xdl",
    "LoadCount", "StoreCount", "LdsCount", "ScalarCount", "AnyTuple", "MixedFormats", "LateResult", "IndexKey",
    "BarrierSignal", "Transcendental", "OneLane", "Permlane", "ReadsVccLate", "ReadsM0", "SetsHardware", "GetsHardware",
    "MakesFp8", "MakesBf8", "Invalidates", "InvalidatesNext", "WritesBack", "BranchesOnVcc",
)  # fmt: skip

# The counters that waits are for.
WAITS = {
    r"s_waitcnt": {"LoadCount", "LdsCount", "ScalarCount"},
    r"s_wait_idle": {"LoadCount", "StoreCount", "LdsCount", "ScalarCount"},
    r"s_waitcnt_vmcnt|s_wait_loadcnt": {"LoadCount"},
    r"s_waitcnt_vscnt|s_wait_storecnt": {"StoreCount"},
    r"s_waitcnt_lgkmcnt": {"LdsCount", "ScalarCount"},
    r"s_wait_dscnt": {"LdsCount"},
    r"s_wait_kmcnt": {"ScalarCount"},
    r"s_wait_loadcnt_dscnt": {"LoadCount", "LdsCount"},
    r"s_wait_storecnt_dscnt": {"StoreCount", "LdsCount"},
    r"s_wait_(samplecnt|bvhcnt|expcnt|event|alu)|s_waitcnt_(expcnt|depctr)": set(),  # which count nothing of the tables
}
# What no counter counts, though its format says so, and what one counts, though its format does not
# (SIInsertWaitcnts.cpp of LLVM).
UNCOUNTED = r"ds_nop|buffer_(inv|invl2|wbinvl1|wbinvl1_vol|gl[01]_inv)"
MESSAGES = r"s_sendmsg.*|s_get_barrier_state"
COUNTED_AS_LOADS, COUNTED_AS_STORES = r"global_inv", r"global_(wb|wbinv)"  # caches of GFX12

# What moves no data of lanes: caches, time, exchanges between lanes, counters and stacks that lanes share.
MOVES_NOTHING = (
    r"s_(dcache|gl1)_.*|s_(buffer_)?prefetch_.*|s_mem(real)?time|s_atc_probe.*|buffer_(inv|invl2|wbl2|wbinvl1|wbinvl1_vol|gl[01]_inv)|"
    r"global_(inv|wb|wbinv)|ds_(nop|b?permute_b32|bpermute_fi_b32|swizzle_b32|append|consume|ordered_count|gws_.*|"
    r"bvh_stack_.*|(add|sub)_gs_reg_rtn)"
)
DIRECTIONS = {"load": "load", "read": "load", "store": "store", "write": "store"}
WIDTHS = {"byte": 1, "ubyte": 1, "sbyte": 1, "short": 2, "ushort": 2, "sshort": 2, "dword": 4, "block": 128}
TYPED_ACCESS = re.compile(r"\w+_(load|store)_(?:d16_)?(?:hi_)?format_(?:d16_)?(?:hi_)?([xyzw]+)")
ACCESS = re.compile(
    r"\w+_(load|store)_(?:lds_|tr_|addtid_)?(?:d16_)?(?:hi_)?(?:[biu](\d+)|([a-z]+)(?:x(\d+))?)(?:_d16)?(?:_hi)?(?:_addtid)?"
)
LDS_ACCESS = re.compile(
    r"ds_(load|store|read|write)(?:2|2st64|_2addr\w*|_addtid|_tr)?_[biu](\d+)(?:_tr_b\d+|_d16)?(?:_hi)?"
)
TWO_ADDRESSES = re.compile(r"ds_(?:read2|write2|wrxchg2|\w+_2addr)(st64|_stride64)?_\w+")
EXCHANGE = re.compile(r"\w+_atomic_swap(_x2|_b32|_b64)?|ds_(wrxchg|storexchg)\w+")  # what was there does not matter
FAR = 64  # elements that an offset counts, where the name says so

PRODUCT = re.compile(
    r"v_(?:mfma(?:_scale)?|smfmac|wmma|swmmac)_([a-z]+\d+)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?"
    r"(f8f6f4|[a-z]+\d+)(?:_([a-z]+\d+))?(?:_1k)?"
)
ELEMENTS = {"f64": "F64", "f32": "F32", "xf32": "Xf32", "f16": "F16", "bf16": "Bf16", "fp8": "Fp8", "bf8": "Bf8",
            "i32": "I32", "i8": "I8", "iu8": "I8", "iu4": "I4", "f8f6f4": "F8f6f4"}  # fmt: skip
LANES_OF_MFMA = 64


def has_trait(trait: str, mnemonic: str) -> bool:
    """Whether an instruction has a trait that its name gives."""
    return re.fullmatch(NAMED_TRAITS[trait], base_name(mnemonic)) is not None


def _kind(row: Row, base: str) -> str:
    named = next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, base)), None)
    if named or row.format in KIND_OF_MEMORY:
        return named or KIND_OF_MEMORY[row.format]
    if row.format.startswith("V") or row.format == "MAI":
        return "VectorAlu"
    return "Control" if row.format == "SOPP" else "ScalarAlu"


def _memory(row: Row, base: str) -> Memory | None:
    """What an instruction of a memory format accesses for each lane."""
    if re.fullmatch(MOVES_NOTHING, base):
        return None
    if match := TYPED_ACCESS.fullmatch(base):
        return Memory(DIRECTIONS[match[1]], len(match[2]) * (2 if "_d16" in base else 4))
    if row.format == "DS":
        return _lds_access(base)
    if "_atomic_" in base:
        is_exchange = EXCHANGE.fullmatch(base) is not None
        return Memory("atomic", 8 if base.endswith(("_x2", "64")) else 4, replaces=is_exchange)
    match = ACCESS.fullmatch(base)
    if match is None:
        raise ValueError(f"{base}: no rule says what it accesses")
    width = int(match[2]) // 8 if match[2] else WIDTHS[match[3]] * int(match[4] or 1)
    return Memory(DIRECTIONS[match[1]], width)


def _lds_access(base: str) -> Memory:
    two = TWO_ADDRESSES.fullmatch(base)
    addresses, stride = (2, FAR if two[1] else 1) if two else (1, 0)
    if match := LDS_ACCESS.fullmatch(base):
        return Memory(DIRECTIONS[match[1]], int(match[2]) // 8, addresses, stride)
    match = re.fullmatch(r"ds_\w+_b?[biuf](\d+)", base)
    if match is None:
        raise ValueError(f"{base}: no rule says what it accesses")
    is_exchange = EXCHANGE.fullmatch(base) is not None
    return Memory("atomic", 4 if "_pk_" in base else int(match[1]) // 8, addresses, stride, replaces=is_exchange)


def _passes(processor: str, m: int, k: int, element: str, sparse: bool) -> int:
    """Of four cycles each, by LLVM's scheduling models (SISchedule.td). Since gfx942 products of large depth go through
    twice as fast as those of small depth or several blocks; on gfx950 those of f64 take twice as long. F8f6f4 is what
    it is with a factor in FP8."""
    if m == 4:
        return 4 if element == "F64" else 2
    if element == "F64" and processor == "gfx950":
        return 16
    fast = processor != "gfx90a" and element != "F8f6f4" and (sparse or element == "Xf32" or k >= 8)
    return (8 if m == 16 else 16) // (2 if fast else 1)


def _matrix(processor: str, row: Row, base: str) -> Matrix:
    match = PRODUCT.fullmatch(base)
    if match is None:
        raise ValueError(f"{base}: no rule says what it multiplies")
    d, a, b = (ELEMENTS[name] for name in (match[1], match[6], match[7] or match[6]))
    m, n, k = (int(match[index]) for index in (2, 3, 4))
    if base.startswith(("v_wmma", "v_swmmac")):
        return Matrix(m, n, k, 1, d, a, b, passes=0)
    dwords = row.operands[0].dwords // (2 if d == "F64" else 1)
    blocks = dwords * LANES_OF_MFMA // (m * n)
    if match[5] and int(match[5]) != blocks:
        raise ValueError(f"{base}: D has {blocks} blocks")
    return Matrix(m, n, k, blocks, d, a, b, _passes(processor, m, k, a, base.startswith("v_smfmac")))


def _writes_mask(row: Row, base: str) -> bool:
    """Of vector instructions: comparisons, carries, v_div_scale."""
    masks = (o for o in row.operands if o.written and (o.kind in ("Vcc", "SdwaSdst") or o.field == "SDST"))
    return base.startswith("v_") and (base.startswith(("v_cmp_", "v_cmpx_")) or any(masks))


def _counters(row: Row, base: str, memory: Memory | None) -> set[str]:
    """The counters that count an instruction until it is done, or that it waits for."""
    waits = next((counters for pattern, counters in WAITS.items() if re.fullmatch(pattern, base)), None)
    if waits is not None:
        return waits
    if base.startswith("s_wait"):
        raise ValueError(f"{base}: no rule says what it waits for")
    if row.format == "SMEM" or re.fullmatch(MESSAGES, base):
        return {"ScalarCount"}
    if row.format not in KIND_OF_MEMORY or re.fullmatch(UNCOUNTED, base):
        return set()
    if row.format == "DS":
        return {"LdsCount"}
    counters = {"LdsCount"} if row.format == "FLAT" else set()
    direction = memory.direction if memory else ""
    if row.generation == "gfx9" or direction in ("load", "atomic") or re.fullmatch(COUNTED_AS_LOADS, base):
        counters.add("LoadCount")
    if row.generation != "gfx9" and (direction in ("store", "atomic") or re.fullmatch(COUNTED_AS_STORES, base)):
        counters.add("StoreCount")
    return counters


def with_properties(processor: str, row: Row) -> Row:
    """The row with the columns that follow from its others."""
    base = base_name(row.mnemonic)
    kind = _kind(row, base)
    memory = _memory(row, base) if row.format in KIND_OF_MEMORY else None
    matrix = _matrix(processor, row, base) if kind in ("Matrix", "SparseMatrix") else None
    traits = {trait for trait in NAMED_TRAITS if has_trait(trait, row.mnemonic)} | _counters(row, base, memory)
    if _writes_mask(row, base):
        traits.add("WritesMask")
    if base in ("v_pk_fmac_f16", "v_dot2_f16_f16", "v_dot2_bf16_bf16") and row.generation not in ("gfx9", "gfx10"):
        traits.add("SplatConstants")
    if matrix and matrix.passes and matrix.a not in (("F64",) if processor == "gfx90a" else ("F64", "F32")):
        traits.add("Xdl")
        if processor == "gfx950" and matrix.passes > 2:
            traits.add("LateResult")
    if unknown := traits - set(TRAIT_ORDER):
        raise ValueError(f"{row.mnemonic}: no order for traits {unknown}")
    names = tuple(trait for trait in TRAIT_ORDER if trait in traits)
    return replace(row, kind=kind, traits=names, memory=memory, matrix=matrix)
