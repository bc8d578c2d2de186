// Kernels that show what the emulator does at the edges: one thing each. Built by build.py into probes.hsaco.
//
// Arguments come as two pointers or 64-bit numbers and two 32-bit numbers, from offset 0 on; s[0:1] is the kernarg segment and s2
// the workgroup's number, unless a kernel says otherwise.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text

.macro begin name
  .globl \name
  .p2align 8
  .type \name,@function
\name:
.endm

.macro end name, lds=0, preload=0, round=0, denorm=3, ieee=1, dx10=1, ids=0, vgprs=32, accum=16, dispatch=0
  .L\name\()_end:
  .size \name, .L\name\()_end-\name
  .section .rodata,"a",@progbits
  .p2align 6
  .amdhsa_kernel \name
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_ptr \dispatch
    .amdhsa_user_sgpr_kernarg_preload_length \preload
    .amdhsa_group_segment_fixed_size \lds
    .amdhsa_kernarg_size 24
    .amdhsa_next_free_vgpr \vgprs
    .amdhsa_accum_offset \accum
    .amdhsa_next_free_sgpr 32
    .amdhsa_system_vgpr_workitem_id 2
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_system_sgpr_workgroup_id_y \ids
    .amdhsa_system_sgpr_workgroup_id_z \ids
    .amdhsa_float_round_mode_32 \round
    .amdhsa_float_denorm_mode_32 \denorm
    .amdhsa_ieee_mode \ieee
    .amdhsa_dx10_clamp \dx10
  .end_amdhsa_kernel
  .text
.endm

// Loads the arguments to s[4:5], s[6:7], s8 and s9.
.macro arguments
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  s_waitcnt lgkmcnt(0)
.endm

// dst[i] = the dword at src + offset + 4 * i, for the i-th lane. (src, dst, offset, -)
begin load_at
  arguments
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v2, s8, v1
  v_ashrrev_i32_e32 v3, 31, v2
  v_mov_b32_e32 v4, s4
  v_mov_b32_e32 v5, s5
  v_lshl_add_u64 v[4:5], v[2:3], 0, v[4:5]
  global_load_dword v6, v[4:5], off
  s_waitcnt vmcnt(0)
  global_store_dword v1, v6, s[6:7]
  s_endpgm
end load_at

// The dword at dst + offset + 4 * i = i. (dst, -, offset, -)
begin store_at
  arguments
  v_lshlrev_b32_e32 v2, 2, v0
  v_add_u32_e32 v2, s8, v2
  v_ashrrev_i32_e32 v3, 31, v2
  v_mov_b32_e32 v4, s4
  v_mov_b32_e32 v5, s5
  v_lshl_add_u64 v[4:5], v[2:3], 0, v[4:5]
  global_store_dword v[4:5], v0, off
  s_endpgm
end store_at

// Four bytes of LDS at s8, of which there are 256, are read and stored to dst. (dst, -, address, -)
begin load_lds
  arguments
  v_mov_b32_e32 v1, 7
  v_lshlrev_b32_e32 v2, 2, v0
  ds_write_b32 v2, v1
  v_mov_b32_e32 v3, s8
  ds_read_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v4, s[4:5]
  s_endpgm
end load_lds, lds=256

begin store_lds
  arguments
  v_mov_b32_e32 v3, s8
  ds_write_b32 v3, v0
  s_endpgm
end store_lds, lds=256

begin unknown_instruction
  s_nop 0
  .long 0xffffffff
  s_endpgm
end unknown_instruction

begin not_implemented
  ds_gws_sema_v gds
  s_endpgm
end not_implemented

begin missing_register
  v_mov_b32_e32 v15, v60
  s_endpgm
end missing_register

// Jumps to the address in the first argument.
begin jump_to
  arguments
  s_setpc_b64 s[4:5]
end jump_to

// Goes on for ever.
begin spin
.Lspin:
  s_branch .Lspin
end spin

// dst[wave] = wave, but that waves from the count on skip their vector instructions. (dst, -, count, -)
begin skip_waves
  arguments
  v_and_b32_e32 v1, 0x3ff, v0
  v_lshrrev_b32_e32 v1, 6, v1
  s_nop 0
  v_readfirstlane_b32 s10, v1
  s_cmp_ge_u32 s10, s8
  s_cselect_b32 s11, 1, 0
  s_setvskip s11, 0
  v_lshlrev_b32_e32 v2, 2, v1
  global_store_dword v2, v1, s[4:5]
  s_barrier
  s_endpgm
end skip_waves

