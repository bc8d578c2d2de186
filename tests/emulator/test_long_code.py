"""Code without a branch, of which each instruction carries out the next (csrc/emulator/op.h, go_on): it takes no stack.

tests/cpp/test_forms.cpp has the vector instructions one by one.
"""

from __future__ import annotations

import sys
import threading

import pytest
import torch
import warm_python

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

# A call takes two words of the stack, of which there are so many bytes.
REPEATS, STACK = 10_000, 128 << 10

# In terms of %0, a float, %1 and %2, which are not written, %3, an offset, %4, a pointer, and %5, an address in LDS.
COMMON = """\
v_mov_b32 %0, %1
v_mul_f32 %0, -%1, |%2|
v_readfirstlane_b32 s20, %1
v_mov_b32 %0, %1 quad_perm:[1,0,3,2]
s_add_u32 s20, s21, s22
s_and_b32 s20, s21, s22
s_movk_i32 s20, 5
s_nop 0
"""
GFX942 = """\
v_cndmask_b32 %0, %1, %2, vcc
v_pk_fma_f16 %0, %1, %2, %1
v_cmp_lt_f32 vcc, %1, %2
v_cmpx_eq_f32 vcc, %1, %1
global_load_dword %0, %3, %4
global_load_dwordx4 v[20:23], %3, %4
global_load_ubyte %0, %3, %4
global_store_dword %3, %1, %4
global_store_dwordx4 %3, v[20:23], %4
global_atomic_add_f32 %3, %1, %4
flat_load_dword %0, v[24:25]
s_load_dwordx2 s[20:21], %4, 0
buffer_load_dword %0, %3, s[24:27], 0 offen
ds_read_b32 %0, %5
ds_write_b32 %5, %1
ds_read2_b32 v[20:21], %5 offset0:1 offset1:3
ds_write2_b32 %5, %1, %2 offset0:1 offset1:3
ds_read_b128 v[20:23], %5
ds_bpermute_b32 %0, %5, %1
ds_add_u32 %5, %1
v_mfma_f32_16x16x16_f16 a[0:3], v[20:21], v[22:23], a[0:3]
"""
GFX1100 = """\
v_cndmask_b32 %0, %1, %2, vcc_lo
v_dual_mov_b32 v20, v24 :: v_dual_add_f32 v21, v25, v27
v_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20
v_cmpx_eq_f32 %1, %1
global_load_b32 %0, %3, %4
global_store_b128 %3, v[20:23], %4
ds_load_2addr_b32 v[20:21], %5 offset0:1 offset1:3
v_wmma_f32_16x16x16_f16 v[20:27], v[28:35], v[28:35], v[20:27]
"""
INSTRUCTIONS = {"gfx942": (COMMON + GFX942).splitlines(), "gfx1100": (COMMON + GFX1100).splitlines()}

KERNEL = """
extern "C" __attribute__((global)) void row{number}(float *p) {{
  __attribute__((shared)) static float lds[1024];
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), at = lane * 16;
  const unsigned near = (unsigned)(unsigned long)(__attribute__((address_space(3))) float *)(lds + lane * 8);
  const unsigned long there = (unsigned long)(p + lane * 4);
  const float a = lane, b = lane + 1;
  float d = 0;
  for (int i = 0; i < 8; ++i) lds[lane * 8 + i] = a;
  asm volatile("v_mov_b32 v24, %6\\nv_mov_b32 v25, %7\\ns_mov_b64 s[24:25], %4\\n"
               "s_mov_b32 s26, 0x1000\\ns_mov_b32 s27, 0x00020000\\n.rept {repeats}\\n{text}\\n.endr"
               : "+v"(d)
               : "v"(a), "v"(b), "v"(at), "s"(p), "v"(near), "v"((unsigned)there), "v"((unsigned)(there >> 32))
               : {clobbers});
  p[lane * 4] = d;
}}
"""


def run_all(target: str) -> None:
    texts = INSTRUCTIONS[target]
    names = ["vcc", "memory", *(f"s{n}" for n in range(20, 28)), *(f"v{n}" for n in range(20, 36))]
    clobbers = ", ".join(f'"{name}"' for name in names + ["a0", "a1", "a2", "a3"] * (target == "gfx942"))
    kernels = [
        KERNEL.format(number=number, repeats=REPEATS, text=text, clobbers=clobbers) for number, text in enumerate(texts)
    ]
    module = wave_runtime.compile("".join(kernels), target=target, language="hip", options=["-nogpulib", "-nogpuinc"])
    memory = torch.zeros(64 * 4)

    def launch() -> None:
        for number, text in enumerate(texts):
            print(text, flush=True)
            module[f"row{number}"](memory, grid=1, block=32)

    threading.stack_size(STACK)
    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    print("all", flush=True)


@pytest.mark.parametrize("target", INSTRUCTIONS)
def test_stack(target: str) -> None:
    program = f"import sys; sys.path[:] = {sys.path!r}; import test_long_code; test_long_code.run_all({target!r})"
    done = warm_python.run("-c", program)
    assert done.returncode == 0, f"{done.returncode} at {done.stdout}{done.stderr}"
    assert done.stdout.endswith("all\n"), done.stderr
