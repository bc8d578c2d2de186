// The host's floating-point control register while guest instructions run.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstring>
#endif

namespace wave::emulator {

/// Sets round-to-nearest-even with denormals kept and exceptions masked for its lifetime, and restores the thread's own
/// setting at the end: torch.set_flush_denormal() changes it, and guest results must not depend on that.
class FloatState {
 public:
#if defined(__x86_64__)
  FloatState() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatState() { _mm_setcsr(saved_); }

 private:
  uint32_t saved_;
#elif defined(__aarch64__)
  FloatState() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
  }
  ~FloatState() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }

 private:
  uint64_t saved_;
#endif
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;
};

}  // namespace wave::emulator
