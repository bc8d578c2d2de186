// In the place of a processor's file among the device libraries, ISA_VERSION, which tells them for which they are, and
// functions that newer headers and compilers than ROCm 5.2's call: for wall_clock64(), for printf by a buffer, which
// begins with the bytes in use and their limit, and for conversions that round to zero, down and up: of FP16, and those
// behind __int2float_rz() and its like. The other way round, atomicInc() and atomicDec() of the old headers are
// intrinsics that newer compilers have no more, and __syncthreads() and __threadfence() call what is in hip.bc, which
// clang links no more from version 22 on. Where the libraries have a function themselves, theirs is taken.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
const __constant int __oclc_ISA_version = ISA_VERSION;
extern const __constant int __oclc_ABI_version;

ulong __ockl_steadyctr_u64(void) { return __builtin_readsteadycounter(); }

__global char* __printf_alloc(uint bytes) {
  __constant ulong* hidden = (__constant ulong*)__builtin_amdgcn_implicitarg_ptr();
  __global uint* head = (__global uint*)hidden[__oclc_ABI_version < 500 ? 3 : 9];
  for (uint used = head[0], found;; used = found) {
    if (used + bytes > head[1] - 8) return 0;
    found = __sync_val_compare_and_swap(head, used, used + bytes);
    if (found == used) return (__global char*)head + 8 + used;
  }
}

half __ocml_cvtrtz_f16_f32(float x) { return __builtin_amdgcn_cvt_pkrtz(x, 0)[0]; }

half __ocml_cvtrtn_f16_f32(float x) {
  half nearest = (half)x;
  ushort bits = __builtin_bit_cast(ushort, nearest);
  if (!((float)nearest > x)) return nearest;
  if ((bits & 0x7fff) == 0) return __builtin_bit_cast(half, (ushort)0x8001);
  return __builtin_bit_cast(half, (ushort)(bits & 0x8000 ? bits + 1 : bits - 1));
}

half __ocml_cvtrtp_f16_f32(float x) { return -__ocml_cvtrtn_f16_f32(-x); }

#define BELOW(TO, BITS, SIGN)                                           \
  static TO below_##TO(TO x) {                                          \
    BITS bits = __builtin_bit_cast(BITS, x);                            \
    if ((bits & ~(SIGN)) == 0) return __builtin_bit_cast(TO, (SIGN) | 1); \
    return __builtin_bit_cast(TO, bits & (SIGN) ? bits + 1 : bits - 1); \
  }
BELOW(float, uint, 0x80000000u)
BELOW(double, ulong, 0x8000000000000000ul)

// The nearest is exact in EXACT, unless it is END, which is beyond all x.
#define ROUNDED(TO, FROM, NAMES, EXACT, END)                                                                   \
  TO __ocml_cvtrtn_##NAMES(FROM x) {                                                                           \
    TO nearest = (TO)x;                                                                                        \
    return nearest >= END || (EXACT)nearest > (EXACT)x ? below_##TO(nearest) : nearest;                        \
  }                                                                                                            \
  TO __ocml_cvtrtp_##NAMES(FROM x) {                                                                           \
    TO nearest = (TO)x;                                                                                        \
    return nearest < END && (EXACT)nearest < (EXACT)x ? -below_##TO(-nearest) : nearest;                       \
  }                                                                                                            \
  TO __ocml_cvtrtz_##NAMES(FROM x) { return x < 0 ? __ocml_cvtrtp_##NAMES(x) : __ocml_cvtrtn_##NAMES(x); }
ROUNDED(float, int, f32_s32, long, 0x1p63f)
ROUNDED(float, uint, f32_u32, long, 0x1p63f)
ROUNDED(float, long, f32_s64, long, 0x1p63f)
ROUNDED(float, ulong, f32_u64, ulong, 0x1p64f)
ROUNDED(double, long, f64_s64, long, 0x1p63)
ROUNDED(double, ulong, f64_u64, ulong, 0x1p64)

float __ocml_cvtrtn_f32_f64(double x) {
  float nearest = (float)x;
  return (double)nearest > x ? below_float(nearest) : nearest;
}

float __ocml_cvtrtp_f32_f64(double x) { return -__ocml_cvtrtn_f32_f64(-x); }
float __ocml_cvtrtz_f32_f64(double x) { return x < 0 ? __ocml_cvtrtp_f32_f64(x) : __ocml_cvtrtn_f32_f64(x); }

#define ATOMIC(name)                                                                                 \
  uint __wave_atomic_##name(uint* address, uint last, uint order, uint scope, bool is_volatile) {    \
    return __builtin_amdgcn_atomic_##name##32(address, last, __ATOMIC_RELAXED, "agent");             \
  }                                                                                                  \
  uint name(uint* address, uint last, uint order, uint scope, bool is_volatile)                      \
      __asm("llvm.amdgcn.atomic." #name ".i32.p0i32") __attribute__((alias("__wave_atomic_" #name)));
ATOMIC(inc)
ATOMIC(dec)

#define FENCE(order, scope) \
  case order: __builtin_amdgcn_fence(order, scope); return;
#define FENCES(number, scope)                                              \
  case number:                                                             \
    switch (order) {                                                       \
      FENCE(__ATOMIC_ACQUIRE, scope) FENCE(__ATOMIC_RELEASE, scope)        \
      FENCE(__ATOMIC_ACQ_REL, scope) FENCE(__ATOMIC_SEQ_CST, scope)        \
    }                                                                      \
    return;
void __atomic_work_item_fence(uint flags, uint order, uint scope) {
  switch (scope) {
    FENCES(1, "workgroup")
    FENCES(2, "agent")
    FENCES(3, "")
    FENCES(4, "wavefront")
  }
}
