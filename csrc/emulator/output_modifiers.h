// What OMOD and CLAMP make of a result that has been rounded.
#pragma once

#include <cmath>

#include "emulator/vector.h"

namespace wave::emulator {

/// OMOD: makes +0 of what is less than the smallest normal number, and of -0. What only halving makes as small becomes
/// a zero of its sign, before it is rounded: so AMD measured it on a gfx1030, gfx1100 and gfx1201 (ROCm/rocm-systems,
/// emulation/rocjitsu, output_modifier.h).
struct Scale {
  f64 factor;

  template <class T>
  [[gnu::always_inline]] T operator()(T value, T smallest) const {
    const T size = std::abs(value), zero = std::copysign(T(0), value);
    const T scaled = blend<T>(size < smallest / static_cast<T>(factor), zero, value * static_cast<T>(factor));
    return blend<T>(size < smallest, 0, scaled);
  }
};

/// CLAMP: to [0, 1]. A NaN becomes zero, or stays.
template <bool kZeroesNan>
struct Clamp {
  template <class T>
  [[gnu::always_inline]] T operator()(T value, T) const {
    const T limited = blend<T>(value > 0, blend<T>(value > 1, 1, value), 0);
    return blend<T>(kZeroesNan || value == value, limited, value);
  }
};

}  // namespace wave::emulator
