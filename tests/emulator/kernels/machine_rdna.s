// As machine.s, for RDNA in waves of 32 lanes or of 64: tests/emulator/rdna_machine.py patches instructions into `slot`. Define
// GENERATION (10, 11 or 12) and LANES; the target is the assembler's.
//
// Arguments: input, output, a buffer for the instructions to use. Workgroup n takes the n-th block of input and output:
//   dwords 0..63 s0-s63 | 64,65 VCC | 66,67 EXEC | 68 SCC | 69 M0 | 70 MODE[7:0] | from 128 on v0-v63, 64 lanes each
// Of the scalar registers the instructions may use s0-s63, of the vector registers v0-v63.
.amdhsa_code_object_version 5
.text
.include "rdna.inc"

.set BLOCK, 4 * (128 + 64 * 64)

.macro wait
.if GENERATION == 12
  s_wait_loadcnt 0
  s_wait_kmcnt 0
.else
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endif
.endm

.macro set_exec value
.if LANES == 32
  s_mov_b32 exec_lo, \value
.else
  s_mov_b64 exec, \value
.endif
.endm

.globl machine
.p2align 8
.type machine,@function
machine:
  scalars4 s[80:83], s[0:1], 0x0
  workgroup_offset s86, BLOCK
  wait
  add_wide s80, s81, s86
  add_wide s82, s83, s86
  v_lshlrev_b32_e32 v64, 2, v0

  s_mov_b64 s[84:85], s[80:81]
  add_wide s84, s85, 512
  load_registers 84, 85

  scalars8 s[88:95], s[80:81], 256
  scalars16 s[0:15], s[80:81], 0
  scalars16 s[16:31], s[80:81], 64
  scalars16 s[32:47], s[80:81], 128
  scalars16 s[48:63], s[80:81], 192
  wait
  s_mov_b64 vcc, s[88:89]
  s_mov_b32 m0, s93
  s_cmp_lg_u32 s92, 0
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s94
.if LANES == 32
  s_mov_b32 exec_lo, s90
.else
  s_mov_b64 exec, s[90:91]
.endif

slot:
.rept 32
  s_nop 13
.endr

  s_cselect_b32 s92, 1, 0
  s_mov_b32 s90, exec_lo
.if LANES == 32
  s_mov_b32 s91, 0
.else
  s_mov_b32 s91, exec_hi
.endif
  set_exec -1
  s_mov_b32 s93, m0
  s_getreg_b32 s94, hwreg(HW_REG_MODE, 0, 8)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
  s_mov_b64 s[88:89], vcc

  s_mov_b64 s[84:85], s[82:83]
  add_wide s84, s85, 512
  store_registers 84, 85
  set_exec 1
  v_mov_b32_e32 v64, 0
.set reg, 0
.rept 64
  v_mov_b32_e32 v65, s[reg]
  store v64, v65, s[82:83], 4*reg
  .set reg, reg + 1
.endr
.rept 7
  v_mov_b32_e32 v65, s[24 + reg]
  store v64, v65, s[82:83], 4*reg
  .set reg, reg + 1
.endr
  s_endpgm
.Lend:
.size machine, .Lend-machine

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel machine
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 24
  .amdhsa_next_free_vgpr 72
  .amdhsa_next_free_sgpr 100
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
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 106
    .vgpr_count: 72
    .max_flat_workgroup_size: 64
    .args:
      - {.name: input, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .is_const: true}
      - {.name: output, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: buffer, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