// dst[workgroup][wave] = HW_ID, XCC_ID, of workgroups of 16 waves. (dst, -, -, -)
begin hardware_ids
  arguments
  v_and_b32_e32 v1, 0x3ff, v0
  v_lshrrev_b32_e32 v1, 6, v1
  s_nop 0
  v_readfirstlane_b32 s10, v1
  s_lshl_b32 s11, s2, 4
  s_add_u32 s10, s10, s11
  s_getreg_b32 s12, hwreg(HW_REG_HW_ID)
  s_getreg_b32 s13, hwreg(HW_REG_XCC_ID)
  v_mov_b32_e32 v2, s12
  v_mov_b32_e32 v3, s13
  v_mov_b32_e32 v4, s10
  v_lshlrev_b32_e32 v4, 3, v4
  global_store_dwordx2 v4, v[2:3], s[4:5]
  s_endpgm
end hardware_ids

// Goes on for ever, with a barrier in each round.
begin spin_at_barrier
.Lspin_at_barrier:
  s_barrier
  s_branch .Lspin_at_barrier
end spin_at_barrier

// Workgroup 0 waits until workgroup 1 has set flag[0], and then sets flag[1]. (flag, -, -, -)
begin wait_for_other
  arguments
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lpoll
  global_store_dword v1, v2, s[4:5]
  s_endpgm
.Lpoll:
  s_load_dword s10, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc1 .Lpoll
  global_store_dword v1, v2, s[4:5] offset:4
  s_endpgm
end wait_for_other

// The same with s_sleep between looks.
begin sleep_for_other
  arguments
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lsleep
  global_store_dword v1, v2, s[4:5]
  s_endpgm
.Lsleep:
  s_sleep 1
  s_load_dword s10, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc1 .Lsleep
  global_store_dword v1, v2, s[4:5] offset:4
  s_endpgm
end sleep_for_other

// Waves of a workgroup of 256: wave 3 ends at once; wave 0 writes its lane numbers to LDS before the barrier, and the waves 0 to
// 2 copy them to dst after it. (dst, -, -, -)
begin barrier_without_ended_wave
  arguments
  v_and_b32_e32 v0, 0x3ff, v0
  s_nop 0
  v_readfirstlane_b32 s10, v0
  s_cmp_eq_u32 s10, 192
  s_cbranch_scc1 .Lended
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lwritten
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v0
.Lwritten:
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_and_b32_e32 v2, 63, v0
  v_lshlrev_b32_e32 v2, 2, v2
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v1, 2, v0
  global_store_dword v1, v3, s[4:5]
.Lended:
  s_endpgm
end barrier_without_ended_wave, lds=256

// Work-items of a workgroup of 128 write their numbers to LDS and, after the barrier, copy the other wave's to dst and overwrite
// their own. No second barrier: there is but a wait, or some other instructions, between load and store. (dst, -, -, -)
.macro side_by_side name, waits, others
begin \name
  arguments
  v_and_b32_e32 v0, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v2
  .rept \waits
  s_waitcnt lgkmcnt(0)
  .endr
  .rept \others
  s_nop 0
  .endr
  ds_write_b32 v1, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
  s_endpgm
end \name, lds=512
.endm
side_by_side overwrite_after_wait, 1, 0
side_by_side overwrite_after_others, 0, 16

// Two waves that share LDS, for test_races.py, which puts instructions into the slot. For each work-item v1 is the LDS address of a
// dword of its own, v[6:7] the same as a flat address, v2 that of the item's in the other wave, v3 that of all, v4 of a byte between
// two of the other wave; v0 is its number and v5 a number that all have. M0 is where a wave's dwords begin. (src, -, -, -)
begin two_waves
  arguments
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  v_mov_b32_e32 v3, 0x200
  v_lshrrev_b32_e32 v4, 6, v0
  v_lshl_or_b32 v4, v0, 1, v4
  v_and_b32_e32 v4, 0x7f, v4
  v_mov_b32_e32 v5, 7
  v_mov_b32_e32 v6, v1
  v_mov_b32_e32 v7, 0x10000
  v_readfirstlane_b32 s10, v1
  s_mov_b32 m0, s10
.rept 24
  s_nop 12
.endr
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_endpgm
end two_waves, lds=1024

