#pragma once

#include <type_traits>

namespace wave {

/// The least multiple of `granule` that is not below `value`.
template <class Integer>
constexpr Integer round_up(Integer value, std::type_identity_t<Integer> granule) {
  return (value + granule - 1) / granule * granule;
}

}  // namespace wave
