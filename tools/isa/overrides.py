"""What neither LLVM's text nor the convention of the names tells. Every entry has its reason."""

import re

# Opcodes whose encoding is VOP3P but whose fields are those of the matrix instructions (format MAI).
MATRIX = re.compile(r"v_(mfma|smfmac|accvgpr)_")

# Of processors that have the instructions of another one: those that they have alone, which are all of their tables.
ALONE = {"gfx9-generic": r"v_mul_legacy_f32"}  # whose opcode gfx90a gives to v_fmac_f64

# Destinations that keep or use what was in them.
UPDATED_DESTINATIONS: dict[str, str] = {
    r"v_(pk_|dual_)?(fmac|mac)_.*|s_fmac_.*": "D = S0 * S1 + D",
    r"v_(dual_)?dot([248]c|2acc)_.*": "D = dot(S0, S1) + D",
    r"v_(smfmac|swmmac)_.*": "D = A * B + D; the third source is the sparsity index",
    r"v_writelane_b32": "only one lane is written",
    r"v_fma_mix(lo|hi)_f16": "one half of D is written",
    r"v_cvt_(pk|sr)_(fp8|bf8)_f32": "OP_SEL picks the half or the byte of D that is written",
    r"v_cvt_pkaccum_u8_f32": "one byte of D is written",
    r"v_cvt_scalef32_(sr_)?(pk_)?(fp8|bf8|fp4)_.*": "OP_SEL picks the half or the byte of D that is written",
    r"v_ashr_pk_[iu]8_i32": "OP_SEL picks the half of D that is written",
    r"s_cmov_.*|s_cmovk_i32": "D stays where SCC is 0",
    r"s_(addk(_co)?|mulk)_i32": "D = D op SIMM16",
    r"s_bitset[01]_.*": "one bit of D is written",
}

# The same of processors whose vector registers have no error correction: those of GFX9 that are known here have it, and
# write whole dwords, as LLVM's d16PreservesUnusedBits says.
UPDATED_WITHOUT_ECC: dict[str, str] = {
    r"(buffer|flat|global|scratch)_load_(ubyte|sbyte|short)_d16(_hi)?": "one half of D is written",
    r"ds_read_([ui]8|u16)_d16(_hi)?": "one half of D is written",
}

# Instructions that read what stands in a destination field.
SOURCES_IN_DESTINATION_FIELDS: dict[str, str] = {
    r"s_cmpk_.*": "compares SDST with SIMM16",
    r"s_setreg_b32": "writes SDST to a hardware register",
    r"s_cbranch_i_fork": "SDST is the mask to branch by",
    r"s_waitcnt_.*": "SDST is added to the count",
}

# Which have both an offset and a register to add as operands, the latter null where there is none.
PREFETCHES = ("s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data", "s_prefetch_data_pc_rel",
              "s_buffer_prefetch_data")  # fmt: skip

# Fields of registers that hold a number in these instructions.
IMMEDIATES: dict[str, tuple[str, ...]] = {
    "SSRC0": ("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"),  # the message
    "SSRC1": ("s_set_gpr_idx_on",),  # the modes, printed as gpr_idx(...)
    "SDATA": ("s_atc_probe", "s_atc_probe_buffer", *PREFETCHES),  # the permissions to probe for; how much
    "OFFSET": PREFETCHES,
}

# LLVM accepts LDS_DIRECT (254) as the source; the document wants a vector register.
LDS_DIRECT_ACCEPTED = ("v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32", "s_barrier_signal",
                       "s_barrier_signal_isfirst", "s_barrier_init", "s_barrier_join", "s_wakeup_barrier",
                       "s_get_barrier_state")  # fmt: skip

# Atomics that may return to accumulation registers, as LLVM 19 has it, and LLVM 22 in some address modes only.
RETURN_TO_ACCUMULATORS = ("global_atomic_add_f32", "global_atomic_pk_add_f16", "global_atomic_add_f64",
                          "global_atomic_min_f64", "global_atomic_max_f64")  # fmt: skip

# Instructions of three sources whose third has the destination's type: v_mad_u64_u32, v_dot2_f32_f16.
ADDEND_HAS_RESULT_TYPE = re.compile(r"v_(mad|dot|mfma)")

