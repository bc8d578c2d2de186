// What wave_runtime/_selftest_cases.py puts instructions into, for RDNA in waves of 32 lanes: machine.s with room for CASES
// instructions, of which a workgroup runs the one that dword 87 of its block says. Define CASES and GENERATION (10, 11 or 12);
// the target is the assembler's.
//
// Arguments: input, output, a buffer for the instructions to use. Blocks are those of machine.s, where a row has room for 64
// lanes; there are no accumulators. Of the scalar registers the instructions may use s0-s79, of the vector registers v0-v63.
.amdhsa_code_object_version 5
.text
.include "rdna.inc"

.set BLOCK, 4 * (128 + 64 * (4 + 64 + 32))

.macro wait
.if GENERATION == 12
  s_wait_loadcnt 0
  s_wait_storecnt 0
  s_wait_dscnt 0
  s_wait_kmcnt 0
.else
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_waitcnt_vscnt null, 0
.endif
.endm

.globl machine
.p2align 8
.type machine,@function
machine:
  scalars4 s[88:91], s[0:1], 0x0
  workgroup_offset s86, BLOCK
  wait
  add_wide s88, s89, s86
  add_wide s90, s91, s86
  v_lshlrev_b32_e32 v64, 2, v0

  // LDS, v0 to v63.
  s_mov_b64 s[92:93], s[88:89]
  add_wide s92, s93, 512
.set row, 0
.rept 8
  load v65, v64, s[92:93], 128*row
  wait
  lds_store v64, v65, 128*row
  .set row, row + 1
.endr
  add_wide s92, s93, 1024
  load_registers 92, 93

  scalars8 s[80:87], s[88:89], 320
  scalars16 s[0:15], s[88:89], 0
  scalars16 s[16:31], s[88:89], 64
  scalars16 s[32:47], s[88:89], 128
  scalars16 s[48:63], s[88:89], 192
  scalars16 s[64:79], s[88:89], 256
  wait
  v_mov_b32_e32 v66, s90
  v_mov_b32_e32 v67, s91
  s_mov_b64 vcc, s[80:81]
  s_mov_b32 m0, s85
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s86
  s_mov_b32 exec_lo, s82

  // Of as many cases of 16 dwords, that in dword 87 of the block.
  s_getpc_b64 s[94:95]
.Lhere:
  s_lshl_b32 s96, s87, 6
  add_wide s94, s95, s96
  add_wide s94, s95, slot-.Lhere
  s_cmp_lg_u32 s84, 0
  s_setpc_b64 s[94:95]

slot:
.rept 16 * CASES
  s_nop 13
.endr

  s_cselect_b32 s84, 1, 0
  s_mov_b32 s82, exec_lo
  s_mov_b32 s83, 0
  s_mov_b32 exec_lo, -1
  wait
  s_mov_b32 s85, m0
  s_getreg_b32 s86, hwreg(HW_REG_MODE, 0, 8)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
  s_mov_b64 s[80:81], vcc
  v_readfirstlane_b32 s90, v66
  v_readfirstlane_b32 s91, v67

  s_mov_b64 s[92:93], s[90:91]
  add_wide s92, s93, 512
.set row, 0
.rept 8
  lds_load v65, v64, 128*row
  wait
  store v64, v65, s[92:93], 128*row
  .set row, row + 1
.endr
  add_wide s92, s93, 1024
  store_registers 92, 93
  s_mov_b32 exec_lo, 1
  v_mov_b32_e32 v64, 0
.set reg, 0
.rept 87
  v_mov_b32_e32 v65, s[reg]
  store v64, v65, s[90:91], 4*reg
  .set reg, reg + 1
.endr
  s_endpgm
.Lend:
.size machine, .Lend-machine

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel machine
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_kernarg_size 24
  .amdhsa_next_free_vgpr 72
  .amdhsa_next_free_sgpr 100
  .amdhsa_wavefront_size32 1
  .amdhsa_system_sgpr_workgroup_id_x 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: machine
    .symbol: machine.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 106
    .vgpr_count: 72
    .max_flat_workgroup_size: 32
    .reqd_workgroup_size: [32, 1, 1]
    .args:
      - {.name: input, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .is_const: true}
      - {.name: output, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: buffer, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
