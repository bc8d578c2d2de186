// A wave of 32 lanes with the descriptor, offset and data that a test asks for runs the instructions that the test puts in:
// tests/emulator/test_buffers_of_rdna.py patches them into the slot. Define GENERATION (10, 11 or 12).
//
// Arguments: input, output, a buffer for the instructions to use. Workgroup n takes the n-th block of both. A block of the
// input has s8-s11, the descriptor; s12 and M0, an offset; s13, EXEC; two dwords that are not used; v8, v9 and v20-v23. One of
// the output has v20-v23.
.text

.macro wait
  .if GENERATION == 12
    s_wait_loadcnt 0
    s_wait_kmcnt 0
  .else
    s_waitcnt vmcnt(0) lgkmcnt(0)
  .endif
.endm

.macro load dst, offset
  .if GENERATION == 10
    global_load_dword \dst, v1, s[4:5] offset:\offset
  .else
    global_load_b32 \dst, v1, s[4:5] offset:\offset
  .endif
.endm

.macro store src, offset
  .if GENERATION == 10
    global_store_dword v1, \src, s[6:7] offset:\offset
  .else
    global_store_b32 v1, \src, s[6:7] offset:\offset
  .endif
.endm

.globl access
.p2align 8
.type access,@function
access:
  .if GENERATION == 10
    s_load_dwordx4 s[4:7], s[0:1], 0x0
  .else
    s_load_b128 s[4:7], s[0:1], 0x0
  .endif
  .if GENERATION == 12
    s_mov_b32 s3, ttmp9
  .else
    s_mov_b32 s3, s2
  .endif
  wait
  s_mul_i32 s14, s3, 4 * (8 + 6 * 32)
  s_add_u32 s4, s4, s14
  s_addc_u32 s5, s5, 0
  s_mul_i32 s14, s3, 4 * 4 * 32
  s_add_u32 s6, s6, s14
  s_addc_u32 s7, s7, 0
  .if GENERATION == 10
    s_load_dwordx8 s[8:15], s[4:5], 0x0
  .else
    s_load_b256 s[8:15], s[4:5], 0x0
  .endif
  v_lshlrev_b32_e32 v1, 2, v0
  load v8, 32
  load v9, 160
  load v20, 288
  load v21, 416
  load v22, 544
  load v23, 672
  wait
  s_mov_b32 m0, s12
  s_mov_b32 exec_lo, s13
  .rept 8
    s_nop 13
  .endr
  wait
  s_mov_b32 exec_lo, -1
  store v20, 0
  store v21, 128
  store v22, 256
  store v23, 384
  s_endpgm
.Lend:
.size access, .Lend-access

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel access
  .amdhsa_kernarg_size 24
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 24
  .amdhsa_next_free_sgpr 16
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: access
    .symbol: access.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 24
    .max_flat_workgroup_size: 32
    .args:
      - {.name: input, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.name: output, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: buffer, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