# Operand types that the names do not give, by base name and field; the first that fits decides. "bits" are B16 or B32,
# as the constants are measured.
TYPES: tuple[tuple[str, str, str], ...] = (
    (r".*", r"SDST", "bits"),  # carries and scalar results: B64 where two dwords are written
    (r"v_cmpx?_.*", r"VDST", "bits"),  # the mask of lanes
    (r"v_cmpx?_class_f16|v_ldexp_f16", r"V?SRC1", "F16"),  # an integer whose inline constants are those of f16
    (r"v_cmpx?_class_.*", r"V?SRC1", "bits"),  # the mask of classes
    (r"v_ldexp_.*", r"V?SRC1", "bits"),  # the exponent
    (r"v_sad_u16", r"VDST|SRC.", "B32"),  # a sum of 32 bits of differences of halves
    (r"v_trig_preop_f64", r"SRC1", "bits"),  # the segment
    (r"v_cvt_pk_norm_[iu]16_f16", r"SRC[01]", "F16"),
    (r"v_cvt_pk_norm_[iu]16_.*", r"VDST", "PackedB16"),
    (r"v_cvt_pk_rtz_f16_f32", r"VDST", "PackedF16"),
    (r"v_cndmask_b32|v_dual_cndmask_b32", r"V?SRC[01]", "F32"),  # NEG and ABS take them for floats
    (r"v_cvt_f32_ubyte\d", r"SRC0", "bits"),
    (r"v_cvt_pk_u8_f32", r"SRC[12]", "bits"),  # the byte to write, and the bytes around it
    (r"v_cvt_pkaccum_u8_f32", r"V?SRC1", "bits"),  # the byte to write
    (r"v_cvt_(scalef32_)?sr_.*", r"SRC1", "bits"),  # the random number
    (r"v_cvt_scalef32_(sr|2xpk16)_.*", r"SRC2", "F32"),  # the scale
    (r"v_cvt_scalef32_(?!2xpk16).*", r"SRC1", "F32"),  # the scale, or a second value
    (r"v_cvt_scalef32_(sr_)?pk_\w+_bf16", r"SRC0", "PackedBf16"),
    (r"v_cvt_scalef32_sr_(fp8|bf8)_bf16|v_cvt_f32_bf16", r"SRC0", "Bf16"),
    (r"v_cvt_(scalef32_)?pk_bf16_.*", r"VDST", "PackedBf16"),
    (r"v_cvt_sr_bf16_f32", r"VDST", "Bf16"),
    (r"v_cvt_pkrtz_f16_f32", r"VDST", "PackedF16"),
    (r"v_cvt_pknorm_[iu]16_.*", r"VDST", "PackedB16"),
    (r"v_(dual_)?dot2(c|acc)?_.*_f16", r"V?SRC[01]", "PackedF16"),
    (r"v_dot2c?_.*_[iu]16", r"V?SRC[01]", "PackedB16"),
    (r"v_dot2c?_(bf16|f32)_bf16|v_dual_dot2acc_f32_bf16", r"V?SRC[01]", "PackedBf16"),
    (r"v_dot2_bf16_bf16", r"VDST|SRC2", "Bf16"),
    (r"v_fma_mix.*", r"SRC.", "F32"),  # or F16, where OP_SEL_HI says so
    (r"v_mfma_(scale_)?f32_.*", r"VDST|SRC2", "F32"),  # of each element
    (r"v_mfma_f64_.*", r"VDST|SRC2", "F64"),
    (r"v_mfma_i32_.*", r"VDST|SRC2", "B32"),
    (r"v_(smfmac|swmmac)_.*", r"SRC2", "B32"),  # the sparsity index
    (r"v_s?mfma.*", r"VDST|SRC[01]", "Other"),  # elements of the types in the name
)


# Of GFX10, whose operands of 16 bits LLVM does not write as halves: results that leave the other half as it is.
TYPES_OF_GFX10: tuple[tuple[str, str, str], ...] = ((r"v_sat_pk_u8_i16", r"VDST", "B16"),)

# Instructions of graphics, of which the name alone is known (graphics.py): images, ray tracing, exports, and the
# interpolation of attributes of pixel shaders.
GRAPHICS = re.compile(r"image_|exp(ort)?$|v_interp_|(lds|ds)_(param|direct)_load$")

# What LLVM knows, and we leave out, of GFX9 and of later ones.
LEFT_OUT_OF_GFX9 = {
    r"v_pk_fmac_f16_(sdwa|dpp)": "LLVM 22 reads packed arithmetic in encodings that no compiler writes",
    r"v_mfma_ld_scale_b32": "the first half of v_mfma_scale_*, without the second",
}
LEFT_OUT = {
    r"v_illegal": "no instruction: zeros",
    r"s_version": "names the compiler's version, to no effect",
    rf"({GRAPHICS.pattern}).*": "instructions of graphics",
}


def left_out(mnemonic: str, family: str) -> bool:
    """Whether an instruction is to have no row."""
    patterns = LEFT_OUT_OF_GFX9 if family == "gfx9" else LEFT_OUT
    return any(re.fullmatch(pattern, mnemonic) for pattern in patterns)


def half_of(mnemonic: str, field: str) -> str:
    """Of the two mnemonics of VOPD the one that a field belongs to."""
    first, _, second = mnemonic.partition(" :: ")
    return second if second and "Y" in field else first


def base_name(mnemonic: str) -> str:
    """The mnemonic without the encoding's suffix."""
    return re.sub(r"_(e32|e64|sdwa|dpp|e64_dpp)$", "", mnemonic)


def updates(base: str, generation: str = "") -> bool:
    """Whether the destination of an instruction is read as well."""
    patterns = [*UPDATED_DESTINATIONS, *(UPDATED_WITHOUT_ECC if generation != "gfx9" else ())]
    return any(re.fullmatch(pattern, base) for pattern in patterns)


def exchanges(base: str) -> bool:
    """Whether an instruction exchanges its two operands, or lanes of them."""
    return re.fullmatch(r"v_(swap|permlane(16|32)_swap)_b32|v_swap_b16", base) is not None


def reads_destination_field(base: str) -> bool:
    """Whether SDST is a source."""
    return any(re.fullmatch(pattern, base) for pattern in SOURCES_IN_DESTINATION_FIELDS)


def operand_type(base: str, field: str, family: str) -> str | None:
    """The type of an operand that the name does not tell."""
    for pattern, fields, type_ in (*(TYPES_OF_GFX10 if family == "gfx10" else ()), *TYPES):
        if re.fullmatch(pattern, base) and re.fullmatch(fields, field):
            return type_
    return None