// Stores what a wave finds when it starts: dst[8 * i ...] = packed work-item id, workgroup ids x, y and z, and the first dword of
// the arguments. One item per workgroup; (dst, -, -, -), s[0:1] kernarg, s2 to s4 the workgroup's ids.
begin initial_state
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, v0
  v_mov_b32_e32 v3, s2
  v_mov_b32_e32 v4, s3
  v_mov_b32_e32 v5, s4
  v_and_b32_e32 v6, 0x3ff, v0
  v_bfe_u32 v7, v0, 10, 10
  v_bfe_u32 v8, v0, 20, 10
  // Linear number of the item in a block of 4 x 3 x 2, and of the workgroup in a grid of 3 x 2 x 2.
  v_mad_u32_u24 v9, v8, 3, v7
  v_lshlrev_b32_e32 v9, 2, v9
  v_add_u32_e32 v9, v9, v6
  s_mul_i32 s10, s4, 2
  s_add_u32 s10, s10, s3
  s_mul_i32 s10, s10, 3
  s_add_u32 s10, s10, s2
  s_mul_i32 s10, s10, 24
  v_add_u32_e32 v9, s10, v9
  v_lshlrev_b32_e32 v9, 4, v9
  global_store_dwordx4 v9, v[2:5], s[6:7]
  s_endpgm
end initial_state, ids=1

// With kernel arguments preloaded to s[4:9] behind the dispatch packet's address and the kernarg segment's: stores the argument
// dwords 4 and 5, the workgroup's number and the packet's workgroup size x. (dst, -, any, any)
begin preloaded
  s_branch .Lpreloaded_entry
  .p2align 8
.Lpreloaded_entry:
  s_load_dword s11, s[0:1], 0x4
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s8
  v_mov_b32_e32 v3, s9
  v_mov_b32_e32 v4, s10
  v_mov_b32_e32 v5, s11
  v_mov_b32_e32 v1, 0
  global_store_dwordx4 v1, v[2:5], s[4:5]
  s_endpgm
end preloaded, preload=6, dispatch=1

// dst[i] = src[i] by way of accumulation registers: loaded into one, moved, and stored from one.
begin through_agprs
  arguments
  v_lshlrev_b32_e32 v1, 2, v0
  global_load_dword a0, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_accvgpr_read_b32 v2, a0
  v_accvgpr_write_b32 a15, v2
  global_store_dword v1, a15, s[6:7]
  s_endpgm
end through_agprs

// dst[4 * i ...] = a + b, a * b, |a| - b, and clamp(2 * (a + b)) for pairs a, b in src. (src, dst, -, -)
.macro float_modes name, round, denorm, ieee, dx10
begin \name
  arguments
  v_lshlrev_b32_e32 v1, 3, v0
  global_load_dwordx2 v[2:3], v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v2, v3
  v_mul_f32_e32 v5, v2, v3
  v_add_f32_e64 v6, |v2|, -v3
  v_add_f32_e64 v7, v2, v3 clamp mul:2
  v_lshlrev_b32_e32 v1, 4, v0
  global_store_dwordx4 v1, v[4:7], s[6:7]
  s_endpgm
end \name, round=\round, denorm=\denorm, ieee=\ieee, dx10=\dx10
.endm
float_modes float_nearest, 0, 3, 1, 1
float_modes float_up, 1, 3, 1, 1
float_modes float_down, 2, 3, 1, 1
float_modes float_zero, 3, 3, 1, 1
float_modes float_flush, 0, 0, 0, 1
float_modes float_flush_inputs, 0, 2, 0, 0
float_modes float_flush_outputs, 0, 1, 0, 0

// Scalar values that are not registers: dst[0..7] = VCCZ, EXECZ, SCC as a source, the upper halves of the LDS and scratch
// apertures, and 1/(2 pi), -16 and a literal. (dst, -, -, -)
begin special_values
  arguments
  s_mov_b64 vcc, 0
  s_cmp_eq_u32 s8, s8
  s_mov_b32 s10, src_vccz
  s_mov_b32 s11, src_execz
  s_mov_b32 s12, src_scc
  s_mov_b64 s[14:15], src_shared_base
  s_mov_b64 s[16:17], src_private_base
  v_mov_b32_e32 v2, s10
  v_mov_b32_e32 v3, s11
  v_mov_b32_e32 v4, s12
  v_mov_b32_e32 v5, s15
  v_mov_b32_e32 v6, s17
  v_mov_b32_e32 v7, 0.15915494
  v_mov_b32_e32 v8, -16
  v_mov_b32_e32 v9, 0x12345678
  v_mov_b32_e32 v1, 0
  global_store_dwordx4 v1, v[2:5], s[4:5]
  global_store_dwordx4 v1, v[6:9], s[4:5] offset:16
  s_endpgm
end special_values
