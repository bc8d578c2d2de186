// A wave with the registers, modes and LDS that a test asks for runs a few instructions that the test puts in, and everything is
// read back: tests/emulator/machine.py patches the instructions into `slot`.
//
// Arguments: input, output, a buffer for the instructions to use. Workgroup n takes the n-th block of input and output:
//   dwords 0..79 s0-s79 | 80,81 VCC | 82,83 EXEC | 84 SCC | 85 M0 | 86 MODE | from 128 on LDS, 4 rows of 64 | v0-v63 | a0-a31
// Of the scalar registers the instructions may use s0-s79, of the vector registers v0-v63 and a0-a31.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text

.set BLOCK, 4 * (128 + 64 * (4 + 64 + 32))

// Loads or stores groups of eight vector registers at s[92:93], which moves on. A row has 256 bytes, an offset is at most 4095.
.macro registers instruction, file, groups
.set group, 0
.rept \groups
  .set row, 0
  .rept 8
    .ifc \instruction, global_load_dword
      \instruction \file[group * 8 + row], v64, s[92:93] offset:256*row
    .else
      \instruction v64, \file[group * 8 + row], s[92:93] offset:256*row
    .endif
    .set row, row + 1
  .endr
  s_add_u32 s92, s92, 2048
  s_addc_u32 s93, s93, 0
  .set group, group + 1
.endr
.endm

.globl machine
.p2align 8
.type machine,@function
machine:
  s_load_dwordx4 s[88:91], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mul_i32 s86, s2, BLOCK
  s_add_u32 s88, s88, s86
  s_addc_u32 s89, s89, 0
  s_add_u32 s90, s90, s86
  s_addc_u32 s91, s91, 0
  v_lshlrev_b32_e32 v64, 2, v0

  // LDS, v0 to v63, a0 to a31.
  s_add_u32 s92, s88, 512
  s_addc_u32 s93, s89, 0
.set row, 0
.rept 4
  global_load_dword v65, v64, s[92:93] offset:256*row
  s_waitcnt vmcnt(0)
  ds_write_b32 v64, v65 offset:256*row
  .set row, row + 1
.endr
  s_add_u32 s92, s92, 1024
  s_addc_u32 s93, s93, 0
  registers global_load_dword, v, 8
  registers global_load_dword, a, 4

  s_load_dwordx8 s[80:87], s[88:89], 320
  s_load_dwordx16 s[0:15], s[88:89], 0
  s_load_dwordx16 s[16:31], s[88:89], 64
  s_load_dwordx16 s[32:47], s[88:89], 128
  s_load_dwordx16 s[48:63], s[88:89], 192
  s_load_dwordx16 s[64:79], s[88:89], 256
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32_e32 v66, s90
  v_mov_b32_e32 v67, s91
  s_mov_b64 vcc, s[80:81]
  s_mov_b32 m0, s85
  s_cmp_lg_u32 s84, 0
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 32), s86
  s_mov_b64 exec, s[82:83]

.ifdef CASES
  // Of as many cases of 16 dwords, that in dword 87 of the block: for wave_runtime/_selftest_cases.py.
  s_getpc_b64 s[94:95]
.Lhere:
  s_lshl_b32 s96, s87, 6
  s_add_u32 s94, s94, s96
  s_addc_u32 s95, s95, 0
  s_add_u32 s94, s94, slot - .Lhere
  s_addc_u32 s95, s95, 0
  s_cmp_lg_u32 s84, 0
  s_setpc_b64 s[94:95]
.set .Lslot_dwords, 16 * CASES
.else
.set .Lslot_dwords, 64
.endif

slot:
.rept .Lslot_dwords
  s_nop 13
.endr

  s_cselect_b32 s84, 1, 0
  s_mov_b64 s[82:83], exec
  s_mov_b64 exec, -1
  s_mov_b32 s85, m0
  s_getreg_b32 s86, hwreg(HW_REG_MODE, 0, 32)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 32), 0xf0
  s_mov_b64 s[80:81], vcc
  v_readfirstlane_b32 s90, v66
  v_readfirstlane_b32 s91, v67

  s_add_u32 s92, s90, 512
  s_addc_u32 s93, s91, 0
.set row, 0
.rept 4
  ds_read_b32 v65, v64 offset:256*row
  s_waitcnt lgkmcnt(0)
  global_store_dword v64, v65, s[92:93] offset:256*row
  .set row, row + 1
.endr
  s_add_u32 s92, s92, 1024
  s_addc_u32 s93, s93, 0
  registers global_store_dword, v, 8
  registers global_store_dword, a, 4
  s_mov_b64 exec, 1
  v_mov_b32_e32 v64, 0
.set reg, 0
.rept 87
  v_mov_b32_e32 v65, s[reg]
  global_store_dword v64, v65, s[90:91] offset:4*reg
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
  .amdhsa_private_segment_fixed_size 64
  .amdhsa_enable_private_segment 1
  .amdhsa_kernarg_size 24
  .amdhsa_next_free_vgpr 104
  .amdhsa_accum_offset 72
  .amdhsa_next_free_sgpr 100
  .amdhsa_system_sgpr_workgroup_id_x 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: machine
    .symbol: machine.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 64
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 104
    .agpr_count: 32
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [64, 1, 1]
    .args:
      - {.name: input, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .is_const: true}
      - {.name: output, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: buffer, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
