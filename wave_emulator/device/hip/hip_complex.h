// Complex numbers, as pairs of floats and of doubles.
#pragma once

#include <hip/hip_runtime.h>

#include "wave_device/set_macros_aside.h"

using hipFloatComplex = float2;
using hipDoubleComplex = double2;
using hipComplex = hipFloatComplex;

#define WAVE_COMPLEX __host__ __device__ __forceinline__
// The functions of doubles have no suffix, those of floats f.
#define WAVE_COMPLEX_FUNCTIONS(Complex, T, f)                                                                      \
  WAVE_COMPLEX T hipCreal##f(Complex z) { return z.x; }                                                            \
  WAVE_COMPLEX T hipCimag##f(Complex z) { return z.y; }                                                            \
  WAVE_COMPLEX Complex make_##Complex(T real, T imaginary) { return {real, imaginary}; }                           \
  WAVE_COMPLEX Complex hipConj##f(Complex z) { return {z.x, -z.y}; }                                               \
  WAVE_COMPLEX T hipCsqabs##f(Complex z) { return z.x * z.x + z.y * z.y; }                                         \
  WAVE_COMPLEX T hipCabs##f(Complex z) { return __builtin_sqrt##f(hipCsqabs##f(z)); }                              \
  WAVE_COMPLEX Complex hipCadd##f(Complex a, Complex b) { return {a.x + b.x, a.y + b.y}; }                         \
  WAVE_COMPLEX Complex hipCsub##f(Complex a, Complex b) { return {a.x - b.x, a.y - b.y}; }                         \
  WAVE_COMPLEX Complex hipCmul##f(Complex a, Complex b) { return {a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y}; } \
  WAVE_COMPLEX Complex hipCdiv##f(Complex a, Complex b) {                                                          \
    const T square = hipCsqabs##f(b);                                                                              \
    return {(a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square};                                   \
  }                                                                                                                \
  WAVE_COMPLEX Complex hipCfma##f(Complex a, Complex b, Complex c) {                                               \
    return {a.x * b.x + c.x - a.y * b.y, b.x * a.y + c.y + a.x * b.y};                                             \
  }
WAVE_COMPLEX_FUNCTIONS(hipFloatComplex, float, f)
WAVE_COMPLEX_FUNCTIONS(hipDoubleComplex, double, )
#undef WAVE_COMPLEX_FUNCTIONS

WAVE_COMPLEX hipComplex make_hipComplex(float real, float imaginary) { return {real, imaginary}; }
WAVE_COMPLEX hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) { return {z.x, z.y}; }
WAVE_COMPLEX hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
  return {static_cast<float>(z.x), static_cast<float>(z.y)};
}
#undef WAVE_COMPLEX

#include "wave_device/bring_macros_back.h"
